"""Carries out the strokes of a plan, and notes for the judge what each of them may have done."""

import os
import signal
import socket
import threading
import time

from procs import Handle, everybody, may_borrow_descriptors
from verdict import JobBlow, NodeBlow

HEAD, WARDEN, DAEMON = "prte", "--warden", "--node"


class Miss(Exception):
    """There was nobody to hit."""


class Striker:
    """`court` has the DVM's processes, the submitters and the history; see round.py."""

    def __init__(self, court, silence_s):
        self._court = court
        self._silence_s = silence_s  # a daemon that is stopped for longer may be given up
        self._frozen = {}  # by pid the threads that will let go again
        self._no_cuts = may_borrow_descriptors()
        self.done = []  # (when, words)

    def why_no_cuts(self):
        return self._no_cuts

    def strike(self, stroke):
        """One stroke; a miss is noted and is no fault."""
        at = time.monotonic()
        try:
            getattr(self, "_" + stroke.kind.replace("-", "_"))(stroke)
            note = ""
        except (Miss, ProcessLookupError) as missed:
            note = f" (missed: {missed})"
        self.done.append((at, f"{stroke}{note}"))

    def settle(self):
        """Waits until everything frozen goes on; bounded by the longest freeze."""
        for thread in self._frozen.values():
            thread.join()
        self._frozen.clear()

    # ---- nodes ----

    def _daemon(self, node):
        pid = self._court.daemons().get(node)
        if pid is None:
            raise Miss(f"node {node} is gone")
        return Handle(pid, f"{DAEMON} {node}")

    def _doom(self, node, certain):
        blow = NodeBlow(node, time.monotonic(), certain=certain)
        self._court.history.node_blows.append(blow)
        return blow

    def _kill_daemon(self, stroke):
        for node in stroke.nodes:
            with self._daemon(node) as daemon:
                self._doom(node, certain=True)
                daemon.send(signal.SIGKILL)

    _kill_two_daemons = _kill_daemon

    def _freeze_daemon(self, stroke):
        node = stroke.nodes[0]
        daemon = self._daemon(node)
        stopped = time.monotonic()

        def too_long():
            # We were not scheduled in time ourselves, so the DVM was right to give it up.
            if time.monotonic() - stopped > self._silence_s:
                blow = self._doom(node, certain=False)
                blow.at, blow.fatal = stopped, False
        self._freeze(daemon, stroke.freeze_s, too_long)

    def _freeze_daemon_long(self, stroke):
        daemon = self._daemon(stroke.nodes[0])
        self._freeze(daemon, stroke.freeze_s)
        self._doom(stroke.nodes[0], certain=False)

    def _cut_daemon(self, stroke):
        if self._no_cuts:
            raise Miss(self._no_cuts)
        with self._daemon(stroke.nodes[0]) as daemon:
            if not daemon.cut(socket.AF_INET, stroke.number):
                raise Miss("no connection")

    # ---- the warden ----

    def warden(self):
        head = self._court.head_pid
        for each in everybody():
            if each.parent == head and WARDEN in each.command and not each.zombie:
                return Handle(each.pid, WARDEN)
        raise Miss("the warden is gone")

    def _freeze_warden(self, stroke):
        self._freeze(self.warden(), stroke.freeze_s)

    def _freeze_warden_and_kill_daemon(self, stroke):
        self._freeze_warden(stroke)
        self._kill_daemon(stroke)

    # ---- clients and processes ----

    def _client(self, stroke, kind):
        """The client that this submitter waits for now, with the blow written into its record."""
        running = self._court.submitters[stroke.submitter % len(self._court.submitters)].running()
        if running is None:
            raise Miss("no client")
        handle = Handle(running.pid, running.job.word)
        if kind:
            running.blows.append(JobBlow(kind, time.monotonic()))
        return handle

    def _kill_client(self, stroke):
        with self._client(stroke, "kill-client") as client:
            client.send(signal.SIGKILL)

    def _interrupt_client(self, stroke):
        with self._client(stroke, "interrupt-client") as client:
            client.send(signal.SIGINT)

    def _cut_client(self, stroke):
        if self._no_cuts:
            raise Miss(self._no_cuts)
        with self._client(stroke, "cut-client") as client:
            if not client.cut(socket.AF_UNIX, 0):
                raise Miss("no connection")

    def _freeze_client(self, stroke):
        self._freeze(self._client(stroke, ""), stroke.freeze_s)

    def _process(self, stroke):
        """A rank of the submitter's job, and where it is: a child of a daemon, not what that forked itself."""
        running = self._court.submitters[stroke.submitter % len(self._court.submitters)].running()
        if running is None:
            raise Miss("no job")
        all_of_them = everybody()
        daemons = {each.pid for each in all_of_them if DAEMON in each.command}
        ranks = sorted((each for each in all_of_them if each.has(running.job.word) and each.parent in daemons
                        and not each.zombie and each.variable("TIDE_RANK")), key=lambda each: each.pid)
        if not ranks:
            raise Miss("no process")
        victim = ranks[stroke.number % len(ranks)]
        return running, victim, Handle(victim.pid)

    def _kill_process(self, stroke):
        running, victim, handle = self._process(stroke)
        with handle:
            running.blows.append(JobBlow("kill-process", time.monotonic(), int(victim.variable("TIDE_RANK")),
                                         victim.variable("TIDE_NODE")))
            handle.send(signal.SIGKILL)

    def _freeze_process(self, stroke):
        self._freeze(self._process(stroke)[2], stroke.freeze_s)

    # ---- freezing ----

    def _freeze(self, handle, seconds, afterwards=lambda: None):
        """Stops the process now and lets it go on in the background. Takes the handle over.
        One that is stopped already is left alone: the first to let go would end both."""
        if handle.pid in self._frozen and self._frozen[handle.pid].is_alive():
            with handle:
                raise Miss("it is frozen already")
        def let_go():
            time.sleep(seconds)
            with handle:
                try:
                    handle.send(signal.SIGCONT)
                except ProcessLookupError:
                    pass
            afterwards()
        handle.send(signal.SIGSTOP)
        thread = threading.Thread(target=let_go, daemon=True)
        self._frozen[handle.pid] = thread
        thread.start()

    # ---- the last stroke of a round ----

    def last(self, kind):
        """Ends the DVM, and returns the exit status of `tide down` where that was the way."""
        court = self._court
        court.history.end_at, court.history.end = time.monotonic(), kind
        self.done.append((court.history.end_at, f"last: {kind}"))
        if kind in ("down", "down-force"):
            return court.take_down(*(["--force"] if kind == "down-force" else []))
        if kind == "interrupt-head":
            os.killpg(os.getpgid(court.head_pid), signal.SIGINT)
            return None
        victims = []
        if "daemon-frozen" in kind:
            for node in sorted(court.daemons())[:1]:
                with self._daemon(node) as daemon:
                    daemon.send(signal.SIGSTOP)  # for good: somebody else has to end it
        if "head" in kind:
            victims.append(Handle(court.head_pid, HEAD))
        if "warden" in kind:
            victims.append(self.warden())
        for victim in victims:
            with victim:
                if kind == "cut-warden":
                    victim.cut(socket.AF_UNIX, 0)
                else:
                    victim.send(signal.SIGKILL)
        return None
