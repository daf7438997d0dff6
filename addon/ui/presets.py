"""Presets, in Blender's own preset system.

Those of the extension are files in its folder ``presets``; those of users are where Blender keeps
theirs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from bl_operators.presets import AddPresetBase
from bl_ui.utils import PresetPanel
from bpy.props import BoolProperty, StringProperty

from ..blender.errors import ProblemError
from .refusing import Refusing, Working

__all__ = ["Adding", "Applying", "PresetPanel"]

HOME = Path(__file__).resolve().parents[1]


class Applying(Working):
    """An operator that runs a preset's file, and can be undone as Blender's own cannot."""

    if TYPE_CHECKING:
        filepath: str
    else:
        filepath: StringProperty(
            name="File",
            description="Preset file, a script that sets the properties",
            subtype="FILE_PATH",
            options={"SKIP_SAVE"},
        )

    def apply(self) -> None:
        """Run the file.

        Raises:
            ProblemError: If it does not run.
        """
        if not self.filepath:
            raise ProblemError("There is no preset to apply: choose one in the menu")
        try:
            bpy.utils.execfile(self.filepath)
        except Exception as error:  # It is anybody's script.
            raise ProblemError(f"“{self.title}” cannot be applied here: {error}") from None

    @property
    def title(self) -> str:
        """The preset as the menu calls it."""
        return bpy.path.display_name(self.filepath, title_case=False)


Base: Any = AddPresetBase
"""Whose stubs do not know what its methods return."""


class Adding(Refusing, Base):
    """An operator that adds a preset to the user's, or removes one."""

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
