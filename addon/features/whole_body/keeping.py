"""Pinning bones during playback: storing where they stay, and baking them to keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import dist
from typing import Any, NamedTuple, cast

import bpy
from mathutils import Vector

from fabrik_solver.core.vectors import ORIGIN, Quat, Vec, add

from ...blender.access import pose_bones
from ...blender.axes import AXES, nearest_axis
from ...blender.errors import ProblemError
from ...blender.keying import auto_key, set_keys
from ...blender.rotation import channel_of, channel_values, continuous, mode_of
from ...blender.skeleton import skeleton_of, vector
from ...body.flexion import SOURCES, store_found
from ...body.looking import body_of
from ...editing.constraints import disable
from ...editing.joint_uses import uses_of
from ...editing.playing import finish, play, returning, updated
from ...frame.solving import solve_armatures
from ...plan import planner
from .kept import KeptBody, kept_body, refusal_of
from .roles import Roles, roles_of
from .settings import (
    ANIMATION,
    BOTH,
    NONE,
    PLACE,
    POSING,
    FabrikPin,
    body_settings,
    pin_kind,
    pin_of,
    pins_of,
    set_pin,
)


def keep(armature: bpy.types.Object, bone: str, frames: str) -> list[str]:
    """Pin a bone during playback; return the names of the feet that are pinned with it.

    The bone is pinned where it is now. The first bone pinned like this also pins the feet as
    animated, unless they are already pinned.

    Args:
        armature: The armature.
        bone: The bone, which is already pinned for posing.
        frames: An item of `FRAMES_ITEMS`.

    Raises:
        ProblemError: If its body can't be posed; nothing is changed.
    """
    planner.discard_if_outdated()  # Bones may have been renamed.
    pin, settings, roles = (
        pin_of(armature, bone),
        body_settings(armature),
        roles_of(armature, bone=bone),
    )
    previous, uses = (_copied(pin), settings.up_axis), uses_of(armature)
    pin.location, pin.rotation = shown_place(armature, bone, roles)
    settings.up_axis = nearest_axis(Vector(roles.up), AXES)
    pin.frames = frames
    if frames == POSING:
        return []
    try:
        body = kept_body(skeleton_of(armature))
        if body is not None and body.refusal:
            raise ProblemError(body.refusal)
    except ProblemError:
        _paste(pin, previous[0])
        settings.up_axis = previous[1]
        raise
    store_found(body_of(armature, bone), roles.hinges, uses, SOURCES)
    others = [other for other in pins_of(armature) if other.bone != bone and other.frames != POSING]
    if frames != PLACE or others:
        return []
    feet = [foot for foot in roles.feet if pin_kind(armature, foot) == NONE and foot != bone]
    for foot in feet:
        set_pin(armature, foot, BOTH)
        pin_of(armature, foot).frames = ANIMATION
    return feet


def shown_place(armature: bpy.types.Object, name: str, roles: Roles) -> tuple[Vec, Quat]:
    """Return the location of a bone's pinned point and the bone's rotation, in world space."""
    shown = armature.evaluated_get(updated())
    bone: Any = pose_bones(shown)[name]
    _, turn, _ = (shown.matrix_world @ bone.matrix).decompose()
    location = shown.matrix_world @ roles.pinned_end(bone)
    return vector(location), (turn.w, turn.x, turn.y, turn.z)


def planned_body(armature: bpy.types.Object) -> KeptBody | None:
    """Return the body of an armature that the current plan poses, or None if there is none."""
    body = _planned(armature)
    return None if body is None or body.refusal else body


def _planned(armature: bpy.types.Object) -> KeptBody | None:
    plan = planner.known()
    units = () if plan is None else plan.units_of.get(armature.session_uid, ())
    return next((unit for unit in units if isinstance(unit, KeptBody)), None)


def pins_problem(armature: bpy.types.Object) -> str:
    """Return why an armature's pins have no effect in playback; empty if they do."""
    body = _planned(armature)
    return refusal_of(armature) if body is None else body.problem


class DraggedPlace:
    """The stored location of a pin, which moves with its dragged bone.

    Pins may be removed and added during the drag, so this keeps no reference to one.
    """

    def __init__(self, armature: bpy.types.Object, bone: str) -> None:
        """Set the bone; nothing happens unless its pin stores a location."""
        self._armature, self._bone = armature, bone
        pin = self._pin()
        self._start = ORIGIN if pin is None else vector(pin.location)
        self._before = {} if pin is None else _copied(pin)

    def _pin(self) -> FabrikPin | None:
        if pin_kind(self._armature, self._bone) == NONE:
            return None
        pin = pin_of(self._armature, self._bone)
        return pin if pin.frames == PLACE else None

    def move_by(self, displacement: Vec) -> None:
        """Move the location in world space, relative to the start."""
        pin = self._pin()
        if pin is not None:
            pin.location = add(self._start, displacement)

    def key(self) -> None:
        """Key the location if Auto Keying is on."""
        pin = self._pin()
        if pin is not None:
            auto_key(pin, "location")

    def restore(self) -> None:
        """Restore the pin's values from the start. Call this once the pin exists again."""
        if self._before:
            _paste(pin_of(self._armature, self._bone), self._before)


def _copied(pin: FabrikPin) -> dict[str, object]:
    """Return the values that are lost when a pin is removed, apart from tool settings."""
    location, rotation = tuple(pin.location), tuple(pin.rotation)
    return {
        "frames": pin.frames,
        "influence": pin.influence,
        "location": location,
        "rotation": rotation,
    }


def _paste(pin: FabrikPin, values: Mapping[str, object]) -> None:
    for name, value in values.items():
        setattr(pin, name, value)


class Baked(NamedTuple):
    """The result of baking.

    Attributes:
        bones: The number of bones.
        distance: Largest distance of a joint from where it was, in world space.
    """

    bones: int
    distance: float


def bake(scene: bpy.types.Scene, layer: bpy.types.ViewLayer, armature: bpy.types.Object) -> Baked:
    """Key a body with pins as shown at each frame of the scene, and unpin it in playback.

    Raises:
        ProblemError: If there is nothing to bake, or it can't be keyed; nothing is changed.
    """
    body = kept_body(skeleton_of(armature))
    if body is None:
        raise ProblemError("No bone is pinned In World Space: nothing to bake")
    if body.refusal:
        raise ProblemError(body.refusal)
    frames = [*range(scene.frame_start, scene.frame_end + 1)]
    names = [body.rig.names[bone] for bone in body.bones]

    def heads() -> list[Vec]:
        shown = armature.evaluated_get(cast(bpy.types.Depsgraph, layer.depsgraph))
        bones: Any = pose_bones(shown)
        return [vector(shown.matrix_world @ cast(Vector, bones[name].head)) for name in names]

    def look(_frame: int) -> tuple[list[tuple[Quat, Vec]], list[Vec]]:
        solved = solve_armatures(cast(bpy.types.Depsgraph, layer.depsgraph), [armature])
        locals_ = [solved.poses[body.rig.uid].posed_local(bone) for bone in body.bones]
        return [(local.rotation, local.location) for local in locals_], heads()

    with returning(scene, layer):
        seen = finish(play(scene, frames, look))
        for i, name in enumerate(names):
            rows = [row[i] for row, _ in seen]
            _key(pose_bones(armature)[name], frames, rows, bool(body.more) and i == 0)
        # Keys now replace what is solved before the body.
        for chain in planner.chains_in(armature):
            if not body.keeps.isdisjoint(chain.bones):
                disable(armature, chain.item, scene.frame_start)
        for pin in pins_of(armature):
            pin.frames = POSING
        planner.discard()
        baked = finish(play(scene, frames, lambda _: heads()))
    layer.update()
    pairs = zip([row for _, row in seen], baked, strict=True)
    return Baked(len(names), max(max(map(dist, was, baked_row)) for was, baked_row in pairs))


def _key(bone: Any, frames: Sequence[int], rows: Sequence[tuple[Quat, Vec]], moves: bool) -> None:
    mode = mode_of(bone)
    name, _ = channel_of(mode)
    turns = [channel_values(mode, turn, list(getattr(bone, name))) for turn, _ in rows]
    set_keys(bone, name, frames, [*zip(*continuous(mode, turns), strict=True)])
    if moves:
        set_keys(bone, "location", frames, [*zip(*[location for _, location in rows], strict=True)])
