"""The chains that the overlay shows, as numbers in world space.

Draw handlers call this module, so it only reads evaluated data. It never writes, solves or plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import dist, radians
from typing import Any, cast

import bpy

from fabrik_solver import WHOLE, Frame, Local, bone_frame, carried_turn, point_in
from fabrik_solver.core.bend import STRAIGHT
from fabrik_solver.core.vectors import (
    ORIGIN,
    Quat,
    Vec,
    across,
    add,
    length,
    quat_inverse,
    quat_product,
    scaled,
    sub,
)
from fabrik_solver.core.vectors import unit as normalized

from ...blender.access import is_edited, pose_bones
from ...blender.moving import place_of
from ...blender.rotation import quaternion
from ...blender.skeleton import Skeleton, matrix_frame, rest_of, vector
from ...editing.offset import SOLVED
from ...editing.placing import size_of
from ...frame.armature import Evaluated
from ...plan.chain_plan import ChainPlan, UnitPlan
from ...plan.plan import Plan
from ...plan.planner import known
from ...settings.joint_limits import ik_settings
from ...settings.properties import FabrikConstraint, settings
from .shell import Shell

NEAR_END = radians(0.5)
"""Maximum angle in radians from a joint limit at which the joint is shown as limited."""


@dataclass(frozen=True, slots=True)
class ShownChain:
    """A displayed constraint, in world space.

    Attributes:
        name: Name of the constraint.
        is_active: Whether it is the active constraint of the active object, or of the armature
            whose target or pole is the active object.
        joints: Heads of its bones, root first, and the tip.
        at_end: Indices of the joints that are at their limit.
        tip: The point moved to the target: the tip, or for a look-at the point of its gaze at the
            target's distance.
        target: Goal of the tip; None if it has none, as for a wave or a walking foot.
        pole: Location of the pole target, or None if there is none.
        elbow: The most bent joint; None if the chain can't bend, or has no pole target.
        shell: Reach of the active chain, if its target is out of reach or the reach is requested.
            None if its root may move, or if a motion poses it.
        missed: Distance from tip to target; 0 if reached.
        state: The constraint's state.
        doing: Status text of a motion without a goal.
    """

    name: str
    is_active: bool
    joints: tuple[Vec, ...]
    at_end: tuple[int, ...]
    tip: Vec
    target: Vec | None
    pole: Vec | None
    elbow: Vec | None
    shell: Shell | None
    missed: float
    state: str
    doing: str = ""


class ShownRig:
    """A displayed armature.

    Attributes:
        now: The evaluated armature.
        world: Its world-space frame.
    """

    def __init__(self, evaluated: bpy.types.Object) -> None:
        self.now = Evaluated(evaluated)
        self.world = matrix_frame(evaluated.matrix_world)

    @classmethod
    def seen(
        cls,
        armature: bpy.types.Object,
        layer: bpy.types.ViewLayer,
        viewport: bpy.types.SpaceView3D | None,
    ) -> ShownRig | None:
        """Return an armature if it is visible and shows its pose; otherwise None.

        Args:
            armature: The armature.
            layer: The evaluated view layer.
            viewport: The viewport in which it must be visible; None to ignore this.
        """
        depsgraph = layer.depsgraph
        if depsgraph is None or is_edited(armature):
            return None
        if not armature.visible_get(view_layer=layer, viewport=cast(Any, viewport)):
            return None
        evaluated = armature.evaluated_get(depsgraph)
        if not evaluated.is_evaluated:
            return None
        rig = cls(evaluated)
        return None if rig.now.is_at_rest else rig

    def rotation(self, bone: int) -> Quat:
        """Return the evaluated local rotation of a bone."""
        channels = self.now.channels
        return quaternion(channels.modes[bone], channels.values(bone))

    def parent(self, bone: int) -> Frame:
        """Return the frame of a bone's parent, in armature space."""
        above = self.now.bones[bone].parent
        return WHOLE if above is None else self.now.frame(self.now.bones.find(above.name))

    def carried(self, bone: int) -> Quat:
        """Return the local rotation that makes a bone just follow its parent."""
        return carried_turn(rest_of(self.now.bones[bone].bone), self.parent(bone)[0])

    def joint(self, bone: int) -> Quat:
        """Return the rotation of a bone's joint, to which its limit applies."""
        return quat_product(quat_inverse(self.carried(bone)), self.rotation(bone))

    def item(self, chain: ChainPlan) -> FabrikConstraint:
        """Return the evaluated settings of a constraint."""
        return settings(self.now.object).constraints[chain.item]

    def local(self, bone: int, rotation: Quat, scale: Sequence[float] | None = None) -> Local:
        """Return a bone's evaluated local channels, with another rotation and optional scale."""
        is_fixed = self.now.bones[bone].bone.use_connect
        location = ORIGIN if is_fixed else self.now.channels.numbers(bone, "location", 3)
        return Local(vector(location), rotation, vector(scale or self.now.bones[bone].scale))


def shown_chains(
    layer: bpy.types.ViewLayer,
    viewport: bpy.types.SpaceView3D | None = None,
    with_reach: bool = False,
) -> list[ShownChain]:
    """Return the displayed constraints, the active one first.

    These are the solved constraints of armatures that are selected or in Pose Mode, and those whose
    target or pole is selected.

    Args:
        layer: The evaluated view layer.
        viewport: The viewport in which the armatures must be visible; None to ignore this.
        with_reach: Whether the reach of the active constraint is requested.
    """
    plan = known()
    if plan is None:
        return []
    rigs: dict[int, ShownRig | None] = {}
    chains_shown: list[ShownChain] = []
    for unit in plan.units:
        skeleton = unit.rig
        if skeleton.uid not in rigs:
            rigs[skeleton.uid] = _seen(skeleton, layer, viewport)
        rig = rigs[skeleton.uid]
        if rig is None:
            continue
        ob = skeleton.object
        is_selected = ob.mode == "POSE" or ob.select_get(view_layer=layer)
        fabrik = settings(ob)
        for chain in unit.members:
            item = fabrik.constraints[chain.item] if chain.item < len(fabrik.constraints) else None
            if item is None or item.state not in SOLVED or not item.show_overlay:
                continue
            if is_selected or _is_target_selected(chain, layer):
                chains_shown.append(_shown(plan, unit, chain, rig, layer, with_reach))
    return sorted(chains_shown, key=lambda chain: not chain.is_active)


def _seen(
    skeleton: Skeleton, layer: bpy.types.ViewLayer, viewport: bpy.types.SpaceView3D | None
) -> ShownRig | None:
    """Return an armature as shown, if its evaluated copy has the current bones and constraints."""
    rig = ShownRig.seen(skeleton.object, layer, viewport)
    if rig is None or len(rig.now.bones) != len(skeleton.names):
        return None
    items = settings(skeleton.object).constraints
    return rig if len(settings(rig.now.object).constraints) == len(items) else None


def _is_target_selected(chain: ChainPlan, layer: bpy.types.ViewLayer) -> bool:
    targets = (chain.target, chain.pole)
    return any(aim is not None and aim.object.select_get(view_layer=layer) for aim in targets)


def _goal(depsgraph: bpy.types.Depsgraph, chain: ChainPlan) -> Vec | None:
    """Return where the tip should be, None without a target."""
    if chain.target is None:
        return None
    target = place_of(depsgraph, chain.target)
    return target[1] if chain.offset is None else point_in(target, chain.offset[1])


def _missed(chain: ChainPlan, item: Any, distance: float, tolerance: float) -> float:
    """Return the distance by which a tip misses its goal; 0 within the tolerance.

    Motions and walks report their error. Errors reported by others may be older than the evaluated
    pose.
    """
    is_walking = chain.goal_source is not None and chain.goal_source.replaces_target
    reports_error = not chain.kind.reaches or is_walking or chain.target_tie is not None
    missed = item.error if reports_error else distance
    return missed if item.state != "REACHED" and missed > tolerance else 0.0


def _shown(
    plan: Plan,
    unit: UnitPlan,
    chain: ChainPlan,
    rig: ShownRig,
    layer: bpy.types.ViewLayer,
    with_reach: bool,
) -> ShownChain:
    depsgraph = cast(bpy.types.Depsgraph, layer.depsgraph)
    armature = chain.rig.object
    item = settings(armature).constraints[chain.item]  # Reports are in the original data.
    frames = [rig.now.frame(bone) for bone in _bones_of(chain)]
    local = _joints(chain, frames)
    joints = tuple(point_in(rig.world, joint) for joint in local)
    owners = {armature, *(goal.object for goal in (chain.target, chain.pole) if goal is not None)}
    is_shown = settings(armature).active_index == chain.item
    is_active = is_shown and layer.objects.active in owners
    tip = joints[-1]
    goal = _goal(depsgraph, chain) or tip
    if chain.kind.gaze is not None:
        along = point_in(rig.now.frame(chain.bones[-1]), chain.kind.gaze(rig.item(chain)))
        tip = _gaze(point_in(rig.world, along), joints[-2], goal)
    is_moved = chain.goal_source is not None or chain.target_tie is not None
    if is_moved and item.state == "REACHED":
        goal = tip  # Feet, walks and lifted bodies change the goal.
    is_elsewhere = chain.goal_source is not None and chain.goal_source.replaces_target
    has_target = not is_elsewhere and chain.kind.needs_target
    has_shell = is_active and (with_reach or item.state == "OUT_OF_REACH")
    pole = elbow = None
    if chain.pole is not None:
        pole = place_of(depsgraph, chain.pole)[1]
        elbow = _elbow(joints[:-1] if _has_hand_beyond(chain) else joints)
    return ShownChain(
        item.name,
        is_active,
        joints,
        _at_end(chain, rig),
        tip,
        goal if has_target else None,
        pole,
        elbow,
        _shell(plan, unit, chain, rig, local) if has_shell else None,
        _missed(chain, item, dist(tip, goal), rig.item(chain).tolerance * size_of(joints)),
        item.state,
        chain.kind.doing,
    )


def _gaze(along: Vec, eye: Vec, target: Vec) -> Vec:
    """Return the point on a gaze, from the eye through a point, at the target's distance."""
    direction = normalized(sub(along, eye)) or ORIGIN
    return add(eye, scaled(direction, dist(eye, target)))


def _bones_of(chain: ChainPlan) -> list[int]:
    """Return the bones whose heads are a chain's joints."""
    if chain.tip_bone < 0 or chain.has_hand:
        return chain.bones
    return [*chain.bones, chain.tip_bone]


def _joints(chain: ChainPlan, frames: Sequence[Frame]) -> list[Vec]:
    """Return a chain's joints in armature space from the frames of `_bones_of`."""
    heads = [head for _, head in frames]
    if chain.tip_bone >= 0:
        return heads
    size = chain.rig.bone(chain.bones[-1]).length
    return [*heads, point_in(frames[-1], (0.0, size, 0.0))]


def _has_hand_beyond(chain: ChainPlan) -> bool:
    """Return whether the last bone of a chain is oriented instead of reaching."""
    return chain.has_hand and chain.tip_bone < 0


def _at_end(chain: ChainPlan, rig: ShownRig) -> tuple[int, ...]:
    native_settings = [ik_settings(rig.now.bones[bone]) for _, bone in chain.joints.native]
    limits, _ = chain.joints.now(native_settings)
    return tuple(
        index
        for index, limit in enumerate(limits)
        if limit is not None and limit.is_at_end(rig.joint(chain.bones[index]), NEAR_END)
    )


def _elbow(joints: Sequence[Vec]) -> Vec | None:
    """Return the joint farthest from the line from root to tip; the middle joint if straight."""
    if len(joints) < 3:
        return None
    axis = normalized(sub(joints[-1], joints[0])) or ORIGIN
    distances = [length(across(sub(joint, joints[0]), axis)) for joint in joints[1:-1]]
    if max(distances) <= STRAIGHT * size_of(joints):
        return joints[len(joints) // 2]
    return joints[1 + distances.index(max(distances))]


def _shell(
    plan: Plan, unit: UnitPlan, chain: ChainPlan, rig: ShownRig, joints: Sequence[Vec]
) -> Shell | None:
    """Return the reach of a chain, from its joints in armature space; None if its root may move.

    An oriented hand doesn't reach; it offsets the center instead.
    """
    if not chain.kind.reaches or any(
        other.is_root_free and other.bones[0] == unit.bones[0] and rig.item(other).root_weight > 0.0
        for other in unit.members
    ):
        return None
    item = rig.item(chain)
    reach_joints = joints
    if chain.stretches:
        reach_joints = _joints(chain, _unstretched_frames(plan, chain, rig))
    hand = ORIGIN
    if _has_hand_beyond(chain) and item.rotation_weight > 0.0 and not _shares_hand(unit, chain):
        reach_joints, hand = reach_joints[:-1], sub(joints[-1], joints[-2])
    lengths = [dist(a, b) for a, b in pairwise(reach_joints)]
    outer = sum(lengths) * (max(1.0, item.stretch_max) if chain.stretches else 1.0)
    middle = point_in(rig.world, add(joints[0], hand))
    return Shell((rig.world[0], middle), outer, max(0.0, 2.0 * max(lengths) - sum(lengths)))


def _shares_hand(unit: UnitPlan, chain: ChainPlan) -> bool:
    other_chains = (other for other in unit.members if other is not chain)
    return any(chain.bones[-1] in other.bones for other in other_chains)


def _unstretched_frames(plan: Plan, chain: ChainPlan, rig: ShownRig) -> list[Frame]:
    """Return the evaluated frames of a chain's bones with the scales of their FK pose."""
    bones = pose_bones(chain.rig.object)
    parent = WHOLE if chain.root_parent < 0 else rig.now.frame(chain.root_parent)
    frames: list[Frame] = []
    for bone in _bones_of(chain):
        local = rig.local(bone, rig.rotation(bone), bones[bone].scale)
        frames.append(bone_frame(chain.rig.bone(bone), local, frames[-1] if frames else parent))
    return frames
