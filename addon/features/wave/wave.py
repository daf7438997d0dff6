"""A wave along a chain: settings, reading and solving."""

from __future__ import annotations

from math import atan2, cos, sin
from typing import Any, cast

import bpy
from mathutils import Matrix, Vector

from fabrik_solver import ChainInput
from fabrik_solver.motion.wave import Wave, pose_wave

from ...blender.animation import driven
from ...blender.messages import msg
from ...plan.chain_plan import ChainPlan, ChainPose, Motion, MotionContext, Report, Snapshot
from ...settings.definitions import FACTOR, animated, structure_changed
from ...settings.properties import FabrikConstraint
from ...settings.values import now


class FabrikWave(bpy.types.PropertyGroup):
    """The settings of a wave."""

    amplitude: float = animated(
        "Amplitude",
        "Maximum angle by which each bone rotates relative to the previous one",
        default=0.1,
        soft_min=0.0,
        soft_max=1.5707963267948966,
        subtype="ANGLE",
    )
    wavelength: float = animated(
        "Wavelength",
        "Length of a wave, relative to the length of the chain",
        default=1.0,
        min=0.01,
        soft_min=0.1,
        soft_max=5.0,
    )
    speed: float = animated(
        "Speed",
        "Waves per second, from root to tip. Negative values reverse the direction. To animate "
        "the speed, key Phase instead",
        default=0.5,
        soft_min=-5.0,
        soft_max=5.0,
        update=structure_changed,
    )
    phase: float = animated(
        "Phase",
        ("Offset of the wave. 1 is one wavelength"),
        default=0.0,
        soft_min=-10.0,
        soft_max=10.0,
    )
    falloff: float = animated(
        "Falloff",
        "Where the chain waves most: 0 everywhere, 1 at the tip, -1 at the root",
        default=0.0,
        min=-1.0,
        max=1.0,
        subtype="FACTOR",
    )
    direction: float = animated(
        "Direction",
        "Plane of the wave. At 0° the bones rotate about their X axis, at 90° about their Z axis",
        default=0.0,
        soft_min=-3.141592653589793,
        soft_max=3.141592653589793,
        subtype="ANGLE",
    )
    noise: float = animated(
        "Noise",
        "Amount of randomness: 0 is a sine wave, 1 is random in all directions",
        default=0.0,
        **FACTOR,
    )
    seed: int = animated(
        "Seed", "Seed of the noise. The same seed always gives the same motion", default=0, min=0
    )


def wave_of(item: FabrikConstraint) -> FabrikWave:
    """Return the wave settings of a constraint."""
    return cast(Any, item).wave


def _resolve(chain: ChainPlan, item: FabrikConstraint) -> None:
    # Blender evaluates the armature at each frame if the speed is keyed, but maybe not if driven.
    paths = {path for path, _ in driven(chain.rig.object)}
    chain.is_timed = wave_of(item).speed != 0.0 or wave_of(item).path_from_id("speed") in paths


def _read(snapshot: Snapshot, chain: ChainPlan) -> Wave:
    settings = snapshot.cached(chain, _settings)
    phase_turns = settings.phase
    if settings.speed != 0.0:
        phase_turns += settings.speed * snapshot.time / snapshot.frame_rate
    return Wave(
        settings.amplitude,
        settings.wavelength,
        phase_turns,
        settings.falloff,
        settings.direction,
        settings.noise,
        settings.seed,
    )


def _settings(item: FabrikConstraint) -> FabrikWave:
    return now(wave_of(item), msg(" of the wave"))


def _pose(chain: ChainInput, context: MotionContext, read: object) -> ChainPose:
    posture = pose_wave(chain, cast(Wave, read), context.influence)
    return ChainPose(posture, Report(posture.state))


def _mirrored(item: FabrikConstraint, mirror_matrix: Matrix) -> tuple[dict[str, Any], str]:
    """Return the mirrored wave's direction, and a note if its noise can't be mirrored."""
    wave = wave_of(item)
    axis = -(mirror_matrix @ Vector((cos(wave.direction), 0.0, sin(wave.direction))))
    note = msg("Noise can't be mirrored: set it to 0 to mirror the wave")
    return {"wave.direction": atan2(axis.z, axis.x)}, note if wave.noise > 0.0 else ""


MOTION = Motion(
    solver=(
        "WAVE",
        "Wave",
        "Add a wave on top of the pose from the constraints above",
        7,
    ),
    needs_target=False,
    resolve=_resolve,
    read=_read,
    pose=_pose,
    places_tip=False,
    measure=None,
    doing=msg("Waving"),
    mirrored=_mirrored,
    is_known_ahead=lambda _: True,
)
