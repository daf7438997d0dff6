"""Feet that roll on their soles by one control, on rigs of all kinds."""

from itertools import pairwise
from math import radians
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import bpy
import pytest
from captures import imported
from generated import generated_rig, metarig
from humans import make_human
from mathutils import Matrix, Vector
from operating import add_limbs, click_bones, refuses
from rigs import activate, curves, evaluated, go, key, pose_bits, update

from addon.blender.messages import shown as shown_message
from addon.body.looking import body_of
from addon.features.constraint.sentences import notes_of
from addon.features.drag import drag
from addon.features.fk_ik.span import Span
from addon.features.fk_ik.to_fk import snap_to_fk
from addon.plan import planner

BREAK = 45
"""The default of Break Angle, in degrees."""

SKELETONS = (
    *("Soldier.glb", "Geno.fbx", "seedsan.fbx", "m2m_human-addon-animations.glb", "pab_walk.fbx"),
    *("cmu_08_01.bvh", "xia_neutral_01_000.bvh", "mia_standToSit.bvh", "kaykit_knight.glb"),
)
"""Characters that nobody here made, whose legs have feet."""

SCALES = ((1, 1, 1), (-1, 1, 1), (2, 2, 2), (1, 2, 1.5), (-1, 2, 1.5))


class Points(NamedTuple):
    """The points of a foot in world space."""

    heel: Vector
    ball: Vector
    tip: Vector
    ankle: Vector
    joint: Vector


class Foot:
    """A foot with IK that rolls."""

    def __init__(self, rig: Any, bone: str, **options: object) -> None:
        """Add IK to its leg, and lift it so that the leg reaches whatever the roll."""
        body = body_of(rig, bone)
        [leg] = [leg for leg in body.legs if leg.hand == bone]
        assert leg.foot is not None and leg.shape is not None
        self.sole = leg.foot.points
        joints = [self._head(rig, body.names[i]) for i in (*leg.shape.bones, leg.shape.end)]
        self.leg = sum((b - a).length for a, b in pairwise(joints))
        up = (rig.matrix_world.to_3x3() @ body.up).normalized()
        add_limbs(rig, bone, **options)
        self.rig = rig
        if self.item.roll.toe_control:
            rig.pose.bones[self.item.roll.toe_control].matrix_basis = Matrix()
        lifted = Matrix.Translation(0.2 * self.leg * up) @ shown(rig, self.item.subtarget)
        self.target.matrix = rig.matrix_world.inverted() @ lifted
        update()

    @staticmethod
    def _head(rig: Any, bone: str) -> Vector:
        return shown(rig, bone).translation

    @property
    def item(self) -> Any:
        return self.rig.fabrik.constraints[0]

    @property
    def target(self) -> Any:
        return self.rig.pose.bones[self.item.subtarget]

    @property
    def control(self) -> Any:
        return self.rig.pose.bones[self.item.roll.control]

    def roll(self, roll: float = 0.0, bank: float = 0.0, turn: float = 0.0) -> Points:
        """Rotate the control by angles in degrees, and return the points."""
        self.control.rotation_euler = [radians(angle) for angle in (roll, bank, turn)]
        update()
        assert self.item.state == "REACHED", self.item.message
        return self.points()

    def points(self) -> Points:
        at = [shown(self.rig, bone) @ point for bone, point in self.sole]
        joint = self._head(self.rig, self.item.roll.toe or self.item.bone)
        return Points(*at, self._head(self.rig, self.item.bone), joint)


def shown(rig: Any, bone: str) -> Matrix:
    """Return the evaluated matrix of a bone in world space."""
    copy = evaluated(rig)
    return copy.matrix_world @ copy.pose.bones[bone].matrix


def human_foot(**options: object) -> Foot:
    return Foot(make_human(keyed=False), "foot.L", **options)


def ends(rig: Any) -> list[Vector]:
    """Return points that show the position and rotation of the ankle, the ball and the toes."""
    axes = [Vector(axis) / 10.0 for axis in ((0, 0, 0), (1, 0, 0), (0, 1, 0))]
    return [shown(rig, bone) @ axis for bone in ("foot.L", "toe.L") for axis in axes]


def apart(a: list[Vector], b: list[Vector]) -> float:
    return max((p - q).length for p, q in zip(a, b, strict=True))


# The roll.


@pytest.mark.parametrize("name", [None, *SKELETONS])
def test_a_foot_rolls_on_the_sole_that_on_the_ground_finds(name: str | None) -> None:
    if name is None:
        foot = human_foot()
    else:
        rig = imported(name)
        rig.animation_data_clear()
        for bone in rig.pose.bones:
            bone.matrix_basis = Matrix()
        update()
        hands = [leg.hand for leg in body_of(rig, "").legs]
        foot = Foot(rig, hands[0])
    # Lengths are as of a person with a leg of 0.85 m; captures have other units.
    size = foot.leg / 0.85
    flat = foot.roll()
    down = shown(foot.rig, foot.item.roll.control).to_3x3() @ Vector((0, 0, 1))
    down.normalize()
    ankles: list[Vector] = []
    for angle in range(-40, 81):
        points = foot.roll(angle)
        ankles.append(points.ankle)
        off = {name: (getattr(points, name) - getattr(flat, name)).length for name in flat._fields}
        assert off["heel"] < 1e-4 * size or angle > 0
        assert off["tip"] < 1e-4 * size or angle < 0
        assert off["joint"] < 1e-4 * size or not 0 <= angle <= BREAK
        sinks = [(a - b).dot(down) for a, b in zip(points[:3], flat[:3], strict=True)]
        assert max(sinks) < 1e-4 * size
    speeds = [b - a for a, b in pairwise(ankles)]
    assert max((b - a).length for a, b in pairwise(speeds)) < 0.01 * size


@pytest.mark.parametrize("scale", SCALES)
def test_the_pivots_stay_whatever_the_scale_of_the_armature(scale: tuple[float, ...]) -> None:
    rig = make_human(keyed=False)
    rig.scale = scale
    rig.pose.bones["root"].scale = (1.3, 1.3, 1.3)
    update()
    foot = Foot(rig, "foot.L")
    flat = foot.roll()
    assert (foot.roll(-15).heel - flat.heel).length < 2e-6
    rolled = foot.roll(30)
    assert (rolled.joint - flat.joint).length < 2e-6 and (rolled.tip - flat.tip).length < 2e-6
    assert (rolled.ankle - flat.ankle).length > 0.05
    rolled = foot.roll(70)
    assert (rolled.tip - flat.tip).length < 2e-6 and (rolled.joint - flat.joint).length > 0.01


@pytest.mark.parametrize(("pivot", "still"), [("HEEL", "heel"), ("BALL", "ball"), ("TOE", "tip")])
def test_a_foot_turns_about_heel_ball_or_toe(pivot: str, still: str) -> None:
    foot = human_foot()
    foot.item.roll.pivot = pivot
    flat, turned = foot.roll(), foot.roll(turn=40)
    moved = [
        name
        for name in ("heel", "ball", "tip")
        if (getattr(turned, name) - getattr(flat, name)).length > 1e-5
    ]
    assert len(moved) == 2 and still not in moved
    assert abs(turned.ankle.z - flat.ankle.z) < 1e-6


def test_a_foot_banks_on_the_edges_of_its_sole() -> None:
    foot = human_foot()
    foot.item.roll.width = 0.5
    flat = foot.roll()
    sole, length = shown(foot.rig, foot.control.name), foot.control.length
    for angle in (-25, 25):
        # The tip bone's motion on the sole is that of the whole foot.
        points = foot.roll(bank=angle)
        side = -1 if angle > 0 else 1
        moved = shown(foot.rig, "foot.L") @ foot_at(foot, flat).inverted()
        for along in (0.0, 1.0):
            edge = sole @ Vector((side * 0.25 * length, along * length, 0.0))
            assert (moved @ edge - edge).length < 1e-5
        assert min(points.heel.z - flat.heel.z, points.tip.z - flat.tip.z) > 0.01
    foot.item.roll.width = 0.0
    assert abs(foot.roll(bank=25).heel.z - flat.heel.z) < 1e-5


def foot_at(foot: Foot, flat: Points) -> Matrix:
    """Return the matrix of the foot that stands flat."""
    angles = foot.control.rotation_euler.copy()
    foot.control.rotation_euler = (0, 0, 0)
    update()
    matrix = shown(foot.rig, "foot.L")
    assert (matrix.translation - flat.ankle).length < 1e-6
    foot.control.rotation_euler = angles
    update()
    return matrix


def test_toes_have_a_control_and_stay_flat_while_the_ball_bends() -> None:
    foot = human_foot()
    toes = foot.rig.pose.bones[foot.item.roll.toe_control]
    flat = shown(foot.rig, "toe.L")
    foot.roll(30)
    assert (shown(foot.rig, "toe.L") - flat).to_translation().length < 1e-6
    toes.rotation_mode = "XYZ"
    toes.rotation_euler.x = 0.5
    update()
    turn = flat.to_3x3().inverted() @ shown(foot.rig, "toe.L").to_3x3()
    assert turn.to_quaternion().angle == pytest.approx(0.5, abs=1e-5)
    foot.roll(0)
    for influence in (0.0, 0.5, 1.0):
        foot.item.influence = influence
        update()
        turn = evaluated(foot.rig).pose.bones["toe.L"].matrix_basis.to_quaternion()
        assert turn.angle == pytest.approx(0.5 * influence, abs=1e-5)


def test_break_angle_is_where_the_toes_begin_to_lift() -> None:
    foot = human_foot()
    foot.item.roll.break_angle = radians(20)
    flat = foot.roll()
    assert (foot.roll(20).joint - flat.joint).length < 1e-6
    assert (foot.roll(25).joint - flat.joint).length > 1e-3
    foot.item.roll.keyframe_insert("break_angle", frame=1)
    foot.item.roll.break_angle = radians(60)
    foot.item.roll.keyframe_insert("break_angle", frame=11)
    heights = []
    for frame in (1, 6, 11):
        go(frame)
        heights.append(foot.points().joint.z)
    assert heights == sorted(heights, reverse=True) and heights[0] > heights[2] + 1e-3


# What else there is.


def test_without_a_roll_nothing_changes() -> None:
    """Bit for bit: the controls cost nothing and move nothing while Foot Roll is off."""
    foot = human_foot(use_roll=False)
    bones = [bone.name for bone in foot.rig.pose.bones]
    before = [shown(foot.rig, bone) for bone in bones]
    units = len(planner.current().units)
    assert bpy.ops.fabrik.foot_roll_add() == {"FINISHED"}
    update()
    assert len(planner.current().units) == units + 1
    assert foot.roll(30).ankle != before[bones.index("foot.L")].translation
    foot.item.roll.use = False
    update()
    assert [shown(foot.rig, bone) for bone in bones] == before
    assert len(planner.current().units) == units


def test_nothing_moves_when_it_is_added_and_frames_are_the_same_however_reached() -> None:
    rig = make_human(keyed=True)
    go(9)
    before = [shown(rig, bone.name) for bone in rig.pose.bones]
    add_limbs(rig, "foot.L", use_hinges=False)
    update()
    after = [shown(rig, bone.name) for bone in list(rig.pose.bones)[: len(before)]]
    assert apart([m.translation for m in before], [m.translation for m in after]) < 1e-5
    assert apart([m.col[1] for m in before], [m.col[1] for m in after]) < 1e-4
    control = rig.pose.bones[rig.fabrik.constraints[0].roll.control]
    key(control, "rotation_euler", {1: -0.4, 13: 0.6, 25: 1.2}, 0)
    played = {}
    for frame in range(1, 26):
        go(frame)
        played[frame] = pose_bits(rig)
    for frame in (25, 3, 14, 9, 1):
        go(frame)
        assert pose_bits(rig) == played[frame]


def test_nothing_moves_with_the_two_axes_of_a_robots_ankle_which_cannot_roll() -> None:
    rig = make_human(keyed=False)
    activate(rig, "EDIT")
    for side in "LR":
        toe, foot = (rig.data.edit_bones[f"{name}.{side}"] for name in ("toe", "foot"))
        way = toe.tail - toe.head
        toe.head = foot.head
        toe.tail = toe.head + way
    activate(rig, "OBJECT")
    update()
    before = shown(rig, "toe.L")
    add_limbs(rig, "foot.L")
    assert rig.fabrik.constraints[0].state == "REACHED"
    moved = shown(rig, "toe.L") - before
    assert max(map(abs, (x for row in moved for x in row))) < 1e-4
    assert not any("Roll" in bone.name for bone in rig.pose.bones)


@pytest.mark.parametrize("controls", ["BONE", "EMPTY"])
def test_empties_carry_no_roll(controls: str) -> None:
    rig = make_human(keyed=False)
    add_limbs(rig, "foot.L", controls=controls)
    add_limbs(rig, "hand.L", controls=controls)
    foot, hand = rig.fabrik.constraints
    assert foot.is_property_set("roll") == (controls == "BONE")
    assert not hand.is_property_set("roll")
    refuses(bpy.ops.fabrik.foot_roll_add, "No foot can roll: use Add IK Limb")


def test_a_roll_is_added_to_legs_that_have_ik() -> None:
    rig = make_human(keyed=False)
    add_limbs(rig, "foot.L", use_both_sides=True, use_roll=False)
    before = ends(rig)
    assert bpy.ops.fabrik.foot_roll_add() == {"FINISHED"}
    update()
    assert apart(before, ends(rig)) < 1e-6
    names = [item.roll.control for item in rig.fabrik.constraints]
    assert names == ["foot IK Roll.L", "foot IK Roll.R"]
    assert all(rig.data.bones[name].collections["IK Controls"] for name in names)


def test_controls_are_mirrored_selected_renamed_and_removed() -> None:
    rig = make_human(keyed=False)
    bones, objects = len(rig.pose.bones), len(bpy.data.objects)
    add_limbs(rig, "foot.L")
    assert bpy.ops.fabrik.constraint_mirror() == {"FINISHED"}
    left, right = rig.fabrik.constraints
    assert (right.roll.control, right.roll.toe_control) == ("foot IK Roll.R", "toe IK.R")
    assert right.roll.toe == "toe.R"
    for item in (left, right):
        rig.pose.bones[item.roll.control].rotation_euler = (0.5, 0.0, 0.0)
    update()
    inside = rig.matrix_world.inverted()
    for bone in ("foot", "toe"):
        a, b = (inside @ shown(rig, bone + side).translation for side in (".L", ".R"))
        assert (a - Vector((-b.x, b.y, b.z))).length < 1e-5
    click_bones(rig, "foot.L", "foot.R")
    assert bpy.ops.fabrik.controls_select() == {"FINISHED"}
    selected = {bone.name for bone in bpy.context.selected_pose_bones}
    assert {"foot IK Roll.L", "toe IK.R", "foot IK.L"} <= selected
    rig.data.bones["foot IK Roll.L"].name = "Heel.L"
    update()
    assert rig.fabrik.constraints[0].roll.control == "Heel.L"
    assert rig.fabrik.constraints[0].state == "REACHED"
    click_bones(rig, "foot.L", "foot.R")
    assert bpy.ops.fabrik.ik_clear() == {"FINISHED"}
    assert (len(rig.pose.bones), len(bpy.data.objects)) == (bones, objects)


@pytest.mark.parametrize("side", ["L", "R"])
def test_a_rolled_foot_is_mirrored_as_it_is_posed(side: str) -> None:
    rig = make_human(keyed=False)
    add_limbs(rig, f"foot.{side}")
    roll = rig.fabrik.constraints[0].roll
    rig.pose.bones[roll.control].rotation_euler = (0.6, 0.1, -0.2)
    rig.pose.bones[roll.toe_control].rotation_mode = "XYZ"
    rig.pose.bones[roll.toe_control].rotation_euler = (-0.3, 0.0, 0.1)
    update()
    assert bpy.ops.fabrik.constraint_mirror() == {"FINISHED"}
    update()
    inside, mirror = rig.matrix_world.inverted(), Vector((-1, 1, 1))
    for bone in ("shin", "foot", "toe"):
        for ahead in (Vector(), Vector((0.0, 0.1, 0.0)), Vector((0.0, 0.0, 0.1))):
            a, b = (
                inside @ shown(rig, name) @ rest.inverted() @ (rest.translation + ahead)
                for name in (f"{bone}.L", f"{bone}.R")
                for rest in [rig.data.bones[name].matrix_local]
            )
            assert (a * mirror - b).length < 1e-4, bone


def test_what_is_wrong_is_said() -> None:
    foot = human_foot()
    foot.item.roll.toe = "toe.R"
    update()
    assert "“toe.R” doesn't inherit the rotation of “foot.L”" in foot.item.message
    foot.item.roll.toe = "toe.L"
    bpy.ops.object.mode_set(mode="EDIT")
    foot.rig.data.edit_bones[foot.item.roll.control].parent = None
    bpy.ops.object.mode_set(mode="POSE")
    update()
    assert foot.item.state == "INVALID"
    assert "must be a child of “foot IK.L” to roll the foot" in foot.item.message
    foot.item.roll.use = False
    update()
    assert foot.item.state == "REACHED"


# Snaps, bakes, the ground, and drags.


@pytest.mark.parametrize("scale", [(1, 1, 1), (-1, 2, 1.5)])
def test_any_pose_of_foot_and_toes_has_controls(scale: tuple[float, ...]) -> None:
    """Snapping is exact to single precision at each of 400 random poses."""
    rig = make_human(keyed=False)
    rig.scale = scale
    update()
    add_limbs(rig, "foot.L", use_hinges=False)
    random, frames = Random(1), tuple(range(1, 401))
    most = {"thigh.L": 0.6, "shin.L": 0.1, "foot.L": 1.2, "toe.L": 1.2}
    for name, angle in most.items():
        bone = rig.pose.bones[name]
        bone.rotation_mode = "XYZ"
        for frame in frames:
            bone.rotation_euler = [random.uniform(-angle, angle) for _ in range(3)]
            bone.keyframe_insert("rotation_euler", frame=frame)
    item = rig.fabrik.constraints[0]
    item.influence = 0.0
    wanted = {}
    for frame in frames:
        go(frame)
        wanted[frame] = ends(rig)
    result = snap_to_fk(rig, [0], Span(tuple(map(float, frames)), True, True))
    assert not result.problem
    item.influence = 1.0
    rolls = set()
    for frame in frames:
        go(frame)
        assert apart(wanted[frame], ends(rig)) < 1e-5 * 0.87
        rolls.add(round(rig.pose.bones[item.roll.control].rotation_euler.x, 3))
    assert min(rolls) == 0.0 and max(rolls) == round(radians(BREAK), 3) and len(rolls) > 100


def test_fk_is_snapped_to_a_roll_and_back() -> None:
    foot = human_foot()
    foot.roll(30, 10, 20)
    rolled = ends(foot.rig)
    click_bones(foot.rig, "foot.L")
    assert bpy.ops.fabrik.snap_to_ik() == {"FINISHED"}
    foot.item.influence = 0.0
    update()
    assert apart(rolled, ends(foot.rig)) < 1e-5
    assert bpy.ops.fabrik.snap_to_fk() == {"FINISHED"}
    foot.item.influence = 1.0
    update()
    assert apart(rolled, ends(foot.rig)) < 1e-5
    assert foot.control.rotation_euler.x == pytest.approx(radians(30), abs=1e-4)


def walking_feet(rig: Any, frames: range) -> list[list[Vector]]:
    played = []
    for frame in frames:
        go(frame)
        played.append(ends(rig))
    return played


def test_a_walk_is_put_on_it_and_baked_back() -> None:
    """A heel rising from flat toes is a roll: its curve is as smooth as that of the toes."""
    rig, frames = make_human(keyed=True), range(1, 26)
    before = walking_feet(rig, frames)
    activate(rig)
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    item = next(item for item in rig.fabrik.constraints if item.bone == "foot.L")
    after = walking_feet(rig, frames)
    assert max(map(apart, before, after)) < 1e-4 * 0.87
    path = f'pose.bones["{item.roll.control}"].rotation_euler'
    [curve] = [c for c in curves(rig) if (c.data_path, c.array_index) == (path, 0)]
    values = [curve.evaluate(frame) for frame in frames]
    assert max(values) > 0.1 and min(values) > -1e-4
    assert max(abs(b - a) for a, b in pairwise(values)) < 0.1
    bpy.ops.object.mode_set(mode="POSE")
    assert bpy.ops.fabrik.bake(frame_start=1, frame_end=25) == {"FINISHED"}
    assert not any(item.enabled for item in rig.fabrik.constraints)
    assert max(map(apart, before, walking_feet(rig, frames))) < 1e-4 * 0.87


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_a_foot_rolls_on_the_ground(slope: float) -> None:
    """On a slope it rolls as on the floor, turned with it; baking to targets keeps the roll."""
    foot = human_foot()
    foot.target.matrix_basis = Matrix()
    foot.rig.pose.bones["hips"].location = Vector((0, -0.15, 0))
    flat = foot.roll()
    for frame, angle in ((1, 0.0), (11, 30.0), (21, 60.0)):
        foot.roll(angle)
        foot.control.keyframe_insert("rotation_euler", frame=frame)
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.mesh.primitive_plane_add(size=20.0, location=(0, 0, 0.05), rotation=(slope, 0, 0))
    activate(foot.rig, "POSE")
    foot.item.ground.use = True
    foot.item.ground.use_lock = foot.item.ground.use_hip = False
    go(1)
    standing = foot.points()
    assert standing.heel.z > 0.02 and (standing.tip - flat.tip).length > 0.02
    go(11)
    lifted = foot.points()
    assert (lifted.ankle - standing.ankle).length > 0.03
    frames = range(1, 22)
    live = walking_feet(foot.rig, frames)
    assert bpy.ops.fabrik.ground_bake(frame_start=1, frame_end=21, error=5e-5) == {"FINISHED"}
    assert not foot.item.ground.use
    assert max(map(apart, live, walking_feet(foot.rig, frames))) < 1e-4


def test_a_rolled_foot_is_dragged_from_where_it_is() -> None:
    foot = human_foot()
    ankle = foot.roll(40, 10, 20).ankle
    held = drag.begin(foot.rig, "shin.L")
    assert (Vector(held.place) - ankle).length < 1e-5
    held.move_by((0.02, -0.03, 0.01))
    update()
    assert (foot.points().ankle - ankle - Vector((0.02, -0.03, 0.01))).length < 1e-4


def test_a_hold_carries_a_foot_with_its_roll() -> None:
    foot = human_foot()
    ankle = foot.roll(30).ankle
    assert bpy.ops.fabrik.hold_parent(constraint=foot.item.name, parent="HIPS") == {"FINISHED"}
    update()
    assert (foot.points().ankle - ankle).length < 1e-5
    foot.rig.pose.bones["hips"].location = Vector((0.03, 0.02, 0.01))
    update()
    moved = foot.points().ankle - ankle
    assert moved.length == pytest.approx(Vector((0.03, 0.02, 0.01)).length, abs=1e-4)


def test_a_copy_on_another_foot_has_no_roll_of_the_first() -> None:
    rig = make_human(keyed=False)
    add_limbs(rig, "foot.L")
    click_bones(rig, "foot.L", "foot.R")
    bpy.ops.fabrik.constraint_copy()
    update()
    copied = rig.fabrik.constraints[-1]
    assert copied.bone == "foot.R" and not copied.roll.control and not copied.roll.toe
    assert copied.roll.break_angle == pytest.approx(radians(BREAK))


@pytest.mark.parametrize("is_generated", [False, True])
def test_feet_of_rigify_roll(tmp_path: Path, is_generated: bool) -> None:
    rig: Any = (generated_rig if is_generated else metarig)("human", tmp_path)
    add_limbs(rig, "foot_fk.L" if is_generated else "foot.L")
    foot, toe = ("DEF-foot.L", "DEF-toe.L") if is_generated else ("foot.L", "toe.L")
    item = rig.fabrik.constraints[0]
    flat = [shown(rig, bone) for bone in (foot, toe)]
    rig.pose.bones[item.roll.control].rotation_euler.x = radians(30)
    update()
    assert item.state == "REACHED", item.message
    rolled = [shown(rig, bone) for bone in (foot, toe)]
    assert (rolled[0].translation - flat[0].translation).length > 0.05
    assert (rolled[1].translation - flat[1].translation).length < 1e-5
    assert (rolled[1].col[1] - flat[1].col[1]).length < 1e-4


def test_moving_toes_names_their_control() -> None:
    foot = human_foot()
    click_bones(foot.rig, "toe.L")
    [(_, note)] = notes_of(bpy.context)
    assert shown_message(note) == "“toe.L” is posed by IK: move its control “toe IK.L”"


def test_the_control_is_drawn_behind_the_heel_wherever_the_foot_is() -> None:
    foot = human_foot()

    def behind(points: Points) -> float:
        at = shown(foot.rig, foot.control.custom_shape_transform.name)
        center = at @ Vector(foot.control.custom_shape_translation)
        along = points.ball - points.heel
        return (points.heel - center).dot(along) / along.length

    flat = behind(foot.points())
    assert flat > 0.03
    assert behind(foot.roll(30.0)) == pytest.approx(flat, abs=1e-4)  # The heel is lifted.
