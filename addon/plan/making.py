"""Make the plan of a file from the plans of its armatures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import bpy

from ..blender import animation, dependency_driver
from ..blender.access import pose_bones
from ..blender.curves import split_bone_path
from ..blender.rotation import TURNS
from ..blender.skeleton import Skeleton, skeleton_of, skeletons_by_name
from ..settings.properties import settings_form
from .bodies import draw_where_they_act, tie_to_bodies
from .lookahead import lookahead_of
from .order import Order
from .plan import ArmaturePlan, Disturbed, Plan, active_in, has_settings, is_on
from .sequences import Sequences


def make_plan(armatures: Mapping[int, ArmaturePlan]) -> Plan:
    """Return the plan of the file, from the plan of each armature with constraints or walks."""
    others = [ob for ob in bpy.data.objects if ob.session_uid not in armatures]
    orphaned = [*filter(is_orphaned, others)]
    plan = Plan(orphaned=orphaned)
    for uid, armature in armatures.items():
        _add(plan, uid, armature)
    plan.chains = [chain for armature in armatures.values() for chain in armature.chains]
    pre_pass = [bone for armature in armatures.values() for bone in armature.pre_pass]
    order = Order(pre_pass, plan.chains, plan.posed, plan.moved, plan.constrained)
    plan.units, plan.needs, plan.by_state = order.ordered(), order.needs, order.by_state
    plan.sequences = Sequences(plan.units, plan.needs, plan.by_state)
    plan.units_of = {uid: [] for uid in armatures}
    for unit in plan.units:
        plan.units_of[unit.rig.uid].append(unit)
    tie_to_bodies(pre_pass, plan.chains)
    draw_where_they_act(plan.chains)
    plan.carried, plan.following = order.carried, order.following()
    plan.groups = order.groups()
    plan.disturbed = _all_disturbed(plan, order)
    plan.switched = [(*con, is_on(*con)) for con in order.switched]
    for member in (*pre_pass, *plan.chains):
        uid = member.rig.uid
        if member.is_timed:
            plan.timed.add(uid)
        for watched in member.watched:
            plan.watched.setdefault(watched.session_uid, set()).add(uid)
    plan.lookahead = lookahead_of(plan, plan.animated)
    plan.read = skeletons_by_name()
    plan.examined = _examined(plan, order)
    return plan


def _add(plan: Plan, uid: int, armature: ArmaturePlan) -> None:
    """Add an armature to the plan of the file."""
    plan.rigs[uid] = armature.rig
    if armature.is_animated:
        plan.animated.add(uid)
    plan.slots[uid], plan.keys[uid] = armature.slots, armature.keys
    plan.posed[uid], plan.pulled[uid] = armature.posed, armature.pulled
    plan.moved[uid], plan.constrained[uid] = armature.moved, armature.constrained
    for name in armature.blocks:
        plan.copied.setdefault(name, []).append(uid)
    if armature.is_animated and _is_driven(armature.rig.object):
        plan.driven.add(uid)
    for source in armature.sources:
        plan.sources.setdefault(source, set()).add(uid)


def _examined(plan: Plan, order: Order) -> list[bpy.types.Object]:
    objects = [*order.visited, *(ob for ob, _ in plan.lookahead.signatures), *plan.orphaned]
    objects += [rig.object for rig in plan.rigs.values()]
    # Looked up anew, as some may have been removed meanwhile.
    objects += [ob for ob in bpy.data.objects if ob.session_uid in plan.sources]
    return [*dict.fromkeys(objects)]


def _is_driven(ob: bpy.types.Object) -> bool:
    """Return whether drivers set properties of the extension that aren't read at each frame."""
    data = ob.animation_data
    paths = [curve.data_path for curve in data.drivers] if data else []
    ours = [path for path in paths if "fabrik" in path and path != dependency_driver.PATH]
    plain = [path for path in ours if path.startswith("fabrik.constraints[")]
    names = settings_form().names
    return len(ours) > len([path for path in plain if path.split("].")[-1] in names])


def is_orphaned(ob: bpy.types.Object) -> bool:
    """Return whether an armature without constraints still has a dependency driver."""
    return ob.type == "ARMATURE" and dependency_driver.NAME in ob and not has_settings(ob)


def _all_disturbed(plan: Plan, order: Order) -> list[tuple[Skeleton, list[Disturbed]]]:
    """Return the bones with native constraints or drivers that affect the plan."""
    rigs = plan.rigs | {ob.session_uid: skeleton_of(ob) for ob in order.visited if ob.pose}
    result: list[tuple[Skeleton, list[Disturbed]]] = []
    for uid, relevant in _relevant_bones(plan, order, rigs).items():
        rig = rigs[uid]
        paths = [split_bone_path(path) for path, _ in animation.driven(rig.object)]
        driven = {name for name, channel in paths if channel in TURNS}
        constrained = plan.constrained.of(rig)
        bones = [i for i in relevant if i in constrained or rig.names[i] in driven]
        poses = [pose_bones(rig.object)[rig.names[i]] for i in bones]
        disturbed = [
            Disturbed(bone.name, active_in(bone), bone.rotation_mode if bone.name in driven else "")
            for bone in poses
        ]
        if disturbed:
            result.append((rig, disturbed))
    return result


def _relevant_bones(plan: Plan, order: Order, rigs: Iterable[int]) -> dict[int, set[int]]:
    """Return the bones that matter to the plan, by armature.

    Armatures without animation and native constraints are left out.
    """
    plain = {uid for uid in plan.rigs.keys() - plan.animated if not plan.constrained[uid]}
    relevant = {uid: set(plan.posed.get(uid, ())) for uid in rigs if uid not in plain}
    # Invalid chains don't pose bones, but these may be the cause.
    of_chains = [(chain.rig.uid, bone) for chain in plan.chains for bone in chain.bones]
    for uid, bone in (*order.constrained, *of_chains):
        if uid in relevant and bone >= 0:
            relevant[uid].add(bone)
    return relevant
