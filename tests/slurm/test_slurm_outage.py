"""slurmctld is away for a while, in the middle of each operation: that is done or fails with a reason, the DVM goes on, and
once slurmctld is back Slurm has no job that nobody wants."""

import time
from contextlib import contextmanager

import pytest

from dvm import wait_until
from growing import DONE, REFUSED, UNDONE, done, ended
from swarm_dvm import everywhere
from trials import Questions, ReadyDvm, Trial, trial  # noqa: F401

SHORT_S, LONG_S = 15, 60
# The real ones give up by themselves: MessageTimeout is 10 s, and some ask twice.
PATIENT = {"ras_slurm_timeout": "25s"}
SEEN_TO_LIMIT_S = 90  # tries are at most a minute apart
ANSWER_LIMIT_S = 45
HELD_S = 12  # long enough for slurmctld to save what it has granted

WAYS = [pytest.param(way, LONG_S, marks=[pytest.mark.long, pytest.mark.limit(300)]) for way in ("kill", "stop", "freeze")]
ALSO_QUICKLY = [pytest.param("kill", SHORT_S, marks=pytest.mark.limit(150)), *WAYS]


@contextmanager
def outage(one, way, seconds):
    """slurmctld is away for so long at least; what is done inside of it ends sooner. The DVM answers all the while."""
    if way == "kill":
        one.bed.wait_saved()
    with one.bed.controller_down(way), Questions(one.dvm):
        began = time.monotonic()
        yield
        time.sleep(max(0, seconds - (time.monotonic() - began)))  # how long the outage lasts
    wait_until(lambda: one.bed.run("node1", "squeue", "-h").returncode == 0, limit_s=60, what="slurmctld answers again")


def recovered(one, names=None):
    """Its nodes have registered again, and all is well."""
    one.wait_for_jobs([one.dvm.job.id], limit_s=SEEN_TO_LIMIT_S)
    wait_until(lambda: set(one.bed.node_states().values()) <= {"idle", "allocated"}, limit_s=60, what="Slurm has its nodes")
    one.unhurt(names)


# ---- the start ----

@pytest.mark.parametrize("way, seconds", WAYS)
def test_while_it_starts(slurm, way, seconds):
    shims = slurm.shims()
    shims.set("srun", delay_s=HELD_S)
    dvm = ReadyDvm(slurm, 3, shims=shims)
    try:
        dvm.begin()
        wait_until(lambda: shims.calls("srun"), what="srun is called")
        slurm.wait_saved()
        with slurm.controller_down(way):
            time.sleep(seconds)  # how long the outage lasts
        wait_until(lambda: dvm.answers() or dvm.is_over(), limit_s=ANSWER_LIMIT_S, what="it is up, or over")
        if dvm.answers():
            everywhere(dvm, dvm.names())
        else:
            assert "could not be started" in dvm.said() and "srun: error" in dvm.said(), dvm.said()
            assert dvm.exit_status() == 1
    finally:
        dvm.close()


# ---- a grow ----

@pytest.mark.parametrize("way, seconds", WAYS)
def test_before_a_request_is_made(trial, way, seconds):
    one = trial(prtemca=PATIENT)
    with outage(one, way, seconds):
        said, _ = one.grow(status=REFUSED, within_s=ANSWER_LIMIT_S)
        everywhere(one.dvm, one.names)
    assert "slurm controller" in said or "timed out" in said or "did not answer" in said, said
    recovered(one)


@pytest.mark.parametrize("way, seconds", WAYS)
def test_while_a_request_waits(trial, way, seconds):
    one = trial(prtemca=PATIENT)
    blocker = one.blocked(free=1)
    request, _ = one.waiting(3)
    with outage(one, way, seconds):
        everywhere(one.dvm, one.names)
        assert request.poll() is None
    blocker.cancel()
    ended(one.dvm, request)
    came = sorted(set(one.dvm.names()) - set(one.names))
    assert len(came) == 3
    everywhere(one.dvm, [*one.names, *came])
    done(one.dvm, "shrink", "--host", ",".join(came))
    recovered(one)


@pytest.mark.parametrize("way, seconds", WAYS)
def test_after_the_grant_before_the_daemons(trial, way, seconds):
    one = trial(prtemca=PATIENT)
    job = one.dvm.start("prun", "-n", 1, "sleep", 1000)
    one.shims.set("srun", delay_s=HELD_S, times=1)
    calls = len(one.shims.calls("srun"))
    request = one.dvm.start("tide", "grow", "--count", 2, "--wait")
    wait_until(lambda: len(one.shims.calls("srun")) > calls, what="srun is called")
    with outage(one, way, seconds):
        pass
    assert job.poll() is None, "a job elsewhere was hurt"
    said = one.dvm.finish(request, limit_s=ANSWER_LIMIT_S)
    assert said.returncode in (DONE, UNDONE), said.stdout + said.stderr
    if said.returncode == DONE:
        done(one.dvm, "shrink", "--count", 2)
    else:
        assert "srun" in said.stderr, said.stderr
    recovered(one)


@pytest.mark.parametrize("way, seconds", ALSO_QUICKLY)
def test_while_a_request_is_taken_back(trial, way, seconds):
    """salloc can't tell it to slurmctld any more: the job that nobody wants is cancelled later."""
    one = trial(prtemca=PATIENT)
    blocker = one.blocked(free=1)
    request, job = one.waiting(3, "alloc", "new", "--request-id", "mine", "--wait")
    with outage(one, way, seconds):
        assert one.dvm.tool("tide", "alloc", "cancel", "mine", limit_s=ANSWER_LIMIT_S).returncode == DONE
        everywhere(one.dvm, one.names)
    assert one.dvm.finish(request, limit_s=ANSWER_LIMIT_S).returncode != DONE
    one.wait_for_jobs([one.dvm.job.id, blocker.id], limit_s=SEEN_TO_LIMIT_S)
    blocker.cancel()
    recovered(one)


# ---- a release ----

@pytest.mark.parametrize("way, seconds", WAYS)
def test_while_a_job_is_given_back(trial, way, seconds):
    one = trial(prtemca=PATIENT)
    _, came = one.grow("--count", 2)
    with outage(one, way, seconds):
        done(one.dvm, "shrink", "--host", ",".join(came))
        everywhere(one.dvm, one.names)
    recovered(one)


@pytest.mark.parametrize("way, seconds", WAYS)
def test_while_a_job_is_made_smaller(trial, way, seconds):
    one = trial(3, prtemca=PATIENT)
    staying = one.names[:-1]
    with outage(one, way, seconds):
        done(one.dvm, "shrink", "--host", one.names[-1])
        everywhere(one.dvm, staying)
    wait_until(lambda: one.dvm.granted() == staying, limit_s=SEEN_TO_LIMIT_S, what="the job is smaller")
    recovered(one, staying)


# ---- time, and the end ----

@pytest.mark.parametrize("way, seconds", WAYS)
def test_while_more_time_is_asked_for(trial, way, seconds):
    one = trial(prtemca=PATIENT)
    _, came = one.grow("--count", 1, "--time", "3m")
    with outage(one, way, seconds):
        said = one.dvm.tool("tide", "grow", "--extend", "a1", "--time", "3m", limit_s=ANSWER_LIMIT_S)
        assert said.returncode == REFUSED and "scontrol" in said.stderr, said.stdout + said.stderr
        everywhere(one.dvm, [*one.names, *came])
    done_again = one.dvm.tool("tide", "grow", "--extend", "a1", "--time", "1m", limit_s=ANSWER_LIMIT_S)
    assert done_again.returncode == DONE, done_again.stderr
    done(one.dvm, "shrink", "--host", ",".join(came))
    recovered(one)


@pytest.mark.parametrize("way, seconds", WAYS)
def test_while_it_ends(slurm, trial, way, seconds):
    """With a job that was made for it, and a request that waits. Its head stays until Slurm has taken both back; then the
    job that it was started in ends, too."""
    one = trial(prtemca=PATIENT)
    one.grow("--count", 1)
    blocker = one.blocked(free=1)
    request, _ = one.waiting(3)
    if way == "kill":
        slurm.wait_saved()
    with slurm.controller_down(way):
        began = time.monotonic()
        down = one.dvm.start("tide", "down")
        one.dvm.abandon()
        time.sleep(max(0, seconds - (time.monotonic() - began)))  # how long the outage lasts
    said = one.dvm.finish(down, limit_s=SEEN_TO_LIMIT_S)
    assert said.returncode == DONE or "has not ended yet" in said.stderr, said.stderr
    assert one.dvm.finish(request).returncode != DONE
    one.wait_for_jobs([blocker.id], limit_s=SEEN_TO_LIMIT_S)
    blocker.cancel()
