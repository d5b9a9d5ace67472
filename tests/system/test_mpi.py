"""Unmodified MPI and PMIx programs on the daemons of a DVM."""

import os
import random
import re
import signal
import time
from pathlib import Path

import pytest

from dvm import BIN, Dvm, wait_until

PROGRAMS = BIN.parent / "tests" / "programs"
NODES, SLOTS = 4, 4
OB1 = ("-x", "OMPI_MCA_pml=ob1")  # the default looks for fabrics first, which takes its time


def run(dvm, program, *options, ranks=2 * NODES, map_by="node"):
    return dvm.tool("prun", "-n", ranks, "--map-by", map_by, *options, PROGRAMS / program)


def shared_memory_of(user=os.geteuid()):
    """What Open MPI keeps there; others may use the machine, too."""
    return {path.name for path in Path("/dev/shm").iterdir() if path.stat().st_uid == user}


def processes_of_job(dvm, number, count):
    """Their pids, when so many of them run."""
    mark = f"TIDE_JOB={number}".encode()
    pids = []
    for pid in dvm.processes():
        try:
            words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark in words:
            pids.append(pid)
    return pids if len(pids) == count else []


# row:L11
def test_every_rank_finds_every_peer_from_its_node(shared_dvm):
    done = run(shared_dvm, "pmix_hello")
    assert done.returncode == 0, done.stderr
    for rank in range(2 * NODES):
        lines = [line for line in done.stdout.splitlines() if line.startswith(f"peer {rank} ")]
        assert len(lines) == 2 * NODES and len(set(lines)) == 1
        assert lines[0].endswith(f" node {rank % NODES} host v{rank % NODES + 1}") and f" local {rank // NODES} " in lines[0]


# row:L11
def test_every_rank_knows_the_processors_of_every_peer(shared_dvm):
    done = shared_dvm.tool("prun", "-n", 2 * NODES, "--map-by", "node", PROGRAMS / "pmix_hello", "places")
    assert done.returncode == 0, done.stderr
    sets = re.findall(r"^place (\d+) cpuset (hwloc:[0-9,-]+),", done.stdout, re.M)
    assert len(sets) == (2 * NODES) ** 2 and len({cpus for _, cpus in sets}) == 1, "all nodes are this machine"


def test_a_fence_exchanges_what_was_put_on_all_daemons(shared_dvm):
    done = run(shared_dvm, "pmix_fence")
    assert done.returncode == 0, done.stderr
    assert len(set(done.stdout.splitlines())) == 1 and len(done.stdout.splitlines()) == 2 * NODES


@pytest.fixture(scope="module")
def wide_dvm():
    with Dvm(nodes=8, slots=4) as dvm:
        yield dvm


@pytest.mark.parametrize("options", [(), OB1], ids=["default", "ob1"])
@pytest.mark.parametrize("program, said", [("mpi_ring", "ring of 32: "), ("mpi_allreduce", "allreduce of 32: right")])
def test_mpi_across_eight_nodes(wide_dvm, program, said, options):
    done = run(wide_dvm, program, *options, ranks=32, map_by="slot")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(said)


# row:L13
def test_registered_is_reached_by_who_calls_init_and_only_then(make_dvm):
    dvm = make_dvm(nodes=2, slots=2, prtemca={"state_base_verbose": 1})
    assert run(dvm, "pmix_hello", ranks=4).returncode == 0
    assert dvm.run("-n", "4", "true").returncode == 0
    wait_until(lambda: dvm.log_text("head").count("PRTE_JOB_STATE_NOTIFIED") == 2, what="both jobs are over")
    text = dvm.log_text("head")
    assert text.count("PRTE_JOB_STATE_REGISTERED (") == 1
    assert text.index("PRTE_JOB_STATE_RUNNING") < text.index("PRTE_JOB_STATE_REGISTERED")


def test_mpi_abort_ends_the_job_with_its_status(shared_dvm):
    done = run(shared_dvm, "mpi_abort", *OB1)
    assert done.returncode != 0
    assert "ended the job with status" in done.stderr


def test_a_rank_that_dies_takes_the_job_with_it(shared_dvm):
    done = run(shared_dvm, "mpi_signal", *OB1)
    assert done.returncode == 137


def test_who_never_calls_finalize_ends_well(shared_dvm):
    done = run(shared_dvm, "mpi_no_finalize", *OB1)
    assert done.returncode == 0, done.stderr


def test_jobs_in_a_row_leave_nothing(shared_dvm):
    before = shared_memory_of()
    for _ in range(5):
        assert run(shared_dvm, "mpi_hello", *OB1).returncode == 0
    assert run(shared_dvm, "mpi_signal", *OB1).returncode == 137
    wait_until(lambda: not list(shared_dvm.run_directory().rglob("job.*")), what="the directories of the jobs are gone")
    assert shared_memory_of() <= before


def size_of(pids):
    """(resident kB, descriptors) of these processes in sum."""
    kb = sum(int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) for pid in pids)
    return kb, sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)


@pytest.mark.noasan  # freed memory is kept there
def test_a_hundred_mpi_jobs_in_a_row_and_eight_at_once_and_nothing_grows(make_dvm):
    dvm = make_dvm(nodes=2, slots=8)
    pids = [dvm.head_pid(), *dvm.daemon_pids().values()]

    def eight_at_once():
        started = [dvm.start("prun", "-n", 2, "--map-by", "node", *OB1, PROGRAMS / "mpi_hello") for _ in range(8)]
        for process in started:
            assert dvm.finish(process).returncode == 0

    eight_at_once()
    kb, descriptors = size_of(pids)
    for _ in range(100):
        assert run(dvm, "mpi_hello", *OB1, ranks=2).returncode == 0
    eight_at_once()
    wait_until(lambda: size_of(pids)[1] <= descriptors, what="no descriptor stays open")
    assert size_of(pids)[0] - kb < 8192, "kB more after 116 jobs"


# One process per node: libpmix 4.2 breaks a fence among processes of one node when one of them finalizes late
# (docs/pmix.md).
def test_init_fence_finalize_two_hundred_times_stays_in_step(make_dvm):
    dvm = make_dvm(nodes=16, slots=1)
    done = dvm.tool("prun", "-n", 16, PROGRAMS / "pmix_churn", 200, limit_s=120)
    assert (done.returncode, done.stdout) == (0, "in step\n" * 16), done.stderr


def test_clients_killed_at_any_point_leave_a_sane_server(shared_dvm):
    chance = random.Random(4)
    for _ in range(12):
        job = shared_dvm.start("prun", "-n", 4, "--map-by", "node", PROGRAMS / "pmix_churn", 1000)
        number = wait_until(lambda: [row["number"] for row in shared_dvm.jobs()["jobs"]], what="the job runs")[-1]
        pids = wait_until(lambda: processes_of_job(shared_dvm, number, 4), what="its processes run")
        time.sleep(chance.random() * 0.1)  # wherever they are by then: the point is drawn, nothing waits for it
        os.kill(chance.choice(pids), signal.SIGKILL)
        assert shared_dvm.finish(job).returncode in (1, 137)
    assert shared_dvm.jobs()["jobs"] == []
    assert run(shared_dvm, "pmix_fence").returncode == 0
    assert all(node["slots_used"] == 0 for node in shared_dvm.status()["nodes"])


def test_a_client_that_stands_still_holds_up_nobody_else(shared_dvm):
    stopped = shared_dvm.start("prun", "-n", 4, "--map-by", "node", PROGRAMS / "pmix_churn", 100000)
    number = wait_until(lambda: [row["number"] for row in shared_dvm.jobs()["jobs"]], what="the job runs")[-1]
    pids = wait_until(lambda: processes_of_job(shared_dvm, number, 4), what="its processes run")
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        for _ in range(5):
            done = shared_dvm.tool("prun", "-n", 8, "--map-by", "node", PROGRAMS / "pmix_fence", "direct")
            assert done.returncode == 0, done.stderr
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        stopped.terminate()
        shared_dvm.finish(stopped)
