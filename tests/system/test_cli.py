"""What the commands take and show."""

import json
import os
from pathlib import Path

import pytest

from dvm import Dvm, wait_until
from jobs import Gate


def lines(done):
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.splitlines())


# ---- where processes go ----

@pytest.mark.user
def test_by_slot_fills_a_node_before_the_next(shared_dvm):
    done = shared_dvm.run("-n", "6", "sh", "-c", "echo $TIDE_RANK $TIDE_NODE $TIDE_LOCAL_RANK")
    assert lines(done) == ["0 v1 0", "1 v1 1", "2 v1 2", "3 v1 3", "4 v2 0", "5 v2 1"]


@pytest.mark.user
def test_by_node_goes_round(shared_dvm):
    done = shared_dvm.run("-n", "6", "--map-by", "node", "sh", "-c", "echo $TIDE_RANK $TIDE_NODE $TIDE_LOCAL_RANK")
    assert lines(done) == ["0 v1 0", "1 v2 0", "2 v3 0", "3 v4 0", "4 v1 1", "5 v2 1"]


def test_without_a_number_one_process_for_each_slot(shared_dvm):
    assert lines(shared_dvm.run("sh", "-c", "echo $TIDE_SIZE")) == ["16"] * 16
    assert lines(shared_dvm.run("--host", "v2:3", "sh", "-c", "echo $TIDE_NODE")) == ["v2"] * 3


@pytest.mark.user
def test_hosts_and_their_slots(shared_dvm):
    done = shared_dvm.run("-n", "4", "--host", "v1:1,v3", "sh", "-c", "echo $TIDE_RANK $TIDE_NODE")
    assert lines(done) == ["0 v1", "1 v3", "2 v3", "3 v3"]
    done = shared_dvm.run("-n", "6", "--host", "v1:1,v3", "true")
    assert done.returncode == 125 and "not enough slots" in done.stderr


def test_slots_in_use_are_not_given_twice(shared_dvm):
    gate = Gate(shared_dvm.tmpdir / "gate-slots")
    job = shared_dvm.start("tide", "run", "-n", "14", "sh", "-c", gate.wait_command())
    wait_until(lambda: [row for row in shared_dvm.jobs()["jobs"] if row["running"] == 14], what="the job runs")
    assert lines(shared_dvm.run("sh", "-c", "echo $TIDE_NODE")) == ["v4", "v4"]
    done = shared_dvm.run("-n", "3", "true")
    assert done.returncode == 125 and "2 usable of 16 slots" in done.stderr
    assert shared_dvm.run("-n", "3", "--map-by", ":OVERSUBSCRIBE", "true").returncode == 0
    wait_until(lambda: (gate.try_open() or True) and job.poll() is not None, what="the job ends")
    assert job.returncode == 0 and shared_dvm.run("-n", "16", "true").returncode == 0


@pytest.mark.user
def test_several_programs_in_one_job(shared_dvm):
    done = shared_dvm.run("-n", "2", "sh", "-c", "echo a $TIDE_RANK $TIDE_SIZE", ":", "-n", "1", "--host", "v4",
                          "-x", "WHO=b", "sh", "-c", "echo $WHO $TIDE_RANK $TIDE_SIZE $TIDE_NODE")
    assert lines(done) == ["a 0 3", "a 1 3", "b 2 3 v4"]


def test_programs_of_one_job_share_the_slots(shared_dvm):
    done = shared_dvm.run("-n", "3", "sh", "-c", "echo $TIDE_RANK $TIDE_NODE", ":", "-n", "2", "sh", "-c",
                          "echo $TIDE_RANK $TIDE_NODE")
    assert lines(done) == ["0 v1", "1 v1", "2 v1", "3 v1", "4 v2"]
    assert shared_dvm.run("-n", "10", "true", ":", "-n", "7", "true").returncode == 125


# ---- working directory and environment ----

@pytest.mark.user
def test_working_directory(shared_dvm):
    folder = shared_dvm.tmpdir / "a folder"
    folder.mkdir(exist_ok=True)
    assert lines(shared_dvm.run("-n", "1", "pwd", cwd=folder)) == [str(folder)]
    assert lines(shared_dvm.run("-n", "1", "--wdir", str(folder), "pwd")) == [str(folder)]
    (folder / "here").write_text("#!/bin/sh\necho found\n")
    (folder / "here").chmod(0o755)
    assert lines(shared_dvm.run("-n", "1", "./here", cwd=folder)) == ["found"]
    assert lines(shared_dvm.run("-n", "1", "--wdir", str(folder), "./here")) == ["found"]


@pytest.fixture(scope="module")
def environment_dvm():
    dvm = Dvm(nodes=2, slots=2, env={"B": "inherited"})
    try:
        yield dvm.up()
    finally:
        dvm.close()


SHOW = 'echo "A=${A-none} B=${B-none}"'


# row:L20
@pytest.mark.user
@pytest.mark.parametrize("options, shown", [
    ([], "A=none B=inherited"),
    (["-x", "A"], "A=mine B=inherited"),
    (["-x", "A=1"], "A=1 B=inherited"),
    (["-x", "A=1,B=2"], "A=1,B=2 B=inherited"),
    (["-x", "A,B=2"], "A=mine B=2"),
    (["-x", "A*"], "A=mine B=inherited"),
    (["-x", "A=1", "-x", "A=2"], "A=2 B=inherited"),
    (["--set-env", "A=x=y"], "A=x=y B=inherited"),
    (["--unset-env", "B"], "A=none B=none"),
    (["--unset-env", "B", "--append-env", "B", "end"], "A=none B=end"),
    (["--append-env", "B", "end"], "A=none B=inherited:end"),
    (["--prepend-env", "B", "begin"], "A=none B=begin:inherited"),
    (["--prepend-env", "B[;]", "begin"], "A=none B=begin;inherited"),
    (["-x", "A=1", "--append-env", "A", "2", "--prepend-env", "A", "0"], "A=0:1:2 B=inherited"),
    (["--append-env", "A", "2", "-x", "A=1"], "A=1 B=inherited"),
    (["--set-env", "A=1", "--unset-env", "A"], "A=none B=inherited"),
    (["--unset-env", "A", "--set-env", "A=1"], "A=1 B=inherited"),
])
def test_environment_directives_in_order(environment_dvm, options, shown):
    done = environment_dvm.run("-n", "2", *options, "sh", "-c", SHOW, env={"A": "mine", "B": "client's"})
    assert lines(done) == [shown] * 2, done.stderr


# row:L20
def test_environment_belongs_to_its_program(environment_dvm):
    done = environment_dvm.run("-n", "1", "-x", "A=1", "sh", "-c", SHOW, ":", "-n", "1", "sh", "-c", SHOW)
    assert lines(done) == ["A=1 B=inherited", "A=none B=inherited"]


def test_processes_start_with_clean_signals_and_descriptors(shared_dvm):
    """Nothing of the daemon's own is inherited: no open descriptors, no blocked or ignored signals."""
    script = "ls /proc/$$/fd; grep -E 'Sig(Blk|Ign)' /proc/self/status"
    shown = lines(shared_dvm.run("-n", "1", "sh", "-c", script))
    descriptors = {word for word in shown if word.isdigit()}
    assert descriptors <= {"0", "1", "2"}, shown
    assert [line.split()[1] for line in shown if ":" in line] == ["0" * 16] * 2


# ---- status, jobs ----

@pytest.mark.user
def test_status_for_programs(shared_dvm):
    gate = Gate(shared_dvm.tmpdir / "gate-status")
    job = shared_dvm.start("tide", "run", "-n", "3", "--host", "v2", "sh", "-c", gate.wait_command())
    wait_until(lambda: [row for row in shared_dvm.status()["jobs"] if row["running"] == 3], what="the job runs")
    status = shared_dvm.status()
    assert status["schema_version"] == 1
    assert set(status) == {"schema_version", "dvm", "nodes", "jobs", "allocations", "asks", "campaigns", "counters"}
    assert set(status["dvm"]) >= {"name", "id", "state", "age_ms", "pid", "uri", "radix", "serial", "span"}
    assert status["dvm"]["state"] == "ready" and status["dvm"]["span"] == 5 and status["dvm"]["age_ms"] > 0
    for number, node in enumerate(status["nodes"], 1):
        used = 3 if number == 2 else 0
        assert node | {"pid": 0} == {"name": f"v{number}", "rank": number, "state": "up", "slots": 4,
                                     "slots_used": used, "processes": used, "pid": 0, "parent": 0,
                                     "allocation": None, "reservation": None, "manager": "pool"}
    row = status["jobs"][0]
    assert (row["state"], row["processes"], row["running"], row["ended"]) == ("PRTE_JOB_STATE_RUNNING", 3, 3, False)
    assert row["namespace"] == f"{status['dvm']['id']}@{row['number']}"
    assert all(isinstance(value, int) for value in status["counters"].values())
    wait_until(lambda: (gate.try_open() or True) and job.poll() is not None, what="the job ends")


@pytest.mark.user
def test_status_for_people(shared_dvm):
    text = shared_dvm.tool("tide", "status").stdout
    assert "4 nodes, 0 of 16 slots used, 0 running jobs" in text
    assert all(f"\nv{number} " in text for number in range(1, 5))


def test_age_below_a_second_is_shown(shared_dvm):
    assert shared_dvm.run("-n", "1", "sleep", "0.3").returncode == 0
    row = [line for line in shared_dvm.tool("tide", "jobs", "--all").stdout.splitlines() if "sleep 0.3" in line][-1]
    assert " 0 ms " not in row and (" ms " in row or " s " in row), row


def test_jobs_that_ended_show_how_long_they_ran(shared_dvm):
    assert shared_dvm.run("-n", "1", "sleep", "0.3").returncode == 0
    assert shared_dvm.jobs()["jobs"] == []
    last = shared_dvm.jobs("--all")["jobs"][-1]
    assert (last["command"], last["ended"], last["exit_status"]) == ("sleep 0.3", True, 0)
    assert 300 <= last["age_ms"] < 20000
    assert "sleep 0.3" in shared_dvm.tool("tide", "jobs", "--all").stdout


def test_history_is_bounded(make_dvm):
    dvm = make_dvm(nodes=1, prtemca={"tide_history_jobs": 3})
    for number in range(5):
        assert dvm.run("-n", "1", "echo", number).returncode == 0
    assert [row["command"] for row in dvm.jobs("--all")["jobs"]] == ["echo 2", "echo 3", "echo 4"]


# ---- parameters ----

def parameter(dvm, name, *options, env=None, program=("tide", "params")):
    done = dvm.tool(*program, name, "--json", *options, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["params"][0]


@pytest.mark.user
def test_parameters_with_value_and_source(dvm):
    assert parameter(dvm, "rml_radix") | {"help": ""} == {
        "name": "rml_radix", "value": "64", "source": "default", "type": "int", "help": ""}
    (dvm.tmpdir / ".prte").mkdir()
    (dvm.tmpdir / ".prte" / "mca-params.conf").write_text("rml_radix = 5\n")
    by_file = parameter(dvm, "rml_radix")
    assert by_file["value"] == "5" and "mca-params.conf" in by_file["source"]
    by_environment = parameter(dvm, "rml_radix", env={"PRTE_MCA_rml_radix": "6"})
    assert by_environment["value"] == "6" and "PRTE_MCA_rml_radix" in by_environment["source"]
    by_line = parameter(dvm, "rml_radix", "--prtemca", "rml_radix", "7", env={"PRTE_MCA_rml_radix": "6"})
    assert by_line["value"] == "7" and "command line" in by_line["source"]


def test_parameter_by_its_other_name(dvm):
    assert parameter(dvm, "rml_radix", "--prtemca", "rml_base_radix", "9")["value"] == "9"


def test_parameters_of_a_running_dvm(make_dvm):
    dvm = make_dvm(nodes=1, name="own", prtemca={"rml_radix": 3})
    assert parameter(dvm, "rml_radix", "--dvm", "own")["value"] == "3"
    assert parameter(dvm, "rml_radix")["value"] == "64"


def test_info_lists_parameters(shared_dvm):
    done = shared_dvm.tool("prte_info", "--param", "rml_radix")
    assert done.returncode == 0 and "rml_radix = 64" in done.stdout and "default" in done.stdout
    done = shared_dvm.tool("prte_info", "--param", "all", "--parsable")
    assert "rml_radix:value:64" in done.stdout and "rml_radix:source:default" in done.stdout


@pytest.mark.user
@pytest.mark.parametrize("argv", [["params"], ["run", "true"], ["up"], ["status"]])
def test_unknown_parameter_names_it_and_the_nearest(shared_dvm, argv):
    done = shared_dvm.tool("tide", argv[0], "--prtemca", "rml_radx", "2", *argv[1:])
    assert done.returncode == 2
    assert "'rml_radx'" in done.stderr and "did you mean 'rml_radix'" in done.stderr
    done = shared_dvm.tool("tide", *argv, env={"PRTE_MCA_state_base_verbos": "1"})
    assert done.returncode == 2
    assert "PRTE_MCA_state_base_verbos" in done.stderr and "'state_base_verbose'" in done.stderr


@pytest.mark.parametrize("name, value", [("rml_radix", "0"), ("rml_radix", "many"), ("state_base_verbose", "-1"),
                                         ("tide_kill_grace", "soon"), ("tide_failpoint", "nonsense")])
def test_bad_value_is_named(shared_dvm, name, value):
    done = shared_dvm.tool("tide", "up", "--dvm", "never", "--prtemca", name, value)
    assert done.returncode == 2, done.stderr
    assert name.removeprefix("tide_") in done.stderr and value in done.stderr


# ---- logs, debug, help ----

def test_logs_of_head_and_nodes(make_dvm):
    dvm = make_dvm(nodes=2, prtemca={"state_base_verbose": 1})
    wait_until(lambda: "VM_READY" in dvm.transitions(0), what="the log shows the start")
    done = dvm.tool("tide", "logs", "head", "--lines", "2")
    assert done.returncode == 0
    assert len([line for line in done.stdout.splitlines() if "[state]" in line]) == 2
    assert "VM_READY" in done.stdout
    done = dvm.tool("tide", "logs", "v2")
    assert done.returncode == 0 and "head" not in done.stdout
    done = dvm.tool("tide", "logs", "v9")
    assert done.returncode != 0 and "v9" in done.stderr


def test_flight_recorder(shared_dvm):
    assert shared_dvm.run("-n", "1", "true").returncode == 0
    done = shared_dvm.tool("tide", "debug", "recorder")
    assert done.returncode == 0
    assert "client_message" in done.stdout and "reply" in done.stdout


def test_release_of_nothing(shared_dvm):
    done = shared_dvm.tool("tide", "debug", "release", "action.exit")
    assert done.returncode == 1 and "action.exit" in done.stderr


@pytest.mark.parametrize("argv", [["tide", command] for command in
                                  ("up", "run", "status", "jobs", "kill", "grow", "shrink", "pool", "alloc", "down", "params",
                                   "logs", "debug", "sim")]
                         + [[name] for name in ("prun", "prterun", "pterm", "prte_info", "prte")])
def test_help_has_examples(shared_dvm, argv):
    done = shared_dvm.tool(*argv, "--help")
    assert done.returncode == 0 and done.stderr == ""
    assert "xample" in done.stdout


@pytest.mark.parametrize("word", ["help", "-h", "--help"])
def test_help_of_a_command_in_either_order(shared_dvm, word):
    assert shared_dvm.tool("tide", word, "run").stdout == shared_dvm.tool("tide", "run", "--help").stdout


def test_sim_runs_virtual_worlds(shared_dvm):
    done = shared_dvm.tool("tide", "sim", "--seeds", "1..3", "--nodes", "2")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("3 worlds in ") and done.stdout.endswith("0 broken promises\n")
    assert "\n  sim " in shared_dvm.tool("tide", "--help").stdout


def test_sim_passes_on_what_it_is_given(shared_dvm):
    assert shared_dvm.tool("tide", "help", "sim").stdout == shared_dvm.tool("tide-sim", "--help").stdout
    done = shared_dvm.tool("tide", "sim", "--seeds", "two words")
    assert done.returncode == 2
    assert done.stderr == "tide sim: --seeds takes A..B, not 'two words'; see tide sim --help\n"


def test_sim_tries_all_interleavings(shared_dvm):
    done = shared_dvm.tool("tide", "sim", "--exhaustive", "--nodes", "1", "--jobs", "1")
    assert done.returncode == 0 and " states visited in " in done.stdout
    assert "everything within the bound" in done.stdout and done.stdout.endswith("0 broken promises\n")
    done = shared_dvm.tool("tide", "sim", "--exhaustive", "--departures", "2", "--limit", "100")
    assert done.returncode == 3 and "NOT everything" in done.stdout
    done = shared_dvm.tool("tide", "sim", "--exhaustive", "--path", "0/5:1", "--quiet")
    assert done.returncode == 0 and done.stdout == "every promise held\n"


@pytest.mark.parametrize("words, reason", [
    ("--minutes 0", "--minutes can't be 0"),
    ("--seeds 1..3 --trace x.json", "--trace goes with one world"),
    ("--replay 1 --seeds 1..3", "exclude each other")])
def test_sim_refuses_what_makes_no_sense(shared_dvm, words, reason):
    done = shared_dvm.tool("tide", "sim", *words.split())
    assert done.returncode == 2 and reason in done.stderr


@pytest.mark.parametrize("where", ["/dev/full", "&-"])
@pytest.mark.parametrize("words", ["--help", "--seeds 1..2 --nodes 1", "--replay 3"])
def test_sim_that_cannot_be_read_is_a_failure(shared_dvm, words, where):
    done = shared_dvm.shell(f"tide sim {words} >{where}")
    assert done.returncode == 1 and done.stderr.startswith("tide sim: cannot write to ")


def test_sim_holds_a_large_world_against_the_formulas(shared_dvm):
    done = shared_dvm.tool("tide", "sim", "--scale", "300", "--radix", "4")
    assert done.returncode == 0 and "| tree: depth | 4 | 4 |" in done.stdout and "every formula holds" in done.stdout
    done = shared_dvm.tool("tide", "sim", "--scale", "300", "--seeds", "1..3")
    assert done.returncode == 2 and "--seeds does not go with --scale" in done.stderr


def test_version(shared_dvm):
    versions = {shared_dvm.tool(name, "--version").stdout.split()[-1] for name in ("tide", "prun", "prte", "prted")}
    assert len(versions) == 1


@pytest.mark.user
def test_run_directory_is_private(shared_dvm):
    directory = shared_dvm.run_directory()
    assert directory.stat().st_mode & 0o777 == 0o700 and directory.parent.stat().st_mode & 0o777 == 0o700
    assert directory.stat().st_uid == os.geteuid()
    information = json.loads((directory / "dvm.json").read_text())
    assert set(information) >= {"name", "dvm_id", "pid", "uri", "nodes", "slots", "started_unix_ms", "ready"}


def test_key_is_nowhere_to_be_seen(shared_dvm):
    """Neither arguments nor environment of daemons and processes hold more than names."""
    for node, pid in shared_dvm.daemon_pids().items():
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        assert words[1:] == ["--node", node, ""]
    environment = shared_dvm.run("-n", "1", "env").stdout
    names = {line.split("=")[0] for line in environment.splitlines() if line.startswith("TIDE_")}
    assert names <= {"TIDE_JOB", "TIDE_RANK", "TIDE_LOCAL_RANK", "TIDE_SIZE", "TIDE_NODE", "TIDE_NAMESPACE", "TIDE_BIN",
                     "TIDE_TIME_SCALE", "TIDE_LONG", "TIDE_SEED", "TIDE_SANITIZER_REPORTS"}
