"""How long an update takes, measured only while somebody wants to show it.

Whoever shows it asks each time for the next update to be measured, so that nothing has to be told
when it is shown no longer.
"""

from __future__ import annotations

from time import perf_counter

from ..blender.forgetting import forgets

is_asked = False
"""Whether the next update that poses an armature is to be measured."""

_seconds: float | None = None


def last() -> float | None:
    """Return how many seconds the last measured update took, and ask for the next.

    None if none was measured yet.
    """
    global is_asked
    is_asked = True
    return _seconds


def note(started: float) -> None:
    """Take down an update that was asked for, given when it started by `perf_counter`."""
    global is_asked, _seconds
    is_asked = False
    _seconds = perf_counter() - started


@forgets
def forget() -> None:
    """Forget what was measured of another file."""
    global is_asked, _seconds
    is_asked, _seconds = False, None
