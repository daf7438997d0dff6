"""Feet on ground that stands still are solved ahead, and any change of the ground is noticed.

A frame then shows, bit for bit, what it shows if nothing is solved ahead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import cycle
from typing import Any

import bpy
import pytest
from inside import forget, solver_calls
from kept_files import open_kept
from mathutils import Matrix
from rendering import witnessed
from rigs import (
    add_constraint,
    everything_bits,
    go,
    make_chain,
    make_empty,
    pose_bits,
    update,
    watch,
)
from walkers import flat, hills, key, make_ground, make_walker, simulate, stand, walker_on

from addon.blender.rays import Ground

pytestmark = pytest.mark.newest

FRAMES = range(3, 28)
"""A whole cycle of the walk."""


def start_watching(rig: bpy.types.Object, evaluations: list[float]) -> None:
    """Count the evaluations from the third frame on."""
    watch(rig, "Foot.L")
    update()
    go(1)
    go(2)
    evaluations.clear()


def ground_of_walker() -> bpy.types.Object:
    return bpy.data.objects["Ground"]


def played(between: Callable[[int], None] = lambda _: None) -> list[bytes]:
    found = []
    for frame in FRAMES:
        between(frame)
        go(frame)
        found.append(everything_bits())
    return found


def assert_the_same_if_nothing_is_solved_ahead(
    monkeypatch: pytest.MonkeyPatch, play: Callable[[], object]
) -> None:
    forget()
    go(1)
    go(2)
    found = play()
    with monkeypatch.context() as patch:
        patch.setattr(Ground, "state", lambda *_: None)
        forget()
        go(1)
        go(2)
        assert play() == found


def test_frames_are_evaluated_once_from_the_third_on(evaluations: list[float]) -> None:
    """In the first one the ground is read, in the second one it is found to stand still."""
    rig = walker_on(hills)
    start_watching(rig, evaluations)
    with solver_calls() as solved:
        first = played()
    assert len(set(first)) == len(evaluations) == len(FRAMES)
    assert len(solved) == 2 * len(FRAMES), "each leg once"
    assert played() == first
    assert len(evaluations) == 2 * len(FRAMES)


def test_an_armature_that_only_its_targets_move_is_evaluated_once(
    evaluations: list[float],
) -> None:
    rig = walker_on(hills)
    rig.animation_data.action = None
    simulate(rig)
    start_watching(rig, evaluations)
    assert len(set(played())) > len(FRAMES) // 2
    assert len(evaluations) == len(FRAMES)


def test_frames_on_ground_that_deforms_are_evaluated_once_the_second_time(
    evaluations: list[float],
) -> None:
    """Far behind the figure, so that the feet are where they were."""
    rig = walker_on(hills)
    wave: Any = ground_of_walker().modifiers.new("Wave", "WAVE")
    wave.start_position_x, wave.falloff_radius = -2.0, 0.5
    watch(rig, "Foot.L")
    update()
    first = played()
    assert len(evaluations) >= 2 * len(FRAMES)
    evaluations.clear()
    assert played() == first
    assert len(evaluations) <= len(FRAMES) + 2


@pytest.mark.parametrize("use_lock", [True, False])
@pytest.mark.parametrize("hip", ["Hip", ""])
def test_still_ground_gives_the_same_frames(
    use_lock: bool, hip: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    walker_on(hills, use_lock=use_lock, hip=hip)
    assert_the_same_if_nothing_is_solved_ahead(monkeypatch, played)


def test_subframes_are_solved_ahead_and_the_same(
    monkeypatch: pytest.MonkeyPatch, evaluations: list[float]
) -> None:
    start_watching(walker_on(hills), evaluations)

    def play() -> list[bytes]:
        found = []
        for frame in FRAMES:
            go(frame + 0.37)
            found.append(everything_bits())
        return found

    play()
    assert len(evaluations) == len(FRAMES)
    assert_the_same_if_nothing_is_solved_ahead(monkeypatch, play)


def open_walker(use_lock: bool = True) -> None:
    open_kept(("walker on hills", use_lock), lambda: walker_on(hills, use_lock=use_lock))


@cache
def on_still_ground(use_lock: bool = True) -> list[bytes]:
    """The frames of the walker if nothing is changed."""
    open_walker(use_lock)
    return played()


def keyed(ground: bpy.types.Object) -> None:
    key(ground, "location", [(0, 0, 0), (0, 0, 0.3)], [1, 40], False)


def parent_keyed(ground: bpy.types.Object) -> None:
    ground.parent = make_empty("Carrier", (0, 0, 0))
    keyed(ground.parent)


def driven(ground: bpy.types.Object) -> None:
    ground.driver_add("location", 2).driver.expression = "0.01 * frame"


def constrained(ground: bpy.types.Object) -> None:
    leader = make_empty("Leader", (0, 0, 0))
    keyed(leader)
    ground.constraints.new("COPY_LOCATION").target = leader


def on_a_solved_bone(ground: bpy.types.Object) -> None:
    target = make_empty("Lift", (0.5, 0, 0.5))
    key(target, "location", [(0.5, 0, 0.5), (0.5, 0, 1.0)], [1, 40], False)
    carrier = make_chain(3)
    add_constraint(carrier, carrier.pose.bones[-1].name, target)
    ground.parent, ground.parent_type = carrier, "BONE"
    ground.parent_bone = carrier.pose.bones[-1].name


MOVED = (keyed, parent_keyed, driven, constrained, on_a_solved_bone)


def hidden_now_and_then(ground: bpy.types.Object) -> None:
    for frame in range(1, 40, 3):
        ground.hide_viewport = frame % 2 == 0
        ground.keyframe_insert("hide_viewport", frame=frame)


def waving(ground: bpy.types.Object) -> None:
    ground.modifiers.new("Wave", "WAVE").height = 0.2


def displaced_by_keys(ground: bpy.types.Object) -> None:
    displace = ground.modifiers.new("Displace", "DISPLACE")
    for frame in (1, 20, 21, 40):  # It stands still for a while in between.
        displace.strength = 0.1 if frame in (1, 40) else 0.3
        displace.keyframe_insert("strength", frame=frame)


def displaced_by_a_moved_texture(ground: bpy.types.Object) -> None:
    texture: Any = bpy.data.textures.new("Clouds", "CLOUDS")
    for frame, depth in ((1, 0.2), (40, 2.0)):
        texture.noise_scale = depth
        texture.keyframe_insert("noise_scale", frame=frame)
    displace: Any = ground.modifiers.new("Displace", "DISPLACE")
    displace.texture, displace.strength = texture, 0.3


def raised_by_nodes_with_the_time(ground: bpy.types.Object) -> None:
    tree: Any = bpy.data.node_groups.new("Nodes", "GeometryNodeTree")
    tree.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    start, end, time, place, offset = [
        tree.nodes.new(kind)
        for kind in (
            "NodeGroupInput",
            "NodeGroupOutput",
            "GeometryNodeInputSceneTime",
            "GeometryNodeSetPosition",
            "ShaderNodeCombineXYZ",
        )
    ]
    tree.links.new(time.outputs["Seconds"], offset.inputs["Z"])
    tree.links.new(offset.outputs[0], place.inputs["Offset"])
    tree.links.new(start.outputs[0], place.inputs["Geometry"])
    tree.links.new(place.outputs[0], end.inputs[0])
    modifier: Any = ground.modifiers.new("Nodes", "NODES")
    modifier.node_group = tree


def shaped_by_keys(ground: bpy.types.Object) -> None:
    ground.shape_key_add(name="Basis")
    high = ground.shape_key_add(name="High")
    for point in high.data:
        point.co.z += 0.3
    for frame, value in ((1, 0.0), (40, 1.0)):
        high.value = value
        high.keyframe_insert("value", frame=frame)


def hooked_to_a_keyed_empty(ground: bpy.types.Object) -> None:
    empty = make_empty("Hand", (0, 0, 0))
    hook: Any = ground.modifiers.new("Hook", "HOOK")
    hook.object = empty
    hook.vertex_indices_set(range(len(ground.data.vertices)))
    keyed(empty)


def skinned_by_a_solved_armature(ground: bpy.types.Object) -> None:
    on_a_solved_bone(ground)
    carrier = ground.parent
    ground.parent = None
    ground.vertex_groups.new(name=carrier.pose.bones[-1].name).add(
        range(len(ground.data.vertices)), 1.0, "REPLACE"
    )
    skin: Any = ground.modifiers.new("Armature", "ARMATURE")
    skin.object = carrier


DEFORMED = (
    hidden_now_and_then,
    waving,
    displaced_by_keys,
    displaced_by_a_moved_texture,
    raised_by_nodes_with_the_time,
    shaped_by_keys,
    hooked_to_a_keyed_empty,
    skinned_by_a_solved_armature,
)

Change = Callable[[bpy.types.Object], None]


@pytest.mark.parametrize(
    ("change", "use_lock"),
    [
        *((change, True) for change in (*MOVED, *DEFORMED)),
        *((change, False) for change in (keyed, on_a_solved_bone, waving, hidden_now_and_then)),
    ],
    ids=lambda value: value.__name__ if callable(value) else "locked" if value else "free",
)
def test_ground_that_changes_gives_the_frames_of_one_evaluation_after_another(
    change: Change, use_lock: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    still = on_still_ground(use_lock)
    open_walker(use_lock)
    change(ground_of_walker())
    update()
    counts = []
    seen = []

    def play() -> list[bytes]:
        with solver_calls() as solved:
            found = played()
        counts.append(len(solved))
        seen.append(found)
        return found

    assert_the_same_if_nothing_is_solved_ahead(monkeypatch, play)
    # Each chain once a frame, but for two of them: what changes is taken to change again.
    chains = sum(len(ob.fabrik.constraints) for ob in bpy.data.objects)
    assert counts[0] <= chains * (len(FRAMES) + 2)
    # Blender keeps evaluating what is hidden by keys, as feet depend on it.
    assert change is hidden_now_and_then or seen[0] != still


def raise_mesh(ground: bpy.types.Object) -> None:
    ground.data.transform(Matrix.Translation((0.0, 0.0, 0.05)))
    ground.data.update()


def lift(ground: bpy.types.Object) -> None:
    ground.location.z += 0.05


def raise_offset(_ground: bpy.types.Object) -> None:
    for item in bpy.data.objects["Walker"].fabrik.constraints:
        item.ground.offset += 0.01


def raise_target(_ground: bpy.types.Object) -> None:
    bpy.data.objects["Target.L"].delta_location.z += 0.01


def raise_parent_of_ground(ground: bpy.types.Object) -> None:
    if ground.parent is None:
        ground.parent = make_empty("Carrier", (0, 0, 0))
    ground.parent.location.z += 0.05


def hide(ground: bpy.types.Object) -> None:
    ground.hide_viewport = not ground.hide_viewport


def swap_ground(ground: bpy.types.Object) -> None:
    other = bpy.data.objects.get("Other") or make_ground(flat, "Other")
    rig = bpy.data.objects["Walker"]
    for item in rig.fabrik.constraints:
        item.ground.object = other if item.ground.object == ground else ground


EDITS = (raise_mesh, lift, raise_offset, raise_target, raise_parent_of_ground, hide, swap_ground)


NOW_AND_THEN = (False, False, False, False, True)


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
@pytest.mark.parametrize("is_evaluated", [True, False], ids=["evaluated", "unevaluated"])
def test_edits_between_frames_are_noticed(
    edit: Change, is_evaluated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether Blender has evaluated them before the next frame, or evaluates them with it."""
    still = on_still_ground()
    open_walker()
    every = cycle(NOW_AND_THEN)

    def now_and_then(_frame: int) -> None:
        if next(every):
            edit(ground_of_walker())
            if is_evaluated:
                update()

    bpy.ops.ed.undo_push(message="start")
    go(1)
    found = played(now_and_then)
    assert found != still
    bpy.ops.ed.undo_push(message="edited")
    bpy.ops.ed.undo()
    every = cycle(NOW_AND_THEN)
    monkeypatch.setattr(Ground, "state", lambda *_: None)
    go(1)
    assert played(now_and_then) == found


PLACES = ("frame_change_pre", 0), ("frame_change_pre", 99), ("frame_change_post", 0)


@pytest.mark.parametrize(("name", "place"), PLACES)
@pytest.mark.parametrize("edit", [raise_mesh, lift], ids=lambda edit: edit.__name__)
def test_ground_that_a_handler_of_another_extension_moves_is_noticed(
    name: str, place: int, edit: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    walker_on(hills)
    ground = ground_of_walker()
    places = [tuple(vertex.co) for vertex in ground.data.vertices]
    scene = bpy.context.scene

    of_event: list[Any] = getattr(bpy.app.handlers, name)

    def edit_now_and_then(_scene: bpy.types.Scene, _depsgraph: object = None) -> None:
        if scene.frame_current % 5 == 0:
            edit(ground)

    def take_place(_frame: int) -> None:
        if edit_now_and_then in of_event:  # Our handler has come to the end meanwhile.
            of_event.remove(edit_now_and_then)
        of_event.insert(place, edit_now_and_then)

    def play() -> list[bytes]:
        ground.location.z = 0.0
        for vertex, start in zip(ground.data.vertices, places, strict=True):
            vertex.co = start
        ground.data.update()
        go(1)
        go(2)
        try:
            return played(take_place)
        finally:
            of_event.remove(edit_now_and_then)

    assert_the_same_if_nothing_is_solved_ahead(monkeypatch, play)


def test_a_render_has_ground_of_its_own() -> None:
    """Rays at what the viewport shows would hit something else, and nothing else tells that.

    Nothing is edited after the viewport has played frames, so that it is solved ahead.
    """
    rig, ground = make_walker(), make_ground()
    displace: Any = ground.modifiers.new("Displace", "DISPLACE")
    displace.strength, displace.show_render = 0.05, False
    stand(rig, ground)
    simulate(rig)
    shown = {}
    with witnessed() as found:
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 5, 19
        for frame in range(1, 20):
            go(frame)
            shown[frame] = pose_bits(rig)
        bpy.ops.render.render(animation=True)
    displace.show_viewport = False
    for frame in range(5, 20):
        go(frame)
        assert found[frame] == pose_bits(rig) != shown[frame]


def test_frames_after_undo_are_the_same() -> None:
    walker_on(hills)
    bpy.ops.ed.undo_push(message="before")
    first = played()
    raise_mesh(ground_of_walker())
    bpy.ops.ed.undo_push(message="edit")
    edited = played()
    assert edited != first
    bpy.ops.ed.undo()
    assert played() == first
    bpy.ops.ed.redo()
    assert played() == edited


def test_settings_of_the_ground_that_are_keyed_are_not_foreseen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = walker_on(hills)
    item = rig.fabrik.constraints[0]
    for frame, offset in ((1, 0.0), (40, 0.1)):
        item.ground.offset = offset
        item.ground.keyframe_insert("offset", frame=frame)
    update()
    assert_the_same_if_nothing_is_solved_ahead(monkeypatch, played)


def test_the_scene_as_ground_is_not_foreseen(evaluations: list[float]) -> None:
    """What is visible may change in more ways than Blender tells."""
    start_watching(walker_on(hills, source="SCENE"), evaluations)
    played()
    assert len(evaluations) == 2 * len(FRAMES)


def test_edits_are_not_solved_ahead() -> None:
    """Blender may evaluate anything then, so that it would be solved twice."""
    rig = walker_on(hills, use_lock=False)
    for frame in FRAMES:
        go(frame)
    target = bpy.data.objects["Target.L"]
    shown = pose_bits(rig)
    for _ in range(3):
        target.location.z += 0.05
        with solver_calls() as solved:
            update()
        assert len(solved) <= 2, "each leg once"
        assert pose_bits(rig) != shown
        shown = pose_bits(rig)
    for frame in FRAMES:
        go(frame)
    ground_of_walker().location.z += 0.05
    with solver_calls() as solved:
        go(FRAMES[1])
    assert len(solved) <= 2
