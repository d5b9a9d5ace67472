"""Faults that are planted are found: the command as a whole can fail, and says what, where and how to see it again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from dvm import TIME_SCALE
from plan import plan_round

CHAOS = Path(__file__).resolve().parent / "chaos"
SEED = 5
NODES, ROUND_S = 3, 2
# A round that ends by an orderly `tide down`, so that only the planted fault is there to be found.
ROUND = next(number for number in range(100) if plan_round(SEED, number, NODES, ROUND_S).last == "down")
SMALL = ["--nodes", NODES, "--round-seconds", ROUND_S, "--seconds", 4, "--seed", SEED, "--first-round", ROUND]
LIMIT_S = 100


def play(tmp_path, *options):
    return subprocess.run([sys.executable, str(CHAOS), *map(str, SMALL), "--keep", str(tmp_path / "kept"), *options],
                          capture_output=True, text=True, timeout=LIMIT_S * TIME_SCALE, env={**os.environ})


@pytest.mark.limit(LIMIT_S + 10)
def test_a_job_that_hangs_is_reported(tmp_path):
    """Daemons do not hear that processes have ended."""
    done = play(tmp_path, "--job-limit", "4", "--prtemca", "tide_failpoint", "event.proc_exited:hold",
                "--prtemca", "tide_shutdown_timeout", "1s")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith("chaos: seed 5,")
    assert "CHAOS: a job is stuck" in done.stdout
    assert f"seed 5, round {ROUND}" in done.stdout and "strokes so far" in done.stdout
    assert (tmp_path / "kept" / f"round-{ROUND}" / "head.log").exists()
    assert list((tmp_path / "kept" / f"round-{ROUND}").glob("stuck-*.recorder"))


@pytest.mark.limit(LIMIT_S + 10)
def test_processes_that_are_left_are_reported(tmp_path):
    """Nobody looks for what jobs leave."""
    done = play(tmp_path, "--job-limit", "8", "--prtemca", "tide_failpoint", "action.sweep_job:hold",
                "--prtemca", "tide_shutdown_timeout", "1s")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "CHAOS: left behind by jobs" in done.stdout and "sleep 1000" in done.stdout


@pytest.mark.limit(LIMIT_S + 10)
def test_a_wrong_ending_is_reported(tmp_path):
    """No process can be started: jobs that nobody struck fail."""
    done = play(tmp_path, "--prtemca", "tide_failpoint", "action.spawn_proc:fail")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "CHAOS: a job of kind" in done.stdout and "legal are only" in done.stdout
