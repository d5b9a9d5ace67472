"""./test: runs suites or single tests and prints what they found. See --help."""

import argparse
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from tide_test import conformance, gtest, junit, pytest_lane, repeat  # noqa: E402
from tide_test.build import Builds  # noqa: E402
from tide_test.junit import FAILED, Case  # noqa: E402
from tide_test.suites import SIM, SUITES, Context, by_name, skipped_reasons, totals  # noqa: E402

SHOWN_FAILURES = 8
SHOWN_LINES_EACH = 40


def say(text=""):
    print(text, flush=True)


def arguments():
    parser = argparse.ArgumentParser(
        prog="./test", description="Builds what is needed, runs the suites, prints what they found.",
        epilog="examples:  ./test    ./test unit sim    ./test --repeat 20 Tree.EveryRankReached")
    parser.add_argument("names", nargs="*", metavar="SUITE|TEST",
                        help="suites, or pieces of the names of single tests; none: all suites")
    parser.add_argument("--list", action="store_true",
                        help="list the suites; with names, the tests in them")
    parser.add_argument("--long", action="store_true", help="also what takes long")
    parser.add_argument("--repeat", nargs=2, metavar=("N", "NAME"),
                        help="run the tests with NAME in their name N times, to the first failure")
    parser.add_argument("--preset", default="release", help="which build the tests use (release)")
    return parser.parse_args()


def list_suites():
    for suite in SUITES:
        say(f"{suite.name:<12} {suite.budget_s:>4} s  {suite.about}")


def list_tests(context, names):
    """The single tests of the suites that have some."""
    if {"unit", "sim"} & set(names):
        broken = context.builds.ensure(context.preset)
        if broken:
            say(broken.text)
            return 1
        for name, program in gtest.programs(context.builds.folder(context.preset)).items():
            if ("sim" if name == SIM else "unit") in names:
                say("\n".join(gtest.list_cases(program)))
    folders = [f"tests/{name}" for name in names if name in ("system", "lint", "conformance", "chaos", "mutation", "swarm", "slurm")]
    if folders:
        with pytest_lane.scratch_folder() as scratch:
            env = context.environment(context.preset, scratch)
            say("\n".join(pytest_lane.collect(context.root, folders, env)))
    return 0


def show_failures(cases, log, seen):
    """Prints the failures; one in `seen` (a build that stops several suites) only by name."""
    failures = [case for case in cases if case.outcome == FAILED]
    for case in [case for case in failures if case in seen]:
        say(f"  --- {case.full_name}, as above")
        failures.remove(case)
    seen += failures
    for case in failures[:SHOWN_FAILURES]:
        lines = case.text.splitlines()
        say(f"  --- {case.full_name}")
        if len(lines) > SHOWN_LINES_EACH:
            lines = lines[:5] + ["…"] + lines[-(SHOWN_LINES_EACH - 6):]
        for line in lines:
            say(f"      {line}")
    if len(failures) > SHOWN_FAILURES:
        say(f"  … and {len(failures) - SHOWN_FAILURES} more")
    if failures:
        say(f"  log: {log.relative_to(ROOT)}")


def run_suite(context, suite, seen):
    log = context.logs / f"{suite.name}.log"
    results = context.logs / f"{suite.name}.xml"
    results.unlink(missing_ok=True)
    log.write_text("")
    began, built = time.monotonic(), context.builds.seconds
    try:
        cases = suite.run(context, log)
    except Exception as error:  # a suite that breaks is a failure, and the others still run
        cases = [Case("suite", suite.name, FAILED, f"{type(error).__name__}: {error}")]
    seconds = time.monotonic() - began - (context.builds.seconds - built)
    junit.write(results, cases)
    passed, failed, skipped = totals(cases)
    budget = suite.budget(context.long)
    late = "  OVER BUDGET" if seconds > budget else ""
    nothing = "  (no tests)" if not cases else ""
    say(f"{suite.name:<20} {passed:5} passed {failed:4} failed {skipped:4} skipped "
        f"  {seconds:6.1f} s / {budget} s{late}{nothing}")
    for reason, times in skipped_reasons(cases).items():
        say(f"  skipped {times}: {reason.splitlines()[0]}")
    show_failures(cases, log, seen)
    return cases


def run_suites(context, suites):
    cases, seen = [], []
    for suite in suites:
        cases += run_suite(context, suite, seen)
    if any(suite.name == "conformance" for suite in suites):
        say()
        say("\n".join(conformance.table(ROOT, junit.read_all(context.logs))))
    return cases


def finish(cases):
    # The build of one preset may have stopped several suites; it is one failure.
    unique = [case for number, case in enumerate(cases)
              if case.group != "build" or case not in cases[:number]]
    passed, failed, skipped = totals(unique)
    say()
    say(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


def main():
    chosen = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # Whoever starts us in the background may have these ignored; the tests send them and must not inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    logs = ROOT / "build" / "test-logs"
    logs.mkdir(parents=True, exist_ok=True)
    context = Context(ROOT, logs, Builds(ROOT, logs, say, patient=chosen.long or bool(chosen.names)), chosen.preset, chosen.long, say=say)
    known = by_name()
    if chosen.list:
        return list_tests(context, chosen.names) if chosen.names else list_suites()
    single = [name for name in chosen.names if name not in known]
    times = 1
    if chosen.repeat:
        if not chosen.repeat[0].isdigit() or int(chosen.repeat[0]) < 1:
            say(f"--repeat: {chosen.repeat[0]} is no number of times")
            return 2
        times = int(chosen.repeat[0])
        single.append(chosen.repeat[1])
    suites = [suite for suite in SUITES if suite.name in chosen.names]
    cases = []
    if single:
        found = repeat.run(context, single, times, say)
        if found is None:
            say(f"no suite and no test is named {' or '.join(single)}; ./test --list shows the suites")
            return 2
        cases += found
    if suites or not single:
        cases += run_suites(context, suites or SUITES)
    return finish(cases)


if __name__ == "__main__":
    sys.exit(main())
