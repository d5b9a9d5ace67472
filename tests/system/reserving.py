"""Reservations for tests: made, looked at, and compared before and after; jobs in them that wait."""

import json

from asking import PROGRAMS, SUCCESS, Rank, pipes
from dvm import wait_until
from growing import done, events, settled
from jobs import Gate

TRAFFIC = ("client.", "core.", "link.")  # counters that change because somebody looks or asks


# ---- what is there ----

def state(dvm):
    """All that people can see of a DVM, but for what depends on time and on who looks; and what has happened so far."""
    shown = dvm.status()
    shown["counters"] = {name: value for name, value in shown["counters"].items() if not name.startswith(TRAFFIC)}
    return without_ages([shown, dvm.jobs("--all")]), events(dvm)


def without_ages(shown):
    if isinstance(shown, list):
        return [without_ages(one) for one in shown]
    if isinstance(shown, dict):
        return {key: without_ages(one) for key, one in shown.items() if not key.endswith(("age_ms", "left_ms"))}
    return shown


def sessions(dvm):
    """{node: the reservation that it is in, or None}."""
    return {node["name"]: node["reservation"] for node in dvm.status()["nodes"]}


def allocation(dvm, name):
    """What tide status --json has of it; None: there is none."""
    found = [one for one in dvm.status()["allocations"] if one["id"] == name and one["owner"]]
    return found[0] if found else None


def news(dvm, name):
    """What has happened to it: made, extended, targeted, ended."""
    return [kind.removeprefix("allocation-") for kind, detail in events(dvm)
            if kind.startswith("allocation-") and detail.startswith(f"{name} ")]


def is_over(dvm, name):
    return "ended" in news(dvm, name)


# ---- made ----

def reserve(asker, *words, name="reserve"):
    """Its id, when all that it needs is there."""
    status, facts = asker.ask(name, "new", *words)
    assert status == SUCCESS, (words, status)
    if facts["complete"] == "0":
        wait_until(lambda: [event for event in asker.events() if event[1]["id"] == facts["id"]], what="its nodes are there")
    return facts["id"]


def free_all(dvm):
    """No reservation is left, and no node more than the DVM had; as the administrator has it."""
    for one in dvm.status()["allocations"]:
        done(dvm, "shrink", "--alloc", one["id"])
    settled(dvm)


# ---- jobs ----

class Jobs:
    """Jobs that wait until they are let go, and say where they run."""

    def __init__(self, dvm):
        self._dvm, self._gates = dvm, {}

    def spawn(self, asker, name, *words, n=1):
        """The namespace of a job of n processes, one on each node, that asker spawned and that runs now."""
        status, facts = self.try_spawn(asker, name, *words, n=n)
        assert status == SUCCESS, (words, status)
        nspace = facts["nspace"]
        wait_until(lambda: len(self.nodes(nspace)) == n, what=f"{name} runs")
        return nspace

    def try_spawn(self, asker, name, *words, n=1):
        gate = Gate(self._dvm.tmpdir / f"gate{len(self._gates)}")
        status, facts = asker.ask(name, "spawn", f"n={n}", "mapby=node", "stdout=false", *words, "--", "/usr/bin/cat", str(gate.path))
        self._gates[facts.get("nspace", name)] = gate
        return status, facts

    def nodes(self, nspace):
        """Where its processes run."""
        return sorted(one["node"] for one in processes(self._dvm, nspace))

    def end(self, nspace):
        """Lets it go, and waits for its end, which has to be a good one."""
        wait_until(self._gates[nspace].try_open, what="it waits")
        assert self.exit_status(nspace) == 0

    def exit_status(self, nspace):
        return ended(self._dvm, nspace)["exit_status"]


def processes(dvm, nspace):
    """Those of a job that run, as tide ps --json has them."""
    shown = dvm.tool("tide", "ps", nspace.rsplit("@", 1)[1], "--json")
    return [one for one in json.loads(shown.stdout)["processes"] if one["state"].endswith(("RUNNING", "REGISTERED"))] if shown.returncode == 0 else []


def pids(dvm, nspace):
    """{rank: pid} of those."""
    return {one["rank"]: one["pid"] for one in processes(dvm, nspace)}


def ended(dvm, nspace):
    """What tide jobs says of it when it has ended."""
    return wait_until(lambda: [row for row in dvm.jobs("--all")["jobs"] if row["namespace"] == nspace and row["ended"]],
                      what=f"{nspace} ends")[0]


def spawn_asker(dvm, asker, name, *words):
    """A process that asker spawns as a job of its own, and that asks as it is told, too."""
    base = dvm.tmpdir / name
    (orders,) = pipes(base, 1)
    output = base.with_suffix(".out")
    script = base.with_suffix(".sh")
    script.write_text(f"exec {PROGRAMS}/pmix_alloc rank {base} >{output} 2>&1\n")
    status, _ = asker.ask(name, "spawn", "stdout=false", *words, "--", "/bin/sh", str(script))
    assert status == SUCCESS, (words, status)
    wait_until(output.exists, what=f"{name} runs")
    child = Rank(None, orders, output, 0)
    child.heard("ready ")
    return child
