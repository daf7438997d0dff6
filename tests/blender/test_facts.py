"""What the design takes for granted about Blender, one test a fact.

If a new version of Blender fails one of them, what stands on that fact has to be looked at, even
if all other tests pass.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import bpy
import pytest
from mathutils import Euler, Matrix, Quaternion, Vector
from rendering import rendered
from rigs import add_constraint, evaluated, go, link, make_chain, make_empty, update

from addon.blender import animation, dependency_driver
from addon.blender.rotation import AXIS_ANGLE, EULER_ORDERS, QUATERNION
from addon.blender.skeleton import Skeleton, matrix3, vector
from addon.core import Local, bone_frame
from addon.loop import dependencies

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
    rig = make_chain(2)
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
    rig = make_chain(1)
    numbers = {"QUATERNION": QUATERNION, "AXIS_ANGLE": AXIS_ANGLE}
    numbers.update({order: 1 + i for i, order in enumerate(EULER_ORDERS)})
    known = rig.pose.bones[0].bl_rna.properties["rotation_mode"].enum_items.keys()
    assert set(known) == set(numbers)
    for name, number in numbers.items():
        rig.pose.bones[0].rotation_mode = name
        buffer = array("i", [99])
        rig.pose.bones.foreach_get("rotation_mode", buffer)
        assert buffer[0] == number


def test_matrices_arrive_column_by_column() -> None:
    rig = make_chain(1)
    update()
    bones = evaluated(rig).pose.bones
    buffer = array("f", [0.0]) * 16
    bones.foreach_get("matrix", buffer)
    assert list(buffer) == [x for column in bones[0].matrix.col for x in column]


def test_the_location_of_a_connected_bone_is_ignored() -> None:
    rig = make_chain(2)
    update()
    before = evaluated(rig).pose.bones["B1"].matrix.copy()
    rig.pose.bones["B1"].location = (1, 2, 3)
    update()
    assert evaluated(rig).pose.bones["B1"].matrix == before
    rig.data.bones["B1"].id_data.update_tag()
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones["B1"].use_connect = False
    bpy.ops.object.mode_set(mode="OBJECT")
    update()
    assert evaluated(rig).pose.bones["B1"].matrix != before


@pytest.mark.parametrize("name", ["frame_change_post", "depsgraph_update_post"])
def test_what_a_handler_writes_is_evaluated_in_the_same_update_without_another_call(
    name: str,
) -> None:
    rig = make_chain(2)
    update()

    def write(_depsgraph: bpy.types.Depsgraph) -> None:
        rig.pose.bones["B0"].rotation_quaternion = (0.6, 0.8, 0, 0)

    other = {"frame_change_post", "depsgraph_update_post"} - {name}
    with calling(name, then=write) as calls, calling(*other) as other_calls:
        if name == "frame_change_post":
            go(5)
        else:
            rig.location.x = 1
            update()
    assert calls == [name]
    assert other_calls == []
    assert evaluated(rig).pose.bones["B0"].tail.y == pytest.approx(-0.96 + 0.2 * -0.28, abs=1e-5)


def test_keyed_values_are_in_the_file_before_the_frame_handlers_run() -> None:
    rig = make_chain(1)
    bone = rig.pose.bones["B0"]
    for frame, value in ((1, 0.0), (11, 1.0)):
        bone.location.x = value
        bone.keyframe_insert("location", index=0, frame=frame)
    found: list[float] = []
    with calling("frame_change_post", then=lambda _: found.append(bone.location.x)):
        go(6)
    assert found == pytest.approx([0.5])


TURNED = array("f", (0.6, 0.8, 0, 0))


def write_nothing(rig: bpy.types.Object) -> None:
    pass


def write_property(rig: bpy.types.Object) -> None:
    rig.pose.bones["B0"].rotation_quaternion = TURNED


def write_in_bulk(rig: bpy.types.Object) -> None:
    turns = array("f", [0.0]) * (4 * len(rig.pose.bones))
    rig.pose.bones.foreach_get("rotation_quaternion", turns)
    rig.pose.bones.foreach_set("rotation_quaternion", TURNED + turns[4:])


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
    rig = make_chain(2)
    for frame, value in ((1, 0.0), (11, 10.0)):
        rig.location.x = rig["custom"] = rig.pose.bones["B1"].location.x = value
        rig.keyframe_insert("location", index=0, frame=frame)
        rig.keyframe_insert('["custom"]', frame=frame)
        rig.pose.bones["B1"].keyframe_insert("location", index=0, frame=frame)
    go(1)

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
    rig = make_chain(2)
    file = str(tmp_path / "library.blend")
    bpy.data.libraries.write(file, {rig})
    bpy.data.objects.remove(rig)
    with bpy.data.libraries.load(file, link=True) as (_, linked):
        linked.objects = ["Rig"]
    rig = link(linked.objects[0])
    write_in_bulk(rig)
    assert rig.pose.bones["B0"].rotation_quaternion[:] == (1, 0, 0, 0)
    write_quietly(rig)
    assert rig.pose.bones["B0"].rotation_quaternion[:] == tuple(TURNED)


def test_a_saved_file_forgets_parents_that_only_linked_objects_have_brought(tmp_path: Path) -> None:
    """Random users name none for it."""
    parent(make_empty("Child"), make_empty("Parent"))
    library, file = str(tmp_path / "library.blend"), str(tmp_path / "file.blend")
    bpy.ops.wm.save_as_mainfile(filepath=library)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(library, link=True) as (_, linked):
        linked.objects = ["Child"]
    child = link(linked.objects[0])
    parent(make_empty("On Child"), child)
    parent(make_empty("On Parent"), child.parent)
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.open_mainfile(filepath=file)
    found = bpy.data.objects
    assert not found["Child"].is_library_indirect and found["Parent"].is_library_indirect
    assert found["On Child"].parent == found["Child"]
    assert found["Child"].parent == found["Parent"]
    assert found["On Parent"].parent is None


def test_before_an_update_it_is_told_what_is_tagged() -> None:
    """Also what was removed since: its name is safe, but to ask for its original crashes."""
    rig, empty = make_chain(1), make_empty()
    make_empty("Removed")
    update()
    found: list[set[str]] = []

    def look(_none: object) -> None:
        found.append({item.id.name for item in bpy.context.view_layer.depsgraph.updates})

    with calling("depsgraph_update_pre", then=look):
        empty.location.x = 3
        update()
        rig.pose.bones["B0"].location.x = 1
        update()
        removed = bpy.data.objects["Removed"]
        removed.location.x = 1
        bpy.data.objects.remove(removed)
        update()
    assert found[:2] == [{"Target"}, {"Rig"}]
    assert "Removed" in found[2]


def test_an_update_in_a_handler_calls_others_again_and_ends_what_is_told_of_the_first() -> None:
    """It calls none while the lists are empty.

    Where the first has made new relations, 4.2 and 4.5 crash later unless the scene is tagged too.
    """
    rig = make_chain(1)
    update()
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
            update()
        assert len(calls) == (1 if is_alone else 2)
    assert all(before and not updated and not after for before, updated, after in told)


@pytest.mark.parametrize("is_frame_set", [False, True])
def test_an_update_in_a_handler_plays_the_animation_where_a_script_has_set_the_frame(
    is_frame_set: bool,
) -> None:
    """So it does after undo."""
    rig = make_chain(1)
    bone = rig.pose.bones["B0"]
    for frame, value in ((1, 0.0), (11, 1.0)):
        bone.location.x = value
        bone.keyframe_insert("location", index=0, frame=frame)
    go(1)

    def nest(depsgraph: bpy.types.Depsgraph) -> None:
        if len(calls) == 1:
            bone.location.x = 7.0
            depsgraph.update()

    with calling("depsgraph_update_post", then=nest) as calls:
        if is_frame_set:
            bpy.context.scene.frame_current = 6
        else:
            rig.location.x = 1
        update()
    shown = evaluated(rig).pose.bones["B0"].location.x
    assert shown == pytest.approx(0.5 if is_frame_set else 7.0)


def test_a_keyed_rotation_mode_converts_what_the_channels_hold() -> None:
    rig = make_chain(1)
    bone = rig.pose.bones["B0"]
    for frame, mode in ((11, "QUATERNION"), (1, "XYZ")):
        bone.rotation_mode = mode
        bone.keyframe_insert("rotation_mode", frame=frame)
    go(1)
    bone.rotation_euler.x = 2.0
    go(11)
    assert bone.rotation_quaternion[:] == pytest.approx(tuple(Euler((2, 0, 0)).to_quaternion()))


def test_a_driver_has_a_target_evaluated_that_a_pointer_alone_has_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = make_chain(3)
    target = bpy.data.objects.new("In no scene", None)
    for frame, value in ((1, 0.0), (11, 10.0)):
        target.location.x = value
        target.keyframe_insert("location", index=0, frame=frame)
    add_constraint(rig, "B2", target)
    go(6)
    assert evaluated(target).matrix_world.translation.x == pytest.approx(5.0)
    monkeypatch.setattr(dependencies, "declare", lambda _armature: None)
    rig.driver_remove(dependency_driver.PATH)
    go(11)
    assert evaluated(target).matrix_world.translation.x != pytest.approx(10.0)


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
    rig, empty = make_chain(3), make_empty()
    update()
    found: list[list[bool]] = []

    def note(depsgraph: bpy.types.Depsgraph) -> None:
        shaded = [u.id.original for u in depsgraph.updates if u.is_updated_shading]
        found.append([depsgraph.id_type_updated("SCENE"), rig in shaded])

    with calling("depsgraph_update_post", then=note):
        empty.location.x = 3
        update()
        change(empty, rig)
        update()
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
    rig = make_chain()
    con: Any = rig.pose.bones["B1"].constraints.new("LIMIT_SCALE")
    update()
    moved: list[bool] = []

    def look(depsgraph: bpy.types.Depsgraph) -> None:
        updates: Any = depsgraph.updates
        moved.extend(one.is_updated_transform for one in updates if one.id.original == rig)

    with calling("depsgraph_update_post", then=look):
        rig.pose.bones["B1"].location.x = 1.0
        update()
        setattr(con, name, 0.5 if name == "influence" else not getattr(con, name))
        update()

    assert moved == [False, True]


def test_a_renamed_bone_has_its_armature_tagged() -> None:
    """By this it is known when names need not be looked at."""
    rig = make_chain()
    update()
    rig.pose.bones["B1"].name = "Other"
    tagged: list[str] = []
    graph: Any = bpy.context.view_layer.depsgraph
    tagged += [one.id.name for one in graph.updates]
    update()

    assert rig.data.name in tagged


def test_setting_a_property_without_an_update_function_updates_nothing() -> None:
    rig = make_chain(3)
    item = add_constraint(rig, "B2", make_empty())
    update()
    with calling("depsgraph_update_post") as calls:
        item.error, item.message, item.iterations_used = 5.0, "said", 7
        update()
        assert calls == []
        item.influence = 0.5  # This one has one.
        update()
        assert calls == ["depsgraph_update_post"]


def test_a_frame_change_updates_each_view_layer_that_is_evaluated() -> None:
    """Only the shown one in a window; the others when they are asked for."""
    second = bpy.context.scene.view_layers.new("Second")
    make_chain(1)
    second.update()
    layers: list[str] = []
    with calling("frame_change_post", then=lambda d: layers.append(d.view_layer.name)):
        go(5)
    assert sorted(layers) == ["Second", "ViewLayer"]


def test_the_first_update_of_a_view_layer_calls_no_handler() -> None:
    """So what a script switches to shows the FK pose until the next edit or frame.

    Windows have it solved as soon as they draw it.
    """
    rig = make_chain(1)
    update()
    second = bpy.context.scene.view_layers.new("Second")
    with calling("depsgraph_update_pre", "depsgraph_update_post") as calls:
        second.update()
        assert calls == []
        rig.update_tag()
        second.update()
        assert calls == ["depsgraph_update_pre", "depsgraph_update_post"]


def test_a_script_has_to_tag_an_object_that_it_keys_first_over_strips_of_the_nla(
    tmp_path: Path,
) -> None:
    """Without, Blender plays the strips alone, and only a loaded file plays the new action."""
    rig = make_chain(1)
    bone = rig.pose.bones["B0"]
    rig.keyframe_insert("location", frame=1)
    data = rig.animation_data
    action, slot = data.action, getattr(data, "action_slot", None)
    data.action = None
    strip = data.nla_tracks.new().strips.new("Strip", 1, action)
    if slot is not None:
        strip.action_slot = slot
    go(1)
    bone.keyframe_insert("rotation_quaternion", frame=1)
    for curve in animation.all_active_curves(rig)[:2]:
        curve.keyframe_points[0].co.y = 0.5
        curve.update()

    go(2)
    assert bone.rotation_quaternion[:] == (1.0, 0.0, 0.0, 0.0)
    path = str(tmp_path / "strips.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
    rig.update_tag(refresh={"OBJECT", "DATA", "TIME"})
    go(3)
    assert bone.rotation_quaternion[:] == (0.5, 0.5, 0.0, 0.0)
    bpy.ops.wm.open_mainfile(filepath=path)
    go(3)
    rig = bpy.data.objects["Rig"]
    assert rig.pose.bones["B0"].rotation_quaternion[:] == (0.5, 0.5, 0.0, 0.0)
