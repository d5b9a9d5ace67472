"""One round of the soak: a DVM, submitters, faults one after the other, and what must hold all the while."""

import itertools
import subprocess
import threading
import time

from dvm import wait_until
from jobs import Streams, writer
from load import check_tree
from soak_plan import BROAD, MILD_S, plan_broad_jobs, plan_jobs
from soak_verdict import Record, complaint
from swarm_dvm import ALONE_S, FAST, MARGIN_S, SILENCE_S, SwarmDvm, everywhere

SUBMITTERS = 2
JOB_LIMIT_S = 40  # beside what it is told to last
ANSWER_LIMIT_S = 10
VOLUME_BYTES = 256 << 10
VOLUME_RANKS = 4  # so many can be told apart
HEARTLESS_MARGIN_S = 2 * MARGIN_S  # a soak keeps both cores busy

class Task:
    """What the processes of a job do, and whether their output is all there."""

    def __init__(self, plan, ranks):
        self._streams = Streams(ranks, 1, VOLUME_BYTES) if plan.kind == "volume" else None
        words = ["first", "last"] if plan.kind in ("linger", BROAD) else ["first"]
        self._lines = sorted(f"{word} {rank} {plan.salt}" for word in words for rank in range(ranks))
        pause = f"; sleep {plan.linger_s:.2f}; ".join(f"echo {word} $TIDE_RANK {plan.salt}" for word in words)
        self.argv = writer(1, VOLUME_BYTES) if self._streams else ["sh", "-c", pause]

    def is_whole(self, output):
        """Whole lines are written at once and come so; large output is told apart by its letters."""
        if not self._streams:
            return sorted(output.decode(errors="replace").splitlines()) == self._lines
        try:
            self._streams.take(output)
            self._streams.check()
            return True
        except AssertionError:
            return False


class SoakRound:
    def __init__(self, bed, seed, planned, seconds_per_fault, say):
        self._bed, self._seed, self._planned, self._say = bed, seed, planned, say
        self._seconds_per_fault = seconds_per_fault
        self.records, self.strokes, self.complaints, self.faults = [], [], [], 0  # strokes: (time, fault that costs a node)
        self._stop, self._guard = threading.Event(), threading.Lock()
        self._numbers = itertools.count(1)
        self._alive = bed.names()

    def play(self):
        """Everything; complaints are in self.complaints afterwards."""
        self._dvm = SwarmDvm(self._bed, self._bed.count, prtemca={"rml_radix": self._planned.radix, **FAST})
        try:
            self._dvm.up()
            number = self._planned.number
            plans = [plan_jobs(self._seed, number, submitter) for submitter in range(SUBMITTERS)]
            plans.append(plan_broad_jobs(self._seed, number, self._seconds_per_fault))
            submitters = [threading.Thread(target=self._submit, args=(jobs,)) for jobs in plans]
            for thread in submitters:
                thread.start()
            try:
                for fault in self._planned.faults:
                    self._strike_and_watch(fault)
            finally:
                self._stop.set()
                for thread in submitters:
                    thread.join()
            self._judge_jobs()
            self._check_quiet()
            self._dvm.close()
        except (AssertionError, subprocess.TimeoutExpired) as error:
            self.complaints.append(f"round {self._planned.number}: {error}")
        return self

    def keep_logs(self, folder):
        self._dvm.keep_logs(folder)

    def clear(self):
        """Ends the DVM whatever state it is in, and mends the nodes."""
        self._dvm.abandon()
        self._dvm.close()
        self._bed.mend()
        try:
            self._bed.assert_nothing_left()
        except AssertionError as error:
            self.complaints.append(f"round {self._planned.number}: {error}")

    # ---- jobs ----

    def _submit(self, plans):
        for plan in plans:
            if self._stop.is_set():
                return
            self._run(plan)

    def _run(self, plan):
        with self._guard:
            width = max(1, round(plan.width * len(self._alive)))
            width = min(width, VOLUME_RANKS) if plan.kind == "volume" else width
            turn = plan.salt % len(self._alive)
            hosts = (self._alive[turn:] + self._alive[:turn])[:width]
            record = Record(next(self._numbers), plan.kind, hosts, time.monotonic())
            self.records.append(record)
        task = Task(plan, width)
        try:
            done = self._dvm.tool("prun", "-n", width, "--host", ",".join(hosts), "--map-by", "node:OVERSUBSCRIBE",
                                  *task.argv, limit_s=JOB_LIMIT_S + plan.linger_s, text=False)
            record.status, record.error = done.returncode, done.stderr.decode(errors="replace")
            record.whole = task.is_whole(done.stdout)
        except subprocess.TimeoutExpired:
            self._stop.set()
        record.ended = time.monotonic()

    def _judge_jobs(self):
        found = [complaint(record, self.strokes) for record in self.records]
        self.complaints += [f"round {self._planned.number}: {text}" for text in found if text]

    # ---- faults ----

    def _strike_and_watch(self, fault):
        over = time.monotonic() + self._seconds_per_fault
        if self._stop.wait(fault.lead * self._seconds_per_fault):
            return
        self.faults += 1
        told = self._cost(fault) if fault.costs_nodes else self._tease(fault)
        self._check_answer()
        self._say(f"  {fault}: {told}; {len(self.records)} jobs so far")
        self._stop.wait(max(0, over - time.monotonic()))

    def _cost(self, fault):
        bed, nodes = self._bed, fault.nodes
        with self._guard:
            began = time.monotonic()
            self._alive = [name for name in self._alive if name not in nodes]
            self.strokes.append((began, fault))
        if fault.kind == "partition":
            bed.split(nodes)
        elif fault.kind in ("crash", "silent"):
            bed.crash(nodes[0], silent=fault.kind == "silent")
        else:
            {"cut": bed.cut, "freeze": bed.freeze}[fault.kind](nodes[0])
        self._dvm.wait_for_nodes(self._alive, limit_s=SILENCE_S + HEARTLESS_MARGIN_S)
        noticed_s = time.monotonic() - began
        if fault.kind == "freeze":
            bed.thaw(nodes[0])
        left = {}

        def gone():
            left.clear()
            left.update(bed.processes(nodes))
            return not left

        try:
            wait_until(gone, limit_s=ALONE_S + HEARTLESS_MARGIN_S)
        except AssertionError:
            raise AssertionError(f"after {fault}: still there {left}") from None
        return f"noticed after {noticed_s:.1f} s, nothing left there after {time.monotonic() - began:.1f} s"

    def _tease(self, fault):
        bed, name = self._bed, fault.nodes[0]
        if fault.kind == "slow":
            bed("slow", name, "--delay", "30ms", "--rate", "20mbit")
        else:
            {"short-cut": bed.cut, "short-freeze": bed.freeze}[fault.kind](name)
        time.sleep(MILD_S)  # how long the fault lasts
        bed.thaw(name) if fault.kind == "short-freeze" else bed.heal(name)
        return f"over after {MILD_S:.0f} s"

    # ---- checks ----

    def _check_answer(self):
        began = time.monotonic()
        names = self._dvm.names()
        seconds = time.monotonic() - began
        assert seconds < ANSWER_LIMIT_S, f"tide status took {seconds:.1f} s"
        assert names == self._alive, f"the DVM has {names} instead of {self._alive}"

    def _check_quiet(self):
        """No job runs: nothing of one is left, the tree is whole, every survivor takes work."""
        status = self._dvm.status()
        assert not status["jobs"], f"jobs that nobody waits for: {status['jobs']}"
        assert all(node["processes"] == 0 and node["slots_used"] == 0 for node in status["nodes"]), status["nodes"]
        check_tree(status, self._planned.radix)
        strangers = {}

        def only_daemons():
            strangers.clear()
            strangers.update({key: words for key, words in self._dvm.processes().items()
                              if words.startswith(("sh ", "sleep ", "prun"))})
            return not strangers

        try:
            wait_until(only_daemons)
        except AssertionError:
            raise AssertionError(f"left by jobs: {strangers}") from None
        everywhere(self._dvm, self._alive)
