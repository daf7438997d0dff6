"""Poles that partly follow their chain's target, so that a knee turns with its foot.

The pole moves by a fraction of the target's own motion, as if parented to it. The target's own
motion is what channels, a hold or native constraints add to its parent's motion. So a root bone
moves both only once, whatever their parents are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple, cast

from fabrik_solver import WHOLE, Frame, Local, bone_frame, frame_in, inverse
from fabrik_solver.core.holding import held_channels, rigid

from ...blender.messages import msg
from ...blender.rotation import LOCATION
from ...blender.skeleton import Point, Skeleton
from ...plan.chain_plan import ChainPlan, Snapshot
from ...plan.pre_pass import PrePassBone
from ...plan.results import NOTHING, SolveResult, is_far
from ...settings.properties import FabrikConstraint, settings
from .settings import holds_of


class FollowInput(NamedTuple):
    """How a pole follows, compared bit by bit.

    Attributes:
        channels: Its FK pose, and earlier solved results for it.
        parent: Its parent's frame, in armature space.
        moved: The target's own motion, in armature space.
        fraction: The fraction of that motion that it follows.
    """

    channels: tuple[object, ...]
    parent: Frame
    moved: Frame
    fraction: float


class FollowingPole(PrePassBone):
    """A pole that follows its chain's target, even with IK off, so that switching never jumps."""

    is_known_ahead: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Let the pole be moved as well as rotated."""
        super().__post_init__()
        self.more = [self.rig.slot(LOCATION, self.bone)]

    def needs(self) -> list[Point]:
        """Return the target."""
        return [cast(Point, self.chains[0].target)]

    def read(self, snapshot: Snapshot) -> FollowInput | None:
        """Return how the pole follows; None if it doesn't."""
        rig, pose, target = self.rig, snapshot.poses[self.rig.uid], self.needs()[0].bone
        fraction = pose.settings[self.chains[0].item].pole_follow
        if fraction == 0.0:
            return None
        beneath = pose.beneath(self.bones) if self.is_layered else None
        unmoved = bone_frame(rig.bone(target), Local(), _parent(snapshot, rig, target))
        moved = frame_in(rigid(snapshot.frame(rig, target)), inverse(rigid(unmoved)))
        channels = (*pose.fk_bits(self.ranges), beneath)
        return FollowInput(channels, _parent(snapshot, rig, self.bone), moved, fraction)

    def solve(self, snapshot: Snapshot, inputs: object) -> SolveResult:
        """Return the pole's rotation and location.

        Raises:
            ProblemError: If the pole's parent has zero scale.
        """
        assert isinstance(inputs, FollowInput)
        bone, parent = self.rig.bone(self.bone), inputs.parent
        local = snapshot.poses[self.rig.uid].posed_local(self.bone)
        space = rigid(bone_frame(bone, Local(), parent))
        moved = frame_in(inputs.moved, space)
        try:
            rotation, location = held_channels(
                bone, local, parent, WHOLE, moved, space, inputs.fraction
            )
        except ValueError:
            raise self.zero_scale_problem() from None
        bones = [] if is_far(location) else self.bones
        numbers = rotation if bones else []
        return SolveResult(inputs, bones, numbers, (), NOTHING, {bone: location for bone in bones})


def _parent(snapshot: Snapshot, rig: Skeleton, bone: int) -> Frame:
    parent = rig.parents[bone]
    return WHOLE if parent < 0 else snapshot.frame(rig, parent)


def following_poles(rig: Skeleton, chains: Sequence[ChainPlan]) -> Iterator[FollowingPole]:
    """Yield the poles that follow targets, each for the first chain that asks for it."""
    items = settings(rig.object).constraints
    wanted = [chain for chain in chains if items[chain.item].use_pole_follow and not chain.problem]
    poles: set[int] = set()
    for chain in wanted:
        bone = -1 if chain.pole is None else chain.pole.bone
        if bone not in poles and not _problem(chain):
            poles.add(bone)
            yield FollowingPole(rig, bone, [chain])


def resolve_follow(chain: ChainPlan, item: FabrikConstraint) -> None:
    """Note why a chain's pole can't follow its target."""
    if item.use_pole_follow and chain.pole is not None and not chain.note:
        chain.note = _problem(chain)


def _problem(chain: ChainPlan) -> str:
    """Return why a chain's pole can't follow its target; empty if it can."""
    rig, target, pole = chain.rig, chain.target, chain.pole
    if not (pole and target and pole.skeleton is rig and target.skeleton is rig):
        return msg(
            "Pole Follow needs a target and a pole that are bones of “{armature}”: choose control "
            "bones, or disable it",
            armature=rig.object.name,
        )
    name = rig.names[pole.bone]
    if pole.bone in rig.connected or target.bone in rig.chain_up(pole.bone):
        return msg(
            "“{pole}” is parented to the target, or connected, so it can't follow in part: choose "
            "another parent, or disable Pole Follow",
            pole=name,
        )
    if any(hold.bone == name for hold in holds_of(rig.object)):
        return msg(
            "“{pole}” is held, so it doesn't follow the target: remove its hold, or disable Pole "
            "Follow",
            pole=name,
        )
    return ""


def is_following(point: Point) -> bool:
    """Return whether a pole follows its target, so its channels alone don't place it."""
    if point.skeleton is None:
        return False  # In 4.2, reading an object's settings creates them.
    pole = point.object, point.skeleton.names[point.bone]
    return True in [
        item.use_pole_follow and (item.pole_target, item.pole_subtarget) == pole
        for item in settings(point.object).constraints
    ]
