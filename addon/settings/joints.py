"""Joint settings of a bone.

The armature data stores them, like the rest pose. So they are copied with the bone and don't depend
on the pose. They can't be animated, so limits are computed once, with the plan.
"""

from __future__ import annotations

from math import pi, radians
from typing import Any, cast

import bpy

from . import notifications
from .definitions import FACTOR, OVERRIDABLE, Definition, defined

LIMIT_ITEMS = (
    ("NONE", "None", "No limit", 0),
    (
        "BLENDER",
        "Use Blender's IK Limits",
        "Use the locks, limits and stiffness in the bone's Inverse Kinematics panel, measured "
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


def _changed(item: bpy.types.PropertyGroup | bpy.types.Bone, _context: bpy.types.Context) -> None:
    """Discard the plans of all objects that use the armature, and tag it for update."""
    armature = cast("bpy.types.Armature", item.id_data)
    notifications.structure.notify(armature)
    armature.update_tag()


SETTING: dict[str, Any] = {
    "options": set(),
    "override": {"LIBRARY_OVERRIDABLE"},
    "update": _changed,
}
ANGLE: dict[str, Any] = {**SETTING, "subtype": "ANGLE", "precision": 2, "step": 100}
HINGE_ANGLE = {**ANGLE, "min": -2.0 * pi, "max": 2.0 * pi, "soft_min": -pi, "soft_max": pi}


FLEXION: Definition = defined(
    "Flexion",
    "Axis about which a positive rotation flexes the joint, in the bone's rest space. A nearly "
    "straight limb bends about it. Zero: bend as in the rest pose",
    subtype="XYZ",
    **SETTING,
)
"""A property of the bone: its `FabrikJoint` is copied to bones with other axes."""

FOUND_FLEXION: Definition = defined(
    "Found Flexion",
    "The flexion found when a constraint was added. It differs from one set by hand",
    options={"HIDDEN"},
    override=OVERRIDABLE,
)


POSED_FLEXION: Definition = defined(
    "Found Flexion",
    "The flexion that was found when a constraint was added, where the armature data is linked",
    **{**SETTING, "options": {"HIDDEN"}},
)
"""A property of the pose bone, which can be set if its rest bone can't."""


class FabrikJoint(bpy.types.PropertyGroup):
    """The joint limit of a bone, relative to its rest pose."""

    limit_type: str = defined(
        "Limit",
        "How far the bone may rotate from its rest pose when its chain is solved",
        items=LIMIT_ITEMS,
        default="NONE",
        **SETTING,
    )
    hinge_axis: str = defined(
        "Axis", "Hinge axis in the bone's rest space", items=AXIS_ITEMS, default="X", **SETTING
    )
    hinge_vector: tuple[float, float, float] = defined(
        "Direction",
        "Direction of the hinge axis in the bone's rest space. Its length doesn't matter",
        subtype="XYZ",
        default=(1.0, 0.0, 0.0),
        **SETTING,
    )
    hinge_min: float = defined(
        "Min", "Minimum angle about the hinge axis. The rest pose is 0", default=0.0, **HINGE_ANGLE
    )
    hinge_max: float = defined(
        "Max",
        "Maximum angle about the hinge axis. The rest pose is 0",
        default=radians(150.0),
        **HINGE_ANGLE,
    )
    swing_x: float = defined(
        "Swing X",
        "Maximum swing about the bone's X axis, in both directions",
        default=radians(45.0),
        min=0.0,
        max=pi,
        **ANGLE,
    )
    swing_z: float = defined(
        "Swing Z",
        "Maximum swing about the bone's Z axis, in both directions",
        default=radians(45.0),
        min=0.0,
        max=pi,
        **ANGLE,
    )
    center: tuple[float, float, float] = defined(
        "Center",
        "Rotation from the rest pose to the center of the cone, where twist is 0",
        subtype="EULER",
        **SETTING,
    )
    twist_min: float = defined(
        "Twist Min",
        "Minimum twist of the bone about its own length",
        default=radians(-45.0),
        min=-pi,
        max=pi,
        **ANGLE,
    )
    twist_max: float = defined(
        "Twist Max",
        "Maximum twist of the bone about its own length",
        default=radians(45.0),
        min=-pi,
        max=pi,
        **ANGLE,
    )
    stiffness: float = defined(
        "Stiffness",
        "How strongly the bone resists leaving its FK pose. At 0 it rotates freely, at 1 only "
        "as far as its limit forces it",
        default=0.0,
        **FACTOR,
        **SETTING,
    )
    found: str = defined(
        "Found",
        "The hinge found when IK was added, and what it replaced. It differs from one set by hand",
        options={"HIDDEN"},
        override=OVERRIDABLE,
    )
