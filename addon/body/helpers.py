"""Distinguishes a rig's helper bones from bones that deform, control others, or are visible."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, cast

import bpy

from fabrik_solver.motion.anatomy import NOT_BODY, words_of

from ..blender.access import pose_bones
from ..blender.curves import split_bone_path
from ..blender.dependency_driver import existing_bone
from ..blender.relations import active_constraints, deformers, driver_targets
from ..blender.skeleton import skeleton_of
from ..settings.properties import settings


def is_helper(armature: bpy.types.Object, bone: str) -> bool:
    """Return whether neither a bone nor its descendants deform a mesh or have a child object.

    If there is no mesh, a helper is a bone that doesn't deform, is named as a control, or has
    neither parent nor children.
    """
    rig = skeleton_of(armature)
    below = {rig.names[i] for i in rig.below({rig.index[bone]})}
    if any(ob.parent == armature and ob.parent_bone in below for ob in _by_bone()):
        return False
    deforming = _deforming(armature)
    meshes = [ob for ob in bpy.data.objects if armature in deformers(ob) and ob.vertex_groups]
    if meshes:
        return not any(_has_weight(mesh, below & deforming) for mesh in meshes)
    bone_posed = pose_bones(armature)[bone]
    is_alone = bone_posed.parent is None and not bone_posed.children
    names = [bone, *(parent.name for parent in bone_posed.parent_recursive)]
    is_named = any(NOT_BODY & set(words_of(name)) for name in names)
    return is_alone or is_named or not below & deforming


def _by_bone() -> list[bpy.types.Object]:
    """Return the objects parented to each bone, by the bone's name."""
    return [ob for ob in bpy.data.objects if ob.parent_type == "BONE"]


def _deforming(armature: bpy.types.Object) -> set[str]:
    """Return the names of the deforming bones, or of all bones if none deforms."""
    bones = cast(bpy.types.Armature, armature.data).bones
    return {bone.name for bone in bones if bone.use_deform} or set(bones.keys())


def _has_weight(ob: bpy.types.Object, bones: Collection[str]) -> bool:
    """Return whether an object has vertex weights for any of the bones."""
    groups = {group.index for group in ob.vertex_groups if group.name in bones}
    if not groups or not isinstance(ob.data, bpy.types.Mesh):
        return bool(groups)
    return any(
        element.group in groups and element.weight > 0.0
        for v in ob.data.vertices
        for element in v.groups
    )


class Controls:
    """Which bones of an armature follow others by constraints (Blender's and ours) or drivers."""

    def __init__(self, armature: bpy.types.Object, is_active: bool = False) -> None:
        """Read the relations; with ``is_active``, only those that currently have an effect."""
        self._rig = skeleton_of(armature)
        self._followers: dict[str, set[str]] = {}
        for bone, ob, name in follows(armature, is_active):
            if ob is not None and ob.original == armature:
                self._followers.setdefault(name, set()).add(bone)

    def has_any(self, bone: str) -> bool:
        """Return whether anything follows a bone or its descendants."""
        rig = self._rig
        return any(rig.names[i] in self._followers for i in rig.below({rig.index[bone]}))

    def below(
        self, start: str, is_end: Callable[[str], bool] = lambda _bone: False
    ) -> Iterator[str]:
        """Yield a bone and everything parented to it or following it, directly or indirectly.

        Args:
            start: The bone.
            is_end: Returns whether to skip the children and followers of a bone.
        """
        visited, pending = {start}, [start]
        while pending:
            bone = pending.pop()
            yield bone
            if is_end(bone):
                continue
            rig = self._rig
            children = {rig.names[i] for i in rig.children[rig.index[bone]]}
            new = (children | self._followers.get(bone, set())) - visited
            visited |= new
            pending += sorted(new)


def follows(armature: bpy.types.Object, is_active: bool) -> Iterator[tuple[str, Any, str]]:
    """Yield the name of each bone that follows something, with that object and the object's bone.

    Args:
        armature: The armature.
        is_active: Whether to ignore constraints that currently have no effect.
    """
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    for bone in pose_bones(evaluated if is_active else armature):
        if not bone.constraints:
            continue
        for con in active_constraints(bone) if is_active else bone.constraints:
            yield from ((bone.name, *target) for target in _inputs(con))
    for item in settings(armature).constraints:
        yield from ((item.bone, *target) for target in _inputs(item))
    data = armature.animation_data
    for curve in data.drivers if data is not None else ():
        owner = split_bone_path(curve.data_path)[0]
        for block, bone in driver_targets(curve.driver) if owner else ():
            if isinstance(block, bpy.types.Object) and existing_bone(block, bone):
                yield owner, block, bone


def _inputs(con: Any) -> Iterator[tuple[Any, str]]:
    """Yield the objects and bones that a constraint depends on."""
    yield getattr(con, "target", None), getattr(con, "subtarget", "")
    yield getattr(con, "pole_target", None), getattr(con, "pole_subtarget", "")
    for target in getattr(con, "targets", ()):
        yield target.target, target.subtarget


def is_seen(armature: bpy.types.Object, bones: Collection[str]) -> bool:
    """Return whether deforming bones or objects are parented to bones or follow them.

    In an armature without deforming bones, all bones are visible.
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
    """Return the bone of the same armature whose rotation a bone copies; empty if there is none."""
    for con in reversed(active_constraints(pose_bones(armature)[bone])):
        is_copy = con.type in ("COPY_TRANSFORMS", "COPY_ROTATION") and con.influence == 1.0
        if is_copy and con.target == armature and con.subtarget in pose_bones(armature):
            return con.subtarget
    return ""
