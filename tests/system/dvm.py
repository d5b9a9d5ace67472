"""A DVM for a test: started in a private place, driven by the real commands, always taken down.

    with Dvm(nodes=4, prtemca={"rml_radix": 2}) as dvm:
        done = dvm.run("-n", "4", "hostname")
        assert done.returncode == 0
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("TIDE_BIN") or ROOT / "build" / "release" / "bin")
TIME_SCALE = float(os.environ.get("TIDE_TIME_SCALE") or 1)  # sanitizer builds are slower

UP_LIMIT_S = 30
DOWN_LIMIT_S = 20
RUN_LIMIT_S = 30
END_LIMIT_S = 10  # for processes to be gone once they were told to
POLL_S = 0.02
SHOWN_LOG_LINES = 60

_live = []


def live_dvms():
    """Those not yet closed, for the logs in a failure's report."""
    return list(_live)


def wait_until(condition, limit_s=END_LIMIT_S, what="condition"):
    """Polls until condition() is true and returns its value; fails at the limit."""
    deadline = time.monotonic() + limit_s * TIME_SCALE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {limit_s * TIME_SCALE:.0f} s")
        time.sleep(POLL_S)


def is_alive(pid):
    """Does this process run? A zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def transitions_in(log_text, job):
    """The states that a head's log shows for the job of this number, in order."""
    steps = re.findall(rf"job \S+@{job}: PRTE_JOB_STATE_(\w+) -> PRTE_JOB_STATE_(\w+)", log_text)
    for (_, reached), (left, _) in zip(steps, steps[1:]):
        assert reached == left, f"job {job} leaves {left}, which it had not reached: {steps}"
    return [steps[0][0]] + [reached for _, reached in steps] if steps else []


def processes_in(tmpdir):
    """{pid: command line} of living processes whose TMPDIR is `tmpdir`."""
    wanted = f"TMPDIR={tmpdir}".encode()
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0") and is_alive(entry.name):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(entry.name)] = words.decode(errors="replace").strip()
        except OSError:
            continue
    return found


class Dvm:
    """One DVM in a TMPDIR and HOME of its own, so that it is the only one its commands see."""

    def __init__(self, nodes=4, slots=None, name=None, prtemca=None, env=None, up_options=()):
        self.nodes = nodes
        self.name = name
        self.tmpdir = Path(tempfile.mkdtemp(prefix="d"))
        self.env = {key: value for key, value in os.environ.items()
                    if not key.startswith(("PRTE_MCA_", "PMIX_"))}
        self.env.update(TMPDIR=str(self.tmpdir), HOME=str(self.tmpdir))
        self.env["PATH"] = f"{BIN}:{self.env.get('PATH', '/usr/bin:/bin')}"
        self.env.update(env or {})
        self._up_argv = ["up", "--nodes", str(nodes), *up_options]
        if slots is not None:
            self._up_argv += ["--slots", str(slots)]
        if name is not None:
            self._up_argv += ["--dvm", name]
        for key, value in (prtemca or {}).items():
            self._up_argv += ["--prtemca", key, str(value)]
        self._is_up = False
        self._background = []
        _live.append(self)

    def __enter__(self):
        try:
            return self.up()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_):
        self.close()

    # ---- life ----

    def up(self):
        """Starts it and returns self; a failure shows what `tide up` said."""
        done = self.tool("tide", *self._up_argv, limit_s=UP_LIMIT_S)
        assert done.returncode == 0, f"tide up: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        self._is_up = True
        return self

    def down(self, *options):
        """`tide down`, which must succeed and leave no process behind."""
        done = self.tool("tide", "down", *options, limit_s=DOWN_LIMIT_S)
        self._is_up = False
        assert done.returncode == 0, f"tide down: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        left = self._processes_left()
        assert not left, f"left behind by tide down: {left}"
        files = self.files_left()
        assert not files, f"left behind by tide down: {files}"
        return done

    def close(self, *down_options):
        """Takes the DVM down whatever state it is in and removes its files. Fails when a clean
        down left processes; what a broken one left is killed without complaint."""
        if self not in _live:
            return
        try:
            self._end_background()
            if self._is_up:
                self.down(*down_options)
        finally:
            for pid in processes_in(self.tmpdir):
                _kill(pid)
            shutil.rmtree(self.tmpdir, ignore_errors=True)
            _live.remove(self)

    def abandon(self):
        """For tests that destroy the DVM themselves: close() will not ask it to go down."""
        self._is_up = False

    def _processes_left(self):
        ours = {process.pid for process in self._background}
        deadline = time.monotonic() + END_LIMIT_S * TIME_SCALE
        while True:
            left = {pid: words for pid, words in processes_in(self.tmpdir).items() if pid not in ours}
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(POLL_S)

    def _end_background(self):
        for process in self._background:
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        self._background.clear()

    # ---- commands ----

    def tool(self, program, *argv, limit_s=RUN_LIMIT_S, text=True, input=None, env=None, cwd=None):
        """Runs any of our programs to its end; both outputs are captured."""
        given = {"input": input} if input is not None else {"stdin": subprocess.DEVNULL}
        return subprocess.run(self._argv(program, argv), capture_output=True, text=text,
                              env={**self.env, **(env or {})}, cwd=cwd or self.tmpdir,
                              timeout=limit_s * TIME_SCALE, **given)

    def _argv(self, program, argv):
        return [str(BIN / program), *map(str, argv)]

    def shell(self, script, limit_s=RUN_LIMIT_S):
        """A shell command line in which our programs are found; both outputs are captured."""
        path = f"{BIN}:{self.env.get('PATH', os.defpath)}"
        return subprocess.run(["sh", "-c", script], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**self.env, "PATH": path}, cwd=self.tmpdir, timeout=limit_s * TIME_SCALE)

    def run(self, *argv, **options):
        """`tide run …` to its end."""
        return self.tool("tide", "run", *argv, **options)

    def start(self, program, *argv, stdin=subprocess.DEVNULL, text=True, env=None):
        """Starts one of our programs in the background; close() ends it if it still runs."""
        process = subprocess.Popen(self._argv(program, argv), stdin=stdin,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=text,
                                   env={**self.env, **(env or {})}, cwd=self.tmpdir)
        self._background.append(process)
        return process

    def finish(self, process, limit_s=RUN_LIMIT_S):
        """Waits for what start() began and returns it as run() would."""
        out, err = process.communicate(timeout=limit_s * TIME_SCALE)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def status(self):
        """`tide status --json`, parsed."""
        return self._json("status")

    def jobs(self, *options):
        """`tide jobs --json`, parsed."""
        return self._json("jobs", *options)

    def _json(self, *argv):
        done = self.tool("tide", *argv, "--json")
        assert done.returncode == 0, f"tide {argv[0]}: {done.stderr}"
        return json.loads(done.stdout)

    # ---- its processes and files ----

    def head_pid(self):
        return self.status()["dvm"]["pid"]

    def daemon_pids(self):
        """{node name: pid} of the daemons that live now."""
        return {node["name"]: node["pid"] for node in self.status()["nodes"]}

    def kill_daemon(self, node):
        """SIGKILL for the daemon of one node; returns its pid."""
        pid = self.daemon_pids()[node]
        os.kill(pid, signal.SIGKILL)
        return pid

    def processes(self):
        """{pid: command line} of all that runs for this DVM."""
        return processes_in(self.tmpdir)

    def files_left(self):
        """What there is in the place for run directories; an empty folder is not counted."""
        left = []
        for directory in self.tmpdir.glob("prte.*"):
            with contextlib.suppress(FileNotFoundError):  # it goes while we look
                left += [str(path) for path in directory.iterdir()]
        return left

    def log_text(self, node="head"):
        """The log of the head or a node as far as it is written; logging is asynchronous."""
        directory = self.run_directory()
        path = directory / "logs" / f"{node}.log" if directory else None
        return path.read_text(errors="replace") if path and path.exists() else ""

    def transitions(self, job):
        """[state, …] that the head logged for one job (a number), without the common prefix;
        empty below state_base_verbose 1. Job 0 is the DVM itself."""
        return transitions_in(self.log_text(), job)

    def run_directory(self):
        """The folder with socket, dvm.json and logs; None when there is none."""
        found = [path.parent for path in self.tmpdir.glob("prte.*/*/dvm.json")]
        return found[0] if found else None

    def pmix_file(self, node):
        """Where a tool reads how to reach the server of this daemon."""
        return str(next(self.run_directory().glob(f"pmix.{node}.*/pmix.*.tool.*-*")))

    def log_sections(self):
        """(title, text) of the end of each log, for a failure's report."""
        return [(f"{path.name} of the DVM in {self.tmpdir.name}",
                 "\n".join(path.read_text(errors="replace").splitlines()[-SHOWN_LOG_LINES:]))
                for path in sorted(self.tmpdir.glob("prte.*/*/logs/*.log"))]


class DvmByPrte(Dvm):
    """One that `prte` starts, with the arguments `_up_argv`."""

    up_limit_s = UP_LIMIT_S
    program = "prte"  # or a path

    def try_up(self, limit_s=None):
        """`prte`, which may fail: its exit status and what it said."""
        done = self.tool(self.program, *self._up_argv, limit_s=limit_s or self.up_limit_s)
        self._is_up = done.returncode == 0
        return done

    def up(self):
        done = self.try_up()
        assert done.returncode == 0, f"prte: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        return self


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
