"""Elastic DVMs in jobs of Slurm: what Slurm has of them, what they tell, and what a script in a job prints."""

import os
import re
import signal

from dvm import BIN, TIME_SCALE, wait_until
from endurance import Submitters, kinds_of_jobs
from growing import nodes, tide
from slurm_bed import CONTROLLER_NODE
from swarm_growing import left_on

PROGRAMS = BIN.parent / "tests" / "programs"
OB1 = ("-x", "OMPI_MCA_pml=ob1")  # the default looks for fabrics first, which takes its time
# What Slurm does by itself is seen soon.
ELASTIC = {"prte_elastic_mode": 1, "ras_slurm_first_look": "100ms", "ras_slurm_last_look": "1s"}
SEEN_LIMIT_S = 20
MPI_LIMIT_S = 60
# Slurm looks for jobs whose time is over every half minute, and has KillWait for them.
OVER_LIMIT_S = 50


def elastic(make, count, *, prtemca=None, **arguments):
    return make(count, prtemca={**ELASTIC, **(prtemca or {})}, **arguments)


def asked_for(dvm):
    """The jobs that the DVM has in the queue beside the one it was started in, the oldest first."""
    name = f"tide-{dvm.status()['dvm']['name']}"
    return sorted((job for job in dvm.bed.squeue() if job.name == name), key=lambda job: int(job.id))


def nodes_of(bed, queued):
    return bed.expanded(queued.nodes) if queued.nodes else []


def shares(dvm):
    """The nodes of all its jobs, as Slurm has them: of the one it was started in, then of those it asked for."""
    return [dvm.granted(), *(nodes_of(dvm.bed, job) for job in asked_for(dvm) if job.state == "RUNNING")]


def assert_shares(dvm, *wanted):
    """Slurm has given these, and the DVM has them all. What was ended may take a moment to leave the queue."""
    wait_until(lambda: shares(dvm) == [sorted(names, key=number) for names in wanted],
               limit_s=SEEN_LIMIT_S, what=f"Slurm has {wanted}, not {shares(dvm)}")
    assert nodes(dvm) == sorted(name for names in wanted for name in names)


def number(name):
    return int(name[4:])


def pending(dvm, count=1):
    """So many requests of the DVM that wait in the queue."""
    return wait_until(lambda: len(found := [job for job in asked_for(dvm) if job.state == "PENDING"]) == count and found,
                      limit_s=SEEN_LIMIT_S, what=f"{count} requests wait in the queue")


def none_pending(dvm):
    wait_until(lambda: not [job for job in asked_for(dvm) if job.state != "RUNNING"], limit_s=SEEN_LIMIT_S,
               what="no request is in the queue")


def happened(dvm, *prefixes):
    """What `tide events` tells, a text for each."""
    lines = tide(dvm, "events").stdout.splitlines()
    return [line for line in lines if line.split()[1].startswith(prefixes or "")]


def told(dvm, words):
    """Waits until an event has these words."""
    return wait_until(lambda: [line for line in happened(dvm) if words in line], limit_s=SEEN_LIMIT_S,
                      what=f"{words!r} is among the events")


def heard(asker, name):
    """The one event of the request of this name that a tool has asked for."""
    of_it = lambda: [one for one in asker.events() if one[1].get("req") == name]
    wait_until(of_it, limit_s=SEEN_LIMIT_S, what=f"it hears of the end of {name}")
    (only,) = of_it()
    return only


def control(bed, job, *words):
    """`scontrol update` of a job, which must succeed."""
    bed.slurm("scontrol", "update", f"JobId={job}", *words)


def ends(bed, job):
    """When a job ends, as Slurm has it, in seconds since 1970."""
    shown = bed.slurm("env", "SLURM_TIME_FORMAT=%s", "scontrol", "-o", "show", "job", job)
    return int(re.search(r" EndTime=(\d+) ", shown)[1])


def printed(bed, script, *, env=None, limit_s=60, **arguments):
    """What a batch job writes, in which our programs are found, when it is over."""
    path = f"{BIN}:{os.defpath}"
    job = bed.submit(script, env={**bed.swarm.environment(), "PATH": path, "TMPDIR": "/tmp", **(env or {})}, **arguments)
    job.wait_for(None, limit_s * TIME_SCALE)
    return job.output()


def ring(dvm, count):
    """An MPI job over all nodes."""
    ran = dvm.tool("prun", "-n", count, "--map-by", "node", *OB1, PROGRAMS / "mpi_ring", limit_s=MPI_LIMIT_S)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(f"ring of {count}: "), ran.stdout


def interrupt(bed, words, node=CONTROLLER_NODE):
    """SIGINT for the one process on the node whose command line has these words."""
    (pid,) = [pid for (_, pid), line in bed.processes([node]).items() if words in line]
    os.kill(pid, signal.SIGINT)


class Other:
    """A job of somebody else that holds nodes. By salloc: Slurm takes its time for scripts."""

    def __init__(self, bed, name, where):
        self._bed = bed
        bed.slurm("salloc", "--no-shell", "-J", name, "-t", 20, *where)
        (job,) = [job for job in bed.squeue() if job.name == name]
        self.id, self.nodes = job.id, nodes_of(bed, job)

    def cancel(self):
        self._bed.scancel(self.id)

    def give_back(self):
        """Its nodes are free for whoever asks next."""
        self.cancel()
        wait_until(lambda: {self._bed.node_states()[name] for name in self.nodes} == {"idle"}, limit_s=30,
                   what="the nodes of the other job are free")


def under_load(dvm, changes):
    """These changes while jobs of all kinds keep ending; each job ends as it should."""
    submitters = Submitters(dvm, kinds_of_jobs(dvm.granted()[:2]))
    try:
        submitters.some_more()
        for change in changes:
            change()
            submitters.some_more()
    finally:
        submitters.stop()
    assert not submitters.not_by_contract(), submitters.not_by_contract()[:3]


def gone(dvm, names):
    left = left_on(dvm, names)
    assert not left, f"told, and still there: {left}"
