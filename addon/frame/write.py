"""Writes an armature's solved pose to its channels for an evaluation, and its reports.

The channels belong to the animator. They hold the FK pose, which is restored after each evaluation.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, cast

import bpy

from fabrik_solver import ROUNDED

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
    IndexRange,
    PoseChannels,
    Rows,
    channel_values,
    floats,
    gather,
    quaternion,
    ranges_of,
    transfer,
)
from ..blender.skeleton import Skeleton, forget_bones
from ..plan.chain_plan import Report
from ..plan.plan import ArmaturePlan
from ..plan.results import SolveResult
from ..settings.properties import FabrikConstraint, settings
from .armature import FkPose
from .solved_scene import SolvedPose


class PoseWriter:
    """Writes an armature at each update.

    Attributes:
        plan: The plan of the armature.
        rig: The armature.
        rows: The bones whose channels are read and written.
        poses_any: Whether chains pose any of its bones.
        composed: The channels and their composed values; empty before the first `compose`.
        reports: The reports of its constraints, as in `SolvedPose`.
        shown: The reports last written to its constraints.
    """

    def __init__(self, plan: ArmaturePlan, rows: Rows) -> None:
        """Set up the writer."""
        self.plan, self.rig, self.rows, self.poses_any = plan, plan.rig, rows, bool(plan.slots)
        self.composed: list[tuple[ChannelGroup, bytes]] = []
        self.reports: Mapping[tuple[int, ...], Sequence[Report]] = {}
        self.shown: Mapping[tuple[int, ...], Sequence[Report]] = {}
        self._inputs = array("f")
        self._results: list[SolveResult] | None = None

    def compose(self, pose: SolvedPose) -> bool:
        """Compose the channel values of a solved pose; return whether they changed.

        An unchanged FK pose is the same object as last time, and so are results of unchanged
        inputs.
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
        last = self.composed
        self.composed = [(group, group.of_slots(numbers)) for group in fk.groups]
        return self.composed != last

    def is_shown(self, evaluated: PoseChannels) -> bool:
        """Return whether evaluated channels have the composed values."""
        for group, composed in self.composed:
            if evaluated.of(group) != composed:
                return False
        return bool(self.composed)


def channels_of(
    fk: FkPose, result: SolveResult, ranges: Sequence[IndexRange]
) -> tuple[list[tuple[int, array[float]]], list[float], float]:
    """Return a result as channel values (see `SolveResult.values`).

    Of the FK pose, only the result of `FkPose.bits_of` for these bones matters.

    Args:
        fk: The armature's FK pose.
        result: The result.
        ranges: Its bones as ranges of consecutive indices.

    Returns:
        The values; the rotations they stand for, as quaternions of any length, four numbers per
        bone; and the largest rounding error of these.
    """
    slot_values: list[tuple[int, array[float]]] = []
    turns: list[float] = []
    rounding = ROUNDED
    if fk.has_only_quaternions:
        # Their signs already match the FK pose.
        numbers = array("f", result.rotations)
        turns = numbers.tolist()
        for first, last, position in ranges:
            slot_values.append((first * 4, numbers[position * 4 : (position + last - first) * 4]))
    else:
        for i, bone in enumerate(result.bones):
            w, x, y, z = result.rotations[4 * i : 4 * i + 4]
            values = fk_values = fk.numbers(bone)
            # An unchanged rotation keeps its numbers, as drivers may set some of them regardless.
            if bone not in fk.driven and (w, x, y, z) != fk.rotation(bone):
                values = channel_values(fk.modes[bone], (w, x, y, z), fk_values)
            single = array("f", values)
            slot_values.append((bone * 4, single))
            turns += quaternion(fk.modes[bone], single)
            rounding = max(rounding, UNIT * sum(map(abs, single)))
    if result.locations or result.scales:
        for kind, solved in ((LOCATION, result.locations), (SCALE, result.scales)):
            for bone, position in solved.items():
                slot_values.append((fk.rig.slot(kind, bone) * 4, array("f", position)))
    return slot_values, turns, rounding


on_report = Listeners[[]]()
"""Called after an update that changed constraint reports.

Blender doesn't redraw panels by itself then, because handlers don't notify its editors."""


def write_reports(writer: PoseWriter) -> bool:
    """Write the reports of an armature's constraints, for the panel.

    Properties are set one by one, because setting them in bulk would tag the armature.

    Returns:
        Whether any report changed.
    """
    reports, shown = writer.reports, writer.shown
    if reports == shown:
        return False
    writer.shown = reports
    items = settings(writer.rig.object).constraints
    for indices, current in reports.items():
        old = shown.get(indices) or [_shown_by(items[i]) for i in indices]
        for i, report, old_report in zip(indices, current, old, strict=True):
            if report.message:
                store(report.message)
            if report != old_report:
                _write_report(items[i], report, old_report)
    return True


def _shown_by(item: FabrikConstraint) -> Report:
    return Report(item.state, item.error, item.iterations_used, item.message)


def _write_report(item: FabrikConstraint, report: Report, shown: Report) -> None:
    for name, value, old in zip(Report._fields, report, shown, strict=True):
        if value != old:
            setattr(item, name, value)


MOST_SINGLY = 32
"""Up to this many bones, setting them one by one is faster than setting a whole pose."""


class ChannelBuffer:
    """Access to one channel of some bones of an armature.

    When Blender recreates bones, references to them become invalid; call `refresh` then.
    """

    def __init__(
        self, rig: Skeleton, rows: Rows, group: ChannelGroup, bones: Sequence[int]
    ) -> None:
        """Look up the bones.

        Args:
            rig: The armature.
            rows: The bones whose channels are read and written.
            group: The channel, and its bones.
            bones: The bones of the group to access.
        """
        self.rig, self.channel, self.size, self.bones = rig, group.channel, group.size, bones
        self.ranges = group.ranges if bones is group.bones else ranges_of(bones)
        self._rows = rows
        self._column = rig.column(self.channel, self.size, rows)
        self._are_many = not rows.are_few and len(bones) > MOST_SINGLY

    def refresh(self) -> bool:
        """Look up the bones again; return whether they all exist, in the same order."""
        self.rig.forget_columns()
        if not (self._rows.are_few or self.rig.has_same_bones()):
            return False
        try:
            self._column = self.rig.column(self.channel, self.size, self._rows)
        except KeyError:
            return False
        return True

    def components_of(self, curves: Curves) -> list[int]:
        """Return the indices of the values that F-curves set; call `refresh` first."""
        positions = {bone: i for i, bone in enumerate(self.bones)}
        keyed = curves.bone_places.get(self.channel, ())
        return [
            positions[bone] * self.size + index
            for bone, index, *_ in keyed
            if bone in positions and index < self.size
        ]

    def read(self) -> array[float]:
        """Return the values of the channel."""
        size = self.size
        values, readers, _ = self._column
        if self._rows.are_few:
            for bone in self.bones:
                readers[bone]()
        else:
            untyped: Any = self.rig.object  # Runs at each played frame.
            untyped.pose.bones.foreach_get(self.channel, values)
        if len(self.ranges) == 1:
            first, end, _ = self.ranges[0]
            return values[first * size : end * size]
        return array("f", gather(values, self.ranges, size))

    def write(self, numbers: array[float], is_quiet: bool) -> None:
        """Set all values as fast as possible; call `read` first.

        Args:
            numbers: The values.
            is_quiet: Whether to avoid tagging the armature.
        """
        size = self.size
        values, _, writers = self._column
        for first, end, start in self.ranges:
            values[first * size : end * size] = numbers[start * size : (start + end - first) * size]
        if not is_quiet and self._are_many:
            set_channel(self.rig.object, self.channel, values)
            return
        for bone in self.bones:
            writers[bone]()

    def write_copy(self, copy: bpy.types.Object, numbers: array[float]) -> None:
        """Set all values on an evaluated copy, without tagging anything for an update."""
        names, size, bones = self.rig.names, self.size, cast(Any, copy).pose.bones
        if self._are_many:
            values = array("f", bytes(4 * size * len(names)))
            bones.foreach_get(self.channel, values)
            for span in self.ranges:
                transfer(numbers, size, span[2], values, size, span)
            set_channel(copy, self.channel, values)
            return
        view = memoryview(numbers)
        for i, bone in enumerate(self.bones):
            prop = bones[names[bone]].path_resolve(self.channel, False)
            prop.foreach_set(view[i * size : (i + 1) * size])


class Overwrite(NamedTuple):
    """A channel that was overwritten for an evaluation.

    Attributes:
        buffer: The channel.
        before: Its values before it was overwritten.
        played: Its values with the new frame's muted F-curves; `before` if there aren't any.
        written: The values that were written.
        curves: F-curves that replace them if the evaluation includes animation.
    """

    buffer: ChannelBuffer
    before: array[float]
    played: array[float]
    written: array[float]
    curves: Curves | None


class Overwritten:
    """The channels overwritten for the current evaluation, to be restored after it.

    Attributes:
        is_any: Whether there is anything to restore.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.is_any = False
        self._channels: list[Overwrite] = []
        self._muted: list[MutedCopy] = []
        # Objects with values that another depsgraph's animation replaced.
        self._flushed: list[tuple[bpy.types.Object, Flushed]] = []

    def write_ahead(
        self,
        writer: PoseWriter,
        animated: Collection[int],
        curves: Curves | None = None,
        muted: MutedCopy | None = None,
        fk: FkPose | None = None,
        copy: bpy.types.Object | None = None,
        is_quiet: bool = False,
    ) -> bool:
        """Write the composed values over the FK pose, before an evaluation.

        Args:
            writer: The armature.
            animated: Slots to skip, because animation would overwrite them.
            curves: F-curves that overwrite other slots if the evaluation includes animation.
            muted: These F-curves, if they are muted for the evaluation.
            fk: The FK pose with the values of the muted F-curves.
            copy: The copy to be evaluated, which is written instead; None if Blender will copy the
                armature, or has to.
            is_quiet: Whether to avoid tagging the armature.

        Returns:
            Whether Blender has to copy the armature.
        """
        if muted is not None:
            self._muted.append(muted)
            self.is_any = True
        for group, composed in writer.composed:
            bones = group.bones
            if animated:
                bones = [bone for bone in bones if group.first + bone not in animated]
            self._write(writer, group, composed, bones, curves, fk, is_quiet, copy)
        return copy is None

    def write(self, writer: PoseWriter, is_quiet: bool = False) -> None:
        """Write the composed values, if any, over the FK pose.

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
        copy: bpy.types.Object | None = None,
    ) -> None:
        if not bones:
            return
        buffer = ChannelBuffer(writer.rig, writer.rows, group, bones)
        fk_values, written, size = buffer.read(), array("f", composed), group.size
        if len(bones) != len(group.bones):
            positions = [group.bones.index(bone) for bone in bones]
            written = array("f", [x for k in positions for x in written[k * size : (k + 1) * size]])
        played = fk_values
        if fk is not None and curves is not None and group.channel in curves.bone_places:
            played, values = fk_values[:], array("f", group.of_slots(fk.inputs))
            for i in buffer.components_of(curves):
                played[i] = values[i]
        if copy is not None:
            buffer.write_copy(copy, written)
            written = fk_values
        if written == fk_values == played:
            return
        self.is_any = True
        overwriting = curves if fk is None else None  # Muted F-curves don't overwrite.
        self._channels.append(Overwrite(buffer, fk_values, played, written, overwriting))
        if copy is None:
            buffer.write(written, is_quiet)

    def keep_flushed(self, ob: bpy.types.Object, flushed: Flushed) -> None:
        """Let `restore` also restore values that a flush to the original data replaced."""
        if flushed:
            self._flushed.append((ob, flushed))
            self.is_any = True

    def restore(self, has_new_bones: bool, is_played: bool = False) -> None:
        """Restore all overwritten channels, and undo flushes and mutes.

        Values that another extension has set since they were overwritten are kept.

        Args:
            has_new_bones: Whether Blender may have recreated an armature's bones.
            is_played: Whether the frame solved ahead was evaluated, and its animation flushed to
                the original data.
        """
        self.restore_channels(has_new_bones, is_played)
        while self._flushed:
            ob, flushed = self._flushed.pop()
            with suppress(ReferenceError):
                take_back(ob, flushed)
        self.is_any = False

    def restore_channels(self, has_new_bones: bool, is_played: bool = False) -> None:
        """Restore everything but flushed values, without tagging anything; see `restore`."""
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
    """Return the FK pose, but keep values that changed after they were written.

    If F-curves changed any value, all their values are kept, even those equal to what was written.

    Args:
        over: The overwritten channel.
        present: Its current values.
        fk: Its values in the FK pose.
    """
    pairs = zip(present, over.written, fk, strict=True)
    merged = array("f", [fk_value if value == old else value for value, old, fk_value in pairs])
    keyed: list[int] = []
    if over.curves is not None:
        over.curves.refresh()
        keyed = over.buffer.components_of(over.curves)
    if any(present[i] != over.written[i] for i in keyed):
        for i in keyed:
            merged[i] = present[i]
    return merged


def _restore_by_name(over: Overwrite, fk: array[float]) -> None:
    """Restore bones by name, after an armature's bones or their order changed.

    Args:
        over: The overwritten channel.
        fk: The values to restore.
    """
    buffer, size = over.buffer, over.buffer.size
    bones = pose_bones(buffer.rig.object)
    existing = [bones.get(buffer.rig.names[i]) for i in buffer.bones]
    present = over.written[:]
    for position, bone in enumerate(existing):
        if bone is not None:
            values = array("f", getattr(bone, buffer.channel))
            present[position * size : (position + 1) * size] = values
    merged = _merged(over, present, fk)
    for position, bone in enumerate(existing):
        if bone is not None:
            setter = bone.path_resolve(buffer.channel, False)
            setter.foreach_set(merged[position * size : (position + 1) * size])


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
        for name, size, saved in self._columns:
            present = floats(bones, name, size)
            if present != saved:
                changed = [
                    bone
                    for bone in range(len(bones))
                    if present[bone * size : (bone + 1) * size]
                    != saved[bone * size : (bone + 1) * size]
                ]
                values, _, writers = self._rig.column(name, size)
                values[:] = saved
                for bone in changed:
                    writers[bone]()
