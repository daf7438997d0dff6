"""Bones grow to reach: by one factor, no more than they must, without a jump."""

import math
import random
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from strategies import (
    PARENT,
    SCALE_MODES,
    TOLERANCE,
    Point,
    Rig,
    farthest,
    joints_of,
    lengths_of,
    moved,
    random_direction,
    random_rig,
    tip_of,
)

from fabrik_solver import (
    WHOLE,
    ChainInput,
    Frame,
    Goal,
    Hinge,
    Local,
    Posture,
    RestBend,
    Stretch,
    chain_frames,
    pose_chain,
)
from fabrik_solver.core import vectors
from fabrik_solver.core.limits import Limit


def stacked(rig: Rig) -> Rig:
    """The rig with each head on the Y axis of the bone before it."""
    bones = [
        type(bone)(
            bone.rest,
            (0.0, bone.head[1], 0.0),
            bone.length,
            bone.parent_rest,
            bone.inherit_scale,
            bone.inherit_rotation,
            bone.local_location,
        )
        for bone in rig[0]
    ]
    return bones, [Local(rotation=c.rotation, scale=c.scale) for c in rig[1]]


def chain_of(rig: Rig, parent: Frame = WHOLE, limits: Sequence[Limit | None] = ()) -> ChainInput:
    return ChainInput(*rig, tip_of(rig), parent, limits=limits)


def posed(rig: Rig, posture: Posture) -> Rig:
    """The rig with the channels that were solved."""
    scales = posture.scales or [local.scale for local in rig[1]]
    triples = zip(rig[1], posture.rotations, scales, strict=True)
    return rig[0], [Local(c.location, turn, scale) for c, turn, scale in triples]


def target_at(rng: random.Random, chain: ChainInput, share: float) -> Point:
    return moved(chain.root, random_direction(rng), share * chain.chain.scale)


def factor_of(rig: Rig, posture: Posture) -> float:
    return posture.scales[0][1] / rig[1][0].scale[1]


@pytest.mark.parametrize("most", [0.99, -1.0, math.inf, math.nan])
def test_a_most_that_is_no_growth_is_refused(most: float) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Stretch(most, keeps_volume=False)


@pytest.mark.parametrize("inherit_rotation", [True, False])
@pytest.mark.parametrize("mode", SCALE_MODES)
def test_arrives_at_every_target_that_it_may_grow_to(
    mode: str, inherit_rotation: bool, figure: Callable[[str, str], None]
) -> None:
    worst = worst_length = worst_volume = 0.0
    for seed in range(60):
        rng = random.Random(seed)
        bones = rng.randint(1, 10)
        rig = stacked(random_rig(rng, bones, mode, inherit_rotation))
        chain = chain_of(rig)
        most = rng.uniform(1.2, 3.0)
        target = target_at(rng, chain, rng.uniform(1.0, most))
        goal = Goal(target, softness=rng.choice((0.0, 0.0, 0.2)))
        posture = pose_chain(chain, goal, stretch=Stretch(most, keeps_volume=True))
        joints = joints_of(posed(rig, posture))
        size = sum(lengths_of(joints_of(rig)))
        if factor_of(rig, posture) < most:  # Softness takes a little of it.
            assert posture.state == "REACHED"
            worst = max(worst, math.dist(joints[-1], target) / size)
        assert farthest(joints[-1:], [posture.tip]) < 1e-9 * size
        grown = [b / a for a, b in zip(lengths_of(joints_of(rig)), lengths_of(joints), strict=True)]
        worst_length = max(worst_length, max(grown) - min(grown))
        if goal.softness == 0.0 and mode != "FIX_SHEAR" and (inherit_rotation or mode != "FULL"):
            for a, b in zip(frames(rig, chain), frames(posed(rig, posture), chain), strict=True):
                ratio = vectors.mat_determinant(b[0]) / vectors.mat_determinant(a[0])
                worst_volume = max(worst_volume, abs(ratio - 1.0))
    figure(f"stretched tip, {mode}{'' if inherit_rotation else ', own rotation'}", f"{worst:.1e}")
    assert worst <= 1e-6
    assert worst_length <= 1e-9
    assert worst_volume <= 1e-9


def frames(rig: Rig, chain: ChainInput) -> list[Frame]:
    turned = chain.with_scales([local.scale for local in rig[1]])
    return chain_frames(turned, [local.rotation for local in rig[1]])


def test_arrives_with_heads_off_the_axes_of_their_parents_and_uneven_fk_scale() -> None:
    worst = 0.0
    for seed in range(150):
        rng = random.Random(seed)
        mode = rng.choice(("ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY"))
        rig = random_rig(rng, rng.randint(1, 8), mode, scale=1.4)
        chain = chain_of(rig, PARENT if mode == "NONE" else WHOLE)
        target = target_at(rng, chain, rng.uniform(1.0, 1.6))
        posture = pose_chain(chain, Goal(target), stretch=Stretch(3.0, seed % 2 == 0))
        worst = max(worst, math.dist(posture.tip, target) / chain.chain.scale)
    assert worst <= 1e-6


def test_sheared_bones_arrive_too() -> None:
    """In rigs whose rest pose is bent and whose heads are aside, which shears what is inherited."""
    misses = 0
    for seed in range(150):
        rng = random.Random(seed)
        rig = random_rig(rng, rng.randint(2, 8), rng.choice(("FULL", "FIX_SHEAR")))
        chain = chain_of(rig)
        target = target_at(rng, chain, rng.uniform(1.0, 1.5))
        posture = pose_chain(chain, Goal(target), stretch=Stretch(3.0, keeps_volume=True))
        misses += math.dist(posture.tip, target) > 1e-6 * chain.chain.scale
    assert misses <= 1


@pytest.mark.parametrize("mode", ["FULL", "ALIGNED", "FIX_SHEAR"])
def test_a_child_that_inherits_the_growth_keeps_its_own_scale(mode: str) -> None:
    rng = random.Random(3)
    bones, channels = stacked(random_rig(rng, 5, mode, scale=1.3))
    straight = [
        type(b)((1, 0, 0, 0, 1, 0, 0, 0, 1), b.head, b.length, inherit_scale=mode) for b in bones
    ]
    rig = straight, [Local(scale=c.scale) for c in channels]
    chain = chain_of(rig)
    target = target_at(rng, chain, 1.7)
    posture = pose_chain(chain, Goal(target), stretch=Stretch(2.0, keeps_volume=True))
    assert factor_of(rig, posture) == pytest.approx(1.7)
    for scale, local in zip(posture.scales[1:], channels[1:], strict=True):
        assert scale == pytest.approx(local.scale, rel=1e-9)


@pytest.mark.parametrize("mode", SCALE_MODES)
def test_uniform_growth_shears_no_bone_relative_to_its_parent(mode: str) -> None:
    """Also in chains that softness bends, and with heads aside."""
    worst = missed = 0.0
    for seed in range(40):
        rng = random.Random(seed)
        rig = random_rig(rng, rng.randint(2, 8), mode)
        chain = chain_of(rig)
        target = target_at(rng, chain, rng.uniform(1.0, 1.6))
        goal = Goal(target, softness=rng.choice((0.0, 0.2)))
        posture = pose_chain(chain, goal, stretch=Stretch(3.0, True, is_uniform=True))
        missed = max(missed, math.dist(posture.tip, target) / chain.chain.scale)
        growth = factor_of(rig, posture)
        for parent, own in pairwise([WHOLE, *frames(posed(rig, posture), chain)]):
            x, y, z = vectors.mat_columns(
                vectors.mat_product(vectors.mat_inverse(parent[0]), own[0])
            )
            worst = max(worst, *map(abs, (vectors.dot(x, y), vectors.dot(y, z), vectors.dot(z, x))))
            assert vectors.mat_column_lengths(own[0]) == pytest.approx((growth,) * 3)
    assert worst <= 1e-9
    assert missed <= 1e-6


def test_in_reach_nothing_changes() -> None:
    for seed in range(300):
        rng = random.Random(seed)
        rig = random_rig(rng, rng.randint(1, 8), rng.choice(SCALE_MODES))
        limits = [Hinge((1.0, 0.0, 0.0), (-3.1, 3.1))] * len(rig[0]) if seed % 5 == 0 else []
        chain = chain_of(rig, limits=limits)
        goal = Goal(target_at(rng, chain, rng.uniform(0.0, 0.97)), softness=0.03 * (seed % 2))
        solver = rng.choice(("FABRIK", "CCD", "TEXTBOOK"))
        plain = pose_chain(chain, goal, solver)
        if plain.state != "REACHED" and limits:
            continue
        answer = pose_chain(chain, goal, solver, stretch=Stretch(2.0, keeps_volume=True))
        assert answer.scales == ()
        assert (answer.numbers, answer.tip, answer.state) == (
            plain.numbers,
            plain.tip,
            plain.state,
        )


def test_a_target_inside_the_shell_makes_nothing_grow() -> None:
    rig = stacked(random_rig(random.Random(1), 2))
    bones = [type(b)(b.rest, b.head, b.length) for b in rig[0]]
    bones[0] = type(bones[0])(bones[0].rest, bones[0].head, 5.0)
    bones[1] = type(bones[1])(bones[1].rest, (0.0, 5.0, 0.0), bones[1].length)
    chain = chain_of((bones, rig[1]))
    goal = Goal(moved(chain.root, (0.0, 0.0, 1.0), 0.5))
    posture = pose_chain(chain, goal, stretch=Stretch(2.0, keeps_volume=False))
    assert (posture.state, posture.scales) == ("OUT_OF_REACH", ())


def test_at_most_it_is_stretched_as_far_as_it_may_be() -> None:
    rng = random.Random(5)
    rig = stacked(random_rig(rng, 4))
    chain = chain_of(rig)
    target = target_at(rng, chain, 4.0)
    posture = pose_chain(chain, Goal(target), stretch=Stretch(2.0, keeps_volume=False))
    assert posture.state == "OUT_OF_REACH"
    assert factor_of(rig, posture) == 2.0
    assert math.dist(posture.tip, chain.root) == pytest.approx(2.0 * chain.chain.scale)
    toward = vectors.unit(tuple(a - b for a, b in zip(target, chain.root, strict=True)))
    assert farthest([posture.tip], [moved(chain.root, toward, 2 * chain.chain.scale)]) < 1e-9


@pytest.mark.parametrize("limits", [(), [Hinge((1.0, 0.0, 0.0), (-1.0, 1.0))] * 3])
def test_a_chain_that_is_scaled_to_zero_stays_at_its_root(limits: Sequence[Limit]) -> None:
    bones, pose = random_rig(random.Random(1), 3)
    flat = [Local(rotation=local.rotation, scale=(0.0, 0.0, 0.0)) for local in pose]
    chain = chain_of((bones, flat), limits=limits)
    posed = pose_chain(chain, Goal((1.0, 2.0, 3.0)), stretch=Stretch(2.0, False))
    assert (posed.tip, posed.state) == (chain.root, "OUT_OF_REACH")


def test_no_stretch_and_a_most_of_1_are_the_same() -> None:
    rng = random.Random(6)
    chain = chain_of(random_rig(rng, 4))
    goal = Goal(target_at(rng, chain, 1.4))
    plain, answer = pose_chain(chain, goal), pose_chain(chain, goal, stretch=Stretch(1.0, True))
    assert (answer.numbers, answer.scales, answer.state) == (plain.numbers, (), "OUT_OF_REACH")


def test_influence_blends_the_scale_as_well() -> None:
    rng = random.Random(7)
    rig = stacked(random_rig(rng, 3, "NONE", scale=1.3))
    chain = chain_of(rig)
    goal = Goal(target_at(rng, chain, 1.8))
    stretch = Stretch(3.0, keeps_volume=True)
    whole = pose_chain(chain, goal, stretch=stretch)
    half = pose_chain(chain, goal, influence=0.5, stretch=stretch)
    for scale, given, solved in zip(half.scales, rig[1], whole.scales, strict=True):
        middle = [0.5 * (a + b) for a, b in zip(given.scale, solved, strict=True)]
        assert scale == pytest.approx(middle)
    assert farthest([half.tip], [joints_of(posed(rig, half))[-1]]) < 1e-12


# Continuity

Pose = tuple[list[Point], list[float]]


def walked(
    chain: ChainInput, rig: Rig, stretch: Stretch, softness: float, samples: int
) -> list[Pose]:
    """Joints and scales while the target goes straight through reach, stretch and beyond."""
    poses: list[Pose] = []
    aside = random_direction(random.Random(9))
    for i in range(samples + 1):
        distance = chain.chain.scale * (0.8 + 1.6 * i / samples)
        target = moved(chain.root, aside, distance)
        posture = pose_chain(chain, Goal(target, softness=softness), stretch=stretch)
        local = posed(rig, posture)
        poses.append((joints_of(local), [x for c in local[1] for x in c.scale]))
    return poses


@pytest.mark.long
@pytest.mark.parametrize("softness", [0.0, 0.15])
@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("mode", ["FULL", "NONE"])
def test_there_is_no_jump_where_stretching_begins_or_ends(
    mode: str, limited: bool, softness: float, figure: Callable[[str, str], None]
) -> None:
    """Eight times the samples make the largest step at least half as large, down to 3e-4.

    A limb straightens like a square root, so that its steps become √8 times smaller at least.
    """
    rig = stacked(random_rig(random.Random(2), 4, mode))
    limits = [None, Hinge((1.0, 0.0, 0.0), (-1.2, -0.3)), None, None] if limited else []
    chain = chain_of(rig, limits=limits)
    stretch = Stretch(1.5, keeps_volume=True)

    def steps(samples: int) -> tuple[float, float]:
        pairs = list(pairwise(walked(chain, rig, stretch, softness, samples)))
        joints = max(farthest(a[0], b[0]) for a, b in pairs) / chain.chain.scale
        return joints, max(max(map(abs, map(float.__sub__, a[1], b[1]))) for a, b in pairs)

    coarse, fine = steps(40), steps(320)
    name = f"stretch, {mode}, soft {softness}{', limited' if limited else ''}: steps"
    figure(name, f"{coarse[0]:.1e} → {fine[0]:.1e}, scales {coarse[1]:.1e} → {fine[1]:.1e}")
    assert fine[0] <= 0.5 * coarse[0] + 3.0 * TOLERANCE
    assert fine[1] <= 0.25 * coarse[1] + 3.0 * TOLERANCE


def test_softness_bends_what_stretch_makes_arrive() -> None:
    """The pose is the one with softness, enlarged until the tip is on the target."""
    rig = stacked(random_rig(random.Random(4), 3, "NONE"))
    chain = chain_of(rig)
    size = chain.chain.scale
    direction = random_direction(random.Random(8))
    for share in (0.75, 0.85, 0.95, 1.0, 1.1, 1.4):
        goal = Goal(moved(chain.root, direction, share * size), softness=0.2)
        plain = pose_chain(chain, goal)
        answer = pose_chain(chain, goal, stretch=Stretch(2.0, keeps_volume=False))
        assert answer.state == "REACHED"
        assert math.dist(answer.tip, goal.target) < 1e-6 * size
        if share <= 0.8:
            assert answer.scales == ()
            continue
        factor = math.dist(goal.target, chain.root) / math.dist(plain.tip, chain.root)
        assert factor_of(rig, answer) == pytest.approx(factor, rel=1e-6)
        enlarged = [
            moved(chain.root, tuple(a - b for a, b in zip(p, chain.root, strict=True)), factor)
            for p in joints_of(posed(rig, plain))
        ]
        assert farthest(enlarged, joints_of(posed(rig, answer))) < 1e-5 * size


def test_an_elbow_that_cannot_straighten_stretches_until_it_arrives() -> None:
    bones = stacked(random_rig(random.Random(1), 2))[0]
    flat = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    upper = type(bones[0])(flat, (0.0, 0.0, 0.0), 1.0)
    lower = type(bones[0])(flat, (0.0, 1.0, 0.0), 1.0)
    rig = [upper, lower], [Local(), Local(rotation=(math.cos(0.4), math.sin(0.4), 0.0, 0.0))]
    chain = chain_of(rig, limits=[None, Hinge((1.0, 0.0, 0.0), (0.5, 2.5))])
    longest = 2.0 * math.cos(0.25)  # what the elbow lets it span
    for distance in (longest + 0.01, 2.0, 2.4):
        target = moved((0.0, 0.0, 0.0), (0.0, 0.6, 0.8), distance)
        plain = pose_chain(chain, Goal(target))
        assert plain.state != "REACHED"
        answer = pose_chain(chain, Goal(target), stretch=Stretch(2.0, keeps_volume=False))
        assert answer.state == "REACHED"
        assert factor_of(rig, answer) == pytest.approx(distance / longest, rel=0.03)
        turn = answer.rotations[1]
        assert 2.0 * math.atan2(turn[1], turn[0]) >= 0.5 - 1e-6


def test_flat_bones_stay_flat_and_mirrored_ones_mirrored() -> None:
    bones, channels = stacked(random_rig(random.Random(1), 3))
    scales = [(1.0, 1.0, 0.0), (-1.0, 1.0, 1.0), (1.0, 1.0, 1.0)]
    rig = (
        bones,
        [Local(rotation=c.rotation, scale=s) for c, s in zip(channels, scales, strict=True)],
    )
    chain = chain_of(rig)
    target = target_at(random.Random(3), chain, 1.3)
    posture = pose_chain(chain, Goal(target), stretch=Stretch(2.0, keeps_volume=True))
    assert all(math.isfinite(x) for scale in posture.scales for x in scale)
    assert posture.scales[0][2] == 0.0
    assert posture.scales[1][0] < 0.0


@pytest.mark.parametrize("mode", SCALE_MODES)
def test_a_carried_chain_is_that_of_its_new_parent(mode: str) -> None:
    rng = random.Random(3)
    for bias in (0.0, 0.4):
        rig = random_rig(rng, 4, mode, scale=1.2)
        limits: list[Limit | None] = [None, Hinge((1.0, 0.0, 0.0), (-0.1, 1.5)), None, None]
        stiffness = [0.0, 0.2, 0.0, 0.0]
        rest = tip_of(rig), WHOLE, RestBend((1.0, 0.0, 0.0)), limits, stiffness
        there = ChainInput(*rig, rest[0], PARENT, *rest[2:], bias=bias)
        carried = ChainInput(*rig, *rest, bias=bias).carried(PARENT)
        assert (carried.parent, carried.joints) == (PARENT, there.joints)
        goal = Goal(random_direction(rng))
        found, expected = pose_chain(carried, goal), pose_chain(there, goal)
        assert (found.numbers, found.tip) == (expected.numbers, expected.tip)
