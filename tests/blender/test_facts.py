"""What the design takes for granted about Blender, one test a fact.

If a new version of Blender fails one of them, check what relies on that fact, even if all other
tests pass.
"""

import os
import random
import subprocess
import sys
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from math import cos, pi, sin
from pathlib import Path
from typing import Any

import addon_utils
import bpy
import pytest
import rigs
from bpy.app.handlers import persistent
from inside import PLACES, value_from_curve
from kept_files import reopen
from mathutils import Euler, Matrix, Quaternion, Vector
from operating import select_bone
from rendering import rendered

from addon.blender import animation, dependency_driver, keying, turns, updates
from addon.blender.access import is_there
from addon.blender.rotation import AXIS_ANGLE, EULER_ORDERS, QUATERNION
from addon.blender.skeleton import Skeleton, matrix3, vector
from addon.features.bake.options import FARTHEST
from addon.features.convert.counterpart import STIFFEST
from fabrik_solver import Local, bone_frame


def one_bone() -> tuple[Any, Any]:
    rig = rigs.make_chain(1)
    return rig, rig.pose.bones["B0"]


INHERIT_SCALE = ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY")


@contextmanager
def calling(*names: str, then: Callable[..., None] | None = None) -> Iterator[list[str]]:
    """Note when Blender calls handlers of these kinds."""
    calls: list[str] = []
    handlers = []
    for name in names:

        def handler(_scene: object, depsgraph: bpy.types.Depsgraph, name: str = name) -> None:
            calls.append(name)
            if then:
                then(depsgraph)

        getattr(bpy.app.handlers, name).append(handler)
        handlers.append((name, handler))
    try:
        yield calls
    finally:
        for name, handler in handlers:
            getattr(bpy.app.handlers, name).remove(handler)


@pytest.mark.parametrize(
    "scale, rotation, location", list(product(INHERIT_SCALE, (True, False), (True, False)))
)
def test_bones_stand_where_convert_local_to_pose_says(
    scale: str, rotation: bool, location: bool
) -> None:
    rng = random.Random(f"{scale} {rotation} {location}")
    rig = rigs.make_chain(2)
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in rig.data.edit_bones:
        bone.use_connect = False
        bone.roll = rng.uniform(-3, 3)
        bone.tail += Vector([rng.uniform(-0.5, 0.5) for _ in range(3)])
        bone.head += Vector([rng.uniform(-0.5, 0.5) for _ in range(3)])
    bpy.ops.object.mode_set(mode="OBJECT")
    parent, child = rig.data.bones
    child.inherit_scale = scale
    child.use_inherit_rotation, child.use_local_location = rotation, location
    skeleton = Skeleton(rig)
    for i in range(20):
        sheared = Matrix(
            [[rng.uniform(-1, 1) for _ in range(4)] for _ in range(3)] + [[0, 0, 0, 1]]
        )
        if i % 2:  # And such as uneven scales of one or two bones give.
            turn = Quaternion([rng.gauss(0, 1) for _ in range(4)]).normalized().to_matrix()
            sizes = Matrix.Diagonal([rng.uniform(0.5, 2) for _ in range(3)])
            sheared = (turn @ sizes @ turn.inverted() @ sizes).to_4x4()
        if abs(sheared.determinant()) < 0.05:
            continue
        turned = Quaternion([rng.gauss(0, 1) for _ in range(4)]).normalized()
        moved = Vector([rng.uniform(-1, 1) for _ in range(3)])
        size = Vector([rng.choice((-1, 1, 1)) * rng.uniform(0.5, 2) for _ in range(3)])
        expected = child.convert_local_to_pose(
            Matrix.LocRotScale(moved, turned, size),
            child.matrix_local,
            parent_matrix=sheared,
            parent_matrix_local=parent.matrix_local,
        )
        axes, head = bone_frame(
            skeleton.bone(1),
            Local(tuple(moved), tuple(turned), tuple(size)),
            (matrix3(sheared), vector(sheared.translation)),
        )
        unit = max(abs(x) for row in expected for x in row)
        for ours, theirs in ((axes, matrix3(expected)), (head, vector(expected.translation))):
            for a, b in zip(ours, theirs, strict=True):
                assert abs(a - b) <= 1e-5 * unit


def test_rotation_modes_are_numbered_as_we_think() -> None:
    rig = rigs.make_chain(1)
    numbers = {"QUATERNION": QUATERNION, "AXIS_ANGLE": AXIS_ANGLE}
    numbers.update({order: 1 + i for i, order in enumerate(EULER_ORDERS)})
    known = rig.pose.bones[0].bl_rna.properties["rotation_mode"].enum_items.keys()
    assert set(known) == set(numbers)
    for name, number in numbers.items():
        rig.pose.bones[0].rotation_mode = name
        buffer = array("i", [99])
        rig.pose.bones.foreach_get("rotation_mode", buffer)
        assert buffer[0] == number


def test_conversions_of_rotations_lose_digits_next_to_their_poles() -> None:
    """If this fails, Blender's own are exact, and `channel_values` may use them."""
    wrong = []
    for i in range(40):
        turned = Euler((0.3, pi / 2 - 1e-3 / (1 + i), -0.4)).to_quaternion()
        wrong.append(2.0 * (turned.to_euler().to_quaternion() - turned).magnitude)
    assert 1e-4 < max(wrong) < 0.1
    halves = [1e-4 * (1 + i) for i in range(40)]
    found = [Quaternion((cos(half), sin(half), 0.0, 0.0)).to_axis_angle()[1] for half in halves]
    assert 1e-5 < max(abs(a - 2.0 * b) for a, b in zip(found, halves, strict=True)) < 1e-3


def test_matrices_arrive_column_by_column() -> None:
    rig = rigs.make_chain(1)
    rigs.update()
    bones = rigs.evaluated(rig).pose.bones
    buffer = array("f", [0.0]) * 16
    bones.foreach_get("matrix", buffer)
    assert list(buffer) == [x for column in bones[0].matrix.col for x in column]


def test_the_location_of_a_connected_bone_is_ignored() -> None:
    rig = rigs.make_chain(2)
    rigs.update()
    before = rigs.evaluated(rig).pose.bones["B1"].matrix.copy()
    rig.pose.bones["B1"].location = (1, 2, 3)
    rigs.update()
    assert rigs.evaluated(rig).pose.bones["B1"].matrix == before
    rig.data.bones["B1"].id_data.update_tag()
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones["B1"].use_connect = False
    bpy.ops.object.mode_set(mode="OBJECT")
    rigs.update()
    assert rigs.evaluated(rig).pose.bones["B1"].matrix != before


@pytest.mark.parametrize("name", ["frame_change_post", "depsgraph_update_post"])
def test_what_a_handler_writes_is_evaluated_in_the_same_update_without_another_call(
    name: str,
) -> None:
    rig = rigs.make_chain(2)
    rigs.update()

    def write(_depsgraph: bpy.types.Depsgraph) -> None:
        rig.pose.bones["B0"].rotation_quaternion = (0.6, 0.8, 0, 0)

    other = {"frame_change_post", "depsgraph_update_post"} - {name}
    with calling(name, then=write) as calls, calling(*other) as other_calls:
        if name == "frame_change_post":
            rigs.go(5)
        else:
            rig.location.x = 1
            rigs.update()
    assert calls == [name]
    assert other_calls == []
    assert rigs.evaluated(rig).pose.bones["B0"].tail.y == pytest.approx(
        -0.96 + 0.2 * -0.28, abs=1e-5
    )


def test_keyed_values_are_in_the_file_before_the_frame_handlers_run() -> None:
    _rig, bone = one_bone()
    for frame, value in ((1, 0.0), (11, 1.0)):
        bone.location.x = value
        bone.keyframe_insert("location", index=0, frame=frame)
    found: list[float] = []
    with calling("frame_change_post", then=lambda _: found.append(bone.location.x)):
        rigs.go(6)
    assert found == pytest.approx([0.5])


TURNED = array("f", (0.6, 0.8, 0, 0))


def write_nothing(rig: bpy.types.Object) -> None:
    pass


def write_property(rig: bpy.types.Object) -> None:
    rig.pose.bones["B0"].rotation_quaternion = TURNED


def write_in_bulk(rig: bpy.types.Object) -> None:
    numbers = array("f", [0.0]) * (4 * len(rig.pose.bones))
    rig.pose.bones.foreach_get("rotation_quaternion", numbers)
    rig.pose.bones.foreach_set("rotation_quaternion", TURNED + numbers[4:])


def write_quietly(rig: bpy.types.Object) -> None:
    rig.pose.bones["B0"].path_resolve("rotation_quaternion", False).foreach_set(TURNED)


@pytest.mark.parametrize(
    "write, is_noticed",
    [
        (write_nothing, False),
        (write_property, True),
        (write_in_bulk, bpy.app.version >= (4, 3)),  # Not in 4.2, but in 4.5.
        (write_quietly, False),
    ],
)
def test_a_handler_that_writes_a_bone_in_a_render_loses_the_curves_of_the_whole_object(
    write: Callable[[bpy.types.Object], None], is_noticed: bool
) -> None:
    """An array that is set in one bone is not noticed, nor are arrays of all bones up to 4.2.

    What is noticed is copied again, but after setting arrays not evaluated.
    """
    rig = rigs.make_chain(2)
    for frame, value in ((1, 0.0), (11, 10.0)):
        rig.location.x = rig["custom"] = rig.pose.bones["B1"].location.x = value
        rig.keyframe_insert("location", index=0, frame=frame)
        rig.keyframe_insert('["custom"]', frame=frame)
        rig.pose.bones["B1"].keyframe_insert("location", index=0, frame=frame)
    rigs.go(1)

    def write_in_render(depsgraph: bpy.types.Depsgraph) -> None:
        if depsgraph.mode == "RENDER":
            write(rig)

    def look(depsgraph: bpy.types.Depsgraph) -> tuple[list[float], bool, float]:
        rig = depsgraph.objects["Rig"]
        keyed = [rig.location.x, rig["custom"], rig.pose.bones["B1"].location.x]
        bone = rig.pose.bones["B0"]
        return keyed, bone.rotation_quaternion[:] == tuple(TURNED), bone.tail.y

    with calling("frame_change_post", then=write_in_render):
        keyed, is_copied, tail = rendered(6, 6, look=look)[6]
    # Where all should be 5, what the viewport has at its frame is rendered.
    assert keyed == pytest.approx([0.0 if is_noticed else 5.0] * 3)
    assert is_copied == is_noticed
    assert (tail < -0.5) == (write is write_property)


def test_only_a_property_of_a_bone_can_be_set_in_bulk_in_linked_armatures(tmp_path: Path) -> None:
    rig = rigs.make_chain(2)
    file = str(tmp_path / "library.blend")
    bpy.data.libraries.write(file, {rig})
    bpy.data.objects.remove(rig)
    with bpy.data.libraries.load(file, link=True) as (_, linked):
        linked.objects = ["Rig"]
    rig = rigs.link(linked.objects[0])
    write_in_bulk(rig)
    assert rig.pose.bones["B0"].rotation_quaternion[:] == (1, 0, 0, 0)
    write_quietly(rig)
    assert rig.pose.bones["B0"].rotation_quaternion[:] == tuple(TURNED)


def test_a_saved_file_forgets_parents_that_only_linked_objects_have_brought(tmp_path: Path) -> None:
    """Random users name none for it."""
    parent(rigs.make_empty("Child"), rigs.make_empty("Parent"))
    library, file = str(tmp_path / "library.blend"), str(tmp_path / "file.blend")
    bpy.ops.wm.save_as_mainfile(filepath=library)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(library, link=True) as (_, linked):
        linked.objects = ["Child"]
    child = rigs.link(linked.objects[0])
    parent(rigs.make_empty("On Child"), child)
    parent(rigs.make_empty("On Parent"), child.parent)
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.open_mainfile(filepath=file)
    found = bpy.data.objects
    assert not found["Child"].is_library_indirect and found["Parent"].is_library_indirect
    assert found["On Child"].parent == found["Child"]
    assert found["Child"].parent == found["Parent"]
    assert found["On Parent"].parent is None


def test_before_an_update_it_is_told_what_is_tagged() -> None:
    """Also what was removed since: its name is safe, but to ask for its original crashes."""
    rig, empty = rigs.make_chain(1), rigs.make_empty()
    rigs.make_empty("Removed")
    rigs.update()
    found: list[set[str]] = []

    def look(_none: object) -> None:
        found.append({item.id.name for item in bpy.context.view_layer.depsgraph.updates})

    with calling("depsgraph_update_pre", then=look):
        empty.location.x = 3
        rigs.update()
        rig.pose.bones["B0"].location.x = 1
        rigs.update()
        removed = bpy.data.objects["Removed"]
        removed.location.x = 1
        bpy.data.objects.remove(removed)
        rigs.update()
    assert found[:2] == [{"Target"}, {"Rig"}]
    assert "Removed" in found[2]


def test_an_update_in_a_handler_calls_others_again_and_ends_what_is_told_of_the_first() -> None:
    """It calls none while the lists are empty.

    Where the first has made new relations, 4.2 and 4.5 crash later unless the scene is tagged too.
    """
    rig = rigs.make_chain(1)
    rigs.update()
    told: list[tuple[int, bool, int]] = []
    lists = bpy.app.handlers.depsgraph_update_pre, bpy.app.handlers.depsgraph_update_post
    is_alone = False

    def nest(depsgraph: bpy.types.Depsgraph) -> None:
        if len(calls) > 1:
            return
        before = len(depsgraph.updates)
        kept = [one[:] for one in lists]
        for one in lists if is_alone else ():
            one.clear()
        rig.update_tag()
        depsgraph.update()
        for one, handlers in zip(lists, kept, strict=True):
            one[:] = handlers
        told.append((before, depsgraph.id_type_updated("OBJECT"), len(depsgraph.updates)))

    for is_alone in (False, True):
        with calling("depsgraph_update_post", then=nest) as calls:
            rig.location.x += 1
            rigs.update()
        assert len(calls) == (1 if is_alone else 2)
    assert all(before and not updated and not after for before, updated, after in told)


@pytest.mark.parametrize("is_frame_set", [False, True])
def test_an_update_in_a_handler_plays_the_animation_where_a_script_has_set_the_frame(
    is_frame_set: bool,
) -> None:
    """So it does after undo."""
    rig, bone = one_bone()
    for frame, value in ((1, 0.0), (11, 1.0)):
        bone.location.x = value
        bone.keyframe_insert("location", index=0, frame=frame)
    rigs.go(1)

    def nest(depsgraph: bpy.types.Depsgraph) -> None:
        if len(calls) == 1:
            bone.location.x = 7.0
            depsgraph.update()

    with calling("depsgraph_update_post", then=nest) as calls:
        if is_frame_set:
            bpy.context.scene.frame_current = 6
        else:
            rig.location.x = 1
        rigs.update()
    shown = rigs.evaluated(rig).pose.bones["B0"].location.x
    assert shown == pytest.approx(0.5 if is_frame_set else 7.0)


def test_a_keyed_rotation_mode_converts_what_the_channels_hold() -> None:
    _rig, bone = one_bone()
    rigs.key(bone, "rotation_mode", {11: "QUATERNION", 1: "XYZ"})
    rigs.go(1)
    bone.rotation_euler.x = 2.0
    rigs.go(11)
    assert bone.rotation_quaternion[:] == pytest.approx(tuple(Euler((2, 0, 0)).to_quaternion()))


def test_keyed_rotation_modes_make_a_pose_depend_on_the_frame_before_since_4_4() -> None:
    bone = rigs.make_armature({"Hips": ((0, 0, 0), (0, 0, 1), "")}, "Rig").pose.bones[0]
    for frame, mode, name in ((1, "QUATERNION", "quaternion"), (10, "XYZ", "euler")):
        bone.rotation_mode = mode
        values = getattr(bone, f"rotation_{name}")
        values[:] = (0.7, 0.2, 0.4, -0.3)[: len(values)]
        for path in ("rotation_mode", f"rotation_{name}"):
            bone.keyframe_insert(path, frame=frame)
    held = set()
    for frame in (11, 7, 1, 7):
        rigs.go(frame)
        held |= {bone.rotation_quaternion[:]} if frame == 7 else set()
    assert len(held) == (2 if bpy.app.version >= (4, 4) else 1)


def test_a_driver_has_a_target_evaluated_that_a_pointer_alone_has_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = rigs.make_chain(3)
    target = bpy.data.objects.new("In no scene", None)
    for frame, value in ((1, 0.0), (11, 10.0)):
        target.location.x = value
        target.keyframe_insert("location", index=0, frame=frame)
    rigs.add_constraint(rig, "B2", target)
    rigs.go(6)
    assert rigs.evaluated(target).matrix_world.translation.x == pytest.approx(5.0)
    monkeypatch.setattr(*PLACES["declare"], lambda _armatures: set())
    rig.driver_remove(dependency_driver.PATH)
    rigs.go(11)
    assert rigs.evaluated(target).matrix_world.translation.x != pytest.approx(10.0)


def parent(a: bpy.types.Object, b: bpy.types.Object) -> None:
    a.parent = b


def constrain(a: bpy.types.Object, b: bpy.types.Object) -> None:
    a.constraints.new("COPY_LOCATION").target = b


def constrain_bone(a: bpy.types.Object, b: bpy.types.Object) -> None:
    b.pose.bones["B2"].constraints.new("COPY_ROTATION").target = a


def unlink(a: bpy.types.Object, b: bpy.types.Object) -> None:
    bpy.context.scene.collection.objects.unlink(a)


def remove(a: bpy.types.Object, b: bpy.types.Object) -> None:
    bpy.data.objects.remove(a)


def select(a: bpy.types.Object, b: bpy.types.Object) -> None:
    a.select_set(not a.select_get())


def hide(a: bpy.types.Object, b: bpy.types.Object) -> None:
    a.hide_set(True)


def move_cursor(a: bpy.types.Object, b: bpy.types.Object) -> None:
    bpy.context.scene.cursor.location.x += 1


def updated_by(change: Callable[[bpy.types.Object, bpy.types.Object], None]) -> list[list[bool]]:
    """Return whether an update updates the scene, and the shading of the armature."""
    rig, empty = rigs.make_chain(3), rigs.make_empty()
    rigs.update()
    found: list[list[bool]] = []

    def note(depsgraph: bpy.types.Depsgraph) -> None:
        shaded = [u.id.original for u in depsgraph.updates if u.is_updated_shading]
        found.append([depsgraph.id_type_updated("SCENE"), rig in shaded])

    with calling("depsgraph_update_post", then=note):
        empty.location.x = 3
        rigs.update()
        change(empty, rig)
        rigs.update()
    return found


@pytest.mark.parametrize("change", [parent, constrain, constrain_bone, unlink, remove])
def test_new_relations_update_the_scene_and_the_shading_of_all(
    change: Callable[[bpy.types.Object, bpy.types.Object], None],
) -> None:
    assert updated_by(change) == [[False, False], [True, True]]


@pytest.mark.parametrize("change", [select, hide, move_cursor])
def test_what_changes_no_relations_updates_the_scene_alone(
    change: Callable[[bpy.types.Object, bpy.types.Object], None],
) -> None:
    assert updated_by(change) == [[False, False], [True, False]]


@pytest.mark.parametrize("name", ("mute", "enabled", "influence"))
def test_only_an_edited_constraint_of_a_bone_moves_the_object(name: str) -> None:
    """By this it is known when constraints need not be asked whether they act."""
    rig = rigs.make_chain()
    con: Any = rig.pose.bones["B1"].constraints.new("LIMIT_SCALE")
    rigs.update()
    moved: list[bool] = []
    ahead: list[bool] = []

    def look(depsgraph: bpy.types.Depsgraph) -> None:
        updates: Any = depsgraph.updates
        moved.extend(one.is_updated_transform for one in updates if one.id.original == rig)

    def look_ahead(_none: object) -> None:
        ahead.append("Rig" in updates.moved_in([bpy.context.view_layer.depsgraph]))

    with (
        calling("depsgraph_update_pre", then=look_ahead),
        calling("depsgraph_update_post", then=look),
    ):
        rig.pose.bones["B1"].location.x = 1.0
        rigs.update()
        setattr(con, name, 0.5 if name == "influence" else not getattr(con, name))
        rigs.update()

    assert moved == ahead == [False, True]


def test_a_renamed_bone_has_its_armature_tagged() -> None:
    """By this it is known when names need not be looked at."""
    rig = rigs.make_chain()
    rigs.update()
    rig.pose.bones["B1"].name = "Other"
    tagged: list[str] = []
    graph: Any = bpy.context.view_layer.depsgraph
    tagged += [one.id.name for one in graph.updates]
    rigs.update()

    assert rig.data.name in tagged


def test_setting_a_property_without_an_update_function_updates_nothing() -> None:
    rig = rigs.make_chain(3)
    item = rigs.add_constraint(rig, "B2", rigs.make_empty())
    rigs.update()
    with calling("depsgraph_update_post") as calls:
        item.error, item.message, item.iterations_used = 5.0, "said", 7
        rigs.update()
        assert calls == []
        item.influence = 0.5  # This one has one.
        rigs.update()
        assert calls == ["depsgraph_update_post"]


def test_a_frame_change_updates_each_view_layer_that_is_evaluated() -> None:
    """Only the shown one in a window; the others when they are asked for."""
    second = bpy.context.scene.view_layers.new("Second")
    rigs.make_chain(1)
    second.update()
    layers: list[str] = []
    with calling("frame_change_post", then=lambda d: layers.append(d.view_layer.name)):
        rigs.go(5)
    assert sorted(layers) == ["Second", "ViewLayer"]


def test_the_first_update_of_a_view_layer_calls_no_handler() -> None:
    """So what a script switches to shows the FK pose until the next edit or frame.

    Windows have it solved as soon as they draw it.
    """
    rig = rigs.make_chain(1)
    rigs.update()
    second = bpy.context.scene.view_layers.new("Second")
    with calling("depsgraph_update_pre", "depsgraph_update_post") as calls:
        second.update()
        assert calls == []
        rig.update_tag()
        second.update()
        assert calls == ["depsgraph_update_pre", "depsgraph_update_post"]


def test_selecting_a_bone_copies_the_pose_of_the_view_layer_that_was_evaluated_last() -> None:
    """The copy is not evaluated: its channels and its matrices can disagree."""
    rig = rigs.make_chain(1)
    rigs.update()
    bone = rig.pose.bones[0]
    channel = bone.path_resolve("rotation_quaternion", False)
    at_rest = bone.matrix.copy()
    second = bpy.context.scene.view_layers.new("Second")
    channel.foreach_set(array("f", (0.0, 1.0, 0.0, 0.0)))  # It tags nothing.
    second.update()
    channel.foreach_set(array("f", (1.0, 0.0, 0.0, 0.0)))
    rigs.update()
    assert rigs.evaluated(rig).pose.bones[0].matrix == at_rest != bone.matrix

    select_bone(rig, bone.name)
    rigs.update()

    assert rigs.evaluated(rig).pose.bones[0].matrix == bone.matrix != at_rest
    assert rigs.evaluated(rig).pose.bones[0].rotation_quaternion == bone.rotation_quaternion


def test_a_script_has_to_tag_an_object_that_it_keys_first_over_strips_of_the_nla(
    tmp_path: Path,
) -> None:
    """Without, Blender plays the strips alone, and only a loaded file plays the new action."""
    rig, bone = one_bone()
    rig.keyframe_insert("location", frame=1)
    rigs.as_strip(rig)
    rigs.go(1)
    bone.keyframe_insert("rotation_quaternion", frame=1)
    for curve in animation.all_active_curves(rig)[:2]:
        curve.keyframe_points[0].co.y = 0.5
        curve.update()

    rigs.go(2)
    assert bone.rotation_quaternion[:] == (1.0, 0.0, 0.0, 0.0)
    path = str(tmp_path / "strips.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
    rig.update_tag(refresh={"OBJECT", "DATA", "TIME"})
    rigs.go(3)
    assert bone.rotation_quaternion[:] == (0.5, 0.5, 0.0, 0.0)
    bpy.ops.wm.open_mainfile(filepath=path)
    rigs.go(3)
    rig = bpy.data.objects["Rig"]
    assert rig.pose.bones["B0"].rotation_quaternion[:] == (0.5, 0.5, 0.0, 0.0)


BONE_0 = 'pose.bones["B0"]'


def key_ramp(bone: bpy.types.PoseBone, index: int = 0) -> None:
    """Key a location that goes from 0 at frame 1 to 10 at frame 11, nearly straight."""
    for frame, value in ((1, 0.0), (11, 10.0)):
        bone.location[index] = value
        bone.keyframe_insert("location", index=index, frame=frame)


def tagged_now() -> set[str]:
    """Return the names of what the next update will evaluate, as far as it is known."""
    return {item.id.name for item in bpy.context.view_layer.depsgraph.updates}


@pytest.mark.parametrize("name", ["frame_change_pre", "depsgraph_update_pre"])
def test_what_is_written_and_tagged_ahead_is_evaluated_and_f_curves_overwrite_it(
    name: str,
) -> None:
    """Without the tag a frame change does not copy what an array was set to."""
    rig = rigs.make_chain(2)
    bone = rig.pose.bones["B0"]
    key_ramp(bone)
    is_frame = name == "frame_change_pre"
    found: list[tuple[int, float]] = []
    is_tagged = False

    def write(_none: object) -> None:
        found.append((bpy.context.scene.frame_current, bone.location.x))
        write_quietly(rig)
        bone.path_resolve("location", False).foreach_set(array("f", (7, 0, 0)))
        if is_tagged:
            rig.update_tag(refresh={"OBJECT"})

    for is_tagged in (False, True):
        rigs.go(1)
        found.clear()
        with calling(name, then=write):
            if is_frame:
                rigs.go(6)
            else:
                rig.location.x += 1.0
                rigs.update()
        # The frame is the new one already, and the channels are those of the one before.
        assert found == [(6 if is_frame else 1, 0.0)]
        shown = rigs.evaluated(rig).pose.bones["B0"]
        is_copied = is_tagged or not is_frame
        assert (shown.rotation_quaternion[:] == tuple(TURNED)) == is_copied
        assert (shown.tail.z < 0.5) == is_copied
        assert shown.location.x == pytest.approx(5.0 if is_frame else 7.0)


def key_object(rig: Any) -> None:
    key_ramp(rig)


def key_other_bone(rig: Any) -> None:
    key_ramp(rig.pose.bones["B1"])


def key_muted_bone(rig: Any) -> None:
    """Muted in the evaluated action, as for a solution written ahead."""
    key_other_bone(rig)
    rigs.go(1)
    copy = animation.active_lists(rigs.evaluated(rig))[0]
    copy.foreach_set("mute", [True] * len(copy))


def key_property(rig: Any) -> None:
    rig["amount"] = 0.0
    for frame in (1, 11):
        rig["amount"] = frame * 1.0
        rig.keyframe_insert('["amount"]', frame=frame)


@pytest.mark.parametrize(
    ("key", "is_evaluated"),
    ((key_object, True), (key_other_bone, True), (key_muted_bone, True), (key_property, False)),
)
def test_what_is_written_into_the_copy_is_evaluated_where_animation_moves_the_pose(
    key: Callable[[Any], None], is_evaluated: bool
) -> None:
    """It tags nothing, and the original keeps its channels."""
    rig = rigs.make_chain(2)
    key(rig)
    rigs.go(1)
    tagged: list[list[str]] = []

    def write(depsgraph: bpy.types.Depsgraph) -> None:
        bone = rigs.evaluated(rig).pose.bones["B0"]
        bone.path_resolve("rotation_quaternion", False).foreach_set(array("f", TURNED))
        tagged.append([block.id.name for block in bpy.context.view_layer.depsgraph.updates])

    with calling("frame_change_pre", then=write):
        rigs.go(6)
    assert tagged == [[]]
    shown = rigs.evaluated(rig).pose.bones["B0"]
    assert shown.rotation_quaternion[:] == tuple(TURNED)
    assert (shown.tail.z < 0.5) == is_evaluated
    assert rig.pose.bones["B0"].rotation_quaternion[:] == (1.0, 0.0, 0.0, 0.0)
    rig.update_tag(refresh={"OBJECT"})
    rigs.update()
    assert rigs.evaluated(rig).pose.bones["B0"].rotation_quaternion[:] == (1.0, 0.0, 0.0, 0.0)


def test_f_curves_muted_in_the_evaluated_action_leave_what_was_written_ahead() -> None:
    """The original action stays as it is; its next edit copies it anew, without the mutes."""
    rig = rigs.make_chain(2)
    bone = rig.pose.bones["B0"]
    key_ramp(bone)
    key_ramp(rig.pose.bones["B1"])
    rigs.go(1)

    def flags(ob: bpy.types.Object) -> list[bool]:
        return animation.mute_flags(animation.active_lists(ob)[0])

    def write(_none: object) -> None:
        copy = animation.active_lists(rigs.evaluated(rig))[0]
        copy.foreach_set("mute", [curve.data_path.startswith(BONE_0) for curve in copy])
        bone.location.x = 7.0
        rig.update_tag(refresh={"OBJECT"})

    with calling("frame_change_pre", then=write):
        rigs.go(6)
    shown = rigs.evaluated(rig).pose.bones
    assert (shown["B0"].location.x, bone.location.x) == (7.0, 7.0)
    assert shown["B1"].location.x == rig.pose.bones["B1"].location.x == pytest.approx(5.0)
    assert (flags(rig), flags(rigs.evaluated(rig))) == ([False, False], [True, False])

    rigs.go(7)
    assert bone.location.x == 7.0
    rig.pose.bones["B1"].keyframe_insert("location", index=0)
    rigs.go(6)
    assert bone.location.x == pytest.approx(5.0)
    assert flags(rigs.evaluated(rig)) == [False, False]


def test_users_are_data_blocks_for_a_slot_and_uses_for_an_action() -> None:
    """A constraint within the object that uses both, or another slot, is one more of the latter."""
    rig = rigs.make_chain(2)
    key_ramp(rig.pose.bones["B0"])
    data = rig.animation_data
    assert data.action.users == 1
    con = rig.pose.bones["B0"].constraints.new("ACTION")
    con.action = data.action
    assert data.action.users == 2
    if animation.HAS_LAYERS:
        con.action_slot = data.action_slot
        assert list(data.action_slot.users()) == [rig]
        assert con.action_slot_handle == data.action_slot_handle
        con.action_slot = data.action.slots.new("OBJECT", "Other")
        assert con.action_slot_handle != data.action_slot_handle


def test_f_curves_tell_ahead_what_a_frame_gives_to_the_last_bit() -> None:
    """With the time of the scene stretched as well: the frame that counts is the final one."""
    rig, bone = one_bone()
    for frame, value in ((1, 0.1), (4, 3.3), (11, -0.7)):
        bone.location.x = value
        bone.keyframe_insert("location", index=0, frame=frame)
    curve = animation.all_active_curves(rig)[0]
    for old in (100, 130):
        bpy.context.scene.render.frame_map_old = old
        for frame in (1.0, 2.0, 3.25, 5.5, 10.0):
            rigs.go(frame)
            final = bpy.context.scene.frame_current_final
            assert (final == frame) == (old == 100)
            assert curve.evaluate(final) == bone.location.x


def test_f_curves_are_cut_to_the_range_of_a_property_and_switch_on_at_1() -> None:
    rig = rigs.make_chain(3)
    item = rigs.add_constraint(rig, "B2", rigs.make_empty())
    curves = animation.ensure_channelbag(rig).fcurves
    given = {
        "influence": [(5.0, 1.0), (-3.0, 0.0), (0.25, 0.25)],
        "iterations": [(2.6, 2), (1e9, 10000), (-3.0, 1)],
        "enabled": [(0.25, False), (0.99, False), (1.0, True), (-1.0, False)],
        "solver": [(0.75, "FABRIK"), (1.5, "TWO_BONE"), (-0.5, "FABRIK")],
    }
    for name, values in given.items():
        curve = curves.new(item.path_from_id(name))
        curve.keyframe_points.insert(1, 0)
        for value, expected in values:
            curve.keyframe_points[0].co.y = value
            curve.update()
            rig.update_tag()
            rigs.go(2)
            assert getattr(rigs.evaluated(rig).fabrik.constraints[0], name) == expected
            prop = item.bl_rna.properties[name]
            if prop.type != "ENUM":
                assert value_from_curve(prop, curve.evaluate(2)) == expected


def test_a_frame_change_or_an_edited_curve_takes_back_what_was_not_keyed() -> None:
    """Of all channels of the action, not only that of the edited curve."""
    rig, bone = one_bone()
    key_ramp(bone)
    key_ramp(bone, 1)
    rigs.go(6)
    bone.location.y = 77.0
    rig.location.x = 1.0
    rigs.update()
    assert bone.location.y == 77.0
    curve = animation.all_active_curves(rig)[0]
    curve.keyframe_points[0].co.y = 1.0
    curve.update()
    rigs.update()
    assert bone.location.y == pytest.approx(5.0)
    bone.location.y = 77.0
    rigs.go(6)
    assert bone.location.y == pytest.approx(5.0)


def test_actions_have_layers_from_4_4_and_no_list_of_curves_from_5_0() -> None:
    rig = rigs.make_chain(1)
    key_ramp(rig.pose.bones["B0"])
    action = rig.animation_data.action
    assert hasattr(action, "layers") == (bpy.app.version >= (4, 4))
    assert hasattr(action, "fcurves") == (bpy.app.version < (5, 0))


def test_a_muted_group_of_curves_counts_up_to_4_3() -> None:
    rig = rigs.make_chain(1)
    key_ramp(rig.pose.bones["B0"])
    curve = animation.all_active_curves(rig)[0]
    holder = animation.ensure_channelbag(rig)
    if curve.group is None:
        curve.group = holder.groups.new("B0")
    rigs.go(1)
    curve.group.mute = True
    rigs.go(11)
    is_muted = bpy.app.version < (4, 4)
    assert rig.pose.bones["B0"].location.x == pytest.approx(0.0 if is_muted else 10.0)


@pytest.mark.parametrize("off", ["strip", "time", "track"])
def test_a_strip_that_is_off_sets_defaults_and_a_muted_track_sets_nothing(off: str) -> None:
    rig, bone = one_bone()
    key_ramp(bone)
    data = rig.animation_data
    action, slot = data.action, getattr(data, "action_slot", None)
    data.action = None
    track = data.nla_tracks.new()
    strip = track.strips.new("Strip", 1, action)
    strip.extrapolation = "NOTHING"
    if slot is not None:
        strip.action_slot = slot
    rigs.go(6)
    assert bone.location.x == pytest.approx(5.0)
    if off != "time":
        (strip if off == "strip" else track).mute = True
    rigs.go(7)
    bone.location.x = 7.0
    rigs.go(30 if off == "time" else 8)
    assert bone.location.x == (7.0 if off == "track" else 0.0)


def test_numbers_of_keys_are_what_we_think() -> None:
    rig = rigs.make_chain(1)
    key_ramp(rig.pose.bones["B0"])
    point = animation.all_active_curves(rig)[0].keyframe_points[0]
    numbers = {
        ("interpolation", "LINEAR"): keying.LINEAR,
        ("interpolation", "BEZIER"): keying.BEZIER,
        ("handle_left_type", "FREE"): keying.FREE,
        ("handle_left_type", "VECTOR"): keying.VECTOR,
        ("handle_left_type", "AUTO_CLAMPED"): keying.AUTO_CLAMPED,
    }
    for (name, item), number in numbers.items():
        assert point.bl_rna.properties[name].enum_items[item].value == number


def test_keys_that_are_added_to_an_f_curve_are_of_the_type_keyframe() -> None:
    rig = rigs.make_chain(1)
    key_ramp(rig.pose.bones["B0"])
    bpy.context.scene.tool_settings.keyframe_type = "EXTREME"
    points = animation.all_active_curves(rig)[0].keyframe_points
    for key in points:
        key.type = "BREAKDOWN"
    before = len(points)
    points.add(50)
    assert {key.type for key in points[before:]} == {"KEYFRAME"}


def test_first_keys_and_removed_drivers_make_new_relations_and_tag_nothing_of_theirs() -> None:
    rig = rigs.make_chain(1)
    rig["driven"] = 0.0
    told: list[set[str]] = []
    rebuilt: list[bool] = []

    def look(_none: object) -> None:
        told.append(tagged_now())

    def look_after(depsgraph: bpy.types.Depsgraph) -> None:
        rebuilt.append(updates.has_new_relations(depsgraph))

    rigs.update()
    with (
        calling("depsgraph_update_pre", then=look),
        calling("depsgraph_update_post", then=look_after),
    ):
        rig.keyframe_insert("location", frame=1)
        rigs.update()
        rig.driver_add('["driven"]')
        rigs.update()
        rig.animation_data.drivers.remove(rig.animation_data.drivers[0])
        rigs.update()
    assert rebuilt == [True, True, True]
    assert ["Rig" in names for names in told] == [False, True, False]


def test_a_driver_that_is_removed_by_its_path_has_the_animation_played_from_4_5() -> None:
    rig, bone = one_bone()
    key_ramp(bone)
    for is_by_path in (False, True):
        rig["driven"] = 0.0
        curve = rig.driver_add('["driven"]')
        rigs.go(6)
        bone.location.x = 77.0
        rigs.update()
        if is_by_path:
            rig.driver_remove('["driven"]')
        else:
            rig.animation_data.drivers.remove(curve)
        rigs.update()
        is_played = is_by_path and bpy.app.version >= (4, 5)
        assert bone.location.x == pytest.approx(5.0 if is_played else 77.0)


def test_a_driver_of_what_is_missing_is_given_up_until_something_of_it_is_set() -> None:
    rig = rigs.make_chain(1)
    rig["driven"] = 0.0
    driver = rig.driver_add('["driven"]').driver
    driver.expression = "3.0"
    rigs.update()
    assert rig["driven"] == 3.0
    del rig["driven"]
    rig.update_tag()
    rigs.go(2)
    assert not driver.is_valid
    rig["driven"] = 0.0
    rig.update_tag()
    rigs.go(3)
    assert rig["driven"] == 0.0
    driver.type = driver.type
    rig.update_tag()
    rigs.go(4)
    assert rig["driven"] == 3.0


def test_a_driver_that_names_a_missing_bone_is_marked_at_each_evaluation() -> None:
    rig, other = rigs.make_chain(1), rigs.make_chain(1, "Other")
    rig["driven"] = 0.0
    curve = rig.driver_add('["driven"]')
    rigs.drive(curve, other, bone="Missing")
    for frame in (2, 3):
        curve.driver.is_valid = True
        rig.update_tag()
        rigs.go(frame)
        assert not curve.driver.is_valid


def test_drivers_of_properties_are_written_together_from_4_5_but_for_custom_ones(
    tmp_path: Path,
) -> None:
    """By an operation of its own, which no driver of a bone waits for."""
    graph = tmp_path / "graph.dot"
    found = []
    for path in ('["driven"]', "show_name"):
        rig = rigs.make_chain(1)
        rig["driven"] = 0.0
        rig.driver_add(path)
        rigs.update()
        bpy.context.view_layer.depsgraph.debug_relations_graphviz(filepath=str(graph))
        found.append("DRIVER_UNSHARE" in graph.read_text())
    assert found == [False, bpy.app.version >= (4, 5)]


def make_triangle(name: str) -> bpy.types.Object:
    """Make a mesh object of one face in the scene."""
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
    return rigs.link(bpy.data.objects.new(name, mesh))


def test_disabled_objects_are_evaluated_only_where_something_shown_needs_them() -> None:
    """Hidden ones are evaluated, and rays meet them."""
    hidden, disabled, needed = (make_triangle(name) for name in ("Hidden", "Disabled", "Needed"))
    child = rigs.make_empty()
    child.parent = needed
    rigs.update()
    hidden.hide_set(True)
    disabled.hide_viewport = needed.hide_viewport = True
    for ob in (hidden, disabled, needed):
        ob.location.x = 3.0
    rigs.update()
    assert [rigs.evaluated(ob).is_evaluated for ob in (hidden, disabled, needed)] == [
        True,
        False,
        True,
    ]
    assert rigs.world_location(child).x == 4.0
    assert rigs.evaluated(hidden).ray_cast((0.1, 0.1, 1.0), (0, 0, -1))[0]
    with pytest.raises(RuntimeError):
        rigs.evaluated(disabled).ray_cast((0.1, 0.1, 1.0), (0, 0, -1))


def test_a_mesh_in_edit_mode_has_no_vertices_until_it_is_asked_for() -> None:
    ob = make_triangle("Edited")
    rigs.activate(ob)
    bpy.ops.object.mode_set(mode="EDIT")
    rigs.update()
    shown = rigs.evaluated(ob)
    assert len(shown.data.vertices) == 0
    assert len(shown.to_mesh().vertices) == 3
    assert len(shown.data.vertices) == 3
    bpy.ops.object.mode_set(mode="OBJECT")


def shaped(ob: bpy.types.Object) -> None:
    ob.shape_key_add(name="Basis")
    shape = ob.shape_key_add(name="Shape")
    shape.data[0].co.z = 1.0
    for frame, shape.value in ((1, 0.0), (9, 1.0)):
        shape.keyframe_insert("value", frame=frame)


def shaped_by_another_user(ob: bpy.types.Object) -> None:
    shaped(rigs.link(bpy.data.objects.new("User", ob.data)))


def waving(ob: bpy.types.Object) -> None:
    ob.modifiers.new("Wave", "WAVE")


def moving(ob: bpy.types.Object) -> bpy.types.Object:
    for frame, ob.location.z in ((1, 0.0), (9, 1.0)):
        ob.keyframe_insert("location", frame=frame)
    return ob


def hooked(ob: bpy.types.Object) -> None:
    hook: Any = ob.modifiers.new("Hook", "HOOK")
    hook.object = moving(rigs.make_empty())
    hook.vertex_indices_set([0])


def shrunk_to_another(ob: bpy.types.Object) -> None:
    wrap: Any = ob.modifiers.new("Shrinkwrap", "SHRINKWRAP")
    wrap.target = make_triangle("Other")
    wrap.target.location.z = -1.0
    shaped(wrap.target)


def built(ob: bpy.types.Object) -> None:
    build: Any = ob.modifiers.new("Build", "BUILD")
    build.frame_start, build.frame_duration = 1, 3


def switched(ob: bpy.types.Object) -> None:
    displace = ob.modifiers.new("Displace", "DISPLACE")
    for frame, displace.show_viewport in ((1, False), (3, True)):
        displace.keyframe_insert("show_viewport", frame=frame)


def timed_by_nodes(ob: bpy.types.Object) -> None:
    tree: Any = bpy.data.node_groups.new("Nodes", "GeometryNodeTree")
    for way in ("INPUT", "OUTPUT"):
        tree.interface.new_socket("Geometry", in_out=way, socket_type="NodeSocketGeometry")
    given, result = tree.nodes.new("NodeGroupInput"), tree.nodes.new("NodeGroupOutput")
    place, time = (
        tree.nodes.new("GeometryNodeSetPosition"),
        tree.nodes.new("GeometryNodeInputSceneTime"),
    )
    tree.links.new(given.outputs[0], place.inputs[0])
    tree.links.new(time.outputs[0], place.inputs["Offset"])
    tree.links.new(place.outputs[0], result.inputs[0])
    ob.modifiers.new("Nodes", "NODES").node_group = tree


def moved_as_a_whole(ob: bpy.types.Object) -> None:
    moving(ob)


DEFORMING = (
    shaped,
    shaped_by_another_user,
    waving,
    hooked,
    shrunk_to_another,
    built,
    switched,
    timed_by_nodes,
    moved_as_a_whole,
)


@pytest.mark.parametrize("deform", DEFORMING, ids=lambda deform: deform.__name__)
def test_a_played_mesh_is_listed_with_its_geometry_if_that_may_change(
    deform: Callable[[bpy.types.Object], None],
) -> None:
    mesh, still = make_triangle("Deforming"), make_triangle("Still")
    deform(mesh)
    rigs.update()
    listed: list[set[bpy.types.Object]] = []

    def look(depsgraph: bpy.types.Depsgraph) -> None:
        items: Any = depsgraph.updates
        listed.append({item.id.original for item in items if item.is_updated_geometry})

    def shape() -> list[tuple[float, ...]]:
        return [tuple(vertex.co) for vertex in rigs.evaluated(mesh).data.vertices]

    rigs.go(1)
    before, changed = shape(), []
    with calling("frame_change_post", then=look):
        for frame in (2, 3, 4, 9, 3, 1):
            rigs.go(frame)
            changed.append(shape() != before)
            before = shape()
    assert any(changed) == (deform is not moved_as_a_whole)
    pairs = zip(changed, listed, strict=True)
    assert all(mesh in found for is_changed, found in pairs if is_changed)
    assert not any(still in found for found in listed)
    assert all((mesh in found) == any(changed) for found in listed)


def test_selected_and_renamed_bones_flag_nothing_of_their_armature_and_posed_ones_do() -> None:
    rig = rigs.make_chain(2)
    rigs.update()
    flags: list[list[bool]] = []
    geometry: list[bool] = []

    def look(depsgraph: bpy.types.Depsgraph) -> None:
        items: dict[Any, Any] = {item.id.original: item for item in depsgraph.updates}
        kinds = ("geometry", "transform", "shading")
        flags.append([getattr(items[rig.data], f"is_updated_{kind}") for kind in kinds])
        geometry.append(items[rig].is_updated_geometry)

    selectable = rig.pose.bones[0] if bpy.app.version >= (5, 0) else rig.data.bones[0]
    with calling("depsgraph_update_post", then=look):
        selectable.select = not selectable.select
        rigs.update()
        rig.pose.bones[0].name = "Other"
        rigs.update()
        rig.pose.bones[0].location.x = 1.0
        rigs.update()
    assert [any(found) for found in flags] == [False, False, True]
    assert geometry == [True, True, True]


def test_selecting_bones_belongs_to_the_pose_from_5_0() -> None:
    properties = bpy.types.PoseBone.bl_rna.properties
    assert ("select" in properties) == (bpy.app.version >= (5, 0))


def test_of_a_disabled_armature_and_of_what_is_evaluated_nowhere_no_update_tells() -> None:
    rig, nowhere = rigs.make_chain(2), bpy.data.objects.new("Nowhere", None)
    rig.hide_viewport = True
    rigs.update()
    told: list[set[str]] = []
    with calling(
        "depsgraph_update_pre", "depsgraph_update_post", then=lambda _: told.append(tagged_now())
    ):
        rig.pose.bones["B1"].name = "Other"
        rigs.update()
        bpy.data.objects.remove(nowhere)
        rigs.update()
    assert all(not names & {"Rig", "Nowhere"} for names in told[:2])
    assert all("Nowhere" not in names for names in told)


def test_a_script_that_shortens_a_list_calls_no_handler() -> None:
    rig = rigs.make_chain(3)
    rigs.add_constraint(rig, "B2", rigs.make_empty())
    rigs.update()
    with calling("depsgraph_update_pre", "depsgraph_update_post") as calls:
        rig.fabrik.constraints.remove(0)
        rigs.update()
    assert calls == []


def test_a_removed_target_leaves_its_pointer_empty() -> None:
    rig, target = rigs.make_chain(3), rigs.make_empty()
    item = rigs.add_constraint(rig, "B2", target)
    bpy.data.objects.remove(target)
    assert item.target is None


def test_evaluated_copies_have_no_number_of_their_own() -> None:
    rig = rigs.make_chain(1)
    rigs.update()
    assert rig.session_uid != 0
    assert rigs.evaluated(rig).session_uid == 0
    assert rigs.evaluated(rig).original == rig


def test_undo_calls_its_handlers_then_updates_and_references_are_dead() -> None:
    """And each action is reported as updated, though no curve was evaluated."""
    rig = rigs.make_chain(1)
    key_ramp(rig.pose.bones["B0"])
    rigs.go(1)
    bpy.ops.ed.undo_push(message="before")
    rig.location.x = 3.0
    bpy.ops.ed.undo_push(message="after")
    told: list[object] = []

    def look(depsgraph: bpy.types.Depsgraph | None) -> None:
        told.append(depsgraph and depsgraph.id_type_updated("ACTION"))

    names = ("undo_pre", "undo_post", "depsgraph_update_post", "frame_change_post")
    with calling(*names, then=look) as calls:
        bpy.ops.ed.undo()
    assert calls == ["undo_pre", "undo_post", "depsgraph_update_post"]
    assert told == [None, None, True]
    with pytest.raises(ReferenceError):
        _ = rig.name


def test_undo_keeps_data_blocks_that_are_equal_in_both_steps() -> None:
    for name in ("Equal", "Tagged", "Moved"):
        rigs.make_chain(1, name=name)
    reopen()
    rigs.update()
    for ob in bpy.data.objects:
        ob.update_tag()
    rigs.update()
    for message in ("tagged", "before"):
        bpy.ops.ed.undo_push(message=message)
    bpy.data.objects["Tagged"].update_tag()
    bpy.data.objects["Moved"].location.x = 3.0
    rigs.update()
    bpy.ops.ed.undo_push(message="after")
    found = {name: (ob, ob.as_pointer()) for name, ob in bpy.data.objects.items()}
    bone = bpy.data.objects["Equal"].pose.bones["B0"]
    address = bone.as_pointer()
    for operator in (bpy.ops.ed.undo, bpy.ops.ed.redo):
        operator()
        kept = {name for name, (ob, _) in found.items() if is_there(ob)}
        assert kept == {"Equal"}
        assert {ob.as_pointer() for ob in bpy.data.objects} == {old for _, old in found.values()}
        assert bone.as_pointer() == address == found["Equal"][0].pose.bones["B0"].as_pointer()


def test_only_persistent_handlers_outlive_the_loading_of_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "file.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    found: list[tuple[object, ...]] = []

    @bpy.app.handlers.persistent
    def kept(*given: object) -> None:
        found.append(given)

    def lost(*given: object) -> None:
        found.append(given)

    handlers = bpy.app.handlers.load_post
    handlers += [kept, lost]
    try:
        bpy.ops.wm.open_mainfile(filepath=path)
        assert found[0] == (path, None)
        assert kept in handlers and lost not in handlers
    finally:
        handlers.remove(kept)


def test_without_a_window_no_timer_runs() -> None:
    called: list[int] = []

    def tick() -> None:
        called.append(1)

    bpy.app.timers.register(tick, first_interval=0.0)
    rigs.go(3)
    rigs.update()
    bpy.ops.object.empty_add()
    assert called == [] or not bpy.app.background
    if bpy.app.timers.is_registered(tick):
        bpy.app.timers.unregister(tick)


@pytest.mark.skipif(not bpy.app.binary_path, reason="The wheel does not keep it out of reach.")
def test_data_is_out_of_reach_while_an_add_on_registers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "looks_at_data.py").write_text(
        "import bpy\n"
        "bl_info = {'name': 'Looks', 'blender': (4, 2, 0), 'category': 'Rigging'}\n"
        "def register():\n    global found\n    found = hasattr(bpy.data, 'objects')\n"
        "def unregister():\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module = addon_utils.enable("looks_at_data")
    try:
        assert module.found is False
    finally:
        addon_utils.disable("looks_at_data")


def test_long_paths_are_cut_and_an_at_sign_is_appended_while_saving(tmp_path: Path) -> None:
    """At 1023 bytes; nothing is reported."""
    folder = tmp_path
    while len(str(folder)) < 900:
        folder = folder / ("d" * 100)
    folder.mkdir(parents=True)
    for length in (1023, 1024):
        name = "f" * (length - len(str(folder)) - len("/.blend")) + ".blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(folder / name), copy=True)
        assert (folder / name).exists() == (length == 1023)
    assert (folder / name[:-1]).exists()
    (tmp_path / "file.blend@").mkdir()
    with pytest.raises(RuntimeError):
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "file.blend"), copy=True)


def test_relative_paths_are_kept_as_seen_from_the_folder_that_is_saved_to(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "a" / "file.blend"))
    image = bpy.data.images.new("Image", 1, 1)
    image.source, image.filepath = "FILE", "//picture.png"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "b" / "file.blend"))
    assert image.filepath == "//../a/picture.png"


def test_a_render_animates_copies_alone_one_for_each_view_layer_and_then_the_viewport() -> None:
    rig, bone = one_bone()
    key_ramp(bone)
    bpy.context.scene.view_layers.new("Second")
    rigs.go(1)
    found: list[tuple[str, float, float]] = []

    def look(depsgraph: bpy.types.Depsgraph) -> None:
        shown = rig.evaluated_get(depsgraph).pose.bones["B0"]
        found.append((depsgraph.mode, bone.location.x, shown.location.x))

    with calling("frame_change_post", then=look):
        rendered(6, 6)
    assert found[:2] == [("RENDER", 0.0, pytest.approx(5.0))] * 2
    assert found[2][:2] == ("VIEWPORT", 0.0)


@pytest.mark.skipif(bpy.app.version < (5, 0), reason="Blender crashes.")
def test_an_update_in_a_handler_of_a_render_loses_the_animation() -> None:
    rig = rigs.make_chain(1)
    key_ramp(rig.pose.bones["B0"])
    rigs.go(1)

    def nest(depsgraph: bpy.types.Depsgraph) -> None:
        if depsgraph.mode == "RENDER":
            rig.update_tag()
            depsgraph.update()

    def look(depsgraph: bpy.types.Depsgraph) -> float:
        return depsgraph.objects["Rig"].pose.bones["B0"].location.x

    with calling("frame_change_post", then=nest):
        assert rendered(6, 6, look=look) == {6: 0.0}


def test_frames_end_where_we_think() -> None:
    properties = bpy.types.Scene.bl_rna.properties
    for name in ("frame_end", "frame_current"):
        assert properties[name].hard_max == FARTHEST
    assert properties["frame_current"].hard_min == -FARTHEST


def test_a_quaternion_of_zeros_is_half_a_turn_about_x_and_an_axis_of_zeros_no_turn() -> None:
    rig, bone = one_bone()

    def turn() -> list[float]:
        rigs.update()
        local = (
            rig.data.bones["B0"].matrix_local.inverted()
            @ rigs.evaluated(rig).pose.bones["B0"].matrix
        )
        return [*local.to_quaternion()]

    def ours(mode: int, *numbers: float) -> list[float]:
        return [*turns.quaternions(mode, numbers)]

    bone.rotation_quaternion = (0, 0, 0, 0)
    assert [abs(x) for x in turn()] == pytest.approx([0, 1, 0, 0], abs=1e-6)
    assert ours(QUATERNION, 0, 0, 0, 0) == [0, 1, 0, 0]
    bone.rotation_mode = "AXIS_ANGLE"
    bone.rotation_axis_angle = (0.5, 0, 0, 0)
    assert turn() == pytest.approx([1, 0, 0, 0], abs=1e-6)
    assert ours(AXIS_ANGLE, 0.5, 0, 0, 0) == [1, 0, 0, 0]


def test_an_armature_at_rest_shows_no_pose_and_in_edit_mode_the_pose_of_before() -> None:
    rig = rigs.make_chain(2)
    bone = rig.pose.bones["B0"]
    bone.rotation_quaternion = TURNED
    rigs.update()
    posed = rigs.evaluated(rig).pose.bones["B0"].matrix.copy()
    bpy.ops.object.mode_set(mode="EDIT")
    bone.rotation_quaternion = (1, 0, 0, 0)
    rigs.update()
    assert rigs.evaluated(rig).pose.bones["B0"].matrix == posed
    bpy.ops.object.mode_set(mode="OBJECT")
    bone.rotation_quaternion = TURNED
    rig.data.pose_position = "REST"
    rigs.update()
    rest = rig.data.bones["B0"].matrix_local
    assert rigs.evaluated(rig).pose.bones["B0"].matrix == rest != posed


def test_a_name_given_in_edit_mode_is_that_of_the_pose_alone_until_it_is_left() -> None:
    """And drivers of such bones are given up if they are evaluated meanwhile."""
    rig = rigs.make_chain(2)
    curve = rig.pose.bones["B0"].driver_add("location", 0)
    rigs.update()
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones["B0"].name = "New"
    assert rig.pose.bones.keys() == ["New", "B1"]
    assert rig.data.bones.keys() == rigs.evaluated(rig).pose.bones.keys() == ["B0", "B1"]
    assert rig.pose.bones["New"].bone.name == "B0"
    assert curve.data_path == 'pose.bones["New"].location' and curve.driver.is_valid
    rig.update_tag()
    rigs.update()
    assert not curve.driver.is_valid
    bpy.ops.object.mode_set(mode="OBJECT")


def test_a_renamed_bone_takes_its_curves_along_and_no_property_that_names_it() -> None:
    rig = rigs.make_chain(2)
    key_ramp(rig.pose.bones["B1"])
    item = rigs.add_constraint(rig, "B1", rig, subtarget="B0")
    rig.pose.bones["B1"].name = "New"
    assert animation.all_active_curves(rig)[0].data_path == 'pose.bones["New"].location'
    assert item.bone == "B1"


def test_children_of_a_bone_hang_on_its_tail() -> None:
    rig, child = rigs.make_chain(1), rigs.make_empty(location=(0, 0, 0))
    child.parent, child.parent_type, child.parent_bone = rig, "BONE", "B0"
    rig.pose.bones["B0"].rotation_quaternion = (0.8, 0.6, 0, 0)
    rigs.update()
    tail = rig.matrix_world @ rigs.evaluated(rig).pose.bones["B0"].tail
    assert (rigs.world_location(child) - tail).length < 1e-6


def test_delta_locations_are_added_in_single_precision_before_the_parents_inverse() -> None:
    ob, up = rigs.make_empty(), rigs.make_empty("Parent")
    ob.parent, ob.matrix_parent_inverse = up, Matrix.Translation((0, 0, 0.3))
    ob.location, ob.delta_location = (0.1, 1000.1, 0.3), (0.7, 0.33, 1e4)
    up.location = (0, 0, 0)
    rigs.update()
    added = array("f", map(sum, zip(ob.location, ob.delta_location, strict=True)))
    shown = rigs.world_location(ob)
    assert [shown.x, shown.y] == [*added[:2]]
    assert shown.z == pytest.approx(added[2] + 0.3)


def test_paths_of_items_count_and_animation_stays_behind_when_they_move() -> None:
    rig = rigs.make_chain(2)
    for _ in range(2):
        rigs.add_constraint(rig, "B1")
    items = rig.fabrik.constraints
    assert items[1].keyframe_insert("influence", frame=1)
    items.remove(0)
    assert animation.all_active_curves(rig)[0].data_path == "fabrik.constraints[1].influence"
    assert items[0].path_from_id("influence") == "fabrik.constraints[0].influence"


def test_groups_of_settings_on_a_pose_bone_have_no_path_to_be_keyed_by() -> None:
    group = type(
        "TEST_Group",
        (bpy.types.PropertyGroup,),
        {"__annotations__": {"x": bpy.props.FloatProperty()}},
    )
    bpy.utils.register_class(group)
    bpy.types.PoseBone.test_group = bpy.props.PointerProperty(type=group)
    try:
        bone = rigs.make_chain(1).pose.bones[0]
        with pytest.raises(ValueError, match="does not support path creation"):
            bone.test_group.path_from_id("x")
        with pytest.raises(TypeError):
            bone.test_group.keyframe_insert("x", frame=1)
    finally:
        del bpy.types.PoseBone.test_group
        bpy.utils.unregister_class(group)


def test_rna_tells_of_a_property_of_a_group_what_it_was_defined_with_but_for_tags() -> None:
    def group(**more: Any) -> Any:
        made = bpy.props.FloatProperty(**more)
        return type("TEST_Group", (bpy.types.PropertyGroup,), {"__annotations__": {"x": made}})

    with pytest.raises((RuntimeError, ValueError), match="could not register"):
        bpy.utils.register_class(group(tags={"ADVANCED"}))
    with pytest.raises((RuntimeError, ValueError), match="could not register"):
        choice = bpy.props.EnumProperty(items=[("A", "A", "")], options={"SKIP_PRESET"})
        bpy.utils.register_class(
            type("TEST_Choice", (bpy.types.PropertyGroup,), {"__annotations__": {"x": choice}})
        )
    kind = group(options={"SKIP_SAVE"}, override={"LIBRARY_OVERRIDABLE"}, min=1.0)
    bpy.utils.register_class(kind)
    bpy.types.Object.test_group = bpy.props.PointerProperty(type=kind)
    try:
        prop = kind.bl_rna.properties["x"]
        assert (prop.is_skip_save, prop.is_overridable, prop.is_animatable) == (True, True, False)
        assert prop.hard_min == 1.0
        rigs.make_chain(1, "Kept").test_group.x = 2.5
        reopen()
        assert bpy.data.objects["Kept"].test_group.x == 2.5
    finally:
        del bpy.types.Object.test_group
        bpy.utils.unregister_class(kind)


def test_reading_a_pointer_that_was_never_set_stores_an_empty_one() -> None:
    item: Any = rigs.make_chain(1).fabrik.constraints.add()
    for name in ("pole_target", "ground"):
        assert not item.is_property_set(name)
        getattr(item, name)
        assert item.is_property_set(name)
    assert not item.is_property_set("influence")
    assert item.influence == 1.0
    assert not item.is_property_set("influence")


def test_registered_properties_are_kept_apart_from_custom_ones_from_5_0() -> None:
    """Choices are kept by their numbers."""
    rig = rigs.make_chain(1)
    bone = rig.data.bones[0]
    bone.fabrik_joint.limit_type = "CONE"
    is_apart = bpy.app.version >= (5, 0)
    assert ("fabrik_joint" in bone) == (not is_apart)
    stored: Any = bone.bl_system_properties_get() if is_apart else bone
    number = bone.fabrik_joint.bl_rna.properties["limit_type"].enum_items["CONE"].value
    assert stored["fabrik_joint"]["limit_type"] == number


def test_a_pasted_pose_overwrites_properties_of_pose_bones_and_not_those_of_bones() -> None:
    rig = rigs.make_chain(1)
    posed, rest = rig.pose.bones[0], rig.data.bones[0]
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="SELECT")
    posed.fabrik_name, rest.fabrik_joint.limit_type = "copied", "CONE"
    bpy.ops.pose.copy()
    posed.fabrik_name, rest.fabrik_joint.limit_type = "present", "HINGE"
    bpy.ops.pose.paste()
    assert posed.fabrik_name == "copied"
    assert rest.fabrik_joint.limit_type == "HINGE"


def overridden(tmp_path: Path, rig: bpy.types.Object) -> bpy.types.Object:
    """Save an armature, and return a library override of it that can be edited."""
    file = str(tmp_path / "library.blend")
    bpy.data.libraries.write(file, {rig})
    bpy.data.objects.remove(rig)
    with bpy.data.libraries.load(file, link=True) as (_, linked):
        linked.objects = ["Rig"]
    override = rigs.link(linked.objects[0].override_create(remap_local_usages=True))
    override.override_library.is_system_override = False
    return override


def overrides_of(rig: bpy.types.Object) -> list[str]:
    """Return the paths of what a library override changes of our settings."""
    rig.override_library.operations_update()
    paths = [item.rna_path for item in rig.override_library.properties]
    return [path for path in paths if path.startswith(("fabrik", "test"))]


def test_an_override_keeps_its_items_and_tells_them_apart_by_name(tmp_path: Path) -> None:
    rig = rigs.make_chain(2)
    for name in ("Same", "Second", "Other"):
        rigs.add_constraint(rig, "B1").name = name
    second = rig.fabrik.constraints[1]
    stored: Any = second.bl_system_properties_get() if bpy.app.version >= (5, 0) else second
    stored["name"] = "Same"  # Set as a property it would be numbered.
    rig = overridden(tmp_path, rig)
    items = rig.fabrik.constraints
    for item in items:
        item.iterations = 33
    assert len(items) == 3
    with pytest.raises(TypeError):
        items.remove(0)
    kept = [path for path in overrides_of(rig) if path.endswith("iterations")]
    assert kept == [f'fabrik.constraints["{name}"].iterations' for name in ("Same", "Other")]


def test_an_override_keeps_only_what_is_registered_to_be_overridden(tmp_path: Path) -> None:
    """And compares bytes no farther than to the first zero."""
    flags = {"override": {"LIBRARY_OVERRIDABLE"}}
    owner: Any = bpy.types.Object
    owner.test_bytes = bpy.props.StringProperty(subtype="BYTE_STRING", **flags)
    owner.test_more = bpy.props.StringProperty(subtype="BYTE_STRING", **flags)
    owner.test_plain = bpy.props.IntProperty()
    try:
        rig: Any = rigs.make_chain(1)
        rig.test_bytes = rig.test_more = b"a\0b"
        rig = overridden(tmp_path, rig)
        rig.test_bytes, rig.test_more, rig.test_plain = b"a\0c", b"b", 5
        assert overrides_of(rig) == ["test_more"]
    finally:
        del owner.test_bytes, owner.test_more, owner.test_plain


def test_an_override_names_what_changed_in_a_group_only_if_its_library_stores_the_group(
    tmp_path: Path,
) -> None:
    """Reading the group of the library stores it."""
    rig = overridden(tmp_path, rigs.make_chain(1))
    rig.fabrik.simulation.use_auto = False
    if bpy.app.version >= (5, 2):
        assert overrides_of(rig) == ["fabrik.simulation"]
    assert rig.override_library.reference.fabrik.simulation.use_auto
    assert "fabrik.simulation.use_auto" in overrides_of(rig)


def test_bones_of_an_override_that_is_not_for_editing_cannot_be_set_at_once(
    tmp_path: Path,
) -> None:
    rig = overridden(tmp_path, rigs.make_chain(2))
    rig.override_library.is_system_override = True
    write_in_bulk(rig)
    assert rig.pose.bones["B0"].rotation_quaternion[:] == (1, 0, 0, 0)
    write_quietly(rig)
    assert rig.pose.bones["B0"].rotation_quaternion[:] == tuple(TURNED)


def test_blenders_ik_acts_last_whatever_its_place_among_constraints() -> None:
    shown = []
    for kinds in (("IK", "COPY_ROTATION"), ("COPY_ROTATION", "IK"), ("COPY_ROTATION",)):
        rig, target = rigs.make_chain(3), rigs.make_empty(location=(1.5, 0.5, 1))
        target.rotation_euler = (1, 2, 3)
        for kind in kinds:
            rig.pose.bones["B1"].constraints.new(kind).target = target
        rigs.update()
        shown.append(rigs.evaluated(rig).pose.bones["B1"].matrix.copy())
    assert shown[0] == shown[1] != shown[2]


def test_blenders_ik_passes_over_limits_of_the_root_where_there_is_a_pole() -> None:
    angles = []
    for has_pole in (False, True):
        rig = rigs.make_chain(2)
        root = rig.pose.bones["B0"]
        for axis in "xyz":
            setattr(root, f"use_ik_limit_{axis}", True)
            setattr(root, f"ik_min_{axis}", 0.0)
            setattr(root, f"ik_max_{axis}", 0.0)
        con = rig.pose.bones["B1"].constraints.new("IK")
        con.target = rigs.make_empty(location=(0, 1.2, 0.3))
        con.pole_target = rigs.make_empty("Pole", (5, 0, 1)) if has_pole else None
        rigs.update()
        local = (
            rig.data.bones["B0"].matrix_local.inverted()
            @ rigs.evaluated(rig).pose.bones["B0"].matrix
        )
        angles.append(local.to_quaternion().angle)
    assert angles[0] < 1e-3 and angles[1] > 0.5


def test_blenders_ik_limits_count_from_the_posed_parent_whatever_is_inherited() -> None:
    for inherits in (True, False):
        rig, target = rigs.make_chain(2), rigs.make_empty()
        lower = rig.pose.bones["B1"]
        rig.data.bones["B1"].use_inherit_rotation = inherits
        lower.lock_ik_y = lower.lock_ik_z = lower.use_ik_limit_x = True
        lower.ik_min_x, lower.ik_max_x = -pi, pi
        con = lower.constraints.new("IK")
        con.target = target
        for place in ((0.8, 0.9, 0.9), (-0.9, 0.3, 0.7)):
            target.location = place
            rigs.update()
            bones = rigs.evaluated(rig).pose.bones
            rest = bones["B0"].bone.matrix_local.inverted() @ bones["B1"].bone.matrix_local
            turn = ((bones["B0"].matrix @ rest).inverted() @ bones["B1"].matrix).to_quaternion()
            assert (bones["B1"].tail - target.location).length < 2e-3
            assert max(map(abs, turn.to_exponential_map()[1:])) < 1e-4


def test_blenders_ik_brings_the_tip_part_of_the_way() -> None:
    rig, target = rigs.make_chain(2), rigs.make_empty(location=(0.9, 0.6, 0.9))
    rigs.update()
    start = rigs.evaluated(rig).pose.bones["B1"].tail.copy()
    con = rig.pose.bones["B1"].constraints.new("IK")
    con.target, con.influence = target, 0.5
    rigs.update()
    half = (start + target.location) / 2
    assert (rigs.evaluated(rig).pose.bones["B1"].tail - half).length < 1e-3


def test_what_blenders_ik_keeps_of_a_bone_has_the_ranges_that_we_think() -> None:
    properties = bpy.types.PoseBone.bl_rna.properties
    assert properties["ik_stiffness_x"].hard_max == pytest.approx(STIFFEST)
    low, high = properties["ik_min_x"], properties["ik_max_x"]
    assert (low.hard_min, high.hard_max) == pytest.approx((-pi, pi))
    assert (low.hard_max, high.hard_min) == (0.0, 0.0)
    bone = rigs.make_chain(1).pose.bones[0]
    names = [bone.constraints.new("IK").name for _ in range(2)]
    assert names == ["IK", "IK.001"]
    assert bone.constraints[0].use_stretch and bone.ik_stretch == 0.0


def test_commands_can_be_added_to_the_command_line() -> None:
    handle = bpy.utils.register_cli_command("fabrik_test_fact", lambda _arguments: 0)
    bpy.utils.unregister_cli_command(handle)


def test_evaluated_copies_know_new_items_of_a_list_from_the_next_update_on() -> None:
    rig = rigs.make_chain(1)
    rigs.update()
    rigs.add_constraint(rig, "B0")
    assert len(rigs.evaluated(rig).fabrik.constraints) == 0
    rigs.update()
    assert len(rigs.evaluated(rig).fabrik.constraints) == 1


def test_bones_made_in_edit_mode_make_new_relations() -> None:
    rig = rigs.make_chain(1)
    rigs.update()
    found: list[bool] = []
    with calling(
        "depsgraph_update_post", then=lambda graph: found.append(updates.has_new_relations(graph))
    ):
        bpy.ops.object.mode_set(mode="EDIT")
        rig.data.edit_bones.new("New").tail = (0, 0, 1)
        bpy.ops.object.mode_set(mode="OBJECT")
        rigs.update()
    assert found[-1] and rig.pose.bones.keys() == ["B0", "New"]


def test_blenders_own_operator_for_presets_is_no_step_to_undo() -> None:
    assert "UNDO" not in getattr(bpy.types.SCRIPT_OT_execute_preset, "bl_options", {"REGISTER"})


def test_only_insert_available_is_on_at_first_from_5_2() -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    is_on = bpy.context.preferences.edit.use_keyframe_insert_available
    assert is_on == (bpy.app.version >= (5, 2))


@pytest.mark.parametrize(("pure", "unpacked"), [("py3", 1), ("0-py3", 0)])
def test_of_wheels_that_fit_the_one_with_the_last_name_is_unpacked(
    pure: str, unpacked: int
) -> None:
    """This is why the one for any Python has a build number."""
    from _bpy_internal.extensions.wheel_manager import wheel_list_deduplicate_as_skip_set

    wheels = [f"fabrik_solver-0.1.0-{tag}-any.whl" for tag in ("cp313-cp313", f"{pure}-none")]
    skipped = wheel_list_deduplicate_as_skip_set([("fabrik_ik", wheels)])
    assert {*wheels} - skipped == {wheels[unpacked]}


def test_a_full_copy_of_a_scene_has_poses_without_rest_bones_up_to_4_5() -> None:
    rig = rigs.make_chain(1)
    rig.hide_viewport = True
    rigs.update()
    bpy.ops.scene.new(type="FULL_COPY")
    copy = bpy.context.scene.collection.objects["Rig.001"]
    assert (copy.pose.bones["B0"].bone is None) == (bpy.app.version < (5, 0))
    assert copy.data.bones.keys() == ["B0"]
    copy.hide_viewport = False
    rigs.update()
    assert copy.pose.bones["B0"].bone == copy.data.bones["B0"]


def test_loading_plays_the_animation_unless_a_handler_has_updated_the_view_layer(
    tmp_path: Path,
) -> None:
    empty = rigs.make_empty(location=(1, 0, 0))
    empty.keyframe_insert("location", frame=1)
    empty.location.x = 2.0
    path = str(tmp_path / "keyed.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)

    @persistent
    def update_early(*_: object) -> None:
        rigs.update()

    bpy.ops.wm.open_mainfile(filepath=path)
    assert bpy.data.objects["Target"].location.x == 1.0
    bpy.app.handlers.load_post.append(update_early)
    try:
        bpy.ops.wm.open_mainfile(filepath=path)
    finally:
        bpy.app.handlers.load_post.remove(update_early)
    assert bpy.data.objects["Target"].location.x == 2.0


TWICE_FREED = """
import os
import bpy

bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
scene = bpy.context.scene
rig = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
scene.collection.objects.link(rig)
bpy.context.view_layer.objects.active = rig
bpy.ops.object.mode_set(mode="EDIT")
parent = None
for i in range(60):
    bone = rig.data.edit_bones.new(f"B{i}")
    bone.head, bone.tail, bone.parent = (0, 0, i), (0, 0, i + 1), parent
    parent = bone
bpy.ops.object.mode_set(mode="OBJECT")
second = scene.view_layers.new("Second")
bpy.context.view_layer.update()
bpy.ops.ed.undo_push(message="made")
bpy.context.window.view_layer = second
rig.pose.bones[0].keyframe_insert("location", frame=1)
copy = rig.copy()
copy.data = rig.data.copy()
scene.collection.objects.link(copy)
bpy.context.view_layer.update()
bpy.ops.ed.undo_push(message="copied")
scene.frame_set(2)
bpy.ops.ed.undo()
bpy.ops.ed.redo()
for frame in range(3, 9):
    bpy.context.scene.frame_set(frame)
os._exit(0)
"""


@pytest.mark.skipif(
    bool(bpy.app.binary_path) or not sys.platform.startswith("linux"),
    reason="Freed memory is only overwritten by the C library of GNU, in the wheel",
)
def test_undo_and_redo_of_a_copied_armature_crash_blender_where_there_are_two_view_layers(
    tmp_path: Path,
) -> None:
    """Once it does not, `user.may_copy` in the kit can go."""
    script = tmp_path / "recipe.py"
    script.write_text(TWICE_FREED)
    environment = {**os.environ, "MALLOC_PERTURB_": "170"}
    call = [sys.executable, str(script)]
    done = [subprocess.run(call, env=environment, capture_output=True) for _ in range(3)]
    assert any(one.returncode < 0 for one in done), done[0].stderr
