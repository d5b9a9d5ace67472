#!/usr/bin/python3 -ESB
"""Copied by slurm_shims.py under the name of a command of Slurm; see there."""

import json
import os
import signal
import sys
import time
from pathlib import Path

FOLDER = Path(os.path.abspath(__file__)).parent
sys.path.insert(0, str(FOLDER))

from slurm_shims import locked_plan  # noqa: E402

REAL = Path("/usr/bin")


def log(command):
    line = json.dumps({"command": command, "argv": sys.argv[1:], "time": time.time()}) + "\n"
    descriptor = os.open(FOLDER / "calls", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(descriptor, line.encode())


def behaviour(command):
    """What to do this time, or nothing."""
    words = " ".join(sys.argv[1:])
    with locked_plan(FOLDER) as plan:
        for one in plan.get(command, []):
            if one["matching"] not in words or one["times"] == 0:
                continue
            if one["times"]:
                one["times"] -= 1
            return one
    return None


def hang(how):
    if how == "deaf":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    while True:
        signal.pause()


def main():
    command = Path(sys.argv[0]).name
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    log(command)
    do = behaviour(command)
    if do:
        time.sleep(do["delay_s"])
        os.write(1, do["say"].encode())
        os.write(2, do["complain"].encode())
        if do["hang"]:
            hang(do["hang"])
        if do["exit"] is not None:
            sys.exit(do["exit"])
    os.execv(REAL / command, [command, *sys.argv[1:]])


main()
