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


@final
class ConstrainedFrame:
    """The frame of a bone, and everything it was computed from. Immutable.

    Attributes:
        bone: The bone.
        sources: The frames of its parent, the armature, and the targets of its constraints.
        frame: Its frame in armature space.
    """

    def __init__(self, bone: FollowingBone, sources: list[Frame], frame: Frame) -> None:
        self.bone, self.sources, self.frame = bone, sources, frame


@final
class ConstrainedPose:
    """The frames of an armature's bones, as far as they depend on other bones.

    Attributes:
        bones: The bones whose frames are computed, by index.
        frames: Known frames in armature space, by index; computed frames are added.
        world: The frame of the armature in world space.
        other: Returns the frame of any other bone.
        last: Previously computed frames of bones with constraints, by index. They are reused if
            everything they were computed from is the same; others are added.
    """

    def __init__(
        self,
        bones: dict[int, FollowingBone],
        frames: dict[int, Frame],
        world: Frame,
        other: Callable[[int], Frame],
        last: dict[int, ConstrainedFrame],
    ) -> None:
        self.bones, self.frames, self.world, self.other = bones, frames, world, other
        self.last = last

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
        if not bone.constraints:
            return bone_frame(bone.own.bone, bone.local, parent)
        index = bone.own.index
        sources = [parent, self.world]
        for con in bone.constraints:
            if con.target is not None:
                sources.append(self.frame(con.target.index))
                sources.append(
                    WHOLE if con.target_space == "WORLD" else self.frame(con.target.parent)
                )
            for moving in con.moving:
                sources.append(self.frame(moving))
        last = self.last.get(index)
        if last is None or last.bone is not bone or last.sources != sources:
            last = ConstrainedFrame(bone, sources, _constrained(bone, sources))
            self.last[index] = last
        return last.frame


def _constrained(bone: FollowingBone, sources: list[Frame]) -> Frame:
    """Return the frame of a bone with constraints.

    Args:
        bone: The bone.
        sources: The frames of its parent and the armature. Then, for each constraint, the frames of
            its target and the target's parent, or of the bones of an Armature constraint.
    """
    parent, world = sources[0], sources[1]
    frame = bone_frame(bone.own.bone, bone.local, parent)
    spaces = ConstraintSpaces(bone.own.bone, bone.own.rest, parent, world)
    position = 2
    for con in bone.constraints:
        source, first = WHOLE, position
        position += len(con.moving) if con.target is None else 2
        try:
            if con.target is not None:
                seen, above = sources[first], sources[first + 1]
                source = _seen(con, con.target, seen, above, world, bone.own.rest)
            elif isinstance(con.constraint, Armature):
                at = spaces.seen(frame, con.space)[1]
                posed = [PosedBone(world, sources[i]) for i in range(first, position)]
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

    Raises:
        ValueError: If the space has zero scale.
    """
    if con.along != 0.0:
        frame = along_bone(frame, target.bone.length * con.along)
    if con.target_space == "WORLD":
        return frame_in(world, frame)
    spaces = ConstraintSpaces(target.bone, target.rest, parent, world, owner_rest=owner_rest)
    return spaces.seen(frame, con.target_space)
