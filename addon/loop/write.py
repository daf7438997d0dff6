"""Writing: channels of bones, and what the constraints report; only what changed.

What is written into channels stands there while Blender evaluates, and is taken back after it: the
channels are the animator's.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from itertools import chain as chained
from typing import Any, NamedTuple

from ..blender.access import pose_bones, set_channel
from ..blender.forgetting import forgets
from ..blender.rotation import (
    ALL_CHANNELS,
    LOCATION,
    SCALE,
    PoseChannels,
    Rows,
    Run,
    channel_values,
    floats,
    gather,
    runs_of,
    transfer,
)
from ..blender.skeleton import Skeleton, forget_bones
from ..core.vectors import Vec
from .fk_pose import Group
from .properties import FabrikConstraint, settings
from .results import Report
from .solved_pose import SolvedPose


class Column:
    """One channel of some bones of an armature, one bone after the other.

    Few bones among many are found once, and such references are dead as soon as Blender makes
    other bones: where it may have, they have to be found anew.
    """

    def __init__(self, rig: Skeleton, rows: Rows, group: Group, bones: Sequence[int]) -> None:
        """Find the bones.

        Args:
            rig: The armature.
            rows: The bones of it that are read and written.
            group: Bones of it, and the channel.
            bones: Those of the bones that count.
        """
        self.rig, self.channel, self.size, self.bones = rig, group.channel, group.size, bones
        self.runs = group.runs if bones is group.bones else runs_of(bones)
        self._are_few = rows.are_few
        self._setters = self._found() if self._are_few else []
        self._whole = array("f")

    def _found(self) -> list[Any]:
        owners, names = pose_bones(self.rig.object), self.rig.names
        found = [owners[names[bone]] for bone in self.bones]
        return [bone.path_resolve(self.channel, False) for bone in found]

    def find_anew(self) -> bool:
        """Find the bones anew; return whether they are all there, where they were."""
        if not self._are_few:
            self.rig.forget_setters()
            return self.rig.has_same_bones()
        try:
            self._setters = self._found()
        except KeyError:
            return False
        return True

    def read(self) -> array[float]:
        """Return what the channel holds."""
        if self._are_few:
            return array("f", [number for setter in self._setters for number in setter])
        self._whole = floats(pose_bones(self.rig.object), self.channel, self.size)
        return array("f", gather(self._whole, self.runs, self.size))

    def write(self, numbers: array[float]) -> None:
        """Set all of it in the cheapest way after it was read; Blender may notice."""
        if self._are_few:
            self.write_quietly(numbers)
            return
        size = self.size
        for first, end, place in self.runs:
            part = numbers[place * size : (place + end - first) * size]
            self._whole[first * size : end * size] = part
        set_channel(self.rig.object, self.channel, self._whole)

    def write_quietly(self, numbers: array[float]) -> None:
        """Set all of it, and have Blender notice nothing."""
        size = self.size
        if self._are_few:
            view = memoryview(numbers)
            for place, setter in enumerate(self._setters):
                setter.foreach_set(view[place * size : (place + 1) * size])
            return
        room, setters = self.rig.setters(self.channel, size)
        for first, end, place in self.runs:
            part = numbers[place * size : (place + end - first) * size]
            room[first * size : end * size] = part
            for set_bone in setters[first:end]:
                set_bone()


class Overlaid(NamedTuple):
    """What stands over one channel of some bones of an armature.

    Attributes:
        column: The bones and the channel.
        kept: What the channel held.
        written: What was written over it.
    """

    column: Column
    kept: array[float]
    written: array[float]


_overlaid: list[Overlaid] = []


class PoseWriter:
    """Writes one armature time and again.

    Attributes:
        rig: The armature.
        rows: The bones whose channels are read and written.
        poses_any: Whether chains pose any bone of it.
        composed: The channels, each with what it gets; none if nothing was put together yet.
        reports: How the constraints did, as `SolvedPose` has it.
        shown: What the constraints show of that.
    """

    def __init__(self, rig: Skeleton, rows: Rows, poses_any: bool) -> None:
        """Take an armature."""
        self.rig = rig
        self.rows = rows
        self.poses_any = poses_any
        self.composed: list[tuple[Group, bytes]] = []
        self.reports: Mapping[tuple[int, ...], Sequence[Report]] = {}
        self.shown: Mapping[tuple[int, ...], Sequence[Report]] = {}
        self._bones: list[Sequence[int]] = []
        self._runs: list[Run] = []

    def compose(self, pose: SolvedPose) -> bool:
        """Put together what is to be written of what was solved.

        Returns:
            Whether it is anything else than last time, so that Blender has to be told.
        """
        self.reports = pose.reports or self.reports
        numbers = self._numbers(pose) if pose.fk.groups else array("f")
        before = self.composed
        self.composed = [(group, group.of_slots(numbers)) for group in pose.fk.groups]
        return self.composed != before

    def _numbers(self, pose: SolvedPose) -> array[float]:
        """Return what all bones get, four numbers a slot: the FK pose, or what was solved."""
        fk = pose.fk
        numbers = fk.inputs[:]
        if pose.locations:
            _put(numbers, self.rig.slot(LOCATION, 0), pose.locations)
        if pose.scales:
            _put(numbers, self.rig.slot(SCALE, 0), pose.scales)
        if fk.has_only_quaternions:
            # They are on the side of the FK pose already: a swing is the short way.
            rotations = [answer.rotations for answer in pose.answers]
            found = array("f", [*chained.from_iterable(rotations)])
            for first, last, place in self._runs_of(pose):
                end = place + last - first
                numbers[first * 4 : last * 4] = found[place * 4 : end * 4]
            return numbers
        for bone, rotation in pose.rotations.items():
            values = given = fk.numbers(bone)
            if rotation != fk.rotation(bone):  # The given numbers of an unmoved bone stay.
                values = channel_values(fk.modes[bone], rotation, given)
            numbers[bone * 4 : bone * 4 + len(values)] = array("f", values)
        return numbers

    def _runs_of(self, pose: SolvedPose) -> list[Run]:
        """Return the bones that were turned as runs of neighbours."""
        bones = [answer.bones for answer in pose.answers]
        if bones != self._bones:
            self._bones, self._runs = bones, runs_of([*chained.from_iterable(bones)])
        return self._runs

    def is_shown(self, evaluated: PoseChannels) -> bool:
        """Return whether an evaluated copy holds what was put together last."""
        shown = [group.of(evaluated) == numbers for group, numbers in self.composed]
        return bool(shown) and all(shown)


def _put(numbers: array[float], first: int, solved: Mapping[int, Vec]) -> None:
    """Put solved locations or scales among the numbers of all slots, from a first one on."""
    threes = array("f", [*chained.from_iterable(solved.values())])
    for run in runs_of([first + bone for bone in solved]):
        transfer(threes, 3, run[2], numbers, 4, run)


def write_ahead(writer: PoseWriter, animated: Collection[int]) -> None:
    """Write over the FK pose of an armature what was put together last, ahead of an evaluation.

    Bones that F-curves or drivers set are left to them: whatever stands there might be what these
    have just set, and nothing would tell it from what we have written.

    Args:
        writer: The armature.
        animated: The slots that F-curves or drivers set.
    """
    for group, composed in writer.composed:
        bones = group.bones
        if animated:
            bones = [bone for bone in bones if group.first + bone not in animated]
        _write(writer, group, composed, bones)


def write_pose(writer: PoseWriter, is_quiet: bool = False) -> None:
    """Write over the FK pose of an armature what was put together last, if anything was.

    Args:
        writer: The armature.
        is_quiet: Whether Blender is not to notice.
    """
    for group, composed in writer.composed:
        _write(writer, group, composed, group.bones, is_quiet)


def _write(
    writer: PoseWriter,
    group: Group,
    composed: bytes,
    bones: Sequence[int],
    is_quiet: bool = False,
) -> None:
    if not bones:
        return
    column = Column(writer.rig, writer.rows, group, bones)
    kept, written, size = column.read(), array("f", composed), group.size
    if len(bones) != len(group.bones):
        places = [group.bones.index(bone) for bone in bones]
        written = array("f", [x for at in places for x in written[at * size : (at + 1) * size]])
    if written == kept:
        return
    _overlaid.append(Overlaid(column, kept, written))
    if is_quiet:
        column.write_quietly(written)
    else:
        column.write(written)


def take_back(has_new_bones: bool) -> None:
    """Give all channels what they held before anything was written over it.

    Where anything else stands there by now, another extension has set it, and it stays.

    Args:
        has_new_bones: Whether Blender may have made other bones of an armature since it was looked
            at.
    """
    if has_new_bones and _overlaid:
        forget_bones()
    while _overlaid:
        over = _overlaid.pop()
        try:
            if has_new_bones and not over.column.find_anew():
                _give_back_by_name(over)
            else:
                _give_back(over)
        except ReferenceError:
            continue  # The armature was removed.


def _give_back(over: Overlaid) -> None:
    column, kept, written = over
    present = column.read()
    column.write_quietly(kept if present == written else _merged(present, over, 0))


def _merged(present: array[float], over: Overlaid, place: int) -> array[float]:
    """Return numbers, each as it was, or as somebody has set it meanwhile.

    Args:
        present: What stands there.
        over: What stood there, and what was written over it.
        place: Where in that the numbers begin.
    """
    return array(
        "f",
        [
            over.kept[i] if number == over.written[i] else number
            for i, number in enumerate(present, place)
        ],
    )


def _give_back_by_name(over: Overlaid) -> None:
    """Give bones their pose back after an armature has got other ones, or another order."""
    column = over.column
    bones = pose_bones(column.rig.object)
    for place, i in enumerate(column.bones):
        bone = bones.get(column.rig.names[i])
        if bone is None:
            continue
        setter = bone.path_resolve(column.channel, False)
        present = array("f", getattr(bone, column.channel))
        setter.foreach_set(_merged(present, over, place * column.size))


class Kept:
    """All channels of an armature's bones, to be given back unnoticed."""

    def __init__(self, rig: Skeleton) -> None:
        """Read them."""
        self._rig = rig
        bones = pose_bones(rig.object)
        self._columns = [(name, size, floats(bones, name, size)) for name, size in ALL_CHANNELS]

    def give_back(self) -> None:
        """Set what is not as it was."""
        bones = pose_bones(self._rig.object)
        if not self._rig.has_same_bones():
            return
        for name, size, kept in self._columns:
            present = floats(bones, name, size)
            if present != kept:
                changed = [
                    bone
                    for bone in range(len(bones))
                    if present[bone * size : (bone + 1) * size]
                    != kept[bone * size : (bone + 1) * size]
                ]
                room, setters = self._rig.setters(name, size)
                room[:] = kept
                for bone in changed:
                    setters[bone]()


@forgets
def forget_written() -> None:
    """Give nothing back: what it was written over is not there any more."""
    _overlaid.clear()


def write_reports(writer: PoseWriter) -> None:
    """Write what the panel shows of an armature's constraints.

    One by one: were they set all at once, Blender would take the armature for changed.
    """
    reports, shown = writer.reports, writer.shown
    if reports == shown:
        return
    writer.shown = reports
    items = settings(writer.rig.object).constraints
    for places, own in reports.items():
        before = shown.get(places) or [_shown_by(items[i]) for i in places]
        for i, report, was in zip(places, own, before, strict=True):
            if report != was:
                _write_report(items[i], report, was)


def _shown_by(item: FabrikConstraint) -> Report:
    return Report(item.state, item.error, item.iterations_used, item.message)


def _write_report(item: FabrikConstraint, report: Report, shown: Report) -> None:
    if report.state != shown.state:
        item.state = report.state
    if report.error != shown.error:
        item.error = report.error
    if report.iterations_used != shown.iterations_used:
        item.iterations_used = report.iterations_used
    if report.message != shown.message:
        item.message = report.message
