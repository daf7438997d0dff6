"""The settings that a bone carries as a joint of a chain, under the public names.

As its rest pose they belong to the armature, so that they are copied with the bone and nothing
that is done to a pose changes them. None can be animated: what is made of them is made once, with
the plan.
"""

from __future__ import annotations

from math import pi, radians
from typing import TYPE_CHECKING, Any, cast

import bpy
from bpy.props import EnumProperty, FloatProperty, FloatVectorProperty

from . import changes

LIMIT_ITEMS = (
    ("NONE", "None", "The bone may turn in any way", 0),
    (
        "BLENDER",
        "As for Blender's IK",
        "Keep the locks, limits and stiffness under Inverse Kinematics, measured from the rest "
        "pose",
        1,
    ),
    ("HINGE", "Hinge", "The bone turns about one axis only, like a knee or an elbow", 2),
    (
        "CONE",
        "Cone",
        "The bone swings within a cone and twists in a range, like a hip or shoulder",
        3,
    ),
)

AXIS_ITEMS = (
    ("X", "X", "Turn about the bone's X axis", 0),
    ("Z", "Z", "Turn about the bone's Z axis", 1),
    ("FREE", "Free", "Turn about any direction that is typed in", 2),
)


def _changed(item: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Throw away what is known of it, and have all objects with the armature solved again."""
    armature = cast(bpy.types.Armature, item.id_data)
    changes.tell_structure(armature)
    armature.update_tag()


SETTING: dict[str, Any] = {
    "options": {"LIBRARY_EDITABLE"},
    "override": {"LIBRARY_OVERRIDABLE"},
    "update": _changed,
}
ANGLE: dict[str, Any] = {**SETTING, "subtype": "ANGLE", "precision": 2, "step": 100}


class FabrikJoint(bpy.types.PropertyGroup):
    """How far a bone may turn out of its rest pose when a chain is solved."""

    if TYPE_CHECKING:
        limit_type: str
        hinge_axis: str
        hinge_vector: tuple[float, float, float]
        hinge_min: float
        hinge_max: float
        swing_x: float
        swing_z: float
        center: tuple[float, float, float]
        twist_min: float
        twist_max: float
        stiffness: float
    else:
        limit_type: EnumProperty(
            name="Limit",
            description="How far the bone may turn out of its rest pose when its chain is solved",
            items=LIMIT_ITEMS,
            default="NONE",
            **SETTING,
        )
        hinge_axis: EnumProperty(
            name="Axis",
            description="Axis of the hinge, in the bone's rest axes",
            items=AXIS_ITEMS,
            default="X",
            **SETTING,
        )
        hinge_vector: FloatVectorProperty(
            name="Direction",
            description="Direction of the hinge's axis in the bone's rest axes; of any length",
            size=3,
            subtype="XYZ",
            default=(1.0, 0.0, 0.0),
            **SETTING,
        )
        hinge_min: FloatProperty(
            name="Min",
            description="Least turn about the hinge's axis; the rest pose is 0",
            default=0.0,
            min=-2.0 * pi,
            max=2.0 * pi,
            soft_min=-pi,
            soft_max=pi,
            **ANGLE,
        )
        hinge_max: FloatProperty(
            name="Max",
            description="Greatest turn about the hinge's axis; the rest pose is 0",
            default=radians(150.0),
            min=-2.0 * pi,
            max=2.0 * pi,
            soft_min=-pi,
            soft_max=pi,
            **ANGLE,
        )
        swing_x: FloatProperty(
            name="Swing X",
            description="How far the bone may swing about its X axis, to either side",
            default=radians(45.0),
            min=0.0,
            max=pi,
            **ANGLE,
        )
        swing_z: FloatProperty(
            name="Swing Z",
            description="How far the bone may swing about its Z axis, to either side",
            default=radians(45.0),
            min=0.0,
            max=pi,
            **ANGLE,
        )
        center: FloatVectorProperty(
            name="Center",
            description="Turn from the rest pose to the middle of the cone, where twist is 0",
            size=3,
            subtype="EULER",
            **SETTING,
        )
        twist_min: FloatProperty(
            name="Twist Min",
            description="Least turn of the bone about its own length",
            default=radians(-45.0),
            min=-pi,
            max=pi,
            **ANGLE,
        )
        twist_max: FloatProperty(
            name="Max",
            description="Greatest turn of the bone about its own length",
            default=radians(45.0),
            min=-pi,
            max=pi,
            **ANGLE,
        )
        stiffness: FloatProperty(
            name="Stiffness",
            description=(
                "How much the bone resists leaving its FK pose: at 0 it turns freely, at 1 only "
                "as far as its limit makes it"
            ),
            default=0.0,
            min=0.0,
            max=1.0,
            subtype="FACTOR",
            **SETTING,
        )
