"""The FK pose of the bones that chains pose: what the animator keyed, drove or posed.

Outside of Blender's evaluation it is what the channels hold, so reading it is all there is to do.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from ..blender.rotation import (
    KINDS,
    QUATERNION,
    PoseChannels,
    Run,
    channel_of,
    runs_of,
    taken,
    transfer,
)
from ..blender.skeleton import Skeleton


@dataclass
class Group:
    """Bones of which the same channel is solved.

    Attributes:
        channel: The property.
        size: How many numbers it has.
        first: The slot of this kind of the armature's first bone.
        bones: The bones, ascending.
        runs: The same as runs of neighbours.
        seen: What the channel held when it was looked at last.
        written: What was written of the solution last.
    """

    channel: str
    size: int
    first: int
    bones: list[int]
    runs: list[Run]
    seen: bytes | None = None
    written: bytes | None = None

    def of_slots(self, numbers: array[float]) -> bytes:
        """Return what the channel gets of four numbers a slot of the armature."""
        runs = [(self.first + first, self.first + last, place) for first, last, place in self.runs]
        found = taken(numbers, runs, 4)
        if self.size == 4:
            return found
        fours = array("f", found)
        threes = array("f", bytes(4 * self.size * len(self.bones)))
        for i in range(self.size):
            threes[i :: self.size] = fours[i::4]
        return threes.tobytes()


class FkPose:
    """The FK pose of the bones of one armature that chains pose.

    Attributes:
        inputs: Four numbers a slot (see `KINDS`), in the channel of its mode.
        stamp: Another number whenever one of them may have changed.
        modes: The modes that count, by slot.
        groups: The slots, by channel.
        animated: Those of which F-curves or drivers set a number.
        has_animated_modes: Whether those set a rotation mode.
        has_only_quaternions: Whether all the bones are in quaternion mode.
    """

    def __init__(self, rig: Skeleton, posed: set[int]) -> None:
        """Make room for the slots that chains pose."""
        self.rig = rig
        self.count = len(rig.names)
        self.posed = sorted(posed)
        self.stamp = 0
        kinds = KINDS if self.posed[-1] >= self.count else KINDS[:1]
        self._others: dict[int, list[Run]] = {}
        self._other_modes = array("i")
        for kind in kinds[1:]:
            self._other_modes.extend([kind] * self.count)
            first = self.first_slot(kind)
            slots = range(first, first + self.count)
            self._others[kind] = runs_of([slot - first for slot in self.posed if slot in slots])
        self.inputs = array("f", bytes(16 * len(kinds) * self.count))
        self.modes = array("i")
        self.groups: list[Group] = []
        self.animated: set[int] = set()
        self.has_animated_modes = False
        self.has_only_quaternions = False

    def look(self, held: PoseChannels) -> None:
        """Look at the pose that channels hold."""
        self._sort(held.modes)
        for group in self.groups:
            buffer = held.buffer(group.channel, group.size)
            now = taken(buffer, group.runs, group.size)
            if now == group.seen:
                continue
            group.seen = now
            self.stamp += 1
            for first, last, _ in group.runs:
                run = (group.first + first, group.first + last, 0)
                transfer(buffer, group.size, first, self.inputs, 4, run)

    def is_as_seen(self, held: PoseChannels) -> bool:
        """Return whether channels hold the pose that was looked at last."""
        return (
            bool(self.groups)
            and held.modes == self.modes[: self.count]
            and all(
                group.seen == taken(held.buffer(group.channel, group.size), group.runs, group.size)
                for group in self.groups
            )
        )

    def is_shown(self, evaluated: PoseChannels) -> bool:
        """Return whether an evaluated copy holds the solution that was written last."""
        return bool(self.groups) and all(
            group.written
            == taken(evaluated.buffer(group.channel, group.size), group.runs, group.size)
            for group in self.groups
        )

    def _sort(self, modes: array[int]) -> None:
        """Sort the slots by channel, unless the modes are as before."""
        now = modes + self._other_modes
        if now == self.modes:
            return
        self.modes = now
        found: dict[tuple[str, int, int], list[int]] = {}
        for slot in self.posed:
            bone = slot % self.count
            found.setdefault((*channel_of(now[slot]), slot - bone), []).append(bone)
        self.groups = [Group(*key, bones, runs_of(bones)) for key, bones in found.items()]
        turned = [slot for slot in self.posed if slot < self.count]
        self.has_only_quaternions = all(now[bone] == QUATERNION for bone in turned)

    def of(self, bone: int) -> list[float]:
        """Return the rotation of a bone, in the numbers of its rotation mode."""
        _, size = channel_of(self.modes[bone])
        return self.inputs[bone * 4 : bone * 4 + size].tolist()

    def first_slot(self, kind: int) -> int:
        """Return the slot of the armature's first bone for one of `KINDS`."""
        return KINDS.index(kind) * self.count

    def put_into(self, buffer: array[float], kind: int) -> None:
        """Replace what is solved of a channel of three numbers, of all bones, by the FK pose."""
        first = self.first_slot(kind)
        for run in self._others.get(kind, ()):
            transfer(self.inputs, 4, first + run[0], buffer, 3, run)
