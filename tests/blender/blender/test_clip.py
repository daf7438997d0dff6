"""A clip is read from its F-curves as it plays."""

from __future__ import annotations

import bpy
import pytest
from rigs import evaluated, go, make_chain

from addon.blender.clip import SAMPLES, Clip


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
