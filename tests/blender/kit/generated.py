"""Rigs that Rigify generates."""

import subprocess
import sys
from functools import cache
from hashlib import sha256
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
    if not {has_face}:
        rig = bpy.context.object
        bpy.ops.object.mode_set(mode="EDIT")
        face = rig.data.edit_bones.get("face")
        for bone in [*face.children_recursive, face] if face else ():
            rig.data.edit_bones.remove(bone)
        bpy.ops.object.mode_set(mode="OBJECT")
    if {is_generated}:
        bpy.ops.pose.rigify_generate()
    bpy.ops.wm.save_as_mainfile(filepath={path!r})
sys.stdout.flush()
os._exit(0)  # With Rigify loaded, wheels of Blender 4 crash or hang at their end.
"""


KEPT = Path(__file__).resolve().parents[3] / "build" / "rigify"
"""Where rigs are kept for other processes and later runs: one with a face takes eight seconds."""


@cache
def generated_file(kind: str, is_generated: bool = True, has_face: bool = True) -> bytes:
    """Return a file with a metarig, and its rig if it is to be generated; empty without Rigify.

    It is made once for a version of Blender, in another process.
    """
    asked = dict(kind=kind, is_generated=is_generated, has_face=has_face)
    made_by = f"{bpy.app.version_string} {bpy.app.build_hash!r} {asked} {GENERATE}"
    kept = KEPT / f"{sha256(made_by.encode()).hexdigest()[:16]}.blend"
    if kept.exists():
        return kept.read_bytes()
    KEPT.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=KEPT) as folder:
        blend, script = Path(folder) / "rigify.blend", Path(folder) / "generate.py"
        script.write_text(GENERATE.format(path=str(blend), **asked), encoding="utf-8")
        options = ["--background", "--factory-startup", "--python"]
        start = [bpy.app.binary_path, *options] if bpy.app.binary_path else [sys.executable]
        subprocess.run([*start, str(script)], check=True, capture_output=True, timeout=300)
        content = blend.read_bytes() if blend.exists() else b""
        if content:
            blend.replace(kept)
        return content


def generated_rig(kind: str, folder: Path, has_face: bool = False) -> bpy.types.Object:
    """Open a file with a generated rig, which is written into a folder, and return the rig.

    A face is two thirds of its bones, and nearly all of the time that Rigify takes.
    """
    _open(generated_file(kind, has_face=has_face), folder)
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
