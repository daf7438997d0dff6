"""The kinds of motion, by the constraint's solver."""

from . import follow, look, rope, wave
from .motion import Motion

MOTION_SOLVERS = ("LOOK_AT", "ROPE", "FOLLOW", "WAVE")
"""Their names, in the order of the setting: files and keys know them by their numbers."""

MOTIONS: dict[str, Motion] = {
    "LOOK_AT": look.MOTION,
    "ROPE": rope.MOTION,
    "FOLLOW": follow.MOTION,
    "WAVE": wave.MOTION,
}
