"""Edit the holds of bones and objects, and their keys."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import inf
from typing import Any, NamedTuple, cast

import bpy

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.keying import NEAR
from ...blender.rotation import ALL_CHANNELS
from ...blender.skeleton import Point
from ...editing.constraints import changed, is_on, remove_from
from ...editing.placed import placed_among
from ...editing.playing import finish
from ...plan import planner
from ...plan.chain_plan import ChainPlan
from ...settings.properties import free_among, settings
from ..simulation.simulate import simulate
from .carrier import add_carrier, carrier_of, remove_carrier
from .events import (
    Event,
    events_of,
    holder_at,
    keys_of,
    refuse_unkeyable,
    remove_event,
    set_event,
    set_keys,
)
from .pole_follow import is_following
from .problems import connected, missing
from .settings import BONE, OWN, WORLD, FabrikHold, FabrikHolder, holds_of, own_places, signed
from .status import cycle_message, fixed_note


class Held(NamedTuple):
    """A held bone or object.

    Attributes:
        object: The armature or object.
        bone: The name of the bone; empty for the object itself.
    """

    object: bpy.types.Object
    bone: str

    @property
    def name(self) -> str:
        """The name of the bone or object."""
        return self.bone or self.object.name


class Holder(NamedTuple):
    """What holds something: the world, an object, a bone, or the item's own animation.

    Attributes:
        object: The object; None for the world.
        bone: The name of its bone; empty for the object itself.
        frames: Frames to blend back to the held bone's own animation; 0 to hold it.
    """

    object: bpy.types.Object | None = None
    bone: str = ""
    frames: int = 0

    @property
    def kind(self) -> str:
        """The kind of holder."""
        return OWN if self.frames > 0 else WORLD if self.object is None else BONE


def goal_of(armature: bpy.types.Object, constraint: str) -> Held:
    """Return the target of a constraint, for holding it.

    Raises:
        ProblemError: If the constraint doesn't exist or has no target.
    """
    item = _named(armature, constraint)
    if item.target is None:
        raise ProblemError("No target: choose an object or a bone")
    return Held(item.target, item.subtarget if item.target.type == "ARMATURE" else "")


def pole_of(armature: bpy.types.Object, constraint: str) -> Held:
    """Return the pole target of a constraint, for holding it.

    Raises:
        ProblemError: If the constraint doesn't exist or has no pole target.
    """
    item = _named(armature, constraint)
    if item.pole_target is None:
        raise ProblemError("No pole target: add one first")
    is_bone = item.pole_target.type == "ARMATURE"
    return Held(item.pole_target, item.pole_subtarget if is_bone else "")


def _named(armature: bpy.types.Object, constraint: str) -> Any:
    item = settings(armature).constraints.get(constraint)
    if item is None:
        raise ProblemError(
            "“{armature}” has no constraint “{constraint}”",
            armature=armature.name,
            constraint=constraint,
        )
    return item


def find_hold(held: Held) -> tuple[bpy.types.Object, int] | None:
    """Return the armature and index of a bone's or object's hold; None if it has no hold."""
    if not held.bone:
        return carrier_of(held.object)
    for index, hold in enumerate(holds_of(held.object)):
        if hold.bone == held.bone:
            return held.object, index
    return None


def holding(point: Point) -> str | None:
    """Return why a hold keeps a target's own channels from moving it at this frame.

    Returns:
        The reason. Empty if its channels do move it; None if nothing ever holds it.
    """
    entry = find_hold(_held_of(point))
    if entry is None:
        return "" if is_following(point) else None
    scene = cast(bpy.types.Scene, bpy.context.scene)
    past = [event for event in events_of(*entry) if event.frame <= scene.frame_current_final + NEAR]
    if not past:
        return ""
    item, last = holds_of(entry[0])[entry[1]], past[-1]
    return fixed_note(item.name, last.frame) if signed(item, last.holder) < 0 else ""


def _held_of(point: Point) -> Held:
    return Held(point.object, "" if point.skeleton is None else point.skeleton.names[point.bone])


def hold(
    several: Sequence[Held], holder: Holder, frame: float, is_moved: bool | None = None
) -> bool:
    """Hold bones or objects from a frame on.

    Args:
        several: The bones or objects.
        holder: Their holder.
        frame: The frame.
        is_moved: Whether the items' own animation moves them relative to the holder. None: only
            for items whose animation doesn't move them from this frame on. Keys added later are
            relative to the holder; existing keys, such as a capture's, were made without it.

    Returns:
        Whether their own animation applies to all of them.

    Raises:
        ProblemError: If a bone or object can't be held; nothing is changed.
    """
    for held in several:
        _refuse(held, holder)
    _refuse_placed(several)
    old_holds = [find_hold(held) for held in several]
    old_keys = [keys_of(*entry) if entry is not None else [] for entry in old_holds]
    try:
        armatures = [
            _add_event(held, holder, entry, frame, is_moved)
            for held, entry in zip(several, old_holds, strict=True)
        ]
        _simulate(armatures)
        _refuse_cycle(several, holder, frame)
    except ProblemError:
        for held, entry, keys in zip(several, old_holds, old_keys, strict=True):
            _take_back(held, entry, keys)
        raise
    new_holds = [find_hold(held) for held in several]
    return all(_is_moved_at(*entry, frame) for entry in new_holds if entry is not None)


def _is_moved_at(armature: bpy.types.Object, index: int, frame: float) -> bool:
    number = holder_at(events_of(armature, index), frame)
    return signed(holds_of(armature)[index], number) == number


def _add_event(
    held: Held,
    holder: Holder,
    old_hold: tuple[bpy.types.Object, int] | None,
    frame: float,
    is_moved: bool | None,
) -> bpy.types.Object:
    """Key the holder of a bone or object; return the hold's armature.

    Args:
        held: The bone or object.
        holder: Its holder.
        old_hold: The armature and index of its hold; None to add one.
        frame: The frame of the event.
        is_moved: See `hold`.
    """
    armature, index = old_hold or _new_hold(held)
    item, events = holds_of(armature)[index], events_of(armature, index)
    current = holder_at(events, frame)
    if is_moved is None:
        until = next((event.frame for event in events if event.frame > frame + NEAR), inf)
        # With the same holder nothing would change; that is refused below.
        is_held = current > 0 and _is(item.holders[current - 1], holder)
        is_moved = (
            signed(item, current) >= 0 if is_held else not _moves_by_itself(held, frame, until)
        )
    number = _number_of(item, holder, is_moved)
    if current == number:
        raise ProblemError(
            "“{bone}” is already held by the same holder at this frame", bone=held.name
        )
    set_event(armature, index, frame, number)
    return armature


def _moves_by_itself(held: Held, start: float, end: float) -> bool:
    """Return whether a bone's or object's own F-curves move it between two frames."""
    bone = pose_bones(held.object)[held.bone] if held.bone else None
    path = f"{bone.path_from_id()}." if bone else ""
    return any(
        _changes(curve, start, end)
        for clip in animation.clips_of(held.object, everywhere=False)
        for name, size in ALL_CHANNELS
        for curve in animation.channel_of_clip(clip, path + name, size).values()
    )


def _changes(curve: Any, start: float, end: float) -> bool:
    """Return whether an F-curve's value differs at its keys in a range or at the range's end."""
    keys = [key.co.x for key in curve.keyframe_points]
    # Modifiers and linear extrapolation go on after the last key.
    last = min(end, max([*keys, start]) + 1.0)
    value = curve.evaluate(start)
    return any(curve.evaluate(at) != value for at in (*keys, last) if start < at <= last)


def release(several: Sequence[Held], frame: float, frames: int = 0) -> None:
    """Release bones or objects to their own parents from a frame on.

    Args:
        several: The bones or objects.
        frame: The frame.
        frames: Frames to blend back to their own animation; 0 to continue from where they are.

    Raises:
        ProblemError: If a bone or object isn't held at that frame; nothing is changed.
    """
    released: list[tuple[bpy.types.Object, int]] = []
    for held in several:
        current_hold = find_hold(held)
        if current_hold is None or not _can_go(*current_hold, frame, frames):
            raise ProblemError("Nothing holds “{bone}” at this frame", bone=held.name)
        refuse_unkeyable(current_hold[0])
        released.append(current_hold)
    for armature, index in released:
        item = holds_of(armature)[index]
        number = _number_of(item, Holder(frames=frames), True) if frames > 0 else 0
        set_event(armature, index, frame, number)
    _simulate([armature for armature, _ in released])


def _can_go(armature: bpy.types.Object, index: int, frame: float, frames: int) -> bool:
    """Return whether a hold can be released at a frame, or its release there changed.

    A bone that was released in place can still blend back to its own animation later.
    """
    item, events = holds_of(armature)[index], events_of(armature, index)
    earlier = [event for event in events if event.frame < frame - NEAR]
    current, previous = holder_at(events, frame), holder_at(earlier, frame)
    free = own_places(item)
    if frames > 0 and earlier:
        is_same = current in free and item.holders[current - 1].frames == frames
    else:
        is_same, free = current == 0, free | {0}
    return not is_same and not {current, previous} <= free


def remove(armature: bpy.types.Object, index: int) -> None:
    """Remove a hold and its events; the bone or object returns to its own animation."""
    prop, last = holds_of(armature)[index].prop, len(holds_of(armature)) == 1
    remove_from(armature, "holds", "", index)
    if prop is not None and prop.parent == armature:
        remove_carrier(prop, armature)
    planner.discard()
    if not last:  # Records refer to the other holds by index.
        _simulate([armature])


def remove_of(armature: bpy.types.Object, bones: Collection[str]) -> None:
    """Remove the holds of these bones."""
    for index in reversed(range(len(holds_of(armature)))):
        if holds_of(armature)[index].bone in bones:
            remove(armature, index)


def remove_event_at(armature: bpy.types.Object, index: int, frame: float) -> None:
    """Remove an event of a hold; with the last event, the hold too."""
    remove_event(armature, index, frame)
    if any(key.holder for key in keys_of(armature, index)):
        _simulate([armature])
    else:
        remove(armature, index)


def _refuse(held: Held, holder: Holder) -> None:
    ob, bone = held
    if bone:
        posed = pose_bones(ob).get(bone)
        if posed is None:
            raise missing(bone, ob)
        if posed.bone.use_connect and posed.parent is not None:
            raise connected(bone)
        refuse_unkeyable(ob)
    if holder.object is None:
        return
    if holder.bone and holder.bone not in (pose_bones(holder.object) if holder.object.pose else ()):
        raise missing(holder.bone, holder.object)
    if (holder.object, holder.bone) == (ob, bone):
        raise ProblemError(
            "“{bone}” can't hold itself: also select what should hold it", bone=held.name
        )


def _refuse_placed(several: Sequence[Held]) -> None:
    """Refuse targets if something moves their chains away from them at the current frame.

    While a target is held, the ground and walks don't apply to it, so the tip would jump to the
    target. Holding the target at the shown tip doesn't help: the simulations that move the tip
    start from the held target, and would do so again at the release.

    Raises:
        ProblemError: If there is such a target.
    """
    for tip in placed_among([c for c in planner.current().chains if _is_of(c, several)]):
        if tip.is_beside(settings(tip.chain.rig.object).constraints[tip.chain.item].tolerance):
            raise ProblemError(
                "On the Ground or a walk moves “{constraint}” off its target, so a hold would make "
                "it jump: choose Bake to Targets or Bake Steps first",
                constraint=tip.chain.name,
            )


def _is_of(chain: ChainPlan, several: Sequence[Held]) -> bool:
    """Return whether a chain is on, and its target is among some held bones or objects."""
    return chain.target is not None and is_on(chain) and _held_of(chain.target) in several


def _new_hold(held: Held) -> tuple[bpy.types.Object, int]:
    ob, bone = held
    armature, name = (ob, bone) if bone else add_carrier(ob)
    item: FabrikHold = holds_of(armature).add()
    item.name, item.bone = held.name, name
    if not bone:
        item.prop = ob
    index = len(holds_of(armature)) - 1
    changed(armature)
    return armature, index


def _number_of(item: FabrikHold, holder: Holder, is_moved: bool) -> int:
    """Return a holder's number in a hold; a new holder is added."""
    for i, item_holder in enumerate(item.holders):
        if _is(item_holder, holder) and item_holder.use_animation == is_moved:
            return i + 1
    name = free_among(item.holders, "Holder")
    new = item.holders.add()
    new.name, new.kind, new.object, new.bone = name, holder.kind, holder.object, holder.bone
    new.use_animation = is_moved
    if holder.kind == OWN:
        new.frames = holder.frames
    return len(item.holders)


def _is(item: FabrikHolder, holder: Holder) -> bool:
    is_alike = (item.kind, item.object, item.bone) == (holder.kind, holder.object, holder.bone)
    return is_alike and (item.kind != OWN or item.frames == holder.frames)


def _simulate(armatures: Sequence[bpy.types.Object]) -> None:
    """Record how everything is held, so that nothing jumps at an event."""
    context = bpy.context
    scene = cast(bpy.types.Scene, context.scene)
    layer = cast(bpy.types.ViewLayer, context.view_layer)
    planner.discard()
    plan = planner.current()
    groups = [plan.groups.get(armature.session_uid, ()) for armature in armatures]
    together = [plan.rigs[uid].object for uid in {uid for group in groups for uid in group}]
    moving = [ob for ob in together if any(events_of(ob, i) for i in range(len(holds_of(ob))))]
    if moving:
        finish(simulate(scene, layer, moving))


def _refuse_cycle(several: Sequence[Held], holder: Holder, frame: float) -> None:
    """Refuse a hold if an item would then hold itself.

    Raises:
        ProblemError: If there is such an item.
    """
    if holder.object is not None and planner.current().sequences.at(frame).refused:
        names = ", ".join([held.name for held in several])
        raise ProblemError(cycle_message(holder.bone or holder.object.name, names))


def _take_back(
    held: Held, old_hold: tuple[bpy.types.Object, int] | None, keys: Sequence[Event]
) -> None:
    """Undo a refused hold and restore its earlier keys.

    Args:
        held: The bone or object.
        old_hold: The armature and index of its earlier hold; None to remove the new one.
        keys: The earlier keys.
    """
    new_hold = find_hold(held)
    if new_hold is None:
        return
    if old_hold is None:
        remove(*new_hold)
    elif keys_of(*new_hold) != keys:
        set_keys(*new_hold, keys)
        _simulate([new_hold[0]])
