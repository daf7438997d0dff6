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
    ("NONE", "None", "No limit", 0),
    (
        "BLENDER",
        "Use Blender's IK Limits",
        "Use the locks, limits and stiffness of the bone's Inverse Kinematics panel, measured "
        "from the rest pose",
        1,
    ),
    ("HINGE", "Hinge", "Rotate about a single axis, like a knee or an elbow", 2),
    (
        "CONE",
        "Cone",
        "Swing within a cone and twist within a range, like a hip or a shoulder",
        3,
    ),
)

AXIS_ITEMS = (
    ("X", "X", "Rotate about the bone's X axis", 0),
    ("Z", "Z", "Rotate about the bone's Z axis", 1),
    ("FREE", "Custom", "Rotate about a custom direction", 2),
)


def _changed(item: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Throw away what is known of it, and have all objects with the armature solved again."""
    armature = cast(bpy.types.Armature, item.id_data)
    changes.structure.tell(armature)
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
            description=(
                "How far the bone may rotate away from its rest pose when its chain is solved"
            ),
            items=LIMIT_ITEMS,
            default="NONE",
            **SETTING,
        )
        hinge_axis: EnumProperty(
            name="Axis",
            description="Hinge axis in the bone's rest space",
            items=AXIS_ITEMS,
            default="X",
            **SETTING,
        )
        hinge_vector: FloatVectorProperty(
            name="Direction",
            description=(
                "Direction of the hinge axis in the bone's rest space. Its length does not matter"
            ),
            size=3,
            subtype="XYZ",
            default=(1.0, 0.0, 0.0),
            **SETTING,
        )
        hinge_min: FloatProperty(
            name="Min",
            description="Minimum angle about the hinge axis. The rest pose is 0",
            default=0.0,
            min=-2.0 * pi,
            max=2.0 * pi,
            soft_min=-pi,
            soft_max=pi,
            **ANGLE,
        )
        hinge_max: FloatProperty(
            name="Max",
            description="Maximum angle about the hinge axis. The rest pose is 0",
            default=radians(150.0),
            min=-2.0 * pi,
            max=2.0 * pi,
            soft_min=-pi,
            soft_max=pi,
            **ANGLE,
        )
        swing_x: FloatProperty(
            name="Swing X",
            description="Maximum swing about the bone's X axis, in both directions",
            default=radians(45.0),
            min=0.0,
            max=pi,
            **ANGLE,
        )
        swing_z: FloatProperty(
            name="Swing Z",
            description="Maximum swing about the bone's Z axis, in both directions",
            default=radians(45.0),
            min=0.0,
            max=pi,
            **ANGLE,
        )
        center: FloatVectorProperty(
            name="Center",
            description="Rotation from the rest pose to the center of the cone, where twist is 0",
            size=3,
            subtype="EULER",
            **SETTING,
        )
        twist_min: FloatProperty(
            name="Twist Min",
            description="Minimum twist of the bone about its own length",
            default=radians(-45.0),
            min=-pi,
            max=pi,
            **ANGLE,
        )
        twist_max: FloatProperty(
            name="Twist Max",
            description="Maximum twist of the bone about its own length",
            default=radians(45.0),
            min=-pi,
            max=pi,
            **ANGLE,
        )
        stiffness: FloatProperty(
            name="Stiffness",
            description=(
                "How strongly the bone resists leaving its FK pose. At 0 it rotates freely, at "
                "1 only as far as its limit forces it to"
            ),
            default=0.0,
            min=0.0,
            max=1.0,
            subtype="FACTOR",
            **SETTING,
        )
