"""Whatever the target is, moves by or hides behind; and silence while nothing happens."""

from contextlib import contextmanager
from math import radians

import bpy
import pytest
import rigs
from inside import count, solver_calls
from kept_files import reopen
from rigs import update

FRAMES = (1, 10, 20, 10)


@pytest.fixture
def rig(empty_file):
    return rigs.make_chain()


def constrained(rig, target, **settings):
    item = rigs.add_constraint(rig, "B2", target, **settings)
    update()
    return item


def reached(rig, target):
    return (
        rig.fabrik.constraints[0].state == "REACHED"
        and rigs.tip_error(rig, "B2", target) < 1e-3
        and rig.fabrik.constraints[0].message == ""
    )


def keyed_along(ob):
    """Let an object go from one place to another between frames 1 and 20."""
    rigs.key(ob, "location", {1: (1, 0, 2), 20: (-1, 0.5, 1)})


def holder():
    ob = rigs.make_empty("Holder", (0, 0, 0))
    keyed_along(ob)
    return ob


def animated():
    target = rigs.make_empty()
    keyed_along(target)
    return target


def mesh():
    ob = rigs.link(bpy.data.objects.new("Mesh", bpy.data.meshes.new("Mesh")))
    keyed_along(ob)
    return ob


def parented():
    target = rigs.make_empty(location=(0.1, 0.2, -0.1))
    target.parent = holder()
    return target


def parented_thrice():
    target, middle = rigs.make_empty(location=(0.1, 0, 0)), rigs.make_empty("Middle", (0, 0.1, 0))
    middle.rotation_euler.z = 1.0
    target.parent, middle.parent = middle, holder()
    return target


def child_of():
    target = rigs.make_empty(location=(0.1, 0.2, 0))
    target.constraints.new("CHILD_OF").target = holder()
    return target


def copy_location():
    target = rigs.make_empty()
    target.constraints.new("COPY_LOCATION").target = holder()
    return target


def copy_location_half():
    target = rigs.make_empty(location=(0, 0.5, 1.5))
    constraint = target.constraints.new("COPY_LOCATION")
    constraint.target, constraint.influence = holder(), 0.5
    return target


def follow_path():
    curve = bpy.data.curves.new("Path", "CURVE")
    curve.use_path, curve.path_duration, curve.dimensions = True, 20, "3D"
    points = curve.splines.new("POLY").points
    points.add(2)
    for point, place in zip(points, ((1, 0, 2), (0, 1, 1.5), (-1, 0, 1)), strict=True):
        point.co = (*place, 1)
    path = rigs.link(bpy.data.objects.new("Path", curve))
    target = rigs.make_empty(location=(0, 0, 0))
    constraint = target.constraints.new("FOLLOW_PATH")
    constraint.target, constraint.use_fixed_location = path, True
    rigs.key(constraint, "offset_factor", {1: 0.0, 20: 1.0})
    return target


def driven():
    target = rigs.make_empty()
    rigs.drive(target.driver_add("location", 0), holder())
    return target


def vertex_of_a_mesh():
    """Parented to a vertex that a shape key moves."""
    mesh = bpy.data.meshes.new("Mesh")
    mesh.from_pydata([(1, 0, 2), (0, 1, 2), (0, 0, 3)], [], [(0, 1, 2)])
    ob = rigs.link(bpy.data.objects.new("Mesh", mesh))
    ob.shape_key_add(name="Basis")
    shape = ob.shape_key_add(name="Moved")
    for point in shape.data:
        point.co.x -= 1.5
    rigs.key(shape, "value", {1: 0.0, 20: 1.0})
    target = rigs.make_empty(location=(0, 0, 0))
    target.parent, target.parent_type = ob, "VERTEX"
    return target


def parent_scaled_unevenly():
    target = rigs.make_empty(location=(0.1, 0.2, -0.1))
    target.parent = holder()
    target.parent.scale, target.parent.rotation_euler = (2, 0.5, -1), (0.3, 0.2, 1)
    return target


def bone_child():
    """Parented to a keyed bone of another armature."""
    other = keyed_armature()
    target = rigs.make_empty(location=(0, -0.5, 0))
    target.parent, target.parent_type, target.parent_bone = other, "BONE", "B1"
    return target


def keyed_armature():
    other = rigs.make_chain(2, "Other", joints=((0.5, 0, 0.5), (0.8, 0, 1), (1, 0, 1.7)))
    for frame, angle in ((1, 0), (20, 70)):
        other.pose.bones["B0"].rotation_mode = "XYZ"
        other.pose.bones["B0"].rotation_euler.x = radians(angle)
        other.pose.bones["B0"].keyframe_insert("rotation_euler", frame=frame)
    return other


MOVING = (
    animated,
    mesh,
    parented,
    parented_thrice,
    child_of,
    copy_location,
    copy_location_half,
    follow_path,
    driven,
    vertex_of_a_mesh,
    parent_scaled_unevenly,
    bone_child,
)


@pytest.mark.parametrize("make", MOVING)
def test_moving_target_is_reached_at_every_frame(rig, make):
    target = make()
    constrained(rig, target)
    places = set()
    for frame in FRAMES:
        rigs.go(frame)
        assert reached(rig, target)
        places.add(tuple(rigs.world_location(target)))

    assert len(places) == 3


@pytest.mark.parametrize("make", MOVING)
def test_moving_pole_is_faced_at_every_frame(rig, make):
    """The same poles as at each frame alone, in an armature without a past."""
    goal = rigs.make_empty("Goal", (0.3, 0.2, 1.8))
    item = rigs.add_constraint(rig, "B2", goal)
    item.pole_target = make()
    for frame in FRAMES:
        rigs.go(frame)
        fixed = rigs.make_empty("Fixed", rigs.world_location(item.pole_target))
        fresh = rigs.make_chain(name="Fresh")
        rigs.add_constraint(fresh, "B2", goal, pole_target=fixed)
        update()
        for name in ("B0", "B1", "B2"):
            assert (rigs.tip_world(rig, name) - rigs.tip_world(fresh, name)).length < 1e-4


def test_the_weight_of_the_pole_turns_the_bend_part_of_the_way(rig):
    """From where it bends without a pole to where it faces the pole, and no farther."""
    goal = rigs.make_empty("Goal", (0.3, 0.2, 1.8))
    item = rigs.add_constraint(rig, "B2", goal, swing=1.0)
    update()
    without = rigs.tip_world(rig, "B0")
    item.pole_target = rigs.make_empty("Pole", (-3, 2, 1))
    places = []
    for weight in (0.0, 0.3, 0.6, 1.0):
        item.pole_weight = weight
        update()
        places.append(rigs.tip_world(rig, "B0"))
        assert reached(rig, goal)

    away = [(place - places[-1]).length for place in places]
    assert (places[0] - without).length < 1e-5
    assert away[0] > 0.1
    assert away == sorted(away, reverse=True)
    assert len({round(distance, 3) for distance in away}) == 4


def test_softness_keeps_the_tip_back_near_full_reach_and_says_so(rig):
    goal = rigs.make_empty("Goal", (0, 0, 2.9))
    item = rigs.add_constraint(rig, "B2", goal)
    update()
    assert item.state == "REACHED"
    item.softness = 0.2
    update()
    assert item.state == "OUT_OF_REACH"
    assert "Softness" in item.message
    assert 0.01 < item.error < 0.3
    assert item.error == pytest.approx(rigs.tip_error(rig, "B2", goal), abs=1e-5)
    goal.location.z = 2.0
    update()
    assert (item.state, item.message) == ("REACHED", "")


def hidden_in_the_view(ob):
    ob.hide_set(True)


def disabled_in_the_viewport(ob):
    ob.hide_viewport = True


def disabled_in_renders(ob):
    ob.hide_render = True


def collection_of_its_own(ob):
    collection = bpy.data.collections.new("Aside")
    bpy.context.scene.collection.children.link(collection)
    collection.objects.link(ob)
    bpy.context.scene.collection.objects.unlink(ob)
    return collection


def collection_excluded(ob):
    name = collection_of_its_own(ob).name
    bpy.context.view_layer.layer_collection.children[name].exclude = True


def collection_hidden(ob):
    collection_of_its_own(ob).hide_viewport = True


def collection_hidden_in_the_layer(ob):
    name = collection_of_its_own(ob).name
    bpy.context.view_layer.layer_collection.children[name].hide_viewport = True


def collection_hidden_in_renders(ob):
    collection_of_its_own(ob).hide_render = True


def in_no_scene(ob):
    bpy.context.scene.collection.objects.unlink(ob)


def in_another_scene(ob):
    bpy.data.scenes.new("Other").collection.objects.link(ob)
    bpy.context.scene.collection.objects.unlink(ob)


HIDINGS = (
    hidden_in_the_view,
    disabled_in_the_viewport,
    disabled_in_renders,
    collection_excluded,
    collection_hidden,
    collection_hidden_in_the_layer,
    collection_hidden_in_renders,
    in_no_scene,
    in_another_scene,
)


@pytest.mark.parametrize("hide", HIDINGS)
@pytest.mark.parametrize("make", [animated, parented, child_of, bone_child])
def test_hidden_target_is_evaluated_all_the_same(rig, make, hide):
    target = make()
    rigs.go(*FRAMES)
    expected = {}
    for frame in FRAMES:
        rigs.go(frame)
        expected[frame] = rigs.world_location(target)
    constrained(rig, target)
    for ob in {target, target.parent, bpy.data.objects.get("Holder")} - {None}:
        hide(ob)
    update()

    for frame in FRAMES:
        rigs.go(frame)
        assert rig.fabrik.constraints[0].state == "REACHED"
        assert (rigs.tip_world(rig, "B2") - expected[frame]).length < 1e-3


@pytest.mark.parametrize("hide", HIDINGS)
def test_hidden_target_is_followed_when_it_is_moved(rig, hide):
    target = rigs.make_empty()
    constrained(rig, target)
    hide(target)
    update()

    target.location = (-1, 0.5, 1)
    update()

    assert (rigs.tip_world(rig, "B2") - target.location).length < 1e-3


@pytest.mark.parametrize("hide", HIDINGS)
def test_hidden_target_of_a_hidden_armature_is_followed(rig, hide):
    """Blender evaluates it for the armature that is shown, and as well once another is chosen."""
    target, other = rigs.make_empty(), rigs.make_empty("Other", (1.0, 0.5, 1.0))
    holder = rigs.make_chain(name="Holder")
    item = constrained(holder, target)
    rigs.add_constraint(rig, "B2", holder, subtarget="B2")
    for ob in (target, other, holder):
        hide(ob)
    update()

    for goal in (target, other):
        item.target = goal
        for place in ((-1.0, 0.5, 1.0), (0.5, 0.8, 1.5)):
            goal.location = place
            update()
            assert (rigs.tip_world(holder, "B2") - goal.location).length < 1e-3
            held = rigs.tip_world(holder, "B2", use_tail=False)
            assert (rigs.tip_world(rig, "B2") - held).length < 1e-3


def test_dependencies_are_listed_as_often_as_there_are_armatures(rig, monkeypatch):
    """Editing all of them at once does not look for the dependents of each among all others."""
    listed = []
    count(monkeypatch, "list sources", listed.append)

    def edited(number):
        armatures = [rig, *(rigs.make_chain(name=f"Other{number}.{i}") for i in range(1, number))]
        for one in armatures[1:]:
            rigs.add_constraint(one, "B2", rig, subtarget="B2")
        update()
        listed.clear()
        for one in armatures[1:]:
            one.fabrik.constraints[0].chain_count = 2
        update()
        return len(listed)

    few = edited(5)
    assert few >= 4 and edited(5 + 8) < 4 * few


@pytest.mark.parametrize("hide", HIDINGS)
def test_hidden_target_is_evaluated_after_loading(rig, hide):
    target = animated()
    constrained(rig, target)
    hide(target)
    reopen()

    rig = bpy.data.objects["Rig"]
    for frame, place in ((20, (-1, 0.5, 1)), (1, (1, 0, 2))):
        rigs.go(frame)
        assert (rigs.tip_world(rig, "B2") - type(rigs.tip_world(rig, "B2"))(place)).length < 1e-3


def keyed_away_from_the_origin():
    other = keyed_armature()
    other.location.y = 0.3
    return other, "B1"


def moved_by_a_constraint():
    other = rigs.make_chain(2, "Other", joints=((0.5, 0, 0.5), (0.8, 0, 1), (1, 0, 1.7)))
    other.pose.bones["B0"].constraints.new("COPY_LOCATION").target = holder()
    return other, "B0"


def moved_by_ik():
    other = rigs.make_chain(2, "Other", joints=((0.5, 0, 0), (0.5, 0.1, 1), (0.5, 0, 2)))
    other.pose.bones["B1"].constraints.new("IK").target = holder()
    return other, "B1"


class TestBones:
    """Targets that are bones."""

    @pytest.mark.parametrize("use_tail", [True, False])
    def test_of_the_same_armature(self, use_tail):
        rig = rigs.make_armature(
            {
                "Root": ((0, 0, 0), (0, 0, 0.5), ""),
                "Upper": ((0, 0, 0.5), (0, 0.2, 1.5), "Root"),
                "Lower": ((0, 0.2, 1.5), (0, 0, 2.5), "Upper"),
                "Hand": ((0, 0, 2.5), (0, 0, 3), "Lower"),
                "Goal": ((0.5, 0.5, 1.5), (0.5, 0.5, 1.7), "Root"),
            }
        )
        tip = "Lower" if use_tail else "Hand"
        item = rigs.add_constraint(
            rig, tip, rig, subtarget="Goal", chain_count=2, use_tail=use_tail, solver="TWO_BONE"
        )
        rigs.key(rig.pose.bones["Goal"], "location", {1: 0.0, 20: -1.0}, 0)
        rig.location, rig.rotation_euler = (1, 2, 3), (0.5, 0.2, 0.1)
        for frame in FRAMES:
            rigs.go(frame)
            assert item.state == "REACHED"
            error = rigs.tip_world(rig, tip, use_tail) - rigs.tip_world(rig, "Goal", use_tail=False)
            assert error.length < 1e-3

    @pytest.mark.parametrize(
        "make", [keyed_away_from_the_origin, moved_by_a_constraint, moved_by_ik]
    )
    def test_of_another_armature(self, rig, make):
        other, bone = make()
        constrained(rig, other, subtarget=bone)
        for frame in FRAMES:
            rigs.go(frame)
            assert rig.fabrik.constraints[0].state == "REACHED"
            error = rigs.tip_world(rig, "B2") - rigs.tip_world(other, bone, use_tail=False)
            assert error.length < 1e-3

    @pytest.mark.parametrize("hide", HIDINGS)
    def test_of_a_hidden_armature(self, rig, hide):
        other = keyed_armature()
        constrained(rig, other, subtarget="B1")
        expected = {}
        for frame in FRAMES:
            rigs.go(frame)
            expected[frame] = rigs.tip_world(other, "B1", use_tail=False)
        hide(other)
        update()
        for frame in FRAMES:
            rigs.go(frame)
            assert (rigs.tip_world(rig, "B2") - expected[frame]).length < 1e-3


@pytest.fixture
def nothing_happens(rig, evaluations):
    """Check that an armature is not solved, nor evaluated more than once a frame."""
    rigs.watch(rig, "B2")

    @contextmanager
    def checking(frames=0):
        update()
        evaluations.clear()
        with solver_calls() as solved:
            yield
        assert not solved
        assert len(evaluations) <= frames

    return checking


class TestQuiet:
    def test_unrelated_edits_solve_nothing(self, rig, nothing_happens):
        constrained(rig, rigs.make_empty())
        stranger, other = rigs.make_empty("Stranger"), rigs.make_chain(name="Free")
        with nothing_happens():
            for i in range(5):
                stranger.location.x = i
                other.pose.bones["B0"].rotation_quaternion.x = 0.1 * i
                update()

    def test_frames_without_animation_solve_nothing(self, rig, nothing_happens):
        constrained(rig, rigs.make_empty())
        stranger = rigs.make_empty("Stranger")
        keyed_along(stranger)
        rigs.go(1)
        with nothing_happens(frames=19):
            rigs.go(*range(1, 20))

    def test_only_the_rig_of_the_moved_target_is_solved(self, rig, evaluations):
        target = rigs.make_empty()
        constrained(rig, target)
        other = rigs.make_chain(name="Other")
        rigs.add_constraint(other, "B2", rigs.make_empty("Other target", (0, 1, 2)))
        rigs.watch(other, "B2")
        update()
        evaluations.clear()
        with solver_calls() as solved:
            target.location.x = 0.5
            update()
        assert (len(solved), evaluations) == (1, [])

    @pytest.mark.parametrize("influence", [0.0, 0.5, 1.0])
    def test_unchanged_inputs_change_nothing(self, rig, evaluations, influence):
        target = rigs.make_empty()
        constrained(rig, target, influence=influence)
        rigs.watch(rig, "B2")
        update()
        before = rigs.pose_bits(rig), rigs.channels_bits(rig), rigs.shown_bits(rig)
        evaluations.clear()
        with solver_calls() as solved:
            for _ in range(5):
                target.location = target.location
                update(rig)

        assert not solved
        assert len(evaluations) == 5  # Those that were asked for.
        assert (rigs.pose_bits(rig), rigs.channels_bits(rig), rigs.shown_bits(rig)) == before

    def test_unchanged_inputs_cost_no_second_evaluation(self, rig, evaluations):
        target = rigs.make_empty()
        constrained(rig, target)
        rigs.watch(rig, "B2")
        update()

        evaluations.clear()
        update(rig)
        assert len(evaluations) == 1
        evaluations.clear()
        target.location.x = 0.5
        update()
        assert len(evaluations) == 1
        evaluations.clear()
        rig.pose.bones["B1"].rotation_quaternion = (0.8, 0.6, 0, 0)
        update()
        assert len(evaluations) == 1  # That of the hand's turn, with what we wrote over it.

    @pytest.mark.parametrize("problem", [{"bone": "?"}, {"target": None}, {"enabled": False}])
    def test_constraint_that_does_nothing_costs_no_second_evaluation(
        self, rig, evaluations, problem
    ):
        target = rigs.make_empty()
        keyed_along(target)
        item = constrained(rig, target)
        for name, value in problem.items():
            setattr(item, name, value)
        rigs.watch(rig, "B2")
        update()
        evaluations.clear()

        for frame in range(5):
            rigs.go(frame)
            update(rig)

        assert len(evaluations) <= 10

    @pytest.mark.parametrize("state", ["REACHED", "OUT_OF_REACH", "INVALID", "DISABLED"])
    def test_update_after_update_is_not_called_for(self, rig, state):
        """Our own writing does not call for the next update, and so on for ever."""
        target = rigs.make_empty(location=(9, 0, 0) if state == "OUT_OF_REACH" else (1, 0, 2))
        item = constrained(rig, target, enabled=state != "DISABLED")
        if state == "INVALID":
            item.bone = "?"
        update()
        assert item.state == state
        updates = []

        def count(_scene, depsgraph):
            updates.append([update.id.name for update in depsgraph.updates])

        bpy.app.handlers.depsgraph_update_post.append(count)
        try:
            for _ in range(5):
                update()
        finally:
            bpy.app.handlers.depsgraph_update_post.remove(count)

        assert updates == []

    @pytest.mark.parametrize("broken", [{"bone": "?"}, {"target": None}, {"solver": "TWO_BONE"}])
    def test_broken_constraint_writes_nothing(self, rig, nothing_happens, broken, capfd):
        target = rigs.make_empty()
        keyed_along(target)
        item = constrained(rig, target)
        for name, value in broken.items():
            setattr(item, name, value)
        update()
        rigs.go(1)
        capfd.readouterr()
        with nothing_happens(frames=50):
            rigs.go(*range(1, 51))
        assert "".join(capfd.readouterr()) == ""


def test_driver_of_ours_leaves_other_drivers_in_peace(rig, tmp_path):
    """For drivers on most properties Blender writes all of an object's driven values once more.

    It does so in no order with the drivers of bones, which then miss a frame now and then.
    """
    constrained(rig, rigs.make_empty())
    knob = rig.driver_add('pose.bones["B0"].rotation_quaternion', 1).driver.variables.new()
    knob.targets[0].id = rigs.make_empty("Knob")
    knob.targets[0].data_path = "location.x"
    update()
    graph = tmp_path / "graph.dot"
    bpy.context.view_layer.depsgraph.debug_relations_graphviz(filepath=str(graph))

    assert "DRIVER(" in graph.read_text()
    assert "DRIVER_UNSHARE" not in graph.read_text()


def test_a_driven_bone_that_gets_another_name_in_edit_mode_stays_driven(rig):
    """Were the armature evaluated before it leaves Edit Mode, Blender would give the driver up."""
    target = rigs.make_empty()
    constrained(rig, target)
    curve = rig.driver_add('pose.bones["B1"].rotation_quaternion', 1)
    rigs.drive(curve, target, "location.x")
    update()
    rigs.activate(rig, "EDIT")
    rig.data.edit_bones["B1"].name = "New"
    update()
    bpy.ops.object.mode_set(mode="OBJECT")
    target.location.x = 0.25
    update()
    assert curve.driver.is_valid
    assert abs(rigs.evaluated(rig).pose.bones["New"].rotation_quaternion[1] - 0.25) < 1e-6
    assert rig.fabrik.constraints[0].state != "INVALID"


def clear_animation(rig):
    rig.animation_data_clear()


def remove_all_drivers(rig):
    for curve in list(rig.animation_data.drivers):
        rig.driver_remove(curve.data_path)


def remove_custom_property(rig):
    del rig["fabrik_dependency"]
    rig.update_tag()


@pytest.mark.parametrize("clear", [clear_animation, remove_all_drivers, remove_custom_property])
@pytest.mark.parametrize("with_update", [True, False])
def test_cleared_animation_does_not_cut_the_chain_off(rig, clear, with_update):
    target = animated()
    constrained(rig, target)
    clear(rig)
    if with_update:
        update()
    rigs.go(5)

    for frame in (20, 7):
        rigs.go(frame)
        assert reached(rig, target)
    target.animation_data_clear()
    for place in ((0, 1, 2), (1, 0, 1.5)):
        target.location = place
        update()
        assert reached(rig, target)


def test_target_is_exchanged(rig):
    first, second = rigs.make_empty(), rigs.make_empty("Second", (0, 1, 1.5))
    item = constrained(rig, first)
    item.target = second
    update()
    assert reached(rig, second)
    before = rigs.pose_bits(rig)

    first.location.x = -2
    update()
    assert rigs.pose_bits(rig) == before
    second.location.x = 0.5
    update()
    assert reached(rig, second)


def test_constraint_added_from_python_works_at_the_next_update(rig):
    """Setting the fields, in whichever order, is enough."""
    target = rigs.make_empty()
    update()
    item = rig.fabrik.constraints.add()
    item.target = target
    item.chain_count = 2
    item.bone = "B2"
    item.solver = "TWO_BONE"
    target.location = (0.3, 0.5, 1.6)
    update()

    assert reached(rig, target)
    assert 0 <= item.error < 1e-3
    assert item.iterations_used >= 1


def test_a_target_below_a_bone_beyond_single_precision_is_said_and_nothing_raises(rig, capfd):
    """The rest matrix of such a bone has no axes, and no inverse."""
    far = rigs.make_chain(4, "Far")
    rigs.add_constraint(far, "B0", rigs.make_empty())
    rigs.activate(far, "EDIT")
    far.data.edit_bones["B0"].tail.x = 1e20
    bpy.ops.object.mode_set(mode="OBJECT")
    item = constrained(rig, far, subtarget="B3")
    assert (item.state, item.message) == (
        "INVALID",
        "“Far” has an invalid position: check its transform",
    )
    assert "Traceback" not in "".join(capfd.readouterr())


def test_objects_that_carry_each_other_are_where_blender_has_them(silent):
    other, rig = rigs.make_chain(3, "Other"), rigs.make_chain(3, "Rig")
    rigs.add_constraint(other, "B2", rigs.make_empty("Target", (1.5, 0, 1)))
    first, second = rigs.make_empty("First"), rigs.make_empty("Second")
    first.parent, first.parent_type, first.parent_bone = other, "BONE", "B2"
    second.parent = first
    first.constraints.new("CHILD_OF").target = second
    item = rigs.add_constraint(rig, "B2", second)
    for x in (1.5, 1.6):
        bpy.data.objects["Target"].location.x = x
        update()
        assert item.state in ("REACHED", "OUT_OF_REACH")
