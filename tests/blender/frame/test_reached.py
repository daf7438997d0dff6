"""State, error and message are those of the written pose, and targets in reach are reached."""

import random
from collections.abc import Callable
from importlib import import_module
from math import radians
from typing import Any

import bpy
import pytest
import rigs
from humans import make_human
from kept_files import new_file
from mathutils import Vector
from operating import click_bones

from fabrik_solver import BodyPosture
from fabrik_solver.core.vectors import quat_about, quat_product

GOALS = ((0.3, -0.15, 0.1), (0.2, -0.3, -0.1), (0.35, 0, -0.25), (0.1, -0.25, 0.3))
"""Relative to the root of a limb of 0.56 m."""


def make_limb(bones: int, off: tuple[int, ...], limit: str, limited: tuple[int, ...]) -> Any:
    """A limb on a root bone, slightly bent, with some bones that do not inherit rotation."""
    xs = [0.16 + 0.56 * i / bones for i in range(bones + 1)]
    drawing: dict[str, Any] = {"Root": ((0, 0, 0), (0, 0, 0.2), "")}
    for i in range(bones):
        head, tail = (xs[i], 0.02 * (i > 0), 1.4), (xs[i + 1], 0.02 * (i < bones - 1), 1.4)
        drawing[f"B{i}"] = head, tail, f"B{i - 1}" if i else "Root"
    rig = rigs.make_armature(drawing)
    rigs.activate(rig, "EDIT")
    for bone in rig.data.edit_bones:
        bone.align_roll(Vector((0.0, 1.0, 0.0)))
    bpy.ops.object.mode_set(mode="OBJECT")
    for i in off:
        rig.data.bones[f"B{i}"].use_inherit_rotation = False
    for i in limited:
        joint, bone = rig.pose.bones[f"B{i}"].fabrik_joint, rig.pose.bones[f"B{i}"]
        joint.limit_type = limit
        if limit == "HINGE":
            joint.hinge_axis, joint.hinge_min, joint.hinge_max = "X", radians(-172), radians(8)
        elif limit == "CONE":
            joint.swing_x = joint.swing_z = radians(170)
            joint.twist_min, joint.twist_max = -0.01, 0.01
        elif limit == "BLENDER":
            bone.lock_ik_y = bone.lock_ik_z = bone.use_ik_limit_x = True
            bone.ik_min_x, bone.ik_max_x = radians(-172), radians(8)
    return rig


OFFS = {2: ((0,), (1,), (0, 1)), 3: ((0,), (1,), (2,), (1, 2), (0, 1, 2))}


@pytest.mark.parametrize("limit", ["NONE", "HINGE", "CONE", "BLENDER"])
@pytest.mark.parametrize(("solver", "bones"), [("TWO_BONE", 2), ("FABRIK", 3), ("CCD", 3)])
@pytest.mark.parametrize("how", ["as it is", "rotated, scaled, with Euler angles", "no pole"])
def test_bones_that_do_not_inherit_rotation_reach_within_their_limits(
    limit: str, solver: str, bones: int, how: str
) -> None:
    for off in OFFS[bones]:
        new_file()
        rig = make_limb(bones, off, limit, tuple(range(1, bones)))
        if how.startswith("rotated"):
            rig.location, rig.rotation_euler, rig.scale = (1, 2, 3), (0.4, -0.7, 2), (1.7,) * 3
        modes = ("XYZ", "AXIS_ANGLE", "ZYX") if how.startswith("rotated") else ("QUATERNION",) * 3
        for i in range(bones):
            rig.pose.bones[f"B{i}"].rotation_mode = modes[i]
        rigs.update()
        root = rig.matrix_world @ rig.data.bones["B0"].head_local
        target = rigs.make_empty()
        pole = None
        if how != "no pole":
            x = rig.matrix_world.to_3x3()
            pole = rigs.make_empty("Pole", root + x @ Vector((0.28, 0.6, 0)))
        item = rigs.add_constraint(
            rig, f"B{bones - 1}", target, solver=solver, chain_count=bones, pole_target=pole
        )
        for goal in GOALS:
            target.location = root + rig.matrix_world.to_3x3() @ Vector(goal)
            rigs.update()
            error = rigs.tip_error(rig, f"B{bones - 1}", target)
            assert (item.state, item.message) == ("REACHED", ""), (off, goal, error)
            assert error < 1e-3 and item.error == pytest.approx(error, abs=5e-6)


@pytest.mark.parametrize("side", ["hand.L", "foot.L"])
def test_ik_on_a_human_at_rest_whose_bones_do_not_inherit_rotation(side: str) -> None:
    """Add IK Limb leaves the pose as it was, and says so."""
    names = ("upper_arm", "forearm") if side == "hand.L" else ("thigh", "shin")
    for off in ((0,), (1,), (0, 1)):
        new_file()
        rig = make_human(False)
        for i in off:
            rig.data.bones[f"{names[i]}.L"].use_inherit_rotation = False
        rigs.update()
        before = rigs.tip_world(rig, side, use_tail=False)
        click_bones(rig, side)
        assert bpy.ops.fabrik.limb_add() == {"FINISHED"}
        rigs.update()
        item = rig.fabrik.constraints[-1]
        assert (item.state, item.message) == ("REACHED", "")
        assert (
            rigs.tip_world(rig, side, use_tail=False) - before
        ).length < 1e-3 and item.error < 1e-3
        control = rig.pose.bones[item.subtarget]
        random_place = random.Random(1)
        for _ in range(4):
            control.location = [random_place.uniform(-0.1, 0.0) for _ in range(3)]
            rigs.update()
            place = (
                rigs.evaluated(rig).matrix_world
                @ rigs.evaluated(rig).pose.bones[item.subtarget].head
            )
            error = (rigs.tip_world(rig, side, use_tail=False) - place).length
            assert error == pytest.approx(item.error, abs=1e-5)
            assert item.state == "REACHED" or item.message != ""
            assert "non-uniformly" not in item.message


# What breaks a solver is seen


TURN = quat_about((0.6, 0.0, 0.8), 0.3)


def broken_chain(solve: Callable[..., Any]) -> Callable[..., Any]:
    """A solver that turns the first bone aside, and reports what it did before."""

    def broken(*args: Any, **more: Any) -> Any:
        solved = solve(*args, **more)
        posture = solved[0] if isinstance(solved, tuple) else solved
        posture.numbers[:4] = quat_product(TURN, tuple(posture.numbers[:4]))
        return solved

    return broken


def broken_body(solve: Callable[..., BodyPosture]) -> Callable[..., BodyPosture]:
    def broken(*args: Any) -> BodyPosture:
        solved = solve(*args)
        solved.rotations[0] = quat_product(TURN, solved.rotations[0])
        return solved

    return broken


SCENES = {
    **{
        solver: ("addon.frame.chain.pose_in_world", broken_chain, {"solver": solver})
        for solver in ("FABRIK", "TWO_BONE", "CCD", "TEXTBOOK")
    },
    "TREE": ("addon.frame.tree.pose_body", broken_body, {"use_free_root": True}),
    "ROPE": ("addon.features.rope.rope.pose_rope", broken_chain, {"solver": "ROPE"}),
    "LOOK_AT": ("addon.features.look_at.look.look_in_world", broken_chain, {"solver": "LOOK_AT"}),
}


@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ", "AXIS_ANGLE"])
@pytest.mark.parametrize("kind", [*SCENES])
def test_a_solver_that_is_broken_on_purpose_is_seen(
    kind: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, breaking, settings = SCENES[kind]
    rig, target = rigs.make_chain(2, mode=mode), rigs.make_empty(location=(0.5, 0.3, 1.4))
    item = rigs.add_constraint(rig, "B1", target, chain_count=2, **settings)
    rigs.update()
    assert (item.state, item.message) == ("REACHED", "") and item.error < 1e-3
    module, name = where.rsplit(".", 1)
    solve = getattr(import_module(module), name)
    monkeypatch.setattr(where, breaking(solve))
    target.location.x += 0.05
    rigs.update()
    assert item.state == "OUT_OF_REACH" and item.error > 0.02
    assert item.message.startswith("The solver missed its target")
    if kind != "LOOK_AT":
        assert item.error == pytest.approx(rigs.tip_error(rig, "B1", target), abs=5e-6)
    monkeypatch.undo()
    target.location.x -= 0.02
    rigs.update()
    assert (item.state, item.message) == ("REACHED", "") and item.error < 1e-3


@pytest.mark.rows("influence")
@pytest.mark.parametrize(("influence", "state"), [(1.0, "OUT_OF_REACH"), (0.5, "REACHED")])
def test_the_error_is_that_of_what_is_shown(
    influence: float, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rotation channels don't hold the solution, and where influence is partial."""
    rig, target = rigs.make_chain(2, mode="XYZ"), rigs.make_empty(location=(0.5, 0.3, 1.4))
    item = rigs.add_constraint(rig, "B1", target, chain_count=2, influence=influence)
    if influence == 1.0:
        wrong = "addon.frame.write.channel_values"
        monkeypatch.setattr(wrong, lambda mode, turn, near: [0.1, 0.2, 0.3])
    rigs.update()
    assert item.state == state
    assert item.error == pytest.approx(rigs.tip_error(rig, "B1", target), abs=5e-6)
    assert item.error > 0.1


@pytest.mark.parametrize("is_tree", [False, True])
def test_a_constraint_whose_tip_a_layer_moves_afterwards_says_so(is_tree: bool) -> None:
    rig, target = rigs.make_chain(3), rigs.make_empty(location=(0.5, 0.3, 1.4))
    item = rigs.add_constraint(
        rig, "B2", target, chain_count=3, name="Reach", use_free_root=is_tree
    )
    layer = rigs.add_constraint(rig, "B2", solver="WAVE", chain_count=2, name="Sway")
    layer.wave.amplitude, layer.wave.speed = 0.3, 0.0
    rigs.update()
    error = rigs.tip_error(rig, "B2", target)
    assert error > 0.01 and item.error == pytest.approx(error, abs=5e-6)
    assert (item.state, item.message) == (
        "OUT_OF_REACH",
        "“Sway” moves the tip afterward: move this constraint below it in the list",
    )
    layer.wave.amplitude = 0.0
    rigs.update()
    assert (item.state, item.message) == ("REACHED", "")
    layer.wave.amplitude = 0.3
    rigs.activate(rig)
    rig.fabrik.constraints.move(1, 0)
    rigs.update()
    assert rig.fabrik.constraints[1].state == "REACHED"
    assert rigs.tip_error(rig, "B2", target) < 1e-3
