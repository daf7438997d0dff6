"""Operators that are interrupted leave the file as it was."""

import sys
from collections.abc import Callable
from typing import Any

import bpy
import pytest
import rigs
from kept_files import new_file
from operating import add_limbs, enter_pose_mode, refuses
from spiders import key_body, make_spider, walk
from walkers import make_ground, make_walker, stairs, stand

from addon.editing import transaction
from addon.editing.transaction import all_or_nothing

SHARES = (0.15, 0.4, 0.6, 0.75, 0.9)
"""The shares of the calls of an operator at which it is interrupted."""

CHANNELS = ("location", "rotation_quaternion", "rotation_euler", "scale", "rotation_mode")


def figure() -> Any:
    """A body with two arms, one with IK, and a cup."""
    bones = {"Root": ((0, 0, 0), (0, 0, 0.5), ""), "Chest": ((0, 0, 0.5), (0, 0, 1.3), "Root")}
    for side, x in (("L", 1), ("R", -1)):
        joints = [(0.2 * x, 0, 1.3), (0.5 * x, 0.05, 1.3), (0.8 * x, 0, 1.3), (0.9 * x, 0, 1.3)]
        above = "Chest"
        for i, name in enumerate(("UpperArm", "Forearm", "Hand")):
            bones[f"{name}.{side}"] = joints[i], joints[i + 1], above
            above = f"{name}.{side}"
    rig = rigs.make_armature(bones)
    for name in ("UpperArm.L", "UpperArm.R"):
        for frame in (1, 20):
            rig.pose.bones[name].rotation_mode = "XYZ"
            rigs.key(rig.pose.bones[name], "rotation_euler", {frame: (0.1, 0.02 * frame, 0.0)})
    rigs.make_empty("Cup", (0.5, -0.5, 1.0))
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 25
    enter_pose_mode(rig)
    add_limbs(rig, "Hand.L")
    enter_pose_mode(rig, click="Hand.L")
    rigs.go(10)
    rig.pose.bones["Chest"].rotation_euler = rig.pose.bones["Chest"].rotation_quaternion[1:]
    rig.pose.bones["Chest"].location.x = 0.01
    rig.pose.bones["UpperArm.R"].rotation_euler.x = 0.2  # Posed, and not keyed.
    rigs.update()
    return rig


def held() -> Any:
    rig = figure()
    assert bpy.ops.fabrik.hold(object="Cup", holder=rig.name, bone="Hand.L") == {"FINISHED"}
    assert bpy.ops.fabrik.hold(constraint="Hand.L", holder="") == {"FINISHED"}
    rigs.update()
    return rig


def with_fk_hand() -> Any:
    rig = figure()
    enter_pose_mode(rig, click="Hand.R")
    return rig


def without_ik() -> Any:
    rig = figure()
    rig.fabrik.constraints.clear()
    rigs.update()
    return rig


def content() -> object:
    """Return all that operators change, without what an update reports."""
    objects: dict[str, object] = {}
    for ob in bpy.data.objects:
        pose = {
            bone.name: (
                [[*getattr(bone, c)] for c in CHANNELS],
                [(con.type, con.mute) for con in bone.constraints],
                _name(bone.custom_shape),
                bone.fabrik_joint.limit_type,
            )
            for bone in (ob.pose.bones if ob.pose else ())
        }
        objects[ob.name] = (
            [list(row) for row in ob.matrix_basis],
            [list(row) for row in ob.matrix_parent_inverse],
            (_name(ob.parent), ob.parent_type, ob.parent_bone, ob.hide_viewport, ob.mode),
            sorted(group.name for group in ob.users_collection),
            pose,
            sorted(ob.data.bones.keys()) if ob.type == "ARMATURE" else None,
            _settings(ob.fabrik),
            _name(ob.animation_data and ob.animation_data.action),
        )
    layer = bpy.context.view_layer
    return (
        objects,
        {ob.name: _keys(ob) for ob in bpy.data.objects},
        sorted(bpy.data.actions.keys()),
        sorted(data.name for data in (*bpy.data.armatures, *bpy.data.collections)),
        (_name(layer.objects.active), bpy.context.mode, bpy.context.scene.frame_current),
    )


def _name(value: Any) -> Any:
    return value.name if isinstance(value, bpy.types.ID) else value


def _settings(group: Any) -> object:
    found: dict[str, object] = {}
    for prop in group.bl_rna.properties:
        name = prop.identifier
        if name in ("rna_type", "message", "state", "error", "iterations_used", "key"):
            continue
        value = getattr(group, name)
        if prop.type == "COLLECTION":
            found[name] = [_settings(item) for item in value]
        elif isinstance(value, bpy.types.PropertyGroup):
            found[name] = _settings(value)
        else:
            found[name] = tuple(value) if getattr(prop, "is_array", False) else _name(value)
    return found


def _keys(ob: Any) -> object:
    return [
        (one.data_path, one.array_index, one.mute, [tuple(key.co) for key in one.keyframe_points])
        for one in (rigs.curves(ob) if ob.animation_data and ob.animation_data.action else ())
    ]


def with_walk() -> Any:
    rig = make_walker()
    rigs.activate(rig)
    rigs.go(10)
    return rig


OPERATORS: dict[str, tuple[Callable[[], Any], Callable[[], object]]] = {
    "hold": (figure, lambda: bpy.ops.fabrik.hold(object="Cup", holder="Rig", bone="Hand.L")),
    "release": (held, lambda: bpy.ops.fabrik.release(object="Cup")),
    "hold_remove": (held, lambda: bpy.ops.fabrik.hold_remove(armature="Props")),
    "hold_bake": (held, lambda: bpy.ops.fabrik.hold_bake()),
    "switch": (figure, lambda: bpy.ops.fabrik.switch()),
    "snap_to_fk": (figure, lambda: bpy.ops.fabrik.snap_to_fk()),
    "snap_to_ik": (figure, lambda: bpy.ops.fabrik.snap_to_ik()),
    "ik_clear": (figure, lambda: bpy.ops.fabrik.ik_clear()),
    "constraint_remove": (figure, lambda: bpy.ops.fabrik.constraint_remove()),
    "constraint_add": (with_fk_hand, lambda: bpy.ops.fabrik.constraint_add()),
    "limb_add": (with_fk_hand, lambda: bpy.ops.fabrik.limb_add()),
    "look_add": (with_fk_hand, lambda: bpy.ops.fabrik.look_add()),
    "pin": (with_fk_hand, lambda: bpy.ops.fabrik.pin(frames="PLACE")),
    "mirror": (figure, lambda: bpy.ops.fabrik.constraint_mirror()),
    "convert": (figure, lambda: bpy.ops.fabrik.convert_to_blender()),
    "simulate": (held, lambda: bpy.ops.fabrik.simulate()),
    "set up": (without_ik, lambda: bpy.ops.fabrik.character_set_up()),
    "bake": (figure, lambda: bpy.ops.fabrik.bake(frame_start=1, frame_end=20)),
    "root motion": (with_walk, lambda: bpy.ops.fabrik.root_motion_extract(onto="ROOT")),
}


def interrupted(run: Callable[[], object], at: int) -> int:
    """Run an operator, interrupt it in a call of Python, and return how many calls there were."""
    count = 0

    def look(frame: Any, event: str, _argument: object) -> None:
        nonlocal count
        if event == "call" and "/addon/" in frame.f_code.co_filename:
            count += 1
            if count == at:
                sys.setprofile(None)
                raise KeyboardInterrupt

    sys.setprofile(look)
    try:
        run()
    except (RuntimeError, KeyboardInterrupt):
        pass
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_that_is_interrupted_changes_nothing_or_is_done(name: str) -> None:
    make, run = OPERATORS[name]
    make()
    calls = interrupted(run, 0)
    rigs.update()
    done = content()
    new_file()
    make()
    before = content()
    assert done != before or name == "simulate"
    undone = 0
    for share in SHARES:
        interrupted(run, max(1, int(share * calls)))
        rigs.update()
        now = content()
        undone += now == before
        if now != before:
            assert now == done, share
            new_file()
            make()
            assert content() == before
    assert undone


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_copies_the_actions_that_it_edits_and_no_others(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, run = OPERATORS[name]
    make()
    rigs.key(rigs.make_empty("Other"), "location", {1: (0, 0, 0), 9: (1, 0, 0)})
    before = {action: transaction._content(action) for action in bpy.data.actions}
    copied, edited = set(), set()
    finish = transaction._Before.finish

    def look(state: Any) -> None:
        copied.update(action.name for action in state._copies)
        edited.update(
            action.name for action in before if transaction._content(action) != before[action]
        )
        finish(state)

    monkeypatch.setattr(transaction._Before, "finish", look)
    run()
    assert edited <= copied
    assert "OtherAction" not in copied


def test_a_refused_operator_changes_nothing() -> None:
    rig = figure()
    before = content()
    action = rig.animation_data.action
    refuses(bpy.ops.fabrik.hold, saying="can't hold itself", object="Cup", holder="Cup")
    assert content() == before
    assert rig.animation_data.action == action


def test_an_armature_constraint_beside_one_that_is_taken_back_keeps_its_targets() -> None:
    rig, other = following(), rigs.make_armature({"Held": ((1, 0, 0), (1, 0, 1), "")})
    bone = rig.pose.bones["A"]
    target = bone.constraints.new("ARMATURE").targets.new()
    target.target, target.subtarget, target.weight = other, "Held", 0.5
    with pytest.raises(KeyboardInterrupt), all_or_nothing():
        bone.constraints.new("IK")
        raise KeyboardInterrupt
    assert [con.type for con in bone.constraints] == ["ARMATURE"]
    kept = [(held.target, held.subtarget, held.weight) for held in bone.constraints[0].targets]
    assert kept == [(other, "Held", 0.5)]


# What is removed by handlers of others


def standing() -> Any:
    rig = make_walker()
    stand(rig, make_ground(stairs), ray_above=3.0, ray_below=3.0)
    return rig


def following(solver: str = "FOLLOW") -> Any:
    rig = rigs.make_armature({"A": ((0, 0, 0), (0, 0, 1), ""), "B": ((0, 0, 1), (0, 0, 2), "A")})
    target = rigs.make_empty("Target.L", (0.5, 0, 1))
    for frame in (1, 40):
        target.location.x = 0.5 + frame / 40
        target.keyframe_insert("location", frame=frame)
    rigs.add_constraint(rig, "B", target, chain_count=2).solver = solver
    return rig


def reaching() -> Any:
    rigs.make_empty("Cup")
    return following("FABRIK")


def walking() -> Any:
    rig = make_spider(4)
    key_body(rig, {1: (0, 0, 0), 60: (0, -3, 0)})
    walk(rig)
    return rig


PLAYING: dict[str, tuple[Callable[[], Any], Callable[[], object]]] = {
    "feet": (standing, lambda: bpy.ops.fabrik.simulate()),
    "free chain": (following, lambda: bpy.ops.fabrik.simulate()),
    "walk": (walking, lambda: bpy.ops.fabrik.simulate()),
    "hold": (reaching, lambda: bpy.ops.fabrik.hold(object="Cup", holder="Rig", bone="B")),
    "bake": (reaching, lambda: bpy.ops.fabrik.bake(frame_start=1, frame_end=50)),
}

REMOVED: dict[str, Callable[[Any], object]] = {
    "constraint": lambda rig: rig.fabrik.constraints.remove(0),
    "target": lambda rig: bpy.data.objects.remove(rig.fabrik.constraints[0].target),
    "rig": lambda rig: bpy.data.objects.remove(rig),
}


@pytest.mark.parametrize("what", REMOVED)
@pytest.mark.parametrize("name", PLAYING)
def test_what_a_handler_removes_meanwhile_is_said(
    name: str, what: str, capfd: pytest.CaptureFixture[str]
) -> None:
    if (name, what) == ("walk", "target"):
        pytest.skip("its legs have none")
    make, run = PLAYING[name]
    rig = make()
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 50
    rigs.activate(rig)
    rigs.go(30)
    fk = rigs.channels_bits(rig)

    def remove(scene: bpy.types.Scene, _depsgraph: object = None) -> None:
        if scene.frame_current == 25 or (name == "hold" and scene.frame_current == 30):
            bpy.app.handlers.frame_change_post.remove(remove)
            REMOVED[what](rig)

    bpy.app.handlers.frame_change_post.append(remove)
    with pytest.raises(RuntimeError, match="removed"):
        run()
    assert remove not in bpy.app.handlers.frame_change_post
    rigs.update()
    said = "".join(capfd.readouterr())
    assert "Traceback" not in said
    assert bpy.context.scene.frame_current == 30
    if what != "rig":
        assert rigs.channels_bits(rig) == fk
    assert not [ob.name for ob in bpy.data.objects if ob.hide_viewport]
