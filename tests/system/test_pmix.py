"""PMIx across the daemons of a DVM: data, spawn, connect, groups, events, and tools."""

import contextlib
import json
import os
import re
import signal
import subprocess

import pytest

import knocking
from dvm import BIN, Dvm, is_alive, transitions_in, wait_until

PROGRAMS = BIN.parent / "tests" / "programs"
OB1 = ("-x", "OMPI_MCA_pml=ob1")
TOOL_LIMIT_S = 40


def info(dvm):
    return json.loads((dvm.run_directory() / "dvm.json").read_text())


def run(dvm, *words, ranks=4, options=()):
    program, *arguments = words
    return dvm.tool("prun", "-n", ranks, "--map-by", "node", *options, PROGRAMS / program, *arguments)


def tool(dvm, *words, where=None):
    """What a PMIx tool does at the head, or at `where`."""
    return subprocess.run([PROGRAMS / "pmix_tool", *(where or ("uri", info(dvm)["uri"])), *map(str, words)],
                          capture_output=True, text=True, timeout=TOOL_LIMIT_S, env={**os.environ, "TMPDIR": dvm.tmpdir})


# ---- processes ----

def test_what_one_node_publishes_another_finds(shared_dvm):
    writer = shared_dvm.start("prun", "-n", 1, "--host", "v1", PROGRAMS / "pmix_publish", "persist=4", "town=Berlin")
    assert shared_dvm.finish(writer).returncode == 0
    found = shared_dvm.tool("prun", "-n", 1, "--host", "v4", PROGRAMS / "pmix_publish", "town?", "none?")
    assert found.stdout.splitlines()[0] == "town = Berlin from 0", found.stderr
    assert "NOT-FOUND" in found.stdout.splitlines()[1]


def test_a_lookup_waits_until_it_is_published(shared_dvm):
    reader = shared_dvm.start("prun", "-n", 1, "--host", "v3", PROGRAMS / "pmix_publish", "wait=1", "late?")
    wait_until(lambda: "pmix_publish" in str(shared_dvm.jobs()), what="it waits")
    assert run(shared_dvm, "pmix_publish", "persist=1", "late=1", ranks=1).returncode == 0
    done = shared_dvm.finish(reader)
    assert (done.returncode, done.stdout) == (0, "late = 1 from 0\n"), done.stderr
    gone = run(shared_dvm, "pmix_publish", "late?", ranks=1)
    assert "NOT-FOUND" in gone.stdout, "it was for the first who reads it"


@pytest.mark.parametrize("hosts", [(), ("v4:3",)], ids=["anywhere", "where told"])
def test_mpi_comm_spawn(shared_dvm, hosts):
    done = run(shared_dvm, "mpi_spawn", 3, *hosts, ranks=2, options=OB1)
    assert done.returncode == 0 and "spawned 3 to 2: sum 15\n" in done.stdout, done.stdout + done.stderr
    places = re.findall(r"child on (\S+)", done.stdout)
    assert len(places) == 3 and (not hosts or set(places) == {"v4"})


def test_a_child_lands_where_told_and_knows_its_parent(shared_dvm):
    done = run(shared_dvm, "pmix_spawn", 2, PROGRAMS / "pmix_hello", "--", "host=v3", ranks=1)
    assert done.returncode == 0, done.stderr
    parent = re.search(r"spawned (\S+)@(\d+) of 2", done.stdout)
    assert f"parent {parent[1]}@{int(parent[2]) - 1} 0" in done.stdout
    assert set(re.findall(r"host (\S+)", done.stdout)) == {"v3"}


@pytest.mark.parametrize("words, status", [(("host=nowhere",), "OUT"), (("require=x",), "NOT-SUPPORTED")])
def test_a_spawn_that_cannot_be_says_so(shared_dvm, words, status):
    done = run(shared_dvm, "pmix_spawn", 1, "true", "--", *words, ranks=1)
    assert re.search(r"^spawn: .*" + status, done.stdout, re.M), done.stdout + done.stderr


@pytest.mark.parametrize("program, status", [("/no/such/program", "NOT-FOUND"), ("/etc/passwd", "LAUNCH")])
def test_a_spawn_that_fails_says_why(shared_dvm, program, status):
    done = run(shared_dvm, "pmix_spawn", 1, program, ranks=1)
    assert re.search(r"^spawn: .*" + status, done.stdout, re.M), done.stdout + done.stderr


def test_who_spawned_is_told_of_the_end(shared_dvm):
    done = run(shared_dvm, "pmix_spawn", 1, "sleep", "0.3", "--", "notify=1", ranks=1)
    assert "child ended" in done.stdout, done.stdout + done.stderr


def test_prun_exits_with_the_status_of_a_child_that_failed(shared_dvm):
    done = run(shared_dvm, "pmix_spawn", 1, "sh", "-c", "sleep 0.3; exit 5", ranks=1)
    assert done.returncode == 5 and "exited with status 5" in done.stderr


def connect_two(dvm, *words, hosts=((), ()), ranks=4):
    """Two jobs of `words`, each with the other's namespace as its first argument; what they print."""
    dvm_id, both_there = info(dvm)["dvm_id"], dvm.tmpdir / "both-there"
    program, *arguments = words
    # Who connects with a job that is not there yet is told so.
    waits = (f"for i in $(seq 500); do [ -e {both_there} ] && exec {PROGRAMS / program} $0 {' '.join(arguments)}; "
             "sleep 0.02; done")
    jobs = []
    for number, other in ((1, 2), (2, 1)):
        where = ("--map-by", "node", *hosts[number - 1])
        jobs.append(dvm.start("prun", "-n", ranks, *where, "sh", "-c", waits, f"{dvm_id}@{other}"))
        wait_until(lambda: len(dvm.jobs()["jobs"]) == number, what="the job is there")
    both_there.touch()
    finished = [dvm.finish(job) for job in jobs]
    for done in finished:
        assert done.returncode == 0, done.stdout + done.stderr
    return [done.stdout for done in finished]


def test_two_jobs_connect_over_all_nodes(make_dvm):
    assert connect_two(make_dvm(nodes=4, slots=2), "pmix_connect") == ["connected: sum 22\n" * 4] * 2


@pytest.mark.parametrize("how", ["put", "all"])
def test_who_is_connected_learns_who_the_others_are_also_without_one_on_its_node(make_dvm, how):
    hosts = (("--host", "v1:1,v2:1"), ("--host", "v3:2"))
    seen = connect_two(make_dvm(nodes=3, slots=2), "pmix_keys", how, hosts=hosts, ranks=2)
    first = ["0: local 0 node 0 global 0 app 0 on v1", "1: local 0 node 0 global 1 app 0 on v2"]
    second = ["0: local 0 node 0 global 0 app 0 on v3", "1: local 1 node 1 global 1 app 0 on v3"]
    assert [sorted(text.splitlines()) for text in seen] == [sorted(second * 2), sorted(first * 2)]


def test_a_child_learns_who_its_parent_is_also_without_one_on_its_node(shared_dvm):
    done = run(shared_dvm, "pmix_spawn", 1, PROGRAMS / "pmix_keys", "parent", "all", "--", "host=v3", "notify=1",
               ranks=1, options=("--host", "v1"))
    assert done.returncode == 0 and "0: local 0 node 0 global 0 app 0 on v1\n" in done.stdout, done.stdout + done.stderr


def test_groups_have_numbers_of_their_own(shared_dvm):
    contexts = []
    for _ in range(2):
        done = run(shared_dvm, "pmix_group", "g", "context", "get")
        assert done.returncode == 0, done.stdout + done.stderr
        numbers = set(re.findall(r"group of 4 context (\d+)", done.stdout))
        assert len(numbers) == 1 and done.stdout.count("group of 4") == 4
        contexts += numbers
    assert len(set(contexts)) == 2


# A DVM each: libpmix keeps events for handlers that come late, also of the next job.
@pytest.mark.parametrize("how, heard", [((0, 6, "to=2"), 1), ((1, 3), 4)], ids=["directed", "job"])
def test_an_event_reaches_those_it_is_for(make_dvm, how, heard):
    done = run(make_dvm(nodes=4, slots=1), "pmix_event", *how)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("event from") == heard and done.stdout.count("end from") == 4


# ---- losses ----

def test_jobs_that_are_ended_in_a_fence_leave_a_server_that_works(make_dvm):
    """Some are in it and some are not: where they end at the same moment libpmix must not stand still."""
    dvm = make_dvm(nodes=2, slots=4)
    for fenced, options in ((1, ("--host", "v1")), (3, ("--host", "v1")), (5, ())) * 8:
        ranks = 2 * fenced if options else 8
        job = dvm.start("prun", "-n", ranks, "--map-by", ":OVERSUBSCRIBE", *options, PROGRAMS / "pmix_half", fenced)
        for _ in range(ranks):
            assert job.stdout.readline() == "in\n"
        job.send_signal(signal.SIGTERM)
        dvm.finish(job)
        done = run(dvm, "pmix_fence", ranks=2)
        assert done.returncode == 0, done.stderr


def test_who_connects_and_says_nothing_holds_up_nobody(make_dvm):
    dvm = make_dvm(nodes=1, slots=2)
    port = knocking.pmix_port(dvm, "v1")
    with contextlib.ExitStack() as callers:
        for said in (b"", b"", b"", b"half"):
            callers.enter_context(knocking.tcp(port, said))
        for _ in range(3):
            done = run(dvm, "pmix_fence", ranks=2)
            assert done.returncode == 0, done.stderr


def test_a_fence_that_loses_its_daemon_fails_and_disturbs_nobody_else(make_dvm):
    dvm = make_dvm(nodes=4, slots=2)
    other = dvm.start("prun", "-n", 2, "--host", "v1,v2", PROGRAMS / "pmix_publish", "wait=1", "never?")
    waiting = dvm.start("prun", "-n", 4, "--map-by", "node", PROGRAMS / "pmix_churn", 100000)
    wait_until(lambda: len(dvm.jobs()["jobs"]) == 2, what="both run")
    dvm.kill_daemon("v4")
    done = dvm.finish(waiting)
    assert done.returncode == 120 and "node v4 was lost" in done.stderr
    assert other.poll() is None
    assert run(dvm, "pmix_publish", "never=1", ranks=1, options=("--host", "v3")).returncode == 0
    assert dvm.finish(other).returncode == 0


PLACES = {"one node": "v1:4", "two nodes": "v1:2,v2:2", "four nodes": "v1:1,v2:1,v3:1,v4:1"}


@pytest.mark.parametrize("hosts", PLACES.values(), ids=PLACES)
def test_a_rank_may_run_one_program_after_another_that_left_silently(shared_dvm, hosts):
    script = f'[ "$TIDE_RANK" = 1 ] && {PROGRAMS}/pmix_nested; exec {PROGRAMS}/pmix_nested 1 before'
    done = shared_dvm.tool("prun", "-n", 4, "--host", hosts, "sh", "-c", script)
    assert done.stdout == "met\n" * 4, done.stdout + done.stderr


@pytest.mark.parametrize("hosts", PLACES.values(), ids=PLACES)
def test_a_rank_outlives_a_program_that_left_silently_in_its_name(shared_dvm, hosts):
    done = shared_dvm.tool("prun", "-n", 4, "--host", hosts, PROGRAMS / "pmix_nested", 1)
    assert done.stdout == "met\n" * 4, done.stdout + done.stderr


@pytest.mark.parametrize("hosts", PLACES.values(), ids=PLACES)
def test_a_fence_that_ran_out_of_time_can_be_entered_again(shared_dvm, hosts):
    done = shared_dvm.tool("prun", "-n", 4, "--host", hosts, PROGRAMS / "pmix_late", 3)
    assert done.stdout == "in step\n" * 4, done.stdout + done.stderr


# ---- more than one message may carry ----

@pytest.fixture(scope="module")
def narrow_dvm():
    """One message carries half a megabyte."""
    with Dvm(nodes=3, slots=2, prtemca={"prte_max_msg_size": "1m"}) as dvm:
        yield dvm


@pytest.mark.parametrize("words", [("pmix_fence", "collect", 0, 600_000), ("pmix_fence", "collect", 0, 300_000),
                                   ("pmix_fence", "direct", 0, 600_000), ("pmix_publish", "bytes:big=600000"),
                                   ("pmix_publish", "bytes:half=300000", "bytes:other=300000", "half?other?")],
                         ids=["fence of one", "fence of all", "get", "publish", "lookup"])
def test_what_is_too_large_fails_alone(narrow_dvm, words):
    pids = narrow_dvm.daemon_pids()
    other = narrow_dvm.start("prun", "-n", 1, "sleep", 30)
    wait_until(lambda: "sleep" in str(narrow_dvm.jobs()), what="the other runs")
    single = words[0] == "pmix_publish"
    done = run(narrow_dvm, *words, ranks=1 if single else 3)
    assert "OUT-OF-RESOURCE" in done.stdout + done.stderr
    assert narrow_dvm.daemon_pids() == pids and other.poll() is None
    assert {node["state"] for node in narrow_dvm.status()["nodes"]} == {"up"}
    other.terminate()
    narrow_dvm.finish(other)
    after = run(narrow_dvm, "pmix_fence", "collect", 0, 100_000, ranks=3)
    assert (after.returncode, after.stdout) == (0, "sum 303\n" * 3), after.stderr


def test_an_event_that_is_too_large_stays_on_its_node(make_dvm):
    """libpmix 4.2 tells its sender that all is well, whatever we say."""
    dvm = make_dvm(nodes=3, slots=2, prtemca={"prte_max_msg_size": "1m"})
    done = run(dvm, "pmix_event", 0, 3, "bytes=600000", ranks=3)
    assert done.returncode == 0 and done.stdout.count("event from") == 1 and done.stdout.count("end from") == 3
    assert "is not told elsewhere" in dvm.log_text("v1")
    assert {node["state"] for node in dvm.status()["nodes"]} == {"up"}


# ---- tools ----

@pytest.fixture(scope="module")
def tool_dvm():
    with Dvm(nodes=4, slots=4, prtemca={"state_base_verbose": 1}, up_options=("--system-server",)) as dvm:
        yield dvm


def places(dvm):
    described = info(dvm)
    report = dvm.tmpdir / "uri"
    report.write_text(described["uri"] + "\n")
    return {"uri": ("uri", described["uri"]), "file": ("file", report), "pid": ("pid", described["pid"]),
            "nspace": ("nspace", described["dvm_id"]), "system": ("system",), "session": ("session",)}


@pytest.mark.parametrize("how", ["uri", "file", "pid", "nspace", "system", "session"])
def test_a_tool_finds_the_head(tool_dvm, how):
    done = tool(tool_dvm, "hello", where=[str(word) for word in places(tool_dvm)[how]])
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f" at {info(tool_dvm)['dvm_id']} 0\n")


def test_a_tool_finds_a_daemon(tool_dvm):
    done = tool(tool_dvm, "hello", where=("attach", tool_dvm.pmix_file("v3")))
    assert done.returncode == 0 and done.stdout.endswith(f" at {info(tool_dvm)['dvm_id']} 3\n"), done.stderr


# row:L12 row:L19
@pytest.mark.parametrize("where", ["head", "v2"])
def test_a_tools_job_is_complete_wherever_it_attached(tool_dvm, where):
    at = None if where == "head" else ("attach", tool_dvm.pmix_file(where))
    done = tool(tool_dvm, "spawn", 4, "sh", "-c", "echo out $TIDE_RANK; seq 20000 | tail -1", where=at)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines.count("20000") == 4 and {f"out {rank}" for rank in range(4)} <= set(lines)
    starts = [n for n, line in enumerate(lines) if line.startswith("event JOB STARTED")]
    ends = [n for n, line in enumerate(lines) if line.startswith("event JOB ENDED")]
    assert len(starts) == len(ends) == 1
    assert ends[0] > max(n for n, line in enumerate(lines) if line == "20000"), "after all its output"


def test_the_end_that_a_tool_is_told_has_the_jobs_status(tool_dvm):
    done = tool(tool_dvm, "spawn", 1, "sh", "-c", "exit 3")
    assert re.search(r"event JOB ENDED \S+@\d+ .*ABORT", done.stdout), done.stdout


def test_a_tool_asks_steers_and_ends_jobs(tool_dvm):
    job = tool_dvm.start("prun", "-n", 2, "--map-by", "node", "sleep", "1000")
    nspace = wait_until(lambda: [row["namespace"] for row in tool_dvm.jobs()["jobs"] if row["running"] == 2],
                        what="the job runs")[-1]
    assert nspace in tool(tool_dvm, "namespaces").stdout
    table = tool(tool_dvm, "ps", nspace, where=("attach", tool_dvm.pmix_file("v4"))).stdout
    assert table.count("host v") == 2 and "program sleep" in table
    pids = [int(pid) for pid in re.findall(r"pid (\d+)", table)]
    assert all(is_alive(pid) for pid in pids)
    assert tool(tool_dvm, "pause", nspace).returncode == 0
    stopped = lambda: all(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "T" for pid in pids)
    wait_until(stopped, what="both are stopped")
    assert tool(tool_dvm, "resume", nspace).returncode == 0
    assert tool(tool_dvm, "terminate", nspace).returncode == 0
    assert tool_dvm.finish(job).returncode == 143


def test_the_job_of_a_tool_that_is_killed_ends(tool_dvm):
    before = len(tool_dvm.jobs()["jobs"])
    process = subprocess.Popen([PROGRAMS / "pmix_tool", "uri", info(tool_dvm)["uri"], "spawn", "2", "sleep", "1000"],
                               stdout=subprocess.PIPE, text=True)
    wait_until(lambda: len(tool_dvm.jobs()["jobs"]) == before + 1, what="its job runs")
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=TOOL_LIMIT_S)
    wait_until(lambda: len(tool_dvm.jobs()["jobs"]) == before, what="its job has ended")


def test_a_tool_that_stands_still_holds_up_nobody(tool_dvm):
    process = subprocess.Popen([PROGRAMS / "pmix_tool", "uri", info(tool_dvm)["uri"], "spawn", "1", "yes"],
                               stdout=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: "yes" in str(tool_dvm.jobs()), what="its job runs")
        process.send_signal(signal.SIGSTOP)
        for _ in range(3):
            assert tool_dvm.run("-n", "2", "true").returncode == 0
            assert tool(tool_dvm, "hello").returncode == 0
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=TOOL_LIMIT_S)
    wait_until(lambda: "yes" not in str(tool_dvm.jobs()), what="its job has ended")


def test_two_dvms_do_not_confuse_a_tool(tool_dvm, make_dvm):
    other = make_dvm(nodes=1)
    for dvm in (tool_dvm, other):
        done = tool(dvm, "hello", where=("pid", str(info(dvm)["pid"])))
        assert done.stdout.endswith(f" at {info(dvm)['dvm_id']} 0\n"), done.stderr


def test_the_systems_dvm_is_found_by_prun(tool_dvm):
    done = tool_dvm.tool("prun", "--system-server-only", "-n", "1", "true")
    assert done.returncode == 0, done.stderr


def test_job_states_in_order_with_a_tools_job(tool_dvm):
    assert tool(tool_dvm, "spawn", 2, PROGRAMS / "pmix_hello").returncode == 0
    number = tool_dvm.jobs("--all")["jobs"][-1]["number"]
    wait_until(lambda: "NOTIFIED" in transitions_in(tool_dvm.log_text("head"), number), what="the log has it all")
    states = transitions_in(tool_dvm.log_text("head"), number)
    assert states[-5:] == ["RUNNING", "REGISTERED", "TERMINATED", "NOTIFY_COMPLETED", "NOTIFIED"]
