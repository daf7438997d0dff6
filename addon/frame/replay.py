"""Recognizes a frame that is played again, without computing the inputs of its chains.

While nothing is edited, armatures have the same inputs if everything they depend on has the same
transforms. So an evaluation is compared with what the same frame showed before.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

import bpy

from ..blender.access import pose_bones
from ..blender.rotation import floats
from ..plan.chain_plan import Report


class ShownFrame(NamedTuple):
    """What an armature with the right pose showed when a frame was evaluated.

    Attributes:
        digest: The digest of what its chains depend on.
        reports: The reports of its constraints, as in `SolvedPose`.
    """

    digest: bytes
    reports: Mapping[tuple[int, ...], Sequence[Report]]


def digest_of(objects: Iterable[bpy.types.Object], depsgraph: bpy.types.Depsgraph) -> bytes:
    """Return a digest of the evaluated transforms of objects and all their bones."""
    digest = blake2b(digest_size=16)
    for ob in objects:
        copy = ob.evaluated_get(depsgraph)
        digest.update(array("f", [x for row in copy.matrix_world for x in row]))
        if copy.pose is not None:
            digest.update(floats(pose_bones(copy), "matrix", 16))
    return digest.digest()
