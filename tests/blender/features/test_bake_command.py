"""Baking from the command line, in one process and in several."""

import os
import signal
import subprocess
import sys
import textwrap
from itertools import pairwise
from math import cos, pi, sin

import bpy
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from rigs import PATH, add_constraint, curves, go, make_chain, make_empty, update

from addon.features.command import command

END = 40

SAME_EVERY_TIME = settings(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


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
    """Return the lines on stderr, without progress."""
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("fabrik_bake")]
    return [line for line in lines if not line.endswith(" %")]


def test_the_baked_file_lies_beside_the_input_which_stays_as_it_was(blend, capfd):
    before = blend.read_bytes()
    assert command.run([str(blend)]) == 0
    error = capfd.readouterr().err
    assert [f"fabrik_bake: {n} %" in error for n in (10, 50, 100)] == [True] * 3
    assert "Largest difference when played back" in error and "shot_baked.blend" in error
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
    options = [
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
    assert command.run([str(blend), "--output", str(output), *options, *names]) == 0
    found = opened(output)
    path = 'pose.bones["B2"].rotation_euler'
    assert [key[0] for key in found["Rig", path, 1]] == [3, 7, 11, 15, 19, 20]
    assert not any(name == "Other" for name, _, _ in found)
    assert [len(bpy.data.objects[name].fabrik.constraints) for name in ("Rig", "Other")] == [0, 1]


def test_the_output_may_be_the_input_if_it_is_named(blend):
    assert command.run([str(blend), "--output", str(blend), "--end", "4"]) == 0
    assert any("rotation" in path for _, path, _ in opened(blend))
    assert [path.name for path in blend.parent.iterdir()] == ["shot.blend"]


INVALID = {
    "missing": (["{folder}/none.blend"], "Can't read “"),
    "no blend": (["{folder}/text.blend"], "is not a file that this version of Blender can open"),
    "folder": (["{blend}", "--output", "{folder}"], "it's a folder"),
    "unwritable": (["{blend}", "--output", "{folder}/none/out.blend"], "Can't write “"),
    "empty": (["{blend}", "--start", "9", "--end", "8"], "End (8) is before Start (9)"),
    "unknown": (["{blend}", "--constraint", "X"], "No constraint “X”: choose from “Rig/Rig IK”"),
    "step": (["{blend}", "--step", "0"], "Step must be 1 or more"),
    "number": (["{blend}", "--start", "x"], "invalid int value"),
    "no output": (["{blend}", "--output", ""], "specify a file name"),
    "no part": (["{blend}", "--part", ""], "specify a file name"),
    "no file": ([""], "specify a file name"),
    "nothing to merge": (["{blend}", "--merge", ""], "specify a file name"),
    "zero in the output": (["{blend}", "--output", "{folder}/a\0b"], "specify a file name"),
    "zero in the file": (["{folder}/a\0b"], "specify a file name"),
    "zero in a part": (["{blend}", "--merge", "{folder}/a\0b"], "specify a file name"),
    "here": (["{blend}", "--output", "."], "it's a folder"),
    "root": (["{blend}", "--output", "/"], "it's a folder"),
    "folder for a part": (["{blend}", "--part", "{folder}"], "it's a folder"),
    "folder as file": (["{folder}"], "”: it's a folder"),
    "folder as part": (["{blend}", "--merge", "{folder}"], "”: it's a folder"),
    "below a file": (["{blend}", "--output", "{blend}/x"], "”: Not a directory"),
    "part on the file": (["{blend}", "--part", "{blend}"], "choose another name"),
    "long name": (["{blend}", "--output", f"{{folder}}/{'x' * 300}"], "File name too long"),
    "long name of a part": (["{blend}", "--part", f"{{folder}}/{'x' * 300}"], "File name too long"),
    "long path": (["{blend}", "--output", f"{{folder}}/{'x/' * 4000}x"], "File name too long"),
    "long file": ([f"{{folder}}/{'x' * 300}.blend"], "”: File name too long"),
    "long part": (["{blend}", "--merge", f"{{folder}}/{'x' * 300}"], "File name too long"),
    "late end": (["{blend}", "--end", "1048575"], "Frames must be between"),
    "early start": (["{blend}", "--start", "-1048575"], "Frames must be between"),
    "huge end": (["{blend}", "--end", "9" * 40], "Frames must be between"),
    "huge start": (["{blend}", "--start", "-" + "9" * 40], "Frames must be between"),
    "huge range": (
        ["{blend}", "--start", f"-{10**9}", "--end", f"{10**9}"],
        "Frames must be between",
    ),
    "error that is none": (["{blend}", "--error", "nan"], "between 0° and 180°"),
    "nothing": ([], "the following arguments are required"),
    "both": (["{blend}", "--part", "{folder}/a.part", "--output", "b"], "leave one out"),
    "part": (["{blend}", "--merge", "{folder}/text.blend"], "isn't a part of this bake"),
    "missing part": (
        ["{blend}", "--merge", "{folder}/none.part"],
        "Can't read “",
    ),
}


@pytest.mark.parametrize("case", INVALID)
def test_what_is_wrong_is_said_in_one_sentence_and_nothing_is_written(blend, case, capfd):
    arguments, sentence = INVALID[case]
    (blend.parent / "text.blend").write_text("no blend")
    before = {path.name: path.read_bytes() for path in blend.parent.iterdir()}
    filled = [part.format(folder=blend.parent, blend=blend) for part in arguments]
    capfd.readouterr()
    assert command.run(filled) == command.INVALID
    lines = said(capfd)
    assert len(lines) == 1 and sentence in lines[0] and lines[0].endswith(".")
    assert {path.name: path.read_bytes() for path in blend.parent.iterdir()} == before


def make_fifo(path):
    os.mkfifo(path)


def make_device(path):
    try:
        os.mknod(path, 0o666 | 0o020000, os.makedev(1, 3))  # Another /dev/null.
    except OSError:
        pytest.skip("only root may make a device")


def make_link_to_fifo(path):
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def make_link_to_folder(path):
    path.symlink_to(path.parent)


def make_link_to_itself(path):
    path.symlink_to(path.name)


def listing(folder):
    """Return what is in a folder, and of which kind."""
    return sorted(
        (path.name, path.lstat().st_mode, path.lstat().st_ino) for path in folder.iterdir()
    )


OTHERS = (make_fifo, make_device, make_link_to_fifo, make_link_to_folder, make_link_to_itself)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
@pytest.mark.parametrize("make", OTHERS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("option", ["--output", "--part", "--merge", "FILE"])
def test_what_is_no_regular_file_is_refused(blend, option, make, capfd):
    other = blend.with_name("other")
    make(other)
    before = listing(blend.parent)
    capfd.readouterr()
    arguments = [str(other)] if option == "FILE" else [str(blend), option, str(other)]
    assert command.run(arguments) == command.INVALID
    (line,) = said(capfd)
    assert line.endswith(("it isn't a regular file.", "it's a folder.", "symbolic links."))
    assert listing(blend.parent) == before


@pytest.mark.skipif(os.name == "nt", reason="Windows lets only some users make links")
@pytest.mark.parametrize("is_dangling", [False, True])
def test_a_link_is_followed_and_its_target_replaced(blend, tmp_path, is_dangling):
    there = tmp_path / "there"
    there.mkdir()
    target, link = there / "target.blend", tmp_path / "link.blend"
    if not is_dangling:
        target.write_text("before")
    link.symlink_to(target)
    assert command.run([str(blend), "--output", str(link), "--end", "4"]) == 0
    assert link.is_symlink() and not target.is_symlink()
    assert [path.name for path in there.iterdir()] == ["target.blend"]
    assert any("rotation" in path for _, path, _ in opened(target))


@pytest.mark.skipif(os.name == "nt", reason="Windows counts the whole path")
def test_the_longest_names_can_be_written(blend):
    output = blend.with_name("é" * 124 + "x.blend")
    assert len(os.fsencode(output.name)) == 255
    assert command.run([str(blend), "--output", str(output), "--end", "4"]) == 0
    assert any("rotation" in path for _, path, _ in opened(output))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has names of any bytes")
def test_a_name_that_is_no_text_can_be_written(blend):
    output = blend.with_name(os.fsdecode(b"a\xff.blend"))
    assert command.run([str(blend), "--output", str(output), "--end", "4"]) == 0
    assert sorted(path.name for path in blend.parent.iterdir()) == ["a\udcff.blend", "shot.blend"]


@pytest.mark.parametrize("frame", ["-1048574", "1048574"])
def test_the_outermost_frames_can_be_baked(blend, frame):
    assert command.run([str(blend), "--start", frame, "--end", frame]) == 0
    found = opened(blend.with_name("shot_baked.blend"))
    (key,) = found["Other", 'pose.bones["B0"].rotation_quaternion', 0]
    assert key[0] == float(frame)


def test_a_path_that_blender_would_cut_short_is_refused(blend, capfd):
    folder = blend.parent.joinpath(*["x" * 200] * 5)
    folder.mkdir(parents=True)
    away = folder / f"{'y' * 60}.blend"
    for arguments in ([str(blend), "--output", str(away)], [str(away)]):
        if arguments == [str(away)]:
            away.write_bytes(blend.read_bytes())
        before = sorted(blend.parent.rglob("*"))
        capfd.readouterr()
        assert command.run(arguments) == command.INVALID
        (line,) = said(capfd)
        assert "is too long for Blender" in line
        assert sorted(blend.parent.rglob("*")) == before


def test_too_little_memory_is_said(blend, monkeypatch, capfd):
    from addon.features.bake import recording

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(recording, "_Recorder", fail)
    assert command.run([str(blend)]) == command.INVALID
    assert "memory" in said(capfd)[-1]


def test_a_bake_that_is_not_as_it_was_live_is_not_written(blend, monkeypatch, capfd):
    from addon.features.bake import bake as baking

    monkeypatch.setattr(baking, "write", lambda picked, keys: None)
    assert command.run([str(blend)]) == command.MISMATCH
    assert "No file was written" in said(capfd)[-1]
    assert [path.name for path in blend.parent.iterdir()] == ["shot.blend"]


SCRIPT = """
import sys
sys.path[:0] = {path!r}
import addon
addon.register()
from addon.features.command import command
{patch}
try:
    code = command.run({arguments!r})
finally:
    addon.unregister()
sys.stdout.flush()
import os
os._exit(code)
"""


def started(folder, number, arguments, patch=""):
    """Start the command in a process of its own, after a patch."""
    script = folder / f"{number}.py"
    text = SCRIPT.format(path=PATH, arguments=[str(one) for one in arguments], patch=patch)
    script.write_text(textwrap.dedent(text))
    call = [sys.executable, str(script)]
    if bpy.app.binary_path:
        call = [bpy.app.binary_path, "--background", "--factory-startup", "--python", str(script)]
    return subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


RANGES = ((1, 10), (11, 20), (21, 30), (31, END))


def test_ranges_of_four_processes_make_the_keys_of_one_bit_for_bit(blend, tmp_path, capfd):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    parts = [scratch / f"part{n}.part" for n in range(4)]
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
        (parts[:2] + parts[3:], "Frames missing from the parts: 21–30."),
        ([*parts, parts[1]], "Frame 11 is in both “part1.part” and “part1.part”"),
    ):
        capfd.readouterr()
        assert command.run([str(one) for one in (blend, "--merge", *chosen)]) == command.INVALID
        assert sentence in said(capfd)[0]
    for more, sentence in (
        (["--constraint", "Rig IK"], "contains other constraints"),
        (["--end", "35"], "Frames outside the range 1 to 35: 36–40."),
    ):
        capfd.readouterr()
        arguments = [str(one) for one in (blend, "--merge", *parts)] + more
        assert command.run(arguments) == command.INVALID
        assert sentence in said(capfd)[0]
    capfd.readouterr()
    assert command.run([str(one) for one in (single, "--merge", *parts)]) == command.INVALID
    assert "holds" in (line := said(capfd)[0]) or "can't be baked" in line or "another file" in line


KILL = """
def half(path, *_, **__):
    for name in (path, f"{path}@"):  # Blender writes to the second, and renames it.
        with open(name, "wb") as file:
            file.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
import os, signal
from addon.features.bake import parts
command.saving.save = parts.save = half
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no such signal")
@pytest.mark.parametrize("option", ["--output", "--part"])
def test_what_a_killed_run_leaves_the_next_one_clears(blend, tmp_path_factory, option):
    scratch = tmp_path_factory.mktemp("scratch")
    output = blend.with_name("out")
    output.write_text("before")
    arguments = [blend, option, output, "--end", "4"]
    process = started(scratch, 0, arguments, KILL)
    answer, _ = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, answer
    assert output.read_text() == "before"
    assert command.run([str(one) for one in arguments]) == 0
    assert sorted(path.name for path in blend.parent.iterdir()) == ["out", "shot.blend"]
    assert output.read_bytes() != b"before"


LIMIT = """
import resource
from addon.features.command import saving
save = saving.save
def save_on_full_disk(path, is_compressed):
    resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
    save(path, is_compressed)
saving.save = save_on_full_disk
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit for the size of a file")
@pytest.mark.skipif(
    bool(bpy.app.binary_path), reason="Blender itself is killed by a file beyond the limit"
)
@pytest.mark.parametrize(("is_compressed", "share"), [(True, 0.2), (False, 0.95)])
def test_a_full_disk_is_said_and_the_output_stays(blend, tmp_path_factory, is_compressed, share):
    bpy.ops.wm.open_mainfile(filepath=str(blend))
    bpy.ops.wm.save_mainfile(compress=is_compressed)
    output = blend.with_name("out.blend")
    arguments = [blend, "--output", output, "--end", "4"]
    assert command.run([str(one) for one in arguments]) == 0
    good, before = output.read_bytes(), listing(blend.parent)
    patch = LIMIT.format(size=int(share * len(good)))
    process = started(tmp_path_factory.mktemp("scratch"), 0, arguments, patch)
    answer, _ = process.communicate(timeout=120)
    assert process.returncode == command.INVALID, answer
    assert "fabrik_bake: Can't write the file: " in answer
    assert output.read_bytes() == good
    assert listing(blend.parent) == before


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_file_that_was_cut_off_replaces_nothing(blend, monkeypatch, capfd, share):
    """Blender does not always report that a disk is full."""
    from addon.features.command import saving

    def save(path, is_compressed):
        whole(path, is_compressed)
        os.truncate(path, int(share * path.stat().st_size))

    whole = saving.save
    output = blend.with_name("out.blend")
    output.write_text("before")
    before = listing(blend.parent)
    monkeypatch.setattr(saving, "save", save)
    assert command.run([str(blend), "--output", str(output)]) == command.INVALID
    assert "can't be read back" in said(capfd)[-1]
    assert output.read_text() == "before"
    assert listing(blend.parent) == before


def test_two_runs_with_one_output_are_kept_apart(blend, capfd):
    from addon.features.bake.files import replaced

    output = blend.with_name("out.blend")
    with replaced(output) as draft:
        draft.write_text("first")
        capfd.readouterr()
        assert command.run([str(blend), "--output", str(output)]) == command.INVALID
        assert "Another process is writing" in said(capfd)[-1]
    assert output.read_text() == "first"
    assert sorted(path.name for path in blend.parent.iterdir()) == ["out.blend", "shot.blend"]


def test_the_merge_proves_against_what_the_parts_saw(blend, tmp_path, monkeypatch, capfd):
    from addon.features.bake import parts

    save = parts.save

    def moved(path, digest, picks, take):
        take.armatures[0].matrices[6, 1, 0, 3] += 0.01
        save(path, digest, picks, take)

    monkeypatch.setattr(parts, "save", moved)
    part = tmp_path / "whole.part"
    assert command.run([str(blend), "--part", str(part)]) == 0
    capfd.readouterr()
    assert command.run([str(blend), "--merge", str(part)]) == command.MISMATCH
    assert "frame 7" in said(capfd)[-1]


@pytest.fixture
def part(blend):
    """A part that is the whole range."""
    path = blend.with_name("whole.part")
    assert command.run([str(blend), "--part", str(path)]) == 0
    return path


def refused(blend, part, capfd):
    """Merge a part and return the one sentence that refuses it."""
    capfd.readouterr()
    before = listing(blend.parent)
    assert command.run([str(blend), "--merge", str(part)]) == command.INVALID
    assert listing(blend.parent) == before
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    lines = [line for line in err.splitlines() if line.startswith("fabrik_bake")]
    assert len(lines) == 1 and lines[0].endswith(".")
    return lines[0]


# The part is made once and written anew for each example.
@settings(SAME_EVERY_TIME, max_examples=40)
@given(
    kind=st.sampled_from(["flip", "cut", "lengthen", "forge"]),
    place=st.one_of(st.integers(0, 100), st.integers(0, 1 << 30)),
    bit=st.integers(0, 7),
    more=st.binary(min_size=1, max_size=24),
)
def test_a_part_that_is_damaged_is_refused(blend, part, capfd, kind, place, bit, more):
    whole = part.read_bytes()
    at = place % len(whole)
    damaged = {
        "flip": whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :],
        "cut": whole[:at],
        "lengthen": whole + more,
        "forge": more + whole[len(more) :],
    }[kind]
    assume(damaged != whole)
    part.write_bytes(damaged)
    try:
        assert "isn't a part of this bake" in refused(blend, part, capfd)
    finally:
        part.write_bytes(whole)


def backwards(rows):
    rows[:] = rows[::-1].copy()


def same_time(rows):
    rows["time"][3] = rows["time"][2]


def endless(rows):
    rows["0/matrices"][3, 0, 0, 0] = np.inf


def no_number(rows):
    rows["0/worlds"][3, 0, 0] = np.nan


def no_turn(rows):
    rows["1/0"][3, 0, 0] = np.nan


def no_time(rows):
    rows["time"][-1] = np.nan


CHANGES = (backwards, same_time, endless, no_number, no_turn, no_time)


def forge(part, change, head=lambda head: head):
    """Write a part anew with other rows or another head, and a checksum that is right."""
    from addon.features.bake import parts, selecting
    from fabrik_solver.motion import codec

    form = codec.Form(*parts.FORM[:2])
    (payload,) = form.opened(part.read_bytes())
    picks, _ = selecting.select(command._constraints(bpy.context.view_layer, None))
    rows = np.frombuffer(payload[parts.FORM.fields.size :], parts.row(picks)).copy()
    rows = rows if (made := change(rows)) is None else made
    payload = head(payload[: parts.FORM.fields.size]) + rows.tobytes()
    part.write_bytes(form.sealed(payload))


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_forged_numbers_of_a_part_are_refused(blend, part, change, capfd):
    forge(part, change)
    assert "isn't a part of this bake" in refused(blend, part, capfd)


def test_forged_shapes_of_a_part_are_refused(blend, part, capfd):
    whole = part.read_bytes()
    for change, sentence in (
        (lambda rows: rows[:-1], "Frames missing from the parts: 40."),
        (lambda rows: rows[:0], "isn't a part of this bake"),
        (lambda rows: np.concatenate([rows, rows]), "isn't a part of this bake"),
        (lambda rows: np.frombuffer(rows.tobytes()[:-4], np.uint8), "isn't a part of this bake"),
    ):
        part.write_bytes(whole)
        forge(part, change)
        assert sentence in refused(blend, part, capfd)


def test_forged_heads_of_a_part_are_refused(blend, part, capfd):
    whole = part.read_bytes()
    for at, sentence in ((0, "from another file"), (32, "other constraints"), (64, "Frame")):
        part.write_bytes(whole)
        forge(part, lambda _: None, lambda head, at=at: head[:at] + b"\x7f" * 4 + head[at + 4 :])
        assert sentence in refused(blend, part, capfd)
