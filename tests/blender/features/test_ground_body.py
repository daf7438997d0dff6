"""A body over feet on the ground: chest, head and hands move with the hip that it lifts."""

from collections.abc import Callable
from functools import cache
from math import degrees
from typing import Any, NamedTuple

import bpy
import pytest
import rigs
from captured_bodies import SEEN, make_body, make_body_with_ik, put_on_ground, seen_from_hip, set_up
from grounded import along, clip_of, heads
from kept_files import open_kept
from mathutils import Vector
from shapes import make_terrain
from walkers import LAST, Height, flat, hills, make_ground, messages, stairs, states

pytestmark = pytest.mark.newest

FRAMES = range(1, LAST + 1)


def ramp(x: float, _y: float) -> float:
    return 0.27 * x


def bumps(x: float, y: float) -> float:
    return hills(1.4 * x, 2.0 * y)


TERRAINS: dict[str, Height] = {"flat": flat, "slope": ramp, "stairs": stairs, "bumps": bumps}


def item_of(rig: bpy.types.Object, bone: str) -> Any:
    return next(item for item in rig.fabrik.constraints if item.bone == bone)


Seen = list[dict[str, tuple[Vector, Vector]]]
"""Where bones are relative to the hip, and where they point, at each frame."""


class Body(NamedTuple):
    """A body whose walk is keyed on its bones.

    Attributes:
        open: Opens it without IK.
        hip: The bone that is lifted.
        seen: The bones that move with it.
        feet: Its feet.
        frames: The frames that are looked at.
        crouch: How much lower the hip may be above the lower foot, in meters, and in the mean.
        far: How far those bones may be from where they are animated, relative to the hip.
        turned: By how many degrees they may be turned.
    """

    open: Callable[[], Any]
    hip: str
    seen: tuple[str, ...]
    feet: tuple[str, ...]
    frames: range
    crouch: tuple[float, float]
    far: float = 2e-3
    turned: float = 0.5


def capture() -> Any:
    """A captured walk; its set-up is the recipe “From a captured walk to an edited one”."""
    return clip_of("cmu_08_01.bvh")


def knight() -> Any:
    """A walk on the spot that travels and repeats: three of its cycles, of which one has keys."""

    def make() -> None:
        rig = clip_of("kaykit_knight.glb", "Walking_A")
        first, last = (int(frame) for frame in rig.animation_data.action.frame_range)
        scene = bpy.context.scene
        scene.frame_start, scene.frame_end = first, first + 3 * (last - first)

    open_kept("knight that travels", make)
    return bpy.context.object


BODIES: dict[str, Body] = {
    "made": Body(make_body, "Hips", SEEN, ("Foot.L", "Foot.R"), FRAMES, (0.08, 0.03)),
    "captured": Body(
        capture,
        "Hips",
        ("Spine1", "Head", "LeftHand", "RightHand"),
        ("LeftFoot", "RightFoot"),
        range(3, 253, 5),
        (0.16, 0.05),
    ),
    "a knight": Body(
        knight,
        "hips",
        ("chest", "head", "hand.l", "hand.r"),
        ("foot.l", "foot.r"),
        range(1, 74, 4),
        (0.16, 0.05),
    ),
}


@cache
def as_animated(body: str) -> tuple[Seen, list[Vector]]:
    """What is seen of a body before it has IK, and where its hip is at each frame."""
    of = BODIES[body]
    rig = of.open()
    seen = seen_from_hip(rig, of.frames, of.hip, of.seen + of.feet)
    return seen, heads(rig, [of.hip], of.frames)[of.hip]


def off(before: Seen, after: Seen) -> dict[str, tuple[float, float]]:
    """Return how far each bone is from where it was, in meters, and by how many degrees turned."""
    found: dict[str, tuple[float, float]] = {}
    for name in after[0]:
        pairs = [(a[name], b[name]) for a, b in zip(before, after, strict=True)]
        found[name] = (
            max((a[0] - b[0]).length for a, b in pairs),
            max(degrees(a[1].angle(b[1])) for a, b in pairs),
        )
    return found


def crouches(seen: Seen, feet: tuple[str, ...]) -> list[float]:
    """Return how high the hip is above the lower ankle at each frame."""
    return [-min(places[foot][0].z for foot in feet) for places in seen]


@pytest.mark.parametrize(
    ("body", "terrain", "controls"),
    [
        *(("made", terrain, "BONE") for terrain in TERRAINS),
        ("made", "stairs", "EMPTY"),
        ("made", "stairs", "ARMATURE"),
        *(("captured", terrain, "BONE") for terrain in TERRAINS),
        ("a knight", "slope", "BONE"),
        ("a knight", "stairs", "BONE"),
    ],
)
def test_the_body_is_posed_as_animated_above_the_hip(
    body: str, terrain: str, controls: str
) -> None:
    """The hip rises with the ground, and nobody squats: a capture climbs up to three steps."""
    of, (before, path) = BODIES[body], as_animated(body)
    open_kept(("with IK", body, controls), lambda: set_up(of.open(), controls=controls))
    rig = bpy.context.object
    put_on_ground(rig, along(path, TERRAINS[terrain]))
    after = seen_from_hip(rig, of.frames, of.hip, of.seen + of.feet)
    assert states(rig) == {"REACHED"} and messages(rig) == {""}
    risen = heads(rig, [of.hip], of.frames[-1:])[of.hip][0].z - path[-1].z
    assert (risen > 0.35) == (terrain in ("slope", "stairs"))
    found = off(before, after)
    for name in of.seen:
        far, turned = found[name]
        assert far < of.far and turned < of.turned, name
    old, new = crouches(before, of.feet), crouches(after, of.feet)
    assert min(new) > min(old) - of.crouch[0]
    assert sum(new) / len(new) > sum(old) / len(old) - of.crouch[1]


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


@pytest.mark.parametrize("controls", ["EMPTY", "BONE"])
def test_baking_to_targets_keeps_the_body(controls: str) -> None:
    rig = make_body_with_ik(controls)
    put_on_ground(rig, make_ground(stairs))
    before = seen_from_hip(rig, FRAMES, "Hips")
    assert bpy.ops.fabrik.ground_bake(error=1e-3) == {"FINISHED"}
    assert not any(item.ground.use for item in rig.fabrik.constraints)
    for name, (far, _) in off(before, seen_from_hip(rig, FRAMES, "Hips")).items():
        # A spine or arm that is nearly straight would bulge by many times what its target is off.
        assert far < 2e-3, f"{name}, which like the hip may be off by a millimeter"


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
    target.parent = None
    target.location = rail.location


@pytest.mark.parametrize("how", HELD)
def test_what_is_held_stays(how: str) -> None:
    """The other hand moves with the body."""
    before = as_animated("made")[0][19:39]
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
    before = as_animated("made")[0][:19]
    rig = make_body_with_ik("BONE")
    rail = rigs.make_empty("Rail", (1.1, 0.25, 1.4))
    control = rig.pose.bones[item_of(rig, "Hand.L").subtarget]
    con = control.constraints.new("COPY_LOCATION")
    con.target = rail
    rigs.key(con, "influence", {20: 0.0, 40: 1.0})
    put_on_ground(rig, make_ground(stairs))
    after = seen_from_hip(rig, range(1, 20), "Hips")
    assert off(before, after)["Hand.L"][0] < 2e-3
    rigs.go(42)
    item = item_of(rig, "Hand.L")
    hand = rigs.tip_world(rig, "Hand.L", use_tail=False)
    assert abs((hand - rail.location).length - item.error) < 1e-3


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
