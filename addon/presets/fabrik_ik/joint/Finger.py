"""A joint of a finger: a hinge that bends one way, starting a little beyond straight.

X stands for the bend axis of the limb, which is determined when the preset is applied.
"""

from math import radians

import bpy

ob = bpy.context.object
joint = ob.pose.bones[ob.data.bones.active.name].fabrik_joint

joint.limit_type = "HINGE"
joint.hinge_axis = "X"
joint.hinge_min = radians(-5)
joint.hinge_max = radians(100)
