"""Shared by all tests: markers, a time limit for each test, DVM fixtures, sanitizer reports."""

import faulthandler
import os
import re
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "system"))

from asking import start_ranks, start_tool  # noqa: E402
from dvm import TIME_SCALE, Dvm, live_dvms  # noqa: E402

TEST_LIMIT_S = 60
LONG_TEST_LIMIT_S = 600
REPORT_BYTES = 20000
# Said of a process that is killed while the sanitizer stops it to look for leaks: nothing was found.
KILLED_MEANWHILE = re.compile(r"(==\d+==Unable to get registers from thread \d+\.\s*)+")

MARKERS = [
    "user: also run as an unprivileged user",
    "noasan(reason): not under the sanitizers (memory figures, timing)",
    "long: only with ./test --long",
    "limit(seconds): a time limit of its own for this test",
    "row(id, …): rows of docs/conformance.md that this test shows",
]


def pytest_configure(config):
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_collection_modifyitems(items):
    if os.environ.get("TIDE_LONG") == "1":
        return
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="takes long; ./test --long runs it"))


class TookTooLong(Exception):
    pass


def _limit_s(item):
    own = item.get_closest_marker("limit")
    if own:
        return own.args[0] * TIME_SCALE
    return (LONG_TEST_LIMIT_S if item.get_closest_marker("long") else TEST_LIMIT_S) * TIME_SCALE


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """A test that takes too long fails where it stands, and its fixtures are still torn down."""
    limit_s = _limit_s(item)

    def stop(*_):
        faulthandler.dump_traceback(file=sys.__stderr__)
        raise TookTooLong(f"no end within {limit_s:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for dvm in live_dvms():
            report.sections += dvm.log_sections()


@pytest.fixture(autouse=True)
def sanitizer_reports():
    """Fails the test during which any process, in the background too, wrote a report."""
    folder = os.environ.get("TIDE_SANITIZER_REPORTS")
    yield
    if not folder:
        return
    texts = []
    for path in sorted(Path(folder).iterdir()):
        text = path.read_text(errors="replace")
        path.unlink()
        if not KILLED_MEANWHILE.fullmatch(text):
            texts.append(f"{path.name}:\n{text[:REPORT_BYTES]}")
    assert not texts, "\n".join(texts)


@pytest.fixture
def make_dvm():
    """A function Dvm(**arguments) → running DVM; all of them are taken down at the end."""
    made = []

    def make(**arguments):
        dvm = Dvm(**arguments)
        made.append(dvm)
        return dvm.up()

    yield make
    _close_all(made)


def _close_all(dvms):
    problems = []
    for dvm in reversed(dvms):
        try:
            dvm.close()
        except AssertionError as error:
            problems.append(str(error))
    assert not problems, "\n".join(problems)


@pytest.fixture
def dvm(make_dvm):
    """A DVM of its own for one test: four nodes with two slots."""
    return make_dvm(nodes=4, slots=2)


@pytest.fixture
def elastic(make_dvm):
    """A function (nodes, pool, …) → running elastic DVM, with one slot on each node if not told otherwise."""

    def make(nodes=2, pool=3, slots=1, failpoint=None, up_options=(), **prtemca):
        if failpoint:
            prtemca["tide_failpoint"] = failpoint
        options = ["--elastic", *(["--pool", str(pool)] if pool else []), *up_options]
        return make_dvm(nodes=nodes, slots=slots, up_options=options, prtemca=prtemca)

    return make


@pytest.fixture(scope="module")
def shared_dvm():
    """One DVM for the tests of a module that only run jobs in it: four nodes with four slots."""
    dvm = Dvm(nodes=4, slots=4)
    try:
        yield dvm.up()
    finally:
        dvm.close()


@pytest.fixture
def tool(tmp_path):
    """A function (dvm, where) → a tool that is attached to the head or to a daemon, and asks for nodes as it is told."""
    started = []

    def make(dvm, at="head"):
        asker = start_tool(dvm, at, tmp_path / f"tool{len(started)}")
        started.append(asker.process)
        asker.heard("ready ")
        return asker

    yield make
    _end_all(started)


@pytest.fixture
def ranks(tmp_path):
    """A function (dvm, n, options of prun…) → the ranks of a job, one on each node, that ask for nodes as they are told."""
    started = []

    def make(dvm, n, *options):
        all_ranks = start_ranks(dvm, n, options, tmp_path / f"job{len(started)}")
        started.append(all_ranks[0].process)
        for one in all_ranks:
            one.heard("ready ")
        return all_ranks

    yield make
    _end_all(started)


@pytest.fixture
def asker(tool, ranks):
    """A function (dvm, "tool" or "process", where) → a tool, or the one process of a job, that asks as it is told."""

    def make(dvm, who, at):
        return tool(dvm, at) if who == "tool" else ranks(dvm, 1, "--host", at)[0]

    return make


def _end_all(processes):
    for process in processes:
        process.kill()
        process.wait(timeout=30)
