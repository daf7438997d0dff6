"""Which group steps next, and how long its step may take, so that all feet stay within reach."""

from collections.abc import Sequence
from math import inf
from typing import Final

from ..core.vectors import length
from .gait import WalkSettings
from .walking_foot import Substep, WalkingFoot

ALONG: Final = 0.3
"""The share of its limit from which a foot steps along with the others of its group."""


def of_group(feet: Sequence[WalkingFoot], group: int) -> list[WalkingFoot]:
    """Return the feet of a group."""
    return [foot for foot in feet if foot.leg.group == group]


def next_to_step(
    feet: Sequence[WalkingFoot], groups: Sequence[int], now: Substep, settings: WalkSettings
) -> list[WalkingFoot]:
    """Return the feet to lift now, while all are in stance; none if no step is due.

    They are those of the next group in turn with a foot beyond its limit. A group that would get
    out of reach during that step goes first.

    Args:
        feet: All feet.
        groups: The groups, starting with the next in turn.
        now: The present.
        settings: The settings of the walk.
    """
    for group in groups:
        members = of_group(feet, group)
        if any([foot.off(now) >= foot.stride.limit for foot in members]):
            left = {element: _least(of_group(feet, element), now, settings) for element in groups}
            pressed = min(groups, key=left.__getitem__)
            if left[pressed] >= min(left[group], 1.5 * settings.duration):
                pressed = group
            return stepping_along(of_group(feet, pressed), now, settings)
        rest = [foot for foot in members if foot.quiet >= 0.5 * settings.duration]
        rest = [foot for foot in rest if not foot.is_there(now, settings)]
        if rest:
            return rest
    return []


def stepping_along(
    members: Sequence[WalkingFoot], now: Substep, settings: WalkSettings
) -> list[WalkingFoot]:
    """Return the feet of a group that take part in its step."""
    return [
        foot
        for foot in members
        if foot.off(now) >= ALONG * foot.stride.limit
        or foot.time_left(now, settings) < 2.0 * settings.duration
    ]


def step_duration(
    feet: Sequence[WalkingFoot], group: int, now: Substep, settings: WalkSettings
) -> float:
    """Return the duration of a group's step: as set, or as long as the others can wait.

    The others step one group after the other, so the second one has to wait for two steps, and so
    on.
    """
    groups = {foot.leg.group for foot in feet}
    frames = settings.duration
    for foot in feet:
        speed = length(foot.velocity)
        if speed > 0.0:
            frames = min(frames, foot.stride.spare / (speed * max(1, len(groups) - 1)))
    frames = max(frames, 1e-3)
    left = sorted(_least(of_group(feet, other), now, settings) for other in groups - {group})
    soon = min([time / (turn + 1) for turn, time in enumerate(left)], default=inf)
    # A foot almost out of reach does not make the others hurry: it lands early.
    return max(min(frames, soon), min(frames, 1.0))


def _least(members: Sequence[WalkingFoot], now: Substep, settings: WalkSettings) -> float:
    return min([foot.time_left(now, settings) for foot in members])
