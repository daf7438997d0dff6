"""A spider's coxa: a hinge that swings the leg to and fro, across its bending plane.

X stands for the bend axis of the limb, which is determined when the preset is applied.
"""

from math import radians

import bpy

ob = bpy.context.object
joint = ob.pose.bones[ob.data.bones.active.name].fabrik_joint

joint.limit_type = "HINGE"
joint.hinge_axis = "Z"
joint.hinge_min = radians(-40)
joint.hinge_max = radians(40)
