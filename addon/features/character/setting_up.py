"""Setting up the listed parts of a character in one step."""

from __future__ import annotations

from collections.abc import Sequence
from math import dist
from typing import Final, NamedTuple, cast

import bpy
from mathutils import Matrix, Vector

from ...blender.access import pose_bones
from ...blender.axes import AXES
from ...blender.errors import ProblemError
from ...blender.moving import move_to, place_of
from ...blender.relations import node_of, parents
from ...blender.rotation import floats
from ...blender.skeleton import Point, skeleton_of, vector
from ...body.looking import body_of
from ...editing.animated_frames import animated_frames, is_transform
from ...editing.bending import native_limits_notes
from ...editing.control_parents import ROOT, Parent
from ...editing.controls import (
    control_parent,
    foot_controls,
    new_armature,
    refuse_uneditable,
    use_bones,
)
from ...editing.ends import reaching
from ...editing.limb_adding import shown_pose
from ...editing.placing import parent_to
from ...editing.playing import staged
from ...editing.switching import SwitchState, restore_switch
from ...editing.transaction import all_or_nothing
from ...settings.muting import muting
from ...settings.properties import settings
from ..fk_ik.snap import SnapResult, restored_frame
from ..fk_ik.span import Span
from ..fk_ik.to_fk import SnapControl, snap_to_fk
from ..look_at.look import look_of
from .adding import add_constraint, add_hinges, add_pole, refuse_part
from .recognizing import LIMBS, limb_of_part, switch_to_fk
from .removing import index_of, remove
from .settings import FabrikPart, character_settings

SEEN: Final = 1e-3
"""Smallest reported movement of a bone, as a fraction of the character's size."""


class Options(NamedTuple):
    """Options of setting up a character.

    Attributes:
        controls: The kind of targets and poles: ``'EMPTY'``, ``'BONE'`` for bones of the character,
            or ``'ARMATURE'`` for bones of a new armature.
        poles: Whether arms and legs get pole targets.
        hinges: Whether elbows and knees get limits, unless they are animated.
        animation: Whether the controls are keyed to keep the animation.
        parent: What controls are parented to.
        roll: Whether feet get roll controls, if targets are bones of the character.
        error: Largest error of a joint between keys of the controls, as a fraction of the
            character's size; 0 keys every frame.
    """

    controls: str = "BONE"
    poles: bool = True
    hinges: bool = True
    animation: bool = True
    parent: Parent = ROOT
    roll: bool = True
    error: float = 0.0


class SetUpResult(NamedTuple):
    """The result of setting up a character.

    Attributes:
        frames: The number of frames at which the controls were keyed.
        difference: Largest distance from the previous pose, in world space.
        problem: The reason for a difference beyond rounding; otherwise empty.
        notes: Notes on what was left out to keep the pose.
        moved: The bone that moved farthest, if the move is visible; empty otherwise.
        moved_at: The frame of that move.
        distance: How far it moved, in world space.
        keys: Number of keys of the controls, in all array elements; 0 if every frame has keys.
        most: Number of keys with a key at every frame.
    """

    frames: int
    difference: float
    problem: str
    notes: list[str]
    moved: str = ""
    moved_at: float = 0.0
    distance: float = 0.0
    keys: int = 0
    most: int = 0

    @property
    def is_off(self) -> bool:
        """Whether the pose differs from the previous one."""
        return bool(self.problem or self.moved)


def set_up(armature: bpy.types.Object, options: Options) -> SetUpResult:
    """Add constraints, controls and limits to the enabled parts of a character not set up yet.

    Parts that already have IK keep it.

    Raises:
        ProblemError: If the character can't be set up; nothing is changed.
    """
    used = [part for part in character_settings(armature).parts if part.use]
    for part in used:
        refuse_part(armature, part)
    parts = [part for part in used if not reaching(armature, limb_of_part(armature, part))]
    if used and not parts:
        raise ProblemError("All enabled parts already have IK: there is nothing to set up")
    if not parts:
        raise ProblemError("No part is used: recognize the character, or enable a part")
    if options.controls == "BONE":
        refuse_uneditable(armature)
    layer = cast(bpy.types.ViewLayer, bpy.context.view_layer)
    with staged(layer, [armature]), all_or_nothing():
        states: list[SwitchState] = []
        try:
            states += switch_to_fk(armature, [part.bone for part in parts])
            ends = [node_of(armature, part.bone) for part in parts]
            frames = animated_frames(ends, parents, is_transform) if options.animation else []
            return _measured(armature, parts, options, _span(frames))
        except BaseException:
            remove(armature)
            for state in states:
                restore_switch(armature, state)
            raise


def _measured(
    armature: bpy.types.Object, parts: Sequence[FabrikPart], options: Options, span: Span
) -> SetUpResult:
    """Add everything, and return the result with the bone that visibly moved farthest."""
    size, names = body_of(armature, parts[0].bone).size, pose_bones(armature).keys()
    points = _points_at(armature, span)
    result = _build(armature, parts, options, span)
    if options.error and result.frames > 2:
        from .sparse_keys import controlled_parts, thin_keys  # These use numpy.

        indices = [cast(int, index_of(armature, part)) for part in parts]
        controlled = controlled_parts(armature, indices)
        count = thin_keys(armature, controlled, span.frames, options.error * size)
        result = result._replace(keys=count.keys, most=count.most)
    farthest, frame, at = max(
        (dist(a[k : k + 3], b[k : k + 3]), frame, k)
        for frame, a, b in zip(span.frames, points, _points_at(armature, span, names), strict=True)
        for k in range(0, len(a), 3)
        if k % 9 < 6 or not options.error  # An error is allowed for joints, not for twist.
    )
    if farthest <= max(SEEN, options.error) * size:
        return result
    distance = farthest * armature.matrix_world.median_scale
    return result._replace(moved=names[at // 9], moved_at=frame, distance=distance)


def _build(
    armature: bpy.types.Object,
    parts: Sequence[FabrikPart],
    options: Options,
    span: Span,
) -> SetUpResult:
    shown = shown_pose(armature)
    for part in parts:
        add_constraint(armature, part)
    notes: list[str] = []
    limbs = [part for part in parts if part.kind in LIMBS]
    for part in limbs:
        # A straight limb bends as its hinges allow, so its pole must be on that side.
        if options.hinges:
            notes.append(add_hinges(armature, part, shown))
        if options.poles:
            add_pole(armature, part)
    if options.controls == "BONE":
        rolling = limbs if options.roll else ()
        indices = [cast(int, index_of(armature, part)) for part in rolling]
        add_foot_controls = foot_controls(armature, indices)
        _use_bones(armature, parts, armature, options.parent)
        add_foot_controls()
    elif options.controls == "ARMATURE":
        controls = character_settings(armature).controls = new_armature(armature)
        _use_bones(armature, parts, controls, options.parent)
    items = [settings(armature).constraints[cast(int, index_of(armature, part))] for part in parts]
    for item in items:
        for control in filter(None, (item.target, item.pole_target)):
            if control.type == "EMPTY":
                parent_to(control, armature, control_parent(armature, item, options.parent))
    notes += native_limits_notes(armature, items)
    snapped = _snap(armature, parts, span)
    frames = len(span.frames) * span.is_keyed
    return SetUpResult(frames, snapped.difference, snapped.problem, [*filter(None, notes)])


def _span(frames: Sequence[float]) -> Span:
    """Return the frames at which to key the controls, or else the current frame."""
    scene = cast(bpy.types.Scene, bpy.context.scene)
    return Span(tuple(frames), True, True) if frames else Span((scene.frame_current_final,))


def _points_at(
    armature: bpy.types.Object, span: Span, names: Sequence[str] = ()
) -> list[list[float]]:
    """Return three points per bone at each frame, in armature space; all bones by default."""
    with restored_frame(span):
        return [_points(armature.evaluated_get(shown), names) for shown in span.visit()]


def _points(shown: bpy.types.Object, names: Sequence[str]) -> list[float]:
    """Return each bone's head, tail, and a point a bone length to the side, which shows twist."""
    bones = pose_bones(shown)
    heads, tails, matrices = (
        floats(bones, name, size) for name, size in (("head", 3), ("tail", 3), ("matrix", 16))
    )
    points: list[float] = []
    for i in map(bones.find, names) if names else range(len(bones)):
        head, tail = heads[3 * i : 3 * i + 3], tails[3 * i : 3 * i + 3]
        aside = [a + dist(head, tail) * x for a, x in zip(head, matrices[16 * i :], strict=False)]
        points += (*head, *tail, *aside)
    return points


def _use_bones(
    armature: bpy.types.Object,
    parts: Sequence[FabrikPart],
    holder: bpy.types.Object,
    parent: Parent,
) -> None:
    """Replace targets and poles that are Empties with bones of an armature."""
    indices = [cast(int, index_of(armature, part)) for part in parts]
    use_bones(armature, indices, holder, parent=parent)
    for part, index in zip(parts, indices, strict=True):
        item = settings(armature).constraints[index]
        if item.subtarget != part.bone:  # Otherwise it is an end of the limb.
            part.target, part.subtarget = item.target, item.subtarget
        part.pole, part.pole_bone = item.pole_target, item.pole_subtarget


def _snap(armature: bpy.types.Object, parts: Sequence[FabrikPart], span: Span) -> SnapResult:
    """Move the controls to where the FK pose needs them, now or with keys at each frame."""
    heads = [part for part in parts if part.kind == "HEAD"]
    indices = [cast(int, index_of(armature, part)) for part in parts if part not in heads]
    for part in heads:
        _snap_look_target(armature, part, span)
    # The end of a limb may be its target, which is already animated.
    still = {part.bone for part in parts}
    return snap_to_fk(armature, indices, span, still) if indices else SnapResult(0.0, "")


def _snap_look_target(armature: bpy.types.Object, part: FabrikPart, span: Span) -> None:
    """Move a head's target to where the FK pose looks, at a constant distance."""
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
