"""What was found, said in a way that lets one look for the cause: when, after which strokes, with the ends of all logs."""

import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

SHOWN_STROKES = 25
SHOWN_LINES = {"head": 15, "warden": 15}
SHOWN_LINES_OF_A_DAEMON = 3
SHOWN_COMPLAINTS = 12
SHOWN_THINGS = 12
GDB_LIMIT_S = 60


def listed(things):
    """A list as text, cut where it gets long."""
    more = len(things) - SHOWN_THINGS
    return "; ".join(map(str, things[:SHOWN_THINGS])) + (f"; and {more} more" if more > 0 else "")


def say(text):
    print(text, flush=True)


class Report:
    """The complaints of a run. They are printed at once; the logs of their rounds stay in `folder`."""

    def __init__(self, seed, folder):
        self.seed, self.folder = seed, Path(folder)
        self.complaints = []
        self._lock = threading.Lock()
        self._round, self._began, self._strokes = 0, time.monotonic(), []

    def begin_round(self, number, strokes):
        """`strokes` is filled by the striker while the round lasts."""
        self._round, self._began, self._strokes = number, time.monotonic(), strokes
        self.logs().mkdir(parents=True, exist_ok=True)

    def logs(self):
        return self.folder / f"round-{self._round}"

    def at(self, moment=None):
        return f"{(moment or time.monotonic()) - self._began:6.2f} s"

    def keep_logs_of(self, run_directory):
        """Second names for the files of the logs: they stay when the DVM removes its own."""
        for path in Path(run_directory).glob("logs/*"):
            kept = self.logs() / path.name
            if not kept.exists():
                try:
                    os.link(path, kept)
                except FileNotFoundError:
                    continue

    def keep_stacks_of(self, pids):
        """Where somebody of ours does not end, what it is doing is worth more than its log."""
        if shutil.which("gdb") is None:
            return
        for pid in pids:
            with open(self.logs() / f"{pid}.stack", "wb") as out:
                try:
                    subprocess.run(["gdb", "-batch", "-p", str(pid), "-ex", "thread apply all bt 40"], stdout=out,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, timeout=GDB_LIMIT_S)
                except subprocess.TimeoutExpired:
                    continue

    def complain(self, what, detail, moment=None):
        """`detail`: a text, or a list of things."""
        with self._lock:
            self.complaints.append(what)
            count = len(self.complaints)
            facts = self._facts(what, detail, moment)
            context = self._context()
            first = not (self.logs() / "complaints.txt").exists()
            with open(self.logs() / "complaints.txt", "a") as out:
                out.write("\n".join([*facts, *context, ""]))
            if count <= SHOWN_COMPLAINTS:
                say("\n".join([*facts, *(context if first else [])]))
            elif count == SHOWN_COMPLAINTS + 1:
                say(f"... more in {self.logs() / 'complaints.txt'}")

    def _facts(self, what, detail, moment):
        return [f"CHAOS: {what}: {detail if isinstance(detail, str) else listed(detail)}",
                f"  seed {self.seed}, round {self._round}, {self.at(moment)} after its begin; logs in {self.logs()}"]

    def _context(self):
        lines = [f"  strokes so far ({len(self._strokes)}):"]
        lines += [f"    {self.at(at)}  {words}" for at, words in self._strokes[-SHOWN_STROKES:]]
        for path in sorted(self.logs().glob("*.log")):
            shown = SHOWN_LINES.get(path.stem, SHOWN_LINES_OF_A_DAEMON)
            if tail := path.read_text(errors="replace").splitlines()[-shown:]:
                lines += [f"  end of {path.name}:", *(f"    {line}" for line in tail)]
        return lines

    def end_round(self, found_before):
        """Logs of a round without complaint are of no interest."""
        if len(self.complaints) == found_before:
            shutil.rmtree(self.logs(), ignore_errors=True)
