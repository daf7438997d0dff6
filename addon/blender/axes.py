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


def axis_items(of: str) -> tuple[tuple[str, str, str], ...]:
    """Return the axes as the items of a setting.

    Args:
        of: Whose axes they are, as in “the bone's”.
    """
    return tuple(
        (name, f"−{name[-1]}", f"Against {of} {name[-1]} axis")
        if name.startswith("NEGATIVE")
        else (name, name, f"Along {of} {name} axis")
        for name in AXES
    )
