"""Presets, in Blender's own preset system: what they keep is told by the definitions of settings.

Those of the extension are files in its folder ``presets``; those of users are where Blender keeps
theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import bpy
from bl_operators.presets import AddPresetBase
from bl_ui.utils import PresetPanel
from bpy.props import BoolProperty, StringProperty

from ..blender.errors import ProblemError
from ..editing.copying import give
from ..loop.property_values import default_of, preset_names, values_of
from .refusing import Refusing, Working

__all__ = ["Adding", "Applying", "PresetPanel"]

HOME = Path(__file__).resolve().parents[1]


class Applying(Working):
    """An operator that runs a preset's file, and can be undone as Blender's own cannot."""

    bl_options = {"REGISTER", "UNDO", "INTERNAL"}

    if TYPE_CHECKING:
        filepath: str
    else:
        filepath: StringProperty(
            name="File",
            description="Preset file, a script that sets the properties",
            subtype="FILE_PATH",
            options={"SKIP_SAVE"},
        )

    @classmethod
    def group(cls, context: bpy.types.Context) -> bpy.types.PropertyGroup:
        """Return the settings that a preset is applied to."""
        raise NotImplementedError

    def apply(self, context: bpy.types.Context) -> None:
        """Run the file; what it does not mention gets its default, but for groups within.

        Raises:
            ProblemError: If it does not run; then the settings are as they were.
        """
        if not self.filepath:
            raise ProblemError("There is no preset to apply: choose one in the menu")
        group = self.group(context)
        values, properties = values_of(group), cast(Any, group).bl_rna.properties
        names = preset_names(group)
        give(group, {n: default_of(properties[n]) for n in names if n in properties})
        try:
            bpy.utils.execfile(self.filepath)
        except Exception as error:  # It is anybody's script, and may have replaced the group.
            group = self.group(context)
            for name in names:
                with suppress(TypeError):  # What a curve made of a choice may be none.
                    give(group, {name: values[name]})
            raise ProblemError(f"“{self.title}” cannot be applied here: {error}") from None

    @property
    def title(self) -> str:
        """The preset as the menu calls it."""
        return bpy.path.display_name(self.filepath, title_case=False)


Base: Any = AddPresetBase
"""Whose stubs do not know what its methods return."""


class Adding(Refusing, Base):
    """An operator that adds a preset to the user's, or removes one.

    Attributes:
        preset_defines: The lines that find the settings, of which the last one says what they are
            called in the file.
    """

    preset_defines: Sequence[str]

    @classmethod
    def group(cls, context: bpy.types.Context) -> bpy.types.PropertyGroup:
        """Return the settings that are saved."""
        raise NotImplementedError

    @property
    def preset_values(self) -> list[str]:
        """What is saved, as Blender asks for it."""
        called = self.preset_defines[-1].partition(" = ")[0]
        return [f"{called}.{name}" for name in preset_names(self.group(bpy.context))]

    if TYPE_CHECKING:
        remove_name: bool
        remove_active: bool
    else:
        remove_name: BoolProperty(
            name="Remove",
            description="Remove the preset with this name instead of adding one",
            default=False,
            options={"HIDDEN", "SKIP_SAVE"},
        )
        remove_active: BoolProperty(
            name="Remove Active",
            description="Remove the last applied preset instead of adding one",
            default=False,
            options={"HIDDEN", "SKIP_SAVE"},
        )


def register() -> None:
    """Add the folder with the presets of the extension."""
    bpy.utils.register_preset_path(str(HOME))


def unregister() -> None:
    """Take it away."""
    bpy.utils.unregister_preset_path(str(HOME))
