"""How the shape that the first sweeps found lands on its target exactly.

Everything here is measured from the root, which is the origin, and the chain is 1 long.
"""

from math import sqrt
from typing import Final

from .fabrik import COINCIDENT
from .joint import Joint
from .vectors import ORIGIN, Vec, mat_symmetric_solved

EXACT: Final = 1e-7
"""The residual at which a landing is over. The steps being Newton's, mostly it is its square."""

Shape = tuple[Vec, Vec, Vec]
"""The tip, and Σ l d dᵀ as (xx, yy, zz) and (xy, xz, yz), for bones of length l, direction d."""


def land(joints: list[Joint], target: Vec, near_enough: float, most: int) -> int:
    """Bring the tip onto the target by turning all bones a little, in at most so many steps.

    Each step pulls all bones in one and the same direction, as a load on the tip would (see
    `_pulled_along`). What pull closes the gap follows from the motion of the tip that a small one
    causes: Σ l (1 − d dᵀ), 3 × 3, for bones of length l and direction d; so a step costs as much
    as there are bones. Of all ways to turn the bones it is the least one, with the squares of the
    angles weighted by the lengths: Newton's method with the pseudoinverse, J Jᵀ being that matrix.
    Nothing is chosen in it, no joint, plane or branch, hence the answer changes as smoothly as its
    input. Flat chains stay flat.

    The first pass only draws the joints to their lengths from the root on, which is the forward
    pass of a sweep of FABRIK, or changes nothing if they have these lengths already.

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
    """Return the pull that brings the tip nearer to the target, zeros if no pull can be told.

    The tip t is compared with the target as t / √(1 − t²), which a pull changes nearly in
    proportion; exactly so if all bones make one angle with it. To Newton's method the plain gap
    would look like a square root at the edge of reach, and like two of them far from there.
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
    # The chain being 1 long, Σ l is xx + yy + zz.
    px, py, pz = mat_symmetric_solved((yy + zz, xx + zz, xx + yy), (-xy, -xz, -yz), gap)
    # Where a chain is nearly straight or folded, the pull may be anything: it stays below 1.
    shorter = 1.0 / sqrt(1.0 + px * px + py * py + pz * pz)
    return (px * shorter, py * shorter, pz * shorter)


def _drawn(joints: list[Joint]) -> Shape:
    """Draw the joints to their lengths from the root on, as `fabrik` does, and measure them.

    From here on the joints keep the directions of their bones.
    """
    x = y = z = 0.0
    xx = yy = zz = xy = xz = yz = 0.0
    ux, uy, uz = 1.0, 0.0, 0.0
    joint = joints[0]
    joint.move((x, y, z))
    for i in range(1, len(joints)):
        after = joints[i]
        dx = after.x - x
        dy = after.y - y
        dz = after.z - z
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
        after.x = x
        after.y = y
        after.z = z
        xx += sx * ux
        yy += sy * uy
        zz += sz * uz
        xy += sx * uy
        xz += sx * uz
        yz += sy * uz
        joint = after
    return (x, y, z), (xx, yy, zz), (xy, xz, yz)


def _pulled_along(pull: Vec, joints: list[Joint]) -> Shape:
    """Turn all bones towards the direction of the pull, and measure them.

    They turn as the stars do for a traveller who speeds up: a Lorentz boost, whose flow is that
    of the small turns d → d + pull − d (d · pull). Whatever the pull, bones that point against it
    turn away to their own sides, where in unit(d + pull) they would pass through nothing to the
    other side, and the pose would jump.
    """
    px, py, pz = pull
    share = 1.0 / (1.0 + sqrt(1.0 + px * px + py * py + pz * pz))
    x = y = z = 0.0
    xx = yy = zz = xy = xz = yz = 0.0
    joint = joints[0]
    for i in range(1, len(joints)):
        ux = joint.ux
        uy = joint.uy
        uz = joint.uz
        part = 1.0 + share * (ux * px + uy * py + uz * pz)
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
