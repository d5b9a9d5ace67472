"""The Slurm of the testbed does what it says, and leaves nothing; so do the helpers of these tests."""

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from bed import command, process_table
from dvm import wait_until
from slurm_bed import SlurmBed
from swarmlib import accounting, slurm as slurm_of_bed
from swarmlib.client import why_not
from swarmlib.slurm import Wish

DAEMONS = ("munged", "slurmctld", "slurmd", "slurmdbd", "mariadbd")
OF_THE_MACHINE = ("/etc/slurm", "/run/munge", "/run/slurm", "/var/log/slurm", "/var/spool/slurm", "/var/lib/mysql")
NOTICED_LIMIT_S = 70  # SlurmdTimeout is 20 s, and it looks now and then
SHORT_S = 2  # for commands that get no answer
ONE_RESIZE_ONLY = "DB index is being set"  # what Slurm calls it that there is no slurmdbd


@pytest.fixture
def folder():
    """A state directory of which nothing is up at the end."""
    with tempfile.TemporaryDirectory(prefix="sw") as name:
        try:
            yield Path(name) / "state"
        finally:
            command(Path(name) / "state", "down")


def daemons(folder):
    """Those of Slurm in the swarm whose state directory this is: they see files of it in their nodes."""
    found = set()
    for pid, (_, words) in process_table().items():
        try:
            if Path(words.split()[0]).name in DAEMONS and f"{folder}/" in Path(f"/proc/{pid}/mountinfo").read_text():
                found.add(pid)
        except OSError:
            continue  # it has ended meanwhile
    return found


def files_of_the_machine():
    return {str(path) for top in OF_THE_MACHINE for path in [Path(top), *Path(top).rglob("*")] if path.exists()}


# ---- life ----

def test_it_comes_up_with_all_that_was_asked_for_and_leaves_nothing_on_the_machine():
    before = files_of_the_machine()
    with SlurmBed(3, "--accounting", "--cpus", "8,4", "--slurm-set", "KillWait=7") as bed:
        assert len(daemons(bed.folder)) >= 3 * len(["munged", "slurmd"]) + len(["slurmctld", "slurmdbd", "mariadbd"])
        assert bed.node_states() == dict.fromkeys(bed.names(), "idle")
        assert bed.slurm("sinfo", "-h", "-N", "-p", "all", "-o", "%N=%c").split() == ["node1=8", "node2=4", "node3=4"]
        assert "KillWait                = 7 sec" in bed.slurm("scontrol", "show", "config")
        assert bed.slurm("sacctmgr", "-n", "-P", "show", "cluster", "format=cluster").split() == ["swarm"]
    assert not daemons(bed.folder) and files_of_the_machine() == before
    assert not bed.folder.exists() and not bed.shared.exists()


def test_every_node_has_the_commands(slurm):
    for node in ("node1", "node7"):
        assert sorted(slurm.slurm("srun", "-N10", "hostname", node=node).split()) == sorted(slurm.names())
        assert slurm.slurm("salloc", "-Q", "-N2", "sh", "-c", "echo $SLURM_JOB_NUM_NODES", node=node) == "2\n"
        job = slurm.slurm("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "sleep 99", node=node).strip()
        assert job in slurm.slurm("squeue", "-h", "-o", "%i", node=node).split()
        assert f"JobId={job} " in slurm.slurm("scontrol", "show", "job", job, "-o", node=node)
        slurm.slurm("scancel", job, node=node)
        assert "is UP" in slurm.slurm("scontrol", "ping", node=node)
        assert "Remote Procedure Call statistics" in slurm.slurm("sdiag", node=node)


def test_a_job_has_whole_nodes_and_its_output_is_seen(slurm):
    job = slurm.submit("srun hostname | sort; echo $SLURM_JOB_CPUS_PER_NODE", nodes=3)
    job.wait_for(None)
    *names, cpus = job.output().split()
    assert len(set(names)) == 3 and set(names) <= set(slurm.names())
    assert cpus == "4(x3)"


def test_a_job_over_32_nodes(large_slurm):
    job = large_slurm.submit("srun hostname", nodes=32).wait_for(None)
    assert sorted(job.output().split()) == sorted(large_slurm.names())


def test_a_job_that_finds_no_node_waits(slurm):
    one = slurm.submit("sleep 99", nodes=9).wait_for("RUNNING")
    other = slurm.submit("sleep 99", nodes=2)
    assert other.queued().state == "PENDING" and not other.nodes()
    one.cancel()
    assert len(other.wait_for("RUNNING").nodes()) == 2
    other.cancel()


def test_a_drained_node_gets_no_job_until_it_is_resumed(slurm):
    slurm.drain("node4")
    assert slurm.node_states()["node4"] == "drained"
    waiting = slurm.submit("true", nodes=10)
    assert waiting.state() == "PENDING"
    slurm.resume("node4")
    waiting.wait_for(None)


# ---- faults ----

def test_a_node_that_crashed_and_booted_is_back(slurm):
    slurm.crash("node5")
    slurm.boot("node5")
    slurm.wait_idle()
    assert slurm.slurm("srun", "-w", "node5", "hostname") == "node5\n"


@pytest.mark.limit(120)
def test_a_silent_node_is_taken_from_its_job(slurm):
    job = slurm.submit("sleep 300", nodes=2, options=["--no-kill", "-w", "node[8-9]"]).wait_for("RUNNING")
    slurm.crash("node9", silent=True)
    wait_until(lambda: job.nodes() == ["node8"], limit_s=NOTICED_LIMIT_S, what="the job has lost node9")
    assert slurm.node_states()["node9"] == "down*"
    job.cancel()
    slurm.boot("node9")
    slurm.wait_idle()


@pytest.mark.parametrize("how", ["stop", "kill", "freeze"])
def test_an_outage_of_the_controller(slurm, how):
    job = slurm.submit("sleep 99; true", nodes=2).wait_for("RUNNING")
    slurm.wait_saved()
    nodes = job.nodes()
    with slurm.controller_down(how):
        assert slurm.run("node2", "timeout", SHORT_S, "squeue").returncode != 0
    assert job.state() == "RUNNING" and job.nodes() == nodes
    job.cancel()


def test_a_controller_cannot_be_started_or_ended_twice(slurm):
    done = command(slurm.folder, "slurm", "start")
    assert done.returncode == 1 and "runs already" in done.stderr and "try:" in done.stderr
    with slurm.controller_down():
        done = command(slurm.folder, "slurm", "stop")
        assert done.returncode == 1 and "does not run" in done.stderr and "try:" in done.stderr


def test_the_controller_knows_its_jobs_when_its_node_has_crashed(slurm):
    job = slurm.submit("sleep 99", nodes=2, options=["-w", "node[4-5]"]).wait_for("RUNNING")
    slurm.wait_saved()
    slurm.crash("node1")
    slurm.boot("node1")
    wait_until(lambda: slurm.run("node2", "scontrol", "ping").returncode == 0, what="slurmctld answers")
    assert job.state() == "RUNNING" and job.nodes() == ["node4", "node5"]
    job.cancel()


@pytest.mark.limit(120)
def test_accounting_goes_on_when_its_node_has_crashed(slurm_with_accounting):
    bed = slurm_with_accounting
    job = bed.submit("true").wait_for(None)
    recorded = lambda: bed.run("node1", "sacct", "-n", "-X", "-P", "-j", job.id, "-o", "state").stdout.split() == ["COMPLETED"]
    wait_until(recorded, what="the job is in the records")
    bed.crash("node1")
    bed.boot("node1")
    assert recorded()


# ---- resizing ----

def resize(bed, job, nodes):
    return bed.run("node1", "scontrol", "update", f"JobId={job.id}", f"NodeList={nodes}")


def test_without_accounting_a_job_is_resized_only_once(slurm):
    job = slurm.submit("sleep 99", nodes=3, options=["-w", "node[2-4]"]).wait_for("RUNNING")
    first = resize(slurm, job, "node[2-3]")
    assert first.returncode == 0, first.stderr
    assert job.nodes() == ["node2", "node3"]
    second = resize(slurm, job, "node2")
    assert second.returncode != 0 and ONE_RESIZE_ONLY in second.stdout + second.stderr
    assert job.nodes() == ["node2", "node3"]
    job.cancel()


def test_with_accounting_a_job_is_resized_again_and_again(slurm_with_accounting):
    job = slurm_with_accounting.submit("sleep 99", nodes=4, options=["-w", "node[2-5]"]).wait_for("RUNNING")
    for nodes, left in [("node[2-4]", 3), ("node[2-3]", 2), ("node2", 1)]:
        done = resize(slurm_with_accounting, job, nodes)
        assert done.returncode == 0, done.stderr
        assert len(job.nodes()) == left
    job.cancel()


# ---- what is wrong is said ----

def test_settings_without_slurm_are_refused(folder):
    done = command(folder, "up", 2, "--cpus", "8")
    assert done.returncode == 1 and "are for Slurm" in done.stderr and "try:" in done.stderr
    for words in (["--cpus", "many"], ["--cpus", "0"], ["--slurm-set", "nonsense"]):
        done = command(folder, "up", 2, "--slurm", *words)
        assert done.returncode == 2 and words[1] in done.stderr


def test_a_swarm_without_slurm_has_no_controller(folder):
    command(folder, "up", 1, "--with-pid", os.getpid(), check=True)
    done = command(folder, "slurm", "stop")
    assert done.returncode == 1 and "has no Slurm" in done.stderr and "try:" in done.stderr


def test_a_slurm_that_does_not_start_is_told_with_its_reason(folder):
    done = command(folder, "up", 2, "--slurm", "--slurm-set", "SelectType=select/nonsense")
    assert done.returncode == 1 and "did not come up: /usr/sbin/slurm" in done.stderr and "select/nonsense" in done.stderr
    assert not daemons(folder)
    assert "no swarm is up" in command(folder, "list").stderr


def test_missing_packages_are_named(monkeypatch):
    assert why_not(Wish(accounting=True)) is None
    monkeypatch.setattr(slurm_of_bed, "MUNGED", "/nowhere/munged")
    monkeypatch.setattr(slurm_of_bed, "PACKAGES", {"/nowhere/munged": "munge"})
    assert why_not(Wish()).splitlines() == ["packages are missing: munge", "  try: scripts/install-deps slurm"]
    monkeypatch.setattr(accounting, "PLUGIN", "nowhere")
    assert "munge slurm-wlm-mysql-plugin" in why_not(Wish(accounting=True))
    assert "slurm-wlm" not in why_not(Wish())


# ---- the helpers ----

def test_requests_are_counted_by_their_kind(slurm):
    before = slurm.rpc_counts()
    for _ in range(3):
        slurm.slurm("squeue")
    slurm.slurm("srun", "-N2", "true")
    since = slurm.rpc_counts() - before
    assert since["REQUEST_JOB_INFO"] + since["REQUEST_JOB_USER_INFO"] == 3, since
    assert since["REQUEST_RESOURCE_ALLOCATION"] == 1, since
    assert not {"REQUEST_STATS_INFO", "MESSAGE_NODE_REGISTRATION_STATUS"} & set(slurm.rpc_counts())


def with_shims(bed, shims, *argv, node="node3"):
    began = time.monotonic()
    done = bed.run(node, *argv, env={**os.environ, "PATH": shims.path("/usr/bin:/bin")}, limit_s=20)
    return done, time.monotonic() - began


def test_a_stand_in_is_the_real_command_and_logs_its_calls(slurm):
    shims = slurm.shims()
    assert with_shims(slurm, shims, "srun", "-N2", "-n2", "echo", "two words")[0].stdout == "two words\n" * 2
    assert with_shims(slurm, shims, "squeue", "-h")[0].stdout == ""
    assert shims.calls() == [["srun", "-N2", "-n2", "echo", "two words"], ["squeue", "-h"]]
    assert shims.calls("squeue") == [["-h"]]


def test_a_stand_in_fails_prints_and_takes_its_time_as_it_is_told(slurm):
    shims = slurm.shims()
    shims.set("scontrol", exit=3, say="garbage\n", complain="no\n", delay_s=1)
    done, seconds = with_shims(slurm, shims, "scontrol", "ping")
    assert (done.returncode, done.stdout, done.stderr) == (3, "garbage\n", "no\n") and seconds >= 1
    shims.set("squeue", say="garbage\n")
    done, _ = with_shims(slurm, shims, "squeue")
    assert done.returncode == 0 and done.stdout.startswith("garbage\n") and "JOBID" in done.stdout
    shims.clear("squeue")
    assert "garbage" not in with_shims(slurm, shims, "squeue")[0].stdout
    assert with_shims(slurm, shims, "scontrol", "ping")[0].returncode == 3
    shims.clear()
    assert with_shims(slurm, shims, "scontrol", "ping")[0].returncode == 0


def test_a_stand_in_misbehaves_in_the_calls_that_are_meant(slurm):
    shims = slurm.shims()
    shims.set("scontrol", exit=4, matching="show config", times=2)
    ping = lambda: with_shims(slurm, shims, "scontrol", "ping")[0].returncode
    show = lambda: with_shims(slurm, shims, "scontrol", "show", "config")[0].returncode
    assert [ping(), show(), ping(), show(), show()] == [0, 4, 0, 4, 0]


@pytest.mark.parametrize("how", ["soft", "deaf"])
def test_a_stand_in_hangs_until_it_is_ended(slurm, how):
    shims = slurm.shims()
    shims.set("scancel", hang=how, complain="I hang\n")
    process = subprocess.Popen(slurm.argv("node3", shims.folder / "scancel", "1"), stderr=subprocess.PIPE,
                               env=slurm.swarm.environment())
    with process:
        assert process.stderr.readline() == b"I hang\n"
        ((_, pid),) = slurm.processes(["node3"])
        os.kill(pid, signal.SIGTERM)
        if how == "deaf":
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=SHORT_S)
            os.kill(pid, signal.SIGKILL)
        process.wait(timeout=10)


def test_a_job_or_process_that_is_left_is_noticed(slurm, monkeypatch):
    monkeypatch.setattr("slurm_bed.STATE_LIMIT_S", 1)
    slurm.submit("sleep 300")
    with pytest.raises(AssertionError, match="left in the queue: .*RUNNING"):
        slurm.assert_nothing_left()
    assert slurm.run("node6", "sh", "-c", "setsid sleep 300 > /dev/null 2>&1 &").returncode == 0
    with pytest.raises(AssertionError, match="left in the nodes: .*node6.*sleep 300"):
        slurm.assert_nothing_left(limit_s=1)
    slurm.assert_nothing_left()


# ---- DVMs in jobs ----

@pytest.mark.parametrize("how", ["batch", "salloc"])
@pytest.mark.parametrize("program", ["prte", "tide"])
def test_a_dvm_lives_in_a_job_and_ends_with_it(slurm, make_slurm_dvm, how, program):
    dvm = make_slurm_dvm(2, how=how, program=program, up_options=["--nodes", 2])
    assert len(dvm.granted()) == 2 and dvm.head in dvm.granted()
    done = dvm.tool("prun", "-n", 2, "--map-by", "node", "hostname")
    assert done.returncode == 0 and done.stdout.split() == [dvm.head] * 2, done.stderr
    dvm.down()
    assert not slurm.squeue()


def test_a_dvm_that_does_not_come_up_is_told_with_what_it_said(slurm, make_slurm_dvm):
    with pytest.raises(AssertionError, match="prte: exit status 1\n(.*\n)*.*--no-such-option"):
        make_slurm_dvm(1, up_options=["--no-such-option"])


def test_dvms_in_jobs_of_the_other_slurms(make_accounted_dvm, make_large_dvm):
    for make, nodes in ((make_accounted_dvm, 10), (make_large_dvm, 32)):
        dvm = make(nodes, up_options=["--nodes", 2])
        assert len(dvm.granted()) == nodes and len(dvm.status()["nodes"]) == 2
