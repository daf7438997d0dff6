"""Add Walk on rigs that Rigify generates: their FK controls walk, whatever carries them."""

from itertools import pairwise
from math import radians
from pathlib import Path

import bpy
import pytest
from generated import generated_rig
from mathutils import Vector
from rigs import add_constraint, evaluated, go, key, make_armature, make_empty, tip_world
from spiders import END, key_body, make_floor, select, terrain

pytestmark = pytest.mark.newest

LAST = 40
"""Until when the rigs walk: each leg takes a step at least."""


def soles(rig: bpy.types.Object) -> list[Vector]:
    """Return where the original bones at the ends of the legs are."""
    shown: list[Vector] = []
    for item in rig.fabrik.constraints:
        name = "ORG-" + item.bone.removeprefix("MCH-").replace("_fk", "")
        bone = evaluated(rig).pose.bones[name]
        shown.append((bone.tail if item.use_tail else bone.head).copy())
    return shown


@pytest.mark.parametrize(
    ("kind", "legs"),
    [("basic_human", 2), ("human", 2), ("cat", 4), ("wolf", 4), ("horse", 4)],
)
def test_generated_rig_walks_after_its_torso(kind: str, legs: int, tmp_path: Path) -> None:
    """With the trunk bent by its controls, so that constraints carry the legs off their parents."""
    rig = generated_rig(kind, tmp_path)
    for ob in [ob for ob in bpy.context.scene.objects if ob != rig]:
        bpy.data.objects.remove(ob)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    before = {bone.name for bone in rig.pose.bones if bone.constraints}

    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}

    gait = rig.fabrik.gaits[0]
    assert (gait.body, len(gait.legs)) == ("torso", legs)
    assert {bone.name for bone in rig.pose.bones if bone.constraints} == before
    rest = soles(rig)
    leg = 2.0 * rig.data.bones["thigh_fk.L"].length
    make_floor()
    for name, angle in (("hips", 12.0), ("chest", -9.0)):
        bone = rig.pose.bones[name]
        bone.rotation_mode = "XYZ"
        bone.rotation_euler.z = radians(angle)
    torso = rig.pose.bones["torso"]
    way = torso.bone.matrix_local.to_3x3().inverted() @ Vector((0.0, -leg, 0.0))
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, LAST
    for frame, share in ((1, 0.0), (LAST, 1.0)):
        key(torso, "location", {frame: share * way})
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}

    shown: list[list[Vector]] = []
    for frame in range(1, LAST + 1):
        go(frame)
        assert [(item.state, item.message) for item in rig.fabrik.constraints] == (
            [("REACHED", "")] * legs
        )
        shown.append(soles(rig))
        for sole, item in zip(shown[-1], rig.fabrik.constraints, strict=True):
            control = evaluated(rig).pose.bones[item.bone]
            at = control.tail if item.use_tail else control.head
            assert (at - sole).length < 1e-4 * leg, "the limbs are switched to FK"
    for i in range(legs):
        steps = [(b[i] - a[i]).length for a, b in pairwise(shown)]
        assert 0.5 * LAST < sum(step < 1e-4 * leg for step in steps) < 0.95 * LAST
        assert min(sole[i].z for sole in shown) > rest[i].z - 0.01 * leg
        assert shown[-1][i].y < shown[0][i].y - 0.5 * leg


def test_bone_between_body_and_leg_is_carried_as_its_constraint_has_posed_it() -> None:
    """Half of the turn of a control, itself on the body that the walk lifts and tilts."""
    built = {
        "Body": ((0, 0.3, 0.5), (0, -0.3, 0.5), ""),
        "Twist": ((0, 0, 0.5), (0, 0, 0.7), "Body"),
    }
    for y, row in ((0.3, "A"), (-0.3, "B")):
        for x, side in ((1, "L"), (-1, "R")):
            end = f"{row}.{side}"
            built[f"Carrier.{end}"] = ((0, 0, 0.5), (0, 0, 0.7), "Body")
            built[f"Thigh.{end}"] = ((0.15 * x, y, 0.5), (0.4 * x, y, 0.8), f"Carrier.{end}")
            built[f"Shin.{end}"] = ((0.4 * x, y, 0.8), (0.6 * x, y, 0.0), f"Thigh.{end}")
    rig = make_armature(built)
    ends = [name for name in built if name.startswith("Shin")]
    for name in ends:
        con = rig.pose.bones[name.replace("Shin", "Carrier")].constraints.new("COPY_TRANSFORMS")
        con.target, con.subtarget, con.influence = rig, "Twist", 0.5
    twist = rig.pose.bones["Twist"]
    twist.rotation_mode, twist.rotation_euler.x = "XYZ", radians(30)
    terrain()
    key_body(rig, {1: (0, 0, 0), END: (0.0, -2.0, 0.0)})
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, END
    for name in ends:
        target = make_empty(f"{name} Target", tip_world(rig, name))
        add_constraint(rig, name, target, name=name, chain_count=2)
    select(rig, ends)
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    gait = rig.fabrik.gaits[0]
    gait.body_height = gait.body_tilt = 1.0
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    feet: list[list[Vector]] = []
    for frame in range(1, END + 1):
        go(frame)
        assert not any("late" in item.message for item in rig.fabrik.constraints)
        feet.append([tip_world(rig, name) for name in ends])
    for i in range(4):
        steps = [(b[i] - a[i]).length for a, b in pairwise(feet)]
        assert sum(step < 1e-4 for step in steps) > 0.5 * END
