"""Whoever stops, or is slow, waits alone: others are served as ever, nothing is lost, memory stays bounded."""

import hashlib
import os
import signal
import subprocess
import time

import pytest

from dvm import BIN, TIME_SCALE, Dvm, is_alive, wait_until
from jobs import Streams, writer
from latency import Memory, assert_unhurt, resident_kib, typical
from shims import STUCK_DISK, build_shim

BLOCKS = 24  # of a megabyte
MEMORY_KIB = 24 << 10  # far below what is written, far above the windows of two streams

pytestmark = pytest.mark.noasan("memory and latency")


def start_writer(dvm, ranks, *where):
    return dvm.start("prun", "-n", ranks, *where, "--map-by", "node", *writer(BLOCKS), text=False)


def read_all(job, streams, pause_s=0.0):
    while data := job.stdout.read1(1 << 18):
        streams.take(data)
        time.sleep(pause_s)


def stuck(job):
    """Has the job come to a halt because nobody takes what it writes?"""
    seen = [0]

    def still():
        io = {line.split(":")[0]: int(line.split(":")[1])
              for line in open(f"/proc/{job.pid}/io", encoding="utf-8").read().splitlines()}
        moved, seen[0] = io["rchar"] != seen[0], io["rchar"]
        time.sleep(0.1)
        return not moved

    return still


def test_a_frozen_client_holds_up_nobody_else(dvm):
    peace_s = typical(dvm)
    memory, streams = Memory(dvm), Streams(2, BLOCKS)
    job = start_writer(dvm, 2)
    first = job.stdout.read1(1 << 16)
    streams.take(first)
    job.send_signal(signal.SIGSTOP)
    try:
        assert_unhurt(peace_s, typical(dvm), "beside a frozen client")
        memory.assert_grown_at_most(MEMORY_KIB)
    finally:
        job.send_signal(signal.SIGCONT)
    read_all(job, streams)
    assert dvm.finish(job).returncode == 0
    streams.check()


def test_a_frozen_client_can_be_killed_and_its_job_with_it(dvm):
    job = start_writer(dvm, 2)
    job.stdout.read1(1 << 16)
    job.send_signal(signal.SIGSTOP)
    number = dvm.jobs()["jobs"][0]["number"]
    assert dvm.tool("tide", "kill", number).returncode == 0
    wait_until(lambda: not dvm.jobs()["jobs"], what="the job is over without its client")
    job.kill()
    assert dvm.run("-n", "8", "true").returncode == 0


def test_a_slow_reader_slows_its_own_job_and_loses_nothing(dvm):
    peace_s = typical(dvm)
    memory, streams = Memory(dvm), Streams(2, BLOCKS)
    job = start_writer(dvm, 2)
    wait_until(stuck(job), what="the pipe to the reader is full")
    assert len(dvm.jobs()["jobs"]) == 1, "the job waits for its reader"
    assert_unhurt(peace_s, typical(dvm), "beside a slow reader")
    memory.assert_grown_at_most(MEMORY_KIB)
    read_all(job, streams, pause_s=0.002)
    assert dvm.finish(job).returncode == 0
    streams.check()


def test_many_small_pieces_for_a_reader_who_does_not_read(dvm):
    """What costs most per byte: single bytes, one write each."""
    memory = Memory(dvm)
    show = "import os,sys\nfor i in range(int(sys.argv[1])): os.write(1, b'%c' % (97 + i % 26))"
    job = dvm.start("prun", "-n", "1", "/usr/bin/python3", "-c", show, "300000", text=False)
    wait_until(stuck(job), what="nothing moves")
    memory.assert_grown_at_most(64 << 10)
    out = dvm.finish(job).stdout
    assert out == bytes(97 + i % 26 for i in range(300000))


def test_input_that_nobody_reads_waits_at_its_client(dvm, tmp_path):
    peace_s = typical(dvm)
    memory = Memory(dvm)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    data = os.urandom(1 << 20) * BLOCKS
    source = tmp_path / "data"
    source.write_bytes(data)
    with open(source, "rb") as given:
        job = dvm.start("prun", "-n", "1", "sh", "-c", f"read line < {gate}; exec sha256sum", stdin=given)
        wait_until(lambda: [row for row in dvm.jobs()["jobs"] if row["running"] == 1], what="it runs")
        wait_until(stuck(job), what="the client waits")
        assert given.tell() < len(data), "the client has not taken all of its input"
        assert resident_kib(job.pid) < MEMORY_KIB
        assert_unhurt(peace_s, typical(dvm), "beside a job that does not read")
        memory.assert_grown_at_most(MEMORY_KIB)
        os.close(os.open(gate, os.O_WRONLY))
        done = dvm.finish(job)
    assert done.returncode == 0 and done.stdout.split()[0] == hashlib.sha256(data).hexdigest()


def test_a_daemon_frozen_for_a_moment_only_delays_its_own(dvm):
    peace_s = typical(dvm, "--host", "v3")
    pid = dvm.daemon_pids()["v2"]
    os.kill(pid, signal.SIGSTOP)
    try:
        late = dvm.start("prun", "-n", "1", "--host", "v2", "echo", "late")
        assert_unhurt(peace_s, typical(dvm, "--host", "v3"), "beside a frozen daemon")
        assert late.poll() is None
    finally:
        os.kill(pid, signal.SIGCONT)
    assert dvm.finish(late).stdout == "late\n"
    assert dvm.daemon_pids()["v2"] == pid and {node["state"] for node in dvm.status()["nodes"]} == {"up"}


def test_a_daemon_frozen_for_long_is_given_up_and_nobody_waits(make_dvm):
    """Rank 1 is a relay here: those below it find another way while it is suspected."""
    dvm = make_dvm(nodes=5, slots=2, prtemca={"rml_radix": 2, "tide_heartbeat_interval": "100ms",
                                              "tide_heartbeat_timeout": "1s", "tide_suspect_grace": "1s"})
    peace_s = typical(dvm, "--host", "v2")
    pid = dvm.daemon_pids()["v1"]
    doomed = dvm.start("prun", "-n", "1", "--host", "v1", "sleep", "1041")
    wait_until(lambda: [row for row in dvm.jobs()["jobs"] if row["running"] == 1], what="it runs")
    os.kill(pid, signal.SIGSTOP)
    assert_unhurt(peace_s, typical(dvm, "--host", "v2"), "while one is silent")
    done = dvm.finish(doomed)
    assert done.returncode == 120 and "node v1 was lost" in done.stderr
    wait_until(lambda: not is_alive(pid), what="the frozen daemon is killed")
    assert dvm.run("-n", "4", "--map-by", "node", "true").returncode == 0
    assert_unhurt(peace_s, typical(dvm, "--host", "v4"), "below the one that was lost")


def test_a_stuck_disk_under_the_logs_holds_up_nobody(tmp_path):
    """Everything is logged, nothing can be written; then it can, and the log says how much is missing."""
    flag = tmp_path / "stuck"
    verbose = {f"{name}_base_verbose": 5 for name in ("state", "plm", "rmaps", "errmgr", "odls", "iof")}
    dvm = Dvm(nodes=2, slots=2, prtemca=verbose,
              env={"LD_PRELOAD": str(build_shim(tmp_path, "stuck_disk", STUCK_DISK)), "STUCK_DISK": str(flag)})
    try:
        dvm.up()
        peace_s = typical(dvm)
        flag.touch()
        size = len(dvm.log_text())
        assert_unhurt(peace_s, typical(dvm), "with a stuck disk")
        wait_until(lambda: fill_the_queue(dvm), limit_s=30, what="lines are dropped")
        assert len(dvm.log_text()) == size, "the disk was not stuck"
        dropped = dvm.status()["counters"]["log.dropped_lines"]
        flag.unlink()
        wait_until(lambda: dvm.run("-n", "1", "true").returncode == 0 and "lines were dropped" in dvm.log_text(),
                   what="the log tells of the loss")
        told = [int(line.split("[log] ")[1].split()[0]) for line in dvm.log_text().splitlines() if "[log]" in line]
        assert sum(told) >= dropped
        flag.touch()
        dvm.run("-n", "1", "true")
        dvm.down()  # although not a line can be written
    finally:
        flag.unlink(missing_ok=True)
        dvm.close()


def fill_the_queue(dvm):
    """A job that takes many lines; true when the log has lost some."""
    assert dvm.run("-n", "200", "--map-by", ":OVERSUBSCRIBE", "true").returncode == 0
    return dvm.status()["counters"]["log.dropped_lines"] > 0


def test_a_log_into_a_full_pipe_holds_up_nobody(tmp_path):
    """A head in the foreground whose standard error nobody reads."""
    dvm = Dvm(nodes=2, slots=2)
    ready, told = os.pipe()
    noise, full = os.pipe()
    argv = [BIN / "prte", "--nodes", "2", "--slots", "2", "--ready-fd", str(told)]
    for name in ("state", "plm", "rmaps", "odls"):
        argv += ["--prtemca", f"{name}_base_verbose", "5"]
    os.set_blocking(full, False)
    try:
        while os.write(full, b"x" * 4096):
            pass
    except BlockingIOError:
        os.set_blocking(full, True)
    head = subprocess.Popen(argv, env=dvm.env, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=full, pass_fds=[told])
    try:
        os.close(told)
        assert os.read(ready, 1) == b"K"
        assert_unhurt(0.02, typical(dvm), "with a log that nobody reads")
        assert dvm.tool("tide", "down").returncode == 0
        head.wait(timeout=20 * TIME_SCALE)
    finally:
        head.kill()
        head.wait()
        for descriptor in (ready, noise, full):
            os.close(descriptor)
        dvm.close()
