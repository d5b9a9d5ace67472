"""A scheduler, how it proves that it is one, and what it may do; allocations with a time, and who is warned of its end."""

import pytest

from asking import NO_PERMISSIONS, SUCCESS, WARNING
from dvm import wait_until
from growing import done, events, kinds, nodes, settled
from reserving import Jobs, allocation, is_over, news, reserve, sessions, spawn_asker, state
from test_pool import two_managers  # noqa: F401
from test_reservations import EVERYWHERE

KEY = "proof-of-a-scheduler-in-a-test"
WRONG = KEY.replace("proof", "prove")


@pytest.fixture
def scheduled(elastic, tmp_path):
    """A function (nodes, pool, …) → running elastic DVM that has a scheduler, which proves itself by KEY."""
    file = tmp_path / "key"
    file.touch(mode=0o600)
    file.write_text(KEY + "\n")

    def make(**arguments):
        return elastic(tide_scheduler_key_file=file, **arguments)

    return make


# ---- the proof ----

# row:R8 row:R10
@pytest.mark.parametrize("who, at", EVERYWHERE)
def test_nobody_else_is_the_scheduler(scheduled, asker, tool, who, at):
    """Not a tool with another key, and no process, whatever key it has."""
    dvm = scheduled(nodes=4, pool=1, slots=2)
    them, me = tool(dvm, "v1"), asker(dvm, who, at)
    theirs = reserve(them, "list=v3", "req=theirs", "warn=5")
    before = state(dvm)
    for key in ([WRONG, KEY[:-1], KEY + "x", "x"] if who == "tool" else [KEY, WRONG]):
        for number, words in enumerate(["new nodes=1", "new list=v2 share=true", f"extend list=v2 id={theirs}", f"extend inherit=none id={theirs}",
                                        f"release id={theirs}", "release list=v3", "release list=v2", "spawn target=THEIRS -- /usr/bin/true"]):
            words = words.replace("THEIRS", theirs).replace(" -- ", f" key={key} -- ")
            said = words if "key=" in words else f"{words} key={key}"
            assert me.ask(f"{key}{number}", said)[0] == NO_PERMISSIONS, said
            assert state(dvm) == before, said
        me.ask(f"{key}-warns", "warn", f"id={theirs}", "left=3", f"key={key}")
    me.ask("without", "warn", f"id={theirs}", "left=3")
    wait_until(lambda: "is not passed on" in dvm.log_text(), what="the head has dropped it")
    assert them.ask("mine", "extend", "inherit=none", f"id={theirs}")[0] == SUCCESS
    assert not them.events()


def test_a_dvm_without_a_key_has_no_scheduler(elastic, tool):
    dvm = elastic(nodes=2, pool=1)
    me = tool(dvm, "v1")
    before = state(dvm)
    for number, key in enumerate([KEY, "x"]):
        assert me.ask(f"r{number}", "new", "nodes=1", f"key={key}")[0] == NO_PERMISSIONS
    assert state(dvm) == before


def test_a_key_that_proves_nothing_is_no_start(make_dvm, tmp_path):
    short, shown, none = tmp_path / "short", tmp_path / "shown", tmp_path / "none"
    for path, text, mode in ((short, "fifteen bytes..\n", 0o600), (shown, KEY, 0o644)):
        path.touch(mode=0o600)
        path.write_text(text)
        path.chmod(mode)
    for path, words in ((short, "has no key"), (shown, "may be read or written by others"), (none, "can.t be read"), (tmp_path, "others")):
        with pytest.raises(AssertionError, match=words):
            make_dvm(nodes=1, prtemca={"tide_scheduler_key_file": path})


# ---- what it may do ----

# row:R21 row:R2 row:R18
@pytest.mark.parametrize("at", ["head", "v2"])
def test_it_pushes_nodes(scheduled, tool, ranks, at):
    dvm = scheduled(nodes=2, pool=3)
    scheduler, (job,) = tool(dvm, at), ranks(dvm, 1, "--host", "v1")
    status, facts = scheduler.ask("push", "new", "nodes=1", f"key={KEY}")
    assert status == SUCCESS and facts["id"]
    wait_until(scheduler.events, what="v3 is there")
    assert sessions(dvm) == {"v1": None, "v2": None, "v3": None} and allocation(dvm, facts["id"]) is None, "no reservation"
    given = reserve(scheduler, "nodes=1", f"target={job.nspace}", f"key={KEY}", name="given")
    assert sessions(dvm)["v4"] == given and allocation(dvm, given)["owner"] == job.nspace
    own = reserve(scheduler, "nodes=1", name="own")
    assert allocation(dvm, own)["owner"] == scheduler.nspace, "without the key it asks as any tool does"
    job.order("quit")


# row:R8 row:R20 row:R11 row:R14
@pytest.mark.parametrize("at", ["head", "v2"])
def test_it_owns_every_session(scheduled, tool, ranks, at):
    dvm = scheduled(nodes=4, pool=1, slots=2, tide_kill_grace="200ms")
    scheduler, (owner,), jobs = tool(dvm, at), ranks(dvm, 1, "--host", "v1"), Jobs(dvm)
    theirs = reserve(owner, "list=v3,v5")
    job = jobs.spawn(scheduler, "aimed", f"target={theirs}", f"key={KEY}", "nohup=true", n=2)
    assert jobs.nodes(job) == ["v3", "v5"]
    assert scheduler.ask("more", "extend", "list=v4", "inherit=child", f"id={theirs}", f"key={KEY}")[0] == SUCCESS
    assert sessions(dvm)["v4"] == theirs and allocation(dvm, theirs)["inheritance"] == "child"
    assert news(dvm, theirs) == ["made", "targeted", "extended"]
    assert scheduler.ask("reclaim", "release", f"id={theirs}", f"key={KEY}")[0] == SUCCESS
    wait_until(lambda: is_over(dvm, theirs), what="it is taken back")
    settled(dvm)
    assert sessions(dvm) == {"v1": None, "v2": None, "v3": None, "v4": None}
    assert jobs.exit_status(job) != 0
    assert not owner.events()[1:], "whoever owned it is told of what it asked for itself"
    assert scheduler.ask("default", "release", "list=v4", f"key={KEY}")[0] == SUCCESS
    wait_until(lambda: nodes(dvm) == ["v1", "v2", "v3"], what="it takes what is everybody's, too")
    owner.order("quit")


# row:R16 row:R18
@pytest.mark.parametrize("who, at", EVERYWHERE)
def test_its_warning_reaches_who_asked_for_it_alone(scheduled, asker, tool, ranks, who, at):
    dvm = scheduled(nodes=4, pool=0, slots=4)
    scheduler, same_node = tool(dvm, "v1"), tool(dvm, at)
    me, unwarned = asker(dvm, who, at), asker(dvm, who, at)
    child = spawn_asker(dvm, me, "child")
    mine, plain = reserve(me, "list=v3", "req=mine", "warn=5"), reserve(unwarned, "list=v4")
    before = state(dvm)
    for number, (name, key) in enumerate([(plain, KEY), ("a77", KEY), (mine, WRONG), (mine, KEY)]):
        assert scheduler.ask(f"w{number}", "warn", f"id={name}", "left=42", f"key={key}")[0] == SUCCESS
    wait_until(me.events, what="it is warned")
    assert state(dvm) == before, "a warning changes nothing"
    assert scheduler.ask("again", "warn", f"id={mine}", "left=7", f"key={KEY}")[0] == SUCCESS
    wait_until(lambda: len(me.events()) == 2, what="it is warned again")
    assert me.events() == [(WARNING, {"id": mine, "req": "mine", "left": left}) for left in ("42", "7")]
    for one in (unwarned, child, same_node):
        one.end() if one.process else one.order("quit")
        assert not one.events()


# row:R16
def test_it_is_the_process_of_the_last_word_that_is_warned(scheduled, tool):
    dvm = scheduled(nodes=3, pool=0, slots=3)
    scheduler, me = tool(dvm, "head"), tool(dvm, "v1")
    mine = reserve(me, "list=v3", "req=mine", "warn=5")
    child = spawn_asker(dvm, me, "child", f"target={mine}")
    assert child.ask("tell", "extend", "warn=9", f"id={mine}", "req=ours")[0] == SUCCESS
    scheduler.ask("warns", "warn", f"id={mine}", "left=3", f"key={KEY}")
    wait_until(child.events, what="it is warned")
    assert child.events() == [(WARNING, {"id": mine, "req": "ours", "left": "3"})]
    child.order("quit")
    wait_until(lambda: allocation(dvm, mine)["derived"] == [], what="it has ended")
    scheduler.ask("late", "warn", f"id={mine}", "left=2", f"key={KEY}")
    wait_until(lambda: "nobody has asked for it" in dvm.log_text(), what="there is nobody to warn")
    assert WARNING not in [code for code, _ in me.events()]


# row:R16
@pytest.mark.parametrize("at", ["head", "v2"])
def test_an_extension_in_answer_to_its_warning(scheduled, tool, at):
    dvm = scheduled(nodes=2, pool=1)
    scheduler, me = tool(dvm, "v1"), tool(dvm, at)
    mine = reserve(me, "nodes=1", "time=600", "warn=5", "req=mine")
    before = lease_of(dvm, mine)
    me.order("answer onwarn extend time=600 warn=5")
    scheduler.ask("warns", "warn", f"id={mine}", "left=5", f"key={KEY}")
    assert me.heard("answer: ")[0] == f"answer: 0 id={mine} complete=1"
    assert lease_of(dvm, mine)["left_ms"] > before["left_ms"]
    assert sessions(dvm)["v3"] == mine and news(dvm, mine) == ["made", "extended"]


# ---- leases of the pool ----

def lease_of(dvm, name):
    return allocation(dvm, name)["lease"]


def until_after(dvm, age_ms):
    wait_until(lambda: dvm.status()["dvm"]["age_ms"] > age_ms, limit_s=20, what="the time has passed")


# row:R16 row:R11 row:R15
@pytest.mark.parametrize("who, at", EVERYWHERE)
def test_a_lease_of_the_pool_is_warned_of_and_ends(elastic, asker, tool, who, at):
    dvm = elastic(nodes=2, pool=1, slots=2)
    me, other = asker(dvm, who, at), tool(dvm, at)
    mine = reserve(me, "nodes=1", "time=3", "warn=2", "req=mine")
    wait_until(lambda: len(me.events()) == 2, what="it is warned")
    code, facts = me.events()[1]
    assert (code, facts) == (WARNING, {"id": mine, "req": "mine", "left": "2"})
    assert sessions(dvm) == {"v1": None, "v2": None, "v3": mine}, "it changes nothing by itself"
    wait_until(lambda: is_over(dvm, mine), what="its time is over")
    settled(dvm)
    assert sessions(dvm) == {"v1": None, "v2": None}
    assert me.ask("late", "extend", "time=60", f"id={mine}")[0] != SUCCESS
    assert len(me.events()) == 2 and not other.events()
    assert kinds(dvm, "lease") == ["lease-warning", "lease-ended"] and news(dvm, mine) == ["made", "ended"]


# row:R16
@pytest.mark.parametrize("who, at", EVERYWHERE)
def test_an_extension_in_the_handler_keeps_the_nodes(elastic, asker, who, at):
    dvm = elastic(nodes=2, pool=1, slots=2)
    me, jobs = asker(dvm, who, at), Jobs(dvm)
    begun = dvm.status()["dvm"]["age_ms"]
    me.order("answer onwarn extend time=60")
    mine = reserve(me, "nodes=1", "time=3", "warn=2")
    job = jobs.spawn(me, "job", f"target={mine}")
    assert me.heard("answer: ")[0] == f"answer: 0 id={mine} complete=1"
    until_after(dvm, begun + 3500)
    assert sessions(dvm)["v3"] == mine and jobs.nodes(job) == ["v3"] and not dvm.status()["campaigns"]
    assert lease_of(dvm, mine)["left_ms"] > 50_000
    jobs.end(job)


# row:R16
def test_an_extension_may_ask_for_another_warning(elastic, tool):
    dvm = elastic(nodes=1, pool=1)
    me = tool(dvm, "v1")
    me.order("answer onwarn extend time=2 warn=2")
    mine = reserve(me, "nodes=1", "time=3", "warn=2")
    wait_until(lambda: is_over(dvm, mine), limit_s=20, what="it ends, because the second warning is not answered")
    assert [code for code, _ in me.events()][1:] == [WARNING, WARNING]
    assert kinds(dvm, "lease") == ["lease-warning", "lease-extended", "lease-warning", "lease-ended"]


# row:R16
def test_who_has_not_asked_for_it_is_not_warned(elastic, tool):
    """The pool warns whoever watches, a second before the end."""
    dvm = elastic(nodes=1, pool=1, up_options=["--pool-warn", "1s"])
    me = tool(dvm, "v1")
    mine = reserve(me, "nodes=1", "time=2")
    wait_until(lambda: is_over(dvm, mine), limit_s=20, what="its time is over")
    assert len(me.events()) == 1 and "lease-ended" in kinds(dvm)


# ---- who gets nodes back ----

# row:R22 row:C6
def test_each_manager_gets_back_what_it_granted(two_managers, tool):  # noqa: F811
    """Both fail when they are asked to take nodes back, which is told."""
    dvm = two_managers("action.return_nodes:fail")
    done(dvm, "shrink", "--host", "beta,gamma")
    before = len(returned(dvm))
    me = tool(dvm, "head")
    mine = reserve(me, "list=gamma", name="gamma")
    assert me.ask("over", "release", f"id={mine}")[0] == SUCCESS
    wait_until(lambda: is_over(dvm, mine), what="gamma has left")
    settled(dvm)
    assert returned(dvm)[before:] == ["resource manager hosts has not taken back gamma: failed"], "once, and nobody else is asked"
    kept = reserve(me, "list=gamma", name="kept")
    me.end()
    wait_until(lambda: is_over(dvm, kept), what="its owner has ended")
    assert sessions(dvm) == {"alpha": None, "gamma": None}
    assert len(returned(dvm)) == before + 1, "nobody is asked for what only becomes everybody's"
    done(dvm, "shrink", "--host", "gamma")
    assert returned(dvm)[before + 1:] == ["resource manager hosts has not taken back gamma: failed"]


def returned(dvm):
    return [detail for kind, detail in events(dvm) if kind == "return-failed"]
