"""Evaluating the F-curves of an object at a frame, before Blender does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import bpy

from . import animation

BONE_PATH = re.compile(r'pose\.bones\["((?:[^"\\]|\\.)*)"\]\.(.+)', re.DOTALL)
"""Matches the data path of a pose bone's property: the bone's escaped name, and the rest."""

ITEM = "fabrik.constraints["
"""The prefix of the data paths of constraint settings."""


def split_bone_path(path: str) -> tuple[str, str]:
    """Split a data path into a bone's name and the path from there; empty for other paths."""
    match = BONE_PATH.fullmatch(path)
    return (bpy.utils.unescape_identifier(match[1]), match[2]) if match else ("", "")


class Curves:
    """An index of the effective F-curves in the active action of an object, by data path.

    It refers to F-curves by their index in their collection, since references to them become
    invalid when one is removed.

    Attributes:
        object: The animated object.
        places: For each data path, tuples of array index, collection, and index in it.
        bone_places: For each channel of pose bones, tuples of bone, array index, collection, and
            index in it.
        has_settings: Whether settings of constraints are animated.
    """

    def __init__(self, ob: bpy.types.Object) -> None:
        """Index nothing until `refresh`; NLA strips are ignored."""
        self.object = ob
        self._key: tuple[object, ...] = ()
        self.places: dict[str, list[tuple[int, int, int]]] = {}
        self.bone_places: dict[str, list[tuple[int, int, int, int]]] = {}
        self.has_settings = False

    def refresh(self) -> list[Any]:
        """Return the F-curve collections, and index them again if they have changed."""
        data = self.object.animation_data
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

    def forget(self) -> None:
        """Invalidate the index: F-curves may have been muted, renamed or replaced."""
        self._key = ()

    def _index(self, lists: list[Any]) -> None:
        self.places, self.bone_places = {}, {}
        self.has_settings = False
        names = self.object.pose.bones.keys() if self.object.pose else []
        bones = {name: i for i, name in enumerate(names)}
        for nr, curves in enumerate(lists):
            for at, curve in enumerate(curves):
                if not animation.has_effect(curve):
                    continue
                path, index = curve.data_path, curve.array_index
                self.places.setdefault(path, []).append((index, nr, at))
                self.has_settings |= path.startswith(ITEM)
                name, channel = split_bone_path(path)
                if name in bones:
                    places = self.bone_places.setdefault(channel, [])
                    places.append((bones[name], index, nr, at))


class Sampler:
    """The F-curves of an object, evaluated at a frame.

    It holds references to F-curves, so it must not outlive the update.
    """

    def __init__(self, curves: Curves, frame: float) -> None:
        """Refresh the index.

        Args:
            curves: The F-curves.
            frame: The frame of the depsgraph, with subframe.
        """
        self._lists = curves.refresh()
        self._frame = frame
        self.places = curves.places
        self._bone_places = curves.bone_places
        self._has_settings = curves.has_settings

    def at(self, path: str) -> list[tuple[int, float]]:
        """Return the animated components of a property as array index and value."""
        lists, frame = self._lists, self._frame
        return [(i, lists[nr][at].evaluate(frame)) for i, nr, at in self.places.get(path, ())]

    def animates_bones(self) -> bool:
        """Return whether a channel of a bone is animated."""
        return bool(self._bone_places)

    def animates_settings(self) -> bool:
        """Return whether a setting of a constraint is animated."""
        return self._has_settings

    def bone_values(self, channel: str, size: int) -> Iterator[tuple[int, float]]:
        """Yield the animated components of a channel of all bones as flat index and value.

        Args:
            channel: The channel.
            size: The number of components per bone.
        """
        lists, frame = self._lists, self._frame
        for bone, index, nr, at in self._bone_places.get(channel, ()):
            yield bone * size + index, lists[nr][at].evaluate(frame)
