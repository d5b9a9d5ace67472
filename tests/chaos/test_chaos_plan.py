"""A seed is a sequence: the same for the same seed, within the bounds of a round."""

from itertools import islice

import pytest
from kinds import make_job
from plan import JOB_KINDS, LAST_STROKES, LETHAL, MILD, plan_jobs, plan_round
from strikes import Striker

NODES, SECONDS = 16, 12


def rounds(seed, count):
    return [plan_round(seed, number, NODES, SECONDS) for number in range(count)]


def test_same_seed_same_strokes_and_jobs():
    assert rounds(7, 20) == rounds(7, 20)
    assert rounds(7, 20) != rounds(8, 20)
    for submitter in range(3):
        first, again = (list(islice(plan_jobs(7, 2, submitter, NODES), 50)) for _ in range(2))
        assert first == again
    assert list(islice(plan_jobs(7, 2, 0, NODES), 50)) != list(islice(plan_jobs(7, 2, 1, NODES), 50))


@pytest.mark.parametrize("seed", range(20))
def test_half_of_the_nodes_are_left(seed):
    for planned in rounds(seed, 5):
        lost = [node for stroke in planned.strokes if stroke.costs_a_node for node in stroke.nodes]
        assert len(lost) <= NODES / 2
        assert len(set(lost)) == len(lost), "nobody is killed twice"


@pytest.mark.parametrize("seed", range(5))
def test_every_stroke_and_ending_comes(seed):
    played = rounds(seed, 12 * len(LAST_STROKES))
    assert {planned.last for planned in played[:len(LAST_STROKES)]} == set(LAST_STROKES)
    assert {stroke.kind for planned in played for stroke in planned.strokes} == set(LETHAL) | set(MILD)
    assert all(planned.foreground for planned in played if planned.last == "interrupt-head")
    assert {job.kind for job in islice(plan_jobs(seed, 0, 0, NODES), 500)} == set(JOB_KINDS)


def test_every_stroke_can_be_carried_out():
    for kind in (*LETHAL, *MILD):
        assert hasattr(Striker, "_" + kind.replace("-", "_")), kind


def test_jobs_are_told_apart_by_their_words():
    words = set()
    for number, planned in enumerate(islice(plan_jobs(1, 0, 0, NODES), 200)):
        job = make_job(planned, f"0.{number}", "dvm")
        assert f"CHAOS_WORD=0.{number}" in job.argv
        words.add(job.word)
    assert len(words) == 200
