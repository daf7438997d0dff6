"""The settings of a constraint as they are now."""

from __future__ import annotations

from functools import cache
from math import inf
from typing import Any, NamedTuple

from .properties import FabrikConstraint


class Settings(NamedTuple):
    """The settings of one constraint that can change over time."""

    enabled: bool
    influence: float
    solver: int
    pole_angle: float
    pole_weight: float
    softness: float
    swing: float
    rotation_weight: float
    twist_spread: float
    stretch_max: float
    use_volume: bool
    chain_bias: float
    weight: float
    root_weight: float
    iterations: int
    tolerance: float


ENABLED = Settings._fields.index("enabled")
INFLUENCE = Settings._fields.index("influence")

UNLIMITED = 1e30
"""What is beyond is no limit: Blender has none that is infinite."""


@cache
def _ranges() -> list[tuple[float, float]]:
    """Return the least and the greatest value of each setting, as its property has them."""
    found: list[tuple[float, float]] = []
    for name in Settings._fields:
        prop: Any = FabrikConstraint.bl_rna.properties[name]
        low, high = getattr(prop, "hard_min", -inf), getattr(prop, "hard_max", inf)
        found.append((low if low > -UNLIMITED else -inf, high if high < UNLIMITED else inf))
    return found


def within_limits(settings: Settings) -> Settings:
    """Return the settings within their properties' limits, past which scripts and curves get."""
    pairs = zip(settings, _ranges(), strict=True)
    return Settings._make([min(max(value, low), high) for value, (low, high) in pairs])
