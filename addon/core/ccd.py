"""One sweep of cyclic coordinate descent."""

from collections.abc import Sequence

from .vectors import (
    NO_TURN,
    Quat,
    Vec,
    add,
    any_across,
    cross,
    quat_between,
    quat_product,
    quat_turn,
    quat_unit,
    scaled,
    sub,
    unit,
)


def ccd(joints: Sequence[Vec], lengths: Sequence[float], target: Vec) -> list[Vec]:
    """Turn each joint once, from the tip to the root, so that the tip faces the target.

    Wang and Chen, “A combined optimization method for solving the inverse kinematics problem of
    mechanical manipulators”, IEEE Trans. Robotics and Automation 7 (1991). A joint's turn moves
    all that hangs on it; the turns are first collected and then applied once, so that a sweep
    costs O(bones).
    """
    tip = joints[-1]
    turns: list[Quat] = []
    for joint in joints[-2::-1]:
        arm = sub(tip, joint)
        # A flat chain turns in its own plane even by 180°: about Z, which `any_across` keeps out.
        side = any_across(unit(arm) or (1.0, 0.0, 0.0))
        turn = quat_between(arm, sub(target, joint), cross(arm, side))
        turns.append(turn)
        tip = add(joint, quat_turn(turn, arm))
    turns.reverse()

    placed = [joints[0]]
    total = NO_TURN
    for i, size in enumerate(lengths):
        total = quat_unit(quat_product(total, turns[i]))
        direction = unit(quat_turn(total, sub(joints[i + 1], joints[i])))
        placed.append(add(placed[i], scaled(direction or (0.0, 0.0, 0.0), size)))
    return placed
