"""Blender's X-Axis Mirror: the bone on the other side is dragged as well."""

from __future__ import annotations

from typing import cast

import bpy

from fabrik_solver import inverse, point_in
from fabrik_solver.core.vectors import (
    ORIGIN,
    Mat3,
    Quat,
    Vec,
    add,
    mat_apply,
    mat_product,
    mat_transposed,
    quat_inverse,
    quat_product,
    sub,
)

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.messages import msg
from ...blender.skeleton import matrix3, matrix_frame
from .chain import ChainDrag
from .protocol import Drag

REFLECTION: Mat3 = (-1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
"""Swaps the sides in armature space."""


class OtherSide:
    """The bone on the other side, if Blender's pose option X-Axis Mirror is enabled.

    Attributes:
        bone: Its name.
        is_relative: Whether it keeps its initial difference from the mirror image.
    """

    def __init__(self, armature: bpy.types.Object, bone: str) -> None:
        self.bone = bone
        self.is_relative = cast("bpy.types.Pose", armature.pose).use_mirror_relative

    def place(self, start: Vec, mirrored_start: Vec, current: Vec) -> Vec:
        """Return the mirrored location of a point, in armature space.

        Args:
            start: The dragged bone's point at the start.
            mirrored_start: The mirrored bone's point at the start.
            current: The dragged bone's current point.
        """
        if self.is_relative:
            return add(mirrored_start, mat_apply(REFLECTION, sub(current, start)))
        return mat_apply(REFLECTION, current)

    def turn(self, axes: Mat3, starts: tuple[Quat, Quat], current: Quat) -> Quat:
        """Return the mirrored rotation of a bone, in its rest axes.

        Args:
            axes: The reflection from the dragged bone's rest axes to those of the mirrored bone.
            starts: The rotations of the dragged and the mirrored bone at the start.
            current: The dragged bone's current rotation.
        """
        turned = _reflected(axes, current)
        if not self.is_relative:
            return turned
        change = quat_product(turned, quat_inverse(_reflected(axes, starts[0])))
        return quat_product(change, starts[1])


def _reflected(axes: Mat3, q: Quat) -> Quat:
    """Return the mirror image of a rotation, which reverses its sense."""
    w, x, y, z = q
    x, y, z = mat_apply(axes, (x, y, z))
    return w, -x, -y, -z


def other_side(armature: bpy.types.Object, bone: str) -> OtherSide | None:
    """Return the bone to drag as well; None if it doesn't exist, or X-Axis Mirror is off."""
    if not cast("bpy.types.Pose", armature.pose).use_mirror_x:
        return None
    name = flipped(armature, bone)
    return OtherSide(armature, name) if name else None


def flipped(armature: bpy.types.Object, bone: str) -> str:
    """Return the name of the bone on the other side; empty if it doesn't exist."""
    name = bpy.utils.flip_name(bone)
    return name if name != bone and name in pose_bones(armature) else ""


class MirroredDrag:
    """A drag of a bone and its counterpart on the other side.

    Attributes:
        place: Location from the first drag, like all other attributes.
        axes: See `place`.
        name: See `place`.
        tip_start: See `place`.
    """

    def __init__(
        self,
        armature: bpy.types.Object,
        first: Drag,
        second: Drag | None,
        side: OtherSide,
        problem: str = "",
    ) -> None:
        """Combine two drags.

        Args:
            armature: The armature object.
            first: The drag of the bone.
            second: The drag of the bone on the other side; None if it can't be dragged.
            side: The other side.
            problem: Why it can't be dragged.

        Raises:
            ProblemError: If the armature has zero scale.
        """
        self._problem = problem
        self._first, self._second, self._side = first, second, side
        self.place, self.axes = first.place, first.axes
        self.name, self.tip_start = first.name, first.tip_start
        self._world = matrix_frame(armature.matrix_world)
        try:
            self._to_armature = inverse(self._world)
        except ValueError:
            raise ProblemError(
                "“{object}” has zero scale or an invalid transform: change its scale",
                object=armature.name,
            ) from None
        self._pairs = _pairs(armature, first, second)

    @property
    def state(self) -> str:
        """State of the first drag."""
        return self._first.state

    def move_by(self, displacement: Vec) -> None:
        """Drag in world space; the other side is mirrored at the armature's YZ plane."""
        first, second = self._first, self._second
        first.move_by(displacement)
        if second is None:
            return
        if displacement == ORIGIN:
            second.move_by(ORIGIN)
        elif self._pairs and isinstance(first, ChainDrag) and isinstance(second, ChainDrag):
            second.turn_with(first, self._pairs, self._side.turn)
        else:
            start, mirrored_start, current = (
                point_in(self._to_armature, point)
                for point in (self.place, second.place, add(self.place, displacement))
            )
            goal = point_in(self._world, self._side.place(start, mirrored_start, current))
            second.move_by(sub(goal, second.place))

    def confirm(self) -> str:
        """Keep both poses, and key them if auto-keying is on; return a note for the user."""
        note = self._first.confirm()
        if self._second is not None:
            return self._second.confirm() or note
        return note or msg(
            "“{bone}” on the other side can't follow: {problem}",
            bone=self._side.bone,
            problem=self._problem,
        )

    def tip(self) -> Vec:
        """Return the first drag's evaluated tip, in world space."""
        return self._first.tip()

    def moved(self) -> float:
        """Return how far the first drag has moved, in meters."""
        return self._first.moved()

    def cancel(self) -> None:
        """Restore the values from the start of the drag."""
        self._first.cancel()
        if self._second is not None:
            self._second.cancel()


def _pairs(
    armature: bpy.types.Object, first: Drag, second: Drag | None
) -> dict[int, tuple[int, Mat3]]:
    """Return the counterpart of each bone of two FK drags, and the reflection to its rest axes.

    The result is empty unless the bones of both drags correspond one to one.
    """
    if not (isinstance(first, ChainDrag) and isinstance(second, ChainDrag)):
        return {}
    rig = first.rig
    names = [rig.names[bone] for bone in first.bones]
    if [flipped(armature, name) for name in names] != [rig.names[i] for i in second.bones]:
        return {}
    pairs: dict[int, tuple[int, Mat3]] = {}
    for bone, other in zip(first.bones, second.bones, strict=True):
        axes, other_axes = (matrix3(rig.rest(i).matrix_local) for i in (bone, other))
        pairs[bone] = other, mat_product(mat_transposed(other_axes), mat_product(REFLECTION, axes))
    return pairs
