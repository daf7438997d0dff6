"""Telling Blender what an armature depends on, by a driver.

A pointer to a target is no dependency to Blender: a target that is hidden, left out of the view
layer, or disabled in renders would not be evaluated, and a render would see the chain reach for
where the target was. A driver on a property that means nothing makes it one. Nothing reads the
property, so no cycle can come of it and no pose is evaluated for its sake; and because the
armature is then part of every update of its targets, an update without our armatures in it is none
of our business.

It has to be a custom property. For a driver on any other property of an object, Blender 4.5 and
later writes the present values of all its drivers once more while other drivers are evaluated
already, and now and then a driven bone is left behind by a frame. A custom property is also there
when the file is opened without the extension, where Blender would complain of ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any, cast

import bpy

from .access import settings

NAME = "fabrik_dependency"
PATH = f'["{NAME}"]'

Source = tuple["bpy.types.Object", str]
"""An object, and a bone of it or an empty name."""


def declare(armature: bpy.types.Object) -> bool:
    """Make the driver's variables agree with the targets and poles of the constraints.

    Returns:
        Whether they did not.
    """
    wanted = sources(armature)
    animation = armature.animation_data
    curve: Any = animation.drivers.find(PATH) if animation else None
    if not wanted:
        if curve:
            # To remove it by its path has the animation played, over a pose that is not keyed yet.
            cast(Any, animation).drivers.remove(curve)
            # Blender evaluates drivers by their places, and looks for these in a copy of the list.
            armature.update_tag(refresh={"OBJECT"})
        if NAME in armature:
            del armature[NAME]
        return bool(curve)
    if NAME not in armature:
        armature[NAME] = 0.0
        cast(Any, armature).id_properties_ui(NAME).update(
            description="Has Blender evaluate the targets of FABRIK IK; its value means nothing"
        )
    if curve and curve.driver.is_valid and _declared(curve.driver) == wanted:
        return False
    driver = (curve or cast(Any, armature.driver_add(PATH))).driver
    driver.type = "SUM"
    driver.is_valid = True
    for variable in list(driver.variables):
        driver.variables.remove(variable)
    for source, bone in wanted:
        variable = driver.variables.new()
        variable.type = "TRANSFORMS"
        variable.targets[0].id = source
        variable.targets[0].bone_target = bone
    return True


_noted: dict[int, bpy.types.Object] = {}


def note(armature: bpy.types.Object) -> None:
    """Have `declare` called for an armature before the next update, however much is set by then."""
    _noted[armature.session_uid] = armature


def declare_noted() -> None:
    """Do so for all that were noted since."""
    while _noted:
        _, armature = _noted.popitem()
        with suppress(ReferenceError):  # It was removed.
            declare(armature)


def forget_noted() -> None:
    """Do so for none: they are gone."""
    _noted.clear()


def sources(armature: bpy.types.Object) -> list[Source]:
    """Return what an armature depends on by its constraints and walks."""
    found: dict[tuple[bpy.types.Object | None, str], None] = {}
    for item in settings(armature).constraints:
        found[item.target, _existing(item.target, item.subtarget)] = None
        found[item.pole_target, _existing(item.pole_target, item.pole_subtarget)] = None
    for block in _named(armature):
        objects = [block] if isinstance(block, bpy.types.Object) else block.all_objects
        found |= dict.fromkeys((ob, "") for ob in objects)
    # The armature is evaluated for its own sake, and needs no hint of it.
    return [(ob, bone) for ob, bone in found if ob is not None and ob != armature]


def _existing(ob: bpy.types.Object | None, bone: str) -> str:
    """Return the name of a bone, empty if there is none: a driver that names it would be invalid.

    Blender marks it at each evaluation, and to mend it each time would play the animation again.
    """
    return bone if bone and ob and ob.pose and bone in ob.pose.bones else ""


def collections(armature: bpy.types.Object) -> list[bpy.types.Collection]:
    """Return the collections on whose objects an armature depends."""
    return [block for block in _named(armature) if isinstance(block, bpy.types.Collection)]


def _named(armature: bpy.types.Object) -> Iterator[bpy.types.Object | bpy.types.Collection]:
    """Yield what constraints and walks name besides targets and poles."""
    for item in settings(armature).constraints:
        for group, name in _pointers(type(item)):
            if block := getattr(getattr(item, group), name):
                yield block
    for gait in settings(armature).gaits:
        yield from filter(None, (gait.ground, gait.collection))


@cache
def _pointers(kind: type[bpy.types.PropertyGroup]) -> list[tuple[str, str]]:
    """Return which of the groups of settings in one name an object or a collection, and where."""
    found: list[tuple[str, str]] = []
    for group in cast(Any, kind).bl_rna.properties:
        if group.type != "POINTER" or group.fixed_type.base != bpy.types.PropertyGroup.bl_rna:
            continue
        for prop in group.fixed_type.properties:
            if prop.type == "POINTER" and prop.fixed_type.identifier in ("Object", "Collection"):
                found.append((group.identifier, prop.identifier))
    return found


def _declared(driver: Any) -> list[Source]:
    return [(v.targets[0].id, v.targets[0].bone_target) for v in driver.variables]
