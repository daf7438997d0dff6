"""Add, edit and remove the walks of an armature."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import bpy
from mathutils import Vector

from fabrik_solver.motion.anatomy import floor_below
from fabrik_solver.motion.crawling import crawler_legs

from ...blender.errors import ProblemError, listed
from ...blender.messages import msg
from ...blender.session import part
from ...blender.skeleton import Skeleton, skeleton_of, upright, vector
from ...body.body import Body, Limb
from ...body.lacking import bare_limbs, stiff_limbs
from ...body.looking import body_of, meant_figure, standing_body
from ...editing import constraints as editing
from ...editing.ends import reaching, refuse_left_behind
from ...editing.girth import beside_mesh
from ...editing.placing import new_empty
from ...editing.switching import remember_switches, states_of
from ...plan import planner
from ...plan.registry import kind_of
from ...settings.properties import free_among, free_name, settings
from .gait_plan import plans_of
from .settings import FabrikGait, gait_settings
from .standing import Stand, stand_of


def active_gait(armature: bpy.types.Object) -> FabrikGait | None:
    """Return the walk whose settings are shown, if any."""
    fabrik = gait_settings(armature)
    if 0 <= fabrik.active_gait < len(fabrik.gaits):
        return fabrik.gaits[fabrik.active_gait]
    return None


def problem_of(armature: bpy.types.Object, index: int) -> str:
    """Return the problem that a walk had when last resolved; empty if it had none."""
    plans = plans_of(armature)
    return plans[index].problem if index < len(plans) else ""


MOST_WALKING: Final = 4
"""The largest number of legs with feet. Insects and spiders have more legs, without feet."""


UPRIGHT: Final = 0.5
"""The smallest cosine between a standing character's up direction and the world's."""


class AddedGait(NamedTuple):
    """The result of adding a walk.

    Attributes:
        gait: The walk.
        made: The number of new constraints.
        is_switched: Whether limbs were switched to FK.
        notes: Sentences about recognized legs without feet, and about other bones on the ground.
    """

    gait: FabrikGait
    made: int
    is_switched: bool
    notes: list[str]


def add_gait(armature: bpy.types.Object, tips: Sequence[str]) -> AddedGait:
    """Add a walk, and constraints for legs without one.

    The body is the closest movable bone above all legs and the trunk. A leg with FK controls is
    switched to them and consists of them.

    Args:
        armature: The armature object.
        tips: The last bones of the legs; if empty, the legs are recognized.

    Raises:
        ProblemError: If the legs can't walk, or a switch to FK is animated; nothing is changed.
    """
    planner.discard_if_outdated()
    # Legs find constraints by name, including those that a script added.
    part(planner.Planner).current_after_writes()
    rig = skeleton_of(armature)
    body, legs = _legs(rig, tips)
    if len(legs) < 2:
        raise ProblemError(_why_too_few(armature, body, bool(tips)))
    states = states_of(armature, legs)
    bone = _carrier(rig, body, legs)
    fabrik = settings(armature)
    constraint_count, shown = len(fabrik.constraints), fabrik.active_index
    made: list[bpy.types.Object] = []
    try:
        stand = stand_of(rig, body, bone, legs)
        names = [_constraint(armature, rig, leg, stand, made) for leg in legs]
        gait = _append_gait(armature, body, stand, rig.names[bone] if bone >= 0 else "")
        _append_legs(gait, rig, body, legs, names, stand)
        editing.changed(armature)
        planner.current()
        index = len(gait_settings(armature).gaits) - 1
        if problem := problem_of(armature, index):
            remove_gait(armature, index)
            raise ProblemError(problem)
    except ProblemError:
        while len(fabrik.constraints) > constraint_count:
            editing.remove(armature, len(fabrik.constraints) - 1)
        for ob in made:
            bpy.data.objects.remove(ob)
        fabrik.active_index = shown
        raise
    gait_settings(armature).active_gait = index
    remember_switches(armature, states)
    notes = [] if tips else [bare_limbs(body), _not_walking(rig, body, legs)]
    return AddedGait(gait, len(made), bool(states), [note for note in notes if note])


def _append_legs(
    gait: FabrikGait,
    rig: Skeleton,
    body: Body,
    legs: Sequence[Limb],
    names: Sequence[str],
    stand: Stand,
) -> None:
    floor = _floor(rig, body, legs, stand)
    for leg, name in zip(legs, names, strict=True):
        _append(rig.object, gait, name)
        gait.legs[-1].offset = vector(stand.offsets.get(leg.end.bone, Vector()))
        if not leg.end.at_tail or leg.switch:
            gait.legs[-1].height = max(0.0, body.up.dot(_end(rig, leg, stand)) - floor)


def _why_too_few(armature: bpy.types.Object, body: Body, is_chosen: bool) -> str:
    """Return why fewer than two legs were recognized or selected, and how to fix it."""
    if is_chosen:
        return msg("Select the last bones of at least two legs")
    if "LEG" in {limb.kind for limb in body.anatomy.stiff}:
        return stiff_limbs(body)
    return msg(
        "No legs found in “{armature}”: select the last bones of at least two legs in Pose Mode, "
        "and add the walk again",
        armature=armature.name,
    )


def _append_gait(armature: bpy.types.Object, body: Body, stand: Stand, bone: str) -> FabrikGait:
    """Append a walk without legs, and return it.

    Args:
        armature: The armature.
        body: Its recognized body.
        stand: How it stands before walking.
        bone: The name of the bone that carries the legs.
    """
    title = free_name(armature, "Walk", "gaits")
    gait = gait_settings(armature).gaits.add()
    gait.name, gait.body = title, bone
    gait.up_axis, gait.front_axis = body.up_axis, body.front_axis
    for bone, matrix in stand.matrices.items():
        item = gait.stand.add()
        item.name, item.matrix = bone, matrix
    return gait


def _not_walking(rig: Skeleton, body: Body, legs: Sequence[Limb]) -> str:
    """Return a sentence about other bones on the ground; otherwise an empty string."""
    walking = {rig.names[i] for i in rig.below({rig.index[leg.bones[0]] for leg in legs})}
    ends = [body.names[i] for i in body.anatomy.standing]
    if not (standing := [name for name in ends if name not in walking]):
        return ""
    return msg(
        "Legs that walk: {count}. Also on the ground: {bones}. If these are legs, select the last "
        "bone of every leg and add the walk again",
        count=len(legs),
        bones=listed(standing),
    )


def _legs(rig: Skeleton, tips: Sequence[str]) -> tuple[Body, list[Limb]]:
    """Return an armature's body, and its legs if it stands upright in the world.

    Raises:
        ProblemError: If its feet aren't parented to its legs, and no constraint reaches for them.
    """
    armature = rig.object
    if tips:
        body = standing_body(armature)
        return body, _chosen(body, rig, tips)
    body = body_of(armature, meant_figure(armature))
    legs = body.legs
    refuse_left_behind(armature, legs)
    up = armature.matrix_world.to_3x3() @ body.up
    if up.z < UPRIGHT * up.length:
        legs = []
    if body.has_rest_pose and not 2 <= len(legs) <= MOST_WALKING:
        standing = standing_body(armature)
        if crawler := crawler_legs(standing.bones):
            lines = [tuple(standing.names[bone] for bone in leg) for leg in crawler]
            return standing, [Limb(standing, line) for line in lines]
    return body, legs


def _end(rig: Skeleton, leg: Limb, stand: Stand) -> Vector:
    """Return the end of a standing leg, in armature space."""
    bone = rig.rest(rig.index[leg.end.bone])
    return bone.tail_local if leg.end.at_tail else stand.shown_at(bone).translation


def _chosen(body: Body, rig: Skeleton, tips: Sequence[str]) -> list[Limb]:
    """Return the legs that end at these bones, each from where it branches off."""
    paths = [rig.chain_up(rig.index[tip]) for tip in tips]
    legs: list[Limb] = []
    for i, path in enumerate(paths):
        shared = set[int]().union(*(other for j, other in enumerate(paths) if j != i))
        bones = [bone for bone in path if bone not in shared] or path[-1:]
        legs.append(Limb(body, tuple(rig.names[bone] for bone in bones)))
    return legs


def _carrier(rig: Skeleton, body: Body, legs: Sequence[Limb]) -> int:
    """Return the closest bone above the body that can move, or -1 if there is none."""
    carriers = body.carriers_of([leg.bones[0] for leg in legs])
    shared = [rig.index[name] for name in carriers]
    free = [bone for bone in shared if bone not in rig.connected or rig.parents[bone] < 0]
    return free[-1] if free else -1


def _constraint(
    armature: bpy.types.Object,
    rig: Skeleton,
    leg: Limb,
    stand: Stand,
    made: list[bpy.types.Object],
) -> str:
    """Return the name of a leg's constraint, adding one if necessary.

    Args:
        armature: The armature.
        rig: Its skeleton.
        leg: The leg.
        stand: How the character stands.
        made: The list to which the target of a new constraint is appended.
    """
    if constraint := reaching(armature, leg):
        return constraint
    ends = {leg.end.bone, leg.bones[-1]}
    for item in settings(armature).constraints:
        if item.bone in ends and kind_of(item.solver).reaches:
            return item.name
    tip, target = leg.end.bone, None
    if not leg.end.at_tail:
        foot = armature.matrix_world @ stand.shown_at(rig.rest(rig.index[tip]))
        size = 0.25 * rig.rest(rig.index[leg.bones[-1]]).length * armature.matrix_world.median_scale
        size = beside_mesh(armature, tip, size)
        position = vector(foot.translation)
        target = new_empty(armature, f"{tip} Target", position, size, "CUBE")
        target.rotation_euler = upright(foot).to_euler()
        made.append(target)
    has_foot = not leg.end.at_tail
    item = editing.add(armature, tip, target, chain_count=len(leg.bones), use_tail=not has_foot)
    item.swing = 1.0
    if has_foot:
        item.use_rotation = True
    else:
        assert item.target is not None
        made.append(item.target)
    return item.name


def _floor(rig: Skeleton, body: Body, legs: Sequence[Limb], stand: Stand) -> float:
    """Return the ground's height below the legs, along the armature's up axis.

    If the feet aren't parented to the legs, all bones are considered. Without feet it is 0.
    """
    ends = [rig.index[leg.end.bone] for leg in legs if not leg.end.at_tail]
    feet = [bone for end in ends for bone in rig.below({end})]
    if not feet:
        return 0.0
    if "FEET" in body.anatomy.missing():
        feet = [*range(len(rig.names))]
    heights = [body.up.dot(stand.shown_at(rig.rest(bone)).translation) for bone in feet]
    return floor_below(heights, (), max(_length(rig, leg, stand) for leg in legs))


def _length(rig: Skeleton, leg: Limb, stand: Stand) -> float:
    bones = [rig.rest(rig.index[bone]) for bone in leg.bones]
    heads = [stand.shown_at(bone).translation for bone in bones]
    return sum((b - a).length for a, b in pairwise([*heads, _end(rig, leg, stand)]))


def _append(armature: bpy.types.Object, gait: FabrikGait, name: str) -> None:
    free = free_among(gait.legs, name)
    leg = gait.legs.add()
    leg.name, leg.constraint = free, name
    leg.key = settings(armature).constraints[name].key


def remove_gait(armature: bpy.types.Object, index: int) -> None:
    """Remove a walk and its animation; its legs reach for their targets again.

    Raises:
        ProblemError: If the walk comes from the library of an override.
    """
    editing.remove_from(armature, "gaits", "active_gait", index)


def add_legs(armature: bpy.types.Object, gait: FabrikGait, names: Sequence[str]) -> None:
    """Add constraints to a walk as legs."""
    for name in names:
        _append(armature, gait, name)
    editing.changed(armature)


def remove_leg(armature: bpy.types.Object, gait: FabrikGait, index: int) -> str:
    """Remove a leg from a walk; return the leg's name."""
    name = gait.legs[index].constraint
    gait.legs.remove(index)
    gait.active_leg = max(0, min(gait.active_leg, len(gait.legs) - 1))
    editing.changed(armature)
    return name
