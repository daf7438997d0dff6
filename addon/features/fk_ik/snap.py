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
"""The `bone_points` of several constraints."""


class SnapResult(NamedTuple):
    """The result of a snap.

    Attributes:
        difference: Largest distance between the two poses, in world space.
        problem: Why the poses differ and how to fix it; empty if they don't.
        left_out: Names of skipped constraints, which can't be snapped.
        reason: Why the first of them can't be snapped; empty if none are skipped.
        yielding: Names of constraints that ground contact or a walk gradually takes over.
        taken_over: The frame at which the ground or the walk has taken over.
    """

    difference: float
    problem: str
    left_out: Sequence[str] = ()
    reason: str = ""
    yielding: Sequence[str] = ()
    taken_over: float = 0.0


class UnsnappableError(ProblemError):
    """A problem of a single constraint, so that the others can still be snapped.

    Attributes:
        item: Index of the constraint.
    """

    def __init__(self, item: int, problem: ProblemError) -> None:
        super().__init__(str(problem))
        self.item = item


@contextmanager
def concerning(chain: ChainPlan) -> Iterator[None]:
    """Turn problems in the block into problems of a single constraint.

    Raises:
        UnsnappableError: If there is a problem.
    """
    try:
        yield
    except ProblemError as problem:
        raise UnsnappableError(chain.item, problem) from None


def snap_where_possible(
    snap: Callable[[bpy.types.Object, Sequence[int], Span], SnapResult],
    armature: bpy.types.Object,
    indices: Sequence[int],
    span: Span,
) -> SnapResult:
    """Snap constraints, skipping those that can't be snapped.

    Args:
        snap: Snaps constraints, or changes nothing and raises `ProblemError`.
        armature: The armature.
        indices: Indices of the constraints.
        span: The frames.

    Raises:
        ProblemError: If no constraint can be snapped, or for a reason that affects all of them;
            nothing is changed.
    """
    remaining, skipped, reason = list(indices), list[str](), ""
    while True:
        try:
            return snap(armature, remaining, span)._replace(left_out=skipped, reason=reason)
        except UnsnappableError as problem:
            if len(remaining) == 1:
                raise
            remaining.remove(problem.item)
            skipped.append(settings(armature).constraints[problem.item].name)
            reason = reason or str(problem)


def snappable_chains(
    armature: bpy.types.Object, indices: Sequence[int], span: Span
) -> list[ChainPlan]:
    """Return the plans of the constraints to snap.

    Raises:
        UnsnappableError: If a constraint is invalid, or can't be switched.
        ProblemError: If the armature can't be keyed.
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
    """Return the constraints layered on top of chains of the same armature.

    They act on top of either pose, so they are muted while the snapped pose is determined.
    """
    items = {chain.item for chain in chains}
    bones = {bone for chain in chains for bone in chain.bones}
    units = planner.current().units_of[chains[0].rig.uid]

    def has_own(candidates: Sequence[UnitPlan], shared: set[int]) -> bool:
        return any(items & set(unit.items) and shared & set(unit.bones) for unit in candidates)

    indices: list[int] = []
    for i, unit in enumerate(units):
        shared = bones & set(unit.bones)
        if items.isdisjoint(unit.items) and has_own(units[:i], shared):
            indices += () if has_own(units[i + 1 :], shared) else unit.items
    return indices


def others_on(chain: ChainPlan, indices: Collection[int]) -> list[str]:
    """Return the names of other active constraints that pose a chain's bones."""
    bones = set(chain.bones)
    return [
        other.name
        for other in chains_in(chain.rig.object)
        if other.item not in indices and bones & set(other.bones) and is_on(other)
    ]


def are_layered(chains: Sequence[ChainPlan], switches: bool) -> bool:
    """Return whether active constraints earlier in the stack also pose bones of the chains.

    Args:
        chains: Constraints of the same armature.
        switches: Whether the constraints that `sharing` returns are also switched.
    """
    ignored = {*on_top(chains), *(chain.item for chain in chains)}
    ignored |= {chain.item for chain in sharing(chains)} if switches else set()
    return any(others_on(chain, ignored) for chain in chains)


def sharing(chains: Sequence[ChainPlan]) -> list[ChainPlan]:
    """Return the other active constraints that are solved together with those of the chains.

    All of them are solved from the FK pose of all their bones. If some are switched, the FK pose
    must equal the shown pose. Otherwise the constraints that aren't switched would find a different
    solution.
    """
    items = {chain.item for chain in chains}
    units = planner.current().units_of[chains[0].rig.uid]
    groups = [unit.members for unit in units if not items.isdisjoint(unit.items)]
    return [c for members in groups for c in members if c.item not in items and is_on(c)]


def fk_key_frames(armature: bpy.types.Object, indices: Collection[int]) -> set[float]:
    """Return the frames where the bones of constraints have keys."""
    chains = [chain for chain in chains_in(armature) if chain.item in indices]
    bones = pose_bones(armature)
    return {
        frame for bone, name in posed_channels(chains) for frame in key_frames(bones[bone], [name])
    }


def ik_key_frames(armature: bpy.types.Object, indices: Collection[int]) -> set[float]:
    """Return the frames where the targets and poles of constraints have keys."""
    return {
        frame
        for chain in chains_in(armature)
        if chain.item in indices
        for point in (chain.target, chain.pole, *chain.controls)
        if point is not None
        for frame in key_frames(owner_of(point), channels_of(point, turns=True))
    }


def pose_points(depsgraph: bpy.types.Depsgraph, chains: Sequence[ChainPlan]) -> PosePoints:
    """Return the `bone_points` of the evaluated constraints."""
    return [bone_points(depsgraph, chain.rig, chain.posed) for chain in chains]


def bone_points(depsgraph: bpy.types.Depsgraph, rig: Skeleton, bones: Sequence[int]) -> list[Vec]:
    """Return three points of each evaluated bone in world space, to compare transforms.

    They are its head, its tail, and a point a bone length from the head along its X axis.
    """
    armature = rig.object.evaluated_get(depsgraph)
    shown = Evaluated(armature)
    world = matrix_frame(armature.matrix_world)
    points: list[Vec] = []
    for bone in bones:
        frame, length = frame_in(world, shown.frame(bone)), rig.bone(bone).length
        points += [point_in(frame, p) for p in (ORIGIN, (0.0, length, 0.0), (length, 0.0, 0.0))]
    return points


def farthest(a: Sequence[Vec], b: Sequence[Vec]) -> float:
    """Return the largest distance between corresponding points of two poses."""
    return max((dist(p, q) for p, q in zip(a, b, strict=True)), default=0.0)


def bones_length(points: Sequence[Vec]) -> float:
    """Return the total length of bones from their `bone_points`."""
    return sum(dist(points[i], points[i + 1]) for i in range(0, len(points), 3))


@contextmanager
def restored_frame(span: Span) -> Iterator[None]:
    """Return to the current frame after the block if other frames are visited."""
    frame = cast(bpy.types.Scene, bpy.context.scene).frame_current_final
    try:
        yield
    finally:
        if span.is_range:
            go_to(frame)
        updated()


@contextmanager
def keeping_unkeyed(objects: Iterable[bpy.types.Object], span: Span) -> Iterator[None]:
    """Keep unkeyed changes of objects when keys are inserted at the current frame.

    When an object's F-curves change, Blender resets all its animated channels to their keyed
    values. In a range they are reset anyway, because the frame changes.
    """
    if not span.is_keyed or span.is_range:
        yield
        return
    owners = list({ob.session_uid: ob for ob in objects}.values())
    updated()
    yield
    saved_values = [(ob, animated_values.values(ob)) for ob in owners]
    updated()
    for ob, values in saved_values:
        animated_values.restore(ob, values)
    updated()


def compared(
    chains: Sequence[ChainPlan],
    span: Span,
    expected: Sequence[PosePoints],
    explain: Callable[[ChainPlan, bool], str],
) -> tuple[float, str]:
    """Play the frames, and return the largest difference, with its reason if it exceeds `NEAR`.

    Args:
        chains: The chains to compare.
        span: The frames.
        expected: The expected pose of each frame.
        explain: Called with a chain that differs at the current frame, and whether rounding can
            explain it; returns the reason.
    """
    largest, worst_relative, problem = 0.0, NEAR, ""
    for depsgraph, expected_points in zip(span.visit(), expected, strict=True):
        for chain, points, shown in zip(
            chains, expected_points, pose_points(depsgraph, chains), strict=True
        ):
            difference, chain_length = farthest(points, shown), bones_length(points)
            largest = max(largest, difference)
            if difference > worst_relative * chain_length:
                is_rounded = difference <= _rounding(depsgraph, chain, points)
                worst_relative = difference / chain_length
                problem = msg("“{chain}”: {why}", chain=chain.name, why=explain(chain, is_rounded))
    return largest, problem


def _rounding(depsgraph: bpy.types.Depsgraph, chain: ChainPlan, points: Sequence[Vec]) -> float:
    """Return the error of a constraint's joints that rounding alone may cause."""
    ends = (Point(chain.rig.object, chain.rig, chain.bones[-1]), chain.target, chain.pole)
    joints = [*points[::3], points[-2]]
    return chain_rounding(depsgraph, [end for end in ends if end], joints, chain.has_hand)
