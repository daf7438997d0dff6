"""Posing by hand with auto keying, in-betweens and the pose library, in a real window.

Posing and keying is in FK: the same as in a figure without constraints, wherever a tool doesn't
begin with the shown pose.
"""

from typing import Any

import pytest
from figure import ITEM, RIG
from window import Window

FK = (
    "{bone.name: [list(bone.location), list(bone.rotation_quaternion), list(bone.scale)] "
    f"for bone in {RIG}.pose.bones}}"
)
"""What the channels hold."""

KEYS = (
    "{f'{c.data_path} {c.array_index}': [list(k.co) for k in c.keyframe_points] "
    "for c in curves(bpy.data.objects[%r])}"
)

PLACE = 50
"""How far the first pose of the shelf is from its left, in pixels."""

TURNS = {1: 0.2, 21: 0.9}
"""How far bones are turned at the frames with keys."""


def have(window: Window, is_constrained: bool, is_keyed: bool = True) -> None:
    """Set the figure on the stage at frame 11, with auto keying on."""
    window.ask(f"prepare({'panel' if is_constrained else 'select'!r}); arrange('select')")
    window.ask("""
bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
bpy.context.preferences.edit.use_keyframe_insert_available = False
True""")
    for frame, turn in TURNS.items() if is_keyed else ():
        window.ask(f"""
for name in ("Upper Arm", "Forearm", "Hand"):
    bone = {RIG}.pose.bones[name]
    bone.rotation_quaternion = (1.0, {turn}, 0.1, 0.0)
    bone.keyframe_insert("rotation_quaternion", frame={frame})
True""")
    window.ask("bpy.context.scene.frame_set(11); remember('stage')")
    window.settled()
    window.move(window.ask("seen((0.2, 0, 1))"))


def state(window: Window) -> tuple[Any, Any]:
    """Return what the channels of the figure hold, and its keys, once it rests."""
    window.settled()
    return window.ask(FK), window.ask(KEYS % "Figure")


def alike(one: Any, other: Any) -> bool:
    """Return whether channels or keys are the same, but for rounding."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    return abs(one - other) <= 1e-6


def is_reached(window: Window) -> bool:
    return window.ask(f"{ITEM}.state == 'REACHED' and {ITEM}.error < 1e-3")


class TestInBetweens:
    @pytest.mark.parametrize(
        ("key", "operator"),
        [("shift+e", "POSE_OT_breakdown"), ("alt+e", "POSE_OT_relax"), ("ctrl+e", "POSE_OT_push")],
    )
    def test_they_pose_and_key_what_they_do_without_constraints(self, window, key, operator):
        found = []
        for is_constrained in (False, True):
            have(window, is_constrained)
            before = state(window)
            window.key(key)
            window.until(f"modal() == {operator!r}")
            window.slide(60, 0)
            window.key("Return")
            window.until("modal() == ''")
            found.append(state(window))
            changed = [bone for bone in before[0] if before[0][bone] != found[-1][0][bone]]
            assert changed == ["Forearm"]
            assert is_constrained is False or is_reached(window)
        assert alike(found[0], found[1])
        curve = found[1][1]['pose.bones["Forearm"].rotation_quaternion 1']
        assert [at for at, _ in curve] == [1, 11, 21]
        assert curve[1][1] == pytest.approx(found[1][0]["Forearm"][1][1], abs=1e-6)


class TestThePoseLibrary:
    def test_a_pose_is_applied_and_keyed_as_without_constraints(self, window):
        found = []
        for is_constrained in (False, True):
            have(window, is_constrained)
            window.ask(f"""
action = {RIG}.animation_data.action.copy()
action.name = "Kept"
action.asset_mark()
next(areas("VIEW_3D"))[1].spaces.active.show_region_asset_shelf = True
True""")
            window.key("a")
            window.until(f"all(b.select for b in {RIG}.pose.bones)")
            window.settled()  # The shelf shows what it has read.
            left, top, _, height = window.ask("box('ASSET_SHELF')")
            before = window.ask(FK)
            window.click((left + PLACE, top + height / 2))
            window.until(f"{FK} != {before}")
            found.append(state(window))
            assert is_constrained is False or is_reached(window)
        assert alike(found[0], found[1])
        turned = found[1][0]["Forearm"][1]
        assert turned[1] / turned[0] == pytest.approx(TURNS[1], abs=1e-6)
        keys = found[1][1]['pose.bones["Forearm"].rotation_quaternion 1']
        assert keys[1] == pytest.approx([11, turned[1]], abs=1e-6)


class TestDragging:
    @pytest.mark.parametrize(("key", "operator"), [("g", "translate"), ("r", "rotate")])
    def test_a_bone_under_ik_is_keyed_as_it_is_posed_and_no_other(self, window, key, operator):
        have(window, True, is_keyed=False)
        before, keys = state(window)
        assert keys == {} and is_reached(window)
        for end in ("Escape", "Return"):
            window.move(window.ask("seen(middle('Figure', 'Forearm'))"))
            window.key(key)
            window.until(f"modal() == 'TRANSFORM_OT_{operator}'")
            window.slide(50, 40)
            window.key(end)
            window.until("modal() == ''")
            after, keys = state(window)
            changed = [bone for bone in before if not alike(before[bone], after[bone])]
            assert changed == ([] if end == "Escape" else ["Forearm"])
        assert keys and all(path.startswith('pose.bones["Forearm"]') for path in keys)
        kind = {"g": 0, "r": 1}[key]
        name = ("location", "rotation_quaternion")[kind]
        for i, value in enumerate(after["Forearm"][kind]):
            assert keys[f'pose.bones["Forearm"].{name} {i}'][0] == pytest.approx([11, value])
        window.ask("bpy.context.scene.frame_set(30)")
        assert alike(state(window)[0], after)
        window.until(f"{ITEM}.state == 'REACHED'")

    def test_a_target_is_keyed_and_no_bone(self, window):
        have(window, True)
        before = state(window)
        window.ask("take('Target')")
        window.move(window.ask("seen(list(bpy.data.objects['Target'].location))"))
        window.key("g")
        window.until("modal() == 'TRANSFORM_OT_translate'")
        window.slide(-40, 30)
        window.key("Return")
        window.until("modal() == ''")
        assert alike(before, state(window))
        keys = window.ask(KEYS % "Target")
        place = window.ask("list(bpy.data.objects['Target'].location)")
        for i, value in enumerate(place):
            assert keys[f"location {i}"] == [pytest.approx([11, value], abs=1e-6)]
        assert is_reached(window)
