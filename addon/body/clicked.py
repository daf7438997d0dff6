"""Finding a limb from one of its bones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import dist
from typing import Final, cast

import bpy

from fabrik_solver.core.vectors import Vec, add, dot, scaled, sub
from fabrik_solver.motion.anatomy import (
    HAND,
    LIMBS,
    Names,
    RestBone,
    part_of,
    twists_in,
    words_of,
)
from fabrik_solver.motion.anatomy import Limb as LimbAnatomy
from fabrik_solver.motion.anatomy.thresholds import ALONG_LIMB, POLES

from ..blender.access import pose_bones
from ..blender.errors import ProblemError
from ..blender.relations import active_constraints
from ..blender.skeleton import Skeleton, skeleton_of
from .body import Body, Limb
from .chains import is_end_by_shape, limb_length
from .flexion import next_in_limb
from .helpers import Controls, controller_of, is_helper
from .looking import body_of

ENDS: Final = HAND | {"ankle", "foot", "hoof", "palm", "paw"}
"""Words that name the bones at the ends of limbs, whose rotation is set independently."""


def find_limbs(
    armature: bpy.types.Object, bones: Iterable[str], is_literal: bool = False
) -> list[tuple[Limb, bool]]:
    """Return the limb of each bone, and whether the bone is its hand or foot, or below that.

    Arms and legs of a character are recognized from any of their bones. These include fingers and
    toes, the clavicle, controls, and helpers beside the limb. Elsewhere a limb is two long bones
    followed by short ones. Any other chain runs from the bone to the tip, and up to where the
    skeleton branches. A bone that only follows other bones is replaced by those.

    Args:
        armature: The armature.
        bones: The names of the bones.
        is_literal: Whether to return a finger or other chain itself, not the limb that carries it.

    Raises:
        ProblemError: If a bone is not part of a limb.
    """
    return [_find(Clicks(armature, bone), bone, is_literal) for bone in bones]


def _find(clicks: Clicks, bone: str, is_literal: bool) -> tuple[Limb, bool]:
    clicked = clicks.limb_at(bone)
    if clicked is not None and not (
        is_literal and bone not in (*clicked[0].bones, clicked[0].hand)
    ):
        return _controlling(clicks.armature, clicked[0]), clicked[1]
    finger = clicks.finger_at(bone) if is_literal else None
    if finger is not None:
        return finger, False
    return _find_beyond(clicks, bone, is_literal)


def _find_beyond(clicks: Clicks, bone: str, is_literal: bool) -> tuple[Limb, bool]:
    """Return the limb of a bone outside the recognized limbs, as `_find` does."""
    rig, body = clicks.skeleton, clicks.body
    is_finger = clicks.is_finger(bone)
    if not is_finger and (stiff := clicks.stiff_at(bone)):
        raise ProblemError(
            "“{bone}” is the limb's only bone and can't bend: subdivide it in Edit Mode",
            bone=stiff,
        )
    is_literal = is_literal or is_finger
    # A trunk can have the shape of a limb, and so does a finger.
    by_shape = not body.limbs and not is_finger
    meant = bone if body.limbs else clicks.posed_by_ik(bone) or bone
    limb, is_hand = _find_any(body, rig, rig.index[meant], is_literal, by_shape)
    if len(limb.bones) < 2 and is_hand and not is_literal:
        return _find(clicks, bone, True)  # A hand without an arm: its fingers are the limbs.
    if _is_none(clicks, bone, limb):
        raise ProblemError(
            "“{bone}” isn't part of a limb: click a hand, foot, arm or leg, or add Look-at to an "
            "eye or head",
            bone=bone,
        )
    return _controlling(clicks.armature, limb), is_hand


def _is_none(clicks: Clicks, bone: str, limb: Limb) -> bool:
    """Return whether a lookup found no limb for a bone."""
    body = clicks.body
    carrying = {body.names[i] for i in (body.anatomy.hips, body.pelvis) if i >= 0}
    bones = pose_bones(clicks.armature)
    # Constraints pose bones between the controls of a face, for example.
    is_posed = any(any(active_constraints(bones[name])) for name in limb.bones)
    return len(limb.bones) < 2 or bone in carrying or (is_posed and not body.rig.is_keyed)


def _controlling(armature: bpy.types.Object, limb: Limb) -> Limb:
    """Return the limb that a limb's bones copy, if they copy a chain; otherwise the limb itself."""
    rig = skeleton_of(armature)
    sources = [controller_of(armature, name) for name in limb.bones]
    path = [rig.names[i] for i in rig.chain_up(rig.index[sources[-1]])] if all(sources) else []
    if not path or not set(sources) <= set(path):
        return limb
    hand = controller_of(armature, limb.hand) if limb.hand else ""
    if hand and rig.parents[rig.index[hand]] != rig.index[sources[-1]]:
        hand = ""
    bones = tuple(path[path.index(sources[0]) :])
    return Limb(limb.body, bones, hand, limb.kind, shape=limb.shape)


def _find_any(
    body: Body, rig: Skeleton, bone: int, is_literal: bool, by_shape: bool
) -> tuple[Limb, bool]:
    """Return the limb of a bone of any skeleton, and whether the bone is at or below its end.

    With ``is_literal`` the bone's own chain is meant, not the limb that carries it. If names don't
    identify a hand or foot, its shape can do so.
    """
    rows = zip(rig.names, rig.parents, rig.heads, rig.heads, strict=True)
    names = Names([RestBone(*row) for row in rows])
    is_end = _ends(rig, names, by_shape)
    line = [bone] if is_literal else rig.chain_up(bone)[::-1]
    hand = next(filter(is_end, line), -1)
    if hand >= 0:
        return _with_hand(body, rig, names, hand), True
    last = bone
    while (next_bone := next_in_limb(rig, last)) >= 0:
        if not is_literal and is_end(next_bone):
            limb = _with_hand(body, rig, names, next_bone)
            if rig.names[bone] in limb.bones:
                return limb, False
            break
        last = next_bone
    bones = rig.chain_up(last)[-limb_length(rig, last) :]
    if bone not in bones:
        bones = rig.chain_up(bone)[-limb_length(rig, bone) :]
    return _limb_of(body, rig, names, bones), False


def _with_hand(body: Body, rig: Skeleton, names: Names, hand: int) -> Limb:
    last = rig.parents[hand]
    line = rig.chain_up(last)
    first = len(line) - limb_length(rig, last)
    told = [k for k, i in enumerate(line[:-1]) if names.parts[i] in LIMBS]
    if told:
        first = told[0]
    elif is_end_by_shape(rig, hand):
        bends = [k for k in range(1, len(line)) if line[k] not in names.twists]
        first = [0, 0, *bends][-2]
    return _limb_of(body, rig, names, line[first:], hand)


def _limb_of(body: Body, rig: Skeleton, names: Names, bones: Sequence[int], hand: int = -1) -> Limb:
    line = [*bones, hand] if hand >= 0 else bones
    twists = twists_in(names, bones, [rig.head(i) for i in line])
    bone_names, twist_names = (tuple([rig.names[i] for i in part]) for part in (bones, twists))
    return Limb(body, bone_names, rig.names[hand] if hand >= 0 else "", twists=twist_names)


def _ends(rig: Skeleton, names: Names, by_shape: bool) -> Callable[[int], bool]:
    """Return a function that returns whether a bone is a hand or foot, and not a finger of one."""

    def is_end(bone: int) -> bool:
        parent = rig.parents[bone]
        if parent < 0 or names.is_twist(bone):
            return False
        if has_name(bone):
            return not has_name(parent)
        line = (*rig.chain_up(bone), *rig.below({bone}))
        return by_shape and is_end_by_shape(rig, bone) and not any(map(has_name, line))

    def has_name(bone: int) -> bool:
        return not ENDS.isdisjoint(names.words[bone]) and not names.is_twist(bone)

    return is_end


def other_limb(armature: bpy.types.Object, limb: Limb) -> Limb | None:
    """Return the limb on the other side, or None if there is none."""
    body = limb.body
    for shape in body.anatomy.limbs:
        candidate = body.rig.limb(body, shape)
        if candidate is not None and _controlling(armature, candidate) == limb:
            opposite = body.opposite(shape)
            other = body.rig.limb(body, opposite) if opposite else None
            return _controlling(armature, other) if other else None
    names = [bpy.utils.flip_name(name) for name in (*limb.bones, limb.hand)]
    bones = pose_bones(armature)
    if names[-2] == limb.bones[-1] or not all(name in bones for name in filter(None, names)):
        return None
    return replace(limb, bones=tuple(names[:-1]), hand=names[-1], twists=(), shape=None)


class Clicks:
    """The limbs that clicked bones of an armature stand for.

    Attributes:
        armature: The armature.
        skeleton: Its bones.
        body: The body to which one of these bones belongs.
    """

    def __init__(self, armature: bpy.types.Object, bone: str) -> None:
        """Recognize the body of a bone."""
        self.armature, self.skeleton = armature, skeleton_of(armature)
        self.body = body_of(armature, bone)
        self._below: dict[int, list[int]] = {}
        for i, row in enumerate(self.body.bones):
            self._below.setdefault(row.parent, []).append(i)

    def limb_at(self, bone: str) -> tuple[Limb, bool] | None:
        """Return the limb that a bone stands for, and whether the bone is at or below its end.

        This is the limb that contains the bone, or carries it below the wrist or ankle; None if
        there is no such limb. A helper bone, which deforms nothing, stands for the only limb that
        it controls, or else the limb beside it.
        """
        limb_here = self._at(self._index(bone))
        if limb_here is not None or not self.body.rig.is_keyed or not self.body.limbs:
            return limb_here
        if not is_helper(self.armature, bone):
            return None
        controls = Controls(self.armature)
        if not controls.has_any(bone):
            return self._at(self._beside(self._index(bone)))
        candidates: dict[Limb, bool] = {}
        for name in controls.below(
            bone, lambda bone_name: self._at(self._index(bone_name)) is not None
        ):
            limb, is_end = self._at(self._index(name)) or (None, False)
            if limb is not None:
                candidates[limb] = candidates.get(limb, False) or is_end
        return next(iter(candidates.items())) if len(candidates) == 1 else None

    def stiff_at(self, bone: str) -> str:
        """Return the only bone of the stiff limb that a bone stands for; empty for other limbs."""
        index = self._index(bone)
        stiff = (limb.bones[0] for limb in self.body.anatomy.stiff)
        return next((self.body.names[i] for i in stiff if i in self._up(index)), "")

    def posed_by_ik(self, bone: str) -> str:
        """Return the bone with Blender's IK whose target or pole this helper is, or is near."""
        if not is_helper(self.armature, bone):
            return ""
        rig, index = self.skeleton, self.skeleton.index[bone]
        near = {rig.names[i] for i in (*rig.chain_up(index), *rig.below({index}))}
        for posed in pose_bones(self.armature):
            for con in active_constraints(posed) if posed.name not in near else ():
                if con.type == "IK" and near & {con.subtarget, con.pole_subtarget}:
                    return posed.name
        return ""

    def is_finger(self, bone: str) -> bool:
        """Return whether a bone is in a finger that counts as a limb because the arm is missing."""
        above = [*self._up(self._index(bone))][1:]
        return not set(self.body.anatomy.hands).isdisjoint(above)

    def _controlled_line(self, index: int, ends: Collection[int]) -> list[int]:
        """Return a bone with the bones in line with it that have controls, topmost first.

        The line ends at a branch, and below ``ends``.
        """
        line = [index]
        while (above := self._parent(line[0])) not in ends and self._control(above):
            line.insert(0, above)
        while len(below := [i for i in self._children(line[-1]) if self._control(i)]) == 1:
            line += below
        return line

    def finger_at(self, bone: str) -> Limb | None:
        """Return the finger or toe that a bone belongs to, if only controls pose it.

        The hand or foot must be recognized.
        """
        index = self._index(bone)
        clicked = None if self.body.rig.is_keyed else self._at(index)
        if clicked is None or not clicked[1]:
            return None
        ends = {limb.end for limb in self.body.anatomy.limbs}
        controls = [self._control(i) for i in self._controlled_line(index, ends)]
        if index in ends or len(controls) < 2 or not all(controls):
            return None
        rig = self.skeleton
        line = [rig.names[i] for i in rig.chain_up(rig.index[controls[-1]])]
        bones = tuple(line[line.index(controls[0]) :]) if set(controls) <= set(line) else ()
        return Limb(self.body, bones) if bones else None

    def _control(self, index: int) -> str:
        return self.body.rig.control(self.armature, self.body.names[index]) if index >= 0 else ""

    def _index(self, bone: str) -> int:
        """Return the index of the body's bone that a bone belongs to, or -1 if there is none.

        For a control without such a bone, its parents are tried.
        """
        posed = pose_bones(self.armature)[bone]
        line = (
            [bone] if self.body.rig.is_keyed else [bone, *(p.name for p in posed.parent_recursive)]
        )
        meant = next(filter(None, map(self.body.meant, line)), "")
        return self.body.index[meant] if meant else -1

    def _at(self, index: int) -> tuple[Limb, bool] | None:
        """Return the limb of a bone of the body; None if it isn't in any. See `limb_at`."""
        for i in self._up(index):
            for limb in self.body.limbs:
                shape = cast(LimbAnatomy, limb.shape)
                toe = shape.toe if limb.kind == "LEG" else -1  # An arm's is a finger.
                if i in (shape.end, toe):
                    return limb, True
                if i in (*shape.carriers, *shape.bones):
                    is_part = i == index or self._is_helper_of(shape, i, index)
                    return (limb, False) if is_part else None
        return None

    def _is_helper_of(self, limb: LimbAnatomy, bone: int, index: int) -> bool:
        """Return whether a bone below a limb's bone is a helper of the limb, such as a twist bone.

        A single bone is a helper, and so are bones along the limb, such as muscles, unless their
        names say otherwise. A chain that leads away, such as a sleeve, stands for itself.
        """
        if self._parent(index) == bone in limb.bones and not self._children(index):
            return True
        path = [*self._up(index)]
        branch = [path[path.index(bone) - 1]]
        for i in branch:
            branch += self._children(i)
        bones = self.body.bones
        if any(part_of(words_of(bones[i].name)) == "OTHER" for i in branch):
            return False
        ends = (limb.end,) if limb.end >= 0 else ()
        line = [bones[i].head for i in (*limb.carriers, *limb.bones, *ends)]
        ways = [*pairwise(line)]
        least = ALONG_LIMB * sum(dist(a, b) for a, b in ways)
        return all(min(_from_line(bones[i].head, a, b) for a, b in ways) <= least for i in branch)

    def _up(self, index: int) -> Iterator[int]:
        while index >= 0:
            yield index
            index = self._parent(index)

    def _parent(self, index: int) -> int:
        return self.body.bones[index].parent

    def _children(self, index: int) -> list[int]:
        return self._below.get(index, [])

    def _beside(self, index: int) -> int:
        """Return the bone of the body next to a helper, or -1 if there is none.

        A helper on the trunk belongs to the trunk. A helper farther away than poles usually are has
        no neighbor.
        """
        anatomy, bones = self.body.anatomy, self.body.bones
        trunk = {*anatomy.spine, anatomy.head}
        if not trunk.isdisjoint(self._up(index)):
            return -1
        body = {i for i in range(len(bones)) if i != index and self._at(i) is not None}
        body |= trunk | {anatomy.hips}
        point = bones[index].head
        near = {i: self._distance(point, i) for i in body if i >= 0}
        nearest = min(near, key=lambda i: near[i], default=-1)
        limb = self._at(nearest)
        if limb is None:
            return -1
        joints = [bones[self._index(name)].head for name in (*limb[0].bones, limb[0].hand) if name]
        size = sum(dist(a, b) for a, b in pairwise(joints))
        return nearest if near[nearest] <= POLES * size else -1

    def _distance(self, point: Vec, index: int) -> float:
        """Return the distance of a point from a bone, up to its children."""
        head = self.body.bones[index].head
        ends = [self.body.bones[i].head for i in self._children(index)]
        return min(_from_line(point, head, end) for end in (head, *ends))


def _from_line(point: Vec, start: Vec, end: Vec) -> float:
    line = sub(end, start)
    size = dot(line, line)
    fraction = min(1.0, max(0.0, dot(sub(point, start), line) / size)) if size > 0.0 else 0.0
    return dist(point, add(start, scaled(line, fraction)))
