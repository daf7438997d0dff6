"""Editing an armature's constraint list, including animation."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

import bpy

from fabrik_solver import exact_for
from fabrik_solver.core.bend import LIMB

from ..blender import animation
from ..blender.errors import ProblemError
from ..blender.keying import ActiveCurves, put_keys
from ..blender.skeleton import skeleton_of
from ..body.chains import common_name, limb_length
from ..frame.solving import solve_constraint
from ..plan import dependencies, planner
from ..plan.chain_plan import ChainPlan
from ..plan.planner import chains_in
from ..plan.registry import kind_of
from ..settings import shot_keys
from ..settings.properties import FabrikConstraint, free_name, settings
from . import offset
from .bending import limited_bones, restore_limits, use_native_limits
from .defaults import apply_defaults
from .girth import beside_mesh
from .joint_uses import store_flexion
from .placing import new_empty, pole_world, tip_world


def active_constraint(armature: bpy.types.Object) -> FabrikConstraint | None:
    """Return the active constraint, or None if there is none."""
    fabrik = settings(armature)
    if 0 <= fabrik.active_index < len(fabrik.constraints):
        return fabrik.constraints[fabrik.active_index]
    return None


def add(
    armature: bpy.types.Object,
    bone: str,
    target: bpy.types.Object | None = None,
    subtarget: str = "",
    chain_count: int | None = 0,
    solver: str = "AUTO",
    use_offset: bool = False,
    use_tail: bool = True,
) -> FabrikConstraint:
    """Add a constraint and make it active.

    Args:
        armature: The armature object.
        bone: The tip bone of the chain.
        target: The target; None adds an Empty at the tip, if the solver needs a target.
        subtarget: The target's bone.
        chain_count: The number of bones, clamped to those up to the root; 0 for all, None for those
            of the limb.
        solver: The identifier of a solver, or ``'AUTO'``: Two Bone for two bones, FABRIK for more.
        use_offset: Whether to keep the tip's current offset from the target.
        use_tail: Whether the tip bone is part of the chain, if new constraints include it.

    Raises:
        ProblemError: If the constraint wouldn't work, or would break another one. Nothing is
            changed in that case.
    """
    planner.discard_if_outdated()
    rig = skeleton_of(armature)
    tip = rig.index[bone]
    length = len(rig.chain_up(tip))
    count = limb_length(rig, tip) if chain_count is None else min(chain_count, length)
    if solver == "AUTO":
        solver = exact_for("FABRIK", count or length)
    known_problems = problems()
    empty = None
    if target is None and kind_of(solver).needs_target:
        point, size = tip_world(armature, bone)
        size = beside_mesh(armature, bone, 0.25 * size)
        name = f"{common_name(bone)} Target"
        empty = target = new_empty(armature, name, point, size, "CUBE")
    fabrik = settings(armature)
    item = fabrik.constraints.add()
    item.name = free_name(armature, common_name(bone))
    item.bone, item.chain_count, item.solver = bone, count, solver
    item.target, item.subtarget = target, subtarget
    apply_defaults(item)
    if not use_tail:
        item.use_tail = False
    # A limb bends about its hinge; a longer chain drags its bones, so it never jumps.
    item.swing = 1.0 if (count or length) <= LIMB else 0.0
    if problem := new_problem(known_problems):
        fabrik.constraints.remove(len(fabrik.constraints) - 1)
        if empty is not None:
            bpy.data.objects.remove(empty)
        changed(armature)
        raise ProblemError(problem)
    fabrik.active_index = len(fabrik.constraints) - 1
    item.use_offset = use_offset
    use_native_limits(armature, item)
    store_flexion(armature, item)
    return item


def remove(armature: bpy.types.Object, *indices: int) -> None:
    """Remove constraints with their animation, and update the paths of later ones.

    Limits that were added to their joints are removed, too. Changed limits stay. So do limits of
    bones that another constraint poses, because their pose, and the matching limit, may have
    changed since.

    Raises:
        ProblemError: If a library override inherits one; the others may have been removed.
    """
    items = settings(armature).constraints
    bones = {name for index in indices for name in limited_bones(armature, items[index])}
    remove_from(armature, "constraints", "active_index", *indices)
    if bones and cast(bpy.types.Armature, armature.data).is_editable:
        still_limited = {name for item in items for name in limited_bones(armature, item)}
        restore_limits(armature, sorted(bones - still_limited))


def remove_from(armature: bpy.types.Object, collection: str, active: str, *indices: int) -> None:
    """Remove items from one of an armature's lists, with their animation.

    Args:
        armature: The armature object.
        collection: The name of the list.
        active: The name of the property with the list's active index; empty if there is none.
        indices: The indices in the list.

    Raises:
        ProblemError: If a library override inherits one; the others may have been removed.
    """
    items = getattr(settings(armature), collection)
    new_indices: dict[int, int | None] = {}
    count, name = len(items), ""
    try:
        for index in sorted(set(indices), reverse=True):
            name = items[index].name
            items.remove(index)
            new_indices[index] = None
    except TypeError:  # Blender raises it for items from the library.
        raise ProblemError(
            "“{name}” comes from a linked file: you can only disable it here", name=name
        ) from None
    finally:
        _close_gaps(armature, collection, active, count, new_indices)


def _close_gaps(
    armature: bpy.types.Object,
    collection: str,
    active: str,
    count: int,
    new_indices: dict[int, int | None],
) -> None:
    """Update a list's animation and active index after items were removed.

    Args:
        armature: The armature object.
        collection: The name of the list.
        active: The name of the property with the list's active index; empty if there is none.
        count: The previous number of items.
        new_indices: A dictionary with the removed indices as keys; the new indices of the others
            are added here.
    """
    if not new_indices:
        return
    removed = sorted(new_indices)
    remaining = [index for index in range(count) if index not in new_indices]
    new_indices |= {old: new for new, old in enumerate(remaining) if old != new}
    _reindex(armature, new_indices, collection)
    fabrik = settings(armature)
    if active:
        active_index = getattr(fabrik, active)
        removed_above = sum([index < active_index for index in removed])
        setattr(fabrik, active, max(0, min(active_index - removed_above, len(remaining) - 1)))
    changed(armature)


def swap(armature: bpy.types.Object, index: int, other: int) -> None:
    """Swap two items of the list, with their animation."""
    fabrik = settings(armature)
    fabrik.constraints.move(index, other)
    _reindex(armature, {index: other, other: index})
    fabrik.active_index = {index: other, other: index}.get(fabrik.active_index, fabrik.active_index)
    changed(armature)


def add_pole(
    depsgraph: bpy.types.Depsgraph, armature: bpy.types.Object, index: int
) -> bpy.types.Object:
    """Add an Empty as a pole without changing the pose.

    Raises:
        ProblemError: If the constraint is off, can't work, or can't bend, or the armature is not
            evaluated.
    """
    if not armature.evaluated_get(depsgraph).is_evaluated:
        raise ProblemError(
            "“{armature}” is hidden, so it isn't evaluated: show it first", armature=armature.name
        )
    point, size = pole_world(*solve_constraint(depsgraph, armature, index))
    item = settings(armature).constraints[index]
    pole = new_empty(armature, f"{common_name(item.bone)} Pole", point, 0.1 * size, "SPHERE")
    item.pole_angle = 0.0
    item.pole_subtarget = ""
    item.pole_target = pole
    return pole


def set_offset(armature: bpy.types.Object, index: int) -> None:
    """Set a constraint's offset to that of the displayed pose.

    Raises:
        ProblemError: If the bone or target is missing, or the target has zero scale.
    """
    item = settings(armature).constraints[index]
    offset.take(item)
    if not item.use_offset:
        item.use_offset = True


def disable(armature: bpy.types.Object, index: int, time: float) -> None:
    """Disable a constraint at all frames.

    F-curves and drivers that would enable it are muted; NLA strips are overridden by a key at
    ``time``.
    """
    item = settings(armature).constraints[index]
    path = item.path_from_id("enabled")
    animation.mute(armature, path)
    if animation.is_keyed(armature, path):
        curve = ActiveCurves(armature).at(path, 0, "FABRIK IK")
        curve.keyframe_points.clear()
        put_keys(curve, [time], [0.0])
    item.enabled = False


def problems(with_lag: bool = False) -> dict[tuple[int, int], str]:
    """Return the errors of the file's constraints, by the armature's session UID and the index.

    Args:
        with_lag: Whether following other chains with a delay of one update is an error.
    """
    messages: dict[tuple[int, int], str] = {}
    for chain in planner.current().chains:
        problem = chain.problem or (chain.note if with_lag and chain.is_late else "")
        if problem:
            messages[chain.rig.uid, chain.item] = problem
    return messages


def new_problem(old_keys: Collection[tuple[int, int]], with_lag: bool = False) -> str:
    """Return the first error that isn't among earlier `problems`; empty if there is none."""
    return next((problem for key, problem in problems(with_lag).items() if key not in old_keys), "")


def changed(armature: bpy.types.Object) -> None:
    """Update the armature after its constraint list was edited."""
    planner.discard()
    dependencies.declare([armature])
    armature.update_tag()


def _reindex(
    ob: bpy.types.Object, new_indices: Mapping[int, int | None], collection: str = "constraints"
) -> None:
    """Update the paths of F-curves and drivers to new indices in the list.

    An action that is linked, or used by other armatures with constraints, is copied first.

    Args:
        ob: The armature, not in the NLA's tweak mode.
        new_indices: The new index of each item by its old one; None if it was removed.
        collection: The name of the list.
    """
    # Reading unset settings would store empty ones.
    owners = [rig for rig in bpy.data.objects if rig != ob and rig.is_property_set("fabrik")]
    rigs = [rig for rig in owners if len(getattr(settings(rig), collection))]
    animation.rewrite(ob, rigs, lambda curves: _reindex_curves(curves, new_indices, collection))
    shot_keys.renew(ob)


def _reindex_curves(curves: Any, new_indices: Mapping[int, int | None], collection: str) -> None:
    for curve in list(curves):
        match = shot_keys.ITEM.fullmatch(curve.data_path)
        if match is None or match[1] != collection or match[2] is None:
            continue
        if int(match[2]) not in new_indices:
            continue
        index = new_indices[int(match[2])]
        if index is None:
            curves.remove(curve)
        else:
            curve.data_path = f"fabrik.{collection}[{index}]{match[4]}"


def is_in_ik(item: FabrikConstraint) -> bool:
    """Return whether a constraint has an effect at the current frame."""
    return item.enabled and item.influence > 0.0


def is_on(chain: ChainPlan) -> bool:
    """Return whether a resolved constraint has an effect at the current frame."""
    return is_in_ik(settings(chain.rig.object).constraints[chain.item])


def that_pose(armature: bpy.types.Object, bones: Collection[str]) -> list[int]:
    """Return the indices of the constraints that pose any of the bones, or end at any of them."""
    return sorted(
        chain.item
        for chain in chains_in(armature)
        if any(chain.rig.names[i] in bones for i in (*chain.bones, chain.tip_bone) if i >= 0)
    )
