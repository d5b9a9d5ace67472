"""What the testbed wants of the kernel and Python 3.11 has no call for."""

import ctypes
import os
import signal
import subprocess

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15
COMMAND_LIMIT_S = 60

_libc = ctypes.CDLL(None, use_errno=True)


class TestbedError(Exception):
    """Said to people as it is: what, and after "try:" what to do."""


def _call(name, *arguments):
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def unshare(flags):
    _call("unshare", flags)


def enter(path, flag):
    """Enters the namespace behind a file such as /proc/self/ns/net."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _call("setns", descriptor, flag)
    finally:
        os.close(descriptor)


def _mount(source, target, kind, flags, options=None):
    as_bytes = [None if value is None else str(value).encode() for value in (source, target, kind, options)]
    try:
        _call("mount", *as_bytes[:3], ctypes.c_ulong(flags), as_bytes[3])
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} ({source or kind} at {target})") from None


def bind(source, target):
    _mount(source, target, None, MS_BIND | MS_REC)


def mount_new(kind, target, options=None):
    _mount(kind, target, kind, 0, options)


def make_mounts_private():
    _mount(None, "/", None, MS_REC | MS_PRIVATE)


def die_with_parent():
    _call("prctl", PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def set_process_name(name):
    _call("prctl", PR_SET_NAME, name.encode()[:15], 0, 0, 0)


def attempt(argv, text=None, env=None, limit_s=COMMAND_LIMIT_S):
    """Runs a short command to its end."""
    return subprocess.run([str(word) for word in argv], input=text, capture_output=True, text=True, env=env, timeout=limit_s)


def command(argv, text=None, env=None):
    """The same for one that must succeed; its standard output."""
    done = attempt(argv, text, env)
    if done.returncode != 0:
        raise TestbedError(f"{' '.join(map(str, argv))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def is_alive(pid):
    """Does this process run? A zombie does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False
