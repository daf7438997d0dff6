"""Bones that follow something solved through Blender's own constraints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple, cast

import bpy

from fabrik_solver import Local
from fabrik_solver.core.constraints import (
    BoneConstraint,
    BoneOf,
    Bulge,
    ConstrainedFrame,
    Constraint,
    CopyLocation,
    CopyRotation,
    CopyScale,
    CopyTransforms,
    DampedTrack,
    Flags,
    FollowingBone,
    LimitDistance,
    LimitLocation,
    LimitRotation,
    LimitScale,
    Order,
    Range,
    StretchTo,
)
from fabrik_solver.core.deformation import Armature, DeformBone, Envelope
from fabrik_solver.core.vectors import Vec

from ..blender.axes import AXES
from ..blender.relations import (
    LIMITS,
    active_constraints,
    constraint_point,
    is_predictable,
    space_point,
    target_point,
)
from ..blender.rotation import EULER_AXES, EULER_ORDERS, KIND_OF
from ..blender.skeleton import Point, Skeleton, vector

COPY_ROTATION = "COPY_ROTATION"
"""The constraint type that leaves the head alone: if unpredictable, Blender's axes are used."""

MODE = "rotation_mode"


class Step(NamedTuple):
    """A native constraint of a bone that follows something solved.

    Attributes:
        constraint: The constraint; None if it is unpredictable, so that Blender's axes are used.
        owner_space: The owner space.
        target: Its target; None without one.
        target_space: The target space.
        moving: The target bones of an Armature constraint.
        influence: Its influence.
        along: How far along its target it aims, from the head at 0 to the tail at 1.
        custom: The object or bone of its custom space.
    """

    constraint: Constraint | None
    owner_space: str = "WORLD"
    target: Point | None = None
    target_space: str = "WORLD"
    moving: Sequence[Point] = ()
    influence: float = 1.0
    along: float = 0.0
    custom: Point | None = None


class Follower(NamedTuple):
    """A bone that follows something solved.

    Attributes:
        steps: Its constraints, in order.
        is_shown: Whether they act on the pose that Blender shows, and not on its channels.
        local: Its local channels; None if they may change between frames.
    """

    steps: Sequence[Step]
    is_shown: bool
    local: Local | None = None


class Followers:
    """The bones of an armature that follow something solved, cached between updates.

    During playback, only their animated properties are read again. While bones are posed, only
    their channels are.

    Attributes:
        bones: By index, those whose frames depend only on other bones of the armature.
        last: By index, frames of these (see `ConstrainedPose`).
    """

    def __init__(
        self, rig: Skeleton, animated: Mapping[int, Sequence[str]], is_posed: bool
    ) -> None:
        """Start without any.

        Args:
            rig: The armature.
            animated: By bone, the paths of its animated properties, relative to the bone.
            is_posed: Whether all channels and rotation modes may change, but no settings.
        """
        self.bones: dict[int, FollowingBone] = {}
        self.last: dict[int, ConstrainedFrame] = {}
        self._is_posed = is_posed
        self._rig = rig
        self._known: dict[int, Follower] = {}
        self._values: dict[int, list[object]] = {}
        self._moving: set[int] = set()
        self._switched: dict[int, list[str]] = {}
        for bone, paths in animated.items():
            if any([path in KIND_OF or path == MODE for path in paths]):
                self._moving.add(bone)
            switched = [path for path in paths if path.startswith("constraints[") or path == MODE]
            if switched:
                self._switched[bone] = switched

    def refresh(self, owner_of: Callable[[int], Any], local_of: Callable[[int], Local]) -> None:
        """Forget bones whose constraints animation changed, and read the channels of posed ones.

        Args:
            owner_of: Returns an evaluated bone.
            local_of: Returns its channels.
        """
        for bone in self._known if self._is_posed else ():
            follower, following = self._known[bone], self.bones.get(bone)
            local = local_of(bone)
            if follower.local is None or local.is_same(follower.local):
                continue
            self._known[bone] = follower._replace(local=local)
            if following is not None:
                self.bones[bone] = FollowingBone(following.own, local, following.constraints)
        for bone, old_values in [*self._values.items()]:
            if self._values_of(bone, owner_of(bone)) != old_values:
                del self._values[bone], self._known[bone]
                self.bones.pop(bone, None)

    def find(
        self,
        bone: int,
        owner_of: Callable[[int], Any],
        local_of: Callable[[int], Local],
        is_pulled: bool,
    ) -> Follower:
        """Return a bone.

        Args:
            bone: Its index.
            owner_of: Returns the evaluated bone.
            local_of: Returns its channels.
            is_pulled: Whether native IK poses it together with solved bones.
        """
        cached = self._known.get(bone)
        if cached is not None:
            return cached
        owner = owner_of(bone)
        follower = follower_of(owner, is_pulled)
        if self._is_posed and follower.steps:
            self._switched[bone] = [MODE]  # The default of the order of Euler angles.
        if bone in self._switched:
            self._values[bone] = self._values_of(bone, owner)
        if not (follower.is_shown or bone in self._moving):
            follower = follower._replace(local=local_of(bone))
            self._add(bone, follower)
        self._known[bone] = follower
        return follower

    def _values_of(self, bone: int, owner: Any) -> list[object]:
        return [value_at(owner, path) for path in self._switched[bone]]

    def _add(self, bone: int, follower: Follower) -> None:
        """Add a bone to `bones`, if its frame depends only on other bones of the armature."""
        constraints: list[BoneConstraint] = []
        for con, space, target, target_space, moving, influence, along, custom in follower.steps:
            is_inside = target is None or (target.bone >= 0 and target.uid == self._rig.uid)
            if con is None or moving or custom is not None or not is_inside:
                return
            bone_of = None if target is None else self._bone_of(target.bone)
            constraints.append(BoneConstraint(con, space, bone_of, target_space, influence, along))
        if follower.local is not None:
            self.bones[bone] = FollowingBone(self._bone_of(bone), follower.local, constraints)

    def _bone_of(self, bone: int) -> BoneOf:
        rig = self._rig
        return BoneOf(bone, rig.bone(bone), rig.rest_frame(bone), rig.parents[bone])


def value_at(owner: Any, path: str) -> object:
    """Return a property in a comparable form; None if it doesn't exist."""
    try:
        value = owner.path_resolve(path)
    except ValueError:  # Animation of a removed constraint remains.
        return None
    return value if isinstance(value, str | float | int) else tuple(value)


def follower_of(owner: Any, is_pulled: bool) -> Follower:
    """Return the constraints that act on an evaluated bone.

    Args:
        owner: The bone.
        is_pulled: Whether native IK poses it together with solved bones.
    """
    constraints = active_constraints(owner)
    if is_pulled:  # Blender applies native IK to the solution.
        constraints = [con for con in constraints if con.type != "IK"]
    predictable = [is_predictable(con, True) for con in constraints]
    # Blender's pose already includes everything up to the last unpredictable constraint.
    last = -1
    for i, con in enumerate(constraints):
        if not predictable[i] and con.type != COPY_ROTATION:
            last = i
    steps: list[Step] = []
    for con, is_known_ahead in zip(constraints[last + 1 :], predictable[last + 1 :], strict=True):
        if not is_known_ahead:
            steps.append(Step(None))
            continue
        if con.type == "ARMATURE":
            armature, moving = read_armature(con, owner)
            steps.append(Step(armature, con.owner_space, moving=moving, influence=con.influence))
            continue
        point, has_target = constraint_point(con), con.type not in LIMITS
        if point is not None or not has_target:  # Without a target it has no effect.
            space = con.target_space if has_target else "WORLD"
            read, influence = read_constraint(con, owner), con.influence
            along, custom = getattr(con, "head_tail", 0.0), space_point(con)
            steps.append(Step(read, con.owner_space, point, space, (), influence, along, custom))
    return Follower(steps, last >= 0)


def read_constraint(con: Any, owner: Any) -> Constraint:
    """Return a native constraint that `is_predictable` and isn't a Child Of or Armature.

    Args:
        con: The constraint.
        owner: The bone or object that has it.
    """
    return READERS[con.type](con, owner)


def _copy_location(con: Any, _owner: Any) -> Constraint:
    return CopyLocation(_used(con), _signs(con), con.use_offset)


def _copy_rotation(con: Any, owner: Any) -> Constraint:
    return CopyRotation(_used(con), _signs(con), con.mix_mode, _order(con, owner))


def _copy_scale(con: Any, _owner: Any) -> Constraint:
    return CopyScale(_used(con), con.power, con.use_make_uniform, con.use_offset, con.use_add)


def _copy_transforms(con: Any, _owner: Any) -> Constraint:
    return CopyTransforms(con.remove_target_shear)


def _damped_track(con: Any, _owner: Any) -> Constraint:
    return DampedTrack(AXES[con.track_axis.removeprefix("TRACK_")])


def _limit_distance(con: Any, _owner: Any) -> Constraint:
    return LimitDistance(
        con.distance,
        con.limit_mode != "LIMITDIST_OUTSIDE",
        con.limit_mode != "LIMITDIST_INSIDE",
    )


def _limit_location(con: Any, _owner: Any) -> Constraint:
    return LimitLocation(range_of(con))


def _limit_rotation(con: Any, owner: Any) -> Constraint:
    used = con.use_limit_x, con.use_limit_y, con.use_limit_z
    least, most = (con.min_x, con.min_y, con.min_z), (con.max_x, con.max_y, con.max_z)
    return LimitRotation(used, least, most, con.use_legacy_behavior, _order(con, owner))


def _limit_scale(con: Any, _owner: Any) -> Constraint:
    return LimitScale(range_of(con))


def _stretch_to(con: Any, _owner: Any) -> Constraint:
    least = min(con.bulge_min, 1.0) if con.use_bulge_min else -1.0
    most = max(con.bulge_max, 1.0) if con.use_bulge_max else -1.0
    limits = Bulge(least, most, con.bulge_smooth)
    return StretchTo(con.keep_axis, con.rest_length, con.volume, con.bulge, limits)


READERS: dict[str, Callable[[Any, Any], Constraint]] = {
    "COPY_LOCATION": _copy_location,
    COPY_ROTATION: _copy_rotation,
    "COPY_SCALE": _copy_scale,
    "COPY_TRANSFORMS": _copy_transforms,
    "DAMPED_TRACK": _damped_track,
    "LIMIT_DISTANCE": _limit_distance,
    "LIMIT_LOCATION": _limit_location,
    "LIMIT_ROTATION": _limit_rotation,
    "LIMIT_SCALE": _limit_scale,
    "STRETCH_TO": _stretch_to,
}
"""By the type of a constraint, the function that reads its settings from it and its owner."""


def read_armature(con: Any, owner: Any) -> tuple[Armature, list[Point]]:
    """Return an Armature constraint and its target bones.

    Without any it has no effect, as when a target with a weight is missing.

    Args:
        con: The constraint.
        owner: The bone or object that has it.
    """
    targets = [target for target in con.targets if target.weight > 0.0]
    points = [target_point(target.target, target.subtarget) for target in targets]
    moving = [point for point in points if point is not None and point.skeleton is not None]
    bones: list[DeformBone] = []
    for target, point in zip(targets, moving if len(moving) == len(points) else (), strict=False):
        rig, rest = cast(Skeleton, point.skeleton), cast(Skeleton, point.skeleton).rest(point.bone)
        envelope = None
        if con.use_bone_envelopes or rest.use_envelope_multiply:
            radii = rest.head_radius, rest.tail_radius
            ends = vector(rest.head_local), vector(rest.tail_local)
            envelope = Envelope(*ends, radii, rest.envelope_distance)
        bones.append(DeformBone(target.weight, rig.rest_frame(point.bone), envelope))
    is_bound = isinstance(owner, bpy.types.PoseBone) and not con.use_current_location
    bound_at = vector(owner.bone.head_local) if is_bound else None
    return Armature(bones, con.use_deform_preserve_volume, bound_at), moving[: len(bones)]


def _order(con: Any, owner: Any) -> Order:
    """Return the Euler order of a constraint, or of its owner if set to Default."""
    name = owner.rotation_mode if con.euler_order == "AUTO" else con.euler_order
    return EULER_AXES[EULER_ORDERS.index(name) if name in EULER_ORDERS else 0]


def _used(con: Any) -> Flags:
    return con.use_x, con.use_y, con.use_z


def _signs(con: Any) -> Vec:
    x, y, z = con.invert_x, con.invert_y, con.invert_z
    return -1.0 if x else 1.0, -1.0 if y else 1.0, -1.0 if z else 1.0


def range_of(con: Any) -> Range:
    """Return the range of a Limit Location or Limit Scale constraint."""
    least = (
        con.min_x if con.use_min_x else -inf,
        con.min_y if con.use_min_y else -inf,
        con.min_z if con.use_min_z else -inf,
    )
    most = (
        con.max_x if con.use_max_x else inf,
        con.max_y if con.use_max_y else inf,
        con.max_z if con.use_max_z else inf,
    )
    return Range(least, most)
