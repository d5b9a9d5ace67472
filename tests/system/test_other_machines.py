"""DVMs over machines that are reached by ssh: starts, failures of starts, and that nothing is left anywhere."""

import os
import re
import signal

import pytest

from dvm import is_alive, wait_until
from left_behind import Job, assert_nothing_left
from machines import UNREACHABLE, WRONG_PRTED, DvmOverMachines, Machines, write_program

NAMES = ["alpha", "beta", "gamma"]
FAST = {"tide_heartbeat_interval": "200ms", "tide_heartbeat_timeout": "1s", "tide_reattach_timeout": "1s",
        "tide_suspect_grace": "300ms"}


@pytest.fixture
def machines():
    with Machines(*NAMES) as these:
        yield these
        these.assert_nothing_left()


@pytest.fixture
def place():
    """Makes DVMs that are not up; they are closed before the machines are."""
    made = []

    def make(*given, **options):
        made.append(DvmOverMachines(*given, **options))
        return made[-1]

    yield make
    for dvm in made:
        dvm.close()


def where(dvm, machines, n):
    """Where the processes of a job ran, by the TMPDIR of their daemon."""
    done = dvm.tool("prun", "-n", n, "--map-by", "node", "sh", "-c", "echo $TMPDIR")
    assert done.returncode == 0, done.stderr
    return sorted(os.path.relpath(line, machines.folder).split("/")[0] for line in done.stdout.split())


def assert_all_gone(dvm, machines):
    assert_nothing_left(dvm, may_stay=["hosts"])
    machines.assert_nothing_left()


# ---- starts ----

def test_up_run_down(machines):
    for name in NAMES:
        machines.rule(name, "noise")
    with DvmOverMachines(machines, NAMES) as dvm:
        assert [node["name"] for node in dvm.status()["nodes"]] == NAMES
        assert where(dvm, machines, 3) == NAMES
        # The sessions are over, and what they started is its own: a warden and a daemon on each.
        for name in NAMES:
            words = sorted(machines.processes(name).values())
            assert len(words) == 2 and "--node" in words[0] and "--remote" in words[1], words
        assert not [words for words in dvm.processes().values() if "other_machine.py reach" in words]
        dvm.down()


def test_the_log_of_a_node_is_on_its_machine(machines):
    with DvmOverMachines(machines, NAMES) as dvm:
        done = dvm.tool("tide", "logs", "beta")
        path = re.search(r"the log of beta is on its own machine, in (.*)\n  try: ssh beta cat \1\n", done.stderr)
        assert done.returncode == 1 and path, done.stderr
        assert os.path.isfile(path[1]) and path[1].startswith(str(machines.tmpdir("beta")))
        assert "did you mean gamma?" in dvm.tool("tide", "logs", "gama").stderr
        dvm.down()


def test_this_machine_may_be_one_of_them(machines):
    with DvmOverMachines(machines, "localhost slots=1\nalpha slots=1\n") as dvm:
        assert len(where(dvm, machines, 2)) == 2
        assert [words for words in dvm.processes().values() if "--node localhost" in words]
        dvm.down()


def test_a_job_may_spell_a_host_in_every_way(machines):
    with DvmOverMachines(machines, "localhost slots=1\nalpha slots=1\nbeta slots=1\n") as dvm:
        for spelling, node in [("LocalHost", "localhost"), ("127.0.0.1", "localhost"), ("ALPHA", "alpha"),
                               ("^localhost,^Beta", "alpha")]:
            done = dvm.tool("prun", "-n", "1", "--host", spelling, "sh", "-c", "echo $TIDE_NODE")
            assert done.returncode == 0, done.stderr
            assert done.stdout.strip() == node, spelling
        dvm.down()


def test_prefix_and_launch_agent_and_path(machines, place, tmp_path):
    here = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
    prted = os.path.join(os.environ.get("TIDE_BIN") or os.path.join(here, "build/release/bin"), "prted")
    (tmp_path / "it's here" / "bin").mkdir(parents=True)
    os.symlink(prted, tmp_path / "it's here" / "bin" / "prted")
    for options in (["--prefix", str(tmp_path / "it's here")], ["--launch-agent", f"env TIDE_X=1 {prted}"]):
        with DvmOverMachines(machines, ["alpha"], up_options=options) as dvm:
            dvm.down()
    dvm = place(machines, ["alpha"], up_options=["--noprefix"])
    done = dvm.try_up()
    assert done.returncode == 1 and "alpha has no prted" in done.stderr, done.stderr


def test_sessions_that_stay(machines, place):
    options = ["--leave-session-attached", "--prtemca", "plm_base_verbose", "1"]
    dvm = place(machines, NAMES)
    head = dvm.start("prte", *dvm._up_argv[1:], *options)
    assert head.stdout.readline() == "DVM ready\n"
    for name in NAMES:
        assert len([words for words in machines.processes(name).values() if "--remote" in words]) == 2
    assert where(dvm, machines, 3) == NAMES
    os.kill(next(pid for pid, words in machines.processes("beta").items() if "--node" in words), signal.SIGKILL)
    wait_until(lambda: len(dvm.status()["nodes"]) == 2, what="the loss is noticed")
    done = dvm.tool("pterm")
    assert done.returncode == 0, done.stderr
    assert dvm.finish(head).returncode == 0
    assert_all_gone(dvm, machines)


def test_sessions_that_stay_in_the_background_fill_logs_here(machines):
    with DvmOverMachines(machines, NAMES, up_options=["--leave-session-attached"],
                         prtemca={"state_base_verbose": 5, "routed_base_verbose": 5}) as dvm:
        assert where(dvm, machines, 3) == NAMES
        for name in NAMES:
            wait_until(lambda: "prted" in dvm.tool("tide", "logs", name).stdout, what=f"what {name} says is in a log here")
            assert not [file for file in machines.files(name) if str(file).endswith(".log")]
        dvm.down()


# ---- starts that fail ----

@pytest.mark.parametrize("words, said", UNREACHABLE.values(), ids=UNREACHABLE.keys())
def test_a_machine_that_cannot_be_reached(machines, place, words, said):
    machines.rule("alpha", f"deny {words}")
    dvm = place(machines, NAMES)
    done = dvm.try_up()
    assert done.returncode == 1
    assert said in done.stderr and words.strip() in done.stderr and "\n  try: " in done.stderr, done.stderr
    assert_all_gone(dvm, machines)


@pytest.mark.parametrize("script, said", WRONG_PRTED.values(), ids=WRONG_PRTED.keys())
def test_a_machine_with_another_prted(machines, place, tmp_path, script, said):
    agent = write_program(tmp_path / "prted", script)
    dvm = place(machines, ["alpha"], up_options=["--launch-agent", str(agent)])
    done = dvm.try_up()
    assert done.returncode == 1 and said in done.stderr and "\n  try: " in done.stderr, done.stderr
    assert_all_gone(dvm, machines)


def test_an_unknown_name(machines, place):
    dvm = place(machines, [*NAMES, "nosuch"])
    done = dvm.try_up(limit_s=10)
    assert done.returncode == 1 and done.stderr.count("nosuch could not be started") == 1, done.stderr
    assert_all_gone(dvm, machines)


def test_a_daemon_that_does_not_come_up_says_why(machines, place):
    (machines.tmpdir("beta") / f"prte.{os.uname().nodename.split('.')[0]}.{os.geteuid()}").write_text("in the way")
    dvm = place(machines, NAMES)
    done = dvm.try_up()
    assert done.returncode == 1 and re.search(r"beta.*no directory; .*  try: remove it", done.stderr, re.S), done.stderr
    assert done.stderr.count("try: ") == 1, done.stderr
    next(machines.tmpdir("beta").iterdir()).unlink()
    assert_all_gone(dvm, machines)


def test_a_machine_that_does_not_answer(machines, place):
    machines.rule("beta", "noise")
    machines.stop("beta")
    dvm = place(machines, NAMES, prtemca={"plm_ssh_timeout": "500ms"})
    done = dvm.try_up(limit_s=10)
    assert done.returncode == 1 and "no answer from beta within 500 ms" in done.stderr, done.stderr
    machines.go_on("beta")
    assert_all_gone(dvm, machines)


def test_all_failures_are_told_together(machines, place):
    machines.rule("beta", "deny me@beta: Permission denied (publickey).\n")
    dvm = place(machines, ["nosuch1", *NAMES, "nosuch2"])
    done = dvm.try_up(limit_s=10)
    assert done.returncode == 1
    for text in ("3 of 5 nodes", "node nosuch1 ", "node nosuch2 ", "beta does not let us in"):
        assert text in done.stderr, done.stderr
    assert_all_gone(dvm, machines)


# ---- along the tree ----

DEEP = [f"m{number}" for number in range(1, 8)]


@pytest.fixture
def many():
    with Machines(*DEEP) as these:
        yield these
        these.assert_nothing_left()


def test_daemons_start_those_below_them(many):
    with DvmOverMachines(many, DEEP, prtemca={"rml_radix": 2}) as dvm:
        assert where(dvm, many, 7) == DEEP
        nodes = dvm.status()["nodes"]
        names = {0: "", **{node["rank"]: node["name"] for node in nodes}}
        assert many.callers() == {node["name"]: names[node["parent"]] for node in nodes}
        assert len(set(many.callers().values())) == 4  # the head and three daemons
        dvm.down()


def test_the_head_starts_all_where_it_is_told_to(many):
    with DvmOverMachines(many, DEEP, prtemca={"rml_radix": 2, "plm_ssh_no_tree_spawn": 1}) as dvm:
        assert many.callers() == dict.fromkeys(DEEP, "")
        dvm.down()


def test_this_machine_is_started_by_the_head_wherever_it_stands(many):
    hosts = [*DEEP[:5], "localhost", DEEP[5]]
    with DvmOverMachines(many, hosts, prtemca={"rml_radix": 1}) as dvm:
        assert len(dvm.status()["nodes"]) == 7
        assert "localhost" not in many.callers() and many.callers()["m6"] == ""
        dvm.down()


def test_a_failure_deep_down_is_told_with_who_tried(many, place):
    many.rule("m6", "deny me@m6: Permission denied (publickey).\n")
    dvm = place(many, DEEP, prtemca={"rml_radix": 2})
    done = dvm.try_up(limit_s=20)
    assert done.returncode == 1
    assert re.search(r"m6 does not let us in without a password \(tried from node m\d\)", done.stderr), done.stderr
    assert "plm_ssh_no_tree_spawn 1" in done.stderr
    assert_all_gone(dvm, many)


def test_head_killed_while_daemons_start_others(many, place):
    dvm = place(many, DEEP, prtemca={**FAST, "rml_radix": 1, "tide_failpoint": "action.connect:hold"})
    dvm.start_up()
    wait_until(lambda: any("--node" in words for words in many.processes(DEEP[-1]).values()),
               what="the last daemon is started")
    os.kill(head_of(dvm), signal.SIGKILL)
    assert_all_gone(dvm, many)


# ---- the head is gone ----

def head_of(dvm):
    """Of the two `prte` of a start that is under way the second: the first waits for it."""
    return max(pid for pid, words in dvm.processes().items() if "/prte " in words)


@pytest.mark.parametrize("failpoint", ["action.connect:hold", "event.message_in:hold"],
                         ids=["before-they-join", "before-they-are-members"])
def test_head_killed_while_it_starts(machines, place, failpoint):
    dvm = place(machines, NAMES, prtemca={**FAST, "tide_failpoint": failpoint})
    dvm.start_up()
    wait_until(lambda: all(any("--node" in words for words in machines.processes(name).values()) for name in NAMES),
               what="the daemons are started")
    os.kill(head_of(dvm), signal.SIGKILL)
    assert_all_gone(dvm, machines)


def test_head_killed_under_load(machines):
    with DvmOverMachines(machines, NAMES, prtemca=FAST) as dvm:
        jobs = [Job(kind) for kind in ("plain", "setsid", "stubborn", "scrubbed")]
        for job in jobs:
            job.start(dvm, "-n", "3", "--map-by", "node:OVERSUBSCRIBE")
        os.kill(dvm.head_pid(), signal.SIGKILL)
        dvm.abandon()
        assert_nothing_left(dvm, jobs, may_stay=["hosts"])
        machines.assert_nothing_left()


# ---- parts of a machine are gone ----

def part(machines, name, word):
    pids = [pid for pid, words in machines.processes(name).items() if word in words]
    assert len(pids) == 1, machines.processes(name)
    return pids[0]


@pytest.mark.parametrize("victim", ["--node", "--remote"], ids=["daemon", "warden"])
def test_a_part_killed_takes_its_machine_out_of_the_dvm(machines, victim):
    with DvmOverMachines(machines, NAMES, prtemca=FAST) as dvm:
        job = Job("setsid")
        job.start(dvm, "-n", "1", "--host", "beta")
        pid = part(machines, "beta", victim)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: len(dvm.status()["nodes"]) == 2, what="the loss is noticed")
        wait_until(lambda: not machines.processes("beta") and not job.processes(), what="beta is clear")
        assert not is_alive(pid)
        assert machines.files("beta") == []
        assert where(dvm, machines, 2) == ["alpha", "gamma"]
        why = {"--node": "", "--remote": "its daemon ended: its warden was lost"}[victim]
        assert f"node beta is lost: {why}" in dvm.log_text("head")
        dvm.down()


def test_a_head_that_was_frozen_hears_why_its_nodes_have_left(machines):
    with DvmOverMachines(machines, NAMES, prtemca=FAST) as dvm:
        head = dvm.head_pid()
        os.kill(head, signal.SIGSTOP)
        try:
            wait_until(lambda: not any(machines.processes(name) for name in NAMES), limit_s=30, what="all have left")
        finally:
            os.kill(head, signal.SIGCONT)
        wait_until(lambda: not dvm.status()["nodes"], what="the loss is noticed")
        said = re.findall(r"node (\w+) is lost: (.*)", dvm.log_text("head"))
        assert sorted(name for name, _ in said) == NAMES
        assert not [why for _, why in said if why == "shut down"], said
        dvm.down()


def test_leftovers_are_swept_by_the_next_start(machines):
    with DvmOverMachines(machines, NAMES, prtemca=FAST) as dvm:
        job = Job("setsid")
        job.start(dvm, "-n", "1", "--host", "beta")
        both = [part(machines, "beta", "--remote"), part(machines, "beta", "--node")]
        for number in (signal.SIGSTOP, signal.SIGKILL):  # so that none sees the end of the other
            for pid in both:
                os.kill(pid, number)
        wait_until(lambda: len(dvm.status()["nodes"]) == 2, what="the loss is noticed")
        assert machines.files("beta")
        with DvmOverMachines(machines, ["beta"]) as second:
            wait_until(lambda: not job.processes(), what="what the dead left is gone")
            second.tool("tide", "down")
            second.abandon()
            wait_until(lambda: machines.files("beta") == [], what="beta is clear")
        dvm.down()


# ---- the end ----

@pytest.mark.parametrize("tool", [("tide", "down"), ("pterm",)], ids=" ".join)
def test_down_says_what_it_waits_for_and_names_whom_it_could_not_reach(machines, place, tool):
    dvm = place(machines, NAMES, prtemca={**FAST, "tide_heartbeat_timeout": "20s", "tide_shutdown_timeout": "4s"}).up()
    frozen = list(machines.processes("beta"))
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    dvm.abandon()
    done = dvm.tool(*tool)
    for pid in frozen:
        os.kill(pid, signal.SIGCONT)
    assert done.returncode == 0, done.stderr
    said = rf"^{' '.join(tool)}: waiting for 1 node to end, at most [1-5](.[0-9])? s more: beta$"
    assert re.search(said, done.stderr, re.M), done.stderr
    assert "the DVM ends without a word from beta, which could not be reached" in done.stderr
    machines.assert_nothing_left(limit_s=30)


def test_an_agent_that_stays_on_this_machine_leaves_nothing(machines, place):
    dvm = place(machines, "elsewhere slots=1\n", agent="sh -c %c")
    for _ in range(5):
        dvm.up()
        assert dvm.run("-n", "1", "true").returncode == 0
        dvm.down()
        assert not dvm.files_left()
