"""What each setting of a foot on the ground does, frame by frame; and its heel and toes."""

from collections.abc import Callable
from itertools import pairwise
from math import asin, atan

import bpy
import pytest
import walkers
from inside import walk_of
from mathutils import Matrix, Vector
from rigs import go, tip_world, update, world_location

pytestmark = pytest.mark.newest


def plateau(_x: float, _y: float) -> float:
    return 0.2


def given(side: str) -> Vector:
    """Return where the animation has a foot."""
    return world_location(bpy.data.objects[f"Target.{side}"])


def toe(rig: bpy.types.Object, side: str) -> Vector:
    return tip_world(rig, f"Foot.{side}")


def standing(height: walkers.Height) -> bpy.types.Object:
    """A figure that stands still, with its left ankle at the origin and its toes along X."""
    rig = walkers.make_walker(is_cyclic=False)
    for ob in (rig, *(bpy.data.objects[f"Target.{side}"] for side in walkers.SIDES)):
        ob.animation_data_clear()
        ob.location.x = 0.0
    bpy.data.objects["Target.L"].location = (0.0, 0.1, walkers.ANKLE)
    walkers.stand(
        rig, walkers.make_ground(height), ray_above=3.0, ray_below=3.0, use_lock=False, hip=""
    )
    go(1)
    return rig


@pytest.mark.parametrize(("height", "wanted"), [(0.1, 0.1), (0.9, 0.0), (-0.1, 0.0)])
def test_foot_is_level_over_a_stair(height: float, wanted: float) -> None:
    """It is lifted onto a stair before its toes, but not onto a wall; over an edge it stays."""
    rig = standing(lambda x, _y: height if x > 0.051 else 0.0)
    assert abs(walkers.foot(rig, "L").z - walkers.ANKLE - wanted) < 1e-5
    assert abs(toe(rig, "L").z - walkers.foot(rig, "L").z) < 1e-5


def test_hip_rises_with_feet_that_stand_on_a_stair_with_their_toes() -> None:
    rig = standing(lambda x, _y: 0.1 if x > 0.051 else 0.0)
    bpy.data.objects["Target.R"].location = (0.0, -0.1, walkers.ANKLE)
    for item in rig.fabrik.constraints:
        item.ground.hip = "Hip"
    update()
    assert abs(walkers.hip(rig).z - 0.94) < 1e-5


def test_foot_that_may_not_turn_keeps_its_place_and_its_toes_out_of_the_ground() -> None:
    """It is lifted in the swing alone, and locked however it rolls."""
    rig = walkers.rolling_walker()
    walkers.stand(
        rig, walkers.make_ground(walkers.hills), ray_above=3.0, ray_below=3.0, max_angle=0.0
    )
    walkers.simulate(rig)
    spans = {side: walkers.contacts(rig, f".{side}") for side in walkers.SIDES}
    places: dict[tuple[str, int], Vector] = {}
    lowest = 1.0
    for frame in range(1, walkers.LAST + 1):
        go(frame)
        for side in walkers.SIDES:
            standing = [first for first, last in spans[side] if first <= frame <= last]
            for first in standing:
                start = places.setdefault((side, first), walkers.foot(rig, side))
                assert (walkers.foot(rig, side) - start).length < 1e-3
            if not standing:
                lowest = min(lowest, walkers.above(toe(rig, side)))
    assert lowest > 0.05  # As low as the animation has it, which rolls off its toes.


def test_ball_is_where_the_toes_begin() -> None:
    """Whatever else is parented to the foot, and wherever the tail of an imported bone is."""
    rig = walkers.make_walker()
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    foot_bone = rig.data.edit_bones["Foot.L"]
    foot_bone.tail = (24.0, 0.1, walkers.ANKLE)
    for name, head in (("Toes", (0.15, 0.1, 0.02)), ("Apart", (0.9, 0.1, walkers.ANKLE))):
        bone = rig.data.edit_bones.new(name)
        bone.head, bone.tail, bone.parent = head, (head[0] + 30.0, 0.1, 0.0), foot_bone
    bpy.ops.object.mode_set(mode="OBJECT")
    rig.scale = (2, 2, 2)
    walkers.stand(rig, walkers.make_ground(walkers.flat))
    walkers.simulate(rig)
    walk = walk_of(rig, "Leg.L")
    target = bpy.data.objects["Target.L"].matrix_world.to_3x3()
    end = target @ Vector(walk.track.foot.ball)
    assert (end - Vector((0.3, 0.0, -0.12))).length < 1e-5
    assert walk.track.foot.heel == (0.0, 0.0, 0.0)
    assert abs(walk.track.foot.ball_rest - 0.04) < 1e-5
    assert abs(walk.track.foot.heel_rest - 2 * walkers.ANKLE) < 1e-5


def test_foot_without_match_target_has_no_toes_and_is_not_turned() -> None:
    rig = walkers.make_walker()
    for item in rig.fabrik.constraints:
        item.use_rotation = False
    walkers.stand(rig, walkers.make_ground(walkers.slope), ray_above=3.0, ray_below=3.0)
    walkers.simulate(rig)
    first, last = walkers.contacts(rig, ".L")[1]
    go((first + last) // 2)
    place = walkers.foot(rig, "L")
    assert abs(place.z - walkers.slope(place.x, 0) - walkers.ANKLE) < 1e-4


def test_without_lock_the_foot_follows_the_ground_below_it() -> None:
    rig = walkers.walker_on(walkers.slope, use_lock=False)
    for frame in range(1, walkers.LAST, 3):
        go(frame)
        assert walkers.messages(rig) == {""}
        for side in walkers.SIDES:
            place, wanted = walkers.foot(rig, side), given(side)
            assert (place - wanted).xy.length < 1e-5
            height = wanted.z / Vector((1, 0.3)).normalized().x
            assert abs(place.z - walkers.slope(place.x, 0) - height) < 1e-4


def test_outside_of_what_was_simulated_the_foot_is_on_the_ground_below_it() -> None:
    rig = walkers.walker_on(plateau)
    for frame in (-8, walkers.LAST + 5, walkers.LAST + 30):
        go(frame)
        assert all("press Simulate" in m or "Simulate" in m for m in walkers.messages(rig))
        for side in walkers.SIDES:
            assert (walkers.foot(rig, side) - given(side) - Vector((0, 0, 0.2))).length < 1e-5


@pytest.mark.parametrize("use_lock", [True, False])
def test_ground_fades_with_the_height_of_the_animated_foot(use_lock: bool) -> None:
    """Half of it counts at one and a half blend heights."""
    rig = walkers.walker_on(lambda _x, _y: -0.05, use_lock=use_lock)
    shares = set()
    for item in rig.fabrik.constraints:
        item.ground.blend = 0.1
    for frame in range(1, walkers.LAST):
        go(frame)
        x = min(1.0, max(0.0, given("L").z / 0.1 - 1.0))
        share = 1.0 - x * x * (3.0 - 2.0 * x)
        shares.add(round(share, 3))
        if use_lock and share > 0.0:
            continue  # Contacts hold the foot, and some frames before and after.
        assert abs(walkers.foot(rig, "L").z - given("L").z + 0.05 * share) < 1e-5
    assert min(shares) < 0.01 and any(0.2 < share < 0.8 for share in shares)


@pytest.mark.parametrize("use_lock", [True, False])
def test_turn_of_the_foot_fades_as_well(use_lock: bool) -> None:
    rig = walkers.walker_on(lambda x, _y: -0.3 * x, use_lock=use_lock)
    for item in rig.fabrik.constraints:
        item.ground.blend = 0.1
    seen = set()
    for frame in range(1, walkers.LAST):
        go(frame)
        x = min(1.0, max(0.0, given("L").z / 0.1 - 1.0))
        share = 1.0 - x * x * (3.0 - 2.0 * x)
        along = toe(rig, "L") - walkers.foot(rig, "L")
        seen.add(round(share, 2))
        # The foot turns about its ball as far as the ankle gives to spare the knee.
        assert abs(asin(along.normalized().z) + share * atan(0.3)) < (3e-2 if use_lock else 2e-3)
    assert min(seen) < 0.01 and max(seen) > 0.99


def test_hip_does_not_sink_with_ground_that_no_foot_goes_down_to() -> None:
    rig = walkers.walker_on(lambda _x, _y: -0.3, lift_only=True)
    for frame in range(1, walkers.LAST, 4):
        go(frame)
        assert abs(walkers.hip(rig).z - 0.84) < 6e-3
        for side in walkers.SIDES:
            assert walkers.foot(rig, side).z >= given(side).z - 1e-5


def wide_walker(**settings: object) -> bpy.types.Object:
    """A walker whose contacts take in frames in which the animation has the foot on its way."""
    rig = walkers.make_walker()
    walkers.stand(
        rig, walkers.make_ground(walkers.flat), speed=1.6, height=0.04, hip="", **settings
    )
    walkers.simulate(rig)
    return rig


def test_foot_comes_to_rest_and_leaves_calmly_where_its_contact_is_wide() -> None:
    rig = wide_walker()
    spans = walkers.contacts(rig, ".L")
    assert max(b - a for a, b in spans) > walkers.STAND
    places = []
    for i in range(10 * walkers.CYCLE):
        go(1 + i / 10)
        places.append(walkers.foot(rig, "L"))
    steps = [(b - a).length for a, b in pairwise(places)]
    for frame in (spans[0][1], spans[1][0]):  # No jump out of the contact, and none into it.
        around = steps[10 * (frame - 1) - 1 : 10 * (frame - 1) + 1]
        assert len(around) == 2 and max(around) < 6e-3
    assert max(steps) < 3 * walkers.STRIDE / walkers.SWING / 10 * 1.5


@pytest.mark.parametrize(
    "make", [wide_walker, lambda **settings: walkers.walker_on(walkers.hills, **settings)]
)
def test_lift_only_never_lowers_a_foot(make: Callable[..., bpy.types.Object]) -> None:
    """Not even where the animation has left its contact."""
    rig = make(lift_only=True)
    for i in range(2 * (walkers.LAST - 1)):
        go(1 + i / 2)
        for side in walkers.SIDES:
            assert walkers.foot(rig, side).z >= given(side).z - 1e-5


def test_foot_is_above_the_ground_between_frames_and_not_pushed_by_it() -> None:
    """A curb that is narrower than a step from frame to frame."""
    curb = 0.06
    rig = walkers.walker_on(lambda x, _y: curb if 0.99 < x % 1.3 < 1.11 else 0.0, hip="")
    heights = []
    for i in range(6 * walkers.CYCLE, 6 * 2 * walkers.CYCLE):
        go(1 + i / 6)
        place = walkers.foot(rig, "L")
        assert walkers.above(place) > 0.6 * walkers.ANKLE
        heights.append(place.z)
    threes = zip(heights, heights[1:], heights[2:], strict=False)
    assert max(abs(a - 2 * b + c) for a, b, c in threes) < 0.012


def test_foot_clears_what_lies_between_two_frames() -> None:
    """A slat of 2 cm: the foot is over it only between sampled frames."""
    rig = walkers.make_walker()
    grounds = bpy.data.collections.new("Grounds")
    slat = walkers.make_ground(lambda _x, _y: 0.06, "Slat")
    slat.data.transform(Matrix.Diagonal((0.0025, 1.0, 1.0, 1.0)))
    for ob in (walkers.make_ground(walkers.flat), slat):
        grounds.objects.link(ob)
    for item in rig.fabrik.constraints:
        item.use_rotation = False  # Else its toes were there at another frame.
    slat.location.x = 9.0
    walkers.stand(rig, source="COLLECTION", collection=grounds, hip="")
    walkers.simulate(rig)
    go(47.5)  # Shortly before the foot is set down.
    slat.location.x = walkers.foot(rig, "L").x
    walkers.simulate(rig)
    heights = []
    for i in range(41):
        go(47 + i / 40)
        if -0.005 < walkers.foot(rig, "L").x - slat.location.x < 0.015:
            heights.append(walkers.foot(rig, "L").z)
    assert heights  # The ankle gives a little to spare the knee.
    assert all(
        0.06 + walkers.ANKLE - 5e-4 < height < 0.06 + walkers.ANKLE + 0.01 for height in heights
    )


def test_ground_is_looked_for_no_farther_than_asked() -> None:
    rig = walkers.walker_on(plateau, use_lock=False, hip="")
    for item in rig.fabrik.constraints:
        item.ground.ray_above = 0.19
    go(3)
    assert (walkers.foot(rig, "L") - given("L")).length < 1e-5
    ground = bpy.data.objects["Ground"]
    ground.location.z = -0.5
    for below, is_found in ((0.29, False), (0.31, True)):
        for item in rig.fabrik.constraints:
            item.ground.ray_below = below
        go(4)
        go(3)
        assert ((walkers.foot(rig, "L") - given("L")).length > 1e-3) == is_found


def test_floor_of_the_animation_is_that_of_the_armature() -> None:
    """All of the walk 1 m higher, on ground that is 1 m higher."""
    rig = walkers.walker_on(walkers.hills)
    go(30)
    before = [tip_world(rig, bone.name) for bone in rig.pose.bones]
    for ob in (
        rig,
        bpy.data.objects["Ground"],
        *(bpy.data.objects[f"Target.{s}"] for s in walkers.SIDES),
    ):
        ob.delta_location.z = 1.0
    walkers.simulate(rig)
    go(30)
    for bone, wanted in zip(rig.pose.bones, before, strict=True):
        assert (tip_world(rig, bone.name) - wanted - Vector((0, 0, 1))).length < 1e-4


def test_half_of_the_influence_leaves_the_hip_where_the_ground_has_it() -> None:
    rig = walkers.walker_on(plateau)
    for item in rig.fabrik.constraints:
        item.influence = 0.5
    for frame in range(1, walkers.LAST, 7):
        go(frame)
        assert abs(walkers.hip(rig).z - 0.84 - 0.2) < 6e-3


@pytest.mark.parametrize("is_local", [True, False], ids=["local location", "parent's axes"])
def test_hip_rises_from_where_it_is_whichever_way_its_bone_points(is_local: bool) -> None:
    rig = walkers.make_walker()
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    bone = rig.data.edit_bones["Hip"]
    bone.tail = (0.1, 0.07, 0.9)
    bone.roll = 0.7
    bone.use_local_location = is_local
    rig.data.edit_bones["Root"].tail = (0.1, 0.0, 0.1)
    bpy.ops.object.mode_set(mode="OBJECT")
    posed = rig.pose.bones["Hip"]
    posed.location = (0.02, 0.01, -0.015)
    go(20)
    before = walkers.hip(rig)
    ground = walkers.make_ground(plateau)
    walkers.stand(rig, ground)
    walkers.simulate(rig)
    go(20)
    moved = walkers.hip(rig) - before
    assert moved.xy.length < 1e-4
    assert abs(moved.z - 0.2) < 6e-3  # Less what it takes for knees that bend.


@pytest.mark.parametrize("use_tail", [False, True])
@pytest.mark.parametrize("terrain", [walkers.slope, walkers.bowl])
def test_foot_lies_with_both_ends(terrain: walkers.Height, use_tail: bool) -> None:
    """The foot's tail may have the target: it is the last bone of the chain then."""
    rig = walkers.make_walker() if use_tail else walkers.rolling_walker()
    for item in rig.fabrik.constraints if use_tail else ():
        item.chain_count, item.use_tail = 3, True
        item.target.delta_location = (0.15, 0.0, 0.0)
    walkers.stand(rig, walkers.make_ground(terrain), ray_above=3.0, ray_below=3.0)
    walkers.simulate(rig)
    for side in walkers.SIDES:
        for first, last in walkers.contacts(rig, f".{side}"):
            go((first + last) // 2)
            assert walkers.states(rig) == {"REACHED"}
            for place in (walkers.foot(rig, side), toe(rig, side)):
                assert walkers.ANKLE - 1e-3 < walkers.above(place) < walkers.ANKLE * 1.08


def test_leg_is_as_long_as_the_armature_is_large() -> None:
    """Thresholds that are found by themselves are shares of the leg."""
    rig = walkers.make_walker()
    walkers.stand(rig, walkers.make_ground(walkers.flat))
    lengths = []
    for size in (1.0, 3.0):
        rig.scale = (size, size, size)
        walkers.simulate(rig)
        lengths.append(walk_of(rig, "Leg.L").track.leg)
    assert abs(lengths[1] - 3.0 * lengths[0]) < 1e-5


def test_speed_is_in_meters_a_second_at_any_frame_rate() -> None:
    """Twice the frames a second are twice the speed: what stood at 1 m/s stands at 2."""
    found = []
    for rate, speed in ((24, 1.0), (48, 2.0), (48, 1.0)):
        bpy.ops.wm.read_homefile(use_empty=True)
        bpy.context.scene.render.fps = rate
        rig = walkers.make_walker()
        walkers.stand(rig, walkers.make_ground(walkers.flat), speed=speed, height=1.0)
        walkers.simulate(rig)
        go(1)
        found.append(walkers.contacts(rig, ".L"))
    assert found[0] == found[1] != found[2]


def test_ground_that_is_scaled_flat_is_stood_on_and_takes_feet_along() -> None:
    rig = walkers.make_walker()
    ground = walkers.make_ground(walkers.hills)
    ground.scale.z = 0.0
    walkers.key(ground, "location", [(0, 0, 0.1), (0, 0, 0.15)], [1, walkers.LAST], False)
    walkers.stand(rig, ground)
    walkers.simulate(rig)
    for frame in range(1, walkers.LAST, 9):
        go(frame)
        assert walkers.states(rig) == {"REACHED"} and walkers.messages(rig) == {""}
    first, last = walkers.contacts(rig, ".L")[1]
    for frame in (first, last):
        go(frame)
        assert abs(walkers.foot(rig, "L").z - world_location(ground).z - walkers.ANKLE) < 1e-5
