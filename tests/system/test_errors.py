"""Errors that teach: what people read in the situations they really meet, kept by golden files."""

import os
import signal
import socket

import goldens
import pytest
from dvm import Dvm, wait_until

SLEEP = ("sleep", "60")


@pytest.fixture(scope="module")
def work():
    """A DVM named work, four nodes with two slots, and some things that are no programs."""
    dvm = Dvm(nodes=4, slots=2, name="work")
    try:
        dvm.up()
        (dvm.tmpdir / "folder").mkdir()
        (dvm.tmpdir / "notes.txt").write_text("no program\n")
        (dvm.tmpdir / "script").write_text("#!/no/such/interpreter\n")
        (dvm.tmpdir / "script").chmod(0o755)
        yield dvm
    finally:
        dvm.close()


@pytest.fixture
def nowhere():
    """A place of its own without a DVM."""
    dvm = Dvm(nodes=1)
    try:
        yield dvm
    finally:
        dvm.close()


def meets(dvm, name, *argv, env=None):
    """Runs a command that says what the golden file of this name holds."""
    done = dvm.tool(*argv, env=env)
    assert done.stdout == ""
    goldens.check(name, argv, done, dvm.tmpdir, env)


def run_base(dvm):
    return dvm.tmpdir / f"prte.{socket.gethostname().split('.')[0]}.{os.geteuid()}"


# ---- command lines, programs, places: nothing else has to happen ----

COMMANDS = {
    "no-command": ["tide"],
    "unknown-command": ["tide", "statsu"],
    "command-like-no-other": ["tide", "dance"],
    "unknown-option": ["prun", "--tiemout", "3", "true"],
    "option-like-no-other": ["prun", "--quetzalcoatl", "true"],
    "option-not-built": ["prun", "--rankfile", "ranks", "true"],
    "option-without-value": ["prun", "-n"],
    "option-twice": ["prun", "-n", "2", "--np", "3", "true"],
    "bad-number": ["prun", "-n", "four", "true"],
    "number-out-of-range": ["prun", "-n", "0", "true"],
    "host-slots-out-of-range": ["prun", "--host", "v1:0", "true"],
    "hostfile-not-there": ["prun", "--hostfile", "nodes.txt", "true"],
    "no-program": ["prun", "-n", "2"],
    "word-too-many": ["tide", "status", "now"],
    "bad-map-by": ["prun", "--map-by", "slit", "true"],
    "bad-map-by-qualifier": ["prun", "--map-by", "node:oversubscirbe", "true"],
    "bad-output": ["prun", "--output", "tog", "true"],
    "bad-timeout": ["prun", "--timeout", "soon", "true"],
    "value-for-a-pattern": ["prun", "-x", "A*=3", "true"],
    "variable-not-set": ["prun", "-n", "1", "-x", "TIDE_NO_SUCH_VARIABLE", "true"],
    "unknown-help-topic": ["prun", "--help", "mapp-by"],
    "head-unknown-option": ["prte", "--nodse", "3"],
    "head-number-out-of-range": ["prte", "--nodes", "0"],
    "program-not-found": ["prun", "-n", "1", "no-such-program"],
    "program-not-there": ["prun", "-n", "1", "./no-such-program"],
    "program-not-executable": ["prun", "-n", "1", "./notes.txt"],
    "program-is-a-directory": ["prun", "-n", "1", "./folder"],
    "program-without-interpreter": ["prun", "-n", "1", "./script"],
    "working-directory-missing": ["prun", "-n", "1", "--wdir", "/no/such/place", "true"],
    "unknown-host": ["prun", "--host", "v9", "true"],
    "host-nearly-right": ["prun", "--host", "vv2", "true"],
    "host-past-the-end": ["prun", "--host", "+n4", "true"],
    "too-few-empty-nodes": ["prun", "--host", "+e:5", "true"],
    "too-few-slots": ["prun", "-n", "20", "true"],
    "too-few-slots-by-host": ["prun", "-n", "3", "--host", "v1:1,v2:1", "true"],
    "too-few-slots-on-these-hosts": ["prun", "-n", "5", "--host", "v1,v2", "true"],
    "too-few-slots-for-the-second": ["prun", "-n", "3", "true", ":", "-n", "9", "true"],
    "no-process-for-stdin": ["prun", "-n", "2", "--stdin", "5", "true"],
    "unknown-parameter": ["tide", "params", "--prtemca", "rml_radx", "2"],
    "parameter-like-no-other": ["tide", "params", "--prtemca", "colour", "blue"],
    "unknown-parameter-asked-for": ["tide", "params", "rml_radx"],
    "bad-parameter-value": ["tide", "up", "--dvm", "never", "--prtemca", "rml_radix", "many"],
    "bad-parameter-choice": ["tide", "up", "--dvm", "never", "--prtemca", "prte_set_default_slots", "core"],
    "pool-without-elastic": ["tide", "up", "--dvm", "never", "--pool", "12"],
    "dvm-name-taken": ["prte", "--daemonize", "--dvm", "work"],
    "dvm-name-invalid": ["tide", "up", "--dvm", "Night Shift"],
    "dvm-name-nearly-right": ["tide", "status", "--dvm", "wrok"],
    "dvm-name-unknown": ["tide", "status", "--dvm", "elsewhere"],
    "dvm-pid-unknown": ["tide", "status", "--pid", "1"],
    "unknown-job": ["tide", "kill", "99"],
    "not-a-job": ["tide", "kill", "first"],
    "unknown-signal": ["tide", "kill", "1", "--signal", "NOPE"],
    "unknown-log": ["tide", "logs", "v9"],
    "unknown-failpoint": ["tide", "debug", "release", "action.exit"],
    "exit-nonzero": ["prun", "-n", "1", "sh", "-c", "exit 3"],
    "ended-by-signal": ["prun", "-n", "1", "sh", "-c", "kill -SEGV $$"],
    "timeout": ["prun", "-n", "1", "--timeout", "300ms", *SLEEP],
}


@pytest.mark.user
@pytest.mark.parametrize("name", COMMANDS)
def test_command_says_what_is_wrong(work, name):
    meets(work, name, *COMMANDS[name])


@pytest.mark.user
@pytest.mark.parametrize("name, env", [
    ("unknown-parameter-in-environment", {"PRTE_MCA_rml_radx": "2"}),
    ("bad-parameter-value-in-environment", {"PRTE_MCA_tide_kill_grace": "soon"}),
])
def test_parameters_in_the_environment(work, name, env):
    meets(work, name, "tide", "params", "rml_radix", env=env)


@pytest.mark.user
@pytest.mark.parametrize("name, lines", [
    ("bad-parameter-value-in-file", "# mine\n\nrml_radix = many\n"),
    ("unknown-parameter-in-file", "rml_radix = 4\nrml_radx = 2\n"),
    ("parameter-file-line", "rml_radix 2\n"),
])
def test_parameters_in_a_file(nowhere, name, lines):
    (nowhere.tmpdir / ".prte").mkdir()
    (nowhere.tmpdir / ".prte" / "mca-params.conf").write_text(lines)
    meets(nowhere, name, "tide", "params", "rml_radix")


# ---- with other jobs around ----

def start_job(dvm, *argv):
    """A job in the background whose processes run."""
    before = {row["number"] for row in dvm.jobs()["jobs"]}
    process = dvm.start("prun", *argv)

    def runs():
        rows = [row for row in dvm.jobs()["jobs"] if row["number"] not in before]
        return rows and rows[0]["state"].endswith("_RUNNING") and rows[0]
    return process, wait_until(runs, what="the job runs")


def ends(dvm, name, process, *argv):
    done = dvm.finish(process)
    assert done.stdout == ""
    goldens.check(name, argv, done, dvm.tmpdir)


@pytest.mark.user
def test_slots_that_other_jobs_have(dvm):
    start_job(dvm, "-n", "3", *SLEEP)
    meets(dvm, "too-few-slots-now", "prun", "-n", "7", "true")
    start_job(dvm, "-n", "5", *SLEEP)
    meets(dvm, "no-slot-is-free", "prun", "true")


def test_slots_from_a_parameter(nowhere):
    meets(nowhere, "too-few-slots-from-a-parameter", "prterun", "--nodes", "12", "--prtemca",
          "prte_set_default_slots", "1", "-n", "13", "true")


@pytest.mark.user
def test_job_ended_by_kill(dvm):
    process, row = start_job(dvm, "-n", "2", *SLEEP)
    assert dvm.tool("tide", "kill", row["number"]).returncode == 0
    ends(dvm, "job-ended-by-kill", process, "prun", "-n", "2", *SLEEP)


def test_job_ended_by_pterm(dvm):
    process, _ = start_job(dvm, "-n", "2", *SLEEP)
    dvm.down()
    ends(dvm, "job-ended-by-pterm", process, "prun", "-n", "2", *SLEEP)


def test_job_ended_by_interrupt(dvm):
    process, _ = start_job(dvm, "-n", "1", *SLEEP)
    process.send_signal(signal.SIGINT)
    ends(dvm, "job-ended-by-interrupt", process, "prun", "-n", "1", *SLEEP)


# The daemon's end is reported by its warden, unless its links are missed first.
def test_node_lost_under_a_job(make_dvm):
    dvm = make_dvm(nodes=3, slots=1, prtemca={"tide_failpoint": "event.link_down:hold"})
    process, _ = start_job(dvm, "-n", "3", *SLEEP)
    dvm.kill_daemon("v2")
    ends(dvm, "node-lost", process, "prun", "-n", "3", *SLEEP)


def test_head_gone_under_a_job(dvm):
    process, _ = start_job(dvm, "-n", "1", *SLEEP)
    os.kill(dvm.head_pid(), signal.SIGKILL)
    dvm.abandon()
    ends(dvm, "head-gone", process, "prun", "-n", "1", *SLEEP)
    meets(dvm, "dvm-gone", "tide", "status")


# ---- no DVM, several, and places for them ----

@pytest.mark.user
def test_no_dvm(nowhere):
    meets(nowhere, "no-dvm", "prun", "-n", "1", "true")
    meets(nowhere, "no-dvm-of-that-name", "prun", "--dvm", "night", "true")


def test_several_dvms(make_dvm):
    first = make_dvm(nodes=1, name="first")
    try:
        started = first.tool("tide", "up", "--nodes", "2", "--dvm", "second")
        assert started.returncode == 0, started.stderr
        meets(first, "several-dvms", "prun", "true")
    finally:
        first.tool("tide", "down", "--dvm", "second")


def test_head_that_does_not_answer(dvm):
    pid = dvm.head_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        meets(dvm, "head-does-not-answer", "tide", "status")
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.user
def test_tmpdir_too_long(nowhere):
    long = nowhere.tmpdir / ("x" * 100)
    long.mkdir()
    done = nowhere.tool("tide", "up", env={"TMPDIR": str(long)})
    text = goldens.normalised(done.stderr, nowhere.tmpdir)
    assert done.returncode == 1 and "bytes long and the system takes at most 107\n  try: TMPDIR=/tmp" in text, text


@pytest.mark.user
def test_tmpdir_that_is_not_there(nowhere):
    meets(nowhere, "tmpdir-not-there", "prte", "--nodes", "1", env={"TMPDIR": "/no/such/place"})


@pytest.mark.user
def test_tmpdir_not_writable(nowhere):
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    closed = nowhere.tmpdir / "closed"
    closed.mkdir(mode=0o500)
    meets(nowhere, "tmpdir-not-writable", "prte", "--nodes", "1", env={"TMPDIR": str(closed)})


@pytest.mark.user
def test_run_directory_open_to_others(nowhere):
    run_base(nowhere).mkdir(mode=0o755)
    run_base(nowhere).chmod(0o755)
    meets(nowhere, "run-directory-open", "prte", "--nodes", "1")
    meets(nowhere, "run-directory-open-for-a-client", "prun", "true")


@pytest.mark.user
def test_run_directory_is_a_link(nowhere):
    (nowhere.tmpdir / "elsewhere").mkdir(mode=0o700)
    run_base(nowhere).symlink_to(nowhere.tmpdir / "elsewhere")
    meets(nowhere, "run-directory-is-a-link", "prte", "--nodes", "1")


@pytest.mark.user
@pytest.mark.parametrize("argv", [["tide", "status", "--dvm", "nobodys"], ["prte", "--nodes", "0"],
                                  ["prte", "--nodes", "1", "--report-uri", "/no/such/place/uri"]])
def test_relative_tmpdir_is_mentioned_where_it_matters(nowhere, argv):
    done = nowhere.tool(*argv, env={"TMPDIR": "scratch"})
    said = "TMPDIR=scratch is not an absolute path and is not used; run directories are in /tmp/prte." in done.stderr
    assert said == (argv[0] == "tide") and done.returncode != 0, done.stderr


# ---- where nothing is wrong, and something is worth saying ----

def test_empty_log_is_said_to_be_empty(work):
    assert work.log_text("v3") == ""
    meets(work, "empty-log", "tide", "logs", "v3")


def test_fresh_dvm_has_repaired_nothing(dvm):
    assert dvm.status()["counters"]["tree.repairs"] == 0
    dvm.kill_daemon("v2")
    wait_until(lambda: len(dvm.status()["nodes"]) == 3, what="the node is gone")
    assert dvm.status()["counters"]["tree.repairs"] == 1


def test_timeout_of_nothing_is_no_limit(work):
    done = work.run("-n", "1", "--timeout", "0", "sh", "-c", "sleep 0.1; echo ran")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", "")


# Both streams through one pipe: what the process wrote first comes first, and the bytes are whole.
ALTERNATE = "i=0; while [ $i -lt 300 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done"


@pytest.mark.user
def test_merged_output_keeps_the_order_between_the_streams(work):
    done = work.run("-n", "1", "--output", "merge-stderr-to-stdout", "sh", "-c", ALTERNATE)
    expected = "".join(f"out {i}\nerr {i}\n" for i in range(300))
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == expected
    shown = work.run("-n", "1", "--output", "merge-stderr-to-stdout", "sh", "-c",
                     "readlink /proc/self/fd/1 /proc/self/fd/2").stdout.split()
    assert len(shown) == 2 and shown[0] == shown[1]


def test_every_golden_file_has_its_test():
    written = {path.stem for path in goldens.FOLDER.glob("*.txt")}
    source = open(__file__, encoding="utf-8").read()
    unused = {name for name in written if f'"{name}"' not in source}
    assert not unused, unused


def test_goldens_can_fail(work, tmp_path, monkeypatch):
    monkeypatch.setattr(goldens, "FOLDER", tmp_path)
    monkeypatch.delenv(goldens.ACCEPT, raising=False)
    (tmp_path / "no-command.txt").write_text("something else\n")
    with pytest.raises(AssertionError, match="TIDE_ACCEPT_GOLDEN=1"):
        meets(work, "no-command", "tide")
