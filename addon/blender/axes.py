"""The axes that settings offer, named as in Blender's exporters."""

from __future__ import annotations

from collections.abc import Iterable

from mathutils import Vector

from fabrik_solver.core.vectors import Vec

AXES: dict[str, Vec] = {
    "X": (1.0, 0.0, 0.0),
    "Y": (0.0, 1.0, 0.0),
    "Z": (0.0, 0.0, 1.0),
    "NEGATIVE_X": (-1.0, 0.0, 0.0),
    "NEGATIVE_Y": (0.0, -1.0, 0.0),
    "NEGATIVE_Z": (0.0, 0.0, -1.0),
}


def nearest_axis(direction: Vector, names: Iterable[str]) -> str:
    """Return the axis nearest to a direction."""
    return max(names, key=lambda name: Vector(AXES[name]).dot(direction))


def axis_items(of: str, first: int = 0) -> tuple[tuple[str, str, str, int], ...]:
    """Return the axes as enum items.

    Args:
        of: The owner of the axes, for the tooltips, as in “the bone's”.
        first: The number that files and keys store for X; the other axes follow.
    """
    return tuple(
        (name, f"−{name[-1]}", f"Along {of} negative {name[-1]} axis", first + i)
        if name.startswith("NEGATIVE")
        else (name, name, f"Along {of} {name} axis", first + i)
        for i, name in enumerate(AXES)
    )
