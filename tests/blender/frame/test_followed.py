"""Blender's own constraints of bones that follow solved ones are computed as Blender does."""

from collections.abc import Sequence
from random import Random
from typing import Any

import bpy
import pytest
from mathutils import Matrix, Quaternion
from rigs import add_constraint, key, make_armature, make_chain, make_empty, update

from addon.blender.native_constraints import CUSTOM, LIMITS, READERS, SPACES, is_predictable
from addon.blender.skeleton import skeleton_of
from addon.frame.following import Followers
from addon.frame.read import ChannelSnapshot, EvaluatedSnapshot, Played
from addon.frame.solving import present_runs, solve_armatures
from fabrik_solver.core.constraints import OWNER_ORIENTATION
from fabrik_solver.core.vectors import Vec

INHERIT_SCALE = ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY")
ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
KINDS = (*READERS, "ARMATURE")
POSES = 60

PRECISION = 4e-6
"""Blender multiplies matrices in single precision, through the bones above."""

AMPLIFIED = 1e-4
"""What becomes of that where one constraint tracks or decomposes what another has rounded."""

FIXED = ("mute", "influence", "use_bbone_shape", "show_expanded", "active", "set_inverse_pending")
"""What is not set at random."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_constraint_with_any_settings(kind: str) -> None:
    rig, target = a_rig()
    random, count = Random(kind), 0
    for _ in range(POSES):
        disturb(rig, random)
        target.location = [random.uniform(0.3, 1.5) for _ in range(3)]
        con = add_random(rig, "Owner", kind, random)
        update()
        if is_predictable(con, on_bone=True):
            count += 1
            assert_as_blender_has_it(rig, PRECISION)
        rig.pose.bones["Owner"].constraints.remove(con)
    assert count > POSES // 20


def test_several_constraints_one_after_the_other() -> None:
    rig, target = a_rig()
    random, count = Random(8), 0
    for _ in range(POSES):
        disturb(rig, random)
        target.location = [random.uniform(0.3, 1.5) for _ in range(3)]
        cons = [
            add_random(rig, name, random.choice(KINDS), random)
            for name in ("Owner", "Below", "Owner", "Source")
        ]
        for con in cons:
            con.mute = not is_predictable(con, on_bone=True)
        update()
        count += len(cons) - sum(con.mute for con in cons)
        assert_as_blender_has_it(rig, AMPLIFIED)
        for name in ("Owner", "Below", "Source"):
            for con in [*rig.pose.bones[name].constraints]:
                rig.pose.bones[name].constraints.remove(con)
    assert count > 2 * POSES


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_computed_is_said(kind: str) -> None:
    """A custom space of nothing, local spaces of objects, bent bones aren't."""
    rig, _ = a_rig()
    con = add_random(rig, "Owner", kind, Random(kind))
    con.owner_space, con.space_object = "CUSTOM", None
    assert not is_predictable(con, on_bone=True)
    con.owner_space = "WORLD"
    if kind == "ARMATURE":
        rig.data.bones[con.targets[0].subtarget].bbone_segments = 2
        assert not is_predictable(con, on_bone=True)
    elif kind not in LIMITS:
        con.target_space = "LOCAL"
        con.target = make_empty("Other")
        assert not is_predictable(con, on_bone=True)


def test_an_object_that_bones_move_as_they_do_a_mesh() -> None:
    rig, target = a_rig()
    grip = make_empty("Grip")
    add_constraint(make_chain(2), "B1", grip)
    random = Random("object")
    for _ in range(POSES):
        disturb(rig, random)
        rig.scale = [random.choice((1.0, -0.7, 1.3)) for _ in range(3)]
        target.location = [random.uniform(0.3, 1.5) for _ in range(3)]
        grip.location = [random.uniform(-1, 1) for _ in range(3)]
        grip.rotation_euler = [random.uniform(-3, 3) for _ in range(3)]
        con = grip.constraints.new("ARMATURE")
        con.use_deform_preserve_volume = random.random() < 0.5
        con.use_bone_envelopes = random.random() < 0.3
        con.influence = random.choice((1.0, random.random()))
        add_targets(con, rig, DEFORMING, random)
        update()
        depsgraph = bpy.context.evaluated_depsgraph_get()
        m, place = solve_armatures(depsgraph, [rig]).world(grip, grip.session_uid)
        shown = grip.evaluated_get(depsgraph).matrix_world
        assert_same(shown, m, place, PRECISION)
        grip.constraints.remove(con)


def a_rig() -> tuple[bpy.types.Object, bpy.types.Object]:
    """Make a limb with two branches below it; bones of one follow one of the other."""
    rig = make_armature(
        {
            "Upper": ((0, 0, 0), (0.1, 0, 1), ""),
            "Lower": ((0.1, 0, 1), (0, 0, 2), "Upper"),
            "Grip": ((0.2, 0.1, 1.8), (0.3, 0.5, 2.2), "Lower"),
            "Owner": ((0.3, 0.5, 2.5), (0.5, 0.3, 2.9), "Grip"),
            "Below": ((0.6, 0.2, 2.9), (0.8, 0.4, 3.3), "Owner"),
            "Beside": ((-0.2, 0.1, 1.8), (-0.3, 0.5, 2.1), "Lower"),
            "Source": ((-0.3, 0.6, 2.2), (-0.4, 0.7, 2.7), "Beside"),
        },
        "Rig",
    )
    target = make_empty("Target", (1, 0, 1))
    add_constraint(rig, "Lower", target)
    return rig, target


def disturb(rig: bpy.types.Object, random: Random) -> None:
    """Pose the bones at random, with random ways of inheriting."""
    rig.location = [random.uniform(-1, 1) for _ in range(3)]
    rig.rotation_euler = [random.uniform(-3, 3) for _ in range(3)]
    rig.scale = [random.choice((1.0, 0.7, 1.3)) for _ in range(3)]
    for name in ("Grip", "Owner", "Below", "Beside", "Source"):
        posed, rest = rig.pose.bones[name], rig.data.bones[name]
        rest.inherit_scale = random.choice(INHERIT_SCALE)
        rest.use_inherit_rotation = random.random() < 0.8
        rest.use_local_location = random.random() < 0.8
        posed.rotation_mode = random.choice(("QUATERNION", *ORDERS))
        posed.location = [random.uniform(-0.3, 0.3) for _ in range(3)]
        posed.rotation_quaternion = Quaternion(
            [random.uniform(-1, 1) for _ in range(4)]
        ).normalized()
        posed.rotation_euler = [random.uniform(-3, 3) for _ in range(3)]
        posed.scale = [random.choice((-1.0, 0.8, 1.0, 1.2)) for _ in range(3)]


def add_random(rig: bpy.types.Object, bone: str, kind: str, random: Random) -> Any:
    """Add a constraint with random settings."""
    con: Any = rig.pose.bones[bone].constraints.new(kind)
    aim(con, rig, bone, random)
    con.owner_space = random.choice((*SPACES, CUSTOM))
    con.space_object = random.choice((rig, bpy.data.objects["Target"]))
    con.space_subtarget = "Beside" if con.space_object == rig else ""
    con.influence = random.choice((1.0, random.random()))
    least = -2.0
    if con.influence < 1.0:  # Half of a mirroring is a half-turn, to a side that rounding decides.
        least = 0.1
        for posed in rig.pose.bones:
            posed.scale = [abs(size) for size in posed.scale]
    for prop in con.bl_rna.properties:
        name = prop.identifier
        if prop.is_readonly or name in FIXED or name.endswith("_space"):
            continue
        if prop.type == "BOOLEAN":
            setattr(con, name, random.random() < 0.5)
        elif prop.type == "FLOAT":
            setattr(con, name, random_value(prop.array_length, least, random))
        elif prop.type == "ENUM" and name != "type":
            setattr(con, name, random.choice([item.identifier for item in prop.enum_items]))
    return con


def aim(con: Any, rig: bpy.types.Object, bone: str, random: Random) -> None:
    """Give a constraint targets in the rig; some constraints also act without."""
    if con.type == "ARMATURE":
        add_targets(con, rig, ("Beside", "Lower") if bone == "Source" else DEFORMING, random)
    elif con.type not in LIMITS:
        con.target, con.subtarget = rig, "Beside" if bone == "Source" else "Source"
        con.target_space = random.choice((*SPACES, CUSTOM, OWNER_ORIENTATION))
        if con.type == "PIVOT" and random.random() < 0.4:
            con.target_space, con.target = "WORLD", None


def random_value(length: int, least: float, random: Random) -> Any:
    """Return a random number, vector or 4 × 4 matrix."""
    numbers = [random.uniform(least, 2.0) for _ in range(max(length, 1))]
    if length == 16:
        turn = Quaternion([random.uniform(-1, 1) for _ in range(4)]).normalized()
        sizes = [random.uniform(0.5, 1.5) for _ in range(3)]
        return Matrix.LocRotScale(numbers[:3], turn, sizes)
    return numbers if length else numbers[0]


DEFORMING = ("Source", "Beside", "Lower", "Grip", "Upper")


def add_targets(con: Any, rig: bpy.types.Object, bones: Sequence[str], random: Random) -> None:
    """Add bones with random weights and regions to an Armature constraint."""
    for bone in random.sample(bones, random.randint(1, min(3, len(bones)))):
        target, rest = con.targets.new(), rig.data.bones[bone]
        target.target, target.subtarget = rig, bone
        target.weight = random.choice((0.0, 1.0, random.uniform(0.1, 1.0)))
        rest.use_envelope_multiply = random.random() < 0.2
        rest.head_radius, rest.tail_radius = random.uniform(0.1, 1.0), random.uniform(0.1, 1.0)
        rest.envelope_distance = random.uniform(0.1, 1.0)


def assert_as_blender_has_it(rig: bpy.types.Object, precision: float) -> None:
    """The frames of bones as we compute them are those that Blender has evaluated."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    solved = solve_armatures(depsgraph, [rig])
    skeleton = skeleton_of(rig)
    for name in ("Owner", "Below", "Source"):
        m, head = solved.frame(skeleton, skeleton.index[name])
        assert_same(rig.evaluated_get(depsgraph).pose.bones[name].matrix, m, head, precision)


def assert_same(shown: Matrix, axes: Sequence[float], place: Vec, precision: float) -> None:
    pairs = [(shown[i][j], axes[3 * i + j]) for i in range(3) for j in range(3)]
    pairs += [(shown[i][3], place[i]) for i in range(3)]
    size = max(1.0, *(abs(there) for there, _ in pairs))
    assert max(abs(there - ours) for there, ours in pairs) < precision * size


def test_what_is_kept_while_frames_are_played_is_as_if_it_was_read() -> None:
    rig, target = a_rig()
    target.constraints.new("LIMIT_LOCATION")  # So that Blender evaluates it first.
    random = Random(4)
    disturb(rig, random)
    for name in ("Grip", "Owner", "Below", "Beside", "Source"):
        rig.pose.bones[name].scale = (1.0, 1.0, 1.0)
    bones = rig.pose.bones
    limit = bones["Owner"].constraints.new("LIMIT_ROTATION")
    limit.use_limit_x, limit.min_x, limit.owner_space = True, -3.0, "LOCAL"
    bones["Owner"].rotation_mode, bones["Owner"].rotation_euler = "XYZ", (1.5, 0.0, 0.0)
    copy = bones["Below"].constraints.new("COPY_ROTATION")
    copy.target, copy.subtarget = rig, "Source"
    track = bones["Grip"].constraints.new("DAMPED_TRACK")
    track.target, track.subtarget = rig, "Source"
    bones["Beside"].rotation_mode = "XYZ"
    removed = bones["Owner"].constraints.new("LIMIT_SCALE")
    removed.keyframe_insert("min_x", frame=1)
    bones["Owner"].constraints.remove(removed)
    for frame in range(1, 12):
        key(target, "location", {frame: [random.uniform(0.3, 1.5) for _ in range(3)]})
        key(limit, "max_x", {frame: random.uniform(-1.0, 1.0)})
        bones["Beside"].rotation_euler.x = random.uniform(-1.0, 1.0)
        bones["Beside"].keyframe_insert("rotation_euler", frame=frame)
    bpy.context.scene.frame_set(0)
    assert_kept(rig, range(1, 6))
    before = frames_of(rig, None)
    copy.invert_x = True  # What was read before must not be used any more.
    bones["Grip"].location.x += 0.1
    bpy.context.scene.frame_set(5)
    assert frames_of(rig, None) != before
    assert_kept(rig, range(6, 12))


def assert_kept(rig: bpy.types.Object, frames: range) -> None:
    """Check that cached data gives the same result at played frames, to the last bit."""
    uid = skeleton_of(rig).uid
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        kept = present_runs().played
        assert frames_of(rig, kept) == frames_of(rig, None)
        assert kept.rigs[uid].followers.bones
        assert_as_blender_has_it(rig, AMPLIFIED)


def frames_of(rig: bpy.types.Object, kept: Played | None) -> list[object]:
    """Return the computed frames of all bones, with what is kept of those that follow."""
    runs, depsgraph = present_runs(), bpy.context.view_layer.depsgraph
    skeleton = skeleton_of(rig)
    copies = {skeleton.uid: rig.evaluated_get(depsgraph)}
    touched = copies if kept is None else ()
    snapshot = EvaluatedSnapshot(runs.plan, runs.readers, depsgraph, copies, touched, played=kept)
    solved = runs.solve(snapshot, None)
    return [solved.frame(skeleton, bone) for bone in range(len(skeleton.names))]


def a_controlled_limb() -> bpy.types.Object:
    """Make a limb whose root and target follow controls through constraints."""
    rig = make_armature(
        {
            "Root": ((0, 0, 0), (0, 0, 0.2), ""),
            "Chest": ((0, 0, 1), (0, 0, 1.5), "Root"),
            "Shoulder": ((0, 0, 1.4), (0.2, 0, 1.4), "Chest"),
            "Upper": ((0.2, 0, 1.4), (0.5, 0.05, 1.4), "Shoulder"),
            "Lower": ((0.5, 0.05, 1.4), (0.8, 0, 1.4), "Upper"),
            "Hand": ((0.8, 0, 1.4), (0.9, 0, 1.4), ""),
            "Parent": ((0.8, 0, 1.4), (0.8, 0.1, 1.4), ""),
            "Aim": ((0.8, 0, 1.4), (0.8, 0, 1.5), "Parent"),
            "Pole": ((0.5, 1, 1.4), (0.5, 1.1, 1.4), "Root"),
        },
        "Rig",
    )
    bones: Any = rig.pose.bones
    switch = bones["Parent"].constraints.new("ARMATURE")
    for name in ("Root", "Chest"):
        target = switch.targets.new()
        target.target, target.subtarget, target.weight = rig, name, 0.5
    for owner, kind, name in (
        ("Aim", "COPY_TRANSFORMS", "Hand"),
        ("Shoulder", "COPY_ROTATION", "Pole"),
        ("Chest", "DAMPED_TRACK", "Pole"),
    ):
        con = bones[owner].constraints.new(kind)
        con.target, con.subtarget, con.influence = rig, name, 0.4
    chain = add_constraint(rig, "Lower", rig, chain_count=2, subtarget="Aim")
    chain.pole_target, chain.pole_subtarget = rig, "Pole"
    update()
    return rig


def posed_frames(rig: bpy.types.Object, kept: dict[int, Followers] | None) -> list[object]:
    """Return the frames of all bones, computed ahead, with what is kept of those that follow."""
    runs, skeleton = present_runs(), skeleton_of(rig)
    only, scene = [skeleton.uid], bpy.context.scene
    snapshot = ChannelSnapshot(runs.plan, runs.readers, scene, only, only, seen={}, posed=kept)
    solved = runs.solve(snapshot, None, is_edit=True)
    return [solved.frame(skeleton, bone) for bone in range(len(skeleton.names))]


def test_what_is_kept_while_bones_are_posed_is_as_if_it_was_read() -> None:
    rig, random = a_controlled_limb(), Random(5)
    bones, uid = rig.pose.bones, skeleton_of(rig).uid
    for step in range(80):
        bone = bones[random.choice(("Root", "Chest", "Hand", "Parent", "Pole", "Upper"))]
        edit = random.choice(("location", "rotation_quaternion", "scale", "mode", "object", "con"))
        if edit == "mode":
            bone.rotation_mode = random.choice(("QUATERNION", *ORDERS))
        elif edit == "object":
            rig.rotation_euler.z += random.uniform(-0.3, 0.3)
        elif edit == "con":
            bones["Aim"].constraints[0].influence = random.random()
        else:
            size = len(getattr(bone, edit))
            setattr(bone, edit, [random.uniform(0.8, 1.2) for _ in range(size)])
        update()
        assert posed_frames(rig, present_runs().posed) == posed_frames(rig, None), (step, edit)
        assert_shown_as(rig, posed_frames(rig, None))
    assert uid in present_runs().posed


def assert_shown_as(rig: bpy.types.Object, frames: Sequence[Any]) -> None:
    shown = rig.evaluated_get(bpy.context.view_layer.depsgraph).pose.bones
    for bone, (axes, head) in zip(shown, frames, strict=True):
        assert_same(bone.matrix, axes, head, AMPLIFIED)


def test_a_posed_control_moves_only_what_follows_it() -> None:
    rig = a_controlled_limb()
    names, posed = skeleton_of(rig).names, present_runs().posed
    rig.pose.bones["Root"].location.x += 0.1
    update()
    before = posed_frames(rig, posed)
    rig.pose.bones["Hand"].location.x -= 0.1
    update()
    after = posed_frames(rig, posed)
    same = {name for name, old, new in zip(names, before, after, strict=True) if new is old}
    assert same == {"Root", "Chest", "Shoulder", "Pole", "Parent"}
