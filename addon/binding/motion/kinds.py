"""The kinds of motion, by the constraint's solver."""

from .follow import FOLLOW
from .look import LOOK
from .motion import Motion

MOTION_SOLVERS = ("LOOK_AT", "ROPE", "FOLLOW", "WAVE")
"""Their names, in the order of the setting: files and keys know them by their numbers."""

MOTIONS: dict[str, Motion] = {
    "FOLLOW": FOLLOW,
    "LOOK_AT": LOOK,
}
