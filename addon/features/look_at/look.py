"""Look-at: its settings, and how it is read and solved."""

from __future__ import annotations

from functools import lru_cache
from math import degrees, pi
from typing import Any, NamedTuple, cast

import bpy
from mathutils import Matrix, Vector

from fabrik_solver import ChainInput, Frame, Posture, Written
from fabrik_solver.core.vectors import Vec, add, mat_apply
from fabrik_solver.motion.damping import mean, moments
from fabrik_solver.motion.look import UNLIMITED, Look, look_in_world, measured_gaze

from ...blender.axes import AXES, axis_items
from ...blender.errors import ProblemError
from ...blender.messages import msg
from ...blender.skeleton import Point
from ...plan.chain_plan import ChainPlan, ChainPose, Motion, MotionContext, Report, Snapshot
from ...settings.definitions import animated, fixed
from ...settings.properties import FabrikConstraint
from ...settings.values import check_choices, now
from .target_path import UntraceableError, places_at

AXIS_ITEMS = axis_items("the bone's")

UP_ITEMS = (
    ("POSE", "FK Pose", "Direction of the Up Axis in the FK pose", 0),
    ("WORLD", "World Z", "Z axis of the world", 1),
    ("ARMATURE", "Armature Z", "Z axis of the armature object", 2),
)


class FabrikLook(bpy.types.PropertyGroup):
    """The settings of a look-at."""

    axis: str = fixed(
        "Look Axis",
        "Axis of the last bone that points at the target",
        items=AXIS_ITEMS,
        default="Z",
    )
    up_axis: str = fixed(
        "Up Axis",
        "Axis of the last bone that points up",
        items=(
            ("NONE", "None", "Rotate the bone by the smallest angle", 0),
            *axis_items("the bone's", first=1),
        ),
        default="Y",
    )
    up: str = fixed(
        "Up",
        "Direction in which Up Axis points, as far as the gaze allows",
        items=UP_ITEMS,
        default="POSE",
    )
    share: float = animated(
        "Share",
        "Distribute the rotation over the bones. 0 rotates only the last bone, 1 rotates all "
        "bones equally",
        default=0.5,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
    )
    limit_angle: float = animated(
        "Limit Angle",
        "Maximum angle between the gaze and its FK direction. Past it, the gaze gradually turns "
        "back. 180° disables the limit",
        default=pi,
        min=0.0,
        max=pi,
        subtype="ANGLE",
    )
    limit_softness: float = animated(
        "Softness",
        "How early the gaze slows down before the limit, relative to the limit",
        default=0.25,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
    )
    damping: float = fixed(
        "Damping",
        "Delay of the gaze behind the target, in seconds, which also smooths its start and stop. "
        "Needs a keyed target",
        default=0.0,
        min=0.0,
        soft_max=1.0,
        subtype="TIME_ABSOLUTE",
    )


def look_of(item: FabrikConstraint) -> FabrikLook:
    """Return the look-at settings of a constraint."""
    return cast(Any, item).look


class LookInput(NamedTuple):
    """A look-at's inputs, apart from the chain and its spaces.

    Attributes:
        look: The settings, without an up direction.
        up: The setting Up.
        target: The damped target position in world space; None for its current position.
        note: A message for the user, or an empty string.
    """

    look: Look
    up: str
    target: Vec | None
    note: str


def resolve(chain: ChainPlan, item: FabrikConstraint) -> None:
    """Check the settings that can't be animated.

    Raises:
        ProblemError: If the settings contradict each other.
    """
    look = look_of(item)
    check_choices(look)
    chain.offset = None
    if not item.use_tail:
        raise ProblemError("Look-at needs the whole bone: enable Use Tail")
    if look.axis[-1] == look.up_axis[-1]:
        raise ProblemError(
            "Look Axis and Up Axis are both {axis}: choose another Up Axis, or None",
            axis=look.axis[-1],
        )


def read(snapshot: Snapshot, chain: ChainPlan) -> LookInput:
    """Return the inputs of a look-at.

    Raises:
        ProblemError: If a setting is not a number.
    """
    inputs, damping = snapshot.cached(chain, _settings)
    target, note = None, chain.note
    if damping > 0.0:
        try:
            target = _damped(snapshot, chain, damping)
        except UntraceableError as reason:
            note = note or msg(
                "{reason}, so Damping has no effect: bake the target to keys",
                reason=str(reason),
            )
    if target is None and not note:
        return inputs
    return LookInput(inputs.look, inputs.up, target, note)


def _settings(item: FabrikConstraint) -> tuple[LookInput, float]:
    """Return a look-at's inputs at the current target position, and its Damping."""
    group = now(look_of(item))
    look = Look(
        AXES[group.axis],
        AXES.get(group.up_axis),
        None,
        group.share,
        group.limit_angle,
        group.limit_softness,
    )
    return LookInput(look, group.up, None, ""), group.damping


def _damped(snapshot: Snapshot, chain: ChainPlan, damping: float) -> Vec | None:
    """Return the weighted mean of the target's past positions; None if it doesn't move.

    Raises:
        UntraceableError: If these positions are unknown.
    """
    samples, time = _samples(damping * snapshot.frame_rate), snapshot.time
    frames = [time - ago for ago, _ in samples]
    positions = places_at(snapshot, cast(Point, chain.target), chain.rig, frames)
    if positions is None:
        return None
    aim = mean([(point, weight) for point, (_, weight) in zip(positions, samples, strict=True)])
    return (
        aim if chain.target_tie is None else add(aim, snapshot.lift(chain, chain.target_tie, aim))
    )


_samples = lru_cache(maxsize=64)(moments)


def pose(chain: ChainInput, context: MotionContext, read: object) -> ChainPose:
    """Return the pose of a chain that looks at its target."""
    untyped: Any = read
    inputs: LookInput = untyped
    look = _look_in(inputs, context.to_armature)
    posture, _ = look_in_world(
        chain,
        (context.world, context.to_armature),
        inputs.target or context.target,
        look,
        context.influence,
        context.tolerance,
    )
    message = inputs.note
    if not message and posture.state != "REACHED":
        message = _explanation(chain, look, posture)
    return ChainPose(posture, Report(posture.state, 0.0, 0, message))


def measure(
    chain: ChainInput,
    written: Written,
    spaces: tuple[Frame, Frame],
    target: Vec,
    tolerance: float,
    read: object,
) -> tuple[float, bool]:
    """Return a written chain's gaze error, and whether the gaze reaches its target."""
    inputs = cast(LookInput, read)
    look, target = _look_in(inputs, spaces[1]), inputs.target or target
    return measured_gaze(chain, written, spaces, target, tolerance, look)


def _look_in(inputs: LookInput, to_armature: Frame) -> Look:
    """Return the look-at with its up direction in armature space."""
    if inputs.up == "WORLD":
        return inputs.look._replace(up=mat_apply(to_armature[0], AXES["Z"]))
    return inputs.look._replace(up=AXES["Z"]) if inputs.up == "ARMATURE" else inputs.look


def _explanation(chain: ChainInput, look: Look, posture: Posture) -> str:
    """Explain why the gaze misses the target, and how to fix it."""
    if posture.state == "OUT_OF_REACH":
        return msg(
            "The target is too close to the bone, or the bone has zero scale along an axis: move "
            "the target, or change the scale"
        )
    angle = degrees(posture.orientation_error)
    if not chain.constrained:
        return msg(
            "Limit Angle keeps the gaze {angle:.1f}° from the target: widen the limits, or move "
            "the target",
            angle=angle,
        )
    if look.limit >= UNLIMITED:
        return msg(
            "The limits of the joints keep the gaze {angle:.1f}° from the target: widen the "
            "limits, or move the target",
            angle=angle,
        )
    return msg(
        "Limit Angle and the limits of the joints keep the gaze {angle:.1f}° from the target: "
        "widen the limits, or move the target",
        angle=angle,
    )


def _gaze(item: FabrikConstraint) -> Vec:
    return AXES[look_of(item).axis]


def _mirrored(item: FabrikConstraint, hand: Matrix) -> tuple[dict[str, Any], str]:
    """Return the Look Axis and Up Axis of the bone on the other side."""
    look = look_of(item)
    axes = {"look.axis": look.axis, "look.up_axis": look.up_axis}
    mirrored = {
        name: max(AXES, key=lambda other: (hand @ Vector(AXES[axis])).dot(Vector(AXES[other])))
        for name, axis in axes.items()
        if axis in AXES
    }
    return mirrored, ""


def _is_known_ahead(item: FabrikConstraint) -> bool:
    """Return whether a look-at uses the current position of its target, not past ones."""
    return look_of(item).damping == 0.0


MOTION = Motion(
    solver=("LOOK_AT", "Look-at", "Rotate the chain so that the last bone looks at the target", 4),
    needs_target=True,
    resolve=resolve,
    read=read,
    pose=pose,
    places_tip=False,
    measure=measure,
    gaze=_gaze,
    mirrored=_mirrored,
    is_known_ahead=_is_known_ahead,
)
"""Looking at the target."""
