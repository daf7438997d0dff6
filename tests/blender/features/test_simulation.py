"""What depends on more than one frame is found in one pass, and outdated by each of its inputs."""

import struct
import tracemalloc
import zlib
from binascii import a2b_base64, b2a_base64
from types import SimpleNamespace

import bpy
import pytest
import rigs
from damage import damages
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inside import forget, planned, solver_calls
from kept_files import reopen
from operating import refuses

SAME_EVERY_TIME = settings(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


class Noted(bpy.types.PropertyGroup):
    """What a test keeps of a pass."""

    history: bpy.props.StringProperty(subtype="BYTE_STRING", options={"HIDDEN"})
    weight: bpy.props.FloatProperty(default=1.0)


class Places:
    """Where the target of the first constraint is, at each frame."""

    owner = "noted"
    counts_wholly = False
    moments = None
    margin = 0
    fails_at = None

    def __init__(self, armature):
        self.armature = armature
        self.found = []

    def inputs(self):
        return round(self.armature.noted.weight, 3)

    def sources(self):
        chain = planned(self.armature)[0]
        ground = bpy.data.objects.get("Ground")
        return [chain.target, *([ground] if ground else [])]

    def start(self, snapshot):
        self.chain = planned(self.armature)[0]

    def step(self, snapshot):
        from addon.blender.errors import ProblemError

        if snapshot.time == self.fails_at:
            raise ProblemError("The test does not want this frame")
        self.found.append(snapshot.point(self.chain.target))

    def result(self):
        return b"".join(struct.pack("<3d", *place) for place in self.found)


@pytest.fixture(autouse=True)
def noting(empty_file):
    """An owner of histories on each armature with a constraint."""
    from addon.features.simulation import history

    def provider(armature):
        return [Places(armature)] if armature.name == "Rig" and armature.fabrik.constraints else []

    bpy.utils.register_class(Noted)
    bpy.types.Object.noted = bpy.props.PointerProperty(type=Noted)
    history.PROVIDERS.append(provider)
    yield
    history.PROVIDERS.remove(provider)
    Places.fails_at = None
    del bpy.types.Object.noted
    bpy.utils.unregister_class(Noted)


def moving_target():
    target = rigs.make_empty()
    rigs.key(target, "location", {1: (1, 0, 2), 20: (-0.5, 1, 1.5), 40: (0, -2, 1)})
    return target


@pytest.fixture
def rig(empty_file):
    """A chain that reaches for a target with keys, over 40 frames."""
    rig = rigs.make_chain(3)
    rigs.add_constraint(rig, "B2", moving_target())
    bpy.context.scene.frame_end = 40
    rigs.update()
    rigs.activate(rig)
    return rig


def state(rig):
    return rig.fabrik.simulation.state


def simulate(rig=None):
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}
    assert rig is None or state(rig) == "FRESH"


def assert_stale(rig):
    """After an update."""
    rigs.update()
    assert state(rig) == "STALE"


def kept(rig):
    from addon.features.simulation import history

    return history.data(rig, "noted")


def test_pass_records_what_is_seen_at_each_frame(rig):
    rigs.go(7)
    assert state(rig) == "NONE"
    simulate(rig)
    history = kept(rig)
    assert (history.start, history.end) == (1, 40)
    numbers = struct.unpack("<120d", history.blob)
    for frame in (1, 13, 40):
        rigs.go(frame)
        seen = rigs.world_location(bpy.data.objects["Target"])
        assert numbers[3 * frame - 3 : 3 * frame] == tuple(seen)


def test_the_range_grows_with_that_of_the_scene(rig):
    from addon.features.simulation.operators import due

    simulate()
    scene, layer = bpy.context.scene, bpy.context.view_layer
    scene.frame_end = 60
    rigs.update()
    assert state(rig) == "FRESH"  # As far as it goes.
    assert due(layer) == [rig]  # Automatic simulates it.
    simulate()
    assert (kept(rig).start, kept(rig).end, state(rig)) == (1, 60, "FRESH")
    scene.frame_start, scene.frame_end = 30, 31  # As a farm renders a part.
    rigs.update()
    assert (state(rig), due(layer)) == ("FRESH", [])
    assert (kept(rig).start, kept(rig).end) == (1, 60)


def test_a_range_of_its_own_does_not_follow_the_scene(rig):
    rig.fabrik.simulation.frame_start, rig.fabrik.simulation.frame_end = 1, 40
    simulate()
    bpy.context.scene.frame_end = 60
    rigs.go(50)
    assert state(rig) == "FRESH"
    from addon.features.simulation import history

    assert "increase End" in history.note(kept(rig), 50.0)


def test_pass_gives_everything_back(rig):
    rigs.go(7.5)
    target = bpy.data.objects["Target"]
    target.location = (0.3, 0.2, 0.1)  # Not keyed.
    rig.pose.bones["B1"].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    rigs.update()
    before = rigs.everything_bits(), rigs.channels_bits(rig), tuple(target.location)
    simulate()
    assert bpy.context.scene.frame_current_final == 7.5
    assert (rigs.everything_bits(), rigs.channels_bits(rig), tuple(target.location)) == before


def test_escape_leaves_everything_as_it_was(rig):
    from addon.features.simulation.simulate import simulate as passing

    rigs.go(5)
    before = rigs.everything_bits(), rigs.channels_bits(rig)
    work = passing(bpy.context.scene, bpy.context.view_layer, [rig])
    for _ in range(10):
        next(work)
    assert bpy.context.scene.frame_current == 10
    assert kept(rig) is None
    work.close()
    assert bpy.context.scene.frame_current == 5
    assert (rigs.everything_bits(), rigs.channels_bits(rig)) == before
    assert state(rig) == "NONE"
    assert rig.fabrik.simulation.frame_end == 0


def test_failure_keeps_the_history_before(rig):
    simulate()
    first = rig.noted.history
    Places.fails_at = 23
    refuses(bpy.ops.fabrik.simulate, "does not want this frame")
    assert rig.noted.history == first
    assert state(rig) == "FRESH"


def key_moved(rig):
    curve = rigs.curves(bpy.data.objects["Target"])[0]
    curve.keyframe_points[1].co[1] += 0.1
    curve.update()


def handle_moved(rig):
    key = rigs.curves(bpy.data.objects["Target"])[0].keyframe_points[1]
    key.handle_right_type = "FREE"
    key.handle_right = (30.0, 2.0)


def interpolation_set(rig):
    rigs.curves(bpy.data.objects["Target"])[0].keyframe_points[0].interpolation = "LINEAR"


def modifier_added(rig):
    rigs.curves(bpy.data.objects["Target"])[0].modifiers.new("NOISE").strength = 0.5


def curve_muted(rig):
    rigs.curves(bpy.data.objects["Target"])[0].mute = True


def driver_added(rig):
    bpy.data.objects["Target"].driver_add("scale", 0).driver.expression = "2.0"


def setting_changed(rig):
    rig.noted.weight = 2.0


def range_changed(rig):
    rig.fabrik.simulation.frame_end = 50


def parent_animated(rig):
    carrier = rigs.make_empty("Carrier", (0, 0, 0))
    bpy.data.objects["Target"].parent = carrier
    carrier.keyframe_insert("location", frame=1)


def constraint_added(rig):
    other = rigs.make_empty("Other", (5, 5, 5))
    con = bpy.data.objects["Target"].constraints.new("COPY_LOCATION")
    con.target, con.influence = other, 0.2


def still_transform_changed(rig):
    bpy.data.objects["Target"].scale = (2, 2, 2)


INPUTS = (
    key_moved,
    handle_moved,
    interpolation_set,
    modifier_added,
    curve_muted,
    driver_added,
    setting_changed,
    range_changed,
    parent_animated,
    constraint_added,
    still_transform_changed,
)


@pytest.mark.parametrize("change", INPUTS, ids=lambda change: change.__name__)
def test_each_input_outdates_it_and_undo_brings_it_back(rig, change):
    simulate()
    before = kept(rig).blob
    bpy.ops.ed.undo_push(message="Before")
    change(rig)
    rigs.update(rig)
    assert state(rig) == "STALE"
    assert "press Simulate" in rig.fabrik.simulation.message
    assert kept(rig).blob == before  # It goes on being used.
    bpy.ops.ed.undo_push(message="Change")
    bpy.ops.ed.undo()
    rig = bpy.data.objects["Rig"]
    assert state(rig) == "FRESH"
    bpy.ops.ed.redo()
    rig = bpy.data.objects["Rig"]
    assert state(rig) == "STALE"
    rigs.activate(rig)
    simulate(rig)


def test_edits_that_do_not_count_leave_it(rig):
    simulate()
    rigs.go(30)
    assert state(rig) == "FRESH"
    other = rigs.make_empty("Other", (3, 3, 3))
    rigs.key(other, "location", {3: (4, 4, 4)})
    bpy.context.scene.frame_end = 20
    rig.fabrik.constraints[0].iterations = 30
    rig.pose.bones["B0"].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    rigs.update()
    assert state(rig) == "FRESH"


def test_ground_counts_with_its_vertices(rig):
    mesh = bpy.data.meshes.new("Ground")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
    rigs.link(bpy.data.objects.new("Ground", mesh))
    rigs.update()
    simulate(rig)
    mesh.vertices[1].co.z = 0.25
    mesh.update()
    assert_stale(rig)
    mesh.vertices[1].co.z = 0.0
    mesh.update()
    rigs.update()
    assert state(rig) == "FRESH"
    bpy.data.objects["Ground"].modifiers.new("Wave", "WAVE").height = 0.7
    assert_stale(rig)


def test_ground_counts_with_its_faces(rig):
    """Though their vertices are the same, and in the second case their corners as well."""
    mesh = bpy.data.meshes.new("Ground")
    places = [(i % 3, i // 3, 0.1 * i) for i in range(7)]

    def build(*faces):
        mesh.clear_geometry()
        mesh.from_pydata(places, [], faces)
        mesh.update()
        rigs.update()

    build((0, 1, 2), (3, 4, 5, 6))
    rigs.link(bpy.data.objects.new("Ground", mesh))
    rigs.update()
    simulate(rig)
    for faces in (((0, 2, 1), (3, 4, 5, 6)), ((0, 1, 2, 3), (4, 5, 6))):
        build(*faces)
        assert state(rig) == "STALE"
        build((0, 1, 2), (3, 4, 5, 6))
        assert state(rig) == "FRESH"


def test_bone_of_another_armature_counts_with_those_above_it(rig):
    other = rigs.make_armature(
        {
            "Root": ((0, 0, 0), (0, 0, 1), ""),
            "Hand": ((0, 0, 1), (0, 0, 2), "Root"),
            "Beside": ((1, 0, 0), (1, 0, 1), ""),
        },
        "Other",
    )
    other.parent = rigs.make_empty("Place", (0, 0, 0))
    item = rig.fabrik.constraints[0]
    item.target, item.subtarget = other, "Hand"
    rigs.activate(rig)
    rigs.update()
    simulate()
    rigs.key(other.pose.bones["Beside"], "location", {1: (1, 1, 1)})
    rigs.update()
    assert state(rig) == "FRESH"
    other.pose.bones["Root"].location = (1, 1, 1)
    assert_stale(rig)
    other.pose.bones["Root"].location = (0, 0, 0)
    rigs.update()
    assert state(rig) == "FRESH"
    other.parent.location = (1, 0, 0)
    assert_stale(rig)


def test_chain_that_poses_the_target_counts(rig):
    other = rigs.make_chain(3, "Other")
    goal = moving_target()
    rigs.add_constraint(other, "B2", goal)
    item = rig.fabrik.constraints[0]
    item.target, item.subtarget = other, "B2"
    rigs.activate(rig)
    rigs.update()
    simulate()
    rigs.go(25)
    assert state(rig) == "FRESH"
    other.fabrik.constraints[0].softness = 0.2
    assert_stale(rig)
    other.fabrik.constraints[0].softness = 0.0
    rigs.update()
    assert state(rig) == "FRESH"
    rigs.curves(goal)[0].keyframe_points[1].co[1] = 3.0
    rigs.curves(goal)[0].update()
    assert_stale(rig)


def test_clear_forgets_it(rig):
    simulate()
    assert bpy.ops.fabrik.simulation_clear() == {"FINISHED"}
    assert state(rig) == "NONE"
    assert kept(rig) is None
    assert not bpy.ops.fabrik.simulation_clear.poll()


def put(rig, stored):
    """Store bytes as a damaged file would hold them."""

    rig.noted.history = stored
    forget()
    rigs.update(rig)


DAMAGED = "The simulation is damaged: press Simulate"


def test_what_somebody_else_wrote_is_no_history(rig):
    for stored in (b"nonsense", b"AAAA", b"\xff\xfe"):
        put(rig, stored)
        assert kept(rig) is None
        assert state(rig) == "NONE"
        assert rig.fabrik.simulation.message == DAMAGED


@pytest.mark.parametrize("is_later", [False, True])
def test_history_of_another_version_was_not_simulated(rig, is_later):
    from addon.features.simulation.history import FORM

    simulate()
    found = kept(rig)
    if is_later:
        later = FORM._replace(version=FORM.version + 1)
        blob = later.sealed(found.blob + b"more", found.start, found.end, found.key)
    else:
        head = struct.pack("<4sBii16s", b"FABH", 1, 1, 40, found.key)
        blob = head + zlib.compress(found.blob, 1)
    put(rig, b2a_base64(blob, newline=False))
    assert kept(rig) is None
    assert state(rig) == "NONE"
    assert rig.fabrik.simulation.message == "Not simulated: press Simulate"
    simulate(rig)


# The rig is as it was after each: only what is stored is put in anew.
@settings(SAME_EVERY_TIME, max_examples=60)
@given(damage=damages(), is_text=st.booleans())
def test_damaged_history_is_said_and_left_out(rig, damage, is_text):
    put(rig, b"")
    simulate()
    stored, wanted = rig.noted.history, kept(rig)
    blob = stored if is_text else a2b_base64(stored)
    damaged = damage(blob)
    put(rig, damaged if is_text else b2a_base64(damaged, newline=False))
    found = kept(rig)
    if found is None:
        assert state(rig) == "NONE"
        assert "press Simulate" in rig.fabrik.simulation.message
    else:  # What does not count in the text was damaged, as the last bits of base64.
        assert found == wanted
    rigs.go(3, 7)
    simulate(rig)


def test_history_that_unpacks_to_gigabytes_is_not_unpacked(rig):
    from fabrik_solver.motion import codec

    simulate()
    work = zlib.compressobj(1)
    bomb = b"".join([*(work.compress(bytes(1 << 20)) for _ in range(1 << 10)), work.flush()])
    old = struct.pack("<4sBii16s", b"FABH", 1, 1, 40, bytes(16)) + bomb
    forged = []
    for size in (1 << 30, 1 << 62, 1000):
        head = codec.HEAD.pack(b"FABH", 2, size)
        forged.append(head + bomb + codec.CHECK.pack(zlib.crc32(head + bomb)))
    for blob in (old, *forged):
        tracemalloc.start()
        put(rig, b2a_base64(blob, newline=False))
        assert kept(rig) is None
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 64 << 20


def test_what_is_too_long_to_be_kept_is_said_and_the_history_before_stays(rig, monkeypatch):
    from fabrik_solver.motion import codec

    simulate()
    before = rig.noted.history
    monkeypatch.setattr(codec, "MOST", 100)
    refuses(bpy.ops.fabrik.simulate, "too large to store: choose a shorter range")
    assert rig.noted.history == before


def test_end_before_start_is_said(rig):
    rig.fabrik.simulation.frame_start, rig.fabrik.simulation.frame_end = 20, 10
    refuses(bpy.ops.fabrik.simulate, r"has End \(10\) before Start \(20\)")


def test_nothing_to_simulate_is_said():
    rig = rigs.make_chain(3)
    rigs.activate(rig)
    assert not bpy.ops.fabrik.simulate.poll()


def test_render_without_a_window_simulates_what_is_outdated(rig):
    from addon.features.simulation.rendering import before_render

    simulate()
    rigs.go(12)
    key_moved(rig)
    assert_stale(rig)
    before = rigs.everything_bits()
    before_render(bpy.context.scene)
    assert state(rig) == "FRESH"
    assert bpy.context.scene.frame_current == 12
    assert rigs.everything_bits() == before


def test_render_tells_what_cannot_be_simulated_and_goes_on(rig, capsys):
    from addon.features.simulation.rendering import before_render

    Places.fails_at = 23
    before_render(bpy.context.scene)
    assert "The test does not want this frame" in capsys.readouterr().out
    assert state(rig) == "NONE"


def test_picture_that_a_window_shows_tells_of_what_is_outdated(rig, monkeypatch):
    from addon.features.simulation import rendering

    assert rendering.outdated(bpy.context.scene) == ["Rig"]
    simulate()
    assert rendering.outdated(bpy.context.scene) == []
    key_moved(rig)
    rigs.update()
    monkeypatch.setattr(rendering, "_outdated", rendering.outdated(bpy.context.scene))
    picture, other = (
        SimpleNamespace(space_data=SimpleNamespace(image=SimpleNamespace(type=kind)))
        for kind in ("RENDER_RESULT", "IMAGE")
    )
    assert "“Rig”" in rendering.warning(picture)[0]
    assert rendering.warning(other) == []
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    assert rendering.warning(picture) == []


def test_render_whose_window_stays_open_does_not_keep_automatic_from_its_work():
    from addon.ui.stepping import _is_modal

    def window(*running):
        return SimpleNamespace(modal_operators=running)

    render, drag = (SimpleNamespace(bl_idname=f"{name}") for name in ("RENDER_OT_render", "X_OT_x"))
    assert not _is_modal(window())
    assert not _is_modal(window(render))
    assert _is_modal(window(render, drag))
    assert _is_modal(window(None))


def test_idle_updates_cost_nothing(rig, monkeypatch):
    from addon.features.simulation import digest

    simulate()
    assert kept(rig).is_fresh
    made = []
    monkeypatch.setattr(digest.Digest, "__init__", lambda self, *_: made.append(self))
    for frame in range(1, 20):
        rigs.go(frame)
        assert kept(rig).is_fresh
    rigs.make_empty("Other")
    rigs.update()
    bpy.data.objects["Other"].location = (1, 2, 3)
    rigs.update()
    assert made == []


def test_names_do_not_count_so_that_copies_and_links_are_as_good(rig, tmp_path):
    simulate()
    bpy.data.objects["Target"].name = "Lead"
    rig.name = "Rig"
    rigs.update()
    assert state(rig) == "FRESH"
    blend = tmp_path / "character.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.context.scene.frame_end = 40
    with bpy.data.libraries.load(str(blend), link=True) as (_, there):
        there.objects = ["Rig"]
    linked = bpy.data.objects["Rig"]
    rigs.link(linked)
    rigs.update()
    assert linked.library is not None
    assert state(linked) == "FRESH"
    assert len(kept(linked).blob) == 40 * 24
    override = linked.override_create(remap_local_usages=True)
    rigs.update()
    assert state(override) == "FRESH"
    rigs.activate(override)
    rigs.go(20)
    simulate()
    assert state(override) == "FRESH"
    reopen()
    override = next(ob for ob in bpy.data.objects if ob.override_library)
    assert state(override) == "FRESH"


def test_chains_that_make_no_difference_are_not_solved_in_the_pass(rig):
    other = rigs.make_chain(3, "Other")
    rigs.add_constraint(other, "B2", bpy.data.objects["Target"])
    rigs.update()
    rigs.activate(rig)
    before = rigs.everything_bits()
    with solver_calls() as solved:
        simulate()
    # Each armature once, as everything is given back.
    assert len(solved) <= 4
    assert rigs.everything_bits() == before


def test_outdated_ones_are_due_where_automatic_is_on(rig):
    from addon.features.simulation.operators import due

    layer = bpy.context.view_layer
    simulate()
    assert due(layer) == []
    assert not bpy.ops.fabrik.simulate_again.poll()
    key_moved(rig)
    rigs.update()
    assert due(layer) == [rig]
    assert bpy.ops.fabrik.simulate_again() == {"FINISHED"}
    assert due(layer) == []
    key_moved(rig)
    rigs.update()
    assert due(layer) == [rig]
    rig.fabrik.simulation.use_auto = False
    assert due(layer) == []


def test_what_was_never_simulated_or_was_cleared_waits_for_its_button(rig):
    from addon.features.simulation.operators import due

    layer = bpy.context.view_layer
    assert due(layer) == []
    simulate()
    assert bpy.ops.fabrik.simulation_clear() == {"FINISHED"}
    key_moved(rig)
    rigs.update()
    assert due(layer) == []


def test_what_was_stopped_or_failed_is_due_again_only_after_an_edit(rig):
    from addon.features.simulation.operators import due

    layer = bpy.context.view_layer
    simulate()
    key_moved(rig)
    rigs.update()
    Places.fails_at = 23
    assert bpy.ops.fabrik.simulate_again() == {"CANCELLED"}
    assert_stale(rig)
    assert due(layer) == []
    key_moved(rig)
    rigs.update()
    assert due(layer) == [rig]
    Places.fails_at = None
    simulate()
    bpy.ops.ed.undo_push(message="Before")
    key_moved(rig)
    rigs.update()
    bpy.ops.ed.undo_push(message="Key")
    assert bpy.ops.fabrik.simulate_again() == {"FINISHED"}
    bpy.ops.ed.undo()
    assert due(bpy.context.view_layer) == []
    bpy.ops.ed.redo()
    assert [ob.name for ob in due(bpy.context.view_layer)] == ["Rig"]


def test_rest_pose_is_not_simulated(rig):
    from addon.features.simulation.operators import due

    rig.data.pose_position = "REST"
    rigs.update()
    assert due(bpy.context.view_layer) == []
    refuses(bpy.ops.fabrik.simulate, "“Rig” is in rest position")


def test_a_rig_whose_bones_are_edited_through_another_is_not_simulated(rig):
    other = rigs.link(bpy.data.objects.new("Other", rig.data))
    rigs.activate(other, "EDIT")
    bpy.context.view_layer.objects.active = rig
    assert rig.mode == "OBJECT"
    refuses(bpy.ops.fabrik.simulate, "“Rig” is in rest position")


def test_one_frame_may_be_simulated(rig):
    rig.fabrik.simulation.frame_start = rig.fabrik.simulation.frame_end = 20
    simulate(rig)
    assert (kept(rig).start, kept(rig).end, len(kept(rig).blob)) == (20, 20, 24)


def test_edits_tell_the_listeners_and_playing_does_not(rig):
    from addon.features.simulation import history

    told = []
    simulate()
    assert kept(rig).is_fresh
    history.listeners.append(lambda: told.append(1))
    try:
        rigs.go(*range(1, 10))
        assert not told
        key_moved(rig)
        rigs.update()
        assert told
    finally:
        history.listeners.pop()


def test_timeline_shows_what_is_simulated(rig):
    from addon.features.simulation.timeline import bars_of

    assert bars_of(bpy.context) == []
    simulate()
    states = bpy.context.preferences.themes[0].user_interface.wcol_state
    (bar,) = bars_of(bpy.context)
    assert bar[:2] == (1, 40)
    assert bar[2][:3] == tuple(states.inner_anim)
    key_moved(rig)
    rigs.update()
    (bar,) = bars_of(bpy.context)
    assert bar[2][:3] == tuple(states.inner_changed)
    rigs.activate(bpy.data.objects["Target"])  # Which has none of its own.
    assert bars_of(bpy.context) == [bar]


def test_nla_strip_counts(rig):
    target = bpy.data.objects["Target"]
    strip = rigs.as_strip(target, "Walk")
    rigs.update()
    simulate()
    rigs.go(22)
    rigs.update(target)
    assert state(rig) == "FRESH"
    strip.frame_start = 5
    assert_stale(rig)


def test_path_that_the_target_follows_counts(rig):
    curve = bpy.data.curves.new("Path", "CURVE")
    curve.dimensions = "3D"
    spline = curve.splines.new("POLY")
    spline.points.add(3)
    for i, point in enumerate(spline.points):
        point.co = (i, 0, 0, 1)
    curve.use_path = True
    curve.keyframe_insert("eval_time", frame=1)
    path = rigs.link(bpy.data.objects.new("Path", curve))
    con = bpy.data.objects["Target"].constraints.new("FOLLOW_PATH")
    con.target = path
    rigs.update()
    simulate(rig)
    rigs.go(9)
    spline.points[3].co.z = 2.0
    rigs.update(curve)
    assert state(rig) == "STALE"
    spline.points[3].co.z = 0.0
    rigs.update(curve)
    assert state(rig) == "FRESH"
    curve.animation_data.action.name = "Other"
    rigs.key(curve, "eval_time", {40: 50.0})
    assert_stale(rig)
