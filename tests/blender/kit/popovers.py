"""What popovers of presets list."""

from typing import Any

import bpy


def listed(kind: str) -> dict[str, str]:
    """Return the files in the popover, by their shown names."""
    panel = getattr(bpy.types, f"FABRIK_PT_{kind}_presets")
    names: dict[str, str] = {}

    class Layout:
        """Takes what Blender's own drawing of presets draws."""

        def __getattr__(self, name: str) -> Any:
            return lambda *_args, **_more: self

        def operator(self, operator: str, text: str = "", **_more: object) -> Any:
            return Button(operator, text)

    class Button:
        def __init__(self, operator: str, text: str) -> None:
            self.__dict__["text"] = text
            self.__dict__["operator"] = operator

        def __setattr__(self, name: str, value: Any) -> None:
            if name == "filepath":
                assert self.operator == f"fabrik.{kind}_preset_apply"
                names[self.text] = value

    class Shown:
        layout = Layout()
        bl_idname = panel.__name__
        path_menu = panel.path_menu

    for name in vars(panel):
        if name.startswith("preset_"):
            setattr(Shown, name, getattr(panel, name))
    bpy.types.Menu.draw_preset(Shown(), bpy.context)
    return names
