"""Several machines for a test, without root, and a DVM over them; see other_machine.py."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from dvm import END_LIMIT_S, DvmByPrte, processes_in, wait_until
from left_behind import files_in

PLAYER = Path(__file__).with_name("other_machine.py")

# What ssh says where it does not get to alpha, and what we say then.
UNREACHABLE = {
    "authentication": ("me@alpha: Permission denied (publickey).\n", "alpha does not let us in without a password"),
    "host-key": ("Host key verification failed.\n", "the host key of alpha is not known here"),
    "refused": ("ssh: connect to host alpha port 22: Connection refused\n", "alpha is there and takes no connection"),
    "unreachable": ("ssh: connect to host alpha port 22: No route to host\n", "there is no way to alpha in the network"),
    "closed": ("kex_exchange_identification: Connection closed by remote host\n",
               "alpha broke off the connection before the login"),
    "silent": ("ssh: connect to host alpha port 22: Connection timed out\n", "no answer from alpha within 1 s")}

# What runs in place of prted, and what we say then.
WRONG_PRTED = {
    "program": ("exec /no/such/prted", "alpha has no "),
    "library": ("echo 'prted: error while loading shared libraries: libx.so: cannot open' >&2; exit 127",
                "a library that prted needs is missing on alpha"),
    "version": ("printf '\\ntide-daemon-at-your-service 99 7.0\\n'; exec cat >/dev/null",
                "prted on alpha is of version 7.0, this is version "),
    "daemon": ("printf '\\ntide-daemon-at-your-service 1 7.0\\n'; echo 'prted: no memory' >&2; exit 71",
               "the daemon was started on alpha and did not come up (exit status 71)\n    prted: no memory"),
    "other": ("echo strange >&2; exit 3", "ended with exit status 3 and without a word from prted\n    strange")}


def write_program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


class Machines:
    """Machines of these names, each with a TMPDIR of its own below `folder`."""

    def __init__(self, *names):
        self.folder = Path(tempfile.mkdtemp(prefix="m"))
        self._processes = {}
        self.agent = self.folder / "ssh"
        self.agent.write_text(f'#!/bin/sh\nexec {sys.executable} {PLAYER} reach {self.folder} "$@"\n')
        self.agent.chmod(0o755)
        for name in names:
            self.boot(name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def boot(self, name):
        (self.folder / name / "tmp").mkdir(parents=True)
        self._processes[name] = subprocess.Popen([sys.executable, PLAYER, "be", str(self.folder / name)],
                                                 stdin=subprocess.DEVNULL)
        wait_until(lambda: (self.folder / name / "door").exists(), what=f"{name} is up")

    def stop(self, name):
        """It takes connections, as its kernel does, and answers nobody until go_on()."""
        os.kill(self._processes[name].pid, signal.SIGSTOP)

    def go_on(self, name):
        os.kill(self._processes[name].pid, signal.SIGCONT)

    def rule(self, name, text):
        (self.folder / name / "rules").write_text(text)

    def callers(self):
        """{machine: the machine that reached it by ssh}, where this one is empty."""
        lines = (self.folder / "calls").read_text().splitlines()
        return dict(line.split(" ", 1) for line in lines)

    def tmpdir(self, name):
        return self.folder / name / "tmp"

    def processes(self, name):
        """{pid: command line} of what runs there."""
        return processes_in(self.tmpdir(name))

    def files(self, name):
        return files_in(self.tmpdir(name))

    def left(self):
        """All that runs or lies on any of them."""
        return [(name, *found) for name in self._processes
                for found in (*self.processes(name).items(), *((file,) for file in self.files(name)))]

    def assert_nothing_left(self, limit_s=END_LIMIT_S):
        try:
            wait_until(lambda: not self.left(), limit_s=limit_s)
        except AssertionError:
            raise AssertionError(f"left on other machines: {self.left()}")

    def close(self):
        for name, process in self._processes.items():
            process.kill()
            process.wait()
            for pid in self.processes(name):
                os.kill(pid, 9)
        shutil.rmtree(self.folder, ignore_errors=True)


class DvmOverMachines(DvmByPrte):
    """Its head is on this machine; `hosts` is the text of a hostfile, or names."""

    def __init__(self, machines, hosts, up_options=(), prtemca=None, agent=None):
        super().__init__(nodes=1)
        self.machines = machines
        text = hosts if isinstance(hosts, str) else "".join(f"{host} slots=2\n" for host in hosts)
        (self.tmpdir / "hosts").write_text(text)
        self._up_argv = ["--daemonize", "--hostfile", str(self.tmpdir / "hosts"),
                         "--prtemca", "plm_ssh_agent", str(agent or machines.agent), *up_options]
        for key, value in (prtemca or {}).items():
            self._up_argv += ["--prtemca", key, str(value)]

    def start_up(self):
        """`prte` in the background, for tests of what happens while it starts."""
        return self.start("prte", *self._up_argv)

    def down(self, *options):
        done = super().down(*options)
        self.machines.assert_nothing_left()
        return done
