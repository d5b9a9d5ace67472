"""What commands say, compared with files in tests/system/golden.

A golden file shows the command, what it wrote to standard error and its exit status, with what differs
from run to run (process numbers, places, namespaces) replaced by names in capitals."""

import os
import re
import shlex
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "golden"
ACCEPT = "TIDE_ACCEPT_GOLDEN"

# Said where an end takes long, as on a busy machine.
_PROGRESS = re.compile(r"^[\d-]+ [\d:.]+ prte head \[errmgr\] waiting for .* to end, at most .*\n", re.MULTILINE)
_REPLACED = [
    (r"/\S*/prte\.[\w-]+\.\d+", "RUNBASE"),
    (r"\btide-[\w-]+-\d+-[0-9a-f]{8}@\d+", "JOB"),
    (r"\btide-[\w-]+-\d+-[0-9a-f]{8}\b", "DVMID"),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"\bpid \d+", "pid PID"),
    (r"\bdvm-\d+", "DVM"),
    (r"PATH \([^)]*\)", "PATH (DIRECTORIES)"),
]


def normalised(text, tmpdir):
    text = _PROGRESS.sub("", text)
    for pattern, name in _REPLACED:
        text = re.sub(pattern, name, text)
    lines = [_table_row(line) for line in text.replace(str(tmpdir), "TMP").splitlines()]
    return "".join(line + "\n" for line in lines)


def _table_row(line):
    """In a list of DVMs neither ages nor process numbers stay, nor the widths of their columns."""
    if "tcp4://" not in line and not line.startswith("  NAME "):
        return line
    line = re.sub(r"  +\d[\w .]*?(?:ms|s|min|h)  +", "  AGE  ", line)
    return "  " + re.sub(r"  +", "  ", re.sub(r"  \d+  +DVMID", "  PID  DVMID", line).strip())


def check(name, argv, done, tmpdir, env=None):
    """Fails where `done` says something else than the golden file of this name."""
    words = [f"{key}={value}" for key, value in (env or {}).items()] + list(map(str, argv))
    command = normalised(shlex.join(words), tmpdir).rstrip("\n")
    now = f"$ {command}\n{normalised(done.stderr, tmpdir)}exit status {done.returncode}\n"
    path = FOLDER / f"{name}.txt"
    if os.environ.get(ACCEPT):
        path.write_text(now)
    golden = path.read_text() if path.exists() else "nothing: the file is not there\n"
    assert now == golden, (f"\n{path.name} says:\n{golden}\nthe command says:\n{now}\n"
                           f"if that is meant: {ACCEPT}=1 python3 -m pytest tests/system/test_errors.py")
