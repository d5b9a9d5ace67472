"""Reservations in the middle of something: while their nodes come or go, while owners end, when nodes or the DVM are lost."""

import json

import pytest

from asking import FAILED, READY, SUCCESS
from dvm import wait_until
from growing import DONE, done, nodes, parked, release, settled, tide
from jobs import Gate
from reserving import Jobs, allocation, is_over, news, reserve, sessions
from test_dispositions import DISPOSITIONS, words_for

LAUNCH = "action.launch_daemons"
HELD = f"{LAUNCH}@2:hold"  # the first launch is the start's


def begun(asker, name, *words):
    """The id of a request whose nodes are not there yet."""
    status, facts = asker.ask(name, *words)
    assert (status, facts["complete"]) == (SUCCESS, "0"), (words, status)
    return facts["id"]


# ---- while its nodes come ----

# row:E2 row:R6 row:R7
@pytest.mark.parametrize("at", ["head", "v1"])
def test_a_job_that_is_aimed_at_nodes_that_come_waits_for_them(elastic, tool, at):
    dvm = elastic(nodes=2, pool=1, failpoint=HELD)
    me, gate = tool(dvm, at), Gate(dvm.tmpdir / "gate")
    mine = begun(me, "mine", "new", "nodes=1")
    me.order(f"job spawn target={mine} stdout=false -- /usr/bin/cat {gate.path}")
    wait_until(lambda: parked(dvm) == [1], what="it is parked")
    release(dvm, LAUNCH)
    assert me.heard("job: ")[0].startswith("job: 0 ")
    assert [node["name"] for node in dvm.status()["nodes"] if node["slots_used"]] == ["v3"]
    wait_until(gate.try_open, what="it waits")


# row:R12 row:R18
@pytest.mark.parametrize("inheritance", DISPOSITIONS)
def test_an_owner_that_ends_while_nodes_come_has_ended(elastic, tool, inheritance):
    goes, _ = DISPOSITIONS[inheritance]
    dvm = elastic(nodes=2, pool=1, failpoint=HELD)
    owner = tool(dvm, "v1")
    mine = begun(owner, "mine", "new", *words_for(inheritance, "list=v2,v3"))
    owner.process.kill()
    wait_until(lambda: is_over(dvm, mine) or (allocation(dvm, mine) or {}).get("owner_ended"), what="its owner has ended")
    release(dvm, LAUNCH)
    wait_until(lambda: is_over(dvm, mine), what="it has ended")
    settled(dvm)
    assert sessions(dvm) == {"v1": None, "v2": None, **({} if goes else {"v3": None})}
    assert news(dvm, mine) == ["made", "ended"]
    done(dvm, "grow", "--count", "1") if goes else done(dvm, "shrink", "--host", "v3")


# row:R12 row:R15
@pytest.mark.parametrize("inheritance", ["none", "default"])
def test_an_owner_that_ends_while_more_nodes_come_has_ended(elastic, tool, inheritance):
    dvm = elastic(nodes=2, pool=2, failpoint=f"{LAUNCH}@3:hold")
    owner = tool(dvm, "v1")
    mine = reserve(owner, "nodes=1", f"inherit={inheritance}")
    begun(owner, "more", "extend", "nodes=1", f"id={mine}")
    owner.process.kill()
    wait_until(lambda: is_over(dvm, mine) or (allocation(dvm, mine) or {}).get("owner_ended"), what="its owner has ended")
    release(dvm, LAUNCH)
    wait_until(lambda: is_over(dvm, mine), what="it has ended")
    settled(dvm)
    assert sessions(dvm) == dict.fromkeys(["v1", "v2"] if inheritance == "none" else ["v1", "v2", "v3", "v4"])


# row:R11 row:E20
@pytest.mark.parametrize("first", ["new", "extend"])
def test_it_is_released_while_nodes_come(elastic, tool, first):
    dvm = elastic(nodes=2, pool=2, failpoint=f"{LAUNCH}@{2 if first == 'new' else 3}:hold")
    me = tool(dvm, "v1")
    if first == "new":
        mine = begun(me, "mine", "new", "list=v2,v3")
    else:
        mine = reserve(me, "list=v2,v3", name="mine")
        begun(me, "more", "extend", "nodes=1", f"id={mine}", "req=more")
    begun(me, "less", "release", f"id={mine}", "req=less")
    release(dvm, LAUNCH)
    wait_until(lambda: [facts for _, facts in me.events() if facts.get("req") == "less"], what="it has ended")
    settled(dvm)
    assert sessions(dvm) == {"v1": None, "v2": None} and news(dvm, mine).count("ended") == 1
    done(dvm, "grow", "--count", "2")


# row:R10 row:E5 row:R18
@pytest.mark.parametrize("at", ["head", "v2"])
def test_what_can_not_be_had_is_no_reservation(elastic, tool, at):
    dvm = elastic(nodes=2, pool=1, failpoint=f"{LAUNCH}@2:fail")
    me = tool(dvm, at)
    mine = begun(me, "mine", "new", "list=v1,v3", "req=mine")
    assert me.event()[0] == FAILED
    settled(dvm)
    assert sessions(dvm) == {"v1": None, "v2": None} and allocation(dvm, mine) is None
    assert me.ask("late", "release", "req=mine")[0] != SUCCESS
    assert news(dvm, mine) == ["made", "ended"]


# ---- whose nodes they are ----

# row:R13 row:R15
@pytest.mark.parametrize("inheritance", ["none", "child"])
def test_what_was_there_is_no_node_of_what_is_shared(make_dvm, tool, inheritance):
    dvm = make_dvm(nodes=2, slots=1)
    owner = tool(dvm, "v1")
    mine = reserve(owner, "list=v2", "share=true", f"inherit={inheritance}")
    owner.end()
    wait_until(lambda: is_over(dvm, mine), what="its owner has ended")
    assert sessions(dvm) == {"v1": None, "v2": None} and not dvm.status()["campaigns"]


# row:R13 row:R7
def test_what_is_shared_by_one_and_reserved_by_another_stays_reserved(elastic, tool):
    dvm = elastic(nodes=1, pool=1)
    giver, taker = tool(dvm, "v1"), tool(dvm, "head")
    shared = reserve(giver, "nodes=1", "share=true", "inherit=none")
    mine = reserve(taker, "list=v2")
    giver.end()
    wait_until(lambda: is_over(dvm, shared), what="its owner has ended")
    settled(dvm)
    assert sessions(dvm) == {"v1": None, "v2": mine}, "its nodes are those that are everybody's"
    assert taker.ask("over", "release", f"id={mine}")[1]["complete"] == "1"
    assert sessions(dvm) == {"v1": None, "v2": None}


# row:R11 row:R7
def test_a_reservation_outlives_its_nodes(elastic, tool):
    dvm = elastic(nodes=2, pool=1)
    me, jobs = tool(dvm, "v1"), Jobs(dvm)
    mine = reserve(me, "list=v2,v3", "inherit=none")
    for node in ("v2", "v3"):
        dvm.kill_daemon(node)
        wait_until(lambda: node not in nodes(dvm), what=f"{node} is lost")
    assert jobs.try_spawn(me, "job", f"target={mine}")[0] != SUCCESS
    assert not is_over(dvm, mine) and allocation(dvm, mine)["owner"] == me.nspace
    assert me.ask("more", "extend", "list=v1", f"id={mine}")[0] == SUCCESS, "it can have others"
    assert sessions(dvm) == {"v1": mine}
    me.end()
    wait_until(lambda: is_over(dvm, mine), what="its owner has ended")
    assert sessions(dvm) == {"v1": None}


# ---- the end of the DVM ----

# row:R11 row:R18
def test_reservations_end_with_the_dvm(elastic, tool):
    dvm = elastic(nodes=2, pool=1)
    me = tool(dvm, "v1")
    mine = reserve(me, "list=v2,v3", "inherit=child")
    users = json.loads(tide(dvm, "alloc", "new", "--host", "v1", "--json").stdout)["change"]["allocation"]
    watching = dvm.start("tide", "events", "--follow", "--json")
    assert tide(dvm, "down").returncode == DONE
    dvm.abandon()
    told = [json.loads(line) for line in dvm.finish(watching).stdout.splitlines()]
    ends = {event["detail"].split(" ")[0]: event["detail"].split(": ")[1] for event in told if event["kind"] == "allocation-ended"}
    assert ends == {mine: "the DVM ends", users: "the DVM ends"}, told[-5:]
    assert [code for code, _ in me.events()][:1] == [READY]
