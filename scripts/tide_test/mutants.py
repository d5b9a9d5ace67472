"""Small defects of the core, kept as patches, and the private copy of the sources they are put into."""

import re
from dataclasses import dataclass
from pathlib import Path

from tide_lint.source import our_files

FOLDER = "tests/mutation"
MUTABLE = re.compile(r"src/core/\w+(?<!_test)\.(?:cpp|hpp)")
COPIED = ("CMakeLists.txt", "CMakePresets.json", "cmake", "src")
_TARGET = re.compile(r"^--- a/(\S+)\n\+\+\+ b/(\S+)\n", re.MULTILINE)
_HUNK = re.compile(r"^@@ .* @@.*\n", re.MULTILINE)


class BadPatch(Exception):
    """A patch that can't be used; says why."""


@dataclass(frozen=True)
class Patch:
    name: str
    about: str  # what the defect is and which promise it breaks
    target: str  # the file it changes, below the root
    lines: tuple  # of the diff: what it changes, with some around it

    def put_into(self, text):
        """`text` with the defect in it. Numbers of lines mean nothing, and those around the change may
        be others as long as there is one place for it."""
        lines = list(self.lines)
        text = f"\n{text}"
        found = text.count(_side(lines, "+"))
        while found == 0 and " " in (lines[0][0], lines[-1][0]):
            if lines[-1][0] == " ":
                lines.pop()
            if lines[0][0] == " ":
                lines.pop(0)
            found = text.count(_side(lines, "+"))
        if found != 1:
            where = "nowhere" if found == 0 else f"in {found} places"
            raise BadPatch(f"{self.name} applies {where} in {self.target}; make it anew, or take another defect")
        return text.replace(_side(lines, "+"), _side(lines, "-"))[1:]


def _side(lines, left_out):
    """One side of a diff, from the end of the line before it."""
    return "\n" + "".join(line[1:] + "\n" for line in lines if line[0] != left_out)


def read_patch(path):
    """One sentence, an empty line, and a unified diff that changes one line of the core."""
    text, name = path.read_text(), path.stem
    about, *rest = _TARGET.split(text)
    about = " ".join(about.split("diff --git ")[0].split())
    if not about.endswith("."):
        raise BadPatch(f"{name}: no sentence before the diff says what it breaks")
    if len(rest) != 3 or rest[0] != rest[1] or not MUTABLE.fullmatch(rest[0]):
        raise BadPatch(f"{name}: it must change one file of src/core that is no test")
    hunks = _HUNK.split(rest[2])
    if len(hunks) != 2 or hunks[0]:
        raise BadPatch(f"{name}: it must change one place")
    # An editor may have stripped the blank that stands for an unchanged empty line.
    lines = [line or " " for line in hunks[1].splitlines()]
    kinds = [line[0] for line in lines]
    if not set(kinds) <= set(" -+") or kinds.count("-") > 1 or kinds.count("+") > 1:
        raise BadPatch(f"{name}: it must change one line")
    if _side(lines, "+") == _side(lines, "-"):
        raise BadPatch(f"{name}: it changes nothing")
    return Patch(name, about, rest[0], tuple(lines))


def read_all(root):
    """(the patches that apply to the sources in `root`, what is wrong with the others)."""
    good, bad = [], []
    for path in sorted((root / FOLDER).glob("*.patch")):
        try:
            patch = read_patch(path)
            target = root / patch.target
            patch.put_into(target.read_text() if target.is_file() else "")
            good.append(patch)
        except BadPatch as problem:
            bad.append(str(problem))
    return good, bad


class Copy:
    """What the build needs of the sources, in a folder of its own. Files that are the same are left
    alone, so that a build there goes on where the last one ended."""

    def __init__(self, root, folder):
        self._root, self.folder = root, Path(folder)

    def refresh(self):
        ours = {path for path in our_files(self._root) if path.parts[0] in COPIED}
        for path in ours:
            self._write(path, (self._root / path).read_bytes())
        for place in COPIED:
            for path in sorted((self.folder / place).rglob("*")):
                if path.is_file() and path.relative_to(self.folder) not in ours:
                    path.unlink()

    def _write(self, path, data):
        target = self.folder / path
        if target.is_file() and target.read_bytes() == data:
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)

    def mutate(self, patch):
        target = self.folder / patch.target
        self._write(patch.target, patch.put_into(target.read_text()).encode())

    def restore(self, patch):
        self._write(patch.target, (self._root / patch.target).read_bytes())
