"""A clip is read from its F-curves as it plays."""

from collections.abc import Callable
from typing import Any

import bpy
import pytest
from rigs import curves, evaluated, go, make_chain

from addon.blender.clip import SAMPLES, Clip

EDITS: dict[str, Callable[[Any], object]] = {
    "a key": lambda rig: _curve(rig).keyframe_points[-1].co.__setitem__(1, 0.3),
    "interpolation": lambda rig: setattr(
        _curve(rig).keyframe_points[1], "interpolation", "CONSTANT"
    ),
    "an F-curve modifier": lambda rig: setattr(
        _curve(rig).modifiers.new("GENERATOR"), "use_additive", False
    ),
    "mute": lambda rig: setattr(_curve(rig), "mute", True),
    "an unkeyed channel": lambda rig: setattr(rig.pose.bones["B0"], "location", (0.0, 1.0, 0.0)),
    "a rotation mode": lambda rig: setattr(rig.pose.bones["B1"], "rotation_mode", "XYZ"),
    "inherited rotation": lambda rig: setattr(rig.data.bones["B2"], "use_inherit_rotation", False),
    "nothing": lambda rig: None,
}
"""Edits of an armature whose second bone is keyed."""


def _curve(rig: Any) -> Any:
    """Return the F-curve of the component of the rotation that changes."""
    return next(curve for curve in curves(rig) if curve.array_index == 1)


@pytest.mark.parametrize("edit", EDITS)
def test_its_revision_changes_with_its_poses(edit: str) -> None:
    rig = make_chain(3)
    bone = rig.pose.bones["B1"]
    for frame, turn in ((1, 0.0), (2.5, 0.4), (81, 0.7)):
        bone.rotation_quaternion = (1.0, turn, 0.0, 0.0)
        bone.keyframe_insert("rotation_quaternion", frame=frame)

    def seen() -> tuple[bytes, list[tuple[float, ...]]]:
        clip = Clip(rig)
        matrices = [m for frame in clip.frames for m in clip.matrices(frame).values()]
        return clip.revision, [row[:] for matrix in matrices for row in matrix]

    before = seen()
    EDITS[edit](rig)
    revision, poses = seen()
    assert (poses != before[1]) == (edit != "nothing")
    assert (revision != before[0]) == (edit != "nothing")


@pytest.mark.parametrize(("first", "last"), [(1, 9), (-20, 61.5), (3, 46)])
def test_its_frames_go_evenly_from_the_first_key_to_the_last(first: float, last: float) -> None:
    """Those between are whole ones."""
    rig = make_chain(2)
    bone = rig.pose.bones["B1"]
    for frame, turn in ((first, 0.0), (last, 0.7)):
        bone.rotation_quaternion = (1.0, turn, 0.0, 0.0)
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    step = (last - first) / (SAMPLES - 1)
    clip = Clip(rig)
    between = [round(first + i * step) for i in range(1, SAMPLES - 1)]
    assert clip.frames == [first, *between, last]
    for frame in clip.frames:
        go(frame)
        shown = evaluated(rig).pose.bones
        for name, matrix in clip.matrices(frame).items():
            for row, wanted in zip(matrix, shown[name].matrix, strict=True):
                assert row[:] == pytest.approx(wanted[:], abs=1e-5)


@pytest.mark.parametrize("apart", [0.8, 1.25, 2.0])
def test_a_capture_is_looked_at_at_its_keys(apart: float) -> None:
    """Whatever its frame rate is: between keys a foot may leave its leg."""
    rig = make_chain(2)
    keys = [1.0 + apart * k for k in range(50)]
    for frame in keys:
        rig.pose.bones["B1"].keyframe_insert("location", frame=frame)
    frames = Clip(rig).frames
    assert len(frames) == SAMPLES and frames[0] == 1.0
    assert all(min(abs(key - frame) for key in keys) < 1e-4 for frame in frames)


def test_short_ones_have_no_frame_twice() -> None:
    rig = make_chain(2)
    for frame in (1, 4):
        rig.pose.bones["B0"].keyframe_insert("location", frame=frame)
    assert Clip(rig).frames == [1.0, 2.0, 3.0, 4.0]


def test_one_pose_has_one_frame_and_no_animation_has_none() -> None:
    rig = make_chain(2)
    assert Clip(rig).frames == []
    rig.pose.bones["B0"].keyframe_insert("location", frame=5)
    assert Clip(rig).frames == [5.0]
    assert bpy.context.scene.frame_current == 1
