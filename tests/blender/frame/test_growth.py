"""Four times as much takes four times as many calls of our functions, whatever is done with it."""

import gc
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from time import process_time
from types import FrameType
from typing import Any

import bpy
import pytest
from rigs import add_constraint, drive, go, link, make_armature, make_empty, update

import addon
from addon.features.hold import editing as holding
from addon.frame import chain

FEW = 12
"""How many of something there are, and then four times as many."""

MOST = 4.6
"""By what factor the calls may grow then."""

IDLE = 40
"""Objects that nothing uses: a scene with few of the others is as crowded as one with many."""

OURS = str(Path(addon.__file__).parent)
"""Not the solver: what it has to do depends on where the targets are."""

INLINED = ("<listcomp>", "<setcomp>", "<dictcomp>")
"""What isn't a call from Python 3.12 on."""

Scene = tuple[Any, Any]
"""An armature, and an object that something solved depends on."""


def rig_of(count: int = 1, length: int = 2, name: str = "Rig", at: float = 0.0) -> Any:
    """Make an armature of chains of bones that are nearly straight: C0.0, C0.1 … C1.0 …"""
    bones: dict[str, Any] = {}
    for i in range(count):
        joints = [(at + i, 0.1 * (k % 2), k) for k in range(length + 1)]
        for k in range(length):
            parent = f"C{i}.{k - 1}" if k else ""
            bones[f"C{i}.{k}"] = joints[k], joints[k + 1], parent
    return make_armature(bones, name)


def rigs_of(count: int) -> list[Any]:
    """Make armatures of two bones each."""
    first = rig_of()
    rigs = [first, *(link(first.copy()) for _ in range(count - 1))]
    for i, rig in enumerate(rigs):
        rig.name, rig.location.x = f"Rig {i:03}", i
        rig.data = rig.data.copy() if i else rig.data
    return rigs


def reach(rig: Any, target: Any, bone: str = "", tip: str = "C0.1", **settings: object) -> Any:
    # Few iterations, so that it does not count how far the targets are away.
    more = {"chain_count": 2, "iterations": 2, **settings}
    return add_constraint(rig, tip, target, subtarget=bone, **more)


def hang(ob: Any, parent: Any, bone: str = "") -> None:
    ob.parent = parent
    if bone:
        ob.parent_type, ob.parent_bone = "BONE", bone


def nest(ob: Any, count: int) -> Any:
    """Parent an object to the last of some that are parented to each other; return the first."""
    parents = [make_empty(f"Parent {i:03}", (0, 0, 0.001)) for i in range(count)]
    for above, below in zip(parents, [*parents[1:], ob], strict=True):
        below.parent = above
    return parents[0]


def deep(ob: str) -> Callable[[int], Scene]:
    """Return a scene in which the armature or its target is below many parents."""

    def make(count: int) -> Scene:
        found = {"rig": rig_of(), "target": make_empty()}
        reach(*found.values())
        nest(found[ob], count)
        return found["rig"], found["target"]

    return make


def deep_on_a_solved_bone(count: int) -> Scene:
    (rig, other), target, goal = rigs_of(2), make_empty(), make_empty("Goal")
    reach(rig, target)
    reach(other, goal)
    hang(nest(target, count), other, "C0.1")
    return rig, goal


def in_turn(follow: Callable[[Any, Any, Any], object]) -> Callable[[int], Scene]:
    """Return a scene of armatures, each of which follows the one before it."""

    def make(count: int) -> Scene:
        rigs, target = rigs_of(count), make_empty()
        reach(rigs[0], target)
        for before, rig in pairwise(rigs):
            follow(rig, before, target)
        return rigs[0], target

    return make


def follow(con: Any, rig: Any, bone: str) -> None:
    con.target, con.subtarget = rig, bone


def reach_between(rig: Any, before: Any, _target: Any) -> None:
    empty = make_empty("Between", (0.2, 0.0, 0.5))
    hang(empty, before, "C0.1")
    reach(rig, empty)


def armatures_in_both_directions(count: int) -> Scene:
    """Each one's target is parented to a bone of the next, and the other way round."""
    rigs, target = [rig_of(2, name=f"Rig {i:03}", at=i) for i in range(count)], make_empty()
    reach(rigs[0], target)
    for before, rig in pairwise(rigs):
        reach(rig, before, "C0.1")
        reach(before, rig, "C0.0", tip="C1.1")
    return rigs[0], target


def unrelated_armatures(count: int) -> Scene:
    rigs = rigs_of(count)
    targets = [make_empty(f"Target {i:03}", (i, 0, 1)) for i in range(count)]
    for rig, target in zip(rigs, targets, strict=True):
        reach(rig, target)
    return rigs[0], targets[0]


def all_by_one(count: int) -> Scene:
    rigs, target = rigs_of(count), make_empty()
    for i, rig in enumerate(rigs):
        reach(rig, rigs[0] if i else target, "C0.1" if i else "")
    return rigs[0], target


def one_by_all(count: int) -> Scene:
    rig, rigs, target = rig_of(count, name="Many"), rigs_of(count), make_empty()
    for i, other in enumerate(rigs):
        reach(other, target)
        reach(rig, other, "C0.1", tip=f"C{i}.1")
    return rig, target


def chains(
    add: Callable[[Any, Any, int], object], length: int = 2, lengthen: int = 0
) -> Callable[[int], Scene]:
    """Return a scene of an armature with something for each of many chains, or one that grows."""

    def make(count: int) -> Scene:
        grown = length + lengthen * count
        rig, target = rig_of(1 if lengthen else count, grown), make_empty()
        for i in range(count):
            add(rig, target, i)
        return rig, target

    return make


def reach_for_the_next(rig: Any, target: Any, i: int) -> None:
    next_one = f"C{i + 1}.1"
    is_last = next_one not in rig.pose.bones
    reach(rig, target if is_last else rig, "" if is_last else next_one, tip=f"C{i}.1")


def face_the_one_before(rig: Any, target: Any, i: int) -> None:
    poles: Any = {"pole_target": rig, "pole_subtarget": f"C{i - 1}.1"} if i else {}
    reach(rig, target, tip=f"C{i}.1", **poles)


def reach_and_look(rig: Any, target: Any, i: int) -> None:
    reach(rig, target, tip=f"C0.{2 * i + 1}")
    reach(rig, target, tip=f"C0.{2 * i + 2}", solver="LOOK_AT")


def begin_at_the_one_before(rig: Any, target: Any, i: int) -> None:
    """The root of each is on a bone that follows the tip of the one before."""
    reach(rig, target, tip=f"C{i}.2")
    if i:
        follow(rig.pose.bones[f"C{i}.0"].constraints.new("COPY_LOCATION"), rig, f"C{i - 1}.2")


def chains_of_keyed_targets(count: int) -> Scene:
    rig = rig_of(count)
    targets = [make_empty(f"Target {i:03}", (i, 0, 1)) for i in range(count)]
    for i, target in enumerate(targets):
        for frame in (1, 40):
            target.location.y = 0.01 * frame
            target.keyframe_insert("location", frame=frame)
        reach(rig, target, tip=f"C{i}.1")
    return rig, targets[0]


def chains_of_driven_targets(count: int) -> Scene:
    """Each target is driven by the one before, and the first one by a solved bone."""
    (rig, other), target = (rig_of(count), rig_of(name="Other", at=-3.0)), make_empty()
    reach(other, target)
    source, bone = other, "C0.1"
    for i in range(count):
        driven = make_empty(f"Driven {i:03}", (i, 0, 1))
        drive(driven.driver_add("location", 1), source, bone=bone)
        reach(rig, driven, tip=f"C{i}.1")
        source, bone = driven, ""
    return rig, target


def layers(count: int) -> Scene:
    rig, target = rig_of(), make_empty()
    for _ in range(count):
        reach(rig, target, solver="LOOK_AT")
    return rig, target


def grounds(count: int) -> Scene:
    """The ground is a collection of objects that are parented to each other."""
    rig, target = rig_of(), make_empty()
    collection = bpy.data.collections.new("Grounds")
    bpy.context.scene.collection.children.link(collection)
    for i in range(count):
        mesh = bpy.data.objects.new(f"Ground {i:03}", bpy.data.meshes.new("Ground"))
        mesh.parent = bpy.data.objects[f"Ground {i - 1:03}"] if i else None
        collection.objects.link(mesh)
    item = reach(rig, target)
    item.ground.source, item.ground.collection, item.ground.use = "COLLECTION", collection, True
    return rig, target


def feet(count: int) -> Scene:
    """All feet of an armature stand on one ground, and find its floor together."""
    rig, target = rig_of(count), make_empty()
    ground = link(bpy.data.objects.new("Ground", bpy.data.meshes.new("Ground")))
    for i in range(count):
        item = reach(rig, target, tip=f"C{i}.1")
        item.ground.object, item.ground.use = ground, True
    return rig, target


def legs(count: int) -> Scene:
    rig, target = rig_of(count), make_empty()
    gait = rig.fabrik.gaits.add()
    for i in range(count):
        item = reach(rig, target, tip=f"C{i}.1")
        item.name = f"Leg {i}"
        gait.legs.add().constraint = item.name
    return rig, target


def holds_in_turn(count: int) -> Scene:
    rig, target = rig_of(count), make_empty()
    update()
    for i in range(count):
        holder = holding.Holder(rig, f"C{i - 1}.1") if i else holding.Holder(target)
        holding.hold([holding.Held(rig, f"C{i}.0")], holder, 1, True)
    return rig, target


def calls_of(work: Callable[[], object]) -> int:
    """Return how many of our functions something calls, and how often it resumes generators."""
    found = 0

    def note(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal found
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(OURS) and code.co_name not in INLINED:
            found += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


EDITS: dict[str, Callable[[Any, Any], object]] = {
    "first plan": lambda _rig, _target: None,
    "target moved": lambda _rig, target: move(target),
    "bone posed": lambda rig, _target: setattr(
        rig.pose.bones[0], "rotation_quaternion", (1.0, 0.1, 0.0, 0.0)
    ),
    "setting changed": lambda rig, _target: set_first(rig, "tolerance", 2e-4),
    "chain changed": lambda rig, _target: set_first(rig, "chain_count", 1),
    "constraint renamed": lambda rig, _target: set_first(rig, "name", "Renamed"),
    "bone renamed": lambda rig, _target: setattr(rig.data.bones[-1], "name", "Renamed"),
    "constraint added": lambda rig, target: add_constraint(
        rig, rig.pose.bones[0].name, target, chain_count=1
    ),
    "constraint removed": lambda rig, _target: rig.fabrik.constraints.remove(
        len(rig.fabrik.constraints) - 1
    ),
    "object added": lambda _rig, _target: make_empty("New"),
    "key inserted": lambda _rig, target: key(target, 1),
    "another key inserted": lambda _rig, target: (move(target), key(target, 30)),
    "frame played": lambda _rig, _target: go(6),
    "frame played again": lambda _rig, _target: go(5),
    "subframe": lambda _rig, _target: go(7.5),
    "undone": lambda _rig, _target: bpy.ops.ed.undo(),
    "redone": lambda _rig, _target: bpy.ops.ed.redo(),
    "loaded": lambda _rig, _target: bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath),
}
"""What is done, in this order, with an armature and an object."""


def move(ob: Any) -> None:
    ob.location.x += 0.05


def key(ob: Any, frame: int) -> None:
    ob.keyframe_insert("location", frame=frame)


def set_first(rig: Any, name: str, value: object) -> None:
    for item in rig.fabrik.constraints[:1]:
        setattr(item, name, value)


def prepare(edit: str, target: Any, path: str) -> None:
    """Do what must have been done before an edit."""
    if edit == "frame played":
        go(5)
    elif edit == "undone":
        bpy.ops.ed.undo_push(message="Before")
        move(target)
        update()
        bpy.ops.ed.undo_push(message="After")
    elif edit == "loaded":
        bpy.ops.wm.save_as_mainfile(filepath=path)


def calls_by_edit(make: Callable[[int], Scene], count: int, path: str) -> dict[str, int]:
    """Return the calls of each edit."""
    bpy.ops.wm.read_homefile(use_empty=True)
    for i in range(IDLE):
        make_empty(f"Idle {i:03}")
    names = [ob.name for ob in make(count)]
    found: dict[str, int] = {}
    for edit, work in EDITS.items():
        prepare(edit, bpy.data.objects[names[1]], path)
        objects = [bpy.data.objects[name] for name in names]
        found[edit] = calls_of(lambda work=work, objects=objects: (work(*objects), update()))
    return found


SCENES: dict[str, Callable[[int], Scene]] = {
    "deep_target": deep("target"),
    "deep_root": deep("rig"),
    "deep_on_a_solved_bone": deep_on_a_solved_bone,
    "armatures_by_targets": in_turn(lambda rig, before, _: reach(rig, before, "C0.1")),
    "armatures_by_poles": in_turn(
        lambda rig, before, target: reach(rig, target, pole_target=before, pole_subtarget="C0.1")
    ),
    "armatures_by_parents": in_turn(
        lambda rig, before, target: (reach(rig, target), hang(rig, before, "C0.1"))
    ),
    "armatures_by_constraints": in_turn(
        lambda rig, before, target: (
            reach(rig, target),
            follow(rig.constraints.new("CHILD_OF"), before, "C0.1"),
        )
    ),
    "armatures_by_empties": in_turn(reach_between),
    "armatures_in_both_directions": armatures_in_both_directions,
    "unrelated_armatures": unrelated_armatures,
    "all_by_one": all_by_one,
    "one_by_all": one_by_all,
    "chains_by_targets_from_the_last": chains(reach_for_the_next),
    "chains_by_poles": chains(face_the_one_before),
    "chains_by_parents": chains(
        lambda rig, target, i: reach(rig, target, tip=f"C0.{2 * i + 1}"), 0, 2
    ),
    "chains_and_layers_by_parents": chains(reach_and_look, 1, 2),
    "chains_by_constraints": chains(begin_at_the_one_before, 3),
    "chains_in_cycles": chains(lambda rig, _, i: reach(rig, rig, f"C{i}.1", tip=f"C{i}.1")),
    "chains_of_one_target": chains(lambda rig, target, i: reach(rig, target, tip=f"C{i}.1")),
    "chains_of_keyed_targets": chains_of_keyed_targets,
    "chains_of_driven_targets": chains_of_driven_targets,
    "layers": layers,
    "grounds": grounds,
    "feet": feet,
    "legs": legs,
    "holds_in_turn": holds_in_turn,
}


@pytest.mark.parametrize("scene", SCENES)
def test_calls_grow_no_faster_than_the_work(scene: str, tmp_path: Path) -> None:
    few, many = [calls_by_edit(SCENES[scene], n, f"{tmp_path}/{n}.blend") for n in (FEW, 4 * FEW)]
    growth = {edit: many[edit] / max(few[edit], 1) for edit in EDITS}
    assert {edit: one for edit, one in growth.items() if one > MOST} == {}


MOST_CALLS = {
    "loaded": 410,
    "undone": 215,
    "redone": 215,
    "all tagged, undone": 410,
    "all tagged, redone": 410,
}
"""The most calls of an armature. Blender reads again what was tagged before the step undone."""


def test_an_armature_takes_few_calls_when_a_file_is_loaded_and_edits_are_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After undo and redo, only chains are solved whose inputs changed."""
    solved: list[object] = []
    solve = chain.pose_in_world
    monkeypatch.setattr(chain, "pose_in_world", lambda *args: solved.append(0) or solve(*args))
    count = 4 * FEW
    rig, target = unrelated_armatures(count)
    names, calls, solves = (rig.name, target.name), {}, {}
    for row in MOST_CALLS:
        edit = row.rpartition(", ")[2]
        if row == "all tagged, undone":
            for ob in bpy.data.objects:
                ob.update_tag()
        prepare(edit, bpy.data.objects[names[1]], f"{tmp_path}/many.blend")
        solved.clear()
        objects = [bpy.data.objects[name] for name in names]
        calls[row] = calls_of(lambda edit=edit, of=objects: (EDITS[edit](*of), update()))
        solves[row] = len(solved)
    assert solves == {row: count if row == "loaded" else 1 for row in MOST_CALLS}
    assert {row: n / count for row, n in calls.items() if n > MOST_CALLS[row] * count} == {}


MOST_CALLS_OF_A_BONE = 4
"""The most calls for each bone between an armature and a chain, when a file is loaded."""


def test_bones_above_a_chain_take_few_calls_when_a_file_is_loaded(tmp_path: Path) -> None:
    """Dependencies are walked from one bone that matters to the next, and rest poses are shared."""

    def calls(length: int) -> float:
        bpy.ops.wm.read_homefile(use_empty=True)
        first = rig_of(length=length)
        rigs = [first, *(link(first.copy()) for _ in range(FEW - 1))]
        for i, rig in enumerate(rigs):
            rig.data = rig.data.copy()
            reach(rig, make_empty(f"Target {i:03}", (i, 0, 1)), tip=f"C0.{length - 1}")
        update()
        path = f"{tmp_path}/{length}.blend"
        bpy.ops.wm.save_as_mainfile(filepath=path)
        return calls_of(lambda: (bpy.ops.wm.open_mainfile(filepath=path), update())) / FEW

    few, many = 24, 44
    assert (calls(many) - calls(few)) / (many - few) <= MOST_CALLS_OF_A_BONE


def test_the_first_update_of_many_constraints_grows_no_faster_than_the_work() -> None:
    """Neither Blender's driver nor unique names take longer for each of many."""

    def seconds(count: int) -> float:
        bpy.ops.wm.read_homefile(use_empty=True)
        rig = rig_of(count)
        for i in range(count):
            reach(rig, make_empty(f"Target {i:04}", (i, 0, 1)), tip=f"C{i}.1")
        start = process_time()
        update()
        return process_time() - start

    few, many = (min(seconds(count), seconds(count)) for count in (250, 1000))
    assert many < 8.0 * few


def test_nothing_is_collected_while_the_session_is_filled() -> None:
    """All that is made then is kept, and Python would look through it again and again."""
    unrelated_armatures(4 * FEW)
    collections: list[str] = []

    def note(phase: str, _info: object) -> None:
        collections.append(phase)

    thresholds = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(100)  # Each armature is made of more objects than that.
    try:
        update()
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(note)
    assert len(collections) < FEW
