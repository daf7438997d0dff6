"""The legs of insects and spiders are found by their symmetry, whatever their names are."""

from itertools import pairwise
from math import cos, pi, sin

import pytest

from fabrik_solver.core.vectors import Vec
from fabrik_solver.motion.anatomy import RestBone, body_bones
from fabrik_solver.motion.crawling import crawler_legs

PROFILES: dict[int, list[tuple[float, float]]] = {
    2: [(0.0, 0.0), (0.35, 1.0), (0.8, -1.0)],
    3: [(0.0, 0.0), (0.1, 0.1), (0.4, 1.0), (0.8, -1.0)],
    5: [(0.0, 0.0), (0.1, 0.1), (0.18, 0.2), (0.42, 1.0), (0.65, -0.6), (0.8, -1.0)],
}
"""How far out each joint of a leg is, and how high: 1 is the knee above the body, −1 the floor."""

Chain = tuple[str, str, list[Vec]]
"""The name of a chain of bones, its parent, and its joints."""


def insect(
    pairs: int, count: int, body: float, knee: float, extra: list[Chain] | None = None
) -> list[RestBone]:
    """An insect that faces −Y, with feelers and jaws, and meaningless names."""
    chains: list[Chain] = [
        ("root", "", [(0.0, 0.0, 0.0), (0.0, 0.0, 0.1)]),
        ("thorax", "root 0", [(0.0, 0.1, body), (0.0, -0.2, body)]),
        ("head", "thorax 0", [(0.0, -0.3, body), (0.0, -0.45, body)]),
        ("abdomen", "thorax 0", [(0.0, 0.1, body), (0.0, 0.4, body), (0.0, 0.7, body)]),
        *(extra or []),
    ]
    for sign, side in ((1.0, "a"), (-1.0, "b")):
        feeler = [(0.02, -0.45, body), (0.1, -0.6, body + 0.2), (0.2, -0.9, body + 0.1)]
        jaw = [(0.03, -0.45, body), (0.06, -0.5, body), (0.03, -0.55, body)]
        for name, joints in (("feeler", feeler), ("jaw", jaw)):
            chains.append((name + side, "head 0", [(sign * x, y, z) for x, y, z in joints]))
        for i in range(pairs):
            share = i / (pairs - 1)
            angle, start = (-0.7 + 1.4 * share), -0.2 + 0.3 * share
            joints = []
            for out, high in PROFILES[count]:
                x, y = 0.05 + out * cos(angle), start + out * sin(angle)
                joints.append((sign * x, y, body + high * (knee if high > 0.0 else body)))
            chains.append((f"leg{i}{side}", "thorax 0", joints))
    bones: list[RestBone] = []
    index: dict[str, int] = {"": -1}
    for name, parent, joints in chains:
        above = index[parent]
        for i, (head, tail) in enumerate(pairwise(joints)):
            index[f"{name} {i}"] = len(bones)
            bones.append(RestBone(f"{name} {i}", above, head, tail))
            above = index[f"{name} {i}"]
    return bones


@pytest.mark.parametrize("count", PROFILES)
@pytest.mark.parametrize("pairs", [3, 4, 5])
@pytest.mark.parametrize(("body", "knee"), [(0.3, 0.25), (0.5, 0.05), (0.15, 0.4)])
def test_legs_are_found_whole_and_nothing_else(
    pairs: int, count: int, body: float, knee: float
) -> None:
    bones = insect(pairs, count, body, knee)
    found = {tuple(bones[i].name for i in leg) for leg in crawler_legs(bones)}
    assert found == {
        tuple(f"leg{i}{side} {k}" for k in range(count)) for i in range(pairs) for side in "ab"
    }


def test_names_and_direction_make_no_difference() -> None:
    bones = insect(4, 3, 0.3, 0.25)
    turned = [
        RestBone("Bone", one.parent, (one.head[1], -one.head[0], one.head[2]),
                 (one.tail[1], -one.tail[0], one.tail[2]))
        for one in bones
    ]  # fmt: skip
    assert set(crawler_legs(turned)) == set(crawler_legs(bones))


def test_two_pairs_and_controls_are_no_crawler() -> None:
    assert crawler_legs(insect(2, 3, 0.3, 0.25)) == []
    bones = insect(3, 3, 0.3, 0.25)
    controls = [
        one._replace(name=f"IK {one.name}", parent=0)
        for one in bones
        if one.name.startswith("leg") and one.name.endswith("2")
    ]
    assert crawler_legs([*bones, *controls]) == crawler_legs(bones)
    assert crawler_legs([]) == [] and body_bones([]) == []


def test_toes_are_no_legs() -> None:
    """Five toes of each foot on the floor, and the leg that they are on."""
    chains: list[Chain] = []
    for sign, side in ((1.0, "a"), (-1.0, "b")):
        leg = [(0.1, 0.0, 0.9), (0.1, -0.05, 0.5), (0.1, 0.0, 0.08), (0.1, -0.1, 0.02)]
        chains.append((f"thigh{side}", "root 0", [(sign * x, y, z) for x, y, z in leg]))
        for i in range(5):
            angle = pi * (0.3 + 0.1 * i)
            toe = [(0.1 + r * cos(angle), -0.1 - r * sin(angle), 0.02) for r in (0.0, 0.05, 0.1)]
            chains.append(
                (f"toe{i}{side}", f"thigh{side} 2", [(sign * x, y, z) for x, y, z in toe])
            )
    bones = [one for one in insect(2, 3, 0.3, 0.25, chains) if not one.name.startswith("leg")]
    places = {one.name: i for i, one in enumerate(bones)}
    old = insect(2, 3, 0.3, 0.25, chains)
    bones = [
        one._replace(parent=-1 if one.parent < 0 else places[old[one.parent].name]) for one in bones
    ]
    assert crawler_legs(bones) == []
