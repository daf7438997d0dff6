"""The inputs of a strand of springs, at frames and between them."""

from collections.abc import Sequence
from typing import NamedTuple, final

from ..core import WHOLE, ChainInput, Frame, frame_in, head_in_parent, inverse, point_in
from ..core.vectors import (
    ORIGIN,
    Mat3,
    Vec,
    add,
    length,
    mat_apply,
    mat_inverse,
    mat_product,
    mix,
    scale_columns,
    scaled,
    times,
)
from .force_field import ForceField, accelerations
from .spring import REFERENCE, Pull, Spring, Tail
from .spring_collision import Collider


class Instant(NamedTuple):
    """The inputs of a strand at a frame.

    Attributes:
        world: The armature's frame in simulation space. That is world space, or the space of a
            center with orthonormal axes.
        chain: The bones in their FK pose, with their joint limits; the same object until these
            change.
        parent: The frame of the root bone's parent at this frame; the one stored in the chain is
            ignored.
        springs: The settings of each bone.
        colliders: The colliders in simulation space; the same number at each frame.
        is_reset: Whether the strand starts again at this frame.
        fields: The force fields in simulation space; the same number at each frame.
    """

    world: Frame
    chain: ChainInput
    parent: Frame
    springs: Sequence[Spring]
    colliders: Sequence[Collider]
    is_reset: bool = False
    fields: Sequence[ForceField] = ()


@final
class Form:
    """A strand's bones in their FK pose.

    Attributes:
        turns: Each bone's unscaled axes, in those of its posed parent.
        aims: Each bone's arm, in these axes.
        sizes: Each bone's scale.
        rests: Each bone's arm, in the axes of the root's parent.
        levers: The length of the pendulum that each bone forms with all its children, in bone
            lengths.
    """

    def __init__(
        self, turns: list[Mat3], aims: list[Vec], sizes: list[Vec], rests: list[Vec]
    ) -> None:
        self.turns = turns
        self.aims = aims
        self.sizes = sizes
        self.rests = rests
        self.levers = _levers(rests)

    def toward(self, other: "Form", t: float) -> "Form":
        """Return the form at a fraction ``t`` of the way to another form."""
        if self is other or t == 1.0:
            return other
        turns: list[Mat3] = []
        for a, b in zip(self.turns, other.turns, strict=True):
            turns.append(_combined([(a, ORIGIN), (b, ORIGIN)], [1.0 - t, t])[0])
        return Form(
            turns,
            [mix(a, b, t) for a, b in zip(self.aims, other.aims, strict=True)],
            [mix(a, b, t) for a, b in zip(self.sizes, other.sizes, strict=True)],
            [mix(a, b, t) for a, b in zip(self.rests, other.rests, strict=True)],
        )


class Moment(NamedTuple):
    """The inputs of a step.

    Attributes:
        parent: The axes of the root bone's parent.
        root: The position of the root.
        form: The form of the chain.
        springs: The springs.
        pulls: The springs for a step; empty for VRM's rule.
        colliders: The colliders.
        fields: The force fields.
    """

    parent: Mat3
    root: Vec
    form: Form
    springs: Sequence[Spring]
    pulls: Sequence[Pull]
    colliders: Sequence[Collider]
    fields: Sequence[ForceField]

    def external(self, i: int, tail: Tail) -> Vec:
        """Return the external forces on a bone, in the unit of `Spring.gravity`."""
        gravity = self.springs[i].gravity
        if not self.fields:
            return gravity
        pull = accelerations(self.fields, add(tail.head, tail.arm))
        return add(gravity, scaled(pull, 1.0 / REFERENCE))


def _levers(arms: list[Vec]) -> list[float]:
    """Return the length of the pendulum that each bone forms with its children, in bone lengths.

    All mass is at the tails. So a rigid strand is a pendulum of length Σ r² / Σ r, with the
    distances r from its head to the tails.
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


def form_of(chain: ChainInput, parent: Mat3) -> Form:
    """Return a chain's form, from the axes of its root bone's parent.

    Bones that inherit only a part of their parents' transform are treated as if they inherited all
    of it, with their axes of the FK pose.
    """
    turns: list[Mat3] = []
    aims: list[Vec] = []
    sizes: list[Vec] = []
    rests: list[Vec] = []
    axes = parent
    back = mat_inverse(parent)
    for link in chain.links:
        unscaled, scale = link.unscaled(axes)
        aim = times(link.arm, scale)
        turns.append(link.turn if link.is_plain else mat_product(mat_inverse(axes), unscaled))
        aims.append(aim)
        sizes.append(scale)
        rests.append(mat_apply(back, mat_apply(unscaled, aim)))
        axes = scale_columns(unscaled, scale)
    return Form(turns, aims, sizes, rests)


def forms_of(instants: Sequence[Instant]) -> list[Form]:
    """Return a chain's forms at all frames: the same object until its FK pose changes."""
    forms: list[Form] = []
    chain = None
    for instant in instants:
        is_same = instant.chain is chain and is_plain(instant.chain)
        forms.append(forms[-1] if is_same else form_of(instant.chain, instant.parent[0]))
        chain = instant.chain
    return forms


def is_plain(chain: ChainInput) -> bool:
    """Return whether all bones of a chain inherit their parents' axes unchanged."""
    return all([link.is_plain for link in chain.links])


def parent_of(instant: Instant) -> Frame:
    """Return a frame at the root with the axes of the root's parent, in simulation space."""
    root = point_in(
        instant.parent, head_in_parent(instant.chain.links[0].bone, instant.chain.channels[0])
    )
    return mat_product(instant.world[0], instant.parent[0]), point_in(instant.world, root)


def fk_joints(parent: Frame, form: Form) -> list[Vec]:
    """Return the joints of the FK pose, in simulation space.

    Args:
        parent: The parent's frame, from `parent_of`.
        form: The form of the chain.
    """
    axes, joint = parent
    joints = [joint]
    for rest in form.rests:
        joint = add(joint, mat_apply(axes, rest))
        joints.append(joint)
    return joints


def carrying(start: Frame, end: Frame) -> Frame:
    """Return the transform from one frame to another.

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


def frame_at(around: list[Frame], t: float) -> Frame:
    """Return the frame between the second and third of four (Catmull and Rom, 1974).

    Its axes are rotations up to an error of third order in the interval, and exact at its ends.
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


def extended(near: Frame, far: Frame, farther: Frame, has_farther: bool) -> Frame:
    """Return the frame before the near one, extrapolated from it and the next ones.

    The extrapolation is quadratic if there is a third frame, otherwise linear.

    Args:
        near: The first known frame.
        far: The frame after it.
        farther: The frame after that.
        has_farther: Whether ``farther`` exists.
    """
    if has_farther:
        return _combined([near, far, farther], [3.0, -3.0, 1.0])
    return _combined([near, far], [2.0, -1.0])


def springs_at(start: Sequence[Spring], end: Sequence[Spring], t: float) -> Sequence[Spring]:
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


def colliders_at(
    start: Sequence[Collider], end: Sequence[Collider], t: float
) -> Sequence[Collider]:
    """Return the colliders between two frames."""
    if t == 1.0 or start is end:
        return end
    return [a.toward(b, t) for a, b in zip(start, end, strict=True)]
