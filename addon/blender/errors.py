"""Errors: expected ones as messages for the user, others printed once and contained."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class ProblemError(Exception):
    """An expected error, with a message that says what to do."""


def listed(names: Sequence[str]) -> str:
    """Format names for a sentence: “A”, “B” and “C”."""
    *others, last = [f"“{name}”" for name in names]
    return f"{', '.join(others)} and {last}" if others else last


FAULT = (
    "Internal error in FABRIK IK: the FK pose is shown. Please report the error in the "
    "system console"
)
"""The message of a constraint with an unexpected error."""

_said: set[str] = set()


def say_once(failure: str) -> None:
    """Print the current exception once, however many frames raise it.

    Args:
        failure: What could not be done, as in “could not pose the armatures”.
    """
    report = traceback.format_exc()
    if report not in _said:
        _said.add(report)
        print(f"FABRIK IK {failure}; please report this:\n{report}")


@contextmanager
def contained(failure: str) -> Iterator[None]:
    """Contain an exception, except for a reference to removed data.

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
    """Print earlier errors again if they happen again."""
    _said.clear()
