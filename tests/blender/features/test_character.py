"""A character is recognized, set up in one step without a change of its pose, and given back."""

import math
from collections.abc import Sequence
from math import radians
from pathlib import Path
from typing import Any

import bpy
import pytest
from generated import generated_rig
from humans import make_human
from mathutils import Matrix, Quaternion
from operating import refuses
from rigs import (
    activate,
    add_constraint,
    curves,
    evaluated,
    go,
    key,
    make_armature,
    make_empty,
    update,
)
from spiders import make_spider, tips

from addon.blender import animation
from addon.blender.animation import use_action
from addon.blender.errors import ProblemError
from addon.body.looking import body_of
from addon.features.character import setting_up
from addon.features.character.settings import character_settings


def shown(rig: bpy.types.Object, frames: Sequence[int] = (1, 9, 14, 25)) -> list[Any]:
    """Return where the bones stand at frames, without controls that were added."""
    found: list[Any] = []
    names = [bone.name for bone in rig.data.bones if not bone.fabrik_is_control]
    for frame in frames:
        go(frame)
        posed = evaluated(rig)
        found.append([posed.matrix_world @ posed.pose.bones[name].matrix for name in names])
    return found


def apart(a: list[Any], b: list[Any]) -> float:
    """Return how far the axes and heads of bones are from each other."""
    return max(
        abs(x - y)
        for frame, other in zip(a, b, strict=True)
        for one, two in zip(frame, other, strict=True)
        for row, row2 in zip(one, two, strict=True)
        for x, y in zip(row, row2, strict=True)
    )


def data() -> tuple[set[str], set[str]]:
    return set(bpy.data.objects.keys()), set(bpy.data.armatures.keys())


def set_up(rig: bpy.types.Object, **more: object) -> None:
    activate(rig)
    assert bpy.ops.fabrik.character_set_up(**more) == {"FINISHED"}
    update()


@pytest.mark.parametrize("controls", ["EMPTY", "BONE", "ARMATURE"])
@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("keyed", [False, True])
def test_the_pose_stays_and_all_can_be_removed(keyed: bool, scale: float, controls: str) -> None:
    rig = make_human(keyed, scale)
    before, existing, names = shown(rig), data(), rig.pose.bones.keys()
    channels = [tuple(bone.rotation_euler) for bone in rig.pose.bones]
    set_up(rig, controls=controls)
    items = rig.fabrik.constraints
    assert [(item.bone, item.solver, item.chain_count) for item in items] == [
        ("chest", "TWO_BONE", 2),
        ("hand.L", "TWO_BONE", 2),
        ("hand.R", "TWO_BONE", 2),
        ("foot.L", "TWO_BONE", 2),
        ("foot.R", "TWO_BONE", 2),
        ("head", "LOOK_AT", 2),
    ]
    assert {item.state for item in items} == {"REACHED"}
    assert [item.pole_target is not None for item in items] == [False, *[True] * 4, False]
    assert all(bool(item.subtarget) == (controls != "EMPTY") for item in items)
    after = shown(rig)
    count = len(names)
    # Keys of controls below the root take one rounding more.
    assert apart(before, [frame[:count] for frame in after]) < 3e-5
    for name in ("shin.L", "forearm.R"):
        limit = rig.pose.bones[name].fabrik_joint.limit_type
        assert limit == ("NONE" if keyed else "HINGE")
    assert bpy.ops.fabrik.character_remove() == {"FINISHED"}
    assert not items and data() == existing and rig.pose.bones.keys() == names
    assert apart(before, shown(rig)) < 1e-6
    go(25)
    assert [tuple(bone.rotation_euler) for bone in rig.pose.bones] == channels or keyed
    assert {bone.fabrik_joint.limit_type for bone in rig.pose.bones} == {"NONE"}
    if keyed:
        assert not [c for c in curves_of(rig) if "IK" in c or "Pole" in c]


def curves_of(rig: bpy.types.Object) -> list[str]:
    from rigs import curves

    return [curve.data_path for curve in curves(rig)]


@pytest.mark.parametrize("controls", ["EMPTY", "BONE"])
def test_limbs_follow_their_controls(controls: str) -> None:
    rig = make_human(keyed=False)
    set_up(rig, controls=controls)
    item = next(item for item in rig.fabrik.constraints if item.bone == "foot.L")
    if controls == "EMPTY":
        item.target.location.z += 0.2
    else:
        control = rig.pose.bones[item.subtarget]
        control.matrix = Matrix.Translation((0.0, 0.0, 0.2)) @ control.matrix
    update()
    assert item.state == "REACHED"
    target = evaluated(item.target)
    wanted = target.matrix_world
    if controls == "BONE":
        wanted = target.matrix_world @ target.pose.bones[item.subtarget].matrix
    posed = evaluated(rig)
    foot = posed.matrix_world @ posed.pose.bones["foot.L"].matrix
    assert apart([[foot]], [[wanted]]) < 1e-4
    knee = rig.pose.bones["shin.L"].fabrik_joint
    assert knee.limit_type == "HINGE" and knee.hinge_min < 0.0 < knee.hinge_max


def test_the_list_can_be_corrected() -> None:
    rig = make_human(keyed=False)
    activate(rig)
    assert bpy.ops.fabrik.character_recognize() == {"FINISHED"}
    parts = character_settings(rig).parts
    assert [(part.kind, part.bone) for part in parts] == [
        ("SPINE", "chest"),
        ("ARM", "hand.L"),
        ("ARM", "hand.R"),
        ("LEG", "foot.L"),
        ("LEG", "foot.R"),
        ("HEAD", "head"),
    ]
    for part in parts:
        part.use = part.kind == "LEG"
    parts[3].bone, parts[3].chain_count = "toe.L", 3
    set_up(rig)
    found = [(item.bone, item.chain_count, item.solver) for item in rig.fabrik.constraints]
    assert found == [("toe.L", 3, "FABRIK"), ("foot.R", 2, "TWO_BONE")]
    refuses(bpy.ops.fabrik.character_set_up, "remove its setup first")
    refuses(bpy.ops.fabrik.character_recognize, "remove its setup first")


def test_the_head_turns_as_far_as_that_of_an_added_look_at() -> None:
    rig = make_human(keyed=False)
    set_up(rig)
    item = next(item for item in rig.fabrik.constraints if item.bone == "head")
    assert item.look.limit_angle == pytest.approx(radians(75.0))


def test_own_constraints_and_limits_stay() -> None:
    rig = make_human(keyed=False)
    rig.pose.bones["shin.L"].fabrik_joint.limit_type = "CONE"
    add_constraint(rig, "toe.L", make_empty(), chain_count=1)
    set_up(rig)
    assert rig.pose.bones["shin.L"].fabrik_joint.limit_type == "CONE"
    assert bpy.ops.fabrik.character_remove() == {"FINISHED"}
    assert [item.bone for item in rig.fabrik.constraints] == ["toe.L"]
    assert rig.pose.bones["shin.L"].fabrik_joint.limit_type == "CONE"
    assert "Target" in bpy.data.objects


@pytest.mark.parametrize("wrong", ["no bone", "too long", "driven", "nothing"])
def test_what_cannot_be_set_up_is_refused_and_leaves_nothing(wrong: str) -> None:
    rig = make_human(keyed=True)
    activate(rig)
    bpy.ops.fabrik.character_recognize()
    parts = character_settings(rig).parts
    match = ""
    if wrong == "no bone":
        parts[2].bone, match = "gone", "bone “gone” doesn't exist"
    elif wrong == "too long":
        parts[2].chain_count, match = 40, "decrease it from 40"
    elif wrong == "driven":
        con = rig.pose.bones["forearm.R"].constraints.new("COPY_ROTATION")
        con.target, match = make_empty(), "posed by its constraint"
    else:
        for part in parts:
            part.use = False
        match = "No part is used"
    existing = data()
    refuses(bpy.ops.fabrik.character_set_up, match)
    assert not rig.fabrik.constraints and data() == existing
    assert {bone.fabrik_joint.limit_type for bone in rig.pose.bones} == {"NONE"}


def test_what_is_no_character_is_refused() -> None:
    rig = make_armature({"Bone": ((0, 0, 0), (0, 0, 1), "")})
    activate(rig)
    for operator in (bpy.ops.fabrik.character_recognize, bpy.ops.fabrik.character_set_up):
        with pytest.raises(RuntimeError, match="recognized in"):
            operator()


def test_a_bone_that_would_only_twist_is_said_to_have_moved(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    rig = make_human(keyed=False)
    build = setting_up._build

    def twist(*given: Any) -> Any:
        result = build(*given)
        rig.pose.bones["toe.L"].rotation_mode = "XYZ"
        rig.pose.bones["toe.L"].rotation_euler.y = 0.2
        return result

    monkeypatch.setattr(setting_up, "_build", twist)
    set_up(rig, roll=False)
    assert "“toe.L” moved farthest, by " in capfd.readouterr().out


@pytest.mark.parametrize("controls", ["EMPTY", "BONE", "ARMATURE"])
@pytest.mark.parametrize("hiding", ["hide_set", "hide_viewport", "collection"])
def test_a_hidden_armature_is_set_up_and_stays_hidden(hiding: str, controls: str) -> None:
    rig = make_human(keyed=True)
    before, names = shown(rig), rig.pose.bones.keys()
    activate(rig)
    away = bpy.data.collections.new("Away")
    if hiding == "hide_set":
        rig.hide_set(True)
    elif hiding == "hide_viewport":
        rig.hide_viewport = True
    else:
        bpy.context.scene.collection.children.link(away)
        away.objects.link(rig)
        bpy.context.scene.collection.objects.unlink(rig)
        away.hide_viewport = True
    assert bpy.ops.fabrik.character_set_up(controls=controls) == {"FINISHED"}
    assert all(part.key for part in character_settings(rig).parts)
    was = hiding == "hide_set", hiding == "hide_viewport"
    assert (rig.hide_get(), rig.hide_viewport) == was
    assert len(rig.users_collection) == 1
    rig.hide_viewport = away.hide_viewport = False
    rig.hide_set(False)
    assert apart(before, [frame[: len(names)] for frame in shown(rig)]) < 3e-5
    rig.hide_viewport = hiding == "hide_viewport"
    away.hide_viewport = hiding == "collection"
    assert bpy.ops.fabrik.character_remove() == {"FINISHED"}
    assert not rig.fabrik.constraints and rig.pose.bones.keys() == names


@pytest.mark.parametrize("controls", ["EMPTY", "BONE", "ARMATURE"])
@pytest.mark.parametrize("source", ["nla", "root", "object", "parent"])
def test_all_animation_that_moves_the_parts_is_kept(source: str, controls: str) -> None:
    rig = make_human(keyed=source == "nla")
    if source == "nla":
        data = rig.animation_data
        data.nla_tracks.new().strips.new("Walk", 1, data.action)
        data.action = None
    elif source == "root":
        root = rig.pose.bones["root"]
        key(root, "location", {1: 0.0, 25: 0.3}, 1)
    else:
        mover = rig if source == "object" else make_empty()
        if source == "parent":
            rig.parent = mover
        key(mover, "location", {1: 0.0, 25: 2.0}, 0)
    before, count = shown(rig), len(rig.pose.bones)
    go(1)
    if (source, controls) == ("nla", "BONE"):
        activate(rig)
        refuses(bpy.ops.fabrik.character_set_up, "has NLA strips", controls="BONE")
        assert not rig.fabrik.constraints and len(rig.pose.bones) == count
        return
    set_up(rig, controls=controls)
    assert apart(before, [frame[:count] for frame in shown(rig)]) < 3e-5


@pytest.mark.parametrize("beyond", ["CYCLES", "NOISE", "LINEAR"])
def test_animation_that_goes_on_beyond_its_keys_is_kept_in_the_scene(beyond: str) -> None:
    rig = make_human(keyed=True)
    root, scene = rig.pose.bones["root"], bpy.context.scene
    key(root, "location", {1: 0.0, 25: 0.3}, 1)
    for curve in curves(rig):
        if beyond == "LINEAR":
            curve.extrapolation = "LINEAR"
        elif beyond == "CYCLES" or "location" in curve.data_path:
            curve.modifiers.new(beyond)
    scene.frame_start, scene.frame_end = 0, 60
    frames = range(0, 61, 3)
    before = shown(rig, frames)
    go(1)
    set_up(rig)
    assert apart(before, shown(rig, frames)) < 1e-4


def test_limits_are_left_out_where_a_joint_is_animated_even_if_animation_is_not_kept() -> None:
    rig = make_human(keyed=False)
    knee = rig.pose.bones["shin.L"]
    knee.keyframe_insert("rotation_quaternion", frame=1)
    set_up(rig, animation=False)
    assert knee.fabrik_joint.limit_type == "NONE"
    assert rig.pose.bones["shin.R"].fabrik_joint.limit_type == "HINGE"


@pytest.mark.parametrize("is_override", [False, True])
def test_control_bones_are_refused_where_bones_cannot_be_added(
    is_override: bool, tmp_path: Path
) -> None:
    rig = make_human(keyed=False)
    path = str(tmp_path / "library.blend")
    bpy.data.libraries.write(path, {rig})
    bpy.data.objects.remove(rig)
    with bpy.data.libraries.load(path, link=True) as (source, wanted):
        wanted.objects = source.objects
    linked = wanted.objects[0]
    rig = linked.override_create()
    if is_override:
        rig.data = linked.data.override_create()
    bpy.context.scene.collection.objects.link(rig)
    update()
    activate(rig)
    existing = data()
    refuses(bpy.ops.fabrik.character_set_up, "choose Empties or a new armature", controls="BONE")
    assert data() == existing and not rig.fabrik.constraints
    assert bpy.ops.fabrik.character_set_up(controls="ARMATURE") == {"FINISHED"}


def test_control_bones_are_refused_where_the_action_takes_no_keys(tmp_path: Path) -> None:
    rig = make_human(keyed=True)
    path = str(tmp_path / "library.blend")
    bpy.data.libraries.write(path, {rig.animation_data.action})
    with bpy.data.libraries.load(path, link=True) as (source, wanted):
        wanted.actions = source.actions
    slot = getattr(rig.animation_data, "action_slot_handle", 0)
    use_action(rig, wanted.actions[0], slot)
    activate(rig)
    existing = data()
    refuses(bpy.ops.fabrik.character_set_up, "assign a local action", controls="BONE")
    assert data() == existing and not rig.fabrik.constraints
    assert bpy.ops.fabrik.character_set_up(controls="EMPTY") == {"FINISHED"}


def test_a_new_armature_is_in_the_scene() -> None:
    rig = make_human(keyed=False)
    elsewhere = bpy.data.collections.new("Another Scene's")
    bpy.data.scenes.new("Another Scene").collection.children.link(elsewhere)
    elsewhere.objects.link(rig)
    here = bpy.data.collections.new("Here")
    bpy.context.scene.collection.children.link(here)
    here.objects.link(rig)
    bpy.context.scene.collection.objects.unlink(rig)
    set_up(rig, controls="ARMATURE")
    assert character_settings(rig).controls.users_collection == (here,)


def test_limbs_of_a_generated_rig_are_switched_to_their_controls_and_back(tmp_path: Path) -> None:
    rig = generated_rig("basic_human", tmp_path)
    bpy.context.view_layer.objects.active = rig
    before = shown(rig, (1,))
    set_up(rig)
    ends = [item.bone for item in rig.fabrik.constraints if item.solver != "LOOK_AT"]
    assert ends == ["MCH-hand_fk.L", "MCH-hand_fk.R", "MCH-foot_fk.L", "MCH-foot_fk.R"]
    switches = [bone for bone in rig.pose.bones if "IK_FK" in bone]
    assert [bone["IK_FK"] for bone in switches] == [1.0] * 4
    assert apart(before, shown(rig, (1,))) < 1e-3
    assert bpy.ops.fabrik.character_remove() == {"FINISHED"}
    assert [bone["IK_FK"] for bone in switches] == [0.0] * 4
    assert not rig.fabrik.constraints


@pytest.mark.parametrize("kind", ["basic_human", "wolf", "horse"])
def test_what_is_seen_of_a_generated_rig_stays(kind: str, tmp_path: Path) -> None:
    """Posed by IK controls, with toes and hooves; some joints of animals have two bones."""
    rig = generated_rig(kind, tmp_path)
    bpy.context.view_layer.objects.active = rig
    feet = {"basic_human": "foot_ik.L", "wolf": "front_foot_ik.L", "horse": "r_toe_ik.R"}
    toes = {"basic_human": "toe_ik.L", "wolf": "front_foot_heel_ik.R", "horse": "f_toe_ik.L"}
    for bone in [rig.pose.bones[names[kind]] for names in (feet, toes)]:
        bone.rotation_mode, bone.rotation_euler = "XYZ", (0.3, 0.0, 0.0)
    if kind == "basic_human":
        rig.pose.bones["foot_ik.L"].location = (0.05, -0.1, 0.08)
        rig.pose.bones["hand_ik.R"].location = (0.1, -0.1, 0.0)
    deforming = [bone.name for bone in rig.data.bones if bone.name.startswith("DEF-")]

    def seen() -> list[list[Matrix]]:
        update()
        return [[evaluated(rig).pose.bones[name].matrix.copy() for name in deforming]]

    before = seen()
    set_up(rig)
    kinds = [part.kind for part in rig.fabrik.character.parts]
    assert kinds == (["ARM"] * 2 + ["LEG"] * 2 if kind == "basic_human" else ["LEG"] * 4)
    assert {item.state for item in rig.fabrik.constraints} == {"REACHED"}
    assert apart(before, seen()) < 2e-3
    assert bpy.ops.fabrik.character_remove() == {"FINISHED"}
    assert apart(before, seen()) < 1e-6


def moving_rigify(folder: Path, fk: bool = False) -> Any:
    """Return a generated rig whose hand and torso are keyed while its limbs are in IK.

    Args:
        folder: Where its file goes.
        fk: Whether the FK controls have keys as well, of another motion.
    """
    rig: Any = generated_rig("basic_human", folder)
    bpy.context.view_layer.objects.active = rig
    moves = {"hand_ik.L": ((0.1, -0.2, 0.1), (0.0, 0.0, 0.2)), "torso": ((0.1, 0, -0.1), (0, 0, 0))}
    for name, (middle, last) in moves.items():
        key(rig.pose.bones[name], "location", {1: (0.0, 0.0, 0.0), 6: middle, 12: last})
    for frame in (1, 12) if fk else ():
        bone = rig.pose.bones["forearm_fk.L"]
        bone.rotation_quaternion = (0.8, 0.6, 0.0, 0.0) if frame == 1 else (1.0, 0.0, 0.0, 0.0)
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    bpy.context.scene.frame_set(4)
    return rig


def played(rig: Any) -> list[list[Matrix]]:
    """Return the world matrices of the deforming bones at each frame."""
    names = [bone.name for bone in rig.data.bones if bone.name.startswith("DEF-")]
    poses = []
    for frame in range(1, 13):
        bpy.context.scene.frame_set(frame)
        bones = evaluated(rig).pose.bones
        poses.append([rig.matrix_world @ bones[name].matrix for name in names])
    bpy.context.scene.frame_set(4)
    return poses


def all_keys(rig: Any) -> dict[tuple[str, int], list[tuple[float, float]]]:
    return {
        (curve.data_path, curve.array_index): [tuple(key.co) for key in curve.keyframe_points]
        for curve in animation.all_active_curves(rig)
    }


@pytest.mark.parametrize("fk", [False, True])
def test_a_generated_rig_that_is_keyed_in_ik_moves_as_before(fk: bool, tmp_path: Path) -> None:
    rig = moving_rigify(tmp_path, fk)
    before, keys = played(rig), all_keys(rig)
    set_up(rig)
    assert [bone["IK_FK"] for bone in rig.pose.bones if "IK_FK" in bone] == [1.0] * 4
    assert apart(before, played(rig)) < 2e-3
    ik = {path: found for path, found in all_keys(rig).items() if "_fk" not in path[0]}
    ik = {path: found for path, found in ik.items() if " IK" not in path[0]}
    ik = {path: found for path, found in ik.items() if " Pole" not in path[0]}
    assert ik == {path: found for path, found in keys.items() if "_fk" not in path[0]}
    assert bpy.ops.fabrik.character_remove() == {"FINISHED"}
    assert apart(before, played(rig)) < 1e-6


def test_a_generated_rig_that_cannot_be_set_up_keeps_its_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = moving_rigify(tmp_path, fk=True)
    before, keys, action = played(rig), all_keys(rig), rig.animation_data.action.name

    def refuse(*_: object) -> None:
        raise ProblemError("No target can be moved")

    monkeypatch.setattr(setting_up, "_snap", refuse)
    refuses(bpy.ops.fabrik.character_set_up, "No target can be moved")
    assert (all_keys(rig), rig.animation_data.action.name) == (keys, action)
    assert len(bpy.data.actions) == 1
    assert [bone["IK_FK"] for bone in rig.pose.bones if "IK_FK" in bone] == [0.0] * 4
    assert apart(before, played(rig)) < 1e-6


def test_a_limb_that_is_keyed_in_ik_keeps_its_motion_in_fk(tmp_path: Path) -> None:
    """Also the pose that is not keyed, at the current frame."""
    rig = moving_rigify(tmp_path, fk=True)
    before = played(rig)
    rig.pose.bones["hand_ik.L"].location = (-0.1, -0.1, 0.05)
    rig.pose.bones["foot_ik.R"].location = (0.1, 0.1, 0.1)
    update()
    now = evaluated(rig).pose.bones["DEF-hand.L"].matrix.copy()
    activate(rig, "POSE")
    rig.data.bones.active = rig.data.bones["hand_ik.L"]
    assert bpy.ops.fabrik.limb_add(controls="EMPTY") == {"FINISHED"}
    update()
    assert apart([[now]], [[evaluated(rig).pose.bones["DEF-hand.L"].matrix]]) < 2e-3
    assert rig.pose.bones["foot_ik.R"].location[:] == pytest.approx((0.1, 0.1, 0.1))
    rig.pose.bones["foot_ik.R"].location = (0.0, 0.0, 0.0)
    rig.fabrik.constraints[0].enabled = False
    assert apart(before, played(rig)) < 2e-3


def test_a_generated_rig_that_is_keyed_in_ik_is_not_dragged_out_of_it(tmp_path: Path) -> None:
    rig = moving_rigify(tmp_path)
    bpy.ops.object.mode_set(mode="POSE")
    before = played(rig)
    with pytest.raises(RuntimeError, match="are animated in IK: choose Set Up Character"):
        bpy.ops.fabrik.drag(bone="hand_ik.L", value=(0.1, 0.0, 0.0), whole_body=True)
    assert apart(before, played(rig)) == 0.0


@pytest.mark.parametrize("keyed", [False, True])
def test_all_constraints_but_the_look_at_are_snapped(keyed: bool) -> None:
    rig = make_human(keyed)
    set_up(rig)
    wanted = shown(rig, (9,))
    for name in ("hand.L IK", "foot.R IK"):
        target = rig.pose.bones[rig.fabrik.constraints[name].subtarget]
        for curve in [one for one in curves(rig) if target.name in one.data_path]:
            curve.mute = True
        target.location.x += 0.1
    update()
    assert apart(shown(rig, (9,)), wanted) > 0.05
    assert bpy.ops.fabrik.snap_to_fk(which="ALL") == {"FINISHED"}
    update()
    assert apart(shown(rig, (bpy.context.scene.frame_current,)), wanted) < 1e-4


def test_a_spine_of_one_bone_is_said_to_be_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    rig = make_human(keyed=False)
    activate(rig)
    assert bpy.ops.fabrik.character_recognize() == {"FINISHED"}
    assert "The trunk is left out" not in capfd.readouterr().out
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    for bone in [*bones["chest"].children]:
        bone.parent = bones["spine"]
    bones.remove(bones["chest"])
    bpy.ops.object.mode_set(mode="OBJECT")
    rig.fabrik.character.parts.clear()
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    assert "Skipped the spine: “spine” is its only bone" in capfd.readouterr().out
    assert "SPINE" not in [part.kind for part in rig.fabrik.character.parts]


@pytest.mark.parametrize("nameless", [False, True])
def test_that_shape_alone_tells_the_limbs_is_said(
    nameless: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    rig = make_human(keyed=False)
    for number, bone in enumerate(rig.data.bones if nameless else ()):
        bone.name = f"Bone.{number:03}"
    activate(rig)
    assert bpy.ops.fabrik.character_recognize() == {"FINISHED"}
    sentence = "Bone names don't identify any limb; guessed from shape: check the list"
    assert (sentence in capfd.readouterr().out) == nameless


def test_legs_without_feet_reach_with_the_tails_of_their_last_bones() -> None:
    spider: Any = make_spider()
    update()
    before, ends = shown(spider, (1,)), sorted(tips(spider))
    set_up(spider)
    parts = [part for part in spider.fabrik.character.parts if part.kind == "LEG"]
    assert sorted(part.bone for part in parts) == ends
    assert {part.chain_count for part in parts} == {3}
    assert apart(shown(spider, (1,)), before) < 1e-5
    for part in parts:
        (item,) = [one for one in spider.fabrik.constraints if one.bone == part.bone]
        assert item.use_tail and not item.use_rotation and item.state == "REACHED"
    target = spider.pose.bones[item.subtarget]
    target.location.z += 0.2
    update()
    posed = evaluated(spider).pose.bones
    assert (posed[item.bone].tail - posed[target.name].head).length < 1e-3


def test_a_spine_whose_tail_is_guessed_reaches_with_the_joint_of_the_neck() -> None:
    """As of a glTF file with small scale, whose last bones are given lengths of many meters."""
    rig = make_human(keyed=False)
    activate(rig, "EDIT")
    chest = rig.data.edit_bones["chest"]
    assert len(chest.children) > 1
    for bone in chest.children:
        bone.use_connect = False
    chest.length *= 100.0
    bpy.ops.object.mode_set(mode="OBJECT")
    update()
    neck = rig.matrix_world @ rig.data.bones["neck"].head_local
    set_up(rig)
    (item,) = [one for one in rig.fabrik.constraints if one.bone == "chest"]
    assert item.use_tail and item.state == "REACHED"
    target = evaluated(rig).pose.bones[item.subtarget]
    assert (rig.matrix_world @ target.head - neck).length < 1e-5


def walking_human(period: int, last: int) -> bpy.types.Object:
    """Return a human who walks with bent knees and elbows, with keys at every frame."""
    rig = make_human(keyed=False)
    bends = {"shin": 0.7, "forearm": 0.7, "thigh": -0.35}
    swings = {"thigh": 0.4, "shin": 0.3, "foot": 0.1, "upper_arm": 0.4, "forearm": 0.3}
    for bone in rig.pose.bones:
        name, _, side = bone.name.partition(".")
        phase = math.pi if side == "R" else 0.0
        axis = (0, 0.1, 1 if side == "L" else -1) if "arm" in name else (1, 0.1, 0)
        for frame in range(1, last + 1):
            swing = swings.get(name, 0.05) * math.sin(2 * math.pi * frame / period + phase)
            turn = Quaternion(axis, swing + bends.get(name, 0.0))
            key(bone, "rotation_quaternion", {frame: turn})
    update()
    return rig


@pytest.mark.parametrize(
    ("controls", "last", "most"), [("BONE", 120, 0.06), ("EMPTY", 120, 0.06), ("BONE", 30, 0.25)]
)
def test_few_keys_keep_each_joint_within_an_error(controls: str, last: int, most: float) -> None:
    rig = walking_human(last, last)
    frames, size = range(1, last + 1), body_of(rig).size
    before = ends(rig, frames)
    set_up(rig, controls=controls, error=0.001 / size)
    after = ends(rig, frames)
    assert max(math.dist(a, b) for a, b in zip(before, after, strict=True)) < 0.001
    targets = {rig, *(item.target for item in rig.fabrik.constraints)}
    poles = {item.pole_target for item in rig.fabrik.constraints if item.pole_target}
    bones = set(before_names(rig))
    counts = [
        len(curve.keyframe_points)
        for ob in targets | poles
        for curve in curves(ob)
        if curve.data_path.partition('"]')[0].partition('["')[2] not in bones
    ]
    assert len(counts) > 30
    assert sum(counts) < most * len(frames) * len(counts)
    assert min(counts) >= 2


def before_names(rig: bpy.types.Object) -> list[str]:
    return [bone.name for bone in rig.data.bones if not bone.fabrik_is_control]


def ends(rig: bpy.types.Object, frames: Sequence[int]) -> list[tuple[float, ...]]:
    """Return the heads and tails of the captured bones at frames, in the armature's space."""
    found = []
    for frame in frames:
        go(frame)
        bones = evaluated(rig).pose.bones
        for name in before_names(rig):
            found += [tuple(bones[name].head), tuple(bones[name].tail)]
    return found
