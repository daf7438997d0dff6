"""The pose in which an armature stands to walk: its rest pose, or that of its clip.

Captures may have all bones along one axis at rest, and only their action stands. The body is then
taken at the frame at which the character was recognized, and turned so that it faces along an axis
of the armature, as at rest. Each leg is taken at the frame at which its foot stands, with the body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import bpy
from mathutils import Matrix, Vector

from ...blender.axes import AXES
from ...blender.character import Character, standing_frames
from ...blender.clip import Clip
from ...blender.errors import ProblemError
from ...blender.skeleton import Skeleton


class Stand(NamedTuple):
    """How an armature stands to walk, in armature space; nothing is said of the rest pose.

    Attributes:
        matrices: The matrices of body and legs by name, as if that were the rest pose.
        shown: Those of legs and feet, with all bones of these, where the animation has them.
        offsets: The horizontal way of each foot from there to where it is on average while it is
            down: at a single frame it may be ahead of the hips or behind them.
    """

    matrices: Mapping[str, Matrix] = {}
    shown: Mapping[str, Matrix] = {}
    offsets: Mapping[str, Vector] = {}

    def shown_at(self, bone: bpy.types.Bone) -> Matrix:
        """Return the matrix of a bone where the animation has it, else at rest."""
        return self.shown.get(bone.name, bone.matrix_local)


def stand_of(
    rig: Skeleton, character: Character, body: int, legs: Sequence[tuple[list[int], int]]
) -> Stand:
    """Return how an armature stands to walk.

    Args:
        rig: The armature.
        character: Its character.
        body: The bone that carries the legs; -1 if the armature object does.
        legs: The bones of each leg, and its foot; -1 for none.

    Raises:
        ProblemError: If only the animation stands, and a leg ends without a foot: the tails of last
            bones are guessed, so that nothing tells where it reaches the ground.
    """
    if character.frame is None:
        return Stand()
    if any(foot < 0 for _, foot in legs):
        raise ProblemError(
            "“{armature}” doesn't stand in its rest pose: pose it standing, and apply that as "
            "the rest pose",
            armature=rig.object.name,
        )
    clip, up = Clip(rig.object), character.up
    ahead = Vector(AXES[character.front_axis])
    turn = character.front.rotation_difference(ahead).to_matrix().to_4x4()
    carrier = rig.names[body] if body >= 0 else ""
    standing = turn @ character.posed[carrier] if carrier else turn

    def carried(frame: float) -> Matrix:
        """Return the matrix from where the body is at a frame to where it stands."""
        return standing @ clip.matrices(frame)[carrier].inverted_safe() if carrier else turn

    matrices = {carrier: standing} if carrier else {}
    shown: dict[str, Matrix] = {}
    offsets: dict[str, Vector] = {}
    for bones, foot in legs:
        below = [rig.names[i] for i in sorted(rig.below({foot}))]
        frames = standing_frames(below, up, clip)
        pose = clip.matrices(frames[0])
        chain = [rig.names[i] for i in (*bones, foot)]
        shown |= {name: pose[name] for name in (*chain, *below)}
        matrices |= {name: carried(frames[0]) @ pose[name] for name in chain}
        end = chain[-1]
        lower = frames[: len(clip.frames) // 2 + 1]
        places = [(carried(f) @ clip.matrices(f)[end]).translation for f in lower]
        way = sum(places, Vector()) / len(places) - matrices[end].translation
        offsets[end] = way - up * way.dot(up)
    return Stand(matrices, shown, offsets)
