"""Chains that share bones are solved together, as one body."""

import math
import random
from collections.abc import Callable
from itertools import pairwise

import bodies
import pytest
from counting import calls_of
from hypothesis import given, settings
from hypothesis import strategies as st
from limited import BROKEN, NEAR, broken, random_inside, random_limit
from strategies import PARENT, SCALE_MODES, random_direction, random_turn

from fabrik_solver import (
    WHOLE,
    BodyInput,
    BodyPosture,
    ChainInput,
    Goal,
    Limit,
    Local,
    Member,
    Pull,
    State,
    Tip,
    frame_in,
    point_in,
    pose_body,
    pose_chain,
)
from fabrik_solver.core import vectors
from fabrik_solver.core.body import MemberOutcome

Figure = Callable[[str, str], None]
NAMES = tuple(bodies.SHAPES)


def somewhere(rng: random.Random, size: float) -> vectors.Vec:
    x, y, z = random_direction(rng)
    return vectors.scaled((x, y, z), size * rng.random())


def outcomes(posture: BodyPosture) -> list[MemberOutcome]:
    """How the chains did, of which none was left out."""
    found = [outcome for outcome in posture.outcomes if outcome is not None]
    assert len(found) == len(posture.outcomes)
    return found


def states(posture: BodyPosture) -> list[State | None]:
    return [outcome and outcome.state for outcome in posture.outcomes]


def assert_sound(body: BodyInput, posture: BodyPosture) -> None:
    """Rotations are rotations, and the reported tips are right."""
    for rotation in posture.rotations:
        assert sum(x * x for x in rotation) == pytest.approx(1.0, abs=1e-9)
    for outcome, tip in zip(posture.outcomes, bodies.tips_of(body, posture), strict=True):
        assert outcome is None or math.dist(outcome.tip, tip) <= 1e-9 * (1.0 + math.hypot(*tip))


def farthest(a: list[vectors.Vec], b: list[vectors.Vec]) -> float:
    return max(map(math.dist, a, b))


# What can be reached is reached


def star(count: int, bones: int, shared: int) -> bodies.Tree:
    """Chains on the last of a few shared bones."""
    drawing: bodies.Drawing = []
    for i in range(shared):
        drawing.append((f"S{i}", (0.0, 0.0, i), (0.0, 0.0, i + 1.0), f"S{i - 1}" if i else ""))
    for c in range(count):
        x, y = math.cos(math.tau * c / count), math.sin(math.tau * c / count)
        for j in range(bones):
            head, tail = (((j + k) * x, (j + k) * y, shared + 0.1 * (k % 2)) for k in (1, 2))
            drawing.append((f"{c}.{j}", head, tail, f"{c}.{j - 1}" if j else f"S{shared - 1}"))
    return bodies.tree_of(drawing, *[f"{c}.{bones - 1}" for c in range(count)])


@pytest.mark.parametrize("root_weight", [0.0, 0.5])
@pytest.mark.parametrize("shared", [1, 3])
@pytest.mark.parametrize("bones", [1, 3])
def test_work_grows_as_the_number_of_chains_on_a_root(
    bones: int, shared: int, root_weight: float, figure: Figure
) -> None:
    """Counted a step, whose number depends on the targets."""
    work: list[float] = []
    for count in (24, 96):
        body = star(count, bones, shared).body()
        targets = bodies.tips_at(body, bodies.random_pose(random.Random(1), body, 0.2))
        calls, posture = calls_of(lambda: bodies.solved(body, targets, root_weight=root_weight))  # noqa: B023
        assert bodies.missed(body, posture, targets) <= 1e-4
        work.append(calls / max(outcome.iterations_used for outcome in outcomes(posture)))
    label = f"{bones} bones on {shared}, root {root_weight}: calls of 4 n"
    figure(label, f"{work[1] / work[0]:.2f}")
    assert work[1] <= 4.6 * work[0]


@pytest.mark.parametrize("name", NAMES)
def test_targets_of_any_pose_are_all_reached(name: str, figure: Figure) -> None:
    rng = random.Random(name)
    tree, worst, count = bodies.SHAPES[name], 0.0, 0
    for spread in (0.3, 0.8, 1.5):
        for root_weight in (0.0, 0.5):
            for _ in range(6):
                body = tree.body(bodies.posed(rng, tree))
                shift = somewhere(rng, 0.3) if root_weight else vectors.ORIGIN
                targets = bodies.tips_at(body, bodies.random_pose(rng, body, spread), shift)
                posture = bodies.solved(body, targets, root_weight=root_weight)
                assert states(posture) == ["REACHED"] * len(targets)
                assert_sound(body, posture)
                worst = max(worst, bodies.missed(body, posture, targets))
                count += 1
    figure(f"{name}: farthest tip of {count} bodies, in reaches", f"{worst:.0e}")
    assert worst <= 1e-6


def random_limits(rng: random.Random, tree: bodies.Tree) -> list[Limit | None]:
    """Limits of all kinds; the first bone has none, or a cone."""
    limits: list[Limit | None] = [random_limit(rng, "mixed") for _ in tree.bones]
    limits[0] = random_limit(rng, "cone") if rng.random() < 0.5 else None
    return limits


def pose_within(rng: random.Random, limits: list[Limit | None]) -> list[vectors.Quat]:
    return [random_inside(rng, limit) if limit else random_turn(rng, 0.5) for limit in limits]


def most_broken(limits: list[Limit | None], posture: BodyPosture) -> float:
    pairs = zip(limits, posture.rotations, strict=True)
    return max(broken(limit, rotation) for limit, rotation in pairs if limit)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_targets_that_the_limits_let_them_reach_are_reached(name: str, figure: Figure) -> None:
    rng = random.Random(name)
    tree, near, worst, count = bodies.SHAPES[name], 0, 0.0, 20
    for i in range(count):
        limits = random_limits(rng, tree)
        body = tree.body(limits=limits)
        shift = somewhere(rng, 0.3) if i % 2 else vectors.ORIGIN
        targets = bodies.tips_at(body, pose_within(rng, limits), shift)
        posture = bodies.solved(body, targets, root_weight=float(i % 2))
        assert_sound(body, posture)
        near += bodies.missed(body, posture, targets) <= NEAR
        worst = max(worst, most_broken(limits, posture))
    share = 100.0 * near / count
    figure(f"{name}: tips within 1e-3 under limits", f"{share:.0f} %, broken {worst:.0e}")
    assert share >= 95.0
    assert worst <= BROKEN


@pytest.mark.long
@pytest.mark.parametrize("name", ["Y", "torso", "humanoid"])
def test_limits_hold_where_the_targets_cannot_all_be_reached(name: str) -> None:
    rng = random.Random(name)
    tree = bodies.SHAPES[name]
    for i in range(4):
        limits = random_limits(rng, tree)
        body = tree.body(limits=limits)
        size = (0.5, 1.0, 3.0, 1e6)[i % 4] * bodies.reach_of(body)
        targets = [somewhere(rng, size) for _ in body.members]
        posture = bodies.solved(body, targets, root_weight=float(i > 1))
        assert_sound(body, posture)
        assert most_broken(limits, posture) <= BROKEN


@pytest.mark.long
@pytest.mark.parametrize("mode", SCALE_MODES)
def test_reached_under_uneven_scale_and_with_bones_that_stand_off(
    mode: str, figure: Figure
) -> None:
    rng = random.Random(mode)
    tree = bodies.tree_of(bodies.TORSO, "Lower.L", "Lower.R", mode=mode)
    count, arrived = 24, 0
    for i in range(count):
        channels = [
            Local(
                (rng.uniform(-0.05, 0.05), rng.uniform(-0.05, 0.05), rng.uniform(-0.05, 0.05)),
                random_turn(rng, 0.4),
                (1.2 ** rng.uniform(-1, 1), 1.2 ** rng.uniform(-1, 1), 1.2 ** rng.uniform(-1, 1)),
            )
            for _ in tree.bones
        ]
        body = tree.body(channels, frame=PARENT)
        targets = bodies.tips_at(body, bodies.random_pose(rng, body, 0.6), channels[0].location)
        posture = bodies.solved(body, targets, root_weight=(0.0, 0.7)[i % 2])
        assert_sound(body, posture)
        is_there = bodies.missed(body, posture, targets) <= 1e-4
        assert is_there or "OUT_OF_REACH" in states(posture)
        arrived += is_there
    figure(f"torso, scaled unevenly, {mode}: all arrive in", f"{100.0 * arrived / count:.0f} %")
    # A bone without shear that its parent has changes its length in a way that is not linear.
    assert arrived >= (0.7 * count if mode == "FIX_SHEAR" else count)


# What stays as it is


@pytest.mark.parametrize("name", NAMES)
def test_a_bone_with_several_joints_stays_rigid(name: str) -> None:
    rng = random.Random(name)
    tree = bodies.SHAPES[name]
    body = tree.body(bodies.posed(rng, tree))
    rest = bodies.solved(body, bodies.rest_tips(body))
    before = bodies.joints_of_body(body, rest)
    for size in (1.0, 4.0):
        targets = [somewhere(rng, size) for _ in body.members]
        after = bodies.joints_of_body(body, bodies.solved(body, targets))
        for part in range(len(tree.bones)):
            ends = [i for i, parent in enumerate(tree.parents) if parent == part]
            for a, b in zip([part, *ends], ends, strict=False):
                kept = math.dist(before[a], before[b])
                assert math.dist(after[a], after[b]) == pytest.approx(kept, abs=1e-9)


def test_tips_that_are_on_their_targets_already_move_nothing() -> None:
    rng = random.Random(1)
    for name, tree in bodies.SHAPES.items():
        body = tree.body(bodies.posed(rng, tree))
        posture = bodies.solved(body, bodies.rest_tips(body), root_weight=1.0)
        assert states(posture) == ["REACHED"] * len(body.members), name
        for rotation, local in zip(posture.rotations, body.locals, strict=True):
            assert math.dist(rotation, local.rotation) <= 1e-7, name
        assert math.hypot(*posture.location) <= 1e-7, name


@pytest.mark.long
@pytest.mark.parametrize("solver", ["FABRIK", "CCD", "TEXTBOOK", "TWO_BONE"])
@pytest.mark.parametrize("influence", [1.0, 0.77, 0.3])
def test_the_only_chain_at_work_is_solved_to_the_last_bit_as_if_it_were_alone(
    solver: str, influence: float
) -> None:
    rng = random.Random(2)
    top = "Upper.L" if solver == "TWO_BONE" else "Pelvis"
    tree = bodies.SHAPES["humanoid"].with_chains(("Head", ""), ("Lower.L", top), ("Upper.L", ""))
    for _ in range(5):
        limits = random_limits(rng, tree)
        stiffness = [rng.choice((0.0, 0.5)) for _ in tree.bones]
        for settings_ in ((), (limits, stiffness)):
            body = tree.body(bodies.posed(rng, tree), *settings_, frame=PARENT)
            member = body.members[1]
            goal = Goal(somewhere(rng, 2.0), somewhere(rng, 2.0), 0.3)
            pull = Pull(goal, solver, influence=influence)
            posture = pose_body(body, [None, pull, None])
            frames = body.frames(body.fk())
            above = body.parents[member.bones[0]]
            chain = ChainInput(
                [body.bones[i] for i in member.bones],
                [body.locals[i] for i in member.bones],
                member.tip,
                PARENT if above < 0 else frames[above],
                None,
                [body.limits[i] for i in member.bones],
                [body.stiffness[i] for i in member.bones],
            )
            alone = pose_chain(chain, goal, solver, influence=influence)
            assert [posture.rotations[i] for i in member.bones] == list(alone.rotations)
            assert states(posture) == [None, alone.state, None]
            for i, local in enumerate(body.locals):
                same = math.dist(posture.rotations[i], local.rotation) <= 1e-15
                assert i in member.bones or same


def test_chains_that_only_another_one_joined_are_solved_alone_without_it() -> None:
    """One may be carried by another: then it has to be solved after it."""
    rng = random.Random(3)
    tree = bodies.tree_of(bodies.TORSO).with_chains(
        ("Lower.L", "Clavicle.L"), ("Clavicle.L", "S2"), ("S2", "S1")
    )
    for _ in range(20):
        body = tree.body(bodies.posed(rng, tree))
        targets = bodies.tips_at(body, bodies.random_pose(rng, body, 0.8))
        both = [Pull(Goal(targets[0])), None, Pull(Goal(targets[2]))]
        posture = pose_body(body, both)
        spine = pose_body(body, [None, None, both[2]])
        channels = [Local(vectors.ORIGIN, rotation) for rotation in spine.rotations]
        arm = pose_body(tree.body(channels), [both[0], None, None])
        assert posture.rotations == arm.rotations
        for outcome, target in zip(posture.outcomes, targets, strict=True):
            if outcome is not None:
                there = math.dist(outcome.tip, target) <= 1e-4
                assert (outcome.state == "REACHED") == there


def test_the_answer_depends_on_nothing_but_the_input() -> None:
    rng = random.Random(4)
    for tree in bodies.SHAPES.values():
        body = tree.body(bodies.posed(rng, tree))
        wanted = [[somewhere(rng, 2.0) for _ in body.members] for _ in range(2)]
        first = [bodies.solved(body, targets, root_weight=0.5).rotations for targets in wanted]
        again = [
            bodies.solved(body, targets, root_weight=0.5).rotations for targets in wanted[::-1]
        ]
        assert first == again[::-1]


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_the_chains_does_not_matter(name: str) -> None:
    """Except for rounding, whose last bits decide where a body goes that could go either way."""
    rng = random.Random(name)
    tree = bodies.SHAPES[name]
    body = tree.body(bodies.posed(rng, tree))
    targets = bodies.tips_at(body, bodies.random_pose(rng, body, 0.6))
    other = tree._replace(members=tree.members[::-1]).body(body.locals)
    one = bodies.joints_of_body(body, bodies.solved(body, targets))[: len(tree.bones)]
    two = bodies.joints_of_body(other, bodies.solved(other, targets[::-1]))[: len(tree.bones)]
    assert farthest(one, two) <= 1e-6 * bodies.reach_of(body)


# Sharing


def test_two_pulls_at_one_tip_meet_at_the_mean_by_their_weights() -> None:
    rng = random.Random(5)
    tree = bodies.SHAPES["Y"]
    both = tree.with_chains(("D.L", ""), ("D.L", ""))
    for _ in range(10):
        body = both.body(bodies.posed(rng, tree))
        middle = bodies.tips_at(body, bodies.random_pose(rng, body, 0.8))[0]
        a, b = vectors.add(middle, somewhere(rng, 0.2)), vectors.add(middle, somewhere(rng, 0.2))
        share = rng.uniform(0.05, 0.95)
        pulls = [Pull(Goal(a), weight=5.0 * (1.0 - share)), Pull(Goal(b), weight=5.0 * share)]
        posture = pose_body(body, pulls)
        assert math.dist(bodies.tips_of(body, posture)[0], vectors.mix(a, b, share)) <= 1e-3
        assert states(posture) == ["OUT_OF_REACH", "OUT_OF_REACH"]


@pytest.mark.parametrize("name", ["Y", "torso"])
@pytest.mark.parametrize("root_weight", [0.0, 1.0])
def test_pulled_apart_the_heavier_side_comes_nearer(name: str, root_weight: float) -> None:
    tree = bodies.SHAPES[name]
    body = tree.body()
    x, y, z = bodies.rest_tips(body)[0]
    targets = [(x + 3.0, y, z), (-x - 3.0, y, z)]
    gaps: list[float] = []
    for weight in (0.01, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0):
        pulls = [
            Pull(Goal(targets[0]), weight=weight, root_weight=root_weight),
            Pull(Goal(targets[1]), root_weight=root_weight),
        ]
        posture = pose_body(body, pulls)
        left, right = map(math.dist, bodies.tips_of(body, posture), targets)
        gaps.append(left - right)
        if weight == 1.0:
            assert left == pytest.approx(right, rel=1e-3)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 0.0 > gaps[-1]


@pytest.mark.parametrize("name", ["Y", "torso", "humanoid"])
def test_what_is_wanted_symmetrically_is_answered_symmetrically(name: str) -> None:
    tree = bodies.SHAPES[name]
    body = tree.body()
    targets = [
        (x * scale, y + 0.1, z - 0.05) for scale in (0.8, 1.5) for x, y, z in bodies.rest_tips(body)
    ]
    for wanted in (targets[: len(body.members)], targets[len(body.members) :]):
        joints = bodies.joints_of_body(body, bodies.solved(body, wanted))
        for side, i in tree.names.items():
            if side.endswith(".L"):
                x, y, z = joints[tree.names[side.replace(".L", ".R")]]
                assert math.dist(joints[i], (-x, y, z)) <= 1e-3 * bodies.reach_of(body)


@pytest.mark.parametrize("name", ["Y", "torso", "humanoid"])
def test_no_small_turn_brings_contradicting_tips_nearer_on_the_whole(name: str) -> None:
    rng = random.Random(name)
    tree = bodies.SHAPES[name]
    for _ in range(4):
        body = tree.body(bodies.posed(rng, tree))
        targets = [vectors.add(tip, somewhere(rng, 2.0)) for tip in bodies.rest_tips(body)]
        weights = [rng.uniform(0.2, 5.0) for _ in targets]
        pulls = [Pull(Goal(t), weight=w) for t, w in zip(targets, weights, strict=True)]
        posture = pose_body(body, pulls)

        def cost(rotations: list[vectors.Quat], body: BodyInput = body) -> float:
            gaps = map(math.dist, bodies.tips_at(body, rotations), targets)  # noqa: B023
            return sum(w * gap * gap for w, gap in zip(weights, gaps, strict=True))  # noqa: B023

        least = cost(posture.rotations)
        for _ in range(60):
            near = bodies.random_pose(
                rng, tree.body([Local(vectors.ORIGIN, q) for q in posture.rotations]), 0.02
            )
            assert cost(near) >= 0.99 * least - 1e-9


# The root


def test_a_free_root_follows_a_hand_and_heavy_feet_stay() -> None:
    tree = bodies.SHAPES["humanoid"].with_chains(("Lower.L", ""), ("Shin.L", ""), ("Shin.R", ""))
    body = tree.body()
    hand, *feet = bodies.rest_tips(body)
    for way in ((0.4, 0.0, -0.1), (0.1, 0.5, -0.2), (0.1, -0.4, -0.6)):
        targets = [vectors.add(hand, way), *feet]
        weights = (1.0, 100.0, 100.0)
        fixed = pose_body(body, [Pull(Goal(t)) for t in targets])
        pulls = [
            Pull(Goal(t), weight=w, root_weight=1.0) for t, w in zip(targets, weights, strict=True)
        ]
        free = pose_body(body, pulls)
        assert fixed.location == vectors.ORIGIN
        assert math.hypot(*free.location) > 0.002
        assert bodies.missed(body, free, targets) <= 1e-6
    alone = pose_body(body, [Pull(Goal((7.0, 1.0, 3.0)), root_weight=0.2), None, None])
    assert states(alone) == ["REACHED", None, None], "nothing holds it"


def test_the_readier_the_root_the_farther_it_goes() -> None:
    tree = bodies.SHAPES["torso"]
    body = tree.body()
    targets = [vectors.add(tip, (0.15, -0.2, 0.1)) for tip in bodies.rest_tips(body)]
    ways = [
        math.hypot(*bodies.solved(body, targets, root_weight=weight).location)
        for weight in (0.0, 0.1, 0.3, 1.0)
    ]
    assert ways[0] == 0.0
    assert ways == sorted(ways)
    assert ways[-1] > 0.02


def test_straight_legs_bend_at_the_knees_when_the_stiff_body_has_to_come_down() -> None:
    tree = bodies.SHAPES["humanoid"].with_chains(("Head", ""), ("Shin.L", ""), ("Shin.R", ""))
    stiffness = [float(name in ("Pelvis", "Spine", "Chest", "Head")) for name in tree.names]
    for down in (1e-3, 0.1, 0.5):
        body = tree.body(stiffness=stiffness)
        head, *feet = bodies.rest_tips(body)
        targets = [vectors.add(head, (0.0, 0.0, -down)), *feet]
        posture = bodies.solved(body, targets, root_weight=1.0)
        assert bodies.missed(body, posture, targets) <= 1e-6
        assert posture.location[1] == pytest.approx(-down, abs=1e-5), "along the pelvis, upwards"
        knees = [bodies.joints_of_body(body, posture)[tree.names[f"Shin.{side}"]] for side in "LR"]
        for x, y, _ in knees:
            assert math.hypot(abs(x) - 0.1, y) > 0.02, "aside"
        assert knees[0][1] == pytest.approx(knees[1][1], abs=1e-6), "both to the same side"


@pytest.mark.parametrize("inwards", [0.01, 0.1, 0.3])
def test_straight_arms_bend_rather_than_push_the_chest(inwards: float) -> None:
    tree = bodies.SHAPES["humanoid"]
    body = tree.body()
    rest = bodies.rest_tips(body)
    chest = tree.names["Chest"]
    for hands in ((1,), (1, 2)):
        targets = [
            (x - math.copysign(inwards, x), y, z) if i in hands else (x, y, z)
            for i, (x, y, z) in enumerate(rest)
        ]
        posture = bodies.solved(body, targets)
        before = bodies.joints_of_body(body, bodies.solved(body, rest))
        after = bodies.joints_of_body(body, posture)
        assert bodies.missed(body, posture, targets) <= 1e-4
        assert math.dist(before[chest], after[chest]) <= 0.05 * inwards + 1e-3
        elbow = tree.names["Lower.L"]
        assert math.dist(before[elbow], after[elbow]) >= 0.1 * math.sqrt(inwards)


def test_a_hand_below_bones_that_are_all_shared_is_oriented_where_they_bring_it() -> None:
    rng = random.Random(5)
    tree = bodies.SHAPES["Y"].with_chains(("C.L", ""), ("D.L", ""))
    arm, hand = tree.members
    handed = Member(hand.bones, hand.tip, hand.rest_bends, has_hand=True)
    body = tree._replace(members=[arm, handed]).body(bodies.posed(rng, tree))
    shown = body.frames(body.fk())[hand.bones[-1]][0]
    wanted = vectors.mat_product(vectors.quat_matrix(random_turn(rng, 0.8)), shown)
    wrist = vectors.add(bodies.rest_tips(body)[0], (0.1, 0.2, -0.1))
    targets = [wrist, vectors.add(wrist, vectors.mat_apply(wanted, hand.tip))]
    pulls = [Pull(Goal(targets[0])), Pull(Goal(targets[1]), tip=Tip(wanted))]
    posture = pose_body(body, pulls)
    assert bodies.missed(body, posture, targets) <= 1e-6
    assert body.frames(posture)[hand.bones[-1]][0] == pytest.approx(wanted, abs=1e-9)


# Influence


@pytest.mark.long
def test_influence_is_continuous_to_nothing_and_to_all(figure: Figure) -> None:
    rng = random.Random(6)
    steepest = 0.0
    for name in ("Y", "torso"):
        tree = bodies.SHAPES[name]
        body = tree.body(bodies.posed(rng, tree))
        for root_weight in (0.0, 1.0):
            targets = [vectors.add(tip, somewhere(rng, 0.8)) for tip in bodies.rest_tips(body)]

            def joints(*influences: float, body: BodyInput = body) -> list[vectors.Vec]:
                pulls = [
                    Pull(Goal(t), influence=i, root_weight=root_weight) if i else None  # noqa: B023
                    for i, t in zip(influences, targets, strict=True)  # noqa: B023
                ]
                return bodies.joints_of_body(body, pose_body(body, pulls))

            small = 1e-6
            for a in (0.0, 0.5, 1.0):
                for b in (0.0, 0.5, 1.0):
                    at = joints(a, b)
                    for da, db in ((small, 0.0), (-small, 0.0), (0.0, small), (small, -small)):
                        if 0.0 <= a + da <= 1.0 and 0.0 <= b + db <= 1.0:
                            step = farthest(at, joints(a + da, b + db))
                            steepest = max(steepest, step / (small * bodies.reach_of(body)))
    figure("joints over influence, steepest, in reaches", f"{steepest:.1f}")
    assert steepest <= 4.0


def test_chains_of_influence_0_are_left_out_by_passing_none() -> None:
    for influence, weight, root_weight in (
        (0.0, 1.0, 0.0),
        (1.1, 1.0, 0.0),
        (math.nan, 1.0, 0.0),
        (1.0, 0.0, 0.0),
        (1.0, -1.0, 0.0),
        (1.0, math.inf, 0.0),
        (1.0, math.nan, 0.0),
        (1.0, 1.0, -0.1),
        (1.0, 1.0, 1.1),
        (1.0, 1.0, math.nan),
    ):
        with pytest.raises(ValueError, match="must be"):
            Pull(Goal(vectors.ORIGIN), "FABRIK", 20, 1e-4, influence, weight, root_weight)
    body = bodies.SHAPES["Y"].body()
    nothing = pose_body(body, [None, None])
    assert nothing.rotations == [local.rotation for local in body.locals]
    assert nothing.outcomes == [None, None]


# Any frame


@pytest.mark.parametrize("name", ["Y", "humanoid"])
def test_turning_moving_and_scaling_everything_turns_the_answer(name: str, figure: Figure) -> None:
    rng = random.Random(name)
    tree = bodies.SHAPES[name]
    worst = 0.0
    for i in range(8):
        channels = bodies.posed(rng, tree)
        body = tree.body(channels)
        targets = (
            bodies.tips_at(body, bodies.random_pose(rng, body, 0.6))
            if i % 2
            else [vectors.add(tip, somewhere(rng, 3.0)) for tip in bodies.rest_tips(body)]
        )
        root_weight = float(i > 3)
        size = 10.0 ** rng.uniform(-3.0, 3.0)
        axes = vectors.quat_matrix(random_turn(rng, 3.0))
        world = ((*[x * size for x in axes],), somewhere(rng, 5.0))
        there = tree.body(channels, frame=frame_in(world, WHOLE))  # type: ignore[arg-type]
        moved_targets = [point_in(world, target) for target in targets]  # type: ignore[arg-type]
        here = bodies.joints_of_body(body, bodies.solved(body, targets, root_weight=root_weight))
        found = bodies.joints_of_body(
            there, bodies.solved(there, moved_targets, root_weight=root_weight)
        )
        expected = [point_in(world, joint) for joint in here]  # type: ignore[arg-type]
        worst = max(worst, farthest(found, expected) / bodies.reach_of(there))
    figure(f"{name}: answer turned with the world, in reaches", f"{worst:.0e}")
    assert worst <= 1e-9


# Chains inside others


@pytest.mark.parametrize(
    "ends",
    [
        [("Lower.L", ""), ("S2", "")],
        [("Lower.L", ""), ("Lower.L", "S3")],
        [("Lower.L", "S2"), ("S3", "S2"), ("Lower.R", "")],
        [("Lower.L", "S3"), ("Lower.R", "S3"), ("S3", "S1")],
        [("Lower.L", "S3"), ("S3", "S2"), ("S2", "S1")],
        [("Lower.L", ""), ("Lower.L", "")],
    ],
)
def test_chains_that_end_or_begin_inside_another_one(ends: list[tuple[str, str]]) -> None:
    rng = random.Random(7)
    tree = bodies.tree_of(bodies.TORSO).with_chains(*ends)
    for i in range(12):
        body = tree.body(bodies.posed(rng, tree))
        targets = bodies.tips_at(body, bodies.random_pose(rng, body, 0.8))
        posture = bodies.solved(body, targets, root_weight=float(i % 2))
        assert bodies.missed(body, posture, targets) <= 1e-6
        assert states(posture) == ["REACHED"] * len(ends)


# Whatever the input


@pytest.mark.parametrize("name", NAMES)
def test_odd_targets_have_an_answer(name: str) -> None:
    tree = bodies.SHAPES[name]
    body = tree.body()
    count = len(body.members)
    root = body.bones[0].head
    for targets in (
        [root] * count,
        [vectors.add(root, (0.1, 0.2, 0.1))] * count,
        [(1e6, -1e6, 3e5)] * count,
        [(1e6 * (-1) ** i, 0.0, 1e6 * i) for i in range(count)],
        [(1e30, 0.0, 0.0), *bodies.rest_tips(body)[1:]],
    ):
        for root_weight in (0.0, 1.0):
            posture = bodies.solved(body, targets, root_weight=root_weight)
            assert_sound(body, posture)
            assert all(map(math.isfinite, posture.location))
    with pytest.raises(ValueError, match="finite"):
        bodies.solved(body, [(math.nan, 0.0, 0.0)] * count)


@pytest.mark.parametrize("root_weight", [0.0, 1.0])
def test_bones_without_length_and_bodies_without_size(root_weight: float) -> None:
    rest = bodies.rest_tips(bodies.SHAPES["humanoid"].body())
    tips = ("Head", "Lower.L", "Lower.R", "Shin.L", "Shin.R")
    nothing = bodies.tree_of(
        [(name, vectors.ORIGIN, vectors.ORIGIN, above) for name, _, _, above in bodies.HUMANOID],
        *tips,
    )
    some = bodies.tree_of(
        [
            (name, head, head if name in ("Spine", "Lower.L", "Thigh.R") else tail, above)
            for name, head, tail, above in bodies.HUMANOID
        ],
        *tips,
    )
    flat = [Local(scale=(0.0, 0.0, 0.0))] * len(bodies.HUMANOID)
    for body in (
        nothing.body(),
        some.body(),
        bodies.SHAPES["humanoid"].body(flat),
        bodies.SHAPES["humanoid"].body(frame=((0.0,) * 9, vectors.ORIGIN)),  # type: ignore[arg-type]
    ):
        assert_sound(body, bodies.solved(body, rest, root_weight=root_weight))


bones_of_a_tree = st.lists(st.integers(0, 7), min_size=1, max_size=8)
places = st.tuples(*[st.floats(-3.0, 3.0, allow_subnormal=False)] * 3)


@given(
    parents=bones_of_a_tree,
    joints=st.lists(places, min_size=9, max_size=9),
    targets=st.lists(places, min_size=3, max_size=3),
    tips=st.lists(st.integers(0, 8), min_size=3, max_size=3),
    weights=st.lists(st.sampled_from([1e-9, 0.3, 1.0, 1e9]), min_size=3, max_size=3),
    influences=st.lists(st.sampled_from([0.0, 0.4, 1.0]), min_size=3, max_size=3),
    root_weight=st.sampled_from([0.0, 0.5]),
)
@settings(max_examples=150)
def test_any_tree_has_an_answer(
    parents: list[int],
    joints: list[vectors.Vec],
    targets: list[vectors.Vec],
    tips: list[int],
    weights: list[float],
    influences: list[float],
    root_weight: float,
) -> None:
    """Joints that coincide among them."""
    drawing = [("0", vectors.ORIGIN, joints[0], "")]
    for i, parent in enumerate(parents):
        above = min(parent, i)
        drawing.append((str(i + 1), drawing[above][2], joints[i + 1], str(above)))
    tree = bodies.tree_of(drawing, *[str(min(tip, len(parents))) for tip in tips])
    body = tree.body()
    pulls = [
        Pull(Goal(target), weight=weight, influence=influence, root_weight=root_weight)
        if influence
        else None
        for target, weight, influence in zip(targets, weights, influences, strict=True)
    ]
    posture = pose_body(body, pulls)
    assert_sound(body, posture)
    for outcome, target in zip(posture.outcomes, targets, strict=True):
        if outcome is not None and all(influence in (0.0, 1.0) for influence in influences):
            is_there = math.dist(outcome.tip, target) <= 1e-4 * (bodies.reach_of(body) + 1e-9)
            assert outcome.state != "REACHED" or is_there


# Over time


def largest_jumps(
    tree: bodies.Tree, seed: int, size: float, root_weight: float
) -> tuple[float, float]:
    """The largest jumps of a joint, in reaches: where all tips arrive, and elsewhere.

    The fastest stretches of the path are halved, toward the larger step, until the rest is too
    short to have a speed.
    """
    rng = random.Random(seed)
    body = tree.body(bodies.posed(rng, tree, 0.3))
    rest = bodies.rest_tips(body)
    which = rng.randrange(len(rest))
    path = bodies.smooth_path(seed, rest[which], size * bodies.reach_of(body))

    def at(t: float) -> tuple[list[vectors.Vec], bool]:
        targets = [path(t) if i == which else tip for i, tip in enumerate(rest)]
        posture = bodies.solved(body, targets, root_weight=root_weight)
        is_out = any(state != "REACHED" for state in states(posture))
        return bodies.joints_of_body(body, posture), is_out

    count = 20
    samples = [at(k / count) for k in range(count + 1)]
    steps = [farthest(a[0], b[0]) for a, b in pairwise(samples)]
    jumps = [0.0, 0.0]
    for k in sorted(range(count), key=lambda k: -steps[k])[:2]:
        low, high = k / count, (k + 1) / count
        first, last = samples[k], samples[k + 1]
        for _ in range(20):
            middle = at(0.5 * (low + high))
            if farthest(first[0], middle[0]) > farthest(middle[0], last[0]):
                high, last = 0.5 * (low + high), middle
            else:
                low, first = 0.5 * (low + high), middle
        is_out = first[1] or last[1]
        jumps[is_out] = max(jumps[is_out], farthest(first[0], last[0]) / bodies.reach_of(body))
    return jumps[0], jumps[1]


@pytest.mark.long
@pytest.mark.parametrize("root_weight", [0.0, 1.0])
@pytest.mark.parametrize("name", ["Y", "torso"])
def test_a_body_does_not_jump_while_its_targets_move(
    name: str, root_weight: float, figure: Figure
) -> None:
    found = [
        largest_jumps(bodies.SHAPES[name], seed, size, root_weight)
        for seed in range(2)
        for size in (0.1, 0.4)
    ]
    arrived, elsewhere = max(jump for jump, _ in found), max(jump for _, jump in found)
    figure(
        f"{name}, root {root_weight:.0f}: largest jump, in reaches",
        f"{arrived:.0e} where all arrive, {elsewhere:.0e} elsewhere",
    )
    assert arrived <= 1e-3
