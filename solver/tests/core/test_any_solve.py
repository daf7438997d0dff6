"""Solves of all kinds, drawn at random: whatever a solver is given, its answer makes sense.

`make test` takes a few; `make fuzz` as many as its time allows, up to a million, from a new seed.
Each case is drawn from a seed of its own, which a failure names: `CASES[kind](Random(seed))` is it.
"""

import math
import os
import random
import time
from collections.abc import Callable, Sequence

import pytest
import strategies
from bodies import SHAPES, random_pose, reach_of
from limited import BROKEN, broken, joint_turns, random_inside, random_limit

import fabrik_solver
from fabrik_solver.core.vectors import QUAT_IDENTITY, Quat, Vec, quat_angle, quat_matrix

SECONDS = float(os.environ.get("FABRIK_FUZZ", "0")) / 4.0
"""How long to go on; 0 for a few cases that are always the same."""

FEW, MANY = 120, 1_000_000
SEED = int(os.environ.get("FABRIK_FUZZ_SEED", "0")) or random.SystemRandom().randrange(1 << 32)

SOLVERS = ("FABRIK", "FABRIK", "FABRIK", "CCD", "TEXTBOOK", "TWO_BONE")
BIASES = (0.0, 0.0, 0.0, 1.0, -1.0, 0.3)
WEIGHTS = (1.0, 1.0, 1.0, 0.0, 0.5, 1e-9)

Case = Callable[[random.Random], object]


def numbers_of(answer: object) -> list[float]:
    """All numbers of nested sequences."""
    if isinstance(answer, int | float):
        return [answer]
    assert isinstance(answer, Sequence), answer
    return [number for part in answer for number in numbers_of(part)]


def place_about(rng: random.Random, center: Vec, size: float) -> Vec:
    """A point within reach, beyond it, at the root, or absurdly far away."""
    x, y, z = strategies.random_direction(rng)
    share = rng.choice((rng.uniform(0.0, 1.0), rng.uniform(0.0, 1.5), 1.0, 0.0, 1e-12, 1e5))
    return tuple(c + d * share * size for c, d in zip(center, (x, y, z), strict=True))


def any_goal(rng: random.Random, center: Vec, size: float) -> fabrik_solver.Goal:
    pole = place_about(rng, center, size) if rng.random() < 0.3 else None
    return fabrik_solver.Goal(
        place_about(rng, center, size),
        pole,
        rng.choice((0.0, rng.uniform(-7.0, 7.0))),
        rng.choice(WEIGHTS),
        rng.choice((0.0, 0.0, rng.uniform(0.0, 0.9))),
        rng.choice((0.0, 0.0, rng.uniform(0.0, 1.0))),
    )


def any_limit(rng: random.Random) -> fabrik_solver.Limit | None:
    """None, one as animators set them, or one that locks or frees an axis."""
    locked, free = (0.0, 0.0), (-4.0, 4.0)
    special = (
        fabrik_solver.Hinge((1.0, 0.0, 0.0), (0.0, 0.0)),
        fabrik_solver.Hinge((0.0, 1.0, 0.0), (-0.5, 1.0)),
        fabrik_solver.Cone(locked, locked, locked),
        fabrik_solver.Cone(locked, (-0.5, 0.5), locked),
        fabrik_solver.Cone(free, free, (-0.1, 0.1)),
    )
    some = random_limit(rng, "mixed")
    return rng.choice((None, None, some, some, rng.choice(special)))


def any_tip(rng: random.Random) -> fabrik_solver.Tip | None:
    if rng.random() < 0.6:
        return None
    axes = quat_matrix(strategies.random_turn(rng, 3.1))
    return fabrik_solver.Tip(axes, rng.choice(WEIGHTS), rng.choice((0.0, 0.0, 1.0, 0.4)))


def any_stretch(rng: random.Random) -> fabrik_solver.Stretch | None:
    if rng.random() < 0.7:
        return None
    return fabrik_solver.Stretch(
        rng.choice((1.0, 1.5, 100.0, rng.uniform(1.0, 3.0))), rng.random() < 0.5
    )


def assert_turns(rotations: Sequence[Quat]) -> None:
    for rotation in rotations:
        assert abs(math.hypot(*rotation) - 1.0) <= 1e-6


def off(limit: fabrik_solver.Limit, rotation: Quat) -> float:
    """By how many radians a rotation is out of a limit, also of one that locks an axis.

    Of a cone without width `broken` measures the way to the center, however near the edge is.
    """
    return min(broken(limit, rotation), quat_angle(limit.nearest(rotation), rotation))


def joints(rng: random.Random) -> object:
    """Joints alone, degenerate ones and both dimensions among them."""
    chain, goal, solver = strategies.random_case(rng)
    solution = fabrik_solver.solve(chain, goal, solver)
    largest = max(abs(number) for joint in chain.joints for number in joint)
    sizes, found = chain.bone_lengths(), strategies.lengths_of(solution.joints)
    unit = sum(sizes) + 1e-6 * largest
    assert max(abs(a - b) for a, b in zip(sizes, found, strict=True)) <= 1e-9 * unit
    return solution.joints, solution.residual, solution.iterations_used


def chain(rng: random.Random) -> object:
    """Bones in every mode of inheriting scale, limited, stiff, biased, stretched or with a hand."""
    solver = rng.choice(SOLVERS)
    has_hand = rng.random() < 0.4
    count = 2 if solver == "TWO_BONE" else rng.choice((1, 2, 3, 3, 4, 5, 8, 12))
    if has_hand:
        count = max(count, 1) + 1
    uneven = rng.choice((1.0, 1.0, 1.4))
    mode = rng.choice((*strategies.SCALE_MODES, "FULL", "FULL"))
    rig = strategies.random_rig(rng, count, mode, rng.random() < 0.8, rng.random() < 0.8, uneven)
    limits, stiffness = [any_limit(rng) for _ in range(count)], [0.0] * count
    if rng.random() < 0.5:
        limits = [None] * count
    if rng.random() < 0.3:
        stiffness = [rng.choice((0.0, 1.0, rng.random())) for _ in range(count)]
    tip = strategies.tip_of(rig) if not has_hand or rng.random() < 0.5 else (0.0, 0.0, 0.0)
    given = fabrik_solver.ChainInput(
        rig[0],
        rig[1],
        tip,
        rng.choice((fabrik_solver.WHOLE, fabrik_solver.WHOLE, strategies.PARENT)),
        None,
        limits,
        stiffness,
        has_hand,
        None,
        rng.choice(BIASES),
    )
    goal = any_goal(rng, given.root, given.chain.scale)
    turn = any_tip(rng) if has_hand else None
    stretch, influence = any_stretch(rng), rng.choice((1.0, 1.0, 1.0, 0.3, 1e-9))
    tolerance = rng.choice((1e-4, 1e-4, 1e-9, 0.1))
    iterations = rng.choice((20, 20, 1, 200))
    try:
        posture = fabrik_solver.pose_chain(
            given, goal, solver, iterations, tolerance, influence, turn, stretch
        )
    except ValueError as error:
        assert "TWO_BONE" in str(error)
        return ()
    check_posture(given, posture, limits, stiffness, influence, turn, rig[0][-1])
    return posture.numbers, posture.scales, posture.tip, posture.orientation_error


def check_posture(
    given: fabrik_solver.ChainInput,
    posture: fabrik_solver.Posture,
    limits: Sequence[fabrik_solver.Limit | None],
    stiffness: Sequence[float],
    influence: float,
    turn: fabrik_solver.Tip | None,
    hand: fabrik_solver.Bone,
) -> None:
    """The tip is where the bones have it, the joints keep their limits, what is reached is reached.

    Args:
        given: The chain.
        posture: Its posture.
        limits: The limits of its bones.
        stiffness: Of its bones: a fully stiff one keeps its channels, whatever its parent does.
        influence: As in `pose_chain`.
        turn: Of the tip.
        hand: The last bone, also if it is beside the chain.
    """
    assert_turns(posture.rotations)
    size = given.chain.scale
    stood = given.with_scales(posture.scales) if posture.scales else given
    reaching = posture.rotations[: len(given.links)]
    frame = fabrik_solver.chain_frames(stood, reaching)[-1]
    if turn is None:
        assert (
            strategies.farthest([fabrik_solver.point_in(frame, stood.links[-1].arm)], [posture.tip])
            <= 1e-9 * size
        )
    if influence < 1.0:
        return
    reaches_alone = turn is None or turn.weight == 0.0  # Then a hand beside the chain stays in FK.
    turns = joint_turns(stood, reaching if reaches_alone else posture.rotations, hand)
    for i, (limit, turned) in enumerate(zip(limits, turns, strict=False)):
        rotation = posture.rotations[i] if stiffness[i] == 1.0 else turned
        assert limit is None or off(limit, rotation) <= BROKEN, (limit, rotation)


def body(rng: random.Random) -> object:
    """Chains that share bones, with limits, free roots, and influences of their own."""
    tree = SHAPES[rng.choice(("Y", "Y", "torso", "hand", "humanoid"))]
    count = len(tree.bones)
    limits = [any_limit(rng) if rng.random() < 0.5 else None for _ in range(count)]
    if rng.random() < 0.5:
        limits = [None] * count
    channels = [
        fabrik_solver.Local(rotation=random_inside(rng, one) if one else QUAT_IDENTITY)
        for one in limits
    ]
    given = tree.body(channels, limits)
    if not any(limits):
        turns = random_pose(rng, given, rng.choice((0.0, 0.5, 3.0)))
        given = tree.body([fabrik_solver.Local(rotation=turn) for turn in turns])
    size = reach_of(given)
    pulls = [any_pull(rng, given, member, size) for member in given.members]
    posture = fabrik_solver.pose_body(given, pulls)
    assert_turns(posture.rotations)
    if all(pull is None or pull.influence == 1.0 for pull in pulls):
        for limit, rotation in zip(limits, posture.rotations, strict=True):
            assert limit is None or off(limit, rotation) <= BROKEN, (limit, rotation)
    check_outcomes(given, posture, size)
    return posture.rotations, posture.scales, posture.location, given.frames(posture)


def any_pull(
    rng: random.Random, given: fabrik_solver.BodyInput, member: fabrik_solver.Member, size: float
) -> fabrik_solver.Pull | None:
    if rng.random() < 0.1:
        return None
    root = given.frames(given.fk())[member.bones[0]][1]
    return fabrik_solver.Pull(
        any_goal(rng, root, size),
        rng.choice(("FABRIK", "FABRIK", "CCD", "TEXTBOOK")),
        tolerance=rng.choice((1e-4, 1e-4, 1e-9, 0.1)),
        influence=rng.choice((1.0, 1.0, 1.0, 0.3, 1e-9)),
        weight=rng.choice((1.0, 1.0, 0.1, 1000.0)),
        root_weight=rng.choice((0.0, 0.0, 1.0, 0.2)),
        bias=rng.choice(BIASES),
        stretch=any_stretch(rng),
    )


def check_outcomes(
    given: fabrik_solver.BodyInput, posture: fabrik_solver.BodyPosture, size: float
) -> None:
    frames = given.frames(posture)
    for outcome, member in zip(posture.outcomes, given.members, strict=True):
        tip = fabrik_solver.point_in(frames[member.bones[-1]], member.tip)
        assert outcome is None or math.dist(outcome.tip, tip) <= 1e-9 * size


CASES: dict[str, Case] = {"joints": joints, "chain": chain, "body": body}
MIX = (*["joints"] * 80, *["chain"] * 16, *["body"] * 4)
"""The kinds as often as they come; a body takes three hundred times as long as joints."""


def check(kind: str, seed: str) -> None:
    """Solve a case twice."""
    answer, again = (CASES[kind](random.Random(seed)) for _ in range(2))
    assert all(map(math.isfinite, numbers_of(answer))), "not finite"
    assert repr(answer) == repr(again), "not the same again"


@pytest.mark.long
@pytest.mark.skipif(SECONDS > 0.0, reason="make fuzz draws others")
@pytest.mark.parametrize("kind", CASES)
def test_any_answer_makes_sense(kind: str) -> None:
    for number in range(FEW):
        check(kind, f"{kind} {number}")


@pytest.mark.skipif(SECONDS == 0.0, reason="make fuzz asks for it")
def test_a_million_answers_make_sense(figure: Callable[[str, str], None]) -> None:
    end, done, failed = time.monotonic() + SECONDS, 0, []
    while done < MANY and time.monotonic() < end:
        kind = MIX[done % len(MIX)]
        try:
            check(kind, f"{SEED} {done}")
        except Exception as error:
            failed.append(f"{kind} {SEED} {done}: {type(error).__name__}: {str(error)[:300]}")
        done += 1
    figure(f"solves from seed {SEED}, and as many again", str(done))
    assert not failed, f"{len(failed)} fail:\n" + "\n".join(failed[:20])
