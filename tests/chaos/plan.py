"""What a seed means: the rounds, their strokes and the jobs of their submitters. No clock and no process here."""

import random
from dataclasses import dataclass, field

NODES_LEFT_AT_LEAST = 0.5  # of a round's nodes: strokes that cost a node stop here
STROKE_EVERY_S = (0.15, 0.8)
SHORT_FREEZE_S = (0.2, 1.0)  # below the heartbeat deadline of the DVM: costs nothing but time
# Above all deadlines together, also where the parent dies just before the first is over: costs the node.
LONG_FREEZE_S = 12.5
RADICES = (2, 2, 3, 64)

# Strokes that cost a node, with their weights.
LETHAL = {"kill-daemon": 4, "kill-two-daemons": 1, "freeze-daemon-long": 1, "freeze-warden-and-kill-daemon": 1}
# The others.
MILD = {"freeze-daemon": 3, "cut-daemon": 4, "freeze-warden": 1, "kill-client": 2, "freeze-client": 2, "cut-client": 2,
        "interrupt-client": 1, "kill-process": 3, "freeze-process": 2}

# How a round ends, and how its DVM has to be started for that.
LAST_STROKES = ["down", "down-force", "kill-head", "kill-warden", "kill-head-and-warden", "kill-head-daemon-frozen",
                "kill-warden-daemon-frozen", "cut-warden", "interrupt-head"]
IN_FOREGROUND = {"interrupt-head"}

JOB_KINDS = {"true": 4, "wide": 4, "volume": 3, "echo": 3, "ended-by-order": 3, "ended-by-signal": 2, "leaves-sleeper": 3,
             "leaves-pipe-open": 1, "stubborn": 2, "fails": 3, "no-program": 1, "not-executable": 1, "timeout": 2,
             "closes-output": 1, "one-shot": 1}


@dataclass(frozen=True)
class Stroke:
    """One blow. Who is hit is said by name or by number, never by what happens to run: the sequence must be the same
    for the same seed. Numbers are taken modulo how many there are when it falls; nobody there is a miss."""
    kind: str
    pause_s: float  # before it falls
    nodes: tuple = ()
    submitter: int = 0  # whose client, or whose process
    number: int = 0  # which process, which connection
    freeze_s: float = 0.0

    @property
    def costs_a_node(self):
        return self.kind in LETHAL

    def __str__(self):
        words = [self.kind, *self.nodes]
        if "client" in self.kind or "process" in self.kind:
            words.append(f"of submitter {self.submitter}")
        if self.freeze_s:
            words.append(f"for {self.freeze_s:.1f} s")
        return " ".join(words)


@dataclass(frozen=True)
class JobPlan:
    kind: str
    ranks: int
    hosts: tuple  # empty: wherever there is place
    salt: int  # of the data, the failing rank, the exit status


@dataclass(frozen=True)
class Round:
    number: int
    radix: int
    foreground: bool  # `prte` as our child instead of `tide up`
    last: str
    strokes: list = field(default_factory=list)


def _weighted(chance, weights):
    return chance.choices(list(weights), list(weights.values()))[0]


def node_names(count):
    return [f"v{number}" for number in range(1, count + 1)]


def plan_round(seed, number, nodes, seconds):
    """The strokes of a round that lasts `seconds`, and how it ends. Every way to end comes once in so many rounds as
    there are ways, in an order that the seed decides."""
    chance = random.Random(f"{seed}/round/{number}")
    cycle, place = divmod(number, len(LAST_STROKES))
    ways = random.Random(f"{seed}/endings/{cycle}").sample(LAST_STROKES, len(LAST_STROKES))
    last = ways[place]
    left = node_names(nodes)
    spare = int(nodes * (1 - NODES_LEFT_AT_LEAST))  # so many nodes may go
    lethal_share = min(0.5, spare * sum(STROKE_EVERY_S) / 2 / seconds)  # spread over the round
    strokes, at_s = [], 0.0
    while True:
        pause_s = chance.uniform(*STROKE_EVERY_S)
        at_s += pause_s
        if at_s > seconds:
            return Round(number, chance.choice(RADICES), last in IN_FOREGROUND or chance.random() < 0.2, last, strokes)
        lethal = chance.random() < lethal_share and spare > 1
        kind = _weighted(chance, LETHAL if lethal else MILD)
        victims = tuple(chance.sample(left, 2 if kind == "kill-two-daemons" else 1))
        if lethal:
            left = [name for name in left if name not in victims]
            spare -= len(victims)
        freeze_s = LONG_FREEZE_S if kind == "freeze-daemon-long" else chance.uniform(*SHORT_FREEZE_S)
        strokes.append(Stroke(kind, pause_s, victims if "daemon" in kind else (), chance.randrange(64),
                              chance.randrange(64), freeze_s if "freeze" in kind else 0.0))


def plan_jobs(seed, number, submitter, nodes):
    """The jobs that one submitter hands in during a round: an endless generator."""
    chance = random.Random(f"{seed}/round/{number}/submitter/{submitter}")
    names = node_names(nodes)
    while True:
        kind = _weighted(chance, JOB_KINDS)
        hosts = tuple(sorted(chance.sample(names, chance.randint(1, min(4, nodes))))) if chance.random() < 0.4 else ()
        ranks = {"wide": 2 * nodes, "volume": chance.randint(1, 4)}.get(kind, chance.randint(1, 6))
        yield JobPlan(kind, ranks, hosts, chance.randrange(1 << 20))
