"""Messages for people come from the catalogue: no text of one's own where an error is made."""

import re
from pathlib import Path

from tide_lint.source import Finding, code_only, our_files

# Where what people read is decided. Errors that only carry errno with a path are system_error().
PLACES = ("src/cli/*.cpp", "src/head/*.cpp", "src/core/job_board*.cpp", "src/core/mapper.cpp",
          "src/core/slot_advice.cpp", "src/core/head_core.cpp", "src/base/params.cpp")
NOT_SHIPPED = ("src/cli/fake_head.cpp",)

_MAKES_MESSAGE = re.compile(
    r"\b(?:Error\s*\{|(?:fail|fail_without_dvm|fail_start|complain|tell|bad|invalid|not_found|refused"
    r"|usage_error|failed)\s*\(|(?:message|messages\.push_back)\s*(?:\+?=|\())")
_FROM_ELSEWHERE = re.compile(r"(?:\bsay::\w+|\bsystem_error)\s*\(")
_OPEN, _CLOSE = "({[", ")}]"


def _end_of(code, start):
    """Position after the bracket that closes the one at `start`, or after the statement."""
    depth = 0
    for position in range(start, len(code)):
        char = code[position]
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
            if depth <= 0:
                return position + 1
        elif char == ";" and depth == 0:
            return position
    return len(code)


def _without_catalogue(code):
    """`code` without what calls of the catalogue and of system_error() are given."""
    match = _FROM_ELSEWHERE.search(code)
    while match:
        end = _end_of(code, match.end() - 1)
        inside = code[match.start():end]
        code = code[:match.start()] + re.sub(r"[^\n]", " ", inside) + code[end:]
        match = _FROM_ELSEWHERE.search(code, match.start())
    return code


def _in_place(path):
    return (any(path.match(place) for place in PLACES) and not path.stem.endswith("_test")
            and path.as_posix() not in NOT_SHIPPED)


def check(root):
    """Findings for texts that are written where they are used."""
    findings = []
    for path in our_files(root):
        if not _in_place(Path(path)):
            continue
        code = _without_catalogue(code_only((root / path).read_text()))
        for match in _MAKES_MESSAGE.finditer(code):
            opens = match.end() - 1 if match.group(0)[-1] in _OPEN else match.end()
            if '""' in code[opens:_end_of(code, opens)]:
                line = code.count("\n", 0, match.start()) + 1
                findings.append(Finding(str(path), line, "a message in place; it belongs to the catalogue, src/say"))
    return findings
