"""F1 over a button or setting opens its place in the manual that the extension contains."""

import runpy
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_operators.wm import WM_OT_doc_view_manual
from layouts import Layout

ROOT = Path(__file__).resolve().parents[3]
REFERENCE = runpy.run_path(str(ROOT / "tools" / "reference.py"))


def shown_settings() -> dict[str, str]:
    """Return what Blender calls our settings, by how the manual's pages are called."""
    found: dict[str, str] = {}
    for path, kind in REFERENCE["groups"]():
        for prop in REFERENCE["own_properties"](kind):
            page = f"{path.replace('[…]', '')}.{prop.identifier}".lower()
            found[page] = f"bpy.types.{kind.bl_rna.identifier}.{prop.identifier}"
    return found


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A manual with a page for each setting and operator, by what Blender calls them."""
    from addon.app import manual

    found = shown_settings()
    found |= {f"fabrik.{name}": f"bpy.ops.fabrik.{name}" for name in dir(bpy.ops.fabrik)}
    (tmp_path / "at").mkdir()
    for page in found:
        (tmp_path / "at" / f"{page}.html").touch()
    (tmp_path / "index.html").touch()
    (tmp_path / "samples.html").touch()
    monkeypatch.setattr(manual, "FOLDER", tmp_path)
    return {rna: page for page, rna in reversed(found.items())}


def opened(rna: str) -> str:
    """Return the page that F1 opens."""
    return WM_OT_doc_view_manual._lookup_rna_url(rna, verbose=False) or ""


def test_each_setting_and_operator_has_its_place(pages: dict[str, str], tmp_path: Path) -> None:
    assert len(pages) > 200
    for rna, page in pages.items():
        assert opened(rna) == f"{tmp_path.as_uri()}/at/{page}.html", rna


def test_what_has_no_place_leads_to_the_reference(pages: dict[str, str], tmp_path: Path) -> None:
    reference = f"{tmp_path.as_uri()}/reference"
    assert opened("bpy.types.FABRIK_MT_pie") == f"{reference}/properties.html"
    assert opened("bpy.types.Bone.fabrik_flexion") == f"{reference}/properties.html"
    assert opened("bpy.ops.fabrik.not_there") == f"{reference}/operators.html"


def test_settings_of_new_constraints_are_those_of_constraints(pages: dict[str, str]) -> None:
    assert opened("bpy.types.FabrikDefaults.softness").endswith(
        "/at/object.fabrik.constraints.softness.html"
    )


def test_what_is_blenders_stays_blenders(pages: dict[str, str]) -> None:
    assert opened("bpy.types.KinematicConstraint.chain_count").startswith("https://docs.blender")


def test_without_a_manual_nothing_is_opened() -> None:
    """As in a checkout, which has no pages."""
    from addon.app import manual

    assert not manual.FOLDER.exists()
    assert manual.url() == ""
    assert opened("bpy.types.FabrikConstraint.influence") == ""


def test_the_preferences_have_a_link(pages: dict[str, str], tmp_path: Path) -> None:
    from addon.app import preferences

    links: list[str] = []

    class Recorder(Layout):
        def operator(self, name: str, icon: str = "NONE", **_settings: object) -> Any:
            class Properties:
                def __setattr__(self, _key: str, value: str) -> None:
                    links.append(value)

            return Properties()

        def row(self, **_settings: object) -> Any:
            return self

    preferences._draw_links(Recorder())
    assert links == [f"{tmp_path.as_uri()}/index.html", f"{tmp_path.as_uri()}/samples.html"]
