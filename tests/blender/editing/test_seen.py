"""Controls are seen: around the mesh, in front of it, and in colors that are bright on gray."""

from itertools import pairwise
from math import cos, pi, sin
from typing import Any

import bpy
import pytest
from humans import make_human
from mathutils import Matrix, Vector
from operating import click_bones, enter_pose_mode
from rigs import link, update

SEEN = 3.0
"""The least contrast of graphics, by the Web Content Accessibility Guidelines."""

SHADE, ACTIVE_SHADE = 50 / 255, 80 / 255
"""By how much Blender draws the lines of bones that are not selected darker than their color, and
those of the active one."""


def add(rig: Any, bone: str, **options: object) -> Any:
    """Add IK to the limb of a bone, and return its constraint."""
    click_bones(rig, bone)
    assert bpy.ops.fabrik.limb_add(**options) == {"FINISHED"}
    update()
    return rig.fabrik.constraints[rig.fabrik.active_index]


def dress(rig: Any, bone: str, radius: float) -> bpy.types.Object:
    """Skin a tube to a bone."""
    rest = rig.data.bones[bone]
    places = [
        rest.matrix_local @ Vector((radius * cos(turn), share * rest.length, radius * sin(turn)))
        for turn in (2.0 * pi * i / 24 for i in range(24))
        for share in (0.0, 0.5, 1.0)
    ]
    mesh = bpy.data.meshes.new("Sleeve")
    mesh.from_pydata([tuple(place) for place in places], [], [(0, 1, 2)])
    skin = link(bpy.data.objects.new("Sleeve", mesh))
    skin.vertex_groups.new(name=bone).add(range(len(places)), 1.0, "REPLACE")
    modifier: Any = skin.modifiers.new("Armature", "ARMATURE")
    modifier.object = rig
    skin.parent = rig
    return skin


def half_size(rig: Any, item: Any) -> float:
    """Return the half size of a target, as it is shown, in world space."""
    if not item.subtarget:
        return item.target.empty_display_size
    control = rig.pose.bones[item.subtarget]
    shown = control.custom_shape.empty_display_size * control.custom_shape_scale_xyz.x
    return shown * control.length * rig.matrix_world.median_scale


def limb_length(rig: Any) -> float:
    """Return the length of an arm from joint to joint."""
    heads = [rig.data.bones[f"{name}.L"].head_local for name in ("upper_arm", "forearm", "hand")]
    return sum((a - b).length for a, b in pairwise(heads))


@pytest.mark.parametrize("controls", ["BONE", "EMPTY"])
@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_a_target_is_larger_than_the_mesh_around_the_hand(controls: str, scale: float) -> None:
    rig = make_human(False)
    rig.scale = (scale,) * 3
    update()
    size = limb_length(rig)
    dress(rig, "hand.L", 0.2 * size)
    bare = half_size(rig, add(rig, "hand.R", controls=controls))
    around = half_size(rig, add(rig, "hand.L", controls=controls))
    assert bare == pytest.approx(0.1 * size * scale, rel=0.1)
    assert around == pytest.approx(1.2 * 0.2 * size * scale, rel=0.01)


def test_a_joint_that_moves_no_mesh_is_as_large_as_its_neighbor() -> None:
    rig = make_human(False)
    dress(rig, "forearm.L", 0.2 * limb_length(rig))
    around = half_size(rig, add(rig, "hand.L"))
    assert around == pytest.approx(1.2 * 0.2 * limb_length(rig), rel=0.01)


def test_a_cloak_makes_no_giant_of_it() -> None:
    rig = make_human(False)
    size = limb_length(rig)
    dress(rig, "hand.L", 3.0 * size)
    assert half_size(rig, add(rig, "hand.L")) <= 0.45 * size


def test_what_hangs_on_the_bone_counts_as_well() -> None:
    rig = make_human(False)
    size = limb_length(rig)
    glove = dress(rig, "hand.L", 0.2 * size)
    glove.modifiers.clear()
    glove.parent_type, glove.parent_bone = "BONE", "hand.L"
    rest = rig.data.bones["hand.L"]
    tail = rest.matrix_local @ Matrix.Translation((0.0, rest.length, 0.0))
    glove.matrix_parent_inverse = tail.inverted()
    update()
    assert half_size(rig, add(rig, "hand.L")) == pytest.approx(1.2 * 0.2 * size, rel=0.01)


def test_empties_are_in_front() -> None:
    item = add(make_human(False), "hand.L", controls="EMPTY")
    assert item.target.show_in_front
    assert item.pole_target.show_in_front


def test_in_front_is_enabled_where_a_mesh_hides_controls_and_given_back() -> None:
    from addon.editing.controls import remove_bones

    rig = make_human(False)
    dress(rig, "hand.L", 0.1)
    item = add(rig, "hand.L")
    assert rig.show_in_front
    names = [item.subtarget, item.pole_subtarget]
    remove_bones(rig, names[:1])
    assert rig.show_in_front, "the pole is still there"
    remove_bones(rig, names[1:])
    assert not rig.show_in_front


def test_the_users_own_in_front_stays() -> None:
    from addon.editing.controls import remove_bones

    bare = make_human(False)
    item = add(bare, "hand.L")
    assert not bare.show_in_front, "nothing hides it"
    remove_bones(bare, [item.subtarget, item.pole_subtarget])
    bare.show_in_front = True
    dress(bare, "hand.R", 0.1)
    item = add(bare, "hand.R")
    remove_bones(bare, [item.subtarget, item.pole_subtarget])
    assert bare.show_in_front


def test_removing_a_set_up_gives_in_front_back() -> None:
    rig = make_human(False)
    dress(rig, "hand.L", 0.1)
    enter_pose_mode(rig)
    assert bpy.ops.fabrik.character_set_up(controls="BONE") == {"FINISHED"}
    assert rig.show_in_front
    assert bpy.ops.fabrik.character_remove() == {"FINISHED"}
    assert not rig.show_in_front


@pytest.mark.parametrize("bone", ["hand.L", "hand.R"])
def test_controls_stand_out_from_the_viewport(bone: str) -> None:
    rig = make_human(False)
    item = add(rig, bone)
    ground = bpy.context.preferences.themes[0].view_3d.space.gradients.high_gradient
    control: Any = rig.data.bones[item.subtarget].color
    sets: Any = bpy.context.preferences.themes[0].bone_color_sets
    shown = control.custom if control.palette == "CUSTOM" else sets[int(control.palette[5:]) - 1]
    darker = [max(0.0, part - SHADE) for part in shown.normal]
    kinds = [tuple(one) for one in (darker, shown.select, shown.active)]
    left_active = [max(0.0, part - ACTIVE_SHADE) for part in shown.active]
    for color in (*kinds, left_active):
        assert contrast(color, ground) >= SEEN
    brightness = [luminance(color) for color in kinds]
    assert brightness == sorted(brightness), "what is selected is brighter"


def contrast(a: Any, b: Any) -> float:
    """Return the contrast ratio of two colors, from 1 to 21."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def luminance(color: Any) -> float:
    """Return the relative luminance of a color in sRGB."""
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in color[:3]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
