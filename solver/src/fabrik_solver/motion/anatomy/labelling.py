"""Which pairs of chains are arms and which are legs: the labels with the most evidence in all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from .evidence import BESIDE, ROWS, Pair, meet

KINDS: Final = ("LEG", "ARM", "")
"""The labels of a pair; the last one is what is no limb."""

ENOUGH: Final = 1e-9
"""The least gain for which a label changes: more than is lost in rounding."""


class Labels(NamedTuple):
    """The labels of some pairs.

    Attributes:
        kinds: One for each pair: ``'ARM'``, ``'LEG'``, or empty.
        score: How much evidence there is for all of them.
    """

    kinds: tuple[str, ...]
    score: float


class _Labelling:
    """Labels of pairs that change one by one, as long as that makes for more evidence.

    Attributes:
        kinds: The label of each pair.
        support: For each pair how much evidence there is for each kind, given the other labels.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        """Ask each pair, and each two of them, once."""
        self.single = [{kind: _weight(pair, kind) for kind in KINDS} for pair in pairs]
        self.double = [[_weights(a, b) if a is not b else {} for b in pairs] for a in pairs]

    def climb(self, start: Sequence[str]) -> Labels:
        """Return labels that no single other one makes better, from some on."""
        kinds = ["" for _ in start]
        support = [dict(single) for single in self.single]
        for i, kind in enumerate(start):
            self._change(kinds, support, i, kind)
        while True:
            gain, i, kind = max(
                [(support[i][kind] - support[i][kinds[i]], -i, kind) for i, kind in self._all()],
                default=(0.0, 0, ""),
            )
            if gain <= ENOUGH:
                break
            self._change(kinds, support, -i, kind)
        own = [self.single[i][kind] + support[i][kind] for i, kind in enumerate(kinds)]
        return Labels(tuple(kinds), 0.5 * sum(own))  # Each two pairs support each other.

    def _all(self) -> list[tuple[int, str]]:
        return [(i, kind) for i in range(len(self.single)) for kind in KINDS]

    def _change(self, kinds: list[str], support: list[dict[str, float]], i: int, kind: str) -> None:
        """Give a pair another label, which the others support or not."""
        for j, weights in enumerate(self.double[i]):
            for other in KINDS:
                more = weights.get(kind + other, 0.0) - weights.get(kinds[i] + other, 0.0)
                support[j][other] += more
        kinds[i] = kind


def best_labels(pairs: Sequence[Pair]) -> Labels:
    """Return the labels with the most evidence; without any that is for a limb, there are none.

    They are looked for from what each pair is by itself, and from nothing: there may be hundreds in
    a face, of which no search could try all labels.
    """
    meet(pairs)
    labelling = _Labelling(pairs)
    alone = [max(KINDS, key=lambda kind: single[kind]) for single in labelling.single]
    starts = [["" for _ in pairs], alone]
    return max([labelling.climb(start) for start in starts], key=lambda found: found.score)


def _weight(pair: Pair, kind: str) -> float:
    return sum([row.weight * row.asks(pair) for row in ROWS if row.kind == kind])


def _weights(pair: Pair, other: Pair) -> dict[str, float]:
    """Return how much two pairs count for two kinds, which are written one after the other."""
    weights: dict[str, float] = {}
    for row in BESIDE:
        asked = row.asks(pair, other)
        for kinds in {row.kinds, row.kinds[::-1]}:
            key = "".join(kinds)
            weights[key] = weights.get(key, 0.0) + row.weight * asked
    return weights
