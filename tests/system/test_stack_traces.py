"""Stacks of the processes of a job whose time is over."""

import os
import re
import shutil
import signal
import time
from pathlib import Path

import pytest

from dvm import BIN, TIME_SCALE, Dvm, is_alive, wait_until
from jobs import steps_of

PROGRAMS = BIN.parent / "tests" / "programs"
TIMED_OUT = 124
FOR_GDB_S = 10  # that one process has
HEADING = re.compile(r"stacks of process (\d+) on node (\S+), pid (\d+)")


def may_trace():
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    return os.geteuid() == 0 or not scope.exists() or scope.read_text().strip() == "0"


real_gdb = [pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed"),
            pytest.mark.skipif(not may_trace(), reason="ptrace_scope: gdb may attach to its own children only")]


def with_marks(marks):
    def decorate(function):
        for mark in marks:
            function = mark(function)
        return function
    return decorate


@pytest.fixture(scope="module")
def dvm():
    with Dvm(nodes=2, slots=24, prtemca={"state_base_verbose": 1}) as dvm:
        yield dvm


@pytest.fixture
def dvm_with(tmp_path):
    """A DVM whose daemons find, in place of gdb, a script, or no gdb at all."""
    folder = tmp_path / "tools"
    folder.mkdir()
    opened = []

    def up(script=None, nodes=2):
        for name in ("sh", "sleep", "cat", "true"):
            (folder / name).symlink_to(shutil.which(name))
        if script is not None:
            (folder / "gdb").write_text(f"#!/bin/sh\n{script}\n")
            (folder / "gdb").chmod(0o755)
        opened.append(Dvm(nodes=nodes, slots=24, env={"PATH": f"{BIN}:{folder}"}).up())
        return opened[-1]

    yield up
    for dvm in opened:
        dvm.close()


def hangs(folder):
    """A gdb that never shows anything; how many there are can be seen in the folder."""
    return f"echo $$ >{folder}/$4.new; exec sleep 1000"


def gdbs(folder):
    return [int(path.read_text()) for path in folder.glob("*.new") if path.read_text().endswith("\n")]


def stacks_in(text):
    """{rank: (node, pid, stacks)} of what the client said."""
    parts = re.split(r"^(?:tide|prun|prterun)[^:\n]*: job ", text, flags=re.M)
    found = {}
    for part in parts:
        heading = HEADING.search(part.split("\n", 1)[0])
        if heading:
            rank = int(heading[1])
            assert rank not in found, text
            found[rank] = (heading[2], int(heading[3]), re.sub(r"^    ", "", part.split("\n", 1)[1], flags=re.M))
    return found


# ---- with gdb ----

@with_marks(real_gdb)
def test_the_stacks_of_all_threads_on_all_nodes_are_shown(dvm):
    done = dvm.tool("prun", "-n", "4", "--map-by", "node", "--timeout", "2", "--get-stack-traces",
                    PROGRAMS / "waiting_threads", limit_s=60)
    assert done.returncode == TIMED_OUT, done.stderr
    found = stacks_in(done.stderr)
    assert {rank: found[rank][0] for rank in found} == {0: "v1", 1: "v2", 2: "v1", 3: "v2"}, done.stderr
    for rank, (_, pid, text) in found.items():
        assert len(re.findall(r"^Thread \d ", text, re.M)) == 3, text
        assert text.startswith("Thread 1 (") and f"(LWP {pid})" in text.split("\n", 1)[0], text
        for name in ("main", "listen_for_nothing", "compute_nothing"):
            assert re.search(rf"^#\d+ .*\b{name} \(", text, re.M), text
        assert "Inferior" not in text and "New LWP" not in text
    assert len({pid for _, pid, _ in found.values()}) == 4
    assert not any(is_alive(pid) for _, pid, _ in found.values())
    assert done.stderr.index("stacks of process") < done.stderr.index("ended because it ran longer than 2 s")
    assert steps_of(dvm, 1)[-3:] == ["FORCED_EXIT", "NOTIFY_COMPLETED", "NOTIFIED"]


@with_marks(real_gdb)
def test_processes_that_have_ended_are_left_out(dvm):
    done = dvm.tool("prun", "-n", "4", "--map-by", "node", "--timeout", "2", "--get-stack-traces",
                    "sh", "-c", "test $TIDE_RANK = 2 && exec sleep 1000; exit 0", limit_s=60)
    assert done.returncode == TIMED_OUT, done.stderr
    assert set(stacks_in(done.stderr)) == {2}, done.stderr
    assert "no stacks" not in done.stderr


@with_marks(real_gdb)
def test_a_process_that_ignores_sigterm_is_seen_and_ended(dvm):
    done = dvm.tool("prun", "-n", "1", "--timeout", "1", "--get-stack-traces", "--report-state-on-timeout",
                    "sh", "-c", "trap '' TERM; while :; do sleep 1; done", limit_s=60)
    assert done.returncode == TIMED_OUT, done.stderr
    assert set(stacks_in(done.stderr)) == {0}, done.stderr
    assert "process 0 on node v1, pid" in done.stderr and "PRTE_PROC_STATE_RUNNING" in done.stderr


@with_marks(real_gdb)
def test_prterun_shows_them_too(dvm):
    done = dvm.tool("prterun", "--nodes", "2", "-n", "2", "--map-by", "node", "--timeout", "2", "--get-stack-traces",
                    "sleep", "1000", limit_s=60)
    assert done.returncode == TIMED_OUT, done.stderr
    assert set(stacks_in(done.stderr)) == {0, 1}, done.stderr


# ---- bounds, with a gdb that answers at once ----

def test_the_first_processes_of_a_node_are_looked_at_and_the_others_counted(dvm_with):
    dvm = dvm_with("echo \"Thread 1 of $4\"; echo '#0 main ()'")
    done = dvm.run("-n", "38", "--map-by", "node", "--timeout", "2", "--get-stack-traces", "sleep", "1000", limit_s=60)
    assert done.returncode == TIMED_OUT, done.stderr
    found = stacks_in(done.stderr)
    assert set(found) == set(range(32)), done.stderr
    assert all(text.strip() == f"Thread 1 of {pid}\n#0 main ()" for _, pid, text in found.values()), found
    assert done.stderr.count("the stacks of 6 more processes are left out") == 1, done.stderr


def test_a_stack_without_end_is_cut(dvm_with):
    dvm = dvm_with("echo 'Thread 1'; while :; do echo '#1  again ()'; done", nodes=1)
    done = dvm.run("-n", "1", "--rtos", "timeout=1,get-stack-traces", "sleep", "1000", limit_s=60)
    assert done.returncode == TIMED_OUT, done.stderr
    assert "of which only the beginning is shown" in done.stderr
    assert 8 * 1024 < len(stacks_in(done.stderr)[0][2]) <= 17 * 1024


# ---- without ----

def test_without_gdb_each_node_says_so_once_and_the_job_ends_as_ever(dvm_with):
    dvm = dvm_with()
    done = dvm.run("-n", "6", "--map-by", "node", "--timeout", "1", "--get-stack-traces", "sleep", "1000", limit_s=60)
    assert done.returncode == TIMED_OUT, done.stderr
    for node in ("v1", "v2"):
        assert len(re.findall(rf"no stacks of 3 processes on node {node}: cannot start 'gdb'", done.stderr)) == 1, \
            done.stderr
    assert "ended because it ran longer than 1 s" in done.stderr


def test_what_gdb_says_is_told_once_by_node(dvm_with):
    dvm = dvm_with("echo 'ptrace: Operation not permitted.' >&2")
    done = dvm.run("-n", "4", "--map-by", "node", "--timeout", "1", "--get-stack-traces", "sleep", "1000", limit_s=60)
    assert done.returncode == TIMED_OUT, done.stderr
    assert done.stderr.count("gdb says: ptrace: Operation not permitted") == 2, done.stderr
    assert not stacks_in(done.stderr)


def test_a_gdb_that_hangs_is_killed_and_the_job_ends(dvm_with, tmp_path):
    dvm = dvm_with(hangs(tmp_path))
    done = dvm.run("-n", "4", "--map-by", "node", "--timeout", "1", "--get-stack-traces", "sleep", "1000", limit_s=60)
    assert done.returncode == TIMED_OUT, done.stderr
    assert done.stderr.count(f"gdb did not show them within {FOR_GDB_S} s and was killed") == 2, done.stderr
    pids = gdbs(tmp_path)
    assert len(pids) == 4 and not any(is_alive(pid) for pid in pids)


# ---- while it is waited for ----

@pytest.fixture
def gathering(dvm_with, tmp_path):
    """(dvm, client, pids of gdb): each of 3 processes of a job is looked at by a gdb that hangs."""
    dvm = dvm_with(hangs(tmp_path))
    client = dvm.start("prun", "-n", "3", "--map-by", "node", "--timeout", "1", "--get-stack-traces", "sleep", "1000")
    wait_until(lambda: len(gdbs(tmp_path)) == 3, what="gdb was started")
    return dvm, client, gdbs(tmp_path)


def finish_soon(dvm, client, pids):
    """The client's end, which comes long before gdb's time is over; gdb is gone by then."""
    since = time.monotonic()
    done = dvm.finish(client)
    assert time.monotonic() - since < FOR_GDB_S / 2 * TIME_SCALE
    wait_until(lambda: not any(is_alive(pid) for pid in pids), what="gdb is gone")
    return done


def test_explain_says_what_is_waited_for(gathering):
    dvm, client, pids = gathering
    said = dvm._json("explain", "1")
    assert [(point["kind"], point["nodes"]) for point in said["waits_for"]] == [("stacks", ["v1", "v2"])], said
    assert "gdb to show the stacks of its processes" in dvm.tool("tide", "explain", "1").stdout
    assert dvm.tool("tide", "kill", "1").returncode == 0
    finish_soon(dvm, client, pids)


def test_ctrl_c_ends_the_waiting(gathering):
    dvm, client, pids = gathering
    client.send_signal(signal.SIGINT)
    assert finish_soon(dvm, client, pids).returncode == TIMED_OUT


def test_tide_kill_ends_the_waiting(gathering):
    dvm, client, pids = gathering
    assert dvm.tool("tide", "kill", "1").returncode == 0
    assert finish_soon(dvm, client, pids).returncode == TIMED_OUT


def test_tide_down_ends_the_waiting(gathering):
    dvm, client, pids = gathering
    dvm.down()
    finish_soon(dvm, client, pids)


def test_a_client_that_goes_away_ends_the_waiting(gathering):
    dvm, client, pids = gathering
    client.kill()
    client.communicate()
    wait_until(lambda: not dvm.jobs()["jobs"], limit_s=FOR_GDB_S / 2, what="the job has ended")
    wait_until(lambda: not any(is_alive(pid) for pid in pids), what="gdb is gone")


def test_the_loss_of_a_node_ends_the_waiting_and_gdb_there(gathering):
    dvm, client, pids = gathering
    dvm.kill_daemon("v2")
    assert finish_soon(dvm, client, pids).returncode == TIMED_OUT


# ---- how it is asked for ----

def test_without_a_limit_the_option_changes_nothing(dvm):
    done = dvm.run("-n", "2", "--get-stack-traces", "sh", "-c", "echo $TIDE_RANK")
    assert (done.returncode, sorted(done.stdout.split()), done.stderr) == (0, ["0", "1"], "")
