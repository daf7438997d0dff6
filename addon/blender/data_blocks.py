"""What data-blocks hold that counts for what moves, in forms that are the same in every session."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import bpy

from . import animation

Moving = frozenset[tuple[str, int]]
"""The animated channels of an object, which differ from frame to frame."""

SIZE = 16
"""The bytes of a key."""

SHOWN_ONLY = {"name", "active", "select", "is_active", "show_expanded", "show_in_editmode"}
"""Properties that change nothing of what moves."""

KEY_COLUMNS = (
    ("co", "f", 2),
    ("handle_left", "f", 2),
    ("handle_right", "f", 2),
    ("interpolation", "i", 1),
    ("easing", "i", 1),
    ("back", "f", 1),
    ("amplitude", "f", 1),
    ("period", "f", 1),
)
"""What keys are made of."""

OWNER = re.compile(r'^(pose\.bones|fabrik\.\w+)\[("(?:[^"\\]|\\.)*"|\d+)\]')
"""The part of a path that names a bone, or counts what is in one of an armature's lists."""

_parts: dict[tuple[int, int], Any] = {}
"""What was worked out of actions and meshes, by their number and that of a slot."""


def forget(uids: set[int]) -> None:
    """Look again at actions and meshes that have changed."""
    for key in [key for key in _parts if key[0] in uids]:
        del _parts[key]


def forget_all() -> None:
    """Look again at everything."""
    _parts.clear()


def still(owner: Any, name: str, moving: Moving) -> object:
    """Return what a channel holds, without the numbers that are animated."""
    value = getattr(owner, name)
    if isinstance(value, str):
        return None if (name, 0) in moving else value
    return [x for i, x in enumerate(value) if (name, i) not in moving]


def values(struct: Any, moving: Moving = frozenset()) -> list[tuple[str, object]]:
    """Return all settings that are neither animated nor what they are by default.

    Without defaults, what a newer Blender adds makes no difference.
    """
    found: list[tuple[str, object]] = []
    for prop in struct.bl_rna.properties:
        name = prop.identifier
        if name in SHOWN_ONLY or prop.type in ("COLLECTION", "POINTER") or prop.is_readonly:
            continue  # What is pointed to counts for itself.
        value = plain(getattr(struct, name))
        if value != _default(prop):
            found.append((name, value))
    if moving and found:
        base = "" if isinstance(struct, bpy.types.ID) else f"{struct.path_from_id()}."
        animated = {path for path, _ in moving}
        found = [one for one in found if base + one[0] not in animated]
    return found


def plain(value: Any) -> object:
    """Return a value that says the same in every session."""
    if isinstance(value, bpy.types.ID):
        return None
    if isinstance(value, set):
        return sorted(value)
    if hasattr(value, "__len__") and not isinstance(value, str):
        return [plain(one) for one in value]
    return value


def _default(prop: Any) -> object:
    if prop.type == "ENUM":
        return sorted(prop.default_flag) if prop.is_enum_flag else prop.default
    if getattr(prop, "is_array", False):
        return list(prop.default_array)
    return getattr(prop, "default", None)


def of_nla(data: Any) -> Iterator[object]:
    """Yield how the strips of the NLA are laid; their actions count for themselves."""
    yield data.use_nla, data.action_blend_type, data.action_extrapolation, data.action_influence
    yield [(track.mute, track.is_solo) for track in data.nla_tracks]
    for strip in animation.strips(data.nla_tracks):
        # Blender sets these two as it plays.
        yield [one for one in values(strip) if one[0] not in ("influence", "strip_time")]
        yield [of_curve(curve) for curve in strip.fcurves]


def of_action(holder: Any) -> list[tuple[str, bytes]]:
    """Return the paths of an action's curves, and what each of them is made of."""
    action = holder.action
    key = (action.session_uid, getattr(holder, "action_slot_handle", 0))
    if key not in _parts:
        lists = animation.curve_lists(action, getattr(holder, "action_slot", None))
        _parts[key] = [(c.data_path, of_curve(c)) for curves in lists for c in curves]
    return _parts[key]


def of_curve(curve: Any) -> bytes:
    """Return what an F-curve is made of, in short; without what it belongs to (`owner_in`)."""
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


def owner_in(path: str) -> tuple[str, str]:
    """Return in which list what has a path is, and its name or number there; empty if in none."""
    found = OWNER.match(path)
    if found is None:
        return "", ""
    kind, name = found.groups()
    return kind, bpy.utils.unescape_identifier(name[1:-1]) if name.startswith('"') else name


def of_driver(driver: Any) -> list[object]:
    """Return how a driver works; what it reads counts for itself."""
    found: list[object] = [driver.type, driver.expression, driver.use_self]
    for variable in driver.variables:
        found += [variable.name, variable.type]
        found += [values(target) for target in variable.targets]
    return found


def of_mesh(mesh: bpy.types.Mesh) -> bytes:
    """Return the vertices and faces of a mesh, in short."""
    key = (mesh.session_uid, 0)
    if key not in _parts:
        hasher = blake2b(column(mesh.vertices, "co", "f", 3), digest_size=SIZE)
        hasher.update(column(mesh.loops, "vertex_index", "i", 1))
        hasher.update(column(mesh.polygons, "loop_start", "i", 1))
        _parts[key] = hasher.digest()
    return _parts[key]


def of_shapes(keys: bpy.types.Key) -> bytes:
    """Return the places in shape keys, in short."""
    key = (keys.session_uid, 0)
    if key not in _parts:
        hasher = blake2b(digest_size=SIZE)
        for block in keys.key_blocks:
            hasher.update(column(block.data, "co", "f", 3))
        _parts[key] = hasher.digest()
    return _parts[key]


def column(items: Any, name: str, kind: str, size: int) -> bytes:
    """Return a property of all items of a collection, to the last bit."""
    column = array(kind, bytes(4 * size * len(items)))
    if column:
        items.foreach_get(name, column)
    return column.tobytes()
