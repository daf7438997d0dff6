"""Selecting the constraints to bake, and the bones and channels that they pose."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import bpy

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError, listed
from ...blender.messages import msg
from ...blender.refusals import linked_problem
from ...blender.rotation import KINDS, channel_of, integers
from ...blender.skeleton import Skeleton
from ...plan import planner
from ...plan.chain_plan import ChainPlan, UnitPlan
from ...plan.pre_pass import PrePassBone
from ...plan.results import OFF
from ...settings.properties import settings

ConstraintRef = tuple[bpy.types.Object, int]
"""An armature, and the index of a constraint in its list."""


@dataclass(frozen=True)
class BakedChannel:
    """A posed channel of bones that have the same mode.

    Attributes:
        mode: The rotation mode, `LOCATION` or `SCALE`.
        bones: Indices into `BakeSelection.bones`.
        driven: For each bone, the array indices that drivers set.
    """

    mode: int
    bones: tuple[int, ...]
    driven: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class BakeSelection:
    """The constraints to bake of an armature, and the bones and channels that they pose.

    Attributes:
        armature: The armature object.
        items: Indices of the constraints, ascending.
        bones: Indices of the posed bones, ascending.
        names: Their names.
        chain_lengths: Rest length of each bone's chain, in armature space.
        channels: The posed channels.
    """

    armature: bpy.types.Object
    items: tuple[int, ...]
    bones: tuple[int, ...]
    names: tuple[str, ...]
    chain_lengths: tuple[float, ...]
    channels: tuple[BakedChannel, ...]

    def described(self) -> list[object]:
        """Return a JSON-serializable description, which must be the same in all parts of a bake."""
        names = [settings(self.armature).constraints[i].name for i in self.items]
        channels = [[c.mode, list(c.bones), [list(d) for d in c.driven]] for c in self.channels]
        return [self.armature.name, list(self.items), names, list(self.names), channels]


def all_constraints(armatures: Iterable[bpy.types.Object]) -> list[ConstraintRef]:
    """Return all constraints of the armatures."""
    return [(ob, i) for ob in armatures for i in range(len(settings(ob).constraints))]


def select(refs: Sequence[ConstraintRef]) -> tuple[list[BakeSelection], list[str]]:
    """Return the selection of each armature, and the names of skipped constraints.

    Constraints that share bones or a pre-pass bone are included together. Constraints are skipped
    if they are linked, invalid, or off at all frames.

    Raises:
        ProblemError: If nothing is left, or the rotation mode of a bone is animated.
    """
    if not refs:
        raise ProblemError("No constraints: add one to the tip bone of a chain")
    chains = _chains()
    working: dict[bpy.types.Object, list[ChainPlan]] = {}
    left_out: list[str] = []
    problem = ""
    for ob, i in _with_partners(refs):
        chain = chains[ob.session_uid, i]
        reason = linked_problem(ob) or chain.problem or ("" if _can_be_on(ob, i) else OFF)
        if reason:
            left_out.append(chain.name)
            problem = problem or msg(
                "“{chain}” can't be baked. {reason}", chain=chain.name, reason=reason
            )
        else:
            working.setdefault(ob, []).append(chain)
    if not working:
        raise ProblemError(problem)
    return [_picked(ob, indices) for ob, indices in working.items()], left_out


def _with_partners(refs: Sequence[ConstraintRef]) -> list[ConstraintRef]:
    result: dict[ConstraintRef, None] = {}
    for ob, i in refs:
        if (ob, i) in result:
            continue
        units = planner.current().units_of.get(ob.session_uid, [])
        items, bones, count = {i}, set[int](), 0
        while count < len(items) + len(bones):
            count = len(items) + len(bones)
            for unit in units:
                unit_items = _items_of(unit)
                if unit_items & items or bones & set(unit.bones):
                    items |= unit_items
                    bones |= set(unit.bones)
        result.update(dict.fromkeys((ob, item) for item in sorted(items)))
    return list(result)


def posing(armature: bpy.types.Object, bones: Collection[int]) -> list[str]:
    """Return the names of the constraints that pose any of the bones."""
    units = planner.current().units_of.get(armature.session_uid, [])
    items = {item for u in units if not set(bones).isdisjoint(u.bones) for item in _items_of(u)}
    return [settings(armature).constraints[item].name for item in sorted(items)]


def acting(armatures: Collection[bpy.types.Object]) -> set[tuple[int, int]]:
    """Return the valid constraints that may be on at some frame, by armature and index."""
    return {
        (chain.rig.uid, chain.item)
        for chain in planner.current().chains
        if chain.rig.object in armatures
        and not chain.problem
        and _can_be_on(chain.rig.object, chain.item)
    }


def working() -> dict[tuple[int, int], str]:
    """Return the names of the valid constraints that may be on, by armature and key."""
    plan = planner.current()
    return {
        (chain.rig.uid, plan.keys[chain.rig.uid][chain.item]): chain.name
        for chain in plan.chains
        if not chain.problem and _can_be_on(chain.rig.object, chain.item)
    }


def _items_of(unit: UnitPlan) -> set[int]:
    """Return the indices of the constraints that a unit belongs to."""
    if isinstance(unit, PrePassBone):
        return {chain.item for chain in unit.chains}
    return set(unit.items)


def _chains() -> dict[tuple[int, int], ChainPlan]:
    return {(chain.rig.uid, chain.item): chain for chain in planner.current().chains}


def _can_be_on(armature: bpy.types.Object, index: int) -> bool:
    item = settings(armature).constraints[index]
    return (item.enabled or animation.is_set(armature, item.path_from_id("enabled"))) and (
        item.influence > 0.0 or animation.is_set(armature, item.path_from_id("influence"))
    )


def _picked(armature: bpy.types.Object, chains: list[ChainPlan]) -> BakeSelection:
    rig = chains[0].rig
    pre_pass = [
        unit
        for unit in planner.current().units
        if isinstance(unit, PrePassBone) and not set(chains).isdisjoint(unit.chains)
    ]
    members = [*pre_pass, *chains]
    bones = sorted({bone for member in members for bone in member.bones})
    more = {slot for member in members for slot in member.more}
    lengths = {m: sum(rig.bone(b).length for b in m.bones) for m in members}
    return BakeSelection(
        armature,
        tuple(sorted(chain.item for chain in chains)),
        tuple(bones),
        tuple(rig.names[bone] for bone in bones),
        tuple(max(lengths[m] for m in members if bone in m.bones) for bone in bones),
        tuple(_channels(rig, bones, more)),
    )


def _channels(rig: Skeleton, bones: list[int], more: set[int]) -> list[BakedChannel]:
    animated = animation.animated(rig.object)
    modes = integers(pose_bones(rig.object), "rotation_mode")
    count = len(rig.names)
    grouped: dict[int, list[int]] = {}
    for index, bone in enumerate(bones):
        _refuse_animated_mode(rig, bone, animated)
        kinds = [modes[bone], *(kind for n, kind in enumerate(KINDS) if n * count + bone in more)]
        for kind in kinds:
            grouped.setdefault(kind, []).append(index)
    return [
        BakedChannel(
            mode,
            tuple(bones_of_mode),
            tuple(
                tuple(animated.numbers(rig.names[bones[p]], channel_of(mode)[0])[1])
                for p in bones_of_mode
            ),
        )
        for mode, bones_of_mode in grouped.items()
    ]


def _refuse_animated_mode(rig: Skeleton, bone: int, animated: animation.Channels) -> None:
    if not animated.has_modes:
        return
    if animation.is_set(rig.object, pose_bones(rig.object)[bone].path_from_id("rotation_mode")):
        raise ProblemError(
            "The rotation mode of {bone} is animated, so its rotation doesn't fit one channel: "
            "remove the rotation mode's keys first",
            bone=listed([rig.names[bone]]),
        )
