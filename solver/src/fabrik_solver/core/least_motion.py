"""The search for the pose of least motion since the start of a drag, with all springs at rest.

It minimizes the sum of stiffness · angle² over all joints plus the energy of the springs. A
spring's force is limited, and a stricter rank is stronger than all lower ranks together. A pin thus
stays in place whatever pulls a hand, in reach or out of reach. The search always begins at the
start of the drag, with weak springs that grow.

It uses Newton's method. The force of a spring that the previous step predicted counts, besides its
stiffness, because tension keeps a straight leg straight. Each step is corrected for curvature. It
is lengthened if the energy falls as steeply at its end as at its start. Limits that a step would
leave constrain it. Their boundaries (walls) are curved, so the force that presses a joint against a
wall also resists motion along the wall. A step that gains nothing ends where it meets the next
wall.
"""

from collections.abc import Sequence
from math import atan2, copysign, cos, hypot, inf, sin, sqrt
from typing import Final, final

from .articulated import NO_AXES, ArticulatedSystem, Freedom, Part, along, combined
from .articulation import (
    DRAGGED,
    PINNED,
    SOFT,
    TARGET,
    Articulation,
    Link,
    Placement,
    grown_by,
)
from .joint_system import Block, Three
from .limits import Hinge, Limit
from .springs import FORCES, Spring, huber, huber_rate
from .support import Support
from .vectors import (
    ORIGIN,
    Quat,
    Vec,
    add,
    any_perpendicular,
    cross,
    dot,
    length,
    quat_exp,
    quat_inverse,
    quat_log,
    quat_product,
    quat_unit,
    rotate,
    scaled,
    sub,
)

STAGES: list[float] = [1e-3, 1e-1, 1.0]
"""The factors of the maximum forces, one after the other."""

STEPS: Final = 60
"""Maximum number of steps in a stage."""

HALVINGS: Final = 4
"""Number of step lengths to try, each half of the previous one."""

LARGEST: Final = 0.3
"""Maximum rotation of a joint in a step, in radians, and motion of a root, in body sizes."""

SLIDE: Final = 1.2
"""The stiffness of a root against moving, in radians² per squared body size."""

CORRECTIONS: Final = 3
"""Maximum number of corrections of a step for the misses caused by curvature."""

LITTLE: Final = 0.1
"""A correction that gains less than this fraction of its step's gain is the last one."""

STEEP: Final = 0.75
"""The fraction of a step's slope above which a longer step is tried. The energy then curves less
than the system; if they curve alike, the fraction is one half."""

BALANCE: Final = 1e4
"""The stiffness against a center of mass outside the body's support, in radians² per squared
body size."""

CENTER: Final = 32.0
"""The stiffness against moving the center of mass at all."""

DONE: Final = 1e-6
"""A step below this ends a stage."""

PINNINGS: Final = 3
"""Maximum number of times that pins are put back at the end."""

FIRM: Final = 10.0
"""The factor by which the damping grows until the system is positive definite."""

ROUGH: Final = 1e-2
"""A gain below this fraction of the energy ends any stage except the last."""

SMALL: Final = 1e-6
"""The same for the last stage. Out of reach the energy is large. The remaining motion is too
small to see, but with ten times as much, bones tremble by degrees from one move to the next."""

SEEN: Final = 0.1
"""A step of at least this doesn't end the last stage, because the remaining motion is visible
even if it gains little. In radians, like steps."""

FINE: Final = 1e-5
"""A gain below this, in radians², ends any stage. So does a step with a smaller expected gain."""

THROUGH: Final = 1e-2
"""If a limit takes away this fraction of a joint's rotation, the joint met a wall. The curvature
of walls takes less from small steps."""

NARROWINGS: Final = 14
"""Number of bisections to find where a step meets a wall."""

NEAR: Final = 1e-5
"""The rotation used to measure a wall's curvature, in radians: small enough to stay on the wall."""

PARALLEL: Final = 1.0 - 1e-9
"""The cosine above which two walls of a joint count as one."""

FLAT: Final = 1e-6
"""If the normals of three walls span a smaller volume than this, they leave no room."""

X: Vec = (1.0, 0.0, 0.0)
Y: Vec = (0.0, 1.0, 0.0)
Z: Vec = (0.0, 0.0, 1.0)


@final
class Tie:
    """A spring on a quantity that depends on all joints, during one step.

    Attributes:
        link: The link, if the quantity is its sum; None for the center of mass along a direction.
        along: That direction.
        value: The quantity in the pose.
        force: The force of the spring.
        rate: Its stiffness.
        row: How much rotation about each axis of each joint changes the quantity.
        response: The solution of the system, with the previous ties, for that row.
        compliance: How far a unit of force changes the quantity and stretches this spring.
        foreseen: How far the quantity is expected to change in the step.
    """

    __slots__ = (
        "along",
        "compliance",
        "force",
        "foreseen",
        "link",
        "rate",
        "response",
        "row",
        "value",
    )

    def __init__(
        self,
        link: Link | None,
        along: Vec,
        value: float,
        force: float,
        rate: float,
        row: list[Vec],
    ) -> None:
        self.link = link
        self.along = along
        self.value = value
        self.force = force
        self.rate = rate
        self.row = row
        self.compliance = inf
        self.response: list[Vec] = []
        self.foreseen = 0.0

    def held(self, step: list[Vec]) -> list[Vec]:
        """Return the step with this tie, from the step without it (Sherman–Morrison formula)."""
        return _all_added(step, self.response, -_product(self.row, step) / self.compliance)


@final
class Search:
    """The search for a single pose.

    Attributes:
        body: The bones.
        springs: The springs that pull them.
        steps: The number of steps taken.
    """

    __slots__ = (
        "_center",
        "_damping",
        "_links",
        "_part_of",
        "_support",
        "_system",
        "_ties",
        "body",
        "springs",
        "steps",
    )

    def __init__(
        self,
        body: Articulation,
        springs: list[Spring],
        support: Support | None,
        links: Sequence[Link] = (),
    ) -> None:
        """Set up the search for a body; ``support`` is the support of its center of mass."""
        self.body = body
        self.springs = springs
        self.steps = 0
        self._support = support
        self._center = ORIGIN if support is None else body.center_at_press()
        self._damping = 0.0
        self._links = links
        self._ties: list[Tie] = []
        self._system = ArticulatedSystem()
        self._part_of: dict[int, Part] = {}

    def run(self, pose: Placement) -> Placement:
        """Return the pose found from a starting pose.

        All forces grow together, so that limbs keep the bend of the starting pose. If targets
        conflict, their forces finally drop to those of dragged points. Otherwise soft goals would
        still affect them.
        """
        conflict = is_last = False
        for stage in STAGES:
            is_last = stage == STAGES[-1] and not conflict
            self._stretch(stage)
            pose = self._settle(pose, SMALL if is_last else ROUGH, SEEN if is_last else inf)
            conflict = any([x.rank == TARGET and x.is_overcome() for x in self.springs])
        if conflict:
            self._stretch(FORCES[DRAGGED] / FORCES[TARGET])
        if conflict or not is_last:
            pose = self._settle(pose, SMALL, SEEN)
        return self._pinned(pose)

    def _stretch(self, fraction: float) -> None:
        for spring in self.springs:
            spring.stretch(fraction)

    def _pinned(self, pose: Placement) -> Placement:
        """Return a pose with its pins put back, because a search out of reach may end early."""
        pins = [spring for spring in self.springs if spring.rank == PINNED]
        for _ in range(PINNINGS):
            if max([spring.length(spring.miss_of(pose)) for spring in pins], default=0.0) < DONE:
                break
            self._linearize(pose)
            pulled = self._gathered([(pin, pin.pull(pin.miss)) for pin in pins])
            pose = self._moved(pose, self._within(_all_scaled(pulled, -1.0), 0.0))
        return pose

    def _settle(self, pose: Placement, enough: float, seen: float) -> Placement:
        """Return the pose with the springs of a stage at rest.

        A step is the last one if it is smaller than ``seen``, and gains less than the fraction
        ``enough`` of the energy.
        """
        lowest = self._energy(pose)
        damping = 0.0
        for _ in range(STEPS):
            self.steps += 1
            right = self._linearize(pose)
            step = self._within(right, damping)
            damping = self._damping
            size = self._largest(step)
            slope = _product(right, step)
            candidate, reached = self._descend(pose, step, lowest, slope)
            is_stopped = reached >= lowest
            if is_stopped and slope > FINE:
                candidate, reached = self._touching(pose, step, lowest)
            gain = lowest - reached
            if gain > 0.0:
                pose, lowest = candidate, reached
            elif slope <= FINE:
                break
            is_little = size < seen and gain < FINE + enough * lowest
            if size < DONE or (is_little and not is_stopped):
                break
            if is_stopped:
                damping = max(10.0 * damping, 1.0)
            else:
                damping = 0.1 * damping if damping > 0.01 else 0.0
        return pose

    def _within(self, right: list[Vec], damping: float) -> list[Vec]:
        """Return the step for a right-hand side, within all limits."""
        while True:
            self._factorize(damping)
            step = self._solved(right)
            is_held = False
            for freedom, motion in zip(self._system.freedoms, step, strict=True):
                if freedom.walls > 0 and freedom.hold(motion, 1e-12):
                    is_held = True
            if not is_held:
                return step

    def _factorize(self, damping: float) -> None:
        """Factorize the system with a damping, or with the least sufficient damping above it.

        Raises:
            OverflowError: If a number isn't finite, so that there is no solution.
        """
        while not self._system.factorize(damping):
            damping = max(FIRM * damping, 1.0)
            if damping == inf:
                raise OverflowError("a goal is not finite, or too far away")
        self._damping = damping
        for tie in self._ties:
            tie.response = []

    def _descend(
        self, pose: Placement, step: list[Vec], start: float, slope: float
    ) -> tuple[Placement, float]:
        """Return a pose with less energy along a step, otherwise the first pose, and its energy.

        ``slope`` is how far the energy would fall over the whole step at its initial rate.
        """
        best, lowest = pose, start
        self._foresee(step, 1.0)
        for spring in self.springs:
            spring.force = spring.pull(spring.foreseen)
        size = self._largest(step)
        fraction = first = _first_share(size)
        for _ in range(HALVINGS):
            candidate, reached = self._ahead(pose, step, fraction, start)
            if reached < lowest:
                best, lowest = candidate, reached
                break
            fraction *= 0.5
        if fraction < first:  # Twice that failed.
            return best, lowest
        while start - lowest > STEEP * fraction * slope and 2.0 * fraction * size <= LARGEST:
            fraction *= 2.0
            candidate, reached = self._ahead(pose, step, fraction, start)
            if reached >= lowest:
                break
            best, lowest = candidate, reached
        return best, lowest

    def _touching(self, pose: Placement, step: list[Vec], start: float) -> tuple[Placement, float]:
        """Return the pose in which a useless step meets its first wall, and its energy.

        If it meets none, these are the starting pose and its energy.
        """
        fraction = _first_share(self._largest(step)) * 0.5 ** (HALVINGS - 1)
        if not self._leaves(pose, step, fraction):
            return pose, start
        inside = 0.0
        for _ in range(NARROWINGS):
            middle = 0.5 * (inside + fraction)
            if self._leaves(pose, step, middle):
                fraction = middle
            else:
                inside = middle
        return self._ahead(pose, step, fraction, start)

    def _leaves(self, pose: Placement, step: list[Vec], fraction: float) -> bool:
        """Return whether a fraction of a step leads through a wall that isn't held."""
        body = self.body
        for freedom, motion in zip(self._system.freedoms, step, strict=True):
            owner, axes = freedom.owner, freedom.axes
            if body.joints[owner].limit is None or not freedom.is_rotation:
                continue
            turn = scaled(combined(axes, motion), fraction)
            turned = quat_unit(quat_product(pose.turns[owner], quat_exp(turn)))
            over = quat_log(quat_product(quat_inverse(body.within(owner, turned)), turned))
            x, y, z = along(axes, over)
            u, v, w = freedom.kept
            if hypot(x * u, y * v, z * w) > THROUGH * length(turn):
                return True
        return False

    def _ahead(
        self, pose: Placement, step: list[Vec], fraction: float, start: float
    ) -> tuple[Placement, float]:
        """Return the pose at a fraction of a step, corrected as long as that helps, and its energy.

        Springs of pins are so stiff that, along a curve, only tiny steps would reduce the energy.
        """
        motion = _all_scaled(step, fraction)
        self._foresee(step, fraction)
        best = moved = self._moved(pose, motion)
        lowest = self._energy(best)
        for _ in range(CORRECTIONS):
            bent = self._solved(self._missed(moved))
            motion = [add(a, b) for a, b in zip(motion, bent, strict=True)]
            moved = self._moved(pose, motion)
            reached = self._energy(moved)
            if reached >= lowest:
                break
            gain = lowest - reached
            best, lowest = moved, reached
            if gain < LITTLE * (start - lowest):
                break
        return best, lowest

    # Energy, gradient and stiffness

    def _energy(self, pose: Placement) -> float:
        body = self.body
        total = 0.0
        for index in body.order:
            total += body.effort_of(pose, index)
            if body.joints[index].is_free:
                moved = pose.moved[index]
                total += 0.5 * SLIDE * dot(moved, moved)
        for spring in self.springs:
            total += spring.energy(pose)
        support = self._support
        if support is not None:
            center = body.center(pose)
            moved = support.level(sub(center, self._center))
            total += huber(length(support.outside(center)), BALANCE, support.force)
            total += huber(length(moved), CENTER, support.force)
        for link in self._links:
            over = link.excess(link.stretched(pose.turns))
            total += 0.5 * link.stiffness * over * over
        return total

    def _linearize(self, pose: Placement) -> list[Vec]:
        """Set up the system at a pose; return the gradient."""
        self._articulate(pose)
        part_of = self._part_of
        pulls: list[tuple[Spring, Vec]] = []
        for spring in self.springs:
            spring.look(pose)
            pulls.append((spring, spring.pull(spring.miss)))
            stiffness = part_of[spring.joint].stiffness
            if spring.is_rotation:
                stiffness.add_turn(spring.pull((1.0, 1.0, 1.0)))
                continue
            stiffness.add_point(spring.pull((1.0, 1.0, 1.0)), spring.place)
            if spring.rank != SOFT:
                self._tense(pose, spring)
        gradient = self._gathered(pulls)
        self._strain(pose, gradient)
        self._press(pose)
        self._ties = []
        self._lean(pose)
        self._link(pose)
        for tie in self._ties:
            gradient = _all_added(gradient, tie.row, tie.force)
        return _all_scaled(gradient, -1.0)

    def _tense(self, pose: Placement, spring: Spring) -> None:
        """Add the tension with which a spring straightens the bones along its path."""
        following = spring.place
        force = scaled(spring.force, -1.0)
        for at in spring.path:
            head = pose.heads[at]
            self._part_of[at].stiffness.add_tension(force, sub(following, head))
            following = head

    def _missed(self, moved: Placement) -> list[Vec]:
        """Return the forces on the system due to the curvature of a step to a pose.

        Call this right after computing its energy.
        """
        pulls = [
            (spring, spring.pull(sub(spring.seen, spring.foreseen))) for spring in self.springs
        ]
        right = self._gathered(pulls)
        for tie in self._ties:
            if tie.link is None:
                value = dot(self.body.center(moved), tie.along)
            else:
                value = tie.link.stretched(moved.turns)
            right = _all_added(right, tie.row, tie.rate * (value - tie.value - tie.foreseen))
        return _all_scaled(right, -1.0)

    def _gathered(self, pulls: list[tuple[Spring, Vec]]) -> list[Vec]:
        """Convert forces of springs on their bones to forces on the axes of the joints."""
        for part in self._system.parts:
            part.force = part.torque = ORIGIN
        for spring, force in pulls:
            part = self._part_of[spring.joint]
            if spring.is_rotation:
                part.torque = add(part.torque, force)
            else:
                part.force = add(part.force, force)
                part.torque = add(part.torque, cross(spring.place, force))
        return self._system.loaded()

    def _articulate(self, pose: Placement) -> None:
        """Set the bones and their freedoms at a pose."""
        system = ArticulatedSystem()
        joints = self.body.joints
        part_of: dict[int, Part] = {}
        for index in self.body.order:
            joint, head = joints[index], pose.heads[index]
            part = Part(part_of.get(joint.parent), joint.inherits, head)
            part_of[index] = part
            system.parts.append(part)
            if joint.is_free:
                part.freedoms.append(Freedom(index, NO_AXES, NO_AXES, (X, Y, Z)))
            free_axes, walls = self._own_axes(pose, index)
            if free_axes:
                axes = pose.axes[index]
                spins = [rotate(axes, axis) for axis in free_axes]
                slides = [cross(head, spin) for spin in spins]
                part.freedoms.append(
                    Freedom(
                        index,
                        _three(free_axes),
                        _three(spins),
                        _three(slides),
                        len(free_axes),
                        walls,
                    )
                )
            system.freedoms.extend(part.freedoms)
        self._system = system
        self._part_of = part_of

    def _own_axes(self, pose: Placement, index: int) -> tuple[list[Vec], int]:
        """Return the axes about which a joint can rotate, in the joint's axes.

        The second value is how many of them, from the first, lead into a wall.
        """
        joint = self.body.joints[index]
        limit = joint.limit
        if limit is None:
            return [X, Y, Z], 0
        rotation = quat_product(joint.rotation, pose.turns[index])
        ends = _own_normals(limit, rotation)
        if isinstance(limit, Hinge):
            if limit.turn[1] <= limit.turn[0]:
                return [], 0
            return (ends, 1) if len(ends) == 1 else ([limit.axis], 0)
        return _walled(ends)

    def _strain(self, pose: Placement, gradient: list[Vec]) -> None:
        """Add the stiffness of the joints and of the root to the system."""
        body = self.body
        for index, freedom in enumerate(self._system.freedoms):
            owner, own = freedom.owner, freedom.own
            if not freedom.is_rotation:
                gradient[index] = add(gradient[index], scaled(pose.moved[owner], SLIDE))
                own.add_diagonal((SLIDE, SLIDE, SLIDE))
                continue
            turn = quat_log(pose.turns[owner])
            freedom.grown = grown_by(turn, freedom.axes)
            changes = freedom.grown
            force = self._resisted(pose, freedom, owner, changes)
            for resistance in body.joints[owner].resistances:
                _, slope, curvature = resistance.at(turn)
                if curvature > 0.0:
                    a, b, c = along(changes, resistance.axis)
                    force = add(force, (a * slope, b * slope, c * slope))
                    line = ((a, 0.0, 0.0), (b, 0.0, 0.0), (c, 0.0, 0.0))
                    own.add_products(curvature, line, line)
            follower = body.follower[owner]
            if follower >= 0:
                taken = self._shared(follower, changes)
                force = add(force, self._resisted(pose, freedom, follower, taken))
                self._couple(freedom, follower, taken)
            gradient[index] = add(gradient[index], force)

    def _resisted(self, pose: Placement, freedom: Freedom, joint: int, changes: Three) -> Vec:
        """Add a joint's resistance to changes of its strain by a freedom; return its forces."""
        stiffness = self.body.stiffness[joint]
        strain = self.body.strain_of(pose, joint, quat_log(pose.turns[joint]))
        freedom.own.add_products(stiffness, changes, changes)
        return scaled(along(changes, strain), stiffness)

    def _shared(self, joint: int, changes: Three) -> Three:
        """Return how the strain of a joint changes by its part of another's swings."""
        taken: list[Vec] = []
        for x, _, z in changes:
            taken.append(scaled(self.body.shared(self.body.joints[joint], (x, 0.0, z)), -1.0))
        return _three(taken)

    def _couple(self, freedom: Freedom, joint: int, taken: Three) -> None:
        """Couple a freedom with the joint that shares its swings, if no other coupling is between.

        Without it, more steps are needed.
        """
        between: list[Freedom] = []
        part: Part | None = self._part_of[freedom.owner]
        last = self._part_of[joint]
        while part is not None and part is not last:
            if not part.inherits or any([x.leader is not None for x in part.freedoms]):
                return
            between.extend(part.freedoms)
            part = part.carrier
        if part is None or not last.freedoms:
            return
        leader = last.freedoms[-1]
        for other in between:
            other.couple(leader)
        freedom.coupling = Block()
        freedom.coupling.add_products(self.body.stiffness[joint], taken, leader.grown)

    def _press(self, pose: Placement) -> None:
        """Add the curvature of walls that joints are pressed against.

        The pressure against a limit changes with motion along it. This is the second derivative of
        the Lagrangian.
        """
        curved: list[int] = []
        for index, freedom in enumerate(self._system.freedoms):
            u, v, w = freedom.kept
            if 0.0 < freedom.walls < u + v + w:
                curved.append(index)
        if not curved:
            return
        pulled = self._gathered([(spring, spring.force) for spring in self.springs])
        for index in curved:
            self._bend(pose, self._system.freedoms[index], pulled[index])

    def _bend(self, pose: Placement, freedom: Freedom, pulled: Vec) -> None:
        """Add the curvature of a joint's walls, times the pressure against each.

        Only its positive part is added, which is an upper bound. ``pulled`` is the resistance to
        rotation about the joint's axes, the first of which lead to its walls.
        """
        owner, axes, walls = freedom.owner, freedom.axes, freedom.walls
        joint = self.body.joints[owner]
        limit = joint.limit
        if limit is None:
            return
        rotation = quat_product(joint.rotation, pose.turns[owner])
        normals = _own_normals(limit, rotation)
        forces = [_pressing(normal, axes[:walls], pulled) for normal in normals]
        changes: list[Vec] = []
        for axis in axes[walls:]:
            turned_normals = _own_normals(
                limit, quat_product(rotation, quat_exp(scaled(axis, NEAR)))
            )
            if len(turned_normals) != len(normals):
                return
            change = ORIGIN
            for force, normal, other in zip(forces, normals, turned_normals, strict=True):
                change = add(change, scaled(sub(other, normal), force / NEAR))
            changes.append(change)
        along, across = axes[walls], axes[2]
        a, b, c = dot(changes[0], along), 0.0, 0.0
        if walls == 1:
            b = 0.5 * (dot(changes[0], across) + dot(changes[1], along))
            c = dot(changes[1], across)
        mean, radius, angle = 0.5 * (a + c), hypot(0.5 * (a - c), b), 0.5 * atan2(b, 0.5 * (a - c))
        x, y = cos(angle), sin(angle)
        for value, p, q in ((mean + radius, x, y), (mean - radius, -y, x)):
            if value > 0.0:
                second, third = (p, q) if walls == 1 else (0.0, p)
                spread = (ORIGIN, (second, 0.0, 0.0), (third, 0.0, 0.0))
                freedom.own.add_products(value, spread, spread)

    def _lean(self, pose: Placement) -> None:
        """Determine the springs that hold the center of mass in two directions on the ground."""
        support = self._support
        if support is None:
            return
        body = self.body
        center = body.center(pose)
        out, is_corner = support.beside(center)
        moved = support.level(sub(center, self._center))  # Since the start, along the ground.
        distance = length(out)
        outward = huber_rate(distance, BALANCE, support.force) if distance > 0.0 else 0.0
        inward = huber_rate(length(moved), CENTER, support.force)
        along = scaled(out, 1.0 / distance) if distance > 0.0 else any_perpendicular(support.up)
        joints = body.joints
        masses = [joint.mass / body.mass for joint in joints]
        moments = [scaled(body.center_of(pose, i), mass) for i, mass in enumerate(masses)]
        for index in range(len(joints) - 1, -1, -1):
            parent = joints[index].parent
            if parent >= 0:
                moment = moments[index]
                if not joints[index].inherits:
                    moment = scaled(pose.heads[index], masses[index])
                masses[parent] += masses[index]
                moments[parent] = add(moments[parent], moment)
        aside = outward if is_corner else 0.0
        for direction, more in ((along, outward), (cross(support.up, along), aside)):
            row = [
                freedom.pulled(
                    scaled(direction, masses[freedom.owner]),
                    cross(moments[freedom.owner], direction),
                )
                for freedom in self._system.freedoms
            ]
            if more + inward > 0.0:
                force = more * dot(out, direction) + inward * dot(moved, direction)
                self._ties.append(
                    Tie(None, direction, dot(center, direction), force, more + inward, row)
                )

    def _link(self, pose: Placement) -> None:
        """Determine the stretched links."""
        for link in self._links:
            value = link.stretched(pose.turns)
            over = link.excess(value)
            if over == 0.0 and link.low < link.high:
                continue
            row: list[Vec] = []
            for freedom in self._system.freedoms:
                at = ORIGIN
                for joint, axis in zip(link.joints, link.axes, strict=True):
                    if joint == freedom.owner:
                        at = along(freedom.grown, axis)
                row.append(at)
            force = link.stiffness * over
            self._ties.append(Tie(link, ORIGIN, value, force, link.stiffness, row))

    # Steps

    def _solved(self, right: list[Vec]) -> list[Vec]:
        step = self._system.solved(right)
        for index, tie in enumerate(self._ties):
            if not tie.response:
                tie.response = self._system.solved(tie.row)
                for earlier in self._ties[:index]:
                    tie.response = earlier.held(tie.response)
                tie.compliance = 1.0 / tie.rate + _product(tie.row, tie.response)
            step = tie.held(step)
        return step

    def _foresee(self, step: list[Vec], fraction: float) -> None:
        """Predict the springs' misses after a fraction of a step, if everything were linear."""
        self._system.moved(_all_scaled(step, fraction))
        for spring in self.springs:
            part = self._part_of[spring.joint]
            spring.foresee(part.spin, part.slide)
        for tie in self._ties:
            tie.foreseen = fraction * _product(tie.row, step)

    def _moved(self, pose: Placement, step: list[Vec]) -> Placement:
        """Return the pose after a step, within the limits."""
        body = self.body
        moved, turns = list(pose.moved), list(pose.turns)
        for freedom, motion in zip(self._system.freedoms, step, strict=True):
            owner, walls = freedom.owner, freedom.walls
            if not freedom.is_rotation:
                moved[owner] = add(moved[owner], motion)
                continue
            if walls > 0:
                motion = _into_walls(motion, walls, freedom.kept)
            turn = combined(freedom.axes, motion)
            turned = quat_unit(quat_product(turns[owner], quat_exp(turn)))
            turns[owner] = body.within(owner, turned)
        placement = Placement(moved, turns)
        body.place(placement)
        return placement

    def _largest(self, step: list[Vec]) -> float:
        """Return the largest rotation of a joint in a step, or motion of a root."""
        largest = 0.0
        for freedom, motion in zip(self._system.freedoms, step, strict=True):
            moved = combined(freedom.axes, motion) if freedom.is_rotation else motion
            largest = max(largest, dot(moved, moved))
        return sqrt(largest)


def _into_walls(turn: Vec, walls: int, kept: Vec) -> Vec:
    """Return a rotation vector moved slightly into the walls that stop its joint.

    Walls are curved, so the joint could otherwise leave a wall, which would then cut the next step
    short.
    """
    inward = dot(turn, turn)
    x, y, z = turn
    u, v, w = kept
    x += inward * (1.0 - u)
    y += inward * (1.0 - v) if walls > 1 else 0.0
    z += inward * (1.0 - w) if walls > 2 else 0.0
    return x, y, z


def _first_share(size: float) -> float:
    """Return the first fraction of a step to try, from its largest rotation."""
    return min(1.0, LARGEST / max(size, LARGEST))


def _own_normals(limit: Limit, rotation: Quat) -> list[Vec]:
    """Return the outward normals of a joint's current walls, in the joint's axes."""
    back = quat_inverse(rotation)
    return [rotate(back, normal) for normal in limit.normals(rotation)]


def _pressing(normal: Vec, axes: tuple[Vec, ...], pulled: Vec) -> float:
    """Return the pressure of a joint against a wall.

    Args:
        normal: The wall's outward normal.
        axes: The axes that lead to the joint's walls.
        pulled: The resistance to rotation about each of these axes.
    """
    force = 0.0
    for axis, resistance in zip(axes, pulled, strict=False):
        if dot(normal, axis) > FLAT:
            force -= min(0.0, resistance) / dot(normal, axis)
    return force


def _walled(normals: list[Vec]) -> tuple[list[Vec], int]:
    """Return the axes of a joint at walls, from their outward normals.

    Rotating about one of the first axes leads into one wall, and along the others. Rotating about
    the last axes leads along all walls. Directions between two opposite walls are left out.
    """
    if not normals:
        return [X, Y, Z], 0
    locked: list[Vec] = []
    walls: list[Vec] = []
    for normal in normals:
        is_between = any([dot(normal, other) < -PARALLEL for other in normals])
        group = locked if is_between else walls
        if not any([abs(dot(normal, other)) > PARALLEL for other in group]):
            group.append(normal)
    basis = locked + walls
    if len(basis) == 1:
        basis.append(any_perpendicular(basis[0]))
    if len(basis) == 2:
        basis.append(cross(basis[0], basis[1]))
    if len(basis) > 3:
        return [], 0
    a, b, c = basis
    axes = [cross(b, c), cross(c, a), cross(a, b)]
    volume = dot(a, axes[0])
    if abs(volume) < FLAT:
        return [], 0
    axes = [scaled(axis, 1.0 / (copysign(length(axis), volume))) for axis in axes]
    return axes[len(locked) :], len(walls)


def _three(vectors: list[Vec]) -> Three:
    """Return up to three vectors, padded with zeros."""
    count = len(vectors)
    second = vectors[1] if count > 1 else ORIGIN
    return vectors[0], second, vectors[2] if count > 2 else ORIGIN


def _all_scaled(vectors: list[Vec], factor: float) -> list[Vec]:
    return [scaled(vector, factor) for vector in vectors]


def _all_added(vectors: list[Vec], others: list[Vec], factor: float) -> list[Vec]:
    """Return vectors plus a multiple of others."""
    return [
        (ax + factor * bx, ay + factor * by, az + factor * bz)
        for (ax, ay, az), (bx, by, bz) in zip(vectors, others, strict=True)
    ]


def _product(vectors: list[Vec], others: list[Vec]) -> float:
    total = 0.0
    for (ax, ay, az), (bx, by, bz) in zip(vectors, others, strict=True):
        total += ax * bx + ay * by + az * bz
    return total
