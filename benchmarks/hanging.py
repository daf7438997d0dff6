"""Ropes and waves: the time that they add to a frame of the same rig."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bpy

from . import extension
from .effort import Effort
from .playing import Score, in_turns, judge, split
from .report import Goal, Section, Table, ms, percentile, small
from .scenes import FLOOR, OURS, Rig, add_ours, armature, build, link

WITHOUT = "without"

MOST = 1.0
"""The milliseconds that a rope of 100 bones may add to a frame."""

ROPE = Rig(1, 100, solver="ROPE")
TENTACLES = Rig(8, 16)

TIMES = """\
Milliseconds that one `Scene.frame_set` takes, everything included, each frame played for the \
first time. “without” is the same rig with the same moving targets and no constraint; “added” is \
the cost of the constraints. “floor” is the time if a handler only writes all rotations. The \
plane and the mesh (a ball of {faces} faces) are placed so that a rope lies on them at most \
frames."""

Setting = Callable[[], None]


def _free() -> None:
    """Change nothing: the ropes hang freely."""


def _on_plane() -> None:
    _rest("PLANE", _ground("Plane", None))


def _on_mesh() -> None:
    _rest("MESH", _ground("Ball", _ball()))


def _waving() -> None:
    rig = armature()
    for item in list(rig.fabrik.constraints):
        wave = rig.fabrik.constraints.add()
        wave.bone, wave.solver = item.bone, "WAVE"
        wave.wave.noise = 0.5


CASES: dict[str, tuple[Rig, Setting]] = {
    "rope of 100": (ROPE, _free),
    "rope of 100 on a plane": (ROPE, _on_plane),
    "rope of 100 over a mesh": (ROPE, _on_mesh),
    "8 × 16, FABRIK and waves": (TENTACLES, _waving),
}


WHY_NOT = "bones and meshes are read, and rays cast, from Python"


def run(effort: Effort) -> Section:
    """Measure all cases."""
    names = effort.of(list(CASES), ["rope of 100", "8 × 16, FABRIK and waves"])
    scores = {name: _measured(*CASES[name], effort) for name in names}
    return Section(
        "Ropes and waves",
        [
            Table(
                TIMES.format(faces=len(_ball().polygons)),
                ("", "ours median", "p95", WITHOUT, "added", FLOOR, "worst end / length"),
                [_row(name, score) for name, score in scores.items()],
            )
        ],
        [],
        [
            Goal(f"{name}: milliseconds added to a frame", MOST, 1e3 * _added(score), WHY_NOT)
            for name, score in scores.items()
            if name.startswith("rope")
        ],
    )


def _measured(rig: Rig, setting: Setting, effort: Effort) -> dict[str, Score]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        extension.turn(False)
        build(rig)
        for variant in (WITHOUT, FLOOR):
            extension.save_file(folder / f"{variant}.blend")
        extension.turn(True)
        extension.open_file(folder / f"{WITHOUT}.blend")
        add_ours(rig)
        setting()
        extension.save_file(folder / f"{OURS}.blend")
        blocks = effort.of(split(200, 25), [range(1, 4)])
        scores = in_turns(folder, (OURS, WITHOUT, FLOOR), blocks, passes=1)
        if setting is not _waving:  # On top of their chains, waves take the tips away.
            judge(folder, OURS, rig, range(1, blocks[-1].stop, 3), scores[OURS])
    return scores


def _rest(kind: str, ground: bpy.types.Object) -> None:
    for item in armature().fabrik.constraints:
        item.rope.collision, item.rope.collision_object = kind, ground


def _ground(name: str, mesh: bpy.types.Mesh | None) -> bpy.types.Object:
    ground = link(bpy.data.objects.new(name, mesh))
    ground.location = (0.0, 0.0, -0.1 if mesh is None else -0.25)
    return ground


def _ball() -> bpy.types.Mesh:
    import bmesh

    mesh = bpy.data.meshes.new("Ball")
    shape: Any = bmesh.new()
    bmesh.ops.create_uvsphere(shape, u_segments=64, v_segments=32, radius=0.25)
    shape.to_mesh(mesh)
    shape.free()
    return mesh


def _added(scores: dict[str, Score]) -> float:
    return scores[OURS].typical - scores[WITHOUT].typical


def _row(name: str, scores: dict[str, Score]) -> list[str]:
    ours = scores[OURS]
    return [
        name,
        ms(ours.typical),
        ms(percentile(ours.first, 0.95)),
        ms(scores[WITHOUT].typical),
        ms(_added(scores)),
        ms(scores[FLOOR].typical),
        small(max(ours.errors)) if ours.errors else "",
    ]
