"""Saving the open file, and checking that the saved file can be read back."""

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
        ProblemError: If Blender reports that it can't be written.
    """
    try:
        bpy.ops.wm.save_as_mainfile(
            filepath=str(path.absolute()), check_existing=False, compress=is_compressed, copy=True
        )
    except RuntimeError as error:
        raise ProblemError(f"Can't write the file: {str(error).strip()}") from None


def save_proven(path: Path, is_compressed: bool, armatures: Iterable[bpy.types.Object]) -> None:
    """Save the open file, then open the saved file to compare its F-curves.

    On a full disk Blender may truncate a file without reporting it.

    Args:
        path: The path.
        is_compressed: Whether to compress the file.
        armatures: Objects whose F-curves are compared; references to them become invalid.

    Raises:
        ProblemError: If the file can't be written, or its F-curves differ.
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
            "Can't write the file: it can't be read back, perhaps because the disk is full. Free "
            "some space, or choose another folder"
        )


def _curves_of(armature: bpy.types.Object) -> list[tuple[str, int, int]]:
    """Return the path, array index and checksum of the keys of an object's F-curves, sorted."""
    signatures: list[tuple[str, int, int]] = []
    for curve in animation.all_curves(armature):
        points = curve.keyframe_points
        coordinates = array("f", bytes(8 * len(points)))
        points.foreach_get("co", coordinates)
        signatures.append((curve.data_path, curve.array_index, crc32(coordinates.tobytes())))
    return sorted(signatures)
