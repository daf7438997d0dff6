"""The dependency driver, which declares the dependencies of an armature to Blender.

Blender doesn't treat a pointer property as a dependency. So Blender wouldn't evaluate a target that
is hidden, excluded from the view layer, or disabled in renders. A render would then show the chain
reaching for the old position. A driver on a dummy property makes the target a dependency. Only the
same property of other armatures reads it, so it causes no evaluation of the pose. Each update of a
target then includes the armature, so updates without our armatures can be ignored.

The property must be a custom property. If another property of an object is driven, Blender 4.5
and later rewrites the values of all its drivers while it evaluates other drivers. A
driven bone is then sometimes a frame late. A custom property also exists when the file is opened
without the extension; Blender would report an error for a registered property.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy

NAME = "fabrik_dependency"
PATH = f'["{NAME}"]'

Source = tuple["bpy.types.Object", str]
"""An object and the name of its bone; empty for the object itself."""

Read = tuple["bpy.types.Object", str, str]
"""An input of the driver: an object, and a bone's name, a property's path, or neither."""


def declare(armature: bpy.types.Object, reads: Sequence[Read]) -> bool:
    """Update the dependency driver of an armature, or remove it if nothing is read.

    Returns:
        Whether the driver changed.
    """
    animation = armature.animation_data
    curve: Any = animation.drivers.find(PATH) if animation else None
    if not reads:
        if curve:
            # `driver_remove` would evaluate the animation, and unkeyed poses would be lost.
            cast(Any, animation).drivers.remove(curve)
            # Blender looks drivers up by their index in the evaluated copy of the list.
            armature.update_tag(refresh={"OBJECT"})
        if NAME in armature:
            del armature[NAME]
        return bool(curve)
    if NAME not in armature:
        armature[NAME] = 0.0
        cast(Any, armature).id_properties_ui(NAME).update(
            description="Makes Blender evaluate the targets of FABRIK IK. Its value has no meaning"
        )
    if curve and curve.driver.is_valid and _declared(curve.driver) == [*reads]:
        return False
    driver = (curve or cast(Any, armature.driver_add(PATH))).driver
    driver.type = "MIN"  # A sum would grow with each armature that reads another's property.
    driver.is_valid = True
    for variable in list(driver.variables):
        driver.variables.remove(variable)
    for i, (source, bone, path) in enumerate(reads):
        variable = driver.variables.new()
        # Otherwise Blender would try all numbers to find a free name for the next variable.
        variable.name = f"source{i}"
        variable.type = "SINGLE_PROP" if path else "TRANSFORMS"
        target = variable.targets[0]
        target.id, target.bone_target, target.data_path = source, bone, path
    return True


def _declared(driver: Any) -> list[Read]:
    targets = [variable.targets[0] for variable in driver.variables]
    return [(target.id, target.bone_target, target.data_path) for target in targets]


def existing_bone(ob: bpy.types.Object | None, bone: str) -> str:
    """Return the name of a bone if it exists, otherwise an empty name.

    At each evaluation, Blender invalidates a driver that names a missing bone. Repairing it each
    time would evaluate the animation.
    """
    return bone if bone and ob and ob.pose and bone in ob.pose.bones else ""
