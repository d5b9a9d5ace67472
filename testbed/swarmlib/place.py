"""The state directory of one swarm, and the only thing outside of it: its cgroups.

    control   socket of the fabric     lock     held by the fabric as long as it lives; its process number
    etc ssh   what nodes see as /etc/hosts, /etc/nsswitch.conf and /etc/ssh
    slurm     of a swarm with Slurm: slurm.py says more
    log       of the fabric, each node and each daemon of Slurm
    nodes/nodeN/{tmp,home}   the disk of a node: outlives its crash, for whoever wants to know why
"""

import fcntl
import hashlib
import os
import shutil
import socket
import stat
import time
from pathlib import Path

from swarmlib.kernel import TestbedError, command

FOLDERS = ("etc", "ssh", "slurm", "log", "nodes")
MARK = "this is a swarm"  # a file of this name: what lies here is ours to remove
CGROUP_LIMIT_S = 10
POLL_S = 0.01

SSHD_CONFIG = """\
HostKey /etc/ssh/host_key
AuthorizedKeysFile /etc/ssh/authorized_keys
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
UsePAM no
UseDNS no
MaxStartups 200
MaxSessions 200
SetEnv TIDE_SHARED_HOST=1
PidFile none
PrintMotd no
"""
SSH_CONFIG = """\
Host *
  IdentityFile /etc/ssh/identity
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
  BatchMode yes
  ConnectTimeout 10
  KexAlgorithms curve25519-sha256
"""
NSSWITCH = """\
passwd: files
group: files
hosts: files
"""


def default_folder():
    base = os.environ.get("TMPDIR") or "/tmp"
    return Path(os.environ.get("SWARM_DIR") or Path(base) / f"tide-swarm.{os.getuid()}")


class Place:
    def __init__(self, folder=None):
        self.folder = Path(os.path.abspath(folder or default_folder()))
        digest = hashlib.sha256(str(self.folder).encode()).hexdigest()[:12]
        self._cgroup_name = f"tide-swarm.{digest}"

    def __truediv__(self, name):
        return self.folder / name

    def log(self, name):
        return self.folder / "log" / f"{name}.log"

    def disk(self, name):
        return self.folder / "nodes" / name

    # ---- one owner ----

    def lock(self):
        """The open lock file, held until it is closed; None where a living fabric holds it."""
        file = open(self.folder / "lock", "a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file.fileno()), os.stat(file.name)):
                return file
        except (BlockingIOError, FileNotFoundError):
            pass
        file.close()
        return None

    def holder(self):
        """The process number of the fabric, or None where none lives."""
        if not (self.folder / "lock").exists():
            return None
        file = self.lock()
        if file:
            file.close()
            return None
        words = (self.folder / "lock").read_text().split()
        return int(words[0]) if words else 0

    def socket_address(self):
        """Ways to sockets are limited to 108 bytes: go by the folder's descriptor. (address, descriptor)"""
        descriptor = os.open(self.folder, os.O_PATH | os.O_DIRECTORY)
        return f"/proc/self/fd/{descriptor}/control", descriptor

    def connect(self, limit_s):
        """A connection to the fabric; OSError where none listens."""
        address, descriptor = self.socket_address()
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            link.settimeout(limit_s)
            link.connect(address)
            return link
        except OSError:
            link.close()
            raise
        finally:
            os.close(descriptor)

    # ---- files ----

    def create(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        known = (self.folder / MARK).exists()
        if not known and any(self.folder.iterdir()):
            raise TestbedError(f"{self.folder} holds other files\n  try: SWARM_DIR=DIR with a directory of its own")
        if stat.S_IMODE(self.folder.stat().st_mode) & 0o022:
            self.folder.chmod(0o755)
        (self.folder / MARK).touch()
        for name in FOLDERS:
            (self.folder / name).mkdir(exist_ok=True)
        (self.folder / "ssh").chmod(0o700)

    def furnish(self, hosts):
        """The files that nodes see; `hosts` is {address: names}."""
        lines = ["127.0.0.1 localhost", *(f"{address} {names}" for address, names in hosts.items())]
        (self.folder / "etc/hosts").write_text("\n".join(lines) + "\n")
        (self.folder / "etc/nsswitch.conf").write_text(NSSWITCH)
        ssh = self.folder / "ssh"
        (ssh / "sshd_config").write_text(SSHD_CONFIG)
        (ssh / "ssh_config").write_text(SSH_CONFIG)
        for name in ("host_key", "identity"):
            if not (ssh / name).exists():
                command(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", ssh / name])
        shutil.copy(ssh / "identity.pub", ssh / "authorized_keys")

    def forget(self):
        """Removes what a swarm left, its disks and logs, too. Nothing of it may be running."""
        self.remove_cgroups()
        if not (self.folder / MARK).exists():
            return
        (self.folder / "control").unlink(missing_ok=True)
        for name in FOLDERS:
            shutil.rmtree(self.folder / name, ignore_errors=True)
        (self.folder / "lock").unlink(missing_ok=True)
        (self.folder / MARK).unlink()
        try:
            self.folder.rmdir()
        except OSError:
            pass  # somebody keeps something here

    # ---- cgroups ----

    def cgroup(self):
        """Where the cgroups of the nodes are, or None where the machine has no cgroup2 we may use."""
        with open("/proc/self/mounts") as mounts:
            for line in mounts:
                words = line.split()
                if words[2] == "cgroup2" and os.access(words[1], os.W_OK):
                    return Path(words[1]) / self._cgroup_name
        return None

    def remove_cgroups(self):
        """Ends what still runs in them: a node whose fabric was killed may be on its way out."""
        top = self.cgroup()
        if top is None or not top.exists():
            return
        (top / "cgroup.kill").write_text("1")
        deadline = time.monotonic() + CGROUP_LIMIT_S
        for group in [*(path for path in top.iterdir() if path.is_dir()), top]:
            while group.exists():
                try:
                    group.rmdir()
                except OSError as error:
                    if time.monotonic() > deadline:
                        raise TestbedError(f"{group} cannot be removed: {error.strerror}") from None
                    time.sleep(POLL_S)
