"""Recognizes the anatomy of a skeleton: its facing direction, trunk, head, arms and legs.

It uses the rest pose, or a frame of an animation if the rest pose isn't usable. Sides and parts are
identified by names, in the vocabulary of many programs, otherwise by symmetry and shape. Any
hierarchy will do. Z is up.
"""

from collections.abc import Iterable, Sequence
from math import dist, sin
from typing import Final, NamedTuple

from ...core.vectors import ORIGIN, Vec, add, cross, dot, length, scaled, sub, sum_of, unit
from .figure import LIMBS, UP, Figure, Names, RestBone, body_bones, level
from .limbs import Limb, is_hand, limbs_of, standing_ends, stiff_limbs
from .naming import FACE, LOWER
from .thresholds import (
    ASIDE,
    COMPARABLE,
    NEAR,
    SAME_WAY,
    SLIGHT,
    SPRAWLING,
    SURE,
    THICKEST_SOLE,
)

KNOWLEDGE: Final = {"NAMES": 1.0, "AXIS": 0.9, "SHAPE": 0.8}
"""The confidence in the sides, by evidence."""

NECK: Final = {"neck", *LOWER}
"""Words in the name of a neck that also contains a word for a head."""


class Anatomy(NamedTuple):
    """The parts of a skeleton, as indices of its bones.

    Attributes:
        left: The horizontal unit vector to the left.
        front: The horizontal unit vector that the body faces.
        height: The distance from the lowest to the highest joint of the body.
        hips: The bone that carries the legs, or -1 if there is none.
        spine: The bones from the branch of the legs to the head, parents first.
        head: The head, or -1 if there is none.
        limbs: The arms and legs in pairs, from top to bottom and from left to right.
        pose: The index of the pose used, in which all directions are given; -1 for the rest pose.
        evidence: The evidence for the sides: ``'NAMES'``, ``'AXIS'`` of a symmetric pose,
            ``'SHAPE'`` of the chains, or empty.
        sureness: The confidence in the result, from 0 to 1. It is 1 for a whole upright body whose
            sides have names.
        standing: The ends of chains other than legs that stand on the ground.
        stiff: The arms and legs with a single bone, by name, which can't bend.
        hands: The hands without a bending arm, whose fingers may be limbs.
        has_wings: Whether the names include wings, possibly instead of arms.
    """

    left: Vec
    front: Vec
    height: float
    hips: int
    spine: tuple[int, ...]
    head: int
    limbs: tuple[Limb, ...]
    pose: int = -1
    evidence: str = ""
    sureness: float = 0.0
    standing: tuple[int, ...] = ()
    stiff: tuple[Limb, ...] = ()
    hands: tuple[int, ...] = ()
    has_wings: bool = False

    def missing(self) -> list[str]:
        """Return the parts of a body that are missing.

        ``'LEGS'``, ``'ARMS'`` (if there is only one pair of limbs and no wings), ``'HEAD'``, and
        ``'FEET'`` or ``'HANDS'`` if limbs end without them. Limbs that can't bend aren't missing.
        """
        kinds = [limb.kind for limb in self.limbs]
        stiff = {(limb.kind, limb.side) for limb in self.stiff}
        kinds += [kind for kind, side in stiff if (kind, -side) in stiff]
        bare = {limb.kind for limb in self.limbs if limb.is_bare}
        parts = {
            "LEGS": "LEG" not in kinds,
            "ARMS": len(kinds) < 4 and "ARM" not in kinds and not self.has_wings,
            "HEAD": self.head < 0,
            "FEET": "LEG" in bare,
            "HANDS": "ARM" in bare,
        }
        return [name for name, is_missing in parts.items() if is_missing]


def recognize(bones: Sequence[RestBone], poses: Iterable[Sequence[Vec]] = ()) -> Anatomy:
    """Recognize the parts of a skeleton.

    Args:
        bones: The bones, parents first.
        poses: The heads of the bones at frames of an animation, in the same space. If the rest pose
            doesn't show a whole standing body, they are tried up to the first good one. The best of
            them is used if it is better than the rest pose.
    """
    names, body = Names(bones), body_bones(bones)
    best = _recognize(Figure(bones, names, body, [bone.head for bone in bones]))
    if best.sureness >= SURE:
        return best
    least = better_than(best)
    for index, heads in enumerate(poses):
        anatomy = _recognize(Figure(bones, names, body, heads))
        if anatomy.sureness >= least:
            best, least = anatomy._replace(pose=index), anatomy.sureness
        if anatomy.sureness >= SURE:
            break
    return best


def better_than(anatomy: Anatomy) -> float:
    """Return the confidence that a better pose must exceed: that of an anatomy plus 1 − `SURE`."""
    return anatomy.sureness + 1.0 - SURE


def floor_below(joints: Iterable[float], ends: Iterable[float], leg: float) -> float:
    """Return the height of the floor on which a character stands in the rest pose.

    It is 0, the height of the origin, if the feet are just above it; otherwise it is the height of
    their lowest point. The first test ignores the ends of last bones, because files don't store
    them and importers guess them.

    Args:
        joints: The heights of the joints of the feet; at least one.
        ends: The heights of the ends of their last bones, if these may be parts of feet.
        leg: The length of the legs.
    """
    low = min(joints)
    return 0.0 if 0.0 <= low <= THICKEST_SOLE * leg else min([low, *ends])


def _recognize(figure: Figure) -> Anatomy:
    bones = figure.bones
    figure, limbs = facing(figure)
    names = figure.names
    head = _head(figure, limbs)
    limbs = [limb for limb in limbs if head not in figure.ancestry(limb.trunk)]
    trunks = [limb.trunk for limb in limbs if limb.kind == "LEG"]
    hips = -1 if -1 in trunks else _hindmost(figure, trunks)
    line = figure.ancestry(head) if head >= 0 else []
    # The hips may only carry the legs, next to the spine.
    shared = len([bone for bone in line if bone in figure.ancestry(hips)])
    limbs.sort(key=lambda limb: (-bones[limb.bones[0]].head[2], -limb.side))
    limbs = [limb._replace(is_foreleg=_is_foreleg(figure, limb, limbs)) for limb in limbs]
    anatomy = Anatomy(
        figure.left,
        cross(figure.left, UP),
        figure.height,
        hips,
        tuple(line[shared:-1]),
        head,
        tuple(limbs),
        -1,
        figure.evidence,
        0.0,
        tuple(standing_ends(figure, limbs)),
        tuple(stiff_limbs(figure, limbs)),
        tuple(_hands_beside(figure, limbs)),
        any(side and "wing" in words for side, words in zip(names.sides, names.words, strict=True)),
    )
    return anatomy._replace(sureness=_sureness(figure, anatomy))


def _hands_beside(figure: Figure, limbs: Sequence[Limb]) -> list[int]:
    several = [i for i in figure.body if len(figure.children[i]) > 1]  # A hand has fingers.
    return [i for i in several if is_hand(figure, i) and not _is_of_limb(figure, i, limbs)]


def facing(figure: Figure) -> tuple[Figure, list[Limb]]:
    """Return a figure that faces where its feet point, and its limbs.

    Names show left and right, unless they are those of a viewer in front of the figure, or of its
    mirror image.
    """
    limbs = limbs_of(figure)
    if figure.evidence == "NAMES":
        if not _faces_backward(figure, limbs):
            return figure, limbs
        if sum([limb.side * dot(_root(figure.heads, limb), figure.left) for limb in limbs]) > 0.0:
            figure = Figure(
                figure.bones, Names(figure.bones, is_mirrored=True), figure.body, figure.heads
            )
        else:
            figure.face(scaled(figure.front, -1.0))  # Bones near the trunk had hidden its left.
    elif figure.evidence:
        figure.face(_toes(figure.heads, limbs))
    else:
        return figure, limbs
    return figure, limbs_of(figure)


def _faces_backward(figure: Figure, limbs: Sequence[Limb]) -> bool:
    """Return whether all feet point backward; without feet, whether the head of an animal does."""
    legs = [limb for limb in limbs if limb.kind == "LEG"]
    feet = [_toes(figure.heads, [leg]) for leg in legs if leg.toe not in figure.names.marks]
    feet = [foot for foot in feet if length(foot) > NEAR * figure.height]
    if feet:
        return all([-dot(foot, figure.front) > SAME_WAY * length(foot) for foot in feet])
    step = _from_legs(figure, legs)
    return -dot(step, figure.front) > abs(step[2])  # A trunk that is more level than upright.


def _from_legs(figure: Figure, legs: Sequence[Limb]) -> Vec:
    """Return the vector from the middle of the hips to the bone named as the head, or zero."""
    head = _called_head(figure)
    if head < 0 or not legs:
        return ORIGIN
    roots = [_root(figure.heads, leg) for leg in legs]
    return sub(figure.heads[head], scaled(sum_of(roots), 1.0 / len(roots)))


def _is_foreleg(figure: Figure, limb: Limb, limbs: Sequence[Limb]) -> bool:
    """Return whether a leg begins ahead of other legs, more than above or below them."""
    if limb.kind != "LEG":
        return False
    others = [other for other in limbs if other.kind == "LEG" and other.trunk != limb.trunk]
    steps = [sub(_root(figure.heads, limb), _root(figure.heads, other)) for other in others]
    return any([dot(step, figure.front) > abs(step[2]) for step in steps])


def _is_of_limb(figure: Figure, bone: int, limbs: Sequence[Limb]) -> bool:
    above = {*figure.ancestry(bone)}
    return any(not above.isdisjoint((*limb.bones, limb.end)) for limb in limbs)


def _sureness(figure: Figure, anatomy: Anatomy) -> float:
    """Return the confidence that a pose shows a body with these parts."""
    legs = [_down(figure, limb) for limb in anatomy.limbs if limb.kind == "LEG"]
    if not legs:
        return 0.0
    down = sum(legs) / len(legs)
    if len(legs) >= SPRAWLING and min(legs) > 0.0:
        down = 1.0
    whole = 0.6 + 0.2 * (len(anatomy.limbs) >= 4) + 0.2 * (anatomy.head >= 0)
    sides = _fraction_on_left(figure, anatomy)
    return KNOWLEDGE.get(anatomy.evidence, 0.0) * sides * max(0.0, down) * whole


def _fraction_on_left(figure: Figure, anatomy: Anatomy) -> float:
    """Return the fraction of left limbs that begin to the left of their twins."""
    heads = figure.heads
    rights = {limb[:1] + limb[2:3]: limb for limb in anatomy.limbs if limb.side < 0}
    separations = [
        sub(_root(heads, limb), _root(heads, rights[limb[:1] + limb[2:3]]))
        for limb in anatomy.limbs
        if limb.side > 0
    ]
    least = ASIDE * anatomy.height
    count = sum([dot(separation, anatomy.left) > least for separation in separations])
    return count / len(separations)


def _root(heads: Sequence[Vec], limb: Limb) -> Vec:
    return heads[limb.bones[0]]


def _down(figure: Figure, leg: Limb) -> float:
    """Return the cosine of the angle between a leg and the direction down."""
    last = leg.bones[-1]
    end = figure.heads[leg.end if leg.end >= 0 else last]
    direction = sub(figure.tips.get(last, end), _root(figure.heads, leg))
    return -direction[2] / (length(direction) or 1.0)


def _head(figure: Figure, limbs: Sequence[Limb]) -> int:
    """Return the head: the first bone named as such, or else the end of the trunk beyond the arms.

    Bones at or next to that bone's head belong to the face. So do two bones without children. Limbs
    on the face, such as brows and temples, aren't arms.
    """
    named = _called_head(figure)
    if named >= 0:
        return named
    lengths = {limb: figure.reach[limb.bones[0]] for limb in limbs}
    large = [limb for limb in limbs if lengths[limb] >= COMPARABLE * max(lengths.values())]
    borne = [limb.trunk for limb in large if not _is_of_face(figure, limb.trunk)]
    bone = _foremost(figure, borne)
    first = bone
    while bone >= 0 and (ahead := _ahead(figure, bone, first)):
        successor = max(ahead, key=figure.count)
        if bone != first and _bears_face(figure, bone, successor):
            break
        bone = successor
    return bone if bone != first else -1


def _called_head(figure: Figure) -> int:
    """Return the first trunk bone named as a head, or -1.

    Bones whose names mean nothing else come first.
    """
    names = figure.names
    named = [i for i in figure.body if figure.side[i] == 0 and "head" in names.words[i]]
    beside = {i: (names.parts[i] == "OTHER", len(NECK & {*names.words[i]})) for i in named}
    return min(named, key=lambda i: (beside[i], len(figure.ancestry(i))), default=-1)


def _bears_face(figure: Figure, bone: int, successor: int) -> bool:
    """Return whether a bone carries a face.

    It does if the next bone of the trunk begins near it, if several of its children are last bones,
    or if any child is on a side.

    Args:
        figure: The body.
        bone: The bone.
        successor: The next bone of the trunk.
    """
    beside = figure.children[bone]
    leaves = [i for i in beside if not figure.children[i]]
    near = ASIDE * figure.height
    is_near = dist(figure.heads[bone], figure.heads[successor]) <= near
    return is_near or len(leaves) > 1 or any(figure.side[i] != 0 for i in beside)


def _hindmost(figure: Figure, trunk: Sequence[int]) -> int:
    """Return the first of some trunk bones; if they aren't connected, the lowest and hindmost."""
    lines = [figure.ancestry(i)[:-1] for i in trunk]
    tops = [i for i, line in zip(trunk, lines, strict=True) if not {*line} & {*trunk}]
    return min(tops, key=lambda i: _rise(figure, i), default=-1)


def _foremost(figure: Figure, trunk: Sequence[int]) -> int:
    """Return the last of some trunk bones; if they aren't connected, the highest and foremost."""
    above = {bone for i in trunk for bone in figure.ancestry(i)[:-1]}
    return max({*trunk} - above, key=lambda i: _rise(figure, i), default=-1)


def _rise(figure: Figure, bone: int) -> float:
    """Return how far up and forward a bone is."""
    return dot(figure.heads[bone], add(UP, figure.front))


def _ahead(figure: Figure, bone: int, first: int) -> list[int]:
    """Return the children of a bone that may be the head or lead to it.

    A tail leads backward. Hair and capes begin behind the bone that carries them, and end behind
    and below it. A single arm leads sideways. The search for the head starts at ``first``.
    """
    heads, front, children = figure.heads, figure.front, _trunk_beyond(figure, bone)
    ends = {i: sub(heads[figure.line(i)[-1]], heads[bone]) for i in children}
    steps = {i: sub(heads[i], heads[bone]) for i in children}
    if bone == first:
        least = ASIDE * figure.height
        ends = {i: end for i, end in ends.items() if length(end) > least}  # Not a sensor.
        return _ahead_of_chest(steps, ends, front)
    on = unit(sub(heads[bone], heads[first])) or ORIGIN
    children = _onward(ends, on, figure.left) or children
    behind = {i for i in children if _is_behind(steps[i], ends[i], front)}
    # A bone that carries hair is the head.
    return [] if _begins_high(steps, behind) else [i for i in children if i not in behind]


def _ahead_of_chest(steps: dict[int, Vec], ends: dict[int, Vec], front: Vec) -> list[int]:
    """Return the bones whose chains lead ahead; without any, those above or below the chest.

    Args:
        steps: The vectors to the heads of the bones, by bone.
        ends: The vectors to the ends of their chains, by bone.
        front: The direction ahead.
    """
    ahead = [i for i, end in ends.items() if dot(end, front) >= 0.0]
    return ahead or [i for i in ends if _is_steep(steps[i], front)]


def _begins_high(steps: dict[int, Vec], bones: set[int]) -> bool:
    """Return whether any of the bones begins above its parent."""
    return any(steps[i][2] > 0.0 for i in bones)


def _is_steep(step: Vec, front: Vec) -> bool:
    """Return whether a step leads up or down at least as far as backward."""
    return -dot(step, front) <= abs(step[2])


def _onward(ends: dict[int, Vec], on: Vec, left: Vec) -> list[int]:
    """Return the bones whose ends are farther ahead than sideways.

    Args:
        ends: The vectors to the ends, by bone.
        on: The direction ahead.
        left: The direction to the left.
    """
    return [i for i, end in ends.items() if dot(end, on) >= abs(dot(end, left))]


def _is_behind(step: Vec, end: Vec, front: Vec) -> bool:
    """Return whether a chain with this first step and end is hair or a cape."""
    leads_behind = end[2] < 0.0 and dot(end, front) < 0.0
    return leads_behind and dot(step, front) < -sin(SLIGHT) * length(step)


def _trunk_beyond(figure: Figure, bone: int) -> list[int]:
    """Return the children of a bone that belong to the trunk, without the face.

    Bones with other names are left out: a scorpion's tail may rise ahead, and a robot's fifth leg
    may look like a neck. Bones that mark the end of another bone are left out too. If a head only
    consists of a capture's markers, the nose is the head.
    """
    names = figure.names
    trunk = [
        i
        for i in figure.children[bone]
        if figure.side[i] == 0
        and names.parts[i] != "OTHER"
        and names.parts[i] not in LIMBS
        and (figure.children[i] or i not in names.marks)
    ]
    children = [i for i in trunk if not FACE & set(names.words[i])]
    return children or [i for i in trunk if "nose" in names.words[i]]


def _is_of_face(figure: Figure, bone: int) -> bool:
    """Return whether a bone, or one above it, is part of the face."""
    return any(FACE & set(figure.names.words[i]) for i in figure.ancestry(bone))


def _toes(heads: Sequence[Vec], limbs: Sequence[Limb]) -> Vec:
    """Return the mean direction of the feet, horizontal and not normalized."""
    feet = [limb for limb in limbs if limb.kind == "LEG" and limb.end >= 0 and limb.toe >= 0]
    return level(sum_of([sub(heads[leg.toe], heads[leg.end]) for leg in feet]))
