"""The suite reports what a fuzzer finds: shown with a program that has something planted in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from tide_test import fuzz  # noqa: E402
from tide_test.junit import FAILED, PASSED  # noqa: E402

PLANTED = "fuzz_selftest"
RUN_S = 60  # at most: the find comes with the first input


@pytest.fixture
def place(tmp_path):
    """The suite's folders, below a root of their own, with the real planted program."""
    programs = Path(os.environ["TIDE_BIN"])
    assert (programs / PLANTED).exists(), "the fuzz preset is not built"
    corpus = tmp_path / "tests" / "fuzz" / "corpus" / PLANTED
    corpus.mkdir(parents=True)
    (corpus / "seed").write_bytes(b"tide")
    (tmp_path / "logs").mkdir()
    return fuzz.Place(tmp_path, programs, tmp_path / "logs")


def run(place, tmp_path, plant, duration_s=RUN_S):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = {**os.environ, "TIDE_FUZZ_PLANT": plant}
    return fuzz.run_one(place, PLANTED, duration_s, scratch, env)


def replay_command(text):
    lines = [line for line in text.splitlines() if line.startswith("replay with:")]
    assert lines, text
    return lines[0].removeprefix("replay with:").split()


@pytest.mark.parametrize("plant, words", [
    ("promise", "not so: plant != \"promise\""),
    ("memory", "heap-buffer-overflow"),
])
def test_a_planted_find_is_reported_and_can_be_replayed(place, tmp_path, plant, words):
    case, _ = run(place, tmp_path, plant)
    assert case.outcome == FAILED
    assert words in case.text
    again = subprocess.run(replay_command(case.text), cwd=place.root, capture_output=True, timeout=60,
                           env={**os.environ, "TIDE_FUZZ_PLANT": plant})
    assert again.returncode != 0
    assert words in again.stderr.decode()


def test_an_input_that_takes_too_long_is_a_find(place, tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz, "INPUT_LIMIT_S", 1)
    case, _ = run(place, tmp_path, "hang")
    assert case.outcome == FAILED
    assert "timeout" in case.text


def test_what_once_failed_is_replayed_first(place, tmp_path):
    kept = place.inputs("regressions", PLANTED)
    kept.mkdir(parents=True)
    (kept / "planted").write_bytes(b"tide!")
    (place.inputs("corpus", PLANTED) / "seed").unlink()
    case, line = run(place, tmp_path, "promise")
    assert case.outcome == FAILED
    assert "once failed fails again" in case.text and "a known input" in line
    assert replay_command(case.text)[1].endswith("regressions/fuzz_selftest/planted")


def test_nothing_planted_nothing_found(place, tmp_path):
    case, line = run(place, tmp_path, "nothing", duration_s=2)
    assert case.outcome == PASSED, case.text
    assert " executions in 2 s, " in line


def test_a_fuzzer_that_does_not_run_is_a_failure(place, tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz, "_limits", lambda: ["-runs=0"])
    case, _ = run(place, tmp_path, "nothing", duration_s=2)
    assert case.outcome == FAILED
    assert "did not get beyond" in case.text


def test_every_fuzzer_has_a_corpus():
    for name in fuzz.names(ROOT):
        assert any((ROOT / "tests" / "fuzz" / "corpus" / name).iterdir()), name
