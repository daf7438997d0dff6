"""The swing phase: an arc from foothold to foothold that clears obstacles."""

from math import ceil, inf
from typing import Final, NamedTuple

from ..core.vectors import Vec, add, dot, length, mix, scaled, sub
from .easing import smoother
from .footfall import hump
from .foothold import Cast

SAMPLES: Final = 16
"""How many parts a foot's path has, for sampling the ground below."""

WAITS: Final = (0.0, 0.12, 0.24, 0.36)
"""Fractions of a step's duration to try for only rising, or only coming down."""


FLAT: Final = 1e-3
"""The lowest obstacle that counts, as a fraction of the greatest arc height."""


def _time_at(fraction: float) -> float:
    """Return the time, from 0 to 1, at which a foot has covered this fraction of its path."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if smoother(middle) < fraction else (low, middle)
    return low


TIMES: Final = tuple([_time_at(i / SAMPLES) for i in range(SAMPLES + 1)])
"""When a foot passes each sample of its path, as fractions of the duration of its forward
motion."""


class Arc(NamedTuple):
    """The arc of a swing (see `Footfall`)."""

    height: float
    late: float
    early: float


def arc_over(
    cast: Cast, start: Vec, end: Vec, rise: Vec, least: float, most: float, sole: float = 0.0
) -> Arc:
    """Return the arc of least acceleration between two footholds that clears the obstacles.

    An obstacle next to a foothold would need a very high arc. Instead the foot rises before it
    moves ahead, or comes down afterward, and moves ahead in less time.

    Args:
        cast: Casts a ray.
        start: The old foothold.
        end: The new foothold.
        rise: The up direction of the arc, a unit vector.
        least: The least height; half of it is the clearance.
        most: The greatest height.
        sole: How far the sole extends beyond the foot's position, along its path.
    """
    far = length(sub(end, start))
    # An obstacle's edge may be anywhere up to the next ray.
    around = 1 + (ceil(min(sole / far, 1.0) * SAMPLES) if far > 0.0 else 0)
    most = max(least, min(most, _free(cast, start, rise, most), _free(cast, end, rise, most)))
    slope = dot(sub(end, start), rise) / SAMPLES
    heights = [-inf]
    for i in range(1, SAMPLES):
        point = mix(start, end, i / SAMPLES)
        hit = cast(add(point, scaled(rise, most)), scaled(rise, -1.0), most)
        height = -inf if hit is None else dot(sub(hit.place, point), rise)
        heights.append(height + slope * i if height > FLAT * most else -inf)
    heights.append(-inf)
    over: list[tuple[float, float]] = []
    for i in range(SAMPLES + 1):
        height = max(heights[max(i - around, 0) : i + around + 1]) - slope * i
        if height > FLAT * most:
            over.append((TIMES[i], height + 0.5 * least * hump(TIMES[i])))
    if not over:
        return Arc(least, 0.0, 0.0)
    arcs = [_arc(over, late, early, least) for late in WAITS for early in WAITS]
    best = min(arcs, key=lambda arc: (max(arc.height - most, 0.0), _effort(arc, far)))
    return best._replace(height=min(best.height, most))


def _free(cast: Cast, point: Vec, rise: Vec, most: float) -> float:
    """Return the free height above a location, so that rays don't start above a roof.

    Args:
        cast: Casts a ray at the ground.
        point: The location.
        rise: The unit vector upward.
        most: The height to search, and the result if nothing is in the way.
    """
    off = 0.01 * most
    hit = cast(add(point, scaled(rise, off)), rise, most)
    return most if hit is None else 0.9 * dot(sub(hit.place, point), rise)


def _arc(over: list[tuple[float, float]], late: float, early: float, least: float) -> Arc:
    height = least
    for time, wanted in over:
        up = hump(late + time * (1.0 - late - early))
        height = max(height, wanted / up if up > 0.0 else inf)
    return Arc(height, late, early)


def _effort(arc: Arc, far: float) -> float:
    """Return an arc's largest vertical plus its largest horizontal acceleration.

    Args:
        arc: The arc, over a step that takes one unit of time.
        far: The horizontal distance of the step.
    """
    ahead = 1.0 - arc.late - arc.early
    return 24.0 * arc.height + 5.8 * far / (ahead * ahead)
