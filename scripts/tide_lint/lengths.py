"""Files of at most 600 lines, functions of at most 70: what one can hold in one's head."""

import ast
import re

from tide_lint.source import CXX_SUFFIXES, Finding, code_only, our_files

FILE_LINES = 600
FUNCTION_LINES = 70
CODE_SUFFIXES = CXX_SUFFIXES + (".py", ".proto", ".cmake", ".sh")

_CONTROL = re.compile(r"\b(?:if|for|while|switch|catch|do|else|try|return)\b")
_SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum|extern|concept)\b")
_AFTER_PARAMETERS = re.compile(
    r"\)\s*(?:const|noexcept(?:\s*\([^()]*\))?|override|final|mutable|try|&&?|\s)*"
    r"(?:->[^;{}]+|:[^:].*|requires\b.*)?$", re.DOTALL)
_MEMBER_INITIALISER = re.compile(r"\)\s*(?:noexcept\s*)?:[^:].*[\w>]$", re.DOTALL)


def _opens(chunk):
    """What a brace after `chunk` opens: a function, a scope to look into, a member initialiser
    before the function's own brace, or a mere block."""
    head = re.sub(r"\[\[[^\]]*\]\]", "", chunk)
    without_template = re.sub(r"\btemplate\s*<[^{};]*?>(?=\s*\w)", "", head)
    if _SCOPE.search(without_template.split("(")[0]):
        return "scope"
    if _CONTROL.match(head.strip()) or re.search(r"=\s*$", head):
        return "block"
    if _MEMBER_INITIALISER.search(head.rstrip()):
        return "initialiser"
    return "function" if _AFTER_PARAMETERS.search(head.rstrip()) else "block"


class _FunctionScan:
    """Follows the braces of C++ code and notes where outermost function bodies begin and end."""

    def __init__(self):
        self.functions = []  # (name, first line, lines)
        self._open = []  # (kind, the text before) of each open brace
        self._depth = 0  # open braces of the current function
        self._chunk, self._chunk_line = "", 1  # the text since the last brace or semicolon
        self._name, self._first = "", 0

    def opened(self):
        kind = "block" if self._depth else _opens(self._chunk)
        if kind == "function":
            match = re.search(r"([\w:~]+)\s*\(", self._chunk)
            self._name, self._first = (match.group(1) if match else "function"), self._chunk_line
        self._open.append((kind, self._chunk))
        self._depth += 1 if self._depth or kind == "function" else 0
        self._chunk = ""

    def closed(self, line):
        kind, before = self._open.pop() if self._open else ("block", "")
        self._chunk = before + "()" if kind == "initialiser" else ""
        if self._depth:
            self._depth -= 1
            if not self._depth:
                self.functions.append((self._name, self._first, line - self._first + 1))

    def text(self, char, line):
        if not self._chunk.strip():
            self._chunk_line = line
        self._chunk = "" if char == ";" else self._chunk + char


def cxx_functions(text):
    """(name, first line, lines) of each outermost function body in C++ text."""
    scan = _FunctionScan()
    line = 1
    for char in code_only(text):
        if char == "{":
            scan.opened()
        elif char == "}":
            scan.closed(line)
        else:
            scan.text(char, line)
        line += char == "\n"
    return scan.functions


def python_functions(text):
    return [(node.name, node.lineno, node.end_lineno - node.lineno + 1)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def check(root):
    """Findings for files and functions that are too long."""
    findings = []
    for path in our_files(root):
        if path.suffix not in CODE_SUFFIXES:
            continue
        text = (root / path).read_text()
        count = text.count("\n")
        if count > FILE_LINES:
            findings.append(Finding(str(path), count, f"{count} lines; {FILE_LINES} is the limit"))
        functions = []
        if path.suffix in CXX_SUFFIXES:
            functions = cxx_functions(text)
        elif path.suffix == ".py":
            functions = python_functions(text)
        findings += [
            Finding(str(path), first, f"{name} has {lines} lines; {FUNCTION_LINES} is the limit")
            for name, first, lines in functions if lines > FUNCTION_LINES]
    return findings
