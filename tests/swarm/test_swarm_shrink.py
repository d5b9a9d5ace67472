"""A DVM over ssh shrinks: nothing is left on a released machine when it is told so, jobs keep arriving, and the machines come
again and again."""

import threading

import pytest

from dvm import wait_until
from growing import begin, done, ended, in_phase, kinds, nodes
from load import check_tree
from swarm_dvm import FAST, everywhere
from swarm_growing import assert_has, left_on, seen_on

NODES = 12
SUBMISSIONS = 40
AT_ONCE = 4
BUSY = 3  # nodes have slots enough for the jobs that run at once
RADIXES = [2, 64]
PATIENT = {"tide_release_grace": "40s", "tide_kill_grace": "40s", "tide_leave_timeout": "40s"}


def release(dvm, names):
    """A shrink by these; when it is told nothing of the DVM is left on them."""
    done(dvm, "shrink", "--host", ",".join(names))
    left = left_on(dvm, names)
    assert not left, f"told, and still there: {left}"


# row:E12 row:S3 row:S4
@pytest.mark.limit(120)
@pytest.mark.parametrize("radix", RADIXES)
def test_nothing_is_left_on_a_released_machine_when_it_is_told(make_elastic, radix):
    """A leaf, one that relays for others, a whole branch; with jobs on them that have left their session."""
    dvm = make_elastic(NODES, prtemca={"rml_radix": radix, "tide_release_grace": "1s"})
    names = list(dvm.first)
    for leaving in (["node12"], ["node3"], ["node2", "node4", "node5", "node9", "node10"]):
        job = dvm.start("prun", "-n", len(leaving), "--host", ",".join(leaving), "--map-by", "node", "sh", "-c",
                        "setsid sleep 1000 & echo up; exec sleep 1000")
        assert [job.stdout.readline() for _ in leaving] == ["up\n"] * len(leaving)
        release(dvm, leaving)
        assert not dvm.bed.processes(leaving) or wait_until(lambda: not dvm.bed.processes(leaving))
        assert "released" in dvm.finish(job).stderr
        names = [name for name in names if name not in leaving]
        assert_has(dvm, names)
        check_tree(dvm.status(), radix)
    told = kinds(dvm)
    assert told.count("node-left") == 7 and not {"node-lost", "node-suspected"} & set(told), told
    assert dvm.status()["counters"]["tree.repairs"] == 3


# row:S9 row:S10
@pytest.mark.limit(120)
@pytest.mark.parametrize("radix", RADIXES)
def test_the_same_machines_come_and_go_again_and_again(make_elastic, radix):
    dvm = make_elastic(4, pool=6, prtemca={"rml_radix": radix})
    highest = 4
    for count in (6, 3, 6, 1):
        done(dvm, "grow", "--count", count)
        coming = [node for node in dvm.status()["nodes"] if node["name"] in dvm.pool]
        assert len(coming) == count and min(node["rank"] for node in coming) > highest, "ranks are not given twice"
        highest = max(node["rank"] for node in coming)
        names = [node["name"] for node in coming]
        for name in names:
            daemons = [words for words in dvm.bed.processes([name]).values() if "--node" in words]
            assert len(daemons) == 1, daemons
        assert_has(dvm, dvm.first + names)
        release(dvm, names)
    assert_has(dvm, dvm.first)


# row:S11 row:E12
@pytest.mark.limit(120)
def test_a_machine_that_crashes_while_it_leaves_has_left(bed, make_elastic):
    dvm = make_elastic(6, prtemca={"rml_radix": 2, **PATIENT, **FAST, "tide_failpoint": "action.exit/node3:hold"})
    shrinking = begin(dvm, "shrink", "--host", "node3,node6")
    in_phase(dvm, "departing")
    wait_until(lambda: "node3" in nodes(dvm) and not seen_on(dvm, ["node6"]), what="node6 has left")
    bed.crash("node3")
    said = ended(dvm, shrinking)
    assert said.stdout.count("shrunk by 2 nodes") == 1, said.stdout
    assert_has(dvm, ["node1", "node2", "node4", "node5"])
    told = kinds(dvm)
    assert told.count("shrink-done") == 1 and not {"node-lost", "node-suspected"} & set(told), told


# ---- under load ----

class Submissions:
    """So many jobs, some at a time. They fill the first nodes, which never leave: who has a process on a node that does
    ends with it, and all of these have to succeed."""

    def __init__(self, dvm, count=SUBMISSIONS):
        self._dvm, self._left, self._guard = dvm, count, threading.Lock()
        self.ended, self.failed = 0, []
        self._threads = [threading.Thread(target=self._submit) for _ in range(AT_ONCE)]
        for thread in self._threads:
            thread.start()

    def _submit(self):
        while True:
            with self._guard:
                if self._left == 0:
                    return
                self._left -= 1
            ran = self._dvm.tool("prun", "-n", 2, "true", limit_s=60)
            with self._guard:
                self.ended += 1
                if ran.returncode != 0:
                    self.failed.append(ran.stderr)

    def begun(self):
        wait_until(lambda: self.ended >= AT_ONCE, what="jobs end", limit_s=30)

    def check(self):
        for thread in self._threads:
            thread.join()
        assert not self.failed, self.failed[:3]


def shrink_under_load(dvm, rounds):
    """Each time other nodes leave, and come back."""
    head, candidates = dvm.head_pid(), dvm.first[BUSY:]
    for number in range(rounds):
        leaving = [candidates[(number * 3 + step * 4) % len(candidates)] for step in range(3)]
        submissions = Submissions(dvm)
        submissions.begun()
        done(dvm, "shrink", "--host", ",".join(leaving))
        left = left_on(dvm, leaving)
        submissions.check()
        assert not left, f"told, and still there: {left}"
        assert dvm.head_pid() == head
        done(dvm, "grow", "--host", ",".join(leaving))
    everywhere(dvm, dvm.first)


# row:S12 row:E12 row:S9
@pytest.mark.limit(180)
@pytest.mark.parametrize("radix", RADIXES)
def test_shrinks_under_load(make_elastic, radix):
    """Ten in all."""
    shrink_under_load(make_elastic(NODES, prtemca={"rml_radix": radix}), 5)


# row:S12
@pytest.mark.long
@pytest.mark.limit(1800)
@pytest.mark.parametrize("radix", RADIXES)
def test_a_hundred_shrinks_under_load(make_elastic, radix):
    shrink_under_load(make_elastic(NODES, prtemca={"rml_radix": radix}), 50)
