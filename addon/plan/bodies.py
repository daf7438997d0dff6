"""Tie targets and poles to a body that is lifted as a whole, as by the ground.

The body's bones follow by parenting. Its targets and poles don't, though they were animated with
it. The lift is therefore added to them, unless something else holds them or they were placed in the
world.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from math import dist
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
from .deferred import draw_at

MOVING = {*KIND_OF, "delta_location", "delta_rotation_euler", "delta_rotation_quaternion"}
"""The channels that move an object or bone."""


def tie_to_bodies(units: Iterable[UnitPlan], chains: Iterable[ChainPlan]) -> None:
    """Set how targets and poles of chains belong to a body that a unit lifts."""
    lifting = [unit for unit in units if unit.lifts_body]
    hips: dict[Skeleton, dict[int, set[int]]] = {}
    for unit in lifting:
        hips.setdefault(unit.rig, {})[unit.bones[0]] = unit.rig.below({*unit.bones[:1]})
    for chain in chains:
        chain.target_tie = chain.pole_tie = None
        if chain.rig not in hips or not chain.bones:
            continue
        above = {hip: below for hip, below in hips[chain.rig].items() if chain.bones[-1] in below}
        target = chain.target if chain.goal_source is None else None  # Ground positions the others.
        chain.target_tie = _tie(chain.rig, above, target)
        chain.pole_tie = _tie(chain.rig, above, chain.pole)


def draw_where_they_act(chains: Iterable[ChainPlan]) -> None:
    """Draw targets at their chains' tips, and poles at the bent joints, if these are lifted.

    At their actual location, for example far below a foot on a stair, they would be hard to find.
    """
    for chain in chains:
        _draw_at(chain, chain.target, _shown_tip, _is_lifted(chain))
        _draw_at(chain, chain.pole, _bent_joint, chain.pole_tie is not None)


def _draw_at(
    chain: ChainPlan, point: Point | None, bone_of: Callable[[ChainPlan], int], is_lifted: bool
) -> None:
    if point is None or point.skeleton is not chain.rig or (bone := bone_of(chain)) < 0:
        return
    name = chain.rig.names[point.bone]
    posed: Any = pose_bones(chain.rig.object)[name]
    if posed.bone.fabrik_is_control and posed.custom_shape is not None:
        draw_at(chain.rig.object, name, chain.rig.names[bone], is_lifted)


def _is_lifted(chain: ChainPlan) -> bool:
    """Return whether a chain's goal may be lifted off its target, by a body or by a goal source."""
    source = chain.goal_source
    return chain.target_tie is not None or (source is not None and not source.replaces_target)


def _shown_tip(chain: ChainPlan) -> int:
    """Return the bone whose head is nearest to the tip of a chain, or -1 if there is none."""
    if not chain.bones or chain.tip_bone >= 0:
        return chain.tip_bone
    rig, last = chain.rig, chain.bones[-1]
    tail = (0.0, rig.bone(last).length, 0.0)
    return min(rig.children[last], key=lambda i: dist(rig.bone(i).head, tail), default=-1)


def _bent_joint(chain: ChainPlan) -> int:
    """Return the bone whose head is the middle joint of a chain, or -1 if there is none."""
    return chain.bones[len(chain.bones) // 2] if chain.bones else -1


def _tie(rig: Skeleton, hips: Mapping[int, set[int]], point: Point | None) -> Tie | None:
    """Return how a target or pole belongs to a body; None if it doesn't, or is part of it.

    The search follows its parents and native constraint targets up to the armature, or to objects
    added as controls. Controls belong to it only if they are animated like the body. Otherwise they
    were placed in the world.

    Args:
        rig: The armature.
        hips: The bones that lift one of its chains, with all bones below each.
        point: The target or pole.
    """
    if point is None:
        return None
    holds_by_hip: dict[int, tuple[Hold, ...]] = {}
    for hip, below in hips.items():
        holds = _holds(rig, hips, node_at(point), below)
        if holds is not None:
            holds_by_hip[hip] = holds
    if not holds_by_hip:
        return None
    return Tie(tuple(holds_by_hip), next(iter(holds_by_hip.values())))


def _holds(
    rig: Skeleton, hips: Iterable[int], start: Node, below: Collection[int]
) -> tuple[Hold, ...] | None:
    """Return a target's holds; None if it moves with some bones or isn't part of the body.

    Args:
        rig: The armature of the body.
        hips: The bones that lift the body.
        start: The target.
        below: The bones below the hips, with which it must not move.
    """
    body = rig.object
    holds_by_node: dict[Node, tuple[Hold, ...] | None] = {}

    def relations(node: Node) -> Iterator[Node]:
        if node != (body, -1):
            yield from parents(node)
            yield from (source for _, source in _tethers(node))

    for node in walk_dependencies([start], relations):
        if node == (body, -1):
            holds_by_node[node] = ()
        elif node[0] is body and node[1] in below:
            holds_by_node[node] = None
        else:
            holds_by_node[node] = _holds_of(node, holds_by_node)
    if (
        (body, -1) in holds_by_node
        or holds_by_node[start] is None
        or any(map(_moves, holds_by_node))
    ):
        return holds_by_node[start]
    lifted = walk_dependencies([(body, bone) for bone in hips], parents)
    return None if any(map(_moves, lifted)) else holds_by_node[start]


def _holds_of(
    node: Node, holds_by_node: Mapping[Node, tuple[Hold, ...] | None]
) -> tuple[Hold, ...] | None:
    ob, bone = node
    above = [holds_by_node.get(parent) for parent in parents(node)]
    if not above and not is_control(ob):
        return None
    name = skeleton_of(ob).names[bone] if bone >= 0 else ""
    holds = [
        Hold(ob, name, con.name)
        for con, source in _tethers(node)
        if holds_by_node.get(source) != ()
    ]
    for inherited in above:
        if inherited is None:
            return None
        holds += inherited
    return tuple(dict.fromkeys(holds))


def _tethers(node: Node) -> list[tuple[Any, Node]]:
    """Return a node's native constraints that have a target, each with its target."""
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
