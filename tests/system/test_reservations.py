"""Reservations as they are asked for: where nodes go, who may extend and release what, and refusals that leave no trace."""

import pytest

from asking import BAD_PARAM, NO_PERMISSIONS, NOT_FOUND, NOT_SUPPORTED, SUCCESS
from dvm import wait_until
from growing import done, nodes, settled, tide, where
from reserving import allocation, free_all, is_over, news, reserve, sessions, state

WHERE = {"tool": ["head", "v2"], "process": ["v1", "v2"]}  # the head hosts no process
EVERYWHERE = [(who, at) for who, places in WHERE.items() for at in places]


# ---- the decision table ----

# what it says of target and share: (who owns it, whether it is reserved), or how it is refused
DESTINATIONS = [
    ("tool", "target", None, "target", True),
    ("tool", None, None, "own", True),
    ("tool", None, "false", "own", True),
    ("tool", None, "true", "own", False),
    ("tool", "target", "false", "target", True),
    ("tool", "target", "true", "target", False),
    ("process", None, None, "own", True),
    ("process", None, "false", "own", True),
    ("process", None, "true", "own", False),
    ("process", "target", None, NO_PERMISSIONS, None),
    ("process", "target", "false", NO_PERMISSIONS, None),
    ("process", "target", "true", NO_PERMISSIONS, None),
]


# row:R2 row:R5 row:R7 row:R10
@pytest.mark.parametrize("who, at", EVERYWHERE)
def test_nodes_go_where_the_table_says(elastic, asker, ranks, who, at):
    dvm = elastic(nodes=2, pool=1, slots=2)
    (target,) = ranks(dvm, 1, "--host", "v1")
    one = asker(dvm, who, at)
    owners = {"own": one.nspace, "target": target.nspace}
    rows = [row[1:] for row in DESTINATIONS if row[0] == who]
    for number, (named, share, owner, reserved) in enumerate(rows):
        words = ["nodes=1", f"req=r{number}", *([f"target={target.nspace}"] if named else []), *([f"share={share}"] if share else [])]
        before = state(dvm)
        status, facts = one.ask(f"r{number}", "new", *words)
        if owner not in owners:
            assert (status, facts) == (owner, {}), words
            assert state(dvm) == before, words
            continue
        assert status == SUCCESS and (facts["req"], facts["complete"]) == (f"r{number}", "0") and facts["id"], (words, status)
        wait_until(lambda: [facts for _, facts in one.events() if facts["req"] == f"r{number}"], what="v3 is there")
        shown = allocation(dvm, facts["id"])
        assert (shown["owner"], shown["owners"], shown["reserved"]) == (owners[owner], [owners[owner]] if reserved else [], reserved), words
        assert sessions(dvm) == {"v1": None, "v2": None, "v3": facts["id"] if reserved else None}, words
        free_all(dvm)
    assert len(one.events()) == len([row for row in rows if row[2] in owners])


# row:R3
def test_each_new_is_a_reservation_of_its_own(make_dvm, tool):
    dvm = make_dvm(nodes=3, slots=1)
    asker = tool(dvm, "v1")
    first, second = reserve(asker, "list=v1", "req=same", name="r1"), reserve(asker, "list=v3", "req=same", name="r2")
    assert first != second
    assert sessions(dvm) == {"v1": first, "v2": None, "v3": second}
    assert {allocation(dvm, one)["owner"] for one in (first, second)} == {asker.nspace}
    assert asker.ask("less", "release", f"id={first}")[0] == SUCCESS
    assert sessions(dvm) == {"v1": None, "v2": None, "v3": second}


# ---- the error table ----

BOTH, TOOL, PROCESS = ("tool", "process"), ("tool",), ("process",)
# who asks, what, and how it is refused; MINE and THEIRS are reservations of v4 and v3, and the namespaces that own them ME and THEM
REFUSALS = [
    # the seven rows of the table
    (PROCESS, "new list=v2 target=ME", NO_PERMISSIONS),
    (PROCESS, "new nodes=1 target=ME share=true", NO_PERMISSIONS),
    (PROCESS, "new list=v2 target=nobody", NO_PERMISSIONS),
    (PROCESS, "extend nodes=1 id=MINE target=ME", NO_PERMISSIONS),
    (PROCESS, "extend nodes=1 id=THEIRS target=THEM", NO_PERMISSIONS),
    (BOTH, "extend list=v2 id=THEIRS", NO_PERMISSIONS),
    (BOTH, "extend nodes=1 id=THEIRS", NO_PERMISSIONS),
    (BOTH, "extend time=60 id=THEIRS", NO_PERMISSIONS),
    (BOTH, "extend inherit=none id=THEIRS", NO_PERMISSIONS),
    (BOTH, "extend warn=1 id=THEIRS req=mine", NO_PERMISSIONS),  # the id says which
    (TOOL, "extend nodes=1 id=MINE target=THEM", NO_PERMISSIONS),  # judged as theirs
    (BOTH, "extend nodes=1 id=a77", NOT_FOUND),
    (BOTH, "extend nodes=1 req=theirs", NOT_FOUND),  # what others call so is nothing of mine
    (BOTH, "extend nodes=1 id=a77 req=mine", NOT_FOUND),
    (BOTH, "extend nodes=1", BAD_PARAM),
    (BOTH, "extend inherit=none", BAD_PARAM),
    (BOTH, "spawn target=a77", NOT_FOUND),
    (BOTH, "spawn target=MINE,a77", NOT_FOUND),
    (BOTH, "spawn target=default,a77", NOT_FOUND),
    (BOTH, "spawn target=THEIRS", NO_PERMISSIONS),
    (BOTH, "spawn target=MINE,THEIRS", NO_PERMISSIONS),
    (BOTH, "spawn target=THEIRS,default", NO_PERMISSIONS),
    (BOTH, "new list=v2 inherit=5", NOT_SUPPORTED),
    (BOTH, "new list=v2 inherit=0", NOT_SUPPORTED),
    (BOTH, "new nodes=1 inherit=255 share=true", NOT_SUPPORTED),
    (BOTH, "new list=v2 inherit.text=none", NOT_SUPPORTED),
    (BOTH, "new list=v2 inherit.u32=2", NOT_SUPPORTED),
    (BOTH, "extend list=v2 id=MINE inherit.u32=2", NOT_SUPPORTED),
    (BOTH, "extend list=v2 id=MINE inherit=77", NOT_SUPPORTED),
    (BOTH, "extend inherit=5 id=MINE", NOT_SUPPORTED),
    # what the table says nothing of
    (TOOL, "new list=v2 target=nobody", NOT_FOUND),
    (BOTH, "new list=v3", NO_PERMISSIONS),
    (BOTH, "new list=v2,v3", NO_PERMISSIONS),
    (BOTH, "extend list=v3 id=MINE", NO_PERMISSIONS),
    (BOTH, "extend nodes=1 time=60 id=MINE", BAD_PARAM),
    (BOTH, "extend id=MINE", BAD_PARAM),
    (BOTH, "release id=a77", NOT_FOUND),
    (BOTH, "release req=theirs", NOT_FOUND),
    (BOTH, "release list=v9", NOT_FOUND),
    (BOTH, "release id=THEIRS", NO_PERMISSIONS),
    (BOTH, "release id=THEIRS inherit=77", NO_PERMISSIONS),
    (BOTH, "release list=v3", NO_PERMISSIONS),
    (BOTH, "release list=v2,v3", NO_PERMISSIONS),
    (PROCESS, "release list=v2", NO_PERMISSIONS),  # of the default session
    (PROCESS, "release nodes=1", NO_PERMISSIONS),
    (BOTH, "release", BAD_PARAM),
    (BOTH, "4 id=MINE", NOT_SUPPORTED),
    (BOTH, "4 id=MINE inherit=77", NOT_SUPPORTED),
    (BOTH, "release id=MINE key=thought-to-be-the-scheduler", NO_PERMISSIONS),
    (BOTH, "spawn target=MINE key=thought-to-be-the-scheduler", NO_PERMISSIONS),
]


# row:R10 row:R9 row:R20 row:R4 row:R8 row:R13
@pytest.mark.parametrize("who, at", EVERYWHERE)
def test_what_is_refused_leaves_no_trace(elastic, asker, tool, who, at):
    dvm = elastic(nodes=4, pool=1, slots=2)
    me, them = asker(dvm, who, at), tool(dvm, "v1")
    words = {"ME": me.nspace, "THEM": them.nspace, "MINE": reserve(me, "list=v4", "req=mine"),
             "THEIRS": reserve(them, "list=v3", "req=theirs")}
    before = state(dvm)
    for number, (_, row, refusal) in enumerate([row for row in REFUSALS if who in row[0]]):
        said = " ".join(f"{key}={','.join(words.get(one, one) for one in value.split(','))}" if eq else key
                        for key, eq, value in (word.partition("=") for word in row.split()))
        status, facts = me.ask(f"r{number}", said + (" -- /usr/bin/true" if said.startswith("spawn") else ""))
        assert (status, facts.get("id"), facts.get("nspace")) == (refusal, None, None), row
        assert state(dvm) == before, row
    assert not me.events() and not them.events()
    assert me.ask("last", "release", f"id={words['MINE']}")[0] == SUCCESS, "what is right is granted as ever"


# ---- extended ----

# row:R4 row:R5 row:R13
@pytest.mark.parametrize("who, at", EVERYWHERE)
def test_it_is_extended_by_either_name(elastic, asker, who, at):
    dvm = elastic(nodes=4, pool=1, slots=2)
    me = asker(dvm, who, at)
    first, second = reserve(me, "list=v4", "req=first", name="r1"), reserve(me, "list=v3", "req=second", name="r2")
    # by its own name
    assert me.ask("e1", "extend", "list=v2", "req=first")[1] == {"id": first, "req": "first", "complete": "1"}
    assert sessions(dvm) == {"v1": None, "v2": first, "v3": second, "v4": first}
    # by both, of which the id says which it is, and the other one is the name of this request
    status, facts = me.ask("e2", "extend", "nodes=1", f"id={second}", "req=first")
    assert (status, facts) == (SUCCESS, {"id": second, "req": "first", "complete": "0"})
    wait_until(me.events, what="v5 is there")
    assert me.events() == [("PMIX_DVM_IS_READY", {"id": second, "req": "first"})]
    assert sessions(dvm) == {"v1": None, "v2": first, "v3": second, "v4": first, "v5": second}
    # by its terms alone, which stay what they are where nothing is said
    unsaid = allocation(dvm, first)["inheritance"]
    assert allocation(dvm, second)["inheritance"] == unsaid
    assert me.ask("e3", "extend", "inherit=child", f"id={second}")[1]["complete"] == "1"
    assert me.ask("e4", "extend", "warn=5", f"id={second}")[1]["complete"] == "1"
    assert (allocation(dvm, first)["inheritance"], allocation(dvm, second)["inheritance"]) == (unsaid, "child")
    assert news(dvm, second) == ["made", "extended", "extended", "extended"]
    assert news(dvm, first) == ["made", "extended"]


# row:R4
@pytest.mark.parametrize("at", WHERE["tool"])
def test_a_tool_extends_as_whom_it_says(elastic, asker, tool, at):
    dvm = elastic(nodes=4, pool=1, slots=2)
    job, me = asker(dvm, "process", "v1"), tool(dvm, at)
    theirs = reserve(me, "list=v3", f"target={job.nspace}", "req=mine")
    assert me.ask("e1", "extend", "list=v4", f"id={theirs}")[0] == NO_PERMISSIONS, "it is not the owner"
    assert me.ask("e2", "extend", "list=v4", f"id={theirs}", f"target={job.nspace}")[0] == SUCCESS
    assert me.ask("e3", "extend", "list=v2", "req=mine", f"target={job.nspace}")[0] == SUCCESS, "it knows its own name for it"
    assert sessions(dvm) == {"v1": None, "v2": theirs, "v3": theirs, "v4": theirs}
    assert job.ask("less", "release", f"id={theirs}")[0] == SUCCESS
    assert is_over(dvm, theirs)


# row:R13
def test_an_extension_that_fails_changes_no_terms(elastic, tool):
    dvm = elastic(nodes=2, pool=1, failpoint="action.launch_daemons@2:fail")
    me = tool(dvm, "v1")
    mine = reserve(me, "list=v2", "inherit=child")
    before = allocation(dvm, mine)
    assert me.ask("more", "extend", "nodes=1", "inherit=none", f"id={mine}")[0] == SUCCESS
    wait_until(me.events, what="the grow has failed")
    settled(dvm)
    after = allocation(dvm, mine)
    assert (after["inheritance"], after["nodes"], after["reserves"]) == ("child", before["nodes"], before["reserves"])


# ---- given back ----

# row:R13 row:R11 row:R15
@pytest.mark.parametrize("inheritance", ["none", "77"])
@pytest.mark.parametrize("who, at", [("tool", "head"), ("process", "v2")])
def test_what_a_release_says_of_inheritance_does_not_matter(elastic, asker, who, at, inheritance):
    dvm = elastic(nodes=3, pool=0, slots=2)
    me = asker(dvm, who, at)
    mine = reserve(me, "list=v3", "req=mine")
    assert me.ask("none", "cancel", "req=none", f"inherit={inheritance}")[0] == NOT_FOUND
    assert me.ask("less", "release", f"id={mine}", f"inherit={inheritance}")[1]["complete"] == "1"
    assert sessions(dvm) == {"v1": None, "v2": None, "v3": None}
    for number, words in enumerate(["extend list=v3 id=MINE", "release id=MINE", "spawn target=MINE -- /usr/bin/true"]):
        assert me.ask(f"late{number}", words.replace("MINE", mine))[0] == NOT_FOUND, "its id means nothing any more"
    assert news(dvm, mine) == ["made", "ended"]


# row:R15 row:R11 row:C5
@pytest.mark.parametrize("who, at", EVERYWHERE)
def test_nodes_go_back_to_where_they_came_from(elastic, asker, who, at):
    dvm = elastic(nodes=3, pool=2, slots=2)
    me = asker(dvm, who, at)
    mine = reserve(me, "list=v3,v4", "req=mine")
    assert sessions(dvm) == {"v1": None, "v2": None, "v3": mine, "v4": mine}
    assert me.ask("some", "release", "list=v3")[1]["complete"] == "1", "it is everybody's again"
    assert sessions(dvm) == {"v1": None, "v2": None, "v3": None, "v4": mine}
    assert me.ask("all", "release", "req=mine")[1]["complete"] == "0"
    wait_until(lambda: len(me.events()) == 2, what="v4 has left")
    settled(dvm)
    assert sessions(dvm) == {"v1": None, "v2": None, "v3": None}
    assert news(dvm, mine) == ["made", "ended"]
    done(dvm, "grow", "--count", "2")
    assert nodes(dvm) == ["v1", "v2", "v3", "v4", "v5"], "the pool has got it back"


# row:R20
@pytest.mark.parametrize("at", WHERE["tool"])
def test_any_tool_releases_what_is_everybodys(elastic, tool, at):
    dvm = elastic(nodes=4, pool=0)
    me, other = tool(dvm, at), tool(dvm, "v1")
    mine = reserve(other, "list=v1")
    assert me.ask("named", "release", "list=v4")[0] == SUCCESS
    wait_until(lambda: len(me.events()) == 1, what="v4 has left")
    assert me.ask("counted", "release", "nodes=1")[0] == SUCCESS
    wait_until(lambda: len(me.events()) == 2, what="another one has left")
    settled(dvm)
    assert "v1" in nodes(dvm) and len(nodes(dvm)) == 2 and sessions(dvm)["v1"] == mine


# ---- nobody's wish ----

# row:R21 row:R1
def test_what_nobody_has_reserved_is_everybodys(elastic):
    dvm = elastic(nodes=1, pool=3)
    assert tide(dvm, "pool", "push", "--count", "1").returncode == 0
    wait_until(lambda: nodes(dvm) == ["v1", "v2"], what="v2 was pushed")
    settled(dvm)
    assert dvm.run("-n", "1", "--add-host", "v3", "true").returncode == 0
    hostfile = dvm.tmpdir / "more"
    hostfile.write_text("v4\n")
    assert dvm.run("-n", "1", "--add-hostfile", hostfile, "true").returncode == 0
    assert sessions(dvm) == {"v1": None, "v2": None, "v3": None, "v4": None}
    assert where(dvm, 4) == ["v1", "v2", "v3", "v4"]
    assert not [one for one in dvm.status()["allocations"] if one["reserved"] or one["owner"]]
