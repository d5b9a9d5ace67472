"""The Slurms that tests run on: one of 10 nodes for most of them, another with accounting, and one of 32 with it. They come
up when a test first asks for them, and are mended after each."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "swarm"), str(ROOT / "testbed")]

from bed_hooks import keep_logs_of_failed, skip_without  # noqa: E402
from slurm_bed import SlurmBed  # noqa: E402
from slurm_dvm import SlurmDvm  # noqa: E402
from slurm_growing import Other  # noqa: E402
from swarm_growing import ask_as_a_tool  # noqa: E402
from swarmlib.client import why_not  # noqa: E402
from swarmlib.slurm import Wish  # noqa: E402

NODES, MANY_NODES = 10, 32
# Nodes that Slurm shows as idle may be given to nobody until it looks the next time.
GRANT_LIMIT_S = 40


def pytest_collection_modifyitems(items):
    skip_without(lambda: why_not(Wish(accounting=True)), items, HERE)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    keep_logs_of_failed(item, outcome.get_result())


@pytest.fixture(scope="session")
def plain_slurm():
    with SlurmBed(NODES) as bed:
        yield bed


@pytest.fixture(scope="session")
def accounted_slurm():
    with SlurmBed(NODES, "--accounting") as bed:
        yield bed


@pytest.fixture(scope="session")
def accounted_slurm_of_many():
    with SlurmBed(MANY_NODES, "--accounting") as bed:
        yield bed


def _in_good_order(bed):
    yield bed
    bed.mend()
    bed.assert_nothing_left()


@pytest.fixture
def slurm(plain_slurm):
    """10 nodes in good order, without slurmdbd. What a test breaks is mended; what it leaves in them fails it."""
    yield from _in_good_order(plain_slurm)


@pytest.fixture
def slurm_with_accounting(accounted_slurm):
    """The same with slurmdbd, so that a job can be resized more than once."""
    yield from _in_good_order(accounted_slurm)


@pytest.fixture
def large_slurm(accounted_slurm_of_many):
    """The same with 32 nodes."""
    yield from _in_good_order(accounted_slurm_of_many)


def _made_on(bed):
    made = []

    def make(nodes, **arguments):
        made.append(SlurmDvm(bed, nodes, **arguments))
        return made[-1].up()

    yield make
    for dvm in reversed(made):
        dvm.close()


@pytest.fixture
def make_slurm_dvm(slurm):
    """A function SlurmDvm(bed, …) → running DVM; all of them are taken down at the end."""
    yield from _made_on(slurm)


@pytest.fixture
def make_accounted_dvm(slurm_with_accounting):
    """The same for the Slurm with slurmdbd."""
    yield from _made_on(slurm_with_accounting)


@pytest.fixture
def make_large_dvm(large_slurm):
    """The same for the Slurm with 32 nodes."""
    yield from _made_on(large_slurm)


def _taken_on(bed):
    jobs = []

    def make(count=None, names=None):
        where = ["-w", ",".join(names)] if names else ["-N", count]
        jobs.append(Other(bed, f"other{len(jobs)}", where))
        return jobs[-1]

    yield make
    for job in jobs:
        job.cancel()


@pytest.fixture
def take(slurm):
    """A function count or names → Other, a job of somebody else, which is cancelled at the end of the test at the latest."""
    yield from _taken_on(slurm)


@pytest.fixture
def take_of_many(large_slurm):
    """The same for the Slurm with 32 nodes."""
    yield from _taken_on(large_slurm)


@pytest.fixture
def tool():
    """A function (dvm) → a PMIx tool beside the head, which asks as it is told."""
    started = []

    def make(dvm):
        started.append(ask_as_a_tool(dvm))
        started[-1].limit_s = GRANT_LIMIT_S
        return started[-1]

    yield make
    for asker in started:
        asker.process.kill()
