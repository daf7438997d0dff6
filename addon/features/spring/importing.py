"""Import springs and colliders that the VRM add-on stored in an armature.

Only the names of its public properties are used. They are read as stored in the file, so that the
add-on needn't be installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import mean
from typing import Any, NamedTuple, cast

import bpy

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.messages import counted, msg
from ...blender.skeleton import Skeleton, skeleton_of
from ...editing import constraints as editing
from ...settings.properties import free_name, settings
from ...ui.adding import MOTION_OPERATORS, all_or_none, known_objects
from ...ui.refusing import Working, active_armature, armature_refusal
from ...ui.registering import registering
from .operators import strands_below
from .recording import SOLVER
from .settings import DOWN, colliders_of, spring_of

RATIO = 1e-9
"""Below this, a value at the first joint gives no ratio for the last one."""

Stored = Mapping[str, Any]
"""A group of properties; those at their defaults may be missing."""

SHAPES = {0: "SPHERE", 1: "CAPSULE", 2: "PLANE"}
"""The shapes of colliders, by number."""


class _Strand(NamedTuple):
    """A strand of either version of VRM.

    Attributes:
        tip: Its last bone.
        chain_count: Its number of bones.
        use_tail: Whether it reaches to the tail of its last bone, not the head.
        along: The settings of each bone that moves, as VRM 1.0 names them.
        center: The bone that is its center; empty if there is none.
        groups: The groups of colliders.
    """

    tip: str
    chain_count: int
    use_tail: bool
    along: list[Stored]
    center: str
    groups: list[str]


def _stored(block: Any) -> Stored:
    """Return the properties that the VRM add-on stores in a data-block or bone."""
    # From Blender 5.0 on, registered properties are apart from custom ones.
    properties = getattr(block, "bl_system_properties_get", lambda: block)()
    return {} if properties is None else properties.get("vrm_addon_extension", {})


def _springs(armature: bpy.types.Object) -> tuple[Stored, Stored]:
    """Return the springs of VRM 1.0 and 0.x of an armature."""
    stored = _stored(armature.data)
    older = stored.get("vrm0", {}).get("secondary_animation", {})
    return stored.get("spring_bone1", {}), older


def _stored_refusal(context: bpy.types.Context) -> str:
    newer, older = _springs(active_armature(context))
    if newer.get("springs") or older.get("bone_groups"):
        return ""
    return msg("No VRM springs: import a VRM character with the VRM add-on")


class FABRIK_OT_springs_import(Working, bpy.types.Operator):
    """Import the springs that the VRM add-on stored."""

    bl_idname = "fabrik.springs_import"
    bl_label = "Import Springs"
    bl_description = "Add the springs and colliders that the VRM add-on stores in this armature"
    asks = (armature_refusal, _stored_refusal)

    def work(self, context: bpy.types.Context) -> str:
        """Add the constraints and colliders."""
        armature = active_armature(context)
        newer, older = _springs(armature)
        bones = _Bones(armature)
        start = len(settings(armature).constraints)
        with all_or_none(armature, known_objects()):
            strands = _newer(bones, newer) if newer.get("springs") else _older(bones, older)
            for strand in strands:
                _add_spring(armature, strand)
        count = len(settings(armature).constraints) - start
        if not count:
            raise ProblemError(
                "The VRM springs don't name any bone of this armature: check their joints"
            )
        skipped = _add_colliders(armature, bones, newer if newer.get("springs") else older)
        settings(armature).active_index = start
        armature.update_tag()
        springs = counted(count, "{count} spring", "{count} springs")
        if skipped:
            return msg(
                "Imported {springs}, and skipped {colliders} of unknown shape: press Simulate",
                springs=springs,
                colliders=counted(skipped, "{count} collider", "{count} colliders"),
            )
        return msg("Imported {springs}: press Simulate", springs=springs)


class _Bones:
    """The bones of an armature, as the add-on refers to them: by identifiers that it gave them."""

    def __init__(self, armature: bpy.types.Object) -> None:
        """Read the identifiers."""
        bones = cast(bpy.types.Armature, armature.data).bones
        self.rig: Skeleton = skeleton_of(armature)
        self._names = {_stored(bone).get("uuid", ""): bone.name for bone in bones}

    def name(self, node: Stored) -> str:
        """Return the name of a bone; empty if there is none."""
        uuid = node.get("bone_uuid", "")
        return self._names.get(uuid, "") if uuid else node.get("bone_name", "")


def _newer(bones: _Bones, stored: Stored) -> Iterator[_Strand]:
    """Yield the strands of VRM 1.0 whose bones exist: each is a list of joints."""
    names = {group.get("uuid"): _name_of(group) for group in stored.get("collider_groups", ())}
    for spring in stored["springs"]:
        named = [(bones.name(joint.get("node", {})), joint) for joint in spring.get("joints", ())]
        joints = [(name, joint) for name, joint in named if name]
        count = _length(bones.rig, [name for name, _ in joints])
        if not count:
            continue
        references = spring.get("collider_groups", ())
        groups = [names.get(reference.get("collider_group_uuid"), "") for reference in references]
        along = [joint for _, joint in joints[:-1]]  # The last one is only the end.
        center = bones.name(spring.get("center", {}))
        yield _Strand(joints[-1][0], count, False, along, center, groups)


def _older(bones: _Bones, stored: Stored) -> Iterator[_Strand]:
    """Yield the strands of VRM 0.x whose bones exist: all below the bones of a group."""
    rig = bones.rig
    for group in stored.get("bone_groups", ()):
        # The specification spells it so.
        values = {"drag_force": 0.0, **group, "stiffness": group.get("stiffiness", 0.0)}
        names = [reference.get("value", "") for reference in group.get("collider_groups", ())]
        groups = [name.replace(",", " ") for name in names]
        center = bones.name(group.get("center", {}))
        for root in map(bones.name, group.get("bones", ())):
            for strand in strands_below(rig, rig.index[root]) if root in rig.index else ():
                yield _Strand(rig.names[strand[-1]], len(strand), True, [values], center, groups)


def _name_of(group: Stored) -> str:
    """Return the name of a group of colliders, without commas, which separate names in a spring."""
    name: str = group.get("vrm_name") or group.get("name") or group.get("uuid", "")
    return name.replace(",", " ")


def _add_spring(armature: bpy.types.Object, strand: _Strand) -> None:
    item = editing.add(
        armature,
        strand.tip,
        chain_count=strand.chain_count,
        solver=SOLVER,
        use_tail=strand.use_tail,
    )
    values: Any = spring_of(item)
    values.mode = "VRM"
    for name, theirs, default in (
        ("stiffness", "stiffness", 1.0),
        ("drag", "drag_force", 0.5),
        ("gravity", "gravity_power", 0.0),
        ("radius", "hit_radius", 0.0),
    ):
        _set_curve(values, name, [joint.get(theirs, default) for joint in strand.along])
    values.gravity_direction = strand.along[0].get("gravity_dir", DOWN)
    if strand.center:
        values.center, values.center_bone = armature, strand.center
    groups = [*filter(None, strand.groups)]
    values.use_colliders, values.groups = bool(groups), ", ".join(groups)


def _set_curve(spring: Any, name: str, along: list[float]) -> None:
    """Set a spring's value along its strand from the values of its bones."""
    start, end = along[0], along[-1]
    setattr(spring, name, start)
    if start > RATIO and start != end:
        halfway = 0.5 * (along[(len(along) - 1) // 2] + along[len(along) // 2])
        setattr(spring, f"{name}_tip", end / start)
        setattr(spring, f"{name}_middle", (halfway - start) / (end - start))


def _length(rig: Skeleton, names: list[str]) -> int:
    """Return how many bones lead from the first joint to the last; 0 if none do."""
    if len(names) < 2 or not {*names} <= rig.index.keys():
        return 0
    up = rig.chain_up(rig.index[names[-1]])
    first = rig.index[names[0]]
    return len(up) - 1 - up.index(first) if first in up else 0


def _add_colliders(armature: bpy.types.Object, bones: _Bones, stored: Stored) -> int:
    """Add the colliders of each group; return how many have an unknown shape."""
    skipped: set[Any] = set()  # A collider may be in several groups.
    by_uuid = {collider.get("uuid"): collider for collider in stored.get("colliders", ())}
    for group in stored.get("collider_groups", ()):
        for own in group.get("colliders", ()):
            # Those of VRM 0.x are spheres, and belong to the bone of their group.
            theirs = by_uuid.get(own.get("collider_uuid"), {**own, "node": group.get("node", {})})
            if theirs.get("bpy_object") is None:
                continue
            kind = _kind(theirs)
            if kind:
                bone = bones.name(theirs.get("node", {}))
                _add_collider(armature, bone, theirs, _name_of(group), kind)
            else:
                skipped.add(theirs["bpy_object"])
    return len(skipped)


def _add_collider(
    armature: bpy.types.Object, bone: str, theirs: Stored, group: str, kind: str
) -> None:
    """Add a collider.

    Args:
        armature: The armature.
        bone: The bone that carries it; empty for the armature object.
        theirs: The collider that the VRM add-on stored, with an object that shows its size and
            place.
        group: The name of its group.
        kind: Its kind.
    """
    shown: Any = theirs["bpy_object"]
    carrier: Any = armature.matrix_world
    if bone in pose_bones(armature):
        carrier = carrier @ pose_bones(armature)[bone].matrix
    to_bone = carrier.inverted_safe()
    place = to_bone @ shown.matrix_world
    ours: Any = colliders_of(armature).add()
    ours.name = free_name(armature, bone or "Collider", "colliders")
    ours.bone, ours.group = bone, group
    ours.kind = kind
    ours.offset = place.translation
    ours.radius = mean(map(abs, shown.matrix_basis.to_scale())) * shown.empty_display_size
    if kind == "PLANE":
        ours.tail = place.translation + place.to_3x3().col[1]
    elif kind.endswith("CAPSULE") and shown.children:
        ours.tail = (to_bone @ shown.children[0].matrix_world).translation


def _kind(collider: Stored) -> str:
    """Return the kind of a collider; empty if its shape is unknown."""
    extensions = collider.get("extensions", {})
    extended = extensions.get("vrmc_spring_bone_extended_collider", {})
    is_extended = bool(extended.get("enabled"))
    kind = SHAPES.get((extended if is_extended else collider).get("shape_type", 0), "")
    is_inside = is_extended and extended.get("shape", {}).get(kind.lower(), {}).get("inside")
    return f"INSIDE_{kind}" if is_inside else kind


register, unregister = registering(
    __name__,
    (MOTION_OPERATORS, ("fabrik.springs_import", msg("Import Springs"))),
)
