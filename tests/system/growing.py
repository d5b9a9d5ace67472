"""Elastic DVMs for tests: made, changed, looked at, and held in the middle of a change."""

import contextlib
import json
import os
import signal

from dvm import wait_until
from jobs import Gate

DONE, REFUSED, UNDONE, UNKNOWN, USAGE = 0, 3, 4, 5, 2
PARKED = "PRTE_JOB_STATE_WAITING_FOR_DAEMONS"


def tide(dvm, *argv):
    return dvm.tool("tide", *argv)


def done(dvm, *argv):
    """A change that is waited for and succeeds; what it printed."""
    said = tide(dvm, *argv, "--wait")
    assert said.returncode == DONE, said.stdout + said.stderr
    return said


def refused(dvm, words, *argv):
    before = nodes(dvm)
    said = tide(dvm, *argv)
    assert said.returncode == REFUSED, said.stdout + said.stderr
    assert words in said.stderr, said.stderr
    assert nodes(dvm) == before
    assert not dvm.status()["campaigns"]


def nodes(dvm):
    return sorted(node["name"] for node in dvm.status()["nodes"])


def where(dvm, n):
    """The nodes that n processes, one on each, run on."""
    ran = dvm.run("-n", n, "--map-by", "node", "sh", "-c", "echo $TIDE_NODE")
    assert ran.returncode == 0, ran.stderr
    return sorted(ran.stdout.split())


def settled(dvm):
    wait_until(lambda: not dvm.status()["campaigns"], what="no change is under way")


def running(dvm):
    return sum(job["running"] for job in dvm.jobs()["jobs"])


def start_waiting(dvm, n, *options):
    """A job that runs until its gate is opened."""
    gate = Gate(dvm.tmpdir / "gate")
    job = dvm.start("tide", "run", "-n", n, *options, "sh", "-c", gate.wait_command())
    wait_until(lambda: running(dvm) == n, what="the job runs")
    return gate, job


# ---- moments that are held ----

def release(dvm, name):
    """Lets go what is held at a failpoint, everywhere."""
    said = tide(dvm, "debug", "release", name)
    assert said.returncode == 0, said.stderr


def begin(dvm, *argv):
    """Starts a change that is waited for, and comes back when it is under way."""
    before = {one["number"] for one in dvm.status()["campaigns"]}
    change = dvm.start("tide", *argv, "--wait")
    wait_until(lambda: {one["number"] for one in dvm.status()["campaigns"]} - before, what=f"{argv[0]} is under way")
    return change


def phases(dvm):
    """{number: phase} of the changes that are under way."""
    return {one["number"]: one["phase"] for one in dvm.status()["campaigns"]}


def in_phase(dvm, *wanted):
    """Waits until the changes under way, oldest first, are in these phases."""
    wait_until(lambda: list(phases(dvm).values()) == list(wanted), what=f"changes are {wanted}")


def ended(dvm, change, status=DONE):
    """What a change said that begin() began; it has to end with this status."""
    said = dvm.finish(change)
    assert said.returncode == status, (said.returncode, said.stdout, said.stderr)
    return said


def submit_parked(dvm, n=1, *options):
    """A job that says where it runs, when that it is parked is seen."""
    already = len(parked(dvm))
    job = dvm.start("tide", "run", "-n", n, "--map-by", "node", *options, "sh", "-c", "echo $TIDE_NODE")
    wait_until(lambda: len(parked(dvm)) == already + 1, what="the job is parked")
    return job


def parked(dvm):
    return [row["number"] for row in dvm.jobs()["jobs"] if row["state"] == PARKED]


def ran_on(dvm, job):
    """The nodes that the job of submit_parked() ran on, once it has ended well."""
    ran = dvm.finish(job)
    assert ran.returncode == 0, ran.stderr
    return sorted(ran.stdout.split())


def start_deaf(dvm, node):
    """A process on this node that no gentle signal ends, so that a release has to wait for it. Returns the gate that
    lets it end, and its job."""
    gate = Gate(dvm.tmpdir / f"deaf-{node}")
    job = dvm.start("tide", "run", "-n", "1", "--host", node, "sh", "-c",
                    f"trap '' TERM; echo deaf; {gate.wait_command()}")
    assert job.stdout.readline() == "deaf\n"
    return gate, job


@contextlib.contextmanager
def frozen(pid):
    """A process that stands still meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def events(dvm):
    """What has happened, as (kind, detail)."""
    lines = tide(dvm, "events", "--json").stdout.splitlines()
    return [(event["kind"], event.get("detail", "")) for event in map(json.loads, lines)]


def kinds(dvm, *prefixes):
    """The kinds of what has happened; prefixes: those alone that begin so."""
    return [kind for kind, _ in events(dvm) if kind.startswith(prefixes or "")]
