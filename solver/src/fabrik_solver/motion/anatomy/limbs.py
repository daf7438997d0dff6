"""Finds the arms and legs of a body: pairs of chains, identified by names or by shape."""

from collections.abc import Sequence
from itertools import pairwise
from math import dist, inf
from typing import NamedTuple

from ...core.vectors import Vec, dot, length, sub, unit
from .chain import Chain, is_hand, twists_in
from .evidence import Ankle, Pair, foot_evidence, is_near_ground
from .figure import ENDS, LIMBS, Figure
from .labelling import best_labels
from .naming import TRUNK
from .thresholds import (
    COMPARABLE,
    IN_LINE,
    LOW,
    NEAR,
    NO_LENGTH,
    SHORT,
    SHORT_ABOVE,
    SPRAWLING,
    THICKEST_SOLE,
    UNLIKE,
)


class Limb(NamedTuple):
    """An arm or a leg.

    Attributes:
        kind: ``'ARM'`` or ``'LEG'``.
        side: 1 for left, -1 for right.
        trunk: Its parent bone in the trunk, or -1 if there is none.
        carriers: The bones between trunk and limb, such as a clavicle, parents first.
        bones: The bones that bend to move the wrist or ankle, root first.
        end: The hand or foot, or -1 if there is none.
        toe: The first bone after the hand or foot, or -1 if there is none.
        twists: Its bones that are later parts of a bone split for twisting.
        is_bare: Whether it lacks a hand or foot, even if another bone serves as its end. A leg that
            stands on the tail of its last bone has no end, but isn't bare.
        is_foreleg: Whether it is a leg that begins ahead of other legs, on another bone.
        why: What shows its kind: ``'NAMES'`` or ``'SHAPE'``.
    """

    kind: str
    side: int
    trunk: int
    carriers: tuple[int, ...]
    bones: tuple[int, ...]
    end: int
    toe: int
    twists: tuple[int, ...] = ()
    is_bare: bool = False
    is_foreleg: bool = False
    why: str = ""

    @property
    def inner_joints(self) -> list[int]:
        """The bones below the limb's elbow or knee, or below several such joints."""
        return [bone for bone in self.bones[1:] if bone not in self.twists]


def limbs_of(figure: Figure) -> list[Limb]:
    """Return the arms and legs, in pairs.

    A limb is only recognized if there is one like it on the other side.
    """
    pairs = candidates(figure)
    kinds = best_labels(pairs).kinds
    labelled = [(pair, kind) for pair, kind in zip(pairs, kinds, strict=True) if kind]
    limbs: list[Limb] = []
    for (pair, kind), ends in zip(labelled, _alike(labelled), strict=True):
        both = [_limb(chain, kind, *ends[chain.side]) for chain in pair.chains]
        limbs += both if all([len(limb.bones) > 1 for limb in both]) else []
    return limbs


def candidates(figure: Figure) -> list[Pair]:
    """Return the pairs of chains that may be limbs: they can bend, and no name excludes them."""
    chains = [
        Chain(figure, i)
        for i in starts_of(figure)
        if figure.children[i] and not _is_finger(figure, i)
    ]
    pairs = _twins([chain for chain in chains if chain.kind != "OTHER" and not chain.is_stiff()])
    return [pair for pair in pairs if _may_be_limb(pair)]


def starts_of(figure: Figure) -> list[int]:
    """Return the bones on a side whose parents aren't on it: chains start there."""
    side = figure.side
    return [i for i in figure.body if side[i] != 0 and side.get(figure.bones[i].parent, 0) == 0]


def _may_be_limb(pair: Pair) -> bool:
    """Return whether a pair can bend, and is long enough or named as a limb."""
    chain = pair.lower
    if pair.kind:
        return len(chain.heads) > 2 or chain.lower() >= 0
    return len(chain.heads) > 2 and chain.size >= LOW * pair.figure.height


def _alike(labelled: Sequence[tuple[Pair, str]]) -> list[dict[int, tuple[int, int]]]:
    """Return the indices of the first bone and the end of each limb, by its side.

    The legs of a row, such as an insect's, all get the indices that most of them have. Both limbs
    of a pair get the same indices unless their names differ.
    """
    ends = [_ends(pair.lower, kind, pair) for pair, kind in labelled]
    rows = [(kind, pair.trunk, len(pair.lower.path)) for pair, kind in labelled]
    result: list[dict[int, tuple[int, int]]] = []
    for (pair, kind), limb_ends, row in zip(labelled, ends, rows, strict=True):
        others = [end for end, other in zip(ends, rows, strict=True) if other == row]
        if 2 * len(others) >= SPRAWLING:
            limb_ends = max(others, key=others.count)
        result.append(
            {chain.side: _ends_like(pair, chain, kind, limb_ends) for chain in pair.chains}
        )
    return result


def _ends_like(pair: Pair, chain: Chain, kind: str, ends: tuple[int, int]) -> tuple[int, int]:
    """Return the indices of a chain's first bone and end: those of the lower chain, if they fit.

    Args:
        pair: The pair of the chain.
        chain: The chain.
        kind: ``'ARM'`` or ``'LEG'``.
        ends: The indices in the lower chain of the pair.
    """
    same = chain is pair.lower or chain.parts[: ends[1] + 1] == pair.lower.parts[: ends[1] + 1]
    return ends if same else _ends(chain, kind, pair)


def stiff_limbs(figure: Figure, limbs: Sequence[Limb]) -> list[Limb]:
    """Return the arms and legs that are a single bone by name, apart from recognized limbs."""
    recognized = {(limb.kind, limb.side) for limb in limbs}
    side, names = figure.side, figure.names
    stiff: list[Limb] = []
    for i in figure.body:
        kind = LIMBS.get(names.parts[i], "")
        if not kind or names.sides[i] == 0 or side.get(figure.bones[i].parent, 0) != 0:
            continue
        path = figure.line(i)
        beyond = {"OTHER", *ENDS}
        is_stiff = len(path) < 2 or names.parts[path[1]] in beyond or is_hand(figure, path[1])
        if is_stiff and (kind, side[i]) not in recognized:
            end = path[1] if len(path) > 1 else -1
            stiff.append(Limb(kind, side[i], figure.bones[i].parent, (), (i,), end, -1))
    return stiff


def _is_finger(figure: Figure, bone: int) -> bool:
    """Return whether a bone is beyond a hand on the median plane, as in a lone hand."""
    parent = figure.bones[bone].parent
    is_named = any(figure.names.parts[i] == "HAND" for i in figure.ancestry(parent))
    return is_named or is_hand(figure, parent)


def standing_ends(figure: Figure, limbs: Sequence[Limb]) -> list[int]:
    """Return the ends of chains that stand on the ground like legs, but aren't legs."""
    legs = set[int]().union(*[limb.bones for limb in limbs if limb.kind == "LEG"])
    chains = [Chain(figure, i) for i in starts_of(figure) if figure.children[i]]
    lows = [chain.low for chain in chains if not legs.isdisjoint(chain.path)]
    ground = max(lows) + NEAR * figure.height if lows else -inf
    beside = [chain for chain in chains if legs.isdisjoint(chain.path) and chain.kind != "OTHER"]
    return [chain.path[-1] for chain in beside if _stands_on(chain, ground)]


def _stands_on(chain: Chain, ground: float) -> bool:
    """Return whether a chain leads to the ground from a height at which legs may begin."""
    begins_high = chain.high >= LOW * chain.figure.height
    return begins_high and chain.low <= ground and chain.leads_down()


def _twins(chains: Sequence[Chain]) -> list[Pair]:
    """Return pairs of chains on both sides of a bone, by names or otherwise by lengths."""
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
    return [Pair(lefts[i], rights[j]) for i, j in sorted(twins.items())]


def _difference(a: Chain, b: Chain) -> float:
    """Return how different two chains are; negative if the chains have the same name.

    If one hand carries something, chains may be alike only up to the hand. Chains that are entirely
    alike rank first.
    """
    stems = a.figure.names.stems
    whole = _unlikeness(a.heads, b.heads)
    difference = min(whole, 0.5 * UNLIKE + _unlikeness(a.heads[:3], b.heads[:3]))
    has_name = bool(stems[a.path[0]]) and a.figure.evidence == "NAMES"
    return difference - 2.0 if has_name and stems[a.path[0]] == stems[b.path[0]] else difference


def _unlikeness(a: Sequence[Vec], b: Sequence[Vec]) -> float:
    """Return the relative difference in length of two lines of joints."""
    sizes = [sum([dist(p, q) for p, q in pairwise(line)]) for line in (a, b)]
    longest = max(sizes)
    return abs(sizes[0] - sizes[1]) / longest if longest else 0.0


def _limb(chain: Chain, kind: str, first: int, last: int) -> Limb:
    """Return a limb, from the indices that `_ends` returns."""
    path = chain.path
    end, beyond = (path[k] if k < len(path) else -1 for k in (last, last + 1))
    bones = tuple(path[first:last])
    heads = chain.heads[first : min(last, len(path) - 1) + 1]
    twists = twists_in(chain.figure.names, bones, heads)
    if end < 0:
        is_bare = kind != "LEG" or not chain.stands_on_tail
    else:
        is_last = (beyond < 0 or chain.is_mark(last + 1)) and chain.parts[last] not in ENDS
        is_high = kind == "LEG" and Ankle(chain, first, last).height > THICKEST_SOLE
        is_bare = is_last and (is_high or chain.parts[last] in ("SHIN", "FOREARM"))
    carriers = tuple(path[:first])
    why = "NAMES" if chain.kind == kind else "SHAPE"
    return Limb(
        kind, chain.side, chain.trunk, carriers, bones, end, beyond, twists, is_bare, why=why
    )


def _ends(chain: Chain, kind: str, pair: Pair) -> tuple[int, int]:
    """Return the indices of the first bone of a limb and of its hand or foot.

    Without a hand or foot, the second index is the number of bones. The other chain of the pair
    also provides evidence, if its names match.
    """
    lower, count = chain.lower(), len(chain.path)
    if chain.stands_on_tail and kind == "LEG":
        return chain.upper(lower) if lower >= 0 else _carriers(chain, kind, count), count
    end = chain.find(("FOOT", "HAND"), max(lower + 1, 2))
    if lower >= 0:
        next_bend = next((k for k in range(lower + 1, count) if chain.bends(k)), count)
        first = chain.upper(lower)
        if next_bend == count:
            return _without_end(chain, kind, first, lower)
        last = end if end >= 0 else next_bend
    elif end >= 0:
        first, last = _carriers(chain, kind, end), end
    else:
        last = count - 2 if count > 3 and chain.is_mark(count - 1) else count - 1
        last_joint = _standing(pair, chain, lower, last) if kind == "LEG" else last
        first = _carriers(chain, kind, last_joint)
        last = last if kind == "LEG" else _wrist(chain, first)
    return first, _ankle(pair, chain, first, lower, last) if kind == "LEG" else last


def _standing(pair: Pair, chain: Chain, lower: int, last: int) -> int:
    """Return the index of the joint on which a leg with a short femur stands, or else ``last``."""
    ankle = _ankle(pair, chain, 0, lower, last)
    return ankle if is_near_ground(Ankle(chain, 0, ankle)) else last


def _without_end(chain: Chain, kind: str, first: int, lower: int) -> tuple[int, int]:
    """Return the first bone and the end of a limb without a hand or foot.

    The limb ends with the bone below its knee or elbow, and reaches with that bone's tail. If an
    importer guessed the tail, the bone is the end instead.
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
    if dist(last.head, last.tail) > COMPARABLE * dist(*chain.heads[lower - 1 : lower + 1]):
        return first, len(chain.path)
    least = max(0, lower - 2)
    if first <= least or not _is_hip(chain, least):
        first = min(first, least)
    return (first, lower) if lower - first > 1 else (first, len(chain.path))


def _is_hip(chain: Chain, k: int) -> bool:
    """Return whether a bone is half of a pelvis, too short to bend with its leg."""
    a, b, c = chain.heads[k : k + 3]
    is_named = TRUNK & set(chain.figure.names.words[chain.path[k]])
    return bool(is_named) and dist(a, b) < SHORT * dist(b, c)


def _carriers(chain: Chain, kind: str, last: int) -> int:
    """Return how many bones at the start of a chain carry its limb, such as a clavicle."""
    heads, parts = chain.heads, chain.parts
    if kind == "ARM" and parts[last] == "HAND":
        bends = [k for k in range(last) if chain.bends(k)]
        if len(bends) > 2:
            return bends[-2]
        if "GIRDLE" in parts:
            return next((k for k in range(last - 2) if parts[k] != "GIRDLE"), last - 2)
    count = 0
    while count + 2 < last:
        size, next_size = dist(*heads[count : count + 2]), _ahead(heads[count:], kind)
        # A lizard's thigh is also level, but as long as its shin.
        ratio = SHORT if kind == "LEG" and not chain.is_level(count) else SHORT_ABOVE
        if not (size < ratio * next_size or parts[count] == "GIRDLE"):
            break
        count += 1
    return count


def _ahead(heads: Sequence[Vec], kind: str) -> float:
    """Return the length of the bone after a chain's first one.

    An upper arm may be split into halves as long as a clavicle. Therefore, if the first bone isn't
    in line with the next one, all bones in line with that one are added up.

    Args:
        heads: The heads of the chain's bones.
        kind: ``'ARM'`` or ``'LEG'``.
    """
    least = NO_LENGTH * sum([dist(a, b) for a, b in pairwise(heads)])
    vectors = [sub(b, a) for a, b in pairwise(heads)]
    first = unit(vectors[0]) if length(vectors[0]) > least else None
    line: Vec | None = None
    size = 0.0
    for vector in vectors[1:]:
        direction = unit(vector) if length(vector) > least else None
        if line is not None and direction is not None:
            is_one = kind == "LEG" or (first is not None and dot(first, line) >= IN_LINE)
            if is_one or dot(line, direction) < IN_LINE:
                break
        size += length(vector)
        line = line or direction
    return size


def _ankle(pair: Pair, chain: Chain, first: int, lower: int, otherwise: int) -> int:
    """Return the index of the ankle, in a standing pose.

    As one of two feet may be lifted, the one with more evidence decides, if their names match.

    Args:
        pair: Both legs.
        chain: The leg.
        first: The index of its first bone.
        lower: The index of its shin by name, or -1.
        otherwise: The result if no joint can be the ankle.
    """
    joints = [
        k
        for k in range(max(first + 2, lower + 1), len(chain.path))
        if chain.bends(k) and not chain.is_mark(k)
    ]
    legs = [leg for leg in pair.chains if leg.parts == chain.parts]
    evidence = {
        k: max([foot_evidence(Ankle(leg, first, k, n, n == 0 and lower >= 0)) for leg in legs])
        for n, k in enumerate(joints)
    }
    return max(joints, key=lambda k: evidence[k], default=otherwise)


def _wrist(chain: Chain, first: int) -> int:
    """Return the index of an unnamed hand.

    It is the first bone with several fingers, otherwise the third bone that isn't a twist bone.
    """
    path, twists = chain.path, chain.figure.names.twists
    fingers = chain.fingers(first + 2)
    if fingers:
        return fingers
    bends = [k for k in range(first, len(path)) if path[k] not in twists]
    return bends[2] if len(bends) > 2 else len(path) - 1
