"""Adding foot roll controls to feet with IK."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import pi
from typing import Any

import bpy
from mathutils import Matrix, Quaternion

from fabrik_solver.motion.anatomy.thresholds import NO_LENGTH

from ...blender.access import pose_bones, rest_bone
from ...blender.errors import ProblemError
from ...blender.messages import counted
from ...body.body import Foot
from ...body.looking import body_of
from ...editing.controls import (
    FOOT_CONTROLS,
    control_name,
    edit_mode,
    mark_controls,
    new_shape,
    refuse_uneditable,
    show_as_control,
)
from ...settings.properties import settings
from ...ui.choosing import selected_in
from ...ui.refusing import Working, active_armature, active_refusal
from ...ui.registering import registering
from .settings import has_roll, roll_settings


def sole_of(armature: bpy.types.Object, foot: str) -> Foot | None:
    """Return the sole of a foot, in the space of the bone that poses it.

    None if it isn't the foot of a leg, or if its joints coincide with the ankle, as a robot's do.
    """
    body = body_of(armature, foot)
    sole = next((leg.foot for leg in body.legs if leg.hand == foot), None)
    if sole is None or sole.along.length <= NO_LENGTH * body.size:
        return None
    posing = rest_bone(armature, foot)
    toe = sole.toe and (body.rig.control(armature, sole.toe) or sole.toe)
    toe = toe if toe and posing in rest_bone(armature, toe).parent_recursive else ""
    neutral = sole.neutral
    if toe != sole.toe:
        rest = rest_bone(armature, toe or foot).matrix_local
        neutral = posing.matrix_local.inverted() @ rest
    # Controls pose the character's bones, which therefore stand as in the rest pose.
    turn = posing.matrix_local.inverted() @ rest_bone(armature, sole.bone).matrix_local
    heel, ball, tip = (turn @ point for point in (sole.heel, sole.ball, sole.tip))
    return Foot(foot, toe, heel, ball, tip, neutral, turn.to_3x3() @ sole.up, sole.floor)


def soles_at(armature: bpy.types.Object, indices: Sequence[int]) -> dict[int, Foot]:
    """Return the soles of feet without a roll that can get one, by index of their constraints."""
    items: Any = settings(armature).constraints
    soles = {
        index: sole_of(armature, items[index].bone)
        for index in indices
        if items[index].use_rotation and not items[index].use_tail and not has_roll(items[index])
    }
    return {index: sole for index, sole in soles.items() if sole is not None}


def add_rolls(armature: bpy.types.Object, soles: Mapping[int, Foot]) -> int:
    """Add roll controls to feet whose targets are bones; return their number.

    Nothing moves: the controls are in their rest pose, except toe controls of bent toes.

    Args:
        armature: The armature.
        soles: The soles, by index of the constraint.
    """
    items: Any = settings(armature).constraints
    bones = pose_bones(armature)
    soles = {
        index: sole
        for index, sole in soles.items()
        if items[index].target == armature and items[index].subtarget in bones
    }
    if not soles:
        return 0
    names = _add_bones(armature, soles)
    for index, sole in soles.items():
        item = settings(armature).constraints[index]
        roll = roll_settings(item)
        roll.control, roll.toe_control = names[index]
        roll.toe, roll.use = sole.toe, True
        if sole.toe:
            rest_foot, rest_toe = (
                rest_bone(armature, bone).matrix_local for bone in (item.bone, sole.toe)
            )
            toe = pose_bones(armature)[sole.toe]
            turn = sole.neutral.inverted() @ rest_foot.inverted() @ rest_toe @ toe.matrix_basis
            posed: Any = pose_bones(armature)[roll.toe_control]
            posed.rotation_mode = "QUATERNION"
            posed.rotation_quaternion = turn.to_quaternion()
            posed.rotation_mode = toe.rotation_mode
    return len(soles)


def _add_bones(armature: bpy.types.Object, soles: dict[int, Foot]) -> dict[int, tuple[str, str]]:
    """Add the control bones of rolls and toes as children of the targets; return their names."""
    names: dict[int, tuple[str, str]] = {}
    items: Any = settings(armature).constraints
    wanted = [(i, items[i].bone, items[i].subtarget, _offset(items[i]), soles[i]) for i in soles]
    with edit_mode(armature) as bones:
        for index, foot, target, offset, sole in wanted:
            above = bones[target]
            roll = bones.new(control_name(foot, "IK Roll", False))
            roll.tail = (0.0, sole.along.length, 0.0)
            roll.matrix = above.matrix @ offset @ sole.matrix
            controls = [roll]
            if sole.toe:
                toe = bones.new(control_name(sole.toe, "IK", False))
                toe.tail = (0.0, 0.25 * sole.along.length, 0.0)
                toe.matrix = above.matrix @ offset @ sole.neutral
                controls.append(toe)
            for bone in controls:
                bone.parent, bone.use_deform = above, False
            names[index] = roll.name, controls[-1].name if sole.toe else ""
    mark_controls(armature, [name for pair in names.values() for name in pair if name])
    circle = new_shape(armature, "CIRCLE")
    for index, foot, _, _, sole in wanted:
        roll, toe = names[index]
        _show_roll(armature, roll, foot, sole, circle)
        if toe:
            _show_toes(armature, toe, sole.toe, circle)
    return names


def _offset(item: Any) -> Matrix:
    """Return the offset of a tip from its target."""
    if not item.use_offset:
        return Matrix()
    return Matrix.LocRotScale(item.offset_location, Quaternion(item.offset_rotation), None)


def _show_roll(
    armature: bpy.types.Object, name: str, foot: str, sole: Foot, circle: bpy.types.Object
) -> None:
    """Show a roll control as a wheel behind the heel, even for a foot on a stair.

    Args:
        armature: The armature.
        name: The control.
        foot: The foot.
        sole: Its sole.
        circle: The custom shape.
    """
    bone: Any = pose_bones(armature)[name]
    show_as_control(bone, circle)
    bone.rotation_mode = "XYZ"
    bone.lock_location = bone.lock_scale = (True, True, True)
    center = Matrix.Translation((0.0, -0.35 * sole.along.length, -0.1 * sole.along.length))
    in_foot = sole.matrix @ center @ Matrix.Rotation(0.5 * pi, 4, "Z")
    bone.custom_shape_transform = pose_bones(armature)[foot]
    bone.custom_shape_translation = in_foot.translation
    bone.custom_shape_rotation_euler = in_foot.to_euler()


def _show_toes(armature: bpy.types.Object, name: str, toe: str, circle: bpy.types.Object) -> None:
    """Show a toe control as a circle around the toes, where it acts."""
    bone: Any = pose_bones(armature)[name]
    show_as_control(bone, circle)
    bone.lock_location = bone.lock_scale = (True, True, True)
    bone.custom_shape_transform = pose_bones(armature)[toe]
    bone.custom_shape_scale_xyz = (1.0, 1.0, 1.0)


class FABRIK_OT_foot_roll_add(Working, bpy.types.Operator):
    """Add roll controls to feet."""

    bl_idname = "fabrik.foot_roll_add"
    bl_label = "Add Foot Roll"
    bl_description = (
        "Add a control that rolls the foot from heel to ball to toe, and one for its toes. "
        "If no foot is selected, add the controls to all feet with IK"
    )
    asks = (active_refusal,)

    def work(self, context: bpy.types.Context) -> str:
        """Add the roll controls."""
        armature = active_armature(context)
        refuse_uneditable(armature)
        indices = selected_in(context, armature)
        every = [*range(len(settings(armature).constraints))]
        count = add_rolls(armature, soles_at(armature, indices or every))
        if not count:
            raise ProblemError(
                "No foot can roll: use Add IK Limb on a foot, with control bones and Copy Target "
                "Rotation"
            )
        return counted(count, "Added a roll to {count} foot", "Added a roll to {count} feet")


def _look(armature: bpy.types.Object, indices: Sequence[int]) -> Callable[[], object]:
    """Find the feet of new constraints; return a function that adds their rolls."""
    soles = soles_at(armature, indices)
    return lambda: add_rolls(armature, soles)


register, unregister = registering(__name__, (FOOT_CONTROLS, _look))
