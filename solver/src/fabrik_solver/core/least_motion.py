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
from .joint_system import NO_AXES, JointSystem, Three
from .limits import Hinge, Limit
from .springs import FORCES, Spring, Stiffness, huber, huber_rate
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
        self._system = JointSystem()

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
            pulled = self._gathered(pose, [(pin, pin.pull(pin.miss)) for pin in pins])
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
            if not self._system.hold(step, 1e-12):
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
        self._foresee(pose, step, 1.0)
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
        system, body = self._system, self.body
        for index, owner in enumerate(system.owners):
            if body.joints[owner].limit is None or not system.is_rotation(index):
                continue
            axes = system.axes[index]
            turn = scaled(_combined(axes, step[index]), fraction)
            turned = quat_unit(quat_product(pose.turns[owner], quat_exp(turn)))
            over = quat_log(quat_product(quat_inverse(body.within(owner, turned)), turned))
            x, y, z = _along(axes, over)
            u, v, w = system.kept[index]
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
        self._foresee(pose, step, fraction)
        best = moved = self._moved(pose, motion)
        lowest = self._energy(best)
        for _ in range(CORRECTIONS):
            bent = self._solved(self._missed(pose, moved))
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
        pulls: list[tuple[Spring, Vec]] = []
        stiffness = [Stiffness() for _ in self.body.joints]
        for spring in self.springs:
            spring.look(pose)
            pulls.append((spring, spring.pull(spring.miss)))
            at = spring.joint
            if spring.is_rotation:
                stiffness[at].add_turn(spring.pull((1.0, 1.0, 1.0)))
                continue
            stiffness[at].add_point(spring.pull((1.0, 1.0, 1.0)), spring.place)
            if spring.rank != SOFT:
                self._tense(pose, spring, stiffness)
        self._system = self._freedoms(pose)
        gradient = self._gathered(pose, pulls)
        grown = self._strain(pose, gradient)
        self._compose(pose, stiffness)
        self._press(pose)
        self._ties = []
        self._lean(pose)
        self._link(pose, grown)
        for tie in self._ties:
            gradient = _all_added(gradient, tie.row, tie.force)
        return _all_scaled(gradient, -1.0)

    def _tense(self, pose: Placement, spring: Spring, stiffness: list[Stiffness]) -> None:
        """Add the tension with which a spring straightens the bones along its path."""
        following = spring.place
        force = scaled(spring.force, -1.0)
        for at in spring.path:
            head = pose.heads[at]
            stiffness[at].add_tension(force, sub(following, head))
            following = head

    def _missed(self, pose: Placement, moved: Placement) -> list[Vec]:
        """Return the forces on the system due to the curvature of a step between two poses.

        Call this right after computing the energy of the second pose.
        """
        pulls = [
            (spring, spring.pull(sub(spring.seen, spring.foreseen))) for spring in self.springs
        ]
        right = self._gathered(pose, pulls)
        for tie in self._ties:
            if tie.link is None:
                value = dot(self.body.center(moved), tie.along)
            else:
                value = tie.link.stretched(moved.turns)
            right = _all_added(right, tie.row, tie.rate * (value - tie.value - tie.foreseen))
        return _all_scaled(right, -1.0)

    def _gathered(self, pose: Placement, pulls: list[tuple[Spring, Vec]]) -> list[Vec]:
        """Convert forces of springs on their bones to forces on the axes of the joints."""
        joints, system = self.body.joints, self._system
        forces: list[Vec] = [ORIGIN] * len(joints)
        torques: list[Vec] = [ORIGIN] * len(joints)  # About the origin.
        for spring, force in pulls:
            at = spring.joint
            if spring.is_rotation:
                torques[at] = add(torques[at], force)
            else:
                forces[at] = add(forces[at], force)
                torques[at] = add(torques[at], cross(spring.place, force))
        for index in reversed(self.body.order):
            parent = joints[index].parent
            if parent >= 0:
                force = forces[index]
                torque = torques[index]
                if not joints[index].inherits:
                    torque = cross(pose.heads[index], force)
                forces[parent] = add(forces[parent], force)
                torques[parent] = add(torques[parent], torque)
        return [
            add(_along(slides, forces[owner]), _along(spins, torques[owner]))
            for owner, slides, spins in zip(system.owners, system.slides, system.spins, strict=True)
        ]

    def _freedoms(self, pose: Placement) -> JointSystem:
        """Return the degrees of freedom of a pose."""
        system = JointSystem()
        last = [-1] * len(self.body.joints)
        for index in self.body.order:
            joint = self.body.joints[index]
            previous = last[joint.parent] if joint.parent >= 0 else -1
            if joint.is_free:
                previous = system.append(index, NO_AXES, NO_AXES, (X, Y, Z), previous)
            free_axes, walls = self._own_axes(pose, index)
            if free_axes:
                head, axes = pose.heads[index], pose.axes[index]
                own_axes = _three(free_axes)
                spins = _three([rotate(axes, axis) for axis in free_axes])
                slides = _three([cross(head, rotate(axes, axis)) for axis in free_axes])
                previous = system.append(
                    index, own_axes, spins, slides, previous, len(free_axes), walls
                )
            last[index] = previous
        return system

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

    def _strain(self, pose: Placement, gradient: list[Vec]) -> list[Three]:
        """Add the stiffness of the joints and of the root to the system.

        Returns:
            The change of each joint's rotation vector when rotating about each of the joint's axes.
        """
        system, body = self._system, self.body
        grown: list[Three] = []
        for index, (owner, axes) in enumerate(zip(system.owners, system.axes, strict=True)):
            if not system.is_rotation(index):
                gradient[index] = add(gradient[index], scaled(pose.moved[owner], SLIDE))
                system.rows[index][0].add_diagonal((SLIDE, SLIDE, SLIDE))
                grown.append(NO_AXES)
                continue
            turn = quat_log(pose.turns[owner])
            grown.append(grown_by(turn, axes))
            self._resist(pose, index, owner, grown[index], gradient, grown)
            for resistance in body.joints[owner].resistances:
                _, slope, curvature = resistance.at(turn)
                if curvature > 0.0:
                    a, b, c = _along(grown[index], resistance.axis)
                    gradient[index] = add(gradient[index], (a * slope, b * slope, c * slope))
                    along = ((a, 0.0, 0.0), (b, 0.0, 0.0), (c, 0.0, 0.0))
                    system.rows[index][0].add_products(curvature, along, along)
            follower = body.follower[owner]
            if follower >= 0:
                taken = self._shared(follower, grown[index], -1.0)
                self._resist(pose, index, follower, taken, gradient, grown)
        return grown

    def _shared(self, joint: int, changes: Three, fraction: float) -> Three:
        """Return a joint's part of the swings of the joint that it follows, times a fraction."""
        taken: list[Vec] = []
        for x, _, z in changes:
            taken.append(scaled(self.body.shared(self.body.joints[joint], (x, 0.0, z)), fraction))
        return _three(taken)

    def _resist(
        self,
        pose: Placement,
        index: int,
        joint: int,
        changes: Three,
        gradient: list[Vec],
        grown: list[Three],
    ) -> None:
        """Add a joint's resistance to strain that rotation about another joint's axes causes."""
        system, body = self._system, self.body
        stiffness = body.stiffness[joint]
        strain = body.strain_of(pose, joint, quat_log(pose.turns[joint]))
        gradient[index] = add(gradient[index], scaled(_along(changes, strain), stiffness))
        row = system.rows[index]
        is_there = False
        for k, other in enumerate(system.chains[index]):
            owner = system.owners[other]
            if owner == joint:
                is_there = True
                row[k].add_products(stiffness, changes, grown[other])
            elif is_there:
                break
            elif body.follower[owner] == joint and system.is_rotation(other):
                row[k].add_products(stiffness, changes, self._shared(joint, grown[other], -1.0))

    def _compose(self, pose: Placement, stiffness: list[Stiffness]) -> None:
        """Add the springs at and below each joint to the system (Featherstone, §6.2)."""
        joints, system = self.body.joints, self._system
        for index in reversed(self.body.order):
            parent = joints[index].parent
            if parent < 0:
                continue
            if joints[index].inherits:
                stiffness[parent].add(stiffness[index])
            else:
                stiffness[parent].add_point(stiffness[index].slide, pose.heads[index])
        for index, owner in enumerate(system.owners):
            spins, slides = system.spins[index], system.slides[index]
            bone_stiffness = stiffness[owner]
            forces = (
                bone_stiffness.force(spins[0], slides[0]),
                bone_stiffness.force(spins[1], slides[1]),
                bone_stiffness.force(spins[2], slides[2]),
            )
            torques = (
                bone_stiffness.torque(spins[0], slides[0]),
                bone_stiffness.torque(spins[1], slides[1]),
                bone_stiffness.torque(spins[2], slides[2]),
            )
            row, at = system.rows[index], owner
            for k, other in enumerate(system.chains[index]):
                while system.owners[other] != at:
                    if not joints[at].inherits:
                        head = pose.heads[at]
                        torques = (
                            cross(head, forces[0]),
                            cross(head, forces[1]),
                            cross(head, forces[2]),
                        )
                    at = joints[at].parent
                row[k].add_products(1.0, forces, system.slides[other])
                row[k].add_products(1.0, torques, system.spins[other])

    def _press(self, pose: Placement) -> None:
        """Add the curvature of walls that joints are pressed against.

        The pressure against a limit changes with motion along it. This is the second derivative of
        the Lagrangian.
        """
        system = self._system
        curved: list[int] = []
        for index, (u, v, w) in enumerate(system.kept):
            if 0.0 < system.walls[index] < u + v + w:
                curved.append(index)
        if not curved:
            return
        pulled = self._gathered(pose, [(spring, spring.force) for spring in self.springs])
        for index in curved:
            self._bend(pose, index, pulled[index])

    def _bend(self, pose: Placement, index: int, pulled: Vec) -> None:
        """Add the curvature of a joint's walls, times the pressure against each.

        Only its positive part is added, which is an upper bound. ``pulled`` is the resistance to
        rotation about the joint's axes, the first of which lead to its walls.
        """
        system = self._system
        owner, axes, walls = system.owners[index], system.axes[index], system.walls[index]
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
        row = system.rows[index][0]
        for value, p, q in ((mean + radius, x, y), (mean - radius, -y, x)):
            if value > 0.0:
                second, third = (p, q) if walls == 1 else (0.0, p)
                spread = (ORIGIN, (second, 0.0, 0.0), (third, 0.0, 0.0))
                row.add_products(value, spread, spread)

    def _lean(self, pose: Placement) -> None:
        """Determine the springs that hold the center of mass in two directions on the ground."""
        support = self._support
        if support is None:
            return
        body, system = self.body, self._system
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
                add(
                    scaled(_along(slides, direction), masses[owner]),
                    _along(spins, cross(moments[owner], direction)),
                )
                for owner, slides, spins in zip(
                    system.owners, system.slides, system.spins, strict=True
                )
            ]
            if more + inward > 0.0:
                force = more * dot(out, direction) + inward * dot(moved, direction)
                self._ties.append(
                    Tie(None, direction, dot(center, direction), force, more + inward, row)
                )

    def _link(self, pose: Placement, grown: list[Three]) -> None:
        """Determine the stretched links."""
        for link in self._links:
            value = link.stretched(pose.turns)
            over = link.excess(value)
            if over == 0.0 and link.low < link.high:
                continue
            row: list[Vec] = []
            for owner, growing in zip(self._system.owners, grown, strict=True):
                at = ORIGIN
                for joint, axis in zip(link.joints, link.axes, strict=True):
                    if joint == owner:
                        at = _along(growing, axis)
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

    def _foresee(self, pose: Placement, step: list[Vec], fraction: float) -> None:
        """Predict the springs' misses after a fraction of a step, if everything were linear."""
        system, joints = self._system, self.body.joints
        spins: list[Vec] = [ORIGIN] * len(joints)
        slides: list[Vec] = [ORIGIN] * len(joints)
        count = len(step)
        at = 0
        for index in self.body.order:
            parent = joints[index].parent
            spin, slide = ORIGIN, ORIGIN
            if parent >= 0:
                spin, slide = spins[parent], slides[parent]
                if not joints[index].inherits:
                    slide = add(slide, cross(spin, pose.heads[index]))
                    spin = ORIGIN
            while at < count and system.owners[at] == index:
                motion = scaled(step[at], fraction)
                spin = add(spin, _combined(system.spins[at], motion))
                slide = add(slide, _combined(system.slides[at], motion))
                at += 1
            spins[index] = spin
            slides[index] = slide
        for spring in self.springs:
            spring.foresee(spins[spring.joint], slides[spring.joint])
        for tie in self._ties:
            tie.foreseen = fraction * _product(tie.row, step)

    def _moved(self, pose: Placement, step: list[Vec]) -> Placement:
        """Return the pose after a step, within the limits."""
        system, body = self._system, self.body
        moved, turns = list(pose.moved), list(pose.turns)
        for index, owner in enumerate(system.owners):
            if not system.is_rotation(index):
                moved[owner] = add(moved[owner], step[index])
                continue
            axes, walls = system.axes[index], system.walls[index]
            motion = _into_walls(step[index], walls, system.kept[index]) if walls else step[index]
            turned = quat_unit(quat_product(turns[owner], quat_exp(_combined(axes, motion))))
            turns[owner] = body.within(owner, turned)
        placement = Placement(moved, turns)
        body.place(placement)
        return placement

    def _largest(self, step: list[Vec]) -> float:
        """Return the largest rotation of a joint in a step, or motion of a root."""
        system = self._system
        squares = [0.0]
        for index, axes in enumerate(system.axes):
            is_rotation = system.is_rotation(index)
            motion = _combined(axes, step[index]) if is_rotation else step[index]
            squares.append(dot(motion, motion))
        return sqrt(max(squares))


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


def _along(axes: Three, vector: Vec) -> Vec:
    """Return the components of a vector along three axes."""
    (ux, uy, uz), (vx, vy, vz), (wx, wy, wz) = axes
    x, y, z = vector
    return ux * x + uy * y + uz * z, vx * x + vy * y + vz * z, wx * x + wy * y + wz * z


def _combined(axes: Three, shares: Vec) -> Vec:
    """Return the sum of three axes times their factors."""
    (ux, uy, uz), (vx, vy, vz), (wx, wy, wz) = axes
    x, y, z = shares
    return x * ux + y * vx + z * wx, x * uy + y * vy + z * wy, x * uz + y * vz + z * wz


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
