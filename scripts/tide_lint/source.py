"""Which files are ours, and C++ text reduced to what the checks need to see."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

CXX_SUFFIXES = (".cpp", ".hpp", ".h", ".cc")
GIT_LIMIT_S = 30


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


def our_files(root):
    """Paths below `root`, relative: tracked by git, or new and not ignored; links left out."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True, capture_output=True, timeout=GIT_LIMIT_S).stdout.decode()
    names = sorted(set(filter(None, listed.split("\0"))))
    return [Path(name) for name in names
            if (root / name).is_file() and not (root / name).is_symlink()]


def cxx_files(root):
    return [path for path in our_files(root) if path.suffix in CXX_SUFFIXES]


_TOKENS = re.compile(
    r"""
      (?P<line_comment>//[^\n]*)
    | (?P<block_comment>/\*.*?\*/)
    | (?P<raw>R"(?P<delimiter>[^()\s\\]{0,16})\(.*?\)(?P=delimiter)")
    | (?P<string>"(?:\\.|[^"\\\n])*")
    | (?P<number>(?<![A-Za-z_])\d[\w.']*)
    | (?P<char>'(?:\\.|[^'\\\n])+')
    """, re.VERBOSE | re.DOTALL)


def _blank(match):
    if match.lastgroup == "number" or match.group("number"):
        return match.group(0).replace("'", "")
    newlines = "\n" * match.group(0).count("\n")
    if match.group("line_comment") or match.group("block_comment"):
        return " " + newlines
    return '""' + newlines


def code_only(text):
    """`text` without comments, literal contents and preprocessor lines; line numbers are kept."""
    # A backslash at a line end would let a comment or macro run on: join, and give the lines back.
    joined = re.sub(r"((?:[^\n]*\\\n)+[^\n]*)",
                    lambda m: m.group(1).replace("\\\n", "  ") + "\n" * m.group(1).count("\\\n"),
                    text)
    bare = _TOKENS.sub(_blank, joined)
    return re.sub(r"^[ \t]*#[^\n]*", "", bare, flags=re.MULTILINE)
