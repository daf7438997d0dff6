"""The sample job type for Flamenco makes tasks that bake a file, run here one after the other."""

import json
import shutil
import subprocess
from pathlib import Path

import bpy
import pytest
from rigs import add_constraint, go, is_keyed, key, make_chain, make_empty

from addon.features.command import command

JOB_TYPE = Path(__file__).resolve().parents[3] / "samples" / "flamenco" / "fabrik_bake.js"

# What Flamenco gives a script, as far as this one uses it.
FLAMENCO = """
const fs = require("fs"), vm = require("vm"), posix = require("path").posix;
const tasks = [];
const context = {
    author: {
        Task: (name, type) => ({
            name, type, commands: [], needs: [],
            addCommand(one) { this.commands.push(one); },
            addDependency(task) { this.needs.push(task.name); },
        }),
        Command: (name, parameters) => ({name, parameters}),
    },
    path: {
        join: posix.join, dirname: posix.dirname, stem: (name) => posix.parse(name).name,
    },
};
const [script, settings] = process.argv.slice(1);
vm.runInNewContext(fs.readFileSync(script, "utf8") + "; this.JOB_TYPE = JOB_TYPE", context);
let problem = "";
try {
    context.compileJob({settings: JSON.parse(settings), addTask: (task) => tasks.push(task)});
} catch (error) {
    problem = String(error);
}
console.log(JSON.stringify({job_type: context.JOB_TYPE, tasks, problem}));
"""

node = shutil.which("node")
pytestmark = pytest.mark.skipif(node is None, reason="there is no Node here to run the script")


def compiled(**settings):
    """Return what the script makes of settings."""
    arguments = [str(node), "-e", FLAMENCO, str(JOB_TYPE), json.dumps(settings)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_tasks_bake_a_file(tmp_path):
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 7
    rig, target = make_chain(), make_empty()
    key(target, "location", {1: (1, 0, 2), 7: (-1, 1, 1.5)})
    add_constraint(rig, "B2", target, name="IK")
    go(1)
    blend, output = tmp_path / "shot.blend", tmp_path / "out" / "baked.blend"
    output.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    made = compiled(
        frame_start=1,
        frame_end=7,
        chunk_size=3,
        step=2,
        error=0.0,
        blendfile=str(blend),
        output=str(output),
    )
    tasks = made["tasks"]
    assert [task["name"] for task in tasks] == [
        "record-1-3",
        "record-4-6",
        "record-7-7",
        "write-and-prove",
    ]
    assert tasks[-1]["needs"] == [task["name"] for task in tasks[:-1]]
    for task in tasks:
        (made_command,) = task["commands"]
        assert task["type"] == "blender" and made_command["name"] == "exec"
        call = made_command["parameters"]
        assert call["exe"] == "{blender}" and call["args"][:2] == ["--command", command.NAME]
        assert command.run(call["args"][2:]) == 0
    bpy.ops.wm.open_mainfile(filepath=str(output))
    assert is_keyed(bpy.data.objects["Rig"], 'pose.bones["B1"].rotation_quaternion')


def test_settings_are_named_once_and_all_are_used():
    keys = [setting["key"] for setting in compiled()["job_type"]["settings"]]
    text = JOB_TYPE.read_text(encoding="utf-8")
    assert len(set(keys)) == len(keys)
    assert all(f"settings.{key}" in text for key in keys)


def test_what_makes_no_job_is_said():
    wrong = {"frame_start": 5, "frame_end": 1, "chunk_size": 3}
    assert "raise frame_end" in compiled(**wrong)["problem"]
    wrong = {"frame_start": 1, "frame_end": 5, "chunk_size": 0}
    assert "raise chunk_size" in compiled(**wrong)["problem"]
