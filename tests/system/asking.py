"""Tools and processes that ask for nodes and spawn jobs as they are told: pmix_alloc, and what it says."""

import json
import os
import subprocess

from dvm import BIN, wait_until

PROGRAMS = BIN.parent / "tests" / "programs"
SUCCESS, NO_PERMISSIONS, BAD_PARAM, OUT_OF_RESOURCE, NOT_FOUND, NOT_SUPPORTED = "0", "-23", "-27", "-29", "-46", "-47"
FAILED_TO_LAUNCH, LOST_CONNECTION, TIMEOUT, UNREACH = "-181", "-61", "-24", "-25"
READY, FAILED = "PMIX_DVM_IS_READY", "PMIX_ERR_DVM_MOD"
WARNING = "PMIX_ALLOC_TIMEOUT_WARNING"


class Asker:
    """pmix_alloc: what it was told so far, line by line, and what it is to ask."""

    limit_s = 10  # for an answer

    def __init__(self, process, orders, output):
        self.process, self._orders, self._output = process, orders, output

    def lines(self):
        return self._output.read_text().splitlines()

    def order(self, line):
        self._orders.write(line + "\n")
        self._orders.flush()

    def heard(self, beginning):
        return wait_until(lambda: [line for line in self.lines() if line.startswith(beginning)], limit_s=self.limit_s,
                          what=f"it hears {beginning!r}")

    @property
    def nspace(self):
        return self.heard("ready ")[0].split()[1]

    def ask(self, name, *words):
        """What it is answered: (status, {id, req, complete})."""
        self.order(" ".join([name, *words]))
        return parsed(self.heard(f"{name}: ")[0])

    def events(self):
        return [parsed(line) for line in self.lines() if line.startswith("event ")]

    def event(self, name=None):
        """The one event that it was told, of its request of this name."""
        wait_until(lambda: self.events(), limit_s=self.limit_s, what="it hears of the end")
        (only,) = [one for one in self.events() if name is None or one[1].get("req") == name]
        return only

    def end(self, how="quit"):
        self.order(how)
        self.process.wait(timeout=30)


def parsed(line):
    words = line.split(": ", 1)[1] if line.split(" ")[0].endswith(":") else line.split(" ", 1)[1]
    status, *facts = words.split(" ")
    return status, dict(fact.split("=", 1) for fact in facts)


class Rank(Asker):
    """One rank of a job of pmix_alloc."""

    def __init__(self, process, orders, output, rank):
        super().__init__(process, orders, output)
        self._mark = f"{rank}|"

    def lines(self):
        return [line[len(self._mark):] for line in super().lines() if line.startswith(self._mark)]


def start_tool(dvm, at, output):
    """A tool that is attached to the head, or to the daemon of a node."""
    if at == "head":
        place = ("uri", json.loads((dvm.run_directory() / "dvm.json").read_text())["uri"])
    else:
        place = ("attach", dvm.pmix_file(at))
    with output.open("w") as sink:
        process = subprocess.Popen([PROGRAMS / "pmix_alloc", *place], stdin=subprocess.PIPE, stdout=sink,
                                   stderr=subprocess.STDOUT, text=True, env={**os.environ, "TMPDIR": str(dvm.tmpdir)})
    return Asker(process, process.stdin, output)


def pipes(base, n):
    """What n ranks of a job read their orders from: BASE.0 and so on, open for writing."""
    out = []
    for rank in range(n):
        os.mkfifo(f"{base}.{rank}")
        out.append(os.fdopen(os.open(f"{base}.{rank}", os.O_RDWR), "w"))
    return out


def start_ranks(dvm, n, options, base):
    """The ranks of a job, one on each node."""
    orders, output = pipes(base, n), base.with_suffix(".out")
    with output.open("w") as sink:
        process = subprocess.Popen([BIN / "prun", "-n", str(n), "--map-by", "node", *map(str, options), PROGRAMS / "pmix_alloc", "rank", base],
                                   stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, env=dvm.env)
    return [Rank(process, orders[rank], output, rank) for rank in range(n)]
