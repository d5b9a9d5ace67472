"""A swarm as its users see it: bring it up, ask it for things, run commands in it, take it down."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

from swarmlib import node, slurm
from swarmlib.fabric import Fabric
from swarmlib.kernel import TestbedError, set_process_name
from swarmlib.network import MOST_NODES, hosts
from swarmlib.place import Place

ANSWER_LIMIT_S = 90  # a boot may take some time on a busy machine
DOWN_LIMIT_S = 30
TOOK_TOO_LONG = 124  # exit status, as of timeout(1)
POLL_S = 0.01
PACKAGES = {"ip": "iproute2", "tc": "iproute2", node.SSHD: "openssh-server", "ssh": "openssh-client",
            "ssh-keygen": "openssh-client", "nsenter": "util-linux", "setpriv": "util-linux"}
# Not handed on to what runs in a node: its own are different.
NOT_OF_A_NODE = ("TMPDIR", "HOME", "SWARM_DIR", "SSH_AUTH_SOCK")


def why_not(wish=None):
    """None, or why no swarm can be brought up here, with the Slurm that is wished for, and what to do about it."""
    if os.geteuid() != 0:
        return "namespaces need root\n  try: sudo, or run as root"
    missing = sorted({package for program, package in PACKAGES.items() if not shutil.which(program)})
    if missing:
        return f"packages are missing: {' '.join(missing)}\n  try: scripts/install-deps test"
    done = subprocess.run(["unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "true"],
                          capture_output=True, text=True, timeout=ANSWER_LIMIT_S)
    if done.returncode:
        return f"no namespaces: {done.stderr.strip()}\n  try: a machine or container that may make them"
    return slurm.why_not(wish.accounting) if wish else None


class Swarm:
    def __init__(self, folder=None):
        self.place = Place(folder)

    # ---- up and down ----

    def up(self, count, *, second_net=False, shared=(), wish=None, owner=None, foreground=False):
        """Returns when every node answers, and with a wish for Slurm when each is idle there. The swarm ends with the
        process `owner`, where one is named."""
        if not 1 <= count <= MOST_NODES:
            raise TestbedError(f"a swarm has 1 to {MOST_NODES} nodes, not {count}")
        if reason := why_not(wish):
            raise TestbedError(reason)
        owner_descriptor = _open_process(owner)
        self.place.create()
        lock = self.place.lock()
        if lock is None:
            raise TestbedError(f"a swarm is up already in {self.place.folder}\n"
                               "  try: swarm down, or another SWARM_DIR for a second one")
        with lock:
            nets = 2 if second_net else 1
            self._begin_anew(lock, hosts(count, nets))
            shared = [os.path.abspath(path) for path in (_checkout(), *shared)]
            fabric = Fabric(self.place, count, nets, shared, self._furnished(count, wish))
            if foreground:
                self._run(fabric, owner_descriptor, lambda: print(f"swarm of {count} is up", flush=True))
            else:
                self._run_in_background(fabric, owner_descriptor)

    def _begin_anew(self, lock, names):
        """Clears what a dead swarm left here. The lock file, which is ours by now, stays."""
        self.place.remove_cgroups()
        for name in ("control", "nodes", "log", "slurm"):
            path = self.place / name
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        self.place.create()
        self.place.furnish(names)

    def _furnished(self, count, wish):
        if not wish:
            return None
        wished = slurm.Slurm(self.place, count, wish)
        wished.furnish()
        return wished

    def _run(self, fabric, owner, tell_ready):
        """This process is the fabric from now on."""
        set_process_name("swarm-fabric")
        (self.place / "lock").write_text(f"{os.getpid()}\n")
        address, descriptor = self.place.socket_address()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            fabric.start()
            listener.bind(address)
            listener.listen(64)
            os.close(descriptor)
            tell_ready()
            fabric.serve(listener, owner)
        finally:
            fabric.end()

    def _run_in_background(self, fabric, owner):
        told, tells = os.pipe()
        if os.fork() == 0:
            os.close(told)
            _become_background(self.place.log("fabric"))
            status = 1
            try:
                self._run(fabric, owner, lambda: (os.write(tells, b"ready"), os.close(tells)))
                status = 0
            except BaseException as error:
                os.write(tells, str(error).encode())
                raise
            finally:
                sys.stderr.flush()
                os._exit(status)
        os.close(tells)
        with open(told, "rb") as pipe:
            said = pipe.read()
        if said != b"ready":
            log = self.place.log("fabric")
            raise TestbedError(f"{said.decode(errors='replace') or 'the fabric ended'}\n  try: look into {log}")

    def down(self, keep=False):
        """Ends it and removes its files; also what one left that died."""
        if not (self.place / "lock").exists():
            raise _not_up(self.place)
        pid = self.place.holder()
        if pid is not None:
            try:
                self.ask("down", limit_s=DOWN_LIMIT_S)
            except TestbedError:
                _kill(pid)  # it does not answer; the kernel ends its nodes
        lock = _wait(self.place.lock, DOWN_LIMIT_S)
        if not lock:
            raise TestbedError(f"the fabric, process {pid}, does not end")
        with lock:
            self.place.remove_cgroups()
            if not keep:
                self.place.forget()

    # ---- requests ----

    def ask(self, do, limit_s=ANSWER_LIMIT_S, **arguments):
        """What the fabric answers; TestbedError with its reason where it will not."""
        try:
            with self.place.connect(limit_s) as link:
                link.sendall(json.dumps({"do": do, **arguments}).encode() + b"\n")
                line = link.makefile().readline()
        except TimeoutError:
            raise TestbedError(f"the fabric did not answer within {limit_s} s\n  try: swarm down") from None
        except OSError:
            raise _not_up(self.place) from None
        if not line:
            raise TestbedError(f"the fabric ended\n  try: look into {self.place.log('fabric')}")
        answer = json.loads(line)
        if "error" in answer:
            raise TestbedError(answer["error"])
        return answer["ok"]

    def nodes(self):
        return self.ask("list")

    def slurm_controller(self, action):
        """What `swarm slurm ACTION` does; slurm.CONTROLLER_ACTIONS."""
        described = self._running(slurm.CONTROLLER_NODE)
        if not (self.place / slurm.CONFIGURATION).exists():
            raise TestbedError("this swarm has no Slurm\n  try: swarm down, then swarm up N --slurm")
        slurm.Controller(lambda argv: self.argv_in(described, argv)).do(action)

    # ---- commands in a node ----

    def describe(self, name):
        for one in self.nodes():
            if one["name"] == name:
                return one
        return self.ask("cut", node=name, net=0)  # never heard of: the fabric says so

    def _running(self, name):
        described = self.describe(name)
        if described["state"] != "up":
            raise TestbedError(f"{name} is {described['state']}\n"
                               f"  try: swarm {'thaw' if described['state'] == 'frozen' else 'boot'} {name}")
        return described

    def argv_in(self, described, argv, cwd="/"):
        """The command line that runs `argv` in a node; see node.argv_in."""
        return node.argv_in(described, argv, cwd)

    def environment(self, base=None):
        env = {key: value for key, value in (os.environ if base is None else base).items() if key not in NOT_OF_A_NODE}
        return {**env, "HOME": node.home(), "TIDE_SHARED_HOST": "1"}

    def run(self, name, argv, limit_s):
        """Runs it to its end with our own input and output; its exit status."""
        described = self._running(name)
        own_group = not sys.stdin.isatty()  # a shell at a terminal wants to stay in its foreground
        process = subprocess.Popen(self.argv_in(described, argv, os.getcwd()), env=self.environment(),
                                   process_group=0 if own_group else None)
        end = lambda number=signal.SIGKILL: os.killpg(process.pid, number) if own_group else process.send_signal(number)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda number, _: end(number))
        try:
            status = process.wait(limit_s or None)
        except subprocess.TimeoutExpired:
            end()
            process.wait()
            print(f"swarm: no end within {limit_s} s: {' '.join(argv)}", file=sys.stderr)
            return TOOK_TOO_LONG
        return status if status >= 0 else 128 - status


def _checkout():
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _not_up(place):
    return TestbedError(f"no swarm is up in {place.folder}\n  try: swarm up N, or SWARM_DIR=DIR where one is")


def _open_process(pid):
    if pid is None:
        return None
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        raise TestbedError(f"--with-pid {pid}: {error.strerror}") from None


def _become_background(log):
    os.setsid()
    os.chdir("/")
    sink = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for source, target in ((os.open("/dev/null", os.O_RDONLY), 0), (sink, 1), (sink, 2)):
        os.dup2(source, target)


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _wait(condition, limit_s):
    deadline = time.monotonic() + limit_s
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return value
