"""Looks at a DVM while it is struck: does it answer, does it leak, what is left of it. The comparisons are pure."""

import json
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from dvm import BIN, TIME_SCALE
from procs import descriptors, everybody, resident_kib

ANSWER_LIMIT_S = 5 * TIME_SCALE
ASK_EVERY_S = 0.1
# What a quiet DVM may have more than a quiet young one. Hundreds of jobs lie between the two, so a leak for each job
# is far above; a repaired tree may cost a daemon some more links.
MORE_DESCRIPTORS = 10
MORE_RESIDENT_KIB = 48 << 10


class Prober:
    """Asks `tide status` again and again, in a thread of its own. The last answer is what the striker goes by."""

    def __init__(self, place, dvm, complain):
        self._place, self._dvm, self._complain = place, dvm, complain
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.latencies_s = []
        self.status = None
        self.asked_at = 0.0  # when the question to that answer was put
        self.listeners = []  # called with (status, asked_at)

    def start(self):
        self._thread.start()

    def stop(self):
        self._stop.set()

    def join(self):
        self._thread.join(2 * ANSWER_LIMIT_S)

    def ask(self):
        """(status or None, why not) of one question."""
        try:
            done = subprocess.run([str(BIN / "tide"), "status", "--json", "--dvm", self._dvm], capture_output=True,
                                  stdin=subprocess.DEVNULL, env=self._place.env, cwd=self._place.tmpdir,
                                  timeout=ANSWER_LIMIT_S)
        except subprocess.TimeoutExpired:
            return None, f"no answer to tide status within {ANSWER_LIMIT_S:.0f} s"
        if done.returncode != 0:
            return None, f"tide status: exit status {done.returncode}, {done.stderr.decode(errors='replace')!r}"
        return json.loads(done.stdout), None

    def _run(self):
        while not self._stop.wait(ASK_EVERY_S):
            asked_at = time.monotonic()
            status, problem = self.ask()
            if self._stop.is_set():
                return  # the DVM was ended while we asked
            self.latencies_s.append(time.monotonic() - asked_at)
            if problem:
                self._complain("the DVM does not answer", problem)
                continue
            self.status, self.asked_at = status, asked_at
            for listener in self.listeners:
                listener(status, asked_at)


@dataclass(frozen=True)
class Sizes:
    """{name: (descriptors, resident KiB)} of head and daemons at a quiet moment."""
    of: dict

    @staticmethod
    def take(pids):
        found = {name: (descriptors(pid), resident_kib(pid)) for name, pid in pids.items()}
        return Sizes({name: sizes for name, sizes in found.items() if None not in sizes})


def grown(young, old):
    """What has grown beyond bounds from one quiet moment to a later one."""
    problems = []
    for name, (open_now, resident_now) in old.of.items():
        if name not in young.of:
            continue
        open_then, resident_then = young.of[name]
        if open_now > open_then + MORE_DESCRIPTORS:
            problems.append(f"{name}: {open_now} descriptors, {open_then} at the start")
        if resident_now > resident_then + MORE_RESIDENT_KIB:
            problems.append(f"{name}: {resident_now} KiB resident, {resident_then} at the start")
    return problems


def busy(status):
    """What a DVM without jobs still holds."""
    problems = [f"job {job['number']} in state {job['state']}: {job['command']}" for job in status["jobs"]]
    return problems + [f"node {node['name']}: {node['slots_used']} slots in use" for node in status["nodes"]
                       if node["slots_used"]]


def still_there(node_blows):
    """Nodes whose blow must have cost them their place, and did not."""
    return sorted({blow.node for blow in node_blows if blow.until is None and blow.fatal})


def unexpected(processes, is_expected):
    """Living ones that nobody should have left, and zombies of those that are expected."""
    problems = []
    for each in processes:
        if each.zombie:
            parent = next((other for other in processes if other.pid == each.parent), None)
            if parent is not None and is_expected(parent):
                problems.append(f"zombie {each.pid} of {parent.pid} {parent.command}")
        elif not is_expected(each):
            problems.append(f"{each.pid} (child of {each.parent}) {each.command}")
    return problems


def files_below(folder, allowed_depth=1):
    """All that is left below a TMPDIR; an empty folder for run directories is none."""
    return [str(path.relative_to(folder)) for path in sorted(Path(folder).rglob("*"))
            if not (path.is_dir() and len(path.relative_to(folder).parts) <= allowed_depth)]


def until_none(look, limit_s, poll_s=0.1):
    """Looks until nothing is found any more; returns what is still found at the limit."""
    deadline = time.monotonic() + limit_s
    while (found := look()) and time.monotonic() < deadline:
        time.sleep(poll_s)
    return found


def processes_of(tmpdir, words):
    """Processes that belong to the DVM of this TMPDIR or to its jobs, with their zombies (which have lost both marks)."""
    marker, everyone = f"TMPDIR={tmpdir}", everybody()
    ours = [each for each in everyone if marker in each.environment or words in each.command]
    pids = {each.pid for each in ours}
    return ours + [each for each in everyone if each.zombie and each.parent in pids]
