"""DVMs whose daemons a scheduler's command starts, one for all: see other_scheduler.py for who plays it."""

import os
import signal
import sys
from pathlib import Path

import pytest

from dvm import is_alive, wait_until
from left_behind import assert_nothing_left
from machines import DvmOverMachines, Machines

PLAYER = Path(__file__).with_name("other_scheduler.py")
NAMES = ["alpha1", "alpha2", "beta"]
FAST = {"tide_heartbeat_interval": "200ms", "tide_heartbeat_timeout": "1s", "tide_reattach_timeout": "1s",
        "tide_suspect_grace": "300ms", "prte_elastic_mode": "1"}


class DvmInSteps(DvmOverMachines):
    def __init__(self, machines, names, prtemca=None, command=""):
        command = command or f"{sys.executable} {PLAYER} {machines.agent} {{ranges}} {{command}}"
        super().__init__(machines, names, prtemca={**FAST, "plm_command_all": command, **(prtemca or {})})

    def steps(self):
        """Pids of the commands that have been started, by the list of their hosts."""
        began = f"{sys.executable} {PLAYER} "
        return {words.split()[3]: pid for pid, words in self.processes().items() if words.startswith(began)}


@pytest.fixture
def machines():
    with Machines(*NAMES) as these:
        yield these
        these.assert_nothing_left()


@pytest.fixture
def dvm(machines):
    with DvmInSteps(machines, NAMES) as this:
        yield this


def part(machines, name, word):
    return next(pid for pid, words in machines.processes(name).items() if word in words)


def nodes_up(dvm):
    return [node["name"] for node in dvm.status()["nodes"] if node["state"] == "up"]


def test_one_command_starts_all_and_stays(dvm, machines):
    assert nodes_up(dvm) == NAMES
    assert list(dvm.steps()) == ["alpha[1-2],beta"]
    for name in NAMES:
        words = sorted(words.split()[1] for words in machines.processes(name).values())
        assert words == ["--node", "--step", "--step"], words
    done = dvm.tool("prun", "-n", 3, "--map-by", "node", "sh", "-c", "echo $TMPDIR; env | grep -c ^SLURM; true")
    assert sorted(done.stdout.split()) == sorted(["0"] * 3 + [str(machines.tmpdir(name)) for name in NAMES]), done
    dvm.down()
    assert not dvm.steps()


def test_nodes_that_join_later_have_a_step_of_their_own(machines):
    with DvmInSteps(machines, NAMES[:1]) as dvm:
        done = dvm.tool("tide", "grow", "--wait", "--host", "alpha2,beta")
        assert done.returncode == 0, done.stderr
        assert nodes_up(dvm) == NAMES and sorted(dvm.steps()) == ["alpha1", "alpha2,beta"]
        done = dvm.tool("tide", "shrink", "--wait", "--host", "beta")
        assert done.returncode == 0, done.stderr
        wait_until(lambda: not machines.processes("beta"), what="nothing is left on a node that has gone")
        assert nodes_up(dvm) == NAMES[:2]


# row:C3
def test_grow_with_a_node_that_cannot_start_leaves_nothing(machines):
    machines.rule("beta", "deny srun: error: Task launch failed on node beta: no answer")
    with DvmInSteps(machines, NAMES[:1]) as dvm:
        done = dvm.tool("tide", "grow", "--wait", "--host", "alpha2,beta")
        assert done.returncode == 4, done
        assert "the DVM has not grown" in done.stderr and "node beta could not be started" in done.stderr, done.stderr
        assert "no answer" in done.stderr and "node alpha2 could" not in done.stderr, done.stderr
        assert not machines.processes("alpha2") and nodes_up(dvm) == NAMES[:1]


def test_start_with_a_node_that_cannot_start(machines):
    (machines.tmpdir("beta") / f"prte.{os.uname().nodename.split('.')[0]}.{os.getuid()}").write_text("in the way")
    dvm = DvmInSteps(machines, NAMES)
    try:
        done = dvm.try_up()
        assert done.returncode == 1 and "node beta could not be started" in done.stderr, done.stderr
        assert "is a symbolic link or no directory" in done.stderr and "alpha1" not in done.stderr, done.stderr
        assert_nothing_left(dvm, may_stay=["hosts"])
        assert not machines.processes("alpha1") and not machines.processes("beta")
    finally:
        dvm.close()
        next(machines.tmpdir("beta").iterdir()).unlink()


@pytest.mark.parametrize("command, said", [
    ("/no/such/srun {command}", "'/no/such/srun' is not in the PATH"),
    ("sh -c 'echo srun: error: no such job >&2; exit 1'", "sh ended with exit status 1 before alpha1 was up"),
    ("srun 'x", "a quote is not closed")], ids=["missing", "refuses", "unreadable"])
def test_command_that_cannot_be_used(machines, command, said):
    dvm = DvmInSteps(machines, NAMES[:1], command=command)
    try:
        done = dvm.try_up()
        assert done.returncode == 1 and said in done.stderr, done.stderr
        assert_nothing_left(dvm, may_stay=["hosts"])
    finally:
        dvm.close()


def test_machine_that_is_not_meant(machines):
    """The daemon is not for whoever gets the command, but for whom it names."""
    command = f"{sys.executable} {PLAYER} {machines.agent} beta {{command}}"
    dvm = DvmInSteps(machines, NAMES[:1], command=command)
    try:
        done = dvm.try_up()
        assert done.returncode == 1 and "node alpha1 could not be started" in done.stderr, done.stderr
        assert "no daemon is meant for this machine, beta or" in done.stderr, done.stderr
    finally:
        dvm.close()


@pytest.mark.parametrize("word", ["--node", "--step"], ids=["daemon", "foreground"])
def test_one_that_is_killed_is_lost_alone(dvm, machines, word):
    pid = min(pid for pid, words in machines.processes("alpha2").items() if word in words)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: nodes_up(dvm) == ["alpha1", "beta"], what="the node is lost")
    wait_until(lambda: not machines.processes("alpha2"), what="nothing is left of it")
    assert dvm.steps()
    for path in machines.tmpdir("alpha2").glob("prte.*/*"):
        assert not path.exists(), path


def test_end_of_the_command_is_the_end_of_its_daemons(dvm, machines):
    os.kill(dvm.steps()["alpha[1-2],beta"], signal.SIGKILL)
    wait_until(lambda: not nodes_up(dvm), what="all nodes are lost")
    machines.assert_nothing_left()


def test_end_of_the_head_is_the_end_of_its_daemons(dvm, machines):
    step = dvm.steps()["alpha[1-2],beta"]
    os.kill(dvm.head_pid(), signal.SIGKILL)
    dvm.abandon()
    machines.assert_nothing_left()
    wait_until(lambda: not is_alive(step), what="the command has ended")


def test_signal_of_the_scheduler_leaves_programs_their_time(machines):
    """As when a job is cancelled: all processes of the task get it."""
    with DvmInSteps(machines, NAMES, prtemca={"plm_step_grace": "3s"}) as dvm:
        saved = dvm.tmpdir / "saved"
        job = dvm.start("prun", "-n", 1, "--host", "beta", "sh", "-c",
                        f"trap 'sleep 0.5; echo saved > {saved}; exit' TERM; echo up; while :; do sleep 0.1; done")
        assert job.stdout.readline() == "up\n"
        for pid in machines.processes("beta"):
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:  # a sleep of the program's
                pass
        wait_until(saved.exists, what="the program has saved what it has")
        wait_until(lambda: nodes_up(dvm) == ["alpha1", "alpha2"], what="the node is gone")
        wait_until(lambda: not machines.processes("beta") and not machines.files("beta"), what="nothing is left of it")
