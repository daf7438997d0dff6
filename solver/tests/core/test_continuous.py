"""A shot that is solved as a whole has no avoidable jumps."""

import math
import os
import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from time import perf_counter

import pytest
from bodies import SHAPES, joints_of_body, posed, reach_of, rest_tips, smooth_path, standing
from limited import BROKEN, KINDS, broken, limited, random_limit, tip_at
from paths import largest_second_difference
from strategies import random_direction, random_rig, tip_of

from fabrik_solver import (
    COMPILED,
    WHOLE,
    BodyInput,
    BodyInstant,
    Candidate,
    ChainInput,
    ChainInstant,
    Goal,
    Instant,
    Limit,
    Pull,
    chain_frames,
    pose_chain,
    solve_shot,
)
from fabrik_solver.core.instants import largest_step
from fabrik_solver.core.smoothing import BLENDS, blend_changes, roughest
from fabrik_solver.core.vectors import ORIGIN, Quat, Vec, quat_inverse, scaled

Figure = Callable[[str, str], None]
Joints = list[Vec]

FRAMES = 240
JUMP = 0.1
"""Of the length: what no joint may go from one of so many frames to the next."""

ALL = COMPILED or bool(os.environ.get("FABRIK_FUZZ"))
PATHS = [(kind, bones, i) for kind in KINDS for bones in (3, 5, 10) for i in range(25)]
JUMPING = [("hinge", 3, 10), ("cone", 3, 5), ("mixed", 3, 12), ("mixed", 5, 19)]
"""Some of those that jump where each frame is solved alone."""


def target_path(
    kind: str, bones: int, number: int, frames: int = FRAMES
) -> tuple[ChainInput, list[Limit], list[Vec]]:
    """A chain with limits, and the way of its tip from one pose that they allow to another.

    The joints go there smoothly, each within its limit, so that a continuous solution exists.
    """
    rng = random.Random(f"{kind}{bones}{number}")
    chain, limits, _ = limited(rng, bones, kind)
    ends = [[(rng.random(), rng.random()) for _ in range(3)] for _ in limits]

    def pose(share: float) -> list[Quat]:
        found: list[Quat] = []
        for limit, ((a, b), (c, d), (e, f)) in zip(limits, ends, strict=True):
            place = (a + (b - a) * share, c + (d - c) * share, e + (f - e) * share)
            found.append(limit.inside(place))
        return found

    times = [k / (frames - 1) for k in range(frames)]
    path = [tip_at(chain, pose(0.5 - 0.5 * math.cos(math.pi * t))) for t in times]
    return chain, limits, path


def joints_at(chain: ChainInput, rotations: Sequence[Quat]) -> Joints:
    return [*(head for _, head in chain_frames(chain, rotations)), tip_at(chain, list(rotations))]


def steps(poses: Sequence[Joints]) -> list[float]:
    """The farthest that a joint goes from each frame to the next."""
    return [max(map(math.dist, a, b)) for a, b in pairwise(poses)]


def tracked(instants: Sequence[Instant], start: Candidate | None = None) -> list[Candidate]:
    """Each pose solved from the one before, the first one alone."""
    alone = instants[0].alone()
    found = [start or alone]
    for instant in instants[1:]:
        instant.alone()
        found.append(instant.solved_from(found[-1].rotations, found[-1].location))
    return found


def shot_of(chain: ChainInput, path: Sequence[Vec]) -> list[Instant]:
    return [ChainInstant(chain, Goal(target)) for target in path]


# Chains


def test_a_change_of_tracks_is_crossfaded_evenly_to_both_sides() -> None:
    rng = random.Random(3)
    rig = random_rig(rng, 3)
    chain = ChainInput(*rig, tip_of(rig), WHOLE)
    instants = [ChainInstant(chain, Goal(scaled(tip_of(rig), 0.8)))] * (2 * BLENDS[0] + 8)
    first = instants[0].alone()
    second = instants[0].solved_from([*map(quat_inverse, first.rotations)], ORIGIN)
    at = len(instants) // 2 - 1
    path = [first] * (at + 1) + [second] * (at + 1)
    blended = blend_changes(instants, path, [at])
    changed = [i for i, (one, other) in enumerate(zip(path, blended, strict=True)) if one != other]
    assert changed == [*range(at + 1 - BLENDS[0], at + 1 + BLENDS[0])]
    assert all(one.reaches for one in blended)
    assert largest_step(first, second) > JUMP
    assert roughest(blended) < 0.1 * roughest(path)


@pytest.mark.long
def test_no_joint_jumps_within_limits(figure: Figure) -> None:
    """All 225 paths are tried where the solver is compiled, and some that jump where it is not."""
    tried = PATHS if ALL else JUMPING
    before = after = 0
    ratios: list[float] = []
    seconds = 0.0
    for kind, bones, number in tried:
        chain, limits, path = target_path(kind, bones, number)
        shot = shot_of(chain, path)
        began = perf_counter()
        solved = solve_shot(shot)
        seconds += perf_counter() - began
        alone = [joints_at(chain, pose_chain(chain, Goal(target)).rotations) for target in path]
        poses = [joints_at(chain, one.rotations) for one in solved]
        before += max(steps(alone)) > JUMP
        after += max(steps(poses)) > JUMP
        assert max(
            math.dist(pose[-1], target) for pose, target in zip(poses, path, strict=True)
        ) < (1e-4 * (1.0 + 1e-6))
        for one in solved:
            assert max(map(broken, limits, one.rotations)) <= BROKEN
        ways = (tracked(shot), tracked(shot[::-1]))
        rough = [
            largest_second_difference([joints_at(chain, one.rotations) for one in way])
            for way in ways
            if all(one.reaches for one in way)
        ]
        if rough:
            ratios.append(largest_second_difference(poses) / min(rough))
    ratios.sort()
    figure(
        f"{len(tried)} paths within limits: with a jump",
        f"{before} solved alone, {after} as a shot, {1e3 * seconds / len(tried) / FRAMES:.1f} ms",
    )
    figure(
        "second differences of shots, in those of the smoother tracking",
        f"median {ratios[len(ratios) // 2]:.2f}, at most {ratios[-1]:.2f}",
    )
    assert before > 0
    assert after == 0
    assert ratios[-1] <= 1.25


@pytest.mark.long
@pytest.mark.parametrize(("kind", "bones", "number"), JUMPING[:3])
def test_what_does_not_jump_is_continuous_however_densely_it_is_tracked(
    kind: str, bones: int, number: int
) -> None:
    """From one end or the other; and a jump would stay as large."""
    chain, _, path = target_path(kind, bones, number)
    solved = solve_shot(shot_of(chain, path))
    poses = [joints_at(chain, one.rotations) for one in solved]
    _, _, fine = target_path(kind, bones, number, 4 * (FRAMES - 1) + 1)
    shot = shot_of(chain, fine)
    largest: list[float] = []
    for way in (tracked(shot, solved[0]), tracked(shot[::-1], solved[-1])):
        if all(one.reaches for one in way):
            largest.append(max(steps([joints_at(chain, one.rotations) for one in way])))
    assert largest, "neither end can be tracked to the other"
    assert min(largest) <= 0.5 * max(steps(poses)) + 1e-4


def test_a_shot_is_the_same_each_time_and_backwards_it_is_as_smooth() -> None:
    chain, _, path = target_path("mixed", 3, 16, 60)
    first, again = (solve_shot(shot_of(chain, path)) for _ in range(2))
    assert [one.rotations for one in first] == [one.rotations for one in again]
    back = solve_shot(shot_of(chain, path[::-1]))
    forth = max(steps([joints_at(chain, one.rotations) for one in first]))
    assert max(steps([joints_at(chain, one.rotations) for one in back])) <= 1.5 * forth


def test_few_frames_and_targets_out_of_reach_have_an_answer() -> None:
    chain, limits, path = target_path("cone", 3, 0)
    assert solve_shot([]) == []
    (one,) = solve_shot(shot_of(chain, path[:1]))
    assert list(one.rotations) == list(pose_chain(chain, Goal(path[0])).rotations)
    for count in (2, 3, 5):
        assert len(solve_shot(shot_of(chain, path[:count]))) == count
    rng = random.Random(1)
    away = [scaled(random_direction(rng), 3.0)] * 4 + [ORIGIN] * 3
    for pose in solve_shot(shot_of(chain, away)):
        assert max(map(broken, limits, pose.rotations)) <= BROKEN
        assert all(math.isfinite(number) for q in pose.rotations for number in q)


def test_a_pose_solved_from_itself_stays() -> None:
    for kind, bones, number in JUMPING:
        chain, _, path = target_path(kind, bones, number, 10)
        for target in path:
            posture = pose_chain(chain, Goal(target))
            again = pose_chain(chain, Goal(target), start=posture.rotations)
            for a, b in zip(posture.rotations, again.rotations, strict=True):
                assert math.dist(a, b) <= 1e-6


def test_a_part_of_the_influence_mixes_what_is_solved_from_a_start_with_the_fk_pose() -> None:
    chain, _, path = target_path("cone", 5, 2, 3)
    start = pose_chain(chain, Goal(path[0])).rotations
    half = pose_chain(chain, Goal(path[1]), influence=0.5, start=start)
    none = pose_chain(chain, Goal(path[1]), influence=0.0, start=start)
    assert all(abs(q[0]) >= 1.0 - 1e-12 for q in none.rotations)
    assert half.rotations != none.rotations


# Bodies


def contradicting(
    name: str, seed: int, root_weight: float, times: Sequence[float] = range(120)
) -> tuple[BodyInput, list[Instant]]:
    """A body with limits whose targets go ways of their own, farther apart than it reaches."""
    rng = random.Random(f"{name}{seed}{root_weight}")
    tree = SHAPES[name]
    limits = [random_limit(rng, "cone") for _ in tree.bones]
    body = tree.body(posed(rng, tree, 0.3), limits)
    size = 0.5 * rng.choice((0.4, 0.8)) * reach_of(body)
    ways = [smooth_path(10 * seed + k, tip, size) for k, tip in enumerate(rest_tips(body))]
    shot: list[Instant] = []
    for time in times:
        pulls = [Pull(Goal(way(time / 238)), root_weight=root_weight) for way in ways]
        shot.append(BodyInstant(body, pulls))
    return body, shot


@pytest.mark.parametrize("root_weight", [0.0, 1.0])
def test_a_body_that_is_solved_from_a_solution_stays_there(root_weight: float) -> None:
    _, [instant] = contradicting("Y", 0, root_weight, [0.0])
    alone = instant.alone()
    for number in range(4):
        found = instant.solved_from(instant.spread(number + 1), ORIGIN)
        again = instant.solved_from(found.rotations, found.location)
        assert largest_step(alone, found) > JUMP
        assert largest_step(found, again) < 1e-12


@pytest.mark.long
def test_bodies_do_not_jump_where_targets_contradict_each_other(figure: Figure) -> None:
    count = 4 if ALL else 1
    alone_steps: list[float] = []
    shot_steps: list[float] = []
    missed = [0.0, 0.0]
    for name in ("Y", "torso") if ALL else ("Y",):
        for root_weight in (0.0, 1.0):
            for seed in range(count):
                body, shot = contradicting(name, seed, root_weight)
                reach = reach_of(body)
                for i, found in enumerate(([one.alone() for one in shot], solve_shot(shot))):
                    poses = [
                        joints_of_body(body, standing(body, one.rotations, one.location))
                        for one in found
                    ]
                    missed[i] += sum(one.missed for one in found)
                    (shot_steps if i else alone_steps).append(max(steps(poses)) / reach)
    figure(
        f"{len(shot_steps)} bodies with contradicting targets: with a jump",
        f"{sum(s > JUMP for s in alone_steps)} solved alone, {sum(s > JUMP for s in shot_steps)} "
        f"as a shot; largest step {max(alone_steps):.2f}, {max(shot_steps):.2f} of the reach",
    )
    # Where no target can be reached a minimum may vanish without another one nearby.
    assert max(shot_steps) <= 2.0 * JUMP
    assert 4 * sum(s > JUMP for s in shot_steps) <= sum(s > JUMP for s in alone_steps)
    assert missed[1] <= 1.1 * missed[0]


@pytest.mark.long
@pytest.mark.parametrize("way", [1, -1])
def test_where_a_body_still_jumps_all_minima_nearby_vanish(way: int, figure: Figure) -> None:
    """The largest jump left of the bodies above, tracked at 12 times the frames from many starts.

    Going forward, the poses with the least miss end a frame later than going backward.
    """
    times = [43 + k / 12 for k in range(73)][::way]
    _, shot = contradicting("Y", 3, 0.0, times)
    alone = shot[0].alone()
    starts = [alone]
    for number in range(30 if ALL else 5):
        found = shot[0].solved_from(shot[0].spread(number + 1), alone.location)
        for _ in range(6):  # Until it is at its minimum.
            found = shot[0].solved_from(found.rotations, found.location)
        starts.append(found)
    least = min(one.missed for one in starts)
    near = [one for one in starts if one.missed <= 1.5 * least]
    assert len(near) >= 3
    jumps = []
    for start in near:
        track = tracked(shot, start)
        jumps.append(max(largest_step(a, b) for a, b in pairwise(track)))
    figure(
        f"a body whose targets contradict, tracked densely, way {way}: least jump",
        f"{min(jumps):.2f} of the reach, of {len(jumps)} starts",
    )
    assert min(jumps) > JUMP
