"""Recognizing the anatomy of a skeleton from its names and shape.

`naming` reads the names, `figure` determines the side of each bone in a pose.
"""

from .chain import twists_in
from .figure import LEFT, LIMBS, UP, Names, RestBone, body_bones, level, possible_body
from .limbs import Limb
from .naming import (
    ARM_PARTS,
    FRONT_OR_HIND,
    HAND,
    LEG_PARTS,
    NOT_BODY,
    opposites,
    part_of,
    side_of,
    words_of,
)
from .recognition import Anatomy, better_than, floor_below, recognize
from .thresholds import SURE, THICKEST_SOLE

__all__ = [
    "ARM_PARTS",
    "FRONT_OR_HIND",
    "HAND",
    "LEFT",
    "LEG_PARTS",
    "LIMBS",
    "NOT_BODY",
    "SURE",
    "THICKEST_SOLE",
    "UP",
    "Anatomy",
    "Limb",
    "Names",
    "RestBone",
    "better_than",
    "body_bones",
    "floor_below",
    "level",
    "opposites",
    "part_of",
    "possible_body",
    "recognize",
    "side_of",
    "twists_in",
    "words_of",
]
