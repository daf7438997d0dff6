"""A spider's femur: a hinge that bends both ways from the rest pose.

X stands for the bend axis of the limb, which is determined when the preset is applied.
"""

from math import radians

import bpy

ob = bpy.context.object
joint = ob.pose.bones[ob.data.bones.active.name].fabrik_joint

joint.limit_type = "HINGE"
joint.hinge_axis = "X"
joint.hinge_min = radians(-80)
joint.hinge_max = radians(60)
