"""A DVM inside a Slurm job: its head is started by the script of a batch job or by salloc, and knows no more than that
job tells it. Driven by the real commands on the head's node."""

import json
import shutil
import subprocess

import dvm
from dvm import BIN, wait_until
from slurm_bed import CONTROLLER_NODE, Job
from swarm_dvm import SwarmDvm, words_of

BATCH, SALLOC = "batch", "salloc"
MINUTES = 10
# A slurmstepd waits a minute for those below it in the step, if Slurm has killed one of these before it could say
# that it is done, as it may when it takes a node from a job.
JOB_OVER_LIMIT_S = 90
# The DVM is the job: it ends with it. `tide up` comes back at once, so somebody has to stay.
STAY = {"prte": "exec prte {words}",
        "tide": "tide up {words} || exit\nwhile tide status > /dev/null 2>&1; do sleep 0.5; done"}


class SlurmDvm(SwarmDvm):
    """`how`: BATCH, with the head on the first node of the job, or SALLOC, with the head on node1, whether that is in the
    job or not. `program`: prte, or tide for `tide up`. `env`: beside the usual, for the head and all commands. `options`:
    of sbatch or salloc. `shims`: stand-ins that the head finds in place of the commands of Slurm. `killed`: salloc ends
    the script with the job."""

    def __init__(self, bed, nodes, *, how=BATCH, program="prte", up_options=(), prtemca=None, env=None, options=("--no-kill",),
                 minutes=MINUTES, shims=None, killed=True):
        self._settle(bed, bed.names())
        self.job, self._salloc = None, None
        self._killed, self._how, self._wanted = killed, how, [*map(str, options), "-N", str(nodes), "-t", str(minutes)]
        for node in self.nodes:
            (bed.disk(node) / self._name).mkdir()
        self.env.update(env or {})
        if shims:
            self.env["PATH"] = shims.path(self.env["PATH"])
        self._script = bed.fresh("dvm")
        start = STAY[program].format(words=" ".join(words_of(up_options, prtemca)))
        self._script.write_text(f"#!/bin/sh\nexport TMPDIR={self.env['TMPDIR']}\n{start}\n")
        self._output = bed.fresh("said")

    # ---- life ----

    def try_up(self, limit_s=None):
        """Starts the job and waits for the DVM in it, which may fail. Exit status 0: it is up; what the job wrote."""
        (self._by_salloc if self._how == SALLOC else self._by_sbatch)()
        wait_until(lambda: self._answers() or self._is_over(), limit_s=limit_s or self.up_limit_s,
                   what=f"a DVM in job {self.job.id}, which is {self.job.state()} and wrote {self.said()!r}")
        self._is_up = self._answers()
        return subprocess.CompletedProcess([str(self._script)], 0 if self._is_up else 1, self.said(), "")

    def _by_sbatch(self):
        self.job = self.bed.sbatch(self._output, *self._wanted, self._script, env=self.env)
        wait_until(lambda: self.job.state() != "PENDING", limit_s=self.up_limit_s, what=f"job {self.job.id} runs")
        nodes = self.job.nodes()
        self._head_on(nodes[0] if nodes else CONTROLLER_NODE)

    def _by_salloc(self):
        argv = ["salloc", *(["-K"] if self._killed else []), *self._wanted, "-J", self._name, "sh", self._script]
        with open(self._output, "w") as sink:
            self._salloc = subprocess.Popen(self.bed.argv(CONTROLLER_NODE, *argv), stdin=subprocess.DEVNULL, stdout=sink, stderr=sink,
                                            env=self.env)
        self._head_on(CONTROLLER_NODE)
        known = wait_until(lambda: [job for job in self.bed.squeue() if job.name == self._name] or self._salloc.poll(),
                           limit_s=self.up_limit_s, what="salloc asks for a job")
        assert isinstance(known, list), f"salloc: exit status {known}: {self.said()}"
        self.job = Job(self.bed, known[0].id, self._output)

    def _head_on(self, node):
        self.head, self.tmpdir = node, self.bed.disk(node) / self._name

    def _answers(self):
        asked = self.tool("tide", "status", "--json")
        return asked.returncode == 0 and json.loads(asked.stdout)["dvm"]["state"] == "ready"

    def _is_over(self):
        return self.job.queued() is None

    def said(self):
        """What the job wrote: the head, and salloc."""
        return self._output.read_text(errors="replace") if self._output.exists() else ""

    def down(self, *options):
        """`tide down`, which must succeed, and ends the job. What is left in the nodes is the bed's to look for."""
        done = super().down(*options)
        self.job.wait_for(None, JOB_OVER_LIMIT_S)
        return done

    def close(self, *down_options):
        if self not in dvm._live:
            return
        try:
            super().close(*down_options)
        finally:
            self._end_job()
            for node in self.nodes:
                shutil.rmtree(self.bed.disk(node) / self._name, ignore_errors=True)

    def _end_job(self):
        if self.job and not self._is_over():
            self.job.cancel()
        if self._salloc:
            try:
                self._salloc.wait(timeout=JOB_OVER_LIMIT_S)
            except subprocess.TimeoutExpired:
                self._salloc.kill()
                self._salloc.wait()

    # ---- what is seen ----

    def run_directory(self):
        """That of the head; the daemon beside it has one of its own."""
        found = [path.parent for path in self.tmpdir.glob("prte.*/*/dvm.json") if not path.parent.name.startswith("node-")]
        return found[0] if found else None

    def granted(self):
        """The nodes of its job, as Slurm has them now."""
        return self.job.nodes()

    def processes(self):
        return self.bed.processes()

    def log_sections(self):
        return [("what the job wrote", self.said()), ("slurmctld", self.bed.controller_log()), *super().log_sections()]

    def _logs(self):
        for node in self.nodes:
            for path in sorted((self.bed.disk(node) / self._name).glob("**/logs/*.log")):
                yield node, path
