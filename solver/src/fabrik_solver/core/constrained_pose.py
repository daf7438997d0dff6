"""The frames of bones whose constraints make them follow other bones of the armature."""

from collections.abc import Callable, Sequence
from typing import final

from .bones import Bone, Local, bone_frame
from .constraints import Constraint, ConstraintSpaces, along_bone
from .deformation import Armature, PosedBone
from .frames import WHOLE, Frame, frame_in


@final
class BoneOf:
    """A bone of an armature. Immutable.

    Attributes:
        index: Its index.
        bone: The bone.
        rest: Its rest frame in armature space.
        parent: The index of its parent; -1 without a parent.
    """

    def __init__(self, index: int, bone: Bone, rest: Frame, parent: int) -> None:
        self.index, self.bone, self.rest, self.parent = index, bone, rest, parent


@final
class BoneConstraint:
    """A constraint of a bone, with target bones in the same armature. Immutable.

    Attributes:
        constraint: The constraint.
        space: Its owner space.
        target: Its target, or None.
        target_space: Its target space.
        influence: Its influence.
        along: The point of its target to follow, from the head at 0 to the tail at 1.
        moving: The indices of the target bones of an Armature constraint.
    """

    def __init__(
        self,
        constraint: Constraint,
        space: str,
        target: BoneOf | None,
        target_space: str,
        influence: float = 1.0,
        along: float = 0.0,
        moving: Sequence[int] = (),
    ) -> None:
        self.constraint, self.space, self.influence = constraint, space, influence
        self.target, self.target_space, self.along = target, target_space, along
        self.moving = moving


@final
class FollowingBone:
    """A bone, and everything that determines its frame except other bones. Immutable.

    Attributes:
        own: The bone itself.
        local: Its channels.
        constraints: Its constraints, in order.
    """

    def __init__(self, bone: BoneOf, local: Local, constraints: list[BoneConstraint]) -> None:
        self.own, self.local, self.constraints = bone, local, constraints

    def sources(self) -> list[int]:
        """Return the bones from which the frame is computed: the parent and the targets."""
        sources = [self.own.parent]
        for con in self.constraints:
            if con.target is not None:
                sources += (con.target.index, con.target.parent)
            sources += con.moving
        return [bone for bone in sources if bone >= 0]


def affected_by(changed: set[int], dependents: dict[int, set[int]]) -> set[int]:
    """Return some changed bones, and all bones whose frames depend on them.

    Args:
        changed: The changed bones.
        dependents: For each bone, the bones that have it in their `FollowingBone.sources`.
    """
    affected, pending = set(changed), list(changed)
    while pending:
        for bone in dependents.get(pending.pop(), ()):
            if bone not in affected:
                affected.add(bone)
                pending.append(bone)
    return affected


@final
class ConstrainedPose:
    """The frames of an armature's bones, as far as they depend on other bones.

    Attributes:
        bones: The bones whose frames are computed, by index.
        frames: Known frames in armature space, by index; computed frames are added.
        world: The frame of the armature in world space.
        other: Returns the frame of any other bone.
    """

    def __init__(
        self,
        bones: dict[int, FollowingBone],
        frames: dict[int, Frame],
        world: Frame,
        other: Callable[[int], Frame],
    ) -> None:
        self.bones, self.frames, self.world, self.other = bones, frames, world, other

    def frame(self, index: int) -> Frame:
        """Return a bone's frame in armature space; -1 stands for the parent of root bones."""
        # A chain may have more bones than the recursion limit.
        path: list[FollowingBone] = []
        while index >= 0 and index in self.bones and index not in self.frames:
            path.append(self.bones[index])
            index = path[-1].own.parent
        frame = WHOLE
        if index >= 0:
            cached_frame = self.frames.get(index)
            frame = self.other(index) if cached_frame is None else cached_frame
        for bone in reversed(path):
            frame = self._constrained(bone, frame)
            self.frames[bone.own.index] = frame
        return frame

    def _constrained(self, bone: FollowingBone, parent: Frame) -> Frame:
        """Return the frame of a bone, with its constraints."""
        frame = bone_frame(bone.own.bone, bone.local, parent)
        if not bone.constraints:
            return frame
        self.frames[bone.own.index] = frame  # If it follows itself, without its constraints.
        world = self.world
        spaces = ConstraintSpaces(bone.own.bone, bone.own.rest, parent, world)
        for con in bone.constraints:
            source, target = WHOLE, con.target
            sources = [self.frame(i) for i in con.moving]
            if target is not None:
                above = WHOLE if con.target_space == "WORLD" else self.frame(target.parent)
                sources = [self.frame(target.index), above]
            try:
                if target is not None:
                    source = _seen(con, target, sources[0], sources[1], world, bone.own.rest)
                elif isinstance(con.constraint, Armature):
                    at = spaces.seen(frame, con.space)[1]
                    posed = [PosedBone(world, moving) for moving in sources]
                    source = con.constraint.motion_of(posed, at, world)
            except ValueError:  # Something has zero scale.
                continue
            frame = spaces.constrained(con.constraint, con.space, frame, source, con.influence)
        return frame


def _seen(
    con: BoneConstraint,
    target: BoneOf,
    frame: Frame,
    parent: Frame,
    world: Frame,
    owner_rest: Frame,
) -> Frame:
    """Return the frame of a target bone converted to a constraint's target space.

    Args:
        con: The constraint.
        target: The target bone.
        frame: Its frame, in armature space.
        parent: The frame of its parent, in armature space.
        world: The frame of the armature, in world space.
        owner_rest: The rest frame of the constraint's owner, in armature space.

    Raises:
        ValueError: If the space has zero scale.
    """
    if con.along != 0.0:
        frame = along_bone(frame, target.bone.length * con.along)
    if con.target_space == "WORLD":
        return frame_in(world, frame)
    spaces = ConstraintSpaces(target.bone, target.rest, parent, world, owner_rest=owner_rest)
    return spaces.seen(frame, con.target_space)
