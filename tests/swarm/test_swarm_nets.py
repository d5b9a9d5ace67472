"""Machines with two networks, of which one does not work."""

import re
import time

import pytest

from bed import Bed
from swarm_dvm import FAST, HEAD_NODE, SwarmDvm, everywhere

NODES = 4
DEAD_WAY_S = 5  # a start with a dead address among those to try takes at most so long


@pytest.fixture(scope="module")
def two_nets():
    with Bed(NODES, "--second-net") as bed:
        yield bed


@pytest.fixture
def bed(two_nets):
    yield two_nets
    two_nets.mend()
    two_nets.assert_nothing_left()


def by_second_net(bed):
    """A hostfile with which ssh takes the second network for all but the head's node."""
    return f"{HEAD_NODE} slots=4\n" + "".join(f"{name}-net2 slots=4\n" for name in bed.names()[1:])


def hostnames(dvm):
    done = dvm.tool("prun", "-n", NODES, "--map-by", "node", "hostname")
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.split())


def test_both_nets_work(make_dvm):
    dvm = make_dvm(NODES)
    everywhere(dvm, dvm.nodes)


@pytest.mark.parametrize("victim", ["node1", "node3"])
def test_a_dead_first_net_costs_a_short_time_only(bed, make_dvm, victim):
    """Its addresses are the first that daemons are told."""
    bed.cut(victim, net=1)
    began = time.monotonic()
    dvm = make_dvm(NODES, hostfile=by_second_net(bed), prtemca={"rml_radix": 2})
    assert time.monotonic() - began < DEAD_WAY_S
    assert hostnames(dvm) == bed.names()


@pytest.mark.parametrize("parameters", [{"prte_if_include": "eth1"}, {"prte_if_include": "10.78.0.0/16"},
                                        {"prte_if_exclude": "eth0"}], ids=lambda one: "-".join(one.values()))
def test_the_net_can_be_chosen(bed, make_dvm, parameters):
    dvm = make_dvm(NODES, prtemca=parameters)
    peers = bed.run(HEAD_NODE, "ss", "-Htn", "state", "established").stdout
    ends = {address for line in peers.splitlines() for address in re.findall(r"(10\.7\d\.\d+\.\d+):(\d+)", line)}
    ours = {address for address, port in ends if port != "22"}
    assert any(address.startswith("10.78.") for address in ours), peers
    assert not any(address.startswith("10.77.") for address in ours), peers
    everywhere(dvm, dvm.nodes)


@pytest.mark.limit(90)
def test_the_error_names_the_pair_that_could_not_talk(bed):
    """ssh gets there by the first net, the daemon may only use the second."""
    bed.cut("node3", net=2)
    dvm = SwarmDvm(bed, NODES, prtemca={"prte_if_include": "eth1"})
    try:
        done = dvm.try_up()
        assert done.returncode != 0
        line = [line for line in done.stderr.splitlines() if "node3" in line]
        assert line and re.search(r"node1|10\.78\.0\.1", done.stderr), done.stderr
        assert re.search(r"from node3 \(10\.78\.0\.3\) to 10\.78\.0\.1:\d+: no answer", done.stderr), done.stderr
        assert "connect to the head" in done.stderr, done.stderr
    finally:
        dvm.close()


def failed_start(bed, **arguments):
    """What `prte` says when it does not start; the test fails if it does."""
    dvm = SwarmDvm(bed, NODES, **arguments)
    try:
        done = dvm.try_up()
        assert done.returncode != 0
        return done.stderr
    finally:
        dvm.close()


@pytest.mark.limit(90)
def test_two_daemons_that_cannot_talk_are_both_named(bed):
    """Each of them reaches the head; by the tree node3 should hang on node2."""
    bed.swarm.ask("block", sender="node3", receiver="node2")
    text = failed_start(bed, prtemca={"rml_radix": 1, "plm_ssh_no_tree_spawn": 1, **FAST})
    assert re.search(r"node2 .*from node3 \(10\.77\.0\.3, 10\.78\.0\.3\) to 10\.7[78]\.0\.2:\d+: no answer", text), text
    assert all(f"to {address}:" in text for address in ("10.77.0.2", "10.78.0.2")), text


@pytest.mark.parametrize("radix", [64, 1], ids=["by-the-head", "by-another-node"])
def test_an_interface_that_one_node_lacks_is_named_with_those_it_has(bed, radix):
    def rename(old, new):
        done = bed.run("node3", "ip", "link", "set", old, "name", new)
        assert done.returncode == 0, done.stderr

    rename("eth1", "net9")
    try:
        text = failed_start(bed, prtemca={"prte_if_include": "eth1", "rml_radix": radix})
    finally:
        rename("net9", "eth1")
    assert "node node3 could not be started" in text, text
    assert "prte_if_include names the interface 'eth1', which node3 does not have" in text, text
    assert "net9 10.78.0.3/16" in text and "try: one of these" in text, text


@pytest.mark.parametrize("parameters, words", [
    ({"prte_if_include": "eth7"}, ["prte_if_include", "'eth7', which node1 does not have", "eth1 10.78.0.1/16"]),
    ({"prte_if_include": "eth1,10.78.0.0/40"}, ["prte_if_include", "'10.78.0.0/40' is neither"]),
    ({"prte_if_exclude": "eth0,10.78.0.0/16"}, ["prte_if_exclude", "leaves node1 no address", "eth0 10.77.0.1/16"]),
    ({"prte_if_include": "eth1", "prte_if_exclude": "eth0"}, ["prte_if_include", "prte_if_exclude", "can't both be given"]),
], ids=["unknown", "malformed", "nothing-left", "both"])
def test_a_choice_that_cannot_be_is_refused_by_the_head(bed, parameters, words):
    text = failed_start(bed, prtemca=parameters)
    assert all(word in text for word in words), text
