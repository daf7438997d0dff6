"""A rope between two points: the equilibrium of hinged bones under their own weight.

There is no history: the pose is a function of the ends, the lengths and the obstacles.
"""

from collections.abc import Callable, Sequence
from math import asinh, atanh, cosh, dist, fsum, inf, sinh, sqrt
from typing import Final

from ..core import Chain, ChainInput, Goal, Posture, solve, swing_along, weakened
from ..core.vectors import Vec, across, add, any_perpendicular, dot, length, scaled, sub, unit
from .joint_fitting import fitted_to_joints

EXACT: Final = 1e-13
"""The largest error at the end of a hanging rope of length 1."""

STEPS: Final = 60
"""The most Newton iterations. Three or four are enough, except for ropes almost in a line."""

TAUT: Final = 1e-13
"""The slack below which a rope of length 1 counts as straight."""

SLACK: Final = 0.2
"""The largest slack of a bone of a folded rope, as a share of its weight."""

ROUNDS: Final = 30
"""The most solves for a rope whose bones change their lengths as they turn."""

FULL_ROUNDS: Final = 5
"""The solves that use the new lengths unchanged; later ones are under-relaxed."""

FITTED: Final = 1e-6
"""The error at the end, as a share of the rope's length, at which its bones fit.

Blender's single precision alone causes some: axes are never quite perpendicular.
"""

Rest = Callable[[list[Vec], Sequence[float]], list[Vec]]
"""Resolves collisions of the joints of a hanging rope, given the lengths of its bones."""


def pose_rope(
    chain: ChainInput,
    target: Vec,
    down: Vec,
    rest: Rest | None = None,
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
        rest: Resolves collisions, if any.
        influence: See `pose_chain`.
        tolerance: See `pose_chain`.

    Raises:
        ValueError: If a number is not finite.
    """
    lengths = chain.chain.bone_lengths()
    size = fsum(lengths)
    side = hanging_side(chain)
    rounds = 0
    while True:
        joints = hang(chain.root, target, lengths, down, side)
        if rest is not None:
            joints = rest(joints, lengths)
        posture = fitted_to_joints(chain, joints, target, 1.0, tolerance)
        rounds += 1
        if dist(posture.tip, joints[-1]) <= FITTED * size or rounds == ROUNDS:
            break
        share = min(1.0, FULL_ROUNDS / rounds)
        changes = zip(lengths, swing_along(chain, joints)[2], strict=True)
        lengths = tuple([old + share * (new - old) for old, new in changes])
    return posture if influence == 1.0 else weakened(posture, chain, influence)


def hanging_side(chain: ChainInput) -> Vec:
    """Return the default side of a rope: that to which the chain bends if straight."""
    x, y, z = chain.chain.bend or (0.0, 0.0, 1.0)
    return (x, y, z)


def hang(root: Vec, target: Vec, lengths: Sequence[float], down: Vec, side: Vec) -> list[Vec]:
    """Return the joints of a rope that hangs freely between two points.

    It is the equilibrium of rigid bones with hinges, each as heavy as it is long: the tension
    has the same horizontal part H everywhere, while its vertical part V grows by the weight, so
    that a bone whose middle is after a length c of rope has the direction of (H, V + c). H and V
    minimize the convex function Σ l √(H² + (V + c)²) − H x − V y, x and y being the distance of the
    target across and against gravity. Newton's method starts from the smooth catenary of the same
    length.

    With one end nearly above the other the solution folds at a single joint, and jumps from joint
    to joint. With its ends less than three bones apart the rope is therefore solved as if they
    were a little farther apart, up to one bone and a half, and then landed on its target like
    FABRIK. The plane of the rope flips where the target passes exactly above or below the root;
    there it is given by the side.

    Args:
        root: The position of the root.
        target: The position of the end. A rope that is too short is straight, and falls short.
        lengths: The lengths of its bones, 0 or more.
        down: The direction of gravity, a unit vector.
        side: The side to bulge to, of any length, if the target is exactly above or below the root.

    Returns:
        One joint more than there are bones, the root first.
    """
    size = fsum(lengths)
    way = sub(target, root)
    if size <= 0.0:
        return [root for _ in range(len(lengths) + 1)]
    if length(way) >= size * (1.0 - TAUT):
        return _straight(root, unit(way) or down, lengths)
    across_way = across(way, down)
    shares = [part / size for part in lengths]
    x, y = length(across_way) / size, -dot(way, down) / size
    ahead = unit(across_way) if x > 1e-12 else None
    ahead = ahead or unit(across(side, down)) or any_perpendicular(down)
    width, slack = _regularized(x, y, max(shares))
    tension = _tension(shares, width, y, slack)
    joints = [root]
    ax, ay, az = scaled(ahead, size)
    ux, uy, uz = scaled(down, -size)
    px, py, pz = root
    h, v = tension
    for share in shares:
        v += 0.5 * share
        part = share / (sqrt(h * h + v * v) or 1.0)
        along, up = part * h, part * v
        px += ax * along + ux * up
        py += ay * along + uy * up
        pz += az * along + uz * up
        joints.append((px, py, pz))
        v += 0.5 * share
    return landed(joints, lengths, target)


def landed(joints: list[Vec], lengths: Sequence[float], target: Vec) -> list[Vec]:
    """Land joints that nearly reach the target on it, at their exact lengths."""
    size = fsum(lengths)
    if length(sub(joints[-1], target)) <= 1e-9 * size:
        return joints
    chain = Chain(tuple(joints), None, tuple(lengths))
    solution = solve(chain, Goal(target), "FABRIK", STEPS, 1e-9)
    return [(joint[0], joint[1], joint[2]) for joint in solution.joints]


def _straight(root: Vec, way: Vec, lengths: Sequence[float]) -> list[Vec]:
    joints = [root]
    for part in lengths:
        joints.append(add(joints[-1], scaled(way, part)))
    return joints


def _regularized(x: float, y: float, longest: float) -> tuple[float, float]:
    """Return the regularization of a rope of length 1 with one end nearly above the other.

    Returns:
        The horizontal distance to solve for, and the slack of the bones as a share of the tension,
        which lets a bone at a fold have any direction.
    """
    room = 0.5 * sqrt(max(0.0, 1.0 - y * y))
    least = min(1.5 * longest, room)
    if x >= 2.0 * least:
        return x, 0.0
    inward = 1.0 - 0.5 * x / least
    return least + x * x / (4.0 * least), SLACK * longest * inward * inward


def _tension(shares: Sequence[float], x: float, y: float, slack: float) -> tuple[float, float]:
    """Return the horizontal tension, and the vertical one at the root, of a rope of length 1.

    Both are in units of the rope's weight.
    """
    h, v = _smooth_tension(x, y)
    previous = inf
    step_h = step_v = 0.0
    for _ in range(STEPS):
        value, (gx, gy), (xx, xy, yy) = _energy(shares, h, v, x, y, slack)
        if value > previous + 1e-15:
            step_h, step_v = 0.5 * step_h, 0.5 * step_v
            h, v = h - step_h, v - step_v
            continue
        if gx * gx + gy * gy <= EXACT * EXACT:
            break
        previous = value
        # Singular if all bones are in line: regularize, for a small step along the gradient.
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


def _energy(shares: Sequence[float], h: float, v: float, x: float, y: float, slack: float) -> Terms:
    """Return the function that the tensions minimize, with its derivatives."""
    value, gx, gy = -h * x - v * y, -x, -y
    xx = xy = yy = 0.0
    hh = h * h + slack * slack
    for share in shares:
        v += 0.5 * share
        vv = v * v
        square = hh + vv
        pull = sqrt(square) or 1e-300
        part = share / pull
        value += part * square
        gx += part * h
        gy += part * v
        part /= square or 1e-300
        xx += part * (square - h * h)
        xy -= part * h * v
        yy += part * hh
        v += 0.5 * share
    return value, (gx, gy), (xx, xy, yy)
