"""The corpus that recognition is measured on: skeletons of people and creatures, perturbed.

`python corpus.py` prints how many answers are right, wrong and said, and wrong and silent. Each
skeleton has three answers (arms, legs, head), and each is asked again after every perturbation.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from math import cos, dist, radians, sin
from random import Random
from typing import NamedTuple

from animals import CREATURES, THINGS
from families import FAMILIES, about_x, joints_of, standing, walking

from fabrik_solver.core.vectors import Vec, add, scaled, sub
from fabrik_solver.motion.anatomy import Anatomy, RestBone, part_of, recognize, words_of

Limbs = frozenset[tuple[str, int, tuple[str, ...], str]]
"""Kind, side, bones and hand or foot of limbs."""


class Row(NamedTuple):
    """A bone: its name, whatever that is called in the end, its parent's, and where it begins."""

    key: str
    parent: str
    head: Vec
    side: int
    name: str
    tail: Vec | None = None


class Skeleton(NamedTuple):
    """A skeleton with what is to be recognized.

    Attributes:
        family: Its group, left out of a fit as a whole.
        rows: Its bones, parents first.
        limbs: Its arms and legs, by keys.
        head: Its head, by its key; empty without a head, None if only names could identify it and
            there are none.
        is_named: Whether its names mean anything.
    """

    family: str
    rows: tuple[Row, ...]
    limbs: Limbs
    head: str | None
    is_named: bool = True

    def place(self, key: str) -> Vec:
        return next(row.head for row in self.rows if row.key == key)

    @property
    def height(self) -> float:
        heights = [row.head[2] for row in self.rows]
        return max(heights) - min(heights)

    def moved(self, move: Callable[[Row], Vec]) -> Skeleton:
        """Return it with joints, and tails that are known, elsewhere."""
        rows: list[Row] = []
        for row in self.rows:
            head = move(row)
            tail = row.tail and add(head, sub(row.tail, row.head))
            rows.append(row._replace(head=head, tail=tail))
        return self._replace(rows=tuple(rows))

    def under(self, *tops: str) -> set[str]:
        """Return some bones and all below them."""
        below = set(tops)
        for row in self.rows:
            if row.parent in below:
                below.add(row.key)
        return below

    def ends(self, kind: str) -> list[str]:
        return [end for one, _, _, end in self.limbs if one == kind and end]


ONLY_NAMED = {"makehuman", "quaternius", "rigify", "trex", "scorpion", "crab", "ostrich"}
"""Families whose limbs are identified only by names."""

BEYOND_HEAD = {"biped", "valve", "vroid"}
"""Families whose head is identified only by names."""


def skeletons() -> Iterator[Skeleton]:
    """Yield all skeletons, with their names and without."""
    for name, layout in FAMILIES.items():
        joints = joints_of(layout, standing(layout.arm))
        sides = {joint.name: joint.side for joint in joints}
        rows = [Row(j.name, j.parent, j.head, j.side, j.name) for j in joints]
        limbs = [
            (kind, sides[line[0]], tuple(line), end)
            for kind, end, line in layout.parts
            if kind in ("ARM", "LEG")
        ]
        head = next(end for kind, end, _ in layout.parts if kind == "HEAD")
        yield Skeleton(name, tuple(rows), frozenset(limbs), head)
    for name, creature in CREATURES.items():
        rows = [
            _row(*joint)._replace(tail=creature.tails.get(joint[0])) for joint in creature.joints
        ]
        yield Skeleton(name, tuple(rows), frozenset(creature.limbs), creature.head)
    human = CREATURES["human"]
    for name, things in THINGS.items():
        rows = [_row(*joint) for joint in (*human.joints, *things)]
        yield Skeleton(f"human with {name}", tuple(rows), frozenset(human.limbs), human.head)


def _row(name: str, parent: str, head: Vec) -> Row:
    return Row(name, parent, head, {".L": 1, ".R": -1}.get(name[-2:], 0), name)


def nameless(skeleton: Skeleton) -> Skeleton:
    rows = [row._replace(name=f"Bone.{i:03}") for i, row in enumerate(skeleton.rows)]
    head = None if skeleton.family in BEYOND_HEAD else skeleton.head
    return skeleton._replace(rows=tuple(rows), head=head, is_named=False)


# Perturbations


def turned(skeleton: Skeleton, yaw: float) -> Skeleton:
    c, s = cos(yaw), sin(yaw)

    def turn(p: Vec) -> Vec:
        return (c * p[0] - s * p[1], s * p[0] + c * p[1], p[2])

    return _mapped(skeleton, turn)


def _mapped(skeleton: Skeleton, move: Callable[[Vec], Vec]) -> Skeleton:
    rows = [
        row._replace(head=move(row.head), tail=row.tail and move(row.tail)) for row in skeleton.rows
    ]
    return skeleton._replace(rows=tuple(rows))


def shaken(skeleton: Skeleton, share: float, seed: int) -> Skeleton:
    """Move each joint by up to a share of the height, as in sculpted characters."""
    random, size = Random(f"{skeleton.family} {seed}"), share * skeleton.height

    def move(row: Row) -> Vec:
        return add(
            row.head,
            (random.uniform(-size, size), random.uniform(-size, size), random.uniform(-size, size)),
        )

    return skeleton.moved(move)


def sculpted(skeleton: Skeleton, share: float, seed: int) -> Skeleton:
    """Move joints by up to a share of the height, both sides alike."""
    random, size = Random(f"{skeleton.family} {seed}"), share * skeleton.height
    moves: dict[tuple[float, ...], Vec] = {}

    def move(row: Row) -> Vec:
        key = (round(abs(row.head[0]), 5), round(row.head[1], 5), round(row.head[2], 5))
        if key not in moves:
            moves[key] = (
                random.uniform(-size, size),
                random.uniform(-size, size),
                random.uniform(-size, size),
            )
        x, y, z = moves[key]
        return add(row.head, (row.side * x, y, z))

    return skeleton.moved(move)


def bent(skeleton: Skeleton, kind: str, angle: float, sides: tuple[int, ...] = (1, -1)) -> Skeleton:
    """Turn limbs of a kind ahead about where they begin, by an angle in degrees."""
    for one, side, bones, _ in sorted(skeleton.limbs):
        if one == kind and side in sides:
            skeleton = pitched(skeleton, bones[0], angle)
    return skeleton


def flexed(skeleton: Skeleton, kind: str, angle: float) -> Skeleton:
    """Bend elbows or knees by an angle in degrees."""
    for one, _, bones, _ in sorted(skeleton.limbs):
        if one == kind and len(bones) > 1:
            skeleton = pitched(skeleton, bones[1], angle)
    return skeleton


def pitched(skeleton: Skeleton, bone: str, angle: float) -> Skeleton:
    """Turn a bone and those below it ahead about its head, by an angle in degrees."""
    pivot, below = skeleton.place(bone), skeleton.under(bone)

    def place(row: Row) -> Vec:
        if row.key not in below:
            return row.head
        return add(pivot, about_x(sub(row.head, pivot), radians(angle)))

    return skeleton.moved(place)


def resized(skeleton: Skeleton, kind: str, factor: float) -> Skeleton:
    """Scale limbs of a kind about where they begin; legs still stand on the ground."""
    for one, _, bones, _ in sorted(skeleton.limbs):
        if one == kind:
            pivot, below = skeleton.place(bones[0]), skeleton.under(bones[0])
            skeleton = skeleton.moved(
                lambda row, pivot=pivot, below=below: (
                    add(pivot, scaled(sub(row.head, pivot), factor))
                    if row.key in below
                    else row.head
                )
            )
    return skeleton


def big_head(skeleton: Skeleton, factor: float) -> Skeleton:
    if not skeleton.head:
        return skeleton
    pivot, below = skeleton.place(skeleton.head), skeleton.under(skeleton.head)
    return skeleton.moved(
        lambda row: (
            add(pivot, scaled(sub(row.head, pivot), factor)) if row.key in below else row.head
        )
    )


def cut(skeleton: Skeleton, tops: Iterable[str]) -> Skeleton:
    """Remove all below some bones, which stay."""
    gone = skeleton.under(*tops) - {*tops}
    return skeleton._replace(rows=tuple(row for row in skeleton.rows if row.key not in gone))


def with_ends(skeleton: Skeleton) -> Skeleton:
    """Add bones that mark where the last ones end, as exporters do."""
    parents = {row.parent for row in skeleton.rows}
    places = {row.key: row.head for row in skeleton.rows}
    rows = [*skeleton.rows]
    for row in skeleton.rows:
        if row.key not in parents and row.parent:
            step = sub(row.head, places[row.parent])
            rows.append(
                Row(
                    row.key + "_end",
                    row.key,
                    add(row.head, scaled(step, 0.6)),
                    row.side,
                    row.name + "_end",
                )
            )
    return skeleton._replace(rows=tuple(rows))


def with_root(skeleton: Skeleton) -> Skeleton:
    rows = [row if row.parent else row._replace(parent="+root") for row in skeleton.rows]
    return skeleton._replace(rows=(Row("+root", "", (0.0, 0.0, 0.0), 0, "Armature"), *rows))


def hung(skeleton: Skeleton, top: str, name: str, *steps: Vec) -> Skeleton:
    """Hang a chain on a bone, by steps in heights; with `*` in its name a pair of them."""
    size, start = skeleton.height, skeleton.place(top)
    rows = [*skeleton.rows]
    for letter, side in (("L", 1), ("R", -1)) if "*" in name else (("", 0),):
        parent, place = top, start
        for k, (x, y, z) in enumerate(steps):
            place = add(place, scaled(((side or 1) * x, y, z), size))
            key = f"+{name}{k}{letter}"
            label = name.replace("*", "") + (f"{k + 1}.{letter}" if letter else f"{k + 1}")
            rows.append(
                Row(
                    key, parent, place, side, label if skeleton.is_named else f"Bone.{len(rows):03}"
                )
            )
            parent = key
    return skeleton._replace(rows=tuple(rows))


def with_prop(skeleton: Skeleton, kind: str, name: str, *steps: Vec) -> Skeleton:
    ends = sorted(skeleton.ends(kind))
    return hung(skeleton, ends[0], name, *steps) if ends else skeleton


def worn(name: str, on: str, *steps: Vec) -> Callable[[Skeleton], Skeleton]:
    """Return what hangs something on the head, or on what carries arms or legs."""

    def wear(skeleton: Skeleton) -> Skeleton:
        if on == "head":
            return hung(skeleton, skeleton.head, name, *steps) if skeleton.head else skeleton
        top = _carrier(skeleton, on)
        return hung(skeleton, top, name, *steps) if top else skeleton

    return wear


def _carrier(skeleton: Skeleton, kind: str) -> str:
    """Return the bone of the trunk that carries the limbs of a kind; empty for none."""
    rows = {row.key: row for row in skeleton.rows}
    starts = sorted(bones[0] for one, _, bones, _ in skeleton.limbs if one == kind)
    if not starts:
        return ""
    key = starts[0]
    while key and rows[key].side:
        key = rows[key].parent
    return key


def reordered(skeleton: Skeleton, seed: int) -> Skeleton:
    """Shuffle the bones; parents stay first."""
    random = Random(f"{skeleton.family} {seed}")
    pending, rows, done = [*skeleton.rows], list[Row](), {""}
    random.shuffle(pending)
    while pending:
        row = next(one for one in pending if one.parent in done)
        pending.remove(row)
        rows.append(row)
        done.add(row.key)
    return skeleton._replace(rows=tuple(rows))


def renamed(skeleton: Skeleton, rename: Callable[[str], str]) -> Skeleton:
    rows = [row._replace(name=rename(row.name)) for row in skeleton.rows]
    return skeleton._replace(rows=tuple(rows))


def mirrored(skeleton: Skeleton) -> Skeleton:
    """Return it facing backward by its shape, as if left were right; names contradict that."""
    return turned(skeleton, radians(180.0))


UP, DOWN, BACK = (0.0, 0.0, 0.1), (0.0, 0.0, -0.1), (0.0, 0.08, -0.05)

PERTURBATIONS: dict[str, Callable[[Skeleton], Skeleton]] = {
    "as it is": lambda one: one,
    "turned 60": lambda one: turned(one, radians(60.0)),
    "turned 180": mirrored,
    "turned 250": lambda one: turned(one, radians(250.0)),
    "small": lambda one: _mapped(one, lambda p: scaled(p, 0.01)),
    "large": lambda one: _mapped(one, lambda p: scaled(p, 100.0)),
    "off the ground": lambda one: _mapped(one, lambda p: add(p, (3.0, -2.0, 5.0))),
    **{
        f"shaken {share:.1%} {seed}": lambda one, share=share, seed=seed: shaken(one, share, seed)
        for share in (0.002, 0.005, 0.01, 0.02)
        for seed in range(2)
    },
    **{
        f"sculpted {share:.0%} {seed}": lambda one, share=share, seed=seed: sculpted(
            one, share, seed
        )
        for share in (0.01, 0.02, 0.03)
        for seed in range(2)
    },
    "arms ahead": lambda one: bent(one, "ARM", -60.0),
    "one arm up": lambda one: bent(one, "ARM", -150.0, (1,)),
    "elbows bent": lambda one: flexed(one, "ARM", -70.0),
    "stride": lambda one: bent(bent(one, "LEG", -30.0, (1,)), "LEG", 25.0, (-1,)),
    "legs ahead": lambda one: bent(one, "LEG", -20.0),
    "knees bent": lambda one: flexed(bent(one, "LEG", -35.0), "LEG", 60.0),
    "sits": lambda one: flexed(bent(one, "LEG", -80.0), "LEG", 80.0),
    "long legs": lambda one: resized(one, "LEG", 1.4),
    "short legs": lambda one: resized(one, "LEG", 0.6),
    "very short legs": lambda one: resized(one, "LEG", 0.4),
    "long arms": lambda one: resized(one, "ARM", 1.5),
    "short arms": lambda one: resized(one, "ARM", 0.5),
    "big head": lambda one: big_head(one, 2.0),
    "toy": lambda one: big_head(resized(resized(one, "LEG", 0.5), "ARM", 0.6), 2.5),
    "no toes": lambda one: cut(one, one.ends("LEG")),
    "no fingers": lambda one: cut(one, one.ends("ARM")),
    "no toe on one side": lambda one: cut(one, sorted(one.ends("LEG"))[:1]),
    "no fingers on one side": lambda one: cut(one, sorted(one.ends("ARM"))[:1]),
    "nothing beyond the head": lambda one: cut(one, [one.head]) if one.head else one,
    "bones at the ends": with_ends,
    "another root": with_root,
    "sword": lambda one: with_prop(
        one, "ARM", "sword", (0.0, -0.05, 0.0), (0.0, -0.3, 0.0), (0.0, -0.3, 0.0)
    ),
    "chain in a hand": lambda one: with_prop(one, "ARM", "link", *[(0.0, 0.0, -0.08)] * 5),
    "stone in a foot": lambda one: with_prop(one, "LEG", "item", (0.0, -0.1, 0.0)),
    "ponytail": worn("hair", "head", (0.0, 0.05, 0.08), BACK, DOWN, DOWN),
    "pigtails": worn("hair*", "head", (0.05, 0.02, 0.06), (0.06, 0.02, -0.02), DOWN, DOWN, DOWN),
    "hat": worn("hat", "head", UP, UP, UP),
    "horns": worn("horn*", "head", (0.04, 0.0, 0.08), (0.05, 0.0, 0.06), UP),
    "cape": worn(
        "cape*", "ARM", (0.08, 0.06, 0.0), (0.02, 0.03, -0.2), (0.0, 0.02, -0.2), (0.0, 0.02, -0.2)
    ),
    "skirt": worn("skirt*", "LEG", (0.1, -0.03, 0.0), (0.03, -0.03, -0.15), (0.03, -0.03, -0.15)),
    "gown": worn(
        "cloth*",
        "LEG",
        (0.1, 0.03, 0.0),
        (0.03, 0.02, -0.2),
        (0.03, 0.02, -0.2),
        (0.0, 0.02, -0.08),
    ),
    "wings": worn(
        "wing*", "ARM", (0.05, 0.06, 0.02), (0.3, 0.1, 0.2), (0.3, 0.05, -0.05), (0.3, 0.0, -0.1)
    ),
    "tail": worn(
        "tail", "LEG", (0.0, 0.06, 0.0), (0.0, 0.15, -0.08), (0.0, 0.15, -0.08), (0.0, 0.1, -0.05)
    ),
    "backpack": worn("pack", "ARM", (0.0, 0.1, 0.0), (0.0, 0.05, -0.1), (0.0, 0.0, -0.1)),
    "shuffled 1": lambda one: reordered(one, 1),
    "shuffled 2": lambda one: reordered(one, 2),
    "prefix": lambda one: renamed(one, lambda name: f"Hero_{name}"),
    "namespace": lambda one: renamed(one, lambda name: f"hero:{name}"),
    "lower case": lambda one: renamed(one, str.lower),
    "upper case": lambda one: renamed(one, str.upper),
    "numbered": lambda one: renamed(one, lambda name: f"{name}.001"),
    "shaken toy": lambda one: shaken(PERTURBATIONS["toy"](one), 0.005, 3),
    "shaken stride": lambda one: shaken(PERTURBATIONS["stride"](one), 0.01, 4),
    "armoured": lambda one: PERTURBATIONS["cape"](
        PERTURBATIONS["skirt"](PERTURBATIONS["sword"](one))
    ),
    "angel": lambda one: PERTURBATIONS["wings"](
        PERTURBATIONS["gown"](PERTURBATIONS["pigtails"](one))
    ),
}


class Case(NamedTuple):
    """A skeleton after a perturbation, in the shape in which it is recognized, with its poses."""

    skeleton: Skeleton
    perturbation: str
    bones: list[RestBone]
    poses: tuple[list[Vec], ...] = ()

    @property
    def label(self) -> str:
        names = "" if self.skeleton.is_named else " nameless"
        return f"{self.skeleton.family}{names}: {self.perturbation}"


def bones_of(skeleton: Skeleton) -> list[RestBone]:
    index = {row.key: i for i, row in enumerate(skeleton.rows)}
    short = 0.005 * skeleton.height
    return [
        RestBone(
            row.name,
            index.get(row.parent, -1),
            row.head,
            row.tail or add(row.head, (0.0, 0.0, short)),
        )
        for row in skeleton.rows
    ]


def cases() -> Iterator[Case]:
    for plain in skeletons():
        for one in (plain, nameless(plain)):
            if not one.is_named and plain.family in ONLY_NAMED:
                continue
            for name, perturb in PERTURBATIONS.items():
                if one.is_named or name not in (
                    "prefix",
                    "namespace",
                    "lower case",
                    "upper case",
                    "numbered",
                ):
                    changed = perturb(one)
                    if changed.rows != one.rows or name == "as it is":
                        yield Case(changed, name, bones_of(changed))
            if plain.family in FAMILIES:
                yield captured(one)


def captured(skeleton: Skeleton) -> Case:
    """Return a walk of a person without a usable rest pose: all bones lie along one line."""
    heads: dict[str, Vec] = {"": (0.0, 0.0, 0.0)}
    places = {row.key: row.head for row in skeleton.rows}
    for row in skeleton.rows:
        step = dist(row.head, places[row.parent]) if row.parent else 0.0
        heads[row.key] = add(heads[row.parent], (step, 0.0, 0.0))
    layout = FAMILIES[skeleton.family]
    walk = [joints_of(layout, walking(0.8 * k, 0.7)) for k in range(9)]
    poses = [[joint.head for joint in pose] for pose in walk]
    rest = skeleton.moved(lambda row: heads[row.key])
    return Case(rest, "captured", bones_of(rest), tuple(poses))


def answers(case: Case, found: Anatomy) -> Iterator[tuple[str, bool, bool]]:
    """Yield each question (arms, legs, head), whether the answer is right, and whether it is marked
    as uncertain.
    """
    keys = {i: row.key for i, row in enumerate(case.skeleton.rows)} | {-1: ""}
    limbs = {
        (one.kind, one.side, tuple(keys[i] for i in one.bones), keys[one.end])
        for one in found.limbs
    }
    is_told = any(part_of(words_of(row.name)) not in ("", "OTHER") for row in case.skeleton.rows)
    missing = found.missing()
    doubt = not is_told or not found.limbs
    for kind, parts in (("ARM", ("ARMS", "HANDS")), ("LEG", ("LEGS", "FEET"))):
        right = {one for one in limbs if one[0] == kind} == {
            one for one in case.skeleton.limbs if one[0] == kind
        }
        yield kind, right, doubt or not {*parts}.isdisjoint(missing)
    if case.skeleton.head is not None:
        yield "HEAD", keys[found.head] == case.skeleton.head, doubt or "HEAD" in missing


def measure(of: Iterable[Case]) -> tuple[Counter[str], list[str]]:
    """Count answers that are right, wrong and said, and wrong and silent; list what is wrong."""
    counts, wrong = Counter[str](), list[str]()
    for case in of:
        for part, right, said in answers(case, recognize(case.bones, case.poses)):
            named = "named" if case.skeleton.is_named else "nameless"
            outcome = "right" if right else "wrong and said" if said else "wrong and silent"
            counts[outcome] += 1
            counts[f"{named}: {outcome}"] += 1
            if not right:
                wrong.append(f"{case.label}: {part} {'said' if said else 'silent'}")
    return counts, wrong


if __name__ == "__main__":
    counts, wrong = measure(cases())
    print("\n".join(wrong) if "-v" in sys.argv else "")
    for outcome, count in sorted(counts.items()):
        print(f"{outcome:28}{count:6}")
