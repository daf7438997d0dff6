"""A bone that settings name, followed when it gets another name."""

from __future__ import annotations

import bpy

from ..blender.access import pose_bones
from ..blender.errors import ProblemError
from ..blender.skeleton import Skeleton
from . import keeping


def bone_index(rig: Skeleton, owner: bpy.types.PropertyGroup, field_name: str) -> int:
    """Return the bone that a field of some settings names, following it if it was renamed.

    Each bone that is named so remembers that name, so the one that remembers a name which no bone
    has any more is the bone that had it.

    Raises:
        ProblemError: If there is none.
    """
    name = getattr(owner, field_name)
    bones = pose_bones(rig.object)
    if name not in rig.index:
        heirs = [bone.name for bone in bones if bone.fabrik_name == name]
        if heirs:
            rig.renamed[name] = heirs[0]
        elif name not in rig.renamed:
            rig.miss(name)
            raise ProblemError(
                f"There is no bone “{name}” in “{rig.object.name}”: choose another bone"
            )
        name = rig.renamed[name]
        keeping.note(owner, field_name, name)
    keeping.note(bones[name], "fabrik_name", name)
    rig.rely_on(rig.index[name])
    return rig.index[name]
