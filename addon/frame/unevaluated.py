"""Reading armatures and objects ahead of an evaluation, from original data and F-curves."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any, cast

import bpy

from fabrik_solver import Frame
from fabrik_solver.core.vectors import (
    ORIGIN,
    Mat3,
    Vec,
    add,
    mat_product,
    quat_matrix,
    scale_columns,
    times,
)

from ..blender import animation
from ..blender.access import rest_bone
from ..blender.curves import ITEM, Sampler, split_bone_path
from ..blender.rotation import (
    KIND_OF,
    PatchedChannels,
    PatchedRows,
    PoseChannels,
    Rows,
    channel_of,
    mode_of,
    quaternion,
)
from ..blender.skeleton import Skeleton, matrix3, matrix_frame
from ..settings.properties import settings, settings_form
from .evaluated import Evaluated


class Unevaluated(Evaluated):
    """An armature as Blender will evaluate it.

    Attributes:
        has_animated_bones: Whether F-curves animate its bones.
        has_animated_settings: Whether F-curves animate settings of its constraints.
    """

    def __init__(self, rig: Skeleton, rows: Rows, played: Sampler | None) -> None:
        """Wrap an armature.

        Args:
            rig: The armature.
            rows: The bones that are read at each update.
            played: Its F-curves at the frame; None if the channels already have their values.
        """
        super().__init__(rig.object, rows)
        self._rig = rig
        self._played = played
        self.has_animated_bones = played is not None and played.animates_bones()
        self.has_animated_settings = played is not None and played.animates_settings()

    def has_played(self, evaluated: PoseChannels, posed: Collection[int]) -> bool:
        """Return whether evaluated channels have the values of the F-curves.

        Args:
            evaluated: The channels.
            posed: Slots that are left out, as they show the solution.
        """
        played = cast(Sampler, self._played)
        for name, size in self.channels.names():
            there, first = evaluated.buffer(name, size), self._rig.slot(KIND_OF[name], 0)
            for place, number in played.bone_values(name, size):
                if there[place] != number and first + place // size not in posed:
                    return False
        return True

    @cached_property
    def channels(self) -> PoseChannels:
        """The channels of the FK pose."""
        bones, played = self.bones, self._played
        if played is None or not played.animates_bones():
            return PoseChannels(bones, self._rows)
        return PatchedChannels(bones, played.bone_values, self._rows)

    def columns(self) -> list[list[Any]]:
        """Return the settings of all constraints: one list per setting of `settings_form`."""
        names = settings_form().names
        columns = super().columns()
        for path in self._played.places if self._played else ():
            if not path.startswith(ITEM):
                continue
            place, _, name = path[len(ITEM) :].partition("].")
            if name in names and int(place) < len(columns[0]):
                item = settings(self.object).constraints[int(place)]
                for _, number in cast(Sampler, self._played).at(path):
                    value = _as_property(item.bl_rna.properties[name], number)
                    columns[names.index(name)][int(place)] = value
        return columns

    def frame(self, bone: int) -> Frame:
        """Return the rest frame of a bone, in armature space."""
        return matrix_frame(rest_bone(self.object, self._rig.names[bone]).matrix_local)


class UnevaluatedRows(Unevaluated):
    """An armature as Blender will evaluate it, of which only what is read at each update counts."""

    @cached_property
    def channels(self) -> PoseChannels:
        """The channels of the FK pose of the bones that are read at each update."""
        played = cast(Sampler, self._played)
        return PatchedRows(self.bones, played.bone_values, self._rows)


ALMOST_ONE = 1.0 - 2.0**-23
"""Values of an F-curve above this set a boolean to true."""


def _as_property(prop: Any, number: float) -> Any:
    """Return the value that a property gets from an F-curve, as Blender converts it."""
    if prop.type == "BOOLEAN":
        return number > ALMOST_ONE
    if prop.type == "ENUM":
        return int(number)
    number = min(max(number, prop.hard_min), prop.hard_max)
    return int(number) if prop.type == "INT" else number


def object_place(ob: bpy.types.Object, played: Sampler | None) -> Vec:
    """Return the location of an object from its channels, as in `matrix_basis`.

    Args:
        ob: The object.
        played: Its F-curves at the frame; None if the channels already have their values.
    """
    place = _vec(_channel(ob, played, "location"))
    delta = _vec(_channel(ob, played, "delta_location"))
    # Blender adds them in single precision.
    return place if delta == ORIGIN else _vec(array("f", add(place, delta)))


def object_frame(ob: bpy.types.Object, played: Sampler | None, turns: bool) -> Frame:
    """Return the frame of an object from its channels; see `object_place`.

    Args:
        ob: The object.
        played: Its F-curves at the frame.
        turns: Whether F-curves set its rotation or scale.
    """
    if not turns:
        return matrix3(ob.matrix_basis), object_place(ob, played)
    mode = mode_of(ob)
    name, _ = channel_of(mode)
    turn = _matrix(mode, _channel(ob, played, name))
    if name != "rotation_axis_angle":  # RNA does not expose its delta.
        turn = mat_product(_matrix(mode, _channel(ob, played, f"delta_{name}")), turn)
    scale = _vec(_channel(ob, played, "scale"))
    size = times(scale, _vec(_channel(ob, played, "delta_scale")))
    return scale_columns(turn, size), object_place(ob, played)


def _channel(ob: bpy.types.Object, played: Sampler | None, name: str) -> list[float]:
    numbers = list(getattr(ob, name))
    if played is not None:
        for i, number in played.at(name):
            numbers[i] = number
    return numbers


def _matrix(mode: int, numbers: list[float]) -> Mat3:
    return quat_matrix(quaternion(mode, numbers))


def _vec(numbers: Sequence[float]) -> Vec:
    x, y, z = numbers
    return (x, y, z)


def animated_from(
    evaluated: PoseChannels, ob: bpy.types.Object, original: PoseChannels
) -> PoseChannels:
    """Return original channels, with animated ones as in an evaluated copy."""
    found = animation.animated(ob)
    animated = found.keyed | found.driven
    if not animated:
        return original
    bones = original.bones
    bone_index = {name: i for i, name in enumerate(bones.keys())}
    places: dict[str, list[tuple[int, int]]] = {}
    for path, index in animated:
        bone, channel = split_bone_path(path)
        if bone in bone_index and evaluated.has(bone_index[bone]):
            places.setdefault(channel, []).append((bone_index[bone], index))

    def patches(name: str, size: int) -> Iterator[tuple[int, float]]:
        numbers = evaluated.buffer(name, size) if name in places else None
        for bone, index in places.get(name, ()):
            if numbers is not None:
                yield bone * size + index, numbers[bone * size + index]

    patched = PatchedChannels(bones, patches)
    if found.has_modes:
        patched.modes = evaluated.modes
    return patched
