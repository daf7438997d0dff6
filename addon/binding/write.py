"""Writing: rotation channels of bones, and what the constraints report; only what changed."""

from __future__ import annotations

from array import array
from typing import Any

from . import animation
from .access import settings
from .chain_plan import Report
from .fk_input import FkInput, Group
from .pose import Pose
from .read import Snapshot
from .rotation import RotationChannels, taken
from .skeleton import Skeleton

STATES = ("REACHED", "OUT_OF_REACH", "LIMITED", "INVALID", "DISABLED")
"""The constraints' states, by the numbers that Blender stores them as."""


def write_poses(moment: Snapshot) -> None:
    """Write the pose of each solved armature."""
    for uid in moment.rigs:
        pose = moment.poses[uid]
        if pose.fk_input is not None:
            _write_pose(pose, pose.fk_input, moment.is_foreign)


def _write_pose(pose: Pose, fk_input: FkInput, is_foreign: bool) -> None:
    if is_foreign:
        animation.bring_over(pose.now.object, pose.rig.object)
        fk_input.original = RotationChannels(fk_input.bones)
    if not write_rotations(pose, fk_input) and _is_evaluated(pose, fk_input):
        return
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
    fk_input.save()
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


def write_reports(rig: Skeleton, reports: dict[int, Report]) -> None:
    """Write what the panel shows of an armature's constraints, by their place in the list."""
    items = settings(rig.object).constraints
    for name, kind, values in (
        ("state", "i", {item: STATES.index(report.state) for item, report in reports.items()}),
        ("error", "f", {item: report.error for item, report in reports.items()}),
        ("iterations_used", "i", {item: report.sweeps for item, report in reports.items()}),
    ):
        column: array[Any] = array(kind, bytes(4 * len(items)))
        items.foreach_get(name, column)
        present = column[:]
        for item, value in values.items():
            column[item] = value
        if column.tobytes() == present.tobytes():
            continue
        if rig.object.override_library is None:
            items.foreach_set(name, column)
            continue
        for item in values:  # Of an override Blender sets nothing at once.
            if column[item] != present[item]:
                value = STATES[column[item]] if name == "state" else column[item]
                setattr(items[item], name, value)
    for item, report in reports.items():
        if items[item].message != report.message:
            items[item].message = report.message
