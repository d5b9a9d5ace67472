"""A DVM over ssh grows: by hosts, out of a pool, for jobs; along the tree, and from the head alone. And what becomes of a
grow with hosts that are wrong: undone and told when nothing is left of it, with the reason of each."""

import re
import time

import pytest

from asking import FAILED, FAILED_TO_LAUNCH, SUCCESS
from dvm import BIN
from growing import (DONE, UNDONE, begin, done, ended, in_phase, kinds, nodes, parked, phases, ran_on, release,
                     submit_parked, tide)
from load import check_tree
from machines import WRONG_PRTED, write_program
from swarm_dvm import FAST, MARGIN_S, SILENCE_S, everywhere, spoil
from swarm_growing import TURNED_AWAY_S, ask_as_a_tool, assert_has, left_on

WAYS = {"tree": {}, "flat": {"plm_ssh_no_tree_spawn": 1}}
AGENT = "/tmp/tide-agent"  # on each node, which may have another one, or none
TOLD_WITHIN_S = 12
# How a host is wrong, and what is said of it.
SAID = {"unknown": "no machine of the name {} is known", "refused": "{} is there and takes no connection|{}.*refused",
        "silent": r"no answer from {} within \d+ s", "frozen": r"no answer from {} within \d+ s",
        "no-program": "{} has no ", "version": "prted on {} is of version 7.0, this is version "}
FOUND_OUT_THERE = ("no-program", "version")  # by a session, so it takes no special node


@pytest.fixture
def agents(bed):
    """A launch agent of its own on each node, and a function (node, how) that makes one wrong or right."""
    good = f'exec {BIN / "prted"} "$@"'

    def be(name, how=None):
        path = bed.disk(name) / AGENT.rpartition("/")[2]
        path.unlink(missing_ok=True)
        if how != "no-program":
            write_program(path, WRONG_PRTED["version"][0] if how == "version" else good)

    for name in bed.names():
        be(name)
    yield be
    for name in bed.names():
        be(name, "no-program")


# ---- every way to grow ----

# row:E4 row:E17 row:S9
@pytest.mark.limit(120)
@pytest.mark.parametrize("way", WAYS)
def test_a_dvm_grows_over_ssh_in_every_way(make_elastic, way):
    """From two nodes by eight: in a tree of radix 2 four of them are started by the head and four by these."""
    dvm = make_elastic(2, pool=9, seen=16, prtemca={"rml_radix": 2, "plm_base_verbose": 1, **WAYS[way]})
    said = done(dvm, "grow", "--count", 8)
    assert said.stdout.count("has reported") + said.stderr.count("has reported") == 8, said.stdout + said.stderr
    directly = 4 if way == "tree" else 8
    assert f"starting 8 daemons, {directly} of them directly" in dvm.log_text("head")
    assert_has(dvm, dvm.bed.names(10))
    done(dvm, "grow", "--host", "node12,node13:2")
    for number, option in ((14, ["--add-host", "node14"]), (15, ["--add-hostfile", dvm.file("more", ["node15"])]),
                           (11, ["--activate", "+n1"])):
        ran = dvm.tool("prun", *option, "-n", 1, "--host", f"node{number}", "hostname")
        assert (ran.returncode, ran.stdout) == (0, f"node{number}\n"), ran.stderr
    assert_has(dvm, dvm.bed.names(15))
    check_tree(dvm.status(), 2)
    slots = {node["name"]: node["slots"] for node in dvm.status()["nodes"]}
    assert slots["node13"] == 2 and slots["node15"] == 4


# ---- hosts that are wrong ----

def undone(dvm, hosts, wrong):
    """A grow by these hosts, of which `wrong` ({name: how}) are so: told in time and with every reason, when nothing is
    left of it. Who is there afterwards are those who were there before."""
    before = dvm.daemon_pids()
    good = [host for host in hosts if host not in wrong]
    began = time.monotonic()
    said = tide(dvm, "grow", "--host", ",".join(hosts), "--wait")
    left, seconds = left_on(dvm, good, TURNED_AWAY_S), time.monotonic() - began
    assert said.returncode == UNDONE, said.stdout + said.stderr
    assert not left, f"told, and still there: {left}"
    assert seconds < TOLD_WITHIN_S, f"{seconds:.1f} s: {said.stderr}"
    for host, how in wrong.items():
        assert re.search(SAID[how].replace("{}", re.escape(host)), said.stderr), f"{host}, {how}: {said.stderr}"
    assert not [host for host in good if re.search(rf"node {host} could not", said.stderr)], said.stderr
    assert dvm.daemon_pids() == before and not dvm.status()["campaigns"]
    return said


# row:E5 row:S8 row:S9 row:C3
@pytest.mark.limit(120)
@pytest.mark.parametrize("way, kinds_of_wrong", [("tree", list(SAID)), ("flat", ["refused", "frozen"])], ids=WAYS)
def test_a_grow_with_a_wrong_host_is_undone_and_the_good_ones_come_at_once(bed, make_elastic, agents, way, kinds_of_wrong):
    """One kind after the other, in turn where it would have started others and where it is the last."""
    dvm = make_elastic(2, seen=12, prtemca={"rml_radix": 2, **WAYS[way]}, up_options=["--launch-agent", AGENT])
    good = bed.names(9)[2:]
    for number, how in enumerate(kinds_of_wrong):
        if how in FOUND_OUT_THERE:
            bad = f"node{10 + number % 2}"
            agents(bad, how)
        else:
            bad = spoil(bed, f"node{10 + number % 2}", how)
        hosts = [bad, *good] if number % 2 else [*good, bad]
        undone(dvm, hosts, {bad: how})
        done(dvm, "grow", "--host", ",".join(good))
        assert_has(dvm, [*dvm.first, *good])
        done(dvm, "shrink", "--host", ",".join(good))
        bed.mend()
        agents(f"node{10 + number % 2}")
    told = kinds(dvm, "grow-")
    assert told.count("grow-failed") == told.count("grow-done") == len(kinds_of_wrong), told
    everywhere(dvm, dvm.first)


# row:E5 row:E6 row:C3
@pytest.mark.limit(120)
def test_every_wrong_host_is_named_with_its_reason(bed, make_elastic, agents):
    """For a command, a program and a job alike. From the head: in a tree nobody tries those below one that failed."""
    dvm = make_elastic(2, seen=12, prtemca={"rml_radix": 2, "plm_ssh_no_tree_spawn": 1}, up_options=["--launch-agent", AGENT])
    wrong = {"nowhere": "unknown", "node5": "refused", "node6": "silent", "node7": "no-program", "node8": "version"}
    spoil(bed, "node5", "refused")
    spoil(bed, "node6", "silent")
    agents("node7", "no-program")
    agents("node8", "version")
    hosts = ["node3", "nowhere", "node5", "node4", "node6", "node7", "node8", "node9"]
    said = undone(dvm, hosts, wrong)
    assert "5 of 8 nodes failed" in said.stderr, said.stderr
    asker = ask_as_a_tool(dvm)
    assert asker.ask("more", "new", "list=node3,node5,node7", "req=mine")[0] == SUCCESS
    code, facts = asker.event()
    assert not left_on(dvm, ["node3"], TURNED_AWAY_S), "told, and still there"
    assert (code, facts["cause"]) == (FAILED, FAILED_TO_LAUNCH)
    asker.end()
    ran = dvm.tool("prun", "--add-host", "node3,node5", "true")
    assert not left_on(dvm, ["node3"], TURNED_AWAY_S), "told, and still there"
    assert ran.returncode != DONE and re.search(SAID["refused"].replace("{}", "node5"), ran.stderr), ran.stderr
    done(dvm, "grow", "--host", "node3,node4,node9")
    assert_has(dvm, [*dvm.first, "node3", "node4", "node9"])


# row:E5 row:C3
@pytest.mark.limit(120)
def test_a_daemon_that_is_lost_before_all_know_it_undoes_the_grow(bed, make_elastic):
    """It hears nothing, so the grow stays open until its machine crashes; then nothing is left on the others."""
    dvm = make_elastic(2, seen=8, prtemca={"rml_radix": 2, **FAST, "tide_failpoint": "event.message_in/node5:hold"})
    for _ in range(2):
        growing = dvm.start("tide", "grow", "--host", "node3,node4,node5,node6", "--wait", "--json")
        in_phase(dvm, "wiring")
        bed.crash("node5")
        said = dvm.finish(growing)
        assert not left_on(dvm, ["node3", "node4", "node6"]), "told, and still there"
        assert said.returncode == UNDONE and '"lost"' in said.stdout, said.stdout + said.stderr
        assert nodes(dvm) == dvm.first
        bed.boot("node5")
    done(dvm, "grow", "--host", "node3,node4,node6")
    assert_has(dvm, [*dvm.first, "node3", "node4", "node6"])


# row:E7 row:E5
@pytest.mark.limit(120)
def test_of_two_grows_only_the_one_whose_machine_crashes_is_undone(bed, make_elastic):
    """node5 hears nothing; as long as it is a member those of the other grow are not wired either."""
    dvm = make_elastic(4, seen=8, prtemca={"rml_radix": 2, **FAST, "tide_failpoint": "event.message_in/node5:hold"})
    before = dvm.daemon_pids()
    bad = begin(dvm, "grow", "--host", "node5,node6")
    in_phase(dvm, "wiring")
    good = begin(dvm, "grow", "--host", "node7,node8")
    in_phase(dvm, "wiring", "wiring")
    bed.crash("node5")
    assert "node5" in ended(dvm, bad, UNDONE).stderr
    assert not left_on(dvm, ["node6"]), "told, and still there"
    ended(dvm, good)
    after = dvm.daemon_pids()
    assert {node: after[node] for node in before} == before
    assert_has(dvm, [*dvm.first, "node7", "node8"])
    assert sorted(kinds(dvm, "grow-")) == ["grow-begun", "grow-begun", "grow-done", "grow-failed"]


# row:E8
@pytest.mark.limit(120)
@pytest.mark.parametrize("lost", ["node4", "node2"], ids=["leaf", "relay"])
def test_a_machine_of_no_grow_that_crashes_stops_none(bed, make_elastic, lost):
    """One that has nothing to do with the newcomers, and the one that they are to hang on. A job waits all the while."""
    dvm = make_elastic(4, seen=6, prtemca={"rml_radix": 2, **FAST, "tide_failpoint": "action.launch_daemons/head@2:hold"})
    growing = begin(dvm, "grow", "--host", "node5,node6")
    in_phase(dvm, "starting")
    job = submit_parked(dvm, 1, "--host", "node3")
    bed.crash(lost)
    left = [name for name in dvm.first if name != lost] + ["node5", "node6"]
    dvm.wait_for_nodes(left, limit_s=SILENCE_S + MARGIN_S)
    assert parked(dvm) == [1] and list(phases(dvm).values()) == ["starting"]
    release(dvm, "action.launch_daemons")
    ended(dvm, growing)
    assert ran_on(dvm, job) == ["node3"]
    assert_has(dvm, left)
