"""What holds on ten nodes holds on 32."""

import pytest

from asking import SUCCESS, WARNING
from dvm import wait_until
from growing import DONE, done, nodes, tide
from slurm_growing import (OVER_LIMIT_S, assert_shares, asked_for, control, elastic, ends, gone, heard, interrupt, none_pending,
                           pending, ring, under_load)
from swarm_dvm import everywhere

FIRST, MORE = 12, 20


# row:E17 row:E4
@pytest.mark.limit(180)
def test_nodes_come_and_go_while_jobs_arrive(large_slurm, make_large_dvm):
    dvm = elastic(make_large_dvm, FIRST)
    first, came = dvm.granted(), []

    def all_that_are_free():
        done(dvm, "grow", "--count", MORE)
        came.extend(name for name in nodes(dvm) if name not in first)
        assert_shares(dvm, first, came)
        ring(dvm, FIRST + MORE)

    def half_of_them_back():
        done(dvm, "shrink", "--host", ",".join(came[::2]))
        assert_shares(dvm, first, came[1::2])
        gone(dvm, came[::2])

    def the_rest_back():
        done(dvm, "shrink", "--host", ",".join(came[1::2]))
        assert_shares(dvm, first)
        gone(dvm, came)

    under_load(dvm, [all_that_are_free, half_of_them_back, the_rest_back])
    everywhere(dvm, first)


# row:E17
@pytest.mark.limit(120)
def test_a_request_that_waits_is_taken_back(large_slurm, make_large_dvm, take_of_many):
    dvm = elastic(make_large_dvm, FIRST)
    other = take_of_many(5)
    growing = dvm.start("tide", "grow", "--count", MORE, "--wait")
    pending(dvm)
    interrupt(large_slurm, "tide grow", dvm.head)
    assert dvm.finish(growing).returncode == 130
    none_pending(dvm)
    other.give_back()
    done(dvm, "grow", "--count", MORE)
    everywhere(dvm, large_slurm.names())


# row:R16
@pytest.mark.limit(120)
def test_time_is_prolonged_in_answer_to_a_warning(large_slurm, make_large_dvm, tool):
    dvm = elastic(make_large_dvm, FIRST)
    me = tool(dvm)
    me.order("answer onwarn extend time=120 warn=5")
    assert me.ask("new", "new", f"nodes={MORE}", "time=20", "warn=10", "req=mine")[0] == SUCCESS
    heard(me, "mine")
    (child,) = asked_for(dvm)
    before = ends(large_slurm, child.id)
    wait_until(lambda: WARNING in [code for code, _ in me.events()], limit_s=30, what="it is warned")
    assert me.heard("answer: ")[0].startswith("answer: 0 ")
    assert ends(large_slurm, child.id) - before in (60, 120), "Slurm gives minutes"
    assert nodes(dvm) == sorted(large_slurm.names())
    me.end()


@pytest.mark.long
@pytest.mark.limit(180)
def test_the_limit_of_the_job_of_the_start_ends_all(large_slurm, make_large_dvm):
    dvm = elastic(make_large_dvm, FIRST)
    assert tide(dvm, "grow", "--count", MORE, "--wait").returncode == DONE
    dvm.start("prun", "-n", FIRST + MORE, "--map-by", "node", "sleep", "1000")
    dvm.abandon()
    control(large_slurm, dvm.job.id, "EndTime=now+5")
    dvm.job.wait_for(None, OVER_LIMIT_S)
    wait_until(lambda: not large_slurm.squeue(), limit_s=20, what="jobs of grows are gone, too")
