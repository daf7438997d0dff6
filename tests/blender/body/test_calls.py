"""A body is recognized once for each revision of its armature, and then only asked."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import bpy
import generated
import pytest
from operating import click_bones
from rigs import TOP

import fabrik_solver
from addon.body.looking import body_of
from addon.features.drag.drag import begin

ADDON, SOLVER = str(TOP / "addon"), str(Path(fabrik_solver.__file__).parent)

INLINED = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")
"""What isn't a call of a function by its name, and differs between versions of Python."""


class Calls(NamedTuple):
    """What an operation cost.

    Attributes:
        count: The calls of functions of the extension and its solver, as far as that is Python.
        recognitions: How often a skeleton was recognized.
    """

    count: int
    recognitions: int


def calls_in(operation: Callable[[], object]) -> Calls:
    """Return what an operation costs."""
    count = recognitions = 0

    def note(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count, recognitions
        path, name = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and path.startswith((ADDON, SOLVER)):
            count += name not in INLINED
            recognitions += name == "_recognize" and path.startswith(ADDON)

    sys.setprofile(note)
    try:
        operation()
    finally:
        sys.setprofile(None)
    return Calls(count, recognitions)


@pytest.fixture
def metarig(empty_file: None, tmp_path: Path) -> Any:
    """Rigify's human before it is generated, as plain bones, whose names are new."""
    plain = generated.metarig("human", tmp_path)
    click_bones(plain, "hand.L")
    ours = ("addon.", "fabrik_solver.")
    for module in [module for name, module in sys.modules.items() if name.startswith(ours)]:
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()
    return plain


OPERATIONS: dict[str, tuple[Callable[[Any], object], int]] = {
    "recognize": (lambda _: bpy.ops.fabrik.character_recognize(), 9_500),
    "limb": (lambda _: bpy.ops.fabrik.limb_add(), 18_718),
    "walk": (lambda _: bpy.ops.fabrik.gait_add(), 184_000),
    "drag": (lambda rig: begin(rig, "hand.L", whole_body=True), 14_000),
}
"""Operations, each with the most calls that it may take."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_recognizes_once(metarig: Any, name: str) -> None:
    operation, most = OPERATIONS[name]
    calls = calls_in(lambda: operation(metarig))
    assert calls.recognitions == 1
    assert calls.count <= most


@pytest.mark.parametrize(("controls", "most"), [("BONE", 115_500), ("EMPTY", 106_500)])
def test_nothing_is_recognized_where_nothing_changed(
    metarig: Any, controls: str, most: int
) -> None:
    bpy.ops.fabrik.character_recognize()
    assert calls_in(bpy.ops.fabrik.character_recognize).recognitions == 0
    calls = calls_in(lambda: bpy.ops.fabrik.character_set_up(controls=controls))
    assert calls.recognitions == 0
    assert calls.count <= most


def test_a_change_of_bones_or_clip_is_seen(metarig: Any) -> None:
    def recognitions() -> int:
        return calls_in(lambda: body_of(metarig)).recognitions

    assert [recognitions(), recognitions()] == [1, 0]
    bpy.ops.object.mode_set(mode="EDIT")
    metarig.data.edit_bones["hand.L"].head.x += 0.01
    bpy.ops.object.mode_set(mode="POSE")
    assert [recognitions(), recognitions()] == [1, 0]
    metarig.data.bones["hand.L"].name = "Hand.L"
    assert [recognitions(), recognitions()] == [1, 0]
    metarig.rotation_euler.x = 1.5708
    bpy.context.view_layer.update()
    assert recognitions() > 0  # Another axis points up, at which it may not stand.
    metarig.pose.bones["Hand.L"].keyframe_insert("rotation_quaternion", frame=1)
    assert recognitions() > 0  # Its clip is looked at now.
    assert recognitions() == 0
    metarig.pose.bones["Hand.L"].location.x = 0.1
    assert recognitions() > 0
