"""Feet on the ground: no slide, nothing below the ground, a smooth hip, all from a flat walk."""

from array import array
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import acos, degrees, radians
from typing import Any

import bpy
import pytest
import rigs
import walkers
from inside import forget
from mathutils import Matrix, Vector
from shapes import make_terrain

from addon.blender import meshes
from addon.blender.rays import Cast, Ground, Hit

LEG = 0.8

WALKS = {
    "flat": (walkers.make_walker, walkers.flat),
    "hills": (walkers.make_walker, walkers.hills),
    "stairs": (walkers.make_walker, walkers.stairs),
    "rolling flat": (walkers.rolling_walker, walkers.flat),
    "rolling hills": (walkers.rolling_walker, walkers.hills),
    "rolling stairs": (walkers.rolling_walker, walkers.stairs),
    "rolling bowl": (walkers.rolling_walker, walkers.bowl),
    "rolling slope": (walkers.rolling_walker, walkers.slope),
}


@pytest.mark.parametrize("walk", WALKS)
def test_feet_stand_still_on_the_ground_and_not_in_it(walk: str) -> None:
    """Heel and toes are as high above the mesh as above the floor where the foot stands."""
    make, terrain = WALKS[walk]
    rig = make()
    walkers.stand(rig, walkers.make_ground(terrain), ray_above=3.0, ray_below=3.0)
    walkers.simulate(rig)
    spans = {side: walkers.contacts(rig, f".{side}") for side in walkers.SIDES}
    assert [len(found) for found in spans.values()] == [3, 4]
    starts: dict[tuple[str, int], Vector] = {}
    slide, miss, heels, toes, hips = 0.0, 0.0, [], [], []
    for frame in range(1, walkers.LAST + 1):
        rigs.go(frame)
        hips.append(walkers.hip(rig).z)
        assert walkers.states(rig) == {"REACHED"} and walkers.messages(rig) == {""}
        miss = max(miss, *(item.error for item in rig.fabrik.constraints))
        for side in walkers.SIDES:
            place, target = walkers.foot(rig, side), bpy.data.objects[f"Target.{side}"]
            heels.append(walkers.above(place) - walkers.ANKLE)
            # The animation itself has the toes this much lower now than where the foot stands.
            lower = 0.15 * target.rotation_quaternion.to_matrix().col[1].z
            floor = min(walkers.ANKLE, rigs.world_location(target).z + lower)
            toes.append(walkers.above(rigs.tip_world(rig, f"Foot.{side}")) - floor)
            for first, last in spans[side]:
                if first <= frame <= last:
                    start = starts.setdefault((side, first), place)
                    slide = max(slide, (place - start).length)
    bends = [abs(a - 2 * b + c) for a, b, c in zip(hips, hips[1:], hips[2:], strict=False)]
    # The ankle of a foot that rolls gives a little to spare the knee.
    assert slide < (1.5e-3 if "rolling" in walk else 1e-5)
    assert miss < 1e-4 * LEG
    assert min(heels) > -1e-3 and min(toes) > -3e-3
    assert max(heels) > 0.8 * (walkers.ANKLE + 0.12) - walkers.ANKLE
    assert max(bends) < 0.015


def test_figure_rises_with_ground_that_is_moved_by_hand() -> None:
    """Everything stands 30 cm higher at once, and no leg bends otherwise."""
    rig = walkers.walker_on(walkers.flat)
    rigs.go(30)
    before = walkers.hip(rig).z, walkers.foot(rig, "L").z
    bpy.data.objects["Ground"].location.z = 0.3
    rigs.update()
    after = walkers.hip(rig).z, walkers.foot(rig, "L").z
    assert after == pytest.approx([z + 0.3 for z in before], abs=1e-5)


def test_foot_turns_with_the_slope_up_to_the_largest_angle() -> None:
    rig = walkers.make_walker()
    ground = walkers.make_ground(lambda x, _y: 0.4 * x)
    walkers.stand(rig, ground, ray_above=3.0, ray_below=3.0)
    walkers.simulate(rig)
    slope = Vector((-0.4, 0, 1)).normalized()
    first, last = walkers.contacts(rig, "L")[1]
    for most, wanted in ((45, degrees(acos(slope.z))), (10, 10.0)):
        for item in rig.fabrik.constraints:
            item.ground.max_angle = radians(most)
        rigs.go((first + last) // 2)
        axes = (
            rigs.evaluated(rig).matrix_world @ rigs.evaluated(rig).pose.bones["Foot.L"].matrix
        ).to_3x3()
        toe = axes.col[1]
        assert abs(degrees(acos(max(-1.0, min(1.0, toe.x)))) - wanted) < 0.05
        assert abs(toe.y) < 1e-4  # It keeps its heading.


def test_offset_lifts_and_blend_height_lets_go() -> None:
    rig = walkers.walker_on(walkers.hills)
    first, _ = walkers.contacts(rig, "L")[1]
    rigs.go(first + 3)
    before = walkers.foot(rig, "L").copy()
    for item in rig.fabrik.constraints:
        item.ground.offset = 0.03
    rigs.go(first + 3)
    assert abs(walkers.foot(rig, "L").z - before.z - 0.03) < 1e-4
    for item in rig.fabrik.constraints:
        item.ground.blend = walkers.ANKLE / 2
    rigs.go(first + 3)
    assert (
        walkers.foot(rig, "L") - rigs.world_location(bpy.data.objects["Target.L"])
    ).length < 1e-5


def assert_shown(frames: Sequence[int], wanted: Sequence[bytes]) -> None:
    """Frames show what was reckoned from the file, and is now from what Blender has evaluated."""
    for now, then in zip(animated_bits(frames), wanted, strict=True):
        assert array("f", now) == pytest.approx(array("f", then), rel=1e-6, abs=1e-6)


def animated_bits(frames: Sequence[int]) -> list[bytes]:
    bits = []
    for frame in frames:
        rigs.go(frame)
        bits.append(rigs.everything_bits())
    return bits


@pytest.mark.parametrize(
    ("height", "away"), [(walkers.flat, 50.0), (lambda x, _y: 4.0 * x, 0.0)], ids=["away", "wall"]
)
def test_without_any_ground_below_it_is_the_animation(height: walkers.Height, away: float) -> None:
    """Nor is a wall ground."""
    rig = walkers.make_walker()
    ground = walkers.make_ground(height)
    ground.location.y = away
    rigs.update()
    frames = range(1, walkers.LAST, 7)
    wanted = animated_bits(frames)
    walkers.stand(rig, ground, ray_above=20.0, ray_below=20.0)
    walkers.simulate(rig)
    assert_shown(frames, wanted)


def test_hole_gives_the_animation_and_is_gone_into_smoothly() -> None:
    """The second contact of the left foot is over a hole."""
    rig = walkers.make_walker()
    ground = walkers.make_ground(lambda _x, _y: 0.2)
    faces = [p for p in ground.data.polygons if not 0.7 < p.center.x < 1.3]
    points = [v.co[:] for v in ground.data.vertices]
    mesh = bpy.data.meshes.new("Hole")
    mesh.from_pydata(points, [], [list(p.vertices) for p in faces])
    ground.data = mesh
    walkers.stand(rig, ground, hip="")
    walkers.simulate(rig)
    first, last = walkers.contacts(rig, "L")[1]
    heights = []
    for frame in range(1, last + 1):
        rigs.go(frame)
        heights.append(walkers.foot(rig, "L").z)
        if first <= frame <= last:
            assert (
                walkers.foot(rig, "L") - rigs.world_location(bpy.data.objects["Target.L"])
            ).length < 1e-5
    assert abs(heights[4] - walkers.ANKLE - 0.2) < 1e-5
    assert max(abs(b - a) for a, b in pairwise(heights)) < 0.15


def walker_on_a_ferry() -> tuple[bpy.types.Object, bpy.types.Object]:
    rig = walkers.make_walker()
    ground = walkers.make_ground(walkers.hills)
    for ob in (rig, *(bpy.data.objects[f"Target.{side}"] for side in walkers.SIDES)):
        ob.parent = ground
    walkers.key(ground, "location", [(0, 0, 0), (1, 2, 0.4)], [1, walkers.LAST], False)
    walkers.key(ground, "rotation_euler", [(0, 0, 0), (0, 0, 1.2)], [1, walkers.LAST], False)
    walkers.stand(rig, ground, ray_above=3.0, ray_below=3.0)
    walkers.simulate(rig)
    return rig, ground


def test_contact_rides_along_with_ground_that_moves_and_turns_whatever_its_name() -> None:
    rig, ground = walker_on_a_ferry()
    spans = walkers.contacts(rig, "L")
    assert len(spans) == 3
    for first, last in spans:
        local = []
        for frame in range(first, last + 1):
            rigs.go(frame)
            local.append(rigs.evaluated(ground).matrix_world.inverted() @ walkers.foot(rig, "L"))
        assert max((place - local[0]).length for place in local) < 1e-5
    assert walkers.states(rig) == {"REACHED"}
    rigs.go(50)
    shown = rigs.pose_bits(rig)
    ground.name = "Other"
    rigs.make_empty("Another")  # All is found anew.
    rigs.update()
    rigs.go(49)
    rigs.go(50)
    assert rigs.pose_bits(rig) == shown


def test_a_list_that_a_script_empties_is_noticed_when_only_the_ground_moves(
    capfd: pytest.CaptureFixture[str],
) -> None:
    rig = walkers.make_walker()
    bpy.ops.mesh.primitive_plane_add(size=50)
    ground = bpy.context.object
    rigs.activate(rig)
    for item in rig.fabrik.constraints:
        item.ground.source, item.ground.hip, item.ground.use = "SCENE", "Hip", True
    walkers.simulate(rig)
    rigs.go(12)
    rig.fabrik.constraints.clear()
    ground.location.z += 0.1
    rigs.update()
    assert "report this" not in "".join(capfd.readouterr())
    assert rigs.shown_bits(rig) == rigs.channels_bits(rig)


def test_pose_does_not_hang_on_the_frame_rate_after_the_pass() -> None:
    rig = walkers.walker_on(walkers.hills)
    rigs.go(20)
    shown = rigs.pose_bits(rig)
    bpy.context.scene.render.fps = 60
    rigs.update()
    rigs.go(21)
    rigs.go(20)
    assert rigs.pose_bits(rig) == shown


def test_ground_that_only_renders_show_is_said() -> None:
    rig = walkers.walker_on(walkers.flat)
    bpy.data.objects["Ground"].hide_viewport = True
    rigs.update()
    assert any(
        "disabled in viewports but not in renders" in message for message in walkers.messages(rig)
    )
    bpy.data.objects["Ground"].hide_render = True
    rigs.update()
    assert not any(
        "disabled in viewports but not in renders" in message for message in walkers.messages(rig)
    )


def test_armature_scaled_to_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    rig = walkers.walker_on(walkers.flat)
    rig.scale = (0, 0, 0)
    rigs.update()
    rigs.go(20)
    assert walkers.states(rig) == {"INVALID"}
    assert "report this" not in capsys.readouterr().out


def test_what_somebody_else_wrote_is_no_track() -> None:
    from addon.features.ground.track import unpacked

    assert [unpacked(blob) for blob in (b"5", b"null", b"[1, 24, 1, 2]", b"[]")] == [None] * 4


def test_platform_takes_along_a_foot_that_stands_on_it() -> None:
    """The platform goes to and fro below a figure that stands: the feet go with it."""
    rig = walkers.make_walker(is_cyclic=False)
    for ob in (rig, *(bpy.data.objects[f"Target.{side}"] for side in walkers.SIDES)):
        ob.animation_data_clear()
    ground = walkers.make_ground(walkers.flat)
    walkers.key(ground, "location", [(0, 0, 0), (0, 0.02, 0)], [1, 20], False)
    walkers.stand(rig, ground, speed=1.0)
    walkers.simulate(rig, 20)
    rigs.go(1)
    before = walkers.foot(rig, "L").copy()
    middle = walkers.contacts(rig, "L")[0]
    assert middle == (1, 20)
    rigs.go(20)
    assert abs(walkers.foot(rig, "L").y - before.y - 0.02) < 1e-5


def test_foot_rises_with_ground_that_is_deformed() -> None:
    rig = walkers.make_walker()
    ground = walkers.make_ground(walkers.flat)
    ground.shape_key_add(name="Basis")
    wave = ground.shape_key_add(name="Wave")
    for point in wave.data:
        point.co.z = 0.1 + 0.05 * point.co.x
    rigs.key(wave, "value", {1: 0.0, walkers.LAST: 1.0})
    walkers.stand(rig, ground)
    walkers.simulate(rig)
    first, last = walkers.contacts(rig, "L")[1]
    places = []
    for frame in range(first, last + 1):
        rigs.go(frame)
        places.append(walkers.foot(rig, "L").copy())
        share = wave.value
        tilt = Vector((1, 0.05 * share)).normalized().x
        height = share * (0.1 + 0.05 * places[-1].x) + walkers.ANKLE / tilt
        assert abs(places[-1].z - height) < 1e-4
    assert places[-1].z - places[0].z > 5e-3
    assert max((place - places[0]).xy.length for place in places) < 1e-5


def all_keys() -> list[object]:
    return [
        (ob.name, curve.data_path, curve.array_index, [p.co[:] for p in curve.keyframe_points])
        for ob in bpy.data.objects
        for curve in rigs.curves(ob)
    ]


def test_keys_are_not_touched() -> None:
    rig = walkers.make_walker()
    before = all_keys()
    assert len(before) == 9
    walkers.stand(rig, walkers.make_ground(walkers.hills), ray_above=3.0, ray_below=3.0)
    walkers.simulate(rig)
    for frame in (1, 30, 12):
        rigs.go(frame)
    assert all_keys() == before


def test_thresholds_and_lock_act_at_once_and_need_no_other_pass() -> None:
    rig = walkers.walker_on(walkers.hills)
    automatic = walkers.contacts(rig, "L")
    for item in rig.fabrik.constraints:
        item.ground.shortest = 100
    rigs.go(20)
    assert walkers.contacts(rig, "L") == []
    assert all("never stands" in message for message in walkers.messages(rig))
    for item in rig.fabrik.constraints:
        item.ground.shortest = 0
    rigs.go(20)
    assert walkers.contacts(rig, "L") == automatic and walkers.messages(rig) == {""}


def test_unknown_and_outdated_contacts_are_said() -> None:
    rig = walkers.make_walker()
    walkers.stand(rig, walkers.make_ground(walkers.hills), ray_above=3.0, ray_below=3.0)
    rig.fabrik.simulation.use_auto = False
    rigs.go(20)
    assert walkers.states(rig) == {"REACHED"} and all(
        "press Simulate" in m for m in walkers.messages(rig)
    )
    walkers.simulate(rig)
    rigs.go(20)
    assert walkers.messages(rig) == {""}
    bpy.data.objects["Target.L"].location = (0, 0, 0)
    bpy.data.objects["Target.L"].keyframe_insert("location", frame=7)
    rigs.update()
    rigs.go(20)
    assert "press Simulate" in rig.fabrik.constraints[0].message
    assert rig.fabrik.constraints[1].message == ""


def problem(rig: bpy.types.Object) -> str:
    rigs.update()
    item = rig.fabrik.constraints[0]
    assert item.state == "INVALID"
    assert item.message.count(": ") >= 1
    return item.message


def test_what_is_wrong_is_said_in_a_sentence() -> None:
    rig = walkers.make_walker()
    item = rig.fabrik.constraints[0]
    item.ground.use = True
    rigs.update()
    assert item.state == "REACHED", "the scene is the ground until an object is chosen"
    item.ground.object = rigs.make_empty("Nothing")
    assert "“Nothing” isn't a mesh" in problem(rig)
    skin = walkers.make_ground(walkers.flat, "Skin")
    skin.modifiers.new("Armature", "ARMATURE").object = rig
    item.ground.object = skin
    assert "“Skin” moves with the armature" in problem(rig)
    item.ground.source = "COLLECTION"
    assert "choose a collection" in problem(rig)
    item.ground.collection = bpy.data.collections.new("Bare")
    assert "The collection “Bare” has no mesh" in problem(rig)
    item.ground.collection.objects.link(walkers.make_ground(walkers.flat, "Floor"))
    rigs.update()
    assert item.state == "REACHED"
    item.ground.hip = "Nobody"
    assert "no bone “Nobody”" in problem(rig)
    for name in ("Thigh.L", "Foot.R"):
        item.ground.hip = name
        assert f"“{name}” isn't a parent of the leg" in problem(rig)
    item.ground.hip = "Hip"
    rigs.update()
    assert item.state == "REACHED"
    target = bpy.data.objects["Target.L"]
    target.parent, target.parent_type, target.parent_bone = rig, "BONE", "Hip"
    assert "depends on the hip" in problem(rig)
    target.parent = None
    rig.scale = (1, 1, 0)
    item.ground.use_local_axis = True
    assert item.message or problem(rig)


def disable(ground: bpy.types.Object) -> None:
    ground.hide_viewport = ground.hide_render = True


def unlink(ground: bpy.types.Object) -> None:
    bpy.context.scene.collection.objects.unlink(ground)


@pytest.mark.parametrize("use_lock", [True, False])
@pytest.mark.parametrize("hide", [walkers.exclude, disable, unlink], ids=lambda hide: hide.__name__)
def test_ground_that_is_not_there_is_said(
    hide: Callable[[bpy.types.Object], None], use_lock: bool
) -> None:
    rig = walkers.walker_on(walkers.hills, use_lock=use_lock)
    rigs.go(20)
    assert walkers.messages(rig) == {""}
    hide(bpy.data.objects["Ground"])
    rigs.update()
    rigs.go(21)
    assert all("excluded from the view layer" in message for message in walkers.messages(rig))
    assert (
        walkers.foot(rig, "L") - rigs.world_location(bpy.data.objects["Target.L"])
    ).length < 1e-5


def test_ground_that_is_deleted_is_said_and_the_animation_shown() -> None:
    rig = walkers.walker_on(walkers.hills)
    rigs.go(20)
    bpy.data.objects.remove(bpy.data.objects["Ground"])
    rigs.update()
    assert "o ground" in problem(rig)
    for frame in (21, 40, 20):
        rigs.go(frame)
        assert walkers.states(rig) == {"INVALID"}
    for item in rig.fabrik.constraints:
        item.ground.object = walkers.make_ground(walkers.flat)
    walkers.simulate(rig)
    rigs.go(20)
    assert walkers.states(rig) == {"REACHED"} and walkers.messages(rig) == {""}


def test_range_that_is_too_short_for_any_ground_is_said() -> None:
    rig = walkers.make_walker()
    walkers.stand(rig, walkers.make_ground(lambda _x, _y: 0.5), ray_above=0.4, ray_below=0.0)
    walkers.simulate(rig)
    rigs.go(20)
    assert all("increase Search Above" in message for message in walkers.messages(rig))
    for item in rig.fabrik.constraints:
        item.ground.ray_above = 0.6
    walkers.simulate(rig)
    rigs.go(20)
    assert walkers.messages(rig) == {""}


def test_a_shot_of_a_single_frame_can_be_simulated() -> None:
    """Without any animation, this is all that there is to record."""
    rig = rigs.make_chain(2, joints=((0, 0, 1), (0, 0.1, 0.5), (0, 0, 0.1)))
    item = rigs.add_constraint(rig, "B1", rigs.make_empty(location=(0, 0, 0.1)))
    item.ground.use, item.ground.source = True, "OBJECT"
    item.ground.object, item.ground.lock_time = walkers.make_ground(walkers.flat), 0.1
    walkers.simulate(rig, last=1)
    rigs.go(1)
    assert item.state == "REACHED"
    assert "never stands still" in item.message


def test_numbers_that_make_no_sense_cannot_be_set() -> None:
    ground = walkers.make_walker().fabrik.constraints[0].ground
    names = "ray_above", "ray_below", "blend", "max_angle", "speed", "height", "lock_time"
    for name in (*names, "hip_follow"):
        setattr(ground, name, -1.0)
        assert getattr(ground, name) == 0.0
    ground.shortest, ground.max_angle, ground.hip_reach, ground.hip_follow = -1, 9.0, 9.0, 9.0
    assert ground.shortest == 0 and ground.hip_reach == ground.hip_follow == 1.0
    assert abs(ground.max_angle - radians(60)) < 1e-6


def test_one_frame_has_the_contact_that_it_is_in() -> None:
    rig = walkers.make_walker()
    walkers.stand(rig, walkers.make_ground(walkers.flat))
    bpy.context.scene.frame_start = bpy.context.scene.frame_end = 5
    rigs.activate(rig)
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    rigs.go(5)
    assert walkers.messages(rig) == {""}
    rig.fabrik.simulation.frame_start, rig.fabrik.simulation.frame_end = 9, 5
    with pytest.raises(RuntimeError, match=r"\) before Start"):
        bpy.ops.fabrik.simulate()


def edit_bones(rig: bpy.types.Object, change: Callable[[Any], None]) -> None:
    """Change the bones of a rig in Edit Mode."""
    rigs.activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    change(rig.data.edit_bones)
    bpy.ops.object.mode_set(mode="OBJECT")


def connect_hip(bones: Any) -> None:
    bones["Root"].tail = bones["Hip"].head
    bones["Hip"].use_connect = True


def test_connected_hip_is_refused() -> None:
    rig = walkers.make_walker()
    edit_bones(rig, connect_hip)
    walkers.stand(rig, walkers.make_ground(walkers.flat))
    assert "is connected to its parent" in problem(rig)


def test_legs_that_no_bone_carries_say_so() -> None:
    """Their thighs are roots, as in some rigs for games."""
    rig = walkers.make_walker()

    def part(bones: Any) -> None:
        for bone in [bone for bone in bones if bone.parent == bones["Hip"]]:
            bone.parent = None

    edit_bones(rig, part)
    walkers.stand(rig, walkers.make_ground(walkers.flat), hip="")
    walkers.simulate(rig)
    rigs.go(30)
    assert all(
        message.startswith("Legs that use On the Ground have no common parent")
        for message in walkers.messages(rig)
    )
    for item in rig.fabrik.constraints:
        item.ground.use_hip = False
    rigs.update()
    assert not any(walkers.messages(rig))


def test_a_hip_that_is_found_and_cannot_be_moved_is_named() -> None:
    rig = walkers.make_walker()
    edit_bones(rig, connect_hip)
    target = rig.fabrik.constraints[0].target  # It would move with the other candidate.
    target.parent, target.parent_type, target.parent_bone = rig, "BONE", "Root"
    walkers.stand(rig, walkers.make_ground(walkers.flat), hip="", use_lock=False)
    rigs.update()
    assert all("“Hip” is connected to its parent" in message for message in walkers.messages(rig))


def test_ground_under_another_axis_is_the_same_turned() -> None:
    """A climber: everything turned on its side, down is the armature's own -Z."""
    rig = walkers.walker_on(walkers.hills)
    rigs.go(30)
    upright = [rigs.tip_world(rig, bone.name) for bone in rig.pose.bones]
    turn = Matrix.Rotation(radians(90), 4, "X")
    frame = rigs.make_empty("Frame", (0, 0, 0))
    for ob in (
        rig,
        bpy.data.objects["Ground"],
        *(bpy.data.objects[f"Target.{s}"] for s in walkers.SIDES),
    ):
        ob.parent = frame
    frame.matrix_world = turn
    for item in rig.fabrik.constraints:
        item.ground.use_local_axis = True
    walkers.simulate(rig)
    rigs.go(30)
    for bone, wanted in zip(rig.pose.bones, upright, strict=True):
        assert (rigs.tip_world(rig, bone.name) - turn @ wanted).length < 2e-4


def test_scene_counts_without_the_character() -> None:
    rig = walkers.make_walker()
    skin = walkers.make_ground(lambda _x, _y: 0.3, "Skin")
    skin.parent = rig
    walkers.make_ground(walkers.hills)
    walkers.stand(rig, None, source="SCENE", ray_above=3.0, ray_below=3.0)
    walkers.simulate(rig)
    first, last = walkers.contacts(rig, "L")[1]
    rigs.go((first + last) // 2)
    place = walkers.foot(rig, "L")
    assert abs(place.z - walkers.ANKLE - walkers.hills(place.x, place.y)) < 0.02


def test_the_hip_goes_by_the_ground_in_fk_too_and_not_once_legs_are_disabled() -> None:
    rig = walkers.walker_on(walkers.hills)
    rigs.go(30)
    whole = walkers.hip(rig).copy()
    assert abs(whole.z - 0.84) > 0.05
    for item in rig.fabrik.constraints:
        item.influence = 0.0
        rigs.go(30)
        assert (walkers.hip(rig) - whole).length < 1e-6
    for item in rig.fabrik.constraints:
        item.enabled = False
    rigs.go(30)
    assert abs(walkers.hip(rig).z - 0.84) < 1e-6


@pytest.fixture
def rays(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The arguments of all rays that are cast."""
    found: list[object] = []
    caster = Ground.caster

    def counting(self: Ground, depsgraph: bpy.types.Depsgraph) -> Cast:
        cast = caster(self, depsgraph)

        def counted(*args: Any) -> Hit | None:
            found.append(args)
            return cast(*args)

        return counted

    monkeypatch.setattr(Ground, "caster", counting)
    return found


def test_a_foot_casts_few_rays_and_none_in_frames_that_were_played(rays: list[object]) -> None:
    """Two feet, and the hip over them, which looks at both around each frame."""
    walkers.walker_on(walkers.hills)
    frames = range(1, walkers.LAST + 1)
    rigs.go(walkers.LAST)
    rays.clear()
    first = animated_bits(frames)
    assert 0 < len(rays) <= 2 * len(walkers.SIDES) * walkers.LAST
    rays.clear()
    assert animated_bits(frames) == first
    assert animated_bits(frames[::-1]) == first[::-1]
    assert not rays


def test_in_crowds_rays_are_cast_again(rays: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Walking all updates to find the ground in them would take longer."""
    walkers.walker_on(walkers.hills)
    frames = range(1, walkers.LAST + 1)
    first = animated_bits(frames)
    monkeypatch.setattr(meshes, "MOST_WALKED", 0)
    rays.clear()
    assert animated_bits(frames) == first
    assert rays


def test_ground_that_another_extension_edits_is_noticed() -> None:
    """In a handler, after the evaluation: Blender evaluates again, and calls no handler then."""
    rig = walkers.walker_on(walkers.hills)
    ground = bpy.data.objects["Ground"]
    animated_bits((5, 6, 7))
    height = walkers.foot(rig, "L").z
    animated_bits((5, 6, 7, 5))
    before, after = bpy.app.handlers.frame_change_pre, bpy.app.handlers.frame_change_post

    def raise_ground(_scene: bpy.types.Scene, _depsgraph: object = None) -> None:
        ground.data.transform(Matrix.Translation((0.0, 0.0, 0.05)))
        ground.data.update()

    def come_last(_scene: bpy.types.Scene, _depsgraph: object = None) -> None:
        after.append(raise_ground)

    before.append(come_last)
    try:
        rigs.go(6)
    finally:
        before.remove(come_last)
        after.remove(raise_ground)
    rigs.go(7)
    assert abs(walkers.foot(rig, "L").z - height - 0.05) < 1e-3


def test_obstacle_that_moves_below_a_swinging_foot_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing stands on it, so that only rays know where it is."""
    rig = walkers.make_walker()
    ground, obstacle = (
        walkers.make_ground(walkers.flat),
        make_terrain("Box", (0.45, 0.55), (-1, 1), walkers.flat),
    )
    obstacle.location.z = -0.5
    collection = bpy.data.collections.new("Grounds")
    for ob in (ground, obstacle):
        collection.objects.link(ob)
    walkers.stand(rig, None, source="COLLECTION", collection=collection)
    walkers.simulate(rig)
    still = animated_bits(range(1, walkers.LAST))
    walkers.key(obstacle, "location", [(0, 0, -0.1), (0, 0, 0.15)], [1, walkers.LAST // 2], False)
    found = animated_bits(range(1, walkers.LAST))
    assert found != still
    monkeypatch.setattr(Ground, "state", lambda *_: None)
    assert animated_bits(range(1, walkers.LAST)) == found


def test_ground_that_waves_with_another_armature_is_read_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Blender evaluates it again after the wave was written, without a handler."""
    waving = rigs.make_chain(3)
    rigs.add_constraint(waving, waving.pose.bones[-1].name, None, solver="WAVE")
    rig = walkers.make_walker()
    ground = walkers.make_ground(walkers.hills)
    hook: Any = ground.modifiers.new("Hook", "HOOK")
    hook.object, hook.subtarget, hook.strength = waving, waving.pose.bones[-1].name, 0.5
    hook.vertex_indices_set(range(len(ground.data.vertices)))
    walkers.stand(rig, ground, ray_above=3.0, ray_below=3.0)
    walkers.simulate(rig)
    rigs.go(1)
    found = animated_bits(range(2, 20))
    monkeypatch.setattr(Ground, "state", lambda *_: None)
    forget()
    rigs.go(1)
    assert animated_bits(range(2, 20)) == found


def test_sparse_bake_keys_contacts_and_stays_within_the_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rig = walkers.walker_on(walkers.hills)
    spans = walkers.contacts(rig, "L")
    old = {ob.name: ob.animation_data.action for ob in bpy.data.objects if ob.animation_data}
    before = all_keys()
    rigs.go(11)
    live, turns = {}, {}
    for frame in range(1, walkers.LAST + 1):
        rigs.go(frame)
        live[frame] = [walkers.foot(rig, side) for side in walkers.SIDES] + [walkers.hip(rig)]
        turns[frame] = rigs.evaluated(rig).pose.bones["Foot.L"].matrix.to_quaternion()
    rigs.go(11)
    assert bpy.ops.fabrik.ground_bake(error=1e-3) == {"FINISHED"}
    assert bpy.context.scene.frame_current == 11
    assert not any(item.ground.use for item in rig.fabrik.constraints)
    shown = [walkers.foot(rig, side) for side in walkers.SIDES] + [walkers.hip(rig)]
    assert max((a - b).length for a, b in zip(shown, live[11], strict=True)) < 2.5e-3
    most = 0.0
    for frame in range(1, walkers.LAST + 1):
        rigs.go(frame)
        now = [walkers.foot(rig, side) for side in walkers.SIDES] + [walkers.hip(rig)]
        most = max(most, *((a - b).length for a, b in zip(now, live[frame], strict=True)))
        turn = rigs.evaluated(rig).pose.bones["Foot.L"].matrix.to_quaternion()
        assert turn.rotation_difference(turns[frame]).angle < 0.02  # 1 mm in a tenth of the leg.
    assert most < 2.5e-3  # A foot and a hip that may be off by 1 mm each, along X, Y and Z.
    for first, last in spans:
        places = []
        for frame in range(first, last + 1):
            rigs.go(frame)
            places.append(rigs.world_location(bpy.data.objects["Target.L"]))
        assert max((place - places[0]).length for place in places) < 1e-4
    target = bpy.data.objects["Target.L"]
    standing = {point.co.x for curve in rigs.curves(target) for point in curve.keyframe_points}
    assert {float(frame) for span in spans for frame in span} <= standing
    keys = len(rigs.curves(target)[0].keyframe_points)
    assert keys < walkers.LAST / 2
    with capsys.disabled():
        print(f"\n{keys} keys for {walkers.LAST} frames, {1000 * most:.2f} mm off")
    for ob in bpy.data.objects:
        if ob.name in old and ob.name != "Ground":
            assert ob.animation_data.action != old[ob.name]
            ob.animation_data.action = old[ob.name]
    assert [key for key in all_keys() if "pose" not in key[1]] == before


def test_sparse_bake_of_targets_that_are_bones_under_parents() -> None:
    """The targets are bones of the same armature, turned and scaled by their parent."""
    rig = walkers.make_walker()
    rigs.activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    world = bones.new("World")
    world.head, world.tail = (0, 0, 0), (0, 1, 0)
    for side in walkers.SIDES:
        bone = bones.new(f"Goal.{side}")
        bone.head, bone.tail, bone.parent = (0, 0, 0), (0.2, 0, 0), world
    bpy.ops.object.mode_set(mode="OBJECT")
    for side in walkers.SIDES:
        con = rig.pose.bones[f"Goal.{side}"]
        con.rotation_mode = "XYZ"
        item = next(i for i in rig.fabrik.constraints if side in i.name)
        source = bpy.data.objects[f"Target.{side}"]
        for frame in range(1, walkers.LAST + 1):
            rigs.go(frame)
            place = rigs.evaluated(rig).matrix_world.inverted() @ rigs.world_location(source)
            rest = con.bone.matrix_local
            con.location = rest.inverted() @ place
            con.keyframe_insert("location", frame=frame)
        item.target, item.subtarget = rig, con.name
    walkers.stand(rig, walkers.make_ground(walkers.hills), ray_above=3.0, ray_below=3.0)
    walkers.simulate(rig)
    rigs.go(30)
    live = [walkers.foot(rig, side) for side in walkers.SIDES] + [walkers.hip(rig)]
    assert bpy.ops.fabrik.ground_bake(error=5e-4, frame_start=5, frame_end=50) == {"FINISHED"}
    rigs.go(30)
    now = [walkers.foot(rig, side) for side in walkers.SIDES] + [walkers.hip(rig)]
    assert max((a - b).length for a, b in zip(now, live, strict=True)) < 2e-3


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda rig: setattr(rig.fabrik.constraints[0], "use_offset", True), "Disable Keep Offset"),
        (
            lambda rig: setattr(
                rig.fabrik.constraints[0], "target", rig.fabrik.constraints[1].target
            ),
            "same target",
        ),
        (lambda rig: bpy.data.objects["Target.L"].driver_add("location", 0), "is driven"),
    ],
    ids=["offset", "shared", "driven"],
)
def test_sparse_bake_that_cannot_be_changes_nothing(
    spoil: Callable[[bpy.types.Object], object], words: str
) -> None:
    rig = walkers.walker_on(walkers.flat)
    spoil(rig)
    rigs.update()
    rigs.go(9)
    before = all_keys(), rigs.everything_bits(), len(bpy.data.actions)
    with pytest.raises(RuntimeError, match=words):
        bpy.ops.fabrik.ground_bake()
    assert (all_keys(), rigs.everything_bits(), len(bpy.data.actions)) == before
    for end in (9, 8):
        with pytest.raises(RuntimeError, match="Start"):
            bpy.ops.fabrik.ground_bake(frame_start=9, frame_end=end)


def test_bake_that_is_stopped_leaves_everything_as_it_was() -> None:
    """At its beginning, while it records, and while it plays what it has keyed."""
    from addon.features.ground.bake import bake

    rig = walkers.walker_on(walkers.hills)
    rigs.go(9)
    before = all_keys(), rigs.everything_bits(), rigs.channels_bits(rig), len(bpy.data.actions)
    context = bpy.context
    for share in (0.0, 0.3, 0.8):
        baking = bake(context.scene, context.view_layer, rig, range(1, 40), 1e-3)
        while next(baking) < share:
            pass
        baking.close()
        rigs.update()
        assert context.scene.frame_current == 9
        assert all(item.ground.use for item in rig.fabrik.constraints)
        now = all_keys(), rigs.everything_bits(), rigs.channels_bits(rig), len(bpy.data.actions)
        assert now == before
