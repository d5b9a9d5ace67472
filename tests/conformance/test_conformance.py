"""Tags in the tree are sound, and the table tells what happened to the tests behind each row."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from tide_test import conformance, gtest, junit  # noqa: E402
from tide_test.junit import FAILED, PASSED, SKIPPED, Case  # noqa: E402

GROUPS = {"L": 20, "E": 21, "C": 8, "S": 16, "R": 22}


def tag(row):
    """A tag that a search for tags in this file does not find."""
    return "row" + ":" + row


def found(tags):
    return [(each.row, each.test) for each in tags]


def test_every_row_has_a_summary():
    wanted = [f"{group}{n}" for group, last in GROUPS.items() for n in range(1, last + 1)]
    assert list(conformance.rows(ROOT)) == wanted


def test_tags_name_known_rows_and_stand_next_to_a_test():
    known = conformance.rows(ROOT)
    wrong = [each for each in conformance.find_tags(ROOT) if each.row not in known or not each.test]
    assert not wrong, "\n".join(map(str, wrong))


# What concerns order, loss and time has to hold in the simulator and on real daemons. Elsewhere: a matter of the build
# (C8), of the simulator alone (E19, S14), and what comes with reservations (S13).
ONLY_REAL, ONLY_SIMULATED, OPEN = {"C8"}, {"E19", "S14"}, {"S13"}


def test_rows_of_a_changing_size_hold_in_the_simulator_and_on_real_daemons():
    rows = {row for row in conformance.rows(ROOT) if row[0] in "ECS"} - OPEN
    assert rows - ONLY_REAL - conformance.checked_in_simulator(ROOT) == set()
    assert rows - ONLY_SIMULATED - conformance.shown_by_real_programs(ROOT) == set()


def test_gtest_tags():
    text = f"""
// Ends once. {tag("L15")}, {tag("L3")}
// and more words
TEST(Proc, Drains) {{
}}

TEST_F(Job, Runs) {{  // {tag("L1")}
  // {tag("L2")}
  run();
  // {tag("L4")}
}}

// {tag("L5")}

TEST(Job,
     Ends) {{}}
// {tag("L6")}
RC_GTEST_PROP(Tree, same_everywhere, (const Membership& members)) {{
}}
"""
    assert found(conformance.gtest_tags("a_test.cpp", text)) == [
        ("L15", "Proc.Drains"), ("L3", "Proc.Drains"), ("L1", "Job.Runs"), ("L2", "Job.Runs"),
        ("L4", ""), ("L5", ""), ("L6", "Tree.same_everywhere")]


def test_pytest_tags():
    text = f'''
# {tag("L1")}
import os

# {tag("L2")} {tag("L3")}
@pytest.mark.parametrize("a", [1])
def test_a(a):
    """Says what. {tag("L4")}"""
    x = "{tag("L9")}"


class TestB:
    @pytest.mark.row("L5", "L6")
    def test_c(self):  # {tag("L7")}
        pass  # {tag("L8")}
'''
    tags = sorted(found(conformance.pytest_tags("tests/system/test_x.py", text)))
    assert tags == [
        ("L1", ""), ("L2", "tests.system.test_x.test_a"), ("L3", "tests.system.test_x.test_a"),
        ("L4", "tests.system.test_x.test_a"), ("L5", "tests.system.test_x.TestB.test_c"),
        ("L6", "tests.system.test_x.TestB.test_c"), ("L7", "tests.system.test_x.TestB.test_c"),
        ("L8", "")]


def test_names_with_parameters_are_the_same_test():
    outcomes = conformance.results_by_test([
        Case("Radix/Tree", "Reaches/2", PASSED), Case("Tree/0", "Reaches", FAILED),
        Case("tests.system.test_x", "test_a[1/2-b]", PASSED),
        Case("tests.system.test_x.TestB", "test_c", SKIPPED)])
    assert outcomes == {"Tree.Reaches": [PASSED, FAILED], "tests.system.test_x.test_a": [PASSED],
                        "tests.system.test_x.TestB.test_c": [SKIPPED]}


def test_state_of_a_row():
    ended = {"a": [PASSED], "b": [PASSED, FAILED], "c": [SKIPPED], "d": [PASSED, SKIPPED]}
    assert conformance.row_state(["a", "d"], ended) == "pass"
    assert conformance.row_state(["a", "b"], ended) == "FAIL"
    assert conformance.row_state(["a", "c"], ended) == "part"
    assert conformance.row_state(["c"], ended) == "skip"
    assert conformance.row_state(["a", "never"], ended) == "unrun"
    assert conformance.row_state(["b", "never"], ended) == "FAIL"


def test_results_survive_the_file(tmp_path):
    cases = [Case("A", "b", PASSED, "", 1.5), Case("A", "c", FAILED, "x < y & \x1b[0m\nmore"),
             Case("A", "d", SKIPPED, "needs a second machine")]
    junit.write(tmp_path / "a.xml", cases)
    (tmp_path / "torn.xml").write_text("<testsuites><testcase")
    back = junit.read_all(tmp_path)
    assert [case.outcome for case in back] == [PASSED, FAILED, SKIPPED]
    assert back[0] == cases[0] and back[2] == cases[2]
    assert "more" in back[1].text


def fake_program(folder, script):
    program = folder / "fake_tests"
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(0o755)
    return program


CRASH = """
echo '[ RUN      ] A.First'
echo '[       OK ] A.First (0 ms)'
echo '[ RUN      ] A.Second'
kill -ABRT $$
"""


def test_a_crashed_program_is_a_failure(tmp_path):
    cases = gtest.run_program("fake", fake_program(tmp_path, CRASH), tmp_path / "log", 30)
    assert [(case.full_name, case.outcome) for case in cases] == [
        ("A.First", PASSED), ("A.Second", FAILED)]
    assert "SIGABRT" in cases[1].text


def test_a_hung_program_is_a_failure(tmp_path):
    program = fake_program(tmp_path, "echo '[ RUN      ] A.Hangs'\nsleep 600\n")
    cases = gtest.run_program("fake", program, tmp_path / "log", 0.5)
    assert [(case.full_name, case.outcome) for case in cases] == [("A.Hangs", FAILED)]
    assert "time limit" in cases[0].text


LEAK = """
for word; do case $word in --gtest_output=xml:*) file=${word#--gtest_output=xml:};; esac; done
echo '<testsuites><testcase classname="A" name="b" status="run" time="0"/></testsuites>' > "$file"
echo 'detected memory leaks'
exit 1
"""


def test_a_bad_end_after_good_tests_is_a_failure(tmp_path):
    cases = gtest.run_program("fake", fake_program(tmp_path, LEAK), tmp_path / "log", 30)
    assert [case.outcome for case in cases] == [PASSED, FAILED]
    assert "memory leaks" in cases[1].text
