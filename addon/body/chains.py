"""Detecting limbs in a skeleton: where their bones end, and which of them bend together.

This relies on the rest positions of joints only: importers have to guess tails.
"""

from __future__ import annotations

import re
from math import dist
from typing import Any, Final, NamedTuple

from fabrik_solver import inverse, point_in
from fabrik_solver.core.vectors import ORIGIN, Vec, cross, dot, length, sub, unit
from fabrik_solver.motion.anatomy.thresholds import (
    AT_TAIL,
    IN_LINE,
    LONG_BONE,
    SAME_WAY,
    SHORT_ABOVE,
)

from ..blender.skeleton import Skeleton, vector

MECHANICAL: Final = re.compile(
    r"^.+:|^(?:(?:org|def|mch|drv|ctrl)[-_.])+|[-_. ](?:fk|ik)(?=[-_. ]|$)", re.IGNORECASE
)
"""Words that rigs and importers add to the names of a body's bones."""


def common_name(bone: str) -> str:
    """Return the name that an animator uses for a bone, without a rig's prefixes and suffixes."""
    return MECHANICAL.sub("", bone) or bone


def next_joint(rig: Skeleton, bone: int) -> int:
    """Return the child whose head is the end of a bone, or -1 if the bone ends at its tail.

    A child whose head isn't at the tail counts if it is the only child, or the only one with
    children. If several have children, like neck and clavicles on a spine, the farthest one counts.
    This rule only applies if the tail lies beyond all joints of the skeleton, so an importer
    guessed it.
    """
    children = rig.children[bone]
    parents = [i for i in children if rig.children[i]]
    if len(children) != 1 and not parents:
        return -1
    head = rig.head(bone)
    child = max(parents or children, key=lambda i: dist(rig.head(i), head))
    if len(parents) > 1:
        reach = max(dist(other, head) for other in rig.heads)
        return child if dist(_tail(rig, bone), head) > reach else -1
    distance = dist(rig.head(child), head)
    gap = min(dist(rig.head(i), _tail(rig, bone)) for i in children)
    return -1 if gap <= AT_TAIL * distance or distance == 0.0 else child


def limb_length(rig: Skeleton, tip: int) -> int:
    """Return the number of bones, from the tip up, that bend together like an arm or a leg.

    The limb starts where other limbs branch off, or where the bend axis of the joints changes. It
    also starts below a bone that is short compared with its child.
    """
    segment = sub(end_of(rig, tip), rig.head(tip))
    axis: Vec | None = None
    bone, count = tip, 1
    while rig.parents[bone] >= 0:
        parent = rig.parents[bone]
        parent_segment = sub(rig.head(bone), rig.head(parent))
        branches = [i for i in rig.children[parent] if i != bone and rig.children[i]]
        direction, parent_direction = unit(segment), unit(parent_segment)
        if branches or direction is None or parent_direction is None:
            break
        if count > 1 and length(parent_segment) < SHORT_ABOVE * length(segment):
            break
        if dot(parent_direction, direction) < IN_LINE:
            normal = unit(cross(parent_direction, direction)) or ORIGIN
            if axis is not None and abs(dot(axis, normal)) < SAME_WAY:
                break
            axis = axis or normal
        bone, segment, count = parent, parent_segment, count + 1
    return count


def is_end_by_shape(rig: Skeleton, bone: int) -> bool:
    """Return whether a bone is a hand or foot by its shape: short, and after two long bones.

    Everything that it carries must be short too. Importers guess tails, so the tail of a last bone
    counts only for the bone itself.
    """
    return _carried(rig, bone)[0] > 0.0 and is_end_of_limb(rig, bone)


def is_end_of_limb(rig: Skeleton, bone: int) -> bool:
    """Return whether a bone is an end by shape, or carries nothing but controls at its joint."""
    lower = rig.parents[bone]
    upper = rig.parents[lower] if lower >= 0 else -1
    if upper < 0:
        return False
    heads = [rig.head(i) for i in (upper, lower, bone)]
    long = [dist(heads[0], heads[1]), dist(heads[1], heads[2])]
    if min(long) <= LONG_BONE * max(long):
        return False
    reach, longest = _carried(rig, bone)
    beside = [i for i in rig.children[lower] if i != bone and rig.children[i]]
    if any(_carried(rig, i)[0] > LONG_BONE * reach for i in beside):
        return False  # A bone that branches is a trunk.
    return reach <= min(long) and longest <= LONG_BONE * min(long)


def _carried(rig: Skeleton, bone: int) -> tuple[float, float]:
    """Return the length of the longest chain below a bone's head, and of the longest bone in it."""
    if not rig.children[bone]:
        size = dist(rig.head(bone), _tail(rig, bone))
        return size, size
    reach = longest = 0.0
    for child in rig.children[bone]:
        size = dist(rig.head(bone), rig.head(child))
        beyond, most = _carried(rig, child) if rig.children[child] else (0.0, 0.0)
        reach, longest = max(reach, size + beyond), max(longest, size, most)
    return reach, longest


def end_of(rig: Skeleton, bone: int) -> Vec:
    """Return the end of a bone at rest, in armature space: its tail, or its child's head."""
    child = next_joint(rig, bone)
    return rig.head(child) if child >= 0 else _tail(rig, bone)


def end_within(rig: Skeleton, bone: int) -> Vec:
    """Return the end of a bone at rest, in the bone's space."""
    if next_joint(rig, bone) < 0:
        return 0.0, rig.bone(bone).length, 0.0
    return point_in(inverse(rig.rest_frame(bone)), end_of(rig, bone))


def _tail(rig: Skeleton, bone: int) -> Vec:
    return vector(rig.rest(bone).tail_local)


class NamedChain(NamedTuple):
    """A chain of bones by their names.

    Attributes:
        bones: Root first.
        tip: The bone whose head is the tip; empty for the last bone's tail.
    """

    bones: list[str]
    tip: str


def named_chain(holder: Any, bone: Any) -> NamedChain:
    """Return the chain of a constraint, shortened to end at the skeleton's root if necessary.

    Args:
        holder: The constraint, Blender's or ours.
        bone: Its tip bone.
    """
    tip = "" if holder.use_tail else bone.name
    last = bone if holder.use_tail else bone.parent
    names: list[str] = []
    while last is not None and (holder.chain_count == 0 or len(names) < holder.chain_count):
        names.insert(0, last.name)
        last = last.parent
    return NamedChain(names, tip)
