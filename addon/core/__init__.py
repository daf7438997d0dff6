"""The solver: joint positions, then bone rotations, in plain Python on tuples of floats.

Nothing in this package imports bpy, mathutils or numpy, so it runs, is tested and can be compiled
without Blender.
"""

from .bones import Bone, Local, bone_frame, head_in_parent
from .chain import Chain, Goal, Solution, State
from .frames import WHOLE, Frame, frame_in, inverse, point_in
from .pose import ChainInput, Posture, chain_frames, pose_chain
from .solve import SOLVERS, solve

__all__ = [
    "SOLVERS",
    "WHOLE",
    "Bone",
    "Chain",
    "ChainInput",
    "Frame",
    "Goal",
    "Local",
    "Posture",
    "Solution",
    "State",
    "bone_frame",
    "chain_frames",
    "frame_in",
    "head_in_parent",
    "inverse",
    "point_in",
    "pose_chain",
    "solve",
]
