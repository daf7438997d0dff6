"""The linear equations between the effectors of a body, and the fit of a rigid bone."""

import random
from itertools import chain
from operator import mul

import pytest
from strategies import random_direction, random_turn

from fabrik_solver.core import vectors
from fabrik_solver.core.block_solver import Effector, Lever, System, TreeSystem
from fabrik_solver.core.tree import NEARLY_FITS, fitted


def random_matrix(rng: random.Random) -> vectors.Mat3:
    return tuple(rng.uniform(-1.0, 1.0) for _ in range(9))  # type: ignore[return-value]


def assert_identity(m: vectors.Mat3) -> None:
    assert m == pytest.approx((1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), abs=1e-9)


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_the_forces_solve_the_equations(count: int) -> None:
    """Checked against J, written out with a row for each number of the effectors' velocities."""
    rng = random.Random(count)
    for _ in range(20):
        effectors = [
            Effector(0, vectors.ORIGIN, vectors.ORIGIN, rng.uniform(0.1, 1.0)) for _ in range(count)
        ]
        system = System(effectors)
        damping = 10.0 ** rng.uniform(-3.0, 0.0)
        for _ in range(2):  # Solving again begins anew.
            columns: list[list[float]] = []
            system.reset(damping)
            for _ in range(5):
                levers = [Lever(i, e) for i, e in enumerate(effectors) if rng.random() < 0.6]
                for lever in levers:
                    lever.motion_left = random_matrix(rng)
                system.add_rotation(levers)
                for k in range(3):
                    column = [0.0] * (3 * count)
                    for lever in levers:
                        rows = slice(3 * lever.number, 3 * lever.number + 3)
                        column[rows] = lever.motion_left[k::3]
                    columns.append(column)
            system.add_translation(0.7, vectors.IDENTITY)
            for k in range(3):
                columns.append([0.7 * e.pull * (i == k) for e in effectors for i in range(3)])
            for effector in effectors:
                effector.gap = random_direction(rng)
            system.solve()
            forces = [x for effector in effectors for x in effector.force]
            gaps = [x for effector in effectors for x in effector.gap]
            turns = [sum(map(mul, column, forces)) for column in columns]
            for row, gap in enumerate(gaps):
                made = sum(column[row] * turn for column, turn in zip(columns, turns, strict=True))
                assert made + damping * forces[row] == pytest.approx(gap, abs=1e-9)


def nested(rng: random.Random, effectors: list[Effector]) -> list[list[Lever]]:
    """The levers of the bones of a tree whose ends the effectors are, parents first."""
    bones = [[Lever(i, effector) for i, effector in enumerate(effectors)]]
    for levers in bones:
        if len(levers) > 1 or rng.random() < 0.5:
            middle = rng.randrange(len(levers))
            parts = (levers[:middle], levers[middle:])
            bones += [[Lever(x.number, x.effector) for x in part] for part in parts if part]
    return bones


@pytest.mark.parametrize("is_free", [False, True])
@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_the_forces_are_the_same_by_the_shared_bones(count: int, is_free: bool) -> None:
    rng = random.Random(count)
    for _ in range(20):
        effectors = [
            Effector(0, vectors.ORIGIN, vectors.ORIGIN, rng.uniform(0.1, 1.0)) for _ in range(count)
        ]
        bones = nested(rng, effectors)
        for lever in chain.from_iterable(bones):
            lever.motion_left = random_matrix(rng)
        for effector in effectors:
            effector.gap = random_direction(rng)
        forces: list[list[float]] = []
        damping = 10.0 ** rng.uniform(-3.0, 0.0)
        for system in (System(effectors), TreeSystem(effectors), TreeSystem(effectors)):
            system.reset(damping)
            if is_free:
                system.add_translation(0.7, vectors.IDENTITY)
            for levers in bones:
                system.add_rotation(levers)
            system.solve()
            forces.append([x for effector in effectors for x in effector.force])
        assert forces[1] == pytest.approx(forces[0], abs=1e-8)
        assert forces[2] == forces[1]


def test_inverses() -> None:
    rng = random.Random(1)
    for _ in range(50):
        m = random_matrix(rng)
        assert_identity(vectors.mat_product(vectors.mat_inverse(m), m))
        x, y, z = (random_direction(rng) for _ in range(3))
        square = vectors.add_product(
            vectors.add_product(vectors.add_product(vectors.ZEROS, x, x), y, y), z, z
        )
        assert_identity(vectors.mat_product(vectors.symmetric_inverse(square), square))
    assert (
        vectors.mat_inverse(vectors.ZEROS)
        == vectors.symmetric_inverse(vectors.ZEROS)
        == vectors.ZEROS
    )


def moments(arms: list[vectors.Vec], turn: vectors.Quat) -> vectors.Mat3:
    """What a fit of the arms to themselves, turned, depends on."""
    spread = vectors.ZEROS
    for arm in arms:
        spread = vectors.add_product(spread, arm, vectors.rotate(turn, arm))
    return spread


def test_a_rigid_fit_finds_the_rotation_of_its_arms() -> None:
    rng = random.Random(2)
    for _ in range(50):
        arms = [vectors.scaled(random_direction(rng), rng.uniform(0.5, 2.0)) for _ in range(12)]
        wanted = random_turn(rng, 1.5)
        found = vectors.QUAT_IDENTITY
        for _ in range(10):  # It converges linearly, over all passes of the shape.
            found = fitted(found, moments(arms, wanted), 1e-12)
        assert vectors.quat_angle(found, wanted) <= 1e-9
        assert vectors.quat_angle(fitted(found, moments(arms, wanted), NEARLY_FITS), found) <= 1e-12


def test_a_rigid_fit_that_nothing_tells_stays_where_it_is() -> None:
    turn = random_turn(random.Random(3), 1.0)
    assert fitted(turn, vectors.ZEROS, 1e-12) == pytest.approx(turn)
    arm = (0.0, 1.0, 0.0)  # One arm does not determine the rotation about itself.
    found = fitted(vectors.QUAT_IDENTITY, moments([arm], (0.8, 0.6, 0.0, 0.0)), 1e-12)
    assert found == pytest.approx((0.8, 0.6, 0.0, 0.0), abs=1e-9)
