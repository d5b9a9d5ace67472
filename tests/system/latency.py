"""How long others wait while something goes wrong, as a ratio to the same thing in peace."""

import statistics
import subprocess
import time
from pathlib import Path

from dvm import BIN, TIME_SCALE

# Generous: the machine that runs the tests is busy with other things, and a defence that is not
# there shows in seconds, not in factors.
RATIO = 6
SLACK_S = 0.15
RUNS = 9


def run_once(dvm, *host):
    """Seconds that a short job takes from outside."""
    begin = time.monotonic()
    subprocess.run([BIN / "prun", "-n", "1", *host, "true"], env=dvm.env, cwd=dvm.tmpdir, check=True,
                   stdin=subprocess.DEVNULL, timeout=30 * TIME_SCALE)
    return time.monotonic() - begin


def typical(dvm, *host, runs=RUNS):
    return statistics.median(run_once(dvm, *host) for _ in range(runs))


def assert_unhurt(peace_s, trouble_s, what):
    allowed = RATIO * peace_s + SLACK_S * TIME_SCALE
    assert trouble_s <= allowed, f"{what}: others took {trouble_s:.3f} s, in peace {peace_s:.3f} s"


def resident_kib(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(f"process {pid} has no memory figure")


class Memory:
    """Head and daemons, from now on."""

    def __init__(self, dvm):
        self._pids = {"head": dvm.head_pid(), **dvm.daemon_pids()}
        self._before = {name: resident_kib(pid) for name, pid in self._pids.items()}

    def assert_grown_at_most(self, kib):
        grown = {name: resident_kib(pid) - self._before[name] for name, pid in self._pids.items()}
        assert max(grown.values()) <= kib, grown
