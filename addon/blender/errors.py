"""Error handling: expected errors become messages, unexpected ones are reported once."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence

from .messages import COMMA, Message, enumerated, joined, msg


class ProblemError(Exception):
    """An expected error, whose message names the problem and the solution."""

    def __init__(self, template: str, /, **values: object) -> None:
        """Create the message as `msg` does, unless the template is a `Message` already."""
        super().__init__(template if isinstance(template, Message) else msg(template, **values))


class ChoiceError(ProblemError):
    """An error that disappears with another value of an option.

    Attributes:
        choice: Values of options that would avoid the error, by name. Other values may avoid it
            too.
    """

    def __init__(self, template: str, choice: Mapping[str, object], /, **values: object) -> None:
        """Create the message as `msg` does."""
        super().__init__(template, **values)
        self.choice = choice


def listed(names: Sequence[str], more: int = 0) -> Message:
    """Format names, at least one, for a sentence: “A”, “B” and “C”.

    Args:
        names: The names.
        more: The number of further, unnamed items.
    """
    quoted = [msg("“{name}”", name=name) for name in names]
    if more:
        return msg("{names} and {more} more", names=joined(COMMA, quoted), more=more)
    return enumerated(quoted)


INTERNAL_ERROR = msg(
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


class contained:
    """Report exceptions instead of raising them; references to removed data still raise."""

    def __init__(self, failure: str) -> None:
        """Report the failure as `report_once` does."""
        self._failure = failure

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        """Report an exception; return whether it is contained."""
        if not isinstance(error, Exception) or isinstance(error, ReferenceError):
            return False
        report_once(self._failure)
        return True


_interrupted = [0]
"""How often a handler was interrupted, which Blender prints before it continues."""


def note_interrupt() -> None:
    """Count an interruption of a handler."""
    _interrupted[0] += 1


def interrupts() -> int:
    """Return how often handlers were interrupted."""
    return _interrupted[0]


def forget_reported() -> None:
    """Let errors that were already printed be reported again."""
    _reported.clear()
