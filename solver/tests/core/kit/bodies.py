"""Bodies to test with: branching bones, and chains that share some of them."""

import math
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from strategies import random_direction, random_turn

from fabrik_solver import (
    WHOLE,
    BodyInput,
    BodyPosture,
    Bone,
    Frame,
    Goal,
    Limit,
    Local,
    Member,
    Pull,
    point_in,
    pose_body,
)
from fabrik_solver.core import vectors

Y_AXIS: vectors.Vec = (0.0, 1.0, 0.0)
Drawing = list[tuple[str, vectors.Vec, vectors.Vec, str]]
"""Name, head, tail and parent of each bone, as in Edit Mode."""


def _chain(names: Sequence[str], joints: Sequence[vectors.Vec], parent: str) -> Drawing:
    parents = [parent, *names]
    pairs = zip(names, joints, joints[1:], parents, strict=False)
    return [(name, head, tail, above) for name, head, tail, above in pairs]


def _mirrored(drawing: Drawing) -> Drawing:
    """The other side of what is named with an L."""

    def other(name: str) -> str:
        return name.replace(".L", ".R")

    return [
        (other(name), (-head[0], *head[1:]), (-tail[0], *tail[1:]), other(parent))
        for name, head, tail, parent in drawing
    ]


def _both(drawing: Drawing) -> Drawing:
    return drawing + _mirrored(drawing)


Y_SHAPE: Drawing = [
    *_chain(["A", "B"], [(0.0, 0.0, 0.0), (0.0, 0.05, 1.0), (0.0, 0.0, 2.0)], ""),
    *_both(_chain(["C.L", "D.L"], [(0.0, 0.0, 2.0), (0.7, 0.0, 2.7), (0.7, 0.1, 3.7)], "B")),
]
HAND: Drawing = [
    *_chain(["Arm", "Palm"], [(0.0, -3.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.9, 0.0)], ""),
    *[
        bone
        for i, x in enumerate((-0.5, -0.25, 0.0, 0.25, 0.5))
        for bone in _chain(
            [f"{part}{i}" for part in "PQR"],
            [(x, 0.9, 0.0), (x * 1.2, 1.4, 0.1), (x * 1.3, 1.75, 0.1), (x * 1.4, 2.0, 0.0)],
            "Palm",
        )
    ],
]
TORSO: Drawing = [
    *_chain(
        ["S1", "S2", "S3"],
        [(0.0, 0.0, 0.0), (0.0, 0.03, 0.2), (0.0, 0.02, 0.4), (0.0, 0.0, 0.6)],
        "",
    ),
    *_both(
        _chain(
            ["Clavicle.L", "Upper.L", "Lower.L"],
            [(0.02, 0.0, 0.55), (0.18, 0.0, 0.55), (0.46, 0.05, 0.5), (0.72, 0.0, 0.45)],
            "S3",
        )
    ),
]
HUMANOID: Drawing = [
    *_chain(
        ["Pelvis", "Spine", "Chest", "Head"],
        [(0.0, 0.0, z) for z in (1.0, 1.15, 1.35, 1.55, 1.8)],
        "",
    ),
    *_both(
        _chain(
            ["Upper.L", "Lower.L"], [(0.2, 0.0, 1.5), (0.5, 0.0, 1.5), (0.78, 0.0, 1.5)], "Chest"
        )
    ),
    *_both(
        _chain(
            ["Thigh.L", "Shin.L"], [(0.1, 0.0, 1.0), (0.1, 0.0, 0.55), (0.1, 0.0, 0.1)], "Pelvis"
        )
    ),
]
"""In a T pose, with straight arms and legs."""

SPIDER: Drawing = [
    ("Body", (0.0, -0.4, 0.5), (0.0, 0.4, 0.5), ""),
    *[
        bone
        for i in range(8)
        for bone in _chain(
            [f"{part}{i}" for part in "PQR"],
            [
                (
                    radius * math.cos(0.4 + i * math.pi / 4.0),
                    radius * math.sin(0.4 + i * math.pi / 4.0),
                    z,
                )
                for radius, z in ((0.2, 0.5), (0.5, 0.7), (0.9, 0.6), (1.1, 0.0))
            ],
            "Body",
        )
    ],
]


class Tree(NamedTuple):
    """The bones of a drawing, and chains among them.

    Attributes:
        names: The place of each bone.
        bones: The same as the solver takes them.
        parents: The place of each one's parent.
        members: The chains.
    """

    names: dict[str, int]
    bones: list[Bone]
    parents: list[int]
    members: list[Member]

    def body(
        self,
        channels: Sequence[Local] | None = None,
        limits: Sequence[Limit | None] = (),
        stiffness: Sequence[float] = (),
        frame: Frame = WHOLE,
    ) -> BodyInput:
        """The body under some FK pose."""
        given = channels or [Local() for _ in self.bones]
        return BodyInput(self.bones, given, self.parents, frame, self.members, limits, stiffness)

    def member(self, tip: str, top: str = "") -> Member:
        """A chain that ends in the tail of a bone."""
        places = [self.names[tip]]
        while places[0] != self.names.get(top, -1) and self.parents[places[0]] >= 0:
            places.insert(0, self.parents[places[0]])
        return Member(places, (0.0, self.bones[places[-1]].length, 0.0), [None] * len(places))

    def with_chains(self, *ends: tuple[str, str]) -> "Tree":
        """The same bones with other chains, each given by its tip and its first bone."""
        return self._replace(members=[self.member(tip, top) for tip, top in ends])


def tree_of(drawing: Drawing, *tips: str, mode: str = "FULL") -> Tree:
    """The bones of a drawing, with chains from the first bone to these tips."""
    names: dict[str, int] = {}
    bones: list[Bone] = []
    parents: list[int] = []
    places: list[tuple[vectors.Quat, vectors.Vec]] = []
    for name, head, tail, above in drawing:
        along = vectors.sub(tail, head)
        turn = vectors.quat_between(Y_AXIS, vectors.unit(along) or Y_AXIS, (1.0, 0.0, 0.0))
        size = math.dist(head, tail)
        names[name] = len(bones)
        if above:
            parent, origin = places[names[above]]
            back = (parent[0], -parent[1], -parent[2], -parent[3])
            rest = vectors.quat_matrix(vectors.quat_product(back, turn))
            at = vectors.rotate(back, vectors.sub(head, origin))
            bones.append(Bone(rest, at, size, vectors.quat_matrix(parent), mode))
        else:
            bones.append(Bone(vectors.quat_matrix(turn), head, size, inherit_scale=mode))
        parents.append(names.get(above, -1))
        places.append((turn, head))
    tree = Tree(names, bones, parents, [])
    return tree.with_chains(*[(tip, "") for tip in tips])


SHAPES = {
    "Y": tree_of(Y_SHAPE, "D.L", "D.R"),
    "hand": tree_of(HAND, *[f"R{i}" for i in range(5)]),
    "torso": tree_of(TORSO, "Lower.L", "Lower.R"),
    "humanoid": tree_of(HUMANOID, "Head", "Lower.L", "Lower.R", "Shin.L", "Shin.R"),
    "spider": tree_of(SPIDER, *[f"R{i}" for i in range(8)]),
}


def standing(
    body: BodyInput, rotations: Sequence[vectors.Quat], location: vectors.Vec
) -> BodyPosture:
    """The body under other rotations, and another location of its first bone."""
    posture = body.fk()
    posture.rotations, posture.location = list(rotations), location
    return posture


def tips_at(
    body: BodyInput, rotations: Sequence[vectors.Quat], location: vectors.Vec = vectors.ORIGIN
) -> list[vectors.Vec]:
    """Where the tips of the chains are under the given rotations."""
    frames = body.frames(standing(body, rotations, location))
    return [point_in(frames[member.bones[-1]], member.tip) for member in body.members]


def tips_of(body: BodyInput, posture: BodyPosture) -> list[vectors.Vec]:
    return tips_at(body, posture.rotations, posture.location)


def rest_tips(body: BodyInput) -> list[vectors.Vec]:
    """Where the tips are under the FK pose."""
    return tips_at(body, [local.rotation for local in body.locals], body.locals[0].location)


def joints_of_body(body: BodyInput, posture: BodyPosture) -> list[vectors.Vec]:
    """The heads of all bones, and the tips."""
    frames = body.frames(posture)
    return [frame[1] for frame in frames] + tips_of(body, posture)


def reach_of(body: BodyInput) -> float:
    """The length of the longest chain, under the FK pose."""
    frames = body.frames(body.fk())
    longest = 0.0
    for member in body.members:
        joints = [frames[i][1] for i in member.bones]
        joints.append(point_in(frames[member.bones[-1]], member.tip))
        longest = max(longest, sum(map(math.dist, joints, joints[1:])))
    return longest


def random_pose(rng: random.Random, body: BodyInput, most: float) -> list[vectors.Quat]:
    """The FK pose with each bone turned by up to so much."""
    return [vectors.quat_product(random_turn(rng, most), local.rotation) for local in body.locals]


def solved(body: BodyInput, targets: Sequence[vectors.Vec], **settings: float) -> BodyPosture:
    """All chains pull at their targets, with the same settings."""
    return pose_body(body, [Pull(Goal(target), **settings) for target in targets])


def missed(body: BodyInput, posture: BodyPosture, targets: Sequence[vectors.Vec]) -> float:
    """The largest distance from a tip to its target, as a share of the reach."""
    return max(map(math.dist, tips_of(body, posture), targets)) / reach_of(body)


def posed(rng: random.Random, tree: Tree, most: float = 0.4) -> list[Local]:
    """An FK pose in which every bone is turned."""
    return [Local(vectors.ORIGIN, random_turn(rng, most)) for _ in tree.bones]


def smooth_path(seed: int, start: vectors.Vec, size: float) -> Callable[[float], vectors.Vec]:
    """A closed curve from a place and back, on which the speed is known by differences."""
    rng = random.Random(seed)
    waves = [(random_direction(rng), rng.uniform(0.0, 6.28), k) for k in (1, 1, 2)]

    def place(t: float) -> vectors.Vec:
        at = start
        for direction, phase, k in waves:
            x, y, z = direction
            sway = math.sin(2.0 * math.pi * k * t + phase) - math.sin(phase)
            at = vectors.add(at, vectors.scaled((x, y, z), size * sway))
        return at

    return place
