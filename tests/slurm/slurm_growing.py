"""Elastic DVMs in jobs of Slurm: what Slurm has of them, what they tell, and what a script in a job prints."""

import os
import signal

from dvm import BIN, TIME_SCALE, wait_until
from growing import nodes, tide
from slurm_bed import CONTROLLER_NODE

PROGRAMS = BIN.parent / "tests" / "programs"
OB1 = ("-x", "OMPI_MCA_pml=ob1")  # the default looks for fabrics first, which takes its time
# What Slurm does by itself is seen soon.
ELASTIC = {"prte_elastic_mode": 1, "ras_slurm_first_look": "100ms", "ras_slurm_last_look": "1s"}
SEEN_LIMIT_S = 20
MPI_LIMIT_S = 60


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
