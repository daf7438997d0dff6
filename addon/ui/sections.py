"""The sections of a constraint's settings. Features add theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

import bpy

from fabrik_solver import SOLVERS

from ..blender.messages import shown
from ..plan.registry import SOLVER_NAMES, kind_of
from ..settings.properties import FabrikConstraint
from .layout import Layout


def reaches(solver: str) -> bool:
    """Return whether a solver brings the tip to a target by bending the chain."""
    return solver in SOLVERS


def is_known(solver: str) -> bool:
    """Return whether a solver exists; the enum property may hold an unknown number."""
    return solver in SOLVER_NAMES.values()


def is_exact(solver: str) -> bool:
    """Return whether a solver needs no iterations."""
    return reaches(solver) and SOLVERS[solver].is_exact


def has_target(solver: str) -> bool:
    """Return whether a solver uses a target."""
    return is_known(solver) and kind_of(solver).needs_target


def has_tip(solver: str) -> bool:
    """Return whether a solver moves the tip of the chain to a goal."""
    return is_known(solver) and kind_of(solver).places_tip


def always(_solver: str) -> bool:
    """Return True, for a section of every solver."""
    return True


class Section(NamedTuple):
    """A section of a constraint's settings.

    Attributes:
        order: The sort key.
        title: The title; sections with the same title are merged. Without a title it is drawn above
            the report.
        draw: Draws the settings into a layout, from the armature and the constraint.
        is_for: Whether the section is shown for a solver.
        is_closed: Whether it is closed by default.
        switch: Path of the property that enables it, from the constraint. A checkbox in the header
            shows it, even if the section is closed.
        suits: Whether the section is shown for a constraint.
    """

    order: int
    title: str
    draw: Callable[[Layout, bpy.types.Object, FabrikConstraint], None]
    is_for: Callable[[str], bool]
    is_closed: bool = False
    switch: str = ""
    suits: Callable[[FabrikConstraint], bool] = bool


def properties(*names: str) -> Callable[[Layout, bpy.types.Object, FabrikConstraint], None]:
    """Return a function that draws properties of a constraint, for a section."""

    def draw(layout: Layout, _armature: bpy.types.Object, item: FabrikConstraint) -> None:
        for name in names:
            layout.prop(item, name)

    return draw


Note = Callable[[Layout, bpy.types.Object], None]
"""Draws something below the report of an armature's active constraint."""

SECTIONS: list[Section] = []
"""All sections."""

NOTES: list[Note] = []
"""All notes."""


def draw_notes(layout: Layout, armature: bpy.types.Object) -> None:
    """Draw the features' notes below the report of the active constraint."""
    for draw in NOTES:
        draw(layout, armature)


def draw_main(layout: Layout, armature: bpy.types.Object, item: FabrikConstraint) -> None:
    """Draw the constraint's settings that are always visible."""
    for section in _sections_of(item):
        if not section.title:
            section.draw(layout, armature, item)


def draw_sections(layout: Layout, armature: bpy.types.Object, item: FabrikConstraint) -> None:
    """Draw the constraint's settings in collapsible sections."""
    bodies: dict[str, Layout] = {}
    for section in _sections_of(item):
        if not section.title:
            continue
        if section.title not in bodies:
            bodies[section.title] = _draw_panel(layout, item, section)
        if bodies[section.title] is not None:
            section.draw(bodies[section.title], armature, item)


def _sections_of(item: FabrikConstraint) -> list[Section]:
    applicable = [
        section for section in SECTIONS if section.is_for(item.solver) and section.suits(item)
    ]
    return sorted(applicable, key=lambda section: section.order)


def _draw_panel(layout: Layout, item: FabrikConstraint, section: Section) -> Layout | None:
    """Draw a section's header, and return the layout of its body if it is open."""
    name = section.title.lower().replace(" ", "_").replace("-", "_")
    header, body = layout.panel(f"FABRIK_PT_{name}", default_closed=section.is_closed)
    if section.switch:
        *path, switch = section.switch.split(".")
        group = item.path_resolve(".".join(path)) if path else item
        header.use_property_split = False
        header.prop(group, switch, text="")
        if body is not None:
            body.active = getattr(group, switch)
    header.label(text=shown(section.title), translate=False)
    if body is not None:
        body.enabled = cast(bpy.types.ID, item.id_data).is_editable
    return body and body.column()
