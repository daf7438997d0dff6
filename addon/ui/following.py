"""The constraint that panels show and buttons affect; it follows the selection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, cast

import bpy

from ..blender.access import session_uid
from ..blender.listeners import on_invalidate, on_load
from ..blender.moving import owner_of
from ..blender.skeleton import skeleton_of
from ..blender.updates import Updates
from ..body.chains import is_end_of_limb
from ..plan import planner
from ..plan.chain_plan import ChainPlan
from ..settings.properties import FabrikConstraint, FabrikSettings, settings

ListEntry = tuple[bpy.types.Object, int]
"""An armature and the index of one of its constraints."""


class Seen(NamedTuple):
    """The active item, and the constraint shown for it, at an update.

    Attributes:
        selection: `session_uid` of the active object, and the active bone's name in Pose Mode.
        armature: `session_uid` of the displayed armature.
        item: The index of the displayed constraint.
        size: The number of the armature's constraints.
    """

    selection: tuple[int, str]
    armature: int
    item: int
    size: int


_seen: Seen | None = None
"""The last update; None after undo and redo, to follow the selection again."""

_is_loaded = True
"""Whether nothing has changed since a file was loaded; the saved choice is shown then."""


def shown_armature(context: bpy.types.Context) -> bpy.types.Object | None:
    """Return the active armature, or the armature whose target, pole or control bone is active.

    Returns:
        None if the active object is neither.
    """
    entry = selected_entry(context)
    if entry is not None:
        return entry[0]
    ob, _ = _active(context)
    return ob if ob is not None and ob.type == "ARMATURE" else None


def selected_entry(context: bpy.types.Context) -> ListEntry | None:
    """Return the constraint to which the active bone or object belongs.

    In this order: the active bone is its tip, or in its chain; the bone or object is its target or
    pole; or the bone is parented to the limb's hand or foot, like a finger. Among several, the
    displayed constraint is preferred.

    Returns:
        None if it belongs to no constraint, or is an armature in Object Mode.
    """
    ob, name = _active(context)
    if ob is None or (ob.type == "ARMATURE" and not name):
        return None
    try:
        return _entry_of(ob, name)
    except ReferenceError:  # Something was removed since the last update.
        return None


def entries_of(bones: Iterable[Any]) -> list[ListEntry]:
    """Return the constraints of pose bones, without duplicates.

    These are all constraints with the bone as tip, otherwise the one from `selected_entry`.
    """
    bone_entries: list[ListEntry] = []
    try:
        for bone in bones:
            ob, name = bone.id_data, bone.name
            tips = _matching(ob, lambda chain, name=name: _tip(chain) == name)
            other = None if tips else _entry_of(ob, name)
            bone_entries += tips or ([other] if other else [])
    except ReferenceError:  # Something was removed since the last update.
        return []
    return list(dict.fromkeys(bone_entries))


def _entry_of(ob: bpy.types.Object, name: str) -> ListEntry | None:
    if name:
        index = cast(Any, ob.pose).bones.find(name)
        return (
            _first(ob, lambda chain: _tip(chain) == name)
            or _first(ob, lambda chain: index in chain.posed)
            or _first(None, lambda chain: (ob, name) in controls_of(chain))
            or _first(ob, lambda chain: is_below_end(chain, index))
        )
    return _first(None, lambda chain: (ob, "") in controls_of(chain))


def _active(context: bpy.types.Context) -> tuple[bpy.types.Object | None, str]:
    """Return the active object, and the active bone's name in Pose Mode, otherwise empty.

    In timers and renders the context may lack both.
    """
    ob = getattr(context, "object", None)
    bone = getattr(context, "active_pose_bone", None)
    return ob, bone.name if bone is not None and bone.id_data == ob else ""


def _item(chain: ChainPlan) -> FabrikConstraint | None:
    """Return a constraint's settings; None if it was removed since the last update."""
    items = settings(chain.rig.object).constraints
    return items[chain.item] if chain.item < len(items) else None


def _tip(chain: ChainPlan) -> str:
    item = _item(chain)
    return "" if item is None else item.bone


def controls_of(chain: ChainPlan) -> Iterator[tuple[bpy.types.Object | None, str]]:
    """Yield a constraint's target, pole target and other controls, with their bones."""
    item = _item(chain)
    if item is not None:
        yield item.target, item.subtarget
        yield item.pole_target, item.pole_subtarget
        yield from ((point.object, owner_of(point).name) for point in chain.controls)


def is_below_end(chain: ChainPlan, bone: int) -> bool:
    """Return whether a bone is parented to the hand or foot of a chain's limb."""
    rig = skeleton_of(chain.rig.object)
    root_to_bone = rig.chain_up(bone)
    if chain.tip_bone >= 0:
        return chain.tip_bone in root_to_bone and is_end_of_limb(rig, chain.tip_bone)
    if not chain.bones or chain.bones[-1] not in root_to_bone[:-1]:
        return False
    # If only the bones above the hand are posed, the hand is the first one below them.
    return is_end_of_limb(rig, root_to_bone[root_to_bone.index(chain.bones[-1]) + 1])


def _first(
    armature: bpy.types.Object | None, is_meant: Callable[[ChainPlan], bool]
) -> ListEntry | None:
    """Return the first matching constraint, preferring the displayed ones.

    Returns None without a plan: drawing must not make a plan.

    Args:
        armature: The armature to search; None for all.
        is_meant: Whether a constraint matches.
    """
    entries = _matching(armature, is_meant)
    displayed = (entry for entry in entries if settings(entry[0]).active_index == entry[1])
    return next(displayed, entries[0] if entries else None)


def _matching(
    armature: bpy.types.Object | None, is_meant: Callable[[ChainPlan], bool]
) -> list[ListEntry]:
    plan = planner.known()
    return [
        (chain.rig.object, chain.item)
        for chain in (plan.chains if plan else ())
        if (armature is None or chain.rig.object == armature) and is_meant(chain)
    ]


def follow(updates: Updates) -> None:
    """Show the active item's constraint if the selection or number of constraints changed.

    A row that was activated since the last update, in the list or by a script, stays active.
    Renders change nothing.
    """
    global _seen, _is_loaded
    if updates.depsgraph.mode != "VIEWPORT":
        return
    context = bpy.context
    ob, bone = _active(context)
    selection = (session_uid(ob) if ob is not None else 0, bone)
    last = _seen
    if last is not None and last.selection == selection:
        rig = planner.current().rigs.get(last.armature)
        current = (0, 0) if rig is None else _shown_in(settings(rig.object))
        if current[1] == last.size:
            _seen = last._replace(item=current[0])
            return
        last = None  # Adding and removing activate a row that the user didn't choose.
    armature = shown_armature(context)
    if armature is None:
        _seen = Seen(selection, 0, -1, 0)
        return
    uid, fabrik = session_uid(armature), settings(armature)
    is_chosen = last is not None and last.armature == uid and last.item != fabrik.active_index
    entry = None if is_chosen or _is_loaded else selected_entry(context)
    if entry is not None and fabrik.active_index != entry[1]:
        fabrik.active_index = entry[1]
    _seen, _is_loaded = Seen(selection, uid, *_shown_in(fabrik)), False


def _shown_in(fabrik: FabrikSettings) -> tuple[int, int]:
    """Return the index of an armature's active constraint, and the number of constraints."""
    return fabrik.active_index, len(fabrik.constraints)


@on_invalidate
def _forget() -> None:
    """Follow the selection again, because an undo step stores the earlier choice."""
    global _seen
    _seen = None


@on_load
def _accept() -> None:
    """Treat the constraint that the file shows as the user's choice."""
    global _is_loaded
    _is_loaded = True
