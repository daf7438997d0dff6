"""One constraint, with its names resolved to bones and objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from mathutils import Vector

from ..core import ChainInput, Frame
from ..core.bend import STRAIGHT, bend_direction, chain_axis
from ..core.vectors import Vec, across, length, quat_matrix, quat_unit
from . import animation
from .access import pose_bones, rest_bone, settings
from .joints import Joints, joint_problem, joints_of
from .native import active_constraints
from .rotation import KINDS, LOCATION, SCALE, Run, channel_of, runs_of
from .skeleton import Point, Skeleton, skeleton_of, vector

if TYPE_CHECKING:
    from .pose import Settings
    from .properties import FabrikConstraint
    from .task import Given


class Report(NamedTuple):
    """How a constraint did.

    Attributes:
        state: One of the constraint's states.
        error: Distance from tip to target in world space, in metres.
        sweeps: Sweeps that the solver took.
        message: What is wrong and what to do about it, empty if nothing is.
    """

    state: str
    error: float = 0.0
    sweeps: int = 0
    message: str = ""


class Answer(NamedTuple):
    """A solution, and all that it is a function of.

    Attributes:
        task: What went in.
        bones: The bones that were solved.
        rotations: The local rotations of the bones, four numbers a bone.
        reports: How the constraints that were solved did.
        grown: The local scales that were solved, by bone.
        placed: The local locations that were solved, by bone.
    """

    task: object
    bones: Sequence[int]
    rotations: Sequence[float]
    reports: tuple[Report, ...]
    grown: Mapping[int, Vec]
    placed: Mapping[int, Vec]


NOTHING: Mapping[int, Vec] = {}
"""What was solved of locations or scales where there is nothing of the kind."""

OFF = "The constraint is off: turn it on, and its Influence up"


def listed(names: Sequence[str]) -> str:
    """Return names as they stand in a sentence: “A”, “B” and “C”."""
    *others, last = [f"“{name}”" for name in names]
    return f"{', '.join(others)} and {last}" if others else last


class ProblemError(Exception):
    """Why a constraint cannot work, in a sentence that says what to do."""


@dataclass(eq=False, slots=True)
class ChainPlan:
    """One constraint, resolved.

    Attributes:
        rig: The armature.
        item: Index of the constraint in the armature's list.
        items: The same, as of chains that are solved together.
        bones: The bones that it poses, root first; empty if there are none.
        tip_bone: The bone whose head is the tip; -1 if the last bone's tail is.
        has_hand: Whether the last of the bones takes the target's orientation.
        limb_bend: As ``rest_bend``, of the bones before a hand whose tail is the tip.
        offset: What the target's frame is multiplied by, None if nothing.
        target: What the tip reaches for.
        pole: What the bend faces, if anything.
        rest_bend: Side to which the rest pose bends, in the root bone's axes; None if straight.
        problem: Why the constraint cannot work; empty if it can.
        note: What the user should know although it works.
        stretches: Whether its bones may grow.
        more: The slots (see `KINDS`) that it needs besides the rotations of its bones.
        runs: The bones as runs of neighbours.
        root_parent: The bone that carries the chain, -1 if none does.
        is_root_free: Whether its first bone may leave its place.
        joints: What its bones allow.
        checked: The settings that were found to be fit for the chain.
        given: What its FK input was last.
        stamp: What ``given`` was taken at.
        input: The chain under that input, as soon as it was needed.
        last: What was solved in the last update.
        answers: What was solved, by frame.
    """

    rig: Skeleton
    item: int
    items: tuple[int, ...] = field(init=False)
    bones: list[int] = field(default_factory=list)
    tip_bone: int = -1
    has_hand: bool = False
    limb_bend: Vec | None = None
    offset: Frame | None = None
    target: Point | None = None
    pole: Point | None = None
    rest_bend: Vec | None = None
    problem: str = ""
    note: str = ""
    stretches: bool = False
    more: list[int] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    root_parent: int = -1
    is_root_free: bool = False
    joints: Joints = field(default_factory=Joints)
    checked: Settings | None = None
    given: Given | None = None
    stamp: object = None
    input: ChainInput | None = None
    last: Answer | None = None
    answers: dict[float, Answer] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The constraint's name."""
        return settings(self.rig.object).constraints[self.item].name

    def __post_init__(self) -> None:
        """Name the constraints that are solved together: this one."""
        self.items = (self.item,)


def resolved(rig: Skeleton, index: int) -> ChainPlan:
    """Return a constraint of an armature, with what is wrong with it."""
    chain = ChainPlan(rig, index)
    item = settings(rig.object).constraints[index]
    try:
        _resolve_bones(chain, item)
        chain.target = _point(item, "target", "subtarget")
        if chain.target is None:
            raise ProblemError("There is no target: choose an object, or a bone, to reach for")
        chain.pole = _point(item, "pole_target", "pole_subtarget")
        chain.offset = _offset(item)
        _resolve_joints(chain)
    except ProblemError as problem:
        chain.problem = str(problem)
    return chain


def _resolve_bones(chain: ChainPlan, item: FabrikConstraint) -> None:
    rig = chain.rig
    if not item.bone:
        raise ProblemError("There is no tip bone: choose the last bone of the chain")
    up = rig.chain_up(_bone_index(rig, item, "bone"))
    if not item.use_tail:
        chain.tip_bone = up.pop()
        if not up:
            raise ProblemError(
                f"“{item.bone}” has no parent that could move its head: "
                "turn on Use Tail or choose another tip bone"
            )
    if item.chain_count > len(up):
        raise ProblemError(
            f"Chain Length is {item.chain_count}, but there are {len(up)} bones up to the root: "
            f"set it to {len(up)} or less, or to 0 for all"
        )
    chain.bones = up[-item.chain_count :]
    chain.root_parent = rig.parents[chain.bones[0]]
    chain.rest_bend = rest_bend(rig, chain.bones, chain.tip_bone)
    if item.use_rotation:
        _resolve_hand(chain, item)
    chain.runs = runs_of(chain.bones)
    count = len(rig.names)
    if item.use_free_root:
        chain.more.append(KINDS.index(LOCATION) * count + chain.bones[0])
    chain.stretches = item.use_stretch
    if chain.stretches:
        chain.more += [KINDS.index(SCALE) * count + bone for bone in chain.bones]
    chain.note = _disturbance(chain)
    chain.is_root_free = item.use_free_root
    if item.use_free_root and chain.bones[0] in rig.connected and chain.root_parent >= 0:
        raise ProblemError(
            f"“{rig.names[chain.bones[0]]}” is connected to its parent and cannot leave its place: "
            "turn off Free Root, or the bone's Connected in Edit Mode"
        )


def _resolve_hand(chain: ChainPlan, item: FabrikConstraint) -> None:
    """Let the tip bone be oriented: as the last bone of the chain, or as one that hangs on it."""
    chain.has_hand = True
    if chain.tip_bone >= 0:
        chain.bones.append(chain.tip_bone)
    elif len(chain.bones) == 1:
        raise ProblemError(
            f"“{item.bone}” is the only bone of the chain, so that none is left to reach while it "
            "keeps the target's orientation: raise Chain Length, or turn off Match Target"
        )
    else:
        chain.limb_bend = rest_bend(chain.rig, chain.bones[:-1], chain.bones[-1])


def _offset(item: FabrikConstraint) -> Frame | None:
    if not item.use_offset:
        return None
    x, y, z = item.offset_location
    w, a, b, c = item.offset_rotation
    if not all(isfinite(number) for number in (x, y, z, w, a, b, c)):
        raise ProblemError("The offset is not a finite number: press Set, or type it in again")
    return quat_matrix(quat_unit((w, a, b, c))), (x, y, z)


def _resolve_joints(chain: ChainPlan) -> None:
    pose = pose_bones(chain.rig.object)
    bones = [pose[chain.rig.names[i]] for i in chain.bones]
    for problem in map(joint_problem, bones):
        if problem:
            raise ProblemError(problem)
    chain.joints = joints_of(bones, chain.bones)


def _disturbance(chain: ChainPlan) -> str:
    """Name what moves a bone of the chain after it was solved, if there is anything."""
    bones = pose_bones(chain.rig.object)
    count = len(chain.rig.names)
    for i in chain.bones:
        bone = bones[chain.rig.names[i]]
        others = [channel_of(KINDS[slot // count])[0] for slot in chain.more if slot % count == i]
        for channel in ("rotation", *others):
            if animation.has_driver(chain.rig.object, bone, channel):
                return (
                    f"The {channel} of “{bone.name}” has a driver, which acts after the chain is "
                    "solved and may take the tip away: remove it, or drive a parent of the chain"
                )
        for con in active_constraints(bone):
            return (
                f"“{bone.name}” has its own constraint “{con.name}”, which acts after the chain "
                "is solved and may take the tip away: mute it, or move it to another bone"
            )
    return ""


def rest_bend(rig: Skeleton, chain: Sequence[int], tip_bone: int) -> Vec | None:
    """Return to which side the rest pose of a chain bends, in its first bone's own axes.

    None if it is straight.

    Args:
        rig: The armature.
        chain: The bones, root first.
        tip_bone: The bone whose head is the tip; -1 if the last bone's tail is.
    """
    bones = [rest_bone(rig.object, rig.names[i]) for i in chain]
    tip = bones[-1].tail_local
    if tip_bone >= 0:
        tip = rest_bone(rig.object, rig.names[tip_bone]).head_local
    root = bones[0].head_local
    heads = [bone.head_local for bone in bones]
    joints = [vector(point - root) for point in (*heads, tip)]
    axis = chain_axis(joints)
    size = sum(length(vector(b - a)) for a, b in zip(heads, (*heads[1:], tip), strict=True))
    if max(length(across(joint, axis)) for joint in joints) <= STRAIGHT * size:
        return None
    bend = bend_direction([vector((p - root) / size) for p in (*heads, tip)], axis)
    if bend is None:
        return None
    root_axes = bones[0].matrix_local.to_3x3()
    return vector(root_axes.transposed() @ Vector(bend))


def _point(item: FabrikConstraint, pointer: str, bone_name: str) -> Point | None:
    ob = getattr(item, pointer)
    if ob is None:
        return None
    if not getattr(item, bone_name) or ob.type != "ARMATURE":
        return Point(ob)
    if ob.pose is None:
        raise ProblemError(f"“{ob.name}” has no pose: select it and enter Pose Mode once")
    skeleton = skeleton_of(ob)
    return Point(ob, skeleton, _bone_index(skeleton, item, bone_name))


def _bone_index(rig: Skeleton, item: FabrikConstraint, field_name: str) -> int:
    """Return the bone that a field of the constraint names, following it if it was renamed.

    Each bone that a constraint names remembers that name, so the one that remembers a name which
    no bone has any more is the bone that had it.
    """
    name = getattr(item, field_name)
    bones = pose_bones(rig.object)
    if name not in rig.index:
        heirs = [bone.name for bone in bones if bone.fabrik_name == name]
        if not heirs:
            raise ProblemError(
                f"There is no bone “{name}” in “{rig.object.name}”: choose another one"
            )
        name = heirs[0]
        setattr(item, field_name, name)
    if bones[name].fabrik_name != name:
        bones[name].fabrik_name = name
    return rig.index[name]
