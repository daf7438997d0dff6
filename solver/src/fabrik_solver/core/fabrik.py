"""One iteration of FABRIK."""

from math import sqrt
from typing import Final

from .joint import Joint
from .vectors import Vec

COINCIDENT: Final = 1e-150
"""Joints closer to each other than this coincide."""


def fabrik(joints: list[Joint], target: Vec) -> None:
    """Run one backward and one forward pass.

    Aristidou and Lasenby, “FABRIK: A fast, iterative solver for the Inverse Kinematics problem”,
    Graphical Models 73 (2011), Algorithm 1. The root is the first joint and stays. Each joint is
    placed on the line between its old position and its neighbor's new position, so a planar chain
    stays in its plane.

    Coincident joints have no such line, so they use the previous bone's direction.
    """
    root = joints[0].at()
    backward(joints, target)
    _forward(joints, root)


# The loops over the bones, here and in `landing`, assign component by component: twice as fast when
# compiled, and no slower when interpreted.


def backward(joints: list[Joint], target: Vec) -> None:
    """Put the tip on the target and drag all joints behind it at their lengths, even the root."""
    joints[-1].move(target)
    x, y, z = target
    dx, dy, dz, distance = 1.0, 0.0, 0.0, 1.0
    for i in range(len(joints) - 2, -1, -1):
        joint = joints[i]
        nx = joint.x - x
        ny = joint.y - y
        nz = joint.z - z
        neighbor_distance = sqrt(nx * nx + ny * ny + nz * nz)
        if neighbor_distance > COINCIDENT:
            dx = nx
            dy = ny
            dz = nz
            distance = neighbor_distance
        ratio = joint.size / distance
        x += dx * ratio
        y += dy * ratio
        z += dz * ratio
        joint.x = x
        joint.y = y
        joint.z = z


def _forward(joints: list[Joint], root: Vec) -> None:
    """Put the first joint on the root and drag the others behind it at their lengths."""
    joints[0].move(root)
    x, y, z = root
    dx, dy, dz, distance = 1.0, 0.0, 0.0, 1.0
    size = joints[0].size
    for i in range(1, len(joints)):
        joint = joints[i]
        nx = joint.x - x
        ny = joint.y - y
        nz = joint.z - z
        neighbor_distance = sqrt(nx * nx + ny * ny + nz * nz)
        if neighbor_distance > COINCIDENT:
            dx = nx
            dy = ny
            dz = nz
            distance = neighbor_distance
        ratio = size / distance
        x += dx * ratio
        y += dy * ratio
        z += dz * ratio
        joint.x = x
        joint.y = y
        joint.z = z
        size = joint.size
