"""The soak's judge can fail a job, and its plan is what the seed says."""

import itertools
import os
import subprocess
from collections import Counter

import pytest

from soak_plan import BROAD, BROAD_SPAN, LETHAL, MILD, NODES_LEFT_AT_LEAST, Fault, JobPlan, plan_broad_jobs, plan_rounds
from soak_round import Task
from soak_verdict import Record, complaint, ended_a_job

NAMES = [f"node{number}" for number in range(1, 17)]
CRASH = (5.0, Fault("crash", ("node3",)))


def job(status, whole=False, error="", hosts=("node2", "node3"), ended=6.0):
    return Record(1, "short", list(hosts), 1.0, ended, status, whole, error)


@pytest.mark.parametrize("record, strokes, wrong", [
    (job(0, whole=True), [], None),
    (job(0, whole=True), [CRASH], None),
    (job(0), [], "not all of its output"),
    (job(0), [CRASH], "lost output"),
    (job(120, error="node node3 was lost"), [CRASH], None),
    (job(120, error="node node30 was lost"), [CRASH], "names none"),
    (job(120, error="node node3 was lost"), [], "was not struck"),
    (job(120, error="node node3 was lost", ended=4.0), [CRASH], "was not struck"),
    (job(120, error="node node3 was lost", hosts=["node4"]), [CRASH], "was not struck"),
    (job(120, error="node node3 was lost"), [(5.0, Fault("short-cut", ("node3",)))], "was not struck"),
    (job(1, error="node node3"), [CRASH], "status 1"),
    (job(None), [CRASH], "did not end"),
])
def test_the_judge(record, strokes, wrong):
    said = complaint(record, strokes)
    assert said is None if wrong is None else wrong in said


@pytest.mark.parametrize("record, landed", [
    (job(120, error="node node3 was lost"), True),
    (job(120, error="node node2 was lost"), False),
    (job(120, error="node node3 was lost", ended=4.0), False),
    (job(120, error="node node3 was lost", hosts=["node4"]), False),
    (job(0, whole=True), False),
    (job(125, error="node node3 was lost"), False),
])
def test_whether_a_fault_ended_a_job_is_seen(record, landed):
    assert ended_a_job(CRASH, [record]) == landed


def test_jobs_on_all_nodes_last_about_as_long_as_the_time_between_faults():
    plans = list(itertools.islice(plan_broad_jobs(7, 0, 30), 20))
    assert plans == list(itertools.islice(plan_broad_jobs(7, 0, 30), 20))
    assert {(plan.kind, plan.width) for plan in plans} == {(BROAD, 1.0)}
    assert all(BROAD_SPAN[0] * 30 <= plan.linger_s <= BROAD_SPAN[1] * 30 for plan in plans)


def test_a_seed_means_the_same_faults_and_spares_the_head_and_most_nodes():
    rounds = plan_rounds(7, 20, NAMES)
    assert rounds == plan_rounds(7, 20, NAMES) != plan_rounds(8, 20, NAMES)
    assert sum(len(one.faults) for one in rounds) == 20
    for one in rounds:
        lost = [name for fault in one.faults if fault.costs_nodes for name in fault.nodes]
        assert "node1" not in lost and len(set(lost)) == len(lost)
        assert len(NAMES) - len(lost) >= round(len(NAMES) * NODES_LEFT_AT_LEAST)


@pytest.mark.parametrize("seed", range(5))
def test_every_kind_of_fault_comes_up_in_twenty(seed):
    kinds = Counter(fault.kind for one in plan_rounds(seed, 20, NAMES) for fault in one.faults)
    assert kinds == {**LETHAL, **MILD}


@pytest.mark.parametrize("kind", ["short", "linger", "volume", BROAD])
def test_lost_output_is_noticed(kind):
    plan, ranks = JobPlan(kind, 1.0, 7, 0.01), 2
    outputs = [subprocess.run(Task(plan, ranks).argv, stdout=subprocess.PIPE, timeout=30,
                              env={**os.environ, "TIDE_RANK": str(rank)}).stdout for rank in range(ranks)]
    assert Task(plan, ranks).is_whole(outputs[1] + outputs[0])
    assert not Task(plan, ranks).is_whole(outputs[0])
    assert not Task(plan, ranks).is_whole(outputs[0] + outputs[1][:-3])
    assert not Task(plan, ranks).is_whole(outputs[0] + outputs[1] + outputs[1])
