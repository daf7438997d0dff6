"""Pins that keep their places while the animation plays, and the following body."""

from itertools import pairwise
from typing import Any

import bpy
import pytest
from captured_bodies import make_body
from captures import imported
from dragged_bodies import head_of
from inside import forget
from mathutils import Vector
from rendering import rendered
from rigs import channels_bits, evaluated, go, key, pose_bits, shown_bits, update

from addon.features.whole_body.dragging import WholeBodyDrag
from addon.features.whole_body.keeping import pins_problem
from addon.features.whole_body.roles import roles_of
from addon.features.whole_body.settings import pin_kind

pytestmark = pytest.mark.newest

FEET = ("Foot.L", "Foot.R")
HAND = "Hand.L"


@pytest.fixture
def walker(empty_file: None) -> Any:
    rig = make_body()
    bpy.ops.object.mode_set(mode="POSE")
    return rig


def pin(bone: str, **options: object) -> None:
    assert bpy.ops.fabrik.pin(bone=bone, **{"kind": "LOCATION", **options}) == {"FINISHED"}
    update()


def played(rig: Any, bones: list[str], frames: range) -> dict[str, list[Vector]]:
    places: dict[str, list[Vector]] = {name: [] for name in bones}
    for frame in frames:
        go(frame)
        for name in bones:
            places[name].append(head_of(rig, name))
    return places


def acceleration(places: list[Vector]) -> float:
    """Return the largest acceleration, in units per frame²."""
    steps = [after - before for before, after in pairwise(places)]
    return max((after - before).length for before, after in pairwise(steps))


def test_a_hand_keeps_its_place_and_the_feet_walk_on(walker: Any) -> None:
    frames = range(5, 9)
    before = played(walker, [HAND, *FEET], frames)
    fk = channels_bits(walker)
    go(5)
    pin(HAND, frames="PLACE")
    assert [(one.bone, one.frames) for one in walker.fabrik.pins] == [
        (HAND, "PLACE"),
        *[(foot, "ANIMATION") for foot in FEET],
    ]
    after = played(walker, [HAND, *FEET], frames)
    assert max((place - before[HAND][0]).length for place in after[HAND]) < 1e-5
    for foot in FEET:
        pairs = zip(before[foot], after[foot], strict=True)
        assert max((a - b).length for a, b in pairs) < 1e-5
    assert channels_bits(walker) == fk != shown_bits(walker)


def test_a_place_out_of_reach_takes_the_body_along_and_not_the_feet(walker: Any) -> None:
    go(9)
    before = {name: head_of(walker, name) for name in (*FEET, HAND, "Hips", "Chest")}
    pin(HAND, frames="PLACE")
    walker.fabrik.pins[0].location = before[HAND] + Vector((0.5, 0.3, -0.3))
    update()
    assert (head_of(walker, HAND) - before[HAND] - Vector((0.5, 0.3, -0.3))).length < 1e-4
    assert (head_of(walker, "Chest") - before["Chest"]).length > 0.03
    assert max((head_of(walker, foot) - before[foot]).length for foot in FEET) < 1e-5
    walker.fabrik.pins[0].location = before[HAND] + Vector((9.0, 0.0, 0.0))
    update()
    assert max((head_of(walker, foot) - before[foot]).length for foot in FEET) < 1e-4


def test_what_the_arm_can_do_alone_it_does(walker: Any) -> None:
    go(9)
    before = {name: head_of(walker, name) for name in (HAND, "Hips", "Chest")}
    pin(HAND, frames="PLACE")
    walker.fabrik.pins[0].location = before[HAND] + Vector((0.1, 0.0, 0.1))
    update()
    assert (head_of(walker, HAND) - before[HAND] - Vector((0.1, 0.0, 0.1))).length < 1e-5
    for name in ("Hips", "Chest"):
        assert (head_of(walker, name) - before[name]).length < 2e-3


def test_influence_goes_from_the_animation_to_the_place(walker: Any) -> None:
    go(9)
    start, fk = head_of(walker, HAND), shown_bits(walker)
    pin(HAND, kind="BOTH", frames="PLACE")
    one = walker.fabrik.pins[0]
    one.location = start + Vector((0.2, 0.0, 0.1))
    for share in (1.0, 0.5, 0.25):
        one.influence = share
        update()
        expected = start + share * Vector((0.2, 0.0, 0.1))
        assert (head_of(walker, HAND) - expected).length < 1e-5
    one.influence = 0.0
    update()
    assert shown_bits(walker) == fk


def test_rotation_is_kept_in_the_world(walker: Any) -> None:
    go(5)
    pin(HAND, kind="BOTH", frames="PLACE")
    shown = evaluated(walker)
    before = (shown.matrix_world @ shown.pose.bones[HAND].matrix).to_quaternion()
    for frame in (7, 9, 12):
        go(frame)
        shown = evaluated(walker)
        now = (shown.matrix_world @ shown.pose.bones[HAND].matrix).to_quaternion()
        assert now.rotation_difference(before).angle < 1e-4


def test_a_body_that_constraints_pose_is_refused_and_said(walker: Any) -> None:
    con = walker.pose.bones["Spine"].constraints.new("LIMIT_ROTATION")
    con.use_limit_x = True
    update()
    with pytest.raises(RuntimeError, match=r"“Spine” has constraints"):
        bpy.ops.fabrik.pin(bone=HAND, kind="LOCATION", frames="PLACE")
    assert len(walker.fabrik.pins) == 0
    con.mute = True
    update()
    pin(HAND, frames="PLACE")
    assert pins_problem(walker) == ""
    con.mute = False
    update()
    assert "“Spine” has constraints" in pins_problem(walker)


def test_a_place_that_is_none_is_said_and_the_pose_stays(walker: Any) -> None:
    go(9)
    fk = shown_bits(walker)
    pin(HAND, frames="PLACE")
    walker.fabrik.pins[0].location.x = float("nan")
    update()
    assert "has an invalid location" in pins_problem(walker)
    assert shown_bits(walker) == fk
    walker.fabrik.pins[0].location.x = 0.0
    update()
    assert pins_problem(walker) == ""


def test_a_bone_of_another_body_is_refused(walker: Any) -> None:
    bpy.ops.object.mode_set(mode="EDIT")
    other = walker.data.edit_bones.new("Other")
    other.head, other.tail = (1.0, 0.0, 0.0), (1.0, 0.0, 1.0)
    bpy.ops.object.mode_set(mode="POSE")
    update()
    pin(HAND, frames="PLACE")
    with pytest.raises(RuntimeError, match=r"“Other” and the other pinned bones have no"):
        bpy.ops.fabrik.pin(bone="Other", kind="LOCATION", frames="PLACE")
    assert "Other" not in [one.bone for one in walker.fabrik.pins]


@pytest.mark.parametrize("far", [1e4, 1e12, 3e38])
def test_a_place_far_away_takes_no_foot_along(walker: Any, far: float) -> None:
    go(9)
    before = {foot: head_of(walker, foot) for foot in FEET}
    pin(HAND, frames="PLACE")
    walker.fabrik.pins[0].location = (far, far, 0.0)
    update()
    assert max((head_of(walker, foot) - before[foot]).length for foot in FEET) < 1e-3


def test_a_renamed_bone_stays_pinned(walker: Any) -> None:
    go(5)
    pin(HAND, frames="PLACE")
    place = head_of(walker, HAND)
    walker.data.bones[HAND].name = "Palm.L"
    update()
    go(9)
    assert (head_of(walker, "Palm.L") - place).length < 1e-5


def test_bones_that_were_just_renamed_are_pinned(walker: Any) -> None:
    go(5)
    for name in ("Head", "Hips", "Chest"):
        walker.data.bones[name].name = f"{name}.old"
    pin(HAND, frames="PLACE")
    place = head_of(walker, HAND)
    go(8)
    assert (head_of(walker, HAND) - place).length < 1e-5


def test_dragging_a_bone_that_keeps_its_place_moves_the_place(walker: Any) -> None:
    go(7)
    pin(HAND, frames="PLACE")
    go(9)
    start, way = head_of(walker, HAND), Vector((0.15, 0.0, 0.2))
    drag = WholeBodyDrag(bpy.context.evaluated_depsgraph_get(), walker, HAND)
    before = pose_bits(walker)
    drag.move_by(tuple(way))
    update()
    assert (head_of(walker, HAND) - start - way).length < 1e-4
    drag.cancel()
    update()
    assert pose_bits(walker) == before
    assert bpy.ops.fabrik.drag(bone=HAND, value=way) == {"FINISHED"}
    go(12, 8)
    assert (head_of(walker, HAND) - start - way).length < 1e-4


def test_a_pin_that_is_freed_while_it_is_dragged_is_back_when_that_is_cancelled(
    walker: Any,
) -> None:
    go(7)
    pin(HAND, frames="PLACE")
    go(9)
    before, place = pose_bits(walker), tuple(walker.fabrik.pins[HAND].location)
    drag = WholeBodyDrag(bpy.context.evaluated_depsgraph_get(), walker, HAND)
    drag.move_by((0.1, 0.0, 0.1))
    for kind in ("BOTH", "NONE"):
        drag.next_pin()
        drag.move_by((0.15, 0.0, 0.2))
        update()
        assert pin_kind(walker, HAND) == kind
    drag.cancel()
    update()
    one = walker.fabrik.pins[HAND]
    assert (one.kind, one.frames, tuple(one.location)) == ("LOCATION", "PLACE", place)
    assert pose_bits(walker) == before


def test_dragging_another_bone_leaves_the_place(walker: Any) -> None:
    go(7)
    pin(HAND, frames="PLACE")
    go(9)
    place, start = head_of(walker, HAND), head_of(walker, "Hips")
    feet = {foot: head_of(walker, foot) for foot in FEET}
    assert bpy.ops.fabrik.drag(bone="Hips", value=(0.0, 0.05, -0.08)) == {"FINISHED"}
    update()
    assert (head_of(walker, "Hips") - start - Vector((0.0, 0.05, -0.08))).length < 1e-4
    assert (head_of(walker, HAND) - place).length < 1e-4
    assert max((head_of(walker, foot) - feet[foot]).length for foot in FEET) < 1e-4


def test_pins_for_posing_alone_cost_no_plan(walker: Any) -> None:
    from addon.plan import planner

    for foot in FEET:
        pin(foot)
    assert walker.session_uid not in planner.current().rigs
    pin(HAND, frames="PLACE")
    assert walker.session_uid in planner.current().rigs
    pin(HAND, frames="POSING")
    assert walker.session_uid not in planner.current().rigs


CAPTURES = (
    "cmu_08_01.bvh",
    "egg_walking.bvh",
    "cmu_16_22.bvh",
    "cmu_02_03.bvh",
    "xia_neutral_01_000.bvh",
)


@pytest.mark.parametrize("name", CAPTURES)
def test_a_hand_on_a_rail_over_a_captured_walk(name: str) -> None:
    """The rail is as far above the hand's mean place as a quarter of the arm is long."""
    rig = imported(name, update_scene_fps=True)
    bpy.ops.object.mode_set(mode="POSE")
    roles = roles_of(rig)
    hand, bones = roles.hands[0], rig.pose.bones
    knees = [bones[foot].parent.name for foot in roles.feet]
    spine = [roles.hips, *(one.name for one in bones[roles.head].parent_recursive)]
    spine = [roles.head, *spine[: spine.index(roles.hips, 1)]]
    watched = [*knees, *spine, hand, *roles.feet]
    frames = range(6, 126)
    before = played(rig, watched, frames)
    first, last = before[roles.hips][0], before[roles.hips][-1]
    ways = [first.lerp(last, i / (len(frames) - 1)) for i in range(len(frames))]
    offset = sum((a - b for a, b in zip(before[hand], ways, strict=True)), Vector()) / len(frames)
    lower = bones[hand].parent
    arm = (lower.bone.length + lower.parent.bone.length) * rig.matrix_world.to_scale().x
    rail = [way + offset + Vector((0.0, 0.0, 0.25 * arm)) for way in ways]
    pin(hand, frames="PLACE")
    one = rig.fabrik.pins[0]
    for frame, place in zip(frames, rail, strict=True):
        key(one, "location", {frame: place})
    after = played(rig, watched, frames)
    size = roles.size * rig.matrix_world.to_scale().x
    missed = max((a - b).length for a, b in zip(after[hand], rail, strict=True)) / size
    slid = max((a - b).length for f in roles.feet for a, b in zip(after[f], before[f], strict=True))
    knee, trunk = (
        max(acceleration(after[n]) for n in part) / max(acceleration(before[n]) for n in part)
        for part in (knees, spine)
    )
    print(f"{name}: hand {1.7e6 * missed:.1f} µm at 1.7 m, knees {knee:.2f}, spine {trunk:.2f}")
    assert missed < 1e-5
    assert slid < 1e-5 * size
    assert knee <= 1.2
    assert trunk <= 1.2


def changed_lock(rig: Any) -> None:
    rig.pose.bones["Forearm.L"].lock_rotation = (True, True, True)
    rig.pose.bones["Forearm.L"].lock_rotation_w = True


def changed_native_limit(rig: Any) -> None:
    bone = rig.pose.bones["UpperArm.L"]
    bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, -0.1, 0.1


def locked_root(rig: Any) -> None:
    rig.pose.bones["Hips"].lock_location = (True, False, False)


def lain_down(rig: Any) -> None:
    rig.rotation_euler = (1.6, 0.0, 0.3)
    update()
    forget()


def muted(rig: Any) -> None:
    con = rig.pose.bones["Spine"].constraints.new("LIMIT_ROTATION")
    update()
    con.mute = True


EDITS = (changed_lock, locked_root, changed_native_limit, lain_down, muted)


@pytest.mark.parametrize("edit", EDITS)
def test_a_pose_depends_on_nothing_that_was_before(walker: Any, edit: Any) -> None:
    walker.pose.bones["UpperArm.L"].fabrik_joint.limit_type = "BLENDER"
    go(9)
    pin(HAND, frames="PLACE")
    walker.fabrik.pins[0].location.x += 0.2
    update()
    edit(walker)
    update()
    walker.rotation_euler = (0.0, 0.0, 0.0)
    update()
    shown = pose_bits(walker)
    forget()
    go(8, 9)
    assert pose_bits(walker) == shown


def test_keyed_locks_count_in_a_render(walker: Any) -> None:
    go(9)
    pin(HAND, frames="PLACE")
    walker.fabrik.pins[0].location.x += 0.2
    forearm = walker.pose.bones["Forearm.L"]
    forearm.rotation_mode = "XYZ"
    for frame, is_locked in ((7, False), (9, True)):
        key(forearm, "lock_rotation", {frame: (is_locked,) * 3})
    shown: dict[int, bytes] = {}
    for frame in (7, 9):
        go(frame)
        shown[frame] = pose_bits(walker)
    forearm.lock_rotation = (False,) * 3
    assert rendered(7, 9, 2) == shown
