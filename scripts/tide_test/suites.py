"""The suites, in the order in which they run: the quick ones that find the most come first."""

import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from tide_test import fuzz, gtest, junit, mutation, mutation_table, pytest_lane, style, swarm, tidy
from tide_test.build import Builds
from tide_test.junit import FAILED, PASSED, SKIPPED, Case
from tide_test.lanes import AT_ONCE, Lanes
from tide_test.process import Deadline, run_logged, tail

SIM = "sim"  # ctest's name of the simulator's program
PROGRAM_LIMIT_S = 300
ASAN_PROGRAM_LIMIT_S = 900  # the worlds of the simulator take ten times as long
TIDY_LIMIT_S = 300  # for what is not remembered; 100 units in this time, more or less
LANE_LIMIT_S = 1200
ASAN_LANE_LIMIT_S = 2400  # it takes a third of that on two idle cores
BENCH_LIMIT_S = 120
BENCH_SKIPPED_STATUS = 77  # a benchmark that this machine cannot run; its last words are the reason
WORLDS_LIMIT_S = 600
EXHAUSTIVE_STATES = 200_000_000  # eight bytes each, twice that while a table grows
SEEDS_PER_HIT = 10  # of each class of faults: 1,000 hits in 10,000 seeds
LONG_FACTOR = 6  # what --long may take, against the usual limits and budgets
ASAN_TIME_SCALE = 4
SYSTEM_TESTS = ["tests/system"]
CHAOS_TESTS = ["tests/chaos"]
CHAOS_S, CHAOS_LONG_S = 60, 3600
CHAOS_ROUND_S, CHAOS_LONG_ROUND_S = 12, 40
MUTATION_LONG_S = 1800
CHAOS_MARGIN_S = 120  # the last round is played out, and a stuck job is waited for
# Freed memory is kept for a while to notice its use; by default 256 MB for each of 64 daemons.
ASAN_OPTIONS = "detect_leaks=1:abort_on_error=0:halt_on_error=1:quarantine_size_mb=16"
LEAKS_OF_OTHERS = "tests/leaks-of-others.txt"
UBSAN_OPTIONS = "print_stacktrace=1:halt_on_error=1"


@dataclass
class Context:
    root: Path
    logs: Path
    builds: Builds
    preset: str = "release"
    long: bool = False
    extra_env: dict = field(default_factory=dict)
    say: Callable[[str], None] = print  # for what people want to read of a suite that passes

    def limit(self, seconds):
        return seconds * (LONG_FACTOR if self.long else 1)

    def lanes(self, log):
        return Lanes(self.logs / log.stem)

    def environment(self, preset, scratch, extra=None):
        return pytest_lane.base_environment(self.builds.bin(preset), scratch, self.long,
                                            {**self.extra_env, **(extra or {})})


@dataclass(frozen=True)
class Suite:
    name: str
    budget_s: int
    about: str
    run: Callable[[Context, Path], list]
    long_budget_s: int = 0  # with --long, where that is no mere multiple

    def budget(self, long):
        return (self.long_budget_s or LONG_FACTOR * self.budget_s) if long else self.budget_s


def _run_format(context, log):
    return style.check(context.root, log)


def _run_pytest_here(context, log, folder):
    with pytest_lane.scratch_folder() as scratch:
        env = context.environment(context.preset, scratch)
        return pytest_lane.run(context.root, [folder], log, context.limit(LANE_LIMIT_S), env=env,
                               scratch=scratch)


def _run_lint(context, log):
    return _run_pytest_here(context, log, "tests/lint")


def _run_conformance(context, log):
    return _run_pytest_here(context, log, "tests/conformance")


def _run_tidy(context, log):
    broken = context.builds.ensure("tidy")
    limit_s = context.limit(TIDY_LIMIT_S)
    return [broken] if broken else tidy.check(context.root, context.builds.folder("tidy"), log, limit_s)


def _run_programs(context, log, preset, wanted, extra=None, limit_s=PROGRAM_LIMIT_S):
    """The gtest programs of a preset whose ctest names `wanted` accepts, beside each other. The simulator's takes
    the longest: it comes first, in parts."""
    broken = context.builds.ensure(preset)
    if broken:
        return [broken]

    def part(name, program, shard, shards):
        def run(scratch, own_log):
            own = {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard)}
            env = context.environment(preset, scratch, {**(extra or {}), **own})
            return gtest.run_program(name, program, own_log, context.limit(limit_s), env=env, cwd=scratch)

        return f"{name}.{shard}", run

    programs = sorted(gtest.programs(context.builds.folder(preset)).items(), key=lambda each: each[0] != SIM)
    parts = [part(name, program, shard, shards) for name, program in programs if wanted(name)
             for shards in [AT_ONCE if name == SIM else 1] for shard in range(shards)]
    return context.lanes(log).run(parts, log)


def _run_unit(context, log):
    return _run_programs(context, log, context.preset, lambda name: name != SIM)


def _run_simulator(context, log, name, words, preset=None, extra=None):
    """One run of tide-sim as one case. What it writes about a failure goes into a scratch folder."""
    preset = preset or context.preset
    argv = [context.builds.bin(preset) / "tide-sim", *map(str, words)]
    with pytest_lane.scratch_folder() as scratch:
        env = context.environment(preset, scratch, extra)
        outcome = run_logged(argv, log, context.limit(WORLDS_LIMIT_S), env=env, cwd=scratch)
    text = "" if outcome.ok else f"{outcome.describe()}\n{tail(log, 60)}"
    return Case("sim", name, PASSED if outcome.ok else FAILED, text, outcome.seconds)


def _run_worlds(context, log, preset, seeds, fresh, extra=None):
    """Worlds of the simulator: chosen seeds, and some that nobody ran before. Each meets 5 to 30
    faults, and every class of them is met often."""
    words = ["--seeds", f"1..{seeds}", "--fresh", fresh, "--at-least", seeds // SEEDS_PER_HIT]
    return _run_simulator(context, log, f"{seeds + fresh}-worlds", words, preset, extra)


# (daemons, jobs, changes of size, departures, classes of faults): all interleavings within these bounds
EVERY_FAULT = "cut,crash,freeze,partition,launcher,process,client,lie"
EXHAUSTIVE = [(4, 2, 0, 1, EVERY_FAULT), (2, 1, 0, 2, EVERY_FAULT), (2, 1, 2, 0, "none")]
EXHAUSTIVE_LONG = [(2, 2, 0, 2, EVERY_FAULT), (3, 1, 0, 2, "cut,crash"), (2, 1, 2, 1, "cut,crash")]


def _run_exhaustive(context, log, bounds):
    """All interleavings of a small world; it is a failure if a limit comes before the last."""
    nodes, jobs, changes, departures, faults = bounds
    words = ["--exhaustive", "--nodes", nodes, "--jobs", jobs, "--changes", changes, "--departures", departures,
             "--faults", faults, "--limit", EXHAUSTIVE_STATES]
    name = f"exhaustive-{nodes}-daemons-{jobs}-jobs-{changes}-changes-{departures}-departures"
    return _run_simulator(context, log, name, words)


# (daemons, radix) of huge worlds, whose figures must be those of the formulas
SCALES = [(20_000, 64), (20_000, 32)]
SCALES_LONG = [(100_000, 64), (100_000, 32)]


def _run_scale(context, log, scale):
    daemons, radix = scale
    return _run_simulator(context, log, f"scale-{daemons}-daemons-radix-{radix}", ["--scale", daemons, "--radix", radix])


MOST_DEPARTURES, MOST_DEPARTURES_LONG = 256, 4096


def _run_repair_cost(context, log):
    most = MOST_DEPARTURES_LONG if context.long else MOST_DEPARTURES
    return _run_simulator(context, log, f"repair-cost-{most}-departures", ["--repair-cost", "--most", most])


def _run_sim(context, log):
    cases = _run_programs(context, log, context.preset, lambda name: name == SIM)
    if context.builds.ensure(context.preset):
        return cases
    seeds, fresh = (200_000, 20_000) if context.long else (10_000, 500)
    cases += [_run_exhaustive(context, log, bounds)
              for bounds in EXHAUSTIVE + (EXHAUSTIVE_LONG if context.long else [])]
    cases += [_run_scale(context, log, scale) for scale in SCALES + (SCALES_LONG if context.long else [])]
    cases.append(_run_repair_cost(context, log))
    return cases + [_run_worlds(context, log, context.preset, seeds, fresh)]


def _run_fuzz(context, log):
    """Every fuzzer for some seconds, after the suite was shown to notice a planted find."""
    broken = context.builds.ensure("fuzz")
    if broken:
        return [broken]
    duration_s = fuzz.seconds(context.long)
    with pytest_lane.scratch_folder() as scratch:
        env = context.environment("fuzz", scratch)
        cases = pytest_lane.run(context.root, ["tests/fuzz"], log, context.limit(LANE_LIMIT_S),
                                env=env, scratch=scratch)
        place = fuzz.Place(context.root, context.builds.bin("fuzz"), context.logs)
        return cases + fuzz.run_all(place, duration_s, log, scratch, env)


def _run_mutation(context, log):
    """That the suite can fail; that all defects still apply; then some of them, with --long all."""
    began, commit = time.monotonic(), mutation_table.commit_of(context.root)
    cases = _run_pytest_here(context, log, mutation.FOLDER)
    patches, applied = mutation.check_patches(context.root)
    seed = mutation.draw_seed()
    chosen = patches if context.long else mutation.choose(patches, seed)
    context.say(f"mutation: {len(chosen)} of {len(patches)} defects, "
                f"again with {mutation.SEED_VARIABLE}={seed} ./test mutation")
    with pytest_lane.scratch_folder() as scratch:
        bench = mutation.Bench(context.root, context.logs, scratch, seed)
        verdicts, untouched = mutation.try_all(bench, chosen, context.long, context.say)
    if context.long and len(verdicts) == len(patches):
        mutation_table.write(context.root, verdicts, commit, time.monotonic() - began)
    return cases + applied + [untouched, *(verdict.case() for verdict in verdicts)]


def _run_system_files(context, log, preset, limit_s, markers=None, options=lambda scratch: {}):
    """The files of the system tests, beside each other: most of them wait most of the time. The large ones
    come first. `options`: what an environment has beside the usual, for a scratch folder."""
    limit = Deadline(context.limit(limit_s))

    def part(path):
        def run(scratch, own_log):
            env = context.environment(preset, scratch, options(scratch))
            return pytest_lane.run(context.root, [path.relative_to(context.root)], own_log, limit.left_s(), env=env,
                                   scratch=scratch, markers=markers)

        return path.stem, run

    files = sorted((context.root / SYSTEM_TESTS[0]).glob("test_*.py"), key=lambda path: -path.stat().st_size)
    return context.lanes(log).run([part(path) for path in files], log)


def _run_system(context, log):
    broken = context.builds.ensure(context.preset)
    return [broken] if broken else _run_system_files(context, log, context.preset, LANE_LIMIT_S)


def _run_user(context, log):
    """The tests marked `user`; as root they run as nobody, from a place that nobody can read."""
    broken = context.builds.ensure(context.preset)
    if broken:
        return [broken]
    as_root = os.geteuid() == 0
    with pytest_lane.scratch_folder(pytest_lane.NOBODY if as_root else None) as scratch:
        root, bin_folder = context.root, context.builds.bin(context.preset)
        if as_root and not pytest_lane.readable_by_nobody([root / "tests", bin_folder]):
            root = scratch / "copy"
            shutil.copytree(context.root / "tests", root / "tests")
            shutil.copytree(bin_folder, root / "bin")
            bin_folder = root / "bin"
        env = context.environment(context.preset, scratch, {"TIDE_BIN": str(bin_folder)})
        return pytest_lane.run(root, SYSTEM_TESTS, log, context.limit(LANE_LIMIT_S), env=env,
                               scratch=scratch, markers="user",
                               wrap=pytest_lane.AS_NOBODY if as_root else ())


def _run_asan(context, log):
    """Unit, simulator and system tests under the sanitizers."""
    options = {"ASAN_OPTIONS": ASAN_OPTIONS, "UBSAN_OPTIONS": UBSAN_OPTIONS,
               "LSAN_OPTIONS": f"suppressions={context.root / LEAKS_OF_OTHERS}:print_suppressions=0",
               "TIDE_TIME_SCALE": str(ASAN_TIME_SCALE)}
    cases = _run_programs(context, log, "asan", lambda name: True, options, ASAN_PROGRAM_LIMIT_S)
    if context.builds.ensure("asan"):
        return cases
    cases.append(_run_worlds(context, log, "asan", 500, 0, options))
    return cases + _run_system_files(context, log, "asan", ASAN_LANE_LIMIT_S, "not noasan",
                                     lambda scratch: {**options, **_with_reports(scratch)})


def _with_reports(scratch):
    """What a daemon in the background has to say goes to report files, which the tests look at (tests/conftest.py)."""
    reports = scratch / "san"
    reports.mkdir()
    return {"TIDE_SANITIZER_REPORTS": str(reports), "ASAN_OPTIONS": f"{ASAN_OPTIONS}:log_path={reports}/report",
            "UBSAN_OPTIONS": f"{UBSAN_OPTIONS}:log_path={reports}/report"}


def _bench_case(name, outcome, log):
    if outcome.ok:
        return Case("bench", name, PASSED, "", outcome.seconds)
    if outcome.status == BENCH_SKIPPED_STATUS:
        reason = tail(log, 40).rsplit("skipped: ", 1)[-1]
        return Case("bench", name, SKIPPED, reason, outcome.seconds)
    return Case("bench", name, FAILED, f"{outcome.describe()}\n{tail(log, 40)}", outcome.seconds)


def _run_bench_smoke(context, log):
    """Each program in bench/ once with --smoke: it must run, its figures mean nothing."""
    broken = context.builds.ensure(context.preset)
    if broken:
        return [broken]
    programs = [path for path in sorted((context.root / "bench").glob("*"))
                if path.is_file() and os.access(path, os.X_OK)]
    cases = []
    for program in programs:
        with pytest_lane.scratch_folder() as scratch:
            env = context.environment(context.preset, scratch)
            outcome = run_logged([program, "--smoke"], log, BENCH_LIMIT_S, env=env, cwd=scratch)
        cases.append(_bench_case(program.name, outcome, log))
    return cases


def _run_chaos(context, log):
    """The checkers of the chaos command, each shown to fail; then the command itself."""
    broken = context.builds.ensure(context.preset)
    if broken:
        return [broken]
    seconds = CHAOS_LONG_S if context.long else CHAOS_S
    kept = context.logs / "chaos"
    shutil.rmtree(kept, ignore_errors=True)
    argv = [pytest_lane.PYTHON, context.root / "tests/chaos/chaos", "--seconds", seconds, "--keep", kept,
            "--round-seconds", CHAOS_LONG_ROUND_S if context.long else CHAOS_ROUND_S]
    if os.environ.get("TIDE_SEED"):
        argv += ["--seed", os.environ["TIDE_SEED"]]
    with pytest_lane.scratch_folder() as scratch:
        env = context.environment(context.preset, scratch)
        cases = pytest_lane.run(context.root, CHAOS_TESTS, log, context.limit(LANE_LIMIT_S), env=env, scratch=scratch)
        outcome = run_logged(argv, log, seconds + CHAOS_MARGIN_S, env=env, cwd=scratch)
    text = "" if outcome.ok else f"{outcome.describe()}\n{tail(log, 80)}"
    return [*cases, Case("chaos", f"{seconds} seconds", PASSED if outcome.ok else FAILED, text, outcome.seconds)]


def _run_swarm(context, log):
    """The testbed, and DVMs over its nodes; then random faults under load."""
    broken = context.builds.ensure(context.preset)
    return [broken] if broken else swarm.Swarm(context, "swarm", context.limit(LANE_LIMIT_S)).run(log)


def _run_slurm(context, log):
    """A real Slurm over nodes of the testbed, and DVMs in its jobs."""
    broken = context.builds.ensure(context.preset)
    return [broken] if broken else swarm.Slurm(context, "slurm", context.limit(LANE_LIMIT_S)).run(log)


SUITES = [
    Suite("format", 10, "layout of the C++ sources", _run_format),
    Suite("lint", 15, "room order, lengths, wording; and that these checks can fail", _run_lint),
    Suite("tidy", 300, "clang-tidy, remembered per file", _run_tidy),
    Suite("unit", 60, "unit tests beside the code", _run_unit),
    Suite("sim", 240, "the core in ten thousand virtual worlds, all interleavings of small ones, a huge one", _run_sim),
    Suite("mutation", 90, "defects put into the core are noticed", _run_mutation, MUTATION_LONG_S),
    Suite("fuzz", 150, "decoders of outside bytes under libFuzzer", _run_fuzz, long_budget_s=2700),
    Suite("system", 240, "the real programs on this machine", _run_system),
    Suite("chaos", 150, "random kills, freezes and disconnects under load", _run_chaos, CHAOS_LONG_S + CHAOS_MARGIN_S),
    Suite("swarm", 240, "many machines, as namespaces of this one: start over ssh, faults, a soak", _run_swarm),
    Suite("slurm", 300, "a real Slurm over such machines: DVMs in its jobs, resizing, outages", _run_slurm),
    Suite("user", 60, "a selection of these as an unprivileged user", _run_user),
    Suite("asan", 480, "unit, sim and system under address and UB sanitizers", _run_asan),
    Suite("bench-smoke", 60, "each benchmark in its smallest form", _run_bench_smoke),
    Suite("conformance", 10, "tags are sound; prints row, tests, result", _run_conformance),
]


def by_name():
    return {suite.name: suite for suite in SUITES}


def skipped_reasons(cases):
    """{reason: how often} of the skipped cases."""
    reasons = {}
    for case in cases:
        if case.outcome == SKIPPED:
            reasons[case.text] = reasons.get(case.text, 0) + 1
    return reasons


def totals(cases):
    return tuple(junit.count(cases, outcome) for outcome in (PASSED, FAILED, SKIPPED))
