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

from collections.abc import Sequence
from typing import Any, cast

import bpy

NAME = "fabrik_dependency"
PATH = f'["{NAME}"]'

Source = tuple["bpy.types.Object", str]
"""An object, and a bone of it or an empty name."""


def declare(armature: bpy.types.Object, wanted: Sequence[Source]) -> bool:
    """Make the variables of the driver agree with what an armature depends on.

    Returns:
        Whether they did not.
    """
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

    Blender marks it at each evaluation, and to mend it each time would play the animation again.
    """
    return bone if bone and ob and ob.pose and bone in ob.pose.bones else ""
