"""How long nodes may stay, in a Slurm job: told, warned of in time, prolonged with Slurm, and over when Slurm says so."""

import re
import time

import pytest

from asking import OUT_OF_RESOURCE, SUCCESS, WARNING
from dvm import wait_until
from growing import DONE, done, nodes, settled, tide
from slurm_dvm import BATCH, SALLOC
from slurm_growing import OVER_LIMIT_S, asked_for, control, elastic, ends, happened, heard
from swarm_dvm import everywhere


def left_of(dvm, allocation):
    """Seconds, as tide status has them."""
    (found,) = [one for one in dvm.status()["allocations"] if one["id"] == allocation]
    return found["lease"]["left_ms"] / 1000


def left_in_slurm(bed, job):
    return ends(bed, job) - time.time()


def near(value, wanted, margin=3):
    return abs(value - wanted) <= margin


# ---- how long ----

@pytest.mark.parametrize("how", ["batch", "salloc"])
def test_the_time_that_is_left_is_told_and_follows_the_job(slurm, make_slurm_dvm, how):
    dvm = elastic(make_slurm_dvm, 2, how=how, minutes=7)
    wait_until(lambda: dvm.status()["dvm"]["source_left_ms"], what="the limit is known")
    told_s = lambda: dvm.status()["dvm"]["source_left_ms"] / 1000
    assert near(told_s(), left_in_slurm(slurm, dvm.job.id)), told_s()
    assert re.search(rf"nodes from Slurm job {dvm.job.id}, 6 min \d+ s left", tide(dvm, "status").stdout)
    control(slurm, dvm.job.id, "TimeLimit=+30")
    wait_until(lambda: told_s() > 30 * 60, limit_s=20, what="it is seen that the job lasts longer")
    assert near(told_s(), left_in_slurm(slurm, dvm.job.id)), told_s()


# row:E17
def test_a_grow_is_for_as_long_as_is_wished_and_as_the_job_of_the_start_lasts(slurm, make_slurm_dvm):
    dvm = elastic(make_slurm_dvm, 2, minutes=10)
    said = done(dvm, "grow", "--count", 1, "--time", "5m")
    assert "for 5 min, then they go back\n" in said.stdout and "asked for" not in said.stdout, said.stdout
    assert near(left_of(dvm, "a1"), 5 * 60)
    (first,) = asked_for(dvm)
    assert 5 * 60 <= left_in_slurm(slurm, first.id) <= 7 * 60
    cut = done(dvm, "grow", "--count", 1, "--time", "2h")
    assert "2 h was asked for, and resource manager slurm grants " in cut.stdout, cut.stdout
    parent_s = left_in_slurm(slurm, dvm.job.id)
    assert parent_s - 70 < left_of(dvm, "a2") < parent_s
    assert left_in_slurm(slurm, asked_for(dvm)[1].id) < parent_s + 60, "Slurm counts in minutes"
    done(dvm, "grow", "--count", 1)
    assert left_of(dvm, "a3") < parent_s, "no node stays longer than the DVM"


# row:R15 row:E12
def test_a_grow_goes_back_when_its_time_is_over(slurm, make_slurm_dvm):
    dvm = elastic(make_slurm_dvm, 2)
    first = dvm.granted()
    done(dvm, "grow", "--count", 2, "--time", "4s", "--warn", "2s")
    began = time.monotonic()
    stays = dvm.start("prun", "-n", 2, "--map-by", "node", "--host", ",".join(first), "sleep", "1000")
    wait_until(lambda: dvm.names() == first, limit_s=15, what="they have gone back")
    assert time.monotonic() - began > 2
    wait_until(lambda: not asked_for(dvm), limit_s=10, what="Slurm has them")
    assert [line.split()[1] for line in happened(dvm, "lease")] == ["lease-warning", "lease-ended"]
    assert stays.poll() is None
    everywhere(dvm, first)


# ---- warned and prolonged ----

def grown_for(tool, dvm, *words):
    """A tool that has a node with these words; it, and the allocation."""
    me = tool(dvm)
    status, facts = me.ask("new", "new", "nodes=1", "req=mine", *words)
    assert status == SUCCESS
    heard(me, "mine")
    return me, facts["id"]


# row:R16
@pytest.mark.limit(90)
def test_a_warning_comes_on_time_and_its_answer_prolongs_slurms_job(slurm, make_slurm_dvm, tool):
    dvm = elastic(make_slurm_dvm, 2)
    me = tool(dvm)
    me.order("answer onwarn extend time=120 warn=5")
    status, facts = me.ask("new", "new", "nodes=1", "time=12", "warn=4", "req=mine")
    assert status == SUCCESS
    asked_at, mine = time.time(), facts["id"]
    (child,) = asked_for(dvm)
    before = ends(slurm, child.id)
    warned_at = wait_until(lambda: WARNING in [code for code, _ in me.events()] and time.time(), limit_s=20, what="it is warned")
    assert 7 < warned_at - asked_at < 12, "four seconds before the end of twelve"
    assert ("left", "4") in [fact for code, facts in me.events() if code == WARNING for fact in facts.items()]
    assert me.heard("answer: ")[0].startswith(f"answer: 0 id={mine} ")
    assert near(left_of(dvm, mine), 120 + 4), left_of(dvm, mine)
    assert ends(slurm, child.id) - before in (60, 120), "Slurm gives minutes"
    assert ends(slurm, child.id) - time.time() > left_of(dvm, mine)
    me.end()


# row:R16
def test_a_longer_time_is_bounded_by_the_job_of_the_start(slurm, make_slurm_dvm, tool):
    dvm = elastic(make_slurm_dvm, 2, minutes=10)
    done(dvm, "grow", "--count", 1, "--time", "1m")
    (child,) = asked_for(dvm)
    said = tide(dvm, "grow", "--extend", "a1", "--time", "3m")
    assert said.returncode == DONE and "the lease of allocation a1 is prolonged" in said.stdout, said.stdout + said.stderr
    assert near(left_of(dvm, "a1"), 4 * 60) and left_in_slurm(slurm, child.id) > 4 * 60
    said = tide(dvm, "grow", "--extend", "a1", "--time", "5h")
    assert said.returncode == DONE and "5 h was asked for, and resource manager slurm grants " in said.stdout, said.stdout + said.stderr
    parent_s = left_in_slurm(slurm, dvm.job.id)
    assert parent_s - 10 < left_of(dvm, "a1") <= parent_s
    said = tide(dvm, "grow", "--extend", "a1", "--time", "5m")
    assert said.returncode != DONE and f"can't stay longer than Slurm job {dvm.job.id}" in said.stderr, said.stdout + said.stderr
    me, mine = grown_for(tool, dvm, "time=60")
    assert me.ask("more", "extend", f"id={mine}", "time=7200")[0] == SUCCESS
    assert parent_s - 10 < left_of(dvm, mine) <= parent_s
    assert me.ask("again", "extend", f"id={mine}", "time=7200")[0] == OUT_OF_RESOURCE
    me.end()


# row:R16
def test_somebody_elses_longer_limit_is_seen(slurm, make_slurm_dvm):
    """Also when nobody here has asked for it; a lease that was wished for stays as it is."""
    dvm = elastic(make_slurm_dvm, 2, minutes=30)
    done(dvm, "grow", "--count", 1, "--time", "2m")
    done(dvm, "grow", "--count", 1)
    child, second = asked_for(dvm)
    before = left_of(dvm, "a2")
    assert before < 30 * 60, "no longer than the job of the start"
    control(slurm, dvm.job.id, "TimeLimit=+30")
    control(slurm, second.id, "TimeLimit=+10")
    wait_until(lambda: left_of(dvm, "a2") > before + 9 * 60, limit_s=20, what="the lease is longer")
    control(slurm, child.id, "TimeLimit=+10")
    said = tide(dvm, "grow", "--extend", "a1", "--time", "1m")
    assert said.returncode == DONE and near(left_of(dvm, "a1"), 3 * 60, 4), said.stderr


# ---- limits that are reached ----

# row:E12 row:R14
@pytest.mark.limit(120)
def test_slurms_limit_of_a_grow_is_a_shrink_before_it(slurm, make_slurm_dvm):
    """No wish, and a limit that somebody has made shorter: the nodes are given back before Slurm ends what is on them."""
    dvm = elastic(make_slurm_dvm, 2)
    first = dvm.granted()
    done(dvm, "grow", "--count", 2)
    (child,) = asked_for(dvm)
    control(slurm, child.id, "EndTime=now+8")
    end = ends(slurm, child.id)
    wait_until(lambda: dvm.names() == first, limit_s=20, what="they have gone back")
    assert time.time() < end, "and not when Slurm ends them"
    settled(dvm)
    assert "lease-ended" in [line.split()[1] for line in happened(dvm)] and not happened(dvm, "node-lost")
    wait_until(lambda: not asked_for(dvm), limit_s=10, what="Slurm has them")
    everywhere(dvm, first)


@pytest.mark.limit(120)
def test_the_limit_of_the_job_of_the_start_ends_all(slurm, make_slurm_dvm):
    """Of two DVMs at once, one in each kind of job: Slurm takes its time."""
    dvms = [elastic(make_slurm_dvm, 2, how=how) for how in (BATCH, SALLOC)]
    for dvm in dvms:
        done(dvm, "grow", "--count", 2)
        dvm.start("prun", "-n", 4, "--map-by", "node", "sleep", "1000")
        dvm.abandon()
        control(slurm, dvm.job.id, "EndTime=now+5")
    for dvm in dvms:
        dvm.job.wait_for(None, OVER_LIMIT_S)
    wait_until(lambda: not slurm.squeue(), limit_s=20, what="jobs of grows are gone, too")
