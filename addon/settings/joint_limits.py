"""Joint limits and stiffness of a chain, in the form that the solver takes.

The extension's joint settings can't be animated, so they are read once, with the plan. Native IK
settings can change at any frame without notice. They are read from the evaluated copy whenever
the armature may have changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite, pi
from operator import attrgetter
from typing import Any, Final, NamedTuple, cast

from mathutils import Euler, Vector

from fabrik_solver import Cone, Hinge, Limit

from ..blender.messages import msg
from .joints import FabrikJoint
from .values import unknown_choice, within_limits

Range = tuple[float, float]

AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
LOCKED, FREE = (0.0, 0.0), (-pi, pi)

NATIVE: Final = ("lock_ik", "use_ik_limit", "ik_min", "ik_max", "ik_stiffness")
"""Names of a pose bone's native IK settings, without their axis."""

native_values: Final = attrgetter(*[f"{name}_{axis}" for axis in "xyz" for name in NATIVE])
"""Returns all of these settings, for X, then Y, then Z."""


class IkSettings(NamedTuple):
    """Native IK settings of a bone.

    Attributes:
        ranges: Minimum and maximum angle about X, Y and Z, in radians.
        stiffness: The largest stiffness of the unlocked axes.
    """

    ranges: tuple[Range, Range, Range]
    stiffness: float


@dataclass(slots=True)
class Joints:
    """The joints of a chain. Both lists are empty if no bone has a limit or stiffness.

    Attributes:
        limits: The limit of each bone; None without a limit.
        stiffness: The stiffness of each bone.
        native: For each bone that uses its native IK settings: its position in the chain, and its
            index.
        drawn: The sources of the limits, for comparison.
    """

    limits: list[Limit | None] = field(default_factory=list)
    stiffness: list[float] = field(default_factory=list)
    native: list[tuple[int, int]] = field(default_factory=list)
    drawn: list[tuple[Any, ...]] = field(default_factory=list)

    def now(self, settings: Sequence[IkSettings]) -> tuple[list[Limit | None], list[float]]:
        """Return limits and stiffness with the current settings of the `native` bones."""
        if not settings:
            return self.limits, self.stiffness
        limits, stiffness = self.limits[:], self.stiffness[:]
        for (index, _), native in zip(self.native, settings, strict=True):
            limits[index], stiffness[index] = _limit_of_ranges(native.ranges), native.stiffness
        return limits, stiffness


def joints_of(joints: Sequence[FabrikJoint | None], indices: Sequence[int]) -> Joints:
    """Return the joints of a chain.

    Args:
        joints: The joint settings of its bones, which have no `joint_problem`; None for a bone that
            keeps its FK pose.
        indices: The indices of the bones.
    """
    if all([joint and joint.limit_type == "NONE" and not joint.stiffness for joint in joints]):
        return Joints()
    return Joints(
        [joint and _limit(joint) for joint in joints],
        [within_limits(joint, "stiffness") if joint else 1.0 for joint in joints],
        [
            (i, indices[i])
            for i, joint in enumerate(joints)
            if joint and joint.limit_type == "BLENDER"
        ],
        [_drawn(joint) if joint else () for joint in joints],
    )


def joint_problem(bone: Any, joint: FabrikJoint | None = None) -> str:
    """Return the problem of a pose bone's joint and its solution; empty if the joint is valid.

    Args:
        bone: The pose bone.
        joint: Its joint, if it is already looked up.
    """
    joint = joint or cast(FabrikJoint, bone.fabrik_joint)
    if problem := unknown_choice(joint):
        return msg("“{name}”: {note}", name=bone.name, note=problem)
    kind = joint.limit_type
    numbers: list[float] = [joint.stiffness]
    if kind == "HINGE":
        numbers += (joint.hinge_min, joint.hinge_max)
        numbers += list(joint.hinge_vector if joint.hinge_axis == "FREE" else ())
    elif kind == "CONE":
        numbers += (joint.swing_x, joint.swing_z, joint.twist_min, joint.twist_max, *joint.center)
    if not isfinite(sum(numbers)):  # It doesn't overflow.
        return msg(
            "A joint setting of “{bone}” is invalid: enter a valid number",
            bone=bone.name,
        )
    if kind == "HINGE" and joint.hinge_min > joint.hinge_max:
        return msg(
            "The hinge of “{bone}” has a Min above its Max: decrease Min or increase Max",
            bone=bone.name,
        )
    if kind == "HINGE" and joint.hinge_axis == "FREE" and _direction(joint) is None:
        return msg(
            "The hinge of “{bone}” has no direction: enter one, or set Axis to X or Z",
            bone=bone.name,
        )
    if kind == "CONE" and joint.twist_min > joint.twist_max:
        return msg(
            "The cone of “{bone}” has a Twist Min above its Twist Max: decrease Twist Min "
            "or increase Twist Max",
            bone=bone.name,
        )
    return ""


def _direction(joint: FabrikJoint) -> tuple[float, float, float] | None:
    x, y, z = joint.hinge_vector
    largest = max(abs(x), abs(y), abs(z))
    if largest == 0.0:
        return None
    # Scale first, so that squares neither underflow nor overflow.
    x, y, z = Vector((x / largest, y / largest, z / largest)).normalized()
    return x, y, z


def _limit(joint: FabrikJoint) -> Limit | None:
    drawn = _drawn(joint)
    return drawn[0](*drawn[1:]) if drawn else None


def _drawn(joint: FabrikJoint) -> tuple[Any, ...]:
    """Return the class of a joint's limit and its arguments; empty without a limit."""
    if joint.limit_type == "HINGE":
        axis = AXES.get(joint.hinge_axis) or _direction(joint) or AXES["X"]
        return Hinge, axis, (joint.hinge_min, joint.hinge_max)
    if joint.limit_type == "CONE":
        turn = Euler(joint.center).to_quaternion()
        names = ("swing_x", "swing_z", "twist_min", "twist_max")
        swing_x, swing_z, low, high = [within_limits(joint, name) for name in names]
        quat = (turn.w, turn.x, turn.y, turn.z)
        return Cone, (-swing_x, swing_x), (-swing_z, swing_z), (low, high), quat
    return ()


def ik_settings(bone: Any) -> IkSettings:
    """Return the native IK settings of an evaluated pose bone."""
    ranges: list[Range] = []
    stiffness = 0.0
    values = native_values(bone)
    for first in range(0, len(values), len(NATIVE)):
        lock, is_limited, low, high, stiff = values[first : first + len(NATIVE)]
        if lock:
            ranges.append(LOCKED)
            continue
        ranges.append((low, high) if is_limited else FREE)
        stiffness = max(stiffness, stiff)
    x, y, z = ranges
    return IkSettings((x, y, z), stiffness)


def has_native_limits(bone: Any) -> bool:
    """Return whether a pose bone has native IK locks, limits or stiffness."""
    return ik_settings(bone) != IkSettings((FREE, FREE, FREE), 0.0)


def posed_joint(bone: Any) -> tuple[Limit | None, float]:
    """Return the limit and stiffness of a pose bone while it is dragged.

    As with Blender's Auto IK, a joint without a limit uses the native IK settings. An invalid joint
    is free.
    """
    if joint_problem(bone):
        return None, 0.0
    joint: FabrikJoint = bone.fabrik_joint
    stiffness = within_limits(joint, "stiffness")
    if joint.limit_type not in ("NONE", "BLENDER"):
        return _limit(joint), stiffness
    native = ik_settings(bone)
    return _limit_of_ranges(native.ranges), max(stiffness, native.stiffness)


def limit_of(bone: Any) -> Limit | None:
    """Return only the limit of `posed_joint`; None without a limit."""
    return posed_joint(bone)[0]


def _limit_of_ranges(ranges: tuple[Range, Range, Range]) -> Limit | None:
    """Return a hinge if only one axis can rotate, otherwise a cone; None if all are unlimited."""
    if all(high - low >= 2.0 * pi - 1e-6 for low, high in ranges):
        return None
    turning = [name for name, turn in zip(AXES, ranges, strict=True) if turn != LOCKED]
    x, y, z = ranges
    if len(turning) == 1:
        return Hinge(AXES[turning[0]], ranges["XYZ".index(turning[0])])
    return Cone(x, z, y)
