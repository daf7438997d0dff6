"""FABRIK lands exactly, in few iterations, as smoothly as if it iterated until it converged."""

import math
import random
from collections.abc import Callable
from statistics import mean, median

import pytest
from paths import PATHS, largest_second_difference, target_path
from strategies import (
    Point,
    answer,
    arched,
    assert_no_jump,
    farthest,
    lengths_of,
    moved,
    random_chain,
    random_direction,
)

from fabrik_solver import Chain, Goal, solve

BONES = (3, 4, 10, 30, 100)
_CONVERGED = {
    3: """
        0.007894 0.005749 0.0067 0.03768 0.01324 0.007549 0.2043 0.02289 0.01678 0.002934
        0.2864 0.0083 0.0133 0.02912 0.04929 0.01288 0.118 0.04407 0.4535 0.01968
    """,
    4: """
        0.009743 0.006126 0.00611 0.2392 0.01045 0.006641 0.3112 0.01574 0.01469 0.003134
        0.1536 0.009195 0.04292 0.03284 0.05529 0.02907 0.02851 0.03474 0.02562 0.02651
    """,
    10: """
        0.00782 0.00791 0.006329 0.07216 0.0143 0.04515 0.08429 0.01537 0.01165 0.00105
        0.023 0.01125 0.04348 0.03179 0.05412 0.06127 0.04871 0.02978 0.02355 0.06121
    """,
    30: """
        0.005834 0.005931 0.004503 0.05352 0.008401 0.02814 0.04205 0.01288 0.005624 0.00105
        0.02776 0.01066 0.02615 0.03066 0.05392 0.03253 0.0348 0.02565 0.01349 0.03009
    """,
}
CONVERGED = {bones: [float(x) for x in row.split()] for bones, row in _CONVERGED.items()}
"""The largest second difference along each path of Algorithm 1 swept to 1e-9 of the length.

Near full reach that takes more than 100,000 iterations, hence the table.
"""


def even(bones: int) -> tuple[Point, ...]:
    """A slightly bent chain of equal bones, 1 long."""
    return arched([1.0 / bones] * bones, 0.5)


def targets_off_the_tip(joints: tuple[Point, ...], count: int) -> list[Point]:
    rng = random.Random(2011)
    found: list[Point] = []
    while len(found) < count:
        target = moved(joints[-1], random_direction(rng), 0.6 / 0.9)
        if math.hypot(*target) < 0.98:
            found.append(target)
    return found


def as_far_as_the_tip(joints: tuple[Point, ...], target: Point) -> Point:
    ratio = math.hypot(*joints[-1]) / math.hypot(*target)
    return tuple(number * ratio for number in target)


def moved_by(before: tuple[Point, ...], after: tuple[Point, ...]) -> float:
    return mean(math.dist(p, q) for p, q in zip(before, after, strict=True))


@pytest.mark.parametrize("bones", BONES)
def test_few_iterations_land_exactly(bones: int, figure: Callable[[str, str], None]) -> None:
    joints = even(bones)
    solutions = [
        answer(joints, target, iterations=2000, tolerance=1e-6)
        for target in targets_off_the_tip(joints, 300)
    ]
    iterations = sorted(solution.iterations_used for solution in solutions)
    worst = max(solution.residual for solution in solutions)
    figure(
        f"{bones} bones: iterations to 1e-6, with steps of landing",
        f"mean {mean(iterations):.2f}, median {median(iterations):.0f}, p99 {iterations[296]}, "
        f"most {iterations[-1]}; residual {worst:.0e}",
    )
    assert mean(iterations) <= 5.0
    assert iterations[-1] <= 9
    assert worst <= 1e-6


@pytest.mark.parametrize("bones", BONES)
def test_the_edge_of_reach_is_no_obstacle(bones: int, figure: Callable[[str, str], None]) -> None:
    joints = even(bones)
    found: list[str] = []
    for share in (0.99, 0.999, 0.9999, 0.999999):
        rng = random.Random(7)
        solutions = [
            answer(joints, moved(joints[0], random_direction(rng), share)) for _ in range(50)
        ]
        assert max(solution.residual for solution in solutions) <= 1e-6
        found.append(f"{share:g}: {mean(solution.iterations_used for solution in solutions):.1f}")
        assert max(solution.iterations_used for solution in solutions) <= 12
    figure(f"{bones} bones: iterations at the edge of reach", ", ".join(found))


@pytest.mark.long
def test_all_chains_land_wherever_they_can_reach(figure: Callable[[str, str], None]) -> None:
    """Also at an inner edge, near the root, and with bones of very different lengths."""
    rng = random.Random(8)
    worst, most, cases, missed = 0.0, 0, 6000, 0
    for _ in range(cases):
        bones = rng.choice((2, 3, 4, 6, 10, 20))
        joints = random_chain(rng, bones)
        lengths = [size * rng.choice((1.0, 1.0, 0.1, 3.0)) for size in lengths_of(joints)]
        if rng.random() < 0.3:
            lengths[rng.randrange(bones)] += sum(lengths)
        total = sum(lengths)
        inner = max(0.0, 2.0 * max(lengths) - total)
        margin = rng.choice((rng.random(), 10.0 ** rng.uniform(-9.0, -0.5)))
        distance = inner + (total - inner) * rng.choice((margin, 1.0 - margin))
        chain = Chain(joints, lengths=tuple(lengths))
        solution = solve(chain, Goal(moved(joints[0], random_direction(rng), distance)))
        if solution.in_reach:
            most = max(most, solution.iterations_used)
            missed += solution.residual > 1e-6 * total
            worst = max(worst, solution.residual / total)
    figure(f"{cases} chains anywhere in reach: residual over 1e-6", f"{missed}, worst {worst:.0e}")
    assert missed == 0


def unevenness(bones: int) -> list[float]:
    """How suddenly joints move along each path, relative to iterations until they converge."""
    joints = even(bones)
    ratios: list[float] = []
    for number in range(PATHS):
        poses = [answer(joints, target).joints for target in target_path(number)]
        ratios.append(largest_second_difference(poses) / CONVERGED[bones][number])
    return ratios


@pytest.mark.long
@pytest.mark.parametrize("bones", CONVERGED)
def test_joints_move_as_smoothly_as_with_iterations_until_they_converge(
    bones: int, figure: Callable[[str, str], None]
) -> None:
    ratio = median(unevenness(bones))
    figure(f"{bones} bones: second difference, ours to converged FABRIK's", f"median {ratio:.2f}")
    assert ratio <= 1.25


@pytest.mark.xfail(
    reason="a chain changes fast between curling, to a target ahead, and bending by iterations, to "
    "one aside: with iterations alone the worst are 1.34, 1.45, 1.69, 1.57, and one joint folds"
)
@pytest.mark.long
@pytest.mark.parametrize("bones", CONVERGED)
def test_joints_move_as_smoothly_on_every_path(
    bones: int, figure: Callable[[str, str], None]
) -> None:
    ratio = max(unevenness(bones))
    figure(f"{bones} bones: second difference, ours to converged FABRIK's", f"worst {ratio:.2f}")
    assert ratio <= 2.0


def test_the_converged_figures_are_those_of_the_published_algorithm() -> None:
    """Checked on the paths on which it converges soon."""
    for bones, number in ((3, 1), (4, 2), (10, 9)):
        joints = even(bones)
        poses = [
            answer(joints, target, "TEXTBOOK", iterations=5000, tolerance=1e-8).joints
            for target in target_path(number)
        ]
        found = largest_second_difference(poses)
        assert found == pytest.approx(CONVERGED[bones][number], rel=1e-3)


@pytest.mark.parametrize("bones", [3, 4, 10, 30])
def test_joints_that_only_turn_move_as_little_as_with_iterations_until_they_converge(
    bones: int, figure: Callable[[str, str], None]
) -> None:
    """To a nearer target the chain curls, which moves more joints less (`test_curl`)."""
    joints = even(bones)
    ours: list[float] = []
    swept: list[float] = []
    apart: list[float] = []
    for target in [as_far_as_the_tip(joints, t) for t in targets_off_the_tip(joints, 60)]:
        landed = answer(joints, target).joints
        converged = answer(joints, target, "TEXTBOOK", iterations=3000, tolerance=1e-6).joints
        ours.append(moved_by(joints, landed))
        swept.append(moved_by(joints, converged))
        apart.append(farthest(landed, converged))
    figure(
        f"{bones} bones: joints move by, ours and converged FABRIK",
        f"{mean(ours):.4f}, {mean(swept):.4f} of the length; a joint apart by {mean(apart):.4f}",
    )
    assert mean(ours) <= 1.02 * mean(swept)
    assert mean(apart) <= 0.02


@pytest.mark.long
@pytest.mark.parametrize(
    "shares",
    [[1, 1], [1, 1, 1], [1] * 10, [3, 1, 1, 1], [2.99, 1, 1, 1], [2, 1, 1, 1], [1, 2, 4, 2]],
)
def test_no_jump_where_the_target_passes_the_root(shares: list[float]) -> None:
    """Chains that can just close, just not, and easily."""
    joints = arched([share / sum(shares) for share in shares], 0.5)

    def path(t: float) -> tuple[Point, ...]:
        solution = answer(joints, (0.3 * (t - 0.5), 0.02, 0.01))
        assert solution.residual <= 1e-6
        return solution.joints

    assert_no_jump(path, 200)


def test_a_few_iterations_are_better_than_none() -> None:
    joints = even(10)
    for target in targets_off_the_tip(joints, 20):
        for iterations in range(8):
            solution = answer(joints, target, iterations=iterations)
            assert solution.iterations_used <= iterations
            if iterations:
                assert solution.residual < math.dist(joints[-1], target)
