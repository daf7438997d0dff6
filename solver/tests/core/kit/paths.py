"""Smooth paths of a target, and how smoothly joints move along them."""

import math
import random
from collections.abc import Sequence

from strategies import Point, moved, random_direction

FRAMES = 240
PATHS = 20


def target_path(number: int) -> list[Point]:
    """A closed curve about the root of a chain of length 1, one of `PATHS`.

    The first ten go anywhere up to 0.95 of the reach, and the next five graze or cross it. The last
    five pass the root at 0.005 to 0.05.
    """
    rng = random.Random(100 + number)
    waves = [[rng.gauss(0.0, 1.0 / (1 + i // 2)) for _ in range(3)] for i in range(4)]
    middle = [rng.gauss(0.0, 0.3) for _ in range(3)]

    def curve(t: float) -> Point:
        parts = [f(2.0 * math.pi * h * t) for h in (1, 2) for f in (math.cos, math.sin)]
        return tuple(
            middle[k] + sum(p * w[k] for p, w in zip(parts, waves, strict=True)) for k in range(3)
        )

    fine = [curve(i / 4000) for i in range(4000)]
    shift = (0.0, 0.0, 0.0)
    if number >= 15:
        shift = tuple(-x for x in fine[rng.randrange(4000)])
    size = max(math.dist(moved(p, shift, 1.0), (0.0, 0.0, 0.0)) for p in fine)
    most = 0.95 if not 10 <= number < 15 else (0.99, 0.999, 0.9999, 1.0, 1.03)[number - 10]
    aside = (0.0, 0.0, 0.0)
    if number >= 15:
        aside = tuple(x * rng.uniform(0.005, 0.05) for x in random_direction(rng))
    return [
        tuple(
            (p + s) * most / size + a
            for p, s, a in zip(curve(i / (FRAMES - 1)), shift, aside, strict=True)
        )
        for i in range(FRAMES)
    ]


def largest_second_difference(poses: Sequence[Sequence[Point]]) -> float:
    """How much the largest velocity of a joint changes from one frame to the next."""
    return max(
        math.hypot(*(a - 2.0 * b + c for a, b, c in zip(p, q, r, strict=True)))
        for before, now, after in zip(poses, poses[1:], poses[2:], strict=False)
        for p, q, r in zip(before, now, after, strict=True)
    )
