"""Channels of pose bones: rotations in all rotation modes, locations and scales."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain
from math import atan2, hypot, tau
from typing import Any, NamedTuple

import bpy
from mathutils import Euler, Quaternion

from fabrik_solver import euler_angles
from fabrik_solver.core.vectors import Quat, quat_unit

QUATERNION, AXIS_ANGLE = 0, -1
"""Rotation modes as Blender stores them; 1 to 6 are `EULER_ORDERS`."""

EULER_ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")

EULER_AXES = tuple(("XYZ".index(order[0]), "XYZ".index(order[1])) for order in EULER_ORDERS)
"""The first two axes of each order."""

MODES = {name: i + 1 for i, name in enumerate(EULER_ORDERS)}
MODES |= {"QUATERNION": QUATERNION, "AXIS_ANGLE": AXIS_ANGLE}

LOCATION, SCALE = -2, -3
"""Constants that replace a rotation mode for the other channels."""

CHANNELS = {
    QUATERNION: ("rotation_quaternion", 4),
    AXIS_ANGLE: ("rotation_axis_angle", 4),
    LOCATION: ("location", 3),
    SCALE: ("scale", 3),
}

ALL_CHANNELS = tuple({*CHANNELS.values(), ("rotation_euler", 3)})
"""All channels of a bone, with their numbers of components."""

KINDS = (QUATERNION, LOCATION, SCALE)
"""The kinds of channels that are solved; `QUATERNION` represents all rotation modes.

An armature of n bones has a slot for each bone and kind: bone i has the slots i, n + i and 2n + i.
If only rotations are solved, it has only the first n.
"""

TURNS = ("rotation_euler", "rotation_quaternion", "rotation_axis_angle")

KIND_OF = {"location": LOCATION, "scale": SCALE} | dict.fromkeys(TURNS, QUATERNION)
"""The kind of each channel of a bone."""


def channel_of(mode: int) -> tuple[str, int]:
    """Return the property of a rotation mode, locations or scales, and its number of components."""
    return CHANNELS.get(mode, ("rotation_euler", 3))


def mode_of(owner: Any) -> int:
    """Return the rotation mode of an object or a pose bone as a number."""
    return MODES.get(owner.rotation_mode, QUATERNION)


def floats(bones: bpy.types.bpy_prop_collection, name: str, size: int) -> array[float]:
    """Return a float property of all bones, ``size`` components per bone."""
    buffer = array("f", bytes(4 * len(bones) * size))
    bones.foreach_get(name, buffer)
    return buffer


def integers(bones: bpy.types.bpy_prop_collection, name: str) -> array[int]:
    """Return an integer or enum property of all bones."""
    buffer = array("i", bytes(4 * len(bones)))
    bones.foreach_get(name, buffer)
    return buffer


IndexRange = tuple[int, int, int]
"""A range of consecutive bones: its start and end, and the index of its first bone in the list."""


def ranges_of(bones: Sequence[int]) -> list[IndexRange]:
    """Split a list of bones into ranges of consecutive bones."""
    if bones and [*bones] == [*range(bones[0], bones[0] + len(bones))]:  # The usual case.
        return [(bones[0], bones[0] + len(bones), 0)]
    ranges: list[IndexRange] = []
    for i, bone in enumerate(bones):
        if ranges and ranges[-1][1] == bone:
            ranges[-1] = (ranges[-1][0], bone + 1, ranges[-1][2])
        else:
            ranges.append((bone, bone + 1, i))
    return ranges


def gather(buffer: array[float], ranges: Sequence[IndexRange], size: int) -> bytes:
    """Copy the values of some ranges of bones out of a buffer, ``size`` values per bone."""
    if len(ranges) == 1:
        first, last, _ = ranges[0]
        return buffer[first * size : last * size].tobytes()
    view = memoryview(buffer)
    return b"".join([view[first * size : last * size] for first, last, _ in ranges])


def transfer(
    source: array[float], stride: int, first: int, to: array[float], size: int, span: IndexRange
) -> None:
    """Copy the values of a range of bones between arrays of different strides.

    Args:
        source: The source array.
        stride: The number of values per bone in the source.
        first: The index of the range's first bone in the source.
        to: The destination array.
        size: The number of values per bone in the destination.
        span: The range of bones.
    """
    start, end, _ = span
    last = first + end - start
    for i in range(min(size, stride)):
        to[start * size + i : end * size : size] = source[
            first * stride + i : last * stride : stride
        ]


SPARSE = 8
"""The ratio of all bones to needed bones above which bones are accessed individually."""


class Rows:
    """The bones of an armature that are read and written at each update.

    Blender's bulk access visits all bones, so a few of many are looked up by name instead.

    Attributes:
        names: The names of all bones of the armature.
        bones: The indices of the bones to read, ascending.
        are_few: Whether they are accessed individually.
        chosen: The same bones as a set.
    """

    def __init__(self, names: Sequence[str], bones: Iterable[int]) -> None:
        """Choose between bulk and individual access."""
        self.names = names
        self.bones = sorted(bones)
        self.are_few = len(self.bones) * SPARSE < len(names)
        self.chosen = frozenset(self.bones)

    def find(self, bones: bpy.types.bpy_prop_collection, bone: int) -> Any:
        """Return a pose bone of the armature.

        Names that change in Edit Mode reach evaluated copies late. If the name is missing, the bone
        is looked up by index.
        """
        pose_bone = bones.get(self.names[bone])
        return bones[bone] if pose_bone is None else pose_bone


class ChannelGroup(NamedTuple):
    """Bones that are all posed in the same channel.

    Attributes:
        channel: The name of the property.
        size: Its number of components.
        first: The slot (see `KINDS`) of this channel for the armature's first bone.
        bones: The bones, ascending.
        ranges: The bones as ranges of consecutive indices.
    """

    channel: str
    size: int
    first: int
    bones: Sequence[int]
    ranges: Sequence[IndexRange]

    def of_slots(self, numbers: array[float]) -> bytes:
        """Return the values of this group from an array of four numbers per slot."""
        ranges = [
            (self.first + first, self.first + last, position)
            for first, last, position in self.ranges
        ]
        values = gather(numbers, ranges, 4)
        if self.size == 4:
            return values
        fours = array("f", values)
        threes = array("f", bytes(4 * self.size * len(self.bones)))
        for i in range(self.size):
            threes[i :: self.size] = fours[i::4]
        return threes.tobytes()

    def patched(self, values: bytes, patches: Iterable[tuple[int, float]]) -> bytes:
        """Return values of this group with some replaced, at flat indices that count all bones."""
        replacements, size = [*patches], self.size
        if not replacements:
            return values
        numbers = array("f", values)
        first = {bone: position * size for position, bone in enumerate(self.bones)}
        for i, value in replacements:
            if i // size in first:
                numbers[first[i // size] + i % size] = value
        return numbers.tobytes()


class PoseChannels:
    """The channels of the bones of a pose, each read on first use.

    A column contains a channel's values of all bones. If only a few bones are needed, the values of
    the others are zero.
    """

    def __init__(self, bones: bpy.types.bpy_prop_collection, rows: Rows | None = None) -> None:
        """Read nothing yet.

        Args:
            bones: The pose bones of an original or evaluated armature.
            rows: The bones needed in columns; None for all.
        """
        self.bones = bones
        self.buffers: dict[str, array[Any]] = {}
        self._owners: dict[int, Any] = {}
        self._rows: Any = rows if rows is not None and rows.are_few else None

    @cached_property
    def _few_bones(self) -> dict[int, Any]:
        """The needed bones by index, if these are few."""
        return {bone: self._owner(bone) for bone in self._rows.bones}

    def _owner(self, bone: int) -> Any:
        owner = self._owners.get(bone)
        if owner is None:
            owner = self._owners[bone] = self._rows.find(self.bones, bone)
        return owner

    @cached_property
    def modes(self) -> array[int]:
        """The rotation modes of the bones."""
        if self._rows is None:
            return integers(self.bones, "rotation_mode")
        modes = array("i", bytes(4 * len(self._rows.names)))
        for bone, owner in self._few_bones.items():
            modes[bone] = mode_of(owner)
        return modes

    def read(self, channel: str, size: int) -> array[float]:
        """Return the column of a channel as Blender stores it, ``size`` components per bone."""
        column = self.buffers.get(channel)
        if column is None:
            rows = self._rows
            column = (
                floats(self.bones, channel, size) if rows is None else self._sparse(channel, size)
            )
            self.buffers[channel] = column
        return column

    buffer = read

    def _sparse(self, channel: str, size: int) -> array[float]:
        column = array("f", bytes(4 * size * len(self._rows.names)))
        for bone, owner in self._few_bones.items():
            column[bone * size : (bone + 1) * size] = array("f", getattr(owner, channel)[:])
        return column

    def of(self, group: ChannelGroup) -> bytes:
        """Return the values of a group of needed bones, as bytes."""
        channel = group.channel
        if self._rows is None or channel in self.buffers:
            return gather(self.buffer(channel, group.size), group.ranges, group.size)
        owners = self._few_bones
        return _values_of([owners[bone] for bone in group.bones], channel)

    def has(self, bone: int) -> bool:
        """Return whether columns contain the values of a bone."""
        return self._rows is None or bone in self._rows.chosen

    def mode(self, bone: int) -> int:
        """Return the rotation mode of any bone."""
        return self.modes[bone] if self.has(bone) else mode_of(self._owner(bone))

    @cached_property
    def every(self) -> PoseChannels:
        """The channels with all bones in columns."""
        return self if self._rows is None else PoseChannels(self.bones)

    @cached_property
    def _all_modes(self) -> array[int]:
        """The rotation modes of all bones, if columns have all."""
        return self.modes

    def rotations(self, bones: Sequence[int]) -> list[Quat]:
        """Return the rotations of some bones; columns must contain all of them."""
        modes = self._all_modes
        sizes = {mode: channel_of(mode) for mode in {modes[bone] for bone in bones}}
        columns = {mode: (self.buffer(*channel), channel[1]) for mode, channel in sizes.items()}
        rotations: list[Quat] = []
        for bone in bones:
            mode = modes[bone]
            column, size = columns[mode]
            rotations.append(quaternion(mode, column[bone * size : (bone + 1) * size]))
        return rotations

    def values(self, bone: int) -> list[float]:
        """Return the values of any bone's rotation channel."""
        return self.numbers(bone, *channel_of(self.mode(bone)))

    def transform(self, bone: int) -> tuple[int, Sequence[float], Sequence[float], Sequence[float]]:
        """Return the rotation mode of any bone, and its rotation, location and scale."""
        if self.has(bone):
            mode, numbers = self.mode(bone), self.numbers
            rotation = numbers(bone, *channel_of(mode))
            return mode, rotation, numbers(bone, "location", 3), numbers(bone, "scale", 3)
        owner = self._owner(bone)
        mode = mode_of(owner)
        return mode, getattr(owner, channel_of(mode)[0])[:], owner.location[:], owner.scale[:]

    def numbers(self, bone: int, channel: str, size: int) -> list[float]:
        """Return the values of a channel of any bone."""
        if self._rows is None or bone in self._rows.chosen:
            return self.buffer(channel, size)[bone * size : bone * size + size].tolist()
        return [*getattr(self._owner(bone), channel)[:]]


def _values_of(bones: Iterable[Any], channel: str) -> bytes:
    """Return the values of a channel of pose bones, each read on its own, as bytes."""
    return array("f", [*chain.from_iterable([getattr(b, channel)[:] for b in bones])]).tobytes()


ZERO = 2.0**-150
"""The squared norm below which Blender treats a quaternion as zero."""

ZERO_QUATERNION: Quat = (0.0, 1.0, 0.0, 0.0)
"""The rotation that Blender uses for a zero quaternion."""


class PatchedRows(PoseChannels):
    """The channels of a pose's bones that are needed in columns, with some values replaced.

    Attributes:
        reads_all: Whether columns have all bones. The column of modes has only the needed bones.
        sizes: The numbers of components of the channels that were read in columns.
    """

    reads_all = False

    def __init__(
        self,
        bones: bpy.types.bpy_prop_collection,
        patches: Callable[[str, int], Iterable[tuple[int, float]]],
        rows: Rows | None = None,
    ) -> None:
        """Read nothing yet.

        Args:
            bones: The pose bones of an original armature.
            patches: Returns the flat indices and values to replace, for a channel and its size.
            rows: The bones needed in columns; None for all.
        """
        super().__init__(bones, None if self.reads_all else rows)
        self._counting = rows if rows is not None and rows.are_few else None
        self._patches = patches
        self._patched: dict[str, array[float]] = {}
        self.sizes: dict[str, int] = {}

    def buffer(self, channel: str, size: int) -> array[float]:
        """Return the patched column of a channel, with ``size`` components per bone."""
        if channel not in self._patched:
            buffer = self._patched[channel] = self.read(channel, size)[:]
            self.sizes[channel] = size
            for i, value in self._patches(channel, size):
                buffer[i] = value
        return self._patched[channel]

    def of(self, group: ChannelGroup) -> bytes:
        """Return the patched values of a group of needed bones, as bytes."""
        values = super().of(group)
        if self._rows is None or group.channel in self.buffers:
            return values  # They are from the column, which is patched.
        return group.patched(values, self._patches(group.channel, group.size))


class PatchedChannels(PatchedRows):
    """The channels of all bones of a pose, with some values replaced."""

    reads_all = True

    def of(self, group: ChannelGroup) -> bytes:
        """Return the patched values of a group of needed bones, as bytes.

        A few bones are read individually, because columns may be those of an earlier frame.
        """
        rows = self._counting
        if rows is None:
            return super().of(group)
        owners = [rows.find(self.bones, bone) for bone in group.bones]
        values = _values_of(owners, group.channel)
        return group.patched(values, self._patches(group.channel, group.size))

    @cached_property
    def _all_modes(self) -> array[int]:
        if "rotation_mode" not in self.buffers:
            self.buffers["rotation_mode"] = integers(self.bones, "rotation_mode")
        return self.buffers["rotation_mode"]

    @cached_property
    def modes(self) -> array[int]:
        """The rotation modes of the bones."""
        if self._counting is None:
            return self._all_modes
        modes = array("i", bytes(4 * len(self._all_modes)))
        for bone in self._counting.bones:
            modes[bone] = self._all_modes[bone]
        return modes

    def mode(self, bone: int) -> int:
        """Return the rotation mode of any bone."""
        return self._all_modes[bone]


def quaternion(mode: int, values: Sequence[float]) -> Quat:
    """Return the rotation that channel values represent, as a unit quaternion."""
    if mode == QUATERNION:
        w, x, y, z = values[0], values[1], values[2], values[3]
        if w * w + x * x + y * y + z * z < ZERO:
            return ZERO_QUATERNION
        return quat_unit((w, x, y, z))
    if mode == AXIS_ANGLE:
        turn = Quaternion(values[1:4], values[0])
    else:
        turn = Euler(values[:3], EULER_ORDERS[mode - 1]).to_quaternion()
    return quat_unit((turn.w, turn.x, turn.y, turn.z))


def channel_values(mode: int, rotation: Quat, near: Sequence[float]) -> list[float]:
    """Return the channel values of a rotation (a unit quaternion) that are nearest to ``near``."""
    if mode == QUATERNION:
        opposite = sum(a * b for a, b in zip(rotation, near, strict=True)) < 0.0
        return [-number if opposite else number for number in rotation]
    # Blender's conversions lose half of the digits near the identity and near gimbal lock.
    if mode == AXIS_ANGLE:
        w, x, y, z = rotation
        sign = -1.0 if x * near[1] + y * near[2] + z * near[3] < 0.0 else 1.0
        size = hypot(x, y, z)
        if size == 0.0:
            x, y, z = near[1:4] if any(near[1:4]) else (0.0, 1.0, 0.0)
        angle, factor = 2.0 * atan2(size, w) * sign, sign / size if size > 0.0 else 1.0
        turns = round((near[0] - angle) / tau)
        return [angle + tau * turns, x * factor, y * factor, z * factor]
    first, second = EULER_AXES[mode - 1]
    return [*euler_angles(rotation, first, second, (near[0], near[1], near[2]))]


def continuous(mode: int, rows: Sequence[Sequence[float]]) -> list[list[float]]:
    """Make the channel values of successive rotations continuous.

    Args:
        mode: The rotation mode.
        rows: The values of the channel at each frame, at least one. The first row stays unchanged.
    """
    smooth = [list(rows[0])]
    for values in rows[1:]:
        smooth.append(channel_values(mode, quaternion(mode, values), smooth[-1]))
    return smooth
