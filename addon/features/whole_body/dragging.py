"""Dragging a bone: the whole body follows, and pinned bones stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import dist, inf

import bpy

from fabrik_solver import point_in
from fabrik_solver.core.vectors import (
    IDENTITY,
    ORIGIN,
    QUAT_IDENTITY,
    Quat,
    Vec,
    add,
    cross,
    dot,
    length,
    mat_apply,
    mix,
    orthonormalize,
    quat_angle,
    quat_inverse,
    quat_of,
    quat_product,
    sub,
)
from fabrik_solver.core.whole_body import (
    DRAGGED,
    PINNED,
    SOFT,
    TARGET,
    Support,
    WholeBodyGoal,
    WholeBodyPose,
)

from ...blender.access import pose_bones
from ...blender.errors import ProblemError
from ...blender.keying import auto_key
from ...blender.messages import msg
from ...blender.skeleton import matrix3, matrix_frame, skeleton_of
from ...body.carriers import Carriers
from ...editing.playing import updated
from ...editing.switching import limbs_to_fk, restore_switch, snap_ik_controls
from ..drag.mirrored import OtherSide
from .balancing import added, corners_of, loads_of, support_of
from .body import EXACT, Load, response_of, root_of
from .keeping import DraggedPlace, planned_body
from .pinning import Pin, meant_bone, pins_in, standing_feet
from .posed import PosedBody
from .posture import (
    BALANCED,
    CARRIED,
    CARRIED_TOGETHER,
    CARRY,
    FREE_GAZE,
    GAZE,
    HANGING,
    PERSON_UPRIGHT,
    REACH,
    SEAT,
    STANDING,
    TARGETED,
    TOGETHER,
    UPRIGHT,
)
from .roles import STANDING_HEIGHT, roles_of
from .settings import (
    AFTER,
    BODY_PART,
    BONE,
    BOTH,
    NONE,
    body_settings,
    pin_kind,
    set_pin,
)
from .targets import DrivenChain, PosedChain, driven_chains, posed_chains

REACHED = 1e-4
"""Maximum miss of the dragged point that counts as reached, as a fraction of the body."""

LAG = 1e-3
"""Maximum lag of the dragged point while the mouse moves, as a fraction of the body. Where
constraints carry the bones, exactness would take another evaluation of the rig. By then, the
mouse would have moved on."""

RESTING = 0.1
"""The mouse movement that a tick of the resting mouse stands for, as a fraction of the body."""


SWITCHED = msg("limbs were switched to FK, and their IK controls were snapped to them")


class WholeBodyDrag:
    """A drag of a bone that the whole body follows.

    Attributes:
        place: Location of the dragged point at the start of the drag, in world space.
        axes: The bone's unit axes in world space, in columns.
        name: Name of the bone.
        tip_start: The same as `place`.
        state: Whether the point has been reached.
    """

    def __init__(
        self,
        depsgraph: bpy.types.Depsgraph,
        armature: bpy.types.Object,
        bone: str,
        side: OtherSide | None = None,
    ) -> None:
        """Start dragging a bone, and its mirrored counterpart if ``side`` has one.

        Raises:
            ProblemError: If the bone can't be dragged.
        """
        self.object, self.name, self._side = armature, bone, side
        names = self._names = [bone] if side is None else [bone, side.bone]
        self._switched = limbs_to_fk(armature)
        try:
            self._read(updated() if self._switched else depsgraph)
            self._start()
        except ProblemError:
            self._restore_switches()
            raise
        self._pin_kinds = [pin_kind(armature, name) for name in names]
        self._placed = [DraggedPlace(armature, name) for name in names]
        self._displacement = ORIGIN
        self._is_lagging = False
        self.state = "REACHED"

    def _read(self, depsgraph: bpy.types.Depsgraph) -> None:
        """Read the pose and the pins.

        Raises:
            ProblemError: If the body can't be posed.
        """
        armature, rig = self.object, skeleton_of(self.object)
        evaluated = armature.evaluated_get(depsgraph)
        roles = self._roles = roles_of(armature, evaluated, bone=self.name)
        carriers = self._carriers = Carriers(rig, evaluated)
        chains = posed_chains(depsgraph, armature)
        meant = [meant_bone(armature, roles, carriers, chains, name) for name in self._names]
        self._bones = [*dict.fromkeys(meant)]
        self._bone = self._bones[0]
        pins = pins_in(armature, roles, carriers, chains, self._bones)
        root = root_of(carriers, roles, [*self._bones, *(pin.bone for pin in pins)])
        self._pins = [pin for pin in pins if carriers.carries(root, pin.bone)]
        self._pose(depsgraph, root, [c for c in chains if carriers.carries(root, c.bones[-1])])
        self._check_is_free(root)
        is_held = any([pin.bone not in self._bones for pin in self._pins])
        is_free = is_held or bool(self._limbs) or self._bone == root
        self._is_balanced = bool(roles.masses) and body_settings(armature).use_balance
        loads = self._loads(evaluated) if self._is_balanced else {}
        standing = [pin.bone for pin in self._pins if pin.bone not in self._bones]
        pelvis = CARRIED_TOGETHER if self._is_dragged(roles.hips) else TOGETHER
        leaning = self._posed.leaning(standing, pelvis)
        self._body = self._posed.solver(is_free, loads, leaning)
        self._shown = evaluated

    def _pose(self, depsgraph: bpy.types.Depsgraph, root: int, chains: list[PosedChain]) -> None:
        """Collect the moving bones below the body's root, and the chains that pose them."""
        armature, rig = self.object, skeleton_of(self.object)
        self._limbs = driven_chains(depsgraph, armature, chains, rig.below({root}))
        constrained = _bones_of(chains)
        body = planned_body(armature)
        shown = constrained if body is None else constrained.union(body.bones)
        kept = constrained - _bones_of([limb.chain for limb in self._limbs])
        self._not_written = kept | _bones_of(
            [limb.chain for limb in self._limbs if limb.is_settled]
        )
        self._posed = PosedBody(
            depsgraph,
            armature,
            self._roles,
            self._carriers,
            root,
            [
                *self._bones,
                *(pin.bone for pin in self._pins),
                *(chain.bones[-1] for chain in chains),
            ],
            body_settings(armature).clavicle,
            shown,
            kept,
        )

    def _start(self) -> None:
        armature, rig, evaluated = self.object, skeleton_of(self.object), self._shown
        self._world = matrix_frame(evaluated.matrix_world)
        self._to_armature = rig.from_world(self._world)[0]
        self._turn = quat_of(orthonormalize(self._world[0]) or IDENTITY)
        self._starts = [self._posed.point_of(bone) for bone in self._bones]
        self._end = self._posed.in_bone(self._bone, self._starts[0])
        self.place = self.tip_start = point_in(self._world, self._starts[0])
        bone_axes = matrix3(evaluated.matrix_world @ pose_bones(evaluated)[self._bone].matrix)
        self.axes = orthonormalize(bone_axes) or IDENTITY
        self._stature = self._size_in_legs()
        names = [
            rig.names[pin.bone if pin.foot < 0 else pin.foot]
            for pin in self._pins
            if pin.bone not in self._bones
        ]
        self._support = None
        if self._is_balanced and names:
            self._support = support_of(pose_bones(evaluated), names, self._roles)
        standing = standing_feet(armature, self._roles)
        self._standing = [
            corners_of(pose_bones(evaluated), rig.names[bone], self._roles)
            if rig.names[bone] in standing
            else []
            for bone in self._bones
        ]
        self._hold()
        self._staying = self._independent()

    def _check_is_free(self, root: int) -> None:
        """Check that a dragged bone isn't a root held in place.

        Raises:
            ProblemError: If the bone is such a root.
        """
        if self._bone == root and (holder := self._posed.holder(root)):
            raise ProblemError(
                "“{bone}” is held in place by its constraint “{constraint}”: mute it, or drag "
                "another bone",
                bone=skeleton_of(self.object).names[root],
                constraint=holder,
            )

    def _loads(self, shown: bpy.types.Object) -> dict[int, Load]:
        """Return the loads that the body's joints carry, by joint index."""
        carried: dict[int, list[Load]] = {}
        for name, load in loads_of(self.object, shown, self._roles).items():
            line = self._carriers.up(self._posed.rig.index[name])
            bone = next((ancestor for ancestor in line[::-1] if ancestor in self._posed.bones), -1)
            if bone >= 0:
                carried.setdefault(self._posed.joint_of(bone), []).append(load)
        return {joint: added(loads) for joint, loads in carried.items()}

    def _hold(self) -> None:
        """Collect the pins and other goals."""
        self._last: WholeBodyPose | None = None
        self._is_turning = False
        self._held = self._goals()
        self._response = response_of([*self._dragged_to(self._starts), *self._held])

    def _dragged_to(self, places: Sequence[Vec]) -> list[WholeBodyGoal]:
        hips = self._posed.rig.index.get(self._roles.hips, -1)
        return [
            WholeBodyGoal(
                bone,
                start,
                DRAGGED,
                location=there,
                weight=self._priced(CARRY if bone == hips else REACH),
            )
            for bone, start, there in zip(self._bones, self._starts, places, strict=True)
        ]

    def _priced(self, weight: float) -> float:
        """Return the weight of a goal of a person; other bodies reach their goals at any cost."""
        return weight * self._stature if self._roles.posture else 1.0

    def _size_in_legs(self) -> float:
        """Return the size of the body in leg lengths, from the rest pose. It scales forces."""
        posed, roles = self._posed, self._roles
        if roles.hips not in posed.rig.index or not roles.feet:
            return 1.0
        hips, foot = (posed.rig.head(posed.rig.index[name]) for name in (roles.hips, roles.feet[0]))
        return posed.size / max(dist(hips, foot), EXACT * posed.size)

    def _is_dragged(self, *names: str) -> bool:
        return any(self._posed.rig.names[bone] in names for bone in self._bones)

    def _places(self, displacement: Vec) -> list[Vec]:
        """Return the goals of the dragged points, in armature space."""
        there = add(self._starts[0], mat_apply(self._to_armature, displacement))
        places = [there]
        if self._side is not None:
            places += [
                self._side.place(self._starts[0], start, there) for start in self._starts[1:]
            ]
        return places

    def _borne(self, start: Vec, there: Vec) -> float:
        """Return how much of its load a dragged foot bears: the higher it is, the less.

        Args:
            start: The point of the foot at the start of the drag.
            there: The same point at present.

        Returns:
            A fraction from 0 to 1.
        """
        height = max(0.0, dot(sub(there, start), self._roles.up))
        return max(0.0, 1.0 - height / (STANDING_HEIGHT * self._roles.size))

    def _support_at(self, places: Sequence[Vec]) -> Support | None:
        """Return the support of the body while bones are dragged; None if it needs no balance."""
        support = self._support
        if support is None:
            return None
        corners = [*support.corners]
        for start, there, stood in zip(self._starts, places, self._standing, strict=True):
            for corner in stood:
                moved = add(corner, sub(there, start))
                nearest = sub(moved, support.outside(moved))
                corners.append(mix(nearest, moved, self._borne(start, there)))
        lifted = [corner for stood in self._standing for corner in stood]
        force = BALANCED + (CARRIED - BALANCED) * self._sitting(places)
        return Support(corners, support.up, force * self._stature, lifted)

    def _sitting(self, places: Sequence[Vec]) -> float:
        """Return how far the drag moves the body's weight onto a seat, from 0 to 1.

        Hips are dragged with the weight. A person sits down if the head or chest is lowered by a
        thigh's length, and isn't moved forward as in a bow.
        """
        roles = self._roles
        if self._is_dragged(roles.hips):
            return 1.0
        if not roles.posture or not self._is_dragged(roles.head, roles.chest):
            return 0.0
        offset = sub(places[0], self._starts[0])
        lowered = -dot(offset, roles.up) - max(0.0, dot(offset, roles.front))
        return min(1.0, max(0.0, lowered * self._stature / (SEAT * self._posed.size)))

    def _soles(self, places: Sequence[Vec]) -> list[WholeBodyGoal]:
        """Return goals that keep the soles of a person's sliding feet flat."""
        soles: list[WholeBodyGoal] = []
        for i, bone in enumerate(self._bones):
            if self._roles.posture and self._standing[i]:
                fraction = self._borne(self._starts[i], places[i])
                ball = self._standing[i][1]
                soles += [self._flat(bone, ball, fraction)] if fraction > 0.0 else []
        return soles

    def _flat(self, foot: int, ball: Vec, fraction: float = 1.0) -> WholeBodyGoal:
        """Return a goal that keeps a weight-bearing foot flat, unless its heel is dragged up."""
        head = self._posed.head(foot)
        weight = fraction * self._priced(REACH) * dist(ball, head) / self._posed.size
        return WholeBodyGoal(foot, head, DRAGGED, rotation=QUAT_IDENTITY, weight=weight)

    def _goals(self) -> list[WholeBodyGoal]:
        """Return all goals except the dragged ones; they don't change during the drag."""
        posed = self._posed
        wanted: list[WholeBodyGoal] = []
        for pin in self._pins:
            is_dragged = pin.bone in self._bones
            if is_dragged and not pin.is_oriented:
                continue
            # Importers guess the tails of the last bones, which may be far away.
            point = posed.point_of(pin.bone) if pin.foot < 0 else posed.head(pin.bone)
            goal = WholeBodyGoal(
                pin.bone,
                point,
                DRAGGED if is_dragged else PINNED,
                location=None if is_dragged else point,
                location_weights=pin.location_weights,
                rotation=QUAT_IDENTITY if pin.is_oriented else None,
                rotation_weights=pin.rotation_weights,
            )
            wanted.append(goal)
        wanted += [self._flat(p.foot, posed.head(p.bone)) for p in self._pins if p.foot >= 0]
        wanted += self._targets({goal.joint for goal in wanted})
        oriented = {goal.joint for goal in wanted if goal.rotation is not None}
        for name, weights in self._orientations():
            bone = posed.rig.index.get(name, -1)
            if bone in posed.bones and bone not in oriented:
                wanted.append(self._soft(bone, self._about(weights)))
        return wanted

    def _orientations(self) -> Iterator[tuple[str, Vec]]:
        """Yield the bones that should keep their orientation, with weights."""
        roles, is_dragged = self._roles, self._is_dragged
        upright = PERSON_UPRIGHT if roles.posture else UPRIGHT
        yield roles.head, FREE_GAZE if is_dragged(roles.head) else GAZE
        if is_dragged(roles.hips, *roles.feet):
            yield roles.chest, (UPRIGHT if is_dragged(*roles.feet) else upright).chest
        if is_dragged(roles.hips):
            yield roles.hips, upright.pelvis
        used = {bone for dragged in self._bones for bone in self._carriers.up(dragged)}
        for arm in roles.arms:
            if self._posed.rig.index[arm] not in used:
                yield arm, HANGING

    def _about(self, weights: Vec) -> Vec:
        """Convert weights about the front, left and up axes to the armature's axes."""
        x, y, z = weights
        up, front = self._roles.up, self._roles.front
        left = cross(up, front)
        a, b, c = (
            x * f * f + y * s * s + z * u * u for f, s, u in zip(front, left, up, strict=True)
        )
        return (a, b, c)

    def _targets(self, pinned: set[int]) -> list[WholeBodyGoal]:
        """Return the goals of limbs posed by constraints, unless pinned or dragged."""
        taken = {*pinned, *self._bones}
        free = [limb for limb in self._limbs if not any(self._is_end(limb, bone) for bone in taken)]
        prices = [self._priced(STANDING if self._is_foot(limb) else TARGETED) for limb in free]
        return [
            WholeBodyGoal(
                limb.chain.bones[-1],
                limb.tip,
                TARGET,
                location=limb.aim,
                rotation=QUAT_IDENTITY if limb.chain.is_oriented else None,
                weight=limb.chain.weight * price,
            )
            for limb, price in zip(free, prices, strict=True)
        ]

    def _is_foot(self, limb: DrivenChain) -> bool:
        feet = {self._posed.rig.index[name] for name in self._roles.feet}
        return any(self._is_end(limb, bone) for bone in feet)

    def _is_end(self, limb: DrivenChain, bone: int) -> bool:
        """Return whether a bone is the last one of a limb, or its hand or foot."""
        line, last = self._carriers.up(bone), limb.chain.bones[-1]
        if last not in line:
            return False
        joints = [i for i in line[line.index(last) + 1 :] if i in self._posed.joints]
        return len(joints) <= 1

    def _independent(self) -> list[DrivenChain]:
        """Return the limbs that carry no others: their targets stay, even out of reach."""
        wanted = [*self._bones, *(held.joint for held in self._held if held.rank != SOFT)]
        staying: list[DrivenChain] = []
        for limb in self._limbs:
            last = limb.chain.bones[-1]
            others = [i for other in self._limbs if other is not limb for i in other.chain.bones]
            hanging = [i for i in (*wanted, *others) if i != last]
            lines = [self._carriers.up(bone) for bone in hanging]
            is_used = any(not {*limb.chain.bones}.isdisjoint(line) for line in lines)
            if not is_used and last not in self._bones:
                staying.append(limb)
        return staying

    def _soft(self, bone: int, weights: Vec) -> WholeBodyGoal:
        head = self._posed.head(bone)
        return WholeBodyGoal(bone, head, SOFT, rotation=QUAT_IDENTITY, rotation_weights=weights)

    def move_by(self, displacement: Vec) -> None:
        """Drag the bone in world space, relative to the start of the drag.

        Raises:
            ProblemError: If the movement overflows.
        """
        self._move_by(displacement, EXACT, self._moved_to(displacement) or inf)

    def follow(self, displacement: Vec) -> None:
        """Drag the bone while the mouse moves; it may lag a little until it settles.

        Raises:
            ProblemError: If the movement overflows.
        """
        self._move_by(displacement, LAG, self._moved_to(displacement))

    def settle(self) -> None:
        """Remove the lag of `follow`, and continue to the pose of least motion."""
        if self._is_lagging or self._is_turning:
            self._move_by(self._displacement, EXACT, RESTING)

    def _moved_to(self, displacement: Vec) -> float:
        """Return how far the mouse moves to a displacement, as a fraction of the body."""
        change = mat_apply(self._to_armature, sub(displacement, self._displacement))
        return length(change) / self._posed.size

    def _move_by(self, displacement: Vec, near: float, moved: float) -> None:
        """Drag the bone in world space, as if the mouse had moved by ``moved``.

        A miss up to ``near`` needn't be corrected. Both are fractions of the body.
        """
        self._displacement = displacement
        self._is_lagging = near > EXACT and displacement != ORIGIN and not self._posed.is_exact
        if displacement == ORIGIN:
            self._restore()
            return
        turning = None if self._last is None else (self._last, moved)
        posed = self._posed
        places = self._places(displacement)
        dragged = self._dragged_to(places)
        try:
            pose = posed.pose(
                self._body,
                [*dragged, *self._soles(places), *self._held],
                self._support_at(places),
                self._write,
                self._response,
                near,
                turning,
            )
        except (ValueError, ArithmeticError):
            self._hold()  # Forgets the response, which may be infinite.
            raise ProblemError(
                "Too far away (single precision overflows): drag a shorter distance"
            ) from None
        self._last, self._is_turning = pose, pose.is_turning
        missed = max(pose.misses[: len(dragged)])
        is_reached = missed <= max(near, REACHED) * posed.size  # Lagging isn't missing.
        self.state = "REACHED" if is_reached else "OUT_OF_REACH"

    def _write(self, pose: WholeBodyPose) -> None:
        """Write a pose to the channels of bones, targets and poles."""
        self._posed.write(pose, self._not_written)
        for limb in self._limbs:
            self._move(limb, pose)
        self._move_pins(self._displacement)

    def _move_pins(self, displacement: Vec) -> None:
        """Move the stored pins of dragged bones with them, in world space."""
        displacements = [
            mat_apply(self._world[0], sub(there, start))
            for there, start in zip(self._places(displacement), self._starts, strict=True)
        ]
        for placed, offset in zip(self._placed, [displacement, *displacements[1:]], strict=False):
            placed.move_by(offset)

    def _move(self, limb: DrivenChain, pose: WholeBodyPose) -> None:
        """Move a limb's target and pole so that they produce a pose."""
        posed, chain, world = self._posed, limb.chain, self._world
        tip, change = posed.placed(pose, chain.bones[-1], limb.tip)
        is_moved = dist(tip, limb.aim) > EXACT * posed.size
        if chain.is_oriented:
            is_moved |= quat_angle(change, QUAT_IDENTITY) > EXACT
        if is_moved and limb not in self._staying:
            limb.move(point_in(world, tip), self._in_world(change))
        else:
            limb.target.restore()
        first = chain.bones[0]
        if first in posed.bones:  # Above the body nothing moves, so the pole stays.
            origin = posed.head(first)
            moved, change = posed.placed(pose, first, origin)
            limb.move_pole(point_in(world, origin), point_in(world, moved), self._in_world(change))

    def _in_world(self, change: Quat) -> Quat:
        return quat_product(quat_product(self._turn, change), quat_inverse(self._turn))

    def confirm(self) -> str:
        """Keep the pose, and key it if auto-keying is on; return a note on switched limbs.

        A rig's own controls for IK are snapped to its limbs in FK, so that IK can be used again.

        Raises:
            ProblemError: If the pose couldn't be keyed; it is kept.
        """
        if self._is_lagging or self._is_turning:
            self.move_by(self._displacement)
        for placed in self._placed:
            placed.key()
        keyed = self._keyed()
        for owner, name in self._posed.channels(keyed - self._not_written):
            auto_key(owner, name)
        for limb in self._limbs:
            if any(bone in limb.chain.bones or self._is_end(limb, bone) for bone in keyed):
                for control in limb.controls:
                    for owner, name in control.channels():
                        auto_key(owner, name)
        snap_ik_controls(self.object)
        return SWITCHED if self._switched else ""

    def _keyed(self) -> set[int]:
        posed, keying = self._posed, body_settings(self.object).keying
        dragged_joints = {posed.joints[posed.joint_of(bone)] for bone in self._bones}
        if keying == BONE:
            return dragged_joints
        if keying == BODY_PART:
            wanted = {self._part(bone) for bone in dragged_joints} - {""}
            return dragged_joints | {bone for bone in posed.bones if self._part(bone) in wanted}
        return {*posed.bones}

    def _part(self, bone: int) -> str:
        """Return the body part of a bone, such as the arm for a finger; empty if there is none."""
        names, parts = self._posed.rig.names, self._roles.parts
        line = [names[above] for above in self._carriers.up(bone)[::-1]]
        return next((parts[name] for name in line if name in parts), "")

    def tip(self) -> Vec:
        """Return the evaluated point, in world space."""
        armature = self.object.evaluated_get(bpy.context.evaluated_depsgraph_get())
        frame = matrix_frame(armature.matrix_world @ pose_bones(armature)[self._bone].matrix)
        return point_in(frame, self._end)

    def moved(self) -> float:
        """Return how far the point has moved, in meters."""
        return dist(self.tip_start, self.tip())

    def next_pin(self) -> None:
        """Pin the dragged bone's location, then its rotation as well, then neither."""
        kind = AFTER[pin_kind(self.object, self.name)]
        for name in self._names:
            set_pin(self.object, name, kind)
        self._pins = [pin for pin in self._pins if pin.bone not in self._bones]
        if kind != NONE:
            self._pins += [Pin(bone, kind == BOTH) for bone in self._bones]
        self._hold()
        self.move_by(self._displacement)

    def cancel(self) -> None:
        """Restore the FK pose from the start of the drag, and the dragged bones' pins."""
        for name, kind, placed in zip(self._names, self._pin_kinds, self._placed, strict=True):
            if pin_kind(self.object, name) != kind:
                set_pin(self.object, name, kind)
            placed.restore()
        self._restore()
        self._restore_switches()

    def _restore_switches(self) -> None:
        for state in self._switched:
            restore_switch(self.object, state)

    def _restore(self) -> None:
        self.state = "REACHED"
        self._last, self._is_turning = None, False
        self._posed.restore()
        for placed in self._placed:
            placed.move_by(ORIGIN)
        for limb in self._limbs:
            for control in limb.controls:
                control.restore()


def _bones_of(chains: Iterable[PosedChain]) -> set[int]:
    return {bone for chain in chains for bone in chain.bones}
