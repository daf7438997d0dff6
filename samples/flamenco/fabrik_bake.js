// SPDX-License-Identifier: GPL-3.0-or-later

// A job type for Flamenco 3: bakes the FABRIK IK constraints of a file on many workers at once.
// Put it into the folder "scripts" beside Flamenco Manager, and install the extension in the Blender
// of all workers. Each task records a range of frames; the last one joins them, writes the keys
// and proves them, and fails if the proof does.

const JOB_TYPE = {
    label: "FABRIK IK Bake",
    description: "Bake FABRIK IK constraints to keys, in ranges of frames, and verify the result",
    settings: [
        { key: "frame_start", type: "int32", required: true, eval: "C.scene.frame_start",
          description: "First frame to bake" },
        { key: "frame_end", type: "int32", required: true, eval: "C.scene.frame_end",
          description: "Last frame to bake" },
        { key: "chunk_size", type: "int32", default: 100, propargs: {min: 1}, visible: "submission",
          description: "Number of frames per task" },
        { key: "step", type: "int32", default: 1, propargs: {min: 1}, visible: "submission",
          description: "Frames between keys" },
        { key: "error", type: "float", default: 0.0, propargs: {min: 0.0}, visible: "submission",
          description: "Remove keys as long as each bone stays within this angle of its rotation, in degrees" },
        { key: "output", type: "string", subtype: "file_path", required: true,
          eval: "str(Path(bpy.data.filepath).with_name(Path(bpy.data.filepath).stem + '_baked.blend'))",
          description: "Output file, in a folder that all workers share" },

        // Filled in by Flamenco's add-on.
        { key: "blendfile", type: "string", required: true, visible: "web",
          description: "Input file, which is not changed" },
    ],
};

function compileJob(job) {
    const settings = job.settings;
    if (settings.frame_end < settings.frame_start) {
        throw "The range ends before its start: raise frame_end";
    }
    if (!(settings.chunk_size >= 1)) {
        throw "A task has to record at least one frame: raise chunk_size";
    }

    const parts = [];
    const recordings = [];
    for (let start = settings.frame_start; start <= settings.frame_end; start += settings.chunk_size) {
        const end = Math.min(start + settings.chunk_size - 1, settings.frame_end);
        const part = partPath(settings.output, start, end);
        const task = author.Task(`record-${start}-${end}`, "blender");
        task.addCommand(bake(settings, start, end, ["--part", part]));
        parts.push(part);
        recordings.push(task);
    }

    const merge = author.Task("write-and-prove", "blender");
    merge.addCommand(bake(settings, settings.frame_start, settings.frame_end, [
        "--step", `${settings.step}`,
        "--error", `${settings.error}`,
        "--output", settings.output,
        "--merge", ...parts,
    ]));

    for (const task of recordings) {
        merge.addDependency(task);
        job.addTask(task);
    }
    job.addTask(merge);
}

// Where a range is kept until all are there: beside the output.
function partPath(output, start, end) {
    return path.join(path.dirname(output), `${path.stem(output)}-part-${start}-${end}.part`);
}

function bake(settings, start, end, more) {
    return author.Command("exec", {
        exe: "{blender}",
        args: [
            "--command", "fabrik_bake", settings.blendfile,
            "--start", `${start}`,
            "--end", `${end}`,
            ...more,
        ],
    });
}
