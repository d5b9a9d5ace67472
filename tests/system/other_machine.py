"""Plays another machine and the ssh that reaches it, on this one and without root.

    other_machine.py be FOLDER            is the machine of that name: runs what it is sent, as its own children
    other_machine.py reach FOLDER … HOST COMMAND
                                          is ssh: gives command and streams to the machine FOLDER/HOST

A machine is a subreaper, so that what its sessions leave stays with it, and runs everything with an environment of its
own in which little is set. Who called whom is in FOLDER/calls. Its file `rules` may say `noise`: a login shell that talks, or `deny TEXT`: nobody is let
in, and ssh says the text.
"""

import array
import ctypes
import os
import select
import signal
import socket
import sys

PR_SET_CHILD_SUBREAPER = 36
COMMAND_BYTES = 65536
STREAMS = 3



# ---- the machine ----

def be(folder):
    """Serves until it is killed."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    door.bind(os.path.join(folder, "door.new"))
    door.listen(64)
    os.rename(os.path.join(folder, "door.new"), os.path.join(folder, "door"))
    bell = _bell_of_children()
    sessions = {}
    while True:
        ready, _, _ = select.select([door, bell], [], [])
        if bell in ready:
            os.read(bell, COMMAND_BYTES)
            _reap(sessions)
        if door not in ready:
            continue
        caller, _ = door.accept()
        command, streams = _receive(caller)
        sessions[_run(folder, command, streams, door, caller)] = caller
        for stream in streams:
            os.close(stream)


def _bell_of_children():
    """Readable when a child has ended."""
    bell, rope = os.pipe()
    os.set_blocking(rope, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(rope, warn_on_full_buffer=False)
    return bell


def _reap(sessions):
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        caller = sessions.pop(pid, None)
        if caller is None:
            continue
        code = os.waitstatus_to_exitcode(status)
        try:
            caller.sendall(b"%d" % (code if code >= 0 else 255))
        except OSError:
            pass  # the caller was killed meanwhile
        caller.close()


def _receive(caller):
    fds = array.array("i")
    caller.settimeout(10)
    data, ancillary, _, _ = caller.recvmsg(COMMAND_BYTES, socket.CMSG_LEN(STREAMS * fds.itemsize))
    for _, _, payload in ancillary:
        fds.frombytes(payload)
    return data.decode(), list(fds)


def _run(folder, command, streams, door, caller):
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        door.close()
        caller.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        if "noise" in rules(folder):
            os.write(1, b"Welcome to this machine!\nhave a lot of \xff fun> ")
        os.closerange(STREAMS, 256)
        os.chdir("/")
        os.execve("/bin/sh", ["sh", "-c", command],
                  {"TMPDIR": os.path.join(folder, "tmp"), "TIDE_MACHINE": folder, **_of_sanitizers()})
    finally:
        os._exit(127)


def _of_sanitizers():
    """Where their reports go, and which leaks are not ours: without it they are silent here, or talk to ssh."""
    return {key: os.environ[key] for key in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS") if key in os.environ}


def rules(folder):
    try:
        with open(os.path.join(folder, "rules"), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


# ---- ssh ----

def reach(folder, host, command):
    place = os.path.join(folder, host)
    said = rules(place)
    if said.startswith("deny "):
        sys.stderr.write(said[len("deny "):])
        return 255
    with open(os.path.join(folder, "calls"), "a", encoding="utf-8") as calls:
        calls.write(f"{host} {os.path.basename(os.environ.get('TIDE_MACHINE', ''))}\n")
    caller = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        caller.connect(os.path.join(place, "door"))
    except FileNotFoundError:
        sys.stderr.write(f"ssh: Could not resolve hostname {host}: Name or service not known\r\n")
        return 255
    except ConnectionRefusedError:
        sys.stderr.write(f"ssh: connect to host {host} port 22: Connection refused\r\n")
        return 255
    caller.sendmsg([command.encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", range(STREAMS)))])
    return int(caller.recv(64) or b"255")


if __name__ == "__main__":
    if sys.argv[1] == "be":
        be(sys.argv[2])
    else:
        sys.exit(reach(sys.argv[2], *sys.argv[-2:]))
