"""Read the inputs of a chain, and solve it."""

from __future__ import annotations

from abc import abstractmethod
from math import dist, inf, isfinite
from typing import NamedTuple, cast

from fabrik_solver import (
    ROUNDED,
    SOLVERS,
    WHOLE,
    ChainInput,
    Frame,
    Goal,
    Posture,
    Stretch,
    Tip,
    Written,
    bone_frame,
    frame_in,
    head_in_parent,
    is_on_target,
    judged,
    point_in,
    pose_in_world,
)
from fabrik_solver.core.vectors import (
    ORIGIN,
    Mat3,
    Vec,
    add,
    mat_determinant,
    mat_product,
    orthonormalize,
)

from ..blender.errors import ProblemError
from ..blender.messages import label, msg
from ..blender.skeleton import Point
from ..plan.chain_plan import (
    Aim,
    ChainPlan,
    ChainPose,
    Motion,
    MotionContext,
    Pose,
    Report,
    Snapshot,
    StartPose,
    offset_turn,
)
from ..plan.registry import SOLVER_NAMES, kind_of
from ..plan.results import MISSED, NOTHING, OFF, SolveResult, explanation
from ..plan.unit import Unit
from ..settings.joint_limits import IkSettings
from ..settings.properties import AnimatedSettings, settings_form
from .solved_scene import SolvedPose, SolvedScene

REGULAR = 1e-9
"""Axes are regular if their determinant is more than this fraction of its maximum."""


class FkState(NamedTuple):
    """All inputs of a chain's FK pose besides its parent, compared bit for bit.

    Attributes:
        channels: The result of `FkPose.bits_of` for its bones and its tip bone.
        beneath: The result of `SolvedPose.beneath` for its bones, for a layer.
        joints: The native IK settings of the bones that use them as joint limits.
        bias: The constraint's Bias.
    """

    channels: tuple[object, ...]
    beneath: tuple[object, ...] | None
    joints: tuple[IkSettings, ...]
    bias: float


class SolveInput(NamedTuple):
    """All inputs of a chain's solution. Equal inputs give the same solution, bit for bit.

    Attributes:
        parent: The frame of the root bone's parent, in armature space.
        fk_state: Its FK state.
        settings: The settings of the constraint.
        world: The armature's frame, in world space.
        target: The tip's goal, in world space.
        pole: The pole, in world space, or None if there is none.
        axes: The tip bone's goal orientation, in world space; None if it is free.
        note: A note to report; may be empty.
        motion: The inputs of the motion that poses it, if any.
        start: The pose to solve from instead of the FK pose, if it is continuous.
        facing: The bend direction if it is nearly straight and has no pole (see `Aim`).
    """

    parent: Frame
    fk_state: FkState
    settings: AnimatedSettings
    world: Frame
    target: Vec
    pole: Vec | None
    axes: Mat3 | None
    note: str = ""
    motion: object = None
    start: StartPose | None = None
    facing: tuple[Vec, float] | None = None


class ChainUnit(Unit):
    """A constraint that is solved alone, or as a member of a tree."""

    plan: ChainPlan

    def __init__(self, plan: ChainPlan, is_member: bool = False) -> None:
        """Start without a result.

        Args:
            plan: The constraint.
            is_member: Whether it is part of a tree, which then has the start pose.
        """
        super().__init__(plan)
        self._is_member = is_member
        self._is_stored = False
        self._start_source = None if is_member else plan.start_source
        self._checked: AnimatedSettings | None = None
        self._fk_state: FkState | None = None
        self._stamp: tuple[int, int] | None = None
        self._fk_input: ChainInput | None = None
        self._to_armature = WHOLE
        self._posed: ChainPose | None = None

    def read(self, scene: SolvedScene) -> SolveInput | None:
        """Return the inputs of the constraint; None if the constraint is off.

        Raises:
            ProblemError: If the constraint is invalid.
        """
        chain = self.plan
        rig = chain.rig
        pose = scene.poses[rig.uid]
        settings = pose.fk.settings[chain.item]
        if not settings.enabled or settings.influence == 0.0:
            return None
        if chain.problem:
            raise ProblemError(chain.problem)
        if settings is not self._checked:
            self.check(settings)
            self._checked = settings
        fk_state = self._fk_state
        if (
            fk_state is None
            or chain.is_layered
            or fk_state.bias != settings.chain_bias
            or pose.fk.stamp != self._stamp
        ):
            fk_state = self._read_fk_state(pose, settings.chain_bias)
        if self._is_stored and settings.influence == 1.0:  # The target doesn't matter.
            motion = self.read_motion(scene)
            return SolveInput(WHOLE, fk_state, settings, WHOLE, ORIGIN, None, None, "", motion)
        parent = WHOLE if chain.root_parent < 0 else scene.frame(rig, chain.root_parent)
        world = scene.world(rig.object, rig.uid)
        pole = None if chain.pole is None else _pole(scene, chain, chain.pole)
        aim = aim_of(scene, chain)
        if chain.target_tie is not None:
            aim = aim._replace(place=add(aim.place, scene.lift(chain, chain.target_tie, aim.place)))
        if chain.goal_source is not None:
            aim = placed(scene, chain, aim)
        source = self._start_source
        return SolveInput(
            parent,
            fk_state,
            settings,
            world,
            aim.place,
            pole,
            aim.axes if chain.has_hand else None,
            chain.note or aim.note,
            None if chain.kind.reaches else self.read_motion(scene),
            None if source is None else source.start_pose(scene.time, len(chain.bones)),
            None if self._is_member else aim.facing,
        )

    def read_motion(self, scene: SolvedScene) -> object:
        """Return the additional inputs of the chain's motion."""
        return None

    def check(self, settings: AnimatedSettings) -> None:
        """Refuse invalid settings.

        Raises:
            ProblemError: If the settings are invalid.
        """
        settings_form().check(tuple(settings))
        if settings.solver not in SOLVER_NAMES:
            raise ProblemError(
                "Solver has the invalid number {solver}: choose another solver, or correct its "
                "F-curve or driver",
                solver=settings.solver,
            )
        if kind_of(SOLVER_NAMES[settings.solver]) is not self.plan.kind:
            raise ProblemError(
                "Only solvers that reach a target can be switched by animation: animate the "
                "Influence of two constraints instead"
            )

    def _read_fk_state(self, pose: SolvedPose, bias: float) -> FkState:
        """Return the chain's FK state: the same object if nothing changed."""
        chain, last = self.plan, self._fk_state
        if last is None or pose.fk.stamp != self._stamp:
            joints = tuple([pose.fk.joints[bone] for _, bone in chain.joints.native])
            channels = pose.fk.bits_of(chain.ranges, chain.tip_bone)
        else:
            channels, joints = last.channels, last.joints
        beneath = pose.beneath(chain.bones) if chain.is_layered else None
        fk_state = FkState(channels, beneath, joints, bias)
        self._stamp = pose.fk.stamp
        if last is not None and fk_state == last:
            return last
        self._fk_input, self._fk_state = None, fk_state
        return fk_state

    def solve(self, scene: SolvedScene, inputs: SolveInput) -> SolveResult:
        """Return the solution.

        Raises:
            ProblemError: If an input isn't finite, or overflows.
        """
        chain = self.plan
        posed = self.posed(scene.poses[chain.rig.uid], inputs)
        scales = posed.posture.scales
        sizes = dict(zip(chain.bones, scales, strict=True)) if scales else NOTHING
        locations = NOTHING if posed.location is None else {chain.bones[0]: posed.location}
        numbers = posed.posture.numbers
        return SolveResult(inputs, chain.bones, numbers, (posed.report,), sizes, locations)

    def posed(self, pose: SolvedPose, inputs: SolveInput) -> ChainPose:
        """Return the chain's solved pose.

        Args:
            pose: Its armature.
            inputs: The inputs of the last reading.

        Raises:
            ProblemError: If an input isn't finite, or overflows.
        """
        self._to_armature = to_armature = self.plan.rig.from_world(inputs.world)
        try:
            self._posed = self.solve_chain(self.fk_input(pose, inputs), to_armature, inputs)
            return self._posed
        except (ValueError, ArithmeticError):
            raise not_finite_error(self.plan, inputs, to_armature) from None

    def measured(
        self, inputs: SolveInput, result: SolveResult, turns: list[float], rounding: float
    ) -> tuple[Report, ...]:
        """Return the constraint's report, measured on the written pose.

        With partial influence, the state is that of the pose at full influence.
        """
        chain, posed, measure = self._fk_input, self._posed, self.plan.kind.measure
        if measure is None or chain is None or posed is None:
            return result.reports
        posture, settings = posed.posture, inputs.settings
        written = Written(turns, posture.scales, posed.location, rounding)
        spaces = inputs.world, self._to_armature
        tolerance = settings.tolerance
        error, is_on = measure(chain, written, spaces, inputs.target, tolerance, inputs.motion)
        believed = posed.report
        state, message = posture.state, believed.message
        if settings.influence == 1.0:
            state = judged(state, is_on, posture.has_orientation_error)
        error = round(error, 6)  # To micrometers; anything below is noise.
        if state == posture.state == believed.state and error == believed.error:
            return result.reports
        if state != posture.state:
            message = inputs.note if state == "REACHED" else message or MISSED
        return (Report(state, error, believed.iterations_used, message),)

    def beneath(
        self, scene: SolvedScene, reports: tuple[Report, ...], layer: Unit
    ) -> tuple[Report, ...]:
        """Return the chain's report after a layer has posed some of its bones too."""
        inputs = None if self.last is None else cast(SolveInput, self.last.inputs)
        return (moved_report(scene, self.plan, inputs, reports[0], moved_note(layer)),)

    @abstractmethod
    def solve_chain(self, chain: ChainInput, to_armature: Frame, inputs: SolveInput) -> ChainPose:
        """Return the chain's solved pose.

        Args:
            chain: The chain in its FK pose.
            to_armature: The frame from world space to armature space.
            inputs: The inputs.

        Raises:
            ValueError: If an input isn't finite.
            ArithmeticError: If the solution overflows.
        """

    def constraint(self, scene: SolvedScene, item: int) -> tuple[ChainInput, Posture, Frame]:
        """Solve the constraint; see `solving.solve_constraint`."""
        inputs, chain = self.read(scene), self.plan
        if inputs is None:
            raise ProblemError(OFF)
        parent = WHOLE if chain.root_parent < 0 else scene.frame(chain.rig, chain.root_parent)
        world = scene.world(chain.rig.object, chain.rig.uid)
        inputs = inputs._replace(parent=parent, world=world)
        pose = scene.poses[chain.rig.uid]
        return self.fk_input(pose, inputs), self.posed(pose, inputs).posture, inputs.world

    def fk_input(self, pose: SolvedPose, inputs: SolveInput) -> ChainInput:
        """Return the chain in its FK pose.

        Args:
            pose: Its armature.
            inputs: The inputs of the last reading.

        Raises:
            ValueError: If an input isn't finite.
            ProblemError: If the chain stretches and has zero length.
        """
        chain, chain_input, parent = self.plan, self._fk_input, inputs.parent
        if chain_input is not None and chain_input.parent == parent:
            return chain_input
        if chain_input is not None and chain_input.hand is None:
            chain_input = chain_input.carried(parent)  # Only its parent moved.
        else:
            limb = chain.limb
            bones = [chain.rig.bone(bone) for bone in chain.bones]
            locals_ = [pose.posed_local(bone) for bone in chain.bones]
            limits, stiffness = chain.joints.now(inputs.fk_state.joints)
            chain_input = ChainInput(
                bones,
                locals_,
                tip_of(chain, pose),
                parent,
                limb.bend,
                limits,
                stiffness,
                limb.has_hand,
                limb.bend_to_hand,
                inputs.settings.chain_bias,
            )
        if chain.stretches and chain_input.chain.scale == 0.0:
            raise ProblemError(
                "From “{name}” onward, the chain has zero length and can't stretch: change its "
                "bones' scale, or disable Stretch",
                name=chain.rig.names[chain.bones[0]],
            )
        self._fk_input = chain_input
        return chain_input

    def has_length(self, inputs: SolveInput) -> bool:
        """Return whether the chain is known to have a length, without reading its bones.

        It is known if the chain had a length when last read, and only its parent has moved since.
        """
        last, parent = self._fk_input, inputs.parent
        if last is None or last.parent == parent:
            return last is not None
        return _is_regular(last.parent[0]) and _is_regular(parent[0])


class ReachingChain(ChainUnit):
    """A chain whose tip reaches for a target with one of the solver's methods."""

    def design(self) -> object:
        """Return further data that the solution depends on, besides inputs."""
        chain, rig, limb = self.plan, self.plan.rig, self.plan.limb
        named = (chain.bones[-1], chain.tip_bone, chain.uneven)
        return (
            [rig.bone(bone) for bone in (*chain.bones, chain.tip_bone) if bone >= 0],
            [bone in rig.connected for bone in chain.bones],
            (len(rig.names), chain.bones, [rig.names[bone] if bone >= 0 else "" for bone in named]),
            (limb.has_hand, limb.bend, limb.bend_to_hand, chain.stretches, chain.more),
            (chain.joints.drawn, chain.joints.stiffness, chain.joints.native),
        )

    def check(self, settings: AnimatedSettings) -> None:
        """Refuse invalid settings, or a wrong number of bones for the method."""
        super().check(settings)
        if settings.weight <= 0.0:
            raise ProblemError(
                "Weight is 0, so the constraint has no effect: increase it, or disable the "
                "constraint"
            )
        method = SOLVERS[SOLVER_NAMES[settings.solver]]
        if method.bones == 0:
            return
        # If the hand's tail is the tip, the hand is an extra bone. With a Rotation Weight of 0 it
        # may be one of the required bones.
        chain, required = self.plan, method.bones
        count = len(chain.bones)
        if chain.has_hand and chain.tip_bone >= 0:
            count -= 1
        elif chain.has_hand and count != required:
            required += 1
        if count != required:
            raise ProblemError(
                "{solver} needs a chain of {required} bones, but this one has {count}: set Chain "
                "Length to {required}, or choose another solver",
                solver=label(method.title),
                required=required,
                count=count,
            )

    def solve_chain(self, chain: ChainInput, to_armature: Frame, inputs: SolveInput) -> ChainPose:
        """Return the solved pose of the chain."""
        settings, start = inputs.settings, inputs.start
        posture, _ = pose_in_world(
            chain,
            (inputs.world, to_armature),
            goal_of(inputs),
            SOLVER_NAMES[settings.solver],
            settings.iterations,
            settings.tolerance,
            settings.influence,
            None if inputs.axes is None else orientation_of(inputs, inputs.axes),
            stretch_of(self.plan, settings) if self.plan.stretches else None,
            () if start is None else start.rotations,
        )
        message = inputs.note or ("" if start is None else start.note)
        if not message and posture.state != "REACHED":
            message = explanation(posture, self.plan.stretches, has_iterations(settings))
        elif not message and self.plan.uneven >= 0:
            message = volume_note(self.plan, settings)
        report = Report(posture.state, 0.0, posture.iterations_used, message)
        return ChainPose(posture, report)


class MovedChain(ChainUnit):
    """A chain that a motion poses, such as a look-at or a rope."""

    def __init__(self, plan: ChainPlan) -> None:
        """Start without a result."""
        super().__init__(plan)
        self._motion = cast(Motion, plan.kind)
        self._is_stored = self._motion.rotations is not None

    def beneath(
        self, scene: SolvedScene, reports: tuple[Report, ...], layer: Unit
    ) -> tuple[Report, ...]:
        """Return the chain's report after a layer has posed some of its bones or their parents."""
        plan, measure, last = self.plan, self._motion.measure, self.last
        if self._motion.places_tip or measure is None or last is None:
            return super().beneath(scene, reports, layer)
        pose, inputs = scene.poses[plan.rig.uid], cast(SolveInput, last.inputs)
        parent = WHOLE if plan.root_parent < 0 else scene.frame(plan.rig, plan.root_parent)
        numbers = [number for bone in plan.bones for number in pose.posed_local(bone).rotation]
        fk_state = self._fk_input
        chain = self.fk_input(pose, inputs).carried(parent)
        self._fk_input = fk_state  # This poses the bones, so it isn't their FK pose.
        error, is_on = measure(
            chain,
            Written(numbers),
            (inputs.world, plan.rig.from_world(inputs.world)),
            inputs.target,
            inputs.settings.tolerance,
            inputs.motion,
        )
        return (_moved(reports[0], inputs, error, is_on, moved_note(layer)),)

    def solve(self, scene: SolvedScene, inputs: SolveInput) -> SolveResult:
        """Return the solution; bones are read only if the motion needs them."""
        plan, rotations = self.plan, self._motion.rotations
        if rotations is None or inputs.settings.influence != 1.0:
            return super().solve(scene, inputs)
        numbers, report = rotations(inputs.motion)
        if plan.note:
            report = report._replace(message=plan.note)
        return SolveResult(inputs, plan.bones, numbers, (report,), NOTHING, NOTHING)

    def read_motion(self, scene: SolvedScene) -> object:
        """Return the inputs of the motion."""
        return self._motion.read(scene, self.plan)

    def solve_chain(self, chain: ChainInput, to_armature: Frame, inputs: SolveInput) -> ChainPose:
        """Return the pose that the motion makes."""
        settings = inputs.settings
        context = MotionContext(
            inputs.world, to_armature, inputs.target, settings.influence, settings.tolerance
        )
        posed = self._motion.pose(chain, context, inputs.motion)
        if self.plan.note:
            posed.report = posed.report._replace(message=self.plan.note)
        return posed


def moved_report(
    scene: SolvedScene, chain: ChainPlan, inputs: SolveInput | None, report: Report, note: str
) -> Report:
    """Return the report of a chain whose tip a layer may have moved.

    A layer is a look-at, rope, free chain, wave or spring.

    Args:
        scene: The scene with the layer's result.
        chain: The chain.
        inputs: Its inputs; None if it is off.
        report: Its report without the layer.
        note: The message if the layer moved the tip.
    """
    if inputs is None or not chain.kind.places_tip:
        return report
    is_point = not (chain.has_hand or chain.offset or chain.target_tie or chain.goal_source)
    if chain.target is not None and chain.limb.foot < 0 and is_point:
        inputs = inputs._replace(target=scene.point(chain.target))  # The layer may have moved it.
    frames = [scene.frame(chain.rig, bone) for bone in chain.bones]
    tip = point_in(frames[-1], tip_of(chain, scene.poses[chain.rig.uid]))
    target = point_in(chain.rig.from_world(inputs.world), inputs.target)
    joints = [*[head for _, head in frames], tip]
    error = dist(point_in(inputs.world, tip), inputs.target)
    is_on = is_on_target(joints, target, inputs.settings.tolerance, ROUNDED)
    return _moved(report, inputs, error, is_on, note)


def _moved(report: Report, inputs: SolveInput, error: float, is_on: bool, note: str) -> Report:
    """Return a report with the measurements after a layer.

    Args:
        report: The report without the layer.
        inputs: The inputs of the chain.
        error: The distance from tip to target, in world space.
        is_on: Whether the tip is on its target.
        note: The message that names the layer, if it moved the tip off its target.
    """
    report = report._replace(error=round(error, 6))
    if is_on or report.state != "REACHED" or inputs.settings.influence < 1.0:
        return report
    return report._replace(state="OUT_OF_REACH", message=report.message or note)


def moved_note(layer: Unit) -> str:
    """Return the message for a constraint whose tip a layer moves."""
    if not layer.plan.members:  # Of what is solved before chains, only pins are on top of one.
        return msg("The body's pins move the tip afterward: move the target, or unpin a bone")
    return msg(
        "{layer} moves the tip afterward: move this constraint below it in the list",
        layer=layer.label,
    )


def placed(scene: Snapshot, chain: ChainPlan, aim: Aim) -> Aim:
    """Return a chain's goal: from its goal source if it has one, otherwise from its target.

    Args:
        scene: The scene.
        chain: The chain.
        aim: The goal from its target; returned as is if no goal source applies.

    Raises:
        ProblemError: If the goal is invalid.
    """
    influence = chain.placed_share(scene.time, scene.frame_rate)
    if chain.goal_source is None or influence == 0.0:
        return aim
    goal = chain.goal_source.goal(scene, chain, aim)
    return goal if goal is aim else aim.toward(goal, influence)


def aim_of(scene: Snapshot, chain: ChainPlan) -> Aim:
    """Return the goal from a chain's target, or the armature's origin without a target.

    Raises:
        ProblemError: If the target has zero scale, and its orientation is needed.
    """
    if chain.target is None:
        return Aim(scene.world(chain.rig.object, chain.rig.uid)[1], None)
    if chain.limb.foot >= 0:
        return _aim(chain, chain.target, _animated_foot(scene, chain), chain.offset)
    if chain.has_hand or chain.offset is not None:
        offset = offset_of(scene, chain)
        return _aim(chain, chain.target, scene.place(chain.target), offset)
    return Aim(scene.point(chain.target), None)


def _pole(scene: Snapshot, chain: ChainPlan, pole: Point) -> Vec:
    """Return the location of a chain's pole in world space."""
    location = scene.point(pole)
    tie = chain.pole_tie
    return location if tie is None else add(location, scene.lift(chain, tie, location))


def _animated_foot(scene: Snapshot, chain: ChainPlan) -> Frame:
    """Return the animated frame of a foot that is its leg's target, in world space."""
    rig, foot = chain.rig, chain.limb.foot
    parent = WHOLE if rig.parents[foot] < 0 else scene.frame(rig, rig.parents[foot])
    local = scene.poses[rig.uid].fk_local(foot)
    return frame_in(scene.world(rig.object, rig.uid), bone_frame(rig.bone(foot), local, parent))


def offset_of(scene: Snapshot, chain: ChainPlan) -> Frame | None:
    """Return the frame of a chain's tip in its target's space; None if they coincide."""
    return chain.offset if chain.roll is None else chain.roll.offset(scene, chain)


def _aim(chain: ChainPlan, target: Point, frame: Frame, offset: Frame | None) -> Aim:
    tip_world = frame[1] if offset is None else point_in(frame, offset[1])
    if not chain.limb.is_oriented:
        return Aim(tip_world, None)
    # Under uneven scale, rolling the offset isn't the same as rolling the scaled result.
    turn = offset[0] if offset is not None and chain.roll is not None else None
    axes = orthonormalize(frame[0] if turn is None else mat_product(frame[0], turn))
    if axes is None:
        name = target.object.name if target.skeleton is None else target.skeleton.names[target.bone]
        raise ProblemError(
            "“{name}” has zero scale, so it has no orientation: change its scale, or disable "
            "Copy Target Rotation",
            name=name,
        )
    if offset is not None and turn is None:
        axes = mat_product(axes, offset_turn(offset, frame[0]))
    return Aim(tip_world, axes)


def has_iterations(settings: AnimatedSettings) -> bool:
    """Return whether more iterations could bring the tip closer to the target."""
    return not SOLVERS[SOLVER_NAMES[settings.solver]].is_exact


def not_finite_error(chain: ChainPlan, inputs: SolveInput, to_armature: Frame) -> ProblemError:
    """Return the error about inputs that aren't finite."""
    for location, source in ((inputs.target, chain.target), (inputs.pole, chain.pole)):
        if location is not None and source is not None:
            x, y, z = point_in(to_armature, location)
            if not isfinite(x + y + z):
                name = source.object.name
                return ProblemError(
                    "“{name}” has an invalid position: check its transform", name=name
                )
    return ProblemError(
        "A bone of the chain, or one of its parents, has an invalid position: clear its "
        "location, rotation and scale"
    )


def goal_of(inputs: SolveInput) -> Goal:
    """Return the goal in world space; without the pole, if the start pose already faces it."""
    settings = inputs.settings
    has_start = inputs.start is not None and len(inputs.start.rotations) > 0
    if inputs.facing is not None and inputs.pole is None and not has_start:
        pole, weight = inputs.facing
        return Goal(inputs.target, pole, 0.0, weight, settings.softness, settings.swing, True)
    return Goal(
        inputs.target,
        None if has_start else inputs.pole,
        settings.pole_angle,
        settings.pole_weight,
        settings.softness,
        settings.swing,
    )


def stretch_of(chain: ChainPlan, settings: AnimatedSettings) -> Stretch:
    """Return a chain's stretch settings."""
    return Stretch(settings.stretch_max, settings.use_volume, chain.uneven >= 0)


def volume_note(chain: ChainPlan, settings: AnimatedSettings) -> str:
    """Return why a chain can't keep its volume; empty if it can."""
    if chain.uneven < 0 or not settings.use_volume:
        return ""
    return msg(
        "Keep Volume has no effect, because it would shear “{bone}”: set its Inherit Scale to Full",
        bone=chain.rig.names[chain.uneven],
    )


def orientation_of(inputs: SolveInput, axes: Mat3) -> Tip:
    """Return the goal orientation of the tip bone in world space."""
    return Tip(axes, inputs.settings.rotation_weight, inputs.settings.twist_spread)


def tip_of(chain: ChainPlan, pose: Pose) -> Vec:
    """Return the tip in the space of the chain's last bone."""
    if chain.tip_bone >= 0 and chain.has_hand:
        return ORIGIN
    if chain.tip_bone >= 0:
        return head_in_parent(chain.rig.bone(chain.tip_bone), pose.local(chain.tip_bone))
    return (0.0, chain.rig.bone(chain.bones[-1]).length, 0.0)


def _is_regular(axes: Mat3) -> bool:
    """Return whether axes are clearly invertible; False if they aren't finite."""
    largest = max(map(abs, axes))
    return REGULAR * largest * largest * largest < abs(mat_determinant(axes)) < inf
