"""Add root motion computed from the feet, or extract existing root motion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil, dist, hypot
from typing import Any, NamedTuple, cast

import bpy

from fabrik_solver.motion.planar import STILL, Planar
from fabrik_solver.motion.travel import STRAIGHT, Steps, is_loop, slides_of, stances_of, travel_of

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ChoiceError, ProblemError
from ...blender.keying import NEAR
from ...blender.refusals import refuse_layered, refuse_unkeyable
from ...editing.playing import returning, staged
from ..bake.passes import drafts_of
from .body import Recording, Traveler, planar_path, record, steps_of, traveler_of
from .writing import ChannelKeys, Goals, add_cycles, changed_channels, write

ROOT, OBJECT, IN_PLACE = "ROOT", "OBJECT", "NONE"
"""What to key the travel on: the root bone, the armature object, or nothing."""

MIN_TRAVEL = 0.01
"""The shortest travel that counts, as a fraction of the leg length."""

TOLERANCE = 0.01
"""How far a foot may end up from where it should be, as a fraction of the leg length."""


class Options(NamedTuple):
    """Options of both root motion operators.

    Attributes:
        onto: What to key the travel on.
        use_turn: Whether it includes rotation.
        use_cycles: Whether a loop repeats beyond the range.
        frame_range: First and last frame; None for the action's range.
    """

    onto: str
    use_turn: bool
    use_cycles: bool
    frame_range: tuple[float, float] | None


class TravelResult(NamedTuple):
    """The result of a root motion operator.

    Attributes:
        travel: The motion from the first to the last frame.
        frames: The number of frames.
        leg: The mean leg length in world space.
        before: The largest slide of a foot in the original, in world space; 0 without a stance
            phase.
        after: The largest slide in the result when played.
        loops: Whether the action repeats beyond the range.
    """

    travel: Planar
    frames: float
    leg: float
    before: float
    after: float
    loops: bool


def add(scene: bpy.types.Scene, armature: bpy.types.Object, options: Options) -> TravelResult:
    """Make an armature travel so that feet on the floor don't slide.

    Raises:
        ProblemError: If no travel keeps them from sliding; nothing is changed.
    """
    body, frames = _prepare(armature, options)
    bones = pose_bones(armature)
    # Other bones without a parent, such as foot controls, travel too.
    roots = [b.name for b in bones if b.parent is None and b.name not in body.others]
    with _staged(scene, armature):
        recording = record(body, frames, roots)
        steps = steps_of(body, recording)
        loops = is_loop(steps)
        path = travel_of(steps, loops, options.use_turn)
        if _is_still(path, steps.leg):
            raise ProblemError(
                "The feet of “{armature}” don't slide: nothing to add",
                armature=armature.name,
            )
        stances = stances_of(steps, path)
        old, new = (slides_of(steps, motion, stances) for motion in ([STILL] * len(path), path))
        if max(new, default=0.0) >= max(old, default=0.0):
            raise ProblemError(
                "Root motion can't reduce the foot sliding of “{armature}”: assign the action of "
                "a walk or run cycle",
                armature=armature.name,
            )
        if options.onto == OBJECT:
            goals = Goals(recording.moved(recording.objects, path), {})
            travelers = [armature]
        else:
            tracks = {name: recording.moved(recording.track(name), path) for name in roots}
            goals = Goals(recording.objects, tracks)
            travelers = [bones[name] for name in roots]
        # Turning back and forth may leave a net rotation, which F-curves can't repeat.
        loops = loops and path[-1].angle == 0.0
        keys = _Keys(changed_channels(body, recording, goals), travelers, loops)
        return _write(body, recording, keys, path, options, path)


def extract(scene: bpy.types.Scene, armature: bpy.types.Object, options: Options) -> TravelResult:
    """Remove the travel from the hips, the root bone and the object, and key it elsewhere.

    In a loop the hips travel uniformly, and keep their sway.

    Raises:
        ProblemError: If the armature doesn't travel, or can't be keyed; nothing is changed.
    """
    body, frames = _prepare(armature, options)
    if options.onto == ROOT and body.root == body.hips:
        raise ChoiceError(
            "“{hips}” has no parent to key: choose Object, or add a root bone in Edit Mode",
            {"onto": OBJECT},
            hips=body.hips,
        )
    independent = _independent_bones(body)
    with _staged(scene, armature):
        recording = record(body, frames, [body.root, *independent])
        paths = _separate(body, recording, options.use_turn)
        path = paths.body
        back = _inverses(path)
        if _is_still(path, body.leg * recording.objects[0].median_scale):
            raise ProblemError(
                "“{armature}” doesn't travel: nothing to extract", armature=armature.name
            )
        objects = recording.moved(recording.objects, _inverses(paths.object))
        is_hips = body.root == body.hips
        root = recording.moved(
            recording.track(body.root), back if is_hips else _inverses(paths.root)
        )
        tracks = {name: recording.track(name) for name in independent}
        travelers: list[Any] = []
        expected = [STILL] * len(path)
        if options.onto == IN_PLACE:
            tracks = {name: recording.moved(track, back) for name, track in tracks.items()}
            expected = back
        else:
            root = recording.moved(root, path)
            travelers = [pose_bones(armature)[body.root]]
            if options.onto == OBJECT:
                objects = recording.moved(objects, path)
                travelers = [armature]
        goals = Goals(objects, {body.root: root, **tracks})
        keys = _Keys(changed_channels(body, recording, goals), travelers, paths.is_loop)
        return _write(body, recording, keys, path, options, expected)


class _Paths(NamedTuple):
    """The motions from the first frame to each frame.

    Attributes:
        object: The motion of the armature object.
        root: The motion of the root bone, including the object's.
        body: The motion of the body, including the root's.
        is_loop: Whether the first and last pose are the same.
    """

    object: list[Planar]
    root: list[Planar]
    body: list[Planar]
    is_loop: bool


def _separate(body: Traveler, recording: Recording, use_turn: bool) -> _Paths:
    """Return the body's travel, split among the object, the root bone and the hips."""
    frames = recording.frames
    of_object = of_root = [STILL] * len(frames)
    if _has_keyed_transforms(body.armature):
        of_object = of_root = planar_path(recording, recording.objects, use_turn)
    if body.root != body.hips:
        roots = recording.moved(recording.track(body.root), _inverses(of_root))
        of_root = _composed(of_root, planar_path(recording, roots, use_turn))
    hips = recording.moved(recording.track(body.hips), _inverses(of_root))
    of_hips = planar_path(recording, hips, use_turn)
    if max(abs(move.angle) for move in of_hips) < STRAIGHT:
        of_hips = planar_path(recording, hips, False)
    total = of_hips[-1]
    if abs(total.angle) < STRAIGHT:
        total = planar_path(recording, hips, False)[-1]
    loops = is_loop(_moved_steps(steps_of(body, recording), _inverses(of_root)), total)
    if loops:
        length = frames[-1] - frames[0]
        of_hips = [total.share((frame - frames[0]) / length) for frame in frames]
    return _Paths(of_object, of_root, _composed(of_root, of_hips), loops)


def _independent_bones(body: Traveler) -> list[str]:
    """Return the hips, and the keyed bones with no parent or with the root as parent."""
    bones = pose_bones(body.armature)
    keyed = {path.rpartition(".")[0] for path, _ in animation.animated(body.armature).keyed}
    return [
        bone.name
        for bone in bones
        if bone.name != body.root
        and (bone.parent.name == body.root if bone.parent else bone.name not in body.others)
        and (bone.path_from_id() in keyed or bone.name == body.hips)
    ]


def _prepare(armature: bpy.types.Object, options: Options) -> tuple[Traveler, list[float]]:
    """Return the body, and the frames to play: the whole frames and the ends of the range.

    Raises:
        ProblemError: If the armature can't be keyed, has no legs, or the range is too short.
    """
    refuse_unkeyable(armature)
    refuse_layered(armature)
    first, last = options.frame_range or _action_range(armature)
    if last - first < 1.0:
        raise ChoiceError("No frames between Start and End: increase End", {})
    whole = [float(f) for f in range(ceil(first + NEAR), ceil(last - NEAR))]
    return traveler_of(armature), [first, *whole, last]


def _action_range(armature: bpy.types.Object) -> tuple[float, float]:
    """Return the active action's range.

    Raises:
        ProblemError: If the armature has no keys.
    """
    data = armature.animation_data
    curves = animation.all_active_curves(armature)
    keys = [key.co[0] for curve in curves for key in curve.keyframe_points]
    if data is None or data.action is None or not keys:
        raise ProblemError(
            "“{armature}” has no keys: assign the action of a walk or run cycle",
            armature=armature.name,
        )
    if data.action.use_frame_range:
        return data.action.frame_start, data.action.frame_end
    return min(keys), max(keys)


def _has_keyed_transforms(armature: bpy.types.Object) -> bool:
    keyed = animation.animated(armature).keyed
    return any(path.startswith(("location", "rotation_")) for path, _ in keyed)


def _inverses(path: Sequence[Planar]) -> list[Planar]:
    return [move.inverse() for move in path]


def _composed(a: Sequence[Planar], b: Sequence[Planar]) -> list[Planar]:
    """Return the path that applies the second path, then the first."""
    return [last.after(first) for last, first in zip(a, b, strict=True)]


def _moved_steps(steps: Steps, path: Sequence[Planar]) -> Steps:
    """Return feet, moved along a path."""
    feet = [
        [[move.moved(p) for p in points] for move, points in zip(path, foot, strict=True)]
        for foot in steps.feet
    ]
    body = [move.moved(p) for move, p in zip(path, steps.body, strict=True)]
    return steps._replace(feet=feet, body=body)


def _is_still(path: Sequence[Planar], leg: float) -> bool:
    """Return whether a path neither moves nor turns noticeably."""
    return max(hypot(move.x, move.y, move.angle * leg) for move in path) < MIN_TRAVEL * leg


@contextmanager
def _staged(scene: bpy.types.Scene, armature: bpy.types.Object) -> Iterator[None]:
    layer = cast(bpy.types.ViewLayer, bpy.context.view_layer)
    with returning(scene, layer), staged(layer, [armature]):
        yield


class _Keys(NamedTuple):
    """The keys to write.

    Attributes:
        channels: The channels and their values.
        travelers: The object or bones that travel.
        is_loop: Whether the last pose equals the first.
    """

    channels: list[ChannelKeys]
    travelers: list[Any]
    is_loop: bool


def _write(
    body: Traveler,
    recording: Recording,
    keys: _Keys,
    path: Sequence[Planar],
    options: Options,
    expected: Sequence[Planar],
) -> TravelResult:
    """Write keys, provided that playing a draft puts the feet where they should be.

    Args:
        body: The body.
        recording: The recording of the original action.
        keys: The keys.
        path: The travel.
        options: The options.
        expected: The path that the recorded feet should follow.

    Raises:
        ProblemError: If the feet end up elsewhere; nothing is changed.
    """
    frames = recording.frames
    still = [STILL] * len(frames)
    steps = steps_of(body, recording)
    goal = _moved_steps(steps, expected)
    with _restored_on_error(keys.channels), drafts_of([body.armature]) as drafts:
        write(keys.channels, frames)
        played = steps_of(body, record(body, frames, [])._replace(level=recording.level))
        _refuse_displaced(body, goal, played)
        drafts[0].drop()
    write(keys.channels, frames)
    loops = keys.is_loop and options.use_cycles and abs(path[-1].angle) < STRAIGHT
    if loops:
        add_cycles(body.armature, keys.channels, keys.travelers, frames)
    stances = stances_of(goal, still)
    old, new = (max(slides_of(feet, still, stances), default=0.0) for feet in (steps, played))
    return TravelResult(path[-1], frames[-1] - frames[0], steps.leg, old, new, loops)


@contextmanager
def _restored_on_error(channels: Sequence[ChannelKeys]) -> Iterator[None]:
    """Restore channels after an error, because those without F-curves keep their played values."""
    values_before = [list(getattr(channel.owner, channel.name)) for channel in channels]
    try:
        yield
    except BaseException:
        for channel, values in zip(channels, values_before, strict=True):
            setattr(channel.owner, channel.name, values)
        raise


def _refuse_displaced(body: Traveler, goal: Steps, played: Steps) -> None:
    """Refuse feet that end up in the wrong place.

    Raises:
        ProblemError: If a point of a sole isn't where it should be.
    """
    pairs = zip(
        (p for foot in goal.feet for points in foot for p in points),
        (p for foot in played.feet for points in foot for p in points),
        strict=True,
    )
    if max(dist(p, q) for p, q in pairs) > TOLERANCE * goal.leg:
        raise ProblemError(
            "Constraints keep the feet of “{armature}” from following its root: bake the "
            "constraints first",
            armature=body.armature.name,
        )
