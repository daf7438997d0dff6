"""The evidence that distinguishes arms, legs and other chains, in a single table.

Chains of bones come in mirrored pairs, which get the same label. Each row of `ROWS` tests a pair,
and each row of `BESIDE` tests two pairs. The result times the row's weight is evidence for or
against its kind; chains of no kind get zero. To support a new kind of skeleton, add a row or change
a weight here, and add the skeleton to the tests' corpus. The weights were found by `fit.py` there.
"""

from collections.abc import Callable, Sequence
from math import dist, inf
from typing import Final, NamedTuple

from ...core.vectors import cross, dot, sub
from .chain import Chain
from .figure import UP, Figure
from .thresholds import ASIDE, FOOT_MAX, LOW, NEAR, SHORT, STEEP, UNLIKE


class Pair:
    """Two chains on the same bone, one on each side.

    Attributes:
        figure: The body that they belong to.
        chains: The chains, left first.
        lower: The chain that reaches down farther.
        kind: ``'ARM'`` or ``'LEG'`` by names; empty if names don't show it.
        trunk: The bone that carries both.
        others: All other pairs.
        animals: All combinations of two pairs that stand like an animal's four legs.
    """

    def __init__(self, left: Chain, right: Chain) -> None:
        self.figure: Figure = left.figure
        self.chains = (left, right)
        self.lower, higher = (left, right) if left.low <= right.low else (right, left)
        self.kind = self.lower.kind or higher.kind
        self.trunk = left.trunk
        self.above = {*self.figure.ancestry(left.trunk)[:-1]}
        self.others: Sequence[Pair] = ()
        self.animals: Sequence[tuple[Pair, Pair]] = ()
        self.has_fingers = left.fingers() > 0 and right.fingers() > 0
        self.is_flat = left.is_flat() or right.is_flat()
        # Names of feet count as names of legs.
        self.has_foot = left.kind == "LEG" or right.kind == "LEG" or self.is_flat

    @property
    def is_low(self) -> bool:
        """Whether the pair reaches the ground."""
        return self.lower.low <= LOW * self.figure.height

    @property
    def lift(self) -> float:
        """The height of the pair's end, as a fraction of the height of its start."""
        return self.lower.low / self.lower.high if self.lower.high > 0.0 else 0.0


class Row(NamedTuple):
    """Evidence that a pair is of a kind: a test with a weight."""

    kind: str
    weight: float
    asks: Callable[[Pair], float]


class Beside(NamedTuple):
    """Evidence about the kinds of two pairs: a test with a weight."""

    kinds: tuple[str, str]
    weight: float
    asks: Callable[[Pair, Pair], float]


# Of one pair


def always(_pair: Pair) -> float:
    """Return 1 for any pair: the weight of the row is then the evidence before any other test."""
    return 1.0


def is_called_leg(pair: Pair) -> float:
    """Return 1 if bones are named as legs, because names show the rigger's intent."""
    return float(pair.kind == "LEG")


def is_called_arm(pair: Pair) -> float:
    """Return 1 if bones are named as arms, because names show the rigger's intent."""
    return float(pair.kind == "ARM")


def falls(pair: Pair) -> float:
    """Return how far a pair leads down: legs to the ground, hanging arms halfway."""
    return max(0.0, 1.0 - pair.lift)


def is_lowest(pair: Pair) -> float:
    """Return 1 if no other pair reaches down farther: the lowest pair is legs."""
    low = min([other.lower.low for other in pair.others], default=pair.lower.low)
    return float(pair.lower.low <= low + NEAR * pair.figure.height)


def is_flat(pair: Pair) -> float:
    """Return 1 if a last bone lies flat, like a foot; cloth doesn't have one."""
    return float(pair.is_flat)


def begins_low(pair: Pair) -> float:
    """Return 1 if a pair begins near the ground, like foot controls or toes."""
    return float(pair.lower.high < LOW * pair.figure.height)


def stays_high(pair: Pair) -> float:
    """Return 1 if a pair leads down less than halfway to the ground; legs lead down farther."""
    return float(pair.lift > 0.5)


def is_lifted(pair: Pair) -> float:
    """Return 1 for forelegs with raised feet, next to standing legs: arms, as of a T-rex."""
    has_foot = pair.lower.find(("FOOT", "HAND"), 2) >= 0
    if pair.kind != "LEG" or not has_foot or pair.lift <= 0.5:
        return 0.0
    return float(any([other.kind == "LEG" and other.lift < 0.5 for other in pair.others]))


def stands_with_other(pair: Pair) -> float:
    """Return 1 if this pair and another lead from a level trunk to equal heights: animals' legs."""
    return float(any([pair is a or pair is b for a, b in pair.animals]))


def are_fins(pair: Pair) -> float:
    """Return 1 for a single pair that is much shorter than a level trunk, like a fish's fins."""
    figure = pair.figure
    ahead = cross(figure.left, UP)
    trunk = [dot(figure.heads[i], ahead) for i in figure.body if figure.side[i] == 0]
    extent = max(trunk, default=0.0) - min(trunk, default=0.0)
    return float(not pair.others and pair.lower.size < UNLIKE * extent)


def hangs_beside_feet(pair: Pair) -> float:
    """Return 1 if a pair without feet hangs beside legs with feet, as the flaps of a coat do."""
    beside = [other for other in pair.others if other.trunk == pair.trunk]
    return float(
        not pair.has_foot
        and any([other_pair.has_foot and other_pair.is_low for other_pair in beside])
    )


def has_fingers(pair: Pair) -> float:
    """Return 1 if a pair has fingers, like hands."""
    return float(pair.has_fingers)


def begins_behind(pair: Pair) -> float:
    """Return 1 if a pair begins behind others on the same bone, like wings and capes."""
    start, figure = pair.lower.heads[0], pair.figure
    ways = [
        dot(sub(other.lower.heads[0], start), figure.front)
        for other in pair.others
        if other.trunk == pair.trunk
    ]
    return float(max(ways, default=0.0) > ASIDE * figure.height)


def is_on_head(pair: Pair) -> float:
    """Return 1 if a pair is on a head, like ears, horns and hair."""
    words = pair.figure.names.words
    return float(any(["head" in words[i] for i in (*pair.above, pair.trunk) if i >= 0]))


def is_horn(pair: Pair) -> float:
    """Return 1 if a pair leads up from the end of the trunk, like horns or ears."""
    return float(pair.lower.is_horn())


def rises(pair: Pair) -> float:
    """Return 1 if a pair points up in the rest pose, like plates and antlers; arms don't."""
    heads = pair.lower.heads
    return float(heads[-1][2] - heads[0][2] > STEEP * pair.lower.size)


def is_long(pair: Pair) -> float:
    """Return the length relative to half the body's height: 1 for arms, less for ears and lips."""
    return min(1.0, 2.0 * pair.lower.size / (pair.figure.height or 1.0))


def is_beyond_two(pair: Pair) -> float:
    """Return 1 if two other pairs are farther down the trunk: the pair then belongs to the head."""
    bones = {other.trunk for other in pair.others if other.trunk in pair.above}
    return float(len(bones) > 1)


def is_beside_four_legs(pair: Pair) -> float:
    """Return 1 for pairs beside an animal's four legs: wings, plates or antlers, but not arms."""
    return float(any([pair is not a and pair is not b for a, b in pair.animals]))


def ends_higher(pair: Pair) -> float:
    """Return 1 if a pair ends higher than another pair on the same bone, like skirts and coats."""
    low = min([other.lower.low for other in pair.others if other.trunk == pair.trunk], default=inf)
    return float(pair.lower.low > low + NEAR * pair.figure.height)


# Of two pairs


def are_in_row(a: Pair, b: Pair) -> float:
    """Return 1 if two pairs are alike and on the same bone, like an insect's legs."""
    if a.trunk != b.trunk or len(a.lower.path) != len(b.lower.path):
        return 0.0
    sizes = sorted((a.lower.size, b.lower.size))
    return float(sizes[0] > (1.0 - UNLIKE) * sizes[1])


def are_on_one_bone(a: Pair, b: Pair) -> float:
    """Return 1 if two pairs are on the same bone, like legs and a skirt, not two pairs of legs."""
    return float(a.trunk == b.trunk)


def are_upright(a: Pair, b: Pair) -> float:
    """Return 1 if the trunk is upright: one of the two pairs is then wings, not arms."""
    return float(not stand(a.lower, b.lower))


def lacks_feet(a: Pair, b: Pair) -> float:
    """Return 1 if only one of two pairs has feet: the other may be a gown or cape."""
    near = a.trunk == b.trunk or not stand(a.lower, b.lower)
    return float(a.has_foot != b.has_foot and near)


def meet(pairs: Sequence[Pair]) -> None:
    """Set the attributes of pairs that depend on the other pairs."""
    animals = [(a, b) for k, a in enumerate(pairs) for b in pairs[:k] if _stand_alike(a, b)]
    for pair in pairs:
        pair.others = [other for other in pairs if other is not pair]
        pair.animals = animals


def _stand_alike(a: Pair, b: Pair) -> bool:
    if a.trunk == b.trunk or not stand(a.lower, b.lower):
        return False
    return abs(a.lower.low - b.lower.low) <= LOW * a.figure.height


def stand(a: Chain, b: Chain) -> bool:
    """Return whether two limbs both lead down from a trunk that is more level than upright."""
    rise = abs(a.heads[0][2] - b.heads[0][2])
    run = dist(a.heads[0][:2], b.heads[0][:2])
    return rise < run and a.leads_down() and b.leads_down()


# Of the joint where a leg may end


class Ankle(NamedTuple):
    """A joint where a leg may end.

    Attributes:
        chain: The chain of the leg.
        first: The index of its first bone.
        at: The index of the joint.
        earlier: The number of joints before it that may be the ankle.
        is_below_shin: Whether it is at the end of the shin, by name.
    """

    chain: Chain
    first: int
    at: int
    earlier: int = 0
    is_below_shin: bool = False

    @property
    def height(self) -> float:
        """Its height above the ground, as a fraction of the hip's."""
        floor = self.chain.figure.floor
        hip = self.chain.heads[self.first][2] - floor
        return min(1.0, max(0.0, (self.chain.heads[self.at][2] - floor) / hip)) if hip else 1.0


def is_called_foot(ankle: Ankle) -> float:
    """Return 1 if a bone is named as a foot: names show intent, but hocks are also called feet."""
    return float(ankle.chain.parts[ankle.at] == "FOOT")


def is_below_shin(ankle: Ankle) -> float:
    """Return 1 for the bone after the shin: the foot, unless an animal has one more bone."""
    return float(ankle.is_below_shin)


def is_near_ground(ankle: Ankle) -> float:
    """Return 1 if a joint is at most a tenth of the hip's height above the ground, like ankles."""
    return float(ankle.height <= FOOT_MAX)


def is_above_ankles(ankle: Ankle) -> float:
    """Return how far the joint is above an ankle's height: the higher, the more likely a hock."""
    return max(0.0, ankle.height - FOOT_MAX) / FOOT_MAX


def begins_flat(ankle: Ankle) -> float:
    """Return 1 if the bone at the joint lies flat, like a foot."""
    return float(ankle.chain.lies_flat(ankle.at))


def follows_flat(ankle: Ankle) -> float:
    """Return 1 if the bone before the joint lies flat: the next one is then the toes."""
    return float(ankle.chain.lies_flat(ankle.at - 1))


def is_long_bone(ankle: Ankle) -> float:
    """Return 1 if the bone isn't shorter than the shin, as below an animal's hock."""
    heads, k, knee = ankle.chain.heads, ankle.at, ankle.at - 1
    if k + 1 >= len(heads):
        return 0.0
    while knee > ankle.first and not ankle.chain.bends(knee):
        knee -= 1
    return float(dist(heads[k], heads[k + 1]) > SHORT * dist(heads[knee], heads[k]))


def bones_before(ankle: Ankle) -> float:
    """Return how many of the joints before an ankle are near the ground.

    The first of these would then be the ankle.
    """
    return float(ankle.earlier)


def is_last(ankle: Ankle) -> float:
    """Return 1 if the bone has no children: it is then the toes, because a foot carries toes."""
    return float(ankle.at == len(ankle.chain.path) - 1)


ROWS: Final = (
    Row("LEG", 3.5, is_called_leg),
    Row("LEG", -1.5, always),
    Row("LEG", 1.5, falls),
    Row("LEG", 1.5, is_lowest),
    Row("LEG", 1.0, is_flat),
    Row("LEG", 4.0, stands_with_other),
    Row("LEG", -4.0, begins_low),
    Row("LEG", -0.5, stays_high),
    Row("LEG", -5.0, is_lifted),
    Row("LEG", -3.5, are_fins),
    Row("LEG", -2.0, hangs_beside_feet),
    Row("LEG", -0.5, ends_higher),
    Row("ARM", 4.0, is_called_arm),
    Row("ARM", 0.5, always),
    Row("ARM", 3.5, has_fingers),
    Row("ARM", 1.5, is_long),
    Row("ARM", -1.5, falls),
    Row("ARM", -1.5, is_lowest),
    Row("ARM", -2.0, stands_with_other),
    Row("ARM", -3.0, is_beside_four_legs),
    Row("ARM", -2.0, begins_behind),
    Row("ARM", -2.5, is_on_head),
    Row("ARM", -1.5, is_horn),
    Row("ARM", -1.0, rises),
    Row("ARM", -0.5, is_beyond_two),
)
"""The tests of one pair."""

BESIDE: Final = (
    Beside(("LEG", "LEG"), 1.0, are_in_row),
    Beside(("LEG", "LEG"), -0.5, are_on_one_bone),
    Beside(("LEG", "LEG"), -5.0, lacks_feet),
    Beside(("ARM", "ARM"), -4.0, are_upright),
)
"""The tests of two pairs."""

FEET: Final = (
    (1.5, is_called_foot),
    (3.0, is_below_shin),
    (3.0, is_near_ground),
    (-5.0, is_above_ankles),
    (2.5, begins_flat),
    (-2.5, follows_flat),
    (-2.5, is_long_bone),
    (-3.0, bones_before),
    (-3.5, is_last),
)
"""The tests of a leg's joints, with weights: the joint with the most evidence is the ankle."""


def foot_evidence(ankle: Ankle) -> float:
    """Return the evidence that a joint is the ankle."""
    return sum([weight * asks(ankle) for weight, asks in FEET])
