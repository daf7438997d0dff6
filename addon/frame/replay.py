"""Recognizes a frame that is played again, without computing the inputs of its chains.

While nothing is edited, armatures have the same inputs if everything they depend on has the same
transforms. So an evaluation is compared with what the same frame showed before.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
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

    digest: int
    reports: Mapping[tuple[int, ...], Sequence[Report]]


def digest_of(objects: Iterable[bpy.types.Object], depsgraph: bpy.types.Depsgraph) -> int:
    """Return a digest of the evaluated transforms of objects and all their bones."""
    parts: list[bytes] = []
    for ob in objects:
        copy = ob.evaluated_get(depsgraph)
        parts.append(array("f", [x for row in copy.matrix_world for x in row]).tobytes())
        if copy.pose is not None:
            parts.append(floats(pose_bones(copy), "matrix", 16).tobytes())
    return hash(tuple(parts))  # Python's keyed hash of bytes, at a fraction of a digest's price.
