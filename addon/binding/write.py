"""Writing: channels of bones, and what the constraints report; only what changed.

What is written into channels stands there while Blender evaluates, and is taken back after it: the
channels are the animator's.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .access import pose_bones, set_of_all, settings
from .chain_plan import Report
from .fk_pose import Group
from .pose import Pose
from .rotation import floats, taken, transfer
from .skeleton import Skeleton, forget_bones

if TYPE_CHECKING:
    from .properties import FabrikConstraint


@dataclass
class Overlaid:
    """What stands over one channel of the bones of an armature.

    Attributes:
        rig: The armature.
        group: The bones and the channel.
        kept: What the channel held of all bones.
        written: What was written over it.
        animated: Which numbers of the bones F-curves or drivers set, if any.
    """

    rig: Skeleton
    group: Group
    kept: array[float]
    written: array[float]
    animated: dict[int, set[int]]


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


def write_pose(pose: Pose, is_being_animated: bool = False, is_quiet: bool = False) -> None:
    """Write over the FK pose of an armature what was put together last, if anything was.

    Args:
        pose: The armature.
        is_being_animated: Whether Blender is going to set animated channels, which are left to it:
            what it sets them to might be the solution, and that would be taken back.
        is_quiet: Whether Blender is not to notice.
    """
    fk_pose = pose.fk_pose
    if fk_pose is None or (is_being_animated and fk_pose.has_animated_modes):
        return  # Blender converts what stands in the channels as a mode changes.
    for group in fk_pose.groups:
        if group.written is None:
            continue
        kept = floats(pose_bones(pose.rig.object), group.channel, group.size)
        size, last = group.size, array("f", group.written)
        written = kept[:]
        for first, end, place in group.runs:
            written[first * size : end * size] = last[place * size : (place + end - first) * size]
        animated = {
            slot - group.first: numbers
            for slot, numbers in fk_pose.animated.items()
            if slot - group.first in group.bones
        }
        for bone in animated if is_being_animated else ():
            written[bone * size : (bone + 1) * size] = kept[bone * size : (bone + 1) * size]
        if written != kept:
            _overlaid.append(Overlaid(pose.rig, group, kept, written, animated))
            if is_quiet:
                setters = pose.rig.setters(group.channel)
                for bone in group.bones:
                    setters[bone].foreach_set(written[bone * size : (bone + 1) * size])
            else:
                set_of_all(pose.rig.object, group.channel, written)


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

    Where anything else stands there by now, an F-curve, a driver or another extension has set it
    meanwhile, and it stays.

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
    setters = rig.setters(channel)
    kept, written = memoryview(over.kept), over.written
    is_untouched = present == written
    for bone in over.group.bones:
        start, end = bone * size, (bone + 1) * size
        if is_untouched or present[start:end] == written[start:end]:
            setters[bone].foreach_set(kept[start:end])
        else:
            setters[bone].foreach_set(_merged(over, present[start:end], bone))


def _merged(over: Overlaid, present: array[float], bone: int) -> array[float]:
    """Return the numbers of a bone, each as it was, or as somebody has set it meanwhile.

    Animation sets all that it sets, whether it finds the same there or not.
    """
    start = bone * over.group.size
    animated = over.animated.get(bone, ())
    written = over.written[start : start + over.group.size]
    has_played = any(present[i] != written[i] for i in animated)
    for i, number in enumerate(present):
        if number == written[i] and not (has_played and i in animated):
            present[i] = over.kept[start + i]
    return present


def _give_back_by_name(over: Overlaid, bones: Any) -> None:
    """Give bones their pose back after an armature has got other bones, or in another order."""
    channel = over.group.channel
    for i in over.group.bones:
        bone = bones.get(over.rig.names[i])
        if bone is None:
            continue
        setter = bone.path_resolve(channel, False)
        present = array("f", getattr(bone, channel))
        setter.foreach_set(_merged(over, present, i))


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
