"""The features of the extension, and the order in which they are registered."""

from contextlib import ExitStack
from types import ModuleType

from ..editing import joint_uses
from ..features import (
    bake,
    character,
    command,
    constraint,
    continuous,
    convert,
    drag,
    fk_ik,
    foot_roll,
    free_chain,
    gait,
    ground,
    hold,
    joints,
    layer,
    learn,
    look_at,
    mirror,
    motion_paths,
    overlay,
    root_motion,
    rope,
    simulation,
    spring,
    wave,
    whole_body,
)
from ..frame import handlers
from ..plan import registry
from ..ui import presets
from . import keymap, languages, manual, menus, preferences

FEATURES = (
    character,
    constraint,
    look_at,
    rope,
    free_chain,
    wave,
    spring,
    learn,
    fk_ik,
    convert,
    mirror,
    foot_roll,
    ground,
    gait,
    hold,
    root_motion,
    layer,
    joints,
    bake,
    motion_paths,
    simulation,
    continuous,
    command,
    whole_body,
    drag,
    overlay,
)
"""All features, in the order of their panels and of their hooks when solving."""

PARTS: tuple[ModuleType, ...] = (
    languages,
    joint_uses,
    handlers,
    presets,
    *[part for feature in FEATURES for part in feature.PARTS],
    menus,
    keymap,
    manual,
    preferences,
)


def register() -> None:
    """Add everything to Blender, or nothing if a part fails, because Blender doesn't clean up."""
    with ExitStack() as added:
        registry.install([feature.FEATURE for feature in FEATURES if hasattr(feature, "FEATURE")])
        added.callback(registry.uninstall)
        for part in PARTS:
            part.register()
            added.callback(part.unregister)
        added.pop_all()


def unregister() -> None:
    """Undo `register`, in reverse order."""
    for part in reversed(PARTS):
        part.unregister()
    registry.uninstall()
