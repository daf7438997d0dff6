"""Reading one armature: its FK pose, that is what the animator keyed, drove or posed.

Outside of Blender's evaluation it is what the channels hold, so reading it is all there is to do.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..blender.rotation import (
    KINDS,
    LOCATION,
    QUATERNION,
    SCALE,
    PoseChannels,
    Rows,
    Run,
    channel_of,
    gather,
    quaternion,
    runs_of,
    transfer,
)
from ..blender.skeleton import Skeleton
from ..core import Local
from ..core.vectors import ORIGIN, Quat
from .evaluated import Evaluated
from .joints import IkSettings, ik_settings
from .muting import counted
from .settings_now import Settings, form


class Group(NamedTuple):
    """Bones of which the same channel is solved.

    Attributes:
        channel: The property.
        size: How many numbers it has.
        first: The slot of this kind of the armature's first bone.
        bones: The bones, ascending.
        runs: The same as runs of neighbours.
    """

    channel: str
    size: int
    first: int
    bones: Sequence[int]
    runs: Sequence[Run]

    def of_slots(self, numbers: array[float]) -> bytes:
        """Return what the channel gets of four numbers a slot of the armature."""
        runs = [(self.first + first, self.first + last, place) for first, last, place in self.runs]
        found = gather(numbers, runs, 4)
        if self.size == 4:
            return found
        fours = array("f", found)
        threes = array("f", bytes(4 * self.size * len(self.bones)))
        for i in range(self.size):
            threes[i :: self.size] = fours[i::4]
        return threes.tobytes()

    def of(self, channels: PoseChannels) -> bytes:
        """Return what channels hold of it."""
        return gather(channels.buffer(self.channel, self.size), self.runs, self.size)


class FkPose(NamedTuple):
    """One armature as it was read. Nobody changes it: another moment has another one.

    Attributes:
        rig: The armature.
        rows: The bones whose channels are read at each update.
        settings: Those of its constraints, in the list's order.
        joints: The settings for Blender's own IK of the bones that keep them in our chains.
        locations: The FK pose of the bones, or what Blender evaluated; three numbers a bone.
        scales: The same of their scales.
        inputs: The FK pose of the bones that chains pose, in the channel of its mode; four numbers
            a slot (see `KINDS`).
        modes: The modes that count, by slot.
        groups: The slots, by channel; none if no chain poses anything.
        has_only_quaternions: Whether all bones that chains turn are in quaternion mode.
        stamp: Other numbers whenever the FK pose, a location, a scale or a joint may be another.
    """

    rig: Skeleton
    rows: Rows
    settings: Sequence[Settings] = ()
    joints: Mapping[int, IkSettings] = {}
    locations: array[float] = array("f")
    scales: array[float] = array("f")
    inputs: array[float] = array("f")
    modes: array[int] = array("i")
    groups: Sequence[Group] = ()
    has_only_quaternions: bool = False
    stamp: tuple[int, int] = (0, 0)

    def local(self, bone: int, rotation: Quat | None = None) -> Local:
        """Return the local channels of a bone whose channels are read.

        Args:
            bone: The bone.
            rotation: Its rotation; None for the FK pose of a bone that a chain poses.
        """
        if rotation is None:
            rotation = self.rotation(bone)
        x, y, z = self.locations[bone * 3 : bone * 3 + 3]
        sx, sy, sz = self.scales[bone * 3 : bone * 3 + 3]
        return Local(ORIGIN if bone in self.rig.connected else (x, y, z), rotation, (sx, sy, sz))

    def rotation(self, bone: int) -> Quat:
        """Return the FK pose of a bone that a chain poses, as a rotation."""
        return quaternion(self.modes[bone], self.inputs[bone * 4 : bone * 4 + 4])

    def numbers(self, bone: int) -> list[float]:
        """Return the same in the numbers of the bone's rotation mode."""
        _, size = channel_of(self.modes[bone])
        return self.inputs[bone * 4 : bone * 4 + size].tolist()

    def bits_of(self, runs: Sequence[Run], tip_bone: int) -> tuple[object, ...]:
        """Return the FK pose of a chain, and where its tip bone is, to the last bit."""
        return (
            self.locations[tip_bone * 3 : tip_bone * 3 + 3].tobytes() if tip_bone >= 0 else b"",
            b"".join([self.modes[first:last].tobytes() for first, last, _ in runs]),
            gather(self.inputs, runs, 4),
            gather(self.locations, runs, 3),
            gather(self.scales, runs, 3),
        )


class FkReader:
    """Reads one armature time and again.

    What has not changed since it was read last is not worked out again: all that is kept here is a
    function of what was read, and compared with it to the last bit.

    Attributes:
        rig: The armature.
        rows: The bones whose channels are read.
        slots: The slots (see `KINDS`) that chains pose, ascending.
        last: What was read last, None if nothing was.
    """

    def __init__(
        self, rig: Skeleton, slots: Iterable[int], asked: Iterable[int], tips: Iterable[int]
    ) -> None:
        """Take an armature.

        Args:
            rig: The armature.
            slots: The slots that chains pose.
            asked: The bones of chains that keep the settings for Blender's own IK.
            tips: The bones whose heads are the tips of chains.
        """
        self.rig = rig
        self.slots = sorted(slots)
        self.last: FkPose | None = None
        self._count = count = len(rig.names)
        self.rows = Rows(rig.names, {*(slot % count for slot in self.slots), *tips})
        self._asked = sorted(asked)
        self._columns: list[list[Any]] = []
        self._settings: list[Settings] = []
        self._joints: dict[int, IkSettings] = {}
        self._locations = self._scales = array("f")
        self._bits = b""
        self._stamp = (0, 0)
        kinds = KINDS if self.slots and self.slots[-1] >= count else KINDS[:1]
        self._others: dict[int, list[Run]] = {}
        self._other_modes = array("i")
        for kind in kinds[1:]:
            self._other_modes.extend([kind] * count)
            first = rig.slot(kind, 0)
            own = range(first, first + count)
            self._others[kind] = runs_of([slot - first for slot in self.slots if slot in own])
        self._inputs = array("f", bytes(16 * len(kinds) * count))
        self._modes = array("i")
        self._groups: list[Group] = []
        self._seen: list[bytes] = []
        self._has_only_quaternions = False

    def read(
        self,
        now: Evaluated,
        held: PoseChannels,
        is_touched: bool,
        has_settings: bool | None = None,
    ) -> FkPose:
        """Read the armature.

        Args:
            now: How Blender has evaluated it, or will.
            held: The channels with the FK pose of the bones that chains pose.
            is_touched: Whether anything that its settings and `stamp` tell of may have changed. A
                changed FK pose is found in any case.
            has_settings: The same of settings alone, if they are another matter.
        """
        if (is_touched if has_settings is None else has_settings) or not self._settings:
            self._read_settings(now)
            is_touched = True
        if not self.slots:
            self._read_channels(now)
        elif is_touched or self.last is None or not self._is_as_seen(held):
            stamp = self._stamp[0] + self._read_fk(held)
            self._stamp = stamp, self._stamp[1] + self._read_channels(now)
        else:
            return self.last
        self.last = FkPose(
            self.rig,
            self.rows,
            self._settings,
            self._joints,
            self._locations,
            self._scales,
            self._inputs,
            self._modes,
            self._groups,
            self._has_only_quaternions,
            self._stamp,
        )
        return self.last

    def has_settings_of(self, now: Evaluated) -> bool:
        """Return whether an armature as evaluated has the settings that were read last."""
        return self._counting(now) == self._columns

    def _counting(self, now: Evaluated) -> list[list[Any]]:
        columns = now.columns()
        muted = counted(self.rig.uid)
        if muted:
            enabled, influences = map(form().names.index, ("enabled", "influence"))
            for i, influence in muted.items():
                columns[enabled][i] = influence > 0.0
                columns[influences][i] = influence
        return columns

    def _read_settings(self, now: Evaluated) -> None:
        columns = self._counting(now)
        if columns != self._columns:
            self._columns = columns
            self._settings = [*map(form().within_limits, zip(*columns, strict=True))]

    def _is_as_seen(self, held: PoseChannels) -> bool:
        """Return whether channels hold the FK pose that was read last."""
        return (
            bool(self._groups)
            and held.modes == self._modes[: self._count]
            and [group.of(held) for group in self._groups] == self._seen
        )

    def _read_fk(self, held: PoseChannels) -> int:
        """Read the FK pose that channels hold; return in how many of them it is another."""
        self._sort(held.modes)
        seen = [group.of(held) for group in self._groups]
        pairs = zip(self._groups, seen, self._seen, strict=True)
        changed = [group for group, now, before in pairs if now != before]
        self._seen = seen
        if changed:
            self._inputs = self._inputs[:]
        for group in changed:
            buffer = held.buffer(group.channel, group.size)
            for first, last, _ in group.runs:
                run = (group.first + first, group.first + last, 0)
                transfer(buffer, group.size, first, self._inputs, 4, run)
        return len(changed)

    def _sort(self, modes: array[int]) -> None:
        """Sort the slots by channel, unless the modes are as before."""
        now = modes + self._other_modes
        if now == self._modes:
            return
        self._modes = now
        found: dict[tuple[str, int, int], list[int]] = {}
        for slot in self.slots:
            bone = slot % self._count
            found.setdefault((*channel_of(now[slot]), slot - bone), []).append(bone)
        self._groups = [Group(*key, bones, runs_of(bones)) for key, bones in found.items()]
        self._seen = [b""] * len(self._groups)
        turned = [slot for slot in self.slots if slot < self._count]
        self._has_only_quaternions = all(now[bone] == QUATERNION for bone in turned)

    def _read_channels(self, now: Evaluated) -> bool:
        """Read locations, scales and joints; return whether any of them is another."""
        self._locations = now.channels.buffer("location", 3)[:]
        self._scales = now.channels.buffer("scale", 3)[:]
        if not self.slots:
            return False
        for kind, buffer in ((LOCATION, self._locations), (SCALE, self._scales)):
            first = self.rig.slot(kind, 0)
            for run in self._others.get(kind, ()):
                transfer(self._inputs, 4, first + run[0], buffer, 3, run)
        bits = self._locations.tobytes() + self._scales.tobytes()
        is_new = bits != self._bits
        if self._asked:
            joints = {bone: ik_settings(self.rows.find(now.bones, bone)) for bone in self._asked}
            is_new = is_new or joints != self._joints
            self._joints = joints
        self._bits = bits
        return is_new
