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

from typing import Any, cast

import bpy

from .access import settings

NAME = "fabrik_dependency"
PATH = f'["{NAME}"]'

Source = tuple[bpy.types.Object, str]
"""An object, and a bone of it or an empty name."""


def declare(armature: bpy.types.Object) -> bool:
    """Make the driver's variables agree with the targets and poles of the constraints.

    Returns:
        Whether they did not.
    """
    wanted = _sources(armature)
    animation = armature.animation_data
    curve: Any = animation.drivers.find(PATH) if animation else None
    if not wanted:
        if curve:
            # To remove it by its path has the animation played, over a pose that is not keyed yet.
            cast(Any, animation).drivers.remove(curve)
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


def _sources(armature: bpy.types.Object) -> list[Source]:
    sources: list[Source] = []
    for item in settings(armature).constraints:
        named = ((item.target, item.subtarget), (item.pole_target, item.pole_subtarget))
        for ob, bone in (*named, *((ob, "") for ob in watched(item))):
            # The armature is evaluated for its own sake, and needs no hint of it.
            if ob is not None and ob != armature and (ob, bone) not in sources:
                sources.append((ob, bone))
    for gait in settings(armature).gaits:
        for ob in (gait.ground, *(gait.collection.all_objects if gait.collection else ())):
            if ob is not None and ob != armature and (ob, "") not in sources:
                sources.append((ob, ""))
    return sources


def watched(group: bpy.types.PropertyGroup) -> list[bpy.types.Object]:
    """Return the objects that groups of settings within one name, with those of collections."""
    found: list[bpy.types.Object] = []
    for prop in group.bl_rna.properties:
        within = getattr(group, prop.identifier) if prop.is_runtime else None
        if not isinstance(within, bpy.types.PropertyGroup):
            continue
        for name in [inner.identifier for inner in within.bl_rna.properties if inner.is_runtime]:
            value = getattr(within, name)
            if isinstance(value, bpy.types.Object):
                found.append(value)
            elif isinstance(value, bpy.types.Collection):
                found += value.all_objects
    return found


def _declared(driver: Any) -> list[Source]:
    return [(v.targets[0].id, v.targets[0].bone_target) for v in driver.variables]
