"""Keys in bulk, and constraints that count as off."""

import random

import bpy
import pytest
from rigs import add_constraint, key, make_chain, make_empty, tip_world, update

from addon.blender import animation
from addon.blender.keying import set_keys, set_span
from addon.settings.muting import full_influence, muting


def keys(ob, path, index):
    curve = animation.active_curves(ob, path)[index]
    return [(round(p.co[0], 4), round(p.co[1], 4)) for p in curve.keyframe_points]


def test_keys_replace_those_between_and_keep_the_others():
    ob = make_empty()
    for frame in (0, 5, 10, 20):
        key(ob, "location", {frame: (frame, 0, 0)})
    set_keys(ob, "location", [4, 5, 6, 7, 10], [[1, 2, 3, 4, 5], [0] * 5, [7] * 5])
    assert keys(ob, "location", 0) == [(0, 0), (4, 1), (5, 2), (6, 3), (7, 4), (10, 5), (20, 20)]
    assert keys(ob, "location", 2)[1:-1] == [(frame, 7) for frame in (4, 5, 6, 7, 10)]


@pytest.mark.parametrize("is_linear", (True, False))
def test_keys_are_reached_exactly_and_a_straight_curve_between_them(is_linear):
    ob = make_empty()
    set_keys(ob, "location", [1, 3], [[0, 1], [0, 0], [5, 9]], is_linear)
    bpy.context.scene.frame_set(3)
    assert tuple(ob.location) == (1, 0, 9)
    bpy.context.scene.frame_set(1, subframe=0.5)
    assert ob.location.x == pytest.approx(0.25 if is_linear else 0.15625, abs=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_keys_of_a_span_leave_the_curve_before_and_after_it_as_it_was(seed):
    r = random.Random(seed)
    ob = make_empty()
    for frame in sorted(r.sample(range(-20, 60), 7)):
        ob.location = (r.uniform(-5, 5), 0, 7)
        ob.keyframe_insert("location", index=0, frame=frame)
    curve = animation.active_curves(ob, "location")[0]
    outside = [n / 4 for n in (*range(-80, 4 * 12 + 1), *range(4 * 25, 240))]
    before = [curve.evaluate(frame) for frame in outside]
    columns = [[9.0] * 12, [3.0] * 12, [8.0] * 12]
    set_span(ob, "location", [*range(13, 25)], columns, [12, 25], [0, 0, 7])
    curve = animation.active_curves(ob, "location")[0]
    assert [curve.evaluate(frame) for frame in outside] == pytest.approx(before, abs=1e-4)
    assert [curve.evaluate(frame) for frame in (13, 18.5, 24.5)] == [9, 9, 9]
    height = animation.active_curves(ob, "location")[2]
    assert [height.evaluate(frame) for frame in (1, 12.5, 13, 24, 25, 90)] == [7, 7, 8, 8, 7, 7]


def test_keys_make_the_action_of_a_bone_and_its_group():
    rig = make_chain()
    set_keys(rig.pose.bones["B1"], "rotation_quaternion", [1.0], [[1.0], [0.0], [0.0], [0.0]])
    curve = animation.active_curves(rig, 'pose.bones["B1"].rotation_quaternion')[0]
    assert curve.group.name == "B1"


def tip(rig):
    update()
    return tip_world(rig, "B2")


def test_a_muted_constraint_shows_the_fk_pose_though_its_switch_is_keyed():
    rig = make_chain()
    rest = tip(rig)
    item = add_constraint(rig, "B2", make_empty(location=(1.0, 0.5, 1.5)))
    item.keyframe_insert("enabled", frame=1)
    bpy.context.scene.frame_set(1)
    posed = tip(rig)
    assert (posed - rest).length > 0.5
    with muting(rig, [0]):
        assert (tip(rig) - rest).length < 1e-6
        bpy.context.scene.frame_set(2)
        assert (tip(rig) - rest).length < 1e-6
        with muting(rig, []):
            assert (tip(rig) - rest).length < 1e-6
        assert (tip(rig) - rest).length < 1e-6
    assert (tip(rig) - posed).length < 1e-6


def test_a_constraint_that_is_insisted_on_shows_its_whole_pose_though_it_is_keyed_off():
    rig = make_chain()
    item = add_constraint(rig, "B2", make_empty(location=(1.0, 0.5, 1.5)))
    posed = tip(rig)
    key(item, "influence", {1: 0.3})
    item.enabled = False
    rest = tip(rig)
    with full_influence(rig, [0]):
        assert (tip(rig) - posed).length < 1e-6
        bpy.context.scene.frame_set(2)
        assert (tip(rig) - posed).length < 1e-6
    assert (tip(rig) - rest).length < 1e-6
