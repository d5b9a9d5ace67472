"""A client that hands in one job after the other and keeps a record of each."""

import os
import signal
import subprocess
import tempfile
import threading
import time

from dvm import BIN, TIME_SCALE
from kinds import make_job
from procs import everybody
from verdict import Outcome

COMMAND_LIMIT_S = 20 * TIME_SCALE
READ_BYTES = 1 << 16


class Running:
    """A job whose client is running: what the striker may hit."""

    def __init__(self, job, place):
        self.job, self.blows = job, []
        self.began = time.monotonic()
        self.up_at = self.acted_at = None
        self._out, self._err = bytearray(), tempfile.TemporaryFile()
        given = tempfile.TemporaryFile()
        given.write(job.input)
        given.seek(0)
        self._client = subprocess.Popen([str(BIN / job.program), *job.argv], stdin=given, stdout=subprocess.PIPE,
                                        stderr=self._err, env=place.env, cwd=place.tmpdir)
        given.close()
        self.pid = self._client.pid
        self._more = threading.Condition()
        self._eof = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        while data := os.read(self._client.stdout.fileno(), READ_BYTES):
            with self._more:
                self._out += data
                self._more.notify_all()
        with self._more:
            self._eof = True
            self._more.notify_all()

    def ups(self):
        """[(rank, job number, node)] of the whole "up" lines so far."""
        lines = bytes(self._out).decode(errors="replace").splitlines(keepends=True)
        return [line.split()[1:4] for line in lines if line.startswith("up ") and line.endswith("\n")]

    def await_ups(self, limit_s):
        """True once every rank has said "up"; False where the job ended or the time was over before that."""
        with self._more:
            self._more.wait_for(lambda: self._eof or len(self.ups()) >= self.job.ranks, limit_s)
            return len(self.ups()) >= self.job.ranks

    def ended_within(self, limit_s):
        with self._more:
            return self._more.wait_for(lambda: self._eof, limit_s)

    def interrupt(self):
        self._client.send_signal(signal.SIGINT)

    def finish(self, deadline):
        """Waits for the end, and returns the exit status, or None where the deadline passed first."""
        try:
            return self._client.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None

    def outcome(self, status):
        """The record, once it is over; a client that is stuck is killed here."""
        ended = time.monotonic()
        if status is None:
            self._client.kill()
            self._client.wait()
        self._reader.join(COMMAND_LIMIT_S)
        self._client.stdout.close()
        self._err.seek(0)
        err = self._err.read().decode(errors="replace")
        self._err.close()
        nodes = tuple(each[2] for each in self.ups()) if self.up_at else ()
        return Outcome(self.job, self.began, ended, status, bytes(self._out), err, self.blows, nodes, self.up_at,
                       self.acted_at)


class Submitter:
    """Runs the jobs of `plans` in a thread of its own until stop(); pause() holds it between two jobs."""

    def __init__(self, number, plans, place, dvm, words, job_limit_s, on_stuck):
        self._number, self._plans, self._place, self._dvm, self._words = number, plans, place, dvm, words
        self._job_limit_s, self._on_stuck = job_limit_s, on_stuck
        self._running = None
        self._stop, self._go, self._idle = threading.Event(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.outcomes = []
        self.fault = None  # of this program itself
        self.resume()

    def start(self):
        self._thread.start()

    def running(self):
        return self._running

    def pause(self):
        self._go.clear()

    def wait_idle(self, limit_s):
        return self._idle.wait(limit_s)

    def resume(self):
        self._idle.clear()
        self._go.set()

    def stop(self):
        self._stop.set()
        self._go.set()

    def join(self, limit_s):
        self._thread.join(limit_s)
        return not self._thread.is_alive()

    def _run(self):
        try:
            for count, plan in enumerate(self._plans):
                while not self._go.is_set():
                    self._idle.set()
                    self._go.wait()
                if self._stop.is_set():
                    return
                self.outcomes.append(self._one(make_job(plan, f"{self._words}7{self._number}7{count}", self._dvm)))
        except Exception as error:  # shown by the round; a thread must not end in silence
            self.fault = error
        finally:
            self._idle.set()

    def _one(self, job):
        running = Running(job, self._place)
        deadline = running.began + self._job_limit_s
        self._running = running
        try:
            if job.action and running.await_ups(self._job_limit_s):
                running.up_at = time.monotonic()
                running.ended_within(job.hold_s)
                running.acted_at = time.monotonic()
                self._end(running)
            status = running.finish(deadline)
            if status is None:
                self._on_stuck(running, [each for each in everybody() if each.has(job.word)])
        finally:
            self._running = None
        return running.outcome(status)

    def _end(self, running):
        if running.job.action == "interrupt":
            return running.interrupt()
        number = running.ups()[0][1]
        # It may have ended, or the DVM may have: then this fails and the job's own ending tells.
        try:
            subprocess.run([str(BIN / "tide"), "kill", number, "--dvm", self._dvm], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self._place.env,
                           cwd=self._place.tmpdir, timeout=COMMAND_LIMIT_S)
        except subprocess.TimeoutExpired:
            pass
