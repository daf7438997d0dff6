"""Characters of other programs are recognized, set up and given back, however they are oriented."""

import random
from math import pi, sin
from typing import Any

import bpy
import pytest
from characters import FAMILIES, LAYOUTS, make_character
from mathutils import Euler, Matrix, Vector
from operating import click_bones, refuses
from rigs import activate, curves, evaluated, go, tip_world, update
from spiders import make_floor

from addon.body.looking import body_of
from addon.features.character.settings import character_settings

pytestmark = pytest.mark.newest

FRAMES = (1, 6, 11, 17, 21)


def animate(rig: bpy.types.Object) -> None:
    """Key all bones, some as quaternions and some as Euler angles."""
    chance = random.Random(3)
    for bone in rig.pose.bones:
        mode = "QUATERNION" if len(bone.name) % 2 else "XYZ"
        channel = "rotation_quaternion" if mode == "QUATERNION" else "rotation_euler"
        bone.rotation_mode = mode
        phases = [chance.uniform(0.0, 6.0) for _ in range(3)]
        for frame in range(1, 22, 4):
            turn = Euler([0.25 * sin(0.25 * frame + phase) for phase in phases])
            setattr(bone, channel, turn.to_quaternion() if mode == "QUATERNION" else turn)
            bone.keyframe_insert(channel, frame=frame)


def shown(rig: bpy.types.Object) -> list[dict[str, Matrix]]:
    """Return where the bones of the rig are at frames, in the world."""
    found: list[dict[str, Matrix]] = []
    for frame in FRAMES:
        go(frame)
        posed = evaluated(rig)
        found.append({bone.name: posed.matrix_world @ bone.matrix for bone in posed.pose.bones})
    return found


def apart(before: list[dict[str, Matrix]], after: list[dict[str, Matrix]]) -> tuple[float, float]:
    """Return how far heads are apart in meters, and axes of length 1."""
    pairs = [(a[name], b[name]) for a, b in zip(before, after, strict=True) for name in a]
    turned = [(a.to_3x3().normalized(), b.to_3x3().normalized()) for a, b in pairs]
    return (
        max((a.translation - b.translation).length for a, b in pairs),
        max(abs(x - y) for a, b in turned for p, q in zip(a, b, strict=True)
            for x, y in zip(p, q, strict=True)),
    )  # fmt: skip


def everything(rig: bpy.types.Object) -> dict[str, Any]:
    """Return what setting up may change, bit for bit."""
    found: dict[str, Any] = {
        name: sorted(getattr(bpy.data, name).keys()) for name in ("objects", "armatures", "actions")
    }
    for bone in rig.pose.bones:
        joint = bone.fabrik_joint
        channels = ("location", "rotation_quaternion", "rotation_euler", "scale")
        found[bone.name] = (
            [tuple(getattr(bone, name)) for name in channels],
            tuple(tuple(row) for row in bone.bone.matrix_local),
            (joint.limit_type, joint.hinge_axis, tuple(joint.hinge_vector)),
            (joint.hinge_min, joint.hinge_max),
        )
    for curve in curves(rig):
        keys = [tuple(key.co) for key in curve.keyframe_points]
        found[f"{curve.data_path} {curve.array_index}"] = keys
    parts = character_settings(rig).parts
    found["parts"] = [(part.kind, part.bone, part.key, part.target) for part in parts]
    found["selected"] = [ob.name for ob in bpy.context.view_layer.objects if ob.select_get()]
    return found


def recognized(rig: bpy.types.Object) -> list[tuple[str, str, list[str]]]:
    """Return kind, bone and the chain, root first, of each recognized part."""
    from addon.features.character.recognizing import limb_of_part

    activate(rig)
    assert bpy.ops.fabrik.character_recognize() == {"FINISHED"}
    found: list[tuple[str, str, list[str]]] = []
    for part in character_settings(rig).parts:
        found.append((part.kind, part.bone, [*limb_of_part(rig, part).bones]))
    return found


LOOSE = {"quaternius": ("Foot.L", "Foot.R")}
"""Feet that aren't parented to their legs are found by their names, wherever bones point."""


@pytest.mark.parametrize("arm", [0.0, 80.0])
@pytest.mark.parametrize("axis", ["x", "any"])
@pytest.mark.parametrize("name", FAMILIES)
def test_parts_are_recognized_however_bones_point(name: str, axis: str, arm: float) -> None:
    rig = make_character(name, axis, arm)
    update()
    feet = iter(LOOSE.get(name, ()))
    parts = [(kind, end or next(feet, ""), bones) for kind, end, bones in FAMILIES[name].parts]
    parts = [part for part in parts if part[1] and (part[0] != "SPINE" or len(part[2]) > 1)]
    assert sorted(recognized(rig), key=str) == sorted(parts, key=str)
    assert (rig.matrix_world.to_3x3() @ body_of(rig).front).normalized().y < -0.99


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("name", LAYOUTS)
def test_the_pose_stays_and_all_is_given_back(name: str, keyed: bool) -> None:
    rig = make_character(name, "any" if keyed else "x")
    if keyed:
        animate(rig)
    recognized(rig)
    kinds = ("EMPTY", "BONE", "ARMATURE")
    for controls in kinds if name in ("unreal 5", "genesis 8") else kinds[:1]:
        before = shown(rig)
        go(5)
        there = everything(rig)
        assert bpy.ops.fabrik.character_set_up(controls=controls) == {"FINISHED"}
        place, axes = apart(before, shown(rig))
        # Meters, of a figure of 1.7 m: what single precision leaves of straight limbs.
        # Elbows and knees bend to both sides here, which is nowhere as sensitive.
        assert place < 2e-4 and axes < 2e-3
        assert {item.state for item in rig.fabrik.constraints} == {"REACHED"}
        assert bpy.ops.fabrik.character_remove() == {"FINISHED"}
        go(5)
        assert everything(rig) == there


def joints_of(rig: bpy.types.Object, item: Any) -> list[Vector]:
    """Return the joints of the chain of a hand or foot, root first, in the world."""
    posed = evaluated(rig)
    line = [posed.pose.bones[item.bone]]
    for _ in range(item.chain_count):
        line.insert(0, line[0].parent)
    return [posed.matrix_world @ bone.head for bone in line]


@pytest.mark.parametrize("axis", ["x", "any"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_straight_legs_bend_forward_and_arms_backward_at_the_joint_alone(
    name: str, axis: str
) -> None:
    """The joints inside of bones that are split in order to twist stay straight."""
    if name.startswith("mmd") and axis == "any":
        pytest.skip("which way five bones with hinges bend from straight hangs on rounding there")
    rig = make_character(name, axis)
    activate(rig)
    assert bpy.ops.fabrik.character_set_up(controls="EMPTY") == {"FINISHED"}
    ends = {bone: kind for kind, bone, _ in LAYOUTS[name].parts if kind in ("ARM", "LEG")}
    for item in rig.fabrik.constraints:
        kind = ends.get(item.bone)
        if kind is None:
            continue
        first, *_, last = joints_of(rig, item)
        item.target.location += 0.2 * (first - last)
        update()
        assert item.state == "REACHED"
        first, *inner, last = joints_of(rig, item)
        sign = -1.0 if kind == "LEG" else 1.0
        middle = 0.5 * (first + last)
        assert max(sign * (joint - middle).y for joint in inner) > 0.1
        line = [first, *inner, last]
        around = zip(line, line[1:], line[2:], strict=False)
        bends = sorted((b - a).angle(c - b, 0.0) for a, b, c in around)
        assert bends[-1] > 0.5 and all(bend < 0.02 for bend in bends[:-1])


def test_controls_are_in_a_collection_that_is_shown() -> None:
    rig = make_character("unreal 4")
    homes = [bpy.data.collections.new(name) for name in ("Excluded", "Hidden", "Shown")]
    for home in homes:
        bpy.context.scene.collection.children.link(home)
        home.objects.link(rig)
    bpy.context.scene.collection.objects.unlink(rig)
    layers = bpy.context.view_layer.layer_collection.children
    layers["Excluded"].exclude = True
    layers["Hidden"].hide_viewport = True
    activate(rig)
    for controls in ("EMPTY", "ARMATURE"):
        assert bpy.ops.fabrik.character_set_up(controls=controls) == {"FINISHED"}
        made = [ob for ob in bpy.data.objects if ob != rig and ob.users_collection]
        assert made and all(ob.users_collection == (homes[2],) for ob in made)
        assert bpy.ops.fabrik.character_remove() == {"FINISHED"}


@pytest.mark.parametrize("bone", ["lowerarm_l", "head"])
def test_drivers_on_bones_of_a_part_are_refused(bone: str) -> None:
    rig = make_character("unreal 4")
    rig.pose.bones[bone].rotation_mode = "XYZ"
    rig.pose.bones[bone].driver_add("rotation_euler", 0)
    activate(rig)
    before = everything(rig)
    refuses(bpy.ops.fabrik.character_set_up, f"“{bone}” has a driver")
    assert everything(rig) == before
    assert bpy.ops.fabrik.character_recognize() == {"FINISHED"}
    next(
        part for part in character_settings(rig).parts if part.bone in ("hand_l", bone)
    ).use = False
    if bone == "lowerarm_l":
        assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}


@pytest.mark.parametrize("where", ["pelvis", "object"])
@pytest.mark.parametrize("is_moving", [True, False])
def test_what_drivers_move_over_time_is_kept(where: str, is_moving: bool) -> None:
    rig = make_character("unreal 4")
    pelvis = rig.pose.bones["pelvis"]
    pelvis.rotation_mode = "XYZ"
    owner, channel = (rig, "location") if where == "object" else (pelvis, "rotation_euler")
    driver = owner.driver_add(channel, 2).driver
    driver.type, driver.expression = "SCRIPTED", "0.01 * frame" if is_moving else "0.3"
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 21
    before = shown(rig)
    go(1)
    activate(rig)
    assert bpy.ops.fabrik.character_set_up(controls="EMPTY") == {"FINISHED"}
    place, axes = apart(before, shown(rig))
    assert place < 1e-4 and axes < 5e-4
    targets = [item.target for item in rig.fabrik.constraints]
    assert all(bool(target.animation_data) == is_moving for target in targets)


def test_the_bones_above_a_chain_may_be_posed_by_constraints() -> None:
    rig = make_character("unreal 4")
    con = rig.pose.bones["pelvis"].constraints.new("COPY_LOCATION")
    con.target = bpy.data.objects.new("Lift", None)
    bpy.context.scene.collection.objects.link(con.target)
    con.target.location.z = 1.0
    activate(rig)
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}


@pytest.mark.parametrize(("turn", "up"), [(0.0, "Y"), (pi, "NEGATIVE_Y")], ids=["back", "face"])
@pytest.mark.parametrize("name", ["mixamo", "unreal 4"])
def test_a_character_that_lies_down_is_recognized(name: str, turn: float, up: str) -> None:
    """Captures imported with other axes lie down, and have limbs whatever is up."""
    rig = make_character(name)
    rig.data.transform(Matrix.Rotation(turn, 4, "X"))
    rig.matrix_world = Matrix.Scale(0.01, 4)
    update()
    assert sorted(recognized(rig), key=str) == sorted(LAYOUTS[name].parts, key=str)
    assert body_of(rig).up_axis == up


@pytest.mark.parametrize("name", ["unreal 4", "genesis 9", "mmd", "character creator"])
def test_the_whole_body_walks_and_sinks_with_its_feet(name: str) -> None:
    """The pelvis of many characters carries nothing but the legs."""
    rig = make_character(name)
    floor = make_floor()
    activate(rig)
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    legs = {end for kind, end, _ in FAMILIES[name].parts if kind == "LEG"}
    parts = {kind: end for kind, end, _ in FAMILIES[name].parts}
    for item in rig.fabrik.constraints:
        if item.bone in legs:
            item.ground.use, item.ground.source, item.ground.object = True, "OBJECT", floor
    update()
    moved = (*legs, parts["HEAD"], parts["ARM"])
    before = {bone: tip_world(rig, bone, use_tail=False).z for bone in moved}
    floor.location.z -= 0.3
    update()
    for bone, height in before.items():
        assert tip_world(rig, bone, use_tail=False).z == pytest.approx(height - 0.3, abs=1e-4)
    for item in rig.fabrik.constraints:
        item.ground.use = False
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    body = rig.pose.bones[rig.fabrik.gaits[0].body]
    assert body in rig.pose.bones[parts["HEAD"]].parent_recursive


@pytest.mark.parametrize("sideways", [-0.02, 0.02, 0.03])
@pytest.mark.parametrize(
    ("upper", "lower", "end", "way"),
    [("thigh_l", "calf_l", "foot_l", -1.0), ("upperarm_l", "lowerarm_l", "hand_l", 1.0)],
)
def test_a_joint_that_is_bent_a_little_and_rather_sideways_bends_as_a_body(
    upper: str, lower: str, end: str, way: float, sideways: float
) -> None:
    """Knock-knees stand so, and arms whose elbows droop."""
    rig = make_character("unreal 4")
    bpy.ops.object.mode_set(mode="EDIT")
    bone = rig.data.edit_bones[lower]
    across = (sideways, 0.0) if end == "foot_l" else (0.0, sideways)  # Meters.
    aside = Vector((across[0], 0.01 * way, across[1]))
    shift = rig.matrix_world.to_3x3().inverted() @ aside
    bone.head, bone.tail = bone.head + shift, bone.tail + shift
    bpy.ops.object.mode_set(mode="POSE")
    click_bones(rig, end)
    assert bpy.ops.fabrik.limb_add(controls="EMPTY") == {"FINISHED"}
    item = rig.fabrik.constraints[-1]
    first, _, last = joints_of(rig, item)
    item.target.location += 0.1 * (first - last)
    update()
    first, inner, last = joints_of(rig, item)
    off = inner - 0.5 * (first + last)
    off -= off.project(last - first)
    assert way * off.normalized().y > 0.8
