"""Recognizing the body of an armature: its up and forward directions, and its limbs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import dist
from typing import Any, Final, cast

import bpy
from mathutils import Vector

from fabrik_solver.core.vectors import Vec
from fabrik_solver.motion.anatomy import (
    SURE,
    UP,
    RestBone,
    better_than,
    possible_body,
    recognize,
)
from fabrik_solver.motion.anatomy.thresholds import LEAST_BONES, NEAR

from ..blender.axes import AXES, nearest_axis
from ..blender.clip import Clip
from ..blender.rotation import floats
from ..blender.session import part
from .body import Body, Finders, LooseEnd, Rig, Row
from .flexion import flexion_of
from .foot import feet_of
from .loose import attached, loose_ends
from .rig import PlainRig
from .rigify import RigifyRig

KINDS: Final[tuple[Rig, ...]] = (RigifyRig(), PlainRig())
"""The kinds of rigs; the first that has bones in an armature is used."""

FINDERS: Final = Finders(flexion_of, feet_of)

OUTER: Final = {"LEGS", "ARMS", "FEET", "HANDS"}
"""The parts a body may lack because its hands or feet aren't parented to its limbs."""

LYING: Final = ("Z", "Y", "NEGATIVE_Y")
"""The axes that may point up in a lying character. Importers use Z or Y; Blender writes BVH files
with Z up, and reads them with Y up by default."""


def body_of(armature: bpy.types.Object, bone: str = "", up_axis: str = "") -> Body:
    """Recognize the body of an armature, from its rest pose and the object's orientation.

    If the rest pose doesn't stand, as in many captures, frames of its animation are examined too.
    The up axis is chosen as in `standing_body`. If no pose stands, for example because the body
    lies down, the axes of `LYING` are tried.

    Args:
        armature: The armature.
        bone: A bone of the body, if the armature has several; bones of the others are left out.
        up_axis: Its axis that points up. If empty, the axis that points up at present.
    """
    top = figure_among(armature, figures(armature), bone) if bone else ""
    return _looked_at(armature, (up_axis or _up_axis(armature), *LYING), top)


class _Looks(dict[int, "_Looked"]):
    """The results of recognition in this session, by the session UID of the armature."""


class _Looked:
    """The results of recognition in an armature, valid while its bones stay the same.

    Attributes:
        armature: The armature; undo may replace it.
        bones: The bones, as `_revision` returns them.
        rig: Its kind of rig.
        results: The result of each request, with the revision of the examined clip; None if no clip
            was examined.
    """

    def __init__(self, armature: bpy.types.Object, bones: object) -> None:
        """Find the kind of rig."""
        self.armature = armature
        self.bones = bones
        self.rig = next((rig for rig in KINDS if rig.rows(armature)), KINDS[-1])
        self.results: dict[object, tuple[Any, object]] = {}


def _looked(armature: bpy.types.Object) -> _Looked:
    """Return the results for an armature with its current bones."""
    looks, bones = part(_Looks), _revision(armature)
    looked = looks.get(armature.session_uid)
    if looked is None or looked.armature != armature or looked.bones != bones:
        looked = looks[armature.session_uid] = _Looked(armature, bones)
    return looked


def _remembered(
    armature: bpy.types.Object,
    asked: object,
    look: Callable[[bpy.types.Object, Rig, Clip], Any],
    clip: Clip | None = None,
) -> Any:
    """Return the cached result of a request for an armature with its current bones and clip.

    Args:
        armature: The armature, or its evaluated copy, which doesn't outlive its depsgraph.
        asked: The request.
        look: Computes the result from the armature, its kind of rig and the clip.
        clip: The caller's clip, which is marked as read if the result depends on it.
    """
    armature = cast(bpy.types.Object, armature.original)
    looked = _looked(armature)
    remembered = looked.results.get(asked)
    if remembered is None or remembered[1] is not None:
        new = Clip(armature)
        if remembered is None or remembered[1] != new.revision:
            result = look(armature, looked.rig, new)
            remembered = looked.results[asked] = result, new.revision if new.is_read else None
    if clip is not None and remembered[1] is not None:
        clip.is_read = True
    return remembered[0]


def _revision(armature: bpy.types.Object) -> tuple[object, ...]:
    """Return everything about an armature's bones that recognition uses, in a comparable form."""
    bones = cast("bpy.types.Armature", armature.data).bones
    parents = [above.name if (above := bone.parent) else "" for bone in bones]
    deforms = [False] * len(bones)
    bones.foreach_get("use_deform", deforms)
    rests = [floats(bones, name, size) for name, size in RESTS]
    return bones.keys(), parents, deforms, rests, [rig.marks(armature) for rig in KINDS]


RESTS: Final = (("head_local", 3), ("tail_local", 3), ("matrix_local", 16))
"""The rest pose of a bone, by the names and sizes of its properties."""


def figures(armature: bpy.types.Object) -> list[str]:
    """Return the topmost bone of each body, if there are several in an armature.

    There are several if sibling bones each carry a whole body. The parents of these siblings belong
    to none of the bodies.
    """
    up = _up_axis(armature)
    tops: list[str] = _remembered(armature, ("FIGURES", up), partial(_figures, up))
    return tops


def _figures(up: str, armature: bpy.types.Object, rig: Rig, clip: Clip) -> list[str]:
    if not rig.is_keyed:
        return []
    rows = rig.rows(armature)
    whole = _looked_at(armature, (up, *LYING), "", clip)
    branches = _branches(rows)
    trunk = {whole.names[i] for i in (whole.anatomy.hips, *whole.anatomy.spine) if i >= 0}
    above = [rows[row.parent].name for row in branches if row.parent >= 0]
    if whole.anatomy.sureness >= SURE and not trunk.isdisjoint(above):
        return []  # These are its arms and its head.
    tops: dict[str, Body] = {}
    for top in [row.name for row in branches] if len(branches) > 1 else ():
        figure = _looked_at(armature, (up,), top, clip)
        is_layer = any(_hips_between(armature, figure, other) < NEAR for other in tops.values())
        if figure.anatomy.sureness >= SURE and not is_layer:
            tops[top] = figure
    return [*tops] if len(tops) > 1 else []


def _branches(rows: Sequence[Row]) -> list[Row]:
    """Return the large sibling branches that may each be a body."""
    counts = [1] * len(rows)
    for i, row in reversed([*enumerate(rows)]):
        if row.parent >= 0:
            counts[row.parent] += counts[i]
    above = -1
    while True:
        large = [
            i for i, row in enumerate(rows) if row.parent == above and counts[i] >= LEAST_BONES
        ]
        if len(large) != 1:
            return [rows[i] for i in large]
        above = large[0]


def _hips_between(armature: bpy.types.Object, *pair: Body) -> float:
    """Return the distance between the hips of two bodies, in heights of the larger one."""
    bones = cast("bpy.types.Armature", armature.data).bones
    a, b = (body.matrix(bones[body.names[body.anatomy.hips]]).translation for body in pair)
    return (a - b).length / max([body.size for body in pair])


def figure_among(armature: bpy.types.Object, tops: Sequence[str], bone: str) -> str:
    """Return the topmost bone of the body that contains a bone; empty if none does."""
    bones = cast("bpy.types.Armature", armature.data).bones
    above = (
        {bone, *(parent.name for parent in bones[bone].parent_recursive)} if bone in bones else ()
    )
    return next((top for top in tops if top in above), "")


def meant_figure(armature: bpy.types.Object) -> str:
    """Return the topmost bone of the body that the user means, if there are several.

    This is the body of the active bone, or else the first body.
    """
    tops = figures(armature)
    active = cast("bpy.types.Armature", armature.data).bones.active
    bone = active.name if active is not None else ""
    return figure_among(armature, tops, bone) or next(iter(tops), "")


def standing_body(armature: bpy.types.Object) -> Body:
    """Recognize the body of an armature that stands upright in the world.

    Some importers keep Y up and rotate the object, others rotate the bones. Up is the axis of the
    armature that points up most in world space.
    """
    return _looked_at(armature, (_up_axis(armature),))


def _looked_at(
    armature: bpy.types.Object, axes: Sequence[str], top: str = "", clip: Clip | None = None
) -> Body:
    """Return a body as `_look` recognizes it, with the caller's `clip`."""
    look = partial(_look, axes, top)
    body: Body = _remembered(armature, (tuple(axes), top), look, clip)
    return body


def _look(axes: Sequence[str], top: str, armature: bpy.types.Object, rig: Rig, clip: Clip) -> Body:
    """Recognize a body; if it lacks hands or feet, include those not parented to its limbs.

    Args:
        axes: The possible up axes; the first one is preferred.
        top: The topmost bone of the body; empty for the only body.
        armature: The armature.
        rig: Its kind of rig.
        clip: Its clip.
    """
    rows = _below(rig.rows(armature), top) if top else rig.rows(armature)
    look = partial(_recognize, armature, rig)
    if not rig.is_keyed:
        return look(axes[0], rows)
    body = _best_looked_at(look, axes, rows, clip)
    lacking = body.anatomy.missing()
    if not OUTER & {*lacking}:
        return body
    possible = {body.names[i] for i in possible_body(body.bones)}
    ends = loose_ends(armature, clip, possible, {row.name for row in rows})
    for some in _in_turn(body, ends):
        whole = _best_looked_at(look, axes, attached(rows, some), clip)
        if len(whole.anatomy.missing()) < len(lacking):
            outer = {whole.names[limb.end] for limb in whole.anatomy.limbs if limb.end >= 0}
            return replace(whole, loose={name: some[name] for name in some if name in outer})
    return body


def _in_turn(body: Body, ends: dict[str, LooseEnd]) -> list[dict[str, LooseEnd]]:
    """Return the loose ends to try: first at limbs without a hand or foot, then at all limbs.

    Other joints may coincide by chance, such as those of a short arm and a large head.
    """
    limbs = [limb for limb in body.anatomy.limbs if limb.is_bare]
    bare = {body.names[limb.end if limb.end >= 0 else limb.bones[-1]] for limb in limbs}
    of_bare = {name: end for name, end in ends.items() if end.limb in bare}
    return [*filter(None, (of_bare, ends if ends != of_bare else {}))]


def _best_looked_at(
    look: Callable[..., Body], axes: Sequence[str], rows: Sequence[Row], clip: Clip
) -> Body:
    """Recognize a body in its rest pose, or in its animation if it is clearer there.

    Args:
        look: Recognizes the body for an up axis, some bones and optionally a clip.
        axes: The possible up axes; the first one is preferred.
        rows: The bones.
        clip: The clip.
    """
    standing = look(axes[0], rows)
    if standing.anatomy.sureness >= SURE:
        return standing
    if clip.frames:
        standing = look(axes[0], rows, clip)
    if standing.anatomy.sureness >= SURE:
        return standing
    others = [look(axis, rows, clip) for axis in axes[1:] if axis != axes[0]]
    best = max(others, key=lambda body: body.anatomy.sureness, default=standing)
    return best if best.anatomy.sureness >= better_than(standing.anatomy) else standing


def _up_axis(armature: bpy.types.Object) -> str:
    """Return the axis of an armature that points up most in world space."""
    world_up = armature.matrix_world.to_3x3().inverted_safe() @ Vector(UP)
    return nearest_axis(world_up, AXES)


def _recognize(
    armature: bpy.types.Object, rig: Rig, up: str, rows: Sequence[Row], clip: Clip | None = None
) -> Body:
    """Return the body of an armature for an axis that points up.

    Args:
        armature: The armature.
        rig: Its kind of rig.
        up: The up axis, one of `AXES`.
        rows: The bones.
        clip: The clip to examine where the rest pose isn't enough; None to ignore it.
    """
    turn = Vector(UP).rotation_difference(Vector(AXES[up]))
    back: Any = turn.inverted()
    rest = [
        RestBone(
            row.title,
            row.parent,
            (back @ row.bone.head_local).to_tuple(),
            (back @ row.bone.tail_local).to_tuple(),
            row.deforms,
            row.is_foot,
        )
        for row in rows
    ]
    frames = clip.frames if clip is not None else []

    def heads_at(frame: float) -> list[Vec]:
        matrices = cast(Clip, clip).matrices(frame)
        return [(back @ matrices[row.name].translation).to_tuple() for row in rows]

    anatomy = recognize(rest, map(heads_at, frames))
    frame = frames[anatomy.pose] if anatomy.pose >= 0 else None
    shown = [bone.head for bone in rest] if frame is None else heads_at(frame)
    extents = [max(values) - min(values) for values in zip(*shown, strict=True)]
    limbs = [(*limb.bones, limb.end) for limb in anatomy.limbs if limb.end >= 0]
    reaches = [dist(shown[bones[0]], shown[bones[-1]]) for bones in limbs]
    is_standing = anatomy.hips >= 0
    size = max([anatomy.height, *reaches] if is_standing else extents, default=0.0)
    posed = {} if frame is None else cast(Clip, clip).matrices(frame)
    bones = [bone._replace(name=row.name) for bone, row in zip(rest, rows, strict=True)]
    return Body(armature, rig, bones, anatomy, size, up, turn, FINDERS, frame, posed)


def _below(rows: Sequence[Row], top: str) -> list[Row]:
    """Return a bone and its descendants."""
    index: dict[int, int] = {}
    for i, row in enumerate(rows):
        if row.name == top or row.parent in index:
            index[i] = len(index)
    return [
        row._replace(parent=index.get(row.parent, -1)) for i, row in enumerate(rows) if i in index
    ]
