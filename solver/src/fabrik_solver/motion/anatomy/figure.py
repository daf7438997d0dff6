"""The bones of a body in a pose: their hierarchy, names and sides.

Z is up. All thresholds are relative to the height of the body or the length of a limb.
"""

from collections.abc import Sequence, Set
from itertools import pairwise, product
from math import dist, floor, hypot
from statistics import median
from typing import Final, NamedTuple

from ...core.vectors import ORIGIN, Vec, add, cross, dot, length, scaled, sub, sum_of, unit
from .naming import (
    ARM_PARTS,
    END,
    FRONT_OR_HIND,
    JOINT_AXES,
    LEG_PARTS,
    NOT_BODY,
    TRUNK,
    TWIST,
    part_of,
    stem_and_side,
    words_of,
)
from .thresholds import (
    ASIDE,
    COMPARABLE,
    FLAT,
    IN_LINE,
    MOST,
    NEAR,
    NO_LENGTH,
    SPRAWLING,
    STEEP,
    SYMMETRY_TOLERANCE,
    THICKEST_SOLE,
    TIPS_MIN,
    UNLIKE,
)

# Not Final: mypyc would treat such tuples as unset when they are used.
UP: Vec = (0.0, 0.0, 1.0)
LEFT: Vec = (1.0, 0.0, 0.0)
"""The left side of a body that faces −Y, as Blender's characters do."""

ENDS: Final = {"FINGER", "FOOT", "HAND", "TOE"}
"""The parts at the ends of limbs."""

LIMBS: Final = dict.fromkeys(LEG_PARTS - ENDS, "LEG") | dict.fromkeys(ARM_PARTS - ENDS, "ARM")
"""The limb of each bending bone."""

SEGMENTS: Final = LIMBS.keys() - {"ARM", "LEG"}
"""The parts that are a single bone of a limb, unless it is split for twisting."""

_WAY = ("THIGH LEG UPPER_ARM ARM", "SHIN FOREARM", "FOOT HAND", "TOE FINGER")
WAY: Final = {part: depth for depth, parts in enumerate(_WAY, 1) for part in parts.split()}
"""How far down a limb each part is."""


class RestBone(NamedTuple):
    """A bone in its rest pose.

    Attributes:
        name: Its name; a prefix that ends in a colon is ignored.
        parent: The index of its parent, less than that of the bone, or -1 if there is none.
        head: The position of its head, with Z up.
        tail: The position of its tail, which importers may have guessed.
        deforms: Whether it deforms a mesh.
        is_foot: Whether it is known to be a hand or foot, even if named like a control, such as the
            target of baked IK.
    """

    name: str
    parent: int
    head: Vec
    tail: Vec
    deforms: bool = True
    is_foot: bool = False


class Names:
    """The meaning of bone names, independent of the pose.

    Attributes:
        words: The words of each name.
        sides: The side of each name: 1 for left, -1 for right, otherwise 0. Also 0 if the other
            side's name is missing.
        stems: The words of each name without its side.
        parts: The part of a limb that each name stands for, see `part_of`. Empty for twist bones
            named like the following hand or foot.
        marks: The bones that importers and exporters add to mark the end of their parent. They have
            its name, with a word for an end.
        twists: The twist bones.
        depths: How far down a limb each bone leads, by its name or the names below it. 1 is the
            upper bone, 2 the lower bone, 3 hand or foot, 4 beyond, 0 none. Twist bones are ignored.
            A bone named as something other than a limb has 0.
    """

    def __init__(self, bones: Sequence[RestBone], is_mirrored: bool = False) -> None:
        """Read the names of bones.

        Args:
            bones: The bones.
            is_mirrored: Whether left and right are exchanged.
        """
        self.words = [words_of(bone.name) for bone in bones]
        stems = [stem_and_side(words) for words in self.words]
        self.stems = [stem for stem, _ in stems]
        self.parts = [part_of(words) for words in self.words]
        self.sides = self._paired_sides([-side if is_mirrored else side for _, side in stems])
        self.marks = _marks(bones)
        above = [self.words[bone.parent] if bone.parent >= 0 else () for bone in bones]
        # In robots, a roll joint after a pitch or yaw joint is a real joint.
        single = [not JOINT_AXES.isdisjoint(words) for words in above]
        self.twists = {i for i in self._with_words(TWIST) if not single[i]}
        for i, part in enumerate(self.parts):
            if part in ("FOOT", "HAND") and i not in self.twists:
                self._clear_twists_before(bones, i)
        self.depths = self._depths(bones)

    def _with_words(self, named: Set[str]) -> list[int]:
        return [i for i, words in enumerate(self.words) if not named.isdisjoint(words)]

    def _paired_sides(self, sides: Sequence[int]) -> list[int]:
        named = {*zip(self.stems, sides, strict=True)}
        # The bone of the fifth lumbar vertebra is called L5, without an R5.
        return [
            side if (stem, -side) in named else 0
            for stem, side in zip(self.stems, sides, strict=True)
        ]

    def _depths(self, bones: Sequence[RestBone]) -> list[int]:
        depths = [0 if i in self.twists else WAY.get(part, 0) for i, part in enumerate(self.parts)]
        for i in range(len(bones) - 1, -1, -1):  # Children before their parents.
            above = bones[i].parent
            if above >= 0 and self.parts[above] != "OTHER":
                depths[above] = max(depths[above], depths[i])
        return depths

    def _clear_twists_before(self, bones: Sequence[RestBone], end: int) -> None:
        """Clear the part of twist bones that lead to a hand or foot and share its name.

        A bone named like the hand or foot with more words counts as a twist bone, whatever these
        words are. Bones at the same joint or beyond, such as those that roll a foot, don't count.
        """
        name, above = {*self.words[end]}, bones[end].parent
        while above >= 0 and (above in self.twists or name < {*self.words[above]}):
            if bones[above].parent < 0:
                break
            start, twist = bones[bones[above].parent].head, bones[above].head
            leads = dist(start, twist) < (1.0 - NO_LENGTH) * dist(start, bones[end].head)
            if leads and self.parts[above] == self.parts[end]:
                self.parts[above] = ""
                self.twists.add(above)
            above = bones[above].parent

    def is_twist(self, bone: int) -> bool:
        """Return whether a bone twists a limb and isn't a hand, foot, or anything beyond."""
        part = self.parts[bone]
        return (part == "" or part in LIMBS) and bone in self.twists

    def is_split(self, parent: int, bone: int, joints: Sequence[Vec]) -> bool:
        """Return whether a bone is a later part of a bone split for twisting.

        It is in line with its parent. It is a twist bone, has its parent's name, or stands for the
        same bone of a limb, whatever words are added. A robot's joints have an axis each instead.

        Args:
            parent: Its parent.
            bone: The bone.
            joints: The heads of its parent, of the bone and of its child.
        """
        part, above = self.parts[bone], self.words[parent]
        is_same = part == self.parts[parent] and JOINT_AXES.isdisjoint(above)
        is_named = part in SEGMENTS or (part != "" and self.words[bone] == above)
        if bone not in self.twists and not (is_same and is_named):
            return False
        a, b, c = joints
        first, second = unit(sub(b, a)), unit(sub(c, b))
        return first is not None and second is not None and dot(first, second) >= IN_LINE


def _marks(bones: Sequence[RestBone]) -> set[int]:
    """Return the bones named like their parent, followed by a word for an end."""
    marks: set[int] = set()
    for i, bone in enumerate(bones):
        parent = bones[bone.parent].name if bone.parent >= 0 else ""
        if parent and bone.name.startswith(parent):
            rest = words_of(bone.name.removeprefix(parent))
            marks |= set() if END.isdisjoint(rest) else {i}
    return marks


class Figure:
    """The bones of a body in a pose, and the side of each.

    Attributes:
        bones: All bones.
        names: The meaning of their names.
        body: The bones of the body.
        heads: The heads of all bones in the pose.
        floor: The height of the lowest joint of the body.
        height: The distance from the lowest to the highest joint of the body.
        children: The children of each bone of the body; bones without a parent are under -1.
        left: The horizontal unit vector to the left.
        front: The horizontal unit vector that the body faces; zero while unknown.
        evidence: The evidence for the sides. ``'NAMES'``; ``'AXIS'`` for a symmetry, which doesn't
            show left and right; ``'SHAPE'`` for twin chains only; or empty.
        reach: The length of the longest chain below each bone of the body.
        side: The side of each bone of the body: 1 for left, -1 for right, 0 for the trunk.
        hands: Cached results of `is_hand`.
        tips: The tails of last bones that stand on the ground, in legs without feet (insects,
            robots). Only for the rest pose, because other poses lack tails.
    """

    def __init__(
        self, bones: Sequence[RestBone], names: Names, body: Sequence[int], heads: Sequence[Vec]
    ) -> None:
        self.bones, self.names, self.body, self.heads = bones, names, body, heads
        self.children: dict[int, list[int]] = {i: [] for i in (-1, *body)}
        for i in body:
            self.children[bones[i].parent if bones[i].parent in self.children else -1].append(i)
        self.tips = self._tips()
        levels = [heads[i][2] for i in body] or [0.0]
        self.floor = min([*levels, *(tip[2] for tip in self.tips.values())])
        self.height = max(levels) - self.floor
        self.reach: dict[int, float] = {}
        self._next: dict[int, int] = {}
        self._mirrored: set[int] = set()
        self.hands: dict[int, bool] = {}
        self._measure()
        self.left, self.front, self.evidence = LEFT, ORIGIN, ""
        self._twins: dict[int, int] = {}
        self.side: dict[int, int] = {}
        self._find_sides()
        self._assign_sides()

    def face(self, front: Vec) -> None:
        """Choose which side of the axis is left, for a body facing a direction."""
        ahead = dot(cross(self.left, UP), front)
        if ahead < 0.0:
            self.left = scaled(self.left, -1.0)
            self._twins = {i: -side for i, side in self._twins.items()}
            self._assign_sides()
        if ahead != 0.0:
            self.front = cross(self.left, UP)

    def line(self, start: int) -> list[int]:
        """Return a bone, and the main chain of its descendants.

        At a branch, names show how the limb continues, because a forearm may carry a shield.
        Without names, the limb continues in the branch that has a twin on the other side, otherwise
        in the longest branch.
        """
        path = [start]
        while path[-1] in self._next:
            path.append(self._next[path[-1]])
        return path

    def ancestry(self, bone: int) -> list[int]:
        """Return a bone and its ancestors, root first."""
        line: list[int] = []
        while bone >= 0:
            line.append(bone)
            bone = self.bones[bone].parent
        return line[::-1]

    def count(self, bone: int) -> int:
        """Return the number of bones below a bone, including it."""
        return len(self._below(bone))

    def carries(self, bone: int, side: int) -> bool:
        """Return whether a bone, or any bone below it, is on a side by name."""
        return side in [self.names.sides[i] for i in self._below(bone)]

    def branches(self, bone: int) -> bool:
        """Return whether several chains begin at a bone or below it."""
        return any(
            len([i for i in self.children[descendant] if self.children[i]]) > 1
            for descendant in self._below(bone)
        )

    def _tips(self) -> dict[int, Vec]:
        """Return the tails on which legs without feet stand, by their last bones.

        Such bones begin above ankle height, and lead down to a common ground on which no other bone
        ends.
        """
        last = [i for i in self.body if not self.children[i] and i not in self.names.marks]
        down = {i: self.bones[i].tail for i in last if self._leads_down(i)}
        if len(down) < TIPS_MIN or any(self.heads[i] != self.bones[i].head for i in self.body):
            return {}
        ground = min([tail[2] for tail in down.values()])
        tops = {i: max([self.heads[k][2] for k in self.ancestry(i)]) - ground for i in last}
        if any(self.heads[i][2] - ground <= THICKEST_SOLE * tops[i] for i in last):
            return {}
        return self._on_ground(down, ground, NEAR * max(tops.values()))

    def _on_ground(self, down: dict[int, Vec], ground: float, tolerance: float) -> dict[int, Vec]:
        """Return the tails on a common ground; empty if they are too few for legs.

        Args:
            down: The tails that lead down, by bone.
            ground: The height of the ground.
            tolerance: How far above it a tail may be.
        """
        tips = {i: tail for i, tail in down.items() if tail[2] - ground <= tolerance}
        # Two sprawling pairs may be anything unless they are named as legs; three are an insect's.
        parts = self.names.parts
        sure = [i for i in tips if LIMBS.get(parts[i]) == "LEG" or self._is_upright(i)]
        least = TIPS_MIN if len(sure) == len(tips) else SPRAWLING
        return tips if len(tips) >= least else {}

    def _is_upright(self, last: int) -> bool:
        """Return whether a chain that ends at a bone's tail leads down more than sideways."""
        line = [self.bones[last].tail, self.heads[last]]
        bone = self.bones[last].parent
        while bone >= 0 and len([i for i in self.children[bone] if self.children[i]]) <= 1:
            line.append(self.heads[bone])
            bone = self.bones[bone].parent
        size = sum([dist(a, b) for a, b in pairwise(line)])
        return line[-1][2] - line[0][2] > STEEP * size

    def _leads_down(self, bone: int) -> bool:
        """Return whether a last bone leads down, to a tail that isn't an importer's guess."""
        parent, part = self.bones[bone].parent, self.names.parts[bone]
        if parent < 0 or part in ENDS or part == "OTHER":
            return False
        direction = sub(self.bones[bone].tail, self.heads[bone])
        least = COMPARABLE * dist(self.heads[parent], self.heads[bone])
        is_like = least <= length(direction) <= least / COMPARABLE**2
        return (
            is_like
            and direction[2] < 0.0
            and hypot(direction[0], direction[1]) < -FLAT * direction[2]
        )

    def _measure(self) -> None:
        """Measure the longest chain below each bone, and determine the bone that continues it."""
        depths, sides, parts = self.names.depths, self.names.sides, self.names.parts
        for i in reversed(self.body):  # Children before their parents.
            self.reach[i] = 0.0
            best = (-1, -1, -1.0)
            depth = WAY.get(parts[i], 0)
            for child in self.children[i]:
                reach = dist(self.heads[i], self.heads[child]) + self.reach[child]
                self.reach[i] = max(self.reach[i], reach)
                onward = depths[child] if depths[child] > depth else 0
                has_twin = sides[i] * sides[child] != 0 or child in self._mirrored
                rank = (onward, int(has_twin), reach)
                if rank > best:
                    best, self._next[i] = rank, child

    def _find_sides(self) -> None:
        """Determine the left side and the evidence for it."""
        pairs = self._named_pairs()
        if pairs:
            self.left, self.evidence = _lateral(pairs, self.height) or LEFT, "NAMES"
            self.front = cross(self.left, UP)
            return
        for axis in (LEFT, cross(UP, LEFT)):
            self._mirrored = self._mirrored_by(axis)
            if self._mirrored:
                self.left, self.evidence = axis, "AXIS"
                self._measure()
                return
        pairs = self._shaped_pairs()
        if pairs:
            self.left, self.evidence = _lateral(pairs, self.height) or LEFT, "SHAPE"

    def _named_pairs(self) -> list[tuple[int, Vec]]:
        """Return the vectors from right bones to left bones of the same name.

        Each comes with the number of bones above it that are on a side.
        """
        depth: dict[int, int] = {}
        twins: dict[tuple[int, tuple[str, ...]], dict[int, list[int]]] = {}
        for i in self.body:
            side = self.names.sides[i]
            above = depth.get(self.bones[i].parent, 0)
            depth[i] = above + 1 if side else above
            if side:
                key = (depth[i], self.names.stems[i])
                twins.setdefault(key, {1: [], -1: []})[side].append(i)
        twins_named = {key: twin for key, twin in twins.items() if len(twin[1]) == len(twin[-1])}
        # Feet that aren't parented to their legs may be a step apart.
        firm = {
            key for key, twin in twins_named.items() if self.names.parts[twin[1][0]] not in ENDS
        }
        return [
            (key[0], sub(self._mean(twin[1]), self._mean(twin[-1])))
            for key, twin in twins_named.items()
            if key in firm or not firm
        ]

    def _mean(self, bones: Sequence[int]) -> Vec:
        return scaled(sum_of([self.heads[i] for i in bones]), 1.0 / len(bones))

    def _mirrored_by(self, axis: Vec) -> set[int]:
        """Return bones off a median plane with twins on the other side; empty if few have twins.

        A bone and its descendant can't be twins: a snake isn't a body that faces sideways.
        """
        heads = self.heads
        middle = median(dot(heads[i], axis) for i in self.body) if self.body else 0.0
        limit = SYMMETRY_TOLERANCE * self.height
        off = [i for i in self.body if abs(dot(heads[i], axis) - middle) > limit]
        if len(off) < 4 or limit <= 0.0:
            return set()
        cells: dict[tuple[int, ...], list[int]] = {}
        for i in off:
            cells.setdefault(_cell(heads[i], limit), []).append(i)
        mirrored: set[int] = set()
        for i in off:
            image = add(heads[i], scaled(axis, 2.0 * (middle - dot(heads[i], axis))))
            x, y, z = _cell(image, limit)
            near = [
                other
                for cell in product((x - 1, x, x + 1), (y - 1, y, y + 1), (z - 1, z, z + 1))
                for other in cells.get(cell, ())
            ]
            if any(
                dist(image, heads[other]) <= limit and not self._is_in_line(i, other)
                for other in near
            ):
                mirrored.add(i)
        return mirrored if len(mirrored) >= MOST * len(off) else set()

    def _is_in_line(self, a: int, b: int) -> bool:
        """Return whether one bone is a descendant of the other."""
        return a in self.ancestry(b) or b in self.ancestry(a)

    def _shaped_pairs(self) -> list[tuple[int, Vec]]:
        """Return the vectors between chains of the same shape that leave the same bone.

        They all point to the same side. Each comes with the number of bones above it within its
        chain. Only includes long chains.
        """
        pairs: list[tuple[int, int]] = []
        pending = [-1]
        while pending:
            bone = pending.pop()
            free = list(self.children[bone])
            for a, b in self._similar(free):
                pairs.append((a, b))
                free = [i for i in free if i not in (a, b)]
            pending += free
        ways: list[tuple[int, Vec]] = []
        pairs.sort(key=lambda pair: -self.reach[pair[0]])
        axis: Vec | None = None
        for a, b in pairs:
            line = list(zip(self.line(a), self.line(b), strict=False))
            offsets = [
                (k, level(sub(self.heads[i], self.heads[j]))) for k, (i, j) in enumerate(line)
            ]
            separation = next(
                (offset for offset in offsets if length(offset[1]) > ASIDE * self.height),
                offsets[0],
            )
            if axis is not None and dot(separation[1], axis) < 0.0:
                a, b, separation = b, a, (separation[0], scaled(separation[1], -1.0))
            axis = axis if axis is not None else unit(separation[1])
            if self.reach[a] > 0.5 * self.reach[pairs[0][0]]:
                ways.append(separation)
            for start, side in ((a, 1), (b, -1)):
                for i in self._below(start):
                    self._twins[i] = side
        return ways

    def _similar(self, bones: Sequence[int]) -> list[tuple[int, int]]:
        """Return pairs of bones whose chains have the same shape, most similar first."""
        candidates: list[tuple[float, int, int]] = []
        for k, a in enumerate(bones):
            for b in bones[k + 1 :]:
                line, other_line = self.line(a), self.line(b)
                size = max(self.reach[a], self.reach[b])
                if len(line) < 3 or len(line) != len(other_line) or self.count(a) != self.count(b):
                    continue
                lengths = [
                    abs(self.reach[i] - self.reach[j])
                    for i, j in zip(line, other_line, strict=True)
                ]
                if max(lengths) <= UNLIKE * size:
                    candidates.append((max(lengths) / (size or 1.0), a, b))
        pairs: list[tuple[int, int]] = []
        taken: set[int] = set()
        for _, a, b in sorted(candidates):
            if a not in taken and b not in taken:
                pairs.append((a, b))
                taken |= {a, b}
        return pairs

    def _below(self, bone: int) -> list[int]:
        bones = [bone]
        for i in bones:
            bones += self.children[i]
        return bones

    def _is_trunk(self, bone: int) -> bool:
        """Return whether a bone is on the median plane by name.

        If names don't show sides, two hips on the same bone belong to the legs.
        """
        trunk_words = TRUNK & set(self.names.words[bone])
        if not trunk_words or self.evidence == "NAMES":
            return bool(trunk_words)
        beside = [i for i in self.children[self.bones[bone].parent] if i != bone]
        return not any(trunk_words & set(self.names.words[i]) for i in beside)

    def _assign_sides(self) -> None:
        self.side = {}
        heads = [self.heads[i] for i in self.body]
        middle = median(dot(head, self.left) for head in heads) if heads else 0.0
        named: dict[int, set[int]] = {}  # The sides by name, at each bone and below.
        for i in reversed(self.body):  # Children before their parents.
            beyond = {self.side[child] for child in self.children[i]}
            self.side[i] = self.names.sides[i]
            named[i] = {self.side[i]}.union(*(named[child] for child in self.children[i]))
            if self.side[i] or {1, -1} <= beyond | named[i] or self._is_trunk(i):
                continue
            if self.evidence == "SHAPE":
                self.side[i] = self._twins.get(i, 0)
            elif self.evidence:
                off = dot(self.heads[i], self.left) - middle
                self.side[i] = self._side_at(off, beyond)

    def _side_at(self, off: float, beyond: set[int]) -> int:
        """Return the side of a bone from its distance to the median plane and its children's sides.

        Near the plane, the bone is on its children's side if all of them share one. A slight offset
        to the side on which some of them are is enough, too.

        Args:
            off: The signed distance, positive to the left.
            beyond: The sides of its children.

        Returns:
            1 for left, -1 for right, 0 for the middle.
        """
        if abs(off) > SYMMETRY_TOLERANCE * self.height:
            return 1 if off > 0.0 else -1
        only = max(beyond, key=abs, default=0)
        return only if beyond == {only} or off * only > ASIDE * self.height else 0


def _cell(point: Vec, size: float) -> tuple[int, ...]:
    return (floor(point[0] / size), floor(point[1] / size), floor(point[2] / size))


def _lateral(pairs: Sequence[tuple[int, Vec]], height: float) -> Vec | None:
    """Return the horizontal direction of the sum of vectors from right to left.

    Limbs swing, except where they begin. Therefore only the bones nearest to the trunk are used, if
    they are apart.
    """
    for depth in sorted({depth for depth, _ in pairs}):
        offset = level(
            sum_of([offset for level_of_pair, offset in pairs if level_of_pair == depth])
        )
        if length(offset) > ASIDE * height:
            return unit(offset)
    return None


def possible_body(bones: Sequence[RestBone]) -> list[int]:
    """Return the bones that deform or carry deforming bones, without controls by name."""
    carries = [bone.deforms for bone in bones]
    for i in range(len(bones) - 1, -1, -1):
        if carries[i] and bones[i].parent >= 0:
            carries[bones[i].parent] = True
    if not any(carries):
        carries = [True] * len(bones)
    return [
        i
        for i, bone in enumerate(bones)
        if carries[i] and (bone.is_foot or not NOT_BODY & set(words_of(bone.name)))
    ]


def body_bones(bones: Sequence[RestBone]) -> list[int]:
    """Return the bones of the body, without controls.

    They are the largest hierarchy with deforming bones, plus others whose names show limbs that the
    largest one lacks: legs may have no parent.
    """
    hierarchies: dict[int, list[int]] = {}
    root: dict[int, int] = {}
    for i in possible_body(bones):
        if bones[i].parent < 0 or bones[i].parent in root:
            root[i] = root.get(bones[i].parent, i)
            hierarchies.setdefault(root[i], []).append(i)
    body: list[int] = []
    named_limbs: set[tuple[str, int, tuple[str, ...]]] = set()
    for hierarchy in sorted(hierarchies.values(), key=len, reverse=True):
        limbs = _limbs_named([bones[i].name for i in hierarchy])
        if not body or (limbs and not limbs & named_limbs):
            body += hierarchy
            named_limbs |= limbs
    return sorted(body)


def _limbs_named(names: Sequence[str]) -> set[tuple[str, int, tuple[str, ...]]]:
    """Return the limbs named by at least two bones, with their side, and front or hind."""
    count: dict[tuple[str, int, tuple[str, ...]], int] = {}
    for words in map(words_of, names):
        part = part_of(words)
        if part in LIMBS:
            _, side = stem_and_side(words)
            key = (LIMBS[part], side, tuple([w for w in words if w in FRONT_OR_HIND]))
            count[key] = count.get(key, 0) + 1
    return {key for key, bones in count.items() if bones > 1}


def level(vector: Vec) -> Vec:
    """Return the horizontal part of a vector."""
    return (vector[0], vector[1], 0.0)
