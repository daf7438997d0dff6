"""The methods that bring the tip of a chain to a target.

Each method is a row of `METHODS`. Other code reads that row, and never compares names.
"""

from collections.abc import Callable
from math import inf
from typing import Final, NamedTuple

from .ccd import ccd
from .chain import Chain
from .edge import close, complete
from .fabrik import backward, fabrik
from .joint import Joint
from .landing import EXACT, land
from .two_bone import two_bone
from .vectors import Vec, length, mix, sub

Step = Callable[[list[Joint], Vec], None]
"""One iteration: moves the joints to bring the tip closer to the target."""

Reach = Callable[[list[Joint], Vec, Chain, float, int, float], int]
"""Bends a chain until its tip is on a reachable target; returns the number of iterations used.

Arguments: the joints; the target relative to the root, in chain lengths; the chain; how far it
has swung toward the target (0 to 1); the iteration limit; the tolerance (see `solve`)."""

PRECISE: Final = 1e-12
"""The residual, in chain lengths, below which a closed form needn't be evaluated."""

SHAPING: Final = 2
SHORT_SHAPING: Final = 3
"""The number of iterations that shape a chain, and the number for chains with fewer than `SHORT`
bones.

With more iterations, the landed chain moves more like a converged one."""

SHORT: Final = 6
"""From this number of bones on, a third iteration costs more than it gains in smoothness."""


def _shaped_and_landed(
    joints: list[Joint],
    target: Vec,
    chain: Chain,
    swing: float,
    iterations: int,
    tolerance: float,
) -> int:
    """Shape the chain with FABRIK, then land; return the number of iterations.

    The number of iterations before landing is fixed, because the pose would jump if it changed.
    """
    near_enough, inner = min(tolerance, EXACT), chain.inner
    bones = len(joints) - 1
    is_short = bones < SHORT
    used = min(SHORT_SHAPING if is_short else SHAPING, iterations)
    if used <= 0 or length(sub(joints[-1].at(), target)) <= near_enough:
        return 0
    # An iteration that moves the tip past other joints would fold a limb differently. After a
    # swing, the tip only has to come closer, which it does in even steps.
    is_stepped = is_short and swing > 0.0
    start = mix(target, joints[-1].at(), swing)
    for i in range(1, used):
        fabrik(joints, mix(start, target, i / used) if is_stepped else target)
    if inner > 0.0 or bones == 2:
        # A chain that has to fold to its shortest span lands slowly, as each step only halves the
        # gap.
        fabrik(joints, target)
        complete(joints, target, inner, inf, near_enough)
    else:
        # The forward pass of the last iteration is the first pass of landing.
        backward(joints, target)
    steps = land(joints, target, near_enough, iterations - used)
    # Some chains can hardly fold any further. If landing succeeded, this does nothing.
    close(joints, target, near_enough)
    return used + steps


def _closed_form(
    joints: list[Joint],
    target: Vec,
    chain: Chain,
    swing: float,
    iterations: int,
    tolerance: float,
) -> int:
    """Solve two bones in closed form; return the number of iterations, at most 1."""
    used = _iterate(joints, target, two_bone, 1, PRECISE)
    complete(joints, target, chain.inner, chain.outer, tolerance)
    return used


def _turned_and_landed(
    joints: list[Joint],
    target: Vec,
    chain: Chain,
    swing: float,
    iterations: int,
    tolerance: float,
) -> int:
    """Shape the chain with CCD, then land; return the number of iterations.

    Each CCD iteration draws the tip by an even step. The number of these iterations is fixed, as
    with FABRIK, because the pose would jump if it changed.
    """
    near_enough, start = min(tolerance, EXACT), joints[-1].at()
    used = min(SHORT_SHAPING, iterations)
    if used <= 0 or length(sub(start, target)) <= near_enough:
        return 0
    for i in range(1, used + 1):
        ccd(joints, mix(start, target, i / used))
    complete(joints, target, chain.inner, chain.outer, near_enough)
    steps = land(joints, target, near_enough, iterations - used)
    close(joints, target, near_enough)
    return used + steps


def _converged(
    joints: list[Joint],
    target: Vec,
    chain: Chain,
    swing: float,
    iterations: int,
    tolerance: float,
) -> int:
    """Iterate FABRIK as published until it converges; return the number of iterations."""
    used = _iterate(joints, target, fabrik, iterations, tolerance)
    complete(joints, target, chain.inner, chain.outer, tolerance)
    return used


def _iterate(joints: list[Joint], target: Vec, step: Step, most: int, near_enough: float) -> int:
    """Iterate until the tip is near enough; return the number of iterations."""
    used = 0
    while used < most and length(sub(joints[-1].at(), target)) > near_enough:
        step(joints, target)
        used += 1
    return used


class Method(NamedTuple):
    """A solving method.

    Attributes:
        name: Identifier.
        number: The number stored in files and keyframes.
        title: Label.
        description: Tooltip.
        reach: The function that solves.
        bones: The number of bones that it solves; 0 for any.
        is_exact: Whether it is a closed form, which iterations can't improve. It always swings the
            whole chain toward the target first.
        curls: How close to the axis a target must be for the chain to curl first. At 1, that is as
            close as the tip of an arc that starts along the axis. Farther out, iterations bend all
            joints anyway. 0 never curls, infinity always.
    """

    name: str
    number: int
    title: str
    description: str
    reach: Reach
    bones: int = 0
    is_exact: bool = False
    curls: float = 0.0

    def suits(self, bones: int) -> bool:
        """Return whether the method solves chains with this number of bones."""
        return self.bones == 0 or self.bones == bones


METHODS: tuple[Method, ...] = (
    Method(
        "FABRIK",
        0,
        "FABRIK",
        "Iterate forward and backward along the chain. Suited to chains of any length",
        _shaped_and_landed,
        curls=0.5,
    ),
    Method(
        "TWO_BONE",
        1,
        "Two Bone",
        "Solve a limb of two bones exactly, without iterations",
        _closed_form,
        bones=2,
        is_exact=True,
    ),
    Method(
        "CCD",
        2,
        "CCD",
        "Rotate one joint after another, from the tip to the root. Tends to curl the chain",
        _turned_and_landed,
        curls=inf,
    ),
    Method(
        "TEXTBOOK",
        3,
        "FABRIK (Original)",
        "Iterate as in the original paper. Converges slowly near full extension",
        _converged,
    ),
)
"""All methods, in the order of the menu."""

SOLVERS: Final[dict[str, Method]] = {method.name: method for method in METHODS}
"""The methods by name."""


def fitting(solver: str, bones: int) -> str:
    """Return the solver, or FABRIK if that solver can't pose this number of bones."""
    return solver if SOLVERS[solver].suits(bones) else "FABRIK"


def exact_for(solver: str, bones: int) -> str:
    """Return the closed form for this number of bones, otherwise the `fitting` solver."""
    for method in METHODS:
        if method.is_exact and method.bones == bones:
            return method.name
    return fitting(solver, bones)
