"""The fuzzers of tests/fuzz: each replays what once failed, then looks for more for some seconds."""

import os
import re
import shlex
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tide_test.junit import FAILED, PASSED, Case
from tide_test.process import run_logged, tail

PARALLEL = 2
SECONDS = 20
LONG_SECONDS = 600
SECONDS_VARIABLE = "TIDE_FUZZ_SECONDS"  # instead of these two
INPUT_LIMIT_S = 25  # for one input; an ordinary one takes a few milliseconds
GRACE_S = 90  # to read the corpus, to report a find, on a machine that has other things to do
MEMORY_MB = 2048
ALLOCATION_MB = 512
MOST_INPUT_BYTES = 8192
SHOWN_LINES = 30
ASAN_OPTIONS = "quarantine_size_mb=16:malloc_context_size=8"  # the defaults cost time and memory
SYMBOLIZER = "/usr/lib/llvm-19/bin/llvm-symbolizer"
FIND_WORDS = re.compile(r"not so: |does not hold at |runtime error: |ERROR: ")
OWN_INPUTS = 2  # that libFuzzer tries before ours
NOT_FUZZERS = {"fuzz_seeds", "fuzz_selftest"}


@dataclass(frozen=True)
class Place:
    """Where the parts of the suite are."""
    root: Path
    programs: Path  # build/fuzz/bin
    logs: Path

    def inputs(self, kind, name):
        return self.root / "tests" / "fuzz" / kind / name

    def finds(self, name):
        return self.logs / "fuzz-finds" / name


def names(root):
    found = {path.stem for path in (root / "tests" / "fuzz").glob("fuzz_*.cpp")}
    return sorted(found - NOT_FUZZERS)


def seconds(long):
    return int(os.environ.get(SECONDS_VARIABLE) or (LONG_SECONDS if long else SECONDS))


def _limits():
    return [f"-timeout={INPUT_LIMIT_S}", f"-rss_limit_mb={MEMORY_MB}",
            f"-malloc_limit_mb={ALLOCATION_MB}"]


def _environment(env):
    out = {**env, "UBSAN_OPTIONS": "print_stacktrace=1", "ASAN_OPTIONS": ASAN_OPTIONS}
    if os.access(SYMBOLIZER, os.X_OK):
        out["ASAN_SYMBOLIZER_PATH"] = SYMBOLIZER
    return out


def _essence(log):
    """What a fuzzer said about its find: from the words that name it, without the dump of bytes."""
    lines = log.read_text(errors="replace").splitlines()
    begins = [number for number, line in enumerate(lines) if FIND_WORDS.search(line)]
    return "\n".join(lines[begins[0]:][:SHOWN_LINES]) if begins else tail(log, SHOWN_LINES)


def _find_text(place, name, log, outcome):
    """What a failed run found, and how to see it again."""
    program = _shown(place, place.programs / name)
    lines = [f"{name}: {outcome.describe()}"]
    for find in sorted(place.finds(name).iterdir()):
        lines.append(f"replay with:  {program} {_shown(place, find)}")
        lines.append(f"keep it as:   cp {_shown(place, find)} tests/fuzz/regressions/{name}/")
    return "\n".join(lines + [_essence(log)])


def _shown(place, path):
    path = Path(path)
    return shlex.quote(str(path.relative_to(place.root) if path.is_relative_to(place.root) else path))


def _replay(place, name, log, env):
    """Every kept input alone, so that the one that fails is known. None: all are well."""
    for kept in sorted(place.inputs("regressions", name).glob("*")):
        outcome = run_logged([place.programs / name, *_limits(), kept], log, GRACE_S, env=env)
        if not outcome.ok:
            program = _shown(place, place.programs / name)
            return (f"{name}: an input that once failed fails again ({outcome.describe()})\n"
                    f"replay with:  {program} {_shown(place, kept)}\n{_essence(log)}")
    return None


def _figures(log):
    """(executions, edges reached, inputs kept) as the fuzzer printed them last."""
    text = log.read_text(errors="replace")
    executed = re.findall(r"^stat::number_of_executed_units:\s*(\d+)", text, re.MULTILINE)
    covered = re.findall(r"\bcov: (\d+) ft: \d+ corp: (\d+)", text)
    edges, kept = covered[-1] if covered else (0, 0)
    return int(executed[-1]) if executed else 0, int(edges), int(kept)


def run_one(place, name, duration_s, scratch, env):
    """(the fuzzer's case, its line for people). New inputs go to `scratch`, finds are kept."""
    log = place.logs / f"fuzz.{name}.log"
    log.write_text("")
    env = _environment(env)
    shutil.rmtree(place.finds(name), ignore_errors=True)
    place.finds(name).mkdir(parents=True)
    grown = scratch / name
    grown.mkdir()
    broken = _replay(place, name, log, env)
    if broken:
        return Case("fuzz", name, FAILED, broken), f"{name}: a known input fails"
    corpora = [grown] + [folder for kind in ("corpus", "regressions")
                         if (folder := place.inputs(kind, name)).is_dir()]
    dictionary = place.inputs("dictionaries", f"{name}.dict")
    argv = [place.programs / name, *_limits(), f"-max_total_time={duration_s}",
            f"-max_len={MOST_INPUT_BYTES}", f"-artifact_prefix={place.finds(name)}/",
            "-print_final_stats=1", *([f"-dict={dictionary}"] if dictionary.is_file() else []), *corpora]
    outcome = run_logged(argv, log, duration_s + GRACE_S, env=env, cwd=scratch)
    executions, edges, kept = _figures(log)
    line = f"{name}: {executions} executions in {duration_s} s, {edges} edges, {kept} inputs kept"
    if not outcome.ok:
        return Case("fuzz", name, FAILED, _find_text(place, name, log, outcome), outcome.seconds), line
    committed = sum(1 for folder in corpora[1:] for _ in folder.iterdir())
    if executions <= committed + OWN_INPUTS or edges == 0:
        text = f"{line}\nit did not get beyond the {committed} inputs that it was given"
        return Case("fuzz", name, FAILED, text, outcome.seconds), line
    return Case("fuzz", name, PASSED, "", outcome.seconds), line


def run_all(place, duration_s, log, scratch, env):
    """Every fuzzer, two at a time; their figures go to `log`."""
    with ThreadPoolExecutor(PARALLEL) as pool:
        results = list(pool.map(lambda name: run_one(place, name, duration_s, scratch, env),
                                names(place.root)))
    with open(log, "a") as sink:
        sink.writelines(line + "\n" for _, line in results)
    return [case for case, _ in results]
