"""Springs: strands that swing as VRM specifies, or at any frame rate alike."""

from collections.abc import Callable
from itertools import pairwise
from math import acos, cos, dist, hypot, isfinite, pi, sin, sqrt

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fabrik_solver import WHOLE, Bone, ChainInput, Cone, Frame, Limit, Local
from fabrik_solver.core.vectors import (
    IDENTITY,
    ORIGIN,
    Mat3,
    Vec,
    add,
    dot,
    mat_apply,
    mat_product,
    quat_about,
    quat_matrix,
    scaled,
    sub,
    unit,
)
from fabrik_solver.motion.solid import Solid
from fabrik_solver.motion.spring import Spring
from fabrik_solver.motion.spring_collision import Collider, Ground
from fabrik_solver.motion.spring_inputs import Instant
from fabrik_solver.motion.spring_strand import BEYOND, Mode, Strand, simulate, simulate_on

DOWN: Mat3 = (1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -1.0, 0.0)
"""Rest axes of a bone that hangs down, along −Z."""

STEADY, VRM = Mode(), Mode(is_steady=False)
EARTH: Vec = (0.0, 0.0, -9.81 / 60.0)
BALL = Collider((0.0, 0.05, -0.3), (0.0, 0.05, -0.3), 0.1)
number = st.floats(-1.0, 1.0)


def strand(
    lengths: list[float], rest: Mat3 = DOWN, limits: tuple[Limit | None, ...] = ()
) -> ChainInput:
    heads = [0.0, *lengths[:-1]]
    bones = [
        Bone(rest if i == 0 else IDENTITY, (0.0, head, 0.0), size)
        for i, (head, size) in enumerate(zip(heads, lengths, strict=True))
    ]
    return ChainInput(bones, [Local()] * len(bones), (0.0, lengths[-1], 0.0), WHOLE, limits=limits)


def turned(axis: Vec, angle: float) -> Mat3:
    return quat_matrix(quat_about(axis, angle))


def shaken(t: float) -> Frame:
    """A head that shakes and nods, and walks about."""
    axes = mat_product(
        turned((0.0, 0.0, 1.0), 0.8 * sin(4.4 * t)), turned((0.0, 1.0, 0.0), 0.6 * sin(6.3 * t))
    )
    return axes, (0.15 * sin(8.2 * t), 0.1 * sin(5.7 * t), 0.05 * sin(12.6 * t))


def played(
    chain: ChainInput,
    spring: Spring,
    rate: float,
    seconds: float,
    path: Callable[[float], Frame] = shaken,
    mode: Mode = STEADY,
    colliders: Callable[[float], list[Collider]] = lambda _: [],
    world: Frame = WHOLE,
) -> Strand:
    instants: list[Instant] = []
    for i in range(round(seconds * rate) + 1):
        springs = [spring] * len(chain.links)
        instants.append(Instant(world, chain, path(i / rate), springs, colliders(i / rate)))
    return simulate(instants, rate, mode)


def as_written(
    chain: ChainInput,
    spring: Spring,
    rate: float,
    seconds: float,
    colliders: list[Collider],
) -> list[list[Vec]]:
    """VRMC_springBone 1.0, "SpringBone Algorithm", for bones without scale in plain steps."""
    dt = 1.0 / rate
    sizes = [dist(a, b) for a, b in pairwise(chain.joints)]
    current = [*chain.joints[1:]]
    previous = [*current]
    shown = [[*chain.joints]]
    for frame in range(1, round(seconds * rate) + 1):
        axes, head = shaken(frame / rate)
        head = add(head, mat_apply(axes, chain.root))
        joints = [head]
        for i, link in enumerate(chain.links):
            axes = mat_product(axes, link.bone.rest)
            axis = mat_apply(axes, (0.0, 1.0, 0.0))
            inertia = scaled(sub(current[i], previous[i]), 1.0 - spring.drag)
            external = add(scaled(axis, dt * spring.stiffness), scaled(spring.gravity, dt))
            tail = add(add(current[i], inertia), external)
            tail = add(head, scaled(unit(sub(tail, head)) or axis, sizes[i]))
            for collider in colliders:
                middle = sub(collider.end, collider.start)
                share = dot(sub(tail, collider.start), middle) / (dot(middle, middle) or 1.0)
                nearest = add(collider.start, scaled(middle, min(1.0, max(0.0, share))))
                reach = collider.radius + spring.radius
                if (away := dist(tail, nearest)) < reach:
                    tail = add(nearest, scaled(sub(tail, nearest), reach / away))
                    tail = add(head, scaled(unit(sub(tail, head)) or axis, sizes[i]))
            previous[i], current[i] = current[i], tail
            along = unit(sub(tail, head)) or axis
            # The smallest rotation that takes the axis to the tail.
            cross = (
                axis[1] * along[2] - axis[2] * along[1],
                axis[2] * along[0] - axis[0] * along[2],
                axis[0] * along[1] - axis[1] * along[0],
            )
            sine, cosine = hypot(*cross), dot(axis, along)
            if sine > 0.0:
                angle = acos(max(-1.0, min(1.0, cosine))) if sine > 0.1 else sine
                angle = pi - angle if sine <= 0.1 and cosine < 0.0 else angle
                about = scaled(cross, 1.0 / sine)
                half = sqrt(max(0.0, 0.5 * (1.0 + cosine)))
                other = 0.5 * sine / half if half > 0.0 else 1.0
                axes = mat_product(
                    quat_matrix((half, about[0] * other, about[1] * other, about[2] * other)), axes
                )
            head = tail
            joints.append(head)
        shown.append(joints)
    return shown


def apart(a: list[list[Vec]], b: list[list[Vec]]) -> float:
    return max(dist(p, q) for x, y in zip(a, b, strict=True) for p, q in zip(x, y, strict=True))


@pytest.mark.parametrize("rate", [24.0, 60.0, 120.0])
@pytest.mark.parametrize(
    ("gravity", "colliders"),
    [
        (ORIGIN, []),
        ((0.0, 0.1, -0.5), []),
        (ORIGIN, [Collider((0.1, 0.0, -0.3), (0.1, 0.0, -0.3), 0.1)]),
        (ORIGIN, [Collider((0.1, -0.2, -0.3), (0.1, 0.2, -0.3), 0.08)]),
        ((0.0, 0.0, -0.2), [Collider((0.1, 0.0, z), (0.1, 0.1, z), 0.1) for z in (-0.2, -0.35)]),
    ],
    ids=["plain", "gravity", "sphere", "capsule", "several"],
)
def test_vrm_is_what_is_written(
    rate: float, gravity: Vec, colliders: list[Collider], figure: Callable[[str, str], None]
) -> None:
    chain, spring = strand([0.1] * 5), Spring(1.0, 0.4, gravity, 0.02)
    shown = played(chain, spring, rate, 4.0, mode=VRM, colliders=lambda _: colliders)
    off = apart(shown.joints, as_written(chain, spring, rate, 4.0, colliders))
    assert off < 1e-9
    assert shown.cuts == []


@pytest.mark.parametrize(("angle", "rate"), [(0.1, 60.0), (1.0, 25.0), (2.5, 24.0)])
def test_a_pendulum_has_its_period_and_gains_no_energy(angle: float, rate: float) -> None:
    size = 0.5
    rest = mat_product(turned((1.0, 0.0, 0.0), angle), DOWN)
    spring = Spring(0.0, 0.0, EARTH, 0.0)
    shown = played(strand([size], rest), spring, rate, 10_000 / rate, lambda _: WHOLE)
    places = [joints[1] for joints in shown.joints]
    start = -size * cos(angle)
    assert max(place[2] for place in places) < start + 1e-9
    assert max(place[2] for place in places[-1000:]) > start - 0.02 * size
    passes = [
        (i + a[1] / (a[1] - b[1])) / rate
        for i, (a, b) in enumerate(pairwise(places))
        if a[1] < 0.0 <= b[1]
    ]
    period = (passes[-1] - passes[0]) / (len(passes) - 1)
    a, b = 1.0, cos(0.5 * angle)  # The exact one, by the arithmetic–geometric mean.
    for _ in range(20):
        a, b = 0.5 * (a + b), sqrt(a * b)
    assert period == pytest.approx(2.0 * pi * sqrt(size / 9.81) / a, rel=1e-3)


CYCLE = 48
"""Frames in which a head moves around and back."""

AROUND = [
    Collider((0.0, 0.1, -0.2), (0.0, 0.1, -0.2), 0.08),
    Collider((0.1, -0.1, -0.3), (-0.1, -0.1, -0.3), 0.05),
    Collider((0.0, 0.0, -0.38), (0.0, 0.0, 0.0), 0.0, is_plane=True),
]


CONES = (Cone((-0.6, 0.6), (-0.6, 0.6), (-0.3, 0.3)),) * 5


@pytest.mark.parametrize(
    ("mode", "limits", "colliders"),
    [(STEADY, (), []), (STEADY, (), AROUND), (STEADY, CONES, AROUND), (VRM, (), AROUND)],
    ids=["free", "collides", "limited", "VRM"],
)
def test_ten_thousand_frames_neither_drift_nor_grow(
    mode: Mode,
    limits: tuple[Limit | None, ...],
    colliders: list[Collider],
    figure: Callable[[str, str], None],
) -> None:
    """A strand that a motion is repeated for repeats its own, to the end."""
    chain, rate, frames = strand([0.1] * 5, limits=limits), 24.0, 10_000
    spring = Spring(0.5, 0.4, EARTH if mode == STEADY else scaled(EARTH, 10.0), 0.01)
    around = [shaken(2.0 * sin(2.0 * pi * i / CYCLE)) for i in range(CYCLE)]
    instants = [
        Instant(WHOLE, chain, around[i % CYCLE], [spring] * 5, colliders) for i in range(frames)
    ]
    shown = simulate(instants, rate, mode)
    lengths = [dist(a, b) for joints in shown.joints for a, b in pairwise(joints)]
    assert max(abs(length - 0.1) for length in lengths) < 1e-12
    first, last = 20 * CYCLE, frames // CYCLE * CYCLE
    drift = apart(shown.joints[first - CYCLE : first], shown.joints[last - CYCLE : last])
    moved = apart(shown.joints[first - CYCLE : first], shown.joints[first - CYCLE + 12 :][:CYCLE])
    figure(f"10,000 frames, {'VRM' if mode == VRM else 'steady'}", f"{drift:.1e} m of drift")
    assert drift < 1e-9 < 0.05 < moved


@pytest.mark.parametrize("lengths", [[0.5], [0.05] * 10, [0.2, 0.15, 0.1, 0.05]])
@pytest.mark.parametrize(("stiffness", "drag"), [(1.0, 0.4), (2.0, 0.1), (4.0, 0.9)])
def test_every_frame_rate_shows_the_same_motion(
    lengths: list[float], stiffness: float, drag: float, figure: Callable[[str, str], None]
) -> None:
    spring = Spring(stiffness, drag, EARTH, 0.0)
    shown = {
        rate: played(strand(lengths), spring, rate, 4.0).joints
        for rate in (24.0, 25.0, 30.0, 60.0, 120.0)
    }
    worst = 0.0
    for rate, joints in shown.items():
        for other, others in shown.items():
            if rate < other:
                step = 1 if rate != 25.0 and other % rate == 0.0 else round(rate)
                common = range(0, len(joints), step)
                worst = max(
                    worst, *(apart([joints[i]], [others[round(i * other / rate)]]) for i in common)
                )
    figure(f"springs of {len(lengths)} bones at 24 to 120 fps", f"{1e3 * worst:.3f} mm apart")
    assert worst < 1e-3


def test_damped_springs_end_at_rest_and_stiff_ones_stay_there() -> None:
    for spring in (Spring(1.0, 0.4, EARTH, 0.0), Spring(1e6, 0.0, ORIGIN, 0.0)):
        shown = played(strand([1e-4, 0.1, 0.0, 0.3]), spring, 24.0, 100.0, lambda _: WHOLE)
        assert apart(shown.joints[-2:-1], shown.joints[-1:]) < 1e-9
        assert apart(shown.joints[:1], shown.joints[-1:]) < (0.2 if spring.drag else 1e-9)


@settings(max_examples=30)
@given(
    st.lists(st.one_of(st.floats(0.01, 1.0), st.just(0.0)), min_size=1, max_size=6),
    st.floats(0.0, 5.0),
    st.floats(0.0, 1.0),
    st.tuples(number, number, number),
    st.booleans(),
)
@example([0.0, 0.0], 1.0, 0.4, (0.0, 0.0, -1.0), True)
@example([0.1, 0.0, 0.1], 1.0, 1.0, (0.0, 0.0, 1.0), True)
def test_lengths_stay_and_all_is_finite(
    lengths: list[float], stiffness: float, drag: float, gravity: Vec, is_steady: bool
) -> None:
    spring = Spring(stiffness, drag, gravity, 0.02)
    ball = Collider((0.1, 0.0, -0.2), (0.0, 0.1, -0.2), 0.1)
    mode = Mode(is_steady, is_settled=True)
    shown = played(strand(lengths), spring, 24.0, 0.5, mode=mode, colliders=lambda _: [ball])
    for joints in shown.joints:
        for (a, b), size in zip(pairwise(joints), lengths, strict=True):
            assert dist(a, b) == pytest.approx(size, abs=1e-12)
    assert all(isfinite(x) for rotations in shown.rotations for x in rotations)


def test_turning_the_world_turns_the_motion() -> None:
    spring = Spring(0.7, 0.3, EARTH, 0.01)
    axes = turned(unit((1.0, 2.0, 3.0)) or ORIGIN, 2.0)
    world: Frame = (axes, (3.0, -2.0, 1.0))
    ball = Collider((0.1, 0.0, -0.2), (0.0, 0.1, -0.2), 0.1)
    there = Collider(
        add(world[1], mat_apply(axes, ball.start)), add(world[1], mat_apply(axes, ball.end)), 0.1
    )
    here = played(strand([0.1] * 4), spring, 24.0, 3.0, colliders=lambda _: [ball])
    spring = spring._replace(gravity=mat_apply(axes, EARTH))
    moved = played(strand([0.1] * 4), spring, 24.0, 3.0, colliders=lambda _: [there], world=world)
    carried = [[add(world[1], mat_apply(axes, p)) for p in joints] for joints in here.joints]
    assert apart(carried, moved.joints) < 1e-9


SHAPES = {
    "sphere": Collider((0.12, 0.0, -0.25), (0.12, 0.0, -0.25), 0.12),
    "capsule": Collider((0.1, -0.3, -0.2), (0.1, 0.3, -0.3), 0.08),
    "plane": Collider((0.0, 0.0, -0.32), (0.0, 0.1, 0.9), 0.0, is_plane=True),
    "inside sphere": Collider((0.0, 0.0, -0.15), (0.0, 0.0, -0.15), 0.24, is_inside=True),
    "inside capsule": Collider((0.0, 0.0, 0.1), (0.0, 0.0, -0.28), 0.13, is_inside=True),
}


@pytest.mark.parametrize("name", [*SHAPES, "sphere and plane", "three"])
def test_tails_never_penetrate(name: str) -> None:
    colliders = {
        "sphere and plane": [SHAPES["sphere"], SHAPES["plane"]],
        "three": [SHAPES["sphere"], SHAPES["capsule"], SHAPES["plane"]],
    }.get(name) or [SHAPES[name]]
    spring = Spring(0.5, 0.3, EARTH, 0.02)

    def path(t: float) -> Frame:
        return shaken(t)[0], scaled(shaken(t)[1], 0.3)

    free = played(strand([0.1] * 4), spring, 25.0, 4.0, path)
    shown = played(strand([0.1] * 4), spring, 25.0, 4.0, path, colliders=lambda _: colliders)
    deep = [c.gap(tail, 0.02)[0] for c in colliders for js in free.joints for tail in js[1:]]
    assert min(deep) < -0.02  # They are in the way.
    assert shown.penetration <= 1e-6
    for joints in shown.joints:
        for tail in joints[1:]:
            assert min(collider.gap(tail, 0.02)[0] for collider in colliders) >= -1e-6


SLOPES = (-0.6, 0.0, 0.8), (0.8, 0.0, 0.6)
"""The normals of the two slopes of a valley, a solid below them."""


def depth_in_valley(place: Vec, moved: float = 0.0) -> tuple[float, Vec]:
    """How far a place is below the valley, straight up, and the normal there."""
    place = sub(place, (moved, 0.0, 0.0))
    return max((-(dot(place, normal) + 0.25) / normal[2], normal) for normal in SLOPES)


def out_of_valley(origin: Vec, direction: Vec, distance: float) -> tuple[Vec, Vec] | None:
    """Cast a ray straight up."""
    depth, normal = depth_in_valley(origin)
    is_hit = 0.0 <= depth <= distance and direction == (0.0, 0.0, 1.0)
    return (add(origin, scaled(direction, depth)), normal) if is_hit else None


@pytest.mark.parametrize("mode", [STEADY, VRM], ids=["steady", "VRM"])
@pytest.mark.parametrize("speed", [0.0, 0.1], ids=["still", "moved"])
def test_tails_stay_above_a_ground(mode: Mode, speed: float) -> None:
    """Also where it moves. VRM pushes each tail once only, and then restores its length."""
    spring = Spring(0.1, 0.3, EARTH, 0.02)

    def path(t: float) -> Frame:
        return shaken(t)[0], scaled(shaken(t)[1], 0.5)

    def ground(t: float) -> list[Collider]:
        solid = Solid(out_of_valley, ((-9.0,) * 3, (9.0,) * 3), (IDENTITY, (-speed * t, 0.0, 0.0)))
        return [Ground(solid, (0.0, 0.0, 1.0), 0.4)]

    def deepest(shown: Strand) -> float:
        return max(
            depth_in_valley(sub(tail, (0.0, 0.0, spring.radius)), speed * i / 25.0)[0]
            for i, joints in enumerate(shown.joints)
            for tail in joints[1:]
            if i > 0  # VRM starts in the FK pose.
        )

    free = deepest(played(strand([0.1] * 4), spring, 25.0, 2.0, path, mode))
    assert free > 0.1
    shown = played(strand([0.1] * 4), spring, 25.0, 2.0, path, mode, ground)
    assert deepest(shown) < (1e-5 if mode.is_steady else 0.5 * free)
    assert shown.penetration < 1e-9
    for joints in shown.joints:
        assert [dist(a, b) for a, b in pairwise(joints)] == pytest.approx([0.1] * 4)


def test_colliders_in_conflict_leave_lengths_and_say_how_deep() -> None:
    walls = [
        Collider((0.0, 0.0, z), (0.0, 0.0, z + up), 0.0, is_plane=True)
        for z, up in ((-0.05, 1.0), (-0.15, -1.0))
    ]
    shown = played(
        strand([0.1]), Spring(1.0, 0.4, ORIGIN, 0.1), 24.0, 1.0, colliders=lambda _: walls
    )
    assert shown.penetration == pytest.approx(0.2, abs=0.01)
    assert all(dist(*joints) == pytest.approx(0.1) for joints in shown.joints)


def test_limits_hold() -> None:
    cone = Cone((-0.05, 0.05), (-0.05, 0.05), (0.0, 0.0))
    chain = strand([0.1] * 4, limits=(None, cone, None, cone))
    shown = played(chain, Spring(0.1, 0.1, (0.5, 0.0, 0.0), 0.0), 24.0, 4.0)
    angles = [2.0 * acos(min(1.0, abs(r[4 * i]))) for r in shown.rotations for i in (1, 3)]
    assert max(angles) == pytest.approx(0.05, abs=1e-6)
    free = [2.0 * acos(min(1.0, abs(r[8]))) for r in shown.rotations]
    assert max(free) > 0.1


@pytest.mark.parametrize("is_steady", [True, False])
@pytest.mark.parametrize("walk", [0.0, 1.4])
def test_a_loop_ends_as_it_starts(is_steady: bool, walk: float) -> None:
    def path(t: float) -> Frame:
        axes, place = turned((0.0, 1.0, 0.0), 0.5 * sin(2.0 * pi * t)), (0.0, walk * t, 0.0)
        return axes, place

    mode = Mode(is_steady, is_loop=True)
    chain, spring = strand([0.1] * 5), Spring(0.5, 0.2, EARTH, 0.0)
    shown = played(chain, spring, 24.0, 1.0, path, mode)
    end = [sub(joint, (0.0, walk, 0.0)) for joint in shown.joints[-1]]
    assert apart([end], shown.joints[:1]) < 1e-4 * 0.5
    once = played(chain, spring, 24.0, 1.0, path, mode._replace(is_loop=False))
    end = [sub(joint, (0.0, walk, 0.0)) for joint in once.joints[-1]]
    assert apart([end], once.joints[:1]) > 1e-2
    # A second cycle is the same as the first.
    twice = played(chain, spring, 24.0, 2.0, path, mode._replace(is_loop=True))
    assert apart([shown.joints[7]], [twice.joints[7]]) < 1e-4


def test_without_drag_a_loop_says_that_its_ends_differ() -> None:
    def path(t: float) -> Frame:
        return IDENTITY, (0.1 * sin(2.0 * pi * t), 0.0, 0.0)

    shown = played(
        strand([0.1] * 2), Spring(0.0, 0.0, EARTH, 0.0), 24.0, 1.0, path, Mode(is_loop=True)
    )
    assert shown.gap > 1e-4


@pytest.mark.parametrize("mode", [STEADY, VRM, Mode(is_loop=True)])
@pytest.mark.parametrize("limit", [None, Cone((-0.2, 0.2), (-0.2, 0.2), (0.0, 0.0))])
def test_it_is_simulated_on_from_any_frame(mode: Mode, limit: Limit | None) -> None:
    """To the same rotations, also across a restart."""
    chain = strand([0.1] * 4, limits=(limit,) * 4 if limit else ())
    instants = [
        Instant(WHOLE, chain, shaken(i / 24.0), [Spring(0.3, 0.1, EARTH, 0.02)] * 4, [BALL], i == 9)
        for i in range(30)
    ]
    strand_shown = simulate(instants, 24.0, mode)
    assert strand_shown.cuts == [9]
    for start, end in ((3, 4), (2, 12), (9, 17), (14, 14), (20, 27)):
        part = instants[start - 1 : end + 2]
        last = end - start + 1
        state = strand_shown.states[start]
        rotations = simulate_on(part, 24.0, mode, state, (1, last), {10 - start})
        assert rotations == pytest.approx(strand_shown.rotations[end], abs=1e-12), (start, end)
        assert simulate_on(part, 24.0, mode, state, (1, last), {10 - start}) == rotations
    rotations = simulate_on(instants[9:20], 24.0, mode, [], (0, 8), {0})
    assert rotations == pytest.approx(strand_shown.rotations[17], abs=1e-12)


@pytest.mark.parametrize("mode", [STEADY, VRM, Mode(is_settled=True)])
@pytest.mark.parametrize("rate", [24.0, 25.0, 60.0])
def test_each_frame_is_as_in_any_longer_range(mode: Mode, rate: float) -> None:
    """Also beside cuts, found or set."""
    chain = strand([0.1] * 4)
    instants = []
    for i in range(30):
        axes, place = shaken(i / rate)
        shift = 2.0 if i >= 14 else 0.0
        parent = axes, add(place, (shift, 0.0, 0.0))
        springs = [Spring(0.3, 0.1, EARTH, 0.02)] * 4
        instants.append(Instant(WHOLE, chain, parent, springs, [BALL], i == 9))
    whole = simulate(instants, rate, mode)
    assert whole.cuts == [9, 14]
    for count in range(1, 29):
        part = simulate(instants[: count + BEYOND], rate, mode, BEYOND)
        assert part.rotations == whole.rotations[:count], count
        assert part.cuts == [cut for cut in whole.cuts if cut < count]
    # A loop uses none: it goes on at its start.
    loop = mode._replace(is_loop=True)
    part = simulate(instants[:9], rate, loop)
    assert simulate(instants[: 9 + BEYOND], rate, loop, BEYOND).rotations == part.rotations


def test_settled_strands_start_at_rest() -> None:
    rest = mat_product(turned((1.0, 0.0, 0.0), 1.5), DOWN)
    spring = Spring(0.2, 0.4, EARTH, 0.0)
    for is_steady in (True, False):
        mode = Mode(is_steady, is_settled=True)
        shown = played(strand([0.1] * 5, rest), spring, 24.0, 2.0, lambda _: WHOLE, mode)
        assert apart(shown.joints[:1], shown.joints[-1:]) < 1e-9
        loose = played(strand([0.1] * 5, rest), spring, 24.0, 2.0, lambda _: WHOLE, Mode(is_steady))
        assert apart(loose.joints[:1], loose.joints[-1:]) > 0.1


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_a_cut_is_a_step_that_neither_speed_nor_size_explain(scale: float) -> None:
    def jump(t: float) -> Frame:
        return IDENTITY, (scale * (0.0 if t < 1.0 else 3.0), 0.0, 0.0)

    def turn(t: float) -> Frame:
        return turned((1.0, 0.0, 0.0), 0.0 if t < 1.0 else pi), ORIGIN

    def run(t: float) -> Frame:
        return IDENTITY, (scale * 20.0 * max(0.0, t - 1.0), 0.0, 0.0)

    chain, spring = strand([0.1 * scale] * 5), Spring(1.0, 0.4, ORIGIN, 0.0)
    assert played(chain, spring, 24.0, 2.0, jump).cuts == [24]
    assert played(chain, spring, 24.0, 2.0, turn).cuts == [24]
    assert played(chain, spring, 24.0, 2.0, run).cuts == []
    assert played(chain, spring, 24.0, 2.0, jump, Mode(finds_cuts=False)).cuts == []
    start, cut = played(chain, spring, 24.0, 2.0, jump).joints[::24][:2]
    assert apart([[sub(p, start[0]) for p in start]], [[sub(p, cut[0]) for p in cut]]) < 1e-12


def test_a_sheared_armature_keeps_its_bones_whole() -> None:
    world: Frame = ((1.0, 0.6, 0.0, 0.0, 2.0, 0.3, 0.0, 0.0, -0.5), ORIGIN)
    ball = Collider((0.1, 0.0, 0.1), (0.1, 0.0, 0.1), 0.1)
    chain = strand([0.1] * 5)
    shown = played(
        chain, Spring(0.5, 0.3, EARTH, 0.01), 24.0, 4.0, world=world, colliders=lambda _: [ball]
    )
    assert shown.penetration <= 1e-6
    from fabrik_solver import chain_frames, point_in
    from fabrik_solver.core.posture import rotations_of

    for i, (rotations, joints) in enumerate(zip(shown.rotations, shown.joints, strict=True)):
        frames = chain_frames(chain.carried(shaken(i / 24.0)), rotations_of(rotations))
        for (_, head), joint in zip(frames, joints, strict=False):
            assert dist(point_in(world, head), joint) < 1e-9


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one frame"):
        simulate([], 24.0, Mode())
    one = Instant(WHOLE, strand([0.1]), WHOLE, [], [])
    with pytest.raises(ValueError, match="differ"):
        simulate([one], 24.0, Mode())
