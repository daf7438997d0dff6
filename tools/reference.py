"""Write the manual's reference of properties, operators and messages.

    python tools/reference.py    writes docs/reference/ and docs/messages.md

It runs in a `bpy` wheel, and its output is the same in every version of Blender. Properties that
Blender itself adds to groups and operators are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from inspect import get_annotations
from math import degrees
from pathlib import Path
from typing import Any

import bpy

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from tools import messages  # noqa: E402 (found only with the path above)

FOLDER = ROOT / "docs" / "reference"
HUGE = 1e6
"""Limits beyond this are treated as unlimited: the last frame is slightly more."""

OWNERS = ("Object", "PoseBone", "Bone", "Scene", "WindowManager")
UNITS = {
    "ROTATION": "°",
    "LENGTH": " m",
    "TIME_ABSOLUTE": " s",
    "VELOCITY": " m/s",
}
SAMPLES = ("arm", "look", "rope_bridge", "octopus", "stairs", "spider", "humanoid")
"""Together they show all panels."""

PLACES = {
    "VIEW_3D": "Sidebar › FABRIK",
    "bone_constraint": "Properties › Bone Constraints",
    "bone": "Properties › Bone",
}
"""The names of the editors of our panels, by their type or context."""

MENUS = {
    "VIEW3D_MT_pose_ik": "Pose › Inverse Kinematics",
    "FABRIK_MT_motion": "Pose › Inverse Kinematics › Add Motion",
    "FABRIK_MT_specials": "⌄ beside the list of constraints",
    "VIEW3D_MT_object_animation": "Pose › Animation, Object › Animation",
    "VIEW3D_MT_pose_motion": "Pose › Motion Paths",
    "DATA_PT_motion_paths": "Properties › Object Data › Motion Paths",
    "OBJECT_PT_motion_paths": "Properties › Object › Motion Paths",
}
"""The menus with our operators."""


class Recorder:
    """A layout that records the drawn operators and the title of each."""

    def __init__(self, title: str, titles: dict[str, list[str]]) -> None:
        """Record operators in `titles`, by name, as drawn under this title."""
        self.place = title
        self.found = titles
        self.body: Recorder | None = None

    def __getattr__(self, _name: str) -> Any:
        """Return itself for rows, columns and properties."""
        return self

    def __call__(self, *_arguments: Any, **_named: Any) -> Recorder:
        """Return itself: rows and columns belong to the same section."""
        return self

    def __len__(self) -> int:
        """Return a non-zero length, so that it is truthy."""
        return 1

    def __iter__(self) -> Iterator[Recorder]:
        """Yield header and body when a panel is unpacked."""
        yield from (self, self)

    def panel(self, _name: str, **_named: Any) -> tuple[Recorder, Recorder]:
        """Return the header and the body of a section, which is titled by its label."""
        body = Recorder(self.place, self.found)
        header = Recorder(self.place, self.found)
        header.body = body
        return header, body

    def label(self, text: str = "", **_named: Any) -> None:
        """Use the label as the title of a section."""
        if self.body is not None and text:
            self.body.place = f"{self.place} › {text}"

    def operator(self, name: str, **_named: Any) -> Any:
        """Record an operator."""
        titles = self.found.setdefault(name, [])
        if self.place not in titles:
            titles.append(self.place)
        return type("Settings", (), {})()

    def operator_menu_enum(self, name: str, *_arguments: Any, **_named: Any) -> Any:
        """Record an operator that is drawn as a menu of its choices."""
        return self.operator(name)


def is_ours(kind: Any) -> bool:
    """Return whether a class or function belongs to the extension."""
    return str(getattr(kind, "__module__", "")).split(".")[0] == "addon"


def kinds(base: Any) -> list[Any]:
    """Return our registered subclasses of one of Blender's types, by name."""
    classes = [kind for kind in base.__subclasses__() if is_ours(kind) and kind.is_registered]
    return sorted(classes, key=lambda kind: kind.__name__)


def added_to(kind: Any) -> list[Any]:
    """Return our functions that add to one of Blender's menus or panels."""
    draw = kind.__dict__.get("draw")
    return [function for function in getattr(draw, "_draw_funcs", ()) if is_ours(function)]


def menu_places(titles: dict[str, list[str]]) -> None:
    """Record the operators in menus, Blender's and ours, and in Blender's panels."""
    context = open_sample("arm")
    for name, title in MENUS.items():
        kind: Any = getattr(bpy.types, name)
        for draw in [kind.draw] if is_ours(kind) else added_to(kind):
            shown = type("Shown", (), {"layout": Recorder(title, titles)})()
            draw(shown, context)


def context_with(bone: Any) -> Any:
    """Return the context of a region, with a bone as in the Properties editor."""
    region = type("Region", (), {"width": 400})()
    more = {"region": region, "pose_bone": bone, "bone": bone.bone}

    class Context:
        def __getattr__(self, name: str) -> Any:
            return more[name] if name in more else getattr(bpy.context, name)

    return Context()


def open_sample(name: str) -> Any:
    """Open a sample in Pose Mode, and return the context of a tip bone."""
    bpy.ops.wm.open_mainfile(filepath=str(ROOT / "samples" / f"{name}.blend"))
    rig: Any = next(ob for ob in bpy.context.scene.objects if ob.type == "ARMATURE")
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    tip = rig.pose.bones[rig.fabrik.constraints[0].bone]
    rig.data.bones.active = tip.bone
    return context_with(tip)


def panel_places(titles: dict[str, list[str]]) -> None:
    """Record the operators in our panels, with an armature from each sample."""
    for name in SAMPLES:
        context = open_sample(name)
        for kind in kinds(bpy.types.Panel):
            # Panels of presets have no poll.
            if hasattr(kind, "poll") and kind.poll(context):
                editor = PLACES[getattr(kind, "bl_context", kind.bl_space_type)]
                layout = Recorder(f"{editor} › {kind.bl_label}", titles)
                kind.draw(type("Panel", (), {"layout": layout})(), context)


def places() -> dict[str, list[str]]:
    """Return the places on the screen of each operator."""
    by_operator: dict[str, list[str]] = {}
    menu_places(by_operator)
    panel_places(by_operator)
    return by_operator


def annotations_of(kind: Any) -> set[str]:
    """Return the names of the properties that our classes define."""
    names: set[str] = set()
    for part in kind.__mro__:
        if is_ours(part):
            names.update(get_annotations(part))
    return names


def number(prop: Any, value: float) -> str:
    """Return a number as the interface shows it."""
    if prop.unit == "ROTATION":
        value = degrees(value)
    text = f"{value:.5g}" if prop.type == "FLOAT" else f"{value}"
    text = text.replace("e-0", "e-").replace("-", "−")
    return f"{text}{UNITS.get(prop.unit) or UNITS.get(prop.subtype, '')}"


def range_of(prop: Any) -> str:
    """Return the limits of a number."""
    low, high = prop.hard_min, prop.hard_max
    if low > -HUGE and high < HUGE:
        return f"{number(prop, low)} to {number(prop, high)}"
    if low > -HUGE:
        return f"{number(prop, low)} or more"
    return f"{number(prop, high)} or less" if high < HUGE else "any number"


def values_of(prop: Any) -> str:
    """Return the possible values of a property."""
    if prop.type == "BOOLEAN":
        return "on, off"
    if prop.type in ("INT", "FLOAT"):
        count = f"{prop.array_length} × " if prop.is_array else ""
        return f"{count}{range_of(prop)}"
    if prop.type == "ENUM":
        items = [f"`{item.identifier}` {item.name}" for item in prop.enum_items]
        return ", ".join(items) or "chosen from a list"
    if prop.type == "POINTER":
        return prop.fixed_type.name
    return "text" if prop.type == "STRING" else "list"


def default_of(prop: Any) -> str:
    """Return the default of a property."""
    if prop.type == "BOOLEAN":
        return "on" if prop.default else "off"
    if prop.type in ("INT", "FLOAT"):
        values = list(prop.default_array) if prop.is_array else [prop.default]
        return ", ".join(number(prop, value) for value in values)
    if prop.type == "ENUM":
        if prop.is_enum_flag:
            return ", ".join(f"`{name}`" for name in sorted(prop.default_flag)) or "–"
        return f"`{prop.default}`" if prop.default else "–"
    return (prop.default or "–") if prop.type == "STRING" else "–"


def row_of(prop: Any) -> str:
    """Return the row of a property in a table."""
    about = prop.description + ("." if prop.description else "")
    cells = (prop.name, f"`{prop.identifier}`", values_of(prop), default_of(prop), about.strip())
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


HEAD = "| label | name | values | default | |\n| --- | --- | --- | --- | --- |"


def table(props: list[Any]) -> str:
    """Return a table of properties."""
    return "\n".join([HEAD, *map(row_of, props)])


def groups() -> Iterator[tuple[str, Any]]:
    """Yield the path of each group of settings in scripts, and its class."""
    for owner in OWNERS:
        for prop in getattr(bpy.types, owner).bl_rna.properties:
            if prop.type == "POINTER" and is_ours(class_of(prop)):
                yield from groups_below(f"{owner}.{prop.identifier}", class_of(prop))


def single_properties(owner: str) -> list[Any]:
    """Return our properties of one of Blender's types that belong to no group."""
    return [
        prop
        for prop in getattr(bpy.types, owner).bl_rna.properties
        if prop.is_runtime and prop.identifier.startswith("fabrik") and prop.type != "POINTER"
    ]


def class_of(prop: Any) -> Any:
    """Return the class that a property points to."""
    name = prop.fixed_type.identifier
    classes: list[Any] = bpy.types.PropertyGroup.__subclasses__()
    return next((kind for kind in classes if kind.bl_rna.identifier == name), None)


def groups_below(path: str, kind: Any) -> Iterator[tuple[str, Any]]:
    """Yield a group and its subgroups."""
    yield path, kind
    for prop in own_properties(kind):
        if prop.type in ("POINTER", "COLLECTION") and is_ours(class_of(prop)):
            more = "[…]" if prop.type == "COLLECTION" else ""
            yield from groups_below(f"{path}.{prop.identifier}{more}", class_of(prop))


def own_properties(kind: Any) -> list[Any]:
    """Return the properties that a group itself defines, in order."""
    by_name = {prop.identifier: prop for prop in kind.bl_rna.properties}
    blenders = {prop.description for prop in bpy.types.PropertyGroup.bl_rna.properties}
    return [prop for prop in by_name.values() if prop.description not in blenders]


def is_shown(prop: Any) -> bool:
    """Return whether a property has a row: it isn't hidden, and has no section of its own."""
    is_group = prop.type == "POINTER" and is_ours(class_of(prop))
    return prop.type != "COLLECTION" and not prop.is_hidden and not is_group


NOTE = "<!-- Written by tools/reference.py: make docs -->"


def properties_page() -> str:
    """Return the page of all properties."""
    parts = [
        "# Properties",
        NOTE,
        "All settings and results, grouped by where a script finds them. Angles are in degrees "
        "here, as on the screen; scripts take radians. Lengths are in Blender units: meters, if "
        "the scene's Unit Scale is 1.",
    ]
    sections = [(path, kind.bl_rna.description, own_properties(kind)) for path, kind in groups()]
    sections += [(owner, "", single_properties(owner)) for owner in OWNERS]
    for path, about, props in sections:
        shown = [prop for prop in props if is_shown(prop)]
        if shown:
            parts += [f"## {path}", about, table(shown)]
    return "\n\n".join(part for part in parts if part) + "\n"


def operators_page() -> str:
    """Return the page of all operators."""
    where = places()
    parts = [
        "# Operators",
        NOTE,
        "All commands, as scripts call them: `bpy.ops.fabrik.bake()`. F3 finds them by name.",
    ]
    operators: Any = bpy.ops
    for name in sorted(dir(operators.fabrik)):
        rna = getattr(operators.fabrik, name).get_rna_type()
        own_names = annotations_of(getattr(bpy.types, f"FABRIK_OT_{name}"))
        props = [p for p in rna.properties if p.identifier in own_names and not p.is_hidden]
        parts += [f"## {rna.name}: fabrik.{name}", f"{rna.description}."]
        if titles := where.get(f"fabrik.{name}"):
            parts.append("In " + "; ".join(f"*{title}*" for title in titles) + ".")
        if props:
            parts.append(table(props))
    return "\n\n".join(parts) + "\n"


def pages() -> dict[Path, str]:
    """Return the text of each page by its path; the extension must be registered."""
    return {
        FOLDER / "properties.md": properties_page(),
        FOLDER / "operators.md": operators_page(),
        messages.PAGE: messages.messages_page(),
    }


def main() -> None:
    """Write the pages."""
    import addon

    addon.register()
    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for path, text in pages().items():
            path.write_text(text, encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: {len(text.splitlines())} lines")
    finally:
        addon.unregister()


if __name__ == "__main__":
    main()
