"""Fits the weights of the table of evidence on the corpus: `python fit.py` prints what it finds.

Coordinate descent by halves, from the weights of the table. It counts by how much the right labels
of each skeleton fail to be ahead of all others. It pulls a little toward the start, as a weight
supported by one family alone would otherwise run away. With `--held-out` it also fits without each
tenth of the families, and counts there. It needs numpy.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from random import Random

import numpy as np
from animals import CREATURES
from corpus import Case, cases

from fabrik_solver.motion.anatomy.evidence import BESIDE, ROWS, Pair, meet
from fabrik_solver.motion.anatomy.figure import Figure, Names, body_bones
from fabrik_solver.motion.anatomy.limbs import candidates
from fabrik_solver.motion.anatomy.recognition import facing

KINDS = ("", "LEG", "ARM")
STEP, PULL, MARGIN, CREATURE = 0.5, 5.0, 1.0, 4.0
"""The step of a weight; the cost of moving one by 1; by how much the right labels should be ahead;
and the weight of a creature. There are fewer of these than of people."""


class Example:
    """A skeleton: each way to label its pairs, with what each row counts for it.

    Attributes:
        case: Where it is from.
        labels: All ways to label.
        counts: For each of them what the rows of the table count.
        right: The index of the right one.
    """

    def __init__(self, case: Case, pairs: Sequence[Pair]) -> None:
        keys = [row.key for row in case.skeleton.rows]
        self.case = case
        truth = tuple(_truth(pair, case, keys) for pair in pairs)
        self.labels = [*product(KINDS, repeat=len(pairs))] if len(pairs) < 5 else _near(truth)
        single = [[row.asks(pair) for row in ROWS] for pair in pairs]
        double = {
            (i, j): [row.asks(pairs[i], pairs[j]) for row in BESIDE]
            for i in range(len(pairs))
            for j in range(i)
        }
        self.counts = np.zeros((len(self.labels), len(ROWS) + len(BESIDE)), np.float32)
        for at, labels in enumerate(self.labels):
            for i, kind in enumerate(labels):
                self.counts[at, : len(ROWS)] += [
                    value if row.kind == kind else 0.0
                    for value, row in zip(single[i], ROWS, strict=True)
                ]
            for (i, j), values in double.items():
                both = sorted((labels[i], labels[j]))
                self.counts[at, len(ROWS) :] += [
                    value if sorted(row.kinds) == both else 0.0
                    for value, row in zip(values, BESIDE, strict=True)
                ]
        self.right = self.labels.index(truth)


def _truth(pair: Pair, case: Case, keys: Sequence[str]) -> str:
    for chain in pair.chains:
        names = {keys[i] for i in chain.path}
        for kind, _, bones, _ in case.skeleton.limbs:
            if names.issuperset(bones):
                return kind
    return ""


def _near(truth: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return labels that differ little from the right ones, and some with larger differences."""
    random, found = Random(1), {truth}
    for count in (1, 2, 3):
        for _ in range(60):
            labels = list(truth)
            for i in random.sample(range(len(truth)), count):
                labels[i] = random.choice(KINDS)
            found.add(tuple(labels))
    return sorted(found)


def examples() -> Iterator[Example]:
    for case in cases():
        heads = case.poses[0] if case.poses else [bone.head for bone in case.bones]
        figure = Figure(case.bones, Names(case.bones), body_bones(case.bones), heads)
        pairs = candidates(facing(figure)[0])
        meet(pairs)
        if pairs:
            yield Example(case, pairs)


class Fit:
    """All examples as one array, of which weights make scores."""

    def __init__(self, of: Sequence[Example]) -> None:
        self.of = of
        self.counts = np.concatenate([one.counts for one in of])
        starts = np.cumsum([0] + [len(one.labels) for one in of])
        self.starts = starts[:-1]
        self.right = np.array([at + one.right for at, one in zip(starts, of, strict=False)])
        people = [one.case.skeleton.family.partition(" with ")[0] not in CREATURES for one in of]
        self.importance = np.where(people, 1.0, CREATURE)

    def ahead(self, scores: np.ndarray) -> np.ndarray:
        """Return by how much the right labels are ahead of the best other ones."""
        others = scores.copy()
        others[self.right] = -np.inf
        return scores[self.right] - np.maximum.reduceat(others, self.starts)

    def loss(self, scores: np.ndarray) -> float:
        return float((self.importance * np.clip(1.0 - self.ahead(scores) / MARGIN, 0.0, 2.0)).sum())

    def descend(self, start: np.ndarray, sweeps: int = 6) -> np.ndarray:
        """Return better weights; none changes its sign but those of what is always asked."""
        weights, scores = start.copy(), self.counts @ start
        best = self.loss(scores)
        order = [*range(len(start))]
        for sweep in range(sweeps):
            Random(sweep).shuffle(order)
            before = best
            for i in order:
                for step in (-2.0 * STEP, -STEP, STEP, 2.0 * STEP):
                    value = weights[i] + step
                    if (
                        value * start[i] <= 0.0
                        and ROWS[min(i, len(ROWS) - 1)].asks.__name__ != "always"
                    ):
                        continue
                    changed = scores + self.counts[:, i] * step
                    moved = np.abs(np.append(np.delete(weights - start, i), value - start[i])).sum()
                    cost = self.loss(changed) + PULL * moved
                    if cost < best - 1e-6:
                        best, scores, weights[i] = cost, changed, value
            if best >= before:
                break
        return weights


def wrong(of: Sequence[Example], weights: np.ndarray) -> Counter[str]:
    ahead = Fit(of).ahead(Fit(of).counts @ weights)
    return Counter(one.case.skeleton.family for one, by in zip(of, ahead, strict=True) if by <= 0.0)


if __name__ == "__main__":
    of = [*examples()]
    start = np.array([row.weight for row in (*ROWS, *BESIDE)])
    weights = Fit(of).descend(start)
    print(f"{len(of)} skeletons: wrong {wrong(of, start).total()} -> {wrong(of, weights).total()}")
    print(wrong(of, weights).most_common(20))
    for row, weight, old in zip((*ROWS, *BESIDE), weights, start, strict=True):
        kinds = row.kind if hasattr(row, "kind") else row.kinds
        print(f"{kinds!s:16} {old:5.1f} {weight:5.1f}  {row.asks.__name__}")
    if "--held-out" in sys.argv:
        families = sorted({one.case.skeleton.family for one in of})
        Random(3).shuffle(families)
        found = Counter[str]()
        for k in range(10):
            left_out = {*families[k::10]}
            kept = [one for one in of if one.case.skeleton.family not in left_out]
            rest = [one for one in of if one.case.skeleton.family in left_out]
            found += wrong(rest, Fit(kept).descend(start, 3))
        print(f"left out of the fit: wrong {found.total()}", found.most_common(20))
