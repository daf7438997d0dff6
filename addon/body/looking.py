"""Recognizing the character of an armature: its up and forward directions, and its limbs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, cast

import bpy
from mathutils import Matrix, Quaternion, Vector

from fabrik_solver.core.vectors import Vec
from fabrik_solver.motion.anatomy import (
    BETTER,
    SURE,
    UP,
    Anatomy,
    RestBone,
    possible_body,
    recognize,
)

from ..blender.axes import AXES
from ..blender.clip import Clip, clip_revision
from ..blender.errors import listed
from ..blender.messages import enumerated, joined, msg
from ..blender.rotation import floats
from ..blender.session import part
from ..blender.skeleton import vector
from .loose import DetachedEnd, detached_ends
from .rigify import original_bones, switched


class _Row(NamedTuple):
    """A bone that counts for a character.

    Attributes:
        name: Its name, or that of the bone of the metarig.
        bone: The bone.
        parent: The index of its parent, which comes before it; -1 for none.
        deforms: Whether it deforms a mesh.
        is_foot: Whether it is a detached hand or foot, as a child of its limb.
    """

    name: str
    bone: bpy.types.Bone
    parent: int
    deforms: bool
    is_foot: bool = False


class Character(NamedTuple):
    """The character of an armature.

    Attributes:
        bones: Its bones, by their index in `anatomy`, in the same space.
        anatomy: Its parts, in armature space rotated so that Z is up.
        size: Its height; if it does not stand on legs, its largest extent. In armature space.
        up_axis: The axis of the armature that points up, one of `AXES`.
        turn: The rotation from the space of `anatomy` to armature space.
        frame: The frame of its animation at which it was looked at, and at which all directions
            are; None for the rest pose.
        posed: The matrices of its bones at that frame, in armature space; empty for the rest pose.
        detached: The hands and feet that are no children of their limbs in the armature, by their
            names; in `bones` they are.
    """

    bones: list[RestBone]
    anatomy: Anatomy
    size: float
    up_axis: str
    turn: Quaternion
    frame: float | None = None
    posed: Mapping[str, Matrix] = {}
    detached: Mapping[str, DetachedEnd] = {}

    def matrix(self, bone: bpy.types.Bone) -> Matrix:
        """Return the matrix of a bone in the pose that was looked at, in armature space."""
        return self.posed.get(bone.name, bone.matrix_local)

    @property
    def names(self) -> list[str]:
        """The names of its bones."""
        return [bone.name for bone in self.bones]

    @property
    def up(self) -> Vector:
        """The direction up, in armature space."""
        return self.turn @ Vector(UP)

    @property
    def front(self) -> Vector:
        """The forward direction, in armature space."""
        return self.turn @ Vector(self.anatomy.front)

    @property
    def has_rest_pose(self) -> bool:
        """Whether it stands in the rest pose, and not only at a frame of its animation."""
        return self.frame is None

    @property
    def front_axis(self) -> str:
        """The horizontal axis of the armature nearest to its front, as `AXES` names it."""
        return nearest_axis(self.front, [name for name in AXES if name[-1] != self.up_axis[-1]])


def standing_frames(foot: Iterable[str], up: Vector, clip: Clip) -> list[float]:
    """Return the frames of a clip, first that at which a foot stands: its joints are lowest there.

    Args:
        foot: The names of its bones.
        up: The direction up, in armature space.
        clip: The clip.
    """
    names = [*foot]
    return sorted(
        clip.frames,
        key=lambda frame: sum(clip.matrices(frame)[name].translation.dot(up) for name in names),
    )


OUTER: Final = {"LEGS", "ARMS", "FEET", "HANDS"}
"""What a body may lack because its hands or feet are no children of its limbs."""

LYING: Final = ("Z", "Y", "NEGATIVE_Y")
"""The axes that may point up in a character that lies down: those of importers, and that of what
Blender wrote to BVH and reads again, as it writes Z up and expects Y."""

PARTS: Final = {"LEGS": msg("pairs of legs"), "ARMS": msg("pairs of arms"), "HEAD": msg("a head")}
"""The parts that a character may lack."""


def missing_parts(character: Character) -> str:
    """Return in a sentence what a character lacks that others have, empty if nothing."""
    missing = character.anatomy.missing()
    absent = [PARTS[name] for name in missing if name in PARTS]
    text = msg("Not found: {parts}", parts=enumerated(absent)) if absent else ""
    notes = [text, bare_limbs(character), _left_out(character), stiff_limbs(character)]
    return joined(". ", [*filter(None, notes)]) if any(notes) else ""


def _left_out(character: Character) -> str:
    """Return in a sentence what to do about limbs that are no parts, as no bone ends them."""
    ends = [limb.bones[-1] for limb in character.anatomy.limbs if limb.end < 0 and limb.is_bare]
    if not ends:
        return ""
    return msg("Use Add IK Limb on {bones}", bones=listed([character.names[i] for i in ends]))


def stiff_limbs(character: Character) -> str:
    """Return in a sentence which limbs are one bone, empty if none."""
    bones = [character.names[limb.bones[0]] for limb in character.anatomy.stiff]
    if not bones:
        return ""
    return msg(
        ("Limbs of a single bone can't bend: subdivide {bones} in Edit Mode"), bones=listed(bones)
    )


def bare_limbs(character: Character) -> str:
    """Return in a sentence which limbs have no hand or foot, empty if none."""
    limbs = [limb for limb in character.anatomy.limbs if limb.is_bare]
    bare = [limb.end if limb.end >= 0 else limb.bones[-1] for limb in limbs]
    if not bare:
        return ""
    names = listed([character.names[i] for i in bare])
    return msg("{bones}: no hand or foot is parented to it", bones=names)


def ends_at_tail(character: Character, bone: str) -> bool:
    """Return whether a bone is the last one of a leg without a foot, which stands on its tail."""
    limbs = [one for one in character.anatomy.limbs if one.end < 0 and not one.is_bare]
    return bone in {character.names[limb.bones[-1]] for limb in limbs}


def nearest_axis(direction: Vector, names: Iterable[str]) -> str:
    """Return the axis nearest to a direction."""
    return max(names, key=lambda name: Vector(AXES[name]).dot(direction))


def character_of(armature: bpy.types.Object, up_axis: str = "", bone: str = "") -> Character:
    """Recognize the character of an armature, from its rest pose and the object's orientation.

    If the rest pose is not that of a figure that stands, as in many captures, frames of its
    animation are looked at as well. Up is as for `standing_character`. If that shows no figure that
    stands, as for a character that lies down, the axes of `LYING` are tried.

    Args:
        armature: The armature.
        up_axis: Its axis that points up; that which does so now if it is empty.
        bone: A bone of the character, where there may be several in the armature: bones of others
            are left out.
    """
    top = figure_among(armature, figures(armature), bone) if bone else ""
    return _looked_at(armature, (up_axis or _up_axis(armature), *LYING), top)


class _Looks(dict[int, "_Looked"]):
    """The session's recognized characters, by the session UID of the armature."""


class _Looked:
    """What was recognized in an armature, as long as its bones are the same.

    Attributes:
        bones: The bones, as `_revision` returns them.
        results: What was recognized by what was asked, each with the revision of the clip that was
            looked at; None if none was.
    """

    def __init__(self, bones: object) -> None:
        """Take the bones."""
        self.bones = bones
        self.results: dict[object, tuple[Any, object]] = {}


def _remembered(
    armature: bpy.types.Object, asked: object, look: Callable[[Clip], Any], clip: Clip | None = None
) -> Any:
    """Return what was recognized in an armature, as it is now with its bones and clip.

    Args:
        armature: The armature.
        asked: What is asked.
        look: Recognizes it.
        clip: The clip of what asks, which then depends on it as well.
    """
    looks, bones = part(_Looks), _revision(armature)
    looked = looks.get(armature.session_uid)
    if looked is None or looked.bones != bones:
        looked = looks[armature.session_uid] = _Looked(bones)
    result, seen = looked.results.get(asked, (None, b""))
    if seen is not None and seen != clip_revision(armature):
        own = Clip(armature)
        result = look(own)
        seen = clip_revision(armature) if own.is_read else None
        looked.results[asked] = result, seen
    if clip is not None and seen is not None:
        clip.is_read = True
    return result


def _revision(armature: bpy.types.Object) -> tuple[object, ...]:
    """Return all of the bones of an armature that is looked at, in a comparable form."""
    bones = cast("bpy.types.Armature", armature.data).bones
    parents = [above.name if (above := bone.parent) else "" for bone in bones]
    deforms = [False] * len(bones)
    bones.foreach_get("use_deform", deforms)
    rests = [floats(bones, name, size) for name, size in RESTS]
    return bones.keys(), parents, deforms, rests, switched(armature)


RESTS: Final = (("head_local", 3), ("tail_local", 3), ("matrix_local", 16))
"""The rest pose of a bone, by the names and sizes of its properties."""


LEAST_BONES: Final = 8
"""The fewest bones of one of several figures in an armature."""

APART: Final = 0.1
"""The least distance of the hips of figures, in heights; layers of a rig are in one place."""


def figures(armature: bpy.types.Object) -> list[str]:
    """Return the topmost bone of each character, if there are several in an armature.

    That is so where two bones side by side carry a whole figure each; their parents are of neither.
    """
    up = _up_axis(armature)
    return _remembered(armature, ("FIGURES", up), partial(_figures, armature, up))


def _figures(armature: bpy.types.Object, up: str, clip: Clip) -> list[str]:
    rows = _all_bones(armature)
    whole = _looked_at(armature, (up, *LYING), "", clip)
    branches = _branches(rows)
    trunk = {whole.names[i] for i in (whole.anatomy.hips, *whole.anatomy.spine) if i >= 0}
    above = [rows[row.parent].name for row in branches if row.parent >= 0]
    if whole.anatomy.sureness >= SURE and not trunk.isdisjoint(above):
        return []  # They are its arms and its head.
    tops: dict[str, Character] = {}
    for top in [row.name for row in branches] if len(branches) > 1 else ():
        found = _looked_at(armature, (up,), top, clip)
        is_layer = any(_hips_between(armature, found, other) < APART for other in tops.values())
        if found.anatomy.sureness >= SURE and not is_layer:
            tops[top] = found
    return [*tops] if len(tops) > 1 else []


def _branches(rows: Sequence[_Row]) -> list[_Row]:
    """Return the large branches side by side that may each be a figure; what is above has all."""
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


def _hips_between(armature: bpy.types.Object, one: Character, other: Character) -> float:
    """Return how far the hips of two characters are apart, in heights of the larger one."""
    bones = cast("bpy.types.Armature", armature.data).bones
    a, b = (
        character.matrix(bones[character.names[character.anatomy.hips]]).translation
        for character in (one, other)
    )
    return (a - b).length / max(one.size, other.size)


def figure_among(armature: bpy.types.Object, tops: Sequence[str], bone: str) -> str:
    """Return which of some topmost bones of figures a bone is or is below; empty if none."""
    bones = cast("bpy.types.Armature", armature.data).bones
    above = {bone, *(one.name for one in bones[bone].parent_recursive)} if bone in bones else ()
    return next((top for top in tops if top in above), "")


def meant_figure(armature: bpy.types.Object) -> str:
    """Return the topmost bone of the figure that the user means, if there are several.

    That is the figure of the active bone, or else the first one.
    """
    tops = figures(armature)
    active = cast("bpy.types.Armature", armature.data).bones.active
    bone = active.name if active is not None else ""
    return figure_among(armature, tops, bone) or next(iter(tops), "")


def generated_character(armature: bpy.types.Object) -> Character | None:
    """Recognize the character of a generated Rigify rig by its metarig, None for any other rig.

    Its bones have the names of the metarig's.
    """
    if not any(switched(armature)):
        return None
    axis = _up_axis(armature)

    def look(_clip: Clip) -> Character:
        rows = [_Row(name, bone, parent, True) for name, bone, parent in original_bones(armature)]
        return _recognize(armature, axis, rows)

    character: Character = _remembered(armature, ("ORIGINAL", axis), look)
    return character if character.bones else None


def standing_character(armature: bpy.types.Object) -> Character:
    """Recognize the character of an armature that stands upright in the world.

    Some importers keep Y up and rotate the object, others rotate the bones: up is the axis of the
    armature that points up most in world space.
    """
    return _looked_at(armature, (_up_axis(armature),))


def _looked_at(
    armature: bpy.types.Object, axes: Sequence[str], top: str = "", clip: Clip | None = None
) -> Character:
    """Return a character as `_look` recognizes it; `clip` is that of what asks."""
    look = partial(_look, armature, axes, top)
    return _remembered(armature, (tuple(axes), top), look, clip)


def _look(armature: bpy.types.Object, axes: Sequence[str], top: str, clip: Clip) -> Character:
    """Recognize a character, with hands and feet that are no children of its limbs if it lacks any.

    Args:
        armature: The armature object.
        axes: The axes that may point up; the first is preferred.
        top: The topmost bone of the character; empty if there is no other one.
        clip: The animation of the armature.
    """
    chosen = _bones_below(armature, top) if top else _all_bones(armature)
    found = _best_looked_at(armature, axes, chosen, clip)
    lacking = found.anatomy.missing()
    if not OUTER & {*lacking}:
        return found
    body = {found.names[i] for i in possible_body(found.bones)}
    ends = detached_ends(armature, clip, body, {row.name for row in chosen})
    limbs = [one for one in found.anatomy.limbs if one.is_bare]
    bare = {found.names[one.end if one.end >= 0 else one.bones[-1]] for one in limbs}
    # Other joints may be at one place by chance, as those of a short arm and a large head.
    of_bare = {name: end for name, end in ends.items() if end.limb in bare}
    for some in filter(None, (of_bare, ends if ends != of_bare else {})):
        whole = _best_looked_at(armature, axes, _attached(chosen, some), clip)
        if len(whole.anatomy.missing()) < len(lacking):
            outer = {whole.names[limb.end] for limb in whole.anatomy.limbs if limb.end >= 0}
            return whole._replace(detached={name: some[name] for name in some if name in outer})
    return found


def _attached(rows: Sequence[_Row], ends: Mapping[str, DetachedEnd]) -> list[_Row]:
    """Return bones, parents first, with detached hands and feet as children of their limbs."""
    parents = {row.name: rows[row.parent].name if row.parent >= 0 else "" for row in rows}
    parents.update({name: end.limb for name, end in ends.items()})
    index: dict[str, int] = {"": -1}
    attached: list[_Row] = []
    pending = [*rows]
    while pending:
        row = next(one for one in pending if parents[one.name] in index)
        pending.remove(row)
        index[row.name] = len(attached)
        parent = index[parents[row.name]]
        attached.append(row._replace(parent=parent, is_foot=row.name in ends))
    return attached


def _best_looked_at(
    armature: bpy.types.Object,
    axes: Sequence[str],
    chosen: Sequence[_Row],
    clip: Clip,
) -> Character:
    """Recognize a character in its rest pose, or in its animation if that shows it better."""
    standing = _recognize(armature, axes[0], chosen)
    if standing.anatomy.sureness >= SURE:
        return standing
    if clip.frames:
        standing = _recognize(armature, axes[0], chosen, clip)
    if standing.anatomy.sureness >= SURE:
        return standing
    others = [_recognize(armature, axis, chosen, clip) for axis in axes[1:] if axis != axes[0]]
    best = max(others, key=lambda one: one.anatomy.sureness, default=standing)
    return best if best.anatomy.sureness >= standing.anatomy.sureness + BETTER else standing


def _up_axis(armature: bpy.types.Object) -> str:
    """Return the axis of an armature that points up most in world space."""
    world_up = armature.matrix_world.to_3x3().inverted_safe() @ Vector(UP)
    return nearest_axis(world_up, AXES)


def _recognize(
    armature: bpy.types.Object,
    up: str,
    chosen: Sequence[_Row],
    clip: Clip | None = None,
) -> Character:
    """Return the character of an armature, given which of its axes points up.

    Args:
        armature: The armature object.
        up: The axis.
        chosen: The bones that count, parents first.
        clip: Its animation, to be looked at if the rest pose does not do.
    """
    turn = Vector(UP).rotation_difference(Vector(AXES[up]))
    back = turn.inverted()
    rest = [
        RestBone(
            row.name,
            row.parent,
            vector(back @ row.bone.head_local),
            vector(back @ row.bone.tail_local),
            row.deforms,
            row.is_foot,
        )
        for row in chosen
    ]
    frames = clip.frames if clip is not None else []

    def heads_at(frame: float) -> list[Vec]:
        matrices = cast(Clip, clip).matrices(frame)
        return [vector(back @ matrices[bone.name].translation) for bone in rest]

    anatomy = recognize(rest, map(heads_at, frames))
    frame = frames[anatomy.pose] if anatomy.pose >= 0 else None
    shown = [bone.head for bone in rest] if frame is None else heads_at(frame)
    extents = [max(values) - min(values) for values in zip(*shown, strict=True)]
    size = anatomy.height if anatomy.hips >= 0 else max(extents, default=0.0)
    posed = {} if frame is None else cast(Clip, clip).matrices(frame)
    return Character(rest, anatomy, size, up, turn, frame, posed)


def _bones_below(armature: bpy.types.Object, top: str) -> list[_Row]:
    bones = _all_bones(armature)
    index: dict[int, int] = {}
    for i, row in enumerate(bones):
        if row.name == top or row.parent in index:
            index[i] = len(index)
    return [
        row._replace(parent=index.get(row.parent, -1)) for i, row in enumerate(bones) if i in index
    ]


def _all_bones(armature: bpy.types.Object) -> list[_Row]:
    bones = cast("bpy.types.Armature", armature.data).bones  # Parents first, unlike in a pose.
    index = {bone.name: i for i, bone in enumerate(bones)}
    return [
        _Row(
            bone.name,
            bone,
            -1 if bone.parent is None else index[bone.parent.name],
            bone.use_deform,
        )
        for bone in bones
    ]
