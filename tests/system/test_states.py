"""The states of jobs as the head's log shows them."""

import os
import re
import signal

import pytest

from dvm import Dvm, wait_until
from jobs import Gate, last_job, steps_of

ORDINARY = ["INIT", "INIT_COMPLETE", "ALLOCATE", "ALLOCATION_COMPLETE", "LAUNCH_DAEMONS", "DAEMONS_REPORTED",
            "VM_READY", "MAP", "MAP_COMPLETE", "SYSTEM_PREP", "LAUNCH_APPS", "SEND_LAUNCH_MSG", "STARTED",
            "RUNNING", "TERMINATED", "NOTIFY_COMPLETED", "NOTIFIED"]

NUMBERS = {"INIT": 1, "INIT_COMPLETE": 2, "ALLOCATE": 3, "ALLOCATION_COMPLETE": 4, "MAP": 5, "MAP_COMPLETE": 6,
           "SYSTEM_PREP": 7, "LAUNCH_DAEMONS": 8, "DAEMONS_LAUNCHED": 9, "DAEMONS_REPORTED": 10, "VM_READY": 11,
           "LAUNCH_APPS": 12, "SEND_LAUNCH_MSG": 13, "RUNNING": 14, "LOCAL_LAUNCH_COMPLETE": 18, "STARTED": 20,
           "FORCED_EXIT": 64}


@pytest.fixture(scope="module")
def logged_dvm():
    """Shared by the tests here: its log holds every change of state, and the table."""
    dvm = Dvm(nodes=4, slots=8, prtemca={"state_base_verbose": 5, "tide_kill_grace": "300ms"})
    try:
        yield dvm.up()
    finally:
        dvm.close()


# row:L1
def test_state_table_is_printed_at_start(logged_dvm):
    rows = re.findall(r"table: PRTE_JOB_STATE_(\w+) \((\d+)\) -> (\w+)", logged_dvm.log_text())
    table = {name: (int(number), handler) for name, number, handler in rows}
    assert len(table) == len(rows)
    assert {name: table[name][0] for name in NUMBERS} == NUMBERS
    for name in ("TERMINATED", "NOTIFY_COMPLETED", "NOTIFIED", "ALL_JOBS_COMPLETE", "DAEMONS_TERMINATED"):
        assert 30 < table[name][0] < 50, name
    assert table["LAUNCH_DAEMONS"][1] == "local_launch_daemons"
    assert all(handler for _, handler in table.values())


# row:L1
def test_state_table_is_not_printed_below_verbosity_five(make_dvm):
    dvm = make_dvm(nodes=1, prtemca={"state_base_verbose": 4})
    wait_until(lambda: "VM_READY" in dvm.transitions(0), what="the log shows the start")
    assert "table:" not in dvm.log_text()


# row:L3
@pytest.mark.user
def test_job_walks_the_chain(logged_dvm):
    for argv in (["-n", "1", "true"], ["-n", "32", "true"], ["-n", "2", "true", ":", "-n", "3", "echo"]):
        assert logged_dvm.run(*argv).returncode == 0
        assert steps_of(logged_dvm, last_job(logged_dvm)) == ORDINARY


# row:L3
def test_local_launch_is_each_daemons_own_and_before_running(logged_dvm):
    """SIGSTOP holds v2 back: v1 logs that its part is launched while the job is not yet RUNNING."""
    stopped = logged_dvm.daemon_pids()["v2"]
    os.kill(stopped, signal.SIGSTOP)
    try:
        job = logged_dvm.start("tide", "run", "-n", "2", "--map-by", "node", "--host", "v1,v2", "sleep", "0.2")
        wait_until(lambda: logged_dvm.jobs()["jobs"], what="the head has the job")
        number = last_job(logged_dvm)
        launched = rf"job \S+@{number}\b.*LOCAL_LAUNCH_COMPLETE"
        wait_until(lambda: re.search(launched, logged_dvm.log_text("v1")), what="v1 logs its local launch")
        assert "RUNNING" not in logged_dvm.transitions(number)
    finally:
        os.kill(stopped, signal.SIGCONT)
    assert logged_dvm.finish(job).returncode == 0
    assert steps_of(logged_dvm, number) == ORDINARY
    wait_until(lambda: re.search(launched, logged_dvm.log_text("v2")), what="v2 logs its local launch")
    assert not re.search(launched, logged_dvm.log_text("v3"))


# row:L12
def test_started_with_the_first_fork_and_running_with_the_last(logged_dvm):
    gate = Gate(logged_dvm.tmpdir / "gate-started")
    stopped = logged_dvm.daemon_pids()["v3"]
    os.kill(stopped, signal.SIGSTOP)
    try:
        job = logged_dvm.start("tide", "run", "-n", "3", "--map-by", "node", "--host", "v1,v2,v3", "sh", "-c",
                               gate.wait_command())
        wait_until(lambda: logged_dvm.jobs()["jobs"], what="the head has the job")
        number = last_job(logged_dvm)
        wait_until(lambda: logged_dvm.transitions(number)[-1:] == ["STARTED"], what="the job is STARTED")
        row = wait_until(lambda: [row for row in logged_dvm.jobs()["jobs"] if row["running"] == 2],
                         what="two of three processes run")[0]
        assert row["state"] == "PRTE_JOB_STATE_STARTED"
    finally:
        os.kill(stopped, signal.SIGCONT)
    wait_until(lambda: logged_dvm.transitions(number)[-1] == "RUNNING", what="the job is RUNNING")
    assert logged_dvm.jobs()["jobs"][0]["running"] == 3
    wait_until(gate.try_open, what="the processes wait")
    wait_until(lambda: gate.try_open() or job.poll() is not None, what="they go")
    assert logged_dvm.finish(job).returncode == 0
    assert steps_of(logged_dvm, number) == ORDINARY  # each state once


FAILURES = [
    (["-n", "2", "sh", "-c", "exit 5"], "ABORTED", 5),
    (["-n", "2", "sh", "-c", "kill -SEGV $$"], "ABORTED", 139),
    (["-n", "2", "no-such-program"], "FAILED_TO_START", 127),
    (["-n", "2", "/etc/passwd"], "FAILED_TO_START", 126),
    (["-n", "1000", "true"], "MAP_FAILED", 125),
    (["-n", "1", "--host", "v77", "true"], "ALLOC_FAILED", 125),
    (["-n", "2", "--timeout", "1", "sleep", "1000"], "FORCED_EXIT", 124),
    (["-n", "1", "--wdir", "/no/such/folder", "true"], "FAILED_TO_START", 126),
]


# row:L17
@pytest.mark.user
@pytest.mark.parametrize("argv, state, status", FAILURES, ids=[f"{row[1]}-{row[2]}" for row in FAILURES])
def test_failure_ends_in_its_state_with_its_status(logged_dvm, argv, state, status):
    before = logged_dvm.daemon_pids()
    done = logged_dvm.run(*argv)
    assert done.returncode == status, done.stderr
    said = [line for line in done.stderr.splitlines() if not line.startswith("  ")]
    assert done.stderr.startswith("tide run: ") and len(said) == 1, "one reason, and advice below it"
    number = last_job(logged_dvm)
    row = [row for row in logged_dvm.jobs("--all")["jobs"] if row["number"] == number][0]
    assert (row["state"], row["exit_status"], row["ended"]) == (f"PRTE_JOB_STATE_{state}", status, True)
    assert row["messages"] and row["messages"][0] in done.stderr
    steps = steps_of(logged_dvm, number)
    assert steps[-3:] == [state, "NOTIFY_COMPLETED", "NOTIFIED"]
    assert steps[:-3] == ORDINARY[:len(steps) - 3]
    assert logged_dvm.daemon_pids() == before
    assert all(node["processes"] == 0 for node in logged_dvm.status()["nodes"])
    assert logged_dvm.run("-n", "4", "true").returncode == 0


# row:L17
def test_killed_by_command(logged_dvm):
    job = logged_dvm.start("tide", "run", "-n", "4", "--map-by", "node", "sh", "-c", "echo up; exec sleep 1000")
    assert [job.stdout.readline() for _ in range(4)] == ["up\n"] * 4
    number = last_job(logged_dvm)
    done = logged_dvm.tool("tide", "kill", number)
    assert done.returncode == 0, done.stderr
    assert logged_dvm.finish(job).returncode == 128 + signal.SIGTERM
    assert steps_of(logged_dvm, number)[-3:] == ["KILLED_BY_CMD", "NOTIFY_COMPLETED", "NOTIFIED"]
    assert not [words for words in logged_dvm.processes().values() if "sleep" in words]


def index_of(row):
    return int(re.search(r"echo in (\d+);", row["command"]).group(1))


# row:L10
@pytest.mark.limit(120)
def test_sixty_four_jobs_at_once_keep_apart(make_dvm):
    """All 64 run at the same time; a quarter each end well, fail, are killed, and stay parked until
    the others are over."""
    dvm = make_dvm(nodes=4, slots=16, prtemca={"state_base_verbose": 1})
    first, second = Gate(dvm.tmpdir / "first"), Gate(dvm.tmpdir / "second")
    running = []
    for index in range(64):
        rest = [f"{first.wait_command()}; echo out {index}; echo err {index} >&2",
                f"{first.wait_command()}; echo out {index}; exit {index}",
                "exec sleep 1000",
                f"{second.wait_command()}; echo out {index}; echo err {index} >&2"][index % 4]
        running.append(dvm.start("tide", "run", "-n", "1", "sh", "-c", f"echo in {index}; {rest}"))
    wait_until(lambda: sum(row["running"] for row in dvm.jobs()["jobs"]) == 64, limit_s=30, what="64 jobs run at once")
    numbers = {index_of(row): row["number"] for row in dvm.jobs()["jobs"]}
    wait_until(lambda: (first.try_open() or True) and len(dvm.jobs()["jobs"]) == 32, what="half of them end")
    for index in range(2, 64, 4):
        assert dvm.tool("tide", "kill", numbers[index]).returncode == 0
    wait_until(lambda: {index_of(row) % 4 for row in dvm.jobs()["jobs"]} == {3}, what="the killed end")
    assert all(process.poll() is None for process in running[3::4])
    wait_until(lambda: (second.try_open() or True) and not dvm.jobs()["jobs"], what="the parked end")
    for index, process in enumerate(running):
        check_end(index, dvm.finish(process), steps_of(dvm, numbers[index]))


def check_end(index, done, steps):
    """Status, output and states of one of the 64 are what it has alone."""
    status, state = [(0, None), (index, "ABORTED"), (143, "KILLED_BY_CMD"), (0, None)][index % 4]
    assert done.returncode == status, (index, done.stderr)
    assert done.stdout == f"in {index}\n" + ("" if index % 4 == 2 else f"out {index}\n")
    if state is None:
        assert (done.stderr, steps) == (f"err {index}\n", ORDINARY)
    else:
        assert steps == ORDINARY[:ORDINARY.index("RUNNING") + 1] + [state, "NOTIFY_COMPLETED", "NOTIFIED"]


# ---- verbosity ----

# row:L18
def test_verbosity_by_command_line_environment_and_file(make_dvm):
    by_line = make_dvm(nodes=1, prtemca={"state_base_verbose": 1})
    by_environment = make_dvm(nodes=1, env={"PRTE_MCA_state_base_verbose": "1"})
    by_file = Dvm(nodes=1)
    try:
        (by_file.tmpdir / ".prte").mkdir()
        (by_file.tmpdir / ".prte" / "mca-params.conf").write_text("# a comment\nstate_base_verbose = 1\n")
        by_file.up()
        for dvm in (by_line, by_environment, by_file):
            wait_until(lambda: "VM_READY" in dvm.transitions(0), what="changes of state in the log")
    finally:
        by_file.close()
    silent = make_dvm(nodes=1)
    assert silent.run("-n", "1", "true").returncode == 0
    assert silent.log_text() == ""


# row:L18
@pytest.mark.parametrize("subsystem", ["state", "plm", "rmaps", "ras", "errmgr", "routed", "odls"])
def test_each_subsystem_has_its_verbosity(make_dvm, subsystem):
    dvm = make_dvm(nodes=2, slots=1, prtemca={f"{subsystem}_base_verbose": 5})
    assert dvm.run("-n", "2", "true").returncode == 0
    assert dvm.run("-n", "2", "false").returncode == 1
    def logged():
        return {tag for node in ("head", "v1", "v2") for tag in re.findall(r" \[(\w+)\] ", dvm.log_text(node))}
    wait_until(logged, limit_s=3, what=f"{subsystem} logs something")
    assert logged() == {subsystem}
