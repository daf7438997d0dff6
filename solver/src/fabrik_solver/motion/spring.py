"""Springs: bones that swing on their parent by themselves, such as hair, ears and tails.

The model is that of VRMC_springBone 1.0 (https://github.com/vrm-c/vrm-specification). Each bone is
a rod on its parent, with all its mass at the tail. A step adds to the tail

    (tail − previous tail) (1 − drag) + dt · stiffness · rest axis + dt · gravity,

restores the bone's length, and pushes it out of each collider. `vrm_step` is this text. It depends
on the frame rate: drag and stiffness apply once a frame.

A steady `Mode` is the same law in continuous time, as VRM has it at 60 frames a second. Drag leaves
the share e = exp(−c h) of the velocity after h seconds. A bone that swings at ω about where its
forces point moves toward there by the share

    1 + e − 2 √e cos(h √(ω² − c² / 4))

in each step. So a damped spring is exact at its steps, at any stiffness, length and h. The motion
of the head is part of the forces. The length is restored along the previous direction (SHAKE;
Ryckaert, Ciccotti and Berendsen, 1977), which neither adds nor takes energy.

In two ways it differs from VRM. A bone swings as the pendulum that it is with all bones that it
carries, and it returns to the FK pose of the strand, not to its rest axis on the bone before it.
Otherwise each bone would amplify the motion of the one before: a strand of ten bones whips about,
and another frame rate shows another motion. A single bone is the same.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, cos, cosh, expm1, log1p, pi, sqrt
from typing import Final, NamedTuple, final

from ..core import WHOLE, ChainInput, Frame, frame_in, inverse, point_in, swing_along
from ..core.vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Mat3,
    Quat,
    Vec,
    add,
    inverse_direction,
    length,
    mat_apply,
    mat_inverse,
    mat_product,
    mix,
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
from .spring_collision import SWEEPS, Collider, cleared, penetration, pushed

REFERENCE: Final = 60.0
"""The frame rate, in 1/s, at which VRM's values have their meaning in continuous time."""

RATE: Final = 120.0
"""The least number of steps a second; frames are at steps."""

NO_DRAG: Final = 1e-12
"""The smallest drag, and the smallest distance of drag from 1: both ends are limits."""

AGREED: Final = 1e-5
"""The distance of the ends of a loop at which they agree, as a fraction of the strand's length."""

CYCLES: Final = 200
"""The maximum number of cycles before a loop. Without drag, its ends never agree."""


class Spring(NamedTuple):
    """The settings of a bone at a frame.

    Attributes:
        stiffness: VRM's stiffness.
        drag: VRM's drag, from 0 to 1.
        gravity: VRM's gravity, its power times its direction, in the space of the simulation.
        radius: The radius of the tail.
    """

    stiffness: float
    drag: float
    gravity: Vec
    radius: float


class Instant(NamedTuple):
    """The inputs of a strand at a frame.

    Attributes:
        world: The frame of the armature, in the space of the simulation: the world, or that of a
            center, whose axes are orthonormal.
        chain: The bones, in their FK pose, with their joint limits.
        springs: The settings of each bone.
        colliders: The colliders, in the space of the simulation; as many at each frame.
        is_reset: Whether the strand starts again at this frame.
    """

    world: Frame
    chain: ChainInput
    springs: Sequence[Spring]
    colliders: Sequence[Collider]
    is_reset: bool = False


class Mode(NamedTuple):
    """How a strand is simulated.

    Attributes:
        is_steady: Whether it is independent of the frame rate; otherwise as VRM specifies.
        is_settled: Whether it starts where its forces are in equilibrium, not in its FK pose.
        is_loop: Whether the last frame continues at the first one.
        finds_cuts: Whether it starts again where the character is moved elsewhere.
    """

    is_steady: bool = True
    is_settled: bool = False
    is_loop: bool = False
    finds_cuts: bool = True


class Strand(NamedTuple):
    """A simulated strand.

    Attributes:
        rotations: The local rotations of its bones at each frame, four numbers a bone.
        joints: Its joints at each frame, root first, in the space of the simulation.
        cuts: The indices of the frames at which it started again.
        penetration: How deep a tail is in colliders at most.
        deepest: The index of the frame at which it is.
        gap: The distance of the ends of a loop, as a fraction of the strand's length.
    """

    rotations: list[list[float]]
    joints: list[list[Vec]]
    cuts: list[int]
    penetration: float
    deepest: int
    gap: float


def vrm_step(
    head: Vec,
    tails: tuple[Vec, Vec],
    rest: Vec,
    size: float,
    spring: Spring,
    dt: float,
    colliders: Sequence[Collider],
) -> Vec:
    """Return the next tail of a bone as VRMC_springBone 1.0 specifies it.

    Args:
        head: The head of the bone.
        tails: Its current and its previous tail.
        rest: The direction of the bone at rest, a unit vector.
        size: Its length.
        spring: Its settings.
        dt: The duration of a frame in seconds.
        colliders: The colliders.
    """
    current, previous = tails
    inertia = scaled(sub(current, previous), 1.0 - spring.drag)
    external = add(scaled(rest, dt * spring.stiffness), scaled(spring.gravity, dt))
    aim = sub(add(add(current, inertia), external), head)
    tail = add(head, scaled(unit_or(aim, rest), size))
    return pushed(head, tail, size, spring.radius, colliders)


@final
class _Pull:
    """A spring for steps of some duration.

    Attributes:
        push: The displacement of VRM's forces in a step, per unit of force, in seconds.
        keep: The share of the velocity that a step leaves.
        root: Its square root.
        angle: The square of half the decay of a step, (c h / 2)².
        square: The square of h over the displacement of an acceleration.
        stiffness: See `Spring`.
        gravity: See `Spring`.
        radius: See `Spring`.
    """

    __slots__ = ("angle", "gravity", "keep", "push", "radius", "root", "square", "stiffness")
    push: float
    keep: float
    root: float
    angle: float
    square: float
    stiffness: float
    gravity: Vec
    radius: float

    def __init__(self, spring: Spring, h: float) -> None:
        drag = min(max(spring.drag, NO_DRAG), 1.0 - NO_DRAG)
        decay = -REFERENCE * log1p(-drag) * h
        lost = -expm1(-decay)
        self.keep = 1.0 - lost
        self.root = sqrt(self.keep)
        self.angle = 0.25 * decay * decay
        self.push = h * lost / drag
        # An acceleration a moves the tail by a h² in a step without drag, by less with drag.
        self.square = decay / lost
        self.stiffness = spring.stiffness
        self.gravity = spring.gravity
        self.radius = spring.radius

    def share(self, size: float) -> float:
        """Return the share by which a step moves a bone toward where its forces point.

        Args:
            size: Their displacement in a step, in lengths of the bone.
        """
        angle = size * self.square - self.angle
        turn = cos(min(sqrt(angle), pi)) if angle >= 0.0 else cosh(sqrt(-angle))
        return 1.0 + self.keep - 2.0 * self.root * turn


@final
class _Tail:
    """The state of a bone.

    Attributes:
        head: The position of its head.
        shift: The last displacement of its head.
        arm: The vector from its head to its tail.
        swing: The last change of that vector.
        rest: Its direction at rest, a unit vector.
        turn: Its local rotation, after that of the FK pose.
        stretch: Its length relative to that at rest, of a bone under uneven scale.
        weight: The share of a step's forces: half at its start, where they begin.
    """

    __slots__ = ("arm", "head", "rest", "shift", "stretch", "swing", "turn", "weight")
    stretch: float
    rest: Vec
    weight: float
    head: Vec
    shift: Vec
    arm: Vec
    swing: Vec
    turn: Quat

    def __init__(self, head: Vec, arm: Vec) -> None:
        self.head = head
        self.arm = arm
        self.shift = ORIGIN
        self.swing = ORIGIN
        self.rest = unit_or(arm, (0.0, 0.0, 1.0))
        self.turn = QUAT_IDENTITY
        self.stretch = 1.0
        self.weight = 0.5

    def direction(self, head: Vec, rest: Vec, size: float, lever: float, pull: _Pull) -> Vec:
        """Return the direction after a step, without colliders.

        Args:
            head: The new position of its head.
            rest: The new direction at rest, a unit vector.
            size: The length of the bone.
            lever: The length of the pendulum that it swings as.
            pull: The spring.
        """
        ox, oy, oz = self.head
        hx, hy, hz = head
        sx, sy, sz = self.shift
        gx, gy, gz = pull.gravity
        rx, ry, rz = self.rest  # The forces are those before the step, at its start.
        keep, push = pull.keep, self.weight * pull.push
        self.rest, self.weight = rest, 1.0
        self.shift = shift = (hx - ox, hy - oy, hz - oz)
        spring = push * pull.stiffness
        fx = spring * rx + push * gx + keep * sx - shift[0]
        fy = spring * ry + push * gy + keep * sy - shift[1]
        fz = spring * rz + push * gz + keep * sz - shift[2]
        force = sqrt(fx * fx + fy * fy + fz * fz)
        factor = pull.share(force / lever) * size / force if force > 0.0 else 0.0
        ux, uy, uz = self.swing
        tx, ty, tz = keep * ux + factor * fx, keep * uy + factor * fy, keep * uz + factor * fz
        ax, ay, az = self.arm
        square = ax * ax + ay * ay + az * az
        if square == 0.0:
            return rest
        along = (tx * ax + ty * ay + tz * az) / square
        tx, ty, tz = tx - ax * along, ty - ay * along, tz - az * along
        left = sqrt(max(0.0, 1.0 - (tx * tx + ty * ty + tz * tz) / square))
        return unit_or((ax * left + tx, ay * left + ty, az * left + tz), rest)

    def next_direction(
        self,
        head: Vec,
        rest: Vec,
        size: float,
        spring: Spring,
        dt: float,
        colliders: Sequence[Collider],
    ) -> Vec:
        """Return the direction after a frame as VRM specifies it; see `vrm_step`."""
        current = add(self.head, self.arm)
        previous = sub(current, add(self.shift, self.swing))
        moved = vrm_step(head, (current, previous), rest, size, spring, dt, colliders)
        self.shift = sub(head, self.head)
        return unit_or(sub(moved, head), rest)

    def move(self, head: Vec, arm: Vec) -> None:
        """Move to a new head and arm."""
        self.swing = sub(arm, self.arm)
        self.head = head
        self.arm = arm

    def carry(self, frame: Frame) -> None:
        """Carry the state to another place."""
        self.head = point_in(frame, self.head)
        self.shift = mat_apply(frame[0], self.shift)
        self.rest = unit_or(mat_apply(frame[0], self.rest), self.rest)
        self.arm = mat_apply(frame[0], self.arm)
        self.swing = mat_apply(frame[0], self.swing)


def simulate(instants: Sequence[Instant], rate: float, mode: Mode) -> Strand:
    """Return a strand simulated from its inputs at all frames.

    Args:
        instants: The inputs, frame by frame.
        rate: The frame rate, in frames a second.
        mode: How it is simulated.

    Raises:
        ValueError: If there are no frames, their bones or colliders differ in number, or a space is
            singular.
    """
    return _Simulation(instants, rate, mode).run()


@final
class _Form:
    """The bones of a strand in their FK pose.

    Attributes:
        turns: Of each bone, its unscaled axes in those of its posed parent.
        aims: Its arm, in these axes.
        sizes: Its scale.
        rests: Its arm, in the axes of the root's parent.
        levers: The length of the pendulum that it swings as with all bones that it carries, in
            lengths of the bone.
    """

    __slots__ = ("aims", "levers", "rests", "sizes", "turns")
    levers: list[float]
    turns: list[Mat3]
    aims: list[Vec]
    sizes: list[Vec]
    rests: list[Vec]

    def __init__(
        self, turns: list[Mat3], aims: list[Vec], sizes: list[Vec], rests: list[Vec]
    ) -> None:
        self.turns = turns
        self.aims = aims
        self.sizes = sizes
        self.rests = rests
        self.levers = _levers(rests)

    def toward(self, other: "_Form", t: float) -> "_Form":
        """Return the form on its way to another."""
        if self is other or t == 1.0:
            return other
        turns: list[Mat3] = []
        for a, b in zip(self.turns, other.turns, strict=True):
            turns.append(_combined([(a, ORIGIN), (b, ORIGIN)], [1.0 - t, t])[0])
        return _Form(
            turns,
            [mix(a, b, t) for a, b in zip(self.aims, other.aims, strict=True)],
            [mix(a, b, t) for a, b in zip(self.sizes, other.sizes, strict=True)],
            [mix(a, b, t) for a, b in zip(self.rests, other.rests, strict=True)],
        )


def _levers(arms: list[Vec]) -> list[float]:
    """Return the pendulum that each bone is with those that it carries, in its lengths.

    As all mass is at the tails, that of a rigid strand has the length Σ r² / Σ r, where r are the
    distances from its head to all tails.
    """
    levers: list[float] = []
    for i, arm in enumerate(arms):
        tail = ORIGIN
        squares = distances = 0.0
        for other in arms[i:]:
            tail = add(tail, other)
            distance = length(tail)
            squares += distance * distance
            distances += distance
        size = length(arm)
        levers.append(squares / (distances * size) if distances * size > 0.0 else 1.0)
    return levers


def _form_of(chain: ChainInput) -> _Form:
    """Return the form of a chain.

    Bones that don't inherit all from their parent do so here as in the FK pose.
    """
    turns: list[Mat3] = []
    aims: list[Vec] = []
    sizes: list[Vec] = []
    rests: list[Vec] = []
    axes = chain.parent[0]
    back = mat_inverse(axes)
    for link in chain.links:
        unscaled, scale = link.unscaled(axes)
        aim = times(link.arm, scale)
        turns.append(link.turn if link.is_plain else mat_product(mat_inverse(axes), unscaled))
        aims.append(aim)
        sizes.append(scale)
        rests.append(mat_apply(back, mat_apply(unscaled, aim)))
        axes = scale_columns(unscaled, scale)
    return _Form(turns, aims, sizes, rests)


@final
class _Moment:
    """The inputs of a step.

    Attributes:
        parent: The axes of the root bone's parent.
        root: The position of the root.
        form: The form of the chain.
        pulls: The springs for a step; empty as VRM specifies.
        springs: The springs.
        colliders: The colliders.
    """

    __slots__ = ("colliders", "form", "parent", "pulls", "root", "springs")
    parent: Mat3
    root: Vec
    form: _Form
    pulls: list[_Pull]
    springs: Sequence[Spring]
    colliders: Sequence[Collider]

    def __init__(
        self,
        parent: Mat3,
        root: Vec,
        form: _Form,
        springs: Sequence[Spring],
        pulls: list[_Pull],
        colliders: Sequence[Collider],
    ) -> None:
        self.parent = parent
        self.root = root
        self.form = form
        self.springs = springs
        self.pulls = pulls
        self.colliders = colliders


@final
class _Simulation:
    """A strand at a time.

    Attributes:
        rate: The frame rate, in frames a second.
        mode: How it is simulated.
        instants: Its inputs at all frames.
        tails: The state of each bone.
    """

    def __init__(self, instants: Sequence[Instant], rate: float, mode: Mode) -> None:
        """Take the inputs of all frames.

        Raises:
            ValueError: If there are none, or numbers of bones or colliders differ.
        """
        if not instants:
            raise ValueError("a spring needs the inputs of at least one frame")
        counts = {(len(one.springs), len(one.chain.links), len(one.colliders)) for one in instants}
        if len(counts) > 1 or len(instants[0].springs) != len(instants[0].chain.links):
            raise ValueError("the inputs of a spring differ in their bones or colliders")
        self.rate = rate
        self.mode = mode
        self.instants = instants
        self.steps = ceil(RATE / rate - 1e-9) if mode.is_steady else 1
        self.tails: list[_Tail] = []
        self._parents = [_parent_of(one) for one in instants]
        self._forms = _forms_of(instants)
        self._chain = instants[0].chain

    def run(self) -> Strand:
        """Simulate all frames."""
        cuts = self._cuts()
        starts = {0, *cuts}
        gap = 0.0
        self._start(0)
        if self.mode.is_loop and len(self.instants) > 1:
            gap = self._run_in(starts)
        strand = Strand([], [], cuts, 0.0, 0, gap)
        for i in range(len(self.instants)):
            if i > 0:
                self._advance(i, starts)
            rotations, joints = self._posed(i)
            strand.rotations.append(rotations)
            strand.joints.append(joints)
            depth = self._depth(i)
            if depth > strand.penetration:
                strand = strand._replace(penetration=depth, deepest=i)
        return strand

    def _run_in(self, starts: set[int]) -> float:
        """Repeat the cycle until its ends agree; return their distance.

        The strand ends as it started, in its parent: the character may have walked on.
        """
        back = _carrying(self._parents[-1], self._parents[0])
        size = sum([length(tail.arm) for tail in self.tails]) or 1.0
        gap = 0.0
        for _ in range(CYCLES):
            before = self._joints()
            for i in range(1, len(self.instants)):
                self._advance(i, starts)
            for tail in self.tails:
                tail.carry(back)
            after = self._joints()
            gap = max([length(sub(a, b)) for a, b in zip(before, after, strict=True)]) / size
            if gap <= AGREED:
                break
        return gap

    def _joints(self) -> list[Vec]:
        return [self.tails[0].head, *[add(tail.head, tail.arm) for tail in self.tails]]

    def _cuts(self) -> list[int]:
        """Return the frames at which the strand starts again.

        A step is a cut if it is longer than the steps before and after it and the strand together:
        neither its speed nor its size explain it. Steps are those of its ends in their FK pose.
        """
        cuts = [i for i, one in enumerate(self.instants) if i and one.is_reset]
        if not self.mode.finds_cuts:
            return cuts
        ends = [[joints[0], joints[-1]] for joints in map(_fk_joints, self.instants)]
        steps = [0.0]
        for previous, current in pairwise(ends):
            moves = zip(previous, current, strict=True)
            steps.append(max([length(sub(a, b)) for a, b in moves]))
        steps.append(0.0)
        joints = _fk_joints(self.instants[0])
        size = sum([length(sub(b, a)) for a, b in pairwise(joints)])
        for i in range(1, len(ends)):
            before = steps[i - 1] if i > 1 else 0.0
            if steps[i] > before + steps[i + 1] + size and i not in cuts:
                cuts.append(i)
        return sorted(cuts)

    def _start(self, i: int) -> None:
        """Start at rest at a frame, in the FK pose or in equilibrium."""
        one = self.instants[i]
        self.tails = [_Tail(a, sub(b, a)) for a, b in pairwise(_fk_joints(one))]
        self._chain = one.chain
        axes, root = self._parents[i]
        moment = _Moment(axes, root, self._forms[i], one.springs, [], one.colliders)
        self._step(moment, self.mode.is_settled, 0.0)
        for tail in self.tails:
            tail.shift = tail.swing = ORIGIN

    def _advance(self, i: int, starts: set[int]) -> None:
        """Advance from the previous frame to a frame."""
        if i in starts:
            self._start(i)
            return
        one = self.instants[i]
        self._chain = one.chain
        if not self.mode.is_steady:
            axes, root = self._parents[i]
            moment = _Moment(axes, root, self._forms[i], one.springs, [], one.colliders)
            self._step(moment, False, 1.0 / self.rate)
            return
        h = 1.0 / (self.rate * self.steps)
        around = self._around(i, starts)
        pulls: list[_Pull] = []
        for step in range(1, self.steps + 1):
            part = step / self.steps
            springs = _springs_at(self.instants[i - 1].springs, one.springs, part)
            if not pulls or springs is not one.springs:
                pulls = [_Pull(spring, h) for spring in springs]
            axes, root = _frame_at(around, part)
            form = self._forms[i - 1].toward(self._forms[i], part)
            colliders = _colliders_at(self.instants[i - 1].colliders, one.colliders, part)
            moment = _Moment(axes, root, form, springs, pulls, colliders)
            if step < self.steps and not one.chain.constrained:
                self._step_between(moment)
            else:
                self._step(moment, False, h)

    def _around(self, i: int, starts: set[int]) -> list[Frame]:
        """Return the frames of the root's parent before, at and after an interval.

        Across a cut, or beyond the ends, they are extrapolated; those of a loop are of the cycle.
        """
        parents = self._parents
        last = len(parents) - 1
        a, b = parents[i - 1], parents[i]
        before = after = WHOLE
        has_before = i - 1 not in starts
        has_after = i < last and i + 1 not in starts
        if has_before:
            before = parents[i - 2]
        elif i == 1 and self.mode.is_loop:
            before = frame_in(_carrying(parents[last], parents[0]), parents[last - 1])
            has_before = True
        if has_after:
            after = parents[i + 1]
        elif i == last and self.mode.is_loop:
            after = frame_in(_carrying(parents[0], parents[last]), parents[1])
            has_after = True
        if not has_before:
            before = _extended(a, b, after, has_after)
        if not has_after:
            after = _extended(b, a, before, has_before)
        return [before, a, b, after]

    def _step_between(self, moment: _Moment) -> None:
        """Advance by a step between frames, where axes aren't needed.

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
                direction = tail.direction(head, rest, size, lever, moment.pulls[i])
                if colliders:
                    radius = moment.springs[i].radius
                    direction = cleared(head, direction, size, radius, colliders)
                along = scaled(direction, size)
            tail.move(head, along)
            head = add(head, along)

    def _step(self, moment: _Moment, is_settling: bool, h: float) -> None:
        """Advance by a step; by 0 seconds only to where the strand starts."""
        form = moment.form
        axes, head = moment.parent, moment.root
        for i, tail in enumerate(self.tails):
            unscaled = mat_product(axes, form.turns[i])
            aim = form.aims[i]
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
            axes = scale_columns(unscaled, form.sizes[i])
            head = add(head, along)

    def _direction(
        self,
        moment: _Moment,
        i: int,
        head: Vec,
        fk_pose: tuple[Mat3, Vec],
        is_settling: bool,
        h: float,
    ) -> Vec:
        """Return the new direction of a bone."""
        unscaled, along = fk_pose
        tail, spring = self.tails[i], moment.springs[i]
        size = length(along)
        rest = scaled(along, 1.0 / size)
        if self.mode.is_steady:
            rest = unit_or(mat_apply(moment.parent, moment.form.rests[i]), rest)
        if h == 0.0:
            tail.rest = rest
            direction = unit_or(tail.arm, rest)
            if is_settling:
                pull = add(scaled(rest, spring.stiffness), spring.gravity)
                direction = unit_or(pull, direction)
        elif self.mode.is_steady:
            lever = size * moment.form.levers[i]
            direction = tail.direction(head, rest, size, lever, moment.pulls[i])
        else:
            return tail.next_direction(head, rest, size, spring, h, moment.colliders)
        if moment.colliders and (self.mode.is_steady or is_settling):
            return self._cleared(moment, i, head, direction, unscaled)
        return direction

    def _cleared(self, moment: _Moment, i: int, head: Vec, direction: Vec, axes: Mat3) -> Vec:
        """Return the direction out of colliders. Under uneven scale, it changes the length."""
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
        """Return the local rotation, after that of the FK pose, that points a bone somewhere."""
        swing = quat_between(aim, inverse_direction(unscaled, direction), (1.0, 0.0, 0.0))
        constrained = self._chain.constrained
        if constrained and constrained[i].limit is not None:
            rotation = self._chain.rotations[i]
            allowed = constrained[i].allowed(quat_product(rotation, swing))
            swing = quat_product(quat_inverse(rotation), allowed)
        return swing

    def _posed(self, i: int) -> tuple[list[float], list[Vec]]:
        """Return the local rotations at a frame, four numbers a bone, and the joints."""
        one = self.instants[i]
        joints = self._joints()
        links = one.chain.links
        if not all([link.is_plain for link in links]):
            back = inverse(one.world)
            return swing_along(one.chain, [point_in(back, joint) for joint in joints])[0], joints
        numbers: list[float] = []
        for tail, link in zip(self.tails, links, strict=True):
            numbers.extend(quat_product(link.rotation, tail.turn))
        return numbers, joints

    def _depth(self, i: int) -> float:
        """Return how deep a tail is in a collider."""
        one = self.instants[i]
        depth = 0.0
        for tail, spring in zip(self.tails, one.springs, strict=True):
            if one.colliders:
                end = add(tail.head, tail.arm)
                depth = max(depth, penetration(end, spring.radius, one.colliders))
        return depth


def _parent_of(one: Instant) -> Frame:
    """Return the axes of the root's parent, at the root, in the space of the simulation."""
    return mat_product(one.world[0], one.chain.parent[0]), point_in(one.world, one.chain.root)


def _fk_joints(one: Instant) -> list[Vec]:
    """Return the joints in the FK pose, in the space of the simulation."""
    return [point_in(one.world, joint) for joint in one.chain.joints]


def _forms_of(instants: Sequence[Instant]) -> list[_Form]:
    """Return the forms of a chain at all frames: the same object while its FK pose stays."""
    forms: list[_Form] = []
    links = None
    for one in instants:
        is_same = one.chain.links is links and all([link.is_plain for link in one.chain.links])
        forms.append(forms[-1] if is_same else _form_of(one.chain))
        links = one.chain.links
    return forms


def _carrying(start: Frame, end: Frame) -> Frame:
    """Return the transform that carries one frame to another.

    Raises:
        ValueError: If the first frame is singular.
    """
    return WHOLE if start == end else frame_in(end, inverse(start))


def _combined(frames: list[Frame], weights: list[float]) -> Frame:
    """Return the weighted sum of frames."""
    axes = [0.0] * 9
    x = y = z = 0.0
    for (numbers, head), weight in zip(frames, weights, strict=True):
        for i, number in enumerate(numbers):
            axes[i] += weight * number
        x, y, z = x + weight * head[0], y + weight * head[1], z + weight * head[2]
    a, b, c, d, e, f, g, h, last = axes
    return (a, b, c, d, e, f, g, h, last), (x, y, z)


def _frame_at(around: list[Frame], t: float) -> Frame:
    """Return the frame between the second and the third of four (Catmull and Rom, 1974).

    Its axes are rotated to the order of the cube of the interval; at its ends, they are exact.
    """
    if around[0] == around[1] == around[2] == around[3]:
        return around[2]
    tt, ttt = t * t, t * t * t
    weights = [
        tt - 0.5 * (t + ttt),
        1.0 - 2.5 * tt + 1.5 * ttt,
        0.5 * t + 2.0 * tt - 1.5 * ttt,
        0.5 * (ttt - tt),
    ]
    return _combined(around, weights)


def _extended(near: Frame, far: Frame, farther: Frame, has_farther: bool) -> Frame:
    """Return the frame before two or three: of a parabola through three, of a line through two."""
    if has_farther:
        return _combined([near, far, farther], [3.0, -3.0, 1.0])
    return _combined([near, far], [2.0, -1.0])


def _springs_at(start: Sequence[Spring], end: Sequence[Spring], t: float) -> Sequence[Spring]:
    """Return the springs between two frames."""
    if t == 1.0 or start == end:
        return end
    springs: list[Spring] = []
    for a, b in zip(start, end, strict=True):
        left = 1.0 - t
        springs.append(
            Spring(
                left * a.stiffness + t * b.stiffness,
                left * a.drag + t * b.drag,
                mix(a.gravity, b.gravity, t),
                left * a.radius + t * b.radius,
            )
        )
    return springs


def _colliders_at(
    start: Sequence[Collider], end: Sequence[Collider], t: float
) -> Sequence[Collider]:
    """Return the colliders between two frames."""
    if t == 1.0 or start is end:
        return end
    return [a.toward(b, t) for a, b in zip(start, end, strict=True)]
