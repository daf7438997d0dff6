"""One sweep of FABRIK."""

from collections.abc import Sequence
from math import sqrt

from .vectors import Vec


def fabrik(joints: Sequence[Vec], lengths: Sequence[float], target: Vec) -> list[Vec]:
    """Take the chain one backward and one forward pass nearer to the target.

    Aristidou and Lasenby, “FABRIK: A fast, iterative solver for the Inverse Kinematics problem”,
    Graphical Models 73 (2011), Algorithm 1. The root is the first joint and stays. Each joint is
    placed on the line between its old place and its already placed neighbour, so a chain that
    lies in a plane stays there.

    Joints that coincide have no line between them: they take the direction of the bone before.
    """
    moved = _pulled(target, joints[::-1], lengths[::-1])
    return _pulled(joints[0], moved[::-1], lengths)


def _pulled(start: Vec, joints: Sequence[Vec], lengths: Sequence[float]) -> list[Vec]:
    """Put the first joint at ``start`` and drag the others behind it at their lengths."""
    x, y, z = start
    ux, uy, uz = 1.0, 0.0, 0.0
    placed = [start]
    append = placed.append
    for (px, py, pz), size in zip(joints[1:], lengths, strict=True):
        dx, dy, dz = px - x, py - y, pz - z
        distance = sqrt(dx * dx + dy * dy + dz * dz)
        if distance > 1e-150:
            ux, uy, uz = dx / distance, dy / distance, dz / distance
        x, y, z = x + ux * size, y + uy * size, z + uz * size
        append((x, y, z))
    return placed
