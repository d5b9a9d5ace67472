"""`tide check`: what a start would find on every host, told before there is one; nothing stays anywhere."""

import json
import os
import pty
import re
import signal
import subprocess

import pytest

from dvm import BIN, wait_until
from left_behind import assert_nothing_left
from machines import UNREACHABLE, WRONG_PRTED, DvmOverMachines, Machines, write_program

NAMES = ["alpha", "beta", "gamma"]
VERSION = subprocess.run([BIN / "tide", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]


@pytest.fixture
def machines():
    with Machines(*NAMES) as these:
        yield these
        these.assert_nothing_left()


class Checks:
    """`tide check` over machines; its place is that of a DVM that is never started."""

    def __init__(self, machines, hosts=NAMES):
        self.place = DvmOverMachines(machines, hosts)
        self._argv = ["check", "--hostfile", str(self.place.tmpdir / "hosts"),
                      "--prtemca", "plm_ssh_agent", str(machines.agent)]

    def argv(self, *options, **prtemca):
        return [*self._argv, *options, *(word for key, value in prtemca.items() for word in ("--prtemca", key, value))]

    def __call__(self, *options, limit_s=20, **prtemca):
        return self.place.tool("tide", *self.argv(*options, **prtemca), limit_s=limit_s)

    def start(self, *options, **prtemca):
        return self.place.start("tide", *self.argv(*options, **prtemca))


@pytest.fixture
def checks(machines):
    made = []

    def make(hosts=NAMES):
        made.append(Checks(machines, hosts))
        return made[-1]

    yield make
    for each in made:
        assert_nothing_left(each.place, may_stay=["hosts"])
        each.place.close()


def summary(done):
    return done.stdout.splitlines()[-1]


def one_fails(done, name, said, of=len(NAMES)):
    """All but one can be used; what is said of that one."""
    assert done.returncode == 1 and not done.stderr, (done.stdout, done.stderr)
    assert summary(done) == f"{of} host{'s' * (of > 1)}: {of - 1} can be used, 1 cannot"
    assert f"\n{name} cannot be used: " in "\n" + done.stdout and said in done.stdout, done.stdout
    assert len(re.findall(r"^ +try: ", done.stdout, re.M)) == 1, done.stdout  # ours, or that of the other side


# ---- hosts that can be used ----

def test_every_host_is_told_with_what_was_found(machines, checks):
    for name in NAMES:
        machines.rule(name, "noise")
    check = checks()
    done = check()
    assert done.returncode == 0 and not done.stderr, (done.stdout, done.stderr)
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"HOST +VERSION +PROCESSORS +ADDRESS +TIME", lines[0])
    for name, line in zip(NAMES, lines[1:]):
        assert re.fullmatch(rf"{name} +{re.escape(VERSION)} +\d+ cores?(, \d+ threads)? +[0-9a-f.:]+ +[\d.]+ m?s", line)
    assert lines[4:] == ["3 hosts: 3 can be used, 0 cannot"]
    machines.assert_nothing_left()


def test_for_programs(machines, checks):
    machines.rule("beta", "deny Host key verification failed.\n")
    done = checks()("--json")
    assert done.returncode == 1 and not done.stderr, done.stderr
    found = json.loads(done.stdout)
    assert (found["schema_version"], found["usable"], found["unusable"]) == (1, 2, 1)
    alpha, beta, _ = found["hosts"]
    assert alpha["usable"] and alpha["failure"] is None and alpha["version"] == VERSION
    assert alpha["cores"] > 0 and alpha["addresses"] and alpha["address"] and alpha["time_ms"] > 0
    assert not beta["usable"] and beta["failure"].startswith("the host key of beta ") and beta["version"] is None


def test_this_machine_may_be_one_of_them(checks):
    done = checks("localhost\nalpha\n")()
    assert done.returncode == 0 and summary(done) == "2 hosts: 2 can be used, 0 cannot", done.stdout


def test_one_machine_under_two_names_is_told(machines, checks):
    os.symlink(machines.folder / "alpha", machines.folder / "again")
    done = checks(["alpha", "beta", "again"])()
    assert done.returncode == 0, done.stdout
    assert "\nnode again is the machine of node alpha: they are one node with both names\n" in done.stdout


def test_one_at_a_time(checks):
    done = checks()(plm_ssh_num_concurrent="1")
    assert done.returncode == 0 and summary(done) == "3 hosts: 3 can be used, 0 cannot", done.stdout


def test_what_a_deep_tree_needs_beyond_is_told(checks):
    check = checks()
    assert "not tried: logins from machine to machine" in check(rml_radix="2").stdout
    assert "not tried" not in check(rml_radix="2", plm_ssh_no_tree_spawn="1").stdout


def test_there_is_no_dvm_meanwhile_and_none_is_disturbed(machines, checks):
    with DvmOverMachines(machines, ["alpha"]) as dvm:
        check = checks()
        check.place.env["TMPDIR"] = str(dvm.tmpdir)
        assert check().returncode == 0
        held = check.start(tide_failpoint="action.connect:hold", plm_ssh_timeout="20s")
        wait_until(lambda: len(machines.processes("beta")) >= 2, what="a daemon is held on beta")
        assert len(dvm.status()["nodes"]) == 1  # the only one that is found
        held.send_signal(signal.SIGTERM)
        assert check.place.finish(held).returncode == 128 + signal.SIGTERM
        dvm.down()


def test_a_prefix_is_where_prted_is(checks, tmp_path):
    (tmp_path / "it's here" / "bin").mkdir(parents=True)
    os.symlink(BIN / "prted", tmp_path / "it's here" / "bin" / "prted")
    assert checks()("--prefix", str(tmp_path / "it's here")).returncode == 0


# ---- hosts that cannot ----

@pytest.mark.parametrize("words, said", UNREACHABLE.values(), ids=UNREACHABLE.keys())
def test_a_machine_that_cannot_be_reached(machines, checks, words, said):
    machines.rule("alpha", f"deny {words}")
    done = checks()()
    one_fails(done, "alpha", said)
    assert words.strip() in done.stdout


@pytest.mark.parametrize("script, said", WRONG_PRTED.values(), ids=WRONG_PRTED.keys())
def test_a_machine_with_another_prted(checks, tmp_path, script, said):
    agent = write_program(tmp_path / "prted", script)
    one_fails(checks(["alpha"])("--launch-agent", str(agent)), "alpha", said, of=1)


def test_an_unknown_name(checks):
    one_fails(checks([*NAMES, "nosuch"])(), "nosuch", "no machine of the name nosuch is known", of=4)


def test_no_prted_in_the_path(checks):
    one_fails(checks(["alpha"])("--noprefix"), "alpha", "alpha has no prted", of=1)


def test_a_run_directory_that_cannot_be_made(machines, checks):
    in_the_way = machines.tmpdir("beta") / f"prte.{os.uname().nodename.split('.')[0]}.{os.geteuid()}"
    in_the_way.write_text("in the way")
    done = checks()()
    in_the_way.unlink()
    one_fails(done, "beta", "no directory; ")


def test_a_machine_that_does_not_answer(machines, checks):
    machines.stop("beta")
    done = checks()(plm_ssh_timeout="500ms")
    machines.go_on("beta")
    one_fails(done, "beta", "no answer from beta within 500 ms")


@pytest.mark.parametrize("failpoint, words", [
    ("action.connect:fail", "cannot connect to the head: failpoint"),
    ("action.connect:hold", "the daemon did not reach the head within 2 s")], ids=["refused", "lost"])
def test_a_machine_that_finds_no_way_back(checks, failpoint, words):
    done = checks(["alpha"])(tide_failpoint=failpoint, plm_ssh_timeout="2s")
    one_fails(done, "alpha", "the daemon was started on alpha and can't connect to the head", of=1)
    assert words in done.stdout


@pytest.mark.parametrize("failpoint, limit, said", [
    ("action.connect:fail", "15s", "the daemon was started and ended: exit status 1"),
    ("action.connect:hold", "500ms", "no report within 500 ms from: localhost")], ids=["ended", "silent"])
def test_a_daemon_of_this_machine_that_does_not_come(checks, failpoint, limit, said):
    done = checks("localhost\n")(tide_failpoint=failpoint, tide_start_timeout=limit)
    assert done.returncode == 1 and said in done.stdout, done.stdout


def test_all_failures_are_told_in_the_order_of_the_file(machines, checks):
    machines.rule("beta", "deny me@beta: Permission denied (publickey).\n")
    done = checks(["nosuch1", *NAMES, "nosuch2"])()
    assert re.findall(r"^(\w+) cannot", done.stdout, re.M) == ["nosuch1", "beta", "nosuch2"]
    assert summary(done) == "5 hosts: 2 can be used, 3 cannot"


# ---- what is said, and when nothing can be ----

def test_progress_is_told_on_request_and_to_a_terminal(checks):
    check = checks([*NAMES, "nosuch"])
    done = check("--verbose")
    assert len(re.findall(r"^\w+ can be used \(\d of 4\)$", done.stderr, re.M)) == 3, done.stderr
    assert re.search(r"^nosuch cannot be used: .* is known \(\d of 4\)$", done.stderr, re.M), done.stderr
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb"):
        subprocess.run([BIN / "tide", *check.argv()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=theirs, env=check.place.env, timeout=20, check=False)
        assert os.read(ours, 4096).count(b" of 4)") == 4
        os.close(theirs)


@pytest.mark.parametrize("text, said", [
    ("alpha\nbeta slot=3\n", "hosts:2:6: 'slot' is no setting"), ("node[1-\n", "hosts:1:")], ids=["setting", "range"])
def test_a_hostfile_that_makes_no_sense_is_told_with_its_place(checks, text, said):
    done = checks(text)()
    assert done.returncode == 2 and said in done.stderr and done.stderr.startswith("tide check: "), done.stderr


@pytest.mark.parametrize("options, said", [
    ([], "a check needs hosts"), (["--nodes", "3", "--host", "a"], "--nodes"), (["--host", "a,,b"], "--host, column 3"),
    (["--hostfile", "/no/such/file"], "can't be read")], ids=["no-hosts", "nodes", "list", "file"])
def test_what_makes_no_sense(checks, options, said):
    done = checks().place.tool("tide", "check", *options)
    assert done.returncode == 2 and said in done.stderr and not done.stdout, done.stderr


def test_without_an_agent_nothing_can_be_tried(checks):
    done = checks()(plm_ssh_agent="no-such-agent")
    assert done.returncode == 1 and "'no-such-agent'" in done.stderr, done.stderr


def test_a_report_that_cannot_be_written(checks):
    with open("/dev/full", "w", encoding="utf-8") as full:
        check = checks()
        done = subprocess.run([BIN / "tide", *check.argv()], stdin=subprocess.DEVNULL, stdout=full,
                              stderr=subprocess.PIPE, text=True, env=check.place.env, timeout=20, check=False)
    assert done.returncode == 1 and "No space left" in done.stderr, done.stderr


# ---- the end comes early ----

@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL],
                         ids=lambda number: number.name)
def test_nothing_is_left_when_it_is_ended(machines, checks, number):
    check = checks([*NAMES, "localhost"])
    running = check.start(tide_failpoint="action.connect:hold")
    wait_until(lambda: all(any("--node" in words for words in machines.processes(name).values()) for name in NAMES),
               what="the daemons are started")
    running.send_signal(number)
    done = check.place.finish(running)
    assert done.returncode == (-number if number == signal.SIGKILL else 128 + number)
    if number != signal.SIGKILL:
        assert f"{number.name}: interrupted when 0 of 4 hosts were checked" in done.stderr, done.stderr
    machines.assert_nothing_left()


def test_nothing_is_left_when_it_is_ended_while_ssh_waits(machines, checks):
    machines.stop("beta")
    check = checks()
    running = check.start("--verbose")
    assert [running.stderr.readline() for _ in range(2)]  # the others are done
    running.send_signal(signal.SIGINT)
    done = check.place.finish(running)
    machines.go_on("beta")
    assert done.returncode == 128 + signal.SIGINT
    assert "interrupted when 2 of 3 hosts were checked" in done.stderr, done.stderr
