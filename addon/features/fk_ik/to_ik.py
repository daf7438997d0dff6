"""Snapping FK to IK: applying the solved pose to the bones as their FK pose."""

from __future__ import annotations

from collections.abc import Sequence
from math import dist, inf

import bpy

from fabrik_solver.core.vectors import quat_inverse, quat_product

from ...blender.access import pose_bones
from ...blender.errors import listed
from ...blender.messages import msg
from ...blender.refusals import refuse_unkeyable
from ...blender.rotation import channel_values, mode_of, quaternion
from ...editing.constraints import is_on
from ...editing.playing import updated
from ...plan.chain_plan import ChainPlan
from ...settings.muting import full_influence, in_fk, muting
from .applying import (
    OTHERS,
    ChannelKey,
    Values,
    apply_pose,
    fk_values,
    key_values,
    posed_channels,
    refuse_driven,
    shown_values,
)
from .snap import (
    ROUNDED,
    PosePoints,
    SnapResult,
    are_layered,
    compared,
    concerning,
    keeping_unkeyed,
    on_top,
    others_on,
    pose_points,
    restored_frame,
    sharing,
    snappable_chains,
)
from .span import Span, key_influence

ROUNDS = 16
"""Maximum number of FK poses to try below other constraints."""

SAME = 1e-6
"""Maximum difference of a channel from its shown value."""

WHY_NOT_FK = msg(
    "Its bones don't keep the pose: check for constraints, drivers or NLA strips that affect them"
)
WHY_NOT_IK = msg(
    "Its FK pose now matches, but the enabled constraint changes the pose again (Stretch, "
    "Softness, partial weights): set its Influence to 0"
)


def snap_to_ik(armature: bpy.types.Object, indices: Sequence[int], span: Span) -> SnapResult:
    """Apply the solved pose to the bones of constraints as their FK pose.

    Constraints that are off get full influence during the snap.

    Args:
        armature: The armature.
        indices: Indices of the constraints.
        span: The frames. A switch disables the constraints at these frames only.

    Raises:
        ProblemError: If a constraint can't be snapped; nothing is changed.
    """
    chains = snappable_chains(armature, indices, span)
    for chain in chains:
        with concerning(chain):
            refuse_driven(armature, posed_channels([chain]))
    sharing_chains = sharing(chains) if span.switches else []
    refuse_driven(armature, posed_channels(sharing_chains))
    all_chains = [*chains, *sharing_chains]
    channels = posed_channels(all_chains)
    if span.is_keyed:
        refuse_unkeyable(armature)
    with restored_frame(span):
        expected, values = _shown(armature, chains, sharing_chains, span)
        fk_before = fk_values(armature, channels)
        if not span.is_range:
            apply_pose(armature, values[0])
        with keeping_unkeyed([armature], span):
            if span.is_keyed:
                key_values(armature, span, values, fk_before)
            if span.switches:
                for index in indices:
                    key_influence(armature, index, span, is_on=False)
        with in_fk(armature, indices):
            difference, problem = compared(
                all_chains,
                span,
                expected,
                lambda chain, is_rounded: _why_not_fk(chain, is_rounded, indices),
            )
        updated()
        ik_difference, reason = compared(
            all_chains, span, expected, lambda _, is_rounded: ROUNDED if is_rounded else WHY_NOT_IK
        )
    return SnapResult(max(difference, ik_difference), problem or reason)


def _shown(
    armature: bpy.types.Object,
    chains: Sequence[ChainPlan],
    sharing_chains: Sequence[ChainPlan],
    span: Span,
) -> tuple[list[PosePoints], list[Values]]:
    """Return the solved pose of each frame, and its channel values without layers on top.

    Both cover the constraints to snap, and those solved together with them.
    """
    poses: list[PosePoints] = []
    values: list[Values] = []
    all_chains = [*chains, *sharing_chains]
    channels = posed_channels(all_chains)
    layers, has_lower_layers = on_top(chains), are_layered(chains, span.switches)
    for _ in span.visit():
        inactive = [chain.item for chain in chains if not is_on(chain)]
        with full_influence(armature, inactive):
            poses.append(pose_points(updated(), all_chains))
            if layers:
                with muting(armature, layers):
                    updated()
                    values.append(shown_values(armature, channels))
            else:
                values.append(shown_values(armature, channels))
        if has_lower_layers:
            indices = [chain.item for chain in chains]
            with in_fk(armature, indices), muting(armature, layers):
                values[-1] = _under_layers(armature, channels, values[-1])
            updated()
    return poses, values


def _under_layers(
    armature: bpy.types.Object, channels: Sequence[ChannelKey], wanted: Values
) -> Values:
    """Return the FK pose that earlier constraints in the stack turn into a wanted pose.

    The remaining difference is added to the FK pose repeatedly. If that doesn't converge, as with a
    look-at, the best pose is returned.
    """
    fk_before = fk_values(armature, channels)
    fk = best = wanted
    smallest = inf
    try:
        for _ in range(ROUNDS):
            apply_pose(armature, fk)
            shown = shown_values(armature, channels)
            error = max((dist(shown[key], wanted[key]) for key in wanted), default=0.0)
            if error < smallest:
                best, smallest = fk, error
            if error < SAME:
                break
            fk = {key: _corrected(armature, key, fk[key], shown[key], wanted[key]) for key in fk}
    finally:
        apply_pose(armature, fk_before)
    return best


def _corrected(
    armature: bpy.types.Object,
    key: ChannelKey,
    fk: Sequence[float],
    shown: Sequence[float],
    wanted: Sequence[float],
) -> list[float]:
    """Return the FK values to try next for a channel.

    Args:
        armature: The armature.
        key: The channel.
        fk: The FK values tried last.
        shown: The values that were shown with these.
        wanted: The values to be shown.
    """
    name, channel = key
    if channel in OTHERS:
        return [a + c - b for a, b, c in zip(fk, shown, wanted, strict=True)]
    mode = mode_of(pose_bones(armature)[name])
    fk_turn, shown_turn, wanted_turn = (quaternion(mode, v) for v in (fk, shown, wanted))
    change = quat_product(quat_inverse(shown_turn), wanted_turn)
    return channel_values(mode, quat_product(fk_turn, change), fk)


def _why_not_fk(chain: ChainPlan, is_rounded: bool, indices: Sequence[int]) -> str:
    sharing_names = others_on(chain, {*indices, chain.item})
    if sharing_names:
        return msg(
            "Other constraints on its bones change the pose further ({others}): snap them together "
            "with Constraints set to All",
            others=listed(sharing_names),
        )
    return ROUNDED if is_rounded else WHY_NOT_FK
