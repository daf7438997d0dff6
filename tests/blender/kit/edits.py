"""Random user edits, applied to a rig and to its twin without constraints."""

import random
from array import array
from contextlib import contextmanager, suppress
from functools import partial
from math import isclose, isfinite

import bpy
import rigs
from inside import start
from operating import select_bones
from rendering import witnessed

from addon.blender import errors as faults

FRAMES = 30
"""The last frame with keys."""

CHANNELS = {
    "rotation_quaternion": 4,
    "rotation_euler": 3,
    "rotation_axis_angle": 4,
    "location": 3,
    "scale": 3,
}

MODES = ("QUATERNION", "AXIS_ANGLE", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")

PAIR = ("Rig", "Twin")

TARGETS = ("Left", "Right")

NEAR = 1e-4
"""The largest error of a tip whose state is REACHED, for chains of length 1."""


def simple(name):
    """Make a chain of three bones."""
    return rigs.make_chain(3, name)


def constrain_simple(rig, left, right):
    rigs.add_constraint(rig, "B2", left)


def long(name):
    """Make a chain of five bones with several rotation modes."""
    rig = rigs.make_chain(5, name)
    for bone, mode in zip(rig.pose.bones, ("XYZ", "QUATERNION", "AXIS_ANGLE", "ZXY"), strict=False):
        bone.rotation_mode = mode
    return rig


def constrain_long(rig, left, right):
    rigs.add_constraint(rig, "B4", left, pole_target=right, chain_count=4)


def torso(name):
    """Make two arms that share a spine."""
    bones = {"Hips": ((0, 0, 1), (0, 0, 1.2), ""), "Spine": ((0, 0, 1.2), (0, 0.1, 1.7), "Hips")}
    for side, x in (("L", 0.3), ("R", -0.3)):
        bones[f"Upper.{side}"] = ((x, 0, 1.6), (2 * x, 0.1, 1.5), "Spine")
        bones[f"Lower.{side}"] = ((2 * x, 0.1, 1.5), (3 * x, 0, 1.4), f"Upper.{side}")
    return rigs.make_armature(bones, name)


def constrain_torso(rig, left, right):
    rigs.add_constraint(rig, "Lower.L", left)
    rigs.add_constraint(rig, "Lower.R", right)


def constrain_free_torso(rig, left, right):
    rigs.add_constraint(rig, "Lower.L", left, use_free_root=True, use_stretch=True)
    rigs.add_constraint(rig, "Lower.R", right, use_free_root=True, root_weight=0.5)


def constrain_arms(rig, left, right):
    """Let the second arm reach for the hand of the first."""
    rigs.add_constraint(rig, "Lower.R", rig, subtarget="Lower.L", chain_count=2)
    rigs.add_constraint(rig, "Lower.L", left, chain_count=2, solver="TWO_BONE")


KINDS = {
    "simple": (simple, constrain_simple),
    "long": (long, constrain_long),
    "body": (torso, constrain_torso),
    "free body": (torso, constrain_free_torso),
    "arms": (torso, constrain_arms),
}


def build(kind, number):
    """Make the rig, its twin, the targets, and an object to use as parent."""
    make, constrain = KINDS[kind]
    rig, _ = (make(name) for name in PAIR)
    left, right = (
        rigs.make_empty(name, (x, 0.3, 1.5)) for name, x in zip(TARGETS, (1, -1), strict=True)
    )
    rigs.make_empty("Carrier", (0, 0, 0))
    constrain(rig, left, right)
    if number % 2:  # Otherwise the rig can be solved ahead at first.
        for ob in pair():
            for bone in ob.pose.bones:
                bone.keyframe_insert("rotation_quaternion", frame=1)
    rigs.update()
    push("start")


def pair():
    return [bpy.data.objects[name] for name in PAIR]


@contextmanager
def view():
    """Override the context, as if the pointer were over a 3D Viewport."""
    window = bpy.context.window_manager.windows[0]
    area = max(window.screen.areas, key=lambda area: area.width * area.height)
    area.type = "VIEW_3D"
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        yield


@contextmanager
def pose_mode(armature):
    rigs.activate(armature, "POSE")
    try:
        yield
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")


class Step:
    """A step of a random walk, with its own random numbers."""

    def __init__(self, walk, number, folder):
        self.random = random.Random(f"{walk}/{number}")
        self.folder = folder
        names = list(STEPS_BY_NAME)
        weights = [weight for weight, _ in STEPS_BY_NAME.values()]
        self.name = self.random.choices(names, weights)[0]

    def take(self):
        """Apply the step, and return whether Blender has evaluated it."""
        return STEPS_BY_NAME[self.name][1](self) is not False

    def bones(self, most=3):
        names = pair()[0].pose.bones.keys()
        return self.random.sample(names, min(len(names), self.random.randint(1, most)))

    def channel(self, bone):
        """Return a channel, mostly that of the rotation mode."""
        mode = pair()[0].pose.bones[bone].rotation_mode
        counts = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}.get(
            mode, "rotation_euler"
        )
        return self.random.choice([counts] * 6 + list(CHANNELS))

    def numbers(self, channel):
        low, high = (0.5, 1.5) if channel == "scale" else (-1, 1)
        spread = 0.2 if channel == "location" else 1
        numbers = [self.random.uniform(low, high) * spread for _ in range(CHANNELS[channel])]
        return [round(number, 1) for number in numbers] if self.random.random() < 0.3 else numbers

    def frame(self):
        frame = self.random.randint(-2, FRAMES + 5)
        return frame + self.random.choice((0, 0, 0, 0.5, 0.25))

    def maybe_update(self):
        """Update, except for some edits, so that several are evaluated together."""
        if self.random.random() < 0.2:
            return False
        rigs.update()
        return True

    def curve(self):
        """Return the data path and index of an F-curve that both have; None without one."""
        found = [[(c.data_path, c.array_index) for c in rigs.curves(ob)] for ob in pair()]
        common = [place for place in found[1] if place in found[0]]
        return self.random.choice(common) if common else None


def curve_at(ob, place):
    return next(c for c in rigs.curves(ob) if (c.data_path, c.array_index) == place)


def pose_bones(step):
    for name in step.bones():
        channel = step.channel(name)
        numbers = step.numbers(channel)
        if channel == "rotation_quaternion" and step.random.random() < 0.5:
            length = sum(x * x for x in numbers) ** 0.5 or 1.0
            numbers = [x / length for x in numbers]
        index = step.random.randrange(len(numbers)) if step.random.random() < 0.3 else None
        for ob in pair():
            if index is None:
                setattr(ob.pose.bones[name], channel, numbers)
            else:
                getattr(ob.pose.bones[name], channel)[index] = numbers[index]
    return step.maybe_update()


def pose_in_bulk(step):
    channel = step.random.choice(list(CHANNELS))
    count = len(pair()[0].pose.bones)
    numbers = [x for _ in range(count) for x in step.numbers(channel)]
    for ob in pair():
        ob.pose.bones.foreach_set(channel, numbers)
        ob.update_tag()
    return step.maybe_update()


def pose_as_shown(step):
    """Make the displayed pose the FK pose."""
    rigs.update()
    shown = rigs.evaluated(pair()[0]).pose.bones
    names = step.bones(7)
    values = {
        name: {channel: tuple(getattr(shown[name], channel)) for channel in CHANNELS}
        for name in names
    }
    for ob in pair():
        for name in names:
            for channel, numbers in values[name].items():
                setattr(ob.pose.bones[name], channel, numbers)
    return step.maybe_update()


def pose_by_matrix(step):
    rigs.update()  # A bone may have been renamed.
    name = step.bones(1)[0]
    matrix = rigs.evaluated(pair()[0]).pose.bones[name].matrix_basis.copy()
    for ob in pair():
        ob.pose.bones[name].matrix_basis = matrix
    return step.maybe_update()


def key_bones(step):
    frame = bpy.context.scene.frame_current if step.random.random() < 0.7 else step.frame()
    for name in step.bones(7 if step.random.random() < 0.2 else 2):
        channel = step.channel(name)
        index = step.random.choice((-1, -1, step.random.randrange(3)))
        for ob in pair():
            insert(ob, path_to(name, channel), frame, index)
    return step.maybe_update()


def path_to(bone, channel):
    return f'pose.bones["{bpy.utils.escape_identifier(bone)}"].{channel}'


def insert(ob, path, frame, index=-1):
    has_action = ob.animation_data is not None and ob.animation_data.action is not None
    ob.keyframe_insert(path, index=index, frame=frame)
    if not has_action:  # Otherwise Blender may ignore the new action above NLA strips.
        ob.update_tag(refresh={"OBJECT", "DATA", "TIME"})


def key_by_operator(step):
    names = step.bones(7)
    kind = step.random.choice(
        ("Location", "Rotation", "LocRotScale", "Available", "WholeCharacterSelected")
    )
    for ob in pair():
        with pose_mode(ob), view(), suppress(RuntimeError):  # It fails if there are no keys.
            select_bones(ob, *names)
            bpy.ops.anim.keyframe_insert_by_name(type=kind)
    for ob in pair():
        ob.update_tag(refresh={"OBJECT", "DATA", "TIME"})
    rigs.update()


def pose_by_operator(step):
    names, draw = step.bones(7), step.random.random
    settings = {"prev_frame": 1, "next_frame": 20, "factor": round(draw(), 2)}
    operators = [
        partial(bpy.ops.pose.breakdown, **settings),
        partial(bpy.ops.pose.push, **settings),
        partial(bpy.ops.pose.relax, **settings),
        partial(bpy.ops.pose.blend_to_neighbor, **settings),
        partial(bpy.ops.pose.blend_with_rest, **settings),
        bpy.ops.pose.quaternions_flip,
        bpy.ops.pose.transforms_clear,
        bpy.ops.pose.rot_clear,
        bpy.ops.pose.loc_clear,
        bpy.ops.pose.user_transforms_clear,
        partial(bpy.ops.pose.propagate, mode="NEXT_KEY"),
    ]
    operator = step.random.choice(operators)
    for ob in pair():
        with pose_mode(ob), view(), suppress(RuntimeError):  # Some fail without keys.
            select_bones(ob, *names)
            operator()


def paste_pose(step):
    names, frame, is_flipped = step.bones(7), step.frame(), step.random.random() < 0.3
    start = bpy.context.scene.frame_current_final
    for ob in pair():
        rigs.go(start)
        with pose_mode(ob), view():
            select_bones(ob, *ob.pose.bones.keys())
            bpy.ops.pose.copy()
            rigs.go(frame)
            select_bones(ob, *names)
            bpy.ops.pose.paste(flipped=is_flipped, selected_mask=True)
    rigs.go(frame)


def delete_keys(step):
    names = step.bones()
    frame = bpy.context.scene.frame_current if step.random.random() < 0.5 else step.frame()
    channels = [step.channel(name) for name in names]
    for ob in pair():
        for name, channel in zip(names, channels, strict=True):
            path = f'pose.bones["{name}"].{channel}'
            if any(curve.data_path == path for curve in rigs.curves(ob)):
                ob.keyframe_delete(path, frame=frame)
    return step.maybe_update()


def remove_curve(step):
    place = step.curve()
    if place is None:
        return False
    for ob in pair():
        curve = curve_at(ob, place)
        for owner in owners(ob):
            if any(one == curve for one in owner):
                owner.remove(curve)
                break
    return step.maybe_update()


def owners(ob):
    """Return the F-curve collections of an object."""
    data = ob.animation_data
    if not hasattr(data.action, "layers"):
        return [data.action.fcurves]
    bags = [strip.channelbag(data.action_slot) for strip in data.action.layers[0].strips]
    return [bag.fcurves for bag in bags if bag]


def edit_curve(step):
    place = step.curve()
    if place is None:
        return False
    key, value = step.random.random(), step.random.uniform(-1, 1)
    for ob in pair():
        curve = curve_at(ob, place)
        if not curve.keyframe_points:
            continue
        point = curve.keyframe_points[int(key * len(curve.keyframe_points))]
        point.co.y = value
        curve.update()
    return step.maybe_update()


def mute_curve(step):
    place = step.curve()
    if place is None:
        return False
    for ob in pair():
        curve = curve_at(ob, place)
        curve.mute = not curve.mute
    return step.maybe_update()


def move_target(step):
    target = bpy.data.objects[step.random.choice(TARGETS)]
    target.location = [step.random.uniform(-1.5, 1.5) for _ in range(3)]
    target.location.z += 1
    return step.maybe_update()


def key_target(step):
    target = bpy.data.objects[step.random.choice(TARGETS)]
    rigs.key(target, "location", {step.frame(): [step.random.uniform(-1.5, 1.5) for _ in range(3)]})
    return step.maybe_update()


def change_frame(step):
    rigs.go(step.frame())


def stay_at_frame(step):
    rigs.go(bpy.context.scene.frame_current_final)


def step_frame(step):
    rigs.go(bpy.context.scene.frame_current + step.random.choice((-1, 1)))


def assign_frame(step):
    bpy.context.scene.frame_current = int(step.frame())
    return step.maybe_update()


def change_constraint(step):
    items = pair()[0].fabrik.constraints
    if not items:
        return False
    item = step.random.choice(list(items))
    name = step.random.choice(("influence", "enabled", "chain_count", "solver"))
    values = {
        "influence": (0.0, 0.5, 1.0, 1.0, 1.0),
        "enabled": (False, True, True),
        "chain_count": (0, 1, 2, 3),
        "solver": ("FABRIK", "CCD"),
    }
    setattr(item, name, step.random.choice(values[name]))
    return step.maybe_update()


def key_influence(step):
    rig, twin = pair()
    if not rig.fabrik.constraints:
        return False
    item, frame = rig.fabrik.constraints[0], step.frame()
    item.influence = step.random.choice((0.0, 0.3, 1.0))
    insert(rig, "fabrik.constraints[0].influence", frame)
    twin["influence"] = 1.0  # Otherwise the lengths of strips would differ.
    insert(twin, '["influence"]', frame)
    return step.maybe_update()


def change_list(step):
    rig = pair()[0]
    items = rig.fabrik.constraints
    if items and step.random.random() < 0.5:
        items.remove(step.random.randrange(len(items)))
    elif len(items) < 3:
        target = bpy.data.objects[step.random.choice(TARGETS)]
        rigs.add_constraint(rig, step.bones(1)[0], target, chain_count=step.random.randint(0, 3))
    rig.update_tag()
    return step.maybe_update()


def change_mode(step):
    mode = step.random.choice(MODES)
    for name in step.bones(2):
        for ob in pair():
            ob.pose.bones[name].rotation_mode = mode
    return step.maybe_update()


def change_selection(step):
    names = step.bones(7)
    for ob in pair():
        select_bones(ob, *names)
    return step.maybe_update()


def tag(step):
    refresh = step.random.choice((set(), {"OBJECT"}, {"DATA"}, {"TIME"}, {"OBJECT", "DATA"}))
    on_data = step.random.random() < 0.2
    for ob in pair():
        if on_data:
            ob.data.update_tag()
        else:
            ob.update_tag(refresh=refresh)
    return step.maybe_update()


def add_or_remove_object(step):
    others = [ob for ob in bpy.data.objects if ob.name.startswith("Other")]
    if others and step.random.random() < 0.5:
        bpy.data.objects.remove(others[0])
    else:
        other = rigs.make_empty("Other")
        if step.random.random() < 0.5:
            other.parent, other.parent_type = pair()[0], "BONE"
            other.parent_bone = step.bones(1)[0]
    return step.maybe_update()


def parent(step):
    carrier = bpy.data.objects["Carrier"]
    carrier.location = [step.random.uniform(-0.3, 0.3) for _ in range(3)]
    children = step.random.choice((pair(), [bpy.data.objects[step.random.choice(TARGETS)]]))
    for ob in children:
        ob.parent = None if ob.parent else carrier
    return step.maybe_update()


def push(message):
    """Push an undo step in which both rigs differ from the step before.

    Undo only reads the data-blocks that differ between two steps, and leaves the others as they
    are, even if animation has changed them meanwhile. Without a difference, the rig, which is
    tagged and has status properties, and its twin would sometimes be treated differently.
    """
    for ob in pair():
        ob["pushed"] = ob.get("pushed", 0) + 1
    bpy.ops.ed.undo_push(message=message)


def undo_push(step):
    push("step")
    return False


def undo(step):
    """Undo and redo some steps, after pushing one, as Blender cannot undo changes before a push.

    View layers that no window shows are removed first, since undo does not update them.
    """
    layers = bpy.context.scene.view_layers
    while len(layers) > 1:
        layers.remove(layers[-1])
    push("before undo")
    steps = [bpy.ops.ed.undo] * step.random.randint(1, 3)
    steps += [bpy.ops.ed.redo] * step.random.randint(0, 3)
    for operator in steps:
        if operator.poll():
            operator()
        if step.random.random() < 0.3:
            rigs.update()
    return step.maybe_update()


def push_down(step):
    for ob in pair():
        data = ob.animation_data
        if data is None or data.action is None or len(data.nla_tracks) > 1:
            return False
    start = step.random.randint(1, 10)
    blend = step.random.choice(("REPLACE", "REPLACE", "COMBINE", "ADD"))
    for ob in pair():
        strip = rigs.as_strip(ob, start=start)
        strip.blend_type = blend
    return step.maybe_update()


def change_tracks(step):
    for ob in pair():
        if ob.animation_data is None or not ob.animation_data.nla_tracks:
            return False
    kind = step.random.choice(("mute", "remove", "use_nla"))
    for ob in pair():
        data = ob.animation_data
        if kind == "mute":
            data.nla_tracks[0].mute = not data.nla_tracks[0].mute
        elif kind == "remove":
            data.nla_tracks.remove(data.nla_tracks[0])
        else:
            data.use_nla = not data.use_nla
    return step.maybe_update()


def change_action(step):
    """Unassign the action, with a fake user, or assign it again."""
    for ob in pair():
        data = ob.animation_data or ob.animation_data_create()
        if data.action:
            data.action.use_fake_user = True
            ob["action"] = data.action.name
            data.action = None
        elif ob.get("action", "") in bpy.data.actions:
            data.action = bpy.data.actions[ob["action"]]
            if hasattr(data, "action_slot"):
                data.action_slot = data.action.slots[0]
    return step.maybe_update()


def drive(step):
    """Add or remove a driver of a channel."""
    name = step.bones(1)[0]
    channel = step.channel(name)
    path, index = path_to(name, channel), step.random.randrange(3)
    target = bpy.data.objects[step.random.choice(TARGETS)]
    for ob in pair():
        found = ob.animation_data and ob.animation_data.drivers.find(path, index=index)
        if found:
            ob.driver_remove(path, index)
            ob.update_tag(refresh={"OBJECT"})  # Otherwise 4.2 mixes up the remaining drivers.
            continue
        rigs.drive(ob.driver_add(path, index), target, "location.x")
    return step.maybe_update()


def render(step):
    scene = bpy.context.scene
    frame = scene.frame_current
    scene.frame_start = step.random.randint(1, 20)
    scene.frame_end = scene.frame_start + 2
    is_whole = step.random.random() < 0.5
    with witnessed():
        bpy.ops.render.render(animation=is_whole)
    bpy.data.objects.remove(scene.camera)
    assert scene.frame_current == frame
    return False


def save_and_load(step):
    path = str(step.folder / "walk.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)


def edit_bones(step):
    """Move a rest joint, or only enter and leave Edit Mode."""
    name, up = step.bones(1)[0], step.random.choice((0, 0.05))
    for ob in pair():
        rigs.activate(ob, "EDIT")
        ob.data.edit_bones[name].tail.x += up
        bpy.ops.object.mode_set(mode="OBJECT")
    return step.maybe_update()


def rename_bone(step):
    name = step.bones(1)[0]
    if pair()[0].fabrik.constraints.find(name) >= 0:
        return False
    for ob in pair():
        bone = ob.data.bones[name]
        bone.name = name.swapcase()
    return step.maybe_update()


def show_elsewhere(step):
    """Add, update or remove a second view layer."""
    scene = bpy.context.scene
    if len(scene.view_layers) > 1:
        if step.random.random() < 0.5:
            scene.view_layers.remove(scene.view_layers[-1])
        else:
            scene.view_layers[-1].update()
    else:
        scene.view_layers.new("Second").update()
    return step.maybe_update()


def switch_off_and_on(step):
    import addon

    addon.unregister()
    try:
        rigs.update()
        if step.random.random() < 0.5:
            rigs.go(step.frame())
    finally:
        addon.register()
    start()


STEPS_BY_NAME = {
    "pose": (14, pose_bones),
    "pose in bulk": (3, pose_in_bulk),
    "pose as shown": (3, pose_as_shown),
    "pose by matrix": (2, pose_by_matrix),
    "key": (8, key_bones),
    "key by operator": (3, key_by_operator),
    "pose by operator": (3, pose_by_operator),
    "paste pose": (1.5, paste_pose),
    "delete keys": (3, delete_keys),
    "remove curve": (1.5, remove_curve),
    "edit curve": (5, edit_curve),
    "mute curve": (3, mute_curve),
    "move target": (8, move_target),
    "key target": (2, key_target),
    "change frame": (10, change_frame),
    "stay at frame": (2, stay_at_frame),
    "step frame": (4, step_frame),
    "assign frame": (3, assign_frame),
    "change constraint": (4, change_constraint),
    "key influence": (0.7, key_influence),
    "change list": (0.7, change_list),
    "change mode": (2, change_mode),
    "select": (2, change_selection),
    "tag": (3, tag),
    "add or remove object": (2, add_or_remove_object),
    "parent": (1, parent),
    "undo push": (5, undo_push),
    "undo": (5, undo),
    "push down": (0.4, push_down),
    "change tracks": (0.5, change_tracks),
    "change action": (0.5, change_action),
    "drive": (0.5, drive),
    "render": (0.6, render),
    "save and load": (0.5, save_and_load),
    "edit bones": (0.6, edit_bones),
    "rename bone": (0.3, rename_bone),
    "show elsewhere": (0.5, show_elsewhere),
    "switch off and on": (0.3, switch_off_and_on),
}
"""The weight and the function of each step, which returns False if nothing was evaluated."""


def look(is_evaluated):
    """Return a description of what is wrong, empty if nothing is."""
    if faults._reported:
        return "a handler has failed"
    rig, twin = pair()
    if [bone.rotation_mode for bone in rig.pose.bones] != [
        bone.rotation_mode for bone in twin.pose.bones
    ]:
        return "the rotation modes differ"
    if rigs.channels_bits(rig) != rigs.channels_bits(twin) and differences(rig, twin):
        return f"the channels differ: {differences(rig, twin)}"
    if not is_evaluated:
        return ""
    return shown_wrong(rig)


def differences(rig, twin):
    """Return the channels that differ, ignoring the sign of zero.

    Blender does not replace a -0 by the 0 of an F-curve.
    """
    return [
        (a.name, channel, tuple(getattr(a, channel)), tuple(getattr(b, channel)))
        for a, b in zip(rig.pose.bones, twin.pose.bones, strict=True)
        for channel in CHANNELS
        if tuple(getattr(a, channel)) != tuple(getattr(b, channel))
    ]


def shown_wrong(rig):
    shown = rigs.evaluated(rig)
    buffer = array("f", [0.0]) * (16 * len(shown.pose.bones))
    shown.pose.bones.foreach_get("matrix", buffer)
    if not all(map(isfinite, buffer)):
        return "what is shown is not finite"
    drivers = rig.animation_data.drivers if rig.animation_data else ()
    if any(curve.data_path.startswith("pose.") for curve in drivers):
        return ""  # Drivers override the solution.
    for item, there in zip(rig.fabrik.constraints, shown.fabrik.constraints, strict=False):
        if item.state != "REACHED" or item.message or there.influence < 1.0:
            continue
        place = rigs.world_location(item.target)
        if item.subtarget and item.target.type == "ARMATURE":
            place = rigs.tip_world(item.target, item.subtarget, use_tail=False)
        error = (end_world(rig, item) - place).length
        size = max(rig.dimensions.length, place.length, 1.0)
        # What is reported has single precision.
        if error > NEAR * size and not isclose(error, item.error, rel_tol=1e-6, abs_tol=1e-5):
            return f"“{item.bone}” is {error} away from its target, but reports {item.error}"
    return ""


def end_world(rig, item):
    """Return the tip of a constraint in world space: the tail of its bone, or a child's head."""
    from addon.blender.skeleton import skeleton_of
    from addon.body.chains import next_joint

    bones = skeleton_of(rig)
    after = -1 if item.use_rotation else next_joint(bones, bones.index[item.bone])
    if after < 0:
        return rigs.tip_world(rig, item.bone)
    return rigs.tip_world(rig, bones.names[after], use_tail=False)


def walk(kind, seed, numbers, folder, note=None):
    """Take steps of a random walk, and return the first failure as number, name and problem.

    Args:
        kind: The kind of rig.
        seed: The seed of the steps.
        numbers: The numbers of the steps.
        folder: The folder in which files are saved.
        note: Called with the number and name of each step before it is taken.
    """
    build(kind, seed)
    for number in numbers:
        step = Step(f"{kind}/{seed}", number, folder)
        if note is not None:
            note(number, step.name)
        wrong = look(step.take())
        if wrong:
            return number, step.name, wrong
    return None
