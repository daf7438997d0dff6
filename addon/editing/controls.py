"""Control bones, which replace Empties as targets and poles."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import bpy
from mathutils import Matrix

from fabrik_solver.motion.anatomy import side_of

from ..blender import animation
from ..blender.access import pose_bones
from ..blender.curves import split_bone_path
from ..blender.errors import ChoiceError
from ..blender.messages import msg
from ..blender.skeleton import upright
from ..body.chains import common_name, named_chain
from ..settings.properties import settings
from .control_parents import ROOT, Parent, parent_bone
from .girth import skins_of
from .lifting import set_down
from .placing import link_beside
from .playing import Shown, updated
from .transaction import at_the_end, keep_bones

COLLECTION = "IK Controls"
"""The bone collection of control bones."""

COLORS = {
    1: ((0.45, 0.85, 1.0), (0.55, 0.88, 1.0), (0.78, 0.94, 1.0)),
    0: ((0.98, 0.85, 0.25), (1.0, 0.90, 0.45), (1.0, 0.96, 0.70)),
    -1: ((1.0, 0.64, 0.56), (1.0, 0.70, 0.62), (1.0, 0.82, 0.75)),
}
"""The colors of control bones by side: blue on the left, yellow in the middle, red on the right.

They are for normal, selected and active bones. Blender darkens the first by 50 of 255, and the last
by 80 while the bone isn't selected. Most color sets of themes would then be hard to see on the
viewport's gray.
"""

WIDTH = 2.0
"""Line width of control bones, in pixels."""

ENDS_WITH_SIDE = re.compile(r"(.+?)([._ -](?:l|r|left|right)(?:\.\d+)?)", re.IGNORECASE)
"""Splits a bone's name into its base and its side."""


FOOT_CONTROLS: list[Callable[[bpy.types.Object, Sequence[int]], Callable[[], object]]] = []
"""Functions of features that add further controls to constraints whose targets are new bones.

They take the armature and the indices of the constraints, look at the body before bones are added,
and return what to call after it.
"""


class Control(NamedTuple):
    """A control bone to add.

    Attributes:
        name: Its name.
        empty: The Empty that it replaces.
        shape: Its custom shape.
        parent: The name of its parent; empty if there is none.
    """

    name: str
    empty: bpy.types.Object
    shape: bpy.types.Object
    parent: str


def uneditable_problem(armature: bpy.types.Object) -> str:
    """Return why bones can't be added to an armature; empty if they can."""
    data = cast(bpy.types.Armature, armature.data)
    if data.library is None and data.override_library is None:
        return ""
    return msg(
        "The bones of “{armature}” are linked, so no bones can be added: choose Empties or a new "
        "armature",
        armature=armature.name,
    )


def refuse_uneditable(armature: bpy.types.Object) -> None:
    """Refuse an armature without Edit Mode.

    Raises:
        ChoiceError: If its data is linked or a library override.
    """
    if problem := uneditable_problem(armature):
        raise ChoiceError(problem, {"controls": "EMPTY"})


@contextmanager
def edit_mode(armature: bpy.types.Object) -> Iterator[Any]:
    """Yield an armature's edit bones, and restore the active object and its mode afterward.

    Both objects may be hidden.
    """
    layer = cast(bpy.types.ViewLayer, bpy.context.view_layer)
    active = layer.objects.active
    mode = "OBJECT" if active is None else active.mode
    keep_bones(armature)
    hidden = [Shown(ob, layer) for ob in dict.fromkeys((armature, active or armature))]
    for shown in hidden:
        shown.show()
    try:
        if mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        layer.objects.active = armature
        try:
            bpy.ops.object.mode_set(mode="EDIT")
            yield cast(bpy.types.Armature, armature.data).edit_bones
        finally:
            bpy.ops.object.mode_set(mode="OBJECT")
            layer.objects.active = active
            if mode != "OBJECT":
                bpy.ops.object.mode_set(mode=cast(Any, mode))
    finally:
        for shown in hidden[::-1]:
            shown.give_back()


def new_armature(armature: bpy.types.Object) -> bpy.types.Object:
    """Add an empty armature that moves with another one, in the same collection."""
    name = f"{armature.name} Controls"
    controls = bpy.data.objects.new(name, bpy.data.armatures.new(name))
    controls.parent = armature
    controls.show_in_front = True
    settings(controls).is_control = True
    link_beside(controls, armature)
    return controls


def foot_controls(armature: bpy.types.Object, indices: Sequence[int]) -> Callable[[], None]:
    """Return a function that adds features' controls, such as a foot's roll, to constraints.

    Call it once their targets are bones. The body is examined before that, because new bones change
    it.
    """
    adding = [look(armature, indices) for look in FOOT_CONTROLS]

    def add() -> None:
        for add_controls in adding:
            add_controls()

    return add


def control_name(bone: str, word: str, is_shared: bool) -> str:
    """Return the name of a bone's control, which Blender can flip if it can flip the bone's name.

    It is based on the name that an animator uses, without a rig's prefixes and suffixes.

    Args:
        bone: The name of the bone.
        word: The purpose of the control, as in ``"hand IK.L"``.
        is_shared: Whether several bones share it, so its name has no side.
    """
    bone = common_name(bone)
    match = ENDS_WITH_SIDE.fullmatch(bone)
    if match and is_shared:
        return f"{match[1]} {word}"
    return f"{match[1]} {word}{match[2]}" if match else f"{bone} {word}"


def use_bones(
    armature: bpy.types.Object,
    indices: Sequence[int],
    holder: bpy.types.Object,
    word: str = "IK",
    only: Collection[bpy.types.Object] | None = None,
    parent: Parent = ROOT,
    moving: Collection[str] = (),
) -> list[str]:
    """Replace the Empties that are constraints' targets and poles with new bones of an armature.

    Args:
        armature: The armature of the constraints.
        indices: The indices of the constraints. Their targets and poles are Empties used by nothing
            else, or bones, which are kept.
        holder: The armature that gets the bones; it may be the same.
        word: The purpose of the controls, for their names.
        only: The Empties to replace; None for all.
        parent: The choice of the bones' parent, if they are in the same armature.
        moving: Further bones that move the chains, such as the body of a walk.

    Returns:
        The names of the new bones.

    Raises:
        ChoiceError: If the new bones can't have that parent. Nothing is changed.
    """
    items: list[Any] = [settings(armature).constraints[index] for index in indices]
    parents = (
        {}
        if holder != armature
        else {item.name: _parent_of(armature, item, parent, moving) for item in items}
    )
    cube, sphere = new_shape(armature, "CUBE"), new_shape(armature, "SPHERE")
    updated()
    controls: dict[bpy.types.Object, Control] = {}
    for end, is_pole in _empties_of(items):
        if (only is None or end in only) and end not in controls:
            users = [con for con in items if end in (con.target, con.pole_target)]
            name = control_name(users[0].bone, "Pole" if is_pole else word, len(users) > 1)
            above = parents.get(users[0].name, "")
            controls[end] = Control(name, end, sphere if is_pole else cube, above)
    names = dict(zip(controls, _add_bones(holder, [*controls.values()]), strict=True))
    _show_in_front(holder)
    # Editing bones may have moved the settings in memory.
    for item in [settings(armature).constraints[index] for index in indices]:
        if item.target in names:
            item.target, item.subtarget = holder, names[item.target]
        if item.pole_target in names:
            item.pole_target, item.pole_subtarget = holder, names[item.pole_target]
    for ob in [*controls, *(shape for shape in (cube, sphere) if shape.users == 0)]:
        bpy.data.objects.remove(ob)
    set_down(armature, indices, [(holder, name) for name in names.values()])
    return [*names.values()]


def _parent_of(
    armature: bpy.types.Object, item: Any, parent: Parent, moving: Collection[str]
) -> str:
    """Return the bone that a constraint's controls are parented to; empty if there is none.

    Args:
        armature: The armature.
        item: The constraint.
        parent: The choice of their parent.
        moving: Further bones that move the chain.
    """
    tip = pose_bones(armature)[item.bone]
    chain = named_chain(item, tip)
    first = next(iter(chain.bones), tip.name)
    line = [bone.name for bone in (tip, *tip.parent_recursive)]
    higher = [name for name in line if name in moving]
    return parent_bone(armature, parent, [tip.name, *chain.bones, *moving], (higher or [first])[-1])


def _empties_of(items: Iterable[Any]) -> Iterator[tuple[bpy.types.Object, bool]]:
    """Yield constraints' targets and poles that aren't bones, each with whether it is a pole."""
    for item in items:
        if item.target is not None and not item.subtarget:
            yield item.target, False
        if item.pole_target is not None and not item.pole_subtarget:
            yield item.pole_target, True


def _add_bones(armature: bpy.types.Object, controls: Sequence[Control]) -> list[str]:
    """Add control bones with Empties' locations and rotations, and return their names."""
    world = armature.matrix_world
    evaluated = pose_bones(armature.evaluated_get(updated()))
    posed = {name: evaluated[name].matrix.copy() for name in {c.parent for c in controls} - {""}}
    names: list[str] = []
    with edit_mode(armature) as bones:
        for control in controls:
            bone = bones.new(control.name)
            bone.parent = bones.get(control.parent)
            # Its parent may be posed: at rest, the bone is where that takes it to the Empty.
            moved = (
                posed[bone.parent.name] @ bone.parent.matrix.inverted_safe()
                if bone.parent
                else Matrix()
            )
            shown = world @ moved
            matrix = shown.inverted_safe() @ control.empty.matrix_world
            size = control.empty.empty_display_size / max(shown.median_scale, 1e-9)
            bone.tail = (0.0, 4.0 * size, 0.0)
            bone.matrix = Matrix.LocRotScale(cast(Any, matrix.translation), upright(matrix), None)
            bone.use_deform = False
            names.append(bone.name)
    mark_controls(armature, names)
    for name, control in zip(names, controls, strict=True):
        show_as_control(pose_bones(armature)[name], control.shape)
    return names


def show_as_control(bone: Any, shape: bpy.types.Object | None) -> None:
    """Set the color and custom shape of a control bone."""
    color: Any = bone.bone.color
    color.palette = "CUSTOM"
    custom = color.custom
    custom.normal, custom.select, custom.active = COLORS[side_of(bone.name)]
    bone.custom_shape = shape
    bone.use_custom_shape_bone_size = True
    bone.custom_shape_scale_xyz = (0.25, 0.25, 0.25)
    bone.custom_shape_wire_width = WIDTH


def mirror_bones(
    armature: bpy.types.Object, names: Mapping[str, str], parents: Mapping[str, str]
) -> None:
    """Add the mirror images of control bones at the YZ plane, at rest and posed.

    Args:
        armature: The armature.
        names: The new names, by the old ones.
        parents: The new bones' parents, by the old bones' names; empty without a parent.
    """
    mirror = Matrix.Diagonal((-1.0, 1.0, 1.0))
    with edit_mode(armature) as bones:
        for name, new_name in names.items():
            bone, new = bones[name], bones.new(new_name)
            new.parent = bones.get(parents[name])
            new.head, new.tail = mirror @ bone.head, mirror @ bone.tail
            new.align_roll(mirror @ bone.z_axis)
            new.use_deform = False
    mark_controls(armature, names.values())
    for name, new_name in names.items():
        posed, new_posed = pose_bones(armature)[name], pose_bones(armature)[new_name]
        show_as_control(new_posed, posed.custom_shape)
        new_posed.rotation_mode = posed.rotation_mode
        reflection = mirror.to_4x4()
        new_posed.matrix_basis = reflection @ posed.matrix_basis @ reflection


def mark_controls(armature: bpy.types.Object, names: Iterable[str]) -> None:
    """Mark bones as controls, which are removed with their constraints, and collect them."""
    data: Any = armature.data
    collection = data.collections_all.get(COLLECTION) or data.collections.new(COLLECTION)
    for name in names:
        collection.assign(pose_bones(armature)[name])
        data.bones[name].fabrik_is_control = True


def _show_in_front(armature: bpy.types.Object) -> None:
    """Draw an armature in front of its meshes, so that its controls are visible.

    Importers of characters also do so. If the setting was off, this is stored, so `remove_bones`
    can restore it.
    """
    if not armature.show_in_front and skins_of(armature):
        armature.show_in_front = True
        settings(armature).is_shown_in_front = True


def _give_front_back(armature: bpy.types.Object) -> None:
    """Restore the setting that `_show_in_front` changed."""
    fabrik = settings(armature)
    if fabrik.is_shown_in_front:
        armature.show_in_front = False
        fabrik.property_unset("is_shown_in_front")


def remove_bones(armature: bpy.types.Object, names: Iterable[str]) -> None:
    """Remove bones and their animation."""
    removed = set(names)

    def drop(curves: Any) -> None:
        for curve in list(curves):
            if split_bone_path(curve.data_path)[0] in removed:
                curves.remove(curve)

    other_objects = [ob for ob in bpy.data.objects if ob != armature]
    animation.rewrite(armature, other_objects, drop)
    with edit_mode(armature) as bones:
        for name in removed & set(bones.keys()):
            bones.remove(bones[name])
    data: Any = armature.data
    collection = data.collections_all.get(COLLECTION)
    if collection is not None and not collection.bones and not collection.children:
        data.collections.remove(collection)
        _give_front_back(armature)


def remove_empty_action(ob: bpy.types.Object) -> None:
    """Remove an object's active action if it has no F-curves and no other users."""
    data = ob.animation_data
    action = data.action if data is not None else None
    if data is None or action is None or data.use_tweak_mode:
        return
    slots = getattr(action, "slots", [None])
    if not any(list(curves) for slot in slots for curves in animation.curve_lists(action, slot)):
        data.action = None
        at_the_end(lambda: action.users or bpy.data.actions.remove(action))


def new_shape(armature: bpy.types.Object, display: str) -> bpy.types.Object:
    """Return a new Empty outside all collections, for the custom shape of control bones."""
    shape = bpy.data.objects.new(f"{armature.name} {display.title()}", None)
    shape.empty_display_type = cast(Any, display)
    return shape
