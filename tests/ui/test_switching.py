"""FK and IK are switched, IK is removed and added again, and the manual is opened, by hand."""

from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from character import CONTROL, COUNT, HAND, RIG, SELECTED, hand_at, have_character
from figure import CHANGED
from window import ROOT, SCREEN, Window

INFLUENCE = f"{RIG}.fabrik.constraints[0].influence"
MIDDLE = (300, 200, 1000, 600)
"""Where menus open, on the screen."""

F1, F3 = "67", "69"
"""The keys themselves: by their names, Alt comes with them."""

OPENED = "__import__('webbrowser').opened"


def have_limb(window: Window, sidebar: bool = False) -> None:
    """Add IK to an arm by hand, whose control bone is selected then."""
    have_character(window)
    window.click(hand_at(window))
    window.until(f"{SELECTED} == [{HAND!r}]")
    window.key("ctrl+shift+i")
    window.until(f"{COUNT} == 1")
    window.ask("bpy.context.scene.frame_set(10)")
    if sidebar:
        window.ask("look(True); face_hand_beside()")
        window.until("open_tab()")
    window.until(f"{SELECTED} == [{CONTROL!r}]")
    window.settled()


def is_in(window: Window, side: str) -> None:
    """Assert that the limb is in FK or IK, and that only what animates it there is selected."""
    window.until(f"{INFLUENCE} == {int(side == 'IK')}")
    window.until(f"{SELECTED} == [{HAND if side == 'FK' else CONTROL!r}]")
    assert window.ask("bpy.context.active_pose_bone.name") == (HAND if side == "FK" else CONTROL)


def search(window: Window, text: str) -> None:
    """Call the first command that a search finds."""
    before = window.settled()
    window.key(F3)
    window.drawn(before, MIDDLE, 20_000)
    window.settled()
    window.type(text)
    window.save(window.settled(), ROOT / "build" / "ui" / f"search-{text}.png")
    window.key("Return")


class TestSwitching:
    def test_the_shortcut_leads_there_and_back_and_undo_is_one_step(self, window):
        have_limb(window)
        pose = window.ask("pose('Downloaded')")
        window.key("ctrl+shift+k")
        is_in(window, "FK")
        off = zip(window.ask("pose('Downloaded')"), pose, strict=True)
        assert max(abs(a - b) for a, b in off) < 1e-3, "nothing jumps"

        window.key("ctrl+z")
        window.until(f"{INFLUENCE} == 1")
        assert window.ask(f"{RIG}.animation_data is None or not {RIG}.animation_data.action")
        window.key("ctrl+shift+z")
        is_in(window, "FK")

        window.ask("bpy.context.scene.frame_set(20)")
        window.settled()
        window.key("ctrl+shift+k")
        is_in(window, "IK")

    def test_the_panel_shows_where_it_is(self, window):
        have_limb(window, sidebar=True)
        fk, ik = window.find("to='FK'"), window.find("to='IK'")
        window.move((60, 500))
        shown = window.settled()
        window.click(fk)
        is_in(window, "FK")
        window.move((60, 500))
        now = window.settled()
        inside = [(x, y + 8) for x, y in (fk, ik)]  # Found from above, below the keyed influence.
        assert all(now.differs_at(shown, inside, around=4)), "the other one is pressed"

        window.ask("bpy.context.scene.frame_set(1)")
        window.move((60, 500))
        before = window.settled()
        assert not any(before.differs_at(shown, inside, around=4)), "at this frame it is in IK"

    def test_it_is_in_the_context_menu_of_a_bone(self, window):
        have_limb(window)
        before = window.settled()
        window.program("xdotool", "click", "3")
        opened = window.drawn(before, SCREEN, 10_000)
        window.key("space")
        window.drawn(opened, SCREEN, CHANGED)
        window.type("Switch FK")
        window.settled()
        window.key("Return")
        is_in(window, "FK")

    def test_searches_find_adding_first_and_switching(self, window):
        """In this order: what was searched for last comes first."""
        have_character(window)
        window.click(hand_at(window))
        window.until(f"{SELECTED} == [{HAND!r}]")
        search(window, "ik")
        window.until(f"{SELECTED} == [{CONTROL!r}]")
        window.settled()
        search(window, "switch fk")
        is_in(window, "FK")


class TestThePie:
    def test_it_opens_around_the_mouse_and_switches_to_the_left(self, window):
        have_limb(window)
        window.move((800, 560))
        before = window.settled()
        window.key("shift+q")
        window.drawn(before, MIDDLE, 5_000)
        window.save(window.settled(), ROOT / "build" / "ui" / "pie.png")
        window.slide(-160, 0)
        window.click()
        is_in(window, "FK")

    def test_below_it_removes(self, window):
        have_limb(window)
        window.move((800, 500))
        before = window.settled()
        window.key("shift+q")
        window.drawn(before, MIDDLE, 5_000)
        window.settled()
        window.slide(0, 120)
        window.click()
        window.until(f"{COUNT} == 0")


class TestRemoving:
    def test_removed_and_added_again_it_has_the_same_names(self, window):
        have_character(window)
        bones, objects = window.ask(f"(len({RIG}.pose.bones), len(bpy.data.objects))")
        window.click(hand_at(window))
        window.until(f"{SELECTED} == [{HAND!r}]")
        for _ in range(2):
            window.key("ctrl+shift+i")
            window.until(f"{SELECTED} == [{CONTROL!r}]")
            window.settled()
            window.key("ctrl+alt+i")
            window.until(f"{COUNT} == 0 and len({RIG}.pose.bones) == {bones}")
            assert window.ask(f"(len(bpy.data.objects), {SELECTED})") == [objects, [HAND]]
            window.settled()

        window.key("ctrl+z")
        window.until(f"{COUNT} == 1 and len({RIG}.pose.bones) == {bones + 2}")

    def test_keep_controls_is_in_the_redo_panel(self, window):
        have_limb(window)
        bones = window.ask(f"len({RIG}.pose.bones)")
        window.key("ctrl+alt+i")
        window.until(f"len({RIG}.pose.bones) == {bones - 2}")
        closed = window.settled()
        left, top, _, height = window.ask("box('HUD')")
        window.click((left + 12, top + height / 2))
        window.drawn(closed, window.ask("box('HUD')"), CHANGED)
        window.settled()
        left, top, width, height = window.ask("box('HUD')")

        # Below the title is one row.
        window.click((left + 0.6 * width, top + height * 0.72))

        window.until(f"{COUNT} == 0 and len({RIG}.pose.bones) == {bones}")


class TestTheManual:
    @pytest.mark.parametrize(
        ("button", "place"),
        [
            ("influence", "object.fabrik.constraints.influence"),
            ("fabrik.limb_add", "add-ik-limb-fabriklimb_add"),
        ],
    )
    def test_f1_opens_it_at_the_setting_or_button(self, window, button, place):
        have_limb(window, sidebar=True)
        record(window)
        window.move(window.find(button))
        window.settled()

        window.key(F1)

        window.until(OPENED)
        (url,) = window.ask(OPENED)
        parts = urlsplit(url)
        assert parts.scheme == "file"
        page = window.ask(f"open({url2pathname(parts.path)!r}, encoding='utf-8').read()")
        assert f'#{place}"' in page
        (target,) = [one for one in page.split('"') if one.startswith("0; url=")]
        path = Path(url2pathname(parts.path)).parent / target[7:].partition("#")[0]
        text = window.ask(f"open({str(path)!r}, encoding='utf-8').read()")
        assert f'id="{place}"' in text


def record(window: Window) -> None:
    """Note what would be opened in a browser."""
    window.ask(
        "import webbrowser; webbrowser.opened = []; webbrowser.open = webbrowser.opened.append; 1"
    )
