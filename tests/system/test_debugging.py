"""Jobs that are held for a debugger, and what a debugger is told of jobs."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from dvm import BIN, TIME_SCALE, Dvm, is_alive, wait_until
from jobs import steps_of

PROGRAMS = BIN.parent / "tests" / "programs"
LIMIT_S = 40
# Where it waits: what is run, and what the event calls the place.
PLACES = {
    "exec": (["sh", "-c", "echo rank $TIDE_RANK goes on"], "exec"),
    "init": ([PROGRAMS / "pmix_hello"], "pmix-init"),
    "app": ([PROGRAMS / "pmix_breakpoint"], "before the first step"),
}
OPTIONS = {"exec": "--stop-on-exec", "init": "--stop-in-init", "app": "--stop-in-app"}
PROCESS = re.compile(r"([^\s\[]+):(\d+) host (\S+) pid (\d+) state (.+?) exit (-?\d+) program (\S+?)[;\]]")


@pytest.fixture(scope="module")
def dvm():
    with Dvm(nodes=3, slots=4, prtemca={"state_base_verbose": 1, "odls_base_verbose": 1}) as dvm:
        yield dvm


def uri(dvm):
    return json.loads((dvm.run_directory() / "dvm.json").read_text())["uri"]


def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def number(nspace):
    return int(nspace.rsplit("@", 1)[1])


@contextlib.contextmanager
def debugger(dvm, where, *program):
    """pmix_debugger with a job of 4 processes on two of three nodes."""
    process = subprocess.Popen([PROGRAMS / "pmix_debugger", uri(dvm), where, "v1,v2", "4", *program],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "TMPDIR": str(dvm.tmpdir)})
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def lines_until(stream, last):
    """What is read up to the line that begins so; the stream must not end before."""
    lines = []
    while not lines or not lines[-1].startswith(last):
        line = stream.readline()
        assert line, lines
        lines.append(line.rstrip("\n"))
    return lines


def held(dvm, *words):
    """`prun` with its job, which waits: (prun, job number, [pid, …])."""
    job = dvm.start("prun", *words)
    lines = lines_until(job.stderr, "  try:")
    numbers = re.findall(r"tide kill (\d+) --signal CONT", lines[-1])
    assert numbers, lines
    return job, int(numbers[0]), [int(pid) for pid in re.findall(r"pid (\d+)$", "\n".join(lines), re.M)]


# ---- a tool and its job ----

# row:L14
@pytest.mark.parametrize("where", PLACES)
def test_a_tool_is_told_once_that_all_processes_wait(dvm, where):
    program, place = PLACES[where]
    with debugger(dvm, where, *program) as tool:
        lines = lines_until(tool.stdout, "held")
        ready = [line for line in lines if line.startswith("ready")]
        assert len(ready) == 1 and ready[0].endswith(" " + place), lines
        nspace = ready[0].split()[1]
        rows = PROCESS.findall("\n".join(lines))
        assert [(row[0], int(row[1]), row[2]) for row in rows] == [
            (nspace, rank, ("v1", "v2")[rank % 2]) for rank in range(4)], lines
        pids = [int(row[3]) for row in rows]
        assert len(set(pids)) == 4 and all(is_alive(pid) for pid in pids)
        assert {row[6] for row in rows} == {str(program[0])}
        if where == "exec":
            assert {state(pid) for pid in pids} == {"T"}
        assert not any("goes on" in line for line in lines)
        assert "READY_FOR_DEBUG" in dvm.transitions(number(nspace))
        assert nspace not in dvm.log_text("v3"), "who hosts none of it has nothing to do with it"
        out, err = tool.communicate(timeout=LIMIT_S * TIME_SCALE)
    assert tool.returncode == 0, out + err
    assert re.search(rf"^ended {re.escape(nspace)} SUCCESS$", out, re.M), out + err
    assert out.endswith("told 1\n"), out
    states = steps_of(dvm, number(nspace))
    assert states.count("READY_FOR_DEBUG") == 1 and states[-3:] == ["TERMINATED", "NOTIFY_COMPLETED", "NOTIFIED"]


# row:L14
def test_nobody_else_is_told(dvm):
    with debugger(dvm, "init", PROGRAMS / "pmix_hello") as first, \
            debugger(dvm, "exec", "true") as second:
        names = [lines_until(tool.stdout, "held")[0].split()[1] for tool in (first, second)]
        ends = [tool.communicate(timeout=LIMIT_S * TIME_SCALE)[0] for tool in (first, second)]
    assert names[0] != names[1]
    assert all(end.endswith("told 1\n") for end in ends), ends


def test_the_held_job_of_a_tool_that_is_killed_ends(dvm):
    with debugger(dvm, "exec", "sleep", "1000") as tool:
        pids = [int(row[3]) for row in PROCESS.findall("\n".join(lines_until(tool.stdout, "held")))]
        assert len(pids) == 4
    wait_until(lambda: not any(is_alive(pid) for pid in pids), what="its processes end")


# ---- daemons of a debugger ----

def beside(dvm, nspace, per_node, program):
    """pmix_debug_daemons: how it ended, and what its daemons wrote."""
    return subprocess.run([PROGRAMS / "pmix_debug_daemons", uri(dvm), nspace, str(per_node), program],
                          capture_output=True, text=True, timeout=LIMIT_S * TIME_SCALE,
                          env={**os.environ, "TMPDIR": str(dvm.tmpdir)})


@pytest.mark.parametrize("per_node", [0, 3])
def test_daemons_of_a_debugger_are_where_the_held_processes_are(dvm, per_node):
    job, ident, pids = held(dvm, "-n", 8, "--host", "v1,v2", "--map-by", "node", "--stop-on-exec", "true")
    nspace = [row["namespace"] for row in dvm.jobs()["jobs"] if row["number"] == ident][0]
    done = beside(dvm, nspace, per_node, PROGRAMS / "pmix_debug_daemon")  # all slots of both nodes are taken
    assert done.returncode == 0 and "ended SUCCESS" in done.stdout, done.stdout + done.stderr
    tables = [line for line in done.stdout.splitlines() if line.startswith(f"target {nspace} ")]
    assert len(tables) == 2 * max(per_node, 1), done.stdout
    for host, own in (("v1", pids[0::2]), ("v2", pids[1::2])):
        rows = [PROCESS.findall(line) for line in tables if f" host {host} " in line]
        assert len(rows) == max(per_node, 1)
        assert all([int(row[3]) for row in table] == own for table in rows), done.stdout
    assert all(state(pid) == "T" for pid in pids), "the job waits on"
    assert dvm.tool("tide", "kill", ident, "--signal", "CONT").returncode == 0
    assert dvm.finish(job).returncode == 0
    assert all(node["processes"] == 0 for node in dvm.status()["nodes"])


def test_daemons_of_a_debugger_need_a_job(dvm):
    done = beside(dvm, "nobody@1", 1, "true")
    assert done.returncode == 1 and "PMIx_Spawn: " in done.stderr, done.stdout + done.stderr


# ---- people ----

# row:L14
@pytest.mark.parametrize("where", PLACES)
def test_people_see_where_processes_wait_and_let_them_go(dvm, where):
    job, ident, pids = held(dvm, "-n", 4, "--host", "v1,v2", "--map-by", "node", OPTIONS[where], *PLACES[where][0])
    assert len(pids) == 4 and all(is_alive(pid) for pid in pids)
    assert dvm.tool("tide", "kill", ident, "--signal", "CONT").returncode == 0
    done = dvm.finish(job)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 4


def test_a_held_process_has_done_nothing(dvm):
    mark = dvm.tmpdir / "mark"
    job, ident, _ = held(dvm, "-n", 1, "--rtos", "stop-on-exec", "mkdir", mark)
    assert not mark.exists()
    assert dvm.tool("tide", "kill", ident, "--signal", "CONT").returncode == 0
    assert dvm.finish(job).returncode == 0 and mark.exists()


def may_trace():
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    return os.geteuid() == 0 or not scope.exists() or scope.read_text().strip() == "0"


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
@pytest.mark.skipif(not may_trace(), reason="ptrace_scope: gdb may attach to its own children only")
def test_gdb_finds_a_held_process_at_its_first_instruction(dvm):
    job, ident, pids = held(dvm, "-n", 2, "--map-by", "node", "--stop-on-exec", "sh", "-c", "echo on")
    seen = subprocess.run(["gdb", "-nx", "-batch", "-p", str(pids[1]), "-ex", "bt", "-ex", "info inferiors"],
                          capture_output=True, text=True, timeout=LIMIT_S * TIME_SCALE, stdin=subprocess.DEVNULL)
    assert re.search(r"^#0 .*_start", seen.stdout, re.M), seen.stdout + seen.stderr
    assert not re.search(r"^#\d+ .* main", seen.stdout, re.M), seen.stdout
    assert dvm.tool("tide", "kill", ident, "--signal", "CONT").returncode == 0
    done = dvm.finish(job)
    assert (done.returncode, done.stdout) == (0, "on\non\n"), done.stderr


# ---- a held job ends as any other ----

@pytest.mark.parametrize("where", PLACES)
def test_ctrl_c_ends_a_held_job(dvm, where):
    job, _, pids = held(dvm, "-n", 2, "--map-by", "node", OPTIONS[where], *PLACES[where][0])
    job.send_signal(signal.SIGINT)
    done = dvm.finish(job)
    assert done.returncode == 128 + signal.SIGINT, done.stderr
    assert "goes on" not in done.stdout
    assert not any(is_alive(pid) for pid in pids)


@pytest.mark.parametrize("where", ["exec", "init"])
def test_a_held_job_ends_by_its_time_limit(dvm, where):
    done = dvm.tool("prun", "-n", 2, "--timeout", 2, OPTIONS[where], *PLACES[where][0])
    assert done.returncode == 124 and "wait for a debugger" in done.stderr, done.stderr


# row:L14
def test_a_held_job_ends_when_one_of_its_nodes_is_lost():
    with Dvm(nodes=3, slots=4) as dvm:
        job, _, pids = held(dvm, "-n", 2, "--host", "v1,v2", "--map-by", "node", "--stop-on-exec", "sleep", "1000")
        dvm.kill_daemon("v2")
        done = dvm.finish(job)
        assert done.returncode == 120 and "node v2 was lost with rank 1" in done.stderr
        wait_until(lambda: not any(is_alive(pid) for pid in pids), what="its processes end")


def test_processes_stop_at_one_place(dvm):
    done = dvm.tool("prun", "--stop-on-exec", "--stop-in-init", "true")
    assert done.returncode == 2 and "processes stop at one place" in done.stderr, done.stderr


# ---- a job that runs ----

def test_a_tool_finds_the_processes_of_a_running_job(dvm):
    job = dvm.start("prun", "-n", 4, "--host", "v1,v2", "--map-by", "node", "sh", "-c", "echo up; exec sleep 1000")
    assert [job.stdout.readline() for _ in range(4)] == ["up\n"] * 4
    nspace = wait_until(lambda: [row["namespace"] for row in dvm.jobs()["jobs"] if row["running"] == 4],
                        what="the job runs")[-1]
    ask = lambda *words: subprocess.run([PROGRAMS / "pmix_tool", "uri", uri(dvm), "query", *words, f"NSPACE={nspace}"],
                                        capture_output=True, text=True, timeout=LIMIT_S * TIME_SCALE,
                                        env={**os.environ, "TMPDIR": str(dvm.tmpdir)})
    everywhere = ask("PMIX_QUERY_PROC_TABLE")
    rows = PROCESS.findall(everywhere.stdout)
    assert [(row[1], row[2], row[6]) for row in rows] == [
        (str(rank), ("v1", "v2")[rank % 2], "sh") for rank in range(4)], everywhere.stdout
    assert all(is_alive(int(row[3])) for row in rows)
    here = PROCESS.findall(ask("PMIX_QUERY_LOCAL_PROC_TABLE", "HOSTNAME=v2").stdout)
    assert [row[3] for row in here] == [rows[1][3], rows[3][3]]
    job.send_signal(signal.SIGTERM)
    dvm.finish(job)
