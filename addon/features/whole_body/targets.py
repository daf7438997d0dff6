"""Limbs posed by constraints, whose targets and poles move to produce a pose."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

import bpy
from mathutils import Vector

from fabrik_solver import Frame, inverse, point_in
from fabrik_solver.core.vectors import (
    IDENTITY,
    ORIGIN,
    QUAT_IDENTITY,
    Mat3,
    Quat,
    Vec,
    add,
    mat_apply,
    orthonormalize,
    quat_inverse,
    quat_of,
    quat_product,
    rotate,
    sub,
)

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.moving import (
    location_axes_world,
    owner_of,
    place_of,
    refuse_held,
    refuse_unmovable,
)
from ...blender.relations import active_constraints, node_at, node_of, parents, walk_dependencies
from ...blender.skeleton import Point, skeleton_of, vector
from ...body.chains import named_chain
from ...editing.constraints import is_on
from ...editing.lifting import lifts_of
from ...editing.posing import PosedRotation
from ...plan.planner import chains_in
from ...settings.properties import settings


class PosedChain(NamedTuple):
    """Bones posed by a constraint of this extension, or by Blender's IK.

    Attributes:
        bones: The bones, root first.
        tip_bone: The bone whose head is the tip; -1 for the last bone's tail.
        target: The target that the tip reaches for; None if it has none, or if the ground moves the
            tip.
        offset: The frame of the tip in the space of the target; None if the tip is at the target.
        lift: The goal's offset from the target, in world space.
        pole: The pole target, or None if there is none.
        is_oriented: Whether the last bone copies the target's rotation.
        influence: The influence of the constraint.
        weight: Its weight relative to others.
    """

    bones: list[int]
    tip_bone: int
    target: Point | None
    offset: Frame | None
    lift: Vec
    pole: Point | None
    is_oriented: bool
    influence: float
    weight: float


def posed_chains(depsgraph: bpy.types.Depsgraph, armature: bpy.types.Object) -> list[PosedChain]:
    """Return an armature's chains that constraints pose."""
    items = settings(armature).constraints
    chains: list[PosedChain] = []
    for chain in chains_in(armature):
        item = items[chain.item]
        if not is_on(chain) or chain.problem or item.state == "INVALID":
            continue
        source = chain.goal_source
        is_placed = chain.kind.places_tip and (source is None or not source.replaces_target)
        target = chain.target if is_placed else None
        chains.append(
            PosedChain(
                chain.bones,
                chain.tip_bone,
                target,
                chain.shown_offset(depsgraph),
                ORIGIN if target is None else lifts_of(depsgraph, chain)[0],
                None if item.use_pole_follow else chain.pole,  # It moves with the target.
                chain.has_hand,
                item.influence,
                item.weight,
            )
        )
    return [*chains, *_native_chains(armature)]


def _native_chains(armature: bpy.types.Object) -> Iterator[PosedChain]:
    """Yield the chains that Blender's IK poses."""
    rig = skeleton_of(armature)
    for bone in pose_bones(armature):
        for con in active_constraints(bone) if bone.constraints else ():
            if con.type != "IK":
                continue
            named = named_chain(con, bone)
            yield PosedChain(
                [rig.index[name] for name in named.bones],
                rig.index[named.tip] if named.tip else -1,
                _point(con.target, con.subtarget),
                None,
                ORIGIN,
                _point(con.pole_target, con.pole_subtarget),
                con.use_rotation,
                con.influence,
                con.weight,
            )


def _point(ob: bpy.types.Object | None, bone: str) -> Point | None:
    if ob is None:
        return None
    node = node_of(ob, bone)
    return Point(ob, skeleton_of(ob) if node[1] >= 0 else None, node[1])


class MovedControl:
    """A target or pole, an object or a bone, that moves with a body.

    Attributes:
        point: The object or bone.
        place: Its origin at the start of the drag, in world space.
        axes: Its axes at the start of the drag, in world space.
    """

    def __init__(self, depsgraph: bpy.types.Depsgraph, point: Point, turns: bool) -> None:
        """Read where the control is; ``turns`` is whether the control also rotates.

        Raises:
            ProblemError: If the control can't be moved.
        """
        refuse_unmovable(point, turns)
        refuse_held(point)
        self.point, self._turns = point, turns
        self._owner = owner_of(point)
        axes, self.place = place_of(depsgraph, point)
        self.axes = quat_of(orthonormalize(axes) or IDENTITY)
        try:
            self._to_location: Mat3 = inverse((location_axes_world(depsgraph, point), ORIGIN))[0]
        except ValueError:
            raise ProblemError(
                "“{owner}” or one of its parents has zero scale: change its scale",
                owner=self._owner.name,
            ) from None
        self._location = vector(self._owner.location)
        self._rotation = PosedRotation(self._owner)

    def move(self, offset: Vec, change: Quat = QUAT_IDENTITY) -> None:
        """Move the control in world space, from the start of the drag, and rotate it if allowed."""
        there = add(self._location, mat_apply(self._to_location, offset))
        locks = self._owner.lock_location
        values = zip(self._location, there, locks, strict=True)
        self._owner.location = [old if is_locked else new for old, new, is_locked in values]
        if self._turns:
            local_change = quat_product(quat_product(quat_inverse(self.axes), change), self.axes)
            self._rotation.write(quat_product(self._rotation.turn, local_change))

    def restore(self) -> None:
        """Move the control back."""
        self._owner.location = self._location
        self._rotation.restore()

    def channels(self) -> list[tuple[object, str]]:
        """Return the channels that change when the control moves."""
        names = ["location", *([self._rotation.channel] if self._turns else [])]
        return [(self._owner, name) for name in names]


class DrivenChain:
    """A chain that a constraint poses, whose target and pole move with the body.

    Attributes:
        chain: The bones and their constraint.
        target: Its target.
        pole: Its pole; None if it has none that moves.
        goal: The tip's goal from its target, in world space.
        aim: The same goal in armature space.
        tip: Its tip as shown at the start of the drag, in armature space.
        is_settled: Whether target and pole alone determine the pose of its bones.
    """

    def __init__(
        self,
        depsgraph: bpy.types.Depsgraph,
        shown: bpy.types.Object,
        chain: PosedChain,
        target: Point,
        pole: Point | None,
    ) -> None:
        """Read a chain.

        Raises:
            ProblemError: If its target can't be moved.
        """
        self.chain = chain
        self.target = MovedControl(depsgraph, target, chain.is_oriented)
        frame = place_of(depsgraph, target)
        origin = frame[1] if chain.offset is None else point_in(frame, chain.offset[1])
        self.goal = add(origin, chain.lift)
        self.aim = vector(shown.matrix_world.inverted_safe() @ Vector(self.goal))
        bones = pose_bones(shown)
        tip = bones[chain.bones[-1]].tail if chain.tip_bone < 0 else bones[chain.tip_bone].head
        self.tip = vector(tip)
        self.pole: MovedControl | None = None
        if pole is not None:
            with suppress(ProblemError):
                self.pole = MovedControl(depsgraph, pole, False)
        bending = len(chain.bones) - chain.is_oriented
        self.is_settled = bending == 2 and self.pole is not None and chain.influence == 1.0

    def move(self, tip: Vec, change: Quat) -> None:
        """Move the target so that the tip goes to a point in world space.

        Args:
            tip: The point.
            change: The rotation of the target since the start of the drag, in world space.
        """
        turned = change if self.chain.is_oriented else QUAT_IDENTITY
        lever = sub(self.target.place, self.goal)
        there = add(tip, rotate(turned, lever))
        self.target.move(sub(there, self.target.place), turned)

    def move_pole(self, origin: Vec, moved: Vec, change: Quat) -> None:
        """Move the pole with the limb's first bone.

        Args:
            origin: The head of the bone at the start of the drag, in world space.
            moved: Its current location, in world space.
            change: The rotation of the bone since the start of the drag, in world space.
        """
        if self.pole is not None:
            there = add(moved, rotate(change, sub(self.pole.place, origin)))
            self.pole.move(sub(there, self.pole.place))

    @property
    def controls(self) -> list[MovedControl]:
        """The target and the pole."""
        return [self.target, *([self.pole] if self.pole is not None else [])]


def driven_chains(
    depsgraph: bpy.types.Depsgraph,
    armature: bpy.types.Object,
    chains: Iterable[PosedChain],
    body: Collection[int],
) -> list[DrivenChain]:
    """Return the limbs whose targets can move with a body.

    Omits targets that are parented to the body or can't be moved.

    Args:
        depsgraph: The evaluated depsgraph.
        armature: The armature.
        chains: The constraints that pose its bones.
        body: The body's bones, with all their descendants.
    """
    shown = armature.evaluated_get(depsgraph)
    limbs: list[DrivenChain] = []
    for chain in chains:
        target, pole = chain.target, chain.pole
        if target is None or hangs_on(target, armature, body):
            continue
        if pole is not None and hangs_on(pole, armature, body):
            pole = None
        with suppress(ProblemError):
            limbs.append(DrivenChain(depsgraph, shown, chain, target, pole))
    return limbs


def hangs_on(point: Point, armature: bpy.types.Object, body: Collection[int]) -> bool:
    """Return whether a target or pole moves with a body."""
    dependencies = walk_dependencies([node_at(point)], parents)
    return any(ob == armature and bone in body for ob, bone in dependencies)
