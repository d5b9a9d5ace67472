"""Machines fail under load: it is noticed in time, the tree is repaired, who was hit is told, all others go on."""

import re
import time

import pytest

from dvm import wait_until
from load import Load, check_tree
from swarm_dvm import ALONE_S, FAST, HEAD_NODE, MARGIN_S, SILENCE_S, everywhere

NODES, RADIX = 16, 2
EARLY_BYTES = 1 << 20  # so much of the load's output has come when the fault strikes
NODE_LOST = 120  # exit status of a job
KINDS = ["crash", "silent", "cut", "freeze", "partition"]


def strike(bed, kind, nodes):
    """The fault, to all of these at once where it is a partition, else to the one."""
    if kind == "partition":
        bed.split(nodes)
    else:
        {"crash": bed.crash, "silent": lambda name: bed.crash(name, silent=True), "cut": bed.cut,
         "freeze": bed.freeze}[kind](nodes[0])


def choose(dvm, place, kind):
    """Who is struck. A partition takes more than one: two leaves of different parents, or a node with all below it."""
    below = dvm.children()
    leaves = [name for name, children in below.items() if not children and name != HEAD_NODE]
    if place == "leaf":
        if kind != "partition":
            return leaves[:1]
        parent_of = {child: name for name, children in below.items() for child in children}
        other = next(name for name in leaves[1:] if parent_of.get(name) != parent_of.get(leaves[0]))
        return [leaves[0], other]
    inner = [name for name, children in below.items() if len(children) == RADIX and name != HEAD_NODE
             and any(below[child] for child in children)]
    assert inner, f"no node is deep inside of this tree: {below}"
    return _with_all_below(below, inner[0]) if kind == "partition" else inner[:1]


def _with_all_below(below, name):
    found = [name]
    for child in below[name]:
        found += _with_all_below(below, child)
    return [one for one in found if one != HEAD_NODE]


def named_ranks(text):
    """Ranks after the word "rank" or "ranks" in a message: 3, 5-7, 9."""
    ranks = set()
    for listed in re.findall(r"\branks? ((?:\d+(?:-\d+)?(?:, ?| and )?)+)", text):
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", listed):
            ranks |= set(range(int(first), int(last or first) + 1))
    return ranks


class Doomed:
    """A job on all nodes, which ends with the first of them."""

    def __init__(self, dvm):
        self._dvm = dvm
        self._client = dvm.start("prun", "-n", NODES, "--map-by", "node", "sh", "-c",
                                 "echo $TIDE_RANK $(hostname); exec sleep 1000")
        lines = [self._client.stdout.readline().split() for _ in range(NODES)]
        self.rank_on = {node: int(rank) for rank, node in lines}
        self.namespace = dvm.jobs()["jobs"][0]["namespace"]

    def end(self, limit_s):
        """What its client said, in time."""
        done = self._dvm.finish(self._client, limit_s=limit_s)
        assert done.returncode == NODE_LOST, done.stderr
        return done.stderr

    def check_message(self, said, victims):
        """It names the job, a node that was lost and the ranks there."""
        assert f"job {self.namespace}" in said
        named = [victim for victim in victims if re.search(rf"\bnode {victim}\b", said)]
        assert named, f"none of {victims} is named: {said}"
        assert {self.rank_on[victim] for victim in named} <= named_ranks(said), f"ranks are not named: {said}"


def check_gone(dvm, nodes, limit_s):
    """Nothing of ours runs there any more."""
    seen = {}

    def gone():
        seen.clear()
        seen.update(dvm.bed.processes(nodes))
        return not seen

    try:
        wait_until(gone, limit_s=limit_s)
    except AssertionError:
        raise AssertionError(f"still there after {limit_s} s: {seen}") from None


# row:S1 row:S5 row:E1
@pytest.mark.limit(120)
@pytest.mark.parametrize("place", ["leaf", "interior"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_under_load(bed, make_dvm, kind, place):
    dvm = make_dvm(NODES, prtemca={"rml_radix": RADIX, **FAST})
    victims = choose(dvm, place, kind)
    survivors = [name for name in dvm.nodes if name not in victims]
    doomed = Doomed(dvm)
    load = Load(dvm, survivors, [survivors[1], survivors[-1]])
    try:
        load.read(EARLY_BYTES)
        strike(bed, kind, victims)
        said = doomed.end(limit_s=SILENCE_S + MARGIN_S)
        load.check()
    finally:
        load.stop()
    dvm.wait_for_nodes(survivors, limit_s=SILENCE_S + MARGIN_S)
    status = dvm.status()
    assert {node["state"] for node in status["nodes"]} == {"up"}
    assert all(node["processes"] == 0 for node in status["nodes"])
    check_tree(status, RADIX)
    everywhere(dvm, survivors)
    if kind == "freeze":
        bed.thaw(victims[0])
    check_gone(dvm, victims, ALONE_S + MARGIN_S)
    assert dvm.names() == survivors
    doomed.check_message(said, victims)


@pytest.mark.limit(120)
@pytest.mark.parametrize("kind", ["cut", "freeze"])
def test_a_daemon_that_comes_back_after_it_was_declared_dead_ends_itself(bed, make_dvm, kind):
    """It would look for the head much longer, and is refused when it finds it."""
    dvm = make_dvm(6, prtemca={"rml_radix": RADIX, **FAST, "tide_reattach_timeout": "60s"})
    victim = choose(dvm, "leaf", kind)[0]
    survivors = [name for name in dvm.nodes if name != victim]
    job = dvm.start("prun", "-n", 1, "--host", victim, "sh", "-c", "echo up; exec sleep 1000")
    assert job.stdout.readline() == "up\n"
    strike(bed, kind, [victim])
    dvm.wait_for_nodes(survivors, limit_s=SILENCE_S + MARGIN_S)
    assert bed.processes([victim]), "it is still there"
    bed.thaw(victim) if kind == "freeze" else bed.heal(victim)
    check_gone(dvm, [victim], ALONE_S + MARGIN_S)
    assert dvm.names() == survivors
    everywhere(dvm, survivors)


@pytest.mark.parametrize("kind", ["cut", "freeze"])
def test_a_short_fault_costs_nothing(bed, make_dvm, kind):
    dvm = make_dvm(6, prtemca={"rml_radix": RADIX, **FAST})
    victim = next(name for name, children in dvm.children().items() if children and name != HEAD_NODE)
    job = dvm.start("prun", "-n", 6, "--map-by", "node", "sh", "-c", "echo up; sleep 2; hostname")
    assert [job.stdout.readline() for _ in range(6)] == ["up\n"] * 6
    strike(bed, kind, [victim])
    time.sleep(1)  # how long the fault lasts
    bed.thaw(victim) if kind == "freeze" else bed.heal(victim)
    done = dvm.finish(job)
    assert (done.returncode, sorted(done.stdout.split())) == (0, dvm.nodes), done.stderr
    assert dvm.names() == dvm.nodes


@pytest.mark.limit(120)
def test_an_interior_death_is_noticed_once(bed, make_dvm):
    """Many see it, the head says it once; and so for one after the other until the tree is half gone."""
    dvm = make_dvm(NODES, prtemca={"rml_radix": RADIX, **FAST})
    left = list(dvm.nodes)
    for _ in range(4):
        victim = next(name for name, children in dvm.children().items() if children and name != HEAD_NODE)
        bed.crash(victim)
        left.remove(victim)
        dvm.wait_for_nodes(left, limit_s=SILENCE_S + MARGIN_S)
        check_tree(dvm.status(), RADIX)
        everywhere(dvm, left)
        said = [line for line in dvm.log_text("head").splitlines()
                if re.search(rf"\b{victim}\b", line) and re.search(r"\b(lost|dead|gone)\b", line)]
        assert len(said) == 1, said


# ---- the head's machine ----

@pytest.mark.limit(120)
@pytest.mark.parametrize("kind", ["crash", "silent", "cut", "freeze"])
def test_the_loss_of_the_heads_machine_ends_everything_elsewhere(bed, make_dvm, kind):
    nodes = 8
    dvm = make_dvm(nodes, prtemca={"rml_radix": RADIX, **FAST})
    job = dvm.start("prun", "-n", nodes, "--map-by", "node", "sh", "-c", "setsid sleep 1000 & echo up; exec sleep 1000")
    assert [job.stdout.readline() for _ in range(nodes)] == ["up\n"] * nodes
    others = [name for name in dvm.nodes if name != HEAD_NODE]
    dvm.abandon()
    strike(bed, kind, [HEAD_NODE])
    check_gone(dvm, others, ALONE_S + MARGIN_S)
    bed.mend()
    if kind in ("cut", "freeze"):
        dvm.wait_for_nodes([HEAD_NODE], limit_s=SILENCE_S + MARGIN_S)
        everywhere(dvm, [HEAD_NODE])
        dvm.down()
