"""An update reads, composes and encodes what may have changed, and nothing else."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import bpy
import pytest
import rigs
from inside import count, forget, solver_calls

from addon.blender import errors

Rig = bpy.types.Object

ARM = {
    "Clavicle": ((0, 0, 2), (1, 0, 2), ""),
    "Upper": ((1, 0, 2), (2, 0.1, 2), "Clavicle"),
    "Lower": ((2, 0.1, 2), (3, 0, 2), "Upper"),
}


@pytest.fixture
def rig(empty_file: None) -> Rig:
    """Two arms whose clavicles Blender rotates, so they can't be solved ahead.

    Each is posed by two constraints, as limbs of Rigify are: a driver disables the second.
    """
    rig = rigs.make_armature(
        {
            f"{name}.{side}": (
                (sign * head[0], *head[1:]),
                (sign * tail[0], *tail[1:]),
                parent and f"{parent}.{side}",
            )
            for side, sign in (("L", 1), ("R", -1))
            for name, (head, tail, parent) in ARM.items()
        }
    )
    rig["is_fk"] = 1.0
    for side, sign in (("L", 1), ("R", -1)):
        rig.pose.bones[f"Upper.{side}"].rotation_mode = "ZXY"
        target = rigs.make_empty(f"Target.{side}", (sign * 2, 1, 2))
        tracking: Any = rig.pose.bones[f"Clavicle.{side}"].constraints.new("DAMPED_TRACK")
        tracking.target, tracking.influence = target, 0.3
        for _ in range(2):
            rigs.add_constraint(rig, f"Lower.{side}", target, chain_count=2, use_stretch=True)
        _disable_by_driver(rig, len(rig.fabrik.constraints) - 1)
    rigs.key(bpy.data.objects["Target.L"], "location", {1: (2, 1, 2), 10: (2, 0.5, 3)})
    rigs.update()
    rigs.go(2, 1)
    return rig


def _disable_by_driver(rig: Rig, item: int) -> None:
    driver = rig.driver_add(f"fabrik.constraints[{item}].enabled").driver
    variable = driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = rig, '["is_fk"]'
    driver.type = "SUM"
    variable.name = "is_fk"
    rig["is_fk"] = 0.0


@pytest.fixture
def calls(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[object]]:
    """Count calls, by name, or by name and what was asked for."""
    found: Counter[object] = Counter()

    def noting(place: str, key: Callable[..., object]) -> None:
        count(monkeypatch, place, lambda *given: found.update([key(*given)]))

    noting("read a setting", lambda _, name: ("setting", name))
    noting("read a frame", lambda _, bone: ("frame", bone))
    noting("read channels", lambda *_: "channels")
    noting("encode", lambda *_: "encoded")
    noting("read a body", lambda *_: "body")
    noting("give a chain", lambda *_: "chain")
    yield found


def settings_in(calls: Counter[object]) -> set[str]:
    found = [key for key in calls if isinstance(key, tuple)]
    return {str(name) for kind, name in found if kind == "setting"}


def assert_as_new(rig: Rig) -> None:
    """The pose is what it is after all has been read anew."""
    shown, reports = rigs.pose_bits(rig), [(c.state, c.error) for c in rig.fabrik.constraints]
    forget()
    rigs.update(rig)
    assert rigs.pose_bits(rig) == shown
    assert [(c.state, c.error) for c in rig.fabrik.constraints] == reports


def act(rig: Rig, setting: str) -> None:
    """Give the armature a new action that animates a setting."""
    rig.animation_data.action = bpy.data.actions.new(setting)
    item = rig.fabrik.constraints[0]
    for frame, value in ((1, 0.1), (10, 0.8)):
        setattr(item, setting, value)
        item.keyframe_insert(setting, frame=frame)


def use_other_action(rig: Rig) -> None:
    rig.animation_data.action = bpy.data.actions["weight"]
    for slot in getattr(bpy.data.actions["weight"], "slots", ()):
        rig.animation_data.action_slot = slot


def push_down(rig: Rig) -> None:
    rigs.as_strip(rig)
    rig.animation_data.action = bpy.data.actions["weight"]


def disable_track(rig: Rig) -> None:
    push_down(rig)
    rig.animation_data.nla_tracks[0].mute = True


def enable_track(rig: Rig) -> None:
    rig.animation_data.nla_tracks[0].mute = False


def disable_nla(rig: Rig) -> None:
    push_down(rig)
    rig.animation_data.use_nla = False


def enable_nla(rig: Rig) -> None:
    rig.animation_data.use_nla = True


def mute_curve(rig: Rig) -> None:
    rigs.curves(rig)[0].mute = True


def unmute_curve(rig: Rig) -> None:
    rigs.curves(rig)[0].mute = False


def rename_curve(rig: Rig) -> None:
    rigs.curves(rig)[0].data_path = "fabrik.constraints[2].influence"


def key_another(rig: Rig) -> None:
    rigs.key(rig.fabrik.constraints[0], "stretch_max", {1: 1.2, 10: 1.0})


def drive(rig: Rig) -> None:
    driver = rig.driver_add("fabrik.constraints[2].influence").driver
    driver.expression = "0.05 * frame"


CHANGES = (
    use_other_action,
    push_down,
    enable_track,
    enable_nla,
    unmute_curve,
    rename_curve,
    key_another,
    drive,
)

PREPARED: dict[Callable[[Rig], None], Callable[[Rig], None]] = {
    enable_track: disable_track,
    enable_nla: disable_nla,
    unmute_curve: mute_curve,
}


class TestPlayedFrames:
    """A frame at which nothing was edited."""

    def test_settings_are_not_read_if_what_drives_them_is_the_same(
        self, rig: Rig, calls: Counter[object]
    ) -> None:
        before = rigs.pose_bits(rig)
        rigs.go(3)
        assert settings_in(calls) == set()
        assert calls["channels"] == 0
        assert rigs.pose_bits(rig) != before
        assert_as_new(rig)

    def test_keyed_settings_are_read_from_then_on(self, rig: Rig, calls: Counter[object]) -> None:
        item = rig.fabrik.constraints[0]
        rigs.key(item, "influence", {1: 0.0, 10: 1.0})
        rigs.update()
        for frame in (4, 7):
            calls.clear()
            rigs.go(frame)
            assert settings_in(calls) == {"influence"}
            assert_as_new(rig)

    def test_muted_curves_do_not_count(self, rig: Rig, calls: Counter[object]) -> None:
        act(rig, "influence")
        rigs.curves(rig)[0].mute = True
        rigs.update()
        calls.clear()
        rigs.go(5)
        assert settings_in(calls) == set()
        assert_as_new(rig)

    def test_keyed_settings_of_a_motion_have_all_read(
        self, rig: Rig, calls: Counter[object]
    ) -> None:
        """Whatever was derived from the settings depends on them."""
        item = rigs.add_constraint(
            rig, "Clavicle.R", bpy.data.objects["Target.L"], chain_count=1, solver="LOOK_AT"
        )
        rig.pose.bones["Clavicle.R"].constraints[0].mute = True
        path = f"fabrik.constraints[{len(rig.fabrik.constraints) - 1}].look"
        name = next(p.identifier for p in item.look.bl_rna.properties if p.type == "FLOAT")
        rig.keyframe_insert(f"{path}.{name}", frame=1)
        rigs.update()
        rigs.go(2)
        calls.clear()
        rigs.go(5)
        assert {"enabled", "influence", "tolerance"} <= settings_in(calls)
        assert_as_new(rig)

    @pytest.mark.parametrize("channel", ("location", "scale"))
    def test_keyed_channels_are_read(self, rig: Rig, calls: Counter[object], channel: str) -> None:
        bone = rig.pose.bones["Upper.L"]
        for frame, size in ((1, 1.0), (10, 1.4)):
            setattr(bone, channel, (size, 1.0, size))
            bone.keyframe_insert(channel, frame=frame)
        rigs.update()
        before = rigs.pose_bits(rig)
        calls.clear()
        rigs.go(5)
        assert calls["channels"] == 1
        assert rigs.pose_bits(rig) != before
        assert_as_new(rig)

    def test_all_is_read_with_the_frame_if_anything_was_edited(self, rig: Rig) -> None:
        """Only then is it not known what else has changed."""
        rigs.key(rig.fabrik.constraints[0], "influence", {1: 0.0, 10: 1.0})
        rigs.update()
        rigs.go(2)
        shown = rigs.pose_bits(rig)
        bpy.data.objects["Target.R"].location.z += 0.2
        rigs.go(6)
        assert rigs.pose_bits(rig) != shown
        assert_as_new(rig)

    def test_a_setting_changed_with_the_frame_is_noticed(self, rig: Rig) -> None:
        """Also one that no animation changes."""
        rig.fabrik.constraints[0].influence = 0.4
        rigs.go(6)
        assert_as_new(rig)
        rig.pose.bones["Upper.L"].scale = (1.2, 1.0, 1.0)
        rigs.go(7)
        assert_as_new(rig)

    def test_played_again_they_are_not_solved(self, rig: Rig) -> None:
        rigs.go(3, 4)
        shown = rigs.pose_bits(rig)
        with solver_calls() as solved:
            rigs.go(3, 4)
        assert not solved, "what is kept of the frame is written ahead"
        assert rigs.pose_bits(rig) == shown


@pytest.mark.parametrize("is_updated", (True, False))
@pytest.mark.parametrize("change", CHANGES)
def test_whatever_is_animated_from_now_on_is_read(
    rig: Rig, change: Callable[[Rig], None], is_updated: bool
) -> None:
    for action in ("weight", "influence"):
        act(rig, action)
    prepare = PREPARED.get(change)
    if prepare is not None:
        prepare(rig)
    rigs.update()
    rigs.go(3)
    before = rigs.pose_bits(rig)
    change(rig)
    if is_updated:
        rigs.update()
    for frame in (4, 9, 6):
        rigs.go(frame)
        assert_as_new(rig)
    assert rigs.pose_bits(rig) != before


class TestOneOfTwoArms:
    """The target of one arm is moved."""

    def test_the_other_arm_is_not_encoded_again(self, rig: Rig, calls: Counter[object]) -> None:
        rigs.go(3)
        assert calls["encoded"] == 2
        bpy.data.objects["Target.R"].location.z += 0.2
        rigs.update()
        assert calls["encoded"] == 4
        rig.pose.bones["Upper.L"].rotation_euler.x += 0.1
        rigs.update()
        assert calls["encoded"] == 6, "its own bones alone, as the others' FK pose is the same"
        assert_as_new(rig)

    def test_a_frame_that_is_played_again_is_not_encoded_again(
        self, rig: Rig, calls: Counter[object]
    ) -> None:
        rigs.go(3, 4, 5)
        shown = rigs.pose_bits(rig)
        calls.clear()
        rigs.go(4, 3, 5)
        assert calls["encoded"] == 0
        assert rigs.pose_bits(rig) == shown

    def test_frames_of_bones_are_read_once(self, rig: Rig, calls: Counter[object]) -> None:
        for side in "LR":  # Which isn't computed.
            con = rig.pose.bones[f"Clavicle.{side}"].constraints.new("COPY_LOCATION")
            con.target, con.use_bbone_shape = rigs.make_empty("Beside"), True
            con.influence = 0.01
        rigs.update()
        rigs.go(2)
        calls.clear()
        rigs.go(3)
        bones = rig.pose.bones.keys()
        for side in "LR":
            assert calls["frame", bones.index(f"Clavicle.{side}")] == 1

    def test_a_tree_is_read_again_if_its_fk_pose_changes(
        self, rig: Rig, calls: Counter[object]
    ) -> None:
        rigs.go(3, 4, 5)
        assert calls["body"] == calls["chain"] == 0, "only its parent has moved"
        rig.pose.bones["Lower.L"].scale.y = 1.3
        rigs.update()
        assert calls["body"] == 1
        assert calls["chain"] > 0
        assert_as_new(rig)

    def test_a_driver_switches_a_constraint_of_a_tree(self, rig: Rig) -> None:
        rig.fabrik.constraints[1].target = bpy.data.objects["Target.R"]
        rigs.update()
        before = rigs.pose_bits(rig)
        rig["is_fk"] = 1.0
        rigs.update(rig)
        assert [c.enabled for c in rig.fabrik.constraints] == [True, True, True, True]
        assert rigs.pose_bits(rig) != before
        assert_as_new(rig)


def test_a_bone_that_only_a_disabled_constraint_poses_belongs_to_the_tree(rig: Rig) -> None:
    rig.fabrik.constraints[0].chain_count = 1
    rigs.update()
    for angle in (0.3, 0.6):
        shown = rigs.pose_bits(rig)
        rig.pose.bones["Upper.L"].rotation_euler.x = angle
        rigs.update()
        assert rigs.pose_bits(rig) != shown
        assert_as_new(rig)


def test_a_chain_without_length_is_noticed_where_only_its_parent_changes(rig: Rig) -> None:
    clavicle = rig.pose.bones["Clavicle.L"]
    for scale, is_flat in ((1.2, False), (0.0, True), (1.0, False)):
        clavicle.scale = (scale,) * 3
        rigs.update()
        item = rig.fabrik.constraints[0]
        assert (item.state == "INVALID") is is_flat
        assert ("zero" in item.message) is is_flat
        assert_as_new(rig)


def test_updates_are_read_again_after_what_is_released_was_evaluated(rig: Rig) -> None:
    """Blender clears the list then."""
    errors.forget_reported()
    other = rigs.make_armature({"A": ((0, 0, 0), (0, 0, 1), "")}, "Other")
    rigs.add_constraint(other, "A", bpy.data.objects["Target.L"])
    rigs.update()
    other.fabrik.constraints.clear()
    rig.fabrik.constraints[0].chain_count = 1  # This notifies the plan; clearing does not.
    rigs.make_empty("New", (3, 0, 0))
    rigs.update()
    assert (
        rigs.shown_bones(other)["A"].rotation_quaternion
        == other.pose.bones["A"].rotation_quaternion
    )
    assert not errors._reported
    assert_as_new(rig)
