"""Recognition of the legs of insects, spiders and other bodies with at least three pairs of legs.

It relies on symmetry and shape: legs are pairs of chains that leave the median plane of the body
and end on a common floor. It uses only the rest pose, with Z up.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import dist
from statistics import median
from typing import Final

from ..core.vectors import Vec, add, dot, scaled
from .anatomy import LEFT, RestBone, body_bones

Y: Vec = (0.0, 1.0, 0.0)

ON_PLANE: Final = 0.02
"""The largest distance of the trunk's bones from the median plane, as a fraction of body size."""

SYMMETRY: Final = 0.05
"""The largest distance of a foot from the mirror image of its twin, as a fraction of body size."""

FLOOR: Final = 0.15
"""The largest height of a foot above the lowest foot, as a fraction of the body's height. It is
also the minimum height of a leg's first joint. Claws and toes begin lower, feelers end higher."""

LEAST: Final = 0.35
"""The minimum length of a leg, as a fraction of the longest leg: jaws are shorter."""

PAIRS: Final = 3
"""The minimum number of pairs."""

LegBones = tuple[int, ...]
"""The bones of a leg, root first. Its foot is the tail of the last bone."""


def crawler_legs(bones: Sequence[RestBone]) -> list[LegBones]:
    """Return the legs of a body with many legs; empty for other bodies.

    Args:
        bones: The bones, parents first.
    """
    body = body_bones(bones)
    if not body:
        return []
    points = [point for i in body for point in (bones[i].head, bones[i].tail)]
    low = [min(point[k] for point in points) for k in range(3)]
    high = [max(point[k] for point in points) for k in range(3)]
    size = dist(low, high)
    pairs = max((_pairs(bones, body, axis, size) for axis in (LEFT, Y)), key=len)
    pairs = _on_floor(bones, pairs, high[2])
    return [leg for pair in pairs for leg in pair] if len(pairs) >= PAIRS else []


def _on_floor(
    bones: Sequence[RestBone], pairs: Sequence[tuple[LegBones, LegBones]], top: float
) -> list[tuple[LegBones, LegBones]]:
    """Return the pairs that stand on a common floor below the body."""
    if not pairs:
        return []
    floor = min(bones[leg[-1]].tail[2] for pair in pairs for leg in pair)
    limit = floor + FLOOR * (top - floor)
    low = [
        pair
        for pair in pairs
        if all(bones[leg[-1]].tail[2] <= limit <= bones[leg[0]].head[2] for leg in pair)
    ]
    least = LEAST * max([_length(bones, pair[0]) for pair in low], default=0.0)
    return [pair for pair in low if _length(bones, pair[0]) >= least]


def _pairs(
    bones: Sequence[RestBone], body: Sequence[int], axis: Vec, size: float
) -> list[tuple[LegBones, LegBones]]:
    """Return pairs of mirrored chains of at least two bones. The axis is normal to the mirror."""
    middle = median(dot(bones[i].head, axis) for i in body)

    def offset(point: Vec) -> float:
        return dot(point, axis) - middle

    legs = _chains_beside(bones, body, lambda point: abs(offset(point)) <= ON_PLANE * size)
    pairs: list[tuple[LegBones, LegBones]] = []
    opposite_legs = [leg for leg in legs if offset(bones[leg[-1]].tail) < 0.0]
    for leg in legs:
        tip = bones[leg[-1]].tail
        if offset(tip) <= 0.0:
            continue
        image = add(tip, scaled(axis, -2.0 * offset(tip)))
        twins = [other for other in opposite_legs if len(other) == len(leg)]
        twin = min(twins, key=lambda other: dist(bones[other[-1]].tail, image), default=None)
        if twin is not None and dist(bones[twin[-1]].tail, image) <= SYMMETRY * size:
            opposite_legs.remove(twin)
            pairs.append((leg, twin))
    return pairs


def _chains_beside(
    bones: Sequence[RestBone], body: Sequence[int], is_on_plane: Callable[[Vec], bool]
) -> list[LegBones]:
    """Return the chains of at least two bones that begin at bones on the mirror plane."""
    trunk = {i for i in body if is_on_plane(bones[i].head) and is_on_plane(bones[i].tail)}
    children: dict[int, list[int]] = {i: [] for i in body}
    for i in body:
        if bones[i].parent in children:
            children[bones[i].parent].append(i)
    starts = [i for i in body if i not in trunk and bones[i].parent in trunk]
    chains = [_longest(bones, children, i) for i in starts]
    return [chain for chain in chains if len(chain) > 1]


def _longest(bones: Sequence[RestBone], children: dict[int, list[int]], start: int) -> LegBones:
    """Return the longest chain from a bone through its descendants."""
    lines = [(start, *_longest(bones, children, child)) for child in children[start]]
    return max(lines, key=lambda line: _length(bones, line), default=(start,))


def _length(bones: Sequence[RestBone], leg: LegBones) -> float:
    last = dist(bones[leg[-1]].head, bones[leg[-1]].tail)
    return last + sum([dist(bones[i].head, bones[j].head) for i, j in pairwise(leg)])
