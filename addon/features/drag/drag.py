"""Dragging a bone moves the target of its chain, or poses the chain in FK.

This works without a window. Cancelling a drag restores all values exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import dist

import bpy

from ...blender.errors import ProblemError
from ...blender.messages import msg, recalled
from ...blender.moving import refuse_held
from ...blender.refusals import linked_problem, rest_problem
from ...blender.skeleton import Point, Skeleton, skeleton_of
from ...body.looking import body_of
from ...editing.constraints import is_on
from ...editing.placed import walk_problem
from ...plan import planner
from ...plan.chain_plan import ChainPlan
from ...plan.planner import chains_in
from ...settings.properties import settings
from .chain import ChainDrag
from .mirrored import MirroredDrag, OtherSide, flipped, other_side
from .protocol import Drag
from .target import TargetDrag

WAYS: list[Callable[[bpy.types.Object, str, bool, OtherSide | None], Drag | None]] = []
"""Other kinds of drag that features add. Each returns None to pass a bone on to the next.

Their last two arguments: whether the user requested the whole body, and the other side."""

WHY_SHORT = {
    "OUT_OF_REACH": msg("out of reach"),
    "LIMITED": msg("joint limits hold it back"),
}
"""Why a tip didn't follow the mouse, by state."""


def shortfall(dragged: Drag) -> tuple[float, str]:
    """Return how far the tip has moved, in meters, and why it moved less than it was dragged.

    The reason is empty if the tip followed.
    """
    return dist(dragged.tip_start, dragged.tip()), WHY_SHORT.get(dragged.state, "")


def begin(
    armature: bpy.types.Object,
    bone: str,
    selected: Collection[str] = (),
    as_fk: bool = False,
    whole_body: bool = False,
) -> Drag:
    """Start dragging a bone.

    If an active constraint poses the bone, or has it as the hand at its tip, the constraint's
    target moves. Among several such constraints, the one with the nearest tip is used, preferably
    the active one. A bone that is itself a target or pole moves alone. Otherwise the bone's parents
    follow in FK, up to the topmost selected bone. If none is selected, they follow up to the first
    bone that is constrained, a target, or a pole. With Blender's X-Axis Mirror, the bone on the
    other side is dragged as well.

    Args:
        armature: The armature object, in Pose Mode.
        bone: The bone.
        selected: The selected bones of the armature.
        as_fk: Whether to pose a hand at the tip of a chain in FK instead.
        whole_body: Whether the whole body follows, where it can.

    Raises:
        ProblemError: If the bone can't be dragged.
    """
    if problem := linked_problem(armature) or rest_problem(armature):
        raise ProblemError(problem)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    planner.discard_if_outdated()
    bone_drag = _Dragged(depsgraph, armature, bone, as_fk)
    side = other_side(armature, bone)
    for kind in WAYS if bone_drag.has_body else ():
        dragged = kind(armature, bone, whole_body, side)
        if dragged is not None:
            return dragged
    first = bone_drag.alone(selected, side is not None)
    if side is None:
        return first
    try:
        other_bone = _Dragged(depsgraph, armature, side.bone, as_fk)
        second = other_bone.alone([flipped(armature, name) for name in selected], True)
    except ProblemError as problem:
        return MirroredDrag(armature, first, None, side, str(problem))
    if isinstance(first, TargetDrag) and first.moves_same(second):
        return first
    return MirroredDrag(armature, first, second, side)


class _Dragged:
    """A bone to drag, with the constraint that poses it.

    Attributes:
        has_body: Whether the whole body may follow it. It can't follow a pole, or a target that
            only other armatures reach for.
    """

    def __init__(
        self, depsgraph: bpy.types.Depsgraph, armature: bpy.types.Object, bone: str, as_fk: bool
    ) -> None:
        """Find the constraint.

        Raises:
            ProblemError: If the bone doesn't exist, or is held.
        """
        self._depsgraph, self._armature, self._bone = depsgraph, armature, bone
        rig = skeleton_of(armature)
        if bone not in rig.index:
            raise ProblemError(
                "“{object}” has no bone “{name}”: choose another bone",
                name=bone,
                object=armature.name,
            )
        index = rig.index[bone]
        refuse_held(Point(armature, rig, index))
        self._chains = [chain for chain in chains_in(armature) if is_on(chain)]
        chain = _posing(self._chains, index)
        if chain is None and not as_fk:
            chain = _carrying(self._chains, index)
        self._chain = chain
        controls = {} if chain is not None else _controls(rig, rig.chain_up(index))
        self._controls = controls.keys()
        self._is_control = not as_fk and index in controls
        follower = self._follower = controls.get(index)
        is_of_body = follower is not None and follower.rig.uid == rig.uid
        self.has_body = not as_fk and (is_of_body or not self._is_control)
        moved = chain or follower
        if moved is not None and (problem := walk_problem(moved)):
            raise ProblemError(problem)
        # It is the tip of the chain, or its hand or foot.
        if chain is not None and chain.target is not None and index not in chain.bones[:-1]:
            refuse_held(chain.target)

    def alone(self, selected: Collection[str], is_sided: bool) -> Drag:
        """Start dragging the bone without the whole body.

        Args:
            selected: The selected bones of the armature.
            is_sided: Whether bones in the middle stay, because they belong to both sides.

        Raises:
            ProblemError: If the bone can't be dragged.
        """
        rig, chain = skeleton_of(self._armature), self._chain
        if self._is_control:
            point = Point(self._armature, rig, rig.index[self._bone])
            return TargetDrag(self._depsgraph, self._follower, point)
        if chain is None:
            posed = {i for other in self._chains if not _problem(other) for i in other.bones}
            posed |= self._controls
            bones = _free_chain(rig, self._bone, posed, selected)
            if is_sided:
                middle = [bone for bone in bones if not flipped(self._armature, rig.names[bone])]
                bones = bones[bones.index(middle[-1]) + 1 :] if middle else bones
            return ChainDrag(self._depsgraph, self._armature, bones)
        problem = _problem(chain)
        if problem or chain.target is None:
            raise ProblemError(
                problem
                or msg("“{chain}” has no target to drag: drag another bone", chain=chain.name)
            )
        return TargetDrag(self._depsgraph, chain, chain.target)


def _problem(chain: ChainPlan) -> str:
    """Return why an active constraint doesn't pose its chain; empty if it does."""
    item = settings(chain.rig.object).constraints[chain.item]
    return chain.problem or (recalled(item.message) if item.state == "INVALID" else "")


def _controls(rig: Skeleton, bones: Collection[int]) -> dict[int, ChainPlan | None]:
    """Return the bones that are moved as targets or poles, not as joints of a body.

    Each has the first working constraint that targets it, or None if there is none.
    """
    controls: dict[int, ChainPlan | None] = {}
    for chain in planner.current().chains:
        for point in filter(None, (chain.target, chain.pole)):
            if point.uid == rig.uid and point.bone in bones:
                follows = point is chain.target and is_on(chain) and not _problem(chain)
                controls[point.bone] = controls.get(point.bone) or (chain if follows else None)
    return {bone: chain for bone, chain in controls.items() if not _is_joint(rig, bone)}


def _is_joint(rig: Skeleton, bone: int) -> bool:
    """Return whether a bone stays attached to its parent, so that dragging it pulls the parent."""
    parent, name = rig.parents[bone], rig.names[bone]
    if parent < 0 or bone in rig.connected:
        return parent >= 0
    return body_of(rig.object, name).joined(rig.names[parent], name)


def _posing(chains: list[ChainPlan], bone: int) -> ChainPlan | None:
    """Return the constraint to drag a bone with; None if no constraint poses it."""
    posing = [chain for chain in chains if bone in (*chain.bones, chain.tip_bone)]
    if not posing:
        return None
    active = settings(posing[0].rig.object).active_index
    return min(
        posing,
        key=lambda chain: (
            not chain.kind.needs_target,
            _bones_to_tip(chain, bone),
            chain.item != active,
        ),
    )


def _carrying(chains: list[ChainPlan], bone: int) -> ChainPlan | None:
    """Return the constraint that carries a bone as its hand or foot; None if there is none.

    The hand is the child whose head is closest to the tip. Fingers are posed in FK, because the
    constraint orients their hand.
    """
    for chain in chains:
        if chain.has_hand or chain.tip_bone >= 0 or not chain.kind.places_tip or not chain.bones:
            continue
        rig, last = chain.rig, chain.bones[-1]
        end = (0.0, rig.bone(last).length, 0.0)
        nearest = min(rig.children[last], key=lambda i: dist(rig.bone(i).head, end), default=-1)
        if bone == nearest:
            return chain
    return None


def _bones_to_tip(chain: ChainPlan, bone: int) -> int:
    """Return the number of bones from a bone to the tip of a chain."""
    bones = chain.bones if chain.tip_bone in (-1, *chain.bones) else [*chain.bones, chain.tip_bone]
    return len(bones) - bones.index(bone)


def _free_chain(
    rig: Skeleton, bone: str, posed: Collection[int], selected: Collection[str]
) -> list[int]:
    """Return the bones to pose in FK when a bone is dragged, root first.

    Args:
        rig: The skeleton.
        bone: The dragged bone.
        posed: The bones at which the chain ends, because constraints pose them.
        selected: The selected bones, the topmost of which is the first of the chain.
    """
    path = rig.chain_up(rig.index[bone])
    start = max((index + 1 for index, i in enumerate(path) if i in posed), default=0)
    start = min(start, len(path) - 1)  # A target in FK.
    above = [index for index in range(start, len(path) - 1) if rig.names[path[index]] in selected]
    return path[min(above, default=start) :]
