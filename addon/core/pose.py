"""The rotations of bones that bring their joints to solved positions.

Everything is in armature space: only there do the bones of a chain keep their lengths when the
armature object is scaled unevenly.
"""

from collections.abc import Sequence
from typing import final

from .bones import Bone, Local, head_in_parent, inherited_axes, turned_axes
from .chain import Chain, Goal, Point, Solution, State, in_space
from .frames import Frame, point_in
from .landing import EXACT
from .limits import Limit
from .settling import Held, hold
from .solve import solve
from .vectors import (
    ORIGIN,
    Mat3,
    Quat,
    Vec,
    add,
    length,
    mat_apply,
    mat_direction_before,
    mat_product,
    mat_stretched,
    quat_between,
    quat_matrix,
    quat_mix,
    quat_product,
    sub,
    times,
)

SOLVED = 0.99
"""The share of the tolerance for the positions; the rest is for the bones to follow them."""

UNEVEN_ROUNDS = 60
"""The most solves for one chain whose lengths change as it turns (see `pose_chain`)."""

WHOLE_ROUNDS = 8
"""The solves in which the new lengths are taken as they are; later ones take part of the change."""

Z_AXIS: Vec = (0.0, 0.0, 1.0)


@final
class Posture:
    """A solved chain.

    Attributes:
        numbers: The local rotations of the bones, root first, four numbers a bone.
        tip: The position of the tip under these rotations, in armature space.
        state: Whether the tip is on the target; with a partial influence, whether it would be.
        goal: Target and pole in armature space.
        solution: The joints that were aimed at.
    """

    __slots__ = ("goal", "numbers", "solution", "state", "tip")
    numbers: list[float]
    tip: Vec
    state: State
    goal: Goal
    solution: Solution

    def __init__(
        self, numbers: list[float], tip: Vec, state: State, goal: Goal, solution: Solution
    ) -> None:
        self.numbers = numbers
        self.tip = tip
        self.state = state
        self.goal = goal
        self.solution = solution

    @property
    def rotations(self) -> tuple[Quat, ...]:
        """The local rotation of each bone, root first."""
        return tuple(_rotations(self.numbers))


@final
class Link:
    """A bone of a chain, and what follows from its FK input alone.

    Attributes:
        bone: What Edit Mode fixes of it.
        rotation: The FK input's rotation.
        scale: The FK input's scale.
        arm: The next bone's head, or the tip, in the space of the posed bone.
        aim: The same before the rotation, but with the scale.
        is_plain: Whether it inherits its parent's axes as they are, like nearly every bone.
        turn: What takes the inherited axes to the unscaled ones under the FK input: the rotation,
            and before it the rest axes if the bone is plain (else `inherited_axes` knows them).
    """

    __slots__ = ("aim", "arm", "bone", "is_plain", "rotation", "scale", "turn")
    bone: Bone
    rotation: Quat
    scale: Vec
    arm: Vec
    aim: Vec
    is_plain: bool
    turn: Mat3

    def __init__(self, bone: Bone, local: Local, arm: Vec) -> None:
        self.bone = bone
        self.rotation = local.rotation
        self.scale = local.scale
        self.arm = arm
        self.aim = times(arm, local.scale)
        self.is_plain = bone.inherit_scale == "FULL" and bone.inherit_rotation
        turn = quat_matrix(local.rotation)
        self.turn = mat_product(bone.rest, turn) if self.is_plain else turn

    def unscaled(self, parent: Mat3) -> tuple[Mat3, Vec]:
        """Return the axes under the FK input without scale, and the scale that goes on them."""
        if self.is_plain:
            return mat_product(parent, self.turn), self.scale
        axes, post_scale = inherited_axes(self.bone, parent)
        return mat_product(axes, self.turn), times(self.scale, post_scale)


@final
class ChainInput:
    """Everything about a chain that stays the same while only its goal changes.

    Attributes:
        links: The bones, root first.
        parent: Frame of the root bone's parent.
        root: Where the root bone's head stands, in armature space.
        rotations: The FK input's rotation of each bone.
        joints: The heads and the tip under the FK input, in armature space.
        chain: The same as the solver takes it.
        held: The bones as their limits are kept; none if no bone has a limit or is stiff.
    """

    __slots__ = ("chain", "held", "joints", "links", "parent", "root", "rotations")
    links: list[Link]
    parent: Frame
    root: Vec
    rotations: tuple[Quat, ...]
    joints: tuple[Vec, ...]
    chain: Chain
    held: list[Held]

    def __init__(
        self,
        bones: Sequence[Bone],
        locals_: Sequence[Local],
        tip_in_bone: Vec,
        parent: Frame,
        rest_bend: Vec | None = None,
        limits: Sequence[Limit | None] = (),
        stiffness: Sequence[float] = (),
    ) -> None:
        """Reckon the FK input.

        Args:
            bones: The chain, root first, each the parent of the next.
            locals_: The FK input of each bone.
            tip_in_bone: Position of the tip in the space of the last bone's posed axes.
            parent: Frame of the root bone's parent, `WHOLE` if it has none.
            rest_bend: Side to which a straight chain bends, in the root bone's own axes; its Z
                axis if None, which is a turn about its X axis.
            limits: What each bone allows; none is limited if empty.
            stiffness: How much each bone resists leaving its FK input, from 0 to 1; not at all if
                empty.

        Raises:
            ValueError: If there is no bone, or a number is not finite.
        """
        if not bones or len(bones) != len(locals_):
            raise ValueError("a chain needs at least one bone, and the channels of each")
        links: list[Link] = []
        for i in range(len(bones)):
            is_last = i + 1 == len(bones)
            arm = tip_in_bone if is_last else head_in_parent(bones[i + 1], locals_[i + 1])
            links.append(Link(bones[i], locals_[i], arm))
        self.links = links
        self.parent = parent
        self.root = point_in(parent, head_in_parent(bones[0], locals_[0]))
        self.rotations = tuple([local.rotation for local in locals_])
        axes, head = parent[0], self.root
        bend = Z_AXIS
        joints = [head]
        for link in links:
            axes, scale = link.unscaled(axes)
            axes = mat_stretched(axes, scale)
            if link is links[0]:
                bend = mat_apply(axes, rest_bend or Z_AXIS)
            head = point_in((axes, head), link.arm)
            joints.append(head)
        self.joints = tuple(joints)
        self.chain = Chain(self.joints, bend)
        self.held = []
        if any(limits) or any(stiffness):
            for i, link in enumerate(links):
                limit = limits[i] if limits else None
                ease = 1.0 - stiffness[i] if stiffness else 1.0
                self.held.append(Held(link.bone, link.rotation, link.scale, link.arm, limit, ease))


def pose_chain(
    chain: ChainInput,
    goal: Goal,
    solver: str = "FABRIK",
    iterations: int = 20,
    tolerance: float = 1e-4,
    influence: float = 1.0,
) -> Posture:
    """Turn the bones of a chain so that its tip is on the target.

    Positions are solved first; then, from the root on, each bone swings by the least turn from
    the direction that its parent carries it to, to the solved one. It keeps its twist, and its
    location and scale channels are not touched.

    A bone under uneven scale changes its length when it turns. The positions are then solved
    again with the lengths that the bones turned out to have, until the tip is in place. Lengths
    that swing to and fro are caught by taking an ever smaller share of their change.

    Args:
        chain: The bones and their FK input.
        goal: Target and pole in armature space.
        solver: See `solve`.
        iterations: See `solve`.
        tolerance: See `solve`.
        influence: 0 gives the FK input, 1 the solution, between them each bone turns part of the
            way.

    Raises:
        ValueError: If the solver does not fit the chain.
    """
    aimed = chain.chain
    rounds = 0
    while True:
        solution = solve(aimed, goal, solver, iterations, SOLVED * tolerance)
        numbers, size, tip, missed = _swung(chain, solution)
        rounds += 1
        if missed <= (1.0 - SOLVED) * tolerance * size or rounds == UNEVEN_ROUNDS:
            break
        share = min(1.0, WHOLE_ROUNDS / rounds)
        changes = zip(aimed.bone_lengths(), _lengths(chain, numbers), strict=True)
        mixed = tuple([old + share * (new - old) for old, new in changes])
        aimed = Chain(chain.joints, chain.chain.bend, mixed)
    reached = _distance(tip, goal.target) <= (1.0 + 1e-9) * tolerance * size
    state: State = "REACHED" if reached else "OUT_OF_REACH"
    posture = Posture(numbers, tip, state, goal, solution)
    if chain.held:
        posture = _limited(posture, chain, tolerance)
    return posture if influence == 1.0 else _weakened(posture, chain, influence)


def pose_in_world(
    chain: ChainInput,
    place: tuple[Frame, Frame],
    target: Vec,
    pole: Vec | None,
    pole_angle: float,
    solver: str,
    iterations: int,
    tolerance: float,
    influence: float,
    pole_weight: float = 1.0,
    softness: float = 0.0,
) -> tuple[Posture, float]:
    """Do as `pose_chain`, with a goal in world space.

    Args:
        chain: The bones and their FK input.
        place: The armature's frame in world space, and its inverse.
        target: In world space.
        pole: In world space.
        pole_angle: See `Goal`.
        solver: See `solve`.
        iterations: See `solve`.
        tolerance: See `solve`.
        influence: See `pose_chain`.
        pole_weight: See `Goal`.
        softness: See `Goal`.

    Returns:
        How the chain stands, and the distance from its tip to the target in world space.

    Raises:
        ValueError: If a number is not finite, or the solver does not fit the chain.
    """
    world, to_armature = place
    pole_there = None if pole is None else point_in(to_armature, pole)
    goal = Goal(point_in(to_armature, target), pole_there, pole_angle, pole_weight, softness)
    posture = pose_chain(chain, goal, solver, iterations, tolerance, influence)
    return posture, _distance(point_in(world, posture.tip), target)


def _limited(posture: Posture, chain: ChainInput, tolerance: float) -> Posture:
    """Return the pose with all joints in their limits, the tip as near as these allow."""
    solved = _rotations(posture.numbers)
    held = chain.held
    if all([bone.keeps(solved[i]) for i, bone in enumerate(held)]):
        return posture
    solution, target = posture.solution, posture.solution.aimed_at()
    joints = [in_space(joint) for joint in solution.joints]
    size = chain.chain.scale
    near_enough = min(tolerance, EXACT) * size
    missed, steps = hold(
        held, solved, joints, chain.parent[0], target, near_enough, tolerance * size
    )
    rotations = [_beside(bone.rotation, bone.given) for bone in held]
    tip = point_in(chain_frames(chain, rotations)[-1], chain.links[-1].arm)
    state: State = posture.state  # By softness it may be none the less out of reach.
    if missed > tolerance * size:
        state = "LIMITED" if solution.in_reach else "OUT_OF_REACH"
    missed = _distance(tip, posture.goal.target)
    if missed <= tolerance * size:
        state = "REACHED"
    numbers = [number for rotation in rotations for number in rotation]
    settled = Solution(
        solution.chain,
        solution.moved,
        state,
        solution.in_reach,
        missed,
        solution.sweeps + steps,
        solution.aim,
    )
    return Posture(numbers, tip, state, posture.goal, settled)


def _beside(rotation: Quat, other: Quat) -> Quat:
    """Return the rotation by the one of its two quaternions that is nearer to another one."""
    w, x, y, z = rotation
    if w * other[0] + x * other[1] + y * other[2] + z * other[3] < 0.0:
        return (-w, -x, -y, -z)
    return rotation


def _weakened(posture: Posture, chain: ChainInput, influence: float) -> Posture:
    """Return the pose that is part of the way from the FK input to the solved one."""
    pairs = zip(chain.rotations, posture.rotations, strict=True)
    rotations = [quat_mix(given, solved, influence) for given, solved in pairs]
    tip = point_in(chain_frames(chain, rotations)[-1], chain.links[-1].arm)
    numbers = [number for rotation in rotations for number in rotation]
    return Posture(numbers, tip, posture.state, posture.goal, posture.solution)


def chain_frames(chain: ChainInput, rotations: Sequence[Quat]) -> list[Frame]:
    """Return the frames of a chain's bones under the given rotations, in armature space."""
    axes, head = chain.parent[0], chain.root
    frames: list[Frame] = []
    for i, link in enumerate(chain.links):
        inherited, post_scale = inherited_axes(link.bone, axes)
        axes = turned_axes(inherited, rotations[i], link.scale, post_scale)
        frames.append((axes, head))
        head = point_in((axes, head), link.arm)
    return frames


def _swung(chain: ChainInput, solution: Solution) -> tuple[list[float], float, Vec, float]:
    """Point each bone, from the root on, at its solved next joint.

    Returns:
        The local rotations, four numbers a bone; the length of the chain, where its tip is, and
        how far that is from the solved one.
    """
    parent, head = chain.parent[0], chain.root
    joints = solution.moved
    root, scale = solution.chain.root, solution.chain.scale
    rx, ry, rz = root
    numbers: list[float] = []
    size = 0.0
    gap = ORIGIN
    for i, link in enumerate(chain.links):
        stretch, aim = link.scale, link.aim
        if link.is_plain:
            axes = mat_product(parent, link.turn)
        else:
            axes, stretch = link.unscaled(parent)
            aim = times(link.arm, stretch)
        joint = joints[i + 1]
        x, y, z = head
        to_joint = (
            rx + joint.x * scale - x,
            ry + joint.y * scale - y,
            rz + joint.z * scale - z,
        )
        swing = quat_between(aim, mat_direction_before(axes, to_joint), (1.0, 0.0, 0.0))
        w, x, y, z = quat_product(link.rotation, swing)
        numbers.append(w)
        numbers.append(x)
        numbers.append(y)
        numbers.append(z)
        parent = mat_stretched(mat_product(axes, quat_matrix(swing)), stretch)
        along = mat_apply(parent, link.arm)
        size += length(along)
        head = add(head, along)
        gap = sub(along, to_joint)
    return numbers, size, head, length(gap)


def _rotations(numbers: list[float]) -> list[Quat]:
    n = numbers
    return [(n[i], n[i + 1], n[i + 2], n[i + 3]) for i in range(0, len(n), 4)]


def _lengths(chain: ChainInput, numbers: list[float]) -> list[float]:
    """Return the lengths that the bones have under the given rotations."""
    frames = chain_frames(chain, _rotations(numbers))
    return [length(mat_apply(frames[i][0], link.arm)) for i, link in enumerate(chain.links)]


def _distance(a: Vec, b: Point) -> float:
    return length((a[0] - b[0], a[1] - b[1], a[2] - b[2]))
