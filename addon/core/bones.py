"""Bones as Blender poses them, and the rotations that bring their joints to solved positions.

Everything is in armature space: only there do the bones of a chain keep their lengths when the
armature object is scaled unevenly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import acos, cos, dist, pi, sin, sqrt

from .chain import Chain, Goal, Point, Solution, State
from .frames import Frame, point_in
from .solve import solve
from .vectors import (
    IDENTITY,
    NO_TURN,
    ORIGIN,
    Mat3,
    Quat,
    Vec,
    add,
    cross,
    dot,
    length,
    mat_apply,
    mat_columns,
    mat_determinant,
    mat_direction_before,
    mat_from_columns,
    mat_product,
    mat_stretched,
    quat_between,
    quat_matrix,
    quat_mix,
    quat_product,
    quat_turn,
    quat_unit,
    scaled,
    sub,
    unit,
)

NO_STRETCH: Vec = (1.0, 1.0, 1.0)

SOLVED = 0.99
"""The share of the tolerance for the positions; the rest is for the bones to follow them."""

UNEVEN_ROUNDS = 60
"""The most solves for one chain whose lengths change as it turns (see `pose_chain`)."""

WHOLE_ROUNDS = 8
"""The solves in which the new lengths are taken as they are; later ones take part of the change."""


@dataclass(frozen=True, slots=True)
class Bone:
    """What Edit Mode fixes of a bone.

    Attributes:
        rest: Rest axes in the space of the parent's rest bone, in armature space without parent.
        head: Rest position of the head in that space, whose origin is the parent's head.
        length: Rest length.
        parent_rest: Rest axes of the parent in armature space.
        inherit_scale: Blender's ``inherit_scale``: ``'FULL'``, ``'FIX_SHEAR'``, ``'ALIGNED'``,
            ``'AVERAGE'``, ``'NONE'`` or ``'NONE_LEGACY'``.
        inherit_rotation: Blender's ``use_inherit_rotation``.
        local_location: Blender's ``use_local_location``.
    """

    rest: Mat3
    head: Vec
    length: float
    parent_rest: Mat3 = IDENTITY
    inherit_scale: str = "FULL"
    inherit_rotation: bool = True
    local_location: bool = True


@dataclass(frozen=True, slots=True)
class Local:
    """The local channels of a posed bone: location, unit quaternion and scale."""

    location: Vec = ORIGIN
    rotation: Quat = NO_TURN
    scale: Vec = NO_STRETCH


@dataclass(frozen=True, slots=True)
class Posture:
    """A solved chain.

    Attributes:
        rotations: The local rotation of each bone, root first.
        frames: The frame of each bone under these rotations, in armature space.
        tip: The position of the tip under these rotations, in armature space.
        state: Whether the tip is on the target; with a partial influence, whether it would be.
        solution: The joints that were aimed at.
    """

    rotations: tuple[Quat, ...]
    frames: tuple[Frame, ...]
    tip: Vec
    state: State
    solution: Solution


def bone_frame(bone: Bone, local: Local, parent: Frame) -> Frame:
    """Return where a bone stands, given its parent's frame; `WHOLE` if it has no parent.

    The same as Blender's ``Bone.convert_local_to_pose``.
    """
    axes, post_scale = inherited_axes(bone, parent[0])
    turned = mat_product(axes, quat_matrix(local.rotation))
    return mat_stretched(mat_stretched(turned, local.scale), post_scale), head_of(
        bone, local, parent
    )


def head_of(bone: Bone, local: Local, parent: Frame) -> Vec:
    """Return where the bone's head stands: a fixed point of the parent, whatever is inherited."""
    return point_in(parent, head_in_parent(bone, local))


def head_in_parent(bone: Bone, local: Local) -> Vec:
    """Return the head in the space of the parent's posed bone."""
    if local.location == ORIGIN:
        return bone.head
    if bone.local_location:
        return add(bone.head, mat_apply(bone.rest, local.location))
    return add(bone.head, local.location)


def inherited_axes(bone: Bone, parent: Mat3) -> tuple[Mat3, Vec]:
    """Return the axes in which the bone's rotation acts, and the scale put on its result.

    Blender's rules for Inherit Scale and Inherit Rotation, as in its manual's page on the
    relations of bones, checked against ``Bone.convert_local_to_pose`` by the tests.
    """
    mode = bone.inherit_scale
    if mode == "FULL" and bone.inherit_rotation:
        return mat_product(parent, bone.rest), NO_STRETCH
    if bone.inherit_rotation:
        base, post_scale = _base_of_parent(mode, parent)
    else:
        base, post_scale = _base_of_rest(mode, parent, bone.parent_rest)
    if mode == "AVERAGE":
        size = abs(mat_determinant(parent)) ** (1.0 / 3.0)
        base = mat_stretched(base, (size, size, size))
    axes = mat_product(base, bone.rest)
    return (_squared(axes, keep_scale=True) if mode == "FIX_SHEAR" else axes), post_scale


def _base_of_parent(mode: str, parent: Mat3) -> tuple[Mat3, Vec]:
    """Return what a bone that inherits rotation turns in, and the scale put on its result."""
    if mode in ("NONE", "AVERAGE"):
        return _squared(parent), NO_STRETCH
    if mode == "NONE_LEGACY":
        return _with_column_lengths(parent, NO_STRETCH), NO_STRETCH
    if mode == "ALIGNED":
        square = _squared(parent, keep_scale=True)
        return _with_column_lengths(square, NO_STRETCH), _column_lengths(square)
    return parent, NO_STRETCH


def _base_of_rest(mode: str, parent: Mat3, parent_rest: Mat3) -> tuple[Mat3, Vec]:
    """Return the same for a bone that does not inherit rotation."""
    if mode == "FULL":
        return mat_stretched(parent_rest, _column_lengths(parent)), NO_STRETCH
    if mode == "FIX_SHEAR":
        return mat_stretched(parent_rest, _column_lengths_of_volume(parent)), NO_STRETCH
    if mode == "ALIGNED":
        return parent_rest, _column_lengths_of_volume(parent)
    return parent_rest, NO_STRETCH


def _column_lengths(m: Mat3) -> Vec:
    x, y, z = mat_columns(m)
    return (length(x), length(y), length(z))


def _column_lengths_of_volume(m: Mat3) -> Vec:
    """Return the columns' lengths, resized so that their box has the volume of the sheared one."""
    sizes = _column_lengths(m)
    box = sizes[0] * sizes[1] * sizes[2]
    if box == 0.0:
        return sizes
    return scaled(sizes, abs(mat_determinant(m) / box) ** (1.0 / 3.0))


def _with_column_lengths(m: Mat3, sizes: Vec) -> Mat3:
    x, y, z = mat_columns(m)
    return mat_from_columns(
        scaled(unit(x) or ORIGIN, sizes[0]),
        scaled(unit(y) or ORIGIN, sizes[1]),
        scaled(unit(z) or ORIGIN, sizes[2]),
    )


def _squared(m: Mat3, keep_scale: bool = False) -> Mat3:
    """Return axes at right angles: Y as it is, X and Z moved by equal angles; length 1 or kept.

    With ``keep_scale`` the volume and the proportion of X to Z stay as they were.
    """
    x, y, z = mat_columns(m)
    y_unit = unit(y)
    if y_unit is not None:
        x = sub(x, scaled(y_unit, dot(x, y_unit)))
        z = sub(z, scaled(y_unit, dot(z, y_unit)))
        if not keep_scale:
            y = y_unit
    x_size, z_size = length(x), length(z)
    x_unit, z_unit = unit(x) or ORIGIN, unit(z) or ORIGIN
    cosine = dot(x_unit, z_unit)
    shrink = 1.0
    if 1e-4 < abs(cosine) < 1.0 - 1.1920929e-07:
        angle = acos(cosine)
        half_way = angle + 0.5 * (0.5 * pi - angle)
        upright = unit(sub(x_unit, scaled(z_unit, cosine))) or ORIGIN
        x_unit = add(scaled(upright, sin(half_way)), scaled(z_unit, cos(half_way)))
        z_unit = unit(cross(cross(x_unit, z_unit), x_unit)) or ORIGIN
        shrink = sqrt(sin(angle))
    if not keep_scale:
        return mat_from_columns(x_unit, y, z_unit)
    return mat_from_columns(scaled(x_unit, x_size * shrink), y, scaled(z_unit, z_size * shrink))


def pose_chain(
    bones: Sequence[Bone],
    locals_: Sequence[Local],
    tip_in_bone: Vec,
    parent: Frame,
    goal: Goal,
    rest_bend: Vec | None = None,
    solver: str = "FABRIK",
    iterations: int = 20,
    tolerance: float = 1e-4,
    influence: float = 1.0,
) -> Posture:
    """Turn the bones of a chain so that its tip is on the target.

    Positions are solved first; then, from the root on, each bone swings by the least turn from
    the direction that its parent carries it to, to the solved one. It keeps its twist, and its
    location and scale channels are not touched.

    A bone under uneven scale changes its length when it turns. The positions are then solved
    again with the lengths that the bones turned out to have, until the tip is in place. Lengths
    that swing to and fro are caught by taking an ever smaller share of their change.

    Args:
        bones: The chain, root first, each the parent of the next.
        locals_: The FK input of each bone.
        tip_in_bone: Position of the tip in the space of the last bone's posed axes.
        parent: Frame of the root bone's parent, `WHOLE` if it has none.
        goal: Target and pole in armature space.
        rest_bend: Side to which a straight chain bends, in the root bone's own axes; its Z axis
            if None, which is a turn about its X axis.
        solver: See `solve`.
        iterations: See `solve`.
        tolerance: See `solve`.
        influence: 0 gives the FK input, 1 the solution, between them each bone turns part of the
            way.

    Raises:
        ValueError: If a number is not finite, or the solver does not fit the chain.
    """
    # Where each bone carries the next joint, in the space of its own posed axes.
    arms = [head_in_parent(bones[i], locals_[i]) for i in range(1, len(bones))] + [tip_in_bone]
    inputs = [local.rotation for local in locals_]
    frames = _placed(bones, locals_, inputs, parent)
    tip = point_in(frames[-1], tip_in_bone)
    bend = mat_apply(frames[0][0], rest_bend or (0.0, 0.0, 1.0))
    joints = (*[head for _, head in frames], tip)
    chain = Chain(joints, bend)
    rounds = 0
    while True:
        solution = solve(chain, goal, solver, iterations, SOLVED * tolerance)
        rotations, frames = _swung(bones, locals_, arms, parent, solution.joints)
        tip = point_in(frames[-1], tip_in_bone)
        heads = [head for _, head in frames] + [tip]
        lengths = [dist(heads[i], heads[i + 1]) for i in range(len(bones))]
        missed = dist(tip, solution.joints[-1])
        rounds += 1
        if missed <= (1.0 - SOLVED) * tolerance * sum(lengths) or rounds == UNEVEN_ROUNDS:
            break
        share = min(1.0, WHOLE_ROUNDS / rounds)
        aimed = zip(chain.bone_lengths(), lengths, strict=True)
        chain = Chain(joints, bend, tuple([old + share * (new - old) for old, new in aimed]))
    reached = dist(tip, goal.target) <= (1.0 + 1e-9) * tolerance * sum(lengths)
    if influence != 1.0:
        pairs = zip(inputs, rotations, strict=True)
        rotations = [quat_mix(given, solved, influence) for given, solved in pairs]
        frames = _placed(bones, locals_, rotations, parent)
        tip = point_in(frames[-1], tip_in_bone)
    state: State = "REACHED" if reached else "OUT_OF_REACH"
    return Posture(tuple(rotations), tuple(frames), tip, state, solution)


def _placed(
    bones: Sequence[Bone],
    locals_: Sequence[Local],
    rotations: Sequence[Quat],
    parent: Frame,
) -> list[Frame]:
    """Return the frames of the bones under the given rotations."""
    frames: list[Frame] = []
    for bone, local, rotation in zip(bones, locals_, rotations, strict=True):
        parent = bone_frame(bone, Local(local.location, rotation, local.scale), parent)
        frames.append(parent)
    return frames


def _swung(
    bones: Sequence[Bone],
    locals_: Sequence[Local],
    arms: Sequence[Vec],
    parent: Frame,
    joints: Sequence[Point],
) -> tuple[list[Quat], list[Frame]]:
    """Point each bone, from the root on, at its solved next joint; return rotations and frames."""
    rotations: list[Quat] = []
    frames: list[Frame] = []
    for bone, local, arm, joint in zip(bones, locals_, arms, joints[1:], strict=True):
        axes, post_scale = inherited_axes(bone, parent[0])
        x, y, z = joint
        head = head_of(bone, local, parent)
        carried = quat_turn(local.rotation, _times(_times(arm, local.scale), post_scale))
        wanted = mat_direction_before(axes, sub((x, y, z), head))
        side = quat_turn(local.rotation, (1.0, 0.0, 0.0))
        rotation = quat_unit(quat_product(quat_between(carried, wanted, side), local.rotation))
        rotations.append(rotation)
        turned = mat_product(axes, quat_matrix(rotation))
        parent = mat_stretched(mat_stretched(turned, local.scale), post_scale), head
        frames.append(parent)
    return rotations, frames


def _times(a: Vec, b: Vec) -> Vec:
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])
