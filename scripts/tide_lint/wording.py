"""What must not stand in the tree, and what each file must have."""

import re

from tide_lint.source import CXX_SUFFIXES, Finding, our_files

# Written in two parts so that this file passes its own check.
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
SWITCHED_OFF = re.compile(r"\bDISAB" r"LED_\w+")
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:wo" r"rk|ro" r"ot)/[\w.]")
SILENT_SKIP = re.compile(r"\bGTEST_SK" r"IP\(\)\s*;")
TEXT_SUFFIXES = CXX_SUFFIXES + (".py", ".proto", ".cmake", ".sh", ".txt", ".md", ".json", ".tsv", "")

_LINE_RULES = [
    (UNFINISHED, "a note about unfinished work; finish it or open an issue"),
    (SWITCHED_OFF, "a test that is switched off"),
    (SILENT_SKIP, "a skip must name its reason"),
    (MACHINE_PATH, "a path of one machine"),
]


def _line_findings(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, why in _LINE_RULES:
            if pattern.search(line):
                yield Finding(str(path), number, why)
        if line != line.rstrip():
            yield Finding(str(path), number, "white space at the end of the line")


def _header_has_guard(text):
    for line in text.splitlines():
        if line.strip() and not line.startswith("//"):
            return line.strip() == "#pragma once"
    return False


def check(root):
    """Findings for words, guards and line ends."""
    findings = []
    for path in our_files(root):
        if path.suffix not in TEXT_SUFFIXES or path.name == "LICENSE":
            continue
        try:
            text = (root / path).read_text()
        except UnicodeDecodeError:
            findings.append(Finding(str(path), 1, "not UTF-8 text"))
            continue
        findings += _line_findings(path, text)
        if text and not text.endswith("\n"):
            findings.append(Finding(str(path), text.count("\n") + 1, "no newline at the end"))
        if path.suffix in (".hpp", ".h") and not _header_has_guard(text):
            findings.append(Finding(str(path), 1, "a header begins with #pragma once"))
    return findings
