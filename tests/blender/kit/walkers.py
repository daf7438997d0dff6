"""A biped with a walk cycle for flat ground, and terrains."""

from collections.abc import Callable, Sequence
from math import cos, pi, radians, sin

import bpy
from inside import walk_of
from mathutils import Quaternion, Vector
from rigs import activate, add_constraint, curves, evaluated, make_armature, make_empty, tip_world
from shapes import make_terrain

STAND, SWING = 14, 10
"""The durations of stance and swing, in frames."""

CYCLE = STAND + SWING
LAST = 1 + 3 * CYCLE
SIDES = ("L", "R")
STRIDE = 0.7
ANKLE = 0.08

Height = Callable[[float, float], float]


def flat(_x: float, _y: float) -> float:
    return 0.0


def hills(x: float, y: float) -> float:
    return 0.15 * sin(1.7 * x + 0.4) + 0.04 * sin(3.1 * x - 1.3 * y)


def stairs(x: float, _y: float) -> float:
    """Steps 15 cm high and 35 cm deep, which is half a stride: each foot climbs two at a time."""
    return 0.15 * ((x + 0.175) // 0.35)


def bowl(x: float, _y: float) -> float:
    """Ground that curves up and down within the length of a foot."""
    return 0.04 * sin(6.0 * x)


def slope(x: float, _y: float) -> float:
    return 0.3 * x


def make_ground(height: Height = hills, name: str = "Ground") -> bpy.types.Object:
    """Make a mesh from -2 to 6 m along X; risers of stairs are nearly vertical."""
    xs = sorted(
        {-2 + 0.05 * i for i in range(161)} | {0.175 + 0.35 * i + 1e-4 for i in range(-6, 16)}
    )
    return make_terrain(name, xs, [-1.0, -0.5, 0.0, 0.5, 1.0], height)


def make_walker(is_cyclic: bool = True, hip_height: float = 0.84) -> bpy.types.Object:
    """Make a biped that walks along X, with keyed armature object and foot targets."""
    bones: dict[str, tuple[Sequence[float], Sequence[float], str]] = {
        "Root": ((0, 0, 0), (0, 0, 0.2), ""),
        "Hip": ((0, 0, hip_height), (0, 0, hip_height + 0.2), "Root"),
    }
    for side, y in (("L", 0.1), ("R", -0.1)):
        knee = (0.15, y, (hip_height + ANKLE) / 2)
        bones[f"Thigh.{side}"] = ((0, y, hip_height), knee, "Hip")
        bones[f"Shin.{side}"] = (knee, (0, y, ANKLE), f"Thigh.{side}")
        bones[f"Foot.{side}"] = ((0, y, ANKLE), (0.15, y, ANKLE), f"Shin.{side}")
    rig = make_armature(bones, "Walker")
    for bone in rig.pose.bones:
        bone.rotation_mode = "QUATERNION"
    key(rig, "location", [(0, 0, 0), (STRIDE, 0, 0)], [1, 1 + CYCLE], is_cyclic, "LINEAR")
    for side, y, phase in (("L", 0.1, 0), ("R", -0.1, CYCLE // 2)):
        target = make_empty(f"Target.{side}")
        target.rotation_mode = "QUATERNION"
        target.rotation_quaternion = Vector((0, 1, 0)).rotation_difference((1, 0, 0))
        places = [footfall(frame, y, phase) for frame in range(1, 2 + CYCLE)]
        key(target, "location", places, range(1, 2 + CYCLE), is_cyclic, "LINEAR")
        add_constraint(
            rig, f"Foot.{side}", target, chain_count=2, use_tail=False, use_rotation=True
        ).name = f"Leg.{side}"
    return rig


def footfall(frame: int, y: float, delay: int) -> tuple[float, float, float]:
    """Return the animated location of a foot, which lands ahead of the hip and lifts behind it."""
    cycle, phase = divmod(frame - 1 - delay, CYCLE)
    u = max(0.0, (phase - STAND) / SWING)
    share = u * u * (3.0 - 2.0 * u)
    ahead = STRIDE * 0.5 * STAND / CYCLE
    return (
        STRIDE * (cycle + share + delay / CYCLE) + ahead,
        y,
        ANKLE + 0.06 * (1.0 - cos(2.0 * pi * u)),
    )


def key(
    ob: bpy.types.Object,
    name: str,
    rows: Sequence[Sequence[float]],
    frames: Sequence[int],
    is_cyclic: bool,
    interpolation: str = "BEZIER",
) -> None:
    """Key a property; if cyclic, repeat it with offset."""
    for frame, row in zip(frames, rows, strict=True):
        setattr(ob, name, row)
        ob.keyframe_insert(name, frame=frame)
    for curve in (curve for curve in curves(ob) if curve.data_path == name):
        for point in curve.keyframe_points:
            point.interpolation = interpolation
        if is_cyclic:
            cycles = curve.modifiers.new("CYCLES")
            cycles.mode_before = cycles.mode_after = "REPEAT_OFFSET"


def stand(
    rig: bpy.types.Object, ground: bpy.types.Object | None = None, **settings: object
) -> None:
    """Enable On the Ground for both feet, with the hip."""
    for item in rig.fabrik.constraints:
        item.ground.object = ground
        for name, value in {"hip": "Hip", "max_angle": radians(45), **settings}.items():
            setattr(item.ground, name, value)
        item.ground.use = True


def simulate(rig: bpy.types.Object, last: int = LAST) -> None:
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, last
    activate(rig)
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}


def foot(rig: bpy.types.Object, side: str) -> Vector:
    return tip_world(rig, f"Foot.{side}", use_tail=False)


def hip(rig: bpy.types.Object) -> Vector:
    return tip_world(rig, "Hip", use_tail=False)


def contacts(rig: bpy.types.Object, side: str) -> list[tuple[int, int]]:
    """Return the frame ranges of the detected contacts of a foot, as far as the scene goes."""
    name = next(item.name for item in rig.fabrik.constraints if side in item.name)
    start, end = bpy.context.scene.frame_start, bpy.context.scene.frame_end
    walk = walk_of(rig, name)
    spans = [(c.first + walk.track.start, c.last + walk.track.start) for c in walk.contacts]
    spans = [(max(start, first), min(last, end)) for first, last in spans]
    return [(first, last) for first, last in spans if first < last]


def states(rig: bpy.types.Object) -> set[str]:
    return {item.state for item in rig.fabrik.constraints}


def messages(rig: bpy.types.Object) -> set[str]:
    return {item.message for item in rig.fabrik.constraints}


def walker_on(height: Height, **settings: object) -> bpy.types.Object:
    """Make a walker with its feet on a terrain, and simulate it."""
    rig = make_walker()
    stand(rig, make_ground(height), ray_above=3.0, ray_below=3.0, **settings)
    simulate(rig)
    return rig


def exclude(ground: bpy.types.Object) -> None:
    """Leave an object out of the view layer."""
    collection = bpy.data.collections.new("Aside")
    bpy.context.scene.collection.children.link(collection)
    collection.objects.link(ground)
    bpy.context.scene.collection.objects.unlink(ground)
    bpy.context.view_layer.layer_collection.children["Aside"].exclude = True


def rolling_walker() -> bpy.types.Object:
    """A walker that rolls off its toes and lands on its heels; the ground is to be made."""
    rig = make_walker()
    for side, late in (("L", 0), ("R", CYCLE // 2)):
        target = bpy.data.objects[f"Target.{side}"]
        rest = target.rotation_quaternion.copy()
        turns = []
        for frame in range(1, 2 + CYCLE):
            u = max(0.0, ((frame - 1 - late) % CYCLE - STAND) / SWING)
            angle = radians(38) * sin(pi * u) ** 2 * (1.0 - 1.6 * u)
            turns.append(Quaternion((0, 1, 0), angle) @ rest)
        key(target, "rotation_quaternion", turns, range(1, 2 + CYCLE), True, "LINEAR")
    for item in rig.fabrik.constraints:
        item.solver = "TWO_BONE"
    return rig


def above(place: Vector) -> float | None:
    """Return how high a place is above the mesh below it."""
    ground = evaluated(bpy.data.objects["Ground"])
    is_hit, hit, _, _ = ground.ray_cast(place + Vector((0, 0, 5)), Vector((0, 0, -1)))
    return place.z - hit.z if is_hit else None
