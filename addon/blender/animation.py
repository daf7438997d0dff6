"""The animation of an object, however a version of Blender stores it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import bpy

from . import dependency_driver
from .rotation import channel_of, mode_of

HAS_LAYERS = hasattr(bpy.types, "ActionLayer")
"""Before Blender 4.4 an action is a flat list of F-curves, and groups can be muted."""


@dataclass(frozen=True)
class Channels:
    """The animated channels of an object as pairs of data path and index in the array.

    Attributes:
        keyed: Set by F-curves, of the action or of the NLA.
        driven: Set by drivers.
    """

    keyed: frozenset[tuple[str, int]]
    driven: frozenset[tuple[str, int]]

    @cached_property
    def has_modes(self) -> bool:
        """Whether the rotation mode of a bone is among them."""
        return any(path.endswith(".rotation_mode") for path, _ in self.keyed | self.driven)

    def sets(self, path: str) -> bool:
        """Return whether a property is among them, or any number of it."""
        return any(found == path for found, _ in self.keyed | self.driven)

    def numbers(self, bone: str, channel: str) -> tuple[list[int], list[int]]:
        """Return the keyed and the driven indices of a bone's channel."""
        if not self.keyed and not self.driven:
            return [], []
        path = f'pose.bones["{bpy.utils.escape_identifier(bone)}"].{channel}'
        return (
            [i for i in range(4) if (path, i) in self.keyed],
            [i for i in range(4) if (path, i) in self.driven],
        )


def actions(ob: bpy.types.Object) -> Iterator[bpy.types.Action]:
    """Yield each action that can animate the object."""
    for holder in holders(ob):
        if holder.action:
            yield holder.action


def is_animated(ob: bpy.types.Object) -> bool:
    """Return whether the object has any animation.

    Adding the first action, strip or driver makes Blender rebuild relations.
    """
    data = ob.animation_data
    if data is None:
        return False
    drivers = [curve for curve in data.drivers if curve.data_path != dependency_driver.PATH]
    return bool(data.action or data.nla_tracks or drivers)


def holders(ob: Any) -> Iterator[Any]:
    """Yield everything that can hold an action: the animation data and the NLA strips."""
    data = ob.animation_data
    if data is None:
        return
    yield data
    yield from strips(data.nla_tracks)


def strips(tracks: Iterable[Any]) -> Iterator[Any]:
    """Yield the strips of NLA tracks, including those inside meta strips."""
    strips: list[Any] = [strip for track in tracks for strip in track.strips]
    while strips:
        strip = strips.pop(0)
        yield strip
        strips += strip.strips


def _acting(ob: Any) -> Iterator[Any]:
    """Yield those that take part in the animation."""
    data = ob.animation_data
    if data is None:
        return
    tracks = [track for track in data.nla_tracks if not track.mute] if data.use_nla else []
    soloed = [track for track in tracks if track.is_solo]
    if not soloed:
        yield data
    # Muted and inactive strips count: they set their channels to the defaults.
    yield from strips(soloed or tracks)


def curve_lists(action: Any, slot: object) -> list[bpy.types.bpy_prop_collection[bpy.types.FCurve]]:
    """Return the lists of F-curves that an action has for a slot."""
    return [bag.fcurves for bag in _bags(action, slot)]


def _bags(action: Any, slot: object) -> list[Any]:
    """Return what holds the F-curves that an action has for a slot, and the groups of them."""
    if not HAS_LAYERS:
        return [action] if action else []
    if slot is None:
        return []
    bags = [strip.channelbag(slot) for layer in action.layers for strip in layer.strips]
    return [bag for bag in bags if bag]


def animated(ob: Any) -> Channels:
    """Return the channels that the animation of an object, or other data, sets now."""
    keyed: set[tuple[str, int]] = set()
    for holder in _acting(ob):
        for curves in curve_lists(holder.action, getattr(holder, "action_slot", None)):
            keyed.update((c.data_path, c.array_index) for c in curves if acts(c))
    return Channels(frozenset(keyed), driven(ob))


def acts(curve: bpy.types.FCurve) -> bool:
    """Return whether an F-curve has an effect."""
    if curve.mute or curve.is_empty:
        return False
    return HAS_LAYERS or curve.group is None or not curve.group.mute


def curves_of(ob: bpy.types.Object, path: str, everywhere: bool) -> list[dict[int, Any]]:
    """Return the F-curves of a channel by their index, in each action that has any.

    Args:
        ob: The object.
        path: The channel.
        everywhere: Whether to look at all objects' actions, not only at those the object uses.
    """
    if everywhere:
        uses = [(action, slot) for action in bpy.data.actions for slot in _object_slots(action)]
    else:
        uses = [(holder.action, getattr(holder, "action_slot", None)) for holder in holders(ob)]
    found: list[dict[int, Any]] = []
    known: set[tuple[int, int]] = set()
    for action, slot in uses:
        key = (action.session_uid if action else 0, getattr(slot, "handle", 0))
        if key in known:
            continue
        known.add(key)
        for curves in curve_lists(action, slot):
            own = {c.array_index: c for c in curves if c.data_path == path and acts(c)}
            found += [own] if own else []
    return found


def active_curves(ob: bpy.types.Object, path: str) -> dict[int, Any]:
    """Return the F-curves of a channel by their index, in the object's active action."""
    return {c.array_index: c for c in all_active_curves(ob) if c.data_path == path}


def all_active_curves(ob: bpy.types.Object) -> list[Any]:
    """Return the F-curves of the object's active action."""
    data = ob.animation_data
    if data is None or data.action is None:
        return []
    lists = curve_lists(data.action, getattr(data, "action_slot", None))
    return [curve for curves in lists for curve in curves]


def channel_curves(ob: bpy.types.Object, path: str, count: int) -> list[Any]:
    """Return the F-curves of the numbers of a channel in the active action, None without one."""
    data = ob.animation_data
    if data is None or data.action is None:
        return [None] * count
    lists: list[Any] = curve_lists(data.action, getattr(data, "action_slot", None))
    found: list[Any] = []
    for i in range(count):
        curves = [curve for curve in (one.find(path, index=i) for one in lists) if curve]
        found.append(next((curve for curve in curves if acts(curve)), None))
    return found


def has_nla(ob: bpy.types.Object) -> bool:
    """Return whether strips of the NLA take part in the object's animation."""
    data = ob.animation_data
    return data is not None and any(holder != data for holder in _acting(ob))


def mute(ob: bpy.types.Object, path: str) -> None:
    """Mute what the active action and the drivers of an object do with a property."""
    drivers: Any = ob.animation_data.drivers if ob.animation_data else ()
    for curve in [*active_curves(ob, path).values(), *(d for d in drivers if d.data_path == path)]:
        curve.mute = True


def ensured_bag(ob: bpy.types.Object) -> Any:
    """Return what holds the F-curves and groups of the object's active action, made if need be."""
    data = ob.animation_data or ob.animation_data_create()
    assert data is not None
    if data.action is None:
        data.action = bpy.data.actions.new(f"{ob.name}Action")
    action: Any = data.action
    if not HAS_LAYERS:
        return action
    if data.action_slot is None:
        data.action_slot = action.slots.new("OBJECT", ob.name)
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(data.action_slot, ensure=True)


def copy_action(ob: bpy.types.Object, name: str) -> None:
    """Let the object use a copy of its active action, or a new one if it has none."""
    data: Any = ob.animation_data or ob.animation_data_create()
    if data.action is None:
        data.action = bpy.data.actions.new(name)
    else:
        copy = data.action.copy()
        copy.name = name
        use_action(ob, copy, getattr(data, "action_slot_handle", 0))


def use_action(ob: bpy.types.Object, action: bpy.types.Action | None, slot: int) -> None:
    """Let an action animate an object.

    Args:
        ob: The object.
        action: The action; None for none.
        slot: The handle of its slot, 0 for none; versions without slots have none.
    """
    data: Any = ob.animation_data
    data.action = action
    if HAS_LAYERS and action is not None:
        data.action_slot = _slot(action, slot)


def _object_slots(action: Any) -> list[Any]:
    if not HAS_LAYERS:
        return [None]
    return [slot for slot in action.slots if slot.target_id_type in ("OBJECT", "UNSPECIFIED")]


def driven(ob: Any) -> frozenset[tuple[str, int]]:
    """Return the channels of the object that its drivers set."""
    data = ob.animation_data
    drivers = [] if data is None else data.drivers
    return frozenset((curve.data_path, curve.array_index) for curve in drivers if not curve.mute)


def has_driver(ob: bpy.types.Object, bone: bpy.types.PoseBone, channel: str) -> bool:
    """Return whether a driver sets a number of a channel of one of the object's bones.

    The channel ``rotation`` is that of the bone's rotation mode.
    """
    data = ob.animation_data
    if data is None or not data.drivers:
        return False
    if channel == "rotation":
        channel, _ = channel_of(mode_of(bone))
    path = bone.path_from_id(channel)
    found = [data.drivers.find(path, index=i) for i in range(4)]
    return any(curve is not None and not curve.mute for curve in found)


def revive_drivers() -> None:
    """Let drivers work again that set or read something of ours.

    Without the extension Blender finds nothing there, gives them up as invalid, and tries them
    again only when a file is loaded.
    """
    for block in bpy.data.user_map():
        data = getattr(block, "animation_data", None)
        given_up = [c for c in data.drivers if not c.driver.is_valid] if data else ()
        for curve in filter(_concerns_us, given_up):
            # Setting anything of it makes Blender look anew for what it sets and depends on.
            curve.driver.type = curve.driver.type
            block.update_tag()


def _concerns_us(driver: Any) -> bool:
    """Return whether a driver sets or reads something that the extension registers."""
    targets = [target for variable in driver.driver.variables for target in variable.targets]
    return any("fabrik" in path for path in (driver.data_path, *(t.data_path for t in targets)))


def signature(ob: bpy.types.Object) -> tuple[object, ...]:
    """Return a cheap value that differs when other channels of the object are animated."""
    data = ob.animation_data
    if data is None:
        return ()
    parts: list[object] = [_mutes(data.drivers)]
    for holder in _acting(ob):
        parts += _key(holder)
        for bag in _bags(holder.action, getattr(holder, "action_slot", None)):
            parts += [_mutes(bag.fcurves), b"" if HAS_LAYERS else _mutes(bag.groups)]
            if bag.fcurves:
                parts += [bag.fcurves[0].data_path, bag.fcurves[-1].data_path]
    return tuple(parts)


def _mutes(items: Any) -> bytes:
    """Return which F-curves or groups of them are muted, and by the length how many there are."""
    mutes = [False] * len(items)
    items.foreach_get("mute", mutes)
    return bytes(mutes)


def rewrite(
    ob: bpy.types.Object, others: Iterable[bpy.types.Object], change: Callable[[Any], None]
) -> None:
    """Change the drivers of an object, and the F-curves that it has in each of its actions.

    Args:
        ob: The object, not in the NLA's tweak mode.
        others: Objects whose curves are to stay as they are: an action that one of them uses as
            well, or that is linked, is copied first.
        change: Changes a list of curves.
    """
    data = ob.animation_data
    if data is None:
        return
    change(data.drivers)
    elsewhere = {_key(holder) for other in others for holder in holders(other)}
    own: dict[tuple[int, int], Any] = {}
    for holder in holders(ob):
        action, key = holder.action, _key(holder)
        if action is None:
            continue
        if key not in own:
            is_own = action.is_editable and key not in elsewhere
            own[key] = action if is_own else action.copy()
            for curves in curve_lists(own[key], _slot(own[key], key[1])):
                change(curves)
        if own[key] != action:
            holder.action = own[key]
            if key[1]:
                holder.action_slot = _slot(own[key], key[1])


def all_curves(ob: bpy.types.Object) -> list[Any]:
    """Return the drivers of an object, and the F-curves that it has in each of its actions."""
    data = ob.animation_data
    if data is None:
        return []
    found = list(data.drivers)
    for holder in holders(ob):
        for curves in curve_lists(holder.action, getattr(holder, "action_slot", None)):
            found += curves
    return found


def _key(holder: Any) -> tuple[int, int]:
    """Return what tells the curves of one holder from those of another."""
    uid = holder.action.session_uid if holder.action else 0
    return uid, getattr(holder, "action_slot_handle", 0)


def _slot(action: Any, handle: int) -> object:
    return next((slot for slot in getattr(action, "slots", ()) if slot.handle == handle), None)
