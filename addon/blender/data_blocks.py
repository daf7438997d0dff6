"""The motion-relevant contents of data-blocks, in forms that don't depend on the session."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import bpy

from . import animation
from .offset_layers import edited_layer

Moving = frozenset[tuple[str, int]]
"""Animated channels, as pairs of data path and array index."""

SIZE = 16
"""The size of a digest, in bytes."""

INTERFACE_ONLY = {"name", "active", "select", "is_active", "show_expanded", "show_in_editmode"}
"""Properties without effect on motion."""

KEY_COLUMNS = [row for row in animation.KEY_COLUMNS if not row[0].endswith("_type")]
"""The properties of a keyframe: name, type code and size."""

OWNER = re.compile(r'^(pose\.bones|fabrik\.\w+)\[("(?:[^"\\]|\\.)*"|\d+)\]')
"""Matches the prefix of a data path that identifies a pose bone or an item of our collections."""

_cache: dict[tuple[int, int], Any] = {}
"""Digests of actions, meshes and shape keys, by `session_uid` and slot handle."""


def forget(uids: set[int]) -> None:
    """Discard the cached digests of data-blocks that have changed."""
    for key in [key for key in _cache if key[0] in uids]:
        del _cache[key]


def forget_all() -> None:
    """Discard all cached digests."""
    _cache.clear()


def static_values(owner: Any, name: str, moving: Moving) -> object:
    """Return the value of a property, without animated components.

    Args:
        owner: The owner of the property.
        name: The property, an array or a string.
        moving: The animated components: names and array indices.
    """
    value = getattr(owner, name)
    if isinstance(value, str):
        return None if (name, 0) in moving else value
    return [x for i, x in enumerate(value) if (name, i) not in moving]


def values(struct: Any, moving: Moving = frozenset()) -> list[tuple[str, object]]:
    """Return the names and values of properties that are neither animated nor at their defaults.

    Defaults are omitted so that new properties of a later Blender make no difference.
    """
    values_read: list[tuple[str, object]] = []
    for prop in struct.bl_rna.properties:
        name = prop.identifier
        if name in INTERFACE_ONLY or prop.type in ("COLLECTION", "POINTER") or prop.is_readonly:
            continue  # The data it refers to is digested separately.
        value = plain(getattr(struct, name))
        if value != _default(prop):
            values_read.append((name, value))
    if moving and values_read:
        base = "" if isinstance(struct, bpy.types.ID) else f"{struct.path_from_id()}."
        animated = {path for path, _ in moving}
        values_read = [pair for pair in values_read if base + pair[0] not in animated]
    return values_read


def plain(value: Any) -> object:
    """Return a value in a form that doesn't depend on the session."""
    if isinstance(value, bpy.types.ID):
        return None
    if isinstance(value, set):
        return sorted(value)
    if hasattr(value, "__len__") and not isinstance(value, str):
        return [plain(component) for component in value]
    return value


def _default(prop: Any) -> object:
    if prop.type == "ENUM":
        return sorted(prop.default_flag) if prop.is_enum_flag else prop.default
    if getattr(prop, "is_array", False):
        return list(prop.default_array)
    return getattr(prop, "default", None)


def nla_content(owner: Any) -> Iterator[object]:
    """Yield the settings of NLA strips that are evaluated; actions are digested separately.

    Those of an offset layer count once it has F-curves, because an empty layer changes nothing.
    """
    data, layer = owner.animation_data, edited_layer(owner)
    strips = [holder for holder in animation.acting_holders(owner) if holder != data]
    if layer is not None:
        strips.remove(layer.base)
        strips = strips if action_content(layer.strip) else strips[:-1]
    if strips:
        yield data.action_blend_type, data.action_extrapolation, data.action_influence
    for strip in strips:
        # Blender sets these during playback, the influence unless it is constant.
        is_set = strip.use_animated_influence and all(curve.is_empty for curve in strip.fcurves)
        played = ("strip_time",) if is_set else ("strip_time", "influence")
        yield [pair for pair in values(strip) if pair[0] not in played]
        yield [curve_digest(curve) for curve in strip.fcurves]


def action_content(holder: Any) -> list[tuple[str, bytes]]:
    """Return the data paths and digests of the F-curves of a holder's action."""
    action = holder.action
    key = (action.session_uid, getattr(holder, "action_slot_handle", 0))
    if key not in _cache:
        lists = animation.curve_lists(action, getattr(holder, "action_slot", None))
        _cache[key] = [(c.data_path, curve_digest(c)) for curves in lists for c in curves]
    return _cache[key]


def curve_digest(curve: Any) -> bytes:
    """Return the digest of an F-curve, which excludes its owner (`owner_in_path`)."""
    group = not animation.HAS_LAYERS and curve.group is not None and curve.group.mute
    name = OWNER.sub("", curve.data_path)
    head = (name, curve.array_index, curve.mute or group, curve.extrapolation)
    hasher = blake2b(repr(head).encode(), digest_size=SIZE)
    keys = curve.keyframe_points
    for name, kind, size in KEY_COLUMNS:
        hasher.update(column(keys, name, kind, size))
    hasher.update(column(curve.sampled_points, "co", "f", 2))
    for modifier in curve.modifiers:
        hasher.update(repr(values(modifier)).encode())
    return hasher.digest()


@lru_cache(maxsize=4096)  # All actions of a character have the same paths.
def owner_in_path(path: str) -> tuple[str, str]:
    """Return the collection, and name or index, of a data path's owner; empty without an owner."""
    match = OWNER.match(path)
    if match is None:
        return "", ""
    kind, name = match.groups()
    return kind, bpy.utils.unescape_identifier(name[1:-1]) if name.startswith('"') else name


def driver_content(driver: Any) -> list[object]:
    """Return the settings of a driver; the data that it reads is digested separately."""
    content: list[object] = [driver.type, driver.expression, driver.use_self]
    for variable in driver.variables:
        content += [variable.name, variable.type]
        content += [values(target) for target in variable.targets]
    return content


def mesh_digest(mesh: bpy.types.Mesh) -> bytes:
    """Return the digest of the vertices and faces of a mesh."""
    key = (mesh.session_uid, 0)
    if key not in _cache:
        hasher = blake2b(column(mesh.vertices, "co", "f", 3), digest_size=SIZE)
        hasher.update(column(mesh.loops, "vertex_index", "i", 1))
        hasher.update(column(mesh.polygons, "loop_start", "i", 1))
        _cache[key] = hasher.digest()
    return _cache[key]


def shape_keys_digest(keys: bpy.types.Key) -> bytes:
    """Return the digest of the coordinates of shape keys."""
    key = (keys.session_uid, 0)
    if key not in _cache:
        hasher = blake2b(digest_size=SIZE)
        for block in keys.key_blocks:
            hasher.update(column(block.data, "co", "f", 3))
        _cache[key] = hasher.digest()
    return _cache[key]


def column(items: Any, name: str, kind: str, size: int) -> bytes:
    """Return the raw bytes of a property of all items of a collection.

    Args:
        items: The collection.
        name: The property.
        kind: The code of its four-byte type.
        size: Its number of components.
    """
    column = array(kind, bytes(4 * size * len(items)))
    if column:
        items.foreach_get(name, column)
    return column.tobytes()
