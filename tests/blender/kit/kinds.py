"""One armature of each kind of motion, which all have to keep the same promises."""

from collections.abc import Callable
from functools import wraps

import bpy
import rigs
from captured_bodies import make_body, make_body_with_ik, put_on_ground
from kept_files import open_kept
from shapes import make_ball
from spiders import key_body, make_spider, terrain, walk
from walkers import hills, make_ground, make_walker, stairs, stand

END = 16

Kind = Callable[[], str]
"""Makes a moving armature “Rig”, and returns the path of a setting that counts."""


def posed_chain(count: int = 6, mode: str = "QUATERNION") -> tuple[bpy.types.Object, ...]:
    """Make a chain with an FK pose, neither keyed nor at rest, and a moving target."""
    rig, target = rigs.make_chain(count, mode=mode), rigs.make_empty()
    for bone in rig.pose.bones:
        bone.rotation_quaternion = (0.98, 0.15, -0.1, 0.05)
        bone.rotation_euler = (0.3, -0.2, 0.1)
    rigs.key(target, "location", {1: (1.5, 1.0, 4.0), 9: (2.5, -1.0, 2.0), END: (0.0, -2.0, 4.0)})
    rigs.update()
    return rig, target


def simulate(rig: bpy.types.Object) -> None:
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, END
    rigs.activate(rig)
    rigs.update()
    assert bpy.ops.fabrik.simulate() == {"FINISHED"}


def kept(kind: Kind) -> Kind:
    """Have a kind that is simulated made once, and then opened."""
    paths: list[str] = []

    @wraps(kind)
    def opened() -> str:
        open_kept(kind.__name__, lambda: paths.append(kind()))
        return paths[0]

    return opened


def chain() -> str:
    """Reach with keyed bones and a pole, on an armature that moves."""
    rig, target = posed_chain()
    for frame, x in ((1, 0.0), (END, 0.5)):
        rig.location.x = rig.pose.bones["B1"].rotation_quaternion.x = x
        rig.keyframe_insert("location", frame=frame)
        rig.pose.bones["B1"].keyframe_insert("rotation_quaternion", frame=frame)
    item = rigs.add_constraint(rig, "B5", target, pole_target=rigs.make_empty("Pole", (0, 5, 2)))
    rigs.key(item, "softness", {1: 1.0, END: 0.7})
    return "constraints[0].influence"


def two_bone() -> str:
    """Bend two bones in Euler angles."""
    rig, target = posed_chain(2, "XYZ")
    rigs.add_constraint(rig, "B1", target, solver="TWO_BONE")
    return "constraints[0].influence"


def ccd_with_limits() -> str:
    """Reach with limits by CCD."""
    rig, target = posed_chain()
    for bone in rig.pose.bones:
        bone.fabrik_joint.swing_x, bone.fabrik_joint.swing_z = 0.4, 0.6
        bone.fabrik_joint.limit_type = "CONE"
    rigs.add_constraint(rig, "B5", target, solver="CCD")
    return "constraints[0].influence"


def stretched() -> str:
    """Stretch bones that have an FK scale of their own, one of them keyed."""
    rig, target = posed_chain(3)
    rig.pose.bones["B0"].scale = (1.1, 0.9, 1.0)
    for frame, scale in ((1, 1.0), (END, 1.2)):
        rigs.key(rig.pose.bones["B1"], "scale", {frame: (1.0, scale, 1.0)})
    rigs.add_constraint(rig, "B2", target, use_stretch=True, stretch_max=1.3, use_volume=True)
    return "constraints[0].stretch_max"


def turned_tip() -> str:
    """Copy the keyed rotation of the target, by a keyed weight."""
    rig, target = posed_chain(4)
    item = rigs.add_constraint(
        rig, "B3", target, use_rotation=True, use_tail=False, twist_spread=0.7
    )
    for frame, turn, weight in ((1, (0, 0, 0), 0.2), (END, (0.8, -0.9, 1.5), 1.0)):
        target.rotation_euler, item.rotation_weight = turn, weight
        target.keyframe_insert("rotation_euler", frame=frame)
        item.keyframe_insert("rotation_weight", frame=frame)
    return "constraints[0].twist_spread"


BODY = {
    "Root": ((0, 0, 0), (0, 0.05, 1), ""),
    "Spine": ((0, 0.05, 1), (0, 0, 2), "Root"),
    **{
        name: ((sign * head, 0, z), (sign * tail, y, high), parent)
        for side, sign in (("L", 1), ("R", -1))
        for name, parent, head, z, tail, y, high in (
            (f"Upper.{side}", "Spine", 0, 2, 0.7, 0, 2.7),
            (f"Lower.{side}", f"Upper.{side}", 0.7, 2.7, 0.7, 0.1, 3.7),
        )
    },
}


def body() -> str:
    """Share bones between two arms that may move their root, one with keyed weight."""
    rig = rigs.make_armature(BODY)
    for bone, mode in zip(rig.pose.bones, 2 * ("QUATERNION", "XYZ", "AXIS_ANGLE"), strict=True):
        bone.rotation_mode = mode
        bone.rotation_quaternion, bone.rotation_euler = (0.97, 0.1, 0.2, 0), (0.05, 0.02, -0.1)
    for side, sign in (("L", 1), ("R", -1)):
        target = rigs.make_empty(f"Target.{side}")
        rigs.key(target, "location", {1: (sign * 0.8, 0, 3.6), END: (sign * 1.2, -sign * 0.8, 2.8)})
        item = rigs.add_constraint(
            rig, f"Lower.{side}", target, use_free_root=True, use_stretch=True
        )
        for frame, value in ((1, 1.0), (9, 0.5), (END, 1.0)) if side == "L" else ():
            item.influence = item.weight = value
            item.keyframe_insert("influence", frame=frame)
            item.keyframe_insert("weight", frame=frame)
    return "constraints[1].influence"


def look() -> str:
    """Look with a limit after a chain that reaches with the same bones."""
    rig, target = posed_chain()
    other = rigs.make_empty("Other", (-3, 1, 2))
    rigs.add_constraint(rig, "B5", target, chain_count=5, name="Reach")
    item = rigs.add_constraint(rig, "B5", other, solver="LOOK_AT", chain_count=3, name="Look")
    item.look.axis, item.look.up_axis, item.look.limit_angle = "X", "Y", 0.8
    return "constraints[1].look.share"


def damped_look() -> str:
    """Look with damping, and with another bone at the same time."""
    rig, target = posed_chain()
    item = rigs.add_constraint(rig, "B4", target, solver="LOOK_AT", chain_count=3)
    item.look.axis, item.look.up_axis, item.look.damping = "X", "Y", 0.2
    eye = rigs.add_constraint(rig, "B5", target, solver="LOOK_AT", chain_count=1)
    eye.look.axis, eye.look.up_axis, eye.look.limit_angle = "X", "Y", 0.6
    return "constraints[0].look.damping"


def rope() -> str:
    rig, target = posed_chain()
    rigs.add_constraint(rig, "B5", target, solver="ROPE")
    return "constraints[0].influence"


def rope_over(collision: str, ob: bpy.types.Object) -> str:
    rig, target = posed_chain()
    item = rigs.add_constraint(rig, "B5", target, solver="ROPE")
    item.rope.collision, item.rope.collision_object = collision, ob
    item.rope.thickness = 0.1
    return "constraints[0].rope.thickness"


def rope_over_mesh() -> str:
    return rope_over("MESH", make_ball(1.0, (1.2, -0.4, -1.0)))


def rope_on_plane() -> str:
    return rope_over("PLANE", rigs.make_empty("Plane", (0, 0, -0.5)))


def wave() -> str:
    """Wave on top of a chain that reaches."""
    rig, target = posed_chain()
    rigs.add_constraint(rig, "B5", target, name="Reach")
    item = rigs.add_constraint(rig, "B5", solver="WAVE", name="Wave")
    item.wave.noise, item.wave.speed = 0.4, 1.5
    return "constraints[1].wave.amplitude"


@kept
def follow() -> str:
    rig, target = posed_chain()
    rigs.add_constraint(rig, "B5", target, solver="FOLLOW")
    simulate(rig)
    return "constraints[0].influence"


@kept
def spring() -> str:
    """Swing behind a keyed bone, on top of a reaching chain, beside a moving collider."""
    rig, target = posed_chain()
    rigs.add_constraint(rig, "B5", target, chain_count=3, name="Reach").influence = 0.5
    rigs.key(rig.pose.bones["B0"], "rotation_quaternion", {1: 0.15, 6: -0.4, END: 0.5}, 1)
    item = rigs.add_constraint(rig, "B5", solver="SPRING", chain_count=4)
    rigs.key(item.spring, "drag", {1: 0.2, END: 0.6})
    item.spring.gravity = 5.0
    ball = rig.fabrik.colliders.add()
    ball.object, ball.radius = rigs.make_empty("Ball", (0.5, -1.0, 4.0)), 0.8
    rigs.key(ball.object, "location", {1: (0.5, -1.0, 4.0), END: (0.0, 0.5, 4.5)})
    simulate(rig)
    return "constraints[1].influence"


@kept
def continuous() -> str:
    """Solve a chain with limits as one shot."""
    rig, target = posed_chain(4)
    for bone in rig.pose.bones:
        bone.fabrik_joint.hinge_min, bone.fabrik_joint.hinge_max = -2.2, 2.2
        bone.fabrik_joint.limit_type = "HINGE"
    rigs.add_constraint(rig, "B3", target, use_continuous=True)
    simulate(rig)
    return "constraints[0].influence"


@kept
def ground() -> str:
    """Feet on hills, and the hip over them."""
    rig = make_walker()
    rig.name = "Rig"
    rig.pose.bones["Hip"].rotation_quaternion = (0.99, 0.05, 0.02, 0.1)
    stand(rig, make_ground(hills))
    simulate(rig)
    return "constraints[0].ground.offset"


@kept
def body_on_ground() -> str:
    """A body that moves as a whole with the hip that its feet lift on stairs."""
    rig = make_body_with_ik("BONE")
    rig.name = "Rig"
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, END
    put_on_ground(rig, make_ground(stairs))
    bpy.ops.object.mode_set(mode="OBJECT")
    foot = next(i for i, item in enumerate(rig.fabrik.constraints) if item.ground.use)
    return f"constraints[{foot}].ground.offset"


def pinned_body() -> str:
    """A body that walks by keys, with a hand pinned to a moving place."""
    rig = make_body()
    rig.name = "Rig"
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, END
    bpy.ops.object.mode_set(mode="POSE")
    pinned = bpy.ops.fabrik.pin(bone="Hand.L", kind="LOCATION", frames="PLACE")
    assert pinned == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    pin = rig.fabrik.pins[0]
    rigs.key(pin, "influence", {1: 0.4, 9: 1.0})
    for frame in (1, END):
        pin.keyframe_insert("location", frame=frame)
        pin.location.x += 0.4
    return "pins[0].influence"


def held() -> str:
    """Reach for what is handed on, with its own keys in the second hand, and then put down."""
    rig, target = posed_chain()
    rigs.add_constraint(rig, "B5", target)
    for name, side in (("Left", 1.0), ("Right", -1.0)):
        hand = rigs.make_empty(name)
        for frame in (1, END):
            hand.rotation_euler.z = side * 0.05 * frame
            hand.keyframe_insert("rotation_euler", frame=frame)
        rigs.key(hand, "location", {1: (2.0, side, 2.0), END: (1.0, -side, 3.0)})
    rigs.activate(rig)
    for frame, name, is_moved in ((3, "Left", False), (8, "Right", True)):
        rigs.go(frame)
        done = bpy.ops.fabrik.hold(object=target.name, holder=name, use_animation=is_moved)
        assert done == {"FINISHED"}
    rigs.go(12)
    assert bpy.ops.fabrik.release(object=target.name) == {"FINISHED"}
    return "constraints[0].influence"


@kept
def gait() -> str:
    """Four legs that carry their body over a terrain."""
    rig = make_spider(4, 2, name="Rig")
    terrain()
    key_body(rig, {1: (0, 0, 0), END: (0, -1.0, 0)})
    rig.pose.bones["Body"].rotation_quaternion = (0.99, 0.1, 0.05, 0.02)
    walk(rig, END, body_bob=0.05)
    bpy.ops.object.mode_set(mode="OBJECT")
    simulate(rig)
    return "gaits[0].influence"


REACHING: tuple[Kind, ...] = (chain, two_bone, ccd_with_limits, stretched, turned_tip, body)
MOTIONS: tuple[Kind, ...] = (look, damped_look, rope, rope_over_mesh, rope_on_plane, wave)
PINNED: tuple[Kind, ...] = (pinned_body,)
HELD: tuple[Kind, ...] = (held,)
SIMULATED: tuple[Kind, ...] = (follow, spring, continuous, ground, body_on_ground, gait)
KINDS = (*REACHING, *MOTIONS, *PINNED, *HELD, *SIMULATED)
