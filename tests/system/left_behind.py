"""What must not be left behind, and jobs that do their best to leave something."""

import itertools
import os
from pathlib import Path

from dvm import is_alive, wait_until

GONE_LIMIT_S = 15

_numbers = itertools.count(1)

# Shell text of one process of a job. MARK is the argument of all its sleeps, by which they are found
# again wherever they went; END is what the process itself does in the end. With each: how many sleeps
# there are at least once it is under way, those of END not counted.
KINDS = {
    "plain": ("echo up; END", 0),
    "setsid": ("setsid sleep MARK & echo up; END", 1),
    "stubborn": ("trap '' TERM INT HUP; sleep MARK & echo up; END", 1),
    "pipes": ("sleep MARK & (setsid sleep MARK &) ; echo up; END", 2),
    "forks": ("setsid sh -c 'n=0; while [ $n -lt 200 ]; do setsid sleep MARK & n=$((n+1)); done; wait' & "
              "echo up; END", 20),
    "scrubbed": ("env -i setsid sh -c '(sleep MARK &) ; exec sleep MARK' </dev/null >/dev/null 2>&1 & "
                 "echo up; END", 2),
}


class Job:
    """One of KINDS, with a mark of its own."""

    def __init__(self, kind, ends_itself=False):
        text, self._sleeps = KINDS[kind]
        self.mark = f"1000.{os.getpid()}{next(_numbers):04}"
        if not ends_itself:
            self._sleeps += 1
        end = f"while [ $(pgrep -c -x -f 'sleep {self.mark}') -lt {self._sleeps} ]; do :; done; exit 0" \
            if ends_itself else f"exec sleep {self.mark}"
        self.argv = ["sh", "-c", text.replace("MARK", self.mark).replace("END", end)]

    def processes(self):
        """{pid: command line} of what is there of it."""
        return processes_with(self.mark)

    def start(self, dvm, *options, program="prun"):
        """Its client, once it is under way."""
        client = dvm.start(program, *options, *self.argv)
        assert client.stdout.readline() == "up\n", client.stderr.read()
        wait_until(lambda: len(self.processes()) >= self._sleeps, what=f"{self.argv[2]} is under way")
        return client


def processes_with(word):
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if words.startswith("sleep ") and word in words and is_alive(entry.name):
            found[int(entry.name)] = words.strip()
    return found


def our_shared_memory():
    return {path.name for path in Path("/dev/shm").iterdir()
            if any(word in path.name.lower() for word in ("tide", "prte", "pmix"))}


def files_in(directory):
    """Files and folders below it, as far as they stay there while we look."""
    return sorted(os.path.relpath(os.path.join(parent, name), directory)
                  for parent, folders, files in os.walk(directory) for name in (*folders, *files))


def assert_nothing_left(dvm, jobs=(), limit_s=GONE_LIMIT_S, may_stay=()):
    """Within the limit: no process of the DVM or of the jobs, no file, no shared memory."""
    clients = {process.pid for process in dvm._background}

    seen = []

    def nothing_left():
        processes = {pid: words for pid, words in dvm.processes().items() if pid not in clients}
        for job in jobs:
            processes.update(job.processes())
        files = [name for name in files_in(dvm.tmpdir) if not any(name.startswith(one) for one in may_stay)]
        seen[:] = [*processes.items(), *files, *our_shared_memory()]
        return not seen

    try:
        wait_until(nothing_left, limit_s=limit_s)
    except AssertionError:
        raise AssertionError(f"left behind: {seen}") from None


def warden_pid(dvm):
    pids = [pid for pid, words in dvm.processes().items() if "prted --warden" in words]
    assert len(pids) == 1, pids
    return pids[0]
