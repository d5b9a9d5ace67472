"""What becomes of allocations with those who own them, when, and what jobs on their nodes feel of an end."""

import os
import signal

import pytest

from asking import SUCCESS
from dvm import is_alive, wait_until
from growing import done, kinds, nodes, running, settled
from jobs import Gate
from reserving import Jobs, allocation, ended, is_over, news, pids, reserve, sessions, spawn_asker
from test_reservations import EVERYWHERE

# inheritance: (whether its nodes go back, whether it waits for all that comes of its owner)
DISPOSITIONS = {None: (False, False), "none": (True, False), "child": (True, True), "default": (False, False),
                "child_default": (False, True)}
STAYED = {"v1": None, "v2": None, "v3": None, "v4": None}  # v4 came with the allocation, v3 was there
GONE = {"v1": None, "v2": None, "v3": None}


def words_for(inheritance, *others):
    return [*others, *([f"inherit={inheritance}"] if inheritance else [])]


def over(dvm, name, goes):
    """Waits until it is over, and looks at what is left: its nodes have gone back, or are everybody's; once, and for one reason."""
    wait_until(lambda: is_over(dvm, name), what="the allocation has ended")
    settled(dvm)
    assert sessions(dvm) == (GONE if goes else STAYED)
    assert allocation(dvm, name) is None and news(dvm, name).count("ended") == 1
    if not goes:
        done(dvm, "shrink", "--host", "v4")


# ---- the disposition table ----

# row:R12 row:R15 row:R18 row:R13
@pytest.mark.parametrize("who, at", EVERYWHERE)
def test_at_the_end_of_the_owner_each_does_its_thing_once(elastic, asker, who, at):
    dvm = elastic(nodes=3, pool=1, slots=6)
    jobs = Jobs(dvm)
    for inheritance, (goes, _) in DISPOSITIONS.items():
        owner = asker(dvm, who, at)
        mine = reserve(owner, *words_for(inheritance, "list=v3,v4"))
        child = jobs.spawn(owner, "child", "host=v1")
        jobs.end(child)
        assert sessions(dvm) == {"v1": None, "v2": None, "v3": mine, "v4": mine}, "nothing happens while the owner lives"
        assert news(dvm, mine) == ["made"]
        owner.order("quit")
        over(dvm, mine, goes)
        shrinks = dvm.status()["counters"]["elastic.shrinks"]
        assert news(dvm, mine) == ["made", "ended"]
    assert shrinks == len(DISPOSITIONS), "of each allocation v4 has left once"


# row:R12 row:R19 row:R15
@pytest.mark.parametrize("who, at", EVERYWHERE)
def test_those_that_wait_for_children_end_with_the_last_of_them(elastic, asker, who, at):
    """The children run in the default session, on nodes of others."""
    dvm = elastic(nodes=3, pool=1, slots=6)
    jobs = Jobs(dvm)
    for inheritance, (goes, waits) in DISPOSITIONS.items():
        owner = asker(dvm, who, at)
        mine = reserve(owner, *words_for(inheritance, "list=v3,v4"))
        first = jobs.spawn(owner, "first", "host=v1", "nohup=true")
        second = jobs.spawn(owner, "second", f"target={mine}", "host=v3", "nohup=true")
        assert sorted(allocation(dvm, mine)["derived"]) == sorted([first, second])
        owner.order("quit")
        if waits:
            wait_until(lambda: allocation(dvm, mine)["owner_ended"], what="its owner has ended")
            jobs.end(first)
            assert sessions(dvm) == {"v1": None, "v2": None, "v3": mine, "v4": mine}, "one is left"
            assert second in allocation(dvm, mine)["owners"] and not is_over(dvm, mine)
            jobs.end(second)
            over(dvm, mine, goes)
        else:
            over(dvm, mine, goes)
            for one in (first, second):
                jobs.end(one)  # it was not disturbed: where it runs stays
        assert news(dvm, mine) == ["made", "targeted", "ended"]


# row:R12
@pytest.mark.parametrize("inheritance", DISPOSITIONS)
@pytest.mark.parametrize("at", ["head", "v2"])
def test_a_tool_that_vanishes_has_ended(elastic, tool, at, inheritance):
    goes, _ = DISPOSITIONS[inheritance]
    dvm = elastic(nodes=3, pool=1, slots=2)
    owner, jobs = tool(dvm, at), Jobs(dvm)
    mine = reserve(owner, *words_for(inheritance, "list=v3,v4"))
    child = jobs.spawn(owner, "child", "host=v1")
    owner.process.kill()
    over(dvm, mine, goes)
    ended(dvm, child)  # it was not told to outlive its tool
    assert news(dvm, mine) == ["made", "ended"]


# row:R12
@pytest.mark.parametrize("inheritance", DISPOSITIONS)
def test_a_job_that_is_killed_has_ended(elastic, ranks, inheritance):
    goes, _ = DISPOSITIONS[inheritance]
    dvm = elastic(nodes=3, pool=1, slots=2)
    (first, second), jobs = ranks(dvm, 2, "--host", "v1,v2"), Jobs(dvm)
    mine = reserve(second, *words_for(inheritance, "list=v3,v4"))
    child = jobs.spawn(second, "child", "host=v2")
    os.kill(pids(dvm, second.nspace)[0], signal.SIGKILL)
    over(dvm, mine, goes)
    assert first.process.wait(timeout=30) != 0
    assert ended(dvm, child)["exit_status"] != 0, "it does not outlive a parent that failed"
    assert news(dvm, mine) == ["made", "ended"]


# row:R12
@pytest.mark.parametrize("inheritance", DISPOSITIONS)
@pytest.mark.parametrize("who", ["tool", "process"])
def test_an_owner_whose_node_is_lost_has_ended(elastic, asker, who, inheritance):
    goes, _ = DISPOSITIONS[inheritance]
    dvm = elastic(nodes=3, pool=1, slots=2)
    owner = asker(dvm, who, "v2")
    mine = reserve(owner, *words_for(inheritance, "list=v3,v4"))
    dvm.kill_daemon("v2")
    wait_until(lambda: is_over(dvm, mine), what="the allocation has ended")
    settled(dvm)
    assert sessions(dvm) == {"v1": None, "v3": None, **({} if goes else {"v4": None})}
    assert news(dvm, mine) == ["made", "ended"]


# row:R12
def test_a_job_of_which_one_process_has_ended_lives(elastic, ranks):
    dvm = elastic(nodes=3, pool=0)
    first, second = ranks(dvm, 2, "--host", "v1,v2")
    mine = reserve(first, "list=v3", "inherit=none")
    first.order("quit")
    wait_until(lambda: running(dvm) == 1, what="who asked for it has ended")
    assert not is_over(dvm, mine)
    assert second.ask("mine", "extend", "inherit=default", f"id={mine}")[0] == SUCCESS, "it is the job's"
    second.order("quit")
    wait_until(lambda: is_over(dvm, mine), what="the job has ended")


# row:R12 row:R2
@pytest.mark.parametrize("share", ["false", "true"])
def test_what_was_made_for_another_ends_with_that(elastic, tool, ranks, share):
    dvm = elastic(nodes=3, pool=1, slots=2)
    (owner,) = ranks(dvm, 1, "--host", "v1")
    maker = tool(dvm, "v2")
    mine = reserve(maker, "nodes=1", f"target={owner.nspace}", f"share={share}", "inherit=none")
    maker.end()
    wait_until(lambda: "tool-gone" in kinds(dvm), what="the tool is gone")
    assert not is_over(dvm, mine) and "v4" in nodes(dvm)
    owner.order("quit")
    over(dvm, mine, True)


# row:R12 row:R19
@pytest.mark.parametrize("inheritance", ["child", "child_default"])
@pytest.mark.parametrize("who, at", EVERYWHERE)
def test_the_last_child_may_be_three_generations_away_and_in_another_session(elastic, asker, who, at, inheritance):
    dvm = elastic(nodes=3, pool=1, slots=6)
    owner, jobs = asker(dvm, who, at), Jobs(dvm)
    mine = reserve(owner, "list=v3,v4", f"inherit={inheritance}")
    first = spawn_asker(dvm, owner, "first", f"target={mine}", "nohup=true")
    second = spawn_asker(dvm, first, "second", "target=default", "host=v2")
    third = jobs.spawn(second, "third", "host=v1")
    for one in (owner, first, second):
        one.order("quit")
    wait_until(lambda: (one := allocation(dvm, mine))["owner_ended"] and one["derived"] == [third], what="the others have ended")
    assert news(dvm, mine) == ["made", "targeted"]
    assert sessions(dvm) == {"v1": None, "v2": None, "v3": mine, "v4": mine}
    jobs.end(third)
    over(dvm, mine, inheritance == "child")


# row:R19 row:R12
def test_whoever_is_aimed_at_it_and_who_was_there_before_count(elastic, tool):
    dvm = elastic(nodes=3, pool=1, slots=2)
    owner, jobs = tool(dvm, "v1"), Jobs(dvm)
    before = jobs.spawn(owner, "before", "host=v1", "nohup=true")
    mine = reserve(owner, "list=v3,v4", "inherit=child")
    gate = Gate(dvm.tmpdir / "submitted")
    submitted = dvm.start("prun", "--target", mine, "-n", "1", "sh", "-c", gate.wait_command())
    wait_until(lambda: running(dvm) == 2, what="it runs")
    assert before in allocation(dvm, mine)["derived"] and len(allocation(dvm, mine)["derived"]) == 2
    owner.process.kill()
    wait_until(lambda: allocation(dvm, mine)["owner_ended"], what="its owner has ended")
    jobs.end(before)
    assert not is_over(dvm, mine)
    wait_until(gate.try_open, what="it waits")
    assert dvm.finish(submitted).returncode == 0
    over(dvm, mine, True)


# row:R13 row:R12
@pytest.mark.parametrize("who, at", EVERYWHERE)
def test_of_what_is_shared_just_its_nodes_leave(elastic, asker, who, at):
    dvm = elastic(nodes=3, pool=1, slots=6)
    jobs = Jobs(dvm)
    for inheritance, (goes, waits) in DISPOSITIONS.items():
        owner = asker(dvm, who, at)
        mine = reserve(owner, *words_for(inheritance, "nodes=1", "share=true"))
        child = jobs.spawn(owner, "child", "host=v1", "nohup=true")
        owner.order("quit")
        if waits:
            wait_until(lambda: allocation(dvm, mine)["owner_ended"], what="its owner has ended")
            assert sessions(dvm) == STAYED and not is_over(dvm, mine)
        else:
            over(dvm, mine, goes)
        jobs.end(child)
        if waits:
            over(dvm, mine, goes)


# row:R13
@pytest.mark.parametrize("first, then", [("none", "default"), ("default", "none"), ("child", "child_default"), ("none", None)])
def test_an_extension_says_anew_what_becomes_of_it(elastic, tool, first, then):
    dvm = elastic(nodes=3, pool=1)
    owner = tool(dvm, "v2")
    mine = reserve(owner, "list=v4", f"inherit={first}")
    more = ["list=v3", *([f"inherit={then}"] if then else [])]
    assert owner.ask("more", "extend", *more, f"id={mine}")[0] == SUCCESS
    owner.end()
    over(dvm, mine, DISPOSITIONS[then or first][0])


# ---- jobs on the nodes of what ends ----

TOLERANT = ("--rtos", "recoverable")


class TwoPlaces:
    """A job with a process on v4, which came with the allocation, and one on v1; both wait, and may save what they have."""

    def __init__(self, dvm, name):
        self.dvm, self._gate = dvm, Gate(dvm.tmpdir / "both")
        self._job = dvm.start("tide", "run", "-n", "2", "--host", "v1,v4", "--target", f"{name},default", "--map-by", "node",
                              *TOLERANT, "sh", "-c", self._gate.wait_command())
        wait_until(lambda: running(dvm) == 2, what="it runs")
        self.pids = pids(dvm, dvm.jobs()["jobs"][-1]["namespace"])

    def ends(self):
        """Its end, when those that are left were let go."""
        wait_until(self._gate.try_open, what="it waits")
        return self.dvm.finish(self._job)


def end_it(how, dvm, owner, mine):
    if how == "killed":
        owner.process.kill()
    elif how == "released":
        assert owner.ask("over", "release", f"id={mine}")[0] == SUCCESS
    else:
        done(dvm, "shrink", "--alloc", mine)


# row:R14 row:R12
@pytest.mark.parametrize("how, inheritance", [("killed", "none"), ("released", "default"), ("shrink", "child_default")])
def test_where_nodes_leave_their_processes_end_and_no_others(elastic, tool, how, inheritance):
    dvm = elastic(nodes=3, pool=1, tide_kill_grace="200ms")
    owner = tool(dvm, "v2")
    mine = reserve(owner, "list=v3,v4", f"inherit={inheritance}")
    job = TwoPlaces(dvm, mine)
    daemon = dvm.daemon_pids()["v4"]
    end_it(how, dvm, owner, mine)
    wait_until(lambda: is_over(dvm, mine), what="it has ended")
    settled(dvm)
    assert not is_alive(job.pids[1]) and not is_alive(daemon) and sessions(dvm) == GONE
    assert is_alive(job.pids[0]), "a release ends nothing elsewhere"
    said = job.ends()
    assert said.returncode != 0 and "its processes on v4 were ended because this node is released" in said.stderr, said.stderr


# row:R14 row:R12
def test_where_nodes_leave_a_job_that_tolerates_nothing_fails(elastic, tool):
    dvm = elastic(nodes=3, pool=1, tide_kill_grace="200ms")
    owner = tool(dvm, "v2")
    mine = reserve(owner, "list=v3,v4", "inherit=none")
    there = dvm.start("tide", "run", "-n", "1", "--host", "v4", "--target", mine, "sleep", "1000")
    stays = dvm.start("tide", "run", "-n", "1", "--host", "v3", "--target", mine, "sleep", "1000")
    wait_until(lambda: running(dvm) == 2, what="both run")
    owner.process.kill()
    said = dvm.finish(there)
    assert said.returncode != 0 and "v4" in said.stderr, said.stderr
    wait_until(lambda: is_over(dvm, mine), what="it has ended")
    assert running(dvm) == 1 and stays.poll() is None, "v3 was there before, and stays"


# row:R14 row:R12 row:R7
@pytest.mark.parametrize("inheritance", [None, "default", "child_default"])
def test_where_nodes_stay_nobody_is_disturbed(elastic, ranks, inheritance):
    dvm = elastic(nodes=3, pool=1)
    (owner,) = ranks(dvm, 1, "--host", "v2")
    mine = reserve(owner, *words_for(inheritance, "list=v3,v4"))
    child = spawn_asker(dvm, owner, "child", f"target={mine}", "host=v4", "nohup=true")
    heir, jobs = child.nspace, Jobs(dvm)
    (pid,) = pids(dvm, heir).values()
    assert dvm.run("-n", "1", "--host", "v3", "true").returncode != 0
    owner.order("quit")
    if inheritance == "child_default":
        wait_until(lambda: allocation(dvm, mine)["owner_ended"], what="its owner has ended")
        assert child.ask("over", "extend", "inherit=default", f"id={mine}")[0] == SUCCESS, "what it waits for has happened"
    wait_until(lambda: is_over(dvm, mine), what="it has ended")
    assert is_alive(pid) and sessions(dvm) == STAYED
    assert dvm.run("-n", "1", "--host", "v3", "true").returncode == 0, "new jobs see all of it"
    late = jobs.spawn(child, "late", "host=v3")
    jobs.end(late)
    child.order("quit")
    assert ended(dvm, heir)["exit_status"] == 0


# row:R14 row:R15
def test_what_was_carved_out_is_released_under_its_jobs(make_dvm, tool):
    dvm = make_dvm(nodes=3, slots=1)
    owner, jobs = tool(dvm, "v1"), Jobs(dvm)
    mine = reserve(owner, "list=v2,v3", "inherit=none")
    job = jobs.spawn(owner, "there", f"target={mine}", n=2)
    assert owner.ask("over", "release", f"id={mine}")[1]["complete"] == "1"
    assert sessions(dvm) == GONE and jobs.nodes(job) == ["v2", "v3"]
    jobs.end(job)
