"""What is picked and said while bones are dragged in a real window."""

import pytest
from character import HAND, have_character
from figure import ITEM, RIG

SAYS = "bpy.context.window_manager.windows[0].modal_operators[0]._shown"
"""The text of the header, which Blender doesn't report."""

PICKED = "bpy.context.window_manager.windows[0].modal_operators[0].bone"


def have_figure(window):
    window.ask("prepare('panel'); arrange('select')")
    window.ask("look(sidebar=False); take_tool('fabrik.drag')")
    window.ask("remember('stage')")
    window.until("tool() == 'fabrik.drag'")
    window.settled()


class TestTheHeader:
    def test_it_says_out_of_reach_while_that_lasts(self, window):
        have_figure(window)
        window.move(window.ask("seen(middle('Figure', 'Forearm'))"))
        window.press()
        window.slide(20, -20)
        window.until("modal() == 'FABRIK_OT_drag'")
        for way, state in (((400, -300), "OUT_OF_REACH"), ((-400, 300), "REACHED")):
            window.slide(*way)
            window.until(f"{ITEM}.state == {state!r}")
            window.settled()
            assert ("out of reach" in window.ask(SAYS)) is (state == "OUT_OF_REACH")
        window.key("Escape")
        window.release()


class TestWhatIsPicked:
    @pytest.mark.parametrize(
        ("distance", "picked"), [(6.0, HAND), (1.2, "mixamorig:LeftHandThumb2")]
    )
    def test_a_thumb_is_the_hand_where_it_is_too_small_to_be_aimed_at(
        self, window, distance, picked
    ):
        have_character(window)
        thumb = "middle('Downloaded', 'mixamorig:LeftHandThumb2')"
        window.ask(f"look_at({thumb}, {distance}); take_tool('fabrik.drag'); remember('stage')")
        window.until("tool() == 'fabrik.drag'")
        window.settled()
        window.move(window.ask(f"list(seen({thumb}))"))
        window.press()
        window.slide(40, -40)
        window.until("modal() == 'FABRIK_OT_drag'")
        assert window.ask(PICKED) == picked
        window.key("Escape")
        window.release()


class TestRestPosition:
    def test_it_is_said_and_nothing_is_dragged(self, window):
        have_figure(window)
        window.ask(f"{RIG}.data.pose_position = 'REST'; remember('rest')")
        before, target = window.settled(), f"list({ITEM}.target.location)"
        there = window.ask(target)
        window.move(window.ask("seen(middle('Figure', 'Forearm'))"))
        window.press()
        window.slide(60, -40)
        # The pop-up beside the mouse goes away with it.
        window.drawn(before, window.ask("box()"), 500)
        window.release()
        assert window.ask("modal()") == "" and window.ask(target) == there
