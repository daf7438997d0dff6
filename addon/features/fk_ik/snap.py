"""Shared by both snap directions: selecting constraints and comparing poses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import dist
from typing import NamedTuple, cast

import bpy

from fabrik_solver import frame_in, point_in
from fabrik_solver.core.vectors import ORIGIN, Vec

from ...blender import animated_values
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.keying import key_frames
from ...blender.messages import msg
from ...blender.moving import channels_of, owner_of
from ...blender.precision import chain_rounding
from ...blender.refusals import refuse_unkeyable
from ...blender.skeleton import Point, Skeleton, matrix_frame
from ...editing.constraints import is_on
from ...editing.playing import go_to, updated
from ...frame.armature import Evaluated
from ...plan import planner
from ...plan.chain_plan import ChainPlan, UnitPlan
from ...plan.planner import chains_in
from ...settings.properties import settings
from .applying import posed_channels
from .span import Span, refuse_unswitchable

NEAR = 1e-4
"""Maximum difference of equal poses, as a fraction of the chain length."""

ROUNDED = msg(
    "This is the limit of single precision: move the chain and its targets closer to the origin, "
    "or bend it more"
)

PosePoints = list[list[Vec]]
"""The `bone_points` of each of some constraints."""


class SnapResult(NamedTuple):
    """The result of a snap.

    Attributes:
        difference: Largest distance between the two poses, in world space.
        problem: Why they differ and how to fix it; empty if they do not.
        left_out: Names of the constraints that could not be snapped.
        reason: Why the first one of these could not; empty if there is none.
        yielding: Names of those that something else places elsewhere, and takes over gradually.
        taken_over: The frame at which it has.
    """

    difference: float
    problem: str
    left_out: Sequence[str] = ()
    reason: str = ""
    yielding: Sequence[str] = ()
    taken_over: float = 0.0


class UnsnappableError(ProblemError):
    """A constraint cannot be snapped, which others do not depend on.

    Attributes:
        item: Its index.
    """

    def __init__(self, item: int, problem: ProblemError) -> None:
        """Make the error from the reason."""
        super().__init__(str(problem))
        self.item = item


@contextmanager
def concerning(chain: ChainPlan) -> Iterator[None]:
    """Let problems in the block concern one constraint only.

    Raises:
        UnsnappableError: If there is one.
    """
    try:
        yield
    except ProblemError as problem:
        raise UnsnappableError(chain.item, problem) from None


def snap_possible(
    snap: Callable[[bpy.types.Object, Sequence[int], Span], SnapResult],
    armature: bpy.types.Object,
    indices: Sequence[int],
    span: Span,
) -> SnapResult:
    """Snap those of some constraints that can be snapped.

    Args:
        snap: Snaps constraints, or changes nothing and raises `ProblemError`.
        armature: The armature.
        indices: Indices of the constraints.
        span: The frames.

    Raises:
        ProblemError: If none can be snapped, or for reasons that concern all of them; nothing has
            changed then.
    """
    left, names, reason = list(indices), list[str](), ""
    while True:
        try:
            return snap(armature, left, span)._replace(left_out=names, reason=reason)
        except UnsnappableError as problem:
            if len(left) == 1:
                raise
            left.remove(problem.item)
            names.append(settings(armature).constraints[problem.item].name)
            reason = reason or str(problem)


def snappable_chains(
    armature: bpy.types.Object, indices: Sequence[int], span: Span
) -> list[ChainPlan]:
    """Return the plans of the constraints to snap.

    Raises:
        UnsnappableError: If one of them is invalid, or cannot be switched.
        ProblemError: If the armature cannot be keyed.
    """
    chains = [chain for chain in chains_in(armature) if chain.item in indices]
    for chain in chains:
        with concerning(chain):
            if chain.problem:
                raise ProblemError(
                    "“{chain}” can't be solved: {problem}",
                    chain=chain.name,
                    problem=chain.problem,
                )
            if span.switches:
                refuse_unswitchable(armature, chain.item)
    if span.switches:
        refuse_unkeyable(armature)
    return chains


def on_top(chains: Sequence[ChainPlan]) -> list[int]:
    """Return the constraints that are layers on top of some chains of one armature.

    They apply to the snapped pose in the same way, so they are muted while it is determined.
    """
    items = {chain.item for chain in chains}
    bones = {bone for chain in chains for bone in chain.bones}
    units = planner.current().units_of[chains[0].rig.uid]

    def has_own(among: Sequence[UnitPlan], shared: set[int]) -> bool:
        return any(items & set(unit.items) and shared & set(unit.bones) for unit in among)

    indices: list[int] = []
    for i, unit in enumerate(units):
        shared = bones & set(unit.bones)
        if items.isdisjoint(unit.items) and has_own(units[:i], shared):
            indices += () if has_own(units[i + 1 :], shared) else unit.items
    return indices


def others_on(chain: ChainPlan, indices: Collection[int]) -> list[str]:
    """Return the names of other active constraints that pose bones of a chain."""
    bones = set(chain.bones)
    return [
        other.name
        for other in chains_in(chain.rig.object)
        if other.item not in indices and bones & set(other.bones) and is_on(other)
    ]


def are_layered(chains: Sequence[ChainPlan], switches: bool) -> bool:
    """Return whether active constraints before some of one armature pose bones of these as well.

    Args:
        chains: The constraints.
        switches: Whether what `sharing` returns is switched along.
    """
    apart = {*on_top(chains), *(chain.item for chain in chains)}
    apart |= {chain.item for chain in sharing(chains)} if switches else set()
    return any(others_on(chain, apart) for chain in chains)


def sharing(chains: Sequence[ChainPlan]) -> list[ChainPlan]:
    """Return the other active constraints that are solved together with some of one armature.

    They are solved from the FK pose of all their bones, so where some are switched that has to be
    what is shown: else they would find another solution without these.
    """
    items = {chain.item for chain in chains}
    units = planner.current().units_of[chains[0].rig.uid]
    together = [unit.members for unit in units if not items.isdisjoint(unit.items)]
    return [one for members in together for one in members if one.item not in items and is_on(one)]


def fk_key_frames(armature: bpy.types.Object, indices: Collection[int]) -> set[float]:
    """Return the frames at which the bones of constraints are keyed."""
    chains = [chain for chain in chains_in(armature) if chain.item in indices]
    bones = pose_bones(armature)
    return {
        frame for bone, name in posed_channels(chains) for frame in key_frames(bones[bone], [name])
    }


def ik_key_frames(armature: bpy.types.Object, indices: Collection[int]) -> set[float]:
    """Return the frames at which the targets and poles of constraints are keyed."""
    return {
        frame
        for chain in chains_in(armature)
        if chain.item in indices
        for point in (chain.target, chain.pole)
        if point is not None
        for frame in key_frames(owner_of(point), channels_of(point, turns=True))
    }


def pose_points(depsgraph: bpy.types.Depsgraph, chains: Sequence[ChainPlan]) -> PosePoints:
    """Return the points of the evaluated bones of constraints."""
    return [bone_points(depsgraph, chain.rig, chain.bones) for chain in chains]


def bone_points(depsgraph: bpy.types.Depsgraph, rig: Skeleton, bones: Sequence[int]) -> list[Vec]:
    """Return three points of each evaluated bone in world space, which define its transform.

    They are its head, its tail, and a point at the same distance from the head along its X axis.
    """
    armature = rig.object.evaluated_get(depsgraph)
    shown = Evaluated(armature)
    world = matrix_frame(armature.matrix_world)
    points: list[Vec] = []
    for bone in bones:
        frame, length = frame_in(world, shown.frame(bone)), rig.bone(bone).length
        points += [point_in(frame, at) for at in (ORIGIN, (0.0, length, 0.0), (length, 0.0, 0.0))]
    return points


def farthest(a: Sequence[Vec], b: Sequence[Vec]) -> float:
    """Return the largest distance between corresponding points of two poses."""
    return max((dist(p, q) for p, q in zip(a, b, strict=True)), default=0.0)


def bones_length(points: Sequence[Vec]) -> float:
    """Return the total length of bones, given their `bone_points`."""
    return sum(dist(points[i], points[i + 1]) for i in range(0, len(points), 3))


@contextmanager
def restored_frame(span: Span) -> Iterator[None]:
    """Return to the current frame after the block, if other frames are visited."""
    frame = cast(bpy.types.Scene, bpy.context.scene).frame_current_final
    try:
        yield
    finally:
        if span.is_range:
            go_to(frame)
        updated()


@contextmanager
def keeping_unkeyed(objects: Iterable[bpy.types.Object], span: Span) -> Iterator[None]:
    """Keep unkeyed changes of objects that get keys at the current frame.

    When F-curves of an object change, Blender resets all its animated channels to their keyed
    values. In a range they are reset anyway, because the frame changes.
    """
    if not span.is_keyed or span.is_range:
        yield
        return
    owners = list({ob.session_uid: ob for ob in objects}.values())
    updated()
    yield
    kept = [(ob, animated_values.values(ob)) for ob in owners]
    updated()
    for ob, values in kept:
        animated_values.restore(ob, values)
    updated()


def compared(
    chains: Sequence[ChainPlan],
    span: Span,
    expected: Sequence[PosePoints],
    why: Callable[[ChainPlan, bool], str],
) -> tuple[float, str]:
    """Play the frames, and return the largest difference, and its reason if it exceeds `NEAR`.

    Args:
        chains: The chains to compare.
        span: The frames.
        expected: The expected pose of each frame.
        why: Returns the reason of a difference of a constraint at the current frame, given whether
            rounding can explain it.
    """
    largest, worst, problem = 0.0, NEAR, ""
    for depsgraph, should in zip(span.visit(), expected, strict=True):
        for chain, points, shown in zip(
            chains, should, pose_points(depsgraph, chains), strict=True
        ):
            difference, size = farthest(points, shown), bones_length(points)
            largest = max(largest, difference)
            if difference > worst * size:
                is_rounded = difference <= _rounding(depsgraph, chain, points)
                worst = difference / size
                problem = msg("“{chain}”: {why}", chain=chain.name, why=why(chain, is_rounded))
    return largest, problem


def _rounding(depsgraph: bpy.types.Depsgraph, chain: ChainPlan, points: Sequence[Vec]) -> float:
    """Return the possible error of a constraint's joints by rounding alone."""
    ends = (Point(chain.rig.object, chain.rig, chain.bones[-1]), chain.target, chain.pole)
    joints = [*points[::3], points[-2]]
    return chain_rounding(depsgraph, [end for end in ends if end], joints, chain.has_hand)
