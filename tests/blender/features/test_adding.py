"""One rule for what is added: selected bones get one each, what else is selected is the target.

From the interface a new target is a control bone, which is selected.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import bpy
import pytest
from operating import click_bones, enter_pose_mode, refuses, select_bone
from rigs import evaluated, make_armature, make_chain, make_empty, update

OPERATORS = ("constraint_add", "look_add", "rope_add", "follow_add")
REACHING = ("constraint_add", "rope_add", "look_add")


def press(name: str, **options: object) -> set[str]:
    """Call an operator as the interface does, which without a window is not asked for defaults."""
    if name != "wave_add":
        options = {"controls": "BONE", **options}
    return getattr(bpy.ops.fabrik, name)(**options)


def make_face() -> Any:
    """A head with two eyes that look ahead, and two tails."""
    rig: Any = make_armature(
        {
            "Neck": ((0, 0, 1.4), (0, 0, 1.5), ""),
            "Head": ((0, 0, 1.5), (0, 0, 1.7), "Neck"),
            "Eye.L": ((0.03, -0.1, 1.6), (0.03, -0.13, 1.6), "Head"),
            "Eye.R": ((-0.03, -0.1, 1.6), (-0.03, -0.13, 1.6), "Head"),
            "Tail.L": ((0.1, 0.2, 1.4), (0.1, 0.4, 1.4), "Neck"),
            "Tail2.L": ((0.1, 0.4, 1.4), (0.1, 0.6, 1.42), "Tail.L"),
            "Tail3.L": ((0.1, 0.6, 1.42), (0.1, 0.8, 1.4), "Tail2.L"),
            "Tail.R": ((-0.1, 0.2, 1.4), (-0.1, 0.4, 1.4), "Neck"),
            "Tail2.R": ((-0.1, 0.4, 1.4), (-0.1, 0.6, 1.42), "Tail.R"),
            "Control": ((0, -1, 1.6), (0, -1, 1.7), ""),
        }
    )
    enter_pose_mode(rig)
    return rig


def tips(rig: Any) -> list[str]:
    return [item.bone for item in rig.fabrik.constraints]


def selected() -> list[str]:
    return [bone.name for bone in bpy.context.selected_pose_bones]


def test_two_eyes_look_at_one_new_control() -> None:
    rig = make_face()
    click_bones(rig, "Eye.L", "Eye.R")
    gaze = [evaluated(rig).pose.bones[f"Eye.{side}"].matrix.copy() for side in "LR"]

    assert press("look_add") == {"FINISHED"}
    update()

    left, right = rig.fabrik.constraints
    assert (left.bone, right.bone) == ("Eye.L", "Eye.R")
    assert {left.target, right.target} == {rig}
    assert left.subtarget == right.subtarget == "Eye Look"
    assert [left.state, right.state] == ["REACHED"] * 2
    assert selected() == ["Eye Look"] and rig.data.bones.active.name == "Eye Look"
    place = rig.data.bones["Eye Look"].head_local
    assert place.x == pytest.approx(0.0, abs=1e-5) and place.y < -0.2
    for before, side in zip(gaze, "LR", strict=True):
        eye = evaluated(rig).pose.bones[f"Eye.{side}"].matrix
        assert eye.col[1].dot(before.col[1]) > 0.98, "they converge on it"
    assert not [ob for ob in bpy.data.objects if ob.name.endswith("Look Target")]
    control = rig.pose.bones["Eye Look"]
    control.location.x = 0.5
    update()
    for side in "LR":
        bone = evaluated(rig).pose.bones[f"Eye.{side}"]
        way = evaluated(rig).pose.bones["Eye Look"].head - bone.head
        assert (bone.y_axis - way.normalized()).length < 1e-4


def test_eyes_that_look_apart_get_a_control_each() -> None:
    rig: Any = make_armature(
        {
            "Head": ((0, 0, 1.5), (0, 0, 1.7), ""),
            "Eye.L": ((0.1, 0, 1.6), (0.2, 0, 1.6), "Head"),
            "Eye.R": ((-0.1, 0, 1.6), (-0.2, 0, 1.6), "Head"),
        }
    )
    enter_pose_mode(rig)
    click_bones(rig, "Eye.R", "Eye.L")
    press("look_add")
    assert tips(rig) == ["Eye.R", "Eye.L"]
    assert [item.subtarget for item in rig.fabrik.constraints] == ["Eye Look.R", "Eye Look.L"]
    assert sorted(selected()) == ["Eye Look.L", "Eye Look.R"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_what_is_made_is_a_control_bone_that_is_selected(operator: str) -> None:
    rig = make_chain(4)
    enter_pose_mode(rig)
    click_bones(rig, "B3")
    assert press(operator) == {"FINISHED"}
    (item,) = rig.fabrik.constraints
    assert item.target == rig and item.subtarget.startswith("B3 ")
    assert selected() == [item.subtarget] and rig.data.bones.active.name == item.subtarget
    assert rig.mode == "POSE"
    update()
    assert operator == "follow_add" or item.state == "REACHED"


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_script_gets_an_empty_unless_it_asks_for_a_bone(operator: str) -> None:
    rig = make_chain(4)
    enter_pose_mode(rig)
    click_bones(rig, "B3")
    assert getattr(bpy.ops.fabrik, operator)() == {"FINISHED"}
    assert rig.fabrik.constraints[0].target.type == "EMPTY"
    assert selected() == ["B3"]
    assert press(operator) == {"FINISHED"}
    assert rig.fabrik.constraints[1].target == rig


@pytest.mark.parametrize("is_linked", [False, True])
@pytest.mark.parametrize("chosen", ["", "EMPTY"])
def test_the_interface_makes_bones_where_it_can(
    chosen: str, is_linked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from addon.ui import adding

    monkeypatch.setattr(adding, "uneditable_problem", lambda _armature: "linked" * is_linked)
    made: list[str] = []

    class Pressed(adding.MakingControls):
        controls = "EMPTY"
        properties = SimpleNamespace(is_property_set=lambda _name: bool(chosen))

        def execute(self, context: bpy.types.Context) -> set[Any]:
            made.append(self.controls)
            return {"FINISHED"}

    rig = make_chain(3)
    enter_pose_mode(rig)
    click_bones(rig, "B2")
    assert Pressed().invoke(bpy.context, None) == {"FINISHED"}
    assert made == ["EMPTY" if chosen or is_linked else "BONE"]


@pytest.mark.parametrize("operator", [*OPERATORS, "wave_add"])
def test_each_selected_bone_gets_one(operator: str) -> None:
    rig = make_face()
    click_bones(rig, "Tail3.L", "Tail2.R")
    assert press(operator) == {"FINISHED"}
    assert tips(rig) == ["Tail3.L", "Tail2.R"]
    assert rig.fabrik.active_index == 0
    names = [item.subtarget for item in rig.fabrik.constraints]
    if operator == "wave_add":
        assert names == ["", ""]
    elif operator == "look_add":
        assert len(set(names)) == 1, "both point backward"
    else:
        assert sorted(selected()) == sorted(set(names)) and len(set(names)) == 2
        assert rig.data.bones.active.name == names[0]


def test_each_gets_the_chain_of_its_own_limb() -> None:
    rig = make_face()
    click_bones(rig, "Tail3.L", "Tail2.R")
    press("constraint_add")
    assert [item.chain_count for item in rig.fabrik.constraints] == [3, 2]
    assert [item.solver for item in rig.fabrik.constraints] == ["FABRIK", "TWO_BONE"]


def test_a_line_of_selected_bones_is_one_chain() -> None:
    rig = make_face()
    click_bones(rig, "Tail.L", "Tail2.L", "Tail3.L")
    press("constraint_add")
    assert tips(rig) == ["Tail3.L"]


@pytest.mark.parametrize("operator", REACHING)
def test_a_selected_object_is_the_target_of_all(operator: str) -> None:
    target = make_empty(location=(0, 1, 1.5))
    rig = make_face()
    target.select_set(True)
    click_bones(rig, "Tail3.L", "Tail2.R")
    press(operator)
    assert {item.target for item in rig.fabrik.constraints} == {target}
    assert sorted(selected()) == ["Tail2.R", "Tail3.L"], "nothing was made"


@pytest.mark.parametrize("operator", REACHING)
def test_a_bone_of_another_armature_is_the_target_of_all(operator: str) -> None:
    other = make_chain(1, "Other", ((0, 1, 1), (0, 1, 2)))
    rig = make_face()
    bpy.ops.object.mode_set(mode="OBJECT")
    enter_pose_mode(rig, other)
    click_bones(rig, "Tail3.L", "Tail2.R")
    select_bone(other, "B0")
    press(operator)
    ends = {(item.target.name, item.subtarget) for item in rig.fabrik.constraints}
    assert ends == {("Other", "B0")} and tips(rig) == ["Tail3.L", "Tail2.R"]
    assert not other.fabrik.constraints


def lone(_rig: Any) -> str:
    return "Control"


def held(rig: Any) -> str:
    """A bone that does not deform, below another one."""
    rig.data.bones["Head"].use_deform = False
    return "Head"


@pytest.mark.parametrize("active", [0, 1])
@pytest.mark.parametrize("control", [lone, held])
def test_a_selected_control_is_the_target(control: Callable[[Any], str], active: int) -> None:
    rig = make_face()
    names = ["Tail3.L", control(rig)]
    click_bones(rig, names[active], names[1 - active])
    press("constraint_add")
    (item,) = rig.fabrik.constraints
    assert (item.bone, item.target, item.subtarget) == ("Tail3.L", rig, names[1])


def test_controls_among_themselves_get_one_each() -> None:
    rig = make_face()
    for name in ("Eye.L", "Eye.R"):
        rig.data.bones[name].use_deform = False
    click_bones(rig, "Eye.L", "Eye.R")
    press("look_add")
    assert tips(rig) == ["Eye.L", "Eye.R"]


def test_what_the_other_bones_are_is_a_choice_in_the_redo_panel() -> None:
    rig = make_face()
    click_bones(rig, "Tail3.L", "Eye.L")
    press("constraint_add", others="TARGET")
    (item,) = rig.fabrik.constraints
    assert (item.bone, item.subtarget) == ("Tail3.L", "Eye.L")
    click_bones(rig, "Tail2.R", "Control")
    press("look_add", others="EACH")
    assert tips(rig)[1:] == ["Tail2.R", "Control"]


def test_what_breaks_off_leaves_nothing_behind() -> None:
    rig = make_face()
    rig.pose.bones["Eye.R"].scale = (1, 0, 1)
    update()
    bones, objects = rig.data.bones.keys(), bpy.data.objects.keys()
    click_bones(rig, "Eye.L", "Eye.R")
    refuses(bpy.ops.fabrik.look_add, saying="zero scale along an axis")
    assert not rig.fabrik.constraints
    target = make_empty()
    target.parent, target.parent_type, target.parent_bone = rig, "BONE", "Eye.R"
    target.select_set(True)
    update()
    refuses(bpy.ops.fabrik.constraint_add, saying="depends on the chain itself")
    assert not rig.fabrik.constraints and rig.data.bones.keys() == bones
    assert [*objects, target.name] == sorted(
        bpy.data.objects.keys(), key=[*objects, "Target"].index
    )


def test_a_pole_is_a_control_bone_that_is_selected() -> None:
    target = make_empty(location=(0, 1, 1.5))
    rig = make_face()
    target.select_set(True)
    click_bones(rig, "Tail3.L")
    press("constraint_add")
    before = evaluated(rig).pose.bones["Tail2.L"].head.copy()
    press("pole_add")
    update()
    (item,) = rig.fabrik.constraints
    assert (item.pole_target, item.pole_subtarget) == (rig, "Tail3 Pole.L")
    assert item.target == target and selected() == ["Tail3 Pole.L"]
    assert (evaluated(rig).pose.bones["Tail2.L"].head - before).length < 1e-4


def make_parts(rig: Any) -> list[Any]:
    """Two meshes deformed by an armature, and two parented to it, selected as after an import."""
    parts = [bpy.data.objects.new(name, bpy.data.meshes.new(name)) for name in "ABCD"]
    for part in parts:
        bpy.context.scene.collection.objects.link(part)
        part.parent = rig
    for part in parts[:2]:
        part.modifiers.new("Armature", "ARMATURE").object = rig
    parts[2].parent_type, parts[2].parent_bone = "BONE", "Tail.L"
    for part in parts:
        part.select_set(True)
    return parts


@pytest.mark.parametrize("operator", REACHING)
def test_meshes_of_the_character_that_its_importer_selected_are_no_targets(operator: str) -> None:
    rig = make_face()
    make_parts(rig)
    click_bones(rig, "Tail3.L")
    assert press(operator) == {"FINISHED"}
    assert [item.target for item in rig.fabrik.constraints] == [rig]

    rig.fabrik.constraints.clear()
    ball = make_empty("Ball", (0, -2, 1.5))
    ball.select_set(True)
    click_bones(rig, "Head")
    assert press(operator) == {"FINISHED"}
    assert [item.target for item in rig.fabrik.constraints] == [ball]


def test_one_thing_that_the_character_carries_is_a_target() -> None:
    rig = make_face()
    *others, carried = make_parts(rig)
    for part in others[1:]:
        part.select_set(False)
    click_bones(rig, "Head")
    assert press("look_add") == {"FINISHED"}
    assert [item.target for item in rig.fabrik.constraints] == [carried]
