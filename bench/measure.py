"""What the benchmarks have in common: the candidates of a section are measured in turn, round after
round, so that what else happens on the machine meets all of them; a ratio is taken within each
round, and the middle one is shown. Nothing is measured by Python itself: the clocks are in small
programs (bench/*.cpp)."""

import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(os.environ.get("TIDE_BIN") or ROOT / "build" / "release" / "bin")

OUR_LIMIT_S = 60  # for one invocation of a measuring program; ours not ending is a failure
HANGS_ALLOWED = 2  # of other launchers; then such a candidate is left out of the rest
QUIET_SHARE = 0.25  # of the processors, used by others, up to which a round counts as quiet
LOOK_S = 0.1  # how long the use by others is looked at
SKIPPED_STATUS = 77  # exit status where this machine cannot be measured; ./test shows the reason


class Hung(Exception):
    """A measuring program did not end in time."""


class Failed(Exception):
    """A measuring program, or a command that it ran, failed."""


@dataclass
class Candidate:
    name: str
    command: list  # a measuring program and its arguments
    runs: int  # per round, for people
    ours: bool = False
    whole: bool = False  # what counts is the time until the last worker ended
    skipped: str = ""
    env: dict | None = None  # instead of everybody's
    after: Callable[[], object] | None = None  # called after each invocation, not measured
    hangs: int = 0
    failures: int = 0
    rounds: list = field(default_factory=list)  # (round, [µs of each run], jobs per second or None)

    def samples(self, chosen):
        return [us for number, runs, _ in self.rounds if number in chosen for us in runs]

    def value(self, number, rate):
        """What stands for this candidate in one round, or None: jobs/s, or the median time."""
        for n, runs, per_second in self.rounds:
            if n == number:
                return per_second if rate else statistics.median(runs)
        return None


@dataclass
class Section:
    key: str
    title: str
    rate: bool  # figures are jobs per second, not times
    candidates: list


def skip(reason):
    """Ends the program: there is nothing to measure here, for this reason."""
    print(f"skipped: {reason}")
    sys.exit(SKIPPED_STATUS)


# ---- running ----

def run_tool(command, env, limit_s):
    """Output lines of a measuring program. It gets a session, and with it a scheduling group, of
    its own, as the DVM has one: otherwise they would not compete with others on equal terms."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=env, text=True, start_new_session=True)
    try:
        out, err = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise Hung() from None
    if process.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))} failed:\n{err}")
    return out.splitlines()


def measure(candidate, number, env, limit_s):
    """One invocation; `limit_s` is for launchers that are not ours. Where one of those fails or
    hangs the invocation does not count and is noted; ours has to succeed."""
    if candidate.skipped or candidate.hangs >= HANGS_ALLOWED:
        return
    try:
        lines = run_tool(candidate.command, candidate.env or env, OUR_LIMIT_S if candidate.ours else limit_s)
    except Hung:
        if candidate.ours:
            sys.exit(f"bench: {candidate.name}: no end within {OUR_LIMIT_S} s")
        candidate.hangs += 1
        return
    except Failed as failure:
        if candidate.ours:
            sys.exit(f"bench: {failure}")
        candidate.failures += 1
        return
    if candidate.after:
        candidate.after()
    wall = [float(line.split()[1]) for line in lines if line.startswith("wall_us")]
    runs = [float(line) for line in lines if not line.startswith("wall_us")]
    per_second = len(runs) / (wall[0] / 1e6) if wall else None
    candidate.rounds.append((number, wall if candidate.whole else runs, per_second))


def processor_ticks():
    """(busy, all) of all processors since boot; waiting for a disk is not busy."""
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return sum(fields) - idle, sum(fields)


def share_of_others():
    """The share of the processors in use while we do nothing ourselves."""
    busy_before, all_before = processor_ticks()
    time.sleep(LOOK_S)
    busy, total = processor_ticks()
    return (busy - busy_before) / max(1, total - all_before)


class Dvm:
    """A DVM in the scratch folder that TMPDIR names, taken down at the end whatever happens."""

    def __init__(self, name, nodes, slots, env):
        self.name, self.env = name, env
        subprocess.run([BIN / "tide", "up", "--dvm", name, "--nodes", str(nodes), "--slots",
                        str(slots)], env=env, check=True, timeout=60, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        self.socket = str(next(Path(env["TMPDIR"]).glob(f"prte.*/{name}/sock")))

    def prun(self, *arguments):
        return [str(BIN / "prun"), "--dvm", self.name, *arguments]

    def down(self):
        subprocess.run([BIN / "tide", "down", "--dvm", self.name], env=self.env, timeout=60,
                       check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


# ---- what is compared ----

def version_of(program):
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20)
    words = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    named = [line for line in words if "ersion" in line or "Open MPI" in line]
    return " ".join((named or words or ["unknown"])[0].split())


def other_launchers():
    """{name: (command words up to -n, why it is skipped)}."""
    hydra = shutil.which("mpiexec.hydra")
    openmpi = shutil.which("mpirun.openmpi")
    if openmpi is None and (plain := shutil.which("mpirun")) and "Open MPI" in version_of(plain):
        openmpi = plain
    return {
        "mpiexec.hydra": ([hydra or "mpiexec.hydra"], "" if hydra else "not installed (mpich)"),
        "mpirun": ([openmpi or "mpirun", "--allow-run-as-root", "--oversubscribe"],
                   "" if openmpi else "not installed (openmpi-bin)"),
    }


def warm_up(sections, env, limit_s):
    """One invocation of each, not counted: files are cached, connections and pages are there."""
    for section in sections:
        for candidate in section.candidates:
            measure(candidate, 0, env, limit_s)
            candidate.rounds.clear()


def run_rounds(sections, rounds, env, limit_s):
    """Measures everything `rounds` times; returns {round: use by others before and after}."""
    busy = {}
    for number in range(1, rounds + 1):
        for section in sections:
            before = share_of_others()
            for candidate in section.candidates:
                measure(candidate, number, env, limit_s)
            busy[section.key, number] = max(before, share_of_others())
    return busy


# ---- what came out ----

def quantile(values, part):
    """The nearest rank: with 200 values the 99th percentile is the 198th."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]


def ratio(ours, theirs, section, chosen):
    """(middle, lower and upper quartile) of ours / theirs within each round, or None."""
    pairs = [(ours.value(n, section.rate), theirs.value(n, section.rate)) for n in chosen]
    ratios = [a / b for a, b in pairs if a is not None and b]
    if not ratios:
        return None
    return quantile(ratios, 0.5), quantile(ratios, 0.25), quantile(ratios, 0.75)


def figures_of(candidate, section, chosen):
    values = candidate.samples(chosen)
    if not values:
        return None
    rates = [rate for n, _, rate in candidate.rounds if n in chosen and rate]
    return {
        "n": len(values), "rounds": sum(n in chosen for n, _, _ in candidate.rounds),
        "median_ms": statistics.median(values) / 1e3, "p99_ms": quantile(values, 0.99) / 1e3,
        "max_ms": max(values) / 1e3,
        "per_second": statistics.median(rates) if section.rate else None,
    }


def results(sections, chosen_of):
    """The figures of each section over the rounds that chosen_of(section) names."""
    out = {}
    for section in sections:
        chosen = chosen_of(section)
        rows = []
        for candidate in section.candidates:
            ratios = {ours.name: ratio(ours, candidate, section, chosen)
                      for ours in section.candidates if ours.ours and not candidate.ours}
            rows.append({"name": candidate.name, "ours": candidate.ours,
                         "runs_per_round": candidate.runs, "skipped": candidate.skipped,
                         "did_not_end": candidate.hangs, "failed": candidate.failures,
                         "figures": figures_of(candidate, section, chosen), "ratios": ratios})
        out[section.key] = {"title": section.title, "rounds": len(chosen), "rows": rows}
    return out


def row_text(row, rate, limit_s):
    notes = [row["skipped"] and f"skipped: {row['skipped']}",
             row["did_not_end"] and f"{row['did_not_end']} × no end within {limit_s} s",
             row["failed"] and f"{row['failed']} × failed"]
    notes += [f"{middle:.2f} ({low:.2f}–{high:.2f}) {name}"
              for name, quartiles in row["ratios"].items() if quartiles
              for middle, low, high in [quartiles]]
    figures = row["figures"]
    cells = [f"  {row['name']:<34}"]
    if figures:
        cells.append(f"{figures['n']:>6}")
        if rate:
            cells.append(f"{figures['per_second']:>9.0f}/s")
        else:
            cells += [f"{figures[key]:>9.2f}" for key in ("median_ms", "p99_ms", "max_ms")]
    return "".join(cells) + "   " + "; ".join(note for note in notes if note)


def print_results(title, out, rates, limit_s):
    print(f"\n{title}")
    for key, section in out.items():
        if not section["rounds"]:
            print(f"\n{section['title']}: no such round")
            continue
        columns = f"{'jobs/s':>11}" if key in rates else f"{'median':>9}{'p99':>9}{'max':>9}  ms"
        print(f"\n{section['title']} ({section['rounds']} rounds)")
        print(f"  {'':<34}{'N':>6}{columns}   ours / theirs (middle half) of:")
        for row in section["rows"]:
            print(row_text(row, key in rates, limit_s).rstrip())


def report(sections, busy, options, programs):
    """Prints everything; returns (figures of all rounds, of the quiet ones)."""
    rounds = range(1, options.rounds + 1)
    every = results(sections, lambda section: list(rounds))
    quiet = results(sections, lambda section: [n for n in rounds
                                               if busy[section.key, n] <= QUIET_SHARE])
    rates = {section.key for section in sections if section.rate}
    print(f"{os.cpu_count()} processors, Linux {os.uname().release}; "
          + "; ".join(f"{name}: {text}" for name, text in programs.items()))
    print(f"others used {statistics.median(busy.values()):.0%} of the processors (middle), "
          f"at most {max(busy.values()):.0%}")
    print_results("All rounds", every, rates, options.limit_s)
    if not options.smoke:
        print_results(f"Quiet rounds only (others at most {QUIET_SHARE:.0%})", quiet, rates,
                      options.limit_s)
    return every, quiet
