"""What becomes of daemons in Slurm's steps when something dies: a slurmd, a node, the srun, a step, the head. Who is lost
is named, the others live, and nothing is left."""

import os
import re
import signal
from contextlib import contextmanager

import pytest

from asking import FAILED, FAILED_TO_LAUNCH, SUCCESS
from bed import process_table
from dvm import BIN, wait_until
from growing import UNDONE
from slurm_growing import gone, happened, told
from swarm_dvm import FAST, MARGIN_S, SILENCE_S, everywhere
from swarm_growing import left_on
from test_swarm_faults import check_gone
from trials import ReadyDvm, trial  # noqa: F401

SLURMD = "/usr/sbin/slurmd"
HELD_S = 2  # what takes no longer is done before srun begins
STEP_TIMEOUT_S = 5 + HELD_S
PROMPT_START = {"plm_step_timeout": f"{STEP_TIMEOUT_S}s"}
# srun gives a slurmd that refuses one MessageTimeout, 10 s; for a node that is silent we don't wait for it.
TOLD_WITHIN_S = {"slurmd": 16, "crash": STEP_TIMEOUT_S + 6, "silent": STEP_TIMEOUT_S + 6, "freeze": STEP_TIMEOUT_S + 6,
                 "cut": STEP_TIMEOUT_S + 6, "program": 6}
REASON = {"slurmd": "Communication connection failure", "program": "has no .*prted, or can't run it",
          **dict.fromkeys(("crash", "silent", "freeze", "cut"), "nothing was heard from node4 within 7 s")}


def kinds(*quick):
    return [pytest.param(kind, marks=() if kind in quick else pytest.mark.long) for kind in TOLD_WITHIN_S]


def of_node(bed, name, beginning):
    """The processes of this node whose command lines begin so."""
    space = os.readlink(f"/proc/{bed.swarm.describe(name)['pid']}/ns/pid")
    return [pid for pid, (other, words) in process_table().items() if other == space and words.startswith(beginning)]


@pytest.fixture
def spoilt(slurm):
    """A function (node, how) that makes a node one on which no daemon can be started."""
    without_slurmd, without_program = [], []

    def spoil(name, how):
        if how == "slurmd":
            for pid in of_node(slurm, name, SLURMD):
                os.kill(pid, signal.SIGKILL)
            without_slurmd.append(name)
        elif how == "program":
            slurm.slurm("mount", "-t", "tmpfs", "none", BIN, node=name)
            without_program.append(name)
        else:
            {"crash": slurm.crash, "silent": lambda it: slurm.crash(it, silent=True), "freeze": slurm.freeze,
             "cut": slurm.cut}[how](name)

    yield spoil
    for name in without_slurmd:
        slurm.slurm(SLURMD, node=name)
    for name in without_program:
        slurm.slurm("umount", BIN, node=name)


# ---- at the start ----

# row:S8
@pytest.mark.limit(120)
@pytest.mark.parametrize("kind", kinds("slurmd", "program"))
def test_a_node_where_no_daemon_starts_is_named_and_nothing_is_left(slurm, spoilt, kind):
    settings = {} if kind == "slurmd" else PROMPT_START
    shims = slurm.shims()
    shims.set("srun", delay_s=HELD_S)
    dvm = ReadyDvm(slurm, 3, options=("--no-kill", "-w", "node[2-4]"), prtemca=settings, shims=shims)
    try:
        dvm.begin()
        wait_until(lambda: shims.calls("srun"), what="srun is called")
        spoilt("node4", kind)
        wait_until(lambda: dvm.is_over() or dvm.answers(), limit_s=HELD_S + TOLD_WITHIN_S[kind] + MARGIN_S, what="it is over")
        assert re.search(r"node node4 could not be started: .*\n?.*" + REASON[kind], dvm.said()), dvm.said()
        check_gone(dvm, ["node2", "node3"], MARGIN_S)
        assert dvm.exit_status() == 1
    finally:
        dvm.close()


# ---- at a grow ----

@contextmanager
def spoilt_before_srun(one, spoilt, name, how):
    """Who asks for nodes inside of it is given them in good order; before srun begins this one is spoilt."""
    calls = len(one.shims.calls("srun"))
    one.shims.set("srun", delay_s=HELD_S, times=1)
    yield
    wait_until(lambda: len(one.shims.calls("srun")) > calls, limit_s=30, what="srun is called")
    spoilt(name, how)


# row:E5 row:C3
@pytest.mark.limit(120)
@pytest.mark.parametrize("kind", kinds("freeze", "program"))
def test_a_grow_with_a_node_where_no_daemon_starts_is_undone(slurm, spoilt, trial, kind):
    settings = {} if kind == "slurmd" else PROMPT_START
    one = trial(2, options=("--no-kill", "-w", "node[1-2]"), prtemca=settings)
    before = one.dvm.daemon_pids()
    with spoilt_before_srun(one, spoilt, "node4", kind):
        change = one.dvm.start("tide", "grow", "--host", "node3,node4", "--wait")
    ended = one.dvm.finish(change, limit_s=HELD_S + TOLD_WITHIN_S[kind] + MARGIN_S)
    left, said = left_on(one.dvm, ["node3"]), ended.stdout + ended.stderr
    assert ended.returncode == UNDONE, said
    assert not left, f"told, and still there: {left}"
    assert re.search(r"node node4 could not be started: .*\n?.*" + REASON[kind], said), said
    assert one.dvm.daemon_pids() == before and not one.dvm.status()["campaigns"]
    slurm.mend()
    one.unhurt()


# row:C3
@pytest.mark.limit(120)
def test_a_program_is_told_the_cause(slurm, spoilt, trial, tool):
    one = trial(2, options=("--no-kill", "-w", "node[1-2]"), prtemca=PROMPT_START)
    asker = tool(one.dvm)
    with spoilt_before_srun(one, spoilt, "node4", "program"):
        assert asker.ask("more", "new", "list=node3,node4", "req=mine")[0] == SUCCESS
    code, facts = asker.event()
    assert not left_on(one.dvm, ["node3"]), "told, and still there"
    assert (code, facts["cause"]) == (FAILED, FAILED_TO_LAUNCH)
    asker.end()
    everywhere(one.dvm, one.names)


# ---- while it is up ----

def sruns(bed, head, job):
    """The processes of the srun that holds the step of this job: the one that was started, and its helper."""
    found = [pid for pid in of_node(bed, head, "srun ") if f"--jobid={job}" in process_table()[pid][1]]
    return sorted(found)


def grown(one, count):
    """A grow by so many: their names, and their job."""
    before = one.jobs()
    _, came = one.grow("--count", count)
    (job,) = set(one.jobs()) - set(before)
    return came, job


@pytest.mark.limit(120)
@pytest.mark.parametrize("which", ["first", "both", "step"])
def test_a_step_that_is_lost_takes_its_daemons_along_and_no_others(slurm, trial, which):
    one = trial(2, prtemca=FAST)
    came, job = grown(one, 2)
    if which == "step":
        slurm.scancel(f"{job}.0")
    else:
        there = sruns(slurm, one.dvm.head, job)
        assert len(there) == 2, there
        for pid in there[:1] if which == "first" else there:
            os.kill(pid, signal.SIGKILL)
    one.dvm.wait_for_nodes(one.names, limit_s=SILENCE_S + MARGIN_S)
    check_gone(one.dvm, came, MARGIN_S)
    for name in came:
        assert re.search(rf"\b{name}\b.*\b(lost|gone|dead|ended)\b", one.dvm.said()), one.dvm.said()
    everywhere(one.dvm, one.names)
    one.unhurt()


def our_pids(one):
    """The processes of the DVM, by node: the head, and what a step has started."""
    return {name: sorted(of_node(one.bed, name, f"{BIN}/prted") + of_node(one.bed, name, "prte ")) for name in one.bed.names()}


@pytest.mark.limit(120)
def test_signals_for_programs_that_write_checkpoints_harm_no_daemon(slurm, trial):
    """Slurm sends them to all that a step has started: #SBATCH --signal=USR1@120, scancel --signal."""
    one = trial(2)
    came, job = grown(one, 1)
    before = our_pids(one)
    assert all(len(before[name]) >= 3 for name in [*one.names, *came]), before
    for name in ("USR1", "USR2"):
        slurm.slurm("scancel", f"--signal={name}", one.dvm.job.id, job)
        for pid in sum(before.values(), []):  # Slurm does the same when it comes to it
            os.kill(pid, getattr(signal, f"SIG{name}"))
    everywhere(one.dvm, [*one.names, *came])
    assert our_pids(one) == before
    assert one.dvm.tool("tide", "shrink", "--host", ",".join(came), "--wait").returncode == 0
    one.unhurt()


@pytest.mark.limit(120)
@pytest.mark.parametrize("kind", ["silent", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("crash", "cut", "freeze"))])
def test_a_node_that_is_lost_takes_no_other_along(slurm, trial, kind):
    one = trial(4, options=("--no-kill", "-w", "node[2-5]"), prtemca=FAST)
    victim, others = "node5", ["node2", "node3", "node4"]
    job = one.dvm.start("prun", "-n", 3, "--host", ",".join(others), "--map-by", "node", "sh", "-c", "echo up; exec sleep 1000")
    assert [job.stdout.readline() for _ in others] == ["up\n"] * 3
    {"crash": slurm.crash, "silent": lambda it: slurm.crash(it, silent=True), "cut": slurm.cut, "freeze": slurm.freeze}[kind](victim)
    one.dvm.wait_for_nodes(others, limit_s=SILENCE_S + MARGIN_S)
    everywhere(one.dvm, others)
    assert job.poll() is None, "a job elsewhere was hurt"
    came, _ = grown(one, 1)
    everywhere(one.dvm, [*others, *came])


# ---- the head ----

@pytest.mark.limit(120)
@pytest.mark.parametrize("how", ["batch", "salloc"])
def test_a_head_that_is_killed_leaves_no_job_and_no_process(slurm, trial, how):
    one = trial(2, how=how)
    grown(one, 1)
    grown(one, 2)
    blocker = one.blocked(free=1)
    job = one.dvm.start("prun", "-n", 5, "--map-by", "node", "sh", "-c", "setsid sleep 1000 & echo up; exec sleep 1000")
    assert [job.stdout.readline() for _ in range(5)] == ["up\n"] * 5
    one.waiting(2)
    os.kill(slurm.outside(one.dvm.head, one.dvm.head_pid()), signal.SIGKILL)
    one.dvm.abandon()
    one.wait_for_jobs([blocker.id])
    blocker.cancel()
    check_gone(one.dvm, slurm.names(), MARGIN_S)


# row:R14
@pytest.mark.limit(120)
def test_programs_of_the_first_job_have_the_time_of_their_daemons_if_srun_lives_on(slurm, trial):
    """More than the two seconds that processes have which the DVM ends."""
    one = trial(2, how="salloc", killed=False)
    seen = slurm.fresh("seen")
    seen.touch()
    running = one.dvm.start("prun", "-n", 2, "--map-by", "node", "sh", "-c", SAVES.format(seen=seen, seconds=3.5))
    assert [running.stdout.readline() for _ in one.names] == ["up\n"] * 2
    one.dvm.abandon()
    slurm.scancel(one.dvm.job.id)
    wait_until(lambda: sorted(seen.read_text().split()) == one.names, limit_s=15, what="all have saved")
    one.wait_for_jobs([])
    check_gone(one.dvm, slurm.names(), MARGIN_S)


def kill_salloc(one):
    for pid in of_node(one.bed, one.dvm.head, "salloc "):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not of_node(one.bed, one.dvm.head, "salloc "), what="salloc is gone")


# It needs some time for what it has to save.
SAVES = "trap 'sleep {seconds}; hostname >> {seen}; exit 0' TERM; echo up; while :; do sleep 0.1; done"


# row:R14
@pytest.mark.limit(120)
@pytest.mark.parametrize("how", ["batch", "salloc"])
def test_programs_on_nodes_of_a_grow_have_the_time_that_slurm_gives_them(slurm, trial, how):
    """Those of the first job not always: if srun is ended with it, it kills its tasks at once."""
    one = trial(2, how=how)
    came, job = grown(one, 2)
    seen = slurm.fresh("seen")
    seen.touch()
    running = one.dvm.start("prun", "-n", 4, "--map-by", "node", "sh", "-c", SAVES.format(seen=seen, seconds=2))
    assert [running.stdout.readline() for _ in range(4)] == ["up\n"] * 4
    slurm.scancel(job)
    wait_until(lambda: set(seen.read_text().split()) >= set(came), limit_s=15, what=f"{came} have saved")
    one.wait_for_jobs([one.dvm.job.id])
    one.unhurt()


# row:E12 row:R14
@pytest.mark.limit(120)
def test_daemons_tell_that_slurm_ends_their_job_when_nobody_else_does(slurm, trial):
    """Its nodes leave in good order before Slurm kills what is there."""
    one = trial(2, prtemca={"ras_slurm_first_look": "10m", "ras_slurm_last_look": "10m"})
    came, job = grown(one, 2)
    kill_salloc(one)
    everywhere(one.dvm, [*one.names, *came])
    slurm.scancel(job)
    wait_until(lambda: one.dvm.names() == one.names, limit_s=15, what=f"{came} have left")
    told(one.dvm, f"Slurm job {job} ")
    assert not happened(one.dvm, "node-lost")
    gone(one.dvm, came)  # files, too, which nobody would have removed after SIGKILL
    one.wait_for_jobs([one.dvm.job.id])
    one.unhurt()


@pytest.mark.limit(120)
def test_nodes_stay_when_their_salloc_is_killed_and_their_job_goes_with_them(slurm, trial):
    one = trial(2)
    came, job = grown(one, 2)
    kill_salloc(one)
    everywhere(one.dvm, [*one.names, *came])
    assert job in one.jobs()
    said = one.dvm.tool("tide", "shrink", "--host", ",".join(came), "--wait")
    assert said.returncode == 0, said.stderr
    one.wait_for_jobs([one.dvm.job.id])
    one.unhurt()
