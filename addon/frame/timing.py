"""How long updates take, measured only while this is displayed.

Each redraw requests the measurement of the next update, so measuring ends with the display.
"""

from __future__ import annotations

from time import perf_counter

from ..blender.session import part


class Timing:
    """The session's measurement.

    Attributes:
        is_asked: Whether to measure the next update that poses an armature.
        seconds: The duration of the last measured update; None before the first.
    """

    def __init__(self) -> None:
        """Start without a measurement."""
        self.is_asked = False
        self.seconds: float | None = None

    def note(self, started: float) -> None:
        """Record a requested measurement that began at this `perf_counter` time."""
        self.is_asked = False
        self.seconds = perf_counter() - started


def last() -> float | None:
    """Return how long the last measured update took in seconds, and request the next measurement.

    None before the first one.
    """
    timing = part(Timing)
    timing.is_asked = True
    return timing.seconds
