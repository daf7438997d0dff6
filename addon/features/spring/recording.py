"""The simulation of a spring: the inputs of all frames are recorded, then simulated together."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise
from math import dist
from typing import Any, NamedTuple, cast

import bpy

from fabrik_solver import WHOLE, ChainInput, Frame, frame_in, inverse, point_in
from fabrik_solver.core.vectors import (
    Vec,
    mat_apply,
    mat_determinant,
    orthonormalize,
    scaled,
    unit,
)
from fabrik_solver.motion import codec
from fabrik_solver.motion.force_field import ForceField
from fabrik_solver.motion.spring import REFERENCE, Spring
from fabrik_solver.motion.spring_collision import Collider
from fabrik_solver.motion.spring_inputs import Instant
from fabrik_solver.motion.spring_strand import Mode, Strand, simulate

from ...blender import animation, data_blocks
from ...blender.access import frame_rate, session_uid
from ...blender.errors import ProblemError
from ...blender.listeners import on_invalidate
from ...blender.messages import msg
from ...blender.skeleton import Point, skeleton_of
from ...frame.chain import tip_of
from ...frame.solved_scene import SolvedScene
from ...frame.solving import posed_before
from ...plan.chain_plan import ChainPlan
from ...settings.properties import settings
from ...settings.values import now, values_of
from ..simulation import history
from ..simulation.digest import Source
from ..simulation.history import History
from .fields import field_at, field_values, force_fields
from .settings import FabrikSpring, chosen_colliders, colliders_of, spring_of

SOLVER = "SPRING"

FORM = codec.Form(b"FABS", 1)

SIMULATED_SETTINGS = ("chain_count", "use_tail")
"""Settings of the constraint that are inputs of the simulation."""

CURVES = ("stiffness", "stiffness_tip", "drag", "drag_tip", "radius", "radius_tip")
"""Settings that vary along the strand."""

NAMES = ("center_bone", "bone", "groups", "group")
"""Settings that only name what the digest contains anyway."""

CONFLICT = 1e-5
"""The penetration to report, as a fraction of the strand's length: more than rounding."""

LOOPED = 1e-4
"""The distance of the ends of a loop to report, as a fraction of the strand's length."""


class StoredStrand(NamedTuple):
    """A simulated strand as it is stored.

    Attributes:
        bones: Its number of bones.
        cuts: The indices of the frames at which it started again.
        deepest: The index of the frame at which it penetrates colliders most.
        penetration: How deep, in metres.
        size: Its length in metres.
        gap: The distance of the ends of a loop, as a fraction of the strand's length.
        numbers: The local rotations, four numbers a bone, frame by frame.
    """

    bones: int
    cuts: list[int]
    deepest: int
    penetration: float
    size: float
    gap: float
    numbers: tuple[float, ...]

    @classmethod
    def unpacked(cls, blob: bytes) -> StoredStrand:
        """Return the strand from bytes.

        Raises:
            ValueError: If the bytes are damaged.
        """
        (bones, deepest, *cuts), _, (penetration, size, gap, *numbers) = FORM.unpacked(blob)
        if bones <= 0 or not numbers or len(numbers) % (4 * bones):
            raise ValueError(codec.DAMAGED)
        return cls(bones, cuts, deepest, penetration, size, gap, tuple(numbers))


def packed(strand: Strand) -> bytes:
    """Return a simulated strand as bytes.

    Rotations are rounded to single precision, as channels have it. So they take half the space
    compressed: Blender copies them whenever it evaluates the armature.
    """
    bones = len(strand.rotations[0]) // 4
    numbers = array("f", [number for rotations in strand.rotations for number in rotations])
    integers = [bones, strand.deepest, *strand.cuts]
    return FORM.packed(integers, (), [strand.penetration, strand.size, strand.gap, *numbers])


class Recorded(NamedTuple):
    """What moves a strand at a frame, whatever the settings of its spring.

    Attributes:
        values: The settings at the frame, without pointers.
        to_space: The transform from world space to the space of the simulation.
        world: See `Instant`.
        chain: See `Instant`.
        parent: See `Instant`.
        colliders: See `Instant`.
        fields: The force fields, at their whole strength.
    """

    values: Any
    to_space: Frame
    world: Frame
    chain: ChainInput
    parent: Frame
    colliders: list[Collider]
    fields: list[ForceField]


class Recording(NamedTuple):
    """What moved a strand when it was simulated last.

    Attributes:
        frames: The first and the last frame.
        key: The digest of all inputs but the settings of its spring.
        frame_by_frame: What moved it.
    """

    frames: tuple[int, int]
    key: bytes
    frame_by_frame: list[Recorded]


_recordings: dict[tuple[int, str], Recording] = {}
"""The recordings, by armature and owner."""


@on_invalidate
def _forget_recordings() -> None:
    _recordings.clear()


class SpringSimulation:
    """The simulation of a strand."""

    counts_wholly = False
    moments: Sequence[float] | None = None
    margin = 0

    def __init__(self, armature: bpy.types.Object, index: int) -> None:
        """Take an armature, and the index of its constraint."""
        self.owner = history.owner_path(index, "spring")
        self._armature = armature
        self._index = index
        self._recorded: list[Recorded] = []
        self._input: ChainInput | None = None
        self._bits: object = None

    @property
    def _spring(self) -> FabrikSpring:
        return spring_of(settings(self._armature).constraints[self._index])

    def inputs(self) -> object:
        """Return the settings, without those that are animated, and the frame rate."""
        return _unanimated(self._spring, _animated_paths(self._armature)), self.moving()

    def moving(self) -> object:
        """Return the settings that are inputs, without those of the spring."""
        armature = self._armature
        item = settings(armature).constraints[self._index]
        spring = spring_of(item)
        chain = history.chain_of(armature, self._index)
        paths = _animated_paths(armature)
        colliders = colliders_of(armature)
        chosen = chosen_colliders(armature, spring)
        return (
            frame_rate(cast(bpy.types.Scene, bpy.context.scene)),
            [getattr(item, name) for name in SIMULATED_SETTINGS],
            [_unanimated(colliders[i], paths) for i in chosen],
            [] if chain is None else chain.joints.drawn,
            spring.center is not None,
            [field_values(ob) for ob in force_fields(spring)],
        )

    def remember(self, frames: tuple[int, int]) -> None:
        """Keep what was recorded, so that other settings can be tried without playing."""
        key = _Moving(self._armature, self._index).key(frames)
        owner = session_uid(self._armature), self.owner
        _recordings[owner] = Recording(frames, key, self._recorded)

    def again(self, frames: tuple[int, int]) -> bytes | None:
        """Return the result of what was recorded; None if the frames have to be played."""
        recording = _recordings.get((session_uid(self._armature), self.owner))
        if recording is None or recording.frames != frames:
            return None
        if recording.key != _Moving(self._armature, self._index).key(frames):
            return None
        self._recorded = recording.frame_by_frame
        return self.result()

    def sources(self) -> list[Source]:
        """Return the last bone, the center, the force fields, and what moves the colliders."""
        chain = history.chain_of(self._armature, self._index)
        if chain is None:
            return []
        spring = self._spring
        center = center_of(spring)
        points = [Point(chain.rig.object, chain.rig, chain.bones[-1])]
        fields = [Point(ob) for ob in force_fields(spring)]
        return [*points, *([center] if center else []), *fields, *collider_points(chain, spring)]

    def start(self, snapshot: SolvedScene) -> None:
        """Start without any frame."""
        self._recorded = []

    def step(self, snapshot: SolvedScene) -> None:
        """Record the inputs at a frame."""
        chain = cast(ChainPlan, history.chain_of(self._armature, self._index))
        rig, item, spring = chain.rig, snapshot.item(chain), self._spring
        to_space = _to_space(snapshot, center_of(spring))
        self._recorded.append(
            Recorded(
                now(spring_of(item), msg(" of the spring")),
                to_space,
                frame_in(to_space, snapshot.world(rig.object, rig.uid)),
                self._chain_input(snapshot, chain),
                WHOLE if chain.root_parent < 0 else snapshot.frame(rig, chain.root_parent),
                _colliders(snapshot, chain, spring, to_space),
                [field_at(snapshot, ob, to_space) for ob in force_fields(spring)],
            )
        )

    def result(self) -> bytes:
        """Simulate the strand, and return it as bytes."""
        spring = self._spring
        mode = Mode(spring.mode != "VRM", spring.use_settle, spring.use_loop, spring.use_cuts)
        rate = frame_rate(cast(bpy.types.Scene, bpy.context.scene))
        try:
            blob = packed(simulate(self._instants(), rate, mode))
            StoredStrand.unpacked(blob)  # Refuses numbers that aren't finite.
            return blob
        except (ValueError, ArithmeticError):
            raise ProblemError(
                "“{name}” can't be simulated: check the scale and position of its armature, center "
                "and colliders",
                name=settings(self._armature).constraints[self._index].name,
            ) from None

    def _instants(self) -> list[Instant]:
        """Return the inputs at all frames: as recorded, with the settings of now."""
        spring, paths = self._spring, _animated_paths(self._armature)
        owner = spring.path_from_id()
        current: Any = now(spring)
        still = {
            name: getattr(current, name)
            for name in current._fields
            if f"{owner}.{name}" not in paths
        }
        instants: list[Instant] = []
        last: object = None
        springs: list[Spring] = []
        for recorded in self._recorded:
            values = recorded.values._replace(**still)
            direction = unit(cast(Vec, tuple(values.gravity_direction))) or (0.0, 0.0, -1.0)
            share = 1.0 if values.mode == "VRM" else 1.0 / REFERENCE
            gravity = mat_apply(recorded.to_space[0], scaled(direction, values.gravity * share))
            chain = recorded.chain
            shared = tuple([getattr(values, name) for name in CURVES]), gravity, chain.links
            if shared != last:
                last = shared
                springs = _along(_positions(chain), values, gravity)
            fields = [field.weighted(values.field_weight) for field in recorded.fields]
            world, parent, colliders = recorded.world, recorded.parent, recorded.colliders
            instants.append(Instant(world, chain, parent, springs, colliders, values.reset, fields))
        return instants

    def _chain_input(self, snapshot: SolvedScene, chain: ChainPlan) -> ChainInput:
        """Return the chain as the constraints before it in the list pose it."""
        rig = chain.rig
        pose = snapshot.poses[rig.uid]
        if chain.is_layered:
            pose = posed_before(snapshot, chain, pose.fk)
        native = tuple([pose.fk.joints[bone] for _, bone in chain.joints.native])
        bits = pose.fk.bits_of(chain.ranges, chain.tip_bone), pose.beneath(chain.bones), native
        if self._input is None or bits != self._bits:
            bones = [rig.bone(bone) for bone in chain.bones]
            channels = [pose.posed_local(bone) for bone in chain.bones]
            limits, _ = chain.joints.now(native)
            tip = tip_of(chain, pose)
            self._input = ChainInput(bones, channels, tip, WHOLE, chain.limb.bend, limits)
        self._bits = bits
        return self._input


class _Moving(SpringSimulation):
    """What moves a strand: all its inputs but the settings of its spring."""

    def inputs(self) -> object:
        """Return the settings, without those of the spring."""
        return self.moving()

    def key(self, frames: tuple[int, int]) -> bytes:
        """Return the digest."""
        return history.digest_of(self._armature, self, frames).key()


def _animated_paths(armature: bpy.types.Object) -> set[str]:
    """Return the paths of the settings of an armature that are animated."""
    channels = animation.animated(armature)
    return {path for path, _ in channels.keyed | channels.driven}


def _unanimated(group: Any, paths: set[str]) -> list[tuple[str, object]]:
    """Return the settings of a group that are neither animated nor at their defaults.

    Of data-blocks, only whether there is one: the digest contains them anyway, but not their role.
    """
    owner = group.path_from_id()
    return [
        (name, data_blocks.plain(value))
        for name, value in values_of(group, without_defaults=True).items()
        if f"{owner}.{name}" not in paths and name not in NAMES
    ]


def _positions(chain_input: ChainInput) -> list[float]:
    """Return where the bones are along the strand: the first one at 0, the last one at 1."""
    positions = [0.0]
    for a, b in pairwise(chain_input.joints[:-1]):
        positions.append(positions[-1] + dist(a, b))
    return [position / (positions[-1] or 1.0) for position in positions]


def _along(positions: list[float], spring: FabrikSpring, gravity: Vec) -> list[Spring]:
    """Return the springs of the bones: values blend from the first to the last one."""
    springs: list[Spring] = []
    for position in positions:
        stiffness, drag, radius = [
            value * (1.0 + position * (tip - 1.0))
            for value, tip in (
                (spring.stiffness, spring.stiffness_tip),
                (spring.drag, spring.drag_tip),
                (spring.radius, spring.radius_tip),
            )
        ]
        springs.append(Spring(stiffness, min(drag, 1.0), gravity, radius))
    return springs


def _named(ob: bpy.types.Object, bone: str) -> Point:
    """Return an object, or its bone with a name."""
    if not bone or ob.type != "ARMATURE" or ob.pose is None:
        return Point(ob)
    skeleton = skeleton_of(ob)
    name = skeleton.renamed.get(bone, bone)
    return Point(ob, skeleton, skeleton.index[name]) if name in skeleton.index else Point(ob)


def center_of(spring: FabrikSpring) -> Point | None:
    """Return the center of a spring; None without one."""
    return None if spring.center is None else _named(spring.center, spring.center_bone)


def collider_points(chain: ChainPlan, spring: FabrikSpring) -> list[Point]:
    """Return what moves the colliders of a spring, collider by collider.

    Raises:
        ProblemError: If the strand itself moves a collider.
    """
    armature = chain.rig.object
    points: list[Point] = []
    for i in chosen_colliders(armature, spring):
        collider = colliders_of(armature)[i]
        point = _named(collider.object or armature, collider.bone)
        if is_on(point, chain):
            raise ProblemError(
                "The collider “{collider}” is on the strand itself: choose another group of "
                "colliders",
                collider=collider.name,
            )
        points.append(point)
    return points


def is_on(point: Point | None, chain: ChainPlan) -> bool:
    """Return whether a point moves with a strand."""
    if point is None or point.skeleton is not chain.rig:
        return False
    return chain.bones[0] in chain.rig.chain_up(point.bone)


def _to_space(snapshot: SolvedScene, center: Point | None) -> Frame:
    """Return the transform from world space to that of a center without scale.

    Raises:
        ProblemError: If the center has zero scale.
    """
    if center is None:
        return WHOLE
    axes, location = snapshot.place(center)
    square = orthonormalize(axes)
    if square is None:
        raise ProblemError(
            "“{object}” has zero scale, so it can't be a center: change its scale",
            object=center.object.name,
        )
    return inverse((square, location))


def _colliders(
    snapshot: SolvedScene, chain: ChainPlan, spring: FabrikSpring, to_space: Frame
) -> list[Collider]:
    """Return the colliders of a spring at a frame."""
    armature = chain.rig.object
    copy = cast(bpy.types.ID, snapshot.item(chain).id_data)
    colliders: list[Collider] = []
    for i, point in zip(
        chosen_colliders(armature, spring), collider_points(chain, spring), strict=True
    ):
        shape, radius = colliders_of(armature)[i], colliders_of(copy)[i].radius
        frame = frame_in(to_space, snapshot.place(point))
        is_sphere = shape.kind.endswith("SPHERE")
        start = point_in(frame, cast(Vec, tuple(shape.offset)))
        end = start if is_sphere else point_in(frame, cast(Vec, tuple(shape.tail)))
        size = abs(mat_determinant(frame[0])) ** (1.0 / 3.0)
        is_plane, is_inside = shape.kind == "PLANE", shape.kind.startswith("INSIDE")
        colliders.append(Collider(start, end, radius * size, is_plane, is_inside))
    return colliders


def strands(armature: bpy.types.Object) -> list[SpringSimulation]:
    """Return the simulations of the valid springs of an armature."""
    simulations: list[SpringSimulation] = []
    for i, item in enumerate(settings(armature).constraints):
        if item.solver == SOLVER:
            chain = history.chain_of(armature, i)
            if chain is None or not chain.problem:
                simulations.append(SpringSimulation(armature, i))
    return simulations


def cuts_of(record: History, strand: StoredStrand) -> str:
    """Return the frames at which a strand started again, as a text."""
    return ", ".join([str(record.start + cut) for cut in strand.cuts])


def problem_of(record: History, strand: StoredStrand) -> str:
    """Return what is wrong with a simulated strand, or an empty text."""
    if strand.penetration > CONFLICT * strand.size:
        return msg(
            "A joint is {depth:.3g} m deep in colliders at frame {frame}: move the colliders apart",
            depth=strand.penetration,
            frame=record.start + strand.deepest,
        )
    if strand.gap > LOOPED:
        return msg("The ends of the loop differ: increase Drag")
    return ""


def notes(armature: bpy.types.Object) -> list[str]:
    """Return where strands started again, and what is wrong with them."""
    texts: list[str] = []
    for i, item in enumerate(settings(armature).constraints):
        record = history.data(armature, history.owner_path(i, "spring"))
        if item.solver != SOLVER or record is None:
            continue
        strand = StoredStrand.unpacked(record.blob)
        if strand.cuts:
            frames = cuts_of(record, strand)
            texts.append(
                msg("“{name}” starts again at the cuts: {frames}", name=item.name, frames=frames)
            )
        if problem := problem_of(record, strand):
            texts.append(msg("“{name}”: {note}", name=item.name, note=problem))
    return texts
