"""Transfer of settings when armatures are joined, so that they survive as Blender's constraints do.

Blender moves bones with their constraints and drivers, but frees the joined object and with it our
settings. Its evaluated copy still has them when the update handler runs, before Blender rebuilds
the dependency graph: see `_note`. Blender has pushed the undo step of the join by then. So the
transfer is repeated after an undo to that step: see `_follow_all`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast
from uuid import uuid4

import bpy

from ..blender import animation, dependency_driver
from ..blender.listeners import on_load
from . import notifications
from .properties import free_among, free_name, settings
from .shot_keys import ITEM

BONE_OF = {
    "target": "subtarget",
    "pole_target": "pole_subtarget",
    "object": "bone",
    "pole": "pole_bone",
}
"""Pointer settings, each with the setting of the same group that names a bone of its object."""

Renamed = Mapping[str, Mapping[str, str]]
"""The new names of the joined armatures' bones, by armature name and old bone name."""

Curves = tuple[int, int]
"""The session UID of an action (0 without an action), and the handle of its slot."""


def _by_uid(blocks: Any, uid: int) -> Any:
    """Return the data-block with a session UID; None if it no longer exists."""
    return next((block for block in blocks if block.session_uid == uid), None)


@dataclass(frozen=True)
class BlockPointer:
    """A data-block that a setting points to. Undo doesn't change its session UID.

    Attributes:
        kind: The type of the data-block.
        uid: Its session UID.
    """

    kind: str
    uid: int

    def block(self) -> bpy.types.ID | None:
        """Return the data-block, if it still exists."""
        blocks: Any = bpy.data.collections if self.kind == "COLLECTION" else bpy.data.objects
        return _by_uid(blocks, self.uid)


@dataclass(frozen=True)
class JoinedArmature:
    """An armature that was joined into another one.

    Attributes:
        uid: Its session UID if the object still exists because something uses it; otherwise 0.
        name: Its name.
        bones: The new names of its bones, by their old names.
        values: All stored settings, with the new bone names.
        drivers: The number of its drivers, which Blender appends to those of the other armature.
        read: The driver targets that were joined armatures: indices of driver, variable and target,
            and the armature's name.
        tracks: The number of its NLA tracks, which Blender appends as well.
        action: Its active action.
    """

    uid: int
    name: str
    bones: Mapping[str, str]
    values: Mapping[str, Any]
    drivers: int
    read: list[tuple[int, int, int, str]]
    tracks: int
    action: Curves


@dataclass(frozen=True)
class Join:
    """A join of armatures into the active armature.

    Attributes:
        name: Identifies the join in the armature's settings, once these were transferred.
        armature: The session UID of the active armature.
        drivers: The number of its drivers before the join.
        tracks: The number of its NLA tracks before the join.
        action: Its active action before the join.
        is_bare: Whether only our driver animated it. Because of that driver, Blender doesn't give
            it the action of a joined armature.
        parts: The armatures joined into it, in Blender's order.
        ends: Settings that pointed to a joined armature. For each: session UID of the object, path
            of the group, names of the pointer and of the bone setting, and the new bone name.
    """

    name: str
    armature: int
    drivers: int
    tracks: int
    action: Curves
    is_bare: bool
    parts: list[JoinedArmature]
    ends: list[tuple[int, str, str, str, str]]

    def is_seen(self, ob: bpy.types.Object) -> bool:
        """Return whether an armature is in the state in which Blender leaves it after this join."""
        bones = cast("bpy.types.Armature", ob.data).bones
        return (
            self.name not in settings(ob).joined.split()
            and all(name in bones for part in self.parts for name in part.bones.values())
            and not any(_is_in_use(part.name) for part in self.parts)
        )


_joins: list[Join] = []
"""All joins since the file was opened. Undo and redo may return to them."""


@on_load
def _forget() -> None:
    _joins.clear()


def follow_joins(graphs: list[bpy.types.Depsgraph], is_undone: bool) -> None:
    """Transfer the settings of armatures that may have been joined since the last evaluation.

    Args:
        graphs: The dependency graphs of the scene, before they are updated.
        is_undone: Whether undo or redo has replaced the data of the file.
    """
    if not is_undone:
        _note(graphs)
    _follow_all()


def _note(graphs: Iterable[bpy.types.Depsgraph]) -> None:
    """Record which armatures were joined since the last evaluation."""
    joins_by_name: dict[str, Join] = {}
    for graph in graphs:
        ids = [block for block in graph.ids if isinstance(block, bpy.types.Object)]
        copies = {ob.name: ob for ob in ids if ob.type == "ARMATURE" and ob.library is None}
        gone = [copy for name, copy in copies.items() if not _is_in_use(name)]
        for name, copy in copies.items() if gone else ():
            ob = bpy.data.objects.get(name)
            if ob is not None and copy not in gone and name not in joins_by_name:
                matched = _matched(ob, copy, gone)
                if matched:
                    joins_by_name[name] = _join(ob, copy, matched, copies)
    _joins.extend(joins_by_name.values())


def _is_in_use(name: str) -> bool:
    ob = bpy.data.objects.get(name)
    return ob is not None and len(ob.users_scene) > 0


def _matched(ob: bpy.types.Object, copy: Any, gone: list[Any]) -> list[tuple[Any, dict[str, str]]]:
    """Return the evaluated copies of the joined armatures, each with its new bone names.

    Blender appends the bones of one armature after those of another, and numbers duplicate names.

    Args:
        ob: The resulting armature.
        copy: Its evaluated copy from before the join.
        gone: The evaluated copies of armatures that no longer exist.
    """
    old_names = {bone.name for bone in copy.data.bones}
    new = [bone for bone in cast("bpy.types.Armature", ob.data).bones if bone.name not in old_names]
    matches: list[tuple[Any, dict[str, str]]] = []
    left = [candidate for candidate in gone if len(candidate.data.bones)]
    while new:
        fitting = [candidate for candidate in left if _fits(candidate.data.bones, new)]
        if not fitting:
            break
        candidate = min(fitting, key=lambda other: _distance(other, ob, new))
        left.remove(candidate)
        bones = candidate.data.bones
        matches.append((candidate, {a.name: b.name for a, b in zip(bones, new, strict=False)}))
        new = new[len(bones) :]
    return matches


def _fits(bones: Any, new: list[Any]) -> bool:
    return len(bones) <= len(new) and all(
        _stem(a.name) == _stem(b.name) for a, b in zip(bones, new, strict=False)
    )


def _stem(name: str) -> str:
    return re.sub(r"\.\d+$", "", name)


def _distance(copy: Any, ob: bpy.types.Object, new: list[Any]) -> float:
    """Return the summed distance between a joined armature's bone heads and new ones, in meters."""
    pairs = zip(copy.data.bones, new, strict=False)
    old_matrix, new_matrix = copy.matrix_world, ob.matrix_world
    return sum([(old_matrix @ a.head_local - new_matrix @ b.head_local).length for a, b in pairs])


def _join(
    ob: bpy.types.Object,
    copy: Any,
    matched: list[tuple[Any, dict[str, str]]],
    copies: Mapping[str, Any],
) -> Join:
    renamed = {joined_copy.name: bones for joined_copy, bones in matched}
    data = copy.animation_data
    ends: list[tuple[int, str, str, str, str]] = []
    for name, its in copies.items():
        owner = bpy.data.objects.get(name)
        if owner is not None and name not in renamed and its.is_property_set("fabrik"):
            ends += [(owner.session_uid, *end) for end in _ends(its.fabrik, "", renamed)]
    return Join(
        name=uuid4().hex,
        armature=ob.session_uid,
        drivers=len(data.drivers) if data else 0,
        tracks=len(data.nla_tracks) if data else 0,
        action=_action(data),
        is_bare=bool(data and data.drivers) and not animation.is_animated(copy),
        parts=[_part(joined_copy, bones, renamed, ob) for joined_copy, bones in matched],
        ends=ends,
    )


def _part(
    copy: Any, bones: Mapping[str, str], renamed: Renamed, armature: bpy.types.Object
) -> JoinedArmature:
    data, ob = copy.animation_data, bpy.data.objects.get(copy.name)
    drivers = [*data.drivers] if data else []
    read = [
        (i, j, k, target.id.name)
        for i, curve in enumerate(drivers)
        for j, variable in enumerate(curve.driver.variables)
        for k, target in enumerate(variable.targets)
        if isinstance(target.id, bpy.types.Object) and target.id.name in renamed
    ]
    has_ours = copy.is_property_set("fabrik")
    return JoinedArmature(
        uid=ob.session_uid if ob is not None else 0,
        name=copy.name,
        bones=bones,
        values=_stored(copy.fabrik, bones, renamed, armature) if has_ours else {},
        drivers=len(drivers),
        read=read,
        tracks=len(data.nla_tracks) if data else 0,
        action=_action(data),
    )


def _action(data: Any) -> Curves:
    """Return the active action of evaluated animation data."""
    copy = data.action if data else None
    action = bpy.data.actions.get((copy.name, _library(copy))) if copy else None
    return (action.session_uid, getattr(data, "action_slot_handle", 0)) if action else (0, 0)


def _library(block: Any) -> str | None:
    return block.library.filepath if block.library else None


def _set_in(group: Any) -> Iterator[Any]:
    """Yield the properties that a group stores."""
    for prop in group.bl_rna.properties:
        is_ours = prop.is_runtime or prop.identifier == "name"
        can_be_set = not prop.is_readonly or prop.type in ("COLLECTION", "POINTER")
        if is_ours and can_be_set and group.is_property_set(prop.identifier):
            yield prop


def _stored(
    group: Any, bones: Mapping[str, str], renamed: Renamed, armature: bpy.types.Object
) -> dict[str, Any]:
    """Return the stored values of a group, adapted to the armature that it was joined into.

    Args:
        group: The group.
        bones: The new bone names of the group's own armature.
        renamed: The new bone names of each joined armature.
        armature: The armature that it was joined into.
    """
    values: dict[str, Any] = {}
    for prop in _set_in(group):
        name, value = prop.identifier, getattr(group, prop.identifier)
        if prop.type == "COLLECTION":
            values[name] = [_stored(item, bones, renamed, armature) for item in value]
        elif isinstance(value, bpy.types.PropertyGroup):
            values[name] = _stored(value, bones, renamed, armature)
        elif prop.type == "POINTER":
            values[name] = _pointer(value, renamed, armature)
        elif prop.type == "STRING" and isinstance(value, str):
            names = _bones_named_by(group, name, bones, renamed)
            values[name] = "\n".join(names.get(line, line) for line in value.split("\n"))
        else:
            values[name] = tuple(value) if getattr(prop, "is_array", False) else value
    return values


def _pointer(value: Any, renamed: Renamed, armature: bpy.types.Object) -> BlockPointer | None:
    if value is None:
        return None
    if isinstance(value, bpy.types.Object) and value.name in renamed and not value.library:
        return BlockPointer("OBJECT", armature.session_uid)
    kind = "COLLECTION" if isinstance(value, bpy.types.Collection) else "OBJECT"
    blocks: Any = bpy.data.collections if kind == "COLLECTION" else bpy.data.objects
    original = blocks.get((value.name, _library(value)))
    return BlockPointer(kind, original.session_uid) if original is not None else None


def _bones_named_by(
    group: Any, name: str, bones: Mapping[str, str], renamed: Renamed
) -> Mapping[str, str]:
    """Return the new names of the bones that a setting may name, by old name.

    Args:
        group: The group of the setting.
        name: The setting.
        bones: The new bone names of the group's own armature.
        renamed: The new bone names of each joined armature.
    """
    for pointer, bone in BONE_OF.items():
        if bone == name and pointer in group.bl_rna.properties:
            block = getattr(group, pointer) if group.is_property_set(pointer) else None
            return renamed.get(block.name, {}) if block is not None else {}
    return bones


def _ends(group: Any, path: str, renamed: Renamed) -> Iterator[tuple[str, str, str, str]]:
    """Yield the settings in a group that point to joined armatures; see `Join.ends`."""
    for prop in _set_in(group):
        name, value = prop.identifier, getattr(group, prop.identifier)
        if prop.type == "COLLECTION":
            for i, item in enumerate(value):
                yield from _ends(item, f"{path}.{name}[{i}]", renamed)
        elif isinstance(value, bpy.types.PropertyGroup):
            yield from _ends(value, f"{path}.{name}", renamed)
        elif isinstance(value, bpy.types.Object) and value.name in renamed and not value.library:
            bone = BONE_OF.get(name, "")
            old = getattr(group, bone, "") if bone else ""
            yield path, name, bone, renamed[value.name].get(old, old)


def _follow_all() -> None:
    """Transfer the settings of all joined armatures, unless this was done already."""
    done: set[int] = set()
    for join in reversed(_joins):  # A join that was undone and repeated is recorded twice.
        ob = BlockPointer("OBJECT", join.armature).block()
        if isinstance(ob, bpy.types.Object) and join.armature not in done and join.is_seen(ob):
            done.add(join.armature)
            _follow(ob, join)


def _follow(ob: bpy.types.Object, join: Join) -> None:
    fabrik = settings(ob)
    _keep_slot(ob, join.action)
    driver, track = join.drivers, join.tracks
    drivers = [*ob.animation_data.drivers] if ob.animation_data else []
    tracks = [*ob.animation_data.nla_tracks] if ob.animation_data else []
    with notifications.following():
        first_items = {part.name: _add(ob, part.values) for part in join.parts}
        _follow_ends(ob, join)
        fabrik.joined = " ".join([*fabrik.joined.split(), join.name])
    for part in join.parts:
        offsets = first_items[part.name]
        _move_drivers(ob, drivers[driver : driver + part.drivers], part, first_items)
        holders = [*animation.strips(tracks[track : track + part.tracks])]
        if part.action[0] and _takes_action(ob, join, part):
            holders.append(ob.animation_data)
        elif part.action[0]:
            _copy_keys(ob, part.action, offsets)
        other_objects = [
            other for other in bpy.data.objects if other != ob and other.is_property_set("fabrik")
        ]
        animation.rewrite_in(
            holders, other_objects, lambda curves, offsets=offsets: _move(curves, offsets)
        )
        driver += part.drivers
        track += part.tracks
    _release_parts(join)
    notifications.structure.notify(ob)
    ob.update_tag()


def _follow_ends(ob: bpy.types.Object, join: Join) -> None:
    """Make settings that referred to joined armatures refer to the resulting armature."""
    for uid, path, name, bone, renamed in join.ends:
        owner = BlockPointer("OBJECT", uid).block()
        if owner is None or (owner == ob and name == "controls"):
            continue
        group: Any = settings(owner)
        group = group.path_resolve(path[1:]) if path else group
        setattr(group, name, ob)
        if bone:
            setattr(group, bone, renamed)
        notifications.structure.notify(owner)


def _release_parts(join: Join) -> None:
    """Remove joined armatures that only their own settings still used."""
    for part in join.parts:
        left = BlockPointer("OBJECT", part.uid).block() if part.uid else None
        if left is not None:
            left.property_unset("fabrik")  # These settings may be the object's last user.
            if left.users == 0:
                bpy.data.objects.remove(cast(Any, left))


def _keep_slot(ob: bpy.types.Object, old_action: Curves) -> None:
    """Assign the slot of an armature's action again, if Blender has unassigned it.

    Blender does so if a joined armature has drivers, such as ours, and no action.
    """
    uid, slot = old_action
    action = ob.animation_data.action if ob.animation_data else None
    if slot and action is not None and action.session_uid == uid:
        animation.use_action(ob, action, slot)


def _takes_action(ob: bpy.types.Object, join: Join, part: JoinedArmature) -> bool:
    """Return whether an armature uses the action of an armature that was joined into it.

    Blender gives it the first such action, unless it has animation data.
    """
    if join.action[0] or any(other.action[0] for other in join.parts[: join.parts.index(part)]):
        return False
    uid, slot = part.action
    action = _by_uid(bpy.data.actions, uid)
    data = ob.animation_data
    if join.is_bare and data is not None and data.action is None:
        animation.use_action(ob, action, slot)
    return data is not None and data.action == action


Places = Mapping[str, int]
"""The index of the first added item of each list, by the list's name."""


def _add(ob: bpy.types.Object, values: Mapping[str, Any]) -> Places:
    """Extend an armature's lists by those of a joined armature, and add missing groups.

    Args:
        ob: The armature.
        values: The stored settings of the joined armature.

    Returns:
        The index of the first added item in each list.
    """
    fabrik: Any = settings(ob)
    keys = [item.key for item in fabrik.constraints]
    names: dict[str, str] = {}
    numbers: dict[int, int] = {}
    first_items = {name: len(getattr(fabrik, name)) for name in values if _is_list(values[name])}
    for item in values.get("constraints", ()):
        new_item = fabrik.constraints.add()
        old_name = item.get("name", new_item.name)
        name = free_name(ob, old_name)
        numbers[item.get("key", 0)] = key = max([0, *keys]) + 1
        keys.append(key)
        names[old_name] = name
        _put(new_item, {**item, "name": name, "key": key})
    for name, stored in _with_constraints(values, names, numbers).items():
        if name == "constraints":
            continue
        if isinstance(stored, list):
            _extend(getattr(fabrik, name), stored)
        elif isinstance(stored, dict):
            _put_missing(fabrik, name, stored)
    return first_items


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _with_constraints(
    values: Mapping[str, Any], names: Mapping[str, str], keys: Mapping[int, int]
) -> dict[str, Any]:
    """Return stored values in which references to constraints have the new names and keys."""
    changed: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, list):
            changed[name] = [_with_constraints(item, names, keys) for item in value]
        elif isinstance(value, dict):
            changed[name] = _with_constraints(value, names, keys)
        elif name == "constraint":
            changed[name] = names.get(value, value)
        elif name == "key":
            changed[name] = keys.get(value, 0) if value else 0
        else:
            changed[name] = value
    return changed


def _extend(items: Any, stored: list[dict[str, Any]]) -> None:
    for values in stored:
        name = free_among(items, values["name"]) if values.get("name") else ""
        _put(items.add(), {**values, "name": name} if name else values)


def _put(group: Any, values: Mapping[str, Any]) -> None:
    """Set the stored values of a group that stores nothing yet."""
    for name, value in values.items():
        if isinstance(value, list):
            _extend(getattr(group, name), value)
        elif isinstance(value, dict):
            _put(getattr(group, name), value)
        else:
            setattr(group, name, value.block() if isinstance(value, BlockPointer) else value)


def _put_missing(owner: Any, name: str, values: Mapping[str, Any]) -> None:
    """Set those stored values of a group that its owner doesn't store yet, and extend lists."""
    if not owner.is_property_set(name):
        _put(getattr(owner, name), values)
        return
    group = getattr(owner, name)
    for key, value in values.items():
        if isinstance(value, list):
            _extend(getattr(group, key), value)
        elif not group.is_property_set(key):
            _put(group, {key: value})


def _moved(path: str, first_items: Places) -> str:
    """Return the new data path of a property of a joined armature's list item.

    Args:
        path: The old path; returned as is if it leads to no such item.
        first_items: The index of the first added item in each list.
    """
    match = ITEM.fullmatch(path)
    if match is None or match[2] is None or match[1] not in first_items:
        return path
    return f"fabrik.{match[1]}[{first_items[match[1]] + int(match[2])}]{match[4]}"


def _move(curves: Any, first_items: Places) -> None:
    for curve in curves:
        path = _moved(curve.data_path, first_items)
        if path != curve.data_path:
            curve.data_path = path


def _move_drivers(
    ob: bpy.types.Object,
    drivers: list[Any],
    part: JoinedArmature,
    first_items: Mapping[str, Places],
) -> None:
    """Update the data paths of a joined armature's drivers to the new indices of its items."""
    data: Any = ob.animation_data
    for i, j, k, name in part.read:
        target = drivers[i].driver.variables[j].targets[k]
        target.data_path = _moved(target.data_path, first_items[name])
    for curve in drivers:
        if curve.data_path == dependency_driver.PATH:
            if curve != data.drivers.find(dependency_driver.PATH):
                data.drivers.remove(curve)
            continue
        path = _moved(curve.data_path, first_items[part.name])
        if path != curve.data_path:
            curve.data_path = path
            curve.driver.type = curve.driver.type  # Blender then resolves its paths again.


def _copy_keys(ob: bpy.types.Object, source: Curves, first_items: Places) -> None:
    """Copy the keys of a joined armature's items to the armature's active action."""
    uid, handle = source
    action = _by_uid(bpy.data.actions, uid)
    lists = animation.curve_lists_of(action, handle)
    ours = [curve for curves in lists for curve in curves if ITEM.fullmatch(curve.data_path)]
    if ours:
        bag = animation.ensure_channelbag(ob)
        for curve in ours:
            animation.copy_curve(curve, bag.fcurves, _moved(curve.data_path, first_items))
