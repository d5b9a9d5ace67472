"""What tide explain, ps, jobs and events say while a job is held in one state after the other."""

import json
import os
import re
import signal

import pytest

from dvm import BIN, Dvm, wait_until
from jobs import Gate

PROGRAMS = BIN.parent / "tests" / "programs"


def shown(dvm, *argv):
    """What a command prints as JSON."""
    done = dvm.tool("tide", *argv, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def explain(dvm, job):
    return shown(dvm, "explain", job)


def kinds(points):
    return [point["kind"] for point in points]


def text(dvm, job):
    done = dvm.tool("tide", "explain", job)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) < 24, "one screen"
    return done.stdout


def events(dvm, *options):
    done = dvm.tool("tide", "events", "--json", *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def wait_for_state(dvm, job, state):
    return wait_until(lambda: [row for row in dvm.jobs()["jobs"]
                               if row["number"] == job and row["state"] == f"PRTE_JOB_STATE_{state}"],
                      what=f"job {job} is {state}")[0]


def release(dvm, name):
    assert dvm.tool("tide", "debug", "release", name).returncode == 0


@pytest.fixture
def place():
    dvm = Dvm(nodes=0)
    try:
        yield dvm
    finally:
        dvm.tool("tide", "down", "--force")
        dvm.close()


@pytest.mark.user
def test_before_the_dvm_is_ready(place):
    up = place.start("tide", "up", "--nodes", "3", "--prtemca", "tide_failpoint", "action.launch_daemons:hold")
    wait_until(lambda: place.tool("tide", "status").returncode == 0, what="the head answers")
    job = place.start("tide", "run", "-n", "1", "true")
    wait_for_state(place, 1, "INIT")
    said = explain(place, 1)
    assert kinds(said["waits_for"]) == ["dvm"] and said["waits_for"][0]["nodes"] == ["v1", "v2", "v3"]
    assert "nothing was heard yet of 3 of 3 nodes: v1, v2, v3" in text(place, 1)
    assert "waits for" in text(place, said["job"]["namespace"]), "by namespace, too"
    release(place, "action.launch_daemons")
    assert place.finish(up).returncode == 0 and place.finish(job).returncode == 0
    kinds_seen = [event["kind"] for event in events(place)]
    assert kinds_seen.index("job-submitted") < kinds_seen.index("dvm-ready") < kinds_seen.index("job-started")


@pytest.fixture
def holding_dvm(make_dvm):
    return make_dvm(nodes=3, slots=2, prtemca={"tide_failpoint": "action.spawn_proc:hold", "tide_kill_grace": "200ms"})


@pytest.mark.user
def test_launch_that_daemons_have_not_acknowledged(holding_dvm):
    job = holding_dvm.start("tide", "run", "-n", "4", "echo", "there")
    row = wait_for_state(holding_dvm, 1, "SEND_LAUNCH_MSG")
    assert (row["nodes"], row["waits_for"]) == (2, "launch")
    said = explain(holding_dvm, 1)
    assert kinds(said["waits_for"]) == ["launch"] and said["waits_for"][0]["nodes"] == ["v1", "v2"]
    assert said["way"][-1]["state"] == said["job"]["state"] and said["way"][-1]["at_ms"] <= said["now_ms"]
    assert "the launch to be acknowledged by the daemons on 2 of 2 nodes: v1, v2" in text(holding_dvm, 1)
    listed = shown(holding_dvm, "ps", 1)["processes"]
    assert [row["rank"] for row in listed] == [0, 1, 2, 3] and not any(row["pid"] for row in listed)
    table = holding_dvm.tool("tide", "jobs").stdout
    assert re.search(r"^1 .* launch +echo there$", table, re.M), table
    release(holding_dvm, "action.spawn_proc")
    assert holding_dvm.finish(job).stdout == "there\n" * 4


@pytest.mark.user
def test_running_without_pmix_then_killed_then_ended(make_dvm):
    """The processes take no notice of SIGTERM, and the grace is long: the kill is seen at work."""
    dvm = make_dvm(nodes=2, slots=2, prtemca={"tide_kill_grace": "30s"})
    gate = Gate(dvm.tmpdir / "gate")
    job = dvm.start("tide", "run", "-n", "3", "sh", "-c", f"trap '' TERM; echo up; {gate.wait_command()}; exit 3")
    assert [job.stdout.readline() for _ in range(3)] == ["up\n"] * 3
    wait_for_state(dvm, 1, "RUNNING")
    said = explain(dvm, 1)
    assert kinds(said["waits_for"]) == ["processes"] and said["waits_for"][0]["nodes"] == ["v1", "v2"]
    assert [fact["text"] for fact in said["facts"]] == ["on no node all its processes have called PMIx_Init"]
    assert "3 of 3 processes known to run, on 2 nodes" in text(dvm, 1)
    listed = shown(dvm, "ps", 1)["processes"]
    assert [(row["rank"], row["node"], row["state"], row["ended"], row["exit_code"]) for row in listed] == [
        (rank, node, "PRTE_PROC_STATE_RUNNING", False, None) for rank, node in ((0, "v1"), (1, "v1"), (2, "v2"))]
    assert all(os.path.exists(f"/proc/{row['pid']}") for row in listed)
    assert dvm.tool("tide", "kill", 1).returncode == 0
    said = explain(dvm, 1)
    assert said["job"]["state"] == "PRTE_JOB_STATE_KILLED_BY_CMD" and kinds(said["waits_for"]) == ["end"]
    assert "after SIGTERM, ordered" in text(dvm, 1) and "fails because\n  job" in text(dvm, 1)
    assert dvm.jobs()["jobs"][0]["waits_for"] == "end"
    wait_until(lambda: gate.try_open() and False or job.poll() is not None, what="all processes are let go")
    assert dvm.finish(job).returncode == 143
    said = explain(dvm, 1)
    assert (said["job"]["ended"], said["job"]["exit_status"], said["waits_for"]) == (True, 143, [])
    assert "KILLED_BY_CMD, exit status 143" in text(dvm, 1)


@pytest.mark.user
def test_registered_and_held_up_in_a_fence(make_dvm):
    dvm = make_dvm(nodes=2, slots=2)
    job = dvm.start("prun", "-n", "4", PROGRAMS / "pmix_half", "2")
    wait_for_state(dvm, 1, "REGISTERED")
    said = wait_until(lambda: "collective" in kinds((found := explain(dvm, 1))["waits_for"]) and found,
                      what="the fence is known")
    assert kinds(said["waits_for"]) == ["collective", "processes"]
    assert said["waits_for"][0]["nodes"] == ["v2"]
    assert "a fence: some have, not yet all on v2 (of this job: ranks 2, 3)" in text(dvm, 1)
    assert "every process has called PMIx_Init" in text(dvm, 1)
    assert {row["state"] for row in shown(dvm, "ps")["processes"]} == {"PRTE_PROC_STATE_REGISTERED"}
    job.send_signal(signal.SIGINT)
    dvm.finish(job)
    order = [event["kind"] for event in events(dvm) if event.get("job") == 1]
    assert order == ["job-submitted", "job-started", "job-running", "job-registered", "job-failing", "job-ended"]


@pytest.mark.user
def test_reader_that_has_stopped(make_dvm):
    dvm = make_dvm(nodes=2, slots=1)
    job = dvm.start("tide", "run", "-n", "1", "head", "-c", "2000000", "/dev/zero", text=False)
    said = wait_until(lambda: "reader" in kinds((found := explain(dvm, 1))["waits_for"]) and found
                      if dvm.jobs()["jobs"] else None, what="the credit is used up")
    assert re.search(r"its client to read its output: \d+ bytes are not taken, and 1 stream",
                     said["waits_for"][0]["text"])
    assert dvm.jobs()["jobs"][0]["waits_for"] == "reader"
    out, _ = job.communicate(timeout=30)
    assert (len(out), job.returncode) == (2000000, 0)


def test_output_that_is_still_to_come(make_dvm):
    """The process is gone; somebody it left holds its output open."""
    dvm = make_dvm(nodes=2, slots=1, prtemca={"tide_drain_grace": "30s"})
    gate = Gate(dvm.tmpdir / "gate")
    job = dvm.start("tide", "run", "-n", "1", "sh", "-c", f"({gate.wait_command()}; echo late) & echo first; exit 0")
    assert job.stdout.readline() == "first\n"
    wait_for_state(dvm, 1, "RUNNING")
    assert kinds(explain(dvm, 1)["waits_for"]) in (["processes"], ["output"])
    wait_until(gate.try_open, what="the child waits")
    assert dvm.finish(job).stdout == "late\n"


@pytest.mark.user
def test_ended_with_failure_and_unknown(shared_dvm):
    assert shared_dvm.run("-n", "2", "sh", "-c", 'test "$TIDE_RANK" = 0 || exit 5').returncode == 5
    number = max(row["number"] for row in shared_dvm.jobs("--all")["jobs"])
    said = explain(shared_dvm, number)
    assert said["job"]["exit_status"] == 5 and said["way"][-1]["state"] == "PRTE_JOB_STATE_NOTIFIED"
    assert "exited with status 5" in said["job"]["messages"][0]
    shown_text = text(shared_dvm, number)
    assert "ABORTED, exit status 5" in shown_text and "because\n  job" in shown_text and "waits for" not in shown_text
    codes = {row["rank"]: (row["ended"], row["exit_code"]) for row in shown(shared_dvm, "ps", number)["processes"]}
    assert codes[1] == (True, 5)
    for command in ("explain", "ps"):
        done = shared_dvm.tool("tide", command, number + 1)
        assert done.returncode == 1 and f"there is no job {number + 1} in this DVM" in done.stderr
        failed = shared_dvm.tool("tide", command, number + 1, "--json")
        assert failed.returncode == 1 and json.loads(failed.stdout)["error"]["code"] == "not-found"
    assert shared_dvm.tool("tide", "explain").returncode == 2


def test_ten_thousand_processes_are_listed(make_dvm):
    """Held before they are started: ten thousand on one machine are not needed for a long list."""
    dvm = make_dvm(nodes=4, prtemca={"tide_failpoint": "action.spawn_proc:hold,action.register_job:hold",
                                     "tide_kill_grace": "200ms"})
    job = dvm.start("tide", "run", "-n", "10000", "--map-by", ":OVERSUBSCRIBE", "true")
    wait_for_state(dvm, 1, "SEND_LAUNCH_MSG")
    listed = shown(dvm, "ps", 1)["processes"]
    assert [row["rank"] for row in listed] == list(range(10000))
    assert {row["node"] for row in listed} == {"v1", "v2", "v3", "v4"}
    assert len(dvm.tool("tide", "ps").stdout.splitlines()) == 10001
    job.kill()
    dvm.abandon()


# ---- events ----

@pytest.mark.user
def test_events_are_followed_to_the_end_of_the_dvm(make_dvm):
    dvm = make_dvm(nodes=2, slots=1)
    follower = dvm.start("tide", "events", "--follow", "--json")
    seen = []

    def read_until(kind):
        while not seen or seen[-1]["kind"] != kind:
            line = follower.stdout.readline()
            assert line, f"no {kind}: {seen}"
            seen.append(json.loads(line))
        return seen[-1]

    read_until("dvm-ready")
    assert dvm.run("-n", "2", "sh", "-c", "exit 4").returncode == 4
    ended = read_until("job-ended")
    assert (ended["job"], ended["exit_status"], ended["state"]) == (1, 4, "PRTE_JOB_STATE_ABORTED")
    dvm.kill_daemon("v2")
    assert read_until("node-lost")["node"] == "v2"
    dvm.down()
    read_until("dvm-ending")
    done = dvm.finish(follower)
    assert done.returncode == 0, done.stderr
    # The very last one is missed by who asks when the head has hung up already.
    assert [json.loads(line)["kind"] for line in done.stdout.splitlines()] in ([], ["dvm-ended"])
    assert [event["number"] for event in seen] == list(range(1, len(seen) + 1))
    assert [event["kind"] for event in seen][:4] == ["dvm-starting", "node-up", "node-up", "dvm-ready"]


def test_follower_that_stands_still_holds_up_nobody_and_is_told_what_it_missed(make_dvm):
    dvm = make_dvm(nodes=1, slots=1, prtemca={"tide_history_events": 16})
    follower = dvm.start("tide", "events", "--follow", "--json")
    assert json.loads(follower.stdout.readline())["kind"] == "dvm-starting"
    os.kill(follower.pid, signal.SIGSTOP)
    try:
        for _ in range(12):
            assert dvm.run("true").returncode == 0
        remembered = events(dvm)
        assert remembered[0]["kind"] == "events-dropped" and len(remembered) == 17
    finally:
        os.kill(follower.pid, signal.SIGCONT)
    lines = [json.loads(follower.stdout.readline())]
    while "dropped" not in lines[-1]:
        lines.append(json.loads(follower.stdout.readline()))
    counted = [line for line in lines if "number" in line]
    following = json.loads(follower.stdout.readline())
    assert following["number"] == counted[-1]["number"] + lines[-1]["dropped"] + 1
    follower.send_signal(signal.SIGINT)
    assert dvm.finish(follower).returncode == -signal.SIGINT


def test_events_without_follow_are_lines_for_people(shared_dvm):
    assert shared_dvm.run("-n", "1", "true").returncode == 0
    lines = shared_dvm.tool("tide", "events").stdout.splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3}  dvm-starting +4 nodes", lines[0]), lines[0]
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3}  job-ended +job \d+ +TERMINATED, exit status 0", lines[-1]), lines[-1]


# ---- JSON ----

@pytest.mark.user
def test_every_command_that_shows_something_has_json(make_dvm):
    """Whatever bytes there are in names."""
    dvm = make_dvm(nodes=1, prtemca={"state_base_verbose": 1})
    assert dvm.shell(r"""tide run -n 1 sh -c true "$(printf 'a\377\n\"\\b')" """).returncode == 0
    number = max(row["number"] for row in dvm.jobs("--all")["jobs"])
    for argv in (["status"], ["jobs", "--all"], ["explain", number], ["ps"], ["ps", number], ["params"]):
        assert shown(dvm, *argv)["schema_version"] == 1, argv
    for argv in (["events"], ["logs", "--lines", "all"], ["debug", "recorder"]):
        done = dvm.tool("tide", *argv, "--json")
        assert done.returncode == 0, done.stderr
        assert done.stdout and all(json.loads(line) for line in done.stdout.splitlines()), argv
    submitted = [event for event in events(dvm) if event.get("job") == number][0]
    assert "a\ufffd" in submitted["detail"]


def test_help_of_the_new_commands(place):
    for command in ("explain", "ps", "events"):
        done = place.tool("tide", command, "--help")
        assert done.returncode == 0 and "Examples:\n  tide " + command in done.stdout and "--json" in done.stdout
