"""Feet on the ground: their goals, the hip above them, and feet not parented to their legs."""

from collections.abc import Iterator, Sequence

from ...blender.skeleton import Skeleton
from ...frame.carried_foot import carried_feet
from ...plan.chain_plan import ChainPlan
from ...plan.pre_pass import PrePassBone
from ...plan.registry import Feature
from ...settings.definitions import group
from . import operators
from .goal import GroundGoal, resolve_ground
from .hips import hips_of
from .settings import FabrikGround


def _pre_pass(rig: Skeleton, chains: Sequence[ChainPlan]) -> Iterator[PrePassBone]:
    yield from hips_of(rig, chains)
    yield from carried_feet(rig, [leg for leg in chains if isinstance(leg.goal_source, GroundGoal)])


FEATURE = Feature(
    groups=(FabrikGround,),
    constraint={"ground": (FabrikGround, group("Ground", "How the tip stands on the ground"))},
    resolve=resolve_ground,
    pre_pass=_pre_pass,
)

PARTS = (operators,)
