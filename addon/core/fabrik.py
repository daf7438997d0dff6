"""One sweep of FABRIK."""

from math import sqrt

from .vectors import Vec

COINCIDENT = 1e-150
"""Joints that are nearer to each other than this have no line between them."""


def fabrik(joints: list[Vec], lengths: list[float], target: Vec) -> list[Vec]:
    """Take the chain one backward and one forward pass nearer to the target.

    Aristidou and Lasenby, “FABRIK: A fast, iterative solver for the Inverse Kinematics problem”,
    Graphical Models 73 (2011), Algorithm 1. The root is the first joint and stays. Each joint is
    placed on the line between its old place and its already placed neighbour, so a chain that
    lies in a plane stays there.

    Joints that coincide have no line between them: they take the direction of the bone before.
    """
    return _forward(joints[0], backward(joints, lengths, target), lengths)


# The loops over the bones, here and in `landing`, count with an index and set one number a line:
# compiled they are then twice as fast, and interpreted no slower.


def backward(joints: list[Vec], lengths: list[float], target: Vec) -> list[Vec]:
    """Put the tip on the target and drag the others behind it at their lengths, off the root."""
    x, y, z = target
    dx, dy, dz, distance = 1.0, 0.0, 0.0, 1.0
    placed = [target] * len(joints)
    for i in range(len(lengths) - 1, -1, -1):
        px, py, pz = joints[i]
        nx = px - x
        ny = py - y
        nz = pz - z
        away = sqrt(nx * nx + ny * ny + nz * nz)
        if away > COINCIDENT:
            dx = nx
            dy = ny
            dz = nz
            distance = away
        share = lengths[i] / distance
        x += dx * share
        y += dy * share
        z += dz * share
        placed[i] = (x, y, z)
    return placed


def _forward(root: Vec, joints: list[Vec], lengths: list[float]) -> list[Vec]:
    """Put the first joint on the root and drag the others behind it at their lengths."""
    x, y, z = root
    dx, dy, dz, distance = 1.0, 0.0, 0.0, 1.0
    placed = [root]
    for i in range(len(lengths)):
        px, py, pz = joints[i + 1]
        nx = px - x
        ny = py - y
        nz = pz - z
        away = sqrt(nx * nx + ny * ny + nz * nz)
        if away > COINCIDENT:
            dx = nx
            dy = ny
            dz = nz
            distance = away
        share = lengths[i] / distance
        x += dx * share
        y += dy * share
        z += dz * share
        placed.append((x, y, z))
    return placed
