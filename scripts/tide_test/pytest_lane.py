"""pytest lanes: the environment they run in, as root or as nobody, and what they report."""

import os
import shutil
import tempfile
import xml.etree.ElementTree as ET
from contextlib import contextmanager
from pathlib import Path

from tide_test import junit
from tide_test.junit import FAILED, Case
from tide_test.process import capture, end_all_using, run_logged, tail

PYTHON = "/usr/bin/python3"
NOBODY = 65534
NO_TESTS_COLLECTED = 5
TESTS_FAILED = 1
COLLECT_LIMIT_S = 120
SHOWN_LINES = 60
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]


def base_environment(bin_folder, scratch, long=False, extra=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PRTE_MCA_", "PMIX_", "TIDE_"))}
    env.update(TIDE_BIN=str(bin_folder), TMPDIR=str(scratch), HOME=str(scratch), LC_ALL="C.UTF-8",
               PYTHONDONTWRITEBYTECODE="1", PYTHONNOUSERSITE="1",
               PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", TIDE_LONG="1" if long else "0")
    env.update(extra or {})
    return env


@contextmanager
def scratch_folder(owner=None):
    """A short private folder below /tmp; what still runs in it at the end is killed."""
    folder = Path(tempfile.mkdtemp(prefix="tt.", dir="/tmp"))
    try:
        if owner is not None:
            os.chown(folder, owner, owner)
        yield folder
    finally:
        end_all_using(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _argv(root, paths, markers, only, extra=()):
    argv = [PYTHON, "-m", "pytest", "-p", "no:cacheprovider", "--strict-markers", "-ra", "--tb=short",
            f"--rootdir={root}", *extra]
    if markers:
        argv += ["-m", markers]
    return argv + [str(root / path) for path in (only or paths)]


def collect(root, paths, env):
    """Node ids of the tests below `paths`."""
    present = [path for path in paths if (root / path).exists()]
    if not present:
        return []
    argv = [PYTHON, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "-q",
            f"--rootdir={root}", *present]
    try:
        text = capture(argv, COLLECT_LIMIT_S, cwd=root, env=env)
    except RuntimeError as error:
        if f"exit status {NO_TESTS_COLLECTED}" in str(error):
            return []
        raise
    return [line for line in text.splitlines() if "::" in line]


def run(root, paths, log, limit_s, *, env, scratch, markers=None, only=None, wrap=()):
    """Runs pytest over the existing `paths` (or the node ids `only`) and returns its cases.
    `wrap` goes before the command. No tests is no error; a lane that dies is one failure."""
    paths = [path for path in paths if (root / path).exists()]
    if not paths and not only:
        return []
    results = scratch / "results.xml"
    results.unlink(missing_ok=True)
    argv = [*wrap, *_argv(root, paths, markers, only, [f"--junitxml={results}"])]
    outcome = run_logged(argv, log, limit_s, cwd=root, env=env)
    try:
        cases = junit.read(results)
    except (ET.ParseError, OSError):
        cases = []
    expected = outcome.status in (0, NO_TESTS_COLLECTED) or (
        outcome.status == TESTS_FAILED and junit.count(cases, FAILED))
    if outcome.timed_out or not expected:
        text = f"pytest: {outcome.describe()}\n{tail(log, SHOWN_LINES)}"
        cases.append(Case("pytest", Path(log).stem, FAILED, text))
    return cases


def readable_by_nobody(paths):
    """Can the unprivileged lane read and enter these?"""
    try:
        for path in paths:
            capture([*AS_NOBODY, "test", "-r", path, "-a", "-x", path], COLLECT_LIMIT_S)
        return True
    except RuntimeError:
        return False
