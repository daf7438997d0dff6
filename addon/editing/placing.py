"""Locations for new targets and poles that keep the pose, and adding Empties there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import dist
from typing import Literal, cast

import bpy

from fabrik_solver import Chain, ChainInput, Frame, Posture, point_in
from fabrik_solver.core.bend import STRAIGHT, chain_axis, swing_turn
from fabrik_solver.core.vectors import (
    ORIGIN,
    Vec,
    add,
    dot,
    length,
    rotate,
    scaled,
    sub,
    sum_of,
    unit,
)

from ..blender.access import pose_bones
from ..blender.errors import ProblemError
from ..blender.skeleton import skeleton_of, vector
from ..body.chains import next_joint
from ..settings.properties import settings


def tip_world(armature: bpy.types.Object, bone: str) -> tuple[Vec, float]:
    """Return the current end of a bone, and the bone's length, in world space."""
    rig = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    skeleton, bones = skeleton_of(armature), pose_bones(rig)
    next_bone = next_joint(skeleton, skeleton.index[bone])
    tip = rig.matrix_world @ (bones[bone].tail if next_bone < 0 else bones[next_bone].head)
    return vector(tip), (tip - rig.matrix_world @ bones[bone].head).length


def pole_world(chain_input: ChainInput, posture: Posture, world: Frame) -> tuple[Vec, float]:
    """Return a pole location that doesn't change a solved chain, and the chain's length.

    It is one chain length from the middle of the chain, in the direction in which the joints bend.

    Args:
        chain_input: The chain in its FK pose.
        posture: The chain solved at full influence.
        world: The armature's frame in world space.

    Raises:
        ProblemError: If the chain has only one bone, or no length.
    """
    solved = [vector(joint) for joint in posture.solution.joints]
    if len(solved) < 3:
        raise ProblemError("A single bone can't bend: a pole needs a chain of at least two bones")
    if chain_input.limb is not None and len(chain_input.joints) > len(solved):
        chain_input = chain_input.limb  # An oriented tip bone doesn't bend.
    root, size = solved[0], size_of(solved)
    if size == 0.0:
        raise ProblemError(
            "The chain has zero length and can't bend toward a pole: change its bones' scale"
        )
    joints = in_lengths(solved)
    axis = unit(sub(vector(posture.goal.target), root)) or chain_axis(joints)
    bend = _bend_of_solved(chain_input.chain, solved, axis)
    side = unit(bend) or bend
    middle = scaled(sum_of(joints[1:-1]), 1.0 / (len(joints) - 2))
    sideways = scaled(side, dot(middle, side) + 1.0)
    pole_offset = add(scaled(axis, dot(middle, axis)), sideways)
    root_world, pole, end = (
        point_in(world, add(root, scaled(offset, size))) for offset in (ORIGIN, pole_offset, axis)
    )
    return pole, length(sub(end, root_world))


def _bend_of_solved(chain: Chain, joints: Sequence[Vec], axis: Vec) -> Vec:
    """Return the direction in which a solved chain bends, or will bend if straight.

    The less clear the direction, the shorter the vector.

    Args:
        chain: The chain in its FK pose.
        joints: The solved joints.
        axis: The unit vector to the target.
    """
    bend, side, _ = chain.bending()
    turn = swing_turn(chain.axis, unit(bend) or side, axis, 1.0)
    if not chain.is_known and Chain(tuple(joints)).deviation < STRAIGHT:
        return rotate(turn, bend if unit(bend) else side)
    return chain.bend_of_moved(chain.moved_to(joints), axis, turn)[0]


def side_of_bend(chain: Chain) -> Vec:
    """Return the unit direction in which a chain bends, or would bend if straight."""
    bend, side, _ = chain.bending()
    return unit(bend) or side


def in_lengths(joints: Sequence[Vec]) -> list[Vec]:
    """Return the joints relative to the root, divided by the length of the chain."""
    size = size_of(joints)
    return [scaled(sub(joint, joints[0]), 1.0 / size) for joint in joints]


def size_of(joints: Sequence[Vec]) -> float:
    """Return the length of a chain from its joints."""
    return sum(dist(a, b) for a, b in pairwise(joints))


def new_empty(
    armature: bpy.types.Object,
    name: str,
    location_world: Vec,
    size: float,
    display: Literal["CUBE", "SPHERE"],
) -> bpy.types.Object:
    """Add an Empty as a control of an armature, in the armature's collection.

    Args:
        armature: The armature.
        name: The name of the Empty.
        location_world: Its location in world space.
        size: Its size.
        display: How it is displayed.
    """
    empty = bpy.data.objects.new(name, None)
    empty.empty_display_type = display
    empty.empty_display_size = max(size, 1e-3)
    empty.show_in_front = True
    empty.location = location_world
    settings(empty).is_control = True
    link_beside(empty, armature)
    return empty


def parent_to(ob: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Make an object without a parent move with an armature, from its current place."""
    ob.parent = armature
    ob.matrix_parent_inverse = armature.matrix_world.inverted_safe()


def link_beside(ob: bpy.types.Object, other: bpy.types.Object) -> None:
    """Link an object to the first editable collection of another object.

    The collection must be in the scene, and should be visible in the view layer. Blender can't link
    objects to linked or overriding collections, though it calls overriding ones editable.
    """
    scene = cast(bpy.types.Scene, bpy.context.scene)
    valid = {scene.collection, *scene.collection.children_recursive}
    groups = [group for group in other.users_collection if group in valid and _takes_objects(group)]
    layer = cast(bpy.types.ViewLayer, bpy.context.view_layer)
    visible = {child.collection for child in _shown_collections(layer.layer_collection)}
    groups.sort(key=lambda group: group not in visible)
    (groups[0] if groups else scene.collection).objects.link(ob)


def _takes_objects(group: bpy.types.Collection) -> bool:
    return group.is_editable and group.override_library is None


def _shown_collections(top: bpy.types.LayerCollection) -> Iterator[bpy.types.LayerCollection]:
    """Yield a view layer's collection and its descendants, as far as they are visible."""
    if not (top.exclude or top.hide_viewport or top.collection.hide_viewport):
        yield top
        for child in top.children:
            yield from _shown_collections(child)
