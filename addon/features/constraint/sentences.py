"""Sentences in a constraint's panel about problems that its last evaluation didn't report."""

from __future__ import annotations

from typing import Any, cast

import bpy

from fabrik_solver.core.bend import NEAR_AXIS
from fabrik_solver.core.vectors import Vec, across, length, sub, unit

from ...blender.access import pose_bones
from ...blender.errors import listed
from ...blender.messages import Message, msg
from ...blender.moving import place_of
from ...blender.refusals import linked_problem, rest_problem
from ...blender.skeleton import skeleton_of, vector
from ...editing.constraints import is_on
from ...editing.placed import walk_problem
from ...plan.chain_plan import ChainPlan
from ...plan.planner import chains_in, known, partners
from ...settings.properties import FabrikConstraint, settings
from ...ui.following import controls_of, is_below_end
from ...ui.paint import BESIDE, MOVES, is_dragging
from ...ui.registering import registering
from ...ui.sections import has_target
from ...ui.selecting import Handle

ON_AXIS = msg("The pole is on the line from root to target and has little effect: move it aside")


def sentence_of(armature: bpy.types.Object, index: int) -> str:
    """Return the most urgent sentence about a constraint; empty if there is nothing to say."""
    item = settings(armature).constraints[index]
    return (
        linked_problem(armature)
        or rest_problem(armature)
        or item.message
        or _pole_problem(armature, index)
        or _shared(armature, index)
    )


def _chain(armature: bpy.types.Object, index: int) -> ChainPlan | None:
    """Return a resolved constraint; None without a plan, because drawing must not make a plan."""
    if known() is None:
        return None
    return next((chain for chain in chains_in(armature) if chain.item == index), None)


def _shared(armature: bpy.types.Object, index: int) -> str:
    """Return a sentence naming the enabled constraints that also pose the same bones."""
    if settings(armature).constraints[index].state == "DISABLED":
        return ""
    on = {chain.name for chain in chains_in(armature) if is_on(chain)} if known() else set[str]()
    names = [name for name in partners(armature, index) if name in on]
    if not names:
        return ""
    return msg(
        "Shares bones with {names}. They are solved together; Weight sets their priority.",
        names=listed(names),
    )


def _pole_problem(armature: bpy.types.Object, index: int) -> str:
    """Return a sentence if the pole is too close to the chain's axis for a clear bend."""
    chain, item = _chain(armature, index), settings(armature).constraints[index]
    depsgraph = getattr(bpy.context.view_layer, "depsgraph", None)
    if chain is None or chain.pole is None or chain.target is None or depsgraph is None:
        return ""
    if item.state in ("INVALID", "DISABLED") or item.pole_weight <= 0.0:
        return ""
    if chain.target_tie is not None or chain.pole_tie is not None:
        return ""  # Drawing must not solve how far the body is lifted.
    evaluated = armature.evaluated_get(depsgraph)
    if not evaluated.is_evaluated or chain.bones[0] >= len(pose_bones(evaluated)):
        return ""
    root = vector(evaluated.matrix_world @ pose_bones(evaluated)[chain.bones[0]].head)
    target, pole = (place_of(depsgraph, point)[1] for point in (chain.target, chain.pole))
    return ON_AXIS if _is_beside(root, target, pole) else ""


def _is_beside(root: Vec, target: Vec, pole: Vec) -> bool:
    axis, to_pole = unit(sub(target, root)), unit(sub(pole, root))
    return axis is not None and (to_pole is None or length(across(to_pole, axis)) < NEAR_AXIS)


def owner_of(armature: bpy.types.Object, item: FabrikConstraint, active: str) -> Message:
    """Return a sentence that names the owner of the settings shown.

    Args:
        armature: The armature of the constraint.
        item: The constraint.
        active: The armature's active bone in Pose Mode; empty if there is none.
    """
    index = settings(armature).constraints.find(item.name)
    chain = _chain(armature, index)
    if not active or chain is None or active == item.bone or _is_control(armature, chain, active):
        return msg("Settings of “{constraint}”", constraint=item.name)
    if is_below_end(chain, chain.rig.names.index(active)):
        return msg("Settings of “{constraint}”", constraint=item.name)
    if active in {chain.rig.names[bone] for bone in chain.posed}:
        return msg(
            "Settings of “{constraint}”, which poses “{bone}”", constraint=item.name, bone=active
        )
    return msg("Settings of “{constraint}”, not of “{bone}”", constraint=item.name, bone=active)


def _is_control(armature: bpy.types.Object, chain: ChainPlan, bone: str) -> bool:
    return (armature, bone) in controls_of(chain)


def notes_of(context: bpy.types.Context, turns: bool = False) -> list[tuple[Any, str]]:
    """Return notes on selected bones posed by constraints, each naming the control to move.

    Each note has a position in world space.

    Args:
        context: The context.
        turns: Whether the bones are rotated, not moved.
    """
    layer = cast(bpy.types.ViewLayer, context.view_layer)
    if known() is None or layer.depsgraph is None:
        return []
    notes: list[tuple[Any, str]] = []
    posing = posed_alone(context, turns)
    for armature, bone in _selected(context):
        chain = posing.get((armature, bone))
        note = _moving(chain, bone) if chain else _ignored(armature, bone)
        if note:
            posed = armature.evaluated_get(layer.depsgraph)
            notes.append((posed.matrix_world @ pose_bones(posed)[bone].head, note))
    return notes


def _moving(chain: ChainPlan, bone: str) -> str:
    """Return a sentence that names the control that moves a bone of a chain."""
    ob, name = control_of(chain, bone)
    return walk_problem(chain) or msg(
        "“{bone}” is posed by IK: move its control “{control}”",
        bone=bone,
        control=name or (ob.name if ob else ""),
    )


def _ignored(armature: bpy.types.Object, bone: str) -> str:
    """Return a sentence if a bone is the target of a leg that walks; otherwise an empty string."""
    plan, index = known(), skeleton_of(armature).index.get(bone, -1)
    for chain in plan.chains if plan else ():
        target = chain.target
        if target is not None and (target.object, target.bone) == (armature, index):
            return walk_problem(chain)
    return ""


def _selected(context: bpy.types.Context) -> list[Handle]:
    bones: list[Any] = list(context.selected_pose_bones or ())
    return [(bone.id_data, bone.name) for bone in bones]


def posed_alone(context: bpy.types.Context, turns: bool) -> dict[Handle, ChainPlan]:
    """Return, by selected bone, the only constraint that moves or, if ``turns``, rotates it."""
    if known() is None:
        return {}
    pairs = [(bone, chain) for bone in _selected(context) for chain in _posing_alone(*bone, turns)]
    return dict(pairs)


def _posing_alone(armature: bpy.types.Object, bone: str, turns: bool) -> list[ChainPlan]:
    """Return the constraint that poses a bone regardless of its FK pose, in a list.

    The list is empty if there is no such constraint, or if the bone is its control.

    Args:
        armature: The armature.
        bone: The name of the bone.
        turns: Whether the constraint has to rotate the bone, too.
    """
    index = skeleton_of(armature).index.get(bone, -1)
    chains = [chain for chain in chains_in(armature) if index in (*chain.posed, chain.tip_bone)]
    posing = [chain for chain in chains if _poses_alone(chain, index, turns)]
    controls = [(chain, control_of(chain, bone)) for chain in posing]
    return [chain for chain, (ob, name) in controls if ob and (ob, name) != (armature, bone)][:1]


def control_of(chain: ChainPlan, bone: str) -> tuple[bpy.types.Object | None, str]:
    """Return the control that moves a bone of a chain: its target, or its toe control."""
    if chain.roll is not None and chain.rig.index[bone] == chain.roll.toe:
        return chain.rig.object, chain.rig.names[chain.controls[-1].bone]
    item = settings(chain.rig.object).constraints[chain.item]
    return item.target, item.subtarget


def _poses_alone(chain: ChainPlan, bone: int, turns: bool) -> bool:
    """Return whether a chain with a target poses a bone regardless of its FK pose.

    The target moves a hand at the tip that doesn't copy its rotation, but doesn't rotate that hand.
    """
    item = settings(chain.rig.object).constraints[chain.item]
    if not has_target(item.solver) or not is_on(chain) or item.influence < 1.0:
        return False
    return not turns or bone != chain.tip_bone or item.use_rotation


def posed_by(armature: bpy.types.Object, bone: str) -> str:
    """Return a sentence on the constraints that pose a bone; empty if none do."""
    if known() is None:
        return ""
    chains = chains_in(armature)
    names = [chain.name for chain in chains if bone in {chain.rig.names[i] for i in chain.posed}]
    if not names:
        return ""
    return msg(
        "“{bone}” is posed by {names}. See the sidebar for settings",
        bone=bone,
        names=listed(names),
    )


TURNS = ("TRANSFORM_OT_rotate", "TRANSFORM_OT_trackball", "FABRIK_OT_control_rotate")
"""Operators that rotate bones with the mouse."""


def _notes_while_moving(context: bpy.types.Context) -> list[tuple[Any, str]]:
    """Return the notes for Move and Rotate: the Drag tool moves the control."""
    if not is_dragging((*MOVES, "FABRIK_OT_control_")):
        return []
    return notes_of(context, turns=is_dragging(TURNS))


register, unregister = registering(__name__, (BESIDE, _notes_while_moving))
