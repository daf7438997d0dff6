"""The plan: all constraints, their dependencies and the order of solving.

It holds everything that doesn't change between frames (see `planner` for how long it is valid).
Each armature has a separate part. A plan never changes once it is made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import bpy

from ..blender import animation
from ..blender.access import pose_bones
from ..blender.animation import is_animated
from ..blender.curves import Curves
from ..blender.dependency_driver import Source
from ..blender.native_constraints import is_predictable
from ..blender.references import constraint_sources
from ..blender.relations import (
    ConstrainedBones,
    Node,
    active_constraints,
    constrained_bones,
    possible_constraints,
    replaces_pose,
)
from ..blender.skeleton import Skeleton, skeleton_of
from ..settings.properties import LISTS, FabrikSettings, settings
from . import dependencies
from .chain_plan import ChainPlan, GoalSource, UnitPart, UnitPlan
from .sequences import Sequences


@dataclass(eq=False, slots=True)
class ArmaturePlan:
    """The resolved constraints of one armature; valid until one of its inputs changes.

    Attributes:
        rig: The armature.
        keys: The keys of its constraints, in list order.
        lists: Signatures of its other lists, by name (see `Feature`).
        chains: Its constraints, in list order.
        pre_pass: Its pre-pass bones.
        slots: The posed slots (see `KINDS`).
        posed: The posed bones.
        constrained: Bones with native constraints.
        pulled: Bones that native IK poses together with posed ones.
        moved: Posed and pulled bones, their followers, and all descendants of both.
        names: The posed channels: bone names, each with an index in `KINDS`.
        is_animated: Whether Blender may change its channels and settings at any frame.
        native_joints: Bones of chains that use their native IK settings as joint limits.
        driven: Bones of chains whose rotations stay driven.
        tips: Bones whose heads are the tips of chains.
        blocks: The names of the object and its data.
        uids: Session UIDs of the object and its data, still known after their removal.
        uses: The objects and bones that its constraints and walks use.
        sources: These objects, by session UID.
        collections: The collections that its constraints and walks use.
    """

    rig: Skeleton
    keys: list[int]
    chains: list[ChainPlan]
    pre_pass: Sequence[UnitPart]
    lists: dict[str, object] = field(init=False)
    slots: set[int] = field(init=False)
    posed: set[int] = field(init=False)
    constrained: set[int] = field(init=False)
    pulled: set[int] = field(init=False)
    moved: set[int] = field(init=False)
    names: set[tuple[str, int]] = field(init=False)
    is_animated: bool = field(init=False)
    native_joints: set[int] = field(init=False)
    driven: set[int] = field(init=False)
    tips: set[int] = field(init=False)
    blocks: tuple[str, str] = field(init=False)
    uids: tuple[int, int] = field(init=False)
    uses: Sequence[Source] = field(init=False)
    sources: set[int] = field(init=False)
    collections: list[bpy.types.Collection] = field(init=False)
    _own_messages: list[tuple[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        """Collect the posed channels and used data-blocks."""
        rig, ob = self.rig, self.rig.object
        members = (*self.pre_pass, *self.chains)
        self.slots = {slot for member in members for slot in (*member.bones, *member.more)}
        self.posed = {slot % len(rig.names) for slot in self.slots}
        self.constrained = constrained_bones(rig)
        self.pulled = _pulled(rig, self.posed, self.constrained)
        self.moved = _moved(rig, self.posed | self.pulled, self.constrained)
        count = len(rig.names)
        self.names = {(rig.names[slot % count], slot // count) for slot in self.slots}
        self.native_joints = {bone for chain in self.chains for _, bone in chain.joints.native}
        self.driven = {bone for chain in self.chains for bone in chain.driven}
        self.tips = {chain.tip_bone for chain in self.chains if chain.tip_bone >= 0}
        data = cast("bpy.types.ID", ob.data)
        self.blocks = (ob.name, data.name)
        self.uids = (rig.uid, data.session_uid)
        self.uses, self.collections = dependencies.uses_of(ob)
        self.sources = {source.session_uid for source, _ in self.uses}
        # Read after resolving, which may have followed renames.
        self.lists = _lists_of(settings(ob))
        self._own_messages = [(chain.problem, chain.note) for chain in self.chains]

    def has_changed_lists(self) -> bool:
        """Return whether a script changed a list; Blender doesn't notify of this."""
        untyped: Any = self.rig.object  # Called at each played frame.
        fabrik = untyped.fabrik
        constraints = fabrik.constraints
        keys = [0] * len(constraints)
        constraints.foreach_get("key", keys)
        if keys != self.keys:
            return True
        is_any_used = any([getattr(fabrik, name) for name in LISTS])
        return _lists_of(fabrik) != self.lists if is_any_used or self.lists else False

    def outlives(self, replaced: Set[int]) -> bool:
        """Return whether the plan is still valid after undo or redo replaced some data-blocks.

        Results of features may refer to anything, so no plan with such results is kept.
        """
        if self.lists or self.pre_pass or not all([chain.is_plain for chain in self.chains]):
            return False
        return replaced.isdisjoint(self.uids) and replaced.isdisjoint(self.sources)

    def reread_lists(self) -> None:
        """Read the lists again after deferred writes."""
        fabrik = settings(self.rig.object)
        self.keys[:], self.lists = keys_of(fabrik), _lists_of(fabrik)

    def reset(self) -> None:
        """Reset problems and notes to those from this armature only, for a new plan of the file.

        Whether it is animated is determined again: Blender may be about to rebuild relations.
        """
        self.is_animated = is_animated(self.rig.object)
        for chain, (problem, note) in zip(self.chains, self._own_messages, strict=True):
            chain.problem, chain.note, chain.is_late = problem, note, False
        for bone in self.pre_pass:
            bone.note, bone.is_late = "", False


def _pulled(rig: Skeleton, posed: set[int], constrained: set[int]) -> set[int]:
    """Return the bones that native IK poses together with posed ones.

    Blender's pose of these bones depends on the solution. A chain that starts from their pose
    would be solved differently at each update.
    """
    chains = [chain for _, chain in native_ik_chains(rig, ("IK",), constrained)]
    pulled, count = set(posed), -1
    while count < len(pulled):  # Blender solves chains that share bones together.
        count = len(pulled)
        pulled.update(*[chain for chain in chains if not pulled.isdisjoint(chain)])
    return pulled - posed


def native_ik_chains(
    rig: Skeleton, kinds: Collection[str], constrained: Iterable[int]
) -> list[tuple[Any, list[int]]]:
    """Return an armature's native IK constraints of some types, each with its bones.

    Args:
        rig: The armature.
        kinds: The types.
        constrained: Its bones with native constraints.
    """
    chains: list[tuple[Any, list[int]]] = []
    for i in sorted(constrained):
        for con in pose_bones(rig.object)[rig.names[i]].constraints:
            if con.type in kinds and not con.mute:
                path = rig.chain_up(i)
                uses_tail = con.type != "IK" or con.use_tail
                chains.append((con, (path if uses_tail else path[:-1])[-con.chain_count :]))
    return chains


def _moved(rig: Skeleton, posed: set[int], constrained: set[int]) -> set[int]:
    """Return posed bones, their followers by predictable constraints, and all descendants."""
    following: dict[int, set[int]] = {}
    for bone in constrained:
        constraints = possible_constraints(pose_bones(rig.object)[rig.names[bone]])
        if constraints and all([is_predictable(con, on_bone=True) for con in constraints]):
            sources = [source for con in constraints for source in constraint_sources(con)]
            following[bone] = {i for ob, i in sources if ob == rig.object}
    moved, count = rig.below(posed), -1
    while count < len(moved):
        count = len(moved)
        more = {bone for bone, sources in following.items() if not moved.isdisjoint(sources)}
        moved = rig.below(moved | more) if more - moved else moved
    return moved


def has_settings(ob: bpy.types.Object) -> bool:
    """Return whether an object has constraints, walks or other lists that the plan uses."""
    if ob.type != "ARMATURE" or ob.pose is None:
        return False
    fabrik = settings(ob)
    return len(fabrik.constraints) > 0 or bool(_lists_of(fabrik))


def keys_of(fabrik: FabrikSettings) -> list[int]:
    """Return the keys of an armature's constraints, in list order."""
    constraints = fabrik.constraints
    keys = [0] * len(constraints)
    constraints.foreach_get("key", keys)
    return keys


def _lists_of(fabrik: FabrikSettings) -> dict[str, object]:
    """Return the signatures of the used lists other than that of constraints."""
    lists = {name: signature(fabrik) for name, signature in LISTS.items() if getattr(fabrik, name)}
    return {name: used for name, used in lists.items() if used} if lists else lists


class Disturbed(NamedTuple):
    """The state of a bone with native constraints or drivers, when the plan was made.

    Attributes:
        name: Its name.
        active: Its active native constraints: each name, and whether it `replaces_pose`.
        mode: Its rotation mode, which decides whether its rotation drivers have an effect; empty
            without such drivers.
    """

    name: str
    active: list[tuple[str, bool]]
    mode: str

    def has_switched(self, bone: bpy.types.PoseBone) -> bool:
        """Return whether other constraints or drivers are active now."""
        return active_in(bone) != self.active or (
            bool(self.mode) and bone.rotation_mode != self.mode
        )


class Moved(NamedTuple):
    """The bones and objects that a unit moves.

    Attributes:
        bones: The bones, for each armature.
        objects: The objects, by session UID.
    """

    bones: dict[int, set[int]]
    objects: list[int]


@dataclass(eq=False, slots=True)
class Lookahead:
    """The facts about a plan's armatures that decide on solving ahead of an evaluation.

    Attributes:
        known: The armatures that can be solved ahead.
        unknown: For each of the others, the name of an input that can't be computed ahead.
        timed: The known armatures whose inputs may change with the frame.
        worth: The armatures that are worth solving ahead of a frame. Inputs of other armatures are
            cheaper to read after the evaluation.
        sources: For each name of a data-block, the armatures that depend on it or use it.
        meshes: For each armature, the goal sources solved with it that depend on evaluated meshes:
            one for each set of watched objects.
        curves: F-curves of animated objects on which the known armatures depend.
        replaced: For each armature with animated posed slots, its F-curves, if they can be muted so
            that Blender evaluates the solution instead.
        moving: Armatures whose F-curves move them or bones, so that each frame evaluates the pose.
        placed: The objects in `curves` with F-curves on their transform.
        turned: The objects in `curves` with F-curves on their rotation or scale.
        constrained_objects: Objects with native constraints that are computed here.
        switched: Armature and name of bones with native constraints that animation switches.
        unsettled: Those switched by animation other than the drivers in `settled`.
        animated: For each armature, the posed slots (see `KINDS`) that F-curves or drivers set.
        mode_animated: Armatures with an animated rotation mode.
        drivers: For each armature, its number of drivers.
        constrained: For each armature, the bones that chains follow through native constraints
            computed here, unless a solved bone moves them.
        visited: For each armature whose chains follow such bones, all objects that may change its
            inputs.
        driving: For each armature, the paths of the custom properties that drive settings, by
            data-block.
        steady: The armatures for which nothing animates these properties.
        settled: Settings of native constraints that only these drive: armature, bone and path.
        signatures: All examined objects, each with a signature of its animation.
        still: Armatures that can be solved ahead and whose inputs never change with the frame.
        is_early: Whether anything is solved or written ahead of a frame without edits.
        is_timed: Whether the frame may change inputs of all armatures.
    """

    known: set[int] = field(default_factory=set)
    unknown: dict[int, str] = field(default_factory=dict)
    timed: set[int] = field(default_factory=set)
    worth: set[int] = field(default_factory=set)
    sources: dict[str, set[int]] = field(default_factory=dict)
    meshes: dict[int, list[GoalSource]] = field(default_factory=dict)
    curves: dict[int, Curves] = field(default_factory=dict)
    replaced: dict[int, Curves] = field(default_factory=dict)
    moving: set[int] = field(default_factory=set)
    placed: set[int] = field(default_factory=set)
    turned: set[int] = field(default_factory=set)
    constrained_objects: set[int] = field(default_factory=set)
    switched: set[tuple[int, str]] = field(default_factory=set)
    unsettled: set[tuple[int, str]] = field(default_factory=set)
    animated: dict[int, set[int]] = field(default_factory=dict)
    mode_animated: set[int] = field(default_factory=set)
    drivers: dict[int, int] = field(default_factory=dict)
    constrained: dict[int, tuple[Skeleton, set[int]]] = field(default_factory=dict)
    visited: dict[int, list[bpy.types.Object]] = field(default_factory=dict)
    driving: dict[int, dict[bpy.types.ID, list[str]]] = field(default_factory=dict)
    steady: set[int] = field(default_factory=set)
    settled: set[tuple[int, str, str]] = field(default_factory=set)
    signatures: list[tuple[bpy.types.Object, object]] = field(default_factory=list)
    still: set[int] = field(default_factory=set)
    is_early: bool = False
    is_timed: bool = False

    def without_settled(
        self, rig: Skeleton, paths: Mapping[int, Sequence[str]]
    ) -> dict[int, list[str]]:
        """Return the animated properties of an armature's bones that aren't in `settled`."""
        names, settled = rig.names, self.settled
        return {
            bone: [path for path in animated if (rig.uid, names[bone], path) not in settled]
            for bone, animated in paths.items()
        }

    def is_outdated(self) -> bool:
        """Return whether the set of animated channels of any object changed."""
        return any(animation.signature(ob) != signature for ob, signature in self.signatures)


@dataclass(eq=False, slots=True)
class Plan:
    """All constraints of the file.

    Armatures and objects are identified by their session UIDs.

    Attributes:
        units: All units in solving order, ignoring the additional needs of their states.
        needs: For each unit, the units that must be solved before it.
        by_state: For each unit with states, its additional needs in each state.
        units_of: The units by armature, in solving order.
        sequences: The order of solving at each frame.
        chains: All constraints.
        rigs: The armatures with constraints or walks.
        slots: For each armature, the posed slots (see `KINDS`).
        posed: For each armature, the posed bones.
        constrained: The bones with native constraints, of all armatures examined.
        pulled: For each armature, the bones that native IK poses together with posed ones.
        moved: For each armature, `ArmaturePlan.moved`.
        carried: Objects that follow a moved bone.
        following: For each armature and first bone of a unit, the objects and constrained bones
            that follow the unit. Followers of another unit that needs this unit are left out.
        moves: For each unit, the bones and objects that it moves, except those moved by another
            unit that needs this unit.
        groups: For each armature, all armatures evaluated together with it.
        keys: For each armature, the keys of its constraints, in list order.
        animated: Armatures whose channels and settings Blender may change at any frame.
        timed: Armatures whose solutions depend on the frame itself.
        driven: Armatures with drivers on settings that aren't read at each frame; Blender doesn't
            notify of their changes.
        sources: For each object used by constraints or walks, the armatures that depend on it.
        watched: The same for further objects, besides targets and poles.
        lookahead: Which armatures can be solved ahead of an evaluation.
        read: All skeletons read, by the names of their objects and data.
        copied: For each name of an object or data-block, the armatures that Blender copies with it.
        orphaned: Armatures without constraints that still have a dependency driver.
        disturbed: For each armature, the bones with native constraints or drivers that affect the
            plan.
        switched: Native constraints switched by animation, which affects the order: object, path,
            and whether each has an effect.
        examined: All objects from which it was made.
    """

    units: list[UnitPlan] = field(default_factory=list)
    needs: dict[UnitPlan, set[UnitPlan]] = field(default_factory=dict)
    by_state: dict[UnitPlan, list[set[UnitPlan]]] = field(default_factory=dict)
    sequences: Sequences = field(default_factory=lambda: Sequences((), {}, {}))
    units_of: dict[int, list[UnitPlan]] = field(default_factory=dict)
    chains: list[ChainPlan] = field(default_factory=list)
    rigs: dict[int, Skeleton] = field(default_factory=dict)
    slots: dict[int, set[int]] = field(default_factory=dict)
    posed: dict[int, set[int]] = field(default_factory=dict)
    constrained: ConstrainedBones = field(default_factory=ConstrainedBones)
    pulled: dict[int, set[int]] = field(default_factory=dict)
    moved: dict[int, set[int]] = field(default_factory=dict)
    carried: set[int] = field(default_factory=set)
    following: dict[tuple[int, int], list[Node]] = field(default_factory=dict)
    groups: dict[int, set[int]] = field(default_factory=dict)
    keys: dict[int, list[int]] = field(default_factory=dict)
    animated: set[int] = field(default_factory=set)
    timed: set[int] = field(default_factory=set)
    driven: set[int] = field(default_factory=set)
    sources: dict[int, set[int]] = field(default_factory=dict)
    watched: dict[int, set[int]] = field(default_factory=dict)
    lookahead: Lookahead = field(default_factory=Lookahead)
    read: dict[str, list[Skeleton]] = field(default_factory=dict)
    copied: dict[str, list[int]] = field(default_factory=dict)
    orphaned: list[bpy.types.Object] = field(default_factory=list)
    disturbed: list[tuple[Skeleton, list[Disturbed]]] = field(default_factory=list)
    switched: list[tuple[bpy.types.Object, str, bool]] = field(default_factory=list)
    examined: list[bpy.types.Object] = field(default_factory=list)
    moves: dict[UnitPlan, Moved] = field(default_factory=dict)

    def has_switched(
        self,
        constrained: Collection[int] = (),
        posed: Collection[bpy.types.ID] = (),
        animated: Set[tuple[int, str]] = frozenset(),
    ) -> bool:
        """Return whether a native constraint or driver of a bone was enabled or disabled.

        Args:
            constrained: Armatures whose bone constraints may have been edited.
            posed: Armature data whose bones may have been posed, which may set rotation modes.
            animated: Bones on which animation may have switched a constraint, as in
                `Lookahead.switched`.
        """
        if any([is_on(ob, path) != was_on for ob, path, was_on in self.switched]):
            return True
        if not (constrained or posed or animated):
            return False
        for rig, disturbed in self.disturbed:
            if rig.uid not in constrained:
                is_posed = bool(posed) and rig.object.data in posed
                disturbed = [
                    state
                    for state in disturbed
                    if (state.mode and is_posed) or (rig.uid, state.name) in animated
                ]
            bones = pose_bones(rig.object) if disturbed else None
            if bones and any([state.has_switched(bones[state.name]) for state in disturbed]):
                return True
        return False

    def moved_by(self, unit: UnitPlan) -> Moved:
        """Return the bones and objects that a unit moves, and cache them in `moves`."""
        rig = unit.rig
        nodes = [node for bone in unit.bones for node in self.following.get((rig.uid, bone), ())]
        tops = {rig: {*unit.bones}}
        for ob, bone in nodes:
            if bone >= 0:
                tops.setdefault(skeleton_of(ob), set()).add(bone)
        bones = {skeleton.uid: skeleton.below(top) for skeleton, top in tops.items()}
        moved = Moved(bones, [ob.session_uid for ob, bone in nodes if bone < 0])
        self.moves[unit] = moved
        return moved

    def on_top(self, unit: UnitPlan, bones: Sequence[int]) -> list[UnitPlan]:
        """Return the units solved after a unit of their armature that pose any of some bones."""
        others = [u for u in self.units_of[unit.rig.uid] if unit in self.needs.get(u, ())]
        return [other for other in others if not {*bones}.isdisjoint(other.bones)]

    def has_same_names(self, tagged: Set[str]) -> bool:
        """Return whether the names of all bones are unchanged.

        Args:
            tagged: The names of tagged data-blocks.
        """
        rigs = [rig for name in tagged if name in self.read for rig in self.read[name]]
        return all([rig.has_same_names() for rig in dict.fromkeys(rigs)])

    def has_new_drivers(self) -> bool:
        """Return whether drivers were added or removed; Blender doesn't notify of this."""
        count = self.lookahead.drivers
        for uid, rig in self.rigs.items():
            data = rig.object.animation_data
            if count[uid] != (len(data.drivers) if data else 0):
                return True
        return False


def active_in(owner: bpy.types.Object | bpy.types.PoseBone) -> list[tuple[str, bool]]:
    """Return the active native constraints of an owner: name, and whether it `replaces_pose`."""
    return [
        (con.name, con.type == "COPY_TRANSFORMS" and replaces_pose(con))
        for con in active_constraints(owner)
    ]


def is_on(ob: bpy.types.Object, path: str) -> bool:
    """Return whether a native constraint of an object or one of its bones has an effect."""
    try:
        con: Any = ob.path_resolve(path)
    except ValueError:  # It was removed or renamed.
        return False
    return not con.mute and con.influence > 0.0
