"""Baking: keys that hold what was live, proven by playing them."""

import random
import warnings
from math import degrees, pi, radians

import bpy
import numpy as np
import pytest
from operating import refuses, select_bone
from rigs import (
    activate,
    add_constraint,
    as_strip,
    channels_bits,
    curves,
    everything_bits,
    go,
    make_armature,
    make_chain,
    make_empty,
    pose_bits,
    update,
)

from addon.blender import animation, continuity, simplifying
from addon.blender.errors import ProblemError
from addon.blender.turns import angles, quaternions
from addon.editing import playing
from addon.features.bake import bake as baking
from addon.features.bake import recording, selecting, verifying
from addon.features.bake.options import DISABLE, LEAVE, REMOVE
from samples.opening import FOLDER

MODES = ("QUATERNION", "AXIS_ANGLE", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
END = 24
SAMPLES = sorted(path.stem for path in FOLDER.glob("*.blend"))


def keyed(ob, places):
    """Let an object go through places, ten frames apart."""
    for i, place in enumerate(places):
        ob.location = place
        ob.keyframe_insert("location", frame=1 + 10 * i)
    return ob


def around(seed=0, count=4, distance=2.0):
    """Draw places in reach."""
    dice = random.Random(seed)
    return [
        (dice.uniform(-distance, distance), dice.uniform(-distance, distance), dice.uniform(0.5, 2))
        for _ in range(count)
    ]


@pytest.fixture
def rig(empty_file):
    """A chain of three bones after a moving target, constraint and frames as usual."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, END
    rig = make_chain()
    add_constraint(rig, "B2", keyed(make_empty(), around()), name="IK")
    go(1)
    return rig


def done(work):
    """Run to the end."""
    try:
        while True:
            next(work)
    except StopIteration as finished:
        return finished.value


def bake(*armatures, items=None, end=END, **options):
    """Bake all constraints of armatures, or some."""
    places = items or selecting.all_constraints(armatures)
    picks, _ = selecting.select(places)
    scene, layer = bpy.context.scene, bpy.context.view_layer
    return done(baking.bake(scene, layer, picks, baking.BakeOptions(1, end, **options)))


def played(*armatures, frames=range(1, END + 1)):
    """Return the pose at each frame, to the last bit."""
    poses = []
    for frame in frames:
        go(frame)
        poses.append(pose_bits(*armatures))
    return poses


def difference(a, b):
    """Return the largest difference of numbers of poses."""
    return max(
        np.abs(np.frombuffer(x, np.float32) - np.frombuffer(y, np.float32)).max()
        for x, y in zip(a, b, strict=True)
    )


def column(ob, bone, channel, frames=range(1, END + 1)):
    """Return what the F-curves of a bone's channel say, frames × numbers."""
    found = animation.active_curves(ob, f'pose.bones["{bone}"].{channel}')
    return np.array([[found[i].evaluate(f) for i in sorted(found)] for f in frames])


def keys_of(ob):
    """Return all keys of an object's action with their handles, to the last bit."""
    return {
        (c.data_path, c.array_index): [
            (*p.co, *p.handle_left, *p.handle_right, p.interpolation) for p in c.keyframe_points
        ]
        for c in curves(ob)
    }


@pytest.mark.parametrize("mode", MODES)
def test_the_baked_range_is_the_live_one_in_every_rotation_mode(rig, mode):
    for bone in rig.pose.bones:
        bone.rotation_mode = mode
    live = played(rig)
    verification = bake(rig).verification
    assert verification.holds and verification.distance < 1e-6 and verification.angle < 1e-5
    assert not rig.fabrik.constraints[0].enabled
    assert difference(played(rig), live) < 1e-5


@pytest.mark.parametrize("frame", [10, 11])
def test_the_proof_sees_what_is_wrong(rig, monkeypatch, frame):
    write = baking.write

    def write_wrongly(picked, keys):
        write(picked, keys)
        animation.active_curves(rig, 'pose.bones["B0"].rotation_quaternion')[1].keyframe_points[
            frame - 1
        ].co[1] += 0.02

    monkeypatch.setattr(baking, "write", write_wrongly)
    verification = bake(rig).verification
    assert not verification.holds and verification.frame == frame and verification.distance > 0.01


@pytest.fixture
def visits():
    """The frames that are played."""
    seen = []

    def look(scene, _depsgraph):
        seen.append(scene.frame_current)

    bpy.app.handlers.frame_change_post.insert(0, look)
    yield seen
    bpy.app.handlers.frame_change_post.remove(look)


def times_played(visits):
    """Return how often frames were played."""
    return {visits.count(frame) for frame in range(2, END)}


def test_what_bits_prove_is_played_again_at_some_frames_alone(rig, visits):
    live = played(rig)
    visits.clear()
    verification = bake(rig).verification
    assert verification.holds and verification.distance == verification.angle == 0.0
    assert times_played(visits) == {1, 2}
    assert len(visits) <= END + 2 * baking.SAMPLES
    assert played(rig) == live


def another_constraint(rig):
    add_constraint(rig, "B0", make_empty("Other", (1, 1, 1)), name="Other", chain_count=1)


def a_strip(rig):
    rig.location.x = 1.0
    rig.keyframe_insert("location", frame=1)
    as_strip(rig)


def keys_beyond(rig):
    rig.pose.bones["B1"].keyframe_insert("rotation_quaternion", frame=END + 5)


def a_driver(rig):
    rig.pose.bones["B1"].driver_add("rotation_quaternion", 1)


@pytest.mark.parametrize("more", [another_constraint, a_strip, keys_beyond, a_driver])
def test_what_bits_do_not_prove_is_played_again_at_each_frame(rig, visits, more):
    own = make_chain(3, "Own")
    add_constraint(own, "B2", rig.fabrik.constraints[0].target, name="Own", chain_count=2)
    more(own)
    update()
    visits.clear()
    bake(own, items=[(own, 0)])
    assert times_played(visits) == {2}


def test_a_frame_that_differs_has_all_frames_played_again(rig, visits, monkeypatch):
    parts = []
    monkeypatch.setattr(baking, "is_part_of", lambda *args: parts.append(args))
    assert bake(rig).verification.holds
    assert times_played(visits) == {2, 3}
    assert verifying.is_part_of(*parts[0])
    parts[0][0].armatures[0].matrices[3, 1, 0, 0] += 1e-6
    assert not verifying.is_part_of(*parts[0])


def test_the_proof_does_not_count_the_constraint_that_was_baked(rig, monkeypatch):
    monkeypatch.setattr(baking, "write", lambda picked, keys: None)
    verification = bake(rig).verification
    assert not verification.holds and verification.distance > 0.5


def test_a_twist_that_moves_no_joint_is_seen(rig):
    picks, _ = selecting.select(selecting.all_constraints([rig]))
    work = recording.record(bpy.context.scene, bpy.context.view_layer, picks, range(1, 3))
    take = done(work)
    other = recording.Recording(
        take.frames,
        take.times,
        [
            recording.ArmatureRecording(t.numbers, t.matrices.copy(), t.worlds)
            for t in take.armatures
        ],
    )
    matrix = other.armatures[0].matrices[1, 2]
    x, z = matrix[:3, 0].copy(), matrix[:3, 2].copy()
    matrix[:3, 0], matrix[:3, 2] = (
        x * np.cos(0.1) - z * np.sin(0.1),
        x * np.sin(0.1) + z * np.cos(0.1),
    )
    verification = verifying.compare(take, other, picks, [0, 1], 0.0)
    assert verification.distance < 1e-6 and verification.angle == pytest.approx(0.1, rel=1e-3)
    assert not verification.holds and (verification.bone, verification.frame) == ("B2", 2)


@pytest.mark.parametrize("mode", ("XYZ", "ZXY", "YZX", "QUATERNION", "AXIS_ANGLE"))
def test_continuous_numbers_mean_the_same_and_do_not_jump(mode):
    order = {"QUATERNION": 0, "AXIS_ANGLE": -1}.get(mode)
    order = 1 + MODES[2:].index(mode) if order is None else order
    t = np.linspace(0.0, 12.0, 200)
    smooth = np.stack((t, 0.9 * np.sin(t), 2.0 * np.cos(0.7 * t)), axis=-1)
    truth = quaternions(1, smooth)
    raw = []
    dice = random.Random(1)
    from mathutils import Quaternion

    for q in truth:
        turn = Quaternion(q * dice.choice((1, -1)))
        if order == 0:
            raw.append(turn[:])
        elif order == -1:
            axis, angle = turn.to_axis_angle()
            raw.append((angle, *axis))
        else:
            a = list(turn.to_euler(mode))
            if dice.random() < 0.5:
                a = [x + pi for x in a]
                middle = "XYZ".index(mode[1])
                a[middle] = 2.0 * pi - a[middle]
            raw.append([x + 2.0 * pi * dice.randint(-2, 2) for x in a])
    raw = np.array(raw, np.float32)[:, None]
    fixed = np.zeros(raw.shape[1:], bool)
    found = continuity.continuous(order, raw, fixed)
    assert angles(quaternions(order, found), quaternions(order, raw)).max() < 1e-5
    steps = np.abs(np.diff(found[:, 0], axis=0)).sum(axis=1)
    least = angles(truth[1:], truth[:-1])
    # Near gimbal lock angles change fast; whole jumps are gone.
    assert np.abs(np.diff(raw[:, 0], axis=0)).sum(axis=1).max() > 1.5
    assert np.median(steps / least) < 3.0 and steps.max() < pi


def test_driven_numbers_keep_their_driver_and_get_no_keys(rig):
    for bone in rig.pose.bones:
        bone.rotation_mode = "XYZ"
    driver = rig.pose.bones["B1"].driver_add("rotation_euler", 1).driver
    driver.expression = "0.3"
    live = played(rig)
    verification = bake(rig).verification
    paths = set(keys_of(rig))
    assert ('pose.bones["B1"].rotation_euler', 0) in paths
    assert ('pose.bones["B1"].rotation_euler', 1) not in paths
    assert verification.holds
    assert difference(played(rig), live) < 1e-5


def test_a_new_action_keeps_the_rest_of_the_animation_and_the_old_action(rig):
    rig.pose.bones["B0"].keyframe_insert("location", frame=3)
    rig.pose.bones["B1"].keyframe_insert("rotation_quaternion", frame=-20)
    rig.pose.bones["B1"].keyframe_insert("rotation_quaternion", frame=5)
    old, before = rig.animation_data.action, keys_of(rig)
    bake(rig)
    new = rig.animation_data.action
    assert new != old and new.name == f"{old.name} Baked" and old.use_fake_user
    now = keys_of(rig)
    assert now['pose.bones["B0"].location', 0] == before['pose.bones["B0"].location', 0]
    turn = [key[0] for key in now['pose.bones["B1"].rotation_quaternion', 0]]
    assert turn == [-20, *range(1, END + 1)]
    animation.use_action(rig, old, getattr(rig.animation_data, "action_slot_handle", 0))
    assert keys_of(rig) == before


def test_the_current_action_takes_the_keys_and_no_copy_stays(rig):
    rig.pose.bones["B0"].keyframe_insert("location", frame=3)
    old, count = rig.animation_data.action, len(bpy.data.actions)
    bake(rig, is_new=False)
    assert rig.animation_data.action == old and len(bpy.data.actions) == count
    assert len(keys_of(rig)['pose.bones["B2"].rotation_quaternion', 3]) == END


def test_without_an_action_there_is_a_fresh_one(rig):
    assert rig.animation_data.action is None
    bake(rig, is_new=False)
    assert rig.animation_data.action.name == "Rig Baked"


def test_mute_lock_and_modifiers_do_not_keep_keys_from_being_seen(rig):
    bone = rig.pose.bones["B1"]
    bone.keyframe_insert("rotation_quaternion", frame=2)
    live = played(rig)
    w, x, y, _ = curves(rig)
    w.mute = True
    y.lock = True
    x.modifiers.new("NOISE").strength = 3.0
    live = played(rig)
    verification = bake(rig).verification
    assert verification.holds
    assert difference(played(rig), live) < 1e-5
    w, x, y, _ = (c for c in curves(rig) if "B1" in c.data_path)
    assert x.modifiers[0].mute and not w.mute


@pytest.mark.parametrize("name", ("enabled", "influence"))
def test_disabled_holds_though_the_switch_is_keyed(rig, name):
    item = rig.fabrik.constraints[0]
    for frame, value in ((1, 1), (8, 0), (16, 1)):
        setattr(item, name, value)
        item.keyframe_insert(name, frame=frame)
    live = played(rig)
    assert len(set(live)) > 2
    assert bake(rig).verification.holds
    target = item.target
    target.animation_data_clear()
    target.location = (9, 9, 9)
    assert difference(played(rig), live) < 1e-5


def test_disabled_holds_though_the_switch_is_driven(rig):
    driver = rig.driver_add("fabrik.constraints[0].enabled").driver
    driver.expression = "frame < 12"
    live = played(rig)
    assert bake(rig).verification.holds
    rig.fabrik.constraints[0].target.animation_data_clear()
    assert difference(played(rig), live) < 1e-5


def test_disabled_holds_though_a_strip_of_the_nla_keys_the_switch(rig):
    item = rig.fabrik.constraints[0]
    item.keyframe_insert("enabled", frame=1)
    as_strip(rig, "On")
    live = played(rig)
    assert bake(rig).verification.holds
    item.target.animation_data_clear()
    item.target.location = (9, 9, 9)
    go(3)
    assert not item.enabled
    assert difference(played(rig), live) < 1e-5


@pytest.mark.parametrize("afterwards", (LEAVE, DISABLE, REMOVE))
def test_what_becomes_of_the_constraint(rig, afterwards):
    live = played(rig)
    bake(rig, afterwards=afterwards)
    items = rig.fabrik.constraints
    assert len(items) == (afterwards != REMOVE)
    if items:
        assert items[0].enabled == (afterwards == LEAVE)
    assert difference(played(rig), live) < 1e-4


def two_chains():
    """Make an armature of two chains that follow targets of their own."""
    rig = make_armature(
        {
            f"{side}{i}": (
                (x, 0.1 * (i % 2), i),
                (x, 0.1 * ((i + 1) % 2), i + 1),
                f"{side}{i - 1}" if i else "",
            )
            for side, x in (("L", 1.0), ("R", -1.0))
            for i in range(3)
        }
    )
    for n, side in enumerate("LR"):
        add_constraint(rig, f"{side}2", keyed(make_empty(side), around(n)), name=side)
    return rig


def test_only_the_constraints_that_were_picked_are_baked():
    rig = two_chains()
    live = played(rig)
    bake(rig, items=[(rig, 1)])
    assert {path.split('"')[1][0] for path, _ in keys_of(rig)} == {"R"}
    assert [item.enabled for item in rig.fabrik.constraints] == [True, False]
    assert difference(played(rig), live) < 1e-5


def test_constraints_that_share_bones_are_baked_together():
    bpy.ops.wm.open_mainfile(filepath=str(FOLDER / "humanoid.blend"))
    rig = bpy.data.objects["Rig"]
    outcome = bake(rig, items=[(rig, 1)])
    assert outcome.verification.holds and outcome.constraints == 5
    assert not any(item.enabled for item in rig.fabrik.constraints)


def test_the_curves_are_not_walked_for_each_constraint(monkeypatch):
    """That made bakes of 100 chains take twice as long."""
    walks = []
    animated = animation.animated
    monkeypatch.setattr(animation, "animated", lambda ob: walks.append(ob) or animated(ob))
    rig = two_chains()
    counts = []
    for more in range(2):
        for side in "LR" * (4 * more):  # Layers
            target = bpy.data.objects[side]
            add_constraint(rig, f"{side}2", target, name=f"{side} {more}", influence=0.5)
        walks.clear()
        bake(rig, afterwards=LEAVE)
        counts.append(walks.count(rig))
    assert len(rig.fabrik.constraints) == 10
    assert counts[1] <= counts[0] + 2, counts


def hanging():
    """Make two arms: what the left one reaches for is parented to the hand of the right one."""
    right = make_chain(name="Right")
    left = make_chain(name="Left")
    left.location = (1.5, 0, 0)
    grip = make_empty("Grip")
    grip.parent, grip.parent_type, grip.parent_bone = right, "BONE", "B2"
    grip.location = (0.3, 0.2, 0)
    add_constraint(right, "B2", keyed(make_empty("R"), around(3, distance=1.0)), name="R")
    add_constraint(left, "B2", grip, name="L")
    update()
    return left, right


@pytest.mark.parametrize("which", ("left", "right", "both"))
def test_chains_that_hang_on_each_other(which):
    left, right = hanging()
    live = played(left, right)
    assert len(set(live)) == END
    chosen = {"left": [left], "right": [right], "both": [left, right]}[which]
    assert bake(*chosen).verification.holds
    assert difference(played(left, right), live) < 1e-5


def test_stretch_and_a_free_root_are_baked_with_scale_and_location():
    rig = make_chain()
    item = add_constraint(rig, "B2", keyed(make_empty(), around(5, distance=5.0)), name="IK")
    item.use_stretch = True
    live = played(rig)
    assert bake(rig).verification.holds
    channels = {path.rpartition(".")[2] for path, _ in keys_of(rig)}
    assert channels == {"rotation_quaternion", "scale"}
    assert difference(played(rig), live) < 1e-5

    other = make_chain(name="Other")
    item = add_constraint(other, "B2", item.target, name="IK", use_free_root=True)
    live = played(other)
    assert bake(other).verification.holds
    assert {p.rpartition(".")[2] for p, _ in keys_of(other)} == {"rotation_quaternion", "location"}
    assert difference(played(other), live) < 1e-5


def test_what_files_cannot_store_is_said_with_bone_and_frame(rig, capfd):
    """Measured from the baked pose, also of a bone on the baked ones."""
    upper, lower = (rig.pose.bones[name] for name in ("B1", "B2"))
    rig.fabrik.constraints[0].bone = "B1"
    rig.data.bones["B2"].inherit_scale = "ALIGNED"
    lower.rotation_quaternion = (0.9, 0.4, 0.2, 0.1)
    for frame, scale in ((1, 1.0), (9, 1.0), (10, 1.3), (11, 1.0)):
        upper.scale.y = scale
        upper.keyframe_insert("scale", index=1, frame=frame)
    assert bpy.ops.fabrik.bake(frame_start=1, frame_end=END, afterwards="LEAVE") == {"FINISHED"}
    report = capfd.readouterr().out
    assert "“B2” is sheared at frame 10, which glTF and FBX can't store (" in report
    rig.data.bones["B2"].inherit_scale = "FULL"
    verification = bake(rig).verification
    assert (verification.holds, verification.loss) == (True, 0.0)


def remapped_time(_rig):
    bpy.context.scene.render.frame_map_new = 200


def hidden_carrier(rig):
    """A mesh that isn't evaluated meanwhile moves the target."""
    mesh = bpy.data.objects.new("Carrier", bpy.data.meshes.new("Carrier"))
    bpy.context.scene.collection.objects.link(mesh)
    keyed(mesh, around(9, distance=0.5))
    rig.fabrik.constraints[0].target.parent = mesh


def strip_of_the_nla(rig):
    rig.pose.bones["B1"].rotation_quaternion = (0.8, 0.0, 0.6, 0.0)
    rig.pose.bones["B1"].keyframe_insert("rotation_quaternion", frame=1)
    as_strip(rig, "Turned")


def muted_group(rig):
    rig.pose.bones["B1"].keyframe_insert("rotation_quaternion", frame=2, group="B1")
    curves(rig)[0].group.mute = True


@pytest.mark.parametrize(
    "change",
    [remapped_time, hidden_carrier, strip_of_the_nla, muted_group],
    ids=lambda c: c.__name__,
)
def test_the_bake_is_as_it_was_live_with(rig, change):
    change(rig)
    live = played(rig)
    assert bake(rig).verification.holds
    assert difference(played(rig), live) < 1e-5


def test_steps_are_exact_at_the_keys_and_said_between_them(rig):
    live = played(rig)
    outcome = bake(rig, step=5)
    assert [key[0] for key in keys_of(rig)['pose.bones["B0"].rotation_quaternion', 0]] == [
        1,
        6,
        11,
        16,
        21,
        24,
    ]
    now = played(rig)
    assert difference(now[::5] + now[-1:], live[::5] + live[-1:]) < 1e-5
    assert outcome.verification.holds and outcome.verification.distance > 1e-4
    assert (outcome.verification.frame - 1) % 5


@pytest.mark.parametrize("mode", ("QUATERNION", "XYZ", "AXIS_ANGLE"))
@pytest.mark.parametrize("error", (0.2, 2.0))
def test_simplified_turns_stay_within_the_error(rig, mode, error):
    for bone in rig.pose.bones:
        bone.rotation_mode = mode
    channel = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}.get(
        mode, "rotation_euler"
    )
    order = {"QUATERNION": 0, "AXIS_ANGLE": -1}.get(mode, 1)
    bake(rig, afterwards=LEAVE)
    exact = {b: column(rig, b, channel) for b in ("B0", "B1", "B2")}
    outcome = bake(rig, error=radians(error))
    assert outcome.verification.holds
    assert outcome.keys < (1.0 if error < 1.0 else 0.75) * outcome.most
    for bone, numbers in exact.items():
        found = column(rig, bone, channel)
        off = degrees(angles(quaternions(order, found), quaternions(order, numbers)).max())
        assert off <= error + 1e-3
    frames = {
        i: [k[0] for k in keys]
        for (path, i), keys in keys_of(rig).items()
        if path == f'pose.bones["B1"].{channel}'
    }
    assert len(set(map(tuple, frames.values()))) == 1


def test_more_error_needs_fewer_keys():
    t = np.linspace(0.0, 6.0, 121)[:, None]
    path = np.concatenate((np.sin(t), np.cos(1.3 * t), 0.2 * t), axis=1)
    counts = [
        len(simplifying.simplified(1, path, range(121), radians(e), 1.0))
        for e in (0.001, 0.1, 1.0, 10.0)
    ]
    assert counts == sorted(counts, reverse=True) and counts[0] > 20 and counts[-1] < 12


def test_noise_averages_out_of_fitted_slopes():
    t = np.linspace(0.0, 1.0, 41)
    smooth = np.stack((t**3, t - t**2), axis=1)
    noise = 1e-3 * np.where(np.arange(41) % 2, 1.0, -1.0)[:, None]
    noisy = smooth + noise * (np.minimum(np.arange(41), 40 - np.arange(41)) > 0)[:, None]
    for column, error in ((smooth, 1e-9), (noisy, 3e-4)):
        samples = simplifying.with_halves(column)
        curve, ends = simplifying.fitted(samples, np.ones(81), 0, 80)
        assert np.abs(curve[1::2] - smooth[1:-1]).max() < error + 1e-4  # Its ends are mirrored.
        assert np.abs(80.0 * ends - [[0.0, 1.0], [3.0, -1.0]]).max() < 20.0 * error + 5e-3
    assert np.abs(40.0 * simplifying.slopes(noisy)[1] - [0.0, 1.0]).max() > 0.03


def test_a_still_channel_needs_two_keys():
    still = np.ones((50, 3), np.float32)
    assert simplifying.simplified(1, still, range(50), 1e-3, 1.0) == [0, 49]


def state():
    """Return what a cancelled bake must leave as it is."""
    return (
        everything_bits(),
        [channels_bits(ob) for ob in bpy.data.objects if ob.type == "ARMATURE"],
        bpy.context.scene.frame_current_final,
        sorted(action.name for action in bpy.data.actions),
        {ob.name: keys_of(ob) for ob in bpy.data.objects},
        [(ob.name, ob.select_get(), ob.hide_get(), ob.hide_viewport) for ob in bpy.data.objects],
        [[item.enabled for item in ob.fabrik.constraints] for ob in bpy.data.objects],
    )


@pytest.mark.parametrize("share", (0.2, 0.5, 0.8))
@pytest.mark.parametrize("is_new", (True, False))
def test_a_stopped_bake_leaves_everything_as_it_was(rig, share, is_new):
    mesh = bpy.data.objects.new("Mesh", bpy.data.meshes.new("Mesh"))
    bpy.context.scene.collection.objects.link(mesh)
    mesh.select_set(True)
    rig.pose.bones["B1"].keyframe_insert("rotation_quaternion", frame=2)
    go(7)
    # Neither a turn nor a place that is not keyed yet is lost.
    rig.fabrik.constraints[0].target.location = (1.0, 1.0, 1.0)
    rig.pose.bones["B1"].rotation_quaternion = (0.9, 0.1, 0.3, 0.0)
    update()
    before = state()
    picks, _ = selecting.select(selecting.all_constraints([rig]))
    options = baking.BakeOptions(1, END, is_new=is_new)
    work = baking.bake(bpy.context.scene, bpy.context.view_layer, picks, options)
    for done_share in work:
        if done_share >= share:
            break
    work.close()
    assert state() == before
    rig.fabrik.constraints[0].enabled = False
    update()
    turn = rig.pose.bones["B1"].rotation_quaternion
    assert tuple(turn) == pytest.approx((0.9, 0.1, 0.3, 0.0))


def test_meshes_are_not_evaluated_meanwhile_and_all_is_shown_again(rig):
    mesh = bpy.data.objects.new("Mesh", bpy.data.meshes.new("Mesh"))
    bpy.context.scene.collection.objects.link(mesh)
    rig.hide_set(True)
    layer = bpy.context.view_layer
    with playing.staged(layer, [rig]):
        assert mesh.hide_viewport and rig.visible_get()
    assert not mesh.hide_viewport and not rig.visible_get()
    assert bake(rig).verification.holds


def test_a_file_that_is_saved_meanwhile_has_all_as_it_was(rig, tmp_path):
    """A bake in a window runs while another window saves."""
    mesh = bpy.data.objects.new("Mesh", bpy.data.meshes.new("Mesh"))
    bpy.context.scene.collection.objects.link(mesh)
    rig.hide_viewport = True
    path = str(tmp_path / "meanwhile.blend")
    with playing.staged(bpy.context.view_layer, [rig]):
        bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
        assert mesh.hide_viewport and rig.visible_get()
    with bpy.data.libraries.load(path) as (_, wanted):
        wanted.objects = ["Mesh", "Rig"]
    assert [ob.hide_viewport for ob in wanted.objects] == [False, True]
    assert not mesh.hide_viewport and rig.hide_viewport


def test_what_cannot_be_baked_is_said(rig):
    item = rig.fabrik.constraints[0]
    with pytest.raises(ProblemError, match="is before Start"):
        bake(rig, end=0)
    data = rig.animation_data
    data.action_influence = 0.5
    data.nla_tracks.new()
    with pytest.raises(ProblemError, match="blends with the NLA"):
        bake(rig)
    data.action_influence = 1.0
    data.nla_tracks[0].is_solo = True
    with pytest.raises(ProblemError, match="solo"):
        bake(rig)
    data.nla_tracks.remove(data.nla_tracks[0])
    item.enabled = False
    with pytest.raises(ProblemError, match=r"“IK” can't be baked\. The constraint is disabled"):
        bake(rig)
    item.enabled = True
    rig.pose.bones["B1"].keyframe_insert("rotation_mode", frame=1)
    with pytest.raises(ProblemError, match="rotation mode of “B1” is animated"):
        bake(rig)
    with pytest.raises(ProblemError, match="No constraint"):
        bake()


def test_the_rest_pose_is_not_baked(rig):
    rig.data.pose_position = "REST"
    with pytest.raises(ProblemError, match="is in rest position"):
        bake(rig)
    rig.data.pose_position = "POSE"
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(ProblemError, match="leave Edit Mode"):
        bake(rig)


def test_linked_armatures_are_left_out_or_refused_and_overrides_baked(rig, tmp_path):
    path = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.objects = ["Rig"]
    (linked,) = wanted.objects
    scene = bpy.context.scene
    scene.collection.objects.link(linked)
    update()
    with pytest.raises(ProblemError, match="is linked"):
        bake(linked)
    local = make_chain(name="Local")
    add_constraint(local, "B2", make_empty("Goal"), name="Local IK")
    update()
    picks, left_out = selecting.select(selecting.all_constraints([linked, local]))
    assert [pick.armature for pick in picks] == [local] and left_out == ["IK"]
    own = linked.override_create(remap_local_usages=True)
    if own.name not in scene.collection.objects:
        scene.collection.objects.link(own)
    update()
    with pytest.raises(ProblemError, match="disable them instead"):
        bake(own, afterwards=REMOVE)
    live = played(own)
    assert bake(own).verification.holds
    assert not own.fabrik.constraints[0].enabled
    assert difference(played(own), live) < 1e-5


def test_the_current_action_has_to_be_free(rig):
    rig.pose.bones["B1"].keyframe_insert("rotation_quaternion", frame=1)
    curves(rig)[0].lock = True
    before = state()
    with pytest.raises(ProblemError, match="locked in the Graph Editor"):
        bake(rig, is_new=False)
    assert state() == before
    curves(rig)[0].lock = False
    other = make_chain(name="Other")
    add_constraint(other, "B2", rig.fabrik.constraints[0].target, name="IK")
    update()
    data = other.animation_data
    data.action = rig.animation_data.action
    if animation.HAS_LAYERS:
        data.action_slot = rig.animation_data.action_slot
    with pytest.raises(ProblemError, match="is used by several armatures"):
        bake(rig, other, is_new=False)
    assert bake(rig, other).verification.holds
    assert data.action != rig.animation_data.action


def test_the_operator_bakes_reports_and_is_undone_in_one_step(rig, capfd):
    live = played(rig)
    go(5)
    bpy.ops.ed.undo_push()
    before = keys_of(rig)
    assert bpy.ops.fabrik.bake(frame_start=1, frame_end=END) == {"FINISHED"}
    assert "Baked 1 constraint, frames 1 to 24: 288 keys" in capfd.readouterr().out
    assert bpy.context.scene.frame_current == 5
    bpy.ops.ed.undo_push()
    bpy.ops.ed.undo()
    rig = bpy.data.objects["Rig"]
    assert keys_of(rig) == before and rig.fabrik.constraints[0].enabled
    assert difference(played(rig), live) < 1e-6


@pytest.mark.parametrize("which", ("ACTIVE", "BONES", "ARMATURE", "ALL"))
def test_which_constraints_the_operator_takes(which):
    rig = two_chains()
    other = make_chain(name="Other")
    add_constraint(other, "B2", keyed(make_empty("O"), around(7)), name="O")
    activate(rig)
    rig.fabrik.active_index = 1
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="DESELECT")
    select_bone(rig, "L0")
    bpy.ops.fabrik.bake(which=which, frame_end=3)
    off = {i.name for ob in (rig, other) for i in ob.fabrik.constraints if not i.enabled}
    assert (
        off
        == {"ACTIVE": {"R"}, "BONES": {"L"}, "ARMATURE": {"L", "R"}, "ALL": {"L", "R", "O"}}[which]
    )


def test_a_chain_that_is_scaled_to_zero_is_baked(rig):
    """The bones are all in one place, and can be off by nothing."""
    rig.scale = (0.0, 0.0, 0.0)
    update()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bpy.ops.fabrik.bake(frame_end=3) == {"FINISHED"}


def test_the_operator_says_what_is_wrong_and_changes_nothing(rig):
    go(4)
    before = state()
    refuses(bpy.ops.fabrik.bake, "is before Start", frame_start=9, frame_end=2)
    assert state() == before
    rig.fabrik.constraints.clear()
    update()
    assert not bpy.ops.fabrik.bake.poll()


@pytest.mark.parametrize("name", SAMPLES)
def test_the_samples_are_baked_as_they_are_live(name):
    bpy.ops.wm.open_mainfile(filepath=str(FOLDER / f"{name}.blend"))
    armatures = [ob for ob in bpy.context.view_layer.objects if ob.type == "ARMATURE"]
    frames = range(1, 31, 5)
    live = played(*armatures, frames=frames)
    verification = bake(*armatures, end=30).verification
    assert verification.holds
    # What the verification leaves out of the evaluation makes no difference.
    assert difference(played(*armatures, frames=frames), live) < 1e-5


@pytest.mark.parametrize("afterwards", (LEAVE, DISABLE))
def test_what_goes_on_from_the_baked_pose_is_said(rig, afterwards):
    item = rig.fabrik.constraints[0]
    item.influence = 0.5
    live = played(rig)
    outcome = bake(rig, afterwards=afterwards)
    assert (difference(played(rig), live) > 1e-2) == (afterwards == LEAVE)
    assert outcome.still_active == ([item.name] if afterwards == LEAVE else [])
    item.enabled, item.influence = True, 1.0
    assert not bake(rig, afterwards=afterwards).still_active


def test_what_begins_to_work_as_others_are_removed_is_said():
    """Two chains depend on each other: the refused one isn't baked, and then is free."""
    rigs = [make_chain(name=name) for name in ("One", "Two")]
    targets = [make_empty(f"Target {rig.name}", (0.3, 0, -0.5)) for rig in rigs]
    for rig, target, other in zip(rigs, targets, reversed(rigs), strict=True):
        target.parent, target.parent_type, target.parent_bone = other, "BONE", "B2"
        add_constraint(rig, "B2", target, name=rig.name)
    update()
    stuck, free = sorted(rigs, key=lambda rig: "itself" not in rig.fabrik.constraints[0].message)
    assert "depends on the chain itself" in stuck.fabrik.constraints[0].message
    assert free.fabrik.constraints[0].state == "REACHED"
    live = played(*rigs)
    assert bake(free, afterwards=DISABLE).still_active == []
    assert difference(played(*rigs), live) < 1e-5
    free.fabrik.constraints[0].enabled = True
    update()
    assert bake(free, afterwards=REMOVE).still_active == [stuck.name]
    assert difference(played(*rigs), live) > 1e-2
