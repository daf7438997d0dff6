"""Playing a scene's frames, and restoring the scene afterward."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar, cast

import bpy

from ..blender import animated_values, animation
from ..blender.access import is_there, pose_bones
from ..blender.rotation import AXIS_ANGLE, LOCATION, QUATERNION, SCALE, channel_of, floats
from ..plan import planner
from ..settings.properties import LISTS, settings

CHEAP = {"EMPTY", "CAMERA", "LIGHT", "LIGHT_PROBE", "SPEAKER"}
"""Types of objects whose evaluation is almost free."""


T = TypeVar("T")
Frame = TypeVar("Frame", int, float)


def finish(
    work: Generator[float, None, T], report: Callable[[float], object] = lambda _share: None
) -> T:
    """Run a generator of progress to its end, and return its result."""
    while True:
        try:
            progress = next(work)
        except StopIteration as finished:
            return finished.value
        report(progress)


def play(
    scene: bpy.types.Scene, frames: Sequence[Frame], look: Callable[[Frame], T]
) -> Generator[float, None, list[T]]:
    """Play frames, and return the results of a function called at each frame.

    Yields:
        The progress from 0 to 1, after each frame.

    Raises:
        ReferenceError: If a handler removes data that the constraints need.
    """
    results: list[T] = []
    needed = Needed()
    for frame in frames:
        scene.frame_set(int(frame // 1), subframe=frame % 1)
        if not needed.are_there():
            raise ReferenceError("data that the constraints need was removed")
        results.append(look(frame))
        yield len(results) / len(frames)
    return results


class Needed:
    """The objects and lists that the file's constraints need."""

    def __init__(self) -> None:
        """Store the current state."""
        plan = planner.current()
        self._objects = plan.examined
        self._lists = [(rig.object, _lengths(rig.object)) for rig in plan.rigs.values()]

    def are_there(self) -> bool:
        """Return whether everything needed still exists: other add-ons' handlers may remove it."""
        return all([is_there(ob) for ob in self._objects]) and all(
            [is_there(ob) and _lengths(ob) == lengths for ob, lengths in self._lists]
        )


def _lengths(armature: bpy.types.Object) -> list[int]:
    fabrik = settings(armature)
    return [len(getattr(fabrik, name)) for name in ("constraints", *LISTS)]


def frame_of(scene: bpy.types.Scene, time: float) -> float:
    """Return the scene frame at which keys at a time apply, because the scene may remap time."""
    return time * scene.render.frame_map_new / scene.render.frame_map_old


def go_to(frame: float) -> None:
    """Set the current frame of the scene, including its subframe."""
    scene = cast(bpy.types.Scene, bpy.context.scene)
    scene.frame_set(int(frame // 1.0), subframe=frame % 1.0)


def updated() -> bpy.types.Depsgraph:
    """Update the view layer, and return its evaluated depsgraph."""
    layer = cast(bpy.types.ViewLayer, bpy.context.view_layer)
    layer.update()
    return cast(bpy.types.Depsgraph, layer.depsgraph)


@contextmanager
def staged(
    layer: bpy.types.ViewLayer,
    shown: Sequence[bpy.types.Object],
    needed: Collection[bpy.types.Object] = (),
) -> Iterator[None]:
    """Evaluate only some objects and their dependencies within a context.

    Other objects are disabled in viewports, and only evaluated if something visible depends on
    them: a character's meshes would otherwise cost more than everything else. Selection and
    visibility are restored afterward.

    Args:
        layer: The view layer to evaluate.
        shown: The armatures and other objects to evaluate, also if they are hidden.
        needed: Other objects to evaluate, if they are visible.
    """
    watched = {ob for chain in planner.current().chains for ob in chain.watched}
    stage = _Stage(layer, shown, {*shown, *needed, *watched})
    try:
        stage.show()
        with _saved_without(stage):
            yield
    finally:
        stage.give_back()


class Shown:
    """An object that is shown temporarily, however it is hidden."""

    def __init__(self, ob: bpy.types.Object, layer: bpy.types.ViewLayer) -> None:
        """Store the object's visibility."""
        self._object, self._layer = ob, layer
        self._is_hidden, self._is_disabled = ob.hide_get(view_layer=layer), ob.hide_viewport
        self._is_linked = False

    def show(self) -> None:
        """Show the object."""
        ob = self._object
        if self._is_hidden:
            ob.hide_set(False, view_layer=self._layer)
        if self._is_disabled:
            ob.hide_viewport = False
        # Its collections may be hidden or excluded; the scene collection never is.
        top = _scene_of(self._layer).collection
        if not ob.visible_get(view_layer=self._layer) and top not in ob.users_collection:
            top.objects.link(ob)
            self._is_linked = True

    def give_back(self) -> None:
        """Restore the visibility, unless the object was removed."""
        ob = self._object
        if not is_there(ob):
            return
        if ob.hide_viewport != self._is_disabled:
            ob.hide_viewport = self._is_disabled
        if ob.hide_get(view_layer=self._layer) != self._is_hidden:
            ob.hide_set(self._is_hidden, view_layer=self._layer)
        if self._is_linked:
            _scene_of(self._layer).collection.objects.unlink(ob)
            self._is_linked = False


def _scene_of(layer: bpy.types.ViewLayer) -> bpy.types.Scene:
    return cast(bpy.types.Scene, layer.id_data)


class _Stage:
    """Changes the visibility of objects so that only some are evaluated, and restores it."""

    def __init__(
        self,
        layer: bpy.types.ViewLayer,
        shown: Sequence[bpy.types.Object],
        needed: Collection[bpy.types.Object],
    ) -> None:
        self._layer = layer
        self._shown = [Shown(ob, layer) for ob in shown]
        self._selected = [ob for ob in layer.objects if ob.select_get(view_layer=layer)]
        self._costly = [ob for ob in layer.objects if ob not in needed and _can_be_left_out(ob)]

    def show(self) -> None:
        """Show the objects to show, and disable expensive objects."""
        for shown in self._shown:
            shown.show()
        for ob in self._costly:
            ob.hide_viewport = True

    def give_back(self) -> None:
        """Restore visibility and selection."""
        layer = self._layer
        for ob in filter(is_there, self._costly):
            ob.hide_viewport = False
        for shown in self._shown:
            shown.give_back()
        for ob in filter(is_there, self._selected):
            if not ob.select_get(view_layer=layer):
                ob.select_set(True, view_layer=layer)


@contextmanager
def _saved_without(stage: _Stage) -> Iterator[None]:
    """Restore visibility while a file is saved, for example from another window during a bake."""

    def before(*_: object) -> None:
        stage.give_back()

    def after(*_: object) -> None:
        stage.show()

    handlers = bpy.app.handlers
    calls = [
        (handlers.save_pre, before),
        (handlers.save_post, after),
        (handlers.save_post_fail, after),
    ]
    try:
        for functions, call in calls:
            functions.append(call)
        yield
    finally:
        for functions, call in calls:
            if call in functions:  # Loading a file removes handlers.
                functions.remove(call)


def _can_be_left_out(ob: bpy.types.Object) -> bool:
    """Return whether disabling an object saves time, and can be reverted."""
    if ob.type in CHEAP or ob.mode != "OBJECT" or ob.hide_viewport or not ob.is_editable:
        return False
    return not animation.is_set(ob, "hide_viewport")


class _FkPose:
    """The values of an armature's bone channels."""

    def __init__(self, armature: bpy.types.Object) -> None:
        self._armature = armature
        bones = pose_bones(armature)
        self._columns = {
            name: floats(bones, name, size)
            for name, size in map(channel_of, (QUATERNION, AXIS_ANGLE, 1, LOCATION, SCALE))
        }

    def restore(self) -> None:
        if not is_there(self._armature):
            return
        for name, column in self._columns.items():
            pose_bones(self._armature).foreach_set(name, column)
        self._armature.update_tag()


@contextmanager
def returning(
    scene: bpy.types.Scene, layer: bpy.types.ViewLayer, in_any_case: bool = False
) -> Iterator[None]:
    """Restore the current frame afterward, and after an error also unkeyed values.

    At a frame change, Blender sets animated channels from their animation, so their unkeyed changes
    are lost.

    Args:
        scene: The scene to play.
        layer: The view layer to evaluate.
        in_any_case: Whether to restore unkeyed values even without an error.
    """
    frame, subframe = scene.frame_current, scene.frame_subframe
    unkeyed = [(ob, animated_values.values(ob)) for ob in layer.objects if ob.animation_data]
    poses = [_FkPose(rig.object) for rig in planner.current().rigs.values()]

    def give_back() -> None:
        scene.frame_set(frame, subframe=subframe)
        for ob, values in [(ob, values) for ob, values in unkeyed if is_there(ob)]:
            animated_values.restore(ob, values)
        for pose in poses:
            pose.restore()
        planner.discard()
        layer.update()

    try:
        yield
    except BaseException:
        give_back()
        raise
    if in_any_case:
        give_back()
    else:
        scene.frame_set(frame, subframe=subframe)
