"""SIGKILL for one daemon under load: its jobs end and say why, all else goes on."""

import os
import signal
import time

import pytest

from dvm import is_alive, wait_until
from left_behind import Job
from load import Load, check_tree

NODES = 14
EARLY_BYTES = 2 << 20  # so much of a job's output has come when the daemon is killed


def remaining_without(dvm, victim):
    return lambda: victim not in {node["name"] for node in dvm.status()["nodes"]}


@pytest.mark.limit(120)
@pytest.mark.parametrize("radix, victim, sources", [
    (2, "v1", ["v7", "v10"]), (2, "v6", ["v13", "v14"]), (2, "v14", ["v6", "v13"]), (64, "v1", ["v2", "v14"]),
    (64, "v7", ["v6", "v8"])], ids=["radix2-rank1", "radix2-relay", "radix2-leaf", "radix64-rank1", "radix64-any"])
def test_daemon_killed_under_load(make_dvm, radix, victim, sources):
    """The bytes that are under way pass through the victim where it is a relay."""
    dvm = make_dvm(nodes=NODES, slots=4, prtemca={"rml_radix": radix})
    check_tree(dvm.status(), radix)
    others = [f"v{number}" for number in range(1, NODES + 1) if f"v{number}" != victim]
    doomed = dvm.start("tide", "run", "-n", NODES, "--map-by", "node", "sh", "-c", "echo $$; exec sleep 1000")
    pids = [int(doomed.stdout.readline()) for _ in range(NODES)]
    namespace = [row["namespace"] for row in dvm.jobs()["jobs"]][0]
    load = Load(dvm, others, sources)
    try:
        load.read(EARLY_BYTES)
        dvm.kill_daemon(victim)
        done = dvm.finish(doomed)
        assert done.returncode == 120, done.stderr
        assert f"job {namespace}" in done.stderr and f"node {victim} " in done.stderr
        wait_until(lambda: not any(map(is_alive, pids)), what="the processes of the lost job end")
        load.check()
    finally:
        load.stop()
    wait_until(remaining_without(dvm, victim), what="the node is out of the DVM")
    status = dvm.status()
    assert [node["name"] for node in status["nodes"]] == others
    assert {node["state"] for node in status["nodes"]} == {"up"}
    check_tree(status, radix)
    everywhere = dvm.run("-n", NODES - 1, "--map-by", "node", "sh", "-c", "echo $TIDE_NODE")
    assert everywhere.returncode == 0, everywhere.stderr
    assert sorted(everywhere.stdout.split()) == sorted(others)
    assert all(node["processes"] == 0 for node in dvm.status()["nodes"])


@pytest.mark.user
@pytest.mark.limit(120)
def test_daemons_killed_one_after_the_other(make_dvm):
    """The tree is repaired again and again, whoever goes, until one is left."""
    dvm = make_dvm(nodes=7, slots=2, prtemca={"rml_radix": 2})
    left = [f"v{number}" for number in range(1, 8)]
    for victim in ("v1", "v3", "v2", "v7", "v4", "v5"):
        dvm.kill_daemon(victim)
        left.remove(victim)
        wait_until(lambda: [node["name"] for node in dvm.status()["nodes"]] == left, what=f"{victim} is out")
        check_tree(dvm.status(), 2)
        done = dvm.run("-n", len(left), "--map-by", "node", "sh", "-c", "echo $TIDE_NODE")
        assert (done.returncode, sorted(done.stdout.split())) == (0, left), done.stderr


def test_daemon_ended_by_a_gentle_signal_is_gone(dvm):
    pid = dvm.daemon_pids()["v2"]
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not is_alive(pid), what="the daemon ends")
    wait_until(remaining_without(dvm, "v2"), what="the node is out of the DVM")
    assert dvm.run("-n", "6", "true").returncode == 0


def test_last_daemon_killed_leaves_a_dvm_that_says_so(make_dvm):
    dvm = make_dvm(nodes=1)
    dvm.kill_daemon("v1")
    wait_until(lambda: not dvm.status()["nodes"], what="the node is out")
    done = dvm.run("-n", "1", "true")
    assert done.returncode == 125 and "no nodes" in done.stderr


def test_daemon_that_falls_silent_is_given_up(make_dvm):
    """Stopped, it neither answers nor closes its links."""
    dvm = make_dvm(nodes=3, slots=2, prtemca={"tide_heartbeat_interval": "200ms", "tide_heartbeat_timeout": "1s",
                                              "tide_suspect_grace": "500ms"})
    job = dvm.start("tide", "run", "-n", "3", "--map-by", "node", "sh", "-c", "echo $$; exec sleep 1000")
    pids = [int(job.stdout.readline()) for _ in range(3)]
    os.kill(dvm.daemon_pids()["v2"], signal.SIGSTOP)
    done = dvm.finish(job)
    assert done.returncode == 120 and "node v2 " in done.stderr
    wait_until(lambda: not any(map(is_alive, pids)), what="the processes of the lost job end")
    assert [node["name"] for node in dvm.status()["nodes"]] == ["v1", "v3"]
    assert dvm.run("-n", "4", "true").returncode == 0


def test_daemon_that_was_only_slow_comes_back(make_dvm):
    """A short stop, below the deadline, costs nothing but time."""
    dvm = make_dvm(nodes=3, slots=2)
    stopped = dvm.daemon_pids()["v2"]
    os.kill(stopped, signal.SIGSTOP)
    job = dvm.start("tide", "run", "-n", "3", "--map-by", "node", "sh", "-c", "echo $TIDE_NODE")
    wait_until(lambda: dvm.jobs()["jobs"], what="the head has the job")
    os.kill(stopped, signal.SIGCONT)
    done = dvm.finish(job)
    assert (done.returncode, sorted(done.stdout.split())) == (0, ["v1", "v2", "v3"]), done.stderr


def test_killed_warden_takes_its_nodes_along_and_leaves_nothing(dvm):
    job = dvm.start("tide", "run", "-n", "4", "sh", "-c", "echo $$; exec sleep 1000")
    pids = [int(job.stdout.readline()) for _ in range(4)]
    warden = [pid for pid, words in dvm.processes().items() if "--warden" in words]
    os.kill(warden[0], signal.SIGKILL)
    dvm.abandon()
    assert dvm.finish(job).returncode == 120
    wait_until(lambda: not any(map(is_alive, pids)) and not dvm.processes(), limit_s=20, what="nothing is left")
    assert not dvm.files_left()


@pytest.mark.parametrize("order", ["warden v1 head", "head warden v1", "v1 head warden", "v1 v2 warden head"])
def test_who_is_left_ends_what_the_killed_left(make_dvm, order):
    """Warden, head and some of the daemons at once: a daemon that lives sweeps all marked processes before it ends."""
    dvm = make_dvm(nodes=3, slots=1)
    pids = {**dvm.daemon_pids(), "head": dvm.head_pid(),
            "warden": [pid for pid, words in dvm.processes().items() if "--warden" in words][0]}
    job = Job("setsid")
    job.start(dvm, "-n", "3", "--map-by", "node")
    dvm.abandon()
    for name in order.split():
        os.kill(pids[name], signal.SIGKILL)
    wait_until(lambda: not job.processes(), limit_s=20, what="no process of the job is left")
    wait_until(lambda: not dvm.files_left(), limit_s=20, what="no file is left")


@pytest.mark.parametrize("between_s", [0, 0.002, 0.004, 0.008, 0.012, 0.016, 0.024])
def test_directory_goes_whenever_the_warden_follows_the_head(make_dvm, between_s):
    """The warden ends the daemons and is killed before it comes to the directory, or before or after that: there is no
    failpoint in a warden, so it is tried at several moments."""
    dvm = make_dvm(nodes=12)
    head = dvm.head_pid()
    warden = [pid for pid, words in dvm.processes().items() if "--warden" in words][0]
    dvm.abandon()
    os.kill(head, signal.SIGKILL)
    time.sleep(between_s)
    if is_alive(warden):
        os.kill(warden, signal.SIGKILL)
    wait_until(lambda: not dvm.processes(), limit_s=20, what="no process is left")
    wait_until(lambda: not dvm.files_left(), what="no file is left")
