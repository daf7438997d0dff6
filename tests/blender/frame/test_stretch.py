"""Chains that stretch: they arrive in Blender's own pose, and the FK scale is never lost."""

import bpy
import numpy as np
import pytest
import rigs

from addon.features.bake.storing import Storing

INHERITED = ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY")
MODES = ("QUATERNION", "AXIS_ANGLE", "XYZ", "ZYX")
FAR = (2.0, 1.0, 3.0)
"""Beyond the three bones of the default chain, which are 3.1 long; the next one is in reach."""
NEAR = (1.0, 0.5, 1.5)


def scales(rig: bpy.types.Object) -> list[tuple[float, ...]]:
    return [tuple(bone.scale) for bone in rigs.shown_bones(rig)]


def look(rig: bpy.types.Object) -> tuple[bytes, bytes, bytes]:
    return rigs.pose_bits(rig), rigs.channels_bits(rig), rigs.shown_bits(rig)


def stretched_rig(
    inherited: str = "NONE", mode: str = "QUATERNION", **settings: object
) -> tuple[bpy.types.Object, bpy.types.Object, tuple[bytes, bytes, bytes]]:
    """A chain with an FK scale of its own, its target, and its pose before it was solved."""
    rig, target = rigs.make_chain(mode=mode), rigs.make_empty(location=FAR)
    for bone in rig.data.bones:
        bone.inherit_scale = inherited
    rig.pose.bones["B0"].scale = (1.1, 0.9, 1.0)
    rig.pose.bones["B2"].scale = (0.8, 1.05, 0.9)
    rigs.update()
    fk = look(rig)
    shared = {"use_stretch": True, "stretch_max": 3.0, "use_volume": True}
    rigs.add_constraint(rig, "B2", target, **(shared | settings))
    rigs.update()
    assert rigs.channels_bits(rig) == fk[1]
    return rig, target, fk


def fk_scales(rig: bpy.types.Object) -> list[tuple[float, ...]]:
    return [tuple(bone.scale) for bone in rig.pose.bones]


def state_of(rig: bpy.types.Object) -> str:
    return rig.fabrik.constraints[0].state


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("inherited", INHERITED)
def test_tip_arrives_in_blenders_pose(inherited: str, mode: str) -> None:
    rig, target, fk = stretched_rig(inherited, mode)
    assert state_of(rig) == "REACHED"
    assert rigs.tip_error(rig, "B2", target) < 5e-6
    assert scales(rig)[0][1] > 1.1 * 0.9

    target.location = NEAR
    rigs.update()
    # Blender takes small turns given as axis and angle less exactly.
    assert rigs.tip_error(rig, "B2", target) < (2e-4 if mode == "AXIS_ANGLE" else 5e-6)
    assert state_of(rig) == "REACHED"
    fk_scales = [(1.1, 0.9, 1.0), (1.0, 1.0, 1.0), (0.8, 1.05, 0.9)]
    assert scales(rig) == [pytest.approx(scale) for scale in fk_scales]

    rig.fabrik.constraints[0].enabled = False
    rigs.update()
    assert look(rig) == fk


def test_stretch_turned_off_gives_the_fk_scale_back() -> None:
    rig, target, fk = stretched_rig()
    item = rig.fabrik.constraints[0]
    given, stretched = fk_scales(rig), look(rig)
    assert scales(rig) != given
    item.use_stretch = False
    rigs.update()
    plain = look(rig)
    assert scales(rig) == given
    assert given[0] == pytest.approx((1.1, 0.9, 1.0))
    target.location = NEAR
    rigs.update()
    assert scales(rig) == given
    target.location = FAR
    rigs.update()
    assert look(rig) == plain
    assert plain[1] == fk[1]
    item.use_stretch = True
    rigs.update()
    assert state_of(rig) == "REACHED"
    assert look(rig) == stretched


def test_keyed_scale_is_read_fresh() -> None:
    rig, target, _ = stretched_rig("ALIGNED")
    bone = rig.pose.bones["B1"]
    rig.fabrik.constraints[0].enabled = False
    rigs.update()
    rigs.key(bone, "scale", {1: (1.0, 1.0, 1.0), 11: (1.0, 1.4, 1.0)})
    rig.fabrik.constraints[0].enabled = True
    for frame in (1, 6, 11, 6):
        rigs.go(frame)
        assert rigs.tip_error(rig, "B2", target) < 5e-6
    rig.fabrik.constraints[0].enabled = False
    rigs.go(6)
    assert scales(rig)[1] == pytest.approx((1.0, 1.2, 1.0))


def test_driven_scale_is_said() -> None:
    rig, _, _ = stretched_rig()
    rig.pose.bones["B1"].driver_add("scale", 1).driver.expression = "1.25"
    rigs.update()
    item = rig.fabrik.constraints[0]
    assert "driven scale of “B1”" in item.message
    item.use_stretch = False
    rigs.update()
    assert "driver" not in item.message
    item.enabled = False
    rigs.update()
    assert scales(rig)[1] == pytest.approx((1.0, 1.25, 1.0))


def test_stretch_max_is_named_where_it_stops_the_chain() -> None:
    rig, target, _ = stretched_rig(stretch_max=1.1, use_volume=False)
    item = rig.fabrik.constraints[0]
    assert item.state == "OUT_OF_REACH"
    assert "Stretch Max" in item.message
    assert item.error == pytest.approx(rigs.tip_error(rig, "B2", target), abs=1e-5)
    item.softness = 0.2
    rigs.update()
    assert "Stretch Max" in item.message
    item.stretch_max = 3.0
    rigs.update()
    assert (item.state, item.message) == ("REACHED", "")
    assert rigs.tip_error(rig, "B2", target) < 5e-6


def test_a_chain_without_length_is_said_and_loses_nothing() -> None:
    rig, _, _ = stretched_rig("FULL")
    item = rig.fabrik.constraints[0]
    item.enabled = False
    rigs.update()
    rig.pose.bones["B0"].scale = (0.0, 0.0, 0.0)
    rigs.update()
    fk = look(rig)
    item.enabled = True
    rigs.update()
    assert item.state == "INVALID"
    assert "has zero length and can't stretch" in item.message
    assert look(rig) == fk
    rig.pose.bones["B0"].scale = (1.0, 1.0, 1.0)
    rigs.update()
    assert item.state == "REACHED"


# What files can store

HANGING = {
    "Upper": ((0, 0, 0), (0.1, -0.2, 1), ""),
    "Lower": ((0.1, -0.2, 1), (0, 0, 2), "Upper"),
    "Twist": ((0.2, 0.1, 1.2), (0.3, 0.2, 1.6), "Lower"),
    "Hand": ((0, 0, 2), (0.2, 0.2, 2.3), "Lower"),
    "Finger": ((0.1, 0.2, 2.3), (0.4, 0.2, 2.4), "Hand"),
}


def hanging_rig(uneven: str, inherited: str, **settings: object) -> bpy.types.Object:
    """A stretched arm with a hand, of which a bone, or all, inherit less than all scale."""
    rig = rigs.make_armature(HANGING)
    for bone in rig.data.bones:
        bone.inherit_scale = inherited if uneven in (bone.name, "") else "FULL"
    for i, bone in enumerate(rig.pose.bones):
        bone.rotation_quaternion = (1.0, 0.1 * i, -0.2, 0.1)
    target = rigs.make_empty(location=(1.5, 0.5, 2.5))
    rigs.add_constraint(rig, "Lower", target, use_stretch=True, stretch_max=3.0, **settings)
    rigs.update()
    assert state_of(rig) == "REACHED"
    assert rigs.tip_error(rig, "Lower", target) < 5e-6
    return rig


def lost_of(rig: bpy.types.Object) -> float:
    shown = rigs.evaluated(rig)
    matrices = np.array([np.array(bone.matrix) for bone in shown.pose.bones])
    return Storing(rig, range(len(rig.pose.bones))).loss(matrices, shown.matrix_world)[0]


@pytest.mark.parametrize("uneven", ("", "Lower", "Twist", "Hand", "Finger"))
@pytest.mark.parametrize("inherited", INHERITED[1:])
def test_no_bone_is_sheared_relative_to_its_parent(inherited: str, uneven: str) -> None:
    """Also where softness bends the arm, and the armature is scaled unevenly and mirrored."""
    rig = hanging_rig(uneven, inherited)
    item = rig.fabrik.constraints[0]
    for item.use_volume in (False, True):
        rigs.update()
        x, y, z = rigs.shown_bones(rig)["Upper"].matrix.to_scale()
        assert y > 1.2
        assert (x, z) == pytest.approx((y, y))
        assert ("Keep Volume" in item.message) is item.use_volume
        assert lost_of(rig) < 2e-6
    item.softness, rig.scale = 0.2, (-1.2, 0.7, 1.0)
    rigs.update()
    assert lost_of(rig) < 2e-6


def test_nor_in_ropes() -> None:
    rig = hanging_rig("Hand", "NONE", use_volume=True, solver="ROPE")
    assert "Keep Volume" in rig.fabrik.constraints[0].message
    assert rigs.shown_bones(rig)["Upper"].matrix.to_scale().y > 1.2
    assert lost_of(rig) < 2e-6


def test_nor_in_bodies() -> None:
    """Where the hand has a chain of its own as well, and is what stretches."""
    rig = hanging_rig("Finger", "NONE", use_volume=True)
    rigs.add_constraint(rig, "Hand", rigs.make_empty("Other", (1.9, 0.8, 3.1)), use_stretch=True)
    rigs.update()
    assert rigs.shown_bones(rig)["Hand"].matrix.to_scale().y > 1.1
    assert lost_of(rig) < 2e-6


@pytest.mark.parametrize("volume", (False, True))
def test_bones_are_only_longer_if_all_inherit_scale(volume: bool) -> None:
    rig = hanging_rig("", "FULL", use_volume=volume)
    x, y, z = rigs.shown_bones(rig)["Upper"].matrix.to_scale()
    assert y > 1.2
    assert (x, z) == pytest.approx((y**-0.5,) * 2 if volume else (1.0, 1.0))
    assert rig.fabrik.constraints[0].message == ""
    assert lost_of(rig) < 2e-6


def test_a_bone_that_does_not_inherit_rotation_is_not_sheared_either() -> None:
    rig = hanging_rig("", "FULL", use_volume=True)
    rig.data.bones["Finger"].use_inherit_rotation = False
    rigs.update()
    assert "“Finger”" in rig.fabrik.constraints[0].message
    assert lost_of(rig) < 2e-6
    rig.data.bones["Finger"].use_inherit_rotation = True
    rigs.update()
    assert rig.fabrik.constraints[0].message == ""


# Frames


def test_a_child_of_the_chain_with_a_chain_of_its_own_has_no_lag() -> None:
    """A chain on the stretched one, and one that reaches for a bone hanging on it."""
    rig, target = rigs.make_chain(5), rigs.make_empty(location=FAR)
    for bone in rig.data.bones:
        bone.inherit_scale = "ALIGNED"
    near = rigs.make_empty("Near", (3.0, 1.5, 3.5))
    rigs.add_constraint(rig, "B4", near, chain_count=2)
    rigs.add_constraint(rig, "B2", target, use_stretch=True, stretch_max=2.0)
    other = rigs.make_chain(3, "Other")
    other.location = (3.0, 0.0, 1.0)
    rigs.add_constraint(other, "B2", rig, subtarget="B3")
    rigs.update()
    for x in (2.0, 2.3, 1.0, 2.5):
        target.location.x = x
        rigs.update()
        assert rigs.tip_error(rig, "B2", target) < 5e-6
        assert rigs.tip_error(rig, "B4", near) < 5e-6
        assert (
            rigs.tip_world(other, "B2") - rigs.tip_world(rig, "B3", use_tail=False)
        ).length < 1e-5
