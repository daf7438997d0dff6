"""Saving the open file, and proving that the saved file can be read back."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from pathlib import Path
from zlib import crc32

import bpy

from ...blender import animation
from ...blender.errors import ProblemError


def save(path: Path, is_compressed: bool) -> None:
    """Save a copy of the open file.

    Raises:
        ProblemError: If Blender reports that it cannot be written.
    """
    try:
        bpy.ops.wm.save_as_mainfile(
            filepath=str(path.absolute()), check_existing=False, compress=is_compressed, copy=True
        )
    except RuntimeError as error:
        raise ProblemError(f"Can't write the file: {str(error).strip()}") from None


def save_proven(path: Path, is_compressed: bool, armatures: Iterable[bpy.types.Object]) -> None:
    """Save the open file, and open what was saved in its place.

    On a full disk Blender may cut off a file without reporting it.

    Args:
        path: The path.
        is_compressed: Whether the file is compressed.
        armatures: The objects whose F-curves are compared; references to them become invalid.

    Raises:
        ProblemError: If the file cannot be written, or has other F-curves.
    """
    written = {armature.name: _curves_of(armature) for armature in armatures}
    save(path, is_compressed)
    try:
        bpy.ops.wm.open_mainfile(filepath=str(path.absolute()), load_ui=False)
        is_same = written == {name: _curves_of(bpy.data.objects[name]) for name in written}
    except (RuntimeError, KeyError):
        is_same = False
    if not is_same:
        raise ProblemError(
            "Can't write the file: it can't be read back, as if the disk was full. Free some "
            "space, or choose another folder"
        )


def _curves_of(armature: bpy.types.Object) -> list[tuple[str, int, int]]:
    """Return the path, the index and a checksum of the keys of each F-curve of an object."""
    signatures: list[tuple[str, int, int]] = []
    for curve in animation.all_curves(armature):
        points = curve.keyframe_points
        places = array("f", bytes(8 * len(points)))
        points.foreach_get("co", places)
        signatures.append((curve.data_path, curve.array_index, crc32(places.tobytes())))
    return sorted(signatures)
