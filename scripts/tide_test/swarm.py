"""The suites on the nodes of a testbed. Of the swarm's, tests of faults mostly wait, so they run beside the others; random
faults under load come last."""

import os
import shutil
from functools import partial

from tide_test import pytest_lane
from tide_test.junit import FAILED, PASSED, SKIPPED, Case
from tide_test.lanes import Lanes
from tide_test.process import run_logged, tail

FOLDER = "tests/swarm"
FAULTS = [f"{FOLDER}/test_swarm_faults.py", f"{FOLDER}/test_swarm_storm.py"]
SLURM_FOLDER = "tests/slurm"
# What runs one after the other, on beds of its own; what is new goes with the first.
SLURM_LANES = {"bed": ("testbed", "start", "many", "examples"), "faults": ("faults",), "outage": ("outage",),
               "elastic": ("elastic", "time"), "losses": ("losses", "cost")}
# (minutes, faults, nodes) of the soak, and what its starts, ends and a stuck job may take beside
SOAK, SOAK_LONG, SOAK_MARGIN_S = (0.5, 4, 10), (10, 20, 16), 240


class OnBeds:
    """Runs tests of one folder; what tests that fail leave behind is kept below the logs, in a folder of this name."""

    at_once = 2

    def __init__(self, context, name, limit_s):
        self._context, self._limit_s = context, limit_s
        self._kept = context.logs / name
        shutil.rmtree(self._kept, ignore_errors=True)
        self._lanes = Lanes(self._kept, at_once=self.at_once)

    def _environment(self, scratch):
        seed = {"TIDE_SEED": os.environ["TIDE_SEED"]} if os.environ.get("TIDE_SEED") else {}
        return self._context.environment(self._context.preset, scratch, {"TIDE_SWARM_KEEP": str(self._kept), **seed})

    def _tests(self, paths, scratch, log):
        return pytest_lane.run(self._context.root, paths, log, self._limit_s, env=self._environment(scratch), scratch=scratch)


class Slurm(OnBeds):
    """They mostly wait for Slurm, so all lanes run at once."""

    at_once = len(SLURM_LANES)

    def run(self, log):
        lanes = {name: [] for name in SLURM_LANES}
        for path in sorted((self._context.root / SLURM_FOLDER).glob("test_slurm_*.py")):
            lanes[slurm_lane_of(path.stem.removeprefix("test_slurm_"))].append(f"{SLURM_FOLDER}/{path.name}")
        return self._lanes.run([(name, partial(self._tests, paths)) for name, paths in lanes.items()], log)


def slurm_lane_of(topic):
    return next((lane for lane, topics in SLURM_LANES.items() if topic in topics), next(iter(SLURM_LANES)))


class Swarm(OnBeds):
    def run(self, log):
        return self._lanes.run([("faults", self._faults), ("others", self._others_and_soak)], log)

    def _faults(self, scratch, log):
        return self._tests(FAULTS, scratch, log)

    def _others_and_soak(self, scratch, log):
        files = sorted((self._context.root / FOLDER).glob("test_*.py"))
        names = [f"{FOLDER}/{path.name}" for path in files]
        cases = self._tests([name for name in names if name not in FAULTS], scratch, log)
        if self._lanes.stopping or (cases and all(case.outcome == SKIPPED for case in cases)):
            return cases  # each with the reason
        return [*cases, self._soak(scratch, log)]

    def _soak(self, scratch, log):
        minutes, faults, nodes = SOAK_LONG if self._context.long else SOAK
        argv = [pytest_lane.PYTHON, self._context.root / FOLDER / "soak", "--minutes", minutes, "--faults", faults,
                "--nodes", nodes, "--keep", self._kept / "soak"]
        if os.environ.get("TIDE_SEED"):
            argv += ["--seed", os.environ["TIDE_SEED"]]
        outcome = run_logged(argv, log, minutes * 60 + SOAK_MARGIN_S, env=self._environment(scratch), cwd=scratch)
        text = "" if outcome.ok else f"{outcome.describe()}\n{tail(log, 80)}"
        return Case("swarm", f"soak of {minutes} minutes", PASSED if outcome.ok else FAILED, text, outcome.seconds)
