"""Detecting limbs in a skeleton: where their bones end, and how many of them bend together.

Only the rest positions of joints count: tails may be anywhere, as importers have to guess them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, dist, radians
from typing import Any, Final, NamedTuple

from mathutils import Vector

from ..core.bend import STRAIGHT, bend_direction, chain_axis
from ..core.vectors import ORIGIN, Vec, across, cross, dot, length, sub, unit
from .skeleton import Skeleton, vector

AT_TAIL: Final = 0.5
"""How far from the tail of a bone the next one may begin, as a share of the way between the two
joints, for the tail to be where the bone ends. Riggers leave gaps on purpose, and smaller ones."""

NO_BEND: Final = cos(radians(3.0))
"""The cosine of the angle up to which a joint does not bend, so that it tells no axis."""

SAME_AXIS: Final = cos(radians(35.0))
"""The cosine of the angle up to which two joints bend about one axis."""

SHORT: Final = 0.8
"""A bone that is shorter than this share of the next one carries a limb, as a clavicle does, which
has 0.58 to 0.75 of the upper arm in skeletons of captures and games."""

MOST: Final = 5
"""The most bones of a limb; longer chains are tails or ropes."""


def next_joint(rig: Skeleton, bone: int) -> int:
    """Return the bone whose head is where another one ends; -1 if its tail is.

    That is the one bone that goes on from there, if it begins elsewhere than at the tail.
    """
    children = rig.children[bone]
    onward = [i for i in children if rig.children[i]]
    if len(children) != 1 and len(onward) != 1:
        return -1
    after = (onward or children)[0]
    way = dist(_head(rig, after), _head(rig, bone))
    gap = min(dist(_head(rig, i), _tail(rig, bone)) for i in children)
    return -1 if gap <= AT_TAIL * way or way == 0.0 else after


def limb_length(rig: Skeleton, tip: int) -> int:
    """Return the number of bones, from the tip up, that bend together like an arm or a leg.

    The limb ends below a bone that carries other limbs, where the axis changes about which its
    joints bend, and above a bone that is short beside the next one.
    """
    after = next_joint(rig, tip)
    end = _head(rig, after) if after >= 0 else _tail(rig, tip)
    way = sub(end, _head(rig, tip))
    axis: Vec | None = None
    bone, count = tip, 1
    while rig.parents[bone] >= 0:
        parent = rig.parents[bone]
        above = sub(_head(rig, bone), _head(rig, parent))
        others = [i for i in rig.children[parent] if i != bone and rig.children[i]]
        ahead, before = unit(way), unit(above)
        if others or ahead is None or before is None:
            break
        if count > 1 and length(above) < SHORT * length(way):
            break
        if dot(before, ahead) < NO_BEND:
            normal = unit(cross(before, ahead)) or ORIGIN
            if axis is not None and abs(dot(axis, normal)) < SAME_AXIS:
                break
            axis = axis or normal
        bone, way, count = parent, above, count + 1
    return count


def _head(rig: Skeleton, bone: int) -> Vec:
    return vector(rig.rest(bone).head_local)


def _tail(rig: Skeleton, bone: int) -> Vec:
    return vector(rig.rest(bone).tail_local)


def rest_bend(rig: Skeleton, chain: Sequence[int], tip_bone: int) -> Vec | None:
    """Return the side to which a chain bends at rest, in its first bone's own axes.

    None if it is straight.

    Args:
        rig: The armature.
        chain: The bones, root first.
        tip_bone: The bone whose head is the tip; -1 if the last bone's tail is.
    """
    bones = [rig.rest(i) for i in chain]
    tip = bones[-1].tail_local
    if tip_bone >= 0:
        tip = rig.rest(tip_bone).head_local
    root = bones[0].head_local
    heads = [bone.head_local for bone in bones]
    joints = [vector(point - root) for point in (*heads, tip)]
    axis = chain_axis(joints)
    size = sum(length(vector(b - a)) for a, b in zip(heads, (*heads[1:], tip), strict=True))
    if max(length(across(joint, axis)) for joint in joints) <= STRAIGHT * size:
        return None
    bend = bend_direction([vector((p - root) / size) for p in (*heads, tip)], axis)
    if bend is None:
        return None
    root_axes = bones[0].matrix_local.to_3x3()
    return vector(root_axes.transposed() @ Vector(bend))


class NamedChain(NamedTuple):
    """A chain of bones by their names.

    Attributes:
        bones: Root first.
        tip: The bone whose head is the tip; empty if the last bone's tail is.
    """

    bones: list[str]
    tip: str


def named_chain(holder: Any, bone: Any) -> NamedChain:
    """Return the chain of a constraint, Blender's or ours, with a tip bone; cut at its root."""
    tip = "" if holder.use_tail else bone.name
    last = bone if holder.use_tail else bone.parent
    names: list[str] = []
    while last is not None and (holder.chain_count == 0 or len(names) < holder.chain_count):
        names.insert(0, last.name)
        last = last.parent
    return NamedChain(names, tip)
