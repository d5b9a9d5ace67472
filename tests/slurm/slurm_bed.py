"""A swarm with a real Slurm for tests: its jobs, its controller and that controller's work, what was left in it."""

import itertools
import re
import shutil
import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bed import COMMAND_LIMIT_S, Bed
from dvm import wait_until
from slurm_shims import Shims

CONTROLLER_NODE = "node1"
JOB_STATE = "slurm/state/job_state"
SAVED_LIMIT_S = 20  # it takes five seconds
STATE_LIMIT_S = 30
# A node that was away is back when slurmd has told slurmctld: at once after its start, else when that asks the next time.
IDLE_LIMIT_S = 60
QUEUE_FORMAT = "%i|%T|%j|%N|%r|%k"
OUR_QUESTION = "REQUEST_STATS_INFO"
LOG_SHOWN = 8000
LEFT_LIMIT_S = 60  # a slurmstepd that does not reach those above it tries again for half a minute


@dataclass(frozen=True)
class Queued:
    """A job as squeue has it. A list of names is as Slurm writes it: node[1-3,7]."""
    id: str
    state: str
    name: str
    nodes: str
    reason: str
    comment: str


class Job:
    """A batch job. Its output is where every node sees it."""

    def __init__(self, bed, id, output_file):
        self.id, self.output_file, self._bed = id, output_file, bed

    def output(self):
        return self.output_file.read_text(errors="replace") if self.output_file.exists() else ""

    def queued(self):
        """As squeue has it, or None when it is over."""
        return next((job for job in self._bed.squeue() if job.id == self.id), None)

    def state(self):
        queued = self.queued()
        return queued.state if queued else None

    def nodes(self):
        """The names of the nodes it has now."""
        queued = self.queued()
        return self._bed.expanded(queued.nodes) if queued and queued.nodes else []

    def wait_for(self, state, limit_s=STATE_LIMIT_S):
        """Until it is in this state; None: until it is over."""
        wait_until(lambda: self.state() == state, limit_s=limit_s, what=f"job {self.id} is {state or 'over'}")
        return self

    def cancel(self):
        self._bed.scancel(self.id)


class SlurmBed(Bed):
    own = (*Bed.own, "/usr/sbin/munged", "/usr/sbin/slurmctld", "slurmctld: ", "/usr/sbin/slurmd", "/usr/sbin/slurmdbd",
           "/usr/sbin/mariadbd")

    def __init__(self, count, *options):
        self.shared = Path(tempfile.mkdtemp(prefix="ss"))  # the same in every node
        self._numbers = itertools.count(1)
        super().__init__(count, "--slurm", "--share", self.shared, *options)

    def __enter__(self):
        try:
            return super().__enter__()
        except BaseException:
            shutil.rmtree(self.shared, ignore_errors=True)
            raise

    def __exit__(self, *what):
        super().__exit__(*what)
        shutil.rmtree(self.shared, ignore_errors=True)

    def fresh(self, name):
        """A path in the shared folder that nothing is at yet."""
        return self.shared / f"{name}{next(self._numbers)}"

    # ---- its commands ----

    def slurm(self, *argv, node=CONTROLLER_NODE, env=None, limit_s=COMMAND_LIMIT_S):
        """A command of Slurm that must succeed; its output."""
        done = self.run(node, *argv, env=env, limit_s=limit_s)
        assert done.returncode == 0, f"{argv[0]}: exit status {done.returncode}: {done.stderr}"
        return done.stdout

    def squeue(self):
        lines = self.slurm("squeue", "-h", "-a", "-o", QUEUE_FORMAT).splitlines()
        return [Queued(*line.split("|", 5)) for line in lines]

    def expanded(self, names):
        """["node1", "node2", …] of "node[1-2,…]"."""
        return self.slurm("scontrol", "show", "hostnames", names).split()

    def node_states(self):
        """{node: its state in Slurm}, with the marks of Slurm: idle*, down*, drained …"""
        return dict(line.split() for line in self.slurm("sinfo", "-h", "-N", "-p", "all", "-o", "%N %T").splitlines())

    def rpc_counts(self):
        """{kind of request: how many slurmctld has had since its start}, but for what nodes report by themselves (messages
        of slurmd), and this question."""
        found = re.findall(r"^\s+(REQUEST_[A-Z_]+)\s+\(\s*\d+\) count:(\d+)", self.slurm("sdiag"), re.MULTILINE)
        return Counter({kind: int(count) for kind, count in found if kind != OUR_QUESTION})

    def submit(self, script, *, nodes=1, minutes=5, options=(), env=None):
        """sbatch of a shell script; the Job, which may have to wait."""
        path, output = self.fresh("script"), self.fresh("output")
        path.write_text(f"#!/bin/sh\n{script}\n")
        return self.sbatch(output, "-N", nodes, "-t", minutes, *options, path, env=env)

    def sbatch(self, output, *argv, env=None):
        """sbatch with these words; the Job, with its output in this file."""
        id = self.slurm("sbatch", "--parsable", "-o", output, "-D", self.shared, *argv, env=env).strip()
        return Job(self, id, output)

    def scancel(self, *words):
        self.run(CONTROLLER_NODE, "scancel", *words)  # it may be over by itself

    def drain(self, name, reason="a test"):
        self.slurm("scontrol", "update", f"NodeName={name}", "State=DRAIN", f"Reason={reason}")

    def resume(self, name):
        self.slurm("scontrol", "update", f"NodeName={name}", "State=RESUME")

    def shims(self):
        """Stand-ins for the commands of Slurm, visible in every node; all real until told otherwise."""
        return Shims(self.fresh("shims"))

    # ---- its controller ----

    def controller(self, action):
        """stop, kill, freeze, thaw or start, as of `swarm slurm`."""
        self.swarm.slurm_controller(action)

    def wait_saved(self):
        """Until slurmctld has all jobs as they are now on its disk, and would know them after a kill. It saves what has
        changed, now or within five seconds: so something changes, and all goes to the disk with it."""
        jobs = self.squeue()
        if not jobs:
            return
        mark = f"saved {next(self._numbers)}"
        self.slurm("scontrol", "update", f"JobId={jobs[0].id}", f"AdminComment={mark}")
        wait_until(lambda: mark.encode() in self._saved(), limit_s=SAVED_LIMIT_S, what="slurmctld has saved its jobs")

    def controller_log(self):
        """The last of what slurmctld has written."""
        return (self.swarm.place / "log" / "slurmctld.log").read_text(errors="replace")[-LOG_SHOWN:]

    def _saved(self):
        try:
            return (self.swarm.place / JOB_STATE).read_bytes()
        except FileNotFoundError:  # it is being replaced, in two steps
            return b""

    @contextmanager
    def controller_down(self, how="stop"):
        """Inside of it slurmctld is stopped, killed or frozen."""
        self.controller(how)
        try:
            yield
        finally:
            self.controller("thaw" if how == "freeze" else "start")

    def _mend_controller(self):
        done = self.run(CONTROLLER_NODE, "sh", "-c", "ps -C slurmctld -o stat=")
        if not done.stdout.strip():
            self.controller("start")
        elif done.stdout.lstrip().startswith("T"):
            self.controller("thaw")

    # ---- what is there ----

    def mend(self):
        """Everything works again: nodes run and are in Slurm, slurmctld answers."""
        super().mend()
        self._mend_controller()
        for name, state in self.node_states().items():
            if state.startswith("drain"):
                self.resume(name)

    def wait_idle(self, limit_s=IDLE_LIMIT_S):
        """Until no node has anything to do, and each answers."""
        wait_until(lambda: set(self.node_states().values()) == {"idle"}, limit_s=limit_s, what="every node is idle")

    def assert_nothing_left(self, limit_s=LEFT_LIMIT_S):
        """No job in the queue, no process or file in any node; the next test finds idle nodes."""
        left = self._jobs_left()
        if left:
            self.scancel("-u", "root")
        super().assert_nothing_left(limit_s)
        self.wait_idle()
        self._clear_shared()
        assert not left, f"left in the queue: {left}"

    def _jobs_left(self):
        """Those that are not about to end."""
        try:
            wait_until(lambda: not self.squeue(), limit_s=STATE_LIMIT_S)
        except AssertionError:
            return self.squeue()
        return []

    def _clear_shared(self):
        for path in self.shared.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
