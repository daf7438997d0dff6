"""The closed-form solver for two bones."""

from math import sqrt

from .joint import Joint
from .vectors import (
    Vec,
    across,
    add,
    any_perpendicular,
    length,
    scaled,
    sub,
    unit,
)


def two_bone(joints: list[Joint], target: Vec) -> None:
    """Put the tip of two bones on the target by the law of cosines.

    The middle joint stays on its side of the line to the target.

    Raises:
        ValueError: If the chain doesn't have two bones.
    """
    if len(joints) != 3:
        raise ValueError("TWO_BONE solves chains of two bones")
    root, middle = joints[0].at(), joints[1].at()
    upper, lower = joints[0].size, joints[1].size
    bone, to_target = sub(middle, root), sub(target, root)
    distance = length(to_target)
    direction = unit(to_target) or unit(sub(joints[2].at(), root)) or unit(bone) or (1.0, 0.0, 0.0)
    aside = unit(across(bone, direction)) or any_perpendicular(direction)
    # Twice, because in an almost straight limb the first result loses nearly all its digits.
    bend = unit(across(aside, direction)) or any_perpendicular(direction)

    along = 0.5 * distance
    if distance > 0.0:
        along += 0.5 * (upper - lower) * (upper + lower) / distance
    along = max(-upper, min(upper, along))
    height = sqrt(max(0.0, (upper - along) * (upper + along)))
    middle = add(root, add(scaled(direction, along), scaled(bend, height)))
    forearm = unit(sub(target, middle)) or direction
    # Normalized again, so that the forearm's length is exact despite rounding.
    joints[1].move(middle)
    joints[2].move(add(middle, scaled(forearm, lower)))
