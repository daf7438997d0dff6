"""Our registered classes, and a substitute for Blender's layout."""

from __future__ import annotations

import inspect
from types import ModuleType, SimpleNamespace
from typing import Any

import bpy


def classes(addon: ModuleType) -> dict[str, Any]:
    """Return all registered classes of the extension by name."""
    from addon.app import PARTS
    from addon.settings import properties

    return {
        cls.__name__: cls
        for module in (properties, *PARTS)
        for cls in vars(module).values()
        if inspect.isclass(cls) and getattr(cls, "is_registered", False)
    }


class Layout:
    """A substitute for `UILayout`, which only exists in a window.

    It rejects what Blender would reject: unknown properties, operators and icons.
    """

    def __init__(self, shown: list[str] | None = None) -> None:
        self.shown: list[str] = [] if shown is None else shown

    def _part(self, **_settings: object) -> Layout:
        return Layout(self.shown)

    row = column = box = split = menu_pie = _part

    def panel(self, idname: str, default_closed: bool = False) -> tuple[Layout, Layout]:
        return self._part(), self._part()

    def separator(self, **_settings: object) -> None:
        pass

    def label(
        self, text: str = "", icon: str = "NONE", translate: bool = True, text_ctxt: str = ""
    ) -> None:
        self._check_icon(icon)
        self.shown.append(text)

    def prop(self, data: Any, name: str, icon: str = "NONE", **_settings: object) -> None:
        assert name in data.bl_rna.properties, f"{data} has no {name}"
        self._check_icon(icon)
        self.shown.append(name)

    def prop_search(
        self, data: Any, name: str, source: Any, source_name: str, **_settings: object
    ) -> None:
        assert source_name in source.bl_rna.properties
        self.prop(data, name)

    def template_list(
        self, kind: str, _id: str, data: Any, name: str, active: Any, active_name: str, rows: int
    ) -> None:
        assert hasattr(bpy.types, kind)
        self.prop(data, name)
        self.prop(active, active_name)

    def operator(self, name: str, icon: str = "NONE", **_settings: object) -> SimpleNamespace:
        space, _, verb = name.partition(".")
        assert verb in dir(getattr(bpy.ops, space)), f"there is no operator {name}"
        self._check_icon(icon)
        self.shown.append(name)
        return SimpleNamespace()

    def menu(self, name: str, icon: str = "NONE", **_settings: object) -> None:
        assert hasattr(bpy.types, name), f"there is no menu {name}"
        self._check_icon(icon)
        self.shown.append(name)

    def popover(self, panel: str, icon: str = "NONE", **_settings: object) -> None:
        assert hasattr(bpy.types, panel), f"there is no panel {panel}"
        self._check_icon(icon)
        self.shown.append(panel)

    def operator_menu_enum(
        self, name: str, prop: str, icon: str = "NONE", **_settings: object
    ) -> SimpleNamespace:
        space, _, verb = name.partition(".")
        assert prop in getattr(getattr(bpy.ops, space), verb).get_rna_type().properties
        return self.operator(name, icon)

    def enum_item_name(self, data: Any, name: str, item: str) -> str:
        return data.bl_rna.properties[name].enum_items[item].name

    def _check_icon(self, icon: str) -> None:
        icons = bpy.types.UILayout.bl_rna.functions["prop"].parameters["icon"].enum_items
        assert icon in icons, f"there is no icon {icon}"
