"""One iteration of cyclic coordinate descent."""

from .joint import Joint, points_of
from .vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Quat,
    Vec,
    add,
    any_perpendicular,
    cross,
    length,
    quat_between,
    quat_product,
    quat_unit,
    rotate,
    scaled,
    sub,
    unit,
)


def ccd(joints: list[Joint], target: Vec) -> None:
    """Turn each joint once, from the tip to the root, so that the tip faces the target.

    Wang and Chen, “A combined optimization method for solving the inverse kinematics problem of
    mechanical manipulators”, IEEE Trans. Robotics and Automation 7 (1991). Rotations are
    accumulated and applied once at the end, so that an iteration costs O(bones).
    """
    points = points_of(joints)
    tip = points[-1]
    normal = _normal(points)
    turns: list[Quat] = []
    for joint in points[-2::-1]:
        arm = sub(tip, joint)
        turn = quat_between(arm, sub(target, joint), normal)
        turns.append(turn)
        tip = add(joint, rotate(turn, arm))
    turns.reverse()

    placed = points[0]
    total = QUAT_IDENTITY
    for i, turn in enumerate(turns):
        total = quat_unit(quat_product(total, turn))
        direction = unit(rotate(total, sub(points[i + 1], points[i])))
        placed = add(placed, scaled(direction or ORIGIN, joints[i].size))
        joints[i + 1].move(placed)


def _normal(points: list[Vec]) -> Vec:
    """Return the axis for rotations by 180°: the normal of the chain's plane.

    Any perpendicular for a straight chain; Z for one in the XY plane, so that it stays there.
    """
    best, largest = ORIGIN, 0.0
    for i in range(2, len(points)):
        normal = cross(sub(points[i - 1], points[i - 2]), sub(points[i], points[i - 1]))
        if length(normal) > largest:
            best, largest = normal, length(normal)
    axis = unit(sub(points[-1], points[0])) or (1.0, 0.0, 0.0)
    return best if largest > 1e-9 else cross(axis, any_perpendicular(axis))
