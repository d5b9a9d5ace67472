"""GoogleTest programs: which there are, running them, and what became of each test."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

from tide_test import junit
from tide_test.junit import FAILED, PASSED, Case
from tide_test.process import capture, run_logged, tail

LIST_LIMIT_S = 60
SHOWN_CRASH_LINES = 40


def programs(build_folder):
    """{name: program} of the tests that ctest knows, so nothing stale in the folder is run."""
    listing = json.loads(capture(["ctest", "--show-only=json-v1"], LIST_LIMIT_S, cwd=build_folder))
    return {test["name"]: Path(test["command"][0])
            for test in listing["tests"] if test.get("command")}


def list_cases(program, env=None):
    """Full names ("Suite.Case") of the tests in one program."""
    names, suite = [], ""
    for line in capture([program, "--gtest_list_tests"], LIST_LIMIT_S, env=env).splitlines():
        name = line.split("#")[0].rstrip()
        if name.startswith("  "):
            names.append(suite + name.strip())
        elif name.endswith("."):
            suite = name
    return names


def _cases_from_output(text, why):
    """What the printed lines tell of a program that ended before it wrote its results."""
    cases, running = [], None
    for line in text.splitlines():
        match = re.match(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] (\S+?)\.(\S+?)(?: \(|,|$)", line)
        if not match:
            continue
        word, group, name = match.groups()
        if word == "RUN":
            running = (group, name)
        elif running == (group, name):
            outcome = {"OK": PASSED, "FAILED": FAILED, "SKIPPED": junit.SKIPPED}[word]
            cases.append(Case(group, name, outcome, f"see the log ({why})" if word != "OK" else ""))
            running = None
    last_words = "\n".join(text.splitlines()[-SHOWN_CRASH_LINES:])
    group, name = running or ("program", "end")
    return cases + [Case(group, name, FAILED, f"{why}\n{last_words}")]


def run_program(name, program, log, limit_s, *, env=None, cwd=None, only=None):
    """Runs one program (or the tests named in `only`) and returns its cases. A program that
    crashes, hangs or ends badly without a failed test counts as one failure more."""
    results = Path(log).parent / f"{Path(log).stem}.{name}.tmp.xml"
    results.unlink(missing_ok=True)
    argv = [program, f"--gtest_output=xml:{results}", "--gtest_color=no"]
    if only:
        argv.append("--gtest_filter=" + ":".join(only))
    start = Path(log).stat().st_size if Path(log).exists() else 0
    outcome = run_logged(argv, log, limit_s, env=env, cwd=cwd)
    why = f"{Path(program).name}: {outcome.describe()}"
    try:
        cases = junit.read(results)
    except (ET.ParseError, OSError):
        with open(log, errors="replace") as text:
            text.seek(start)
            return _cases_from_output(text.read(), why)
    finally:
        results.unlink(missing_ok=True)
    if only:
        cases = [case for case in cases if case.outcome != junit.SKIPPED or case.text != "switched off"]
    if not outcome.ok and not junit.count(cases, FAILED):
        cases.append(Case("program", name, FAILED, f"{why}\n{tail(log, SHOWN_CRASH_LINES)}"))
    return cases
