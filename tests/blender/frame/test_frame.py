"""The plan and the frame stay as plain as they are: floors of imports, and calls of a frame."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any

import bpy
import pytest
import rigs
from inside import count, forget

import addon
import fabrik_solver
from addon.blender import animation

ROOT = Path(addon.__file__).parent

SOLVER = Path(fabrik_solver.__file__).parent

MOST_FLOORS = 10
"""How many modules of the plan and the frame may import each other in a row."""

MOST_CALLS = {"first": 80, "again": 72, "beside": 109}
"""The calls of a played frame with one limb: first, again, and beside a handler of another add-on.
Its edits may need to be evaluated, but needn't be looked for among everything that moves."""

MOST_CALLS_OF_STRANDS = {"first": 635, "again": 543}
"""The calls of a played frame with 20 simulated strands, however many bones they have."""

MOST_CALLS_OF_SPRINGS = 98
"""The calls per bone and frame while strands are simulated, beside those of any simulation."""

MOST_FILES = {"first": 10, "again": 10, "beside": 10}
"""The modules of the plan and the frame that such a frame enters. They ask `blender` and core."""

MOST_FILES_OF_BLENDER = {"first": 4, "again": 4, "beside": 5}
"""The modules of `blender` and others that it enters."""

MOST_OF_EDIT = 122, 17
"""The calls of moving the pole of a limb, and the modules of the extension that it enters."""

INLINED = ("<listcomp>", "<setcomp>", "<dictcomp>")
"""What isn't a call from Python 3.12 on."""


def modules() -> dict[str, Path]:
    found = [*ROOT.glob("plan/*.py"), *ROOT.glob("frame/*.py")]
    return {f"{path.parent.name}.{path.stem}": path for path in found}


def imported(path: Path) -> Iterable[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            start = {1: f"{path.parent.name}.", 2: ""}.get(node.level, "…")
            yield f"{start}{node.module}"
            yield from (f"{start}{node.module or ''}.{name.name}" for name in node.names)
            yield from (f"{start}{name.name}" for name in node.names)


def test_few_modules_import_each_other_in_a_row() -> None:
    paths = modules()
    below = {name: {*imported(path)} & paths.keys() for name, path in paths.items()}

    @cache
    def floor(name: str) -> int:
        return 1 + max([floor(other) for other in below[name]], default=0)

    assert floor("frame.handlers") > 5
    assert max(map(floor, paths)) <= MOST_FLOORS


def is_slow(call: ast.Call) -> bool:
    """Return whether a call makes a generic alias, or looks up a class of Blender, to no end."""
    if isinstance(call.func, ast.Subscript) and ast.unparse(call.func.value) in ("set", "dict"):
        return True
    return ast.unparse(call).startswith("cast(bpy.types.")


@pytest.mark.parametrize("package", ["blender", "settings", "plan", "frame"])
def test_types_cost_nothing_at_run_time(package: str) -> None:
    """`set[int]()` takes ten times as long as `set()`, and `bpy.types` searches for its classes."""
    slow = [
        f"{path.name}:{node.lineno}"
        for path in ROOT.glob(f"{package}/*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and is_slow(node)
    ]
    assert slow == []


@pytest.fixture
def limb(empty_file: None) -> Any:
    rig = rigs.make_chain(2, "Limb")
    target = rigs.make_empty("Target", (1.0, 0.0, 1.0))
    for frame in range(1, 120, 10):
        rigs.key(target, "location", {frame: (1.0 + 0.005 * frame, 0.3, 1.0 - 0.003 * frame)})
    rigs.add_constraint(rig, "B1", target, solver="TWO_BONE")
    rigs.update()
    return rig


def calls_of(work: Callable[[], object], *roots: Path) -> Counter[str]:
    """Return how often functions within some folders were called, by module."""
    found = Counter[str]()
    starts = tuple(map(str, roots))

    def note(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        path = code.co_filename
        if event == "call" and path.startswith(starts) and code.co_name not in INLINED:
            found[path] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def calls_in(frames: Iterable[int]) -> Counter[str]:
    """Return how often functions of the extension were called, by module, over some frames."""
    scene = bpy.context.scene
    each = [calls_of(partial(scene.frame_set, number), ROOT) for number in frames]
    return sum(each, Counter[str]())


def test_a_played_frame_takes_few_calls(limb: Any) -> None:
    scene = bpy.context.scene
    frames = range(3, 103)
    for way, most in MOST_CALLS.items():
        if way == "beside":
            bpy.app.handlers.frame_change_post.append(lambda *_: None)
        scene.frame_set(2)
        found = calls_in(frames)
        assert limb.fabrik.constraints[0].state == "REACHED"
        assert found.total() / len(frames) <= most, way
        entered = {Path(path).relative_to(ROOT) for path in found}
        middle = {path for path in entered if path.parts[0] in ("settings", "plan", "frame")}
        assert len(middle) <= MOST_FILES[way], sorted(middle)
        assert len(entered - middle) <= MOST_FILES_OF_BLENDER[way], sorted(entered - middle)


def test_an_edit_takes_few_calls(limb: Any) -> None:
    pole = rigs.make_empty("Pole", (0.0, -2.0, 1.0))
    limb.fabrik.constraints[0].pole_target = pole
    layer = bpy.context.view_layer
    rigs.update()
    shown = rigs.pose_bits(limb)

    def move() -> None:
        pole.location.x += 0.1
        layer.update()

    move()
    found = calls_of(move, ROOT)
    assert rigs.pose_bits(limb) != shown
    calls, files = MOST_OF_EDIT
    assert found.total() <= calls, found
    assert len(found) <= files, sorted(found)


@pytest.fixture
def strands(empty_file: None) -> Any:
    """20 strands of 10 bones that hang from a head."""
    bones: dict[str, Any] = {"Head": ((0, 0, 0), (0, 0, 0.3), "")}
    for i in range(20):
        for j in range(10):
            parent = f"S{i}.{j - 1}" if j else "Head"
            bones[f"S{i}.{j}"] = ((0.1 * i, 0, -0.1 * j), (0.1 * i, 0, -0.1 * j - 0.1), parent)
    rig = rigs.make_armature(bones)
    rigs.key(rig.pose.bones["Head"], "location", {1: (0.0, 0.0, 0.0), 50: (0.5, 0.3, 0.0)})
    for i in range(20):
        rigs.add_constraint(rig, f"S{i}.9", chain_count=10, solver="SPRING")
    rigs.activate(rig)
    return rig


def simulate_strands(last: int) -> None:
    bpy.context.scene.frame_end = last
    rigs.update()
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}


def test_a_simulated_strand_takes_few_calls(strands: Any) -> None:
    """Neither its bones nor its joints are read: it is looked up."""
    simulate_strands(50)
    frames = range(3, 43)
    for way, most in MOST_CALLS_OF_STRANDS.items():
        bpy.context.scene.frame_set(2)
        found = calls_in(frames)
        assert {item.state for item in strands.fabrik.constraints} == {"REACHED"}
        assert found.total() / len(frames) <= most, way


def test_a_setting_of_a_strand_costs_the_same_at_any_length(strands: Any) -> None:
    """At the current frame, the strand is simulated on from the second before it."""
    spring = strands.fabrik.constraints[0].spring
    found: dict[int, int] = {}

    def drag() -> None:
        spring.stiffness += 0.1
        rigs.update()

    for last in (100, 400):
        simulate_strands(last)
        bpy.context.scene.frame_set(60)
        shown = rigs.pose_bits(strands)
        drag()
        assert rigs.pose_bits(strands) != shown
        assert strands.fabrik.simulation.state == "STALE"
        found[last] = calls_of(drag, ROOT, SOLVER).total()
    assert found[400] <= 1.02 * found[100], found


def test_simulating_strands_takes_few_calls(strands: Any) -> None:
    """250 frames take 4 s at most if Python is interpreted: 2 s at 97 calls per bone and frame."""
    simulate_strands(10)  # Rest poses may be known from earlier tests, or not.
    short = calls_of(lambda: simulate_strands(10), ROOT, SOLVER).total()
    long = calls_of(lambda: simulate_strands(30), ROOT, SOLVER).total()
    assert (long - short) / (20 * 200) <= MOST_CALLS_OF_SPRINGS


def test_what_moves_is_not_listed_for_a_handler_of_another_add_on(
    limb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes longer than writing the few armatures, and grows with all that moves."""
    lists: list[object] = []
    count(monkeypatch, "list tagged", lambda *_: lists.append(None))
    bpy.app.handlers.frame_change_post.append(lambda *_: None)
    rigs.go(*range(3, 13))
    assert limb.fabrik.constraints[0].state == "REACHED"
    assert lists == []


def test_an_fk_pose_that_nothing_animates_is_read_once(
    limb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While frames are played. Edits and keys of it are noticed."""
    reads: list[object] = []
    count(monkeypatch, "read the FK pose", lambda *_: reads.append(None))
    root, frames = limb.pose.bones["B0"], range(3, 23)
    root.rotation_mode = "XYZ"

    def read_in_frames() -> int:
        reads.clear()
        rigs.go(*frames)
        return len(reads)

    rigs.update()
    assert read_in_frames() == 1
    assert read_in_frames() == 0
    shown = rigs.pose_bits(limb)
    root.rotation_euler.y = 1.0
    rigs.go(frames[-1])
    assert rigs.pose_bits(limb) != shown
    shown = rigs.pose_bits(limb)
    forget()
    rigs.update(limb)
    assert rigs.pose_bits(limb) == shown
    driver = root.driver_add("rotation_euler", 1).driver
    driver.expression = "0.01 * frame"
    shown = rigs.pose_bits(limb)
    assert read_in_frames() >= len(frames)
    assert rigs.pose_bits(limb) != shown


@pytest.mark.parametrize(("bone", "is_read"), [("B1", True), ("B2", False)])
def test_keys_of_bones_that_no_chain_poses_do_not_have_the_fk_pose_read(
    limb: Any, monkeypatch: pytest.MonkeyPatch, bone: str, is_read: bool
) -> None:
    rig = rigs.make_chain(3, "Longer")
    rigs.add_constraint(rig, "B1", bpy.data.objects["Target"], solver="TWO_BONE")
    for frame in (1, 40):
        rig.pose.bones[bone].rotation_quaternion.x = 0.01 * frame
        rig.pose.bones[bone].keyframe_insert("rotation_quaternion", frame=frame)
    rigs.update()
    rigs.go(2)
    reads: list[object] = []
    count(monkeypatch, "read the FK pose", lambda reader, _: reads.append(reader.rig.object))
    rigs.go(*range(3, 23))
    assert reads.count(rig) == (20 if is_read else 0)
    shown = rigs.pose_bits(rig)
    forget()
    rigs.update(rig)
    assert rigs.pose_bits(rig) == shown


def curves_read_in(frames: Iterable[int]) -> int:
    return calls_in(frames)[str(ROOT / "blender" / "curves.py")]


def test_a_frame_that_was_played_is_only_read_ahead_again_after_an_edit(
    limb: Any, evaluations: list[float]
) -> None:
    """What it was solved to is written at once, and what Blender has evaluated confirms that."""
    scene, frames = bpy.context.scene, range(3, 23)
    target = limb.fabrik.constraints[0].target
    for frame in (1, 40):
        limb.location.x = 0.001 * frame
        limb.keyframe_insert("location", frame=frame)
    rigs.watch(limb, "B1")
    scene.frame_set(2)
    assert curves_read_in(frames) > 0
    evaluations.clear()
    assert curves_read_in(frames) == 0
    assert len(evaluations) == len(frames)
    for curve in animation.all_active_curves(target):
        for key in curve.keyframe_points:
            key.co.y += 0.05
    target.animation_data.action.update_tag()
    scene.frame_set(2)
    evaluations.clear()
    assert curves_read_in(frames) > 0
    assert len(evaluations) == len(frames)
    assert rigs.tip_error(limb, "B1", target) < 1e-5
