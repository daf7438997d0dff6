"""Where armature data is linked, what was found of joints is kept with the pose."""

from pathlib import Path
from typing import Any

import bpy
import pytest
from captured_bodies import make_body
from mathutils import Vector
from operating import click_bones
from rigs import activate, update

from addon.blender import animation
from addon.blender.skeleton import skeleton_of
from addon.body.flexion import stored_flexion
from addon.body.looking import body_of

pytestmark = pytest.mark.newest


@pytest.fixture
def linked(empty_file: None, tmp_path: Path) -> Any:
    """A body whose armature data is in another file."""
    rig = make_body()
    path = str(tmp_path / "bones.blend")
    bpy.data.libraries.write(path, {rig.data})
    with bpy.data.libraries.load(path, link=True) as (there, here):
        here.armatures = there.armatures
    rig.data = here.armatures[0]
    activate(rig)
    bpy.ops.object.mode_set(mode="POSE")
    update()
    return rig


def asked(rig: Any, bone: str) -> Vector:
    """Return the axis about which a drag bends a joint."""
    joint = body_of(rig, bone).joint(bone)
    assert joint.source
    return joint.axis


def planned(rig: Any, bone: str) -> Vector:
    """Return the axis about which the plan bends a joint."""
    rig_bones = skeleton_of(rig)
    axis = stored_flexion(rig_bones, rig_bones.index[bone])
    assert axis is not None
    return axis


def test_a_drag_and_a_pin_bend_an_elbow_alike(linked: Any) -> None:
    pinned = bpy.ops.fabrik.pin(bone="Hand.L", kind="LOCATION", frames="PLACE")
    assert pinned == {"FINISHED"}
    update()
    first = planned(linked, "Forearm.L")
    assert first.angle(asked(linked, "Forearm.L")) < 1e-4
    for curve in [curve for curves in animation.active_lists(linked) for curve in curves]:
        is_real = curve.data_path.endswith("quaternion") and curve.array_index == 0
        for point in (
            curve.keyframe_points if not is_real and "Forearm.L" in curve.data_path else ()
        ):
            point.co.y *= -1.0
    update()
    assert first.angle(asked(linked, "Forearm.L")) < 1e-4


def test_a_limb_bends_as_found(linked: Any) -> None:
    axis = asked(linked, "Forearm.L")
    click_bones(linked, "Hand.L")
    assert bpy.ops.fabrik.limb_add(controls="EMPTY", use_hinges=False) == {"FINISHED"}
    assert planned(linked, "Forearm.L").angle(axis) < 1e-4
    assert not any(linked.data.bones["Forearm.L"].fabrik_flexion)
