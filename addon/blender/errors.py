"""What goes wrong: as foreseen, in a sentence for the user; else printed once, and contained."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class ProblemError(Exception):
    """Why a constraint cannot work, in a sentence that says what to do."""


def listed(names: Sequence[str]) -> str:
    """Return names as they stand in a sentence: “A”, “B” and “C”."""
    *others, last = [f"“{name}”" for name in names]
    return f"{', '.join(others)} and {last}" if others else last


FAULT = (
    "Internal error in FABRIK IK: the FK pose is shown. Please report the error in the "
    "system console"
)
"""What is said of a constraint that could not be solved for no reason known to it."""

_said: set[str] = set()


def say_once(failure: str) -> None:
    """Print the error that is being handled once, however many frames run into it.

    Args:
        failure: What could not be done, as in “could not pose the armatures”.
    """
    report = traceback.format_exc()
    if report not in _said:
        _said.add(report)
        print(f"FABRIK IK {failure}; please report this:\n{report}")


@contextmanager
def contained(failure: str) -> Iterator[None]:
    """Keep an error from what comes after, but for a reference to something that was removed.

    Args:
        failure: As for `say_once`.
    """
    try:
        yield
    except ReferenceError:
        raise
    except Exception:
        say_once(failure)


def forget_said() -> None:
    """Print the errors of before once more, should they happen again."""
    _said.clear()
