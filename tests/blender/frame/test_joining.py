"""Armatures that are joined into another one keep what they have, as Blender keeps constraints."""

from threading import Thread
from typing import Any

import bpy
import pytest
from rigs import (
    activate,
    add_constraint,
    as_strip,
    drive,
    evaluated,
    go,
    key,
    make_chain,
    make_empty,
    update,
    world_location,
)

from addon.blender.precision import rounding_of
from addon.blender.session import part
from addon.blender.skeleton import Point
from addon.frame import handlers

pytestmark = pytest.mark.usefixtures("silent")


def figure(name: str, x: float) -> Any:
    """A chain at some place that reaches for an Empty."""
    rig = make_chain(3, name)
    rig.location.x = x
    add_constraint(rig, "B2", make_empty(f"{name} Target", (x + 1, 0, 2)))
    return rig


def join(active: bpy.types.Object, *others: bpy.types.Object) -> None:
    """Join armatures into the active one as Ctrl+J does: the undo step is stored at once."""
    activate(active)
    for other in others:
        other.select_set(True)
    bpy.ops.object.join("EXEC_DEFAULT", True)


def tip(rig: bpy.types.Object, bone: str) -> tuple[float, ...]:
    shown = evaluated(rig)
    return tuple(shown.matrix_world @ shown.pose.bones[bone].tail)


def reaches(rig: Any, index: int) -> bool:
    item = rig.fabrik.constraints[index]
    return (
        item.state == "REACHED"
        and item.target is not None
        and (tip(rig, item.bone) == pytest.approx(tuple(world_location(item.target)), abs=1e-3))
    )


@pytest.mark.parametrize("is_layered", [False, True])
def test_keys_stay_when_an_armature_without_an_action_is_joined(is_layered: bool) -> None:
    """Blender takes the slot of the action if what is joined has drivers, as our constraints do.

    Below an offset layer, the NLA is in tweak mode, and the action is read-only.
    """
    rig, other = figure("A", 0), figure("B", 5)
    bone = rig.pose.bones["B0"]
    key(bone, "location", {1: 0.0, 11: 0.5}, 0)
    go(1)
    if is_layered:
        activate(rig, "POSE")
        assert bpy.ops.fabrik.offset_layer_add() == {"FINISHED"}
        bpy.ops.object.mode_set(mode="OBJECT")
    join(rig, other)
    go(11)
    assert bone.location.x == 0.5


@pytest.mark.parametrize("kept", [0, 1])
def test_constraints_go_along(kept: int) -> None:
    rigs = [figure("A", 0), figure("B", 5)]
    names = [rig.fabrik.constraints[0].target.name for rig in rigs]
    rigs[1 - kept].fabrik.constraints[0].softness = 0.01
    rigs[1 - kept].data.bones["B1"].fabrik_joint.stiffness = 0.5
    update()
    rig = rigs[kept]
    join(rig, rigs[1 - kept])
    items = rig.fabrik.constraints
    assert [item.target.name for item in items] == [names[kept], names[1 - kept]]
    assert [item.bone for item in items] == ["B2", "B2.001"]
    assert items[1].softness == pytest.approx(0.01)
    assert rig.data.bones["B1.001"].fabrik_joint.stiffness == 0.5
    assert len({item.name for item in items}) == len({item.key for item in items}) == 2
    assert reaches(rig, 0)
    assert items[1].state == "REACHED"


@pytest.mark.rows("has_any")
@pytest.mark.parametrize(("has_any", "bone"), [("joined", "B2.001"), ("kept", "B2")])
def test_an_armature_without_any(has_any: str, bone: str) -> None:
    """Others are joined into it, or it is joined into another."""
    bare, rig = make_chain(3, "Bare"), figure("A", 5)
    update()
    kept, joined = (bare, rig) if has_any == "joined" else (rig, bare)
    join(kept, joined)
    assert [item.bone for item in kept.fabrik.constraints] == [bone]
    assert reaches(kept, 0)


def test_three_of_the_same_names() -> None:
    rigs = [figure(name, x) for name, x in (("A", 0), ("B", 5), ("C", 10))]
    update()
    join(rigs[1], rigs[0], rigs[2])
    items = rigs[1].fabrik.constraints
    assert sorted(item.bone for item in items) == ["B2", "B2.001", "B2.002"]
    assert sorted(item.target.name for item in items) == ["A Target", "B Target", "C Target"]
    assert all(reaches(rigs[1], i) for i in range(3))


def test_a_control_armature_that_targets_are_in() -> None:
    """It has no constraints; the rig's, which reach for its bones, follow it into the rig."""
    rig, controls = make_chain(3, "Rig"), make_chain(1, "Controls", joints=((1, 0, 2), (1, 0, 3)))
    item = add_constraint(rig, "B2", controls, subtarget="B0")
    update()
    before = tip(rig, "B2")
    join(rig, controls)
    assert (item.target, item.subtarget) == (rig, "B0.001")
    assert item.state == "REACHED"
    assert tip(rig, "B2") == pytest.approx(before, abs=1e-5)
    assert "Controls" not in bpy.data.objects


def test_what_reaches_for_its_own_bones() -> None:
    other, rig = make_chain(3, "Other"), make_chain(3, "Rig")
    bpy.ops.object.mode_set(mode="EDIT")
    control = rig.data.edit_bones.new("Control")
    control.head, control.tail = (1, 0, 2), (1, 0, 3)
    bpy.ops.object.mode_set(mode="OBJECT")
    add_constraint(rig, "B2", rig, subtarget="Control")
    update()
    join(other, rig)
    (item,) = other.fabrik.constraints
    assert (item.bone, item.target, item.subtarget) == ("B2.001", other, "Control")
    assert item.state == "REACHED"
    assert "Rig" not in bpy.data.objects


@pytest.mark.parametrize("has_action", [False, True])
def test_keys_go_along(has_action: bool) -> None:
    a, b = figure("A", 0), figure("B", 5)
    b.rotation_mode = "XYZ"
    for frame, value in ((1, 0.25), (11, 0.75)):
        key(b.fabrik.constraints[0], "influence", {frame: value})
        b.pose.bones["B0"].keyframe_insert("location", frame=frame)
    if has_action:
        key(a.fabrik.constraints[0], "influence", {1: 0.5})
    update()
    go(6)
    join(a, b)
    for frame, value in ((1, 0.25), (6, 0.5), (11, 0.75)):
        go(frame)
        assert a.fabrik.constraints[1].influence == pytest.approx(value)
        assert a.fabrik.constraints[0].influence == (0.5 if has_action else 1.0)


@pytest.mark.parametrize("has_data", [False, True])
def test_an_armature_without_constraints_takes_an_action_as_in_blender(has_data: bool) -> None:
    """Blender gives it the action of the other one only if it has no animation data."""
    figure("Other", 9)
    a, b = make_chain(3, "A"), make_chain(3, "B")
    b.pose.bones["B0"].keyframe_insert("location", frame=1)
    if has_data:
        a.animation_data_create()
    update(a)
    join(a, b)
    update()
    assert (a.animation_data.action is None) == has_data


def test_strips_go_along() -> None:
    a, b = figure("A", 0), figure("B", 5)
    key(b.fabrik.constraints[0], "influence", {1: 0.25})
    as_strip(b)
    update()
    join(a, b)
    go(2)
    assert [item.influence for item in a.fabrik.constraints] == [1.0, 0.25]


def test_drivers_go_along() -> None:
    a, b = figure("A", 0), figure("B", 5)
    a.driver_add("fabrik.constraints[0].softness").driver.expression = "0.01"
    b.driver_add("fabrik.constraints[0].softness").driver.expression = "0.02"
    drive(b.driver_add("fabrik.constraints[0].weight"), b, "fabrik.constraints[0].influence")
    b.fabrik.constraints[0].influence = 0.5
    update()
    join(a, b)
    go(2)
    assert [item.softness for item in a.fabrik.constraints] == pytest.approx([0.01, 0.02])
    assert [item.weight for item in a.fabrik.constraints] == pytest.approx([1.0, 0.5])
    paths = [curve.data_path for curve in a.animation_data.drivers]
    assert len(paths) == len({*paths}) == 4
    assert all(curve.is_valid for curve in a.animation_data.drivers)


def test_lists_of_features_go_along() -> None:
    a, b = figure("A", 0), figure("B", 5)
    a.fabrik.constraints[0].name = b.fabrik.constraints[0].name = "Leg"
    gait = b.fabrik.gaits.add()
    gait.body = "B0"
    gait.legs.add().constraint = "Leg"
    hold = b.fabrik.holds.add()
    hold.bone = "B1"
    holder = hold.holders.add()
    holder.kind, holder.object, holder.bone = "BONE", a, "B0"
    pin = b.fabrik.pins.add()
    pin.name = pin.bone = "B2"
    b.fabrik.whole_body.use_balance = True
    update()
    join(a, b)
    fabrik = a.fabrik
    (gait,), (hold,), (pin,) = fabrik.gaits, fabrik.holds, fabrik.pins
    second = fabrik.constraints[1]
    assert gait.body == "B0.001"
    assert (gait.legs[0].constraint, gait.legs[0].key) == (second.name, second.key)
    assert second.name != "Leg"
    assert (hold.bone, hold.holders[0].object, hold.holders[0].bone) == ("B1.001", a, "B0")
    assert (pin.bone, pin.name) == ("B2.001", "B2.001")
    assert fabrik.whole_body.use_balance


def test_undo_and_redo() -> None:
    """One step undoes the join; redone, and undone to right after it, all is there again."""
    figure("A", 0), figure("B", 5)
    update()
    bpy.ops.ed.undo_push(message="Before")

    def state() -> list[list[str]]:
        update()
        rigs = [ob for ob in map(bpy.data.objects.get, "AB") if ob is not None]
        return [[f"{i.bone} {i.target.name} {i.state}" for i in r.fabrik.constraints] for r in rigs]

    before = state()
    join(bpy.data.objects["A"], bpy.data.objects["B"])
    after = state()
    assert after == [["B2 A Target REACHED", "B2.001 B Target REACHED"]]
    bpy.ops.ed.undo()
    assert state() == before
    bpy.ops.ed.redo()
    assert state() == after
    bpy.data.objects["A"].fabrik.constraints.remove(1)
    update()
    bpy.ops.ed.undo_push(message="Removed")
    bpy.ops.ed.undo()
    assert state() == after
    bpy.ops.ed.redo()
    assert state() == [["B2 A Target REACHED"]]  # And it is not added again.


def test_a_removed_armature_is_no_joined_one() -> None:
    a, b = figure("A", 0), figure("B", 5)
    update()
    bpy.data.objects.remove(b)
    activate(a, "EDIT")
    a.data.edit_bones.new("Other").tail = (0, 0, 1)
    bpy.ops.object.mode_set(mode="OBJECT")
    update()
    assert len(a.fabrik.constraints) == 1


def test_the_thread_of_a_render_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The window reads the same data meanwhile, and notes what is joined there."""
    figure("A", 0)
    update()
    asked: list[bool] = []
    monkeypatch.setattr(handlers.joining, "follow_joins", lambda *_: asked.append(True))
    part(handlers.Events).is_undone = True
    thread = Thread(target=handlers.before_depsgraph_update, args=(bpy.context.scene,))
    thread.start()
    thread.join()
    assert not asked
    handlers.before_depsgraph_update(bpy.context.scene)
    assert asked


def test_what_is_joined_into_may_have_hung_on_it() -> None:
    body, prop = figure("A", 0), figure("B", 5)
    for rig in (body, prop):
        rig.fabrik.constraints[0].chain_count = 2
    prop.parent, prop.parent_type, prop.parent_bone = body, "BONE", "B0"
    update()
    join(prop, body)
    assert prop.parent in (None, prop)  # Itself in Blender 4.2.
    go(2)
    prop.fabrik.constraints[0].target.location.x += 0.1
    update()
    assert [item.state for item in prop.fabrik.constraints] != ["INVALID", "INVALID"]
    rounding_of(bpy.context.evaluated_depsgraph_get(), Point(prop, None, -1))
