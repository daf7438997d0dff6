"""Baking in several processes on this machine: the file is that of a single one, bit for bit."""

import subprocess
import sys
import textwrap
from math import cos, pi, sin

import bpy
import pytest
from rigs import PATH, add_constraint, curves, go, make_chain, make_empty

from addon.features.bake import recording
from addon.features.command import command, jobs

END = 24

SCRIPT = """
import os, sys
sys.path[:0] = {path!r}
import addon
addon.register()
from addon.features.command import command
code = command.run({words!r})
sys.stderr.flush()
os._exit(code)
"""


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """Has other processes started like this one; returns the command lines that they got."""
    started = []

    def start(words, threads):
        script = tmp_path / f"process{len(started)}.py"
        started.append(words)
        script.write_text(textwrap.dedent(SCRIPT.format(path=PATH, words=[*words])))
        call = [sys.executable, str(script)]
        if program := bpy.app.binary_path:
            call = [program, "--background", "--factory-startup", "--python", str(script)]
        return subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    monkeypatch.setattr(jobs, "blender", lambda: ["blender"])
    monkeypatch.setattr(jobs, "_start", start)
    return started


@pytest.fixture
def blend(empty_file, tmp_path):
    """A file with a chain that reaches, and three free chains, not simulated yet."""
    return saved(tmp_path, Arm="FABRIK", A="FOLLOW", B="FOLLOW", C="FOLLOW")


@pytest.fixture
def arms(empty_file, tmp_path):
    """A file with two reaching chains, so no process has to simulate."""
    return saved(tmp_path, Arm="FABRIK", Other="FABRIK")


def saved(tmp_path, **solvers):
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, END
    for name, solver in solvers.items():
        rig = make_chain(4, name)
        target = make_empty(f"{name} Target")
        for frame in range(1, END + 1, 3):
            angle = 2.0 * pi * frame / END
            target.location = (0.3 * frame / END, 2.0 * sin(angle), 2.0 * cos(angle))
            target.keyframe_insert("location", frame=frame)
        add_constraint(rig, "B3", target, name=f"{name} IK", solver=solver)
    go(1)
    folder = tmp_path / "shots"
    folder.mkdir()
    path = folder / "shot.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False)
    return path


def contents(path):
    """All keys and simulations of a baked file."""
    bpy.ops.wm.open_mainfile(filepath=str(path))
    found = {}
    for ob in bpy.data.objects:
        for curve in curves(ob):
            points = [(*p.co, *p.handle_left, *p.handle_right) for p in curve.keyframe_points]
            found[ob.name, curve.data_path, curve.array_index] = points
        if ob.type == "ARMATURE":
            kept = ob.fabrik.simulation
            found[ob.name] = (kept.frame_start, kept.frame_end, kept.state)
            found[ob.name, "history"] = [item.follow.history for item in ob.fabrik.constraints]
    return found


def test_the_file_is_that_of_a_single_process(blend, elsewhere, capfd):
    one, three = blend.with_name("one.blend"), blend.with_name("three.blend")
    assert command.run([str(blend), "--output", str(one)]) == 0
    assert not elsewhere
    assert command.run([str(blend), "--output", str(three), "--jobs", "3"]) == 0
    simulating = [words for words in elsewhere if "--histories" in words]
    assert sorted(words[3:] for words in simulating) == [["A"], ["B"], ["C"]]
    ranges = [tuple(map(int, words[2:5:2])) for words in elsewhere if "--part" in words]
    assert ranges == [(1, 8), (9, 16), (17, 24)]
    wanted = contents(one)
    assert wanted["A"][:2] == (0, 0) and wanted["A", "history"] != [b""]  # As the scene has them.
    assert contents(three) == wanted
    assert sorted(path.name for path in blend.parent.glob("*")) == [
        "one.blend",
        "shot.blend",
        "three.blend",
    ]


def test_some_constraints_and_a_part_are_recorded_so_as_well(arms, elsewhere, capfd):
    part = arms.with_name("arm.part")
    words = [str(arms), "--constraint", "Arm/Arm IK", "--jobs", "2"]
    assert command.run([*words, "--part", str(part)]) == 0
    assert [words[-2:] for words in elsewhere if "--part" in words] == 2 * [
        ["--constraint", "Arm/Arm IK"]
    ]
    merged, single = arms.with_name("merged.blend"), arms.with_name("single.blend")
    assert command.run([*words[:-2], "--merge", str(part), "--output", str(merged)]) == 0
    assert command.run([*words[:-2], "--output", str(single)]) == 0
    assert contents(merged) == contents(single)


def test_the_proof_plays_a_sample_as_that_of_a_single_process_does(arms, elsewhere, monkeypatch):
    from addon.features.bake import bake as baking

    played = []

    def record(scene, layer, selections, frames):
        played.append(len(frames))
        return (yield from recording.record(scene, layer, selections, frames))

    monkeypatch.setattr(baking, "record", record)
    assert command.run([str(arms), "--jobs", "2"]) == 0
    assert played == [8]
    part = arms.with_name("whole.part")
    assert command.run([str(arms), "--jobs", "2", "--part", str(part)]) == 0
    assert command.run([str(arms), "--merge", str(part)]) == 0
    assert played == [8, END], "another machine may have recorded a part"


def test_there_are_no_more_processes_than_frames(arms, elsewhere):
    words = [str(arms), "--end", "2", "--jobs", "8", "--constraint", "Arm IK"]
    assert command.run(words) == 0
    assert len([words for words in elsewhere if "--part" in words]) == 2


def test_what_a_process_says_when_it_fails_is_said(arms, elsewhere, monkeypatch, capfd):
    monkeypatch.setattr(jobs, "_run_all", spoiled(jobs._run_all))
    capfd.readouterr()
    assert command.run([str(arms), "--jobs", "2"]) == command.INVALID
    assert "No constraint “Nobody”" in capfd.readouterr().err
    assert [path.name for path in arms.parent.glob("*")] == ["shot.blend"]


def spoiled(run_all):
    """Have all but the first process asked for a constraint that does not exist."""

    def run(commands):
        if "--part" not in commands[0]:
            return run_all(commands)
        return run_all([commands[0], *([*one, "--constraint", "Nobody"] for one in commands[1:])])

    return run


@pytest.mark.parametrize(
    ("words", "sentence"),
    [(["--jobs", "-1"], "--jobs can't be negative"), (["--jobs", "x"], "invalid int value")],
)
def test_a_number_that_is_none_is_refused(blend, words, sentence, capfd):
    assert command.run([str(blend), *words]) == command.INVALID
    assert sentence in capfd.readouterr().err


def test_without_a_program_to_start_it_is_said(blend, monkeypatch, capfd):
    monkeypatch.setattr(jobs, "blender", list)
    assert command.run([str(blend), "--jobs", "2"]) == command.INVALID
    assert "--jobs needs Blender itself" in capfd.readouterr().err
    assert command.run([str(blend), "--jobs", "1", "--end", "2"]) == 0


def test_as_many_as_processors_are_asked_for_by_0(monkeypatch):
    monkeypatch.setattr(jobs, "blender", lambda: ["blender"])
    monkeypatch.setattr(jobs.os, "cpu_count", lambda: 6)
    assert jobs.count_of(0) == 6


def test_blender_is_started_in_the_background_with_its_share_of_threads(monkeypatch):
    found = []
    monkeypatch.setattr(jobs, "blender", lambda: ["blender"])
    monkeypatch.setattr(jobs.subprocess, "Popen", lambda words, **_: found.append(words))
    jobs._start(["shot.blend", "--start", "1"], 2)
    assert found == [
        ["blender", "--threads", "2", "--command", "fabrik_bake", "shot.blend", "--start", "1"]
    ]
