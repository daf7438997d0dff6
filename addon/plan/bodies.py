"""Which targets and poles belong to a body that is lifted as a whole, as by the ground.

Its own bones are carried along. What its chains reach for is not, but was animated together with
them: targets and poles go along, unless they are held by something else or placed in the world.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from ..blender import animation
from ..blender.access import pose_bones
from ..blender.curves import split_bone_path
from ..blender.references import constraint_sources
from ..blender.relations import Node, node_at, parents, walk_dependencies
from ..blender.rotation import KIND_OF
from ..blender.skeleton import Point, Skeleton, skeleton_of
from ..settings.properties import is_control
from .chain_plan import ChainPlan, Hold, Tie, UnitPlan

MOVING = {*KIND_OF, "delta_location", "delta_rotation_euler", "delta_rotation_quaternion"}
"""The channels that move an object or bone."""


def tie_to_bodies(units: Iterable[UnitPlan], chains: Iterable[ChainPlan]) -> None:
    """Set which targets and poles of chains belong to a body that a unit lifts."""
    lifting = [unit for unit in units if unit.lifts_body]
    hips: dict[Skeleton, dict[int, set[int]]] = {}
    for unit in lifting:
        hips.setdefault(unit.rig, {})[unit.bones[0]] = unit.rig.below({*unit.bones[:1]})
    for chain in chains:
        chain.target_tie = chain.pole_tie = None
        if chain.rig not in hips or not chain.bones:
            continue
        above = {hip: below for hip, below in hips[chain.rig].items() if chain.bones[-1] in below}
        body = _Body(chain.rig, above)
        # What stands on the ground is placed there.
        chain.target_tie = body.tie(chain.target) if chain.goal_source is None else None
        chain.pole_tie = body.tie(chain.pole)


class _Body:
    """An armature with the bones that lift a chain of it, and all bones below each of them."""

    def __init__(self, rig: Skeleton, hips: dict[int, set[int]]) -> None:
        self._rig = rig
        self._hips = hips

    def tie(self, point: Point | None) -> Tie | None:
        """Return how a target or pole belongs to the body; None if it does not, or is part of it.

        Its parents and those of Blender's constraints that have a target are followed up to the
        armature, or to objects that were added as controls: these only if they are animated as the
        body is, else they were placed in the world.
        """
        if point is None or not self._hips:
            return None
        found: dict[int, tuple[Hold, ...]] = {}
        for hip, below in self._hips.items():
            holds = self._holds(node_at(point), below)
            if holds is not None:
                found[hip] = holds
        if not found:
            return None
        return Tie(tuple(found), next(iter(found.values())))

    def _holds(self, start: Node, below: Collection[int]) -> tuple[Hold, ...] | None:
        """Return what holds a target, None if it moves with some bones or is not of the body."""
        body = self._rig.object
        found: dict[Node, tuple[Hold, ...] | None] = {}

        def relations(node: Node) -> Iterator[Node]:
            if node != (body, -1):
                yield from parents(node)
                yield from (source for _, source in _tethers(node))

        for node in walk_dependencies([start], relations):
            if node == (body, -1):
                found[node] = ()
            elif node[0] is body and node[1] in below:
                found[node] = None
            else:
                found[node] = self._holds_of(node, found)
        if (body, -1) in found or found[start] is None or any(map(_moves, found)):
            return found[start]
        hips = [(body, bone) for bone in self._hips]
        return None if any(map(_moves, walk_dependencies(hips, parents))) else found[start]

    def _holds_of(
        self, node: Node, found: dict[Node, tuple[Hold, ...] | None]
    ) -> tuple[Hold, ...] | None:
        ob, bone = node
        above = [found.get(parent) for parent in parents(node)]
        if not above and not is_control(ob):
            return None
        name = skeleton_of(ob).names[bone] if bone >= 0 else ""
        holds = [
            Hold(ob, name, con.name) for con, source in _tethers(node) if found.get(source) != ()
        ]
        for one in above:
            if one is None:
                return None
            holds += one
        return tuple(dict.fromkeys(holds))


def _tethers(node: Node) -> list[tuple[Any, Node]]:
    """Return Blender's constraints of a node that have a target, each with it."""
    ob, bone = node
    owner: Any = ob if bone < 0 else pose_bones(ob)[skeleton_of(ob).names[bone]]
    tethers = [con for con in owner.constraints if not con.mute]
    return [(con, source) for con in tethers for source in constraint_sources(con)]


def _moves(node: Node) -> bool:
    """Return whether animation sets the transform of an object or bone."""
    ob, bone = node
    name = skeleton_of(ob).names[bone] if bone >= 0 else ""
    channels = animation.animated(ob)
    paths = {path for path, _ in channels.keyed | channels.driven}
    split = [(path, *split_bone_path(path)) for path in paths]
    return any(owner == name and (channel or path) in MOVING for path, owner, channel in split)
