"""Properties of armature objects, pose bones and scenes, under their public names.

The object stores constraints, so that they can be keyed from the interface. Plain properties of the
pose bone store a bone's data. These properties follow the bone through renaming, duplicating,
deleting, undo and library overrides.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import count
from math import pi
from typing import TYPE_CHECKING, Any, cast

import bpy
from bpy.props import (
    PointerProperty,
)

from fabrik_solver import METHODS

from ..blender.access import pose_bones, shown_areas
from . import notifications
from .definitions import (
    BROWSING,
    FACTOR,
    FIXED,
    OVERRIDABLE,
    Definition,
    ItemList,
    TypedDefinition,
    animated,
    defined,
    fixed,
    register_class,
    structure_changed,
)
from .joints import FLEXION, FOUND_FLEXION, POSED_FLEXION, FabrikJoint
from .values import Form, animated_form, forget_forms, pointed

Item = tuple[str, str, str, int]
"""An enum item: identifier, name, tooltip, and the number that files and keys store."""

SOLVER_ITEMS: list[Item] = [(m.name, m.title, m.description, m.number) for m in METHODS]
"""All solvers, including those of registered features."""

STATE_ITEMS = (
    ("REACHED", "Reached", "The tip is on the target", 0),
    (
        "OUT_OF_REACH",
        "Out of Reach",
        ("The target is out of reach. The tip is as close as it can get"),
        1,
    ),
    ("LIMITED", "Limited", "Joint limits keep the tip from the target", 2),
    ("INVALID", "Invalid", "The constraint can't be solved. See its message", 3),
    ("DISABLED", "Disabled", "The constraint is disabled or its influence is 0", 4),
)


def _redraw_viewports(_item: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Redraw all 3D Viewports."""
    for _, area in shown_areas():
        if area.type == "VIEW_3D":
            area.tag_redraw()


def _ends_changed(item: FabrikConstraint, context: bpy.types.Context) -> None:
    """Discard the plan, and notify that the tip or target changed."""
    structure_changed(item, context)
    if not notifications.is_following():
        notifications.ends.notify(item)


def _offset_switched(item: FabrikConstraint, context: bpy.types.Context) -> None:
    """Discard the plan, and notify that Keep Offset was enabled."""
    if item.use_offset and not notifications.is_following():
        notifications.offset.notify(item)
    structure_changed(item, context)


def _name_changed(item: Any, context: bpy.types.Context) -> None:
    """Number a duplicate name at once, so that references by name keep their constraint.

    Names in library overrides stay: they identify constraints there.
    """
    armature, name = item.id_data, item.name
    items = settings(armature).constraints
    # With very many names, reading all items from Python for each would take too long.
    alike = [i for i, key in enumerate(items.keys()) if key == name]
    duplicates = [items[i] for i in alike if items[i] != item] if len(alike) > 1 else []
    is_taken = any([other.is_property_set("name") for other in duplicates])
    if is_taken and armature.override_library is None and not notifications.is_following():
        item.name = free_name(armature, name)
        return
    structure_changed(item, context)


class FabrikConstraint(bpy.types.PropertyGroup):
    """An inverse kinematics constraint of an armature."""

    name: str = defined(
        "Name",
        "Name of the constraint",
        default="FABRIK IK",
        override=OVERRIDABLE,
        update=_name_changed,
    )
    enabled: bool = animated(
        "Enabled",
        "Pose the chain. When disabled, it shows its FK pose",
        default=True,
        in_presets=False,
    )
    influence: float = animated(
        "Influence",
        "Blend between the FK pose (0) and the solved pose (1)",
        default=1.0,
        **FACTOR,
        in_presets=False,
    )
    solver: str = animated(
        "Solver",
        "Algorithm that solves the chain",
        items=SOLVER_ITEMS,
        default="FABRIK",
        update=structure_changed,
    )
    bone: str = fixed(
        "Tip Bone",
        "Last bone of the chain. Its tail or head reaches the target",
        update=_ends_changed,
        in_presets=False,
    )
    chain_count: int = fixed(
        "Chain Length",
        "Number of bones in the chain, counted from the tip. 0 includes all bones up to the root",
        default=0,
        min=0,
        soft_max=255,
    )
    use_tail: bool = fixed(
        "Use Tail",
        "Reach the target with the tip bone's tail. When disabled, its head reaches the target, "
        "and Chain Length counts from its parent",
        default=True,
        update=_ends_changed,
        in_presets=False,
    )
    target: bpy.types.Object | None = fixed("Target", "Target object", update=_ends_changed)
    subtarget: str = fixed(
        "Bone",
        "Bone of the target armature. Its head is the target",
        update=_ends_changed,
        in_presets=False,
    )
    use_rotation: bool = fixed(
        "Copy Target Rotation",
        "Rotate the tip bone to the target's orientation",
        default=False,
    )
    rotation_weight: float = animated(
        "Rotation Weight",
        "How far the tip bone rotates to the target's orientation. 0 follows the chain, 1 copies "
        "the target",
        default=1.0,
        **FACTOR,
    )
    twist_spread: float = animated(
        "Twist Spread",
        "Spread the tip's twist over the chain, so that the skin doesn't twist at the last "
        "joint. 1 spreads it evenly",
        default=0.0,
        **FACTOR,
    )
    use_offset: bool = fixed(
        "Keep Offset",
        "Keep the offset that the tip had from the target when this was enabled",
        default=False,
        update=_offset_switched,
        in_presets=False,
    )
    offset_location: tuple[float, float, float] = fixed(
        "Offset Location",
        "Offset of the tip, in the space of the target",
        subtype="TRANSLATION",
        in_presets=False,
    )
    offset_rotation: tuple[float, float, float, float] = fixed(
        "Offset Rotation",
        "Rotation offset of the tip bone, in the space of the target",
        default=(1.0, 0.0, 0.0, 0.0),
        subtype="QUATERNION",
        in_presets=False,
    )
    weight: float = animated(
        "Weight",
        "Priority over constraints that share bones with this one, when not all targets can be "
        "reached",
        default=1.0,
        min=0.0,
        max=1000.0,
        soft_max=10.0,
    )
    pole_target: bpy.types.Object | None = fixed(
        "Pole Target", "Object that the chain bends toward"
    )
    pole_subtarget: str = fixed(
        "Pole Bone",
        "Bone of the pole target. The chain bends toward its head",
        in_presets=False,
    )
    pole_angle: float = animated(
        "Pole Angle",
        "Rotation of the bend away from the pole, about the line from root to target",
        default=0.0,
        subtype="ANGLE",
        soft_min=-pi,
        soft_max=pi,
        in_presets=False,
    )
    pole_weight: float = animated(
        "Pole Weight",
        "How far the bend rotates toward the pole. 0 leaves it unchanged, 1 faces the pole",
        default=1.0,
        **FACTOR,
    )
    use_pole_follow: bool = fixed(
        "Pole Follow",
        "Move the pole along with the target, so that a knee turns with its foot",
        default=False,
    )
    pole_follow: float = animated(
        "Pole Follow Factor",
        "How far the pole moves along with the target. 0 leaves it in place, 1 moves it as if "
        "parented",
        default=1.0,
        **FACTOR,
    )
    softness: float = animated(
        "Softness",
        "Range before full extension in which the tip slows down and lags behind the target. "
        "Keeps knees from snapping straight",
        default=0.0,
        min=0.0,
        max=0.9,
        soft_max=0.3,
        subtype="FACTOR",
    )
    swing: float = animated(
        "Swing First",
        "How far the whole chain rotates toward the target before it bends. 1 folds a leg in its "
        "own plane. Always 1 with a pole or Two Bone",
        default=0.0,
        **FACTOR,
    )
    use_stretch: bool = fixed(
        "Stretch", "Lengthen the bones when the target is out of reach", default=False
    )
    stretch_max: float = animated(
        "Stretch Max",
        "Maximum length of the stretched chain, relative to its original length",
        default=1.5,
        min=1.0,
        max=100.0,
        soft_max=3.0,
    )
    use_volume: bool = animated(
        "Keep Volume", ("Make the bones thinner as they stretch"), default=False
    )
    chain_bias: float = animated(
        "Bias",
        "Distribute the bend. Negative values bend more near the root, positive values more near "
        "the tip",
        default=0.0,
        min=-1.0,
        max=1.0,
        subtype="FACTOR",
    )
    use_free_root: bool = fixed(
        "Move Root", "Move the first bone of the chain, so that the body follows", default=False
    )
    root_weight: float = animated(
        "Root Weight",
        "How readily the root moves instead of the bones rotating. 0: it doesn't move",
        default=1.0,
        **FACTOR,
    )
    iterations: int = animated(
        "Iterations",
        "Maximum number of iterations. The solver stops early once the target is reached",
        default=20,
        min=1,
        max=10000,
        soft_max=500,
    )
    tolerance: float = animated(
        "Tolerance",
        "Distance between tip and target at which the solver stops, as a fraction of the chain's "
        "length",
        default=1e-4,
        min=1e-9,
        max=1.0,
        soft_max=0.01,
        precision=6,
    )
    show_overlay: bool = fixed(
        "Overlay",
        "Show the chain, its reach and its target in the 3D Viewport",
        default=True,
        update=_redraw_viewports,
        in_presets=False,
    )
    key: int = defined(
        "Identifier",
        "Number that identifies the constraint when scripts change the list",
        options={"HIDDEN"},
    )
    state: str = defined(
        "State",
        "Result of the last evaluation (read only)",
        items=STATE_ITEMS,
        default="DISABLED",
        options=FIXED,
    )
    error: float = defined(
        "Error",
        "Distance between tip and target in world space (read only)",
        subtype="DISTANCE",
        precision=6,
        options=FIXED,
    )
    iterations_used: int = defined(
        "Iterations Used", "Number of iterations in the last evaluation (read only)", options=FIXED
    )
    message: str = defined(
        "Message", "Description of the problem and its solution (read only)", options=FIXED
    )


if TYPE_CHECKING:

    class AnimatedSettings(FabrikConstraint):
        """The animatable settings of a constraint as a named tuple. `solver` is a number."""

        solver: int  # type: ignore[assignment]

        def _replace(self, **values: object) -> AnimatedSettings: ...

        def __iter__(self) -> Iterator[Any]: ...

else:
    AnimatedSettings = tuple


def settings_form() -> Form:
    """Return the form that reads `AnimatedSettings`."""
    return animated_form(FabrikConstraint)


IS_CONTROL: Definition = defined(
    "Control",
    "Added with a constraint, and may be removed with it",
    options={"HIDDEN"},
    override=OVERRIDABLE,
)
"""Marks an object or a bone that was added as target or pole."""


class FabrikSettings(bpy.types.PropertyGroup):
    """The extension's properties of an armature object."""

    constraints: ItemList[FabrikConstraint] = defined(
        "FABRIK Constraints",
        "Inverse kinematics constraints of the armature, in solving order",
        override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"},
    )
    active_index: int = defined(
        "Active Constraint",
        "Constraint whose settings are shown",
        options=BROWSING,
        override=OVERRIDABLE,
    )
    is_control: bool = cast(Any, IS_CONTROL)
    driven_lists: str = defined(
        "Driven Lists",
        "Items that the drivers of a library override refer to by number",
        options={"HIDDEN"},
        override=OVERRIDABLE,
    )
    joined: str = defined(
        "Joined",
        "The joins whose constraints were already added, as text",
        options={"HIDDEN"},
        override=OVERRIDABLE,
    )
    switches: str = defined(
        "Switches",
        "FK switches before limbs got IK, one a line",
        options={"HIDDEN"},
        override=OVERRIDABLE,
    )
    is_shown_in_front: bool = defined(
        "Shown in Front",
        "In Front was enabled for control bones, and is disabled with the last of them",
        options={"HIDDEN"},
        override=OVERRIDABLE,
    )


class FabrikSceneSettings(bpy.types.PropertyGroup):
    """The extension's properties of a scene."""

    show_overlay: bool = defined(
        "FABRIK IK",
        "Show the reach of the chains of selected armatures and the joint limits of the "
        "active bone in the 3D Viewport",
        default=True,
        options=FIXED,
        update=_redraw_viewports,
    )
    show_reach: bool = defined(
        "Always Show Reach",
        "Always show the reach of the active chain. Otherwise, show it only while dragging or "
        "out of reach",
        options=FIXED,
        update=_redraw_viewports,
    )


LISTS: dict[str, Callable[[FabrikSettings], object]] = {}
"""Lists that features add to armatures, by name.

Each has a function returning a signature of the values that the plan uses.
"""


def settings(armature: bpy.types.ID) -> FabrikSettings:
    """Return the extension's properties of an armature object."""
    untyped: Any = armature
    return untyped.fabrik


def is_control(ob: bpy.types.Object) -> bool:
    """Return whether an object was added as a target or pole, or as an armature for these."""
    fabrik = pointed(cast(Any, ob), "fabrik")
    return fabrik is not None and fabrik.is_control


def scene_settings(scene: bpy.types.Scene) -> FabrikSceneSettings:
    """Return the extension's properties of a scene."""
    return cast(Any, scene).fabrik


def ends_of(armature: bpy.types.Object) -> Iterator[bpy.types.Object]:
    """Yield the targets and poles of an armature's constraints."""
    for item in settings(armature).constraints:
        ends = pointed(item, "target"), pointed(item, "pole_target")
        yield from [ob for ob in ends if ob is not None]


def free_name(armature: bpy.types.Object, name: str, collection: str = "constraints") -> str:
    """Return a unique name for a list of an armature, numbered if necessary."""
    return free_among(getattr(settings(armature), collection), name)


def free_among(items: Iterable[Any], name: str) -> str:
    """Return a unique name for a list, numbered if necessary.

    Library overrides identify list items by name alone, even where the interface shows no names.
    """
    taken = {item.name for item in items}
    return next(_numbered(name, taken)) if name in taken else name


def made_unique(names: Sequence[str]) -> list[str]:
    """Return unique names: each repeated name is numbered."""
    unique: list[str] = []
    taken = {*names}
    if len(taken) == len(names):
        return [*names]
    numbered = {name: _numbered(name, taken) for name in taken}
    seen: set[str] = set()
    for name in names:
        unique.append(next(numbered[name]) if name in seen else name)
        seen.add(name)
    return unique


def _numbered(name: str, taken: Container[str]) -> Iterator[str]:
    """Yield the name with each number that isn't taken."""
    return filter(lambda free: free not in taken, (f"{name}.{i:03}" for i in count(1)))


CLASSES = (
    FabrikConstraint,
    FabrikSettings,
    FabrikJoint,
    FabrikSceneSettings,
)


def followed_bone(armature: bpy.types.Object, name: str) -> str:
    """Return the name of a bone by its stored name, even if renamed; empty if it doesn't exist."""
    bones: Any = pose_bones(armature)
    return name if name in bones else next((b.name for b in bones if b.fabrik_name == name), "")


def _joint(bone: Any) -> FabrikJoint:
    """Return the joint of a pose bone.

    It is stored in the rest bone, so that pasting a pose doesn't replace it.
    """
    return _rest_bone(bone).fabrik_joint


def _flexion(bone: Any) -> Any:
    """Return the flexion of a pose bone, stored in its rest bone or, if linked, in itself."""
    rest, detected = _rest_bone(bone), bone.fabrik_found_flexion
    is_found = any(detected) and not rest.id_data.is_editable
    return rest.fabrik_flexion if any(rest.fabrik_flexion) and not is_found else detected


def _rest_bone(bone: Any) -> Any:
    # The pose doesn't refer to bones of newly assigned armature data until the next update.
    return bone.bone or bone.id_data.data.bones[bone.name]


_groups: list[type[bpy.types.PropertyGroup]] = []


def register(
    groups: Sequence[type[bpy.types.PropertyGroup]],
    constraint: Mapping[str, TypedDefinition],
    armature: Mapping[str, TypedDefinition],
) -> None:
    """Register all properties.

    Args:
        groups: Property groups of features, each after the groups that it contains.
        constraint: Definitions that features add to constraints.
        armature: Definitions that features add to the settings of an armature.
    """
    further = {FabrikConstraint: constraint, FabrikSettings: armature}
    _groups[:] = [*groups, *CLASSES]
    forget_forms()
    for cls in _groups:
        register_class(cls, further.get(cls, {}))
    cast(Any, bpy.types.Object).fabrik = PointerProperty(
        name="FABRIK IK",
        description="Inverse kinematics constraints of an armature object",
        type=FabrikSettings,
        override={"LIBRARY_OVERRIDABLE"},
    )
    cast(Any, bpy.types.Scene).fabrik = PointerProperty(
        name="FABRIK IK",
        description="Display settings of inverse kinematics constraints in a scene",
        type=FabrikSceneSettings,
    )
    cast(Any, bpy.types.Bone).fabrik_joint = PointerProperty(
        name="FABRIK IK Joint",
        description="Joint limits of the bone for FABRIK IK",
        type=FabrikJoint,
        override={"LIBRARY_OVERRIDABLE"},
    )
    cast(Any, bpy.types.Bone).fabrik_flexion = FLEXION.property(tuple[float, float, float])
    cast(Any, bpy.types.Bone).fabrik_found_flexion = FOUND_FLEXION.property(
        tuple[float, float, float]
    )
    cast(Any, bpy.types.Bone).fabrik_is_control = IS_CONTROL.property(bool)
    name_definition: Definition = defined(
        "Known Name",
        "Name by which constraints refer to the bone, to follow it when it is renamed",
        options={"HIDDEN"},
        override=OVERRIDABLE,
    )
    cast(Any, bpy.types.PoseBone).fabrik_name = name_definition.property(str)
    cast(Any, bpy.types.PoseBone).fabrik_found_flexion = POSED_FLEXION.property(
        tuple[float, float, float]
    )
    cast(Any, bpy.types.PoseBone).fabrik_flexion = property(_flexion)
    cast(Any, bpy.types.PoseBone).fabrik_joint = property(_joint)


def unregister() -> None:
    """Unregister all properties. Their values stay in the file."""
    for name in ("fabrik_name", "fabrik_joint", "fabrik_flexion", "fabrik_found_flexion"):
        delattr(bpy.types.PoseBone, name)
    del cast(Any, bpy.types.Bone).fabrik_joint
    del cast(Any, bpy.types.Bone).fabrik_flexion
    del cast(Any, bpy.types.Bone).fabrik_found_flexion
    del cast(Any, bpy.types.Bone).fabrik_is_control
    del cast(Any, bpy.types.Scene).fabrik
    del cast(Any, bpy.types.Object).fabrik
    for cls in reversed(_groups):
        bpy.utils.unregister_class(cls)
