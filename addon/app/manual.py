"""The manual in the extension's folder, which F1 opens at the setting or button under the mouse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy

from ..editing.defaults import FabrikDefaults

FOLDER = Path(__file__).resolve().parent.parent / "manual"
"""The pages that tools/manual.py writes; a checkout has none."""

OWNERS = {name.lower(): name for name in ("Object", "Bone", "Scene", "WindowManager")}
"""The types with settings of ours, by how the names of the pages begin."""

ELSE = (
    ("bpy.ops.fabrik.*", "reference/operators.html"),
    ("bpy.types.*.fabrik*", "reference/properties.html"),
    ("bpy.types.fabrik*", "reference/properties.html"),
)
"""Pages for what has no place of its own: menus, panels, and what no panel shows."""


def url(page: str = "index.html") -> str:
    """Return the address of a page; empty if the manual is not there."""
    return (FOLDER / page).as_uri() if (FOLDER / page).is_file() else ""


def manual_map() -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the address of the manual, and its pages by Blender's names in lower case."""
    if not url():
        return "", ()
    names = sorted(page.stem for page in (FOLDER / "at").glob("*.html"))
    places = [(pattern, f"at/{name}.html") for name in names for pattern in _patterns(name)]
    return f"{FOLDER.as_uri()}/", (*places, *ELSE)


def _patterns(name: str) -> Iterator[str]:
    """Yield what Blender calls the operators and settings that a page is about."""
    first, *path = name.split(".")
    if first == "fabrik":
        yield f"bpy.ops.{name}"
        return
    rna: Any = getattr(bpy.types, OWNERS[first]).bl_rna
    for part in path[:-1]:
        rna = rna.properties[part].fixed_type
    yield f"bpy.types.{rna.identifier}.{path[-1]}".lower()
    if rna.identifier == "FabrikConstraint" and path[-1] in FabrikDefaults.bl_rna.properties:
        yield f"bpy.types.{FabrikDefaults.__name__}.{path[-1]}".lower()


def register() -> None:
    """Let F1 open the manual."""
    bpy.utils.register_manual_map(manual_map)


def unregister() -> None:
    """Undo that."""
    bpy.utils.unregister_manual_map(manual_map)
