"""A body over feet on the ground: chest, head and hands move with the hip that it lifts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import degrees
from typing import Any

import bpy
import pytest
import rigs
from captured_bodies import make_body, make_body_with_ik, put_on_ground, seen_from_hip, set_up
from captures import imported
from kept_files import open_kept
from mathutils import Vector
from shapes import make_terrain
from walkers import LAST, Height, flat, hills, make_ground, messages, stairs, states

from addon.blender.animation import use_action

pytestmark = pytest.mark.newest

FRAMES = range(1, LAST + 1)


def ramp(x: float, _y: float) -> float:
    return 0.27 * x


def bumps(x: float, y: float) -> float:
    return hills(1.4 * x, 2.0 * y)


TERRAINS: dict[str, Height] = {"flat": flat, "slope": ramp, "stairs": stairs, "bumps": bumps}


def item_of(rig: bpy.types.Object, bone: str) -> Any:
    return next(item for item in rig.fabrik.constraints if item.bone == bone)


def off(
    before: list[dict[str, tuple[Vector, Vector]]], after: list[dict[str, tuple[Vector, Vector]]]
) -> dict[str, tuple[float, float]]:
    """Return how far each bone is from where it was, in metres, and by how many degrees turned."""
    found: dict[str, tuple[float, float]] = {}
    for name in before[0]:
        pairs = [(a[name], b[name]) for a, b in zip(before, after, strict=True)]
        found[name] = (
            max((a[0] - b[0]).length for a, b in pairs),
            max(degrees(a[1].angle(b[1])) for a, b in pairs),
        )
    return found


@cache
def as_animated() -> list[dict[str, tuple[Vector, Vector]]]:
    """What is seen of the body before it has IK."""
    return seen_from_hip(make_body(), FRAMES, "Hips")


STANDING = LAST - 10
"""A frame at which the body stands on a step."""


def standing(is_animated: bool = True) -> Any:
    """A body with control bones on stairs, which walks there or stands, in Pose Mode."""

    def make() -> None:
        rig = make_body_with_ik("BONE")
        rigs.go(STANDING)
        if not is_animated:
            rig.animation_data_clear()
        put_on_ground(rig, make_ground(stairs))
        rigs.go(STANDING)

    open_kept(("captured body on stairs", is_animated), make)
    return bpy.data.objects["Body"]


@pytest.mark.parametrize(
    ("terrain", "controls"),
    [*((terrain, "BONE") for terrain in TERRAINS), ("stairs", "EMPTY"), ("stairs", "ARMATURE")],
)
def test_the_body_is_posed_as_animated_above_the_hip(terrain: str, controls: str) -> None:
    before = as_animated()
    rig = make_body_with_ik(controls)
    rigs.go(LAST)
    low = rigs.tip_world(rig, "Hips", use_tail=False).z
    put_on_ground(rig, make_ground(TERRAINS[terrain]))
    after = seen_from_hip(rig, FRAMES, "Hips")
    assert states(rig) == {"REACHED"} and messages(rig) == {""}
    if terrain in ("slope", "stairs"):
        assert rigs.tip_world(rig, "Hips", use_tail=False).z > low + 0.4
    for name, (far, turned) in off(before, after).items():
        assert far < 2e-3 and turned < 0.5, name


@pytest.mark.parametrize("controls", ["EMPTY", "BONE"])
def test_baking_to_targets_keeps_the_body(controls: str) -> None:
    rig = make_body_with_ik(controls)
    put_on_ground(rig, make_ground(stairs))
    before = seen_from_hip(rig, FRAMES, "Hips")
    assert bpy.ops.fabrik.ground_bake(error=1e-3) == {"FINISHED"}
    assert not any(item.ground.use for item in rig.fabrik.constraints)
    for name, (far, _) in off(before, seen_from_hip(rig, FRAMES, "Hips")).items():
        # A spine or arm that is nearly straight would bulge by many times what its target is off.
        assert far < 2e-3, f"{name}, which like the hip may be off by a millimetre"


@pytest.mark.parametrize("which", ["snap", "add"])
def test_controls_over_a_lifted_body_are_placed_where_they_do_not_move_it(which: str) -> None:
    """Snapping a hand alone, and adding a limb anew, while the feet hold the body up."""
    rig = standing()
    hand = item_of(rig, "Hand.L")
    if which == "add":
        rig.fabrik.active_index = list(rig.fabrik.constraints).index(hand)
        assert bpy.ops.fabrik.constraint_remove() == {"FINISHED"}
    before = seen_from_hip(rig, range(STANDING, STANDING + 1), "Hips")
    if which == "add":
        rig.data.bones.active = rig.data.bones["Hand.L"]
        for bone in rig.pose.bones:
            owner = bone if hasattr(bone, "select") else bone.bone
            owner.select = bone.name == "Hand.L"
        assert bpy.ops.fabrik.limb_add(controls="BONE") == {"FINISHED"}
    else:
        rig.fabrik.active_index = list(rig.fabrik.constraints).index(hand)
        rig.pose.bones[hand.subtarget].location.x += 0.1
        assert bpy.ops.fabrik.snap_to_fk(which="ACTIVE") == {"FINISHED"}
    assert item_of(rig, "Hand.L").target == rig
    after = {name: rigs.tip_world(rig, name, use_tail=False) for name in ("Hand.L", "Hips")}
    assert (after["Hand.L"] - after["Hips"] - before[0]["Hand.L"][0]).length < 2e-3


def click(rig: Any, *names: str) -> None:
    for bone in rig.pose.bones:
        owner = bone if hasattr(bone, "select") else bone.bone
        owner.select = bone.name in names
    rig.data.bones.active = rig.data.bones[names[0]]


def places(rig: Any) -> dict[str, Vector]:
    rigs.go(STANDING)
    return {
        name: rigs.tip_world(rig, name, use_tail=False) for name in ("Hand.L", "Hand.R", "Hips")
    }


def lift_of_hand(rig: Any) -> float:
    from addon.blender.skeleton import Point
    from addon.editing.lifting import lifts_of
    from addon.plan.planner import chains_in

    chain = next(c for c in chains_in(rig) if rig.fabrik.constraints[c.item].bone == "Hand.L")
    assert isinstance(chain.target, Point)
    return Vector(lifts_of(bpy.context.evaluated_depsgraph_get(), chain)[0]).length


@pytest.mark.parametrize("is_animated", [True, False])
@pytest.mark.parametrize("controls", ["EMPTY", "BONE"])
@pytest.mark.parametrize("operator", ["limb_add", "constraint_add", "pole_add"])
def test_what_is_added_over_a_lifted_body_is_lifted_once(
    operator: str, controls: str, is_animated: bool
) -> None:
    rig = standing(is_animated)
    hand = item_of(rig, "Hand.L")
    rig.fabrik.active_index = list(rig.fabrik.constraints).index(hand)
    if operator == "pole_add":
        hand.pole_target = None
        hand.target.pose.bones[hand.subtarget].location.z += 0.01
    else:
        assert bpy.ops.fabrik.constraint_remove() == {"FINISHED"}
    before = places(rig)
    click(rig, "Hand.L")
    options = {"chain_count": 2} if operator == "constraint_add" else {}
    assert getattr(bpy.ops.fabrik, operator)(controls=controls, **options) == {"FINISHED"}
    after = places(rig)
    # An Empty that is placed beside an animated body is placed in the world.
    is_placed = is_animated and controls == "EMPTY" and operator != "pole_add"
    assert lift_of_hand(rig) == 0.0 if is_placed else lift_of_hand(rig) > 0.1
    for name, place in before.items():
        assert (after[name] - place).length < 2e-3, name


@pytest.mark.parametrize("how", ["operator", "checkbox"])
def test_an_offset_that_is_set_over_a_lifted_body_moves_nothing(how: str) -> None:
    rig = standing()
    hand = item_of(rig, "Hand.L")
    rig.fabrik.active_index = list(rig.fabrik.constraints).index(hand)
    before = places(rig)
    if how == "operator":
        assert bpy.ops.fabrik.offset_set() == {"FINISHED"}
    else:
        hand.use_offset = True
    assert lift_of_hand(rig) > 0.1
    assert Vector(hand.offset_location).length < 2e-3
    assert (places(rig)["Hand.L"] - before["Hand.L"]).length < 2e-3


def test_a_drag_over_a_lifted_body_starts_at_the_tip() -> None:
    from addon.features.drag.target import TargetDrag
    from addon.plan.planner import chains_in

    rig = standing()
    chain = next(c for c in chains_in(rig) if rig.fabrik.constraints[c.item].bone == "Hand.L")
    dragged = TargetDrag(bpy.context.evaluated_depsgraph_get(), chain, chain.target)
    assert (Vector(dragged.place) - Vector(dragged.tip_start)).length < 2e-3


HELD: dict[str, Callable[[bpy.types.Object, bpy.types.Object], None]] = {}


def held(make: Callable[..., None]) -> Callable[..., None]:
    HELD[make.__name__] = make
    return make


@held
def an_object_of_the_scene(rig: bpy.types.Object, rail: bpy.types.Object) -> None:
    item = item_of(rig, "Hand.L")
    item.target, item.subtarget = rail, ""


@held
def a_control_parented_to_it(rig: bpy.types.Object, rail: bpy.types.Object) -> None:
    target = item_of(rig, "Hand.L").target
    target.animation_data_clear()
    target.parent = rail
    target.location = (0, 0, 0)


@held
def a_control_that_copies_it(rig: bpy.types.Object, rail: bpy.types.Object) -> None:
    item_of(rig, "Hand.L").target.constraints.new("COPY_LOCATION").target = rail


@held
def a_control_that_is_placed(rig: bpy.types.Object, rail: bpy.types.Object) -> None:
    target = item_of(rig, "Hand.L").target
    target.animation_data_clear()
    target.location = rail.location


@pytest.mark.parametrize("how", HELD)
def test_what_is_held_stays(how: str) -> None:
    """The other hand moves with the body."""
    before = as_animated()[19:39]
    rig = make_body_with_ik()
    rail = rigs.make_empty("Rail", (0.9, 0.35, 1.3))
    HELD[how](rig, rail)
    put_on_ground(rig, make_ground(stairs))
    item_of(rig, "Hand.L").use_rotation = False
    after = seen_from_hip(rig, range(20, 40), "Hips")
    assert off(before, after)["Hand.R"][0] < 2e-3
    for frame in range(20, 40, 3):
        rigs.go(frame)
        item = item_of(rig, "Hand.L")
        hand = rigs.tip_world(rig, "Hand.L", use_tail=False)
        reached = item.state == "REACHED"
        assert abs((hand - rail.location).length - item.error) < 1e-3
        assert not reached or (hand - rail.location).length < 1e-3


def test_a_hand_that_takes_hold_goes_along_as_far_as_it_is_free() -> None:
    before = as_animated()[:19]
    rig = make_body_with_ik("BONE")
    rail = rigs.make_empty("Rail", (1.1, 0.25, 1.4))
    control = rig.pose.bones[item_of(rig, "Hand.L").subtarget]
    con = control.constraints.new("COPY_LOCATION")
    con.target = rail
    for frame, influence in ((20, 0.0), (40, 1.0)):
        con.influence = influence
        con.keyframe_insert("influence", frame=frame)
    put_on_ground(rig, make_ground(stairs))
    after = seen_from_hip(rig, range(1, 20), "Hips")
    assert off(before, after)["Hand.L"][0] < 2e-3
    rigs.go(42)
    item = item_of(rig, "Hand.L")
    hand = rigs.tip_world(rig, "Hand.L", use_tail=False)
    assert abs((hand - rail.location).length - item.error) < 1e-3


def squats(rig: bpy.types.Object, frames: range, feet: tuple[str, ...]) -> list[float]:
    """Return how high the hip is above the lower ankle at each frame."""
    found: list[float] = []
    for frame in frames:
        rigs.go(frame)
        places = [rigs.tip_world(rig, foot, use_tail=False).z for foot in feet]
        found.append(rigs.tip_world(rig, "Hips", use_tail=False).z - min(places))
    return found


def test_the_hip_does_not_squat_on_stairs() -> None:
    """Each foot climbs two steps at a time, of 15 cm."""
    rig = make_body()
    frames = range(10, LAST - 10)
    feet = ("Foot.L", "Foot.R")
    before = squats(rig, frames, feet)
    rig = make_body_with_ik()
    put_on_ground(rig, make_ground(stairs))
    after = squats(rig, frames, feet)
    # Half a step is lost while one foot lands and the other leaves.
    assert min(after) > min(before) - 0.08
    assert sum(after) / len(after) > sum(before) / len(before) - 0.03


@pytest.mark.parametrize("shift", [0.0, 0.07, 0.14, 0.21, 0.28])
def test_a_foot_whose_ball_is_over_a_riser_stands_on_the_step(shift: float) -> None:
    """Risers of 4 cm, as steep as walls, one of which is below each step of one foot."""
    rig = make_body_with_ik()
    rigs.go(LAST)
    low = rigs.tip_world(rig, "Hips", use_tail=False).z
    xs = [-2.0 + 0.04 * i for i in range(200)]
    ys = [-1.0, 0.0, 1.0]
    put_on_ground(rig, make_terrain("Ground", xs, ys, lambda x, y: stairs(x + shift, y)))
    assert states(rig) == {"REACHED"} and messages(rig) == {""}
    rigs.go(LAST)
    place = rigs.tip_world(rig, "Hips", use_tail=False)
    assert place.z - low > stairs(place.x + shift, 0.0) - 0.16


CAPTURED = "Spine1", "Head", "LeftHand", "RightHand"
STRIDES = range(3, 253, 5)


def capture() -> Any:
    """A walk as it was captured."""
    return imported(
        "cmu_08_01.bvh", global_scale=0.0564, update_scene_fps=True, update_scene_duration=True
    )


def capture_with_ik() -> Any:
    """The captured walk after the steps of the recipe “From a captured walk to an edited one”."""

    def make() -> None:
        rigs.activate(capture())
        bpy.ops.object.mode_set(mode="POSE")
        assert bpy.ops.fabrik.character_recognize() == {"FINISHED"}
        set_up(bpy.context.object)

    open_kept("captured walk with IK", make)
    return bpy.context.object


@cache
def as_captured() -> list[dict[str, tuple[Vector, Vector]]]:
    """What is seen of the captured walk."""
    return seen_from_hip(capture(), STRIDES, "Hips", CAPTURED)


@pytest.mark.parametrize("terrain", TERRAINS)
def test_the_recipe_on_a_full_capture(terrain: str) -> None:
    """With chest and hands."""
    before = as_captured()
    rig = capture_with_ik()
    rigs.go(3)
    start = rigs.tip_world(rig, "Hips", use_tail=False)
    rigs.go(252)
    way = (rigs.tip_world(rig, "Hips", use_tail=False) - start).to_2d().normalized()

    def height(x: float, y: float) -> float:
        along = (Vector((x, y)) - start.xy) @ way
        return TERRAINS[terrain](max(along, -1.5), 0.3)

    xs = [start.x + 0.04 * i for i in range(-60, 140)]
    ys = [start.y + 0.04 * i for i in range(-140, 60)]
    put_on_ground(rig, make_terrain("Ground", xs, ys, height))
    after = off(before, seen_from_hip(rig, STRIDES, "Hips", CAPTURED))
    assert after["Spine1"][0] < 0.03 and after["Spine1"][1] < 5.0
    assert max(far for far, _ in after.values()) < 0.05


@pytest.mark.parametrize("terrain", ["slope", "stairs"])
def test_a_walk_on_the_spot_that_travels_and_repeats(terrain: str) -> None:
    """With root motion, set up over three of its cycles; one has keys."""
    open_kept("knight that travels", make_knight)
    rig, scene = bpy.context.object, bpy.context.scene
    first = scene.frame_start
    bones = ("chest", "head", "hand.l", "hand.r")
    frames = range(first, scene.frame_end + 1, 4)
    before = seen_from_hip(rig, frames, "hips", bones)
    rigs.go(first)
    start = rigs.tip_world(rig, "hips", use_tail=False)
    rigs.go(frames[-1])
    low = rigs.tip_world(rig, "hips", use_tail=False)
    open_kept("knight that travels with IK", make_knight_with_ik)
    rig = bpy.context.object
    xs, ys = [0.04 * i - 2.0 for i in range(100)], [0.04 * i - 5.0 for i in range(160)]
    put_on_ground(rig, make_terrain("G", xs, ys, lambda _, y: TERRAINS[terrain](max(-y, -1.5), 0)))
    for name, (far, turned) in off(before, seen_from_hip(rig, frames, "hips", bones)).items():
        assert far < 1e-3 and turned < 0.1, name
    rigs.go(frames[-1])
    assert rigs.tip_world(rig, "hips", use_tail=False).z > low.z + 0.5
    assert start.y > low.y + 3.0, "it walks along −Y"


def make_knight() -> None:
    rig = imported("kaykit_knight.glb")
    for track in rig.animation_data.nla_tracks:
        track.mute = True
    # Before 4.4 the importer appends the name of the armature.
    action = next(a for a in bpy.data.actions if a.name.startswith("Walking_A"))
    slots = getattr(action, "slots", None)
    use_action(rig, action, slots[0].handle if slots else 0)
    first, last = (int(frame) for frame in rig.animation_data.action.frame_range)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = first, first + 3 * (last - first)
    rigs.activate(rig)
    assert bpy.ops.fabrik.root_motion_add() == {"FINISHED"}


def make_knight_with_ik() -> None:
    open_kept("knight that travels", make_knight)
    bpy.ops.object.mode_set(mode="POSE")
    assert bpy.ops.fabrik.character_recognize() == {"FINISHED"}
    set_up(bpy.context.object)


def test_the_hip_of_a_capture_is_lower_than_captured_by_a_step_at_most() -> None:
    """Steps of 16 × 32 cm, of which its feet climb two or three at once."""
    rig, feet = capture(), ("LeftFoot", "RightFoot")
    frames = range(3, min(int(rig.animation_data.action.frame_range[1]), 253) + 1)
    before = squats(rig, frames, feet)
    places = [(rigs.go(f), rigs.tip_world(rig, "Hips", use_tail=False))[1] for f in frames]
    start = places[0]
    way = (places[-1] - start).to_2d().normalized()

    def height(x: float, y: float) -> float:
        return 0.16 * min(max(((Vector((x, y)) - start.xy) @ way - 0.5) // 0.32, 0), 5)

    rig, scene = capture_with_ik(), bpy.context.scene
    scene.frame_start, scene.frame_end = frames[0], frames[-1]
    xs, ys = ([place[i] for place in places] for i in (0, 1))
    grid = [
        [min(v) - 2.0 + 0.04 * k for k in range(int((max(v) - min(v) + 4.0) / 0.04))]
        for v in (xs, ys)
    ]
    put_on_ground(rig, make_terrain("Ground", *grid, height))
    after = squats(rig, frames, feet)
    assert min(after) > min(before) - 0.16
    assert states(rig) == {"REACHED"}
