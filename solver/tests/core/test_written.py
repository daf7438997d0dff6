"""What is measured on written channels is where Blender's rules put the joints."""

import random
from array import array
from math import dist

import pytest
from counting import calls_of
from strategies import SCALE_MODES, Rig, joints_of, random_rig, random_turn, tip_of

from fabrik_solver import WHOLE, ChainInput, Frame, Local, Written, measured_tip, point_in
from fabrik_solver.core.vectors import IDENTITY, Vec, quat_matrix, scale_columns

ORIGINAL = WHOLE, WHOLE


def chain_of(rig: Rig, parent: Frame = WHOLE) -> ChainInput:
    return ChainInput(*rig, tip_of(rig), parent)


def written_of(rig: Rig, size: float = 1.0) -> Written:
    """The pose of a rig as written in single precision, with quaternions of a length."""
    rotations = [number * size for local in rig[1] for number in local.rotation]
    return Written(
        array("f", rotations).tolist(), [local.scale for local in rig[1]], rig[1][0].location
    )


def posed(rng: random.Random, rig: Rig, most: float) -> Rig:
    """The rig in another pose; only its first bone has another location."""
    locals_ = [
        Local(
            local.location if i else (rng.uniform(-most, most), 0.1, 0.0),
            random_turn(rng, 2.0),
            tuple(number * rng.uniform(1.0, 1.0 + most) for number in local.scale),
        )
        for i, local in enumerate(rig[1])
    ]
    return rig[0], locals_


@pytest.mark.parametrize("scale", [1.0, 1.7])
@pytest.mark.parametrize("inherits_rotation", [True, False])
@pytest.mark.parametrize("mode", SCALE_MODES)
def test_a_written_tip_is_where_blender_shows_it(
    mode: str, inherits_rotation: bool, scale: float
) -> None:
    rng = random.Random(f"{mode} {inherits_rotation}")
    for case in range(20):
        rig = random_rig(rng, 1 + case % 5, mode, inherits_rotation, case % 2 == 0, scale)
        turn = quat_matrix(random_turn(rng, 3.0))
        parent = scale_columns(turn, (1.0, scale, 0.6)), (3.0, -1.0, 2.0)
        shown = posed(rng, rig, scale - 1.0)
        tip = joints_of(shown, parent)[-1]
        world = quat_matrix(random_turn(rng, 3.0)), (1.0, 2.0, 3.0)
        target = (0.3, 0.2, 0.1)
        written = written_of(shown, rng.uniform(0.5, 2.0))
        spaces = world, WHOLE
        error, _ = measured_tip(chain_of(rig, parent), written, spaces, target, 1e-4)
        assert error == pytest.approx(dist(point_in(world, tip), target), rel=1e-6)


def folded(bones: int) -> Rig:
    """A chain of bones 1 m long, each folded back onto the one before it, but for the last."""
    rng = random.Random(1)
    chain, _ = random_rig(rng, 1)
    first = chain[0]
    rest = type(first)(IDENTITY, (0.0, 0.0, 0.0), 1.0)
    others = type(first)(IDENTITY, (0.0, 1.0, 0.0), 1.0)
    half = Local((0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0))
    return [rest, *[others] * (bones - 1)], [Local(), *[half] * (bones - 1)]


@pytest.mark.parametrize("bones", [2, 4, 7])
@pytest.mark.parametrize(("share", "is_on"), [(0.99, True), (1.01, False)])
def test_the_tolerance_is_of_the_length_even_if_the_tip_is_at_the_root(
    bones: int, share: float, is_on: bool
) -> None:
    rig = folded(bones)
    x, y, z = joints_of(rig)[-1]
    target = (x, y, z + share * 1e-3 * bones)
    assert measured_tip(chain_of(rig), written_of(rig), ORIGINAL, target, 1e-3)[1] is is_on


def test_rounding_of_written_rotations_is_allowed_for() -> None:
    rng = random.Random(2)
    rig = random_rig(rng, 12)
    x, y, z = joints_of(rig)[-1]
    written = written_of(rig)
    assert measured_tip(chain_of(rig), written, ORIGINAL, (x, y, z), 0.0)[1]
    assert not measured_tip(chain_of(rig), written, ORIGINAL, (x, y, z + 1e-4), 0.0)[1]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_not_finite_is_on_no_target(number: float) -> None:
    rig = random_rig(random.Random(3), 3)
    written = written_of(rig)
    written.numbers[1] = number
    assert not measured_tip(chain_of(rig), written, ORIGINAL, (0.0, 1.0, 0.0), 1e-4)[1]


def calls_to_measure(rig: Rig, target: Vec) -> int:
    chain, written = chain_of(rig), written_of(rig)
    count, (_, is_on) = calls_of(lambda: measured_tip(chain, written, ORIGINAL, target, 1e-4))
    assert is_on
    return count


def test_measuring_a_tip_on_its_target_turns_one_point_a_bone() -> None:
    """Every first frame measures every chain; axes of all bones took 17 calls for each."""
    rng = random.Random(4)
    calls = []
    for bones in (10, 20):
        rig = random_rig(rng, bones, scale=1.2)
        x, y, z = joints_of(rig)[-1]
        calls.append(calls_to_measure(rig, (x, y, z)))
    assert (calls[1] - calls[0]) / 10 <= 8
