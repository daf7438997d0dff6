"""Chains that wave on top of their pose."""

import bpy
import pytest
import rigs
from mathutils import Vector
from operating import enter_pose_mode, refuses

STRAIGHT = [(0.0, 0.0, 0.25 * i) for i in range(17)]


def make_tentacle() -> bpy.types.Object:
    return rigs.make_chain(16, "Tentacle", STRAIGHT)


def wave(rig: bpy.types.Object, **settings: object) -> bpy.types.PropertyGroup:
    item = rigs.add_constraint(rig, "B15", solver="WAVE")
    for name, value in {"speed": 1.0, **settings}.items():
        setattr(item.wave, name, value)
    rigs.update()
    return item


def test_it_waves_with_the_time_and_needs_no_target() -> None:
    rig = make_tentacle()
    item = wave(rig)
    shown = set()
    for frame in range(1, 11):
        rigs.go(frame)
        shown.add(rigs.pose_bits(rig))
    assert len(shown) == 10
    assert (item.state, item.message) == ("REACHED", "")


def test_it_is_back_after_a_whole_wave() -> None:
    """A second is as many frames as the scene says, and a speed of 0.5 takes two of them."""
    rig = make_tentacle()
    wave(rig, speed=0.5)
    render = bpy.context.scene.render
    render.fps, render.fps_base = 30, 1.5
    rigs.go(3)
    before = [tuple(bone.rotation_quaternion) for bone in rigs.shown_bones(rig)]
    rigs.go(3 + 20)
    assert before[-1] != pytest.approx(rigs.shown_bones(rig)[-1].rotation_quaternion[:], abs=1e-3)
    rigs.go(3 + 40)
    for bone, rotation in zip(rigs.shown_bones(rig), before, strict=True):
        assert tuple(bone.rotation_quaternion) == pytest.approx(rotation, abs=1e-5)


def test_another_frame_rate_counts_at_once() -> None:
    rig = make_tentacle()
    wave(rig)
    rigs.go(7)
    before = rigs.pose_bits(rig)
    bpy.context.scene.render.fps *= 2
    rigs.update()
    at_once = rigs.pose_bits(rig)
    assert at_once != before
    rigs.go(2, 7)
    assert rigs.pose_bits(rig) == at_once


def test_without_speed_a_keyed_phase_moves_it() -> None:
    rig = make_tentacle()
    item = wave(rig, speed=0.0)
    rigs.go(1)
    still = rigs.pose_bits(rig)
    rigs.go(9)
    assert rigs.pose_bits(rig) == still
    rigs.key(item.wave, "phase", {1: 0.0, 9: 2.25})
    rigs.go(1)
    first = rigs.pose_bits(rig)
    rigs.go(9)
    assert rigs.pose_bits(rig) != first


def test_a_driver_that_sets_it_going_does_so_for_all_frames() -> None:
    """Blender evaluates it when what it reads changes, and not at each frame."""
    rig = make_tentacle()
    rig["going"] = 0.0
    wave(rig, speed=0.0)
    rigs.drive(rig.driver_add("fabrik.constraints[0].wave.speed"), rig, '["going"]')
    rigs.go(1)
    rig["going"] = 1.0
    rigs.update(rig)
    shown = set()
    for frame in (1, 2, 3):
        rigs.go(frame)
        shown.add(rigs.pose_bits(rig))
    assert len(shown) == 3


def test_another_seed_is_another_noise() -> None:
    rig = make_tentacle()
    item = wave(rig, noise=1.0)
    one = rigs.pose_bits(rig)
    item.wave.seed = 1
    rigs.update()
    assert rigs.pose_bits(rig) != one


def test_falloff_keeps_the_root_still() -> None:
    rig = make_tentacle()
    wave(rig, amplitude=1.0, falloff=1.0, speed=0.0, phase=0.25, wavelength=100.0)
    angles = [bone.rotation_quaternion.angle for bone in rigs.shown_bones(rig)]
    assert angles[0] < 0.05
    assert angles[-1] > 0.9


@pytest.mark.parametrize("name", ["amplitude", "phase", "speed", "direction"])
def test_bad_input_is_said_in_place(name: str) -> None:
    rig = make_tentacle()
    item = wave(rig)
    setattr(item.wave, name, float("nan"))
    rigs.go(2)
    assert item.state == "INVALID"
    assert item.message == (
        "A setting of the wave is invalid: enter a valid number for "
        f"“{item.wave.bl_rna.properties[name].name}”"
    )
    setattr(item.wave, name, 0.5)
    rigs.go(3)
    assert item.state == "REACHED"


def test_the_button_lets_the_whole_chain_wave() -> None:
    rig = make_tentacle()
    enter_pose_mode(rig, click="B15")
    assert bpy.ops.fabrik.wave_add() == {"FINISHED"}
    (item,) = rig.fabrik.constraints
    assert (item.solver, item.bone, item.target) == ("WAVE", "B15", None)
    assert len(bpy.data.objects) == 1
    rigs.update()
    assert item.state == "REACHED"


def test_a_mirrored_wave_is_the_mirror_image() -> None:
    bones = {}
    for side, x in ((".L", 1), (".R", -1)):
        bones[f"A{side}"] = ((0.2 * x, 0, 1), (x, 0.1, 1.3), "")
        bones[f"B{side}"] = ((x, 0.1, 1.3), (2 * x, 0, 1), f"A{side}")
    rig = rigs.make_armature(bones)
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in rig.data.edit_bones:
        bone.roll = 0.4 if bone.name.endswith(".L") else -0.4
    bpy.ops.object.mode_set(mode="OBJECT")
    item = rigs.add_constraint(rig, "B.L", solver="WAVE")
    item.wave.amplitude, item.wave.direction = 0.4, 0.6
    rigs.update()
    assert bpy.ops.fabrik.constraint_mirror() == {"FINISHED"}
    rigs.go(4)
    for bone in "AB":
        left, right = rigs.tip_world(rig, f"{bone}.L"), rigs.tip_world(rig, f"{bone}.R")
        assert (Vector((-left.x, left.y, left.z)) - right).length < 1e-5
    rest = rig.matrix_world @ rig.data.bones["B.L"].tail_local
    assert (rigs.tip_world(rig, "B.L") - rest).length > 0.05


@pytest.mark.parametrize(
    ("solver", "operator"),
    [
        ("WAVE", "pole_add"),
        ("ROPE", "pole_add"),
        ("LOOK_AT", "pole_add"),
        ("LOOK_AT", "offset_set"),
    ],
)
def test_what_would_do_nothing_to_it_is_refused(solver: str, operator: str) -> None:
    rig = make_tentacle()
    rigs.add_constraint(rig, "B15", rigs.make_empty(), solver=solver)
    rigs.update()
    count = len(bpy.data.objects)
    refuses(getattr(bpy.ops.fabrik, operator), "choose a constraint that reaches")
    assert len(bpy.data.objects) == count
    assert not rig.fabrik.constraints[0].use_offset


def test_a_baked_wave_that_is_left_on_is_said_to_wave_on() -> None:
    from addon.features.bake import bake, selecting

    rig = make_tentacle()
    wave(rig)
    picks, _ = selecting.select([(rig, 0)])
    layer = bpy.context.view_layer
    work = bake.bake(bpy.context.scene, layer, picks, bake.BakeOptions(1, 4, afterwards="LEAVE"))
    while True:
        try:
            next(work)
        except StopIteration as done:
            assert done.value.still_active == ["FABRIK IK"]
            break
