"""Constraints of bones, with their spaces and influence, as Blender applies them."""

from typing import final

from .bones import Bone, in_local_space, out_of_local_space
from .frames import WHOLE, Frame, frame_in, inverse, mixed, point_in
from .vectors import mat_apply, mat_product, mat_transposed

OWNER_ORIENTATION = "LOCAL_OWNER_ORIENT"
"""The target space in which the target's local axes are the owner's."""


class Constraint:
    """A constraint with its settings at a frame. Immutable."""

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

    def placed(self, frame: Frame, space: str) -> Frame:
        """Return a frame, given in a space, in armature space; the inverse of `seen`.

        Raises:
            ValueError: If the space has zero scale.
        """
        if space == "WORLD":
            return frame_in(inverse(self.world), frame)
        if space == "LOCAL":
            return out_of_local_space(self.bone, frame, self.parent)
        if space == "CUSTOM":
            return frame_in(inverse(self.world), frame_in(self.custom, frame))
        return frame if space == "POSE" else frame_in(self.rest, frame)

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


def along_bone(frame: Frame, distance: float) -> Frame:
    """Return a bone's frame with its origin moved along the bone."""
    return frame[0], point_in(frame, (0.0, distance, 0.0))


def influenced(free: Frame, result: Frame, influence: float) -> Frame:
    """Blend from an unconstrained to a constrained frame by the influence, in world space.

    Args:
        free: The frame without the constraint.
        result: The frame with the constraint.
        influence: From 0 for the first to 1 for the second.

    Raises:
        ValueError: If a frame has zero scale.
    """
    return result if influence == 1.0 else mixed(free, result, influence)
