"""Recognizing the anatomy of a skeleton: its facing direction, trunk, head, arms and legs.

The rest pose is looked at, or a frame of an animation if the rest pose is none. Sides and parts are
recognized by names in the words of many programs, or else by symmetry and shape, so that any
hierarchy will do. Z is up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import dist
from typing import Final, NamedTuple

from ...core.vectors import ORIGIN, Vec, add, cross, dot, length, sub, sum_of, unit
from .figure import UP, Figure, Names, RestBone, body_bones, level
from .limbs import Limb, is_hand, limbs_of, standing_ends, stiff_limbs
from .naming import FACE
from .thresholds import (
    ASIDE,
    BEHIND,
    BETTER,
    HANGING,
    LARGE_LIMB_MIN,
    SPRAWLING,
    SURE,
    THICKEST_SOLE,
)

KNOWLEDGE: Final = {"NAMES": 1.0, "AXIS": 0.9, "SHAPE": 0.8}
"""How sure the sides are by what tells them."""


class Anatomy(NamedTuple):
    """The parts of a skeleton, as indices of its bones.

    Attributes:
        left: The horizontal unit vector to the left.
        front: The horizontal unit vector that it faces.
        height: The distance from the lowest to the highest joint of the body.
        hips: The bone that carries the legs; -1 if there is none.
        spine: The bones from where legs and head branch to the head, parents first.
        head: The head; -1 if there is none.
        limbs: The arms and legs in pairs, from top to bottom and from left to right.
        pose: The index of the pose that was looked at, in which all directions are; -1 for rest.
        evidence: What tells the sides: ``'NAMES'``, ``'AXIS'`` of a symmetric pose, ``'SHAPE'`` of
            the chains, or empty.
        sureness: How sure all of it is, from 0 to 1: 1 for a whole figure that stands upright, and
            whose sides have names.
        standing: The ends of chains that stand on the ground beside the legs, and are none of them.
        stiff: The arms and legs by their names that are one bone, and cannot bend.
        hands: The hands whose fingers are limbs themselves, as no arm that bends carries them.
        has_wings: Whether it has wings by their names, which may be all the arms there are.
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
        """Return what a body has and this one lacks.

        ``'LEGS'``, ``'ARMS'`` (if there is only one pair of limbs and no wings), ``'HEAD'``, and
        ``'FEET'`` or ``'HANDS'`` if limbs end without them. Limbs that cannot bend are not missing.
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
        poses: The heads of the bones at frames of an animation, in the same space. They are looked
            at, up to the first good one, if the rest pose is not that of a whole figure that
            stands, and the best one is preferred if it is better.
    """
    names, body = Names(bones), body_bones(bones)
    best = _recognize(Figure(bones, names, body, [bone.head for bone in bones]))
    if best.sureness >= SURE:
        return best
    least = best.sureness + BETTER
    for index, heads in enumerate(poses):
        anatomy = _recognize(Figure(bones, names, body, heads))
        if anatomy.sureness >= least:
            best, least = anatomy._replace(pose=index), anatomy.sureness
        if anatomy.sureness >= SURE:
            break
    return best


def floor_below(joints: Iterable[float], ends: Iterable[float], leg: float) -> float:
    """Return the height of the floor on which a character stands at rest.

    It is that of its origin, 0, if its feet are right above that, else of their lowest point. Where
    their last bones end does not matter for the first, as files do not store it, and those who
    import them have to guess.

    Args:
        joints: The heights of the joints of its feet; at least one.
        ends: The heights of the ends of their last bones, as far as these may be parts of feet.
        leg: The length of its legs.
    """
    low = min(joints)
    return 0.0 if 0.0 <= low <= THICKEST_SOLE * leg else min([low, *ends])


def _recognize(figure: Figure) -> Anatomy:
    """Recognize a figure in one pose."""
    bones, names = figure.bones, figure.names
    facing(figure)
    limbs = limbs_of(figure)
    head = _head(figure, limbs)
    limbs = [limb for limb in limbs if head not in figure.ancestry(limb.trunk)]
    trunks = [limb.trunk for limb in limbs if limb.kind == "LEG"]
    hips = -1 if -1 in trunks else _hindmost(figure, trunks)
    line = figure.ancestry(head) if head >= 0 else []
    # The hips may only carry the legs, beside the spine.
    shared = len([bone for bone in line if bone in figure.ancestry(hips)])
    limbs.sort(key=lambda limb: (-bones[limb.bones[0]].head[2], -limb.side))
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
    """Return the hands that are of no limb."""
    several = [i for i in figure.body if len(figure.children[i]) > 1]  # A hand has fingers.
    return [i for i in several if is_hand(figure, i) and not _is_of_limb(figure, i, limbs)]


def facing(figure: Figure) -> Figure:
    """Have a figure face where its feet point, if names don't tell left and right; return it."""
    if figure.evidence in ("AXIS", "SHAPE"):
        figure.face(_toes(figure.heads, limbs_of(figure)))
    return figure


def _is_of_limb(figure: Figure, bone: int, limbs: Sequence[Limb]) -> bool:
    """Return whether a bone is a part of a limb, or hangs on it."""
    above = {*figure.ancestry(bone)}
    return any(not above.isdisjoint((*limb.bones, limb.end)) for limb in limbs)


def _sureness(figure: Figure, anatomy: Anatomy) -> float:
    """Return how sure it is that a pose shows a figure, and that it has these parts."""
    legs = [_down(figure, limb) for limb in anatomy.limbs if limb.kind == "LEG"]
    rise = _rise_of_head(figure, anatomy)
    if not legs or (rise < HANGING and len(legs) < 4):  # An animal may lower its head.
        return 0.0
    down = sum(legs) / len(legs)
    if len(legs) >= SPRAWLING and min(legs) > 0.0:
        down = 1.0
    whole = 0.6 + 0.2 * (len(anatomy.limbs) >= 4) + 0.2 * (anatomy.head >= 0)
    return KNOWLEDGE.get(anatomy.evidence, 0.0) * _apart(figure, anatomy) * max(0.0, down) * whole


def _rise_of_head(figure: Figure, anatomy: Anatomy) -> float:
    """Return the sine of the pitch from hips to head; 1 if there are none."""
    if anatomy.head < 0 or anatomy.hips < 0:
        return 1.0
    way = sub(figure.heads[anatomy.head], figure.heads[anatomy.hips])
    return way[2] / (length(way) or 1.0)


def _apart(figure: Figure, anatomy: Anatomy) -> float:
    """Return the share of the limbs on the left that begin to the left of their twins."""
    heads = figure.heads
    rights = {limb[:1] + limb[2:3]: limb for limb in anatomy.limbs if limb.side < 0}
    ways = [
        sub(_root(heads, limb), _root(heads, rights[limb[:1] + limb[2:3]]))
        for limb in anatomy.limbs
        if limb.side > 0
    ]
    least = ASIDE * anatomy.height
    return sum([dot(way, anatomy.left) > least for way in ways]) / len(ways)


def _root(heads: Sequence[Vec], limb: Limb) -> Vec:
    return heads[limb.bones[0]]


def _down(figure: Figure, leg: Limb) -> float:
    """Return the cosine of the angle between a leg and the direction down."""
    last = leg.bones[-1]
    end = figure.heads[leg.end if leg.end >= 0 else last]
    way = sub(figure.tips.get(last, end), _root(figure.heads, leg))
    return -way[2] / (length(way) or 1.0)


def _head(figure: Figure, limbs: Sequence[Limb]) -> int:
    """Return the head: the first bone of that name, else the end of the trunk beyond the arms.

    Bones at or beside the head of that bone are those of the face, as two that carry nothing. What
    the face carries, such as brows and temples, is no arm.
    """
    named = _called_head(figure)
    if named >= 0:
        return named
    lengths = {limb: figure.reach[limb.bones[0]] for limb in limbs}
    large = [limb for limb in limbs if lengths[limb] >= LARGE_LIMB_MIN * max(lengths.values())]
    borne = [limb.trunk for limb in large if not _is_of_face(figure, limb.trunk)]
    bone = _foremost(figure, borne)
    first = bone
    while bone >= 0 and (ahead := _ahead(figure, bone, first)):
        after = max(ahead, key=figure.count)
        if bone != first and _bears_face(figure, bone, after):
            break
        bone = after
    return bone if bone != first else -1


def _called_head(figure: Figure) -> int:
    """Return the first bone of the trunk that is called head; -1 if none is."""
    trunk = [i for i in figure.body if figure.side[i] == 0]
    named = [i for i in trunk if "head" in figure.names.words[i]]
    return min(named, key=lambda i: len(figure.ancestry(i)), default=-1)


def _bears_face(figure: Figure, bone: int, after: int) -> bool:
    """Return whether what a bone carries is a face: some of it ends there, is aside, or is near."""
    beside = figure.children[bone]
    leaves = [i for i in beside if not figure.children[i]]
    near = ASIDE * figure.height
    is_near = dist(figure.heads[bone], figure.heads[after]) <= near
    return is_near or len(leaves) > 1 or any(figure.side[i] != 0 for i in beside)


def _hindmost(figure: Figure, trunk: Sequence[int]) -> int:
    """Return the first of some bones of a trunk, the lowest and hindmost of several pieces."""
    lines = [figure.ancestry(i)[:-1] for i in trunk]
    tops = [i for i, line in zip(trunk, lines, strict=True) if not {*line} & {*trunk}]
    return min(tops, key=lambda i: _rise(figure, i), default=-1)


def _foremost(figure: Figure, trunk: Sequence[int]) -> int:
    """Return the last of some bones of a trunk, the highest and foremost of several pieces."""
    above = {bone for i in trunk for bone in figure.ancestry(i)[:-1]}
    return max({*trunk} - above, key=lambda i: _rise(figure, i), default=-1)


def _rise(figure: Figure, bone: int) -> float:
    """Return how far up and ahead a bone is."""
    return dot(figure.heads[bone], add(UP, figure.front))


def _ahead(figure: Figure, bone: int, first: int) -> list[int]:
    """Return the children of a bone that may lead to the head, or be it.

    A tail leads behind; hair and capes begin behind what bears them, and end behind and below; the
    only arm of a figure leads aside.

    Args:
        figure: The figure.
        bone: The bone.
        first: The bone of the trunk from which on the head is looked for.
    """
    heads, front, children = figure.heads, figure.front, _trunk_beyond(figure, bone)
    ends = {i: sub(heads[figure.line(i)[-1]], heads[bone]) for i in children}
    steps = {i: sub(heads[i], heads[bone]) for i in children}
    if bone == first:
        return _ahead_of_chest(steps, ends, front)
    on = unit(sub(heads[bone], heads[first])) or ORIGIN
    children = _onward(ends, on, figure.left) or children
    behind = {i for i in children if _is_behind(steps[i], ends[i], front)}
    # What bears hair is the head.
    return [] if _begins_high(steps, behind) else [i for i in children if i not in behind]


def _ahead_of_chest(steps: dict[int, Vec], ends: dict[int, Vec], front: Vec) -> list[int]:
    """Return what leads ahead, else what begins above or below what bears the arms."""
    ahead = [i for i, end in ends.items() if dot(end, front) >= 0.0]
    return ahead or [i for i, step in steps.items() if _is_steep(step, front)]


def _begins_high(steps: dict[int, Vec], bones: set[int]) -> bool:
    """Return whether any of some bones begins above what bears it."""
    return any(steps[i][2] > 0.0 for i in bones)


def _is_steep(step: Vec, front: Vec) -> bool:
    """Return whether a step leads up or down at least as far as behind."""
    return -dot(step, front) <= abs(step[2])


def _onward(ends: dict[int, Vec], on: Vec, left: Vec) -> list[int]:
    """Return which ends are farther on than aside."""
    return [i for i, end in ends.items() if dot(end, on) >= abs(dot(end, left))]


def _is_behind(step: Vec, end: Vec, front: Vec) -> bool:
    """Return whether what begins at a step and leads to an end is hair or a cape."""
    leads_behind = end[2] < 0.0 and dot(end, front) < 0.0
    return leads_behind and dot(step, front) < -BEHIND * length(step)


def _trunk_beyond(figure: Figure, bone: int) -> list[int]:
    """Return the children of a bone that belong to the trunk, without those of the face.

    Nor does what is none by its name: a tail may rise ahead like that of a scorpion, and what marks
    where a bone ends is that one's. Where markers of a capture are all that there is of a head, the
    nose is it.
    """
    names = figure.names
    trunk = [
        i
        for i in figure.children[bone]
        if figure.side[i] == 0
        and names.parts[i] != "OTHER"
        and (figure.children[i] or i not in names.marks)
    ]
    children = [i for i in trunk if not FACE & set(names.words[i])]
    return children or [i for i in trunk if "nose" in names.words[i]]


def _is_of_face(figure: Figure, bone: int) -> bool:
    """Return whether a bone, or one above it, is a part of the face."""
    return any(FACE & set(figure.names.words[i]) for i in figure.ancestry(bone))


def _toes(heads: Sequence[Vec], limbs: Sequence[Limb]) -> Vec:
    """Return the mean direction of the feet, horizontal and not normalized."""
    feet = [limb for limb in limbs if limb.kind == "LEG" and limb.end >= 0 and limb.toe >= 0]
    return level(sum_of([sub(heads[leg.toe], heads[leg.end]) for leg in feet]))
