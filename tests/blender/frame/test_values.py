"""Reading, solving and writing pass values on, which nobody changes afterwards."""

from collections.abc import Callable
from typing import Any

import bpy
import pytest
from rigs import add_constraint, make_chain, make_empty, update

from addon.frame import solving
from addon.frame.read import ChannelSnapshot, EvaluatedSnapshot, SceneSnapshot
from addon.frame.solved_scene import SolvedScene
from addon.frame.solving import present_runs
from addon.frame.update import update as update_armatures
from addon.settings.muting import muting


@pytest.fixture
def rig(empty_file: None) -> Any:
    """A stretching chain with a bone that another constraint poses again, in Euler angles."""
    rig = make_chain(4, "Rig")
    rig.pose.bones["B1"].rotation_mode = "YZX"
    add_constraint(rig, "B3", make_empty("Target", (3, 0, 3)), use_stretch=True, stretch_max=2.0)
    add_constraint(rig, "B2", make_empty("Watched", (0, 3, 1)), chain_count=1, solver="LOOK_AT")
    update()
    return rig


def read_evaluated(rig: Any) -> EvaluatedSnapshot:
    runs, depsgraph = present_runs(), bpy.context.evaluated_depsgraph_get()
    rigs = solving.evaluated_copies(runs.plan, depsgraph, {rig.session_uid})
    return EvaluatedSnapshot(runs.plan, runs.readers, depsgraph, rigs, rigs)


def read_ahead(rig: Any) -> ChannelSnapshot:
    runs, scene, uid = present_runs(), bpy.context.scene, rig.session_uid
    return ChannelSnapshot(runs.plan, runs.readers, scene, {uid}, {uid})


READ: dict[str, Callable[[Any], SceneSnapshot]] = {
    "evaluated": read_evaluated,
    "ahead": read_ahead,
}


def numbers_of(snapshot: SceneSnapshot) -> str:
    """Return all that was read of armatures."""
    told = [
        (fk.settings, fk.joints, fk.locations, fk.scales, fk.inputs, fk.modes, fk.groups, fk.stamp)
        for fk in snapshot.poses.values()
    ]
    return repr((told, snapshot.time, snapshot.failed))


def solution_of(solved: SolvedScene) -> str:
    poses = solved.poses.values()
    rotations = [[p.rotation(bone) for bone in range(len(p.fk.rig.names))] for p in poses]
    others = [(p.locations, p.scales, p.reports) for p in poses]
    return repr([rotations, others])


def move(rig: Any) -> None:
    """Change all that goes in."""
    rig.pose.bones["B0"].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    rig.pose.bones["B1"].rotation_euler = (0.1, 0.2, 0.3)
    rig.pose.bones["B2"].rotation_mode = "XYZ"
    rig.pose.bones["B3"].scale = (1.0, 1.5, 1.0)
    rig.fabrik.constraints[0].influence = 0.5
    bpy.data.objects["Target"].location = (0.5, 5.0, 1.0)
    update()


@pytest.mark.parametrize("way", READ)
def test_a_snapshot_stays_as_it_was_read(rig: Any, way: str) -> None:
    snapshot = READ[way](rig)
    before = numbers_of(snapshot)
    update_armatures(present_runs(), snapshot, None, is_edit=True)
    assert numbers_of(snapshot) == before
    move(rig)
    assert numbers_of(READ[way](rig)) != before
    assert numbers_of(snapshot) == before


@pytest.mark.parametrize("way", READ)
def test_what_was_solved_stays_as_it_was(rig: Any, way: str) -> None:
    solved = present_runs().solve(READ[way](rig), None)
    before = solution_of(solved)
    move(rig)
    assert solution_of(present_runs().solve(READ[way](rig), None)) != before
    assert solution_of(solved) == before


def test_a_snapshot_is_solved_alike_each_time(rig: Any) -> None:
    snapshot = read_evaluated(rig)
    first, second = (solution_of(present_runs().solve(snapshot, None)) for _ in range(2))
    assert first == second
    assert solution_of(SolvedScene(snapshot)) != first


def test_to_look_at_a_scene_changes_nothing_that_is_written(rig: Any) -> None:
    depsgraph = bpy.context.evaluated_depsgraph_get()
    writer = present_runs().writers[rig.session_uid]
    before = writer.composed, writer.reports, writer.shown
    with muting(rig, [0]):
        looked = solving.solve_armatures(depsgraph, [rig])
        found = looked.poses[rig.session_uid].reports
        assert [found[i,][0].state for i in (0, 1)] == ["DISABLED", "REACHED"]
        assert (writer.composed, writer.reports, writer.shown) == before
