"""Proof that the tests can fail: each small defect that is put into the core must be noticed by its
unit tests or by the simulator."""

import fcntl
import os
import random
import re
import resource
import secrets
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tide_test import gtest, mutants, pytest_lane
from tide_test.build import compiler_errors
from tide_test.junit import FAILED, PASSED, Case
from tide_test.process import run_logged, tail

FOLDER = mutants.FOLDER
CHOSEN = 3  # of all, in a usual run
WORLDS = 1000
PRESET = "release"
TARGETS = ["tide_core_tests", "tide-sim"]
ROOMS = "base;say;wire;hosts;core;sim"
BUILD_LIMIT_S = 900
# A mutant that takes this much longer than the untouched core hangs.
PATIENCE_S, PATIENCE_FACTOR = 20, 8
MEMORY_BYTES = 4 << 30  # a mutant may also ask for more and more
SEED_VARIABLE = "TIDE_SEED"
SHOWN_LINES = 30
_BROKEN_PROMISE = re.compile(r"^  seed (\d+): (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Verdict:
    patch: mutants.Patch
    unit: str = ""  # the unit test that noticed it; empty: none did
    sim: str = ""  # the seed and the promise that it broke; empty: none, or not asked
    trouble: str = ""  # why nothing is known: it does not compile
    seconds: float = 0.0

    @property
    def caught_by(self):
        return "; ".join(filter(None, (self.unit, self.sim)))

    @property
    def survived(self):
        return not self.caught_by and not self.trouble

    def case(self):
        text = self.trouble
        if self.survived:
            text = f"survived: {self.patch.about}\nneither a unit test nor {WORLDS} worlds noticed it"
        return Case("mutation", self.patch.name, FAILED if text else PASSED, text, self.seconds)


@contextmanager
def _bounded_memory():
    """Programs started within inherit the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MEMORY_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


class Bench:
    """A copy of the sources with one build folder, in which one mutant after the other is tried."""

    def __init__(self, root, logs, scratch, seed):
        self.copy = mutants.Copy(root, root / "build" / "mutation" / "tree")
        self.log = logs / "mutation.mutants.log"
        self.log.write_text("")
        self._scratch = scratch
        # As many as this process may use, which taskset can make fewer.
        self._jobs = str(len(os.sched_getaffinity(0)))
        self._programs = self.copy.folder / "build" / PRESET
        self._env = pytest_lane.base_environment(
            self._programs / "bin", scratch, extra={"GTEST_FAIL_FAST": "1", "RC_PARAMS": f"seed={seed}"})
        self._unit_limit_s = self._sim_limit_s = float(BUILD_LIMIT_S)

    @contextmanager
    def reserved(self):
        """Two runs must not change one copy: the second one fails."""
        self.copy.folder.mkdir(parents=True, exist_ok=True)
        with open(self.copy.folder.parent / "lock", "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RuntimeError(f"another run uses {self.copy.folder.parent}") from None
            yield

    def configure(self):
        return self._logged(["cmake", "--preset", PRESET, f"-DTIDE_ONLY_ROOMS={ROOMS}"])

    def build(self):
        return self._logged(["ninja", "-C", self._programs, "-j", self._jobs, *TARGETS])

    def _logged(self, argv):
        """None, or why the command failed."""
        start = self.log.stat().st_size
        outcome = run_logged(argv, self.log, BUILD_LIMIT_S, cwd=self.copy.folder)
        if outcome.ok:
            return None
        said = self._scratch / "said.log"
        said.write_bytes(self.log.read_bytes()[start:])
        return f"{outcome.describe()}\n{compiler_errors(said)}"

    def unit(self):
        """Name of the first unit test that fails; empty: none."""
        program = self._programs / "tests" / TARGETS[0]
        with _bounded_memory():
            cases = gtest.run_program("core", program, self.log, self._unit_limit_s, env=self._env,
                                      cwd=self._scratch)
        failed = [case for case in cases if case.outcome == FAILED]
        if not failed:
            return ""
        hangs = any("stopped at its time limit" in case.text for case in failed)
        return f"{failed[0].full_name}{' (hangs: caught by the deadline)' if hangs else ''}"

    def sim(self):
        """Seed and promise of the first world that fails; empty: none."""
        said = self._scratch / "sim.log"
        said.write_text("")
        argv = [self._programs / "bin" / TARGETS[1], "--seeds", f"1..{WORLDS}", "--threads", self._jobs]
        with _bounded_memory():
            outcome = run_logged(argv, said, self._sim_limit_s, env=self._env, cwd=self._scratch)
        text = said.read_text(errors="replace")
        with open(self.log, "a") as log:
            log.write(text)
        promise = _BROKEN_PROMISE.search(text)
        if promise:
            return f"seed {promise[1]}: {promise[2]}"
        if outcome.timed_out:
            return "simulator (hangs: caught by the deadline)"
        return "" if outcome.ok else f"simulator: {outcome.describe()}"

    def prepare(self):
        """Builds and tries the untouched core. None, or why mutants would prove nothing. Sets the
        deadlines by what it took."""
        self.copy.refresh()
        trouble = self.configure() or self.build()
        if trouble:
            return trouble
        took = []
        for lane in (self.unit, self.sim):
            began = time.monotonic()
            caught = lane()
            if caught:
                return f"the untouched core fails: {caught}\n{tail(self.log, SHOWN_LINES)}"
            took.append(PATIENCE_S + PATIENCE_FACTOR * (time.monotonic() - began))
        self._unit_limit_s, self._sim_limit_s = took
        return None

    def judge(self, patch, both):
        """Builds the mutant and shows it to the unit tests; to the simulator if they let it pass, or
        if it is of interest what `both` say."""
        began = time.monotonic()
        unit = sim = trouble = ""
        self.copy.mutate(patch)
        try:
            trouble = self.build() or ""
            if trouble:
                trouble = f"{patch.name} does not compile: {trouble}"
            else:
                unit = self.unit()
                sim = self.sim() if both or not unit else ""
        finally:
            self.copy.restore(patch)
        return Verdict(patch, unit, sim, trouble, time.monotonic() - began)


def draw_seed():
    return int(os.environ.get(SEED_VARIABLE) or secrets.randbelow(1 << 31))


def choose(patches, seed, count=CHOSEN):
    """Some by chance, without those in headers: these compile half of the core anew."""
    quick = [patch for patch in patches if patch.target.endswith(".cpp")]
    chosen = random.Random(seed).sample(quick, min(count, len(quick)))
    return sorted(chosen, key=lambda patch: patch.name)


def describe(verdict):
    """A verdict in two lines for people."""
    fate = verdict.caught_by or ("DOES NOT COMPILE" if verdict.trouble else "SURVIVED")
    return f"  {verdict.patch.name:<32} {verdict.seconds:5.1f} s  {fate}\n      {verdict.patch.about}"


def check_patches(root):
    """(the patches that can be used, cases that say whether all can)."""
    patches, bad = mutants.read_all(root)
    if not patches and not bad:
        bad = [f"there are no patches in {FOLDER}"]
    cases = [Case("mutation", "patches", FAILED, problem) for problem in bad]
    return patches, cases or [Case("mutation", f"{len(patches)} patches apply", PASSED)]


def try_all(bench, patches, both, say):
    """(verdicts, a case that says whether they mean anything)."""
    began = time.monotonic()
    with bench.reserved():
        trouble = bench.prepare()
        untouched = Case("mutation", "untouched", FAILED if trouble else PASSED, trouble or "",
                         time.monotonic() - began)
        verdicts = []
        for patch in [] if trouble else patches:
            verdicts.append(bench.judge(patch, both))
            say(describe(verdicts[-1]))
    return verdicts, untouched
