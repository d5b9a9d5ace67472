"""PMIx_Allocation_request: nodes that tools and processes ask for and give back, the answer and the event."""

import os
import signal

import pytest

from asking import (BAD_PARAM, FAILED, FAILED_TO_LAUNCH, LOST_CONNECTION, NO_PERMISSIONS, NOT_FOUND, NOT_SUPPORTED,
                    OUT_OF_RESOURCE, READY, SUCCESS, TIMEOUT, UNREACH, parsed)
from dvm import BIN, DvmByPrte, wait_until
from growing import nodes, running, settled, where
from test_pmix import info

HELD = "action.launch_daemons@2:hold"  # the daemons of a grow are not started until it is released


def sessions(dvm):
    return {node["name"]: node["reservation"] for node in dvm.status()["nodes"]}


def let_go(dvm, failpoint="action.launch_daemons"):
    assert dvm.tool("tide", "debug", "release", failpoint).returncode == 0


# ---- a grow ----

# row:C1 row:C2 row:E17
@pytest.mark.parametrize("at", ["head", "v2"])
def test_a_tool_gets_nodes_its_answer_and_one_event(elastic, tool, at):
    dvm = elastic(failpoint=HELD)
    asker, other = tool(dvm, at), tool(dvm, "v1")
    status, facts = asker.ask("more", "new", "nodes=2", "req=mine", "share=true")
    assert (status, facts["req"], facts["complete"]) == (SUCCESS, "mine", "0")
    assert facts["id"] and dvm.status()["campaigns"], "the answer does not wait for the daemons"
    assert not asker.events()
    let_go(dvm)
    assert asker.event() == (READY, {"id": facts["id"], "req": "mine"})
    assert where(dvm, 4) == ["v1", "v2", "v3", "v4"], "new nodes can be used now"
    asker.end()
    other.end()
    assert len(asker.events()) == 1 and not other.events()


# row:C1 row:C2 row:C4
def test_a_process_on_any_node_gets_nodes_and_gives_them_back(elastic, ranks):
    dvm = elastic(nodes=3)
    first, second, third = ranks(dvm, 3)
    status, facts = third.ask("more", "new", "list=v4", "share=true")
    assert (status, facts["complete"], "req" in facts) == (SUCCESS, "0", False)
    assert third.event() == (READY, {"id": facts["id"]})
    assert "v4" in nodes(dvm)
    assert third.ask("less", "release", f"id={facts['id']}", "req=less") == (SUCCESS, {"id": facts["id"], "req": "less", "complete": "0"})
    wait_until(lambda: len(third.events()) == 2, what="the second event")
    assert third.events()[1] == (READY, {"id": facts["id"], "req": "less"})
    assert nodes(dvm) == ["v1", "v2", "v3"]
    for one in (first, second, third):
        one.order("quit")
    assert third.process.wait(timeout=30) == 0
    assert not first.events() and not second.events()


# row:C3 row:E5 row:E6
@pytest.mark.parametrize("cause, failpoint, parameters", [
    (FAILED_TO_LAUNCH, "action.launch_daemons@2:fail", {}), (TIMEOUT, HELD, {"tide_grow_timeout": "1s"})])
def test_a_grow_that_fails_is_told_with_its_cause(elastic, tool, cause, failpoint, parameters):
    dvm = elastic(failpoint=failpoint, **parameters)
    asker = tool(dvm, "v1")
    status, facts = asker.ask("more", "new", "nodes=1", "req=mine")
    assert status == SUCCESS
    assert asker.event() == (FAILED, {"id": facts["id"], "req": "mine", "cause": cause})
    assert nodes(dvm) == ["v1", "v2"], "rolled back by then"
    assert asker.ask("extend", "extend", "nodes=1", f"id={facts['id']}")[0] == NOT_FOUND, "its id means nothing"
    asker.end()
    assert len(asker.events()) == 1


# row:C3
def test_a_daemon_that_dies_before_the_grow_is_done_fails_it(elastic, tool):
    dvm = elastic(nodes=2)
    asker, frozen = tool(dvm), dvm.daemon_pids()["v1"]
    os.kill(frozen, signal.SIGSTOP)  # so that it does not acknowledge the new one
    assert asker.ask("more", "new", "nodes=1", "share=true")[0] == SUCCESS
    wait_until(lambda: [one for one in dvm.status()["campaigns"] if one["phase"] == "wiring"], what="v3 has reported")
    dvm.kill_daemon("v3")
    code, facts = asker.event()
    os.kill(frozen, signal.SIGCONT)
    assert (code, facts["cause"]) == (FAILED, LOST_CONNECTION)
    assert nodes(dvm) == ["v1", "v2"]
    asker.end()


# row:E2 row:E6 row:E17
def test_jobs_wait_for_a_grow_that_a_tool_asked_for(elastic, tool):
    dvm = elastic(failpoint=HELD, tide_grow_timeout="2s")
    asker = tool(dvm)
    assert asker.ask("more", "new", "nodes=1", "share=true")[0] == SUCCESS
    job = dvm.start("prun", "-n", 1, "true")
    wait_until(lambda: [row for row in dvm.jobs()["jobs"] if "WAITING_FOR_DAEMONS" in row["state"]], what="the job waits")
    assert asker.event()[0] == FAILED
    assert "was not launched" in dvm.finish(job).stderr
    asker.end()


# row:C4
def test_who_is_gone_is_told_nothing_and_nobody_instead(elastic, tool):
    dvm = elastic(failpoint=HELD)
    asker, other = tool(dvm, "v1"), tool(dvm, "v1")
    assert asker.ask("more", "new", "nodes=1", "share=true")[0] == SUCCESS
    asker.process.kill()
    asker.process.wait(timeout=30)
    let_go(dvm)
    wait_until(lambda: "v3" in nodes(dvm) and not dvm.status()["campaigns"], what="the DVM has grown")
    late = tool(dvm, "v1")
    for one in (other, late):
        one.end()
        assert not one.events()


# row:C4
def test_a_rank_that_has_ended_is_told_nothing(elastic, ranks):
    dvm = elastic(nodes=2, failpoint=HELD)
    first, second = ranks(dvm, 2)
    assert second.ask("more", "new", "nodes=1", "share=true")[0] == SUCCESS
    second.order("quit")
    wait_until(lambda: running(dvm) == 1, what="it has ended")
    let_go(dvm)
    settled(dvm)
    first.order("quit")
    assert first.process.wait(timeout=30) == 0
    assert not first.events() and not second.events()


# row:C4
def test_who_has_no_handler_is_not_disturbed(elastic, tool):
    dvm = elastic()
    asker = tool(dvm, "v1")
    asker.order("deaf")
    asker.heard("deaf")
    assert asker.ask("more", "new", "nodes=1", "share=true")[0] == SUCCESS
    settled(dvm)
    assert asker.ask("again", "new", "nodes=9")[0] == OUT_OF_RESOURCE, "it is well"
    asker.end()
    assert not asker.events()


# row:E15
@pytest.mark.parametrize("at", ["head", "v1"])
def test_taking_the_dvm_down_is_told(elastic, tool, at):
    dvm = elastic(failpoint=HELD)
    asker = tool(dvm, at)
    status, facts = asker.ask("more", "new", "nodes=1")
    assert status == SUCCESS
    assert dvm.tool("tide", "down").returncode == 0
    assert asker.event() == (FAILED, {"id": facts["id"], "cause": UNREACH})
    asker.process.kill()
    asker.process.wait(timeout=30)
    dvm.abandon()


# ---- refused ----

# row:C5 row:R20
def test_what_makes_no_sense_is_refused_without_an_event(elastic, tool):
    dvm = elastic()
    asker = tool(dvm)
    before = dvm.status()["nodes"]
    for number, (words, status) in enumerate([
            (["new"], BAD_PARAM), (["new", "nodes=0"], BAD_PARAM), (["new", "nodes.text=2"], BAD_PARAM),
            (["new", "nodes=1", "list=v3"], BAD_PARAM), (["new", "nodes=1", "share.text=yes"], BAD_PARAM),
            (["extend", "nodes=1"], BAD_PARAM), (["release"], BAD_PARAM), (["cancel"], BAD_PARAM),
            (["extend", "nodes=1", "id=a77"], NOT_FOUND), (["extend", "nodes=1", "req=none"], NOT_FOUND),
            (["release", "id=a77"], NOT_FOUND), (["release", "list=v9"], NOT_FOUND), (["cancel", "req=none"], NOT_FOUND),
            (["new", "nodes=99"], OUT_OF_RESOURCE), (["4", "nodes=1"], NOT_SUPPORTED), (["77", "nodes=1"], NOT_SUPPORTED)]):
        assert asker.ask(f"r{number}", *words)[0] == status, words
    assert dvm.status()["nodes"] == before and not dvm.status()["campaigns"]
    asker.end()
    assert not asker.events()


# row:E1
def test_a_dvm_that_is_not_elastic_refuses(make_dvm, tool):
    dvm = make_dvm(nodes=2, slots=1)
    asker = tool(dvm)
    for number, words in enumerate((["new", "nodes=1"], ["release", "nodes=1"], ["release", "list=v1"])):
        assert asker.ask(f"r{number}", *words)[0] == NOT_SUPPORTED
    asker.end()
    assert nodes(dvm) == ["v1", "v2"] and not asker.events()


def test_a_request_that_is_not_granted_yet_can_be_taken_back(elastic, tool):
    dvm = elastic(failpoint="event.nodes_granted:hold")
    asker, stranger = tool(dvm), tool(dvm, "v1")
    asker.order("more new nodes=1 req=mine")
    wait_until(lambda: "ask_for_nodes" in dvm.tool("tide", "debug", "recorder").stdout, what="the pool is asked")
    assert stranger.ask("theirs", "cancel", "req=mine")[0] == NOT_FOUND
    status, facts = asker.ask("cancel", "cancel", "req=mine")
    assert (status, facts["req"]) == (SUCCESS, "mine")
    assert parsed(asker.heard("more: ")[0])[0] != SUCCESS
    let_go(dvm, "event.nodes_granted")
    assert asker.ask("all", "new", "nodes=3", "share=true")[0] == SUCCESS, "what was granted too late went back"
    assert asker.event()[0] == READY
    asker.end()
    stranger.end()


# ---- sessions ----

# row:C5 row:R7 row:R15
def test_nodes_of_the_dvm_are_reserved_without_a_change_of_size(make_dvm, tool):
    dvm = make_dvm(nodes=3, slots=1)
    asker, stranger = tool(dvm, "v1"), tool(dvm)
    status, facts = asker.ask("mine", "new", "list=v2", "req=mine")
    assert (status, facts["req"], facts["complete"]) == (SUCCESS, "mine", "1")
    assert sessions(dvm) == {"v1": None, "v2": facts["id"], "v3": None}
    explained = dvm.tool("tide", "explain", facts["id"]).stdout
    assert "it brought no node, because v2 was there" in explained and "it reserves v2" in explained, explained
    assert where(dvm, 2) == ["v1", "v3"]
    assert dvm.run("-n", 1, "--host", "v2", "true").returncode != 0, "jobs do not see it"
    assert stranger.ask("theirs", "release", f"id={facts['id']}")[0] == NO_PERMISSIONS
    assert stranger.ask("also", "new", "list=v2")[0] == NO_PERMISSIONS
    assert asker.ask("wider", "extend", "list=v3", "req=mine")[1]["complete"] == "1"
    assert sessions(dvm)["v3"] == facts["id"]
    assert asker.ask("over", "release", "req=mine")[1] == {"id": facts["id"], "req": "mine", "complete": "1"}
    explained = dvm.tool("tide", "explain", facts["id"]).stdout
    assert "it brought no node" in explained and "it reserves" not in explained, explained
    assert where(dvm, 3) == ["v1", "v2", "v3"]
    for one in (asker, stranger):
        one.end()
        assert not one.events()


# row:E4 row:E5
def test_what_is_granted_for_a_reservation_is_not_everybodys(elastic, tool):
    dvm = elastic(nodes=1, failpoint="action.launch_daemons@3:fail")
    asker = tool(dvm)
    _, facts = asker.ask("mine", "new", "nodes=1", "req=mine")
    assert asker.event() == (READY, {"id": facts["id"], "req": "mine"})
    assert sessions(dvm) == {"v1": None, "v2": facts["id"]}
    assert where(dvm, 1) == ["v1"]
    assert dvm.run("-n", 2, "true").returncode != 0, "there is one slot for everybody"
    assert asker.ask("wider", "extend", "nodes=1", "req=mine")[0] == SUCCESS
    wait_until(lambda: len(asker.events()) == 2, what="the extension ends")
    assert asker.events()[1][0] == FAILED
    assert sessions(dvm) == {"v1": None, "v2": facts["id"]}, "as before"
    assert asker.ask("over", "release", f"id={facts['id']}")[1]["complete"] == "0"
    wait_until(lambda: len(asker.events()) == 3, what="the node has left")
    assert nodes(dvm) == ["v1"]
    asker.end()


# ---- a shrink ----

# row:C2 row:C4
def test_all_nodes_but_one_and_the_last(elastic, tool):
    dvm = elastic(nodes=4, pool=1)
    near, there = tool(dvm), tool(dvm, "v3")
    assert near.ask("most", "release", "list=v1,v2,v4", "req=most")[0] == SUCCESS
    assert near.event()[0] == READY
    assert nodes(dvm) == ["v3"]
    assert there.ask("last", "release", "nodes=1")[0] == SUCCESS
    wait_until(lambda: not nodes(dvm), what="the last has left")
    settled(dvm)
    assert near.ask("again", "new", "nodes=1", "share=true", "req=again")[0] == SUCCESS, "the head stays"
    wait_until(lambda: len(near.events()) == 2, what="it has grown")
    assert [facts.get("req") for _, facts in near.events()] == ["most", "again"]
    assert all(code == "PMIX_EVENT_JOB_END" for code, _ in there.events()), "the shrink took it away"
    near.end()


# row:S16
def test_a_leaving_daemon_takes_leave_of_its_tools(elastic, tool):
    dvm = elastic(nodes=3)
    stays, leaves, near = tool(dvm, "v1"), tool(dvm, "v2"), tool(dvm)
    assert near.ask("less", "release", "list=v2")[0] == SUCCESS
    assert near.event()[0] == READY
    leaves.heard("event PMIX_EVENT_JOB_END")
    assert leaves.events() == [("PMIX_EVENT_JOB_END", {"nspace": info(dvm)["dvm_id"]})]
    stays.end()
    near.end()
    assert not stays.events() and len(near.events()) == 1


# row:C3 row:S15
@pytest.mark.parametrize("at", ["head", "v2"])
def test_a_shrink_that_cannot_be_ordered_is_told_with_its_cause(elastic, tool, at):
    """Also to a tool at a daemon that was to leave: it stays."""
    dvm = elastic(nodes=3, failpoint="core.order_to_leave:fail")
    before = dvm.daemon_pids()
    asker, other = tool(dvm, at), tool(dvm, "v1")
    status, facts = asker.ask("less", "release", "list=v2,v3", "req=mine")
    assert (status, facts["req"], facts["complete"]) == (SUCCESS, "mine", "0")
    assert asker.event() == (FAILED, {"id": facts["id"], "req": "mine", "cause": OUT_OF_RESOURCE})
    assert not dvm.status()["campaigns"], "the fence is down by then"
    assert dvm.daemon_pids() == before and {node["state"] for node in dvm.status()["nodes"]} == {"up"}
    assert where(dvm, 3) == ["v1", "v2", "v3"]
    asker.end()
    other.end()
    assert len(asker.events()) == 1 and not other.events()


# row:C7 row:E14
def test_a_grow_and_a_shrink_from_two_tools_at_once(elastic, tool):
    dvm = elastic(nodes=3, failpoint=HELD)
    growing, shrinking = tool(dvm, "v1"), tool(dvm, "v2")
    growing.order("more new nodes=2 share=true req=more")
    shrinking.order("less release list=v3 req=less")
    assert shrinking.event() == (READY, {"id": parsed(shrinking.heard("less: ")[0])[1]["id"], "req": "less"})
    assert not growing.events() and dvm.status()["campaigns"], "the grow goes on"
    let_go(dvm)
    assert growing.event("more")[0] == READY
    settled(dvm)
    assert nodes(dvm) == ["v1", "v2", "v4", "v5"]
    for one in (growing, shrinking):
        one.end()
        assert len(one.events()) == 1


# ---- a PMIx without the codes ----

class KeylessDvm(DvmByPrte):
    """Head and daemons as they are built for a PMIx that has neither code, nor those of our own."""

    program = BIN.parent / "tests" / "keyless" / "prte"

    def __init__(self):
        super().__init__(nodes=2, prtemca={"tide_failpoint": HELD})
        self._up_argv = ["--daemonize", "--slots", "1", "--elastic", "--pool", "3", *self._up_argv[1:]]


# row:C8
def test_without_the_codes_the_event_is_left_out_and_all_else_holds(tool):
    with KeylessDvm() as dvm:
        asker = tool(dvm, "v1")
        status, facts = asker.ask("more", "new", "nodes=1", "req=mine")
        assert status == SUCCESS and facts["id"] and facts["req"] == "mine" and facts["complete"] == "0"
        job = dvm.start("prun", "-n", "2", "--map-by", "node", "true")
        wait_until(lambda: dvm.jobs()["jobs"] and dvm.jobs()["jobs"][0]["state"].endswith("WAITING_FOR_DAEMONS"),
                   what="the job is parked")
        let_go(dvm)
        assert dvm.finish(job).returncode == 0
        assert nodes(dvm) == ["v1", "v2", "v3"]
        assert asker.ask("less", "release", f"id={facts['id']}")[0] == SUCCESS
        settled(dvm)
        assert nodes(dvm) == ["v1", "v2"]
        asker.end()
        assert not asker.events()
