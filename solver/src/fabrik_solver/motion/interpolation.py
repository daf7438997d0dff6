"""Interpolation of bodies and grounds between two whole frames."""

from collections.abc import Mapping

from ..core import WHOLE, Frame, frame_in, inverse
from ..core.vectors import (
    Mat3,
    Quat,
    mat_columns,
    mat_from_columns,
    mix,
    quat_matrix,
    slerp,
)
from .footfall import STILL, Grounds


def body_between(a: Frame, b: Frame, turns: tuple[Quat, Quat], t: float) -> Frame:
    """Interpolate the frame of a body between two whole frames.

    Args:
        a: Its frame at the first whole frame.
        b: Its frame at the second whole frame.
        turns: Its rotations at both.
        t: The fraction of the time between them.
    """
    axes: Mat3 = quat_matrix(slerp(*turns, t))
    return axes, mix(a[1], b[1], t)


def grounds_between(
    previous_grounds: Mapping[int, Frame], next_grounds: Grounds, t: float
) -> Grounds:
    """Interpolate the frames of the grounds between two whole frames.

    Args:
        previous_grounds: The frames of the grounds that feet stood on at the previous whole frame.
        next_grounds: The frames of all grounds at the next whole frame.
        t: The fraction of the time between them.
    """

    def at(ground: int) -> Frame:
        start, end = previous_grounds.get(ground), next_grounds(ground)
        if start is None or start == end or t == 1.0:
            return end
        columns = zip(mat_columns(start[0]), mat_columns(end[0]), strict=True)
        axes = mat_from_columns(*(mix(a, b, t) for a, b in columns))
        return axes, mix(start[1], end[1], t)

    return at


def carried(ground: int, current: Grounds, whole: Grounds) -> Frame:
    """Return a ground's motion from the current time to the whole frame at which rays are cast."""
    if ground == STILL:
        return WHOLE
    start, end = current(ground), whole(ground)
    return WHOLE if start == end else frame_in(end, inverse(start))
