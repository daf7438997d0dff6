"""What moves by itself, with real mouse and key events in a real window; see test_day.py."""

from figure import CHANGED, FRAME, ITEM, NEAR, POSE_MENU, RIG
from window import Window

WALKER = "bpy.data.objects['Walker']"
WALKS = f"len({WALKER}.fabrik.gaits)"
HOW = f"{WALKER}.fabrik.simulation.state"
SHOWN = f"{WALKER}.fabrik.constraints[{WALKER}.fabrik.active_index].bone"
"""The tip bone of the constraint whose settings are shown."""

LINE = "bpy.data.objects['Line']"

FACE = "bpy.data.objects['Face']"

F12 = "96"
"""The key itself: by its name, Alt comes with it."""

FLOOR = 1e-3
"""How far a foot may be in the floor, in meters."""


def have_legs(window: Window, *, is_walking: bool = False) -> None:
    """Set a body with four legs on the stage, with its sidebar and the timeline."""
    window.ask("prepare_legs()")
    if is_walking:
        window.ask("bpy.ops.fabrik.gait_add()")
    window.ask("close('OUTLINER', 'PROPERTIES'); look(sidebar=True)")
    window.until("open_tab()")
    window.ask("remember('stage')")


class TestWalking:
    def test_legs_walk_as_soon_as_they_are_added(self, window):
        have_legs(window)
        before = window.settled()
        window.choose(POSE_MENU, "Walk")
        window.until(f"{WALKS} == 1 and {HOW} == 'FRESH' and modal() == ''")
        window.drawn(before, window.ask("timeline()"), 300)  # The bar.
        assert window.ask(SHOWN) == window.ask("bpy.context.active_pose_bone.name")

        pose = window.ask("pose('Walker')")
        window.click(window.ask("timeline(25)"))
        window.until(f"{FRAME} == 25 and pose('Walker') != {pose}")
        heights = window.ask("feet('Walker')")
        assert min(heights) > -FLOOR
        assert sum(height < FLOOR for height in heights) >= 2
        window.move(window.ask("seen((0.2, 0, 1))"))
        window.key("ctrl+z")
        window.until(f"{FRAME} == 1")
        window.key("ctrl+z")
        window.until(f"{WALKS} == 0")
        window.key("ctrl+shift+z")
        window.until(f"{WALKS} == 1 and {HOW} == 'FRESH'")
        assert window.ask(SHOWN) == window.ask("bpy.context.active_pose_bone.name")

    def test_more_frames_of_the_scene_are_simulated_by_themselves(self, window):
        have_legs(window, is_walking=True)
        window.ask("bpy.context.scene.frame_end = 60")
        window.until(f"{HOW} == 'FRESH' and '60' in {WALKER}.fabrik.simulation.message")

    def test_escape_while_a_walk_is_added_keeps_it_as_one_step(self, window):
        have_legs(window)
        window.ask("bpy.context.scene.frame_end = 20_000; remember('range')")
        window.choose(POSE_MENU, "Walk")
        window.until(f"modal() == 'FABRIK_OT_gait_add' and {FRAME} > 1")
        window.key("Escape")
        window.until(f"modal() == '' and {FRAME} == 1")
        assert window.ask(f"({WALKS}, {HOW})") == [1, "NONE"]
        window.move(window.ask("seen((0.2, 0, 1))"))
        window.key("ctrl+z")
        window.until(f"{WALKS} == 0")

    def test_escape_during_the_pass_leaves_everything_as_it_was(self, window):
        have_legs(window, is_walking=True)
        window.ask("bpy.ops.fabrik.simulation_clear(); bpy.context.scene.frame_end = 20_000")
        pose = window.ask("pose('Walker')")

        window.click(window.find("fabrik.simulate", is_wide=True))
        window.until(f"modal() == 'FABRIK_OT_simulate' and {FRAME} > 1")
        window.key("Escape")

        window.until(f"modal() == '' and {FRAME} == 1 and pose('Walker') == {pose}")
        assert window.ask(HOW) == "NONE"

    def test_a_picture_of_what_is_outdated_says_so(self, window):
        have_legs(window, is_walking=True)
        window.ask("bpy.ops.fabrik.simulate(); prepare_picture()")
        window.ask(f"{WALKER}.fabrik.simulation.use_auto = False")
        window.ask(f"{WALKER}.fabrik.gaits[0].threshold = 0.4")
        window.until(f"{HOW} == 'STALE'")
        window.move(window.ask("seen((0.2, 0, 1))"))
        outdated = rendered(window)

        window.key("Escape")
        window.until("not shows_picture()")
        window.ask("bpy.ops.fabrik.simulate()")
        fresh = rendered(window)

        assert outdated.differing(fresh, window.ask("picture_box()")) > 100
        window.key("Escape")
        window.until("not shows_picture()")


def rendered(window):
    """Press F12, and return what the screen shows when the picture is there."""
    window.settled()
    window.key(F12)
    window.until("shows_picture() and not bpy.app.is_job_running('RENDER')")
    return window.settled()


class TestLooking:
    def test_the_head_follows_while_its_limit_is_dragged(self, window):
        window.ask(f"prepare('select'); select({RIG}, bpy.data.objects['Target'], 'Head')")
        window.ask("arrange('panel')")
        window.until("open_tab()")
        window.choose(POSE_MENU, "Look-at")
        window.until(f"len({RIG}.fabrik.constraints) == 1 and {ITEM}.state != 'DISABLED'")
        window.ask(f"{ITEM}.look.limit_angle = 0.3")
        window.until(f"{ITEM}.state == 'LIMITED'")
        before, pose = window.settled(), window.ask("pose('Figure')")
        window.move(window.find("look.limit_angle", is_wide=True))
        window.press()
        window.slide(60, 0)
        window.until(f"{ITEM}.look.limit_angle > 0.31 and pose('Figure') != {pose}")
        window.release()
        window.drawn(before, window.ask("box()"), 100)


def test_the_menu_hangs_a_chain_on_its_target(window):
    window.ask("prepare_line(); arrange('select')")
    window.ask("remember('stage')")
    before, pose = window.settled(), window.ask("pose('Line')")

    window.choose(POSE_MENU, "Rope")

    window.until(f"[one.solver for one in {LINE}.fabrik.constraints] == ['ROPE']")
    window.until(f"pose('Line') != {pose}")
    assert window.ask("tip_off('Line', 'B4', 'Hook')") < NEAR
    window.drawn(before, window.ask("box()"), CHANGED // 10)
    window.key("ctrl+z")
    window.until(f"pose('Line') == {pose}")


def test_a_free_chain_is_simulated_from_where_it_is_asked_for(window):
    window.ask("prepare_line(); travel('Hook'); arrange('panel')")
    window.until("open_tab()")
    window.choose(POSE_MENU, "Free Chain")
    window.until(f"{LINE}.fabrik.constraints[0].message.endswith('press Simulate')")

    window.click(window.find("fabrik.simulate", is_wide=True))

    window.until(f"{LINE}.fabrik.simulation.state == 'FRESH' and modal() == ''")
    window.ask("go(27)")
    window.until(f"tip_off('Line', 'B4', 'Hook') < {NEAR}")


def test_a_strand_answers_while_its_slider_is_dragged(window):
    window.ask("prepare_face(); select(bpy.data.objects['Face'], None, 'Tail')")
    window.ask("arrange('panel')")
    window.until("open_tab()")
    window.ask("bpy.ops.fabrik.spring_add()")
    window.until(f"[one.solver for one in {FACE}.fabrik.constraints] == ['SPRING']")
    window.click(window.find("fabrik.simulate", is_wide=True))
    window.until(f"{FACE}.fabrik.simulation.state == 'FRESH' and modal() == ''")
    window.ask("go(20)")
    before, pose = window.settled(), window.ask("pose('Face')")
    window.move(window.find("spring.gravity", is_wide=True))
    window.press()
    window.slide(60, 0)
    window.until(
        f"{FACE}.fabrik.constraints[0].spring.gravity > 0 and pose('Face') != {pose}"
        f" and {FACE}.fabrik.simulation.state == 'FRESH' and {FRAME} == 20"
    )
    window.drawn(before, window.ask("box()"), 100)
    window.release()


def test_a_slider_that_is_let_go_while_frames_are_played_is_let_go(window):
    """A file that was opened has no recordings, so its frames are played."""
    window.ask("open_sample('ponytail')")
    window.until("is_up()")
    window.ask("prepare_hair(); arrange('panel')")
    window.until("open_tab()")
    rig, stiffness = "bpy.data.objects['Rig']", "chosen('Rig').spring.stiffness"
    window.move(window.find("spring.stiffness", is_wide=True))
    window.press()
    window.slide(60, 0)
    window.until("modal() == 'FABRIK_OT_simulate_again'")
    window.release()
    window.until(f"{rig}.fabrik.simulation.state == 'FRESH' and modal() == ''")
    value = window.ask(stiffness)
    assert value > 0.3
    window.slide(40, -30)
    window.slide(-80, 10)
    window.settled()
    assert window.ask(stiffness) == value


def test_a_strand_swings_while_its_bone_is_dragged(window):
    window.ask("prepare_face(); select(bpy.data.objects['Face'], None, 'Tail')")
    window.ask("bpy.ops.fabrik.spring_add(gravity=9.81)")
    window.ask("bpy.ops.fabrik.simulate()")
    window.until(f"{FACE}.fabrik.simulation.state == 'FRESH'")
    window.ask(
        "go(20); select(bpy.data.objects['Face'], None, 'Head'); look_at((0, 0, 1), 4, 10, 10)"
    )
    turn = f"list(evaluated({FACE}).pose.bones['Tail'].rotation_quaternion)"
    before, pose = window.ask(turn), window.ask("pose('Face')")
    window.move(window.ask("seen(middle('Face', 'Head'))"))
    window.settled()
    window.key("r")
    window.slide(150, 100)
    window.until(f"modal() and {turn} != {before}")
    shown = window.ask(turn)
    window.slide(-60, -20)
    window.until(f"modal() and {turn} not in ({before}, {shown})")
    window.key("Escape")
    window.until(f"not modal() and pose('Face') == {pose}")
