"""Skeletons of different makers in FK, to be dragged with the whole body."""

from collections.abc import Callable
from math import asin
from pathlib import Path
from typing import Any

import bpy
from captures import imported
from generated import metarig
from kept_files import open_kept
from mathutils import Matrix, Vector
from rigs import TOP, activate, enable, update


def _gltf(name: str) -> bpy.types.Object:
    imported(name)
    return _largest()


def _bvh(name: str) -> bpy.types.Object:
    return imported(name, global_scale=0.0564)


def _sample() -> bpy.types.Object:
    bpy.ops.wm.open_mainfile(filepath=str(TOP / "samples" / "humanoid.blend"))
    rig = _largest()
    enable(rig, False)
    return rig


def _largest() -> bpy.types.Object:
    armatures = [ob for ob in bpy.context.scene.objects if ob.type == "ARMATURE"]
    return max(armatures, key=lambda ob: len(ob.pose.bones))


BODIES: dict[str, Callable[[Path], Any]] = {
    "rigify": lambda folder: metarig("human", folder),
    "cmu": lambda _: _bvh("cmu_02_03.bvh"),
    "kaykit": lambda _: _gltf("kaykit_knight.glb"),
    "human": lambda _: _gltf("m2m_human-addon-animations.glb"),
    "quadruped": lambda _: _gltf("m2m_skeleton-quadraped.glb"),
    "sample": lambda _: _sample(),
}
"""How the bodies are made, given a folder for files."""


def make_body(kind: str, folder: Path) -> Any:
    """Open a file with a body in its rest pose, without animation, in Pose Mode."""
    open_kept(("dragged body", kind), lambda: _make_body(kind, folder))
    return _largest()


def _make_body(kind: str, folder: Path) -> None:
    rig = BODIES[kind](folder)
    data = rig.animation_data
    if data is not None:
        data.action = None
        for track in data.nla_tracks:
            track.mute = True
    for bone in rig.pose.bones:
        bone.matrix_basis.identity()
    activate(rig, "POSE")
    update()


def head_of(rig: Any, bone: str) -> Vector:
    """Return the head of a shown bone, in world space."""
    shown = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return shown.matrix_world @ shown.pose.bones[bone].head


def tail_of(rig: Any, bone: str) -> Vector:
    """Return its tail."""
    shown = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return shown.matrix_world @ shown.pose.bones[bone].tail


def turn_between(rig: Any, bone: str, before: Any) -> float:
    """Return the angle by which a shown bone has turned from a matrix, in radians."""
    shown = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return angle_between(shown.pose.bones[bone].matrix, before)


def angle_between(one: Matrix, other: Matrix) -> float:
    """Return the angle between the rotations of two matrices, in radians.

    A quaternion's own angle may be a whole turn where it ought to be none.
    """
    _, *axis = one.to_quaternion().rotation_difference(other.to_quaternion())
    return 2.0 * asin(min(1.0, Vector(axis).length))
