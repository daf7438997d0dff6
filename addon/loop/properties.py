"""The settings and results that an armature object carries, under the public names.

They live on the object because only there Blender can key them from the interface. What each bone
carries are plain properties of the pose bone, so that renaming, duplicating, deleting, undo and
library overrides of bones treat them as they treat the bone.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

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

from . import changes
from .joint_properties import FabrikJoint
from .property_kinds import FIXED, OVERRIDABLE, animated, fixed, stored, structure_changed

Item = tuple[str, str, str, int]
"""An item of an enum: identifier, name, tooltip, and the number that files and keys know it by."""

SOLVER_ITEMS: list[Item] = [
    ("FABRIK", "FABRIK", "Reach by dragging joints back and forth; for chains of any length", 0),
    ("TWO_BONE", "Two Bone", "Exact limb of two bones, solved without iteration", 1),
    ("CCD", "CCD", "Turn one joint after the other, from the tip to the root; curls chains up", 2),
    ("TEXTBOOK", "FABRIK as Published", "Drag joints until they arrive; slow near full reach", 3),
]
"""The solvers, with those of the features that are installed."""

STATE_ITEMS = (
    ("REACHED", "Reached", "The tip is on the target", 0),
    ("OUT_OF_REACH", "Out of Reach", "The tip is as near to the target as it gets", 1),
    ("LIMITED", "Limited", "Limits of the joints keep the tip from the target", 2),
    ("INVALID", "Invalid", "The constraint cannot work; see its message", 3),
    ("DISABLED", "Disabled", "The constraint is off", 4),
)


def _shows_changed(_item: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Have all 3D views drawn again; nothing is solved for it."""
    manager = bpy.context.window_manager
    for window in manager.windows if manager else ():
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


def _ends_changed(item: FabrikConstraint, context: bpy.types.Context) -> None:
    """Do as for any structure, and take the offset between tip and target if it is wanted."""
    structure_changed(item, context)
    changes.tell_ends(item)


def _offset_switched(item: FabrikConstraint, context: bpy.types.Context) -> None:
    """Take the offset as it is now when the switch for it is turned on."""
    if item.use_offset:
        changes.tell_offset(item)
    structure_changed(item, context)


class FabrikConstraint(bpy.types.PropertyGroup):
    """One inverse kinematics constraint of an armature."""

    if TYPE_CHECKING:
        name: str
        enabled: bool
        influence: float
        solver: str
        bone: str
        chain_count: int
        use_tail: bool
        target: bpy.types.Object | None
        subtarget: str
        use_rotation: bool
        rotation_weight: float
        twist_spread: float
        use_offset: bool
        offset_location: tuple[float, float, float]
        offset_rotation: tuple[float, float, float, float]
        weight: float
        pole_target: bpy.types.Object | None
        pole_subtarget: str
        pole_angle: float
        pole_weight: float
        softness: float
        swing: float
        use_stretch: bool
        stretch_max: float
        use_volume: bool
        chain_bias: float
        use_free_root: bool
        root_weight: float
        iterations: int
        tolerance: float
        show_overlay: bool
        key: int
        state: str
        error: float
        iterations_used: int
        message: str
    else:
        name: StringProperty(
            name="Name",
            description="Name of the constraint",
            default="FABRIK IK",
            override=OVERRIDABLE,
            update=structure_changed,
        )
        enabled: animated(
            BoolProperty,
            "Enabled",
            "Let the constraint pose its chain; off gives the FK pose back",
            default=True,
        )
        influence: animated(
            FloatProperty,
            "Influence",
            "How far the chain follows: 0 is the FK pose, 1 the solved pose",
            default=1.0,
            min=0.0,
            max=1.0,
            subtype="FACTOR",
        )
        solver: animated(
            EnumProperty,
            "Solver",
            "How the chain is brought to its target",
            items=SOLVER_ITEMS,
            default="FABRIK",
            update=structure_changed,
        )
        bone: fixed(
            StringProperty,
            "Tip Bone",
            "Last bone of the chain, whose tail or head reaches for the target",
            update=_ends_changed,
        )
        chain_count: fixed(
            IntProperty,
            "Chain Length",
            "How many bones the chain has, counted up from the tip; 0 takes them all",
            default=0,
            min=0,
            soft_max=255,
        )
        use_tail: fixed(
            BoolProperty,
            "Use Tail",
            (
                "Let the tail of the tip bone reach for the target. Off, its head does, and the "
                "chain starts at its parent"
            ),
            default=True,
            update=_ends_changed,
        )
        target: fixed(
            PointerProperty,
            "Target",
            "Object that the tip reaches for",
            type=bpy.types.Object,
            update=_ends_changed,
        )
        subtarget: fixed(
            StringProperty,
            "Bone",
            "Bone of the target armature whose head the tip reaches for",
            update=_ends_changed,
        )
        use_rotation: fixed(
            BoolProperty,
            "Rotation",
            "Let the tip bone take the orientation of the target",
            default=False,
        )
        rotation_weight: animated(
            FloatProperty,
            "Rotation Weight",
            (
                "How far the tip bone turns to the orientation of the target: 0 lets the "
                "chain carry it, 1 takes it over"
            ),
            default=1.0,
            min=0.0,
            max=1.0,
            subtype="FACTOR",
        )
        twist_spread: animated(
            FloatProperty,
            "Twist Spread",
            (
                "How much of the twist of the tip the bones of the chain share, so that the "
                "skin does not wring at the last joint: 1 gives each joint an equal part"
            ),
            default=0.0,
            min=0.0,
            max=1.0,
            subtype="FACTOR",
        )
        use_offset: fixed(
            BoolProperty,
            "Offset",
            (
                "Keep the tip away from the target, and turned from it, as it was when this "
                "was turned on"
            ),
            default=False,
            update=_offset_switched,
        )
        offset_location: fixed(
            FloatVectorProperty,
            "Offset Location",
            "Where the tip is kept, in the space of the target",
            size=3,
            subtype="TRANSLATION",
        )
        offset_rotation: fixed(
            FloatVectorProperty,
            "Offset Rotation",
            "How the tip bone is kept turned, in the space of the target",
            size=4,
            default=(1.0, 0.0, 0.0, 0.0),
            subtype="QUATERNION",
        )
        weight: animated(
            FloatProperty,
            "Weight",
            (
                "How strongly the constraint pulls at bones that it shares with others, "
                "against their weights, where not all can have what they want"
            ),
            default=1.0,
            min=0.0,
            max=1000.0,
            soft_max=10.0,
        )
        pole_target: fixed(
            PointerProperty,
            "Pole",
            "Object that the bend of the chain faces",
            type=bpy.types.Object,
        )
        pole_subtarget: fixed(
            StringProperty,
            "Pole Bone",
            "Bone of the pole's armature whose head the bend of the chain faces",
        )
        pole_angle: animated(
            FloatProperty,
            "Pole Angle",
            "Turn of the bend away from the pole, about the line from root to target",
            default=0.0,
            subtype="ANGLE",
            soft_min=-3.141592653589793,
            soft_max=3.141592653589793,
        )
        pole_weight: animated(
            FloatProperty,
            "Pole Weight",
            "How far the bend turns to the pole: 0 leaves it as it is, 1 lets it face the pole",
            default=1.0,
            min=0.0,
            max=1.0,
            subtype="FACTOR",
        )
        softness: animated(
            FloatProperty,
            "Softness",
            (
                "How early the chain eases into its full reach, as a share of it, so that the knee "
                "does not snap straight; the tip falls back from the target there"
            ),
            default=0.0,
            min=0.0,
            max=0.9,
            soft_max=0.3,
            subtype="FACTOR",
        )
        swing: animated(
            FloatProperty,
            "Swing",
            (
                "How far the chain turns as a whole towards its target before it bends: at 1 a leg "
                "turns at the hip and folds in its own plane. With a pole, and with Two Bone, it "
                "always does"
            ),
            default=0.0,
            min=0.0,
            max=1.0,
            subtype="FACTOR",
        )
        use_stretch: fixed(
            BoolProperty,
            "Stretch",
            "Let the bones grow longer where the target is beyond their reach",
            default=False,
        )
        stretch_max: animated(
            FloatProperty,
            "Stretch Max",
            "The most that the chain grows to, in lengths of its own",
            default=1.5,
            min=1.0,
            max=100.0,
            soft_max=3.0,
        )
        use_volume: animated(
            BoolProperty,
            "Keep Volume",
            "Let bones grow thinner as they stretch",
            default=False,
        )
        chain_bias: animated(
            FloatProperty,
            "Bias",
            (
                "Which bones turn more than the others: below 0 those near the root, above "
                "0 those near the tip"
            ),
            default=0.0,
            min=-1.0,
            max=1.0,
            subtype="FACTOR",
        )
        use_free_root: fixed(
            BoolProperty,
            "Free Root",
            "Let the first bone of the chain leave its place, so that the body comes along",
            default=False,
        )
        root_weight: animated(
            FloatProperty,
            "Root Weight",
            (
                "How readily the root leaves its place, compared with bones that turn: 0 "
                "stays where it is"
            ),
            default=1.0,
            min=0.0,
            max=1.0,
            subtype="FACTOR",
        )
        iterations: animated(
            IntProperty,
            "Iterations",
            "The most sweeps over the chain; it stops before when the tip has arrived",
            default=20,
            min=1,
            max=10000,
            soft_max=500,
        )
        tolerance: animated(
            FloatProperty,
            "Tolerance",
            (
                "Distance of tip to target at which the solver stops, as a fraction of the "
                "length of the chain"
            ),
            default=1e-4,
            min=1e-9,
            max=1.0,
            soft_max=0.01,
            precision=6,
        )
        show_overlay: BoolProperty(
            name="Overlay",
            description="Show the chain, its reach and its target in the 3D views",
            default=True,
            options=FIXED,
            override=OVERRIDABLE,
            update=_shows_changed,
        )
        key: IntProperty(
            name="Key",
            description="Number by which a constraint is known when scripts change the list",
            options={"HIDDEN"},
        )
        state: EnumProperty(
            name="State",
            description="How the last evaluation ended (read only)",
            items=STATE_ITEMS,
            default="DISABLED",
            options=FIXED,
        )
        error: FloatProperty(
            name="Error",
            description="Distance from the tip to the target in world space (read only)",
            subtype="DISTANCE",
            precision=6,
            options=FIXED,
        )
        iterations_used: IntProperty(
            name="Iterations Used",
            description="Sweeps that the last evaluation took (read only)",
            options=FIXED,
        )
        message: StringProperty(
            name="Message",
            description="What is wrong, and what to do about it (read only)",
            options=FIXED,
        )


class FabrikSettings(bpy.types.PropertyGroup):
    """All that an armature object carries for the extension."""

    if TYPE_CHECKING:
        constraints: bpy.types.bpy_prop_collection_idprop[FabrikConstraint]
        active_index: int
        record: bytes
    else:
        constraints: CollectionProperty(
            name="FABRIK Constraints",
            description="Inverse kinematics constraints of the armature, in the order of solving",
            type=FabrikConstraint,
            override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"},
        )
        active_index: IntProperty(
            name="Active Constraint",
            description="Constraint whose settings are shown",
            options=FIXED,
            override=OVERRIDABLE,
        )
        record: stored("Record", "FK pose in files of version 0.1, until it is brought over")


class FabrikSceneSettings(bpy.types.PropertyGroup):
    """All that a scene carries for the extension."""

    if TYPE_CHECKING:
        show_overlay: bool
    else:
        show_overlay: BoolProperty(
            name="FABRIK IK",
            description=(
                "Show in the 3D views how the chains of selected armatures reach, and what the "
                "joint of the active bone allows"
            ),
            default=True,
            options=FIXED,
            update=_shows_changed,
        )


def settings(armature: bpy.types.ID) -> FabrikSettings:
    """Return what an armature object carries for the extension."""
    return cast(Any, armature).fabrik


def scene_settings(scene: bpy.types.Scene) -> FabrikSceneSettings:
    """Return what a scene carries for the extension."""
    return cast(Any, scene).fabrik


def keys_of(own: FabrikSettings) -> list[int]:
    """Return the keys of an armature's constraints, in the list's order."""
    keys = array("i", bytes(4 * len(own.constraints)))
    own.constraints.foreach_get("key", keys)
    return keys.tolist()


def ends_of(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the targets and poles of an armature's constraints."""
    items = settings(armature).constraints
    return [ob for item in items for ob in (item.target, item.pole_target) if ob is not None]


def free_name(armature: bpy.types.Object, name: str, collection: str = "constraints") -> str:
    """Return a name that nothing in a list of an armature has, the wanted one if possible."""
    taken = getattr(settings(armature), collection)
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
            name="Place in the Record",
            description="Where the record of version 0.1 keeps the FK pose of the bone",
            default=NO_PLACE,
            **hidden,
        ),
        "fabrik_name": StringProperty(
            name="Known Name",
            description="Name by which constraints know the bone, to follow a new one",
            **hidden,
        ),
    }


def _joint(bone: Any) -> FabrikJoint:
    """Return what the bone at rest keeps: pasting a pose replaces what the pose bone has."""
    # Up to the next update a pose does not know the bones of armature data that it has just got.
    rest = bone.bone or bone.id_data.data.bones[bone.name]
    return rest.fabrik_joint


_groups: list[type[bpy.types.PropertyGroup]] = []


def register(
    groups: Sequence[type[bpy.types.PropertyGroup]],
    constraint: Mapping[str, object],
    armature: Mapping[str, object],
) -> None:
    """Give objects, bones and pose bones their properties.

    Args:
        groups: Further classes of settings, each after those that it holds.
        constraint: Further properties of a constraint.
        armature: Further properties of an armature's settings.
    """
    FabrikConstraint.__annotations__.update(constraint)
    FabrikSettings.__annotations__.update(armature)
    _groups[:] = [*groups, *CLASSES]
    for cls in _groups:
        bpy.utils.register_class(cls)
    cast(Any, bpy.types.Object).fabrik = PointerProperty(
        name="FABRIK IK",
        description="Inverse kinematics constraints of an armature object",
        type=FabrikSettings,
        override={"LIBRARY_OVERRIDABLE"},
    )
    cast(Any, bpy.types.Scene).fabrik = PointerProperty(
        name="FABRIK IK",
        description="What is shown of inverse kinematics constraints in a scene",
        type=FabrikSceneSettings,
    )
    cast(Any, bpy.types.Bone).fabrik_joint = PointerProperty(
        name="FABRIK IK Joint",
        description="How far the bone may turn when a chain of FABRIK IK is solved",
        type=FabrikJoint,
        override={"LIBRARY_OVERRIDABLE"},
    )
    for name, bone_property in _bone_properties().items():
        setattr(bpy.types.PoseBone, name, bone_property)
    cast(Any, bpy.types.PoseBone).fabrik_joint = property(_joint)


def unregister() -> None:
    """Take the properties away; what they hold stays in the file."""
    for name in (*_bone_properties(), "fabrik_joint"):
        delattr(bpy.types.PoseBone, name)
    del cast(Any, bpy.types.Bone).fabrik_joint
    del cast(Any, bpy.types.Scene).fabrik
    del cast(Any, bpy.types.Object).fabrik
    for cls in reversed(_groups):
        bpy.utils.unregister_class(cls)
