"""What was simulated of feet goes on being good while what counts for it is as it was."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import bpy
import pytest
import rigs
from inside import forget
from mathutils import Euler
from walkers import foot, hills, make_ground, make_walker, messages, simulate, stand

from addon.features.ground.track import Track, packed, unpacked


def walker() -> bpy.types.Object:
    """A walker whose legs have bones above them with keys, and settings with keys of their own."""
    rig = make_walker()
    hip = rig.pose.bones["Hip"]
    rigs.key(hip, "location", {1: 0.0, 30: 0.02}, 1)
    stand(rig, make_ground(hills), ray_above=3.0, ray_below=3.0)
    for frame, offset in ((1, 0.0), (40, 0.01)):
        for item in rig.fabrik.constraints:
            item.ground.offset = offset
            item.ground.keyframe_insert("offset", frame=frame)
    rig.fabrik.simulation.use_auto = False
    simulate(rig)
    return rig


Change = Callable[[bpy.types.Object], object]


def swapped(rig: bpy.types.Object) -> None:
    rigs.activate(rig)
    rig.fabrik.active_index = 1
    assert bpy.ops.fabrik.constraint_move(direction="UP") == {"FINISHED"}


def renamed(things: Iterable[Any], name: str) -> None:
    for i, thing in enumerate([*things]):
        thing.name = name.format(9 - i, thing.name)


def in_edit_mode(ob: bpy.types.Object) -> None:
    rigs.activate(ob)
    bpy.ops.object.mode_set(mode="EDIT")


def in_edit_mode_and_back(rig: bpy.types.Object) -> None:
    in_edit_mode(rig)
    rigs.go(20)
    bpy.ops.object.mode_set(mode="OBJECT")


HARMLESS: dict[str, Change] = {
    "legs swapped": swapped,
    "armature renamed": lambda rig: renamed((rig, rig.data), "Other {}"),
    "constraints renamed": lambda rig: renamed(rig.fabrik.constraints, "My {1}"),
    "bones renamed": lambda rig: renamed(rig.data.bones, '{} "bone"'),
    "targets renamed": lambda _: renamed((target("L"), target("R")), "Goal {}"),
    "ground renamed": lambda _: renamed([ground()], "Other"),
    "ground hidden from the eye": lambda _: ground().hide_set(True),
    "ground in Edit Mode": lambda _: in_edit_mode(ground()),
    "armature in Edit Mode and back": in_edit_mode_and_back,
}


def ground() -> bpy.types.Object:
    return bpy.data.objects["Ground"]


def target(side: str) -> bpy.types.Object:
    return bpy.data.objects[f"Target.{side}"]


@pytest.mark.rows("change")
@pytest.mark.parametrize("change", HARMLESS)
def test_frames_are_the_same_although(change: str) -> None:
    rig = walker()
    rig.pose.bones["Thigh.L"].rotation_quaternion = Euler((0.2, 0, 0)).to_quaternion()
    shown = {}
    for frame in (20, 30):
        rigs.go(frame)
        shown[frame] = rigs.pose_bits(rig), rigs.shown_bits(rig), rigs.channels_bits(rig)
    hip = {item.ground.hip for item in rig.fabrik.constraints}
    HARMLESS[change](rig)
    rigs.update()
    for frame in (29, 20, 30):
        rigs.go(frame)
        assert (
            frame == 29
            or (rigs.pose_bits(rig), rigs.shown_bits(rig), rigs.channels_bits(rig)) == shown[frame]
        )
    assert rig.fabrik.simulation.state == "FRESH"
    assert messages(rig) == {""}
    assert (hip == {item.ground.hip for item in rig.fabrik.constraints}) == (
        change != "bones renamed"
    )
    if change == "ground in Edit Mode":
        bpy.ops.object.mode_set(mode="OBJECT")
        rigs.update()
        assert rigs.pose_bits(rig) == shown[30][0]


def test_history_comes_along_when_the_armature_is_appended(tmp_path: Path) -> None:
    """Into a file in which other objects have all the names already."""
    rig = walker()
    rigs.go(30)
    shown = foot(rig, "L").copy()
    blend = tmp_path / "walker.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    bpy.ops.wm.read_homefile(use_empty=True)
    for name in ("Ground", "Target.L", "Target.R", "Walker"):
        rigs.make_empty(name, (9, 9, 9))
    with bpy.data.libraries.load(str(blend)) as (_, wanted):
        wanted.objects = ["Walker"]
    rig = rigs.link(wanted.objects[0])
    assert rig.name == "Walker.001"
    for item in rig.fabrik.constraints:
        rigs.link(item.target)
    rigs.link(rig.fabrik.constraints[0].ground.object)
    rigs.update()
    rigs.go(29)
    rigs.go(30)
    assert {item.message for item in rig.fabrik.constraints} == {""}
    assert rig.fabrik.simulation.state == "FRESH"
    assert (foot(rig, "L") - shown).length < 1e-5


def samples_with(**values: object) -> Callable[[Track], Track]:
    return lambda track: track._replace(
        samples=[sample._replace(**values) for sample in track.samples]
    )


FORGED: dict[str, Callable[[Track], Track]] = {
    "fewer frames": lambda track: track._replace(samples=track.samples[: len(track.samples) // 2]),
    "endless": samples_with(height=float("inf")),
    "a ground without a name": samples_with(under=7),
    "standing time": lambda track: track._replace(rate=0.0),
    "far away": samples_with(place=(1e200, 0.0, 0.0)),
    "turned by no rotation": samples_with(turn=(1e30,) * 4),
    "upward without length": samples_with(up=(0.0, 0.0, 0.0)),
}


@pytest.mark.parametrize("forge", FORGED)
def test_forged_track_is_said_and_left_out(forge, capsys) -> None:
    from addon.features.simulation import history

    rig = walker()
    item, owner = rig.fabrik.constraints[0], "fabrik.constraints[0].ground"
    found = history.data(rig, owner)
    blob = packed(FORGED[forge](unpacked(found.blob)))
    history.write(rig, owner, found._replace(blob=blob))
    forget()
    rig.update_tag()
    for frame in (20, 30):
        rigs.go(frame)
        assert "aren't simulated" in item.message
    stored = item.ground.history
    item.ground.history = stored[:100] + b"AAAA" + stored[104:]
    forget()
    rig.update_tag()
    rigs.go(20)
    assert item.message == "The simulation is damaged: press Simulate"
    assert "report this" not in capsys.readouterr().out


def test_high_frame_rate_costs_no_more(monkeypatch, capsys) -> None:
    """A foot without contacts is looked at in so many frames a second, not in each of them."""
    from addon.features.simulation import history
    from fabrik_solver.motion import ground

    rig = walker()
    for i in range(2):
        owner = f"fabrik.constraints[{i}].ground"
        found = history.data(rig, owner)
        blob = packed(unpacked(found.blob)._replace(rate=1e9))
        history.write(rig, owner, found._replace(blob=blob))
    real, calls = ground.smoothed, []

    def counted(*inputs: Any):
        calls.append(inputs)
        assert len(calls) < 1000
        return real(*inputs)

    monkeypatch.setattr(ground, "smoothed", counted)
    forget()
    rig.update_tag()
    rigs.go(20)
    assert calls
    assert "report this" not in capsys.readouterr().out


def ground_bent(_rig: bpy.types.Object) -> None:
    mesh = ground().data
    mesh.vertices[100].co.z += 0.2
    mesh.update()


def hip_keyed(rig: bpy.types.Object) -> None:
    rig.pose.bones["Hip"].location.y = 0.1
    rig.pose.bones["Hip"].keyframe_insert("location", frame=50)


def longer_bone(rig: bpy.types.Object) -> None:
    rigs.activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones["Shin.L"].head.x += 0.05
    bpy.ops.object.mode_set(mode="OBJECT")


def leg_has(name: str, value: object) -> Change:
    return lambda rig: setattr(rig.fabrik.constraints[0], name, value)


def foot_has(name: str, value: object) -> Change:
    return lambda rig: setattr(rig.fabrik.constraints[0].ground, name, value)


COUNTING: dict[str, Change] = {
    "the target moved": lambda _: setattr(target("L"), "delta_location", (0, 0, 0.1)),
    "the armature moved": lambda rig: setattr(rig, "delta_location", (0, 0.1, 0)),
    "the ground raised": lambda _: setattr(ground(), "location", (0, 0, 0.1)),
    "the ground bent": ground_bent,
    "the hip keyed": hip_keyed,
    "another frame rate": lambda _: setattr(bpy.context.scene.render, "fps", 60),
    "another source": foot_has("source", "SCENE"),
    "another axis": foot_has("use_local_axis", True),
    "looked for higher": foot_has("ray_above", 2.0),
    "looked for deeper": foot_has("ray_below", 2.0),
    "the tail for the head": leg_has("use_tail", True),
    "another bone": leg_has("bone", "Shin.L"),
    "a shorter chain": leg_has("chain_count", 1),
    "the target of the other": lambda rig: leg_has("target", target("R"))(rig),
    "a longer bone": longer_bone,
    "a kept offset": leg_has("use_offset", True),
}


@pytest.mark.parametrize("change", COUNTING)
def test_each_input_outdates_it(change: str) -> None:
    rig = walker()
    COUNTING[change](rig)
    rig.update_tag()
    rigs.update()
    rigs.go(2)
    assert rig.fabrik.simulation.state == "STALE"


@pytest.mark.parametrize(("name", "value"), [("fps", 60), ("frame_map_new", 200)])
def test_another_pace_of_the_scene_outdates_it(name: str, value: int) -> None:
    """Blender reports that with the scene alone, and with no object."""
    rig = walker()
    assert rig.fabrik.simulation.state == "FRESH"
    before = getattr(bpy.context.scene.render, name)
    for pace, state in ((value, "STALE"), (before, "FRESH")):
        setattr(bpy.context.scene.render, name, pace)
        rigs.update()
        assert rig.fabrik.simulation.state == state


def test_kept_offset_counts_with_its_place() -> None:
    rig = walker()
    rig.fabrik.constraints[0].use_offset = True
    simulate(rig)
    assert rig.fabrik.simulation.state == "FRESH"
    rig.fabrik.constraints[0].offset_location = (0.0, 0.1, 0.0)
    rigs.update()
    assert rig.fabrik.simulation.state == "STALE"


def test_keyed_look_above_counts_as_keyed_at_all_frames() -> None:
    rig = walker()
    for item in rig.fabrik.constraints:
        rigs.key(item.ground, "ray_above", {1: 3.0, 60: 2.0})
    simulate(rig)
    for frame in (1, 20, 60):
        rigs.go(frame)
        assert rig.fabrik.simulation.state == "FRESH"
