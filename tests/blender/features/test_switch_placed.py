"""Feet that the ground or a walk places are switched between FK and IK, and nothing moves."""

from itertools import pairwise
from typing import Any

import bpy
import pytest
import walkers
from kept_files import open_kept
from mathutils import Vector
from operating import enter_pose_mode, refuses
from rigs import activate, curves, evaluated, go, update, world_location
from spiders import END, key_body, make_floor, make_spider, terrain, walk

NEAR = 1e-4
"""How far a pose may move, in meters."""

Pose = dict[str, tuple[Vector, Vector]]


def plateau(_x: float, _y: float) -> float:
    return 0.2


def pose(rig: Any) -> Pose:
    """Return the head and tail of each bone as shown, in world space."""
    shown: Any = evaluated(rig)
    world = shown.matrix_world
    return {bone.name: (world @ bone.head, world @ bone.tail) for bone in shown.pose.bones}


def apart(a: Pose, b: Pose) -> float:
    return max((p - q).length for name in a for p, q in zip(a[name], b[name], strict=True))


def pose_at(rig: Any, frame: float) -> Pose:
    go(frame)
    return pose(rig)


def switch(to: str, which: str = "ALL", **options: object) -> None:
    assert bpy.ops.fabrik.switch(to=to, which=which, **options) == {"FINISHED"}
    update()


def walker(height: walkers.Height) -> Any:
    open_kept(("walker to switch", height.__name__), lambda: walkers.walker_on(height))
    rig = bpy.data.objects["Walker"]
    enter_pose_mode(rig)
    return rig


def spider(kind: str) -> Any:
    """Return a spider whose steps are simulated, on a floor or on terrain."""

    def make() -> None:
        rig = make_spider()
        make_floor() if kind == "floor" else terrain()
        key_body(rig, {1: (0, 0, 0), END: (0.5, -2.4, 0)})
        walk(rig)
        assert bpy.ops.fabrik.simulate() == {"FINISHED"}

    open_kept(("spider to switch", kind), make)
    rig = bpy.data.objects["Spider"]
    activate(rig)
    return rig


def turn(rig: Any, bone: str) -> None:
    """Turn a bone in FK, with a key."""
    rig.pose.bones[bone].rotation_mode = "QUATERNION"
    rig.pose.bones[bone].rotation_quaternion = (0.95, 0.2, 0.1, 0.2)
    rig.pose.bones[bone].keyframe_insert("rotation_quaternion")
    update()


MADE = [(walker, height) for height in (walkers.flat, walkers.hills, walkers.stairs)]
MADE += [(spider, kind) for kind in ("floor", "terrain")]


@pytest.mark.parametrize("which", ["ALL", "ACTIVE"])
@pytest.mark.parametrize(("make", "on"), MADE, ids=lambda one: getattr(one, "__name__", one))
def test_fk_takes_over_what_is_shown_and_ik_again(make: Any, on: Any, which: str) -> None:
    for frame in (12, 23, 41):
        rig = make(on)
        before, shown = pose_at(rig, frame - 1), pose_at(rig, frame)
        switch("FK", which)
        assert apart(pose(rig), shown) < NEAR
        assert apart(pose_at(rig, frame), shown) < NEAR
        assert apart(pose_at(rig, frame - 1), before) < NEAR
        assert rig.fabrik.simulation.state == "FRESH"

        # Nothing was posed, so that it is as it was, at once.
        go(frame)
        switch("IK", which)
        assert apart(pose(rig), shown) < NEAR
        assert {item.influence for item in rig.fabrik.constraints} == {1.0}
        assert apart(pose_at(rig, frame - 1), before) < NEAR
        assert rig.fabrik.simulation.state == "FRESH"


@pytest.mark.parametrize(("make", "on"), [MADE[1], MADE[2], MADE[4]])
def test_a_leg_that_was_posed_in_fk_goes_over_to_where_it_is_placed(make: Any, on: Any) -> None:
    rig = make(on)
    first, last = 20, 20 + round(0.25 * bpy.context.scene.render.fps)
    placed = {last: pose_at(rig, last)}
    go(12)
    switch("FK")
    chain = rig.fabrik.constraints[0]
    for bone in rig.pose.bones:
        if "Thigh" in bone.name or "Leg0" in bone.name:
            turn(rig, bone.name)
    before, shown = pose_at(rig, first - 1), pose_at(rig, first)
    target = world_location(chain.target)
    assert apart(shown, placed[last]) > 100 * NEAR
    switch("IK")
    assert apart(pose(rig), shown) < NEAR
    assert apart(pose_at(rig, first), shown) < NEAR
    assert apart(pose_at(rig, first - 1), before) < NEAR
    assert (world_location(chain.target) - target).length < 0.2  # It is as animated.
    influences = []
    for frame in range(first, last + 1):
        go(frame)
        influences.append(chain.influence)
    assert influences == sorted(influences)
    assert (influences[0], influences[-1]) == (0.0, 1.0)
    after = pose_at(rig, last)
    for item in rig.fabrik.constraints:  # Knees bend as they were posed; what is placed are feet.
        end = 0 if make is walker else 1
        assert (after[item.bone][end] - placed[last][item.bone][end]).length < 10 * NEAR
    assert rig.fabrik.simulation.state == "FRESH"


def test_it_goes_over_to_keys_of_the_influence_that_come_earlier() -> None:
    rig = walker(walkers.hills)
    go(12)
    switch("FK")
    turn(rig, "Thigh.L")
    turn(rig, "Thigh.R")
    for frame, influence in ((22, 0.0), (23, 0.5)):
        go(frame)
        for item in rig.fabrik.constraints:
            item.influence = influence
            item.keyframe_insert("influence")
    go(20)
    switch("IK")
    for item in rig.fabrik.constraints:
        values = []
        for frame in (20, 21, 22, 23, 24, 30):
            go(frame)
            values.append(item.influence)
        assert values == [0.0, 0.0, 0.0, 0.5, 0.5, 0.5]


@pytest.mark.parametrize("on", [walkers.hills, walkers.stairs])
def test_a_range_in_fk_shows_the_same_at_all_its_frames(on: walkers.Height) -> None:
    rig = walker(on)
    shown = {frame: pose_at(rig, frame) for frame in range(18, 34)}
    switch("FK", use_range=True, frame_start=20, frame_end=30)
    for frame, wanted in shown.items():
        assert apart(pose_at(rig, frame), wanted) < NEAR
        assert rig.fabrik.constraints[0].influence == float(not 20 <= frame <= 30)


def test_a_range_in_ik_is_refused_where_it_would_jump() -> None:
    rig = walker(walkers.hills)
    go(12)
    switch("FK")
    shown = {frame: pose_at(rig, frame) for frame in (11, 12, 20, 25)}
    count = len(curves(rig))
    switching: dict[str, Any] = {"to": "IK", "which": "ALL", "use_range": True}
    go(20)
    refuses(
        bpy.ops.fabrik.switch,
        "away from its FK pose",
        frame_start=20,
        frame_end=25,
        **switching,
    )
    assert len(curves(rig)) == count
    for frame, wanted in shown.items():
        assert apart(pose_at(rig, frame), wanted) < NEAR


def test_the_target_of_a_foot_is_snapped_to_where_the_animation_has_it() -> None:
    """In FK the foot is lifted with the hip, and the ground lifts its target again."""
    rig = walker(plateau)
    go(20)
    target = bpy.data.objects["Target.L"]
    rig.fabrik.active_index = 0
    assert bpy.ops.fabrik.snap_to_fk(which="ACTIVE") == {"FINISHED"}
    update()
    assert (
        abs(world_location(target).z - walkers.ANKLE) < 2e-3
    )  # The hip gives way to the other leg.


def assert_smooth(rig: Any, *events: float) -> None:
    """Assert that no bone moves at events as it does not just before."""
    tick = 1.0 / 64.0
    for event in events:
        poses = [pose_at(rig, event + i * tick) for i in range(-3, 4)]
        ways = [apart(a, b) for a, b in pairwise(poses)]
        assert max(ways) < 2.0 * ways[0] + NEAR


def held_walker() -> Any:
    """A walker whose left foot is held in the world from frame 20 to 35, without ground."""
    rig = walkers.make_walker()
    activate(rig)
    bpy.context.scene.frame_end = walkers.LAST
    go(20)
    assert bpy.ops.fabrik.hold(constraint="Leg.L") == {"FINISHED"}
    go(35)
    assert bpy.ops.fabrik.release(constraint="Leg.L") == {"FINISHED"}
    return rig


@pytest.mark.parametrize("on", [walkers.flat, walkers.hills, walkers.stairs])
def test_a_foot_that_was_held_before_it_is_set_on_the_ground_does_not_jump(
    on: walkers.Height,
) -> None:
    """It goes over within a quarter of a second before it is held, and after it is released."""
    rig = held_walker()
    walkers.stand(rig, walkers.make_ground(on), ray_above=3.0, ray_below=3.0)
    walkers.simulate(rig)
    assert_smooth(rig, 20, 35)
    target, item = bpy.data.objects["Target.L"], rig.fabrik.constraints["Leg.L"]
    for frame in range(20, 35):
        go(frame)
        # The body goes on, and may leave it behind.
        assert item.error < NEAR or item.state == "OUT_OF_REACH"
        assert (walkers.foot(rig, "L") - world_location(target)).length < item.error + NEAR
    go(45)  # It is on the ground again.
    assert (
        on is walkers.flat or (walkers.foot(rig, "L") - world_location(target)).length > 100 * NEAR
    )


def test_a_foot_that_was_held_before_it_is_given_a_walk_does_not_jump() -> None:
    rig = spider("floor")
    gait, leg = rig.fabrik.gaits[0], rig.fabrik.constraints[0]
    gait.enabled = False
    go(20)
    assert bpy.ops.fabrik.hold(constraint=leg.name) == {"FINISHED"}
    go(40)
    gait.enabled = True  # So the walk is on where it is released.
    assert bpy.ops.fabrik.release(constraint=leg.name) == {"FINISHED"}
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    assert_smooth(rig, 20, 40)


def test_what_a_held_foot_is_baked_to_is_what_is_shown() -> None:
    rig = held_walker()
    walkers.stand(rig, walkers.make_ground(walkers.hills), ray_above=3.0, ray_below=3.0)
    walkers.simulate(rig)
    frames = (10, 18, 20, 28, 35, 37, 45)
    shown = [pose_at(rig, frame) for frame in frames]
    assert bpy.ops.fabrik.ground_bake(error=0.001) == {"FINISHED"}
    for frame, wanted in zip(frames, shown, strict=True):
        now = pose_at(rig, frame)
        assert (now["Foot.L"][0] - wanted["Foot.L"][0]).length < 3e-3


def test_how_a_held_foot_goes_over_does_not_depend_on_the_frame_rate_of_another_scene() -> None:
    """A render of a hidden scene has the pose it gets once it is shown."""
    rig, scene = held_walker(), bpy.context.scene
    walkers.stand(rig, walkers.make_ground(walkers.hills), ray_above=3.0, ray_below=3.0)
    walkers.simulate(rig)
    other = scene.copy()

    def ankle() -> Vector:
        other.frame_set(1)
        other.frame_set(18)
        shown: Any = rig.evaluated_get(other.view_layers[0].depsgraph)
        return (shown.matrix_world @ shown.pose.bones["Foot.L"].head).copy()

    before = ankle()
    scene.render.fps = 5 * other.render.fps
    assert (ankle() - before).length < 1e-6
