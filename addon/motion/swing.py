"""The swing of a foot: an arc from place to place that clears what stands between them."""

from typing import Final, NamedTuple

from ..core.vectors import Vec, add, dot, length, mix, scaled, sub
from .footfall import eased, hump
from .foothold import Cast

TIMES: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""At what shares of the time that a foot goes ahead the ground below its way is looked at."""

WAITS: Final = (0.0, 0.12, 0.24)
"""The shares of a step's time in which a foot may only rise, or only come down."""


FLAT: Final = 1e-3
"""What stands out by less of the most that an arc may be high is no obstacle."""


class Arc(NamedTuple):
    """How a foot swings (see `Footfall`)."""

    height: float
    late: float
    early: float


def arc_over(cast: Cast, start: Vec, end: Vec, rise: Vec, least: float, most: float) -> Arc:
    """Return the gentlest arc between two places that passes what stands between them.

    An obstacle next to either place would need a very high arc. Before it the foot rises first,
    and behind it the foot comes down last, at the price of going ahead in less time.

    Args:
        cast: Asks the ground.
        start: Where the foot is lifted.
        end: Where it comes down.
        rise: The arc's way up, a unit vector.
        least: How high it is at least; half of it is kept above what stands between.
        most: How high it may be.
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
    """Return how high the way up from a place is free: under a roof no ray may begin above it."""
    off = 0.01 * most
    hit = cast(add(place, scaled(rise, off)), rise, most)
    return most if hit is None else 0.9 * dot(sub(hit.place, place), rise)


def _arc(over: list[tuple[float, float]], late: float, early: float, least: float) -> Arc:
    height = least
    for time, wanted in over:
        height = max(height, wanted / hump(late + time * (1.0 - late - early)))
    return Arc(height, late, early)


def _effort(arc: Arc, far: float) -> float:
    """Return the largest accelerations, up and ahead together, in units of the step's time."""
    ahead = 1.0 - arc.late - arc.early
    return 24.0 * arc.height + 5.8 * far / (ahead * ahead)
