"""A limb as a constraint poses it: its bones, its bend direction, and its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fabrik_solver import RestBend

from ..blender.skeleton import Skeleton
from .flexion import bend_side


class PosedLimb(NamedTuple):
    """A limb that a constraint poses.

    Attributes:
        rig: The armature.
        bones: The bones that it poses, root first; the last one is the hand if there is one.
        tip_bone: The bone whose head is the tip; -1 if the tip is the last bone's tail.
        has_hand: Whether the last bone copies the target's rotation.
        bend: Its bend direction when it is straight; None if undefined.
        bend_to_hand: The bend direction of the bones before the hand, if the tip is the hand's
            tail.
        foot: The bone that is both its foot and its target, and follows the goal, or -1 if there is
            none.
    """

    rig: Skeleton
    bones: Sequence[int]
    tip_bone: int
    has_hand: bool
    bend: RestBend | None
    bend_to_hand: RestBend | None
    foot: int = -1

    @property
    def is_oriented(self) -> bool:
        """Whether the goal has an orientation, for a hand or for a foot that is also the target."""
        return self.has_hand or self.foot >= 0

    @property
    def is_hand_at_tail(self) -> bool:
        """Whether the tip of the limb is the tail of a hand."""
        return self.has_hand and self.tip_bone < 0

    @property
    def end(self) -> int:
        """The bone at the end: the foot, the bone whose head is the tip, or else the last bone."""
        if self.foot >= 0:
            return self.foot
        return self.tip_bone if self.tip_bone >= 0 else self.bones[-1]


def posed_limb(rig: Skeleton, bones: Sequence[int], tip_bone: int, has_hand: bool) -> PosedLimb:
    """Return the limb posed by a constraint, without a foot that is also its target."""
    bending = bones[:-1] if has_hand and tip_bone >= 0 else bones
    bend = bend_side(rig, bending, tip_bone)
    to_hand = bend_side(rig, bones[:-1], bones[-1]) if has_hand and tip_bone < 0 else None
    return PosedLimb(rig, bones, tip_bone, has_hand, bend, to_hand)
