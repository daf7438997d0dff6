"""Writing: channels of bones, and what the constraints report; only what changed."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from .access import set_of_all, settings
from .animated_values import bring_over
from .chain_plan import Report
from .fk_input import FkInput, Group
from .pose import Pose
from .rotation import PoseChannels, taken, transfer

if TYPE_CHECKING:
    from .properties import FabrikConstraint


def write_pose(pose: Pose, is_foreign: bool) -> None:
    """Write the pose of a solved armature, and have Blender evaluate it.

    Args:
        pose: What was read and solved.
        is_foreign: Whether the depsgraph is not the one whose animation Blender flushes to the
            file's data, as in a render.
    """
    fk_input = pose.fk_input
    if fk_input is None:
        return
    if is_foreign:
        bring_over(pose.now.object, pose.rig.object)
        fk_input.original = PoseChannels(fk_input.bones)
    if write_channels(pose, fk_input) or not _is_evaluated(pose, fk_input):
        # The object's own data is not tagged: it would be copied and evaluated once more.
        pose.rig.object.update_tag(refresh={"OBJECT"})


def write_channels(pose: Pose, fk_input: FkInput) -> bool:
    """Write an armature's channels and keep its FK input; return whether anything changed."""
    results = pose.results(fk_input)
    fk_input.keep(pose.runs, results)
    has_changed = False
    for group in fk_input.groups:
        present = fk_input.original.buffer(group.channel, group.size)
        buffer = _patched(present, group, results)
        group.left = taken(buffer, group.runs, group.size)
        if taken(present, group.runs, group.size) != group.left:
            set_of_all(pose.rig.object, group.channel, buffer)
            fk_input.original.buffers[group.channel] = buffer
            has_changed = True
    return has_changed


def _patched(present: array[float], group: Group, results: array[float]) -> array[float]:
    """Return a channel of all bones with the results of a group's bones in it."""
    buffer, size = present[:], group.size
    if size == 4:
        for first, last, _ in group.runs:
            buffer[first * 4 : last * 4] = results[first * 4 : last * 4]
    else:
        for run in group.runs:
            transfer(results, 4, group.first + run[0], buffer, size, run)
    return buffer


def _is_evaluated(pose: Pose, fk_input: FkInput) -> bool:
    """Return whether Blender has evaluated the armature with these very numbers."""
    return all(
        taken(pose.now.channels.buffer(group.channel, group.size), group.runs, group.size)
        == group.left
        for group in fk_input.groups
    )


def write_reports(pose: Pose) -> None:
    """Write what the panel shows of an armature's constraints.

    One by one: were they set all at once, Blender would take the armature for changed.
    """
    reports, shown = pose.reports, pose.shown
    if reports == shown:
        return
    pose.shown = reports[:]
    items = settings(pose.rig.object).constraints
    for i, report in enumerate(reports):
        if not shown:
            _write_report(items[i], report, _shown_by(items[i]))
        elif report != shown[i]:
            _write_report(items[i], report, shown[i])


def _shown_by(item: FabrikConstraint) -> Report:
    return Report(item.state, item.error, item.iterations_used, item.message)


def _write_report(item: FabrikConstraint, report: Report, shown: Report) -> None:
    if report.state != shown.state:
        item.state = report.state
    if report.error != shown.error:
        item.error = report.error
    if report.sweeps != shown.sweeps:
        item.iterations_used = report.sweeps
    if report.message != shown.message:
        item.message = report.message
