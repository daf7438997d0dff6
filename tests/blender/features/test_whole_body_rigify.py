"""Dragging the whole body of a generated Rigify rig: its FK controls bend."""

from __future__ import annotations

from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import bpy
import pytest
from dragged_bodies import angle_between, head_of, tail_of, turn_between
from generated import generated_rig
from mathutils import Matrix, Vector
from rigs import activate, channels_bits, go, is_keyed, key, shown_bits, update, watch

from addon.blender.access import hiding
from addon.features.whole_body.dragging import WholeBodyDrag

FEET = ("foot_ik.L", "foot_ik.R")
DRAGS = {
    "hand_ik.L": ("ORG-hand.L", (0.1, -0.3, 0.2)),
    "hand_fk.R": ("ORG-hand.R", (-0.1, -0.3, -0.3)),
    "torso": ("ORG-spine", (0.05, 0.0, -0.2)),
    "head": ("ORG-spine.006", (0.1, -0.1, -0.1)),
    "foot_ik.L": ("ORG-foot.L", (0.0, -0.2, 0.2)),
}
"""For each control the bone that has to go there at its head, and the way."""


@pytest.fixture
def rig(empty_file: None, tmp_path: Path) -> Any:
    rig = generated_rig("human", tmp_path)
    activate(rig)
    bpy.ops.object.mode_set(mode="POSE")
    update()
    return rig


def matrix_of(rig: Any, bone: str) -> Any:
    shown = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return shown.pose.bones[bone].matrix.copy()


@pytest.mark.parametrize("control", DRAGS)
def test_controls_bend_so_that_pins_stay_and_the_bone_is_there(rig: Any, control: str) -> None:
    for foot in FEET:
        bpy.ops.fabrik.pin(bone=foot, kind="BOTH")
    bone, way = DRAGS[control]
    pinned = [f"ORG-foot.{side}" for side in "LR" if f"ORG-foot.{side}" != bone]
    start = {name: head_of(rig, name) for name in (bone, *pinned)}
    turned = {name: matrix_of(rig, name) for name in pinned}
    assert bpy.ops.fabrik.drag(bone=control, value=way) == {"FINISHED"}
    update()
    assert (head_of(rig, bone) - start[bone] - Vector(way)).length < 1e-3
    for foot in pinned:
        assert (head_of(rig, foot) - start[foot]).length < 1e-4
        assert turn_between(rig, foot, turned[foot]) < 1e-3


def test_limbs_are_switched_to_fk_and_cancelling_restores_all(rig: Any) -> None:
    before = channels_bits(rig), shown_bits(rig)
    switch = rig.pose.bones["upper_arm_parent.L"]
    value = switch["IK_FK"]
    dragged = WholeBodyDrag(bpy.context.evaluated_depsgraph_get(), rig, "hand_ik.L")
    assert switch["IK_FK"] == 1.0
    dragged.move_by((0.1, -0.3, 0.2))
    update()
    assert shown_bits(rig) != before[1]
    dragged.cancel()
    update()
    assert switch["IK_FK"] == value
    assert (channels_bits(rig), shown_bits(rig)) == before


def test_a_drag_says_that_limbs_were_switched_and_the_next_one_does_not(rig: Any) -> None:
    notes = []
    for _ in range(2):
        dragged = WholeBodyDrag(bpy.context.evaluated_depsgraph_get(), rig, "hand_ik.L")
        dragged.move_by((0.0, -0.05, 0.0))
        notes.append(dragged.confirm())
        update()
    assert "limbs were switched to FK" in notes[0] and notes[1] == ""


@pytest.mark.parametrize("kind", ["basic_human", "wolf", "horse"])
def test_switched_back_to_ik_after_a_drag_nothing_jumps(kind: str, tmp_path: Path) -> None:
    """Rigify's own controls for IK follow; animated FK controls keep the pose from the drag."""
    rig = generated_rig(kind, tmp_path)
    activate(rig)
    bpy.ops.object.mode_set(mode="POSE")
    names = [bone.name for bone in rig.pose.bones if bone.name.startswith("ORG-")]
    leg = 2.0 * rig.data.bones["ORG-thigh.L"].length
    switches = [bone for bone in rig.pose.bones if "IK_FK" in bone]
    hidden = rig.pose.bones["thigh_ik_target.R"]
    hiding(rig, hidden.name).hide = True
    for way in ((0.1 * leg, -0.1 * leg, -0.2 * leg), (0.0, 0.2 * leg, 0.1 * leg)):
        dragged = WholeBodyDrag(bpy.context.evaluated_depsgraph_get(), rig, "torso")
        dragged.move_by(way)
        update()
        posed = [matrix_of(rig, name) for name in names]
        dragged.confirm()
        update()
        assert [matrix_of(rig, name) for name in names] == posed
        assert {bone["IK_FK"] for bone in switches} == {1.0}
        for bone in switches:
            bone["IK_FK"] = 0.0
        rig.update_tag()
        update()
        shown = [matrix_of(rig, name) for name in names]
        moved = [(a.translation - b.translation).length for a, b in zip(shown, posed, strict=True)]
        assert max(moved) < 2e-3 * leg
        for bone in switches:
            bone["IK_FK"] = 1.0
        key(rig.pose.bones["thigh_fk.L"], "rotation_quaternion", {1: (1, 0, 0, 0), 9: (0, 1, 0, 0)})
        go(1)
    assert hidden.matrix_basis == Matrix()


def test_the_chest_is_dragged_at_its_end_and_controls_are_keyed(rig: Any) -> None:
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.preferences.edit.use_keyframe_insert_available = False
    start = tail_of(rig, "ORG-spine.003")
    bpy.ops.fabrik.drag(bone="chest", value=(0.0, -0.1, -0.1), whole_body=True)
    update()
    assert (tail_of(rig, "ORG-spine.003") - start - Vector((0.0, -0.1, -0.1))).length < 1e-3
    assert is_keyed(rig, 'pose.bones["torso"].location')
    assert is_keyed(rig, 'pose.bones["shin_fk.L"].rotation_quaternion')
    assert not is_keyed(rig, 'pose.bones["ORG-spine"].rotation_quaternion')


@pytest.mark.parametrize("control, most", [("head", 3), ("hand_ik.L", 1), ("torso", 1)])
def test_a_move_evaluates_the_rig_as_rarely_as_its_constraints_allow(
    rig: Any, evaluations: list[float], control: str, most: int
) -> None:
    for foot in FEET:
        bpy.ops.fabrik.pin(bone=foot, kind="BOTH")
    watch(rig, "head")
    update()
    dragged = WholeBodyDrag(bpy.context.evaluated_depsgraph_get(), rig, control)
    counts: list[int] = []
    for step in range(1, 13):
        evaluations.clear()
        dragged.move_by((0.003 * step, -0.005 * step, -0.004 * step))
        update()
        counts.append(len(evaluations))
    dragged.cancel()
    assert median(counts) == most


def test_the_head_lags_little_behind_the_mouse_for_one_evaluation_and_settles(
    rig: Any, evaluations: list[float]
) -> None:
    for foot in FEET:
        bpy.ops.fabrik.pin(bone=foot, kind="BOTH")
    watch(rig, "head")
    update()
    names = ("ORG-spine.006", "ORG-foot.L", "ORG-foot.R")
    start = {name: head_of(rig, name) for name in names}
    settled: list[dict[str, Any]] = []
    for moves in (1, 40):
        dragged = WholeBodyDrag(bpy.context.evaluated_depsgraph_get(), rig, "head")
        counts: list[int] = []
        way = Vector()
        for move in range(1, moves + 1):
            way = Vector((0.06, -0.1, -0.08)) * (move / moves)
            evaluations.clear()
            dragged.follow(tuple(way))
            update()
            counts.append(len(evaluations))
            _, *feet = [(head_of(rig, name) - there).length for name, there in start.items()]
            assert max(feet) < 2e-5
            lag = (head_of(rig, names[0]) - start[names[0]] - way).length
            assert lag < 1e-3 * head_of(rig, names[0]).z
        dragged.settle()
        update()
        assert (head_of(rig, names[0]) - start[names[0]] - way).length < 2e-5
        evaluations.clear()
        dragged.settle()
        update()
        assert not evaluations
        settled.append({bone.name: matrix_of(rig, bone.name) for bone in rig.pose.bones})
        assert moves == 1 or (median(counts) == 1 and sum(counts) <= 1.1 * moves)
        dragged.cancel()
        update()
    for name, matrix in settled[0].items():
        assert (matrix.translation - settled[1][name].translation).length < 1e-4, name
        assert angle_between(matrix, settled[1][name]) < 1e-3, name


def test_what_moves_out_of_reach_teach_does_not_spoil_those_in_reach(rig: Any) -> None:
    for foot in FEET:
        bpy.ops.fabrik.pin(bone=foot, kind="BOTH")
    update()
    start = {name: head_of(rig, name) for name in ("ORG-spine.006", "ORG-foot.L", "ORG-foot.R")}
    dragged = WholeBodyDrag(bpy.context.evaluated_depsgraph_get(), rig, "head")
    random, place = Random(1), Vector()
    states: list[str] = []
    for _ in range(4):
        goal = Vector([random.uniform(-0.6, 0.6) for _ in range(3)])
        for _ in range(12):
            place += (goal - place) * random.uniform(0.1, 0.3)
            dragged.move_by(tuple(place))
            update()
            off = [(head_of(rig, name) - there).length for name, there in start.items()]
            assert max(off[1:]) < 1e-4
            if dragged.state == "REACHED":
                assert (
                    head_of(rig, "ORG-spine.006") - start["ORG-spine.006"] - place
                ).length < 1e-4
            states.append(dragged.state)
    dragged.cancel()
    assert 8 < states.count("REACHED") < 40
