"""The plan lives until something that it was made of changes, and then says what a new one says."""

from collections.abc import Callable
from typing import Any

import bpy
import pytest
from inside import PLACES, count, declare, declared, forget, kept, plan_made, planned
from rendering import witnessed
from rigs import activate, add_constraint, go, key, link, make_chain, make_empty, shown_bits, update


@pytest.fixture
def rig() -> bpy.types.Object:
    """An arm whose target is parented to another arm, with a pole, and irrelevant objects."""
    other, rig = make_chain(3, "Other"), make_chain(4)
    other.location.x = 1.5
    hand = make_empty("Hand", (0.3, 0.0, 0.0))
    hand.parent, hand.parent_type, hand.parent_bone = other, "BONE", "B2"
    add_constraint(other, "B2", make_empty("Target", (2.0, 1.0, 1.5)))
    add_constraint(rig, "B3", hand, pole_target=make_empty("Pole", (0.0, -3.0, 1.0)))
    make_empty("Unconcerned")
    make_chain(2, "Idle")
    update()
    return rig


def ob(name: str) -> Any:
    return bpy.data.objects[name]


def select(rig: bpy.types.Object) -> None:
    rig.select_set(not rig.select_get())
    bpy.context.view_layer.objects.active = ob("Hand")


def select_bone(rig: bpy.types.Object) -> None:
    bone = rig.pose.bones["B1"]
    owner: Any = bone if hasattr(bone, "select") else bone.bone
    owner.select = not owner.select


def add_object(rig: bpy.types.Object) -> None:
    make_empty("New")


def remove_object(rig: bpy.types.Object) -> None:
    bpy.data.objects.remove(ob("Unconcerned"))


def parent_others(rig: bpy.types.Object) -> None:
    ob("Unconcerned").parent = rig


def constrain_others(rig: bpy.types.Object) -> None:
    ob("Unconcerned").constraints.new("COPY_LOCATION").target = ob("Hand")


def drive_others(rig: bpy.types.Object) -> None:
    ob("Unconcerned").driver_add("location", 0)


def key_others(rig: bpy.types.Object) -> None:
    ob("Unconcerned").keyframe_insert("location")


def new_collection(rig: bpy.types.Object) -> None:
    bpy.context.scene.collection.children.link(bpy.data.collections.new("More"))


UNCONCERNED = (
    select,
    select_bone,
    add_object,
    remove_object,
    parent_others,
    constrain_others,
    drive_others,
    key_others,
    new_collection,
)


@pytest.mark.parametrize("edit", UNCONCERNED)
def test_what_is_no_concern_of_the_plan_keeps_it(
    rig: bpy.types.Object, edit: Callable[[Any], None]
) -> None:
    before = plan_made()
    edit(rig)
    update()
    assert plan_made() is before is not None
    assert_as_new()


@pytest.mark.parametrize("edit", [one for one in UNCONCERNED if one is not key_others])
def test_what_is_no_concern_of_a_chain_does_not_have_it_read(
    rig: bpy.types.Object, edit: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though Blender lists the armature, and evaluates it for a bone that is selected."""
    constrain_bone(rig)  # Else it is solved ahead, before anybody can know.
    update()
    read: list[object] = []
    for place in ("read an armature", "read an armature ahead"):
        count(monkeypatch, place, lambda *given: read.append(given))
    edit(rig)
    update()
    assert not read


def hang_on_itself(rig: bpy.types.Object) -> None:
    ob("Target").parent, ob("Target").parent_type = ob("Other"), "BONE"
    ob("Target").parent_bone = "B1"


def let_go(rig: bpy.types.Object) -> None:
    ob("Hand").parent = None


def hang_elsewhere(rig: bpy.types.Object) -> None:
    ob("Hand").parent_bone = "B0"


def hang_on_a_parent_of_parents(rig: bpy.types.Object) -> None:
    ob("Other").parent = ob("Unconcerned")


def constrain_target(rig: bpy.types.Object) -> None:
    ob("Hand").constraints.new("COPY_LOCATION").target = ob("Unconcerned")


def constrain_bone(rig: bpy.types.Object) -> None:
    rig.pose.bones["B2"].constraints.new("SHRINKWRAP")


def mute_constraint(rig: bpy.types.Object) -> None:
    constrain_bone(rig)
    update()
    rig.pose.bones["B2"].constraints[0].mute = True


def remove_constraint(rig: bpy.types.Object) -> None:
    constrain_bone(rig)
    update()
    rig.pose.bones["B2"].constraints.remove(rig.pose.bones["B2"].constraints[0])


def drive_target(rig: bpy.types.Object) -> None:
    variable = ob("Pole").driver_add("location", 0).driver.variables.new()
    variable.type = "TRANSFORMS"
    variable.targets[0].id, variable.targets[0].bone_target = ob("Other"), "B2"


def drive_no_more(rig: bpy.types.Object) -> None:
    drive_target(rig)
    update()
    ob("Pole").driver_remove("location", 0)


def take_the_driver_away(rig: bpy.types.Object) -> None:
    drive_target(rig)
    update()
    data = ob("Pole").animation_data
    data.drivers.remove(data.drivers[0])


def drive_bone(rig: bpy.types.Object) -> None:
    rig.driver_add('pose.bones["B2"].rotation_quaternion', 1)


def key_bone(rig: bpy.types.Object) -> None:
    rig.pose.bones["B1"].keyframe_insert("rotation_quaternion", frame=1)


def give_the_action_away(rig: bpy.types.Object) -> None:
    key_bone(rig)
    update()
    rig.animation_data.action = None


def push_down(rig: bpy.types.Object) -> None:
    key_bone(rig)
    update()
    action = rig.animation_data.action
    rig.animation_data.nla_tracks.new().strips.new("Strip", 1, action)
    rig.animation_data.action = None


def remove_target(rig: bpy.types.Object) -> None:
    bpy.data.objects.remove(ob("Hand"))


def remove_pole(rig: bpy.types.Object) -> None:
    bpy.data.objects.remove(ob("Pole"))


def remove_other_rig(rig: bpy.types.Object) -> None:
    bpy.data.objects.remove(ob("Other"))


def rename_target(rig: bpy.types.Object) -> None:
    ob("Pole").name = "Renamed"
    update()
    ob("Renamed").location.x += 1.0


def rename_bone(rig: bpy.types.Object) -> None:
    rig.data.bones["B3"].name = "Renamed"


def add_rig(rig: bpy.types.Object) -> None:
    make_chain(2, "New")


def duplicate(rig: bpy.types.Object) -> None:
    copy = rig.copy()
    copy.data = rig.data.copy()
    link(copy)


def add_by_script(rig: bpy.types.Object) -> None:
    item = rig.fabrik.constraints.add()
    item.name, item.bone, item.target, item.chain_count = "More", "B1", ob("Unconcerned"), 1


def remove_by_script(rig: bpy.types.Object) -> None:
    rig.fabrik.constraints.remove(0)
    rig.update_tag()


def give_two_one_name(rig: bpy.types.Object) -> None:
    add_constraint(rig, "B1", ob("Unconcerned"), name="FABRIK IK", chain_count=1)
    update()
    rig.fabrik.constraints[1].name = rig.fabrik.constraints[0].name
    update()
    assert len(set(rig.fabrik.constraints.keys())) == 2


def first_constraint_elsewhere(rig: bpy.types.Object) -> None:
    add_constraint(ob("Idle"), "B1", ob("Pole"))


def edit_rest_pose(rig: bpy.types.Object) -> None:
    activate(rig, "EDIT")
    rig.data.edit_bones["B3"].tail.x += 0.3
    bpy.ops.object.mode_set(mode="OBJECT")


def connect_bone(rig: bpy.types.Object) -> None:
    activate(rig, "EDIT")
    rig.data.edit_bones["B1"].parent = None
    bpy.ops.object.mode_set(mode="OBJECT")


def swap_data(rig: bpy.types.Object) -> None:
    rig.data = ob("Idle").data


def hide_target(rig: bpy.types.Object) -> None:
    ob("Pole").hide_viewport = True


def watch_a_collection(rig: bpy.types.Object) -> None:
    bpy.data.collections.new("Floors").objects.link(ob("Unconcerned"))
    rig.fabrik.constraints[0].ground.collection = bpy.data.collections["Floors"]
    update()
    bpy.data.collections["Floors"].objects.link(ob("Idle"))


def move_target(rig: bpy.types.Object) -> None:
    ob("Target").location.x += 0.5


def move_pole(rig: bpy.types.Object) -> None:
    ob("Pole").location.x += 2.0


def pose_other(rig: bpy.types.Object) -> None:
    ob("Other").pose.bones["B0"].rotation_quaternion = (0.9, 0.3, 0.1, 0.0)


def pose_rig(rig: bpy.types.Object) -> None:
    rig.pose.bones["B0"].location.x = 0.3


def change_setting(rig: bpy.types.Object) -> None:
    rig.fabrik.constraints[0].influence = 0.5


def change_joint(rig: bpy.types.Object) -> None:
    rig.pose.bones["B1"].fabrik_joint.stiffness = 0.8


def move_what_shapes_the_ground_of_the_pole(rig: bpy.types.Object) -> None:
    """Nobody knows that the pole moves along before it has moved."""
    mesh = bpy.data.meshes.new("Ground")
    mesh.from_pydata([(1, 0, 0), (0, 1, 0), (0, 0, 1)], [], [(0, 1, 2)])
    ground = bpy.data.objects.new("Ground", mesh)
    bpy.context.scene.collection.objects.link(ground)
    modifier: Any = ground.modifiers.new("Cast", "CAST")
    modifier.object = ob("Unconcerned")
    ob("Pole").parent, ob("Pole").parent_type = ground, "VERTEX"
    update()
    ob("Unconcerned").location = (0.5, 2.0, 0.3)


def driven_by(rig: bpy.types.Object, path: str, *index: int) -> None:
    """Drive something by a number of the scene, and change that together with what comes."""
    scene: Any = bpy.context.scene
    scene["read"] = 0.6
    driver: Any = rig.driver_add(path, *index).driver
    driver.type = "SUM"
    variable = driver.variables.new()
    variable.targets[0].id_type, variable.targets[0].id = "SCENE", scene
    variable.targets[0].data_path = '["read"]'
    update()
    scene["read"] = 0.2
    scene.update_tag()


def change_what_drives_a_bone(rig: bpy.types.Object) -> None:
    driven_by(rig, 'pose.bones["B0"].location', 0)


def change_what_drives_a_setting(rig: bpy.types.Object) -> None:
    driven_by(rig, "fabrik.constraints[0].influence")


def change_what_drives_a_limit(rig: bpy.types.Object) -> None:
    rig.fabrik.constraints[0].solver = "LOOK_AT"
    driven_by(rig, "fabrik.constraints[0].look.limit_angle")


TOGETHER = (
    move_target,
    move_pole,
    pose_other,
    pose_rig,
    change_setting,
    change_joint,
    move_what_shapes_the_ground_of_the_pole,
    change_what_drives_a_bone,
    change_what_drives_a_setting,
    change_what_drives_a_limit,
)


@pytest.mark.parametrize("edit", TOGETHER)
@pytest.mark.parametrize("beside", (select, select_bone, add_object, remove_object))
def test_what_is_no_concern_hides_nothing_that_is(
    rig: bpy.types.Object, edit: Callable[[Any], None], beside: Callable[[Any], None]
) -> None:
    constrain_bone(rig)
    update()
    edit(rig)
    beside(rig)
    update()
    assert_as_new()


CONCERNED = (
    hang_on_itself,
    let_go,
    hang_elsewhere,
    hang_on_a_parent_of_parents,
    constrain_target,
    constrain_bone,
    mute_constraint,
    remove_constraint,
    drive_target,
    drive_no_more,
    take_the_driver_away,
    drive_bone,
    key_bone,
    give_the_action_away,
    push_down,
    remove_target,
    remove_pole,
    remove_other_rig,
    rename_target,
    rename_bone,
    add_rig,
    duplicate,
    add_by_script,
    remove_by_script,
    give_two_one_name,
    first_constraint_elsewhere,
    edit_rest_pose,
    connect_bone,
    swap_data,
    hide_target,
    watch_a_collection,
)


@pytest.mark.parametrize("edit", CONCERNED)
def test_what_is_kept_says_what_a_new_one_says(
    rig: bpy.types.Object, edit: Callable[[Any], None]
) -> None:
    edit(rig)
    update()
    assert_as_new()


@pytest.fixture
def moving(rig: bpy.types.Object) -> bpy.types.Object:
    """The same with both armatures keyed, so that each frame evaluates them, edited or not."""
    for armature in (rig, ob("Other")):
        for frame, y in ((1, 0.0), (20, 0.5)):
            armature.location.y = y
            armature.keyframe_insert("location", index=1, frame=frame)
    update()
    go(2)
    return rig


@pytest.mark.parametrize("edit", (*TOGETHER, *CONCERNED))
def test_what_is_edited_before_a_frame_is_noticed_in_it(
    moving: bpy.types.Object, edit: Callable[[Any], None]
) -> None:
    if edit in TOGETHER:
        constrain_bone(moving)
    update()
    go(3)
    edit(moving)
    go(4)
    assert_as_new()


def mute_what_was_there(rig: bpy.types.Object) -> None:
    rig.pose.bones["B2"].constraints[0].mute = True


@pytest.mark.parametrize("edit", (rename_bone, mute_what_was_there))
@pytest.mark.parametrize("moment", ("frame_change_pre", "frame_change_post"))
def test_what_others_edit_while_the_frame_changes_is_noticed(
    moving: bpy.types.Object, edit: Callable[[Any], None], moment: str
) -> None:
    def once(scene: bpy.types.Scene, _unused: object = None) -> None:
        if scene.frame_current == 4:
            edit(moving)

    constrain_bone(moving)
    update()
    called: Any = getattr(bpy.app.handlers, moment)
    called.append(once)
    try:
        bpy.context.scene.frame_set(3)
        bpy.context.scene.frame_set(4)
    finally:
        called.remove(once)
    assert_as_new()


@pytest.mark.parametrize("has_others", [False, True])
def test_a_keyed_constraint_of_blenders_is_noticed_where_it_is_switched(
    moving: bpy.types.Object, has_others: bool
) -> None:
    def other(_scene: bpy.types.Scene, _unused: object = None) -> None:
        """Do nothing, as the handler of another add-on."""

    constrain_bone(moving)
    con = moving.pose.bones["B2"].constraints[0]
    key(con, "mute", {1: True, 5: False})
    update()
    called: Any = bpy.app.handlers.frame_change_post
    called.extend([other] * has_others)
    try:
        for frame in (3, 5, 7, 4):
            go(frame)
            assert_as_new()
    finally:
        called[:] = [handler for handler in called if handler != other]


def test_nobody_is_asked_who_it_is_where_a_frame_is_played(
    moving: bpy.types.Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among thousands of moving objects that would take longer than all else."""
    asked: list[object] = []
    for place in ("list armatures", "list geometry"):
        monkeypatch.setattr(*PLACES[place], asked.append)
    before = shown_bits(moving)
    go(3)
    assert asked == []
    assert shown_bits(moving) != before


def assert_as_new() -> None:
    """What is shown and said is so too after all was planned and solved anew."""
    seen = told()
    bpy.context.scene.frame_set(bpy.context.scene.frame_current)
    assert told() == seen
    forget()
    for armature in armatures():
        armature.update_tag()
    update()
    assert told() == seen


def told() -> dict[str, object]:
    return {
        armature.name: (
            shown_bits(armature),
            [(item.state, item.message) for item in armature.fabrik.constraints],
            declared(armature),
        )
        for armature in armatures()
    }


def armatures() -> list[Any]:
    return [one for one in bpy.context.scene.objects if one.type == "ARMATURE"]


def test_a_script_that_adds_many_has_all_planned_once(
    rig: bpy.types.Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    for place in ("make a plan", "declare"):
        count(monkeypatch, place, lambda *_, place=place: made.append(place))
    for i in range(20):
        item = rig.fabrik.constraints.add()
        item.name, item.bone, item.target = f"More {i}", "B3", ob("Hand")
        item.chain_count, item.pole_target, item.use_rotation = 1, ob("Pole"), False
    assert made == []
    update()
    assert made.count("make a plan") == 1
    assert made.count("declare") <= 4
    assert {item.state for item in rig.fabrik.constraints} <= {
        "REACHED",
        "OUT_OF_REACH",
        "CONFLICT",
    }


def test_a_bone_that_is_not_there_is_no_reason_to_tell_of_dependencies_again(
    rig: bpy.types.Object,
) -> None:
    """Each time would have the animation played, over what was written of other armatures."""
    other = ob("Other")
    add_constraint(ob("Idle"), "B1", other, subtarget="Nowhere")
    update()
    for frame in (1, 2):
        assert not declare(ob("Idle"))
        bpy.context.scene.frame_set(frame)
    rig.fabrik.constraints[0].keyframe_insert("influence", frame=1)
    rig.fabrik.constraints[0].keyframe_insert("influence", frame=5)
    update()
    assert_as_new()
    other.data.bones["B1"].name = "Nowhere"
    update()
    assert ob("Idle").fabrik.constraints[0].state != "INVALID"
    assert (other, "Nowhere") in declared(ob("Idle"))
    assert_as_new()


def test_what_a_script_has_set_is_told_of_before_it_is_saved(rig: bpy.types.Object) -> None:
    """Whoever links the file cannot declare it."""
    ob("Idle").fabrik.constraints.add().target = ob("Pole")
    ob("Idle").fabrik.constraints[0].bone = "B1"
    assert ob("Idle").animation_data is None
    bpy.ops.wm.save_as_mainfile(filepath=f"{bpy.app.tempdir}saved.blend")
    drivers = ob("Idle").animation_data.drivers
    assert [d.driver.variables[0].targets[0].id for d in drivers] == [ob("Pole")]


@pytest.mark.parametrize("setting", ["chain_count", "swing_x"])
def test_settings_are_changed_after_another_armature_was_removed(
    rig: bpy.types.Object, setting: str, capfd: pytest.CaptureFixture[str]
) -> None:
    other = ob("Other")
    bpy.data.objects.remove(ob("Hand"))
    item = add_constraint(other, "B2", ob("Pole"), chain_count=2)
    update()
    bpy.data.objects.remove(rig)
    owner = item if setting == "chain_count" else other.pose.bones["B1"].fabrik_joint
    setattr(owner, setting, 1)
    update()
    assert_as_new()
    assert "Traceback" not in "".join(capfd.readouterr())


def stored_in(rig: bpy.types.Object) -> list[object]:
    """Return the names and keys that a file holds of a rig."""
    bones = [(bone.name, bone.fabrik_name) for bone in rig.pose.bones]
    return [*bones, *((item.name, item.key, item.bone) for item in rig.fabrik.constraints)]


def rename_and_copy(rig: bpy.types.Object) -> list[object]:
    """Give a bone another name and two constraints the same; return what the file holds then."""
    one, other = rig.fabrik.constraints
    rig.pose.bones["B2"].name = "Hand"
    other.key, other.name = one.key, one.name
    forget()
    return stored_in(rig)


@pytest.fixture
def doubled() -> bpy.types.Object:
    """A chain with two constraints on its tip."""
    rig, target = make_chain(), make_empty()
    for _ in range(2):
        add_constraint(rig, "B2", target)
    update()
    return rig


def test_planning_writes_nothing(doubled: bpy.types.Object) -> None:
    """Names are followed, and keys given, by the next update of a viewport."""
    before = rename_and_copy(doubled)
    assert [chain.problem for chain in planned(doubled)] == ["", ""]
    assert stored_in(doubled) == before
    update(doubled)
    assert [item.bone for item in doubled.fabrik.constraints] == ["Hand", "Hand"]
    assert doubled.pose.bones["Hand"].fabrik_name == "Hand"
    assert len({item.key for item in doubled.fabrik.constraints}) == 2
    assert len({item.name for item in doubled.fabrik.constraints}) == 2


def test_a_render_writes_nothing(doubled: bpy.types.Object) -> None:
    """The plan that the second frame needs leaves names and keys as they are."""
    scene = bpy.context.scene
    before: list[object] = []

    def look(depsgraph: bpy.types.Depsgraph) -> object:
        if depsgraph.scene.frame_current == 1:
            before.extend(rename_and_copy(doubled))
            return None
        return stored_in(doubled)

    scene.frame_start, scene.frame_end = 1, 2
    with witnessed(look) as seen:
        bpy.ops.render.render(animation=True)
        assert [bool(chain.problem) for chain in planned(doubled)] == [False, False]
    assert seen[2] == before != []


def test_nothing_is_kept_of_an_armature_without_constraints() -> None:
    rigs = [make_chain(3, name) for name in ("One", "Two")]
    for rig in rigs:
        add_constraint(rig, "B2", make_empty(location=(0.4, 0.9, 1.5)))
    update()
    first, second = (rig.session_uid for rig in rigs)
    assert kept() == ({first, second}, {first, second})
    rigs[0].fabrik.constraints.clear()
    forget()
    update()
    assert kept() == ({second}, {second})


def test_a_list_that_a_script_changed_while_hidden_is_planned_anew(
    rig: bpy.types.Object, capfd: pytest.CaptureFixture[str]
) -> None:
    """Blender does not evaluate what is hidden, and then another armature has all planned."""
    target = rig.fabrik.constraints[0].target
    for bone in ("B1", "B2"):
        add_constraint(rig, bone, target, solver="LOOK_AT", name=bone)
    update()
    rig.hide_viewport = True
    update()
    rig.fabrik.constraints.remove(0)
    ob("Other").fabrik.constraints[0].chain_count = 2
    update()
    assert [(one.item, one.name) for one in planned(rig)] == [(0, "B1"), (1, "B2")]
    assert capfd.readouterr().out == ""
