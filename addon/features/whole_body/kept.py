"""A body whose pinned bones stay during playback, solved at each update.

Each frame starts from the animated pose. Pinned bones go to a stored location, or stay where the
animation puts them, and the rest of the body follows with the least motion. Each frame thus depends
only on itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, NamedTuple

import bpy

from fabrik_solver import Frame, inverse, point_in
from fabrik_solver.core.vectors import (
    QUAT_IDENTITY,
    Quat,
    Vec,
    mix,
    orthonormalize,
    quat_compatible,
    quat_inverse,
    quat_matrix,
    quat_of,
    quat_product,
    quat_unit,
    slerp,
)
from fabrik_solver.core.whole_body import DRAGGED, PINNED, SOFT, WholeBodyGoal

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.messages import msg
from ...blender.relations import active_constraints
from ...blender.rotation import LOCATION, ranges_of
from ...blender.session import part
from ...blender.skeleton import Point, Skeleton, vector
from ...body.carriers import Carriers
from ...frame.root_locks import with_locks
from ...plan.chain_plan import ChainPlan, Snapshot
from ...plan.pre_pass import BoneInput, PrePassBone
from ...plan.resolving import bone_index
from ...plan.results import NOTHING, SolveResult
from ...settings.joint_limits import native_values
from .body import Body, BoneFacts, bones_between, root_of
from .facts import facts_of
from .roles import Roles, roles_of
from .settings import BOTH, PLACE, POSING, FabrikPin, body_settings, pins_of

KEPT: Final = {"hips": 1000.0, "chest": 1000.0, "head": 10.0}
"""How strictly parts of the body stay as animated; a bone's stiffness is 1. A limb does as much
as it can alone: people who hold a rail bend the arm and walk on."""


Locks = tuple[object, ...]


class KeptPin(NamedTuple):
    """A bone that is pinned during playback.

    Attributes:
        number: Its index in the list of pins.
        bone: The index of the bone.
        is_oriented: Whether its rotation is pinned too.
        is_placed: Whether it goes to a stored location, instead of staying where the animation puts
            it.
        location_weights: How strictly its location is pinned, along the armature's axes.
        rotation_weights: How strictly its rotation is pinned, about these axes.
    """

    number: int
    bone: int
    is_oriented: bool
    is_placed: bool
    location_weights: Vec
    rotation_weights: Vec


class Place(NamedTuple):
    """The goal of a pinned bone at a frame.

    Attributes:
        influence: How far the bone moves from its animated pose to the goal, from 0 to 1.
        location: The location of its pinned point, in world space.
        rotation: The rotation of the bone, in world space.
    """

    influence: float
    location: Vec
    rotation: Quat


@dataclass(eq=False, kw_only=True)
class KeptBody(PrePassBone):
    """A body with bones that are pinned during playback.

    Attributes:
        within: Its bones, parents first.
        facts: Returns the properties of a bone, with the current locks and limits of an armature.
        pins: The pins.
        staying: The bones that stay where the animation puts them, with weights.
        refusal: Why it can't be solved while its bones have constraints; empty if it can.
        problem: Why it wasn't solved at the last update; empty if it was.
        clavicle: The clavicles' share in the rotation of arms.
    """

    within: Sequence[int]
    facts: Callable[[bpy.types.Object, int], BoneFacts]
    pins: Sequence[KeptPin]
    staying: Sequence[tuple[int, float]]
    clavicle: float
    refusal: str
    problem: str = ""
    _found: tuple[Locks, dict[int, BoneFacts]] | None = None

    def __post_init__(self) -> None:
        """Rotate all joints, and move the first bone if it may move."""
        super().__post_init__()
        self.bones = [*self.within]
        self.ranges = ranges_of(self.bones)
        # With a single pin, nothing would hold the body in place if it could move.
        if len(self.pins) > 1 and not _is_fixed(self.rig, self.bone):
            self.more = [self.rig.slot(LOCATION, self.bone)]

    def locks_now(self, armature: bpy.types.Object) -> Locks:
        """Return the bones' locks and native IK settings.

        Blender sends no notification when they change.

        Args:
            armature: The armature, or its copy that has them.
        """
        bones: Any = pose_bones(armature)
        locks: list[object] = []
        for name in [self.rig.names[bone] for bone in self.bones]:
            bone = bones[name]
            locks += [bone.rotation_mode, bone.lock_rotations_4d, bone.lock_rotation_w]
            locks += [*bone.lock_rotation, *bone.lock_location]
            locks += native_values(bone)
        return tuple(locks)

    def _facts_with(self, locks: Locks, armature: bpy.types.Object) -> dict[int, BoneFacts]:
        if self._found is None or self._found[0] != locks:
            self._found = locks, {bone: self.facts(armature, bone) for bone in self.bones}
        return self._found[1]

    def groups(self) -> list[str]:
        """Return the paths of the pins, and of the settings for how the body follows."""
        return ["fabrik.whole_body", *[f"fabrik.pins[{pin.number}]" for pin in self.pins]]

    def needs(self) -> list[Point]:
        """Return no points, because the body needs only the parent of its first bone."""
        return []

    def read(self, snapshot: Snapshot) -> BoneInput | None:
        """Return the FK pose and the pinned places; None if no pin has any influence.

        Raises:
            ProblemError: If a pin's place is invalid.
        """
        with self._noting():
            return self._read(snapshot)

    def _read(self, snapshot: Snapshot) -> BoneInput | None:
        if self.refusal:
            raise ProblemError(self.refusal)
        rig = self.rig
        items = pins_of(snapshot.rigs[rig.uid])
        if self.pins[-1].number >= len(items):  # The copy is older than a pin.
            items = pins_of(rig.object)
        places = tuple([_place_of(items[pin.number]) for pin in self.pins if pin.is_placed])
        if not any(pin_place.influence for pin_place in places):
            return None
        return self.inputs(snapshot, (self.locks_now(with_locks(snapshot, rig)), places))

    def solve(self, snapshot: Snapshot, inputs: object) -> SolveResult:
        """Return the rotations of the joints, and the location of the first bone.

        Raises:
            ProblemError: If the body has no size, or a pin is too far away.
        """
        assert isinstance(inputs, BoneInput)
        with self._noting():
            return self._solve(snapshot, inputs)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Note a problem, to be shown by the list of pins."""
        self.problem = ""
        try:
            yield
        except ProblemError as problem:
            self.problem = str(problem)
            raise

    def _solve(self, snapshot: Snapshot, inputs: BoneInput) -> SolveResult:
        rig, pose = self.rig, snapshot.poses[self.rig.uid]
        frames = {bone: snapshot.frame(rig, bone) for bone in self.bones}
        locals_ = {bone: pose.posed_local(bone) for bone in self.bones}
        armature = with_locks(snapshot, rig)
        root: Any = pose_bones(armature)[rig.names[self.bone]]
        moves = bool(self.more) and not any(root.lock_location)
        locks, places = inputs.wanted
        facts = self._facts_with(locks, armature)
        body = Body(rig, facts, frames, locals_, inputs.parent, moves, self.clavicle)
        try:
            to_armature = inverse(inputs.world)
            wanted = self._wanted(body, to_armature, places)
            solved = body.solve(body.solver(moves), wanted)
        except (ValueError, ArithmeticError):
            raise ProblemError(
                "“{object}” has zero scale, or a pin is too far away: change the scale, or pin "
                "the bone again",
                object=rig.object.name,
            ) from None
        fk_rotations = {bone: local.rotation for bone, local in locals_.items()}
        turns = fk_rotations | body.turned(solved)
        rotations = [
            n for bone in self.bones for n in quat_compatible(turns[bone], fk_rotations[bone])
        ]
        moved = body.moved(solved) if moves else locals_[self.bone].location
        locations = {self.bone: moved} if self.more else NOTHING
        return SolveResult(inputs, self.bones, rotations, (), NOTHING, locations)

    def _wanted(
        self, body: Body, to_armature: Frame, places: Sequence[Place]
    ) -> list[WholeBodyGoal]:
        """Return the goals, in armature space."""
        wanted: list[WholeBodyGoal] = []
        left = iter(places)
        turn = quat_of(orthonormalize(to_armature[0]) or quat_matrix(QUAT_IDENTITY))
        for pin in self.pins:
            point = location = body.point_of(pin.bone)
            rotation = QUAT_IDENTITY
            if pin.is_placed:
                pin_place = next(left)
                location = mix(
                    point, point_in(to_armature, pin_place.location), pin_place.influence
                )
                there = quat_product(turn, pin_place.rotation)
                change = quat_product(there, quat_inverse(body.axes(pin.bone)))
                change = quat_compatible(change, QUAT_IDENTITY)
                rotation = slerp(QUAT_IDENTITY, change, pin_place.influence)
            goal = WholeBodyGoal(
                pin.bone,
                point,
                DRAGGED if pin.is_placed else PINNED,
                location=location,
                location_weights=pin.location_weights,
                rotation=rotation if pin.is_oriented else None,
                rotation_weights=pin.rotation_weights,
            )
            wanted.append(goal)
        for bone, weight in self.staying:
            goal = WholeBodyGoal(bone, body.head(bone), SOFT, rotation=QUAT_IDENTITY, weight=weight)
            wanted.append(goal._replace(location=goal.point))
        return wanted


def kept_bodies(rig: Skeleton, _chains: Sequence[ChainPlan]) -> Iterator[KeptBody]:
    """Yield an armature's body if bones are pinned during playback."""
    refusals = part(_Refusals)
    refusals.pop(rig.uid, None)
    try:
        body = kept_body(rig)
    except ProblemError as problem:
        refusals[rig.uid] = str(problem)
        return
    if body is not None:
        yield body


class _Refusals(dict[int, str]):
    """Why bodies aren't in the plan, by armature."""


def refusal_of(armature: bpy.types.Object) -> str:
    """Return why an armature's body isn't in the current plan; empty if it is, or has none."""
    return part(_Refusals).get(armature.session_uid, "")


def kept_body(rig: Skeleton) -> KeptBody | None:
    """Return an armature's body with the bones pinned during playback; None if none are.

    Raises:
        ProblemError: If the body can't be posed.
    """
    armature = rig.object
    pins = [(i, pin) for i, pin in enumerate(pins_of(armature)) if pin.frames != POSING]
    if not any(pin.frames == PLACE for _, pin in pins):
        return None
    up_axis = body_settings(armature).up_axis
    kept = [_kept(rig, i, pin) for i, pin in pins]
    pulled = [pin.bone for pin in kept]
    roles = roles_of(armature, armature, up_axis, rig.names[pulled[0]])
    roles.posture.clear()  # The animation has a posture; bones that follow pins change it evenly.
    carriers = Carriers(rig, armature)
    root = root_of(carriers, roles, pulled)
    staying = _staying(rig, roles)
    bones = bones_between(carriers, root, [*pulled, *staying])
    _refuse_apart(rig, pulled, bones)
    # A bone's rotation doesn't move its head.
    turned = {p.bone for p in kept if p.is_oriented or rig.names[p.bone] not in roles.ends}
    return KeptBody(
        rig,
        root,
        [],
        keeps=frozenset(turned).union(*[rig.chain_up(bone)[:-1] for bone in pulled]),
        within=bones,
        facts=lambda ob, bone: facts_of(ob, roles, carriers, bone, root, is_planned=True),
        pins=kept,
        staying=[(b, w) for b, w in staying.items() if b in bones and b not in pulled],
        clavicle=body_settings(armature).clavicle,
        refusal=next(filter(None, [_constrained(rig, bone) for bone in bones]), ""),
    )


def _refuse_apart(rig: Skeleton, pulled: Sequence[int], bones: Sequence[int]) -> None:
    for bone in pulled:
        if bone not in bones:
            raise ProblemError(
                "“{bone}” and the other pinned bones have no common parent: unpin it or the others",
                bone=rig.names[bone],
            )


def _staying(rig: Skeleton, roles: Roles) -> dict[int, float]:
    """Return the bones that stay where the animation puts them, with weights."""
    named = {name: weight for part, weight in KEPT.items() if (name := getattr(roles, part))}
    return {rig.index[name]: weight for name, weight in named.items()}


def _kept(rig: Skeleton, index: int, pin: FabrikPin) -> KeptPin:
    bone = bone_index(rig, pin, "bone")
    return KeptPin(
        index,
        bone,
        pin.kind == BOTH,
        pin.frames == PLACE,
        vector(pin.location_weights),
        vector(pin.rotation_weights),
    )


def _constrained(rig: Skeleton, bone: int) -> str:
    """Return a problem if anything but its channels poses a bone; otherwise empty."""
    name = rig.names[bone]
    if not active_constraints(pose_bones(rig.object)[name]):
        return ""
    return msg(
        "“{bone}” has constraints, but pins work during playback only on a body posed by keys "
        "alone: hold the targets of its limbs instead",
        bone=name,
    )


def _is_fixed(rig: Skeleton, root: int) -> bool:
    bone: Any = pose_bones(rig.object)[rig.names[root]]
    is_driven = animation.has_driver(rig.object, bone, "location")
    return root in rig.connected or is_driven


def _place_of(pin: FabrikPin) -> Place:
    """Return the goal of a pin at this frame.

    Raises:
        ProblemError: If the pin is invalid.
    """
    influence = min(max(pin.influence, 0.0), 1.0)
    w, x, y, z = pin.rotation
    pin_place = Place(influence, vector(pin.location), quat_unit((w, x, y, z)))
    if not isfinite(sum([influence, *pin_place.location, *pin_place.rotation])):
        raise ProblemError(
            "The pin of “{bone}” has an invalid location: pin it again", bone=pin.bone
        )
    return pin_place
