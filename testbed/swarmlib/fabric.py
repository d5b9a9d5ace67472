"""The process that holds a swarm together: owner of its namespaces, parent of its nodes, answering `swarm`.

It lives in the process table of the machine, with a network and mounts of its own. When it ends, however that comes
about, the kernel ends every node."""

import json
import os
import selectors
import signal
import time
import traceback
from dataclasses import dataclass

from swarmlib import kernel, node
from swarmlib.kernel import CLONE_NEWNET, CLONE_NEWNS, TestbedError
from swarmlib.network import APART, CUT, MAIN, Network, address, node_name
from swarmlib.slurm import CONTROLLER_NODE

BOOT_LIMIT_S = 60
REQUEST_BYTES = 1 << 16
REQUEST_LIMIT_S = 5  # for a client to say what it wants
FREEZE_LIMIT_S = 10
POLL_S = 0.01


class Ended(Exception):
    """Somebody wants this swarm to go."""


@dataclass
class Life:
    """Of a node, from boot to crash."""
    pid: int
    descriptor: int  # readable when it is over
    frozen: bool = False


class Fabric:
    def __init__(self, place, count, nets, shared, slurm=None):
        self._place, self._shared, self._slurm = place, shared, slurm
        self._network = Network(count, nets)
        self._lives = {}  # node: Life
        self._cgroup = place.cgroup()
        self._selector = selectors.DefaultSelector()
        self._on_the_way = None  # connection of the client that wants us to go

    # ---- life ----

    def start(self):
        kernel.unshare(CLONE_NEWNS | CLONE_NEWNET)
        kernel.make_mounts_private()
        kernel.mount_new("tmpfs", "/run")
        self._network.build()
        self._boot(list(self._network.nodes))
        if self._slurm:
            controller = self._described(self._number(CONTROLLER_NODE))
            self._slurm.await_idle(lambda argv: node.argv_in(controller, argv))

    def serve(self, listener, owner=None):
        """Answers requests until told to go, or until the process behind the descriptor `owner` has ended."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._go)
        self._selector.register(listener, selectors.EVENT_READ, lambda: self._answer(listener))
        if owner is not None:
            self._selector.register(owner, selectors.EVENT_READ, self._go)
        try:
            while True:
                for key, _ in self._selector.select():
                    key.data()
        except Ended:
            pass

    def _go(self, *_):
        raise Ended

    def end(self):
        """Ends every node, removes the cgroups, and says so to whoever asked for it."""
        for number in list(self._lives):
            self._kill(number)
        self._place.remove_cgroups()
        (self._place / "control").unlink(missing_ok=True)
        if self._on_the_way:
            _reply(self._on_the_way, {"ok": True})

    # ---- nodes ----

    def _boot(self, numbers):
        pipes = {}
        for number in numbers:
            cgroup = self._cgroup / node_name(number) if self._cgroup else None
            if cgroup:
                cgroup.mkdir(parents=True, exist_ok=True)
            pid, pipes[number] = node.start(node_name(number), self._place, self._shared, cgroup, self._slurm)
            self._lives[number] = Life(pid, os.pidfd_open(pid))
            self._selector.register(self._lives[number].descriptor, selectors.EVENT_READ,
                                    lambda number=number: self._bury(number))
        deadline = time.monotonic() + BOOT_LIMIT_S
        for number, pipe in pipes.items():
            try:
                _await_ready(number, pipe, deadline)
            finally:
                os.close(pipe)

    def _bury(self, number):
        """Its first process has ended, and with it all the others."""
        life = self._lives.pop(number)
        self._selector.unregister(life.descriptor)
        os.close(life.descriptor)
        os.waitpid(life.pid, 0)
        if life.frozen:
            self._set_frozen(number, False)

    def _kill(self, number):
        signal.pidfd_send_signal(self._lives[number].descriptor, signal.SIGKILL)
        self._bury(number)

    def _set_frozen(self, number, frozen):
        if self._cgroup is None:
            raise TestbedError("nodes cannot be frozen here: no cgroup2 file system that may be written\n"
                               "  try: mount -t cgroup2 none DIR, then `swarm down` and `swarm up`")
        group = self._cgroup / node_name(number)
        (group / "cgroup.freeze").write_text("1" if frozen else "0")
        deadline = time.monotonic() + FREEZE_LIMIT_S
        while f"frozen {int(frozen)}" not in (group / "cgroup.events").read_text():
            if time.monotonic() > deadline:
                raise TestbedError(f"{node_name(number)} did not {'freeze' if frozen else 'thaw'}")
            time.sleep(POLL_S)

    # ---- requests ----

    def _answer(self, listener):
        connection, _ = listener.accept()
        try:
            connection.settimeout(REQUEST_LIMIT_S)
            request = json.loads(connection.makefile().readline(REQUEST_BYTES))
            if request["do"] == "down":
                self._on_the_way = connection.dup()
                raise Ended
            _reply(connection, {"ok": getattr(self, f"do_{request.pop('do')}")(**request)})
        except TestbedError as error:
            _reply(connection, {"error": str(error)})
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
            traceback.print_exc()
            _reply(connection, {"error": f"{error}; more in {self._place.log('fabric')}"})
        finally:
            connection.close()

    def _number(self, name):
        number = name.removeprefix("node")
        if not number.isdigit() or int(number) not in self._network.nodes:
            last = len(self._network.nodes)
            raise TestbedError(f"no node '{name}'\n  try: one of node1 … node{last}, which `swarm list` shows")
        return int(number)

    def _living(self, name):
        number = self._number(name)
        if number not in self._lives:
            raise TestbedError(f"{name} is down\n  try: swarm boot {name}")
        return number

    def _check_net(self, net):
        if net and net not in self._network.nets:
            raise TestbedError(f"no net {net}: this swarm has {len(self._network.nets)}\n"
                               "  try: swarm up N --second-net")

    def do_list(self):
        return [self._described(number) for number in self._network.nodes]

    def _described(self, number):
        life, nets = self._lives.get(number), self._network.nets
        return {"name": node_name(number), "state": "down" if not life else "frozen" if life.frozen else "up",
                "pid": life.pid if life else None,
                "addresses": [address(number, net) for net in nets],
                "links": [cable.state() for cable in self._network.cables(number)],
                "cannot_send_to": [node_name(to) for sender, to in sorted(self._network.blocked) if sender == number],
                "tmp": str(self._place.disk(node_name(number)) / "tmp"),
                "cgroup": str(self._cgroup / node_name(number)) if self._cgroup else None}

    def do_crash(self, node, silent):
        number = self._living(node)
        if silent:
            self._network.plug(number, CUT)
        self._kill(number)

    def do_boot(self, node):
        number = self._number(node)
        if number in self._lives:
            raise TestbedError(f"{node} is up already\n  try: swarm crash {node} first")
        self._network.plug(number, MAIN)
        self._boot([number])

    def do_cut(self, node, net):
        self._check_net(net)
        self._network.plug(self._number(node), CUT, net)

    def do_heal(self, node, net):
        self._check_net(net)
        self._network.heal(self._number(node), net)

    def do_split(self, nodes, net):
        self._check_net(net)
        for number in [self._number(name) for name in nodes]:
            self._network.plug(number, APART, net)

    def do_block(self, sender, receiver):
        sender_number, receiver_number = self._number(sender), self._number(receiver)
        if sender_number == receiver_number:
            raise TestbedError(f"{sender} cannot be kept from itself\n  try: two different nodes")
        self._network.block(sender_number, receiver_number)

    def do_slow(self, node, delay_ms, rate, net):
        self._check_net(net)
        self._network.slow(self._number(node), delay_ms, rate, net)

    def do_freeze(self, node):
        number = self._living(node)
        self._set_frozen(number, True)
        self._lives[number].frozen = True

    def do_thaw(self, node):
        number = self._living(node)
        self._set_frozen(number, False)
        self._lives[number].frozen = False


def _await_ready(number, pipe, deadline):
    with selectors.DefaultSelector() as waiting:
        waiting.register(pipe, selectors.EVENT_READ)
        if not waiting.select(max(0, deadline - time.monotonic())):
            raise TestbedError(f"{node_name(number)} did not come up within {BOOT_LIMIT_S} s")
    said = os.read(pipe, REQUEST_BYTES)
    if said != node.READY:
        raise TestbedError(f"{node_name(number)} did not come up: {said.decode(errors='replace') or 'it ended'}")


def _reply(connection, value):
    try:
        connection.sendall(json.dumps(value).encode() + b"\n")
    except OSError:
        pass  # it did not wait for the answer
