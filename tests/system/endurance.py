"""A DVM that grows and shrinks again and again while short jobs and short MPI jobs keep arriving.

A job may fail only because it had a process on a node that was released, and then says so. docs/endurance.md has the
results of long runs."""

import os
import re
import threading
from pathlib import Path
from typing import NamedTuple

from dvm import BIN, wait_until
from growing import done, nodes, where

PROGRAMS = BIN.parent / "tests" / "programs"
SLOTS = 4
NODE_LOST = 120
JOBS_OF_EACH_KIND = 3  # have to end at each size before it changes again
GROWTH_LIMIT_KIB = 2048
DAEMON_GROWTH_LIMIT_KIB = 4096  # with the one step that docs/endurance.md tells of
KEPT_PER_MPI_PROCESS_KIB = 6  # by libpmix in its daemon: docs/pmix.md
FORGETFUL = {"tide_history_jobs": 50, "tide_history_events": 100, "tide_recorder_events": 500}


class Sizes(NamedTuple):
    first: int
    large: int
    small: int
    always: list  # nodes that stay, two of them


def kinds_of_jobs(always):
    return {"anywhere": ("-n", "6", "--map-by", "node", "echo", "here"),
            "pinned": ("-n", "2", "--host", ",".join(always), "--map-by", "node:OVERSUBSCRIBE", "echo", "here"),
            "mpi": ("-n", "4", "--map-by", "node", "-x", "OMPI_MCA_pml=ob1", PROGRAMS / "mpi_allreduce")}


class Look(NamedTuple):
    """At rest, after a cycle."""

    programs: dict  # {rank: program_has()}
    mpi_jobs: int  # that have ended


class Submitters:
    """One of each kind, job after job, until stop(). All that fails is kept."""

    def __init__(self, dvm, kinds):
        self._dvm, self._kinds, self._stop = dvm, kinds, threading.Event()
        self.ended = dict.fromkeys(kinds, 0)
        self.failed = []
        self._threads = [threading.Thread(target=self._submit, args=(kind,)) for kind in kinds]
        for thread in self._threads:
            thread.start()

    def _submit(self, kind):
        while not self._stop.is_set():
            try:
                ran = self._dvm.tool("prun", *self._kinds[kind])
            except Exception as error:  # it did not end in time
                self.failed.append((kind, None, repr(error)))
                return
            if ran.returncode != 0:
                self.failed.append((kind, ran.returncode, ran.stderr))
            self.ended[kind] += 1

    def some_more(self):
        """Waits until jobs of each kind have ended that came after now."""
        wanted = {kind: count + JOBS_OF_EACH_KIND for kind, count in self.ended.items()}
        wait_until(lambda: all(self.ended[kind] >= count for kind, count in wanted.items()) or self.stuck(),
                   limit_s=40, what="jobs keep ending")

    def stuck(self):
        return any(status is None for _, status, _ in self.failed)

    def stop(self):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def not_by_contract(self):
        """Failures that no release explains."""
        return [(kind, status, text) for kind, status, text in self.failed
                if kind == "pinned" or status != NODE_LOST or "released" not in text]


def number_of(name):
    return int(re.search(r"\d+$", name)[0])


def leave_but(dvm, sizes, cycle):
    """Shrinks to those who are always there and some others, who are others in each cycle. Returns who left."""
    rest = sorted(set(nodes(dvm)) - set(sizes.always), key=number_of)
    stay = {rest[cycle % len(rest)], rest[(cycle * 7 + 3) % len(rest)]}
    go = [name for name in rest if name not in stay]
    go = go[len(go) - (sizes.large - sizes.small):]
    done(dvm, "shrink", "--host", ",".join(go))
    assert len(nodes(dvm)) == sizes.small
    return go


def program_has(dvm, rank, pid):
    """(KiB, descriptors) of a head or daemon, whose number here is `pid`, without those for its links: how many daemons
    are directly below it depends on the holes in the tree."""
    links = sum(node["parent"] == rank for node in dvm.status()["nodes"]) + (rank > 0)
    resident = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]
    return int(resident), len(os.listdir(f"/proc/{pid}/fd")) - links


class Endurance:
    """Cycles of one DVM. To be changed where it is not all on this machine."""

    def __init__(self, dvm, sizes):
        self.dvm, self.sizes, self._kinds = dvm, sizes, kinds_of_jobs(sizes.always)
        self._counts, self._failed = dict.fromkeys(self._kinds, 0), []

    def programs(self):
        """{rank: pid, as seen from here} of those that are looked at: the head, and a daemon that is always there."""
        daemon = next(node for node in self.dvm.status()["nodes"] if node["name"] == self.sizes.always[0])
        return {0: self.dvm.head_pid(), daemon["rank"]: daemon["pid"]}

    def own_processes(self):
        """How many processes the DVM has where no job runs: head, warden and daemons."""
        return 2 + self.sizes.large

    def has_left(self, names):
        """After each shrink: who left, when it was told."""

    def run(self, cycles):
        """[Look after each cycle], at rest and with as many nodes."""
        dvm, after = self.dvm, []
        for cycle in range(cycles):
            self._cycle(cycle)
            self._at_rest()
            if after:
                wait_until(lambda: self._descriptors(self._look()) == self._descriptors(after[0]),
                           what=f"as many descriptors as {after[0]}")
            after.append(self._look())
        assert len(where(dvm, self.sizes.large)) == self.sizes.large
        print(f"{cycles} cycles, jobs {self._counts}, {len(self._failed)} ended with released nodes, {after}")
        return after

    def _cycle(self, cycle):
        dvm, sizes, before = self.dvm, self.sizes, self._counters()
        submitters = Submitters(dvm, self._kinds)
        try:
            submitters.some_more()
            if cycle == 0:
                done(dvm, "grow", "--count", sizes.large - sizes.first)
                submitters.some_more()
            self.has_left(leave_but(dvm, sizes, cycle))
            submitters.some_more()
            done(dvm, "grow", "--count", sizes.large - sizes.small)
            submitters.some_more()
        finally:
            submitters.stop()
        assert not submitters.not_by_contract(), submitters.not_by_contract()[:3]
        counted = {name: count - before[name] for name, count in self._counters().items()}
        grows = 2 if cycle == 0 else 1
        assert counted == {"elastic.grows": grows, "elastic.shrinks": 1, "elastic.rollbacks": 0, "tree.repairs": 1}, counted
        self._counts = {kind: self._counts[kind] + submitters.ended[kind] for kind in self._kinds}
        self._failed += submitters.failed

    def _counters(self):
        counters = self.dvm.status()["counters"]
        return {name: counters[name] for name in ("elastic.grows", "elastic.shrinks", "elastic.rollbacks", "tree.repairs")}

    def _look(self):
        programs = {rank: program_has(self.dvm, rank, pid) for rank, pid in self.programs().items()}
        return Look(programs, self._counts["mpi"])

    @staticmethod
    def _descriptors(look):
        return {rank: descriptors for rank, (_, descriptors) in look.programs.items()}

    def _at_rest(self):
        """No job, no change, and no process but the DVM's own."""
        dvm = self.dvm
        wait_until(lambda: not dvm.jobs()["jobs"] and not dvm.status()["campaigns"], what="nothing goes on")
        wait_until(lambda: len(dvm.processes()) == self.own_processes(), what="only head, wardens and daemons are left")
        assert all(node["slots_used"] == 0 for node in dvm.status()["nodes"]), dvm.status()["nodes"]


def assert_flat(after):
    """What is kept on purpose is filled after the first. A daemon had one process of each MPI job at most."""
    assert len(after) >= 2, "one look tells nothing"
    first, last = after[0], after[-1]
    kept_kib = (last.mpi_jobs - first.mpi_jobs) * KEPT_PER_MPI_PROCESS_KIB
    for rank, (kib, _) in first.programs.items():
        limit_kib = DAEMON_GROWTH_LIMIT_KIB + kept_kib if rank > 0 else GROWTH_LIMIT_KIB
        assert last.programs[rank][0] - kib <= limit_kib, (rank, limit_kib, after)
