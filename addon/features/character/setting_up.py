"""Setting up the listed parts of a character in one step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor
from typing import Any, Final, NamedTuple, cast

import bpy
from mathutils import Matrix, Vector

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.axes import AXES
from ...blender.character import recognizing_once
from ...blender.curves import split_bone_path
from ...blender.errors import ProblemError
from ...blender.moving import move_to, place_of
from ...blender.relations import node_of, parents, walk_dependencies
from ...blender.rotation import ALL_CHANNELS
from ...blender.skeleton import Point, skeleton_of, vector
from ...editing.controls import new_armature, refuse_uneditable, use_bones
from ...editing.limb_adding import shown_pose
from ...editing.playing import go_to, returning, staged, updated
from ...editing.switching import SwitchState, restore_switch
from ...settings.muting import muting
from ...settings.properties import settings
from ..fk_ik.snap import SnapResult, restored_frame
from ..fk_ik.span import Span
from ..fk_ik.to_fk import SnapControl, snap_to_fk
from ..look_at.look import look_of
from .adding import LIMBS, add_constraint, add_hinges, add_pole, refuse_part
from .recognizing import switch_to_fk
from .removing import index_of, remove
from .settings import FabrikPart, character_settings

SAMPLES: Final = 9
"""The number of frames at which the values of drivers are compared."""


class Options(NamedTuple):
    """Options of setting up a character.

    Attributes:
        controls: The kind of targets and poles: ``'EMPTY'``, ``'BONE'`` for bones of the character,
            or ``'ARMATURE'`` for those of a new armature.
        poles: Whether arms and legs get pole targets.
        hinges: Whether elbows and knees get limits, if they are not animated.
        animation: Whether the controls are keyed to keep the animation.
    """

    controls: str = "EMPTY"
    poles: bool = True
    hinges: bool = True
    animation: bool = True


class SetUpResult(NamedTuple):
    """The result of setting up a character.

    Attributes:
        frames: The number of frames at which the controls were keyed.
        difference: The largest distance from the pose before, in world space.
        problem: The reason for a difference beyond rounding; empty if there is none.
        notes: What was left out to keep the pose.
    """

    frames: int
    difference: float
    problem: str
    notes: list[str]


def set_up(armature: bpy.types.Object, options: Options) -> SetUpResult:
    """Add constraints, controls and limits to the used parts of a character not set up yet.

    Raises:
        ProblemError: If that is impossible; then nothing has changed.
    """
    parts = [part for part in character_settings(armature).parts if part.use]
    if not parts:
        raise ProblemError("No part is used: recognize the character, or enable a part")
    with recognizing_once():
        for part in parts:
            refuse_part(armature, part)
    if options.controls == "BONE":
        refuse_uneditable(armature)
    with staged(cast(bpy.types.ViewLayer, bpy.context.view_layer), [armature]):
        states: list[SwitchState] = []
        try:
            frames = _animated_frames(armature, parts) if options.animation else []
            states += switch_to_fk(armature, [part.bone for part in parts])
            return _build(armature, parts, options, frames)
        except BaseException:
            remove(armature)
            for state in states:
                restore_switch(armature, state)
            raise


def _build(
    armature: bpy.types.Object,
    parts: Sequence[FabrikPart],
    options: Options,
    frames: Sequence[float],
) -> SetUpResult:
    before = shown_pose(armature)
    with recognizing_once():
        for part in parts:
            add_constraint(armature, part)
    notes: list[str] = []
    limbs = [part for part in parts if part.kind in LIMBS]
    for part in limbs:
        # A straight limb bends as its hinges let it, which is where its pole has to be.
        if options.hinges:
            notes.append(add_hinges(armature, part, before))
        if options.poles:
            add_pole(armature, part)
    if options.controls == "BONE":
        _use_bones(armature, parts, armature)
    elif options.controls == "ARMATURE":
        controls = character_settings(armature).controls = new_armature(armature)
        _use_bones(armature, parts, controls)
    snapped = _snap(armature, parts, frames)
    return SetUpResult(len(frames), snapped.difference, snapped.problem, [*filter(None, notes)])


def _use_bones(
    armature: bpy.types.Object, parts: Sequence[FabrikPart], holder: bpy.types.Object
) -> None:
    """Replace the Empties that are targets and poles by bones of an armature."""
    indices = [cast(int, index_of(armature, part)) for part in parts]
    use_bones(armature, indices, holder)
    for part, index in zip(parts, indices, strict=True):
        item = settings(armature).constraints[index]
        if item.subtarget != part.bone:  # A foot that is no child of its leg is its target.
            part.target, part.subtarget = item.target, item.subtarget
        part.pole, part.pole_bone = item.pole_target, item.pole_subtarget


def _animated_frames(armature: bpy.types.Object, parts: Sequence[FabrikPart]) -> list[float]:
    """Return the whole frames of the animation that moves the parts, empty if there is none.

    It may be of their bones, the object and all parents of these, in actions and in NLA strips. If
    drivers move them, or F-curves beyond their keys, the frames are those of the scene as well.
    """
    moving: dict[bpy.types.Object, set[str]] = {}
    for ob, bone in walk_dependencies((node_of(armature, part.bone) for part in parts), parents):
        moving.setdefault(ob, set()).add("" if bone < 0 else skeleton_of(ob).names[bone])
    scene = cast(bpy.types.Scene, bpy.context.scene)
    ends = [end for ob, bones in moving.items() for end in _action_ends(scene, ob, bones)]
    if _is_driven_over_time(scene, moving):
        ends += [scene.frame_start, scene.frame_end]
    return [float(i) for i in range(floor(min(ends)), ceil(max(ends)) + 1)] if ends else []


def _is_transform(path: str, bones: set[str]) -> bool:
    """Return whether a path is that of a transform of bones or (``""``) of an object."""
    bone, channel = split_bone_path(path)
    return bone in bones and (channel or path) in {name for name, _ in ALL_CHANNELS}


def _is_driven_over_time(
    scene: bpy.types.Scene, moving: Mapping[bpy.types.Object, set[str]]
) -> bool:
    """Return whether drivers change transforms of bones or objects in the scene's frame range."""
    paths = [
        (ob, path, i)
        for ob, bones in moving.items()
        for path, i in animation.driven(ob)
        if _is_transform(path, bones)
    ]
    if not paths:
        return False
    length = scene.frame_end - scene.frame_start
    poses: set[tuple[float, ...]] = set()
    with returning(scene, cast(bpy.types.ViewLayer, bpy.context.view_layer), in_any_case=True):
        for k in range(SAMPLES):
            go_to(scene.frame_start + round(length * k / (SAMPLES - 1)))
            layer = updated()
            poses.add(
                tuple([cast(Any, ob.evaluated_get(layer)).path_resolve(p)[i] for ob, p, i in paths])
            )
    return len(poses) > 1


def _action_ends(scene: bpy.types.Scene, ob: bpy.types.Object, bones: set[str]) -> Iterator[float]:
    """Yield the frames of keys, and ends of strips, that transform bones or (``""``) an object.

    Where an F-curve goes on beyond its keys, as one that is repeated does, these are the ends of
    the scene as well.
    """

    def concerns(curve: bpy.types.FCurve) -> bool:
        return _is_transform(curve.data_path, bones) and animation.has_effect(curve)

    for curve in filter(concerns, animation.all_active_curves(ob)):
        yield from (key.co[0] for key in curve.keyframe_points)
        yield from animation.frames_beyond_keys(curve, scene.frame_start, scene.frame_end)
    data = ob.animation_data
    tracks = data.nla_tracks if data is not None and data.use_nla else ()
    for strip in animation.strips(track for track in tracks if not track.mute):
        slot = getattr(strip, "action_slot", None)
        for curves in animation.curve_lists(strip.action, slot):
            if any(map(concerns, curves)):
                yield from (strip.frame_start, strip.frame_end)


def _snap(
    armature: bpy.types.Object, parts: Sequence[FabrikPart], frames: Sequence[float]
) -> SnapResult:
    """Move the controls to where the FK pose needs them, now or keyed at each of the frames."""
    scene = cast(bpy.types.Scene, bpy.context.scene)
    span = Span(tuple(frames), True, True) if frames else Span((scene.frame_current_final,))
    heads = [part for part in parts if part.kind == "HEAD"]
    indices = [cast(int, index_of(armature, part)) for part in parts if part not in heads]
    for part in heads:
        _snap_look_target(armature, part, span)
    # A foot that is no child of its leg is its target, and animated already.
    still = {part.bone for part in parts}
    return snap_to_fk(armature, indices, span, still) if indices else SnapResult(0.0, "")


def _snap_look_target(armature: bpy.types.Object, part: FabrikPart, span: Span) -> None:
    """Move the target of a head to where the FK pose looks, at a constant distance."""
    item = settings(armature).constraints[cast(int, index_of(armature, part))]
    target = cast(bpy.types.Object, item.target)
    rig = skeleton_of(target) if item.subtarget else None
    point = Point(target, rig, rig.index[item.subtarget] if rig else -1)
    control = SnapControl(point, turns=False)
    axis = Vector(AXES[look_of(item).axis])
    distance: float | None = None
    with restored_frame(span), muting(armature, range(len(settings(armature).constraints))):
        for depsgraph in span.visit():
            evaluated = armature.evaluated_get(depsgraph)
            world: Matrix = evaluated.matrix_world @ pose_bones(evaluated)[part.bone].matrix
            head = world.translation
            if distance is None:
                distance = (Vector(place_of(depsgraph, point)[1]) - head).length
            direction = (world.to_3x3() @ axis).normalized()
            move_to(depsgraph, point, vector(head + distance * direction), None)
            control.record()
    if span.is_keyed:
        control.key(span)
