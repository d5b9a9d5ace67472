"""Child processes with a time limit, and nothing left of them afterwards."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

TERMINATE_GRACE_S = 5


@dataclass(frozen=True)
class Outcome:
    status: int
    timed_out: bool
    seconds: float

    @property
    def ok(self):
        return self.status == 0 and not self.timed_out

    def describe(self):
        if self.timed_out:
            return f"stopped at its time limit after {self.seconds:.0f} s"
        if self.status < 0:
            return f"ended by signal {signal.Signals(-self.status).name}"
        return f"exit status {self.status}"


class Deadline:
    """A limit for several commands together."""

    def __init__(self, seconds):
        self._until = time.monotonic() + seconds

    def left_s(self):
        return max(0.0, self._until - time.monotonic())


def _end_group(process):
    for number, wait_s in ((signal.SIGTERM, TERMINATE_GRACE_S), (signal.SIGKILL, TERMINATE_GRACE_S)):
        try:
            os.killpg(process.pid, number)
            process.wait(wait_s)
            return
        except ProcessLookupError:
            process.wait()
            return
        except subprocess.TimeoutExpired:
            continue


def run_logged(argv, log, limit_s, *, cwd=None, env=None):
    """Runs `argv` with both outputs appended to the file `log`. At the limit, and when this
    program is interrupted, the whole process group is ended."""
    began = time.monotonic()
    with open(log, "ab") as sink:
        sink.write(f"$ {' '.join(map(str, argv))}\n".encode())
        sink.flush()
        process = subprocess.Popen([str(part) for part in argv], stdin=subprocess.DEVNULL,
                                   stdout=sink, stderr=subprocess.STDOUT, cwd=cwd, env=env,
                                   start_new_session=True)
        timed_out = False
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            if process.poll() is None:
                _end_group(process)
    return Outcome(process.returncode, timed_out, time.monotonic() - began)


def capture(argv, limit_s, *, cwd=None, env=None):
    """Standard output of a short command that must succeed; raises where it does not."""
    done = subprocess.run([str(part) for part in argv], stdin=subprocess.DEVNULL, cwd=cwd, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit_s)
    if done.returncode != 0:
        raise RuntimeError(f"{argv[0]}: exit status {done.returncode}\n{done.stderr.decode()}")
    return done.stdout.decode()


def tail(path, lines):
    """The last lines of a file, as text; empty where there is none."""
    try:
        return "\n".join(Path(path).read_text(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return ""


def processes_using(directory):
    """Pids of processes whose TMPDIR is `directory` or lies below it."""
    wanted = f"TMPDIR={directory}"
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if any(v == wanted or v.startswith(wanted + "/") for v in environment):
            found.append(int(entry.name))
    return found


def end_all_using(directory):
    """Kills what processes_using() finds and returns their pids; used after a lane that died."""
    pids = processes_using(directory)
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return pids
