"""Holding with the mouse and keys, in at most four actions a hold."""

from character import HAND, RIG, hand_at, have_character
from figure import FRAME, POSE_MENU
from window import Window

CUP = "bpy.data.objects['Cup']"
HELD = f"{CUP}.parent.fabrik.holds"
EVENTS = f"[(k.co[0], round(k.co[1])) for k in curves({CUP}.parent)[0].keyframe_points]"
PLACE = f"list(evaluated({CUP}).matrix_world.translation)"


def have_cup(window: Window) -> None:
    """Set a character on the stage whose arm is keyed, and a selected cup beside its hand."""
    have_character(window)
    window.ask(f"prepare_cup({HAND!r})")
    window.until("open_tab()")
    window.ask("remember('stage')")
    window.settled()


def near(a: list[float], b: list[float]) -> bool:
    return max(abs(x - y) for x, y in zip(a, b, strict=True)) < 1e-4


class TestHolding:
    def test_a_cup_is_picked_up_and_released_in_three_actions_each(self, window):
        have_cup(window)
        before = window.ask(PLACE)
        window.click(hand_at(window))
        window.choose(POSE_MENU, "Pick Up")
        window.until(f"{CUP}.parent is not None and len({HELD}) == 1")
        assert near(window.ask(PLACE), before)
        assert window.ask(EVENTS) == [[1.0, 1]]

        window.ask("go(20)")
        window.until(f"{FRAME} == 20")
        there = window.ask(PLACE)
        assert not near(there, before), "it goes along with the hand"
        window.choose(POSE_MENU, "Release")
        window.until(f"len({EVENTS}) == 2")
        assert near(window.ask(PLACE), there)
        assert window.ask(EVENTS) == [[1.0, 1], [20.0, 0]]
        window.ask("go(30)")
        assert near(window.ask(PLACE), there), "it stays where it was put down"

        window.move((300, 700))
        window.key("ctrl+z")
        window.until(f"len({EVENTS}) == 1")

    def test_a_hand_stays_in_the_world_and_gets_its_ik_in_the_same_step(self, window):
        have_cup(window)
        window.click(hand_at(window))
        window.choose(POSE_MENU, "Hold in World")
        window.until(f"len({RIG}.fabrik.holds) == 1 and len({RIG}.fabrik.constraints) == 1")
        tip = f"list(middle('Downloaded', {HAND!r}))"
        before = window.ask(tip)
        window.ask("go(20)")
        assert max(abs(a - b) for a, b in zip(window.ask(tip), before, strict=True)) < 1e-3
        window.move((300, 700))
        window.key("ctrl+z")
        window.until(f"len({RIG}.fabrik.constraints) == 0 and len({RIG}.fabrik.holds) == 0")
