"""The closed-form limb of two bones."""

from math import sqrt

from .joint import Joint
from .vectors import (
    Vec,
    across,
    add,
    any_across,
    cross,
    length,
    quat_between,
    quat_turn,
    scaled,
    sub,
    unit,
)


def two_bone(joints: list[Joint], target: Vec) -> None:
    """Put the tip of two bones on the target by the law of cosines.

    The limb is first swung so that root → tip points at the target, which carries the direction
    of its bend along; then the middle joint is placed on that side.

    Raises:
        ValueError: If the chain has not two bones.
    """
    if len(joints) != 3:
        raise ValueError("TWO_BONE solves chains of two bones")
    root, middle, tip = joints[0].at(), joints[1].at(), joints[2].at()
    upper, lower = joints[0].size, joints[1].size
    bone = sub(middle, root)
    axis = unit(sub(tip, root)) or unit(bone) or (1.0, 0.0, 0.0)
    bend = unit(across(bone, axis)) or any_across(axis)
    to_target = sub(target, root)
    distance = length(to_target)
    direction = unit(to_target) or axis
    bend = quat_turn(quat_between(axis, direction, cross(axis, bend)), bend)
    bend = unit(across(bend, direction)) or any_across(direction)

    along = 0.5 * distance
    if distance > 0.0:
        along += 0.5 * (upper - lower) * (upper + lower) / distance
    along = max(-upper, min(upper, along))
    aside = sqrt(max(0.0, (upper - along) * (upper + along)))
    middle = add(root, add(scaled(direction, along), scaled(bend, aside)))
    forearm = unit(sub(target, middle)) or direction
    # The forearm is measured again, so that its length is exact even where rounding is not.
    joints[1].move(middle)
    joints[2].move(add(middle, scaled(forearm, lower)))
