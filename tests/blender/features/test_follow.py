"""A free chain follows its head, the same at each frame whichever way that was reached."""

from itertools import pairwise
from math import sqrt

import bpy
import pytest
import rigs
from inside import forget
from mathutils import Matrix, Vector

END = 60
KEYS = ((1, (0, 0, 6)), (20, (5, 0, 8)), (40, (5, 8, 8)), (END, (-3, 8, 4)))


def led(name="Target", keys=KEYS):
    target = rigs.make_empty(name)
    for frame, place in keys:
        rigs.key(target, "location", {frame: place})
    return target


def free_chain(target, name="Rig", count=6, **settings):
    rig = rigs.make_chain(count, name)
    rigs.add_constraint(rig, f"B{count - 1}", target, solver="FOLLOW", **settings)
    return rig


@pytest.fixture
def rig(empty_file):
    """A free chain behind a target with keys, simulated."""
    bpy.context.scene.frame_end = END
    rig = free_chain(led())
    rigs.update()
    rigs.activate(rig)
    simulate()
    return rig


def simulate():
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}


def joints(rig):
    """The heads of all bones and the last tail, in world space."""
    shown = rigs.evaluated(rig)
    bones = list(shown.pose.bones)
    return [shown.matrix_world @ p for p in (*(b.head for b in bones), bones[-1].tail)]


def test_head_is_on_the_target_and_bones_keep_their_lengths(rig):
    wanted = [bone.bone.length for bone in rig.pose.bones]
    target = bpy.data.objects["Target"]
    for frame in (1, 7, 20, 33.5, 48, END):
        rigs.go(frame)
        assert rigs.tip_error(rig, "B5", target) < 1e-5
        found = [(b - a).length for a, b in pairwise(joints(rig))]
        assert found == pytest.approx(wanted, abs=1e-5)  # As Blender's single precision has it.
        assert rig.fabrik.constraints[0].state == "REACHED"
        assert rig.fabrik.constraints[0].message == ""


def test_moves_between_frames_as_well(rig):
    places = []
    for frame in (30, 30.25, 30.5, 30.75, 31):
        rigs.go(frame)
        places.append(joints(rig))
    for before, after in pairwise(places):
        steps = [(b - a).length for a, b in zip(before, after, strict=True)]
        assert min(steps) > 0.0 and max(steps) < 0.5


def test_dragged_chain_is_what_is_reckoned_from_the_way_of_its_head(rig):
    from fabrik_solver.motion.follow import Trail

    rigs.go(1)
    rig.fabrik.constraints[0].enabled = False
    rigs.update()
    start = [tuple(p) for p in joints(rig)]
    path = []
    for frame in range(1, END + 1):
        rigs.go(frame)
        path.append(tuple(rigs.world_location(bpy.data.objects["Target"])))
    rig.fabrik.constraints[0].enabled = True
    rigs.update()
    trail = Trail(start, path)
    for frame in (5, 29, END):
        rigs.go(frame)
        for shown, wanted in zip(joints(rig), trail.joints(frame - 1), strict=True):
            assert (shown - Vector(wanted)).length < 1e-4


def test_on_path_every_joint_passes_where_the_head_was(rig):
    rig.fabrik.constraints[0].follow.use_path = True
    rigs.update()
    assert rig.fabrik.simulation.state == "FRESH"  # The way of the head is the same.
    way = []
    for i in range(8 * (END - 1) + 1):
        rigs.go(1 + i / 8)
        way.append(rigs.world_location(bpy.data.objects["Target"]))
    rigs.go(END)
    worst = max(min(off_line(a, b, joint) for a, b in pairwise(way)) for joint in joints(rig))
    assert worst < 0.01


def off_line(a, b, point):
    along = b - a
    share = (point - a).dot(along) / max(along.dot(along), 1e-12)
    return (a + along * min(max(share, 0.0), 1.0) - point).length


@pytest.mark.parametrize("place", ["still", "moving", "scaled", "in a parent"])
def test_armature_may_stand_and_move_as_it_likes(place):
    bpy.context.scene.frame_end = END
    target = led()
    rig = free_chain(target)
    if place == "moving":
        for frame, where in ((1, (0, 0, 0)), (END, (4, -3, 2))):
            rig.location = where
            rig.rotation_euler = (0.0, 0.5 * where[0], where[1])
            rig.keyframe_insert("location", frame=frame)
            rig.keyframe_insert("rotation_euler", frame=frame)
    elif place == "scaled":
        rig.scale = (1.0, 0.5, 2.0)
        rig.rotation_euler = (0.3, 0.2, 0.1)
    elif place == "in a parent":
        rig.parent = led("Carrier", ((1, (0, 0, 0)), (END, (1, 2, 3))))
        rig.parent.scale = (2, 2, 2)
    rigs.update()
    rigs.activate(rig)
    simulate()
    still = free_chain(target, "Still") if place == "moving" else None
    if still:
        rigs.update()
        rigs.activate(still)
        simulate()
    for frame in (1, 31, END):
        rigs.go(frame)
        assert rigs.tip_error(rig, "B5", target) < 2e-5
        if still:
            for a, b in zip(joints(rig), joints(still), strict=True):
                assert (a - b).length < 1e-4


def test_chain_hangs_on_a_bone_that_moves_and_is_free_all_the_same():
    bpy.context.scene.frame_end = END
    rig = rigs.make_armature(
        {
            "Root": ((0, 0, -2), (0, 0, -1), ""),
            "A": ((0, 0, 0), (0, 0.1, 1), "Root"),
            "B": ((0, 0.1, 1), (0, 0, 2), "A"),
        }
    )
    target = led(keys=((1, (0, 0, 2)), (END, (6, 0, 2))))
    rigs.add_constraint(rig, "B", target, solver="FOLLOW", chain_count=2)
    rigs.update()
    rigs.activate(rig)
    simulate()
    rigs.go(END)
    wanted = joints(rig)[1:]
    rig.pose.bones["Root"].rotation_mode = "XYZ"
    rig.pose.bones["Root"].rotation_euler = (0.0, 0.0, 1.0)
    rigs.update()
    for a, b in zip(joints(rig)[1:], wanted, strict=True):
        assert (a - b).length < 1e-5


def test_connected_root_is_refused():
    rig = rigs.make_chain(4)
    item = rigs.add_constraint(rig, "B3", rigs.make_empty(), solver="FOLLOW", chain_count=2)
    rigs.update()
    assert item.state == "INVALID"
    assert "“B2” is connected to its parent" in item.message


def test_before_and_after_what_is_simulated_it_is_held_and_that_is_said(rig):
    item = rig.fabrik.constraints[0]
    held = {}
    for frame in (1, END):
        rigs.go(frame)
        held[frame] = rigs.pose_bits(rig)
    for frame, same, said in ((-10, 1, "from frame 1 on"), (90, END, "up to frame 60")):
        rigs.go(frame)
        assert rigs.pose_bits(rig) == held[same]
        assert said in item.message


def test_without_history_it_says_so_and_shows_the_fk_pose():
    rig = rigs.make_chain(4)
    rigs.update()
    before = rigs.pose_bits(rig)
    item = rigs.add_constraint(rig, "B3", rigs.make_empty(), solver="FOLLOW")
    rigs.update()
    assert item.state == "INVALID"
    assert "press Simulate" in item.message
    assert rigs.pose_bits(rig) == before


def test_stale_history_is_said_and_still_shown(rig):
    rigs.go(30)
    before = [tuple(p) for p in joints(rig)]
    curve = rigs.curves(bpy.data.objects["Target"])[0]
    curve.keyframe_points[0].co[1] -= 2.0
    curve.update()
    rigs.update()
    rigs.go(30)
    assert rig.fabrik.simulation.state == "STALE"
    assert "Simulation is outdated" in rig.fabrik.constraints[0].message
    for shown, wanted in zip(joints(rig), before, strict=True):
        assert (shown - Vector(wanted)).length < 1e-4
    simulate()
    rigs.go(30)
    assert rig.fabrik.constraints[0].message == ""


def test_order_and_names_in_the_list_make_no_difference(rig):
    """A constraint before it, and its own keys, which are counted by its place."""
    item = rig.fabrik.constraints[0]
    rigs.key(item, "influence", {1: 1.0, 30: 0.5})
    rigs.add_constraint(rig, "B1", rigs.make_empty("Other"), enabled=False)
    simulate()
    rigs.go(30)
    shown = rigs.pose_bits(rig)
    rig.fabrik.active_index = 1
    rigs.activate(rig)
    assert bpy.ops.fabrik.constraint_move(direction="UP") == {"FINISHED"}
    rig.name, rig.fabrik.constraints[1].name = "Snake", "Head"
    rig.data.bones["B2"].name = 'The "third"'
    rigs.update()
    rigs.go(29, 30)
    assert rig.fabrik.simulation.state == "FRESH"
    assert rigs.pose_bits(rig) == shown


def test_target_that_is_moved_and_not_keyed_leads_the_head_and_is_told(rig):
    rigs.go(30)
    target = bpy.data.objects["Target"]
    target.location.x += 1.0
    rigs.update()
    assert rigs.tip_error(rig, "B5", target) < 1e-5
    assert "has moved since the simulation" in rig.fabrik.constraints[0].message
    assert rig.fabrik.simulation.state == "FRESH"
    rigs.go(31, 30)
    assert rig.fabrik.constraints[0].message == ""


def test_chain_behind_a_chain_is_simulated_after_it(rig):
    follower = free_chain(rig, "Behind")
    follower.fabrik.constraints[0].subtarget = "B0"
    rigs.update()
    bpy.context.view_layer.objects.active = follower
    simulate()
    both = [one.fabrik.simulation.state for one in (rig, follower)]
    assert both == ["FRESH", "FRESH"]
    for frame in (1, 25, END, 30.5):
        rigs.go(frame)
        assert (joints(follower)[-1] - joints(rig)[0]).length < 1e-4
        assert follower.fabrik.constraints[0].message == ""
    curve = rigs.curves(bpy.data.objects["Target"])[0]
    curve.keyframe_points[2].co[1] -= 2.0
    curve.update()
    rigs.update()
    assert [one.fabrik.simulation.state for one in (rig, follower)] == ["STALE", "STALE"]
    simulate()  # Of the one behind, which needs the other.
    assert [one.fabrik.simulation.state for one in (rig, follower)] == ["FRESH", "FRESH"]
    rigs.go(40)
    assert (joints(follower)[-1] - joints(rig)[0]).length < 1e-4
    assert follower.fabrik.constraints[0].message == ""


def test_a_driver_of_the_place_that_the_chain_leaves_is_named(rig):
    rigs.go(5)
    assert rig.fabrik.constraints[0].message == ""
    rig.pose.bones["B0"].driver_add("location", 0)
    rigs.update()
    assert "The driven location of “B0”" in rig.fabrik.constraints[0].message


def test_settings_are_copied_without_the_history(rig):
    rig.fabrik.constraints[0].follow.use_path = True
    other = rigs.make_chain(4, "Other")
    from addon.editing.copying import copy_constraint

    copy_constraint(rig, 0, [other.pose.bones["B3"]])
    made = other.fabrik.constraints[0]
    assert made.follow.use_path
    assert made.follow.history == b""


def test_command_that_bakes_simulates_first(rig, tmp_path, capfd):
    from addon.features.command import command

    rigs.go(30)
    wanted = joints(rig)
    assert bpy.ops.fabrik.simulation_clear() == {"FINISHED"}
    blend = tmp_path / "snake.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    assert command.run([str(blend), "--output", str(tmp_path / "baked.blend")]) == 0
    assert "Simulating what is outdated" in capfd.readouterr().err
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "baked.blend"))
    rig = bpy.data.objects["Rig"]
    assert not rig.fabrik.constraints[0].enabled
    rigs.go(30)
    for a, b in zip(joints(rig), wanted, strict=True):
        assert (a - b).length < 1e-4


def test_button_adds_a_chain_whose_head_is_the_active_bone():
    rig = rigs.make_chain(4)
    rigs.activate(rig, "POSE")
    rig.data.bones.active = rig.data.bones["B3"]
    before = rigs.pose_bits(rig)
    assert bpy.ops.fabrik.follow_add() == {"FINISHED"}
    item = rig.fabrik.constraints[0]
    assert (item.solver, item.bone, item.chain_count) == ("FOLLOW", "B3", 0)
    rigs.update()
    simulate()
    assert item.state == "REACHED"
    for a, b in zip(
        memoryview(before).cast("f"), memoryview(rigs.pose_bits(rig)).cast("f"), strict=True
    ):
        assert a == pytest.approx(b, abs=1e-5)
    bpy.ops.object.mode_set(mode="OBJECT")
    assert not bpy.ops.fabrik.follow_add.poll()


def test_history_of_other_bones_is_refused(rig):
    other = free_chain(bpy.data.objects["Target"], "Other", count=4)
    other.fabrik.constraints[0].follow.history = rig.fabrik.constraints[0].follow.history
    rigs.update()
    assert "doesn't match the chain" in other.fabrik.constraints[0].message


@pytest.mark.parametrize("tip", ["B2", "B5"], ids=["shorter", "longer"])
def test_chain_of_other_bones_is_invalid_in_memory_as_after_loading(tip, tmp_path):
    bpy.context.scene.frame_end = END
    rig = rigs.make_chain(6)
    item = rigs.add_constraint(rig, "B4", led(), solver="FOLLOW", chain_count=0)
    rig.fabrik.simulation.use_auto = False
    rigs.update()
    rigs.activate(rig)
    simulate()
    rigs.go(20)
    assert item.state == "REACHED"
    item.bone = tip
    rigs.update()
    blend = tmp_path / "other.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    for is_loaded in (False, True):
        if is_loaded:
            bpy.ops.wm.open_mainfile(filepath=str(blend))
        rig = bpy.data.objects["Rig"]
        for frame in (21, 20):
            rigs.go(frame)
            item = rig.fabrik.constraints[0]
            assert (item.state, "doesn't match the chain" in item.message) == ("INVALID", True)
        assert rig.fabrik.simulation.state == "STALE"
    rigs.activate(rig)
    simulate()
    assert rig.fabrik.constraints[0].state == "REACHED"


def test_history_of_another_range_than_it_says_is_refused(rig):
    from addon.features.simulation import history

    owner = "fabrik.constraints[0].follow"
    found = history.data(rig, owner)
    history.write(rig, owner, found._replace(end=END + 1))
    forget()
    rigs.update(rig)
    assert "doesn't match the chain" in rig.fabrik.constraints[0].message


NAN = float("nan")
FORGED = {
    "no place": lambda kept: kept._replace(path=[]),
    "a joint more": lambda kept: kept._replace(joints=[*kept.joints, (0.0, 0.0, 9.0)]),
    "a place that is none": lambda kept: kept._replace(path=[(NAN, 0.0, 0.0), *kept.path[1:]]),
    "no space": lambda kept: kept._replace(world=((0.0,) * 9, (0.0,) * 3)),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_way_is_said_and_left_out(rig, case, capsys):
    from addon.features.free_chain.free_chain import SimulatedPath
    from addon.features.simulation import history

    owner, item = "fabrik.constraints[0].follow", rig.fabrik.constraints[0]
    found = history.data(rig, owner)
    forged = FORGED[case](SimulatedPath.unpacked(found.blob)).packed()
    for blob in (forged, b"", b"x" * 200):
        history.write(rig, owner, found._replace(blob=blob))
        forget()
        rig.update_tag()
        rigs.go(20)
        assert "doesn't match the chain" in item.message
        assert item.state == "INVALID"
    item.follow.history = item.follow.history[:-8] + b"AAAAAAA="
    forget()
    rig.update_tag()
    rigs.go(20)
    assert item.message == "The simulation is damaged: press Simulate"
    assert "report this" not in capsys.readouterr().out
    simulate()
    assert item.state == "REACHED"


def test_what_bends_on_from_it_follows_when_its_head_is_deleted(rig):
    """Blender has then shown the chain with the solution of before once more."""
    rigs.add_constraint(rig, "B5", rigs.make_empty("Seen", (3, 1, 2)), solver="LOOK_AT")
    rigs.update()
    bpy.data.objects.remove(bpy.data.objects["Target"])
    rigs.update()
    shown = rigs.shown_bits(rig)
    rigs.update(rig)
    assert rigs.shown_bits(rig) == shown


def test_a_jump_costs_once(monkeypatch):
    """One trail serves all frames: it remembers those that it has come by."""
    from addon.features.free_chain import free_chain as follow

    trails, make = [], follow.Trail

    def counted(*args):
        trails.append(make(*args))
        return trails[-1]

    scene = bpy.context.scene
    scene.frame_end = 500
    keys = [(1 + 10 * i, (0.3 * i, sqrt(i), 6)) for i in range(51)]
    rig = rigs.make_chain(6)
    rigs.add_constraint(rig, "B5", led(keys=keys), solver="FOLLOW")
    rigs.update()
    rigs.activate(rig)
    monkeypatch.setattr(follow, "Trail", counted)
    simulate()
    rigs.go(480, *range(470, 480), 12.5, 480)
    assert len(trails) == 1
    assert Matrix.Identity(4) == rig.matrix_world
    assert rigs.everything_bits()
