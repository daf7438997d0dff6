"""Bodies: chains that share bones, or whose root is free, solved together.

All bones are first brought, as one tree, to where every effector arrives, or to the weighted mean
of what they want: FABRIK finds the shape, `hold` lands it within the joints' limits. What the
chains share then stays; the rest of each chain, which is its own, is solved from there as any
chain is, with its own solver, pole and tip.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from typing import final

from .bones import Bone, Local, head_in_parent, inherited_axes, turned_axes
from .chain import Goal, State, in_space
from .frames import Frame, point_in
from .landing import EXACT
from .limits import Limit
from .pose import pose_chain
from .posture import Z_AXIS, ChainInput, Posture
from .reach import distance_to
from .settling import Effector, Figure, Held, hold
from .stretch import Stretch
from .tip import Tip, oriented
from .tree import shape
from .vectors import (
    NO_TURN,
    ORIGIN,
    Quat,
    Vec,
    add,
    length,
    mat_apply,
    mat_product,
    mat_solved,
    mix,
    quat_beside,
    quat_mix,
    scaled,
    sub,
)


@final
class Member:
    """One chain of a body.

    Attributes:
        bones: The places of its bones among those of the body, root first.
        tip: Position of the tip in the space of the last bone's posed axes.
        rest_bends: For each bone the ``rest_bend`` of the chain from there on (see `ChainInput`).
        has_hand: Whether the last bone can be oriented.
        limb_bends: For each bone the ``limb_bend`` of the chain from there on.
    """

    __slots__ = ("bones", "has_hand", "limb_bends", "rest_bends", "tip")
    bones: list[int]
    tip: Vec
    rest_bends: Sequence[Vec | None]
    has_hand: bool
    limb_bends: Sequence[Vec | None]

    def __init__(
        self,
        bones: list[int],
        tip: Vec,
        rest_bends: Sequence[Vec | None],
        limb_bends: Sequence[Vec | None] = (),
        has_hand: bool = False,
    ) -> None:
        self.bones = bones
        self.tip = tip
        self.rest_bends = rest_bends
        self.has_hand = has_hand
        self.limb_bends = limb_bends or [None] * len(bones)


@final
class Pull:
    """What a chain of a body is to do.

    Attributes:
        goal: Target and pole, in armature space.
        solver: See `solve`; for the bones that are the chain's own.
        iterations: See `solve`.
        tolerance: See `solve`.
        bias: See `ChainInput`; for the bones that are the chain's own.
        tip: See `pose_chain`; only with a hand.
        stretch: See `pose_chain`; for the bones that are the chain's own.
        influence: See `pose_body`; more than 0.
        weight: How much the gap to the target counts, against those of the others; more than 0.
        root_weight: How readily the body's root follows, compared with bones that turn; 0 if it
            stays where it is.
    """

    __slots__ = (
        "bias",
        "goal",
        "influence",
        "iterations",
        "root_weight",
        "solver",
        "stretch",
        "tip",
        "tolerance",
        "weight",
    )
    goal: Goal
    solver: str
    iterations: int
    tolerance: float
    influence: float
    weight: float
    root_weight: float
    bias: float
    tip: Tip | None
    stretch: Stretch | None

    def __init__(
        self,
        goal: Goal,
        solver: str = "FABRIK",
        iterations: int = 20,
        tolerance: float = 1e-4,
        influence: float = 1.0,
        weight: float = 1.0,
        root_weight: float = 0.0,
        bias: float = 0.0,
        tip: Tip | None = None,
        stretch: Stretch | None = None,
    ) -> None:
        """Take what is wanted.

        Raises:
            ValueError: If influence or weight are not above 0, or the weight of the root below.
        """
        if not (0.0 < influence <= 1.0 and weight > 0.0):
            raise ValueError("influence and weight must be above 0: leave the chain out instead")
        if not 0.0 <= root_weight <= 1.0:
            raise ValueError("the weight of the root must be from 0 to 1")
        self.goal = goal
        self.solver = solver
        self.iterations = iterations
        self.tolerance = tolerance
        self.influence = influence
        self.weight = weight
        self.root_weight = root_weight
        self.bias = bias
        self.tip = tip
        self.stretch = stretch


Wanted = tuple[int, Pull]
"""The number of a chain that is to do something, and what."""


@final
class Outcome:
    """How a chain of a body did.

    Attributes:
        state: See `Posture`.
        sweeps: Sweeps and steps for the body, and for the chain's own bones.
        tip: Position of the tip in armature space, in the end.
        given: The chain's own bones under their FK input, on the solved body; None if it has none.
        posture: How they were solved; None if there are none.
    """

    __slots__ = ("given", "posture", "state", "sweeps", "tip")
    state: State
    sweeps: int
    tip: Vec
    given: ChainInput | None
    posture: Posture | None

    def __init__(
        self, state: State, sweeps: int, given: ChainInput | None, posture: Posture | None
    ) -> None:
        self.state = state
        self.sweeps = sweeps
        self.tip = ORIGIN
        self.given = given
        self.posture = posture


@final
class BodyPosture:
    """A solved body.

    Attributes:
        rotations: The local rotation of each bone.
        scales: The local scale of each bone.
        location: The location channel of the first bone.
        outcomes: How each chain did; None where it was left out.
    """

    __slots__ = ("location", "outcomes", "rotations", "scales")
    rotations: list[Quat]
    scales: list[Vec]
    location: Vec
    outcomes: list[Outcome | None]

    def __init__(
        self,
        rotations: list[Quat],
        scales: list[Vec],
        location: Vec,
        outcomes: list[Outcome | None],
    ) -> None:
        self.rotations = rotations
        self.scales = scales
        self.location = location
        self.outcomes = outcomes


@final
class BodyInput:
    """Bones that hang together, under their FK input, and the chains that pose them.

    Attributes:
        bones: Each after its parent.
        locals: The FK input of each.
        parents: The place of each bone's parent among them, -1 of the first.
        frame: The frame of the first bone's parent.
        members: The chains.
        limits: What each bone allows.
        stiffness: How much each bone resists leaving its FK input, from 0 to 1.
    """

    __slots__ = ("bones", "frame", "limits", "locals", "members", "parents", "stiffness")
    bones: Sequence[Bone]
    locals: Sequence[Local]
    parents: Sequence[int]
    frame: Frame
    members: Sequence[Member]
    limits: Sequence[Limit | None]
    stiffness: Sequence[float]

    def __init__(
        self,
        bones: Sequence[Bone],
        locals_: Sequence[Local],
        parents: Sequence[int],
        frame: Frame,
        members: Sequence[Member],
        limits: Sequence[Limit | None] = (),
        stiffness: Sequence[float] = (),
    ) -> None:
        """Take the FK input; limits and stiffness as in `ChainInput`."""
        self.bones = bones
        self.locals = locals_
        self.parents = parents
        self.frame = frame
        self.members = members
        self.limits = limits or [None] * len(bones)
        self.stiffness = stiffness or [0.0] * len(bones)

    def fk(self) -> BodyPosture:
        """Return the body under its FK input."""
        return BodyPosture(
            [local.rotation for local in self.locals],
            [local.scale for local in self.locals],
            self.locals[0].location,
            [None] * len(self.members),
        )

    def frames(self, posture: BodyPosture) -> list[Frame]:
        """Return where the bones stand, in armature space."""
        frames: list[Frame] = []
        for i, bone in enumerate(self.bones):
            parent = self.frame if self.parents[i] < 0 else frames[self.parents[i]]
            inherited, post_scale = inherited_axes(bone, parent[0])
            axes = turned_axes(inherited, posture.rotations[i], posture.scales[i], post_scale)
            head = head_in_parent(bone, self._local(i, posture.location))
            frames.append((axes, point_in(parent, head)))
        return frames

    def chain(
        self, member: Member, start: int, frame: Frame, location: Vec, bias: float
    ) -> ChainInput:
        """Return the bones of a chain from one of them on, carried by the given frame."""
        own = member.bones[start:]
        return ChainInput(
            [self.bones[i] for i in own],
            [self._local(i, location) for i in own],
            member.tip,
            frame,
            member.rest_bends[start],
            [self.limits[i] for i in own],
            [self.stiffness[i] for i in own],
            member.has_hand,
            member.limb_bends[start],
            bias,
        )

    def _local(self, i: int, location: Vec) -> Local:
        """Return the channels of a bone, the first one with another location."""
        local = self.locals[i]
        return local if i else Local(location, local.rotation, local.scale)


def pose_body(body: BodyInput, pulls: Sequence[Pull | None]) -> BodyPosture:
    """Pose all chains of a body.

    Influence mixes poses: a body in which a chain has an influence of 0.3 stands for three tenths
    as it does with the chain, and for the rest as without it, so that nothing jumps where the
    influence becomes 0 or 1. In all it is solved once for each influence that differs from the
    others.

    Args:
        body: The bones and their FK input.
        pulls: What each of the chains is to do, None for those that do nothing.

    Raises:
        ValueError: If a number is not finite, or a solver does not fit its chain.
    """
    mixed = body.fk()
    # From the FK input, which counts for what no influence reaches, to the layer of all chains.
    for level, share in _layers([pull.influence for pull in pulls if pull is not None]):
        wanted: list[Wanted] = []
        for number, pull in enumerate(pulls):
            if pull is not None and pull.influence >= level:
                wanted.append((number, pull))
        solved = _solved(body, wanted)
        outcomes = mixed.outcomes
        mixed = _mixed(mixed, solved, share)
        for number, _ in wanted:
            outcomes[number] = outcomes[number] or solved.outcomes[number]
        mixed.outcomes = outcomes
    frames = body.frames(mixed)
    for member, outcome in zip(body.members, mixed.outcomes, strict=True):
        if outcome is not None:
            outcome.tip = point_in(frames[member.bones[-1]], member.tip)
    return mixed


def _layers(values: list[float]) -> list[tuple[float, float]]:
    """Return the levels from the highest value down, and what share of the mixture each takes.

    The mixture so far is what lies above a level; for each layer it is what remains at the values
    that reach its level, as thick as the layer is.
    """
    levels = sorted(set(values))
    layers: list[tuple[float, float]] = []
    done = 1.0 - levels[-1] if levels else 1.0
    for i in range(len(levels) - 1, -1, -1):
        thickness = levels[i] - (levels[i - 1] if i else 0.0)
        done += thickness
        layers.append((levels[i], 1.0 if thickness == done else thickness / done))
    return layers


def _mixed(a: BodyPosture, b: BodyPosture, share: float) -> BodyPosture:
    """Return the posture that is part of the way from one to another."""
    if share == 1.0:
        return b
    turns = zip(a.rotations, b.rotations, strict=True)
    scales = zip(a.scales, b.scales, strict=True)
    return BodyPosture(
        [quat_mix(before, now, share) for before, now in turns],
        [mix(before, now, share) for before, now in scales],
        mix(a.location, b.location, share),
        a.outcomes,
    )


def _solved(body: BodyInput, wanted: list[Wanted]) -> BodyPosture:
    """Pose the body by some of its chains, wholly."""
    posture = body.fk()
    root_weight = max([pull.root_weight for _, pull in wanted])
    shared: set[int] = set()
    steps = 0
    if len(wanted) > 1 or root_weight > 0.0:
        # The chains' own bones are solved again from what they share, with their orientations.
        turns = [0.0 if pull.tip is None else pull.tip.weight for _, pull in wanted]
        for level, share in _layers([*turns, 1.0]):
            if level > 0.0:
                landed, made = _landed(body, wanted, root_weight, level)
                posture = _mixed(posture, landed, share)
                steps += made
        shared = _shared(body, [body.members[number] for number, _ in wanted])
    frames = body.frames(posture)
    for number, pull in wanted:
        member = body.members[number]
        start = sum([i in shared for i in member.bones])
        if start == len(member.bones):
            posture.outcomes[number] = _shared_outcome(body, member, pull, frames, steps)
        elif start + 1 == len(member.bones) and member.has_hand:
            _turn_hand(posture, body, member, pull, frames)
            posture.outcomes[number] = _shared_outcome(
                body, member, pull, body.frames(posture), steps
            )
        else:
            own = _solve_own(posture, body, member, start, pull, frames)
            sweeps = steps + own[1].solution.sweeps
            state = _judged(own[1].state, body, member, pull, frames)
            posture.outcomes[number] = Outcome(state, sweeps, own[0], own[1])
    return posture


def _solve_own(
    posture: BodyPosture,
    body: BodyInput,
    member: Member,
    start: int,
    pull: Pull,
    frames: list[Frame],
) -> tuple[ChainInput, Posture]:
    """Solve the bones that only one chain poses, from one of its bones on."""
    parent = body.parents[member.bones[start]]
    frame = body.frame if parent < 0 else frames[parent]
    given = body.chain(member, start, frame, posture.location, pull.bias)
    is_cut = pull.solver == "TWO_BONE" and len(given.links) != 2
    solver = "FABRIK" if is_cut and start > 0 else pull.solver
    own = pose_chain(
        given, pull.goal, solver, pull.iterations, pull.tolerance, 1.0, pull.tip, pull.stretch
    )
    for place, i in enumerate(member.bones[start:]):
        posture.rotations[i] = own.rotations[place]
        posture.scales[i] = own.scales[place] if own.scales else posture.scales[i]
    return given, own


def _turn_hand(
    posture: BodyPosture, body: BodyInput, member: Member, pull: Pull, frames: list[Frame]
) -> None:
    """Orient a hand that is all which only one chain poses."""
    if pull.tip is None:
        return
    i = member.bones[-1]
    held = _held(body, [member])[i]
    parent = body.parents[i]
    axes = body.frame[0] if parent < 0 else frames[parent][0]
    rotation, _ = oriented(held, axes, pull.tip)
    posture.rotations[i] = quat_mix(posture.rotations[i], rotation, pull.tip.weight)


def _landed(
    body: BodyInput, wanted: list[Wanted], root_weight: float, level: float
) -> tuple[BodyPosture, int]:
    """Bring the whole tree to its targets; return how it stands, and the steps that it took.

    Hands whose orientation has at least the weight of the level reach with their heads.
    """
    heaviest = max([pull.weight for _, pull in wanted])
    effectors: list[Effector] = []
    for number, pull in wanted:
        member = body.members[number]
        weight = sqrt(pull.weight / heaviest)
        point, target = member.tip, in_space(pull.goal.target)
        if pull.tip is not None and pull.tip.weight >= level and point != ORIGIN:
            axes = body.frames(body.fk())[member.bones[-1]][0]
            way = length(mat_apply(axes, point))
            point, target = ORIGIN, sub(target, scaled(pull.tip.ahead, way))
        effectors.append(Effector(member.bones[-1], point, target, weight))
    root = point_in(body.frame, head_in_parent(body.bones[0], body.locals[0]))
    members = [body.members[number] for number, _ in wanted]
    held = _held(body, members)
    figure = Figure(held, effectors, body.frame[0], root, root_weight)
    figure.place()
    tolerance = min([pull.tolerance for _, pull in wanted])
    lightest = min([effector.pull for effector in effectors])
    starts: list[list[Quat]] = []
    if figure.reach > 0.0:
        iterations = max([pull.iterations for _, pull in wanted])
        shared = _shared(body, members)
        bends = [_bend(body, member, shared) for member in members]
        starts.append(shape(figure, bends, iterations, tolerance))
    if not starts or any([limit is not None for limit in body.limits]):
        # Without limits there is but one valley, and another start only makes jumps.
        starts += [[bone.given for bone in held], [NO_TURN] * len(held)]
    size = lightest * figure.reach
    _, steps = hold(figure, starts, min(tolerance, EXACT) * size, tolerance * size)
    posture = body.fk()
    for i, bone in enumerate(held):
        if bone.moves:
            posture.rotations[i] = quat_beside(bone.rotation, bone.given)
    posture.location = _moved(body, figure.root)
    return posture, steps


def _held(body: BodyInput, members: Sequence[Member]) -> list[Held]:
    """Return the bones, each with the arm that it points at the next joint of a chain with."""
    arms = [ORIGIN] * len(body.bones)
    for member in members:
        for i, after in zip(member.bones, member.bones[1:], strict=False):
            arms[i] = head_in_parent(body.bones[after], body.locals[after])
        arms[member.bones[-1]] = member.tip
    held: list[Held] = []
    for i, bone in enumerate(body.bones):
        local = body.locals[i]
        at = head_in_parent(bone, local)
        stiffness = body.stiffness[i]
        held.append(Held(bone, local, body.parents[i], at, arms[i], body.limits[i], stiffness))
    return held


def _bend(body: BodyInput, member: Member, shared: set[int]) -> Vec:
    """Return the side, in armature space, to which the chain's own bones bend if straight."""
    start = min(sum([i in shared for i in member.bones]), len(member.bones) - 1)
    axes = body.frames(body.fk())[member.bones[start]][0]
    return mat_apply(axes, member.rest_bends[start] or Z_AXIS)


def _shared(body: BodyInput, members: Sequence[Member]) -> set[int]:
    """Return the bones that several chains pose, and those of any chain that carry such a one."""
    count = [0] * len(body.bones)
    for member in members:
        for i in member.bones:
            count[i] += 1
    shared: set[int] = set()
    for i in range(len(count) - 1, -1, -1):
        if count[i] > 1 or (count[i] == 1 and i in shared):
            shared.add(i)
            shared.add(body.parents[i])
    return {i for i in shared if i >= 0 and count[i] > 0}


def _moved(body: BodyInput, root: Vec) -> Vec:
    """Return the location channel of the first bone that puts its head on the root."""
    bone, local = body.bones[0], body.locals[0]
    shift = sub(root, point_in(body.frame, head_in_parent(bone, local)))
    if shift == ORIGIN:
        return local.location
    axes = mat_product(body.frame[0], bone.rest) if bone.local_location else body.frame[0]
    return add(local.location, mat_solved(axes, shift))


def _shared_outcome(
    body: BodyInput, member: Member, pull: Pull, frames: list[Frame], steps: int
) -> Outcome:
    """Return how a chain did of which other chains share all bones."""
    tip = point_in(frames[member.bones[-1]], member.tip)
    missed = distance_to(tip, pull.goal.target)
    is_there = missed <= pull.tolerance * _length(member, frames)
    state: State = "REACHED" if is_there else "OUT_OF_REACH"
    return Outcome(_judged(state, body, member, pull, frames), steps, None, None)


def _judged(
    state: State, body: BodyInput, member: Member, pull: Pull, frames: list[Frame]
) -> State:
    """Return the state, with respect to the limits of all the chain's bones."""
    if state != "OUT_OF_REACH" or all([body.limits[i] is None for i in member.bones]):
        return state
    away = distance_to(frames[member.bones[0]][1], pull.goal.target)
    return "LIMITED" if away <= _length(member, frames) else state


def _length(member: Member, frames: list[Frame]) -> float:
    joints = [frames[i][1] for i in member.bones]
    joints.append(point_in(frames[member.bones[-1]], member.tip))
    return sum([distance_to(a, b) for a, b in pairwise(joints)])
