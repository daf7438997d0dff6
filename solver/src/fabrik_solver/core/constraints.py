"""Constraints of bones, applied in their spaces and with their influence, as Blender does."""

from collections.abc import Callable
from typing import final

from .bones import Bone, Local, bone_frame, in_local_space, out_of_local_space
from .frames import WHOLE, Frame, frame_in, inverse, mixed, point_in
from .vectors import mat_apply, mat_product, mat_transposed

OWNER_ORIENTATION = "LOCAL_OWNER_ORIENT"
"""The target space in which the target's local axes are the owner's."""


class Constraint:
    """A constraint, with its settings at a frame. Immutable."""

    def apply(self, frame: Frame, source: Frame) -> Frame:
        """Return the owner's constrained frame.

        Args:
            frame: The owner's frame before the constraint, in its owner space.
            source: The frame of its target, in its target space; unused without a target.
        """
        raise NotImplementedError

    def result_space(self, space: str) -> str:
        """Return the space of the constrained frame, for an owner space of a bone."""
        return space


@final
class ConstraintSpaces:
    """The owner and target spaces of a bone (Blender's manual: Constraints, Space Types).

    All converted frames are frames of the bone, in armature space.
    """

    def __init__(
        self,
        bone: Bone,
        rest: Frame,
        parent: Frame,
        world: Frame,
        custom: Frame = WHOLE,
        owner_rest: Frame = WHOLE,
    ) -> None:
        """Set up the spaces of a bone.

        Args:
            bone: The bone.
            rest: Its rest frame in armature space.
            parent: The frame of its parent, in armature space.
            world: The frame of the armature, in world space.
            custom: The frame of the object or bone of a custom space, in world space.
            owner_rest: For a target, the rest frame of the owner.
        """
        self.bone, self.rest, self.parent, self.world = bone, rest, parent, world
        self.custom, self.owner_rest = custom, owner_rest

    def seen(self, frame: Frame, space: str) -> Frame:
        """Return a frame converted to a space.

        Args:
            frame: The frame.
            space: ``'WORLD'``, ``'POSE'``, ``'LOCAL'``, ``'LOCAL_WITH_PARENT'``, ``'CUSTOM'``
                or `OWNER_ORIENTATION`.

        Raises:
            ValueError: If the space has zero scale.
        """
        if space == "WORLD":
            return frame_in(self.world, frame)
        if space == OWNER_ORIENTATION:
            axes, head = in_local_space(self.bone, frame, self.parent)
            turn = mat_product(mat_transposed(self.owner_rest[0]), self.rest[0])
            back = mat_transposed(turn)
            return mat_product(mat_product(turn, axes), back), mat_apply(turn, head)
        if space == "LOCAL":
            return in_local_space(self.bone, frame, self.parent)
        if space == "CUSTOM":
            return frame_in(inverse(self.custom), frame_in(self.world, frame))
        return frame if space == "POSE" else frame_in(inverse(self.rest), frame)

    def placed(self, seen: Frame, space: str) -> Frame:
        """Return a frame converted from a space; the inverse of `seen`.

        Raises:
            ValueError: If the space has zero scale.
        """
        if space == "WORLD":
            return frame_in(inverse(self.world), seen)
        if space == "LOCAL":
            return out_of_local_space(self.bone, seen, self.parent)
        if space == "CUSTOM":
            return frame_in(inverse(self.world), frame_in(self.custom, seen))
        return seen if space == "POSE" else frame_in(self.rest, seen)

    def constrained(
        self, con: Constraint, space: str, frame: Frame, source: Frame, influence: float = 1.0
    ) -> Frame:
        """Return the bone's constrained frame, or the same frame if anything has zero scale.

        Args:
            con: The constraint.
            space: Its owner space.
            frame: The bone's frame before the constraint.
            source: The target's frame, in the constraint's target space.
            influence: The constraint's influence, blended in world space.
        """
        try:
            result = con.apply(self.seen(frame, space), source)
            result = self.placed(result, con.result_space(space))
            if influence == 1.0:
                return result
            free, result = frame_in(self.world, frame), frame_in(self.world, result)
            return frame_in(inverse(self.world), influenced(free, result, influence))
        except ValueError:
            return frame


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
        """Set up the bone."""
        self.index, self.bone, self.rest, self.parent = index, bone, rest, parent


@final
class BoneConstraint:
    """A constraint of a bone, with a target bone in the same armature. Immutable.

    Attributes:
        constraint: The constraint.
        space: Its owner space.
        target: Its target, or None.
        target_space: Its target space.
        influence: Its influence.
        along: How far along its target it aims, from the head at 0 to the tail at 1.
    """

    def __init__(
        self,
        constraint: Constraint,
        space: str,
        target: BoneOf | None,
        target_space: str,
        influence: float = 1.0,
        along: float = 0.0,
    ) -> None:
        """Set up the constraint."""
        self.constraint, self.space, self.influence = constraint, space, influence
        self.target, self.target_space, self.along = target, target_space, along


@final
class FollowingBone:
    """A bone, with everything its frame depends on except other bones. Immutable.

    Attributes:
        own: The bone.
        local: Its channels.
        constraints: Its constraints, in order.
    """

    def __init__(self, bone: BoneOf, local: Local, constraints: list[BoneConstraint]) -> None:
        """Set up the bone."""
        self.own, self.local, self.constraints = bone, local, constraints


@final
class ConstrainedFrame:
    """The frame of a bone, with everything it was computed from. Immutable.

    Attributes:
        bone: The bone.
        sources: The frames of its parent, of the armature, and of what its constraints follow.
        frame: Its frame in armature space.
    """

    def __init__(self, bone: FollowingBone, sources: list[Frame], frame: Frame) -> None:
        """Set up the frame."""
        self.bone, self.sources, self.frame = bone, sources, frame


@final
class ConstrainedPose:
    """The frames of an armature's bones, as far as they follow from other bones.

    Attributes:
        bones: The bones whose frames are computed, by index.
        frames: Known frames in armature space, by index; computed frames are added.
        world: The frame of the armature in world space.
        other: Returns the frame of any other bone.
        last: By index, frames of bones with constraints computed before. They are taken where all
            they were computed from is equal; others are added.
    """

    def __init__(
        self,
        bones: dict[int, FollowingBone],
        frames: dict[int, Frame],
        world: Frame,
        other: Callable[[int], Frame],
        last: dict[int, ConstrainedFrame],
    ) -> None:
        """Set up the pose."""
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
        last = self.last.get(index)
        if last is None or last.bone is not bone or last.sources != sources:
            last = ConstrainedFrame(bone, sources, _constrained(bone, sources))
            self.last[index] = last
        return last.frame


def _constrained(bone: FollowingBone, sources: list[Frame]) -> Frame:
    """Return the frame of a bone with constraints.

    Args:
        bone: The bone.
        sources: The frames of its parent and of the armature, and for each target in turn its frame
            and that of its parent.
    """
    parent, world = sources[0], sources[1]
    frame = bone_frame(bone.own.bone, bone.local, parent)
    spaces = ConstraintSpaces(bone.own.bone, bone.own.rest, parent, world)
    position = 2
    for con in bone.constraints:
        source = WHOLE
        if con.target is not None:
            position += 2
            try:
                seen, above = sources[position - 2], sources[position - 1]
                source = _seen(con, con.target, seen, above, world, bone.own.rest)
            except ValueError:  # The target has zero scale.
                continue
        frame = spaces.constrained(con.constraint, con.space, frame, source, con.influence)
    return frame


def _seen(
    con: BoneConstraint, target: BoneOf, frame: Frame, parent: Frame, world: Frame, own: Frame
) -> Frame:
    """Return the frame of a target bone converted to a constraint's target space.

    Raises:
        ValueError: If the space has zero scale.
    """
    if con.along != 0.0:
        frame = along_bone(frame, target.bone.length * con.along)
    if con.target_space == "WORLD":
        return frame_in(world, frame)
    spaces = ConstraintSpaces(target.bone, target.rest, parent, world, owner_rest=own)
    return spaces.seen(frame, con.target_space)


def along_bone(frame: Frame, distance: float) -> Frame:
    """Return a bone's frame with its origin moved along the bone."""
    return frame[0], point_in(frame, (0.0, distance, 0.0))


def influenced(free: Frame, result: Frame, influence: float) -> Frame:
    """Blend a constraint's effect by its influence, in world space.

    Raises:
        ValueError: If a frame has zero scale.
    """
    return result if influence == 1.0 else mixed(free, result, influence)
