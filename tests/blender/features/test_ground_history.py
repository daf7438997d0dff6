"""What was simulated of feet goes on being good while what counts for it is as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import pytest
from inside import forget
from rigs import activate, go, link, make_empty, pose_bits, update
from walkers import foot, hills, make_ground, make_walker, simulate, stand


def walker() -> bpy.types.Object:
    """A walker whose legs have bones above them with keys, and settings with keys of their own."""
    rig = make_walker()
    hip = rig.pose.bones["Hip"]
    for frame, height in ((1, 0.0), (30, 0.02)):
        hip.location.y = height
        hip.keyframe_insert("location", frame=frame)
    stand(rig, make_ground(hills), ray_above=3.0, ray_below=3.0)
    for frame, offset in ((1, 0.0), (40, 0.01)):
        for item in rig.fabrik.constraints:
            item.ground.offset = offset
            item.ground.keyframe_insert("offset", frame=frame)
    rig.fabrik.simulation.use_auto = False
    simulate(rig)
    return rig


def swapped(rig: bpy.types.Object) -> None:
    activate(rig)
    rig.fabrik.active_index = 1
    assert bpy.ops.fabrik.constraint_move(direction="UP") == {"FINISHED"}


def armature_renamed(rig: bpy.types.Object) -> None:
    rig.name, rig.data.name = "Other", "Another"


def constraints_renamed(rig: bpy.types.Object) -> None:
    for item in rig.fabrik.constraints:
        item.name = f"My {item.name}"


def bones_renamed(rig: bpy.types.Object) -> None:
    for i, bone in enumerate(rig.data.bones):
        bone.name = f'{9 - i} "bone"'


def targets_renamed(rig: bpy.types.Object) -> None:
    for side in "LR":
        bpy.data.objects[f"Target.{side}"].name = f"Goal.{side}"


HARMLESS = (swapped, armature_renamed, constraints_renamed, bones_renamed, targets_renamed)


@pytest.mark.parametrize("change", HARMLESS, ids=lambda change: change.__name__)
def test_order_and_names_make_no_difference(change: Callable[[bpy.types.Object], None]) -> None:
    rig = walker()
    go(30)
    shown = pose_bits(rig)
    change(rig)
    update()
    go(29)
    go(30)
    assert rig.fabrik.simulation.state == "FRESH"
    assert pose_bits(rig) == shown


def test_history_comes_along_when_the_armature_is_appended(tmp_path: Path) -> None:
    """Into a file in which other objects have all the names already."""
    rig = walker()
    go(30)
    shown = foot(rig, "L").copy()
    blend = tmp_path / "walker.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    bpy.ops.wm.read_homefile(use_empty=True)
    for name in ("Ground", "Target.L", "Target.R", "Walker"):
        make_empty(name, (9, 9, 9))
    with bpy.data.libraries.load(str(blend)) as (_, wanted):
        wanted.objects = ["Walker"]
    rig = link(wanted.objects[0])
    assert rig.name == "Walker.001"
    for item in rig.fabrik.constraints:
        link(item.target)
    link(rig.fabrik.constraints[0].ground.object)
    update()
    go(29)
    go(30)
    assert {item.message for item in rig.fabrik.constraints} == {""}
    assert rig.fabrik.simulation.state == "FRESH"
    assert (foot(rig, "L") - shown).length < 1e-5


def target_moved(rig: bpy.types.Object) -> None:
    bpy.data.objects["Target.L"].delta_location.z = 0.1


def armature_moved(rig: bpy.types.Object) -> None:
    rig.delta_location.y = 0.1


def ground_raised(rig: bpy.types.Object) -> None:
    bpy.data.objects["Ground"].location.z = 0.1


def ground_bent(rig: bpy.types.Object) -> None:
    mesh = bpy.data.objects["Ground"].data
    mesh.vertices[100].co.z += 0.2
    mesh.update()


def hip_keyed(rig: bpy.types.Object) -> None:
    rig.pose.bones["Hip"].location.y = 0.1
    rig.pose.bones["Hip"].keyframe_insert("location", frame=50)


def frame_rate(rig: bpy.types.Object) -> None:
    bpy.context.scene.render.fps = 60


def source(rig: bpy.types.Object) -> None:
    rig.fabrik.constraints[0].ground.source = "SCENE"


def other_axis(rig: bpy.types.Object) -> None:
    rig.fabrik.constraints[0].ground.use_local_axis = True


def looked_higher(rig: bpy.types.Object) -> None:
    rig.fabrik.constraints[0].ground.ray_above = 2.0


def looked_deeper(rig: bpy.types.Object) -> None:
    rig.fabrik.constraints[0].ground.ray_below = 2.0


def tail_for_head(rig: bpy.types.Object) -> None:
    rig.fabrik.constraints[0].use_tail = True


def other_foot(rig: bpy.types.Object) -> None:
    rig.fabrik.constraints[0].bone = "Shin.L"


def shorter_chain(rig: bpy.types.Object) -> None:
    rig.fabrik.constraints[0].chain_count = 1


def target_of_another(rig: bpy.types.Object) -> None:
    rig.fabrik.constraints[0].target = bpy.data.objects["Target.R"]


def longer_bone(rig: bpy.types.Object) -> None:
    activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones["Shin.L"].head.x += 0.05
    bpy.ops.object.mode_set(mode="OBJECT")


def kept_offset(rig: bpy.types.Object) -> None:
    rig.fabrik.constraints[0].use_offset = True


def offset_moved(rig: bpy.types.Object) -> None:
    rig.fabrik.constraints[0].offset_location = (0.0, 0.1, 0.0)


def fewer_frames(track):
    return track._replace(samples=track.samples[: len(track.samples) // 2])


def endless(track):
    return track._replace(samples=[track.samples[0]._replace(height=float("inf"))] * 60)


def unnamed_ground(track):
    return track._replace(samples=[sample._replace(under=7) for sample in track.samples])


def standing_time(track):
    return track._replace(rate=0.0)


def far_away(track):
    return track._replace(samples=[one._replace(place=(1e200, 0.0, 0.0)) for one in track.samples])


def turned_by_no_rotation(track):
    return track._replace(samples=[one._replace(turn=(1e30,) * 4) for one in track.samples])


def upward_without_length(track):
    return track._replace(samples=[one._replace(up=(0.0, 0.0, 0.0)) for one in track.samples])


FORGED = (
    fewer_frames,
    endless,
    unnamed_ground,
    standing_time,
    far_away,
    turned_by_no_rotation,
    upward_without_length,
)


@pytest.mark.parametrize("forge", FORGED)
def test_forged_track_is_said_and_left_out(forge, capsys) -> None:
    from addon.features.ground.track import packed, unpacked
    from addon.features.simulation import history

    rig = walker()
    item, owner = rig.fabrik.constraints[0], "fabrik.constraints[0].ground"
    found = history.data(rig, owner)
    blob = packed(forge(unpacked(found.blob)))
    history.write(rig, owner, found._replace(blob=blob))
    forget()
    rig.update_tag()
    for frame in (20, 30):
        go(frame)
        assert "aren't simulated" in item.message
    stored = item.ground.history
    item.ground.history = stored[:100] + b"AAAA" + stored[104:]
    forget()
    rig.update_tag()
    go(20)
    assert item.message == "The simulation is damaged: press Simulate"
    assert "report this" not in capsys.readouterr().out


def test_high_frame_rate_costs_no_more(monkeypatch, capsys) -> None:
    """A foot without contacts is looked at in so many frames a second, not in each of them."""
    from addon.features.ground.track import packed, unpacked
    from addon.features.simulation import history
    from fabrik_solver.motion import ground

    rig = walker()
    for i in range(2):
        owner = f"fabrik.constraints[{i}].ground"
        found = history.data(rig, owner)
        blob = packed(unpacked(found.blob)._replace(rate=1e9))
        history.write(rig, owner, found._replace(blob=blob))
    real, calls = ground.spline_weights, []

    def counted(share: float):
        calls.append(share)
        assert len(calls) < 1000
        return real(share)

    monkeypatch.setattr(ground, "spline_weights", counted)
    forget()
    rig.update_tag()
    go(20)
    assert calls
    assert "report this" not in capsys.readouterr().out


COUNTING = (
    target_moved,
    armature_moved,
    ground_raised,
    ground_bent,
    hip_keyed,
    frame_rate,
    source,
    other_axis,
    looked_higher,
    looked_deeper,
    tail_for_head,
    other_foot,
    shorter_chain,
    target_of_another,
    longer_bone,
    kept_offset,
)


@pytest.mark.parametrize("change", COUNTING, ids=lambda change: change.__name__)
def test_each_input_outdates_it(change: Callable[[bpy.types.Object], None]) -> None:
    rig = walker()
    change(rig)
    rig.update_tag()
    update()
    go(2)
    assert rig.fabrik.simulation.state == "STALE"


@pytest.mark.parametrize(("name", "value"), [("fps", 60), ("frame_map_new", 200)])
def test_another_pace_of_the_scene_outdates_it(name: str, value: int) -> None:
    """Of that Blender tells with the scene alone, and with no object."""
    rig = walker()
    assert rig.fabrik.simulation.state == "FRESH"
    before = getattr(bpy.context.scene.render, name)
    for pace, state in ((value, "STALE"), (before, "FRESH")):
        setattr(bpy.context.scene.render, name, pace)
        update()
        assert rig.fabrik.simulation.state == state


def test_kept_offset_counts_with_its_place() -> None:
    rig = walker()
    rig.fabrik.constraints[0].use_offset = True
    simulate(rig)
    assert rig.fabrik.simulation.state == "FRESH"
    offset_moved(rig)
    update()
    assert rig.fabrik.simulation.state == "STALE"


def test_settings_that_say_how_a_foot_stands_need_no_other_pass() -> None:
    rig = walker()
    item = rig.fabrik.constraints[0]
    for name in ("blend", "max_angle", "speed", "height", "hip_reach"):
        setattr(item.ground, name, 0.9)
    item.ground.lift_only, item.ground.shortest, item.ground.hip = True, 5, ""
    item.influence = 0.5
    update()
    assert rig.fabrik.simulation.state == "FRESH"


def test_keyed_look_above_counts_as_keyed_at_all_frames() -> None:
    rig = walker()
    for item in rig.fabrik.constraints:
        for frame, value in ((1, 3.0), (60, 2.0)):
            item.ground.ray_above = value
            item.ground.keyframe_insert("ray_above", frame=frame)
    simulate(rig)
    for frame in (1, 20, 60):
        go(frame)
        assert rig.fabrik.simulation.state == "FRESH"
