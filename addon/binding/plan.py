"""Which constraints there are, what they hang on, and in which order they are solved.

The plan holds what does not change from frame to frame. It is thrown away when a setting of that
kind changes, when Blender rebuilds its own relations, and when references to objects die (load,
undo); and made anew when it is next needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import bpy
from mathutils import Vector

from ..core.bend import STRAIGHT, bend_direction, chain_axis
from ..core.vectors import Vec, across, length
from .access import pose_bones, rest_bone, settings
from .skeleton import Skeleton, vector

if TYPE_CHECKING:
    from .properties import FabrikConstraint

NO_INPUT = -100
"""`PoseBone.fabrik_mode` of a bone that holds its own pose and no solved one."""


class ProblemError(Exception):
    """Why a constraint cannot work, in a sentence that says what to do."""


@dataclass(slots=True)
class Point:
    """An object's origin, or the head of one of its bones."""

    object: bpy.types.Object
    skeleton: Skeleton | None = None
    bone: int = -1


@dataclass(eq=False, slots=True)
class ChainPlan:
    """One constraint, resolved.

    Attributes:
        rig: The armature.
        item: Index of the constraint in the armature's list.
        bones: The chain, root first; empty if there is none.
        tip_bone: The bone whose head is the tip; -1 if the last bone's tail is.
        target: What the tip reaches for.
        pole: What the bend faces, if anything.
        rest_bend: Side to which the rest pose bends, in the root bone's axes; None if straight.
        problem: Why the constraint cannot work; empty if it can.
        note: What the user should know although it works.
    """

    rig: Skeleton
    item: int
    bones: list[int] = field(default_factory=list)
    tip_bone: int = -1
    target: Point | None = None
    pole: Point | None = None
    rest_bend: Vec | None = None
    problem: str = ""
    note: str = ""

    @property
    def name(self) -> str:
        """The constraint's name."""
        return settings(self.rig.object).constraints[self.item].name

    @property
    def root_parent(self) -> int:
        """The bone that carries the chain, -1 if none does."""
        return self.rig.parents[self.bones[0]]


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
_skeletons: dict[int, Skeleton] = {}


def discard(skeletons: bool = False) -> None:
    """Throw the plan away, and the armatures' rest poses if these may have changed or died."""
    global _plan
    _plan = None
    if skeletons:
        _skeletons.clear()


def current() -> Plan:
    """Return the plan, made anew if it was thrown away."""
    global _plan
    if _plan is None:
        # Following a renamed bone writes to the constraint, which throws the plan away; not this.
        plan = _make()
        _plan = plan
    return _plan


def skeleton_of(armature: bpy.types.Object) -> Skeleton:
    """Return the bones of an armature object."""
    known = _skeletons.get(armature.session_uid)
    if known is None:
        known = _skeletons[armature.session_uid] = Skeleton(armature)
        for bone in pose_bones(armature):
            if bone.fabrik_name in known.index and bone.fabrik_name != bone.name:
                bone.fabrik_name = ""  # A copy, which is not the one that constraints mean.
    return known


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
        own = [_resolved(rig, i) for i in range(count)]
        chains += own
        plan.rigs[rig.uid] = rig
        plan.posed[rig.uid] = recorded.union(*[chain.bones for chain in own])
        plan.moved[rig.uid] = rig.below(plan.posed[rig.uid])
        plan.lists[rig.uid] = _listed(ob)
        if recorded.difference(*[chain.bones for chain in own]):
            plan.freed.add(rig.uid)
    walk = _Walk(plan, chains)
    plan.chains = walk.ordered()
    plan.carried = walk.carried
    plan.groups = walk.groups()
    return plan


def _listed(ob: bpy.types.Object) -> list[tuple[str, str]]:
    return [(item.name, item.bone) for item in settings(ob).constraints]


def _recorded(ob: bpy.types.Object) -> set[int]:
    bones = pose_bones(ob)
    modes = [NO_INPUT] * len(bones)
    bones.foreach_get("fabrik_mode", modes)
    return {i for i, mode in enumerate(modes) if mode != NO_INPUT}


def _resolved(rig: Skeleton, index: int) -> ChainPlan:
    chain = ChainPlan(rig, index)
    item = settings(rig.object).constraints[index]
    try:
        _resolve_bones(chain, item)
        chain.target = _point(item, "target", "subtarget")
        if chain.target is None:
            raise ProblemError("There is no target: choose an object, or a bone, to reach for")
        chain.pole = _point(item, "pole_target", "pole_subtarget")
    except ProblemError as problem:
        chain.problem = str(problem)
    return chain


def _resolve_bones(chain: ChainPlan, item: FabrikConstraint) -> None:
    rig = chain.rig
    if not item.bone:
        raise ProblemError("There is no tip bone: choose the last bone of the chain")
    up = rig.chain_up(_bone_index(rig, item, "bone"))
    if not item.use_tail:
        chain.tip_bone = up.pop()
        if not up:
            raise ProblemError(
                f"“{item.bone}” has no parent that could move its head: "
                "turn on Use Tail or choose another tip bone"
            )
    if item.chain_count > len(up):
        raise ProblemError(
            f"Chain Length is {item.chain_count}, but there are {len(up)} bones up to the root: "
            f"set it to {len(up)} or less, or to 0 for all"
        )
    chain.bones = up[-item.chain_count :]
    chain.rest_bend = _rest_bend(chain)
    chain.note = _disturbance(chain)


def _disturbance(chain: ChainPlan) -> str:
    """Name a constraint that moves a bone of the chain after it was solved, if there is one."""
    bones = pose_bones(chain.rig.object)
    for bone in (bones[chain.rig.names[i]] for i in chain.bones):
        for con in active_constraints(bone):
            return (
                f"“{bone.name}” has its own constraint “{con.name}”, which acts after the chain "
                "is solved and may take the tip away: mute it, or move it to another bone"
            )
    return ""


def _rest_bend(chain: ChainPlan) -> Vec | None:
    rig = chain.rig
    bones = [rest_bone(rig.object, rig.names[i]) for i in chain.bones]
    tip = bones[-1].tail_local
    if chain.tip_bone >= 0:
        tip = rest_bone(rig.object, rig.names[chain.tip_bone]).head_local
    root = bones[0].head_local
    heads = [bone.head_local for bone in bones]
    joints = [vector(point - root) for point in (*heads, tip)]
    axis = chain_axis(joints)
    size = sum(length(vector(b - a)) for a, b in zip(heads, (*heads[1:], tip), strict=True))
    if max(length(across(joint, axis)) for joint in joints) <= STRAIGHT * size:
        return None
    bend = bend_direction([vector((p - root) / size) for p in (*heads, tip)], axis)
    if bend is None:
        return None
    root_axes = bones[0].matrix_local.to_3x3()
    return vector(root_axes.transposed() @ Vector(bend))


def _point(item: FabrikConstraint, pointer: str, bone_name: str) -> Point | None:
    ob = getattr(item, pointer)
    if ob is None:
        return None
    if not getattr(item, bone_name) or ob.type != "ARMATURE":
        return Point(ob)
    if ob.pose is None:
        raise ProblemError(f"“{ob.name}” has no pose: select it and enter Pose Mode once")
    skeleton = skeleton_of(ob)
    return Point(ob, skeleton, _bone_index(skeleton, item, bone_name))


def _bone_index(rig: Skeleton, item: FabrikConstraint, field_name: str) -> int:
    """Return the bone that a field of the constraint names, following it if it was renamed.

    Each bone that a constraint names remembers that name, so the one that remembers a name which
    no bone has any more is the bone that had it.
    """
    name = getattr(item, field_name)
    bones = pose_bones(rig.object)
    if name not in rig.index:
        heirs = [bone.name for bone in bones if bone.fabrik_name == name]
        if not heirs:
            raise ProblemError(
                f"There is no bone “{name}” in “{rig.object.name}”: choose another one"
            )
        name = heirs[0]
        setattr(item, field_name, name)
    if bones[name].fabrik_name != name:
        bones[name].fabrik_name = name
    return rig.index[name]


Node = tuple[bpy.types.Object, int]
"""An object, or with a number from 0 on a bone of it."""

FOLLOWED = ("CHILD_OF", "COPY_LOCATION", "COPY_TRANSFORMS")
"""Constraints of objects that `read` carries along itself, at their full and plain settings."""

TURNED_ONLY = ("COPY_ROTATION",)
"""Constraints of bones that set the axes and leave the head where its parent carries it."""


class _Walk:
    """Finds out what hangs on what, upwards from what the chains are given."""

    def __init__(self, plan: Plan, chains: list[ChainPlan]) -> None:
        self.plan = plan
        self.chains = chains
        self.carried: set[int] = set()
        self.posing: dict[tuple[int, int], list[ChainPlan]] = {}
        for chain in chains:
            for bone in chain.bones:
                self.posing.setdefault((chain.rig.uid, bone), []).append(chain)
        self.needs = {chain: self._needs(chain) for chain in chains if not chain.problem}
        self._share_in_order()

    def ordered(self) -> list[ChainPlan]:
        """Return the chains so that each comes after all it needs, else in the list's order."""
        done: dict[ChainPlan, None] = {}
        waiting = list(self.needs)
        while waiting:
            ready = next((c for c in waiting if self.needs[c] <= done.keys()), None)
            if ready is None:
                ready = self._broken_cycle(waiting)
            waiting.remove(ready)
            done[ready] = None
        return [*done, *(chain for chain in self.chains if chain not in done)]

    def groups(self) -> dict[int, set[int]]:
        """Return for each armature those that are evaluated with it, because one needs the other.

        Were only the one evaluated that changed, what another one gives it would come once from
        our own arithmetic and once from Blender's, and their last bits differ.
        """
        groups = {uid: {uid} for uid in self.plan.rigs}
        for chain, needs in self.needs.items():
            for other in needs:
                merged = groups[chain.rig.uid] | groups[other.rig.uid]
                for uid in merged:
                    groups[uid] = merged
        return groups

    def _broken_cycle(self, waiting: list[ChainPlan]) -> ChainPlan:
        """Take a chain that waits for itself out of the order, and say so."""
        for chain in waiting:
            others = self._waiting_for(chain)
            if chain in others:
                names = " and ".join(f"“{other.name}”" for other in waiting if other in others)
                chain.problem = (
                    f"The target, pole or root depends on the chain itself (through {names}): "
                    "choose one that does not hang on the chain"
                )
                return chain
        raise AssertionError("chains that all wait, but none for itself")

    def _waiting_for(self, chain: ChainPlan) -> set[ChainPlan]:
        found: set[ChainPlan] = set()
        fringe = [chain]
        while fringe:
            for other in self.needs.get(fringe.pop(), ()):
                if other not in found and not other.problem:
                    found.add(other)
                    fringe.append(other)
        return found

    def _needs(self, chain: ChainPlan) -> set[ChainPlan]:
        """Return the chains that must be solved before this one."""
        starts: list[Node] = [(chain.rig.object, -1)]
        if chain.root_parent >= 0:
            starts.append((chain.rig.object, chain.root_parent))
        for point in (chain.target, chain.pole):
            if point is not None:
                starts += [(point.object, -1), (point.object, point.bone)]
        needs: set[ChainPlan] = set()
        seen: dict[tuple[int, int], bool] = {}
        for start in starts:
            self._visit(start, seen, needs, chain)
        return needs

    def _share_in_order(self) -> None:
        """Let chains that share a bone wait in the list's order, unless they wait the other way."""
        for sharing in self.posing.values():
            valid = [chain for chain in sharing if chain in self.needs]
            for i, chain in enumerate(valid):
                for earlier in valid[:i]:
                    if chain not in self._waiting_for(earlier):
                        self.needs[chain].add(earlier)

    def _visit(
        self,
        node: Node,
        seen: dict[tuple[int, int], bool],
        needs: set[ChainPlan],
        chain: ChainPlan,
    ) -> bool:
        """Return whether a node moves with a solved chain; collect these chains on the way."""
        ob, bone = node
        key = (ob.session_uid, bone)
        if key in seen:
            return seen[key]
        seen[key] = False  # What leads back to itself adds nothing.
        posing = self.posing.get(key, ()) if bone >= 0 else ()
        needs.update(posing)
        moves = bool(posing) or bone in self.plan.posed.get(ob.session_uid, ())
        for parent in _parents(ob, bone):
            moves |= self._visit(parent, seen, needs, chain)
        if not posing:
            moves = self._visit_constraints(node, moves, seen, needs, chain)
        if moves and bone < 0:
            self.carried.add(ob.session_uid)
        seen[key] = moves
        return moves

    def _visit_constraints(
        self,
        node: Node,
        moves: bool,
        seen: dict[tuple[int, int], bool],
        needs: set[ChainPlan],
        chain: ChainPlan,
    ) -> bool:
        """Return whether a node moves, given whether its parents do, or its constraints' sources.

        What we cannot place ahead of Blender is said in the chain's note.
        """
        ob, bone = node
        owner = ob if bone < 0 else pose_bones(ob)[skeleton_of(ob).names[bone]]
        follows = False
        # What a bone does in world space changes its pose when its armature is carried along.
        constraints = active_constraints(owner)
        carried = bool(constraints) and bone >= 0 and self._visit((ob, -1), seen, needs, chain)
        is_placed = bone < 0 or bone in self.plan.moved.get(ob.session_uid, ())
        for con in constraints:
            point = constraint_point(con)
            sources = [] if point is None else [(point.object, -1), (point.object, point.bone)]
            source_moves = False
            for source in sources:
                source_moves |= self._visit(source, seen, needs, chain)
            follows |= source_moves
            is_foreseen = is_placed and acts_plainly(con, bone >= 0)
            if (moves or source_moves or carried) and not is_foreseen:
                chain.note = (
                    f"“{owner.name}” moves with a solved chain through its constraint "
                    f"“{con.name}”, which acts one update late: use a parent or a plain Child Of"
                )
        return moves or follows


def active_constraints(owner: bpy.types.Object | bpy.types.PoseBone) -> list[Any]:
    """Return Blender's own constraints of an object or bone that do something."""
    return [con for con in owner.constraints if not con.mute and con.influence > 0.0]


def constraint_point(con: Any) -> Point | None:
    """Return what one of Blender's constraints looks at."""
    ob = getattr(con, "target", None)
    if ob is None:
        return None
    name = getattr(con, "subtarget", "")
    if name and ob.type == "ARMATURE" and ob.pose:
        skeleton = skeleton_of(ob.original)
        if name in skeleton.index:
            return Point(ob.original, skeleton, skeleton.index[name])
    return Point(ob.original)


def acts_plainly(con: Any, on_bone: bool) -> bool:
    """Return whether `read` places what this constraint acts on as Blender will."""
    if con.influence < 1.0 or con.owner_space != "WORLD" or con.target_space != "WORLD":
        return False
    if on_bone:
        return con.type in TURNED_ONLY and con.mix_mode == "REPLACE" and _all_axes(con)
    if con.type == "CHILD_OF":
        parts = [
            f"use_{part}_{axis}" for part in ("location", "rotation", "scale") for axis in "xyz"
        ]
        return all(getattr(con, part) for part in parts)
    if con.type == "COPY_LOCATION":
        return _all_axes(con) and con.head_tail == 0.0 and not con.use_offset
    return con.type == "COPY_TRANSFORMS" and con.mix_mode == "REPLACE" and con.head_tail == 0.0


def _all_axes(con: Any) -> bool:
    used = con.use_x and con.use_y and con.use_z
    return used and not (con.invert_x or con.invert_y or con.invert_z)


def _parents(ob: bpy.types.Object, bone: int) -> Iterator[Node]:
    if bone >= 0:
        skeleton = skeleton_of(ob)
        if skeleton.parents[bone] >= 0:
            yield ob, skeleton.parents[bone]
        return
    if ob.parent is None:
        return
    yield ob.parent, -1
    if ob.parent_type == "BONE" and ob.parent.type == "ARMATURE" and ob.parent.pose:
        skeleton = skeleton_of(ob.parent)
        if ob.parent_bone in skeleton.index:
            yield ob.parent, skeleton.index[ob.parent_bone]
