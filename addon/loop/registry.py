"""What features add to constraints: settings, motions, and parts of planning and solving.

The loop knows no feature. It asks here for what those that are installed bring along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import bpy

from ..blender.errors import contained
from ..blender.skeleton import Skeleton
from . import properties
from .chain_plan import ChainPlan, Motion
from .pre_pass import PrePassBone
from .properties import SOLVER_ITEMS, FabrikConstraint, FabrikSettings
from .property_kinds import Definition


@dataclass(frozen=True, kw_only=True)
class Feature:
    """One feature, as the loop sees it.

    Attributes:
        groups: Its classes of settings, each after those that it holds.
        constraint: The properties that constraints get, by name.
        armature: Those that the settings of an armature get.
        motion: What poses chains instead of a solver that reaches, if it brings that.
        resolve: Completes the plan of a chain that reaches; raises `ProblemError` if that cannot
            work.
        pre_pass: Returns the bones that are posed ahead of the chains that hang on them, given an
            armature and all of its chains, which it may change.
        lists: By the name of a list that an armature has beside that of its constraints, what of it
            the plan is made of, as something that is compared.
        on_update: Is called for each update but those that only change the frame.
    """

    groups: Sequence[type[bpy.types.PropertyGroup]] = ()
    constraint: Mapping[str, Definition] = field(default_factory=dict)
    armature: Mapping[str, Definition] = field(default_factory=dict)
    motion: Motion | None = None
    resolve: Callable[[ChainPlan, FabrikConstraint], None] | None = None
    pre_pass: Callable[[Skeleton, Sequence[ChainPlan]], Iterable[PrePassBone]] | None = None
    lists: Mapping[str, Callable[[FabrikSettings], object]] = field(default_factory=dict)
    on_update: Callable[[bpy.types.Depsgraph], None] | None = None


MOTIONS: dict[str, Motion] = {}
"""What poses chains instead of a solver that reaches, by solver."""

SOLVER_NAMES: dict[int, str] = {}
"""All solvers by their numbers."""

LISTS: dict[str, Callable[[FabrikSettings], object]] = {}
"""The lists that armatures have beside that of constraints (see `Feature`)."""

_installed: list[Feature] = []


def install(features: Sequence[Feature]) -> None:
    """Take the features in, and give armatures their settings."""
    _installed.extend(features)
    constraint: dict[str, Definition] = {}
    armature: dict[str, Definition] = {}
    for feature in features:
        constraint |= feature.constraint
        armature |= feature.armature
        LISTS.update(feature.lists)
        if feature.motion is not None:
            SOLVER_ITEMS.append(feature.motion.solver)
            MOTIONS[feature.motion.solver[0]] = feature.motion
    SOLVER_ITEMS.sort(key=lambda item: item[3])
    SOLVER_NAMES.update({number: name for name, _, _, number in SOLVER_ITEMS})
    groups = [group for feature in features for group in feature.groups]
    properties.register(groups, constraint, armature)


def uninstall() -> None:
    """Undo `install`."""
    properties.unregister()
    SOLVER_ITEMS[:] = [item for item in SOLVER_ITEMS if item[0] not in MOTIONS]
    for table in (MOTIONS, SOLVER_NAMES, LISTS):
        table.clear()
    _installed.clear()


def resolve_reach(chain: ChainPlan, item: FabrikConstraint) -> None:
    """Let all features complete the plan of a chain that reaches.

    Raises:
        ProblemError: If one of them cannot work.
    """
    for feature in _installed:
        if feature.resolve is not None:
            feature.resolve(chain, item)


def pre_pass_of(rig: Skeleton, chains: Sequence[ChainPlan]) -> list[PrePassBone]:
    """Return the pre-pass bones of an armature, given its chains, which features may change."""
    found: list[PrePassBone] = []
    for feature in _installed:
        if feature.pre_pass is not None:
            with contained(f"could not plan what carries the legs of “{rig.object.name}”"):
                found += feature.pre_pass(rig, chains)
    return found


def note_update(depsgraph: bpy.types.Depsgraph) -> None:
    """Tell all features of an update."""
    for feature in _installed:
        if feature.on_update is not None:
            feature.on_update(depsgraph)
