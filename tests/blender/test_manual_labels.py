"""The words in bold in the manual are on the screen, and menus have what the manual finds there."""

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import bpy
import pytest

from addon.app import menus
from tools import texts

ROOT = Path(__file__).parents[2]
DEVELOPERS = (
    *("architecture.md", "blender-facts.md", "benchmarks/README.md"),
    *("rules.md", "style-guide.md"),
)
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if path.relative_to(ROOT).as_posix().removeprefix("docs/") not in DEVELOPERS
}
BOLD = re.compile(r"\*\*([^*]+)\*\*")


def bold_in(text: str) -> list[list[str]]:
    """Return the parts of each path in bold, such as ["Pose", "Inverse Kinematics"]."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [
        [part.strip() for part in " ".join(found.split()).split("›")]
        for found in BOLD.findall(text)
    ]


def texts_in(folder: Path, words: Collection[str]) -> Iterator[str]:
    """Yield the strings that scripts of Blender pass as a label: text=… and heading=….

    Only scripts with one of the words are parsed, as each takes a while.
    """
    for file in folder.rglob("*.py"):
        content = file.read_text(encoding="utf-8")
        tree = ast.parse(content if any(word in content for word in words) else "")
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg in ("text", "heading"):
                for part in ast.walk(node.value):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value


def names_in_rna(struct: Any) -> Iterator[str]:
    """Yield the labels of a type, its properties and the items of its enums."""
    yield struct.name
    for prop in struct.properties:
        yield prop.name
        if prop.type == "ENUM":
            yield from (item.name for item in (*prop.enum_items, *prop.enum_items_static))


def labels() -> set[str]:
    """Return all that Blender with the extension calls something on the screen."""
    found: set[str] = set()
    for name in dir(bpy.types):
        kind = getattr(bpy.types, name)
        found.add(getattr(kind, "bl_label", ""))
        if hasattr(kind, "bl_rna"):
            found.update(names_in_rna(kind.bl_rna))
    for module in dir(bpy.ops):
        for name in dir(getattr(bpy.ops, module)):
            found.update(names_in_rna(getattr(getattr(bpy.ops, module), name).get_rna_type()))
    found.update(tool.bl_label for tool in bpy.types.WorkSpaceTool.__subclasses__())
    found.update(re.sub(r"\{[^}]*\}", "…", one.text) for one in texts.all_texts())
    return plain(found)


def plain(labels: Iterable[str]) -> set[str]:
    return {label.removesuffix("…").removesuffix("...").strip() for label in labels} - {""}


@pytest.fixture(scope="module")
def known(addon) -> set[str]:
    defined = labels() | SYMBOLS
    bold = (part for text in PAGES.values() for path in bold_in(text) for part in path)
    rest = {part.removesuffix("…") for part in bold} - defined
    scripts = Path(bpy.utils.system_resource("SCRIPTS"))
    return defined | plain(texts_in(scripts, rest))


SYMBOLS = {"⌄", "+", "FABRIK", "Properties", "Bold", "Rigify Meta-Rigs", "Human"}
"""Buttons with an icon alone, the tab, the editor, and what Rigify makes of a name for a menu."""


class Recorder:
    """A layout that notes the labels of what is drawn in a menu."""

    def __init__(self) -> None:
        self.labels: list[str] = []

    def operator(self, name: str, text: str = "", **_named: Any) -> Any:
        module, _, function = name.partition(".")
        rna = getattr(getattr(bpy.ops, module), function).get_rna_type()
        self.labels.append(text or rna.name)
        return type("Settings", (), {})()

    def menu(self, name: str) -> None:
        self.labels.append(getattr(bpy.types, name).bl_label)

    def separator(self) -> None:
        pass


def drawn(draw: Any) -> list[str]:
    """Return the labels of a menu, given its function `draw`."""
    recorder = Recorder()
    draw(type("Menu", (), {"layout": recorder})(), bpy.context)
    return [label.removesuffix("…") for label in recorder.labels]


@pytest.mark.skipif(bpy.app.version < (5, 2), reason="the labels are those of the newest Blender")
def test_bold_words_are_labels(known):
    missing = [
        (page, path)
        for page, text in PAGES.items()
        for path in bold_in(text)
        if not {part.removesuffix("…") for part in path} <= known
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("start", "draw"),
    [
        (["Pose", "Inverse Kinematics"], menus.draw_ik),
        (["Pose", "Inverse Kinematics", "Add Motion"], menus.FABRIK_MT_motion.draw),
    ],
)
def test_menus_have_what_the_manual_finds_there(start, draw):
    there = drawn(draw)
    paths = [path for text in PAGES.values() for path in bold_in(text)]
    found = [path[len(start)] for path in paths if path[: len(start)] == start != path]
    assert found
    assert [label for label in found if label.removesuffix("…") not in there] == []
