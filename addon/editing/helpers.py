"""Bones of a rig that are not of the body: what deforms, what controls what, and what is seen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, cast

import bpy

from fabrik_solver.motion.naming import NOT_BODY, words_of

from ..blender.access import pose_bones
from ..blender.curves import split_bone_path
from ..blender.relations import active_constraints, deformers, driver_inputs
from ..blender.skeleton import skeleton_of
from ..settings.properties import settings


def is_helper(armature: bpy.types.Object, bone: str) -> bool:
    """Return whether neither a bone nor any below it deforms anything or carries an object.

    Without a mesh that tells, bones that are no deforming ones are helpers, those that are named as
    controls, and those that stand alone.
    """
    below = _below(armature, bone)
    if any(ob.parent == armature and ob.parent_bone in below for ob in _by_bone()):
        return False
    deforming = _deforming(armature)
    meshes = [ob for ob in bpy.data.objects if armature in deformers(ob) and ob.vertex_groups]
    if meshes:
        return not any(_has_weight(mesh, below & deforming) for mesh in meshes)
    bone_posed = pose_bones(armature)[bone]
    is_alone = bone_posed.parent is None and not bone_posed.children
    line = [bone, *(parent.name for parent in bone_posed.parent_recursive)]
    is_named = any(NOT_BODY & set(words_of(name)) for name in line)
    return is_alone or is_named or not below & deforming


def _by_bone() -> list[bpy.types.Object]:
    """Return the objects that are parented to bones."""
    return [ob for ob in bpy.data.objects if ob.parent_type == "BONE"]


def _deforming(armature: bpy.types.Object) -> set[str]:
    """Return the names of the deforming bones; those of all if there are none."""
    bones = cast(bpy.types.Armature, armature.data).bones
    return {bone.name for bone in bones if bone.use_deform} or set(bones.keys())


def _has_weight(ob: bpy.types.Object, bones: Collection[str]) -> bool:
    """Return whether an object has weights for any of some bones."""
    groups = {group.index for group in ob.vertex_groups if group.name in bones}
    if not groups or not isinstance(ob.data, bpy.types.Mesh):
        return bool(groups)
    return any(
        element.group in groups and element.weight > 0.0
        for v in ob.data.vertices
        for element in v.groups
    )


def _below(armature: bpy.types.Object, bone: str) -> set[str]:
    """Return the names of a bone and all below it."""
    rig = skeleton_of(armature)
    return {rig.names[i] for i in rig.below({rig.index[bone]})}


class Controls:
    """Which bones of an armature follow which, by constraints, Blender's and ours, and drivers."""

    def __init__(self, armature: bpy.types.Object, is_active: bool = False) -> None:
        """Read them.

        Args:
            armature: The armature.
            is_active: Whether only constraints count that have an effect now.
        """
        self._rig = skeleton_of(armature)
        self._followers: dict[str, set[str]] = {}
        for bone, ob, name in follows(armature, is_active):
            if ob is not None and ob.original == armature:
                self._followers.setdefault(name, set()).add(bone)

    def has_any(self, bone: str) -> bool:
        """Return whether anything follows a bone, or one below it."""
        rig = self._rig
        return any(rig.names[i] in self._followers for i in rig.below({rig.index[bone]}))

    def below(
        self, start: str, is_end: Callable[[str], bool] = lambda _bone: False
    ) -> Iterator[str]:
        """Yield a bone and all that hang on it or follow it, directly or not.

        Args:
            start: The bone.
            is_end: Returns whether those are not asked for that follow a bone.
        """
        known, pending = {start}, [start]
        while pending:
            bone = pending.pop()
            yield bone
            if is_end(bone):
                continue
            rig = self._rig
            children = {rig.names[i] for i in rig.children[rig.index[bone]]}
            new = (children | self._followers.get(bone, set())) - known
            known |= new
            pending += sorted(new)


def follows(armature: bpy.types.Object, is_active: bool) -> Iterator[tuple[str, Any, str]]:
    """Yield bones with the objects, and bones of these, that they follow.

    Args:
        armature: The armature.
        is_active: Whether only constraints count that have an effect now.
    """
    shown = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    for bone in pose_bones(shown if is_active else armature):
        for con in active_constraints(bone) if is_active else bone.constraints:
            yield from ((bone.name, *target) for target in _inputs(con))
    for item in settings(armature).constraints:
        yield from ((item.bone, *target) for target in _inputs(item))
    data = armature.animation_data
    for curve in data.drivers if data is not None else ():
        owner = split_bone_path(curve.data_path)[0]
        for ob, index in driver_inputs(curve.driver) if owner else ():
            if index >= 0:
                yield owner, ob, skeleton_of(ob).names[index]


def _inputs(con: Any) -> Iterator[tuple[Any, str]]:
    """Yield the objects and bones that a constraint follows."""
    yield getattr(con, "target", None), getattr(con, "subtarget", "")
    yield getattr(con, "pole_target", None), getattr(con, "pole_subtarget", "")
    for target in getattr(con, "targets", ()):
        yield target.target, target.subtarget


def is_seen(armature: bpy.types.Object, bones: Collection[str]) -> bool:
    """Return whether anything that deforms, or any object, hangs on bones or follows them.

    In an armature without deforming bones all are seen.
    """
    controls = Controls(armature, is_active=True)
    controls_below = {name for bone in bones for name in controls.below(bone)}
    if controls_below & _deforming(armature):
        return True
    if any(ob.parent == armature and ob.parent_bone in controls_below for ob in _by_bone()):
        return True
    owners: list[Any] = [*bpy.data.objects]
    for ob in bpy.data.objects:
        owners += pose_bones(ob) if ob.pose is not None and ob != armature else ()
    return any(
        ob == armature and name in controls_below
        for owner in owners
        for con in owner.constraints
        for ob, name in _inputs(con)
    )


def controller_of(armature: bpy.types.Object, bone: str) -> str:
    """Return the bone of the same armature that a bone copies the rotation of; empty for none."""
    for con in reversed(active_constraints(pose_bones(armature)[bone])):
        is_copy = con.type in ("COPY_TRANSFORMS", "COPY_ROTATION") and con.influence == 1.0
        if is_copy and con.target == armature and con.subtarget in pose_bones(armature):
            return con.subtarget
    return ""
