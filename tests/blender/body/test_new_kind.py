"""A new kind of rig is one class: bones that copy controls with another prefix, or have titles."""

import inspect
from dataclasses import replace
from typing import Any

import bpy
import pytest
from captured_bodies import make_body
from dragged_bodies import head_of
from mathutils import Vector
from operating import click_bones
from rigs import activate, update

from addon.body import looking
from addon.body.body import Body, Limb, Row
from addon.body.rig import PlainRig

pytestmark = pytest.mark.newest


class Puppet(PlainRig):
    """Bones D-… are the body, and copy controls C-…, which are posed."""

    is_keyed = False

    def rows(self, armature: bpy.types.Object) -> list[Row]:
        rows = [row for row in super().rows(armature) if row.name.startswith("D-")]
        index = {row.name: i for i, row in enumerate(rows)}
        above = [row.bone.parent.name if row.bone.parent else "" for row in rows]
        return [
            row._replace(title=row.name[2:], parent=index.get(name, -1))
            for row, name in zip(rows, above, strict=True)
        ]

    def limb(self, body: Body, limb: Any) -> Limb:
        plain = super().limb(body, limb)
        assert plain is not None
        bones = tuple("C" + name[1:] for name in plain.bones)
        return replace(plain, bones=bones, hand="C" + plain.hand[1:])

    def meant(self, body: Body, bone: str) -> str:
        return name if (name := "D" + bone[1:]) in body.index else ""

    def control(self, armature: bpy.types.Object, bone: str) -> str:
        return "C" + bone[1:]

    def poser(self, carriers: Any, bone: str) -> str:
        return "C" + bone[1:]


@pytest.fixture
def puppet(empty_file: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(looking, "KINDS", (Puppet(), *looking.KINDS))
    rig: Any = make_body()
    activate(rig)
    for bone in rig.data.bones:
        bone.name = f"C-{bone.name}"
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    for control in [*bones]:
        bone = bones.new(f"D{control.name[1:]}")
        bone.head, bone.tail, bone.roll = control.head, control.tail, control.roll
        bone.parent = bones[f"D{control.parent.name[1:]}"] if control.parent else None
        control.use_deform = False
    bpy.ops.object.mode_set(mode="POSE")
    for bone in rig.pose.bones:
        if bone.name.startswith("D-"):
            con = bone.constraints.new("COPY_TRANSFORMS")
            con.target, con.subtarget = rig, f"C{bone.name[1:]}"
    update()
    return rig


def test_add_ik_limb(puppet: Any) -> None:
    click_bones(puppet, "D-Hand.L")
    assert bpy.ops.fabrik.limb_add() == {"FINISHED"}
    assert [(item.bone, item.chain_count) for item in puppet.fabrik.constraints] == [
        ("C-Hand.L", 2)
    ]


def test_set_up(puppet: Any) -> None:
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    ends = {item.bone for item in puppet.fabrik.constraints}
    assert ends == {"C-Hand.L", "C-Hand.R", "C-Foot.L", "C-Foot.R"}


def test_walk(puppet: Any) -> None:
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    assert {item.bone for item in puppet.fabrik.constraints} == {"C-Foot.L", "C-Foot.R"}
    assert puppet.fabrik.gaits[0].body == "C-Hips"
    left: Any = looking.body_of(puppet).legs[0]
    assert left.end == ("C-Foot.L", False, False) and left.foot.bone == "D-Foot.L"
    assert (left.joints[1].bone, left.joints[1].source) == (left.bones[1], "SET")


def test_drag_and_pin(puppet: Any) -> None:
    puppet.animation_data.action = None
    update()
    assert bpy.ops.fabrik.pin(bone="D-Foot.L", kind="BOTH") == {"FINISHED"}
    hand, foot = (head_of(puppet, name) for name in ("D-Hand.L", "D-Foot.L"))
    way = Vector((0.1, 0.05, 0.2))
    drag = bpy.ops.fabrik.drag(bone="D-Hand.L", value=way, whole_body=True)
    assert drag == {"FINISHED"}
    update()
    assert (head_of(puppet, "D-Hand.L") - hand - way).length < 2e-3
    assert (head_of(puppet, "D-Foot.L") - foot).length < 2e-3


class Titled(PlainRig):
    """Numbers are names. Properties show the kind of each bone and what carries it."""

    def marks(self, armature: bpy.types.Object) -> object:
        return [(bone.get("title"), bone.get("above")) for bone in armature.data.bones]

    def rows(self, armature: bpy.types.Object) -> list[Row]:
        titles = {bone.name: bone.get("title", "") for bone in armature.data.bones}
        rows = [row for row in super().rows(armature) if titles[row.name]]
        index = {titles[row.name]: i for i, row in enumerate(rows)}
        return [
            row._replace(title=titles[row.name], parent=index.get(row.bone.get("above", ""), -1))
            for row in rows
        ]


@pytest.fixture
def titled(empty_file: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(looking, "KINDS", (Titled(), *looking.KINDS))
    rig: Any = make_body()
    activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    prop = rig.data.edit_bones.new("Prop")
    prop.head, prop.tail, prop.parent = (0.2, 0, 1), (0.5, 0, 1), rig.data.edit_bones["Hips"]
    bpy.ops.object.mode_set(mode="POSE")
    bones = [bone for bone in rig.data.bones if bone.name != "Prop"]
    for bone in bones:
        bone["title"], bone["above"] = bone.name, bone.parent.name if bone.parent else ""
    for i, bone in enumerate(bones):
        bone.name = f"B{i:02}"
    update()
    return rig


def named(rig: Any, *titles: str) -> list[str]:
    names = {bone.get("title"): bone.name for bone in rig.data.bones}
    return [names[title] for title in titles]


def test_a_kind_whose_bones_have_titles(titled: Any) -> None:
    hand, hips = named(titled, "Hand.L", "Hips")
    click_bones(titled, hand)
    assert bpy.ops.fabrik.limb_add() == {"FINISHED"}
    assert [(item.bone, item.chain_count) for item in titled.fabrik.constraints] == [(hand, 2)]
    assert bpy.ops.fabrik.constraint_remove() == {"FINISHED"}
    assert bpy.ops.fabrik.character_set_up() == {"FINISHED"}
    ends = {item.bone for item in titled.fabrik.constraints}
    assert ends >= {*named(titled, "Hand.L", "Hand.R", "Foot.L", "Foot.R", "Head")}
    assert bpy.ops.fabrik.character_remove() == {"FINISHED"}
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    assert {item.bone for item in titled.fabrik.constraints} == {*named(titled, "Foot.L", "Foot.R")}
    assert titled.fabrik.gaits[0].body == hips


def test_bones_with_titles_are_dragged_and_pinned(titled: Any) -> None:
    hand, foot = named(titled, "Hand.L", "Foot.L")
    titled.animation_data.action = None
    update()
    assert bpy.ops.fabrik.pin(bone=foot, kind="BOTH") == {"FINISHED"}
    before = {name: head_of(titled, name) for name in (hand, foot)}
    way = Vector((0.1, 0.05, 0.2))
    assert bpy.ops.fabrik.drag(bone=hand, value=way, whole_body=True) == {"FINISHED"}
    update()
    assert (head_of(titled, hand) - before[hand] - way).length < 2e-3
    assert (head_of(titled, foot) - before[foot]).length < 2e-3


@pytest.mark.parametrize("kind", [Puppet, Titled])
def test_a_made_up_kind_of_rig_takes_at_most_60_lines(kind: type) -> None:
    """The tests above take it through Add IK Limb, Set Up, Walk, Drag and Pin."""
    assert len(inspect.getsource(kind).splitlines()) <= 60
