"""How the shape that the first sweeps found lands on its target exactly.

Everything here is measured from the root, which is the origin, and the chain is 1 long.
"""

from math import sqrt

from .fabrik import COINCIDENT
from .vectors import Vec, mat_symmetric_solved

EXACT = 1e-7
"""The residual at which a landing is over. The steps being Newton's, mostly it is its square."""

Shape = tuple[list[Vec], Vec, Vec, Vec]
"""Directions d of the bones, the tip, and Σ l d dᵀ as (xx, yy, zz) and (xy, xz, yz)."""


def landed(
    joints: list[Vec], lengths: list[float], target: Vec, near_enough: float, most: int
) -> tuple[list[Vec], int]:
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
        The joints and the number of steps after the first pass.
    """
    shape = _drawn(joints, lengths)
    steps = 0
    while steps < most and _missed(shape[1], target) > near_enough:
        pull = _pull_to(target, shape)
        if pull is None:
            break
        shape = _pulled_along(pull, shape[0], lengths)
        steps += 1
    return _placed(shape[0], lengths), steps


def _missed(tip: Vec, target: Vec) -> float:
    dx, dy, dz = target[0] - tip[0], target[1] - tip[1], target[2] - tip[2]
    return sqrt(dx * dx + dy * dy + dz * dz)


def _pull_to(target: Vec, shape: Shape) -> Vec | None:
    """Return the pull that brings the tip nearer to the target, None if no pull can be told.

    The tip t is compared with the target as t / √(1 − t²), which a pull changes nearly in
    proportion; exactly so if all bones make one angle with it. To Newton's method the plain gap
    would look like a square root at the edge of reach, and like two of them far from there.
    """
    _, (x, y, z), (xx, yy, zz), (xy, xz, yz) = shape
    tx, ty, tz = target
    bent = 1.0 - x * x - y * y - z * z
    wanted = 1.0 - tx * tx - ty * ty - tz * tz
    if bent <= 0.0 or wanted <= 0.0:
        return None
    # With s² = 1 − t² the derivative of t / s is (1 + t tᵀ / s²) / s, and its inverse s (1 − t tᵀ).
    ratio = sqrt(bent / wanted)
    gx, gy, gz = tx * ratio - x, ty * ratio - y, tz * ratio - z
    along = gx * x + gy * y + gz * z
    gap = (gx - x * along, gy - y * along, gz - z * along)
    # The chain being 1 long, Σ l is xx + yy + zz.
    pull = mat_symmetric_solved((yy + zz, xx + zz, xx + yy), (-xy, -xz, -yz), gap)
    if pull is None:
        return None
    px, py, pz = pull
    # Where a chain is nearly straight or folded, the pull may be anything: it stays below 1.
    shorter = 1.0 / sqrt(1.0 + px * px + py * py + pz * pz)
    return (px * shorter, py * shorter, pz * shorter)


def _drawn(joints: list[Vec], lengths: list[float]) -> Shape:
    """Draw the joints to their lengths from the root on, as `fabrik` does, and measure them."""
    x = y = z = 0.0
    xx = yy = zz = xy = xz = yz = 0.0
    ux, uy, uz = 1.0, 0.0, 0.0
    directions: list[Vec] = []
    for i in range(len(lengths)):
        px, py, pz = joints[i + 1]
        dx = px - x
        dy = py - y
        dz = pz - z
        distance = sqrt(dx * dx + dy * dy + dz * dz)
        if distance > COINCIDENT:
            ux = dx / distance
            uy = dy / distance
            uz = dz / distance
        directions.append((ux, uy, uz))
        size = lengths[i]
        sx = size * ux
        sy = size * uy
        sz = size * uz
        x += sx
        y += sy
        z += sz
        xx += sx * ux
        yy += sy * uy
        zz += sz * uz
        xy += sx * uy
        xz += sx * uz
        yz += sy * uz
    return directions, (x, y, z), (xx, yy, zz), (xy, xz, yz)


def _pulled_along(pull: Vec, directions: list[Vec], lengths: list[float]) -> Shape:
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
    turned: list[Vec] = []
    for i in range(len(lengths)):
        ux, uy, uz = directions[i]
        part = 1.0 + share * (ux * px + uy * py + uz * pz)
        dx = ux + px * part
        dy = uy + py * part
        dz = uz + pz * part
        inverse = 1.0 / sqrt(dx * dx + dy * dy + dz * dz)
        ux = dx * inverse
        uy = dy * inverse
        uz = dz * inverse
        turned.append((ux, uy, uz))
        size = lengths[i]
        sx = size * ux
        sy = size * uy
        sz = size * uz
        x += sx
        y += sy
        z += sz
        xx += sx * ux
        yy += sy * uy
        zz += sz * uz
        xy += sx * uy
        xz += sx * uz
        yz += sy * uz
    return turned, (x, y, z), (xx, yy, zz), (xy, xz, yz)


def _placed(directions: list[Vec], lengths: list[float]) -> list[Vec]:
    x = y = z = 0.0
    joints = [(x, y, z)]
    for i in range(len(lengths)):
        ux, uy, uz = directions[i]
        size = lengths[i]
        x += size * ux
        y += size * uy
        z += size * uz
        joints.append((x, y, z))
    return joints
