"""The swing phase: an arc from foothold to foothold that clears obstacles."""

from typing import Final, NamedTuple

from ..core.vectors import Vec, add, dot, length, mix, scaled, sub
from .footfall import eased, hump
from .foothold import Cast

TIMES: Final = tuple(i / 16 for i in range(1, 16))
"""At what shares of the time that a foot goes ahead the ground below its way is looked at."""

WAITS: Final = (0.0, 0.12, 0.24)
"""The shares of a step's duration to try for only rising, or only coming down."""


FLAT: Final = 1e-3
"""The height from which on something is an obstacle, as a share of the greatest arc height."""


class Arc(NamedTuple):
    """The arc of a swing (see `Footfall`)."""

    height: float
    late: float
    early: float


def arc_over(cast: Cast, start: Vec, end: Vec, rise: Vec, least: float, most: float) -> Arc:
    """Return the arc of least acceleration between two footholds that clears the obstacles.

    An obstacle next to a foothold would need a very high arc. Instead the foot rises first, or
    comes down last, and moves ahead in less time.

    Args:
        cast: Casts a ray.
        start: The old foothold.
        end: The new foothold.
        rise: The up direction of the arc, a unit vector.
        least: The least height; half of it is the clearance.
        most: The greatest height.
    """
    most = max(least, min(most, _free(cast, start, rise, most), _free(cast, end, rise, most)))
    over: list[tuple[float, float]] = []
    for time in TIMES:
        place = mix(start, end, eased(time))
        hit = cast(add(place, scaled(rise, most)), scaled(rise, -1.0), most)
        if hit is not None:
            height = dot(sub(hit.place, place), rise)
            if height > FLAT * most:
                over.append((time, height + 0.5 * least * hump(time)))
    if not over:
        return Arc(least, 0.0, 0.0)
    far = length(sub(end, start))
    arcs = [_arc(over, late, early, least) for late in WAITS for early in WAITS]
    best = min(arcs, key=lambda arc: _effort(arc, far))
    return best._replace(height=min(best.height, most))


def _free(cast: Cast, place: Vec, rise: Vec, most: float) -> float:
    """Return the free height above a place: rays must not start above a roof."""
    off = 0.01 * most
    hit = cast(add(place, scaled(rise, off)), rise, most)
    return most if hit is None else 0.9 * dot(sub(hit.place, place), rise)


def _arc(over: list[tuple[float, float]], late: float, early: float, least: float) -> Arc:
    height = least
    for time, wanted in over:
        height = max(height, wanted / hump(late + time * (1.0 - late - early)))
    return Arc(height, late, early)


def _effort(arc: Arc, far: float) -> float:
    """Return the largest accelerations, vertical plus horizontal, at a step duration of 1."""
    ahead = 1.0 - arc.late - arc.early
    return 24.0 * arc.height + 5.8 * far / (ahead * ahead)
