"""Single tests by name, once or many times, with a fresh seed each time."""

import os
import secrets
import shlex

from tide_test import gtest, pytest_lane
from tide_test.junit import FAILED
from tide_test.suites import LANE_LIMIT_S, PROGRAM_LIMIT_S

PYTHON_TESTS = ["tests/system", "tests/conformance", "tests/lint", "tests/chaos", "tests/mutation", "tests/swarm",
                "tests/slurm"]


class Selection:
    """The tests whose name contains one of the given pieces."""

    def __init__(self, context, pieces):
        self._context = context
        self._gtests = {}  # ctest name: (program, full names)
        folder = context.builds.folder(context.preset)
        for name, program in gtest.programs(folder).items():
            chosen = [case for case in gtest.list_cases(program) if _matches(case, pieces)]
            if chosen:
                self._gtests[name] = (program, chosen)
        with pytest_lane.scratch_folder() as scratch:
            env = context.environment(context.preset, scratch)
            ids = pytest_lane.collect(context.root, PYTHON_TESTS, env)
        self._pytests = [test for test in ids if _matches(test, pieces)]

    def names(self):
        return [case for _, cases in self._gtests.values() for case in cases] + self._pytests

    def run(self, log, seed):
        context = self._context
        extra = {"TIDE_SEED": seed, "RC_PARAMS": f"seed={seed}"}
        cases = []
        with pytest_lane.scratch_folder() as scratch:
            env = context.environment(context.preset, scratch, extra)
            for name, (program, chosen) in self._gtests.items():
                cases += gtest.run_program(name, program, log, context.limit(PROGRAM_LIMIT_S),
                                           env=env, cwd=scratch, only=chosen)
            if self._pytests:
                cases += pytest_lane.run(context.root, [], log, context.limit(LANE_LIMIT_S), env=env,
                                         scratch=scratch, only=self._pytests)
        return cases


def _matches(name, pieces):
    return any(piece in name for piece in pieces)


def run(context, pieces, times, say):
    """Runs the matching tests `times` times, stopping at the first failure; returns all cases,
    or None when no test matches. TIDE_SEED in the environment is the first round's seed."""
    log = context.logs / "repeat.log"
    log.unlink(missing_ok=True)
    broken = context.builds.ensure(context.preset)
    if broken:
        say(broken.text)
        return [broken]
    selection = Selection(context, pieces)
    if not selection.names():
        return None
    say("\n".join(selection.names()))
    cases, seed = [], os.environ.get("TIDE_SEED")
    for number in range(1, times + 1):
        seed = seed or str(secrets.randbelow(1 << 31))
        latest = selection.run(log, seed)
        cases += latest
        failures = [case for case in latest if case.outcome == FAILED]
        seconds = sum(case.seconds for case in latest)
        say(f"round {number}/{times}: {len(latest)} run, {len(failures)} failed, {seconds:.2f} s")
        if failures:
            again = " ".join(map(shlex.quote, pieces))
            for case in failures:
                say(f"--- {case.full_name}\n{case.text}")
            say(f"seed {seed}: repeat with  TIDE_SEED={seed} ./test {again}\nlog: {log}")
            break
        seed = None
    return cases
