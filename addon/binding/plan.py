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
from .fk_input import NO_INPUT
from .order import Order
from .pose import Pose
from .skeleton import Skeleton, forget_skeletons, skeleton_of


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
        keys: For each armature the keys of its constraints, in the list's order.
        freed: The armatures with bones that no chain poses any more and that get their pose back.
        poses: What the armatures hold, looked at again at each update.
        remembered: How many bones' solutions the chains remember.
    """

    chains: list[ChainPlan] = field(default_factory=list)
    rigs: dict[int, Skeleton] = field(default_factory=dict)
    posed: dict[int, set[int]] = field(default_factory=dict)
    moved: dict[int, set[int]] = field(default_factory=dict)
    carried: set[int] = field(default_factory=set)
    groups: dict[int, set[int]] = field(default_factory=dict)
    keys: dict[int, list[int]] = field(default_factory=dict)
    freed: set[int] = field(default_factory=set)
    poses: dict[int, Pose] = field(default_factory=dict)
    remembered: int = 0

    def stale(self) -> set[int]:
        """Return the armatures whose list a script changed, which Blender tells nobody."""
        return {uid for uid, rig in self.rigs.items() if _keys(rig.object) != self.keys[uid]}


_plan: Plan | None = None


def discard(skeletons: bool = False) -> None:
    """Throw the plan away, and the armatures' rest poses if these may have changed or died."""
    global _plan
    _plan = None
    if skeletons:
        forget_skeletons()


def is_made() -> bool:
    """Return whether there is a plan."""
    return _plan is not None


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
        plan.keys[rig.uid] = _keyed(ob)
        plan.poses[rig.uid] = Pose(rig, plan.posed[rig.uid])
        if recorded.difference(*[chain.bones for chain in own]):
            plan.freed.add(rig.uid)
    order = Order(chains, plan.posed, plan.moved)
    plan.chains = order.ordered()
    plan.carried = order.carried
    plan.groups = order.groups()
    return plan


def _keys(ob: bpy.types.Object) -> list[int]:
    items = settings(ob).constraints
    keys = [0] * len(items)
    items.foreach_get("key", keys)
    return keys


def _keyed(ob: bpy.types.Object) -> list[int]:
    """Return the keys of an armature's constraints, after giving one to those without."""
    keys = _keys(ob)
    for i, key in enumerate(keys):
        if key == 0 or key in keys[:i]:
            settings(ob).constraints[i].key = keys[i] = max(keys) + 1
    return keys


def _recorded(ob: bpy.types.Object) -> set[int]:
    bones = pose_bones(ob)
    modes = [NO_INPUT] * len(bones)
    bones.foreach_get("fabrik_mode", modes)
    return {i for i, mode in enumerate(modes) if mode != NO_INPUT}
