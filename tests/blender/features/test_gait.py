"""Walking legs: what stands on the ground stays there, whatever way the body is animated."""

import math
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import bpy
import pytest
import rigs
from humans import make_human
from inside import forget, plan_made
from kept_files import new_file, open_kept
from mathutils import Vector
from operating import click_bones, refuses
from spiders import END, key_body, make_floor, make_spider, select, terrain, tips, walk


def simulate() -> None:
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}


def walk_simulated(*arguments: Any, **settings: Any) -> None:
    walk(*arguments, **settings)
    simulate()


def record(rig: bpy.types.Object, index: int = 0):
    from addon.features.gait.sampling import stored_walk
    from addon.features.simulation import history

    return stored_walk(history.data(rig, f"fabrik.gaits[{index}]").blob)[0]


def said(rig: bpy.types.Object) -> str:
    from addon.features.gait.message import status_message

    rigs.update()
    return status_message(rig, 0)


def size(rig: bpy.types.Object, tip: str) -> float:
    bone, total = rig.data.bones[tip], 0.0
    while bone.name != "Body":
        total += bone.length
        bone = bone.parent
    return total * rig.scale[0]


@pytest.fixture
def spider(empty_file: None) -> bpy.types.Object:
    """A spider that walks 2.4 m over a floor in 60 frames; its steps are simulated."""

    def make() -> None:
        rig = make_spider()
        make_floor()
        key_body(rig, {1: (0, 0, 0), END: (0.5, -2.4, 0)})
        walk_simulated(rig)

    open_kept("spider that walks over a floor", make)
    return bpy.data.objects["Spider"]


def assert_walks(rig: bpy.types.Object, end: int = END, fine: int = 2) -> None:
    """Feet do not slide, legs reach them, and groups take turns; between whole frames as well."""
    from addon.features.gait.gait_plan import plans_of

    walked = record(rig)
    names = tips(rig)[: len(walked.falls)]
    lengths = [size(rig, name) for name in names]
    # By footfall: where its tip is seen, as long as it stands.
    seen: dict[tuple[int, int], list[Vector]] = {}
    for tick in range(fine, fine * end + 1):
        frame = tick / fine
        rigs.go(frame)
        for item, length in zip(rig.fabrik.constraints, lengths, strict=True):
            assert item.error <= 1e-4 * length, f"{item.name} misses at {frame}: {item.message}"
        for leg, (name, falls) in enumerate(zip(names, walked.falls, strict=True)):
            at = max(i for i, fall in enumerate(falls) if i == 0 or fall.lift <= frame)
            if falls[at].land <= frame or at == 0:
                seen.setdefault((leg, at), []).append(rigs.tip_world(rig, name))
    for (leg, _), places in seen.items():
        slid = max((place - places[0]).length for place in places)
        assert slid <= 1e-3 * lengths[leg]
    groups = plans_of(rig)[0].groups
    spans = sorted(
        (fall.lift, fall.land, group)
        for falls, group in zip(walked.falls, groups, strict=True)
        for fall in falls
        if fall.land > fall.lift
    )
    for i, (_, land, group) in enumerate(spans):
        assert all(other == group for lift, _, other in spans[i + 1 :] if lift < land - 1e-9)


def test_selected_legs_get_constraints_targets_and_a_body(spider) -> None:
    gait = spider.fabrik.gaits[0]
    assert gait.body == "Body"
    assert [leg.constraint for leg in gait.legs] == tips(spider)
    for item in spider.fabrik.constraints:
        assert (item.solver, item.chain_count) == ("FABRIK", 3)
        assert item.target.type == "EMPTY"


def test_two_bones_are_solved_exactly_and_made_constraints_are_used() -> None:
    rig = make_spider(4, bones=2)
    make_floor()
    select(rig, tips(rig))
    rig.data.bones.active = rig.data.bones[tips(rig)[0]]
    item = rig.fabrik.constraints.add()
    item.name, item.bone, item.chain_count = "Mine", tips(rig)[1], 2
    item.target = rigs.link(bpy.data.objects.new("Own", None))
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    assert [leg.constraint for leg in rig.fabrik.gaits[0].legs].count("Mine") == 1
    assert len(rig.fabrik.constraints) == 4
    assert {one.solver for one in rig.fabrik.constraints if one.name != "Mine"} == {"TWO_BONE"}


@pytest.mark.parametrize("scale", [(1, 1, 1), (-1, 1, 1), (1, -1, 1)], ids=str)
def test_the_feet_of_a_new_walk_keep_their_rest_pose(scale) -> None:
    rig = make_human(False)
    rig.scale = scale
    select(rig, [])
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    rig.fabrik.gaits[0].enabled = False  # There is no floor.
    rigs.update()
    shown = rigs.evaluated(rig).pose.bones
    for item in rig.fabrik.constraints:
        assert item.use_rotation
        rest = rig.data.bones[item.bone].matrix_local
        rows = zip(shown[item.bone].matrix, rest, strict=True)
        assert max((a - b).length for a, b in rows) <= 2e-5


def test_walk_over_a_floor(spider) -> None:
    assert_walks(spider, fine=3)
    assert all(len(falls) >= 4 for falls in record(spider).falls)


def test_knees_do_not_jump(spider) -> None:
    """No knee changes its speed by more than half as much again as the feet."""
    paths: dict[str, list[Vector]] = {}
    for frame in range(1, END + 1):
        rigs.go(frame)
        for name in tips(spider):
            bone = rigs.evaluated(spider).pose.bones[name]
            paths.setdefault(f"knee of {name}", []).append(bone.head.copy())
            paths.setdefault(f"foot of {name}", []).append(bone.tail.copy())

    def most(part: str) -> float:
        return max(
            (a - 2 * b + c).length
            for name, path in paths.items()
            if name.startswith(part)
            for a, b, c in zip(path, path[1:], path[2:], strict=False)
        )

    assert most("knee") <= 1.5 * most("foot")


def stairs():
    steps = [((-9, -99, -1), (9, -0.8 - 0.35 * i, 0.12 * (i + 1))) for i in range(9)]
    return make_floor("Stairs", ((-50, -50, -1), (50, 50, 0)), *steps)


@pytest.mark.parametrize("make", [stairs, terrain])
def test_walk_over_uneven_ground(make: Callable[[], object]) -> None:
    rig = make_spider()
    make()
    key_body(rig, {1: (0, 0, 0), END: (0, -2.5, 0)})
    walk_simulated(rig)
    assert_walks(rig)
    rigs.go(END)
    lowest = min(rigs.tip_world(rig, name).z for name in tips(rig))
    assert rigs.evaluated(rig).pose.bones["Body"].head.z > 0.3 + lowest


def test_walk_up_a_wall_and_over_to_the_ceiling() -> None:
    rig = make_spider()
    make_floor(
        "Room", ((-9, -9, -1), (9, 9, 0)), ((-9, -4, -1), (9, -3, 9)), ((-9, -9, 4), (9, 9, 5))
    )
    rig.rotation_mode = "XYZ"
    ways = {
        1: ((0, -0.6, 0.0), 0.0),
        20: ((0, -1.5, 0.0), 0.0),
        40: ((0, -2.2, 0.4), -0.25 * math.pi),
        60: ((0, -3.0, 1.3), -0.5 * math.pi),
        75: ((0, -3.0, 2.2), -0.5 * math.pi),
        82: ((0, -3.0, 2.5), -0.5 * math.pi),
        102: ((0, -2.6, 3.2), -0.75 * math.pi),
        122: ((0, -1.7, 4.0), -math.pi),
        140: ((0, -0.6, 4.0), -math.pi),
    }
    for frame, (place, turn) in ways.items():
        rig.location, rig.rotation_euler = place, (turn, 0, 0)
        rig.keyframe_insert("location", frame=frame)
        rig.keyframe_insert("rotation_euler", frame=frame)
    rigs.make_linear(rig)
    walk_simulated(rig, 140, climbs=True)
    assert_walks(rig, 140)
    for falls in record(rig).falls:
        assert falls[0].normal == pytest.approx((0, 0, 1), abs=1e-6)
        on_wall = [fall for fall in falls if fall.normal == pytest.approx((0, 1, 0), abs=1e-6)]
        assert on_wall
        assert all(fall.place[1] == pytest.approx(-3.0, abs=1e-6) for fall in on_wall)
        assert falls[-1].normal == pytest.approx((0, 0, -1), abs=1e-6)
        assert falls[-1].place[2] == pytest.approx(4.0, abs=1e-6)


def body_key(rig):
    rigs.key(rig, "location", {30: (0, -1, 0)})


def floor_vertex(rig):
    bpy.data.objects["Floor"].data.vertices[7].co.z += 0.5
    bpy.data.objects["Floor"].data.update()


def floor_moved(rig):
    bpy.data.objects["Floor"].location.z = 0.1


def leg_removed(rig):
    bpy.ops.fabrik.gait_leg_remove()


def leg_moved(rig):
    rig.fabrik.gaits[0].legs[2].offset = (0, 0.05, 0)


def leg_grouped(rig):
    gait = rig.fabrik.gaits[0]
    gait.pattern = "GROUPS"
    gait.legs[0].group = 2


def body_chosen(rig):
    rig.fabrik.gaits[0].body = ""


def keyed_setting(rig):
    rig.fabrik.gaits[0].keyframe_insert("step_height", frame=10)
    rigs.key(rig.fabrik.gaits[0], "step_height", {20: 0.5})


def setting(name: str, value: object):
    def change(rig):
        setattr(rig.fabrik.gaits[0], name, value)

    change.__name__ = name
    return change


INPUTS = [
    body_key,
    floor_vertex,
    floor_moved,
    leg_removed,
    leg_moved,
    leg_grouped,
    body_chosen,
    keyed_setting,
    setting("threshold", 0.3),
    setting("step_height", 0.3),
    setting("duration", 9.0),
    setting("overshoot", 0.1),
    setting("body_height", 0.5),
    setting("body_tilt", 0.5),
    setting("body_bob", 0.05),
    setting("ray_height", 1.0),
    setting("climbs", True),
    setting("pattern", "WAVE"),
    setting("source", "COLLECTION"),
    setting("up_axis", "NEGATIVE_Z"),
]


def test_steps_are_outdated_by_each_input(spider) -> None:
    from addon.features.simulation import history

    rigs.update()
    bpy.ops.ed.undo_push(message="simulated")
    for change in INPUTS:
        rig = bpy.data.objects["Spider"]
        assert rig.fabrik.simulation.state == "FRESH", change.__name__
        change(rig)
        rigs.update()
        found = history.data(rig, "fabrik.gaits[0]")
        assert found is None or not found.is_fresh, change.__name__
        bpy.ops.ed.undo_push(message=change.__name__)
        bpy.ops.ed.undo()
        rigs.update()


def test_steps_are_not_outdated_by_what_does_not_count(spider) -> None:
    gait = spider.fabrik.gaits[0]
    gait.name, gait.influence = "Other", 0.5
    rigs.go(20)
    rigs.update()
    assert spider.fabrik.simulation.state == "FRESH"
    assert said(spider) == ""


def test_drawing_makes_no_plan(spider) -> None:
    """To make one is to write to the file, which Blender forbids while it draws."""
    from addon.features.simulation.operators import FABRIK_PT_simulation
    from addon.features.simulation.timeline import bars_of

    forget()
    assert len(bars_of(bpy.context)) == 1
    assert FABRIK_PT_simulation.poll(bpy.context)
    assert spider.fabrik.simulation.message
    assert bpy.ops.fabrik.simulate.poll() and bpy.ops.fabrik.gait_bake.poll()
    assert plan_made() is None


def test_outdated_steps_are_gone_on_with_and_that_is_said(spider) -> None:
    rigs.go(30)
    before = rigs.pose_bits(spider)
    spider.fabrik.gaits[0].step_height = 0.4
    rigs.update()
    assert rigs.pose_bits(spider) == before
    assert "press Simulate" in said(spider)
    assert "press Simulate" in spider.fabrik.constraints[0].message
    simulate()
    assert said(spider) == ""


def without_a_leg(walk, names):
    return walk._replace(falls=walk.falls[:-1]), names


def endless(walk, names):
    first = walk.falls[0][0]._replace(place=(float("nan"), 0.0, 0.0))
    return walk._replace(falls=((first, *walk.falls[0][1:]), *walk.falls[1:])), names


def on_unnamed_ground(walk, names):
    return walk._replace(falls=((walk.falls[0][0]._replace(ground=7),), *walk.falls[1:])), names


def on_corners_of(*names):
    def forge(walk, _):
        fall = walk.falls[0][0]._replace(ground=len(names) - 1)
        return walk._replace(falls=((fall,), *walk.falls[1:])), [*names]

    return forge


FORGED = {
    "without a leg": without_a_leg,
    "endless": endless,
    "on unnamed ground": on_unnamed_ground,
    "on corners of nothing": on_corners_of("\t9 1 2 3"),
    "on corners before the first": on_corners_of("Ground", "\t-1 1 2 3"),
    "on corners, but two": on_corners_of("Ground", "\t0 1 2"),
    "on corners without numbers": on_corners_of("Ground", "\tx"),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_steps_are_said_or_harmless(spider, case: str, capsys) -> None:
    from addon.features.gait.sampling import stored_walk
    from addon.features.simulation import history
    from fabrik_solver.motion.packing import packed

    owner = "fabrik.gaits[0]"
    found = history.data(spider, owner)
    history.write(
        spider, owner, found._replace(blob=packed(*FORGED[case](*stored_walk(found.blob))))
    )
    forget()
    rigs.update(spider)
    for frame in (20, 30):
        rigs.go(frame)
        states = {item.state for item in spider.fabrik.constraints}
        assert states <= {"REACHED", "OUT_OF_REACH", "LIMITED"}
        if not case.startswith("on corners"):
            assert "press Simulate" in spider.fabrik.constraints[0].message
            assert "press Simulate" in spider.fabrik.constraints[1].message
    if not case.startswith("on corners"):
        refuses(bpy.ops.fabrik.gait_bake, "press Simulate")
    assert "report this" not in capsys.readouterr().out


def test_frames_beyond_what_was_simulated_are_said(spider) -> None:
    start, end = bpy.context.scene.frame_start, bpy.context.scene.frame_end
    message = {
        frame: (rigs.go(frame), spider.fabrik.constraints[0].message)[1]
        for frame in (start, end, end + 1)
    }
    assert message[start] == message[end] == ""
    assert "only up to frame" in message[end + 1]


def test_a_walk_walks_as_soon_as_it_is_added() -> None:
    rig = make_spider()
    key_body(rig, {1: (0, 0, 0), END: (0, 4, 0)})
    make_floor()
    rigs.go(1)
    walk(rig)
    assert rig.fabrik.simulation.state == "FRESH"
    assert said(rig) == ""
    rigs.go(END)
    assert {item.state for item in rig.fabrik.constraints} == {"REACHED"}


def test_legs_that_are_not_simulated_are_carried_along() -> None:
    rig = make_spider()
    key_body(rig, {1: (0, 0, 0), END: (0, 4, 0)})
    make_floor()
    walk(rig)
    bpy.ops.fabrik.simulation_clear()
    rigs.go(END)
    for item in rig.fabrik.constraints:
        assert (item.state, item.error) == ("REACHED", pytest.approx(0.0, abs=1e-5))
        assert item.message == "The steps of “Walk” aren't simulated: press Simulate"
    shown = {bone.name: bone.matrix.copy() for bone in rigs.shown_bones(rig)}
    rigs.enable(rig, False)
    rigs.update()
    for bone in rigs.shown_bones(rig):
        rows = zip(bone.matrix, shown[bone.name], strict=True)
        assert max((a - b).length for a, b in rows) < 1e-4


@pytest.mark.parametrize("renamed", [0, 3])
def test_a_name_that_another_leg_has_exchanges_no_legs(spider, renamed) -> None:
    rigs.go(30)
    before, legs = rigs.pose_bits(spider), spider.fabrik.gaits[0].legs
    keys = [leg.key for leg in legs]
    spider.fabrik.constraints[renamed].name = spider.fabrik.constraints[3 - renamed].name
    rigs.update()
    assert said(spider) == ""
    rigs.go(29, 30)
    assert [leg.key for leg in legs] == keys
    assert rigs.pose_bits(spider) == before


def test_constraint_chosen_for_a_leg_is_followed_and_not_the_one_before(spider) -> None:
    fabrik = spider.fabrik
    bpy.ops.fabrik.gait_leg_remove()  # The first one.
    legs = fabrik.gaits[0].legs
    legs[0].constraint = fabrik.constraints[0].name
    rigs.update()
    fabrik.constraints[0].name = "Front"
    make_floor("Anything")  # All is found anew.
    rigs.update()
    assert legs[0].constraint == "Front"


def test_bones_with_other_names_walk_on(spider) -> None:
    rigs.go(30)
    before = rigs.pose_bits(spider)
    for bone in spider.data.bones:
        bone.name = f"New {bone.name}"
    rigs.update()
    rigs.go(29, 30)
    assert spider.fabrik.gaits[0].body == "New Body"
    assert rigs.pose_bits(spider) == before


def test_standing_body_lets_its_feet_stand() -> None:
    rig = make_spider()
    make_floor()
    walk(rig)
    rigs.go(1)
    rigs.update()
    places = [rigs.tip_world(rig, name) for name in tips(rig)]
    simulate()
    assert all(len(falls) == 1 for falls in record(rig).falls)
    assert "doesn't move" in said(rig)
    rigs.go(50)
    for name, place in zip(tips(rig), places, strict=True):
        assert (rigs.tip_world(rig, name) - place).length <= 1e-4


@pytest.mark.parametrize("height", [0.0, 3.0])
def test_without_ground_feet_walk_on_the_plane_on_which_they_rest(height: float) -> None:
    def walked(make_ground: Callable[[], Any]) -> list[list[Vector]]:
        new_file()
        rig = make_human(False)
        ground = make_ground()
        if ground is not None:
            ground.location.z = height
        key_body(rig, {1: (0, 0, height), END: (0, -2.4, height)})
        bpy.context.scene.frame_end = END
        select(rig, [])
        assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
        simulate()
        assert ("No ground" in said(rig)) == (ground is None)
        poses = []
        for frame in range(1, END, 7):
            rigs.go(frame)
            poses.append([rigs.tip_world(rig, bone.name) for bone in rig.pose.bones])
        return poses

    for wanted, found in zip(walked(make_floor), walked(lambda: None), strict=True):
        assert max((a - b).length for a, b in zip(wanted, found, strict=True)) < 1e-4


def wobbling(subdivided: bool = False):
    """A floor of quads that rises and leans by a shape key, and in waves where a modifier bends."""
    floor = terrain()
    floor.shape_key_add(name="Basis")
    bent = floor.shape_key_add(name="Bent")
    for i, point in enumerate(bent.data):
        x, y, z = floor.data.vertices[i].co
        point.co = (1.1 * x, y + 0.1 * z, z + 0.25 + 0.15 * math.sin(x + 0.7 * y))
    rigs.key(bent, "value", {1: 0.0, END // 2: 1.0, END: 0.2})
    if subdivided:
        floor.modifiers.new("Fine", "SUBSURF").levels = 1
    return floor


@pytest.mark.parametrize("subdivided", [False, True])
def test_feet_stay_on_ground_that_is_deformed(subdivided: bool) -> None:
    rig = make_spider(4)
    floor = wobbling(subdivided)
    key_body(rig, {1: (0, 0, 0), END: (0, -2.0, 0)})
    walk_simulated(rig)
    walked, names = record(rig), tips(rig)
    moved = 0.0
    for leg, (name, falls) in enumerate(zip(names, walked.falls, strict=True)):
        seen: dict[int, list[tuple[Vector, float]]] = {}
        for frame in range(1 + leg % 2, END + 1, 3):
            at = max(i for i, fall in enumerate(falls) if i == 0 or fall.lift <= frame)
            if falls[at].land > frame:
                continue
            rigs.go(frame)
            place = rigs.tip_world(rig, name)
            ground = rigs.evaluated(floor)
            is_hit, near, _, _ = ground.closest_point_on_mesh(
                ground.matrix_world.inverted() @ place
            )
            assert is_hit
            seen.setdefault(at, []).append((place, (ground.matrix_world @ near - place).length))
        for places in seen.values():
            assert max(off for _, off in places) <= 5e-3 * size(rig, name)
            moved = max(moved, (places[-1][0] - places[0][0]).length)
        assert rig.fabrik.constraints[leg].error <= 1e-4
    assert moved > 0.05
    rigs.go(40)
    before = rigs.pose_bits(rig)
    floor.name = "Other"
    rigs.update()
    rigs.go(3, 40)
    assert rigs.pose_bits(rig) == before


@pytest.mark.parametrize("change", ["renamed", "copied", "one more"])
def test_moving_ground_is_found_again(change: str) -> None:
    rig = make_spider()
    floor = make_floor()
    rigs.key(floor, "location", {1: (0, 0, 0), END: (0.5, 0.2, 0.4)})
    key_body(rig, {1: (0, 0, 0), END: (0.5, -1.2, 0)})
    walk_simulated(rig)
    rigs.go(40)
    shown = rigs.pose_bits(rig)
    if change == "renamed":
        floor.name = "Other"
    elif change == "one more":
        make_floor("First").hide_render = True
    else:
        bpy.ops.object.mode_set(mode="OBJECT")
        for ob in (floor, rig):
            ob.select_set(True)
        bpy.ops.object.duplicate()
        bpy.data.objects.remove(floor)
        bpy.data.objects.remove(rig)
        rig = next(ob for ob in bpy.data.objects if ob.pose)
    rigs.update()
    rigs.go(39, 40)
    assert rigs.pose_bits(rig) == shown


def test_moving_ground_that_is_moved_by_hand_takes_the_feet_along_at_once() -> None:
    rig = make_spider(2)
    floor = make_floor()
    key_body(floor, {1: (0, 0, 0), END: (0.2, 0, 0)})
    key_body(rig, {1: (0, 0, 0), END: (0, -1.2, 0)})
    walk_simulated(rig)
    rigs.go(1)
    before = [rigs.tip_world(rig, name) for name in tips(rig)]
    floor.location.x += 0.05
    rigs.update()
    for name, place in zip(tips(rig), before, strict=True):
        assert (rigs.tip_world(rig, name) - place - Vector((0.05, 0, 0))).length <= 1e-4


@pytest.mark.parametrize("name", ["threshold", "step_height", "duration", "body_bob"])
def test_what_is_no_number_is_said_before_anything_is_simulated(spider, name: str) -> None:
    gait = spider.fabrik.gaits[0]
    kept = bytes(gait.history)
    setattr(gait, name, float("nan"))
    refuses(bpy.ops.fabrik.simulate, "A setting of “Walk” is invalid")
    assert gait.history == kept


def test_influence_blends_from_the_targets_to_the_walk(spider) -> None:
    rigs.go(40)
    on = rigs.tip_world(spider, tips(spider)[0])
    target = spider.fabrik.constraints[0].target.matrix_world.translation.copy()
    spider.fabrik.gaits[0].enabled = False
    rigs.update()
    spider.fabrik.gaits[0].enabled = True
    spider.fabrik.gaits[0].influence = 0.9
    rigs.update()
    half = rigs.tip_world(spider, tips(spider)[0])
    assert (half - (0.9 * on + 0.1 * target)).length <= 1e-3


def test_bake_makes_few_keys_that_walk_the_same(spider) -> None:
    seen = {}
    for frame in range(1, END + 1):
        rigs.go(frame)
        seen[frame] = [rigs.tip_world(spider, name) for name in tips(spider)]
    assert bpy.ops.fabrik.gait_bake(tolerance=0.004) == {"FINISHED"}
    assert not spider.fabrik.gaits[0].enabled
    worst = 0.0
    for frame, places in seen.items():
        rigs.go(frame)
        for name, place in zip(tips(spider), places, strict=True):
            worst = max(worst, (rigs.tip_world(spider, name) - place).length)
    assert worst <= 0.008 * size(spider, tips(spider)[0])
    from rigs import curves

    target = spider.fabrik.constraints[0].target
    counts = [len(curve.keyframe_points) for curve in curves(target)]
    assert len(counts) == 3
    assert 8 <= counts[0] <= 45
    # It stands between its keys: an animator moves a step by moving the keys of one stance.
    walked = record(spider)
    for before, after in pairwise(walked.falls[0]):
        frames = range(math.ceil(before.land), math.floor(after.lift) + 1)
        places = [tuple(curve.evaluate(frame) for curve in curves(target)) for frame in frames]
        assert all(math.dist(place, places[0]) <= 1e-6 for place in places)


def test_bake_keys_the_body_where_it_leans() -> None:
    rig = make_spider()
    terrain()
    key_body(rig, {1: (0, 0, 0), END: (0, -2.5, 0)})
    walk_simulated(rig)
    seen = {}
    for frame in (1, 20, 41, END):
        rigs.go(frame)
        seen[frame] = rigs.evaluated(rig).pose.bones["Body"].matrix.copy()
    assert bpy.ops.fabrik.gait_bake() == {"FINISHED"}
    for frame, matrix in seen.items():
        rigs.go(frame)
        now = rigs.evaluated(rig).pose.bones["Body"].matrix
        assert max(abs(x) for row in now - matrix for x in row) <= 5e-3


@pytest.mark.parametrize("is_held", [False, True])
def test_bake_keeps_what_is_held_where_it_is(spider, is_held, capfd) -> None:
    """A held object moves with its holder, and the keys of the bake apply within that."""
    leg = spider.fabrik.constraints[0]
    if is_held:
        rigs.go(10)
        spider.fabrik.gaits[0].enabled = False  # It would jump to its target.
        bpy.ops.fabrik.hold(constraint=leg.name)
        spider.fabrik.gaits[0].enabled = True
        simulate()
    seen = {}
    for frame in (5, 9, 10, 30):
        rigs.go(frame)
        seen[frame] = rigs.tip_world(spider, leg.bone)
    capfd.readouterr()
    assert bpy.ops.fabrik.gait_bake() == {"FINISHED"}
    said = capfd.readouterr().out
    assert "Warning: " not in said
    assert re.search(r"Baked “Walk”: [\d,]+ keys instead of [\d,]+\. Largest difference", said)
    for frame, place in seen.items():
        rigs.go(frame)
        assert (rigs.tip_world(spider, leg.bone) - place).length < 5e-3


def test_bake_warns_where_something_else_poses_what_it_keys(spider, capfd) -> None:
    target, gait = spider.fabrik.constraints[0].target, spider.fabrik.gaits[0]

    def move(_scene: bpy.types.Scene, _depsgraph: bpy.types.Depsgraph) -> None:
        """Move a target as soon as its keys count."""
        target.delta_location.x = 0.0 if gait.enabled else 0.3

    bpy.app.handlers.frame_change_post.append(move)
    try:
        capfd.readouterr()
        assert bpy.ops.fabrik.gait_bake() == {"FINISHED"}
        assert "Warning: " in capfd.readouterr().out
    finally:
        bpy.app.handlers.frame_change_post.remove(move)


def test_a_foot_that_walks_is_held_once_its_steps_are_baked(spider) -> None:
    """Its target stays where the leg was added, and it would jump back there."""
    name = spider.fabrik.constraints[0].name
    rigs.go(30)
    before, keys = rigs.shown_bits(spider), rigs.channels_bits(spider)
    refuses(bpy.ops.fabrik.hold, "choose Bake to Targets or Bake Steps", constraint=name)
    assert (rigs.shown_bits(spider), rigs.channels_bits(spider)) == (before, keys)
    assert not len(spider.fabrik.holds)
    assert bpy.ops.fabrik.gait_bake() == {"FINISHED"}
    rigs.go(30)
    shown = {bone.name: bone.matrix.copy() for bone in rigs.evaluated(spider).pose.bones}
    assert bpy.ops.fabrik.hold(constraint=name) == {"FINISHED"}
    rigs.update()
    for bone in rigs.evaluated(spider).pose.bones:
        assert max(abs(x) for row in bone.matrix - shown[bone.name] for x in row) < 1e-5


def test_bake_of_outdated_steps_is_refused_and_changes_nothing(spider) -> None:
    spider.fabrik.gaits[0].duration = 8.0
    rigs.update()
    before = rigs.channels_bits(spider), rigs.shown_bits(spider)
    refuses(bpy.ops.fabrik.gait_bake, "press Simulate")
    assert (rigs.channels_bits(spider), rigs.shown_bits(spider)) == before
    assert spider.fabrik.gaits[0].enabled
    assert spider.fabrik.constraints[0].target.animation_data is None


def no_ground(rig):
    bpy.data.objects.remove(bpy.data.objects["Floor"])
    simulate()


def no_ground_chosen(rig):
    rig.fabrik.gaits[0].source = "OBJECT"


def ground_on_body(rig):
    rig.fabrik.gaits[0].ground = bpy.data.objects["Floor"]
    rig.fabrik.gaits[0].ground.parent = rig
    rig.fabrik.gaits[0].source = "OBJECT"


def one_leg(rig):
    while len(rig.fabrik.gaits[0].legs) > 1:
        rig.fabrik.gaits[0].legs.remove(1)
    rig.fabrik.gaits[0].pattern = "WAVE"


def no_legs(rig):
    rig.fabrik.gaits[0].legs.clear()
    rig.fabrik.gaits[0].pattern = "WAVE"


def leg_twice(rig):
    rig.fabrik.gaits[0].legs[1].constraint = rig.fabrik.gaits[0].legs[0].constraint


def constraint_gone(rig):
    rig.fabrik.active_index = 2
    bpy.ops.fabrik.constraint_remove()


def body_gone(rig):
    rig.fabrik.gaits[0].body = "Nowhere"


def body_in_leg(rig):
    rig.fabrik.gaits[0].body = "Leg0.0.L"


def target_gone(rig):
    rig.fabrik.constraints[1].target = None


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (no_ground, "No ground is within reach"),
        (no_ground_chosen, "No ground: choose an object"),
        (ground_on_body, "moves with the armature"),
        (one_leg, "add another leg"),
        (no_legs, "needs at least two legs"),
        (leg_twice, "is used for two legs"),
        (constraint_gone, "doesn't exist"),
        (body_gone, "has no bone “Nowhere”"),
        (body_in_leg, "is a bone of the leg"),
        (target_gone, "No target"),
    ],
)
def test_bad_input_is_said_in_place(spider, spoil: Callable, sentence: str) -> None:
    spoil(spider)
    assert sentence in said(spider)
    rigs.go(20, 21)


def test_walk_of_an_armature_without_constraints_is_refused() -> None:
    rig = make_spider()
    rig.fabrik.gaits.add()
    refuses(bpy.ops.fabrik.simulate, "“Walk” can't walk")
    assert "at least two legs" in said(rig)


def test_walk_that_cannot_be_keeps_nothing_else_from_being_simulated(spider) -> None:
    """Another walk, a free chain: only what cannot be is left out, and said."""
    from addon.features.simulation import history

    armature = spider.data
    rigs.activate(spider, "EDIT")
    for i in range(3):
        bone = armature.edit_bones.new(f"Tail{i}")
        bone.head, bone.tail = (0, 0.3 + 0.2 * i, 0.5), (0, 0.5 + 0.2 * i, 0.5)
        if i:
            bone.parent = armature.edit_bones[f"Tail{i - 1}"]
    bpy.ops.object.mode_set(mode="OBJECT")
    tail = spider.fabrik.constraints.add()
    tail.name, tail.bone, tail.chain_count, tail.solver = "Tail", "Tail2", 3, "FOLLOW"
    tail.target = rigs.link(bpy.data.objects.new("Head", None))
    broken = spider.fabrik.gaits.add()
    broken.name = "Broken"
    broken.legs.add().constraint = "Nowhere"
    spider.fabrik.gaits[0].duration = 5.0
    rigs.update()
    simulate()
    assert history.data(spider, "fabrik.gaits[0]").is_fresh
    assert history.data(spider, f"fabrik.constraints[{len(tips(spider))}].follow").is_fresh
    assert history.data(spider, "fabrik.gaits[1]") is None
    assert history.refused(spider) == [
        "“Broken” can't walk. The leg's constraint “Nowhere” doesn't exist: choose another "
        "constraint, or remove the leg"
    ]
    rigs.update()
    assert spider.fabrik.simulation.state == "FRESH"
    broken.enabled = False
    rigs.update()
    assert history.refused(spider) == []


def test_what_refuses_as_it_begins_keeps_what_it_had() -> None:
    from addon.features.gait.simulation import WalkSimulation
    from addon.features.simulation import history

    first, second = make_spider(4), make_spider(4, name="Other")
    make_floor()
    for rig in (first, second):
        key_body(rig, {1: (0, 0, 0), 20: (0, -0.6, 0)})
        walk_simulated(rig, 20)
    before = record(second)

    class Refused(WalkSimulation):
        def start(self, snapshot) -> None:
            from addon.blender.errors import ProblemError

            if self._armature == second:
                raise ProblemError("not today")
            super().start(snapshot)

    from addon.features.gait import simulation
    from addon.features.simulation.simulate import simulate as passes

    for rig in (first, second):
        rig.fabrik.gaits[0].duration = 5.0
    rigs.update()
    own, simulation.WalkSimulation = simulation.WalkSimulation, Refused
    try:
        work = passes(bpy.context.scene, bpy.context.view_layer, [first, second])
        while True:
            next(work)
    except StopIteration as finished:
        assert finished.value.refused == ["not today"]
    finally:
        simulation.WalkSimulation = own
    assert history.data(first, "fabrik.gaits[0]").is_fresh
    assert not history.data(second, "fabrik.gaits[0]").is_fresh
    assert record(second) == before


def test_walk_that_is_off_at_this_frame_is_simulated(spider) -> None:
    gait = spider.fabrik.gaits[0]
    rigs.key(gait, "enabled", {1: True, 30: False})
    rigs.go(50)
    simulate()
    rigs.go(10)
    assert said(spider) == ""


def test_negative_step_height_is_none(spider) -> None:
    gait = spider.fabrik.gaits[0]
    gait.keyframe_insert("step_height", frame=1)
    from rigs import curves

    for curve in curves(spider):
        if "step_height" in curve.data_path:
            curve.keyframe_points[0].co.y = -0.2
            curve.update()
    simulate()
    assert max(fall.height for falls in record(spider).falls for fall in falls) <= 1e-6
    rigs.go(1)
    assert gait.step_height == 0.0


def test_walk_that_cannot_be_is_refused_and_nothing_was_made() -> None:
    rig = make_spider(4)
    for bone in rig.data.bones:  # Four limbs that sprawl are legs only by their names.
        bone.name = bone.name.replace("Leg", "Part")
    select(rig, ["Part2.0.L", "Part1.0.L"])
    before = len(bpy.data.objects)
    refuses(bpy.ops.fabrik.gait_add, "No legs found in “Spider”: select the last")
    assert not rig.fabrik.gaits
    assert not rig.fabrik.constraints
    assert len(bpy.data.objects) == before


@pytest.mark.parametrize("count", [2, 3, 5, 16])
def test_two_to_sixteen_legs_walk(count: int) -> None:
    rig = make_spider(count + count % 2)
    make_floor()
    key_body(rig, {1: (0, 0, 0), 30: (0.2, -1.0, 0)})
    select(rig, tips(rig)[:count])
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 30
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    simulate()
    assert len(record(rig).falls) == count
    assert_walks(rig, 30, fine=1)


def test_legs_whose_limits_keep_them_from_their_feet_are_named(spider) -> None:
    rigs.go(40)
    assert said(spider) == ""
    for i in range(3):
        joint = spider.pose.bones[f"Leg{i}.0.L"].fabrik_joint
        joint.limit_type, joint.hinge_min, joint.hinge_max = "HINGE", 0.0, 0.0
    rigs.update()
    name = tips(spider)[0]
    assert said(spider).startswith(f"The feet of “{name}” are out of reach at this frame: widen")
    spider.fabrik.gaits[0].enabled = False
    rigs.update()
    assert said(spider) == ""


def test_armature_that_is_scaled_and_turned_walks() -> None:
    rig = make_spider(4)
    make_floor()
    rig.scale, rig.rotation_euler = (0.3, 0.3, 0.3), (0, 0, 1.2)
    key_body(rig, {1: (0, 0, 0), END: (0.5, -0.5, 0)})
    walk_simulated(rig)
    assert_walks(rig, fine=1)


def test_biped_without_a_body_bone_walks_after_the_armature() -> None:
    rig = make_spider(2, bones=2)
    make_floor()
    key_body(rig, {1: (0, 0, 0), END: (0, -1.5, 0)})
    walk_simulated(rig, body="")
    assert_walks(rig, fine=1)
    rigs.go(30)
    assert rigs.shown_bones(rig)["Body"].location.length == 0.0


def test_removed_walk_takes_its_keys_and_leaves_those_of_the_next(spider) -> None:
    from rigs import is_keyed

    spider.fabrik.gaits[0].keyframe_insert("influence", frame=1)
    second = spider.fabrik.gaits.add()
    second.name = "Second"
    second.keyframe_insert("threshold", frame=1)
    spider.fabrik.active_gait = 0
    assert bpy.ops.fabrik.gait_remove() == {"FINISHED"}
    assert [gait.name for gait in spider.fabrik.gaits] == ["Second"]
    assert is_keyed(spider, "fabrik.gaits[0].threshold")
    assert not is_keyed(spider, "fabrik.gaits[0].influence")
    rigs.go(5)


@pytest.mark.parametrize("name", ["Spider", "Hexapod", "Quadruped", "Biped"])
def test_presets_set_a_walk_up(name: str) -> None:
    count = {"Spider": 8, "Hexapod": 6, "Quadruped": 4, "Biped": 2}[name]
    rig = make_spider(count)
    make_floor()
    key_body(rig, {1: (0, 0, 0), 40: (0, -1.2, 0)})
    gait = walk(rig, 40)
    folder = Path(__file__).resolve().parents[3] / "addon/presets/fabrik_ik/gait"
    bpy.ops.fabrik.gait_preset_apply(filepath=str(folder / f"{name}.py"))
    assert gait.climbs == (name in ("Spider", "Hexapod"))
    simulate()
    assert_walks(rig, 40, fine=1)


def test_bake_that_is_stopped_leaves_everything_as_it_was(spider) -> None:
    """While it records, and while it plays what it has keyed."""
    from addon.features.gait.bake import bake_gait

    rigs.go(20)
    before = rigs.pose_bits(spider), len(bpy.data.actions)
    keys = [(ob.name, len(rigs.curves(ob))) for ob in bpy.data.objects]
    context = bpy.context
    for share in (0.1, 0.8):
        baking = bake_gait(context.scene, context.view_layer, spider, 0, 0.004)
        while next(baking) < share:
            pass
        baking.close()
        rigs.update()
        assert spider.fabrik.gaits[0].enabled and context.scene.frame_current == 20
        assert [(ob.name, len(rigs.curves(ob))) for ob in bpy.data.objects] == keys
        assert (rigs.pose_bits(spider), len(bpy.data.actions)) == before


def test_bake_that_is_stopped_leaves_what_drives_the_walk(spider) -> None:
    from addon.features.gait.bake import bake_gait

    driver = spider.driver_add("fabrik.gaits[0].enabled")
    driver.driver.expression = "1"
    rigs.update()
    simulate()
    baking = bake_gait(bpy.context.scene, bpy.context.view_layer, spider, 0, 0.004)
    while next(baking) < 0.8:
        pass
    assert spider.animation_data.drivers.find("fabrik.gaits[0].enabled").mute
    baking.close()
    assert not spider.animation_data.drivers.find("fabrik.gaits[0].enabled").mute


@pytest.mark.parametrize("bones", [2, 3])
@pytest.mark.parametrize("count", [6, 8])
def test_one_click_lets_an_insect_walk_without_a_selection(count: int, bones: int) -> None:
    rig = make_spider(count, bones)
    make_floor()
    key_body(rig, {1: (0, 0, 0), END: (0.5, -2.4, 0)})
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, END
    rigs.activate(rig)
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    items = rig.fabrik.constraints
    assert sorted(item.bone for item in items) == sorted(tips(rig))
    assert {item.chain_count for item in items} == {bones}
    assert (rig.fabrik.gaits[0].body, rig.fabrik.gaits[0].front_axis) == ("Body", "NEGATIVE_Y")
    order = [tip for row in range(count // 2) for side in "LR" for tip in tips(rig)
             if tip.endswith(f"{row}.{side}")]  # fmt: skip
    assert [leg.constraint for leg in rig.fabrik.gaits[0].legs] == order
    simulate()
    for frame in (1, 20, 40, END):
        rigs.go(frame)
        assert said(rig) == ""
        assert {item.state for item in items} == {"REACHED"}


@pytest.mark.parametrize("name", ["makehuman", "vroid", "genesis 8"])
def test_toes_and_coats_are_no_legs_of_an_insect(name: str) -> None:
    from characters import make_character

    rigs.activate(make_character(name))
    assert bpy.ops.fabrik.gait_add() == {"FINISHED"}
    assert len(bpy.context.object.fabrik.gaits[0].legs) == 2


@pytest.mark.parametrize("clicked", ["head", "foot.R", "shin.L"])
def test_added_from_the_interface_targets_are_control_bones(clicked: str) -> None:
    rig: Any = make_human(keyed=False)
    make_floor()
    click_bones(rig, clicked)
    assert bpy.ops.fabrik.gait_add(controls="BONE") == {"FINISHED"}
    rigs.update()
    assert [(item.bone, item.target, item.subtarget) for item in rig.fabrik.constraints] == [
        ("foot.L", rig, "foot IK.L"),
        ("foot.R", rig, "foot IK.R"),
    ]
    assert not [ob for ob in bpy.data.objects if ob.type == "EMPTY" and ob.users_collection]
    shown = rig.fabrik.constraints[rig.fabrik.active_index].bone
    assert shown == ("foot.R" if clicked == "foot.R" else "foot.L")
    # What is to be animated is selected, unless a leg was clicked.
    active = rig.fabrik.gaits[0].body if clicked == "head" else clicked
    assert [bone.name for bone in bpy.context.selected_pose_bones] == [active]
    assert rig.data.bones.active.name == active
    body = rig.pose.bones[rig.fabrik.gaits[0].body]
    for frame, place in ((1, 0.0), (40, -1.5)):
        rigs.key(
            body,
            "location",
            {frame: body.bone.matrix_local.to_3x3().inverted() @ Vector((0, place, 0))},
        )
    bpy.context.scene.frame_end = 40
    simulate()
    rigs.go(1)
    start = rigs.tip_world(rig, "foot.L", use_tail=False)
    rigs.go(40)
    assert (rigs.tip_world(rig, "foot.L", use_tail=False) - start).length > 1.0
    assert bpy.ops.fabrik.gait_bake() == {"FINISHED"}


def test_targets_of_an_armature_that_walks_as_an_object_stay_empties() -> None:
    bones = {}
    for side, x in (("L", 0.3), ("R", -0.3)):
        bones[f"Thigh.{side}"] = ((x, 0, 1), (x, -0.05, 0.5), "")
        bones[f"Shin.{side}"] = ((x, -0.05, 0.5), (x, 0, 0), f"Thigh.{side}")
    rig: Any = rigs.make_armature(bones)
    make_floor()
    click_bones(rig, "Shin.L", "Shin.R")
    assert bpy.ops.fabrik.gait_add(controls="BONE") == {"FINISHED"}
    assert rig.fabrik.gaits[0].body == ""
    assert [item.target.type for item in rig.fabrik.constraints] == ["EMPTY"] * 2
    assert len(rig.data.bones) == 4
