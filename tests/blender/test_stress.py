"""Whatever is done, channels hold what those of a twin without constraints hold, to the last bit.

A walk of random edits does each of them to a rig and to its twin. Every step has its own random
number generator, so a failing walk can be shortened by leaving steps out.
"""

import os
from pathlib import Path

import pytest
from edits import KINDS, walk

STEPS = int(os.environ.get("FABRIK_STRESS", "0")) or 300
"""How many steps a walk has."""

SEEDS = [int(seed) for seed in os.environ.get("FABRIK_SEEDS", "").split()] or [1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_channels_are_those_of_a_twin_without_constraints(kind, seed, tmp_path: Path, capfd):
    assert walk(kind, seed, range(STEPS), tmp_path) is None
    printed = "".join(capfd.readouterr())
    assert "could not pose" not in printed
