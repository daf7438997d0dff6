"""Holds: a control, target or object follows a holder from one frame to another."""

from collections.abc import Iterator, Sequence

from ...blender.skeleton import Skeleton
from ...plan.chain_plan import ChainPlan
from ...plan.pre_pass import PrePassBone
from ...plan.registry import Feature
from ...settings.definitions import ItemList, defined
from . import operators, panel, parenting
from .held import held_bones
from .pole_follow import following_poles, resolve_follow
from .settings import FabrikHold, FabrikHolder, holds_signature


def _pre_pass(rig: Skeleton, chains: Sequence[ChainPlan]) -> Iterator[PrePassBone]:
    yield from held_bones(rig, chains)
    yield from following_poles(rig, chains)


FEATURE = Feature(
    groups=(FabrikHolder, FabrikHold),
    armature={
        "holds": (
            ItemList[FabrikHold],
            defined(
                "FABRIK Holds",
                "Held bones of the armature",
                override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"},
            ),
        ),
    },
    resolve=resolve_follow,
    pre_pass=_pre_pass,
    lists={"holds": holds_signature},
)

PARTS = (operators, panel, parenting)
