"""Telling Blender what an armature depends on, by a driver.

A pointer to a target is no dependency to Blender: a target that is hidden, left out of the view
layer, or disabled in renders would not be evaluated, and a render would see the chain reach for
where the target was. A driver on one hidden property of ours makes it one. Nothing reads the
property, so no cycle can come of it and no pose is evaluated for its sake; and because the
armature is then part of every update of its targets, an update without our armatures in it is none
of our business.
"""

import bpy

PATH = "fabrik.dependency"

Source = tuple[bpy.types.Object, str]
"""An object, and a bone of it or an empty name."""


def declare(armature: bpy.types.Object) -> None:
    """Make the driver's variables agree with the targets and poles of the constraints."""
    wanted = _sources(armature)
    curve = armature.animation_data and armature.animation_data.drivers.find(PATH)
    if not wanted:
        if curve:
            armature.driver_remove(PATH)
        return
    if curve and curve.driver.is_valid and _declared(curve.driver) == wanted:
        return
    driver = (curve or armature.driver_add(PATH)).driver
    driver.type = "SUM"
    driver.is_valid = True
    for variable in list(driver.variables):
        driver.variables.remove(variable)
    for source, bone in wanted:
        variable = driver.variables.new()
        variable.type = "TRANSFORMS"
        variable.targets[0].id = source
        variable.targets[0].bone_target = bone


def _sources(armature: bpy.types.Object) -> list[Source]:
    sources: list[Source] = []
    for item in armature.fabrik.constraints:  # type: ignore[attr-defined]
        for source in ((item.target, item.subtarget), (item.pole_target, item.pole_subtarget)):
            # The armature is evaluated for its own sake, and needs no hint of it.
            if source[0] not in (None, armature) and source not in sources:
                sources.append(source)
    return sources


def _declared(driver: bpy.types.Driver) -> list[Source]:
    return [(v.targets[0].id, v.targets[0].bone_target) for v in driver.variables]
