"""A figure with chest, head and hands whose walk is keyed on its bones, as captures have it."""

from math import pi, sin

import bpy
from kept_files import open_kept
from mathutils import Euler, Vector
from rigs import activate, evaluated, go, make_armature, make_empty, update
from walkers import ANKLE, CYCLE, LAST, STRIDE, footfall

HIP = 0.86
TOP = 0.5
"""How far above the hip the shoulders are."""

SEEN = ("Chest", "Head", "Hand.L", "Hand.R")


def make_body(bobs: float = 0.015) -> bpy.types.Object:
    """Open a file with a biped that walks along X for three cycles, with keys on all bones.

    Args:
        bobs: How far its hip moves up and down.
    """
    open_kept(("captured body", bobs), lambda: _make_body(bobs))
    return bpy.data.objects["Body"]


def _make_body(bobs: float) -> None:
    chest = HIP + TOP
    bones: dict[str, tuple[tuple[float, float, float], tuple[float, float, float], str]] = {
        "Hips": ((0, 0, HIP), (0, 0, HIP + 0.12), ""),
        "Spine": ((0, 0, HIP + 0.12), (0.015, 0, HIP + 0.3), "Hips"),
        "Chest": ((0.015, 0, HIP + 0.3), (0, 0, chest), "Spine"),
        "Neck": ((0, 0, chest), (0.01, 0, chest + 0.1), "Chest"),
        "Head": ((0.01, 0, chest + 0.1), (0.01, 0, chest + 0.3), "Neck"),
    }
    for side, y in (("L", 0.1), ("R", -0.1)):
        knee = (0.06, y, 0.5 * (HIP + ANKLE))
        bones[f"Thigh.{side}"] = ((0, y, HIP), knee, "Hips")
        bones[f"Shin.{side}"] = (knee, (0, y, ANKLE), f"Thigh.{side}")
        bones[f"Foot.{side}"] = ((0, y, ANKLE), (0.15, y, 0.02), f"Shin.{side}")
        elbow, wrist = (-0.03, 2.1 * y, chest - 0.3), (0.04, 2.1 * y, chest - 0.55)
        bones[f"UpperArm.{side}"] = ((0, 1.9 * y, chest), elbow, "Chest")
        bones[f"Forearm.{side}"] = (elbow, wrist, f"UpperArm.{side}")
        bones[f"Hand.{side}"] = (wrist, (0.06, 2.1 * y, chest - 0.65), f"Forearm.{side}")
    rig = make_armature(bones, "Body")
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, LAST
    targets = _key_feet(rig)
    for bone in rig.pose.bones:
        bone.rotation_mode = "QUATERNION"
    for frame in range(1, LAST + 1):
        _pose(rig, frame, bobs)
    update()
    activate(rig)
    bpy.ops.object.mode_set(mode="POSE")
    assert bpy.ops.fabrik.bake(which="ARMATURE", frame_start=1, frame_end=LAST) == {"FINISHED"}
    while rig.fabrik.constraints:
        assert bpy.ops.fabrik.constraint_remove() == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    for target in targets:
        bpy.data.objects.remove(target)
    update()


def _key_feet(rig: bpy.types.Object) -> list[bpy.types.Object]:
    targets: list[bpy.types.Object] = []
    for side, y, delay in (("L", 0.1, 0), ("R", -0.1, CYCLE // 2)):
        target = make_empty(f"Target.{side}")
        target.rotation_mode = "QUATERNION"
        rest = rig.data.bones[f"Foot.{side}"].matrix_local
        target.rotation_quaternion = rest.to_quaternion()
        for frame in range(1, LAST + 1):
            target.location = footfall(frame, y, delay)
            target.keyframe_insert("location", frame=frame)
        item = rig.fabrik.constraints.add()
        item.bone, item.target, item.chain_count = f"Foot.{side}", target, 2
        item.solver, item.use_tail, item.use_rotation = "TWO_BONE", False, True
        targets.append(target)
    return targets


def _pose(rig: bpy.types.Object, frame: int, bobs: float) -> None:
    phase = 2.0 * pi * (frame - 1) / CYCLE
    bones = rig.pose.bones
    place = Vector((STRIDE * (frame - 1) / CYCLE, 0.0, -bobs * sin(2.0 * phase)))
    hips = bones["Hips"]
    hips.location = hips.bone.matrix_local.to_3x3().inverted() @ place
    turns = {
        "Hips": (0.0, 0.0, 0.08 * sin(phase)),
        "Spine": (0.0, 0.04, -0.08 * sin(phase)),
        "Chest": (0.0, 0.05, -0.1 * sin(phase)),
        "Head": (0.0, 0.03 * sin(2.0 * phase), 0.12 * sin(phase)),
        "UpperArm.L": (0.0, -0.4 * sin(phase), 0.0),
        "UpperArm.R": (0.0, 0.4 * sin(phase), 0.0),
        "Forearm.L": (0.0, -0.5 - 0.2 * sin(phase), 0.0),
        "Forearm.R": (0.0, -0.5 + 0.2 * sin(phase), 0.0),
    }
    for name, turn in turns.items():
        rest = bones[name].bone.matrix_local.to_quaternion()
        bones[name].rotation_quaternion = rest.inverted() @ Euler(turn).to_quaternion() @ rest
        bones[name].keyframe_insert("rotation_quaternion", frame=frame)
    hips.keyframe_insert("location", frame=frame)


def make_body_with_ik(controls: str = "EMPTY") -> bpy.types.Object:
    """Open a file with the biped and IK for all its limbs, in Pose Mode, and the keys on targets.

    Args:
        controls: What its targets are.
    """
    open_kept(("captured body with IK", controls), lambda: set_up(make_body(), controls=controls))
    return bpy.data.objects["Body"]


def set_up(rig: bpy.types.Object, **options: object) -> None:
    activate(rig)
    bpy.ops.object.mode_set(mode="POSE")
    go(bpy.context.scene.frame_start)
    assert bpy.ops.fabrik.character_set_up(**options) == {"FINISHED"}
    parts = {part.kind: part.bone for part in rig.fabrik.character.parts}
    assert parts.keys() == {"SPINE", "ARM", "LEG", "HEAD"}


def put_on_ground(rig: bpy.types.Object, ground: bpy.types.Object) -> None:
    feet = [part.bone for part in rig.fabrik.character.parts if part.kind == "LEG"]
    for item in rig.fabrik.constraints:
        if item.bone in feet:
            item.ground.object, item.ground.use = ground, True
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}


def seen_from_hip(
    rig: bpy.types.Object, frames: range, hip: str, bones: tuple[str, ...] = SEEN
) -> list[dict[str, tuple[Vector, Vector]]]:
    """Return where bones are relative to the hip, in world space, and where they point."""
    found: list[dict[str, tuple[Vector, Vector]]] = []
    for frame in frames:
        go(frame)
        posed = evaluated(rig)
        world, shown = posed.matrix_world, posed.pose.bones
        root = world @ shown[hip].head
        found.append(
            {
                name: (
                    world @ shown[name].head - root,
                    (world.to_3x3() @ shown[name].matrix.to_3x3().col[0]).normalized(),
                )
                for name in bones
            }
        )
    return found
