"""New constraints that show the pose which the old ones showed.

Their pole angles are reckoned from the FK pose, and then mended by what the shown bend is off,
until it is not. Where another pose comes of it all the same, the chain gets the shown one as its FK
pose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi, remainder
from typing import Any

import bpy

from ...blender.limbs import NamedChain
from ...blender.skeleton import matrix3, skeleton_of, vector
from ...core import Chain
from ...editing.placing import posed_chain
from ...loop import plan
from .poses import Change, Shown, change, joints, shown_pose, size_world, swivel, take_as_fk

NEAR = 1e-3
"""A pose that is off by more, as a share of the chain's length or in tens of radians, is not kept.
"""

OTHER = 5e-3
"""One that is off by more is another one: the chain gets the shown pose as its FK pose, by which
other frames may change. By less Blender's IK leaves limbs short of their targets."""

FITTED = 1e-6
"""A bend that is off by less, in radians, is where it was."""

MOST_FITS = 16

SLOWEST, FASTEST = 0.2, 5.0
"""By how much a chain swivels with its pole angle at least and at most, as far as is believed."""


@dataclass(slots=True)
class Link:
    """A new constraint, and what it takes the place of.

    Attributes:
        holder: The new constraint.
        chain: Its chain.
        title: How notes call it.
        turn: Gives its pole angle, given the frame of its first bone in the FK pose, and the chain
            in it.
        is_on: Whether it is to be on.
        before: The pole angle of the old one.
        old: The path of the old one.
    """

    holder: Any
    chain: NamedChain
    title: str
    turn: Callable[[Any, Chain], float]
    is_on: bool
    before: float
    old: str

    @property
    def has_pole(self) -> bool:
        """Whether the chain faces a pole."""
        return self.holder.pole_target is not None

    @property
    def is_full(self) -> bool:
        """Whether the pose that is shown is its alone."""
        return self.is_on and self.holder.influence == 1.0


def settle(
    armature: bpy.types.Object, links: Sequence[Link], before: Shown, notes: list[str]
) -> tuple[Change, list[str]]:
    """Let new constraints, which are off still, show the pose of before, and turn them on.

    Args:
        armature: Whose constraints they are.
        links: The new constraints.
        before: The pose of before.
        notes: Gets what is to be said.

    Returns:
        By how much it is missed, and the titles of those whose chains miss it.
    """
    fk = shown_pose(armature)
    for link in links:
        if link.has_pole:
            posed = _fk_chain(armature, link.chain, fk)
            link.holder.pole_angle = _wrapped(link.turn(fk[link.chain.bones[0]], posed))
    for link in links:
        link.holder.enabled = link.is_on
    after = _fit(armature, links, before)
    off = [link for link in links if link.is_full and _is_off(armature, link, before, after, OTHER)]
    if off:
        for link in off:
            notes += _take(armature, link, before)
        after = _fit(armature, links, before)
    missing = [
        link.title for link in links if link.is_on and _is_off(armature, link, before, after, NEAR)
    ]
    return change(armature, before, after, before), missing


def _is_off(
    armature: bpy.types.Object, link: Link, before: Shown, after: Shown, most: float
) -> bool:
    moved, turned = change(armature, before, after, link.chain.bones)
    return moved > most * size_world(armature, link.chain, before) or turned > 10.0 * most


def _take(armature: bpy.types.Object, link: Link, before: Shown) -> list[str]:
    """Let a chain have the shown pose as its FK pose, as far as that is not animated."""
    has_taken, is_animated = take_as_fk(armature, link.chain.bones, before)
    notes: list[str] = []
    if has_taken:
        notes.append(
            f"“{link.title}”: the pose was applied as FK pose, because the chain would bend "
            "differently from its previous FK pose"
        )
    if is_animated:
        notes.append(f"“{link.title}”: animated bones keep their FK pose, and may bend differently")
    return notes


def _fit(armature: bpy.types.Object, links: Sequence[Link], before: Shown) -> Shown:
    """Turn the pole angles until all chains bend as before, and return the pose."""
    turning = [link for link in links if link.has_pole and link.is_full]
    lacking = [0.0] * len(turning)
    steps = [0.0] * len(turning)
    after = shown_pose(armature)
    for _ in range(MOST_FITS):
        for i, link in enumerate(turning):
            wanted, found = (joints(armature, link.chain, pose) for pose in (before, after))
            turn = swivel(found, wanted)
            steps[i] = _step(turn, lacking[i], steps[i])
            lacking[i] = turn
            link.holder.pole_angle = _wrapped(link.holder.pole_angle + steps[i])
        if max(map(abs, lacking), default=0.0) < FITTED:
            break
        after = shown_pose(armature)
    return after


def _step(lacking: float, before: float, step: float) -> float:
    """Return by how much to turn a pole angle now.

    A chain does not swivel by as much as that: Blender's IK turns what faces the pole about the
    first bone, which may lie far off the line from root to tip.

    Args:
        lacking: By how much the chain has to swivel yet.
        before: By how much it had to before the last step.
        step: The last step; 0 if there was none.
    """
    rate = _wrapped(before - lacking) / step if step else 1.0
    return lacking / min(max(rate, SLOWEST), FASTEST)


def _fk_chain(armature: bpy.types.Object, chain: NamedChain, fk: Shown) -> Chain:
    """Return a chain in its FK pose."""
    plan.discard_if_outdated()
    rig = skeleton_of(armature)
    tip = rig.index[chain.tip] if chain.tip else -1
    axes = [matrix3(fk[name]) for name in chain.bones]
    points = [vector(point) for point in joints(armature, chain, fk)]
    return posed_chain(rig, [rig.index[name] for name in chain.bones], tip, axes, points)


def _wrapped(angle: float) -> float:
    return remainder(angle, 2.0 * pi)
