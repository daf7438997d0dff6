"""Strands of springs, simulated frame by frame; `spring` has the law of a bone."""

from collections.abc import Generator, Sequence
from itertools import pairwise
from math import ceil
from typing import Final, NamedTuple, final

from ..core import WHOLE, Frame, frame_in, inverse, point_in, swing_along
from ..core.vectors import (
    ORIGIN,
    Mat3,
    Quat,
    Vec,
    add,
    inverse_direction,
    length,
    mat_apply,
    mat_inverse,
    mat_product,
    quat_between,
    quat_inverse,
    quat_matrix,
    quat_product,
    scale_columns,
    scaled,
    sub,
    times,
    unit_or,
)
from .force_field import fields_at
from .spring import Pull, Tail
from .spring_collision import SWEEPS, cleared, penetration
from .spring_inputs import (
    Instant,
    Moment,
    carrying,
    colliders_at,
    extended,
    fk_joints,
    forms_of,
    frame_at,
    is_plain,
    parent_of,
    springs_at,
)

RATE: Final = 120.0
"""The minimum number of steps per second; every frame is at a step."""

AGREED: Final = 1e-5
"""How far apart the ends of a loop may be to agree, as a fraction of the strand's length."""

BEYOND: Final = 2
"""How many later frames a frame depends on. The path to it bends toward the next frame, if that
isn't a cut. Deciding this takes another frame."""

CYCLES: Final = 200
"""The maximum number of cycles before a loop. Without drag its ends never agree."""


class Mode(NamedTuple):
    """How a strand is simulated.

    Attributes:
        is_steady: Whether it is independent of the frame rate, instead of following VRM's rule.
        is_settled: Whether it starts with its forces in equilibrium instead of in its FK pose.
        is_loop: Whether the last frame continues with the first.
        finds_cuts: Whether it starts again where the character is moved elsewhere.
    """

    is_steady: bool = True
    is_settled: bool = False
    is_loop: bool = False
    finds_cuts: bool = True


class Strand(NamedTuple):
    """A simulated strand.

    Attributes:
        rotations: The local rotations of its bones at each frame, four numbers per bone.
        joints: Its joints at each frame, root first, in simulation space.
        cuts: The indices of the frames at which it starts again.
        size: Its length at the first frame.
        penetration: The largest depth of a tail in colliders. VRM's rule ignores this.
        deepest: The index of the frame with the deepest penetration.
        gap: The distance between the ends of a loop, as a fraction of the strand's length.
        states: The state of its bones at each frame, from which the simulation can continue.
    """

    rotations: list[list[float]]
    joints: list[list[Vec]]
    cuts: list[int]
    size: float
    penetration: float
    deepest: int
    gap: float
    states: list[list[Tail]]


def simulate(instants: Sequence[Instant], rate: float, mode: Mode, beyond: int = 0) -> Strand:
    """Return a strand simulated from its inputs at all frames; see `simulating`."""
    work = simulating(instants, rate, mode, beyond)
    while True:
        try:
            next(work)
        except StopIteration as finished:
            strand: Strand = finished.value
            return strand


def simulating(
    instants: Sequence[Instant], rate: float, mode: Mode, beyond: int = 0
) -> Generator[float, None, Strand]:
    """Simulate a strand from its inputs at all frames.

    Args:
        instants: The inputs, frame by frame.
        rate: Frames per second.
        mode: How it is simulated.
        beyond: The number of instants after the last frame. With `BEYOND`, each frame is the same
            as in any longer range. A loop doesn't use them: its last frame continues with the
            first.

    Yields:
        After each second of the motion, the progress from 0 to 1.

    Raises:
        ValueError: If the frames are missing, their bones or colliders differ in number, or a space
            is singular.
    """
    count = len(instants) - beyond
    simulation = _Simulation(instants[:count] if mode.is_loop else instants, rate, mode)
    return simulation.run(count)


def simulate_on(
    instants: Sequence[Instant],
    rate: float,
    mode: Mode,
    state: Sequence[Tail],
    frames: tuple[int, int],
    starts: set[int],
) -> list[float]:
    """Return the local rotations at a frame, four numbers per bone, simulated on from a state.

    With the inputs that led to the state, the result is that of the full simulation, up to
    rounding. The frames next to the ends of a loop are an exception.

    Args:
        instants: The inputs of the frames before, at and after the simulated ones.
        rate: Frames per second.
        mode: How it is simulated.
        state: The state at the first simulated frame; empty to start there.
        frames: The indices of the first and last simulated frame.
        starts: The indices of the frames at which the strand starts again.

    Raises:
        ValueError: As in `simulate`.
    """
    simulation = _Simulation(instants, rate, mode._replace(is_loop=False))
    return simulation.run_on(state, *frames, starts)


def _jumps(shown: Sequence[Sequence[Vec]]) -> list[int]:
    """Return the frames to which a strand jumps, from its joints in the FK pose at all frames.

    A jump is a step that is longer than both neighboring steps and the strand together. Neither the
    strand's speed nor its size explains such a step. Steps are those of the strand's two ends.
    """
    steps = [0.0]
    for a, b in pairwise(shown):
        steps.append(max(length(sub(b[0], a[0])), length(sub(b[-1], a[-1]))))
    steps.append(0.0)
    size = sum([length(sub(b, a)) for a, b in pairwise(shown[0])])
    return [i for i in range(1, len(shown)) if steps[i] > steps[i - 1] + steps[i + 1] + size]


@final
class _Simulation:
    """A strand at one time.

    Attributes:
        rate: Frames per second.
        mode: How it is simulated.
        instants: Its inputs at all frames.
        tails: The state of each bone.
    """

    def __init__(self, instants: Sequence[Instant], rate: float, mode: Mode) -> None:
        """Set the inputs of all frames.

        Raises:
            ValueError: If there are no frames, or the number of bones or colliders differs.
        """
        if not instants:
            raise ValueError("a spring needs the inputs of at least one frame")
        counts = {
            (
                len(instant.springs),
                len(instant.chain.links),
                len(instant.colliders),
                len(instant.fields),
            )
            for instant in instants
        }
        if len(counts) > 1 or len(instants[0].springs) != len(instants[0].chain.links):
            raise ValueError("the inputs of a spring differ in their bones, colliders or fields")
        self.rate = rate
        self.mode = mode
        self.instants = instants
        self.steps = ceil(RATE / rate - 1e-9) if mode.is_steady else 1
        self.tails: list[Tail] = []
        self._pause = ceil(rate)
        self._parents = [parent_of(instant) for instant in instants]
        self._forms = forms_of(instants)
        self._instant = instants[0]

    def run(self, count: int) -> Generator[float, None, Strand]:
        """Simulate the first frames, and yield the progress; later frames are only inputs."""
        starts = {0, *self._cuts()}
        cuts = sorted(starts & {*range(1, count)})
        gap = 0.0
        self._start(0)
        if self.mode.is_loop and len(self.instants) > 1:
            gap = yield from self._run_in(starts)
        size = sum([length(tail.arm) for tail in self.tails])
        strand = Strand([], [], cuts, size, 0.0, 0, gap, [])
        for i in range(count):
            if i > 0:
                self._advance(i, starts)
            rotations, joints = self._posed(i)
            strand.rotations.append(rotations)
            strand.joints.append(joints)
            strand.states.append([tail.copied() for tail in self.tails])
            depth = self._depth(i) if self.mode.is_steady else 0.0
            if depth > strand.penetration:
                strand = strand._replace(penetration=depth, deepest=i)
            if i % self._pause == 0:
                yield (i + 1) / count
        return strand

    def run_on(self, state: Sequence[Tail], start: int, end: int, starts: set[int]) -> list[float]:
        """Simulate some frames from a state; return the rotations at the last one."""
        self.tails = [tail.copied() for tail in state]
        self._instant = self.instants[start]
        if not state:
            self._start(start)
        for i in range(start + 1, end + 1):
            self._advance(i, starts)
        return self._posed(end)[0]

    def _cuts(self) -> list[int]:
        """Return the frames at which the strand starts again."""
        jumps: list[int] = []
        if self.mode.finds_cuts:
            pairs = zip(self._parents, self._forms, strict=True)
            jumps = _jumps([fk_joints(parent, form) for parent, form in pairs])
        return [
            i
            for i, instant in enumerate(self.instants)
            if i > 0 and (instant.is_reset or i in jumps)
        ]

    def _run_in(self, starts: set[int]) -> Generator[float, None, float]:
        """Repeat the cycle until its ends agree; return how far apart they are.

        Meanwhile the progress stays at 0. The ends are compared in the parent's space, because the
        character may have walked on.
        """
        back = carrying(self._parents[-1], self._parents[0])
        size = sum([length(tail.arm) for tail in self.tails]) or 1.0
        gap = 0.0
        for _ in range(CYCLES):
            start_joints = self._joints()
            for i in range(1, len(self.instants)):
                self._advance(i, starts)
                if i % self._pause == 0:
                    yield 0.0
            for tail in self.tails:
                tail.carry(back)
            end_joints = self._joints()
            gap = (
                max([length(sub(a, b)) for a, b in zip(start_joints, end_joints, strict=True)])
                / size
            )
            if gap <= AGREED:
                break
        return gap

    def _joints(self) -> list[Vec]:
        return [self.tails[0].head, *[add(tail.head, tail.arm) for tail in self.tails]]

    def _start(self, i: int) -> None:
        """Start at rest at a frame, in the FK pose or in equilibrium."""
        self.tails = [
            Tail(a, sub(b, a)) for a, b in pairwise(fk_joints(self._parents[i], self._forms[i]))
        ]
        self._instant = self.instants[i]
        self._step(self._moment(i), self.mode.is_settled, 0.0)
        for tail in self.tails:
            tail.shift = tail.swing = ORIGIN

    def _moment(self, i: int) -> Moment:
        """Return the inputs at a frame."""
        instant = self.instants[i]
        axes, root = self._parents[i]
        springs, colliders, fields = instant.springs, instant.colliders, instant.fields
        return Moment(axes, root, self._forms[i], springs, [], colliders, fields)

    def _advance(self, i: int, starts: set[int]) -> None:
        """Advance from the previous frame to a frame."""
        if i in starts:
            self._start(i)
            return
        self._instant = instant = self.instants[i]
        if not self.mode.is_steady:
            self._step(self._moment(i), False, 1.0 / self.rate)
            return
        h = 1.0 / (self.rate * self.steps)
        around = self._around(i, starts)
        pulls: list[Pull] = []
        for step in range(1, self.steps + 1):
            part = step / self.steps
            springs = springs_at(self.instants[i - 1].springs, instant.springs, part)
            if not pulls or springs is not instant.springs:
                pulls = [Pull(spring, h) for spring in springs]
            axes, root = frame_at(around, part)
            form = self._forms[i - 1].toward(self._forms[i], part)
            colliders = colliders_at(self.instants[i - 1].colliders, instant.colliders, part)
            fields = fields_at(self.instants[i - 1].fields, instant.fields, part)
            moment = Moment(axes, root, form, springs, pulls, colliders, fields)
            if step < self.steps and not instant.chain.constrained:
                self._step_between(moment)
            else:
                self._step(moment, False, h)

    def _around(self, i: int, starts: set[int]) -> list[Frame]:
        """Return the frames of the root's parent before, at and after an interval.

        Across a cut or beyond the ends, they are extrapolated; in a loop they follow the cycle.
        """
        parents = self._parents
        last = len(parents) - 1
        a, b = parents[i - 1], parents[i]
        earlier = later = WHOLE
        has_earlier = i - 1 not in starts
        has_later = i < last and i + 1 not in starts
        if has_earlier:
            earlier = parents[i - 2]
        elif i == 1 and self.mode.is_loop:
            earlier = frame_in(carrying(parents[last], parents[0]), parents[last - 1])
            has_earlier = True
        if has_later:
            later = parents[i + 1]
        elif i == last and self.mode.is_loop:
            later = frame_in(carrying(parents[0], parents[last]), parents[1])
            has_later = True
        if not has_earlier:
            earlier = extended(a, b, later, has_later)
        if not has_later:
            later = extended(b, a, earlier, has_earlier)
        return [earlier, a, b, later]

    def _step_between(self, moment: Moment) -> None:
        """Advance by a step between frames, at which axes aren't needed.

        Under uneven scale, bones keep the lengths of the last frame.
        """
        head, parent, form = moment.root, moment.parent, moment.form
        colliders = moment.colliders
        for i, tail in enumerate(self.tails):
            along = mat_apply(parent, form.rests[i])
            size = length(along)
            if size > 0.0:
                rest = scaled(along, 1.0 / size)
                lever = size * form.levers[i]
                size *= tail.stretch
                external = moment.external(i, tail)
                direction = tail.direction(head, rest, size, lever, moment.pulls[i], external)
                if colliders:
                    radius = moment.springs[i].radius
                    direction = cleared(head, direction, size, radius, colliders)
                along = scaled(direction, size)
            tail.move(head, along)
            head = add(head, along)

    def _step(self, moment: Moment, is_settling: bool, h: float) -> None:
        """Advance by a step of ``h`` seconds; with 0, only move the strand to where it starts."""
        form = moment.form
        axes, head = moment.parent, moment.root
        for i, tail in enumerate(self.tails):
            unscaled, aim, scale = mat_product(axes, form.turns[i]), form.aims[i], form.sizes[i]
            if self._instant.chain.constrained and not self._instant.chain.links[i].is_plain:
                unscaled, aim, scale = self._shown(i, axes)
            along = mat_apply(unscaled, aim)
            size = length(along)
            if size > 0.0:
                direction = self._direction(moment, i, head, (unscaled, along), is_settling, h)
                tail.turn = self._swing(i, unscaled, aim, direction)
                unscaled = mat_product(unscaled, quat_matrix(tail.turn))
                along = mat_apply(unscaled, aim)
                tail.stretch = length(along) / (
                    length(mat_apply(moment.parent, form.rests[i])) or 1.0
                )
            tail.move(head, along)
            axes = scale_columns(unscaled, scale)
            head = add(head, along)

    def _shown(self, i: int, parent: Mat3) -> tuple[Mat3, Vec, Vec]:
        """Return a bone's unscaled axes and arm in the FK pose on its posed parent, and the scale.

        Limits apply to a bone's own channels, which depend on what it inherits. Between frames, the
        armature is taken at the later frame.
        """
        link, world = self._instant.chain.links[i], self._instant.world[0]
        unscaled, scale = link.unscaled(mat_product(mat_inverse(world), parent))
        return mat_product(world, unscaled), times(link.arm, scale), scale

    def _direction(
        self,
        moment: Moment,
        i: int,
        head: Vec,
        fk_pose: tuple[Mat3, Vec],
        is_settling: bool,
        h: float,
    ) -> Vec:
        """Return the new direction of a bone."""
        unscaled, along = fk_pose
        tail, spring, is_steady = self.tails[i], moment.springs[i], self.mode.is_steady
        external = moment.external(i, tail)
        size = length(along)
        rest = scaled(along, 1.0 / size)
        if is_steady:
            rest = unit_or(mat_apply(moment.parent, moment.form.rests[i]), rest)
        if h == 0.0:
            direction = tail.at_start(rest, spring, external, is_settling)
        elif is_steady:
            lever = size * moment.form.levers[i]
            direction = tail.direction(head, rest, size, lever, moment.pulls[i], external)
        else:
            colliders = moment.colliders
            return tail.next_direction(head, rest, size, spring, external, h, colliders)
        if moment.colliders and (is_steady or is_settling):
            return self._cleared(moment, i, head, direction, unscaled)
        return direction

    def _cleared(self, moment: Moment, i: int, head: Vec, direction: Vec, axes: Mat3) -> Vec:
        """Return a direction turned out of colliders; under uneven scale, the length changes."""
        radius, aim = moment.springs[i].radius, length(moment.form.aims[i])
        volume = mat_inverse(axes)
        size = 0.0
        for _ in range(SWEEPS):
            last, size = size, aim / (length(mat_apply(volume, direction)) or 1.0)
            if abs(size - last) <= AGREED * AGREED * size:
                break
            direction = cleared(head, direction, size, radius, moment.colliders)
        return direction

    def _swing(self, i: int, unscaled: Mat3, aim: Vec, direction: Vec) -> Quat:
        """Return the rotation to apply after the FK rotation to point a bone in a direction.

        Args:
            i: The bone's index in the strand.
            unscaled: The bone's axes before this rotation.
            aim: The bone's direction in these axes.
            direction: The wanted direction, in the space of the simulation.
        """
        swing = quat_between(aim, inverse_direction(unscaled, direction), (1.0, 0.0, 0.0))
        constrained = self._instant.chain.constrained
        if constrained and constrained[i].limit is not None:
            rotation = self._instant.chain.rotations[i]
            allowed = constrained[i].allowed(quat_product(rotation, swing))
            swing = quat_product(quat_inverse(rotation), allowed)
        return swing

    def _posed(self, i: int) -> tuple[list[float], list[Vec]]:
        """Return the local rotations at a frame, four numbers per bone, and the joints."""
        instant = self.instants[i]
        joints = self._joints()
        if not instant.chain.constrained and not is_plain(instant.chain):
            back, chain = inverse(instant.world), instant.chain.carried(instant.parent)
            return swing_along(chain, [point_in(back, joint) for joint in joints])[0], joints
        numbers: list[float] = []
        for tail, rotation in zip(self.tails, instant.chain.rotations, strict=True):
            numbers.extend(quat_product(rotation, tail.turn))
        return numbers, joints

    def _depth(self, i: int) -> float:
        """Return how deep a tail is in a collider."""
        instant = self.instants[i]
        depth = 0.0
        for tail, spring in zip(self.tails, instant.springs, strict=True):
            if instant.colliders:
                end = add(tail.head, tail.arm)
                depth = max(depth, penetration(end, spring.radius, instant.colliders))
        return depth
