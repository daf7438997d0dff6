"""Presets in Blender's preset system. Which settings are stored is part of their definition.

The extension's presets are in its folder ``presets``, the user's in Blender's user folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import bpy
from bl_operators.presets import AddPresetBase
from bl_ui.utils import PresetPanel as BlenderPresetPanel

from ..blender.errors import ProblemError
from ..editing.copying import set_values
from ..settings.definitions import defined
from ..settings.values import default_of, preset_names, values_of
from .refusing import Outcome, Refusing, Working

__all__ = ["AddPresetOperator", "ApplyPresetOperator", "PresetPanel"]

HOME = Path(__file__).resolve().parents[1]


class ApplyPresetOperator(Working):
    """An operator that runs a preset file; unlike Blender's, it can be undone."""

    bl_options = {"REGISTER", "UNDO", "INTERNAL"}

    filepath: str = defined(
        "File",
        "Preset file: a script that sets the properties",
        subtype="FILE_PATH",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def group(cls, context: bpy.types.Context) -> bpy.types.PropertyGroup:
        """Return the settings to which a preset is applied."""
        raise NotImplementedError

    def apply(self, context: bpy.types.Context) -> None:
        """Run the file; settings that the file doesn't mention are reset, except in subgroups.

        Raises:
            ProblemError: If the script fails. The settings are kept.
        """
        if not self.filepath:
            raise ProblemError("No preset chosen: choose one in the menu")
        group = self.group(context)
        values, properties = values_of(group), cast(Any, group).bl_rna.properties
        names = preset_names(group)
        set_values(group, {n: default_of(properties[n]) for n in names if n in properties})
        try:
            bpy.utils.execfile(self.filepath)
        except Exception as error:  # Scripts can fail in any way, or replace the group.
            group = self.group(context)
            for name in names:
                with suppress(TypeError):  # An animated enum may have an invalid value.
                    set_values(group, {name: values[name]})
            raise ProblemError(
                "“{name}” can't be applied here: {error}", name=self.title, error=str(error)
            ) from None

    @property
    def is_own(self) -> bool:
        """Whether the preset is the extension's, not the user's."""
        return Path(self.filepath).is_relative_to(HOME)

    @property
    def title(self) -> str:
        """The name of the preset in the menu."""
        return bpy.path.display_name(self.filepath, title_case=False)


Base: Any = AddPresetBase
"""Untyped, because the stubs lack its methods' return types."""


class AddPresetOperator(Refusing, Base):
    """An operator that adds or removes a user preset.

    Attributes:
        preset_defines: Lines that define variables in the file; the last one assigns the group of
            settings.
    """

    preset_defines: Sequence[str]

    @classmethod
    def group(cls, context: bpy.types.Context) -> bpy.types.PropertyGroup:
        """Return the settings to save."""
        raise NotImplementedError

    @property
    def preset_values(self) -> list[str]:
        """The expressions to save, as Blender's base class expects them."""
        variable = self.preset_defines[-1].partition(" = ")[0]
        return [f"{variable}.{name}" for name in preset_names(self.group(bpy.context))]

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Outcome:
        """Add the preset if it has a name, otherwise ask for a name."""
        return self.execute(context) if self.name else super().invoke(context, event)

    remove_name: bool = defined(
        "Remove",
        "Remove the preset with this name instead of adding one",
        default=False,
        options={"HIDDEN", "SKIP_SAVE"},
    )
    remove_active: bool = defined(
        "Remove Active",
        "Remove the last applied preset instead of adding one",
        default=False,
        options={"HIDDEN", "SKIP_SAVE"},
    )


class PresetPanel(BlenderPresetPanel):
    """A popover of presets, whose operators may open dialogs."""

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the presets."""
        layout: Any = self.layout  # type: ignore[attr-defined]
        layout.emboss = "PULLDOWN_MENU"
        layout.operator_context = "INVOKE_DEFAULT"
        bpy.types.Menu.draw_preset(self, context)  # type: ignore[attr-defined]


def register() -> None:
    """Add the folder of the extension's presets."""
    bpy.utils.register_preset_path(str(HOME))


def unregister() -> None:
    """Remove the folder of the extension's presets."""
    bpy.utils.unregister_preset_path(str(HOME))
