"""Repair of a shot's keys and drivers when its library changes the lists of an armature.

Blender identifies a list item in a data path by its index, as in
``fabrik.constraints[2].influence``. Blender evaluates names as well, but its buttons look for
indices. If a library moves or removes items, the indices in its shots refer to other items.

So each local action with such paths stores a note of the items that its indices refer to. Each
override stores a note for its drivers. If a list has changed, the data paths are updated. The path
of a removed item gets the item's name instead of an index, and resolves to nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import bpy

from ..blender import animation
from .properties import LISTS, settings

NOTE = "fabrik_lists"
"""The custom property of an action that stores its notes, by slot handle."""

ITEM = re.compile(r'fabrik\.(\w+)\[(?:(\d+)|"((?:[^"\\]|\\.)*)")\](.*)', re.DOTALL)
"""Splits the data path of an item's property: list, index or escaped name, and remainder."""

Lists = dict[str, list[list[Any]]]
"""The items of each list, by the list's name. Of each item: name, key (0 without one) and bone."""


def keep() -> None:
    """Update the data paths into lists of overrides, and store the current items as notes."""
    owners: dict[tuple[int, int], list[tuple[Lists, Any]]] = {}
    for ob in bpy.data.objects:
        if ob.override_library is None or ob.pose is None or not ob.is_property_set("fabrik"):
            continue
        items = _items(ob)
        _keep_drivers(ob, items)
        for holder in animation.holders(ob):
            if holder.action is not None and holder.action.is_editable:
                slot = getattr(holder, "action_slot_handle", 0)
                key = holder.action.session_uid, slot
                owners.setdefault(key, []).append((items, holder))
    for (_, slot), uses in owners.items():
        items, holder = uses[0]
        if all(other_items == items for other_items, _ in uses):
            _keep_keys(holder, str(slot), items)


def renew(ob: bpy.types.Object) -> None:
    """Store new notes for an armature whose lists and data paths were updated together."""
    if ob.override_library is None:
        return
    settings(ob).driven_lists = ""
    for action in animation.actions(ob):
        if action.is_editable and NOTE in action:
            del action[NOTE]
    keep()


def _items(ob: bpy.types.Object) -> Lists:
    fabrik = settings(ob)
    lists = {name: getattr(fabrik, name) for name in ("constraints", *LISTS)}
    return {
        name: [[item.name, getattr(item, "key", 0), getattr(item, "bone", "")] for item in items]
        for name, items in lists.items()
        if len(items)
    }


def _keep_keys(holder: Any, slot: str, items: Lists) -> None:
    action = holder.action
    notes: dict[str, str] = dict(action.get(NOTE, {}))
    text = json.dumps(items)
    if notes.get(slot) == text:
        return
    lists = animation.curve_lists(action, getattr(holder, "action_slot", None))
    if not any(_is_ours(curve) for curves in lists for curve in curves):
        return
    if slot in notes:
        for curves in lists:
            _move([*curves], json.loads(notes[slot]), items)
    action[NOTE] = notes | {slot: text}


def _keep_drivers(ob: bpy.types.Object, items: Lists) -> None:
    """Update the data paths of an override's drivers, as of its keys.

    Drivers that come from the library are left alone.

    Args:
        ob: The override.
        items: The current items of its lists.
    """
    fabrik, data, override = settings(ob), ob.animation_data, ob.override_library
    drivers = [curve for curve in data.drivers if _is_ours(curve)] if data is not None else []
    if override is None or not drivers:
        return
    reference: Any = override.reference
    library = reference.animation_data if reference is not None else None
    inherited = {(c.data_path, c.array_index) for c in library.drivers} if library else set()
    local_drivers = [
        curve for curve in drivers if (curve.data_path, curve.array_index) not in inherited
    ]
    text = json.dumps(items)
    if not local_drivers or fabrik.driven_lists == text:
        return
    if fabrik.driven_lists:
        _move(local_drivers, json.loads(fabrik.driven_lists), items)
    fabrik.driven_lists = text


def _is_ours(curve: Any) -> bool:
    path = curve.data_path
    return path.startswith("fabrik.") and ITEM.fullmatch(path) is not None


def _move(curves: list[Any], noted_lists: Lists, current_lists: Lists) -> None:
    """Change the data paths of curves from the noted items to the current ones."""
    taken = {(curve.data_path, curve.array_index) for curve in curves}
    moved = [
        (curve, path)
        for curve in curves
        for path in _moved(curve.data_path, noted_lists, current_lists)
    ]
    taken -= {(curve.data_path, curve.array_index) for curve, _ in moved}
    for curve, path in moved:
        if (path, curve.array_index) in taken:
            continue  # The property was keyed again while its item was missing.
        curve.data_path = path
        curve.is_valid = True
        if curve.driver is not None:
            curve.driver.type = curve.driver.type  # Blender then resolves its paths again.
    if moved:
        moved[0][0].id_data.update_tag()


def _moved(path: str, noted: Lists, items: Lists) -> Iterator[str]:
    """Yield the new data path of a property, if it differs.

    Args:
        path: The data path.
        noted: The items of each list when the path was noted.
        items: The current items of each list.
    """
    match = ITEM.fullmatch(path)
    if match is None:
        return
    collection, number, name, remainder = match.groups()
    noted_items, current_items = noted.get(collection, []), items.get(collection, [])
    if number is None:
        item = [bpy.utils.unescape_identifier(name), 0, ""]
    elif int(number) < len(noted_items):
        item = noted_items[int(number)]
    else:
        return
    item_index = _place(item, noted_items, current_items)
    index = f'"{bpy.utils.escape_identifier(item[0])}"' if item_index is None else item_index
    new = f"fabrik.{collection}[{index}]{remainder}"
    if new != path:
        yield new


def _place(item: list[Any], noted: list[list[Any]], items: list[list[Any]]) -> int | None:
    """Return the current index of an item; None if it was removed.

    It is found by its name or, if it was renamed, by key and bone. Keys alone don't identify items:
    those of removed items are reused.

    Args:
        item: Name, key and bone of the item.
        noted: The items of its list when it was noted.
        items: The current items of the list.
    """
    names = [candidate[0] for candidate in items]
    if item[0] in names:
        return names.index(item[0])
    noted_names = {candidate[0] for candidate in noted}
    for i, candidate in enumerate(items):
        if item[1] and candidate[1:] == item[1:] and candidate[0] not in noted_names:
            return i
    return None


def lost(ob: bpy.types.Object) -> list[str]:
    """Return the names of the missing items that an override's keys and drivers refer to."""
    if ob.override_library is None:
        return []
    curves = filter(_is_ours, animation.all_curves(ob))
    matches = [ITEM.fullmatch(curve.data_path) for curve in curves]
    names = [match[3] for match in matches if match is not None and match[3] is not None]
    return [bpy.utils.unescape_identifier(name) for name in dict.fromkeys(names)]
