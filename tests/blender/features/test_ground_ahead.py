"""Feet on ground that stands still are solved ahead, and any change of the ground is noticed.

A frame then shows, bit for bit, what it shows if nothing is solved ahead.
"""

from collections.abc import Callable
from functools import cache
from itertools import cycle
from typing import Any

import bpy
import pytest
import rigs
from inside import forget, solver_calls
from kept_files import open_kept
from mathutils import Matrix
from rendering import witnessed
from walkers import exclude, flat, hills, key, make_ground, make_walker, simulate, stand, walker_on

from addon.blender.rays import Ground

FRAMES = range(3, 28)
"""A whole cycle of the walk."""

Change = Callable[[bpy.types.Object], None]


def raise_mesh(ground: bpy.types.Object) -> None:
    ground.data.transform(Matrix.Translation((0.0, 0.0, 0.05)))
    ground.data.update()


def lift(ground: bpy.types.Object) -> None:
    ground.location.z += 0.05


def item_settings(name: str, *values: float) -> Change:
    """Set a setting of both feet on the ground, or key it from the first frame to the 40th."""

    def set_or_key(_ground: bpy.types.Object) -> None:
        for item in bpy.data.objects["Walker"].fabrik.constraints:
            for frame, value in zip((1, 40), values, strict=False):
                setattr(item.ground, name, value)
                if len(values) > 1:
                    item.ground.keyframe_insert(name, frame=frame)

    return set_or_key


def start_watching(rig: bpy.types.Object, evaluations: list[float]) -> None:
    """Count the evaluations from the third frame on."""
    rigs.watch(rig, "Foot.L")
    rigs.update()
    rigs.go(1)
    rigs.go(2)
    evaluations.clear()


def ground_of_walker() -> bpy.types.Object:
    return bpy.data.objects["Ground"]


def played(between: Callable[[int], None] = lambda _: None) -> list[bytes]:
    found = []
    for frame in FRAMES:
        between(frame)
        rigs.go(frame)
        found.append(rigs.everything_bits())
    return found


def assert_the_same_if_nothing_is_solved_ahead(
    monkeypatch: pytest.MonkeyPatch, play: Callable[[], object]
) -> None:
    forget()
    rigs.go(1)
    rigs.go(2)
    found = play()
    with monkeypatch.context() as patch:
        patch.setattr(Ground, "state", lambda *_: None)
        forget()
        rigs.go(1)
        rigs.go(2)
        assert play() == found


@pytest.mark.newest
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


@pytest.mark.newest
def test_an_armature_that_only_its_targets_move_is_evaluated_once(
    evaluations: list[float],
) -> None:
    rig = walker_on(hills)
    rig.animation_data.action = None
    simulate(rig)
    start_watching(rig, evaluations)
    assert len(set(played())) > len(FRAMES) // 2
    assert len(evaluations) == len(FRAMES)


@pytest.mark.newest
def test_frames_on_ground_that_deforms_are_evaluated_once_the_second_time(
    evaluations: list[float],
) -> None:
    """Far behind the figure, so that the feet are where they were."""
    rig = walker_on(hills)
    wave: Any = ground_of_walker().modifiers.new("Wave", "WAVE")
    wave.start_position_x, wave.falloff_radius = -2.0, 0.5
    rigs.watch(rig, "Foot.L")
    rigs.update()
    first = played()
    assert len(evaluations) >= 2 * len(FRAMES)
    evaluations.clear()
    assert played() == first
    assert len(evaluations) <= len(FRAMES) + 2


@pytest.mark.newest
@pytest.mark.parametrize("use_lock", [True, False])
@pytest.mark.parametrize("hip", ["Hip", ""])
def test_still_ground_gives_the_same_frames(
    use_lock: bool, hip: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    walker_on(hills, use_lock=use_lock, hip=hip)
    assert_the_same_if_nothing_is_solved_ahead(monkeypatch, played)


@pytest.mark.newest
def test_subframes_are_solved_ahead_and_the_same(
    monkeypatch: pytest.MonkeyPatch, evaluations: list[float]
) -> None:
    start_watching(walker_on(hills), evaluations)

    def play() -> list[bytes]:
        found = []
        for frame in FRAMES:
            rigs.go(frame + 0.37)
            found.append(rigs.everything_bits())
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
    ground.parent = rigs.make_empty("Carrier", (0, 0, 0))
    keyed(ground.parent)


def driven(ground: bpy.types.Object) -> None:
    ground.driver_add("location", 2).driver.expression = "0.01 * frame"


def constrained(ground: bpy.types.Object) -> None:
    leader = rigs.make_empty("Leader", (0, 0, 0))
    keyed(leader)
    ground.constraints.new("COPY_LOCATION").target = leader


def on_a_solved_bone(ground: bpy.types.Object) -> None:
    target = rigs.make_empty("Lift", (0.5, 0, 0.5))
    key(target, "location", [(0.5, 0, 0.5), (0.5, 0, 1.0)], [1, 40], False)
    carrier = rigs.make_chain(3)
    rigs.add_constraint(carrier, carrier.pose.bones[-1].name, target)
    ground.parent, ground.parent_type = carrier, "BONE"
    ground.parent_bone = carrier.pose.bones[-1].name


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
    empty = rigs.make_empty("Hand", (0, 0, 0))
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


def vertices_raised(start: float, end: float, by: float) -> Change:
    """Raise a part of the ground, as in front of the feet or where they are last."""

    def raise_part(ground: bpy.types.Object) -> None:
        for vertex in ground.data.vertices:
            if start < vertex.co.x < end:
                vertex.co.z += by

    return raise_part


def mesh_replaced(ground: bpy.types.Object) -> None:
    ground.data = ground.data.copy()
    raise_mesh(ground)


def displaced(ground: bpy.types.Object) -> None:
    ground.modifiers.new("Displace", "DISPLACE").strength = 0.05


def edited_in_edit_mode(ground: bpy.types.Object) -> None:
    rigs.activate(ground)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.transform.translate(value=(0.0, 0.0, 0.05))
    bpy.ops.object.mode_set(mode="OBJECT")


def target_keys_raised(_ground: bpy.types.Object) -> None:
    for curve in rigs.curves(bpy.data.objects["Target.L"]):
        if (curve.data_path, curve.array_index) == ("location", 2):
            for point in curve.keyframe_points:
                point.co.y += 0.02
            curve.update()


EDITED: dict[str, Change] = {
    "a part raised": vertices_raised(0.4, 0.9, 0.05),
    "lowered ahead of the feet": vertices_raised(1.2, 9.0, -0.2),
    "its mesh transformed": raise_mesh,
    "its mesh replaced": mesh_replaced,
    "lifted": lift,
    "displaced": displaced,
    "moved in Edit Mode": edited_in_edit_mode,
    "excluded from the view layer": exclude,
    "an offset set": item_settings("offset", 0.03),
    "an offset keyed": item_settings("offset", 0.0, 0.03),
    "the lock time keyed": item_settings("lock_time", 0.3, 0.02),
    "the keys of a target raised": target_keys_raised,
}
ANIMATED: dict[str, Change] = {
    "keyed": keyed,
    "its parent keyed": parent_keyed,
    "driven": driven,
    "constrained": constrained,
    "on a solved bone": on_a_solved_bone,
    "hidden now and then": hidden_now_and_then,
    "waving": waving,
    "displaced by keys": displaced_by_keys,
    "displaced by a moved texture": displaced_by_a_moved_texture,
    "raised by nodes with the time": raised_by_nodes_with_the_time,
    "shaped by keys": shaped_by_keys,
    "hooked to a keyed Empty": hooked_to_a_keyed_empty,
    "skinned by a solved armature": skinned_by_a_solved_armature,
}
UNLOCKED = ("keyed", "on a solved bone", "waving", "hidden now and then")


@pytest.mark.parametrize(
    ("change", "use_lock"),
    [
        *((change, True) for change in EDITED),
        *(pytest.param(change, True, marks=pytest.mark.newest) for change in ANIMATED),
        *(pytest.param(change, False, marks=pytest.mark.newest) for change in UNLOCKED),
    ],
)
def test_ground_that_changes_gives_the_frames_of_one_evaluation_after_another(
    change: str, use_lock: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where frames were played before."""
    still = on_still_ground(use_lock)
    open_walker(use_lock)
    rigs.go(1)
    rigs.go(2)
    assert played() == still
    {**EDITED, **ANIMATED}[change](ground_of_walker())
    rigs.update()
    rigs.go(1)
    rigs.go(2)
    changed = played()
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
    assert seen[0] == changed
    # Blender keeps evaluating what is hidden by keys, as feet depend on it.
    assert change == "hidden now and then" or changed != still


def raise_offset(_ground: bpy.types.Object) -> None:
    for item in bpy.data.objects["Walker"].fabrik.constraints:
        item.ground.offset += 0.01


def raise_target(_ground: bpy.types.Object) -> None:
    bpy.data.objects["Target.L"].delta_location.z += 0.01


def raise_parent_of_ground(ground: bpy.types.Object) -> None:
    if ground.parent is None:
        ground.parent = rigs.make_empty("Carrier", (0, 0, 0))
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


@pytest.mark.newest
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
                rigs.update()

    bpy.ops.ed.undo_push(message="start")
    rigs.go(1)
    found = played(now_and_then)
    assert found != still
    bpy.ops.ed.undo_push(message="edited")
    bpy.ops.ed.undo()
    every = cycle(NOW_AND_THEN)
    monkeypatch.setattr(Ground, "state", lambda *_: None)
    rigs.go(1)
    assert played(now_and_then) == found


PLACES = ("frame_change_pre", 0), ("frame_change_pre", 99), ("frame_change_post", 0)


@pytest.mark.newest
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
        rigs.go(1)
        rigs.go(2)
        try:
            return played(take_place)
        finally:
            of_event.remove(edit_now_and_then)

    assert_the_same_if_nothing_is_solved_ahead(monkeypatch, play)


@pytest.mark.newest
def test_a_render_has_ground_of_its_own() -> None:
    """Rays at what the viewport shows would hit something else, and nothing else shows that.

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
            rigs.go(frame)
            shown[frame] = rigs.pose_bits(rig)
        bpy.ops.render.render(animation=True)
    displace.show_viewport = False
    for frame in range(5, 20):
        rigs.go(frame)
        assert found[frame] == rigs.pose_bits(rig) != shown[frame]


@pytest.mark.newest
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


@pytest.mark.newest
def test_the_scene_as_ground_is_not_foreseen(evaluations: list[float]) -> None:
    """What is visible may change in more ways than Blender reports."""
    start_watching(walker_on(hills, source="SCENE"), evaluations)
    played()
    assert len(evaluations) == 2 * len(FRAMES)


@pytest.mark.newest
def test_edits_are_not_solved_ahead() -> None:
    """Blender may evaluate anything then, so that it would be solved twice."""
    rig = walker_on(hills, use_lock=False)
    for frame in FRAMES:
        rigs.go(frame)
    target = bpy.data.objects["Target.L"]
    shown = rigs.pose_bits(rig)
    for _ in range(3):
        target.location.z += 0.05
        with solver_calls() as solved:
            rigs.update()
        assert len(solved) <= 2, "each leg once"
        assert rigs.pose_bits(rig) != shown
        shown = rigs.pose_bits(rig)
    for frame in FRAMES:
        rigs.go(frame)
    ground_of_walker().location.z += 0.05
    with solver_calls() as solved:
        rigs.go(FRAMES[1])
    assert len(solved) <= 2
