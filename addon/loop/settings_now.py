"""The settings of a constraint that may change from frame to frame, as they are now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .properties import FabrikConstraint
from .property_values import Form, animated_form

if TYPE_CHECKING:

    class Settings(FabrikConstraint):
        """Those that can be animated, as a named tuple; the solver by its number."""

        solver: int  # type: ignore[assignment]

        def _replace(self, **values: object) -> Settings: ...

        def __iter__(self) -> Iterator[Any]: ...

else:
    Settings = tuple


def form() -> Form:
    """Return how they are read."""
    return animated_form(FabrikConstraint)
