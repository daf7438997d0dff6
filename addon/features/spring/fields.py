"""The scene's force fields that move springs, such as wind."""

from __future__ import annotations

from math import inf
from typing import Any, cast

import bpy

from fabrik_solver import Frame, frame_in
from fabrik_solver.core.vectors import unit_or
from fabrik_solver.motion.force_field import Falloff, ForceField

from ...blender import animation, data_blocks
from ...blender.access import frame_rate
from ...blender.skeleton import Point
from ...frame.solved_scene import SolvedScene
from .settings import FabrikSpring

KINDS = ("FORCE", "WIND", "VORTEX", "TURBULENCE")
"""The force fields that springs support."""

SHAPES = ("POINT", "LINE", "PLANE")
"""The shapes of force fields that springs support."""

SIDES = {"BOTH": 0, "POSITIVE": 1, "NEGATIVE": -1}


def force_fields(spring: FabrikSpring) -> list[bpy.types.Object]:
    """Return the objects whose force fields move a spring, in the order of the scene.

    The objects must be enabled in viewports, and in some view layer of the scene. So the motion
    doesn't depend on which layer is active, rendered or simulated.
    """
    scene = bpy.context.scene
    if scene is None or not (spring.field_weight or _is_animated(spring)):
        return []
    fields = [ob for ob in scene.objects if _is_known(ob.field) and not ob.hide_viewport]
    if not fields:
        return []
    enabled = _enabled_collections(scene)
    return [ob for ob in fields if not enabled.isdisjoint(ob.users_collection)]


def _enabled_collections(scene: bpy.types.Scene) -> set[bpy.types.Collection]:
    """Return the collections that are enabled in viewports and in some view layer."""
    enabled: set[bpy.types.Collection] = set()
    pending = [layer.layer_collection for layer in scene.view_layers]
    while pending:
        layer_collection = pending.pop()
        if not layer_collection.collection.hide_viewport:
            if not layer_collection.exclude:
                enabled.add(layer_collection.collection)
            pending += layer_collection.children
    return enabled


def _is_animated(spring: FabrikSpring) -> bool:
    """Return whether the weight of force fields is animated."""
    armature = cast(bpy.types.Object, spring.id_data)
    path = f"{spring.path_from_id()}.field_weight"
    return animation.is_keyed(armature, path) or animation.is_driven(armature, path)


def _is_known(field: Any) -> bool:
    return field is not None and field.type in KINDS and field.shape in SHAPES


def field_values(ob: bpy.types.Object) -> list[tuple[str, object]]:
    """Return a force field's settings that aren't animated."""
    channels = animation.animated(ob)
    return data_blocks.values(ob.field, channels.keyed | channels.driven)


def field_at(snapshot: SolvedScene, ob: bpy.types.Object, to_space: Frame) -> ForceField:
    """Return a force field at a frame, in simulation space.

    Args:
        snapshot: The solved scene at the frame.
        ob: The object with the force field.
        to_space: The transform from world space to simulation space.
    """
    seconds = snapshot.time / frame_rate(cast(bpy.types.Scene, bpy.context.scene))
    frame = frame_in(to_space, snapshot.place(Point(ob)))
    return field_of(snapshot.snapshot.copy(ob).field, frame, seconds)


def field_of(settings: Any, frame: Frame, seconds: float) -> ForceField:
    """Return a force field from its settings in Blender, the frame of its object, and the time."""
    axes, location = frame
    return ForceField(
        settings.type,
        settings.shape,
        location,
        unit_or((axes[2], axes[5], axes[8]), (0.0, 0.0, 1.0)),
        settings.strength,
        settings.noise,
        settings.seed,
        seconds,
        settings.size,
        settings.use_global_coords,
        settings.use_gravity_falloff,
        SIDES[settings.z_direction],
        settings.falloff_type,
        Falloff(
            settings.falloff_power,
            settings.distance_min if settings.use_min_distance else 0.0,
            settings.distance_max if settings.use_max_distance else inf,
        ),
        Falloff(
            settings.radial_falloff,
            settings.radial_min if settings.use_radial_min else 0.0,
            settings.radial_max if settings.use_radial_max else inf,
        ),
    )
