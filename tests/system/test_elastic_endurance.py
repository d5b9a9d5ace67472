"""A DVM that grows and shrinks again and again while short jobs and short MPI jobs keep arriving: 8, 24, 4, 24 nodes.

A job may fail only because it had a process on a node that was released, and then says so. docs/endurance.md has the
results of long runs."""

import os
import re
import threading
from pathlib import Path

import pytest

from dvm import BIN, wait_until
from growing import done, nodes, where

PROGRAMS = BIN.parent / "tests" / "programs"
LARGE, SMALL, FIRST = 24, 4, 8
SLOTS = 4
ALWAYS_THERE = ["v7", "v8"]
NODE_LOST = 120
JOBS_OF_EACH_KIND = 3  # have to end at each size before it changes again
GROWTH_LIMIT_KIB = 2048

KINDS = {
    "anywhere": ("-n", "6", "--map-by", "node", "echo", "here"),
    "pinned": ("-n", "2", "--host", ",".join(ALWAYS_THERE), "--map-by", "node:OVERSUBSCRIBE", "echo", "here"),
    "mpi": ("-n", "4", "--map-by", "node", "-x", "OMPI_MCA_pml=ob1", PROGRAMS / "mpi_allreduce"),
}


class Submitters:
    """One of each kind, job after job, until stop(). All that fails is kept."""

    def __init__(self, dvm):
        self._dvm, self._stop = dvm, threading.Event()
        self.ended = dict.fromkeys(KINDS, 0)
        self.failed = []
        self._threads = [threading.Thread(target=self._submit, args=(kind,)) for kind in KINDS]
        for thread in self._threads:
            thread.start()

    def _submit(self, kind):
        while not self._stop.is_set():
            try:
                ran = self._dvm.tool("prun", *KINDS[kind])
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


def leave_but(dvm, cycle):
    """Shrinks to those who are always there and two others, who are others in each cycle."""
    rest = sorted(set(nodes(dvm)) - set(ALWAYS_THERE), key=lambda name: int(name[1:]))
    stay = {rest[cycle % len(rest)], rest[(cycle * 7 + 3) % len(rest)]}
    go = [name for name in rest if name not in stay]
    go = go[len(go) - (LARGE - SMALL):]
    done(dvm, "shrink", "--host", ",".join(go))
    assert len(nodes(dvm)) == SMALL


def head_has(dvm):
    """(KiB, descriptors) of the head, without those for its links: how many daemons are directly below it depends on
    the holes in the tree."""
    status = dvm.status()
    pid, links = status["dvm"]["pid"], sum(node["parent"] == 0 for node in status["nodes"])
    resident = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]
    return int(resident), len(os.listdir(f"/proc/{pid}/fd")) - links


def endure(elastic, radix, cycles):
    """[head_has() after each cycle], at rest and with the same nodes; and the submitters."""
    dvm = elastic(nodes=FIRST, pool=LARGE - FIRST, slots=SLOTS, rml_radix=radix, tide_history_jobs=50,
                       tide_history_events=100, tide_recorder_events=500)
    after, counts, failed = [], dict.fromkeys(KINDS, 0), []
    for cycle in range(cycles):
        submitters = Submitters(dvm)
        try:
            submitters.some_more()
            if cycle == 0:
                done(dvm, "grow", "--count", LARGE - FIRST)
                submitters.some_more()
            leave_but(dvm, cycle)
            submitters.some_more()
            done(dvm, "grow", "--count", LARGE - SMALL)
            submitters.some_more()
        finally:
            submitters.stop()
        assert not submitters.not_by_contract(), submitters.not_by_contract()[:3]
        counts = {kind: counts[kind] + submitters.ended[kind] for kind in KINDS}
        failed += submitters.failed
        at_rest(dvm)
        if after:
            wait_until(lambda: head_has(dvm)[1] == after[0][1], what=f"as many descriptors as {after[0]}")
        after.append(head_has(dvm))
    assert len(where(dvm, LARGE)) == LARGE
    print(f"radix {radix}: {cycles} cycles, jobs {counts}, {len(failed)} ended with released nodes, head {after}")
    return after


def at_rest(dvm):
    """No job, no change, and no process but the DVM's own."""
    wait_until(lambda: not dvm.jobs()["jobs"] and not dvm.status()["campaigns"], what="nothing goes on")
    wait_until(lambda: len(dvm.processes()) == 2 + LARGE, what="only head, warden and daemons are left")


def assert_flat(after):
    """What is kept on purpose is filled after the first."""
    assert after[-1][0] - after[0][0] <= GROWTH_LIMIT_KIB, after


@pytest.mark.noasan("memory figures mean nothing under the sanitizers")
@pytest.mark.parametrize("radix", [2, 64])
def test_two_cycles(elastic, radix):
    assert_flat(endure(elastic, radix, 2))


@pytest.mark.long
@pytest.mark.limit(1200)
@pytest.mark.noasan("memory figures mean nothing under the sanitizers")
@pytest.mark.parametrize("radix", [2, 64])
def test_thirty_cycles(elastic, radix):
    cycles = int(os.environ.get("TIDE_CYCLES") or 30)
    assert_flat(endure(elastic, radix, cycles)[1:])
