"""What a seed means: rounds, the faults in them, the jobs of a submitter. No clock and no process here."""

import random
from dataclasses import dataclass

# Faults that cost their nodes, and the mild ones, which must cost nothing: so many of each in any 20.
LETHAL = {"crash": 3, "silent": 3, "cut": 3, "freeze": 3, "partition": 2}
MILD = {"short-cut": 2, "short-freeze": 2, "slow": 2}
PARTITION = 2  # nodes
NODES_LEFT_AT_LEAST = 0.6  # of a round's nodes
MILD_S = 1.0  # how long a mild fault lasts: well below the deadline for silent links
RADICES = (2, 3, 64)
JOB_KINDS = {"wide": 3, "volume": 2, "linger": 4, "short": 4}
LINGER_S = (0.5, 3.0)
# Beside these there is at all times one job on every node, which lasts so many times what lies between two faults:
# so every fault that costs a node strikes one job at least, at any moment of its life.
BROAD, BROAD_SPAN = "broad", (0.5, 1.5)
LEAD = (0.1, 0.4)  # the share of that time that passes before the fault: jobs are at all stages then


@dataclass(frozen=True)
class Fault:
    kind: str
    nodes: tuple
    lead: float = 0.0  # see LEAD

    @property
    def costs_nodes(self):
        return self.kind in LETHAL

    def __str__(self):
        return f"{self.kind} of {', '.join(self.nodes)}"


@dataclass(frozen=True)
class Round:
    number: int
    radix: int
    faults: tuple


@dataclass(frozen=True)
class JobPlan:
    kind: str
    width: float  # the share of the nodes at hand that it takes
    salt: int
    linger_s: float


def _weighted(chance, weights):
    return chance.choices(list(weights), list(weights.values()))[0]


def _kinds(chance):
    """Of faults, in no order, but without one that fails to come up: an endless generator."""
    weights = {**LETHAL, **MILD}
    while True:
        yield from chance.sample(list(weights), counts=list(weights.values()), k=sum(weights.values()))


def plan_rounds(seed, faults, names):
    """Rounds with all these faults together; each ends when no more nodes may go. The first node is the head's."""
    chance = random.Random(f"{seed}/faults")
    kinds = _kinds(chance)
    rounds, left_over = [], faults
    while left_over:
        alive, struck = list(names[1:]), []
        least = round(len(names) * NODES_LEFT_AT_LEAST)
        while len(struck) < left_over and len(alive) + 1 - PARTITION >= least:
            kind = next(kinds)
            nodes = tuple(chance.sample(alive, PARTITION if kind == "partition" else 1))
            struck.append(Fault(kind, nodes, chance.uniform(*LEAD)))
            if kind in LETHAL:
                alive = [name for name in alive if name not in nodes]
        rounds.append(Round(len(rounds), chance.choice(RADICES), tuple(struck)))
        left_over -= len(struck)
    return rounds


def plan_jobs(seed, number, submitter):
    """The jobs that one submitter hands in during a round: an endless generator."""
    chance = random.Random(f"{seed}/round/{number}/submitter/{submitter}")
    while True:
        kind = _weighted(chance, JOB_KINDS)
        yield JobPlan(kind, 1.0 if kind == "wide" else chance.uniform(0.05, 0.6), chance.randrange(1 << 20),
                      chance.uniform(*LINGER_S))


def plan_broad_jobs(seed, number, seconds_per_fault):
    """The jobs on all nodes of a round, one after the other: an endless generator."""
    chance = random.Random(f"{seed}/round/{number}/broad")
    while True:
        yield JobPlan(BROAD, 1.0, chance.randrange(1 << 20), chance.uniform(*BROAD_SPAN) * seconds_per_fault)
