"""The position of a target at other frames, from its F-curves alone.

The frames aren't played, so the result doesn't depend on how the current frame was reached. Refuses
targets moved by anything but F-curves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import dist
from typing import Any

import bpy

from fabrik_solver import WHOLE, Frame, Local, bone_frame, frame_in, inverse, point_in
from fabrik_solver.core.vectors import (
    ORIGIN,
    Mat3,
    Vec,
    add,
    length,
    mat_product,
    quat_matrix,
    scale_columns,
    times,
)

from ...blender.access import pose_bones, rest_bone
from ...blender.animation import active_lists, channel_curves, driven, has_nla
from ...blender.errors import ProblemError
from ...blender.relations import active_constraints, parent_of
from ...blender.rotation import channel_of, mode_of, quaternion
from ...blender.skeleton import Point, Skeleton, matrix_frame, skeleton_of, vector
from ...plan.chain_plan import Snapshot

TOLERANCE = 1e-4
"""Maximum distance from the evaluated position, relative to the distance from the origin."""

Track = Callable[[float], Frame]
"""Returns a transform at a frame of the scene."""


class UntraceableError(ProblemError):
    """A target is moved by something other than F-curves. The message begins a sentence."""


Places = Callable[[Sequence[float]], list[Vec]]
"""Returns the positions of a point at frames of the scene."""


def places_at(
    snapshot: Snapshot, point: Point, rig: Skeleton, frames: Sequence[float]
) -> list[Vec] | None:
    """Return a target's world positions at frames; None if it doesn't move.

    The looking armature is treated as static, so that the gaze doesn't lag behind when the whole
    character moves.

    Args:
        snapshot: The current snapshot.
        point: The target.
        rig: The looking armature.
        frames: The frames.

    Raises:
        UntraceableError: If the target is moved by anything but F-curves.
    """
    tracer = _Tracer(snapshot, rig)
    places = tracer.places(point)
    if not tracer.moves:
        frames = ()
    current, *earlier = places((snapshot.time, *frames))
    actual = snapshot.point(point)
    error = dist(current, actual)
    if not error <= TOLERANCE * (1.0 + length(actual)):  # Physics, or a dragged target.
        raise UntraceableError(
            "“{object}” isn't where its F-curves place it", object=point.object.name
        )
    return earlier if tracer.moves else None


class _Tracer:
    """Composes a target's track from those of its parents."""

    def __init__(self, snapshot: Snapshot, rig: Skeleton) -> None:
        self.snapshot = snapshot
        self.rig = rig
        self.moves = False
        self._lists: dict[bpy.types.Object, list[Any]] = {}

    def places(self, point: Point) -> Places:
        """Return a function that gives a point's positions in world space."""
        ob = point.object
        if point.skeleton is None and ob != self.rig.object and parent_of(ob) is None:
            # Most targets need no axes. The refusal is the same for them.
            self._refuse(ob, ob, "")
            return self._locations(ob)
        track = self.object(ob)
        if point.skeleton is not None:
            track = _inside(track, self.bone(point.skeleton, point.bone))
        return lambda frames: [track(frame)[1] for frame in frames]

    def _locations(self, ob: bpy.types.Object) -> Places:
        """Return the world locations of an object without a parent."""
        posed = ob.evaluated_get(self.snapshot.depsgraph)
        location, (dx, dy, dz) = vector(posed.location), posed.delta_location
        curves = channel_curves(self._lists_of(ob), "location", 3)
        self.moves = any(curves)

        def places(frames: Sequence[float]) -> list[Vec]:
            xs, ys, zs = (
                [value] * len(frames) if curve is None else [*map(curve.evaluate, frames)]
                for curve, value in zip(curves, location, strict=True)
            )
            return [(x + dx, y + dy, z + dz) for x, y, z in zip(xs, ys, zs, strict=True)]

        return places

    def object(self, ob: bpy.types.Object) -> Track:
        """Return an object's track in world space."""
        if ob == self.rig.object:
            return _still(self.snapshot.world(ob, self.rig.uid))
        self._refuse(ob, ob, "")
        basis = self._basis(ob, ob, "")
        parent = parent_of(ob)
        return basis if parent is None else _inside(self._parent(ob, *parent), basis)

    def _parent(self, ob: bpy.types.Object, parent: bpy.types.Object, bone: int) -> Track:
        """Return the world-space track of the space of an object's transform channels."""
        evaluated = ob.evaluated_get(self.snapshot.depsgraph)
        link = _still(matrix_frame(evaluated.matrix_parent_inverse))
        world = self.object(parent)
        if bone >= 0:
            world = _inside(world, self._carrier(skeleton_of(parent), bone))
        elif ob.parent_type not in ("OBJECT", "ARMATURE", "BONE"):
            raise UntraceableError("“{object}” is parented to vertices", object=ob.name)
        return _inside(world, link)

    def _carrier(self, skeleton: Skeleton, bone: int) -> Track:
        """Return the armature-space track of the space of objects parented to a bone."""
        posed = self.bone(skeleton, bone)
        rest = rest_bone(skeleton.object, skeleton.names[bone])
        if rest.use_relative_parent:
            from_rest = inverse(matrix_frame(rest.matrix_local))
            return lambda frame: frame_in(posed(frame), from_rest)
        tail = (0.0, skeleton.bone(bone).length, 0.0)
        return lambda frame: (posed(frame)[0], point_in(posed(frame), tail))

    def bone(self, skeleton: Skeleton, bone: int) -> Track:
        """Return a bone's track in armature space."""
        pairs = [(skeleton.bone(i), self._local(skeleton, i)) for i in skeleton.chain_up(bone)]

        def track(frame: float) -> Frame:
            pose = WHOLE
            for rest, local in pairs:
                pose = bone_frame(rest, local(frame), pose)
            return pose

        return track

    def _local(self, skeleton: Skeleton, bone: int) -> Callable[[float], Local]:
        ob, name = skeleton.object, skeleton.names[bone]
        posed = pose_bones(ob.evaluated_get(self.snapshot.depsgraph))[name]
        path = f'pose.bones["{bpy.utils.escape_identifier(name)}"].'
        if bone in self.snapshot.plan.moved.get(skeleton.uid, ()):
            raise UntraceableError("“{name}” moves with a solved chain", name=name)
        self._refuse(ob, posed, path)
        mode = mode_of(posed)
        location = self._channel(ob, posed, path, "location", 3)
        rotation = self._channel(ob, posed, path, *channel_of(mode))
        scale = self._channel(ob, posed, path, "scale", 3)
        is_connected = bone in skeleton.connected
        return lambda frame: Local(
            ORIGIN if is_connected else vector(location(frame)),
            quaternion(mode, rotation(frame)),
            vector(scale(frame)),
        )

    def _basis(self, ob: bpy.types.Object, owner: Any, path: str) -> Track:
        """Return the track of an object's channels, in its parent's space.

        Args:
            ob: The object.
            owner: The object, or its pose bone.
            path: The data path of that bone, or empty.
        """
        posed = owner.evaluated_get(self.snapshot.depsgraph)
        mode = mode_of(posed)
        location = self._channel(ob, posed, path, "location", 3)
        rotation = self._channel(ob, posed, path, *channel_of(mode))
        scale = self._channel(ob, posed, path, "scale", 3)
        delta_location, delta_scale = vector(posed.delta_location), vector(posed.delta_scale)
        delta_turn = quat_matrix(quaternion(mode, _delta_rotation(posed)))

        def axes(frame: float) -> Mat3:
            turn = mat_product(delta_turn, quat_matrix(quaternion(mode, rotation(frame))))
            return scale_columns(turn, times(vector(scale(frame)), delta_scale))

        if isinstance(rotation, _Still) and isinstance(scale, _Still):
            still = axes(0.0)
            return lambda frame: (still, add(vector(location(frame)), delta_location))
        return lambda frame: (axes(frame), add(vector(location(frame)), delta_location))

    def _channel(
        self, ob: bpy.types.Object, posed: Any, path: str, name: str, count: int
    ) -> Callable[[float], list[float]]:
        """Return a channel's values as a function of the frame; constant without F-curves.

        Args:
            ob: The object.
            posed: The evaluated object or pose bone.
            path: The data path of that bone, or empty.
            name: The channel.
            count: Its number of components.
        """
        curves = channel_curves(self._lists_of(ob), path + name, count)
        values = list(getattr(posed, name))
        if not any(curves):
            return _Still(values)
        self.moves = True
        if all(curves):
            evaluations = [curve.evaluate for curve in curves]
            return lambda frame: [evaluate(frame) for evaluate in evaluations]
        pairs = list(zip(curves, values, strict=True))
        return lambda frame: [
            value if curve is None else curve.evaluate(frame) for curve, value in pairs
        ]

    def _lists_of(self, ob: bpy.types.Object) -> list[Any]:
        if ob not in self._lists:
            self._lists[ob] = active_lists(ob)
        return self._lists[ob]

    def _refuse(self, ob: bpy.types.Object, owner: Any, path: str) -> None:
        """Refuse an object or a bone that is moved by anything but F-curves.

        Raises:
            UntraceableError: If there is anything else; the message names it.
        """
        for con in active_constraints(owner):
            raise UntraceableError(
                "“{name}” has the constraint “{constraint}”", name=owner.name, constraint=con.name
            )
        if has_nla(ob):
            raise UntraceableError("“{object}” is animated by the NLA", object=ob.name)
        driving = tuple(path + channel for channel in ("location", "rotation", "scale"))
        if any(channel.startswith(driving) for channel, _ in driven(ob)):
            raise UntraceableError("“{name}” has a driver", name=owner.name)
        if path == "" and ob.session_uid in self.snapshot.plan.carried:
            raise UntraceableError("“{name}” moves with a solved chain", name=owner.name)


class _Still:
    """A channel without F-curves."""

    def __init__(self, values: list[float]) -> None:
        self.values = values

    def __call__(self, _frame: float) -> list[float]:
        return self.values


def _delta_rotation(posed: Any) -> Any:
    if posed.rotation_mode == "QUATERNION":
        return posed.delta_rotation_quaternion
    if posed.rotation_mode == "AXIS_ANGLE":  # Blender ignores the delta of this mode.
        return (0.0, 0.0, 1.0, 0.0)
    return posed.delta_rotation_euler


def _inside(outer: Track, inner: Track) -> Track:
    return lambda frame: frame_in(outer(frame), inner(frame))


def _still(frame: Frame) -> Track:
    return lambda _time: frame
