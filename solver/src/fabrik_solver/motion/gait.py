"""The data of a walk: its legs, settings and recorded steps.

`walking` plans the steps once. The feet (`footfall.foot_at`) and the body's lean at any time are
functions of the recorded walk.
"""

from collections.abc import Sequence
from math import floor
from typing import NamedTuple

from ..core import WHOLE
from ..core.vectors import Vec
from .footfall import Footfall, foot_at, hump
from .stance import Lean, LeanState, lean_between


class WalkingLeg(NamedTuple):
    """A leg.

    Attributes:
        rest: The rest position of its foot, in the body's frame: X to the right, Y ahead, Z up.
        root: The location of its hip, in the body's frame.
        reach: Its length when fully extended.
        group: Legs with the same number step together. The groups take turns.
        spine: Its position along the spine: 0 on the body itself, 1 at the far end.
    """

    rest: Vec
    root: Vec
    reach: float
    group: int
    spine: float = 0.0


class WalkSettings(NamedTuple):
    """How a body walks. Lengths are fractions of each leg's length; times are in frames.

    Attributes:
        threshold: The distance from its rest position at which a foot steps.
        step_height: The height of a step.
        duration: The duration of a step; shorter if the body is too fast.
        overshoot: How far ahead of its rest position a foot lands, as a fraction of the threshold.
        ray_height: How far above the rest position rays toward the ground start.
        climbs: Whether feet step onto walls and wrap around edges.
        height: The fraction of the feet's height that the body follows.
        tilt: The fraction of the slope under the feet that the body follows.
        bob: How far the body rises with each step.
        leans: Whether the body can be lifted and tilted.
    """

    threshold: float = 0.25
    step_height: float = 0.15
    duration: float = 6.0
    overshoot: float = 0.5
    ray_height: float = 0.5
    climbs: bool = False
    height: float = 1.0
    tilt: float = 1.0
    bob: float = 0.0
    leans: bool = True


class RecordedWalk(NamedTuple):
    """A simulated walk.

    Attributes:
        start: The first whole frame.
        falls: Each leg's footfalls, the first being its initial stance.
        lean_states: The body's lean at each whole frame.
    """

    start: int
    falls: tuple[tuple[Footfall, ...], ...]
    lean_states: tuple[LeanState, ...]


def lean_at(record: RecordedWalk, time: float) -> Lean:
    """Return the lean of the body at a time, without its bob."""
    at = min(max(time - record.start, 0.0), len(record.lean_states) - 1.0)
    frame = min(floor(at), len(record.lean_states) - 2)
    if frame < 0:
        return record.lean_states[0].lean
    return lean_between(record.lean_states[frame], record.lean_states[frame + 1], at - frame)


def bob_at(record: RecordedWalk, groups: Sequence[int], time: float) -> float:
    """Return how far the steps raise the body at a time, from 0 to 1.

    Args:
        record: The walk.
        groups: The group of each leg.
        time: In frames.
    """
    raised = 0.0
    for falls, group in zip(record.falls, groups, strict=True):
        _, swing = foot_at(falls, time, lambda _: WHOLE)
        if swing is not None:
            raised += hump(swing) / groups.count(group)
    return raised
