"""tide watch: a DVM on one screen, or in lines where there is no terminal."""

import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
import threading

import pytest

from dvm import BIN, TIME_SCALE, wait_until
from growing import begin, done, ended, release, submit_parked

LAUNCH = "action.launch_daemons"
ROWS, COLUMNS = 24, 80
NO_DVM = 121


class Watch:
    """`tide watch`, on a terminal of 24 lines or not, and what it has written so far."""

    def __init__(self, dvm, terminal):
        self._text = b""
        if terminal:
            self._end, other = os.openpty()
            fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        else:
            self._end, other = os.pipe()
        self.process = subprocess.Popen([BIN / "tide", "watch"], stdin=subprocess.DEVNULL, stdout=other,
                                        stderr=subprocess.PIPE, text=True, env=dvm.env)
        os.close(other)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        while True:
            try:
                data = os.read(self._end, 65536)
            except OSError:  # the other end of the terminal is closed
                return
            if not data:
                return
            self._text += data

    def text(self):
        return self._text.decode(errors="replace").replace("\r\n", "\n")

    def screen(self):
        """The last one that is complete."""
        pictures = self.text().split("\x1b[H")[1:]
        whole = [one.split("\x1b[J")[0] for one in pictures if "\x1b[J" in one]
        return whole[-1].replace("\x1b[K", "") if whole else ""

    def shows(self, pattern):
        return wait_until(lambda: re.search(pattern, self.screen(), re.M), what=f"it shows {pattern!r}: {self.screen()}")

    def says(self, pattern):
        return wait_until(lambda: re.search(pattern, self.text(), re.M), what=f"it says {pattern!r}: {self.text()}")

    def finish(self):
        _, errors = self.process.communicate(timeout=30 * TIME_SCALE)
        self._reader.join(timeout=30)
        os.close(self._end)
        return self.process.returncode, errors


@pytest.fixture
def watch():
    started = []

    def make(dvm, terminal):
        started.append(Watch(dvm, terminal))
        return started[-1]

    yield make
    for one in started:
        one.process.kill()
        one.process.wait(timeout=30)


# row:E16
def test_a_grow_and_who_waits_for_it_on_one_screen(elastic, watch):
    dvm = elastic(nodes=2, slots=2, failpoint=f"{LAUNCH}@2:hold")
    view = watch(dvm, terminal=True)
    view.shows(r"^DVM \S+ is ready, up .*, elastic$")
    view.shows(r"^2 nodes, 0 of 4 slots used$")
    view.shows(r"^v1 \.\. +v2 \.\.$")
    growing = begin(dvm, "grow", "--count", "1")
    job = submit_parked(dvm)
    view.shows(r"^3 nodes \(v3 starting\), 0 of 4 slots used$")
    view.shows(r"^0 jobs run, 1 parked, 1 so far$")
    view.shows(r"^v1 \.\. +v2 \.\. +v3 starting$")
    view.shows(r"^2 +grow +starting ")
    view.shows(r"^1 +WAITING_FOR_DAEMONS ")
    view.shows(r"^\d\d:\d\d:\d\d\.\d+ +grow-begun ")
    release(dvm, LAUNCH)
    ended(dvm, growing)
    assert dvm.finish(job).returncode == 0
    view.shows(r"^3 nodes, 0 of 6 slots used$")
    view.shows(r"grow-done")
    lines = view.screen().split("\n")
    assert len(lines) <= ROWS and all(len(line) <= COLUMNS for line in lines), lines
    assert "WAITING_FOR_DAEMONS" not in view.screen()
    view.process.send_signal(signal.SIGINT)
    assert view.finish()[0] == -signal.SIGINT


def test_where_there_is_no_terminal_it_says_what_has_changed(elastic, watch):
    dvm = elastic(nodes=2, slots=1, failpoint=f"{LAUNCH}@2:hold")
    view = watch(dvm, terminal=False)
    view.says(r"^\d\d:\d\d:\d\d\.\d+  2 nodes, 0 of 2 slots used; 0 jobs run, 0 parked$")
    growing = begin(dvm, "grow", "--count", "1")
    submit_parked(dvm)
    view.says(r"3 nodes \(v3 starting\), 0 of 2 slots used; 0 jobs run, 1 parked; grow 2 \(v3\): starting$")
    release(dvm, LAUNCH)
    ended(dvm, growing)
    view.says(r"3 nodes, \d of 3 slots used; \d jobs? runs?, 0 parked$")
    said = len(view.text().splitlines())
    for _ in range(3):
        assert dvm.run("-n", "1", "true").returncode == 0
    done(dvm, "shrink", "--host", "v3")
    view.says(r"\n.*  2 nodes, 0 of 2 slots used; .*\n\Z")
    changes = [line for line in view.text().splitlines()[said:] if "shrink" not in line]
    assert len(changes) == 1, "jobs that come and go make no lines"
    assert "\x1b" not in view.text()
    assert dvm.tool("tide", "down").returncode == 0
    status, errors = view.finish()
    assert (status, errors) == (0, "") and view.text().endswith(" has ended\n")
    dvm.abandon()


@pytest.mark.parametrize("terminal", [False, True], ids=["lines", "screen"])
def test_it_ends_with_the_dvm_also_when_the_head_is_killed(make_dvm, watch, terminal):
    dvm = make_dvm(nodes=1)
    view = watch(dvm, terminal)
    view.says("1 node, ")
    os.kill(dvm.head_pid(), signal.SIGKILL)
    assert view.finish() == (0, "")
    assert view.text().endswith(" has ended\n")
    dvm.abandon()


def test_without_a_dvm(dvm):
    assert dvm.tool("tide", "down").returncode == 0
    said = dvm.tool("tide", "watch")
    assert said.returncode == NO_DVM and "no DVM is running" in said.stderr
    dvm.abandon()
