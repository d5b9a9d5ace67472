"""Rows of docs/conformance.md, the tests tagged with them, and how those ended."""

import ast
import io
import re
import tokenize
from collections import defaultdict
from dataclasses import dataclass

from tide_lint.source import our_files
from tide_test.junit import FAILED, PASSED, SKIPPED

ROWS_FILE = "docs/conformance.md"
LINE_WIDTH = 120
SIMULATOR = "src/sim/"
REAL_PROGRAMS = ("tests/system/", "tests/swarm/", "tests/slurm/", "tests/chaos/")
_ROW = re.compile(r"^\| ([A-Z]\d+) \| (.+) \|$", re.MULTILINE)
_TAG = re.compile(r"\brow:([A-Z]\d+)\b")
_GTEST = re.compile(
    r"^[ \t]*(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)"
    r"\(\s*(\w+)\s*,\s*(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Tag:
    row: str
    path: str
    line: int
    test: str  # "Suite.Case" or "tests.system.test_x.test_name"; empty: no test is near


def rows(root):
    """{id: summary} in the order of the document."""
    return dict(_ROW.findall((root / ROWS_FILE).read_text()))


def _is_comment(lines, number):
    return 1 <= number <= len(lines) and lines[number - 1].lstrip().startswith("//")


def _lines_near_gtest(text, lines, match):
    """Numbers of the lines that belong to one test: comments above, its head, comments below."""
    first = text.count("\n", 0, match.start()) + 1
    brace = text.find("{", match.end())
    last = text.count("\n", 0, brace if brace >= 0 else match.end()) + 1
    above, below = first - 1, last + 1
    while _is_comment(lines, above):
        above -= 1
    while _is_comment(lines, below):
        below += 1
    return range(above + 1, below)


def gtest_tags(path, text):
    """Tags in comments directly above a test, on its line, or directly below its opening."""
    lines = text.splitlines()
    test_at = {}
    for match in _GTEST.finditer(text):
        for number in _lines_near_gtest(text, lines, match):
            test_at[number] = f"{match.group(1)}.{match.group(2)}"
    return [Tag(row, path, number, test_at.get(number, ""))
            for number, line in enumerate(lines, 1) for row in _TAG.findall(line)]


def _marked_rows(function):
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("mark.row"):
            for argument in decorator.args:
                if isinstance(argument, ast.Constant):
                    yield str(argument.value), decorator.lineno


def _test_functions(tree):
    """(function, its name with the class before it)."""
    for node in tree.body:
        members = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for member in members:
            if isinstance(member, ast.FunctionDef) and member.name.startswith("test"):
                yield member, prefix + member.name


def pytest_tags(path, text):
    """Tags in the comments directly above a test, in its docstring, or by @pytest.mark.row."""
    module = path.removesuffix(".py").replace("/", ".")
    comments = {token.start[0]: token.string
                for token in tokenize.generate_tokens(io.StringIO(text).readline)
                if token.type == tokenize.COMMENT}
    tags, used = [], set()
    for function, name in _test_functions(ast.parse(text)):
        found = list(_marked_rows(function))
        first = min([function.lineno] + [d.lineno for d in function.decorator_list])
        docstring = ast.get_docstring(function) or ""
        found += [(row, function.lineno) for row in _TAG.findall(docstring)]
        lines = list(range(first, function.body[0].lineno))
        above = first - 1
        while above in comments:
            lines.append(above)
            above -= 1
        for line in lines:
            used.add(line)
            found += [(row, line) for row in _TAG.findall(comments.get(line, ""))]
        tags += [Tag(row, path, line, f"{module}.{name}") for row, line in found]
    for line, comment in comments.items():
        if line not in used:
            tags += [Tag(row, path, line, "") for row in _TAG.findall(comment)]
    return tags


def find_tags(root):
    tags = []
    for path in our_files(root):
        if path.suffix == ".cpp" and path.stem.endswith("_test"):
            tags += gtest_tags(str(path), (root / path).read_text())
        elif path.suffix == ".py" and path.name.startswith("test_"):
            tags += pytest_tags(str(path), (root / path).read_text())
    return tags


def checked_in_simulator(root):
    """Rows that something in src/sim names: a checker, which looks at every virtual world, or a test there."""
    return {row for path in our_files(root) if str(path).startswith(SIMULATOR) and path.suffix == ".cpp"
            for row in _TAG.findall((root / path).read_text())}


def shown_by_real_programs(root):
    """Rows with a test that starts the real programs."""
    return {tag.row for tag in find_tags(root) if tag.test and tag.path.startswith(REAL_PROGRAMS)}


def _plain_name(case):
    """A case without what parameters and typed tests add to its name."""
    name = re.sub(r"\[.*\]$", "", case.name, flags=re.DOTALL).split("/")[0]
    parts = [part for part in case.group.split("/") if not part.isdigit()]
    return f"{parts[-1] if parts else ''}.{name}"


def results_by_test(cases):
    outcomes = defaultdict(list)
    for case in cases:
        outcomes[_plain_name(case)].append(case.outcome)
    return outcomes


def row_state(tests, outcomes):
    """One word for a row: FAIL if any of its tests failed, pass only if all of them passed."""
    each = [outcomes.get(test, []) for test in tests]
    if any(FAILED in ended for ended in each):
        return "FAIL"
    if any(not ended for ended in each):
        return "unrun"
    if any(PASSED not in ended for ended in each):
        return "skip" if all(set(ended) == {SKIPPED} for ended in each) else "part"
    return "pass"


def table(root, cases):
    """The printed table, as lines: one per row with tests, open rows together per group."""
    tests = defaultdict(list)
    for tag in find_tags(root):
        if tag.test and tag.test not in tests[tag.row]:
            tests[tag.row].append(tag.test)
    outcomes = results_by_test(cases)
    simulated, real = checked_in_simulator(root), shown_by_real_programs(root)
    lines, open_rows, states = ["row  state real sim  tests"], defaultdict(list), []
    for row in rows(root):
        if not tests.get(row):
            open_rows[row[0]].append(row)
            continue
        state = row_state(tests[row], outcomes)
        states.append(state)
        names = ", ".join(name.removeprefix("tests.") for name in tests[row])
        kinds = f"{'real' if row in real else '-':<4} {'sim' if row in simulated else '-':<3}"
        lines.append(f"{row:<4} {state:<5} {kinds}  {names}"[:LINE_WIDTH])
    lines += [f"open: {' '.join(group)}" for group in open_rows.values()]
    still_open = sum(map(len, open_rows.values()))
    lines.append(f"rows: {states.count('pass')} pass, {states.count('FAIL')} FAIL, "
                 f"{len(states) - states.count('pass') - states.count('FAIL')} not shown in this run, "
                 f"{still_open} open")
    return lines
