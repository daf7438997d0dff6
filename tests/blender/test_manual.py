"""What the README and the manual ask people to type works as written."""

import re
import shlex
import sys
from functools import partial
from io import StringIO
from pathlib import Path

import pytest
import rigs

from addon.features.command import command

ROOT = Path(__file__).parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
EXAMPLE = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
WITH_CODE = [name for name, text in PAGES.items() if EXAMPLE.search(text)]


@pytest.fixture
def in_the_repository(monkeypatch: pytest.MonkeyPatch):
    """The folder in which readers run what is on a page, and their own path of modules."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "core"]:
        del sys.modules[name]


def output_of(code: str, place: str, names: dict[str, object]) -> str:
    """Return what a block of code prints, without what Blender's operators print."""
    told = StringIO()
    names["print"] = partial(print, file=told)
    exec(compile(code, place, "exec"), names)
    return told.getvalue()


@pytest.mark.parametrize("page", WITH_CODE)
def test_code_prints_what_the_page_says(page, in_the_repository):
    """A page's blocks run one after the other, from a new file; what they print follows them."""
    names: dict[str, object] = {}
    for code, told in EXAMPLE.findall(PAGES[page]):
        assert output_of(code, page, names) == told, code


def test_all_examples_are_found():
    fences = sum(len(re.findall("^ *```python", text, re.MULTILINE)) for text in PAGES.values())
    assert fences == sum(len(EXAMPLE.findall(text)) for text in PAGES.values()) > 20


def test_the_command_lines_are_understood():
    lines = [
        line
        for text in PAGES.values()
        for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        for line in block.splitlines()
        if "fabrik_bake" in line
    ]
    assert len(lines) >= 4
    for line in lines:
        blender, option, name, *rest = shlex.split(line)
        assert (blender, option, name) == ("blender", "--command", command.NAME)
        assert command._parser().parse_args(rest).file.name == "shot.blend"


def test_every_field_of_the_table_exists():
    table = PAGES["docs/features/scripting.md"].split("| field |")[1].split("```")[0]
    item = rigs.make_chain().fabrik.constraints.add()
    fields = set(re.findall(r"`(\w+)`", table.split("\n\n")[0]))

    assert len(fields) == 43
    assert fields <= set(item.bl_rna.properties.keys())
    solvers = [solver.identifier for solver in item.bl_rna.properties["solver"].enum_items]
    assert re.findall(r"`'(\w+)'`", table) == [*solvers, "FABRIK"]


def test_the_readme_is_read_in_three_minutes():
    assert len(PAGES["README.md"].splitlines()) <= 200
