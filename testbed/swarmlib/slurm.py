"""A real Slurm over the nodes of a swarm: slurmctld on node1, munged and slurmd on every node.

    slurm/etc        what nodes see as /etc/slurm
    slurm/state      of slurmctld: outlives a crash of node1
    slurm/accounts   the database behind slurmdbd, likewise
"""

import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from swarmlib.accounting import Accounting, missing_packages
from swarmlib.kernel import TestbedError, attempt, command

CONTROLLER_NODE = "node1"
MUNGED, SLURMCTLD, SLURMD = "/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmd"
PACKAGES = {SLURMCTLD: "slurm-wlm", SLURMD: "slurm-wlm", "srun": "slurm-wlm", MUNGED: "munge"}
DEFAULT_CPUS = (4,)
# The machine's environment is none of theirs: mariadbd, for one, writes where TMPDIR says.
DAEMON_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
CONTROLLER_ACTIONS = ("stop", "kill", "start", "freeze", "thaw")
SIGNALS = {"stop": "TERM", "kill": "KILL", "freeze": "STOP", "thaw": "CONT"}
IDLE_LIMIT_S = 60
CONTROLLER_LIMIT_S = 30  # to end in good order, or to answer
ANSWER_LIMIT_S = 30
POLL_S = 0.05

FOLDER = "slurm"
CONFIGURATION = "slurm/etc/slurm.conf"
LOGS, STATE = "/run/slurm/log", "/run/slurm/state"  # as nodes see them
MUNGE_KEY_BYTES = 1024

# Seen beside the obvious: jobs get whole nodes, and can give them to a job that runs; linuxproc and
# task/none, since the nodes have no cgroups of their own; no wait between a request and its answer.
SETTINGS = {
    "ClusterName": "swarm",
    "SlurmctldHost": CONTROLLER_NODE,
    "SlurmUser": "root",
    "SlurmdUser": "root",
    "AuthType": "auth/munge",
    "CredType": "cred/munge",
    "ProctrackType": "proctrack/linuxproc",
    "TaskPlugin": "task/none",
    "JobAcctGatherType": "jobacct_gather/none",
    "AccountingStorageType": "accounting_storage/none",
    "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_Core",
    "SchedulerType": "sched/backfill",
    "SchedulerParameters": "permit_job_expansion,sched_min_interval=0,batch_sched_delay=0,bf_interval=2",
    "SlurmdParameters": "config_overrides",
    "PropagateResourceLimits": "NONE",
    "MpiDefault": "none",
    "ReturnToService": "2",
    "SlurmctldTimeout": "10",
    "SlurmdTimeout": "20",
    "MessageTimeout": "10",
    "KillWait": "5",
    "MinJobAge": "60",
    "InactiveLimit": "0",
    "StateSaveLocation": STATE,
    "SlurmdSpoolDir": "/run/slurm/spool",
    "SlurmctldPidFile": "/run/slurm/slurmctld.pid",
    "SlurmdPidFile": "/run/slurm/slurmd.pid",
    "SlurmctldLogFile": f"{LOGS}/slurmctld.log",
    "SlurmdLogFile": f"{LOGS}/slurmd.%h.log",
    "SlurmctldDebug": "info",
    "SlurmdDebug": "info",
}
PARTITIONS = ["PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60 OverSubscribe=EXCLUSIVE State=UP",
              "PartitionName=short Nodes=ALL Default=NO MaxTime=30 DefaultTime=5 OverSubscribe=EXCLUSIVE State=UP"]
# Never used, but slurmd 22.05 insists on loading one, and version 2 wants a systemd.
CGROUP_CONFIGURATION = "CgroupPlugin=cgroup/v1\n"


@dataclass(frozen=True)
class Wish:
    """What somebody wants of Slurm. `cpus`: of node1, node2 …; the last is that of all others."""
    cpus: tuple = DEFAULT_CPUS
    accounting: bool = False
    settings: dict = field(default_factory=dict)  # lines of slurm.conf that are other than ours


def why_not(accounting):
    """None, or why there can be no Slurm here, with what to do about it."""
    missing = {package for program, package in PACKAGES.items() if not shutil.which(program)}
    missing |= set(missing_packages()) if accounting else set()
    return f"packages are missing: {' '.join(sorted(missing))}\n  try: scripts/install-deps slurm" if missing else None


class Slurm:
    def __init__(self, place, count, wish):
        self._place, self._count, self._wish = place, count, wish
        self._accounting = Accounting(place / FOLDER) if wish.accounting else None

    # ---- files ----

    def furnish(self):
        """The files that its daemons read; afterwards nothing of an earlier Slurm is left."""
        folder = self._place / FOLDER
        shutil.rmtree(folder, ignore_errors=True)
        for name in ("etc", "state"):
            (folder / name).mkdir(parents=True)
        (self._place / CONFIGURATION).write_text(self._configuration())
        (folder / "etc/cgroup.conf").write_text(CGROUP_CONFIGURATION)
        (folder / "etc/plugstack.conf").write_text("")
        key = folder / "etc/munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(MUNGE_KEY_BYTES))
        if self._accounting:
            self._accounting.furnish(CONTROLLER_NODE, LOGS)

    def _configuration(self):
        settings = {**SETTINGS, **(Accounting.settings(CONTROLLER_NODE) if self._accounting else {}), **self._wish.settings}
        lines = [f"{key}={value}" for key, value in settings.items()]
        return "\n".join([*lines, *self._nodes(), *PARTITIONS]) + "\n"

    def _nodes(self):
        cpus = [self._wish.cpus[min(index, len(self._wish.cpus) - 1)] for index in range(self._count)]
        return [f"NodeName=node{number} CPUs={of_it} State=UNKNOWN" for number, of_it in enumerate(cpus, 1)]

    def mounts(self, name):
        """(what, where in the node): configuration, key, logs; the state on the node that holds it."""
        folder = self._place / FOLDER
        own = [(folder / "etc", "/etc/slurm"), (self._place / "log", LOGS)]
        if name == CONTROLLER_NODE:
            own.append((folder / "state", STATE))
            own += self._accounting.mounts() if self._accounting else []
        return own

    # ---- in a node ----

    def start(self, name):
        """Called by the first process of a node, when its sshd is up."""
        for folder in ("/run/munge", "/run/slurm/spool"):
            Path(folder).mkdir(parents=True, exist_ok=True)
        self._start_munge()
        if name == CONTROLLER_NODE:
            if self._accounting:
                self._accounting.start(SETTINGS["ClusterName"], f"{LOGS}/mariadbd.log", DAEMON_ENVIRONMENT)
            command([SLURMCTLD], env=DAEMON_ENVIRONMENT)
        command([SLURMD], env=DAEMON_ENVIRONMENT)

    def _start_munge(self):
        """With a copy of the key: munged looks at every folder above it, and ours may lie anywhere."""
        key = Path("/run/munge/munge.key")
        key.touch(mode=0o600)
        key.write_bytes(Path("/etc/slurm/munge.key").read_bytes())
        command([MUNGED, f"--key-file={key}", "--socket=/run/munge/munge.socket.2", "--pid-file=/run/munge/munged.pid",
                 "--log-file=/run/munge/munged.log", "--seed-file=/run/munge/munged.seed", "--num-threads=2"],
                env=DAEMON_ENVIRONMENT)

    # ---- from outside ----

    def await_idle(self, argv_in_controller):
        """Returns when every node is idle. `argv_in_controller`: a command line → the one that runs it on node1."""
        deadline = time.monotonic() + IDLE_LIMIT_S
        while time.monotonic() < deadline:
            idle = attempt(argv_in_controller(["sinfo", "-h", "-p", "all", "-t", "idle", "-o", "%D"]),
                                  env=DAEMON_ENVIRONMENT, limit_s=ANSWER_LIMIT_S)
            if idle.returncode == 0 and idle.stdout.strip() == str(self._count):
                return
            time.sleep(POLL_S)
        shown = attempt(argv_in_controller(["sinfo", "-N", "-p", "all", "-o", "%N %T %E"]),
                               env=DAEMON_ENVIRONMENT, limit_s=ANSWER_LIMIT_S)
        raise TestbedError(f"Slurm: not every node is idle within {IDLE_LIMIT_S} s\n{(shown.stdout or shown.stderr).strip()}\n"
                           f"  try: look into {self._place.log('slurmctld')}")


class Controller:
    """The slurmctld of a swarm, from outside. `argv_in`: a command line → the one that runs it on its node."""

    def __init__(self, argv_in):
        self._argv_in = argv_in

    def do(self, action):
        """One of CONTROLLER_ACTIONS; returns when it is done."""
        if action == "start":
            self._start()
            return
        if self._in_node("pkill", f"-{SIGNALS[action]}", "-x", "slurmctld").returncode != 0:
            raise TestbedError("slurmctld does not run\n  try: swarm slurm start")
        if action in ("stop", "kill"):
            self._wait(lambda: not self._runs(), "slurmctld does not end")
        elif action == "thaw":
            self._wait(self._answers, "slurmctld does not answer")

    def _start(self):
        if self._runs():
            raise TestbedError("slurmctld runs already\n  try: swarm slurm stop first")
        started = self._in_node(SLURMCTLD)
        if started.returncode != 0:
            raise TestbedError(f"slurmctld does not start: {started.stderr.strip()}")
        self._wait(self._answers, "slurmctld does not answer")

    def _runs(self):
        return self._in_node("pgrep", "-x", "slurmctld").returncode == 0

    def _answers(self):
        return self._in_node("sinfo", "-h").returncode == 0

    def _in_node(self, *argv):
        return attempt(self._argv_in(argv), env=DAEMON_ENVIRONMENT, limit_s=ANSWER_LIMIT_S)

    def _wait(self, condition, failure):
        deadline = time.monotonic() + CONTROLLER_LIMIT_S
        while not condition():
            if time.monotonic() > deadline:
                raise TestbedError(f"{failure} within {CONTROLLER_LIMIT_S} s")
            time.sleep(POLL_S)
