"""What the tests know of the window, and of the figure that stage.py puts into it."""

NEAR = 1e-3
"""How far a tip may be from its target, in meters."""

CHANGED = 2000
"""How many pixels differ at least where a limb or a panel has changed."""

POSE_MENU = (356, 52)

RIG = "bpy.data.objects['Figure']"
ITEM = f"{RIG}.fabrik.constraints[0]"
FRAME = "bpy.context.scene.frame_current"
