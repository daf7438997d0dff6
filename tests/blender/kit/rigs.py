"""Small rigs for the tests in Blender, and their evaluated state."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from array import array
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import bpy
from mathutils import Vector

BENT = ((0, 0, 0), (0, 0.2, 1), (0, 0, 2), (0, 0.1, 3), (0, 0, 4), (0, 0.1, 5), (0, 0, 6))
"""The joints of the default chain: along Z, slightly bent along Y."""


KEYABLE = (
    "enabled",
    "influence",
    "solver",
    "pole_angle",
    "pole_weight",
    "softness",
    "swing",
    "rotation_weight",
    "twist_spread",
    "stretch_max",
    "use_volume",
    "chain_bias",
    "weight",
    "root_weight",
    "iterations",
    "tolerance",
)
"""The settings of a constraint that can be keyed."""


def link(ob: bpy.types.Object) -> bpy.types.Object:
    """Link an object to the scene collection."""
    bpy.context.scene.collection.objects.link(ob)
    return ob


def activate(ob: bpy.types.Object, mode: str = "") -> None:
    """Make an object the only selected one, and active, and enter a mode."""
    for other in bpy.context.view_layer.objects:
        other.select_set(other == ob)
    bpy.context.view_layer.objects.active = ob
    if mode:
        bpy.ops.object.mode_set(mode=mode)


def make_armature(
    bones: dict[str, tuple[Sequence[float], Sequence[float], str]], name: str = "Rig"
) -> bpy.types.Object:
    """Make an armature object from head, tail and parent (or '') of each bone."""
    rig = link(bpy.data.objects.new(name, bpy.data.armatures.new(name)))
    activate(rig, "EDIT")
    for bone_name, (head, tail, parent) in bones.items():
        bone = rig.data.edit_bones.new(bone_name)
        bone.head, bone.tail = head, tail
        if parent:
            bone.parent = rig.data.edit_bones[parent]
            bone.use_connect = (bone.head - bone.parent.tail).length < 1e-6
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


def make_chain(
    count: int = 3,
    name: str = "Rig",
    joints: Sequence[Sequence[float]] = BENT,
    mode: str = "QUATERNION",
) -> bpy.types.Object:
    """Make an armature of connected bones B0, B1 … along the joints."""
    rig = make_armature(
        {f"B{i}": (joints[i], joints[i + 1], f"B{i - 1}" if i else "") for i in range(count)},
        name,
    )
    for bone in rig.pose.bones:
        bone.rotation_mode = mode
    return rig


def make_empty(name: str = "Target", location: Sequence[float] = (1, 0, 2)) -> bpy.types.Object:
    """Make an Empty in the scene."""
    empty = link(bpy.data.objects.new(name, None))
    empty.location = location
    return empty


def watch(rig: bpy.types.Object, bone: str) -> None:
    """Have a driver look at a bone, for the fixture `evaluations`."""
    driver = make_empty("Watcher").driver_add("location", 0).driver
    variable = driver.variables.new()
    variable.type, variable.name = "TRANSFORMS", "x"
    variable.targets[0].id, variable.targets[0].bone_target = rig, bone
    driver.expression = "note_evaluation(x)"


def add_constraint(
    armature: bpy.types.Object,
    bone: str,
    target: bpy.types.Object | None = None,
    **settings: object,
) -> bpy.types.PropertyGroup:
    """Add a constraint, as a script would."""
    item = armature.fabrik.constraints.add()
    item.bone = bone
    item.target = target
    for name, value in settings.items():
        setattr(item, name, value)
    return item


def as_strip(ob: bpy.types.Object, name: str = "Strip", start: int = 1) -> Any:
    """Move the action of an object to a new NLA track, and return its strip."""
    data: Any = ob.animation_data
    action, slot = data.action, getattr(data, "action_slot", None)
    data.action = None
    strip = data.nla_tracks.new().strips.new(name, start, action)
    if slot is not None:
        strip.action_slot = slot
    return strip


def update(*edited: bpy.types.ID) -> None:
    """Tag what was edited past Blender, and update the view layer."""
    for data in edited:
        data.update_tag()
    bpy.context.view_layer.update()


def go(*frames: float) -> None:
    """Set the frame, with subframe, one after another."""
    for frame in frames:
        bpy.context.scene.frame_set(int(frame // 1), subframe=frame % 1)


def evaluated(ob: bpy.types.Object) -> bpy.types.Object:
    """Return the evaluated copy of an object in the viewport."""
    return ob.evaluated_get(bpy.context.view_layer.depsgraph)


def world_location(ob: bpy.types.Object) -> Vector:
    """Return the evaluated location of an object in world space."""
    return evaluated(ob).matrix_world.translation.copy()


def tip_world(armature: bpy.types.Object, bone: str, use_tail: bool = True) -> Vector:
    """Return the evaluated tail (or head) of a bone in world space."""
    rig = evaluated(armature)
    posed = rig.pose.bones[bone]
    return rig.matrix_world @ (posed.tail if use_tail else posed.head)


def tip_error(
    armature: bpy.types.Object, bone: str, target: bpy.types.Object, use_tail: bool = True
) -> float:
    """Return the evaluated distance of a bone's tip from an object's origin, in meters."""
    return (tip_world(armature, bone, use_tail) - world_location(target)).length


def pose_bits(*armatures: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None = None) -> bytes:
    """Return the bytes of evaluated bone matrices, in the viewport or a given depsgraph."""
    bits = b""
    for armature in armatures:
        shown = armature.evaluated_get(depsgraph) if depsgraph else evaluated(armature)
        bones = shown.pose.bones
        buffer = array("f", [0.0]) * (16 * len(bones))
        bones.foreach_get("matrix", buffer)
        bits += buffer.tobytes()
    return bits


def world_bits(*objects: bpy.types.Object) -> bytes:
    """Return the bytes of the evaluated world matrices of objects."""
    return b"".join(
        array("f", [x for row in evaluated(ob).matrix_world for x in row]).tobytes()
        for ob in objects
    )


def shown_bones(armature: bpy.types.Object) -> bpy.types.bpy_prop_collection[bpy.types.PoseBone]:
    """Return the evaluated pose bones, whose channels hold the solution."""
    return evaluated(armature).pose.bones


def channels_bits(armature: bpy.types.Object) -> bytes:
    """Return the bytes of all rotation, location and scale channels of the original bones.

    They hold the FK pose, solved or not.
    """
    return _bits(armature.pose.bones)


def shown_bits(armature: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None = None) -> bytes:
    """Return the bytes of the evaluated channels, which hold the solution."""
    copy = armature.evaluated_get(depsgraph) if depsgraph else evaluated(armature)
    return _bits(copy.pose.bones)


def _bits(bones: bpy.types.bpy_prop_collection[bpy.types.PoseBone]) -> bytes:
    bits = b""
    for name, size in (
        ("rotation_quaternion", 4),
        ("rotation_euler", 3),
        ("rotation_axis_angle", 4),
        ("location", 3),
        ("scale", 3),
    ):
        buffer = array("f", [0.0]) * (size * len(bones))
        bones.foreach_get(name, buffer)
        bits += buffer.tobytes()
    return bits


def everything_bits() -> bytes:
    """Return the bytes of the evaluated matrices of all objects and bones in the file."""
    objects = sorted(bpy.data.objects, key=lambda ob: ob.name)
    armatures = [ob for ob in objects if ob.type == "ARMATURE"]
    return pose_bits(*armatures) + world_bits(*objects)


def curves(ob: bpy.types.Object) -> list[bpy.types.FCurve]:
    """Return the F-curves of an object's action, in any version of Blender."""
    data = ob.animation_data
    if data is None or data.action is None:
        return []
    if not hasattr(data.action, "layers"):
        return list(data.action.fcurves)
    if data.action_slot is None:
        return []
    bags = [strip.channelbag(data.action_slot) for strip in data.action.layers[0].strips]
    return [curve for bag in bags if bag for curve in bag.fcurves]


def is_keyed(ob: bpy.types.Object, path: str) -> bool:
    """Return whether an object's action has an F-curve for a path."""
    return any(curve.data_path == path for curve in curves(ob))


KIT = Path(__file__).resolve().parent
TOP = KIT.parents[2]
PATH = [str(TOP), str(TOP / "solver" / "src"), str(KIT)]
"""Where other processes find the add-on, its solver and this kit, also those of a real Blender."""

ELSEWHERE = """
import os, sys
sys.path[:0] = {path!r}
import bpy, addon
from rigs import *
if {with_addon}:
    addon.register()
try:
    bpy.ops.wm.open_mainfile(filepath={blend!r})
    update()
    result = {expression}
finally:
    if {with_addon}:
        addon.unregister()
with open({answer!r}, "w") as file:
    file.write(repr(result))
if not bpy.app.binary_path:  # The wheel of 4.2 may crash as it ends (see conftest.py).
    sys.stdout.flush()
    os._exit(0)
"""


def elsewhere(
    blend: Path, preparation: str, expression: str, with_addon: bool = True
) -> tuple[object, str]:
    """Open a file in another process of the same Blender.

    Args:
        blend: The file.
        preparation: Python code to run after opening the file.
        expression: The Python expression to return; it can use all of this module.
        with_addon: Whether the add-on is registered there.

    Returns:
        The value, and the output of the process.
    """
    answer = blend.with_suffix(".answer")
    script = blend.with_suffix(".py")
    text = ELSEWHERE.format(
        path=PATH,
        with_addon=with_addon,
        blend=str(blend),
        expression=expression,
        answer=str(answer),
    )
    lines = textwrap.indent(textwrap.dedent(preparation).strip(), "    ")
    script.write_text(text.replace("    result = ", lines + "\n    result = ", 1))
    printed = run_elsewhere(script)
    return ast.literal_eval(answer.read_text()), printed


def run_elsewhere(script: Path, timeout: float = 300.0) -> str:
    """Run a script in another process of this Blender, and return its output."""
    if bpy.app.binary_path:
        options = ["--background", "--factory-startup", "--python-exit-code", "1", "--python"]
        command = [bpy.app.binary_path, *options, str(script)]
    else:
        command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def make_linear(ob: bpy.types.Object) -> None:
    """Have an object's F-curves go straight from key to key."""
    for curve in curves(ob):
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"


def key(data: Any, name: str, values: Mapping[Any, Any], index: int = -1) -> None:
    """Set and key a property at frames; with an index, only one of its numbers changes."""
    for frame, value in values.items():
        if index < 0:
            setattr(data, name, value)
        else:
            getattr(data, name)[index] = value
        data.keyframe_insert(name, frame=frame)


def drive(curve: Any, source: bpy.types.ID, path: str = "", bone: str = "") -> None:
    """Give a driven F-curve the value of a property, or the X of where an object or bone is."""
    curve.driver.type = "SUM"
    variable = curve.driver.variables.new()
    read = variable.targets[0]
    read.id, read.bone_target = source, bone
    if path:
        read.data_path = path
    else:
        variable.type = "TRANSFORMS"


def enable(armature: Any, on: bool = True) -> None:
    """Enable or disable all constraints of an armature."""
    for item in armature.fabrik.constraints:
        item.enabled = on


def is_finite(rig: bpy.types.Object) -> bool:
    bones = evaluated(rig).pose.bones
    buffer = array("f", [0.0]) * (16 * len(bones))
    bones.foreach_get("matrix", buffer)
    return all(map(isfinite, buffer))
