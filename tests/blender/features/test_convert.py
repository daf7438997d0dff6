"""Blender's IK constraints made into ours and back: the pose stays, and nothing is lost unsaid."""

import re
from collections.abc import Callable, Sequence
from math import atan2, cos, degrees, pi, remainder, sin
from pathlib import Path
from random import Random
from typing import Any

import bpy
import pytest
import rigs
from generated import generated_rig
from mathutils import Matrix, Quaternion, Vector
from operating import refuses

from samples.opening import FOLDER

NEAR = 1e-3
"""The pose stays within this share of the chain's length."""


def from_blender(rig: bpy.types.Object, bones: set[str] | None = None) -> Any:
    from addon.features.convert.convert import convert_from_blender

    return convert_from_blender(rig, bones)


def to_blender(rig: bpy.types.Object, *indices: int) -> Any:
    from addon.features.convert.convert import convert_to_blender

    return convert_to_blender(rig, indices or range(len(rig.fabrik.constraints)))


def pose(rig: bpy.types.Object) -> dict[str, Matrix]:
    """Return the frames of all bones in armature space, as shown."""
    rigs.update()
    return {bone.name: bone.matrix.copy() for bone in rigs.evaluated(rig).pose.bones}


def farthest(rig: bpy.types.Object, before: dict[str, Matrix], after: dict[str, Matrix]) -> float:
    """Return how far heads, tails, and what is beside the bones went, in lengths of the chain."""
    points = [(n, Vector(p) * b.length) for n, b in rig.data.bones.items() for p in CORNERS]
    size = sum(bone.length for bone in rig.data.bones)
    return max((after[name] @ p - before[name] @ p).length for name, p in points) / size


CORNERS = ((0, 0, 0), (0, 1, 0), (0.3, 0, 0))


def random_vector(random: Random, size: float = 1.0) -> Vector:
    return Vector([random.uniform(-size, size) for _ in range(3)])


def random_limb(random: Random, count: int = 2) -> bpy.types.Object:
    """Make a bent chain of bones with rolls as they come."""
    joints = [Vector()]
    along = random_vector(random).normalized()
    for _ in range(count):
        joints.append(joints[-1] + (along + random_vector(random, 0.3)).normalized())
    rig = rigs.make_chain(count, "Limb", joints)
    rigs.activate(rig, "EDIT")
    for bone in rig.data.edit_bones:
        bone.roll = random.uniform(-pi, pi)
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


def add_native(rig: bpy.types.Object, bone: str, **settings: object) -> Any:
    con = rig.pose.bones[bone].constraints.new("IK")
    for name, value in settings.items():
        setattr(con, name, value)
    return con


def native(rig: bpy.types.Object, bone: str) -> Any:
    (con,) = (con for con in rig.pose.bones[bone].constraints if con.type == "IK")
    return con


def settings_of(con: Any) -> dict[str, Any]:
    """Return the settings of a constraint of Blender's, rounded as angles are kept."""
    names = [p.identifier for p in con.bl_rna.properties if not p.is_readonly]
    values = {name: getattr(con, name) for name in names}
    del values["show_expanded"], values["active"]
    return {n: round(v, 4) if isinstance(v, float) else v for n, v in values.items()}


def poled_limb(random: Random, count: int = 2) -> tuple[bpy.types.Object, Any]:
    """Make a limb as riggers do: the pole before the knee, its angle such that nothing moves."""
    rig = random_limb(random, count)
    bones = rig.data.bones
    root, knee, tip = bones[0], bones[1].head_local, bones[-1].tail_local
    axis = tip.normalized()
    front = (knee - axis * knee.dot(axis)).normalized()
    x, z = (root.matrix_local.to_3x3().col[i] for i in (0, 2))
    aside = axis.cross(front)
    theta = atan2(-x.dot(aside), z.dot(aside))
    theta += 0.0 if (x * cos(theta) + z * sin(theta)).dot(front) > 0.0 else pi
    con = add_native(
        rig,
        f"B{count - 1}",
        target=rigs.make_empty("Target", tip),
        pole_target=rigs.make_empty("Pole", knee + front * 2.0),
        pole_angle=remainder(theta, 2.0 * pi),
        chain_count=count,
    )
    return rig, con


# The pose stays


@pytest.mark.parametrize("seed", range(8))
def test_an_ordinary_limb_keeps_its_pose_and_its_fk_pose_there_and_back(seed: int) -> None:
    rig, con = poled_limb(Random(seed))
    channels, settings, before = rigs.channels_bits(rig), settings_of(con), pose(rig)

    there = from_blender(rig)

    assert rig.fabrik.constraints[0].solver == "TWO_BONE"
    assert rig.fabrik.constraints[0].pole_angle == pytest.approx(0.0, abs=1e-3)
    assert not rig.pose.bones["B1"].constraints
    assert farthest(rig, before, pose(rig)) < NEAR
    assert there.moved < NEAR
    assert there.notes == []

    back = to_blender(rig)

    assert len(rig.fabrik.constraints) == 0
    assert settings_of(native(rig, "B1")) == settings
    assert farthest(rig, before, pose(rig)) < NEAR
    assert back.moved < NEAR
    assert rigs.channels_bits(rig) == channels, "the FK pose is another one"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ("moved", "any pole"))
def test_a_posed_limb_keeps_its_pose(kind: str, seed: int) -> None:
    random = Random(seed)
    rig, con = poled_limb(random)
    con.target.location = con.target.location * 0.75 + random_vector(random, 0.3)
    if kind == "any pole":
        con.pole_target.location = random_vector(random, 3.0)
        con.pole_angle = random.uniform(-pi, pi)
    before = pose(rig)
    found = from_blender(rig)
    assert rig.fabrik.constraints[0].state == "REACHED"
    assert farthest(rig, before, pose(rig)) < NEAR
    assert found.moved < NEAR * 2.0
    to_blender(rig)
    assert farthest(rig, before, pose(rig)) < NEAR


@pytest.mark.parametrize("seed", range(4))
def test_a_limb_goes_on_as_before_when_its_target_moves(seed: int) -> None:
    random = Random(seed)
    rig, con = poled_limb(random)
    target = con.target
    places = [target.location * 0.7 + random_vector(random, 0.4) for _ in range(5)]

    def elbows() -> list[Vector]:
        found: list[Vector] = []
        for place in places:
            target.location = place
            found.append(pose(rig)["B1"].translation)
        target.location = rig.data.bones["B1"].tail_local
        return found

    before = elbows()
    from_blender(rig)
    for a, b in zip(before, elbows(), strict=True):
        assert (a - b).length < 5.0 * NEAR


@pytest.mark.parametrize("is_ours", (True, False), ids=("ours", "Blender's"))
def test_a_limb_without_size_is_converted_though_it_faces_no_pole(is_ours: bool) -> None:
    """Scaled to zero it has no axis to be turned about, and keeps the angle of its pole."""
    rig, pole = rigs.make_chain(3), rigs.make_empty("Pole", (0, -2, 0.5))
    target = rigs.make_empty("Target", (0.3, 0.4, 0.5))
    if is_ours:
        rigs.add_constraint(rig, "B2", target, pole_target=pole)
    else:
        add_native(rig, "B2", target=target, pole_target=pole, pole_angle=0.3)
    rig.pose.bones["B0"].scale = (0.0, 0.0, 0.0)
    rigs.update()
    assert (to_blender(rig, 0) if is_ours else from_blender(rig)).names
    count = len(rig.pose.bones["B2"].constraints), len(rig.fabrik.constraints)
    assert count == ((1, 0) if is_ours else (0, 1))


@pytest.mark.parametrize("is_muted", (False, True))
@pytest.mark.parametrize("flexed", (0.0, 0.08))
def test_a_straight_limb_faces_its_pole_as_before_whatever_its_rolls(
    flexed: float, is_muted: bool
) -> None:
    """Posed straight, or a little backward, it bends according to its rolls or its rest pose."""
    knee = (0.0, -0.03, 1.0) if flexed else (0.0, 0.0, 1.0)
    rig = rigs.make_chain(2, "Limb", ((0, 0, 0), knee, (0, 0, 2)))
    rigs.activate(rig, "EDIT")
    for bone, roll in zip(rig.data.edit_bones, (0.4, 1.7), strict=True):
        bone.roll += roll
    bpy.ops.object.mode_set(mode="OBJECT")
    hinge = rig.data.bones["B1"].matrix_local.to_3x3().inverted() @ Vector((1, 0, 0))
    rig.pose.bones["B1"].rotation_quaternion = Quaternion(hinge, flexed)
    con = add_native(
        rig,
        "B1",
        target=rigs.make_empty("Target", (0.5, 1.5, 2.5)),
        pole_target=rigs.make_empty("Pole", (2, -1, 1)),
        pole_angle=0.3,
        chain_count=2,
    )
    before = pose(rig)
    con.mute = is_muted
    assert from_blender(rig).notes == []
    rig.fabrik.constraints[0].enabled = True
    # Blender's IK leaves a bent limb as much short of a target out of reach.
    assert farthest(rig, before, pose(rig)) < (2.0 * NEAR if flexed else NEAR)


@pytest.mark.parametrize("count", (3, 5, 8))
@pytest.mark.parametrize("has_pole", (False, True))
def test_a_longer_chain_takes_the_shown_pose_as_its_fk_pose_and_says_so(
    has_pole: bool, count: int
) -> None:
    random = Random(count)
    rig, con = poled_limb(random, count)
    con.target.location = con.target.location * 0.7 + random_vector(random, 0.3)
    if not has_pole:
        con.pole_target = None
    before = pose(rig)
    missed = rigs.tip_error(rig, f"B{count - 1}", con.target)
    there = from_blender(rig)
    assert any("was applied as the FK pose" in note for note in there.notes)
    # Blender's chain stopped somewhat short of its target, and ours arrives.
    assert farthest(rig, before, pose(rig)) < NEAR + missed / count
    back = to_blender(rig)
    assert back.moved < NEAR * count


@pytest.mark.parametrize(("name", "frame"), [("arm", 43), ("arm", 61), ("weapon_grip", 115)])
def test_a_limb_that_is_sharply_bent_keeps_its_pose(name: str, frame: int) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(FOLDER / f"{name}.blend"))
    (rig,) = (ob for ob in bpy.data.objects if ob.type == "ARMATURE")
    rigs.go(frame)
    before = pose(rig)
    found = to_blender(rig)
    assert found.off == []
    # Blender's IK ends so far from its target.
    assert found.moved < 2e-4
    assert farthest(rig, before, pose(rig)) < 2e-4


def test_a_pose_that_cannot_be_kept_is_a_warning_and_keyed_bones_keep_their_keys(
    capfd: pytest.CaptureFixture[str],
) -> None:
    rig, con = poled_limb(Random(4), 5)
    con.pole_target = None
    con.target.location = con.target.location * 0.6 + Vector((0.1, 0.2, 0.3))
    for bone in rig.pose.bones:
        bone.keyframe_insert("rotation_quaternion", frame=1)
    rigs.go(1)
    before, channels = pose(rig), rigs.channels_bits(rig)
    rigs.activate(rig)
    bpy.ops.fabrik.convert_from_blender()
    last = [line for line in capfd.readouterr().out.splitlines() if "Converted" in line][-1]
    assert last.startswith("Warning: Converted 1 constraint; the pose changed by ")
    assert f" at most, because “{rig.fabrik.constraints[0].name}” couldn't be matched" in last
    after = pose(rig)
    heads = max((after[name].translation - before[name].translation).length for name in after)
    assert heads > 0.01
    rig.fabrik.constraints[0].enabled = False
    rigs.go(1)
    assert rigs.channels_bits(rig) == channels


def test_constraints_that_share_bones_are_converted_together() -> None:
    rig = rigs.make_armature(
        {
            "Spine": ((0, 0, 0), (0, 0.1, 1), ""),
            "Chest": ((0, 0.1, 1), (0, 0, 2), "Spine"),
            "Arm.L": ((0, 0, 2), (1, 0.1, 2), "Chest"),
            "Arm.R": ((0, 0, 2), (-1, 0.1, 2), "Chest"),
        }
    )
    for side, x in (("L", 1), ("R", -1)):
        add_native(rig, f"Arm.{side}", target=rigs.make_empty(f"Hand.{side}", (x, 0.1, 2)))
    before = pose(rig)
    found = from_blender(rig)
    assert found.names == ["Arm.L", "Arm.R"]
    assert farthest(rig, before, pose(rig)) < NEAR
    assert all(item.state == "REACHED" for item in rig.fabrik.constraints)


def test_only_the_selected_bones_are_converted() -> None:
    rig = rigs.make_chain(4)
    for bone in ("B1", "B3"):
        add_native(rig, bone, target=rigs.make_empty(bone, rig.data.bones[bone].tail_local))
        native(rig, bone).chain_count = 2
    assert from_blender(rig, {"B3"}).names == ["B3"]
    assert native(rig, "B1")
    assert not rig.pose.bones["B3"].constraints


def test_use_tail_off_reaches_with_what_blender_moves() -> None:
    rig = rigs.make_armature(
        {
            "A": ((0, 0, 0), (0, 0.2, 1), ""),
            "B": ((0, 0.2, 1), (0, 0, 2), "A"),
            "Near": ((0, 0, 2), (0, 0, 2.5), "B"),
            "Apart": ((0.4, 0, 2), (0.4, 0, 2.5), "B"),
        }
    )
    target = rigs.make_empty("Target", (0.5, 0.2, 1.5))
    for tip, wanted, use_tail in (("Near", "Near", False), ("Apart", "B", True)):
        add_native(rig, tip, target=target, use_tail=False, chain_count=2)
        before = pose(rig)
        found = from_blender(rig)
        item = rig.fabrik.constraints[0]
        assert (item.bone, item.use_tail) == (wanted, use_tail)
        assert any("which is what Blender's IK moves" in note for note in found.notes) == use_tail
        assert farthest(rig, before, pose(rig)) < NEAR
        bpy.context.view_layer.objects.active = rig
        bpy.ops.fabrik.constraint_remove()


# Settings, and what has no counterpart


def test_settings_come_back_the_same() -> None:
    rig, con = poled_limb(Random(1))
    bones = rig.pose.bones
    for name, value in {
        "name": "Reach",
        "iterations": 123,
        "weight": 0.4,
        "influence": 0.5,
        "use_rotation": True,
        "orient_weight": 0.3,
    }.items():
        setattr(con, name, value)
    con.enabled = False
    bones["B1"].use_ik_limit_x = True
    bones["B1"].ik_min_x, bones["B1"].ik_max_x = -0.5, 1.5
    bones["B1"].lock_ik_z = True
    bones["B0"].ik_stiffness_y = 0.2
    bones["B1"].ik_stretch = 0.3
    names = [
        p.identifier
        for p in bones["B0"].bl_rna.properties
        if "ik_" in p.identifier.removeprefix("fabrik_")
    ]
    joints = [[getattr(bone, name) for name in names] for bone in bones]
    settings = settings_of(con)

    from_blender(rig)

    item = rig.fabrik.constraints["Reach"]
    assert (item.enabled, item.iterations, item.use_stretch) == (False, 123, True)
    assert (round(item.weight, 4), round(item.rotation_weight, 4)) == (0.4, 0.3)
    assert [bone.fabrik_joint.limit_type for bone in bones] == ["BLENDER", "BLENDER"]
    to_blender(rig)
    assert settings_of(native(rig, "B1")) == settings
    assert [[getattr(bone, name) for name in names] for bone in bones] == joints


def test_what_cannot_be_converted_is_refused_and_stays_as_it_was() -> None:
    for settings, reason in (
        ({"ik_type": "DISTANCE"}, "keeps a distance"),
        ({"use_location": False}, "has Position disabled"),
        ({"target": None}, "has no target"),
    ):
        rig, con = poled_limb(Random(2))
        for name, value in settings.items():
            setattr(con, name, value)
        kept, channels = settings_of(con), rigs.channels_bits(rig)
        with pytest.raises(Exception, match=reason) as caught:
            from_blender(rig)
        assert type(caught.value).__name__ == "ProblemError"
        assert settings_of(native(rig, "B1")) == kept
        assert rigs.channels_bits(rig) == channels
        assert len(rig.fabrik.constraints) == 0
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def test_one_that_cannot_be_converted_is_listed_beside_those_that_were() -> None:
    rig = rigs.make_chain(4)
    for bone in ("B1", "B3"):
        add_native(rig, bone, target=rigs.make_empty(bone, rig.data.bones[bone].tail_local))
        native(rig, bone).chain_count = 2
    native(rig, "B1").ik_type = "DISTANCE"
    found = from_blender(rig)
    assert found.names == ["B3"]
    assert len(found.notes) == 1 and "keeps a distance" in found.notes[0]
    assert native(rig, "B1").ik_type == "DISTANCE"


def test_what_blender_has_alone_is_listed() -> None:
    rig, con = poled_limb(Random(3))
    bone = rig.pose.bones["B0"]
    bone.ik_stiffness_x, bone.ik_stretch = 0.5, 0.2
    bone.use_ik_limit_x = True
    other = bone.constraints.new("LIMIT_SCALE")
    con.chain_count = 9
    con.influence = 0.5
    rig.pose.ik_solver = "ITASC"
    notes = " ".join(from_blender(rig).notes)
    for part in (
        "Stiffness of “B0” differs between axes",
        "IK Stretch differs between bones",
        "limits of “B0” now apply",
        f"before “{other.name}” on “B0”; Blender's IK was applied last",
        "With a partial Influence",
        "iTaSC",
    ):
        assert part in notes


def test_what_ours_has_alone_is_listed() -> None:
    rig = random_limb(Random(5), 3)
    tip = rig.data.bones["B2"].tail_local
    item = rigs.add_constraint(
        rig, "B2", rigs.make_empty("Target", tip), pole_target=rigs.make_empty("Pole")
    )
    for name, value in {
        "softness": 0.1,
        "swing": 1.0,
        "chain_bias": 0.2,
        "twist_spread": 0.5,
        "use_stretch": True,
        "use_volume": True,
        "pole_weight": 0.5,
        "weight": 3.0,
        "tolerance": 1e-2,
    }.items():
        setattr(item, name, value)
    joints = [bone.fabrik_joint for bone in rig.pose.bones]
    joints[0].limit_type, joints[0].center = "CONE", (0.2, 0, 0)
    joints[1].limit_type, joints[1].hinge_axis = "HINGE", "FREE"
    joints[1].hinge_vector = (1, 1, 0)
    joints[2].limit_type, joints[2].hinge_min = "HINGE", 0.1
    notes = " ".join(to_blender(rig).notes)
    for part in (
        "No equivalent in Blender's IK: “Twist Spread”, “Pole Weight”, “Softness”, “Swing First”, "
        "“Stretch Max”, “Keep Volume”, “Bias” and “Tolerance”",
        "Weight is 3",
        "replaces “FABRIK”",
        "was set to 0.1",
        "no Center, so the cone of “B0”",
        "hinge of “B1” isn't aligned with one of its axes",
        "limit of “B2” about X excludes 0",
    ):
        assert part in notes
    assert native(rig, "B2").weight == 1.0


@pytest.mark.parametrize("gap", [0.0, 0.1])
def test_a_hand_that_is_not_at_the_tail_of_the_forearm_is_not_converted(gap: float) -> None:
    # Importers leave tails beside the next joint; Blender's IK would bring the tail to the target.
    rig = rigs.make_armature(
        {
            "Upper": ((0, 0, 0), (0, -0.1, 1), ""),
            "Lower": ((0, -0.1, 1), (gap, 0, 2), "Upper"),
            "Hand": ((0, 0, 2), (0, 0, 2.2), "Lower"),
        }
    )
    item = rigs.add_constraint(rig, "Hand", rigs.make_empty("Target", (0.3, 0.2, 1.6)))
    item.chain_count, item.use_tail = 3, False
    rigs.update()
    before = pose(rig)
    if gap:
        with pytest.raises(
            Exception, match="moves the head of “Hand”, but Blender's IK moves the tail"
        ):
            to_blender(rig)
        assert [item.name for item in rig.fabrik.constraints] == [item.name]
        assert not rig.pose.bones["Hand"].constraints
    else:
        to_blender(rig)
        assert [con.type for con in rig.pose.bones["Hand"].constraints] == ["IK"]
    assert farthest(rig, before, pose(rig)) < NEAR


@pytest.mark.parametrize("is_on", [True, False])
def test_a_foot_on_the_ground_is_told_to_lose_it(is_on: bool) -> None:
    rig = rigs.make_chain(2)
    item = rigs.add_constraint(rig, "B1", rigs.make_empty("Target", (0, 0, 2)))
    item.ground.use = is_on
    item.ground.source = "SCENE"
    told = "No equivalent in Blender's IK: “Ground”" in " ".join(to_blender(rig).notes)
    assert told is is_on


@pytest.mark.parametrize("axis", "XZ")
def test_a_hinge_becomes_locks_and_a_limit(axis: str) -> None:
    rig = rigs.make_chain(2)
    rigs.add_constraint(rig, "B1", rigs.make_empty("Target", (0, 0, 2)))
    joint = rig.pose.bones["B1"].fabrik_joint
    joint.limit_type, joint.hinge_axis = "HINGE", axis
    joint.hinge_min, joint.hinge_max, joint.stiffness = -0.5, 1.0, 0.25
    to_blender(rig)
    bone, low = rig.pose.bones["B1"], axis.lower()
    assert [getattr(bone, f"lock_ik_{a}") for a in "xyz"] == [a != low for a in "xyz"]
    assert getattr(bone, f"use_ik_limit_{low}")
    assert getattr(bone, f"ik_min_{low}") == -0.5
    assert getattr(bone, f"ik_max_{low}") == 1.0
    assert bone.ik_stiffness_x == 0.25


def test_a_cone_becomes_limits() -> None:
    rig = rigs.make_chain(2)
    rigs.add_constraint(rig, "B1", rigs.make_empty("Target", (0, 0, 2)))
    joint = rig.pose.bones["B0"].fabrik_joint
    joint.limit_type, joint.swing_x, joint.swing_z = "CONE", 0.5, 0.75
    joint.twist_min, joint.twist_max = -0.25, 1.0
    to_blender(rig)
    bone = rig.pose.bones["B0"]
    assert (bone.ik_min_x, bone.ik_max_x) == (-0.5, 0.5)
    assert (bone.ik_min_z, bone.ik_max_z) == (-0.75, 0.75)
    assert (bone.ik_min_y, bone.ik_max_y) == (-0.25, 1.0)
    assert bone.use_ik_limit_x and bone.use_ik_limit_y and bone.use_ik_limit_z


# Animation


def swung(count: int, has_pole: bool) -> bpy.types.Object:
    """A chain of Blender's whose target goes about, with an elbow that is posed by hand."""
    random = Random(count)
    rig, con = poled_limb(random, count)
    if not has_pole:
        con.pole_target = None
    place = con.target.location * 0.7
    for frame in (1, 10, 20):
        rigs.key(con.target, "location", {frame: place + random_vector(random, 0.5)})
    for frame in (1, 20):
        rig.pose.bones["B1"].keyframe_insert("location", frame=frame)
    rigs.go(7)
    return rig


def poses(rig: bpy.types.Object) -> list[dict[str, Matrix]]:
    found = []
    for frame in range(1, 21):
        rigs.go(frame)
        found.append(pose(rig))
    rigs.go(7)
    return found


@pytest.mark.parametrize("is_back", (False, True))
def test_how_far_other_frames_of_the_animation_go_is_said(is_back: bool) -> None:
    rig = swung(5, has_pole=False)
    convert = from_blender
    if is_back:
        from_blender(rig)
        convert = to_blender
    rig.pose.bones["B1"].scale.x = 1.25
    before = poses(rig)
    (rig.fabrik.constraints[0] if is_back else native(rig, "B4")).target.location.x += 0.01
    rigs.update()
    place = (rig.fabrik.constraints[0] if is_back else native(rig, "B4")).target.location.copy()

    found = convert(rig)

    target = (native(rig, "B4") if is_back else rig.fabrik.constraints[0]).target
    assert bpy.context.scene.frame_current == 7
    assert target.location == place, "what is set and not keyed is as it was"
    assert rig.pose.bones["B1"].scale.x == 1.25
    (note,) = (note for note in found.notes if "other frames" in note)
    numbers = re.search(r"up to (.*) m and (.*)°.* at frame (\d+) \((\d+) of (\d+) ", note)
    assert numbers is not None
    moved, turned = float(numbers[1]), float(numbers[2])
    after = poses(rig)
    off = [
        max((b[n] @ p - a[n] @ p).length for n in a for p in (Vector(), Vector((0, 1, 0)) * size))
        for a, b in zip(before, after, strict=True)
        for size in [rig.data.bones["B1"].length]
    ]
    assert moved == pytest.approx(max(off), rel=0.1)
    assert moved == pytest.approx(off[int(numbers[3]) - 1], rel=0.1)
    assert 0.0 < turned <= 180.0
    assert 0 < int(numbers[4]) <= int(numbers[5]) <= 24


def test_nothing_is_said_where_other_frames_are_as_before() -> None:
    rig = swung(2, has_pole=True)
    for convert in (from_blender, to_blender):
        assert not any("other frames" in note for note in convert(rig).notes)


def keyed_values(rig: bpy.types.Object, get: Callable[[bpy.types.Object], float]) -> list[float]:
    values: list[float] = []
    for frame in (1, 5, 10):
        rigs.go(frame)
        values.append(round(get(rigs.evaluated(rig)), 4))
    return values


def test_keys_go_along_there_and_back() -> None:
    rig, con = poled_limb(Random(7))
    start = con.pole_angle
    for frame, influence, angle, enabled in ((1, 1.0, 0.0, True), (10, 0.25, 0.2, False)):
        con.influence, con.pole_angle, con.enabled = influence, start + angle, enabled
        for name in ("influence", "pole_angle", "enabled"):
            con.keyframe_insert(name, frame=frame)
    rigs.go(1)
    found = from_blender(rig)
    assert found.notes == []
    item = rig.fabrik.constraints[0]
    assert keyed_values(rig, lambda r: r.fabrik.constraints[0].influence)[::2] == [1.0, 0.25]
    assert keyed_values(rig, lambda r: r.fabrik.constraints[0].enabled)[::2] == [True, False]
    angles = keyed_values(rig, lambda r: r.fabrik.constraints[0].pole_angle)
    assert angles[2] - angles[0] == pytest.approx(0.2, abs=1e-3)
    assert angles[0] == pytest.approx(0.0, abs=1e-3)
    rigs.go(1)
    to_blender(rig)
    angles = keyed_values(rig, lambda r: native(r, "B1").pole_angle)
    assert angles[0] == pytest.approx(start, abs=1e-3)
    assert angles[2] - angles[0] == pytest.approx(0.2, abs=1e-3)
    assert keyed_values(rig, lambda r: native(r, "B1").influence)[::2] == [1.0, 0.25]
    assert keyed_values(rig, lambda r: native(r, "B1").enabled)[::2] == [True, False]
    assert item is not None


def test_keys_of_mute_become_keys_of_enabled() -> None:
    rig, con = poled_limb(Random(8))
    rigs.key(con, "mute", {1: False, 5: True, 10: False})
    rigs.go(1)
    from_blender(rig)
    assert keyed_values(rig, lambda r: r.fabrik.constraints[0].enabled) == [True, False, True]


@pytest.mark.parametrize("kind", ("SCRIPTED", "AVERAGE"))
def test_drivers_go_along(kind: str) -> None:
    rig, con = poled_limb(Random(9))
    rig["switch"], rig["turn"] = 0.0, con.pole_angle
    for name, prop in (("mute", "switch"), ("pole_angle", "turn"), ("influence", "switch")):
        driver = con.driver_add(name).driver
        driver.type = kind
        variable = driver.variables.new()
        variable.targets[0].id = rig
        variable.targets[0].data_path = f'["{prop}"]'
        if kind == "SCRIPTED":
            driver.expression = "1 - var" if name == "influence" else "var"
    rig.update_tag()
    rigs.go(1)
    start = con.pole_angle
    from_blender(rig)

    def now() -> tuple[float, bool, float]:
        rig.update_tag()
        rigs.go(1)
        item = rigs.evaluated(rig).fabrik.constraints[0]
        return item.influence, item.enabled, item.pole_angle

    influence, enabled, angle = now()
    assert (influence, enabled) == (1.0 if kind == "SCRIPTED" else 0.0, True)
    if kind == "SCRIPTED":
        assert angle == pytest.approx(0.0, abs=1e-3)
    rig["switch"], rig["turn"] = 1.0, rig["turn"] + 0.3
    assert now()[:2] == (1.0 - influence, False)
    assert now()[2] - angle == pytest.approx(0.3, abs=1e-3)
    rig["switch"], rig["turn"] = 0.0, rig["turn"] - 0.3
    now()
    to_blender(rig)
    rig.update_tag()
    rigs.go(1)
    assert rigs.evaluated(rig).pose.bones["B1"].constraints["IK"].pole_angle == pytest.approx(
        start, abs=1e-3
    )


def test_an_action_that_others_use_is_left_to_them() -> None:
    rig, con = poled_limb(Random(10))
    con.keyframe_insert("influence", frame=1)
    other = rig.copy()
    bpy.context.scene.collection.objects.link(other)
    rigs.go(1)
    from_blender(rig)
    path = 'pose.bones["B1"].constraints["IK"].influence'
    assert rig.animation_data.action != other.animation_data.action
    assert path in {curve.data_path for curve in all_curves(other)}
    assert {curve.data_path for curve in all_curves(rig) if curve.driver is None} == {
        "fabrik.constraints[0].influence"
    }


def all_curves(ob: bpy.types.Object) -> list[Any]:
    from addon.blender.animation import all_curves as found

    return found(ob)


def test_animation_without_counterpart_is_taken_away_and_said() -> None:
    rig, con = poled_limb(Random(11))
    con.keyframe_insert("use_stretch", frame=1)
    found = from_blender(rig)
    assert any("the animation of “use_stretch” was lost" in note for note in found.notes)
    assert not any("constraints[" in c.data_path for c in all_curves(rig) if c.driver is None)


# The operators


def test_the_operators_report_how_far_the_pose_went_and_can_be_undone(
    capfd: pytest.CaptureFixture[str],
) -> None:
    rig, con = poled_limb(Random(12))
    settings = settings_of(con)
    rigs.activate(rig)
    rigs.update()
    before = rigs.pose_bits(rig)
    bpy.ops.ed.undo_push(message="step")
    bpy.ops.fabrik.convert_from_blender("EXEC_DEFAULT", True)
    assert "Converted 1 constraint; the pose changed by " in capfd.readouterr().out
    rigs.update()
    bpy.ops.ed.undo()
    rig = bpy.data.objects["Limb"]
    rigs.update()
    assert len(rig.fabrik.constraints) == 0
    assert rigs.pose_bits(rig) == before
    kept = settings_of(native(rig, "B1"))
    assert [n for n in kept if isinstance(kept[n], float) and kept[n] != settings[n]] == []
    bpy.ops.fabrik.convert_from_blender()
    bpy.ops.fabrik.convert_to_blender(which="ACTIVE")
    assert "Converted 1 constraint" in capfd.readouterr().out
    assert native(rig, "B1").pole_angle == pytest.approx(settings["pole_angle"], abs=1e-3)


def test_the_buttons_say_why_they_are_gray() -> None:
    rig = rigs.make_chain(2)
    refuses(bpy.ops.fabrik.convert_from_blender, "no Inverse Kinematics constraint")
    refuses(bpy.ops.fabrik.convert_to_blender, "No constraint")
    rigs.add_constraint(rig, "B1")
    refuses(bpy.ops.fabrik.convert_to_blender, "has no target")
    assert not rig.pose.bones["B1"].constraints
    assert len(rig.fabrik.constraints) == 1


# Rigify


@pytest.fixture
def kind() -> str:
    """The rig that is generated."""
    return "basic_human"


@pytest.fixture
def rigify(empty_file: None, kind: str, tmp_path: Path) -> bpy.types.Object:
    """A rig of Rigify's, generated in another process."""
    return generated_rig(kind, tmp_path)


CONTROLS = {
    "hand_ik.L": (0.05, -0.2, 0.1),
    "hand_ik.R": (-0.1, -0.1, 0.2),
    "foot_ik.L": (0.0, 0.15, -0.1),
    "foot_ik.R": (0.05, -0.2, 0.05),
}


def show_rigify(rig: bpy.types.Object, has_poles: bool, is_moved: bool) -> dict[str, Matrix]:
    for bone in rig.pose.bones:
        if "pole_vector" in bone:
            bone["pole_vector"] = type(bone["pole_vector"])(has_poles)
    for name, place in CONTROLS.items():
        rig.pose.bones[name].location = place if is_moved else (0, 0, 0)
    rig.update_tag()
    return pose(rig)


def test_a_rig_of_rigifys_keeps_its_pose_and_its_switches(rigify: bpy.types.Object) -> None:
    rig = rigify
    places = {(p, m): show_rigify(rig, p, m) for m in (True, False) for p in (True, False)}
    limbs = [(b.name, c.name) for b in rig.pose.bones for c in b.constraints if c.type == "IK"]
    assert len(limbs) == 8, "each limb has one with a pole and one without"

    there = from_blender(rig)

    assert not any("animation" in note for note in there.notes)
    assert (there.moved, there.turned) == pytest.approx((0.0, 0.0), abs=1e-4)
    before = places[False, False]
    assert farthest(rig, before, pose(rig)) < 1e-4
    items = rig.fabrik.constraints
    for has_poles in (False, True):
        after = show_rigify(rig, has_poles, True)
        on = [item.enabled for item in rigs.evaluated(rig).fabrik.constraints]
        assert on == [not has_poles, has_poles] * 4
        assert all(item.state in ("REACHED", "DISABLED") for item in items)
        for name in ("ORG-forearm.L", "ORG-forearm.R", "ORG-shin.L", "ORG-shin.R"):
            # Blender stretches these bones where ours bend: an elbow or knee is off by a little.
            off = after[name].translation - places[has_poles, True][name].translation
            assert off.length < 0.03
    show_rigify(rig, False, False)

    back = to_blender(rig)

    assert back.moved < 1e-4
    assert [(b.name, c.name) for b in rig.pose.bones for c in b.constraints if c.type == "IK"] == (
        limbs
    )
    show_rigify(rig, True, False)
    on = [
        not c.mute for b in rigs.evaluated(rig).pose.bones for c in b.constraints if c.type == "IK"
    ]
    assert on == [False, True] * 4


STEPS = ((0.03, 0.0, 0.0), (0.0, 0.03, 0.02), (-0.02, -0.02, 0.03))
"""By how much hands and feet are moved, in meters."""


@pytest.mark.parametrize("kind", ("human", "cat", "wolf", "horse", "basic_quadruped"))
def test_posed_rigs_of_rigifys_stay_where_blenders_ik_has_them(
    rigify: bpy.types.Object, kind: str
) -> None:
    """With IK Stretch at 0: Blender stretches bones within reach as its iterations have it."""
    rig = rigify
    for bone in rig.pose.bones:
        bone.ik_stretch = 0.0
    controls = [b for b in rig.pose.bones if re.fullmatch(r"\w*(hand|foot|paw)_ik\.[LR]", b.name)]
    assert len(controls) >= 4
    deforming = [bone.name for bone in rig.pose.bones if bone.bone.use_deform]

    def posed(step: Sequence[float]) -> dict[str, Matrix]:
        for control in controls:
            control.location = step
        rig.update_tag()
        return pose(rig)

    wanted = [posed(step) for step in STEPS]
    posed((0.0, 0.0, 0.0))
    there = from_blender(rig)
    assert there.moved < 1e-4
    assert not any(con.type == "IK" for bone in rig.pose.bones for con in bone.constraints)
    off = turn = 0.0
    for step, places in zip(STEPS, wanted, strict=True):
        found = posed(step)
        for name in deforming:
            off = max(off, (found[name].translation - places[name].translation).length)
            turned = found[name].to_quaternion().rotation_difference(places[name].to_quaternion())
            turn = max(turn, degrees(min(turned.angle, 2.0 * pi - turned.angle)))
    print(f"{kind}: {1000.0 * off:.2f} mm, {turn:.2f}°")
    assert off < 1e-3
    assert turn < 1.0
    posed((0.0, 0.0, 0.0))
    back = to_blender(rig)
    assert back.moved < 1e-4
    for step, places in zip(STEPS, wanted, strict=True):
        found = posed(step)
        for name in deforming:
            assert (found[name].translation - places[name].translation).length < 1e-5


def test_what_would_follow_other_chains_one_update_late_stays_blenders() -> None:
    """Its target follows a solved chain through two of Blender's constraints."""
    rig = rigs.make_chain(4, "Leg", ((0, 0, 0), (0, 0.2, 1), (0, 0, 2), (0, 0.2, 3), (0, 0, 4)))
    goal = rigs.make_armature({"Goal": ((0, 0.2, 3), (0, 0.2, 3.5), "")}, "Goals")
    follower = goal.pose.bones["Goal"].constraints.new("COPY_LOCATION")
    follower.target, follower.subtarget = rig, "B1"
    limit = goal.pose.bones["Goal"].constraints.new("LIMIT_DISTANCE")
    limit.target, limit.subtarget, limit.distance = rig, "B0", 2.5
    first = rig.pose.bones["B1"].constraints.new("IK")
    first.target, first.chain_count = rigs.make_empty("First", (0.5, 0.3, 1.5)), 2
    other = rigs.make_chain(2, "Other", ((2, 0, 0), (2, 0.2, 1), (2, 0, 2)))
    second = other.pose.bones["B1"].constraints.new("IK")
    second.target, second.subtarget, second.chain_count = goal, "Goal", 2
    rigs.update()
    before = pose(other)
    assert len(from_blender(rig).names) == 1
    with pytest.raises(Exception, match=r"wasn't converted: .* one update late"):
        from_blender(other)
    assert [con.type for con in other.pose.bones["B1"].constraints] == ["IK"]
    assert not other.fabrik.constraints
    assert farthest(other, before, pose(other)) < NEAR
