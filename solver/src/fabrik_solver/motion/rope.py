"""A rope between two points: the equilibrium of hinged bones under their weight.

The pose has no history: it depends only on the ends, the lengths and the obstacles.
"""

from collections.abc import Callable, Sequence
from math import asinh, atanh, cosh, dist, fsum, inf, sinh, sqrt
from typing import Final

from ..core import ChainInput, Posture, landed, swing_along, weakened
from ..core.vectors import Vec, across, add, any_perpendicular, dot, length, scaled, sub, unit
from .joint_fitting import fitted_to_joints

EXACT: Final = 1e-13
"""The largest error at the end of a hanging rope of length 1."""

STEPS: Final = 60
"""The maximum number of Newton iterations. Three or four suffice, except for almost taut ropes."""

TAUT: Final = 1e-13
"""The slack below which a rope of length 1 is treated as straight."""

SLACK: Final = 0.2
"""The largest slack of a bone of a folded rope, as a fraction of its weight."""

ROUNDS: Final = 30
"""The maximum number of solves for a rope whose bones change their lengths as they rotate."""

FULL_ROUNDS: Final = 5
"""The number of solves that use the new lengths unchanged. Later ones are under-relaxed."""

FITTED: Final = 1e-6
"""The largest error at the end of a fitted rope, as a fraction of its length.

Blender's single precision alone causes an error: axes are never quite perpendicular.
"""

Rest = Callable[[list[Vec], Sequence[float]], list[Vec]]
"""Resolves collisions of a hanging rope, from its joints and the lengths of its bones."""


def pose_rope(
    chain: ChainInput,
    target: Vec,
    down: Vec,
    resolve: Rest | None = None,
    influence: float = 1.0,
    tolerance: float = 1e-4,
) -> Posture:
    """Return the posture of a chain that hangs between its root and a target.

    If the target is exactly above or below the root, the chain hangs to its `hanging_side`.

    Args:
        chain: The bones and their FK pose. Joint limits are ignored.
        target: The position of the tip, in armature space.
        down: The direction of gravity in armature space, a unit vector. Under uneven scale it is
            perpendicular to level planes in that space.
        resolve: Resolves collisions; None without obstacles.
        influence: See `pose_chain`.
        tolerance: See `pose_chain`.

    Raises:
        ValueError: If a number isn't finite.
    """
    lengths = chain.chain.bone_lengths()
    size = fsum(lengths)
    side = hanging_side(chain)
    rounds = 0
    while True:
        joints = hang(chain.root, target, lengths, down, side)
        if resolve is not None:
            joints = resolve(joints, lengths)
        posture = fitted_to_joints(chain, joints, target, 1.0, tolerance)
        rounds += 1
        if dist(posture.tip, joints[-1]) <= FITTED * size or rounds == ROUNDS:
            break
        fraction = min(1.0, FULL_ROUNDS / rounds)
        changes = zip(lengths, swing_along(chain, joints)[2], strict=True)
        lengths = tuple([old + fraction * (new - old) for old, new in changes])
    return posture if influence == 1.0 else weakened(posture, chain, influence)


def hanging_side(chain: ChainInput) -> Vec:
    """Return a rope's default bulge direction: the bend direction of a straight chain."""
    x, y, z = chain.chain.bend or (0.0, 0.0, 1.0)
    return (x, y, z)


def hang(root: Vec, target: Vec, lengths: Sequence[float], down: Vec, side: Vec) -> list[Vec]:
    """Return the joints of a rope that hangs freely between two points.

    This is the equilibrium of rigid bones with hinges, each as heavy as it is long. The horizontal
    tension H is the same everywhere, while the vertical tension V grows by the weight. So a bone
    has the direction (H, V + c), where c is the length of rope up to its middle. H and V minimize
    the convex function Σ l √(H² + (V + c)²) − H x − V y. There, x and y are the target's distances
    across and against gravity. Newton's method starts from the smooth catenary of the same length.

    With one end nearly above the other, the solution folds at a single joint, and jumps from joint
    to joint. So if the ends are less than three bones apart horizontally, they are moved apart for
    solving, by up to one and a half bones. FABRIK then moves the tip to the target. The rope's
    plane flips where the target passes exactly above or below the root; ``side`` determines it
    there.

    Args:
        root: The position of the root.
        target: The position of the end. A rope that is too short is straight and doesn't reach it.
        lengths: The lengths of its bones, 0 or more.
        down: The direction of gravity, a unit vector.
        side: The side to bulge to, of any length, if the target is exactly above or below the root.

    Returns:
        One joint more than bones, root first.
    """
    size = fsum(lengths)
    root_to_target = sub(target, root)
    if size <= 0.0:
        return [root for _ in range(len(lengths) + 1)]
    if length(root_to_target) >= size * (1.0 - TAUT):
        return _straight(root, unit(root_to_target) or down, lengths)
    across_way = across(root_to_target, down)
    weights = [part / size for part in lengths]
    x, y = length(across_way) / size, -dot(root_to_target, down) / size
    ahead = unit(across_way) if x > 1e-12 else None
    ahead = ahead or unit(across(side, down)) or any_perpendicular(down)
    width, slack = _regularized(x, y, max(weights))
    tension = _tension(weights, width, y, slack)
    joints = [root]
    ax, ay, az = scaled(ahead, size)
    ux, uy, uz = scaled(down, -size)
    px, py, pz = root
    h, v = tension
    for weight in weights:
        v += 0.5 * weight
        part = weight / (sqrt(h * h + v * v) or 1.0)
        along, up = part * h, part * v
        px += ax * along + ux * up
        py += ay * along + uy * up
        pz += az * along + uz * up
        joints.append((px, py, pz))
        v += 0.5 * weight
    return landed(joints, lengths, target)


def _straight(root: Vec, direction: Vec, lengths: Sequence[float]) -> list[Vec]:
    joints = [root]
    for part in lengths:
        joints.append(add(joints[-1], scaled(direction, part)))
    return joints


def _regularized(x: float, y: float, longest: float) -> tuple[float, float]:
    """Return the regularization of a rope of length 1 with one end nearly above the other.

    Returns:
        The horizontal distance to solve for, and the slack of the bones as a fraction of the
        tension. With slack, a bone at a fold can have any direction.
    """
    room = 0.5 * sqrt(max(0.0, 1.0 - y * y))
    least = min(1.5 * longest, room)
    if x >= 2.0 * least:
        return x, 0.0
    inward = 1.0 - 0.5 * x / least
    return least + x * x / (4.0 * least), SLACK * longest * inward * inward


def _tension(weights: Sequence[float], x: float, y: float, slack: float) -> tuple[float, float]:
    """Return the horizontal tension of a rope of length 1, and the vertical one at its root.

    Both are in units of the rope's weight.
    """
    h, v = _smooth_tension(x, y)
    previous = inf
    step_h = step_v = 0.0
    for _ in range(STEPS):
        value, (gx, gy), (xx, xy, yy) = _energy(weights, h, v, x, y, slack)
        if value > previous + 1e-15:
            step_h, step_v = 0.5 * step_h, 0.5 * step_v
            h, v = h - step_h, v - step_v
            continue
        if gx * gx + gy * gy <= EXACT * EXACT:
            break
        previous = value
        # Singular if all bones are collinear: regularize, for a small step along the gradient.
        xx, yy = xx * (1.0 + 1e-12), yy * (1.0 + 1e-12)
        determinant = xx * yy - xy * xy
        if not determinant > 0.0:
            break
        step_h = (xy * gy - yy * gx) / determinant
        step_v = (xy * gx - xx * gy) / determinant
        h, v = h + step_h, v + step_v
    return h, v


def _smooth_tension(x: float, y: float) -> tuple[float, float]:
    """Return the tensions of a catenary of length 1, from sinh(a) / a = r."""
    ratio = sqrt(max(0.0, 1.0 - y * y)) / max(x, 1e-9)
    a = sqrt(6.0 * max(ratio - 1.0, 1e-15)) if ratio < 3.0 else asinh(2.0 * ratio)
    for _ in range(STEPS):
        step = (sinh(a) - ratio * a) / (cosh(a) - ratio)
        a -= step
        if abs(step) <= 1e-12 * a:
            break
    h = 0.5 * x / a
    return h, h * sinh(atanh(min(max(y, -1.0 + 1e-15), 1.0 - 1e-15)) - a)


Terms = tuple[float, tuple[float, float], tuple[float, float, float]]
"""A value, its gradient, and the elements xx, xy and yy of its Hessian."""


def _energy(
    weights: Sequence[float], h: float, v: float, x: float, y: float, slack: float
) -> Terms:
    """Return the convex function of `hang` that the tensions minimize, with its derivatives."""
    value, gx, gy = -h * x - v * y, -x, -y
    xx = xy = yy = 0.0
    hh = h * h + slack * slack
    for weight in weights:
        v += 0.5 * weight
        vv = v * v
        square = hh + vv
        pull = sqrt(square) or 1e-300
        part = weight / pull
        value += part * square
        gx += part * h
        gy += part * v
        part /= square or 1e-300
        xx += part * (square - h * h)
        xy -= part * h * v
        yy += part * hh
        v += 0.5 * weight
    return value, (gx, gy), (xx, xy, yy)
