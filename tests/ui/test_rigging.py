"""IK is added and removed in few actions, and what needs a choice asks for it.

An action is a click, a key with its modifiers, or a choice in an open menu.
"""

from contextlib import nullcontext
from dataclasses import dataclass

import pytest
from character import CONTROL, COUNT, HAND, POLE, RIG, SELECTED, hand_at, have_character
from figure import CHANGED, NEAR, POSE_MENU
from window import FOLDER, SCREEN, Picture, Place, Window

FINGER = "mixamorig:LeftHandIndex2"
BONES = f"len({RIG}.pose.bones)"
JOINT = "bpy.data.objects['Figure'].pose.bones['Forearm'].fabrik_joint"

STILL = 1e-4
"""The largest change of a bone's matrix that is not seen, in centimeters, of a limb of 54."""


@dataclass
class Counting:
    """Does what an animator does, and counts it."""

    window: Window
    actions: int = 0

    def click(self, place: Place) -> None:
        self.actions += 1
        self.window.click(place)

    def key(self, name: str) -> None:
        self.actions += 1
        self.window.key(name)


def moved(window: Window, before: list[float]) -> float:
    """Return by how much the bones differ that were there before."""
    after = window.ask("pose('Downloaded')")[: len(before)]
    return max(abs(a - b) for a, b in zip(after, before, strict=True))


class TestAddingLimbs:
    def test_an_arm_with_a_pole_takes_two_actions_and_nothing_moves(self, window):
        start = have_character(window)
        bones = window.ask("pose('Downloaded')")
        animator = Counting(window)

        animator.click(hand_at(window))
        animator.key("ctrl+shift+i")

        window.until(f"{COUNT} == 1")
        assert animator.actions <= 3
        item = f"{RIG}.fabrik.constraints[0]"
        assert window.ask(f"({item}.bone, {item}.use_rotation)") == [HAND, True]
        assert window.ask(f"({item}.subtarget, {item}.pole_subtarget)") == [
            CONTROL,
            POLE,
        ]
        window.until(f"{item}.state == 'REACHED'")
        assert moved(window, bones) < STILL
        window.drawn(start, window.ask("box()"), CHANGED)  # The overlay shows it at once.

        # The control bone is selected, so that the next key moves the hand.
        assert window.ask(SELECTED) == [CONTROL]
        animator.key("g")
        window.until("modal() == 'TRANSFORM_OT_translate'")
        window.slide(-60, -60)
        window.click()
        window.until("modal() == ''")
        window.until(
            f"{item}.state == 'REACHED' and hand_off('Downloaded', {HAND!r}) < {100 * NEAR}"
        )
        assert moved(window, bones) > 1.0

    def test_the_menu_has_it_and_undo_takes_all_of_it_back(self, window):
        have_character(window)
        count = window.ask(BONES)
        window.click(hand_at(window))
        window.until(f"{SELECTED} == [{HAND!r}]")

        window.choose(POSE_MENU, "Add IK Limb")

        window.until(f"{COUNT} == 1")
        assert window.ask(BONES) == count + 2
        window.move(hand_at(window))
        window.key("ctrl+z")
        window.until(f"{COUNT} == 0")
        assert window.ask(f"({BONES}, {SELECTED})") == [count, [HAND]]

    def test_both_sides_are_a_checkbox_of_the_redo_panel(self, window):
        have_character(window)
        window.click(hand_at(window))
        window.until(f"{SELECTED} == [{HAND!r}]")
        window.key("ctrl+shift+i")
        window.until(f"{COUNT} == 1")
        window.click_in_redo_panel(3)

        window.until(f"{COUNT} == 2")
        bones = window.ask(f"[item.bone for item in {RIG}.fabrik.constraints]")
        assert bones == [HAND, HAND.replace("Left", "Right")]
        window.until(f"all(item.state == 'REACHED' for item in {RIG}.fabrik.constraints)")

    def test_a_finger_means_the_arm_and_itself_by_one_more_click(self, window):
        have_character(window)
        animator = Counting(window)
        animator.click(window.ask(f"list(seen(middle('Downloaded', {FINGER!r})))"))
        window.until(f"{SELECTED} == [{FINGER!r}]")
        animator.key("ctrl+shift+i")
        window.until(f"{COUNT} == 1")
        item = f"{RIG}.fabrik.constraints[0]"
        assert window.ask(f"({item}.bone, {item}.chain_count, {item}.use_rotation)") == [
            HAND,
            2,
            True,
        ]
        assert (animator.actions, window.ask(SELECTED)) == (2, [CONTROL])
        window.click_in_redo_panel(8)

        last = FINGER.replace("2", "3")
        window.until(f"{COUNT} == 1 and {item}.bone == {last!r}")
        assert window.ask(f"({item}.chain_count, {item}.use_rotation)") == [3, False]


FACE = "bpy.data.objects['Face']"


def click_face(window: Window, *bones: str) -> None:
    """Click bones of the face on the screen, with Shift after the first one."""
    for i, bone in enumerate(bones):
        place = window.ask(f"list(seen(middle('Face', {bone!r})))")
        with window.held("shift") if i else nullcontext():
            window.click(place)
        window.until(f"{SELECTED} == {sorted(bones[: i + 1])}")


def have_face(window: Window) -> Picture:
    window.ask("prepare_face(); arrange('select'); look_at((0.2, 0, 1.1), 2.6, 10, 10)")
    window.ask("remember('stage')")
    return window.settled()


class TestAdding:
    """Selected bones get one each, and what is made is ready for G."""

    def test_two_eyes_look_at_one_control(self, window):
        have_face(window)
        click_face(window, "Eye.L", "Eye.R")

        window.choose(POSE_MENU, "Look-at")

        items = f"{FACE}.fabrik.constraints"
        window.until(f"[item.bone for item in {items}] == ['Eye.R', 'Eye.L']")
        assert window.ask(f"[item.subtarget for item in {items}]") == ["Eye Look"] * 2
        assert window.ask(SELECTED) == ["Eye Look"]
        before = window.ask("pose('Face')")
        window.move(window.ask("seen((0.3, 0, 1.3))"))
        window.key("g")
        window.until("modal() == 'TRANSFORM_OT_translate'")
        window.slide(-80, 40)
        window.click()
        window.until("modal() == ''")
        window.until(f"pose('Face') != {before}")
        assert window.ask(f"[item.state for item in {items}]") == ["REACHED"] * 2
        window.key("ctrl+z")
        window.key("ctrl+z")
        window.until(f"len({items}) == 0 and 'Eye Look' not in {FACE}.data.bones")

    def test_a_tail_follows_g_at_once(self, window):
        have_face(window)
        click_face(window, "Tail3")

        window.choose(POSE_MENU, "Add FABRIK IK")

        item = f"{FACE}.fabrik.constraints[0]"
        window.until(f"len({FACE}.fabrik.constraints) == 1")
        assert window.ask(f"({item}.bone, {item}.chain_count)") == ["Tail3", 3]
        assert window.ask(SELECTED) == ["Tail3 IK"]
        before = window.ask("list(middle('Face', 'Tail3'))")
        window.move(window.ask("seen((0.3, 0, 1.3))"))
        window.key("g")
        window.until("modal() == 'TRANSFORM_OT_translate'")
        window.slide(-40, -20)
        window.click()
        window.until("modal() == ''")
        window.until(f"list(middle('Face', 'Tail3')) != {before}")
        window.until(f"{item}.state == 'REACHED'")


def have_arms(window: Window) -> list[float]:
    """Add IK to both arms, select the left hand alone, and return the pose."""
    have_character(window)
    window.click(hand_at(window))
    window.key("ctrl+shift+i")
    window.until(f"{COUNT} == 1")
    window.click_in_redo_panel(3)
    window.until(f"{COUNT} == 2")
    window.click(hand_at(window))
    window.until(f"{SELECTED} == [{HAND!r}]")
    return window.ask("pose('Downloaded')")


class TestMovingWhatIkPoses:
    """G and R on a bone that IK poses move its control; other bones move as usual."""

    def test_g_moves_the_control_and_one_undo_gives_all_back(self, window):
        bones = have_arms(window)
        window.key("g")
        window.until("modal() == 'FABRIK_OT_control_move'")
        window.slide(-60, -60)
        window.click()
        window.until("modal() == ''")
        window.until(f"{SELECTED} == [{CONTROL!r}]")
        assert moved(window, bones) > 1.0
        assert not any(
            window.ask(f"list({RIG}.pose.bones[{HAND!r}].matrix_basis.to_translation())")
        )
        # The redo panel moves the control as well: its first row is the distance along X.
        before = window.ask("pose('Downloaded')")
        window.settled()
        left, top, width, _ = window.ask("box('HUD')")  # It is open since IK was added.
        scale = window.ask("bpy.context.preferences.system.ui_scale")
        window.click((left + 0.6 * width, top + 44 * scale))
        window.type("-0.1")
        window.key("Return")
        window.until(f"pose('Downloaded') != {before}")
        assert window.ask(SELECTED) == [CONTROL]
        location = window.ask(f"list({RIG}.pose.bones[{CONTROL!r}].location)")
        assert max(map(abs, location)) == pytest.approx(10.0, abs=0.5)  # In centimeters.
        window.move(hand_at(window))
        window.key("ctrl+z")
        window.until(f"{SELECTED} == [{HAND!r}]")
        assert moved(window, bones) < STILL
        window.key("ctrl+shift+z")
        window.until(f"{SELECTED} == [{CONTROL!r}]")
        assert moved(window, bones) > 1.0

    @pytest.mark.parametrize(("key", "word"), [("g", "move"), ("r", "rotate")])
    def test_escape_gives_the_selection_back(self, window, key, word):
        bones = have_arms(window)
        window.key(key)
        window.until(f"modal() == 'FABRIK_OT_control_{word}'")
        window.slide(-60, -60)
        window.key("Escape")
        window.until("modal() == ''")
        window.until(f"{SELECTED} == [{HAND!r}]")
        assert moved(window, bones) < STILL

    def test_both_hands_are_rotated_and_a_bone_without_ik_as_ever(self, window):
        bones = have_arms(window)
        other = HAND.replace("Left", "Right")
        window.ask(f"""
for name in ({other!r}, "mixamorig:Head"):
    {RIG}.pose.bones[name].select = True
True""")
        window.key("r")
        window.until("modal() == 'FABRIK_OT_control_rotate'")
        window.slide(-60, -60)
        window.click()
        window.until("modal() == ''")
        wanted = sorted([CONTROL, CONTROL.replace("Left", "Right"), "mixamorig:Head"])
        window.until(f"sorted({SELECTED}) == {wanted}")
        assert moved(window, bones) > 0.1
        window.click(window.ask("list(seen(middle('Downloaded', 'mixamorig:Head')))"))
        window.until(f"{SELECTED} == ['mixamorig:Head']")
        window.key("r")
        window.until("modal() == 'TRANSFORM_OT_rotate'")
        window.key("Escape")
        window.until("modal() == ''")

    def test_a_head_moves_by_its_control_and_r_that_would_turn_nothing_leaves_it(self, window):
        have_character(window)
        window.ask("bpy.ops.fabrik.character_set_up()")
        window.until(f"{COUNT} > 4")
        window.ask(f"""
for bone in {RIG}.pose.bones:
    bone.select = bone.name == "mixamorig:Head"
{RIG}.data.bones.active = {RIG}.data.bones["mixamorig:Head"]
True""")
        window.until(f"{SELECTED} == ['mixamorig:Head']")
        window.settled()
        window.move(hand_at(window))
        for key, operator in (("r", "TRANSFORM_OT_rotate"), ("g", "FABRIK_OT_control_move")):
            window.key(key)
            window.until(f"modal() == {operator!r}")
            window.slide(-60, -60)
            window.save(window.settled(), FOLDER / f"head-{key}.png")
            window.key("Escape")
            window.until("modal() == ''")
            window.until(f"{SELECTED} == ['mixamorig:Head']")

    def test_the_preferences_turn_it_off(self, window):
        have_arms(window)
        switch = """
items = bpy.context.window_manager.keyconfigs.user.keymaps['Pose'].keymap_items
for item in items:
    if item.idname.startswith('fabrik.control_'):
        item.active = %s
True"""
        window.ask(switch % False)
        try:
            window.key("g")
            window.until("modal() == 'TRANSFORM_OT_translate'")
            window.key("Escape")
            window.until("modal() == ''")
            assert window.ask(SELECTED) == [HAND]
        finally:
            window.ask(switch % True)


class TestRemoving:
    def test_blenders_shortcut_for_remove_ik_removes_ours_as_well(self, window):
        have_character(window)
        bones = window.ask("pose('Downloaded')")
        window.click(hand_at(window))
        window.until(f"{SELECTED} == [{HAND!r}]")
        window.key("ctrl+shift+i")
        window.until(f"{COUNT} == 1")

        window.key("ctrl+alt+i")  # The control bone is selected.

        window.until(f"{COUNT} == 0")
        window.settled()
        assert moved(window, bones) < STILL


def open_joint(window: Window) -> None:
    """Open the panel of the joint, of an armature without constraints."""
    across, y = window.find("fabrik.limb_add", is_wide=True)
    opened = window.settled()
    # It is below that button and five lines of text.
    window.click((across, y + 118 * window.ask("bpy.context.preferences.system.ui_scale")))
    window.drawn(opened, window.ask("box('UI')"), CHANGED)
    window.settled()


class TestChoosing:
    def test_learning_without_an_action_offers_all_actions(self, window):
        window.ask("prepare_actions()")
        window.ask("arrange('panel')")
        window.until("open_tab()")
        open_joint(window)
        before = window.settled()

        window.click(window.find("fabrik.joint_learn"))
        window.drawn(before, SCREEN, 10_000)
        assert window.ask(f"{JOINT}.limit_type") == "NONE"
        window.key("Return")

        window.until(f"{JOINT}.limit_type == 'HINGE'")

    def test_a_preset_asks_for_the_axis_of_a_straight_arm(self, window):
        window.ask("straighten()")
        window.ask("arrange('panel')")
        window.until("open_tab()")
        open_joint(window)
        before = window.settled()
        _, down = window.find("fabrik.joint_learn")

        # Its icon in the title is at the right end, three rows above.
        scale = window.ask("bpy.context.preferences.system.ui_scale")
        left, _, width, _ = window.ask("box('UI')")
        icon = (left + width - 65 * scale, down - 74 * scale)
        window.click(icon)
        window.drawn(before, SCREEN, 10_000)
        opened = window.settled()
        # Elbow is the first of nine. A click before it lights up is lost.
        # One jump of the mouse is not always enough.
        window.slide(-50 * scale, -190 * scale)
        window.drawn(opened, SCREEN, 1000)
        window.slide(-13 * scale, -41 * scale)
        lit = window.settled()
        window.click()
        window.drawn(lit, SCREEN, 10_000)
        window.settled()
        assert window.ask(f"{JOINT}.limit_type") == "NONE"
        window.key("Return")

        window.until(f"({JOINT}.limit_type, {JOINT}.hinge_axis) == ('HINGE', 'X')")


class TestJoining:
    def test_ctrl_j_takes_constraints_along_and_one_undo_gives_them_back(self, window):
        window.ask("prepare_join(); remember('stage')")
        window.settled()
        figure = "bpy.data.objects['Figure']"
        window.move(window.ask("seen((0, 0, 1))"))

        window.key("ctrl+j")

        states = f"[(i.bone, i.state) for i in {figure}.fabrik.constraints]"
        both = [["Forearm", "REACHED"], ["Forearm.001", "REACHED"]]
        window.until(f"len({figure}.fabrik.constraints) == 2")
        window.until(f"all(i.state == 'REACHED' for i in {figure}.fabrik.constraints)")
        assert window.ask(states) == both
        assert not window.ask("'Other' in bpy.data.objects")
        window.key("ctrl+z")
        window.until("'Other' in bpy.data.objects")
        assert window.ask(f"len({figure}.fabrik.constraints)") == 1
        assert window.ask("bpy.data.objects['Other'].fabrik.constraints[0].bone") == "Forearm"
        window.key("ctrl+shift+z")
        window.until(f"len({figure}.fabrik.constraints) == 2")
        assert window.ask(states) == both
        window.key("g")
        window.until("modal() == 'TRANSFORM_OT_translate'")
        window.click()
        window.until("modal() == ''")
        window.key("ctrl+z")
        window.until(f"len({figure}.fabrik.constraints) == 2")
