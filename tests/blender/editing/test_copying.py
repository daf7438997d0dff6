"""Copies of constraints and joints: to selected bones, and mirrored to the other side."""

from math import pi, radians
from random import Random
from typing import Any

import bpy
import pytest
import rigs
from mathutils import Matrix, Quaternion, Vector
from operating import refuses, select_bones

MIRROR = Matrix.Diagonal((-1.0, 1.0, 1.0))


def mirrored(place: Any) -> tuple[float, float, float]:
    x, y, z = place
    return -x, y, z


def pose_mode(rig: bpy.types.Object, *selected: str) -> None:
    """Enter Pose Mode with some bones selected; the last one is the active one."""
    rigs.activate(rig, "POSE")
    select_bones(rig, *selected)
    rig.data.bones.active = rig.data.bones[selected[-1]] if selected else None


LIMB = ((0.3, 0, 0), (0.8, 0.3, 0.9), (1.1, -0.1, 1.7), (1.2, 0.2, 2.0))


def make_body(rolls: str = "symmetric", seed: int = 1, hangs: bool = True) -> bpy.types.Object:
    """Make a body with two limbs that are mirror images, but for their rolls if wanted."""
    bones: dict[str, Any] = {"Body": ((0, 0, 0), (0, 0, 0.4), "")}
    names = ("Upper", "Lower", "Hand")
    for side, place in (("L", lambda p: p), ("R", mirrored)):
        for i, name in enumerate(names):
            parent = f"{names[i - 1]}.{side}" if i else "Body" if hangs else ""
            bones[f"{name}.{side}"] = (place(LIMB[i]), place(LIMB[i + 1]), parent)
    for side, place in (("L", lambda p: p), ("R", mirrored)):
        bones[f"Goal.{side}"] = (place((1.0, -0.4, 1.2)), place((1.1, -0.2, 1.5)), "")
    rig = rigs.make_armature(bones)
    bpy.ops.object.mode_set(mode="EDIT")
    random = Random(seed)
    quarter = {"quarters": 0.5 * pi, "opposite": pi}.get(rolls, 0.0)
    for bone in rig.data.edit_bones:
        bone.roll = random.uniform(-pi, pi)
    for bone in rig.data.edit_bones:
        if bone.name.endswith(".R"):
            other = rig.data.edit_bones[bone.name[:-1] + "L"]
            bone.align_roll(mirrored(other.z_axis))
            extra = random.uniform(-pi, pi) if rolls == "any" else quarter
            bone.roll += extra
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in rig.pose.bones:
        bone.rotation_mode = "QUATERNION"
    return rig


def shown(rig: bpy.types.Object) -> dict[str, Matrix]:
    rigs.update()
    return {bone.name: bone.matrix.copy() for bone in rigs.evaluated(rig).pose.bones}


def asymmetry(rig: bpy.types.Object) -> float:
    """Return how far the right limb is from the mirror image of the left, turns included."""
    found = shown(rig)
    worst = 0.0
    for name in ("Upper", "Lower", "Hand"):
        left, right = (f"{name}.{side}" for side in "LR")
        rests = [rig.data.bones[one].matrix_local.to_3x3() for one in (left, right)]
        axes = rests[1].transposed() @ MIRROR @ rests[0]
        wanted = MIRROR @ found[left].to_3x3() @ axes.transposed()
        rows = zip(wanted, found[right].to_3x3(), strict=True)
        worst = max(worst, *((a - b).length for a, b in rows))
        place = MIRROR @ found[left].translation
        worst = max(worst, (place - found[right].translation).length)
    return worst


def mirror(rig: bpy.types.Object, index: int = 0) -> Any:
    from addon.features.mirror.mirroring import mirror_constraint

    rigs.update()
    return mirror_constraint(rig, index)


ROLLS = ("symmetric", "quarters", "opposite", "any")


# Mirroring constraints


@pytest.mark.parametrize("rolls", ROLLS)
@pytest.mark.parametrize("seed", range(3))
def test_the_mirrored_limb_shows_the_mirror_image(seed: int, rolls: str) -> None:
    random = Random(seed)
    rig = make_body(rolls, seed)
    rig.location, rig.rotation_euler = (1, 2, 3), (0.3, 0.5, -0.7)
    rigs.update()
    places = [Vector([random.uniform(-0.3, 0.3) for _ in range(3)]) for _ in range(2)]
    target = rigs.make_empty("Target.L", rig.matrix_world @ (Vector((1.0, -0.3, 1.1)) + places[0]))
    pole = rigs.make_empty("Pole.L", rig.matrix_world @ (Vector((1.2, 2.0, 0.8)) + places[1]))
    rigs.add_constraint(
        rig,
        "Lower.L",
        target,
        name="Arm.L",
        solver="TWO_BONE",
        chain_count=2,
        pole_target=pole,
        pole_angle=0.4,
        softness=0.1,
    )
    found = mirror(rig)
    assert found.name == "Arm.R"
    item = rig.fabrik.constraints["Arm.R"]
    assert (item.bone, item.target.name, item.pole_target.name) == (
        "Lower.R",
        "Target.R",
        "Pole.R",
    )
    assert item.softness == rig.fabrik.constraints[0].softness
    assert asymmetry(rig) < 1e-4
    assert item.state == "REACHED"


def test_what_stands_on_the_other_side_already_is_taken() -> None:
    rig = make_body()
    rigs.add_constraint(rig, "Lower.L", rig, subtarget="Goal.L", chain_count=2, name="Arm.L")
    rig.fabrik.constraints[0].pole_target = rigs.make_empty("Pole.L", (1.2, 2, 1))
    there = rigs.make_empty("Pole.R", (-1.2, 2, 1))
    objects = len(bpy.data.objects)
    assert mirror(rig).notes == []
    item = rig.fabrik.constraints["Arm.R"]
    assert (item.target, item.subtarget, item.pole_target) == (rig, "Goal.R", there)
    assert len(bpy.data.objects) == objects
    assert asymmetry(rig) < 1e-4


def test_what_has_no_other_side_is_shared_and_said() -> None:
    rig = make_body()
    middle = rigs.make_empty("Middle", (0, -0.5, 1.5))
    rigs.add_constraint(rig, "Lower.L", middle, chain_count=2, name="Arm.L")
    assert any("both chains share it" in note for note in mirror(rig).notes)
    assert rig.fabrik.constraints["Arm.R"].target == middle


def test_an_empty_of_the_panel_gets_a_mirror_image_called_after_the_other_bone() -> None:
    rig = make_body()
    pose_mode(rig, "Lower.L")
    bpy.ops.fabrik.constraint_add(chain_count=2)
    bpy.ops.fabrik.pole_add()
    bpy.ops.fabrik.constraint_mirror()
    item = rig.fabrik.constraints["Lower.R"]
    assert (item.target.name, item.pole_target.name) == ("Lower.R Target", "Lower.R Pole")
    assert asymmetry(rig) < 1e-4


def test_mirroring_again_renews_what_is_there(capfd: pytest.CaptureFixture[str]) -> None:
    rig = make_body()
    rigs.add_constraint(
        rig, "Lower.L", rigs.make_empty("T.L", (1, 0, 1)), chain_count=2, name="Arm.L"
    )
    rigs.activate(rig)
    assert bpy.ops.fabrik.constraint_mirror() == {"FINISHED"}
    assert "Added “Arm.R” as the mirror image" in capfd.readouterr().out
    rig.fabrik.constraints[0].softness = 0.25
    objects = len(bpy.data.objects)
    rig.fabrik.active_index = 0
    assert bpy.ops.fabrik.constraint_mirror() == {"FINISHED"}
    assert "Replaced “Arm.R” with its mirror" in capfd.readouterr().out
    assert [item.name for item in rig.fabrik.constraints] == ["Arm.L", "Arm.R"]
    assert rig.fabrik.constraints[1].softness == 0.25
    assert len(bpy.data.objects) == objects


@pytest.mark.parametrize("rolls", ROLLS)
@pytest.mark.parametrize("use_offset", (False, True))
@pytest.mark.parametrize("kind", ("empty", "bone"))
@pytest.mark.parametrize("scale", [(1, 1, 1), (-1, 1, 1), (-1, -1, -1)], ids=str)
def test_hands_match_their_mirrored_targets(
    scale: tuple[int, int, int], kind: str, use_offset: bool, rolls: str
) -> None:
    rig = make_body(rolls, 5)
    rig.scale = scale
    target = rigs.make_empty("Target.L", (1.0, -0.3, 1.2))
    target.rotation_euler = (0.3, 0.4, 0.9)
    subtarget = ""
    if kind == "bone":
        target, subtarget = rig, "Goal.L"
    rigs.add_constraint(rig, "Hand.L", target, subtarget=subtarget, chain_count=3, name="Arm.L")
    item = rig.fabrik.constraints[0]
    item.use_rotation = True
    if use_offset:
        item.use_offset = True
        item.offset_location = (0.05, -0.1, 0.15)
        item.offset_rotation = Quaternion((0.3, 1.0, 0.2), 0.7)
    mirror(rig)
    assert asymmetry(rig) < 1e-4


def test_mirroring_says_why_it_cannot_and_changes_nothing() -> None:
    rig = make_body()
    rigs.add_constraint(rig, "Body", rigs.make_empty("T.L"))
    rigs.activate(rig)
    refuses(bpy.ops.fabrik.constraint_mirror, "has no side")
    rig.fabrik.constraints[0].bone = "Lower.L"
    rig.pose.bones["Lower.R"].name = "Other"
    refuses(bpy.ops.fabrik.constraint_mirror, r"no counterpart “Lower\.R”")
    rig.pose.bones["Other"].name = "Lower.R"
    rig.scale = (1.0, 0.0, 1.0)
    refuses(bpy.ops.fabrik.constraint_mirror, "“Rig” has zero scale")
    assert len(rig.fabrik.constraints) == 1
    assert len(bpy.data.objects) == 2


# Mirroring joints

JOINTS: dict[str, dict[str, Any]] = {
    "hinge X": {"limit_type": "HINGE", "hinge_min": -0.2, "hinge_max": 1.4},
    "hinge Z": {"limit_type": "HINGE", "hinge_axis": "Z", "hinge_min": -0.2, "hinge_max": 1.4},
    "hinge free": {
        "limit_type": "HINGE",
        "hinge_axis": "FREE",
        "hinge_vector": (1, 0.4, -0.3),
        "hinge_min": -0.3,
        "hinge_max": 0.9,
    },
    "cone": {
        "limit_type": "CONE",
        "swing_x": 0.9,
        "swing_z": 0.3,
        "twist_min": -0.2,
        "twist_max": 0.6,
    },
    "cone aside": {
        "limit_type": "CONE",
        "swing_x": 0.5,
        "swing_z": 0.25,
        "twist_min": -0.3,
        "twist_max": 0.1,
        "center": (0.3, 0.2, -0.4),
    },
}


def limit_of(rig: bpy.types.Object, bone: str) -> Any:
    from addon.settings.joint_limits import joints_of

    return joints_of([rig.pose.bones[bone].fabrik_joint], [0]).limits[0]


@pytest.mark.parametrize("rolls", ROLLS)
@pytest.mark.parametrize("kind", JOINTS)
def test_limits_allow_the_mirror_image_of_what_they_allow(kind: str, rolls: str) -> None:
    from addon.features.mirror.mirroring import mirror_joint

    rig = make_body(rolls, 7)
    for name, value in JOINTS[kind].items():
        setattr(rig.pose.bones["Lower.L"].fabrik_joint, name, value)
    assert mirror_joint(rig, "Lower.L") == []
    rests = [rig.data.bones[f"Lower.{side}"].matrix_local.to_3x3() for side in "LR"]
    axes = rests[1].transposed() @ MIRROR @ rests[0]
    left, right = (limit_of(rig, f"Lower.{side}") for side in "LR")
    random = Random(3)
    moved = 0
    for _ in range(300):
        turn = Quaternion([random.gauss(0, 1) for _ in range(4)]).normalized()
        image = (axes @ turn.to_matrix() @ axes.transposed()).to_quaternion()
        allowed = Quaternion(left.nearest(tuple(turn)))
        wanted = (axes @ allowed.to_matrix() @ axes.transposed()).to_quaternion()
        found = Quaternion(right.nearest(tuple(image)))
        assert abs(wanted.dot(found)) > 1.0 - 1e-6
        moved += abs(allowed.dot(turn)) < 0.999
    assert moved > 200, "the limit allowed nearly everything"


@pytest.mark.parametrize("rolls", ROLLS)
def test_limits_for_blenders_ik_are_mirrored_as_far_as_they_can_be(rolls: str) -> None:
    rig = make_body(rolls, 7)
    bone = rig.pose.bones["Lower.L"]
    bone.fabrik_joint.limit_type = "BLENDER"
    for axis, low, high in (("x", -0.2, 1.0), ("y", -0.1, 0.3), ("z", -0.4, 0.2)):
        setattr(bone, f"use_ik_limit_{axis}", True)
        setattr(bone, f"ik_min_{axis}", low)
        setattr(bone, f"ik_max_{axis}", high)
    target = rigs.make_empty("Target.L", (1.5, -1.2, 0.4))
    rigs.add_constraint(rig, "Hand.L", target, chain_count=3, name="Arm.L")
    notes = " ".join(mirror(rig).notes)
    assert ("The roll of" in notes) == (rolls == "any")
    if rolls != "any":
        assert asymmetry(rig) < 1e-4


def test_joints_of_selected_bones_are_mirrored_by_the_operator() -> None:
    rig = make_body()
    joint = rig.pose.bones["Upper.L"].fabrik_joint
    joint.limit_type, joint.twist_min, joint.twist_max = "CONE", -0.25, 0.5
    pose_mode(rig, "Body", "Upper.L")
    assert bpy.ops.fabrik.joint_mirror() == {"FINISHED"}
    there = rig.pose.bones["Upper.R"].fabrik_joint
    assert (there.limit_type, there.twist_min, there.twist_max) == ("CONE", -0.5, 0.25)
    pose_mode(rig, "Body")
    refuses(bpy.ops.fabrik.joint_mirror, "has no side")


# Copying


def test_a_constraint_is_copied_to_all_selected_bones_with_its_target() -> None:
    rig = make_body()
    target = rigs.make_empty("Target", (0.2, -0.5, 1.5))
    rigs.add_constraint(rig, "Lower.L", target, chain_count=2, solver="CCD", softness=0.25)
    rig.fabrik.constraints[0].iterations = 77
    pose_mode(rig, "Lower.L", "Lower.R", "Hand.R", "Body")
    bpy.ops.fabrik.constraint_copy()
    items = rig.fabrik.constraints
    assert [item.bone for item in items] == ["Lower.L", "Body", "Lower.R", "Hand.R"]
    assert len({item.name for item in items}) == 4
    assert [item.chain_count for item in items] == [2, 1, 2, 2]
    for item in items:
        assert (item.target, item.solver, item.softness, item.iterations) == (
            target,
            "CCD",
            0.25,
            77,
        )


def test_a_constraint_is_copied_to_bones_of_another_armature() -> None:
    rig, other = rigs.make_chain(2, "One"), rigs.make_chain(3, "Two")
    target = rigs.make_empty()
    rigs.add_constraint(rig, "B1", target, use_offset=False)
    rigs.activate(rig)
    other.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")
    select_bones(rig, "B1")
    select_bones(other, "B2")
    bpy.ops.fabrik.constraint_copy()
    rigs.update()
    assert len(rig.fabrik.constraints) == 1
    assert [item.bone for item in other.fabrik.constraints] == ["B2"]
    assert rigs.tip_error(other, "B2", target) < 1e-3


def test_an_offset_is_copied_as_it_is() -> None:
    rig, target = make_body(), rigs.make_empty("T", (1, 0, 1))
    item = rigs.add_constraint(rig, "Lower.L", target, chain_count=2)
    item.use_offset = True
    item.offset_location = (0.25, 0.5, -0.25)
    pose_mode(rig, "Lower.R")
    bpy.ops.fabrik.constraint_copy()
    assert tuple(rig.fabrik.constraints[1].offset_location) == (0.25, 0.5, -0.25)


def test_a_copy_that_could_not_work_is_not_made_and_said() -> None:
    rig = make_body()
    rigs.add_constraint(rig, "Lower.L", rig, subtarget="Hand.R", chain_count=2)
    pose_mode(rig, "Lower.R")
    refuses(bpy.ops.fabrik.constraint_copy, r"Not copied to “Lower\.R”")
    assert len(rig.fabrik.constraints) == 1
    pose_mode(rig)
    refuses(bpy.ops.fabrik.constraint_copy, "select the bones to copy the constraint to")


def test_a_joint_is_copied_to_the_selected_bones() -> None:
    rig = rigs.make_chain(4)
    source = rig.pose.bones["B1"]
    source.fabrik_joint.limit_type, source.fabrik_joint.hinge_max = "HINGE", radians(30)
    source.fabrik_joint.center = (0.1, 0.2, 0.3)
    pose_mode(rig, "B2", "B3", "B1")
    bpy.ops.fabrik.joint_copy()
    for name, wanted in (("B0", "NONE"), ("B2", "HINGE"), ("B3", "HINGE")):
        assert rig.pose.bones[name].fabrik_joint.limit_type == wanted
    assert rig.pose.bones["B2"].fabrik_joint.hinge_max == source.fabrik_joint.hinge_max
    assert tuple(rig.pose.bones["B2"].fabrik_joint.center) == tuple(source.fabrik_joint.center)
    pose_mode(rig, "B1")
    refuses(bpy.ops.fabrik.joint_copy, "Select the bones")


def test_the_settings_for_blenders_ik_are_copied_with_a_joint_that_keeps_them() -> None:
    rig = rigs.make_chain(2)
    source = rig.pose.bones["B0"]
    source.fabrik_joint.limit_type = "BLENDER"
    source.lock_ik_z, source.use_ik_limit_x, source.ik_max_x = True, True, 0.5
    pose_mode(rig, "B1", "B0")
    bpy.ops.fabrik.joint_copy()
    there = rig.pose.bones["B1"]
    assert (there.lock_ik_z, there.use_ik_limit_x, there.ik_max_x) == (True, True, 0.5)
