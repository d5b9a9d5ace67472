"""One round: a DVM is started, struck under load, looked at in a quiet moment, and ended under load."""

import os
import subprocess
import time
from pathlib import Path

from dvm import BIN, TIME_SCALE, Dvm, wait_until
from plan import node_names, plan_jobs
from procs import everybody
from strikes import Striker
from submitter import Submitter
from verdict import History, judge
from watch import Prober, Sizes, busy, files_below, grown, processes_of, still_there, unexpected, until_none

SUBMITTERS = 5
SLOTS = 16
UP_LIMIT_S = 30
DOWN_LIMIT_S = 30
LAST_LOAD_S = 1.0
FAILED_WORDS = "submitter of the chaos command itself"

# Short enough for a round to see a silent daemon given up, long enough for a loaded machine.
HEARTBEAT_TIMEOUT_S, SUSPECT_GRACE_S = 4.0, 3.0
PARAMETERS = {
    "tide_heartbeat_interval": "500ms", "tide_heartbeat_timeout": f"{HEARTBEAT_TIMEOUT_S:.0f}s",
    "tide_suspect_grace": f"{SUSPECT_GRACE_S:.0f}s", "tide_kill_grace": "500ms", "tide_drain_grace": "500ms",
    "tide_reattach_timeout": "6s", "errmgr_base_verbose": 1, "state_base_verbose": 1, "odls_base_verbose": 1,
}


class Court:
    """Everything of one round: the DVM, those who submit to it, what was done to it, and who judges."""

    def __init__(self, seed, planned, nodes, report, chosen):
        self._plan, self._nodes, self._report = planned, nodes, report
        self.history = History()
        self.dvm_name = f"chaos{planned.number}"
        options = {**PARAMETERS, "rml_radix": planned.radix, **dict(chosen.prtemca)}
        self._dvm = Dvm(nodes=nodes, slots=SLOTS, name=self.dvm_name, prtemca=options)
        self._options = [word for pair in options.items() for word in ("--prtemca", pair[0], str(pair[1]))]
        self._foreground = None
        self.words = f"0.{os.getpid()}7{planned.number}"
        self.head_pid = 0
        self.prober = Prober(self._dvm, self.dvm_name, report.complain)
        self.prober.listeners.append(self._close_blows)
        self._job_limit_s = chosen.job_limit * TIME_SCALE
        self._quiet_limit_s = self._job_limit_s / 2  # for what ended jobs left
        self._gone_limit_s = self._job_limit_s * 2 / 3  # for all that a DVM started, once it was ended
        self._without = set(chosen.without.split(","))
        self.submitters = [
            Submitter(number, self._jobs(seed, number), self._dvm, self.dvm_name, self.words, self._job_limit_s,
                      self._stuck)
            for number in range(SUBMITTERS)]

    def _jobs(self, seed, number):
        return (job for job in plan_jobs(seed, self._plan.number, number, self._nodes) if job.kind not in self._without)

    def strokes(self):
        return [stroke for stroke in self._plan.strokes if stroke.kind not in self._without]

    # ---- for the striker ----

    def daemons(self):
        """{node: pid} of the daemons, as of the last answer."""
        return {node["name"]: node["pid"] for node in self.prober.status["nodes"]}

    def take_down(self, *options):
        done = self._dvm.tool("tide", "down", "--dvm", self.dvm_name, *options, limit_s=DOWN_LIMIT_S)
        return done.returncode, done.stderr

    # ---- life ----

    def start(self):
        if self._plan.foreground:
            self._start_in_foreground()
        else:
            self._dvm.up()
            self._dvm.abandon()  # its end is our business
        status, problem = self.prober.ask()
        if problem:
            raise AssertionError(f"the DVM did not start: {problem}")
        self.prober.status, self.head_pid = status, status["dvm"]["pid"]
        self._report.keep_logs_of(self._dvm.run_directory())
        # Sizes are compared with those after one job; how that went, others will show.
        try:
            self._dvm.run("--dvm", self.dvm_name, "-n", 2 * self._nodes, "true", limit_s=self._job_limit_s)
        except subprocess.TimeoutExpired:
            pass
        self._young = self._sizes()

    def _start_in_foreground(self):
        argv = [str(BIN / "prte"), "--nodes", str(self._nodes), "--slots", str(SLOTS), "--dvm", self.dvm_name]
        said = self._report.logs() / "head.log"
        with open(said, "wb") as out:
            self._foreground = subprocess.Popen([*argv, *self._options], stdin=subprocess.DEVNULL, start_new_session=True,
                                                stdout=out, stderr=out, env=self._dvm.env, cwd=self._dvm.tmpdir)
        wait_until(lambda: b"DVM ready" in said.read_bytes() or self._foreground.poll() is not None, UP_LIMIT_S, "prte is ready")

    def _sizes(self):
        return Sizes.take({"head": self.head_pid, **self.daemons()})

    def load(self):
        self.prober.start()
        for each in self.submitters:
            each.start()

    def _close_blows(self, status, asked_at):
        """A node that was struck and is no longer listed is out for good."""
        there = {node["name"] for node in status["nodes"]}
        for blow in self.history.node_blows:
            if blow.until is None and blow.node not in there and asked_at > blow.at:
                blow.until = time.monotonic()
        lost = set(node_names(self._nodes)) - there - {blow.node for blow in self.history.node_blows}
        if lost and not getattr(self, "_told", set()) >= lost:
            self._told = lost
            self._report.complain("nodes were lost that nobody struck", sorted(lost))

    def _stuck(self, running, processes):
        """Keeps what can be known about a job that does not end."""
        for name, argv in (("jobs", ["jobs", "--all", "--json"]), ("recorder", ["debug", "recorder"])):
            try:
                done = self._dvm.tool("tide", *argv, "--dvm", self.dvm_name, limit_s=10)
                (self._report.logs() / f"stuck-{running.job.word}.{name}").write_text(done.stdout + done.stderr)
            except subprocess.TimeoutExpired:
                continue
        self._report.complain("a job is stuck", f"{running.job.kind} {running.job.program} {running.job.argv}; "
                              f"its processes: {[(each.pid, each.command) for each in processes]}")

    # ---- looking ----

    def _expected(self, process):
        """Head, warden and daemons while they run, and ourselves with our clients."""
        if process.pid in (os.getpid(), self.head_pid) or process.parent == os.getpid():
            return True
        return "prted --" in process.command

    def quiet(self):
        """No jobs: nothing is in use, nothing has grown, nothing is left of all that ran."""
        for each in self.submitters:
            each.pause()
        for each in self.submitters:
            if not each.wait_idle(2 * self._job_limit_s):
                self._report.complain("a job is stuck", "its submitter did not come back")
                return
        def occupied():
            status, problem = self.prober.ask()
            return [problem] if problem else busy(status)
        if found := until_none(occupied, self._quiet_limit_s):
            self._report.complain("the DVM holds on to jobs whose clients have gone", found)
        if found := until_none(lambda: still_there(self.history.node_blows), self._quiet_limit_s):
            self._report.complain("struck nodes that are still in the DVM", found)
        if found := until_none(self._not_expected, self._quiet_limit_s):
            self._report.complain("left behind by jobs", found)
        if found := until_none(lambda: grown(self._young, self._sizes()), self._quiet_limit_s):
            self._report.complain("grown", found)
        for each in self.submitters:
            each.resume()

    def _not_expected(self):
        return unexpected(processes_of(self._dvm.tmpdir, self.words), self._expected)

    def close(self):
        """After the last stroke: everybody comes back, everything is gone, every job is judged."""
        for each in self.submitters:
            each.stop()
        for each in self.submitters:
            if not each.join(2 * self._job_limit_s):
                self._report.complain("a job is stuck", "its submitter did not come back after the end")
            if each.fault:
                self._report.complain(FAILED_WORDS, repr(each.fault))
        self.prober.join()
        self.head_pid = 0
        if found := until_none(self._left_after_the_end, self._gone_limit_s):
            self._report.complain("left behind by the DVM", found)
            self._report.keep_stacks_of(each.pid for each in processes_of(self._dvm.tmpdir, self.words)
                                        if str(BIN) in each.command)
        if found := until_none(lambda: files_below(self._dvm.tmpdir), self._gone_limit_s):
            self._report.complain("files left behind by the DVM", found)
        self._judge_all()

    def _left_after_the_end(self):
        if self._foreground is not None:
            self._foreground.poll()
        left = [each for each in processes_of(self._dvm.tmpdir, self.words) if each.pid != os.getpid()]
        return unexpected(left, lambda process: False)

    def _judge_all(self):
        for each in self.submitters:
            for outcome in each.outcomes:
                wrong = judge(outcome, self.history) if outcome.status is not None else None  # told when it happened
                if wrong:
                    job = outcome.job
                    self._report.complain(
                        f"a job of kind {job.kind}", f"{wrong}\n  it ran from {self._report.at(outcome.began)} to "
                        f"{self._report.at(outcome.ended)}, ranks {job.ranks}, hosts {job.hosts or 'any'}, its own blows "
                        f"{[(blow.kind, self._report.at(blow.at)) for blow in outcome.blows]}: {job.program} {job.argv}",
                        outcome.ended)

    def release(self):
        """Whatever is left is ended here, so that the next round begins with nothing."""
        if self._foreground is not None:
            if self._foreground.poll() is None:
                self._foreground.kill()
            self._foreground.wait()
        for each in processes_of(self._dvm.tmpdir, self.words):
            if each.pid != os.getpid() and not each.zombie:
                try:
                    os.kill(each.pid, 9)
                except ProcessLookupError:
                    continue
        self._dvm.close()

    def counts(self):
        outcomes = [outcome for each in self.submitters for outcome in each.outcomes]
        return len(outcomes), sum(outcome.status == outcome.job.status for outcome in outcomes)


def reap_strangers():
    """As the first process of a namespace we are everybody's last parent. Ended orphans are collected here."""
    if os.getpid() != 1:
        return
    ours = {each.pid for each in everybody() if each.parent == 1 and each.zombie}
    for pid in ours:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue


def shared_memory():
    """Names in /dev/shm, where the run has one of its own."""
    return sorted(path.name for path in Path("/dev/shm").iterdir())


def run_round(seed, planned, nodes, report, chosen, ends_at):
    """Plays the round and returns (jobs, jobs that went as planned, strokes, slowest answer in seconds)."""
    court = Court(seed, planned, nodes, report, chosen)
    striker = Striker(court, HEARTBEAT_TIMEOUT_S * 0.75)
    report.begin_round(planned.number, striker.done)
    try:
        court.start()
        court.load()
        for stroke in court.strokes():
            time.sleep(stroke.pause_s)
            if time.monotonic() > ends_at:
                break
            striker.strike(stroke)
        striker.settle()
        court.quiet()
        time.sleep(LAST_LOAD_S)
        court.prober.stop()
        down = striker.last(planned.last)
        if down is not None and down[0] != 0:
            report.complain("tide down failed", f"exit status {down[0]}: {down[1]}")
        court.close()
    except Exception as error:
        report.complain("the round could not be played", f"{type(error).__name__}: {error}")
    finally:
        court.release()
    jobs, as_planned = court.counts()
    return jobs, as_planned, len(striker.done), max(court.prober.latencies_s, default=0.0)
