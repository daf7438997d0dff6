"""The solver: computes joint positions, then bone rotations, in plain Python on tuples of floats.

Nothing here imports bpy, mathutils or numpy, so it can be run, tested and compiled without Blender.
"""

from .bend import RestBend
from .body import BodyInput, BodyPosture, Member, MemberOutcome, Pull, pose_body
from .bones import (
    Bone,
    Local,
    bone_frame,
    carried_turn,
    facing,
    head_in_parent,
    inherited_axes,
    location_at,
    location_axes,
    moved_location,
    rotation_to,
)
from .chain import Chain, Goal, Solution, State
from .continuous import solve_shot
from .euler import euler_angles
from .frames import WHOLE, Frame, are_near, frame_in, inverse, mixed, point_in
from .instants import BodyInstant, Candidate, ChainInstant, Instant
from .limits import Cone, Hinge, Limit
from .locks import LimitedLock, LockedAngles, LockedNumbers
from .methods import METHODS, SOLVERS, Method, exact_for
from .pose import pose_chain, pose_in_world, seen_from, weakened
from .posture import ChainInput, Placed, Posture, chain_frames, posed_chain
from .reach import swing_along
from .slide import Slab, slab
from .solve import landed, solve
from .stretch import Stretch
from .tip import Tip
from .written import ROUNDED, Written, is_on_target, judged, measured_tip, unit_rotations

__all__ = [
    "METHODS",
    "ROUNDED",
    "SOLVERS",
    "WHOLE",
    "BodyInput",
    "BodyInstant",
    "BodyPosture",
    "Bone",
    "Candidate",
    "Chain",
    "ChainInput",
    "ChainInstant",
    "Cone",
    "Frame",
    "Goal",
    "Hinge",
    "Instant",
    "Limit",
    "LimitedLock",
    "Local",
    "LockedAngles",
    "LockedNumbers",
    "Member",
    "MemberOutcome",
    "Method",
    "Placed",
    "Posture",
    "Pull",
    "RestBend",
    "Slab",
    "Solution",
    "State",
    "Stretch",
    "Tip",
    "Written",
    "are_near",
    "bone_frame",
    "carried_turn",
    "chain_frames",
    "euler_angles",
    "exact_for",
    "facing",
    "frame_in",
    "head_in_parent",
    "inherited_axes",
    "inverse",
    "is_on_target",
    "judged",
    "landed",
    "location_at",
    "location_axes",
    "measured_tip",
    "mixed",
    "moved_location",
    "point_in",
    "pose_body",
    "pose_chain",
    "pose_in_world",
    "posed_chain",
    "rotation_to",
    "seen_from",
    "slab",
    "solve",
    "solve_shot",
    "swing_along",
    "unit_rotations",
    "weakened",
]
