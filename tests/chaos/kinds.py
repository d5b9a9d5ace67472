"""The jobs of a chaos run: what each is given to do, and how it ends where nothing happens to it."""

import random
from dataclasses import dataclass
from typing import Callable

from jobs import Streams, writer

ECHO_BYTES = 300_000
VOLUME_BLOCKS = 3
HOLD_S = (0.1, 4.0)  # how long jobs that are ended by order are left alone, counted from their last "up"

SLEEPER = "echo up $TIDE_RANK $TIDE_JOB $TIDE_NODE; exec sleep 1000 {word}"
STUBBORN = "trap '' INT TERM HUP; echo up $TIDE_RANK $TIDE_JOB $TIDE_NODE; while :; do sleep 1000 {word}; done"
RUNAWAY = "setsid sleep 1000 {word} >/dev/null 2>&1 </dev/null & echo done"
PIPE_HOLDER = "setsid sleep 1000 {word} & echo done"
ONE_FAILS = "[ $TIDE_RANK = {rank} ] && exit {status}; exec sleep 1000 {word}"


def nothing_expected(out):
    return None if not out else f"{len(out)} bytes that nobody wrote: {out[:80]!r}"


def anything(out):
    return None


@dataclass
class Job:
    """One submission. `word` is on the command line or in the environment of each of its processes, and of nobody
    else; `whole` and `partial` look at the output and return what is wrong with it, or None."""
    kind: str
    word: str
    ranks: int
    hosts: tuple
    program: str
    argv: list
    status: int = 0
    reasons: tuple = ()  # what standard error has to name
    whole: Callable = nothing_expected
    partial: Callable = anything
    input: bytes = b""
    action: str = ""  # "kill" or "interrupt", once every rank has said "up"
    hold_s: float = 0.0

    @property
    def own_dvm(self):
        return self.program == "prterun"


def _ranks_printed(ranks):
    wanted = sorted(str(rank).encode() for rank in range(ranks))

    def whole(out):
        return None if sorted(out.split()) == wanted else f"ranks in the output: {sorted(out.split())}"
    return whole


def _exactly(data):
    def whole(out):
        return None if out == data else f"{len(out)} bytes instead of {len(data)}, or other ones"

    def partial(out):
        return None if data.startswith(out) else f"{len(out)} bytes that are no beginning of what was written"
    return {"whole": whole, "partial": partial}


def _streams(ranks, blocks):
    def look(out, check):
        streams = Streams(ranks, blocks)
        try:
            streams.take(out)
            if check:
                streams.check()
        except AssertionError as wrong:
            return f"{len(out)} bytes of output: {wrong}"
        return None
    return {"whole": lambda out: look(out, True), "partial": lambda out: look(out, False)}


def _shell(script, word):
    return ["sh", "-c", script.format(word=word), word]


def make_job(plan, word, dvm):
    """The job of a plan for the DVM of this name."""
    ranks, salt, status = plan.ranks, plan.salt, 1 + plan.salt % 99
    chance = random.Random(salt)
    failing = salt % ranks
    blocks = 1 + salt % VOLUME_BLOCKS
    data = chance.randbytes(chance.randrange(ECHO_BYTES)) if plan.kind == "echo" else b""
    hold_s = chance.uniform(*HOLD_S)
    up = {"action": "kill", "status": 143, "reasons": ("ended on request",), "whole": anything, "hold_s": hold_s}
    what = {
        "true": (["true"], {}),
        "wide": (_shell("echo $TIDE_RANK", word), {"whole": _ranks_printed(ranks)}),
        "one-shot": (_shell("echo $TIDE_RANK", word), {"whole": _ranks_printed(ranks)}),
        "volume": (writer(blocks), _streams(ranks, blocks)),
        "echo": (["cat"], {**_exactly(data), "input": data}),
        "ended-by-order": (_shell(SLEEPER, word), up),
        "ended-by-signal": (_shell(SLEEPER, word), {**up, "action": "interrupt", "status": 130}),
        "stubborn": (_shell(STUBBORN, word), up),
        "leaves-sleeper": (_shell(RUNAWAY, word), _exactly(b"done\n" * ranks)),
        "leaves-pipe-open": (_shell(PIPE_HOLDER, word), _exactly(b"done\n" * ranks)),
        "fails": (_shell(ONE_FAILS.replace("{rank}", str(failing)).replace("{status}", str(status)), word),
                  {"status": status, "reasons": (f"process {failing} ", f"exited with status {status}")}),
        "no-program": ([f"/no/such/{word}"], {"status": 127, "reasons": (word,)}),
        "not-executable": (["/etc/passwd", word], {"status": 126, "reasons": ("/etc/passwd",)}),
        "timeout": (_shell(SLEEPER, word), {"status": 124, "reasons": ("longer than 1 s",), "whole": anything}),
        "closes-output": (_shell("exec >&- 2>&-; sleep 0.2", word), {}),
    }
    command, expected = what[plan.kind]
    program = "prterun" if plan.kind == "one-shot" else ("tide", "prun")[salt % 2]
    argv = ["run"] if program == "tide" else []
    if program != "prterun":
        argv += ["--dvm", dvm]
    hosts = plan.hosts if program != "prterun" else ()
    if hosts:
        argv += ["--host", ",".join(hosts)]
    if plan.kind == "timeout":
        argv += ["--timeout", "1"]
    argv += ["-n", str(ranks), "--map-by", ("node", "slot")[salt // 2 % 2] + ":OVERSUBSCRIBE",
             "--set-env", f"CHAOS_WORD={word}", *command]
    return Job(plan.kind, word, ranks, hosts, program, argv, **expected)
