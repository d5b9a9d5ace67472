"""Which faults meet which changes of size: all of them, or some that a seed chooses, and what must come of each."""

import itertools
import random
from typing import NamedTuple

from growing import DONE, UNDONE

# A tree of radix 2 over twelve nodes: node3 relays for node7 and node8, node5 for node11 and node12.
FIRST = 12
COMING = ["node13", "node14", "node15", "node16"]
LEAVING = ["node4", "node12"]  # one of them relays, too
PHASES = {"grow": ["starting", "wiring", "rolling-back"], "shrink": ["processes", "departing", "returning"]}
COSTLY = ["crash", "silent", "freeze", "cut"]  # a machine that they strike is lost
FAULTS = [*COSTLY, "slow", "refuse"]
PLACES = ["target", "bystander", "relay"]
STRUCK = {("grow", "target"): "node13", ("grow", "bystander"): "node8", ("grow", "relay"): "node3",
          ("shrink", "target"): "node4", ("shrink", "bystander"): "node8", ("shrink", "relay"): "node5"}


class Case(NamedTuple):
    change: str
    phase: str
    fault: str
    place: str

    def __str__(self):
        return "-".join(self)

    @property
    def victim(self):
        return STRUCK[self.change, self.place]

    @property
    def is_lost(self):
        """The DVM loses a node that the change has nothing to do with."""
        return self.fault in COSTLY and self.place != "target"

    @property
    def outcome(self):
        """row:E5 a grow fails with one of its own, and with no other (row:E8); row:E12 a shrink whose order is out ends
        well, whatever becomes of those who leave."""
        if self.change == "shrink":
            return DONE
        if self.phase == "rolling-back":
            return UNDONE
        stops = COSTLY + ["refuse"] if self.phase == "starting" else COSTLY
        return UNDONE if self.place == "target" and self.fault in stops else DONE

    @property
    def events(self):
        """The one event that tells of its end."""
        return [f"{self.change}-{'done' if self.outcome == DONE else 'failed'}"]

    def nodes(self, first):
        """That the DVM has afterwards."""
        gone = {self.victim} if self.is_lost else set()
        if self.change == "shrink":
            gone |= set(LEAVING)
        came = COMING if (self.change, self.outcome) == ("grow", DONE) else []
        return [name for name in first if name not in gone] + came


def all_cases():
    return [Case(change, phase, fault, place) for change, phases in PHASES.items()
            for phase, fault, place in itertools.product(phases, FAULTS, PLACES)]


def some_cases(seed, count):
    """As different as they can be: each fault and each phase in turn."""
    chance = random.Random(seed)
    cases = all_cases()
    chance.shuffle(cases)
    chosen = []
    for _ in range(count):
        def repeats(case):
            return sum((case.fault == other.fault) + (case.phase == other.phase) + (case.place == other.place)
                       for other in chosen)
        chosen.append(min((case for case in cases if case not in chosen), key=repeats))
    return chosen
