"""Stand-ins for the commands of Slurm, to put first on the PATH: they do what a test says, log each call, and hand on
to the real ones. Everything is in one folder, which has to be visible where they are called:

    NAME     the stand-in; `slurm_shim.py` under the name of the command
    plan     {command: [{…}, …]}, read at each call; what the words mean stands with `Shims.set`
    calls    a line of JSON for each call: command, argv, time
"""

import fcntl
import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

COMMANDS = ("salloc", "srun", "sbatch", "scontrol", "squeue", "scancel")
PROGRAM = Path(__file__).with_name("slurm_shim.py")


@contextmanager
def locked_plan(folder):
    """The plan, which is written back at the end; one at a time."""
    with open(folder / "lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = folder / "plan"
        plan = json.loads(path.read_text()) if path.exists() else {}
        before = json.dumps(plan)
        yield plan
        if json.dumps(plan) != before:
            fresh = folder / f"plan.{os.getpid()}"
            fresh.write_text(json.dumps(plan))
            fresh.rename(path)


class Shims:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True)
        for name in COMMANDS:
            shutil.copy(PROGRAM, self.folder / name)
            (self.folder / name).chmod(0o755)
        shutil.copy(__file__, self.folder / "slurm_shims.py")

    def set(self, command, *, delay_s=0, say="", complain="", exit=None, hang=None, matching="", times=None):
        """From now on the command waits, writes these words to its outputs, and then: ends with the status `exit`; or
        hangs, as "soft" until it is told to end, as "deaf" until it is killed; or else is the real one. Only calls with
        `matching` on their command line are meant, and only so many `times`; of several that fit the last set counts."""
        assert command in COMMANDS and hang in (None, "soft", "deaf") and times != 0
        with locked_plan(self.folder) as plan:
            plan.setdefault(command, []).insert(0, {"delay_s": delay_s, "say": say, "complain": complain, "exit": exit,
                                                    "hang": hang, "matching": matching, "times": times})

    def clear(self, command=None):
        """The command, or each of them, is the real one again."""
        with locked_plan(self.folder) as plan:
            for name in [command] if command else list(plan):
                plan.pop(name, None)

    def calls(self, command=None):
        """The calls so far, in their order: [[words after the command], …], or with no command [[command, words …], …]."""
        path = self.folder / "calls"
        known = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        if command is None:
            return [[call["command"], *call["argv"]] for call in known]
        return [call["argv"] for call in known if call["command"] == command]

    def path(self, rest):
        """A PATH on which they come first."""
        return f"{self.folder}:{rest}"
