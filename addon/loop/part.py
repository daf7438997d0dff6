"""What a plan knows of one armature by itself: its constraints, resolved, and what they pose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import bpy

from ..blender.animation import is_animated
from ..blender.skeleton import Skeleton, skeleton_of
from . import dependencies, keeping
from .chain_plan import ChainPlan
from .fk_pose import FkReader
from .pre_pass import PrePassBone
from .properties import FabrikSettings, keys_of, settings
from .registry import LISTS, pre_pass_of
from .resolving import resolved
from .write import PoseWriter


@dataclass(eq=False, slots=True)
class Part:
    """One armature, until something changes that its constraints were resolved from.

    Attributes:
        rig: The armature.
        keys: The keys of its constraints, in the list's order.
        lists: What it is made of besides, by the name of the list (see `Feature`).
        chains: Its constraints, in the list's order.
        pre_pass: The bones that are posed before them.
        slots: The slots (see `KINDS`) that chains pose.
        posed: The bones that they pose.
        moved: The bones that are posed, or hang on a posed bone.
        names: What is posed: names of bones, each with a place in `KINDS`.
        is_animated: Whether Blender may change its channels and settings at any frame.
        reader: What reads it at each update.
        writer: What writes it.
        blocks: The names of the object and of its data.
        uids: The numbers of both, which are known even when they are gone.
        sources: The objects that its constraints and walks name.
        collections: The collections that they name.
    """

    rig: Skeleton
    keys: list[int]
    lists: dict[str, object] = field(init=False)
    chains: list[ChainPlan] = field(init=False)
    pre_pass: list[PrePassBone] = field(init=False)
    slots: set[int] = field(init=False)
    posed: set[int] = field(init=False)
    moved: set[int] = field(init=False)
    names: set[tuple[str, int]] = field(init=False)
    is_animated: bool = field(init=False)
    reader: FkReader = field(init=False)
    writer: PoseWriter = field(init=False)
    blocks: tuple[str, str] = field(init=False)
    uids: tuple[int, int] = field(init=False)
    sources: set[int] = field(init=False)
    collections: list[bpy.types.Collection] = field(init=False)
    _said: list[tuple[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        """Resolve the constraints."""
        rig, ob = self.rig, self.rig.object
        self.chains = [resolved(rig, i) for i in range(len(self.keys))]
        self.pre_pass = pre_pass_of(rig, self.chains)
        members = (*self.pre_pass, *self.chains)
        self.slots = {slot for member in members for slot in (*member.bones, *member.more)}
        self.posed = {slot % len(rig.names) for slot in self.slots}
        self.moved = rig.below(self.posed)
        count = len(rig.names)
        self.names = {(rig.names[slot % count], slot // count) for slot in self.slots}
        asked = {bone for chain in self.chains for _, bone in chain.joints.asked}
        tips = {chain.tip_bone for chain in self.chains if chain.tip_bone >= 0}
        self.is_animated = is_animated(ob)
        self.reader = FkReader(rig, self.slots, asked, tips)
        self.writer = PoseWriter(rig, self.reader.rows, bool(self.slots))
        data = cast(bpy.types.ID, ob.data)
        self.blocks = (ob.name, data.name)
        self.uids = (rig.uid, data.session_uid)
        self.sources = {source.session_uid for source, _ in dependencies.sources(ob)}
        self.collections = dependencies.collections(ob)
        self.lists = _lists_of(settings(ob))  # What they name may have followed new names.
        self._said = [(chain.problem, chain.note) for chain in self.chains]

    def is_stale(self) -> bool:
        """Return whether a script changed a list, which Blender tells nobody."""
        own = settings(self.rig.object)
        return keys_of(own) != self.keys or _lists_of(own) != self.lists

    def look_again(self) -> None:
        """Take in what was written of the lists to keep what planning found out."""
        own = settings(self.rig.object)
        self.keys[:] = keys_of(own)
        self.lists = _lists_of(own)

    def start(self) -> None:
        """Forget what was said of the constraints for what they have to do with others."""
        for chain, (problem, note) in zip(self.chains, self._said, strict=True):
            chain.problem, chain.note, chain.is_late = problem, note, False


def part_of(armature: bpy.types.Object) -> Part:
    """Resolve the constraints of an armature object that has settings."""
    keeping.note_new(armature)
    return Part(skeleton_of(armature), keys_of(settings(armature)))


def has_settings(ob: bpy.types.Object) -> bool:
    """Return whether an object has constraints or walks."""
    if ob.type != "ARMATURE" or ob.pose is None:
        return False
    return any(len(getattr(settings(ob), name)) > 0 for name in ("constraints", *LISTS))


def _lists_of(own: FabrikSettings) -> dict[str, object]:
    return {name: told(own) for name, told in LISTS.items() if len(getattr(own, name)) > 0}
