"""Which constraints, drivers, parents and settings refer to an object or a bone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, cast

import bpy

from ..blender.access import pose_bones
from ..blender.curves import split_bone_path
from ..settings.properties import settings

Control = tuple[bpy.types.Object, str]
"""An object and the name of its bone; empty for the object itself."""

PLACES = (bpy.types.Collection, bpy.types.Scene, bpy.types.Screen, bpy.types.WindowManager)
"""Users that contain or show an object, but don't depend on it."""

NO_BONES = ("name", "message", "constraint")
"""String settings of ours that don't contain a bone name."""

OF_BONES: list[type[bpy.types.PropertyGroup]] = []
"""Settings that are a bone's own data, such as its hold. Their `bone` names it."""

POINTERS = ("custom_shape_transform", "bbone_custom_handle_start", "bbone_custom_handle_end")
"""Bone properties that point to other bones of the armature."""


def used_controls(controls: Collection[Control]) -> set[Control]:
    """Return the controls that anything except themselves refers to."""
    objects = [ob for ob, bone in controls if not bone]
    holders = {ob: {name for rig, name in controls if rig == ob} for ob, bone in controls if bone}
    wanted = {*objects, *holders, *[ob.data for ob in holders]}
    users: dict[Any, set[Any]] = bpy.data.user_map(subset=wanted)  # type: ignore[arg-type]
    used: set[Control] = {
        (ob, "")
        for ob in objects
        if any(not isinstance(user, PLACES) and user not in objects for user in users.get(ob, ()))
    }
    for holder, names in holders.items():
        referring = {holder, *users.get(holder, ()), *users.get(holder.data, ())}
        inner = {name for name in names if _is_used_inside(holder, name, names)}
        for user in referring:
            if user not in objects and isinstance(user, bpy.types.ID):
                inner |= _named_by(user, holder, names)
        used |= {(holder, name) for name in inner}
    return used


def _is_used_inside(holder: bpy.types.Object, name: str, among: Collection[str]) -> bool:
    """Return whether a bone's own armature needs it, for a skin or for other bones.

    Args:
        holder: The armature.
        name: The bone.
        among: Bones whose use of it doesn't count.
    """
    bones: Any = holder.data.bones  # type: ignore[union-attr]
    if bones[name].use_deform or any(child.name not in among for child in bones[name].children):
        return True
    return any(
        target is not None and target.name == name
        for bone in pose_bones(holder)
        if bone.name not in among
        for target in (getattr(owner, key, None) for owner in (bone, bone.bone) for key in POINTERS)
    )


def _named_by(user: Any, holder: bpy.types.Object, names: Collection[str]) -> set[str]:
    """Return the bones of an armature that a data-block refers to, outside the bones' own data.

    Args:
        user: The data-block.
        holder: The armature.
        names: The bones to look for.
    """
    bones = set(_driving(user, holder, names))
    if not isinstance(user, bpy.types.Object):
        return bones | (_texts(user, names) if user == holder.data else set())
    if user.parent == holder and user.parent_type == "BONE":
        bones |= {user.parent_bone} & {*names}
    owners = [user.constraints, user.modifiers]
    if user.pose is not None:
        other_bones = [bone for bone in user.pose.bones if user != holder or bone.name not in names]
        owners += [bone.constraints for bone in other_bones]
        if user == holder:
            for owner in (user, *other_bones, *[bone.bone for bone in other_bones]):
                bones |= _texts(owner, names)
    for struct in (item for owner in owners for item in owner):
        bones |= _named(struct, holder, names)
        for target in getattr(struct, "targets", ()):
            bones |= _named(target, holder, names)
    for group in _settings_of(user, names if user == holder else ()):
        bones |= _named(group, holder, names)
        if user == holder:
            bones |= _posed_by(group, names)
    return bones


def _posed_by(group: Any, names: Collection[str]) -> set[str]:
    """Return the bones of a group's armature that settings in the group refer to."""
    return {
        text
        for name, text in _strings(group, names)
        if name not in NO_BONES and not name.endswith("subtarget")
    }


def _driving(user: Any, holder: bpy.types.Object, names: Collection[str]) -> Iterator[str]:
    """Yield the bones that a data-block's drivers read, ignoring drivers of the bones."""
    for block in (user, getattr(user, "node_tree", None)):
        data = getattr(block, "animation_data", None)
        for curve in data.drivers if data is not None else ():
            if block == holder and split_bone_path(curve.data_path)[0] in names:
                continue
            for target in (tgt for variable in curve.driver.variables for tgt in variable.targets):
                if target.id in (holder, holder.data):
                    yield from (name for name in names if _reads(target, name))


def _reads(target: Any, bone: str) -> bool:
    """Return whether a driver target is a bone, or a property of it."""
    path = f'bones["{bpy.utils.escape_identifier(bone)}"]'
    return target.bone_target == bone or path in target.data_path


def _named(struct: Any, holder: bpy.types.Object, names: Collection[str]) -> set[str]:
    """Return the bones named by a struct's strings, if one of its pointers is the armature."""
    named = {text for _, text in _strings(struct, names)}
    pointers = [prop.identifier for prop in struct.bl_rna.properties if prop.type == "POINTER"]
    return named if named and any(getattr(struct, name) == holder for name in pointers) else set()


def _strings(struct: Any, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield a struct's string properties whose value is one of the names."""
    for prop in struct.bl_rna.properties:
        if prop.type == "STRING" and prop.subtype != "BYTE_STRING":
            text = getattr(struct, prop.identifier)
            if text in names:
                yield prop.identifier, text


def _texts(owner: Any, names: Collection[str]) -> set[str]:
    """Return the names that occur in a data-block's or bone's custom properties."""
    texts = (owner.get(key) for key in owner.keys() if not key.startswith("fabrik"))  # noqa: SIM118
    return {text for text in texts if isinstance(text, str) and text in names}


def named_controls(armature: bpy.types.Object, item: Any) -> Iterator[str]:
    """Yield the control bones named by settings of features, such as a foot's roll."""
    bones: Any = pose_bones(armature)
    for group in [*_groups(item)][1:]:
        for _, name in _strings(group, bones.keys()):
            if bones[name].bone.fabrik_is_control:
                yield name


def _settings_of(
    user: bpy.types.Object, without: Collection[str]
) -> Iterator[bpy.types.PropertyGroup]:
    """Yield the groups of our settings on an object, except those that belong to some bones."""
    if user.is_property_set("fabrik"):
        yield from _groups(settings(user), without)


def _groups(
    group: bpy.types.PropertyGroup, without: Collection[str] = ()
) -> Iterator[bpy.types.PropertyGroup]:
    """Yield one of our property groups and the groups in it, except those of some bones."""
    if isinstance(group, tuple(OF_BONES)) and cast(Any, group).bone in without:
        return
    yield group
    for prop in group.bl_rna.properties:
        is_group = prop.identifier != "rna_type" and prop.type in ("POINTER", "COLLECTION")
        if not is_group or not group.is_property_set(prop.identifier):
            continue  # Reading an unset group would store an empty group.
        value: Any = getattr(group, prop.identifier)
        inner = value if prop.type == "COLLECTION" else [value]
        for item in inner:
            if isinstance(item, bpy.types.PropertyGroup):
                yield from _groups(item, without)
