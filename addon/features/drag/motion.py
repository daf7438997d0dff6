"""How a thing is moved by the mouse: locked to axes and planes, in steps, or typed in.

Pure functions of tuples. A motion is a vector in world space, from where the thing stood at first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite, radians, sin

from ...core.vectors import ORIGIN, Mat3, Vec, add, dot, mat_columns, scaled, sub

SHALLOW = sin(radians(5.0))
"""At an angle whose sine is below this, a line of sight says nothing about an axis or a plane."""


@dataclass(frozen=True, slots=True)
class Lock:
    """What a motion is held to.

    Attributes:
        axis: 0, 1 or 2 for X, Y or Z.
        is_plane: Whether it is held to the plane across the axis, and not to the axis.
        is_local: Whether the axis is the moved thing's own, and not the world's.
    """

    axis: int
    is_plane: bool = False
    is_local: bool = False

    def free(self) -> tuple[int, ...]:
        """Return which of the three axes a motion may have a part along."""
        return tuple(i for i in range(3) if (i == self.axis) != self.is_plane)


def pressed(lock: Lock | None, axis: int, is_plane: bool) -> Lock | None:
    """Return the lock after a key: the world's axis first, then the thing's own, then none."""
    if lock is None or (lock.axis, lock.is_plane) != (axis, is_plane):
        return Lock(axis, is_plane)
    return None if lock.is_local else Lock(axis, is_plane, is_local=True)


def locked(motion: Vec, lock: Lock, axes: Mat3, sight: Vec, up: Vec) -> Vec:
    """Return the motion within a lock that looks nearest to a given one.

    Args:
        motion: Where the mouse would bring the thing.
        lock: What it is held to.
        axes: The axes to which the lock belongs, of length 1, in columns.
        sight: The direction in which the viewer sees the place, of length 1.
        up: The direction that is up on the screen, of length 1.
    """
    axis = mat_columns(axes)[lock.axis]
    across = dot(axis, sight)
    if lock.is_plane:
        if abs(across) < SHALLOW:  # The plane is seen from its edge.
            return sub(motion, scaled(axis, dot(axis, motion)))
        return sub(motion, scaled(sight, dot(axis, motion) / across))
    room = 1.0 - across * across
    if room < SHALLOW * SHALLOW:  # The axis points at the viewer: up takes the thing away.
        return scaled(axis, dot(up, motion) * (1.0 if across > 0.0 else -1.0))
    # The point of the axis that is nearest to the line of sight through the moved place.
    return scaled(axis, (dot(axis, motion) - across * dot(sight, motion)) / room)


def projected(motion: Vec, lock: Lock, axes: Mat3) -> Vec:
    """Return the motion within a lock that is nearest in space to a given one."""
    axis = mat_columns(axes)[lock.axis]
    along = scaled(axis, dot(axis, motion))
    return sub(motion, along) if lock.is_plane else along


def stepped(motion: Vec, axes: Mat3, step: float) -> Vec:
    """Return a motion whose numbers in some axes are multiples of a step."""
    found = ORIGIN
    for axis in mat_columns(axes):
        found = add(found, scaled(axis, round(dot(axis, motion) / step) * step))
    return found


def on_grid(place: Vec, motion: Vec, step: float) -> Vec:
    """Return a motion from a place to the nearest point of the world's grid."""
    x, y, z = add(place, motion)
    there = (round(x / step) * step, round(y / step) * step, round(z / step) * step)
    return sub(there, place)


@dataclass(slots=True)
class Typed:
    """Numbers that are typed in instead of moving the mouse: one for each axis that is free.

    Attributes:
        texts: What was typed for each.
        place: Which of them is being typed.
    """

    texts: list[str] = field(default_factory=lambda: ["", "", ""])
    place: int = 0

    def key(self, character: str, count: int) -> None:
        """Take a digit or a point, or a minus, which changes the sign.

        Args:
            character: What was typed.
            count: How many axes are free.
        """
        text = self.texts[self.place % count]
        if character == "-":
            text = text[1:] if text.startswith("-") else f"-{text}"
        elif character != "." or "." not in text:
            text += character
        self.texts[self.place % count] = text

    def back(self, count: int) -> None:
        """Take the last character away."""
        self.texts[self.place % count] = self.texts[self.place % count][:-1]

    def next(self) -> None:
        """Go on with the next axis."""
        self.place += 1

    def motion(self, axes: Mat3, free: tuple[int, ...]) -> Vec | None:
        """Return what was typed as a motion, None if nothing was.

        Args:
            axes: The axes that are meant, of length 1, in columns.
            free: Which of them are free.
        """
        if not any(self.texts):
            return None
        found = ORIGIN
        for axis, text in zip(free, self.texts, strict=False):
            found = add(found, scaled(mat_columns(axes)[axis], _number(text)))
        return found


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:  # A sign or a point alone.
        return 0.0
    return number if isfinite(number) else 0.0
