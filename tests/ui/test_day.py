"""The animator's day, with real mouse and key events in a real window.

Each test sets a stage with the agent, does what an animator does with events alone, and asks the
agent for the state. Pictures are looked at for pixels that changed, not for how they look; those
in build/ui are for people.
"""

import pytest
from figure import CHANGED, FRAME, ITEM, NEAR, POSE_MENU, RIG
from window import Window

STATUS = (0, 970, 500, 30)
"""Where the status bar shows what is happening."""

ADDONS = "list(bpy.context.preferences.addons.keys())"

COUNT = f"len({RIG}.fabrik.constraints)"
TARGET = "list(bpy.data.objects['Target'].location)"
TIP = "tip_off('Figure', 'Forearm', 'Target')"
IS_PLAYING = "bpy.context.screen.is_animation_playing"


def have(window: Window, what: str, sidebar: bool = True) -> None:
    """Set the figure on the stage: with a ``target``, or a ``constraint`` to it as well."""
    window.ask(f"prepare({'panel' if what == 'constraint' else 'select'!r})")
    window.ask(f"arrange({'panel' if sidebar else 'select'!r})")
    window.until("open_tab()")


def take_target(window: Window) -> None:
    """Leave Pose Mode and select the target alone, so that G moves it."""
    window.ask("take('Target'); remember('stage')")


def grab(window: Window, across: float, down: float) -> None:
    """Press G with the mouse on the target, and move the mouse."""
    window.move(window.ask(f"seen({TARGET})"))
    window.key("g")
    window.until("modal() == 'TRANSFORM_OT_translate'")
    window.slide(across, down)


FK = f"[list(bone.rotation_quaternion) for bone in {RIG}.pose.bones]"
"""What the channels hold."""


class TestKeying:
    def test_keying_all_bones_with_i_keys_fk_and_moves_nothing(self, window):
        have(window, "constraint")
        window.until(f"{ITEM}.state == 'REACHED'")
        window.move(window.ask("seen((0.2, 0, 1))"))
        window.key("a")
        window.until(f"all(b.select for b in {RIG}.pose.bones)")
        for influence in (1.0, 0.5):
            window.ask(f"setattr({ITEM}, 'influence', {influence})")
            window.settled()
            given, shown = window.ask(FK), window.ask("pose('Figure')")
            for _ in range(4):
                window.key("i")
                window.until("len(keyed_bones('Figure')) > 0")
                window.settled()
            assert window.ask(FK) == given
            moved = zip(window.ask("pose('Figure')"), shown, strict=True)
            assert max(abs(a - b) for a, b in moved) <= 1e-6
        window.ask("bpy.context.scene.frame_set(20)")
        window.settled()
        assert window.ask(FK) == given


class TestAdding:
    def test_plus_in_the_sidebar_adds_a_constraint_that_reaches(self, window):
        have(window, "target")
        window.ask("remember('stage')")
        before = window.settled()
        assert window.ask(COUNT) == 0

        window.click(window.find("fabrik.constraint_add"))

        window.until(f"{COUNT} == 1")
        assert window.ask(f"({ITEM}.bone, {ITEM}.target.name)") == ["Forearm", "Target"]
        window.until(f"{ITEM}.state == 'REACHED' and {TIP} < {NEAR}")
        window.move(window.ask("seen((0.2, 0, 1))"))
        window.drawn(before, window.ask("box()"), CHANGED)
        window.drawn(before, window.ask("box('UI')"), CHANGED)
        window.key("ctrl+z")
        window.until(f"{COUNT} == 0")

    def test_the_menu_has_it_as_well(self, window):
        have(window, "target", sidebar=False)

        window.choose(POSE_MENU, "Add FABRIK IK")

        window.until(f"{COUNT} == 1")
        window.until(f"{ITEM}.state == 'REACHED' and {TIP} < {NEAR}")


class TestSelecting:
    """The panel follows what is clicked."""

    def test_a_click_on_a_bone_shows_its_constraint(self, window):
        have(window, "constraint")
        window.ask(
            f"item = {RIG}.fabrik.constraints.add(); item.bone = 'Head'; item.chain_count = 1; "
            f"item.target = bpy.data.objects['Target']; {RIG}.fabrik.active_index = 0"
        )
        for bone, index in (("Head", 1), ("Upper Arm", 0), ("Head", 1), ("Forearm", 0)):
            window.settled()
            window.click(window.ask(f"list(seen(middle('Figure', {bone!r})))"))
            window.until(f"{RIG}.fabrik.active_index == {index}")

    def test_with_the_target_selected_the_buttons_mean_its_limb(self, window):
        have(window, "constraint")
        take_target(window)
        window.until("bpy.context.object.name == 'Target'")
        before = window.ask(FK)

        window.click(window.find("fabrik.snap_to_ik"))

        window.until(f"{FK} != {before}")


class TestMotionPaths:
    def test_paths_that_blender_calculates_go_through_the_solved_pose(self, window):
        have(window, "constraint", sidebar=False)
        window.until(f"{ITEM}.state == 'REACHED'")
        window.ask("bpy.context.scene.frame_end = 12")
        window.ask("bpy.ops.pose.paths_calculate(range='SCENE', bake_location='TAILS')")

        window.until("path_off('Figure', 'Forearm') < 1e-5")


class TestDragging:
    def test_tip_follows_a_target_that_is_moved_with_g(self, window):
        have(window, "constraint", sidebar=False)
        take_target(window)
        before, start = window.settled(), window.ask(TARGET)

        grab(window, -60, 80)
        window.until(f"{TARGET} != {start} and {TIP} < {NEAR}")
        window.drawn(before, window.ask("box()"), CHANGED)
        window.click()

        window.until("modal() == ''")
        there = window.ask(TARGET)
        assert there != start
        assert window.ask(f"{ITEM}.state") == "REACHED"
        assert window.ask(TIP) < NEAR

    def test_escape_gives_the_pose_back(self, window):
        have(window, "constraint", sidebar=False)
        take_target(window)
        start, pose = window.ask(TARGET), window.ask("pose('Figure')")

        grab(window, 40, 60)
        window.until(f"pose('Figure') != {pose}")
        window.key("Escape")

        window.until("modal() == ''")
        window.until(f"{TARGET} == {start} and pose('Figure') == {pose}")

    def test_undo_and_redo_of_a_drag(self, window):
        have(window, "constraint", sidebar=False)
        take_target(window)
        start, pose = window.ask(TARGET), window.ask("pose('Figure')")
        grab(window, -60, 80)
        window.until(f"{TARGET} != {start}")
        window.key("Return")
        window.until("modal() == ''")
        there, moved = window.ask(TARGET), window.ask("pose('Figure')")
        before = window.settled()

        window.key("ctrl+z")
        window.until(f"{TARGET} == {start} and pose('Figure') == {pose}")
        window.drawn(before, window.ask("box()"), CHANGED)

        window.key("ctrl+shift+z")
        window.until(f"{TARGET} == {there} and pose('Figure') == {moved}")
        assert window.ask(TIP) < NEAR


class TestPlaying:
    def test_tip_stays_on_its_target_while_the_space_bar_plays(self, window):
        have(window, "constraint", sidebar=False)
        window.ask("travel('Target'); watch('Figure', 'Forearm', 'Target')")
        before = window.settled()
        window.move(window.ask("seen((0.2, 0, 1))"))
        assert not window.ask(IS_PLAYING)

        window.key("space")
        window.until(IS_PLAYING)
        window.until("len(watched) >= 8")
        window.drawn(before, window.ask("box()"), CHANGED)
        window.key("space")

        window.until(f"not {IS_PLAYING}")
        assert max(window.ask("list(watched.values())")) < NEAR
        frame = window.ask(FRAME)
        window.settled()
        assert window.ask(FRAME) == frame


class TestTheDragTool:
    def take_tool(self, window, what):
        """Choose the tool in the toolbar, and lay the mouse on a bone."""
        have(window, what, sidebar=False)
        window.ask("show_tools(); remember('stage')")
        window.click(window.find("fabrik.drag", "TOOLS"))
        window.until("tool() == 'fabrik.drag'")
        window.move(window.ask("seen(middle('Figure', 'Forearm'))"))

    def test_target_follows_the_bone_that_is_pressed(self, window):
        self.take_tool(window, "constraint")
        before, start = window.settled(), window.ask(TARGET)

        window.press()
        window.slide(-60, 80)
        window.until(f"{TARGET} != {start} and {TIP} < {NEAR}")
        assert window.ask("modal()") == "FABRIK_OT_drag"
        window.drawn(before, window.ask("box()"), CHANGED)
        window.release()

        window.until("modal() == ''")
        assert window.ask(TARGET) != start
        assert window.ask(TIP) < NEAR
        window.key("ctrl+z")
        window.until(f"{TARGET} == {start}")

    def test_the_hand_at_the_tip_drags_the_target_and_with_alt_it_is_posed_in_fk(self, window):
        self.take_tool(window, "constraint")
        start, posed = window.ask(TARGET), window.ask(FK)
        window.move(window.ask("seen(middle('Figure', 'Hand'))"))
        window.press()
        window.slide(-40, 60)
        window.until(f"{TARGET} != {start}")
        window.release()
        window.until("modal() == ''")
        assert window.ask(FK) == posed
        there = window.ask(TARGET)

        window.move(window.ask("seen(middle('Figure', 'Hand'))"))
        with window.held("alt"):
            window.press()
            window.slide(0, 60)
            window.until(f"{FK} != {posed}")
            window.release()
        window.until("modal() == ''")
        assert window.ask(TARGET) == there

    def test_escape_gives_back_what_was(self, window):
        self.take_tool(window, "constraint")
        start, pose = window.ask(TARGET), window.ask("pose('Figure')")

        window.press()
        window.slide(40, 60)
        window.until(f"{TARGET} != {start}")
        window.key("Escape")
        window.release()

        window.until("modal() == ''")
        window.until(f"{TARGET} == {start} and pose('Figure') == {pose}")

    def test_chain_without_a_constraint_is_left_in_an_fk_pose(self, window):
        self.take_tool(window, "target")
        objects, pose = window.ask("len(bpy.data.objects)"), window.ask("pose('Figure')")

        window.press()
        window.slide(-60, -80)
        window.until(f"pose('Figure') != {pose}")
        window.settled()
        window.release()

        window.until("modal() == ''")
        posed = window.ask("pose('Figure')")
        assert posed != pose
        assert window.ask(f"({COUNT}, len(bpy.data.objects))") == [0, objects]
        window.key("ctrl+z")
        window.until(f"pose('Figure') == {pose}")


class TestBaking:
    def test_the_menu_bakes_what_was_played(self, window):
        have(window, "constraint", sidebar=False)
        window.ask("travel('Target'); remember('stage')")
        live = window.ask("played('Figure', (1, 7, 20, 40))")
        assert window.ask("keyed_bones('Figure')") == []

        window.choose(POSE_MENU, "Bake FABRIK IK")
        window.settled()
        window.key("Return")

        window.until("keyed_bones('Figure') == ['Forearm', 'Upper Arm'] and modal() == ''")
        baked = window.ask("played('Figure', (1, 7, 20, 40))")
        assert max(abs(a - b) for a, b in zip(live, baked, strict=True)) < NEAR
        assert not window.ask(f"{ITEM}.enabled")
        window.settled()
        window.key("ctrl+z")
        window.until("not keyed_bones('Figure')")

    def test_disabling_the_extension_meanwhile_leaves_everything_as_it_was(self, window):
        have(window, "constraint", sidebar=False)
        window.ask("travel('Target'); bpy.context.scene.frame_end = 20_000; remember('stage')")
        window.move(POSE_MENU)  # What the status bar shows depends on what the mouse is over.
        pose, before = window.ask("pose('Figure')"), window.settled()
        window.choose(POSE_MENU, "Bake FABRIK IK")
        window.settled()
        window.key("Return")
        window.until(f"modal() == 'FABRIK_OT_bake' and {FRAME} > 1")
        window.drawn(before, STATUS, 100)

        (module,) = (name for name in window.ask(ADDONS) if "fabrik" in name)
        window.ask(f"bpy.ops.preferences.addon_disable(module={module!r})")
        try:
            window.until(f"modal() == '' and {FRAME} == 1")
            assert window.ask("keyed_bones('Figure')") == []
            assert window.ask("[ob.name for ob in bpy.data.objects if ob.hide_viewport]") == []
            window.slide(10, 0)
            assert window.settled().differing(before, STATUS) < 100
        finally:
            window.ask(f"bpy.ops.preferences.addon_enable(module={module!r})")
        window.until(f"pose('Figure') == {pose}")


class TestTheOverlay:
    def test_its_button_draws_it_and_takes_it_away(self, window):
        have(window, "constraint")
        button = window.find("fabrik.show_overlay")
        shown = window.settled()
        assert window.ask("bpy.context.scene.fabrik.show_overlay")

        window.click(button)
        window.until("not bpy.context.scene.fabrik.show_overlay")
        hidden = window.drawn(shown, window.ask("box()"), 500)

        window.click(button)
        window.until("bpy.context.scene.fabrik.show_overlay")
        window.drawn(hidden, window.ask("box()"), 500)


class TestAnotherViewLayer:
    """At its first update Blender calls no handler."""

    @pytest.mark.parametrize(
        "make", ("bpy.ops.scene.new(type='LINK_COPY')", "bpy.ops.scene.view_layer_add(type='NEW')")
    )
    def test_it_shows_solved_chains_without_an_edit(self, window, make):
        have(window, "constraint")
        window.settled()
        shown = window.ask("pose('Figure')")
        window.ask(make)
        window.until(f"pose('Figure') == {shown}")
