"""Starts that fail half way leave nothing; starts sweep what others left, and only what is ours."""

import json
import os
import signal
import subprocess
import time

import pytest

from dvm import TIME_SCALE, Dvm, wait_until
from left_behind import Job, assert_nothing_left, files_in

SUBSYSTEMS = ("state", "plm", "rmaps", "ras", "errmgr", "routed", "odls", "iof", "rml")


@pytest.fixture
def place():
    """A DVM that is not up: its place and its commands."""
    dvm = Dvm(nodes=2, slots=2, name="here")
    yield dvm
    dvm.close()


def up(dvm, *options, failpoint=None):
    if failpoint:
        options = (*options, "--prtemca", "tide_failpoint", failpoint)
    return dvm.start("tide", "up", "--nodes", "2", "--slots", "2", "--dvm", "here", *options)


def daemons_of(dvm):
    return [pid for pid, words in dvm.processes().items() if "prted --node" in words]


# ---- starts that fail ----

# row:L17
@pytest.mark.parametrize("failpoint, options, said", [
    ("action.launch_daemons:fail", [], "failpoint"),
    ("action.connect:hold", ["--prtemca", "tide_start_timeout", "300ms"], "no report within 300 ms"),
    ("event.message_in:hold", ["--prtemca", "tide_start_timeout", "300ms"], "within 300 ms")],
    ids=["no-daemon", "silent-daemon", "deaf-head"])
def test_start_that_fails(place, failpoint, options, said):
    done = place.finish(up(place, *options, failpoint=failpoint))
    assert done.returncode == 1 and said in done.stderr, done.stderr
    assert_nothing_left(place)


# row:L17
def test_daemon_that_dies_before_it_reports(place):
    start = up(place, failpoint="action.connect:hold")
    wait_until(lambda: len(daemons_of(place)) == 2, what="the daemons are started")
    os.kill(daemons_of(place)[0], signal.SIGKILL)
    done = place.finish(start)
    assert done.returncode == 1 and "ended" in done.stderr, done.stderr
    assert_nothing_left(place)


# row:L17
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("program, command, job", [("tide", ["up"], []), ("prterun", [], ["-n", "2", "true"])],
                         ids=["up", "prterun"])
def test_start_that_is_interrupted(place, program, command, job, number):
    start = place.start(program, *command, "--nodes", "2", "--prtemca", "tide_failpoint", "action.connect:hold", *job)
    wait_until(lambda: len(daemons_of(place)) == 2, what="the daemons are started")
    start.send_signal(number)
    assert start.wait(timeout=20 * TIME_SCALE) != 0
    assert_nothing_left(place)


# row:L17
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_one_shot_run_that_is_interrupted(place, number):
    jobs = [Job("setsid"), Job("scrubbed")]
    for job in jobs:
        client = job.start(place, "--nodes", "2", "-n", "2", "--prtemca", "tide_kill_grace", "100ms", program="prterun")
        client.send_signal(number)
        assert client.wait(timeout=20 * TIME_SCALE) != 0
    assert_nothing_left(place, jobs)


def test_down_before_the_daemons_are_launched(place):
    """There is nobody to wait for, so nobody is waited for."""
    start = up(place, failpoint="action.launch_daemons:hold")
    wait_until(lambda: place.tool("tide", "status").returncode == 0, what="the head answers")
    begun = time.monotonic()
    assert place.tool("tide", "down").returncode == 0
    assert time.monotonic() - begun < 5 * TIME_SCALE, "it waited for daemons that never were"
    assert start.wait(timeout=20) != 0
    assert_nothing_left(place)


# ---- a full disk ----

@pytest.fixture
def small_disk(place):
    """`place` on a file system of its own; a function fills it."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k,mode=0700", "tide-test", place.tmpdir],
                             capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr.strip()}")

    def fill():
        with open(place.tmpdir / "ballast", "wb", buffering=0) as ballast:
            try:
                while True:
                    ballast.write(b"x" * 4096)
            except OSError:
                pass

    yield fill
    place.close()
    subprocess.run(["umount", "-l", place.tmpdir], check=True)
    place.tmpdir.rmdir()


# row:L17
def test_start_on_a_full_disk(place, small_disk):
    small_disk()
    done = place.finish(up(place))
    assert done.returncode == 1, done.stdout
    assert "No space left on device" in done.stderr and str(place.tmpdir) in done.stderr, done.stderr
    assert_nothing_left(place, may_stay=["ballast"])


# row:L17
def test_disk_that_fills_while_the_dvm_runs(place, small_disk):
    talkative = [word for name in SUBSYSTEMS for word in ("--prtemca", f"{name}_base_verbose", "5")]
    done = place.finish(up(place, *talkative))
    assert done.returncode == 0, done.stderr
    small_disk()
    for _ in range(20):
        done = place.run("-n", "4", "sh", "-c", "echo here; setsid sleep 1000 >/dev/null 2>&1 &")
        assert (done.returncode, done.stdout) == (0, "here\n" * 4), done.stderr
    assert place.tool("tide", "down").returncode == 0
    assert_nothing_left(place, may_stay=["ballast"])


# ---- whose a name is ----

def test_name_is_held_while_the_head_lives(place):
    """Even without dvm.json, which comes back by itself."""
    place.up()
    info = place.run_directory() / "dvm.json"
    before = json.loads(info.read_text())
    os.kill(place.head_pid(), signal.SIGSTOP)  # so that it does not restore it yet
    info.unlink()
    try:
        second = place.finish(up(place))
        assert second.returncode == 1 and "'here' is running already" in second.stderr, second.stderr
        assert (info.parent / "sock").exists()
    finally:
        os.kill(before["pid"], signal.SIGCONT)
    wait_until(info.exists, what="dvm.json is restored")
    assert json.loads(info.read_text()) == before
    assert place.run("-n", "2", "true").returncode == 0


def test_newer_dvm_of_the_same_name_is_not_removed(place):
    """The directory of the first was taken away; its end does not touch what stands there now."""
    place.up()
    directory = place.run_directory()
    head = place.head_pid()
    directory.rename(place.tmpdir / "away")
    assert place.finish(up(place)).returncode == 0
    os.kill(head, signal.SIGTERM)
    wait_until(lambda: str(head) not in map(str, place.processes()), what="the first DVM ends")
    assert place.run_directory() == directory and place.run("-n", "2", "true").returncode == 0


@pytest.mark.parametrize("after_ms", range(1, 18, 2))
def test_a_head_that_is_interrupted_early_leaves_nothing(place, after_ms):
    """Before it listens to signals there is no failpoint to stop at, so it is tried at several moments."""
    head = place.start("prte", "--nodes", "4")
    time.sleep(after_ms / 1000)
    head.send_signal(signal.SIGINT)
    place.finish(head)
    assert not files_in(place.tmpdir)


# ---- what a start sweeps ----

# row:L17
def test_crash_dump_is_kept_for_the_next_start(place):
    """A crash of ours must be explainable. Nothing else is left of it."""
    place.up()
    job = Job("setsid")
    job.start(place, "-n", "2", "--map-by", "node")
    os.kill(place.head_pid(), signal.SIGABRT)
    place.abandon()
    wait_until(lambda: not job.processes() and not [words for words in place.processes().values()
                                                    if "prun" not in words], what="all processes end")
    assert [name for name in files_in(place.tmpdir) if name.endswith("logs/head.crash")]
    place.up()
    assert not [name for name in files_in(place.tmpdir) if name.endswith(".crash")]


def dead_dvm(base, name, dvm_id):
    """What is left of a DVM whose head was killed together with all others."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    directory = base / name
    directory.mkdir(mode=0o700, parents=True)
    (directory / "dvm.json").write_text(json.dumps({
        "name": name, "dvm_id": dvm_id, "pid": gone.pid, "pid_start_ticks": 1, "uri": "", "nodes": 1, "slots": 1,
        "started_unix_ms": 1, "ready": True}))
    return directory


# row:L17
def test_start_leaves_alone_what_is_not_ours(place):
    """It sweeps a dead DVM with its processes; it does not touch another DVM, processes that bear another
    mark, or files and links below our base that are none of ours."""
    with Dvm(nodes=1, name="other", env={"TMPDIR": str(place.tmpdir)}) as other:
        base = place.run_directory().parent
        dvm_id = f"tide-gone-{os.getpid()}"
        dead = dead_dvm(base, "gone", dvm_id)
        sleeper, bystander = (subprocess.Popen(["sleep", "1000"], env={**place.env, "TIDE_NAMESPACE": mark})
                              for mark in (f"{dvm_id}@7", f"{dvm_id}1@7"))
        precious = place.tmpdir / "precious"
        for directory in (base / "thesis", precious):
            directory.mkdir(mode=0o700)
            (directory / "chapter").write_text("mine")
        (base / "link").symlink_to(precious)
        try:
            place.up()
            assert sleeper.wait(timeout=5) == -signal.SIGKILL and not dead.exists()
            assert bystander.poll() is None
            assert other.run("--dvm", "other", "-n", "1", "true").returncode == 0
            assert (base / "thesis" / "chapter").exists() and (precious / "chapter").exists()
            assert (base / "link").is_symlink()
        finally:
            for process in (sleeper, bystander):
                process.kill()
                process.wait()
            (base / "thesis" / "chapter").unlink()
            (base / "thesis").rmdir()
            (base / "link").unlink()
            place.tool("tide", "down", "--dvm", "here")
            place.abandon()
            assert other.tool("tide", "down", "--dvm", "other").returncode == 0
            other.abandon()
