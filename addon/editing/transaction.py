"""All or nothing: an operator's changes are reverted if it fails or is interrupted.

Blender's undo can't do that, because within an operator it replaces the data in use. Therefore
everything operators change is stored first: settings, poses, and which data exists. Actions,
drivers and rest bones are copied before they are edited, and data is removed at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, cast

import bpy
from mathutils import Euler, Matrix, Quaternion, Vector

from ..blender import animated_values, animation, data_blocks, dependency_driver
from ..blender.access import is_there, pose_bones
from ..blender.errors import interrupts
from ..blender.offset_layers import NlaState, edit_layer, nla_state, restore_tracks
from ..plan import planner
from ..settings.properties import settings

KINDS = ("objects", "armatures", "actions", "meshes", "collections")
"""Types of data that operators add."""

OBJECT = (
    *("parent", "parent_type", "parent_bone", "matrix_parent_inverse", "rotation_mode"),
    *("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle", "scale"),
    *("hide_viewport", "show_in_front", "name"),
)
"""Object properties that operators set; ordered, because setting a parent changes the inverse."""

BONE = (
    *("rotation_mode", "location", "rotation_quaternion", "rotation_euler"),
    *("rotation_axis_angle", "scale", "lock_location", "lock_rotation", "lock_rotation_w"),
    *("lock_rotations_4d", "lock_scale", "custom_shape", "custom_shape_scale_xyz"),
    *("use_custom_shape_bone_size", "custom_shape_wire_width"),
    *(f"{kind}_{axis}" for axis in "xyz" for kind in ("lock_ik", "use_ik_limit", "ik_stiffness")),
    *(f"ik_{end}_{axis}" for axis in "xyz" for end in ("min", "max")),
    "ik_stretch",
)
"""Pose bone properties that operators set."""

State = dict[str, Any]
"""Values by name."""

_now: list[_Before] = []
"""The state to restore if the running operator fails; empty without one."""


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Revert all changes within the block if it fails for any reason."""
    if _now:  # Part of a larger transaction.
        yield
        return
    old_state = _Before()
    try:
        old_state.take()
        _now.append(old_state)
        old_interrupts = interrupts()
        yield
        if interrupts() != old_interrupts:
            raise KeyboardInterrupt
        old_state.finish()
    except BaseException:
        old_state.give_back()
        raise
    finally:
        _now.clear()


def at_the_end(remove: Callable[[], object]) -> None:
    """Remove data once the running operator has succeeded, or at once if none is running."""
    if _now:
        _now[0].removals.append(remove)
    else:
        remove()


def keep_bones(armature: bpy.types.Object) -> None:
    """Copy an armature's bones before they are edited."""
    if _now:
        _now[0].keep_bones(cast(bpy.types.Armature, armature.data))


@animation.before_edit
def _keep_animation(ob: bpy.types.Object) -> None:
    if _now:
        _now[0].keep_animation(ob)


class _Animated(NamedTuple):
    """The animation of an object.

    Attributes:
        action: Its action.
        slot: The handle of its action slot.
        nla: The state of its NLA.
    """

    action: bpy.types.Action | None
    slot: int
    nla: NlaState


class _Before:
    """The state of the file before an operator.

    Attributes:
        removals: Removals to run once the operator has succeeded.
    """

    def __init__(self) -> None:
        """Store nothing yet."""
        self.removals: list[Callable[[], object]] = []
        self._known: dict[str, set[int]] = {}
        self._bones: dict[bpy.types.Armature, bpy.types.Armature] = {}
        self._copies: dict[bpy.types.Action, bpy.types.Action] = {}
        self._drivers: dict[bpy.types.Object, bpy.types.Object | None] = {}
        self._keepers: list[bpy.types.Object] = []
        self._is_taken = False

    def take(self) -> None:
        """Store the state that operators can change."""
        self._scene = cast(bpy.types.Scene, bpy.context.scene)
        self._layer = layer = cast(bpy.types.ViewLayer, bpy.context.view_layer)
        self._frame = self._scene.frame_current, self._scene.frame_subframe
        self._known = {kind: _uids(kind) for kind in KINDS}
        self._active = layer.objects.active
        self._mode = "OBJECT" if self._active is None else self._active.mode
        self._selected = [ob for ob in layer.objects if ob.select_get(view_layer=layer)]
        groups = [self._scene.collection, *(g for g in bpy.data.collections if g.is_editable)]
        self._groups = [(group, [*group.objects]) for group in groups]
        self._take_objects([ob for ob in layer.objects if ob.is_editable])
        self._is_taken = True

    def _take_objects(self, objects: Sequence[bpy.types.Object]) -> None:
        self._objects = [(ob, _taken(ob, OBJECT)) for ob in objects]
        self._animated = [(ob, _animation(ob)) for ob in objects if ob.animation_data]
        self._still = [ob for ob in objects if not ob.animation_data]
        self._values = [(ob, animated_values.values(ob)) for ob, _ in self._animated]
        rigs = [ob for ob in objects if ob.pose is not None]
        self._settings = [(ob, _group(settings(ob))) for ob in rigs]
        ours = [_ours(kind) for kind in (bpy.types.PoseBone, bpy.types.Bone)]
        self._posed = [(ob, [_bone(bone, ours) for bone in pose_bones(ob)]) for ob in rigs]

    def keep_animation(self, ob: bpy.types.Object) -> None:
        """Copy an object's actions and drivers before they are edited."""
        for action in set(animation.actions(ob)) - self._copies.keys():
            if action.is_editable and action.session_uid in self._known["actions"]:
                self._copies[action] = cast("bpy.types.Action", action.copy())
        if ob not in self._drivers:
            self._drivers[ob] = self._kept_drivers(ob)

    def _kept_drivers(self, ob: bpy.types.Object) -> bpy.types.Object | None:
        drivers = _drivers_of(ob)
        if not drivers:
            return None
        keeper = bpy.data.objects.new(ob.name, None)
        self._keepers.append(keeper)
        for driver in drivers:
            data: Any = keeper.animation_data or keeper.animation_data_create()
            data.drivers.from_existing(src_driver=driver)
        return keeper

    def keep_bones(self, data: bpy.types.Armature) -> None:
        """Copy the bones of armature data."""
        if data.session_uid in self._known["armatures"] and data not in self._bones:
            self._bones[data] = cast(bpy.types.Armature, data.copy())

    def finish(self) -> None:
        """Run the removals, and remove the copies."""
        bpy.data.batch_remove([*self._copies.values(), *self._bones.values(), *self._keepers])
        self._copies, self._bones, self._drivers, self._keepers = {}, {}, {}, []
        while self.removals:
            with suppress(ReferenceError):
                self.removals[0]()
            del self.removals[0]

    def give_back(self) -> None:
        """Revert all changes since `take`."""
        if not self._is_taken:
            self._remove_new()
            return
        if (bpy.context.mode or "").startswith("EDIT"):
            bpy.ops.object.mode_set(mode="OBJECT")
        self._give_animation_back()
        for data, copy in self._bones.items():
            if _bones_of(data) != _bones_of(copy):
                _replace(data, copy)
        for group, objects in self._there(self._groups):
            for ob in set(filter(is_there, objects)) - set(group.objects):
                group.objects.link(ob)
        for ob, state in self._there(self._objects):
            _give(ob, state)
        for ob, state in self._there(self._settings):
            _give_group(settings(ob), state)
        self._remove_new()
        self._show()

    def _give_animation_back(self) -> None:
        """Restore actions and drivers."""
        for ob, animated in self._there(self._animated):
            if _animation(ob) != animated:
                _give_action_back(ob, animated)
        for ob, keeper in self._there(self._drivers.items()):
            _give_drivers_back(ob, keeper)
        for action, copy in self._copies.items():
            if is_there(action) and _content(action) != _content(copy):
                _replace(action, copy)
        for ob in filter(is_there, self._still):
            if ob.animation_data is not None and (ob.animation_data.action or _drivers_of(ob)):
                ob.animation_data_clear()

    def _show(self) -> None:
        """Restore frame, mode, selection and pose, and update the view layer."""
        scene, layer = self._scene, self._layer
        planner.discard()
        if (scene.frame_current, scene.frame_subframe) != self._frame:
            scene.frame_set(self._frame[0], subframe=self._frame[1])
        layer.update()
        for ob, values in self._there(self._values):
            animated_values.restore(ob, values)
        for ob, bones in self._there(self._posed):
            for state in bones:
                if (bone := pose_bones(ob).get(state["name"])) is not None:
                    _give_bone(bone, state)
        for ob in layer.objects:
            if ob.select_get(view_layer=layer) != (ob in self._selected):
                ob.select_set(ob in self._selected, view_layer=layer)
        if self._active is None or is_there(self._active):
            layer.objects.active = self._active
            if self._active is not None and self._active.mode != self._mode:
                bpy.ops.object.mode_set(mode=cast(Any, self._mode))
        planner.discard()
        layer.update()

    def _there(self, pairs: Iterable[tuple[bpy.types.ID, Any]]) -> Iterator[tuple[Any, Any]]:
        """Yield the pairs whose objects still exist."""
        yield from (pair for pair in pairs if is_there(pair[0]))

    def _remove_new(self) -> None:
        """Remove data that did not exist before, including copies."""
        new = [
            block
            for kind, old_uids in self._known.items()
            for block in getattr(bpy.data, kind)
            if block.session_uid not in old_uids and not self._is_kept(block)
        ]
        if new:
            bpy.data.batch_remove(new)

    def _is_kept(self, block: bpy.types.ID) -> bool:
        """Return whether a copy has replaced its original."""
        copies = {**self._copies, **self._bones}
        return any(copy == block and not is_there(old) for old, copy in copies.items())


def _uids(kind: str) -> set[int]:
    return {block.session_uid for block in getattr(bpy.data, kind)}


def _replace(old: Any, copy: Any) -> None:
    """Replace a data-block with its copy."""
    name, is_kept = old.name, old.use_fake_user
    old.user_remap(copy)
    bpy.data.batch_remove([old])
    copy.name, copy.use_fake_user = name, is_kept


def _bones_of(data: bpy.types.Armature) -> list[object]:
    """Return the bone properties that Edit Mode sets, and the bone collections."""
    groups = [(group.name, sorted(group.bones.keys())) for group in data.collections_all]
    bones = [
        (
            *(bone.name, bone.parent and bone.parent.name, bone.length, bone.matrix_local.copy()),
            *(bone.use_connect, bone.use_deform, bone.inherit_scale),
        )
        for bone in data.bones
    ]
    return [*groups, *bones]


def _drivers_of(ob: bpy.types.Object) -> list[Any]:
    """Return an object's drivers, except the one that declares its dependencies."""
    drivers: Any = ob.animation_data.drivers if ob.animation_data else ()
    return [curve for curve in drivers if curve.data_path != dependency_driver.PATH]


def _driver_content(ob: bpy.types.Object | None) -> list[object]:
    drivers = [] if ob is None else _drivers_of(ob)
    paths = [(fc.data_path, fc.array_index, fc.mute) for fc in drivers]
    return [*zip(paths, [data_blocks.driver_content(fc.driver) for fc in drivers], strict=True)]


def _content(action: Any) -> list[object]:
    """Return the F-curves of an action."""
    slots = getattr(action, "slots", [None])
    return [
        (curve.data_path, curve.lock, data_blocks.curve_digest(curve))
        for slot in slots
        for curves in animation.curve_lists(action, slot)
        for curve in curves
    ]


def _animation(ob: bpy.types.Object) -> _Animated:
    data: Any = ob.animation_data or ob.animation_data_create()
    return _Animated(data.action, getattr(data, "action_slot_handle", 0), nla_state(ob))


def _give_action_back(ob: bpy.types.Object, animated: _Animated) -> None:
    restore_tracks(ob, animated.nla)
    if animated.nla.is_edited:
        animation.use_action(ob, None, 0)
        edit_layer(ob)
    else:
        animation.use_action(ob, animated.action, animated.slot)


def _give_drivers_back(ob: bpy.types.Object, keeper: bpy.types.Object | None) -> None:
    if _driver_content(ob) != _driver_content(keeper):
        data: Any = ob.animation_data or ob.animation_data_create()
        for driver in _drivers_of(ob):
            data.drivers.remove(driver)
        for driver in [] if keeper is None else _drivers_of(keeper):
            data.drivers.from_existing(src_driver=driver)


def _taken(owner: Any, names: Sequence[str]) -> State:
    """Return the values of those properties that an owner has."""
    values = {name: getattr(owner, name) for name in names if hasattr(owner, name)}
    # Bones are many, and few of their values need a call.
    return {
        name: value
        if type(value) in SCALARS
        else tuple(value)
        if type(value) in TUPLES
        else _plain(value)
        for name, value in values.items()
    }


SCALARS = (bool, int, float, str, type(None))
TUPLES = (Vector, Euler, Quaternion, bpy.types.bpy_prop_array)


def _plain(value: Any) -> Any:
    if isinstance(value, Matrix):
        return value.copy()
    if hasattr(value, "__len__") and not isinstance(value, (str, bytes)):
        rows = [tuple(row) if hasattr(row, "__len__") else row for row in value]
        return set(value) if isinstance(value, set) else tuple(rows)
    return value


def _give(owner: Any, state: State) -> None:
    """Set the properties that differ."""
    for name, value in state.items():
        if name in owner.bl_rna.properties:
            _set(owner, name, value)


def _set(owner: Any, name: str, value: Any) -> None:
    """Set a property that differs. An enum that a driver had set to no item keeps its new item."""
    if _plain(getattr(owner, name)) != value:
        with suppress(TypeError):
            setattr(owner, name, value)


def _group(group: Any) -> State:
    """Return all values set in a settings group, including nested lists and groups."""
    state: State = {}
    for prop in group.bl_rna.properties:
        name = prop.identifier
        if _is_set(group, prop):
            state[name] = _held(getattr(group, name), prop.type)
    if "name" in group.bl_rna.properties:
        state["name"] = group.name
    return state


def _is_set(group: Any, prop: Any) -> bool:
    """Return whether a setting is stored: computed settings aren't."""
    is_stored = not prop.is_readonly or prop.type in ("POINTER", "COLLECTION")
    return prop.is_runtime and is_stored and group.is_property_set(prop.identifier)


def _held(value: Any, kind: str) -> Any:
    if kind == "COLLECTION":
        return [_group(item) for item in value]
    return _group(value) if isinstance(value, bpy.types.PropertyGroup) else _plain(value)


def _give_group(group: Any, state: State) -> None:
    """Set the values of a settings group to a state, and unset properties that aren't in it."""
    for prop in group.bl_rna.properties:
        name = prop.identifier
        if name in state or _is_set(group, prop):
            _give_setting(group, prop, state)


def _give_setting(group: Any, prop: Any, state: State) -> None:
    name = prop.identifier
    value, old = getattr(group, name), state.get(name)
    if prop.type == "COLLECTION":
        items = old or []
        while len(value) > len(items):
            value.remove(len(value) - 1)
        while len(value) < len(items):
            value.add()
        for item, old_item in zip(value, items, strict=True):
            _give_group(item, old_item)
    elif isinstance(value, bpy.types.PropertyGroup):
        _give_group(value, old or {})
    elif name not in state:
        group.property_unset(name)
    else:
        _set(group, name, old)


HAS_SELECT = "select" in bpy.types.PoseBone.bl_rna.properties
"""Whether pose bones are selected, as from Blender 5.0 on, and not their rest bones."""


def _bone(bone: Any, ours: Sequence[Sequence[Any]]) -> State:
    """Return the properties that operators set on a bone.

    Args:
        bone: The pose bone.
        ours: The properties that the extension adds to pose bones, and to bones.
    """
    state = {"name": bone.name, "pose": _taken(bone, BONE), "group": {}, "rest": {}}
    for part, owner, props in (("group", bone, ours[0]), ("rest", bone.bone, ours[1])):
        state[part] = {
            prop.identifier: _held(getattr(owner, prop.identifier), prop.type)
            for prop in props
            if owner.is_property_set(prop.identifier)
        }
    state["constraints"] = [(con.type, _values(con), _targets(con)) for con in bone.constraints]
    state["select"] = (bone if HAS_SELECT else bone.bone).select
    return state


def _ours(kind: Any) -> list[Any]:
    return [prop for prop in kind.bl_rna.properties if prop.identifier.startswith("fabrik_")]


def _values(con: Any) -> State:
    """Return the settings of one of Blender's constraints."""
    skipped = ("rna_type", "type", "targets")
    names = [p.identifier for p in con.bl_rna.properties if not p.is_readonly]
    return _taken(con, [name for name in names if name not in skipped])


def _targets(con: Any) -> list[State]:
    """Return the target bones of an Armature constraint; empty for others."""
    return [
        _taken(target, ("target", "subtarget", "weight")) for target in getattr(con, "targets", ())
    ]


def _give_bone(bone: Any, state: State) -> None:
    _give(bone, state["pose"])
    for part, owner in (("group", bone), ("rest", bone.bone)):
        for prop in _ours(type(owner)):
            if prop.identifier in state[part] or owner.is_property_set(prop.identifier):
                _give_setting(owner, prop, state[part])
    _give_constraints(bone, state["constraints"])
    selection = bone if HAS_SELECT else bone.bone
    if selection.select != state["select"]:
        selection.select = state["select"]


def _give_constraints(bone: Any, old: list[tuple[str, State, list[State]]]) -> None:
    kinds = [kind for kind, *_ in old]
    if [con.type for con in bone.constraints] != kinds:
        while bone.constraints:
            bone.constraints.remove(bone.constraints[0])
        for kind in kinds:
            bone.constraints.new(kind)
    for con, (_, values, targets) in zip(bone.constraints, old, strict=True):
        _give(con, values)
        if _targets(con) != targets:
            con.targets.clear()
            for values_of_target in targets:
                _give(con.targets.new(), values_of_target)
