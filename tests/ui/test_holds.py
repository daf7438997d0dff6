"""Holding with the mouse and keys, in at most four actions a hold."""

from character import HAND, RIG, hand_at, have_character
from figure import FRAME, POSE_MENU
from window import FOLDER, Window

CUP = "bpy.data.objects['Cup']"
HELD = f"{CUP}.parent.fabrik.holds"
EVENTS = f"[(k.co[0], round(k.co[1])) for k in curves({CUP}.parent)[0].keyframe_points]"
KEYS = f"[c.keyframe_points[0].co[0] for c in curves({RIG}) if c.data_path.endswith('.holder')]"
PLACE = f"list(evaluated({CUP}).matrix_world.translation)"


def have_cup(window: Window) -> None:
    """Set a character on the stage whose arm is keyed, and a selected cup beside its hand."""
    have_character(window)
    window.ask(f"prepare_cup({HAND!r})")
    window.until("open_tab()")
    window.ask("remember('stage')")
    window.settled()


def listed(window: Window) -> list[str]:
    """Return the texts of the list in the panel: what is held by what, and when."""
    texts = window.ask("panel_texts('FABRIK_PT_holds')")
    return [text for text in texts if ": " in text or text[:1].isdigit()]


def sentences(window: Window) -> str:
    """Return the texts of the panel as one, whose lines are as long as it is wide."""
    return " ".join(window.ask("panel_texts('FABRIK_PT_holds')"))


def apart(a: list[float], b: list[float]) -> float:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5


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

    def test_the_list_says_what_is_held_since_when_and_until_when(self, window):
        have_cup(window)
        window.click(hand_at(window))
        window.choose(POSE_MENU, "Pick Up")
        window.until(f"{CUP}.parent is not None and len({HELD}) == 1")
        assert listed(window) == [f"Cup: {HAND}", "1–"]
        window.ask("go(20)")
        window.choose(POSE_MENU, "Release")
        window.until(f"len({EVENTS}) == 2")
        assert listed(window) == [f"Cup: {HAND}", "1–20"]

        window.move((300, 700))
        window.key("ctrl+z")
        window.until(f"len({EVENTS}) == 1")
        assert listed(window) == [f"Cup: {HAND}", "1–"]

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

    def test_keys_that_a_cup_had_do_not_move_it_in_the_hand_and_the_panel_says_so(self, window):
        have_cup(window)
        window.ask(f"key_up({CUP}, 20)")
        window.click(hand_at(window))
        window.choose(POSE_MENU, "Pick Up")
        window.until(f"{CUP}.parent is not None and len({HELD}) == 1")
        held = f"list(middle('Downloaded', {HAND!r}))"
        first = apart(window.ask(PLACE), window.ask(held))
        window.ask("go(20)")
        assert abs(apart(window.ask(PLACE), window.ask(held)) - first) < 1e-4
        assert "is fixed to its holder from frame 1" in sentences(window)

        window.ask(f"{HELD}[0].holders[0].use_animation = True")
        assert "is fixed to its holder" not in sentences(window)

    def test_its_key_is_moved_in_the_dope_sheet_and_it_is_found_again(self, window):
        have_cup(window)
        window.click(hand_at(window))
        window.choose(POSE_MENU, "Hold in World")
        window.until(f"len({RIG}.fabrik.holds) == 1")
        assert window.ask(KEYS) == [1.0]

        window.ask("show_dope_sheet()")
        window.settled()
        left, top, width, height = window.ask("timeline()")
        window.move((left + width / 2, top + height / 2))
        window.key("a")
        window.key("g")
        window.type("4")
        window.key("Return")
        window.until(f"{KEYS} == [5.0]")
        window.until(f"{RIG}.fabrik.holds[0].message == ''")  # It was found again.

    def test_a_control_whose_keys_do_not_count_says_so_where_it_is_dragged(self, window):
        have_cup(window)
        window.click(hand_at(window))
        window.choose(POSE_MENU, "Hold in World")
        window.until(f"len({RIG}.fabrik.holds) == 1 and len({RIG}.fabrik.constraints) == 1")
        written: dict[bool, int] = {}
        for counts in (True, False):
            window.ask(f"{RIG}.fabrik.holds[0].holders[0].use_animation = {counts}")
            window.until(f"{RIG}.fabrik.holds[0].message == ''")
            x, y = hand_at(window)
            window.move((x, y + 100))
            before = window.settled()
            window.key("g")
            window.until("modal() == 'TRANSFORM_OT_translate'")
            now = window.settled()
            window.save(now, FOLDER / f"dragged_{counts}.png")
            written[counts] = now.differing(before, (x + 20, y - 12, 300, 50))
            window.key("Escape")
            window.until("modal() == ''")
        assert written[False] > written[True] + 1000, written

    def test_a_cup_with_keys_returns_to_its_own_place(self, window):
        have_cup(window)
        window.ask(f"key_up({CUP}, 40)")
        free = window.ask(f"(go(38), {PLACE})[1]")
        window.ask("go(1)")
        window.click(hand_at(window))
        window.choose(POSE_MENU, "Pick Up")
        window.until(f"{CUP}.parent is not None and len({HELD}) == 1")
        window.ask("go(20)")
        there = window.ask(PLACE)
        window.choose(POSE_MENU, "Return")
        window.until(f"len({EVENTS}) == 2")
        assert near(window.ask(PLACE), there)
        assert near(window.ask(f"(go(38), {PLACE})[1]"), free)
        assert listed(window) == [f"Cup: {HAND}", "1–20", "Cup: Returned", "20–26"]
