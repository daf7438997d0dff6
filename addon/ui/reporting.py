"""Reports that fit the status bar, because Blender cuts out the middle of long ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import blf
import bpy

from ..blender.messages import shown
from .layout import PARTS

SHARE: Final = 0.6
"""Fraction of a window's width for a report; key hints and statistics take the rest."""

SENTENCE: Final = re.compile(r"[.!?](?=\s)|。")
"""The end of a sentence within a text."""


def say(operator: Any, kind: str, text: str) -> None:
    """Report a text; if it's too long for the status bar, show its beginning there.

    The Info Log always has the whole text. Errors are shown in a popup, as Blender does.

    Args:
        operator: The operator that reports the text.
        kind: INFO, WARNING or ERROR.
        text: The text or message.
    """
    whole = shown(text)
    operator.report({kind}, whole)
    brief = whole if kind == "ERROR" else fitting(whole, _fits)
    if brief != whole:
        operator.report({kind}, brief)


def fitting(text: str, fits: Callable[[str], bool]) -> str:
    """Return a text, shortened if necessary to whole sentences or words that fit.

    Args:
        text: The text.
        fits: Whether a text fits.
    """
    if fits(text):
        return text
    words, ends = 0, list[int]()
    for part in PARTS.findall(text):
        words += len(part)
        ends.append(words)
    for cuts in ([match.end() for match in SENTENCE.finditer(text)], ends):
        for end in sorted(cuts, reverse=True):
            brief = f"{text[:end].rstrip(' .,:;')} …"
            if fits(brief):
                return brief
    return "…"


def _fits(text: str) -> bool:
    """Return whether a text fits into the status bar of the current window."""
    context = bpy.context
    window, preferences = context.window, context.preferences
    if window is None or preferences is None:
        return True
    width = max((area.x + area.width for area in window.screen.areas), default=0)
    points = preferences.ui_styles[0].widget.points
    blf.size(0, points * preferences.system.ui_scale)
    return not width or blf.dimensions(0, text)[0] <= SHARE * width
