"""A chain that hangs between its root and its target."""

from __future__ import annotations

from math import dist
from typing import Annotated, Any, Literal, NamedTuple, cast

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, PointerProperty

from ...blender.errors import ProblemError
from ...blender.skeleton import Point, vector
from ...blender.surface import Surface, surface_of
from ...core import ChainInput, Frame, Goal, Stretch, point_in, pose_chain
from ...core.vectors import Vec, add, cross, dot, length, mat_apply, mat_columns, scaled, unit
from ...loop.chain_plan import ChainPlan, ChainPose, Motion, Scenery, Snapshot
from ...loop.explain import explanation
from ...loop.joints import Joints
from ...loop.properties import FabrikConstraint
from ...loop.property_kinds import animated, fixed
from ...loop.property_values import now
from ...loop.results import Report
from ...motion.rope import Rest, hanging_side, pose_rope
from ...motion.rope_collision import on_plane, on_surface

STRAIGHTENING = 20
"""The most sweeps for a rope that stretches; being straight, it needs none."""

STRAIGHT_DOWN: Vec = (0.0, 0.0, -1.0)

COLLISION_ITEMS = (
    ("NONE", "None", "No collision: hang freely", 0),
    ("PLANE", "Plane", "Rest on the XY plane of an object, on the side of its Z axis", 1),
    (
        "MESH",
        "Mesh",
        "Rest on the evaluated mesh of an object. The rope is lifted out of it against gravity",
        2,
    ),
)


class FabrikRope(bpy.types.PropertyGroup):
    """How a chain that hangs between its root and its target moves."""

    use_scene_gravity: Annotated[
        bool,
        fixed(
            BoolProperty,
            "Scene Gravity",
            "Use the direction of the scene's gravity instead of straight down",
            default=False,
        ),
    ]
    collision: Annotated[
        Literal["NONE", "PLANE", "MESH"],
        fixed(
            EnumProperty,
            "Collision",
            "What the rope collides with",
            items=COLLISION_ITEMS,
            default="NONE",
        ),
    ]
    collision_object: Annotated[
        bpy.types.Object | None,
        fixed(
            PointerProperty,
            "Object",
            "Object whose XY plane or mesh the rope rests on",
            type=bpy.types.Object,
        ),
    ]
    thickness: Annotated[
        float,
        animated(
            FloatProperty,
            "Thickness",
            "Radius of the rope: distance of its joints from the collision surface",
            default=0.0,
            min=0.0,
            soft_max=1.0,
            subtype="DISTANCE",
        ),
    ]


def rope_of(item: FabrikConstraint) -> FabrikRope:
    """Return how the chain of a constraint hangs."""
    return cast(Any, item).rope


class Hanging(NamedTuple):
    """What a rope depends on besides its chain and its ends, all in world space.

    Attributes:
        down: The direction of gravity, of length 1.
        plane: A point of the plane on which it rests and its normal of length 1, if it does.
        surface: The mesh on which it lies, if it does.
        thickness: How far above these the joints stay.
        stretch: How far its bones may grow, and whether they become thinner; None if they do not.
    """

    down: Vec
    plane: tuple[Vec, Vec] | None
    surface: Surface | None
    thickness: float
    stretch: tuple[float, bool] | None


def _resolve(chain: ChainPlan, item: FabrikConstraint) -> None:
    rope = rope_of(item)
    chain.joints = Joints()  # Ropes know no limits.
    if item.use_stretch:
        chain.let_grow()
    # No armature is told when gravity changes.
    chain.is_timed = rope.use_scene_gravity
    if rope.collision == "NONE":
        return
    ob = rope.collision_object
    if ob is None:
        raise ProblemError(
            "There is no collision object: choose an Object, or set Collision to None"
        )
    if ob == chain.rig.object:
        raise ProblemError(
            f"“{ob.name}” cannot collide with itself: choose another Object for the collision"
        )
    if rope.collision == "MESH" and ob.type != "MESH":
        raise ProblemError(
            f"“{ob.name}” is not a mesh: choose a mesh object, or set Collision to Plane"
        )
    chain.watched.append(ob)
    chain.places.append(Point(ob))


def _read(snapshot: Snapshot, chain: ChainPlan) -> Hanging:
    rope = now(rope_of(snapshot.item(chain)))
    down = STRAIGHT_DOWN
    scene = cast(bpy.types.Scene, snapshot.depsgraph.scene)
    if rope.use_scene_gravity and scene.use_gravity:
        down = unit(vector(scene.gravity)) or STRAIGHT_DOWN
    plane = surface = None
    if chain.places:
        world = snapshot.place(chain.places[0])
        ob = chain.places[0].object
        if rope.collision == "PLANE":
            plane = _plane_of(ob, world)
        else:
            surface = surface_of(snapshot.depsgraph, ob, world)
    item = snapshot.poses[chain.rig.uid].settings[chain.item]
    stretch = (item.stretch_max, item.use_volume) if chain.stretches else None
    return Hanging(down, plane, surface, rope.thickness, stretch)


def _plane_of(ob: bpy.types.Object, world: Frame) -> tuple[Vec, Vec]:
    x, y, z = mat_columns(world[0])
    normal = unit(cross(x, y))
    if normal is None:
        raise ProblemError(f"“{ob.name}” has zero scale and therefore no plane: change its scale")
    return world[1], normal if dot(normal, z) >= 0.0 else scaled(normal, -1.0)


def _pose(chain: ChainInput, scenery: Scenery, extra: object) -> ChainPose:
    hanging = cast(Hanging, extra)
    target = point_in(scenery.to_armature, scenery.target)
    influence, tolerance = scenery.influence, scenery.tolerance
    stretch = hanging.stretch
    if stretch and dist(chain.root, target) > chain.chain.scale:
        posture = pose_chain(
            chain,
            Goal(target),
            "FABRIK",
            STRAIGHTENING,
            tolerance,
            influence,
            None,
            Stretch(*stretch),
        )
    else:
        down = _level(scenery.world, hanging.down)
        rest = _rest(chain, scenery, hanging, (target, down))
        posture = pose_rope(chain, target, down, rest, influence, tolerance)
    error = dist(point_in(scenery.world, posture.tip), scenery.target)
    message = "" if posture.state == "REACHED" else explanation(posture, stretch is not None)
    return ChainPose(
        posture, Report(posture.state, round(error, 6), posture.solution.iterations_used, message)
    )


def _rest(
    chain: ChainInput, scenery: Scenery, hanging: Hanging, ends: tuple[Vec, Vec]
) -> Rest | None:
    """Return what brings the rope out of what it rests on, None if it hangs freely.

    Args:
        chain: The bones and their FK pose.
        scenery: Where they are.
        hanging: What the rope rests on.
        ends: The target, and the direction of gravity, in armature space.
    """
    target, down = ends
    side = hanging_side(chain)
    world = scenery.world
    if hanging.plane is not None:
        point, normal = hanging.plane
        above = add(point, scaled(normal, hanging.thickness))
        plane = point_in(scenery.to_armature, above), _level(world, normal)
        return lambda joints, lengths: on_plane(joints, lengths, target, plane, side)
    if hanging.surface is not None:
        solid = hanging.surface.seen_from(world)
        thickness = hanging.thickness / length(mat_apply(world[0], down))
        return lambda joints, lengths: on_surface(
            joints, lengths, target, solid, down, side, thickness
        )
    return None


def _level(world: Frame, normal: Vec) -> Vec:
    """Return what is at right angles, in the space of a frame, to what a world direction is.

    Planes are turned by the transposed matrix, unlike lines, where the frame is scaled unevenly.
    """
    x, y, z = mat_columns(world[0])
    turned = unit((dot(x, normal), dot(y, normal), dot(z, normal)))
    if turned is None:
        raise ValueError("the armature has no finite axes")
    return turned


MOTION = Motion(
    solver=("ROPE", "Rope", "Hang between the root and the target", 5),
    needs_target=True,
    resolve=_resolve,
    read=_read,
    pose=_pose,
)
