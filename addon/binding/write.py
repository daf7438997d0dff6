"""Writing: channels of bones, and what the constraints report; only what changed.

What is written into channels stands there while Blender evaluates, and is taken back after it: the
channels are the animator's.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .access import pose_bones, set_of_all, settings
from .chain_plan import Report
from .fk_pose import Group
from .pose import Pose
from .rotation import ALL_CHANNELS, floats, taken, transfer
from .skeleton import Skeleton, forget_bones

if TYPE_CHECKING:
    from .properties import FabrikConstraint


@dataclass
class Overlaid:
    """What stands over one channel of the bones of an armature.

    Attributes:
        rig: The armature.
        group: The bones and the channel.
        bones: Those of them that something stands over.
        kept: What the channel held of all bones.
        written: What was written over it.
    """

    rig: Skeleton
    group: Group
    bones: list[int]
    kept: array[float]
    written: array[float]


_overlaid: list[Overlaid] = []


def compose(pose: Pose) -> bool:
    """Put together what is to be written of a solved armature.

    Returns:
        Whether it is anything else than last time, so that Blender has to be told.
    """
    fk_pose = pose.fk_pose
    if fk_pose is None:
        return False
    results = pose.results(fk_pose)
    has_changed = False
    for group in fk_pose.groups:
        buffer = _patched(fk_pose.held.read(group.channel, group.size), group, results)
        now = taken(buffer, group.runs, group.size)
        has_changed |= now != group.written
        group.written = now
    return has_changed


def write_ahead(pose: Pose) -> None:
    """Write over the FK pose of an armature what was put together last, ahead of an evaluation.

    Bones that F-curves or drivers set are left to them: whatever stands there might be what these
    have just set, and nothing would tell it from what we have written.
    """
    fk_pose = pose.fk_pose
    if fk_pose is None or fk_pose.has_animated_modes:
        return  # Blender converts what stands in the channels as a mode changes.
    for group in fk_pose.groups:
        animated = {slot - group.first for slot in fk_pose.animated}
        bones = [bone for bone in group.bones if bone not in animated] if animated else group.bones
        _write(pose.rig, group, bones)


def write_pose(pose: Pose, is_quiet: bool = False) -> None:
    """Write over the FK pose of an armature what was put together last, if anything was.

    Args:
        pose: The armature.
        is_quiet: Whether Blender is not to notice.
    """
    for group in pose.fk_pose.groups if pose.fk_pose else ():
        _write(pose.rig, group, group.bones, is_quiet)


def _write(rig: Skeleton, group: Group, bones: list[int], is_quiet: bool = False) -> None:
    if group.written is None or not bones:
        return
    kept = floats(pose_bones(rig.object), group.channel, group.size)
    size, last = group.size, array("f", group.written)
    written = kept[:]
    if len(bones) == len(group.bones):
        for first, end, place in group.runs:
            written[first * size : end * size] = last[place * size : (place + end - first) * size]
    else:
        for place, bone in enumerate(group.bones):
            if bone in bones:
                part = last[place * size : (place + 1) * size]
                written[bone * size : (bone + 1) * size] = part
    if written == kept:
        return
    _overlaid.append(Overlaid(rig, group, bones, kept, written))
    if is_quiet:
        _set_quietly(rig, group.channel, size, bones, written)
    else:
        set_of_all(rig.object, group.channel, written)


def _set_quietly(
    rig: Skeleton, channel: str, size: int, bones: Iterable[int], numbers: array[float]
) -> None:
    setters, view = rig.setters(channel), memoryview(numbers)
    for bone in bones:
        setters[bone].foreach_set(view[bone * size : (bone + 1) * size])


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
            _give_back(over, has_new_bones)
        except ReferenceError:
            continue  # The armature was removed.


def _give_back(over: Overlaid, has_new_bones: bool) -> None:
    rig, channel, size = over.rig, over.group.channel, over.group.size
    bones = pose_bones(rig.object)
    if has_new_bones and not rig.has_same_bones():
        _give_back_by_name(over, bones)
        return
    present = floats(bones, channel, size)
    if present != over.written:
        over.kept = over.kept[:]
        for bone in over.bones:
            at = slice(bone * size, (bone + 1) * size)
            over.kept[at] = _merged(over, present[at], bone)
    _set_quietly(rig, channel, size, over.bones, over.kept)


def _merged(over: Overlaid, present: array[float], bone: int) -> array[float]:
    """Return the numbers of a bone, each as it was, or as somebody has set it meanwhile."""
    start = bone * over.group.size
    for i, number in enumerate(present):
        if number == over.written[start + i]:
            present[i] = over.kept[start + i]
    return present


def _give_back_by_name(over: Overlaid, bones: Any) -> None:
    """Give bones their pose back after an armature has got other bones, or in another order."""
    channel = over.group.channel
    for i in over.bones:
        bone = bones.get(over.rig.names[i])
        if bone is None:
            continue
        setter = bone.path_resolve(channel, False)
        present = array("f", getattr(bone, channel))
        setter.foreach_set(_merged(over, present, i))


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
                _set_quietly(self._rig, name, size, changed, kept)


def forget_written() -> None:
    """Give nothing back: what it was written over is not there any more."""
    _overlaid.clear()


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
