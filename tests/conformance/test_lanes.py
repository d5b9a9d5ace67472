"""Parts of a suite that run beside each other."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from tide_test import build  # noqa: E402
from tide_test.junit import FAILED, PASSED, SKIPPED, Case  # noqa: E402
from tide_test.lanes import Lanes  # noqa: E402
from tide_test.process import Outcome, run_logged  # noqa: E402

LIMIT_S = 30


def test_parts_run_beside_each_other_and_are_told_in_order(tmp_path):
    meeting = threading.Barrier(2, timeout=LIMIT_S)

    def part(name):
        def run(scratch, log):
            assert scratch.is_dir()
            log.write_text(f"{name} was here\n")
            meeting.wait()
            return [Case("lane", name, PASSED)]

        return name, run

    log = tmp_path / "all.log"
    log.write_text("before\n")
    cases = Lanes(tmp_path / "kept", at_once=2).run([part("b"), part("a")], log)
    assert [case.name for case in cases] == ["b", "a"]
    assert log.read_text() == "before\nb was here\na was here\n"


def test_what_a_part_started_ends_when_another_breaks(tmp_path):
    """And what has not begun does not begin."""
    outcomes, began = [], threading.Event()

    def waits(scratch, log):
        env = {"TMPDIR": str(scratch), "PATH": "/usr/bin:/bin"}
        ready = scratch / "ready"
        watcher = threading.Thread(target=lambda: (wait_for(ready), began.set()))
        watcher.start()
        outcomes.append(run_logged(["sh", "-c", f"touch {ready}; exec sleep {LIMIT_S}"], log, LIMIT_S, env=env))
        watcher.join()
        return []

    def breaks(scratch, log):
        assert began.wait(LIMIT_S)
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        parts = [("breaks", breaks), ("waits", waits), ("later", waits)]
        Lanes(tmp_path / "kept", at_once=2).run(parts, tmp_path / "all.log")
    assert [outcome.timed_out for outcome in outcomes] == [False]
    assert outcomes[0].status != 0


def wait_for(path):
    subprocess.run(["timeout", str(LIMIT_S), "sh", "-c", f"until [ -e {path} ]; do sleep 0.01; done"], check=True)


# ---- builds that take too long ----

@pytest.mark.parametrize("patient, outcome", [(False, SKIPPED), (True, FAILED)])
def test_a_build_with_sanitizers_is_put_off_where_all_suites_wait_for_it(tmp_path, monkeypatch, patient, outcome):
    def cut_off(argv, log, limit_s, **_):
        Path(log).write_text("[3/500] Building\n")
        return Outcome(0 if argv[0] == "cmake" else -15, argv[0] != "cmake", limit_s)

    monkeypatch.setattr(build, "run_logged", cut_off)
    case = build.Builds(tmp_path, tmp_path, lambda *_: None, patient=patient).ensure("asan")
    assert case.outcome == outcome and ("goes on there" in case.text) == (not patient)
    assert build.Builds(tmp_path, tmp_path, lambda *_: None, patient=patient).ensure("release").outcome == FAILED
