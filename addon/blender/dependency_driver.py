"""Declaring an armature's dependencies to Blender by a driver.

A pointer property is no dependency to Blender: a target that is hidden, excluded from the view
layer, or disabled in renders would not be evaluated, and a render would show the chain reach for
its old place. A driver on a dummy property makes it one. Nothing reads the property, so it causes
no cycle and no evaluation of a pose; and because the armature is then part of every update of its
targets, updates without our armatures can be ignored.

It has to be a custom property. With a driver on any other property of an object, Blender 4.5 and
later writes the current values of all its drivers again while other drivers are being evaluated,
and a driven bone is sometimes one frame behind. A custom property also exists when the file is
opened without the extension, where Blender would report an error for ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy

NAME = "fabrik_dependency"
PATH = f'["{NAME}"]'

Source = tuple["bpy.types.Object", str]
"""An object, and a bone of it or an empty name."""


def declare(armature: bpy.types.Object, wanted: Sequence[Source]) -> bool:
    """Update the driver's variables to an armature's dependencies.

    Returns:
        Whether they changed.
    """
    animation = armature.animation_data
    curve: Any = animation.drivers.find(PATH) if animation else None
    if not wanted:
        if curve:
            # Removing it by path plays the animation, and unkeyed poses are lost.
            cast(Any, animation).drivers.remove(curve)
            # Blender evaluates drivers by their index in the evaluated copy of the list.
            armature.update_tag(refresh={"OBJECT"})
        if NAME in armature:
            del armature[NAME]
        return bool(curve)
    if NAME not in armature:
        armature[NAME] = 0.0
        cast(Any, armature).id_properties_ui(NAME).update(
            description="Makes Blender evaluate the targets of FABRIK IK. Its value has no meaning"
        )
    if curve and curve.driver.is_valid and _declared(curve.driver) == [*wanted]:
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


def _declared(driver: Any) -> list[Source]:
    return [(v.targets[0].id, v.targets[0].bone_target) for v in driver.variables]


def existing_bone(ob: bpy.types.Object | None, bone: str) -> str:
    """Return the name of a bone, empty if there is none: a driver that names it would be invalid.

    Blender invalidates it at each evaluation, and fixing it each time would play the animation.
    """
    return bone if bone and ob and ob.pose and bone in ob.pose.bones else ""
