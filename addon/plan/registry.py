"""The registry of features: their settings, motions, and hooks into planning and solving.

Neither plan nor frame imports a feature; they use what installed features register here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import bpy

from ..blender.errors import report_once
from ..blender.skeleton import Skeleton
from ..blender.updates import Updates
from ..settings import properties
from ..settings.definitions import TypedDefinition
from ..settings.properties import LISTS, SOLVER_ITEMS, FabrikConstraint, FabrikSettings
from .chain_plan import ChainKind, ChainPlan, Motion
from .pre_pass import PrePassBone


@dataclass(frozen=True, kw_only=True)
class Feature:
    """A feature's contributions to planning and solving.

    Attributes:
        groups: Its property groups, each after the groups that it contains.
        constraint: Definitions to add to constraints, by name.
        armature: Definitions to add to the settings of an armature, by name.
        motion: Its motion, or None if there is none.
        resolve: Completes the plan of a chain that reaches a target; raises `ProblemError` if the
            constraint is invalid.
        pre_pass: Takes all chains of an armature, which it may change; returns the pre-pass bones.
        lists: For each further list in an armature's settings, by its name: a function that returns
            a signature of what the plan uses from it.
        on_update: Called at each update, except for frame changes, while `needed` isn't empty.
        needed: What there is to update. The collection may change, but can't be replaced.
    """

    groups: Sequence[type[bpy.types.PropertyGroup]] = ()
    constraint: Mapping[str, TypedDefinition] = field(default_factory=dict)
    armature: Mapping[str, TypedDefinition] = field(default_factory=dict)
    motion: Motion | None = None
    resolve: Callable[[ChainPlan, FabrikConstraint], None] | None = None
    pre_pass: Callable[[Skeleton, Sequence[ChainPlan]], Iterable[PrePassBone]] | None = None
    lists: Mapping[str, Callable[[FabrikSettings], object]] = field(default_factory=dict)
    on_update: Callable[[Updates], None] | None = None
    needed: Collection[object] = (True,)


_motions: dict[str, Motion] = {}
"""The motions, by item of the Solver enum."""

SOLVER_NAMES: dict[int, str] = {}
"""The identifiers of all solvers, by number."""

UPDATED: list[tuple[Callable[[Updates], None], Collection[object]]] = []
"""`on_update` of all features that have it, each with `needed`."""

_installed: list[Feature] = []


def install(features: Sequence[Feature]) -> None:
    """Register features and all settings."""
    _installed.extend(features)
    constraint: dict[str, TypedDefinition] = {}
    armature: dict[str, TypedDefinition] = {}
    for feature in features:
        constraint |= feature.constraint
        armature |= feature.armature
        LISTS.update(feature.lists)
        if feature.on_update is not None:
            UPDATED.append((feature.on_update, feature.needed))
        if feature.motion is not None:
            SOLVER_ITEMS.append(feature.motion.solver)
            _motions[feature.motion.solver[0]] = feature.motion
    SOLVER_ITEMS.sort(key=lambda item: item[3])
    SOLVER_NAMES.update({number: name for name, _, _, number in SOLVER_ITEMS})
    groups = [group for feature in features for group in feature.groups]
    properties.register(groups, constraint, armature)


def uninstall() -> None:
    """Undo `install`."""
    properties.unregister()
    SOLVER_ITEMS[:] = [item for item in SOLVER_ITEMS if item[0] not in _motions]
    for table in (_motions, SOLVER_NAMES, LISTS):
        table.clear()
    for hooks in (UPDATED, _installed):
        hooks.clear()


def _resolve_reach(chain: ChainPlan, item: FabrikConstraint) -> None:
    """Let all features complete the plan of a chain that reaches a target.

    Raises:
        ProblemError: If a feature finds the constraint invalid.
    """
    for feature in _installed:
        if feature.resolve is not None:
            feature.resolve(chain, item)


REACH = ChainKind(resolve=_resolve_reach)
"""The kind of chains that one of the solver's methods bends to a target."""


def kind_of(solver: str) -> ChainKind:
    """Return the kind of chain for an item of the Solver enum."""
    return _motions.get(solver, REACH)


def pre_pass_of(rig: Skeleton, chains: Sequence[ChainPlan]) -> list[PrePassBone]:
    """Return the pre-pass bones of an armature; features may change its chains."""
    bones: list[PrePassBone] = []
    for feature in _installed:
        if feature.pre_pass is not None:
            try:
                bones += feature.pre_pass(rig, chains)
            except ReferenceError:
                raise
            except Exception:
                report_once(f"could not plan the pre-pass bones of “{rig.object.name}”")
    return bones
