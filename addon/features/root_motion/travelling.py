"""Adding root motion from feet, and extracting root motion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil, dist, hypot
from typing import Any, NamedTuple, cast

import bpy
from mathutils import Matrix

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.keying import NEAR
from ...blender.refusals import refuse_unkeyable
from ...editing.playing import returning, staged
from ...motion.planar import STILL, Planar
from ...motion.travel import STRAIGHT, Steps, is_loop, slides_of, stances_of, travel_of
from ..bake.passes import drafted
from .body import Body, Take, body_of, in_world, play, steps_of, way_of
from .writing import Lane, Places, lanes_of, repeat, write

ROOT, OBJECT, NOWHERE = "ROOT", "OBJECT", "NONE"
"""What gets the travel: the root bone, the armature object, or nothing."""

NOTHING = 0.01
"""The travel below which there is none, as a share of the leg."""

ASIDE = 0.01
"""The most that feet may differ from their expected positions, as a share of the leg."""


class Options(NamedTuple):
    """Options of both operators.

    Attributes:
        onto: What gets the travel.
        may_turn: Whether it includes rotation.
        goes_on: Whether a loop is extended beyond the range.
        span: The first and the last frame; None for the range of the action.
    """

    onto: str
    may_turn: bool
    goes_on: bool
    span: tuple[float, float] | None


class Outcome(NamedTuple):
    """The result of both operators.

    Attributes:
        travel: The motion from the first to the last frame.
        frames: The number of frames.
        size: The length of a leg in world space.
        before: The largest slide of a foot before, in world space; 0 if none stands.
        after: The largest slide when the result is played.
        loops: Whether the action was extended beyond the range.
    """

    travel: Planar
    frames: float
    size: float
    before: float
    after: float
    loops: bool


def add(scene: bpy.types.Scene, armature: bpy.types.Object, options: Options) -> Outcome:
    """Make an armature travel so that the feet on the floor do not slide.

    Raises:
        ProblemError: If that is impossible; then nothing has changed.
    """
    body, frames = _prepared(armature, options)
    bones = pose_bones(armature)
    # Other bones without a parent, such as the controls of feet, travel along.
    tops = [bone.name for bone in bones if bone.parent is None]
    with _playing(scene, armature):
        take = play(body, frames, tops)
        steps = steps_of(body, take)
        closed = is_loop(steps)
        path = travel_of(steps, closed, options.may_turn)
        if _is_still(path, steps.leg):
            raise ProblemError(
                f"The feet of “{armature.name}” do not slide: there is nothing to add"
            )
        stances = stances_of(steps, path)
        before, after = (slides_of(steps, one, stances) for one in ([STILL] * len(path), path))
        if max(after, default=0.0) >= max(before, default=0.0):
            raise ProblemError(
                f"No travel makes the feet of “{armature.name}” slide less: assign the action of "
                "a walk or run cycle to it"
            )
        if options.onto == OBJECT:
            places = Places(_moved(take, take.worlds, path), {})
        else:
            tracks = {name: _moved(take, _track(take, name), path) for name in tops}
            places = Places(take.worlds, tracks)
        carriers = [armature] if options.onto == OBJECT else [bones[name] for name in tops]
        work = _Work(body, take, lanes_of(body, take, places), carriers, closed, path)
        return _written(work, options, path)


def extract(scene: bpy.types.Scene, armature: bpy.types.Object, options: Options) -> Outcome:
    """Remove the travel from the hips, the root bone and the object, and key it elsewhere.

    In a loop the travel of the hips is uniform, and their sway remains.

    Raises:
        ProblemError: If that is impossible; then nothing has changed.
    """
    body, frames = _prepared(armature, options)
    if options.onto == ROOT and body.root == body.hips:
        raise ProblemError(
            f"“{body.hips}” has no parent that could travel: choose Object, or add a root bone "
            "in Edit Mode"
        )
    loose = _loose(body)
    with _playing(scene, armature):
        take = play(body, frames, [body.root, *loose])
        layers = _layers(body, take, options.may_turn)
        path = layers.path
        if _is_still(path, body.leg * take.worlds[0].median_scale):
            raise ProblemError(f"“{armature.name}” does not travel: there is nothing to extract")
        worlds = _moved(take, take.worlds, _back(layers.of_object))
        root = _moved(take, _track(take, body.root), _back(layers.above))
        if body.root == body.hips:
            root = _moved(take, _track(take, body.root), _back(path))
        rest = {name: _track(take, name) for name in loose}
        carriers: list[Any] = []
        expected = [STILL] * len(path)
        if options.onto == NOWHERE:
            rest = {name: _moved(take, track, _back(path)) for name, track in rest.items()}
            expected = _back(path)
        elif options.onto == OBJECT:
            worlds, root = _moved(take, worlds, path), _moved(take, root, path)
            carriers = [armature]
        else:
            root = _moved(take, root, path)
            carriers = [pose_bones(armature)[body.root]]
        lanes = lanes_of(body, take, Places(worlds, {body.root: root, **rest}))
        work = _Work(body, take, lanes, carriers, layers.is_loop, path)
        return _written(work, options, expected)


class _Layers(NamedTuple):
    """The motion from the first frame to each.

    Attributes:
        of_object: That of the armature object.
        above: That of the root bone, which includes the object's.
        path: That of the body, which includes the root's.
        is_loop: Whether the pose at the end equals that at the start.
    """

    of_object: list[Planar]
    above: list[Planar]
    path: list[Planar]
    is_loop: bool


def _layers(body: Body, take: Take, may_turn: bool) -> _Layers:
    still = [STILL] * len(take.frames)
    of_object = above = still
    if _moves_by_keys(body.armature):
        of_object = above = way_of(take, take.worlds, may_turn)
    if body.root != body.hips:
        roots = _moved(take, _track(take, body.root), _back(above))
        above = _both(above, way_of(take, roots, may_turn))
    hips = _moved(take, _track(take, body.hips), _back(above))
    way = way_of(take, hips, may_turn)
    if max(abs(move.angle) for move in way) < STRAIGHT:
        way = way_of(take, hips, False)
    shares = [(time - take.frames[0]) / (take.frames[-1] - take.frames[0]) for time in take.frames]
    even = way[-1] if abs(way[-1].angle) >= STRAIGHT else way_of(take, hips, False)[-1]
    closed = is_loop(_carried(steps_of(body, take), _back(above)), even)
    if closed:
        way = [even.share(share) for share in shares]
    return _Layers(of_object, above, _both(above, way), closed)


def _loose(body: Body) -> list[str]:
    """Return the bones beside or directly below the root that have keys, and the hips."""
    bones = pose_bones(body.armature)
    keyed = {path.rpartition(".")[0] for path, _ in animation.animated(body.armature).keyed}
    return [
        bone.name
        for bone in bones
        if bone.name != body.root
        and (bone.parent is None or bone.parent.name == body.root)
        and (bone.path_from_id() in keyed or bone.name == body.hips)
    ]


def _prepared(armature: bpy.types.Object, options: Options) -> tuple[Body, list[float]]:
    """Return the body, and the frames to play: the ends of the range and the whole frames.

    Raises:
        ProblemError: If the armature cannot be keyed, has no legs, or the range is too short.
    """
    refuse_unkeyable(armature)
    first, last = options.span or _range(armature)
    if last - first < 1.0:
        raise ProblemError("There are no frames between Start and End: increase End")
    whole = [float(f) for f in range(ceil(first + NEAR), ceil(last - NEAR))]
    return body_of(armature), [first, *whole, last]


def _range(armature: bpy.types.Object) -> tuple[float, float]:
    """Return the range of the active action.

    Raises:
        ProblemError: If there are no keys.
    """
    data = armature.animation_data
    curves = animation.all_active_curves(armature)
    keys = [key.co[0] for curve in curves for key in curve.keyframe_points]
    if data is None or data.action is None or not keys:
        raise ProblemError(
            f"“{armature.name}” has no keys: assign the action of a walk or run cycle to it"
        )
    if data.action.use_frame_range:
        return data.action.frame_start, data.action.frame_end
    return min(keys), max(keys)


def _moves_by_keys(armature: bpy.types.Object) -> bool:
    channels = animation.animated(armature)
    return any(path.startswith(("location", "rotation_")) for path, _ in channels.keyed)


def _track(take: Take, bone: str) -> list[Matrix]:
    """Return the world matrices of a bone."""
    return [world @ pose[bone] for world, pose in zip(take.worlds, take.poses, strict=True)]


def _moved(take: Take, track: Sequence[Matrix], path: Sequence[Planar]) -> list[Matrix]:
    """Return world matrices moved by a path."""
    return [in_world(take, move) @ world for move, world in zip(path, track, strict=True)]


def _back(path: Sequence[Planar]) -> list[Planar]:
    return [move.inverse() for move in path]


def _both(a: Sequence[Planar], b: Sequence[Planar]) -> list[Planar]:
    return [one.after(other) for one, other in zip(a, b, strict=True)]


def _carried(steps: Steps, path: Sequence[Planar]) -> Steps:
    """Return feet moved by a path."""
    feet = [
        [[move.moved(p) for p in points] for move, points in zip(path, foot, strict=True)]
        for foot in steps.feet
    ]
    body = [move.moved(p) for move, p in zip(path, steps.body, strict=True)]
    return steps._replace(feet=feet, body=body)


def _is_still(path: Sequence[Planar], leg: float) -> bool:
    """Return whether a path neither moves nor rotates noticeably."""
    return max(hypot(move.x, move.y, move.angle * leg) for move in path) < NOTHING * leg


@contextmanager
def _playing(scene: bpy.types.Scene, armature: bpy.types.Object) -> Iterator[None]:
    layer = cast(bpy.types.ViewLayer, bpy.context.view_layer)
    with returning(scene, layer), staged(layer, [armature]):
        yield


class _Work(NamedTuple):
    """The keys to write.

    Attributes:
        body: The body.
        take: The recording before.
        lanes: The channels to key.
        carriers: The object or bones that travel.
        is_loop: Whether the last pose equals the first.
        path: The travel.
    """

    body: Body
    take: Take
    lanes: list[Lane]
    carriers: list[Any]
    is_loop: bool
    path: list[Planar]


def _written(work: _Work, options: Options, expected: Sequence[Planar]) -> Outcome:
    """Write the keys, if playing a draft of them brings the feet to their expected positions.

    Raises:
        ProblemError: If it does not; then nothing has changed.
    """
    body, frames = work.body, work.take.frames
    still = [STILL] * len(frames)
    steps = steps_of(body, work.take)
    wanted = _carried(steps, expected)
    with _restoring(work.lanes), drafted([body.armature]) as drafts:
        write(work.lanes, frames)
        played = steps_of(body, play(body, frames, [])._replace(level=work.take.level))
        _refuse_apart(body, wanted, played)
        drafts[0].drop()
    write(work.lanes, frames)
    loops = work.is_loop and options.goes_on and abs(work.path[-1].angle) < STRAIGHT
    if loops:
        repeat(body.armature, work.lanes, work.carriers, frames)
    stances = stances_of(wanted, still)
    before, after = (max(slides_of(one, still, stances), default=0.0) for one in (steps, played))
    return Outcome(work.path[-1], frames[-1] - frames[0], steps.leg, before, after, loops)


@contextmanager
def _restoring(lanes: Sequence[Lane]) -> Iterator[None]:
    """Restore channels after a failure, as they may have no F-curves that would do so."""
    before = [list(getattr(lane.owner, lane.name)) for lane in lanes]
    try:
        yield
    except BaseException:
        for lane, values in zip(lanes, before, strict=True):
            setattr(lane.owner, lane.name, values)
        raise


def _refuse_apart(body: Body, wanted: Steps, played: Steps) -> None:
    """Refuse feet that are not at their expected positions.

    Raises:
        ProblemError: If a point of a foot is not.
    """
    pairs = zip(
        (p for foot in wanted.feet for points in foot for p in points),
        (p for foot in played.feet for points in foot for p in points),
        strict=True,
    )
    if max(dist(p, q) for p, q in pairs) > ASIDE * wanted.leg:
        raise ProblemError(
            f"The feet of “{body.armature.name}” do not follow its root, as constraints hold them: "
            "bake the constraints first"
        )
