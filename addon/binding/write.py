"""Writing: rotation channels of bones, and what the constraints report; only what changed."""

from __future__ import annotations

from array import array

from . import animation
from .access import settings
from .fk_input import FkInput, Group
from .pose import Pose
from .rotation import RotationChannels, taken

STATES = ("REACHED", "OUT_OF_REACH", "LIMITED", "INVALID", "DISABLED")
"""The constraints' states, by the numbers that Blender stores them as."""


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
        animation.bring_over(pose.now.object, pose.rig.object)
        fk_input.original = RotationChannels(fk_input.bones)
    if write_rotations(pose, fk_input) or not _is_evaluated(pose, fk_input):
        # The object's own data is not tagged: it would be copied and evaluated once more.
        pose.rig.object.update_tag(refresh={"OBJECT"})


def write_rotations(pose: Pose, fk_input: FkInput) -> bool:
    """Write an armature's rotations and keep its FK input; return whether anything changed."""
    fk_input.keep(pose.runs, pose.results)
    has_changed = False
    for group in fk_input.groups:
        present = fk_input.original.buffer(group.channel, group.size)
        buffer = _patched(present, group, pose.results)
        group.left = taken(buffer, group.runs, group.size)
        if taken(present, group.runs, group.size) != group.left:
            fk_input.bones.foreach_set(group.channel, buffer)
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
        for bone in group.bones:
            buffer[bone * size : bone * size + size] = results[bone * 4 : bone * 4 + size]
    return buffer


def _is_evaluated(pose: Pose, fk_input: FkInput) -> bool:
    """Return whether Blender has evaluated the armature with these very rotations."""
    return all(
        taken(pose.now.rotations.buffer(group.channel, group.size), group.runs, group.size)
        == group.left
        for group in fk_input.groups
    )


def write_reports(pose: Pose) -> None:
    """Write what the panel shows of an armature's constraints."""
    if pose.reports == pose.shown:
        return
    pose.shown = pose.reports[:]
    items = settings(pose.rig.object).constraints
    if pose.rig.object.override_library is None:
        for name, kind, numbers in (
            ("state", "i", [STATES.index(report.state) for report in pose.reports]),
            ("error", "f", [report.error for report in pose.reports]),
            ("iterations_used", "i", [report.sweeps for report in pose.reports]),
        ):
            column, present = array(kind, numbers), array(kind, bytes(4 * len(items)))
            items.foreach_get(name, present)
            if column.tobytes() != present.tobytes():
                items.foreach_set(name, column)
    else:  # Of an override Blender sets nothing all at once.
        for item, report in zip(items, pose.reports, strict=True):
            item.state, item.error, item.iterations_used = report.state, report.error, report.sweeps
    for item, report in zip(items, pose.reports, strict=True):
        if item.message != report.message:
            item.message = report.message
