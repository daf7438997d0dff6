"""A new kind of rig is one class: here, bones of a body that copy controls with another prefix."""

from __future__ import annotations

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
        return plain._replace(bones=bones, hand="C" + plain.hand[1:])

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
