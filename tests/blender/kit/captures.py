"""Captures and characters of others, which are not part of the repository."""

from pathlib import Path
from typing import Any

import bpy
import pytest
from kept_files import open_kept

CAPTURES = Path(__file__).resolve().parents[3].parent / "shared" / "data"
"""Where captures and characters lie, if there are any."""


def skip_without(name: str) -> str:
    path = CAPTURES / name
    if not path.exists():
        pytest.skip(f"{name} is not beside the checkout")
    return str(path)


def imported(name: str, **options: object) -> Any:
    """Open a file with nothing but a capture or character, and return its armature.

    Args:
        name: The name of its file.
        options: The options of Blender's importer.
    """
    path = skip_without(name)
    importers: dict[str, Any] = {
        ".bvh": bpy.ops.import_anim.bvh,
        ".fbx": bpy.ops.import_scene.fbx,
        ".glb": bpy.ops.import_scene.gltf,
    }
    importer = importers.get(Path(name).suffix)
    if importer is not None:
        open_kept((name, *sorted(options.items())), lambda: importer(filepath=path, **options))
    else:
        try:
            bpy.ops.wm.open_mainfile(filepath=path)
        except RuntimeError:
            pytest.skip(f"{name} is of a newer Blender")
    return next(ob for ob in bpy.data.objects if ob.type == "ARMATURE")
