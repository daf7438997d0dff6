"""A nearly straight limb bends in its known bend direction."""

from itertools import pairwise
from math import acos, atan2, cos, degrees, dist, pi, radians, sin, sqrt

import pytest

from fabrik_solver import WHOLE, Bone, Chain, ChainInput, Goal, Hinge, Local, pose_chain, solve
from fabrik_solver.core.vectors import IDENTITY, ORIGIN, QUAT_IDENTITY, Vec, across, dot, unit

FORWARD: Vec = (0.0, -1.0, 0.0)
DOWN: Vec = (0.0, 0.0, -1.0)


def leg(aside: float, angle: float) -> Chain:
    """A leg of length 2 with its knee off the line from hip to ankle.

    Args:
        aside: How far it is off.
        angle: In which direction, from forward to the side, in radians.
    """
    half = sqrt(1.0 - aside * aside)
    knee = (aside * sin(angle), -aside * cos(angle), -half)
    return Chain((ORIGIN, knee, (0.0, 0.0, -2.0 * half)), FORWARD, is_sure=True)


def knee_of(chain: Chain, reach: float, pole: Vec | None = None, solver: str = "TWO_BONE") -> Vec:
    """Return how far the knee is off the line when the ankle is at a share of where it was."""
    target = (0.0, 0.0, reach * chain.joints[-1][2])
    solution = solve(chain, Goal(target, pole), solver)
    x, y, z = solution.joints[1]
    return across((x, y, z), DOWN)


def turned(knee: Vec) -> float:
    """Return the angle of a knee from forward, in radians."""
    return acos(max(-1.0, min(1.0, dot(unit(knee) or FORWARD, FORWARD))))


@pytest.mark.parametrize("solver", ["TWO_BONE", "FABRIK", "CCD"])
@pytest.mark.parametrize("angle", [0.0, 40.0, 90.0, 140.0, 170.0])
@pytest.mark.parametrize("aside", [0.003, 0.02, 0.035])
def test_a_knee_that_is_hardly_bent_flexes_forward(aside: float, angle: float, solver: str) -> None:
    """In legs of 0.85 m it is 1 to 15 mm off its line, which at heel strike captures have."""
    knee = knee_of(leg(aside, radians(angle)), 0.85, solver=solver)
    assert turned(knee) < radians(12.0)


@pytest.mark.parametrize("angle", [0.0, 90.0, 170.0])
def test_it_stays_as_it_is_posed_where_its_ankle_stays(angle: float) -> None:
    chain = leg(0.03, radians(angle))
    knee = solve(chain, Goal(chain.joints[-1]), "TWO_BONE").joints[1]
    assert dist(knee, chain.joints[1]) < 1e-9


@pytest.mark.parametrize("angle", [0.0, 30.0, 60.0])
def test_one_that_is_clearly_bent_keeps_its_own_side(angle: float) -> None:
    knee = knee_of(leg(0.35, radians(angle)), 0.7)
    assert turned(knee) == pytest.approx(radians(angle), abs=1e-6)


@pytest.mark.parametrize("pole", [None, (0.5, -1.0, -1.0)])
@pytest.mark.parametrize("angle", [60.0, 120.0, 165.0])
def test_it_moves_smoothly_as_the_ankle_comes_nearer(angle: float, pole: Vec | None) -> None:
    """The knee's own circle grows with the root of the way, so the steps are those of its bend."""
    chain = leg(0.03, radians(angle))
    bends = [0.0 + 0.4 * i / 400 for i in range(401)]
    start = solve(chain, Goal(chain.joints[-1], pole), "TWO_BONE").joints[1]
    knees = [across((start[0], start[1], start[2]), DOWN)]
    full = dist(ORIGIN, chain.joints[-1])
    for bend in bends:
        aside = 0.03 + bend
        reach = 2.0 * sqrt(1.0 - aside * aside) / full
        knees.append(knee_of(chain, reach, pole))
    steps = [dist(a, b) for a, b in pairwise(knees)]
    # A step of its bend is 1e-3; it turns by half a circle of 0.03 to 0.1 beside.
    assert max(steps) < 8e-3


def test_a_knee_that_passes_from_front_to_back_stays_in_front() -> None:
    """As in a capture at heel strike, while the ground bends the leg."""
    knees = [
        knee_of(leg(dist((0.0, 0.0), (0.012, front)), acos_of(front)), 0.8)
        for front in [0.03 - 0.06 * i / 60 for i in range(61)]
    ]
    assert all(turned(knee) < radians(25.0) for knee in knees)
    steps = [dist(a, b) for a, b in pairwise(knees)]
    assert max(steps) < 0.03


def acos_of(front: float) -> float:
    """Return the angle from forward of a knee that is 0.012 to the side."""
    return acos(front / dist((0.0, 0.0), (0.012, front)))


def test_a_pole_is_faced_where_the_knee_is_clearly_bent() -> None:
    for angle in (20.0, 100.0, 160.0):
        knee = knee_of(leg(0.03, radians(angle)), 0.7, (1.0, -1.0, -1.0))
        assert dot(unit(knee) or ORIGIN, unit((1.0, -1.0, 0.0)) or ORIGIN) > cos(radians(1.5))


@pytest.mark.parametrize("pole", [(-1.0, 1.0, 1.0), (1.0, 1.0, 0.5), (0.1, 1.0, -2.0)])
@pytest.mark.parametrize("solver", ["FABRIK", "CCD"])
def test_a_bone_that_is_split_to_twist_bends_at_the_elbow_alone(solver: str, pole: Vec) -> None:
    """Upper arm, forearm, twist bone: the last joint is a hinge along its bone, or locked."""
    at_rest = Local(ORIGIN, QUAT_IDENTITY, (1.0, 1.0, 1.0))
    sizes = (1.0, 0.6, 0.4)
    bones = [
        Bone(IDENTITY, (0.0, sizes[i - 1] if i else 0.0, 0.0), size) for i, size in enumerate(sizes)
    ]
    limits = [None, Hinge((1.0, 0.0, 0.0), (0.0, pi)), Hinge((0.0, 1.0, 0.0), (0.0, 0.0))]
    given = ChainInput(bones, [at_rest] * 3, (0.0, 0.4, 0.0), WHOLE, limits=limits)
    for target in ((0.3, 1.5, 0.2), (0.8, 0.9, -0.5), (-0.6, 0.4, 0.9), (0.2, 1.9, 0.1)):
        posture = pose_chain(given, Goal(target, pole), solver)
        assert posture.state == "REACHED"
        joints = [(x, y, z) for x, y, z in posture.solution.joints]
        elbow, twist, tip = joints[1:]
        assert dist(elbow, twist) + dist(twist, tip) == pytest.approx(dist(elbow, tip), abs=1e-6)
        axis = unit(joints[-1]) or ORIGIN
        side, wanted = unit(across(elbow, axis)), unit(across(pole, axis))
        assert side is not None and wanted is not None
        assert dot(side, wanted) > cos(radians(0.5))


def test_a_knee_with_a_hint_passes_to_the_back_without_a_kink() -> None:
    """Its ankle stays in place, and the knee is beside its line, as at mid-stance."""
    knees: list[Vec] = []
    for i in range(61):
        front = 0.012 - 0.0004 * i
        chain = leg(dist((0.0, 0.0), (0.015, front)), atan2(0.015, front))
        hint = (0.0, -2.0, -1.0)
        goal = Goal(chain.joints[-1], hint, 0.0, 1.0, is_hint=True)
        knee = solve(chain, goal, "TWO_BONE").joints[1]
        knees.append((knee[0], knee[1], knee[2]))
    threes = zip(knees, knees[1:], knees[2:], strict=False)
    bends = [
        dist((0.0, 0.0), (a[0] - 2 * b[0] + c[0], a[1] - 2 * b[1] + c[1])) for a, b, c in threes
    ]
    assert all(knee[1] < 0.0 for knee in knees)
    assert max(bends) < 1e-4  # A quarter of a step; at a kink it is two.


@pytest.mark.parametrize(("bend", "least", "most"), [(0.015, 35.0, 45.0), (0.3, 65.0, 80.0)])
def test_a_knee_that_passes_beside_its_line_turns_the_less_the_straighter_it_is(
    bend: float, least: float, most: float
) -> None:
    """Millimeters beside the line are much of what a straight knee is off it."""
    for side in (-90.0, 90.0):
        chain = leg(bend, radians(side))
        goal = Goal(chain.joints[-1], (0.0, -2.0, -1.0), 0.0, 1.0, is_hint=True)
        x, y, _ = solve(chain, goal, "TWO_BONE").joints[1]
        assert least < degrees(atan2(abs(x), -y)) < most


@pytest.mark.parametrize("weight", [0.6, 0.7, 0.9])
def test_a_knee_with_a_hint_that_goes_around_its_line_never_jumps(weight: float) -> None:
    """As in a capture whose leg is straight; opposite to the hint a share of the angle jumps."""
    knees: list[Vec] = []
    for degree in range(0, 361, 2):
        chain = leg(0.012, radians(degree))
        goal = Goal(chain.joints[-1], (0.0, -2.0, -1.0), 0.0, weight, is_hint=True)
        x, y, z = solve(chain, goal, "TWO_BONE").joints[1]
        knees.append((x, y, z))
    step = 0.012 * radians(2.0)
    assert max(dist(a, b) for a, b in pairwise(knees)) < 5.0 * step


def hind_leg(stifle: float, hock: float, side: float = 0.0) -> Chain:
    """A hind leg of length 2.8, whose stifle bends forward and whose hock bends back.

    Args:
        stifle: By how much the former is flexed, in degrees.
        hock: The same for the latter.
        side: How far the whole leg is turned about its line, in degrees.
    """
    joints, angle = [(0.0, 0.0)], 0.0
    for size, bend in ((1.0, stifle), (1.0, -hock), (0.8, 0.0)):
        y, z = joints[-1]
        joints.append((y - size * sin(angle), z - size * cos(angle)))
        angle -= radians(bend)
    y, z = joints[-1]
    upright, far, about = atan2(y, -z), dist((0.0, 0.0), (y, z)), radians(side)
    turned = [
        (y * cos(upright) + z * sin(upright), z * cos(upright) - y * sin(upright))
        for y, z in joints
    ]
    assert turned[-1] == pytest.approx((0.0, -far), abs=1e-12)
    points = [(-y * sin(about), y * cos(about), z) for y, z in turned]
    return Chain(tuple(points), (0.0, 1.0, 0.0), is_sure=True, folds=(-1, 1))


@pytest.mark.parametrize("pole", [None, (0.0, 4.0, -1.0)])
@pytest.mark.parametrize("solver", ["FABRIK", "CCD"])
@pytest.mark.parametrize("hock", [40.0, 60.0, 80.0])
@pytest.mark.parametrize("stifle", [10.0, 25.0, 40.0, 55.0, 70.0])
def test_a_hind_leg_stays_in_its_plane(
    stifle: float, hock: float, solver: str, pole: Vec | None
) -> None:
    """Which of its joints is farther from its line changes as it folds, and is not its side."""
    chain = hind_leg(stifle, hock)
    x, y, z = chain.joints[-1]
    for reach in (1.0, 0.97, 0.9, 0.8):
        joints = solve(chain, Goal((x, y, reach * z), pole), solver).joints
        assert max(abs(joint[0]) for joint in joints) < 1e-6
        assert joints[1][1] < joints[2][1]


@pytest.mark.parametrize("stifle", [10.0, 25.0, 40.0, 55.0, 70.0])
def test_a_hind_leg_faces_its_pole_with_the_same_joint(stifle: float) -> None:
    """It is turned aside by 30°, and its pole turns it back, whichever joint is farther out."""
    chain = hind_leg(stifle, 50.0, side=30.0)
    target = tuple(0.9 * number for number in chain.joints[-1])
    joints = solve(chain, Goal(target, (0.0, 4.0, -1.0)), "FABRIK").joints
    assert max(abs(joint[0]) for joint in joints) < 1e-6
    assert joints[1][1] < joints[2][1]


@pytest.mark.parametrize("solver", ["FABRIK", "CCD"])
@pytest.mark.parametrize("folds", [(-1, 1), (1, -1)])
@pytest.mark.parametrize("reach", [0.95, 0.8, 0.5])
@pytest.mark.parametrize("aside", [0.0, 1e-4])
def test_a_straight_hind_leg_folds_as_its_joints_flex(
    folds: tuple[int, int], reach: float, aside: float, solver: str
) -> None:
    """Whichever joint is the one that bends with the leg."""
    points = (ORIGIN, (0.0, aside, -1.0), (0.0, 0.0, -2.0), (0.0, 0.0, -2.8))
    chain = Chain(points, FORWARD, is_sure=True, folds=folds)
    solution = solve(chain, Goal((0.0, 0.0, -2.8 * reach)), solver)
    assert solution.state == "REACHED"
    bones = [(b[1] - a[1], b[2] - a[2]) for a, b in pairwise(solution.joints)]
    turns = [a[0] * b[1] - a[1] * b[0] for a, b in pairwise(bones)]
    # A knee in front of its leg turns the shank about +X to the back.
    assert [round(turn / abs(turn)) for turn in turns] == list(folds)
    assert max(abs(joint[0]) for joint in solution.joints) < 1e-6


def test_a_limb_that_bends_to_both_sides_names_all_its_joints() -> None:
    with pytest.raises(ValueError, match="a fold for each inner joint"):
        Chain((ORIGIN, (0.0, 0.0, 1.0), (0.0, 1.0, 1.0)), FORWARD, folds=(1, -1))
