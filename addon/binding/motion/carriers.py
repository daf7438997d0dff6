"""Which bones of an armature are posed ahead of the chains that hang on them."""

from __future__ import annotations

from collections.abc import Sequence

from ..chain_plan import ChainPlan
from ..faults import contained
from ..skeleton import Skeleton
from .carrier import Carrier
from .gait.body import bodies_of
from .ground.hips import hips_of


def carriers_of(rig: Skeleton, chains: Sequence[ChainPlan]) -> list[Carrier]:
    """Return the carriers of an armature, given its chains, which they may change."""
    found: list[Carrier] = []
    for kind in (hips_of, bodies_of):
        with contained(f"could not plan what carries the legs of “{rig.object.name}”"):
            found += kind(rig, chains)
    return found
