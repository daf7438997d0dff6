"""A foot that rolls on its sole, from the heel over the ball to the tip of the toes.

This is the reverse foot of character rigs in closed form: nested rotations about the points of the
sole that stay in place. In the space of a sole, the heel is the origin. X is the axis of the roll,
Y points to the toes, and Z points down. So a positive roll lifts the heel.
"""

from math import atan2, cos, hypot, pi, sin
from typing import NamedTuple

from ..core import Frame
from ..core.vectors import Mat3, Quat, Vec, dot, quat_about, quat_inverse, quat_product
from .sole import Sole

SIDE: Vec = (1.0, 0.0, 0.0)
"""The axis of the roll, in the space of a sole."""


class Rolled(NamedTuple):
    """How a foot has rolled.

    Attributes:
        foot: Its motion from standing flat, in the space of its sole.
        bend: How far its toes are bent up relative to the foot, in radians.
    """

    foot: Frame
    bend: float


def rolled(sole: Sole, turn: Mat3, pivot: float, most_bend: float) -> Rolled:
    """Return the motion of a foot that rolls on the floor.

    The foot rotates like its control; only the pivot differs. A negative roll is about the heel. A
    positive one is about the ball, with the toes in place, up to an angle; beyond that, it is about
    the tip of the toes. Bank is about either edge, and turn about a point on the sole's center
    line. The motion is continuous in each angle, and never moves a point of the sole below the
    floor.

    Args:
        sole: The sole, from the origin to its tip on Y.
        turn: The control's rotation: a roll about X, then a bank about Y, then a turn about Z.
        pivot: The distance from the heel to the turn's pivot.
        most_bend: How far the ball bends before the foot rises on the tip of the toes.
    """
    roll = atan2(turn[7], turn[8])
    bank = atan2(-turn[6], hypot(turn[7], turn[8]))
    yaw = atan2(turn[3], turn[0])
    bend = 0.0 if sole.joint is None else min(max(roll, 0.0), most_bend)
    x, y, z = 0.0, 0.0, 0.0
    if bend > 0.0 and sole.joint is not None:
        y, z = _about(y, z, sole.joint[1], sole.joint[2], bend)
    if roll > bend:
        y, z = _about(y, z, sole.tip[1], 0.0, roll - bend)
    if bank != 0.0:
        z, x = _about(z, x, 0.0, -sole.edge if bank > 0.0 else sole.edge, bank)
    if yaw != 0.0:
        x, y = _about(x, y, 0.0, pivot, yaw)
    return Rolled((turn, (x, y, z)), bend)


def unbent(bent: Quat, most_bend: float) -> tuple[float, Quat]:
    """Return the roll that bends the toes as far as in a pose, and the rest of their rotation.

    `toes_of` restores the pose, so any pose of a foot and its toes has a roll. The roll takes the
    bend only up to ``most_bend``, so a foot on flat toes stays flat.

    Args:
        bent: The rotation of the toes from their neutral pose, in the axes of the sole.
        most_bend: As in `rolled`.
    """
    w, x, y, z = bent
    twist = 2.0 * atan2(dot((x, y, z), SIDE), w)
    twist -= 2.0 * pi * round(twist / (2.0 * pi))
    bend = min(max(-twist, 0.0), most_bend)
    return bend, quat_product(quat_about(SIDE, bend), bent)


def toes_of(bend: float, toes: Quat) -> Quat:
    """Return the rotation of toes relative to a foot, in the axes of the sole.

    Args:
        bend: How far the roll bends them up.
        toes: Their rotation without the roll.
    """
    return quat_product(quat_inverse(quat_about(SIDE, bend)), toes)


def _about(
    a: float, b: float, center_a: float, center_b: float, angle: float
) -> tuple[float, float]:
    """Return a point of a plane rotated about a center, from the first axis toward the second."""
    cosine, sine = cos(angle), sin(angle)
    a, b = a - center_a, b - center_b
    return center_a + cosine * a - sine * b, center_b + sine * a + cosine * b
