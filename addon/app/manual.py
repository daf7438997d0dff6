"""The offline manual in the extension's folder: F1 opens it at the hovered setting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy

from ..editing.defaults import FabrikDefaults

FOLDER = Path(__file__).resolve().parent.parent / "manual"
"""The pages written by tools/manual.py; missing in a checkout."""

OWNERS = {name.lower(): name for name in ("Object", "Bone", "Scene", "WindowManager")}
"""The types that have settings of this extension, by the first part of their page's name."""

ELSE = (
    ("bpy.ops.fabrik.*", "reference/operators.html"),
    ("bpy.types.*.fabrik*", "reference/properties.html"),
    ("bpy.types.fabrik*", "reference/properties.html"),
)
"""Pages for everything without its own page: menus, panels and hidden settings."""


def url(page: str = "index.html") -> str:
    """Return the address of a page; empty if the manual is missing."""
    return (FOLDER / page).as_uri() if (FOLDER / page).is_file() else ""


def manual_map() -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the address of the manual, and its pages by Blender's lowercase names."""
    if not url():
        return "", ()
    names = sorted(page.stem for page in (FOLDER / "at").glob("*.html"))
    pages = [(pattern, f"at/{name}.html") for name in names for pattern in _patterns(name)]
    return f"{FOLDER.as_uri()}/", (*pages, *ELSE)


def _patterns(name: str) -> Iterator[str]:
    """Yield Blender's names of the operators and settings that a page describes."""
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
    """Register the manual, so that F1 opens it."""
    bpy.utils.register_manual_map(manual_map)


def unregister() -> None:
    """Unregister the manual."""
    bpy.utils.unregister_manual_map(manual_map)
