"""Deferred writes of planning: followed renames, keys and unique names of constraints.

Planning itself doesn't write, because renders and draw handlers may need a plan. The writes are
collected here and applied in the next viewport update.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import bpy

from ..blender.access import pose_bones
from ..blender.session import part
from ..settings import notifications
from ..settings.overriding import complete_reference
from ..settings.properties import LISTS, made_unique, settings
from .plan import keys_of


class DeferredWrites:
    """The session's deferred writes.

    Attributes:
        noted: For each data-block, RNA path of the owner and name of the setting: the block, the
            old value and the new value. Owners aren't referenced, because references may become
            invalid.
        shapes: For each armature and name of a control: the armature, the name of the bone at which
            it is drawn, and whether to draw it there. A click there selects the control.
        new: The armatures planned since the last write.
        followed: The armatures whose settings followed renames in the last writes.
        written: The armatures with lists that the last writes may have changed.
        storing: For each armature, the names of the bones that store names, and of their mirror
            images.
    """

    def __init__(self) -> None:
        """Start with no deferred writes."""
        self.noted: dict[tuple[int, str, str], tuple[bpy.types.ID, object, object]] = {}
        self.shapes: dict[tuple[int, str], tuple[bpy.types.Object, str, bool]] = {}
        self.new: dict[int, bpy.types.Object] = {}
        self.followed: set[int] = set()
        self.written: set[int] = set()
        self.storing: dict[int, set[str]] = {}

    def forget(self) -> None:
        """Discard all writes, as for data that undo replaces."""
        self.noted.clear()
        self.shapes.clear()
        self.new.clear()
        self.followed.clear()
        self.storing.clear()

    def note(self, owner: Any, name: str, value: object) -> None:
        """Set a property of a bone or property group in the next update."""
        old = getattr(owner, name)
        if old != value:
            block = owner.id_data
            self.noted[block.session_uid, owner.path_from_id(), name] = block, old, value

    def note_new(self, armature: bpy.types.Object) -> None:
        """Assign keys and unique names in the lists of an armature in the next update."""
        self.new[armature.session_uid] = armature
        self.storing.pop(armature.session_uid, None)

    def apply(self) -> set[int]:
        """Apply the writes; return the armatures with renamed list items."""
        renamed: set[int] = set()
        self.written = {block.session_uid for block, *_ in self.noted.values()}
        names: dict[int, tuple[Any, dict[str, str]]] = {}
        with notifications.following() as followed:
            while self.noted:
                (_, path, name), (block, old, value) = self.noted.popitem()
                with suppress(ReferenceError, ValueError):  # The owner was removed.
                    owner: Any = block.path_resolve(path)
                    if getattr(owner, name) == old:
                        setattr(owner, name, value)
                        self.storing.pop(block.session_uid, None)
                        if name == "fabrik_name" and old:
                            _, olds = names.setdefault(block.session_uid, (block, {}))
                            olds[owner.name] = str(old)
            for block, old_names in names.values():
                _follow_in_lists(block, old_names)
            while self.shapes:
                (_, name), (armature, tip, is_drawn) = self.shapes.popitem()
                with suppress(ReferenceError, KeyError):  # Something was removed.
                    _draw_at(pose_bones(armature), name, tip, is_drawn)
            while self.new:
                uid, armature = self.new.popitem()
                with suppress(ReferenceError):
                    if self._complete(armature):
                        renamed.add(uid)
        self.followed |= followed
        return renamed

    def _complete(self, armature: bpy.types.Object) -> bool:
        """Complete the lists of a new armature; return whether any item was renamed."""
        if _assign_keys(armature):
            self.written.add(armature.session_uid)
        is_any_renamed = _make_names_unique(armature)
        _correct_copied_names(armature)
        complete_reference(armature)
        return is_any_renamed


def write_later(owner: Any, name: str, value: object) -> None:
    """Set a property of a bone or property group in the next update."""
    part(DeferredWrites).note(owner, name, value)


def draw_at(armature: bpy.types.Object, control: str, bone: str, is_drawn: bool) -> None:
    """Start or stop drawing a control at another bone, from the next update on.

    Args:
        armature: The armature of both.
        control: The name of the control.
        bone: The name of the other bone.
        is_drawn: Whether to draw it there. If False, only a control drawn at that bone changes.
    """
    posed: Any = pose_bones(armature)[control]
    at = posed.custom_shape_transform
    if is_drawn != (at is not None and at.name == bone) and (at is None or at.name == bone):
        key = armature.session_uid, control
        part(DeferredWrites).shapes[key] = armature, bone, is_drawn


def _draw_at(bones: Any, control: str, bone: str, is_drawn: bool) -> None:
    bones[control].custom_shape_transform = bones[bone] if is_drawn else None


def _assign_keys(armature: bpy.types.Object) -> bool:
    """Assign a unique key to each constraint; return whether any was assigned."""
    keys = keys_of(settings(armature))
    taken, last = {0}, max(keys, default=0)
    for i, key in enumerate(keys):
        if key in taken:
            key = last = last + 1
            settings(armature).constraints[i].key = key
        taken.add(key)
    return taken != {0, *keys}


def _make_names_unique(armature: bpy.types.Object) -> bool:
    """Store unique names of all list items; return whether any was renamed.

    Library overrides identify list items only by name, and Blender up to 4.5 only finds items whose
    name was set.
    """
    if armature.library is not None or armature.override_library is not None:
        return False
    is_any_renamed, fabrik = False, settings(armature)
    for collection in ("constraints", *LISTS):
        items = getattr(fabrik, collection)
        names = [item.name for item in items]
        if not names:
            continue
        for item, name, free in zip(items, names, made_unique(names), strict=True):
            if free != name or not item.is_property_set("name"):
                item.name = free
            is_any_renamed |= free != name
    return is_any_renamed


def stored_names(armature: bpy.types.Object) -> dict[str, str]:
    """Return the names stored on bones, by bone name."""
    return {bone.name: bone.fabrik_name for bone in pose_bones(armature)}


def is_renamed(bone: str, stored: Mapping[str, str]) -> bool:
    """Return whether a bone was renamed, instead of copied with another bone's stored name.

    Another bone may have its old name by now, if that bone was renamed as well. If the old names
    form a cycle, Paste Pose Flipped has swapped them.

    Args:
        bone: Its name.
        stored: The stored name of each bone.
    """
    visited: set[str] = set()
    while bone in stored and bone not in visited:
        visited.add(bone)
        bone = stored[bone] or bone
    return bone not in stored


def _follow_in_lists(armature: Any, old_names: Mapping[str, str]) -> None:
    """Make list items that planning doesn't resolve follow renamed bones."""
    stored = {**stored_names(armature), **old_names}
    new_names = {old: new for new, old in old_names.items() if is_renamed(new, stored)}
    for collection in LISTS if new_names else ():
        for item in getattr(settings(armature), collection):
            if getattr(item, "bone", None) in new_names:
                item.bone = new_names[item.bone]


def store_name(bone: Any) -> None:
    """Store a bone's name in the bone, so that it can be found after it is renamed."""
    bone.fabrik_name = bone.name
    part(DeferredWrites).storing.pop(bone.id_data.session_uid, None)


def has_copied_names(armature: bpy.types.Object) -> bool:
    """Return whether bones stored names of other bones, as pasted ones do.

    Paste Pose Flipped copies the name that a bone stores to its mirror image. Because this function
    is called whenever a bone is posed, it doesn't look at other bones.
    """
    bones, known = pose_bones(armature), part(DeferredWrites).storing
    storing = known.get(armature.session_uid)
    if storing is None:
        names = {bone.name for bone in bones if bone.fabrik_name}
        storing = names.union([*map(bpy.utils.flip_name, names)])
        known[armature.session_uid] = storing
    stored = {name: bones[name].fabrik_name for name in storing if name in bones}
    return any([other and other != name and other in bones for name, other in stored.items()])


def _correct_copied_names(armature: bpy.types.Object) -> None:
    """Correct the stored name of bones to which another bone's was copied."""
    bones = pose_bones(armature)
    for bone in bones:
        stored = bone.fabrik_name
        if stored and stored != bone.name and stored in bones:
            bone.fabrik_name = bone.name
