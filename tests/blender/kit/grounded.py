"""Motion put onto ground, and what is measured of it before and after."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import atan, atan2
from typing import Any, NamedTuple

import bpy
from captures import imported
from inside import walk_of
from mathutils import Vector
from rigs import activate, add_constraint, curves, evaluated, go, link, make_empty, update
from shapes import make_terrain
from walkers import Height

Places = dict[str, list[Vector]]
"""The heads of bones at each frame, in world space."""

SCALES = {"cmu": 0.0564, "xia": 0.0564, "grf": 0.01, "dm": 0.01, "egg": 0.01}
"""How large the captures of a collection are imported, so that a meter is a meter."""


def clip_of(file: str, action: str = "", rate: int = 0) -> Any:
    """Open a capture or a character, and return its armature.

    Args:
        file: The name of its file.
        action: The beginning of the name of an action that was animated on the spot, which gets
            root motion; empty for the only one.
        rate: At how many frames a second it is played, as fast as before; 0 for its own rate.
    """
    if file.endswith(".bvh"):
        size = SCALES.get(file.partition("_")[0])
        scale = {} if size is None else {"global_scale": size}
        rig = imported(file, update_scene_fps=True, **scale)
    else:
        rig = imported(file)
    if action:
        use(rig, action)
    if rate:
        play_at(rig, rate)
    activate(rig)
    if action:
        assert bpy.ops.fabrik.root_motion_add() == {"FINISHED"}
    return rig


def use(rig: Any, name: str) -> None:
    """Let an armature play an action alone."""
    for track in rig.animation_data.nla_tracks:
        track.mute = True
    # Before 4.4 the importer appends the name of the armature.
    action = next(a for a in bpy.data.actions if a.name.startswith(name))
    rig.animation_data.action = action
    if getattr(action, "slots", None) and rig.animation_data.action_slot is None:
        rig.animation_data.action_slot = action.slots[0]


def play_at(rig: bpy.types.Object, rate: int) -> None:
    """Let an animation take as long as it does, at another number of frames a second."""
    render = bpy.context.scene.render
    slower = rate * render.fps_base / render.fps
    render.fps, render.fps_base = rate, 1.0
    for curve in curves(rig):
        for key in curve.keyframe_points:
            for place in (key.co, key.handle_left, key.handle_right):
                place.x *= slower


def play_backward(rig: bpy.types.Object) -> None:
    for curve in curves(rig):
        keys = curve.keyframe_points
        for key, value in zip(keys, [key.co.y for key in keys][::-1], strict=True):
            key.co.y, key.interpolation = value, "LINEAR"
        curve.update()


def frames_of(rig: bpy.types.Object) -> range:
    """Return the frames of a clip that are looked at: many captures begin with a rest pose."""
    first, last = map(int, rig.animation_data.action.frame_range)
    return range(first + 2, min(last, first + 300) + 1)


def give_targets(rig: bpy.types.Object, feet: Iterable[str]) -> None:
    """Give the feet of a clip targets, keyed at each frame."""
    scene, frames = bpy.context.scene, frames_of(rig)
    scene.frame_start, scene.frame_end = frames[0], frames[-1]
    activate(rig)
    for foot in feet:
        target = make_empty(f"Target {foot}")
        target.rotation_mode = "QUATERNION"
        item = add_constraint(rig, foot, target, chain_count=2, use_tail=False, use_rotation=True)
        item.solver = "TWO_BONE"
    update()
    assert bpy.ops.fabrik.snap_to_fk(
        which="ALL", use_range=True, frame_start=frames[0], frame_end=frames[-1]
    ) == {"FINISHED"}


def put_on(
    rig: Any, ground: bpy.types.Object, hip: str = "", feet: Iterable[Any] = (), **settings: Any
) -> None:
    """Put feet on the ground, and simulate them: the given constraints, or all of an armature."""
    for item in [*feet] or rig.fabrik.constraints:
        for name, value in {"object": ground, "hip": hip, **settings, "use": True}.items():
            setattr(item.ground, name, value)
    activate(rig)
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}


def plane(height: float = 0.0, size: float = 20.0) -> bpy.types.Object:
    mesh = bpy.data.meshes.new("Plane")
    far = 9.0 * size
    corners = [(-far, -far, 0), (far, -far, 0), (far, far, 0), (-far, far, 0)]
    mesh.from_pydata(corners, [], [(0, 1, 2, 3)])
    ob = link(bpy.data.objects.new("Plane", mesh))
    ob.location.z = height
    return ob


def along(path: Sequence[Vector], height: Height, size: float = 1.0) -> bpy.types.Object:
    """Return ground along a path: its height is that of a terrain whose X axis is the path.

    Args:
        path: Where a hip is at each frame.
        height: The terrain, for a leg of 0.85 m.
        size: How much longer the legs are.
    """
    way = (path[-1] - path[0]).xy
    far = way.length / size
    xs = [0.02 * i for i in range(-150, round(50.0 * far) + 150)]
    ground = make_terrain("Ground", xs, (-9.0, 9.0), height)
    ground.scale = (size,) * 3
    ground.location = (*path[0].xy, 0.0)
    ground.rotation_euler.z = atan2(way.y, way.x)
    update()
    return ground


def heads(rig: bpy.types.Object, bones: Iterable[str], frames: Iterable[int]) -> Places:
    """Return where bones are in each frame."""
    found: Places = {bone: [] for bone in bones}
    for frame in frames:
        go(frame)
        posed = evaluated(rig)
        for bone, places in found.items():
            places.append(posed.matrix_world @ posed.pose.bones[bone].head)
    return found


def bends(places: Sequence[Vector], rate: float = 60.0) -> list[float]:
    """Return the accelerations of a point, in meters per second squared."""
    threes = zip(places, places[1:], places[2:], strict=False)
    return [(a - 2.0 * b + c).length * rate * rate for a, b, c in threes]


def swivel(places: Places, leg: Sequence[str]) -> list[float]:
    """By which angle a knee turns about the line from hip to ankle, where it is 20 mm off it."""
    found = [0.0]
    offs: list[Vector] = []
    for hip, knee, ankle in zip(*(places[bone] for bone in leg[:3]), strict=True):
        axis = (ankle - hip).normalized()
        off = (knee - hip) - axis * (knee - hip).dot(axis)
        least = 0.024 * (ankle - hip).length
        if offs and min(offs[-1].length, off.length) > least:
            found.append(offs[-1].angle(off))
        offs.append(off)
    return found


def spread(places: Sequence[Vector]) -> float:
    """How far points get from their mean on the floor."""
    middle = sum(places, Vector()) / len(places)
    return max((place - middle).xy.length for place in places)


def walks(rig: Any) -> list[Any]:
    return [walk_of(rig, item.name) for item in rig.fabrik.constraints]


class Seen(NamedTuple):
    """A motion, before and after it was put on the ground.

    Attributes:
        before: Where its joints are.
        after: Where they are on the ground.
        legs: The joints of each leg: hip, knee, ankle, and further ones.
        hip: The bone that carries them.
        height: The height of the ground at a place.
        stances: The frames of each leg, counted from the first one seen, in which it is flat.
        size: How much longer its legs are than 0.85 m.
        sole: How thick its soles are below the ball.
    """

    before: Places
    after: Places
    legs: Sequence[Sequence[str]]
    hip: str
    height: Height
    stances: Sequence[Sequence[slice]]
    size: float = 1.0
    sole: float = 0.0

    def ratio(self, of: Callable[[Places, Sequence[str]], float]) -> float:
        """Return the most that something of a leg has grown, as a factor."""
        return max(of(self.after, leg) / of(self.before, leg) for leg in self.legs)

    def standing(self, joint: int) -> list[tuple[list[Vector], list[Vector]]]:
        """Return where a joint of each leg is before and after, for each of its stances."""
        assert all(len(spans) >= 2 for spans in self.stances)
        return [
            (self.before[leg[joint]][span], self.after[leg[joint]][span])
            for leg, spans in zip(self.legs, self.stances, strict=True)
            for span in spans
        ]

    def above(self, place: Vector) -> float:
        return place.z - self.height(place.x, place.y)


def slid(places: Sequence[Vector]) -> float:
    return max((place - places[0]).xy.length for place in places)


def hock_turn(seen: Seen) -> float:
    """By which angle the plane of a hock is another one."""
    return max(
        old.angle(new)
        for leg in seen.legs
        for old, new in zip(
            *(hocks(places, leg) for places in (seen.before, seen.after)), strict=True
        )
    )


def hocks(places: Places, leg: Sequence[str]) -> list[Vector]:
    joints = zip(*(places[bone] for bone in leg[1:]), strict=True)
    return [(hock - knee).cross(paw - hock).normalized() for knee, hock, paw in joints]


def moved(seen: Seen, bones: Iterable[str]) -> list[Vector]:
    pairs = [zip(seen.before[bone], seen.after[bone], strict=True) for bone in bones]
    return [new - old for pair in pairs for old, new in pair]


def pitches(seen: Seen) -> list[float]:
    """By which angle the trunk of an animal, with hind legs first, is pitched in each frame."""

    def pitch(places: Places, i: int) -> float:
        hind, front = (
            (places[a[0]][i] + places[b[0]][i]) / 2.0 for a, b in (seen.legs[:2], seen.legs[2:])
        )
        way = front - hind
        return atan2(way.z, way.xy.length)

    frames = range(len(seen.before[seen.hip]))
    return [pitch(seen.after, i) - pitch(seen.before, i) for i in frames]


MEASURES: dict[str, Callable[[Seen], float]] = {
    "knees": lambda seen: seen.ratio(lambda of, leg: max(bends(of[leg[1]]))),
    "ankles": lambda seen: seen.ratio(lambda of, leg: max(bends(of[leg[2]]))),
    "swivel": lambda seen: seen.ratio(lambda of, leg: max(swivel(of, leg))),
    "hip m/s²": lambda seen: max(bends(seen.after[seen.hip])) / seen.size,
    "hip moved": lambda seen: max(abs(by.z) for by in moved(seen, [seen.hip])) / seen.size,
    "all moved": lambda seen: max(by.length for by in moved(seen, seen.before)) / seen.size,
    "slide": lambda seen: max(slid(after) / slid(before) for before, after in seen.standing(2)),
    "ball slide": lambda seen: max(slid(after) for _, after in seen.standing(3)) / seen.size,
    "ball off": lambda seen: max(
        abs(seen.above(place) - seen.sole) for _, after in seen.standing(3) for place in after
    ),
    "toes below": lambda seen: (
        -min(seen.above(place) for leg in seen.legs for place in seen.after[leg[3]])
    ),
    "hock turn": hock_turn,
    "pitch off": lambda seen: abs(sum(pitches(seen)) / len(pitches(seen)) / atan(0.27) - 1.0),
    "pitch wobble": lambda seen: max(pitches(seen)) - min(pitches(seen)),
}
"""What is measured: accelerations and angles as a factor of those before, lengths in meters."""


def check(seen: Seen, most: Mapping[str, float]) -> None:
    """See that what is measured of a motion is no more than a row of a table says."""
    found = {name: MEASURES[name](seen) for name in most}
    print(found)
    assert not {name: value for name, value in found.items() if not value < most[name]}
