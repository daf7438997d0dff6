"""Skeletons of many programs are recognized whole by their names, standing or from a capture."""

from collections.abc import Callable, Sequence
from math import cos, dist, pi, sin

import pytest
from families import FAMILIES, Joint, joints_of, standing, walking

from fabrik_solver.core.vectors import Vec, add, dot, mix
from fabrik_solver.motion.anatomy import Anatomy, RestBone, recognize

SHAPED = ("mgear",)
"""Families whose foot only a pose identifies: the bone called foot is its ball."""

YAW = 0.7
"""The direction of the captured figure."""

NAMED = ("makehuman", "quaternius", "rigify")
"""Families whose limbs only names identify: two clavicles, feet elsewhere, a single finger."""

BEYOND_HEAD = ("biped", "valve", "vroid")
"""Families whose head only names identify: hair or a pointer continues from it."""


def rest_of(joints: Sequence[Joint], way: Vec, mirrored: bool) -> list[Vec]:
    """Return an unusable rest pose: each bone along the same axis of its parent."""
    known = {joint.name: joint for joint in joints}
    heads: dict[str, Vec] = {"": (0.0, 0.0, 0.0)}
    for joint in joints:
        size = dist(joint.head, known[joint.parent].head) if joint.parent else 0.0
        size = -size if mirrored and joint.side < 0 else size
        x, y, z = way
        heads[joint.name] = add(heads[joint.parent], (size * x, size * y, size * z))
    return [heads[joint.name] for joint in joints]


def bones_of(joints: Sequence[Joint], heads: Sequence[Vec], names: bool = True) -> list[RestBone]:
    """Return the bones of joints, at other places; bones without a parent deform nothing."""
    index = {joint.name: i for i, joint in enumerate(joints)}
    return [
        RestBone(
            joint.name if names else f"Bone.{i:03}",
            index.get(joint.parent, -1),
            head,
            (head[0] + 0.1, head[1], head[2]),
            joint.parent != "",
        )
        for i, (joint, head) in enumerate(zip(joints, heads, strict=True))
    ]


def check(
    name: str, joints: Sequence[Joint], found: Anatomy, front: Vec, has_head: bool = True
) -> None:
    """Compare what was recognized with the family."""
    names = {i: joint.name for i, joint in enumerate(joints)} | {-1: ""}
    limbs = {(limb.kind, names[limb.end], *map(names.get, limb.bones)) for limb in found.limbs}
    parts = FAMILIES[name].parts
    assert limbs == {(kind, end, *line) for kind, end, line in parts if kind in ("ARM", "LEG")}
    assert all(joints[limb.bones[0]].side == limb.side for limb in found.limbs)
    assert dot(found.front, front) > 0.98
    spine = next(line for kind, _, line in parts if kind == "SPINE")
    assert [names[i] for i in found.spine[: len(spine)]] == spine
    assert not has_head or ("HEAD", names[found.head]) in [part[:2] for part in parts]
    assert found.missing() == ([] if all(end for _, end, _ in parts) else ["FEET"])


@pytest.mark.parametrize("arm", [0.0, 50.0, 80.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_standing_figures_are_recognized_at_rest(name: str, arm: float) -> None:
    joints = joints_of(FAMILIES[name], standing(arm))
    found = recognize(bones_of(joints, [joint.head for joint in joints]))
    check(name, joints, found, (0.0, -1.0, 0.0))
    assert found.pose == -1 and found.sureness > 0.9


def capture(name: str, way: Vec, mirrored: bool, names: bool) -> tuple[list[Joint], Anatomy]:
    """Recognize a walk with an unusable rest pose."""
    layout = FAMILIES[name]
    joints = joints_of(layout, standing(0.0))
    walk = [joints_of(layout, walking(2.0 * pi * k / 8, YAW)) for k in range(9)]
    bones = bones_of(joints, rest_of(joints, way, mirrored), names)
    return joints, recognize(bones, [[joint.head for joint in pose] for pose in walk])


REST_AXES = [((1.0, 0.0, 0.0), False), ((1.0, 0.0, 0.0), True), ((0.0, 0.0, 1.0), False)]


@pytest.mark.parametrize(("way", "mirrored"), REST_AXES, ids=["x", "mirrored", "z"])
@pytest.mark.parametrize("name", FAMILIES)
def test_captures_are_recognized_from_the_clip(name: str, way: Vec, mirrored: bool) -> None:
    joints, found = capture(name, way, mirrored, names=True)
    check(name, joints, found, (sin(YAW), -cos(YAW), 0.0))
    assert found.pose >= 0 and found.sureness > 0.9


@pytest.mark.parametrize(("way", "mirrored"), REST_AXES, ids=["x", "mirrored", "z"])
@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in NAMED])
def test_captures_without_names_are_recognized_by_twin_chains(
    name: str, way: Vec, mirrored: bool
) -> None:
    joints, found = capture(name, way, mirrored, names=False)
    check(name, joints, found, (sin(YAW), -cos(YAW), 0.0), has_head=name not in BEYOND_HEAD)
    assert found.evidence == "SHAPE" and found.pose >= 0


@pytest.mark.parametrize("arm", [0.0, 50.0])
@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in NAMED])
def test_standing_figures_without_names_are_recognized_by_symmetry(name: str, arm: float) -> None:
    joints = joints_of(FAMILIES[name], standing(arm))
    found = recognize(bones_of(joints, [joint.head for joint in joints], names=False))
    check(name, joints, found, (0.0, -1.0, 0.0), has_head=name not in BEYOND_HEAD)
    assert found.evidence == "AXIS" and found.pose == -1


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in SHAPED])
def test_names_alone_tell_the_parts(name: str) -> None:
    """Without a pose only the directions are unknown, and it says that it is not sure."""
    joints = joints_of(FAMILIES[name], standing(0.0))
    found = recognize(bones_of(joints, rest_of(joints, (1.0, 0.0, 0.0), False)))
    check(name, joints, found, found.front)
    assert found.sureness < 0.5


def chain(parent: str, name: str, *heads: Vec) -> list[Joint]:
    """Return a chain of bones on a bone, by numbered names."""
    names = [f"{name}_{k}" for k in range(len(heads))]
    return [
        Joint(*row, 0, head) for *row, head in zip(names, [parent, *names], heads, strict=False)
    ]


def end_of_limb(name: str, kind: str) -> str:
    return next(end for one, end, _ in FAMILIES[name].parts if one == kind)


def lower_bone(name: str) -> str:
    return next(line[-1] for kind, _, line in FAMILIES[name].parts if kind == "ARM")


def shield(name: str, joints: Sequence[Joint]) -> list[Joint]:
    """A shield on one forearm, which reaches farther than the hand."""
    x, y, z = next(joint.head for joint in joints if joint.name == lower_bone(name))
    return chain(lower_bone(name), "shield", (x, y - 0.1, z), (x, y - 0.1, z + 0.5))


def sword(name: str, joints: Sequence[Joint]) -> list[Joint]:
    """A sword in one hand, which reaches down to the floor."""
    hand = end_of_limb(name, "ARM")
    x, y, z = next(joint.head for joint in joints if joint.name == hand)
    return chain(hand, "sword", (x, y, z - 0.05), (x, y - 0.1, 0.5), (x, y - 0.2, 0.1))


def cape(name: str, joints: Sequence[Joint]) -> list[Joint]:
    """A cape on the bone that carries the arms, down to the calves."""
    known = {joint.name: joint for joint in joints}
    start = next(line[0] for kind, _, line in FAMILIES[name].parts if kind == "ARM")
    while known[start].side:
        start = known[start].parent
    rows = ((0.0, "middle"), (0.08, "one"), (-0.08, "other"))
    return [
        joint
        for x, row in rows
        for joint in chain(
            start, f"cape_{row}", *[(x, 0.09 + 0.02 * k, 1.46 - 0.24 * k) for k in range(6)]
        )
    ]


def marks(name: str, joints: Sequence[Joint]) -> list[Joint]:
    """Bones that mark where the last ones end, along these, as exporters add them."""
    known = {joint.name: joint.head for joint in joints}
    parents = {joint.parent for joint in joints}
    return [
        Joint(f"{one.name}_end", one.name, one.side, mix(known[one.parent], one.head, 1.6))
        for one in joints
        if one.name not in parents
    ]


WORN: list[tuple[str, Callable[[str, Sequence[Joint]], list[Joint]], bool]] = [
    ("mixamo", shield, True),
    ("unreal 5", shield, True),
    ("makehuman", shield, True),
    ("mixamo", shield, False),
    ("xsens", shield, False),
    ("mgear", sword, True),
    ("mixamo", cape, False),
    ("second life", cape, False),
    ("advanced skeleton", cape, False),
    ("roblox", marks, True),
    ("perception neuron", marks, True),
    ("rigify", marks, True),
]
"""What a family wears or carries, and whether the names mean anything."""


@pytest.mark.parametrize(
    ("name", "worn", "names"), WORN, ids=[f"{n}-{w.__name__}-{named}" for n, w, named in WORN]
)
def test_what_a_figure_wears_is_no_part_of_it(
    name: str, worn: Callable[[str, Sequence[Joint]], list[Joint]], names: bool
) -> None:
    joints = joints_of(FAMILIES[name], standing(35.0))
    joints += worn(name, joints)
    found = recognize(bones_of(joints, [joint.head for joint in joints], names))
    check(name, joints, found, (0.0, -1.0, 0.0))


@pytest.mark.parametrize("name", ["makehuman", "mmd", "advanced skeleton", "rigify", "cloudrig"])
def test_names_tell_the_parts_of_a_split_bone_that_are_not_quite_in_line(name: str) -> None:
    joints = joints_of(FAMILIES[name], standing(35.0))
    lines = [line for kind, _, line in FAMILIES[name].parts if kind in ("ARM", "LEG")]
    inner = {bone for line in lines for bone in line}
    moved = [
        joint._replace(head=add(joint.head, (0.0, (0.015, -0.015, 0.0)[k % 3], 0.0)))
        if joint.name in inner
        else joint
        for k, joint in enumerate(joints)
    ]
    found = recognize(bones_of(moved, [joint.head for joint in moved]))
    check(name, moved, found, (0.0, -1.0, 0.0))


WITHOUT: dict[str, tuple[list[tuple[str, int]], list[str]]] = {
    "legs": ([("LEG", 0), ("LEG", 0)], ["LEGS"]),
    "a leg": ([("LEG", 0)], ["LEGS"]),
    "a shin": ([("LEG", 1)], ["LEGS"]),
    "feet": ([("LEG", -1), ("LEG", -1)], ["FEET"]),
    "arms": ([("ARM", 0), ("ARM", 0)], ["ARMS"]),
    "an arm": ([("ARM", 0)], ["ARMS"]),
    "hands": ([("ARM", -1), ("ARM", -1)], ["HANDS"]),
    "neck": ([("HEAD", 0)], ["HEAD"]),
    "upper body": ([("SPINE", 0)], ["ARMS", "HEAD"]),
}
"""What a skeleton is cut off at: the bone of parts in their order; and what is missing then."""


def cut(joints: Sequence[Joint], first: set[str]) -> list[Joint]:
    """Return joints without some, and without those below them."""
    gone, left = set[str](), list[Joint]()
    for joint in joints:
        if joint.name in first or joint.parent in gone:
            gone.add(joint.name)
        else:
            left.append(joint)
    return left


@pytest.mark.parametrize("is_capture", [False, True])
@pytest.mark.parametrize("without", WITHOUT)
@pytest.mark.parametrize("name", ["cmu", "human ik", "biped", "lafan", "kinect", "smpl"])
def test_what_a_skeleton_lacks_is_told(name: str, without: str, is_capture: bool) -> None:
    """Like captures with parts not recorded, and rigs with parts left out."""
    layout = FAMILIES[name]
    places, missing = WITHOUT[without]
    parts = list(layout.parts)
    first: set[str] = set()
    for kind, place in places:
        part = next(part for part in parts if part[0] == kind)
        parts.remove(part)
        first.add(part[1] if place < 0 else part[2][place])
    joints = cut(joints_of(layout, standing(0.0)), first)
    heads = [joint.head for joint in joints]
    if is_capture:
        phases = [2.0 * pi * k / 8 for k in range(9)]
        walk = [cut(joints_of(layout, walking(phase, YAW)), first) for phase in phases]
        rest = bones_of(joints, rest_of(joints, (1.0, 0.0, 0.0), False))
        found = recognize(rest, [[joint.head for joint in pose] for pose in walk])
    else:
        found = recognize(bones_of(joints, heads))
    assert found.missing() == missing


def test_there_are_thirty_families() -> None:
    assert len(FAMILIES) >= 30
