"""Enumerating settings and reading their values through RNA.

Each setting is defined once, in its property group (see `definitions`). Copying, mirroring,
presets, conversion, and the inputs of solutions and simulations all use these functions.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import cache
from math import isfinite
from sys import float_info
from typing import Any, NamedTuple, TypeVar, cast

import bpy

from ..blender.errors import ProblemError, listed
from ..blender.messages import label, msg

Group = TypeVar("Group", bound=bpy.types.PropertyGroup)

UNLIMITED = 1e30
"""RNA limits beyond this mean “unlimited”."""

MOST = float_info.max
"""The limit of unlimited numbers. Only infinity exceeds it."""


def settings_in(kind: type[bpy.types.PropertyGroup]) -> list[Any]:
    """Return the properties of a class that are settings.

    Settings can be overridden in library overrides. Results, hidden properties, names and
    collections are not settings.
    """
    return [
        prop
        for prop in cast(Any, kind).bl_rna.properties
        if prop.is_runtime
        and prop.is_overridable
        and not prop.is_hidden
        and prop.type != "COLLECTION"
        and prop.identifier != "name"
    ]


def values_of(group: bpy.types.PropertyGroup, without_defaults: bool = False) -> dict[str, Any]:
    """Return the settings of a group by name, in the order in which they must be set.

    Settings of nested groups have names like ``"look.weight"``.

    Args:
        group: The group.
        without_defaults: Whether to leave out values at their default.
    """
    values: dict[str, Any] = {}
    for prop in settings_in(type(group)):
        value = getattr(group, prop.identifier)
        if isinstance(value, bpy.types.PropertyGroup):
            within = values_of(value, without_defaults)
            values |= {f"{prop.identifier}.{name}": inner for name, inner in within.items()}
            continue
        if hasattr(value, "__len__") and not isinstance(value, str):
            value = tuple(value)
        if not (without_defaults and value == default_of(prop)):
            values[prop.identifier] = value
    return values


def plain_of(group: bpy.types.PropertyGroup) -> dict[str, Any]:
    """Return the settings of a group by name, without pointers."""
    return {name: getattr(group, name) for name in _plain_form(type(group)).names}


def preset_names(group: bpy.types.PropertyGroup) -> list[str]:
    """Return the names of the settings that presets contain."""
    names: list[str] = []
    for prop in settings_in(type(group)):
        value = getattr(group, prop.identifier)
        if isinstance(value, bpy.types.PropertyGroup):
            names += [f"{prop.identifier}.{name}" for name in preset_names(value)]
        elif prop.type != "POINTER" and not prop.is_skip_save:
            names.append(prop.identifier)
    return names


def pointed(group: bpy.types.PropertyGroup, name: str) -> Any:
    """Return the value of a pointer property; None if it was never set.

    Reading an unset pointer would store an empty one in the file. Blender copies every stored
    property when it evaluates the armature, at a quarter of a microsecond each.
    """
    return getattr(group, name) if group.is_property_set(name) else None


def default_of(prop: Any) -> Any:
    """Return the default value of a property."""
    if prop.type == "POINTER":
        return None
    return tuple(prop.default_array) if getattr(prop, "is_array", False) else prop.default


class Form(NamedTuple):
    """A set of settings of a class that are read together.

    Attributes:
        names: Their identifiers.
        titles: Their labels.
        limits: Index, minimum and maximum of each number.
        vectors: Index of each vector, which Blender returns as a reference to the data.
        row: Makes a named tuple from their values.
    """

    names: Sequence[str]
    titles: Sequence[str]
    limits: Sequence[tuple[int, float, float]]
    vectors: Sequence[int]
    row: Callable[[list[Any]], Any]

    def within_limits(self, values: Sequence[Any]) -> Any:
        """Return values clamped to their limits, which drivers and F-curves can exceed."""
        clamped = list(values)
        for i, low, high in self.limits:
            value = clamped[i]
            if not low <= value <= high:
                end = min(max(value, low), high)  # NaN stays.
                clamped[i] = value if abs(end) == MOST else end
        return self.row(clamped)

    def are_sound(self, values: Sequence[Any]) -> bool:
        """Return whether all numbers are finite and within their limits."""
        return all([low <= values[i] <= high for i, low, high in self.limits])

    def check(self, values: Sequence[Any], owner: str = "") -> None:
        """Refuse infinite numbers and NaN.

        Args:
            values: The values of the settings.
            owner: Their owner in the message, as in ``" of the wave"``.

        Raises:
            ProblemError: If a number isn't finite.
        """
        # A sum of single-precision numbers doesn't overflow in double precision.
        if isfinite(sum([values[i] for i, _, _ in self.limits])):
            return
        wrong = [label(self.titles[i]) for i, _, _ in self.limits if not isfinite(values[i])]
        value = msg("a valid number") if len(wrong) == 1 else msg("valid numbers")
        raise ProblemError(
            "A setting{owner} is invalid: enter {value} for {wrong}",
            owner=owner,
            value=value,
            wrong=listed(wrong),
        )


def _form(props: Sequence[Any]) -> Form:
    names = [prop.identifier for prop in props]
    limits = [(i, *_limits(prop)) for i, prop in enumerate(props) if _is_number(prop)]
    vectors = [i for i, prop in enumerate(props) if getattr(prop, "is_array", False)]
    row: Any = namedtuple("Settings", names)
    return Form(names, [prop.name for prop in props], limits, vectors, row._make)


def _is_number(prop: Any) -> bool:
    return prop.type in ("FLOAT", "INT") and not prop.is_array


def _limits(prop: Any) -> tuple[float, float]:
    low, high = prop.hard_min, prop.hard_max
    return low if low > -UNLIMITED else -MOST, high if high < UNLIMITED else MOST


@cache
def animated_form(kind: type[bpy.types.PropertyGroup]) -> Form:
    """Return the form of the animatable settings."""
    switch_types = ("BOOLEAN", "ENUM")
    animated = [prop for prop in settings_in(kind) if prop.is_animatable]
    return _form([prop for prop in animated if prop.type in switch_types or _is_number(prop)])


@cache
def _animated_numbers(kind: type[bpy.types.PropertyGroup]) -> Form:
    return _form([p for p in settings_in(kind) if p.is_animatable and _is_number(p)])


@cache
def _plain_form(kind: type[bpy.types.PropertyGroup]) -> Form:
    return _form([prop for prop in settings_in(kind) if prop.type != "POINTER"])


@cache
def _choices(kind: type[bpy.types.PropertyGroup]) -> list[tuple[str, str]]:
    """Return names and labels of the enum settings that the plan depends on."""
    return [
        (prop.identifier, prop.name)
        for prop in settings_in(kind)
        if prop.type == "ENUM" and not prop.is_animatable
    ]


def forget_forms() -> None:
    """Clear the cached forms before classes are registered again."""
    for form in (animated_form, _animated_numbers, _plain_form, _choices):
        form.cache_clear()


def within_limits(group: bpy.types.PropertyGroup, name: str) -> float:
    """Return a number of a group, clamped to its limits."""
    low, high = _limits(cast(Any, group).bl_rna.properties[name])
    return min(max(getattr(group, name), low), high)


def now(group: Group, owner: str = "") -> Group:
    """Return the settings of a group without pointers, clamped to their limits, as a named tuple.

    Raises:
        ProblemError: If a number isn't finite; see `Form.check`.
    """
    form = _plain_form(type(group))
    values = [getattr(group, name) for name in form.names]
    for i in form.vectors:
        values[i] = tuple(values[i])
    if form.are_sound(values):
        return form.row(values)
    clamped = form.within_limits(values)
    form.check(clamped, owner)
    return clamped


def unknown_choice(group: bpy.types.PropertyGroup) -> str:
    """Return a problem if a setting of a group has an unknown enum value; otherwise empty.

    Files of later versions may contain enum values that this version lacks.
    """
    for name, title in _choices(type(group)):
        if not getattr(group, name):
            return msg(
                "{setting} has a value that this version doesn't support: choose another one",
                setting=label(title),
            )
    return ""


def check_choices(group: bpy.types.PropertyGroup) -> None:
    """Refuse a group with an `unknown_choice`.

    Raises:
        ProblemError: If the group has one.
    """
    if problem := unknown_choice(group):
        raise ProblemError(problem)


def check_animated(group: bpy.types.PropertyGroup, owner: str = "") -> None:
    """Refuse a group with an animatable number that isn't finite.

    Raises:
        ProblemError: If there is such a number; see `Form.check`.
    """
    form = _animated_numbers(type(group))
    values = [getattr(group, name) for name in form.names]
    if not form.are_sound(values):
        form.check(values, owner)
