"""A rope: settings, reading and solving."""

from __future__ import annotations

from math import dist
from typing import Any, Literal, NamedTuple, cast

import bpy

from fabrik_solver import ChainInput, Frame, Goal, Stretch, point_in, pose_chain
from fabrik_solver.core.vectors import (
    Vec,
    add,
    cross,
    dot,
    length,
    mat_apply,
    mat_columns,
    scaled,
    unit,
)
from fabrik_solver.motion.rope import Rest, hanging_side, pose_rope
from fabrik_solver.motion.rope_collision import on_plane, on_surface

from ...blender.errors import ProblemError
from ...blender.skeleton import Point, vector
from ...blender.surface import Surface, surface_of
from ...frame.chain import volume_note
from ...plan.chain_plan import ChainPlan, ChainPose, Motion, MotionContext, Report, Snapshot
from ...plan.results import explanation
from ...settings.definitions import animated, fixed
from ...settings.joint_limits import Joints
from ...settings.properties import FabrikConstraint
from ...settings.values import check_choices, now

STRETCH_ITERATIONS = 20
"""How many FABRIK iterations a stretching rope takes at most; a straight rope needs none."""

DOWN: Vec = (0.0, 0.0, -1.0)

COLLISION_ITEMS = (
    ("NONE", "None", "No collision: hang freely", 0),
    ("PLANE", "Plane", "Rest on the XY plane of an object, on the side of its Z axis", 1),
    (
        "MESH",
        "Mesh",
        "Rest on an object's evaluated mesh. The rope is lifted out of it against gravity",
        2,
    ),
)


class FabrikRope(bpy.types.PropertyGroup):
    """The settings of a rope."""

    use_scene_gravity: bool = fixed(
        "Scene Gravity",
        "Use the direction of the scene's gravity instead of straight down",
        default=False,
    )
    collision: Literal["NONE", "PLANE", "MESH"] = fixed(
        "Collision", "What the rope collides with", items=COLLISION_ITEMS, default="NONE"
    )
    collision_object: bpy.types.Object | None = fixed(
        "Object", "Object whose XY plane or mesh the rope rests on"
    )
    thickness: float = animated(
        "Radius",
        "Radius of the rope: the distance of its joints from the collision surface",
        default=0.0,
        min=0.0,
        soft_max=1.0,
        subtype="DISTANCE",
    )


def rope_of(item: FabrikConstraint) -> FabrikRope:
    """Return the rope settings of a constraint."""
    return cast(Any, item).rope


class RopeInput(NamedTuple):
    """The inputs of a rope besides its chain and ends, in world space.

    Attributes:
        down: Unit vector of gravity.
        plane: A point and the unit normal of the collision plane, if any.
        surface: The collision mesh, if any.
        thickness: Distance from the joints to the collision surface.
        stretch: The arguments of `Stretch`; None without stretch.
        note: The message to show if the rope reaches its target.
    """

    down: Vec
    plane: tuple[Vec, Vec] | None
    surface: Surface | None
    thickness: float
    stretch: tuple[float, bool, bool] | None
    note: str


def _resolve(chain: ChainPlan, item: FabrikConstraint) -> None:
    rope = rope_of(item)
    check_choices(rope)
    chain.joints = Joints()  # Ropes ignore joint limits.
    if item.use_stretch:
        chain.enable_stretch()
    # Changing gravity doesn't update the armature.
    chain.is_timed = rope.use_scene_gravity
    if rope.collision == "NONE":
        return
    ob = rope.collision_object
    if ob is None:
        raise ProblemError("No collision object: choose an Object, or set Collision to None")
    if ob == chain.rig.object:
        raise ProblemError(
            "“{object}” can't collide with itself: choose another Object for the collision",
            object=ob.name,
        )
    if rope.collision == "MESH" and ob.type != "MESH":
        raise ProblemError(
            "“{object}” isn't a mesh: choose a mesh object, or set Collision to Plane",
            object=ob.name,
        )
    chain.watched.append(ob)
    chain.places.append(Point(ob))


def _read(snapshot: Snapshot, chain: ChainPlan) -> RopeInput:
    rope = snapshot.cached(chain, _settings)
    down = DOWN
    scene = cast(bpy.types.Scene, snapshot.depsgraph.scene)
    if rope.use_scene_gravity and scene.use_gravity:
        down = unit(vector(scene.gravity)) or DOWN
    plane = surface = None
    if chain.places:
        world = snapshot.place(chain.places[0])
        ob = chain.places[0].object
        if rope.collision == "PLANE":
            plane = _xy_plane(ob, world)
        else:
            surface = surface_of(snapshot.depsgraph, ob, world)
    item = snapshot.poses[chain.rig.uid].settings[chain.item]
    stretch = (item.stretch_max, item.use_volume, chain.uneven >= 0) if chain.stretches else None
    note = volume_note(chain, item)
    return RopeInput(down, plane, surface, rope.thickness, stretch, note)


def _settings(item: FabrikConstraint) -> FabrikRope:
    return now(rope_of(item))


def _xy_plane(ob: bpy.types.Object, world: Frame) -> tuple[Vec, Vec]:
    x, y, z = mat_columns(world[0])
    normal = unit(cross(x, y))
    if normal is None:
        raise ProblemError(
            "“{object}” has zero scale, so it has no plane: change its scale", object=ob.name
        )
    return world[1], normal if dot(normal, z) >= 0.0 else scaled(normal, -1.0)


def _pose(chain: ChainInput, context: MotionContext, read: object) -> ChainPose:
    rope = cast(RopeInput, read)
    target = point_in(context.to_armature, context.target)
    influence, tolerance = context.influence, context.tolerance
    stretch = rope.stretch
    if stretch and dist(chain.root, target) > chain.chain.scale:
        posture = pose_chain(
            chain,
            Goal(target),
            "FABRIK",
            STRETCH_ITERATIONS,
            tolerance,
            influence,
            None,
            Stretch(*stretch),
        )
    else:
        down = _normal_in(context.world, rope.down)
        resolve_collision = _rest(chain, context, rope, target, down)
        posture = pose_rope(chain, target, down, resolve_collision, influence, tolerance)
    has_reached = posture.state == "REACHED"
    message = rope.note if has_reached else explanation(posture, stretch is not None)
    return ChainPose(posture, Report(posture.state, 0.0, posture.iterations_used, message))


def _rest(
    chain: ChainInput, context: MotionContext, rope: RopeInput, target: Vec, down: Vec
) -> Rest | None:
    """Return the function that resolves collisions; None without collision.

    Args:
        chain: The bones and their FK pose.
        context: The spaces.
        rope: The inputs of the rope.
        target: The target in armature space.
        down: Unit vector of gravity in armature space.
    """
    side = hanging_side(chain)
    world = context.world
    if rope.plane is not None:
        point, normal = rope.plane
        plane_point = add(point, scaled(normal, rope.thickness))
        plane = point_in(context.to_armature, plane_point), _normal_in(world, normal)
        return lambda joints, lengths: on_plane(joints, lengths, target, plane, side)
    if rope.surface is not None:
        surface = rope.surface.seen_from(world)
        thickness = rope.thickness / length(mat_apply(world[0], down))
        return lambda joints, lengths: on_surface(
            joints, lengths, target, surface, down, side, thickness
        )
    return None


def _normal_in(world: Frame, normal: Vec) -> Vec:
    """Transform a plane's normal from world space to a frame's space, as a unit vector.

    Under non-uniform scale, a normal needs the transposed matrix, unlike a direction.

    Raises:
        ValueError: If the frame is singular.
    """
    x, y, z = mat_columns(world[0])
    transformed = unit((dot(x, normal), dot(y, normal), dot(z, normal)))
    if transformed is None:
        raise ValueError("the armature has no finite axes")
    return transformed


MOTION = Motion(
    solver=("ROPE", "Rope", "Hang between the root and the target", 5),
    needs_target=True,
    resolve=_resolve,
    read=_read,
    pose=_pose,
)
