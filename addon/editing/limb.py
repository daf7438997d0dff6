"""Finding a limb from one of its bones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

import bpy

from fabrik_solver.motion.anatomy import Names, RestBone, only_twists, words_of

from ..blender.access import pose_bones
from ..blender.character import recognizing_once
from ..blender.errors import ProblemError
from ..blender.limbs import is_end_by_shape, limb_length
from ..blender.relations import active_constraints
from ..blender.skeleton import Skeleton, skeleton_of, vector
from ..plan import planner
from .flexion import next_in_limb
from .helpers import controller_of
from .known_limbs import ENDS, Body, Limb


def find_limbs(
    armature: bpy.types.Object, bones: Iterable[str], is_literal: bool = False
) -> list[tuple[Limb, bool]]:
    """Return the limb of each bone, and whether the bone is its hand or foot, or below that.

    Arms and legs of a character are recognized from any of their bones, those below their hands and
    feet, the clavicle, and what controls them or lies beside. Without, two long bones tell, with
    what is short after them. Any other limb goes from the bone to the tip, and up to where the
    skeleton branches. What only follows other bones of the armature means these.

    Args:
        armature: The armature.
        bones: The names of the bones.
        is_literal: Whether a finger or other chain is meant itself, and not the limb that has it.

    Raises:
        ProblemError: If a bone is not part of a limb.
    """
    planner.discard_if_outdated()  # Bones may have been renamed.
    found: list[tuple[Limb, bool]] = []
    bodies: list[Body] = []
    with recognizing_once():
        for bone in bones:
            body = next((one for one in bodies if one.has(bone)), None)
            if body is None:
                body = Body(armature, bone)
                bodies.append(body)
            found.append(_find(body, bone, is_literal))
    return found


def _find(body: Body, bone: str, is_literal: bool) -> tuple[Limb, bool]:
    armature, rig = body.armature, body.rig
    known = body.limb_at(bone)
    if known is not None and not (is_literal and bone not in (*known[0].bones, known[0].hand)):
        return _controlling(armature, known[0]), known[1]
    finger = body.finger_at(bone) if is_literal else None
    if finger is not None:
        return finger, False
    is_finger = body.is_finger(bone)
    if not is_finger and (stiff := body.stiff_at(bone)):
        raise ProblemError(
            "“{bone}” is the limb's only bone and can't bend: subdivide it in Edit Mode",
            bone=stiff,
        )
    is_literal = is_literal or is_finger
    # The shape of a trunk may be that of a limb, and that of a finger is.
    ends = _ends(rig, by_shape=not body.limbs and not is_finger)
    limb, is_hand = _find_any(rig, rig.index[bone], is_literal, ends)
    if len(limb.bones) < 2 and is_hand and not is_literal:
        return _find(body, bone, True)  # A hand without an arm: its fingers are the limbs.
    hips = body.character.anatomy.hips
    is_trunk = hips >= 0 and bone == body.character.names[hips]
    if len(limb.bones) < 2 or is_trunk or (body.is_generated and _has_mechanism(armature, limb)):
        raise ProblemError(
            "“{bone}” isn't part of a limb: click a hand, a foot, or a bone of the chain",
            bone=bone,
        )
    return _controlling(armature, limb), is_hand


def _controlling(armature: bpy.types.Object, limb: Limb) -> Limb:
    """Return the limb whose bones a limb copies, if they are a chain; otherwise the limb itself."""
    rig = skeleton_of(armature)
    sources = [controller_of(armature, name) for name in limb.bones]
    way = [rig.names[i] for i in rig.chain_up(rig.index[sources[-1]])] if all(sources) else []
    if not way or not set(sources) <= set(way):
        return limb
    hand = controller_of(armature, limb.hand) if limb.hand else ""
    is_child = hand and rig.parents[rig.index[hand]] == rig.index[sources[-1]]
    return Limb(tuple(way[way.index(sources[0]) :]), hand if is_child else "", limb.kind)


def _has_mechanism(armature: bpy.types.Object, limb: Limb) -> bool:
    """Return whether constraints pose bones of a limb, as those between controls of a face."""
    bones = [pose_bones(armature)[name] for name in limb.bones]
    return any(any(active_constraints(bone)) for bone in bones)


def _find_any(
    rig: Skeleton, bone: int, is_literal: bool, is_end: Callable[[int], bool]
) -> tuple[Limb, bool]:
    """Return the limb of a bone of any skeleton, and whether the bone is at or below its end."""
    line = [bone] if is_literal else rig.chain_up(bone)[::-1]
    hand = next(filter(is_end, line), -1)
    if hand >= 0:
        return _with_hand(rig, hand), True
    last = bone
    while (after := next_in_limb(rig, last)) >= 0:
        if not is_literal and is_end(after):
            limb = _with_hand(rig, after)
            if rig.names[bone] in limb.bones:
                return limb, False
            break
        last = after
    bones = rig.chain_up(last)[-limb_length(rig, last) :]
    if bone not in bones:
        bones = rig.chain_up(bone)[-limb_length(rig, bone) :]
    return Limb(tuple(rig.names[i] for i in bones)), False


def _with_hand(rig: Skeleton, hand: int) -> Limb:
    last = rig.parents[hand]
    line = rig.chain_up(last)
    first = len(line) - limb_length(rig, last)
    if is_end_by_shape(rig, hand):
        words = [words_of(rig.names[i]) for i in line]
        bends = [k for k in range(1, len(line)) if not only_twists(words[k], words[k - 1])]
        first = [0, 0, *bends][-2]
    return Limb(tuple(rig.names[i] for i in line[first:]), rig.names[hand])


def _ends(rig: Skeleton, by_shape: bool) -> Callable[[int], bool]:
    """Return a function that returns whether a bone is a hand or foot, and not a finger of one."""

    @cache
    def names() -> Names:
        heads = [vector(rig.rest(i).head_local) for i in range(len(rig.names))]
        rows = zip(rig.names, rig.parents, heads, heads, strict=True)
        return Names([RestBone(*row) for row in rows])

    def is_end(bone: int) -> bool:
        parent = rig.parents[bone]
        if parent < 0 or names().is_twist(bone):
            return False
        if by_shape and is_end_by_shape(rig, bone):
            return True
        return has_name(bone) and not has_name(parent)

    def has_name(bone: int) -> bool:
        return bool(ENDS & set(words_of(rig.names[bone]))) and not names().is_twist(bone)

    return is_end


def other_limb(armature: bpy.types.Object, limb: Limb) -> Limb | None:
    """Return the limb on the other side, None if there is none."""
    known = Body(armature, limb.bones[-1]).limbs
    for anatomical, candidate in known:
        if _controlling(armature, candidate) != limb:
            continue
        same = [one for one in known if one[0].kind == anatomical.kind]
        index = [one for one in same if one[0].side == anatomical.side].index(
            (anatomical, candidate)
        )
        others = [other for one, other in same if one.side == -anatomical.side]
        return _controlling(armature, others[index]) if index < len(others) else None
    names = [bpy.utils.flip_name(name) for name in (*limb.bones, limb.hand)]
    bones = pose_bones(armature)
    if names[-2] == limb.bones[-1] or not all(name in bones for name in filter(None, names)):
        return None
    return limb._replace(bones=tuple(names[:-1]), hand=names[-1])
