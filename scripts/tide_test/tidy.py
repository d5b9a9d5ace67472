"""clang-tidy over our translation units, remembered by what the compiler sees of each.

Two keys, as in a compiler cache: the hashes of all files that went into a unit the last time
(quick to check), and the preprocessed text with comments, since they may hold NOLINT.

On a machine that remembers nothing all units would take longer than everything else together. So
there is a limit for looking at them, those that changed last come first, and what was not reached is
told as skipped; the next run goes on from there."""

import hashlib
import json
import os
import re
import shlex
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tide_lint.source import cxx_files
from tide_test.junit import FAILED, PASSED, SKIPPED, Case
from tide_test.process import capture

CLANG_TIDY = "clang-tidy-19"
PARALLEL = 2
UNIT_LIMIT_S = 600
PREPROCESS_LIMIT_S = 120
KEPT_RESULTS = 20000
RECENT_COMMITS = 40
SHOWN_LINES = 30


def _digest(*parts):
    total = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode()
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()


class Cache:
    """Small files named by key, below the user's cache folder; the oldest go when there are many."""

    def __init__(self):
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        self._folder = Path(base) / "tide-tidy"
        self._folder.mkdir(parents=True, exist_ok=True)

    def get(self, key):
        try:
            path = self._folder / key
            text = path.read_text()
            os.utime(path)
            return text
        except OSError:
            return None

    def put(self, key, text):
        temporary = self._folder / f"{key}.{os.getpid()}"
        temporary.write_text(text)
        temporary.rename(self._folder / key)

    def trim(self):
        entries = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime)
        for path in entries[:max(0, len(entries) - KEPT_RESULTS)]:
            path.unlink(missing_ok=True)


class Tidy:
    def __init__(self, root, build_folder):
        self._root, self._build = root, build_folder
        self._cache = Cache()
        version = capture([CLANG_TIDY, "--version"], PREPROCESS_LIMIT_S)
        self._setting = _digest(version, (root / ".clang-tidy").read_text())
        self._file_hashes = {}
        database = json.loads((build_folder / "compile_commands.json").read_text())
        self._commands = {Path(entry["file"]).resolve(): entry for entry in database}

    def units(self):
        """Our own .cpp files that the build knows, relative to the root."""
        return [path for path in cxx_files(self._root)
                if path.suffix == ".cpp" and (self._root / path).resolve() in self._commands]

    def _flags(self, unit):
        entry = self._commands[(self._root / unit).resolve()]
        words = shlex.split(entry["command"])
        while Path(words[0]).name == "ccache":
            words.pop(0)
        kept, skip = [], False
        for word in words:
            if not skip and word not in ("-c", "-o"):
                kept.append(word)
            skip = word == "-o"
        return kept, entry["directory"]

    def _named(self, path):
        """Files of ours relative to the root, so that what one clone has seen another need not look at again."""
        path = Path(os.path.normpath(path))
        return str(path.relative_to(self._root) if path.is_relative_to(self._root) else path)

    def _file_hash(self, path):
        if path not in self._file_hashes:
            try:
                self._file_hashes[path] = hashlib.sha256((self._root / path).read_bytes()).hexdigest()
            except OSError:
                self._file_hashes[path] = "missing"
        return self._file_hashes[path]

    def _preprocess(self, flags, directory):
        """(key part, the files that went in)."""
        done = subprocess.run([*flags, "-E", "-C", "-w"], cwd=directory, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=PREPROCESS_LIMIT_S)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.decode(errors="replace"))
        names = set(re.findall(rb'^# \d+ "([^"<]+)"', done.stdout, re.MULTILINE))
        files = [self._named(Path(directory, name.decode())) for name in names if not name.endswith(b"/")]
        return done.stdout.replace(str(self._root).encode(), b"."), sorted(files)

    def _run(self, unit):
        argv = [CLANG_TIDY, "--quiet", "-p", str(self._build), str(unit)]
        try:
            done = subprocess.run(argv, cwd=self._root, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  timeout=UNIT_LIMIT_S)
        except subprocess.TimeoutExpired:
            return f"{unit}: no result within {UNIT_LIMIT_S} s", False
        text = done.stdout.decode(errors="replace").strip()
        if done.returncode != 0 and not text:
            return done.stderr.decode(errors="replace"), False
        return text, True

    def check(self, unit, until):
        """(what clang-tidy says, empty when it is content, or None when it was not asked because the
        time `until` had passed; was that known)."""
        flags, directory = self._flags(unit)
        direct = "d" + _digest(self._setting, str(unit), " ".join(flags).replace(str(self._root), "."))
        known = self._cache.get(direct)
        if known:
            entry = json.loads(known)
            if all(self._file_hash(path) == value for path, value in entry["files"].items()):
                text = self._cache.get(entry["result"])
                if text is not None:
                    return text, True
        if time.monotonic() > until:
            return None, False
        try:
            seen, files = self._preprocess(flags, directory)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return f"{unit}: cannot be preprocessed\n{error}", False
        result = "r" + _digest(self._setting, str(unit), seen)
        manifest = {"files": {path: self._file_hash(path) for path in files}, "result": result}
        text, lasting, was_known = self._cache.get(result), True, True
        if text is None and time.monotonic() > until:
            return None, False
        if text is None:
            (text, lasting), was_known = self._run(unit), False
        if lasting:
            self._cache.put(result, text)
            self._cache.put(direct, json.dumps(manifest))
        return text, was_known

    def trim(self):
        self._cache.trim()


def recently_changed(root):
    """{file: its place} of those that are not committed yet and those of the last commits, the newest first."""
    work = capture(["git", "-C", str(root), "diff", "HEAD", "--name-only"], PREPROCESS_LIMIT_S)
    log = capture(["git", "-C", str(root), "log", "-n", str(RECENT_COMMITS), "--format=", "--name-only"],
                  PREPROCESS_LIMIT_S)
    places = {}
    for name in (work + log).splitlines():
        if name:
            places.setdefault(Path(name), len(places))
    return places


def check(root, build_folder, log, limit_s):
    tidy = Tidy(root, build_folder)
    recent = recently_changed(root)
    units = sorted(tidy.units(), key=lambda unit: recent.get(unit, len(recent)))
    until = time.monotonic() + limit_s

    def one(unit):
        began = time.monotonic()
        text, known = tidy.check(unit, until)
        return unit, text, known, time.monotonic() - began

    cases = []
    with open(log, "a") as sink, ThreadPoolExecutor(PARALLEL) as pool:
        for unit, text, known, seconds in pool.map(one, units):
            if text is None:
                cases.append(Case("tidy", str(unit), SKIPPED, f"not reached within {limit_s} s; the next run goes on"))
                continue
            sink.write(f"{unit}: {'known' if known else f'{seconds:.1f} s'}\n{text}\n")
            shown = "\n".join(text.splitlines()[:SHOWN_LINES])
            cases.append(Case("tidy", str(unit), FAILED if text else PASSED, shown, seconds))
    tidy.trim()
    return cases
