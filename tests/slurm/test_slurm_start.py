"""A DVM that is started in a job of Slurm has the nodes of the job and nothing configured: wherever the head runs, whatever
the nodes are, from the first daemon to an MPI job over all of them."""

import json
import os
import re

import pytest

from dvm import BIN
from growing import done, nodes
from slurm_bed import SlurmBed
from slurm_dvm import BATCH, SALLOC
from slurm_growing import asked_for, elastic, nodes_of, printed, ring
from swarm_dvm import everywhere

OUTSIDE = ("--no-kill", "--exclude=node1")  # of the head, which salloc starts on node1
CASES = {"batch": {"how": BATCH}, "batch-tide": {"how": BATCH, "program": "tide"}, "salloc": {"how": SALLOC},
         "salloc-outside": {"how": SALLOC, "options": OUTSIDE}, "salloc-outside-tide": {"how": SALLOC, "program": "tide", "options": OUTSIDE}}


# row:L5 row:L6 row:L7
@pytest.mark.parametrize("case", CASES)
def test_all_nodes_of_the_job_with_nothing_configured(slurm, make_slurm_dvm, case):
    count = 9 if "outside" in case else 10
    dvm = make_slurm_dvm(count, **CASES[case])
    assert nodes(dvm) == sorted(dvm.granted()) and len(dvm.granted()) == count
    assert ("node1" in dvm.granted()) == (count == 10) and dvm.head == "node1"
    status = dvm.status()
    assert {node["state"] for node in status["nodes"]} == {"up"} and {node["slots"] for node in status["nodes"]} == {4}
    assert status["dvm"]["source"] == f"Slurm job {dvm.job.id}"
    assert f"nodes from Slurm job {dvm.job.id}, " in dvm.tool("tide", "status").stdout
    everywhere(dvm, dvm.granted())
    ring(dvm, count)


# row:L7
@pytest.mark.limit(180)
def test_32_nodes_start_grow_and_shrink(large_slurm, make_large_dvm):
    dvm = elastic(make_large_dvm, 32)
    ring(dvm, 32)
    done(dvm, "shrink", "--count", 8)
    assert len(nodes(dvm)) == len(dvm.granted()) == 24
    done(dvm, "grow", "--count", 8)
    assert len(nodes(dvm)) == 32 and [len(nodes_of(dvm.bed, job)) for job in asked_for(dvm)] == [8]
    ring(dvm, 32)
    done(dvm, "shrink", "--alloc", "a2")
    everywhere(dvm, dvm.granted())


# ---- different nodes ----

@pytest.fixture(scope="module")
def mixed():
    """node1 has eight processors, node2 two, the others four."""
    with SlurmBed(4, "--cpus", "8,2,4") as bed:
        yield bed
        bed.assert_nothing_left()


def in_a_job(bed, script, **arguments):
    """What a job on node1, node2 and node3 prints."""
    return printed(bed, script, nodes=3, options=["-w", "node[1-3]"], **arguments)


STATUS = """
tide up {options} || exit
tide status --json
tide down
"""


def slots(bed, *options):
    """{node: slots} of a DVM that is started with these options, and what was said."""
    said = in_a_job(bed, STATUS.format(options=" ".join(options)))
    assert "{" in said, said
    status = json.loads(said[said.index("\n{"):said.rindex("\n}") + 2])
    return {node["name"]: node["slots"] for node in status["nodes"]}, said


# row:L7
def test_slots_are_the_processors_of_each_node(mixed):
    assert slots(mixed)[0] == {"node1": 8, "node2": 2, "node3": 4}
    assert sorted(in_a_job(mixed, "prterun hostname").split()) == ["node1"] * 8 + ["node2"] * 2 + ["node3"] * 4


@pytest.mark.parametrize("options, chosen", [
    (["--host", "node2,node3"], {"node2": 2, "node3": 4}),
    (["--host", "node1:3,node2:9"], {"node1": 3, "node2": 2}),
    (["--host", "+n2"], {"node3": 4}),
    (["--host", "^node1"], {"node2": 2, "node3": 4}),
    (["--max-vm-size", "2"], {"node1": 8, "node2": 2})], ids=["names", "slots", "relative", "but", "size"])
def test_hosts_are_chosen_in_the_job_and_have_no_more_slots_than_it_gives(mixed, options, chosen):
    assert slots(mixed, *options)[0] == chosen


@pytest.mark.parametrize("command, status", [("prte --host node4", 2), ("tide up --host node4", 2), ("tide check --host node4", 2),
                                             ("prterun --host node4 hostname", 121)])
def test_a_host_outside_of_the_job_is_refused_with_the_name_of_the_job(mixed, command, status):
    said = in_a_job(mixed, f"{command}; echo status $? of $SLURM_JOB_ID")
    ended = re.search(r"status (\d+) of (\d+)\n", said)
    assert ended and int(ended[1]) == status, said
    assert f"'node4' is not in Slurm job {ended[2]}, which has node1, node2, node3" in said and said.count("try: ") == 1


def test_a_private_dvm_runs_on_the_nodes_of_the_job(mixed):
    assert sorted(in_a_job(mixed, "prterun -n 3 --map-by node hostname").split()) == ["node1", "node2", "node3"]


def with_shims(bed, script):
    """What a job prints, and the commands of Slurm that were called in it."""
    shims = bed.shims()
    said = in_a_job(bed, script, env={"PATH": f"{shims.folder}:{BIN}:{os.defpath}"})
    return said, [call for call in shims.calls() if call[0] != "sbatch"]


def test_a_check_looks_at_the_nodes_of_the_job_by_one_step(mixed):
    said, calls = with_shims(mixed, "tide check")
    assert "3 hosts: 3 can be used" in said, said
    assert [command for command, *_ in calls] == ["srun"]


def test_one_step_starts_all_daemons(mixed):
    said, calls = with_shims(mixed, STATUS.format(options=""))
    assert '"state": "up"' in said, said
    (step,) = [words for command, *words in calls if command == "srun"]
    assert "--nodelist=node[1-3]" in step
    assert {command for command, *_ in calls} <= {"srun", "scontrol", "squeue"} and len(calls) <= 4, calls
