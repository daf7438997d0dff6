"""Bodies: chains that share bones, or whose root is free, solved together.

All bones are first brought, as one tree, to where every effector arrives, or to the weighted mean
of what they want: FABRIK finds the shape, `hold` lands it within the joints' limits. What the
chains share then stays; the rest of each chain, which is its own, is solved from there as any
chain is, with its own solver, pole and tip.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import inf, sqrt
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
from .tree import shape
from .vectors import (
    NO_TURN,
    ORIGIN,
    Quat,
    Vec,
    add,
    mat_apply,
    mat_product,
    mat_solved,
    mix,
    quat_beside,
    quat_mix,
    sub,
)


@final
class Member:
    """One chain of a body.

    Attributes:
        bones: The places of its bones among those of the body, root first.
        tip: Position of the tip in the space of the last bone's posed axes.
        rest_bends: For each bone the `ChainInput.rest_bend` of the chain from there on.
    """

    __slots__ = ("bones", "rest_bends", "tip")
    bones: list[int]
    tip: Vec
    rest_bends: Sequence[Vec | None]

    def __init__(self, bones: list[int], tip: Vec, rest_bends: Sequence[Vec | None]) -> None:
        self.bones = bones
        self.tip = tip
        self.rest_bends = rest_bends


@final
class Pull:
    """What a chain of a body is to do.

    Attributes:
        goal: Target and pole, in armature space.
        solver: See `solve`; for the bones that are the chain's own.
        iterations: See `solve`.
        tolerance: See `solve`.
        influence: See `pose_body`; more than 0.
        weight: How much the gap to the target counts, against those of the others; more than 0.
        root_weight: How readily the body's root follows, compared with bones that turn; 0 if it
            stays where it is.
    """

    __slots__ = (
        "goal",
        "influence",
        "iterations",
        "root_weight",
        "solver",
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

    def __init__(
        self,
        goal: Goal,
        solver: str = "FABRIK",
        iterations: int = 20,
        tolerance: float = 1e-4,
        influence: float = 1.0,
        weight: float = 1.0,
        root_weight: float = 0.0,
    ) -> None:
        """Take what is wanted.

        Raises:
            ValueError: If influence or weight are not above 0, or the weight of the root below, or
                one of them is too large.
        """
        if not (0.0 < influence <= 1.0 and 0.0 < weight < inf):
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
        location: The location channel of the first bone.
        outcomes: How each chain did; None where it was left out.
    """

    __slots__ = ("location", "outcomes", "rotations")
    rotations: list[Quat]
    location: Vec
    outcomes: list[Outcome | None]

    def __init__(
        self, rotations: list[Quat], location: Vec, outcomes: list[Outcome | None]
    ) -> None:
        self.rotations = rotations
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

    def frames(self, rotations: Sequence[Quat], location: Vec) -> list[Frame]:
        """Return where the bones stand, in armature space."""
        frames: list[Frame] = []
        for i, bone in enumerate(self.bones):
            parent = self.frame if self.parents[i] < 0 else frames[self.parents[i]]
            inherited, post_scale = inherited_axes(bone, parent[0])
            axes = turned_axes(inherited, rotations[i], self.locals[i].scale, post_scale)
            local = self.local(i, location, rotations[i])
            frames.append((axes, point_in(parent, head_in_parent(bone, local))))
        return frames

    def chain(self, member: Member, start: int, frame: Frame, locals_: list[Local]) -> ChainInput:
        """Return the bones of a chain from one of them on, carried by the given frame."""
        own = member.bones[start:]
        return ChainInput(
            [self.bones[i] for i in own],
            [locals_[i] for i in own],
            member.tip,
            frame,
            member.rest_bends[start],
            [self.limits[i] for i in own],
            [self.stiffness[i] for i in own],
        )

    def part(self, places: list[int], numbers: list[int], frame: Frame) -> "BodyInput":
        """Return some of the chains, whose bones these are and hang on the given frame."""
        new = {i: place for place, i in enumerate(places)}
        members: list[Member] = []
        for number in numbers:
            member = self.members[number]
            members.append(Member([new[i] for i in member.bones], member.tip, member.rest_bends))
        return BodyInput(
            [self.bones[i] for i in places],
            [self.locals[i] for i in places],
            [new.get(self.parents[i], -1) for i in places],
            frame,
            members,
            [self.limits[i] for i in places],
            [self.stiffness[i] for i in places],
        )

    def local(self, i: int, location: Vec, rotation: Quat) -> Local:
        """Return the channels of a bone with another rotation, the first with another location."""
        local = self.locals[i]
        return Local(local.location if i else location, rotation, local.scale)


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
    rotations = [local.rotation for local in body.locals]
    location = body.locals[0].location
    outcomes: list[Outcome | None] = [None] * len(pulls)
    steps = sorted({pull.influence for pull in pulls if pull is not None})
    # From the FK input, which counts for what no influence reaches, to the layer of all chains.
    done = 1.0 - steps[-1] if steps else 1.0
    for i in range(len(steps) - 1, -1, -1):
        share = steps[i] - (steps[i - 1] if i else 0.0)
        active = [
            number
            for number, pull in enumerate(pulls)
            if pull is not None and pull.influence >= steps[i]
        ]
        solved = _solved(body, pulls, active)
        done += share
        part = 1.0 if share == done else share / done
        if part == 1.0:
            rotations, location = solved.rotations, solved.location
        else:
            pairs = zip(rotations, solved.rotations, strict=True)
            rotations = [quat_mix(before, now, part) for before, now in pairs]
            location = mix(location, solved.location, part)
        for number in active:
            outcomes[number] = outcomes[number] or solved.outcomes[number]
    frames = body.frames(rotations, location)
    for member, outcome in zip(body.members, outcomes, strict=True):
        if outcome is not None:
            outcome.tip = point_in(frames[member.bones[-1]], member.tip)
    return BodyPosture(rotations, location, outcomes)


def _solved(body: BodyInput, pulls: Sequence[Pull | None], active: list[int]) -> BodyPosture:
    """Pose the body by some of its chains, wholly.

    Without the others they need not hang together: those that share bones, directly or through one
    another, are solved together, each such group after what carries it.
    """
    rotations = [local.rotation for local in body.locals]
    location = body.locals[0].location
    outcomes: list[Outcome | None] = [None] * len(pulls)
    for group in _groups(body, active):
        places = sorted({i for number in group for i in body.members[number].bones})
        parent = body.parents[places[0]]
        frame = body.frame if parent < 0 else body.frames(rotations, location)[parent]
        wanted = [pull for number in group if (pull := pulls[number]) is not None]
        root_weight = max([pull.root_weight for pull in wanted]) if places[0] == 0 else 0.0
        solved = _together(body.part(places, group, frame), wanted, root_weight)
        for i, rotation in zip(places, solved.rotations, strict=True):
            rotations[i] = rotation
        if places[0] == 0:
            location = solved.location
        for number, outcome in zip(group, solved.outcomes, strict=True):
            outcomes[number] = outcome
    return BodyPosture(rotations, location, outcomes)


def _groups(body: BodyInput, active: list[int]) -> list[list[int]]:
    """Return which chains hang together by shared bones, what carries others before these."""
    groups: list[list[int]] = []
    for number in active:
        bones = set(body.members[number].bones)
        mine = [number]
        others: list[list[int]] = []
        for group in groups:
            if any([i in bones for other in group for i in body.members[other].bones]):
                mine = group + mine
            else:
                others.append(group)
        groups = [*others, mine]
    # Parents come before their children, and so do the first bones of what carries others.
    groups.sort(key=lambda group: min([body.members[number].bones[0] for number in group]))
    return [sorted(group) for group in groups]


def _together(body: BodyInput, wanted: Sequence[Pull], root_weight: float) -> BodyPosture:
    """Pose chains that all hang together by shared bones, wholly."""
    rotations = [local.rotation for local in body.locals]
    location = body.locals[0].location
    outcomes: list[Outcome | None] = []
    shared: set[int] = set()
    steps = 0
    if len(wanted) > 1 or root_weight > 0.0:
        figure, steps = _landed(body, wanted, root_weight)
        rotations = [quat_beside(bone.rotation, bone.given) for bone in figure.bones]
        location = _moved(body, figure.root)
        shared = _shared(body)
    frames = body.frames(rotations, location)
    locals_ = [body.local(i, location, local.rotation) for i, local in enumerate(body.locals)]
    landed = [body.local(i, location, rotation) for i, rotation in enumerate(rotations)]
    for member, pull in zip(body.members, wanted, strict=True):
        start = sum([i in shared for i in member.bones])
        if start == len(member.bones):
            outcomes.append(_shared_outcome(body, member, pull, frames, steps))
            continue
        parent = body.parents[member.bones[start]]
        frame = body.frame if parent < 0 else frames[parent]
        given = body.chain(member, start, frame, locals_)
        is_cut = pull.solver == "TWO_BONE" and len(given.links) != 2
        solver = "FABRIK" if is_cut and start > 0 else pull.solver
        posture = pose_chain(given, pull.goal, solver, pull.iterations, pull.tolerance)
        if posture.state != "REACHED" and start > 0 and _is_there(member, pull, frames):
            # It arrives as it has landed: twisted as uneven scale may ask for, or within limits.
            there = body.chain(member, start, frame, landed)
            as_landed = pose_chain(there, pull.goal, solver, pull.iterations, pull.tolerance)
            if as_landed.state == "REACHED":
                posture = as_landed
        for i, rotation in zip(member.bones[start:], posture.rotations, strict=True):
            rotations[i] = rotation
        sweeps = steps + posture.solution.sweeps
        state = _judged(posture.state, body, member, pull, frames)
        outcomes.append(Outcome(state, sweeps, given, posture))
    return BodyPosture(rotations, location, outcomes)


def _landed(body: BodyInput, wanted: Sequence[Pull], root_weight: float) -> tuple[Figure, int]:
    """Bring the whole tree to its targets; return it, and the steps that it took."""
    heaviest = max([pull.weight for pull in wanted])
    effectors: list[Effector] = []
    for member, pull in zip(body.members, wanted, strict=True):
        weight = sqrt(pull.weight / heaviest)
        target = in_space(pull.goal.target)
        effectors.append(Effector(member.bones[-1], member.tip, target, weight))
    root = point_in(body.frame, head_in_parent(body.bones[0], body.locals[0]))
    held = _held(body)
    figure = Figure(held, effectors, body.frame[0], root, root_weight)
    tolerance = min([pull.tolerance for pull in wanted])
    lightest = min([effector.pull for effector in effectors])
    starts: list[list[Quat]] = []
    if figure.reach > 0.0:
        iterations = max([pull.iterations for pull in wanted])
        shared = _shared(body)
        bends = [_bend(body, member, shared) for member in body.members]
        starts.append(shape(figure, bends, iterations, tolerance))
    if not starts or any([limit is not None for limit in body.limits]):
        # Without limits there is but one valley, and another start only makes jumps.
        starts += [[bone.given for bone in held], [NO_TURN] * len(held)]
    size = lightest * figure.reach
    _, steps = hold(figure, starts, min(tolerance, EXACT) * size, tolerance * size)
    return figure, steps


def _held(body: BodyInput) -> list[Held]:
    """Return the bones, each with the arm that it points at the next joint of a chain with."""
    arms = [ORIGIN] * len(body.bones)
    for member in body.members:
        for i, after in zip(member.bones, member.bones[1:], strict=False):
            arms[i] = head_in_parent(body.bones[after], body.locals[after])
        arms[member.bones[-1]] = member.tip
    held: list[Held] = []
    for i, bone in enumerate(body.bones):
        local = body.locals[i]
        at = head_in_parent(bone, local)
        ease = 1.0 - body.stiffness[i]
        held.append(Held(bone, local, body.parents[i], at, arms[i], body.limits[i], ease))
    return held


def _bend(body: BodyInput, member: Member, shared: set[int]) -> Vec:
    """Return the side, in armature space, to which the chain's own bones bend if straight."""
    start = min(sum([i in shared for i in member.bones]), len(member.bones) - 1)
    rotations = [local.rotation for local in body.locals]
    axes = body.frames(rotations, body.locals[0].location)[member.bones[start]][0]
    return mat_apply(axes, member.rest_bends[start] or Z_AXIS)


def _shared(body: BodyInput) -> set[int]:
    """Return the bones that several chains pose, and those of any chain that carry such a one."""
    count = [0] * len(body.bones)
    for member in body.members:
        for i in member.bones:
            count[i] += 1
    shared: set[int] = set()
    for i in range(len(count) - 1, -1, -1):
        if count[i] > 1 or i in shared:
            shared.add(i)
            shared.add(body.parents[i])
    return shared


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
    state: State = "REACHED" if _is_there(member, pull, frames) else "OUT_OF_REACH"
    return Outcome(_judged(state, body, member, pull, frames), steps, None, None)


def _is_there(member: Member, pull: Pull, frames: list[Frame]) -> bool:
    tip = point_in(frames[member.bones[-1]], member.tip)
    return distance_to(tip, pull.goal.target) <= pull.tolerance * _length(member, frames)


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
