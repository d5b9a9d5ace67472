"""tide alloc, and jobs that are aimed at what it reserves: each command is a process of its own, and all are the user's."""

import json

import pytest

from asking import SUCCESS
from dvm import wait_until
from growing import DONE, REFUSED, done, events, nodes, settled, tide, where
from reserving import Jobs, allocation, is_over, news, reserve, sessions, state


def reserved(dvm, *options):
    """The id of what tide alloc new reserves, when it is done."""
    said = tide(dvm, "alloc", "new", *options, "--wait", "--json")
    assert said.returncode == DONE, said.stdout + said.stderr
    return json.loads(said.stdout)["change"]["allocation"]


def ran(dvm, program, *options, n=1):
    said = dvm.tool(*program, "-n", n, "--map-by", "node", *options, "sh", "-c", "echo $TIDE_NODE")
    assert said.returncode == 0, said.stderr
    return sorted(said.stdout.split())


# row:R8 row:R2 row:R7 row:R11 row:R15
@pytest.mark.user
def test_a_reservation_lives_from_one_command_to_the_next(elastic):
    dvm = elastic(nodes=2, pool=2)
    said = tide(dvm, "alloc", "new", "--count", "1", "--request-id", "ensemble", "--inherit", "none", "--wait")
    assert said.returncode == DONE, said.stderr
    assert said.stdout.startswith("reserving 1 node: v3 (allocation a1)\n"), said.stdout
    shown = allocation(dvm, "a1")
    user = f"{dvm.status()['dvm']['id']}@user"
    assert (shown["owner"], shown["owners"], shown["reserved"], shown["inheritance"], shown["request_id"]) == (
        user, [user], True, "none", "ensemble")
    for program, options in ((("tide", "run"), ("--target", "a1")), (("prun",), ("--alloc-id", "a1")), (("prun",), ("--alloc-refid", "ensemble"))):
        assert ran(dvm, program, *options) == ["v3"]
    assert where(dvm, 2) == ["v1", "v2"], "other jobs do not see it"
    assert tide(dvm, "alloc", "extend", "--request-id", "ensemble", "--host", "v2").stdout == "allocation a1 is extended by 1 node: v2\n"
    done(dvm, "alloc", "extend", "--alloc", "a1", "--count", "1")
    assert sessions(dvm) == {"v1": None, "v2": "a1", "v3": "a1", "v4": "a1"}
    assert ran(dvm, ("tide", "run"), "--target", "a1,default", n=4) == ["v1", "v2", "v3", "v4"]
    assert tide(dvm, "alloc", "extend", "--alloc", "a1", "--inherit", "child-default").returncode == DONE
    assert allocation(dvm, "a1")["inheritance"] == "child-default"
    done(dvm, "alloc", "release", "--alloc", "a1")
    assert sessions(dvm) == {"v1": None, "v2": None}
    assert dvm.run("--target", "a1", "-n", "1", "true").returncode == 125
    assert tide(dvm, "alloc", "list").stdout.count("a1") == 0
    assert news(dvm, "a1")[0] == "made" and news(dvm, "a1")[-1] == "ended"


# row:R15 row:R7
def test_nodes_of_the_dvm_are_reserved_at_once(make_dvm):
    dvm = make_dvm(nodes=3, slots=1)
    said = tide(dvm, "alloc", "new", "--host", "v1,v3")
    assert (said.returncode, said.stdout) == (DONE, "reserved 2 nodes: v1, v3 (allocation a1)\n")
    assert sessions(dvm) == {"v1": "a1", "v2": None, "v3": "a1"}
    assert tide(dvm, "alloc", "release", "--host", "v1").returncode == DONE
    assert sessions(dvm) == {"v1": None, "v2": None, "v3": "a1"}
    assert tide(dvm, "alloc", "release", "--alloc", "a1").returncode == DONE
    assert where(dvm, 3) == ["v1", "v2", "v3"]


# row:R2 row:R12
@pytest.mark.parametrize("named", ["job", "namespace", "tool"])
def test_it_may_be_for_another(elastic, tool, ranks, named):
    dvm = elastic(nodes=2, pool=1)
    owner = tool(dvm, "v2") if named == "tool" else ranks(dvm, 1, "--host", "v1")[0]
    mine = reserved(dvm, "--count", "1", "--target", "1" if named == "job" else owner.nspace, "--inherit", "none")
    assert allocation(dvm, mine)["owner"] == owner.nspace and sessions(dvm)["v3"] == mine
    owner.order("quit")
    wait_until(lambda: is_over(dvm, mine), what="its owner has ended")
    settled(dvm)
    assert nodes(dvm) == ["v1", "v2"]


# row:R2 row:R6
def test_it_may_be_shared(elastic):
    dvm = elastic(nodes=1, pool=1)
    mine = reserved(dvm, "--count", "1", "--share")
    assert sessions(dvm) == {"v1": None, "v2": None} and where(dvm, 2) == ["v1", "v2"]
    said = dvm.run("--target", mine, "-n", "1", "true")
    assert said.returncode == 125 and "is no reservation" in said.stderr, said.stderr
    done(dvm, "alloc", "release", "--alloc", mine)
    assert nodes(dvm) == ["v1"]


# row:R16 row:R11
def test_it_may_be_for_a_time(elastic):
    dvm = elastic(nodes=1, pool=2)
    mine, other = reserved(dvm, "--count", "1", "--time", "3s", "--warn", "2s"), reserved(dvm, "--count", "1", "--time", "2s")
    said = tide(dvm, "alloc", "extend", "--alloc", mine, "--time", "10m")
    assert said.returncode == DONE and said.stdout.startswith(f"the lease of allocation {mine} is prolonged"), said.stdout
    assert allocation(dvm, mine)["lease"]["left_ms"] > 500_000
    wait_until(lambda: is_over(dvm, other), what="the time of the other is over")
    settled(dvm)
    assert nodes(dvm) == ["v1", "v2"] and sessions(dvm)["v2"] == mine


# row:R8 row:R4
def test_the_commands_of_a_user_may_what_the_tools_may(make_dvm, tool):
    dvm = make_dvm(nodes=4, slots=1)
    me, jobs = tool(dvm, "v1"), Jobs(dvm)
    mine = reserve(me, "list=v2")
    assert tide(dvm, "alloc", "extend", "--alloc", mine, "--host", "v3").returncode == DONE
    assert sessions(dvm) == {"v1": None, "v2": mine, "v3": mine, "v4": None}
    users = reserved(dvm, "--host", "v4")
    assert jobs.try_spawn(me, "there", f"target={users}")[0] != SUCCESS, "a tool owns what it has made, and no more"
    assert tide(dvm, "alloc", "release", "--alloc", mine).returncode == DONE
    assert is_over(dvm, mine) and not is_over(dvm, users)


def test_a_request_is_taken_back(elastic):
    dvm = elastic(nodes=1, pool=1, failpoint="event.nodes_granted:hold")
    asking = dvm.start("tide", "alloc", "new", "--count", "1", "--request-id", "mine")
    wait_until(lambda: dvm.status()["asks"], what="it is asked for")
    assert "1 node" in tide(dvm, "alloc", "list").stdout
    assert tide(dvm, "alloc", "cancel", "other").returncode == REFUSED
    assert tide(dvm, "alloc", "cancel", "mine").returncode == DONE
    said = dvm.finish(asking)
    assert said.returncode == REFUSED and "mine" in said.stderr, said.stderr
    assert tide(dvm, "debug", "release", "event.nodes_granted").returncode == 0
    settled(dvm)
    assert nodes(dvm) == ["v1"] and not dvm.status()["asks"]


# row:R10 row:R20
def test_what_is_refused_leaves_no_trace(elastic, tool, ranks):
    dvm = elastic(nodes=4, pool=1, slots=2)
    (job,) = ranks(dvm, 1, "--host", "v1")
    theirs, mine = reserve(job, "list=v3"), reserved(dvm, "--host", "v4", "--request-id", "mine")
    before = state(dvm)
    for argv, words in (
            (["new", "--count", "9"], "the pool has"), (["new", "--host", "v3"], "v3"), (["new", "--host", "v2", "--target", "77"], "77"),
            (["new", "--host", "v2", "--target", "nobody"], "nobody"), (["extend", "--alloc", theirs, "--host", "v2"], "belong"),
            (["extend", "--alloc", "a77", "--count", "1"], "a77"), (["extend", "--request-id", "other", "--count", "1"], "other"),
            (["extend", "--alloc", mine, "--target", job.nspace, "--host", "v2"], "belong"),
            (["extend", "--alloc", mine, "--time", "5m"], "lease|no node"), (["release", "--alloc", theirs], "belong"),
            (["release", "--host", "v2,v3"], "others"), (["release", "--alloc", "a77"], "a77"), (["release", "--request-id", "other"], "other"),
            (["cancel", "mine"], "mine")):
        said = tide(dvm, "alloc", *argv)
        assert said.returncode == REFUSED and any(word in said.stderr for word in words.split("|")), (argv, said.returncode, said.stderr)
        assert state(dvm) == before, argv
    job.order("quit")


# row:R18
def test_what_there_is_and_why_is_shown(elastic, tool):
    dvm = elastic(nodes=2, pool=1)
    me, jobs = tool(dvm, "v1"), Jobs(dvm)
    mine = reserve(me, "list=v2,v3", "req=mine", "inherit=child")
    job = jobs.spawn(me, "job", f"target={mine}")
    number = job.rsplit("@", 1)[1]
    for shown in (tide(dvm, "status").stdout, tide(dvm, "alloc", "list").stdout):
        row = next(line for line in shown.splitlines() if line.startswith(f"{mine} "))
        assert all(word in row for word in ("reserved", me.nspace, f"job {number}", "child", "v3, v2")), shown
    explained = tide(dvm, "explain", mine).stdout
    for words in ("v3, granted by pool", "it reserves v2", f"reserved for {me.nspace}", "request 'mine'", f"has not ended: {job}",
                  "its nodes go back (child)", f"jobs with processes there\n  {number}\n"):
        assert words in explained, explained
    me.process.kill()
    wait_until(lambda: is_over(dvm, mine), what="it ends with the last job")
    told = [detail for kind, detail in events(dvm) if kind.startswith("allocation-")]
    beginning = f"{mine} (reserved for {me.nspace}): "
    assert told == [beginning + words for words in ("it was asked for", f"job {job} uses it", "its owner has ended")], told
