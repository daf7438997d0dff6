"""Feet of captured clips on terrains: a page of plots for each, and a table.

python benchmarks/clips.py FOLDER [--clip NAME ...] [--terrain NAME ...] [--rate FPS ...]
    [--variant NAME ...] [--no-pages]

Clips are looked for in ../shared/data beside the checkout; those that are not there are left out.
FOLDER takes a page for each clip, terrain and rate: knee angle, heights of ankle and hip, and
contacts, on the ground and as captured. Lengths are those of a figure with a leg of 0.85 m.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import bpy
import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.path.append(str(ROOT / "solver" / "src"))

from benchmarks import harness  # noqa: E402

mpl.use("Agg")  # Needs no display.

CAPTURES = ROOT.parent / "shared" / "data"

PERSON = 0.85
"""The length of the leg to which lengths are scaled, in meters."""

LONGEST = 300
"""How many frames of a clip are played at 60 frames a second."""

OPS: Any = bpy.ops


class Clip(NamedTuple):
    """A captured clip.

    Attributes:
        file: Its file.
        feet: The bones of its feet.
        hip: The bone that carries its legs.
        head: A bone that the hip carries and no leg moves.
        action: The beginning of the name of its action, if the file has several.
        scale: The scale at which it is imported.
        on_spot: Whether it needs root motion.
        bones: How many bones are above each foot in its leg.
    """

    file: str
    feet: tuple[str, ...]
    hip: str
    head: str
    action: str = ""
    scale: float = 1.0
    on_spot: bool = False
    bones: int = 2


HUMAN = ("LeftFoot", "RightFoot"), "Hips", "Head"
FEET = "foot_l", "foot_r"
CMU = 0.0564

CLIPS = {
    "run": Clip("cmu_02_03.bvh", *HUMAN, scale=CMU),
    "walk": Clip("cmu_08_01.bvh", *HUMAN, scale=CMU),
    "walk 16": Clip("cmu_16_22.bvh", *HUMAN, scale=CMU),
    "run 35": Clip("cmu_35_26.bvh", *HUMAN, scale=CMU),
    "dance": Clip("cmu_05_01.bvh", ("lfoot", "rfoot"), "hip", "head", scale=CMU),
    "lift": Clip("cmu_02_06_lift.bvh", *HUMAN, scale=CMU),
    "xia neutral": Clip("xia_neutral_01_000.bvh", *HUMAN, scale=CMU),
    "xia sexy": Clip("xia_sexy_01_000.bvh", *HUMAN, scale=CMU),
    "dash": Clip("bn1_dash_normal_001.bvh", ("Foot_L", "Foot_R"), "Hips", "Head"),
    "egg": Clip("egg_walking.bvh", *HUMAN),
    "sprint": Clip(
        "mannequiny.glb", ("foot.l", "foot.r"), "pelvis", "head", action="run", on_spot=True
    ),
    "knight": Clip(
        "kaykit_knight.glb", ("foot.l", "foot.r"), "hips", "head", "Walking_A", on_spot=True
    ),
    "plates": Clip("grf_walk_floor.bvh", FEET, "pelvis", "neck"),
    "treadmill": Clip("grf_walk_treadmill.bvh", FEET, "pelvis", "neck", on_spot=True),
    "soldier": Clip(
        "Soldier.glb",
        ("mixamorig:LeftFoot", "mixamorig:RightFoot"),
        "mixamorig:Hips",
        "mixamorig:Head",
        "Walk",
        on_spot=True,
    ),
    "dog": Clip("dog_pace.bvh", ("left_foot", "right_foot", "left_hand", "right_hand"), "", "head"),
    "crawl": Clip("dm_crawl.bvh", ("left_ankle", "right_ankle"), "root", "neck"),
    "sit": Clip("mia_standToSit.bvh", *HUMAN),
}

Height = Callable[[float, float], float]


def terrain_of(name: str, start: Any, way: Any, size: float) -> Height:
    """Return the height of a terrain at a place, along a clip's way from its start."""

    def ahead(x: float, y: float) -> float:
        return float(((x - start[0]) * way[0] + (y - start[1]) * way[1]) / size)

    def bumps(x: float, y: float) -> float:
        wide = np.sin(2 * np.pi * x / (1.7 * size) + 0.5) * np.cos(2 * np.pi * y / (1.3 * size))
        return float(size * (0.07 * wide + 0.035 * np.sin(2 * np.pi * (x + 2 * y) / (0.9 * size))))

    heights: dict[str, Height] = {
        "flat": lambda _x, _y: 0.0,
        "slope": lambda x, y: 0.27 * size * (ahead(x, y) - 0.5),
        "stairs": lambda x, y: 0.16 * size * min(max(np.floor((ahead(x, y) - 0.5) / 0.42), 0), 5),
        "bumps": bumps,
    }
    return heights[name]


TERRAINS = ("flat", "slope", "stairs", "bumps")

VARIANTS = ("as it is", "reversed", "lowered", "halved", "slow", "retargeted")
"""How a clip is played: backward, 5 cm lower, at half its size over the same terrain, or in twice
the time. Or the soldier plays it, whose bones rotate like those of the capture."""

SOLDIER = CLIPS["soldier"]._replace(action="", on_spot=False)

EDGE = 1e-4
"""How wide the riser of a stair is, in meters of a person."""


def build(height: Height, name: str, start: Any, way: Any, far: float, size: float) -> Any:
    """Make a mesh of a terrain, with lines along and across a clip's way."""
    step = 0.42 if name == "stairs" else 0.05 if name == "bumps" else 1.0
    along = np.arange(-2.0, far / size + 3.0, step) + 0.5 - step * np.ceil(0.5 / step)
    if name == "stairs":
        along = np.sort(np.concatenate([along - EDGE, along + EDGE]))
    aside = np.arange(-3.0, 3.01, 0.05 if name == "bumps" else 3.0)
    left = np.array([-way[1], way[0]])
    places = [[start + size * (a * way + b * left) for b in aside] for a in along]
    points = [(*p, height(*p)) for row in places for p in row]
    wide = len(aside)
    faces = [
        (i * wide + j, (i + 1) * wide + j, (i + 1) * wide + j + 1, i * wide + j + 1)
        for i in range(len(along) - 1)
        for j in range(wide - 1)
    ]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points, [], faces)
    ground = bpy.data.objects.new(name, mesh)
    context_of().scene.collection.objects.link(ground)
    return ground


def context_of() -> Any:
    """Return Blender's context."""
    return bpy.context


def load(clip: Clip, rate: float, variant: str = VARIANTS[0]) -> Any:
    """Open a clip in a new file, at a number of frames a second, and return its armature."""
    harness.new_file()
    rig = opened(clip)
    data = rig.animation_data
    render = context_of().scene.render
    slower = rate * render.fps_base / render.fps * (2.0 if variant == "slow" else 1.0)
    render.fps, render.fps_base = round(rate), 1.0
    first, last = data.action.frame_range  # Which follows the keys as they change.
    for curve in curves_of(data.action):
        for key in curve.keyframe_points:
            for point in (key.co, key.handle_left, key.handle_right):
                point.x = slower * (first + last - point.x if variant == "reversed" else point.x)
        curve.update()
    if variant == "retargeted":
        rig = retargeted(rig, clip)
    if variant == "halved":
        rig.scale = [0.5 * scale for scale in rig.scale]
    if variant == "lowered":
        rig.location.z -= 0.05
    context_of().view_layer.objects.active = rig
    rig.select_set(True)
    if clip.on_spot:
        OPS.fabrik.root_motion_add()
    return rig


def retargeted(source: Any, clip: Clip) -> Any:
    """Return the soldier, with the rotations of a captured human, and its hips' path."""
    soldier = opened(SOLDIER)
    soldier.animation_data_clear()
    frames = frames_of(source, context_of().scene.render.fps)
    pairs = [(bone, bone.name.split(":")[-1]) for bone in soldier.pose.bones]
    pairs = [(bone, source.pose.bones[name]) for bone, name in pairs if name in source.pose.bones]
    sizes = [leg_length(rig, clip) for rig, clip in ((soldier, SOLDIER), (source, clip))]
    rests = [
        (
            soldier.matrix_world @ bone.bone.matrix_local,
            source.matrix_world @ other.bone.matrix_local,
        )
        for bone, other in pairs
    ]
    for frame in frames:
        context_of().scene.frame_set(frame)
        for (bone, other), (rest, other_rest) in zip(pairs, rests, strict=True):
            pose = source.matrix_world @ other.matrix
            turn = (pose.to_quaternion() @ other_rest.to_quaternion().inverted()).to_matrix()
            turned = (turn @ rest.to_quaternion().to_matrix()).to_4x4()
            turned.translation = (soldier.matrix_world @ bone.matrix).translation
            if bone.name == SOLDIER.hip:
                turned.translation = pose.translation * (sizes[0] / sizes[1])
            undone = soldier.matrix_world.inverted() @ turned
            scale = bone.scale.copy()
            bone.matrix = undone
            bone.scale = scale
            context_of().view_layer.update()
            bone.rotation_mode = "QUATERNION"
            bone.keyframe_insert("rotation_quaternion", frame=frame)
            if bone.name == SOLDIER.hip:
                bone.keyframe_insert("location", frame=frame)
    bpy.data.objects.remove(source)
    return soldier


def leg_length(rig: Any, clip: Clip) -> float:
    """Return the length of the straight leg at rest, in meters."""
    names = leg_of(rig, clip, clip.feet[0]).joints
    joints = [np.array(rig.matrix_world @ rig.data.bones[name].head_local) for name in names]
    return float(sum(np.linalg.norm(b - a) for a, b in pairwise(joints)))


def curves_of(action: Any) -> list[Any]:
    """Return the F-curves of an action."""
    strips = [strip for layer in action.layers for strip in layer.strips]
    return [curve for strip in strips for bag in strip.channelbags for curve in bag.fcurves]


def opened(clip: Clip) -> Any:
    """Import a clip, and return its armature."""
    path = str(CAPTURES / clip.file)
    if path.endswith(".bvh"):
        OPS.import_anim.bvh(filepath=path, global_scale=clip.scale, update_scene_fps=True)
    else:
        OPS.import_scene.gltf(filepath=path)
    context: Any = context_of()
    selected = [ob for ob in context.selected_objects if ob.type == "ARMATURE"]
    rig: Any = max(selected, key=lambda ob: len(ob.data.bones))
    data = rig.animation_data
    for track in data.nla_tracks:
        track.mute = True
    if clip.action:
        data.action = next(a for a in bpy.data.actions if a.name.startswith(clip.action))
        data.action_slot = data.action_slot or data.action.slots[0]
    return rig


def frames_of(rig: Any, rate: float) -> range:
    """Return the frames of a clip that are played; the first ones may be a rest pose."""
    first, last = rig.animation_data.action.frame_range
    first = int(np.ceil(first)) + 2
    return range(first, min(int(last), first + round(LONGEST * rate / 60.0)) + 1)


class Leg(NamedTuple):
    """The joints of a leg: from its hip joint down to its ankle, and the ball of its foot."""

    joints: list[str]
    ball: str


def leg_of(rig: Any, clip: Clip, foot: str) -> Leg:
    """Return the joints of a leg."""
    bone = rig.data.bones[foot]
    above = [parent.name for parent in bone.parent_recursive[: clip.bones]][::-1]
    toes = [child.name for child in bone.children]
    return Leg([*above, foot], toes[0] if toes else foot)


def played(rig: Any, bones: Sequence[str], frames: range) -> tuple[dict[str, Any], float]:
    """Return the transforms of bones at frames, in world space, and the seconds of a frame."""
    scene = context_of().scene
    matrices: dict[str, list[Any]] = {bone: [] for bone in bones}
    spent = 0.0
    for frame in frames:
        begin = perf_counter()
        scene.frame_set(frame)
        spent += perf_counter() - begin
        posed = rig.evaluated_get(context_of().evaluated_depsgraph_get())
        world = np.array(posed.matrix_world)
        for bone in bones:
            matrices[bone].append(world @ np.array(posed.pose.bones[bone].matrix))
    return {bone: np.array(values) for bone, values in matrices.items()}, spent / len(frames)


def give_targets(rig: Any, clip: Clip, frames: range) -> None:
    """Give feet targets that are keyed where they are."""
    scene = context_of().scene
    scene.frame_start, scene.frame_end = frames[0], frames[-1]
    for foot in clip.feet:
        target = bpy.data.objects.new(f"Target {foot}", None)
        target.rotation_mode = "QUATERNION"
        scene.collection.objects.link(target)
        item = rig.fabrik.constraints.add()
        item.name, item.bone, item.chain_count, item.use_tail = foot, foot, clip.bones, False
        item.use_rotation, item.solver = True, "TWO_BONE" if clip.bones == 2 else "FABRIK"
        item.target = target
    context_of().view_layer.update()
    OPS.fabrik.snap_to_fk(which="ALL", use_range=True, frame_start=frames[0], frame_end=frames[-1])


class Run(NamedTuple):
    """A clip on a terrain.

    Attributes:
        clip: The clip.
        before: The transforms of bones as captured.
        after: Those on the ground.
        legs: Its legs.
        size: How many meters are a meter of a person with a leg of `PERSON`.
        rate: Frames a second.
        frames: The frames.
        height: The height of the terrain.
        contacts: For each leg, in which frames it stands.
        rests: How high the joints of its feet are above the floor at rest.
        cost: The milliseconds that a foot adds to a frame.
    """

    clip: Clip
    before: dict[str, Any]
    after: dict[str, Any]
    legs: list[Leg]
    size: float
    rate: float
    frames: range
    height: Height
    contacts: list[Any]
    rests: dict[str, float]
    cost: float


def runs_of(
    clip: Clip, terrains: Sequence[str], rate: float, variant: str = VARIANTS[0]
) -> dict[str, Run]:
    """Return a clip on terrains."""
    rig = load(clip, rate, variant)
    clip = SOLDIER if variant == "retargeted" else clip
    frames = frames_of(rig, rate * (2.0 if variant == "slow" else 1.0))
    legs = [leg_of(rig, clip, foot) for foot in clip.feet]
    bones = [*dict.fromkeys([b for leg in legs for b in (*leg.joints, leg.ball)]), clip.head]
    bones += [clip.hip] if clip.hip else []
    before, _ = played(rig, bones, frames)
    size = leg_length(rig, clip) / PERSON
    grain = 2.0 * size if variant == "halved" else size
    rests = rests_of(rig, legs, size)
    root = before[clip.hip or legs[0].joints[0]][:, :2, 3]
    moved = root[-1] - root[0]
    far = float(np.linalg.norm(moved))
    way = moved / far if far > 0.3 * size else np.array([1.0, 0.0])
    give_targets(rig, clip, frames)
    _, off = played(rig, bones, frames)
    runs: dict[str, Run] = {}
    for name in terrains:
        height = terrain_of(name, root[0], way, grain)
        ground = build(height, name, root[0], way, far, grain)
        for item in rig.fabrik.constraints:
            item.ground.object, item.ground.use = ground, True
            if clip.hip:
                item.ground.hip = clip.hip
        OPS.fabrik.simulate()
        after, on = played(rig, bones, frames)
        contacts = [_stands(rig, item.name, frames) for item in rig.fabrik.constraints]
        cost = 1e3 * (on - off) / len(legs)
        run = Run(clip, before, after, legs, size, rate, frames, height, contacts, rests, cost)
        runs[name] = run
        for item in rig.fabrik.constraints:
            item.ground.use = False
    return runs


def rests_of(rig: Any, legs: Sequence[Leg], size: float) -> dict[str, float]:
    """Return how high the joints of feet are at rest above the origin, or the lower of the two."""
    rests: dict[str, float] = {}
    for leg in legs:
        bones = [rig.data.bones[name] for name in (leg.joints[-1], leg.ball)]
        highs = [float((rig.matrix_world @ bone.head_local).z) for bone in bones]
        floor = 0.0 if 0.0 <= min(highs) < 0.25 * size else min(highs)
        rests |= {bone.name: z - floor for bone, z in zip(bones, highs, strict=True)}
    return rests


def _stands(rig: Any, name: str, frames: range) -> Any:
    """Return in which frames a foot stands, as detected."""
    from addon.plan import planner

    flags = np.zeros(len(frames), bool)
    for chain in planner.current().chains:
        source: Any = chain.goal_source
        if chain.name == name and hasattr(source, "contact_track"):
            ground = rig.fabrik.constraints[chain.item].ground
            track, _ = source.contact_track(chain, ground, frames[0])
            for ends in track.extents if track else ():
                first, last = (max(0, end + track.track.start - frames[0]) for end in ends)
                flags[first : last + 1] = True
    return flags


# What is measured.


def bend(places: Any, run: Run) -> Any:
    """Return the accelerations of places, in meters of a person per second squared."""
    return np.linalg.norm(np.diff(places, 2, axis=0), axis=1) * run.rate**2 / run.size


def swivel(poses: dict[str, Any], leg: Leg) -> Any:
    """Return by which angle a knee turns about the line from hip to ankle, in degrees."""
    hip, knee, ankle = (poses[bone][:, :3, 3] for bone in (*leg.joints[:2], leg.joints[-1]))
    axis = ankle - hip
    size = np.linalg.norm(axis, axis=1)
    axis = axis / size[:, None]
    off = knee - hip
    off = off - axis * (off * axis).sum(1)[:, None]
    far = np.linalg.norm(off, axis=1)
    ends = np.minimum(far[1:], far[:-1]) > 0.024 * size[1:]
    share = (off[1:] * off[:-1]).sum(1) / np.maximum(far[1:] * far[:-1], 1e-12)
    return np.degrees(np.where(ends, np.arccos(np.clip(share, -1.0, 1.0)), 0.0))


def flexion(poses: dict[str, Any], leg: Leg) -> Any:
    """Return the angle by which a knee is bent, in degrees; negative if it is bent backward.

    Forward is to the side of its thigh to which it is bent on average.
    """
    hip, knee, ankle = (poses[bone][:, :3, 3] for bone in (*leg.joints[:2], leg.joints[-1]))
    thigh, shin = knee - hip, ankle - knee
    axis = np.cross(thigh, shin)
    angle = np.arctan2(np.linalg.norm(axis, axis=1), (thigh * shin).sum(1))
    local = np.einsum("fji,fj->fi", poses[leg.joints[0]][:, :3, :3], axis)
    return np.degrees(np.where(local @ local.mean(0) < 0.0, -angle, angle))


def labelled(run: Run, leg: Leg) -> tuple[Any, Any]:
    """Return in which frames heel and ball stand as captured, by the published thresholds.

    They are meant above the lowest place of a second: the floor of captures drifts.
    """
    window, second = max(1, round(run.rate / 30)), round(0.75 * run.rate)
    flags = []
    for bone, fast, high in ((leg.joints[-1], 0.35, 0.05), (leg.ball, 0.3, 0.04)):
        places = run.before[bone][:, :3, 3] / run.size
        count = len(places)
        a = np.maximum(np.arange(count) - window, 0)
        b = np.minimum(np.arange(count) + window, count - 1)
        speed = np.linalg.norm(places[b] - places[a], axis=1) * run.rate / (b - a)
        ends = zip(np.maximum(np.arange(count) - second, 0), np.arange(count) + second, strict=True)
        low = np.array([places[c : d + 1, 2].min() for c, d in ends])
        flags.append((speed < fast) & (places[:, 2] - low < high))
    return flags[0], flags[1]


def spans(flags: Any) -> list[tuple[int, int]]:
    """Return the first and the last but one of each run of flagged frames."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def soles(run: Run, leg: Leg) -> tuple[float, float, float]:
    """Return how high a flat sole is above the ground, and its toes' slide, before and after.

    In millimeters: in the contact in which it is the farthest off, and the largest distance from
    the mean. A sole is as far below the lower joint as at rest.
    """
    heel, ball = labelled(run, leg)
    joints = leg.joints[-1], leg.ball
    places = np.array([run.after[joint][:, :3, 3] for joint in joints])
    grounds = [[run.height(*place[:2]) for place in joint] for joint in places]
    highs = (places[:, :, 2] - grounds - np.array([run.rests[j] for j in joints])[:, None]).min(0)
    flat = [float(np.median(highs[a:b])) for a, b in spans(heel & ball) if b - a > 2]
    slides = [
        max([0.0, *[_spread(poses[leg.ball][a:b, :2, 3]) for a, b in spans(ball) if b - a > 2]])
        for poses in (run.before, run.after)
    ]
    high = max(flat, key=abs, default=0.0)
    return 1e3 * high / run.size, 1e3 * slides[0] / run.size, 1e3 * slides[1] / run.size


def _spread(places: Any) -> float:
    return float(np.linalg.norm(places - places.mean(0), axis=1).max())


def detected(run: Run, clip: Clip, number: int) -> str:
    """Return precision and recall of contacts beside force plates, if there are any.

    A foot may stand beside all plates as well: only what is half a swing around its contacts with
    them counts.
    """
    import json

    path = (CAPTURES / clip.file).with_suffix(".json")
    if not path.exists():
        return ""
    truth = json.loads(path.read_text())
    side = clip.feet[number][-1].upper()
    times = np.array(run.frames) / run.rate * truth["rate"]
    index = np.clip(np.round(times).astype(int) - 1, 0, len(truth[side]) - 1)
    stands = np.array(truth[side])[index]
    near = np.ones(2 * round(0.2 * run.rate) + 1)
    covered = np.convolve(stands, near, "same") > 0.0
    seen = run.contacts[number]
    hits = (stands & seen & covered).sum()
    return (
        f"{hits / max(1, (seen & covered).sum()):.2f}/{hits / max(1, (stands & covered).sum()):.2f}"
    )


HEADINGS = (
    "clip", "terrain", "fps", "leg", "knee m/s²", "÷", "swivel °", "÷", "sole mm",
    "slide mm", "after", "sink mm", "torso mm", "ms", "contacts",
)  # fmt: skip


def rows_of(name: str, terrain: str, run: Run) -> list[list[str]]:
    """Return a row for each leg."""
    clip = run.clip
    hip = clip.hip or run.legs[0].joints[0]
    moved = run.after[hip][:, :3, 3] - run.before[hip][:, :3, 3]
    head = run.after[clip.head][:, :3, 3] - run.before[clip.head][:, :3, 3]
    torso = 1e3 * np.linalg.norm(head - moved, axis=1).max() / run.size
    ankles = [leg.joints[-1] for leg in run.legs]
    raised = [run.after[ankle][:, 2, 3] - run.before[ankle][:, 2, 3] for ankle in ankles]
    sink = 1e3 * max(0.0, float((np.min(raised, axis=0) - moved[:, 2]).max())) / run.size
    rows: list[list[str]] = []
    for number, leg in enumerate(run.legs):
        knees = [
            bend(poses[leg.joints[1]][:, :3, 3], run).max() for poses in (run.before, run.after)
        ]
        turns = [swivel(poses, leg).max() for poses in (run.before, run.after)]
        cells = [knees[1], knees[1] / knees[0], turns[1], turns[1] / max(turns[0], 1.0)]
        cells += [*soles(run, leg), sink, torso]
        figures = [f"{c:.2f}" if i in (1, 3) else f"{c:.0f}" for i, c in enumerate(cells)]
        row = [name, terrain, f"{run.rate:.0f}", clip.feet[number], *figures, f"{run.cost:.2f}"]
        rows.append([*row, detected(run, clip, number)])
    return rows


# Pages.


def page(name: str, terrain: str, run: Run, folder: Path) -> None:
    """Draw the plots of a clip on a terrain."""
    clip = run.clip
    figure, axes = plt.subplots(
        4, len(run.legs), figsize=(7.0 * len(run.legs), 10.0), sharex=True, squeeze=False
    )
    seconds = np.arange(len(run.frames)) / run.rate
    hip = clip.hip or run.legs[0].joints[0]
    for number, leg in enumerate(run.legs):
        column = axes[:, number]
        for poses, color in ((run.before, "#b0b0b0"), (run.after, "#c43c39")):
            column[0].plot(seconds, flexion(poses, leg), color=color)
            column[1].plot(seconds[1:-1], bend(poses[leg.joints[1]][:, :3, 3], run), color=color)
            column[2].plot(seconds, poses[leg.joints[-1]][:, 2, 3] / run.size, color=color)
            column[3].plot(seconds, poses[hip][:, 2, 3] / run.size, color=color)
        places = run.after[leg.joints[-1]][:, :2, 3]
        ground = [run.height(*place) / run.size for place in places]
        column[2].plot(seconds, ground, color="#8a5a2b", linewidth=0.8)
        for plot in column:
            for first, last in spans(run.contacts[number]):
                plot.axvspan(first / run.rate, (last - 1) / run.rate, color="#4a6fa5", alpha=0.12)
        column[0].set_title(f"{name}, {terrain}, {run.rate:.0f} fps: {clip.feet[number]}")
        for plot, label in zip(column, ("knee °", "knee m/s²", "ankle m", "hip m"), strict=True):
            plot.set_ylabel(label)
    figure.tight_layout()
    figure.savefig(folder / f"{name}_{terrain}_{run.rate:.0f}.png", dpi=70)
    plt.close(figure)


def text(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as text, in columns."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(f"{c:>{w}}" for c, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    """Draw pages and print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks/clips.py")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clip", nargs="*", choices=CLIPS, default=[*CLIPS])
    parser.add_argument("--terrain", nargs="*", choices=TERRAINS, default=TERRAINS)
    parser.add_argument("--rate", nargs="*", type=float, default=[60.0])
    parser.add_argument("--variant", nargs="*", choices=VARIANTS, default=VARIANTS[:1])
    parser.add_argument("--no-pages", action="store_true")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    harness.enable(True)
    rows: list[list[str]] = [list(HEADINGS)]
    for name in options.clip:
        if not (CAPTURES / CLIPS[name].file).exists():
            print(f"{CLIPS[name].file} is not in {CAPTURES}")
            continue
        for rate, variant in product(options.rate, options.variant):
            title = name if variant == VARIANTS[0] else f"{name} {variant}"
            for terrain, run in runs_of(CLIPS[name], options.terrain, rate, variant).items():
                rows += rows_of(title, terrain, run)
                if not options.no_pages:
                    page(title, terrain, run, options.folder)
            print(f"{title}, {rate:.0f} frames a second", flush=True)
    print(text(rows))
    harness.enable(False)


if __name__ == "__main__":
    main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)
