"""Processes from outside: who is there, what they hold, and the means to hit exactly one of them."""

import ctypes
import os
import signal
import socket
import time
from dataclasses import dataclass
from pathlib import Path

SYS_PIDFD_GETFD = 438
EXEC_LOOKS, EXEC_LOOK_S = 200, 0.005
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    zombie: bool
    command: str
    environment: frozenset

    def has(self, word):
        return word in self.command or f"CHAOS_WORD={word}" in self.environment

    def variable(self, name):
        return next((each[len(name) + 1:] for each in self.environment if each.startswith(name + "=")), "")


def look_at(pid):
    """The process of this number, or None where there is none (any more)."""
    folder = Path(f"/proc/{pid}")
    try:
        state, parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:2]
        command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        environment = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
    except PermissionError:
        environment = []
    except OSError:
        return None
    return Process(int(pid), int(parent), state in "ZX", command, frozenset(environment))


def everybody():
    return [found for entry in os.listdir("/proc") if entry.isdigit() and (found := look_at(entry))]


def descriptors(pid):
    """How many it has open; None where it is gone."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None


def resident_kib(pid):
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    except OSError:
        pass
    return None


class Handle:
    """Holds on to one process, so that a number that means somebody else by now is never hit."""

    def __init__(self, pid, expected=""):
        """Raises ProcessLookupError where it is gone, or its command line does not contain `expected`."""
        self.pid = pid
        self._fd = os.pidfd_open(pid)
        seen = look_at(pid)
        for _ in range(EXEC_LOOKS):  # in the middle of an execve it has no command line
            if seen is None or seen.zombie or seen.command:
                break
            time.sleep(EXEC_LOOK_S)
            seen = look_at(pid)
        if seen is None or seen.zombie or expected not in seen.command:
            os.close(self._fd)
            raise ProcessLookupError(f"{pid} is not a living process with '{expected}' in its command line")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._fd)

    def send(self, number):
        signal.pidfd_send_signal(self._fd, number)

    def _borrow(self, descriptor):
        fd = _libc.syscall(SYS_PIDFD_GETFD, self._fd, descriptor, 0)
        if fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return fd

    def connections(self, family):
        """Its connected sockets of this family, as sockets of ours; listening ones are not connections."""
        found = []
        for name in sorted(os.listdir(f"/proc/{self.pid}/fd"), key=int):
            try:
                if not os.readlink(f"/proc/{self.pid}/fd/{name}").startswith("socket:"):
                    continue
                mine = socket.socket(fileno=self._borrow(int(name)))
            except OSError:
                continue  # closed meanwhile
            try:
                if mine.family != family or mine.type != socket.SOCK_STREAM:
                    raise OSError("another kind")
                mine.getpeername()
                found.append(mine)
            except OSError:
                mine.close()
        return found

    def cut(self, family, number):
        """Shuts one of its connections down in both directions, as a broken network would; False if there is none."""
        connections = self.connections(family)
        try:
            if not connections:
                return False
            connections[number % len(connections)].shutdown(socket.SHUT_RDWR)
            return True
        except OSError:
            return False  # the other side was quicker
        finally:
            for each in connections:
                each.close()


def may_borrow_descriptors():
    """None, or why connections of other processes can't be reached here."""
    try:
        fd = os.pidfd_open(os.getpid())
        got = _libc.syscall(SYS_PIDFD_GETFD, fd, 0, 0)
        os.close(fd)
        if got < 0:
            return f"pidfd_getfd: {os.strerror(ctypes.get_errno())}"
        os.close(got)
        return None
    except OSError as error:
        return f"pidfd_open: {error.strerror}"
