"""Moving F-curves and drivers to another setting with the same or opposite meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import bpy

from ...blender import animation

SHIFTED = re.compile(r"\((.*)\) \+ (-?[0-9.e+-]+)", re.DOTALL)
"""A driver expression as written by `_shifted`: the original expression and an offset."""


class Move(NamedTuple):
    """The destination of a setting's animation.

    Attributes:
        path: Data path of the new setting.
        shift: Offset to add to the values.
        is_opposite: Whether the new setting is a switch with the opposite meaning.
    """

    path: str
    shift: float = 0.0
    is_opposite: bool = False


def animated_below(ob: bpy.types.Object, prefix: str) -> list[str]:
    """Return the animated paths that start with a prefix, sorted and without the prefix."""
    paths = {curve.data_path for curve in animation.all_curves(ob)}
    return sorted(path[len(prefix) :] for path in paths if path.startswith(prefix))


def move_curves(ob: bpy.types.Object, moves: Mapping[str, Move | None]) -> list[str]:
    """Move F-curves and drivers of settings to other settings.

    Args:
        ob: The object, not in the NLA's tweak mode.
        moves: Destinations by data path of a setting; None removes its animation.

    Returns:
        The paths of settings that lost their animation, because its curve or modifiers can't be
        converted.
    """
    lost: list[str] = []

    def rewrite(curves: Any) -> None:
        for curve in [curve for curve in curves if curve.data_path in moves]:
            move = moves[curve.data_path]
            if move is None or not _change_values(curve, move):
                lost.extend([curve.data_path] if move else [])
                curves.remove(curve)
            else:
                curve.data_path = move.path
                if curve.driver is not None:
                    curve.driver.is_valid = True  # The old path may have become invalid.

    other_objects = [other for other in bpy.data.objects if other != ob]
    animation.rewrite(ob, other_objects, rewrite)
    return lost


def _change_values(curve: Any, move: Move) -> bool:
    """Convert the values of a curve, and return whether that is possible."""
    if move.shift == 0.0 and not move.is_opposite:
        return True
    if curve.driver is not None:
        line = _line(curve)
        if line is not None:
            _change_driver(curve, line, move)
        return line is not None
    sign, shift = (-1.0, 1.0) if move.is_opposite else (1.0, move.shift)
    for point in curve.keyframe_points:
        for coordinates in (point.co, point.handle_left, point.handle_right):
            coordinates[1] = sign * coordinates[1] + shift
    curve.update()
    return len(curve.keyframe_points) > 0


def _line(curve: Any) -> tuple[float, float] | None:
    """Return (a, b) of a driver curve a + b · x; None if it isn't linear."""
    if any(x != y for x, y in [tuple(point.co) for point in curve.keyframe_points]):
        return None
    line = (0.0, 1.0)
    for modifier in [active for active in curve.modifiers if not active.mute]:
        if modifier.type != "GENERATOR" or modifier.mode != "POLYNOMIAL" or line != (0.0, 1.0):
            return None
        if modifier.poly_order != 1 or modifier.use_additive or modifier.use_restricted_range:
            return None
        line = (modifier.coefficients[0], modifier.coefficients[1])
    return line


def _change_driver(curve: Any, line: tuple[float, float], move: Move) -> None:
    """Convert the expression of a driver, and reset its curve."""
    driver = curve.driver
    expression = _expression(driver)
    if line != (0.0, 1.0):
        expression = f"{line[0]:.7g} + {line[1]:.7g} * ({expression})"
        for modifier in list(curve.modifiers):
            curve.modifiers.remove(modifier)
    driver.type = "SCRIPTED"
    if move.is_opposite:
        # A boolean is true from 1.
        driver.expression = f"0 if ({expression}) >= 1 else 1"
    else:
        driver.expression = _shifted(expression, move.shift)


def _shifted(expression: str, shift: float) -> str:
    match = SHIFTED.fullmatch(expression)
    if match is not None:
        expression, shift = match[1], shift + float(match[2])
    return expression if abs(shift) < 1e-6 else f"({expression}) + {shift:.7g}"


def _expression(driver: Any) -> str:
    """Return the value of a driver as an expression of its variables."""
    if driver.type == "SCRIPTED":
        return driver.expression
    for i, variable in enumerate(driver.variables):
        if not variable.name.isidentifier():
            variable.name = f"var_{i}"
    names = [variable.name for variable in driver.variables] or ["0"]
    if driver.type in ("MIN", "MAX"):
        return f"{driver.type.lower()}({', '.join(names)})" if len(names) > 1 else names[0]
    total = " + ".join(names)
    return f"({total}) / {len(names)}" if driver.type == "AVERAGE" else total
