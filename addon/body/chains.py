"""Detecting limbs in a skeleton: where their bones end, and which of them bend together.

This relies on the rest positions of joints only: importers have to guess tails.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from math import cos, dist, radians
from typing import Any, Final, NamedTuple

from mathutils import Matrix, Vector

from fabrik_solver.core.bend import STRAIGHT, bend_direction, chain_axis
from fabrik_solver.core.vectors import ORIGIN, Vec, across, cross, dot, length, sub, unit

from ..blender.skeleton import Skeleton, vector

AT_TAIL: Final = 0.5
"""The largest gap between the tail of a bone and the head of its child at which the bone still ends
at its tail, as a fraction of the distance between the two heads. Intended gaps are smaller."""

NO_BEND: Final = cos(radians(3.0))
"""The cosine of the angle up to which a joint counts as straight, so that it has no axis."""

SAME_AXIS: Final = cos(radians(35.0))
"""The cosine of the angle up to which the axes of two joints count as the same."""

SHORT: Final = 0.8
"""The length of a bone, as a fraction of its child's, below which it is not part of the limb.

A clavicle has 0.58 to 0.75 of the length of the upper arm in skeletons of captures and games.
"""


LONG: Final = 0.5
"""The least length of a long bone of a limb, as a fraction of the other one's, and the most of any
bone that the hand carries, as a fraction of the shorter one's."""

MECHANICAL: Final = re.compile(
    r"^.+:|^(?:(?:org|def|mch|drv|ctrl)[-_.])+|[-_. ](?:fk|ik)(?=[-_. ]|$)", re.IGNORECASE
)
"""What rigs and importers add to the names of a body's bones."""


def common_name(bone: str) -> str:
    """Return what an animator calls a bone: its name without a rig's prefixes and suffixes."""
    return MECHANICAL.sub("", bone) or bone


def next_joint(rig: Skeleton, bone: int) -> int:
    """Return the child whose head is the end of a bone, or -1 if the bone ends at its tail.

    This is the only child, or the only one with children, if its head is away from the tail.
    Several children may have children, such as neck and clavicles on a spine. Then it's the
    farthest, if the tail is beyond all joints of the skeleton, where an importer guessed it.
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
        if count > 1 and length(parent_segment) < SHORT * length(segment):
            break
        if dot(parent_direction, direction) < NO_BEND:
            normal = unit(cross(parent_direction, direction)) or ORIGIN
            if axis is not None and abs(dot(axis, normal)) < SAME_AXIS:
                break
            axis = axis or normal
        bone, segment, count = parent, parent_segment, count + 1
    return count


def is_end_by_shape(rig: Skeleton, bone: int) -> bool:
    """Return whether two long bones lead to a bone, and all that it carries is short.

    Importers guess tails, so the tail of a last bone counts only for the bone itself.
    """
    return _carried(rig, bone)[0] > 0.0 and is_end_of_limb(rig, bone)


def is_end_of_limb(rig: Skeleton, bone: int) -> bool:
    """Return the same of a bone that may carry nothing but controls at its own joint."""
    lower = rig.parents[bone]
    upper = rig.parents[lower] if lower >= 0 else -1
    if upper < 0:
        return False
    heads = [rig.head(i) for i in (upper, lower, bone)]
    long = [dist(heads[0], heads[1]), dist(heads[1], heads[2])]
    if min(long) <= LONG * max(long):
        return False
    reach, longest = _carried(rig, bone)
    beside = [i for i in rig.children[lower] if i != bone and rig.children[i]]
    if any(_carried(rig, i)[0] > LONG * reach for i in beside):
        return False  # What branches is a trunk.
    return reach <= min(long) and longest <= LONG * min(long)


def _carried(rig: Skeleton, bone: int) -> tuple[float, float]:
    """Return the length of the longest chain below the head of a bone, and of its longest bone."""
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


def _tail(rig: Skeleton, bone: int) -> Vec:
    return vector(rig.rest(bone).tail_local)


def rest_bend(heads_and_tip: Sequence[Vector], axes: Matrix) -> Vec | None:
    """Return the direction in which a chain is bent at rest, None if it is straight.

    It is a unit vector in the space of the first bone.

    Args:
        heads_and_tip: The joints from the root to the tip, at rest in armature space.
        axes: The axes of the first bone at rest, in armature space.
    """
    root = heads_and_tip[0]
    joints = [vector(joint - root) for joint in heads_and_tip]
    axis = chain_axis(joints)
    size = sum([length(vector(b - a)) for a, b in pairwise(heads_and_tip)])
    if max([length(across(joint, axis)) for joint in joints]) <= STRAIGHT * size:
        return None
    bend = bend_direction([vector((joint - root) / size) for joint in heads_and_tip], axis)
    return None if bend is None else vector(axes.transposed() @ Vector(bend))


class NamedChain(NamedTuple):
    """A chain of bones by their names.

    Attributes:
        bones: Root first.
        tip: The bone whose head is the tip; empty for the last bone's tail.
    """

    bones: list[str]
    tip: str


def named_chain(holder: Any, bone: Any) -> NamedChain:
    """Return the chain of a constraint, which ends at the root of the skeleton if that is shorter.

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
