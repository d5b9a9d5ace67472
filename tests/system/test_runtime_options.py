"""What people decide about a job: its map shown, failures that end nothing, time limits, no client."""

import os
import re
import signal

import pytest

from dvm import BIN, Dvm, transitions_in, wait_until
from jobs import Gate, last_job, steps_of

PROGRAMS = BIN.parent / "tests" / "programs"
ONLY_SHOWN = ["INIT", "INIT_COMPLETE", "ALLOCATE", "ALLOCATION_COMPLETE", "DAEMONS_REPORTED", "VM_READY", "MAP",
              "MAP_COMPLETE", "TERMINATED", "NOTIFY_COMPLETED", "NOTIFIED"]


@pytest.fixture(scope="module")
def logged_dvm():
    dvm = Dvm(nodes=4, slots=4, prtemca={"state_base_verbose": 1, "tide_kill_grace": "300ms"})
    try:
        yield dvm.up()
    finally:
        dvm.close()


def running(dvm):
    return sum(row["running"] for row in dvm.jobs()["jobs"])


# ---- shown, not started ----

# row:L4
@pytest.mark.parametrize("how", [("--do-not-launch",), ("--map-by", "node:display"), ("--rtos", "donotlaunch")],
                         ids=["option", "map-by", "runtime option"])
def test_a_job_is_mapped_shown_and_not_started(logged_dvm, how):
    trace = logged_dvm.tmpdir / "started"
    options = how if "--map-by" in how else ("--map-by", "node", *how)
    done = logged_dvm.run("-n", "6", *options, "touch", trace)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert "6 processes on 4 nodes" in done.stdout
    assert lines[2:] == [["v1", "2", "0,4"], ["v2", "2", "1,5"], ["v3", "1", "2"], ["v4", "1", "3"]]
    assert not trace.exists()
    assert steps_of(logged_dvm, last_job(logged_dvm)) == ONLY_SHOWN


def test_a_map_is_shown_before_the_output(logged_dvm):
    done = logged_dvm.run("-n", "2", "--display", "map", "echo", "hello")
    assert re.fullmatch(r"job \S+: 2 processes on 1 node\nnode  processes  ranks\nv1    2          0-1\n(hello\n){2}", done.stdout)


# ---- failures ----

def all_but_one_go_on(dvm, options, failing):
    """Rank 1 does `failing`; the three others wait until the test has seen that they are alone."""
    gate = Gate(dvm.tmpdir / f"gate-{last_job(dvm) if dvm.jobs('--all')['jobs'] else 0}")
    job = dvm.start("tide", "run", "-n", "4", "--map-by", "node", *options, "sh", "-c",
                    f'if [ $TIDE_RANK = 1 ]; then {failing}; fi; echo alive; {gate.wait_command()}; echo on')
    wait_until(lambda: running(dvm) == 3, what="one process less")
    wait_until(lambda: gate.try_open() and False or job.poll() is not None, what="the others end")
    return dvm.finish(job)


def test_a_nonzero_status_may_end_nothing(logged_dvm):
    done = all_but_one_go_on(logged_dvm, ("--runtime-options", "error-nonzero-status=no"), "exit 7")
    assert (done.returncode, done.stdout.count("on\n")) == (7, 3), done.stderr
    assert "process 1" in done.stderr and "exited with status 7" in done.stderr
    assert steps_of(logged_dvm, last_job(logged_dvm))[-3:] == ["TERMINATED", "NOTIFY_COMPLETED", "NOTIFIED"]


def test_a_recoverable_job_outlives_a_killed_process(logged_dvm):
    done = all_but_one_go_on(logged_dvm, ("--rtos", "recoverable"), "kill -KILL $$")
    assert (done.returncode, done.stdout.count("on\n")) == (128 + signal.SIGKILL, 3), done.stderr


def test_a_recoverable_job_outlives_a_node(make_dvm):
    dvm = make_dvm(nodes=4, slots=2)
    gate = Gate(dvm.tmpdir / "gate")
    job = dvm.start("tide", "run", "-n", "4", "--map-by", "node", "--rtos", "recoverable", "sh", "-c",
                    f"echo up; {gate.wait_command()}; echo on")
    assert [job.stdout.readline() for _ in range(4)] == ["up\n"] * 4
    os.kill(dvm.daemon_pids()["v3"], signal.SIGKILL)
    wait_until(lambda: running(dvm) == 3, what="one process less")
    wait_until(lambda: gate.try_open() and False or job.poll() is not None, what="the others end")
    done = dvm.finish(job)
    assert (done.returncode, done.stdout) == (120, "on\n" * 3), done.stderr
    assert "node v3 was lost with rank 2" in done.stderr


def test_the_others_are_told_of_a_failure(logged_dvm):
    done = logged_dvm.run("-n", "4", "--map-by", "node", "--rtos", "recoverable,notifyerrors",
                          PROGRAMS / "pmix_survivor", 2)
    assert done.stdout == "event -402 about 2\n" * 3, done.stderr
    assert done.returncode == 128 + signal.SIGKILL


# ---- another try ----

def once(dvm, failing, then):
    """Shell text: rank 1 does `failing` the first time."""
    mark = dvm.tmpdir / f"mark-{len(list(dvm.tmpdir.glob('mark-*')))}"
    return f'if [ $TIDE_RANK = 1 ] && mkdir {mark} 2>/dev/null; then {failing}; fi; {then}'


def test_a_process_that_failed_is_started_again(logged_dvm):
    script = once(logged_dvm, "echo first; exit 3", "echo hello $TIDE_RANK")
    done = logged_dvm.run("-n", "4", "--map-by", "node", "--rtos", "autorestart", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["first"] + [f"hello {rank}" for rank in range(4)]
    assert "a process that failed was started again\n" in done.stderr


def test_a_process_that_always_fails_is_given_up(logged_dvm):
    done = logged_dvm.run("-n", "2", "--rtos", "max-restarts=2", "sh", "-c", "echo try; [ $TIDE_RANK = 0 ] || exit 9")
    assert (done.returncode, done.stdout.count("try\n")) == (9, 4), done.stderr
    assert "exited with status 9" in done.stderr


@pytest.mark.parametrize("hosts", ["v1:4", "v1:2,v2:2", "v1:1,v2:1,v3:1,v4:1"])
def test_a_process_that_is_started_again_is_there_for_pmix(logged_dvm, hosts):
    script = once(logged_dvm, f"{PROGRAMS}/pmix_nested; kill -KILL $$", f"exec {PROGRAMS}/pmix_nested 1 before")
    done = logged_dvm.run("-n", "4", "--host", hosts, "--rtos", "autorestart", "sh", "-c", script)
    assert (done.returncode, done.stdout) == (0, "met\n" * 4), done.stderr


def test_all_that_was_written_before_and_after_is_there(logged_dvm):
    script = once(logged_dvm, "seq 1 200000; exit 1", "seq 1 200000")
    done = logged_dvm.run("-n", "2", "--map-by", "node", "--rtos", "continuous", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3 * 200000


# ---- time ----

# row:L17
def test_a_launch_that_takes_too_long(logged_dvm):
    stopped = logged_dvm.daemon_pids()["v2"]
    os.kill(stopped, signal.SIGSTOP)
    try:
        job = logged_dvm.start("tide", "run", "-n", "2", "--map-by", "node", "--host", "v1,v2", "--spawn-timeout", "1",
                               "--report-state-on-timeout", "sleep", "1000")
        wait_until(lambda: "NEVER_LAUNCHED" in transitions_in(logged_dvm.log_text(), last_job(logged_dvm)),
                   what="it was not launched in time")
    finally:
        os.kill(stopped, signal.SIGCONT)
    done = logged_dvm.finish(job)
    assert done.returncode == 124
    assert "not all its processes ran within 1 s, its --spawn-timeout" in done.stderr
    assert re.search(r"was PRTE_JOB_STATE_STARTED\n    process 0 on node v1, pid \d+: PRTE_PROC_STATE_RUNNING\n"
                     r"    process 1 on node v2: PRTE_PROC_STATE_INIT", done.stderr), done.stderr
    assert steps_of(logged_dvm, last_job(logged_dvm))[-3:] == ["NEVER_LAUNCHED", "NOTIFY_COMPLETED", "NOTIFIED"]


# ---- without a client ----

def test_a_detached_job_goes_on(logged_dvm):
    done = logged_dvm.run("--detach", "-n", "2", "sleep", "1000")
    assert (done.returncode, done.stderr) == (0, "")
    job = done.stdout.strip()
    assert [row["namespace"] for row in logged_dvm.jobs()["jobs"]] == [job]
    wait_until(lambda: running(logged_dvm) == 2, what="it runs")
    assert logged_dvm.tool("tide", "kill", job).returncode == 0
    wait_until(lambda: not logged_dvm.jobs()["jobs"], what="it ends")


def test_what_is_wrong_with_a_detached_job_is_said(logged_dvm):
    done = logged_dvm.run("--detach", "-n", "1000", "true")
    assert (done.returncode, done.stdout) == (125, "") and "slots" in done.stderr


def test_the_status_of_a_child_may_be_its_own(logged_dvm):
    done = logged_dvm.run("-n", "1", "--rtos", "report-child-jobs-separately", PROGRAMS / "pmix_spawn", 1, "sh", "-c",
                          "sleep 0.3; exit 5")
    assert done.returncode == 0 and "exited with status 5" in done.stderr


# ---- signals and variables ----

def test_a_signal_is_passed_on_in_place_of_ending_the_job(logged_dvm):
    job = logged_dvm.start("tide", "run", "-n", "2", "--forward-signals", "TERM,USR1", "sh", "-c",
                           "trap 'echo got it; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
    assert [job.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    job.send_signal(signal.SIGTERM)
    done = logged_dvm.finish(job)
    assert (done.returncode, done.stdout) == (0, "got it\n" * 2), done.stderr


# row:L20
def test_the_variables_of_open_mpi(logged_dvm):
    script = "echo $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE $OMPI_COMM_WORLD_LOCAL_RANK/$OMPI_COMM_WORLD_LOCAL_SIZE " \
             "$OMPI_UNIVERSE_SIZE $OMPI_NUM_APP_CTX"
    done = logged_dvm.run("-n", "3", "--personality", "ompi", "--host", "v1:2,v2:1", "sh", "-c", script)
    assert sorted(done.stdout.splitlines()) == ["0/3 0/2 16 1", "1/3 1/2 16 1", "2/3 0/1 16 1"], done.stderr
    plain = logged_dvm.run("-n", "1", "sh", "-c", "echo $OMPI_COMM_WORLD_RANK")
    assert plain.stdout == "\n"
