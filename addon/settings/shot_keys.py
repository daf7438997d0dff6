"""Keys and drivers of a shot stay with the list items of an overridden armature.

Blender identifies an item in the path of a property by its number in the list, as in
``fabrik.constraints[2].influence``. It evaluates names as well, but its buttons look for numbers.
If a library moves or removes items, the numbers in its shots are those of others.

So each local action with such paths has a note of the items that its numbers stand for, and each
override one for its drivers. Where a list has become another one, paths are moved. Those of items
that are gone get the name instead of a number, which finds nothing.
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
"""The custom property of an action: its notes by the handle of the slot."""

ITEM = re.compile(r'fabrik\.(\w+)\[(?:(\d+)|"((?:[^"\\]|\\.)*)")\](.*)', re.DOTALL)
"""Splits the path of an item's property into the list, its number or its name, and the rest."""

Lists = dict[str, list[list[Any]]]
"""The items of lists by the list's name: name, key (0 without one) and bone of each."""


def keep() -> None:
    """Move paths to where the items of overrides are now, and note these."""
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
        if all(others == items for others, _ in uses):
            _keep_keys(holder, str(slot), items)


def renew(ob: bpy.types.Object) -> None:
    """Note the items of an armature whose paths were changed along with its lists."""
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
        name: [[one.name, getattr(one, "key", 0), getattr(one, "bone", "")] for one in items]
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
    """Do the same with the drivers of an override, except for those that its library has."""
    fabrik, data, override = settings(ob), ob.animation_data, ob.override_library
    drivers = [curve for curve in data.drivers if _is_ours(curve)] if data is not None else []
    if override is None or not drivers:
        return
    reference: Any = override.reference
    library = reference.animation_data if reference is not None else None
    inherited = {(c.data_path, c.array_index) for c in library.drivers} if library else set()
    own = [curve for curve in drivers if (curve.data_path, curve.array_index) not in inherited]
    text = json.dumps(items)
    if not own or fabrik.driven_lists == text:
        return
    if fabrik.driven_lists:
        _move(own, json.loads(fabrik.driven_lists), items)
    fabrik.driven_lists = text


def _is_ours(curve: Any) -> bool:
    path = curve.data_path
    return path.startswith("fabrik.") and ITEM.fullmatch(path) is not None


def _move(curves: list[Any], before: Lists, now: Lists) -> None:
    """Move the paths of curves from the items that were noted to those that there are."""
    taken = {(curve.data_path, curve.array_index) for curve in curves}
    moved = [(curve, path) for curve in curves for path in _moved(curve.data_path, before, now)]
    taken -= {(curve.data_path, curve.array_index) for curve, _ in moved}
    for curve, path in moved:
        if (path, curve.array_index) in taken:
            continue  # It was keyed anew while its item was gone.
        curve.data_path = path
        curve.is_valid = True
        if curve.driver is not None:
            curve.driver.type = curve.driver.type  # Blender then resolves its paths again.
    if moved:
        moved[0][0].id_data.update_tag()


def _moved(path: str, before: Lists, now: Lists) -> Iterator[str]:
    """Yield the new path of a property, if it is another one."""
    match = ITEM.fullmatch(path)
    if match is None:
        return
    collection, number, name, rest = match.groups()
    noted, items = before.get(collection, []), now.get(collection, [])
    if number is None:
        item = [bpy.utils.unescape_identifier(name), 0, ""]
    elif int(number) < len(noted):
        item = noted[int(number)]
    else:
        return
    place = _place(item, noted, items)
    index = f'"{bpy.utils.escape_identifier(item[0])}"' if place is None else place
    new = f"fabrik.{collection}[{index}]{rest}"
    if new != path:
        yield new


def _place(item: list[Any], noted: list[list[Any]], items: list[list[Any]]) -> int | None:
    """Return where an item is now: that of its name, as overrides have it, or that was renamed.

    Keys alone do not tell: those of removed items are given again.
    """
    names = [one[0] for one in items]
    if item[0] in names:
        return names.index(item[0])
    known = {one[0] for one in noted}
    for place, one in enumerate(items):
        if item[1] and one[1:] == item[1:] and one[0] not in known:
            return place
    return None


def lost(ob: bpy.types.Object) -> list[str]:
    """Return the names of the items that an override's keys and drivers wait for."""
    if ob.override_library is None:
        return []
    curves = filter(_is_ours, animation.all_curves(ob))
    matches = [ITEM.fullmatch(curve.data_path) for curve in curves]
    names = [match[3] for match in matches if match is not None and match[3] is not None]
    return [bpy.utils.unescape_identifier(name) for name in dict.fromkeys(names)]
