"""The part of the plan that concerns a single armature: its resolved constraints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import bpy

from ..blender.access import pose_bones
from ..blender.animation import is_animated
from ..blender.relations import active_constraints, constraint_point, is_predictable
from ..blender.skeleton import Skeleton
from ..settings.properties import LISTS, FabrikSettings, keys_of, settings
from . import dependencies
from .chain_plan import ChainPlan
from .pre_pass import PrePassBone


@dataclass(eq=False, slots=True)
class ArmaturePlan:
    """The resolved constraints of one armature; valid until one of its inputs changes.

    Attributes:
        rig: The armature.
        keys: The keys of its constraints, in the order of the list.
        lists: Signatures of its other lists, by name (see `Feature`).
        chains: Its constraints, in the order of the list.
        pre_pass: Its pre-pass bones.
        slots: The posed slots (see `KINDS`).
        posed: The posed bones.
        pulled: Bones that native IK poses together with posed ones.
        moved: Both, and their descendants.
        names: The posed channels: names of bones, each with an index in `KINDS`.
        is_animated: Whether Blender may change its channels and settings at any frame.
        native_joints: Bones of chains that use their native IK settings as limits.
        tips: Bones whose heads are the tips of chains.
        blocks: The names of the object and its data.
        uids: Session UIDs of both, known even after their removal.
        sources: The objects that its constraints and walks use.
        collections: The collections that they use.
    """

    rig: Skeleton
    keys: list[int]
    chains: list[ChainPlan]
    pre_pass: list[PrePassBone]
    lists: dict[str, object] = field(init=False)
    slots: set[int] = field(init=False)
    posed: set[int] = field(init=False)
    pulled: set[int] = field(init=False)
    moved: set[int] = field(init=False)
    names: set[tuple[str, int]] = field(init=False)
    is_animated: bool = field(init=False)
    native_joints: set[int] = field(init=False)
    tips: set[int] = field(init=False)
    blocks: tuple[str, str] = field(init=False)
    uids: tuple[int, int] = field(init=False)
    sources: set[int] = field(init=False)
    collections: list[bpy.types.Collection] = field(init=False)
    _own_messages: list[tuple[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        """Collect what they pose and use."""
        rig, ob = self.rig, self.rig.object
        members = (*self.pre_pass, *self.chains)
        self.slots = {slot for member in members for slot in (*member.bones, *member.more)}
        self.posed = {slot % len(rig.names) for slot in self.slots}
        self.pulled = _pulled(rig, self.posed)
        self.moved = _moved(rig, self.posed | self.pulled)
        count = len(rig.names)
        self.names = {(rig.names[slot % count], slot // count) for slot in self.slots}
        self.native_joints = {bone for chain in self.chains for _, bone in chain.joints.native}
        self.tips = {chain.tip_bone for chain in self.chains if chain.tip_bone >= 0}
        self.is_animated = is_animated(ob)
        data = cast(bpy.types.ID, ob.data)
        self.blocks = (ob.name, data.name)
        self.uids = (rig.uid, data.session_uid)
        self.sources = {source.session_uid for source, _ in dependencies.sources(ob)}
        self.collections = dependencies.collections(ob)
        # After resolving, which may have followed renames.
        _, self.lists = _lists_of(settings(ob))
        self._own_messages = [(chain.problem, chain.note) for chain in self.chains]

    def is_stale(self) -> bool:
        """Return whether a script changed a list, for which there is no notification."""
        own: Any = self.rig.object
        keys, lists = _lists_of(own.fabrik)
        return keys != self.keys or lists != self.lists

    def reread_lists(self) -> None:
        """Accept the lists as changed by deferred writes."""
        self.keys[:], self.lists = _lists_of(settings(self.rig.object))

    def reset_messages(self) -> None:
        """Reset problems and notes to those that concern this armature alone."""
        for chain, (problem, note) in zip(self.chains, self._own_messages, strict=True):
            chain.problem, chain.note, chain.is_late = problem, note, False
        for bone in self.pre_pass:
            bone.note, bone.is_late = "", False


def _pulled(rig: Skeleton, posed: set[int]) -> set[int]:
    """Return the bones that native IK poses together with posed ones.

    Blender's pose of these depends on the solution, so a chain that was solved from it would have
    another solution at each update.
    """
    chains: list[list[int]] = []
    for bone in pose_bones(rig.object):
        for con in bone.constraints:
            if con.type == "IK" and not con.mute:
                way = rig.chain_up(rig.index[bone.name])
                chains.append((way if con.use_tail else way[:-1])[-con.chain_count :])
    found, count = set(posed), -1
    while count < len(found):  # Blender solves chains that share bones together.
        count = len(found)
        found.update(*[chain for chain in chains if not found.isdisjoint(chain)])
    return found - posed


def _moved(rig: Skeleton, posed: set[int]) -> set[int]:
    """Return posed bones, those that follow them by foreseen constraints, and all below them."""
    following: dict[int, set[int]] = {}
    for bone in pose_bones(rig.object):
        constraints = active_constraints(bone) if bone.constraints else ()
        if constraints and all([is_predictable(con, on_bone=True) for con in constraints]):
            points = filter(None, map(constraint_point, constraints))
            sources = {point.bone for point in points if point.uid == rig.uid}
            following[rig.index[bone.name]] = sources
    found, count = rig.below(posed), -1
    while count < len(found):
        count = len(found)
        more = {bone for bone, sources in following.items() if not found.isdisjoint(sources)}
        found = rig.below(found | more) if more - found else found
    return found


def has_settings(ob: bpy.types.Object) -> bool:
    """Return whether an object has constraints, walks or others that the plan uses."""
    if ob.type != "ARMATURE" or ob.pose is None:
        return False
    own = settings(ob)
    return len(own.constraints) > 0 or bool(_lists_of(own)[1])


def _lists_of(own: FabrikSettings) -> tuple[list[int], dict[str, object]]:
    """Return the keys of the constraints, and the signatures of the other lists."""
    lists = {name: signature(own) for name, signature in LISTS.items() if getattr(own, name)}
    return keys_of(own), {name: used for name, used in lists.items() if used}
