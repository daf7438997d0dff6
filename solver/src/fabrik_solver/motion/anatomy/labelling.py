"""Labels pairs of chains as arms or legs, with the most evidence in total."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from .evidence import BESIDE, ROWS, Pair, meet

KINDS: Final = ("LEG", "ARM", "")
"""The labels of a pair; the last one means neither arm nor leg."""

ENOUGH: Final = 1e-9
"""Minimum gain for changing a label, larger than rounding errors."""


class Labels(NamedTuple):
    """The labels of some pairs.

    Attributes:
        kinds: The label of each pair: ``'ARM'``, ``'LEG'``, or empty.
        score: The total evidence for them.
    """

    kinds: tuple[str, ...]
    score: float


class _Labelling:
    """Labels of pairs, improved one by one as long as the evidence grows.

    Attributes:
        single: The evidence of each pair for each kind.
        double: The evidence of every two pairs for two kinds, as returned by `_weights`.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.single = [{kind: _weight(pair, kind) for kind in KINDS} for pair in pairs]
        self.double = [[_weights(a, b) if a is not b else {} for b in pairs] for a in pairs]

    def climb(self, start: Sequence[str]) -> Labels:
        """Return labels, improved from a start until no single change helps."""
        kinds = ["" for _ in start]
        support = [dict(single) for single in self.single]
        for i, kind in enumerate(start):
            self._change(kinds, support, i, kind)
        while True:
            gain, i, kind = max(
                [
                    (support[i][kind] - support[i][kinds[i]], -i, kind)
                    for i in range(len(self.single))
                    for kind in KINDS
                ],
                default=(0.0, 0, ""),
            )
            if gain <= ENOUGH:
                break
            self._change(kinds, support, -i, kind)
        support_of_labels = [
            self.single[i][kind] + support[i][kind] for i, kind in enumerate(kinds)
        ]
        return Labels(tuple(kinds), 0.5 * sum(support_of_labels))  # The support is mutual.

    def _change(self, kinds: list[str], support: list[dict[str, float]], i: int, kind: str) -> None:
        """Change the label of a pair, and update the evidence for the other pairs.

        Args:
            kinds: The labels; changed in place.
            support: The evidence for each label of each pair; changed in place.
            i: The index of the pair.
            kind: Its new label.
        """
        for j, weights in enumerate(self.double[i]):
            for other in KINDS:
                more = weights.get(kind + other, 0.0) - weights.get(kinds[i] + other, 0.0)
                support[j][other] += more
        kinds[i] = kind


def best_labels(pairs: Sequence[Pair]) -> Labels:
    """Return the labels with the most evidence; all empty if nothing indicates a limb.

    The search starts from the best label of each pair alone, and from no labels. A face may have
    hundreds of pairs, too many to try every combination.
    """
    meet(pairs)
    labelling = _Labelling(pairs)
    alone = [max(KINDS, key=lambda kind: single[kind]) for single in labelling.single]
    starts = [["" for _ in pairs], alone]
    return max([labelling.climb(start) for start in starts], key=lambda labels: labels.score)


def _weight(pair: Pair, kind: str) -> float:
    return sum([row.weight * row.asks(pair) for row in ROWS if row.kind == kind])


def _weights(pair: Pair, other: Pair) -> dict[str, float]:
    """Return the joint evidence of two pairs for two kinds, by the kinds' joined names."""
    weights: dict[str, float] = {}
    for row in BESIDE:
        asked = row.asks(pair, other)
        for kinds in {row.kinds, row.kinds[::-1]}:
            key = "".join(kinds)
            weights[key] = weights.get(key, 0.0) + row.weight * asked
    return weights
