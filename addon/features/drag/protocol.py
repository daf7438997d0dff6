"""What all drags can do."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from fabrik_solver.core.vectors import Mat3, Vec


class Drag(Protocol):
    """A drag of a bone.

    Attributes:
        place: Location of the dragged point at the start of the drag, in world space.
        axes: Unit axes of what is dragged in world space, in columns.
        name: Name of what is dragged.
        tip_start: Location of what follows at the start of the drag, in world space.
    """

    place: Vec
    axes: Mat3
    name: str
    tip_start: Vec

    @property
    def state(self) -> str:
        """The state of what follows."""
        ...

    def move_by(self, displacement: Vec) -> None:
        """Drag in world space, relative to the start of the drag."""
        ...

    def confirm(self) -> str:
        """Keep the pose, and key it if auto-keying is on; return a note for the user."""
        ...

    def tip(self) -> Vec:
        """Return the evaluated location of what follows, in world space."""
        ...

    def cancel(self) -> None:
        """Restore the values of the start of the drag."""
        ...


@runtime_checkable
class PinningDrag(Protocol):
    """A drag that can pin what is dragged."""

    def next_pin(self) -> None:
        """Pin the dragged bone in the next way, or free it."""
        ...


@runtime_checkable
class FollowingDrag(Protocol):
    """A drag that costs less while the mouse moves, if what is dragged may lag a little then."""

    def follow(self, displacement: Vec) -> None:
        """Drag in world space, relative to the start of the drag, nearly there."""
        ...

    def settle(self) -> None:
        """Drag the rest of the way."""
        ...
