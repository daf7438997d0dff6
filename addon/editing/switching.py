"""Switching limbs of generated Rigify rigs to their FK controls, without moving what is seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import bpy
from mathutils import Matrix

from ..blender import animation
from ..blender.access import pose_bones
from ..blender.errors import ProblemError
from ..blender.rigify import MECHANISM, ORIGINAL, SWITCH, original_bones, original_name, use_fk
from .helpers import is_animated
from .known_limbs import Body, Limb
from .playing import updated


class SwitchState(NamedTuple):
    """What a limb was before it was switched.

    Attributes:
        switch: The bone with the switch.
        value: The switch's value.
        poses: The matrices of the FK controls relative to their rest pose, by name.
    """

    switch: str
    value: float
    poses: dict[str, Matrix]


def switch_to_fk(armature: bpy.types.Object, limb: Limb) -> SwitchState | None:
    """Switch a limb of a generated rig to FK, and pose its FK controls as it is shown.

    Controls that are animated keep their pose.

    Returns:
        Its state before, for `restore_switch`; None if it was FK already.

    Raises:
        ProblemError: If its switch is animated; then nothing has changed.
    """
    bones: Any = pose_bones(armature)
    value = float(bones[limb.switch][SWITCH])
    if value == 1.0:
        return None
    path = bones[limb.switch].path_from_id() + f'["{SWITCH}"]'
    if animation.is_keyed(armature, path) or animation.is_driven(armature, path):
        raise ProblemError(
            "“{property}” of “{bone}” is animated: remove its keys, or set them to FK",
            property=SWITCH,
            bone=limb.switch,
        )
    shown = pose_bones(armature.evaluated_get(updated()))
    originals = [bone.name for bone in original_bones(armature)]
    poses: dict[str, Matrix] = {}
    matrices: dict[str, Matrix] = {}
    for name in (*limb.bones, limb.hand.removeprefix(MECHANISM)):
        original = original_name(name, originals) if name in bones else ""
        if original and not is_animated(armature, name):
            poses[name] = bones[name].matrix_basis.copy()
            matrices[name] = shown[ORIGINAL + original].matrix.copy()
    use_fk(armature, [limb.switch])
    for name, matrix in matrices.items():
        bone = bones[name]
        location = bone.location.copy()
        bone.matrix = matrix
        bone.location = location
        updated()
    return SwitchState(limb.switch, value, poses)


def limbs_to_fk(
    armature: bpy.types.Object, limbs: Iterable[Limb] | None = None
) -> list[SwitchState]:
    """Switch limbs of a generated Rigify rig to FK as they are shown; return what they were.

    Args:
        armature: The armature.
        limbs: Limbs of the rig; None for all.

    Raises:
        ProblemError: If a switch is animated; then nothing has changed.
    """
    if limbs is None:
        limbs = [limb for _, limb in Body(armature).limbs] if original_bones(armature) else []
    states: list[SwitchState] = []
    try:
        for limb in limbs:
            state = switch_to_fk(armature, limb)
            if state is not None:
                states.append(state)
    except ProblemError:
        for state in states:
            restore_switch(armature, state)
        raise
    return states


def restore_switch(armature: bpy.types.Object, state: SwitchState | None) -> None:
    """Take back what `switch_to_fk` did."""
    if state is None:
        return
    bones: Any = pose_bones(armature)
    bones[state.switch][SWITCH] = state.value
    for name, matrix in state.poses.items():
        bones[name].matrix_basis = matrix
    armature.update_tag()
