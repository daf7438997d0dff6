"""A walk with its names resolved: the body, the spine, and the legs at rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple, cast

from mathutils import Matrix

from fabrik_solver import Frame, point_in
from fabrik_solver.core.vectors import (
    ORIGIN,
    Mat3,
    Vec,
    add,
    cross,
    length,
    mat_apply,
    mat_columns,
    mat_from_columns,
    mat_product,
    orthonormalize,
    scaled,
    sub,
)
from fabrik_solver.motion.gait import WalkingLeg
from fabrik_solver.motion.pattern import groups_of

from ...blender.axes import AXES
from ...blender.errors import ProblemError
from ...blender.listeners import on_invalidate
from ...blender.rays import Ground, Source, ground_of
from ...blender.skeleton import Skeleton, matrix3, vector
from ...frame.carried_foot import find_foot
from ...plan.chain_plan import ChainPlan
from ...plan.deferred import write_later
from ...plan.resolving import bone_index
from ...settings.properties import ends_of, settings
from ...settings.values import check_choices
from .settings import gait_settings

if TYPE_CHECKING:
    import bpy

    from .settings import FabrikGait, FabrikGaitLeg


class RestLeg(NamedTuple):
    """A leg in the rest pose, in armature space.

    Attributes:
        chain: Its constraint.
        joints: The joints from the root to the foot.
        foot: The rest position of the foot.
        height: The height of that position above the ground.
        axes: The rest axes of the foot bone, if the constraint orients it.
        group: Its group.
        spine: Its position along the spine (see `WalkingLeg`).
    """

    chain: ChainPlan
    joints: list[Vec]
    foot: Vec
    height: float
    axes: Mat3 | None
    group: int
    spine: float


@dataclass(eq=False)
class GaitPlan:
    """A walk, resolved.

    Attributes:
        rig: The armature.
        index: Its index among the armature's walks.
        body: The bone that carries the legs; -1 if the armature object does.
        axes: The right, forward and up axes of the body, in armature space.
        head: The rest position of the body, in armature space.
        rest: The body bone's rest axes, or None if there is none.
        legs: Its legs.
        spine: The bones from the body to the last one that carries legs. Each has the fraction of
            the spine's length up to its tail.
        ground: The ground; empty until resolved.
        problem: Why the walk can't work; empty if it can.
        stand: The standing matrices of bones in armature space, if the rest pose doesn't stand.
    """

    rig: Skeleton
    index: int
    body: int = -1
    axes: Mat3 = field(init=False)
    head: Vec = ORIGIN
    rest: Mat3 | None = None
    legs: list[RestLeg] = field(default_factory=list)
    spine: dict[int, float] = field(default_factory=dict)
    ground: Ground = field(default_factory=lambda: Ground(()))
    problem: str = ""
    stand: dict[int, Matrix] = field(default_factory=dict)

    def at_rest(self, bone: int) -> Matrix:
        """Return a bone's matrix in the standing pose, in armature space."""
        rest = self.rig.rest(bone)
        return self.stand.get(bone, rest.matrix_local)

    def head_at_rest(self, bone: int) -> Vec:
        """Return a bone's head in the standing pose, in armature space.

        The translation of `at_rest` differs in its last digits, on which stored histories depend.
        """
        rest = self.rig.rest(bone)
        stand = self.stand.get(bone)
        return vector(rest.head_local if stand is None else stand.translation)

    @property
    def path(self) -> str:
        """The property path of the walk's settings, from the armature object."""
        return f"fabrik.gaits[{self.index}]"

    @property
    def leans(self) -> bool:
        """Whether a body bone can be lifted and tilted."""
        return self.body >= 0

    @property
    def groups(self) -> list[int]:
        """The groups of the walk's legs."""
        return [leg.group for leg in self.legs]

    def body_frame(self, world: Frame, bone: Frame | None) -> Frame:
        """Return the body's orthonormal frame in world space: right, forward and up.

        Args:
            world: The armature's frame.
            bone: The body bone's frame, in armature space, or None if there is none.

        Raises:
            ProblemError: If the armature or the bone has zero scale.
        """
        axes, origin = world[0], world[1]
        if bone is not None and self.rest is not None:
            axes = mat_product(axes, mat_product(bone[0], transposed(self.rest)))
            origin = point_in(world, bone[1])
        upright = orthonormalize(axes)
        if upright is None:
            raise ProblemError(
                "“{name}” has zero scale: change its scale", name=self.rig.object.name
            )
        return mat_product(upright, self.axes), origin

    def above_ground(self, leg: RestLeg) -> Vec:
        """Return the vector up from the ground to a foot's rest position, in armature space."""
        return scaled(mat_columns(self.axes)[2], leg.height)

    def measured(self, world: Frame) -> list[WalkingLeg]:
        """Return the legs in the body's frame, at the armature's scale.

        Raises:
            ProblemError: If the armature has zero scale.
        """
        upright = orthonormalize(world[0])
        if upright is None:
            raise ProblemError(
                "“{name}” has zero scale: change its scale", name=self.rig.object.name
            )
        back = transposed(mat_product(upright, self.axes))

        def seen(leg: RestLeg, point: Vec) -> Vec:
            # Measured from the sole, so roots are lower by the ankle's height.
            point = sub(point, self.above_ground(leg))
            return mat_apply(back, mat_apply(world[0], sub(point, self.head)))

        return [
            WalkingLeg(
                seen(leg, leg.foot),
                seen(leg, leg.joints[0]),
                sum(length(mat_apply(world[0], sub(b, a))) for a, b in pairwise(leg.joints)),
                leg.group,
                leg.spine,
            )
            for leg in self.legs
        ]


_plans: dict[int, list[GaitPlan]] = {}


def plans_of(armature: bpy.types.Object) -> list[GaitPlan]:
    """Return an armature's walks as last resolved."""
    return _plans.get(armature.session_uid, [])


@on_invalidate
def forget_plans() -> None:
    """Discard plans of the file."""
    _plans.clear()


def resolve_gaits(rig: Skeleton, chains: Sequence[ChainPlan]) -> list[GaitPlan]:
    """Resolve an armature's walks again, and return them; see `resolved_gait`."""
    count = len(gait_settings(rig.object).gaits)
    plans = _plans[rig.uid] = []
    for index in range(count):
        plan = resolved_gait(rig, index, chains, [p for p in plans if not p.problem])
        plans.append(plan)
    return plans


def resolved_gait(
    rig: Skeleton, index: int, chains: Sequence[ChainPlan], preceding: Sequence[GaitPlan]
) -> GaitPlan:
    """Return a walk of an armature, with its problem if any.

    Args:
        rig: The armature.
        index: The index of the walk.
        chains: All constraints of the armature, in order.
        preceding: The earlier walks that have no problem.
    """
    plan = GaitPlan(rig, index)
    gait = gait_settings(rig.object).gaits[index]
    try:
        check_choices(gait)
        plan.axes = _axes(gait.up_axis, gait.front_axis)
        _resolve_stand(plan, gait)
        _resolve_body(plan, gait)
        _resolve_legs(plan, gait, chains)
        _check_others(plan, preceding)
        source = cast(Source, gait.source)
        plan.ground = ground_of(
            source, gait.ground, gait.collection, rig.object, ends_of(rig.object)
        )
    except ProblemError as problem:
        plan.problem = str(problem)
    return plan


def _check_others(plan: GaitPlan, preceding: Sequence[GaitPlan]) -> None:
    for other in preceding:
        name = gait_settings(plan.rig.object).gaits[other.index].name
        if other.body == plan.body and plan.leans:
            raise ProblemError(
                "The walk “{name}” has the same body: move its legs to this walk, or remove "
                "one of the walks",
                name=name,
            )
        for leg in plan.legs:
            if any(leg.chain is other_leg.chain for other_leg in other.legs):
                raise ProblemError(
                    "“{chain}” is also a leg of “{name}”: remove it from one of the walks",
                    chain=leg.chain.name,
                    name=name,
                )


def _axes(up_axis: str, front_axis: str) -> Mat3:
    if up_axis[-1] == front_axis[-1]:
        raise ProblemError("Up and Front are along the same axis: choose another Front")
    up, ahead = AXES[up_axis], AXES[front_axis]
    return mat_from_columns(cross(ahead, up), ahead, up)


def _resolve_stand(plan: GaitPlan, gait: FabrikGait) -> None:
    for standing_bone in gait.stand:
        with suppress(ProblemError):  # Whatever needs a missing bone reports it.
            plan.stand[bone_index(plan.rig, standing_bone, "name")] = standing_bone.matrix


def _resolve_body(plan: GaitPlan, gait: FabrikGait) -> None:
    if not gait.body:
        return
    rig = plan.rig
    plan.body = bone_index(rig, gait, "body")
    matrix = plan.at_rest(plan.body)
    plan.rest, plan.head = matrix3(matrix), vector(matrix.translation)


def _chains_of(
    plan: GaitPlan, gait: FabrikGait, chains: Sequence[ChainPlan]
) -> list[tuple[ChainPlan, FabrikGaitLeg]]:
    """Return the constraints of a walk's legs, which share no bones."""
    pairs: list[tuple[ChainPlan, FabrikGaitLeg]] = []
    for leg in gait.legs:
        chain = _leg_chain(plan, leg, chains)
        for other, _ in pairs:
            if chain is other:
                raise ProblemError(
                    "“{chain}” is used for two legs: remove one of them", chain=chain.name
                )
        for other, _ in pairs:
            if not set(other.bones).isdisjoint(chain.bones):
                raise ProblemError(
                    "The legs “{other}” and “{chain}” share bones: decrease their "
                    "Chain Length, or remove one of them",
                    other=other.name,
                    chain=chain.name,
                )
        pairs.append((chain, leg))
    if len(pairs) < 2:
        raise ProblemError(
            "A walk needs at least two legs: add constraints whose tips are feet"
            if not pairs
            else "A walk needs at least two legs: add another leg"
        )
    return pairs


def _resolve_legs(plan: GaitPlan, gait: FabrikGait, chains: Sequence[ChainPlan]) -> None:
    pairs = _chains_of(plan, gait, chains)
    rests = [_joints(plan, chain) for chain, _ in pairs]
    feet = [
        add(joints[-1], vector(leg.offset)) for joints, (_, leg) in zip(rests, pairs, strict=True)
    ]
    groups = [leg.group for _, leg in pairs]
    if gait.pattern != "GROUPS":
        back = transposed(plan.axes)
        groups = groups_of([mat_apply(back, foot) for foot in feet], gait.pattern)
    plan.spine = _spine(plan, [chain for chain, _ in pairs])
    for i, (chain, leg) in enumerate(pairs):
        height = max(0.0, leg.height)
        axes = _foot_axes(plan, chain)
        spine = max([plan.spine.get(bone, 0.0) for bone in plan.rig.chain_up(chain.bones[0])])
        plan.legs.append(RestLeg(chain, rests[i], feet[i], height, axes, groups[i], spine))


def _spine(plan: GaitPlan, chains: Sequence[ChainPlan]) -> dict[int, float]:
    """Return the bones between body and legs, with the fraction of the spine up to each tail.

    A bone that carries only one leg, such as a shoulder blade, isn't part of the spine. The result
    is empty if the spine branches, or if all legs are at its end.
    """
    rig = plan.rig
    if not plan.leans:
        return {}
    carried = Counter[int]()
    for chain in chains:
        path = rig.chain_up(chain.bones[0])[:-1]
        carried.update(path[path.index(plan.body) + 1 :])
    spine = [bone for bone, count in carried.items() if count > 1]
    spine.sort(key=lambda bone: len(rig.chain_up(bone)))
    if [rig.parents[bone] for bone in spine] != [plan.body, *spine][:-1]:
        return {}
    if all(carried[bone] == len(chains) for bone in spine):
        return {}
    ends = list(accumulate(rig.bone(bone).length for bone in spine))
    return {bone: end / ends[-1] for bone, end in zip(spine, ends, strict=True)}


def transposed(m: Mat3) -> Mat3:
    """Return the transpose, which is the inverse of a rotation."""
    return (m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8])


def _leg_chain(plan: GaitPlan, leg: FabrikGaitLeg, chains: Sequence[ChainPlan]) -> ChainPlan:
    chain = chains[_item_of(plan, leg)]
    name = chain.name
    if not chain.kind.reaches:
        raise ProblemError(
            ("“{name}” doesn't reach for a target: choose another constraint"), name=name
        )
    if chain.problem:
        raise ProblemError(
            "The leg “{name}” can't be solved. {problem}", name=name, problem=chain.problem
        )
    find_foot(chain)
    if chain.goal_source is not None:
        raise ProblemError(
            "“{name}” already uses On the Ground: disable it, or remove the leg", name=name
        )
    above = plan.rig.chain_up(chain.bones[0])[:-1]
    if plan.body in chain.bones:
        raise ProblemError(
            "“{body}” is a bone of the leg “{name}”: choose the parent "
            "bone of the legs as Body, or decrease Chain Length",
            body=plan.rig.names[plan.body],
            name=name,
        )
    if plan.body >= 0 and plan.body not in above:
        raise ProblemError(
            "The leg “{name}” isn't parented to “{body}”: choose the parent bone of the legs as "
            "Body",
            name=name,
            body=plan.rig.names[plan.body],
        )
    return chain


def _item_of(plan: GaitPlan, leg: FabrikGaitLeg) -> int:
    """Return the index of a leg's constraint, even if it was renamed."""
    items = settings(plan.rig.object).constraints
    index = items.find(leg.constraint)
    if index < 0 and leg.key:
        index = next((i for i, item in enumerate(items) if item.key == leg.key), -1)
    if index < 0:
        raise ProblemError(
            "The leg's constraint “{constraint}” doesn't exist: choose another constraint, or "
            "remove the leg",
            constraint=leg.constraint,
        )
    write_later(leg, "constraint", items[index].name)
    write_later(leg, "key", items[index].key)
    return index


def _joints(plan: GaitPlan, chain: ChainPlan) -> list[Vec]:
    """Return a standing leg's joints, in armature space."""
    heads = [plan.head_at_rest(bone) for bone in chain.bones]
    if chain.tip_bone < 0:
        return [*heads, vector(plan.rig.rest(chain.bones[-1]).tail_local)]
    if chain.tip_bone in chain.bones:
        return heads
    return [*heads, plan.head_at_rest(chain.tip_bone)]


def _foot_axes(plan: GaitPlan, chain: ChainPlan) -> Mat3 | None:
    limb = chain.limb
    if not limb.is_oriented:
        return None
    return matrix3(plan.at_rest(limb.foot if limb.foot >= 0 else limb.bones[-1]))
