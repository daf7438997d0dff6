"""The first minute on the rigs that people have: what is wanted, in how few actions.

An action is a click, a key with its modifiers, or a choice in an open menu. Moving the mouse while
a bone is moved, and the click that lets it go, are one.
"""

import pytest
from character import SELECTED
from window import FOLDER, SCREEN, Picture, Window

HANDS = {
    "extruded": "B2",
    "metarig": "palm.02.L",
    "generated": "hand_ik.L",
    "knight": "hand.l",
    "human": "DEF-hand.L",
}
"""What is clicked for an arm; the visible hand, a palm, a control, a slot's parent."""

HEADS = {"metarig": "lid.T.L", "generated": "head", "knight": "head", "human": "DEF-head"}

FINGERS = {"metarig": "f_index.02.L", "generated": "f_index.02.L", "human": "DEF-f_index.02.L"}

FILES = {"knight": "kaykit_knight.glb", "human": "m2m_human-addon-animations.glb"}

PIE = {"look": "9", "walk": "3", "bake": "1", "remove": "2"}
"""The digits of the pie menu."""


class Minute:
    """A rig in the window, and the actions that were taken since the last task began."""

    def __init__(self, window: Window, kind: str) -> None:
        if kind in FILES and not window.ask(f"has_data({FILES[kind]!r})"):
            pytest.skip(f"{FILES[kind]} is not beside the checkout")
        self.window, self.kind = window, kind
        self.name = window.ask(f"prepare_first({kind!r})")
        window.until("open_tab()")
        window.ask("remember('stage')")
        window.settled()
        self.rig = f"bpy.data.objects[{self.name!r}]"
        self.items = f"{self.rig}.fabrik.constraints"
        self.actions = 0

    def click(self, bone: str) -> None:
        self.actions += 1
        self.window.click(self.window.ask(f"list(seen(middle({self.name!r}, {bone!r})))"))
        self.window.until(f"len({SELECTED}) == 1")

    def key(self, name: str) -> None:
        self.actions += 1
        self.window.key(name)

    def pie(self, what: str) -> None:
        self.window.move((300, 700))
        before = self.window.settled()
        self.key("shift+q")
        self.window.drawn(before, SCREEN, 5_000)
        self.window.settled()
        self.key(PIE[what])

    def move(self) -> None:
        """Move what is selected."""
        self.key("g")
        self.window.until("modal() == 'TRANSFORM_OT_translate'")
        self.actions += 1
        self.window.slide(-25, -40)
        self.window.click()
        self.window.until("modal() == ''")

    def took(self) -> int:
        count, self.actions = self.actions, 0
        return count

    def shown(self, what: str) -> Picture:
        picture = self.window.settled()
        self.window.save(picture, FOLDER / f"minute-{self.kind}-{what}.png")
        return picture


@pytest.fixture(params=HANDS)
def minute(window: Window, request: pytest.FixtureRequest) -> Minute:
    return Minute(window, request.param)


def test_an_arm_with_a_pole_is_added_moved_switched_baked_and_removed(minute):
    window, items = minute.window, minute.items
    minute.click(HANDS[minute.kind])
    minute.key("ctrl+shift+i")
    window.until(f"len({items}) == 1")
    assert minute.took() == 2
    window.until(f"{items}[0].state == 'REACHED'")
    assert window.ask(f"{items}[0].pole_target is not None")
    control = window.ask(f"{items}[0].subtarget")
    assert window.ask(SELECTED) == [control]
    minute.shown("added")
    tip = f"list(middle({minute.name!r}, {items}[0].bone))"
    before = window.ask(tip)
    minute.move()
    window.until(f"{tip} != {before}")
    minute.shown("moved")
    assert minute.took() == 2

    minute.key("ctrl+shift+k")
    window.until(f"{items}[0].influence == 0")
    assert minute.took() == 1
    assert len(window.ask(SELECTED)) == 1 and window.ask(SELECTED) != [control]
    minute.shown("switched")
    minute.key("ctrl+shift+k")
    window.until(f"{SELECTED} == [{control!r}]")
    minute.took()

    minute.pie("bake")
    window.settled()
    minute.shown("bake")
    minute.key("Return")
    window.until(f"modal() == '' and not {items}[0].enabled")
    assert minute.took() == 3
    window.settled()
    window.key("ctrl+z")
    window.until(f"{items}[0].enabled")

    bones = window.ask(f"len({minute.rig}.data.bones)")
    minute.key("ctrl+alt+i")
    window.until(f"len({items}) == 0")
    assert minute.took() == 1
    assert window.ask(f"len({minute.rig}.data.bones)") == bones - 2, "its controls go with it"
    minute.shown("removed")


def test_a_finger_bends_by_a_click_in_the_redo_panel(minute):
    if minute.kind not in FINGERS:
        pytest.skip("it has no fingers")
    window, items = minute.window, minute.items
    window.ask(f"look_at(middle({minute.name!r}, {FINGERS[minute.kind]!r}), 1.0, 25, 12)")
    window.ask("remember('stage')")
    window.settled()
    minute.click(FINGERS[minute.kind])
    minute.key("ctrl+shift+i")
    window.until(f"len({items}) == 1")
    arm = window.ask(f"{items}[0].bone")
    window.click_in_redo_panel(8)
    window.until(f"len({items}) == 1 and {items}[0].bone != {arm!r}")
    assert FINGERS[minute.kind].partition(".")[0] in window.ask(f"{items}[0].bone")
    window.until(f"{items}[0].state == 'REACHED'")
    minute.shown("finger")
    tip = f"list(middle({minute.name!r}, {items}[0].bone))"
    before = window.ask(tip)
    window.move((700, 300))  # The panel that was opened is at the lower left.
    minute.move()
    window.until(f"{tip} != {before}")
    minute.shown("finger-moved")


def test_a_head_looks_at_a_control(minute):
    if minute.kind not in HEADS:
        pytest.skip("it has no head")
    window, items = minute.window, minute.items
    minute.click(HEADS[minute.kind])
    minute.pie("look")
    window.until(f"len({items}) == 1")
    assert minute.took() == 3
    window.until(f"{items}[0].state == 'REACHED'")
    if minute.kind == "metarig":
        assert window.ask(f"{items}[0].bone") == "spine.006", "a lid means the head"
    assert window.ask(SELECTED) == [window.ask(f"{items}[0].subtarget")]
    minute.shown("look")


def test_legs_walk(minute):
    if minute.kind not in HEADS:
        pytest.skip("it has no legs")
    window = minute.window
    minute.pie("walk")
    window.until(f"len({minute.rig}.fabrik.gaits) == 1 and modal() == ''", 120.0)
    assert minute.took() == 2
    window.until(f"{minute.rig}.fabrik.simulation.state == 'FRESH'")
    assert window.ask(f"len({minute.items})") == 2
    assert window.ask(SELECTED) == [window.ask(f"{minute.rig}.fabrik.gaits[0].body")]
    assert window.ask(f"[item.target.type for item in {minute.items}]") == ["ARMATURE"] * 2
    minute.shown("walk")
