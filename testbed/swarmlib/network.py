"""The switches and cables between nodes, and what can go wrong with them.

Each net has a bridge in the fabric and a second one, "apart", for those on the other side of a partition. A
node has one network namespace for all its lives, which answers for its address also while nothing runs there."""

import os
from dataclasses import dataclass

from swarmlib import kernel
from swarmlib.kernel import CLONE_NEWNET, command
from swarmlib.wire import Wire

MOST_NODES = 1000
NETNS_FOLDER = "/run/netns"  # where `ip -n` looks; the fabric has a /run of its own
FABRIC_NET = "/run/fabric-net"  # the way back
NOBODYS_MAC = "02:ff:ff:ff:ff:ff"
MAIN, APART, CUT = "main", "apart", "cut"


def node_name(node):
    return f"node{node}"


def address(node, net):
    return f"10.{76 + net}.{node >> 8}.{node & 255}"


def mac(node, net):
    return f"02:00:00:{net:02x}:{node >> 8:02x}:{node & 255:02x}"


def hosts(count, nets):
    """{address: names} for /etc/hosts: a plain name is the address in the first net."""
    first = {address(node, 1): node_name(node) for node in range(1, count + 1)}
    others = {address(node, net): f"{node_name(node)}-net{net}"
              for net in range(2, nets + 1) for node in range(1, count + 1)}
    return {**first, **others}


def _ip_batch(lines, *options):
    command(["ip", *options, "-batch", "-"], "\n".join(lines) + "\n")


@dataclass
class Cable:
    """From a node into one net."""
    node: int
    net: int
    side: str = MAIN
    delay_ms: float = 0
    rate: str | None = None
    wire_pid: int = 0

    @property
    def inside(self):
        return f"eth{self.net - 1}"

    @property
    def outside(self):
        return f"node{self.node}.{self.net}"

    @property
    def wire_ends(self):
        return f"slow{self.node}.{self.net}a", f"slow{self.node}.{self.net}b"

    @property
    def port(self):
        """The interface that is plugged into the bridge."""
        return self.wire_ends[1] if self.delay_ms else self.outside

    @property
    def bridge(self):
        return f"net{self.net}" + ("-apart" if self.side == APART else "")

    def state(self):
        words = [self.side] if self.side != MAIN else []
        words += [f"delay {self.delay_ms:g} ms"] if self.delay_ms else []
        words += [f"rate {self.rate}"] if self.rate else []
        return ", ".join(words) or "ok"


class Network:
    def __init__(self, count, nets):
        self.nodes, self.nets = range(1, count + 1), range(1, nets + 1)
        self._cables = {(node, net): Cable(node, net) for node in self.nodes for net in self.nets}
        self.blocked = set()  # (from, to)

    def cables(self, node, net=0):
        """Those of a node; all of them where no net is named."""
        return [self._cables[node, one] for one in self.nets if net in (0, one)]

    # ---- building ----

    def build(self):
        os.makedirs(NETNS_FOLDER)
        open(FABRIC_NET, "w").close()
        kernel.bind("/proc/self/ns/net", FABRIC_NET)
        for node in self.nodes:
            self._make_namespace(node)
        lines = ["link set lo up"]
        for net in self.nets:
            for bridge in (f"net{net}", f"net{net}-apart"):
                lines += [f"link add {bridge} type bridge forward_delay 0", f"link set {bridge} up"]
        for cable in self._cables.values():
            lines += [f"link add {cable.outside} type veth peer name {cable.inside} netns {node_name(cable.node)}",
                      f"link set {cable.outside} master {cable.bridge} up"]
        _ip_batch(lines)
        for node in self.nodes:
            self._configure(node)

    def _make_namespace(self, node):
        kernel.unshare(CLONE_NEWNET)
        for scope in ("all", "default"):
            try:
                with open(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6", "w") as file:
                    file.write("1")
            except FileNotFoundError:
                pass  # a kernel without it
        path = f"{NETNS_FOLDER}/{node_name(node)}"
        open(path, "w").close()
        kernel.bind("/proc/self/ns/net", path)
        kernel.enter(FABRIC_NET, CLONE_NEWNET)

    def _configure(self, node):
        """Neighbours are fixed: the kernel has one table of 1024 learnt ones for all namespaces together."""
        lines = ["link set lo up"]
        for cable in self.cables(node):
            lines += [f"link set {cable.inside} address {mac(node, cable.net)}",
                      f"addr add {address(node, cable.net)}/16 dev {cable.inside}",
                      f"link set {cable.inside} up"]
            lines += [self._neighbour(cable, peer) for peer in self.nodes if peer != node]
        _ip_batch(lines, "-n", node_name(node))

    def _neighbour(self, cable, peer):
        where = NOBODYS_MAC if (cable.node, peer) in self.blocked else mac(peer, cable.net)
        return f"neigh replace {address(peer, cable.net)} lladdr {where} dev {cable.inside} nud permanent"

    # ---- faults ----

    def plug(self, node, side, net=0):
        """Main bridge, the one apart, or none at all: the node notices nothing but silence."""
        for cable in self.cables(node, net):
            cable.side = side
            command(["ip", "link", "set", cable.port, *(["nomaster"] if side == CUT else ["master", cable.bridge])])

    def block(self, sender, receiver):
        """What `sender` sends to `receiver` goes to an address that nobody has."""
        self.blocked.add((sender, receiver))
        self._tell_neighbours(sender, receiver)

    def _tell_neighbours(self, sender, receiver):
        _ip_batch([self._neighbour(cable, receiver) for cable in self.cables(sender)], "-n", node_name(sender))

    def slow(self, node, delay_ms, rate, net=0):
        for cable in self.cables(node, net):
            self._limit_rate(cable, rate)
            self._delay(cable, delay_ms)

    def heal(self, node, net=0):
        """As if nothing had happened to its cables."""
        for cable in self.cables(node, net):
            self._limit_rate(cable, None)
            self._delay(cable, 0)
        self.plug(node, MAIN, net)
        for pair in [pair for pair in self.blocked if node in pair]:
            self.blocked.discard(pair)
            self._tell_neighbours(*pair)

    def _limit_rate(self, cable, rate):
        for where in (["tc"], ["tc", "-n", node_name(cable.node)]):
            device = cable.inside if len(where) > 1 else cable.outside
            if rate:
                command([*where, "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate, "burst", "32k",
                         "latency", "400ms"])
            elif cable.rate:
                command([*where, "qdisc", "del", "dev", device, "root"])
        cable.rate = rate

    def _delay(self, cable, delay_ms):
        """Puts a slow wire between cable and bridge, or takes it away."""
        if cable.delay_ms:
            _ip_batch([f"link del {cable.wire_ends[0]}"])
            os.kill(cable.wire_pid, 9)
            os.waitpid(cable.wire_pid, 0)
            cable.wire_pid, cable.delay_ms = 0, 0
        if delay_ms:
            near, far = cable.wire_ends
            _ip_batch([f"link set {cable.outside} nomaster", f"link add {near} type veth peer name {far}",
                       f"link set {near} up", f"link set {far} up"])
            wire = Wire(cable.outside, near, delay_ms / 1000)
            cable.delay_ms, cable.wire_pid = delay_ms, self._run_wire(wire)
        if cable.side != CUT:
            command(["ip", "link", "set", cable.port, "master", cable.bridge])

    def _run_wire(self, wire):
        pid = os.fork()
        if pid == 0:
            try:
                kernel.die_with_parent()
                wire.run()
            finally:
                os._exit(0)
        return pid
