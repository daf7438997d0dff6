"""The settings of a constraint as they are at one moment."""

from __future__ import annotations

from math import inf
from typing import NamedTuple


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

LIMITS = {
    "pole_weight": (0.0, 1.0),
    "softness": (0.0, 0.9),
    "swing": (0.0, 1.0),
    "rotation_weight": (0.0, 1.0),
    "twist_spread": (0.0, 1.0),
    "stretch_max": (1.0, inf),
    "chain_bias": (-1.0, 1.0),
    "root_weight": (0.0, 1.0),
}


def within_limits(settings: Settings) -> Settings:
    """Return the settings within the properties' limits, past which scripts and curves get."""
    kept = {
        name: min(max(getattr(settings, name), low), high) for name, (low, high) in LIMITS.items()
    }
    return settings._replace(**kept)
