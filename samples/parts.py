"""Parts of every sample: a stage, a rig, targets that move in a loop, and a text to read.

All positions are in world space, in meters. Every armature is at the world's origin, so that
armature space is world space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import pi, radians
from typing import Any

import bpy
from mathutils import Vector

from . import shapes
from .shapes import Point, link

FRAMES = 120
"""The last frame that is played; the frame after it equals frame 1."""

KEY_EVERY = 10

ORANGE = (1.0, 0.32, 0.04)
GREEN = (0.10, 0.75, 0.25)
BLUE = (0.12, 0.42, 0.95)

Bones = dict[str, tuple[Point, Point, str]]
Motion = Callable[[float], Sequence[float]]


def stage(backdrop: Point, read_me: str) -> bpy.types.Scene:
    """Start from an empty file: frames, light, a round studio wall, and a text to read first."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, FRAMES
    scene.render.fps = 24
    # Blender recommends it if handlers write data, as ours do at every frame.
    scene.render.use_lock_interface = True
    scene.render.resolution_x, scene.render.resolution_y = 1280, 720
    scene.view_settings.view_transform = "Standard"
    bpy.data.texts.new("Read me").write(read_me)
    _light(scene)
    _wall(backdrop)
    for space in (sp for sc in bpy.data.screens for area in sc.areas for sp in area.spaces):
        _arrange(space)
    return scene


def _arrange(space: Any) -> None:
    """Show the camera's view and the materials in all windows, and clear their folders."""
    if space.type == "VIEW_3D":
        space.shading.color_type = "MATERIAL"
        space.overlay.show_relationship_lines = False
        space.region_3d.view_perspective = "CAMERA"
        space.region_3d.view_camera_zoom = 28.0
    elif space.type == "FILE_BROWSER" and space.params is not None:
        space.params.directory = b"//"


def material(
    name: str, color: Point, roughness: float = 0.45, metallic: float = 0.0, glow: float = 0.0
) -> bpy.types.Material:
    """Return a material that looks alike in every engine, made on first use."""
    made = bpy.data.materials.get(name)
    if made is not None:
        return made
    made = bpy.data.materials.new(name)
    _use_nodes(made)
    made.diffuse_color = (*color, 1.0)  # type: ignore[assignment]
    made.roughness, made.metallic = roughness, metallic
    shader: Any = made.node_tree.nodes["Principled BSDF"]  # type: ignore[union-attr]
    shader.inputs["Base Color"].default_value = (*color, 1.0)
    shader.inputs["Roughness"].default_value = roughness
    shader.inputs["Metallic"].default_value = metallic
    shader.inputs["Emission Color"].default_value = (*color, 1.0)
    shader.inputs["Emission Strength"].default_value = glow
    return made


def _use_nodes(owner: bpy.types.Material | bpy.types.World) -> None:
    if bpy.app.version < (5, 0, 0):  # From 5.0 on, all have nodes.
        owner.use_nodes = True


def armature(name: str, bones: Bones, bends: Mapping[str, Point] | None = None) -> Any:
    """Make an armature from head, tail and parent (or '') of each bone.

    Bones that begin at their parent's tail are connected to it. Bones in ``bends`` are rolled so
    that a rotation about X moves their tail in the direction given there. Returned as `Any`,
    because type checkers do not know the extension's ``fabrik``.
    """
    rig = link(bpy.data.objects.new(name, bpy.data.armatures.new(name)))
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    data: Any = rig.data
    for bone_name, (head, tail, parent) in bones.items():
        bone = data.edit_bones.new(bone_name)
        bone.head, bone.tail = head, tail
        if parent:
            bone.parent = data.edit_bones[parent]
            bone.use_connect = bone.head == bone.parent.tail
    for bone_name, side in (bends or {}).items():
        data.edit_bones[bone_name].align_roll(Vector(side))
    bpy.ops.object.mode_set(mode="OBJECT")
    data.display_type = "OCTAHEDRAL"
    rig.show_in_front = True
    rig.display_type = "WIRE"
    return rig


def target(
    name: str, location: Point, size: float = 0.06, color: Point = ORANGE, is_seen: bool = True
) -> bpy.types.Object:
    """Make an Empty to reach for, with a ball that renders show if `is_seen`."""
    look = material(name, color, glow=0.4)
    return _marker(name, location, size, "SPHERE", look, is_seen)


def pole(name: str, location: Point, size: float = 0.04, is_seen: bool = False) -> bpy.types.Object:
    """Make an Empty for a pole, with a ball that renders show if `is_seen`."""
    return _marker(name, location, size, "PLAIN_AXES", material("Pole", BLUE, glow=0.3), is_seen)


def _marker(
    name: str,
    location: Point,
    size: float,
    display: Any,
    look: bpy.types.Material,
    is_seen: bool,
) -> bpy.types.Object:
    empty = link(bpy.data.objects.new(name, None))
    empty.empty_display_type = display
    empty.empty_display_size = size * 1.6
    empty.location = location
    ball = shapes.ball(f"{name} ball", (0.0, 0.0, 0.0), size, look)
    ball.parent = empty
    ball.hide_select = True
    ball.hide_render = not is_seen
    return empty


def add_constraint(rig: Any, name: str, **fields: Any) -> Any:
    """Add a constraint of the extension, as any script would."""
    item = rig.fabrik.constraints.add()
    item.name = name
    for field, value in fields.items():
        setattr(item, field, value)
    return item


def hinge(rig: Any, bone: str, least: float, most: float) -> None:
    """Limit a bone to a hinge about its X axis, between two angles in degrees from rest."""
    joint = rig.pose.bones[bone].fabrik_joint
    joint.limit_type = "HINGE"
    joint.hinge_min, joint.hinge_max = radians(least), radians(most)


def cone(
    rig: Any, bone: str, swing_x: float, swing_z: float, twist: float, lean: float = 0.0
) -> None:
    """Limit a bone's swing about its X and Z axes, and its twist, to angles in degrees.

    They are to either side of the rest pose, rotated by ``lean`` degrees about X.
    """
    joint = rig.pose.bones[bone].fabrik_joint
    joint.limit_type = "CONE"
    joint.swing_x, joint.swing_z = radians(swing_x), radians(swing_z)
    joint.twist_min, joint.twist_max = radians(-twist), radians(twist)
    joint.center = (radians(lean), 0.0, 0.0)


def keyed(
    owner: Any, channel: str, motion: Motion, every: int = KEY_EVERY, beyond: int = 1
) -> None:
    """Key a channel so that it moves smoothly in an endless loop.

    Keys extend beyond both ends of the loop, so that its last frame continues into the first at the
    same speed.

    Args:
        owner: An object or a pose bone.
        channel: The name of its channel.
        motion: Maps an angle that runs from 0 to 2π over the loop to the channel's values.
        every: The number of frames between keys.
        beyond: The number of keys beyond each end; several where damping looks back between keys,
            whose slopes depend on all others.
    """
    steps = FRAMES // every
    for step in range(-beyond, steps + 1 + beyond):
        setattr(owner, channel, motion(2.0 * pi * (step % steps) / steps))
        owner.keyframe_insert(channel, frame=1 + step * every)


def curves_of(action: Any) -> Any:
    """Return the F-curves of an action."""
    if bpy.app.version < (4, 4, 0):  # From 4.4 on, actions have layers.
        return action.fcurves
    return [c for s in action.layers[0].strips for bag in s.channelbags for c in bag.fcurves]


def camera(location: Point, look_at: Point, lens: float = 50.0) -> None:
    """Add a camera at a position, and make it active."""
    data = bpy.data.cameras.new("Camera")
    data.lens = lens
    ob = link(bpy.data.objects.new("Camera", data))
    ob.location = location
    direction = Vector(look_at) - Vector(location)
    ob.rotation_euler = direction.to_track_quat("-Z", "Y").to_euler()
    bpy.context.scene.camera = ob


def _light(scene: bpy.types.Scene) -> None:
    world = bpy.data.worlds.new("World")
    _use_nodes(world)
    background: Any = world.node_tree.nodes["Background"]  # type: ignore[union-attr]
    background.inputs["Color"].default_value = (0.86, 0.92, 1.0, 1.0)
    background.inputs["Strength"].default_value = 0.42
    world.color = (0.86, 0.92, 1.0)
    scene.world = world
    data: Any = bpy.data.lights.new("Sun", "SUN")
    data.energy = 2.1
    data.angle = 0.2
    data.color = (1.0, 0.95, 0.87)
    sun = link(bpy.data.objects.new("Sun", data))
    sun.location = (-2.0, -3.0, 6.0)
    sun.rotation_euler = (0.62, 0.0, -0.62)


def _wall(color: Point) -> None:
    """Make a floor that rises to a wall behind the scene without an edge."""
    shapes.studio("Studio", material("Studio", color, roughness=0.9))
