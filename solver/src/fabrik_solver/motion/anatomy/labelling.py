"""Which pairs of chains are arms and which are legs: the labels with the most evidence in all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from .evidence import BESIDE, ROWS, Pair

KINDS: Final = ("LEG", "ARM", "")
"""The labels of a pair; the last one is what is no limb."""


class Labels(NamedTuple):
    """The labels of some pairs.

    Attributes:
        kinds: One for each pair: ``'ARM'``, ``'LEG'``, or empty.
        score: How much evidence there is for all of them.
    """

    kinds: tuple[str, ...]
    score: float


class _Search:
    """The search for the best labels, which looks at all that may still be the best."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        """Ask each pair, and each two of them, once."""
        self.single = [{kind: _weight(pair, kind) for kind in KINDS} for pair in pairs]
        self.double: list[list[dict[str, float]]] = [
            [_weights(pair, other) for other in pairs[:i]] for i, pair in enumerate(pairs)
        ]
        # What others may add at most.
        gains = [max(0.0, *single.values()) for single in self.single]
        for i, row in enumerate(self.double):
            gains[i] += sum([max(0.0, *weights.values()) for weights in row])
        self.left = [sum(gains[i:]) for i in range(len(gains) + 1)]
        self.best = Labels(("",) * len(pairs), 0.0)

    def look(self, kinds: tuple[str, ...], score: float) -> None:
        """Look at all labels that begin with some."""
        i = len(kinds)
        if i == len(self.single):
            if score > self.best.score:
                self.best = Labels(kinds, score)
            return
        if score + self.left[i] <= self.best.score:
            return
        for kind in KINDS:
            more = self.single[i][kind]
            if kind:
                more += sum([self.double[i][j].get(kind + kinds[j], 0.0) for j in range(i)])
            self.look((*kinds, kind), score + more)


def best_labels(pairs: Sequence[Pair]) -> Labels:
    """Return the labels with the most evidence; without any that is for a limb, there are none."""
    for pair in pairs:
        pair.others = [other for other in pairs if other is not pair]
    search = _Search(pairs)
    search.look((), 0.0)
    return search.best


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
