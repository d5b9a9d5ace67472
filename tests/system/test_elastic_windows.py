"""The moments of a change of size, each held by a failpoint, a frozen daemon or a process that does not want to end:
what jobs, nodes and whoever asked see in them."""

import os
import signal

import pytest

from dvm import is_alive, wait_until
from growing import (PARKED, UNDONE, begin, done, ended, frozen, in_phase, kinds, nodes, parked, phases,
                     ran_on, release, settled, start_deaf, submit_parked, where)
from jobs import last_job, state_of, steps_of
from load import check_tree

LAUNCH = "action.launch_daemons"
NOT_LAUNCHED = f"{LAUNCH}@2:hold"  # the first launch is the start's
EXITED = "event.daemon_exited"
UNNOTICED = f"{EXITED}:hold"  # daemons have ended, and the head has not heard of it
STAGING = "action.stage_file"
PATIENT = {"tide_release_grace": "40s", "tide_kill_grace": "40s", "tide_leave_timeout": "40s"}


def states(dvm):
    return {node["name"]: node["state"] for node in dvm.status()["nodes"]}


def repairs(dvm):
    return dvm.status()["counters"]["tree.repairs"]


# ---- a grow before its daemons have reported ----

# row:E3 row:E16
def test_before_the_report_jobs_that_came_earlier_go_on_and_later_ones_have_nothing(elastic):
    """The earlier one waits for its files, which is behind the place where jobs are parked."""
    dvm = elastic(nodes=1, failpoint=f"{NOT_LAUNCHED},{STAGING}/v1:hold", state_base_verbose=1)
    data = dvm.tmpdir / "data"
    data.write_text("staged\n")
    brings = ("--preload-files", data, "--set-cwd-to-session-dir", "cat", "data")
    early = dvm.start("prun", "-n", "1", *brings)
    wait_until(lambda: [row["state"] for row in dvm.jobs()["jobs"]] == ["PRTE_JOB_STATE_VM_READY"], what="it stages")
    growing = begin(dvm, "grow", "--count", "1")
    late = dvm.start("prun", "-n", "1", *brings)
    wait_until(lambda: len(parked(dvm)) == 1, what="the later one is parked")
    release(dvm, STAGING)
    assert dvm.finish(early).stdout == "staged\n"
    assert phases(dvm) and list(phases(dvm).values()) == ["starting"], "the grow is still open"
    assert not list(dvm.run_directory().glob("files.*/*")), "nothing is staged for one that is parked"
    assert "WAITING_FOR_DAEMONS" not in steps_of(dvm, 1)
    release(dvm, LAUNCH)
    ended(dvm, growing)
    assert dvm.finish(late).stdout == "staged\n"


# row:E8
def test_a_daemon_of_no_campaign_is_lost_during_a_grow(elastic):
    dvm = elastic(nodes=2, failpoint=NOT_LAUNCHED)
    growing = begin(dvm, "grow", "--count", "1")
    job = submit_parked(dvm, 2)
    dvm.kill_daemon("v2")
    wait_until(lambda: nodes(dvm) == ["v1", "v3"], what="v2 is lost")
    assert parked(dvm) == [1] and list(phases(dvm).values()) == ["starting"]
    release(dvm, LAUNCH)
    ended(dvm, growing)
    assert ran_on(dvm, job) == ["v1", "v3"]


# row:E5 row:S9
def test_a_slow_starter_that_reports_when_its_grow_is_undone_is_sent_away(elastic):
    """Nobody can end it, and it stands still before it looks for the head, until the grow has been given up."""
    dvm = elastic(nodes=2, failpoint="action.connect/v3:delay=3000,action.end_daemon:hold", tide_grow_timeout="1s",
                  tide_leave_timeout="1s")
    before = dvm.daemon_pids()
    growing = begin(dvm, "grow", "--host", "v3")
    (late,) = wait_until(lambda: [pid for pid, words in dvm.processes().items() if "--node v3" in words], what="v3 starts")
    with frozen(late):
        assert "no report within 1 s from: v3" in ended(dvm, growing, UNDONE).stderr
        assert is_alive(late)
    wait_until(lambda: not is_alive(late), what="v3 is sent away")
    assert "the launch ticket is not valid" in dvm.log_text("v3")
    release(dvm, "action.end_daemon")
    assert dvm.daemon_pids() == before
    done(dvm, "grow", "--host", "v4")
    assert where(dvm, 3) == ["v1", "v2", "v4"]
    assert kinds(dvm, "grow-") == ["grow-begun", "grow-failed", "grow-begun", "grow-done"]


# row:E20
def test_a_release_of_a_node_that_an_unfinished_grow_brings(elastic):
    dvm = elastic(nodes=1, failpoint=NOT_LAUNCHED)
    growing = begin(dvm, "grow", "--host", "v2,v3")
    shrinking = begin(dvm, "shrink", "--host", "v3")
    in_phase(dvm, "starting", "waiting")
    job = submit_parked(dvm, 2)
    release(dvm, LAUNCH)
    ended(dvm, growing)
    ended(dvm, shrinking)
    assert nodes(dvm) == ["v1", "v2"]
    assert ran_on(dvm, job) == ["v1", "v2"], "never on v3, also not in between"


# row:S9
def test_a_node_whose_grow_was_undone_comes_again_and_again(elastic):
    """It dies when it has reported and not everybody knows of it, because one of them stands still."""
    dvm = elastic(nodes=1, tide_heartbeat_timeout="40s")
    for _ in range(3):
        with frozen(dvm.daemon_pids()["v1"]):
            growing = begin(dvm, "grow", "--host", "v2")
            in_phase(dvm, "wiring")
            dvm.kill_daemon("v2")
            ended(dvm, growing, UNDONE)
        assert nodes(dvm) == ["v1"]
        done(dvm, "grow", "--host", "v2")
        assert len([words for words in dvm.processes().values() if "--node v2" in words]) == 1
        assert where(dvm, 2) == ["v1", "v2"]
        done(dvm, "shrink", "--host", "v2")


# ---- between reported and wired ----

# row:E2 row:C2
def test_reported_is_not_wired(elastic):
    """One of those who were there before stands still and does not say that it knows of the new one."""
    dvm = elastic(nodes=2, pool=1, tide_heartbeat_timeout="40s")
    with frozen(dvm.daemon_pids()["v2"]):
        growing = begin(dvm, "grow", "--count", "1")
        in_phase(dvm, "wiring")
        assert states(dvm)["v3"] == "wiring"
        job = submit_parked(dvm, 3)
        assert growing.poll() is None and parked(dvm) == [1]
    ended(dvm, growing)
    assert ran_on(dvm, job) == ["v1", "v2", "v3"]


# row:E7
def test_of_two_grows_only_the_one_that_fails_is_undone(elastic):
    """v3 has reported and hears nothing; as long as it is a member v4 is not wired either."""
    dvm = elastic(nodes=2, pool=2, failpoint="event.message_in/v3:hold")
    before = dvm.daemon_pids()
    bad = begin(dvm, "grow", "--host", "v3")
    in_phase(dvm, "wiring")
    good = begin(dvm, "grow", "--host", "v4")
    in_phase(dvm, "wiring", "wiring")
    lost = dvm.kill_daemon("v3")
    assert "v3" in ended(dvm, bad, UNDONE).stderr
    ended(dvm, good)
    after = dvm.daemon_pids()
    assert {node: after[node] for node in before} == before and sorted(after) == ["v1", "v2", "v4"]
    assert not is_alive(lost) and where(dvm, 3) == ["v1", "v2", "v4"]


FAILURES = {
    # kind: (failpoint, parameters, what is done to the daemon when it has reported, cause)
    "failed-to-start": (f"{LAUNCH}@2:fail", {}, None, "cannot-start"),
    "failed-to-connect": ("action.connect/v5:fail", {"tide_reattach_timeout": "500ms"}, None, "cannot-start"),
    "comm-failure": ("event.message_in/v5:hold", {}, signal.SIGKILL, "lost"),
    "heartbeat": ("event.message_in/v5:hold", {"tide_heartbeat_interval": "100ms", "tide_heartbeat_timeout": "800ms"},
                  signal.SIGSTOP, "lost"),
    "unable-to-send": ("action.send/v5@2:fail", {"tide_grow_timeout": "1500ms"}, None, "time-limit"),
}


# row:S8 row:E5
@pytest.mark.parametrize("kind", FAILURES)
def test_every_kind_of_failure_of_a_daemon_undoes_its_grow(elastic, kind):
    """Rank 5 stands below rank 2, so it is not the head that hears of it first once it is a member."""
    failpoint, parameters, stroke, cause = FAILURES[kind]
    dvm = elastic(nodes=4, pool=2, failpoint=failpoint, rml_radix=2, **parameters)
    before = dvm.daemon_pids()
    growing = dvm.start("tide", "grow", "--host", "v5,v6", "--wait", "--json")
    if stroke:
        in_phase(dvm, "wiring")
        os.kill(dvm.daemon_pids()["v5"], stroke)
    said = ended(dvm, growing, UNDONE)
    assert f'"cause":"{cause}"' in said.stdout.replace(" ", ""), said.stdout
    settled(dvm)
    assert dvm.daemon_pids() == before
    daemons = [words for words in dvm.processes().values() if "--node v" in words]
    assert len(daemons) == 4, daemons
    assert where(dvm, 4) == ["v1", "v2", "v3", "v4"]
    if kind != "failed-to-start":  # that failpoint is still there
        done(dvm, "grow", "--host", "v6")
        assert max(node["rank"] for node in dvm.status()["nodes"]) == 7, "5 and 6 stay holes"
        check_tree(dvm.status(), 2)


# ---- a shrink before the order ----

# row:E9 row:E21
def test_a_held_job_that_does_not_fit_any_more_fails_with_the_numbers(elastic):
    dvm = elastic(nodes=3, pool=0, **PATIENT)
    gate, deaf = start_deaf(dvm, "v3")
    shrinking = begin(dvm, "shrink", "--host", "v3")
    in_phase(dvm, "processes")
    job = submit_parked(dvm, 3)
    wait_until(gate.try_open, what="the process waits")
    ended(dvm, shrinking)
    dvm.finish(deaf)
    said = dvm.finish(job)
    assert said.returncode != 0 and "not enough slots for 3 processes" in said.stderr, said.stderr
    assert state_of(dvm, 2) == "PRTE_JOB_STATE_MAP_FAILED"
    assert where(dvm, 2) == ["v1", "v2"]


# row:S15
def test_an_order_that_cannot_be_sent_leaves_everybody_where_they_were(elastic):
    dvm = elastic(nodes=3, pool=0, failpoint="core.order_to_leave:fail", **PATIENT)
    before = dvm.daemon_pids()
    gate, deaf = start_deaf(dvm, "v3")
    shrinking = begin(dvm, "shrink", "--host", "v2,v3")
    in_phase(dvm, "processes")
    job = submit_parked(dvm, 3)
    assert states(dvm) == {"v1": "up", "v2": "leaving", "v3": "leaving"}
    wait_until(gate.try_open, what="the process waits")
    assert "the DVM has not shrunk" in ended(dvm, shrinking, UNDONE).stderr
    dvm.finish(deaf)
    assert ran_on(dvm, job) == ["v1", "v2", "v3"]
    assert dvm.daemon_pids() == before and set(states(dvm).values()) == {"up"} and repairs(dvm) == 0


# row:S1
def test_an_order_that_cannot_be_sent_fails_its_own_caller_and_nobody_elses(elastic):
    """Meanwhile the word of a grow is on its way to all: v2 stands still and has not got it."""
    dvm = elastic(nodes=2, pool=1, failpoint="core.order_to_leave:fail", tide_heartbeat_timeout="40s")
    with frozen(dvm.daemon_pids()["v2"]):
        growing = begin(dvm, "grow", "--count", "1")
        in_phase(dvm, "wiring")
        shrinking = dvm.start("tide", "shrink", "--host", "v1", "--wait")
        assert "the DVM has not shrunk" in ended(dvm, shrinking, UNDONE).stderr
        assert growing.poll() is None and list(phases(dvm).values()) == ["wiring"], "that is not its end"
        assert states(dvm) == {"v1": "up", "v2": "up", "v3": "wiring"}
        job = submit_parked(dvm, 3)
    assert ended(dvm, growing).stdout.count("grown by 1 node: v3") == 1
    assert ran_on(dvm, job) == ["v1", "v2", "v3"]
    told = kinds(dvm, "grow-", "shrink-")
    assert told == ["grow-begun", "shrink-begun", "shrink-failed", "grow-done"], told


class HeldBeforeLaunch:
    """A DVM of four nodes that is about to lose v4, and a job of two processes on v1 and v2 that was mapped meanwhile:
    when it came there was no change yet, and its files took until now. A grow is open, too."""

    def __init__(self, elastic):
        self.dvm = dvm = elastic(nodes=4, pool=1, failpoint=f"{STAGING}:hold,{NOT_LAUNCHED}", state_base_verbose=1,
                                 **PATIENT)
        self.gate, self.deaf = start_deaf(dvm, "v4")
        data = dvm.tmpdir / "data"
        data.write_text("staged\n")
        self.job = dvm.start("prun", "-n", "2", "--map-by", "node", "--preload-files", data, "sh", "-c",
                             "echo $TIDE_NODE")
        wait_until(lambda: "PRTE_JOB_STATE_VM_READY" in [row["state"] for row in dvm.jobs()["jobs"]], what="it stages")
        self.shrinking = begin(dvm, "shrink", "--host", "v4")
        in_phase(dvm, "processes")
        release(dvm, STAGING)
        wait_until(lambda: parked(dvm) == [2], what="it is parked")
        assert self.used() == ["v1", "v2", "v4"] and dvm.transitions(2)[-2:] == ["LAUNCH_APPS", "WAITING_FOR_DAEMONS"]
        self.growing = begin(dvm, "grow", "--count", "1")
        self.other = submit_parked(dvm, 1)

    def used(self):
        return sorted(node["name"] for node in self.dvm.status()["nodes"] if node["slots_used"])

    def shrink_ends(self):
        wait_until(self.gate.try_open, what="the process waits")
        ended(self.dvm, self.shrinking)

    def grow_ends(self):
        release(self.dvm, LAUNCH)
        ended(self.dvm, self.growing)


# row:E10 row:E11
def test_a_job_held_before_its_launch_goes_on_with_the_last_shrink_although_a_grow_is_open(elastic):
    held = HeldBeforeLaunch(elastic)
    held.shrink_ends()
    assert ran_on(held.dvm, held.job) == ["v1", "v2"]
    assert parked(held.dvm) == [3] and list(phases(held.dvm).values()) == ["starting"]
    held.grow_ends()
    assert ran_on(held.dvm, held.other) == ["v1"]


# row:E11
def test_a_job_held_before_its_launch_that_loses_a_node_is_mapped_anew_when_nothing_changes_any_more(elastic):
    held = HeldBeforeLaunch(elastic)
    done(held.dvm, "shrink", "--host", "v1")
    assert parked(held.dvm) == [2, 3], "the first shrink is still open"
    held.shrink_ends()
    wait_until(lambda: held.used() == [], what="its places are given back")
    assert parked(held.dvm) == [2, 3] and list(phases(held.dvm).values()) == ["starting"]
    held.grow_ends()
    assert ran_on(held.dvm, held.job) == ["v2", "v3"], "where its files are"
    assert ran_on(held.dvm, held.other) == ["v5"], "where it leaves room"


# ---- between order and departure ----

# row:E12 row:E13 row:S11 row:S7
@pytest.mark.parametrize("radix", [2, 64])
def test_a_target_that_has_its_order_is_waited_for_until_it_has_ended(elastic, radix):
    """It does all that is to be done but end. That it crashes then is as good, and nobody's failure."""
    dvm = elastic(nodes=5, pool=0, failpoint="action.exit/v3:hold", rml_radix=radix, routed_base_verbose=1, **PATIENT)
    target = dvm.daemon_pids()["v3"]
    shrinking = begin(dvm, "shrink", "--host", "v3")
    in_phase(dvm, "departing")
    for node in ("v1", "v2", "v4", "v5"):
        wait_until(lambda: "the tree is repaired" in dvm.log_text(node), what=f"{node} has the order")
    wait_until(lambda: "ordered to leave" in dvm.log_text("v3"), what="v3 has the order")
    job = submit_parked(dvm, 4)
    assert is_alive(target) and shrinking.poll() is None and list(phases(dvm).values()) == ["departing"]
    os.kill(target, signal.SIGKILL)
    assert ended(dvm, shrinking).stdout.count("shrunk by 1 node: v3") == 1
    assert ran_on(dvm, job) == ["v1", "v2", "v4", "v5"]
    assert repairs(dvm) == 1
    told = kinds(dvm)
    assert told.count("shrink-done") == 1 and not {"node-lost", "node-suspected"} & set(told), told


# row:S3
def test_who_leaves_ends_with_its_first_lost_link_and_blames_nobody(elastic):
    """v1 waits for v3 below it, which leaves, too, and stands still."""
    dvm = elastic(nodes=4, pool=0, rml_radix=2, routed_base_verbose=1, tide_heartbeat_timeout="40s", **PATIENT)
    pids = dvm.daemon_pids()
    with frozen(pids["v3"]):
        shrinking = begin(dvm, "shrink", "--host", "v1,v3")
        wait_until(lambda: "ordered to leave" in dvm.log_text("v1"), what="v1 has the order")
        assert is_alive(pids["v1"]) and shrinking.poll() is None
        os.kill(pids["v3"], signal.SIGKILL)
    ended(dvm, shrinking)
    assert where(dvm, 2) == ["v2", "v4"] and repairs(dvm) == 1
    told = kinds(dvm)
    assert told.count("node-left") == 2 and not {"node-lost", "node-suspected"} & set(told), told


# row:S6
def test_an_order_to_leave_is_passed_on_before_it_is_obeyed(elastic):
    """v1 stands above v3 and v4; all that it does is in its log, in that order."""
    dvm = elastic(nodes=4, pool=0, rml_radix=2, routed_base_verbose=2)
    done(dvm, "shrink", "--host", "v1,v3")
    log = dvm.log_text("v1")
    order = log.rindex("goes down to rank 3")
    assert order < log.index("ordered to leave") < log.index("the tree is repaired"), log


# row:E20 row:E12
def test_a_node_that_leaves_already_is_released_once(elastic):
    dvm = elastic(nodes=3, pool=0, failpoint=UNNOTICED, **PATIENT)
    first = begin(dvm, "shrink", "--host", "v2")
    in_phase(dvm, "departing")
    second = begin(dvm, "shrink", "--host", "v2,v3")
    in_phase(dvm, "departing", "departing")
    job = submit_parked(dvm, 1)
    assert first.poll() is None and second.poll() is None
    release(dvm, EXITED)
    ended(dvm, first)
    ended(dvm, second)
    assert ran_on(dvm, job) == ["v1"] and nodes(dvm) == ["v1"]
    assert repairs(dvm) == 2 and kinds(dvm).count("node-left") == 2


# row:S5 row:S1
def test_a_target_whose_parent_dies_with_the_order_hears_it_from_the_next(elastic):
    """v1 stands still above v3 and v4, so that the order gets no further."""
    dvm = elastic(nodes=4, pool=0, rml_radix=2, routed_base_verbose=1, tide_heartbeat_timeout="40s", **PATIENT)
    parent = dvm.daemon_pids()["v1"]
    with frozen(parent):
        shrinking = begin(dvm, "shrink", "--host", "v3")
        in_phase(dvm, "departing")
        wait_until(lambda: "the tree is repaired" in dvm.log_text("v2"), what="v2 has the order")
        assert "ordered to leave" not in dvm.log_text("v3")
        os.kill(parent, signal.SIGKILL)
    ended(dvm, shrinking)
    assert "ordered to leave" in dvm.log_text("v3")
    wait_until(lambda: nodes(dvm) == ["v2", "v4"], what="v1 is out")
    assert where(dvm, 2) == ["v2", "v4"]


# row:S12
def test_forty_jobs_across_a_shrink(elastic):
    dvm = elastic(nodes=4, pool=0, failpoint=UNNOTICED, **PATIENT)
    for _ in range(10):
        assert dvm.run("-n", "1", "true").returncode == 0
    shrinking = begin(dvm, "shrink", "--host", "v3,v4")
    jobs = [dvm.start("prun", "-n", "2", "--map-by", ":OVERSUBSCRIBE", "true") for _ in range(20)]
    wait_until(lambda: len(parked(dvm)) == 20, what="they are parked")
    release(dvm, EXITED)
    jobs += [dvm.start("prun", "-n", "2", "--map-by", ":OVERSUBSCRIBE", "true") for _ in range(10)]
    ended(dvm, shrinking)
    assert [dvm.finish(job).returncode for job in jobs] == [0] * 30


# ---- the tree ----

# row:S2 row:S4
@pytest.mark.parametrize("radix", [2, 64])
@pytest.mark.parametrize("targets", ["v1,v3,v7", "v3,v6,v2"], ids=["a-branch", "branches"])
def test_a_shrink_repairs_the_tree_once_everywhere(elastic, radix, targets):
    """Who leaves is let go: the timer of one who is not would take longer than this test may."""
    dvm = elastic(nodes=7, pool=0, rml_radix=radix, routed_base_verbose=2, tide_leave_timeout="80s")
    stay = sorted(set(nodes(dvm)) - set(targets.split(",")))
    done(dvm, "shrink", "--host", targets)
    assert where(dvm, 4) == stay
    assert repairs(dvm) == 1
    for node in stay:
        wait_until(lambda: "the tree is repaired, 1 times" in dvm.log_text(node), what=f"{node} has repaired")
        assert dvm.log_text(node).count("the tree is repaired") == 1, node
    told = kinds(dvm)
    assert told.count("node-left") == 3 and not {"node-lost", "node-suspected"} & set(told), told
    check_tree(dvm.status(), radix)


# row:S10 row:S9
def test_a_deep_tree_with_holes_grows_again(elastic):
    dvm = elastic(nodes=8, pool=2, rml_radix=2)
    parents = {node["rank"]: node["parent"] for node in dvm.status()["nodes"]}
    assert parents == {rank: (rank - 1) // 2 for rank in range(1, 9)}
    highest = 8
    for leaving in ("v1,v2", "v3,v6,v8", "v4,v5,v7"):
        done(dvm, "shrink", "--host", leaving)
        check_tree(dvm.status(), 2)
        done(dvm, "grow", "--count", len(leaving.split(",")))
        status = dvm.status()
        new = [node["rank"] for node in status["nodes"] if node["rank"] > highest]
        assert len(new) == len(leaving.split(",")), "they have ranks that nobody had"
        highest = max(new)
        check_tree(status, 2)
        assert len(where(dvm, 8)) == len(set(where(dvm, 8))) == 8


# ---- no change at all ----

# row:E18
def test_without_a_change_a_job_goes_the_same_way_as_in_a_dvm_that_is_not_elastic(elastic, make_dvm):
    ways = []
    for dvm in (elastic(nodes=2, pool=2, state_base_verbose=1),
                make_dvm(nodes=2, slots=1, prtemca={"state_base_verbose": 1})):
        assert dvm.run("-n", "2", "true").returncode == 0
        assert dvm.run("-n", "1", "sh", "-c", "exit 3").returncode == 3
        assert dvm.run("-n", "3", "true").returncode != 0
        ways.append([steps_of(dvm, job) for job in range(1, last_job(dvm) + 1)])
        assert dvm.status()["counters"]["jobs.held"] == 0
    assert ways[0] == ways[1] and PARKED.removeprefix("PRTE_JOB_STATE_") not in sum(ways[0], [])


# row:E18
def test_a_start_that_fails_is_no_change(elastic, make_dvm):
    said = []
    for options in (["--elastic", "--pool", "2"], []):
        with pytest.raises(AssertionError) as failed:
            make_dvm(nodes=2, up_options=options, prtemca={"tide_failpoint": f"{LAUNCH}:fail"})
        said.append(str(failed.value))
    assert said[0] == said[1] and "could not be started: failpoint" in said[0], said
