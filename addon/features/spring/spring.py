"""A spring: reading and showing its simulated rotations."""

from __future__ import annotations

from typing import NamedTuple, cast

import bpy

from fabrik_solver import ChainInput
from fabrik_solver.core.vectors import slerp
from fabrik_solver.motion.joint_fitting import with_rotations

from ...blender.errors import ProblemError
from ...blender.messages import msg
from ...blender.relations import moves_with
from ...blender.skeleton import skeleton_of
from ...plan.chain_plan import ChainPlan, ChainPose, Motion, MotionContext, Report, Snapshot
from ...plan.resolving import bone_index
from ...settings.properties import FabrikConstraint
from ...settings.values import check_choices
from ..simulation import history
from ..simulation.history import History
from .live import live_rotations
from .recording import SOLVER, StoredStrand, center_of, collider_points, is_on, problem_of
from .settings import FabrikCollider, chosen_colliders, colliders_of, spring_of

MISMATCH = msg("The simulation doesn't match the chain: press Simulate")


CUT = msg("The strand starts again at this cut")

LIVE = msg("Preview: this pose isn't simulated")


class SpringInput(NamedTuple):
    """A spring's inputs at a frame.

    Attributes:
        numbers: The local rotations, four numbers per bone.
        note: A message to show; may be empty.
    """

    numbers: tuple[float, ...]
    note: str


class _Unpacked(NamedTuple):
    """A stored strand, its problem, and the bytes from which it was unpacked."""

    blob: bytes
    strand: StoredStrand
    problem: str


_strands: dict[tuple[int, int], _Unpacked] = {}
"""The decoded strands, by armature and constraint."""


def _resolve(chain: ChainPlan, item: FabrikConstraint) -> None:
    spring = spring_of(item)
    check_choices(spring)
    chain.is_timed = True
    _follow_renames(spring, "center_bone", spring.center)
    if is_on(center_of(spring), chain):
        raise ProblemError("The center is on the strand itself: choose another bone")
    colliders = colliders_of(chain.rig.object)
    for i in chosen_colliders(chain.rig.object, spring):
        if colliders[i].kind == "MESH":
            _check_mesh(chain, colliders[i])
        _follow_renames(colliders[i], "bone", colliders[i].object or chain.rig.object)
    collider_points(chain, spring)


def _check_mesh(chain: ChainPlan, collider: FabrikCollider) -> None:
    """Refuse a collider whose mesh is missing or moved by the armature.

    Raises:
        ProblemError: If the collider is refused; the message says why.
    """
    ob = collider.object
    if ob is None or ob.type != "MESH":
        raise ProblemError(
            "The collider “{collider}” has no mesh: choose a mesh object", collider=collider.name
        )
    if moves_with(ob, {chain.rig.uid}):
        raise ProblemError(
            "“{object}” moves with the armature and can't be its ground: choose another object",
            object=ob.name,
        )


def _follow_renames(group: bpy.types.PropertyGroup, name: str, ob: bpy.types.Object | None) -> None:
    """Update the name of a bone in a setting if the bone was renamed.

    Raises:
        ProblemError: If the bone doesn't exist.
    """
    if getattr(group, name) and ob is not None and ob.type == "ARMATURE" and ob.pose is not None:
        bone_index(skeleton_of(ob), group, name)


def _read(snapshot: Snapshot, chain: ChainPlan) -> SpringInput:
    armature = chain.rig.object
    owner = history.owner_path(chain.item, "spring")
    record = history.data(armature, owner)
    if record is None:
        raise ProblemError(history.why_missing(armature, owner))
    _, strand, problem = _unpacked(chain, record)
    time = min(max(snapshot.time - record.start, 0.0), float(record.end - record.start))
    numbers, live = _rotations(strand, time), None
    if snapshot.is_edit:
        live = live_rotations(snapshot, chain, record)
    if live is not None:
        return SpringInput(live, history.note(record, snapshot.time) or LIVE)
    note = history.note(record, snapshot.time) or problem
    if not note and time in strand.cuts:
        note = CUT
    return SpringInput(numbers, note)


def _unpacked(chain: ChainPlan, record: History) -> _Unpacked:
    """Return the stored strand, decoded once.

    Raises:
        ProblemError: If the record doesn't match the chain or the frames.
    """
    key = chain.rig.uid, chain.item
    cached = _strands.get(key)
    if cached is None or cached.blob is not record.blob:
        try:
            strand = StoredStrand.unpacked(record.blob)
        except ValueError:
            raise ProblemError(MISMATCH) from None
        if len(strand.numbers) != 4 * strand.bones * len(record.frames):
            raise ProblemError(MISMATCH)
        cached = _strands[key] = _Unpacked(record.blob, strand, problem_of(record, strand))
    if cached.strand.bones != len(chain.bones):
        raise ProblemError(MISMATCH)
    return cached


def _rotations(strand: StoredStrand, time: float) -> tuple[float, ...]:
    """Return the rotations at a time in frames, interpolated between whole frames."""
    stride = 4 * strand.bones
    at = int(time)
    start = strand.numbers[at * stride : (at + 1) * stride]
    fraction = time - at
    if fraction == 0.0 or at + 1 in strand.cuts:
        return start
    end = strand.numbers[(at + 1) * stride : (at + 2) * stride]
    numbers: list[float] = []
    for i in range(0, stride, 4):
        a, b, c, d = start[i : i + 4]
        w, x, y, z = end[i : i + 4]
        numbers.extend(slerp((a, b, c, d), (w, x, y, z), fraction))
    return tuple(numbers)


def _pose(chain: ChainInput, context: MotionContext, read: object) -> ChainPose:
    numbers, report = _stored(cast(SpringInput, read))
    return ChainPose(with_rotations(chain, [*numbers], context.influence), report)


def _stored(read: SpringInput) -> tuple[tuple[float, ...], Report]:
    """Return the rotations at full influence, and the report."""
    return read.numbers, Report("REACHED", message=read.note)


MOTION = Motion(
    solver=(SOLVER, "Spring", "Swing by inertia, stiffness and gravity, as hair and tails do", 8),
    needs_target=False,
    resolve=_resolve,
    read=_read,
    pose=_pose,
    rotations=_stored,
    places_tip=False,
    measure=None,
    doing=msg("Swinging"),
    is_known_ahead=lambda _: True,
)
