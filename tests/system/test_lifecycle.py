"""Up and down: readiness, what is left, several DVMs, starts that fail, the one-shot run."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from dvm import BIN, TIME_SCALE, Dvm, is_alive, transitions_in, wait_until
from jobs import Gate

SLOW_END_S = 6  # below tide_shutdown_timeout, above the grace for a daemon that has to be killed
QUICK_S = 1.5  # nobody waits for a time-out in an ordinary start or end


@pytest.fixture
def place():
    """A private place in which no DVM runs yet; what the test starts there must end there."""
    dvm = Dvm(nodes=2)
    try:
        yield dvm
        left = dvm.processes()
        assert not left, f"left behind: {left}"
        assert not dvm.files_left()
    finally:
        dvm.close()


def gone(dvm):
    wait_until(lambda: not dvm.processes(), what="every process gone")
    assert not dvm.files_left()


@pytest.mark.user
def test_sixty_four_nodes_come_up_and_go_without_a_trace(make_dvm):
    dvm = make_dvm(nodes=64, slots=1)
    assert [node["name"] for node in dvm.status()["nodes"]] == [f"v{n}" for n in range(1, 65)]
    done = dvm.run("sh", "-c", "echo $TIDE_NODE")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(f"v{n}" for n in range(1, 65))
    assert len(dvm.processes()) >= 66  # head, warden, daemons
    dvm.down()  # checks processes and files


def test_down_is_quick(dvm):
    """It comes back when the head has ended, even where nobody collects the head's exit status."""
    began = time.monotonic()
    dvm.down()
    assert time.monotonic() - began < QUICK_S * TIME_SCALE


@pytest.mark.user
def test_down_ends_running_jobs_and_says_so_to_their_clients(dvm):
    job = dvm.start("tide", "run", "-n", "2", "sleep", "1000")
    wait_until(lambda: any(row["running"] == 2 for row in dvm.jobs()["jobs"]), what="the job runs")
    dvm.down()
    done = dvm.finish(job)
    assert done.returncode == 128 + signal.SIGTERM
    assert "taken down" in done.stderr


def test_pterm_is_tide_down(dvm):
    done = dvm.tool("pterm")
    assert done.returncode == 0, done.stderr
    dvm.abandon()
    gone(dvm)


def test_killed_head_leaves_no_process(dvm):
    """Daemons and what they run end with the head, and the next start sweeps its files."""
    dvm.start("tide", "run", "-n", "4", "sleep", "1000")
    wait_until(lambda: any(row["running"] == 4 for row in dvm.jobs()["jobs"]), what="the job runs")
    os.kill(dvm.head_pid(), signal.SIGKILL)
    dvm.abandon()
    wait_until(lambda: not [words for words in dvm.processes().values() if "tide run" not in words],
               limit_s=20, what="every process gone")
    assert dvm.tool("tide", "status").returncode == 121
    dvm.up()
    assert len(list(dvm.tmpdir.glob("prte.*/*"))) == 1


# ---- ready ----

# row:L8
@pytest.mark.user
def test_foreground_head_says_dvm_ready_on_stdout(place):
    head = place.start("prte", "--nodes", "2")
    assert head.stdout.readline() == "DVM ready\n"
    status = place.status()
    assert status["dvm"]["state"] == "ready"
    assert [node["state"] for node in status["nodes"]] == ["up", "up"]
    head.send_signal(signal.SIGTERM)
    assert head.wait(timeout=20 * TIME_SCALE) == 0
    gone(place)


# row:L8
@pytest.mark.user
def test_daemonized_head_returns_when_ready(place):
    done = place.tool("prte", "--daemonize", "--nodes", "3")
    assert done.returncode == 0, done.stderr
    information = json.loads((place.run_directory() / "dvm.json").read_text())
    assert information["ready"] and information["nodes"] == 3
    status = place.status()
    assert status["dvm"]["state"] == "ready"
    assert {node["state"] for node in status["nodes"]} == {"up"}
    assert place.tool("pterm").returncode == 0
    gone(place)


# row:L8
def test_one_byte_k_on_the_ready_pipe(place):
    reading, writing = os.pipe()
    head = subprocess.Popen([BIN / "prte", "--nodes", "2", "--ready-fd", str(writing), "--no-ready-msg"],
                            env=place.env, pass_fds=[writing], stdout=subprocess.PIPE)
    os.close(writing)
    try:
        assert os.read(reading, 10) == b"K"
        assert place.status()["dvm"]["state"] == "ready"
        assert os.read(reading, 10) == b""
    finally:
        os.close(reading)
        head.send_signal(signal.SIGTERM)
        out, _ = head.communicate(timeout=20 * TIME_SCALE)
    assert out == b""
    gone(place)


def states(place):
    return {node["name"]: node["state"] for node in place.status()["nodes"]}


def is_starting(place):
    return place.status()["dvm"]["state"] == "starting"


def up_with_gates(place, nodes, gated, *options, failing=()):
    """Starts `tide up` with programs of which prted waits at a gate on the nodes `gated` and ends
    on the nodes `failing`; returns the process and {node: gate}."""
    programs = place.tmpdir / "bin"
    programs.mkdir()
    for name in ("tide", "prte"):
        shutil.copy(BIN / name, programs / name)
    gates = {node: Gate(place.tmpdir / f"gate-{node}") for node in gated}
    cases = [f'*"--node {node}") {gate.wait_command()} ;;' for node, gate in gates.items()]
    cases += [f'*"--node {node}") echo "this node has no power" >&2; exit 3 ;;' for node in failing]
    script = "\n".join(["#!/bin/sh", 'case "$*" in', *cases, "esac", f'exec {BIN}/prted "$@"', ""])
    (programs / "prted").write_text(script)
    (programs / "prted").chmod(0o755)
    up = place.start(programs / "tide", "up", "--nodes", str(nodes), *options)
    return up, gates


def await_waiting(place, node):
    """Until the stand-in for this node's daemon runs; returns its pid."""
    def find():
        return [pid for pid, words in place.processes().items() if words.endswith(f"prted --node {node}")]
    return wait_until(find, what=f"the daemon of {node}")[0]


# row:L6
# row:L8
def test_ready_waits_for_the_last_report_and_then_for_the_last_wireup(place):
    """v3 is held before it reports, v1 stopped after: each keeps the DVM from being ready."""
    up, gates = up_with_gates(place, 4, ["v3"], "--prtemca", "state_base_verbose", "1")
    wait_until(lambda: place.run_directory() and place.tool("tide", "status").returncode == 0,
               what="the head answers")
    others = {"v1": "reported", "v2": "reported", "v3": "starting", "v4": "reported"}
    wait_until(lambda: states(place) == others, what="all but v3 have reported")
    assert is_starting(place) and "DAEMONS_REPORTED" not in place.transitions(0)
    unwired = place.daemon_pids()["v1"]
    os.kill(unwired, signal.SIGSTOP)
    wait_until(gates["v3"].try_open, what="v3 waits")
    wait_until(lambda: "DAEMONS_REPORTED" in place.transitions(0), what="every daemon has reported")
    assert is_starting(place) and up.poll() is None
    assert not json.loads((place.run_directory() / "dvm.json").read_text())["ready"]
    os.kill(unwired, signal.SIGCONT)
    assert place.finish(up).returncode == 0
    wait_until(lambda: "VM_READY" in place.transitions(0), what="the log says so")
    assert place.transitions(0).count("DAEMONS_REPORTED") == 1
    assert set(states(place).values()) == {"up"}
    assert place.tool("tide", "down").returncode == 0
    gone(place)


# row:L9
@pytest.mark.user
def test_job_that_comes_before_ready_waits_and_runs(place):
    up = place.start("tide", "up", "--nodes", "2", "--slots", "2", "--prtemca", "state_base_verbose", "1",
                     "--prtemca", "tide_failpoint", "action.launch_daemons:hold")
    wait_until(lambda: place.tool("tide", "status").returncode == 0, what="the head answers")
    assert is_starting(place)
    jobs = [place.start("tide", "run", "-n", "4", "--map-by", ":OVERSUBSCRIBE", "echo", f"early {n}")
            for n in range(3)]
    wait_until(lambda: len(place.jobs()["jobs"]) == 3, what="the head has the jobs")
    assert {row["state"] for row in place.jobs()["jobs"]} == {"PRTE_JOB_STATE_INIT"}
    assert is_starting(place) and all(job.poll() is None for job in jobs)
    released = place.tool("tide", "debug", "release", "action.launch_daemons")
    assert released.returncode == 0, released.stderr
    assert place.finish(up).returncode == 0
    for number, job in enumerate(jobs):
        done = place.finish(job)
        assert (done.returncode, done.stdout) == (0, f"early {number}\n" * 4), done.stderr
    wait_until(lambda: "NOTIFIED" in place.transitions(1), what="the log shows the first job's end")
    log = place.log_text()
    assert log.index("@0: PRTE_JOB_STATE_DAEMONS_REPORTED -> ") < log.index("@1: PRTE_JOB_STATE_INIT -> ")
    assert place.tool("tide", "down").returncode == 0
    gone(place)


def start_held(place):
    """`tide up` that is held before it starts daemons, and its head answers."""
    up = place.start("tide", "up", "--nodes", "2", "--slots", "2", "--prtemca", "tide_failpoint",
                     "action.launch_daemons:hold")
    wait_until(lambda: place.tool("tide", "status").returncode == 0, what="the head answers")
    return up


# row:L9
def test_early_job_that_is_interrupted_never_runs(place):
    up = start_held(place)
    job = place.start("tide", "run", "-n", "2", "--timeout", "1000", "sh", "-c", "echo ran > ran")
    wait_until(lambda: place.jobs()["jobs"], what="the head has the job")
    job.send_signal(signal.SIGINT)
    assert place.finish(job).returncode == 130
    assert not place.jobs()["jobs"]
    assert place.tool("tide", "debug", "release", "action.launch_daemons").returncode == 0
    assert place.finish(up).returncode == 0
    assert place.run("-n", "2", "true").returncode == 0
    assert not (place.tmpdir / "ran").exists()
    assert place.tool("tide", "down").returncode == 0
    gone(place)


@pytest.mark.user
def test_down_during_the_start(place):
    """One node hangs; the DVM with an early job goes all the same, and at once."""
    up, _ = up_with_gates(place, 3, ["v2"])
    wait_until(lambda: place.tool("tide", "status").returncode == 0, what="the head answers")
    wait_until(lambda: sorted(states(place).values()) == ["reported", "reported", "starting"], what="v2 hangs")
    job = place.start("tide", "run", "-n", "1", "true")
    late = place.start("tide", "run", "-n", "1", "--timeout", "1", "true")
    wait_until(lambda: len(place.jobs()["jobs"]) == 2, what="the head has the jobs")
    assert place.finish(late).returncode == 124
    began = time.monotonic()
    done = place.tool("tide", "down")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < SLOW_END_S * TIME_SCALE
    assert place.finish(up).returncode != 0
    assert place.finish(job).returncode not in (0, 2)
    gone(place)


# ---- starts that fail ----

@pytest.mark.user
def test_node_that_fails_to_start_is_named(place):
    done = place.tool("tide", "up", "--nodes", "3", "--prtemca", "tide_failpoint", "action.launch_daemons:fail")
    assert done.returncode == 1
    assert "node v1 could not be started" in done.stderr
    gone(place)


@pytest.mark.user
def test_daemon_that_ends_at_once_is_named_with_its_own_words(place):
    up, _ = up_with_gates(place, 3, [], failing=["v2"])
    done = place.finish(up)
    assert done.returncode == 1
    assert "node v2" in done.stderr and "this node has no power" in done.stderr
    assert "node v1 could" not in done.stderr and "node v3 could" not in done.stderr
    gone(place)


def test_daemon_that_is_killed_while_it_starts_is_named(place):
    up, _ = up_with_gates(place, 3, ["v2"])
    os.kill(await_waiting(place, "v2"), signal.SIGKILL)
    done = place.finish(up)
    assert done.returncode == 1
    assert "node v2" in done.stderr
    gone(place)


def test_daemon_that_never_reports_is_named(place):
    up, _ = up_with_gates(place, 3, ["v2"], "--prtemca", "tide_start_timeout", "500ms")
    done = place.finish(up)
    assert done.returncode == 1
    assert "v2" in done.stderr and "v3 could" not in done.stderr
    gone(place)


def test_start_that_is_interrupted_leaves_nothing(place):
    up, _ = up_with_gates(place, 3, ["v2"])
    await_waiting(place, "v2")
    up.send_signal(signal.SIGINT)
    assert place.finish(up).returncode != 0
    gone(place)


def test_start_without_enough_descriptors_says_so(place):
    done = place.tool("/bin/sh", "-c", f"ulimit -n 40; exec {BIN}/tide up --nodes 64")
    assert done.returncode == 1
    assert "open files" in done.stderr or "descriptors" in done.stderr
    gone(place)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_descriptors_break_nothing(place, closed):
    """No socket or pipe is taken for standard input, output or error."""
    assert place.tool("/bin/sh", "-c", f"exec {BIN}/tide up --nodes 2 {closed}").returncode == 0
    done = place.tool("/bin/sh", "-c", f"exec {BIN}/prun -n 1 cat {closed}")
    assert done.returncode == 0, done.stderr
    assert place.tool("tide", "down").returncode == 0
    gone(place)


@pytest.mark.parametrize("option", ["--report-uri", "--report-pid"])
def test_report_that_cannot_be_written_fails_the_start(place, option):
    done = place.tool("prte", "--daemonize", option, "/no/such/directory/file")
    assert done.returncode == 1
    assert "/no/such/directory/file" in done.stderr
    gone(place)


def test_second_dvm_of_a_name_is_refused(make_dvm):
    dvm = make_dvm(nodes=1, name="twice")
    done = dvm.tool("tide", "up", "--nodes", "1", "--dvm", "twice")
    assert done.returncode == 1
    assert "'twice' is running already" in done.stderr
    assert dvm.run("-n", "1", "true").returncode == 0


@pytest.mark.parametrize("name", ["", "9lives", "a/b", "..", "x" * 40])
def test_bad_dvm_name_is_refused(place, name):
    done = place.tool("tide", "up", "--dvm", name)
    assert done.returncode == 2, done.stderr


# ---- daemons and slots ----

# row:L5
def test_jobs_start_no_daemon_where_one_runs(make_dvm):
    dvm = make_dvm(nodes=3, slots=2, prtemca={"state_base_verbose": 1})
    before, links = dvm.daemon_pids(), dvm.status()["counters"]["link.established"]
    for _ in range(5):
        assert dvm.run("-n", "6", "true").returncode == 0
    assert dvm.daemon_pids() == before
    assert dvm.status()["counters"]["link.established"] == links
    wait_until(lambda: "NOTIFIED" in dvm.transitions(5), what="the log shows the last job's end")
    for job in range(1, 6):
        steps = dvm.transitions(job)
        assert steps[steps.index("LAUNCH_DAEMONS") + 1] == "DAEMONS_REPORTED"


# row:L6
def test_each_daemon_reports_once(make_dvm):
    dvm = make_dvm(nodes=9, prtemca={"state_base_verbose": 1, "rml_radix": 2})
    wait_until(lambda: "VM_READY" in dvm.transitions(0), what="the log shows the start")
    assert dvm.transitions(0) == ["INIT", "INIT_COMPLETE", "ALLOCATE", "ALLOCATION_COMPLETE", "LAUNCH_DAEMONS",
                                  "DAEMONS_LAUNCHED", "DAEMONS_REPORTED", "VM_READY"]
    nodes = dvm.status()["nodes"]
    assert [(node["name"], node["rank"]) for node in nodes] == [(f"v{n}", n) for n in range(1, 10)]
    for node in nodes:
        words = Path(f"/proc/{node['pid']}/cmdline").read_bytes().split(b"\0")
        assert words[-2].decode() == node["name"]


def topology():
    """(hwthreads, cores, sockets) that this process may use."""
    cores, sockets = set(), set()
    cpus = os.sched_getaffinity(0)
    for cpu in cpus:
        folder = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
        socket = (folder / "physical_package_id").read_text().strip()
        cores.add((socket, (folder / "core_id").read_text().strip()))
        sockets.add(socket)
    return len(cpus), len(cores), len(sockets)


# row:L7
@pytest.mark.parametrize("choice", ["hwthreads", "cores", "sockets", "3", None])
def test_slots_come_from_the_choice(make_dvm, choice):
    hwthreads, cores, sockets = topology()
    wanted = {"hwthreads": hwthreads, "cores": cores, "sockets": sockets, "3": 3, None: cores}[choice]
    dvm = make_dvm(nodes=2, prtemca={"prte_set_default_slots": choice} if choice else None)
    assert [node["slots"] for node in dvm.status()["nodes"]] == [wanted] * 2


# row:L7
def test_given_slots_stay(make_dvm):
    dvm = make_dvm(nodes=2, slots=5, prtemca={"prte_set_default_slots": 3})
    assert [node["slots"] for node in dvm.status()["nodes"]] == [5, 5]


def test_nonsense_for_default_slots_is_refused(place):
    done = place.tool("tide", "up", "--prtemca", "prte_set_default_slots", "nonsense")
    assert done.returncode == 2
    assert "prte_set_default_slots" in done.stderr and "nonsense" in done.stderr


# ---- several DVMs ----

@pytest.mark.user
def test_several_dvms_and_none_chosen(make_dvm):
    first = make_dvm(nodes=1, name="first")
    assert first.tool("tide", "up", "--nodes", "2", "--dvm", "second").returncode == 0
    try:
        for argv in (["status"], ["run", "true"], ["jobs"], ["down"]):
            done = first.tool("tide", *argv)
            assert done.returncode == 2, argv
            listed = [line.split() for line in done.stderr.splitlines() if line.startswith(("  first", "  second"))]
            assert [(row[0], row[-3]) for row in listed] == [("first", "1"), ("second", "2")], done.stderr
            assert all(is_alive(row[-2]) and ";tcp4://" in row[-1] for row in listed)
            assert "--dvm" in done.stderr
        assert first.run("--dvm", "second", "-n", "1", "true").returncode == 0
        names = [json.loads(first.tool("tide", "status", "--json", "--dvm", name).stdout)["dvm"]["name"]
                 for name in ("first", "second")]
        assert names == ["first", "second"]
    finally:
        assert first.tool("tide", "down", "--dvm", "second").returncode == 0
    assert first.run("-n", "1", "true").returncode == 0  # the only one is the default again


def test_the_list_of_dvms_shows_the_nodes_of_now(make_dvm):
    dvm = make_dvm(nodes=3, name="first")
    assert dvm.tool("tide", "up", "--nodes", "1", "--dvm", "second").returncode == 0

    def listed():
        lines = dvm.tool("tide", "status").stderr.splitlines()
        return [line.split()[-3] for line in lines if line.startswith("  first")]

    try:
        assert listed() == ["3"]
        os.kill(json.loads(dvm.tool("tide", "status", "--json", "--dvm", "first").stdout)["nodes"][1]["pid"], signal.SIGKILL)
        wait_until(lambda: listed() == ["2"], what="the list shows that a node is lost")
    finally:
        assert dvm.tool("tide", "down", "--dvm", "second").returncode == 0


@pytest.mark.user
def test_ways_to_name_a_dvm(make_dvm):
    dvm = make_dvm(nodes=1, name="night", up_options=["--report-uri", "night.uri", "--report-pid", "night.pid"])
    status = dvm.status()["dvm"]
    assert (dvm.tmpdir / "night.uri").read_text().strip() == status["uri"]
    assert (dvm.tmpdir / "night.pid").read_text().strip() == str(status["pid"])
    ways = [["--dvm", "night"], ["--dvm", str(status["pid"])], ["--dvm", f"pid:{status['pid']}"],
            ["--dvm", f"uri:{status['uri']}"], ["--dvm", "file:night.uri"], ["--dvm", f"ns:{status['id']}"],
            ["--dvm", f"ns:{status['id']}@1"], ["--dvm", "search"], ["--dvm-uri", "file:night.uri"],
            ["--dvm-uri", status["uri"]], ["--pid", str(status["pid"])], ["--pid", "file:night.pid"],
            ["--namespace", status["id"]]]
    for way in ways:
        done = dvm.tool("prun", *way, "-n", "1", "echo", "here")
        assert (done.returncode, done.stdout) == (0, "here\n"), (way, done.stderr)
    for way in (["--dvm", "day"], ["--dvm", "pid:1"], ["--dvm", "ns:nothing"], ["--dvm", "file:none.uri"]):
        done = dvm.tool("prun", *way, "-n", "1", "true")
        assert done.returncode in (2, 121) and done.stderr, way


def test_no_dvm_is_said_so(place):
    for argv in (["status"], ["run", "true"], ["jobs"], ["kill", "1"], ["down"], ["logs"]):
        done = place.tool("tide", *argv)
        assert done.returncode == 121, argv
        assert "no DVM is running" in done.stderr and "tide up" in done.stderr


@pytest.mark.user
def test_down_all_takes_every_dvm(place):
    for name in ("one", "two", "three"):
        assert place.tool("tide", "up", "--nodes", "1", "--dvm", name).returncode == 0
    assert place.tool("tide", "down", "--all").returncode == 0
    gone(place)


# ---- the one-shot run ----

# row:L16
@pytest.mark.user
def test_one_shot_run_takes_its_dvm_down(place):
    done = place.tool("prterun", "--nodes", "2", "--slots", "1", "-n", "2", "sh", "-c", "echo $TIDE_NODE; exit 0")
    assert (done.returncode, sorted(done.stdout.split())) == (0, ["v1", "v2"]), done.stderr
    gone(place)


# row:L16
def test_one_shot_run_ends_with_all_jobs_complete(place):
    done = place.tool("prterun", "--nodes", "2", "-n", "1", "--prtemca", "state_base_verbose", "1", "true")
    assert done.returncode == 0
    assert transitions_in(done.stderr, 0)[-3:] == ["VM_READY", "ALL_JOBS_COMPLETE", "DAEMONS_TERMINATED"]
    gone(place)


def test_one_shot_run_is_quick(place):
    began = time.monotonic()
    assert place.tool("prterun", "-n", "1", "true").returncode == 0
    assert time.monotonic() - began < QUICK_S * TIME_SCALE


# row:L16
# row:L17
@pytest.mark.parametrize("argv, status", [
    (["-n", "2", "sh", "-c", "exit 9"], 9), (["-n", "1", "sh", "-c", "kill -KILL $$"], 137),
    (["-n", "1", "no-such-program"], 127), (["-n", "1", "/etc/passwd"], 126), (["-n", "99", "true"], 125),
    (["-n", "1", "--timeout", "1", "sleep", "1000"], 124)])
def test_one_shot_run_that_fails_leaves_nothing(place, argv, status):
    done = place.tool("prterun", "--nodes", "2", *argv)
    assert done.returncode == status
    assert done.stderr.startswith("prterun: ")
    gone(place)


# row:L16
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_one_shot_run_that_is_ended_leaves_nothing(place, number):
    run = place.start("prterun", "--nodes", "2", "-n", "2", "--prtemca", "tide_kill_grace", "300ms", "sh", "-c",
                      "trap '' INT TERM; echo up; sleep 1000; sleep 1000")
    assert run.stdout.readline() == "up\n"
    run.send_signal(number)
    assert run.wait(timeout=20 * TIME_SCALE) in (128 + number, -number)
    gone(place)


# row:L16
def test_persistent_dvm_outlives_its_jobs(dvm):
    before = dvm.daemon_pids()
    for _ in range(3):
        assert dvm.run("-n", "8", "true").returncode == 0
        assert dvm.run("-n", "8", "false").returncode == 1
    assert dvm.daemon_pids() == before and dvm.jobs()["jobs"] == []
