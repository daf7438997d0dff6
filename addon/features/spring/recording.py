"""The simulation of a spring: it records the inputs of all frames, then simulates them together."""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterable
from functools import cached_property
from itertools import combinations, pairwise
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
from fabrik_solver.motion.easing import biased
from fabrik_solver.motion.force_field import ForceField
from fabrik_solver.motion.solid import Solid
from fabrik_solver.motion.spring import REFERENCE, Spring, Tail
from fabrik_solver.motion.spring_collision import Collider, Ground
from fabrik_solver.motion.spring_inputs import Instant
from fabrik_solver.motion.spring_strand import BEYOND, Mode, Strand, simulating

from ...blender import animation, data_blocks
from ...blender.access import frame_rate, session_uid
from ...blender.errors import ProblemError
from ...blender.listeners import on_load
from ...blender.messages import msg
from ...blender.skeleton import Point, skeleton_of
from ...blender.surface import surface_of
from ...frame.chain import tip_of
from ...frame.solved_scene import SolvedScene
from ...frame.solving import posed_before
from ...plan.chain_plan import ChainPlan, Snapshot
from ...settings.properties import settings
from ...settings.values import now, values_of
from ..simulation import history
from ..simulation.digest import Source
from ..simulation.history import History
from .fields import field_at, field_values, force_fields
from .settings import (
    ALONG,
    CURVES,
    DOWN,
    FabrikCollider,
    FabrikSpring,
    chosen_colliders,
    colliders_of,
    spring_of,
)

SOLVER = "SPRING"

FORM = codec.Form(b"FABS", 1)

SIMULATED_SETTINGS = ("chain_count", "use_tail")
"""Constraint settings that the simulation depends on."""

UP: Vec = (0.0, 0.0, 1.0)
"""The direction in which mesh colliders lift strands, in world space."""

NAMES = ("center_bone", "bone", "groups", "group")
"""Settings that are only names: the digest covers what they name."""

CONFLICT = 1e-5
"""The penetration to report, as a fraction of the strand's length; less is rounding."""

LOOPED = 1e-4
"""The gap between the ends of a loop to report, as a fraction of the strand's length."""


class StoredStrand(NamedTuple):
    """A stored simulation of a strand.

    Attributes:
        bones: The number of bones.
        cuts: The indices of the frames at which it starts again.
        deepest: The index of the frame with the deepest penetration into a collider.
        penetration: How deep that is, in meters.
        size: The length of the strand, in meters.
        gap: The gap between the ends of a loop, as a fraction of the strand's length.
        numbers: The local rotations, four numbers per bone, frame by frame.
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
        """Decode a strand.

        Raises:
            ValueError: If the bytes are damaged.
        """
        (bones, deepest, *cuts), _, (penetration, size, gap, *numbers) = FORM.unpacked(blob)
        if bones <= 0 or not numbers or len(numbers) % (4 * bones):
            raise ValueError(codec.DAMAGED)
        return cls(bones, cuts, deepest, penetration, size, gap, tuple(numbers))


def packed(strand: Strand) -> bytes:
    """Encode a simulated strand.

    Rotations are rounded to single precision, like channels. Compressed, they then take half the
    space. That matters because Blender copies them at each evaluation of the armature.
    """
    bones = len(strand.rotations[0]) // 4
    numbers = array("f", [number for rotations in strand.rotations for number in rotations])
    integers = [bones, strand.deepest, *strand.cuts]
    return FORM.packed(integers, (), [strand.penetration, strand.size, strand.gap, *numbers])


class Placement(NamedTuple):
    """The location of a collider at a frame, independent of the collider's settings.

    Attributes:
        frame: The transform from its space to simulation space.
        radius: Its radius, which may be animated.
        ground: The mesh, if the collider is one.
    """

    frame: Frame
    radius: float
    ground: Ground | None

    def at(self, frame: Frame, to_space: Frame) -> Placement:
        """Return the placement with another ``frame``.

        Args:
            frame: The transform from its space to simulation space.
            to_space: The result of `to_space_of`.
        """
        ground = self.ground
        if ground is None:
            return self._replace(frame=frame)
        solid = ground.solid.placed(frame)
        return Placement(frame, self.radius, ground_in(solid, to_space, ground.reach))


class Shape(NamedTuple):
    """A collider's settings; the radius is None if it is animated."""

    kind: str
    offset: Vec
    tail: Vec
    radius: float | None


class Still(NamedTuple):
    """The unanimated settings of a spring, by name, and of its colliders."""

    values: dict[str, Any]
    shapes: list[Shape]


class Recorded(NamedTuple):
    """Everything that moves a strand at a frame, independent of the spring's settings.

    Attributes:
        values: The settings at the frame, without pointers.
        to_space: The transform from world space to simulation space.
        world: See `Instant`.
        chain: See `Instant`.
        parent: See `Instant`.
        placements: Where its colliders are.
        fields: The force fields at full strength.
    """

    values: Any
    to_space: Frame
    world: Frame
    chain: ChainInput
    parent: Frame
    placements: list[Placement]
    fields: list[ForceField]


class Result(NamedTuple):
    """A simulated strand.

    Attributes:
        blob: The encoded strand.
        cuts: The indices of the frames at which it starts again.
        states: The state of its bones at each frame.
        still: The settings that it was simulated with.
    """

    blob: bytes
    cuts: list[int]
    states: list[list[Tail]]
    still: Still


class Recording(NamedTuple):
    """What moved a strand in its last simulation, and the result.

    Attributes:
        frames: The first and last frame.
        key: The digest of all inputs but the settings of its spring and colliders.
        frame_by_frame: What moved it, including the `BEYOND` frames after the last.
        result: The result.
    """

    frames: tuple[int, int]
    key: bytes
    frame_by_frame: list[Recorded]
    result: Result


_recordings: dict[tuple[int, str], Recording] = {}
"""The recordings by armature and owner."""


@on_load
def _forget_recordings() -> None:
    """Forget the previous file. Undo keeps recordings: they don't refer to Blender data."""
    _recordings.clear()


def recordings_of(armature: bpy.types.Object) -> dict[str, Recording]:
    """Return the last recordings of an armature's strands, by owner."""
    uid = session_uid(armature)
    return {owner: recording for (of, owner), recording in _recordings.items() if of == uid}


class SpringSimulation(history.SimulatedConstraint):
    """The simulation of a strand."""

    margin = BEYOND

    def __init__(self, armature: bpy.types.Object, index: int) -> None:
        """Set the armature, and the index of its constraint."""
        super().__init__(armature, index, "spring")
        self._first = 0.0
        self._recorded: list[Recorded] = []
        self._result = Result(b"", [], [], Still({}, []))
        self._input: ChainInput | None = None
        self._bits: object = None

    @property
    def _spring(self) -> FabrikSpring:
        return spring_of(self._item)

    @cached_property
    def fields(self) -> list[bpy.types.Object]:
        """The objects with force fields, in their order before any was unhidden for playing."""
        return force_fields(self._spring)

    def inputs(self) -> object:
        """Return the settings that aren't animated, and the frame rate."""
        armature, spring = self._armature, self._spring
        paths, colliders = animation.animated(armature).paths, colliders_of(armature)
        shapes = [_unanimated(colliders[i], paths) for i in chosen_colliders(armature, spring)]
        return _unanimated(spring, paths), self.moving(shapes)

    def moving(self, colliders: object) -> object:
        """Return the inputs that aren't settings of the spring.

        Args:
            colliders: What to include of the colliders.
        """
        chain = self._chain()
        return (
            self.rate,
            [getattr(self._item, name) for name in SIMULATED_SETTINGS],
            colliders,
            [] if chain is None else chain.joints.drawn,
            self._spring.center is not None,
            [field_values(ob) for ob in self.fields],
        )

    def recall(self, frames: tuple[int, int]) -> bool:
        """Use the recording; return whether playing the frames would give the same recording."""
        recording = _recordings.get((session_uid(self._armature), self.owner))
        if recording is None or recording.frames != frames:
            return False
        self._recorded = recording.frame_by_frame
        return recording.key == self._moving_key(frames)

    def remember(self, frames: tuple[int, int]) -> None:
        """Keep the recording, so that other settings can be tried without playing the frames."""
        owner = session_uid(self._armature), self.owner
        key = self._moving_key(frames)
        _recordings[owner] = Recording(frames, key, self._recorded, self._result)

    def _moving_key(self, frames: tuple[int, int]) -> bytes:
        """Return the digest of all inputs but the settings of the spring and its colliders."""
        moving = _Moving(self._armature, self._index)
        moving.fields = self.fields
        return history.digest_of(self._armature, moving, frames).key()

    def sources(self) -> list[Source]:
        """Return the last bone, the center, the force fields, and what moves the colliders."""
        chain = self._chain()
        if chain is None:
            return []
        spring = self._spring
        center = center_of(spring)
        points = [Point(chain.rig.object, chain.rig, chain.bones[-1])]
        fields = [Point(ob) for ob in self.fields]
        colliders = [
            point.object if shape.kind == "MESH" else point
            for shape, point in collider_points(chain, spring)
        ]
        return [*points, *([center] if center else []), *fields, *colliders]

    def shown(self) -> list[bpy.types.Object]:
        """Return the force fields and meshes, which count even if hidden."""
        sources = [source for source in self.sources() if isinstance(source, bpy.types.Object)]
        return [*self.fields, *sources]

    def start(self, snapshot: SolvedScene) -> None:
        """Start before the first frame."""
        self._first = snapshot.time + self.margin
        self._recorded = []

    def step(self, snapshot: SolvedScene) -> None:
        """Record the inputs at a frame; frames before the range don't count."""
        if snapshot.time < self._first:
            return
        chain = cast(ChainPlan, self._chain())
        rig, item, spring = chain.rig, snapshot.item(chain), self._spring
        to_space = to_space_of(snapshot, center_of(spring))
        world = frame_in(to_space, snapshot.world(rig.object, rig.uid))
        strand = self._chain_input(snapshot, chain)
        self._recorded.append(
            Recorded(
                now(spring_of(item), msg(" of the spring")),
                to_space,
                world,
                strand,
                WHOLE if chain.root_parent < 0 else snapshot.frame(rig, chain.root_parent),
                _placements(snapshot, chain, spring, to_space, strand, world),
                [field_at(snapshot, ob, to_space) for ob in self.fields],
            )
        )

    def compute(self) -> Generator[float, None, None]:
        """Simulate the strand, and yield the progress."""
        try:
            still = self.still()
            instants = self.instants(self._recorded, still)
            strand = yield from simulating(instants, self.rate, self.mode, BEYOND)
            blob = packed(strand)
            StoredStrand.unpacked(blob)  # Raises if a number isn't finite.
        except (ValueError, ArithmeticError):
            raise ProblemError(
                "“{name}” can't be simulated: check the scale and position of its armature, center "
                "and colliders",
                name=self._item.name,
            ) from None
        self._result = Result(blob, strand.cuts, strand.states, still)

    def result(self) -> bytes:
        """Return the strand that was computed, as bytes."""
        return self._result.blob

    @property
    def rate(self) -> float:
        """The frame rate."""
        return frame_rate(cast(bpy.types.Scene, bpy.context.scene))

    @property
    def mode(self) -> Mode:
        """How the strand is simulated."""
        spring = self._spring
        return Mode(spring.mode != "VRM", spring.use_settle, spring.use_loop, spring.use_cuts)

    def still(self) -> Still:
        """Return the current settings that aren't animated."""
        armature, spring = self._armature, self._spring
        paths, colliders = animation.animated(armature).paths, colliders_of(armature)
        current: Any = now(spring)
        owner, names = spring.path_from_id(), current._fields
        values = {n: getattr(current, n) for n in names if f"{owner}.{n}" not in paths}
        shapes = [
            Shape(
                colliders[i].kind,
                cast(Vec, tuple(colliders[i].offset)),
                cast(Vec, tuple(colliders[i].tail)),
                None if _radius_path(i) in paths else colliders[i].radius,
            )
            for i in chosen_colliders(armature, spring)
        ]
        return Still(values, shapes)

    def instants(self, frames: Iterable[Recorded], still: Still) -> list[Instant]:
        """Return the inputs at some frames: as recorded, but with these unanimated settings."""
        instants: list[Instant] = []
        last: object = None
        springs: list[Spring] = []
        for recorded in frames:
            values = recorded.values._replace(**still.values)
            direction = unit(values.gravity_direction) or DOWN
            share = 1.0 if values.mode == "VRM" else 1.0 / REFERENCE
            gravity = mat_apply(recorded.to_space[0], scaled(direction, values.gravity * share))
            chain = recorded.chain
            shared = tuple([getattr(values, name) for name in CURVES]), gravity, chain.links
            if shared != last:
                last = shared
                springs = _along(_positions(chain), values, gravity)
            fields = [field.weighted(values.field_weight) for field in recorded.fields]
            placements = zip(still.shapes, recorded.placements, strict=True)
            colliders = [_collider(*both) for both in placements]
            world, parent = recorded.world, recorded.parent
            instants.append(Instant(world, chain, parent, springs, colliders, values.reset, fields))
        return instants

    def _chain_input(self, snapshot: SolvedScene, chain: ChainPlan) -> ChainInput:
        """Return the chain as posed by the constraints before it in the list."""
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
    """What moves a strand: all its inputs but the settings of its spring and colliders."""

    def inputs(self) -> object:
        """Return the settings, without those of the spring and the shapes of its colliders."""
        armature = self._armature
        paths, colliders = animation.animated(armature).paths, colliders_of(armature)
        chosen = chosen_colliders(armature, self._spring)
        parents = [(colliders[i].object, colliders[i].bone) for i in chosen]
        return self.moving(
            [
                (parents.index(parent), i if _radius_path(i) in paths else -1, is_mesh)
                for i, parent in zip(chosen, parents, strict=True)
                for is_mesh in (colliders[i].kind == "MESH",)
            ]
        )


def _unanimated(group: Any, paths: set[str]) -> list[tuple[str, object]]:
    """Return a group's settings that are neither animated nor at their defaults.

    A data-block counts only as present or not: the digest covers its contents, but not its role.
    """
    owner = group.path_from_id()
    return [
        (name, data_blocks.plain(value))
        for name, value in values_of(group, without_defaults=True).items()
        if f"{owner}.{name}" not in paths and name not in NAMES
    ]


def _positions(chain_input: ChainInput) -> list[float]:
    """Return the positions of the bones along the strand, from 0 at the first to 1 at the last."""
    positions = [0.0]
    for a, b in pairwise(chain_input.joints[:-1]):
        positions.append(positions[-1] + dist(a, b))
    return [position / (positions[-1] or 1.0) for position in positions]


def _along(positions: list[float], spring: Any, gravity: Vec) -> list[Spring]:
    """Return the springs of the bones, with values blended from the first to the last.

    Args:
        positions: The positions of the bones along the strand, from 0 to 1.
        spring: The settings.
        gravity: The gravity of the first bone, in simulation space.
    """
    springs: list[Spring] = []
    for position in positions:
        shares = [
            1.0
            + biased(position, getattr(spring, f"{name}_middle"))
            * (getattr(spring, f"{name}_tip") - 1.0)
            for name in ALONG
        ]
        stiffness, drag, fall, radius = shares
        springs.append(
            Spring(
                spring.stiffness * stiffness,
                min(spring.drag * drag, 1.0),
                scaled(gravity, fall),
                spring.radius * radius,
            )
        )
    return springs


def _named(ob: bpy.types.Object, bone: str) -> Point:
    """Return an object, or its bone of this name."""
    if not bone or ob.type != "ARMATURE" or ob.pose is None:
        return Point(ob)
    skeleton = skeleton_of(ob)
    name = skeleton.renamed.get(bone, bone)
    return Point(ob, skeleton, skeleton.index[name]) if name in skeleton.index else Point(ob)


def center_of(spring: FabrikSpring) -> Point | None:
    """Return a spring's center, if any."""
    return None if spring.center is None else _named(spring.center, spring.center_bone)


def collider_points(chain: ChainPlan, spring: FabrikSpring) -> list[tuple[FabrikCollider, Point]]:
    """Return a spring's colliders, each with the point that moves it.

    Raises:
        ProblemError: If the strand itself moves a collider.
    """
    armature = chain.rig.object
    points: list[tuple[FabrikCollider, Point]] = []
    for i in chosen_colliders(armature, spring):
        collider = colliders_of(armature)[i]
        point = _named(collider.object or armature, collider.bone)
        if is_on(point, chain):
            raise ProblemError(
                "The collider “{collider}” is on the strand itself: choose another group of "
                "colliders",
                collider=collider.name,
            )
        points.append((collider, point))
    return points


def is_on(point: Point | None, chain: ChainPlan) -> bool:
    """Return whether a point moves with a strand."""
    if point is None or point.skeleton is not chain.rig:
        return False
    return chain.bones[0] in chain.rig.chain_up(point.bone)


def to_space_of(snapshot: Snapshot, center: Point | None) -> Frame:
    """Return the transform from world space to the space of a center, ignoring its scale.

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


def _length(chain: ChainInput, world: Frame) -> float:
    """Return a chain's length in another space."""
    return sum([dist(a, b) for a, b in pairwise([point_in(world, j) for j in chain.joints])])


def _placements(
    snapshot: SolvedScene,
    chain: ChainPlan,
    spring: FabrikSpring,
    to_space: Frame,
    strand: ChainInput,
    world: Frame,
) -> list[Placement]:
    """Return where a spring's colliders are at a frame.

    Args:
        snapshot: The solved scene at the frame.
        chain: The plan of the strand.
        spring: Its settings.
        to_space: The transform from world space to simulation space.
        strand: Its bones, in armature space.
        world: The transform from armature space to simulation space.
    """
    copy = cast(bpy.types.ID, snapshot.item(chain).id_data)
    radii = [collider.radius for collider in colliders_of(copy)]
    chosen = chosen_colliders(chain.rig.object, spring)
    placements: list[Placement] = []
    for i, (shape, point) in zip(chosen, collider_points(chain, spring), strict=True):
        place = snapshot.place(point)
        ground = None
        if shape.kind == "MESH":
            surface = surface_of(snapshot.depsgraph, point.object, place)
            solid = surface.seen_from(inverse(to_space))
            ground = ground_in(solid, to_space, _length(strand, world))
        placements.append(Placement(frame_in(to_space, place), radii[i], ground))
    return placements


def ground_in(solid: Solid, to_space: Frame, reach: float) -> Ground:
    """Return a solid as a ground in another space; ``to_space`` maps world space to it."""
    return Ground(solid, mat_apply(to_space[0], UP), reach)


def _collider(shape: Shape, placement: Placement) -> Collider:
    frame, radius, ground = placement
    if ground is not None:
        return ground
    if shape.radius is not None:
        radius = shape.radius
    start = point_in(frame, shape.offset)
    end = start if shape.kind.endswith("SPHERE") else point_in(frame, shape.tail)
    size = abs(mat_determinant(frame[0])) ** (1.0 / 3.0)
    is_plane, is_inside = shape.kind == "PLANE", shape.kind.startswith("INSIDE")
    return Collider(start, end, radius * size, is_plane, is_inside)


def _radius_path(collider: int) -> str:
    """Return the property path of a collider's radius, from the armature object."""
    return f"fabrik.colliders[{collider}].radius"


def strands(armature: bpy.types.Object) -> list[SpringSimulation]:
    """Return the simulations of an armature's valid springs."""
    return [SpringSimulation(armature, i) for i in history.valid_constraints(armature, SOLVER)]


def problem_of(record: History, strand: StoredStrand) -> str:
    """Return the problem of a simulated strand; empty if there is none."""
    if strand.penetration > CONFLICT * strand.size:
        return msg(
            "A joint is {depth:.3g} m deep in colliders at frame {frame}: move the colliders apart",
            depth=strand.penetration,
            frame=record.start + strand.deepest,
        )
    if strand.gap > LOOPED:
        return msg("The ends of the loop differ: increase Drag")
    return ""


def _sharing(armature: bpy.types.Object) -> list[str]:
    """Return a message for each pair of strands that share bones.

    The second strand of a pair was recorded on the motion of the first.
    """
    items = settings(armature).constraints
    springs = [i for i, item in enumerate(items) if item.enabled and item.solver == SOLVER]
    chains = [chain for i in springs if (chain := history.chain_of(armature, i)) is not None]
    return [
        msg(
            "“{first}” and “{second}” share bones, so the second swings on top of the first: "
            "decrease their Chain Length, or remove one of them",
            first=first.name,
            second=second.name,
        )
        for first, second in combinations(chains, 2)
        if not {*first.bones}.isdisjoint(second.bones)
    ]


def notes(armature: bpy.types.Object) -> list[str]:
    """Return notes on the frames at which strands start again, and on the strands' problems."""
    texts = _sharing(armature)
    for i, item in enumerate(settings(armature).constraints):
        record = history.data(armature, history.owner_path(i, "spring"))
        if item.solver != SOLVER or record is None:
            continue
        strand = StoredStrand.unpacked(record.blob)
        if strand.cuts:
            frames = ", ".join([str(record.start + cut) for cut in strand.cuts])
            texts.append(
                msg("“{name}” starts again at the cuts: {frames}", name=item.name, frames=frames)
            )
        if problem := problem_of(record, strand):
            texts.append(msg("“{name}”: {note}", name=item.name, note=problem))
    return texts
