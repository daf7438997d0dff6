"""Error handling: expected errors become messages for the user, others are reported once."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class ProblemError(Exception):
    """An expected error, with a message that tells the user what to do."""


class ChoiceError(ProblemError):
    """An error that another choice of an option solves.

    Attributes:
        choice: The options that would solve it, or one of several, by name.
    """

    def __init__(self, message: str, **choice: object) -> None:
        super().__init__(message)
        self.choice = choice


def listed(names: Sequence[str]) -> str:
    """Format names, at least one, for a sentence: “A”, “B” and “C”."""
    *others, last = [f"“{name}”" for name in names]
    return f"{', '.join(others)} and {last}" if others else last


INTERNAL_ERROR = (
    "Internal error in FABRIK IK: the FK pose is shown. Please report the error in the "
    "system console"
)
"""The message of a constraint after an unexpected error."""

_reported: set[str] = set()


def report_once(failure: str) -> None:
    """Print the traceback of the current exception, unless the same one was printed before.

    Args:
        failure: What failed, as in “could not pose the armatures”.
    """
    report = traceback.format_exc()
    if report not in _reported:
        _reported.add(report)
        print(f"FABRIK IK {failure}; please report this:\n{report}")


@contextmanager
def contained(failure: str) -> Iterator[None]:
    """Report exceptions instead of raising them, except for references to removed data.

    Args:
        failure: See `report_once`.

    Raises:
        ReferenceError: If data has been removed.
    """
    try:
        yield
    except ReferenceError:
        raise
    except Exception:
        report_once(failure)


def forget_reported() -> None:
    """Report errors again that were already printed."""
    _reported.clear()
