"""The swarms that tests run on. One of 64 nodes serves all that need no other; it is mended after each test."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "testbed")]

from bed import Bed  # noqa: E402
from bed_hooks import keep_logs_of_failed, skip_without  # noqa: E402
from storm_seed import SEED  # noqa: E402
from swarm_dvm import SwarmDvm  # noqa: E402
from swarm_growing import ElasticSwarmDvm  # noqa: E402
from swarmlib.client import why_not  # noqa: E402

LARGE = 64


def pytest_report_header():
    return f"faults are chosen by TIDE_SEED={SEED}"


def pytest_collection_modifyitems(items):
    skip_without(why_not, items, HERE)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    keep_logs_of_failed(item, outcome.get_result())


@pytest.fixture(scope="session")
def large_bed():
    with Bed(LARGE) as bed:
        yield bed


@pytest.fixture
def bed(large_bed):
    """64 nodes in good order. What a test breaks is mended; what it leaves in them fails it."""
    yield large_bed
    large_bed.mend()
    large_bed.assert_nothing_left()


@pytest.fixture
def make_dvm(bed):
    """A function SwarmDvm(bed, …) → running DVM; all of them are taken down at the end."""
    made = []

    def make(nodes, **arguments):
        made.append(SwarmDvm(bed, nodes, **arguments))
        return made[-1].up()

    yield make
    for dvm in reversed(made):
        dvm.close()


@pytest.fixture
def make_elastic(bed):
    """The same for ElasticSwarmDvm(bed, …)."""
    made = []

    def make(count, pool=0, **arguments):
        made.append(ElasticSwarmDvm(bed, count, pool, **arguments))
        return made[-1].up()

    yield make
    for dvm in reversed(made):
        dvm.close()
