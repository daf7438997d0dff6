"""A straight chain bends by its rest pose or its hinges, not by its rounding."""

import random

import pytest
from strategies import random_direction

import fabrik_solver
from fabrik_solver.core import vectors
from fabrik_solver.core.posture import rotations_of

X: vectors.Vec = (1.0, 0.0, 0.0)
AT_REST = fabrik_solver.Local(vectors.ORIGIN, vectors.QUAT_IDENTITY, (1.0, 1.0, 1.0))


@pytest.mark.parametrize("seed", range(40))
def test_rounding_of_a_straight_chain_tells_no_side(seed: int) -> None:
    """In single precision the joints of a slanted straight limb are beside its line."""
    chance = random.Random(seed)
    axis = random_direction(chance)
    side = vectors.unit(vectors.across(random_direction(chance), axis)) or vectors.ORIGIN
    noise = [vectors.scaled(random_direction(chance), 1e-7) for _ in range(5)]
    joints = tuple(vectors.add(vectors.scaled(axis, float(i)), noise[i]) for i in range(5))
    _, found, keep = fabrik_solver.Chain(joints, side, is_sure=True).bending()
    assert vectors.dot(found, side) > 0.99
    assert keep < 0.01


@pytest.mark.parametrize("solver", ["FABRIK", "TWO_BONE"])
@pytest.mark.parametrize("limits", [(0.0, 2.5), (-2.5, 0.0), (-0.1, 2.0)])
@pytest.mark.parametrize("count", [2, 4])
def test_a_straight_chain_bends_as_its_hinge_lets_it(
    limits: tuple[float, float], count: int, solver: str
) -> None:
    """Also where its bones are split in halves that do not bend."""
    bones = [
        fabrik_solver.Bone(vectors.IDENTITY, (0.0, 1.0 if i else 0.0, 0.0), 1.0)
        for i in range(count)
    ]
    knee = count // 2
    stiff = fabrik_solver.Hinge(X, (0.0, 0.0))
    hinges = [fabrik_solver.Hinge(X, limits) if i == knee else stiff for i in range(1, count)]
    given = fabrik_solver.ChainInput(
        bones, [AT_REST] * count, (0.0, 1.0, 0.0), fabrik_solver.WHOLE, limits=[None, *hinges]
    )  # fmt: skip
    bend = given.chain.bend
    assert bend is not None and given.chain.is_sure
    # A positive rotation about X takes the bone after the knee from Y to Z.
    assert bend == pytest.approx((0.0, 0.0, -1.0 if sum(limits) > 0.0 else 1.0))
    if count == 4 and solver == "TWO_BONE":
        return
    posture = fabrik_solver.pose_chain(given, fabrik_solver.Goal((0.0, 0.8 * count, 0.0)), solver)
    assert posture.state == "REACHED"
    place = fabrik_solver.chain_frames(given, rotations_of(posture.numbers))[knee][1]
    assert vectors.dot(vectors.across(place, (0.0, 1.0, 0.0)), bend) > 0.3


def test_hinges_that_turn_either_way_tell_no_side() -> None:
    bones = [
        fabrik_solver.Bone(vectors.IDENTITY, (0.0, 1.0 if i else 0.0, 0.0), 1.0) for i in range(3)
    ]
    limits = [
        fabrik_solver.Hinge(X, (-1.0, 2.0)),
        fabrik_solver.Hinge(X, (-1.0, 1.0)),
        fabrik_solver.Hinge((0.0, 1.0, 0.0), (0.0, 2.0)),
    ]
    plain = fabrik_solver.ChainInput(bones, [AT_REST] * 3, (0.0, 1.0, 0.0), fabrik_solver.WHOLE)
    given = fabrik_solver.ChainInput(
        bones, [AT_REST] * 3, (0.0, 1.0, 0.0), fabrik_solver.WHOLE, limits=limits
    )
    assert not given.chain.is_sure and given.chain.bend == plain.chain.bend
