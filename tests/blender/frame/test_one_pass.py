"""Solutions are written ahead of the evaluation, which is the only one, and are never wrong."""

import random
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import bpy
import pytest
import rigs
from bpy.app.handlers import persistent
from inside import count, forget
from mathutils import Matrix
from rendering import bones_of, witnessed
from rigs import update

from addon.blender import animation

FRAMES = range(1, 11)


@pytest.fixture
def rig(empty_file: None) -> bpy.types.Object:
    """A moving armature, with a chain of unkeyed bones that follows a moving target."""
    rig, target = rigs.make_chain(4), rigs.make_empty()
    for frame, x in ((1, 0.0), (10, 0.5)):
        rig.location.x = x
        rig.keyframe_insert("location", frame=frame)
        target.location.y = 2.0 * x
        target.keyframe_insert("location", frame=frame)
    rigs.add_constraint(rig, "B3", target)
    update()
    return rig


def target_of(rig: bpy.types.Object) -> bpy.types.Object:
    return rig.fabrik.constraints[0].target


def played(rig: bpy.types.Object) -> dict[int, bytes]:
    poses = {}
    for frame in FRAMES:
        rigs.go(frame)
        poses[frame] = rigs.pose_bits(rig)
    return poses


def test_a_frame_is_evaluated_once(rig: bpy.types.Object, evaluations: list[float]) -> None:
    rigs.watch(rig, "B3")
    update()
    evaluations.clear()
    first = played(rig)
    assert len(evaluations) == len(FRAMES)
    evaluations.clear()
    assert played(rig) == first
    assert len(evaluations) == len(FRAMES)


def test_a_frame_is_evaluated_once_in_a_crowd_though_the_armature_stands_still(
    rig: bpy.types.Object, evaluations: list[float]
) -> None:
    """A second evaluation visits everything in the scene."""
    rig.animation_data_clear()
    for i in range(40):
        rigs.make_empty(f"Bystander {i}")
    rigs.watch(rig, "B3")
    update()
    first = played(rig)
    assert len(set(first.values())) == len(FRAMES)
    evaluations.clear()
    assert played(rig) == first
    assert len(evaluations) == len(FRAMES)


@pytest.mark.parametrize("count", [4, 64])
def test_blender_need_not_copy_an_armature_that_moves(empty_file: None, count: int) -> None:
    joints = [(0.0, 0.2 * (i % 2), i) for i in range(count + 1)]
    rig, target = rigs.make_chain(count, joints=joints), rigs.make_empty()
    for frame, x in ((1, 0.0), (10, 0.5)):
        rig.location.x = x
        rig.keyframe_insert("location", frame=frame)
    rigs.add_constraint(rig, f"B{count - 1}", target)
    update()
    rigs.go(1)
    marks = "custom_shape_translation"  # Copying resets it; setting it this way tags nothing.

    def mark() -> Any:
        return rigs.evaluated(rig).pose.bones["B0"].path_resolve(marks, False)

    mark().foreach_set([5.0, 5.0, 5.0])
    first = played(rig)
    assert len(set(first.values())) == len(FRAMES) and mark()[0] == 5.0
    rig.update_tag()
    update()
    assert mark()[0] == 0.0 and played(rig) == first


def test_a_frame_of_a_render_is_evaluated_once(
    rig: bpy.types.Object, evaluations: list[float]
) -> None:
    """Then a skinned mesh is evaluated once as well."""
    wanted = played(rig)
    rigs.watch(rig, "B3")
    rigs.go(1)
    update()
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = FRAMES[1], FRAMES[-1]
    counts: dict[int, int] = {}

    def look(depsgraph: bpy.types.Depsgraph) -> bytes:
        counts[depsgraph.scene.frame_current] = len(evaluations)
        return bones_of(depsgraph)

    def before(scene: bpy.types.Scene, _unused: object = None) -> None:
        evaluations.clear()

    bpy.app.handlers.frame_change_pre.append(before)
    try:
        with witnessed(look) as seen:
            bpy.ops.render.render(animation=True)
    finally:
        bpy.app.handlers.frame_change_pre.remove(before)
    assert seen == {frame: wanted[frame] for frame in FRAMES[1:]}
    assert counts == dict.fromkeys(FRAMES[1:], 1)


def let_follow(ob: bpy.types.Object, leader: bpy.types.Object) -> None:
    """Move an object by a constraint that isn't computed, as it isn't in world space."""
    con = ob.constraints.new("COPY_LOCATION")
    con.target, con.owner_space = leader, "LOCAL"


def test_what_only_blender_can_evaluate_is_evaluated_once_the_second_time(
    rig: bpy.types.Object, evaluations: list[float]
) -> None:
    """Here a target that one of its constraints moves."""
    target, leader = target_of(rig), rigs.make_empty("Leader")
    rigs.key(leader, "location", {1: 0.0, 10: -0.5}, 0)
    let_follow(target, leader)
    rigs.watch(rig, "B3")
    update()
    evaluations.clear()
    first = played(rig)
    assert len(set(first.values())) == len(FRAMES)
    assert len(evaluations) == 2 * len(FRAMES)
    evaluations.clear()
    assert played(rig) == first
    assert len(evaluations) == len(FRAMES)


@pytest.mark.parametrize("kind", ["still", "far away", "linked data", "keyed", "by a constraint"])
def test_a_loaded_file_is_evaluated_once(
    kind: str, evaluations: list[float], tmp_path: Path
) -> None:
    """Once more if F-curves, or what only Blender can evaluate, decide on the pose."""
    rig, target = rigs.make_chain(4), rigs.make_empty(location=(0.0, 1.0, 3.0))
    if kind == "linked data":
        bpy.data.libraries.write(str(tmp_path / "library.blend"), {rig.data})
        with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, wanted):
            wanted.armatures = [rig.data.name]
        rig.data = wanted.armatures[0]
    elif kind == "keyed":
        rig.keyframe_insert("location", frame=1)
    elif kind == "by a constraint":
        let_follow(target, rigs.make_empty("Leader", (0.0, 1.0, 2.0)))
    rigs.add_constraint(
        rig, "B3", rigs.make_empty("Far", (9, 9, 9)) if kind == "far away" else target
    )
    rigs.watch(rig, "B3")
    update()
    shown = rigs.pose_bits(rig)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"))
    channels = rigs.channels_bits(rig)
    evaluations.clear()
    note = bpy.app.driver_namespace["note_evaluation"]

    @persistent
    def keep(*_unused: object) -> None:  # Loading a file empties the namespace.
        bpy.app.driver_namespace["note_evaluation"] = note

    bpy.app.handlers.load_post.insert(0, keep)
    try:
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rig.blend"))
    finally:
        bpy.app.handlers.load_post.remove(keep)

    rig = bpy.data.objects["Rig"]
    assert rigs.pose_bits(rig) == shown
    assert rigs.channels_bits(rig) == channels
    assert len(evaluations) == (1 if kind in ("still", "far away", "linked data") else 2)
    evaluations.clear()
    update()
    assert not evaluations


@pytest.mark.parametrize("change", ["added", "removed"])
def test_poses_that_a_library_changed_are_solved_once_they_are_rebuilt(
    change: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Blender rebuilds them in the first evaluation of a file."""
    library, shot = str(tmp_path / "library.blend"), str(tmp_path / "shot.blend")
    rigs.make_chain(4)
    bpy.ops.wm.save_as_mainfile(filepath=library)
    bpy.ops.wm.read_homefile(use_empty=True)
    with bpy.data.libraries.load(library, link=True) as (held, wanted):
        wanted.armatures = held.armatures
    rig = rigs.link(bpy.data.objects.new("Rig", wanted.armatures[0]))
    rigs.add_constraint(rig, "B2", rigs.make_empty(location=(0.0, 1.0, 1.5)))
    update()
    bpy.ops.wm.save_as_mainfile(filepath=shot)
    bpy.ops.wm.open_mainfile(filepath=library)
    rigs.activate(bpy.data.objects["Rig"], "EDIT")
    bones = bpy.context.object.data.edit_bones
    if change == "added":
        bones["B0"].parent = bones.new("First")
        bones["First"].head, bones["First"].tail = (0, 0, -1), (0, 0, 0)
    else:
        bones["B1"].name = "Replaced"
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.wm.save_mainfile()

    bpy.ops.wm.open_mainfile(filepath=shot)

    rig, target = bpy.data.objects["Rig"], bpy.data.objects["Target"]
    assert ("First" if change == "added" else "Replaced") in rig.pose.bones
    assert rig.fabrik.constraints[0].state == "REACHED"
    assert rigs.tip_error(rig, "B2", target) < 1e-3
    assert "report" not in "".join(capfd.readouterr())


def key_bones(rig: bpy.types.Object) -> None:
    """Key the posed bones, each in other components."""
    for frame, x in ((1, 0.0), (4, 0.4), (10, -0.3)):
        for i, bone in enumerate(rig.pose.bones):
            for index in range(4) if i else (1,):
                bone.rotation_quaternion[index] = (1.0, x, 0.1 * i, -x)[index]
                bone.keyframe_insert("rotation_quaternion", index=index, frame=frame)


def muted_curves(rig: bpy.types.Object) -> list[str]:
    """Return the paths of muted F-curves, in the evaluated action and in the original."""
    copies = (rig, rigs.evaluated(rig))
    return [c.data_path for ob in copies for c in animation.all_active_curves(ob) if c.mute]


@pytest.mark.parametrize("is_known", (True, False), ids=("known", "solved before"))
def test_a_frame_with_keyed_bones_is_evaluated_once(
    rig: bpy.types.Object, evaluations: list[float], is_known: bool
) -> None:
    """The F-curves, which would overwrite the solution, give the FK pose all the same."""
    key_bones(rig)
    twin = rig.copy()
    bpy.context.scene.collection.objects.link(twin)
    twin.animation_data.action = rig.animation_data.action.copy()
    rigs.enable(twin, False)
    if not is_known:
        leader = rigs.make_empty("Leader", (0.1, 0.2, 0.3))
        let_follow(target_of(rig), leader)
    rigs.watch(rig, "B3")
    update()
    for times in (1 if is_known else 2, 1, 1):
        evaluations.clear()
        poses: dict[int, bytes] = {}
        for frame in FRAMES:
            rigs.go(frame)
            assert rigs.channels_bits(rig) == rigs.channels_bits(twin)
            assert muted_curves(rig) == []
            poses[frame] = rigs.pose_bits(rig)
        assert len(evaluations) == times * len(FRAMES)
        assert len(set(poses.values())) == len(FRAMES)
    assert played_anew(rig) == poses


def test_dragging_the_target_of_keyed_bones_evaluates_once(
    rig: bpy.types.Object, evaluations: list[float]
) -> None:
    key_bones(rig)
    target_of(rig).animation_data_clear()
    rigs.watch(rig, "B3")
    rigs.go(4)
    rig.pose.bones["B1"].rotation_quaternion[2] = 0.5  # Not keyed yet.
    update()
    before, shown = rigs.channels_bits(rig), set[bytes]()
    for x in range(5):
        evaluations.clear()
        target_of(rig).location.x = 0.1 * x
        update()
        assert len(evaluations) == 1
        assert (rigs.channels_bits(rig), muted_curves(rig)) == (before, [])
        shown.add(rigs.pose_bits(rig))
    assert len(shown) == 5


def played_anew(*armatures: bpy.types.Object) -> dict[int, bytes]:
    """Solve all frames anew, and only after Blender's evaluation: nothing is planned before."""
    poses = {}
    for frame in FRAMES:
        forget()
        rigs.go(frame)
        poses[frame] = rigs.pose_bits(*armatures)
    return poses


@pytest.mark.parametrize("is_edited", [False, True])
@pytest.mark.parametrize("name", ["location", "scale", "influence"])
def test_what_animation_changes_besides_rotations_is_read_ahead(
    rig: bpy.types.Object, evaluations: list[float], name: str, is_edited: bool
) -> None:
    beside = rigs.make_empty("Beside")
    item, root = rig.fabrik.constraints[0], rig.pose.bones["B0"]
    for frame, value in ((1, 0.5), (10, 1.0)):
        if name == "influence":
            item.influence = value
            item.keyframe_insert(name, frame=frame)
        else:
            setattr(root, name, (1.0, value, 1.0))
            root.keyframe_insert(name, frame=frame)
    rigs.watch(rig, "B3")
    rigs.go(11)
    poses = {}
    for frame in FRAMES:
        if is_edited:
            beside.location.x += 1.0
        evaluations.clear()
        rigs.go(frame)
        assert len(evaluations) == 1
        poses[frame] = rigs.pose_bits(rig)
    assert poses == played_anew(rig)


def test_keys_edited_between_two_passes_are_seen_though_they_were_muted(
    rig: bpy.types.Object,
) -> None:
    key_bones(rig)
    before = played(rig)
    curve = animation.active_curves(rig, 'pose.bones["B1"].rotation_quaternion')[1]
    curve.keyframe_points[1].co.y = 1.5
    curve.update()
    after = played(rig)
    assert before[1] == after[1] and before[4] != after[4]
    rigs.go(4)
    assert rig.pose.bones["B1"].rotation_quaternion[1] == curve.evaluate(4)

    curve.mute = True
    rig.pose.bones["B1"].rotation_quaternion[1] = 0.25
    played(rig)
    assert rig.pose.bones["B1"].rotation_quaternion[1] == 0.25


def test_an_action_that_others_use_is_not_muted(
    rig: bpy.types.Object, evaluations: list[float]
) -> None:
    key_bones(rig)
    twin = rig.copy()
    bpy.context.scene.collection.objects.link(twin)
    rigs.enable(twin, False)
    update()
    rigs.watch(rig, "B3")
    update()
    for _ in range(2):
        evaluations.clear()
        for frame in FRAMES:
            rigs.go(frame)
            assert rigs.channels_bits(rig) == rigs.channels_bits(twin)
            bits = [x for bone in rigs.evaluated(twin).pose.bones for x in bone.rotation_quaternion]
            assert bits == [x for bone in twin.pose.bones for x in bone.rotation_quaternion]
        assert len(evaluations) == 2 * len(FRAMES)


def in_action_constraint(bone: bpy.types.PoseBone, user: bpy.types.Object) -> None:
    """Have a bone move by the action of an object as well, which another bone controls."""
    con = bone.constraints.new("ACTION")
    con.target, con.subtarget = user, "B0"
    con.transform_channel, con.target_space = "LOCATION_X", "LOCAL"
    con.min, con.max, con.frame_start, con.frame_end = -1.0, 1.0, 1, 10
    con.action = user.animation_data.action
    if animation.HAS_LAYERS:
        con.action_slot = user.animation_data.action_slot


@pytest.mark.parametrize("name", ("B1", "B3", "After", "Elsewhere"))
def test_an_action_that_a_constraint_uses_as_well_is_not_muted(
    rig: bpy.types.Object, name: str
) -> None:
    """Within the animated object too, still the only data-block that uses the slot."""
    key_bones(rig)
    if name == "Elsewhere":
        other = rigs.make_chain(4, "Other")
        in_action_constraint(other.pose.bones["B1"], rig)
        shown = (rig, other)
    else:
        if name == "After":
            bpy.ops.object.mode_set(mode="EDIT")
            bone = rig.data.edit_bones.new(name)
            bone.head, bone.tail = (0, 0, 4), (0, 0, 5)
            bone.parent = rig.data.edit_bones["B2"]
            bpy.ops.object.mode_set(mode="OBJECT")
            turned = rig.pose.bones[name]
            rigs.key(turned, "rotation_quaternion", {5: (0.8, 0.6, 0.0, 0.0)})
        in_action_constraint(rig.pose.bones[name], rig)
        shown = (rig,)
    update()
    passes: list[list[bytes]] = []
    for _ in range(3):
        passes.append([])
        for frame in FRAMES:
            rigs.go(frame)
            passes[-1].append(rigs.pose_bits(*shown))
    plain = [*played_anew(*shown).values()]
    assert passes == [plain] * 3
    assert len(set(plain)) == len(FRAMES)


def test_another_view_layer_shows_keyed_bones_with_the_same_pose(rig: bpy.types.Object) -> None:
    key_bones(rig)
    wanted = played(rig)
    layer = bpy.context.scene.view_layers.new("Other")
    for frame in FRAMES:
        rigs.go(frame)
        graph = layer.depsgraph
        assert rigs.pose_bits(rig) == rigs.pose_bits(rig, depsgraph=graph) == wanted[frame]
        other = animation.all_active_curves(rig.evaluated_get(graph))
        assert muted_curves(rig) == [] and not any(curve.mute for curve in other)


@pytest.mark.skipif(
    not bpy.app.build_options.alembic, reason="this Blender was built without Alembic"
)
def test_a_pose_that_is_not_keyed_yet_survives_an_export(
    rig: bpy.types.Object, tmp_path: Path
) -> None:
    """It evaluates the keys, but Blender flushes those of the window's depsgraph only."""
    key_bones(rig)
    rigs.go(4)
    rig.pose.bones["B1"].rotation_quaternion[2] = 0.5
    update()
    before, shown = rigs.channels_bits(rig), rigs.pose_bits(rig)
    path = str(tmp_path / "all.abc")
    bpy.ops.wm.alembic_export(filepath=path, start=1, end=3, as_background_job=False)
    assert rigs.channels_bits(rig) == before
    update()
    assert (rigs.channels_bits(rig), rigs.pose_bits(rig)) == (before, shown)


@pytest.mark.parametrize("solver", ("LOOK_AT", "WAVE"))
def test_frames_with_motions_that_follow_from_settings_are_evaluated_once(
    rig: bpy.types.Object, evaluations: list[float], solver: str
) -> None:
    item = rigs.add_constraint(rig, "B3", target_of(rig), solver=solver, chain_count=1)
    rigs.watch(rig, "B3")
    update()
    evaluations.clear()
    first = played(rig)
    assert len(evaluations) == len(set(first.values())) == len(FRAMES)
    assert played_anew(rig) == first

    group = item.look if solver == "LOOK_AT" else item.wave
    name = "limit_angle" if solver == "LOOK_AT" else "amplitude"
    setattr(group, name, 0.2)
    second = played(rig)
    assert all(second[frame] != first[frame] for frame in FRAMES)
    for frame, value in ((1, 0.2), (10, 0.4)):
        setattr(group, name, value)
        group.keyframe_insert(name, frame=frame)
    third = played(rig)
    assert third[1] == second[1]
    assert all(third[frame] != second[frame] for frame in FRAMES[1:])


def test_a_damped_look_at_is_not_foreseen(rig: bpy.types.Object, evaluations: list[float]) -> None:
    item = rigs.add_constraint(rig, "B3", target_of(rig), solver="LOOK_AT", chain_count=1)
    rigs.watch(rig, "B3")
    update()
    evaluations.clear()
    before = played(rig)
    assert len(evaluations) == len(FRAMES)
    item.look.damping = 0.2
    update()
    evaluations.clear()
    after = played(rig)
    assert len(evaluations) == 2 * len(FRAMES)
    assert all(after[frame] != before[frame] for frame in FRAMES[2:])


def test_stretched_frames_are_evaluated_once_too(
    rig: bpy.types.Object, evaluations: list[float]
) -> None:
    item = rig.fabrik.constraints[0]
    item.use_stretch, item.stretch_max = True, 1.2
    target_of(rig).delta_location = (2.0, 0.0, 2.0)  # It comes into reach and leaves it.
    rigs.watch(rig, "B3")
    update()
    for _ in range(2):
        evaluations.clear()
        first = played(rig)
        assert len(evaluations) == len(FRAMES)
        assert rigs.shown_bones(rig)["B0"].scale.y > 1.0
        assert played(rig) == first
    rig.pose.bones["B0"].scale = (1.0, 1.1, 1.0)
    other = played(rig)
    assert all(other[frame] != first[frame] for frame in FRAMES)


def test_what_was_edited_between_two_passes_is_seen(rig: bpy.types.Object) -> None:
    first = played(rig)
    target_of(rig).delta_location.z = -0.5
    second = played(rig)
    for frame in FRAMES:
        assert second[frame] != first[frame]
        rigs.go(frame)
        assert rigs.tip_error(rig, "B3", target_of(rig)) < 1e-5
    target_of(rig).delta_location.z = 0.0
    assert played(rig) == first


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("influence", 0.5),
        ("enabled", False),
        ("pole_angle", 1.0),
        ("pole_weight", 0.5),
        ("softness", 0.9),
        ("swing", 1.0),
        ("chain_bias", -0.8),
    ],
)
def test_settings_that_were_edited_are_seen(
    rig: bpy.types.Object, name: str, value: object
) -> None:
    item = rig.fabrik.constraints[0]
    if name != "swing":  # With a pole a chain always turns as a whole.
        item.pole_target = rigs.make_empty("Pole", (3, 3, 3))
    first = played(rig)
    before = getattr(item, name)
    setattr(item, name, value)
    second = played(rig)
    assert all(second[frame] != first[frame] for frame in FRAMES)
    setattr(item, name, before)
    assert played(rig) == first


def test_a_bone_turned_between_two_passes_is_the_new_input(rig: bpy.types.Object) -> None:
    first = played(rig)
    bone = rig.pose.bones["B1"]
    bone.rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    rigs.go(3)
    assert rigs.pose_bits(rig) != first[3]
    assert rigs.tip_error(rig, "B3", target_of(rig)) < 1e-5
    rig.fabrik.constraints[0].enabled = False
    update()
    for bones in (rig.pose.bones, rigs.shown_bones(rig)):
        assert list(bones["B1"].rotation_quaternion) == pytest.approx([0.8, 0.6, 0.0, 0.0])


def test_bones_that_were_keyed_between_two_passes_are_seen(rig: bpy.types.Object) -> None:
    played(rig)
    rig.fabrik.constraints[0].enabled = False
    update()
    bone = rig.pose.bones["B1"]
    rigs.key(bone, "rotation_quaternion", {1: (0.8, 0.0, 0.6, 0.0)})
    rig.fabrik.constraints[0].enabled = True
    keyed = played(rig)
    fresh = {}
    for frame in reversed(FRAMES):
        rigs.go(frame)
        fresh[frame] = rigs.pose_bits(rig)
    assert keyed == fresh
    rig.fabrik.constraints[0].enabled = False
    rigs.go(5)
    for bones in (rig.pose.bones, rigs.shown_bones(rig)):
        assert list(bones["B1"].rotation_quaternion) == pytest.approx([0.8, 0.0, 0.6, 0.0])


def test_telling_how_it_went_does_not_evaluate_again(rig: bpy.types.Object) -> None:
    """Blender would take the armature for changed if reports were set all at once."""
    updates: list[list[str]] = []
    rigs.go(2)
    item = rig.fabrik.constraints[0]
    item.error, item.iterations_used, item.message = 1.0, 3, "said"

    def note(_scene: object, depsgraph: bpy.types.Depsgraph) -> None:
        updates.append([update.id.name for update in depsgraph.updates])

    bpy.app.handlers.depsgraph_update_post.append(note)
    try:
        update()
    finally:
        bpy.app.handlers.depsgraph_update_post.remove(note)
    assert updates == []


def test_tagging_the_object_evaluates_the_pose_and_leaves_its_data_alone() -> None:
    """What writing counts on: updated armature data would mean that bones were edited."""
    rig = rigs.make_chain(2)
    update()
    rig.pose.bones.foreach_set("rotation_quaternion", [0.8, 0.6, 0, 0, 1, 0, 0, 0])
    rig.update_tag(refresh={"OBJECT"})
    found: list[bool] = []

    def note(_scene: object, depsgraph: bpy.types.Depsgraph) -> None:
        found.append(depsgraph.id_type_updated("ARMATURE"))

    bpy.app.handlers.depsgraph_update_post.append(note)
    try:
        update()
    finally:
        bpy.app.handlers.depsgraph_update_post.remove(note)
    assert found == [False]
    bone = rigs.evaluated(rig).pose.bones["B0"]
    expected = rig.data.bones["B0"].matrix_local.to_quaternion() @ bone.rotation_quaternion
    assert abs(bone.matrix.to_quaternion().dot(expected)) == pytest.approx(1.0, abs=1e-6)


def test_clearing_the_list_just_before_a_frame_gives_the_fk_pose_back(
    rig: bpy.types.Object,
) -> None:
    """The plan is new then: nothing was looked at yet that could be written ahead."""
    fk = [tuple(bone.rotation_quaternion) for bone in rigs.make_chain(4, "Free").pose.bones]
    played(rig)
    rig.fabrik.constraints[0].chain_count = 3
    rig.fabrik.constraints.clear()
    rigs.go(5)
    for bones in (rig.pose.bones, rigs.shown_bones(rig)):
        assert [tuple(bone.rotation_quaternion) for bone in bones] == fk


def test_a_constraint_that_is_off_is_not_written_ahead(
    rig: bpy.types.Object, evaluations: list[float]
) -> None:
    rigs.watch(rig, "B3")
    update()
    played(rig)
    rig.fabrik.constraints[0].enabled = False
    played(rig)
    evaluations.clear()
    played(rig)
    assert len(evaluations) == len(FRAMES)


MODES = ("QUATERNION", "AXIS_ANGLE", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")


@pytest.mark.parametrize("seed", range(12))
def test_what_is_foreseen_is_what_blender_evaluates(evaluations: list[float], seed: int) -> None:
    """Objects on objects in every mode, with deltas, mirrored, sheared, tiny, huge and far away."""
    draw = random.Random(seed)
    rig, pole = rigs.make_chain(4), rigs.make_empty("Pole")
    above = [rigs.make_empty(f"Above {i}") for i in range(3)]
    hand = rigs.make_empty("Hand")
    for child, parent in ((rig, above[0]), (above[0], above[1]), (hand, above[2])):
        child.parent = parent
        child.matrix_parent_inverse = Matrix.Rotation(draw.uniform(-2, 2), 4, "X")
    size = 10.0 ** draw.choice((-3, 0, 0, 3))
    for ob in (rig, pole, hand, *above):
        ob.rotation_mode = draw.choice(MODES)
        ob.delta_location = [size * draw.uniform(-1, 1) for _ in range(3)]
        ob.delta_rotation_euler = [draw.uniform(-1, 1) for _ in range(3)]
        ob.delta_scale = [draw.uniform(0.5, 1.5) for _ in range(3)]
        turn = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}.get(
            ob.rotation_mode, "rotation_euler"
        )
        for frame in (1, 10) if draw.random() < 0.8 else ():
            ob.location = [size * draw.choice((1, 1, 1e4)) * draw.uniform(-1, 1) for _ in range(3)]
            ob.scale = [draw.choice((-1, 1)) * draw.uniform(0.3, 2) for _ in range(3)]
            setattr(ob, turn, [draw.uniform(-2, 2) for _ in range(len(getattr(ob, turn)))])
            for channel in draw.sample(("location", "scale", turn), draw.randint(1, 3)):
                ob.keyframe_insert(channel, frame=frame)
    if not is_animated(rig):  # Else it is solved after a frame.
        rig.keyframe_insert("location", frame=1)
    rigs.add_constraint(rig, "B3", hand, pole_target=pole, use_rotation=True)
    rigs.watch(rig, "B3")
    update()
    for frame in (*FRAMES, 4.5, 2.25):
        evaluations.clear()
        rigs.go(frame)
        assert len(evaluations) == 1, frame
    update()
    for ob in (hand, above[1], rig):
        evaluations.clear()
        ob.location.x += 0.1 * size
        update()
        assert len(evaluations) == 1, ob.name


OBJECT_CONSTRAINTS = (
    "ARMATURE",
    "CHILD_OF",
    "COPY_LOCATION",
    "COPY_TRANSFORMS",
    "PIVOT",
    "TRACK_TO",
)


@pytest.mark.parametrize("role", ["target", "pole", "above", "rig"])
@pytest.mark.parametrize("kind", OBJECT_CONSTRAINTS)
def test_what_constraints_of_objects_decide_is_evaluated_once(
    evaluations: list[float], kind: str, role: str
) -> None:
    """Whatever they hang on, in any order of frames, as if it was read after the evaluation."""
    rig, lead, above = rigs.make_chain(4), rigs.make_chain(1, "Lead"), rigs.make_empty("Above")
    target, pole = rigs.make_empty("Target", (0.5, 0.3, 1.2)), rigs.make_empty("Pole", (0.5, 2, 1))
    target.parent, above.location = above, (0.1, 0.2, 0.3)
    con = {"target": target, "pole": pole, "above": above, "rig": rig}[role].constraints.new(kind)
    if kind == "ARMATURE":
        con.targets.new()
        con.targets[0].target, con.targets[0].subtarget = lead, "B0"
    else:
        con.target, con.subtarget, con.influence = lead, "B0", 0.7
    for frame, x in ((1, 0.1), (10, 0.6)):
        for ob in (lead, lead.pose.bones["B0"], rig):
            ob.location.x = x
            ob.keyframe_insert("location", frame=frame)
    rigs.add_constraint(rig, "B3", target, pole_target=pole)
    rigs.watch(rig, "B3")
    update()
    first = played(rig)
    evaluations.clear()
    assert played(rig) == first
    assert len(evaluations) == len(FRAMES)
    assert played_anew(rig) == first
    con.mute = True
    update()
    assert played(rig) != first or kind in ("PIVOT", "TRACK_TO")  # These turn it, at most.
    con.mute = False
    update()
    assert played(rig) == first


def constrained(kind: str) -> bpy.types.Object:
    """Make an arm below a bone that a constraint of Blender's moves, with a driven influence."""
    rig = rigs.make_armature(
        {
            "Root": ((0, 0, 0), (0, 0.5, 0), ""),
            "Source": ((1, 0, 0), (1, 0.2, 0.5), "Root"),
            "Hub": ((0, 0, 0.5), (0, 0.1, 1), "Root"),
            "Upper": ((0, 0.2, 1), (0, 0.3, 2), "Hub"),
            "Lower": ((0, 0.3, 2), (0, 0.2, 3), "Upper"),
        },
        "Rig",
    )
    bones = rig.pose.bones
    con = bones["Hub"].constraints.new(kind)
    if kind == "ARMATURE":
        for name in ("Source", "Root"):
            target = con.targets.new()
            target.target, target.subtarget = rig, name
    else:
        con.target, con.subtarget = rig, "Source"
    if kind == "LIMIT_DISTANCE":
        con.distance = 0.4
    bones["Root"]["amount"] = 0.8
    driver = con.driver_add("influence").driver
    variable = driver.variables.new()
    variable.name, variable.targets[0].id = "amount", rig
    variable.targets[0].data_path = 'pose.bones["Root"]["amount"]'
    driver.expression = "amount"
    rigs.key(bones["Source"], "location", {1: 0.0, 10: 0.5}, 0)
    target = rigs.make_empty("Target", (0.5, 0.5, 1.7))
    rigs.add_constraint(rig, "Lower", target, chain_count=2)
    return rig


CONSTRAINTS = (
    *("ARMATURE", "CHILD_OF", "COPY_TRANSFORMS", "DAMPED_TRACK", "LIMIT_DISTANCE", "LOCKED_TRACK"),
    *("STRETCH_TO", "TRACK_TO"),
)


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_where_constraints_decide_where_a_chain_begins_it_is_evaluated_once(
    evaluations: list[float], kind: str
) -> None:
    rig = constrained(kind)
    rigs.watch(rig, "Lower")
    update()
    first = played(rig)
    evaluations.clear()
    assert played(rig) == first
    rig.pose.bones["Source"].location.z = 0.1
    update()
    assert len(evaluations) == len(FRAMES) + 1
    assert rigs.tip_error(rig, "Lower", bpy.data.objects["Target"]) < 1e-5
    assert played_anew(rig) == first
    rig.pose.bones["Root"]["amount"] = 0.3
    rig.update_tag()
    update()
    other = played(rig)
    assert not set(other.values()) & set(first.values())
    assert played_anew(rig) == other


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_what_such_a_frame_showed_is_recognized_when_it_is_played_again(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Without computing the constraints. States and errors are those of the frame."""
    rig = constrained(kind)
    target = bpy.data.objects["Target"]
    for frame, z in ((1, 1.7), (9, 5.0)):
        target.location.z = z
        target.keyframe_insert("location", index=2, frame=frame)
    update()
    rigs.go(*FRAMES)

    def reports() -> dict[int, tuple[str, float]]:
        shown = {}
        for frame in FRAMES:
            rigs.go(frame)
            item = rig.fabrik.constraints[0]
            shown[frame] = item.state, item.error
        return shown

    computed: list[object] = []
    count(monkeypatch, "compute a constraint", lambda *_: computed.append(None))
    again = reports()
    assert {state for state, _ in again.values()} == {"REACHED", "OUT_OF_REACH"}
    assert not computed
    source = rigs.evaluated(rig).pose.bones["Source"]  # Nothing is tagged.
    source.path_resolve("scale", False).foreach_set((2.0, 2.0, 2.0))
    rigs.go(5)
    assert computed
    rig.update_tag()
    update()
    assert reports() == again


EDITS: dict[str, Callable[[bpy.types.Object, bpy.types.Constraint], None]] = {
    "an influence": lambda _rig, con: setattr(con, "influence", 0.4),
    "a setting": lambda _rig, con: setattr(con, "owner_space", "LOCAL_WITH_PARENT"),
    "a muted constraint": lambda _rig, con: setattr(con, "mute", True),
    "a target": lambda _rig, con: setattr(con, "subtarget", "Root"),
    "a rotation mode": lambda rig, _con: setattr(rig.pose.bones["Hub"], "rotation_mode", "XZY"),
    "the target's rotation mode": lambda rig, _con: setattr(
        rig.pose.bones["Source"], "rotation_mode", "ZYX"
    ),
    "a pose": lambda rig, _con: setattr(rig.pose.bones["Hub"], "location", (0.1, 0.0, 0.2)),
    "an object": lambda rig, _con: setattr(rig, "location", (0.0, 0.0, 0.2)),
}


@pytest.mark.parametrize("size", (1.0, 0.01))
@pytest.mark.parametrize(
    ("kind", "edit"),
    [
        *product(("COPY_ROTATION", "COPY_TRANSFORMS", "DAMPED_TRACK"), EDITS),
        ("CHILD_OF", "the target's rotation mode"),
    ],
)
def test_while_bones_are_posed_constraints_are_as_if_they_were_read(
    evaluations: list[float], monkeypatch: pytest.MonkeyPatch, kind: str, edit: str, size: float
) -> None:
    """Also where Blender's evaluation differs by less than rounding may."""
    rig = constrained(kind)
    con, source = rig.pose.bones["Hub"].constraints[0], rig.pose.bones["Source"]
    con.driver_remove("influence")
    if kind == "CHILD_OF":  # Then it splits the rotation of its target into angles.
        con.use_rotation_x = False
    source.rotation_mode = "YXZ"
    rigs.watch(rig, "Lower")
    update()
    seen: list[bytes] = []

    def pose(amount: float) -> None:
        source.location.y = amount
        source.rotation_euler = (size * amount, 2.0 * size * amount, 3.0 * size * amount)
        update()
        seen.append(rigs.pose_bits(rig))

    pose(0.1)
    pose(0.2)
    read: list[object] = []
    count(monkeypatch, "read constraints", lambda *_: read.append(None))
    evaluations.clear()
    pose(0.3)
    assert len(evaluations) == 1 and not read
    EDITS[edit](rig, con)
    pose(0.4)
    pose(0.5)
    missed = rigs.tip_error(rig, "Lower", bpy.data.objects["Target"])
    item = rig.fabrik.constraints[0]  # Out of reach where 4.2 puts a child of such a target.
    assert abs(missed - item.error) < 1e-5 and (item.state == "REACHED") == (missed < 1e-5)
    for amount, bits in ((0.5, seen[-1]), (0.4, seen[-2])):
        forget()
        pose(amount)
        assert seen[-1] == bits


def test_while_bones_are_posed_settings_are_read_only_if_one_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = constrained("COPY_TRANSFORMS")
    update()
    read: list[object] = []
    count(monkeypatch, "read all settings", lambda *_: read.append(None))
    counts, seen = [], []
    for amount, influence in ((0.1, 1.0), (0.2, 1.0), (0.3, 0.5), (0.4, 0.5)):
        if influence != rig.fabrik.constraints[0].influence:
            rig.fabrik.constraints[0].influence = influence
        rig.pose.bones["Source"].location.y = amount
        read.clear()
        update()
        counts.append(len(read))
        seen.append(rigs.pose_bits(rig))
    assert counts == [1, 0, 1, 0]
    forget()
    update()
    assert rigs.pose_bits(rig) == seen[-1]


@pytest.mark.parametrize("amount", (0.0, 0.3))
def test_a_property_that_drives_a_constraint_is_set_by_a_script_before_a_frame(
    amount: float,
) -> None:
    """Blender isn't told of it, and looks at it once it copies the armature."""
    rig = constrained("COPY_TRANSFORMS")
    update()
    before = played(rig)
    rig.pose.bones["Root"]["amount"] = amount
    rigs.go(3)
    rig.update_tag()
    rigs.go(4)
    shown = {frame: rigs.pose_bits(rig) for frame in (4, 5, 6) if not rigs.go(frame)}
    assert not set(shown.values()) & set(before.values())
    anew = played_anew(rig)
    assert shown == {frame: anew[frame] for frame in shown}
    rig.pose.bones["Root"]["amount"] = 0.8
    rig.update_tag()
    assert played(rig) == before


def test_a_property_set_without_notice_counts_once_a_written_pose_has_the_armature_copied() -> None:
    rig, target = constrained("COPY_TRANSFORMS"), bpy.data.objects["Target"]
    rig.animation_data.action = None
    rigs.key(target, "location", {1: (0.5, 0.5, 1.7), 10: (0.8, 0.2, 1.5)})
    update()
    before = played(rig)
    rigs.go(2)
    rig.pose.bones["Root"]["amount"] = 0.3
    for frame in (3, 4):
        rigs.go(frame)
    shown = rigs.pose_bits(rig)
    assert shown != before[4]
    assert shown == played_anew(rig)[4]


def test_a_property_that_drives_a_constraint_is_read_again_where_it_may_have_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig, read = constrained("COPY_TRANSFORMS"), list[object]()
    bone = rig.pose.bones["Root"]
    update()
    rigs.go(2)
    count(monkeypatch, "read what drives", lambda _, paths: read.append(paths))
    for frame in (3, 4, 3):
        rigs.go(frame)
    assert read == []
    bone["amount"] = 0.3
    rig.update_tag()
    rigs.go(5)
    assert len(read) == 1
    bone.keyframe_insert('["amount"]', frame=5)
    update()
    read.clear()
    for frame in (6, 7):
        rigs.go(frame)
    assert len(read) == 2


def test_a_setting_that_is_driven_by_something_animated_is_as_blender_evaluates_it(
    evaluations: list[float],
) -> None:
    rig = constrained("COPY_TRANSFORMS")
    for frame, amount in ((1, 0.0), (10, 1.0)):
        rig.pose.bones["Root"]["amount"] = amount
        rig.pose.bones["Root"].keyframe_insert('["amount"]', frame=frame)
    update()
    first = played(rig)
    for frame in random.Random(3).sample(FRAMES, len(FRAMES)):
        rigs.go(frame)
        assert rigs.pose_bits(rig) == first[frame]
        assert rigs.tip_error(rig, "Lower", bpy.data.objects["Target"]) < 1e-5
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    with witnessed() as seen:
        bpy.ops.render.render(animation=True)
    shown = {}
    for frame in FRAMES:
        rigs.go(frame)
        shown[frame] = bones_of(bpy.context.evaluated_depsgraph_get())
    assert seen == shown


def test_an_animated_property_that_drives_a_setting_of_ours_is_compared_at_each_frame() -> None:
    """The setting itself is read again only if that has changed."""
    rig, scene = constrained("COPY_TRANSFORMS"), bpy.context.scene
    rigs.drive(rig.fabrik.constraints[0].driver_add("influence"), rig, '["weight"]')
    for frame, weight in ((1, 0.3), (4, 0.3), (6, 1.0), (10, 1.0)):
        rig["weight"] = weight
        rig.keyframe_insert('["weight"]', frame=frame)
    update()
    first = played(rig)
    assert first == played_anew(rig)
    for rendered, shown in ((8, 3), (2, 7)):
        rigs.go(shown)
        scene.frame_start = scene.frame_end = rendered
        with witnessed():
            bpy.ops.render.render(animation=True)
        for frame in (shown, shown + 1, 11 - shown):
            rigs.go(frame)
            assert rigs.pose_bits(rig) == first[frame]


def is_animated(ob: bpy.types.Object) -> bool:
    return ob.animation_data is not None and ob.animation_data.action is not None
