"""A DVM over ssh: from a hostfile to the first job, and what happens when a host is wrong."""

import re
import time

import pytest

from dvm import BIN
from load import check_tree
from swarm_dvm import REPORT_LIMIT_S, WRONG_HOSTS, SwarmDvm, everywhere, spoil

PROGRAMS = BIN.parent / "tests" / "programs"
OB1 = ("-x", "OMPI_MCA_pml=ob1")  # the default looks for fabrics first, which takes its time


@pytest.mark.limit(180)
@pytest.mark.parametrize("nodes, radix", [(10, 2), (10, 64), (32, 3), (64, 2), (64, 64)])
def test_from_a_hostfile_to_a_job_on_every_node(make_dvm, nodes, radix):
    dvm = make_dvm(nodes, prtemca={"rml_radix": radix})
    everywhere(dvm, dvm.nodes)
    status = dvm.status()
    assert {node["name"]: node["state"] for node in status["nodes"]} == dict.fromkeys(dvm.nodes, "up")
    assert {node["slots"] for node in status["nodes"]} == {4}
    check_tree(status, radix)


@pytest.mark.limit(120)
@pytest.mark.parametrize("nodes", [10, 64])
def test_an_mpi_ring_over_all_nodes(make_dvm, nodes):
    dvm = make_dvm(nodes, prtemca={"rml_radix": 3})
    ring = dvm.tool("prun", "-n", nodes, "--map-by", "node", *OB1, PROGRAMS / "mpi_ring", limit_s=40)
    assert ring.returncode == 0, ring.stderr
    assert ring.stdout.startswith(f"ring of {nodes}: ")


@pytest.mark.parametrize("parameter", [{"plm_ssh_no_tree_spawn": "1"}, {"plm_ssh_num_concurrent": "2"}],
                         ids=["flat", "two at a time"])
def test_the_way_to_start_can_be_chosen(make_dvm, parameter):
    dvm = make_dvm(10, prtemca={"rml_radix": 2, **parameter})
    everywhere(dvm, dvm.nodes)
    check_tree(dvm.status(), 2)


def test_prterun_starts_runs_and_leaves_nothing(bed):
    dvm = SwarmDvm(bed, 4)
    try:
        done = dvm.tool("prterun", "--hostfile", f"{dvm.env['TMPDIR']}/hosts", "-n", 4, "--map-by", "node", "hostname")
        assert done.returncode == 0, done.stderr
        assert sorted(done.stdout.split()) == dvm.nodes
    finally:
        dvm.close()


def test_two_dvms_side_by_side_on_the_same_nodes(make_dvm):
    one, other = make_dvm(4), make_dvm(4)
    everywhere(one, one.nodes)
    everywhere(other, other.nodes)
    one.close()
    everywhere(other, other.nodes)


def test_a_host_under_two_names_is_one_node(bed, make_dvm):
    """Its address is no name that the node itself knows."""
    address = next(node["addresses"][0] for node in bed.nodes() if node["name"] == "node3")
    dvm = make_dvm(3, hostfile=f"node1 slots=2\nnode2 slots=2\nnode3 slots=2\n{address} slots=2\n")
    assert len(dvm.status()["nodes"]) == 3
    everywhere(dvm, dvm.nodes)


def test_a_job_may_spell_a_host_in_every_way(bed, make_dvm):
    addresses = {node["name"]: node["addresses"] for node in bed.nodes()}
    dvm = make_dvm(3, hostfile=f"node1 slots=1\n{addresses['node2'][0]} slots=1\nnode3 slots=1\n")
    spellings = [("localhost", "node1"), ("Node2", "node2"), ("NODE3", "node3")]
    spellings += [(address, "node3") for address in addresses["node3"] if ":" not in address]
    for spelling, name in spellings:
        done = dvm.tool("prun", "-n", 1, "--host", spelling, "hostname")
        assert done.returncode == 0 and done.stdout == f"{name}\n", f"{spelling}: {done.stdout}{done.stderr}"


def fails_to_start(bed, hosts, limit_s=REPORT_LIMIT_S):
    """What prte said, and that it was quick."""
    dvm = SwarmDvm(bed, [], hostfile="".join(f"{host} slots=2\n" for host in hosts), prtemca={"rml_radix": 3})
    try:
        began = time.monotonic()
        done = dvm.try_up()
        seconds = time.monotonic() - began
    finally:
        dvm.close()
    bed.assert_nothing_left()
    assert done.returncode != 0 and seconds < limit_s, f"{seconds:.0f} s: {done.stderr}"
    return done.stderr


@pytest.mark.limit(90)
@pytest.mark.parametrize("how, place", [("unknown", "inner"), ("unknown", "last"), ("refused", "inner"), ("silent", "last")],
                         ids=["unknown-inner", "unknown-last", "refused-inner", "silent-last"])
def test_one_wrong_host_of_32_gives_one_message_and_leaves_nothing(bed, how, place):
    hosts = bed.names(32)
    index = {"inner": 4, "last": 31}[place]
    hosts[index] = spoil(bed, hosts[index], how)
    error = fails_to_start(bed, hosts)
    naming = [line for line in error.splitlines() if re.search(rf"\b{hosts[index]}\b", line)]
    assert naming and re.search(WRONG_HOSTS[how], error), error
    assert len(re.findall(r"^\S", error, re.MULTILINE)) == 1, f"more than one message:\n{error}"
    blamed = re.sub(r"\(tried from node \w+\)", "", error)  # whose neighbour it is
    others = [host for host in hosts if host != hosts[index] and re.search(rf"\b{host}\b", blamed)]
    assert not others, f"blameless hosts are named: {others}\n{error}"


def test_all_wrong_hosts_are_named_together(bed):
    hosts = bed.names(12)
    hosts[2], hosts[8] = "nowhere", "elsewhere"
    bed.crash("node6")
    error = fails_to_start(bed, hosts)
    for host in ("nowhere", "elsewhere", "node6"):
        assert re.search(rf"\b{host}\b", error), error
