"""Evaluation of an object's F-curves at a frame, before Blender evaluates them."""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import bpy

from . import animation
from .access import pose_bones
from .offset_layers import OffsetLayer, combined, edited_layer, influence_at
from .offset_values import neutral_of
from .rotation import Rows

BONE_PATH = re.compile(r'pose\.bones\["((?:[^"\\]|\\.)*)"\]\.(.+)', re.DOTALL)
"""Matches the data path of a pose bone's property: the bone's escaped name, and the remainder."""

ITEM = "fabrik.constraints["
"""The prefix of the data paths of constraint settings."""

QUATERNIONS = "rotation_quaternion"
"""The suffix of the data paths of quaternions."""

MOST_KEPT = 2**18
"""Maximum number of cached F-curve values of an object: 1 MB."""


def split_bone_path(path: str) -> tuple[str, str]:
    """Split a data path into a bone's name and the path from there; empty for other paths."""
    match = BONE_PATH.fullmatch(path)
    return (bpy.utils.unescape_identifier(match[1]), match[2]) if match else ("", "")


class Curves:
    """An index, by data path, of the effective F-curves in an object's active action.

    With an offset layer, the F-curves of the action below it come first, then the layer's.

    The index stores the indices of F-curves in their collections: references to F-curves become
    invalid when one is removed.

    Attributes:
        object: The animated object.
        places: For each data path, tuples of array index, collection, and index in it.
        bone_places: For each channel of pose bones, tuples of bone, array index, collection, and
            index in it.
        rows: The bones of these channels.
        settings: For each setting of constraints, tuples of a constraint's index and the data path.
        layer: The offset layer at the last refresh, or None if there is none.
        base: The number of collections below the layer.
        offsets: For each data path with F-curves in the layer, the default of the property.
        is_plain: Whether each action has a single collection at most.
        values: Cached values of the F-curves in `bone_places`, by frame and channel.
    """

    def __init__(
        self,
        ob: bpy.types.Object,
        only: Collection[tuple[str, int]] | None = None,
        strip: Any = None,
    ) -> None:
        """Index nothing until `refresh`; NLA strips are ignored.

        Args:
            ob: The animated object.
            only: The channels of bones to index, as names of channels and indices of bones; None
                for all F-curves of the object.
            strip: An NLA strip whose action to index instead of the active one, in its own frames.
        """
        self.object = ob
        self._only = only
        self._strip = strip
        self._key: list[object] = []
        self.places: dict[str, list[tuple[int, int, int]]] = {}
        self.bone_places: dict[str, list[tuple[int, int, int, int]]] = {}
        self.rows = Rows((), ())
        self.settings: dict[str, list[tuple[int, str]]] = {}
        self.layer: OffsetLayer | None = None
        self.base = 0
        self.offsets: dict[str, list[float]] = {}
        self.is_plain = True
        self.values: dict[tuple[float, str], array[float]] = {}
        self._room = MOST_KEPT

    def refresh(self) -> list[Any]:
        """Return the F-curve collections, and index them again if they have changed."""
        data = self._strip or self.object.animation_data
        is_tweaked = data is not None and self._strip is None and data.use_tweak_mode
        self.layer = layer = edited_layer(self.object) if is_tweaked else None
        lists: list[Any] = []
        key: list[object] = []
        self.is_plain, base = True, 0
        for holder in (data,) if layer is None else (layer.base, layer.strip):
            if holder is None or holder.action is None:
                continue
            part = animation.curve_lists(holder.action, getattr(holder, "action_slot", None))
            self.is_plain = self.is_plain and len(part) <= 1
            base = len(lists)
            lists += part
            handle = getattr(holder, "action_slot_handle", 0)
            key += (holder.action.session_uid, handle, *map(len, part))
        if key != self._key:
            self._key = key
            self.base = base if self.layer else len(lists)
            self._index(lists)
        return lists

    def restrict(self, only: Collection[tuple[str, int]]) -> None:
        """Index only these channels of bones from now on."""
        if only is not self._only:
            self._only = only
            self.forget()

    def forget(self) -> None:
        """Invalidate the index: F-curves may have been muted, renamed or replaced."""
        self._key = []

    def keep(self, frame: float, channel: str, values: array[float]) -> None:
        """Cache the values of a channel at a frame until the F-curves change."""
        if len(values) <= self._room:
            self._room -= len(values)
            self.values[frame, channel] = values

    def _index(self, lists: list[Any]) -> None:
        self.places, self.bone_places, self.settings, self.values = {}, {}, {}, {}
        self.offsets = {}
        self._room = MOST_KEPT
        names = self.object.pose.bones.keys() if self.object.pose else []
        bones = {name: i for i, name in enumerate(names)}
        keyed: set[int] = set()
        for nr, curves in enumerate(lists):
            for at, curve in enumerate(curves):
                if not animation.has_effect(curve):
                    continue
                path, index = curve.data_path, curve.array_index
                name, channel = split_bone_path(path)
                if self._only is not None and (channel, bones.get(name)) not in self._only:
                    continue
                places = self.places.setdefault(path, [])
                if nr >= self.base and path not in self.offsets:
                    self.offsets[path] = neutral_of(self.object, path)
                places.append((index, nr, at))
                if name in bones:
                    keyed.add(bones[name])
                    entries = self.bone_places.setdefault(channel, [])
                    entries.append((bones[name], index, nr, at))
        self.rows = Rows(names, keyed)
        for path in self.places:
            item, _, setting = path.removeprefix(ITEM).partition("].")
            # A name refers to a missing item, in a shot (`settings/shot_keys.py`).
            if path.startswith(ITEM) and item.isdigit():
                self.settings.setdefault(setting, []).append((int(item), path))


class Sampler:
    """The F-curves of an object, evaluated at a frame.

    It stores references to F-curves, so it must not outlive the update.
    """

    def __init__(self, curves: Curves, frame: float) -> None:
        """Refresh the index.

        Args:
            curves: The F-curves.
            frame: The frame of the depsgraph, with subframe.
        """
        self._lists = curves.refresh()
        self._curves = curves
        self._frame = frame
        self.places = curves.places
        self.rows = curves.rows

    def at(self, path: str) -> list[tuple[int, float]]:
        """Return the animated components of a property as array index and value."""
        lists, frame, places = self._lists, self._frame, self.places.get(path, ())
        neutral = self._curves.offsets.get(path)
        if neutral is not None:
            return self._above(path, neutral)
        return [(i, lists[nr][at].evaluate(frame)) for i, nr, at in places]

    def _above(self, path: str, neutral: list[float]) -> list[tuple[int, float]]:
        """Return the animated components of a property above an offset layer, with their indices.

        Args:
            path: The data path.
            neutral: The defaults of the property's components.
        """
        lower, offset, layer = neutral[:], neutral[:], self._curves.layer
        assert layer is not None
        for i, nr, at in self.places[path]:
            if i < len(neutral):
                values = lower if nr < self._curves.base else offset
                values[i] = self._lists[nr][at].evaluate(self._frame)
        values = combined(path, lower, offset, neutral, influence_at(layer, self._frame))
        # Blender combines all components of a quaternion together.
        is_whole = path.endswith(QUATERNIONS)
        keyed = range(len(neutral)) if is_whole else {i for i, *_ in self.places[path]}
        single = array("f", values)
        return [(i, single[i]) for i in keyed if i < len(neutral)]

    def animates_bones(self) -> bool:
        """Return whether a channel of a bone is animated."""
        return bool(self._curves.bone_places)

    def settings(self, name: str) -> list[tuple[int, float]]:
        """Return the animated values of a setting, each with the index of its constraint."""
        paths = self._curves.settings.get(name, ())
        return [(item, value) for item, path in paths for _, value in self.at(path)]

    def bone_values(self, channel: str, size: int) -> Iterator[tuple[int, float]]:
        """Yield the animated components of a channel of all bones as flat index and value.

        Args:
            channel: The channel.
            size: The number of components per bone.
        """
        entries = self._curves.bone_places.get(channel)
        if not entries:
            return
        lists, frame = self._lists, self._frame
        if self._curves.offsets:
            yield from self._bone_values_above(channel, size)
            return
        values = self._curves.values.get((frame, channel))
        if values is None:
            values = array("f", [lists[nr][at].evaluate(frame) for _, _, nr, at in entries])
            self._curves.keep(frame, channel, values)
        for (bone, index, _, _), value in zip(entries, values, strict=True):
            if index < size:  # Blender ignores other array indices.
                yield bone * size + index, value

    def _bone_values_above(self, channel: str, size: int) -> Iterator[tuple[int, float]]:
        """Yield the values like `bone_values`, above an offset layer.

        These aren't cached, because the influence of the layer may change.
        """
        names = pose_bones(self._curves.object).keys()
        for bone in dict.fromkeys(bone for bone, *_ in self._curves.bone_places[channel]):
            path = f'pose.bones["{bpy.utils.escape_identifier(names[bone])}"].{channel}'
            for index, value in self.at(path):
                if index < size:
                    yield bone * size + index, array("f", [value])[0]


class MutedCopy(NamedTuple):
    """F-curves that are muted in a depsgraph's copy of an action, for a single evaluation.

    When the action is edited or undone, Blender makes a new copy, without these mutes.

    Attributes:
        object: The animated object.
        depsgraph: The depsgraph.
        before: The original mute flags of all F-curves of the copy, by collection.
        muted: Their mute flags during the evaluation.
    """

    object: bpy.types.Object
    depsgraph: bpy.types.Depsgraph
    before: list[list[bool]]
    muted: list[list[bool]]

    def undo(self) -> None:
        """Restore the flags, unless Blender has replaced the copy."""
        layers = [layer for scene in bpy.data.scenes for layer in scene.view_layers]
        if all(layer.depsgraph != self.depsgraph for layer in layers):
            return  # The depsgraph was removed.
        curves = _copied_curves(self.object, self.depsgraph)
        if curves is not None and [*map(animation.mute_flags, curves)] == self.muted:
            for part, flags in zip(curves, self.before, strict=True):
                part.foreach_set("mute", flags)


def mute_copy(curves: Curves, depsgraph: bpy.types.Depsgraph) -> MutedCopy | None:
    """Mute F-curves in a depsgraph's copy of their action.

    Args:
        curves: The F-curves.
        depsgraph: A depsgraph that has evaluated the object of the F-curves.

    Returns:
        The mutes, to undo after the evaluation. None without such a copy, or if something else uses
        the F-curves, such as an Action constraint, which would stop moving.
    """
    ob = curves.object
    lists = curves.refresh()
    holders = _holders(ob, curves.layer)
    copied = _copied_curves(ob, depsgraph)
    bones = {bone for entries in curves.bone_places.values() for bone, *_ in entries}
    if copied is None or not curves.is_plain or [*map(len, copied)] != [*map(len, lists)]:
        return None  # The copy is missing or out of date.
    if not all([animation.is_only_user(ob, holder, bones) for holder in holders]):
        return None
    original = [*map(animation.mute_flags, copied)]
    muted = [flags[:] for flags in original]
    for entries in curves.bone_places.values():
        for _, _, nr, at in entries:
            muted[nr][at] = True
    for part, flags in zip(copied, muted, strict=True):
        part.foreach_set("mute", flags)
    return MutedCopy(ob, depsgraph, original, muted)


def _holders(ob: bpy.types.Object, layer: OffsetLayer | None) -> list[Any]:
    """Return the holders of the actions that animate an object, from the bottom up."""
    holders = [layer.base, layer.strip] if layer else [ob.animation_data]
    return [holder for holder in holders if holder is not None and holder.action is not None]


def _copied_curves(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> list[Any] | None:
    """Return the F-curves of an object in a depsgraph's copies of its actions, or None."""
    copy = ob.evaluated_get(depsgraph)
    holders = _holders(copy, edited_layer(copy))
    if not holders or not all(holder.action.is_evaluated for holder in holders):
        return None
    lists = [
        curves
        for holder in holders
        for curves in animation.curve_lists(holder.action, getattr(holder, "action_slot", None))
    ]
    return lists or None
