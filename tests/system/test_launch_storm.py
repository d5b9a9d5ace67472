"""Strokes during launches, and volumes: nothing is stuck, left over or lost, and nobody else waits."""

import hashlib
import os
import random
import signal
import subprocess
import time

import pytest

from dvm import BIN, is_alive, wait_until
from latency import assert_unhurt, typical

PROGRAMS = BIN.parent / "tests" / "programs"
STROKES = 100
AT_ONCE = 5
LONGEST_LAUNCH_S = 0.03


def a_rank(dvm, _):
    """One of the processes that run now, if any does yet."""
    return [pid for pid, words in dvm.processes().items() if words.startswith("sleep 987")]


def the_client(_, job):
    return [job.pid]


TARGETS = {"rank": a_rank, "client": the_client, "tool": the_client}


def a_tool(dvm, *words):
    where = ("attach", dvm.pmix_file("v1"))
    return subprocess.Popen([PROGRAMS / "pmix_tool", *where, *words], env=dvm.env, stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def start(dvm, kind):
    if kind == "tool":
        return a_tool(dvm, "spawn", "4", "sleep", "987")
    return dvm.start("tide", "run", "-n", "4", "--map-by", "node", "sleep", "987")


def strike(dvm, chance, job, kind):
    """SIGKILL, at some moment of the launch."""
    time.sleep(chance.uniform(0, LONGEST_LAUNCH_S))
    victims = wait_until(lambda: job.poll() is None and TARGETS[kind](dvm, job) or job.poll() is not None and [0],
                         what=f"a {kind} to hit")
    victim = chance.choice(sorted(victims))
    if victim and is_alive(victim):
        os.kill(victim, signal.SIGKILL)


@pytest.mark.limit(150)
@pytest.mark.noasan("a hundred launches")
def test_a_hundred_strokes_during_launches(make_dvm):
    dvm = make_dvm(nodes=4, slots=32, prtemca={"tide_kill_grace": "300ms"})
    seed = int(os.environ.get("TIDE_SEED", random.SystemRandom().randrange(1 << 31)))
    print(f"TIDE_SEED={seed}")
    chance = random.Random(seed)
    for _ in range(STROKES // AT_ONCE):
        kinds = [chance.choice(sorted(TARGETS)) for _ in range(AT_ONCE)]
        jobs = [start(dvm, kind) for kind in kinds]
        for job, kind in zip(jobs, kinds):
            strike(dvm, chance, job, kind)
        for row in dvm.jobs()["jobs"]:  # a rank that was hit may be another job's
            dvm.tool("tide", "kill", row["number"])
        for job, kind in zip(jobs, kinds):
            status = job.wait(timeout=30)
            assert status != 0 or kind == "tool", "a job that was hit, or killed, has not succeeded"
    wait_until(lambda: not dvm.jobs()["jobs"], what="the table of jobs is empty")
    wait_until(lambda: not a_rank(dvm, None), what="nothing of them runs")
    assert all(node["processes"] == 0 and node["state"] == "up" for node in dvm.status()["nodes"])
    assert dvm.run("-n", "64", "true").returncode == 0


@pytest.mark.noasan("512 processes")
def test_a_wide_job_and_a_slow_reader(make_dvm):
    dvm = make_dvm(nodes=4, slots=128)
    job = dvm.start("tide", "run", "-n", "512", "sh", "-c", "seq -f $TIDE_RANK-%g 1 200", text=False)
    digests = {}
    rest = b""
    while data := job.stdout.read1(1 << 14):
        time.sleep(0.001)
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            rank, _, number = line.partition(b"-")
            assert int(number) == digests.get(rank, 0) + 1, line
            digests[rank] = int(number)
    assert dvm.finish(job).returncode == 0 and rest == b""
    assert len(digests) == 512 and set(digests.values()) == {200}


@pytest.mark.limit(120)
@pytest.mark.noasan("a gigabyte")
def test_a_gigabyte_of_input(make_dvm, tmp_path):
    dvm = make_dvm(nodes=2, slots=1)
    piece = os.urandom(1 << 20)
    digest = hashlib.sha256()
    job = subprocess.Popen([BIN / "tide", "run", "-n", "2", "--stdin", "1", "sh", "-c",
                            "[ $TIDE_RANK = 0 ] || exec sha256sum"], env=dvm.env, cwd=dvm.tmpdir,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for _ in range(1024):
        job.stdin.write(piece)
        digest.update(piece)
    out, _ = job.communicate(timeout=60)
    assert (job.returncode, out.split()[0].decode()) == (0, digest.hexdigest())


# ---- whoever stands still, stands alone ----

# Who it is, and the signal that ends the trouble.

def frozen_client(dvm):
    job = dvm.start("tide", "run", "-n", "1", "--host", "v1", "yes", text=False)
    job.stdout.read1(1)
    return job.pid, signal.SIGKILL


def frozen_tool(dvm):
    tool = a_tool(dvm, "spawn", "1", "sleep", "987")
    wait_until(lambda: a_rank(dvm, None), what="its job runs")
    return tool.pid, signal.SIGKILL


def launcher_of_daemons(dvm):
    return next(pid for pid, words in dvm.processes().items() if "--warden" in words), signal.SIGCONT


def launcher_of_processes(dvm):
    return dvm.daemon_pids()["v1"], signal.SIGCONT


# row:L2
@pytest.mark.noasan("latency")
@pytest.mark.parametrize("who", [frozen_client, frozen_tool, launcher_of_daemons, launcher_of_processes],
                         ids=lambda who: who.__name__)
def test_who_stands_still_holds_up_no_job_and_no_status_of_others(make_dvm, who):
    """The bound is latency.RATIO times what it takes in peace, and a little."""
    dvm = make_dvm(nodes=3, slots=4)
    peace_s = typical(dvm, "--host", "v2")
    pid, end = who(dvm)
    os.kill(pid, signal.SIGSTOP)
    try:
        assert_unhurt(peace_s, typical(dvm, "--host", "v2"), f"beside {who.__name__}")
        begin = time.monotonic()
        assert len(dvm.status()["nodes"]) == 3
        assert_unhurt(peace_s, time.monotonic() - begin, "a status")
    finally:
        os.kill(pid, end)
