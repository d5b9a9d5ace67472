"""A DVM over ssh that grows and shrinks again and again under load: 16, 32, 8, 32 nodes."""

import os

import pytest

from endurance import FORGETFUL, Endurance, Sizes, assert_flat
from swarm_dvm import HEAD_NODE
from swarm_growing import left_on

SIZES = Sizes(first=16, large=32, small=8, always=[HEAD_NODE, "node2"])
ALWAYS_RANK = 2  # of node2


class SwarmEndurance(Endurance):
    def programs(self):
        """The head, and a daemon that is always there."""
        inside = {node["rank"]: node["pid"] for node in self.dvm.status()["nodes"]}
        return {0: self.dvm.bed.outside(HEAD_NODE, self.dvm.head_pid()),
                ALWAYS_RANK: self.dvm.bed.outside("node2", inside[ALWAYS_RANK])}

    def own_processes(self):
        """Head, and a warden and a daemon on each machine."""
        return 1 + 2 * self.sizes.large

    def has_left(self, names):
        left = left_on(self.dvm, names)
        assert not left, f"told, and still there: {left}"


def endure(make_elastic, radix, cycles):
    dvm = make_elastic(SIZES.first, pool=SIZES.large - SIZES.first, prtemca={"rml_radix": radix, **FORGETFUL})
    return SwarmEndurance(dvm, SIZES).run(cycles)


# row:S9 row:S10 row:E14
@pytest.mark.limit(180)
@pytest.mark.noasan("memory figures mean nothing under the sanitizers")
@pytest.mark.parametrize("radix", [2, 64])
def test_two_cycles_over_ssh(make_elastic, radix):
    assert_flat(endure(make_elastic, radix, 2))


@pytest.mark.long
@pytest.mark.limit(2400)
@pytest.mark.noasan("memory figures mean nothing under the sanitizers")
@pytest.mark.parametrize("radix", [2, 64])
def test_thirty_cycles_over_ssh(make_elastic, radix):
    cycles = int(os.environ.get("TIDE_CYCLES") or 30)
    assert_flat(endure(make_elastic, radix, cycles)[1:])
