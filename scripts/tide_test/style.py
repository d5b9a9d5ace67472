"""Layout by clang-format, over all our C++ at once."""

import re
import time

from tide_lint.source import cxx_files
from tide_test.junit import FAILED, PASSED, Case
from tide_test.process import run_logged, tail

CLANG_FORMAT = "clang-format-19"
LIMIT_S = 120
SHOWN_LINES = 40


def check(root, log):
    files = cxx_files(root)
    if not files:
        return []
    began = time.monotonic()
    outcome = run_logged([CLANG_FORMAT, "--dry-run", "-Werror", "--ferror-limit=1", *files], log,
                         LIMIT_S, cwd=root)
    seconds = time.monotonic() - began
    if outcome.ok:
        return [Case("format", "layout", PASSED, "", seconds)]
    text = log.read_text(errors="replace")
    places = list(dict.fromkeys(re.findall(r"^(\S+):\d+:\d+: error", text, re.MULTILINE)))
    text = f"mend with: {CLANG_FORMAT} -i " + " ".join(places) if places else tail(log, SHOWN_LINES)
    return [Case("format", "layout", FAILED, text, seconds)]
