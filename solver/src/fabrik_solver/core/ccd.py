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
    """Turn each joint once, from the tip to the root, so that the tip faces the target.

    Wang and Chen, “A combined optimization method for solving the inverse kinematics problem of
    mechanical manipulators”, IEEE Trans. Robotics and Automation 7 (1991). Rotations are
    accumulated and applied once at the end, so that an iteration costs O(bones).
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

    placed = points[0]
    total = QUAT_IDENTITY
    for i, turn in enumerate(turns):
        total = quat_unit(quat_product(total, turn))
        direction = unit(rotate(total, sub(points[i + 1], points[i])))
        placed = add(placed, scaled(direction or ORIGIN, joints[i].size))
        joints[i + 1].move(placed)


def _turn(arm: Vec, ahead: Vec, size: float) -> Quat:
    """Return the turn of a joint that takes the tip towards the target.

    It goes all the way up to a right angle. To a target behind it, where both ways round are as
    long, the joint turns the less the nearer it is to half a turn, and so it does if the tip or the
    target are nearer to it than its bone is long: at the joint they have no direction.
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
