"""What is written of an armature: channel values of its solved pose for an evaluation, and reports.

The channels belong to the animator: outside of an evaluation they hold the FK pose, which is
restored after it.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from fabrik_solver import ROUNDED, unit_rotations
from fabrik_solver.core.vectors import Quat

from ..blender.access import pose_bones, set_channel
from ..blender.animated_values import Flushed, take_back
from ..blender.curves import Curves, MutedCopy
from ..blender.listeners import Listeners
from ..blender.messages import store
from ..blender.precision import UNIT
from ..blender.rotation import (
    ALL_CHANNELS,
    LOCATION,
    SCALE,
    ChannelGroup,
    PoseChannels,
    Rows,
    channel_values,
    floats,
    gather,
    quaternion,
    ranges_of,
)
from ..blender.skeleton import Skeleton, forget_bones
from ..plan.chain_plan import Report
from ..plan.results import SolveResult
from ..settings.properties import FabrikConstraint, settings
from .armature import FkPose
from .solved_scene import SolvedPose


class PoseWriter:
    """Writes an armature at each update.

    Attributes:
        rig: The armature.
        rows: The bones whose channels are read and written.
        poses_any: Whether chains pose any bone of it.
        composed: The channels and their composed values; empty before the first `compose`.
        reports: The reports of its constraints, as in `SolvedPose`.
        shown: The reports that its constraints show.
    """

    def __init__(self, rig: Skeleton, rows: Rows, poses_any: bool) -> None:
        """Set up the writer."""
        self.rig = rig
        self.rows = rows
        self.poses_any = poses_any
        self.composed: list[tuple[ChannelGroup, bytes]] = []
        self.reports: Mapping[tuple[int, ...], Sequence[Report]] = {}
        self.shown: Mapping[tuple[int, ...], Sequence[Report]] = {}
        self._inputs = array("f")
        self._results: list[SolveResult] | None = None

    def compose(self, pose: SolvedPose) -> bool:
        """Compose the channel values of a solved pose; return whether they changed.

        An unchanged FK pose and results of unchanged inputs are the same objects as before.
        """
        self.reports = pose.reports or self.reports
        fk, results = pose.fk, pose.results
        if fk.inputs is self._inputs and results == self._results:
            return False
        self._inputs, self._results = fk.inputs, results[:]
        numbers = fk.inputs[:]
        for result in results:
            for first, values in result.values:
                numbers[first : first + len(values)] = values
        before = self.composed
        self.composed = [(group, group.of_slots(numbers)) for group in fk.groups]
        return self.composed != before

    def is_shown(self, evaluated: PoseChannels) -> bool:
        """Return whether evaluated channels have the composed values."""
        for group, composed in self.composed:
            if evaluated.of(group) != composed:
                return False
        return bool(self.composed)


def channels_of(
    fk: FkPose, result: SolveResult
) -> tuple[list[tuple[int, array[float]]], list[Quat], float]:
    """Return a result as channel values (see `SolveResult.values`).

    They depend on nothing of the FK pose but what `FkPose.bits_of` the bones has.

    Returns:
        The values; the rotations that they represent, and the largest rounding error of these.
    """
    found: list[tuple[int, array[float]]] = []
    turns: list[Quat] = []
    rounding = ROUNDED
    if fk.has_only_quaternions:
        # Their signs are compatible with the FK pose already.
        numbers = array("f", result.rotations)
        turns = unit_rotations(numbers)
        for first, last, place in ranges_of(result.bones):
            found.append((first * 4, numbers[place * 4 : (place + last - first) * 4]))
    else:
        for i, bone in enumerate(result.bones):
            w, x, y, z = result.rotations[4 * i : 4 * i + 4]
            values = given = fk.numbers(bone)
            if (w, x, y, z) != fk.rotation(bone):  # An unchanged rotation keeps its values.
                values = channel_values(fk.modes[bone], (w, x, y, z), given)
            single = array("f", values)
            found.append((bone * 4, single))
            turns.append(quaternion(fk.modes[bone], single))
            rounding = max(rounding, UNIT * sum(map(abs, single)))
    for kind, solved in ((LOCATION, result.locations), (SCALE, result.scales)):
        for bone, place in solved.items():
            found.append((fk.rig.slot(kind, bone) * 4, array("f", place)))
    return found, turns, rounding


on_report = Listeners[[]]()
"""Called after an update that has changed what constraints report.

Blender does not redraw panels for it, as handlers do not notify its editors.
"""


def write_reports(writer: PoseWriter) -> bool:
    """Write the reports of an armature's constraints, for the panel.

    Properties are set one by one, as setting them all at once would tag the armature.

    Returns:
        Whether any has changed.
    """
    reports, shown = writer.reports, writer.shown
    if reports == shown:
        return False
    writer.shown = reports
    items = settings(writer.rig.object).constraints
    for indices, now in reports.items():
        before = shown.get(indices) or [_shown_by(items[i]) for i in indices]
        for i, report, was in zip(indices, now, before, strict=True):
            if report.message:
                store(report.message)
            if report != was:
                _write_report(items[i], report, was)
    return True


def _shown_by(item: FabrikConstraint) -> Report:
    return Report(item.state, item.error, item.iterations_used, item.message)


def _write_report(item: FabrikConstraint, report: Report, shown: Report) -> None:
    for name, value, before in zip(Report._fields, report, shown, strict=True):
        if value != before:
            setattr(item, name, value)


MOST_SINGLY = 32
"""The number of bones up to which setting each takes less time than setting those of a pose."""


class ChannelBuffer:
    """Access to one channel of some bones of an armature.

    References to the bones become invalid when Blender recreates them, and must be refreshed then.
    """

    def __init__(
        self, rig: Skeleton, rows: Rows, group: ChannelGroup, bones: Sequence[int]
    ) -> None:
        """Look up the bones.

        Args:
            rig: The armature.
            rows: The bones that are read and written.
            group: The channel, and the bones that have it.
            bones: The bones among them to access.
        """
        self.rig, self.channel, self.size, self.bones = rig, group.channel, group.size, bones
        self.ranges = group.ranges if bones is group.bones else ranges_of(bones)
        self._few = rows if rows.are_few else None

    def refresh(self) -> bool:
        """Look up the bones again; return whether they all exist, in the same order."""
        self.rig.forget_columns()
        if self._few is None:
            return self.rig.has_same_bones()
        try:
            self.rig.column(self.channel, self.size, self._few)
        except KeyError:
            return False
        return True

    def components_of(self, curves: Curves) -> list[int]:
        """Return the indices of the values that F-curves set, which have their index."""
        places = {bone: place for place, bone in enumerate(self.bones)}
        keyed = curves.bone_places.get(self.channel, ())
        return [
            places[bone] * self.size + index
            for bone, index, *_ in keyed
            if bone in places and index < self.size
        ]

    def read(self) -> array[float]:
        """Return the values of the channel."""
        size = self.size
        values, readers, _ = self.rig.column(self.channel, size, self._few)
        if self._few is not None:
            for bone in self.bones:
                readers[bone]()
        else:
            untyped: Any = self.rig.object  # Each played frame asks.
            untyped.pose.bones.foreach_get(self.channel, values)
        if len(self.ranges) == 1:
            first, end, _ = self.ranges[0]
            return values[first * size : end * size]
        return array("f", gather(values, self.ranges, size))

    def write(self, numbers: array[float], is_quiet: bool) -> None:
        """Set all values in the fastest way; call `read` first.

        Args:
            numbers: The values.
            is_quiet: Whether to avoid tagging the armature.
        """
        size = self.size
        values, _, writers = self.rig.column(self.channel, size, self._few)
        for first, end, place in self.ranges:
            values[first * size : end * size] = numbers[place * size : (place + end - first) * size]
        if not is_quiet and self._few is None and len(self.bones) > MOST_SINGLY:
            set_channel(self.rig.object, self.channel, values)
            return
        for bone in self.bones:
            writers[bone]()


class Overwrite(NamedTuple):
    """A channel that was overwritten for an evaluation.

    Attributes:
        buffer: The channel.
        before: Its values before.
        played: Its values after the evaluation of the frame that they were written ahead of, if
            F-curves that are muted meanwhile would have changed them.
        written: The values that were written.
        curves: F-curves that overwrite them if the evaluation includes the animation.
    """

    buffer: ChannelBuffer
    before: array[float]
    played: array[float]
    written: array[float]
    curves: Curves | None


class Overwritten:
    """What is overwritten for the present evaluation, to be restored after it.

    Attributes:
        is_any: Whether there is anything to restore.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self.is_any = False
        self._channels: list[Overwrite] = []
        self._muted: list[MutedCopy] = []
        # Armatures with values that the animation of another depsgraph has replaced.
        self._flushed: list[tuple[Skeleton, Flushed]] = []

    def write_ahead(
        self,
        writer: PoseWriter,
        animated: Collection[int],
        curves: Curves | None = None,
        muted: MutedCopy | None = None,
        fk: FkPose | None = None,
    ) -> None:
        """Write the composed values over the FK pose, ahead of an evaluation.

        Args:
            writer: The armature.
            animated: Slots that are skipped, as animation would overwrite them.
            curves: F-curves that overwrite others if the evaluation includes the animation.
            muted: These, if they are muted for the evaluation.
            fk: The FK pose that they would give.
        """
        if muted is not None:
            self._muted.append(muted)
            self.is_any = True
        for group, composed in writer.composed:
            bones = group.bones
            if animated:
                bones = [bone for bone in bones if group.first + bone not in animated]
            self._write(writer, group, composed, bones, curves, fk)

    def write(self, writer: PoseWriter, is_quiet: bool = False) -> None:
        """Write the composed values over the FK pose, if there are any.

        Args:
            writer: The armature.
            is_quiet: Whether to avoid tagging the armature.
        """
        for group, composed in writer.composed:
            self._write(writer, group, composed, group.bones, is_quiet=is_quiet)

    def _write(
        self,
        writer: PoseWriter,
        group: ChannelGroup,
        composed: bytes,
        bones: Sequence[int],
        curves: Curves | None = None,
        fk: FkPose | None = None,
        is_quiet: bool = False,
    ) -> None:
        if not bones:
            return
        buffer = ChannelBuffer(writer.rig, writer.rows, group, bones)
        before, written, size = buffer.read(), array("f", composed), group.size
        if len(bones) != len(group.bones):
            places = [group.bones.index(bone) for bone in bones]
            written = array("f", [x for at in places for x in written[at * size : (at + 1) * size]])
        played = before
        if fk is not None and curves is not None and group.channel in curves.bone_places:
            played, values = before[:], array("f", group.of_slots(fk.inputs))
            for i in buffer.components_of(curves):
                played[i] = values[i]
        if written == before == played:
            return
        self.is_any = True
        counting = curves if fk is None else None  # Those that are muted change nothing.
        self._channels.append(Overwrite(buffer, before, played, written, counting))
        buffer.write(written, is_quiet)

    def keep_flushed(self, rig: Skeleton, flushed: Flushed) -> None:
        """Have `restore` also restore the values from before a flush to the original data."""
        if flushed:
            self._flushed.append((rig, flushed))
            self.is_any = True

    def restore(self, has_new_bones: bool, is_played: bool = False) -> None:
        """Restore the values of all overwritten channels, and undo flushes and mutes.

        Values that another extension has set meanwhile are kept.

        Args:
            has_new_bones: Whether Blender may have recreated the bones of an armature.
            is_played: Whether the frame that was solved ahead has been evaluated, and Blender
                flushes its animation to the original data.
        """
        self.restore_channels(has_new_bones, is_played)
        while self._flushed:
            rig, flushed = self._flushed.pop()
            with suppress(ReferenceError):
                take_back(rig.object, flushed)
        self.is_any = False

    def restore_channels(self, has_new_bones: bool, is_played: bool = False) -> None:
        """Restore the same, except for flushed values. It tags nothing."""
        if has_new_bones and self._channels:
            forget_bones()
        while self._channels:
            over = self._channels.pop()
            fk = over.played if is_played else over.before
            try:
                if has_new_bones and not over.buffer.refresh():
                    _restore_by_name(over, fk)
                else:
                    present = over.buffer.read()
                    numbers = fk if present == over.written else _merged(over, present, fk)
                    over.buffer.write(numbers, is_quiet=True)
            except ReferenceError:
                continue  # The armature was removed.
        while self._muted:
            with suppress(ReferenceError):
                self._muted.pop().undo()
        self.is_any = bool(self._flushed)


def _merged(over: Overwrite, present: array[float], fk: array[float]) -> array[float]:
    """Return the FK pose, except for values that were changed since they were written.

    If F-curves have changed any, they count as having set all of theirs: a value that happens to be
    the same as what was written is one of them as well.
    """
    pairs = zip(present, over.written, fk, strict=True)
    merged = array("f", [given if now == was else now for now, was, given in pairs])
    keyed: list[int] = []
    if over.curves is not None:
        over.curves.refresh()
        keyed = over.buffer.components_of(over.curves)
    if any(present[i] != over.written[i] for i in keyed):
        for i in keyed:
            merged[i] = present[i]
    return merged


def _restore_by_name(over: Overwrite, fk: array[float]) -> None:
    """Restore bones by name, after the bones of an armature or their order changed."""
    buffer, size = over.buffer, over.buffer.size
    bones = pose_bones(buffer.rig.object)
    found = [bones.get(buffer.rig.names[i]) for i in buffer.bones]
    present = over.written[:]
    for place, bone in enumerate(found):
        if bone is not None:
            values = array("f", getattr(bone, buffer.channel))
            present[place * size : (place + 1) * size] = values
    merged = _merged(over, present, fk)
    for place, bone in enumerate(found):
        if bone is not None:
            setter = bone.path_resolve(buffer.channel, False)
            setter.foreach_set(merged[place * size : (place + 1) * size])


class SavedPose:
    """A copy of all channels of an armature's bones."""

    def __init__(self, rig: Skeleton) -> None:
        """Copy the channels."""
        self._rig = rig
        bones = pose_bones(rig.object)
        self._columns = [(name, size, floats(bones, name, size)) for name, size in ALL_CHANNELS]

    def restore(self) -> None:
        """Restore the channels that changed, without tagging the armature."""
        bones = pose_bones(self._rig.object)
        if not self._rig.has_same_bones():
            return
        for name, size, before in self._columns:
            present = floats(bones, name, size)
            if present != before:
                changed = [
                    bone
                    for bone in range(len(bones))
                    if present[bone * size : (bone + 1) * size]
                    != before[bone * size : (bone + 1) * size]
                ]
                values, _, writers = self._rig.column(name, size)
                values[:] = before
                for bone in changed:
                    writers[bone]()
