"""Bodies: chains that share bones, or whose root is free, solved together.

First all bones are solved as one tree for all effectors, with conflicts weighted. FABRIK finds the
shape, and `solve_with_limits` brings it within the joint limits. The shared bones are then final.
The rest of each chain is solved from there like any other chain, with its solver, pole and tip.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import inf, sqrt
from typing import final

from .bend import RestBend, straight_bend
from .block_solver import Effector
from .bones import Bone, Local, head_in_parent, inherited_axes, moved_location, turned_axes
from .chain import Goal, State, in_space
from .frames import Frame, point_in
from .landing import EXACT
from .limit_solver import ConstrainedBone, Linkage, solve_with_limits
from .limits import Limit
from .methods import fitting
from .pose import pose_chain
from .posture import ChainInput, Posture
from .reach import distance_to
from .slide import Slab, Slide
from .stretch import Stretch
from .tip import Tip, oriented
from .tree import shape
from .vectors import (
    ORIGIN,
    QUAT_IDENTITY,
    Quat,
    Vec,
    length,
    mat_apply,
    mix,
    quat_compatible,
    scaled,
    slerp,
    sub,
)


@final
class Member:
    """A chain of a body.

    Attributes:
        bones: The indices of its bones in the body, root first.
        tip: Position of the tip in the last bone's posed axes.
        rest_bends: For each bone, the ``rest_bend`` of the part of the chain that it begins (see
            `ChainInput`).
        has_hand: Whether the last bone can be oriented.
        limb_bends: The ``limb_bend`` of the same parts.
    """

    __slots__ = ("bones", "has_hand", "limb_bends", "rest_bends", "tip")

    def __init__(
        self,
        bones: list[int],
        tip: Vec,
        rest_bends: Sequence[RestBend | None],
        limb_bends: Sequence[RestBend | None] = (),
        has_hand: bool = False,
    ) -> None:
        self.bones = bones
        self.tip = tip
        self.rest_bends = rest_bends
        self.has_hand = has_hand
        self.limb_bends: Sequence[RestBend | None] = limb_bends or [None] * len(bones)

    def joints(self, frames: Sequence[Frame]) -> list[Vec]:
        """Return the heads of the chain's bones and its tip, from the frames of the body."""
        return [*[frames[i][1] for i in self.bones], self.tip_at(frames)]

    def tip_at(self, frames: Sequence[Frame]) -> Vec:
        """Return the tip of the chain, from the frames of the body's bones."""
        return point_in(frames[self.bones[-1]], self.tip)

    def length(self, frames: Sequence[Frame]) -> float:
        """Return the length of the chain, from the frames of the body's bones."""
        return sum([distance_to(a, b) for a, b in pairwise(self.joints(frames))])


@final
class Pull:
    """The goal and settings of a chain of a body.

    Attributes:
        goal: Target and pole, in armature space.
        solver: See `solve`; only for unshared bones.
        iterations: See `solve`.
        tolerance: See `solve`.
        bias: See `ChainInput`; only for unshared bones.
        tip: See `pose_chain`; only with a hand.
        stretch: See `pose_chain`; only for unshared bones.
        influence: See `pose_body`; more than 0.
        weight: The weight of the gap to the target relative to other chains; more than 0.
        root_weight: How readily the body's root moves, relative to rotating bones; 0 fixes it.
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
        """Set the goal and settings.

        Raises:
            ValueError: If influence or weight isn't above 0, the root's weight is below 0, or any
                of them is too large.
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
        self.bias = bias
        self.tip = tip
        self.stretch = stretch

    def whole(self) -> "Pull":
        """Return the same pull at full influence."""
        return Pull(
            self.goal,
            self.solver,
            self.iterations,
            self.tolerance,
            1.0,
            self.weight,
            self.root_weight,
            self.bias,
            self.tip,
            self.stretch,
        )


@final
class MemberOutcome:
    """The result of a chain of a body.

    Attributes:
        state: See `Posture`.
        iterations_used: Iterations for the body, and for the chain's unshared bones.
        tip: Final position of the tip in armature space.
        fk_chain: The chain's unshared bones in their FK pose, on the solved body; None if not
            solved.
        posture: Their solved posture; None if not solved.
    """

    __slots__ = ("fk_chain", "iterations_used", "posture", "state", "tip")

    def __init__(
        self, state: State, iterations_used: int, chain: ChainInput | None, posture: Posture | None
    ) -> None:
        self.state: State = state
        self.iterations_used = iterations_used
        self.tip = ORIGIN
        self.fk_chain = chain
        self.posture = posture


@final
class BodyPosture:
    """A solved body.

    Attributes:
        rotations: The local rotation of each bone.
        scales: The local scale of each bone.
        location: The location channel of the first bone.
        outcomes: The result of each chain; None if it was left out.
    """

    __slots__ = ("location", "outcomes", "rotations", "scales")

    def __init__(
        self,
        rotations: list[Quat],
        scales: list[Vec],
        location: Vec,
        outcomes: list[MemberOutcome | None],
    ) -> None:
        self.rotations = rotations
        self.scales = scales
        self.location = location
        self.outcomes = outcomes


@final
class BodyInput:
    """A tree of bones in their FK pose, and the chains that pose them.

    Attributes:
        bones: The bones, parents first.
        locals: The FK pose of each bone.
        parents: The index of each bone's parent, -1 for the first bone.
        frame: The frame of the first bone's parent.
        members: The chains.
        limits: The joint limit of each bone.
        stiffness: How much each bone resists leaving its FK pose, from 0 to 1.
        start: The rotations to start from, and the first bone's location channel; None starts from
            the FK pose. With a start, the solver only looks for the nearest pose.
        slabs: The bounds of the first bone's head, relative to its FK position (see `Slide`). If
            empty, it may be anywhere.
    """

    __slots__ = (
        "bones",
        "frame",
        "limits",
        "locals",
        "members",
        "parents",
        "slabs",
        "start",
        "stiffness",
    )

    def __init__(
        self,
        bones: Sequence[Bone],
        locals_: Sequence[Local],
        parents: Sequence[int],
        frame: Frame,
        members: Sequence[Member],
        limits: Sequence[Limit | None] = (),
        stiffness: Sequence[float] = (),
        slabs: Sequence[Slab] = (),
    ) -> None:
        """Set the FK pose; limits and stiffness as in `ChainInput`."""
        self.bones = bones
        self.locals = locals_
        self.parents = parents
        self.frame = frame
        self.members = members
        self.limits: Sequence[Limit | None] = limits or [None] * len(bones)
        self.stiffness: Sequence[float] = stiffness or [0.0] * len(bones)
        self.start: tuple[Sequence[Quat], Vec] | None = None
        self.slabs = slabs

    def carried(self, frame: Frame, slabs: Sequence[Slab] = ()) -> "BodyInput":
        """Return the same body, without a start, with another frame for the first bone's parent."""
        return BodyInput(
            self.bones,
            self.locals,
            self.parents,
            frame,
            self.members,
            self.limits,
            self.stiffness,
            slabs,
        )

    def started(self, rotations: Sequence[Quat], location: Vec) -> "BodyInput":
        """Return the same body with another start: rotations, and the first bone's location."""
        other = self.carried(self.frame, self.slabs)
        other.start = (rotations, location)
        return other

    def fk(self) -> BodyPosture:
        """Return the body in its FK pose."""
        return BodyPosture(
            [local.rotation for local in self.locals],
            [local.scale for local in self.locals],
            self.locals[0].location,
            [None] * len(self.members),
        )

    def frames(self, posture: BodyPosture) -> list[Frame]:
        """Return the frames of the bones in armature space."""
        frames: list[Frame] = []
        for i, bone in enumerate(self.bones):
            parent = self.frame if self.parents[i] < 0 else frames[self.parents[i]]
            inherited, post_scale = inherited_axes(bone, parent[0])
            axes = turned_axes(inherited, posture.rotations[i], posture.scales[i], post_scale)
            local = self.locals[i]
            location = local.location if i else posture.location
            head = head_in_parent(bone, Local(location, local.rotation, local.scale))
            frames.append((axes, point_in(parent, head)))
        return frames

    def chain(
        self,
        member: Member,
        start: int,
        frame: Frame,
        location: Vec,
        rotations: Sequence[Quat],
        bias: float,
    ) -> ChainInput:
        """Return the bones of a chain from an index onward, in another FK pose.

        Args:
            member: The chain.
            start: The index in the chain of the first bone to include.
            frame: The frame of that bone's parent.
            location: The location channel of the body's first bone.
            rotations: The rotation of each bone of the body.
            bias: See `ChainInput`.
        """
        own_bones = member.bones[start:]
        channels: list[Local] = []
        for i in own_bones:
            local = self.locals[i]
            at = local.location if i else location
            channels.append(Local(at, rotations[i], local.scale))
        chain = ChainInput(
            [self.bones[i] for i in own_bones],
            channels,
            member.tip,
            frame,
            member.rest_bends[start],
            [self.limits[i] for i in own_bones],
            [self.stiffness[i] for i in own_bones],
            member.has_hand,
            member.limb_bends[start],
            bias,
        )
        return chain if self.start is None else chain.started([self.start[0][i] for i in own_bones])

    def part(self, indices: list[int], numbers: list[int], frame: Frame) -> "BodyInput":
        """Return a body of some of the chains and bones.

        Args:
            indices: The indices of its bones, parents first.
            numbers: The indices of its chains.
            frame: The frame of the first bone's parent.
        """
        new = {i: index for index, i in enumerate(indices)}
        members = [
            Member([new[i] for i in m.bones], m.tip, m.rest_bends, m.limb_bends, m.has_hand)
            for m in [self.members[number] for number in numbers]
        ]
        part = BodyInput(
            [self.bones[i] for i in indices],
            [self.locals[i] for i in indices],
            [new.get(self.parents[i], -1) for i in indices],
            frame,
            members,
            [self.limits[i] for i in indices],
            [self.stiffness[i] for i in indices],
            self.slabs if indices[0] == 0 else (),
        )
        if self.start is not None:
            rotations, location = self.start
            part_location = location if indices[0] == 0 else part.locals[0].location
            part.start = ([rotations[i] for i in indices], part_location)
        return part


def pose_body(body: BodyInput, pulls: Sequence[Pull | None]) -> BodyPosture:
    """Pose all chains of a body.

    Influence blends poses, so that nothing jumps at 0 or 1. For a chain with an influence of 0.3,
    shared bones are 30% the pose solved with that chain and 70% the pose without it. The body is
    solved once for each distinct influence. Each chain's unshared bones reach once more from the
    blend, and are then blended by the chain's influence.

    Args:
        body: The bones and their FK pose.
        pulls: The goal of each chain, None for inactive chains.

    Raises:
        ValueError: If a number isn't finite, or a solver doesn't fit its chain.
    """
    mixed = body.fk()
    own_poses: list[BodyPosture] = [mixed for _ in pulls]
    weights_above = [0.0 for _ in pulls]
    layers = _layers([pull.influence for pull in pulls if pull is not None])
    is_blended = len(layers) > 0 and layers[-1][0] < 1.0
    # From the FK pose, weighted by the remaining influence, to the layer of all chains.
    total_weight = 1.0 - layers[0][0] if layers else 1.0
    for level, thickness in layers:
        active = [i for i, pull in enumerate(pulls) if pull is not None and pull.influence >= level]
        solved = _solved(body, pulls, active)
        total_weight += thickness
        mixed = _mixed(mixed, solved, thickness / total_weight)
        for i in active if is_blended else []:
            weights_above[i] += thickness
            own_poses[i] = _mixed(own_poses[i], solved, thickness / weights_above[i])
    if is_blended and len(pulls) - pulls.count(None) > 1:
        _pose_own_again(mixed, own_poses, body, pulls)
    frames = body.frames(mixed)
    for member, outcome in zip(body.members, mixed.outcomes, strict=True):
        if outcome is not None:
            outcome.tip = member.tip_at(frames)
    return mixed


def _layers(values: list[float]) -> list[tuple[float, float]]:
    """Return the distinct values, descending, each with its distance to the next value or 0."""
    levels = [0.0, *sorted(set(values))]
    return [(upper, upper - lower) for lower, upper in pairwise(levels)][::-1]


def _mixed(a: BodyPosture, b: BodyPosture, factor: float) -> BodyPosture:
    """Blend two postures. A chain's outcome is the first posture's, or else the second's."""
    outcomes = [first or second for first, second in zip(a.outcomes, b.outcomes, strict=True)]
    if factor == 1.0:
        return BodyPosture([*b.rotations], [*b.scales], b.location, outcomes)
    turns = zip(a.rotations, b.rotations, strict=True)
    scales = zip(a.scales, b.scales, strict=True)
    return BodyPosture(
        [slerp(first, second, factor) for first, second in turns],
        [mix(first, second, factor) for first, second in scales],
        mix(a.location, b.location, factor),
        outcomes,
    )


def _pose_own_again(
    mixed: BodyPosture, poses: list[BodyPosture], body: BodyInput, pulls: Sequence[Pull | None]
) -> None:
    """Let each chain reach once more with its unshared bones, blended by the chain's influence.

    Each chain starts from the blend of the layers that include it. At full influence these are all
    layers, so its tip is on target whatever the other chains do. With a single layer, the tip is on
    target already.
    """
    for group in _groups(body, [i for i, pull in enumerate(pulls) if pull is not None]):
        shared = _shared(body, [body.members[i] for i in group])
        for i in group:
            member, pull, posture = body.members[i], pulls[i], poses[i]
            if pull is None:
                continue
            start = sum([bone in shared for bone in member.bones])
            frames = body.frames(posture)
            outcome = _pose_own(posture, body, member, pull, start, frames, posture.rotations)
            earlier = mixed.outcomes[i]
            if earlier is not None:
                outcome.iterations_used += earlier.iterations_used
            mixed.outcomes[i] = outcome
            for index in member.bones[start:]:
                fk, influence = body.locals[index], pull.influence
                mixed.rotations[index] = slerp(fk.rotation, posture.rotations[index], influence)
                mixed.scales[index] = mix(fk.scale, posture.scales[index], influence)


def _solved(body: BodyInput, pulls: Sequence[Pull | None], active: list[int]) -> BodyPosture:
    """Pose the body by some of its chains, at full influence.

    Without the other chains, these may split into groups that don't share bones. Each group is
    solved together, after the group that carries it.
    """
    posture = body.fk()
    for group in _groups(body, active):
        indices = sorted({i for number in group for i in body.members[number].bones})
        parent = body.parents[indices[0]]
        frame = body.frame if parent < 0 else body.frames(posture)[parent]
        active_pulls = [pull for number in group if (pull := pulls[number]) is not None]
        root_weight = max([pull.root_weight for pull in active_pulls]) if indices[0] == 0 else 0.0
        solved = _together(body.part(indices, group, frame), active_pulls, root_weight)
        for index, i in enumerate(indices):
            posture.rotations[i] = solved.rotations[index]
            posture.scales[i] = solved.scales[index]
        if indices[0] == 0:
            posture.location = solved.location
        for number, outcome in zip(group, solved.outcomes, strict=True):
            posture.outcomes[number] = outcome
    return posture


def _groups(body: BodyInput, active: list[int]) -> list[list[int]]:
    """Group chains with shared bones; groups that carry others come first."""
    leaders: dict[int, int] = {}
    for number in active:
        bones = body.members[number].bones
        for i in bones:
            leaders[_leader(leaders, i)] = _leader(leaders, bones[0])
    by_leader: dict[int, list[int]] = {}
    for number in active:
        leader = _leader(leaders, body.members[number].bones[0])
        by_leader.setdefault(leader, []).append(number)
    groups = list(by_leader.values())
    # Parents come before their children, so carrying groups come before the groups they carry.
    groups.sort(key=lambda group: min([body.members[number].bones[0] for number in group]))
    return [sorted(group) for group in groups]


def _leader(leaders: dict[int, int], bone: int) -> int:
    """Return the bone that represents the group of a bone, and shorten the path to it."""
    leader = leaders.setdefault(bone, bone)
    while leaders[leader] != leader:
        leaders[bone] = leader = leaders[leader]
    return leader


def _together(body: BodyInput, pulls: Sequence[Pull], root_weight: float) -> BodyPosture:
    """Pose a group of chains that share bones, at full influence."""
    posture = body.fk()
    shared: set[int] = set()
    steps = 0
    if len(pulls) > 1 or root_weight > 0.0:
        # With partial orientation weights, the shared bones blend both solutions.
        tip_weights = [0.0 if pull.tip is None else pull.tip.weight for pull in pulls]
        shared = _shared(body, body.members)
        total_weight = 0.0
        for level, thickness in _layers([*tip_weights, 1.0]):
            if thickness > 0.0:
                landed, used = _landed(body, pulls, root_weight, level, shared)
                total_weight += thickness
                posture = _mixed(posture, landed, thickness / total_weight)
                steps += used
    fk_rotations = [local.rotation for local in body.locals]
    landed_rotations = [*posture.rotations]
    frames = body.frames(posture)
    for number, (member, pull) in enumerate(zip(body.members, pulls, strict=True)):
        start = sum([i in shared for i in member.bones])
        outcome = _pose_own(posture, body, member, pull, start, frames, fk_rotations)
        has_missed = outcome.posture is not None and outcome.posture.state != "REACHED"
        if has_missed and _is_there(member, pull, frames):
            # The landed rotations have the twist that non-uniform scale or limits require.
            again = _pose_own(posture, body, member, pull, start, frames, landed_rotations)
            if again.state == "REACHED":
                outcome = again
            else:
                outcome = _pose_own(posture, body, member, pull, start, frames, fk_rotations)
        outcome.iterations_used += steps
        posture.outcomes[number] = outcome
    return posture


def _pose_own(
    posture: BodyPosture,
    body: BodyInput,
    member: Member,
    pull: Pull,
    start: int,
    frames: list[Frame],
    rotations: Sequence[Quat],
) -> MemberOutcome:
    """Solve a chain's unshared bones, and update the posture.

    Args:
        posture: The posture of the body.
        body: The body.
        member: The chain.
        pull: Its goal and settings.
        start: The index in the chain of the first unshared bone.
        frames: The frames of the body's bones.
        rotations: The rotations of the body's bones from which the solver starts.
    """
    own_bones = member.bones[start:]
    if not own_bones:
        return _shared_outcome(body, member, pull, frames)
    parent = body.parents[own_bones[0]]
    frame = body.frame if parent < 0 else frames[parent]
    if len(own_bones) == 1 and member.has_hand:
        if pull.tip is not None:
            constrained = _constrained(body, [member])[own_bones[0]]
            rotation, _ = oriented(constrained, frame[0], pull.tip)
            turned = slerp(rotations[own_bones[0]], rotation, pull.tip.weight)
            posture.rotations[own_bones[0]] = turned
        return _shared_outcome(body, member, pull, body.frames(posture))
    own_chain = body.chain(member, start, frame, posture.location, rotations, pull.bias)
    solver = fitting(pull.solver, len(own_chain.links)) if start > 0 else pull.solver
    solved = pose_chain(
        own_chain, pull.goal, solver, pull.iterations, pull.tolerance, 1.0, pull.tip, pull.stretch
    )
    for index, i in enumerate(own_bones):
        posture.rotations[i] = solved.rotations[index]
        posture.scales[i] = solved.scales[index] if solved.scales else body.locals[i].scale
    state = _judged(solved.state, body, member, pull, frames)
    return MemberOutcome(state, solved.iterations_used, own_chain, solved)


def _landed(
    body: BodyInput, pulls: Sequence[Pull], root_weight: float, level: float, shared: set[int]
) -> tuple[BodyPosture, int]:
    """Solve the whole tree; return its posture and the number of iterations.

    Args:
        body: The bones.
        pulls: The goal of each chain.
        root_weight: See `Pull`.
        level: The least orientation weight with which a hand is placed by its head, not by its tip.
        shared: The bones that several chains pose.
    """
    posture = body.fk()
    frames = body.frames(posture)
    heaviest = max([pull.weight for pull in pulls])
    effectors: list[Effector] = []
    for member, pull in zip(body.members, pulls, strict=True):
        weight = sqrt(pull.weight / heaviest)
        point, target = member.tip, in_space(pull.goal.target)
        if pull.tip is not None and pull.tip.weight >= level and point != ORIGIN:
            hand_length = length(mat_apply(frames[member.bones[-1]][0], point))
            point, target = ORIGIN, sub(target, scaled(pull.tip.ahead, hand_length))
        effectors.append(Effector(member.bones[-1], point, target, weight))
    root = _root_at(body, body.locals[0].location)
    constrained = _constrained(body, body.members)
    slide = Slide(root, body.slabs) if body.slabs else None
    linkage = Linkage(constrained, effectors, body.frame[0], root, root_weight, slide)
    tolerance = min([pull.tolerance for pull in pulls])
    lightest = min([effector.pull for effector in effectors])
    starts: list[list[Quat]] = []
    if body.start is not None:
        rotations, location = body.start
        starts.append(linkage.of_joints(rotations))
        if root_weight > 0.0:
            linkage.root = _root_at(body, location)
    if root_weight > 0.0:
        linkage.root = linkage.root_within(linkage.root)
    if body.start is None and linkage.reach > 0.0:
        iterations = max([pull.iterations for pull in pulls])
        bends = [_bend(member, shared, frames) for member in body.members]
        starts.append(shape(linkage, bends, iterations, tolerance))
    seeks = body.start is None
    if not starts or (seeks and any([limit is not None for limit in body.limits])):
        # Without limits there is only one minimum, and another start would only cause jumps.
        starts += [[bone.joint for bone in constrained], [QUAT_IDENTITY] * len(constrained)]
    size = lightest * linkage.reach
    _, steps = solve_with_limits(
        linkage, starts, min(tolerance, EXACT) * size, tolerance * size, seeks
    )
    pairs = zip(linkage.channels(), constrained, strict=True)
    posture.rotations = [quat_compatible(rotation, bone.fk_rotation) for rotation, bone in pairs]
    posture.location = _moved(body, linkage.root)
    return posture, steps


def _constrained(body: BodyInput, members: Sequence[Member]) -> list[ConstrainedBone]:
    """Return the bones, each with its arm to the next joint of a chain."""
    arms = [ORIGIN] * len(body.bones)
    for member in members:
        for i, child in zip(member.bones, member.bones[1:], strict=False):
            arms[i] = head_in_parent(body.bones[child], body.locals[child])
        arms[member.bones[-1]] = member.tip
    constrained: list[ConstrainedBone] = []
    for i, bone in enumerate(body.bones):
        local = body.locals[i]
        at = head_in_parent(bone, local)
        stiffness = body.stiffness[i]
        constrained.append(
            ConstrainedBone(bone, local, body.parents[i], at, arms[i], body.limits[i], stiffness)
        )
    return constrained


def _bend(member: Member, shared: set[int], frames: list[Frame]) -> Vec:
    """Return the bend direction of the chain's unshared bones if straight, in armature space."""
    start = min(sum([i in shared for i in member.bones]), len(member.bones) - 1)
    axes = [frames[i][0] for i in member.bones[start:]]
    return straight_bend(axes, member.rest_bends[start])


def _shared(body: BodyInput, members: Sequence[Member]) -> set[int]:
    """Return the bones that several chains pose, and their ancestors in any chain."""
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


def _root_at(body: BodyInput, location: Vec) -> Vec:
    """Return the position of the first bone's head for a location channel."""
    local = body.locals[0]
    channels = Local(location, local.rotation, local.scale)
    return point_in(body.frame, head_in_parent(body.bones[0], channels))


def _moved(body: BodyInput, root: Vec) -> Vec:
    """Return the first bone's location channel that puts its head on the root."""
    bone, local = body.bones[0], body.locals[0]
    shift = sub(root, point_in(body.frame, head_in_parent(bone, local)))
    return moved_location(bone, local.location, body.frame[0], shift)


def _shared_outcome(
    body: BodyInput, member: Member, pull: Pull, frames: list[Frame]
) -> MemberOutcome:
    """Return the result of a chain that shares all its bones."""
    state: State = "REACHED" if _is_there(member, pull, frames) else "OUT_OF_REACH"
    return MemberOutcome(_judged(state, body, member, pull, frames), 0, None, None)


def _is_there(member: Member, pull: Pull, frames: list[Frame]) -> bool:
    distance = distance_to(member.tip_at(frames), pull.goal.target)
    return distance <= pull.tolerance * member.length(frames)


def _judged(
    state: State, body: BodyInput, member: Member, pull: Pull, frames: list[Frame]
) -> State:
    """Return the state, taking into account the limits of all the chain's bones."""
    if state != "OUT_OF_REACH" or all([body.limits[i] is None for i in member.bones]):
        return state
    target_distance = distance_to(frames[member.bones[0]][1], pull.goal.target)
    return "LIMITED" if target_distance <= member.length(frames) else state
