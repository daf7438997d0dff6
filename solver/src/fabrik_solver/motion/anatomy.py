"""Recognizing the anatomy of a skeleton: its facing direction, trunk, head, arms and legs.

Only the rest pose is used, with Z up. Sides are recognized by name or else by symmetry, limbs by
their shape, so that any hierarchy and naming will do. All thresholds are relative to the height of
the figure or the length of a limb.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from math import cos, dist, hypot, radians
from statistics import median
from typing import Final, NamedTuple

from ..core.vectors import ORIGIN, Vec, add, cross, dot, scaled, sub, sum_of, unit

# Not Final: mypyc would take such tuples for unset when they are used.
UP: Vec = (0.0, 0.0, 1.0)
LEFT: Vec = (1.0, 0.0, 0.0)
"""The left side of a figure that faces −Y, as Blender's characters do."""

SYMMETRY_TOLERANCE: Final = 0.02
"""The largest distance of a joint from the mirror image of its twin, relative to the height."""

LEG_END_MAX: Final = 0.15
"""The largest height of the lowest joint of a leg, as a fraction of the figure's height."""

LEG_START_MIN: Final = 0.2
"""The least height at which a leg begins, as a fraction of the figure's height: bones that begin
lower are controls of feet."""

ANKLE_MAX: Final = 0.4
"""The largest height of an ankle, as a fraction of the hip's: the hock of a horse is lower, but no
flat foot begins there."""

FOOT_MAX: Final = 0.2
"""The height, as a fraction of the hip's, below which the first joint is the ankle if no flat foot
begins above it."""

FLAT: Final = 0.84
"""The least ratio of run to rise of a flat foot: 40 degrees off vertical."""

CLOTHES_RISE: Final = 0.05
"""The largest height of a leg's lowest joint above that of another leg on the same bone, as a
fraction of the figure's height: what ends higher is the side of a skirt or coat."""

IN_LINE: Final = cos(radians(3.0))
"""The cosine of the angle up to which two bones are in line."""

LIMB_MIN: Final = 0.1
"""The least length of a limb, relative to the height: ears and fingers are shorter."""

LARGE_LIMB_MIN: Final = 0.25
"""The least length of a limb that locates the trunk, as a fraction of the longest limb's: eyelids
and lips are shorter."""

JAPANESE: Final = {
    "足首": "ankle",
    "手首": "wrist",
    "左": "left",
    "右": "right",
    "肩": "shoulder",
    "捩": "twist",
    "首": "neck",
    "頭": "head",
    "\uff29\uff2b": "ik",
}
"""Words of the names that MikuMikuDance gives to bones, the longer ones first.

The last one has full-width letters."""

WORDS: Final = re.compile("|".join((*JAPANESE, "[A-Z]+(?![a-z])", "[A-Z]?[a-z]+")))

GIRDLE: Final = {"clavicle", "collar", "collarbone", "pelvis", "scapula", "shoulder"}
"""Words in the names of bones between trunk and limb, if two bones that bend come after."""

FACE: Final = {"chin", "face", "jaw", "nose"}
TWIST: Final = {"roll", "twist"}
HAND: Final = {"hand", "wrist"}
SIDES: Final = {"l": 1, "left": 1, "r": -1, "right": -1}
NOT_BODY: Final = {"ik", "pole", "ctrl", "control", "target", "mch", "drv"}
"""Words in the names of bones that are controls or mechanisms."""


class RestBone(NamedTuple):
    """A bone at rest.

    Attributes:
        name: Its name; a prefix that ends in a colon is ignored.
        parent: The index of its parent, which comes before it; -1 for none.
        head: The position of its head, with Z up.
        tail: The position of its tail, which importers may have guessed.
        deforms: Whether it deforms a mesh.
    """

    name: str
    parent: int
    head: Vec
    tail: Vec
    deforms: bool = True


class Limb(NamedTuple):
    """An arm or a leg.

    Attributes:
        kind: ``'ARM'`` or ``'LEG'``.
        side: 1 for left, -1 for right.
        trunk: The bone of the trunk that is its parent; -1 if there is none.
        carriers: The bones between trunk and limb, such as a clavicle, parents first.
        bones: The bones that bend to move the wrist or ankle, root first.
        end: The hand or foot; -1 if there is none.
        toe: The first bone after the hand or foot; -1 if there is none.
    """

    kind: str
    side: int
    trunk: int
    carriers: tuple[int, ...]
    bones: tuple[int, ...]
    end: int
    toe: int


class Anatomy(NamedTuple):
    """The parts of a skeleton, as indices of its bones.

    Attributes:
        left: The horizontal unit vector to the left.
        front: The horizontal unit vector that it faces.
        is_sure: Whether names or a symmetry tell the sides.
        height: The distance from the lowest to the highest joint of the body.
        hips: The bone that carries the legs; -1 if there is none.
        spine: The bones from where legs and head branch to the head, parents first.
        head: The head; -1 if there is none.
        limbs: The arms and legs in pairs, from top to bottom and from left to right.
    """

    left: Vec
    front: Vec
    is_sure: bool
    height: float
    hips: int
    spine: tuple[int, ...]
    head: int
    limbs: tuple[Limb, ...]


def words_of(name: str) -> list[str]:
    """Return the words of a bone's name, in lower case, without numbers; Japanese in English."""
    found: list[str] = WORDS.findall(name.rpartition(":")[2])
    return [JAPANESE[word] if word in JAPANESE else word.lower() for word in found]


def side_of(name: str) -> int:
    """Return 1 for a name with a word for left, -1 for right, and 0 for neither or both."""
    return sum({SIDES[word] for word in words_of(name) if word in SIDES})


def recognize(bones: Sequence[RestBone]) -> Anatomy:
    """Recognize the parts of a skeleton.

    Args:
        bones: The bones, parents first.
    """
    body = body_bones(bones)
    heads = [bones[i].head for i in body] or [ORIGIN]
    floor = min(head[2] for head in heads)
    height = max(head[2] for head in heads) - floor
    figure = _Figure(bones, body, floor, height)
    if figure.evidence == "AXIS":
        figure.face(_toes(bones, figure.limbs()))
    limbs = figure.limbs()
    head = figure.head(limbs)
    limbs = [limb for limb in limbs if head not in _ancestry(bones, limb.trunk)]
    legs = [limb for limb in limbs if limb.kind == "LEG"]
    trunks = [limb.trunk for limb in legs]
    hips = min(trunks, key=lambda i: len(_ancestry(bones, i)), default=-1)
    line = _ancestry(bones, head) if head >= 0 else []
    # The hips may only carry the legs, beside the spine.
    shared = len([bone for bone in line if bone in _ancestry(bones, hips)])
    spine = line[shared:-1]
    return Anatomy(
        figure.left,
        cross(figure.left, UP),
        figure.evidence != "",
        height,
        hips,
        tuple(spine),
        head,
        tuple(sorted(limbs, key=lambda limb: (-bones[limb.bones[0]].head[2], -limb.side))),
    )


class _Figure:
    """The bones of a body, and the side of each.

    Attributes:
        left: As in `Anatomy`.
        evidence: ``'NAMES'`` if names tell the sides, ``'AXIS'`` if a symmetry tells their axis but
            not which one is left, empty if nothing does.
    """

    def __init__(
        self, bones: Sequence[RestBone], body: Sequence[int], floor: float, height: float
    ) -> None:
        self.bones, self.body, self.floor, self.height = bones, body, floor, height
        self.children: dict[int, list[int]] = {i: [] for i in (-1, *body)}
        for i in body:
            self.children[bones[i].parent if bones[i].parent in self.children else -1].append(i)
        self.named = {i: side_of(bones[i].name) for i in body}
        self.left, self.evidence = LEFT, ""
        found = self._left_by_names()
        if found is not None:
            self.left, self.evidence = found, "NAMES"
        else:
            for axis in (LEFT, cross(UP, LEFT)):
                if self._is_symmetric(axis):
                    self.left, self.evidence = axis, "AXIS"
                    break
        self._assign_sides()

    def face(self, front: Vec) -> None:
        """Choose left, on the same axis, for a figure that faces a direction."""
        if dot(cross(self.left, UP), front) < 0.0:
            self.left = scaled(self.left, -1.0)
            self._assign_sides()

    def head(self, limbs: Sequence[Limb]) -> int:
        """Return the head: the first bone of that name, else the end of the trunk beyond the arms.

        Bones at or beside the head of that bone are those of the face.
        """
        trunk = [i for i in self.body if self.side[i] == 0]
        named = [i for i in trunk if "head" in words_of(self.bones[i].name)]
        if named:
            return min(named, key=lambda i: len(_ancestry(self.bones, i)))
        lengths = {limb: self._length(limb.bones) for limb in limbs}
        large = [limb for limb in limbs if lengths[limb] >= LARGE_LIMB_MIN * max(lengths.values())]
        borne = [limb.trunk for limb in large]
        bone = max(borne, key=lambda i: len(_ancestry(self.bones, i)), default=-1)
        first = bone
        while bone >= 0 and (ahead := self._trunk_beyond(bone)):
            after = max(ahead, key=self._count)
            way = dist(self.bones[bone].head, self.bones[after].head)
            is_face = any(self.side[i] != 0 for i in self.children[bone])
            if bone != first and (is_face or way <= 0.5 * SYMMETRY_TOLERANCE * self.height):
                break
            bone = after
        return bone if bone != first else -1

    def _trunk_beyond(self, bone: int) -> list[int]:
        """Return the children of a bone that belong to the trunk, without those of the face."""
        children = (i for i in self.children[bone] if self.side[i] == 0)
        return [i for i in children if not FACE & set(words_of(self.bones[i].name))]

    def _length(self, bones: Sequence[int]) -> float:
        return sum([dist(self.bones[i].head, self.bones[j].head) for i, j in pairwise(bones)])

    def _count(self, bone: int) -> int:
        return 1 + sum([self._count(i) for i in self.children[bone]])

    def limbs(self) -> list[Limb]:
        """Return the arms and legs, and limbs of the face, that occur in pairs."""
        starts = [
            i
            for i in self.body
            if self.side[i] != 0 and self.side.get(self.bones[i].parent, 0) == 0
        ]
        found = [limb for limb in map(self._limb, starts) if limb is not None]
        found = [limb for limb in found if not self._is_cloth(limb, found)]
        twins = {(limb.trunk, limb.kind, limb.side) for limb in found}
        return [limb for limb in found if (limb.trunk, limb.kind, -limb.side) in twins]

    def _is_cloth(self, limb: Limb, others: Sequence[Limb]) -> bool:
        """Return whether a leg ends higher than another one on the same bone."""
        lows = [self._lowest(other) for other in others if other[:3] == limb[:3]]
        return limb.kind == "LEG" and self._lowest(limb) - min(lows) > CLOTHES_RISE * self.height

    def _lowest(self, limb: Limb) -> float:
        return min(self.bones[i].head[2] for i in self._longest(limb.bones[0]))

    def _left_by_names(self) -> Vec | None:
        """Return the mean direction from right bones to left bones of the same name."""
        twins: dict[tuple[str, ...], dict[int, list[Vec]]] = {}
        for i, side in self.named.items():
            words = (word for word in words_of(self.bones[i].name) if word not in SIDES)
            if side:
                twins.setdefault(tuple(words), {1: [], -1: []})[side].append(self.bones[i].head)
        pairs = [found for found in twins.values() if len(found[1]) == len(found[-1])]
        return unit(level(sum_of(sub(_mean(found[1]), _mean(found[-1])) for found in pairs)))

    def _is_symmetric(self, axis: Vec) -> bool:
        """Return whether bones off a median plane have twins on its other side."""
        heads = [self.bones[i].head for i in self.body]
        middle = median(dot(head, axis) for head in heads) if heads else 0.0
        limit = SYMMETRY_TOLERANCE * self.height
        off = [head for head in heads if abs(dot(head, axis) - middle) > limit]
        images = [add(head, scaled(axis, 2.0 * (middle - dot(head, axis)))) for head in off]
        has_twin = [any(dist(image, head) <= limit for head in off) for image in images]
        return len(off) >= 4 and sum(has_twin) >= 0.75 * len(off)

    def _assign_sides(self) -> None:
        """Assign each bone to a side: 1 for left, -1 for right, 0 for the trunk."""
        self.side: dict[int, int] = {}
        central = [self.bones[i].head for i in self.body if self.bones[i].parent not in self.side]
        middle = median(dot(head, self.left) for head in central) if central else 0.0
        for i in reversed(self.body):  # Children before their parents.
            off = dot(self.bones[i].head, self.left) - middle
            beyond = {self.side[child] for child in self.children[i]}
            self.side[i] = self.named[i]
            if not self.side[i] and self.evidence:
                if abs(off) > SYMMETRY_TOLERANCE * self.height:
                    self.side[i] = 1 if off > 0.0 else -1
                elif len(beyond) == 1:
                    self.side[i] = beyond.pop()

    def _limb(self, start: int) -> Limb | None:
        """Return the limb that begins with a bone; None if it is too short or too low."""
        path = self._longest(start)
        heads = [self.bones[i].head for i in path]
        low = min(head[2] for head in heads) - self.floor
        is_low = low <= LEG_END_MAX * self.height
        names = [self.bones[i].name for i in path]
        words = [set(words_of(name)) for name in names]
        first = self._carriers(heads, names, is_low)
        path, heads, words, carriers = path[first:], heads[first:], words[first:], path[:first]
        high = heads[0][2] - self.floor
        size = sum([dist(a, b) for a, b in pairwise(heads)])
        if len(path) < 3 or size < LIMB_MIN * self.height:
            return None
        if is_low and (high < LEG_START_MIN * self.height or high - low < 0.5 * high):
            return None
        last = self._ankle(heads) if is_low else _wrist(words)
        beyond = path[last + 1] if last + 1 < len(path) else -1
        kind = "LEG" if is_low else "ARM"
        parts = tuple(path[:last]), path[last], beyond
        trunk = self.bones[start].parent
        return Limb(kind, self.side[start], trunk, tuple(carriers), *parts)

    def _carriers(self, heads: Sequence[Vec], names: Sequence[str], is_low: bool) -> int:
        """Return the number of carriers of a limb, given its joints and their names."""
        words = [set(words_of(name)) for name in names]
        hand = next((k for k in range(2, len(words)) if words[k] & HAND), -1)
        if hand >= 0 and not is_low:
            bends = [
                k
                for k in range(hand)
                if not words[k] & TWIST
                and not (k and is_segment(names[k - 1 : k + 1], heads[k - 1 : k + 2]))
            ]
            return bends[-2] if len(bends) > 2 else 0
        count = 0
        while count + 3 < len(heads):
            a, b, c = heads[count : count + 3]
            size, after = dist(a, b), dist(b, c)
            short = size < (0.6 if is_low else 0.8) * after
            level_leg = is_low and a[2] - b[2] < 0.5 * size
            if not (short or level_leg or words[count] & GIRDLE):
                break
            count += 1
        return count

    def _longest(self, start: int) -> list[int]:
        """Return the longest chain of descendants of a bone, including it."""
        path = [start]
        while self.children[path[-1]]:
            here = self.bones[path[-1]].head
            path.append(
                max(
                    self.children[path[-1]],
                    key=lambda i: dist(here, self.bones[i].head) + self._beyond(i),
                )
            )
        return path

    def _beyond(self, bone: int) -> float:
        here = self.bones[bone].head
        return max(
            (dist(here, self.bones[i].head) + self._beyond(i) for i in self.children[bone]),
            default=0.0,
        )

    def _ankle(self, heads: Sequence[Vec]) -> int:
        """Return the index of the joint that is the ankle."""
        hip = heads[0][2] - self.floor
        for k in range(2, len(heads)):
            share = (heads[k][2] - self.floor) / hip
            if share <= FOOT_MAX:
                return k
            if share <= ANKLE_MAX and k + 1 < len(heads):
                way = sub(heads[k + 1], heads[k])
                if hypot(way[0], way[1]) >= FLAT * abs(way[2]):
                    return k
        return len(heads) - 1


def is_segment(names: Sequence[str], joints: Sequence[Vec]) -> bool:
    """Return whether a bone is the second half of a bone that is split in order to twist.

    Args:
        names: The names of its parent and of itself.
        joints: The head of its parent, its own, and that of its child.
    """
    a, b, c = joints
    first, second = unit(sub(b, a)), unit(sub(c, b))
    if first is None or second is None or dot(first, second) < IN_LINE:
        return False
    before, own = (re.sub(r"[\d._ -]+", "", name) for name in names)
    return before == own or bool(TWIST & set(words_of(names[1])))


def _wrist(words: Sequence[set[str]]) -> int:
    """Return the index of the hand: by name, else the third bone that is not a twist bone."""
    for k in range(2, len(words)):
        if words[k] & HAND:
            return k
    bends = [k for k in range(len(words)) if not words[k] & TWIST]
    return bends[2] if len(bends) > 2 else len(words) - 1


def body_bones(bones: Sequence[RestBone]) -> list[int]:
    """Return the bones of the largest hierarchy with deform bones, without controls."""
    carries = [bone.deforms for bone in bones]
    for i in range(len(bones) - 1, -1, -1):
        if carries[i] and bones[i].parent >= 0:
            carries[bones[i].parent] = True
    if not any(carries):
        carries = [True] * len(bones)
    kept: dict[int, list[int]] = {}
    root: dict[int, int] = {}
    for i, bone in enumerate(bones):
        if bone.parent >= 0 and bone.parent not in root:
            continue
        if carries[i] and not NOT_BODY & set(words_of(bone.name)):
            root[i] = root.get(bone.parent, i)
            kept.setdefault(root[i], []).append(i)
    return max(kept.values(), key=len) if kept else []


def _toes(bones: Sequence[RestBone], limbs: Sequence[Limb]) -> Vec:
    """Return the mean direction of the feet, horizontal and not normalized."""
    feet = [limb for limb in limbs if limb.kind == "LEG" and limb.toe >= 0]
    return level(sum_of(sub(bones[leg.toe].head, bones[leg.end].head) for leg in feet))


def _ancestry(bones: Sequence[RestBone], bone: int) -> list[int]:
    """Return a bone and its ancestors, the root first."""
    line: list[int] = []
    while bone >= 0:
        line.insert(0, bone)
        bone = bones[bone].parent
    return line


def _mean(points: Sequence[Vec]) -> Vec:
    return scaled(sum_of(points), 1.0 / len(points))


def level(way: Vec) -> Vec:
    """Return the horizontal part of a vector."""
    return (way[0], way[1], 0.0)
