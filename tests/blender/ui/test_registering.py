"""What a module registers goes with the extension."""

from types import ModuleType
from typing import Any

import bpy
import pytest


def test_whatever_runs_is_cancelled_before_its_class_goes(
    addon: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    from addon.ui import registering

    ended: list[str] = []
    monkeypatch.setattr(registering, "end_running", lambda cls: ended.append(cls.__name__))
    known = {name for name in dir(bpy.types) if name.startswith("FABRIK_OT_")}
    addon.unregister()
    addon.register()
    modal: set[str] = set()
    for name in known:
        cls: Any = getattr(bpy.types, name)
        modal |= {name} if hasattr(cls, "modal") else set()
    # Adding a walk simulates it, in slices; dragging has a tool beside its class.
    assert {"FABRIK_OT_gait_add", "FABRIK_OT_bake"} <= modal
    assert modal - {"FABRIK_OT_drag"} <= {*ended}
