"""The ground of a constraint, resolved to objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import bpy

from ...chain_plan import ChainPlan, ProblemError
from ..rays import Source, ground_of, moves_with
from .footing import Footing

if TYPE_CHECKING:
    from ...properties import FabrikConstraint
    from .settings import FabrikGround


def resolve_ground(chain: ChainPlan, item: FabrikConstraint) -> None:
    """Let a chain stand on the ground, if it is to.

    Raises:
        ProblemError: If there is no ground.
    """
    given = item.ground
    if not given.use:
        return
    armature = chain.rig.object
    objects = _objects(armature, given)
    source = cast(Source, given.source)
    chain.goal_source = Footing(ground_of(source, given.object, given.collection, armature))
    chain.is_timed = True
    chain.watched += objects
    differing = [ob.name for ob in objects if ob.hide_viewport and not ob.hide_render]
    if differing and not chain.note:
        chain.note = (
            f"“{differing[0]}” is disabled in viewports and not in renders, so that the foot "
            "stands on it only there: enable it, and hide it by its eye in the Outliner"
        )


def _objects(armature: bpy.types.Object, given: FabrikGround) -> list[bpy.types.Object]:
    """Return the meshes that count as ground.

    Raises:
        ProblemError: If there are none, or one cannot be.
    """
    if given.source == "SCENE":
        meshes = [ob for s in armature.users_scene for ob in s.objects if ob.type == "MESH"]
        return [ob for ob in meshes if not moves_with(ob, armature)]
    if given.source == "COLLECTION":
        if given.collection is None:
            raise ProblemError("There is no ground: choose the collection that the foot stands on")
        meshes = [ob for ob in given.collection.all_objects if ob.type == "MESH"]
        if not meshes:
            raise ProblemError(
                f"There is no mesh in the collection “{given.collection.name}”: put the ground "
                "into it, or choose another one"
            )
        return meshes
    ob = given.object
    if ob is None:
        raise ProblemError("There is no ground: choose the object that the foot stands on")
    if ob.type != "MESH":
        raise ProblemError(f"“{ob.name}” is no mesh to stand on: choose one that is")
    if moves_with(ob, armature):
        raise ProblemError(
            f"“{ob.name}” moves with the armature itself and is no ground to it: choose another one"
        )
    return [ob]
