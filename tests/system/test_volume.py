"""Many processes, many jobs, many submitters, for long."""

import os
import subprocess
import threading
from pathlib import Path

import pytest

from dvm import BIN, TIME_SCALE, Dvm, wait_until

TIMES = 20
WARM_UP_RUNS = 800  # the heaps of daemons take some hundred jobs to find their size, and then keep it
RUNS = 1000
GROWTH_LIMIT_KIB = 128  # for 1000 jobs; some hundred leaked bytes each show


@pytest.fixture(scope="module")
def wide_dvm():
    dvm = Dvm(nodes=64, slots=1)
    try:
        yield dvm.up()
    finally:
        dvm.close()


@pytest.mark.limit(120)
@pytest.mark.parametrize("processes", [256, 1024])
def test_wide_jobs_twenty_times(wide_dvm, processes):
    for _ in range(TIMES):
        done = wide_dvm.tool("prun", "-n", processes, "--map-by", ":OVERSUBSCRIBE", "true")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert all(node["processes"] == 0 for node in wide_dvm.status()["nodes"])


@pytest.mark.user
def test_every_rank_of_a_wide_job_is_there_once(wide_dvm):
    done = wide_dvm.tool("prun", "-n", "1024", "--map-by", ":OVERSUBSCRIBE", "sh", "-c", "echo $TIDE_RANK/$TIDE_SIZE")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(f"{rank}/1024" for rank in range(1024))


def test_one_of_many_that_fails_ends_the_wide_job(wide_dvm):
    done = wide_dvm.tool("prun", "-n", "256", "--map-by", ":OVERSUBSCRIBE", "sh", "-c",
                         "[ $TIDE_RANK = 200 ] && exit 77; exec sleep 1000")
    assert done.returncode == 77
    assert "process 200 " in done.stderr
    wait_until(lambda: not [words for words in wide_dvm.processes().values() if "sleep" in words],
               what="no process of it is left")


def submit_jobs(dvm, submitter, count, failures):
    for number in range(count):
        text = f"{submitter}/{number}"
        done = dvm.tool("prun", "-n", "2", "--map-by", ":OVERSUBSCRIBE", "echo", text)
        if (done.returncode, done.stdout, done.stderr) != (0, f"{text}\n{text}\n", ""):
            failures.append((text, done))


@pytest.mark.user
@pytest.mark.parametrize("radix", [2, 64])
def test_two_hundred_jobs_from_eight_submitters(make_dvm, radix):
    dvm = make_dvm(nodes=8, slots=2, prtemca={"rml_radix": radix})
    failures = []
    threads = [threading.Thread(target=submit_jobs, args=(dvm, submitter, 25, failures)) for submitter in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert dvm.status()["counters"]["jobs.submitted"] == 200
    assert len(dvm.jobs("--all")["jobs"]) == 200 and not dvm.jobs()["jobs"]


def resident_kib(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(f"process {pid} has no memory figure")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def run_true(dvm, times):
    argv = [BIN / "prun", "-n", "4", "--map-by", "node", "true"]
    for _ in range(times):
        subprocess.run(argv, env=dvm.env, cwd=dvm.tmpdir, check=True, timeout=30 * TIME_SCALE)


@pytest.mark.noasan("memory figures mean nothing under the sanitizers")
@pytest.mark.limit(120)
def test_a_thousand_runs_leave_memory_and_descriptors_flat(make_dvm):
    """What is kept on purpose (ended jobs, flight recorder) is made short and filled before."""
    dvm = make_dvm(nodes=4, slots=2, prtemca={"tide_history_jobs": 50, "tide_recorder_events": 500})
    status = dvm.status()
    pids = {"head": status["dvm"]["pid"], **{node["name"]: node["pid"] for node in status["nodes"]}}
    run_true(dvm, WARM_UP_RUNS)
    before = {name: (resident_kib(pid), descriptors(pid)) for name, pid in pids.items()}
    run_true(dvm, RUNS)
    grown = {name: resident_kib(pid) - before[name][0] for name, pid in pids.items()}
    assert max(grown.values()) <= GROWTH_LIMIT_KIB, grown
    # Before, the last job of the warm-up may still have been on its way out.
    wait_until(lambda: all(descriptors(pid) <= before[name][1] for name, pid in pids.items()),
               what="no more descriptors than before")
