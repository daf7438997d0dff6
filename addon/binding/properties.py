"""The settings and results that an armature object carries, under the public names.

They live on the object because only there Blender can key them from the interface. What each bone
carries are plain properties of the pose bone, so that renaming, duplicating, deleting, undo and
library overrides of bones treat them as they treat the bone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from . import dependencies, plan
from .joint_properties import FabrikJoint
from .record import NO_PLACE

SOLVER_ITEMS = (
    ("FABRIK", "FABRIK", "Reach by dragging the joints back and forth; for chains of any length"),
    ("TWO_BONE", "Two Bone", "Exact limb of two bones, solved without iteration"),
    ("CCD", "CCD", "Turn one joint after the other, from the tip to the root; curls chains up"),
    ("TEXTBOOK", "FABRIK as Published", "Drag the joints until they arrive; slow near full reach"),
)

STATE_ITEMS = (
    ("REACHED", "Reached", "The tip is on the target"),
    ("OUT_OF_REACH", "Out of Reach", "The tip is as near to the target as it gets"),
    ("LIMITED", "Limited", "Limits of the joints keep the tip from the target"),
    ("INVALID", "Invalid", "The constraint cannot work; see its message"),
    ("DISABLED", "Disabled", "The constraint is off"),
)

KEYABLE = {"ANIMATABLE", "LIBRARY_EDITABLE"}
FIXED = {"LIBRARY_EDITABLE"}
OVERRIDABLE = {"LIBRARY_OVERRIDABLE"}


def _value_changed(item: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Let Blender evaluate the armature, and with it the constraint, again."""
    cast(bpy.types.Object, item.id_data).update_tag()


def _structure_changed(item: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Throw the plan away and tell Blender what the armature now depends on."""
    armature = cast(bpy.types.Object, item.id_data)
    plan.discard()
    dependencies.declare(armature)
    armature.update_tag()


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
        pole_target: bpy.types.Object | None
        pole_subtarget: str
        pole_angle: float
        pole_weight: float
        softness: float
        iterations: int
        tolerance: float
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
        )
        enabled: BoolProperty(
            name="Enabled",
            description="Let the constraint pose its chain; off gives the FK pose back",
            default=True,
            options=KEYABLE,
            override=OVERRIDABLE,
            update=_value_changed,
        )
        influence: FloatProperty(
            name="Influence",
            description="How far the chain follows: 0 is the FK pose, 1 the solved pose",
            default=1.0,
            min=0.0,
            max=1.0,
            subtype="FACTOR",
            options=KEYABLE,
            override=OVERRIDABLE,
            update=_value_changed,
        )
        solver: EnumProperty(
            name="Solver",
            description="How the chain is brought to its target",
            items=SOLVER_ITEMS,
            default="FABRIK",
            options=KEYABLE,
            override=OVERRIDABLE,
            update=_value_changed,
        )
        bone: StringProperty(
            name="Tip Bone",
            description="Last bone of the chain, whose tail or head reaches for the target",
            options=FIXED,
            override=OVERRIDABLE,
            update=_structure_changed,
        )
        chain_count: IntProperty(
            name="Chain Length",
            description="How many bones the chain has, counted up from the tip; 0 takes them all",
            default=0,
            min=0,
            soft_max=255,
            options=FIXED,
            override=OVERRIDABLE,
            update=_structure_changed,
        )
        use_tail: BoolProperty(
            name="Use Tail",
            description=(
                "Let the tail of the tip bone reach for the target. Off, its head does, and the "
                "chain starts at its parent"
            ),
            default=True,
            options=FIXED,
            override=OVERRIDABLE,
            update=_structure_changed,
        )
        target: PointerProperty(
            name="Target",
            description="Object that the tip reaches for",
            type=bpy.types.Object,
            options=FIXED,
            override=OVERRIDABLE,
            update=_structure_changed,
        )
        subtarget: StringProperty(
            name="Bone",
            description="Bone of the target armature whose head the tip reaches for",
            options=FIXED,
            override=OVERRIDABLE,
            update=_structure_changed,
        )
        pole_target: PointerProperty(
            name="Pole",
            description="Object that the bend of the chain faces",
            type=bpy.types.Object,
            options=FIXED,
            override=OVERRIDABLE,
            update=_structure_changed,
        )
        pole_subtarget: StringProperty(
            name="Pole Bone",
            description="Bone of the pole's armature whose head the bend of the chain faces",
            options=FIXED,
            override=OVERRIDABLE,
            update=_structure_changed,
        )
        pole_angle: FloatProperty(
            name="Pole Angle",
            description="Turn of the bend away from the pole, about the line from root to target",
            default=0.0,
            subtype="ANGLE",
            soft_min=-3.141592653589793,
            soft_max=3.141592653589793,
            options=KEYABLE,
            override=OVERRIDABLE,
            update=_value_changed,
        )
        pole_weight: FloatProperty(
            name="Pole Weight",
            description=(
                "How far the bend turns to the pole: 0 leaves it as it is, 1 lets it face the pole"
            ),
            default=1.0,
            min=0.0,
            max=1.0,
            subtype="FACTOR",
            options=KEYABLE,
            override=OVERRIDABLE,
            update=_value_changed,
        )
        softness: FloatProperty(
            name="Softness",
            description=(
                "How early the chain eases into its full reach, as a share of it, so that the knee "
                "does not snap straight; the tip falls back from the target there"
            ),
            default=0.0,
            min=0.0,
            max=0.9,
            soft_max=0.3,
            subtype="FACTOR",
            options=KEYABLE,
            override=OVERRIDABLE,
            update=_value_changed,
        )
        iterations: IntProperty(
            name="Iterations",
            description="The most sweeps over the chain; it stops before when the tip has arrived",
            default=20,
            min=1,
            max=10000,
            soft_max=500,
            options=KEYABLE,
            override=OVERRIDABLE,
            update=_value_changed,
        )
        tolerance: FloatProperty(
            name="Tolerance",
            description=(
                "Distance of tip to target at which the solver stops, as a fraction of the "
                "length of the chain"
            ),
            default=1e-4,
            min=1e-9,
            max=1.0,
            soft_max=0.01,
            precision=6,
            options=KEYABLE,
            override=OVERRIDABLE,
            update=_value_changed,
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
        record: StringProperty(
            name="Record",
            description="FK input of the solved bones, and what was written over it",
            subtype="BYTE_STRING",
            options={"HIDDEN"},
            override=OVERRIDABLE,
        )


CLASSES = (FabrikConstraint, FabrikSettings, FabrikJoint)


def _bone_properties() -> dict[str, object]:
    hidden: dict[str, Any] = {"options": {"HIDDEN"}, "override": OVERRIDABLE}
    return {
        "fabrik_place": IntProperty(
            name="Place in the Record",
            description="Where the armature's record keeps the FK input of the bone",
            default=NO_PLACE,
            **hidden,
        ),
        "fabrik_name": StringProperty(
            name="Known Name",
            description="Name by which constraints know the bone, to follow a new one",
            **hidden,
        ),
        "fabrik_joint": PointerProperty(
            name="FABRIK IK Joint",
            description="How far the bone may turn when a chain of FABRIK IK is solved",
            type=FabrikJoint,
            override={"LIBRARY_OVERRIDABLE"},
        ),
    }


def register() -> None:
    """Give objects and pose bones their properties."""
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    cast(Any, bpy.types.Object).fabrik = PointerProperty(
        name="FABRIK IK",
        description="Inverse kinematics constraints of an armature object",
        type=FabrikSettings,
        override={"LIBRARY_OVERRIDABLE"},
    )
    for name, bone_property in _bone_properties().items():
        setattr(bpy.types.PoseBone, name, bone_property)


def unregister() -> None:
    """Take the properties away; what they hold stays in the file."""
    for name in _bone_properties():
        delattr(bpy.types.PoseBone, name)
    del cast(Any, bpy.types.Object).fabrik
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
