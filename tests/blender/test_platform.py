"""What extension platforms ask for, as far as it can be checked; see docs/publishing.md."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest
from PIL import Image

from samples.listing import STILLS

ROOT = Path(__file__).parents[2]
ADDON = ROOT / "addon"
MANIFEST = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))
TREES = {
    file.relative_to(ADDON).as_posix(): ast.parse(file.read_text(encoding="utf-8"))
    for file in sorted(ADDON.rglob("*.py"))
    if "presets" not in file.relative_to(ADDON).parts[0]
}

READS_OWN_FOLDER = {"app/manual.py", "ui/presets.py"}
"""The folders of the manual and of the presets that are part of the extension."""

SAYS_ON_CONSOLE = {
    "blender/errors.py",
    "features/command/command.py",
    "features/simulation/rendering.py",
}
"""Unexpected errors, the command line, and a rendering in background mode."""

STARTS_BLENDER = {"features/command/jobs.py"}
"""On the command line, where `--jobs` asks for it."""

NEEDS_PERMISSION = {"urllib", "http", "socket", "ssl", "requests", "ftplib"}
FOREIGN = {"ctypes", "pip", "ensurepip", "site"}
ENDS_A_SENTENCE = (".", "!", "?")


def modules_with(found: type[ast.AST], condition) -> set[str]:
    """The modules in which a kind of node meets a condition."""
    return {
        name
        for name, tree in TREES.items()
        if any(isinstance(node, found) and condition(node) for node in ast.walk(tree))
    }


class TestManifest:
    def test_it_has_what_is_required_and_nothing_unknown(self):
        required = {"schema_version", "id", "version", "name", "tagline", "maintainer", "type"}
        required |= {"blender_version_min", "license"}
        optional = {"website", "tags", "copyright", "permissions", "platforms", "wheels", "build"}
        assert required <= MANIFEST.keys() <= required | optional

    @pytest.mark.parametrize("text", [MANIFEST["tagline"], *MANIFEST["permissions"].values()])
    def test_short_texts_have_64_characters_at_most_and_no_period(self, text):
        assert 0 < len(text) <= 64
        assert not text.endswith(ENDS_A_SENTENCE)

    def test_the_license_is_that_of_blender(self):
        assert MANIFEST["license"] == ["SPDX:GPL-3.0-or-later"]
        assert "GNU GENERAL PUBLIC LICENSE" in (ROOT / "LICENSE").read_text("utf-8")[:200]

    def test_versions_are_semantic(self):
        for key in ("schema_version", "version", "blender_version_min"):
            assert re.fullmatch(r"\d+\.\d+\.\d+", MANIFEST[key])

    def test_the_name_of_others_is_not_used(self):
        assert "blender" not in MANIFEST["name"].lower()

    def test_permissions_are_those_that_are_needed(self):
        assert MANIFEST["permissions"].keys() == {"files"}
        assert imported() & NEEDS_PERMISSION == set()


def imported() -> set[str]:
    """The packages that the extension imports by name."""
    return {
        name.split(".")[0]
        for tree in TREES.values()
        for node in ast.walk(tree)
        for name in names_of(node)
    }


def names_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield node.module


class TestSource:
    def test_nothing_is_installed_or_run(self):
        assert imported() & FOREIGN == set()

    def test_blender_itself_is_all_that_is_started(self):
        def imports(node: ast.Import) -> bool:
            return "subprocess" in names_of(node)

        assert modules_with(ast.Import, imports) == STARTS_BLENDER

    def test_no_metadata_of_legacy_add_ons(self):
        assert modules_with(ast.Name, lambda node: node.id == "bl_info") == set()

    def test_own_modules_are_imported_relatively(self):
        assert imported() & {"addon", "fabrik_ik"} == set()

    def test_sys_is_only_read(self):
        def writes(node: ast.Assign | ast.Call | ast.AugAssign) -> bool:
            if isinstance(node, ast.Assign):
                return any(ast.unparse(target).startswith("sys.") for target in node.targets)
            if isinstance(node, ast.AugAssign):
                return ast.unparse(node.target).startswith("sys.")
            called = ast.unparse(node.func)
            first = ast.unparse(node.args[0]) if node.args else ""
            return bool(
                re.match(
                    r"sys\.(path|modules|meta_path)\.\w*(append|insert|extend|pop|set)", called
                )
            ) or (called == "setattr" and first.startswith("sys."))

        kinds = (ast.Assign, ast.AugAssign, ast.Call)
        found = {name for kind in kinds for name in modules_with(kind, writes)}
        assert found == set()

    def test_paths_from_the_own_folder_are_only_read(self):
        """It may not be writable: what users save goes into their folder."""
        assert modules_with(ast.Name, lambda node: node.id == "__file__") == READS_OWN_FOLDER

    def test_importing_does_nothing(self):
        """All work is done by register; only imports, definitions and constants are at the top."""
        allowed = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
        allowed += (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.Try)
        found = {
            name
            for name, tree in TREES.items()
            for node in tree.body
            if not isinstance(node, allowed)
            and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        }
        assert found == set()

    def test_the_console_is_for_errors_and_commands(self):
        def prints(node: ast.Call) -> bool:
            return isinstance(node.func, ast.Name) and node.func.id == "print"

        assert modules_with(ast.Call, prints) == SAYS_ON_CONSOLE

    def test_classes_are_listed_and_not_collected(self):
        def collects(node: ast.Call) -> bool:
            return ast.unparse(node.func).endswith(("__subclasses__", "getmembers"))

        assert modules_with(ast.Call, collects) == set()

    def test_only_what_belongs_to_it_is_in_the_package(self):
        kinds = {file.suffix for file in ADDON.rglob("*") if file.is_file()}
        assert kinds - {".pyc"} <= {".py", ".po", ".pot"}


class TestNames:
    @pytest.mark.parametrize(
        ("kind", "mark"),
        [("Operator", "OT"), ("Panel", "PT"), ("Menu", "MT"), ("UIList", "UL")],
    )
    def test_classes_are_named_by_blenders_rule(self, kind, mark):
        base = getattr(bpy.types, kind)
        ours = [
            cls
            for cls in base.__subclasses__()
            if cls.__module__.split(".")[0] == "addon" and getattr(cls, "is_registered", False)
        ]
        assert ours
        for cls in ours:
            assert re.fullmatch(rf"FABRIK_{mark}_[a-z_]+", cls.__name__), cls

    def test_operators_have_one_prefix_a_label_and_a_description(self):
        for name in dir(bpy.ops.fabrik):
            rna = getattr(bpy.ops.fabrik, name).get_rna_type()
            assert rna.name and rna.description
            assert not rna.description.endswith(ENDS_A_SENTENCE)


class TestPictures:
    @pytest.mark.parametrize(
        ("path", "size"),
        [
            ("docs/images/icon.png", (256, 256)),
            ("docs/images/featured.png", (1920, 1080)),
            *((f"listing/{name}.png", (1920, 1080)) for name in STILLS),
        ],
    )
    def test_they_have_the_size_that_is_asked_for(self, path, size):
        with Image.open(ROOT / path) as picture:
            assert picture.format == "PNG"
            assert picture.size == size
            assert not getattr(picture, "is_animated", False)

    def test_the_listing_shows_every_still_once_and_the_film(self):
        text = (ROOT / "listing" / "README.md").read_text(encoding="utf-8")
        linked = re.findall(r"\]\((\w+\.(?:png|mp4))\)", text)
        assert sorted(linked) == sorted(["film.mp4", *(f"{name}.png" for name in STILLS)])
        assert ".gif" not in text
