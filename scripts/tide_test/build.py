"""Builds by CMake preset, each at most once in a run."""

import os
import re
import time

from tide_test.junit import FAILED, SKIPPED, Case
from tide_test.process import run_logged, tail

CONFIGURE_LIMIT_S = 300
BUILD_LIMIT_S = 3600
SHOWN_ERROR_LINES = 60
BUDGET_S = {"release": 600, "debug": 600, "asan": 900, "tidy": 60, "fuzz": 240}
# Where the compiler cache holds little a build with sanitizers takes longer than all tests. So there is a limit for it, what
# was compiled stays in the cache, and the next run goes on from there.
LIMITED_S = {"asan": 600}
# clang-tidy wants the generated headers, not our objects.
TARGETS = {"tidy": ["tide_wire"], "fuzz": ["fuzzers"]}


class Builds:
    def __init__(self, root, logs, say, patient=True):
        self._root, self._logs, self._say, self._patient = root, logs, say, patient
        self._done = {}  # preset: None, or the Case that says why it failed
        self.seconds = 0.0  # spent on all builds of this run

    def folder(self, preset):
        return self._root / "build" / preset

    def bin(self, preset):
        return self.folder(preset) / "bin"

    def ensure(self, preset):
        """None when the preset is built, else the Case that says why not; asked twice, told twice."""
        if preset not in self._done:
            self._done[preset] = self._build(preset)
        return self._done[preset]

    def _build(self, preset):
        log = self._logs / f"build-{preset}.log"
        log.unlink(missing_ok=True)
        began = time.monotonic()
        outcome = run_logged(["cmake", "--preset", preset], log, CONFIGURE_LIMIT_S, cwd=self._root)
        if outcome.ok:
            jobs = str(os.cpu_count() or 1)
            argv = ["ninja", "-C", self.folder(preset), "-j", jobs, "-k", "20"]
            limit_s = BUILD_LIMIT_S if self._patient else LIMITED_S.get(preset, BUILD_LIMIT_S)
            outcome = run_logged(argv + TARGETS.get(preset, []), log, limit_s, cwd=self._root)
        seconds = time.monotonic() - began
        self.seconds += seconds
        budget = BUDGET_S.get(preset, 600)
        late = "  OVER BUDGET" if seconds > budget else ""
        put_off = outcome.timed_out and not self._patient and preset in LIMITED_S
        state = "built" if outcome.ok else "put off" if put_off else "FAILED"
        self._say(f"build {preset:<14} {state:<38} {seconds:6.1f} s / {budget} s{late}")
        if outcome.ok:
            return None
        if put_off:
            reason = f"the {preset} build did not fit into {LIMITED_S[preset]} s; the next run goes on there, --long to its end"
            return Case("build", preset, SKIPPED, reason, seconds)
        return Case("build", preset, FAILED, f"{outcome.describe()}\n{compiler_errors(log)}", seconds)


def compiler_errors(log):
    """The lines around errors in a build log; its tail where none is recognised."""
    lines = log.read_text(errors="replace").splitlines()
    kept = []
    for number, line in enumerate(lines):
        if re.search(r"\berror\b[:\s]|undefined reference|CMake Error|^FAILED:", line):
            kept += range(number, min(number + 4, len(lines)))
    chosen = [lines[number] for number in sorted(set(kept))][:SHOWN_ERROR_LINES]
    return "\n".join(chosen) or tail(log, SHOWN_ERROR_LINES)
