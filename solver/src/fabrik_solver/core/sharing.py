"""Sharing: what iterations bend at a few joints is spread along a chain.

All positions are relative to the root, in chain lengths.
"""

from math import sqrt
from typing import Final

from .fabrik import COINCIDENT
from .joint import Joint
from .vectors import Vec

SPREAD: Final = 0.7
"""How much is left of a change that grows evenly from root to tip.

The less, the farther each bone's change spreads. With half of it, joints no longer move as smoothly
as those of a chain that iterates until it converges.
"""


def share(joints: list[Joint], posed: list[Vec]) -> None:
    """Spread along a chain by how much iterations changed the directions of its bones.

    A chain whose target is nearer and nearly on its line gets shorter where the iterations begin:
    they fold it at one joint. Here the change of each bone becomes a smooth function of its place
    in the chain, as by diffusion: Legendre polynomials of degree k decay by k (k + 1), and those
    from the third degree on, of which little is left, are dropped. The mean stays, and with it the
    tip, except that the lengths are restored. The function is linear in the change, and the change
    is zero where the chain is on its target: a chain moves as smoothly as by iterations, and a
    planar one stays planar.

    Args:
        joints: After iterations; from the origin on afterwards.
        posed: Where the joints were before.
    """
    x = y = z = place = 0.0
    lx = ly = lz = qx = qy = qz = 0.0
    ox, oy, oz = posed[0]
    for i in range(1, len(joints)):
        joint = joints[i - 1]
        next_joint = joints[i]
        px, py, pz = posed[i]
        dx = next_joint.x - joint.x - px + ox
        dy = next_joint.y - joint.y - py + oy
        dz = next_joint.z - joint.z - pz + oz
        ox = px
        oy = py
        oz = pz
        linear = 2.0 * place + joint.size - 1.0
        quadratic = 1.5 * linear * linear - 0.5
        place += joint.size
        x += dx
        y += dy
        z += dz
        lx += linear * dx
        ly += linear * dy
        lz += linear * dz
        qx += quadratic * dx
        qy += quadratic * dy
        qz += quadratic * dz
    # The squares of these polynomials have the means 1/3 and 1/5.
    factor = 3.0 * SPREAD
    lx *= factor
    ly *= factor
    lz *= factor
    factor = 5.0 * SPREAD * SPREAD * SPREAD
    qx *= factor
    qy *= factor
    qz *= factor
    _rebuild(joints, posed, (x, y, z), (lx, ly, lz), (qx, qy, qz))


def _rebuild(joints: list[Joint], posed: list[Vec], mean: Vec, linear: Vec, quadratic: Vec) -> None:
    """Place the joints of a chain whose bones change by a polynomial of their place in it."""
    mx, my, mz = mean
    lx, ly, lz = linear
    qx, qy, qz = quadratic
    ox, oy, oz = posed[0]
    x = y = z = place = 0.0
    ux, uy, uz = 1.0, 0.0, 0.0
    joint = joints[0]
    joint.move((x, y, z))
    for i in range(1, len(joints)):
        px, py, pz = posed[i]
        size = joint.size
        first = 2.0 * place + size - 1.0
        second = 1.5 * first * first - 0.5
        place += size
        dx = px - ox + size * (mx + first * lx + second * qx)
        dy = py - oy + size * (my + first * ly + second * qy)
        dz = pz - oz + size * (mz + first * lz + second * qz)
        ox = px
        oy = py
        oz = pz
        distance = sqrt(dx * dx + dy * dy + dz * dz)
        if distance > COINCIDENT:
            ux = dx / distance
            uy = dy / distance
            uz = dz / distance
        x += ux * size
        y += uy * size
        z += uz * size
        joint = joints[i]
        joint.x = x
        joint.y = y
        joint.z = z
