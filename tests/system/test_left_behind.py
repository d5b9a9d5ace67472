"""After any ending nothing is left: of a job in a DVM that goes on, and of a DVM with all its jobs."""

import os
import signal

import pytest

from dvm import Dvm, is_alive, wait_until
from left_behind import GONE_LIMIT_S, KINDS, Job, assert_nothing_left, warden_pid

BRISK = {"tide_kill_grace": "100ms", "tide_drain_grace": "100ms"}


@pytest.fixture(scope="module")
def brisk_dvm():
    dvm = Dvm(nodes=2, slots=8, prtemca=BRISK)
    try:
        yield dvm.up()
    finally:
        dvm.close()


# ---- jobs, while the DVM goes on ----

def interrupt_once(dvm, client):
    client.send_signal(signal.SIGINT)
    assert dvm.finish(client).returncode == 130


def interrupt_twice(dvm, client):
    client.send_signal(signal.SIGINT)
    assert "being ended" in client.stderr.readline()
    client.send_signal(signal.SIGINT)
    assert dvm.finish(client).returncode == 130


def kill_command(dvm, client):
    assert dvm.tool("tide", "kill", dvm.jobs()["jobs"][-1]["number"]).returncode == 0
    assert dvm.finish(client).returncode == 143


# row:L17
@pytest.mark.user
@pytest.mark.parametrize("kind", KINDS)
def test_job_that_ends_by_itself(brisk_dvm, kind):
    """Nothing waits here: when the client has ended there is nothing of the job any more."""
    job = Job(kind, ends_itself=True)
    done = brisk_dvm.run("-n", "2", "--map-by", "node", *job.argv)
    left = job.processes()
    assert (done.returncode, done.stdout, left) == (0, "up\n" * 2, {}), done.stderr


# row:L17
@pytest.mark.parametrize("end", [interrupt_once, interrupt_twice, kill_command])
@pytest.mark.parametrize("kind", KINDS)
def test_job_that_is_ended(brisk_dvm, kind, end):
    job = Job(kind)
    end(brisk_dvm, job.start(brisk_dvm, "-n", "1"))
    assert not job.processes()


# row:L17
@pytest.mark.parametrize("kind", KINDS)
def test_job_whose_client_is_killed(brisk_dvm, kind):
    job = Job(kind)
    job.start(brisk_dvm, "-n", "1").kill()
    wait_until(lambda: not job.processes(), what="everything of the job ends")
    wait_until(lambda: not brisk_dvm.jobs()["jobs"], what="the job ends")


def test_runaways_live_as_long_as_their_job_runs_there(brisk_dvm):
    """One rank has ended and left a process, another one of the job still runs on the node."""
    job = Job("plain")
    script = f"[ $TIDE_RANK = 1 ] && {{ setsid sleep {job.mark} & exit 0; }}; echo up; read line"
    client = brisk_dvm.start("prun", "--host", "v1", "-n", "2", "--stdin", "0", "sh", "-c", script, stdin=-1)
    assert client.stdout.readline() == "up\n"
    runaway = wait_until(job.processes, what="the runaway runs")
    for _ in range(3):
        assert brisk_dvm.run("--host", "v1", "-n", "2", "true").returncode == 0
    assert job.processes() == runaway
    client.communicate("\n", timeout=20)
    assert client.returncode == 0 and not job.processes()


@pytest.mark.parametrize("kind", KINDS)
def test_other_jobs_are_not_touched(brisk_dvm, kind):
    """Neither their processes nor those that got away from them, as long as they run."""
    other, job = Job("setsid"), Job(kind, ends_itself=True)
    client = other.start(brisk_dvm, "--host", "v1", "-n", "1")
    before = other.processes()
    assert brisk_dvm.run("--host", "v1", "-n", "1", *job.argv).returncode == 0
    assert other.processes() == before and len(before) == 2
    if kind != "scrubbed":  # which could be the other job's
        assert not job.processes()
    interrupt_once(brisk_dvm, client)
    assert not other.processes() and not job.processes()


# ---- DVMs, with a job of every kind in them ----

def end_pterm(dvm):
    assert dvm.tool("pterm").returncode == 0


def end_pterm_by_force(dvm):
    assert dvm.tool("pterm", "--force").returncode == 0


def end_down(dvm):
    assert dvm.tool("tide", "down").returncode == 0


def end_head(dvm):
    os.kill(dvm.head_pid(), signal.SIGKILL)


def end_warden(dvm):
    os.kill(warden_pid(dvm), signal.SIGKILL)


def end_head_and_warden(dvm):
    for pid in (dvm.head_pid(), warden_pid(dvm)):
        os.kill(pid, signal.SIGKILL)


def end_warden_with_a_stopped_daemon(dvm):
    os.kill(dvm.daemon_pids()["v2"], signal.SIGSTOP)
    end_warden(dvm)


def end_head_with_a_stopped_daemon(dvm):
    pids = dvm.daemon_pids()
    head = dvm.head_pid()
    os.kill(pids["v2"], signal.SIGSTOP)
    os.kill(head, signal.SIGKILL)


def end_head_by_signal(dvm):
    os.kill(dvm.head_pid(), signal.SIGTERM)


# Who sees the head end knows that nothing is left.
HEAD_IS_LAST = (end_pterm, end_pterm_by_force, end_down, end_warden, end_warden_with_a_stopped_daemon, end_head_by_signal)


# row:L17
@pytest.mark.parametrize("end", [
    end_pterm, end_pterm_by_force, end_down, end_head, end_warden, end_head_and_warden,
    end_warden_with_a_stopped_daemon, end_head_with_a_stopped_daemon, end_head_by_signal],
    ids=lambda end: end.__name__.removeprefix("end_"))
def test_dvm_that_ends(make_dvm, end):
    dvm = make_dvm(nodes=3, slots=8, prtemca=BRISK)
    jobs = [Job(kind) for kind in KINDS]
    clients = [job.start(dvm, "-n", "3", "--map-by", "node") for job in jobs]
    clients.append(dvm.start("prun", "-n", "3", "--map-by", "node", "yes", text=False))
    head = dvm.head_pid()
    dvm.abandon()
    end(dvm)
    if end in HEAD_IS_LAST:
        wait_until(lambda: not is_alive(head), limit_s=GONE_LIMIT_S, what="the head ends")
        assert_nothing_left(dvm, jobs, limit_s=0)
    clients[-1].stdout.read()
    for client in clients:
        assert client.wait(timeout=GONE_LIMIT_S) != 0
    assert_nothing_left(dvm, jobs)


# row:L17
def test_daemon_that_is_killed(make_dvm):
    dvm = make_dvm(nodes=3, slots=8, prtemca=BRISK)
    jobs = [Job(kind) for kind in KINDS]
    clients = [job.start(dvm, "-n", "3", "--map-by", "node") for job in jobs]
    dvm.kill_daemon("v2")
    assert {dvm.finish(client).returncode for client in clients} == {120}
    wait_until(lambda: not any(job.processes() for job in jobs), what="everything of the jobs ends")
    assert dvm.run("-n", "2", "true").returncode == 0
    dvm.down()
    assert_nothing_left(dvm, jobs)


# row:L17
def test_everybody_killed_at_once(make_dvm):
    """Nobody is left who could clean up: the next start does, by the marks of what it finds."""
    dvm = make_dvm(nodes=2, slots=8, prtemca=BRISK)
    jobs = [Job(kind) for kind in KINDS if kind != "scrubbed"]  # which bears no mark
    clients = [job.start(dvm, "-n", "2", "--map-by", "node") for job in jobs]
    pids = [dvm.head_pid(), warden_pid(dvm), *dvm.daemon_pids().values()]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)  # so that none of them gets to know of the others' ends
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    dvm.abandon()
    for client in clients:
        client.wait(timeout=GONE_LIMIT_S)
    assert any(job.processes() for job in jobs) and dvm.files_left(), "this is what there is to sweep"
    dvm.up()
    assert not any(job.processes() for job in jobs) and len(dvm.files_left()) == 1
    dvm.down()
    assert_nothing_left(dvm, jobs)
