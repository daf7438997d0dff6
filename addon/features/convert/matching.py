"""Matching the previous pose with new constraints.

Pole angles are computed from the FK pose, then corrected iteratively by the remaining swivel angle.
If the pose still differs, it is applied to the chain as its FK pose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi, remainder
from typing import Any

import bpy

from fabrik_solver import Chain, posed_chain

from ...blender.messages import msg
from ...blender.skeleton import matrix3, skeleton_of, vector
from ...body.chains import NamedChain
from ...body.flexion import bend_side, restore_flexions, stored_flexions
from ...editing.joint_uses import store_flexion
from ...plan import planner
from .poses import (
    Change,
    PoseMatrices,
    apply_as_fk,
    change,
    evaluated_pose,
    joints,
    size_world,
    swivel_angle,
)

NEAR = 1e-3
"""Maximum difference of matching poses, as a fraction of the chain length or in tens of radians."""

OTHER = 5e-3
"""Difference above which the pose is applied as the FK pose. This may change other frames. Native
IK leaves limbs short of their targets by less than this."""

FITTED = 1e-6
"""Maximum difference of a matched bend, in radians."""

MOST_FITS = 16

SLOWEST, FASTEST = 0.2, 5.0
"""Bounds of the estimated rate at which a chain swivels with its pole angle."""


@dataclass(slots=True)
class Replacement:
    """A new constraint that replaces an old one.

    Attributes:
        constraint: The new constraint.
        chain: Its chain.
        title: Its name in notes.
        turn: Returns its pole angle, given its first bone's matrix and the chain in the FK pose.
        is_on: Whether to enable it.
        old_pole_angle: Pole angle of the old constraint.
        old: Data path prefix of the old constraint.
    """

    constraint: Any
    chain: NamedChain
    title: str
    turn: Callable[[Any, Chain], float]
    is_on: bool
    old_pole_angle: float
    old: str

    @property
    def has_pole(self) -> bool:
        """Whether the chain of the new constraint faces a pole."""
        return self.constraint.pole_target is not None

    @property
    def is_full(self) -> bool:
        """Whether the new constraint is on with full influence."""
        return self.is_on and self.constraint.influence == 1.0


def match_pose(
    armature: bpy.types.Object,
    replacements: Sequence[Replacement],
    original: PoseMatrices,
    notes: list[str],
) -> tuple[Change, list[str]]:
    """Enable new constraints, and adjust them to match the previous pose.

    Args:
        armature: The armature.
        replacements: The new constraints.
        original: The previous pose.
        notes: The list to add notes to.

    Returns:
        The remaining difference, and the titles of the constraints that don't match.
    """
    pose = _start(armature, replacements, original)
    off = [
        new for new in replacements if new.is_full and _is_off(armature, new, original, pose, OTHER)
    ]
    if off:
        for new in off:
            notes += _apply_as_fk(armature, new, original)
        pose = _fit(armature, replacements, original)
    unmatched = [
        new.title
        for new in replacements
        if new.is_on and _is_off(armature, new, original, pose, NEAR)
    ]
    return change(armature, original, pose, original), unmatched


def decide_flexion(
    armature: bpy.types.Object, replacements: Sequence[Replacement], original: PoseMatrices
) -> None:
    """Store the flexion axes of the new chains, except those that would change the pose.

    Args:
        armature: The armature.
        replacements: The new constraints.
        original: The pose that must not change.
    """
    bones = {name for new in replacements for name in new.chain.bones}
    original_flexions = stored_flexions(armature, bones)
    for new in replacements:
        store_flexion(armature, new.constraint)
    new_flexions = stored_flexions(armature, bones)
    if new_flexions == original_flexions:
        return

    def bones_off() -> set[str]:
        current = _start(armature, replacements, original)
        off = [new for new in replacements if new.is_full]
        off = [new for new in off if _is_off(armature, new, original, current, NEAR)]
        return {name for new in off for name in new.chain.bones}

    restore_flexions(armature, {name: original_flexions[name] for name in bones_off()})
    if stored_flexions(armature, bones) != new_flexions:
        restore_flexions(armature, {name: new_flexions[name] for name in bones_off()})


def _start(
    armature: bpy.types.Object, replacements: Sequence[Replacement], original: PoseMatrices
) -> PoseMatrices:
    """Enable new constraints with the pole angles that best match a pose; return their pose.

    Args:
        armature: The armature.
        replacements: The new constraints.
        original: The previous pose, to be matched.
    """
    for new in replacements:
        new.constraint.enabled = False
    fk = evaluated_pose(armature)
    for new in replacements:
        if new.has_pole:
            posed = _fk_chain(armature, new.chain, fk)
            if not any(posed.axis):
                continue  # Without size it has no bend direction.
            new.constraint.pole_angle = _wrapped(new.turn(fk[new.chain.bones[0]], posed))
    for new in replacements:
        new.constraint.enabled = new.is_on
    return _fit(armature, replacements, original)


def _is_off(
    armature: bpy.types.Object,
    new: Replacement,
    original: PoseMatrices,
    current: PoseMatrices,
    limit: float,
) -> bool:
    moved, turned = change(armature, original, current, new.chain.bones)
    return moved > limit * size_world(armature, new.chain, original) or turned > 10.0 * limit


def _apply_as_fk(armature: bpy.types.Object, new: Replacement, original: PoseMatrices) -> list[str]:
    """Apply a chain's previous pose as its FK pose, except for animated bones; return notes."""
    has_changed, is_animated = apply_as_fk(armature, new.chain.bones, original)
    notes: list[str] = []
    if has_changed:
        notes.append(
            msg(
                "“{new}”: the pose was applied as the FK pose, because the chain would bend "
                "differently from the previous one",
                new=new.title,
            )
        )
    if is_animated:
        notes.append(
            msg(
                "“{new}”: animated bones keep their FK pose and may bend differently",
                new=new.title,
            )
        )
    return notes


def _fit(
    armature: bpy.types.Object, replacements: Sequence[Replacement], original: PoseMatrices
) -> PoseMatrices:
    """Adjust pole angles until all chains bend as originally, and return the pose."""
    with_poles = [new for new in replacements if new.has_pole and new.is_full]
    remaining = [0.0] * len(with_poles)
    steps = [0.0] * len(with_poles)
    current = evaluated_pose(armature)
    for _ in range(MOST_FITS):
        for i, new in enumerate(with_poles):
            wanted, actual = (joints(armature, new.chain, pose) for pose in (original, current))
            swivel = swivel_angle(actual, wanted)
            steps[i] = _step(swivel, remaining[i], steps[i])
            remaining[i] = swivel
            new.constraint.pole_angle = _wrapped(new.constraint.pole_angle + steps[i])
        if max(map(abs, remaining), default=0.0) < FITTED:
            break
        current = evaluated_pose(armature)
    return current


def _step(remaining: float, remaining_before: float, step: float) -> float:
    """Return the next change of a pole angle.

    The swivel angle may change by more or less than the pole angle. Native IK rotates about the
    first bone, which may be far off the line from root to tip.

    Args:
        remaining: The remaining swivel angle.
        remaining_before: The remaining angle before the last step.
        step: The last step; 0 at first.
    """
    rate = _wrapped(remaining_before - remaining) / step if step else 1.0
    return remaining / min(max(rate, SLOWEST), FASTEST)


def _fk_chain(armature: bpy.types.Object, chain: NamedChain, fk: PoseMatrices) -> Chain:
    planner.discard_if_outdated()
    rig = skeleton_of(armature)
    tip = rig.index[chain.tip] if chain.tip else -1
    axes = [matrix3(fk[name]) for name in chain.bones]
    points = [vector(point) for point in joints(armature, chain, fk)]
    bend_rest = bend_side(rig, [rig.index[name] for name in chain.bones], tip)
    return posed_chain(axes, points, bend_rest, ())


def _wrapped(angle: float) -> float:
    return remainder(angle, 2.0 * pi)
