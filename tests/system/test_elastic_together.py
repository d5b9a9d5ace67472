"""Changes that meet: grows and shrinks of several clients at once, in every order, with and without nodes in common;
askers that go away; a DVM that gives up its last node."""

import itertools
import os
import signal

import pytest

from dvm import TIME_SCALE, wait_until
from growing import (DONE, UNDONE, begin, done, ended, in_phase, nodes, parked, phases, ran_on, release,
                     settled, submit_parked, tide, where)

LAUNCH = "action.launch_daemons"
NOT_LAUNCHED = f"{LAUNCH}@2:hold"
EXITED = "event.daemon_exited"


# What is asked for, by which command, and what holds its end.
CHANGES = {"grow": ("grow", "--host", "v4"), "shrink": ("shrink", "--host", "v3"), "push": ("pool", "push", "--host", "v5")}
ENDS = {"grow": LAUNCH, "shrink": EXITED}


# row:E14 row:C7
@pytest.mark.parametrize("ends", itertools.permutations(ENDS), ids="-".join)
@pytest.mark.parametrize("asked", itertools.permutations(ENDS), ids="-".join)
def test_a_grow_and_a_shrink_of_two_clients(elastic, asked, ends):
    """Each is answered when it has ended itself; the job waits for both, in whatever order they begin and end."""
    dvm = elastic(nodes=3, pool=1, failpoint=f"{NOT_LAUNCHED},{EXITED}:hold", tide_leave_timeout="40s")
    changes = {kind: begin(dvm, *CHANGES[kind]) for kind in asked}
    job = submit_parked(dvm, 3)
    release(dvm, ENDS[ends[0]])
    ended(dvm, changes[ends[0]])
    assert len(phases(dvm)) == 1 and changes[ends[1]].poll() is None and parked(dvm) == [1]
    release(dvm, ENDS[ends[1]])
    ended(dvm, changes[ends[1]])
    assert ran_on(dvm, job) == ["v1", "v2", "v4"] == nodes(dvm)


# row:E14
def test_three_kinds_of_asker_at_the_same_time(elastic):
    """Nothing is held: whatever comes first, all of it happens, and every job finds its place."""
    dvm = elastic(nodes=3, pool=2)
    for order in itertools.permutations(CHANGES):
        waits = [dvm.start("tide", *CHANGES[kind], *([] if kind == "push" else ["--wait"])) for kind in order]
        jobs = [dvm.start("prun", "-n", "1", "--host", "v1", "--map-by", ":OVERSUBSCRIBE", "true") for _ in range(3)]
        assert [dvm.finish(change).returncode for change in waits] == [DONE] * 3, order
        assert [dvm.finish(job).returncode for job in jobs] == [0] * 3, order
        settled(dvm)
        assert nodes(dvm) == ["v1", "v2", "v4", "v5"], order
        done(dvm, "shrink", "--host", "v4,v5")
        done(dvm, "grow", "--host", "v3")
    assert where(dvm, 3) == ["v1", "v2", "v3"]


# row:E14 row:C2
def test_two_grows_that_name_the_same_node(elastic):
    """The second has nothing to start for it, and is not done before the node can be used."""
    dvm = elastic(nodes=1, pool=2, failpoint=NOT_LAUNCHED)
    first = begin(dvm, "grow", "--host", "v2")
    same = begin(dvm, "grow", "--host", "v2")
    more = begin(dvm, "grow", "--host", "v2,v3")
    in_phase(dvm, "starting", "waiting", "waiting")
    job = submit_parked(dvm, 1)
    assert "waits until the grow has ended that brings v2" in tide(dvm, "explain", parked(dvm)[-1]).stdout
    assert first.poll() is None and same.poll() is None and more.poll() is None
    release(dvm, LAUNCH)
    for change in (first, same, more):
        ended(dvm, change)
    ran_on(dvm, job)
    assert where(dvm, 3) == ["v1", "v2", "v3"] == nodes(dvm)


# row:E14 row:E5
def test_two_grows_that_name_the_same_node_fail_together(elastic):
    dvm = elastic(nodes=1, pool=2, failpoint=NOT_LAUNCHED, tide_grow_timeout="1s")
    changes = [begin(dvm, "grow", "--host", names) for names in ("v2", "v2", "v2,v3")]
    in_phase(dvm, "starting", "waiting", "waiting")
    job = submit_parked(dvm, 1)
    for change in changes:
        assert "v2" in ended(dvm, change, UNDONE).stderr
    assert "was not launched" in dvm.finish(job).stderr
    assert nodes(dvm) == ["v1"]
    release(dvm, LAUNCH)
    done(dvm, "grow", "--host", "v2,v3")
    assert where(dvm, 3) == ["v1", "v2", "v3"]


# row:E14 row:E20
@pytest.mark.parametrize("order", itertools.permutations(["v2,v3", "v3,v4", "v2"]), ids=" ".join)
def test_shrinks_with_nodes_in_common(elastic, order):
    dvm = elastic(nodes=4, pool=0, failpoint=f"{EXITED}:hold", tide_leave_timeout="40s")
    changes = [begin(dvm, "shrink", "--host", names) for names in order]
    job = submit_parked(dvm, 1)
    release(dvm, EXITED)
    for change in changes:
        ended(dvm, change)
    assert ran_on(dvm, job) == ["v1"] == nodes(dvm)
    assert dvm.status()["counters"]["elastic.shrinks"] == 3


# ---- askers that go away ----

@pytest.mark.parametrize("held, argv, left", [
    ("action.ask_for_nodes", ("grow", "--count", "1"), ["v1", "v2", "v3"]),
    (LAUNCH, ("grow", "--count", "1"), ["v1", "v2", "v3"]),
    (EXITED, ("shrink", "--host", "v2"), ["v1"])], ids=["before-the-grant", "growing", "shrinking"])
def test_an_asker_that_is_killed_changes_nothing(elastic, held, argv, left):
    """Before its first answer or its last; what it asked for goes on."""
    failpoint = NOT_LAUNCHED if held == LAUNCH else f"{held}:hold"
    dvm = elastic(nodes=2, pool=1, failpoint=failpoint, tide_leave_timeout="40s")
    asker = dvm.start("tide", *argv, "--wait")
    wait_until(lambda: held in tide(dvm, "debug", "recorder").stdout, what="it is held")
    os.kill(asker.pid, signal.SIGKILL)
    asker.wait(timeout=10 * TIME_SCALE)
    release(dvm, held)
    wait_until(lambda: nodes(dvm) == left, what="it goes on")
    settled(dvm)
    assert where(dvm, len(left)) == left


# ---- the last node ----

def test_the_last_node_leaves_and_others_come(elastic):
    dvm = elastic(nodes=3, pool=1)
    done(dvm, "shrink", "--count", "2")
    assert len(nodes(dvm)) == 1 and dvm.run("-n", "1", "true").returncode == 0
    done(dvm, "shrink", "--count", "1")
    assert nodes(dvm) == []
    said = dvm.run("-n", "1", "true")
    assert said.returncode == 125 and "no nodes" in said.stderr and "tide grow" in said.stderr, said.stderr
    assert dvm.status()["dvm"]["state"] == "ready"
    done(dvm, "grow", "--count", "4")
    assert where(dvm, 4) == ["v1", "v2", "v3", "v4"]
