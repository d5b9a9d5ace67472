"""The order of the rooms: which folder below src/ may include which."""

import re

from tide_lint.source import CXX_SUFFIXES, Finding, our_files

_CORE = {"core", "hosts", "wire", "say", "base"}
_EFFECTS = {"pmix", "rm", "launch", "exec", "net"}

# Downwards only. `cli` stays thin on purpose: it starts once per command.
MAY_INCLUDE = {
    "base": set(),
    "say": {"base"},
    "wire": {"base"},
    "hosts": {"wire", "say", "base"},
    "core": {"hosts", "wire", "say", "base"},
    "net": {"wire", "say", "base"},
    "sim": _CORE,
    "exec": _CORE,
    "launch": _CORE | {"exec"},  # a launcher starts processes and talks to wardens
    "rm": _CORE | {"exec"},  # schedulers are asked by their own commands
    "pmix": _CORE,
    "rim": _CORE | {"net", "pmix"},
    "head": _CORE | _EFFECTS | {"rim"},
    "daemon": _CORE | _EFFECTS | {"rim"},
    "cli": {"net", "hosts", "wire", "say", "base"},
}

_ALL = frozenset(MAY_INCLUDE)
_NO_EVENT_LOOP = frozenset({"base", "say", "hosts", "wire", "core", "sim"})
_THIN = frozenset({"base", "say", "hosts", "wire", "net", "cli", "core", "sim"})

_CORE_IMPURE = (
    "chrono|thread|mutex|condition_variable|atomic|future|random|ctime|time.h|fstream|iostream"
    "|filesystem|unistd.h|fcntl.h|poll.h|sys/.*|netinet/.*|arpa/.*")

# (which <headers>, rooms that must not include them, do their unit tests count, why)
FORBIDDEN_HEADERS = [
    (r"pmix.*", _ALL - {"pmix"}, True, "PMIx headers belong to src/pmix"),
    (r"hwloc.*", _THIN, True, "the thin client and the core must not need hwloc"),
    (r"CLI/.*", _ALL - {"cli", "head", "daemon"}, True, "only programs parse command lines"),
    (r"spdlog/.*", _ALL - {"base"}, True, "log through base's own header"),
    (r"asio\b.*", _NO_EVENT_LOOP, True, "no event loop below the rim"),
    (_CORE_IMPURE, {"core"}, False, "the core has no clock, thread, chance, file or socket"),
]

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)')


def room_of(path):
    """The room that a file below src/ belongs to, or None for other places."""
    return path.parts[1] if len(path.parts) > 2 and path.parts[0] == "src" else None


def _own_include(root, path, room, target):
    target_room = target.split("/")[0]
    if room is None and ((root / target).is_file() or (root / path.parent / target).is_file()):
        return None
    if "/" not in target or target_room not in MAY_INCLUDE:
        return f'"{target}": ours are included as "room/file.hpp", others with <>'
    if room is not None and target_room not in MAY_INCLUDE[room] | {room}:
        return f'"{target}": src/{room} may not use src/{target_room}'
    if not target.endswith(".pb.h") and not (root / "src" / target).is_file():
        return f'"{target}": no such file'
    return None


def _foreign_include(root, room, target, is_test):
    if (root / "src" / target).is_file():
        return f'<{target}>: ours are included with ""'
    for pattern, rooms, also_tests, why in FORBIDDEN_HEADERS:
        if room in rooms and (also_tests or not is_test) and re.fullmatch(pattern, target):
            return f"<{target}> in src/{room}: {why}"
    return None


def check(root):
    """Findings for every include that breaks the order of the rooms."""
    findings = []
    for path in our_files(root):
        if path.suffix not in CXX_SUFFIXES:
            continue
        room = room_of(path)
        if room is not None and room not in MAY_INCLUDE:
            findings.append(Finding(str(path), 1, f"src/{room} is no room; the table has no such name"))
            continue
        is_test = path.stem.endswith("_test")
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            match = _INCLUDE.match(line)
            if not match:
                continue
            own, foreign = match.groups()
            wrong = _own_include(root, path, room, own) if own else _foreign_include(root, room, foreign, is_test)
            if wrong:
                findings.append(Finding(str(path), number, wrong))
    return findings
