"""Reading motion paths, and calculating them including IK."""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias, cast

import bpy
from mathutils import Matrix, Vector

from ...blender.access import session_uid
from ...blender.precision import UNIT
from ...blender.relations import active_constraints, moves_with
from ...blender.skeleton import vector
from ...editing.playing import play, returning, staged
from ...plan import planner

PROJECTED = (5, 0, 0)
"""The first Blender version that projects camera-space paths into the image."""

ROUNDING = 8.0 * UNIT
"""Rounding error of a point, as a fraction of the distances that add up to its location."""

Key = tuple[int, str]
"""An object's `session_uid` and a bone's name; an empty name for the object itself."""

Points: TypeAlias = "array[float]"
"""Three numbers for each frame of a path."""


class Path(NamedTuple):
    """The motion path of an object or a pose bone.

    Attributes:
        object: The object.
        bone: The bone's name; empty for the object itself.
        data: Blender's motion path.
        is_seen_from_camera: Whether its points are in camera space instead of world space.
    """

    object: bpy.types.Object
    bone: str
    data: bpy.types.MotionPath
    is_seen_from_camera: bool

    @property
    def key(self) -> Key:
        """Identifier of the path's owner in this session."""
        return session_uid(self.object), self.bone

    @property
    def frames(self) -> range:
        """Frames that have points."""
        return range(self.data.frame_start, self.data.frame_start + self.data.length)

    def points(self) -> Points:
        """Return the coordinates of all points."""
        numbers = array("f", bytes(12 * self.data.length))
        cast(Any, self.data.points).foreach_get("co", numbers)
        return numbers

    def set_points(self, numbers: Points) -> None:
        """Set the coordinates of all points, and redraw them."""
        cast(Any, self.data.points).foreach_set("co", numbers)
        self.object.update_tag()

    def point_now(self, scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> Vector:
        """Return the owner's location at the current frame, in the space of the path."""
        ob = self.object.evaluated_get(depsgraph)
        location_world = ob.matrix_world.translation
        if self.bone:
            bone = cast(Any, ob.pose).bones[self.bone]
            location_world = ob.matrix_world @ (bone.head if self.data.use_bone_head else bone.tail)
        if not self.is_seen_from_camera or scene.camera is None:
            return location_world
        projected = _camera_matrix(scene, depsgraph) @ location_world.to_4d()
        return projected.to_3d() / (projected.w or 1.0)  # Points in the lens plane have w = 0.

    def miss(self, scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> float:
        """Return the path's distance from its owner at the current frame, in meters.

        It is 0 within rounding error, where the path has no point, and for paths in camera space.
        """
        is_between = scene.frame_subframe or scene.frame_current not in self.frames
        if self.is_seen_from_camera or is_between:
            return 0.0
        point = self.data.points[scene.frame_current - self.data.frame_start]
        current = self.point_now(scene, depsgraph)
        origin = self.object.evaluated_get(depsgraph).matrix_world.translation
        miss = (current - cast(Vector, point.co)).length
        return miss if miss > ROUNDING * (origin.length + (current - origin).length) else 0.0


def _camera_matrix(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> Matrix:
    """Return the matrix from world space to the space of paths baked to the active camera."""
    camera = cast(bpy.types.Object, scene.camera).evaluated_get(depsgraph)
    view = camera.matrix_world.inverted_safe()
    if bpy.app.version < PROJECTED:
        return view
    render = scene.render
    projection = camera.calc_matrix_camera(
        depsgraph,
        x=render.resolution_x,
        y=render.resolution_y,
        scale_x=render.pixel_aspect_x,
        scale_y=render.pixel_aspect_y,
    )
    return projection @ view


def paths_of(ob: bpy.types.Object) -> Iterator[Path]:
    """Yield the motion paths of an object and its bones."""
    if ob.motion_path is not None:
        settings = cast(Any, ob.animation_visualization).motion_path
        yield Path(ob, "", ob.motion_path, settings.use_camera_space_bake)
    if ob.pose is None:
        return
    settings = cast(Any, ob.pose.animation_visualization).motion_path
    if settings.has_motion_paths:
        for bone in ob.pose.bones:
            if bone.motion_path is not None:
                yield Path(ob, bone.name, bone.motion_path, settings.use_camera_space_bake)


def is_affected(ob: bpy.types.Object) -> bool:
    """Return whether constraints of this extension can move an object or its bones."""
    present = planner.known()  # Panels call this, and drawing must not make a plan.
    if present is None or not present.chains or ob.library is not None:
        return False
    if ob.type == "ARMATURE" or (ob.animation_data and ob.animation_data.drivers):
        return True
    return bool(active_constraints(ob)) or moves_with(ob, present.rigs)


def affected_paths(layer: bpy.types.ViewLayer) -> list[Path]:
    """Return the motion paths in a view layer that constraints can affect."""
    objects = [ob for ob in layer.objects if next(paths_of(ob), None) and is_affected(ob)]
    return [path for ob in objects for path in paths_of(ob)]


def calculate(
    scene: bpy.types.Scene, layer: bpy.types.ViewLayer, wanted: Mapping[Path, list[int]]
) -> Generator[float, None, dict[Key, Points]]:
    """Set points of motion paths in one pass over their frames, and return the paths' points.

    The current frame and unkeyed values are restored.

    Args:
        scene: The scene to play.
        layer: The view layer whose objects are evaluated.
        wanted: The frames to calculate for each path.

    Yields:
        The fraction of finished frames. Points are set only after the last frame.
    """
    points = {path: path.points() for path in wanted}
    due: dict[int, list[Path]] = {}
    for path, frames in wanted.items():
        for frame in frames:
            due.setdefault(frame, []).append(path)

    def note(frame: int) -> None:
        depsgraph = cast(bpy.types.Depsgraph, layer.depsgraph)
        for path in due[frame]:
            first = 3 * (frame - path.data.frame_start)
            points[path][first : first + 3] = array("f", vector(path.point_now(scene, depsgraph)))

    needed = [path.object for path in wanted]
    if scene.camera is not None:
        needed.append(scene.camera)
    with returning(scene, layer, in_any_case=True), staged(layer, (), needed):
        yield from play(scene, sorted(due), note)
    for path, numbers in points.items():
        path.set_points(numbers)
    return {path.key: numbers for path, numbers in points.items()}
