"""The directions along axes that settings name, as Blender's exporters do."""

from ..core.vectors import Vec

AXES: dict[str, Vec] = {
    "X": (1.0, 0.0, 0.0),
    "Y": (0.0, 1.0, 0.0),
    "Z": (0.0, 0.0, 1.0),
    "NEGATIVE_X": (-1.0, 0.0, 0.0),
    "NEGATIVE_Y": (0.0, -1.0, 0.0),
    "NEGATIVE_Z": (0.0, 0.0, -1.0),
}


def axis_items(of: str, first: int = 0) -> tuple[tuple[str, str, str, int], ...]:
    """Return the axes as the items of a setting.

    Args:
        of: Whose axes they are, as in “the bone's”.
        first: The number that files and keys know X by; those of the others come after it.
    """
    return tuple(
        (name, f"−{name[-1]}", f"Along {of} negative {name[-1]} axis", first + place)
        if name.startswith("NEGATIVE")
        else (name, name, f"Along {of} {name} axis", first + place)
        for place, name in enumerate(AXES)
    )
