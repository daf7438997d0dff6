"""A spider's coxa: a hinge that swings the leg to and fro, across the plane in which it bends.

X stands for the axis about which the limb bends, which is found when this is applied.
"""

from math import radians

import bpy

ob = bpy.context.object
joint = ob.pose.bones[ob.data.bones.active.name].fabrik_joint

joint.limit_type = "HINGE"
joint.hinge_axis = "Z"
joint.hinge_min = radians(-40)
joint.hinge_max = radians(40)
