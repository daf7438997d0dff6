"""What happens when a render starts with outdated simulations.

In background mode they are simulated. With a window, the render runs in a thread that must not
change the scene's frame. So the Image Editor shows a warning instead.
"""

from __future__ import annotations

from typing import Any, cast

import bpy
from bpy.app.handlers import persistent

from ...blender.errors import ProblemError, report_once
from ...blender.messages import msg, shown
from ...blender.refusals import rest_problem
from ...editing.playing import finish
from ...frame import handlers
from ...plan import planner
from ...ui.paint import MARGIN, Color, palette, pixel, start_texts, write
from ...ui.registering import registering
from ...ui.wording import named
from . import history

_outdated: list[str] = []
"""Names of the armatures that were outdated when the last render started."""


@persistent
def before_render(scene: bpy.types.Scene, _unused: object = None) -> None:
    """Simulate outdated armatures, or note them for `warning`."""
    try:
        if bpy.app.background:
            for problem in simulate_outdated(scene):
                print(f"FABRIK IK: {problem}.")
        else:
            _outdated[:] = outdated(scene)
    except Exception:
        report_once("could not simulate what is outdated")


def simulate_outdated(scene: bpy.types.Scene) -> list[str]:
    """Simulate all outdated armatures of a scene; return the problems."""
    from .simulate import outdated_armatures, simulate

    def go(armatures: list[bpy.types.Object]) -> list[str]:
        try:
            return finish(simulate(scene, layer, armatures)).refused
        except ProblemError as problem:
            if len(armatures) == 1:
                return [str(problem)]
            # Try each on its own.
            return [reason for ob in armatures for reason in go([ob])]

    problems: list[str] = []
    try:
        for layer in scene.view_layers:
            if layer.depsgraph is None:
                layer.update()  # Before that, Blender 4.2 doesn't list its objects.
            # The rendered scene's frame range, frame rate and force fields apply.
            with bpy.context.temp_override(scene=scene, view_layer=layer):
                simulatable = [ob for ob in outdated_armatures(layer) if not rest_problem(ob)]
                problems += go(simulatable) if simulatable else []
    finally:
        history.check_again()  # Another scene may be active.
    return problems


def outdated(scene: bpy.types.Scene) -> list[str]:
    """Return the names of armatures in a scene with outdated simulations."""
    planner.current()
    shown = [ob for ob in scene.objects if ob.type == "ARMATURE" and history.owners(ob)]
    return [ob.name for ob in shown if history.is_due(ob)]


@persistent
def forget(_path: object = None, _unused: object = None) -> None:
    """Forget the last render when another file is loaded."""
    _outdated.clear()


def warning(context: bpy.types.Context) -> list[str]:
    """Return the lines of the warning for an Image Editor."""
    image = cast(bpy.types.SpaceImageEditor, context.space_data).image
    if not _outdated or image is None or image.type != "RENDER_RESULT":
        return []
    return [
        msg("{names}: rendered with an outdated simulation", names=named(_outdated)),
        msg("Press Simulate and render again"),
    ]


def _draw() -> None:
    """Draw the warning; report an error once, or Blender would print it at each redraw."""
    try:
        context = bpy.context
        lines = warning(context)
        if lines:
            _write(context, lines, palette(context).target)
    except Exception:
        report_once("could not draw what is outdated")


def _write(context: bpy.types.Context, lines: list[str], color: Color) -> None:
    leading = 1.8 * start_texts(context)
    margin = MARGIN * pixel(context)
    for i, line in enumerate(reversed(lines)):
        write(shown(line), margin, margin + i * leading, color)


HANDLERS = (("render_init", before_render), ("load_pre", forget))

types: Any = bpy.types

_register, _unregister = registering(
    __name__, draws=((types.SpaceImageEditor, _draw, "POST_PIXEL"),)
)


def register() -> None:
    """Add the handlers."""
    handlers.add(*HANDLERS)
    _register()


def unregister() -> None:
    """Remove the handlers."""
    _unregister()
    handlers.remove(*HANDLERS)
    forget()
