"""Bones that follow something solved through native constraints."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import bpy

from fabrik_solver import Frame, Local
from fabrik_solver.core.constrained_pose import BoneConstraint, BoneOf, FollowingBone, affected_by
from fabrik_solver.core.constraints import Constraint

from ..blender.native_constraints import (
    COPY_ROTATION,
    constraint_point,
    is_predictable,
    needs_target,
    read_armature,
    read_constraint,
    space_point,
)
from ..blender.relations import active_constraints
from ..blender.rotation import KIND_OF, channel_of, integers
from ..blender.skeleton import Point, Skeleton

MODE = "rotation_mode"

SCALARS = (str, float, int)


class Step(NamedTuple):
    """A native constraint of a bone that follows something solved.

    Attributes:
        constraint: The constraint; None if it can't be predicted, and Blender's axes are used
            instead.
        owner_space: The owner space.
        target: Its target, if any.
        target_space: The target space.
        moving: The target bones of an Armature constraint.
        influence: Its influence.
        along: How far along its target it aims, from 0 at the head to 1 at the tail.
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
        is_shown: Whether they act on the pose that Blender shows, instead of the bone's channels.
        local: Its local channels; None if they weren't read, or don't matter.
    """

    steps: Sequence[Step]
    is_shown: bool
    local: Local | None = None


class Followers:
    """An armature's bones that follow something solved, cached between updates.

    During playback, only their animated properties are read again. While bones are being posed,
    only their channels are. Only what depends on a changed bone is computed again.

    Attributes:
        bones: The bones whose frames depend only on other bones of the armature, by index.
    """

    def __init__(
        self, rig: Skeleton, animated: Mapping[int, Sequence[str]], is_posed: bool
    ) -> None:
        """Start without any bones.

        Args:
            rig: The armature.
            animated: For each bone, the paths of its animated properties, relative to the bone.
            is_posed: Whether channels and rotation modes may change, but settings may not.
        """
        self.bones: dict[int, FollowingBone] = {}
        self._is_posed = is_posed
        self._rig = rig
        self._known: dict[int, Follower] = {}
        self._values: dict[int, list[object]] = {}
        self._columns: dict[str, bytes] = {}
        self._modes = array("i")
        self._turns: set[tuple[str, int]] = set()
        self._has_modes = is_posed or any([MODE in paths for paths in animated.values()])
        self._moving: set[int] = set()
        self._switched: dict[int, list[str]] = {}
        self._frames: dict[int, Frame] = {}
        self._world: Frame | None = None
        self._dependents: dict[int, set[int]] = {}
        for bone, paths in animated.items():
            if any([path in KIND_OF or path == MODE for path in paths]):
                self._moving.add(bone)
            switched = [path for path in paths if path.startswith("constraints[")]
            if switched:
                self._switched[bone] = switched

    def refresh(
        self,
        owner_of: Callable[[int], Any],
        local_of: Callable[[int], Local],
        bones: bpy.types.bpy_prop_collection[Any],
        world: Frame | None,
        moved: Set[int],
    ) -> dict[int, Frame]:
        """Read possible changes again, and return the frames that are still valid, by bone.

        Further frames that are computed should be added to these.

        Args:
            owner_of: Returns an evaluated bone.
            local_of: Returns its channels.
            bones: All bones.
            world: The frame of the armature in world space; None if chains move it.
            moved: The bones that chains move.
        """
        modes = integers(bones, MODE) if self._has_modes else self._modes
        if modes != self._modes:
            # Constraints may use the Euler orders of their owners and targets.
            self._modes, self._turns = modes, {channel_of(mode) for mode in {*modes}}
            for cache in (self._known, self.bones, self._values, self._dependents):
                cache.clear()
        changed = self._changed(owner_of, local_of, bones)
        if world is None or world != self._world:
            self._frames = {}
        else:
            changed |= (self._dependents.keys() | self._frames.keys()) - self.bones.keys()
            changed |= self._frames.keys() & moved
            changed = affected_by(changed, self._dependents)
            self._frames = {b: frame for b, frame in self._frames.items() if b not in changed}
        self._world = world
        return self._frames

    def _changed(
        self,
        owner_of: Callable[[int], Any],
        local_of: Callable[[int], Local],
        bones: bpy.types.bpy_prop_collection[Any],
    ) -> set[int]:
        """Read the cached bones again, as `refresh`, and return those that have changed."""
        switched = [
            bone
            for bone, values in self._values.items()
            if self._values_of(bone, owner_of(bone)) != values
        ]
        for bone in switched:
            del self._values[bone], self._known[bone]
            self.bones.pop(bone, None)
        changed = self._moving & self._known.keys()
        if self._is_posed:
            changed |= self._posed(bones)
        return {bone for bone in changed if self._has_moved(bone, local_of)}.union(switched)

    def _has_moved(self, bone: int, local_of: Callable[[int], Local]) -> bool:
        """Read the channels of a cached bone again; return whether they have changed."""
        follower, following, local = self._known[bone], self.bones.get(bone), local_of(bone)
        if follower.local is None or local.is_same(follower.local):
            return False
        self._known[bone] = follower._replace(local=local)
        if following is not None:
            self.bones[bone] = FollowingBone(following.own, local, following.constraints)
        return True

    def _posed(self, bones: bpy.types.bpy_prop_collection[Any]) -> set[int]:
        """Return the cached bones whose channels may have changed since the last call."""
        posed: set[int] = set()
        for name, size in {("location", 3), ("scale", 3), *self._turns}:
            # Python compares bytes in one go, but in arrays it makes two floats of each pair.
            values = array("f", bytes(4 * size * len(self._rig.names)))
            bones.foreach_get(name, values)
            column, width = values.tobytes(), values.itemsize * size
            last = self._columns.get(name, b"")
            self._columns[name] = column
            if column != last:
                for bone in self._known:
                    first = bone * width
                    if column[first : first + width] != last[first : first + width]:
                        posed.add(bone)
        return posed

    def find(
        self,
        bone: int,
        owner_of: Callable[[int], Any],
        local_of: Callable[[int], Local],
        is_pulled: bool,
    ) -> Follower:
        """Return a bone, from the cache if possible.

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
        if bone in self._switched:
            self._values[bone] = self._values_of(bone, owner)
        if not follower.is_shown:
            follower = follower._replace(local=local_of(bone))
            self._add(bone, follower)
        self._known[bone] = follower
        return follower

    def _values_of(self, bone: int, owner: Any) -> list[object]:
        return values_at(owner, self._switched[bone])

    def _add(self, bone: int, follower: Follower) -> None:
        """Add a bone to `bones`, if its frame depends only on other bones of the armature."""
        constraints: list[BoneConstraint] = []
        for con, space, target, target_space, moving, influence, along, custom in follower.steps:
            points = moving if target is None else (target,)
            is_inside = all([point.bone >= 0 and point.uid == self._rig.uid for point in points])
            if con is None or custom is not None or not is_inside:
                return
            bone_of = None if target is None else self._bone_of(target.bone)
            bones = [point.bone for point in moving]
            constraints.append(
                BoneConstraint(con, space, bone_of, target_space, influence, along, bones)
            )
        if follower.local is not None:
            following = FollowingBone(self._bone_of(bone), follower.local, constraints)
            self.bones[bone] = following
            for source in following.sources():
                self._dependents.setdefault(source, set()).add(bone)

    def _bone_of(self, bone: int) -> BoneOf:
        rig = self._rig
        return BoneOf(bone, rig.bone(bone), rig.rest_frame(bone), rig.parents[bone])


def values_at(owner: Any, paths: Iterable[str]) -> list[object]:
    """Return some properties in comparable form; None for one that doesn't exist."""
    values: list[object] = []
    for path in paths:  # Inlined, as each update runs this.
        try:
            value = owner.path_resolve(path)
        except ValueError:  # A removed constraint may leave its animation behind.
            value = None
        values.append(value if value is None or isinstance(value, SCALARS) else tuple(value))
    return values


def follower_of(owner: Any, is_pulled: bool = False) -> Follower:
    """Return the constraints that act on an evaluated bone or object.

    Args:
        owner: The bone or object.
        is_pulled: Whether native IK poses it together with solved bones.
    """
    constraints = active_constraints(owner)
    if is_pulled:  # Blender applies native IK on top of the solution.
        constraints = [con for con in constraints if con.type != "IK"]
    on_bone = isinstance(owner, bpy.types.PoseBone)
    predictable = [is_predictable(con, on_bone) for con in constraints]
    # Blender's pose already includes the constraints up to the last one that can't be predicted.
    last = -1
    for i, con in enumerate(constraints):
        if not predictable[i] and not (on_bone and con.type == COPY_ROTATION):
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
        point = constraint_point(con)
        if point is not None or not needs_target(con):
            space = "WORLD" if point is None else con.target_space
            read, influence = read_constraint(con, owner), con.influence
            along, custom = getattr(con, "head_tail", 0.0), space_point(con)
            steps.append(Step(read, con.owner_space, point, space, (), influence, along, custom))
    return Follower(steps, last >= 0)
