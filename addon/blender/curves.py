"""Evaluation of an object's F-curves at a frame, before Blender evaluates them."""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import bpy

from . import animation

BONE_PATH = re.compile(r'pose\.bones\["((?:[^"\\]|\\.)*)"\]\.(.+)', re.DOTALL)
"""Matches the data path of a pose bone's property: the bone's escaped name, and the remainder."""

ITEM = "fabrik.constraints["
"""The prefix of the data paths of constraint settings."""

MOST_KEPT = 2**18
"""Maximum number of cached F-curve values of an object: 1 MB."""


def split_bone_path(path: str) -> tuple[str, str]:
    """Split a data path into a bone's name and the path from there; empty for other paths."""
    match = BONE_PATH.fullmatch(path)
    return (bpy.utils.unescape_identifier(match[1]), match[2]) if match else ("", "")


class Curves:
    """An index, by data path, of the effective F-curves in an object's active action.

    It stores the indices of F-curves in their collections: references to F-curves become invalid
    when one is removed.

    Attributes:
        object: The animated object.
        places: For each data path, tuples of array index, collection, and index in it.
        bone_places: For each channel of pose bones, tuples of bone, array index, collection, and
            index in it.
        settings: For each setting of constraints, tuples of a constraint's index and the data path.
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
        self._key: tuple[object, ...] = ()
        self.places: dict[str, list[tuple[int, int, int]]] = {}
        self.bone_places: dict[str, list[tuple[int, int, int, int]]] = {}
        self.settings: dict[str, list[tuple[int, str]]] = {}
        self.values: dict[tuple[float, str], array[float]] = {}
        self._room = MOST_KEPT

    def refresh(self) -> list[Any]:
        """Return the F-curve collections, indexed again if they have changed."""
        data = self._strip or self.object.animation_data
        action = data.action if data else None
        if data is None or action is None:
            self._key = ()
            self._index([])
            return []
        lists = animation.curve_lists(action, getattr(data, "action_slot", None))
        handle = getattr(data, "action_slot_handle", 0)
        key = (action.session_uid, handle, *map(len, lists))
        if key != self._key:
            self._key = key
            self._index(lists)
        return lists

    def restrict(self, only: Collection[tuple[str, int]]) -> None:
        """Index these channels of bones from now on, unless it is the same object as before."""
        if only is not self._only:
            self._only = only
            self.forget()

    def forget(self) -> None:
        """Invalidate the index: F-curves may have been muted, renamed or replaced."""
        self._key = ()

    def keep(self, frame: float, channel: str, values: array[float]) -> None:
        """Cache the values of a channel at a frame until the F-curves change."""
        if len(values) <= self._room:
            self._room -= len(values)
            self.values[frame, channel] = values

    def _index(self, lists: list[Any]) -> None:
        self.places, self.bone_places, self.settings, self.values = {}, {}, {}, {}
        self._room = MOST_KEPT
        names = self.object.pose.bones.keys() if self.object.pose else []
        bones = {name: i for i, name in enumerate(names)}
        for nr, curves in enumerate(lists):
            for at, curve in enumerate(curves):
                if not animation.has_effect(curve):
                    continue
                path, index = curve.data_path, curve.array_index
                name, channel = split_bone_path(path)
                if self._only is not None and (channel, bones.get(name)) not in self._only:
                    continue
                self.places.setdefault(path, []).append((index, nr, at))
                if name in bones:
                    entries = self.bone_places.setdefault(channel, [])
                    entries.append((bones[name], index, nr, at))
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

    def at(self, path: str) -> list[tuple[int, float]]:
        """Return the animated components of a property as array index and value."""
        lists, frame = self._lists, self._frame
        return [(i, lists[nr][at].evaluate(frame)) for i, nr, at in self.places.get(path, ())]

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
        values = self._curves.values.get((frame, channel))
        if values is None:
            values = array("f", [lists[nr][at].evaluate(frame) for _, _, nr, at in entries])
            self._curves.keep(frame, channel, values)
        for (bone, index, _, _), value in zip(entries, values, strict=True):
            if index < size:  # Blender ignores other array indices.
                yield bone * size + index, value


class MutedCopy(NamedTuple):
    """F-curves that are muted in a depsgraph's copy of an action, for a single evaluation.

    When the action is edited or undone, Blender replaces the copy by a new one without these mutes.

    Attributes:
        object: The animated object.
        depsgraph: The depsgraph.
        before: The original mute flags of all F-curves of the copy.
        muted: Their mute flags meanwhile.
    """

    object: bpy.types.Object
    depsgraph: bpy.types.Depsgraph
    before: list[bool]
    muted: list[bool]

    def undo(self) -> None:
        """Restore the flags, unless Blender has replaced the copy."""
        layers = [layer for scene in bpy.data.scenes for layer in scene.view_layers]
        if all(layer.depsgraph != self.depsgraph for layer in layers):
            return  # The depsgraph was removed.
        curves = _copied_curves(self.object, self.depsgraph)
        if curves is not None and animation.mute_flags(curves) == self.muted:
            curves.foreach_set("mute", self.before)


def mute_copy(curves: Curves, depsgraph: bpy.types.Depsgraph) -> MutedCopy | None:
    """Mute F-curves in a depsgraph's copy of their action.

    Args:
        curves: The F-curves.
        depsgraph: A depsgraph that has evaluated their object.

    Returns:
        The mutes, to undo after the evaluation. None without such a copy, or if something else uses
        the F-curves, such as an Action constraint, which would stop moving.
    """
    ob = curves.object
    lists = curves.refresh()
    copied = _copied_curves(ob, depsgraph)
    bones = {bone for entries in curves.bone_places.values() for bone, *_ in entries}
    if copied is None or len(lists) != 1 or not animation.is_only_user(ob, bones):
        return None
    original = animation.mute_flags(copied)
    if len(original) != len(lists[0]):
        return None  # The copy is out of date.
    muted = original[:]
    for entries in curves.bone_places.values():
        for *_, at in entries:
            muted[at] = True
    copied.foreach_set("mute", muted)
    return MutedCopy(ob, depsgraph, original, muted)


def _copied_curves(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Any | None:
    """Return the F-curves of an object in a depsgraph's copy of its action; None without a copy."""
    data: Any = ob.evaluated_get(depsgraph).animation_data
    action = data.action if data else None
    if action is None or not action.is_evaluated:
        return None
    lists = animation.curve_lists(action, getattr(data, "action_slot", None))
    return lists[0] if len(lists) == 1 else None
