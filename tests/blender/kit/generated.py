"""Rigs that Rigify generates."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import bpy
import pytest

GENERATE = """
import os, sys
import bpy
import addon_utils  # Which only bpy makes known.
if addon_utils.enable("rigify", default_set=True):
    bpy.ops.object.armature_{kind}_metarig_add()
    if {is_generated}:
        bpy.ops.pose.rigify_generate()
    bpy.ops.wm.save_as_mainfile(filepath={path!r})
sys.stdout.flush()
os._exit(0)  # With Rigify loaded, wheels of Blender 4 crash or hang at their end.
"""


@cache
def generated_file(kind: str, is_generated: bool = True) -> bytes:
    """Return a file with a metarig, and its rig if it is to be generated; empty without Rigify.

    It is made once, in another process.
    """
    with TemporaryDirectory() as folder:
        blend, script = Path(folder) / "rigify.blend", Path(folder) / "generate.py"
        script.write_text(
            GENERATE.format(path=str(blend), kind=kind, is_generated=is_generated), encoding="utf-8"
        )
        options = ["--background", "--factory-startup", "--python"]
        start = [bpy.app.binary_path, *options] if bpy.app.binary_path else [sys.executable]
        subprocess.run([*start, str(script)], check=True, capture_output=True, timeout=300)
        return blend.read_bytes() if blend.exists() else b""


def generated_rig(kind: str, folder: Path) -> bpy.types.Object:
    """Open a file with a generated rig, which is written into a folder, and return the rig."""
    _open(generated_file(kind), folder)
    return bpy.data.objects["rig"]


def metarig(kind: str, folder: Path) -> bpy.types.Object:
    """Open a file with a metarig, which is written into a folder, and return it."""
    _open(generated_file(kind, is_generated=False), folder)
    return bpy.data.objects["metarig"]


def _open(content: bytes, folder: Path) -> None:
    blend = folder / "rigify.blend"
    blend.write_bytes(content)
    if not blend.stat().st_size:
        pytest.skip("Rigify is not part of this Blender")
    bpy.ops.wm.open_mainfile(filepath=str(blend))
