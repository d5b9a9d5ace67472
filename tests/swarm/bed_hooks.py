"""What suites on beds have in common: they are skipped with a reason, and keep the logs of a test that failed."""

import os
import re
from pathlib import Path

import pytest

from dvm import live_dvms

KEEP_VARIABLE = "TIDE_SWARM_KEEP"  # a folder for all logs of tests that fail


def skip_without(reason, items, folder):
    """Marks the collected tests in this folder as skipped, where `reason()` has one."""
    ours = [item for item in items if folder in Path(str(item.fspath)).parents]
    said = reason() if ours else None
    if said:
        for item in ours:
            item.add_marker(pytest.mark.skip(reason=said.splitlines()[0]))


def keep_logs_of_failed(item, report):
    """All logs of the DVMs of this test."""
    if not (report.failed and os.environ.get(KEEP_VARIABLE)):
        return
    for number, dvm in enumerate(live_dvms()):
        name = re.sub(r"[^\w.-]+", "_", item.name)
        dvm.keep_logs(Path(os.environ[KEEP_VARIABLE]) / f"{name}.{number}")
