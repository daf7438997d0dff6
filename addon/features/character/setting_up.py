"""Rigging what was recognized of a character in one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import bpy
from mathutils import Matrix, Vector

from ...blender.access import pose_bones
from ...blender.axes import AXES
from ...blender.errors import ProblemError
from ...blender.keying import key_frames
from ...blender.moving import move_to, place_of
from ...blender.skeleton import Point, skeleton_of, vector
from ...editing.playing import updated
from ...loop.muting import muting
from ...loop.properties import settings
from ..fk_ik.snap import Snapped, present_frame
from ..fk_ik.span import Span
from ..fk_ik.to_fk import Handle, snap_to_fk
from ..look_at.look import look_of
from .adding import LIMBS, add, add_hinges, add_pole, refuse
from .controls import Control, add_bones, new_armature, shape
from .generated import use_fk
from .removing import index_of, remove
from .settings import FabrikPart, character_settings

CHANNELS = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle")


class Options(NamedTuple):
    """How a character is to be rigged.

    Attributes:
        controls: ``'EMPTY'``, ``'BONE'`` for bones of its armature, or ``'ARMATURE'`` for those of
            a new one.
        poles: Whether arms and legs get pole targets.
        hinges: Whether elbows and knees get limits, if they are not animated.
        animation: Whether controls are keyed so that the animation is as it was.
    """

    controls: str = "EMPTY"
    poles: bool = True
    hinges: bool = True
    animation: bool = True


class SetUp(NamedTuple):
    """How it went.

    Attributes:
        frames: At how many frames their controls were keyed.
        difference: The largest distance from the pose that it had, in world space.
        problem: Why that is more than it should be; empty if it is not.
    """

    frames: int
    difference: float
    problem: str


def set_up(armature: bpy.types.Object, options: Options) -> SetUp:
    """Add constraints, controls and limits for the parts of a character that are used.

    Raises:
        ProblemError: If that cannot be done; then nothing has changed.
    """
    held = character_settings(armature)
    if any(part.key for part in held.parts):
        raise ProblemError("The character is set up already: remove its set-up first")
    parts = [part for part in held.parts if part.use]
    if not parts:
        raise ProblemError("No part is used: recognize the character, or enable a part")
    for part in parts:
        refuse(armature, part)
    try:
        return _made(armature, parts, options)
    except BaseException:
        remove(armature)
        raise


def _made(armature: bpy.types.Object, parts: Sequence[FabrikPart], options: Options) -> SetUp:
    use_fk(armature)
    for part in parts:
        add(armature, part)
    limbs = [part for part in parts if part.kind in LIMBS]
    frames = _keyed_frames(armature, parts) if options.animation else []
    if options.poles:
        for part in limbs:
            add_pole(armature, part)
    if options.hinges and not frames:
        for part in limbs:
            add_hinges(armature, part)
    if options.controls != "EMPTY":
        is_new = options.controls == "ARMATURE"
        _use_bones(armature, parts, new_armature(armature) if is_new else armature)
    snapped = _snap(armature, parts, frames)
    return SetUp(len(frames), snapped.difference, snapped.problem)


def _use_bones(
    armature: bpy.types.Object, parts: Sequence[FabrikPart], holder: bpy.types.Object
) -> None:
    """Let bones be the targets and poles instead of Empties."""
    held = character_settings(armature)
    if holder != armature:
        held.controls = holder
    cube, sphere = shape(armature, "CUBE"), shape(armature, "SPHERE")
    updated()
    wanted: list[Control] = []
    for part in parts:
        wanted += [Control(f"{part.bone} IK", cast(Any, part.target), cube)]
        wanted += [Control(f"{part.bone} Pole", part.pole, sphere)] if part.pole else []
    empties = [control.empty for control in wanted]
    names = iter(add_bones(holder, wanted))
    for part in parts:
        item = settings(armature).constraints[cast(int, index_of(armature, part))]
        part.subtarget = next(names)
        part.target = item.target = holder
        item.subtarget = part.subtarget
        if part.pole is not None:
            part.pole_bone = next(names)
            part.pole = item.pole_target = holder
            item.pole_subtarget = part.pole_bone
    for ob in empties:
        bpy.data.objects.remove(ob)
    if sphere.users == 0:
        bpy.data.objects.remove(sphere)
    updated()


def _keyed_frames(armature: bpy.types.Object, parts: Sequence[FabrikPart]) -> list[float]:
    """Return the frames from the first to the last key of the bones that are posed."""
    bones = pose_bones(armature)
    keyed: set[float] = set()
    for part in parts:
        posed = bones[part.bone]
        for bone in (posed, *posed.parent_recursive[: part.chain_count]):
            keyed |= key_frames(bone, CHANNELS)
    if not keyed:
        return []
    first, last = int(min(keyed) // 1), int(-(-max(keyed) // 1))
    return [float(frame) for frame in range(first, last + 1)]


def _snap(
    armature: bpy.types.Object, parts: Sequence[FabrikPart], frames: Sequence[float]
) -> Snapped:
    """Put the controls where the pose needs them, over all frames that are keyed."""
    scene = cast(bpy.types.Scene, bpy.context.scene)
    present = (scene.frame_current_final,)
    span = Span(tuple(frames), True, True) if frames else Span(present)
    heads = [part for part in parts if part.kind == "HEAD"]
    indices = [cast(int, index_of(armature, part)) for part in parts if part not in heads]
    for part in heads:
        _snap_gaze(armature, part, span)
    return snap_to_fk(armature, indices, span) if indices else Snapped([], 0.0, "")


def _snap_gaze(armature: bpy.types.Object, part: FabrikPart, span: Span) -> None:
    """Put what a head looks at where it looks in its FK pose."""
    index = cast(int, index_of(armature, part))
    item = settings(armature).constraints[index]
    target = cast(bpy.types.Object, item.target)
    rig = skeleton_of(target) if item.subtarget else None
    point = Point(target, rig, rig.index[item.subtarget] if rig else -1)
    handle = Handle(point, turns=False)
    axis = Vector(AXES[look_of(item).axis])
    far: float | None = None
    with present_frame(span), muting(armature, range(len(settings(armature).constraints))):
        for depsgraph in span.visit():
            posed = armature.evaluated_get(depsgraph)
            world: Matrix = posed.matrix_world @ pose_bones(posed)[part.bone].matrix
            eye = world.translation
            if far is None:
                far = (Vector(place_of(depsgraph, point)[1]) - eye).length
            way = (world.to_3x3() @ axis).normalized()
            move_to(depsgraph, point, vector(eye + far * way), None)
            handle.take()
    if span.is_keyed:
        handle.key(span)
