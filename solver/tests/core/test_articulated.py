"""The linear system of an articulated body: its solutions, and how its cost grows."""

import sys
from random import Random

import pytest

from fabrik_solver.core import articulated
from fabrik_solver.core.articulated import NO_AXES, ArticulatedSystem, Freedom, Part
from fabrik_solver.core.joint_system import Block, Three
from fabrik_solver.core.vectors import ORIGIN, Vec, cross, dot
from fabrik_solver.core.whole_body import (
    DRAGGED,
    PINNED,
    WholeBody,
    WholeBodyGoal,
    WholeBodyJoint,
)

X: Vec = (1.0, 0.0, 0.0)
Y: Vec = (0.0, 1.0, 0.0)
Z: Vec = (0.0, 0.0, 1.0)
AXES: Three = (X, Y, Z)
HELD = 2
"""The freedom with a held axis."""

CARRIERS = [-1, 0, 1, 2, 3, 1, 5, 5]
"""The carrier of each bone. Bone 5 doesn't inherit rotation."""


def random_vector(random: Random) -> Vec:
    return (random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1))


def random_system(random: Random) -> ArticulatedSystem:
    """Return the system of eight bones; bone 1 follows bone 4, with two bones in between."""
    system = ArticulatedSystem()
    for index, carrier in enumerate(CARRIERS):
        head = random_vector(random)
        part = Part(system.parts[carrier] if carrier >= 0 else None, index != 5, head)
        part.stiffness.add_point((300.0, 200.0, 500.0), random_vector(random))
        part.stiffness.add_turn((0.5, 2.0, 1.0))
        part.stiffness.add_tension(random_vector(random), random_vector(random))
        if carrier < 0:
            part.freedoms.append(Freedom(index, NO_AXES, NO_AXES, AXES))
        slides = (cross(head, X), cross(head, Y), cross(head, Z))
        part.freedoms.append(Freedom(index, AXES, AXES, slides))
        for freedom in part.freedoms:
            freedom.own.add_diagonal((3.0, 4.0, 5.0))
        system.parts.append(part)
        system.freedoms.extend(part.freedoms)
    return system


def couple(system: ArticulatedSystem, factor: float) -> None:
    leader = system.parts[1].freedoms[-1]
    for index in (2, 3, 4):
        system.parts[index].freedoms[-1].couple(leader)
    coupling = Block()
    coupling.add_products(factor, ((1.0, 0.2, 0.0), (0.0, 1.0, 0.3), Z), AXES)
    system.parts[4].freedoms[-1].coupling = coupling


def product(system: ArticulatedSystem, step: list[Vec]) -> list[Vec]:
    """Return the matrix times a step, from the motions of all bones."""
    system.moved(step)
    for part in system.parts:
        force = part.stiffness.force(part.spin, part.slide)
        part.torque = part.stiffness.torque(part.spin, part.slide)
        part.force = force
    numbers = [list(vector) for vector in system.loaded()]
    places = {id(freedom): index for index, freedom in enumerate(system.freedoms)}
    for index, freedom in enumerate(system.freedoms):
        add_block(freedom.own, step[index], numbers[index], is_transposed=False)
        if freedom.coupling is not None and freedom.leader is not None:
            leader = places[id(freedom.leader)]
            add_block(freedom.coupling, step[leader], numbers[index], is_transposed=False)
            add_block(freedom.coupling, step[index], numbers[leader], is_transposed=True)
    return [(x, y, z) for x, y, z in numbers]


def add_block(block: Block, vector: Vec, numbers: list[float], *, is_transposed: bool) -> None:
    rows = ((block.a, block.b, block.c), (block.d, block.e, block.f), (block.g, block.h, block.i))
    if is_transposed:
        rows = articulated.transposed(rows)
    for index, row in enumerate(rows):
        numbers[index] += dot(row, vector)


@pytest.mark.parametrize("factor", [0.0, 1.5])
def test_a_solution_solves_the_system(factor: float) -> None:
    """Also through bones that don't inherit rotation, with coupled bones and a held axis."""
    random = Random(52)
    system = random_system(random)
    if factor > 0.0:
        couple(system, factor)
    held = system.freedoms[HELD]
    held.walls = 1
    assert held.hold((0.1, 0.0, 0.0), 1e-12)
    right = [random_vector(random) for _ in system.freedoms]
    assert system.factorize(0.0)
    step = system.solved(right)
    assert step[HELD][0] == 0.0
    for index, (found, wanted) in enumerate(zip(product(system, step), right, strict=True)):
        if index == HELD:
            found = (wanted[0], found[1], found[2])
        assert found == pytest.approx(wanted, abs=1e-8)


def test_an_indefinite_system_has_no_factors() -> None:
    """It has them with enough damping."""
    system = random_system(Random(52))
    system.freedoms[-1].own.add_diagonal((-1e4, 0.0, 0.0))
    assert not system.factorize(0.0)
    assert system.factorize(1e4)


def calls_of_a_step(count: int) -> float:
    """Return the number of Python calls in a Newton step of a chain that is bent."""
    joints = [
        WholeBodyJoint(index - 1, (index / count, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
        for index in range(count)
    ]
    goals = [
        WholeBodyGoal(0, ORIGIN, PINNED, location=ORIGIN),
        WholeBodyGoal(count - 1, X, DRAGGED, location=(0.8, 0.3, 0.0)),
    ]
    calls = 0

    def count_calls(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    body = WholeBody(joints)
    sys.setprofile(count_calls)
    try:
        steps = body.solve(goals).steps
    finally:
        sys.setprofile(None)
    return calls / steps


@pytest.mark.skipif(not articulated.__file__.endswith(".py"), reason="compiled calls aren't seen")
def test_a_step_costs_in_proportion_to_the_bones() -> None:
    assert calls_of_a_step(80) < 6.0 * calls_of_a_step(20)
