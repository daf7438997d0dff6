"""Reaching for a point: solves the joint positions, then makes the bones follow them."""

from collections.abc import Sequence

from .bend import eased, swivel_to, swivel_turn
from .block_solver import Effector
from .bones import turned_to
from .chain import Goal, Point, Solution, State, in_space, measured
from .frames import point_in
from .joint import Joint
from .landing import EXACT
from .limit_solver import Linkage, follow, land_from, of_joints, solve_with_limits
from .posture import ChainInput, ChainLink, Posture, chain_frames, rotations_of
from .segments import solve_segments
from .vectors import (
    QUAT_IDENTITY,
    Mat3,
    Quat,
    Vec,
    add,
    length,
    mat_apply,
    mat_columns,
    mat_product,
    quat_compatible,
    quat_in_axes,
    quat_matrix,
    quat_product,
    scale_columns,
    sub,
    times,
    unit,
)

SOLVED = 0.99
"""The fraction of the tolerance for the positions; the rest is for the bones that follow."""

UNEVEN_ROUNDS = 60
"""Maximum number of solves for a chain whose bones change length as it rotates (see
`pose_chain`)."""

WHOLE_ROUNDS = 8
"""Number of solves that use the new lengths unchanged; later solves are under-relaxed."""


BIAS = 0.9
"""How much bias can lower the compliance of the bones at one end of a chain."""

STRAIGHTENING = 0.05
"""The last fraction of reach over which bias fades out: it doesn't affect a straight chain."""


def reach(chain: ChainInput, goal: Goal, solver: str, iterations: int, tolerance: float) -> Posture:
    """Solve the positions, let the bones follow, and apply the joint limits.

    See `pose_chain` for the arguments.
    """
    aimed, rigid = chain.chain, chain.rigid
    rounds = 0
    while True:
        solution = solve_segments(aimed, rigid, goal, solver, iterations, SOLVED * tolerance)
        numbers, size, tip, gap = _swung(chain, solution)
        rounds += 1
        if gap <= (1.0 - SOLVED) * tolerance * size or rounds == UNEVEN_ROUNDS:
            break
        relaxation = min(1.0, WHOLE_ROUNDS / rounds)
        changes = zip(aimed.bone_lengths(), _lengths(chain, numbers), strict=True)
        aimed = chain.chain.with_lengths([old + relaxation * (new - old) for old, new in changes])
    reached = distance_to(tip, goal.target) <= (1.0 + 1e-9) * tolerance * size
    state: State = "REACHED" if reached else "OUT_OF_REACH"
    posture = Posture(numbers, tip, state, goal, solution)
    if chain.constrained:
        posture = limited(posture, chain, tolerance)
    return posture


def limited(posture: Posture, chain: ChainInput, tolerance: float) -> Posture:
    """Return a solved pose within the joint limits, with the tip as close as they allow."""
    constrained, parent = chain.constrained, chain.parent[0]
    solved = of_joints(constrained, parent, rotations_of(posture.numbers))
    if chain.bias != 0.0:
        _bias(chain, posture.solution)
    if not chain.is_started and all([bone.keeps(solved[i]) for i, bone in enumerate(constrained)]):
        return posture
    solution, target = posture.solution, posture.solution.aimed_at()
    joints = [in_space(joint) for joint in solution.joints]
    size = chain.chain.scale
    near_enough = min(tolerance, EXACT) * size
    effector = Effector(len(constrained) - 1, chain.links[-1].arm, target)
    linkage = Linkage(constrained, [effector], parent, joints[0])
    begun = linkage.of_joints(chain.rotations)
    if chain.is_started:
        starts = [_facing_pole(posture, chain, linkage, begun)]
    else:
        followed = follow(constrained, joints, parent, solution.turn)
        starts = [followed, solved, begun, [QUAT_IDENTITY] * len(constrained)]
    residual, steps = solve_with_limits(
        linkage, starts, near_enough, tolerance * size, not chain.is_started
    )
    first, goal = constrained[0], posture.goal
    # Rotating the first bone about root → target doesn't change the joints after it.
    is_free = len(constrained) > 1 and first.limit is None and first.stiffness == 0.0
    if is_free and not chain.is_started and goal.pole is not None and not goal.is_hint:
        facing = _facing_pole(posture, chain, linkage, linkage.rotations())
        # Takes no steps unless scale is non-uniform.
        residual, landings = land_from(linkage, facing, near_enough)
        steps += landings
    pairs = zip(linkage.channels(), chain.rotations, strict=True)
    rotations = [quat_compatible(rotation, fk_rotation) for rotation, fk_rotation in pairs]
    tip = point_in(chain_frames(chain, rotations)[-1], chain.links[-1].arm)
    state: State = "OUT_OF_REACH"  # With softness, even if it is on its aim.
    if residual > tolerance * size and solution.in_reach:
        state = "LIMITED"
    residual = distance_to(tip, posture.goal.target)
    if residual <= tolerance * size:
        state = "REACHED"
    numbers = [number for rotation in rotations for number in rotation]
    limited_solution = Solution(
        solution.chain,
        solution.moved,
        state,
        solution.in_reach,
        residual,
        solution.iterations_used + steps,
        solution.aim,
        solution.turn,
        solution.normal,
    )
    return Posture(numbers, tip, state, posture.goal, limited_solution)


def _bias(chain: ChainInput, solution: Solution) -> None:
    """Lower the compliance of the bones at one end of a chain, unless it must be straight."""
    slack = 1.0 - length(solution.aim) / max(solution.chain.outer, 1e-300)
    bias = BIAS * abs(chain.bias) * eased(max(0.0, slack) / STRAIGHTENING)
    last = max(1, len(chain.constrained) - 1)
    for i, bone in enumerate(chain.constrained):
        position = i / last
        bone.compliance = (1.0 - bone.stiffness) * (
            1.0 - bias * (position if chain.bias < 0.0 else 1.0 - position)
        )


def _facing_pole(
    posture: Posture, chain: ChainInput, linkage: Linkage, rotations: list[Quat]
) -> list[Quat]:
    """Return a chain's joint rotations, swivelled about root → target to face its pole."""
    solution, goal = posture.solution, posture.goal
    root, scale = solution.chain.root, solution.chain.scale
    linkage.turn(rotations)
    linkage.place()
    points = [bone.head for bone in linkage.bones]
    points.append(linkage.effectors[0].place)
    joints = [Joint(*measured(point, root, scale), size=0.0) for point in points]
    axis = unit(solution.aim)
    if axis is None or goal.pole is None:
        return rotations
    bend, _ = solution.chain.bend_of_moved(joints, axis, solution.turn)
    pole = measured(goal.pole, root, scale)
    swivel = swivel_to(pole, bend, axis, goal.pole_angle, goal.pole_weight)
    turn = swivel_turn(axis, swivel)
    return [quat_product(quat_in_axes(linkage.bones[0].axes, turn), rotations[0]), *rotations[1:]]


def _swung(chain: ChainInput, solution: Solution) -> tuple[list[float], float, Vec, float]:
    """Point each bone in turn, root first, at its solved next joint.

    Returns:
        The local rotations, four numbers per bone; the length of the chain; the tip's position; the
        distance from there to the solved tip.
    """
    parent, head = chain.parent[0], chain.root
    joints = solution.moved
    root, scale = solution.chain.root, solution.chain.scale
    rx, ry, rz = root
    numbers: list[float] = []
    size = 0.0
    gap = (0.0, 0.0, 0.0)
    turn = solution.turn
    for i, link in enumerate(chain.links):
        joint = joints[i + 1]
        x, y, z = head
        to_joint = (
            rx + joint.x * scale - x,
            ry + joint.y * scale - y,
            rz + joint.z * scale - z,
        )
        rotation, parent = _pointed(link, parent, to_joint, solution.normal, turn)
        turn = (1.0, 0.0, 0.0, 0.0)  # The other bones follow.
        numbers.extend(rotation)
        along = mat_apply(parent, link.arm)
        size += length(along)
        head = add(head, along)
        gap = sub(along, to_joint)
    return numbers, size, head, length(gap)


def swing_along(
    chain: ChainInput, joints: Sequence[Vec]
) -> tuple[list[float], Vec, tuple[float, ...]]:
    """Point each bone, root first, in the direction from its joint to the next.

    Args:
        chain: The bones and their FK pose.
        joints: One more joint than bones, in armature space.

    Returns:
        The local rotations, four numbers per bone; the position of the tip; the bone lengths, which
        differ from the joints' distances under non-uniform scale.
    """
    parent, head = chain.parent[0], chain.root
    numbers: list[float] = []
    lengths: list[float] = []
    for i, link in enumerate(chain.links):
        to_joint = sub(joints[i + 1], joints[i])
        rotation, parent = _pointed(link, parent, to_joint, mat_columns(parent)[0])
        numbers.extend(rotation)
        along = mat_apply(parent, link.arm)
        lengths.append(length(along))
        head = add(head, along)
    return numbers, head, tuple(lengths)


def _pointed(
    link: ChainLink, parent: Mat3, toward: Vec, normal: Vec, turn: Quat = QUAT_IDENTITY
) -> tuple[Quat, Mat3]:
    """Return a bone's local rotation, turned and then pointed in a direction, and its posed axes.

    Args:
        link: The bone.
        parent: The axes of its parent.
        toward: The direction.
        normal: The rotation axis if the direction is opposite.
        turn: A rotation of the FK pose, applied before the smallest rotation to the direction.
    """
    stretch, aim = link.scale, link.aim
    if link.is_plain:
        axes = mat_product(parent, link.turn)
    else:
        axes, stretch = link.unscaled(parent)
        aim = times(link.arm, stretch)
    swing = turned_to(axes, aim, toward, normal, turn)
    rotation = quat_product(link.rotation, swing)
    return rotation, scale_columns(mat_product(axes, quat_matrix(swing)), stretch)


def _lengths(chain: ChainInput, numbers: list[float]) -> list[float]:
    frames = chain_frames(chain, rotations_of(numbers))
    return [length(mat_apply(frames[i][0], link.arm)) for i, link in enumerate(chain.links)]


def distance_to(a: Vec, b: Point) -> float:
    """Return the distance between two points in three dimensions."""
    return length((a[0] - b[0], a[1] - b[1], a[2] - b[2]))
