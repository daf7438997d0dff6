"""A simulated shot does not jump, and each frame of it is the same however it is reached."""

import random
from itertools import pairwise

import bpy
import pytest
import rigs
from inside import forget

pytestmark = pytest.mark.newest

END = 40
LENGTH = 4.0


def limit(bone, kind):
    joint = bone.fabrik_joint
    if kind == "HINGE":
        joint.hinge_min, joint.hinge_max = -2.2, 2.2
    else:
        joint.swing_x = joint.swing_z = 0.9
        joint.twist_min, joint.twist_max = -0.4, 0.4
    joint.limit_type = kind


def keyed(target, rng, places):
    for frame, place in zip((1, 20, END), places, strict=True):
        rigs.key(target, "location", {frame: place})
    return target


def limited_chain(**settings):
    """A chain with limits that jumps along this way of its target where each frame is alone."""
    rng = random.Random(61)
    rig = rigs.make_chain(4)
    for i, bone in enumerate(rig.pose.bones):
        limit(bone, "HINGE" if i % 2 else "CONE")
    places = [(rng.uniform(-2, 2), rng.uniform(-2, 2), rng.uniform(0.3, 3)) for _ in range(3)]
    item = rigs.add_constraint(rig, "B3", keyed(rigs.make_empty(), rng, places), **settings)
    bpy.context.scene.frame_end = END
    rigs.update()
    rigs.activate(rig)
    return rig, item


def simulate():
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}


def joints(rig):
    shown = rigs.evaluated(rig)
    return [shown.matrix_world @ p for bone in shown.pose.bones for p in (bone.head, bone.tail)]


def played(rig):
    """The joints at all frames, and their largest step."""
    found = []
    for frame in range(1, END + 1):
        rigs.go(frame)
        found.append(joints(rig))
    steps = [max((b - a).length for a, b in zip(p, q, strict=True)) for p, q in pairwise(found)]
    return max(steps)


@pytest.fixture
def shot(empty_file):
    """The chain, simulated as a shot."""
    rig, item = limited_chain(use_continuous=True)
    simulate()
    return rig, item


def test_no_joint_jumps_and_limits_and_target_are_kept():
    rig, item = limited_chain()
    assert played(rig) > 0.25 * LENGTH
    item.use_continuous = True
    rigs.update()
    assert "press Simulate" in item.message
    assert rig.fabrik.simulation.state == "NONE"
    assert played(rig) > 0.25 * LENGTH, "each frame alone until it is simulated"
    simulate()
    assert played(rig) < 0.05 * LENGTH
    for frame in (1, 13, 22.5, 31.25, END):
        rigs.go(frame)
        assert rigs.tip_error(rig, "B3", item.target) < 1e-3 * LENGTH
        assert (item.state, item.message) == ("REACHED", "")
        for bone in rigs.evaluated(rig).pose.bones:
            turn = bone.rotation_quaternion
            if bone.fabrik_joint.limit_type == "HINGE":
                assert abs(turn.y) + abs(turn.z) < 1e-5
                assert abs(turn.angle) <= 2.2 + 1e-5


def test_simulating_it_twice_gives_the_same(shot):
    _, item = shot
    before = item.shot.history
    rigs.go(17)
    simulate()
    assert item.shot.history == before
    assert bpy.context.scene.frame_current == 17


EDITS = {
    "target": lambda _, item: item.target.keyframe_insert("location", frame=30),
    "FK pose": lambda rig, item: setattr(
        rig.pose.bones["B1"], "rotation_quaternion", (1, 0.3, 0, 0)
    ),
    "limit": lambda rig, item: setattr(rig.pose.bones["B1"].fabrik_joint, "hinge_max", 2.0),
    "setting": lambda rig, item: setattr(item, "swing", 0.5),
    "solver": lambda rig, item: setattr(item, "solver", "CCD"),
}


@pytest.mark.parametrize("what", EDITS)
def test_it_says_that_it_is_outdated(shot, what):
    rig, item = shot
    assert rig.fabrik.simulation.state == "FRESH"
    if what == "target":
        item.target.location.x += 0.1
    EDITS[what](rig, item)
    rigs.update()
    assert rig.fabrik.simulation.state == "STALE"
    rigs.go(9)
    assert "press Simulate" in item.message
    simulate()
    assert rig.fabrik.simulation.state == "FRESH"
    rigs.go(9)
    assert item.message == ""


def test_the_tip_goes_along_with_a_target_that_is_dragged(shot):
    rig, item = shot
    rigs.go(10)
    before = joints(rig)
    item.target.location.x += 0.05
    rigs.update()
    assert rigs.tip_error(rig, "B3", item.target) < 1e-3 * LENGTH
    assert max((b - a).length for a, b in zip(before, joints(rig), strict=True)) < 0.2


def test_influence_may_be_keyed():
    """Where it is 0 there is nothing to be seen, but the shot goes on."""
    rig, item = limited_chain(use_continuous=True)
    rigs.key(item, "influence", {1: 0.0, 10: 0.0, 20: 1.0})
    simulate()
    assert played(rig) < 0.1 * LENGTH
    rigs.go(30)
    assert rigs.tip_error(rig, "B3", item.target) < 1e-3 * LENGTH


def test_other_chain_and_more_bones_do_not_fit(shot):
    rig, item = shot
    item.chain_count = 3
    rigs.go(5)
    assert "press Simulate" in item.message
    assert rigs.tip_error(rig, "B3", item.target) < 1e-3 * LENGTH or item.state != "REACHED"


@pytest.mark.parametrize("number", (1e200, 1e30, 0.0))
def test_forged_rotations_are_said_and_left_out(shot, number, capsys):
    from addon.features.continuous.shot import packed, unpacked
    from addon.features.simulation import history

    rig, item = shot
    owner = "fabrik.constraints[0].shot"
    found = history.data(rig, owner)
    poses = [pose._replace(rotations=((number,) * 4,) * 4) for pose in unpacked(found.blob)]
    history.write(rig, owner, found._replace(blob=packed(poses)))
    forget()
    rig.update_tag()
    rigs.go(5)
    assert item.message == "The simulation doesn't match the chain: press Simulate"
    assert item.state != "INVALID"
    assert rigs.tip_error(rig, "B3", item.target) < 1e-3 * LENGTH
    assert "report this" not in capsys.readouterr().out


@pytest.mark.parametrize("is_free", [False, True])
def test_bodies_are_solved_as_a_shot(is_free):
    """Two arms on a spine, whose targets go farther apart than they reach."""
    rig = rigs.make_armature(
        {
            "Spine": ((0, 0, 0), (0, 0.1, 1), ""),
            "Chest": ((0, 0.1, 1), (0, 0, 2), "Spine"),
            "Upper.L": ((0.2, 0, 2), (1.2, 0.1, 2), "Chest"),
            "Lower.L": ((1.2, 0.1, 2), (2.2, 0, 2), "Upper.L"),
            "Upper.R": ((-0.2, 0, 2), (-1.2, 0.1, 2), "Chest"),
            "Lower.R": ((-1.2, 0.1, 2), (-2.2, 0, 2), "Upper.R"),
        }
    )
    for bone in rig.pose.bones:
        bone.rotation_mode = "QUATERNION"
        limit(bone, "CONE")
    rng = random.Random(61)
    for side, x in (("L", 1), ("R", -1)):
        places = [(x * rng.uniform(-2, 4), rng.uniform(-2, 2), rng.uniform(0, 4)) for _ in range(3)]
        rigs.add_constraint(
            rig,
            f"Lower.{side}",
            keyed(rigs.make_empty(side), rng, places),
            use_continuous=side == "R",
            use_free_root=is_free,
        )
    bpy.context.scene.frame_end = END
    rigs.update()
    rigs.activate(rig)
    alone = played(rig)
    fk = rigs.channels_bits(rig)
    simulate()
    assert rig.fabrik.simulation.state == "FRESH"
    assert played(rig) <= alone
    assert rigs.channels_bits(rig) == fk
    assert not rig.fabrik.constraints[0].shot.history
    assert rig.fabrik.constraints[1].shot.history
    wanted = {}
    for frame in (3, 17, 38):
        rigs.go(frame)
        wanted[frame] = rigs.pose_bits(rig)
    for frame in (38, 3, 17):
        rigs.go(frame)
        assert rigs.pose_bits(rig) == wanted[frame]
    rig.fabrik.constraints[0].weight = 2.0
    rigs.update()
    assert rig.fabrik.simulation.state == "STALE"


def test_a_pole_an_orientation_and_stretch_go_with_it():
    _, item = limited_chain(use_continuous=True, use_rotation=True, use_stretch=True)
    item.pole_target = rigs.make_empty("Pole", (0, 4, 2))
    bpy.context.scene.frame_end = 8
    simulate()
    for frame in (1, 3.5, 5, 8):
        rigs.go(frame)
        assert item.state != "INVALID", item.message
        assert "press Simulate" not in item.message
