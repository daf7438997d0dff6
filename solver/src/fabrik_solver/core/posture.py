"""A chain of bones in the form that solvers take, and its solved pose."""

from collections.abc import Sequence
from math import radians
from typing import Final, final

from .bend import RestBend, straight_bend
from .bones import Bone, Local, head_in_parent, inherited_axes, turned_axes
from .chain import Chain, Goal, Solution, State
from .frames import Frame, point_in
from .limit_solver import ConstrainedBone
from .limits import Hinge, Limit
from .segments import rigid_joints
from .vectors import (
    ORIGIN,
    Mat3,
    Quat,
    Vec,
    add,
    cross,
    length,
    mat_apply,
    mat_product,
    quat_matrix,
    scale_columns,
    scaled,
    sub,
    times,
    unit,
)

NOTICED: Final = radians(0.1)
"""The orientation error above which an orientation counts as missed."""

COINCIDENT: Final = 1e-5
"""Maximum distance at which two joints coincide, as a fraction of the chain's longest bone."""

UNCLEAR_SIDE: Final = 1e-3
"""The sum of signed hinge ranges, in radians, up to which the bend direction is undetermined."""


@final
class Posture:
    """A solved chain.

    Attributes:
        numbers: The local rotations of the bones, root first, four numbers per bone.
        scales: Their local scales; empty if they keep those of the FK pose.
        tip: The position of the tip under these rotations, in armature space.
        state: Whether the tip is on the target; with a partial influence, whether it would be at
            full influence.
        goal: Target and pole in armature space.
        orientation_error: The angle by which limits keep an oriented tip bone from its
            orientation, in radians.
    """

    __slots__ = ("_solution", "goal", "numbers", "orientation_error", "scales", "state", "tip")

    def __init__(
        self,
        numbers: list[float],
        tip: Vec,
        state: State,
        goal: Goal,
        solution: "Solution | Placed",
        scales: tuple[Vec, ...] = (),
        orientation_error: float = 0.0,
    ) -> None:
        self.numbers = numbers
        self.tip = tip
        self.state: State = state
        self.goal = goal
        self._solution = solution
        self.scales = scales
        self.orientation_error = orientation_error

    @property
    def solution(self) -> Solution:
        """The solved joints.

        With an oriented tip bone, these are the joints before it, and their goal.
        """
        solution = self._solution
        if isinstance(solution, Placed):
            solution = solution.solution(self.state)
            self._solution = solution
        return solution

    @property
    def iterations_used(self) -> int:
        """Iterations of the solver, plus landing steps."""
        solution = self._solution
        return 0 if isinstance(solution, Placed) else solution.iterations_used

    @property
    def has_orientation_error(self) -> bool:
        """Whether limits keep the tip bone noticeably from its goal orientation."""
        return self.orientation_error > NOTICED

    @property
    def rotations(self) -> tuple[Quat, ...]:
        """The local rotation of each bone, root first."""
        return tuple(rotations_of(self.numbers))


@final
class Placed:
    """The joints of a chain posed without the position solver, with a solution on demand.

    Attributes:
        chain: The chain.
        joints: The joints, root first.
        residual: The distance from the tip to the target.
    """

    __slots__ = ("chain", "joints", "residual")

    def __init__(self, chain: "ChainInput", joints: list[Vec], residual: float) -> None:
        """Set the joints.

        Raises:
            ValueError: If a joint isn't finite.
        """
        _refuse_not_finite(joints)
        self.chain = chain
        self.joints = joints
        self.residual = residual

    def solution(self, state: State) -> Solution:
        """Return the solution with a state."""
        chain, is_reached = self.chain.chain, state == "REACHED"
        moved = chain.moved_to(self.joints)
        return Solution(chain, moved, state, is_reached, self.residual, 0, (0.0, 0.0, 0.0))


def _refuse_not_finite(places: list[Vec]) -> None:
    """Raise ValueError if a point isn't finite."""
    for x, y, z in places:
        if x - x != 0.0 or y - y != 0.0 or z - z != 0.0:  # Infinity minus infinity is NaN.
            raise ValueError("a joint of the chain is not finite: give numbers")


@final
class ChainLink:
    """A bone of a chain, and everything that depends only on its FK pose.

    Attributes:
        bone: The bone.
        rotation: The FK pose's rotation.
        scale: The FK pose's scale.
        arm: The next bone's head, or the tip, in the space of the posed bone.
        aim: The arm before the rotation, but with the scale.
        is_plain: See `Bone.is_plain`.
        turn: The matrix from the inherited axes to the unscaled axes in the FK pose. It is the
            rotation, preceded by the rest axes if the bone is plain; otherwise `inherited_axes`
            includes them.
    """

    __slots__ = ("aim", "arm", "bone", "is_plain", "rotation", "scale", "turn")

    def __init__(self, bone: Bone, local: Local, arm: Vec) -> None:
        self.bone = bone
        self.rotation = local.rotation
        self.scale = local.scale
        self.arm = arm
        self.aim = times(arm, local.scale)
        self.is_plain = bone.is_plain
        turn = quat_matrix(local.rotation)
        self.turn = mat_product(bone.rest, turn) if self.is_plain else turn

    def unscaled(self, parent: Mat3) -> tuple[Mat3, Vec]:
        """Return the unscaled axes in the FK pose, and the scale."""
        if self.is_plain:
            return mat_product(parent, self.turn), self.scale
        axes, post_scale = inherited_axes(self.bone, parent)
        return mat_product(axes, self.turn), times(self.scale, post_scale)


@final
class ChainInput:
    """A chain of bones in its FK pose, without its goal.

    Attributes:
        links: The bones, root first.
        parent: Frame of the root bone's parent.
        root: Position of the root bone's head, in armature space.
        rotations: The FK pose's rotation of each bone.
        joints: The heads and the tip in the FK pose, in armature space.
        constrained: The bones for the solver with limits; empty without limits, stiffness and bias.
        bias: Which bones turn more: from -1 near the root to 1 near the tip.
        channels: The FK pose of each bone.
        rest_bend: How the chain bends in the rest pose; None if unknown.
        hand: The tip bone, if it can be oriented: the chain's last bone, or a child with its head
            at the chain's tip.
        limb: The bones before the hand, if the hand is part of the chain. If the hand is oriented,
            they reach with its head.
        is_started: Whether solving starts from rotations other than the FK pose's (see `started`).
            These are then in ``rotations``.
    """

    __slots__ = (
        "_axes",
        "_chain",
        "_limits",
        "_stiffness",
        "bias",
        "channels",
        "constrained",
        "hand",
        "is_started",
        "joints",
        "limb",
        "links",
        "parent",
        "rest_bend",
        "root",
        "rotations",
    )

    def __init__(
        self,
        bones: Sequence[Bone],
        locals_: Sequence[Local],
        tip_in_bone: Vec,
        parent: Frame,
        rest_bend: RestBend | None = None,
        limits: Sequence[Limit | None] = (),
        stiffness: Sequence[float] = (),
        has_hand: bool = False,
        limb_bend: RestBend | None = None,
        bias: float = 0.0,
        links: "list[ChainLink] | None" = None,
    ) -> None:
        """Compute the FK pose.

        Args:
            bones: The chain, root first, each the parent of the next.
            locals_: The FK pose of each bone.
            tip_in_bone: Position of the tip in the space of the last bone's posed axes.
            parent: Frame of the root bone's parent, `WHOLE` if it has none.
            rest_bend: How the chain bends in the rest pose. None uses the bend direction that its
                hinges allow. Without hinges it uses the Z axes of all bones except the first, so
                that they bend about their X axes.
            limits: The joint limit of each bone; empty if no bone has one.
            stiffness: How much each bone resists leaving its FK pose, from 0 to 1; empty if
                none does.
            has_hand: Whether the last bone can be oriented. If the tip is its head, (0, 0, 0), it
                doesn't help to reach the target.
            limb_bend: Like ``rest_bend``, for the bones before a hand whose tail is the tip.
            bias: Which bones turn more: from -1 near the root to 1 near the tip.
            links: The ``links`` of the same bones in the same FK pose, from a chain without a hand.

        Raises:
            ValueError: If the chain has no bones, or a number isn't finite.
        """
        self.hand: ConstrainedBone | None = None
        self.limb: ChainInput | None = None
        self.is_started = False
        if has_hand and bones and len(bones) == len(locals_):
            head = head_in_parent(bones[-1], locals_[-1])
            last = len(bones) - 1
            self.hand = _constrained(bones, locals_, head, tip_in_bone, limits, stiffness, last)
            limb, limb_locals = bones[:-1], locals_[:-1]
            limb_limits, limb_stiff = limits[:-1], stiffness[:-1]
            if tip_in_bone == ORIGIN:
                bones, locals_, limits, stiffness = limb, limb_locals, limb_limits, limb_stiff
                tip_in_bone = head
            else:
                self.limb = ChainInput(
                    limb, limb_locals, head, parent, limb_bend, limb_limits, limb_stiff, bias=bias
                )
        if not bones or len(bones) != len(locals_):
            raise ValueError("a chain needs at least one bone, and the channels of each")
        if links is None:
            arms = [head_in_parent(bones[i], locals_[i]) for i in range(1, len(bones))]
            arms.append(tip_in_bone)
            least = COINCIDENT * max([length(arm) for arm in arms])
            links = []
            for i, arm in enumerate(arms):
                # The direction of a shorter arm is that of single-precision rounding.
                reaching = arm if length(arm) > least else ORIGIN
                links.append(ChainLink(bones[i], locals_[i], reaching))
        self.links = links
        self._limits = limits
        self._stiffness = stiffness
        self.bias = bias
        self.parent = parent
        self.root = point_in(parent, head_in_parent(bones[0], locals_[0]))
        self.rotations = tuple([local.rotation for local in locals_])
        self.channels = locals_
        self.rest_bend = rest_bend
        axes, head = parent[0], self.root
        posed: list[Mat3] = []
        joints = [head]
        for link in links:
            axes, scale = link.unscaled(axes)
            axes = scale_columns(axes, scale)
            posed.append(axes)
            head = point_in((axes, head), link.arm)
            joints.append(head)
        _refuse_not_finite(joints)
        if rest_bend is not None:
            _refuse_not_finite([rest_bend.side])
        self.joints = tuple(joints)
        self._axes = posed
        self._chain: Chain | None = None
        self.constrained: list[ConstrainedBone] = []
        if bias != 0.0 or any(limits) or any(stiffness):
            for i, link in enumerate(links):
                at = links[i - 1].arm if i else ORIGIN
                self.constrained.append(
                    _constrained(bones, locals_, at, link.arm, limits, stiffness, i)
                )

    @property
    def chain(self) -> Chain:
        """The joints for the position solver; made on demand, as some motions don't need them."""
        chain = self._chain
        if chain is None:
            chain = posed_chain(self._axes, self.joints, self.rest_bend, self._limits)
            self._chain = chain
        return chain

    @property
    def rigid(self) -> list[int]:
        """The inner joints that can't bend (see `rigid_joints`)."""
        return rigid_joints(self._limits, [link.arm for link in self.links]) if self._limits else []

    def under(self, channels: Sequence[Local]) -> "ChainInput":
        """Return the same bones, without a hand, in another FK pose."""
        return ChainInput(
            [link.bone for link in self.links],
            channels,
            self.links[-1].arm,
            self.parent,
            self.rest_bend,
            self._limits,
            self._stiffness,
            bias=self.bias,
        )

    def carried(self, parent: Frame) -> "ChainInput":
        """Return the same chain, without a hand, with another frame for its root bone's parent."""
        return ChainInput(
            [link.bone for link in self.links],
            self.channels,
            self.links[-1].arm,
            parent,
            self.rest_bend,
            self._limits,
            self._stiffness,
            bias=self.bias,
            links=self.links,
        )

    def turned(self, rotations: Sequence[Quat]) -> "ChainInput":
        """Return the same bones, without a hand, with other rotations."""
        pairs = zip(self.channels, rotations, strict=True)
        return self.under(
            [Local(channels.location, turn, channels.scale) for channels, turn in pairs]
        )

    def with_scales(self, scales: Sequence[Vec]) -> "ChainInput":
        """Return the same bones, without a hand, with other scales."""
        pairs = zip(self.channels, scales, strict=False)
        other = self.under([Local(local.location, local.rotation, scale) for local, scale in pairs])
        return self._let_start(other) if self.is_started else other

    def started(self, rotations: Sequence[Quat]) -> "ChainInput":
        """Return the same chain with other rotations to start solving from.

        The solver finds the pose nearest to them, and tries no other start. Stiffness still pulls
        toward the FK pose, and the hand's twist is still measured from it.

        Args:
            rotations: The rotation of each bone, root first, with or without a hand that doesn't
                help to reach the target.
        """
        other = self.turned(rotations[: len(self.links)])
        other.hand = self.hand
        if self.limb is not None:
            other.limb = self.limb.started(rotations[: len(self.limb.links)])
        return self._let_start(other)

    def _let_start(self, other: "ChainInput") -> "ChainInput":
        """Mark another chain of these bones as started, with stiffness toward this FK pose."""
        other.is_started = True
        for bone, source in zip(other.constrained, self.constrained, strict=True):
            bone.fk_rotation = source.fk_rotation
        return other


def _constrained(
    bones: Sequence[Bone],
    locals_: Sequence[Local],
    at: Vec,
    arm: Vec,
    limits: Sequence[Limit | None],
    stiffness: Sequence[float],
    i: int,
) -> ConstrainedBone:
    limit = limits[i] if limits else None
    stiff = stiffness[i] if stiffness else 0.0
    return ConstrainedBone(bones[i], locals_[i], i - 1, at, arm, limit, stiff)


def posed_chain(
    axes: Sequence[Mat3],
    joints: Sequence[Vec],
    rest_bend: RestBend | None,
    limits: Sequence[Limit | None],
) -> Chain:
    """Return a posed chain for the position solver, with its bend direction if straight.

    Args:
        axes: The axes of the posed bones, root first.
        joints: Their heads and the tip.
        rest_bend: See `ChainInput`.
        limits: The joint limit of each bone; empty if no bone has one.
    """
    hinged = _hinged_bend(axes, joints, limits) if limits and rest_bend is None else None
    bend = hinged or straight_bend(axes, rest_bend)
    is_sure = rest_bend is not None or hinged is not None
    folds = () if rest_bend is None else rest_bend.folds
    return Chain(tuple(joints), bend, is_sure=is_sure, folds=folds)


def _hinged_bend(
    axes: Sequence[Mat3], joints: Sequence[Vec], limits: Sequence[Limit | None]
) -> Vec | None:
    """Return the bend direction that hinges allow a straight chain; None if they allow both."""
    bend = ORIGIN
    for i in range(1, len(limits)):
        limit = limits[i]
        if isinstance(limit, Hinge):
            # The joint bulges away from its bone's rotation.
            along = unit(sub(joints[i + 1], joints[i])) or ORIGIN
            bend_side = cross(along, unit(mat_apply(axes[i], limit.axis)) or ORIGIN)
            bend = add(bend, scaled(bend_side, limit.turn[0] + limit.turn[1]))
    return unit(bend) if length(bend) > UNCLEAR_SIDE else None


def chain_frames(chain: ChainInput, rotations: Sequence[Quat]) -> list[Frame]:
    """Return the frames of a chain's bones with local rotations, in armature space."""
    axes, head = chain.parent[0], chain.root
    frames: list[Frame] = []
    for i, link in enumerate(chain.links):
        inherited, post_scale = inherited_axes(link.bone, axes)
        axes = turned_axes(inherited, rotations[i], link.scale, post_scale)
        frames.append((axes, head))
        head = point_in((axes, head), link.arm)
    return frames


def rotations_of(numbers: list[float]) -> list[Quat]:
    """Unflatten rotations, four numbers each."""
    n = numbers
    return [(n[i], n[i + 1], n[i + 2], n[i + 3]) for i in range(0, len(n), 4)]
