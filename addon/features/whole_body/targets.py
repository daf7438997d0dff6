"""Limbs that constraints pose: their targets and poles move, so that they give the wanted pose."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

import bpy
from mathutils import Vector

from fabrik_solver import inverse, point_in
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
    quat_of,
    quat_product,
    rotate,
    sub,
)

from ...blender.errors import ProblemError
from ...blender.moving import location_axes_world, owner_of, place_of, refuse_unmovable
from ...blender.relations import node_at, parents, walk_dependencies
from ...blender.skeleton import Point, vector
from ...editing.constraints import is_on
from ...editing.lifting import lifts_of
from ...editing.posing import PosedRotation
from ...plan.chain_plan import ChainPlan
from ...plan.planner import chains_in
from ...settings.properties import settings


def posing_chains(armature: bpy.types.Object) -> list[ChainPlan]:
    """Return the constraints that pose bones of an armature."""
    items = settings(armature).constraints
    return [
        chain
        for chain in chains_in(armature)
        if is_on(chain) and not chain.problem and items[chain.item].state != "INVALID"
    ]


class MovedControl:
    """A target or pole, an object or a bone, that moves along with a body.

    Attributes:
        point: The object or bone.
        place: Its origin at the press, in world space.
        axes: Its axes at the press, in world space.
    """

    def __init__(self, depsgraph: bpy.types.Depsgraph, point: Point, turns: bool) -> None:
        """Read where it is.

        Args:
            depsgraph: The evaluated depsgraph.
            point: The object or bone.
            turns: Whether it rotates as well.

        Raises:
            ProblemError: If it cannot be moved.
        """
        refuse_unmovable(point, turns)
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

    def move(self, way: Vec, change: Quat = QUAT_IDENTITY) -> None:
        """Move it in world space since the press, and rotate it if it may."""
        there = add(self._location, mat_apply(self._to_location, way))
        locks = self._owner.lock_location
        values = zip(self._location, there, locks, strict=True)
        self._owner.location = [old if is_locked else new for old, new, is_locked in values]
        if self._turns:
            w, x, y, z = self.axes
            own = quat_product(quat_product((w, -x, -y, -z), change), self.axes)
            self._rotation.write(quat_product(self._rotation.turn, own))

    def restore(self) -> None:
        """Move it back."""
        self._owner.location = self._location
        self._rotation.restore()

    def channels(self) -> list[tuple[object, str]]:
        """Return the channels that moving it sets."""
        names = ["location", *([self._rotation.channel] if self._turns else [])]
        return [(self._owner, name) for name in names]


class DrivenLimb:
    """A chain that a constraint poses, whose target and pole move with the body.

    Attributes:
        chain: The constraint.
        tip: Its tip as shown at the press, in the space of the armature.
        aim: Where its target wants the tip, in the same space.
        is_oriented: Whether its last bone takes the rotation of the target.
        is_settled: Whether target and pole alone decide the pose of its bones.
    """

    def __init__(
        self, depsgraph: bpy.types.Depsgraph, chain: ChainPlan, target: Point, shown: bpy.types.Pose
    ) -> None:
        """Read a chain.

        Raises:
            ProblemError: If its target cannot be moved.
        """
        self.chain = chain
        self.is_oriented = chain.has_hand
        self.target = MovedControl(depsgraph, target, chain.has_hand)
        frame = place_of(depsgraph, target)
        place = frame[1] if chain.offset is None else point_in(frame, chain.offset[1])
        lifted = lifts_of(depsgraph, chain)[0]
        world = chain.rig.object.evaluated_get(depsgraph).matrix_world
        self.goal = add(place, lifted)
        self.aim = vector(world.inverted_safe() @ Vector(self.goal))
        self.tip = vector(chain.posed_tip(shown.bones))
        self.pole: MovedControl | None = None
        if chain.pole is not None:
            with suppress(ProblemError):
                self.pole = MovedControl(depsgraph, chain.pole, False)
        item = settings(chain.rig.object).constraints[chain.item]
        bending = len(chain.bones) - chain.has_hand
        self.is_settled = bending == 2 and self.pole is not None and item.influence == 1.0

    def move(self, tip: Vec, change: Quat) -> None:
        """Move the target so that its tip goes to a place in world space.

        Args:
            tip: The place.
            change: The rotation of the target since the press, in world space.
        """
        turned = change if self.is_oriented else QUAT_IDENTITY
        lever = sub(self.target.place, self.goal)
        there = add(tip, rotate(turned, lever))
        self.target.move(sub(there, self.target.place), turned)

    def move_pole(self, origin: Vec, moved: Vec, change: Quat) -> None:
        """Move the pole along with the first bone of the limb.

        Args:
            origin: The head of the bone at the press, in world space.
            moved: Where it is now.
            change: The rotation of the bone since the press, in world space.
        """
        if self.pole is not None:
            there = add(moved, rotate(change, sub(self.pole.place, origin)))
            self.pole.move(sub(there, self.pole.place))

    @property
    def controls(self) -> list[MovedControl]:
        """The target and the pole."""
        return [self.target, *([self.pole] if self.pole is not None else [])]


def driven_limbs(
    depsgraph: bpy.types.Depsgraph,
    armature: bpy.types.Object,
    chains: Collection[ChainPlan],
    body: Collection[int],
) -> list[DrivenLimb]:
    """Return the limbs whose targets can move along with a body.

    Those do not that hang on the body itself, are replaced by the ground, or cannot be moved.

    Args:
        depsgraph: The evaluated depsgraph.
        armature: The armature.
        chains: The constraints that pose bones of it.
        body: The bones of the body, with all below them.
    """
    shown = armature.evaluated_get(depsgraph).pose
    limbs: list[DrivenLimb] = []
    for chain in chains:
        target = chain.target
        source = chain.goal_source
        is_placed = chain.motion is None or chain.motion.places_tip
        if target is None or not is_placed or (source is not None and source.replaces_target):
            continue
        if shown is None or hangs_on(target, armature, body):
            continue
        try:
            limbs.append(DrivenLimb(depsgraph, chain, target, shown))
        except ProblemError:
            continue
    return limbs


def hangs_on(point: Point, armature: bpy.types.Object, body: Collection[int]) -> bool:
    """Return whether a target or pole goes along with a body."""
    found = walk_dependencies([node_at(point)], parents)
    return any(ob == armature and bone in body for ob, bone in found)
