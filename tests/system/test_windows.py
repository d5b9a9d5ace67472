"""Moments that are hard to hit, held by failpoints: what happens in them, and what is left."""

import os
import signal

import pytest

from dvm import TIME_SCALE, wait_until


def release(dvm, name):
    done = dvm.tool("tide", "debug", "release", name)
    assert done.returncode == 0, done.stderr


def held_job(dvm, *argv):
    """Submits a job whose processes are held just before they are started."""
    job = dvm.start("tide", "run", *argv)
    wait_until(lambda: [row for row in dvm.jobs()["jobs"] if row["state"] == "PRTE_JOB_STATE_SEND_LAUNCH_MSG"],
               what="the launch is sent")
    return job


def nothing_runs(dvm):
    status = dvm.status()
    return not status["jobs"] and all(node["processes"] == 0 for node in status["nodes"])


@pytest.fixture
def holding_dvm(make_dvm):
    return make_dvm(nodes=3, slots=2, prtemca={"tide_failpoint": "action.spawn_proc:hold", "tide_kill_grace": "200ms"})


@pytest.mark.user
def test_held_launch_goes_on_when_released(holding_dvm):
    job = held_job(holding_dvm, "-n", "6", "echo", "started")
    assert job.poll() is None
    release(holding_dvm, "action.spawn_proc")
    done = holding_dvm.finish(job)
    assert (done.returncode, done.stdout) == (0, "started\n" * 6), done.stderr


# row:L17
def test_kill_before_the_processes_are_started(holding_dvm):
    job = held_job(holding_dvm, "-n", "6", "sleep", "1011")
    assert holding_dvm.tool("tide", "kill", holding_dvm.jobs()["jobs"][0]["number"]).returncode == 0
    release(holding_dvm, "action.spawn_proc")
    assert holding_dvm.finish(job).returncode == 143
    wait_until(lambda: nothing_runs(holding_dvm), what="nothing runs")
    assert not [words for words in holding_dvm.processes().values() if "sleep 1011" in words]
    assert holding_dvm.run("-n", "6", "true").returncode == 0


def test_interrupt_before_the_processes_are_started(holding_dvm):
    job = held_job(holding_dvm, "-n", "6", "sleep", "1012")
    job.send_signal(signal.SIGINT)
    assert "being ended" in job.stderr.readline()
    release(holding_dvm, "action.spawn_proc")
    assert holding_dvm.finish(job).returncode == 130
    wait_until(lambda: nothing_runs(holding_dvm), what="nothing runs")
    assert not [words for words in holding_dvm.processes().values() if "sleep 1012" in words]


def test_client_gone_before_the_processes_are_started(holding_dvm):
    job = held_job(holding_dvm, "-n", "6", "sleep", "1013")
    job.kill()
    job.wait(timeout=10 * TIME_SCALE)
    wait_until(lambda: [row for row in holding_dvm.jobs()["jobs"] if row["messages"]], what="the head has noticed")
    release(holding_dvm, "action.spawn_proc")
    wait_until(lambda: nothing_runs(holding_dvm), what="nothing runs")
    assert not [words for words in holding_dvm.processes().values() if "sleep 1013" in words]


def test_node_lost_before_its_processes_are_started(holding_dvm):
    job = held_job(holding_dvm, "-n", "6", "sleep", "1014")
    holding_dvm.kill_daemon("v2")
    wait_until(lambda: len(holding_dvm.status()["nodes"]) == 2, what="v2 is out")
    release(holding_dvm, "action.spawn_proc")
    done = holding_dvm.finish(job)
    assert done.returncode == 120 and "node v2 " in done.stderr
    wait_until(lambda: nothing_runs(holding_dvm), what="nothing runs")
    assert not [words for words in holding_dvm.processes().values() if "sleep 1014" in words]
    assert holding_dvm.run("-n", "4", "true").returncode == 0


def test_down_while_a_launch_is_held(holding_dvm):
    job = held_job(holding_dvm, "-n", "6", "sleep", "1015")
    down = holding_dvm.start("tide", "down")
    wait_until(lambda: holding_dvm.status()["dvm"]["state"] == "ending", what="the DVM ends")
    refused = holding_dvm.run("-n", "1", "true")
    assert refused.returncode == 121 and "ending" in refused.stderr
    release(holding_dvm, "action.spawn_proc")
    assert holding_dvm.finish(down).returncode == 0
    holding_dvm.abandon()
    assert holding_dvm.finish(job).returncode != 0
    wait_until(lambda: not holding_dvm.processes(), what="nothing is left")
    assert not holding_dvm.files_left()


# row:L17
def test_processes_that_cannot_be_started(make_dvm):
    dvm = make_dvm(nodes=2, slots=2, prtemca={"tide_failpoint": "action.spawn_proc:fail"})
    done = dvm.run("-n", "4", "true")
    assert done.returncode not in (0, 2, 121), done.stderr
    assert "node v" in done.stderr
    row = dvm.jobs("--all")["jobs"][-1]
    assert row["state"] == "PRTE_JOB_STATE_FAILED_TO_START" and nothing_runs(dvm)


def no_shell_lives(dvm):
    return not [words for words in dvm.processes().values() if words.startswith("sh -c")]


# row:L15
@pytest.mark.parametrize("late", [["proc_exited"], ["proc_output_closed"], ["proc_output", "proc_output_closed"]],
                         ids=lambda late: late[0])
def test_exit_and_output_in_any_order(make_dvm, late):
    """What is late is held back until all that can come without it has come."""
    held = ",".join(f"event.{name}:hold" for name in late)
    dvm = make_dvm(nodes=2, slots=2, prtemca={"tide_failpoint": held})
    job = dvm.start("tide", "run", "-n", "4", "sh", "-c", "echo complete; exit 0")
    wait_until(lambda: [row for row in dvm.jobs()["jobs"] if row["state"] == "PRTE_JOB_STATE_RUNNING"],
               what="the job runs")
    wait_until(lambda: no_shell_lives(dvm), what="the processes have exited")
    for name in late:
        assert dvm.jobs()["jobs"][0]["state"] == "PRTE_JOB_STATE_RUNNING" and job.poll() is None
        release(dvm, f"event.{name}")
    done = dvm.finish(job)
    assert (done.returncode, done.stdout) == (0, "complete\n" * 4), done.stderr


def test_slow_reports_of_daemons_only_delay(make_dvm):
    """Everything takes its time on every link, and the run is what it always is."""
    dvm = make_dvm(nodes=5, slots=1, prtemca={"tide_failpoint": "action.send:delay=20", "rml_radix": 2})
    done = dvm.run("-n", "5", "sh", "-c", "echo $TIDE_NODE")
    assert (done.returncode, sorted(done.stdout.split())) == (0, ["v1", "v2", "v3", "v4", "v5"]), done.stderr


def test_failpoints_are_off_by_default(shared_dvm):
    done = shared_dvm.tool("tide", "debug", "release", "action.spawn_proc")
    assert done.returncode == 1
    parameter = shared_dvm.tool("tide", "params", "tide_failpoint")
    assert "(empty)" in parameter.stdout and os.environ.get("PRTE_MCA_tide_failpoint") is None
