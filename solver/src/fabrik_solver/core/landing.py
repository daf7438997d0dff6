"""Landing: brings the shape from the first iterations exactly onto the target.

All positions are relative to the root, in chain lengths.
"""

from math import sqrt
from typing import Final

from .fabrik import COINCIDENT
from .joint import Joint
from .vectors import ORIGIN, Vec, solve_symmetric

EXACT: Final = 1e-7
"""The residual at which landing ends. Newton's method usually leaves its square."""

Shape = tuple[Vec, Vec, Vec]
"""The tip, and Σ l d dᵀ as (xx, yy, zz) and (xy, xz, yz), for bones of length l and direction d."""


def land(joints: list[Joint], target: Vec, near_enough: float, most: int) -> int:
    """Bring the tip onto the target by rotating all bones slightly, in at most ``most`` steps.

    Each step pulls all bones in the same direction, as a load on the tip would (see
    `_pulled_along`). Let l be the length of a bone and d its direction. To first order, a pull
    moves the tip by the 3 × 3 matrix Σ l (1 − d dᵀ). A step costs O(bones). This is Newton's method
    with the pseudoinverse, where J Jᵀ is that matrix. Of all motions that close the gap, a step has
    the smallest sum of squared angles, weighted by length. It doesn't choose a joint, plane or
    branch, so the solution is as smooth as its input. Planar chains stay planar.

    The first pass only restores the lengths, root first. It is the forward pass of a FABRIK
    iteration, and changes nothing if the lengths are already right.

    Returns:
        The number of steps after the first pass.
    """
    shape = _drawn(joints)
    steps = 0
    while steps < most and _missed(shape[0], target) > near_enough:
        pull = _pull_to(target, shape)
        if pull == (0.0, 0.0, 0.0):
            break
        shape = _pulled_along(pull, joints)
        steps += 1
    return steps


def _missed(tip: Vec, target: Vec) -> float:
    dx, dy, dz = target[0] - tip[0], target[1] - tip[1], target[2] - tip[2]
    return sqrt(dx * dx + dy * dy + dz * dz)


def _pull_to(target: Vec, shape: Shape) -> Vec:
    """Return the pull that brings the tip closer to the target, zero if undetermined.

    The tip t is compared with the target as t / √(1 − t²), in which a pull is nearly linear. It is
    exactly linear if all bones make the same angle with it. The plain gap would behave like a
    square root at the edge of reach, where Newton's method is slow.
    """
    (x, y, z), (xx, yy, zz), (xy, xz, yz) = shape
    tx, ty, tz = target
    bent = 1.0 - x * x - y * y - z * z
    wanted = 1.0 - tx * tx - ty * ty - tz * tz
    if bent <= 0.0 or wanted <= 0.0:
        return ORIGIN
    # With s² = 1 − t² the derivative of t / s is (1 + t tᵀ / s²) / s, and its inverse s (1 − t tᵀ).
    ratio = sqrt(bent / wanted)
    gx, gy, gz = tx * ratio - x, ty * ratio - y, tz * ratio - z
    along = gx * x + gy * y + gz * z
    gap = (gx - x * along, gy - y * along, gz - z * along)
    # The chain has length 1, so Σ l is xx + yy + zz.
    px, py, pz = solve_symmetric((yy + zz, xx + zz, xx + yy), (-xy, -xz, -yz), gap)
    # The pull is unbounded if a chain is nearly straight or folded: keep it below 1.
    shorter = 1.0 / sqrt(1.0 + px * px + py * py + pz * pz)
    return (px * shorter, py * shorter, pz * shorter)


def _drawn(joints: list[Joint]) -> Shape:
    """Restore the lengths, root first, as `fabrik` does, and measure the chain.

    Afterward the joints store the directions of their bones.
    """
    x = y = z = 0.0
    xx = yy = zz = xy = xz = yz = 0.0
    ux, uy, uz = 1.0, 0.0, 0.0
    joint = joints[0]
    joint.move((x, y, z))
    for i in range(1, len(joints)):
        next_joint = joints[i]
        dx = next_joint.x - x
        dy = next_joint.y - y
        dz = next_joint.z - z
        distance = sqrt(dx * dx + dy * dy + dz * dz)
        if distance > COINCIDENT:
            ux = dx / distance
            uy = dy / distance
            uz = dz / distance
        joint.ux = ux
        joint.uy = uy
        joint.uz = uz
        size = joint.size
        sx = size * ux
        sy = size * uy
        sz = size * uz
        x += sx
        y += sy
        z += sz
        next_joint.x = x
        next_joint.y = y
        next_joint.z = z
        xx += sx * ux
        yy += sy * uy
        zz += sz * uz
        xy += sx * uy
        xz += sx * uz
        yz += sy * uz
        joint = next_joint
    return (x, y, z), (xx, yy, zz), (xy, xz, yz)


def _pulled_along(pull: Vec, joints: list[Joint]) -> Shape:
    """Rotate all bones toward the direction of the pull, and measure the chain.

    The directions transform like starlight under a Lorentz boost (aberration), the flow of the
    infinitesimal d → d + pull − d (d · pull). However large the pull is, bones that point against
    it turn away to different sides. With unit(d + pull) they would pass through zero and flip.
    """
    px, py, pz = pull
    factor = 1.0 / (1.0 + sqrt(1.0 + px * px + py * py + pz * pz))
    x = y = z = 0.0
    xx = yy = zz = xy = xz = yz = 0.0
    joint = joints[0]
    for i in range(1, len(joints)):
        ux = joint.ux
        uy = joint.uy
        uz = joint.uz
        part = 1.0 + factor * (ux * px + uy * py + uz * pz)
        dx = ux + px * part
        dy = uy + py * part
        dz = uz + pz * part
        inverse = 1.0 / sqrt(dx * dx + dy * dy + dz * dz)
        ux = dx * inverse
        uy = dy * inverse
        uz = dz * inverse
        joint.ux = ux
        joint.uy = uy
        joint.uz = uz
        size = joint.size
        sx = size * ux
        sy = size * uy
        sz = size * uz
        x += sx
        y += sy
        z += sz
        joint = joints[i]
        joint.x = x
        joint.y = y
        joint.z = z
        xx += sx * ux
        yy += sy * uy
        zz += sz * uz
        xy += sx * uy
        xz += sx * uz
        yz += sy * uz
    return (x, y, z), (xx, yy, zz), (xy, xz, yz)
