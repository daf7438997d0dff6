"""Bodies and grounds between two whole frames."""

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


def body_between(a: Frame, b: Frame, turns: tuple[Quat, Quat], share: float) -> Frame:
    """Interpolate the frame of a body between two whole frames.

    Args:
        a: Its frame at the first.
        b: Its frame at the second.
        turns: Its rotations at both.
        share: The share of the time between them.
    """
    axes: Mat3 = quat_matrix(slerp(*turns, share))
    return axes, mix(a[1], b[1], share)


def grounds_between(before: Mapping[int, Frame], after: Grounds, share: float) -> Grounds:
    """Interpolate the frames of the grounds between two whole frames.

    Args:
        before: Those that feet stood on at the whole frame before.
        after: All of them at the next one.
        share: The share of the time between them.
    """

    def at(ground: int) -> Frame:
        then, soon = before.get(ground), after(ground)
        if then is None or then == soon or share == 1.0:
            return soon
        columns = zip(mat_columns(then[0]), mat_columns(soon[0]), strict=True)
        axes = mat_from_columns(*(mix(a, b, share) for a, b in columns))
        return axes, mix(then[1], soon[1], share)

    return at


def carried(ground: int, now: Grounds, whole: Grounds) -> Frame:
    """Return the transform of a ground from now to the whole frame, at which rays are cast."""
    if ground == STILL:
        return WHOLE
    here, there = now(ground), whole(ground)
    return WHOLE if here == there else frame_in(there, inverse(here))
