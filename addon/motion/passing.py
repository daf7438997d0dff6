"""Where bodies and grounds are between two whole frames."""

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
    """Return the frame of a body on its way from one whole frame to the next.

    Args:
        a: Where it is at the first.
        b: Where it is at the second.
        turns: How it is turned at both.
        share: How much of the time has passed.
    """
    axes: Mat3 = quat_matrix(slerp(*turns, share))
    return axes, mix(a[1], b[1], share)


def grounds_between(before: Mapping[int, Frame], after: Grounds, share: float) -> Grounds:
    """Return where the grounds are on their way to the next whole frame.

    Args:
        before: Where those are that feet stood on at the whole frame before.
        after: Where all are at the next.
        share: How much of the time has passed.
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
    """Return how moving ground carries what is on it until the whole frame, where rays are cast."""
    if ground == STILL:
        return WHOLE
    here, there = now(ground), whole(ground)
    return WHOLE if here == there else frame_in(there, inverse(here))
