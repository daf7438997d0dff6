"""A chain of bones that leaves the trunk, in a pose."""

from collections.abc import Sequence
from itertools import pairwise
from math import dist, hypot

from ...core.vectors import Vec, across, cross, dot, length, scaled, sub, sum_of, unit
from .figure import ENDS, LIMBS, Figure, Names
from .naming import ARM_PARTS, LEG_PARTS
from .thresholds import COMPARABLE, FINGERS_MIN, FLAT, ROW, SAME_WAY, SHORT, STEEP


class Chain:
    """A chain of bones that leaves the trunk.

    Attributes:
        path: Its bones, root first.
        heads: Their heads, and the tail of the last bone if the chain stands on it.
        parts: The part of the body that each bone's name stands for.
        kind: ``'ARM'`` or ``'LEG'`` by names, ``'OTHER'`` for other names, otherwise empty.
        halves: Whether each bone is the second half of a bone split for twisting.
        stands_on_tail: Whether it is a leg without a foot, standing on the tail of its last bone.
        size: Its length.
        low: The height of its lowest joint above the floor.
        high: The height of its first joint.
    """

    def __init__(self, figure: Figure, start: int) -> None:
        self.figure, self.side = figure, figure.side[start]
        # The chain ends where the trunk continues, as below a trunk bone that is off the median
        # plane by chance.
        beyond = figure.line(start)[1:]
        # If a bone carries the other side, so do the bones above it.
        mixed = bool(beyond) and figure.carries(beyond[0], -self.side)
        self.path = [start] if mixed else [start, *beyond]
        bones, names = figure.bones, figure.names
        while len(self.path) > 1 and names.is_twist(self.path[-1]):
            self.path.pop()  # A limb doesn't end with twist bones.
        del self.path[_held(names, self.path) :]
        self.trunk = bones[start].parent
        self.heads = [figure.heads[i] for i in self.path]
        self.stands_on_tail = self.path[-1] in figure.tips
        if self.stands_on_tail:
            self.heads.append(figure.tips[self.path[-1]])
        self.parts = [names.parts[i] for i in self.path]
        self.kind = _kind(self.parts)
        self.size = sum([dist(a, b) for a, b in pairwise(self.heads)])
        self.low = min([head[2] for head in self.heads]) - figure.floor
        self.high = self.heads[0][2] - figure.floor
        self.halves = [False] * len(self.path)
        for k in range(1, len(self.path) - 1):
            above, bone = self.path[k - 1 : k + 1]
            self.halves[k] = names.is_split(above, bone, self.heads[k - 1 : k + 2])

    def find(self, parts: Sequence[str], first: int) -> int:
        """Return the index of the first bone of certain parts, searching from ``first``, or -1."""
        return next((k for k in range(first, len(self.path)) if self.parts[k] in parts), -1)

    def lower(self) -> int:
        """Return the index of the bone below the knee or elbow, by name, or -1 if there is none."""
        for k in range(1, len(self.path)):
            part, above = self.parts[k], self.parts[:k]
            whole = (part == "LEG" and "THIGH" in above) or (part == "ARM" and "UPPER_ARM" in above)
            whole = whole or (part in ("ARM", "LEG") and self.parts == [part, part])
            if part in ("SHIN", "FOREARM") or (whole and self.bends(k)):
                return self._start(k)
        return -1

    def _start(self, lower: int) -> int:
        """Return the index of the bone below a knee or elbow.

        If only its twist bone has the name of that part, the bone itself has the name of the whole
        limb, like the bone before it.
        """
        above = [k for k in range(lower) if self.bends(k) and self.parts[k] in LIMBS]
        is_split = len(above) > 1 and not self.bends(lower)
        return above[-1] if is_split and self.parts[above[-1]] in ("ARM", "LEG") else lower

    def upper(self, lower: int) -> int:
        """Return the index of the first bone of a limb, from the bone below its knee or elbow.

        A bone that is split for twisting may have any number of parts, not always exactly in line.
        """
        named = [k for k in range(lower) if self.parts[k] in ("THIGH", "UPPER_ARM")]
        while len(named) > 1 and self._leads_aside(named[0]):
            del named[0]  # It leads from the middle of the hips to the leg.
        first = named[0] if named else lower - 1
        while first > 0 and not self.bends(first):
            first -= 1
        return first

    def bends(self, k: int) -> bool:
        """Return whether a bone bends: it isn't a later part of a bone split for twisting."""
        is_twist = self.path[k] in self.figure.names.twists and self.parts[k] not in ENDS
        return not (is_twist or self.halves[k])

    def is_mark(self, k: int) -> bool:
        """Return whether a bone only marks the end of its parent."""
        return k == len(self.path) - 1 and self.path[k] in self.figure.names.marks

    def is_stiff(self) -> bool:
        """Return whether fewer than two bones of the chain bend before the hand or foot."""
        return bool({"FOOT", "HAND"} & {*self.parts[:2]}) or any(
            [is_hand(self.figure, i) for i in self.path[:2]]
        )

    def leads_down(self) -> bool:
        """Return whether the chain leads down more than sideways."""
        return self.high - self.low > STEEP * self.size

    def is_horn(self) -> bool:
        """Return whether the chain leads up from the end of the trunk."""
        figure = self.figure
        trunk = [i for i in figure.children.get(self.trunk, ()) if figure.side[i] == 0]
        is_end = not any(figure.children[i] for i in trunk)
        return is_end and self.heads[-1][2] - self.heads[0][2] > STEEP * self.size

    def fingers(self, first: int = 2) -> int:
        """Return the first index, from ``first`` on, whose bone has several fingers; else 0."""
        figure, path = self.figure, self.path
        for k in range(first, len(path)):
            here = figure.heads[path[k]]
            parts = figure.names.parts
            beyond = [i for i in figure.children[path[k]] if parts[i] != "OTHER"]
            fingers = [i for i in beyond if figure.children[i]]
            sizes = sorted([dist(here, figure.heads[i]) + figure.reach[i] for i in fingers])
            if len(sizes) > 1 and sizes[-2] > COMPARABLE * sizes[-1]:
                return k
        return 0

    def is_flat(self) -> bool:
        """Return whether the chain ends with a flat foot."""
        ways = [sub(b, a) for a, b in pairwise(self.heads)]
        last = next((step for step in reversed(ways) if length(step) > 0.0), self.heads[0])
        return hypot(last[0], last[1]) >= FLAT * abs(last[2])

    def is_level(self, k: int) -> bool:
        """Return whether a bone doesn't lead down."""
        if k + 1 >= len(self.path):
            return False
        a, b = self.heads[k : k + 2]
        return a[2] - b[2] < STEEP * dist(a, b)

    def _leads_aside(self, k: int) -> bool:
        """Return whether a bone doesn't lead down, and is short for a bone of the limb."""
        a, b, c = self.heads[k : k + 3]
        return self.is_level(k) and dist(a, b) < SHORT * dist(b, c)

    def lies_flat(self, k: int) -> bool:
        """Return whether a bone is as flat as a foot on the ground."""
        if k + 1 >= len(self.heads):
            return False
        step = sub(self.heads[k + 1], self.heads[k])
        return hypot(step[0], step[1]) >= FLAT * abs(step[2])


def _held(names: Names, path: Sequence[int]) -> int:
    """Return the index of the bone that a hand or foot holds, by names, or the number of bones."""
    parts = [names.parts[i] for i in path]
    end = next((k for k, part in enumerate(parts) if part in ENDS), len(parts))
    return next((k for k in range(end, len(parts)) if parts[k] == "OTHER"), len(parts))


def _kind(parts: Sequence[str]) -> str:
    """Return the kind of limb that the names in a chain stand for."""
    if "OTHER" in parts[:2]:
        return "OTHER"
    legs, arms = (
        sum([part in limb_parts for part in parts]) for limb_parts in (LEG_PARTS, ARM_PARTS)
    )
    if {"LEG", "SHIN", "THIGH"} & set(parts) and legs > arms:
        return "LEG"
    if {"ARM", "FOREARM", "UPPER_ARM"} & set(parts) and arms > legs:
        return "ARM"
    return ""


def is_hand(figure: Figure, bone: int) -> bool:
    """Return whether a bone is a hand, which carries only fingers.

    It is named as a hand, or identified by its fingers. Unlike the legs of a table, fingers end in
    a row without branching, and point in the hand's direction. A single thumb may point elsewhere.
    """
    # This is called for each finger, and a face may have hundreds of joints that could be fingers.
    cached = figure.hands.get(bone)
    if cached is None:
        cached = figure.hands[bone] = _is_hand(figure, bone)
    return cached


def _is_hand(figure: Figure, bone: int) -> bool:
    starts = [i for i in figure.children.get(bone, ()) if figure.children[i]]
    if bone < 0 or len(starts) < 2 or any(figure.branches(i) for i in starts):
        return False
    if figure.names.parts[bone] == "HAND":
        return True
    if any(figure.names.parts[i] != "" for i in starts):
        return False
    return len(starts) >= FINGERS_MIN and _is_hand_by_shape(figure, starts)


def _is_hand_by_shape(figure: Figure, starts: Sequence[int]) -> bool:
    paths = [figure.line(start) for start in starts]
    if any(path[-1] in figure.tips for path in paths):
        return False
    lines = [[figure.heads[i] for i in path] for path in paths]
    # Any of them may be the thumb, or there may be none.
    hands = [lines, *([*lines[:k], *lines[k + 1 :]] for k in range(len(lines)))]
    return any(_are_fingers(fingers) for fingers in hands)


def _are_fingers(lines: Sequence[Sequence[Vec]]) -> bool:
    """Return whether lines of joints lead in the same direction and end in a row."""
    steps = [unit(sub(line[-1], line[0])) for line in lines]
    directions = [step for step in steps if step is not None]
    ahead = unit(sum_of(directions))
    if ahead is None or len(directions) < max(len(lines), FINGERS_MIN - 1):
        return False
    if min([dot(step, ahead) for step in directions]) < SAME_WAY:
        return False
    return _is_row([line[-1] for line in lines], ahead)


def _is_row(points: Sequence[Vec], direction: Vec) -> bool:
    """Return whether points are in a row when seen along a direction."""
    middle = scaled(sum_of(points), 1.0 / len(points))
    flat = [across(sub(point, middle), direction) for point in points]
    side = unit(max(flat, key=length))
    if side is None:
        return False
    ahead = cross(direction, side)
    width, depth = (
        max([dot(point, axis) for point in flat]) - min([dot(point, axis) for point in flat])
        for axis in (side, ahead)
    )
    return depth <= ROW * width


def twists_in(names: Names, bones: Sequence[int], joints: Sequence[Vec]) -> tuple[int, ...]:
    """Return the bones of a limb that are later parts of a bone split for twisting.

    Args:
        names: The names of the skeleton.
        bones: The limb's bones, root first.
        joints: Their heads, and the end of the last one if it is known.
    """
    twists = tuple(
        [
            bones[k]
            for k in range(1, min(len(bones), len(joints) - 1))
            if names.is_split(bones[k - 1], bones[k], joints[k - 1 : k + 2])
        ]
    )
    return twists if len(bones) - len(twists) > 1 else ()  # Its two bones may share a name.
