"""Animal gaits: which legs step together, from their rest positions."""

from collections.abc import Sequence

from ..core.vectors import Vec


def groups_of(rests: Sequence[Vec], pattern: str) -> list[int]:
    """Return the group number of each leg. The groups step in the order of their numbers.

    Args:
        rests: The rest positions of the feet, in the body's frame: X to the right, Y ahead.
        pattern: ``ALTERNATING`` rows (tripod, tetrapod, trot), diagonal ``PAIRS``, or ``WAVE`` (a
            single leg at a time).
    """
    rows = rows_of(rests)
    count = 1 + max(row for row, _ in rows)
    if pattern == "WAVE":
        # From hind to front, left side first.
        order = sorted(range(len(rests)), key=lambda leg: (rows[leg][1], -rows[leg][0]))
        return [order.index(leg) for leg in range(len(rests))]
    if pattern == "PAIRS" and count > 1:
        ahead = max(1, count // 2)
        return [(row - ahead * side) % count for row, side in rows]
    return [(row + side) % 2 for row, side in rows]


def rows_of(rests: Sequence[Vec]) -> list[tuple[int, int]]:
    """Return each leg's row from the front, and its side: 0 on the left, 1 on the right.

    The sides meet midway between the outermost feet. Feet in a single line alternate between left
    and right, as in a biped seen from the side, or a crawler.
    """
    low, high = min(rest[0] for rest in rests), max(rest[0] for rest in rests)
    deep = max(rest[1] for rest in rests) - min(rest[1] for rest in rests)
    if high - low < 0.05 * deep:
        order = sorted(range(len(rests)), key=lambda leg: -rests[leg][1])
        return [(order.index(leg) // 2, order.index(leg) % 2) for leg in range(len(rests))]
    sides = [int(rest[0] > 0.5 * (low + high)) for rest in rests]
    rows = [0] * len(rests)
    for side in (0, 1):
        legs = [leg for leg in range(len(rests)) if sides[leg] == side]
        for row, leg in enumerate(sorted(legs, key=lambda leg: -rests[leg][1])):
            rows[leg] = row
    return list(zip(rows, sides, strict=True))
