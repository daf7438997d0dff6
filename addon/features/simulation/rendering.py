"""What is outdated as a render begins: simulated without a window, told of with one.

With a window a render runs beside it, in a thread that must not play frames of what the window
shows. So the picture is made of what was simulated before, and the editor that shows it says so.
"""

from __future__ import annotations

from typing import Any, cast

import bpy
from bpy.app.handlers import persistent

from ...blender.errors import ProblemError, report_once
from ...blender.refusals import rest_problem
from ...editing.playing import finish
from ...loop import plan
from ...ui.paint import MARGIN, Colour, palette, pixel, start_texts, write
from ...ui.wording import named
from . import history

_outdated: list[str] = []
"""The names of the armatures that were outdated as the last render began."""


@persistent
def before_render(scene: bpy.types.Scene, _unused: object = None) -> None:
    """Simulate what is outdated, or note it for `warning`."""
    try:
        if bpy.app.background:
            for problem in simulate_outdated(scene):
                print(f"FABRIK IK: {problem}.")
        else:
            _outdated[:] = outdated(scene)
    except Exception:
        report_once("could not simulate what is outdated")


def simulate_outdated(scene: bpy.types.Scene) -> list[str]:
    """Simulate everything of a scene that is outdated, in one go; return what went wrong."""
    from .simulate import simulate, stale

    def go(armatures: list[bpy.types.Object]) -> list[str]:
        try:
            return finish(simulate(scene, layer, armatures)).refused
        except ProblemError as problem:
            if len(armatures) == 1:
                return [str(problem)]
            # Those that can be are simulated all the same.
            return [reason for ob in armatures for reason in go([ob])]

    problems: list[str] = []
    for layer in scene.view_layers:
        found = [ob for ob in stale(layer) if not rest_problem(ob)]
        problems += go(found) if found else []
    return problems


def outdated(scene: bpy.types.Scene) -> list[str]:
    """Return the names of a scene's armatures that are outdated, and shown in renders."""
    plan.current()
    shown = [ob for ob in scene.objects if ob.type == "ARMATURE" and history.owners(ob)]
    return [ob.name for ob in shown if history.state(ob) != history.FRESH]


@persistent
def forget(_path: object = None, _unused: object = None) -> None:
    """Forget the last render of another file."""
    _outdated.clear()


def warning(context: bpy.types.Context) -> list[str]:
    """Return what is to be said of the picture in an image editor, in lines."""
    image = cast(bpy.types.SpaceImageEditor, context.space_data).image
    if not _outdated or image is None or image.type != "RENDER_RESULT":
        return []
    return [
        f"{named(_outdated)}: rendered with an outdated simulation",
        "Press Simulate and render again",
    ]


def _draw() -> None:
    """Draw the warning; Blender tells the error of each redraw, so that no error may leave this."""
    try:
        context = bpy.context
        lines = warning(context)
        if lines:
            _write(context, lines, palette(context).target)
    except Exception:
        report_once("could not draw what is outdated")


def _write(context: bpy.types.Context, lines: list[str], colour: Colour) -> None:
    leading = 1.8 * start_texts(context)
    margin = MARGIN * pixel(context)
    for i, line in enumerate(reversed(lines)):
        write(line, margin, margin + i * leading, colour)


_handles: list[Any] = []


def register() -> None:
    """Have Blender call us as renders begin, and as image editors are drawn."""
    bpy.app.handlers.render_init.append(before_render)
    bpy.app.handlers.load_pre.append(forget)
    editor: Any = bpy.types.SpaceImageEditor
    _handles.append(editor.draw_handler_add(_draw, (), "WINDOW", "POST_PIXEL"))


def unregister() -> None:
    """Take it back."""
    editor: Any = bpy.types.SpaceImageEditor
    while _handles:
        editor.draw_handler_remove(_handles.pop(), "WINDOW")
    bpy.app.handlers.load_pre.remove(forget)
    bpy.app.handlers.render_init.remove(before_render)
    forget()
