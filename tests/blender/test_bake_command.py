"""Baking from the command line, in one process and in several."""

import subprocess
import sys
import textwrap
from itertools import pairwise
from math import cos, pi, sin
from pathlib import Path

import bpy
import pytest
from rigs import add_constraint, curves, go, make_chain, make_empty, update

from addon.ui import command

ROOT = Path(__file__).resolve().parents[2]
END = 40


def keys():
    """Return all keys of the open file to the last bit, by object and channel."""
    return {
        (ob.name, c.data_path, c.array_index): [
            (*p.co, *p.handle_left, *p.handle_right, p.interpolation) for p in c.keyframe_points
        ]
        for ob in bpy.data.objects
        for c in curves(ob)
    }


@pytest.fixture
def blend(empty_file, tmp_path):
    """A file with two chains whose targets go round, so that Euler angles pass half a turn."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, END
    for name, mode in (("Rig", "XYZ"), ("Other", "QUATERNION")):
        rig = make_chain(name=name, mode=mode)
        target = make_empty(f"{name} Target")
        for frame in range(1, END + 1, 3):
            angle = 3.0 * pi * frame / END
            target.location = (0.0, 2.5 * sin(angle), 2.5 * cos(angle))
            target.keyframe_insert("location", frame=frame)
        add_constraint(rig, "B2", target, name=f"{name} IK")
    go(5)
    path = tmp_path / "shot.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False)
    return path


def opened(path):
    """Open a file and return its keys."""
    bpy.ops.wm.open_mainfile(filepath=str(path))
    update()
    return keys()


def said(capfd):
    """Return what was said on stderr in lines, progress left out."""
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("fabrik_bake")]
    return [line for line in lines if not line.endswith(" %")]


def test_the_baked_file_lies_beside_the_input_which_stays_as_it_was(blend, capfd):
    before = blend.read_bytes()
    assert command.run([str(blend)]) == 0
    error = capfd.readouterr().err
    assert [f"fabrik_bake: {n} %" in error for n in (10, 50, 100)] == [True] * 3
    assert "largest difference is" in error and "shot_baked.blend" in error
    assert blend.read_bytes() == before
    assert sorted(path.name for path in blend.parent.iterdir()) == [
        "shot.blend",
        "shot_baked.blend",
    ]
    found = opened(blend.with_name("shot_baked.blend"))
    assert len(found["Rig", 'pose.bones["B0"].rotation_euler', 0]) == END
    assert not any(item.enabled for ob in bpy.data.objects for item in ob.fabrik.constraints)
    assert bpy.context.scene.frame_current == 5


def test_what_is_asked_for_is_done(blend, tmp_path, capfd):
    output = tmp_path / "out.blend"
    wishes = [
        "--start",
        "3",
        "--end",
        "20",
        "--step",
        "4",
        "--into",
        "current",
        "--afterwards",
        "remove",
    ]
    names = ["--constraint", "Rig/Rig IK"]
    assert command.run([str(blend), "--output", str(output), *wishes, *names]) == 0
    found = opened(output)
    path = 'pose.bones["B2"].rotation_euler'
    assert [key[0] for key in found["Rig", path, 1]] == [3, 7, 11, 15, 19, 20]
    assert not any(name == "Other" for name, _, _ in found)
    assert [len(bpy.data.objects[name].fabrik.constraints) for name in ("Rig", "Other")] == [0, 1]


def test_the_output_may_be_the_input_if_it_is_named(blend):
    assert command.run([str(blend), "--output", str(blend), "--end", "4"]) == 0
    assert any("rotation" in path for _, path, _ in opened(blend))
    assert [path.name for path in blend.parent.iterdir()] == ["shot.blend"]


WRONG = {
    "missing": (["{folder}/none.blend"], "cannot be read: No such file"),
    "no blend": (["{folder}/text.blend"], "is no file that this Blender can open"),
    "folder": (["{blend}", "--output", "{folder}"], "it is a folder"),
    "unwritable": (["{blend}", "--output", "{folder}/none/out.blend"], "cannot be written"),
    "empty": (["{blend}", "--start", "9", "--end", "8"], "The range ends at 8, before its start"),
    "unknown": (["{blend}", "--constraint", "X"], "no constraint “X”: choose among “Rig/Rig IK”"),
    "step": (["{blend}", "--step", "0"], "The step has to be 1 or more"),
    "number": (["{blend}", "--start", "x"], "invalid int value"),
    "nothing": ([], "the following arguments are required"),
    "both": (["{blend}", "--part", "{folder}/a.npz", "--output", "b"], "leave one out"),
    "part": (["{blend}", "--merge", "{folder}/text.blend"], "is no part of a bake"),
    "no part": (["{blend}", "--merge", "{folder}/none.npz"], "cannot be read"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_one_sentence_and_nothing_is_written(blend, case, capfd):
    arguments, sentence = WRONG[case]
    (blend.parent / "text.blend").write_text("no blend")
    before = {path.name: path.read_bytes() for path in blend.parent.iterdir()}
    filled = [part.format(folder=blend.parent, blend=blend) for part in arguments]
    capfd.readouterr()
    assert command.run(filled) == command.WRONG
    lines = said(capfd)
    assert len(lines) == 1 and sentence in lines[0] and lines[0].endswith(".")
    assert {path.name: path.read_bytes() for path in blend.parent.iterdir()} == before


def test_a_bake_that_is_not_as_it_was_live_is_not_written(blend, monkeypatch, capfd):
    from addon.binding.baking import bake as baking

    monkeypatch.setattr(baking, "write", lambda picked, keys: None)
    assert command.run([str(blend)]) == command.UNPROVEN
    assert "Nothing was written" in said(capfd)[-1]
    assert [path.name for path in blend.parent.iterdir()] == ["shot.blend"]


SCRIPT = """
import sys
sys.path.insert(0, {root!r})
import addon
addon.register()
from addon.ui import command
try:
    code = command.run({arguments!r})
finally:
    addon.unregister()
sys.stdout.flush()
import os
os._exit(code)
"""


def started(folder, number, arguments):
    """Start the command in a process of its own."""
    script = folder / f"{number}.py"
    text = SCRIPT.format(root=str(ROOT), arguments=[str(one) for one in arguments])
    script.write_text(textwrap.dedent(text))
    call = [sys.executable, str(script)]
    if bpy.app.binary_path:
        call = [bpy.app.binary_path, "--background", "--factory-startup", "--python", str(script)]
    return subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


RANGES = ((1, 10), (11, 20), (21, 30), (31, END))


def test_ranges_of_four_processes_make_the_keys_of_one_bit_for_bit(blend, tmp_path, capfd):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    parts = [scratch / f"part{n}.npz" for n in range(4)]
    processes = [
        started(scratch, n, [blend, "--start", a, "--end", b, "--part", parts[n]])
        for n, (a, b) in enumerate(RANGES)
    ]
    for process in processes:
        answer, _ = process.communicate(timeout=120)
        assert process.returncode == 0, answer
    merged, single = scratch / "merged.blend", scratch / "single.blend"
    shuffled = [parts[2], parts[0], parts[3], parts[1]]
    merge = [blend, "--merge", *shuffled, "--output", merged]
    assert command.run([str(one) for one in merge]) == 0
    assert command.run([str(blend), "--output", str(single)]) == 0
    ours, whole = opened(merged), opened(single)
    assert ours == whole
    # Continuity matters here: raw angles are within half a turn, and these go beyond it, so that
    # later ranges could not have known theirs.
    turns = [whole["Rig", 'pose.bones["B0"].rotation_euler', i] for i in range(3)]
    assert max(abs(key[1]) for turn in turns for key in turn if key[0] > 20) > 1.2 * pi
    jumps = [abs(b[1] - a[1]) for t in turns for a, b in pairwise(t)]
    assert max(jumps) < pi

    for chosen, sentence in (
        (parts[:2] + parts[3:], "Frames 21 to 30 are in no part"),
        ([*parts, parts[1]], "Frame 11 is in “part1.npz” and in “part1.npz”"),
    ):
        capfd.readouterr()
        assert command.run([str(one) for one in (blend, "--merge", *chosen)]) == command.WRONG
        assert sentence in said(capfd)[0]
    for more, sentence in (
        (["--constraint", "Rig IK"], "holds other constraints"),
        (["--end", "35"], "Frames 36 to 40 are beyond the range from 1 to 35"),
    ):
        capfd.readouterr()
        arguments = [str(one) for one in (blend, "--merge", *parts)] + more
        assert command.run(arguments) == command.WRONG
        assert sentence in said(capfd)[0]
    capfd.readouterr()
    assert command.run([str(one) for one in (single, "--merge", *parts)]) == command.WRONG
    assert (
        "holds" in (line := said(capfd)[0]) or "cannot be baked" in line or "another file" in line
    )


def test_the_merge_proves_against_what_the_parts_saw(blend, tmp_path, capfd):
    import numpy as np

    part = tmp_path / "whole.npz"
    assert command.run([str(blend), "--part", str(part)]) == 0
    with np.load(part) as arrays:
        found = dict(arrays)
    found["0/matrices"][6, 1, 0, 3] += 0.01
    np.savez(part, **found)
    capfd.readouterr()
    assert command.run([str(blend), "--merge", str(part)]) == command.UNPROVEN
    assert "frame 7" in said(capfd)[-1]
