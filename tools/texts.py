"""Find all texts of the interface, for translation; needs `bpy`, which registers the add-on.

    python -m tools.texts FILE    writes them to a JSON file

Labels, tooltips and enum items are read from the registered classes. Messages and the texts of
layouts are read from the source. The command line is in English only.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from inspect import getsource
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import bpy

import addon
from addon.blender.messages import CONTEXT, DEFAULT, context_of

ROOT = Path(__file__).resolve().parent.parent
ADDON = ROOT / "addon"
NOT_SHOWN = ("core/", "motion/", "presets/", "features/command/")
"""Folders without texts of the interface."""

MESSAGES = {
    "msg": (0,),
    "ProblemError": (0,),
    "ChoiceError": (0,),
    "UntraceableError": (0,),
    "counted": (1, 2),
}
"""The functions that make messages, and the indices of their text arguments."""


class Text(NamedTuple):
    """A text to translate.

    Attributes:
        context: Its translation context.
        text: The English text.
        place: Where it is used: a file, or a class and property.
    """

    context: str
    text: str
    place: str


def is_word(text: str) -> bool:
    """Return whether a text needs translation, such as “Copy” but not “FABRIK” or “−X”."""
    return text == ", " or re.search(r"[^\W\d_][a-zß-ÿ]|\{.*\}", text) is not None


def all_texts() -> list[Text]:
    """Return all texts, each once per place."""
    texts = [text for text in (*_source_texts(), *_registered_texts()) if is_word(text.text)]
    return list(dict.fromkeys(texts))


def hidden_texts() -> list[Text]:
    """Return the texts of hidden properties."""
    return list(_registered_texts(hidden=True))


# Registered classes


def _classes(base: type) -> Iterator[Any]:
    """Yield the add-on's registered classes, by name."""
    for cls in sorted(base.__subclasses__(), key=lambda subclass: subclass.__name__):
        # Macros don't show whether they are registered, but get their RNA then.
        is_registered = getattr(cls, "is_registered", "bl_rna" in vars(cls))
        if cls.__module__.split(".")[0] == "addon" and is_registered:
            yield cls
        yield from _classes(cls)


def _registered_texts(hidden: bool = False) -> Iterator[Text]:
    types: Any = bpy.types
    others = (types.Panel, types.Menu, types.UIList, types.AddonPreferences)
    for base in (types.Operator, types.Macro, *others):
        for cls in _classes(base):
            rna = cls.bl_rna if base in others else _operator(cls.bl_idname)
            if not hidden:
                yield from _class_texts(cls, rna)
            if base in (types.Operator, types.AddonPreferences):
                yield from _property_texts(rna, cls.__name__, base.bl_rna, hidden)
    for cls in _classes(types.PropertyGroup):
        yield from _property_texts(cls.bl_rna, cls.__name__, types.PropertyGroup.bl_rna, hidden)
    for owner in (types.Object, types.Scene, types.Bone, types.PoseBone, types.WindowManager):
        for prop in owner.bl_rna.properties:
            if prop.is_runtime and prop.identifier.startswith("fabrik"):
                yield from _texts_of(prop, owner.__name__, hidden)


def _operator(idname: str) -> Any:
    """Return the RNA of an operator with its properties."""
    space, _, name = idname.partition(".")
    return getattr(getattr(bpy.ops, space), name).get_rna_type()


def _class_texts(cls: Any, rna: Any) -> Iterator[Text]:
    """Yield the label, the tooltip and the tab of a class."""
    if issubclass(cls, (bpy.types.Operator, bpy.types.Macro)):
        yield Text(rna.translation_context, rna.name, cls.__name__)
        yield Text(DEFAULT, rna.description, cls.__name__)
        return
    context = getattr(cls, "bl_translation_context", "") or DEFAULT
    yield Text(context, _label(cls), cls.__name__)
    yield Text(DEFAULT, getattr(cls, "bl_description", ""), cls.__name__)
    yield Text(DEFAULT, getattr(cls, "bl_category", ""), cls.__name__)


def _label(cls: Any) -> str:
    """Return the label of a class; from the source if Blender sets it to the last preset's."""
    if not hasattr(cls, "preset_subdir"):
        return getattr(cls, "bl_label", "")
    lines = ast.parse(dedent(getsource(cls))).body[0].body  # type: ignore[attr-defined]
    labels = [line.value for line in lines if ast.unparse(line).startswith("bl_label")]
    return "".join(text for label in labels for text in literals(label))


def _property_texts(rna: Any, owner: str, base: Any, hidden: bool) -> Iterator[Text]:
    for prop in rna.properties:
        base_prop = base.properties.get(prop.identifier)
        if base_prop is None or base_prop.description != prop.description:
            yield from _texts_of(prop, owner, hidden)


def _texts_of(prop: Any, owner: str, hidden: bool) -> Iterator[Text]:
    if prop.is_hidden != hidden:
        return
    owner_prop = f"{owner}.{prop.identifier}"
    yield Text(prop.translation_context, prop.name, owner_prop)
    yield Text(DEFAULT, prop.description, owner_prop)
    if prop.type == "ENUM":
        for item in prop.enum_items:
            yield Text(prop.translation_context, item.name, owner_prop)
            yield Text(DEFAULT, item.description, owner_prop)


# The source


NO_SENTENCES = {
    "Add, remove, snap, bake",
    "All settings",
    "Constraints of the active bone",
    "Joint limits",
    "Pose with the mouse",
    "Show or hide the chains",
    "Where to Find It",
    "Switch … to FK",
    "Switch … to IK",
    "… of the chain's length",
    "…° in a channel of a bone",
}
"""Labels and parts of sentences that look like sentences."""


def messages() -> dict[str, str]:
    """Return the messages that are sentences, with “…” for each value, and their modules.

    Messages in lower case are values in others. Unlike `all_texts`, this includes the command line.
    """
    modules: dict[str, str] = {}
    for file in sorted(ADDON.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                for i in {**MESSAGES, "_print": (0,)}.get(_name_of(node.func), ()):
                    texts = _with_ellipses(node.args[i]) if i < len(node.args) else ()
                    for text in filter(_is_sentence, texts):
                        modules.setdefault(text, file.relative_to(ADDON).as_posix())
    return modules


def _with_ellipses(node: ast.expr) -> Iterator[str]:
    """Yield the texts of an expression in the form that readers search for."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
        yield "".join(map(str, parts)).strip(" .,;:")
    for text in literals(node):
        yield " ".join(re.sub(r"\{[^}]*\}", "…", text).split()).strip(" .,;:")


def _is_sentence(text: str) -> bool:
    """Return whether a text is a sentence, not a label, whose words are capitalized."""
    return (
        re.match("[A-Z“…-]", text) is not None
        and re.search(" [a-z]{2,}", text) is not None
        and len(re.findall("[A-Za-z]{2,}", text)) >= (3 if text.startswith("…") else 2)
        and text not in NO_SENTENCES
    )


def _source_texts() -> Iterator[Text]:
    for file in sorted(ADDON.rglob("*.py")):
        name = file.relative_to(ADDON).as_posix()
        if not name.startswith(NOT_SHOWN):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            for context, text in sorted(_texts_in(tree)):
                yield Text(context, text, f"addon/{name}")


def _texts_in(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and "WorkSpaceTool" in ast.unparse(node):
            yield from _tool_texts(node)
        if not isinstance(node, ast.Call):
            continue
        name = _name_of(node.func)
        for i in MESSAGES.get(name, ()):
            if i < len(node.args):
                for text in literals(node.args[i]):
                    yield context_of(text), text
        for keyword in node.keywords:
            if keyword.arg in ("text", "heading") and isinstance(node.func, ast.Attribute):
                for text in literals(keyword.value):
                    yield _layout_context(name, node), text


def _tool_texts(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the label and the tooltip of a tool, which is not in RNA."""
    for line in node.body:
        if isinstance(line, ast.Assign):
            name = ast.unparse(line.targets[0])
            for text in literals(line.value):
                if name == "bl_label":
                    yield bpy.app.translations.contexts.operator_default, text
                if name in ("bl_label", "bl_description"):
                    yield DEFAULT, text


def _name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def literals(node: ast.expr) -> Iterator[str]:
    """Yield the literal strings that an expression may evaluate to."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)


def _layout_context(kind: str, call: ast.Call) -> str:
    """Return the context in which Blender translates a text in a layout's call."""
    if any(keyword.arg in ("text_ctxt", "heading_ctxt") for keyword in call.keywords):
        return CONTEXT
    if kind not in ("operator", "operator_menu_enum", "prop", "prop_search"):
        return DEFAULT
    names = list(literals(call.args[0 if kind.startswith("operator") else 1]))
    if kind.startswith("operator"):
        return _operator(names[0]).translation_context
    return next((_contexts()[name] for name in names if name in _contexts()), DEFAULT)


def _contexts() -> dict[str, str]:
    """Return the translation contexts of the add-on's properties, except the default."""
    rnas = [cls.bl_rna for cls in _classes(bpy.types.PropertyGroup)]
    props = [prop for rna in rnas for prop in rna.properties]
    return {p.identifier: p.translation_context for p in props if p.translation_context != DEFAULT}


def main(path: str) -> None:
    """Write the texts of the add-on to a file."""
    addon.register()
    Path(path).write_text(json.dumps(all_texts(), ensure_ascii=False), encoding="utf-8")
    addon.unregister()


if __name__ == "__main__":
    main(sys.argv[1])
