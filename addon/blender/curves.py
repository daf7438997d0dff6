"""What the F-curves of an object say of a frame, ahead of Blender's evaluation of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import bpy

from . import animation

BONE_PATH = re.compile(r'pose\.bones\["((?:[^"\\]|\\.)*)"\]\.(.+)', re.DOTALL)
"""Splits the path of a property of a bone into the bone's name, escaped, and the rest."""

ITEM = "fabrik.constraints["
"""How the paths of the settings of constraints begin."""


def of_bone(path: str) -> tuple[str, str]:
    """Return the name of the bone that a path leads to, and the rest of it; empty if to none."""
    found = BONE_PATH.fullmatch(path)
    return (bpy.utils.unescape_identifier(found[1]), found[2]) if found else ("", "")


class Curves:
    """The F-curves that animate an object, by their paths.

    It holds no reference to a curve, as those are dead as soon as one is removed: each is found
    again by its place in its list.
    """

    def __init__(self, ob: bpy.types.Object) -> None:
        """Sort the curves of the object's action; strips of the NLA are not looked at."""
        self.object = ob
        self._key: tuple[object, ...] = ()
        self.places: dict[str, list[tuple[int, int, int]]] = {}
        """For each path the index in the array, and the list and place where the curve is."""
        self.bone_places: dict[str, list[tuple[int, int, int, int]]] = {}
        """For each channel of bones the bone, and the same."""
        self.has_settings = False
        """Whether settings of constraints are among them."""

    def refresh(self) -> list[Any]:
        """Return the lists of curves, sorted anew if they are not the same any more."""
        data = self.object.animation_data
        action = data.action if data else None
        if data is None or action is None:
            self._key = ()
            self._sort([])
            return []
        lists = animation.curve_lists(action, getattr(data, "action_slot", None))
        handle = getattr(data, "action_slot_handle", 0)
        key = (action.session_uid, handle, *map(len, lists))
        if key != self._key:
            self._key = key
            self._sort(lists)
        return lists

    def forget(self) -> None:
        """Look anew: curves may have been muted, renamed or exchanged."""
        self._key = ()

    def _sort(self, lists: list[Any]) -> None:
        self.places, self.bone_places = {}, {}
        self.has_settings = False
        names = self.object.pose.bones.keys() if self.object.pose else []
        bones = {name: i for i, name in enumerate(names)}
        for nr, curves in enumerate(lists):
            for place, curve in enumerate(curves):
                if not animation.acts(curve):
                    continue
                path, index = curve.data_path, curve.array_index
                self.places.setdefault(path, []).append((index, nr, place))
                self.has_settings |= path.startswith(ITEM)
                name, channel = of_bone(path)
                if name in bones:
                    places = self.bone_places.setdefault(channel, [])
                    places.append((bones[name], index, nr, place))


class Played:
    """The F-curves of an object at a frame."""

    def __init__(self, curves: Curves, frame: float) -> None:
        """Look at them for one moment: they may be gone after it.

        Args:
            curves: The curves.
            frame: The moment, as the depsgraph has it.
        """
        self._lists = curves.refresh()
        self._frame = frame
        self.places = curves.places
        self._bone_places = curves.bone_places
        self._has_settings = curves.has_settings

    def at(self, path: str) -> list[tuple[int, float]]:
        """Return for the animated numbers of a property their index, and what they are."""
        lists, frame = self._lists, self._frame
        return [(i, lists[nr][at].evaluate(frame)) for i, nr, at in self.places.get(path, ())]

    def animates_bones(self) -> bool:
        """Return whether a channel of a bone is among what they set."""
        return bool(self._bone_places)

    def animates_settings(self) -> bool:
        """Return whether a setting of a constraint is."""
        return self._has_settings

    def of_bones(self, channel: str, size: int) -> Iterator[tuple[int, float]]:
        """Yield the same of a channel of all bones; places among ``size`` numbers a bone."""
        lists, frame = self._lists, self._frame
        for bone, index, nr, place in self._bone_places.get(channel, ()):
            yield bone * size + index, lists[nr][place].evaluate(frame)
