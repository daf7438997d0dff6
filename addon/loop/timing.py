"""The duration of updates, measured only while it is displayed.

Each display requests the measurement of the next update, so that measuring stops with it.
"""

from __future__ import annotations

from time import perf_counter

from ..blender.listeners import on_invalidate

is_asked = False
"""Whether the next update that poses an armature is measured."""

_seconds: float | None = None


def last() -> float | None:
    """Return the duration of the last measured update in seconds, and request the next.

    None if none was measured yet.
    """
    global is_asked
    is_asked = True
    return _seconds


def note(started: float) -> None:
    """Record a requested measurement, given its start by `perf_counter`."""
    global is_asked, _seconds
    is_asked = False
    _seconds = perf_counter() - started


@on_invalidate
def forget() -> None:
    """Forget the measurement of another file."""
    global is_asked, _seconds
    is_asked, _seconds = False, None
