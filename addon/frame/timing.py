"""The duration of updates, measured only while it is displayed.

Each redraw requests the measurement of the next update, so measuring stops with the display.
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
        """Record a requested measurement that started at a time of `perf_counter`."""
        self.is_asked = False
        self.seconds = perf_counter() - started


def last() -> float | None:
    """Return the duration of the last measured update in seconds, and request the next.

    None before the first measurement.
    """
    timing = part(Timing)
    timing.is_asked = True
    return timing.seconds
