"""How runs end: statuses, signals, clients that go away."""

import os
import signal

import pytest

from dvm import TIME_SCALE, Dvm, is_alive, wait_until

# Catches one signal, says so and ends well.
CATCHING = "trap 'echo caught; exit 0' {0}; echo up; while :; do sleep 0.05; done"
STUBBORN = "trap '' INT TERM HUP; echo $$; while :; do sleep 1000; done"


@pytest.fixture(scope="module")
def patient_dvm():
    """Leaves so much time between the gentle signal and SIGKILL that no test reaches it."""
    dvm = Dvm(nodes=2, slots=4, prtemca={"tide_kill_grace": "600s"})
    try:
        yield dvm.up()
    finally:
        dvm.close("--force")


@pytest.fixture(scope="module")
def brisk_dvm():
    dvm = Dvm(nodes=2, slots=4, prtemca={"tide_kill_grace": "200ms"})
    try:
        yield dvm.up()
    finally:
        dvm.close()


def all_gone(pids):
    wait_until(lambda: not any(map(is_alive, pids)), what="the processes end")


# row:L17
@pytest.mark.user
@pytest.mark.parametrize("script, status", [
    ("exit 0", 0), ("exit 1", 1), ("exit 255", 255), ("kill -KILL $$", 137), ("kill -ABRT $$", 134),
    ("[ $TIDE_RANK = 1 ] && exit 3; exec sleep 1000", 3),
    ("[ $TIDE_RANK = 1 ] && kill -SEGV $$; exec sleep 1000", 139)])
def test_exit_status_is_the_jobs(shared_dvm, script, status):
    done = shared_dvm.run("-n", "4", "--map-by", "node", "sh", "-c", script)
    assert done.returncode == status
    assert (done.stderr == "") == (status == 0)
    assert not [words for words in shared_dvm.processes().values() if words.startswith("sleep 1000")]


def test_message_names_job_process_and_node(shared_dvm):
    done = shared_dvm.run("-n", "1", "--host", "v3", "sh", "-c", "exit 6")
    namespace = shared_dvm.jobs("--all")["jobs"][-1]["namespace"]
    assert f"job {namespace}: process 0 " in done.stderr
    assert "on node v3 exited with status 6" in done.stderr


# row:L17
@pytest.mark.parametrize("argv, status", [
    (["no-such-program"], 127), (["./no-such-program"], 127), (["/etc/passwd"], 126), (["/tmp"], 126),
    (["-n", "17", "true"], 125), (["--host", "v1:1", "-n", "2", "true"], 125), (["--host", "nowhere", "true"], 125)])
def test_job_that_cannot_start(shared_dvm, argv, status):
    done = shared_dvm.run(*argv)
    assert done.returncode == status, done.stderr
    named = "nowhere" if "nowhere" in argv else argv[-1]
    assert done.stdout == "" and named in done.stderr


@pytest.mark.parametrize("argv", [
    [], ["-n", "0", "true"], ["-n", "x", "true"], ["--no-such-option", "true"], ["--map-by", "planet", "true"],
    ["--timeout", "soon", "true"], ["-n"], ["-n", "1", "true", ":"], ["--output", "loud", "true"], ["-x"]])
def test_command_line_without_sense(shared_dvm, argv):
    done = shared_dvm.run(*argv)
    assert done.returncode == 2, done.stderr
    assert done.stderr


def test_status_without_dvm_is_121(shared_dvm, tmp_path):
    assert shared_dvm.run("true", env={"TMPDIR": str(tmp_path)}).returncode == 121


def test_client_of_a_head_that_is_killed(dvm):
    job = dvm.start("tide", "run", "-n", "1", "sh", "-c", "echo up; exec sleep 1000")
    assert job.stdout.readline() == "up\n"
    os.kill(dvm.head_pid(), signal.SIGKILL)
    dvm.abandon()
    done = dvm.finish(job)
    assert done.returncode == 121 and "connection to the DVM" in done.stderr


# row:L17
def test_timeout_of_a_job_that_ignores_the_gentle_signal(brisk_dvm):
    job = brisk_dvm.start("tide", "run", "-n", "2", "--timeout", "1", "sh", "-c", STUBBORN)
    pids = [int(job.stdout.readline()) for _ in range(2)]
    done = brisk_dvm.finish(job)
    assert done.returncode == 124 and "longer than 1 s" in done.stderr
    all_gone(pids)


# ---- signals ----

@pytest.mark.user
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupt_ends_an_ordinary_job_at_once(patient_dvm, number):
    job = patient_dvm.start("prun", "-n", "3", "sh", "-c", "echo $$; exec sleep 1000")
    pids = [int(job.stdout.readline()) for _ in range(3)]
    job.send_signal(number)
    assert patient_dvm.finish(job).returncode == 128 + number
    all_gone(pids)


def test_signal_arrives_as_it_was_sent(patient_dvm):
    """A process may end in its own way on ^C."""
    job = patient_dvm.start("prun", "-n", "1", "sh", "-c", CATCHING.format("INT"))
    assert job.stdout.readline() == "up\n"
    job.send_signal(signal.SIGINT)
    done = patient_dvm.finish(job)
    assert done.stdout == "caught\n"
    assert done.returncode == 130


def test_one_interrupt_and_a_stubborn_child(brisk_dvm):
    """SIGKILL follows when the grace is over."""
    job = brisk_dvm.start("prun", "-n", "2", "sh", "-c", STUBBORN)
    pids = [int(job.stdout.readline()) for _ in range(2)]
    job.send_signal(signal.SIGINT)
    assert brisk_dvm.finish(job).returncode == 130
    all_gone(pids)


def test_wide_job_that_is_ended_while_it_starts(brisk_dvm):
    """What has not been started yet is not started any more, and the end does not wait for it."""
    job = brisk_dvm.start("prun", "-n", "30000", "--map-by", ":OVERSUBSCRIBE", "true")
    wait_until(lambda: any(one["state"].endswith("SEND_LAUNCH_MSG") for one in brisk_dvm.jobs()["jobs"]),
               what="the launch is under way")
    job.send_signal(signal.SIGTERM)
    assert brisk_dvm.finish(job).returncode == 143
    assert brisk_dvm.run("-n", "1", "true").returncode == 0


@pytest.mark.user
def test_second_interrupt_ends_a_stubborn_child_at_once(patient_dvm):
    job = patient_dvm.start("prun", "-n", "2", "sh", "-c", STUBBORN)
    pids = [int(job.stdout.readline()) for _ in range(2)]
    job.send_signal(signal.SIGINT)
    assert "once more" in job.stderr.readline()
    assert all(map(is_alive, pids))
    job.send_signal(signal.SIGINT)
    assert patient_dvm.finish(job).returncode == 130
    all_gone(pids)


def test_user_signals_reach_the_processes(patient_dvm):
    job = patient_dvm.start("prun", "-n", "2", "sh", "-c", CATCHING.format("USR1"))
    assert [job.stdout.readline() for _ in range(2)] == ["up\n"] * 2
    job.send_signal(signal.SIGUSR1)
    done = patient_dvm.finish(job)
    assert (done.returncode, done.stdout) == (0, "caught\ncaught\n")


# ---- tide kill ----

@pytest.mark.user
def test_kill_with_a_signal_sends_just_that(patient_dvm):
    job = patient_dvm.start("tide", "run", "-n", "1", "sh", "-c", CATCHING.format("USR2"))
    assert job.stdout.readline() == "up\n"
    namespace = patient_dvm.jobs()["jobs"][0]["namespace"]
    assert patient_dvm.tool("tide", "kill", namespace, "--signal", "USR2").returncode == 0
    done = patient_dvm.finish(job)
    assert (done.returncode, done.stdout) == (0, "caught\n")


# row:L17
def test_kill_ends_a_stubborn_job(brisk_dvm):
    job = brisk_dvm.start("tide", "run", "-n", "2", "sh", "-c", STUBBORN)
    pids = [int(job.stdout.readline()) for _ in range(2)]
    assert brisk_dvm.tool("tide", "kill", brisk_dvm.jobs()["jobs"][0]["number"]).returncode == 0
    assert brisk_dvm.finish(job).returncode == 143
    all_gone(pids)
    assert brisk_dvm.run("-n", "2", "true").returncode == 0


def test_kill_of_a_job_that_is_not_there(brisk_dvm):
    for job in ("4711", "tide-none-1-0@1"):
        done = brisk_dvm.tool("tide", "kill", job)
        assert done.returncode == 1 and job in done.stderr


# ---- clients that go away ----

# row:L17
@pytest.mark.user
def test_killed_client_ends_its_job(brisk_dvm):
    job = brisk_dvm.start("prun", "-n", "2", "sh", "-c", STUBBORN)
    pids = [int(job.stdout.readline()) for _ in range(2)]
    other = brisk_dvm.start("prun", "-n", "1", "sh", "-c", "echo up; read line; echo $line", stdin=-1)
    assert other.stdout.readline() == "up\n"
    job.kill()
    job.wait(timeout=10 * TIME_SCALE)
    all_gone(pids)
    wait_until(lambda: len(brisk_dvm.jobs()["jobs"]) == 1, what="the job ends")
    ended = [row for row in brisk_dvm.jobs("--all")["jobs"] if row["ended"]][-1]
    assert ended["state"] == "PRTE_JOB_STATE_KILLED_BY_CMD" and "client" in ended["messages"][0]
    out, _ = other.communicate("still here\n", timeout=20 * TIME_SCALE)
    assert (other.returncode, out) == (0, "still here\n")


def test_stopped_client_holds_up_nobody_else(brisk_dvm):
    job = brisk_dvm.start("prun", "-n", "1", "yes", text=False)
    assert job.stdout.read(2) == b"y\n"
    job.send_signal(signal.SIGSTOP)
    for _ in range(5):
        assert brisk_dvm.run("-n", "2", "true", limit_s=10).returncode == 0
    job.send_signal(signal.SIGCONT)
    job.kill()
    wait_until(lambda: not brisk_dvm.jobs()["jobs"], what="the job ends")
