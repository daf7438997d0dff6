"""What follows itself through Blender's own relations is shown as Blender evaluates it, and said.

Each way to follow a bone makes a circle above each thing that a chain depends on.
"""

from collections.abc import Callable
from typing import Any

import bpy
import pytest
import rigs
from mathutils import Vector

from addon.blender.native_constraints import READERS

BONES = {
    "Root": ((0, 0, -1), (0, 0, 0), ""),
    "B0": ((0, 0, 0), (0, 0.2, 1), "Root"),
    "B1": ((0, 0.2, 1), (0, 0, 2), "B0"),
    "Child": ((1, 1, -1), (1, 1, 0), "Root"),
    "Goal": ((2, 1, 0), (2, 1, 1), ""),
    "Below": ((2, 1, 1), (2, 1.2, 1.5), "Goal"),
    "Other": ((4, 0, -1), (4, 0, 0), ""),
    "C0": ((4, 0, 0), (4, 0.2, 1), "Other"),
    "C1": ((4, 0.2, 1), (4, 0, 2), "C0"),
}

NO_TARGET = [kind for kind in READERS if kind.startswith("LIMIT_") and kind != "LIMIT_DISTANCE"]

KINDS = [*(kind for kind in READERS if kind not in NO_TARGET), "ARMATURE", "driver"]


def follow(owner: Any, kind: str, target: bpy.types.Object, bone: str = "") -> None:
    """Have an object or bone follow another through a constraint or driver."""
    if kind == "driver":
        curve = owner.driver_add("location", 0)
        variable = curve.driver.variables.new()
        variable.type, variable.name = "TRANSFORMS", "x"
        variable.targets[0].id, variable.targets[0].bone_target = target, bone
        curve.driver.expression = "0.3 * x + 0.1"
        return
    con = owner.constraints.new(kind)
    end = con.targets.new() if kind == "ARMATURE" else con
    end.target, end.subtarget = target, bone


Circle = Callable[[bpy.types.Object, Any, str], None]
"""Makes an armature follow itself where a constraint of ours depends on it."""


def above_the_root(rig: bpy.types.Object, item: Any, kind: str) -> None:
    follow(rig.pose.bones["Root"], kind, rig, "Child")


def between_two_bones(rig: bpy.types.Object, item: Any, kind: str) -> None:
    follow(rig.pose.bones["Root"], kind, rig, "Goal")
    follow(rig.pose.bones["Goal"], kind, rig, "Child")


def between_two_armatures(rig: bpy.types.Object, item: Any, kind: str) -> None:
    other = rigs.make_armature(BONES, "Second")
    other.location = (0, 3, 0)
    follow(rig.pose.bones["Root"], kind, other, "Child")
    follow(other.pose.bones["Root"], kind, rig, "Child")


def of_the_target(rig: bpy.types.Object, item: Any, kind: str) -> None:
    follow(rig.pose.bones["Goal"], kind, rig, "Below")
    item.target, item.subtarget = rig, "Below"


def of_the_pole(rig: bpy.types.Object, item: Any, kind: str) -> None:
    follow(rig.pose.bones["Goal"], kind, rig, "Below")
    item.pole_target, item.pole_subtarget = rig, "Below"


def through_an_object(rig: bpy.types.Object, item: Any, kind: str) -> None:
    between = rigs.make_empty("Between", (0, 0, 0))
    between.parent, between.parent_type, between.parent_bone = rig, "BONE", "Below"
    follow(rig.pose.bones["Goal"], kind, rig, "Below")
    item.target = between


def below_another_chain(rig: bpy.types.Object, item: Any, kind: str) -> None:
    hand = rigs.make_armature(BONES, "Hand")
    hand.location = (0, 3, 0)
    rigs.add_constraint(hand, "Root", rigs.make_empty("Moved", (0.6, 3.2, -0.4)), chain_count=1)
    follow(hand.pose.bones["Child"], kind, rig, "Goal")
    follow(rig.pose.bones["Goal"], kind, hand, "Child")
    item.target, item.subtarget = hand, "Child"


CIRCLES: tuple[Circle, ...] = (
    above_the_root,
    between_two_bones,
    between_two_armatures,
    of_the_target,
    of_the_pole,
    through_an_object,
    below_another_chain,
)


def make_rig() -> tuple[bpy.types.Object, Any, Any]:
    """Make an armature of two chains, and return it with their constraints."""
    rig = rigs.make_armature(BONES)
    rig.pose.bones["Child"].rotation_quaternion = (1, 0.2, 0.3, 0.1)
    moved = rigs.make_empty("Moving", (1, 0.5, 1.5))
    for frame, place in ((1, (1, 0.5, 1.5)), (10, (0.6, -0.5, 1.2))):
        moved.location = place
        moved.keyframe_insert("location", frame=frame)
    item = rigs.add_constraint(rig, "B1", moved, chain_count=2)
    still = rigs.add_constraint(rig, "C1", rigs.make_empty("Still", (5, 0.3, 1.4)), chain_count=2)
    return rig, item, still


def target_of(item: Any) -> Vector:
    shown = rigs.evaluated(item.target)
    if not item.subtarget:
        return shown.matrix_world.translation
    return shown.matrix_world @ shown.pose.bones[item.subtarget].head


def assert_said(rig: bpy.types.Object, item: Any, still: Any) -> None:
    """Whatever depends on a circle says so, with the error that is shown; nothing else does."""
    assert "follows itself, one update late" in item.message
    assert item.state != "INVALID"
    error = (rigs.tip_world(rig, item.bone) - target_of(item)).length
    assert item.error == pytest.approx(error, abs=2e-5)
    assert still.state == "REACHED"
    assert not still.message
    assert (rigs.tip_world(rig, still.bone) - target_of(still)).length < 1e-4


@pytest.mark.parametrize("circle", CIRCLES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_follows_itself_is_shown_and_said(
    kind: str, circle: Circle, capfd: pytest.CaptureFixture[str]
) -> None:
    rig, item, still = make_rig()
    circle(rig, item, kind)
    rigs.update()
    assert_said(rig, item, still)
    rig.pose.bones["Child"].location.x += 0.1
    rigs.update(rig)
    assert_said(rig, item, still)
    for frame in (1, 2, 3, 9, 2, 3):
        rigs.go(frame)
        assert_said(rig, item, still)
    assert "report" not in capfd.readouterr().out


@pytest.mark.parametrize("kind", ["DAMPED_TRACK", "ARMATURE"])
def test_a_circle_through_the_chain_itself_refuses_it_alone(kind: str) -> None:
    rig, item, still = make_rig()
    second = rigs.add_constraint(rig, "Child", rigs.make_empty("Second"), chain_count=1)
    follow(rig.pose.bones["Root"], kind, rig, "B1")
    rigs.update()
    assert item.state == "INVALID"
    assert "depends on the chain itself" in item.message
    assert "“Root” follows itself" in second.message
    assert second.state != "INVALID"
    assert still.state == "REACHED"


def test_a_circle_that_is_made_between_updates_and_broken_again() -> None:
    rig, item, still = make_rig()
    rigs.update()
    for _ in range(2):
        above_the_root(rig, item, "DAMPED_TRACK")
        rigs.update()
        assert_said(rig, item, still)
        con = rig.pose.bones["Root"].constraints[0]
        con.mute = True
        rigs.update()
        assert (item.state, item.message) == ("REACHED", "")
        con.mute = False
        rigs.update()
        assert_said(rig, item, still)
        rig.pose.bones["Root"].constraints.remove(con)
        rigs.update()
        assert (item.state, item.message) == ("REACHED", "")


@pytest.mark.parametrize("event", ["frame_change_pre", "depsgraph_update_pre", "frame_change_post"])
@pytest.mark.parametrize("circle", [above_the_root, of_the_target, below_another_chain])
@pytest.mark.parametrize("kind", ["DAMPED_TRACK", "ARMATURE"])
def test_a_circle_that_a_handler_closes(
    kind: str, circle: Circle, event: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Ours then writes ahead of the evaluation, from a plan that doesn't know of it."""
    rig, item, still = make_rig()
    circle(rig, item, kind)
    con = rig.pose.bones["Root" if circle is above_the_root else "Goal"].constraints[0]
    con.mute = True
    rigs.go(1, 2, 3)

    def close(scene: bpy.types.Scene, _depsgraph: object = None) -> None:
        rig.pose.bones["Other"].location.x += 0.001
        con.mute = scene.frame_current < 5

    handlers = getattr(bpy.app.handlers, event)
    handlers.append(close)
    try:
        rigs.go(4, 5, 6)
        still.target.location.z += 0.1
        rigs.update()
    finally:
        handlers.remove(close)
    rigs.go(7)
    assert_said(rig, item, still)
    assert "report" not in capfd.readouterr().out


def test_constraints_that_are_never_on_together_make_no_circle() -> None:
    rig, item, _still = make_rig()
    of_the_target(rig, item, "COPY_LOCATION")
    first = rig.pose.bones["Goal"].constraints[0]
    first.subtarget = "Child"
    follow(rig.pose.bones["Child"], "COPY_LOCATION", rig, "Below")
    second = rig.pose.bones["Child"].constraints[0]
    for con, values in ((first, (1.0, 0.0)), (second, (0.0, 1.0))):
        for frame, value in zip((1, 5), values, strict=True):
            con.influence = value
            con.keyframe_insert("influence", frame=frame)
    for curve in rigs.curves(rig):
        for key in curve.keyframe_points:
            key.interpolation = "CONSTANT"
    for frame in (1, 2, 5, 6, 4, 5):
        rigs.go(frame)
        assert not item.message or item.state == "OUT_OF_REACH"


def test_a_driver_that_reads_its_own_armature_or_a_channel_makes_no_circle() -> None:
    rig, item, still = make_rig()
    follow(rig, "driver", rig, "Child")
    variable = rig.pose.bones["Root"].driver_add("location", 1).driver.variables.new()
    variable.targets[0].id = rig
    variable.targets[0].data_path = 'pose.bones["Child"].location[2]'
    rigs.update()
    assert (item.message, still.message) == ("", "")
