"""Jobs that are aimed at reservations: which nodes they see, who may aim, and what a held job is mapped onto."""

import pytest

from asking import NO_PERMISSIONS, SUCCESS
from dvm import wait_until
from growing import begin, ended, in_phase, nodes, parked, ran_on, release, start_deaf, where
from reserving import Jobs, allocation, is_over, news, reserve, sessions, spawn_asker, state
from test_elastic_windows import PATIENT, STAGING

NO_PLACE, NOT_LAUNCHED = 125, 122  # exit statuses


def ran(dvm, *options, n=1):
    """Where the processes of a job of commands ran, one on each node."""
    said = dvm.run("-n", n, "--map-by", "node", *options, "sh", "-c", "echo $TIDE_NODE")
    assert said.returncode == 0, said.stderr
    return sorted(said.stdout.split())


# ---- the union ----

# what is aimed at: the nodes that the job sees
SEEN = [
    ("target=ONE", ["v1"]),
    ("target=TWO", ["v2"]),
    ("target=ONE,TWO", ["v1", "v2"]),
    ("target=ONE,ONE", ["v1"]),
    ("target=default", ["v3", "v4"]),
    ("target=default,default", ["v3", "v4"]),
    ("target=ONE,default", ["v1", "v3", "v4"]),
    ("target=ONE,TWO,default", ["v1", "v2", "v3", "v4"]),
    ("", ["v3", "v4"]),
]


# row:R6 row:R7 row:R1 row:R8
@pytest.mark.parametrize("who, at", [("tool", "head"), ("tool", "v2"), ("process", "v3"), ("process", "v4")])
def test_a_job_sees_what_it_is_aimed_at_and_nothing_else(make_dvm, asker, who, at):
    dvm = make_dvm(nodes=4, slots=2)
    me, jobs = asker(dvm, who, at), Jobs(dvm)
    names = {"ONE": reserve(me, "list=v1", name="one"), "TWO": reserve(me, "list=v2", name="two")}
    for number, (words, seen) in enumerate(SEEN):
        said = [words.replace("ONE", names["ONE"]).replace("TWO", names["TWO"])] if words else []
        # Each node has room for two, but that of the process itself; one more than there is room for finds no place.
        room = 2 * len(seen) - (1 if at in seen and who == "process" else 0)
        status, _ = jobs.try_spawn(me, f"big{number}", *said, n=room + 1)
        assert status != SUCCESS, words
        job = jobs.spawn(me, f"job{number}", *said, n=len(seen))
        assert jobs.nodes(job) == seen, words
        jobs.end(job)
    assert where(dvm, 2) == ["v3", "v4"], "whoever says nothing sees no reserved node"
    assert dvm.run("-n", "1", "--host", "v1", "true").returncode != 0
    assert news(dvm, names["ONE"]).count("targeted") == 5 and news(dvm, names["TWO"]).count("targeted") == 3


# row:R7 row:R6
def test_a_host_list_chooses_among_what_the_job_sees(make_dvm, tool):
    dvm = make_dvm(nodes=3, slots=1)
    me, jobs = tool(dvm, "v1"), Jobs(dvm)
    mine = reserve(me, "list=v2,v3")
    job = jobs.spawn(me, "there", f"target={mine}", "host=v3")
    assert jobs.nodes(job) == ["v3"]
    assert jobs.try_spawn(me, "elsewhere", f"target={mine}", "host=v1")[0] != SUCCESS
    assert jobs.try_spawn(me, "both", f"target={mine}", "host=v1,v3")[0] != SUCCESS
    jobs.end(job)


# ---- where a spawned job is ----

# row:R1 row:R6
@pytest.mark.parametrize("at", ["head", "v3"])
def test_a_spawned_job_is_where_its_parent_is(make_dvm, tool, at):
    dvm = make_dvm(nodes=3, slots=3)
    me, jobs = tool(dvm, at), Jobs(dvm)
    mine = reserve(me, "list=v1,v2")
    parent = spawn_asker(dvm, me, "parent", f"target={mine}", "host=v1")
    heir = jobs.spawn(parent, "heir", n=2)
    assert jobs.nodes(heir) == ["v1", "v2"]
    apart = jobs.spawn(parent, "apart", "target=default")
    assert jobs.nodes(apart) == ["v3"], "the one without a name is the default session to everybody"
    assert me.ask("over", "release", f"id={mine}")[0] == SUCCESS
    late = jobs.spawn(parent, "late", n=3)
    assert jobs.nodes(late) == ["v1", "v2", "v3"], "the session of its parent has ended"
    for job in (heir, apart, late):
        jobs.end(job)
    parent.order("quit")


# row:R1
def test_a_spawned_job_is_where_both_sessions_of_its_parent_are(make_dvm, tool):
    dvm = make_dvm(nodes=3, slots=3)
    me, jobs = tool(dvm, "v3"), Jobs(dvm)
    one, two = reserve(me, "list=v1", name="r1"), reserve(me, "list=v2", name="r2")
    parent = spawn_asker(dvm, me, "parent", f"target={one},{two}", "host=v1")
    heir = jobs.spawn(parent, "heir", n=2)
    assert jobs.nodes(heir) == ["v1", "v2"]
    assert me.ask("over", "release", f"id={one}")[0] == SUCCESS
    late = jobs.spawn(parent, "late")
    assert jobs.nodes(late) == ["v2"], "what is left of them"
    for job in (heir, late):
        jobs.end(job)
    parent.order("quit")


# ---- owners ----

# row:R8 row:R20 row:R4
@pytest.mark.parametrize("at", ["head", "v4"])
def test_who_is_spawned_into_a_reservation_owns_that_one(make_dvm, tool, at):
    dvm = make_dvm(nodes=4, slots=2)
    me, jobs = tool(dvm, at), Jobs(dvm)
    mine, second = reserve(me, "list=v1", "req=mine", name="r1"), reserve(me, "list=v2", name="r2")
    child = spawn_asker(dvm, me, "child", f"target={mine}")
    elsewhere = spawn_asker(dvm, me, "elsewhere", "host=v3")
    assert allocation(dvm, mine)["owners"] == [me.nspace, child.nspace]
    assert allocation(dvm, second)["owners"] == [me.nspace]
    before = state(dvm)
    for number, (who, words) in enumerate([
            (elsewhere, f"release id={mine}"), (elsewhere, f"extend list=v4 id={mine}"), (elsewhere, f"spawn target={mine} -- /usr/bin/true"),
            (child, f"release id={second}"), (child, f"extend list=v4 id={second}"), (child, f"spawn target={second} -- /usr/bin/true"),
            (child, f"spawn target={mine},{second} -- /usr/bin/true")]):
        assert who.ask(f"r{number}", words)[0] == NO_PERMISSIONS, words
        assert state(dvm) == before, words
    grandchild = jobs.spawn(child, "grandchild", f"target={mine}")
    assert child.ask("more", "extend", "list=v4", f"id={mine}")[0] == SUCCESS
    assert sessions(dvm)["v4"] == mine and allocation(dvm, mine)["owners"] == sorted([me.nspace, child.nspace, grandchild])
    jobs.end(grandchild)
    assert child.ask("over", "release", f"id={mine}")[0] == SUCCESS
    assert is_over(dvm, mine) and sessions(dvm) == {"v1": None, "v2": second, "v3": None, "v4": None}
    for one in (child, elsewhere):
        one.order("quit")


# row:R8 row:R9
def test_commands_have_the_rights_of_the_users_tools(make_dvm, tool, ranks):
    dvm = make_dvm(nodes=4, slots=1)
    mine = reserve(tool(dvm, "v1"), "list=v1,v2", "req=ensemble")
    (job,) = ranks(dvm, 1, "--host", "v3")
    theirs = reserve(job, "list=v4")
    for options in (["--target", mine], ["--alloc-id", mine], ["--alloc-refid", "ensemble"]):
        assert ran(dvm, *options, n=2) == ["v1", "v2"]
    said = dvm.tool("prun", "--alloc-id", mine, "-n", "2", "--map-by", "node", "sh", "-c", "echo $TIDE_NODE")
    assert sorted(said.stdout.split()) == ["v1", "v2"], said.stderr
    before = state(dvm)
    for targets, status, words in (
            (theirs, NOT_LAUNCHED, "belongs to others"), (f"{mine},{theirs}", NOT_LAUNCHED, "belongs to others"),
            ("a77", NO_PLACE, "there is no reservation"),
            (f"{mine},a77", NO_PLACE, "there is no reservation"), ("default,a77", NO_PLACE, "there is no reservation")):
        said = dvm.run("--target", targets, "-n", "1", "true")
        assert said.returncode == status and words in said.stderr, (targets, said.stderr)
        assert state(dvm) == before, targets
    job.order("quit")


# row:R6 row:R7
def test_commands_aim_at_several_and_at_the_default_session(make_dvm, tool):
    dvm = make_dvm(nodes=4, slots=1)
    me = tool(dvm, "v1")
    one, two = reserve(me, "list=v1", name="r1"), reserve(me, "list=v2", name="r2")
    assert ran(dvm, "--target", f"{one},{two}", n=2) == ["v1", "v2"]
    assert ran(dvm, "--target", f"{one},default", n=3) == ["v1", "v3", "v4"]
    assert ran(dvm, "--target", "default", n=2) == ["v3", "v4"]
    assert dvm.run("--target", one, "-n", "2", "true").returncode != 0


# ---- held ----

# row:S13 row:R7
def test_a_held_job_is_mapped_onto_the_rest_of_its_reservation(elastic, tool):
    """It stands before its launch, mapped onto v2 and v3, because the DVM loses v1; meanwhile v2 is released, too."""
    dvm = elastic(nodes=2, pool=3, failpoint=f"{STAGING}:hold", state_base_verbose=1, **PATIENT)
    me = tool(dvm, "head")
    mine = reserve(me, "list=v3,v4,v5")
    gate, deaf = start_deaf(dvm, "v1")
    data = dvm.tmpdir / "data"
    data.write_text("staged\n")
    job = dvm.start("prun", "--target", mine, "-n", "2", "--map-by", "node", "--preload-files", data, "sh", "-c", "echo $TIDE_NODE")
    wait_until(lambda: "PRTE_JOB_STATE_VM_READY" in [row["state"] for row in dvm.jobs()["jobs"]], what="it stages")
    shrinking = begin(dvm, "shrink", "--host", "v1")
    in_phase(dvm, "processes")
    release(dvm, STAGING)
    wait_until(lambda: parked(dvm) == [2], what="it is parked")
    assert dvm.transitions(2)[-2:] == ["LAUNCH_APPS", "WAITING_FOR_DAEMONS"]
    assert sorted(node["name"] for node in dvm.status()["nodes"] if node["slots_used"]) == ["v1", "v3", "v4"]
    assert me.ask("less", "release", "list=v3")[1]["complete"] == "0"
    wait_until(lambda: nodes(dvm) == ["v1", "v2", "v4", "v5"], what="v3 has left")
    assert parked(dvm) == [2], "v1 is still leaving"
    wait_until(gate.try_open, what="the process waits")
    ended(dvm, shrinking)
    assert ran_on(dvm, job) == ["v4", "v5"], "and not on v2, which is everybody's"
    dvm.finish(deaf)


# row:R11 row:S13
def test_a_held_job_whose_reservation_ends_goes_nowhere_else(elastic, tool):
    dvm = elastic(nodes=3, pool=0, **PATIENT)
    me = tool(dvm, "head")
    mine = reserve(me, "list=v2")
    gate, deaf = start_deaf(dvm, "v3")
    shrinking = begin(dvm, "shrink", "--host", "v3")
    in_phase(dvm, "processes")
    job = dvm.start("tide", "run", "--target", mine, "-n", "1", "true")
    wait_until(lambda: parked(dvm) == [2], what="it is parked")
    assert me.ask("over", "release", f"id={mine}")[0] == SUCCESS
    wait_until(gate.try_open, what="the process waits")
    ended(dvm, shrinking)
    said = dvm.finish(job)
    assert said.returncode != 0 and "the reservation that the job was aimed at is over" in said.stderr, said.stderr
    dvm.finish(deaf)
