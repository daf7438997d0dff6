"""Several figures in one armature, as after Ctrl+J: that of the active bone is meant."""

from typing import Any

import bpy
import pytest
from characters import make_character
from operating import click_bones
from rigs import activate, update

from addon.body.looking import body_of, figures

pytestmark = pytest.mark.usefixtures("silent")

FAMILY = "unreal 5"


def make_two(other: str = FAMILY, parented: bool = False) -> Any:
    """Two figures beside each other, whose topmost bones may have a parent."""
    one, two = make_character(FAMILY), make_character(other)
    two.location.x = 3.0
    update()
    activate(one)
    two.select_set(True)
    bpy.ops.object.join()
    if parented:
        bpy.ops.object.mode_set(mode="EDIT")
        bones = one.data.edit_bones
        tops = [bone for bone in bones if not bone.parent]
        top = bones.new("Everything")
        top.tail = (0, 0, 1)
        for bone in tops:
            bone.parent = top
    bpy.ops.object.mode_set(mode="POSE")
    update()
    return one


def parts_of(rig: Any, bone: str) -> list[str]:
    rig.data.bones.active = rig.data.bones[bone]
    assert bpy.ops.fabrik.character_recognize() == {"FINISHED"}
    return [part.bone for part in rig.fabrik.character.parts]


@pytest.mark.parametrize("parented", [False, True])
def test_the_figure_of_the_active_bone_is_recognized(
    parented: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    rig = make_two(parented=parented)
    tops = figures(rig)
    assert len(tops) == 2
    first = parts_of(rig, "hand_l")
    printed = "".join(capfd.readouterr())
    assert f"Skipped other characters (“{tops[1]}”" in printed
    assert len(first) == 6
    assert parts_of(rig, "hand_l.001") == [f"{name}.001" for name in first]


def test_each_is_set_up(capfd: pytest.CaptureFixture[str]) -> None:
    rig = make_two()
    rig.data.bones.active = rig.data.bones["hand_l.001"]
    before = {bone.name: bone.matrix.copy() for bone in rig.pose.bones}
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    assert all(item.bone.endswith(".001") for item in rig.fabrik.constraints)
    update()
    size = body_of(rig, "hand_l").size
    shown = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
    for name, matrix in before.items():
        assert (shown[name].matrix.translation - matrix.translation).length < 1e-3 * size


def test_a_limb_of_the_second_one() -> None:
    rig = make_two()
    for bone in ("hand_l", "hand_l.001"):
        click_bones(rig, bone)
        assert bpy.ops.fabrik.limb_add() == {"FINISHED"}
    one, two = rig.fabrik.constraints
    assert (one.bone + ".001", one.chain_count) == (two.bone, two.chain_count)


def test_one_figure_is_one() -> None:
    assert figures(make_character(FAMILY)) == []


def test_the_second_one_looks_with_its_head() -> None:
    rig = make_two()
    for bone in ("head", "head.001"):
        click_bones(rig, bone)
        assert bpy.ops.fabrik.look_add() == {"FINISHED"}
    one, two = rig.fabrik.constraints
    assert (two.look.axis, two.look.up_axis) == (one.look.axis, one.look.up_axis)
    assert two.look.limit_angle == one.look.limit_angle
    distances = [
        (
            item.target.matrix_world.translation - rig.matrix_world @ rig.pose.bones[item.bone].head
        ).length
        for item in (one, two)
    ]
    assert distances[1] == pytest.approx(distances[0], rel=1e-4)


@pytest.mark.parametrize("parented", [False, True])
def test_the_second_one_walks(parented: bool) -> None:
    rig = make_two(parented=parented)
    rig.data.bones.active = rig.data.bones["hand_l.001"]
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    (gait,) = rig.fabrik.gaits
    assert gait.body == "pelvis.001"
    assert sorted(item.bone for item in rig.fabrik.constraints) == ["foot_l.001", "foot_r.001"]


def test_the_second_one_travels_alone() -> None:
    from addon.features.root_motion.body import traveler_of

    rig = make_two()
    tops = figures(rig)
    for bone, top, other in (("hand_l", *tops), ("hand_l.001", *reversed(tops))):
        rig.data.bones.active = rig.data.bones[bone]
        body = traveler_of(rig)
        assert (body.root, body.others, len(body.feet)) == (top, [other], 2)
        assert body.leg == pytest.approx(traveler_of(make_character(FAMILY)).leg, rel=1e-3)


def test_the_roles_of_the_second_one() -> None:
    from addon.features.whole_body.roles import roles_of

    rig = make_two()
    one, two = (roles_of(rig, bone=bone) for bone in ("hand_l", "hand_l.001"))
    assert (two.hips, two.chest, two.head) == tuple(
        f"{name}.001" for name in (one.hips, one.chest, one.head)
    )
    assert two.hands == [f"{name}.001" for name in one.hands] and len(two.feet) == 2
