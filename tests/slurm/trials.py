"""Elastic DVMs whose Slurm misbehaves: made, asked all the while how they are, and shown to be unhurt afterwards."""

import json
import re
import threading
import time
from contextlib import contextmanager

import pytest

from dvm import TIME_SCALE, wait_until
from growing import DONE, done, nodes, tide
from slurm_dvm import SlurmDvm
from swarm_dvm import everywhere

COMMAND_LIMIT_S = 3  # ras_slurm_timeout in PROMPT
PROMPT = {"ras_slurm_timeout": f"{COMMAND_LIMIT_S}s", "ras_slurm_first_look": "300ms", "ras_slurm_last_look": "1s"}
ANSWER_S = 2.5  # less than any wait for a command takes
GIVEN_BACK_LIMIT_S = 30
PAUSE_S = 0.1  # between two questions


class Questions:
    """Inside of it the DVM is asked for its status again and again, and has to answer at once each time."""

    def __init__(self, dvm):
        self._dvm, self._over, self.slowest_s, self.wrong = dvm, threading.Event(), 0, None
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, kind, *_):
        self._over.set()
        self._thread.join()
        if kind is None:
            assert not self.wrong, self.wrong
            assert self.slowest_s < ANSWER_S * TIME_SCALE, f"tide status took {self.slowest_s:.1f} s"

    def _ask(self):
        while not self._over.wait(PAUSE_S):
            began = time.monotonic()
            try:
                answer = self._dvm.tool("tide", "status")
            except Exception as error:  # a thread's own would be lost
                self.wrong = f"tide status: {error}"
                return
            self.slowest_s = max(self.slowest_s, time.monotonic() - began)
            if answer.returncode:
                self.wrong = f"tide status: {answer.stderr}"


class ReadyDvm(SlurmDvm):
    """One that counts as up when it is ready, and as over when its script has ended, whatever Slurm still waits for."""

    def begin(self):
        """Its script runs, or has run already."""
        self._by_sbatch()

    def begin_on(self, node):
        """The same where its first node is known, and nobody has to ask Slurm for it."""
        self.job = self.bed.sbatch(self._output, *self._wanted, self._script, env=self.env)
        self._head_on(node)

    def answers(self):
        answer = self.tool("tide", "status", "--json")
        return answer.returncode == 0 and json.loads(answer.stdout)["dvm"]["state"] == "ready"

    def is_over(self):
        return self.job.state() in (None, "COMPLETING")

    _answers, _is_over = answers, is_over

    def exit_status(self):
        """Of its script, as Slurm has it."""
        shown = self.bed.slurm("scontrol", "show", "job", self.job.id, "-o")
        return int(re.search(r" ExitCode=(\d+):0 ", shown)[1])


class Trial:
    """An elastic DVM that knows stand-ins for the commands of Slurm."""

    def __init__(self, bed, count=2, *, prtemca=None, **arguments):
        self.bed, self.shims = bed, bed.shims()
        settings = {"prte_elastic_mode": 1, **PROMPT, **(prtemca or {})}
        self.dvm = ReadyDvm(bed, count, shims=self.shims, prtemca=settings, **arguments)

    def up(self):
        self.dvm.up()
        self.names = self.dvm.names()
        return self

    def close(self):
        self.shims.clear()
        self.dvm.close()

    @contextmanager
    def wrong(self, command, **how):
        """Inside of it this command misbehaves so, and the DVM answers."""
        self.shims.set(command, **how)
        try:
            with Questions(self.dvm):
                yield
        finally:
            self.shims.clear(command)

    def grow(self, *words, status=DONE, within_s=None):
        """A grow by one node, if nothing else is said, that ends so; what it said, and what came."""
        before, began = nodes(self.dvm), time.monotonic()
        said = tide(self.dvm, "grow", *(words or ("--count", 1)), "--wait")
        seconds = time.monotonic() - began
        assert said.returncode == status, f"exit status {said.returncode}: {said.stdout}{said.stderr}"
        assert within_s is None or seconds < within_s * TIME_SCALE, f"{seconds:.1f} s: {said.stdout}{said.stderr}"
        came = sorted(set(nodes(self.dvm)) - set(before))
        assert bool(came) == (status == DONE)
        return said.stdout + said.stderr, came

    def wait_for_calls(self, command, more=1, limit_s=GIVEN_BACK_LIMIT_S, matching=""):
        """Until it was called so many times from now on."""
        calls = lambda: sum(matching in " ".join(words) for words in self.shims.calls(command))
        before = calls()
        wait_until(lambda: calls() >= before + more, limit_s=limit_s, what=f"{command} is called")

    def jobs(self):
        return [job.id for job in self.bed.squeue()]

    def wait_for_jobs(self, ids, limit_s=GIVEN_BACK_LIMIT_S):
        """Until Slurm has these jobs and no others."""
        seen = []

        def right():
            seen[:] = self.bed.squeue()
            return sorted(job.id for job in seen) == sorted(ids)

        wait_until(right, limit_s=limit_s, what=f"Slurm has the jobs {ids} and no others: {seen}")

    def wait_agreed(self, limit_s=GIVEN_BACK_LIMIT_S):
        """Until the DVM has the nodes that Slurm says it has."""
        granted = lambda: {name for job in self.bed.squeue() if job.nodes for name in self.bed.expanded(job.nodes)}
        wait_until(lambda: set(self.dvm.names()) == granted(), limit_s=limit_s, what="Slurm and the DVM agree")

    def blocked(self, free):
        """A job of somebody else that leaves so many nodes free."""
        idle = sum(state == "idle" for state in self.bed.node_states().values())
        return self.bed.submit("sleep 600", nodes=idle - free, minutes=20).wait_for("RUNNING")

    def waiting(self, count, *words):
        """A request that waits in the queue, and its job; a grow, if nothing else is said."""
        before = self.jobs()
        request = self.dvm.start("tide", *(words or ("grow", "--wait")), "--count", count)
        known = wait_until(lambda: [job for job in self.bed.squeue() if job.id not in before and job.state == "PENDING"],
                           what="a job waits in the queue")
        return request, known[0].id

    def unhurt(self, names=None):
        """It has these nodes, jobs run there, Slurm has its job only; it can grow, and give back what came."""
        names = names or self.names
        assert self.dvm.names() == list(names)
        everywhere(self.dvm, names)
        self.wait_for_jobs([self.dvm.job.id])
        _, came = self.grow()
        everywhere(self.dvm, [*names, *came])
        done(self.dvm, "shrink", "--host", ",".join(came))
        self.wait_for_jobs([self.dvm.job.id])


@pytest.fixture
def trial(slurm):
    """A function Trial(bed, …) → running Trial; `ready` is called with it before its start. All are taken down at the end."""
    made = []

    def make(*count, ready=None, **arguments):
        made.append(Trial(slurm, *count, **arguments))
        if ready:
            ready(made[-1])
        return made[-1].up()

    yield make
    for one in reversed(made):
        one.close()
