"""The smoothest curve over time that stays near desired values and within bounds.

Displacements of captured motion have this form. The sum of the curve's squared second differences
is minimal. Sources: Gleicher, “Retargetting motion to new characters”, 1998; Lee and Shin, “A
hierarchical approach to interactive motion editing”, 1999.
"""

from collections.abc import Sequence
from math import inf, isfinite
from typing import NamedTuple

CHANCES = 20
"""How often frames that break a bound, or are held unnecessarily, may change together without
becoming fewer. After that, only one changes at a time, and the search always terminates."""

ROUNDING = 1e-9
"""How far rounding may move a value beyond a bound, as a fraction of the largest value."""

FIRM = ROUNDING**-3.0
"""The weight of a value that is held by a bound: infinite, as far as rounding shows."""


class Wish(NamedTuple):
    """The requirements for a curve at a frame.

    Attributes:
        target: The desired value.
        weight: The weight of the distance from the target, at least 0. Two frames of a curve must
            have more than 0.
        bend: The desired second difference; the first and last frames have none.
        low: The minimum value.
        high: The maximum value, not below ``low``.
    """

    target: float = 0.0
    weight: float = 1.0
    bend: float = 0.0
    low: float = -inf
    high: float = inf


def exactly(value: float) -> Wish:
    """Return the requirement for an exact value."""
    return Wish(value, low=value, high=value)


def smoothest(wishes: Sequence[Wish], stiffness: float, tension: float = 0.0) -> list[float]:
    """Return the curve closest to the frames' desired values, exactly within their bounds.

    It minimizes a sum of squares: weighted distances from the targets, deviations from the desired
    second differences times the stiffness, and differences times the tension.

    It uses block principal pivoting (Júdice and Pires, “A block principal pivoting algorithm for
    large-scale strictly monotone linear complementarity problems”, 1994).

    Args:
        wishes: The requirements of each frame.
        stiffness: The weight of the second differences.
        tension: The weight of the differences; the square root of the stiffness gives hardly any
            overshoot.
    """
    if all(map(_is_met_by_none, wishes)):
        return [0.0] * len(wishes)
    targets, weights, bends, lows, highs = map(list, zip(*wishes, strict=True))
    matrix, wanted = _normal_equations(targets, weights, bends[1:-1], stiffness, tension)
    sizes = [abs(value) for value in (*targets, *lows, *highs) if isfinite(value)]
    near = ROUNDING * max(sizes)
    sides = [int(low == high) for low, high in zip(lows, highs, strict=True)]
    chances, fewest = CHANCES, len(wishes) + 1
    while True:
        values = _solved(matrix, wanted, sides, (lows, highs))
        changes = _changes(matrix, wanted, sides, values, (lows, highs), near)
        if not changes:
            return values
        if len(changes) < fewest:
            chances, fewest = CHANCES, len(changes)
        else:
            chances -= 1
        for i, side in changes if chances > 0 else changes[-1:]:
            sides[i] = side


def cubic(values: Sequence[float], fraction: float) -> float:
    """Return a value between the second and the third of four (Catmull and Rom, 1974).

    Args:
        values: The values at four frames.
        fraction: The position between the second and the third, from 0 to 1.
    """
    a, b, c, d = values
    third = 3.0 * (b - c) + d - a
    return b + 0.5 * fraction * (
        c - a + fraction * (2.0 * a - 5.0 * b + 4.0 * c - d + fraction * third)
    )


def _is_met_by_none(wish: Wish) -> bool:
    """Return whether a curve of zeros meets all requirements of a frame."""
    return wish.target == wish.bend == 0.0 and wish.low <= 0.0 <= wish.high


Bands = tuple[list[float], list[float], list[float]]


def _normal_equations(
    targets: list[float],
    weights: list[float],
    bends: list[float],
    stiff: float,
    tension: float,
) -> tuple[Bands, list[float]]:
    """Return the diagonal of the matrix, the two bands next to it, and the right-hand side."""
    count = len(targets)
    middle, near, far = list(weights), [0.0] * count, [0.0] * count
    values = [w * target for w, target in zip(weights, targets, strict=True)]
    for i, bend in enumerate(bends):
        middle[i] += stiff
        middle[i + 1] += 4.0 * stiff
        middle[i + 2] += stiff
        near[i] -= 2.0 * stiff
        near[i + 1] -= 2.0 * stiff
        far[i] += stiff
        values[i] += stiff * bend
        values[i + 1] -= 2.0 * stiff * bend
        values[i + 2] += stiff * bend
    for i in range(count - 1):
        middle[i] += tension
        middle[i + 1] += tension
        near[i] -= tension
    return (middle, near, far), values


def _solved(
    matrix: Bands,
    wanted: Sequence[float],
    sides: Sequence[int],
    bounds: tuple[Sequence[float], Sequence[float]],
) -> list[float]:
    """Return the solution with frames held by their bounds, using the factors L D Lᵀ."""
    held = {i: bounds[side > 0][i] for i, side in enumerate(sides) if side}
    middle, near, far = [list(band) for band in matrix]
    values, count = list(wanted), len(wanted)
    for i, bound in held.items():
        middle[i], values[i] = FIRM, FIRM * bound
    for i in range(count):
        pivot = middle[i]
        first, second = near[i] / pivot, far[i] / pivot
        if i + 1 < count:
            middle[i + 1] -= first * near[i]
            near[i + 1] -= first * far[i]
            values[i + 1] -= first * values[i]
        if i + 2 < count:
            middle[i + 2] -= second * far[i]
            values[i + 2] -= second * values[i]
        values[i] /= pivot
        near[i], far[i] = first, second
    for i in range(count - 2, -1, -1):
        values[i] -= near[i] * values[i + 1]
        if i + 2 < count:
            values[i] -= far[i] * values[i + 2]
    for i, bound in held.items():
        values[i] = bound  # Without the rounding.
    return values


def _changes(
    matrix: Bands,
    wanted: Sequence[float],
    sides: Sequence[int],
    values: Sequence[float],
    bounds: tuple[Sequence[float], Sequence[float]],
    rounding: float,
) -> list[tuple[int, int]]:
    """Return the frames that break a bound, or are held by a bound unnecessarily.

    Each comes with its new side: 1 if its maximum will hold it, -1 for the minimum, 0 for neither.
    """
    middle, near, far = matrix
    lows, highs = bounds
    count = len(values)
    changes: list[tuple[int, int]] = []
    for i, value in enumerate(values):
        if sides[i]:
            pull = middle[i] * value - wanted[i]
            for j, band in ((i - 2, far), (i - 1, near), (i + 1, near), (i + 2, far)):
                if 0 <= j < count:
                    pull += band[min(i, j)] * values[j]
            if lows[i] < highs[i] and sides[i] * pull > rounding * middle[i]:
                changes.append((i, 0))
        elif value < lows[i] - rounding:
            changes.append((i, -1))
        elif value > highs[i] + rounding:
            changes.append((i, 1))
    return changes
