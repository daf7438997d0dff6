"""Choosing the next group to step and the duration of its step, so that all feet stay in reach."""

from collections.abc import Sequence
from math import inf
from typing import Final

from ..core.vectors import length
from .gait import WalkSettings
from .walking_foot import Substep, WalkingFoot

ALONG: Final = 0.3
"""The fraction of its limit above which a foot steps together with others of its group."""


def of_group(feet: Sequence[WalkingFoot], group: int) -> list[WalkingFoot]:
    """Return the feet of a group."""
    return [foot for foot in feet if foot.leg.group == group]


def next_to_step(
    feet: Sequence[WalkingFoot], groups: Sequence[int], substep: Substep, settings: WalkSettings
) -> list[WalkingFoot]:
    """Return the feet to lift while all are in stance; empty if no step is due.

    They belong to the next group in turn with a foot beyond its limit. A group about to leave its
    reach during that step takes precedence.

    Args:
        feet: All feet.
        groups: The groups, starting with the next in turn.
        substep: The current substep.
        settings: The settings of the walk.
    """
    for group in groups:
        members = of_group(feet, group)
        if any([foot.off(substep) >= foot.stride.limit for foot in members]):
            left = {
                candidate: _least(of_group(feet, candidate), substep, settings)
                for candidate in groups
            }
            pressed = min(groups, key=left.__getitem__)
            if left[pressed] >= min(left[group], 1.5 * settings.duration):
                pressed = group
            return stepping_along(of_group(feet, pressed), substep, settings)
        resting = [foot for foot in members if foot.quiet >= 0.5 * settings.duration]
        resting = [foot for foot in resting if not foot.is_there(substep, settings)]
        if resting:
            return resting
    return []


def stepping_along(
    members: Sequence[WalkingFoot], substep: Substep, settings: WalkSettings
) -> list[WalkingFoot]:
    """Return the feet of a group that step with it: those off their places or soon out of reach."""
    return [
        foot
        for foot in members
        if foot.off(substep) >= ALONG * foot.stride.limit
        or foot.time_left(substep, settings) < 2.0 * settings.duration
    ]


def step_duration(
    feet: Sequence[WalkingFoot], group: int, substep: Substep, settings: WalkSettings
) -> float:
    """Return the duration of a group's step: as set, or shorter if other groups can't wait.

    The other groups step one after another, so the second one waits for two steps, and so on.
    """
    groups = {foot.leg.group for foot in feet}
    frames = settings.duration
    for foot in feet:
        speed = length(foot.velocity)
        if speed > 0.0:
            frames = min(frames, foot.stride.spare / (speed * max(1, len(groups) - 1)))
    frames = max(frames, 1e-3)
    left = sorted(_least(of_group(feet, other), substep, settings) for other in groups - {group})
    soon = min([time / (turn + 1) for turn, time in enumerate(left)], default=inf)
    # A foot almost out of reach doesn't hurry the others, because it lands early.
    return max(min(frames, soon), min(frames, 1.0))


def _least(members: Sequence[WalkingFoot], substep: Substep, settings: WalkSettings) -> float:
    return min([foot.time_left(substep, settings) for foot in members])
