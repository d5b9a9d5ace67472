"""A scheduler whose commands fail, lie, hang or talk nonsense: the request fails and says why, in time; the DVM lives,
answers, runs jobs, and grows as soon as the commands work again."""

import os
import re
import signal

import pytest

from dvm import wait_until
from growing import DONE, REFUSED, UNDONE, done, tide
from swarm_dvm import everywhere
from trials import COMMAND_LIMIT_S, ReadyDvm, trial  # noqa: F401

NONSENSE = "\0\x01\x1b[2J|||=,[[]-9\0JobId=\0salloc: job queued\nSLURM_JOB_ID=\0\u00ff\u0000" * 4 + "\n"
MEGABYTES = NONSENSE * 50_000
GRACE_S = 2 + 5  # for a command that was told to end
MARGIN_S = 6  # two cores for everything
SILENT_S = COMMAND_LIMIT_S + GRACE_S + MARGIN_S


def environment(job, nodes="node9", cores="4"):
    """What salloc hands on to its command."""
    return f"SLURM_JOB_ID={job}\0SLURM_JOB_NODELIST={nodes}\0SLURM_JOB_CPUS_PER_NODE={cores}\0"


def quick_and_long(names, *quick):
    """All of these, of which those that are not quick take long."""
    return [pytest.param(name, marks=() if name in quick else pytest.mark.long) for name in names]


# ---- salloc ----

# How it is wrong, and what is said of it.
FAILURES = {
    "fails": (dict(exit=1, complain="salloc: error: Job submit/allocate failed: Invalid account\n"), "Invalid account"),
    "fails without a word": (dict(exit=7), "salloc failed: "),
    "gives nothing": (dict(exit=0), "without having given nodes"),
    "talks nonsense": (dict(exit=0, say=NONSENSE, complain=NONSENSE), "salloc"),
    "fails with megabytes": (dict(exit=3, say=MEGABYTES, complain=MEGABYTES), "salloc"),
    "hangs": (dict(hang="soft"), "salloc did not answer in time"),
    "is deaf": (dict(hang="deaf"), "salloc did not answer in time"),
    "hangs with megabytes": (dict(hang="soft", say=MEGABYTES, complain=MEGABYTES), "salloc"),
}
LIES = {
    "a job that nobody knows": (environment("99999"), "99999"),
    "the job of the DVM": (environment("{parent}"), "{parent}"),
    "no number": (environment("$(touch {file})"), "touch"),
    "an option": (environment("99999", "-x;rm"), "SLURM_JOB_NODELIST"),
    "a command": (environment("99999", "$(touch {file}),node9", "4(x2)"), "SLURM_JOB_NODELIST"),
    "no nodes": (environment("99999", "", ""), "SLURM_JOB_NODELIST"),
    "more nodes than there are": (environment("99999", "node[1-999999999]"), "SLURM_JOB_NODELIST"),
    "more cores than nodes": (environment("99999", "node9", "4(x3)"), "can't be read"),
}


# row:E5
@pytest.mark.limit(120)
def test_salloc_fails(trial):
    one = trial()
    for how, (misbehaviour, words) in FAILURES.items():
        with one.wrong("salloc", **misbehaviour):
            said, _ = one.grow(status=REFUSED, within_s=SILENT_S)
        assert words in said, f"salloc {how}: {said}"
        assert "\0" not in said and "\x1b" not in said and len(said) < 1000, f"salloc {how}: {said!r}"
    one.unhurt()


@pytest.mark.limit(120)
def test_salloc_lies(slurm, trial):
    """It holds what it says it has got, as the real one does, and listens to nobody but signals."""
    one = trial()
    file = slurm.fresh("made")
    names = {"parent": one.dvm.job.id, "file": file}
    for what, (lie, words) in LIES.items():
        with one.wrong("salloc", say=lie.format(**names), hang="soft"):
            said, _ = one.grow(status=REFUSED, within_s=SILENT_S)
        assert words.format(**names) in said, f"{what}: {said}"
        assert one.dvm.job.state() == "RUNNING", what
    assert not file.exists()
    one.unhurt()


def test_salloc_hands_on_a_job_that_it_has_not_made(slurm, trial):
    """It runs, and is this user's: the DVM may use it. It is not the DVM's to cancel."""
    one = trial()
    other = slurm.submit("sleep 300", options=["-w", "node9"]).wait_for("RUNNING")
    with one.wrong("salloc", say=environment(other.id), hang="soft"):
        _, came = one.grow()
        assert came == ["node9"]
        done(one.dvm, "shrink", "--host", "node9")
        wait_until(lambda: one.shims.calls("scancel"), what="what salloc has left is seen to")
    assert other.state() == "RUNNING"
    other.cancel()
    other.wait_for(None)
    one.unhurt()


def test_salloc_is_late(trial):
    one = trial()
    with one.wrong("salloc", delay_s=COMMAND_LIMIT_S / 2, complain="salloc: one moment\n"):
        one.grow()


@pytest.mark.limit(120)
def test_salloc_tells_of_a_job_in_the_queue_that_nobody_knows(trial):
    """So does a real one, when slurmctld was killed before it had saved the job."""
    one = trial()
    with one.wrong("salloc", complain="salloc: job 99999 queued and waiting for resources\n", hang="soft"):
        said, _ = one.grow(status=REFUSED, within_s=SILENT_S)
    assert "99999" in said, said
    one.unhurt()


# ---- scontrol ----

ANY = {
    "fails": dict(exit=1, complain="scontrol: error: Access/permission denied\n"),
    "talks nonsense": dict(exit=0, say=NONSENSE, complain=NONSENSE),
    "talks megabytes": dict(exit=0, say=MEGABYTES, complain=MEGABYTES),
    "hangs": dict(hang="soft"),
    "is deaf": dict(hang="deaf", say=MEGABYTES),
}


@pytest.mark.limit(120)
def test_scontrol_does_not_show_jobs(slurm, trial):
    """What salloc has told is enough."""
    one = trial()
    for how, misbehaviour in ANY.items():
        with one.wrong("scontrol", **misbehaviour):
            _, came = one.grow(within_s=SILENT_S)
            everywhere(one.dvm, [*one.names, *came])
            done(one.dvm, "shrink", "--host", ",".join(came))
        one.wait_for_jobs([one.dvm.job.id])
    with one.wrong("scontrol", exit=1, complain="slurm_load_jobs error: Invalid job id specified\n", matching="show job"):
        said, _ = one.grow(status=REFUSED, within_s=SILENT_S)
        assert "is over" in said, said
    one.unhurt()


@pytest.mark.limit(120)
@pytest.mark.parametrize("how", quick_and_long(ANY, "fails", "talks nonsense", "hangs"))
def test_scontrol_does_not_make_a_job_smaller(slurm, trial, how):
    """The node leaves the DVM all the same, and can be had again as soon as Slurm's word on it is known."""
    one = trial(3)
    victim = one.names[-1]
    with one.wrong("scontrol", matching="update", **ANY[how]):
        done(one.dvm, "shrink", "--host", victim)
        everywhere(one.dvm, one.names[:-1])
    if how == "fails":
        one.grow("--host", victim)
    one.wait_agreed()
    everywhere(one.dvm, one.dvm.names())


@pytest.mark.limit(120)
def test_scontrol_does_not_give_more_time(trial):
    one = trial()
    said, came = one.grow("--count", 1, "--time", "2m")
    (allocation,) = re.findall(r"allocation (a\d+)", said)
    for how, misbehaviour in ANY.items():
        if misbehaviour.get("exit") == 0:
            continue  # who says that it went well is believed
        with one.wrong("scontrol", matching="update", **misbehaviour):
            refused = tide(one.dvm, "grow", "--extend", allocation, "--time", "2m")
        assert refused.returncode == REFUSED and "scontrol" in refused.stderr, refused.stdout + refused.stderr
    assert done(one.dvm, "grow", "--extend", allocation, "--time", "1m")
    everywhere(one.dvm, [*one.names, *came])


def test_scontrol_is_of_no_use_at_the_start(trial):
    one = trial(ready=lambda it: it.shims.set("scontrol", **ANY["is deaf"]))
    everywhere(one.dvm, one.names)
    one.shims.clear()
    one.unhurt()


# ---- squeue ----

LISTS = {
    **{how: ANY[how] for how in ("fails", "talks nonsense", "talks megabytes", "hangs")},
    "says nothing": dict(exit=0),
    "lies that our job is over": dict(exit=0, say="{parent}|COMPLETED|{soon}|None|\n"),
    "lies that our job has lost its nodes": dict(exit=0, say="{parent}|RUNNING|{soon}|None|\n"),
    "lies that our job has others": dict(exit=0, say="{parent}|RUNNING|{soon}|None|node[9-10]\n"),
    "names commands as nodes": dict(exit=0, say="{parent}|RUNNING|{soon}|None|node1,$(touch {file}),-x;rm\n"),
}


@pytest.mark.limit(120)
def test_squeue_is_wrong(slurm, trial):
    """It is never believed alone."""
    one = trial()
    file = slurm.fresh("made")
    names = {"parent": one.dvm.job.id, "file": file, "soon": 1}
    _, came = one.grow()
    there = [*one.names, *came]
    for how, misbehaviour in LISTS.items():
        said = {**misbehaviour, "say": misbehaviour.get("say", "").format(**names)} if "lies" in how or "names" in how else misbehaviour
        with one.wrong("squeue", **said):
            one.wait_for_calls("squeue", 2)
            everywhere(one.dvm, there)
    assert one.dvm.names() == sorted(there, key=lambda name: int(name[4:])) and not file.exists()
    done(one.dvm, "shrink", "--host", ",".join(came))
    one.unhurt()


# ---- scancel ----

@pytest.mark.limit(120)
@pytest.mark.parametrize("how", quick_and_long([name for name, how in ANY.items() if how.get("exit") != 0], "fails"))
def test_scancel_is_tried_again(slurm, trial, how):
    """A job that nobody holds any more, because its salloc was killed, is cancelled at last."""
    one = trial()
    _, came = one.grow()
    for (_, pid), words in slurm.processes([one.dvm.head]).items():
        if words.startswith("salloc "):
            os.kill(pid, signal.SIGKILL)
    one.wait_for_calls("scontrol", matching="show job")
    with one.wrong("scancel", **ANY[how]):
        done(one.dvm, "shrink", "--host", ",".join(came))
        wait_until(lambda: one.shims.calls("scancel"), what="scancel is called")
        everywhere(one.dvm, one.names)
    one.unhurt()


# ---- srun ----

STEPS = {
    "fails": (dict(exit=1, complain="srun: error: Unable to confirm allocation for job 1: Access denied\n"), "Access denied"),
    "fails without a word": (dict(exit=3), "exit status 3"),
    "does nothing": (dict(exit=0), "srun"),
    "talks nonsense": (dict(exit=0, say=NONSENSE, complain=NONSENSE), "srun"),
    "talks megabytes": (dict(exit=1, say=MEGABYTES, complain=MEGABYTES), "srun"),
    "hangs": (dict(hang="soft"), "nothing was heard"),
    "is deaf": (dict(hang="deaf", say=MEGABYTES), "nothing was heard"),
    "lies": (dict(hang="soft", say="".join(f"{task}: tide-step-greets {rank} 1 1\n{task}: tide-step-joined {rank} 1\n"
                                           for task, rank in enumerate(range(1, 9)))), ""),
}
STEP_TIMEOUT_S = 3
PROMPT_STEPS = {"plm_step_timeout": f"{STEP_TIMEOUT_S}s", "tide_start_timeout": f"{STEP_TIMEOUT_S}s",
                "tide_grow_timeout": f"{2 * STEP_TIMEOUT_S}s"}
STEP_LIMIT_S = 2 * STEP_TIMEOUT_S + 8 + MARGIN_S  # the ways to end it take eight


@pytest.mark.limit(120)
@pytest.mark.parametrize("how", quick_and_long(STEPS, "fails", "does nothing", "talks nonsense", "hangs"))
def test_srun_is_wrong_at_the_start(slurm, how):
    misbehaviour, words = STEPS[how]
    shims = slurm.shims()
    shims.set("srun", **misbehaviour)
    dvm = ReadyDvm(slurm, 2, shims=shims, prtemca=PROMPT_STEPS)
    try:
        assert dvm.try_up(limit_s=STEP_LIMIT_S).returncode != 0
        assert re.search(r"could not be started|did not", dvm.said()) and words in dvm.said(), dvm.said()
        assert dvm.exit_status() == 1
    finally:
        dvm.close()


@pytest.mark.limit(180)
def test_srun_is_wrong_at_a_grow(trial):
    one = trial(prtemca=PROMPT_STEPS)
    for how, (misbehaviour, words) in STEPS.items():
        with one.wrong("srun", **misbehaviour):
            said, _ = one.grow(status=UNDONE, within_s=STEP_LIMIT_S)
        assert words in said, f"srun {how}: {said}"
    one.unhurt()


def test_srun_is_late_and_noisy(trial):
    one = trial(ready=lambda it: it.shims.set("srun", delay_s=2, say=MEGABYTES, complain=NONSENSE))
    one.unhurt()


# ---- names ----

# Words that a shell would act upon, and that a command would take for its options.
WORDS = ["$(touch {file})", "`touch {file}`", "node3;touch {file}", "node3|touch {file}", "node3&touch {file}", "node3\ntouch {file}",
         "node3>{file}", "-x;touch {file}", "--uid=0", "-w", "node3 --begin=now", "../node3", "node3\x1b[2J"]


def test_a_name_that_is_no_name_reaches_no_command(slurm, trial):
    one = trial()
    file = slurm.fresh("made")
    for word in WORDS:
        said = tide(one.dvm, "grow", "--host=" + word.format(file=file))
        assert said.returncode != DONE, f"{word!r}: {said.stdout}"
        assert said.stderr.startswith("tide grow: ") and "\x1b" not in said.stderr, said.stderr
    for word in WORDS:
        ran = one.dvm.tool("prun", "--add-host", word.format(file=file), "-n", 1, "true")
        assert ran.returncode != DONE, f"{word!r}: {ran.stdout}"
    assert not one.shims.calls("salloc") and not file.exists()
    one.unhurt()


def test_words_of_people_reach_salloc_as_they_are(slurm, trial):
    """Options of salloc that the DVM was given are words; no shell looks at them."""
    file = slurm.fresh("made")
    word = f"--comment=$(touch {file}) `touch {file}`;touch {file}"
    one = trial(env={"PRTE_MCA_ras_slurm_args": f"'{word}'"})
    one.grow()
    assert word in one.shims.calls("salloc")[-1] and not file.exists()
