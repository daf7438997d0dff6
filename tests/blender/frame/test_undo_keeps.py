"""After undo and redo only what changed is planned, read and solved again, and nothing is stale.

Blender reads the data-blocks again that differ, and keeps the others. Whatever follows what, in
many ways, must show and report what a new session would.
"""

import bpy
import pytest
import rigs
from inside import forget

from addon.frame import chain
from addon.plan import planner

pytestmark = pytest.mark.usefixtures("silent")

NAMES = ("Plain", "Parented", "Behind", "Followed", "Carried", "Poled", "Keyed", "Moved", "Bound")


def target_of(name, location=(1.0, 0.3, 2.0)):
    return rigs.make_empty(f"{name} Target", location)


def make(tmp_path, saved="kept.blend"):
    """Make chains that depend on other objects in many ways, and open the file with them."""
    made = {}
    for i, name in enumerate(NAMES):
        made[name] = rig = rigs.make_chain(name=name)
        rig.location.y = 3.0 * i
        rig.pose.bones["B1"].rotation_quaternion = (0.8, 0.6, 0, 0)
        target = target_of(name, (1.0, 3.0 * i + 0.3, 2.0))
        rigs.add_constraint(rig, "B2", target, chain_count=2)
    objects = bpy.data.objects
    above = rigs.make_empty("Above", (0.1, 0.0, 0.2))
    objects["Parented Target"].parent = above
    behind = made["Behind"].fabrik.constraints[0]
    behind.target, behind.subtarget = made["Plain"], "B2"
    follow = made["Followed"].pose.bones["B0"].constraints.new("COPY_LOCATION")
    follow.target = rigs.make_empty("Seat", (0.0, 9.0, 0.3))
    made["Carried"].parent = rigs.make_empty("Carrier", (0.2, 0.0, 0.0))
    made["Poled"].fabrik.constraints[0].pole_target = rigs.make_empty("Pole", (3.0, 15.0, 1.0))
    bind = objects["Bound Target"].constraints.new("COPY_LOCATION")
    bind.target, bind.influence = rigs.make_empty("Leader", (0.5, 24.0, 1.5)), 0.5
    rigs.key(objects["Keyed Target"], "location", {1: (1, 18, 2), 20: (0, 18, 2)})
    rigs.key(made["Moved"], "location", {1: (0, 21, 0), 20: (1, 21, 0)})
    rigs.update()
    rigs.go(5)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / saved))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / saved))
    rigs.update()


def step(message):
    rigs.update()
    bpy.ops.ed.undo_push(message=message)


def shown():
    """What each armature shows and says, and its FK pose."""
    armatures = [ob for ob in bpy.data.objects if ob.type == "ARMATURE"]
    return {
        rig.name: (
            rigs.pose_bits(rig),
            rigs.channels_bits(rig),
            [(item.name, item.state, item.message, item.error) for item in rig.fabrik.constraints],
        )
        for rig in armatures
        if rigs.evaluated(rig).is_evaluated
    }


def anew():
    """What they show in a new session."""
    forget()
    for ob in bpy.data.objects:
        ob.update_tag()
    rigs.update()
    return shown()


def key(name, path, frame=5):
    bpy.data.objects[name].keyframe_insert(path, frame=frame)


def add(name):
    rig = bpy.data.objects[name]
    rigs.add_constraint(rig, "B1", bpy.data.objects["Seat"], chain_count=1, influence=0.5)


def remove(name):
    rig = bpy.data.objects[name]
    rig.fabrik.constraints.remove(0)
    rig.update_tag()


def rest(name):
    rigs.activate(bpy.data.objects[name], "EDIT")
    bpy.data.objects[name].data.edit_bones["B1"].tail.x += 0.3
    bpy.ops.object.mode_set(mode="OBJECT")


def edit(path, value):
    """Return an edit that sets a property of an object, by name and path."""
    name, _, rest_of_path = path.partition(".")
    owner, _, prop = rest_of_path.rpartition(".")

    def change():
        ob = bpy.data.objects[name]
        setattr(ob.path_resolve(owner) if owner else ob, prop, value)

    return change


def linked(name):
    bpy.context.scene.collection.objects.unlink(bpy.data.objects[name])


EDITS = {
    "a target moved": edit("Plain Target.location", (0.0, 1.0, 2.0)),
    "a parent of a target moved": edit("Above.location", (0.0, 0.2, 0.1)),
    "what a bone follows moved": edit("Seat.location", (0.3, 9.0, 0.2)),
    "the parent of an armature moved": edit("Carrier.location", (0.0, 0.5, 0.0)),
    "a pole moved": edit("Pole.location", (-3.0, 15.0, 1.0)),
    "what a target's constraint follows moved": edit("Leader.location", (1.0, 25.0, 1.0)),
    "a target's constraint changed": edit("Bound Target.constraints[0].influence", 0.9),
    "a target's constraint muted": edit("Bound Target.constraints[0].mute", True),
    "an armature moved": edit("Plain.location", (0.2, 0.1, 0.0)),
    "a target renamed": edit("Plain Target.name", "Renamed"),
    "a constraint renamed": edit("Plain.fabrik.constraints[0].name", "Renamed"),
    "a bone renamed": lambda: setattr(bpy.data.objects["Plain"].data.bones["B2"], "name", "Tip"),
    "a target deleted": lambda: bpy.data.objects.remove(bpy.data.objects["Parented Target"]),
    "an armature deleted": lambda: bpy.data.objects.remove(bpy.data.objects["Plain"]),
    "a constraint added": lambda: add("Carried"),
    "a constraint removed": lambda: remove("Plain"),
    "a constraint removed behind": lambda: remove("Behind"),
    "a setting changed": edit("Poled.fabrik.constraints[0].pole_angle", 0.7),
    "a chain changed": edit("Plain.fabrik.constraints[0].chain_count", 1),
    "a constraint disabled": edit("Plain.fabrik.constraints[0].enabled", False),
    "a target keyed": lambda: key("Plain Target", "location"),
    "an influence keyed": lambda: key("Plain", "fabrik.constraints[0].influence"),
    "a key moved": lambda: rigs.key(bpy.data.objects["Keyed Target"], "location", {5: (0, 17, 1)}),
    "a target parented": lambda: setattr(
        bpy.data.objects["Plain Target"], "parent", bpy.data.objects["Above"]
    ),
    "a target parented to a solved bone": lambda: hang("Poled Target", "Plain"),
    "a target's parent parented to a solved bone": lambda: hang("Above", "Plain"),
    "what a bone follows is parented to a solved bone": lambda: hang("Seat", "Poled"),
    "a native constraint muted": lambda: mute("Followed"),
    "a native constraint added": lambda: (
        bpy.data.objects["Plain"].pose.bones["B1"].constraints.new("LIMIT_ROTATION")
    ),
    "a bone posed": edit('Plain.pose.bones["B0"].rotation_quaternion', (0.6, 0.0, 0.8, 0.0)),
    "a rest pose edited": lambda: rest("Plain"),
    "an armature hidden": edit("Plain.hide_viewport", True),
    "a target hidden": edit("Plain Target.hide_viewport", True),
    "an armature unlinked": lambda: linked("Carried"),
    "a target unlinked": lambda: linked("Plain Target"),
    "a frame": lambda: rigs.go(9),
    "an object added": lambda: rigs.make_empty("New"),
    "Rest Position": lambda: setattr(bpy.data.objects["Plain"].data, "pose_position", "REST"),
    "a joint limited": lambda: limit("Plain"),
}


def limit(name):
    joint = bpy.data.objects[name].pose.bones["B1"].fabrik_joint
    joint.limit_type, joint.hinge_max = "HINGE", 0.2


def mute(name):
    bpy.data.objects[name].pose.bones["B0"].constraints[0].mute = True


def hang(name, armature):
    ob = bpy.data.objects[name]
    ob.parent, ob.parent_type = bpy.data.objects[armature], "BONE"
    ob.parent_bone = "B2"


@pytest.mark.rows("name")
@pytest.mark.parametrize("name", EDITS)
def test_nothing_is_stale_after_undo_and_redo(name, tmp_path):
    make(tmp_path)
    step("start")
    start = shown()
    EDITS[name]()
    step("edit")
    edited = shown()
    bpy.data.objects["Seat"].location.z += 0.1
    step("another edit")
    further = shown()

    for operator, expected in (
        (bpy.ops.ed.undo, edited),
        (bpy.ops.ed.undo, start),
        (bpy.ops.ed.redo, edited),
        (bpy.ops.ed.redo, further),
    ):
        operator()
        rigs.update()
        assert shown() == expected
    bpy.ops.ed.undo()
    bpy.ops.ed.undo()
    assert shown() == anew() == start


def test_what_moved_while_an_armature_was_hidden_is_not_stale_after_undo(tmp_path):
    make(tmp_path)
    objects = bpy.data.objects
    poses = []
    for change in (
        lambda: None,
        lambda: setattr(objects["Plain"], "hide_viewport", True),
        lambda: setattr(objects["Plain Target"], "location", (0.0, 1.0, 2.0)),
        lambda: setattr(objects["Plain"], "hide_viewport", False),
    ):
        change()
        step("step")
        poses.append(shown())
    for expected in poses[-2::-1]:
        bpy.ops.ed.undo()
        assert shown() == expected
    for expected in poses[1:]:
        bpy.ops.ed.redo()
        assert shown() == expected


def test_edits_that_are_no_step_are_not_lost(tmp_path):
    """A script edits without an undo step: Blender keeps what it has edited."""
    make(tmp_path)
    step("start")
    bpy.data.objects["Pole"].location.x += 0.1
    step("edit")
    bpy.data.objects["Plain Target"].location = (0.0, 1.0, 2.0)
    bpy.data.objects["Carried"].pose.bones["B0"].rotation_quaternion = (0.6, 0.0, 0.8, 0.0)
    bpy.data.objects["Followed"].fabrik.constraints[0].chain_count = 1

    bpy.ops.ed.undo()
    rigs.update()

    assert shown() == anew()


def test_only_what_changed_is_planned_and_solved_again(tmp_path, monkeypatch):
    make(tmp_path)
    step("start")
    bpy.data.objects["Plain Target"].location.x += 0.1
    step("edit")
    solved = []
    solve = chain.pose_in_world
    monkeypatch.setattr(chain, "pose_in_world", lambda *args: solved.append(0) or solve(*args))
    plans = {rig.object.name: rig for rig in planner.current().rigs.values()}
    for operator in (bpy.ops.ed.undo, bpy.ops.ed.redo):
        solved.clear()
        operator()
        new = {rig.object.name: rig for rig in planner.current().rigs.values()}
        # Another follows it, and opening the file has tagged what animation moves.
        again = {name for name in NAMES if new[name] is not plans[name]}
        assert again <= {"Plain", "Behind", "Moved"}
        assert len(solved) == 2
        plans = new
