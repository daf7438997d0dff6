"""Blender's own constraints: which of them can be computed, and how their settings are read.

`READERS` is the table. Only Blender knows how constraints outside the table move their owners.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, cast

import bpy

from fabrik_solver.core.constraint_kinds import (
    Bulge,
    ChannelRange,
    ChildOf,
    CopyLocation,
    CopyRotation,
    CopyScale,
    CopyTransforms,
    DampedTrack,
    Flags,
    Floor,
    LimitDistance,
    LimitLocation,
    LimitRotation,
    LimitScale,
    LockedTrack,
    Order,
    Pivot,
    Range,
    StretchTo,
    TrackTo,
    Transformation,
)
from fabrik_solver.core.constraints import OWNER_ORIENTATION, Constraint
from fabrik_solver.core.deformation import Armature, DeformBone, Envelope
from fabrik_solver.core.vectors import Vec

from .axes import AXES
from .rotation import EULER_AXES, EULER_ORDERS
from .skeleton import Point, Skeleton, matrix_frame, skeleton_of, vector

LOCAL_SPACES = ("LOCAL", "LOCAL_WITH_PARENT")

SPACES = ("WORLD", "POSE", *LOCAL_SPACES)
"""The spaces of constraints that depend only on a bone."""

CUSTOM = "CUSTOM"
"""The space of another object or bone."""

LIMITS = ("LIMIT_LOCATION", "LIMIT_ROTATION", "LIMIT_SCALE")
"""The constraints that have no target."""

COPY_ROTATION = "COPY_ROTATION"
"""The type that doesn't move the head. If it is unpredictable, Blender's axes are used."""


def constraint_point(con: Any) -> Point | None:
    """Return the target of one of Blender's constraints; None without a target."""
    return target_point(getattr(con, "target", None), getattr(con, "subtarget", ""))


def space_point(con: Any) -> Point | None:
    """Return the object or bone whose space a constraint uses, or None if there is none."""
    if CUSTOM not in (con.owner_space, con.target_space):
        return None
    return target_point(con.space_object, con.space_subtarget)


def target_point(ob: Any, name: str) -> Point | None:
    """Return an object, or its bone called ``name`` if it has one; None without an object."""
    if ob is None:
        return None
    if name and ob.type == "ARMATURE" and ob.pose:
        skeleton = skeleton_of(ob.original)
        if name in skeleton.index:
            return Point(ob.original, skeleton, skeleton.index[name])
    return Point(ob.original)


def needs_target(con: Any) -> bool:
    """Return whether a constraint has no effect without a target."""
    return con.type not in (*LIMITS, "PIVOT")


def is_predictable(con: Any, on_bone: bool) -> bool:
    """Return whether the effect of a Blender constraint can be computed before Blender does.

    On bones, all `SPACES` are supported, on objects only world space. A target that isn't a bone
    must use world space.

    Args:
        con: The constraint.
        on_bone: Whether the constraint is on a bone, not on an object.
    """
    if con.type == "ARMATURE":
        return _has_known_owner_space(con, on_bone) and not any(map(_bends, con.targets))
    if con.type not in READERS or getattr(con, "use_bbone_shape", False) or _names_vertices(con):
        return False
    return _has_known_owner_space(con, on_bone) and _has_known_target_space(con, on_bone)


def _has_known_owner_space(con: Any, on_bone: bool) -> bool:
    space = con.owner_space
    return space == "WORLD" or (on_bone and (space in SPACES or _is_known_custom(con, space)))


def _has_known_target_space(con: Any, on_bone: bool) -> bool:
    space = con.target_space
    if con.type in LIMITS or space == "WORLD":
        return True
    point = constraint_point(con)
    if point is None or point.bone < 0:
        return False
    is_of_owner = space == OWNER_ORIENTATION or _is_known_custom(con, space)
    return space in SPACES or (on_bone and is_of_owner)


def _is_known_custom(con: Any, space: str) -> bool:
    # Blender doesn't offer a custom space for Armature constraints, and keeps none for them.
    return space == CUSTOM and con.type != "ARMATURE" and space_point(con) is not None


def _bends(target: Any) -> bool:
    """Return whether the target of an Armature constraint is a bone with segments."""
    bone = target.target and target.target.pose and target.target.pose.bones.get(target.subtarget)
    return bool(bone) and bone.bone.bbone_segments > 1


def _names_vertices(con: Any) -> bool:
    """Return whether a constraint's target is a vertex group of a mesh."""
    target, name = getattr(con, "target", None), getattr(con, "subtarget", "")
    return bool(name) and target is not None and name in getattr(target, "vertex_groups", ())


def limits_own_channels(con: Any) -> bool:
    """Return whether a constraint limits a bone's channels relative to its parent."""
    return con.type.startswith("LIMIT_") and con.owner_space in LOCAL_SPACES


def read_constraint(con: Any, owner: Any) -> Constraint:
    """Return a constraint that `is_predictable` and isn't an Armature constraint.

    Args:
        con: The constraint.
        owner: The bone or object that has the constraint.
    """
    return READERS[con.type](con, owner)


def _child_of(con: Any, owner: Any) -> Constraint:
    parts = _flags(con, "use_location"), _flags(con, "use_rotation"), _flags(con, "use_scale")
    orders = _order_of(owner), _order_of(_target_owner(con))
    return ChildOf(parts, matrix_frame(con.inverse_matrix), orders)


def _floor(con: Any, _owner: Any) -> Constraint:
    axis, sign = _signed_axis(con.floor_location)
    return Floor(axis, sign < 0.0, con.offset, con.use_rotation)


def _limit_distance(con: Any, _owner: Any) -> Constraint:
    return LimitDistance(
        con.distance,
        con.limit_mode != "LIMITDIST_OUTSIDE",
        con.limit_mode != "LIMITDIST_INSIDE",
    )


def _limit_rotation(con: Any, owner: Any) -> Constraint:
    used = con.use_limit_x, con.use_limit_y, con.use_limit_z
    least, most = (con.min_x, con.min_y, con.min_z), (con.max_x, con.max_y, con.max_z)
    return LimitRotation(used, least, most, con.use_legacy_behavior, _order(con, owner))


def _pivot(con: Any, owner: Any) -> Constraint:
    anchor = "OWNER" if con.use_relative_location else "ORIGIN"
    anchor = anchor if con.target is None else "TARGET"
    span, axis, sign = con.rotation_range, 0, 0.0
    if span != "ALWAYS_ACTIVE":
        axis, sign = "XYZ".index(span[-1]), -1.0 if span.startswith("N") else 1.0
    return Pivot(vector(con.offset), anchor, axis, sign, _order_of(owner))


def _stretch_to(con: Any, _owner: Any) -> Constraint:
    least = min(con.bulge_min, 1.0) if con.use_bulge_min else -1.0
    most = max(con.bulge_max, 1.0) if con.use_bulge_max else -1.0
    limits = Bulge(least, most, con.bulge_smooth)
    return StretchTo(con.keep_axis, con.rest_length, con.volume, con.bulge, limits)


def _track_to(con: Any, _owner: Any) -> Constraint:
    track, sign = _signed_axis(con.track_axis)
    return TrackTo(track, sign, _signed_axis(con.up_axis)[0], con.use_target_z)


def _transformation(con: Any, owner: Any) -> Constraint:
    ends = [
        ChannelRange(_ends(con, f"{end}_min", channel), _ends(con, f"{end}_max", channel))
        for end, channel in (("from", con.map_from), ("to", con.map_to))
    ]
    mix = {"LOCATION": con.mix_mode, "ROTATION": con.mix_mode_rot, "SCALE": con.mix_mode_scale}
    names = con.map_to_x_from, con.map_to_y_from, con.map_to_z_from
    x, y, z = map("XYZ".index, names)
    mode, order = con.from_rotation_mode, _order_of(owner)
    is_euler = mode == "AUTO" or mode in EULER_ORDERS
    return Transformation(
        (con.map_from, con.map_to),
        (ends[0], ends[1]),
        (x, y, z),
        con.use_motion_extrapolate,
        mix[con.map_to],
        "EULER" if is_euler else mode,
        (
            order if mode == "AUTO" else _order_named(mode),
            order if con.to_euler_order == "AUTO" else _order_named(con.to_euler_order),
        ),
    )


READERS: dict[str, Callable[[Any, Any], Constraint]] = {
    "CHILD_OF": _child_of,
    "COPY_LOCATION": lambda con, _: CopyLocation(_flags(con, "use"), _signs(con), con.use_offset),
    COPY_ROTATION: lambda con, owner: CopyRotation(
        _flags(con, "use"), _signs(con), con.mix_mode, _order(con, owner)
    ),
    "COPY_SCALE": lambda con, _: CopyScale(
        _flags(con, "use"), con.power, con.use_make_uniform, con.use_offset, con.use_add
    ),
    "COPY_TRANSFORMS": lambda con, _: CopyTransforms(con.remove_target_shear, con.mix_mode),
    "DAMPED_TRACK": lambda con, _: DampedTrack(AXES[con.track_axis.removeprefix("TRACK_")]),
    "FLOOR": _floor,
    "LIMIT_DISTANCE": _limit_distance,
    "LIMIT_LOCATION": lambda con, _: LimitLocation(range_of(con)),
    "LIMIT_ROTATION": _limit_rotation,
    "LIMIT_SCALE": lambda con, _: LimitScale(range_of(con)),
    "LOCKED_TRACK": lambda con, _: LockedTrack(
        _signed_axis(con.lock_axis)[0], *_signed_axis(con.track_axis)
    ),
    "PIVOT": _pivot,
    "STRETCH_TO": _stretch_to,
    "TRACK_TO": _track_to,
    "TRANSFORM": _transformation,
}
"""For each type of constraint, the function that reads its settings from it and its owner. Armature
constraints also have targets to read: see `read_armature`."""


def read_armature(con: Any, owner: Any) -> tuple[Armature, list[Point]]:
    """Return an Armature constraint and its target bones.

    If a target with a weight is missing, it has neither target bones nor any effect.

    Args:
        con: The constraint.
        owner: The bone or object that has the constraint.
    """
    targets = [target for target in con.targets if target.weight > 0.0]
    points = [target_point(target.target, target.subtarget) for target in targets]
    moving = [point for point in points if point is not None and point.skeleton is not None]
    bones: list[DeformBone] = []
    for target, point in zip(targets, moving if len(moving) == len(points) else (), strict=False):
        rig, rest = cast(Skeleton, point.skeleton), cast(Skeleton, point.skeleton).rest(point.bone)
        envelope = None
        if con.use_bone_envelopes or rest.use_envelope_multiply:
            radii = rest.head_radius, rest.tail_radius
            ends = vector(rest.head_local), vector(rest.tail_local)
            envelope = Envelope(*ends, radii, rest.envelope_distance)
        bones.append(DeformBone(target.weight, rig.rest_frame(point.bone), envelope))
    is_bound = isinstance(owner, bpy.types.PoseBone) and not con.use_current_location
    bound_at = vector(owner.bone.head_local) if is_bound else None
    return Armature(bones, con.use_deform_preserve_volume, bound_at), moving[: len(bones)]


def _order(con: Any, owner: Any) -> Order:
    """Return the Euler order of a constraint, or of its owner if set to Default."""
    return _order_of(owner) if con.euler_order == "AUTO" else _order_named(con.euler_order)


def _order_of(owner: Any) -> Order:
    """Return the Euler order of a bone or object; XYZ if it uses another rotation mode."""
    return _order_named(owner.rotation_mode if owner is not None else "XYZ")


def _order_named(name: str) -> Order:
    return EULER_AXES[EULER_ORDERS.index(name) if name in EULER_ORDERS else 0]


def _target_owner(con: Any) -> Any:
    """Return the bone or object that a constraint has as its target."""
    target = con.target
    bones = target.pose.bones if con.subtarget and target is not None and target.pose else {}
    return bones.get(con.subtarget, target)


def _signed_axis(name: str) -> tuple[int, float]:
    """Return the axis of a direction, as in ``TRACK_NEGATIVE_X``, and its sign."""
    return "XYZ".index(name[-1]), -1.0 if "NEGATIVE" in name else 1.0


def _ends(con: Any, end: str, channel: str) -> Vec:
    """Return an end of a channel's range.

    Args:
        con: The Transformation constraint.
        end: The prefix of the properties, which includes ``min`` or ``max``.
        channel: The channel.
    """
    suffix = {"LOCATION": "", "ROTATION": "_rot", "SCALE": "_scale"}[channel]
    x, y, z = (getattr(con, f"{end}_{axis}{suffix}") for axis in "xyz")
    return x, y, z


def _flags(con: Any, prefix: str) -> Flags:
    """Return the X, Y and Z flags whose names start with a prefix."""
    x, y, z = (getattr(con, f"{prefix}_{axis}") for axis in "xyz")
    return x, y, z


def _signs(con: Any) -> Vec:
    x, y, z = con.invert_x, con.invert_y, con.invert_z
    return -1.0 if x else 1.0, -1.0 if y else 1.0, -1.0 if z else 1.0


def range_of(con: Any) -> Range:
    """Return the range of a Limit Location or Limit Scale constraint."""
    least = (
        con.min_x if con.use_min_x else -inf,
        con.min_y if con.use_min_y else -inf,
        con.min_z if con.use_min_z else -inf,
    )
    most = (
        con.max_x if con.use_max_x else inf,
        con.max_y if con.use_max_y else inf,
        con.max_z if con.use_max_z else inf,
    )
    return Range(least, most)
