"""The solver: joint positions, then bone rotations, in plain Python on tuples of floats.

Nothing in this package imports bpy, mathutils or numpy, so it runs, is tested and can be compiled
without Blender. Where a compiled copy of it is installed, that one is what runs (`compiled`). Its
classes are other ones than those of the modules beside this file: take classes, and functions that
are given them, from here only.
"""

from typing import TYPE_CHECKING

from .body import BodyInput, BodyPosture, Member, Outcome, Pull, pose_body
from .bones import Bone, Local, bone_frame, facing, head_in_parent, inherited_axes
from .chain import Chain, Goal, Solution, State
from .compiled import COMPILED
from .frames import WHOLE, Frame, frame_in, inverse, point_in
from .limits import Cone, Hinge, Limit
from .pose import pose_chain, pose_in_world, seen_from, weakened
from .posture import ChainInput, Posture, chain_frames
from .reach import swing_along
from .solve import SOLVERS, solve
from .stretch import Stretch
from .tip import Tip

if COMPILED and not TYPE_CHECKING:  # it is the same, so its types are those from above
    from fabrik_ik_core.body import (
        BodyInput,
        BodyPosture,
        Member,
        Outcome,
        Pull,
        pose_body,
    )
    from fabrik_ik_core.bones import (
        Bone,
        Local,
        bone_frame,
        facing,
        head_in_parent,
        inherited_axes,
    )
    from fabrik_ik_core.chain import Chain, Goal, Solution, State
    from fabrik_ik_core.frames import WHOLE, Frame, frame_in, inverse, point_in
    from fabrik_ik_core.limits import Cone, Hinge, Limit
    from fabrik_ik_core.pose import pose_chain, pose_in_world, seen_from, weakened
    from fabrik_ik_core.posture import ChainInput, Posture, chain_frames
    from fabrik_ik_core.reach import swing_along
    from fabrik_ik_core.solve import SOLVERS, solve
    from fabrik_ik_core.stretch import Stretch
    from fabrik_ik_core.tip import Tip

__all__ = [
    "COMPILED",
    "SOLVERS",
    "WHOLE",
    "BodyInput",
    "BodyPosture",
    "Bone",
    "Chain",
    "ChainInput",
    "Cone",
    "Frame",
    "Goal",
    "Hinge",
    "Limit",
    "Local",
    "Member",
    "Outcome",
    "Posture",
    "Pull",
    "Solution",
    "State",
    "Stretch",
    "Tip",
    "bone_frame",
    "chain_frames",
    "facing",
    "frame_in",
    "head_in_parent",
    "inherited_axes",
    "inverse",
    "point_in",
    "pose_body",
    "pose_chain",
    "pose_in_world",
    "seen_from",
    "solve",
    "swing_along",
    "weakened",
]
