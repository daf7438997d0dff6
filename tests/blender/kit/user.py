"""Random user actions on a rig, its twin and the rest of the file, beyond those of `edits`.

The twin has no constraints. Actions on bones, keys and objects are applied to both, so the twin
shows the FK pose. Blender's own behavior can then be distinguished from that of the extension.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy
from edits import PAIR, Step, insert, pair, torso
from mathutils import Matrix, Vector
from operating import select_bones
from rigs import activate, go, make_armature, make_chain, make_empty, update

from addon.blender import dependency_driver
from addon.settings.values import settings_in, values_of

SOLVERS = ("FABRIK", "TWO_BONE", "CCD", "TEXTBOOK", "LOOK_AT", "ROPE", "FOLLOW", "WAVE", "SPRING")
NAMES = ('a"]["b', "\\", 'pose.bones["B0"]', "ünïcödé", "new\nline", "a" * 60, "[0]", "  ", "%s{}")
SCALES = ((1, 1, 1), (2, 2, 2), (0.5, 2, 1), (-1, 1, 1), (1e-3,) * 3, (0, 0, 0), (1, 0, 1))
LOOSE = ("T0", "T1", "T2")
"""Targets that may be renamed or deleted, unlike those of `edits`."""

EXTRA = "Extra"
"""The prefix of the names of armatures without a twin."""

INSTANCED = "Instanced"
"""A collection with the pair and another armature, which Empties instance."""

GUEST = "Guest"
"""Armatures that are joined into the pair at once."""

PINNED = ("POSING", "PLACE", "ANIMATION")

LAST_FRAME = 12
PRESETS = Path(__file__).resolve().parents[3] / "addon/presets/fabrik_ik"

Chance = random.Random


# The scene


def build(chance: Chance) -> None:
    """Make a rig and its twin, targets, ground, and sometimes a second scene or view layer.

    View layers are not added or removed later: together with changes of objects and undo, that
    crashes Blender 4.2 and 5.2 even without the extension.
    """
    shape = chance.choice((limb, limb, bent, torso, forked))
    for name in PAIR:
        shape(name)
    for i, name in enumerate(("Left", "Right", *LOOSE)):
        make_empty(name, ((1, 0.3, 1.5), (-1, 0.3, 1.5), (0.5, 1, 1), (0, -1, 2), (1, 1, 3))[i])
    make_empty("Carrier", (0, 0, 0))
    mesh = bpy.data.meshes.new("Ground")
    corners = [(-5, -5, 0), (5, -5, 0), (5, 5, 0.3), (-5, 5, 0)]
    mesh.from_pydata(corners, [], [(0, 1, 2, 3)])
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("Ground", mesh))
    for ob in bpy.data.objects:
        ob.use_fake_user = True  # It may be unlinked for a while.
    scene = bpy.context.scene
    scene.frame_end = LAST_FRAME
    if chance.random() < 0.2:
        scene.view_layers.new("Second")
    if chance.random() < 0.2:
        bpy.ops.scene.new(type="LINK_COPY")
        bpy.context.window.scene = scene
    update()


def limb(name: str) -> bpy.types.Object:
    return make_chain(3, name)


def bent(name: str) -> bpy.types.Object:
    """Make a chain with several rotation modes."""
    rig = make_chain(5, name)
    for bone, mode in zip(rig.pose.bones, ("XYZ", "QUATERNION", "AXIS_ANGLE", "ZXY"), strict=False):
        bone.rotation_mode = mode
    return rig


def forked(name: str) -> bpy.types.Object:
    """Make two chains, one of which is a disconnected child of the other's middle bone."""
    bones = {f"B{i}": ((0, 0, i), (0.1, 0, i + 1), f"B{i - 1}" if i else "") for i in range(3)}
    bones["C0"] = ((0.3, 0, 1.5), (1, 0, 2), "B1")
    bones["C1"] = ((1, 0, 2), (1.5, 0.2, 2.5), "C0")
    return make_armature(bones, name)


def extras() -> list[bpy.types.Object]:
    # Removed objects are None until the next update.
    objects = [ob for ob in bpy.context.view_layer.objects if ob is not None]
    return [ob for ob in objects if ob.name.startswith(EXTRA) and ob.type == "ARMATURE"]


def targets() -> list[bpy.types.Object]:
    """Return local objects that can be targets: Empties and meshes."""
    return [ob for ob in bpy.data.objects if ob.type in {"EMPTY", "MESH"} and ob.library is None]


def own_objects() -> list[bpy.types.Object]:
    """Return local objects: the animation of linked ones is evaluated again after loading."""
    return [ob for ob in bpy.data.objects if ob.library is None]


def persistent_objects() -> list[bpy.types.Object]:
    """Return objects that are local or in the view layer, but not those linked only indirectly.

    Pointers to the latter are lost in saved files, and in 4.2 by undo to the first step with them.
    """
    shown = bpy.context.view_layer.objects
    return [ob for ob in bpy.data.objects if ob.library is None or ob in shown.values()]


def loose_targets() -> list[bpy.types.Object]:
    """Return the targets that can be renamed and deleted, at least one."""
    found = [ob for ob in targets() if "loose" in ob or ob.name in LOOSE]
    return found or [make_empty(LOOSE[0])]


def any_bone(chance: Chance, rig: bpy.types.Object) -> str:
    return chance.choice(rig.pose.bones.keys())


def any_place(chance: Chance) -> list[float]:
    if chance.random() < 0.05:
        return [chance.choice((0.0, 1e-7, 1e9, -1e20)) for _ in range(3)]
    return [round(chance.uniform(-1.5, 1.5), 2), round(chance.uniform(-1.5, 1.5), 2), 1.5]


def in_object_mode() -> None:
    if bpy.context.object is not None and bpy.context.object.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")


def show(*objects: bpy.types.Object) -> None:
    """Show objects, so that their modes can be entered."""
    for ob in objects:
        ob.hide_viewport = False
        if ob.name in bpy.context.view_layer.objects:
            ob.hide_set(False)


@contextmanager
def mode(ob: bpy.types.Object, name: str) -> Iterator[None]:
    activate(ob, name)
    try:
        yield
    finally:
        in_object_mode()


def renew_twin() -> None:
    """Replace the twin by a copy of the rig without constraints."""
    rig = pair()[0]
    old = bpy.data.objects.get("Twin")
    if old is not None:
        bpy.data.objects.remove(old)
    twin = rig.copy()
    twin.name, twin.data = "Twin", rig.data.copy()
    twin.fabrik.constraints.clear()
    twin.fabrik.gaits.clear()
    twin.fabrik.pins.clear()
    data = twin.animation_data
    # In tweak mode of the NLA, as with an offset layer, both have the action of the strip.
    if data is not None and data.action is not None and not data.use_tweak_mode:
        data.action = data.action.copy()
    if twin.get("action", "") in bpy.data.actions:  # It is unassigned at the moment.
        kept = bpy.data.actions[twin["action"]].copy()
        kept.use_fake_user, twin["action"] = True, kept.name
    for curve in list(data.drivers) if data is not None else ():
        if curve.data_path.startswith("fabrik."):
            data.drivers.remove(curve)
    for collection in rig.users_collection:
        collection.objects.link(twin)


# Constraints


def items() -> list[tuple[bpy.types.Object, int]]:
    rigs = [pair()[0], *(ob for ob in extras() if ob.library is None)]
    return [(rig, i) for rig in rigs for i in range(len(rig.fabrik.constraints))]


def add(chance: Chance) -> str:
    """Add a random constraint from a script."""
    rig = pair()[0]
    if len(rig.fabrik.constraints) > 4:
        return "no more"
    item = rig.fabrik.constraints.add()
    item.name = chance.choice(("IK", "IK", *NAMES))
    item.solver = chance.choice((*SOLVERS, "FABRIK", "FABRIK", "TWO_BONE", "CCD"))
    item.bone, item.chain_count = any_bone(chance, rig), chance.choice((0, 0, 1, 2, 2, 3))
    item.target = chance.choice(targets())
    if chance.random() < 0.2:
        item.target = rig if chance.random() < 0.5 else chance.choice(own_objects())
        if item.target.type == "ARMATURE":
            item.subtarget = any_bone(chance, item.target)
    if chance.random() < 0.3:
        item.pole_target = chance.choice(targets())
    return f"{item.solver} {item.bone} {item.chain_count} → {item.target.name}{item.subtarget}"


def arrange(chance: Chance) -> str:
    """Remove, move, duplicate, rename or mute a constraint."""
    found = items()
    if not found:
        return ""
    rig, i = chance.choice(found)
    ours, kind = rig.fabrik.constraints, chance.choice(("remove", "move", "copy", "rename", "mute"))
    if kind == "remove" and rig.override_library is None:
        ours.remove(i)
    elif kind == "move" and rig.override_library is None:
        ours.move(i, chance.randrange(len(ours)))
    elif kind == "copy" and len(ours) < 5:
        values = values_of(ours[i])
        new = ours.add()
        new.name = ours[i].name
        for path, value in values.items():
            owner, _, name = path.rpartition(".")
            setattr(new.path_resolve(owner) if owner else new, name, value)
    elif kind == "rename":
        ours[i].name = chance.choice(NAMES)
    else:
        ours[i].enabled = not ours[i].enabled
    rig.update_tag()
    return f"{kind} {i} of {rig.name}"


def settings_of(group: bpy.types.PropertyGroup, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the paths and properties of a group's settings, including nested groups."""
    for prop in settings_in(type(group)):
        value = getattr(group, prop.identifier)
        if isinstance(value, bpy.types.PropertyGroup):
            yield from settings_of(value, f"{path}{prop.identifier}.")
        else:
            yield path + prop.identifier, prop


def any_value(chance: Chance, prop: bpy.types.Property) -> Any:
    """Return a value that a user could set."""
    if prop.type == "BOOLEAN":
        return chance.random() < 0.5
    if prop.type == "ENUM":
        return chance.choice([item.identifier for item in prop.enum_items])
    if prop.type == "POINTER":
        if prop.fixed_type.identifier == "Object":
            return chance.choice([None, *targets(), *own_objects()])
        return chance.choice([None, *bpy.data.collections])
    if prop.type == "STRING":
        return chance.choice(["", *pair()[0].pose.bones.keys(), *NAMES])
    if prop.type == "INT":
        return max(prop.hard_min, min(prop.hard_max, chance.choice((0, 1, 2, 3, 5, 20, 100))))
    numbers = (0.0, 0.5, 1.0, 0.1, chance.uniform(-1.5, 1.5), chance.uniform(0, 1), -1e-7, 1e5)
    if prop.is_array:
        return [chance.choice(numbers) for _ in range(prop.array_length)]
    return max(prop.hard_min, min(prop.hard_max, chance.choice(numbers)))


def set_value(group: bpy.types.PropertyGroup, path: str, value: Any) -> None:
    owner, _, name = path.rpartition(".")
    setattr(group.path_resolve(owner) if owner else group, name, value)


def change(chance: Chance) -> str:
    """Change a setting of a constraint."""
    found = items()
    if not found:
        return ""
    rig, i = chance.choice(found)
    item = rig.fabrik.constraints[i]
    path, prop = chance.choice(list(settings_of(item)))
    value = any_value(chance, prop)
    set_value(item, path, value)
    return f"{rig.name}[{i}].{path} = {value!r}"


def limit(chance: Chance) -> str:
    """Change what a joint allows."""
    rig = pair()[0]
    bone = any_bone(chance, rig)
    joint = rig.pose.bones[bone].fabrik_joint
    path, prop = chance.choice(
        [("limit_type", joint.bl_rna.properties["limit_type"])] * 4 + [*settings_of(joint)]
    )
    value = any_value(chance, prop)
    set_value(joint, path, value)
    return f"{bone}.{path} = {value!r}"


def animate(chance: Chance) -> str:
    """Key a setting, or add or remove a driver of it."""
    rig = pair()[0]
    if not rig.fabrik.constraints:
        return ""
    i = chance.randrange(len(rig.fabrik.constraints))
    name = chance.choice(("influence", "enabled", "weight", "pole_angle", "softness", "chain_bias"))
    path = f"fabrik.constraints[{i}].{name}"
    if chance.random() < 0.3:
        if rig.animation_data and rig.animation_data.drivers.find(path):
            rig.driver_remove(path)
            # Otherwise 4.2 mixes up the others, and 5.2 evaluates the animation of the rig alone.
            for ob in pair():
                ob.update_tag(refresh={"OBJECT", "TIME"})
            return f"drive {path} no more"
        driver = rig.driver_add(path).driver
        driver.type = "SUM"
        variable = driver.variables.new()
        variable.type = "TRANSFORMS"
        variable.targets[0].id = chance.choice(targets())
        return f"drive {path}"
    has_strips = [bool(ob.animation_data and ob.animation_data.nla_tracks) for ob in pair()]
    if any(has_strips):
        return ""  # The lengths of strips would differ from those of the twin.
    for frame in (1, 9):
        value = any_value(chance, rig.fabrik.constraints[i].bl_rna.properties[name])
        setattr(rig.fabrik.constraints[i], name, value)
        insert(rig, path, frame)
        pair()[1]["influence"] = 1.0
        insert(pair()[1], '["influence"]', frame)
    return f"key {path}"


def walk(chance: Chance) -> str:
    """Make constraints the legs of a walk, or remove the walk."""
    rig = pair()[0]
    gaits = rig.fabrik.gaits
    if len(gaits) and chance.random() < 0.5:
        gaits.remove(0)
        rig.update_tag()
        return "stop"
    gait = gaits[0] if len(gaits) else gaits.add()
    gait.body = chance.choice(["", *rig.pose.bones.keys()])
    for item in rig.fabrik.constraints:
        gait.legs.add().constraint = item.name
    path, prop = chance.choice(list(settings_of(gait)))
    value = any_value(chance, prop)
    set_value(gait, path, value)
    return f"gait.{path} = {value!r}"


# Targets


def can_carry(carrier: bpy.types.Object, ob: bpy.types.Object) -> bool:
    while carrier is not None and carrier != ob:
        carrier = carrier.parent
    return carrier is None


def move_target(chance: Chance) -> str:
    ob = chance.choice(targets())
    kind = chance.choice(("location", "location", "rotation_euler", "scale"))
    value = chance.choice(SCALES) if kind == "scale" else any_place(chance)
    setattr(ob, kind, value)
    return f"{ob.name}.{kind} = {value}"


def key_target(chance: Chance) -> str:
    ob = chance.choice(targets())
    for frame in (1, 6, 12):
        ob.location = any_place(chance)
        ob.keyframe_insert("location", frame=frame)
    return ob.name


def parent_target(chance: Chance) -> str:
    ob = chance.choice(targets())
    carrier = chance.choice([None, *(one for one in persistent_objects() if can_carry(one, ob))])
    ob.parent, ob.parent_type = carrier, "OBJECT"
    if carrier is None:
        return f"{ob.name} from nothing"
    if carrier.type == "ARMATURE" and chance.random() < 0.7:
        ob.parent_type, ob.parent_bone = "BONE", any_bone(chance, carrier)
    if chance.random() < 0.4:
        ob.matrix_parent_inverse = Matrix.Translation(any_place(chance))
    return f"{ob.name} to {carrier.name} {ob.parent_bone}"


def hide(chance: Chance) -> str:
    """Toggle the visibility of an object, or unlink or link it; also for the pair."""
    ob = chance.choice([*targets(), pair()[0]])
    objects = pair() if ob.type == "ARMATURE" else [ob]
    kind = chance.choice(("hide_viewport", "hide_render", "eye", "link"))
    collection = bpy.context.scene.collection.objects
    for one in objects:
        if kind == "link" and one.type != "ARMATURE":
            (collection.unlink if one.name in collection else collection.link)(one)
        elif kind == "eye" and one.name in bpy.context.view_layer.objects:
            one.hide_set(not one.hide_get())
        elif kind.startswith("hide"):
            setattr(one, kind, not getattr(one, kind))
    return f"{kind} {ob.name}"


def rename_target(chance: Chance) -> str:
    ob = chance.choice(loose_targets())
    ob["loose"], ob.name = True, chance.choice((*NAMES, *LOOSE))
    return ob.name


def delete_target(chance: Chance) -> str:
    """Delete a target by script or operator, and add another one."""
    ob = chance.choice(loose_targets())
    name = ob.name
    if chance.random() < 0.5 or ob.name not in bpy.context.view_layer.objects:
        bpy.data.objects.remove(ob)
    else:
        show(ob)
        activate(ob)
        bpy.ops.object.delete()
    make_empty(chance.choice(LOOSE), any_place(chance))["loose"] = True
    return name


# Bones and objects, of both


def change_bones(chance: Chance) -> str:
    """Change the inheritance and locks of a bone, or a constraint of Blender's."""
    name = any_bone(chance, pair()[0])
    kind = chance.choice(
        (
            "inherit_scale",
            "use_inherit_rotation",
            "use_local_location",
            "lock",
            "native",
            "pose_position",
        )
    )
    scale = chance.choice(("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY"))
    native = chance.choice(("LIMIT_ROTATION", "COPY_ROTATION", "DAMPED_TRACK", "COPY_LOCATION"))
    for ob in pair():
        bone, rest = ob.pose.bones[name], ob.data.bones[name]
        if kind == "inherit_scale":
            rest.inherit_scale = scale
        elif kind == "lock":
            bone.lock_rotation[0] = not bone.lock_rotation[0]
            bone.lock_ik_x = not bone.lock_ik_x
        elif kind == "native" and bone.constraints:
            bone.constraints.remove(bone.constraints[0])
        elif kind == "native":
            constraint = bone.constraints.new(native)
            if hasattr(constraint, "target"):
                constraint.target = bpy.data.objects["Carrier"]
            else:
                constraint.use_limit_x, constraint.max_x = True, 0.5
        elif kind == "pose_position":
            ob.data.pose_position = "REST" if ob.data.pose_position == "POSE" else "POSE"
        else:
            setattr(rest, kind, not getattr(rest, kind))
    return f"{kind} of {name} ({scale}, {native})"


def edit_bones(chance: Chance) -> str:
    """Change the bones in Edit Mode."""
    show(*pair())
    names = pair()[0].data.bones.keys()
    name, other = chance.choice(names), chance.choice(names)
    kind = chance.choice(("add", "delete", "rename", *CHANGES))
    if (kind == "delete" and len(names) < 3) or (kind == "add" and len(names) > 8):
        return ""
    new, by = chance.choice((*NAMES, "Z1", "Z2")), Vector(any_place(chance)) * 0.1
    for ob in pair():
        with mode(ob, "EDIT"):
            bones = ob.data.edit_bones
            if kind == "add":
                bone = bones.new(new)
                bone.head, bone.parent = bones[other].tail, bones[other]
                bone.tail = bone.head + by + Vector((0, 0, 1))
            elif kind == "delete":
                bones.remove(bones[name])
            elif kind == "rename":
                bones[name].name = new
            else:
                CHANGES[kind](bones[name], bones[other], by)
    return f"{kind} {name} {other} {new!r}"


def _move_head(bone: bpy.types.EditBone, _other: bpy.types.EditBone, by: Vector) -> None:
    bone.use_connect = False
    bone.head += by


def _move_tail(bone: bpy.types.EditBone, _other: bpy.types.EditBone, by: Vector) -> None:
    bone.tail += by


def _roll(bone: bpy.types.EditBone, _other: bpy.types.EditBone, by: Vector) -> None:
    bone.roll += 10 * by.x


def _connect(bone: bpy.types.EditBone, _other: bpy.types.EditBone, _by: Vector) -> None:
    if bone.parent:
        bone.use_connect = not bone.use_connect


def _parent(bone: bpy.types.EditBone, other: bpy.types.EditBone, _by: Vector) -> None:
    if other != bone and other not in bone.children_recursive:
        bone.use_connect, bone.parent = False, other


CHANGES: dict[str, Callable[[bpy.types.EditBone, bpy.types.EditBone, Vector], None]] = {
    "head": _move_head,
    "tail": _move_tail,
    "roll": _roll,
    "connect": _connect,
    "parent": _parent,
}


def place_rig(chance: Chance) -> str:
    kind = chance.choice(("location", "rotation_euler", "scale", "parent"))
    value = chance.choice(SCALES) if kind == "scale" else any_place(chance)
    pre_pass = [ob for ob in targets() if all(can_carry(ob, one) for one in pair())]
    carrier = chance.choice([None, *pre_pass])
    for ob in pair():
        setattr(ob, kind, carrier if kind == "parent" else value)
    return f"{kind} {carrier and carrier.name} {value}"


# Armatures, scenes and files


def may_copy() -> bool:
    """Return whether an armature may be copied.

    With a second view layer, plain Blender frees the cache of a keyed bone twice after undo and
    redo of the copy, see docs/blender-facts.md.
    """
    return len(bpy.context.scene.view_layers) < 2


def duplicate(chance: Chance) -> str:
    """Duplicate the rig, with or without its armature data, or delete a copy."""
    found = extras()
    if not may_copy():
        return "nothing"
    if len(found) > 2:
        bpy.data.objects.remove(chance.choice(found))
        return "delete one"
    new = pair()[0].copy()
    new.name = EXTRA
    if chance.random() < 0.5:
        new.data = new.data.copy()
    bpy.context.scene.collection.objects.link(new)
    new.location.x += 2
    return f"{new.name} with data {new.data.name}"


def bring(chance: Chance, folder: Path) -> str:
    """Link, override or append an armature from another file."""
    if len(extras()) > 2 or not may_copy():
        return ""
    kind, sent = chance.choice(("link", "override", "append")), pair()[0].copy()
    sent.name, sent.data = f"{EXTRA} {kind}", sent.data.copy()
    path = folder / f"sent {len(list(folder.iterdir()))}.blend"
    bpy.data.libraries.write(str(path), {sent})
    name, data = sent.name, sent.data
    bpy.data.objects.remove(sent)
    bpy.data.armatures.remove(data)
    with bpy.data.libraries.load(str(path), link=kind != "append") as (_, wanted):
        wanted.objects = [name]
    [ob] = wanted.objects
    bpy.context.scene.collection.objects.link(ob)
    if kind == "override":
        own = ob.override_create(remap_local_usages=True)
        if own is not None and own.name not in bpy.context.scene.collection.objects:
            bpy.context.scene.collection.objects.link(own)
    return f"{kind} {ob.name}"


def instance(chance: Chance) -> str:
    """Add, move or remove an instance of the pair's collection, or change the collection."""
    collection = bpy.data.collections.get(INSTANCED)
    if collection is None:
        collection = bpy.data.collections.new(INSTANCED)
        collection.use_fake_user = True
        for ob in pair():
            collection.objects.link(ob)
    found = [ob for ob in bpy.data.objects if ob.instance_collection == collection]
    kind = chance.choice(("add", "inside", "move", "remove")) if found else "add"
    if kind == "add":
        if len(found) > 1:
            return "no more"
        empty = make_empty("Instance", any_place(chance))
        empty.instance_type, empty.instance_collection = "COLLECTION", collection
    elif kind == "inside":
        others = [ob for ob in collection.objects if ob not in pair()]
        if others:
            bpy.data.objects.remove(others[0])
        elif may_copy():
            new = pair()[0].copy()
            new.name = "Inside"
            collection.objects.link(new)
    elif kind == "move":
        chance.choice(found).location = any_place(chance)
    else:
        bpy.data.objects.remove(chance.choice(found))
    return kind


def join(chance: Chance) -> str:
    """Join a guest with constraints and pins into the rig, and one without into the twin."""
    if len(pair()[0].pose.bones) > 9 or not may_copy():
        return ""
    show(*pair())
    place, key = any_place(chance), chance.choice((0, 0, 1, 5))
    # Blender plays the keys of a guest on bones of the same names before it renames these.
    bones = (f"G{len(pair()[0].pose.bones)}", "G") if key else ("B0", "B1")
    ends = ((0, 0, 0), (0, 0.2, 1), ""), ((0, 0.2, 1), (0, 0, 2), bones[0])
    guests = [make_armature(dict(zip(bones, ends, strict=True)), GUEST) for _ in PAIR]
    for guest in guests:
        guest.location = place
        if key:
            guest.pose.bones[bones[0]].rotation_quaternion = (0.9, 0.3, 0.2, 0.1)
            guest.pose.bones[bones[0]].keyframe_insert("rotation_quaternion", frame=key)
    guest = guests[0]
    for _ in range(chance.randrange(3)):
        item = guest.fabrik.constraints.add()
        item.name, item.bone, item.target = "IK", chance.choice(bones), chance.choice(targets())
        item.solver, item.use_stretch = chance.choice(SOLVERS), chance.random() < 0.3
    if chance.random() < 0.5:
        activate(guest)
        call(bpy.ops.fabrik.pin, bone=chance.choice(bones), frames=chance.choice(PINNED))
    data, twin = pair()[0].animation_data, pair()[1]
    drivers = data.drivers if data else ()
    if any(curve.data_path != dependency_driver.PATH for curve in drivers):
        twin.animation_data_create()  # Blender gives a guest's action only to one without data.
        update(twin)
    if chance.random() < 0.8:
        update()  # Else Blender has not evaluated it.
    said = []
    for ob, guest in zip(pair(), guests, strict=True):
        activate(ob)
        guest.select_set(True)
        said.append(call(bpy.ops.object.join))
    if any(ob.animation_data and ob.animation_data.action for ob in pair()):
        # Keys of a deleted bone play on a guest's of its name, as soon as one of both is played.
        go(bpy.context.scene.frame_current_final)
    return f"{place} {key} {said} {pair()[0].pose.bones.keys()}"


def pin(chance: Chance) -> str:
    """Pin a bone of the rig, or free it."""
    rig = pair()[0]
    show(rig)
    activate(rig)
    options = {"bone": any_bone(chance, rig), "kind": chance.choice(("LOCATION", "BOTH", "NONE"))}
    if chance.random() < 0.7:
        options["frames"] = chance.choice(PINNED)
    return f"{options} {call(bpy.ops.fabrik.pin, **options)}"


def simulate(chance: Chance) -> str:
    rig = pair()[0]
    show(rig)
    activate(rig)
    return call(bpy.ops.fabrik.simulate)


def change_scene(chance: Chance) -> str:
    window = bpy.context.window
    if chance.random() < 0.5:
        window.scene = chance.choice(list(bpy.data.scenes))
    window.view_layer = chance.choice(list(window.scene.view_layers))
    update()  # Blender calls no handlers in the first update of a view layer …
    for ob in bpy.context.view_layer.objects:
        ob.update_tag()  # … so the tag makes the next one solve the chains.
    return f"{window.scene.name}, {window.view_layer.name}"


# The extension's own tools


OWN_PRESETS = {"constraint_preset_add", "joint_preset_add", "gait_preset_add"}
"""These write to the user's folder; `test_presets` tests them in a folder of its own."""


def any_options(chance: Chance, operator: Any) -> dict[str, Any]:
    """Return random values for some of an operator's options."""
    options: dict[str, Any] = {}
    for prop in operator.get_rna_type().properties:
        if prop.identifier == "rna_type" or prop.is_readonly or chance.random() < 0.5:
            continue
        if prop.identifier == "filepath":
            options["filepath"] = str(chance.choice(sorted(PRESETS.glob("*/*.py"))))
        elif prop.type == "ENUM":
            found = [item.identifier for item in prop.enum_items]
            if found:
                value = chance.choice(found)
                options[prop.identifier] = {value} if prop.is_enum_flag else value
        elif prop.type == "INT":
            number = chance.choice((0, 1, 2, 3, 8))
            options[prop.identifier] = max(prop.hard_min, min(prop.hard_max, number))
        elif prop.type in {"BOOLEAN", "FLOAT", "STRING"}:
            options[prop.identifier] = any_value(chance, prop)
    return options


def operate(chance: Chance) -> str:
    """Call a random operator of the extension in a random mode, and make the twin match again."""
    names = sorted(set(dir(bpy.ops.fabrik)) - OWN_PRESETS)
    name = chance.choice(names)
    operator = getattr(bpy.ops.fabrik, name)
    rig = pair()[0]
    show(rig)
    with mode(rig, chance.choice(("POSE", "POSE", "POSE", "OBJECT", "EDIT"))):
        if rig.mode != "EDIT":
            select_bones(rig, *[bone.name for bone in rig.pose.bones if chance.random() < 0.4])
            rig.data.bones.active = chance.choice([None, *rig.data.bones])
        count = len(rig.fabrik.constraints)
        rig.fabrik.active_index = chance.randrange(count) if count else 0
        options = any_options(chance, operator)
        said = call(operator, **options)
    renew_twin()
    go(bpy.context.scene.frame_current_final)  # New objects are already animated, the rig is not.
    return f"{name} {options} {said}"


def call(operator: Callable[..., Any], **options: Any) -> str:
    """Call an operator that may refuse, but must not fail."""
    try:
        return str(operator(**options))
    except RuntimeError as error:
        if "Traceback" in str(error):
            raise
        return str(error).strip()[:100]


class Drawn(Step):
    """A step of `edits` with a given random number generator."""

    def __init__(self, chance: Chance, folder: Path) -> None:
        self.random = chance
        self.folder = folder
