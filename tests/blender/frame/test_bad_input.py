"""What can't work is reported at the constraint; all else continues, and the console stays
silent.
"""

import math
import random

import bpy
import pytest
import rigs

NAN, HUGE = float("nan"), 3e38
"""Blender cuts infinite channels to the largest float; the product of two is infinite."""


@pytest.fixture
def good(empty_file):
    """A chain that can be solved, beside whatever is broken."""
    rig = rigs.make_chain(name="Good")
    rigs.add_constraint(rig, "B2", rigs.make_empty("Good target", (0, 1, 2)))
    return rig


@pytest.fixture
def rig(empty_file):
    """Two arms on a root; the left one works."""
    bones = {"Root": ((0, 0, 0), (0, 0, 1), "")}
    for side, x in (("L", 1), ("R", -1)):
        bones[f"Upper.{side}"] = ((0, 0, 1), (x, 0.1, 1), "Root")
        bones[f"Lower.{side}"] = ((x, 0.1, 1), (2 * x, 0, 1), f"Upper.{side}")
        bones[f"Hand.{side}"] = ((2 * x, 0, 1), (2.5 * x, 0, 1), f"Lower.{side}")
    rig = rigs.make_armature(bones)
    rigs.add_constraint(rig, "Lower.L", rigs.make_empty("Left", (1, 0.5, 1.5)), chain_count=2)
    rig.pose.bones["Upper.R"].rotation_quaternion = (0.8, 0.6, 0, 0)
    rigs.update()
    return rig


def turns(rig):
    """The numbers of the bones that the broken constraints would pose."""
    names = ("Root", "Upper.R", "Lower.R", "Hand.R")
    shown = rigs.shown_bones(rig)
    return [tuple(shown[name].rotation_quaternion) for name in names]


def unknown_bone(rig):
    return rigs.add_constraint(rig, "Nowhere", rigs.make_empty()), "Nowhere"


def no_bone(rig):
    return rigs.add_constraint(rig, "", rigs.make_empty()), "tip bone"


def nothing_set(rig):
    item = rig.fabrik.constraints.add()
    rig.update_tag()
    return item, "tip bone"


def head_of_the_root(rig):
    return rigs.add_constraint(rig, "Root", rigs.make_empty(), use_tail=False), "Use Tail"


def two_bone_on_three(rig):
    return rigs.add_constraint(rig, "Lower.R", rigs.make_empty(), solver="TWO_BONE"), "2 bones"


def two_bone_on_one(rig):
    item = rigs.add_constraint(rig, "Lower.R", rigs.make_empty(), solver="TWO_BONE", chain_count=1)
    return item, "2 bones"


def no_target(rig):
    return rigs.add_constraint(rig, "Lower.R", chain_count=2), "target"


def deleted_target(rig):
    target = rigs.make_empty("Doomed")
    item = rigs.add_constraint(rig, "Lower.R", target, chain_count=2)
    rigs.update()
    bpy.data.objects.remove(target)
    return item, "target"


def unknown_target_bone(rig):
    item = rigs.add_constraint(rig, "Lower.R", rig, subtarget="Nobody", chain_count=2)
    return item, "Nobody"


def unknown_pole_bone(rig):
    item = rigs.add_constraint(rig, "Lower.R", rigs.make_empty(), chain_count=2)
    item.pole_target, item.pole_subtarget = rig, "Nobody"
    return item, "Nobody"


def its_own_tip(rig):
    return rigs.add_constraint(rig, "Lower.R", rig, subtarget="Lower.R", chain_count=2), "chain"


def its_own_root(rig):
    return rigs.add_constraint(rig, "Lower.R", rig, subtarget="Upper.R", chain_count=2), "chain"


def its_own_hand(rig):
    return rigs.add_constraint(rig, "Lower.R", rig, subtarget="Hand.R", chain_count=2), "chain"


def child_of_the_chain(rig):
    target = rigs.make_empty("Held")
    target.parent, target.parent_type, target.parent_bone = rig, "BONE", "Hand.R"
    return rigs.add_constraint(rig, "Lower.R", target, chain_count=2), "chain"


def grandchild_of_the_chain(rig):
    held, target = rigs.make_empty("Held"), rigs.make_empty("Tied")
    held.parent, held.parent_type, held.parent_bone = rig, "BONE", "Hand.R"
    constraint = target.constraints.new("CHILD_OF")
    constraint.target = held
    return rigs.add_constraint(rig, "Lower.R", target, chain_count=2), "chain"


def pole_in_the_chain(rig):
    item = rigs.add_constraint(rig, "Lower.R", rigs.make_empty(), chain_count=2)
    item.pole_target, item.pole_subtarget = rig, "Hand.R"
    return item, "chain"


def target_nowhere(rig):
    return rigs.add_constraint(
        rig, "Lower.R", rigs.make_empty("Lost", (NAN, 0, 0)), chain_count=2
    ), "Lost"


def target_infinitely_far(rig):
    target = rigs.make_empty("Lost", (0, HUGE, 0))
    target.parent = rigs.make_empty("Far", (0, 0, 0))
    target.parent.scale = (HUGE, HUGE, HUGE)
    return rigs.add_constraint(rig, "Lower.R", target, chain_count=2), "Lost"


def pole_nowhere(rig):
    item = rigs.add_constraint(rig, "Lower.R", rigs.make_empty(), chain_count=2)
    item.pole_target = rigs.make_empty("Lost", (0, 0, NAN))
    return item, "Lost"


def bone_nowhere(rig):
    rig.pose.bones["Upper.R"].scale = (NAN, 1, 1)
    return rigs.add_constraint(rig, "Lower.R", rigs.make_empty(), chain_count=2), "invalid position"


def bone_without_a_turn(rig):
    rig.pose.bones["Lower.R"].rotation_mode = "XYZ"
    rig.pose.bones["Lower.R"].rotation_euler = (0, NAN, 0)
    return rigs.add_constraint(rig, "Lower.R", rigs.make_empty(), chain_count=2), "invalid position"


BROKEN = (
    unknown_bone,
    no_bone,
    nothing_set,
    head_of_the_root,
    two_bone_on_three,
    two_bone_on_one,
    no_target,
    deleted_target,
    unknown_target_bone,
    unknown_pole_bone,
    its_own_tip,
    its_own_root,
    its_own_hand,
    child_of_the_chain,
    grandchild_of_the_chain,
    pole_in_the_chain,
    target_nowhere,
    target_infinitely_far,
    pole_nowhere,
    bone_nowhere,
    bone_without_a_turn,
)


@pytest.mark.parametrize("breaking", BROKEN)
def test_it_is_said_and_the_others_go_on(good, rig, breaking, capfd):
    given = turns(rig)
    capfd.readouterr()
    item, word = breaking(rig)
    rigs.update()
    rigs.go(*range(50))

    assert item.state == "INVALID"
    assert word in item.message
    assert ":" in item.message  # What is wrong: what to do about it.
    assert turns(rig) == given
    assert rig.fabrik.constraints[0].state == "REACHED"
    assert rigs.tip_error(rig, "Lower.L", bpy.data.objects["Left"]) < 1e-3
    assert good.fabrik.constraints[0].state == "REACHED"
    assert rigs.tip_error(good, "B2", bpy.data.objects["Good target"]) < 1e-3
    assert "".join(capfd.readouterr()) == ""


@pytest.mark.parametrize("breaking", BROKEN)
def test_broken_constraint_first_in_the_list_stops_nobody(rig, breaking):
    breaking(rig)
    rig.fabrik.constraints.move(1, 0)
    rigs.update(rig)
    bpy.data.objects["Left"].location = (1, -0.5, 1.5)
    rigs.update()
    rigs.go(2)

    assert [item.state for item in rig.fabrik.constraints] == ["INVALID", "REACHED"]
    assert rigs.tip_error(rig, "Lower.L", bpy.data.objects["Left"]) < 1e-3


@pytest.mark.parametrize("breaking", BROKEN)
def test_switched_off_it_is_silent(rig, breaking):
    item, _ = breaking(rig)
    item.enabled = False
    rigs.update()

    assert (item.state, item.message) == ("DISABLED", "")


def test_target_that_comes_back_to_a_place_works_at_once(rig):
    item, _ = target_nowhere(rig)
    rigs.update()
    assert item.state == "INVALID"

    bpy.data.objects["Lost"].location = (-1, 0.5, 1.5)
    rigs.update()

    assert item.state == "REACHED"
    bpy.data.objects["Lost"].location = (NAN, NAN, NAN)
    rigs.update()
    assert item.state == "INVALID"
    assert turns(rig)[1] == pytest.approx((0.8, 0.6, 0, 0))
    assert all(math.isfinite(x) for numbers in turns(rig) for x in numbers)


def test_two_that_wait_for_each_other_are_named(rig, capfd):
    capfd.readouterr()
    first = rig.fabrik.constraints[0]
    first.name = "Left arm"
    second = rigs.add_constraint(rig, "Lower.R", rig, subtarget="Hand.L", chain_count=2)
    second.name = "Right arm"
    first.target, first.subtarget = rig, "Hand.R"
    for frame in range(20):
        rigs.go(frame)
        rigs.update()

    broken = [item for item in (first, second) if item.state == "INVALID"]
    assert broken
    for item in broken:
        assert "Left arm" in item.message
        assert "Right arm" in item.message
    assert "".join(capfd.readouterr()) == ""


def test_cycle_is_free_of_history(rig):
    second = rigs.add_constraint(rig, "Lower.R", rig, subtarget="Hand.L", chain_count=2)
    rig.fabrik.constraints[0].target = rig
    rig.fabrik.constraints[0].subtarget = "Hand.R"
    rig.keyframe_insert("location", frame=1)
    rigs.go(5)
    first = rigs.pose_bits(rig)
    rigs.go(1, 9, 5)
    assert rigs.pose_bits(rig) == first
    assert second.state != "DISABLED"


@pytest.mark.parametrize("what", ["armature", "its parent", "target"])
@pytest.mark.parametrize("scale", [(0, 0, 0), (1, 0, 1), (HUGE, HUGE, HUGE), (NAN, 1, 1)])
def test_armature_without_a_finite_size(good, rig, what, scale, capfd):
    capfd.readouterr()
    given = turns(rig)
    item = rigs.add_constraint(
        rig, "Lower.R", rigs.make_empty("Right", (-1, 0.5, 1.5)), chain_count=2
    )
    ob = rig
    if what == "its parent":
        ob = rig.parent = rigs.make_empty("Parent", (0, 0, 0))
    elif what == "target":
        ob = bpy.data.objects["Right"]
    ob.scale = scale
    if scale[0] == HUGE and what != "target":
        ob.parent = rigs.make_empty("Large", (0, 0, 0))
        ob.parent.scale = scale
    rigs.update()
    rigs.go(*range(20))

    if what == "target":  # Only its place counts.
        assert item.state == "REACHED"
    else:
        assert item.state == "INVALID"
        assert rig.name in item.message
        assert turns(rig) == given
    assert good.fabrik.constraints[0].state == "REACHED"
    assert rigs.tip_error(good, "B2", bpy.data.objects["Good target"]) < 1e-3
    assert "".join(capfd.readouterr()) == ""

    for broken in (ob, ob.parent or ob):
        broken.scale = (1, 1, 1)
    rigs.update()
    assert item.state == "REACHED"


@pytest.mark.parametrize("place", [(NAN, 0, 0), (0, NAN, NAN)])
def test_armature_without_a_finite_place(good, rig, place):
    given = turns(rig)
    item = rigs.add_constraint(
        rig, "Lower.R", rigs.make_empty("Right", (-1, 0.5, 1.5)), chain_count=2
    )
    rig.location = place
    rigs.update()

    assert item.state == "INVALID"
    assert rig.name in item.message
    assert turns(rig) == given
    assert good.fabrik.constraints[0].state == "REACHED"


@pytest.mark.parametrize("solver", ["FABRIK", "TWO_BONE", "CCD"])
@pytest.mark.parametrize("bone", ["Root", "Upper.R", "Lower.R"])
@pytest.mark.parametrize("scale", [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1e-20, 1e-20, 1e-20)])
def test_bone_without_size_gives_no_nan(rig, solver, bone, scale, capfd):
    capfd.readouterr()
    target = rigs.make_empty("Right", (-1, 0.5, 1.5))
    item = rigs.add_constraint(rig, "Lower.R", target, chain_count=2, solver=solver)
    rig.pose.bones[bone].scale = scale
    rigs.update()
    rigs.go(2)

    assert all(math.isfinite(x) for numbers in turns(rig) for x in numbers)
    assert item.state in ("REACHED", "OUT_OF_REACH", "INVALID")
    assert "".join(capfd.readouterr()) == ""
    rig.pose.bones[bone].scale = (1, 1, 1)
    rigs.update()
    assert item.state == "REACHED"
    assert rigs.tip_error(rig, "Lower.R", target) < 1e-3


@pytest.mark.parametrize("name", ["rotation_quaternion", "location", "scale"])
@pytest.mark.parametrize("number", [NAN, HUGE, -1e30, 0.0, 1e-30])
def test_broken_channels_of_chain_bones_break_nothing_else(good, rig, name, number, capfd):
    capfd.readouterr()
    item = rigs.add_constraint(
        rig, "Lower.R", rigs.make_empty("Right", (-1, 0.5, 1.5)), chain_count=2
    )
    bone = rig.pose.bones["Upper.R"]
    before = tuple(getattr(bone, name))
    setattr(bone, name, [number] * len(before))
    rigs.update()
    rigs.go(3)

    assert item.state in ("INVALID", "REACHED", "OUT_OF_REACH")
    assert all(math.isfinite(x) for x in turns(rig)[2])
    assert rigs.tip_error(rig, "Lower.L", bpy.data.objects["Left"]) < 1e-3
    assert rigs.tip_error(good, "B2", bpy.data.objects["Good target"]) < 1e-3
    assert "".join(capfd.readouterr()) == ""
    setattr(bone, name, before)
    rigs.update()
    assert item.state == "REACHED"


@pytest.mark.parametrize("turn", ((0.0, 0.0, 0.0, 0.0), (1e-25, 0.0, 0.0, 0.0), (1e-15, 0, 0, 0)))
def test_a_quaternion_of_zeros_turns_a_bone_as_blender_turns_it(turn):
    """By half a turn about X; the bone is one that another constraint could pose."""
    rig = rigs.make_chain(3)
    target = rigs.make_empty(location=(0.3, 0.8, -0.5))
    rigs.add_constraint(rig, "B2", target, chain_count=2)
    rigs.add_constraint(rig, "B0", target, chain_count=1, solver="LOOK_AT").enabled = False
    rig.pose.bones["B0"].rotation_quaternion = turn
    rigs.update()
    assert rigs.tip_error(rig, "B2", target) < 1e-3


def out_of_range(item):
    """Yield each number among the settings with what is below and above its range, and the end."""
    from addon.settings.values import settings_in

    for prop in settings_in(type(item)):
        if prop.type in ("FLOAT", "INT") and not prop.is_array:
            for end, past in ((prop.hard_min, -7), (prop.hard_max, 7000)):
                if abs(end) < 1e30 and not (prop.type == "INT" and abs(end) == 2**31 - 1):
                    yield prop.identifier, end + past, end


def test_settings_out_of_range_are_brought_into_it(rig):
    item = rig.fabrik.constraints[0]
    found = [*out_of_range(item)]
    assert {"influence", "softness", "swing", "iterations", "chain_count"} < {n for n, *_ in found}
    for name, given, kept in found:
        before = getattr(item, name)
        setattr(item, name, given)
        rigs.update()
        assert getattr(item, name) == kept
        assert item.state != "INVALID" or name in ("chain_count", "weight")
        setattr(item, name, before)


def test_curves_out_of_range_are_brought_into_it(rig, capfd):
    from rigs import curves

    item = rig.fabrik.constraints[0]
    for name, given, kept in out_of_range(item):
        if not item.bl_rna.properties[name].is_animatable or (name, kept) == ("weight", 0.0):
            continue
        before = getattr(item, name)
        rig.keyframe_insert(f"fabrik.constraints[0].{name}", frame=1)
        curves(rig)[0].keyframe_points[0].co.y = given
        capfd.readouterr()
        rigs.go(5)

        assert item.state in ("REACHED", "OUT_OF_REACH", "DISABLED"), name
        assert (item.state == "DISABLED") == (name == "influence" and given < 0)
        for bone in rigs.evaluated(rig).pose.bones:
            assert all(math.isfinite(x) for row in bone.matrix for x in row)
        assert "".join(capfd.readouterr()) == ""
        rig.animation_data_clear()
        setattr(item, name, before)


def test_number_that_a_curve_makes_infinite_is_survived(rig, capfd):
    rig.driver_add("fabrik.constraints[0].influence").driver.expression = "1e300 * 1e300"
    rig.driver_add("fabrik.constraints[0].pole_angle").driver.expression = "1e300 * 1e300"
    capfd.readouterr()
    rigs.update()
    rigs.go(3)

    for bone in rigs.evaluated(rig).pose.bones:
        assert all(math.isfinite(x) for row in bone.matrix for x in row)
    assert "Traceback" not in "".join(capfd.readouterr())


def test_constraints_on_other_objects_are_ignored(good, capfd):
    capfd.readouterr()
    mesh = rigs.link(bpy.data.objects.new("Mesh", bpy.data.meshes.new("Mesh")))
    empty = rigs.make_empty("Empty")
    for ob in (mesh, empty):
        rigs.add_constraint(ob, "B2", bpy.data.objects["Good target"])
        ob.location.x = 3
    rigs.update()
    rigs.go(4)

    assert good.fabrik.constraints[0].state == "REACHED"
    assert mesh.fabrik.constraints[0].state == "DISABLED"
    assert "".join(capfd.readouterr()) == ""


def test_armature_without_pose_is_left_alone(good, capfd):
    capfd.readouterr()
    data = bpy.data.armatures.new("New")
    never_evaluated = bpy.data.objects.new("New", data)
    target = rigs.make_empty()
    rigs.add_constraint(never_evaluated, "B2", target)
    rigs.link(never_evaluated)
    rigs.update()
    rigs.go(4)

    item = never_evaluated.fabrik.constraints[0]
    assert item.state in ("INVALID", "DISABLED")
    assert good.fabrik.constraints[0].state == "REACHED"
    assert "".join(capfd.readouterr()) == ""


def test_bone_of_an_armature_without_pose_as_target(good, capfd):
    capfd.readouterr()
    other = bpy.data.objects.new("New", bpy.data.armatures.new("New"))
    item = good.fabrik.constraints[0]
    item.target, item.subtarget = other, "Bone"
    rigs.update()
    rigs.go(4)

    assert item.state == "INVALID"
    assert "New" in item.message
    assert "".join(capfd.readouterr()) == ""


def test_unset_subtarget_on_other_objects_is_ignored(good):
    item = good.fabrik.constraints[0]
    item.subtarget = "No bone of an Empty"
    rigs.update()

    assert item.state == "REACHED"


def test_quotes_and_unicode_in_names():
    rig = rigs.make_chain()
    names = ['B"0"', "B\\1", "Кость [2] “x”"]
    for bone, name in zip(list(rig.pose.bones), names, strict=True):
        bone.name = name
    rig.pose.bones[0].rotation_quaternion = (0.8, 0.6, 0, 0)
    for frame, w in ((1, 0.9), (20, 0.5)):
        rigs.key(rig.pose.bones[names[1]], "rotation_quaternion", {frame: (w, 0.1, 0.2, 0)})
    rigs.go(7)
    fk = rigs.pose_bits(rig), rigs.channels_bits(rig), rigs.shown_bits(rig)
    rigs.add_constraint(rig, names[2], rigs.make_empty())
    for frame in (20, 7):
        rigs.go(frame)
        assert rigs.tip_error(rig, names[2], bpy.data.objects["Target"]) < 1e-3

    rig.fabrik.constraints[0].enabled = False
    rigs.go(7)
    assert (rigs.pose_bits(rig), rigs.channels_bits(rig), rigs.shown_bits(rig)) == fk


def test_many_broken_ones_among_many(capfd):
    """Fifty chains, every other one broken in its own way."""
    dice = random.Random(3)
    target = rigs.make_empty("Goal", (0.5, 0.5, 1.5))
    armatures = []
    for i in range(50):
        rig = rigs.make_chain(3, f"Rig {i}")
        item = rigs.add_constraint(rig, "B2", target)
        if i % 2:
            setattr(item, *dice.choice([("bone", "?"), ("target", None), ("solver", "TWO_BONE")]))
        armatures.append(rig)
    capfd.readouterr()
    rigs.go(*range(10))
    rigs.update()

    states = [rig.fabrik.constraints[0].state for rig in armatures]
    assert states == ["REACHED", "INVALID"] * 25
    assert "".join(capfd.readouterr()) == ""


@pytest.mark.parametrize("expression", ["bone.rotation_mode = 'XYZ'", "bone.name = 'Else'"])
def test_edits_to_a_broken_chain_are_only_edits(rig, expression):
    item, _ = no_target(rig)
    rigs.update()
    bone = rig.pose.bones["Upper.R"]
    exec(expression)
    rigs.update()
    rigs.go(2)

    assert item.state == "INVALID"
    assert tuple(bone.matrix_basis.to_quaternion()) == pytest.approx((0.8, 0.6, 0, 0), abs=1e-5)
