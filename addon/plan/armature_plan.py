"""The part of the plan that concerns a single armature: its resolved constraints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import bpy

from ..blender.animation import is_animated
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
        moved: The posed bones and their descendants.
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
        self.moved = rig.below(self.posed)
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
        self.lists = _list_signatures(
            settings(ob)
        )  # After resolving, which may have followed renames.
        self._own_messages = [(chain.problem, chain.note) for chain in self.chains]

    def is_stale(self) -> bool:
        """Return whether a script changed a list, for which there is no notification."""
        own = settings(self.rig.object)
        return keys_of(own) != self.keys or _list_signatures(own) != self.lists

    def reread_lists(self) -> None:
        """Accept the lists as changed by deferred writes."""
        own = settings(self.rig.object)
        self.keys[:] = keys_of(own)
        self.lists = _list_signatures(own)

    def reset_messages(self) -> None:
        """Reset problems and notes to those that concern this armature alone."""
        for chain, (problem, note) in zip(self.chains, self._own_messages, strict=True):
            chain.problem, chain.note, chain.is_late = problem, note, False


def has_settings(ob: bpy.types.Object) -> bool:
    """Return whether an object has constraints or walks."""
    if ob.type != "ARMATURE" or ob.pose is None:
        return False
    return any(len(getattr(settings(ob), name)) > 0 for name in ("constraints", *LISTS))


def _list_signatures(own: FabrikSettings) -> dict[str, object]:
    return {
        name: signature(own) for name, signature in LISTS.items() if len(getattr(own, name)) > 0
    }
