"""tide explain of a change of the DVM's size and of an allocation: where it is, who asked, and what it waits for."""

import json
import os
import signal

from dvm import wait_until
from growing import DONE, UNDONE, USAGE, done, events, kinds, nodes, release, start_deaf, tide


def explained(dvm, what):
    said = tide(dvm, "explain", what, "--json")
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


def in_phase(dvm, phase):
    wait_until(lambda: [one["phase"] for one in dvm.status()["campaigns"]] == [phase], what=f"a change is {phase}")


# row:E16
def test_a_grow_names_the_daemon_that_was_not_started(elastic):
    dvm = elastic(nodes=1, pool=1, failpoint="action.launch_daemons@2:hold")
    growing = dvm.start("tide", "grow", "--count", "1", "--wait")
    in_phase(dvm, "starting")
    job = dvm.start("tide", "run", "-n", "1", "true")
    wait_until(lambda: dvm.status()["campaigns"][0]["parked_jobs"] == 1, what="the job is parked")
    text = tide(dvm, "explain", "change:2").stdout
    for words in ("grow 2 (allocation a1): v2\n", "  starting for ", "; fails, and is undone, if it takes ", "asked for by a command or program that is still there",
                  "waits for\n  a report from v2: its daemon is not known to have been started\n",
                  "jobs that wait for it\n  1\n", "way\n"):
        assert words in text, text
    change = explained(dvm, "grow:2")["change"]
    assert (change["kind"], change["nodes"], change["phase"], change["asked_by"], change["parked"], change["ended"]) == (
        "grow", ["v2"], "starting", "request", [1], False)
    assert [(point["kind"], point["nodes"]) for point in change["waits_for"]] == [("report", ["v2"])]
    assert 0 < change["phase_left_ms"] <= 60_000 and change["phase_then"] == "fails"
    whole = explained(dvm, "a1")
    assert [one["number"] for one in whole["changes"]] == [2]
    allocation = whole["allocation"]
    assert {key: allocation[key] for key in ("id", "nodes", "managers", "lease", "owner")} == {
        "id": "a1", "nodes": ["v2"], "managers": ["pool"], "lease": None, "owner": None}
    release(dvm, "action.launch_daemons")
    assert dvm.finish(growing).returncode == DONE
    assert dvm.finish(job).returncode == 0
    over = explained(dvm, "change:2")["change"]
    assert (over["ended"], over["outcome"], over["cause"], over["waits_for"]) == (True, "done", None, [])
    assert [step["phase"] for step in over["way"]] == ["starting", "wiring", "done"]
    assert "grown by 1 node: v2" in tide(dvm, "explain", "change:2").stdout


def test_a_grow_names_the_daemon_that_does_not_report(elastic):
    dvm = elastic(nodes=1, pool=1, failpoint="action.connect/v2:hold", tide_grow_timeout="10s")
    growing = dvm.start("tide", "grow", "--count", "1", "--wait")
    words = "its daemon was started and has not been heard of"
    wait_until(lambda: words in tide(dvm, "explain", "change:2").stdout, what="its daemon was started")
    pid = [node["pid"] for node in dvm.status()["nodes"] if node["name"] == "v2"][0]
    assert f"a report from v2 (process {pid}): {words}" in tide(dvm, "explain", "change:2").stdout
    assert dvm.finish(growing).returncode == UNDONE


def test_a_shrink_names_the_process_that_does_not_end(elastic):
    dvm = elastic(nodes=2, pool=0, tide_release_grace="40s", tide_kill_grace="40s")
    gate, deaf = start_deaf(dvm, "v2")
    shrinking = dvm.start("tide", "shrink", "--host", "v2", "--wait")
    in_phase(dvm, "processes")
    pid = json.loads(tide(dvm, "ps", "1", "--json").stdout)["processes"][0]["pid"]
    text = tide(dvm, "explain", "shrink:2").stdout
    assert f"process 0 of job 1 to end, on v2 (process {pid})" in text
    assert "; goes on without what it waits for, if it takes " in text, text
    point = explained(dvm, "change:2")["change"]["waits_for"][0]
    assert (point["kind"], point["nodes"], point["jobs"]) == ("process", ["v2"], [1])
    wait_until(gate.try_open, what="the process waits")
    assert dvm.finish(shrinking).returncode == DONE
    dvm.finish(deaf)


def test_a_shrink_names_the_daemon_that_does_not_leave(elastic):
    dvm = elastic(nodes=2, pool=0, tide_leave_timeout="40s", tide_heartbeat_timeout="60s")
    pid = dvm.daemon_pids()["v2"]
    os.kill(pid, signal.SIGSTOP)
    try:
        shrinking = dvm.start("tide", "shrink", "--host", "v2", "--wait")
        in_phase(dvm, "departing")
        text = tide(dvm, "explain", "change:2").stdout
        assert f"the daemon on v2 (process {pid}) to end, which was ordered to leave" in text, text
        assert "; ends by force what has not left, if it takes " in text, text
    finally:
        os.kill(pid, signal.SIGCONT)
    assert dvm.finish(shrinking).returncode == DONE


# row:C6
def test_a_shrink_names_the_manager_that_does_not_answer(elastic):
    dvm = elastic(nodes=2, pool=0, failpoint="action.return_nodes:hold")
    shrinking = dvm.start("tide", "shrink", "--host", "v2", "--wait")
    in_phase(dvm, "returning")
    assert "resource manager pool to answer whether it takes back v2" in tide(dvm, "explain", "change:2").stdout
    assert "returning" in tide(dvm, "status").stdout
    release(dvm, "action.return_nodes")
    assert dvm.finish(shrinking).returncode == DONE


def test_what_no_manager_has_answered_is_shown(elastic):
    dvm = elastic(nodes=1, pool=1, failpoint="action.ask_for_nodes:hold")
    growing = dvm.start("tide", "grow", "--count", "1", "--wait")
    asks = wait_until(lambda: dvm.status()["asks"], what="the pool is asked")
    assert [ask["text"] for ask in asks] == ["1 node"] and 0 < asks[0]["left_ms"] <= 30_000
    assert "ago: 1 node; no resource manager has answered yet" in tide(dvm, "status").stdout
    release(dvm, "action.ask_for_nodes")
    assert dvm.finish(growing).returncode == DONE
    assert dvm.status()["asks"] == []


# row:E20
def test_a_shrink_names_the_grow_that_it_waits_for(elastic):
    dvm = elastic(nodes=1, pool=1, failpoint="action.launch_daemons@2:hold")
    growing = dvm.start("tide", "grow", "--count", "1", "--wait")
    in_phase(dvm, "starting")
    shrinking = dvm.start("tide", "shrink", "--host", "v2", "--wait")
    wait_until(lambda: len(dvm.status()["campaigns"]) == 2, what="the shrink waits")
    assert "grow 2 to end, which brings v2" in tide(dvm, "explain", "change:3").stdout
    release(dvm, "action.launch_daemons")
    assert dvm.finish(growing).returncode == DONE
    assert dvm.finish(shrinking).returncode == DONE
    assert nodes(dvm) == ["v1"]


def test_a_grow_that_failed_says_why(elastic):
    dvm = elastic(nodes=1, pool=1, failpoint="action.launch_daemons@2:fail")
    assert tide(dvm, "grow", "--count", "1", "--wait").returncode == UNDONE
    change = explained(dvm, "change:2")["change"]
    assert (change["outcome"], change["cause"]) == ("failed", "cannot-start")
    assert "the DVM has not grown" in change["text"]
    assert "none of its nodes is there" in tide(dvm, "explain", "a1").stdout


def test_who_has_not_asked_is_told(elastic):
    dvm = elastic(nodes=1, pool=1)
    assert tide(dvm, "pool", "push", "--count", "1").returncode == DONE
    wait_until(lambda: kinds(dvm, "grow-done"), what="the node is there")
    assert explained(dvm, "change:2")["change"]["asked_by"] == "push"
    assert tide(dvm, "pool", "reclaim", "--count", "1").returncode == DONE
    wait_until(lambda: kinds(dvm, "shrink-done"), what="it went back")
    assert explained(dvm, "change:3")["change"]["asked_by"] == "reclaim"


def test_events_tell_of_each_phase(elastic):
    dvm = elastic(nodes=1, pool=1)
    done(dvm, "grow", "--count", "1")
    done(dvm, "shrink", "--host", "v2")
    assert [detail for kind, detail in events(dvm) if kind == "change-phase"] == [
        "grow 2 (v2): wiring", "shrink 3 (v2): processes", "shrink 3 (v2): departing", "shrink 3 (v2): returning"]


def test_what_is_not_there_is_not_explained(elastic):
    dvm = elastic(nodes=1, pool=1)
    for what, words in (("change:9", "there is no change 9"), ("a9", "an allocation 'a9'")):
        said = tide(dvm, "explain", what)
        assert said.returncode != 0 and words in said.stderr, said.stderr
    for argv in (["v1"], ["change:x"], [], ["1", "2"]):
        said = tide(dvm, "explain", *argv)
        assert said.returncode == USAGE, said.stderr
    assert "change:4" in tide(dvm, "explain", "--help").stdout
