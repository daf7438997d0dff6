"""Switching limbs of generated Rigify rigs to FK without a visible change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final, NamedTuple, cast

import bpy
from mathutils import Matrix

from ..blender import animation
from ..blender.access import hiding, pose_bones
from ..blender.curves import split_bone_path
from ..blender.errors import ProblemError
from ..blender.keying import set_keys
from ..blender.refusals import refuse_unkeyable
from ..blender.relations import Node, node_of, parents
from ..blender.rotation import SCALE, channel_of, continuous, mode_of
from ..body.body import Limb
from ..body.helpers import follows
from ..body.looking import body_of
from ..body.rigify import (
    MECHANISM,
    SWITCH,
    is_for_ik,
    original_name,
    switched_below,
    use_fk,
)
from ..plan.deferred import store_name
from ..settings.properties import followed_bone, settings
from .animated_frames import animated_frames
from .playing import go_to, returning, updated

ROUNDED: Final = 1e-5
"""Maximum change of a rotation or scale value over time that is due to rounding."""


SNAPS: Final = 4
"""How often a rig's own controls for IK are corrected. In poses that IK can reach, the joints of
humans, wolves and horses are then within 0.2 % of the limb's length. This takes 12 evaluations."""


Channel = tuple[str, str]
"""The names of a bone and its channel."""


class SwitchState(NamedTuple):
    """A limb's state before it was switched.

    Attributes:
        switch: The bone with the switch.
        value: The switch's value.
        poses: The matrices of the FK controls relative to their rest pose, by name.
        visible: The controls for IK that weren't hidden, by name.
    """

    switch: str
    value: float
    poses: dict[str, Matrix]
    visible: list[str]


def limbs_to_fk(
    armature: bpy.types.Object, limbs: Iterable[Limb] | None = None, keeps_animation: bool = False
) -> list[SwitchState]:
    """Switch a generated Rigify rig's limbs to FK in their displayed pose; return their old states.

    Args:
        armature: The armature.
        limbs: Limbs of the rig; None for all.
        keeps_animation: Whether to key the FK controls of animated limbs so that their motion is
            kept; otherwise they are refused.

    Raises:
        ProblemError: If a switch is animated, or the limbs are animated and can't be keyed. Nothing
            is changed.
    """
    if limbs is None:
        limbs = [limb for limb in body_of(armature).limbs]
    limbs = [limb for limb in limbs if limb.switch and _is_to_switch(armature, limb)]
    if not limbs:
        return []
    frames = _animated_frames(armature, limbs)
    if keeps_animation and frames:
        refuse_unkeyable(armature)
    elif len(frames) > 1:
        raise ProblemError(
            "Limbs of “{armature}” are animated in IK: choose Set Up Character to keep their "
            "animation, or bake them to FK with Rigify's buttons",
            armature=armature.name,
        )
    return _switch(armature, limbs, frames if keeps_animation else [])


def states_of(armature: bpy.types.Object, limbs: Iterable[Limb]) -> list[SwitchState]:
    """Return the states of those limbs that have an FK/IK switch and aren't in FK yet.

    Raises:
        ProblemError: If a switch is animated.
    """
    limbs = [limb for limb in limbs if limb.switch and _is_to_switch(armature, limb)]
    return [_state(armature, limb, _controls(armature, limb)) for limb in limbs]


def restore_switch(armature: bpy.types.Object, state: SwitchState) -> None:
    """Undo `limbs_to_fk` for a limb, except for keys. Bones that no longer exist are skipped."""
    bones: Any = pose_bones(armature)
    for name in filter(None, (followed_bone(armature, name) for name in state.visible)):
        hiding(armature, name).hide = False
    if switch := followed_bone(armature, state.switch):
        bones[switch][SWITCH] = state.value
        for stored, matrix in state.poses.items():
            if name := followed_bone(armature, stored):
                bones[name].matrix_basis = matrix
        armature.update_tag()


def hide_switched(armature: bpy.types.Object, states: Iterable[SwitchState]) -> None:
    """Hide the rig's own IK controls of switched limbs, because they no longer move anything."""
    bones: Any = pose_bones(armature)
    for state in states:
        for name in (state.switch, *state.poses, *state.visible):
            store_name(bones[name])
        for name in state.visible:
            hiding(armature, name).hide = True


def remember_switches(armature: bpy.types.Object, states: Sequence[SwitchState]) -> None:
    """Switch limbs that get IK to FK, store their states, and hide their controls for IK."""
    use_fk(armature, [state.switch for state in states])
    hide_switched(armature, states)
    fabrik = settings(armature)
    fabrik.switches = text_of([*states_in(fabrik.switches), *states])


def restore_unposed(armature: bpy.types.Object) -> None:
    """Restore the limbs that were switched for IK, once no constraint poses them."""
    fabrik = settings(armature)
    if not fabrik.switches:
        return
    posed = {item.bone for item in fabrik.constraints}
    limbs = [limb for limb in body_of(armature).limbs]
    used = {limb.switch for limb in limbs if not posed.isdisjoint((*limb.bones, limb.hand))}
    states = states_in(fabrik.switches)
    for state in states:
        if followed_bone(armature, state.switch) not in used:
            restore_switch(armature, state)
    kept = [state for state in states if followed_bone(armature, state.switch) in used]
    fabrik.switches = text_of(kept)


def text_of(states: Iterable[SwitchState]) -> str:
    """Return states as text, one per line: value, switch, poses of controls, visible controls."""
    lines: list[str] = []
    for state in states:
        poses = {name: [[*row] for row in matrix] for name, matrix in state.poses.items()}
        start = f"{state.value!r} {state.switch}"
        lines.append("\t".join((start, json.dumps(poses), json.dumps(state.visible))))
    return "\n".join(lines)


def states_in(text: str) -> list[SwitchState]:
    """Return the states that `text_of` has written. Earlier versions wrote only the first."""
    states: list[SwitchState] = []
    for line in filter(None, text.split("\n")):
        start, rows, visible, *_ = [*line.split("\t"), "{}", "[]"]
        value, _, switch = start.partition(" ")
        poses = {name: Matrix(matrix) for name, matrix in json.loads(rows).items()}
        states.append(SwitchState(switch, float(value), poses, [*json.loads(visible)]))
    return states


def _is_to_switch(armature: bpy.types.Object, limb: Limb) -> bool:
    """Return whether a limb isn't in FK yet.

    Raises:
        ProblemError: If its switch is animated.
    """
    bones: Any = pose_bones(armature)
    if float(bones[limb.switch][SWITCH]) == 1.0:
        return False
    path = bones[limb.switch].path_from_id() + f'["{SWITCH}"]'
    if animation.is_keyed(armature, path) or animation.is_driven(armature, path):
        raise ProblemError(
            "“{property}” of “{bone}” is animated: remove its keys, or set them to FK",
            property=SWITCH,
            bone=limb.switch,
        )
    return True


def _controls(armature: bpy.types.Object, limb: Limb) -> dict[str, str]:
    """Return the original bones that a limb's FK controls move, by control, root first.

    Parents that start at a control's joint keep their pose, because constraints set part of it. So
    do controls that drivers rotate.
    """
    originals = body_of(armature).names
    bones = pose_bones(armature)
    originals_by_control: dict[str, str] = {}
    carriers = [name for name in limb.bones if name.startswith(MECHANISM)]
    for name in (*limb.bones, limb.hand.removeprefix(MECHANISM)):
        is_control = name in bones and name not in carriers
        original = original_name(name, originals) if is_control else ""
        if original and not animation.has_driver(armature, bones[name], "rotation"):
            originals_by_control[name] = original
    for end in [*originals_by_control.values()][-1:]:
        originals_by_control.update(switched_below(armature, limb.switch, end))
    return originals_by_control


def _state(armature: bpy.types.Object, limb: Limb, controls: Mapping[str, str]) -> SwitchState:
    bones: Any = pose_bones(armature)
    poses = {name: bones[name].matrix_basis.copy() for name in controls}
    visible = [*_ik_controls(armature, controls)]
    return SwitchState(limb.switch, float(bones[limb.switch][SWITCH]), poses, visible)


def _ik_controls(armature: bpy.types.Object, controls: Mapping[str, str]) -> dict[str, str]:
    """Return the original bones of a limb's IK controls in a generated rig, by control.

    Args:
        armature: The armature. Its hidden controls are left out.
        controls: The original bones that the limb's FK controls move, by control.
    """
    originals, moved = body_of(armature).names, {*controls.values()}
    return {
        bone.name: original
        for bone in pose_bones(armature)
        if bone.custom_shape
        and is_for_ik(bone.name)
        and not hiding(armature, bone.name).hide
        and (original := original_name(bone.name, originals)) in moved
    }


def snap_ik_controls(armature: bpy.types.Object) -> None:
    """Move a rig's own controls for IK so that limbs now in FK keep their pose in IK.

    Each control first moves with its original bone, as in the rest pose. It then moves by the
    remaining error of that bone in IK. This is needed because a knee's control turns about one axis
    only, and some controls carry others.
    """
    bones: Any = pose_bones(armature)
    limbs = [limb for limb in body_of(armature).limbs if limb.switch]
    limbs = [limb for limb in limbs if float(bones[limb.switch][SWITCH]) == 1.0]
    if moved := _free_ik_controls(armature, limbs):
        wanted = _shown(armature, {name: name for name in moved.values()})
        use_fk(armature, [limb.switch for limb in limbs], 0.0)
        _snap(armature, moved, wanted)
        use_fk(armature, [limb.switch for limb in limbs])


def _free_ik_controls(armature: bpy.types.Object, limbs: Iterable[Limb]) -> dict[str, str]:
    """Return the original bones of limbs' IK controls that no constraint of Blender's moves."""
    bones = pose_bones(armature)
    controls: dict[str, str] = {}
    for limb in limbs:
        controls.update(_ik_controls(armature, _controls(armature, limb)))
    return {name: original for name, original in controls.items() if not bones[name].constraints}


def _snap(
    armature: bpy.types.Object, moved: Mapping[str, str], wanted: Mapping[str, Matrix]
) -> None:
    """Move controls until their original bones have the wanted matrices, in armature space."""
    aims = wanted
    for _ in range(SNAPS):
        _follow(armature, moved, aims)
        shown = _shown(armature, {name: name for name in wanted})
        aims = {name: wanted[name] @ shown[name].inverted() @ aims[name] for name in aims}


def _follow(
    armature: bpy.types.Object, moved: Mapping[str, str], aims: Mapping[str, Matrix]
) -> None:
    """Move controls with their original bones, those above others first.

    Args:
        armature: The armature.
        moved: The original bones by control.
        aims: The matrices of the original bones, in armature space.
    """
    levels: dict[int, list[Any]] = {}
    for bone in [pose_bones(armature)[name] for name in moved]:
        level = sum(above.name in moved for above in bone.parent_recursive)
        levels.setdefault(level, []).append(bone)
    for _, controls in sorted(levels.items()):
        for bone in controls:
            original = pose_bones(armature)[moved[bone.name]]
            at_rest = original.bone.matrix_local.inverted() @ bone.bone.matrix_local
            bone.matrix = aims[original.name] @ at_rest
            for i in range(3):
                bone.location[i] *= not bone.lock_location[i]
        updated()


def _shown(armature: bpy.types.Object, controls: Mapping[str, str]) -> dict[str, Matrix]:
    """Return the displayed matrices of original bones, in armature space, by control."""
    bones = pose_bones(armature.evaluated_get(updated()))
    return {name: bones[original].matrix.copy() for name, original in controls.items()}


def _animated_frames(armature: bpy.types.Object, limbs: Iterable[Limb]) -> list[float]:
    """Return the frames of the animation of limbs in IK, and of their FK controls."""
    followed: dict[str, list[Node]] = {}
    for bone, ob, name in follows(armature, is_active=True):
        if ob is not None:
            followed.setdefault(bone, []).append(node_of(ob.original, name))

    def relations(node: Node) -> Iterator[Node]:
        yield from parents(node)
        ob, bone = node
        if ob == armature and bone >= 0:
            yield from followed.get(pose_bones(armature)[bone].name, [])

    def concerns(path: str, bones: object) -> bool:
        # A control's property may switch the parent of another control.
        bone = split_bone_path(path)[0]
        return bone in cast(Any, bones) or path.endswith('"]')

    names = [item for limb in limbs for pair in _controls(armature, limb).items() for item in pair]
    return animated_frames((node_of(armature, name) for name in names), relations, concerns)


def _switch(
    armature: bpy.types.Object, limbs: Sequence[Limb], frames: Sequence[float]
) -> list[SwitchState]:
    """Switch limbs to FK, and key their FK controls so that their motion is kept.

    Args:
        armature: The armature.
        limbs: The limbs.
        frames: The frames of the keys; empty to keep only the displayed pose.

    Returns:
        The states of the limbs before.
    """
    controls = [_controls(armature, limb) for limb in limbs]
    states = [_state(armature, limb, names) for limb, names in zip(limbs, controls, strict=True)]
    switches = [limb.switch for limb in limbs]
    scene = cast(bpy.types.Scene, bpy.context.scene)
    layer = cast(bpy.types.ViewLayer, bpy.context.view_layer)
    current = [_shown(armature, names) for names in controls]
    try:
        # New keys make Blender evaluate the animation, which overwrites unkeyed poses.
        with returning(scene, layer, in_any_case=True) if frames else nullcontext():
            displayed = [current] * len(frames)
            for i, frame in enumerate(frames if len(frames) > 1 else []):
                go_to(frame)
                displayed[i] = [_shown(armature, names) for names in controls]
            use_fk(armature, switches)
            rows: list[dict[Channel, list[float]]] = []
            for frame, poses in zip(frames, displayed, strict=True):
                go_to(frame)
                rows.append(_posed(armature, poses))
            for name, channel in rows[0] if rows else {}:
                column = [row[name, channel] for row in rows]
                _key(pose_bones(armature)[name], channel, frames, column)
            updated()
        _posed(armature, current)
    except BaseException:
        for state in states:
            restore_switch(armature, state)
        raise
    return states


def _posed(
    armature: bpy.types.Object, limbs: Sequence[Mapping[str, Matrix]]
) -> dict[Channel, list[float]]:
    """Rotate and scale the controls of limbs without moving joints, and return their channels.

    Args:
        armature: The armature.
        limbs: The matrices of each limb's controls in armature space, root first. No limb is
            parented to another.
    """
    bones: Any = pose_bones(armature)
    for level in range(max(map(len, limbs))):
        for name, matrix in (pair for limb in limbs for pair in [*limb.items()][level : level + 1]):
            location = bones[name].location.copy()
            bones[name].matrix = matrix
            bones[name].location = location
        updated()
    kinds = (mode_of, lambda _bone: SCALE)
    channels = [
        (name, channel_of(kind(bones[name]))[0])
        for limb in limbs
        for name in limb
        for kind in kinds
    ]
    return {(name, channel): [*getattr(bones[name], channel)] for name, channel in channels}


def _key(bone: Any, channel: str, frames: Sequence[float], rows: Sequence[Sequence[float]]) -> None:
    """Key a channel if it changes, or already has keys."""
    if channel != channel_of(SCALE)[0]:
        rows = continuous(mode_of(bone), rows)
    columns = [*zip(*rows, strict=True)]
    has_keys = animation.active_curves(bone.id_data, bone.path_from_id(channel))
    if has_keys or any(max(column) - min(column) > ROUNDED for column in columns):
        set_keys(bone, channel, frames, columns)
