"""The suite tells a mutant that is caught from one that is not: shown with a core of one shell script."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from tide_test import mutants, mutation, mutation_table  # noqa: E402
from tide_test.junit import FAILED, PASSED  # noqa: E402

# The "unit tests" look at the first answer, the "simulator" at the second, and nobody at the third.
CORE = """\
first=1

second=2
third=3
"""
UNIT = """. src/core/core.cpp
printf '[ RUN      ] Core.First\\n'
[ "$first" = 1 ] || failure='<failure message="it is not"/>'
printf '<t><testcase classname="Core" name="First">%s</testcase></t>' "$failure" >"${1#*xml:}"
[ -z "$failure" ]
"""
SIM = """. src/core/core.cpp
[ "$second" = 2 ] || { printf '  seed 7: two is two: it is %s\\n' "$second"; exit 1; }
"""


def diff(old, new, target="src/core/core.cpp", about="It breaks a promise."):
    return f"{about}\n\n--- a/{target}\n+++ b/{target}\n@@ -1 +1 @@\n-{old}\n+{new}\n"


def git(folder, *words):
    subprocess.run(["git", "-C", str(folder), *words], check=True, timeout=60)


class ScriptBench(mutation.Bench):
    """The real bench with shell for a compiler."""

    def configure(self):
        return None

    def build(self):
        return self._logged(["sh", "-n", self.copy.folder / "src/core/core.cpp"])


@pytest.fixture
def root(tmp_path):
    """A tree with one file in its core, and no patches."""
    for name, text in {"src/core/core.cpp": CORE, ".gitignore": "/build/\n", "CMakeLists.txt": "\n"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / mutation.FOLDER).mkdir(parents=True)
    git(tmp_path, "init", "-q")
    return tmp_path


@pytest.fixture
def bench(root, monkeypatch):
    monkeypatch.setattr(mutation, "PATIENCE_S", 1)
    scratch, logs = root / "build" / "scratch", root / "build" / "logs"
    scratch.mkdir(parents=True)
    logs.mkdir()
    made = ScriptBench(root, logs, scratch, seed=1)
    for name, text in {"tests/tide_core_tests": UNIT, "bin/tide-sim": SIM}.items():
        program = made.copy.folder / "build" / mutation.PRESET / name
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\ncd {made.copy.folder}\n{text}")
        program.chmod(0o755)
    return made


def patch(root, name, text):
    (root / mutation.FOLDER / f"{name}.patch").write_text(text)


def verdict_on(root, bench, old, new, both=False):
    patch(root, "001-defect", diff(old, new))
    patches, cases = mutation.check_patches(root)
    assert [case.outcome for case in cases] == [PASSED], cases
    said = []
    verdicts, untouched = mutation.try_all(bench, patches, both, said.append)
    assert untouched.outcome == PASSED, untouched.text
    assert len(verdicts) == len(said) == 1
    return verdicts[0]


def test_a_unit_test_catches_and_the_simulator_is_not_asked(root, bench):
    verdict = verdict_on(root, bench, "first=1", "first=0; second=0")
    assert (verdict.unit, verdict.sim) == ("Core.First", "")
    assert verdict.case().outcome == PASSED


def test_the_simulator_catches_what_unit_tests_let_pass(root, bench):
    verdict = verdict_on(root, bench, "second=2", "second=4")
    assert (verdict.unit, verdict.sim) == ("", "seed 7: two is two: it is 4")
    assert verdict.case().outcome == PASSED


def test_both_are_asked_where_both_are_of_interest(root, bench):
    verdict = verdict_on(root, bench, "first=1", "first=0; second=0", both=True)
    # The second line of the core sets it right again.
    assert verdict.unit == "Core.First" and not verdict.sim
    verdict = verdict_on(root, bench, "third=3", "first=0; second=0", both=True)
    assert verdict.unit == "Core.First" and verdict.sim.startswith("seed 7")


def test_a_survivor_is_a_failure_and_is_named(root, bench):
    verdict = verdict_on(root, bench, "third=3", "third=0")
    assert verdict.survived
    assert verdict.case().outcome == FAILED and verdict.case().text.startswith("survived: It breaks")
    assert "SURVIVED" in mutation.describe(verdict)
    assert "**survived**" in mutation_table.render([verdict], "c0ffee", 60)


@pytest.mark.parametrize("line, lane", [
    ("first=0; while [ -z \"${0##*tests*}\" ]; do sleep 1; done", "unit"),
    ("second=0; while [ -z \"${0##*sim}\" ]; do sleep 1; done", "sim"),
])
def test_a_mutant_that_hangs_is_caught_by_the_deadline(root, bench, line, lane):
    verdict = verdict_on(root, bench, "third=3", line)
    assert "hangs: caught by the deadline" in getattr(verdict, lane)
    assert verdict.case().outcome == PASSED


def test_a_mutant_that_does_not_compile_is_a_failure(root, bench):
    verdict = verdict_on(root, bench, "third=3", "if then")
    assert not verdict.caught_by and not verdict.survived
    assert verdict.case().outcome == FAILED and "does not compile" in verdict.case().text


def test_the_copy_is_as_before_after_each_mutant_and_the_sources_are_not_touched(root, bench):
    verdict_on(root, bench, "first=1", "first=0")
    assert (bench.copy.folder / "src/core/core.cpp").read_text() == CORE
    assert (root / "src/core/core.cpp").read_text() == CORE


def test_what_an_interrupted_run_left_in_the_copy_is_replaced(root, bench):
    bench.copy.refresh()
    (bench.copy.folder / "src/core/core.cpp").write_text("first=0\n")
    (bench.copy.folder / "src/core/removed.cpp").write_text("\n")
    verdict_on(root, bench, "second=2", "second=0")
    assert not (bench.copy.folder / "src/core/removed.cpp").exists()


def test_a_second_run_in_the_same_copy_is_refused(root, bench):
    with bench.reserved(), pytest.raises(RuntimeError, match="another run"):
        verdict_on(root, bench, "first=1", "first=0")


def test_if_the_untouched_core_fails_mutants_prove_nothing(root, bench):
    (root / "src/core/core.cpp").write_text(CORE.replace("first=1", "first=9"))
    patch(root, "001-defect", diff("second=2", "second=0"))
    verdicts, untouched = mutation.try_all(bench, mutants.read_all(root)[0], False, print)
    assert not verdicts
    assert untouched.outcome == FAILED and "untouched core fails: Core.First" in untouched.text


@pytest.mark.parametrize("text, why", [
    (diff("gone=1", "gone=2"), "applies nowhere"),
    (diff("first=1", "first=2", target="src/core/gone.cpp"), "applies nowhere"),
    (diff("first=1", "first=2", about=""), "no sentence"),
    (diff("first=1", "first=2", target="src/core/core_test.cpp"), "no test"),
    (diff("first=1", "first=2", target="src/sim/core.cpp"), "src/core"),
    (diff("first=1", "first=1"), "changes nothing"),
    (diff("first=1", "first=2\n+second=1"), "one line"),
    (diff("first=1", "first=2") + "@@ -3 +3 @@\n-third=3\n+third=4\n", "one place"),
    ("Only words.\n", "src/core"),
])
def test_a_patch_that_is_no_use_is_a_failure(root, text, why):
    patch(root, "001-defect", text)
    patches, cases = mutation.check_patches(root)
    assert not patches
    assert [case.outcome for case in cases] == [FAILED] and why in cases[0].text


def test_a_place_that_is_not_the_only_one_is_refused(root):
    (root / "src/core/core.cpp").write_text(CORE + CORE)
    patch(root, "001-defect", diff("first=1", "first=2"))
    assert "in 2 places" in mutation.check_patches(root)[1][0].text


AROUND = "Why.\n\n--- a/src/core/core.cpp\n+++ b/src/core/core.cpp\n@@ -1,4 +1,4 @@\n first=1\n \n-second=2\n+second=4\n third=3\n"


@pytest.mark.parametrize("core, applies", [
    ("first=1\n\nsecond=2\nthird=3\n", True),
    ("zeroth=0\nfirst=1\n\nsecond=2\nthird=3\n", True),
    ("first=9\n\nsecond=2\nthird=9\n", True),
    ("first=9\n  second=2\n", False),
    ("second=2\nfirst=9\nsecond=2\n", False),
    ("second=2\nfirst=1\n\nsecond=2\nthird=3\n", True),
], ids=["as it was", "moved", "others around it", "not at the margin", "two places", "one of two is meant"])
def test_where_a_patch_applies(root, core, applies):
    (root / "src/core/core.cpp").write_text(core)
    patch(root, "001-defect", AROUND)
    patches, _ = mutation.check_patches(root)
    assert bool(patches) == applies
    if applies:
        before, _, after = core.rpartition("second=2")
        assert patches[0].put_into(core) == f"{before}second=4{after}"


def test_no_patches_is_a_failure(root):
    assert mutation.check_patches(root)[1][0].outcome == FAILED


def test_an_empty_line_around_the_change_may_have_lost_its_blank(root):
    text = "Why.\n\n--- a/src/core/core.cpp\n+++ b/src/core/core.cpp\n@@ -1,3 +1,3 @@\n-first=1\n+first=2\n\n second=2\n"
    patch(root, "001-defect", text)
    patches, _ = mutation.check_patches(root)
    assert patches[0].put_into(CORE) == CORE.replace("first=1", "first=2")


def test_a_difference_as_git_prints_it_will_do(root):
    head = "diff --git a/src/core/core.cpp b/src/core/core.cpp\nindex 1..2 100644\n---"
    patch(root, "001-defect", diff("first=1", "first=2").replace("---", head, 1))
    patches, _ = mutation.check_patches(root)
    assert patches[0].about == "It breaks a promise."


def test_the_same_seed_chooses_the_same(monkeypatch):
    quick = [mutants.Patch(f"{number:03}", "", "src/core/a.cpp", ()) for number in range(30)]
    slow = mutants.Patch("030", "", "src/core/a.hpp", ())
    assert mutation.choose([*quick, slow], 5) == mutation.choose([*quick, slow], 5)
    chosen = {patch for seed in range(50) for patch in mutation.choose([*quick, slow], seed)}
    assert len(chosen) > 25 and slow not in chosen
    monkeypatch.setenv(mutation.SEED_VARIABLE, "17")
    assert mutation.draw_seed() == 17


def test_the_table_replaces_only_itself(root):
    (root / "docs").mkdir()
    document = root / mutation_table.DOCUMENT
    document.write_text(f"# Words\n\n{mutation_table.HEADING}\nold\n")
    git(root, "add", ".")
    git(root, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "t")
    good = mutation.Verdict(mutants.Patch("001-a", "Why | so.", "", ()), "Core.First", "seed 7: x", "", 3.2)
    mutation_table.write(root, [good], mutation_table.commit_of(root), 61)
    text = document.read_text()
    assert text.startswith("# Words\n\n") and "old" not in text
    assert "| `001-a` | Why \\| so. | `Core.First` | seed 7: x | 3 |" in text
    assert "1 of 1 mutants caught" in text and "not committed" not in text
