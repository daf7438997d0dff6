"""Displacements of a drag: constrained to axes and planes, snapped to increments, or typed.

Pure functions of tuples. A displacement is a world-space vector from the start of the drag.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite, radians, sin

from fabrik_solver.core.vectors import ORIGIN, Mat3, Vec, add, dot, mat_columns, scaled, sub

SHALLOW = sin(radians(5.0))
"""Sine of the angle below which a view ray doesn't define a point on an axis or plane."""


@dataclass(frozen=True, slots=True)
class Lock:
    """An axis or plane constraint.

    Attributes:
        axis: 0, 1 or 2 for X, Y or Z.
        is_plane: Whether it is the plane perpendicular to the axis.
        is_local: Whether the axis is local instead of global.
    """

    axis: int
    is_plane: bool = False
    is_local: bool = False

    def free(self) -> tuple[int, ...]:
        """Return the axes along which a displacement is free."""
        return tuple(i for i in range(3) if (i == self.axis) != self.is_plane)


def pressed(lock: Lock | None, axis: int, is_plane: bool) -> Lock | None:
    """Return the lock after a key press: global, then local, then None."""
    if lock is None or (lock.axis, lock.is_plane) != (axis, is_plane):
        return Lock(axis, is_plane)
    return None if lock.is_local else Lock(axis, is_plane, is_local=True)


def locked(displacement: Vec, lock: Lock, axes: Mat3, sight: Vec, up: Vec) -> Vec:
    """Return the displacement within a lock that is closest on screen to a free displacement.

    Args:
        displacement: The displacement of the mouse.
        lock: The constraint.
        axes: The lock's unit axes, in columns.
        sight: The unit view direction at the dragged point.
        up: The unit up direction of the screen.
    """
    axis = mat_columns(axes)[lock.axis]
    cosine = dot(axis, sight)
    if lock.is_plane:
        if abs(cosine) < SHALLOW:  # The plane is viewed edge-on.
            return sub(displacement, scaled(axis, dot(axis, displacement)))
        return sub(displacement, scaled(sight, dot(axis, displacement) / cosine))
    sine_sq = 1.0 - cosine * cosine
    if sine_sq < SHALLOW * SHALLOW:  # The axis points at the viewer: moving up moves away.
        return scaled(axis, dot(up, displacement) * (1.0 if cosine > 0.0 else -1.0))
    # The point on the axis closest to the view ray through the dragged point.
    return scaled(axis, (dot(axis, displacement) - cosine * dot(sight, displacement)) / sine_sq)


def projected(displacement: Vec, lock: Lock, axes: Mat3) -> Vec:
    """Return the projection of a displacement onto a lock."""
    axis = mat_columns(axes)[lock.axis]
    along = scaled(axis, dot(axis, displacement))
    return sub(displacement, along) if lock.is_plane else along


def stepped(displacement: Vec, axes: Mat3, step: float) -> Vec:
    """Return a displacement rounded to multiples of a step along axes."""
    rounded = ORIGIN
    for axis in mat_columns(axes):
        rounded = add(rounded, scaled(axis, round(dot(axis, displacement) / step) * step))
    return rounded


def on_grid(start: Vec, displacement: Vec, step: float) -> Vec:
    """Return a displacement, adjusted so that it ends on the world grid.

    Args:
        start: The point from which it starts, in world space.
        displacement: The displacement.
        step: The spacing of the grid.
    """
    x, y, z = add(start, displacement)
    grid_point = (round(x / step) * step, round(y / step) * step, round(z / step) * step)
    return sub(grid_point, start)


@dataclass(slots=True)
class Typed:
    """Typed numbers, one for each free axis.

    Attributes:
        texts: The text for each axis.
        index: Index of the axis being typed.
    """

    texts: list[str] = field(default_factory=lambda: ["", "", ""])
    index: int = 0

    def type_character(self, character: str, axis_count: int) -> None:
        """Append a digit or decimal point, or toggle the sign.

        Args:
            character: The typed character.
            axis_count: The number of free axes.
        """
        text = self.texts[self.index % axis_count]
        if character == "-":
            text = text[1:] if text.startswith("-") else f"-{text}"
        elif character != "." or "." not in text:
            text += character
        self.texts[self.index % axis_count] = text

    def back(self, axis_count: int) -> None:
        """Remove the last character."""
        index = self.index % axis_count
        self.texts[index] = self.texts[index][:-1]

    def next(self) -> None:
        """Continue with the next axis."""
        self.index += 1

    def displacement(self, axes: Mat3, free: tuple[int, ...]) -> Vec | None:
        """Return the typed displacement; None if nothing was typed.

        Args:
            axes: The unit axes, in columns.
            free: The indices of the free axes.
        """
        if not any(self.texts):
            return None
        total = ORIGIN
        for axis, text in zip(free, self.texts, strict=False):
            total = add(total, scaled(mat_columns(axes)[axis], _number(text)))
        return total


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:  # Only a sign or decimal point.
        return 0.0
    return number if isfinite(number) else 0.0
