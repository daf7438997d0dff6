"""Solved joints become rotations of bones, under every way to inherit a transform."""

import math
import random
from collections.abc import Callable, Sequence

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
    shell_of,
    tip_of,
    turned,
)

from fabrik_solver import (
    SOLVERS,
    WHOLE,
    Bone,
    ChainInput,
    Frame,
    Goal,
    Local,
    Posture,
    RestBend,
    bone_frame,
    chain_frames,
    head_in_parent,
    inverse,
    point_in,
    pose_chain,
)
from fabrik_solver.core import vectors
from fabrik_solver.core.bones import in_local_space, inherited_axes, out_of_local_space

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
modes = pytest.mark.parametrize("mode", SCALE_MODES)
solvers = pytest.mark.parametrize("solver", SOLVERS)


def given(rig: Rig, parent: Frame = WHOLE, rest_bend: vectors.Vec | None = None) -> ChainInput:
    return ChainInput(*rig, tip_of(rig), parent, None if rest_bend is None else RestBend(rest_bend))


def posed(
    rig: Rig,
    target: Point,
    parent: Frame = WHOLE,
    rest_bend: vectors.Vec | None = None,
    **options: object,
) -> Posture:
    chain = given(rig, parent, rest_bend)
    return pose_chain(chain, Goal(target), **{"iterations": 200, **options})  # type: ignore[arg-type]


def posed_joints(rig: Rig, posture: Posture, parent: Frame = WHOLE) -> list[Point]:
    """Where Blender puts the joints under the rotations of a posture."""
    bones, channels = rig
    pairs = zip(channels, posture.rotations, strict=True)
    return joints_of((bones, [Local(c.location, q, c.scale) for c, q in pairs]), parent)


def bones_for(solver: str, rng: random.Random) -> int:
    return 2 if solver == "TWO_BONE" else rng.randint(2, 6)


def apart(a: vectors.Quat, b: vectors.Quat) -> float:
    """How far two rotations are apart, q and −q being the same one."""
    return min(math.dist(a, b), math.dist(a, [-number for number in b]))


def undone(q: vectors.Quat) -> vectors.Quat:
    return (q[0], -q[1], -q[2], -q[3])


def rig_and_target(
    rng: random.Random, bones: int, mode: str, inherit_rotation: bool, scale: float
) -> tuple[Rig, Point]:
    """A rig and a target that another pose of it reaches, and its straightened pose easily."""
    while True:
        rig = random_rig(rng, bones, mode, inherit_rotation, rng.random() < 0.5, scale)
        joints = joints_of(turned(rng, rig, 1.0), PARENT)
        away = [b - a for a, b in zip(joints[0], joints[-1], strict=True)]
        stretched = posed(rig, moved(joints[0], tuple(away), 1e3), PARENT)
        inner, outer = shell_of(posed_joints(rig, stretched, PARENT))
        if max(0.3 * outer, 1.2 * inner) < math.dist(joints[0], joints[-1]) < 0.8 * outer:
            return rig, joints[-1]


# Rotations


@solvers
def test_the_tip_of_posed_bones_is_on_the_target(solver: str) -> None:
    rng = random.Random(1)
    for _ in range(60):
        rig, target = rig_and_target(rng, bones_for(solver, rng), "FULL", True, 1.0)
        posture = posed(rig, target, PARENT, solver=solver, tolerance=0.5 * TOLERANCE)
        size = sum(lengths_of(joints_of(rig, PARENT)))
        assert posture.state == "REACHED"
        assert math.dist(posture.tip, target) <= TOLERANCE * size


@solvers
def test_the_frames_are_those_of_the_rotations(solver: str) -> None:
    rng = random.Random(2)
    for mode in SCALE_MODES:
        rig, target = rig_and_target(rng, bones_for(solver, rng), mode, True, 1.5)
        posture = posed(rig, target, PARENT, solver=solver)
        frames = chain_frames(given(rig, PARENT), posture.rotations)
        found = [*(head for _, head in frames), posture.tip]
        assert farthest(posed_joints(rig, posture, PARENT), found) <= 1e-12
        assert all(math.hypot(*q) == pytest.approx(1.0, abs=1e-12) for q in posture.rotations)


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "TWO_BONE"])
def test_bones_swing_without_a_turn_about_themselves(solver: str) -> None:
    """As long as the chain does not turn as a whole."""
    rng = random.Random(3)
    for _ in range(40):
        rig, target = rig_and_target(rng, bones_for(solver, rng), "FULL", True, 1.0)
        bones, channels = rig
        posture = posed(rig, target, PARENT, solver=solver)
        arms = [head_in_parent(*pair) for pair in zip(bones[1:], channels[1:], strict=True)]
        arms.append(tip_of(rig))
        for arm, given, result in zip(arms, channels, posture.rotations, strict=True):
            swing = vectors.quat_product(result, undone(given.rotation))
            own = vectors.unit(vectors.rotate(given.rotation, arm))
            assert own is not None
            assert vectors.dot((swing[1], swing[2], swing[3]), own) == pytest.approx(0.0, abs=1e-9)


def test_a_bone_turns_by_the_least_angle_and_carries_its_children() -> None:
    """Three bones along Y; the target turns them all by 90° about Z, and the last ones no more."""
    bones = [Bone(vectors.IDENTITY, (0.0, float(i > 0), 0.0), 1.0) for i in range(3)]
    posture = posed((bones, [Local()] * 3), (9.0, 0.0, 0.0))
    assert apart(posture.rotations[0], vectors.quat_about(Z, -0.5 * math.pi)) <= 1e-9
    assert all(apart(q, (1.0, 0.0, 0.0, 0.0)) <= 1e-9 for q in posture.rotations[1:])


def swung(rig: Rig, joints: Sequence[Point], parent: Frame) -> list[vectors.Quat]:
    """The rotations that point the bones at joints, written down once more, matrix by matrix."""
    bones, channels = rig
    arms = [head_in_parent(*pair) for pair in zip(bones[1:], channels[1:], strict=True)]
    result: list[vectors.Quat] = []
    for bone, local, arm, joint in zip(
        bones, channels, [*arms, tip_of(rig)], joints[1:], strict=True
    ):
        x, y, z = joint
        at = bone_frame(bone, local, parent)
        axes, post_scale = inherited_axes(bone, parent[0])
        stretched = tuple(a * b * c for a, b, c in zip(arm, local.scale, post_scale, strict=True))
        carried = vectors.rotate(local.rotation, (stretched[0], stretched[1], stretched[2]))
        wanted = point_in(inverse((axes, at[1])), (x, y, z))
        side = vectors.rotate(local.rotation, X)
        rotation = vectors.quat_product(vectors.quat_between(carried, wanted, side), local.rotation)
        result.append(rotation)
        parent = bone_frame(bone, Local(local.location, rotation, local.scale), parent)
    return result


@modes
@pytest.mark.parametrize("inherit_rotation", [True, False])
@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("mirror", [1.0, -1.0])
def test_each_bone_points_at_its_solved_joint(
    mode: str, inherit_rotation: bool, scale: float, mirror: float
) -> None:
    rng = random.Random(9)
    parent: Frame = (vectors.scale_columns(PARENT[0], (mirror, 1.0, 1.0)), PARENT[1])
    for _ in range(20):
        rig = random_rig(rng, rng.randint(1, 8), mode, inherit_rotation, rng.random() < 0.5, scale)
        target = moved(joints_of(rig, parent)[-1], random_direction(rng), rng.uniform(0.0, 3.0))
        posture = posed(rig, target, parent)
        expected = swung(rig, posture.solution.joints, parent)
        assert max(map(apart, posture.rotations, expected)) <= 1e-12


def test_opposite_directions_turn_about_the_x_axis_of_the_bone() -> None:
    turn = vectors.quat_about((0.0, 0.6, 0.8), 0.9)
    rig: Rig = ([Bone(vectors.IDENTITY, (0.0, 0.0, 0.0), 1.0)], [Local(rotation=turn)])
    posture = posed(rig, vectors.scaled(vectors.mat_columns(vectors.quat_matrix(turn))[1], -1.0))
    assert (
        apart(posture.rotations[0], vectors.quat_product(turn, vectors.quat_about(X, math.pi)))
        <= 1e-9
    )


def test_the_input_knows_where_its_joints_are() -> None:
    rng = random.Random(11)
    for mode in SCALE_MODES:
        rig = random_rig(rng, 4, mode, True, False, 1.5)
        chain = given(rig, PARENT)
        assert farthest(chain.joints, joints_of(rig, PARENT)) <= 1e-12
        heads = [head for _, head in chain_frames(chain, chain.rotations)]
        assert farthest(chain.joints, [*heads, chain.joints[-1]]) <= 1e-12


def test_a_chain_that_is_nowhere_is_refused() -> None:
    rig = random_rig(random.Random(12), 3)
    with pytest.raises(ValueError, match="not finite"):
        given(rig, (vectors.IDENTITY, (0.0, math.nan, 0.0)))
    with pytest.raises(ValueError, match="not finite"):
        given((rig[0], [*rig[1][:2], Local(scale=(1.0, math.inf, 1.0))]))
    with pytest.raises(ValueError, match="at least one bone"):
        ChainInput([], [], Y, WHOLE)


@modes
@pytest.mark.parametrize("inherit_rotation", [True, False])
def test_an_unchanged_target_gives_unchanged_rotations(mode: str, inherit_rotation: bool) -> None:
    rng = random.Random(4)
    for solver in SOLVERS:
        for _ in range(10):
            count = bones_for(solver, rng)
            rig = random_rig(rng, count, mode, inherit_rotation, rng.random() < 0.5, 2.0)
            posture = posed(rig, joints_of(rig, PARENT)[-1], PARENT, solver=solver)
            pairs = zip(posture.rotations, rig[1], strict=True)
            assert max(apart(q, local.rotation) for q, local in pairs) <= 1e-9
            assert posture.solution.iterations_used == 0


def test_straight_bones_bend_about_x_toward_z_unless_told_otherwise() -> None:
    bones = [Bone(vectors.IDENTITY, (0.0, float(i), 0.0), 1.0) for i in range(2)]
    rig: Rig = (bones, [Local()] * 2)
    knee = posed_joints(rig, posed(rig, (0.0, 1.2, 0.0)))[1]
    assert knee == pytest.approx((0.0, 0.6, 0.8), abs=1e-9)
    knee = posed_joints(rig, posed(rig, (0.0, 1.2, 0.0), rest_bend=(-1.0, 0.0, 0.0)))[1]
    assert knee == pytest.approx((-0.8, 0.6, 0.0), abs=1e-9)


def test_tiny_armatures_bend_as_large_ones_do() -> None:
    bones = [Bone(vectors.IDENTITY, (0.0, float(i), 0.0), 1.0) for i in range(2)]
    for size in (1e-9, 1.0, 1e9):
        parent: Frame = (scaled_axes(size), (0.0, 0.0, 0.0))
        rig: Rig = (bones, [Local()] * 2)
        knee = posed_joints(rig, posed(rig, (0.0, 1.2 * size, 0.0), parent), parent)[1]
        assert [x / size for x in knee] == pytest.approx((0.0, 0.6, 0.8), abs=1e-9)


def scaled_axes(size: float) -> tuple[float, ...]:
    return (size, 0.0, 0.0, 0.0, size, 0.0, 0.0, 0.0, size)


@solvers
def test_mirrored_parents_are_no_obstacle(solver: str) -> None:
    rng = random.Random(5)
    mirror: Frame = ((-1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
    for mode in SCALE_MODES:
        for _ in range(5):
            rig = random_rig(rng, bones_for(solver, rng), mode)
            joints = joints_of(rig, mirror)
            inner, outer = shell_of(joints)
            target = moved(joints[0], random_direction(rng), inner + 0.5 * (outer - inner))
            posture = posed(rig, target, mirror, solver=solver, iterations=500)
            assert math.dist(posture.tip, target) <= 1.001 * TOLERANCE * outer


@pytest.mark.long
@solvers
def test_uneven_scale_is_no_obstacle(solver: str, figure: Callable[[str, str], None]) -> None:
    """Under each way to inherit, every bone scaled 0.5 to 2 on each axis, the parent sheared."""
    rng = random.Random(6)
    misses = []
    for mode in SCALE_MODES:
        for inherit_rotation in (True, False):
            for _ in range(12):
                count = bones_for(solver, rng)
                rig, target = rig_and_target(rng, count, mode, inherit_rotation, 2.0)
                posture = posed(rig, target, PARENT, solver=solver, tolerance=0.5 * TOLERANCE)
                size = sum(lengths_of(posed_joints(rig, posture, PARENT)))
                misses.append(math.dist(posture.tip, target) / size)
    missed = [miss for miss in misses if miss > TOLERANCE]
    worst = f", by {max(missed):.1e}" if missed else ""
    share = f"{len(missed)} of {len(misses)}{worst}"
    figure(f"{solver}: uneven rigs that miss a target in reach", share)
    assert len(missed) <= 0.02 * len(misses)


def test_influence_goes_from_the_input_to_the_solution() -> None:
    rng = random.Random(7)
    for _ in range(30):
        rig, target = rig_and_target(rng, rng.randint(2, 5), "FULL", True, 1.0)
        given = [local.rotation for local in rig[1]]
        none, half, full = (posed(rig, target, PARENT, influence=i) for i in (0.0, 0.5, 1.0))
        assert max(map(apart, none.rotations, given)) <= 1e-12
        assert math.dist(none.tip, joints_of(rig, PARENT)[-1]) <= 1e-12
        for start, middle, end in zip(given, half.rotations, full.rotations, strict=True):
            assert apart(start, middle) == pytest.approx(apart(middle, end), abs=1e-9)
            assert apart(start, middle) <= apart(start, end) + 1e-12


def test_a_posture_is_reached_or_not_as_its_tip_is() -> None:
    bones = [Bone(vectors.IDENTITY, (0.0, float(i > 0), 0.0), 1.0) for i in range(3)]
    rig: Rig = (bones, [Local()] * 3)
    assert posed(rig, (0.5, 1.5, 0.5)).state == "REACHED"
    assert posed(rig, (0.0, 9.0, 0.0)).state == "OUT_OF_REACH"


def test_a_solver_that_does_not_fit_the_bones_is_refused() -> None:
    rig = random_rig(random.Random(8), 3)
    with pytest.raises(ValueError, match="TWO_BONE solves chains of 2 bones"):
        posed(rig, (0.0, 0.0, 0.0), solver="TWO_BONE")


# Frames, by the rules of Blender's manual


def child_of(mode: str, parent: Frame, inherit_rotation: bool = True, **rest: object) -> Frame:
    bone = Bone(vectors.IDENTITY, Y, 1.0, vectors.IDENTITY, mode, inherit_rotation, **rest)  # type: ignore[arg-type]
    return bone_frame(bone, Local(), parent)


def sizes(frame: Frame) -> vectors.Vec:
    x, y, z = vectors.mat_columns(frame[0])
    return (vectors.length(x), vectors.length(y), vectors.length(z))


TURN = vectors.quat_matrix(vectors.quat_about((0.6, 0.0, 0.8), 1.0))


@modes
@pytest.mark.parametrize("inherit_rotation", [True, False])
def test_the_head_is_carried_by_the_parent_whatever_is_inherited(
    mode: str, inherit_rotation: bool
) -> None:
    _, head = child_of(mode, PARENT, inherit_rotation)
    assert head == pytest.approx(vectors.add(PARENT[1], vectors.mat_apply(PARENT[0], Y)))


@modes
def test_without_inherited_rotation_the_bone_keeps_its_rest_directions(mode: str) -> None:
    axes, _ = child_of(mode, (TURN, (0.0, 0.0, 0.0)), inherit_rotation=False)
    assert axes == pytest.approx(vectors.IDENTITY, abs=1e-9)


@modes
def test_the_rotation_of_an_unscaled_parent_is_inherited(mode: str) -> None:
    axes, _ = child_of(mode, (TURN, (0.0, 0.0, 0.0)))
    assert axes == pytest.approx(TURN, abs=1e-9)


@modes
@pytest.mark.parametrize("inherit_rotation", [True, False])
def test_even_scale_is_inherited_by_all_but_none(mode: str, inherit_rotation: bool) -> None:
    frame = child_of(mode, (scaled_axes(2.0), (0.0, 0.0, 0.0)), inherit_rotation)
    expected = 1.0 if mode.startswith("NONE") else 2.0
    assert sizes(frame) == pytest.approx((expected,) * 3)


def test_uneven_scale_is_inherited_as_the_mode_says() -> None:
    """The child is turned by 90° about Z: its X lies along its parent's Y."""
    quarter = vectors.quat_matrix(vectors.quat_about(Z, 0.5 * math.pi))
    parent: Frame = ((8.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0))
    expected = {
        "FULL": (1.0, 8.0, 1.0),  # in the parent's directions
        "FIX_SHEAR": (1.0, 8.0, 1.0),
        "ALIGNED": (8.0, 1.0, 1.0),  # axis by axis
        "AVERAGE": (2.0, 2.0, 2.0),  # the same volume
        "NONE": (1.0, 1.0, 1.0),
        "NONE_LEGACY": (1.0, 1.0, 1.0),
    }
    for mode, size in expected.items():
        frame = bone_frame(Bone(quarter, Y, 1.0, inherit_scale=mode), Local(), parent)
        assert sizes(frame) == pytest.approx(size), mode


def test_only_full_inherits_shear() -> None:
    for mode in SCALE_MODES:
        axes, _ = child_of(mode, PARENT)
        x, y, z = (vectors.unit(column) for column in vectors.mat_columns(axes))
        assert x is not None and y is not None and z is not None
        skew = max(abs(vectors.dot(x, y)), abs(vectors.dot(y, z)), abs(vectors.dot(z, x)))
        assert (skew > 0.01) == (mode in ("FULL", "NONE_LEGACY")), mode
        if mode in ("FIX_SHEAR", "AVERAGE"):
            volume = abs(vectors.mat_determinant(PARENT[0]))
            assert abs(vectors.mat_determinant(axes)) == pytest.approx(volume)


def test_location_is_along_the_bone_or_along_its_parent() -> None:
    rest = vectors.quat_matrix(vectors.quat_about(Z, 0.5 * math.pi))
    channels = Local((1.0, 0.0, 0.0))
    _, local = bone_frame(Bone(rest, Y, 1.0, local_location=True), channels, WHOLE)
    _, outer = bone_frame(Bone(rest, Y, 1.0, local_location=False), channels, WHOLE)
    assert local == pytest.approx((0.0, 2.0, 0.0))
    assert outer == pytest.approx((1.0, 1.0, 0.0))


def test_rotation_and_scale_act_in_the_axes_of_the_bone() -> None:
    rest = vectors.quat_matrix(vectors.quat_about(X, 0.7))
    turn = vectors.quat_about(Y, 0.5)
    axes, _ = bone_frame(Bone(rest, Y, 1.0), Local(rotation=turn, scale=(1.0, 3.0, 1.0)), WHOLE)
    stretched = vectors.mat_product(
        vectors.quat_matrix(turn), (1.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 1.0)
    )
    assert axes == pytest.approx(vectors.mat_product(rest, stretched))


@modes
@pytest.mark.parametrize("inherit_rotation", [True, False])
@pytest.mark.parametrize("local_location", [True, False])
def test_the_local_space_of_a_bone_has_its_channels(
    mode: str, inherit_rotation: bool, local_location: bool
) -> None:
    rest = vectors.quat_matrix(vectors.quat_about((0.0, 0.6, 0.8), 0.7))
    bone = Bone(rest, Y, 1.0, TURN, mode, inherit_rotation, local_location)
    turn = vectors.quat_about((0.6, 0.8, 0.0), 1.2)
    local = Local((0.1, -0.2, 0.3), turn, (0.9, 1.1, 1.2))
    frame = bone_frame(bone, local, PARENT)
    seen = in_local_space(bone, frame, PARENT)
    assert seen[0] == pytest.approx(
        vectors.scale_columns(vectors.quat_matrix(turn), local.scale), abs=1e-12
    )
    assert seen[1] == pytest.approx(local.location, abs=1e-12)
    axes, head = out_of_local_space(bone, seen, PARENT)
    assert (*axes, *head) == pytest.approx((*frame[0], *frame[1]), abs=1e-12)


def test_below_a_parent_with_zero_scale_there_is_no_local_space() -> None:
    flat: Frame = (scaled_axes(0.0), (0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="zero scale"):
        in_local_space(Bone(vectors.IDENTITY, Y, 1.0), WHOLE, flat)


@pytest.mark.parametrize("gap", [0.0, 3e-8])
def test_a_bone_between_joints_at_one_place_keeps_its_rotation(gap: float) -> None:
    """As where a rig generator puts a bone below a control; the place of that is rounded."""
    heads = [(0.0, 0.0, 0.0), (0.0, 0.4, 0.0), (0.0, 0.4, 0.0), (0.3 * gap, gap, -0.5 * gap)]
    leans = (0.3, -0.5, 0.2, 0.4)
    bones = [Bone(vectors.IDENTITY, head, 0.4) for head in heads]
    locals_ = [Local(rotation=vectors.quat_about((1.0, 0.0, 0.0), lean)) for lean in leans]
    chain = ChainInput(bones, locals_, (0.0, 0.4, 0.0), WHOLE)
    for shift in ((0.0, 0.0, 0.0), (0.1, -0.2, 0.05)):
        posture = pose_chain(chain, Goal(vectors.add(chain.joints[-1], shift)))
        assert posture.state == "REACHED"
        cosine = sum(a * b for a, b in zip(posture.rotations[2], locals_[2].rotation, strict=True))
        assert abs(cosine) == pytest.approx(1.0, abs=1e-12)
