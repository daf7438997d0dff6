"""Properties of armature objects, pose bones and scenes, under their public names.

Constraints are stored on the object, where they can be keyed from the interface. Data of a bone is
stored in plain properties of the pose bone, which follow it through renaming, duplicating,
deleting, undo and library overrides.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from math import pi
from typing import TYPE_CHECKING, Annotated, Any, cast

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ..blender.access import shown_areas
from . import changes
from .joint_properties import FLEXION, FabrikJoint
from .property_kinds import (
    BROWSING,
    FACTOR,
    FIXED,
    OVERRIDABLE,
    Definition,
    ItemList,
    animated,
    defined,
    fixed,
    register_group,
    stored,
    structure_changed,
)
from .property_values import Form, animated_form, forget_forms, pointed

Item = tuple[str, str, str, int]
"""An enum item: identifier, name, tooltip, and the number that files and keys store."""

SOLVER_ITEMS: list[Item] = [
    (
        "FABRIK",
        "FABRIK",
        "Iterate forward and backward along the chain. Suited to chains of any length",
        0,
    ),
    ("TWO_BONE", "Two Bone", "Solve a limb of two bones exactly, without iterations", 1),
    (
        "CCD",
        "CCD",
        "Rotate one joint after another, from the tip to the root. Tends to curl the chain",
        2,
    ),
    (
        "TEXTBOOK",
        "FABRIK (Original)",
        "The algorithm as it was published. Slow near full extension",
        3,
    ),
]
"""All solvers, including those of registered features."""

STATE_ITEMS = (
    ("REACHED", "Reached", "The tip is on the target", 0),
    ("OUT_OF_REACH", "Out of Reach", "The tip is as close to the target as it can get", 1),
    ("LIMITED", "Limited", "Joint limits keep the tip from the target", 2),
    ("INVALID", "Invalid", "The constraint cannot be solved. See its message", 3),
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
    if not changes.is_following():
        changes.ends.notify(item)


def _offset_switched(item: FabrikConstraint, context: bpy.types.Context) -> None:
    """Discard the plan, and notify that Keep Offset was enabled."""
    if item.use_offset:
        changes.offset.notify(item)
    structure_changed(item, context)


class FabrikConstraint(bpy.types.PropertyGroup):
    """An inverse kinematics constraint of an armature."""

    name: Annotated[
        str,
        defined(
            StringProperty,
            "Name",
            "Name of the constraint",
            default="FABRIK IK",
            override=OVERRIDABLE,
            update=structure_changed,
        ),
    ]
    enabled: Annotated[
        bool,
        animated(
            BoolProperty,
            "Enabled",
            "Pose the chain. Disabled, the chain shows its FK pose",
            default=True,
            in_presets=False,
        ),
    ]
    influence: Annotated[
        float,
        animated(
            FloatProperty,
            "Influence",
            "Blend between the FK pose (0) and the solved pose (1)",
            default=1.0,
            **FACTOR,
            in_presets=False,
        ),
    ]
    solver: Annotated[
        str,
        animated(
            EnumProperty,
            "Solver",
            "Algorithm that solves the chain",
            items=SOLVER_ITEMS,
            default="FABRIK",
            update=structure_changed,
        ),
    ]
    bone: Annotated[
        str,
        fixed(
            StringProperty,
            "Tip Bone",
            "Last bone of the chain, whose tail or head reaches the target",
            update=_ends_changed,
            in_presets=False,
        ),
    ]
    chain_count: Annotated[
        int,
        fixed(
            IntProperty,
            "Chain Length",
            "Number of bones in the chain, counted from the tip. 0 includes all up to the root",
            default=0,
            min=0,
            soft_max=255,
        ),
    ]
    use_tail: Annotated[
        bool,
        fixed(
            BoolProperty,
            "Use Tail",
            (
                "Let the tail of the tip bone reach the target. Disabled, its head does, and "
                "the chain begins at its parent"
            ),
            default=True,
            update=_ends_changed,
            in_presets=False,
        ),
    ]
    target: Annotated[
        bpy.types.Object | None,
        fixed(
            PointerProperty, "Target", "Target object", type=bpy.types.Object, update=_ends_changed
        ),
    ]
    subtarget: Annotated[
        str,
        fixed(
            StringProperty,
            "Bone",
            "Bone of the target armature, whose head is the target",
            update=_ends_changed,
            in_presets=False,
        ),
    ]
    use_rotation: Annotated[
        bool,
        fixed(
            BoolProperty,
            "Copy Target Rotation",
            "Rotate the tip bone to the orientation of the target",
            default=False,
        ),
    ]
    rotation_weight: Annotated[
        float,
        animated(
            FloatProperty,
            "Rotation Weight",
            (
                "How far the tip bone rotates to the orientation of the target. At 0 it follows "
                "the chain, at 1 it copies the target"
            ),
            default=1.0,
            **FACTOR,
        ),
    ]
    twist_spread: Annotated[
        float,
        animated(
            FloatProperty,
            "Twist Spread",
            (
                "Share of the tip's twist that is spread over the chain, to avoid twisting the "
                "skin at the last joint. At 1 each joint takes an equal part"
            ),
            default=0.0,
            **FACTOR,
        ),
    ]
    use_offset: Annotated[
        bool,
        fixed(
            BoolProperty,
            "Keep Offset",
            "Keep the tip at an offset from the target, as it was when this was enabled",
            default=False,
            update=_offset_switched,
            in_presets=False,
        ),
    ]
    offset_location: Annotated[
        tuple[float, float, float],
        fixed(
            FloatVectorProperty,
            "Offset Location",
            "Offset of the tip, in the space of the target",
            size=3,
            subtype="TRANSLATION",
            in_presets=False,
        ),
    ]
    offset_rotation: Annotated[
        tuple[float, float, float, float],
        fixed(
            FloatVectorProperty,
            "Offset Rotation",
            "Rotation offset of the tip bone, in the space of the target",
            size=4,
            default=(1.0, 0.0, 0.0, 0.0),
            subtype="QUATERNION",
            in_presets=False,
        ),
    ]
    weight: Annotated[
        float,
        animated(
            FloatProperty,
            "Weight",
            (
                "Priority against other constraints that share bones with this one, where not "
                "all targets can be reached"
            ),
            default=1.0,
            min=0.0,
            max=1000.0,
            soft_max=10.0,
        ),
    ]
    pole_target: Annotated[
        bpy.types.Object | None,
        fixed(
            PointerProperty,
            "Pole Target",
            "Object that the chain bends toward",
            type=bpy.types.Object,
        ),
    ]
    pole_subtarget: Annotated[
        str,
        fixed(
            StringProperty,
            "Pole Bone",
            "Bone of the pole target's armature, whose head the chain bends toward",
            in_presets=False,
        ),
    ]
    pole_angle: Annotated[
        float,
        animated(
            FloatProperty,
            "Pole Angle",
            "Rotation of the bend away from the pole, about the line from root to target",
            default=0.0,
            subtype="ANGLE",
            soft_min=-pi,
            soft_max=pi,
            in_presets=False,
        ),
    ]
    pole_weight: Annotated[
        float,
        animated(
            FloatProperty,
            "Pole Weight",
            "How far the bend rotates to the pole. At 0 it is unchanged, at 1 it faces the pole",
            default=1.0,
            **FACTOR,
        ),
    ]
    softness: Annotated[
        float,
        animated(
            FloatProperty,
            "Softness",
            (
                "Share of the full extension in which the chain slows down, so that the knee "
                "does not snap straight. The tip lags behind the target there"
            ),
            default=0.0,
            min=0.0,
            max=0.9,
            soft_max=0.3,
            subtype="FACTOR",
        ),
    ]
    swing: Annotated[
        float,
        animated(
            FloatProperty,
            "Swing First",
            (
                "How far the whole chain rotates toward the target before it bends. At 1 a leg "
                "rotates at the hip and folds in its own plane. Always 1 with a pole target and "
                "with Two Bone"
            ),
            default=0.0,
            **FACTOR,
        ),
    ]
    use_stretch: Annotated[
        bool,
        fixed(
            BoolProperty,
            "Stretch",
            "Let the bones become longer where the target is out of reach",
            default=False,
        ),
    ]
    stretch_max: Annotated[
        float,
        animated(
            FloatProperty,
            "Stretch Max",
            "Maximum length of the stretched chain, relative to its original length",
            default=1.5,
            min=1.0,
            max=100.0,
            soft_max=3.0,
        ),
    ]
    use_volume: Annotated[
        bool,
        animated(BoolProperty, "Keep Volume", "Make bones thinner as they stretch", default=False),
    ]
    chain_bias: Annotated[
        float,
        animated(
            FloatProperty,
            "Bias",
            (
                "Distribute the bend. Negative values bend the bones near the root more, "
                "positive values those near the tip"
            ),
            default=0.0,
            min=-1.0,
            max=1.0,
            subtype="FACTOR",
        ),
    ]
    use_free_root: Annotated[
        bool,
        fixed(
            BoolProperty,
            "Move Root",
            "Let the first bone of the chain move, so that the body follows",
            default=False,
        ),
    ]
    root_weight: Annotated[
        float,
        animated(
            FloatProperty,
            "Root Weight",
            "How readily the root moves, compared with bones that rotate. At 0 it does not move",
            default=1.0,
            **FACTOR,
        ),
    ]
    iterations: Annotated[
        int,
        animated(
            IntProperty,
            "Iterations",
            "Maximum number of iterations. The solver stops earlier when the target is reached",
            default=20,
            min=1,
            max=10000,
            soft_max=500,
        ),
    ]
    tolerance: Annotated[
        float,
        animated(
            FloatProperty,
            "Tolerance",
            (
                "Distance between tip and target at which the solver stops, as a fraction of "
                "the chain length"
            ),
            default=1e-4,
            min=1e-9,
            max=1.0,
            soft_max=0.01,
            precision=6,
        ),
    ]
    show_overlay: Annotated[
        bool,
        fixed(
            BoolProperty,
            "Overlay",
            "Show the chain, its reach and its target in the 3D Viewport",
            default=True,
            update=_redraw_viewports,
            in_presets=False,
        ),
    ]
    key: Annotated[
        int,
        defined(
            IntProperty,
            "Identifier",
            "Number that identifies the constraint when scripts change the list",
            options={"HIDDEN"},
        ),
    ]
    state: Annotated[
        str,
        defined(
            EnumProperty,
            "State",
            "Result of the last evaluation (read only)",
            items=STATE_ITEMS,
            default="DISABLED",
            options=FIXED,
        ),
    ]
    error: Annotated[
        float,
        defined(
            FloatProperty,
            "Error",
            "Distance between tip and target in world space (read only)",
            subtype="DISTANCE",
            precision=6,
            options=FIXED,
        ),
    ]
    iterations_used: Annotated[
        int,
        defined(
            IntProperty,
            "Iterations Used",
            "Number of iterations of the last evaluation (read only)",
            options=FIXED,
        ),
    ]
    message: Annotated[
        str,
        defined(
            StringProperty,
            "Message",
            "Description of the problem and its solution (read only)",
            options=FIXED,
        ),
    ]


if TYPE_CHECKING:

    class AnimatedSettings(FabrikConstraint):
        """The animatable settings of a constraint as a named tuple; the solver by its number."""

        solver: int  # type: ignore[assignment]

        def _replace(self, **values: object) -> AnimatedSettings: ...

        def __iter__(self) -> Iterator[Any]: ...

else:
    AnimatedSettings = tuple


def settings_form() -> Form:
    """Return how `AnimatedSettings` are read."""
    return animated_form(FabrikConstraint)


class FabrikSettings(bpy.types.PropertyGroup):
    """The extension's properties of an armature object."""

    constraints: Annotated[
        ItemList[FabrikConstraint],
        defined(
            CollectionProperty,
            "FABRIK Constraints",
            "Inverse kinematics constraints of the armature, in solving order",
            type=FabrikConstraint,
            override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"},
        ),
    ]
    active_index: Annotated[
        int,
        defined(
            IntProperty,
            "Active Constraint",
            "Constraint whose settings are shown",
            options=BROWSING,
            override=OVERRIDABLE,
        ),
    ]
    record: Annotated[
        bytes, stored("Record", "FK pose in files of version 0.1, until it is converted")
    ]


class FabrikSceneSettings(bpy.types.PropertyGroup):
    """The extension's properties of a scene."""

    show_overlay: Annotated[
        bool,
        defined(
            BoolProperty,
            "FABRIK IK",
            (
                "Show the reach of the chains of selected armatures and the joint limits of the "
                "active bone in the 3D Viewport"
            ),
            default=True,
            options=FIXED,
            update=_redraw_viewports,
        ),
    ]


def settings(armature: bpy.types.ID) -> FabrikSettings:
    """Return the extension's properties of an armature object."""
    untyped: Any = armature
    return untyped.fabrik


def scene_settings(scene: bpy.types.Scene) -> FabrikSceneSettings:
    """Return the extension's properties of a scene."""
    return cast(Any, scene).fabrik


def keys_of(own: FabrikSettings) -> list[int]:
    """Return the keys of an armature's constraints, in the order of the list."""
    keys = array("i", bytes(4 * len(own.constraints)))
    own.constraints.foreach_get("key", keys)
    return keys.tolist()


def ends_of(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the targets and poles of an armature's constraints."""
    items = settings(armature).constraints
    ends = [pointed(item, name) for item in items for name in ("target", "pole_target")]
    return [ob for ob in ends if ob is not None]


def free_name(armature: bpy.types.Object, name: str, collection: str = "constraints") -> str:
    """Return a unique name for a list of an armature, numbered if necessary."""
    taken = {item.name for item in getattr(settings(armature), collection)}
    number = 0
    free = name
    while free in taken:
        number += 1
        free = f"{name}.{number:03}"
    return free


CLASSES = (
    FabrikConstraint,
    FabrikSettings,
    FabrikJoint,
    FabrikSceneSettings,
)


NO_PLACE = -1
"""`PoseBone.fabrik_place` of a bone that is not in the record."""


def _bone_properties() -> dict[str, object]:
    hidden: dict[str, Any] = {"options": {"HIDDEN"}, "override": OVERRIDABLE}
    return {
        "fabrik_place": IntProperty(
            name="Index in the Record",
            description="Index of the bone's FK pose in the record of version 0.1",
            default=NO_PLACE,
            **hidden,
        ),
        "fabrik_name": StringProperty(
            name="Known Name",
            description=(
                "Name by which constraints refer to the bone, to follow it when it is renamed"
            ),
            **hidden,
        ),
    }


def _joint(bone: Any) -> FabrikJoint:
    """Return the joint of a pose bone's bone: pasting a pose would replace one of the pose bone."""
    return _rest_bone(bone).fabrik_joint


def _flexion(bone: Any) -> Any:
    """Return how the joint of a pose bone's bone flexes."""
    return _rest_bone(bone).fabrik_flexion


def _rest_bone(bone: Any) -> Any:
    # The pose does not know bones of newly assigned armature data until the next update.
    return bone.bone or bone.id_data.data.bones[bone.name]


_groups: list[type[bpy.types.PropertyGroup]] = []


def register(
    groups: Sequence[type[bpy.types.PropertyGroup]],
    constraint: Mapping[str, Definition],
    armature: Mapping[str, Definition],
) -> None:
    """Register all properties.

    Args:
        groups: Property groups of features, each after those that it contains.
        constraint: Definitions that features add to constraints.
        armature: Definitions that features add to the settings of an armature.
    """
    further = {FabrikConstraint: constraint, FabrikSettings: armature}
    _groups[:] = [*groups, *CLASSES]
    forget_forms()
    for cls in _groups:
        register_group(cls, further.get(cls, {}))
    cast(Any, bpy.types.Object).fabrik = PointerProperty(
        name="FABRIK IK",
        description="Inverse kinematics constraints of an armature object",
        type=FabrikSettings,
        override={"LIBRARY_OVERRIDABLE"},
    )
    cast(Any, bpy.types.Object).fabrik_control = BoolProperty(
        name="Control",
        description="Added as a target or pole, which goes along with the body",
        options={"HIDDEN"},
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
    cast(Any, bpy.types.Bone).fabrik_flexion = FLEXION.property()
    for name, bone_property in _bone_properties().items():
        setattr(bpy.types.PoseBone, name, bone_property)
    cast(Any, bpy.types.PoseBone).fabrik_flexion = property(_flexion)
    cast(Any, bpy.types.PoseBone).fabrik_joint = property(_joint)


def unregister() -> None:
    """Unregister all properties; their values stay in the file."""
    for name in (*_bone_properties(), "fabrik_joint", "fabrik_flexion"):
        delattr(bpy.types.PoseBone, name)
    del cast(Any, bpy.types.Bone).fabrik_joint
    del cast(Any, bpy.types.Bone).fabrik_flexion
    del cast(Any, bpy.types.Scene).fabrik
    del cast(Any, bpy.types.Object).fabrik
    del cast(Any, bpy.types.Object).fabrik_control
    for cls in reversed(_groups):
        bpy.utils.unregister_class(cls)
