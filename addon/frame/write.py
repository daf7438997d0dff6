"""What is written of an armature: the channel values of its solved pose, and reports."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import chain as chained
from typing import NamedTuple

from ..blender.listeners import Listeners
from ..blender.messages import store
from ..blender.rotation import (
    LOCATION,
    SCALE,
    ChannelGroup,
    IndexRange,
    PoseChannels,
    Rows,
    channel_values,
    ranges_of,
)
from ..blender.skeleton import Skeleton
from ..plan.chain_plan import Report
from ..plan.results import SolveResult
from ..settings.properties import FabrikConstraint, settings
from .fk_pose import FkPose
from .solved_pose import SolvedPose


class Encoded(NamedTuple):
    """A result as channel values.

    Attributes:
        result: The result.
        values: The values of each channel of each bone, after the index of the first among those
            of all slots.
    """

    result: SolveResult
    values: list[tuple[int, array[float]]]


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
        self._bones: list[Sequence[int]] = []
        self._ranges: list[IndexRange] = []
        self._inputs = array("f")
        self._results: list[SolveResult] | None = None
        self._encoded: dict[int, Encoded] = {}

    def compose(self, pose: SolvedPose) -> bool:
        """Compose the channel values of a solved pose; return whether they changed.

        An unchanged FK pose and results of unchanged inputs are the same objects as before.
        """
        self.reports = pose.reports or self.reports
        fk, results = pose.fk, pose.results
        if fk.inputs is not self._inputs:
            self._inputs, self._results, self._encoded = fk.inputs, None, {}
        if self._results is not None and [*map(id, results)] == [*map(id, self._results)]:
            return False
        numbers = self._numbers(pose) if fk.groups else array("f")
        before = self.composed
        self.composed = [(group, group.of_slots(numbers)) for group in fk.groups]
        self._results = results[:]
        return self.composed != before

    def _numbers(self, pose: SolvedPose) -> array[float]:
        """Return the solved or FK values of all bones, four numbers per slot."""
        fk = pose.fk
        numbers = fk.inputs[:]
        if fk.has_only_quaternions:
            # Their signs are compatible with the FK pose already.
            rotations = [result.rotations for result in pose.results]
            found = array("f", [*chained.from_iterable(rotations)])
            bones = [result.bones for result in pose.results]
            if bones != self._bones:
                self._bones, self._ranges = bones, ranges_of([*chained.from_iterable(bones)])
            for first, last, place in self._ranges:
                end = place + last - first
                numbers[first * 4 : last * 4] = found[place * 4 : end * 4]
            if not pose.locations and not pose.scales:
                return numbers
        before = self._encoded
        self._encoded = {
            id(result): before.get(id(result)) or Encoded(result, _channels_of(fk, result))
            for result in pose.results
        }
        for encoded in self._encoded.values():
            for first, values in encoded.values:
                numbers[first : first + len(values)] = values
        return numbers

    def is_shown(self, evaluated: PoseChannels) -> bool:
        """Return whether evaluated channels have the composed values."""
        for group, composed in self.composed:
            if evaluated.of(group) != composed:
                return False
        return bool(self.composed)


def _channels_of(fk: FkPose, result: SolveResult) -> list[tuple[int, array[float]]]:
    """Return a result as channel values (see `Encoded`), without the rotations of quaternions."""
    found = [
        (fk.rig.slot(kind, bone) * 4, array("f", values))
        for kind, solved in ((LOCATION, result.locations), (SCALE, result.scales))
        for bone, values in solved.items()
    ]
    if fk.has_only_quaternions:
        return found
    numbers = iter(result.rotations)
    rotations = zip(numbers, numbers, numbers, numbers, strict=True)
    for bone, rotation in zip(result.bones, rotations, strict=True):
        values = given = fk.numbers(bone)
        if rotation != fk.rotation(bone):  # An unchanged rotation keeps its channel values.
            values = channel_values(fk.modes[bone], rotation, given)
        found.append((bone * 4, array("f", values)))
    return found


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
    for places, own in reports.items():
        before = shown.get(places) or [_shown_by(items[i]) for i in places]
        for i, report, was in zip(places, own, before, strict=True):
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
