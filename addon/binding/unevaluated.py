"""Armatures and objects as they stand in the file's own data, with F-curves at a frame to come."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, cast

import bpy

from ..core import Frame
from ..core.vectors import Mat3, Vec, add, mat_product, mat_stretched, quat_matrix, times
from . import animation
from .access import pose_bones, rest_bone, settings
from .curves import BONE_CHANNEL, Curves
from .pose import Evaluated, Settings
from .rotation import PatchedChannels, PoseChannels, channel_of, mode_of, quaternion
from .skeleton import Skeleton, matrix_frame

ITEM = "fabrik.constraints["


class Unevaluated(Evaluated):
    """An armature as Blender is going to evaluate it."""

    def __init__(self, rig: Skeleton, curves: Curves | None, frame: float | None) -> None:
        """Take the armature.

        Args:
            rig: The armature.
            curves: Its F-curves, if it has any.
            frame: The frame that they are asked for; None if the channels hold what they give.
        """
        super().__init__(rig.object)
        self._rig = rig
        self._curves = curves if frame is not None else None
        self._frame = cast(float, frame)

    @cached_property
    def channels(self) -> PoseChannels:
        """The channels with the FK pose."""
        bones = pose_bones(self.object)
        curves = self._curves
        if curves is None:
            return PoseChannels(bones)
        curves.refresh()
        if not curves.bone_places:
            return PoseChannels(bones)
        frame = self._frame
        return PatchedChannels(bones, lambda name, size: curves.of_bones(name, size, frame))

    def columns(self) -> list[list[Any]]:
        """Return the settings of all constraints, by `Settings`."""
        columns = super().columns()
        if self._curves is None:
            return columns
        self._curves.refresh()
        for path in self._curves.places:
            if not path.startswith(ITEM):
                continue
            place, _, name = path[len(ITEM) :].partition("].")
            if name in Settings._fields and int(place) < len(columns[0]):
                item = settings(self.object).constraints[int(place)]
                for _, number in self._curves.at(path, self._frame):
                    value = _as_property(item.bl_rna.properties[name], number)
                    columns[Settings._fields.index(name)][int(place)] = value
        return columns

    def frame(self, bone: int) -> Frame:
        """Return where a bone rests, in armature space."""
        return matrix_frame(rest_bone(self.object, self._rig.names[bone]).matrix_local)


def _as_property(prop: Any, number: float) -> Any:
    """Return what Blender makes of a number that an F-curve gives a property."""
    if prop.type == "BOOLEAN":
        return number > 0.0
    if prop.type == "ENUM":
        return int(number)
    number = min(max(number, prop.hard_min), prop.hard_max)
    return int(number) if prop.type == "INT" else number


def object_frame(ob: bpy.types.Object, curves: Curves, frame: float | None) -> Frame:
    """Return where an object stands in the space of its parent's inverse, from its channels.

    Args:
        ob: The object.
        curves: Its F-curves.
        frame: The frame that they are asked for; None if the channels hold what they give.
    """

    def of(name: str) -> list[float]:
        numbers = list(getattr(ob, name))
        for i, number in curves.at(name, frame) if frame is not None else ():
            numbers[i] = number
        return numbers

    mode = mode_of(ob)
    name, _ = channel_of(mode)
    turn = _matrix(mode, of(name))
    if name != "rotation_axis_angle":  # To its delta Blender gives no access.
        turn = mat_product(_matrix(mode, of(f"delta_{name}")), turn)
    place = add(_vec(of("location")), _vec(of("delta_location")))
    size = times(_vec(of("scale")), _vec(of("delta_scale")))
    return mat_stretched(turn, size), place


def _matrix(mode: int, numbers: list[float]) -> Mat3:
    return quat_matrix(quaternion(mode, numbers))


def _vec(numbers: list[float]) -> Vec:
    x, y, z = numbers
    return (x, y, z)


def animated_from(
    evaluated: PoseChannels, ob: bpy.types.Object, original: PoseChannels
) -> PoseChannels:
    """Return channels with what animation has made of them in an evaluated copy."""
    found = animation.animated(ob)
    animated = found.keyed | found.driven
    if not animated:
        return original
    bones = original.bones
    names = {bpy.utils.escape_identifier(name): i for i, name in enumerate(bones.keys())}
    places: dict[str, list[tuple[int, int]]] = {}
    for path, index in animated:
        of_bone = BONE_CHANNEL.fullmatch(path)
        if of_bone and of_bone[1] in names:
            places.setdefault(of_bone[2], []).append((names[of_bone[1]], index))

    def patches(name: str, size: int) -> Iterator[tuple[int, float]]:
        numbers = evaluated.buffer(name, size) if name in places else None
        for bone, index in places.get(name, ()):
            if numbers is not None:
                yield bone * size + index, numbers[bone * size + index]

    patched = PatchedChannels(bones, patches)
    if found.has_modes:
        patched.modes = evaluated.modes
    return patched
