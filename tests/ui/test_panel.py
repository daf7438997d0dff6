"""The panel is calm: what is used all the time never moves, and little is shown at first.

Rows are found as a hand finds them, by the mouse over them; see `Window.rows`.
"""

import pytest
from figure import ITEM, RIG
from window import FOLDER, Picture, Row, Window

TOP = ("influence", "fabrik.switch", "fabrik.snap_to_", "pole_target")
"""What is used all the time, from top to bottom."""

LIST = 190
"""How high title and list are, in pixels."""

SLACK = 4
"""By how many pixels a button may seem to have moved: of two that touch, either has the edge."""

ELBOW = f"{RIG}.pose.bones['Forearm'].fabrik_joint"
TARGET = "bpy.data.objects['Target']"

STATES = {
    "REACHED": "pass",
    "OUT_OF_REACH": f"{TARGET}.location = (3, 0, 3)",
    "LIMITED": "have_limit()",
    "INVALID": f"{ITEM}.solver = 'TWO_BONE'; {ITEM}.chain_count = 1",
    "DISABLED": f"{ITEM}.influence = 0",
}
"""How the constraint gets into each state."""


def have(window: Window) -> None:
    """Show a new constraint that reaches its target, in the sidebar."""
    left, top, _, height = window.ask("box()")
    window.move((left + 60, top + height - 60))  # What is under the mouse must not be removed.
    window.settled()
    window.ask("prepare_panel()")
    window.until("open_tab()")
    window.until(f"{ITEM}.state == 'REACHED'")
    window.settled()


def lines(window: Window) -> tuple[float, float]:
    """Return where in the sidebar its settings are, and where its headers have checkboxes."""
    left, _, width, _ = window.ask("box('UI')")
    scale = window.ask("bpy.context.preferences.system.ui_scale")
    return left + 0.55 * width, left + 48 * scale


def all_rows(window: Window, across: float) -> list[Row]:
    """Return the buttons on a line through the sidebar, from below the list on."""
    _, top, _, height = window.ask("box('UI')")
    rows = window.rows(across, top, top + height - 4)
    return [row for row in rows if row[1] > top + LIST]


def checkboxes(window: Window, across: float) -> list[Row]:
    """Return the checkboxes of headers."""
    rows = all_rows(window, across)
    return [row for row in rows if row[0].rpartition(".")[2].startswith("use")]


def named(rows: list[Row], *names: str) -> list[Row]:
    """Return the first row of each of some names."""
    return [next(row for row in rows if name in row[0]) for name in names]


def stay(window: Window, across: float, rows: list[Row]) -> None:
    """Assert that buttons are where they were."""
    for what, high, low in rows:
        for y, is_inside in (
            (high - SLACK, False),
            (high + SLACK, True),
            (low - SLACK, True),
            (low + SLACK, False),
        ):
            place = (across, y)
            assert (short(window.under(place)) == short(what)) == is_inside, f"{what} at {place}"


def short(what: str) -> str:
    """Return what a button calls, or the setting without the file and object it belongs to.

    The snap button is for the pose that isn't shown.
    """
    return what.rpartition("constraints[0].")[2].replace("snap_to_fk", "snap_to_ik")


def drawn(window: Window) -> Picture:
    """Return what the screen shows of what a script has changed."""
    window.ask("redraw()")
    return window.settled()


class TestTheTop:
    def test_no_row_moves_whatever_the_state_and_the_selection(self, window):
        have(window)
        across, _ = lines(window)
        rows = all_rows(window, across)
        top = named(rows, *TOP)
        below = named(rows, "].bone")
        assert [high for _, high, _ in top] == sorted(high for _, high, _ in top)

        for state, change in STATES.items():
            have(window)
            window.ask(change)
            window.until(f"{ITEM}.state == {state!r}")
            drawn(window)
            stay(window, across, top)
            stay(window, across, below)

        have(window)
        window.ask("bpy.ops.fabrik.pole_add()")
        drawn(window)
        assert "pole_add" not in window.ask("offered()")
        stay(window, across, top)
        window.ask(f"{RIG}.data.pose_position = 'REST'")
        drawn(window)
        assert not {"switch", "snap_to_fk", "snap_to_ik"} & set(window.ask("offered()"))
        stay(window, across, top)
        window.ask(f"{RIG}.data.pose_position = 'POSE'; take('Target')")
        drawn(window)
        stay(window, across, top)

    def test_a_linked_armature_is_gray_and_stays_as_it_is(self, window):
        have(window)
        across, _ = lines(window)
        top = named(all_rows(window, across), *TOP)
        beside = (60, 500)
        window.move(beside)
        window.settled()
        window.ask(f"link_figure({str(FOLDER / 'linked.blend')!r})")
        window.until(f"{ITEM}.state == 'REACHED'")
        shown = drawn(window)

        stay(window, across, top)
        assert set(window.ask("offered()")) <= {"bake", "paths_calculate"}  # Of all objects.
        for _, high, low in top:
            window.click((across, (high + low) / 2))
            window.settled()
        window.move(beside)
        assert window.ask(f"({ITEM}.influence, {ITEM}.pole_target is None)") == [1.0, True]
        assert window.settled().differing(shown) < 100


class TestTheStatus:
    @pytest.mark.parametrize("editor", ["properties", "panel"])
    def test_it_is_fresh_after_a_drag(self, window, editor):
        have(window)
        window.ask(f"arrange({editor!r}); take_tool('fabrik.drag')")
        window.until("open_tab()")
        window.move(window.ask("seen(middle('Figure', 'Forearm'))"))
        before = window.settled()
        box = window.ask("status_box()")

        window.press()
        left, top, _, height = window.ask("box()")
        x, y = window.mouse
        window.slide(left + 40 - x, top + height - 40 - y)
        window.until(f"{ITEM}.state == 'OUT_OF_REACH'")
        window.drawn(before, box, 100)
        window.release()

        window.until("modal() == ''")
        assert window.settled().differing(before, box) >= 100


class TestAFirstLook:
    def test_it_has_at_most_ten_controls_and_tells_what_is_off(self, window):
        have(window)
        across, boxes = lines(window)
        left, _, width, _ = window.ask("box('UI')")
        shown = {what for what, *_ in all_rows(window, across)}
        shown |= {what for what, *_ in all_rows(window, left + 0.8 * width)}
        checks = [what for what, *_ in checkboxes(window, boxes)]

        assert 8 < len(shown - {*checks}) <= 10
        assert [short(what) for what in checks] == ["use_offset", "use_rotation", "use_stretch"]

    def test_a_checkbox_enables_a_closed_section_and_moves_nothing(self, window):
        have(window)
        _, boxes = lines(window)
        checks = checkboxes(window, boxes)
        assert len(checks) == 3
        for what, high, low in checks:
            assert not window.ask(what)
            # A click before it lights up is lost.
            assert window.under((boxes, (high + low) / 2)) == what
            window.settled()
            window.click()
            window.until(what)
        window.settled()
        assert [high for _, high, _ in checkboxes(window, boxes)] == pytest.approx(
            [high for _, high, _ in checks], abs=SLACK
        )


class TestTheOverlay:
    def test_a_limit_is_red_only_at_its_end(self, window):
        have(window)
        window.ask("plain()")
        red = window.ask("red()")
        window.ask("have_limit()")
        window.until(f"{ITEM}.state == 'LIMITED'")
        assert drawn(window).like(red, window.ask("box()")) > 20
        window.ask(f"{ELBOW}.hinge_min, {ELBOW}.hinge_max = -3, 3")
        window.until(f"{ITEM}.state == 'REACHED'")
        assert drawn(window).like(red, window.ask("box()")) == 0

    def test_only_the_active_constraint_shows_what_it_can_reach(self, window):
        have(window)
        window.ask("plain(); add_head(); bpy.context.scene.fabrik.show_reach = True")
        drawn(window)  # The parallel view counts once it is drawn.
        places = window.ask("shell_places('Figure', 'Upper Arm', reach('Figure', 'Upper Arm'))")
        assert len(places) > 10
        for active, is_shown in ((0, True), (1, False)):
            window.ask(f"{RIG}.fabrik.active_index = {active}")
            with_it = drawn(window)
            window.ask(f"{ITEM}.show_overlay = False")
            without = drawn(window)
            window.ask(f"{ITEM}.show_overlay = True")
            assert with_it.differing(without, window.ask("box()")) > 500  # The limb, in any case.
            differs = with_it.differs_at(without, places)
            # A body hides some of it, and the limb itself crosses it.
            assert sum(differs) > 0.8 * len(places) if is_shown else sum(differs) < 3

    def test_the_reach_is_shown_while_a_target_is_dragged(self, window):
        have(window)
        window.ask("plain(); take('Target')")
        drawn(window)
        places = window.ask("shell_places('Figure', 'Upper Arm', reach('Figure', 'Upper Arm'))")
        window.move(window.ask("seen(list(bpy.data.objects['Target'].location))"))
        still = drawn(window)
        window.key("g")
        window.until("modal() == 'TRANSFORM_OT_translate'")
        window.slide(6, 6)
        dragged = window.settled()
        assert sum(dragged.differs_at(still, places)) > 0.6 * len(places)
        window.key("Escape")
        window.until("modal() == ''")
        assert sum(drawn(window).differs_at(still, places)) < 3

    def test_feet_that_walk_show_no_targets(self, window):
        walker = "bpy.data.objects['Walker']"
        window.ask("prepare_legs(); bpy.ops.fabrik.gait_add(); bpy.ops.fabrik.simulate()")
        window.ask("close('OUTLINER', 'PROPERTIES', 'DOPESHEET_EDITOR'); plain(); go(40)")
        window.ask("look_at((0, 1, 0), 6.0, 30, 40)")
        assert window.ask(f"{walker}.fabrik.simulation.state") == "FRESH"
        color = window.ask("target_color()")
        for is_walking in (True, False):
            window.ask(f"{walker}.fabrik.gaits[0].enabled = {is_walking}; go(40)")
            count = drawn(window).like(color, window.ask("box()"))
            assert count == 0 if is_walking else count > 20


class TestControls:
    def test_they_are_seen_in_front_of_the_mesh_that_hides_the_bones(self, window):
        window.ask("prepare('select'); close('OUTLINER', 'PROPERTIES', 'DOPESHEET_EDITOR')")
        window.ask(f"look(sidebar=False); {RIG}.show_in_front = False; select({RIG}, None, 'Hand')")
        window.ask("plain(); bpy.context.scene.fabrik.show_overlay = False")
        window.settled()
        window.move((500, 600))
        window.key("ctrl+shift+i")
        window.until(f"len({RIG}.fabrik.constraints) == 1")
        window.ask("bpy.ops.pose.select_all(action='DESELECT'); remember('deselected')")
        assert window.ask(f"{RIG}.show_in_front")
        control = f"{RIG}.data.bones[{ITEM}.subtarget].color.custom.normal"
        # Bones that are not selected are drawn darker.
        color = window.ask(f"[max(0, round(255 * part) - 50) for part in {control}]")
        assert drawn(window).like(color, window.ask("box()"), 25) > 300
