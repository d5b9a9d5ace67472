"""A swarm for tests: brought up by the real command, broken and mended by name, searched for what was left."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from dvm import is_alive, wait_until
from swarmlib.client import Swarm
from swarmlib.node import SSHD

COMMAND = Path(__file__).resolve().parents[2] / "testbed" / "swarm"
COMMAND_LIMIT_S = 60
GONE_LIMIT_S = 15
SSHD_LISTENER = "sshd: /usr/sbin/sshd"


def command(folder, *words, limit_s=COMMAND_LIMIT_S, check=False, wrap=()):
    """`swarm …` for the swarm in this folder, to its end."""
    done = subprocess.run([*wrap, str(COMMAND), *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "SWARM_DIR": str(folder)}, timeout=limit_s)
    assert not check or done.returncode == 0, f"swarm {words[0]}: {done.stderr}"
    return done


def process_table():
    """{pid: (its process namespace, its command line)} of the living on this machine."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            space = os.readlink(entry / "ns/pid")
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        if words and is_alive(entry.name):
            found[int(entry.name)] = (space, words)
    return found


class Bed:
    own = (SSHD_LISTENER,)  # how the command lines begin of what a node runs by itself

    def __init__(self, count, *options):
        self.count, self._options = count, options
        self.folder = Path(tempfile.mkdtemp(prefix="sw"))
        self.swarm = Swarm(self.folder)
        self._crashed, self._without_sshd = set(), set()

    def __enter__(self):
        try:
            self("up", self.count, "--with-pid", os.getpid(), *self._options)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self._described = {node["name"]: node for node in self.nodes()}
        self._known_files = self._files()
        return self

    def __exit__(self, *_):
        self("down")
        shutil.rmtree(self.folder, ignore_errors=True)

    def __call__(self, *words):
        """A command of the testbed that must succeed; its output."""
        return command(self.folder, *words, check=True).stdout

    def nodes(self):
        return json.loads(self("list", "--json"))["nodes"]

    def names(self, count=None):
        return [f"node{number}" for number in range(1, (count or self.count) + 1)]

    def disk(self, name):
        """Its /tmp, seen from outside, also when it is down."""
        return Path(self._described[name]["tmp"])

    # ---- commands in nodes ----

    def argv(self, name, *words):
        return self.swarm.argv_in(self._described[name], words)

    def run(self, name, *words, env=None, limit_s=COMMAND_LIMIT_S):
        return subprocess.run(self.argv(name, *words), capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env=self.swarm.environment(env), timeout=limit_s)

    # ---- faults ----

    def crash(self, name, silent=False):
        self.swarm.ask("crash", node=name, silent=silent)
        self._crashed.add(name)

    def cut(self, name, net=0):
        self.swarm.ask("cut", node=name, net=net)

    def split(self, names):
        self.swarm.ask("split", nodes=list(names), net=0)

    def freeze(self, name):
        self.swarm.ask("freeze", node=name)

    def thaw(self, name):
        self.swarm.ask("thaw", node=name)

    def heal(self, name):
        self.swarm.ask("heal", node=name, net=0)

    def refuse(self, name):
        """Nobody can log in there any more; all that runs there goes on."""
        for pid in self._listeners(name):
            os.kill(pid, 9)
        wait_until(lambda: not self._listeners(name), what=f"the sshd of {name} is gone")
        self._without_sshd.add(name)

    def _listeners(self, name):
        space = os.readlink(f"/proc/{self._described[name]['pid']}/ns/pid")
        return [pid for pid, (other, words) in process_table().items() if other == space and words.startswith(SSHD_LISTENER)]

    def _let_in(self, name):
        done = self.run(name, SSHD, "-f", "/etc/ssh/sshd_config", "-E", "/run/sshd.log")
        assert done.returncode == 0, f"sshd on {name}: {done.stderr}"

    def boot(self, name, keep_disk=False):
        self.swarm.ask("boot", node=name)
        self._described[name] = self.swarm.describe(name)
        if not keep_disk:
            self._empty_disk(name)
        self._crashed.discard(name)
        self._without_sshd.discard(name)

    def mend(self):
        """Everything works again: nodes run, links are whole."""
        for node in self.swarm.nodes():
            if node["state"] == "frozen":
                self.thaw(node["name"])
            if node["links"] != ["ok"] * len(node["links"]) or node["cannot_send_to"]:
                self.heal(node["name"])
            if node["state"] == "down":
                self.boot(node["name"])
        for name in sorted(self._without_sshd):
            self._let_in(name)
        self._without_sshd.clear()

    def _empty_disk(self, name):
        for path in self.disk(name).iterdir():
            if str(path) not in self._known_files:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    # ---- what is there ----

    def processes(self, names=None):
        """{(node, pid): command line} of all in these nodes but their first process and what is a node's own."""
        spaces = {}
        for name in names or self.names():
            try:
                spaces[os.readlink(f"/proc/{self._described[name]['pid']}/ns/pid")] = name
            except OSError:
                continue  # it is down: nothing runs there
        firsts = {node["pid"] for node in self._described.values()}
        return {(spaces[space], pid): words for pid, (space, words) in process_table().items()
                if space in spaces and pid not in firsts and not words.startswith(self.own)}

    def outside(self, name, inside):
        """The number of a node's process as this machine has it; `inside` is its number there."""
        for _, pid in self.processes([name]):
            numbers = re.search(r"NSpid:(.*)", Path(f"/proc/{pid}/status").read_text())[1].split()
            if int(numbers[-1]) == inside:
                return pid
        raise AssertionError(f"{name} has no process {inside}")

    def _files(self):
        """Files and folders in the nodes' /tmp and /dev/shm. Empty places for run directories do not count, nor does
        what lies on the disk of a node that crashed: nobody was there to remove it."""
        found = set()
        for name in self.names():
            if name in self._crashed:
                continue
            for top in (self.disk(name), Path("/proc", str(self._described[name]["pid"]), "root", "dev/shm")):
                found |= {str(path) for path in top.iterdir()
                          if not (path.name.startswith("prte.") and path.is_dir() and not any(path.iterdir()))}
        return found

    def left(self):
        """What is in the nodes that was not there when they came up."""
        return [*self.processes().items(), *sorted(self._files() - self._known_files)]

    def assert_nothing_left(self, limit_s=GONE_LIMIT_S):
        seen = []

        def nothing():
            seen[:] = self.left()
            return not seen

        try:
            wait_until(nothing, limit_s=limit_s)
        except AssertionError:
            self._clear()
            raise AssertionError(f"left in the nodes: {seen[:20]} ({len(seen)} in all)") from None

    def _clear(self):
        """So that the next test begins clean whatever this one left."""
        for _, pid in self.processes():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        for name in self.names():
            self._empty_disk(name)
