"""Removing controls that were added with constraints, once they are unused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any, cast

import bpy

from ..blender.access import pose_bones
from ..blender.animation import actions
from ..blender.refusals import tweak_problem
from ..settings.properties import is_control, settings
from . import constraints as editing
from .controls import remove_bones, remove_empty_action
from .ends import added_end
from .switching import restore_unposed
from .transaction import at_the_end
from .uses import Control, named_controls, used_controls

AFTER_REMOVAL: list[Callable[[bpy.types.Object], None]] = []
"""Functions that clean up after removed constraints, given the armature."""

BEFORE_BONES: list[Callable[[bpy.types.Object, Collection[str]], None]] = []
"""Functions that remove settings of control bones before the bones, given the armature and
names."""


def remove_constraints(places: Iterable[tuple[bpy.types.Object, int]], keep_controls: bool) -> None:
    """Remove constraints with their animation, and the controls that were added with them.

    Args:
        places: The armatures and indices of the constraints.
        keep_controls: Whether to keep the controls.

    Raises:
        ProblemError: If a library override inherits one.
    """
    ordered = sorted(places, key=lambda entry: -entry[1])
    controls = [control for armature, index in ordered for control in _controls_of(armature, index)]
    armatures = [*dict.fromkeys(armature for armature, _ in ordered)]
    for armature in armatures:
        editing.remove(armature, *(index for ob, index in ordered if ob == armature))
    for armature in armatures:
        for forget in AFTER_REMOVAL:
            forget(armature)
        restore_unposed(armature)
    if not keep_controls:
        remove_unused(controls)


def _controls_of(armature: bpy.types.Object, index: int) -> Iterator[Control]:
    """Yield a constraint's controls and end, if they were added with a constraint."""
    item = settings(armature).constraints[index]
    for ob, bone in (
        (armature, added_end(armature, item)),
        (item.target, item.subtarget),
        (item.pole_target, item.pole_subtarget),
        *((armature, name) for name in named_controls(armature, item)),
    ):
        if ob is not None and (ob != armature or bone) and _is_ours(ob, bone):
            yield ob, bone


def _is_ours(ob: bpy.types.Object, bone: str) -> bool:
    if not bone:
        return is_control(ob)
    bones = ob.data.bones if isinstance(ob.data, bpy.types.Armature) else {}
    return bone in bones and cast(Any, bones[bone]).fabrik_is_control


def remove_unused(controls: Iterable[Control]) -> None:
    """Remove the controls that nothing uses except one another, with their animation.

    Controls that can't be removed are kept: linked ones, and bones of armature data with several
    users. So are bones of armatures that can't be shown, or aren't in the view layer.
    """
    unused = {(ob, bone): None for ob, bone in controls if _is_removable(ob, bone)}
    while used := used_controls(unused):
        unused = {control: None for control in unused if control not in used}
    for ob, _ in [control for control in unused if not control[1]]:
        remove_object(ob)
    for holder in dict.fromkeys(ob for ob, bone in unused if bone):
        _remove_bones(holder, [name for ob, name in unused if ob == holder])


def _is_removable(ob: bpy.types.Object, bone: str) -> bool:
    if not bone:
        return ob.is_editable and not ob.use_fake_user
    data: Any = ob.data
    return (
        bone in pose_bones(ob)
        and data.library is None
        and data.override_library is None
        and data.users == 1 + data.use_fake_user
        and not tweak_problem(ob)
    )


def _remove_bones(holder: bpy.types.Object, names: Collection[str]) -> None:
    """Remove control bones, and their armature if it was added for them and becomes empty."""
    shapes = {pose_bones(holder)[name].custom_shape for name in names}
    if is_control(holder) and len(names) == len(pose_bones(holder)):
        remove_object(holder)
    else:
        for remove_settings in BEFORE_BONES:
            remove_settings(holder, names)
        remove_bones(holder, names)
        remove_empty_action(holder)
    for shape in filter(None, shapes):
        at_the_end(partial(_remove_shape, shape))


def _remove_shape(shape: bpy.types.Object) -> None:
    if shape.type == "EMPTY" and not shape.users:
        bpy.data.objects.remove(shape)


def remove_object(ob: bpy.types.Object) -> None:
    """Remove an object with its armature data and actions, unless they have other users."""
    for group in ob.users_collection:
        group.objects.unlink(ob)
    at_the_end(lambda: _remove(ob))


def _remove(ob: bpy.types.Object) -> None:
    data, used = ob.data, set(actions(ob))
    bpy.data.objects.remove(ob)
    if isinstance(data, bpy.types.Armature) and not data.users:
        bpy.data.armatures.remove(data)
    for action in used:
        if not action.users:
            bpy.data.actions.remove(action)
