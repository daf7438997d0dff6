"""Which constraints there are, what they hang on, and in which order they are solved.

The plan holds what does not change from frame to frame. It is thrown away when a setting of that
kind changes, when Blender rebuilds its own relations, and when references to objects die (load,
undo); and made anew when it is next needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import bpy

from .access import pose_bones, settings
from .chain_plan import ChainPlan, resolved
from .order import Order
from .skeleton import Skeleton, forget_skeletons, skeleton_of

NO_INPUT = -100
"""`PoseBone.fabrik_mode` of a bone that holds its own pose and no solved one."""


@dataclass(eq=False, slots=True)
class Plan:
    """All constraints of the file.

    Attributes:
        chains: In the order of solving.
        rigs: The armatures with constraints, or with bones that still hold a solved pose.
        posed: For each armature the bones that chains pose, or posed.
        moved: For each armature the bones that are posed, or hang on a posed bone.
        carried: Objects that hang on a moved bone.
        groups: For each armature all that are evaluated whenever it is.
        lists: For each armature the names and tip bones of its constraints.
        freed: The armatures with bones that no chain poses any more and that get their pose back.
    """

    chains: list[ChainPlan] = field(default_factory=list)
    rigs: dict[int, Skeleton] = field(default_factory=dict)
    posed: dict[int, set[int]] = field(default_factory=dict)
    moved: dict[int, set[int]] = field(default_factory=dict)
    carried: set[int] = field(default_factory=set)
    groups: dict[int, set[int]] = field(default_factory=dict)
    lists: dict[int, list[tuple[str, str]]] = field(default_factory=dict)
    freed: set[int] = field(default_factory=set)

    def is_stale(self, rigs: set[int]) -> bool:
        """Return whether a script changed the list of one of the armatures, which tells nobody."""
        return any(_listed(self.rigs[uid].object) != self.lists[uid] for uid in rigs)


_plan: Plan | None = None


def discard(skeletons: bool = False) -> None:
    """Throw the plan away, and the armatures' rest poses if these may have changed or died."""
    global _plan
    _plan = None
    if skeletons:
        forget_skeletons()


def current() -> Plan:
    """Return the plan, made anew if it was thrown away."""
    global _plan
    if _plan is None:
        # Following a renamed bone writes to the constraint, which throws the plan away; not this.
        plan = _make()
        _plan = plan
    return _plan


def _make() -> Plan:
    plan = Plan()
    chains: list[ChainPlan] = []
    for ob in bpy.data.objects:
        if ob.type != "ARMATURE" or ob.pose is None:
            continue
        count = len(settings(ob).constraints)
        recorded = _recorded(ob)
        if not count and not recorded:
            continue
        rig = skeleton_of(ob)
        own = [resolved(rig, i) for i in range(count)]
        chains += own
        plan.rigs[rig.uid] = rig
        plan.posed[rig.uid] = recorded.union(*[chain.bones for chain in own])
        plan.moved[rig.uid] = rig.below(plan.posed[rig.uid])
        plan.lists[rig.uid] = _listed(ob)
        if recorded.difference(*[chain.bones for chain in own]):
            plan.freed.add(rig.uid)
    order = Order(chains, plan.posed, plan.moved)
    plan.chains = order.ordered()
    plan.carried = order.carried
    plan.groups = order.groups()
    return plan


def _listed(ob: bpy.types.Object) -> list[tuple[str, str]]:
    return [(item.name, item.bone) for item in settings(ob).constraints]


def _recorded(ob: bpy.types.Object) -> set[int]:
    bones = pose_bones(ob)
    modes = [NO_INPUT] * len(bones)
    bones.foreach_get("fabrik_mode", modes)
    return {i for i, mode in enumerate(modes) if mode != NO_INPUT}
