"""Every state and every error state of a job, reached in a running DVM and compared with the order of the text."""

import os
import re
import signal

import pytest

from dvm import BIN, Dvm, transitions_in, wait_until
from jobs import last_job, steps_of

PROGRAMS = BIN.parent / "tests" / "programs"
BEGIN = ["INIT", "INIT_COMPLETE", "ALLOCATE", "ALLOCATION_COMPLETE"]
UP_TO_MAP = [*BEGIN, "LAUNCH_DAEMONS", "DAEMONS_REPORTED", "VM_READY", "MAP"]
UP_TO_LAUNCH = [*UP_TO_MAP, "MAP_COMPLETE", "SYSTEM_PREP", "LAUNCH_APPS", "SEND_LAUNCH_MSG"]
RUNS = [*UP_TO_LAUNCH, "STARTED", "RUNNING"]
END = ["NOTIFY_COMPLETED", "NOTIFIED"]
# A message between daemons may be so small that the map of a job with many processes does not fit.
SMALL_MESSAGES = "64k"


@pytest.fixture(scope="module")
def dvm():
    dvm = Dvm(nodes=3, slots=4, prtemca={"state_base_verbose": 5, "tide_kill_grace": "300ms",
                                         "prte_max_msg_size": SMALL_MESSAGES})
    try:
        yield dvm.up()
    finally:
        dvm.close()


def run(dvm, *argv):
    done = dvm.run(*argv)
    return done.returncode, steps_of(dvm, last_job(dvm))


def held_and_released(dvm):
    job = dvm.start("tide", "run", "-n", "2", "--stop-in-init", PROGRAMS / "pmix_hello")
    wait_until(lambda: "-> PRTE_JOB_STATE_READY_FOR_DEBUG" in dvm.log_text(), what="the job is held")
    number = last_job(dvm)
    assert dvm.tool("tide", "kill", number, "--signal", "CONT").returncode == 0
    return dvm.finish(job).returncode, steps_of(dvm, number)


def killed(dvm):
    job = dvm.start("tide", "run", "-n", "2", "sh", "-c", "echo up; exec sleep 1000")
    job.stdout.readline()
    number = last_job(dvm)
    assert dvm.tool("tide", "kill", number).returncode == 0
    return dvm.finish(job).returncode, steps_of(dvm, number)


def never_launched(dvm):
    stopped = dvm.daemon_pids()["v2"]
    os.kill(stopped, signal.SIGSTOP)
    try:
        job = dvm.start("tide", "run", "-n", "2", "--host", "v2", "--spawn-timeout", "1", "sleep", "1000")
        wait_until(lambda: "NEVER_LAUNCHED" in dvm.log_text(), what="its time is over")
    finally:
        os.kill(stopped, signal.SIGCONT)
    return dvm.finish(job).returncode, steps_of(dvm, last_job(dvm))


def not_staged(dvm):
    archive = dvm.tmpdir / "broken.tar"
    archive.write_text("this is no archive\n" * 100)
    return run(dvm, "-n", "1", "--preload-files", archive, "true")


def held_by_a_grow(make_dvm):
    """The way of a job that comes while the DVM grows."""
    dvm = make_dvm(nodes=1, up_options=["--elastic", "--pool", "1"],
                   prtemca={"state_base_verbose": 1, "tide_failpoint": "action.launch_daemons@2:hold"})
    growing = dvm.start("tide", "grow", "--count", "1", "--wait")
    wait_until(lambda: dvm.status()["campaigns"], what="the DVM grows")
    job = dvm.start("tide", "run", "-n", "1", "true")
    wait_until(lambda: "-> PRTE_JOB_STATE_WAITING_FOR_DAEMONS" in dvm.log_text(), what="the job is held")
    number = last_job(dvm)
    assert dvm.tool("tide", "debug", "release", "action.launch_daemons").returncode == 0
    assert dvm.finish(growing).returncode == 0
    assert dvm.finish(job).returncode == 0
    return steps_of(dvm, number)


# What is done, the exit status, and the way of the job.
WAYS = {
    "ends well": (lambda dvm: run(dvm, "-n", "2", "true"), 0, [*RUNS, "TERMINATED", *END]),
    "is PMIx's": (lambda dvm: run(dvm, "-n", "2", PROGRAMS / "pmix_hello"), 0,
                  [*RUNS, "REGISTERED", "TERMINATED", *END]),
    "is held": (held_and_released, 0, None),
    "is only shown": (lambda dvm: run(dvm, "-n", "2", "--do-not-launch", "true"), 0,
                      [*BEGIN, "DAEMONS_REPORTED", "VM_READY", "MAP", "MAP_COMPLETE", "TERMINATED", *END]),
    "KILLED_BY_CMD": (killed, 143, [*RUNS, "KILLED_BY_CMD", *END]),
    "ABORTED": (lambda dvm: run(dvm, "-n", "1", "sh", "-c", "exit 5"), 5, [*RUNS, "ABORTED", *END]),
    "FAILED_TO_START": (lambda dvm: run(dvm, "-n", "1", "no-such-program"), 127,
                        [*UP_TO_LAUNCH, "FAILED_TO_START", *END]),
    "NEVER_LAUNCHED": (never_launched, 124, [*UP_TO_LAUNCH, "NEVER_LAUNCHED", *END]),
    "FORCED_EXIT": (lambda dvm: run(dvm, "-n", "1", "--timeout", "1", "sleep", "1000"), 124,
                    [*RUNS, "FORCED_EXIT", *END]),
    "FILES_POSN_FAILED": (not_staged, 123, [*UP_TO_MAP[:-1], "FILES_POSN_FAILED", *END]),
    "ALLOC_FAILED": (lambda dvm: run(dvm, "-n", "1", "--host", "v77", "true"), 125,
                     [*BEGIN[:3], "ALLOC_FAILED", *END]),
    "MAP_FAILED": (lambda dvm: run(dvm, "-n", "1000", "true"), 125, [*UP_TO_MAP, "MAP_FAILED", *END]),
    "CANNOT_LAUNCH": (lambda dvm: run(dvm, "-n", "20000", "--map-by", "node:OVERSUBSCRIBE", "true"), 122,
                      [*UP_TO_LAUNCH, "CANNOT_LAUNCH", *END]),
}


# row:L1
# row:L3
# row:L17
def test_every_state_is_reached_in_the_order_of_the_text(dvm, make_dvm):
    seen = set(dvm.transitions(0))
    for name, (do, status, way) in WAYS.items():
        got, steps = do(dvm)
        assert got == status, (name, steps)
        if way is not None:
            assert steps == way, name
        seen.update(steps)
    assert "READY_FOR_DEBUG" in seen and len([step for step in seen if step in WAYS]) == 9
    assert dvm.run("-n", "12", "true").returncode == 0, "the DVM goes on"
    assert all(node["processes"] == 0 for node in dvm.status()["nodes"])
    held = held_by_a_grow(make_dvm)
    assert held == [*UP_TO_MAP[:-1], "WAITING_FOR_DAEMONS", "VM_READY", *RUNS[len(UP_TO_MAP) - 1:], "TERMINATED", *END]
    seen.update(held)
    in_table = set(re.findall(r"PRTE_JOB_STATE_(\w+) \(\d+\)", dvm.log_text()))
    one_shot = make_dvm(nodes=1).tool("prterun", "--nodes", "2", "-n", "1", "--prtemca", "state_base_verbose", "1", "true")
    seen.update(transitions_in(one_shot.stderr, 0))
    own = set(re.findall(r"PRTE_JOB_STATE_(LOCAL_LAUNCH_COMPLETE)$", dvm.log_text("v1"), re.M))
    assert in_table and in_table - seen - own == set(), "a state of the table that no job has come to"
