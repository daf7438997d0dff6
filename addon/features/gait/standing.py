"""The pose in which a character stands before walking: its rest pose, or one from its clip.

In some captures all bones lie along one axis at rest, and the character stands only in the action.
The body's pose is then taken at the frame where the character was recognized. The body faces along
an axis of the armature, as at rest. Each leg's pose relative to the body is taken at the frame
where its foot stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import bpy
from mathutils import Matrix, Vector

from ...blender.axes import AXES
from ...blender.clip import Clip
from ...blender.errors import ProblemError
from ...blender.skeleton import Skeleton
from ...body.body import Body, Limb
from ...body.foot import standing_frames


class Stand(NamedTuple):
    """How a character stands before walking, in armature space; empty if its rest pose stands.

    Attributes:
        matrices: The standing matrices of body and legs by bone name, replacing the rest pose.
        shown: The animated matrices of all bones of the legs and feet.
        offsets: The horizontal offset from each foot to its average position on the ground. In a
            single frame a foot may be ahead of the hips or behind them.
    """

    matrices: Mapping[str, Matrix] = {}
    shown: Mapping[str, Matrix] = {}
    offsets: Mapping[str, Vector] = {}

    def shown_at(self, bone: bpy.types.Bone) -> Matrix:
        """Return the bone's matrix in the animation, or else at rest."""
        return self.shown.get(bone.name, bone.matrix_local)


def stand_of(rig: Skeleton, body: Body, bone: int, legs: Sequence[Limb]) -> Stand:
    """Return how a character stands before walking.

    Args:
        rig: The armature.
        body: Its body.
        bone: The bone that carries the legs; -1 if the armature object does.
        legs: Its legs.

    Raises:
        ProblemError: If the character stands only in its animation, and a leg has no foot. The tail
            of a last bone is a guess, so the leg's contact with the ground is unknown.
    """
    if body.frame is None:
        return Stand()
    if any(leg.end.at_tail for leg in legs):
        raise ProblemError(
            "“{armature}” doesn't stand in its rest pose: pose it standing, and apply that as "
            "the rest pose",
            armature=rig.object.name,
        )
    clip, up = Clip(rig.object), body.up
    ahead = Vector(AXES[body.front_axis])
    turn = body.front.rotation_difference(ahead).to_matrix().to_4x4()
    carrier = rig.names[bone] if bone >= 0 else ""
    standing = turn @ body.posed[carrier] if carrier else turn

    def carried(frame: float) -> Matrix:
        """Return the matrix from the body's pose at a frame to its standing pose."""
        return standing @ clip.matrices(frame)[carrier].inverted_safe() if carrier else turn

    matrices = {carrier: standing} if carrier else {}
    shown: dict[str, Matrix] = {}
    offsets: dict[str, Vector] = {}
    for leg in legs:
        end, chain = leg.end.bone, [*leg.bones, leg.end.bone]
        below = [rig.names[i] for i in sorted(rig.below({rig.index[end]}))]
        frames = standing_frames(below, up, clip)
        pose = clip.matrices(frames[0])
        shown |= {name: pose[name] for name in (*chain, *below)}
        matrices |= {name: carried(frames[0]) @ pose[name] for name in chain}
        lower = frames[: len(clip.frames) // 2 + 1]
        positions = [(carried(f) @ clip.matrices(f)[end]).translation for f in lower]
        offset = sum(positions, Vector()) / len(positions) - matrices[end].translation
        offsets[end] = offset - up * offset.dot(up)
    return Stand(matrices, shown, offsets)
