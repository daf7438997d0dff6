"""What the joints of a chain allow: read from the bones, in the solver's terms.

The extension's own settings cannot be animated, and a change of one makes a new plan: they are
read once. Those of Blender's own IK change without a word to us, and at any frame: they are read
whenever their armature may have changed, from its evaluated copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite, pi
from typing import Any, NamedTuple

from mathutils import Euler, Vector

from ..core import Cone, Hinge, Limit
from .joint_properties import FabrikJoint

Range = tuple[float, float]

AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
LOCKED, FREE = (0.0, 0.0), (-pi, pi)


class IkSettings(NamedTuple):
    """What the settings of a bone for Blender's own IK come to.

    Attributes:
        ranges: The least and the greatest turn about X, Y and Z.
        stiffness: The largest stiffness of the axes that are not locked.
    """

    ranges: tuple[Range, Range, Range]
    stiffness: float


@dataclass(slots=True)
class Joints:
    """The joints of a chain.

    Attributes:
        limits: What each bone allows, None if it is not limited; empty if no bone is special.
        stiffness: How much each bone resists leaving its FK pose; empty if no bone is special.
        asked: Places in the chain, and indices, of the bones that keep the settings for Blender's
            own IK.
    """

    limits: list[Limit | None] = field(default_factory=list)
    stiffness: list[float] = field(default_factory=list)
    asked: list[tuple[int, int]] = field(default_factory=list)

    def now(self, asked: Sequence[IkSettings]) -> tuple[list[Limit | None], list[float]]:
        """Return limits and stiffness, given what the bones that are asked hold now."""
        if not asked:
            return self.limits, self.stiffness
        limits, stiffness = self.limits[:], self.stiffness[:]
        for (place, _), found in zip(self.asked, asked, strict=True):
            limits[place], stiffness[place] = _limit_of_ranges(found.ranges), found.stiffness
        return limits, stiffness


def joints_of(bones: Sequence[Any], indices: Sequence[int]) -> Joints:
    """Return the joints of a chain's pose bones, against which `joint_problem` has nothing."""
    settings: list[FabrikJoint] = [bone.fabrik_joint for bone in bones]
    if not any(joint.limit_type != "NONE" or joint.stiffness for joint in settings):
        return Joints()
    places = [i for i, joint in enumerate(settings) if joint.limit_type == "BLENDER"]
    return Joints(
        [_limit(joint) for joint in settings],
        [joint.stiffness for joint in settings],
        [(place, indices[place]) for place in places],
    )


def joint_problem(bone: Any) -> str:
    """Return what is wrong with the joint of a pose bone, and what to do; empty if nothing is."""
    joint: FabrikJoint = bone.fabrik_joint
    kind = joint.limit_type
    numbers: list[float] = [joint.stiffness]
    if kind == "HINGE":
        numbers += (joint.hinge_min, joint.hinge_max)
        numbers += list(joint.hinge_vector if joint.hinge_axis == "FREE" else ())
    elif kind == "CONE":
        numbers += (joint.swing_x, joint.swing_z, joint.twist_min, joint.twist_max, *joint.center)
    if not all(isfinite(number) for number in numbers):
        return f"A joint setting of “{bone.name}” is not a finite number: enter a valid number"
    if kind == "HINGE" and joint.hinge_min > joint.hinge_max:
        return f"The hinge of “{bone.name}” has a Min above its Max: decrease Min or increase Max"
    if kind == "HINGE" and joint.hinge_axis == "FREE" and _direction(joint) is None:
        return f"The hinge of “{bone.name}” has no direction: enter one, or set Axis to X or Z"
    if kind == "CONE" and joint.twist_min > joint.twist_max:
        return (
            f"The cone of “{bone.name}” has a Twist Min above its Twist Max: decrease Twist Min "
            "or increase Twist Max"
        )
    return ""


def _direction(joint: FabrikJoint) -> tuple[float, float, float] | None:
    x, y, z = joint.hinge_vector
    largest = max(abs(x), abs(y), abs(z))
    if largest == 0.0:
        return None
    # To a size first whose square is neither 0 nor infinite.
    x, y, z = Vector((x / largest, y / largest, z / largest)).normalized()
    return x, y, z


def _limit(joint: FabrikJoint) -> Limit | None:
    if joint.limit_type == "HINGE":
        axis = AXES.get(joint.hinge_axis) or _direction(joint) or AXES["X"]
        return Hinge(axis, (joint.hinge_min, joint.hinge_max))
    if joint.limit_type == "CONE":
        turn = Euler(joint.center).to_quaternion()
        return Cone(
            (-joint.swing_x, joint.swing_x),
            (-joint.swing_z, joint.swing_z),
            (joint.twist_min, joint.twist_max),
            (turn.w, turn.x, turn.y, turn.z),
        )
    return None


def ik_settings(bone: Any) -> IkSettings:
    """Return what the settings of an evaluated pose bone for Blender's own IK come to."""
    is_locked = (bone.lock_ik_x, bone.lock_ik_y, bone.lock_ik_z)
    stiffness = (bone.ik_stiffness_x, bone.ik_stiffness_y, bone.ik_stiffness_z)
    x = (bone.ik_min_x, bone.ik_max_x) if bone.use_ik_limit_x else FREE
    y = (bone.ik_min_y, bone.ik_max_y) if bone.use_ik_limit_y else FREE
    z = (bone.ik_min_z, bone.ik_max_z) if bone.use_ik_limit_z else FREE
    return IkSettings(
        (
            LOCKED if is_locked[0] else x,
            LOCKED if is_locked[1] else y,
            LOCKED if is_locked[2] else z,
        ),
        max((s for s, locked in zip(stiffness, is_locked, strict=True) if not locked), default=0.0),
    )


def _limit_of_ranges(ranges: tuple[Range, Range, Range]) -> Limit | None:
    """Return a hinge if only one axis is not locked, a cone if more are, None if all are free."""
    if all(high - low >= 2.0 * pi - 1e-6 for low, high in ranges):
        return None
    turning = [name for name, turn in zip(AXES, ranges, strict=True) if turn != LOCKED]
    x, y, z = ranges
    if len(turning) == 1:
        return Hinge(AXES[turning[0]], ranges["XYZ".index(turning[0])])
    return Cone(x, z, y)
