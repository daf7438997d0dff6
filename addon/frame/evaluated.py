"""Reading an armature that Blender has evaluated."""

from __future__ import annotations

from array import array
from functools import cached_property
from typing import Any, cast

import bpy

from fabrik_solver import Frame

from ..blender.access import pose_bones
from ..blender.rotation import PoseChannels, Rows, floats
from ..blender.skeleton import matrix_frame
from ..settings.properties import settings, settings_form


class Evaluated:
    """An evaluated armature, read lazily."""

    def __init__(self, armature: bpy.types.Object, rows: Rows | None = None) -> None:
        """Wrap an evaluated armature.

        Args:
            armature: The evaluated copy.
            rows: The bones that are read at each update; None for all.
        """
        self.object = armature
        self._rows = rows

    @cached_property
    def bones(self) -> bpy.types.bpy_prop_collection[Any]:
        """The evaluated pose bones."""
        return pose_bones(self.object)

    @cached_property
    def channels(self) -> PoseChannels:
        """The evaluated channels."""
        return PoseChannels(self.bones, self._rows)

    @cached_property
    def is_at_rest(self) -> bool:
        """Whether the armature is set to Rest Position."""
        return cast(bpy.types.Armature, self.object.data).pose_position == "REST"

    @cached_property
    def _matrices(self) -> array[float]:
        return floats(self.bones, "matrix", 16)

    @cached_property
    def _constraints(self) -> bpy.types.bpy_prop_collection[Any]:
        items: Any = settings(self.object).constraints
        present: Any = settings(cast(bpy.types.Object, self.object.original)).constraints
        # The copy may predate an added or removed constraint.
        return items if len(items) == len(present) else present

    def column(self, name: str) -> list[Any]:
        """Return a setting of all constraints."""
        items = self._constraints
        column = [0] * len(items)
        items.foreach_get(name, column)
        return column

    def columns(self) -> list[list[Any]]:
        """Return the settings of all constraints: one list per setting of `settings_form`."""
        return [self.column(name) for name in settings_form().names]

    def frame(self, bone: int) -> Frame:
        """Return the evaluated frame of a bone, in armature space."""
        rows = self._rows
        if rows is not None and rows.are_few:
            return matrix_frame(rows.find(self.bones, bone).matrix)
        m = self._matrices[bone * 16 : bone * 16 + 16]  # In column-major order.
        return (m[0], m[4], m[8], m[1], m[5], m[9], m[2], m[6], m[10]), (m[12], m[13], m[14])
