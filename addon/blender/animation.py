"""Animation data of objects: actions, slots, F-curves, NLA strips and drivers.

Hides the differences between the versions of Blender.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor
from typing import Any

import bpy

from . import dependency_driver
from .access import pose_bones
from .listeners import Listeners
from .offset_layers import edited_layer, unedited
from .rotation import channel_of, mode_of

HAS_LAYERS = hasattr(bpy.types, "ActionLayer")
"""Whether actions have layers and slots.

Before Blender 4.4, an action is a flat list of F-curves, and muting a group takes effect.
"""


before_edit = Listeners[[bpy.types.Object]]()
"""Called before the F-curves or drivers of an object are edited."""


@dataclass(frozen=True)
class Channels:
    """The animated channels of an object, as pairs of data path and array index.

    Attributes:
        keyed: The channels set by F-curves of the active action or the NLA.
        driven: The channels set by drivers.
    """

    keyed: frozenset[tuple[str, int]]
    driven: frozenset[tuple[str, int]]

    @cached_property
    def paths(self) -> set[str]:
        """The data paths of all channels."""
        return {path for path, _ in self.keyed | self.driven}

    @cached_property
    def has_modes(self) -> bool:
        """Whether the rotation mode of a bone is animated."""
        return any(path.endswith(".rotation_mode") for path in self.paths)

    def numbers(self, bone: str, channel: str) -> tuple[list[int], list[int]]:
        """Return the keyed and the driven array indices of a bone's channel."""
        if not self.keyed and not self.driven:
            return [], []
        path = f'pose.bones["{bpy.utils.escape_identifier(bone)}"].{channel}'
        return (
            [i for i in range(4) if (path, i) in self.keyed],
            [i for i in range(4) if (path, i) in self.driven],
        )


def actions(ob: bpy.types.Object) -> Iterator[bpy.types.Action]:
    """Yield the active action and the actions of NLA strips, once for each use."""
    for holder in holders(ob):
        if holder.action:
            yield holder.action


def is_animated(ob: bpy.types.Object) -> bool:
    """Return whether the object has an action, NLA tracks or drivers other than our own.

    Adding the first of these makes Blender rebuild relations.
    """
    data = ob.animation_data
    if data is None:
        return False
    drivers = [curve for curve in data.drivers if curve.data_path != dependency_driver.PATH]
    return bool(data.action or data.nla_tracks or drivers)


def holders(ob: Any) -> Iterator[Any]:
    """Yield the possible holders of an action: the animation data and all its NLA strips.

    In tweak mode the animation data shows the action of a strip, and can't get another one.
    """
    data = ob.animation_data
    if data is None:
        return
    if not data.use_tweak_mode:
        yield data
    yield from strips(data.nla_tracks)


def strips(tracks: Iterable[Any]) -> Iterator[Any]:
    """Yield the strips of NLA tracks, including those in meta strips."""
    pending: list[Any] = [strip for track in tracks for strip in track.strips]
    while pending:
        strip = pending.pop(0)
        yield strip
        pending += strip.strips


def acting_holders(ob: Any) -> Iterator[Any]:
    """Yield the holders that are evaluated, considering muted and solo tracks."""
    data = ob.animation_data
    if data is None:
        return
    tracks = [track for track in data.nla_tracks if not track.mute] if data.use_nla else []
    soloed = [track for track in tracks if track.is_solo]
    if not soloed and not data.use_tweak_mode:  # It shows the action of a strip then.
        yield data
    # Muted and inactive strips are included: they set their channels to the defaults.
    yield from strips(soloed or tracks)


def _acting_lists(ob: Any) -> list[Any]:
    """Return the F-curve collections that are evaluated."""
    return [
        curves
        for holder in acting_holders(ob)
        for curves in curve_lists(holder.action, getattr(holder, "action_slot", None))
    ]


def curve_lists(action: Any, slot: object) -> list[bpy.types.bpy_prop_collection[bpy.types.FCurve]]:
    """Return the F-curve collections of an action for a slot."""
    return [bag.fcurves for bag in _bags(action, slot)]


def _bags(action: Any, slot: object) -> list[Any]:
    """Return the channelbags of an action for a slot; before 4.4, the action itself."""
    if not HAS_LAYERS:
        return [action] if action else []
    if slot is None:
        return []
    bags = [strip.channelbag(slot) for layer in action.layers for strip in layer.strips]
    return [bag for bag in bags if bag]


def animated(ob: Any) -> Channels:
    """Return the channels of a data-block that its animation currently sets."""
    keyed: set[tuple[str, int]] = set()
    for curves in _acting_lists(ob) if ob.animation_data else ():
        keyed.update((c.data_path, c.array_index) for c in curves if has_effect(c))
    return Channels(frozenset(keyed), driven(ob))


def is_keyed(ob: Any, path: str) -> bool:
    """Return whether the animation of a data-block currently sets a scalar property."""
    matches = [curves.find(path) for curves in _acting_lists(ob)]
    return any(curve is not None and has_effect(curve) for curve in matches)


def is_driven(ob: Any, path: str) -> bool:
    """Return whether an unmuted driver sets a scalar property."""
    data = ob.animation_data
    curve = None if data is None else data.drivers.find(path)
    return curve is not None and not curve.mute


def is_set(ob: Any, path: str) -> bool:
    """Return whether a scalar property is keyed or driven."""
    return is_keyed(ob, path) or is_driven(ob, path)


def has_effect(curve: bpy.types.FCurve) -> bool:
    """Return whether an F-curve takes effect: it is neither empty nor muted."""
    if curve.mute or curve.is_empty:
        return False
    return HAS_LAYERS or curve.group is None or not curve.group.mute


def frames_beyond_keys(curve: bpy.types.FCurve, start: int, end: int) -> tuple[int, ...]:
    """Return the ends of a range up to which an F-curve keeps changing beyond its keys.

    Linear extrapolation and modifiers such as Cycles and Noise cause this.
    """
    if not len(curve.modifiers) and curve.extrapolation == "CONSTANT":
        return ()
    keys = [key.co[0] for key in curve.keyframe_points] or [float(start)]
    outside = {start: range(start, ceil(min(keys))), end: range(floor(max(keys)) + 1, end + 1)}
    edges = {start: curve.evaluate(min(keys)), end: curve.evaluate(max(keys))}
    return tuple(
        at for at, frames in outside.items() if any(curve.evaluate(f) != edges[at] for f in frames)
    )


def clips_of(ob: bpy.types.Object, everywhere: bool) -> list[Any]:
    """Return the F-curves of each action of an object, or of each action in the file."""
    if everywhere:
        uses = [(action, slot) for action in bpy.data.actions for slot in _object_slots(action)]
    else:
        uses = [(holder.action, getattr(holder, "action_slot", None)) for holder in holders(ob)]
    clips: dict[tuple[int, int], list[Any]] = {}
    for action, slot in uses:
        key = (action.session_uid if action else 0, getattr(slot, "handle", 0))
        if key not in clips:
            clips[key] = [*curve_lists(action, slot)]
    return [curves for lists in clips.values() for curves in lists]


def channel_of_clip(curves: Any, path: str, count: int) -> dict[int, Any]:
    """Return a property's effective F-curves from a collection, by array index."""
    by_index = ((i, curves.find(path, index=i)) for i in range(count))
    return {i: curve for i, curve in by_index if curve is not None and has_effect(curve)}


def active_curves(ob: bpy.types.Object, path: str) -> dict[int, Any]:
    """Return the F-curves of a property in the object's active action, by array index."""
    return {c.array_index: c for c in all_active_curves(ob) if c.data_path == path}


def all_active_curves(ob: bpy.types.Object) -> list[Any]:
    """Return all F-curves of the object's active action."""
    return [curve for curves in active_lists(ob) for curve in curves]


def active_lists(ob: bpy.types.Object) -> list[Any]:
    """Return the F-curve collections of the object's active action.

    With an offset layer, this is the action below the layer.
    """
    holder = active_holder(ob)
    if holder is None or holder.action is None:
        return []
    return curve_lists(holder.action, getattr(holder, "action_slot", None))


def active_holder(ob: bpy.types.Object) -> Any:
    """Return the holder of the action that gets keys of absolute values; None if there is none.

    This is the animation data or, with an offset layer, the strip below the layer.
    """
    data = ob.animation_data
    layer = edited_layer(ob) if data is not None and data.use_tweak_mode else None
    return data if layer is None else layer.base


def channel_curves(lists: Sequence[Any], path: str, count: int) -> list[Any]:
    """Return the effective F-curve, or None, of each component of a property."""
    by_component: list[Any] = [None] * count
    for curves in reversed(lists):
        for i in range(count):
            curve = curves.find(path, index=i)
            if curve is not None and has_effect(curve):
                by_component[i] = curve
    return by_component


def is_only_user(ob: bpy.types.Object, holder: Any, bones: Iterable[int]) -> bool:
    """Return whether nothing else uses F-curves of bones in an action of an object.

    A slot lists its users as data-blocks, so it doesn't count Action constraints within the object.
    Each of these reads the F-curves of the bone it is on.

    Args:
        ob: The object.
        holder: The object's animation data, or the NLA strip that has the action.
        bones: The indices of the bones.
    """
    action = holder.action
    # A strip in tweak mode shares its action with the animation data.
    data: Any = ob.animation_data
    is_tweaked = holder != data and data.action == action
    if action.users - action.use_fake_user == 1 + is_tweaked:
        return True
    if not HAS_LAYERS or len(holder.action_slot.users()) > 1:
        return False
    owners = pose_bones(ob)
    constraints = (con for bone in bones for con in owners[bone].constraints)
    return all(con.type != "ACTION" or _key(con) != _key(holder) for con in constraints)


def has_nla(ob: bpy.types.Object) -> bool:
    """Return whether the object's NLA strips are evaluated."""
    data = ob.animation_data
    if data is None or not data.nla_tracks:
        return False
    return any(holder != data for holder in acting_holders(ob))


def mute(ob: bpy.types.Object, path: str) -> None:
    """Mute a scalar property's F-curve in the active action, and its driver."""
    before_edit.notify(ob)
    lists = active_lists(ob)
    if ob.animation_data is not None:
        lists.append(ob.animation_data.drivers)
    for curve in filter(None, [curves.find(path) for curves in lists]):
        curve.mute = True


def ensure_channelbag(ob: bpy.types.Object) -> Any:
    """Return the channelbag of the object's active action, created if needed, to edit it.

    Before 4.4, this is the action itself.
    """
    before_edit.notify(ob)
    data = ob.animation_data or ob.animation_data_create()
    assert data is not None
    holder = active_holder(ob)
    if holder.action is None:
        holder.action = bpy.data.actions.new(f"{ob.name}Action")
    action: Any = holder.action
    if not HAS_LAYERS:
        return action
    if holder.action_slot is None:
        holder.action_slot = action.slots.new("OBJECT", ob.name)
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(holder.action_slot, ensure=True)


def copy_action(ob: bpy.types.Object, name: str) -> None:
    """Replace an object's active action with a copy; without an action, create one."""
    data: Any = ob.animation_data or ob.animation_data_create()
    if data.action is None:
        data.action = bpy.data.actions.new(name)
    else:
        copy = data.action.copy()
        copy.name = name
        use_action(ob, copy, getattr(data, "action_slot_handle", 0))


def use_action(ob: bpy.types.Object, action: bpy.types.Action | None, slot: int) -> None:
    """Assign an action, with a slot, to an object that has animation data.

    Args:
        ob: The object.
        action: The action; None unassigns.
        slot: The handle of the slot; 0 without a slot. Ignored before 4.4.
    """
    data: Any = ob.animation_data
    if data.action != action:  # In tweak mode of the NLA, it can't even be assigned again.
        data.action = action
    if HAS_LAYERS and action is not None and data.action_slot != _slot(action, slot):
        data.action_slot = _slot(action, slot)


def _object_slots(action: Any) -> list[Any]:
    if not HAS_LAYERS:
        return [None]
    return [slot for slot in action.slots if slot.target_id_type in ("OBJECT", "UNSPECIFIED")]


def driven(ob: Any) -> frozenset[tuple[str, int]]:
    """Return the channels that the object's unmuted drivers set."""
    data = ob.animation_data
    drivers = data.drivers if data else ()
    if not drivers:
        return frozenset()
    return frozenset((curve.data_path, curve.array_index) for curve in drivers if not curve.mute)


def has_driver(ob: bpy.types.Object, bone: bpy.types.PoseBone, channel: str) -> bool:
    """Return whether any component of a bone's channel is driven.

    ``rotation`` stands for the channel of the bone's rotation mode.
    """
    data = ob.animation_data
    if data is None or not data.drivers:
        return False
    if channel == "rotation":
        channel, _ = channel_of(mode_of(bone))
    path = bone.path_from_id(channel)
    drivers = [data.drivers.find(path, index=i) for i in range(4)]
    return any([curve is not None and not curve.mute for curve in drivers])


def revive_drivers() -> None:
    """Revalidate the drivers that set or read properties of the extension.

    While the extension is disabled, Blender can't resolve their paths and marks them as invalid.
    Blender tries again only when a file is loaded.
    """
    for block in bpy.data.user_map():
        data = getattr(block, "animation_data", None)
        invalid = [c for c in data.drivers if not c.driver.is_valid] if data else ()
        for curve in filter(_uses_extension, invalid):
            # Setting any of its properties makes Blender resolve its paths again.
            curve.driver.type = curve.driver.type
            block.update_tag()


def _uses_extension(curve: Any) -> bool:
    """Return whether a driver sets or reads a property of the extension."""
    targets = [target for variable in curve.driver.variables for target in variable.targets]
    return any("fabrik" in path for path in (curve.data_path, *(t.data_path for t in targets)))


def signature(ob: bpy.types.Object) -> tuple[object, ...]:
    """Return a cheap value that changes when the set of animated channels changes."""
    data = ob.animation_data
    if data is None:
        return ()
    parts: list[object] = [mute_flags(data.drivers)]
    for holder in acting_holders(ob):
        parts += _key(holder)
        for bag in _bags(holder.action, getattr(holder, "action_slot", None)):
            parts += [mute_flags(bag.fcurves), () if HAS_LAYERS else mute_flags(bag.groups)]
            if bag.fcurves:
                parts += [bag.fcurves[0].data_path, bag.fcurves[-1].data_path]
    return tuple(parts)


def mute_flags(items: Any) -> list[bool]:
    """Return whether each of some F-curves or groups is muted."""
    flags = [False] * len(items)
    items.foreach_get("mute", flags)
    return flags


def rewrite(
    ob: bpy.types.Object, other_objects: Iterable[bpy.types.Object], change: Callable[[Any], None]
) -> None:
    """Edit the drivers of an object, and its F-curves in all its actions.

    Args:
        ob: The object, not in the NLA's tweak mode except for an offset layer.
        other_objects: Objects whose F-curves must not change. If they use an action with the same
            slot, or if it is linked, it is copied first.
        change: Edits a collection of F-curves in place.
    """
    data = ob.animation_data
    if data is None:
        return
    before_edit.notify(ob)
    change(data.drivers)
    with unedited(ob):
        rewrite_in(holders(ob), other_objects, change)


def rewrite_in(
    action_holders: Iterable[Any],
    other_objects: Iterable[bpy.types.Object],
    change: Callable[[Any], None],
) -> None:
    """Edit the F-curves in some holders of an object's actions; see `rewrite`."""
    shared = {_key(holder) for other in other_objects for holder in holders(other)}
    editable_actions: dict[tuple[int, int], Any] = {}
    for holder in action_holders:
        action, key = holder.action, _key(holder)
        if action is None:
            continue
        if key not in editable_actions:
            can_edit = action.is_editable and key not in shared
            editable_actions[key] = action if can_edit else action.copy()
            for curves in curve_lists_of(editable_actions[key], key[1]):
                change(curves)
        if editable_actions[key] != action:
            holder.action = editable_actions[key]
            if key[1]:
                holder.action_slot = _slot(editable_actions[key], key[1])


def curve_lists_of(action: Any, handle: int) -> list[Any]:
    """Return the F-curve collections of an action for a slot handle."""
    return curve_lists(action, _slot(action, handle))


KEY_COLUMNS = (
    ("co", "f", 2),
    ("handle_left", "f", 2),
    ("handle_right", "f", 2),
    ("handle_left_type", "i", 1),
    ("handle_right_type", "i", 1),
    ("interpolation", "i", 1),
    ("easing", "i", 1),
    ("back", "f", 1),
    ("amplitude", "f", 1),
    ("period", "f", 1),
)
"""The properties of a key: name, type code and size."""


def copy_curve(curve: Any, curves: Any, path: str) -> None:
    """Copy an F-curve's keys to a path in another collection, unless the path has a curve."""
    if curves.find(path, index=curve.array_index) is not None:
        return
    copy = curves.new(path, index=curve.array_index)
    points, count = copy.keyframe_points, len(curve.keyframe_points)
    points.add(count)
    for name, code, size in KEY_COLUMNS:
        column = array(code, bytes(4 * count * size))
        curve.keyframe_points.foreach_get(name, column)
        points.foreach_set(name, column)
    copy.extrapolation, copy.mute = curve.extrapolation, curve.mute
    copy.update()


def all_curves(ob: bpy.types.Object) -> list[Any]:
    """Return the drivers of an object, and its F-curves in all its actions."""
    data = ob.animation_data
    if data is None:
        return []
    curves_in_all = list(data.drivers)
    for holder in holders(ob):
        for curves in curve_lists(holder.action, getattr(holder, "action_slot", None)):
            curves_in_all += curves
    return curves_in_all


def _key(holder: Any) -> tuple[int, int]:
    """Return the identity of a holder's F-curves: session UID of the action, and slot handle."""
    uid = holder.action.session_uid if holder.action else 0
    return uid, getattr(holder, "action_slot_handle", 0)


def _slot(action: Any, handle: int) -> object:
    return next((slot for slot in getattr(action, "slots", ()) if slot.handle == handle), None)
