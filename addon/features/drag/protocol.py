"""The interface of all drags."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from fabrik_solver.core.vectors import Mat3, Vec


class Drag(Protocol):
    """A drag of a bone.

    Attributes:
        place: Location of the dragged point at the start of the drag, in world space.
        axes: Unit axes of the dragged bone or object in world space, in columns.
        name: Name of the dragged bone or object.
        tip_start: Start location of the tip that follows, in world space.
    """

    place: Vec
    axes: Mat3
    name: str
    tip_start: Vec

    @property
    def state(self) -> str:
        """State of the chain that follows, as shown in the header."""
        ...

    def move_by(self, displacement: Vec) -> None:
        """Drag in world space, relative to the start of the drag."""
        ...

    def confirm(self) -> str:
        """Keep the pose, and key it if auto-keying is on; return a note for the user."""
        ...

    def tip(self) -> Vec:
        """Return the evaluated location of the tip that follows, in world space."""
        ...

    def moved(self) -> float:
        """Return how far the dragged bone or object has actually moved, in meters."""
        ...

    def cancel(self) -> None:
        """Restore the values from the start of the drag."""
        ...


@runtime_checkable
class PinningDrag(Protocol):
    """A drag that can pin the dragged bone."""

    def next_pin(self) -> None:
        """Switch the dragged bone to the next kind of pin, or unpin it."""
        ...


@runtime_checkable
class FollowingDrag(Protocol):
    """A drag that can lag slightly behind the mouse, to save time while it moves."""

    def follow(self, displacement: Vec) -> None:
        """Drag almost all the way, in world space, relative to the start of the drag."""
        ...

    def settle(self) -> None:
        """Approach the last displacement while the mouse rests; confirming reaches it."""
        ...
