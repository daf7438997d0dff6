"""Which channels of an object are animated, whichever way Blender's versions store it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import bpy


@dataclass(frozen=True, slots=True)
class Channels:
    """The animated channels of an object as pairs of data path and index in the array.

    Attributes:
        keyed: Set by F-curves, of the action or of the NLA.
        driven: Set by drivers.
    """

    keyed: frozenset[tuple[str, int]]
    driven: frozenset[tuple[str, int]]

    def rotation(self, bone: str, channel: str) -> tuple[list[int], list[int]]:
        """Return which numbers of a bone's rotation channel are keyed, and which are driven."""
        if not self.keyed and not self.driven:
            return [], []
        path = f'pose.bones["{bpy.utils.escape_identifier(bone)}"].{channel}'
        return (
            [i for i in range(4) if (path, i) in self.keyed],
            [i for i in range(4) if (path, i) in self.driven],
        )


def actions(ob: bpy.types.Object) -> Iterator[tuple[bpy.types.Action, object]]:
    """Yield each action that animates the object, with its slot where Blender has slots."""
    data = ob.animation_data
    if data is None:
        return
    if data.action:
        yield data.action, getattr(data, "action_slot", None)
    for track in data.nla_tracks:
        for strip in track.strips:
            if strip.action:
                yield strip.action, getattr(strip, "action_slot", None)


def _curve_lists(
    action: Any, slot: object
) -> list[bpy.types.bpy_prop_collection[bpy.types.FCurve]]:
    """Return the lists of F-curves that an action has for a slot."""
    if not hasattr(action, "layers"):  # Before 4.4 an action was one plain list of curves.
        return [action.fcurves]
    if slot is None:
        return []
    bags = [strip.channelbag(slot) for layer in action.layers for strip in layer.strips]
    return [bag.fcurves for bag in bags if bag]


def animated(ob: bpy.types.Object) -> Channels:
    """Return the channels of the object that its animation sets now."""
    keyed: set[tuple[str, int]] = set()
    for action, slot in actions(ob):
        for group in _curve_lists(action, slot):
            keyed.update((c.data_path, c.array_index) for c in group if not c.mute)
    data = ob.animation_data
    drivers = [] if data is None else [curve for curve in data.drivers if not curve.mute]
    return Channels(frozenset(keyed), frozenset((c.data_path, c.array_index) for c in drivers))


def signature(ob: bpy.types.Object) -> tuple[object, ...]:
    """Return a cheap value that differs when other channels of the object are animated."""
    data = ob.animation_data
    if data is None:
        return ()
    parts: list[object] = [len(data.drivers), len(data.nla_tracks)]
    for action, slot in actions(ob):
        count = sum(len(group) for group in _curve_lists(action, slot))
        parts += [action.session_uid, getattr(slot, "handle", 0), count]
    return tuple(parts)


def bring_over(evaluated: bpy.types.Object, original: bpy.types.Object) -> None:
    """Give the original the animated values of an evaluated copy.

    In a render nothing is flushed to the originals; but as soon as one of them is written, Blender
    copies the whole object from original to evaluated again, without running its animation. What
    the original then holds is what is rendered.
    """
    channels = animated(original)
    for path, index in channels.keyed | channels.driven:
        try:
            _copy(evaluated, original, path, index)
        except (ValueError, KeyError, AttributeError):
            continue  # A curve of something that is not there any more, or cannot be written.


CUSTOM = re.compile(r'(.*)\["((?:[^"\\]|\\.)*)"\]', re.DOTALL)
"""Splits the path of a custom property into that of its owner and its name."""


def _copy(source: bpy.types.Object, to: bpy.types.Object, path: str, index: int) -> None:
    """Copy one number, or one value without index.

    Raises:
        ValueError, KeyError, AttributeError: If there is no such property, or it cannot be set.
    """
    value: Any = source.path_resolve(path)
    present: Any = to.path_resolve(path)
    if hasattr(value, "__getitem__") and not isinstance(value, str):
        if present[index] != value[index]:
            present[index] = value[index]
        return
    if present == value:
        return
    custom = CUSTOM.fullmatch(path)
    owner_path, name = custom.groups() if custom else path.rpartition(".")[::2]
    owner: Any = to.path_resolve(owner_path) if owner_path else to
    if custom:
        owner[bpy.utils.unescape_identifier(name)] = value
    else:
        setattr(owner, name, value)
