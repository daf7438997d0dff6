"""The page in the preferences, and the settings of new constraints that it stores."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import bpy
import pytest
from layouts import Layout, classes
from operating import refuses
from rigs import activate, make_chain, make_empty, update

from addon import app

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def preferences(empty_file: None) -> Iterator[Any]:
    """The preferences, as Blender makes them when the add-on is enabled there."""
    addons = bpy.context.preferences.addons
    entry = addons.new()
    entry.module = "addon"
    yield entry.preferences
    addons.remove(entry)


def new_constraint() -> Any:
    from addon.editing import constraints

    rig = make_chain(4)
    activate(rig)
    return constraints.add(rig, "B3", make_empty(), chain_count=3)


def shown(addon: ModuleType, preferences: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what the page draws."""
    import rna_keymap_ui

    layout = Layout()

    def draw_kmi(_maps: Any, _config: Any, _map: Any, item: Any, _layout: Any, _level: int) -> None:
        layout.shown.append(f"keymap {item.idname}")

    monkeypatch.setattr(rna_keymap_ui, "draw_kmi", draw_kmi)
    page = classes(addon)["FabrikPreferences"]
    page.draw(SimpleNamespace(layout=layout, defaults=preferences.defaults), bpy.context)
    return layout.shown


def test_the_page_tells_where_things_are_and_has_the_defaults(
    addon: ModuleType, preferences: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = shown(addon, preferences, monkeypatch)
    assert {"Where to Find It", "Keymap", "Overlay", "New Constraints", "Solver"} <= {*page}
    assert {"show_overlay", "softness", "iterations"} <= {*page}
    assert "fabrik.constraint_default_save" in page
    assert any(text.startswith(("Compiled", "Interpreted")) for text in page)


def test_links_are_those_of_the_manifest(
    addon: ModuleType, preferences: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from addon.app import preferences as module

    manifest = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))
    assert manifest.get("website", "").rstrip("/") == module.WEBSITE
    monkeypatch.setattr(module, "WEBSITE", "")
    assert "wm.url_open" not in shown(addon, preferences, monkeypatch), "no dead link"
    monkeypatch.setattr(module, "WEBSITE", "https://example.org")
    assert shown(addon, preferences, monkeypatch).count("wm.url_open") == 2


def test_the_solver_that_runs_is_told(
    addon: ModuleType, preferences: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fabrik_solver

    for is_compiled, word in ((True, "Compiled"), (False, "Interpreted")):
        monkeypatch.setattr(fabrik_solver, "COMPILED", is_compiled)
        page = shown(addon, preferences, monkeypatch)
        assert any(text.startswith(word) for text in page)


def test_new_constraints_get_the_stored_settings(preferences: Any) -> None:
    preferences.defaults.softness = 0.25
    preferences.defaults.show_overlay = False
    item = new_constraint()
    assert (item.softness, item.show_overlay, item.use_stretch) == (0.25, False, False)
    update()
    assert item.state == "REACHED"


def test_stored_settings_are_those_of_constraints(preferences: Any) -> None:
    """With the same labels, tooltips, ranges and defaults, and without the limb's own."""
    from addon.editing.defaults import names_of_defaults

    item = new_constraint()
    assert len(names_of_defaults()) > 10
    assert not {"solver", "chain_count", "target", "influence", "bone"} & {*names_of_defaults()}
    for name in names_of_defaults():
        own, stored = (group.bl_rna.properties[name] for group in (item, preferences.defaults))
        for fact in ("name", "description", "default", "hard_min", "hard_max", "subtype"):
            assert getattr(own, fact, None) == getattr(stored, fact, None), (name, fact)


def test_the_active_constraint_can_be_saved_as_default_and_that_reset(preferences: Any) -> None:
    item = new_constraint()
    refuses(bpy.ops.fabrik.constraint_default_reset, saying="already use the factory defaults")
    item.softness, item.use_stretch, item.chain_count = 0.1, True, 2
    item.wave.amplitude = 0.5
    bpy.context.preferences.is_dirty = False
    assert bpy.ops.fabrik.constraint_default_save() == {"FINISHED"}
    assert bpy.context.preferences.is_dirty
    other = new_constraint()
    assert (round(other.softness, 6), other.use_stretch, other.chain_count) == (0.1, True, 3)
    assert other.wave.amplitude != 0.5
    assert bpy.ops.fabrik.constraint_default_reset() == {"FINISHED"}
    assert (new_constraint().softness, preferences.defaults.use_stretch) == (0.0, False)


def test_without_preferences_there_are_none() -> None:
    new_constraint()
    refuses(bpy.ops.fabrik.constraint_default_save, saying="isn't enabled in the preferences")


def test_registering_that_fails_leaves_nothing_behind(
    addon: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("half-way")

    addon.unregister()
    try:
        monkeypatch.setattr(app.PARTS[-1], "register", fail)
        with pytest.raises(RuntimeError, match="half-way"):
            addon.register()
        assert not hasattr(bpy.types.Object, "fabrik")
    finally:
        monkeypatch.undo()
        addon.register()
