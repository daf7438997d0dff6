"""Finding the arms and legs of a figure: chains in pairs, told by their names or else by shape."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from math import cos, dist, hypot, inf, radians
from typing import Final, NamedTuple

from ...core.vectors import Vec, across, cross, dot, length, scaled, sub, sum_of, unit
from .figure import ANKLE_MAX, ENDS, FLAT, LIMBS, NO_LENGTH, TAIL_MIN, UP, Figure, Names
from .naming import ARM_PARTS, LEG_PARTS, TRUNK, only_twists, part_of, words_of

LEG_END_MAX: Final = 0.15
"""The largest height of the lowest joint of a leg, as a fraction of the figure's height."""

LEG_START_MIN: Final = 0.2
"""The least height at which a leg begins, as a fraction of the figure's height: bones that begin
lower are controls of feet."""

FOOT_MAX: Final = 0.2
"""The height, as a fraction of the hip's, below which the first joint is the ankle if no flat foot
begins above it."""

LIFTED: Final = 0.5
"""The height of a foot, as a fraction of its hip's, above which it does not stand if others do."""

CLOTHES_RISE: Final = 0.05
"""The largest height of a leg's lowest joint above that of another leg on the same bone, as a
fraction of the figure's height: what ends higher is the side of a skirt or coat."""

IN_LINE: Final = cos(radians(3.0))
"""The cosine of the angle up to which two bones are in line."""

LIMB_MIN: Final = 0.1
"""The least length of a limb, relative to the height: ears and fingers are shorter."""

UNLIKE: Final = 0.3
"""The least difference in length, as a fraction, of limbs that are no twins."""


SHORT: Final = 0.6
"""The length of a bone above a leg, as a fraction of the bone after it, below which it is none of
the leg's."""

LIMB: Final = 4
"""The number of joints from which on a limb is alike, whatever one hand carries."""

THUMB_MIN: Final = 0.4
"""The least length of the second longest finger, as a fraction of the longest."""

FINGERS_MIN: Final = 4
"""The least number of fingers, with the thumb, that tell a hand without a name."""

FINGERS_SPREAD: Final = cos(radians(45.0))
"""The cosine of the angle up to which a finger leads where the hand does; one thumb may not."""

ROW_MIN: Final = 3
"""The least number of pairs of limbs on one bone that make a row."""

FINS: Final = 0.3
"""The length of the only limbs, as a fraction of a level trunk's, below which they are fins."""

ROW: Final = 0.5
"""The greatest depth of a row of fingertips, as a fraction of its width."""


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
        halves: Those of its bones that are the second half of one that is split in order to twist.
        is_bare: Whether it has neither hand nor foot, although a bone may stand in as its end. A
            leg that stands on the tail of its last bone has no end, and is not bare.
    """

    kind: str
    side: int
    trunk: int
    carriers: tuple[int, ...]
    bones: tuple[int, ...]
    end: int
    toe: int
    halves: tuple[int, ...] = ()
    is_bare: bool = False


class _Chain:
    """A chain of bones that leaves the trunk.

    Attributes:
        path: Its bones, root first.
        heads: Where they are, and where the last one ends if it stands on its tail.
        parts: What their names tell them to be.
        kind: ``'ARM'`` or ``'LEG'`` by the names, ``'OTHER'`` for what is no limb, else empty.
        halves: Whether each is the second half of a bone that is split in order to twist.
        stands: Whether it is a leg without a foot, which stands on the tail of its last bone.
        size: Its length.
        low: The height of its lowest joint above the floor.
        high: That of its first joint.
    """

    def __init__(self, figure: Figure, start: int) -> None:
        """Read the names and the shape."""
        self.figure, self.path = figure, figure.line(start)
        bones, names = figure.bones, figure.names
        while len(self.path) > 1 and names.is_twist(self.path[-1]):
            self.path.pop()  # It ends nothing.
        del self.path[_held(names, self.path) :]
        self.side, self.trunk = figure.side[start], bones[start].parent
        self.heads = [figure.heads[i] for i in self.path]
        self.stands = self.path[-1] in figure.tips
        if self.stands:
            self.heads.append(figure.tips[self.path[-1]])
        self.parts = [names.parts[i] for i in self.path]
        self.kind = _kind(self.parts)
        self.size = sum([dist(a, b) for a, b in pairwise(self.heads)])
        self.low = min([head[2] for head in self.heads]) - figure.floor
        self.high = self.heads[0][2] - figure.floor
        self.halves = [False] * len(self.path)
        for k in range(1, len(self.path) - 1):
            near = [bones[i].name for i in self.path[k - 1 : k + 1]]
            self.halves[k] = is_segment(near, self.heads[k - 1 : k + 2])

    def find(self, parts: Sequence[str], first: int) -> int:
        """Return the index of the first bone of some parts, from an index on; -1 for none."""
        return next((k for k in range(first, len(self.path)) if self.parts[k] in parts), -1)

    def lower(self) -> int:
        """Return the index of the bone below the knee or elbow by its name; -1 for none."""
        for k in range(1, len(self.path)):
            part, above = self.parts[k], self.parts[:k]
            whole = (part == "LEG" and "THIGH" in above) or (part == "ARM" and "UPPER_ARM" in above)
            whole = whole or (part in ("ARM", "LEG") and self.parts == [part, part])
            if part in ("SHIN", "FOREARM") or (whole and self.bends(k)):
                return self._start(k)
        return -1

    def _start(self, lower: int) -> int:
        """Return where the bone below a knee or elbow starts, if only its twist bone has its name.

        That has the name of the whole limb, as the bone before it has.
        """
        above = [k for k in range(lower) if self.bends(k) and self.parts[k] in LIMBS]
        is_split = len(above) > 1 and not self.bends(lower)
        return above[-1] if is_split and self.parts[above[-1]] in ("ARM", "LEG") else lower

    def upper(self, lower: int) -> int:
        """Return the index of the first bone of a limb, given that below its knee or elbow.

        A bone that is split in order to twist may have any number of parts, which need not be
        exactly in line.
        """
        named = [k for k in range(lower) if self.parts[k] in ("THIGH", "UPPER_ARM")]
        first = named[0] if named else lower - 1
        while first > 0 and not self.bends(first):
            first -= 1
        return first

    def bends(self, k: int) -> bool:
        """Return whether a bone is no later part of one that is split in order to twist."""
        is_twist = self.path[k] in self.figure.names.twists and self.parts[k] not in ENDS
        return not (is_twist or self.halves[k])

    def is_mark(self, k: int) -> bool:
        """Return whether a bone only marks where the one before it ends."""
        return k == len(self.path) - 1 and self.path[k] in self.figure.names.marks

    def is_stiff(self) -> bool:
        """Return whether no two bones bend before its hand or foot."""
        is_named = any(part in ("FOOT", "HAND") for part in self.parts[:2])
        return is_named or any(is_hand(self.figure, i) for i in self.path[:2])

    def leads_down(self) -> bool:
        """Return whether it leads down more than aside."""
        return self.high - self.low > 0.5 * self.size

    def is_horn(self) -> bool:
        """Return whether it leads up from the end of the trunk."""
        figure = self.figure
        trunk = [i for i in figure.children.get(self.trunk, ()) if figure.side[i] == 0]
        is_end = not any(figure.children[i] for i in trunk)
        return is_end and self.heads[-1][2] - self.heads[0][2] > 0.5 * self.size

    def fingers(self, first: int = 2) -> int:
        """Return the index of the first bone with several fingers, from one on; 0 for none."""
        figure, path = self.figure, self.path
        for k in range(first, len(path)):
            here = figure.heads[path[k]]
            parts = figure.names.parts
            beyond = [i for i in figure.children[path[k]] if parts[i] != "OTHER"]
            fingers = [i for i in beyond if figure.children[i]]
            sizes = sorted([dist(here, figure.heads[i]) + figure.reach[i] for i in fingers])
            if len(sizes) > 1 and sizes[-2] > THUMB_MIN * sizes[-1]:
                return k
        return 0

    def is_flat(self) -> bool:
        """Return whether it ends with a flat foot."""
        ways = [sub(b, a) for a, b in pairwise(self.heads)]
        last = next((way for way in reversed(ways) if length(way) > 0.0), self.heads[0])
        return hypot(last[0], last[1]) >= FLAT * abs(last[2])

    def is_level(self, k: int) -> bool:
        """Return whether a bone does not lead down."""
        if k + 1 >= len(self.path):
            return False
        a, b = self.heads[k : k + 2]
        return a[2] - b[2] < 0.5 * dist(a, b)


def _held(names: Names, path: Sequence[int]) -> int:
    """Return the index of what a hand or foot holds by its name, or the number of bones."""
    parts = [names.parts[i] for i in path]
    end = next((k for k, part in enumerate(parts) if part in ENDS), len(parts))
    return next((k for k in range(end, len(parts)) if parts[k] == "OTHER"), len(parts))


def _kind(parts: Sequence[str]) -> str:
    """Return which limb the names of a chain tell it to be."""
    if "OTHER" in parts[:2]:
        return "OTHER"
    legs, arms = (sum([part in known for part in parts]) for known in (LEG_PARTS, ARM_PARTS))
    if {"LEG", "SHIN", "THIGH"} & set(parts) and legs > arms:
        return "LEG"
    if {"ARM", "FOREARM", "UPPER_ARM"} & set(parts) and arms > legs:
        return "ARM"
    return ""


def limbs_of(figure: Figure) -> list[Limb]:
    """Return the arms and legs, and limbs of the face, that occur in pairs."""
    side = figure.side
    starts = [i for i in figure.body if side[i] != 0 and side.get(figure.bones[i].parent, 0) == 0]
    chains = [_Chain(figure, i) for i in starts if figure.children[i] and not _is_finger(figure, i)]
    pairs = _twins([one for one in chains if one.kind != "OTHER" and not one.is_stiff()])
    kinds = _kinds(pairs)
    found: list[tuple[_Chain, _Chain, str]] = []
    for pair, kind in zip(pairs, kinds, strict=True):
        if kind and not (kind == "LEG" and _is_cloth(pair, pairs, kinds)):
            lower, other = sorted(pair, key=lambda chain: chain.low)
            found.append((lower, other, kind))
    arranged: list[Limb] = []
    for (lower, other, kind), (first, last) in zip(found, _alike(found), strict=True):
        same = lower.parts[: last + 1] == other.parts[: last + 1]
        ends = (first, last) if same else _ends(other, kind)
        is_high = kind == "LEG" and lower.low > ANKLE_MAX * (lower.heads[first][2] - figure.floor)
        limbs = [_limb(lower, kind, first, last, is_high), _limb(other, kind, *ends, is_high)]
        arranged += limbs if all(len(one.bones) > 1 for one in limbs) else []
    return arranged


def _alike(found: Sequence[tuple[_Chain, _Chain, str]]) -> list[tuple[int, int]]:
    """Return the indices of the first bone and the end of each pair of limbs.

    The legs of a row, as of an insect, are alike: most of them tell where all begin and end.
    """
    ends = [_ends(lower, kind) for lower, _, kind in found]
    rows = [(kind, lower.trunk, len(lower.path)) for lower, _, kind in found]
    result: list[tuple[int, int]] = []
    for own, row in zip(ends, rows, strict=True):
        others = [end for end, other in zip(ends, rows, strict=True) if other == row]
        result.append(max(others, key=others.count) if len(others) >= ROW_MIN else own)
    return result


def stiff_limbs(figure: Figure, limbs: Sequence[Limb]) -> list[Limb]:
    """Return the arms and legs that are a single bone by their names, beside known limbs."""
    known = {(limb.kind, limb.side) for limb in limbs}
    side, names = figure.side, figure.names
    found: list[Limb] = []
    for i in figure.body:
        kind = LIMBS.get(names.parts[i], "")
        if not kind or names.sides[i] == 0 or side.get(figure.bones[i].parent, 0) != 0:
            continue
        path = figure.line(i)
        beyond = {"OTHER", *ENDS}
        is_stiff = len(path) < 2 or names.parts[path[1]] in beyond or is_hand(figure, path[1])
        if is_stiff and (kind, side[i]) not in known:
            end = path[1] if len(path) > 1 else -1
            found.append(Limb(kind, side[i], figure.bones[i].parent, (), (i,), end, -1))
    return found


def _is_finger(figure: Figure, bone: int) -> bool:
    """Return whether a bone is beyond a hand on the median plane, as where that is all there is."""
    parent = figure.bones[bone].parent
    is_named = any(figure.names.parts[i] == "HAND" for i in figure.ancestry(parent))
    return is_named or is_hand(figure, parent)


def is_hand(figure: Figure, bone: int) -> bool:
    """Return whether a bone carries nothing but fingers.

    By its name it is a hand, or else its fingers tell, which do not branch and end in a row: they
    lead where the hand does, as the legs of a table would, and one thumb may lead elsewhere.
    """
    # It is asked for each finger, and a face may have hundreds of joints that might be some.
    known = figure.hands.get(bone)
    if known is None:
        known = figure.hands[bone] = _is_hand(figure, bone)
    return known


def _is_hand(figure: Figure, bone: int) -> bool:
    starts = [i for i in figure.children.get(bone, ()) if figure.children[i]]
    if bone < 0 or len(starts) < 2 or any(figure.branches(i) for i in starts):
        return False
    if figure.names.parts[bone] == "HAND":
        return True
    if len(starts) < FINGERS_MIN or any(figure.names.parts[i] != "" for i in starts):
        return False
    paths = [figure.line(start) for start in starts]
    if any(path[-1] in figure.tips for path in paths):
        return False
    lines = [[figure.heads[i] for i in path] for path in paths]
    for thumb in (-1, *range(len(lines))):
        fingers = [line for k, line in enumerate(lines) if k != thumb]
        ways = [unit(sub(line[-1], line[0])) for line in fingers]
        way = unit(sum_of([one for one in ways if one is not None]))
        if way is None or any(one is None or dot(one, way) < FINGERS_SPREAD for one in ways):
            continue
        if len(fingers) >= FINGERS_MIN - 1 and _is_row([line[-1] for line in fingers], way):
            return True
    return False


def _is_row(points: Sequence[Vec], way: Vec) -> bool:
    """Return whether points are in a row, seen along a direction."""
    middle = scaled(sum_of(points), 1.0 / len(points))
    flat = [across(sub(point, middle), way) for point in points]
    side = unit(max(flat, key=length))
    if side is None:
        return False
    ahead = cross(way, side)
    width, depth = (
        max([dot(point, axis) for point in flat]) - min([dot(point, axis) for point in flat])
        for axis in (side, ahead)
    )
    return depth <= ROW * width


def standing_ends(figure: Figure, limbs: Sequence[Limb]) -> list[int]:
    """Return the ends of chains that stand on the ground like legs, and are none of the legs."""
    side, height = figure.side, figure.height
    legs = {i for limb in limbs if limb.kind == "LEG" for i in limb.bones}
    starts = [i for i in figure.body if side[i] != 0 and side.get(figure.bones[i].parent, 0) == 0]
    chains = [_Chain(figure, i) for i in starts if figure.children[i]]
    lows = [chain.low for chain in chains if legs & set(chain.path)]
    return [
        chain.path[-1]
        for chain in chains
        if lows
        and not legs & set(chain.path)
        and chain.kind != "OTHER"
        and chain.high >= LEG_START_MIN * height
        and chain.low <= max(lows) + CLOTHES_RISE * height
        and chain.leads_down()
    ]


def _kinds(pairs: Sequence[tuple[_Chain, _Chain]]) -> list[str]:
    """Return what each pair of chains is; empty for what is no limb.

    Names that mean nothing leave much that has the shape of an arm: hair, antlers, wings, plates.
    """
    kinds = [_kind_in_pose(pair, pairs) for pair in pairs]
    shaped = [k for k, (a, b) in enumerate(pairs) if kinds[k] == "ARM" and not (a.kind or b.kind)]
    if "LEG" not in kinds:
        for k in _without_paws([pairs[k][0] for k in shaped]):
            kinds[shaped[k]] = "LEG"
    for k in _hanging(pairs, kinds):
        kinds[k] = ""
    for k in _skirts(pairs, kinds):
        kinds[k] = ""
    shaped = [k for k in shaped if kinds[k] == "ARM"]
    has_arms = any(kinds[k] == "ARM" for k in range(len(pairs)) if k not in shaped)
    bearing = {pairs[k][0].trunk for k, kind in enumerate(kinds) if kind == "LEG"}
    able = [pairs[k] for k in shaped if not pairs[k][0].is_horn()]
    arms = [] if has_arms or len(bearing) > 1 else _arms(able, bearing)
    for k in shaped:
        kinds[k] = "ARM" if pairs[k] in arms else ""
    if kinds.count("LEG") == 1 and "ARM" not in kinds and _are_fins(pairs[kinds.index("LEG")]):
        return [""] * len(kinds)
    return kinds


def _hanging(pairs: Sequence[tuple[_Chain, _Chain]], kinds: Sequence[str]) -> list[int]:
    """Return which pairs that have the shape of legs, but not the names, are gowns and capes.

    Without feet they hang beside legs on the same bone, or above these on an upright trunk.
    """
    legs = [k for k, kind in enumerate(kinds) if kind == "LEG"]
    sure = {k for k in legs if any([chain.kind == "LEG" or chain.is_flat() for chain in pairs[k]])}
    return [
        k
        for k in legs
        if k not in sure
        and any(
            pairs[k][0].trunk == pairs[j][0].trunk or not _stand(pairs[k][0], pairs[j][0])
            for j in sure
        )
    ]


def _skirts(pairs: Sequence[tuple[_Chain, _Chain]], kinds: Sequence[str]) -> list[int]:
    """Return which pairs that have the shape of arms begin at the height of legs beside them."""
    legs = [pair[0] for pair, kind in zip(pairs, kinds, strict=True) if kind == "LEG"]
    return [
        k
        for k, (chain, other) in enumerate(pairs)
        if kinds[k] == "ARM"
        and not (chain.kind or other.kind)
        and any(
            leg.trunk == chain.trunk and chain.high <= leg.high + 0.01 * chain.figure.height
            for leg in legs
        )
    ]


def _are_fins(pair: tuple[_Chain, _Chain]) -> bool:
    """Return whether the only limbs, which no name calls legs, are short for a level trunk."""
    figure = pair[0].figure
    ahead = cross(figure.left, UP)
    trunk = [figure.heads[i] for i in figure.body if figure.side[i] == 0]
    ways = [dot(head, ahead) for head in trunk]
    size = max(ways, default=0.0) - min(ways, default=0.0)
    return not (pair[0].kind or pair[1].kind) and pair[0].size < FINS * size


def _without_paws(chains: Sequence[_Chain]) -> list[int]:
    """Return which chains are the legs of an animal whose paws are no children of its legs."""
    return [
        k
        for k, one in enumerate(chains)
        if any(
            one is not other
            and one.trunk != other.trunk
            and _stand(one, other)
            and abs(one.low - other.low) <= LEG_END_MAX * one.figure.height
            for other in chains
        )
    ]


def _arms(pairs: Sequence[tuple[_Chain, _Chain]], bearing: set[int]) -> list[tuple[_Chain, _Chain]]:
    """Return those of some pairs, which all have the shape of arms, that are arms.

    They have hands, if any pair has. Otherwise the bones that bear legs bear skirts as well, the
    head bears hair and antlers, and wings begin behind the shoulders.

    Args:
        pairs: The pairs.
        bearing: The bones that bear legs.
    """
    with_hands = [pair for pair in pairs if pair[0].fingers() and pair[1].fingers()]
    if with_hands or len(pairs) < 2:
        return with_hands or list(pairs)
    figure = pairs[0][0].figure
    pairs = [pair for pair in pairs if pair[0].trunk not in bearing] or list(pairs)
    lowest = [
        pair
        for pair in pairs
        if not any(other[0].trunk in figure.ancestry(pair[0].trunk)[:-1] for other in pairs)
    ]
    return [max(lowest, key=lambda pair: (dot(pair[0].heads[0], figure.front), pair[0].size))]


def _twins(chains: Sequence[_Chain]) -> list[tuple[_Chain, _Chain]]:
    """Return pairs of chains on either side of a bone: by their names, else by their lengths."""
    lefts = [chain for chain in chains if chain.side > 0]
    rights = [chain for chain in chains if chain.side < 0]
    alike = sorted(
        [
            (_difference(left, right), i, j)
            for i, left in enumerate(lefts)
            for j, right in enumerate(rights)
            if left.trunk == right.trunk
        ]
    )
    twins: dict[int, int] = {}
    for difference, i, j in alike:
        if difference < UNLIKE and i not in twins and j not in twins.values():
            twins[i] = j
    return [(lefts[i], rights[j]) for i, j in sorted(twins.items())]


def _difference(a: _Chain, b: _Chain) -> float:
    """Return how different chains are: negative if they have the same name.

    They may be alike up to the hand only, of which one carries something: then others that are
    wholly alike come first.
    """
    stems = a.figure.names.stems
    whole = _unlikeness(a.heads, b.heads)
    share = min(whole, 0.5 * UNLIKE + _unlikeness(a.heads[:LIMB], b.heads[:LIMB]))
    has_name = bool(stems[a.path[0]]) and a.figure.evidence == "NAMES"
    return share - 2.0 if has_name and stems[a.path[0]] == stems[b.path[0]] else share


def _unlikeness(a: Sequence[Vec], b: Sequence[Vec]) -> float:
    """Return by how much the lengths of two lines of joints differ, as a fraction."""
    sizes = [sum([dist(p, q) for p, q in pairwise(line)]) for line in (a, b)]
    longest = max(sizes)
    return abs(sizes[0] - sizes[1]) / longest if longest else 0.0


def _kind_in_pose(pair: tuple[_Chain, _Chain], pairs: Sequence[tuple[_Chain, _Chain]]) -> str:
    """Return what a pair of chains is by names and shape; empty if it is no limb."""
    chain = min(pair, key=lambda one: one.low)
    named = chain.kind or max(pair, key=lambda one: one.low).kind
    others = [one for one in pairs if one is not pair and "LEG" in (one[0].kind, one[1].kind)]
    has_end = chain.find(("FOOT", "HAND"), 2) >= 0
    if named and (len(chain.heads) > 2 or chain.lower() >= 0):
        if named == "LEG" and has_end and _share(chain) > LIFTED:
            return "ARM" if any(min(map(_share, one)) < LIFTED for one in others) else "LEG"
        if named == "ARM" and _is_low(chain) and any(_stand(chain, one[0]) for one in others):
            return "LEG"
        return named
    height = chain.figure.height
    if len(chain.heads) < 3 or chain.size < LIMB_MIN * height:
        return ""
    if not _is_low(chain):
        return "ARM"
    starts_low = chain.high < LEG_START_MIN * height or chain.high - chain.low < 0.5 * chain.high
    return "" if starts_low else "LEG"


def _is_low(chain: _Chain) -> bool:
    return chain.low <= LEG_END_MAX * chain.figure.height


def _share(chain: _Chain) -> float:
    """Return the height of the lowest joint of a chain as a fraction of its first one's."""
    return chain.low / chain.high if chain.high > 0.0 else 0.0


def _stand(front: _Chain, hind: _Chain) -> bool:
    """Return whether two limbs both lead down from a trunk that is nearer to level than upright."""
    way = sub(front.heads[0], hind.heads[0])
    return abs(way[2]) < hypot(way[0], way[1]) and front.leads_down() and hind.leads_down()


def _is_cloth(
    pair: tuple[_Chain, _Chain], pairs: Sequence[tuple[_Chain, _Chain]], kinds: Sequence[str]
) -> bool:
    """Return whether a leg ends higher than another one on the same bone."""
    lows = [
        min(one[0].low, one[1].low)
        for one, kind in zip(pairs, kinds, strict=True)
        if kind == "LEG" and one[0].trunk == pair[0].trunk
    ]
    height = pair[0].figure.height
    return min(pair[0].low, pair[1].low) - min(lows) > CLOTHES_RISE * height


def _limb(chain: _Chain, kind: str, first: int, last: int, is_high: bool) -> Limb:
    """Return a limb.

    Args:
        chain: The chain that it is of.
        kind: What it is.
        first: The index of its first bone.
        last: That of its hand or foot, or the number of bones.
        is_high: Whether it is a leg that ends where no ankle is.
    """
    path = chain.path
    end, beyond = (path[k] if k < len(path) else -1 for k in (last, last + 1))
    bones = tuple(path[first:last])
    halves = tuple([path[k] for k in range(first + 1, min(last, len(path))) if chain.halves[k]])
    if len(bones) - len(halves) < 2:
        halves = ()  # Its two bones may have one name.
    if end < 0:
        is_bare = kind != "LEG" or not chain.stands
    else:
        is_bare = beyond < 0 and (is_high or chain.parts[last] in ("SHIN", "FOREARM"))
    carriers = tuple(path[:first])
    return Limb(kind, chain.side, chain.trunk, carriers, bones, end, beyond, halves, is_bare)


def _ends(chain: _Chain, kind: str) -> tuple[int, int]:
    """Return the indices of the first bone of a limb and of its hand or foot.

    Without a hand or foot the latter is the number of bones.
    """
    lower, count = chain.lower(), len(chain.path)
    if chain.stands and kind == "LEG":
        return chain.upper(lower) if lower >= 0 else _carriers(chain, kind, count), count
    joints = count - 1 if count > 3 and chain.is_mark(count - 1) else count
    last = chain.find(("FOOT", "HAND"), max(lower + 1, 2))
    if lower >= 0:
        after = next((k for k in range(lower + 1, count) if chain.bends(k)), count)
        first = chain.upper(lower)
        if after == count:
            return _without_end(chain, kind, first, lower)
    elif last >= 0:
        first, after = _carriers(chain, kind, last), last
    else:
        first = _carriers(chain, kind, joints - 1)
        after = first + 2 if kind == "LEG" else _wrist(chain, first)
    last = last if last >= 0 else after if lower >= 0 or kind == "ARM" else joints - 1
    return first, _ankle(chain, first, after, last) if kind == "LEG" else last


def _without_end(chain: _Chain, kind: str, first: int, lower: int) -> tuple[int, int]:
    """Return the ends of a limb that ends with the bone below its knee or elbow.

    That bone reaches with its tail, unless an importer had to guess it: then it is the end.
    """
    bends = [
        k
        for k in range(lower + 1)
        if chain.parts[k] != "GIRDLE"
        and chain.bends(k)
        and not (kind == "LEG" and chain.is_level(k))
    ]
    first = bends[0] if len(bends) > 2 else first
    last = chain.figure.bones[chain.path[lower]]
    if dist(last.head, last.tail) > TAIL_MIN * dist(*chain.heads[lower - 1 : lower + 1]):
        return first, len(chain.path)
    least = max(0, lower - 2)
    if first <= least or not _is_hip(chain, least):
        first = min(first, least)
    return (first, lower) if lower - first > 1 else (first, len(chain.path))


def _is_hip(chain: _Chain, k: int) -> bool:
    """Return whether a bone is the half of a pelvis, too short to bend with the leg after it."""
    a, b, c = chain.heads[k : k + 3]
    is_named = TRUNK & set(chain.figure.names.words[chain.path[k]])
    return bool(is_named) and dist(a, b) < SHORT * dist(b, c)


def _carriers(chain: _Chain, kind: str, last: int) -> int:
    """Return the number of carriers of a limb that ends at an index at the latest."""
    heads, parts = chain.heads, chain.parts
    if kind == "ARM" and parts[last] == "HAND":
        bends = [k for k in range(last) if chain.bends(k)]
        if len(bends) > 2:
            return bends[-2]
        if "GIRDLE" in parts:
            return next((k for k in range(last - 2) if parts[k] != "GIRDLE"), last - 2)
    count = 0
    while count + 2 < last:
        size, after = dist(*heads[count : count + 2]), _ahead(heads[count:], kind)
        # The thigh of a lizard is level as well, but as long as its shin.
        share = SHORT if kind == "LEG" and not chain.is_level(count) else 0.8
        if not (size < share * after or parts[count] == "GIRDLE"):
            break
        count += 1
    return count


def _ahead(heads: Sequence[Vec], kind: str) -> float:
    """Return the length of the bone after the first of some bones.

    An upper arm may be split in two, and either half is as long as a clavicle. If the first bone is
    not in line with the next one, all those count that are.
    """
    least = NO_LENGTH * sum([dist(a, b) for a, b in pairwise(heads)])
    ways = [sub(b, a) for a, b in pairwise(heads)]
    first = unit(ways[0]) if length(ways[0]) > least else None
    line: Vec | None = None
    size = 0.0
    for way in ways[1:]:
        direction = unit(way) if length(way) > least else None
        if line is not None and direction is not None:
            is_one = kind == "LEG" or (first is not None and dot(first, line) >= IN_LINE)
            if is_one or dot(line, direction) < IN_LINE:
                break
        size += length(way)
        line = line or direction
    return size


def _ankle(chain: _Chain, first: int, least: int, otherwise: int) -> int:
    """Return the index of the joint that is the ankle in a pose that stands.

    Args:
        chain: The chain.
        first: The index of the hip.
        least: The first index that may be the ankle.
        otherwise: The result if none stands low enough.
    """
    heads, floor = chain.heads, chain.figure.floor
    hip = heads[first][2] - floor or inf
    shares = [(head[2] - floor) / hip for head in heads]
    above = least - 1
    if (
        above > first + 1
        and shares[above] <= FOOT_MAX
        and _is_flat(heads, above)
        and not _is_flat(heads, above - 1)
    ):
        least = above  # What is called foot is its ball alone.
    for k in range(least, len(heads)):
        share = shares[k]
        if not chain.bends(k) or chain.is_mark(k):
            continue
        if share <= FOOT_MAX:
            return k
        if share <= ANKLE_MAX and k + 1 < len(heads) and _is_flat(heads, k):
            return k
    return otherwise


def _is_flat(heads: Sequence[Vec], k: int) -> bool:
    """Return whether a bone is as flat as a foot on the ground."""
    way = sub(heads[k + 1], heads[k])
    return hypot(way[0], way[1]) >= FLAT * abs(way[2])


def _wrist(chain: _Chain, first: int) -> int:
    """Return the index of the hand without a name.

    It is the first bone with several fingers, else the third one that does not twist.
    """
    path, twists = chain.path, chain.figure.names.twists
    fingers = chain.fingers(first + 2)
    if fingers:
        return fingers
    bends = [k for k in range(first, len(path)) if path[k] not in twists]
    return bends[2] if len(bends) > 2 else len(path) - 1


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
    above, words = map(words_of, names)
    before, now = (re.sub(r"[\d._ -]+", "", name) for name in names)
    return only_twists(words, above) or (before == now and part_of(words) != "")
