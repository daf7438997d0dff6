"""Nearly straight knees: their distance from the line between hip and ankle, kept smooth.

Such a knee moves many times as far as its ankle approaches the hip. In a leg of 0.85 m whose knee
is 12 mm off the line, it moves 18 mm per millimeter. So smooth motion of the ankle can jolt the
knee. The knee's path is therefore smoothed by least squares, and the ankle gives way. Each knee is
weighted by the motion of its ankle.
"""

from math import sqrt

from .easing import smooth

CALM = (0.006 / 12.0) ** 0.5
"""How long a knee takes to follow its ankle, in seconds. The ankle then gives way by 0.006 leg
lengths to save its knee an acceleration of 1 g. In a leg of 0.85 m that is 12 leg lengths per
second squared."""

MOST = 0.01
"""How far an ankle gives way at most, in leg lengths."""

LEAST = MOST
"""The smallest assumed distance of a knee from its line, in leg lengths. It keeps divisors above
zero; an ankle may give way by as much."""

ROOM = 0.5
"""The fraction of a leg's spare extension in the animation that locks and the ground may use."""

FLEXED = 0.34
"""The distance from hip to ankle when a knee flexes as far as its muscles can, in leg lengths. The
angle is 140° (Norkin and White, “Measurement of Joint Motion”)."""

CLEAR = 0.08
"""The distance of a knee from its line above which its bend direction is clear, in leg lengths."""


def offset(distance: float, size: float) -> float:
    """Return how far a knee is off the line from hip to ankle, for bones of equal length.

    Args:
        distance: The distance from hip to ankle.
        size: The length of the straight leg.
    """
    return 0.5 * sqrt(max(0.0, size * size - distance * distance))


def distance(offset: float, size: float) -> float:
    """Return the distance from hip to ankle, from the knee's distance to the line between them.

    Args:
        offset: How far the knee is off the line.
        size: The length of the straight leg.
    """
    return sqrt(max(0.0, size * size - 4.0 * offset * offset))


def folded(distance: float, animated: float, inner: float) -> float:
    """Return the distance from hip to ankle of a leg that swings over an obstacle.

    The leg folds freely up to halfway between its animated fold and its knee's limit. Beyond that,
    the fold is eased toward three quarters of the way, which it never reaches. A leg animated
    beyond its knee's limit folds no farther.

    Args:
        distance: The distance without a limit.
        animated: The animated distance.
        inner: The shortest distance that the knee's muscles (see `FLEXED`) or the bones allow.
    """
    inner = min(inner, animated)
    free = 0.5 * (animated + inner)
    nearer, room = free - distance, 0.25 * (animated - inner)
    if nearer <= 0.0:
        return distance
    return free - nearer / (1.0 + nearer / room) if room > 0.0 else free


def weight(animated: float, solved: float, size: float, lies: float) -> float:
    """Return the weight of a knee's position: the square of its ankle's motion per unit of its own.

    The more the knee of a flat foot is bent, the less its ankle gives way.

    Args:
        animated: How far the knee is off its line in the animation.
        solved: How far it is off its line on the ground.
        size: The length of the straight leg.
        lies: How flat the foot is on the ground, from 0 to 1.
    """
    if size <= 0.0:
        return 1.0  # A leg without length has no line to be off.
    off = max(animated, solved, LEAST * size)
    gain = 16.0 * off * off / max(size * size - 4.0 * off * off, LEAST * size * size)
    return gain / max(LEAST, 1.0 - lies * clear(solved, size)) ** 2


def clear(offset: float, size: float) -> float:
    """Return how clear a knee's bend direction is, from 0 to 1.

    An unclear knee may cross its line in the animation, but must not on the ground. Where it
    crosses, its acceleration comes from a swivel, and isn't preserved.
    """
    return 0.0 if size <= 0.0 else smooth(offset / (CLEAR * size))


def softened(wanted: float, size: float) -> float:
    """Return how far an ankle gives way to keep its knee smooth, at most `MOST`.

    Args:
        wanted: How far it would have to move.
        size: The length of the straight leg.
    """
    most = MOST * size
    return wanted / sqrt(1.0 + (wanted / most) ** 2) if most > 0.0 else 0.0
