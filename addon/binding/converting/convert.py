"""Blender's IK constraints made into ours, and back, with the pose kept.

A pole angle means another thing on either side: Blender turns an axis of the root bone to the pole,
and here the bend of the chain faces it. So the angle is reckoned from the FK pose, and then mended
by what the shown bend is off, until it is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import atan2, cos, pi, remainder, sin
from typing import Any, NamedTuple

import bpy
from mathutils import Quaternion, Vector

from .. import animation, editing
from ..access import pose_bones, settings
from ..chain_plan import ProblemError, listed, rest_bend
from ..muting import muting
from ..named_chain import NamedChain, named_chain
from ..skeleton import skeleton_of
from .counterpart import (
    ANIMATED,
    from_native,
    give_native_joint,
    has_ik,
    keep_native_joint,
    refuse_native,
    refuse_own,
    to_native,
)
from .curve_moves import Move, animated_below, move_curves
from .poses import (
    Change,
    Shown,
    angle_about,
    bend,
    change,
    joints,
    shown_pose,
    size_world,
    swivel,
    take_as_fk,
)

NEAR = 1e-3
"""A pose that is off by more, as a share of the chain's length or in tens of radians, is another
one, and the chain gets the shown pose as its FK pose."""

FITTED = 1e-6
"""A bend that is off by less, in radians, is where it was."""

MOST_FITS = 16

SLOWEST, FASTEST = 0.2, 5.0
"""By how much a chain swivels with its pole angle at least and at most, as far as is believed."""

NATIVE_NAME = "IK"
"""What Blender calls its IK constraints, so that it tells nothing of them."""


class Conversion(NamedTuple):
    """What came of converting.

    Attributes:
        names: The names of the new constraints.
        notes: What has no counterpart, or has changed, in a sentence each.
        moved: The farthest that a head or tail of a bone went by it, in metres in world space.
        turned: The most that a bone turned by it, in radians.
        off: The constraints that do not show the pose of before, as the notes call them.
    """

    names: list[str]
    notes: list[str]
    moved: float
    turned: float
    off: list[str]


@dataclass(slots=True)
class Link:
    """A new constraint, and what it takes the place of.

    Attributes:
        holder: The new constraint.
        chain: Its chain.
        title: How notes call it.
        turn: Gives its pole angle, given where the joints are in the FK pose, its axis and bend.
        is_on: Whether it is to be on.
        before: The pole angle of the old one.
        old: The path of the old one.
    """

    holder: Any
    chain: NamedChain
    title: str
    turn: Callable[[Any, Vector, Vector], float]
    is_on: bool
    before: float
    old: str

    @property
    def has_pole(self) -> bool:
        """Whether the chain faces a pole."""
        return self.holder.pole_target is not None

    @property
    def is_full(self) -> bool:
        """Whether the pose that is shown is its alone."""
        return self.is_on and self.holder.influence == 1.0


def convert_from_blender(
    armature: bpy.types.Object, bones: Collection[str] | None = None
) -> Conversion:
    """Make Blender's IK constraints ours, with their animation, and keep the pose.

    Args:
        armature: The armature object, in the scene and not in the NLA's tweak mode.
        bones: Names of the bones whose constraints are converted; None for all.

    Raises:
        ProblemError: If none can be converted; then nothing has changed.
    """
    own = pose_bones(armature)
    picked = [
        (bone.name, name)
        for bone in own
        if bones is None or bone.name in bones
        for name in has_ik(bone)
    ]
    if not picked:
        where = "The armature has" if bones is None else "The selected bones have"
        raise ProblemError(f"{where} no Inverse Kinematics constraint of Blender's")
    before = shown_pose(armature)
    notes: list[str] = []
    made: list[tuple[str, str]] = []
    for bone, name in picked:
        try:
            found = _add_own(armature, own[bone], own[bone].constraints[name])
        except ProblemError as problem:
            notes.append(str(problem))
            continue
        made.append((bone, name))
        notes += found
    if not made:
        raise ProblemError(" ".join(f"{note}." for note in notes))
    items = settings(armature).constraints
    first = len(items) - len(made)
    links = [
        _own_link(own[b], own[b].constraints[n], items[first + i]) for i, (b, n) in enumerate(made)
    ]
    for bone, name in made:
        # It does nothing from now on. Removing it would take its drivers away as well.
        own[bone].constraints[name].target = None
    for name in dict.fromkeys(name for link in links for name in link.chain.bones):
        notes += keep_native_joint(own[name])
    outcome, off = _settle(armature, links, before, notes)
    for link in links:
        notes += _move_animation(armature, link, {**ANIMATED, "mute": "enabled"})
    for bone, name in made:
        own[bone].constraints.remove(own[bone].constraints[name])
    settings(armature).active_index = first
    editing.changed(armature)
    bpy.context.view_layer.update()
    return Conversion([link.holder.name for link in links], notes, *outcome, off)


def _add_own(armature: bpy.types.Object, bone: Any, con: Any) -> list[str]:
    """Add a constraint of ours, turned off, for one of Blender's.

    Returns:
        What has no counterpart.

    Raises:
        ProblemError: If it could not work, or would break another one; then nothing has changed.
    """
    refuse_native(bone, con)
    broken = editing.problems()
    items = settings(armature).constraints
    name = bone.name if _is_numbered(con.name, NATIVE_NAME) else con.name
    name = editing.free_name(armature, name)
    item = items.add()
    item.name = name
    notes = from_native(bone, con, item)
    item.enabled = False
    if problem := editing.new_problem(broken):
        items.remove(len(items) - 1)
        editing.changed(armature)
        raise ProblemError(f"“{con.name}” of “{bone.name}” stays Blender's: {problem}")
    return [f"“{name}”: {note}" for note in notes]


def _own_link(bone: Any, con: Any, item: Any) -> Link:
    theta = con.pole_angle

    def turn(root: Any, axis: Vector, side: Vector) -> float:
        return angle_about(axis, _up(root, theta), side)

    tip = pose_bones(bone.id_data)[item.bone]
    return Link(
        item, named_chain(item, tip), item.name, turn, not con.mute, theta, con.path_from_id() + "."
    )


def convert_to_blender(armature: bpy.types.Object, indices: Collection[int]) -> Conversion:
    """Make constraints of ours Blender's IK constraints, with their animation, and keep the pose.

    Args:
        armature: The armature object, in the scene and not in the NLA's tweak mode.
        indices: Places of the constraints in the list; at least one.

    Raises:
        ProblemError: If none can be converted; then nothing has changed.
    """
    own, items = pose_bones(armature), settings(armature).constraints
    before = shown_pose(armature)
    notes: list[str] = []
    chosen: list[int] = []
    for index in sorted(indices):
        try:
            refuse_own(items[index], own.get(items[index].bone))
        except ProblemError as problem:
            notes.append(str(problem))
        else:
            chosen.append(index)
    if not chosen:
        raise ProblemError(" ".join(f"{note}." for note in notes))
    made = [_add_native(own[items[index].bone], items[index], notes) for index in chosen]
    links = [
        _native_link(own[bone], own[bone].constraints[name], items[index])
        for index, (bone, name) in zip(chosen, made, strict=True)
    ]
    for name in dict.fromkeys(name for link in links for name in link.chain.bones):
        notes += give_native_joint(own[name])
    with muting(armature, chosen):
        outcome, off = _settle(armature, links, before, notes)
    back = {ours: theirs for theirs, ours in ANIMATED.items()}
    for link in links:
        notes += _move_animation(armature, link, back)
    for index in reversed(chosen):
        notes += _remove_own(armature, index)
    bpy.context.view_layer.update()
    return Conversion([name for _, name in made], notes, *outcome, off)


def _is_numbered(name: str, stem: str) -> bool:
    """Return whether a name is another one, or that with the number that Blender appends."""
    return re.fullmatch(rf"{re.escape(stem)}(\.\d+)?", name) is not None


def _add_native(bone: Any, item: Any, notes: list[str]) -> tuple[str, str]:
    con = bone.constraints.new("IK")
    con.name = NATIVE_NAME if _is_numbered(item.name, bone.name) else item.name
    notes += [f"“{item.name}”: {note}" for note in to_native(item, bone, con)]
    con.enabled = False
    return bone.name, con.name


def _native_link(bone: Any, con: Any, item: Any) -> Link:
    angle = item.pole_angle

    def turn(root: Any, axis: Vector, side: Vector) -> float:
        """Return by how much X and Z are mixed into what points where the pole is to be."""
        up: Vector = Quaternion(axis, -angle) @ side
        aside = axis.cross(up)
        x, z = root.col[0].to_3d(), root.col[2].to_3d()
        theta = atan2(-x.dot(aside), z.dot(aside))
        return theta if _up(root, theta).dot(up) > 0.0 else theta + pi

    return Link(
        con,
        named_chain(item, bone),
        item.name,
        turn,
        item.enabled,
        angle,
        item.path_from_id() + ".",
    )


def _remove_own(armature: bpy.types.Object, index: int) -> list[str]:
    try:
        editing.remove(armature, index)
    except ProblemError as problem:
        item = settings(armature).constraints[index]
        item.enabled = False
        return [f"“{item.name}” is turned off: {problem}"]
    return []


def _up(root: Any, theta: float) -> Vector:
    """Return what Blender's IK turns to the pole, given the frame of the chain's first bone."""
    return root.col[0].to_3d() * cos(theta) + root.col[2].to_3d() * sin(theta)


def _settle(
    armature: bpy.types.Object, links: Sequence[Link], before: Shown, notes: list[str]
) -> tuple[Change, list[str]]:
    """Let new constraints, which are off still, show the pose of before, and turn them on.

    Returns:
        By how much it is missed, and the titles of those whose chains miss it.
    """
    fk = shown_pose(armature)
    for link in links:
        if link.has_pole:
            axis, side = _fk_bend(armature, link.chain, fk)
            link.holder.pole_angle = _wrapped(link.turn(fk[link.chain.bones[0]], axis, side))
    for link in links:
        link.holder.enabled = link.is_on
    after = _fit(armature, links, before)
    off = [link for link in links if link.is_full and _is_off(armature, link, before, after)]
    if off:
        for link in off:
            notes += _take(armature, link, before)
        after = _fit(armature, links, before)
    missing = [
        link.title for link in links if link.is_on and _is_off(armature, link, before, after)
    ]
    return change(armature, before, after, before), missing


def _is_off(armature: bpy.types.Object, link: Link, before: Shown, after: Shown) -> bool:
    moved, turned = change(armature, before, after, link.chain.bones)
    return moved > NEAR * size_world(armature, link.chain, before) or turned > 10.0 * NEAR


def _take(armature: bpy.types.Object, link: Link, before: Shown) -> list[str]:
    """Let a chain have the shown pose as its FK pose, as far as that is not animated."""
    has_taken, is_animated = take_as_fk(armature, link.chain.bones, before)
    notes: list[str] = []
    if has_taken:
        notes.append(
            f"“{link.title}”: the pose of before is the chain's FK pose now, as it would bend "
            "otherwise from the old one"
        )
    if is_animated:
        notes.append(f"“{link.title}”: animated bones keep their FK pose, and may bend otherwise")
    return notes


def _fit(armature: bpy.types.Object, links: Sequence[Link], before: Shown) -> Shown:
    """Turn the pole angles until all chains bend as before, and return the pose."""
    turning = [link for link in links if link.has_pole and link.is_full]
    lacking = [0.0] * len(turning)
    steps = [0.0] * len(turning)
    after = shown_pose(armature)
    for _ in range(MOST_FITS):
        for i, link in enumerate(turning):
            wanted, found = (joints(armature, link.chain, pose) for pose in (before, after))
            turn = swivel(found, wanted)
            steps[i] = _step(turn, lacking[i], steps[i])
            lacking[i] = turn
            link.holder.pole_angle = _wrapped(link.holder.pole_angle + steps[i])
        if max(map(abs, lacking), default=0.0) < FITTED:
            break
        after = shown_pose(armature)
    return after


def _step(lacking: float, before: float, step: float) -> float:
    """Return by how much to turn a pole angle now.

    A chain does not swivel by as much as that: Blender's IK turns what faces the pole about the
    first bone, which may lie far off the line from root to tip.

    Args:
        lacking: By how much the chain has to swivel yet.
        before: By how much it had to before the last step.
        step: The last step; 0 if there was none.
    """
    rate = _wrapped(before - lacking) / step if step else 1.0
    return lacking / min(max(rate, SLOWEST), FASTEST)


def _fk_bend(armature: bpy.types.Object, chain: NamedChain, fk: Shown) -> tuple[Vector, Vector]:
    """Return the axis of a chain in its FK pose, and to which side it bends, or will bend."""
    points = joints(armature, chain, fk)
    found = bend(points)
    if found is not None:
        return found
    root = fk[chain.bones[0]]
    rig = skeleton_of(armature)
    tip = rig.index[chain.tip] if chain.tip else -1
    side = rest_bend(rig, [rig.index[name] for name in chain.bones], tip)
    axis: Vector = (points[-1] - points[0]).normalized()
    return axis, root.to_3x3() @ Vector(side or (0.0, 0.0, 1.0))


def _wrapped(angle: float) -> float:
    return remainder(angle, 2.0 * pi)


def _move_animation(
    armature: bpy.types.Object, link: Link, counterparts: dict[str, str]
) -> list[str]:
    """Let the animation of an old constraint go on in the new one.

    Returns:
        What cannot.
    """
    prefix = link.holder.path_from_id() + "."
    animated = animated_below(armature, link.old)
    moves: dict[str, Move | None] = {}
    lost: list[str] = []
    for name in animated:
        to = counterparts.get(name)
        is_opposite = name == "mute"
        if to is None or (is_opposite and "enabled" in animated):
            moves[link.old + name] = None
            lost.append(name)
            continue
        shift = link.holder.pole_angle - link.before if name == "pole_angle" else 0.0
        moves[link.old + name] = Move(prefix + to, shift, is_opposite)
    if moves:
        lost += [path[len(link.old) :] for path in move_curves(armature, moves)]
    notes = []
    if lost:
        notes.append(f"“{link.title}”: the animation of {listed(sorted(set(lost)))} is gone")
    if _goes_round(armature, prefix + "pole_angle"):
        notes.append(f"“{link.title}”: keys of Pole Angle go beyond 180°, where it stops")
    return notes


def _goes_round(armature: bpy.types.Object, path: str) -> bool:
    if path.startswith("fabrik."):
        return False
    values = [
        point.co[1]
        for curve in animation.all_curves(armature)
        if curve.data_path == path and curve.driver is None
        for point in curve.keyframe_points
    ]
    return any(abs(value) > pi + 1e-6 for value in values)
