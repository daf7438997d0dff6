"""One iteration of cyclic coordinate descent."""

from math import atan2

from .bend import eased
from .joint import Joint, points_of
from .vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Quat,
    Vec,
    add,
    cross,
    dot,
    length,
    quat_exp,
    quat_product,
    quat_unit,
    rotate,
    scaled,
    sub,
    unit,
)


def ccd(joints: list[Joint], target: Vec) -> None:
    """Rotate each joint once, from the tip to the root, so that the tip faces the target.

    Wang and Chen, “A combined optimization method for solving the inverse kinematics problem of
    mechanical manipulators”, IEEE Trans. Robotics and Automation 7 (1991). Rotations are
    accumulated and applied once at the end, so an iteration costs O(bones).
    """
    points = points_of(joints)
    tip = points[-1]
    turns: list[Quat] = []
    for i in range(len(points) - 2, -1, -1):
        joint = points[i]
        arm = sub(tip, joint)
        turn = _turn(arm, sub(target, joint), joints[i].size)
        turns.append(turn)
        tip = add(joint, rotate(turn, arm))
    turns.reverse()

    position = points[0]
    total = QUAT_IDENTITY
    for i, turn in enumerate(turns):
        total = quat_unit(quat_product(total, turn))
        direction = unit(rotate(total, sub(points[i + 1], points[i])))
        position = add(position, scaled(direction or ORIGIN, joints[i].size))
        joints[i + 1].move(position)


def _turn(arm: Vec, ahead: Vec, size: float) -> Quat:
    """Return the rotation of a joint that turns the tip toward the target.

    Up to a right angle, it turns the tip all the way. If the target is behind the joint, both ways
    around are about equally long, so the rotation shrinks to zero at half a turn. It also shrinks
    if the tip or target is closer to the joint than the bone's length. At the joint they have no
    direction.
    """
    across = cross(arm, ahead)
    sine, cosine = length(across), dot(arm, ahead)
    if sine <= 0.0:
        return QUAT_IDENTITY
    angle = atan2(sine, abs(cosine))
    near = min(length(arm), length(ahead))
    if near < size:
        angle *= eased(near / size)
    return quat_exp(scaled(across, angle / sine))
