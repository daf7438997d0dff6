"""Positions of new targets and poles that do not change the pose, and adding Empties there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import cos, dist, sin
from typing import Literal, cast

import bpy

from fabrik_solver import Chain, ChainInput, Frame, Posture, point_in
from fabrik_solver.core.bend import STRAIGHT, UNCLEAR, aimed_past, chain_axis, eased, swing_turn
from fabrik_solver.core.vectors import (
    ORIGIN,
    Vec,
    add,
    dot,
    length,
    rotate,
    rotate_about,
    scaled,
    sub,
    sum_of,
    unit,
)

from ..blender.access import pose_bones
from ..blender.errors import ProblemError
from ..blender.limbs import next_joint
from ..blender.skeleton import skeleton_of, vector
from ..settings.properties import settings


def tip_world(armature: bpy.types.Object, bone: str) -> tuple[Vec, float]:
    """Return the current end of a bone, and its length, in world space."""
    rig = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    skeleton, bones = skeleton_of(armature), pose_bones(rig)
    after = next_joint(skeleton, skeleton.index[bone])
    tip = rig.matrix_world @ (bones[bone].tail if after < 0 else bones[after].head)
    return vector(tip), (tip - rig.matrix_world @ bones[bone].head).length


def pole_world(given: ChainInput, posture: Posture, world: Frame) -> tuple[Vec, float]:
    """Return a position of a pole that does not change a solved chain, and the chain's length.

    It is at one chain length from the middle of the chain, on the side to which the joints bend
    from the line from root to target.

    Args:
        given: The chain under its FK pose.
        posture: The chain solved at full influence.
        world: The armature's frame in world space.

    Raises:
        ProblemError: If the chain has only one bone, or no length.
    """
    solved = [vector(joint) for joint in posture.solution.joints]
    if len(solved) < 3:
        raise ProblemError("A single bone can't bend: a pole needs a chain of at least two bones")
    if given.limb is not None and len(given.joints) > len(solved):
        given = given.limb  # With an oriented tip bone only the bones before it bend.
    root, size = solved[0], size_of(solved)
    if size == 0.0:
        raise ProblemError(
            "The chain has zero length and can't bend toward a pole: change its bones' scale"
        )
    joints = in_lengths(solved)
    axis = unit(sub(vector(posture.goal.target), root)) or chain_axis(joints)
    bend = _bend_of_solved(given.chain, solved, axis)
    side, turn = unit(bend) or bend, aim_past(bend)
    middle = scaled(sum_of(joints[1:-1]), 1.0 / (len(joints) - 2))
    aside = scaled(rotate_about(side, axis, cos(turn), sin(turn)), dot(middle, side) + 1.0)
    out = add(scaled(axis, dot(middle, axis)), aside)
    root_world, pole, end = (
        point_in(world, add(root, scaled(offset, size))) for offset in (ORIGIN, out, axis)
    )
    return pole, length(sub(end, root_world))


def _bend_of_solved(chain: Chain, joints: Sequence[Vec], axis: Vec) -> Vec:
    """Return the side to which a solved chain bends, or will bend if it is straight.

    It is shorter the less clear it is.

    Args:
        chain: The chain in its FK pose.
        joints: The solved joints.
        axis: The unit vector to the target.
    """
    bend, side, _ = chain.bending()
    turn = swing_turn(chain.axis, unit(bend) or side, axis, 1.0)
    if not chain.is_known and Chain(tuple(joints)).aside < STRAIGHT:
        return rotate(turn, bend if unit(bend) else side)
    return chain.bend_of_moved(chain.moved_to(joints), axis, turn)[0]


def side_of_bend(chain: Chain) -> Vec:
    """Return the unit vector to the side to which a chain bends, or would bend if straight."""
    bend, side, _ = chain.bending()
    return unit(bend) or side


def aim_past(bend: Vec) -> float:
    """Return the angle about its axis from the bend of a chain to a pole that it then faces.

    A chain that bends to both sides, so that its bend is unclear, aims past its pole.

    Args:
        bend: The side to which it bends, shorter the less clear it is.
    """
    return -aimed_past(eased(length(bend) / UNCLEAR))


def in_lengths(joints: Sequence[Vec]) -> list[Vec]:
    """Return the joints relative to the root, divided by the length of the chain."""
    size = size_of(joints)
    return [scaled(sub(joint, joints[0]), 1.0 / size) for joint in joints]


def size_of(joints: Sequence[Vec]) -> float:
    """Return the length of a chain, given its joints."""
    return sum(dist(a, b) for a, b in pairwise(joints))


def new_empty(
    armature: bpy.types.Object,
    name: str,
    place: Vec,
    size: float,
    display: Literal["CUBE", "SPHERE"],
) -> bpy.types.Object:
    """Add an Empty that is a control of an armature to its collection, at a place in the world."""
    empty = bpy.data.objects.new(name, None)
    empty.empty_display_type = display
    empty.empty_display_size = max(size, 1e-3)
    empty.show_in_front = True
    empty.location = place
    settings(empty).is_control = True
    link_beside(empty, armature)
    return empty


def link_beside(ob: bpy.types.Object, other: bpy.types.Object) -> None:
    """Link an object to the first editable collection that holds another object.

    It is one of the scene, and one that the view layer shows if there is any. Blender links nothing
    to a collection that is linked or overrides one, though it calls the latter editable.
    """
    scene = cast(bpy.types.Scene, bpy.context.scene)
    mine = {scene.collection, *scene.collection.children_recursive}
    homes = [home for home in other.users_collection if home in mine and _takes_objects(home)]
    layer = cast(bpy.types.ViewLayer, bpy.context.view_layer)
    shown = {one.collection for one in _shown_collections(layer.layer_collection)}
    homes.sort(key=lambda home: home not in shown)
    (homes[0] if homes else scene.collection).objects.link(ob)


def _takes_objects(home: bpy.types.Collection) -> bool:
    return home.is_editable and home.override_library is None


def _shown_collections(top: bpy.types.LayerCollection) -> Iterator[bpy.types.LayerCollection]:
    """Yield a collection of a view layer and those in it, as far as they are shown."""
    if not (top.exclude or top.hide_viewport or top.collection.hide_viewport):
        yield top
        for child in top.children:
            yield from _shown_collections(child)
