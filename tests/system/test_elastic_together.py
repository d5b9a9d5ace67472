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
    said = [ended(dvm, change).stdout.splitlines() for change in (first, same, more)]
    assert said[0][0] == "growing by 1 node: v2 (allocation a1)" and said[0][1].startswith("grown by 1 node: v2"), said
    assert said[1][0] == "the DVM has or gets v2 already" and said[1][1].startswith("v2 has come with another grow"), said
    assert said[2][0] == "growing by 1 node: v3 (allocation a3); the DVM has or gets v2 already", said
    assert "it brought no node" in tide(dvm, "explain", "a2").stdout
    ran_on(dvm, job)
    assert where(dvm, 3) == ["v1", "v2", "v3"] == nodes(dvm)


# row:E14 row:E5
def test_two_grows_that_name_the_same_node_fail_together(elastic):
    dvm = elastic(nodes=1, pool=2, failpoint=NOT_LAUNCHED, tide_grow_timeout=f"{5 * TIME_SCALE:.0f}s")
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
    gone = set()
    shrinks = 0
    for change, names in zip(changes, order):
        begins, ends = ended(dvm, change).stdout.splitlines()
        own, others = (sorted(set(names.split(",")) - gone), sorted(set(names.split(",")) & gone))
        assert (f"shrinking by {len(own)} node" in begins) == (f"shrunk by {len(own)} node" in ends) == bool(own), (begins, ends)
        assert (" leaving already" in begins) == (" leaving already, and ha" in ends) == bool(others), (begins, ends)
        gone |= set(own)
        shrinks += bool(own)
    assert ran_on(dvm, job) == ["v1"] == nodes(dvm)
    assert dvm.status()["counters"]["elastic.shrinks"] == shrinks, "those that let a node go"


# row:E20
def test_a_shrink_of_a_node_whose_grow_fails_says_that_it_never_came(elastic):
    dvm = elastic(nodes=2, pool=1, failpoint=NOT_LAUNCHED, tide_grow_timeout="2s")
    growing = begin(dvm, "grow", "--host", "v3")
    shrinks = [begin(dvm, "shrink", "--host", names) for names in ("v3", "v2,v3")]
    in_phase(dvm, "starting", "waiting", "waiting")
    ended(dvm, growing, UNDONE)
    never = "v3 never came, because the grow that was to bring it failed; the DVM has "
    assert ended(dvm, shrinks[0]).stdout.splitlines()[1].startswith(never)
    assert ended(dvm, shrinks[1]).stdout.splitlines()[1] == f"shrunk by 1 node: v2; {never}1 now"
    assert nodes(dvm) == ["v1"]
    counters = dvm.status()["counters"]
    assert (counters["elastic.shrinks"], counters["elastic.rollbacks"]) == (1, 1)
    assert never in tide(dvm, "explain", "change:3").stdout
    release(dvm, LAUNCH)


# ---- askers that go away ----

@pytest.mark.parametrize("held, argv, left", [
    (LAUNCH, ("grow", "--count", "1"), ["v1", "v2", "v3"]),
    (EXITED, ("shrink", "--host", "v2"), ["v1"])], ids=["growing", "shrinking"])
def test_an_asker_that_is_killed_changes_nothing(elastic, held, argv, left):
    """What has begun goes on."""
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


# row:E17
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_what_is_not_granted_when_its_asker_goes_is_taken_back(elastic, how):
    dvm = elastic(nodes=2, pool=1, failpoint="event.nodes_granted:hold")
    asker = dvm.start("tide", "grow", "--count", "1", "--wait")
    wait_until(lambda: dvm.status()["asks"], what="it is asked for")
    asker.send_signal(how)
    said = dvm.finish(asker)
    if how == signal.SIGINT:
        assert said.returncode == 130 and "what was not granted yet is not asked for any more" in said.stderr, said
    wait_until(lambda: not dvm.status()["asks"], what="it is not asked for any more")
    release(dvm, "event.nodes_granted")
    done(dvm, "grow", "--count", "1")
    assert nodes(dvm) == ["v1", "v2", "v3"], "what was granted too late went back"


@pytest.mark.parametrize("held, argv, number, left", [
    (NOT_LAUNCHED, ("grow", "--count", "1"), 2, ["v1", "v2", "v3"]),
    (f"{EXITED}:hold", ("shrink", "--host", "v2"), 2, ["v1"])], ids=["growing", "shrinking"])
def test_an_asker_that_is_interrupted_says_that_it_goes_on(elastic, held, argv, number, left):
    dvm = elastic(nodes=2, pool=1, failpoint=held, tide_leave_timeout="40s")
    asker = begin(dvm, *argv)
    first = asker.stdout.readline()
    assert first.startswith(f"{argv[0]}ing by 1 node"), first
    os.kill(asker.pid, signal.SIGINT)
    said = dvm.finish(asker)
    assert said.returncode == 130, said
    assert said.stdout == ""
    assert said.stderr == (f"tide {argv[0]}: interrupted; the {argv[0]} goes on: tide explain change:{number} shows how far it is, "
                           "tide status the nodes\n")
    assert f"{argv[0]} {number} (allocation a1)" in tide(dvm, "explain", f"change:{number}").stdout
    release(dvm, held.split("@")[0].split(":")[0])
    wait_until(lambda: nodes(dvm) == left, what="it goes on")
    settled(dvm)


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
