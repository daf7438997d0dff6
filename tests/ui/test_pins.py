"""Pinning with P, and dragging the whole body with the mouse."""

import pytest
from character import HAND, RIG, hand_at, have_character
from window import Window

FEET = ("mixamorig:LeftFoot", "mixamorig:RightFoot")
FOREARM, HIPS, SHIN = (f"mixamorig:{name}" for name in ("LeftForeArm", "Hips", "LeftLeg"))
AUTO_KEYING = """
bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
bpy.context.preferences.edit.use_keyframe_insert_available = False
True"""
PINS = f"[(pin.bone, pin.kind) for pin in {RIG}.fabrik.pins]"


def have_tool(window: Window) -> None:
    """Set a character on the stage, seen as a whole, with the tool in hand."""
    have_character(window)
    window.ask("look_at((0.0, 0.0, 0.8), 6.0); take_tool('fabrik.drag'); remember('stage')")
    window.until("tool() == 'fabrik.drag'")
    window.settled()


def hover(window: Window, bone: str) -> None:
    window.move(window.ask(f"list(seen(middle('Downloaded', {bone!r})))"))


def place(window: Window, bone: str) -> list[float]:
    """Return where a bone begins and ends, in the space of the armature."""
    bones = "evaluated(bpy.data.objects['Downloaded']).pose.bones"
    return window.ask(f"[*{bones}[{bone!r}].head, *{bones}[{bone!r}].tail]")


def pull_hand(window: Window, across: float, down: float) -> str:
    """Pin a foot and begin to drag a hand, and return the pose before."""
    hover(window, FEET[0])
    window.key("p")
    window.until(f"len({RIG}.fabrik.pins) == 1")
    pose = window.ask("pose('Downloaded')")
    window.move(hand_at(window))
    window.press()
    window.slide(across, down)
    window.until(f"pose('Downloaded') != {pose}")
    return pose


class TestPins:
    def test_p_pins_the_location_then_the_rotation_then_nothing(self, window):
        have_tool(window)
        foot = FEET[0]
        hover(window, foot)
        for kinds in ([[foot, "LOCATION"]], [[foot, "BOTH"]], []):
            window.key("p")
            window.until(f"[list(pin) for pin in {PINS}] == {kinds!r}")
        window.key("ctrl+z")
        window.until(f"[list(pin) for pin in {PINS}] == {[[foot, 'BOTH']]!r}")

    def test_p_beside_the_bones_says_what_to_do(self, window):
        have_tool(window)
        before = window.settled()
        window.move(window.ask("list(seen((1.5, 0.0, 2.0)))"))
        window.key("p")
        window.drawn(before, window.ask("box()"), 0.001)
        assert window.ask(f"len({RIG}.fabrik.pins)") == 0

    def test_the_body_follows_the_hand_and_the_feet_stay(self, window):
        have_tool(window)
        for foot in FEET:
            hover(window, foot)
            window.key("p")
            window.key("p")
        window.until(f"[pin.kind for pin in {RIG}.fabrik.pins] == ['BOTH', 'BOTH']")
        feet, pose = [place(window, foot) for foot in FEET], window.ask("pose('Downloaded')")
        dots = window.settled()

        window.move(hand_at(window))
        window.press()
        window.slide(40, 160)
        window.until(f"pose('Downloaded') != {pose}")
        assert window.ask("modal()") == "FABRIK_OT_drag"
        window.key("p")
        window.until(f"len({RIG}.fabrik.pins) == 3")
        window.release()
        window.until("modal() == ''")

        for foot, before in zip(FEET, feet, strict=True):
            # In the centimeters of the skeleton: a tenth of a millimeter.
            assert max(abs(a - b) for a, b in zip(place(window, foot), before, strict=True)) < 1e-2
        window.drawn(dots, window.ask("box()"), 0.001)
        window.key("ctrl+z")
        window.until(f"pose('Downloaded') == {pose} and len({RIG}.fabrik.pins) == 2")

    def test_what_lags_behind_the_mouse_settles_when_it_rests(self, window):
        have_tool(window)
        window.ask(
            f"half = {RIG}.pose.bones['mixamorig:LeftShoulder'].constraints.new('COPY_ROTATION'); "
            f"half.target, half.subtarget, half.influence = {RIG}, 'mixamorig:Hips', 0.5"
        )
        pull_hand(window, 20, 80)
        window.settled()
        at_rest = place(window, HAND)
        window.release()
        window.until("modal() == ''")
        # What had not settled does so when the button is released.
        assert place(window, HAND) == at_rest

    @pytest.mark.parametrize("cancel", ["Escape", "right click"])
    def test_cancelling_gives_back_pose_and_pins(self, window, cancel):
        have_tool(window)
        window.ask(AUTO_KEYING)
        pose = pull_hand(window, 30, 120)
        window.key("p")
        window.until(f"len({RIG}.fabrik.pins) == 2")
        if cancel == "Escape":
            window.key("Escape")
        else:
            window.program("xdotool", "click", "3")
        window.until("modal() == ''")
        window.release()
        window.until(f"pose('Downloaded') == {pose} and len({RIG}.fabrik.pins) == 1")
        assert HAND not in str(window.ask(PINS))
        assert window.ask("keyed_bones('Downloaded')") == []

    @pytest.mark.parametrize(
        ("keying", "keyed", "unkeyed"),
        [
            ("FULL_BODY", {FOREARM, HIPS, SHIN}, set()),
            ("BODY_PART", {FOREARM}, {HIPS, SHIN}),
            ("BONE", set(), {FOREARM, HIPS, SHIN}),
        ],
    )
    def test_auto_keying_keys_what_the_panel_says(self, window, keying, keyed, unkeyed):
        have_tool(window)
        window.ask(AUTO_KEYING)
        window.ask(f"setattr({RIG}.fabrik.whole_body, 'keying', {keying!r})")
        pose = pull_hand(window, 40, 160)
        window.release()
        window.until("modal() == ''")
        found = set(window.ask("keyed_bones('Downloaded')"))
        # Under the mouse is the hand, or the thumb before it.
        assert {*keyed, window.ask("bpy.context.window_manager.operators[-1].bone")} <= found
        assert not unkeyed & found

        window.key("ctrl+z")
        window.until(f"pose('Downloaded') == {pose} and keyed_bones('Downloaded') == []")
