"""Heads and daemons that are built for a PMIx which lacks attributes of reservations: each of them, and all."""

import pytest

from asking import BAD_PARAM, NO_PERMISSIONS, NOT_FOUND, NOT_SUPPORTED, SUCCESS, WARNING
from dvm import BIN, DvmByPrte, wait_until
from growing import nodes, settled
from reserving import Jobs, allocation, is_over, reserve, sessions, state

KEYS = ["ALLOC_TARGET", "ALLOC_SHARE", "ALLOC_INHERITANCE", "ALLOC_WARN_TIMEOUT", "SPAWN_TARGET"]


class KeylessDvm(DvmByPrte):
    def __init__(self, without):
        super().__init__(nodes=3)
        folder = "keyless" if without == "all" else f"keyless-{without}"
        self.program = BIN.parent / "tests" / folder / "prte"
        self._up_argv = ["--daemonize", "--slots", "3", "--elastic", "--pool", "2", *self._up_argv[1:]]


@pytest.fixture(params=["all", *KEYS])
def keyless(request):
    """A running DVM, and whether it lacks a key."""
    with KeylessDvm(request.param) as dvm:
        yield dvm, lambda key: request.param in ("all", key)


# row:R17 row:R10
@pytest.mark.parametrize("at", ["head", "v2"])
def test_what_is_lacking_is_as_it_is_said_and_all_else_holds(keyless, tool, ranks, at):
    dvm, lacks = keyless
    me, other, (job,), jobs = tool(dvm, at), tool(dvm, "v1"), ranks(dvm, 1, "--host", "v1"), Jobs(dvm)
    theirs = reserve(other, "list=v3")

    # PMIX_ALLOC_TARGET
    made = reserve(me, "list=v2", f"target={job.nspace}", name="t1")
    assert allocation(dvm, made)["owner"] == (me.nspace if lacks("ALLOC_TARGET") else job.nspace)
    assert (me if lacks("ALLOC_TARGET") else job).ask("t2", "release", f"id={made}")[0] == SUCCESS
    assert job.ask("t3", "new", "list=v2", f"target={job.nspace}")[0] == (SUCCESS if lacks("ALLOC_TARGET") else NO_PERMISSIONS)
    job.ask("t4", "release", "list=v2")

    # PMIX_ALLOC_SHARE
    made = reserve(me, "list=v2", "share=true", name="s1")
    assert sessions(dvm)["v2"] == (made if lacks("ALLOC_SHARE") else None)
    if lacks("ALLOC_SHARE"):
        assert me.ask("s2", "release", f"id={made}")[0] == SUCCESS

    # PMIX_ALLOC_INHERITANCE
    before = state(dvm)
    for number, value in enumerate(["none", "child", "child_default", "5"]):
        if lacks("ALLOC_INHERITANCE") or value == "5":
            assert me.ask(f"i{number}", "new", "list=v2", f"inherit={value}")[0] == NOT_SUPPORTED, value
            assert me.ask(f"j{number}", "new", "list=v2", f"inherit.text={value}")[0] == NOT_SUPPORTED, value
            assert state(dvm) == before
        else:
            made = reserve(me, "list=v2", f"inherit={value}", name=f"i{number}")
            assert allocation(dvm, made)["inheritance"] == value.replace("_", "-")
            assert me.ask(f"k{number}", "release", f"id={made}")[0] == SUCCESS
            before = state(dvm)
    mine = reserve(me, "list=v2", "inherit=default", "req=mine", name="i9")

    # PMIX_SPAWN_TARGET
    job_there = jobs.spawn(me, "p1", f"target={mine}")
    assert jobs.nodes(job_there) == (["v1"] if lacks("SPAWN_TARGET") else ["v2"])
    jobs.end(job_there)
    status, facts = jobs.try_spawn(me, "p2", "target=a77")
    assert status == (SUCCESS if lacks("SPAWN_TARGET") else NOT_FOUND)
    if status == SUCCESS:
        jobs.end(facts["nspace"])

    # the rest of the table of refusals
    before = state(dvm)
    for number, (words, refusal) in enumerate([
            (f"extend list=v1 id={theirs}", NO_PERMISSIONS), ("extend list=v1 id=a77", NOT_FOUND), ("extend list=v1", BAD_PARAM),
            (f"release id={theirs}", NO_PERMISSIONS), ("release id=a77", NOT_FOUND), ("release", BAD_PARAM), ("new list=v3", NO_PERMISSIONS)]):
        assert me.ask(f"r{number}", words)[0] == refusal, words
        assert state(dvm) == before, words

    # what is not said is the default
    me.end()
    wait_until(lambda: is_over(dvm, mine), what="its owner has ended")
    assert sessions(dvm) == {"v1": None, "v2": None, "v3": theirs}
    job.order("quit")


# row:R17 row:R16
def test_a_time_ends_with_or_without_a_warning(keyless, tool):
    dvm, lacks = keyless
    me = tool(dvm, "v1")
    mine = reserve_anyhow(dvm, me, "nodes=1", "time=3", "warn=2")
    wait_until(lambda: is_over(dvm, mine), limit_s=20, what="its time is over")
    settled(dvm)
    assert nodes(dvm) == ["v1", "v2", "v3"]
    assert [code for code, _ in me.events()].count(WARNING) == (0 if lacks("ALLOC_WARN_TIMEOUT") else 1)


def reserve_anyhow(dvm, asker, *words):
    """Also where no event tells of the end."""
    status, facts = asker.ask("mine", "new", *words)
    assert status == SUCCESS
    settled(dvm)
    return facts["id"]
