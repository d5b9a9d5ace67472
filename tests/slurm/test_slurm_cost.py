"""What each operation costs slurmctld, in requests that it gets: a handful, however many nodes there are. docs/slurm-cost.md
has the table of a run."""

import os
import time
from pathlib import Path

import pytest

from dvm import wait_until
from growing import DONE, done, tide
from trials import ReadyDvm, trial  # noqa: F401

TABLE_VARIABLE = "TIDE_SLURM_COST"  # a file for the table of docs/slurm-cost.md
# On account of a job or step, whoever started it: what its nodes tell slurmctld when it ends.
OF_ITS_NODES = ("MESSAGE_EPILOG_COMPLETE", "REQUEST_STEP_COMPLETE", "REQUEST_COMPLETE_BATCH_SCRIPT", "REQUEST_COMPLETE_PROLOG")
# Looks at the queue are counted apart: here there are none.
NO_LOOKS = {"ras_slurm_first_look": "1h", "ras_slurm_last_look": "1h"}
SHORTER = 12  # so many times, a minute of looks
LOOKS = {"ras_slurm_first_look": f"{2000 // SHORTER}ms", "ras_slurm_last_look": f"{60000 // SHORTER}ms"}
MINUTE_S = 60 / SHORTER
QUIET_S = 0.5

# So many requests at most, on any number of nodes.
BOUNDS = {"start": 10, "grow": 8, "release of a whole job": 3, "release of a part": 4, "more time": 6,
          "pending, taken back": 5, "end": 3, "first minute after a change": 15, "idle minute": 5}
BY_CHANCE = 1  # a step is ended, or has ended by itself


class Costs:
    """Counts the requests of one thing after the other."""

    def __init__(self, bed):
        self._bed, self._before, self.rows = bed, None, {}
        self.forget()

    def forget(self):
        """What came until now was not meant."""
        self._before = self._when_quiet()

    def of(self, what):
        """Those since the last question."""
        now = self._when_quiet()
        kinds = {kind: count for kind, count in sorted((now - self._before).items()) if kind not in OF_ITS_NODES}
        self._before = now
        assert sum(kinds.values()) <= BOUNDS[what], f"{what}: {kinds}"
        self.rows[what] = kinds

    def _when_quiet(self):
        seen = [self._bed.rpc_counts()]

        def quiet():
            time.sleep(QUIET_S)  # for so long nothing came
            seen.append(self._bed.rpc_counts())
            return seen[-1] == seen[-2]

        wait_until(quiet, limit_s=30, what="slurmctld has nothing to do")
        return seen[-1]


def start_unasked(bed, costs, count):
    """A start by which nobody but the DVM asks slurmctld for anything."""
    costs.forget()
    dvm = ReadyDvm(bed, count, prtemca={"prte_elastic_mode": 1}, options=("--no-kill", "-w", "node1"))
    try:
        dvm.begin_on("node1")
        wait_until(dvm.answers, limit_s=30, what="the DVM is ready")
        costs.of("start")
        dvm.down()
    finally:
        dvm.close()


def operations(bed, one, costs, count):
    """Each of them by so many nodes."""
    costs.forget()
    _, came = one.grow("--count", count)
    costs.of("grow")
    done(one.dvm, "shrink", "--host", ",".join(came))
    costs.of("release of a whole job")
    done(one.dvm, "shrink", "--host", ",".join(one.names[-count:]))
    costs.of("release of a part")
    one.grow("--count", 1, "--time", "2m")
    (allocation,) = [node["allocation"] for node in one.dvm.status()["nodes"] if node.get("allocation")]
    costs.forget()
    done(one.dvm, "grow", "--extend", allocation, "--time", "2m")
    costs.of("more time")
    blocker = one.blocked(free=0)
    costs.forget()
    request = one.dvm.start("tide", "alloc", "new", "--count", count, "--request-id", "mine", "--wait")
    wait_until(lambda: "waits in the queue" in tide(one.dvm, "alloc", "list").stdout, what="the request waits")
    assert tide(one.dvm, "alloc", "cancel", "mine").returncode == DONE
    one.dvm.finish(request)
    costs.of("pending, taken back")
    blocker.cancel()
    blocker.wait_for(None)
    costs.forget()
    assert one.dvm.tool("tide", "down").returncode == DONE
    one.dvm.abandon()
    costs.of("end")


@pytest.mark.limit(180)
def test_an_operation_costs_a_handful_of_requests_on_any_number_of_nodes(slurm, trial):
    few, many = Costs(slurm), Costs(slurm)
    start_unasked(slurm, few, 2)
    start_unasked(slurm, many, 10)
    for costs, nodes, count in ((few, 2, 1), (many, 5, 4)):
        operations(slurm, trial(nodes, prtemca=NO_LOOKS), costs, count)
        slurm.wait_idle()
    for what, kinds in many.rows.items():
        assert sum(kinds.values()) <= sum(few.rows[what].values()) + BY_CHANCE, (what, kinds, few.rows[what])
    write_table(many.rows)


@pytest.mark.limit(120)
def test_a_dvm_that_nobody_asks_anything_looks_at_its_jobs_now_and_then(slurm, trial):
    one = trial(2, prtemca=LOOKS)
    costs = Costs(slurm)
    one.grow()
    costs.forget()
    time.sleep(MINUTE_S)  # the minute that is counted
    costs.of("first minute after a change")
    time.sleep(MINUTE_S)
    costs.of("idle minute")
    write_table(costs.rows)


def write_table(rows):
    """Behind what is there, for docs/slurm-cost.md."""
    if not os.environ.get(TABLE_VARIABLE):
        return
    with Path(os.environ[TABLE_VARIABLE]).open("a") as table:
        for what, kinds in rows.items():
            listed = ", ".join(kind if count == 1 else f"{count} {kind}" for kind, count in kinds.items())
            table.write(f"| {what} | {sum(kinds.values())} | {listed} |\n")
