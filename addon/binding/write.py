"""Writing: rotation channels of bones, and what the constraints report; only what changed."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import animation
from .plan import Plan
from .read import Pose, Snapshot
from .rotation import RotationChannels, channel_of, channel_values

if TYPE_CHECKING:
    from .properties import FabrikConstraint


def write_poses(moment: Snapshot, plan: Plan, is_foreign: bool) -> None:
    """Write the pose of each solved armature.

    Args:
        moment: What was read and solved.
        plan: Which bones chains pose, or posed.
        is_foreign: Whether the depsgraph is not the one whose animation Blender flushes to the
            file's data, as in a render.
    """
    for uid in moment.rigs:
        _write_pose(moment.poses[uid], plan.posed[uid], is_foreign)


def _write_pose(pose: Pose, posed: set[int], is_foreign: bool) -> None:
    changed: dict[str, array[float]] = {}
    evaluated_differs = False
    fk_input = pose.fk_input
    results: dict[int, list[float]] = {}
    for bone in posed:
        given = fk_input.of(bone)
        result = _result(pose, bone, given)
        results[bone] = result
        if bone in pose.turned:
            fk_input.keep(bone, given, result)
        else:
            fk_input.drop(bone)
    if is_foreign:
        animation.bring_over(pose.evaluated, pose.rig.object)
        fk_input.original = RotationChannels(fk_input.bones)
    original = fk_input.original
    for bone, result in results.items():
        channel, size = channel_of(original.modes[bone])
        if original.values(bone) != result:
            buffer = changed[channel] = original.buffer(channel, size)
            buffer[bone * size : bone * size + size] = array("f", result)
        evaluated_differs |= pose.rotations.values(bone) != result
    for channel, buffer in changed.items():
        fk_input.bones.foreach_set(channel, buffer)
    if changed or evaluated_differs:
        pose.rig.object.update_tag(refresh={"DATA"})
    fk_input.save()


def _result(pose: Pose, bone: int, given: list[float]) -> list[float]:
    """Return the numbers to write for a bone, rounded as Blender stores them."""
    turned = pose.turned.get(bone)
    if turned is None or turned == pose.locals[bone].rotation:
        return given
    return array("f", channel_values(pose.rotations.modes[bone], turned, given)).tolist()


@dataclass(frozen=True, slots=True)
class Report:
    """How a constraint did.

    Attributes:
        state: One of the constraint's states.
        error: Distance from tip to target in world space, in metres.
        sweeps: Sweeps that the solver took.
        message: What is wrong and what to do about it, empty if nothing is.
    """

    state: str
    error: float = 0.0
    sweeps: int = 0
    message: str = ""


def write_report(item: FabrikConstraint, report: Report) -> None:
    """Write what the panel shows of a constraint."""
    if item.state != report.state:
        item.state = report.state
    if item.error != array("f", [report.error])[0]:
        item.error = report.error
    if item.iterations_used != report.sweeps:
        item.iterations_used = report.sweeps
    if item.message != report.message:
        item.message = report.message
