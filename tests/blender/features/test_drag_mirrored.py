"""With Blender's X-Axis Mirror the bone on the other side is dragged as well."""

from pathlib import Path
from typing import Any

import bpy
import pytest
import rigs
from dragged_bodies import head_of, make_body
from mathutils import Matrix, Vector

from addon.features.drag import drag
from addon.features.whole_body.roles import roles_of

WAY = Vector((-0.6, -0.3, 0.4))
MIRROR = Matrix.Diagonal((-1, 1, 1, 1))

pytestmark = pytest.mark.usefixtures("silent")


def make_arms(relaxed: bool = False) -> Any:
    """A spine with an arm of two bones on each side, the right one with other rolls."""
    bones: dict[str, Any] = {"Spine": ((0, 0, 0), (0, 0, 2), "")}
    for side, x in ((".L", 1), (".R", -1)):
        bones[f"Upper{side}"] = (x, 0, 2), (2 * x, 0.1, 2), "Spine"
        bones[f"Lower{side}"] = (2 * x, 0.1, 2), (3 * x, 0, 2), f"Upper{side}"
    rig = rigs.make_armature(bones)
    bpy.ops.object.mode_set(mode="EDIT")
    for name in ("Upper.R", "Lower.R"):
        rig.data.edit_bones[name].roll = 0.7
    bpy.ops.object.mode_set(mode="POSE")
    rig.location, rig.rotation_euler = (3, -2, 1), (0.4, 1.0, -2.0)
    for bone in rig.pose.bones:
        bone.rotation_mode = "XYZ"
    if relaxed:
        rig.pose.bones["Upper.R"].rotation_euler = (0.3, 0.2, 0.4)
    rig.pose.use_mirror_x = True
    rigs.update()
    return rig


def tail(rig: Any, bone: str) -> Vector:
    return rig.matrix_world.inverted() @ Vector(rigs.tip_world(rig, bone))


def mirrored(place: Vector) -> Vector:
    return Vector((-place.x, place.y, place.z))


def check_mirrored(rig: Any) -> None:
    for name in ("Upper", "Lower"):
        assert (tail(rig, f"{name}.R") - mirrored(tail(rig, f"{name}.L"))).length < 1e-5


@pytest.mark.parametrize("relaxed", [False, True])
def test_a_chain_in_fk(relaxed: bool) -> None:
    rig = make_arms(relaxed)
    before = tail(rig, "Lower.L")
    assert bpy.ops.fabrik.drag(bone="Lower.L", value=rig.matrix_world.to_3x3() @ WAY) == {
        "FINISHED"
    }
    rigs.update()
    assert (tail(rig, "Lower.L") - before - WAY).length < 1e-3
    check_mirrored(rig)
    assert tuple(rig.pose.bones["Spine"].rotation_euler) == (0, 0, 0)


def test_relative_keeps_the_difference() -> None:
    rig = make_arms(relaxed=True)
    rig.pose.use_mirror_relative = True
    start = rig.pose.bones["Upper.R"].rotation_euler.copy()
    one = drag.begin(rig, "Lower.L")
    one.move_by(tuple(1e-4 * WAY))
    assert (Vector(rig.pose.bones["Upper.R"].rotation_euler) - Vector(start)).length < 1e-3
    one.move_by(tuple(WAY))
    assert (Vector(rig.pose.bones["Upper.R"].rotation_euler) - Vector(start)).length > 0.05
    one.cancel()
    assert rig.pose.bones["Upper.R"].rotation_euler == start


@pytest.mark.parametrize("relative", [False, True])
def test_targets(relative: bool) -> None:
    rig = make_arms()
    rig.pose.use_mirror_relative = relative
    inside = {".L": Vector((2.2, -0.5, 2.2)), ".R": Vector((-2.0, -0.4, 2.5))}
    targets = {}
    for side, place in inside.items():
        targets[side] = rigs.make_empty(f"Target{side}", rig.matrix_world @ place)
        rigs.add_constraint(rig, f"Lower{side}", targets[side])
    rigs.update()
    way = 0.5 * WAY
    bpy.ops.fabrik.drag(bone="Lower.L", value=rig.matrix_world.to_3x3() @ way)
    rigs.update()
    back = rig.matrix_world.inverted()
    left, right = (back @ rigs.world_location(targets[side]) for side in (".L", ".R"))
    assert (left - inside[".L"] - way).length < 1e-5
    expected = inside[".R"] + mirrored(way) if relative else mirrored(left)
    assert (right - expected).length < 1e-5


def test_controls() -> None:
    rig = make_arms()
    bpy.ops.object.mode_set(mode="EDIT")
    for name in ("Root", "Control.L", "Control.R"):
        bone = rig.data.edit_bones.new(name)
        x = 0.0 if name == "Root" else 2.2 if name.endswith("L") else -2.0
        bone.head, bone.tail = (x, -0.5, 2.2), (x, -0.5, 2.5)
        bone.parent = None if name == "Root" else rig.data.edit_bones["Root"]
    bpy.ops.object.mode_set(mode="POSE")
    for side in (".L", ".R"):
        rigs.add_constraint(rig, f"Lower{side}", rig, subtarget=f"Control{side}")
    rigs.update()
    way = 0.5 * WAY
    bpy.ops.fabrik.drag(bone="Control.L", value=rig.matrix_world.to_3x3() @ way)
    rigs.update()
    left, right = (rigs.evaluated(rig).pose.bones[f"Control{side}"].head for side in (".L", ".R"))
    assert (left - Vector((2.2, -0.5, 2.2)) - way).length < 1e-5
    assert (right - mirrored(left)).length < 1e-5
    assert rigs.evaluated(rig).pose.bones["Root"].matrix == rig.data.bones["Root"].matrix_local


def test_one_target_of_both_moves_once() -> None:
    rig = make_arms()
    target = rigs.make_empty("Target", rig.matrix_world @ Vector((0.5, -1, 2)))
    for side in (".L", ".R"):
        rigs.add_constraint(rig, f"Lower{side}", target)
    rigs.update()
    before = rigs.world_location(target)
    bpy.ops.fabrik.drag(bone="Lower.L", value=WAY)
    rigs.update()
    assert (rigs.world_location(target) - before - WAY).length < 1e-5


def test_without_it_or_without_another_side_nothing_else_moves() -> None:
    rig = make_arms()
    rig.pose.use_mirror_x = False
    bpy.ops.fabrik.drag(bone="Lower.L", value=WAY)
    assert tuple(rig.pose.bones["Upper.R"].rotation_euler) == (0, 0, 0)
    rig.pose.use_mirror_x = True
    bpy.ops.fabrik.drag(bone="Spine", value=WAY)
    assert tuple(rig.pose.bones["Upper.R"].rotation_euler) == (0, 0, 0)


def test_it_says_why_the_other_side_stays(capfd: pytest.CaptureFixture[str]) -> None:
    rig = make_arms()
    targets = [
        rigs.make_empty(f"T{side}", rig.matrix_world @ tail(rig, f"Lower{side}"))
        for side in (".L", ".R")
    ]
    for side, target in zip((".L", ".R"), targets, strict=True):
        rigs.add_constraint(rig, f"Lower{side}", target)
    targets[1].lock_location = (True, True, True)
    rigs.update()
    assert bpy.ops.fabrik.drag(bone="Lower.L", value=0.1 * WAY) == {"FINISHED"}
    printed = "".join(capfd.readouterr())
    assert "“Lower.R” on the other side can't follow" in printed
    assert "is locked" in printed


@pytest.mark.parametrize("as_fk", [False, True])
def test_it_is_keyed_and_canceled(as_fk: bool) -> None:
    rig = make_arms()
    targets = []
    if not as_fk:
        for side in (".L", ".R"):
            targets.append(
                rigs.make_empty(f"T{side}", rig.matrix_world @ tail(rig, f"Lower{side}"))
            )
            rigs.add_constraint(rig, f"Lower{side}", targets[-1])
    rigs.update()
    before = rigs.everything_bits(), [tuple(one.location) for one in targets]
    one = drag.begin(rig, "Lower.L")
    one.move_by(tuple(WAY))
    one.cancel()
    rigs.update()
    assert (rigs.everything_bits(), [tuple(one.location) for one in targets]) == before
    preferences = bpy.context.preferences.edit
    if hasattr(preferences, "use_keyframe_insert_available"):
        preferences.use_keyframe_insert_available = False
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.ops.fabrik.drag(bone="Lower.L", value=WAY)
    for side, target in zip((".L", ".R"), targets or (None, None), strict=True):
        path = f'pose.bones["Upper{side}"].rotation_euler'
        assert rigs.is_keyed(target, "location") if target else rigs.is_keyed(rig, path)


@pytest.mark.parametrize("kind", ["kaykit", "sample"])
def test_a_whole_body_follows_both_hands(kind: str, tmp_path: Path) -> None:
    rig = make_body(kind, tmp_path)
    if kind == "sample":
        rig.fabrik.constraints.clear()
    rigs.update()
    roles = roles_of(rig)
    left, right = roles.hands
    before = rigs.channels_bits(rig)
    rig.pose.use_mirror_x = True
    start = {name: head_of(rig, name) for name in (*roles.ends, roles.hips)}
    way = Vector((0.0, -0.6, -0.4)) * (0.3 if kind == "kaykit" else 1.0)
    one = drag.begin(rig, left, whole_body=True)
    one.move_by(tuple(way))
    rigs.update()
    assert one.state == "REACHED"
    assert (head_of(rig, left) - start[left] - way).length < 2e-3
    assert (head_of(rig, right) - mirrored(head_of(rig, left))).length < 2e-3
    assert abs(head_of(rig, roles.head).x) < 1e-2
    for foot in roles.feet:
        assert (head_of(rig, foot) - start[foot]).length < 1e-3
    one.next_pin()
    kinds = {pin.bone: pin.kind for pin in rig.fabrik.pins}
    assert set(kinds) == {left, right} and len({*kinds.values()}) == 1
    one.cancel()
    rigs.update()
    assert not len(rig.fabrik.pins)
    assert rigs.channels_bits(rig) == before
