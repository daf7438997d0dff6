"""What Blender's own tools do to a posed rig they do to its FK pose, as without a constraint.

Each is used on a rig and on a twin without constraints: both have the same channels and F-curves
after it, to the last bit. What cannot run without a window is left out: tools that drag.
"""

from contextlib import ExitStack, contextmanager, suppress
from functools import partial

import bpy
import pytest
import rigs
from inside import PLACES, count, forget
from mathutils import Quaternion, Vector
from rendering import rendered, witnessed
from ways_off import WAYS_OFF

KEYS = (1, 20, 40)
SOLVED = {"REACHED", "OUT_OF_REACH", "LIMITED"}
MODES = ("QUATERNION", "AXIS_ANGLE", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")

JOINT = {"limit_type": "CONE", "swing_x": 0.3, "stiffness": 0.25}

ARMS = {
    "Hips": ((0, 0, 1), (0, 0, 1.2), ""),
    "Spine": ((0, 0, 1.2), (0, 0.1, 1.7), "Hips"),
    "Upper.L": ((0.3, 0, 1.6), (0.6, 0.1, 1.5), "Spine"),
    "Lower.L": ((0.6, 0.1, 1.5), (0.9, 0, 1.4), "Upper.L"),
    "Upper.R": ((-0.3, 0, 1.6), (-0.6, 0.1, 1.5), "Spine"),
    "Lower.R": ((-0.6, 0.1, 1.5), (-0.9, 0, 1.4), "Upper.R"),
}


def posed(armature, shift=0.0):
    """Turn, move and size all bones, each in another way."""
    for i, bone in enumerate(armature.pose.bones):
        a = 0.1 + 0.13 * i + shift
        bone.rotation_quaternion = (1 - a * a, a, -0.2 * a, 0.1)
        bone.rotation_euler = (a, 0.1 - a, 0.3 * a)
        bone.rotation_axis_angle = (a, 1, 0.2, -a)
        bone.location = (0.02 * a, -0.03, 0.01 * i)
        bone.scale = (1, 1 + 0.01 * i, 1)


def chain(name, count, mode):
    armature = rigs.make_chain(count, name, mode=mode)
    posed(armature)
    return armature


def arms(name):
    armature = rigs.make_armature(ARMS, name)
    posed(armature)
    return armature


def one(rig, **settings):
    tip = rig.pose.bones[-1]
    rigs.update()
    target = rigs.evaluated(rig).pose.bones[tip.name].tail
    rigs.add_constraint(
        rig, tip.name, rigs.make_empty("Left", target + Vector((0.05, 0.02, -0.05))), **settings
    )


def both(rig, **settings):
    rigs.add_constraint(rig, "Lower.L", rigs.make_empty("Left", (0.7, 0.2, 1.4)), **settings)
    rigs.add_constraint(rig, "Lower.R", rigs.make_empty("Right", (-0.5, 0.4, 1.6)), **settings)


KINDS = {
    "two bones": (partial(chain, count=2, mode="QUATERNION"), partial(one, solver="TWO_BONE")),
    "four bones, Euler": (partial(chain, count=4, mode="XYZ"), one),
    "three bones, axis angle": (partial(chain, count=3, mode="AXIS_ANGLE"), one),
    "left and right": (arms, partial(both, chain_count=2)),
    "body": (arms, both),
    "free and stretched": (arms, partial(both, use_free_root=True, use_stretch=True)),
}
IN_MODE = {f"three bones, {mode}": (partial(chain, count=3, mode=mode), one) for mode in MODES}
SOME_KINDS = ("two bones", "three bones, axis angle", "free and stretched")
EDITED_KINDS = ("four bones, Euler", "three bones, QUATERNION", *SOME_KINDS[1:])


@pytest.fixture(params=KINDS)
def kind(request, empty_file):
    return request.param


@pytest.fixture(params=(1.0, 0.5), ids=("whole", "half"))
def influence(request):
    return request.param


@pytest.fixture(params=(False, True), ids=("not keyed", "keyed"))
def is_keyed(request):
    return request.param


def make(kind, influence=1.0, is_keyed=False):
    """Make a rig with limits and constraints, and its twin without any constraint."""
    make_one, constrain = {**KINDS, **IN_MODE}[kind]
    rig, twin = (make_one(name=name) for name in ("Rig", "Twin"))
    for bone in rig.pose.bones:
        for name, value in JOINT.items():
            setattr(bone.fabrik_joint, name, value)
        bone.fabrik_joint.swing_z = 0.5 + 0.1 * rig.pose.bones.find(bone.name)
    for ob in (rig, twin) if is_keyed else ():
        for frame, shift in zip(KEYS, (0.0, 0.3, -0.2), strict=True):
            posed(ob, shift)
            key_all(ob, frame)
    constrain(rig)
    for item in rig.fabrik.constraints:
        item.influence = influence
    rigs.go(7 if is_keyed else 1)
    rigs.update()
    assert {item.state for item in rig.fabrik.constraints} <= SOLVED
    assert rigs.pose_bits(rig) != rigs.pose_bits(twin)
    return rig, twin


def pair():
    return bpy.data.objects["Rig"], bpy.data.objects["Twin"]


def key_all(armature, frame):
    for bone in armature.pose.bones:
        for channel in (rotation(bone), "location", "scale"):
            bone.keyframe_insert(channel, frame=frame)


def rotation(bone):
    channels = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
    return channels.get(bone.rotation_mode, "rotation_euler")


@contextmanager
def at_work(armature):
    """In Pose Mode with all bones selected, the pointer over a 3D view."""
    rigs.activate(armature)
    bpy.ops.object.mode_set(mode="POSE")
    try:
        window = bpy.context.window_manager.windows[0]
        area = max(window.screen.areas, key=lambda area: area.width * area.height)
        area.type = "VIEW_3D"
        region = next(region for region in area.regions if region.type == "WINDOW")
        with bpy.context.temp_override(window=window, area=area, region=region):
            bpy.ops.pose.select_all(action="SELECT")
            yield
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")


def use(tool, *armatures):
    for armature in armatures:
        with at_work(armature):
            tool()
    rigs.update()


def limits(armature):
    return [
        {name: getattr(bone.fabrik_joint, name) for name in (*JOINT, "swing_z")}
        for bone in armature.pose.bones
    ]


def animation(armature):
    return {
        (curve.data_path, curve.array_index): [tuple(point.co) for point in curve.keyframe_points]
        for curve in rigs.curves(armature)
        if curve.data_path.startswith("pose.")
    }


def assert_same(rig, twin, frame=None):
    """Both have the same FK pose and the same keys at a frame, to the last bit."""
    if frame is not None:
        rigs.go(frame)
    modes = [[bone.rotation_mode for bone in ob.pose.bones] for ob in (rig, twin)]
    assert modes[0] == modes[1]
    assert channels(rig) == channels(twin)
    assert animation(rig) == animation(twin)


def channels(armature):
    names = ("rotation_quaternion", "rotation_euler", "rotation_axis_angle", "location", "scale")
    return {
        (bone.name, name): tuple(getattr(bone, name))
        for bone in armature.pose.bones
        for name in names
    }


def shown(armature):
    return [x for bone in rigs.evaluated(armature).pose.bones for row in bone.matrix for x in row]


def distance(first, second):
    return max(abs(a - b) for a, b in zip(first, second, strict=True))


def drag(rig):
    rig.fabrik.constraints[0].target.location.x += 0.05
    rigs.update()


def animation_of(rig):
    if rig.animation_data is None:
        rig.animation_data_create()
    return rig.animation_data


def assign(rig, action):
    data = animation_of(rig)
    data.action = action
    if action is not None and hasattr(data, "action_slot"):
        data.action_slot = action.slots[0]


def mute_curves(armature, is_muted):
    for curve in rigs.curves(armature):
        curve.mute = is_muted
    armature.animation_data.action.update_tag()


def look(armature):
    """Return the bones as evaluated, and their channels."""
    return rigs.pose_bits(armature), rigs.shown_bits(armature)


def assert_off_is_fk(rig, twin):
    """And on again, it is as before."""
    solved = rigs.pose_bits(rig)
    influences = [item.influence for item in rig.fabrik.constraints]
    for item in rig.fabrik.constraints:
        item.influence = 0.0
    rigs.update()
    assert look(rig) == look(twin)
    for item, influence in zip(rig.fabrik.constraints, influences, strict=True):
        item.influence = influence
    rigs.update()
    assert rigs.pose_bits(rig) == solved


def assert_reached(rig):
    """A constraint that says so has its target, with all of its influence."""
    for item in rig.fabrik.constraints:
        item.influence = 1.0
    rigs.update()
    for item in rig.fabrik.constraints:
        assert item.state in SOLVED
        if item.state == "REACHED":
            assert not item.message
            assert rigs.tip_error(rig, item.bone, item.target) < 1e-3


@pytest.mark.parametrize(
    ("kind", "is_keyed"),
    [*((kind, False) for kind in IN_MODE), ("three bones, axis angle", True)],
    indirect=True,
)
@pytest.mark.parametrize("off", WAYS_OFF)
def test_off_gives_the_fk_pose_back(kind, is_keyed, off):
    """At once, also where it is keyed."""
    rig, twin = make(kind, is_keyed=is_keyed)
    for frame in (2, 9, 1):
        assert_same(rig, twin, frame)
        assert rigs.shown_bits(rig) != rigs.shown_bits(twin)

    off(rig)
    rigs.update()

    assert look(rig) == look(twin)


@pytest.mark.parametrize("kind", IN_MODE, indirect=True)
def test_half_influence_lies_half_way_and_both_ends_are_approached_smoothly(kind):
    rig, _ = make(kind)
    turns = []
    for influence in (0.0, 1e-6, 0.5, 1 - 1e-6, 1.0):
        switch(rig, influence)
        turns.append([bone.matrix_basis.to_quaternion() for bone in rigs.evaluated(rig).pose.bones])

    for fk, nearly_fk, half, nearly_solved, solved in zip(*turns, strict=True):
        whole = fk.rotation_difference(solved).angle
        assert fk.rotation_difference(half).angle == pytest.approx(whole / 2, abs=2e-3)
        assert half.rotation_difference(solved).angle == pytest.approx(whole / 2, abs=2e-3)
        assert abs(fk.dot(nearly_fk)) > 1 - 1e-6
        assert abs(solved.dot(nearly_solved)) > 1 - 1e-6


@pytest.mark.parametrize("kind", IN_MODE, indirect=True)
@pytest.mark.parametrize("mode", MODES)
def test_changing_the_rotation_mode_keeps_the_input(kind, mode):
    rig, twin = make(kind)
    for bone in (*rig.pose.bones, *twin.pose.bones):
        bone.rotation_mode = mode
    rigs.update()
    for frame in (3, 1):
        assert_same(rig, twin, frame)
    assert_off_is_fk(rig, twin)
    assert_reached(rig)


def test_shorter_chain_gives_the_freed_bone_its_fk_pose_back():
    rig, twin = make("four bones, Euler")
    item = rig.fabrik.constraints[0]
    item.chain_count = 2
    rigs.update()

    for name in ("B0", "B1"):
        assert (
            rigs.evaluated(rig).pose.bones[name].matrix
            == rigs.evaluated(twin).pose.bones[name].matrix
        )
    solved = rigs.pose_bits(rig)
    rigs.add_constraint(twin, item.bone, item.target, chain_count=2)
    for bone, source in zip(twin.pose.bones, rig.pose.bones, strict=True):
        for name in (*JOINT, "swing_z"):
            setattr(bone.fabrik_joint, name, getattr(source.fabrik_joint, name))
    rigs.update()
    assert rigs.pose_bits(twin) == solved


def test_keys_of_a_script_act_at_the_next_frame():
    """Without an update in between; and so do those that it moves."""
    rig, twin = make("three bones, axis angle", 0.5)
    target = rig.fabrik.constraints[0].target
    for frame, x, shift in ((1, 1, 0.4), (20, -1, -0.2)):
        target.location.x = x
        target.keyframe_insert("location", frame=frame)
        for ob in (rig, twin):
            posed(ob, shift)
            key_all(ob, frame)
    poses = {}
    for change in (lambda _: None, raise_curves):
        for ob in (rig, twin):
            change(ob)
        for frame in (1, 10, 20):
            assert_same(rig, twin, frame)
            assert rigs.pose_bits(rig) != poses.get(frame)
            poses[frame] = rigs.pose_bits(rig)
        assert len(set(poses.values())) == 3
    forget()
    for frame in (1, 20, 10):
        rigs.go(frame)
        assert rigs.pose_bits(rig) == poses[frame]


@pytest.mark.parametrize("shorten", (lambda items: items.remove(0), lambda items: items.clear()))
def test_list_that_a_script_shortens_is_noticed_at_the_next_frame(shorten, capfd):
    """Removing an item calls nobody, so that the first to notice is the next evaluation."""
    rig, twin = make("four bones, Euler", is_keyed=True)
    rigs.add_constraint(rig, "B1", rigs.make_empty(), influence=0.0)
    rigs.go(3)
    capfd.readouterr()

    shorten(rig.fabrik.constraints)
    rigs.go(4)

    assert look(rig) == look(twin)
    assert capfd.readouterr().out == ""


def test_list_that_a_script_reorders_is_noticed_at_the_next_update():
    rig, _ = make("four bones, Euler")
    rigs.add_constraint(rig, "B1", rigs.make_empty("Other", (0, 1, 1)), influence=0.0)
    rigs.update()
    solved, states = rigs.pose_bits(rig), [item.state for item in rig.fabrik.constraints]

    rig.fabrik.constraints.move(0, 1)
    rig.update_tag()
    rigs.update()

    assert rigs.pose_bits(rig) == solved
    assert [item.state for item in rig.fabrik.constraints] == states[::-1]
    assert states[1] == "DISABLED"


def switch(rig, influence):
    for item in rig.fabrik.constraints:
        item.influence = influence
    rigs.update()


def reopen(_armature):
    path = f"{bpy.app.tempdir}/edited.blend"
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)


def in_mode(armature, mode):
    rigs.activate(armature)
    bpy.ops.object.mode_set(mode=mode)
    rigs.update()


def is_cancelled(armature):
    """As Escape does while bones are turned."""
    before = [tuple(getattr(bone, rotation(bone))) for bone in armature.pose.bones]
    for step in (1, 2):
        for bone, numbers in zip(armature.pose.bones, before, strict=True):
            setattr(bone, rotation(bone), [x + 0.1 * step for x in numbers])
        rigs.update()
    for bone, numbers in zip(armature.pose.bones, before, strict=True):
        setattr(bone, rotation(bone), numbers)


def at_the_frame(_armature):
    rigs.go(bpy.context.scene.frame_current)


def in_rest_position(armature):
    armature.data.pose_position = "REST"
    rigs.go(bpy.context.scene.frame_current)
    rest = [x for bone in armature.data.bones for row in bone.matrix_local for x in row]
    assert distance(shown(armature), rest) < 1e-6


def in_edit_mode(armature):
    for mode in ("EDIT", "POSE", "EDIT"):
        in_mode(armature, mode)


def has_hidden_collection(armature):
    collection = armature.data.collections.new("Hidden")
    collection.is_visible = False
    for bone in armature.pose.bones:
        collection.assign(bone)


def each_bone(change):
    def changed(armature):
        for bone in armature.pose.bones:
            change(bone)

    return changed


def lock(bone):
    """Lock a bone; only those of a root that may move count."""
    if not bone.parent:
        return
    bone.lock_rotation = (True, True, True)
    bone.lock_rotation_w = bone.lock_rotations_4d = True


def flicker(armature):
    """Switch it off and on many times."""
    for i in range(20):
        switch(armature, (0.0, 0.37, 0.7)[i % 3])
        rigs.go(i)
    switch(armature, 0.7)
    rigs.go(1)


HARMLESS = {
    "turned, and turned back by Escape": is_cancelled,
    "keyed as it is": lambda ob: key_all(ob, bpy.context.scene.frame_current),
    "in rest position and back": (
        in_rest_position,
        lambda ob: setattr(ob.data, "pose_position", "POSE"),
    ),
    "in Edit Mode and back": (in_edit_mode, at_the_frame, partial(in_mode, mode="OBJECT")),
    "saved and opened": reopen,
    "switched off and on": flicker,
    "locked": each_bone(lock),
    "hidden": each_bone(lambda bone: setattr(bone.bone, "hide", True)),
    "in a hidden collection": has_hidden_collection,
    "bendy": each_bone(lambda bone: setattr(bone.bone, "bbone_segments", 8)),
}
"""They leave the pose that is shown as it was."""


def pose_anew(armature):
    posed(armature, 0.4)


def is_posed_while_off(armature):
    switch(armature, 0.0)
    posed(armature, 0.4)
    switch(armature, 0.7)


def is_keyed_anew(armature):
    for ob in (armature, bpy.data.objects["Left"]):
        ob.keyframe_insert("location", frame=1)
    for frame, shift in ((1, 0.4), (20, -0.2)):
        posed(armature, shift)
        key_all(armature, frame)


def is_turned_further(armature):
    turned(armature.pose.bones[0])


def turned(bone, numbers=None):
    """Turn a bone by numbers that are not normalized, as a script may leave them."""
    name = rotation(bone)
    setattr(bone, name, numbers or [0.7, 0.2, 0.4, -0.3][: len(getattr(bone, name))])


def has_longer_bones(armature):
    in_mode(armature, "EDIT")
    for bone in armature.data.edit_bones:
        bone.tail = bone.tail * 1.2
        if not bone.parent:
            bone.head = bone.head * 1.2
    in_mode(armature, "OBJECT")


def is_driven(armature):
    bone = armature.pose.bones[0]
    driver = armature.driver_add(f'pose.bones["{bone.name}"].{rotation(bone)}', 1).driver
    driver.expression = "0.02 * frame + 0.1"


def is_driven_no_more(armature):
    bone = armature.pose.bones[0]
    armature.driver_remove(f'pose.bones["{bone.name}"].{rotation(bone)}', 1)


def has_another_chain(armature):
    if armature.fabrik.constraints:
        bone = armature.pose.bones[-2].name
        rigs.add_constraint(armature, bone, rigs.make_empty("Other", (0, 1, 1.5)), influence=0.5)


def has_lost_its_first_chain(armature):
    if armature.fabrik.constraints:
        armature.fabrik.constraints.remove(0)
        armature.update_tag()


def has_keyed_mode(armature):
    """Each mode has its own channel."""
    bone = armature.pose.bones[0]
    for frame, mode in ((1, "QUATERNION"), (10, "XYZ")):
        bone.rotation_mode = mode
        turned(bone)
        bone.keyframe_insert("rotation_mode", frame=frame)
        bone.keyframe_insert(rotation(bone), frame=frame)


def has_numbers_beside_keyed_ones(armature):
    bone = armature.pose.bones[0]
    for frame, value in ((1, 0.1), (20, 0.9)):
        getattr(bone, rotation(bone))[0] = value
        bone.keyframe_insert(rotation(bone), index=0, frame=frame)
    rigs.go(5)
    getattr(bone, rotation(bone))[2] = 0.7


FREELY = {
    "posed": pose_anew,
    "keyed": is_keyed_anew,
    "turned by numbers of a script": is_turned_further,
    "posed by a matrix": lambda ob: setattr(
        ob.pose.bones[0], "matrix_basis", Quaternion((0.6, 0, 0.8, 0)).to_matrix().to_4x4()
    ),
    "posed while the influence is 0": is_posed_while_off,
    "given longer bones": has_longer_bones,
    "driven": is_driven,
    "driven for a while": (is_driven, is_driven_no_more, pose_anew),
    "given another chain on the same bones": has_another_chain,
    "given another chain, and its first one removed": (
        has_another_chain,
        has_lost_its_first_chain,
    ),
    "given keys of its rotation mode": has_keyed_mode,
    "given numbers beside keyed ones": has_numbers_beside_keyed_ones,
}


def silenced(silence):
    """Silence the keys, and pose all bones by hand: else the solution would be taken for keys."""
    return silence, lambda _: rigs.go(4), pose_anew


def mute_group(armature):
    group = armature.animation_data.action.groups.new("Keys")
    group.mute = True
    for curve in rigs.curves(armature):
        curve.group = group


def empty_curves(armature):
    for curve in rigs.curves(armature):
        while curve.keyframe_points:
            curve.keyframe_points.remove(curve.keyframe_points[0])


def mute_track(armature):
    rigs.as_strip(armature)
    armature.animation_data.nla_tracks[0].mute = True


def solo_another_track(armature):
    rigs.as_strip(armature)
    armature.animation_data.nla_tracks.new().is_solo = True


def switch_the_nla_off(armature):
    rigs.as_strip(armature)
    armature.animation_data.use_nla = False


def end_strip(armature):
    strip = rigs.as_strip(armature)
    strip.frame_end, strip.extrapolation = 10, "NOTHING"


def raise_curves(armature):
    for curve in rigs.curves(armature):
        for point in curve.keyframe_points:
            point.co.y += 0.2
        curve.update()
    armature.animation_data.action.update_tag()


def key_another_bone(armature):
    first, second = armature.pose.bones[:2]
    for frame in KEYS:
        armature.keyframe_delete(f'pose.bones["{first.name}"].{rotation(first)}', frame=frame)
        turned(second, [x + 0.01 * frame for x in getattr(second, rotation(second))])
        second.keyframe_insert(rotation(second), frame=frame)


def without_action(armature):
    assign(armature, None)


def with_action(armature):
    assign(armature, bpy.data.actions[f"{armature.name}Action"])


def key_by_script(armature):
    """Keys that Blender plays only after a tag, or in a file loaded afterwards."""
    bone = armature.pose.bones[0]
    for frame, more in ((1, 0.1), (9, 0.5)):
        turned(bone, [x + more for x in getattr(bone, rotation(bone))])
        bone.keyframe_insert(rotation(bone), frame=frame)


def tag(armature):
    armature.update_tag(refresh={"OBJECT", "DATA", "TIME"})


WITH_KEYS = {
    "with keys, posed by hand": pose_anew,
    "with muted keys": silenced(partial(mute_curves, is_muted=True)),
    "with emptied curves": silenced(empty_curves),
    "with a muted track": silenced(mute_track),
    "with a solo of another track": silenced(solo_another_track),
    "with the NLA off": silenced(switch_the_nla_off),
    "with its action taken away": silenced(without_action),
    "with raised keys": raise_curves,
    "with keys of another bone": key_another_bone,
    "in a muted strip": lambda ob: setattr(rigs.as_strip(ob), "mute", True),
    "in a strip, with keys of a script": (rigs.as_strip, key_by_script),
    "in a strip, with tagged keys": (rigs.as_strip, key_by_script, tag),
    "in a strip of a file, with keys": (rigs.as_strip, reopen, key_by_script),
    "in a strip of a file, with tagged keys": (rigs.as_strip, reopen, key_by_script, tag),
}
if not hasattr(bpy.types, "ActionLayer"):
    # Since 4.4 Blender evaluates the curves of a muted group all the same.
    WITH_KEYS["with a muted group"] = silenced(mute_group)

WITH_THE_SAME_KEYS = {
    "with its action away and back": (*silenced(without_action), with_action, lambda _: rigs.go(7)),
    "with its keys muted and back": (
        *silenced(partial(mute_curves, is_muted=True)),
        partial(mute_curves, is_muted=False),
        lambda _: rigs.go(7),
    ),
    "in a strip": rigs.as_strip,
    "in a strip that ends": end_strip,
}
NEED = {**WITH_KEYS, **WITH_THE_SAME_KEYS}
EDITS = {**HARMLESS, **FREELY, **NEED}


def fk_of(armature):
    """Return a frozen copy of the FK pose."""
    modes = [bone.rotation_mode for bone in armature.pose.bones]
    return (*modes, *channels(armature).items())


@pytest.mark.parametrize("kind", EDITED_KINDS, indirect=True)
@pytest.mark.rows("edit")
@pytest.mark.parametrize("edit", EDITS)
def test_edit_does_to_fk_what_it_does_to_a_twin(kind, edit):
    """The solution goes by the FK pose at the frame alone, and off it is the FK pose at once."""
    rig, twin = make(kind, 0.7, is_keyed=edit in NEED)
    solved = rigs.pose_bits(rig)
    steps = EDITS[edit] if isinstance(EDITS[edit], tuple) else (EDITS[edit],)
    for step in steps:
        for name in ("Rig", "Twin"):
            step(bpy.data.objects[name])
        rigs.update()
    rig, twin = pair()
    assert_same(rig, twin)
    is_unchanged = edit in HARMLESS or edit in WITH_THE_SAME_KEYS
    assert (rigs.pose_bits(rig) == solved) == is_unchanged
    drag(rig)
    assert_off_is_fk(rig, twin)

    poses = {}
    for frame in (11, 25, 7, 1):
        assert_same(rig, twin, frame)
        assert distance(shown(rig), shown(twin)) > 1e-3
        poses[fk_of(twin)] = rigs.pose_bits(rig)
    forget()
    for frame in (7, 11, 1, 25, 7, 11):
        rigs.go(frame)
        # Since 4.4, keyed modes make even the twin's FK pose depend on the frame before.
        pose = poses.setdefault(fk_of(twin), rigs.pose_bits(rig))
        assert rigs.pose_bits(rig) == pose, frame
        assert edit == "given keys of its rotation mode" or len(poses) <= 4
    assert_off_is_fk(rig, twin)
    assert_reached(rig)


KEYING_SETS = ("Location", "Rotation", "LocRotScale", "WholeCharacter")


def assert_keying_moves_nothing(rig, twin, key):
    """Keys put four times, by a function of the frame, leave FK and what is shown as they are."""
    for frame in (3, 8, 13, 30):
        rigs.go(frame)
        fk, before = rigs.channels_bits(rig), shown(rig)
        key(frame)
        assert rigs.channels_bits(rig) == fk
        for look in (lambda: None, partial(rigs.go, frame)):
            look()
            assert distance(shown(rig), before) <= 1e-6
            assert_same(rig, twin)


@pytest.mark.parametrize("keying_set", KEYING_SETS)
def test_keying_all_bones_four_times_keeps_fk_and_moves_nothing(
    kind, influence, is_keyed, keying_set
):
    rig, twin = make(kind, influence, is_keyed)
    key = partial(bpy.ops.anim.keyframe_insert_by_name, type=keying_set)
    assert_keying_moves_nothing(rig, twin, lambda _frame: use(key, rig, twin))


def test_keying_from_python_keeps_fk_and_moves_nothing(kind, influence, is_keyed):
    rig, twin = make(kind, influence, is_keyed)

    def key(frame):
        for ob in (rig, twin):
            key_all(ob, frame)
        rigs.update()

    assert_keying_moves_nothing(rig, twin, key)


def slid(name):
    """Return one of the tools that slide a pose between the keys on either side."""
    tool = getattr(bpy.ops.pose, name)
    return partial(tool, factor=0.3, prev_frame=1, next_frame=20)


def pasted(**settings):
    """Copy a pose and paste it over another one."""
    bpy.ops.pose.copy()
    posed(bpy.context.object, 0.4)
    rigs.update()
    bpy.ops.pose.paste(**settings)


def key_first(tool):
    """Have something that can be deleted."""
    bpy.ops.anim.keyframe_insert_by_name(type="LocRotScale")
    tool()


def pose_first(tool):
    """Have something that is not keyed."""
    posed(bpy.context.object, 0.4)
    rigs.update()
    tool()


def applied_pose():
    """What the pose library does with an action."""
    action = bpy.context.object.animation_data.action
    bpy.context.object.pose.apply_pose_from_action(action, evaluation_time=33)


def blended_pose():
    action = bpy.context.object.animation_data.action
    bpy.context.object.pose.blend_pose_from_action(action, blend_factor=0.4, evaluation_time=33)


PASTES = {
    "paste": pasted,
    "paste flipped": partial(pasted, flipped=True),
    "paste on selected": partial(pasted, selected_mask=True),
}

NEED_KEYS = {
    "breakdown": slid("breakdown"),
    "push": slid("push"),
    "relax": slid("relax"),
    "blend to neighbor": slid("blend_to_neighbor"),
    "propagate to the next key": partial(bpy.ops.pose.propagate, mode="NEXT_KEY"),
    "propagate to the last key": partial(bpy.ops.pose.propagate, mode="LAST_KEY"),
    "clear keys": bpy.ops.anim.keyframe_clear_v3d,
    "pose library": applied_pose,
    "pose library, blended": blended_pose,
}

TOOLS = {
    "flip quaternions": bpy.ops.pose.quaternions_flip,
    "blend with rest": partial(
        bpy.ops.pose.blend_with_rest, factor=0.3, prev_frame=1, next_frame=20
    ),
    "clear all": bpy.ops.pose.transforms_clear,
    "clear rotation": bpy.ops.pose.rot_clear,
    "clear location": bpy.ops.pose.loc_clear,
    "clear scale": bpy.ops.pose.scale_clear,
    "clear to the keys": partial(pose_first, bpy.ops.pose.user_transforms_clear),
    "delete keys": partial(key_first, bpy.ops.anim.keyframe_delete_v3d),
    "to Euler": partial(bpy.ops.pose.rotation_mode_set, type="ZYX"),
    "to quaternions": partial(bpy.ops.pose.rotation_mode_set, type="QUATERNION"),
    **NEED_KEYS,
    **PASTES,
}


USES = [(tool, is_keyed) for tool in TOOLS for is_keyed in (False, True)]
USES = [(tool, is_keyed) for tool, is_keyed in USES if is_keyed or tool not in NEED_KEYS]


@pytest.mark.parametrize(("tool", "is_keyed"), USES)
def test_tool_does_to_fk_what_it_does_to_a_twin(kind, is_keyed, tool):
    rig, twin = make(kind, 0.7, is_keyed)

    use(TOOLS[tool], rig, twin)
    assert_same(rig, twin)

    for frame in (11, 20, 1):
        assert_same(rig, twin, frame)


UNCHANGED = ("to quaternions", "clear to the keys", "paste", "paste on selected", "delete keys")
"""They leave all as it was, since that is what the rig had already."""


@pytest.mark.parametrize("tool", TOOLS)
def test_tool_changes_something(tool):
    """Else the test above would show nothing."""
    rig, _ = make("left and right", is_keyed=True)
    before = (
        rigs.channels_bits(rig),
        animation(rig),
        [bone.rotation_mode for bone in rig.pose.bones],
    )
    use(TOOLS[tool], rig)
    after = rigs.channels_bits(rig), animation(rig), [bone.rotation_mode for bone in rig.pose.bones]
    assert after != before or tool in UNCHANGED


@pytest.mark.parametrize("tool", TOOLS)
def test_tool_leaves_the_limits_alone(tool):
    rig, _ = make("left and right", is_keyed=True)
    before = limits(rig)
    use(TOOLS[tool], rig)
    assert limits(rig) == before


@pytest.mark.parametrize("is_flipped", (False, True), ids=("plain", "flipped"))
def test_paste_leaves_the_limits_alone(is_flipped):
    rig, _ = make("left and right")

    def tool():
        bpy.ops.pose.copy()
        rig.pose.bones["Upper.L"].fabrik_joint.swing_x = 0.7
        bpy.ops.pose.paste(flipped=is_flipped)

    before = limits(rig)
    before[list(ARMS).index("Upper.L")]["swing_x"] = pytest.approx(0.7)
    use(tool, rig)
    assert limits(rig) == before


@pytest.mark.parametrize(("tool", "is_keyed"), USES)
def test_tool_is_undone_and_redone(is_keyed, tool):
    rig, twin = make("left and right", is_keyed=is_keyed)
    bpy.ops.ed.undo_push(message="start")
    before = rigs.channels_bits(rig), animation(rig)
    seen = shown(rig)
    use(TOOLS[tool], rig, twin)
    bpy.ops.ed.undo_push(message="tool")
    after, seen_after = (rigs.channels_bits(rig), animation(rig)), shown(rig)

    bpy.ops.ed.undo()
    rigs.update()
    rig, twin = pair()
    assert (rigs.channels_bits(rig), animation(rig)) == before
    assert_same(rig, twin)
    assert distance(shown(rig), seen) <= 1e-6
    bpy.ops.ed.redo()
    rigs.update()
    rig, twin = pair()
    assert (rigs.channels_bits(rig), animation(rig)) == after
    assert_same(rig, twin)
    assert distance(shown(rig), seen_after) <= 1e-6


def test_visual_transform_makes_the_shown_pose_fk(kind, influence, is_keyed):
    rig, _ = make(kind, influence, is_keyed)
    before = shown(rig)

    use(bpy.ops.pose.visual_transform_apply, rig)
    for item in rig.fabrik.constraints:
        item.enabled = False
    rigs.update()

    assert distance(shown(rig), before) <= 2e-5


def test_applied_pose_makes_the_shown_pose_the_rest_pose(kind, influence):
    rig, _ = make(kind, influence)
    before = shown(rig)

    use(bpy.ops.pose.armature_apply, rig)

    rest = [x for bone in rig.data.bones for row in bone.matrix_local for x in row]
    # Rest poses keep no sizes.
    if kind not in ("free and stretched",):
        places = [i for i in range(len(before)) if i % 16 in (3, 7, 11)]
        assert distance([rest[i] for i in places], [before[i] for i in places]) <= 1e-4
    for item in rig.fabrik.constraints:
        item.enabled = False
    rigs.update()
    assert distance(shown(rig), rest) <= 1e-5


@pytest.mark.skipif(bpy.app.version < (4, 5), reason="it crashes without a window before 4.5")
@pytest.mark.parametrize(
    ("is_keyed", "is_auto_keyed"), [(False, False), (True, False), (True, True)]
)
def test_transforming_bones_is_the_new_fk_pose(kind, is_keyed, is_auto_keyed):
    rig, _ = make(kind, 0.7, is_keyed)
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = is_auto_keyed
    fk = channels(rig)

    use(partial(bpy.ops.transform.rotate, value=0.3, orient_type="LOCAL"), rig)
    turned = channels(rig)
    assert turned != fk
    assert not is_auto_keyed or animation(rig)
    rigs.go(bpy.context.scene.frame_current)
    assert channels(rig) == (turned if is_auto_keyed or not is_keyed else fk)


def test_file_shows_fk_without_the_extension(tmp_path):
    for i, (name, is_keyed) in enumerate((n, k) for n in KINDS for k in (False, True)):
        for ob in make(name, is_keyed=is_keyed):
            ob.name = f"{ob.name} {i}"
    rigs.go(7)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    question = """[
        channels_bits(bpy.data.objects[f"Rig {i}"]) == channels_bits(bpy.data.objects[f"Twin {i}"])
        and pose_bits(bpy.data.objects[f"Rig {i}"]) == pose_bits(bpy.data.objects[f"Twin {i}"])
        for i in range(12)
    ]"""

    for frame in ("", "go(11)"):
        answer, _ = rigs.elsewhere(tmp_path / "shot.blend", frame, question, with_addon=False)
        assert answer == [True] * 12


def test_bones_turned_without_the_extension_are_the_new_input(tmp_path):
    rig, _ = make("four bones, Euler")
    solved, before = rigs.pose_bits(rig), tuple(rig.pose.bones["B1"].rotation_euler)
    blend = tmp_path / "shot.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    answer, printed = rigs.elsewhere(
        blend,
        """
        for name in ("Rig", "Twin"):
            bpy.data.objects[name].location.x = 0.1
            bpy.data.objects[name].pose.bones["B1"].rotation_euler = (0.8, 0.6, 0)
        go(5)
        bpy.ops.wm.save_mainfile()
        """,
        "hasattr(bpy.types.Object, 'fabrik')",
        with_addon=False,
    )
    assert answer is False
    assert "fabrik" not in printed.lower()  # Nor does Blender miss anything of ours.

    bpy.ops.wm.open_mainfile(filepath=str(blend))
    rig, twin = pair()
    assert tuple(rig.pose.bones["B1"].rotation_euler) == pytest.approx((0.8, 0.6, 0))
    assert_same(rig, twin)
    assert_off_is_fk(rig, twin)
    for ob in (rig, twin):
        ob.location.x = 0
        ob.pose.bones["B1"].rotation_euler = before
    rigs.update()
    assert rigs.pose_bits(rig) == solved
    assert_reached(rig)


class BreakdownError(Exception):
    pass


def breaks(*_, **__):
    raise BreakdownError


@pytest.mark.parametrize(
    "place",
    (
        "solve",
        "solve a chain",
        "compose",
        "write",
        "write reports",
        "compare",
        "evaluate",
    ),
)
def test_error_in_a_handler_leaves_fk(addon, kind, is_keyed, place, monkeypatch, capfd):
    rig, twin = make(kind, is_keyed=is_keyed)
    solved = rigs.pose_bits(rig)

    with monkeypatch.context() as patch:
        patch.setattr(*PLACES[place], breaks)
        for frame in (9, 13, 25):
            assert_same(rig, twin, frame)
            for item in rig.fabrik.constraints:
                item.target.location.x += 0.01
            for ob in (rig, twin):
                ob.update_tag()
            rigs.update()
            assert_same(rig, twin)
    capfd.readouterr()
    for item in rig.fabrik.constraints:
        item.target.location.x -= 0.03
    rigs.go(7 if is_keyed else 1)
    rigs.update()

    assert distance_of(solved, rigs.pose_bits(rig)) <= 1e-5
    assert_same(rig, twin)
    assert "could not pose" not in "".join(capfd.readouterr())


def distance_of(first, second):
    return distance(memoryview(first).cast("f"), memoryview(second).cast("f"))


def test_error_half_way_through_writing_leaves_fk(kind, is_keyed, monkeypatch, capfd):
    """The second armature, or the second channel, cannot be written."""
    rig, twin = make(kind, is_keyed=is_keyed)
    calls = []

    def every_second(*given):
        calls.append(given)
        if len(calls) % 2 == 0:
            raise BreakdownError

    with monkeypatch.context() as patch:
        count(patch, "write a channel", every_second)
        for frame in (9, 13, 25):
            assert_same(rig, twin, frame)
            rig.fabrik.constraints[0].target.location.x += 0.1
            rigs.update()
            assert_same(rig, twin)
    capfd.readouterr()
    rigs.go(26)
    assert_same(rig, twin)


@contextmanager
def handling(name, handler, is_first=False):
    handlers = getattr(bpy.app.handlers, name)
    handlers.insert(0 if is_first else len(handlers), handler)
    try:
        yield
    finally:
        handlers.remove(handler)


HANDLERS = ("frame_change_pre", "frame_change_post", "depsgraph_update_post")


@pytest.mark.parametrize("name", HANDLERS)
def test_handler_of_others_that_raises_leaves_fk(kind, is_keyed, name, capfd):
    rig, twin = make(kind, is_keyed=is_keyed)
    with handling(name, breaks):
        for frame in (9, 13, 25):
            assert_same(rig, twin, frame)
            rig.fabrik.constraints[0].target.location.x += 0.1
            rigs.update()
            assert_same(rig, twin)
    assert "could not pose" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("name", HANDLERS[:2])
def test_handler_of_others_that_poses_a_bone_poses_fk(kind, is_keyed, name):
    rig, twin = make(kind, is_keyed=is_keyed)
    bone = rig.pose.bones[1].name

    def pose(scene, *_):
        for ob in pair():
            posed_bone = ob.pose.bones[bone]
            getattr(posed_bone, rotation(posed_bone))[1] = scene.frame_current / 100
            posed_bone.location.x = scene.frame_current / 1000

    with handling(name, pose):
        for frame in (9, 13, 25, 9):
            assert_same(rig, twin, frame)
            rigs.update()
            assert_same(rig, twin)


UPDATES = ("frame_change_pre", "frame_change_post", "depsgraph_update_pre", "depsgraph_update_post")


@pytest.fixture(params=(True, False), ids=("first", "last"))
def is_first(request):
    return request.param


@pytest.mark.parametrize("kind", SOME_KINDS, indirect=True)
@pytest.mark.parametrize("name", UPDATES)
def test_handler_of_others_reads_fk(kind, is_keyed, name, is_first):
    """Whatever its place in the list, also in the update after it was added."""
    rig, _ = make(kind, is_keyed=is_keyed)
    rig.keyframe_insert("location", index=0, frame=1)  # All frames are solved ahead.
    read = []
    for _ in range(2):
        with handling(name, lambda *_: read.append(list(map(channels, pair()))), is_first):
            for frame in (9, 13, 25, 9):
                rigs.go(frame)
                drag(rig)
        with handling(name, lambda *_: read.append(list(map(channels, pair()))), is_first):
            drag(rig)
            rigs.go(13)
    assert len(read) >= 10
    assert all(own == wanted for own, wanted in read)


@pytest.mark.parametrize("kind", SOME_KINDS, indirect=True)
@pytest.mark.parametrize(
    "name, has_update", (*((name, False) for name in UPDATES), ("frame_change_post", True))
)
def test_handler_of_others_that_keys_keys_fk(kind, is_keyed, name, has_update, is_first):
    """What is shown stays the solution, also where the handler itself has its keys evaluated."""
    rig, twin = make(kind, is_keyed=is_keyed)
    rig.keyframe_insert("location", index=0, frame=1)

    def record(scene, *_):
        for ob in pair():
            key_all(ob, scene.frame_current)
        if has_update:
            rigs.update()

    for frame in (9, 13, 25, 30, 9):
        with handling(name, record, is_first):
            assert_same(rig, twin, frame)
            drag(rig)
            assert_same(rig, twin)
        before = shown(rig)
        assert distance(before, shown(twin)) > 1e-3
        forget()
        rigs.go(frame)
        assert distance(shown(rig), before) <= 1e-6


def move_target(rig, is_moved):
    rig.fabrik.constraints[0].target.location.y = 0.2 if is_moved else 0.1


SETS = {
    "action": lambda rig, k: assign(rig, bpy.data.actions["AB"[k]]),
    "no action": lambda rig, k: assign(rig, None if k else bpy.data.actions["A"]),
    "influence": lambda rig, k: setattr(rig.animation_data, "action_influence", 1 - 0.5 * k),
    "mute": mute_curves,
    "setting": lambda rig, k: setattr(rig.fabrik.constraints[0], "influence", 1 - 0.5 * k),
    "target": move_target,
    "location": lambda rig, k: setattr(rig, "location", (0.1 * k, 0, 0)),
}


@pytest.mark.parametrize("is_always", (True, False), ids=("always", "once"))
@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("what", SETS)
def test_what_a_handler_of_others_sets_is_solved_at_once(what, name, is_always, is_first):
    """Blender evaluates it in the same update, with the action that is assigned by then."""
    rig, _ = make("four bones, Euler", is_keyed=True)
    rig.keyframe_insert("location", index=2, frame=1)
    first = rig.animation_data.action
    first.name, first.use_fake_user = "A", True
    second = first.copy()
    second.name = "B"
    assign(rig, second)
    for curve in rigs.curves(rig):
        for key in curve.keyframe_points:
            key.co.y += 0.2
        curve.update()
    assign(rig, first)
    for frame in range(1, 8):
        rigs.go(frame)
    last = []

    def swap(scene, *_):
        k = scene.frame_current % 2
        if is_always or last[-1:] != [k]:
            last.append(k)
            SETS[what](rig, k)

    for frame in (3, 4, 5, 6, 3, 4):
        with handling(name, swap, is_first):
            rigs.go(frame)
            rig.update_tag()
            rigs.update()
            seen = rigs.pose_bits(rig)
        forget()
        rigs.go(frame)
        rig.update_tag()
        rigs.update()
        assert distance_of(rigs.pose_bits(rig), seen) <= 1e-6, frame
        last.clear()


CHANGES = {
    "cleared": list.clear,
    "without the first": lambda handlers: handlers.__delitem__(slice(1)),
    "without the last": lambda handlers: handlers.__delitem__(slice(-1, None)),
    "reversed": list.reverse,
    "twice": lambda handlers: handlers.extend(handlers[:]),
    "replaced": lambda handlers: handlers.__setitem__(slice(None), [breaks]),
}


@pytest.fixture
def lists(empty_file):
    """The lists of handlers by name, which get back what was in them."""
    found = {name: getattr(bpy.app.handlers, name) for name in dir(bpy.app.handlers)}
    found = {name: handlers for name, handlers in found.items() if isinstance(handlers, list)}
    before = {name: handlers[:] for name, handlers in found.items()}
    yield found
    for name, handlers in found.items():
        handlers[:] = before[name]


def ours(handlers):
    return {handler for handler in handlers if handler.__module__.startswith("addon")}


@pytest.mark.parametrize("kind", SOME_KINDS, indirect=True)
@pytest.mark.parametrize("names", (*((name,) for name in UPDATES), UPDATES[:2], UPDATES[2:]))
@pytest.mark.parametrize("change", CHANGES)
def test_handlers_that_others_take_away_leave_fk_and_come_back(
    kind, is_keyed, names, change, lists, capfd
):
    rig, twin = make(kind, is_keyed=is_keyed)
    rig.keyframe_insert("location", index=0, frame=1)
    before = {name: lists[name][:] for name in UPDATES}

    def disturb():
        for name in names:
            CHANGES[change](lists[name])

    for frame in (9, 13):
        disturb()
        assert_same(rig, twin, frame)
        disturb()
        drag(rig)
        assert_same(rig, twin)
    for name in names if change == "replaced" else ():
        lists[name].remove(breaks)
    for _ in range(2):
        drag(rig)
        rigs.go(25)

    assert {name: lists[name][:] for name in UPDATES} == before
    seen = rigs.pose_bits(rig)
    assert distance(shown(rig), shown(twin)) > 1e-3
    forget()
    rigs.go(25)
    assert rigs.pose_bits(rig) == seen
    capfd.readouterr()


def test_handlers_that_others_clear_everywhere_come_back_with_a_setting(lists):
    rig, twin = make("four bones, Euler")
    before = {name: ours(handlers) for name, handlers in lists.items()}
    for handlers in lists.values():
        handlers.clear()
    rigs.go(5)
    rig.fabrik.constraints[0].use_tail = False

    assert {name: ours(handlers) for name, handlers in lists.items()} == before
    drag(rig)
    assert_same(rig, twin)
    seen = rigs.pose_bits(rig)
    forget()
    rigs.go(6)
    assert rigs.pose_bits(rig) == seen != rigs.pose_bits(twin)


RENDERS = ("frame_change_post", "render_pre", "render_post", "render_write", "render_complete")


def test_handler_of_others_reads_fk_in_a_render(kind, is_keyed, is_first):
    """That of the viewport's frame, as a render does not flush its animation."""
    make(kind, is_keyed=is_keyed)
    read = []

    def look(name, *_):
        read.append((name, *map(channels, pair())))

    with ExitStack() as stack:
        for name in RENDERS:
            stack.enter_context(handling(name, partial(look, name), is_first))
        rendered(9, 11)
    assert {name for name, *_ in read} == {*RENDERS}
    assert [name for name, own, wanted in read if own != wanted] == []


def test_handler_of_others_reads_fk_where_a_render_is_given_up(kind, is_keyed, is_first, tmp_path):
    """As its images can't be written; then Blender doesn't report that the frame is done."""
    rig, twin = make(kind, is_keyed=is_keyed)
    (tmp_path / "file").touch()
    told = []

    def look(name, *_):
        told.append((name, channels(rig) == channels(twin)))

    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 9, 11
    with witnessed(), ExitStack() as stack:
        scene.render.filepath = str(tmp_path / "file" / "frame")
        for name in ("render_post", "render_cancel"):
            stack.enter_context(handling(name, partial(look, name), is_first))
        with suppress(RuntimeError):  # It reports that the images cannot be written.
            bpy.ops.render.render(animation=True)
    assert told == [("render_cancel", True)]


@pytest.mark.parametrize("is_off", (False, True), ids=("on", "off"))
def test_pose_goes_with_a_renamed_bone(kind, is_keyed, is_off, capfd):
    """Its F-curves use its new name before an update has reported it."""
    rig, twin = make(kind, is_keyed=is_keyed)
    for item in rig.fabrik.constraints if is_off else ():
        item.enabled = False
    name = rig.pose.bones[0].name
    for ob in (rig, twin):
        ob.pose.bones[name].keyframe_insert(rotation(ob.pose.bones[name]), frame=20)
    rigs.update()
    for ob in (rig, twin):
        ob.data.bones[name].name = name.swapcase()
        posed(ob, 0.4)
    rigs.update()
    assert_same(rig, twin)
    assert "could not pose" not in "".join(capfd.readouterr())
