"""Elastic DVMs over the nodes of a swarm: made, and looked at on the machines that come and go."""

import subprocess
import time

from asking import Asker
from dvm import BIN, POLL_S, TIME_SCALE
from growing import nodes
from swarm_dvm import SLOTS, SwarmDvm, everywhere
from test_pmix import info

PROGRAMS = BIN.parent / "tests" / "programs"
# So that hosts that do not answer are told of soon; a third of it is for ssh to connect.
PROMPT = {"plm_ssh_timeout": "9s"}
MOMENT_S = 0.3  # between the last link that a process closes and its end
TURNED_AWAY_S = 2  # for one that came while its grow was undone, and goes by itself


class ElasticSwarmDvm(SwarmDvm):
    """One that starts with the first `count` nodes and has a pool of the next `pool`. Its logs and processes are looked
    for in all nodes up to number `seen`."""

    def __init__(self, bed, count, pool=0, *, prtemca=None, up_options=(), seen=None):
        names = bed.names(count + pool)
        super().__init__(bed, count, prtemca={"prte_elastic_mode": 1, **PROMPT, **(prtemca or {})}, up_options=up_options)
        self.first, self.pool = names[:count], names[count:]
        if pool:
            self._up_argv += ["--pool-hostfile", self.file("pool", self.pool)]
        self.nodes = bed.names(max(seen or 0, count + pool))

    def file(self, name, hosts):
        """A hostfile, and where the head finds it."""
        (self.tmpdir / name).write_text("".join(f"{host} slots={SLOTS}\n" for host in hosts))
        return f"{self.env['TMPDIR']}/{name}"


def left_on(dvm, names, within_s=MOMENT_S):
    """What of any DVM still runs or lies on these nodes so much later: daemons, wardens, sessions, run directories."""
    deadline = time.monotonic() + within_s * TIME_SCALE
    while True:
        left = seen_on(dvm, names)
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(POLL_S)


def seen_on(dvm, names):
    """The same at this moment."""
    if not names:
        return []
    running = [(node, words) for (node, _), words in dvm.bed.processes(names).items() if "prted" in words]
    lying = [path for name in names for where in ("prte.*/*", "*/prte.*/*") for path in dvm.bed.disk(name).glob(where)]
    return running + [str(path) for path in lying]


def assert_has(dvm, names):
    """The DVM has these nodes, and a job runs on each of them."""
    assert nodes(dvm) == sorted(names)
    everywhere(dvm, names)


def ask_as_a_tool(dvm):
    """A PMIx tool on the head's machine."""
    output = dvm.tmpdir / "tool"
    with output.open("w") as sink:
        argv = dvm.bed.argv(dvm.head, PROGRAMS / "pmix_alloc", "uri", info(dvm)["uri"])
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=sink, stderr=subprocess.STDOUT, text=True, env=dvm.env)
    dvm._background.append(process)
    asker = Asker(process, process.stdin, output)
    asker.heard("ready ")
    return asker
