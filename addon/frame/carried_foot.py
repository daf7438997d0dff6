"""Feet that are their legs' targets instead of their children.

Game rigs with baked IK have such feet. On the ground and in walks, they follow the leg's goal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from fabrik_solver import frame_in
from fabrik_solver.motion.anatomy import NOT_BODY, words_of

from ..blender.access import pose_bones
from ..blender.errors import ProblemError
from ..blender.relations import active_constraints
from ..blender.rotation import LOCATION
from ..blender.skeleton import Point, Skeleton
from ..plan.chain_plan import ChainPlan, Snapshot
from ..plan.pre_pass import BoneInput, PrePassBone
from ..plan.results import NOTHING, SolveResult
from .chain import aim_of, placed


@dataclass(eq=False)
class CarriedFoot(PrePassBone):
    """A foot that follows its leg's goal.

    It is solved after its leg, whose goal comes from the foot's animation.
    """

    is_known_ahead: ClassVar[bool] = True

    def needs(self) -> list[Point]:
        """Return the last bone of the foot's leg."""
        [leg] = self.chains
        return [Point(self.rig.object, self.rig, leg.bones[-1])]

    def read(self, snapshot: Snapshot) -> BoneInput | None:
        """Return the inputs of the foot's pose; None if the foot keeps its animation.

        Raises:
            ProblemError: If the goal is invalid.
        """
        [leg] = self.chains
        settings = snapshot.poses[self.rig.uid].settings[leg.item]
        if leg.problem or not settings.enabled or settings.influence == 0.0:
            return None
        animated = aim_of(snapshot, leg)
        goal = placed(snapshot, leg, animated)
        if goal is animated:
            return None
        goal = animated.toward(goal, settings.influence)
        if goal.axes is None:
            return None
        return self.inputs(snapshot, (goal.axes, goal.place))

    def solve(self, snapshot: Snapshot, inputs: object) -> SolveResult:
        """Return the rotation and location of the foot.

        Raises:
            ProblemError: If the armature, or a parent of the foot, has zero scale.
        """
        assert isinstance(inputs, BoneInput)
        local = snapshot.poses[self.rig.uid].posed_local(self.bone)
        to_armature = self.rig.from_world(inputs.world)
        axes, head = frame_in(to_armature, inputs.wanted)
        rotation = self.rotation_to(axes, inputs.parent, local)
        locations = {self.bone: self.location_to(head, inputs.parent)}
        return SolveResult(inputs, self.bones, rotation, (), NOTHING, locations)


def find_foot(chain: ChainPlan) -> None:
    """Use a leg's target as its foot, if it is part of the character.

    Controls aren't feet; the bones that follow them are.

    Raises:
        ProblemError: If the foot can't move.
    """
    target, rig = chain.target, chain.rig
    if target is None or target.object != rig.object or target.bone < 0:
        return
    foot = target.bone
    is_linked = chain.bones[0] in rig.chain_up(foot) or foot in rig.chain_up(chain.bones[0])
    deforms = any(rig.rest(bone).use_deform for bone in rig.below({foot}))
    if chain.has_hand or chain.offset is not None or is_linked or not deforms:
        return
    posed: Any = pose_bones(rig.object)[rig.names[foot]]
    is_fixed = foot in rig.connected and rig.parents[foot] >= 0
    if is_fixed or any(active_constraints(posed)):
        if NOT_BODY & set(words_of(rig.names[foot])):
            return  # A control with Deform on, as it is by default.
        raise ProblemError(
            "“{bone}” isn't parented to the leg and would be left behind: mute its constraints, "
            "and disable Connected in Edit Mode",
            bone=rig.names[foot],
        )
    chain.limb = chain.limb._replace(foot=foot)


def carried_feet(rig: Skeleton, chains: Iterable[ChainPlan]) -> Iterator[CarriedFoot]:
    """Yield the feet that are also the targets of their legs."""
    for chain in chains:
        if chain.limb.foot >= 0 and not chain.problem:
            slots = [rig.slot(LOCATION, chain.limb.foot)]
            yield CarriedFoot(rig, chain.limb.foot, [chain], slots, is_timed=True)
