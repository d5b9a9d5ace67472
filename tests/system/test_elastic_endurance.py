"""A DVM of virtual nodes that grows and shrinks again and again under load: 8, 24, 4, 24 nodes."""

import os

import pytest

from endurance import FORGETFUL, SLOTS, Endurance, Sizes, assert_flat

SIZES = Sizes(first=8, large=24, small=4, always=["v7", "v8"])


def endure(elastic, radix, cycles):
    dvm = elastic(nodes=SIZES.first, pool=SIZES.large - SIZES.first, slots=SLOTS, rml_radix=radix, **FORGETFUL)
    return Endurance(dvm, SIZES).run(cycles)


@pytest.mark.noasan("memory figures mean nothing under the sanitizers")
@pytest.mark.parametrize("radix", [2, 64])
def test_two_cycles(elastic, radix):
    assert_flat(endure(elastic, radix, 2))


@pytest.mark.long
@pytest.mark.limit(1200)
@pytest.mark.noasan("memory figures mean nothing under the sanitizers")
@pytest.mark.parametrize("radix", [2, 64])
def test_thirty_cycles(elastic, radix):
    cycles = int(os.environ.get("TIDE_CYCLES") or 30)
    assert_flat(endure(elastic, radix, cycles)[1:])
