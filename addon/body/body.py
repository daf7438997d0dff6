"""Bodies: the parts recognized in an armature, and the limbs in the form in which IK poses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple, Protocol, cast

import bpy
from mathutils import Matrix, Quaternion, Vector

from fabrik_solver.core.vectors import Vec
from fabrik_solver.motion.anatomy import UP, Anatomy, RestBone, words_of
from fabrik_solver.motion.anatomy import Limb as LimbAnatomy

from ..blender.axes import AXES, nearest_axis
from ..blender.skeleton import skeleton_of
from .carriers import Carriers

ROOTS: Final = {"root", "master"}
"""Words that name a root bone."""


class LooseEnd(NamedTuple):
    """A foot or hand that isn't parented to its limb.

    Attributes:
        name: Its name.
        limb: The last bone of the limb.
        joint: The end of that bone, in its rest space; the origin is its head.
        tip: The child of the last bone with its head there, as added by exporters and IK; empty if
            there is none.
    """

    name: str
    limb: str
    joint: Vec
    tip: str = ""


class End(NamedTuple):
    """Where a limb ends.

    Attributes:
        bone: The hand or foot, parented to the limb or not; without one, the last bone.
        at_tail: Whether the limb has no hand or foot, and so ends at the tail of its last bone.
        is_loose: Whether the hand or foot isn't parented to the limb: it keeps its parent, and IK
            reaches for it.
    """

    bone: str
    at_tail: bool
    is_loose: bool


class Joint(NamedTuple):
    """How a joint flexes.

    Attributes:
        bone: The bone below it.
        axis: The unit vector about which a positive rotation flexes it, in the bone's rest space;
            zero if unknown. A twist bone has the axis along it.
        fold: The angle by which it is flexed at rest, in radians.
        source: The evidence, as in `flexion`; ``'TWIST'`` for a twist bone, empty if unknown.
    """

    bone: str
    axis: Vector = Vector()
    fold: float = 0.0
    source: str = ""


class Foot(NamedTuple):
    """The sole of a standing foot, in the space of its bone.

    Attributes:
        bone: The foot.
        toe: Its toes; empty if they have no bone.
        heel: The point of the floor below the ankle.
        ball: The point below the joint of the toes.
        tip: The tip of the toes, also on the floor.
        neutral: The matrix of the toes.
        up: The direction up.
        floor: The height of the floor along that, in armature space.
    """

    bone: str
    toe: str
    heel: Vector
    ball: Vector
    tip: Vector
    neutral: Matrix
    up: Vector
    floor: float

    @property
    def points(self) -> list[tuple[str, Vector]]:
        """Heel, ball and tip, each with the bone it is attached to, in that bone's space."""
        tip = self.toe or self.bone, self.neutral.inverted() @ self.tip
        return [(self.bone, self.heel), (self.bone, self.ball), tip]

    @property
    def along(self) -> Vector:
        """The vector along the sole from the heel to the tip."""
        line = self.tip - self.heel
        return line - line.dot(self.up) * self.up

    @property
    def matrix(self) -> Matrix:
        """The axes at the heel: Y points to the toes, Z down."""
        y, z = self.along.normalized(), -self.up
        axes = Matrix(cast(Any, (y.cross(z), y, z))).transposed()
        return Matrix.LocRotScale(cast(Any, self.heel), axes.to_quaternion(), None)


@dataclass(frozen=True)
class Limb:
    """A limb that IK can be added to.

    Attributes:
        body: The body that it belongs to.
        bones: The names of its bones, root first.
        hand: The hand or foot after them; empty if there is none.
        kind: ``'ARM'`` or ``'LEG'`` of a recognized body; empty for any other limb.
        switch: If the bones are FK controls, the bone with the IK/FK switch; empty if there is
            none.
        loose: The hand or foot at the end of the bones, if it isn't parented to them. None for any
            other limb.
        twists: Its bones that are later parts of a bone split for twisting. They don't bend.
        shape: The limb as recognized in the body; None for any other limb.
    """

    body: Body = field(compare=False, repr=False)
    bones: tuple[str, ...]
    hand: str = ""
    kind: str = ""
    switch: str = ""
    loose: LooseEnd | None = None
    twists: tuple[str, ...] = ()
    shape: LimbAnatomy | None = field(default=None, compare=False, repr=False)

    @property
    def end(self) -> End:
        """Where it ends."""
        bone = self.loose.name if self.loose else self.hand or self.bones[-1]
        return End(bone, bone == self.bones[-1], self.loose is not None)

    @property
    def why(self) -> str:
        """The evidence for its kind: ``'NAMES'`` or ``'SHAPE'``; empty without a kind."""
        return self.shape.why if self.shape else ""

    @property
    def joints(self) -> tuple[Joint, ...]:
        """How its joints flex, one for each bone; the first one is the hip or the shoulder."""
        body, ends = self.body, (*self.bones[1:], self.hand)
        return tuple(
            [
                body.finders.joint(body, bone, end, bone in self.twists)
                for bone, end in zip(self.bones, ends, strict=True)
            ]
        )

    @property
    def has_foot(self) -> bool:
        """Whether it is a recognized leg that ends in a foot, parented to it or not."""
        return self.kind == "LEG" and self.shape is not None and self.shape.end >= 0

    @property
    def foot(self) -> Foot | None:
        """The sole of a recognized leg's foot; None for any other limb."""
        shape = self.shape
        return self.body.feet[self.body.names[shape.end]] if shape and self.has_foot else None

    def tip(self, is_oriented: bool) -> str:
        """Return the tip bone of a constraint, depending on whether it orients the hand."""
        return self.hand if is_oriented and self.hand else self.bones[-1]


def is_called_root(bone: str) -> bool:
    """Return whether a bone's name says that it is the root of a character."""
    return not ROOTS.isdisjoint(words_of(bone))


class Row(NamedTuple):
    """A bone that may be part of a body.

    Attributes:
        name: Its name in the armature.
        title: The name by which it is recognized.
        bone: The bone.
        parent: The index of its parent, which comes before it; -1 without a parent.
        deforms: Whether it deforms a mesh.
        is_foot: Whether it is a loose hand or foot, added as a child of its limb.
    """

    name: str
    title: str
    bone: bpy.types.Bone
    parent: int
    deforms: bool
    is_foot: bool = False


class Rig(Protocol):
    """A kind of rig: the bones of its body, and the controls that pose them.

    Attributes:
        is_keyed: Whether keys on the body's own bones pose it. If so, the action shows the motion,
            and IK can be added to any part. If not, controls may pose the body.
    """

    is_keyed: bool

    def marks(self, armature: bpy.types.Object) -> object:
        """Return the features that identify an armature as this kind of rig, besides its bones."""
        ...

    def rows(self, armature: bpy.types.Object) -> list[Row]:
        """Return the relevant bones, parents first; empty if the armature isn't such a rig."""
        ...

    def limb(self, body: Body, limb: LimbAnatomy) -> Limb | None:
        """Return a limb as IK poses it; None if no part of it can be posed."""
        ...

    def part_of(self, armature: bpy.types.Object, limb: Limb) -> tuple[str, int]:
        """Return the bone that ends a limb when IK is added, and the number of bending bones."""
        ...

    def meant(self, body: Body, bone: str) -> str:
        """Return the bone of the body that a bone of the armature stands for; empty if none."""
        ...

    def control(self, armature: bpy.types.Object, bone: str) -> str:
        """Return the control that poses only this bone of the body; empty if there is none."""
        ...

    def poser(self, carriers: Carriers, bone: str) -> str:
        """Return the bone that an animator poses to move a bone of the body."""
        ...


class Finders(NamedTuple):
    """The functions that find what limbs carry; they need bodies themselves.

    Attributes:
        joint: Returns how the joint above a bone flexes, from the body, the bone, the next bone of
            its limb (empty if unknown), and whether it is a twist bone.
        feet: Returns the soles of the feet of a body's legs, by bone.
    """

    joint: Callable[[Body, str, str, bool], Joint]
    feet: Callable[[Body], Mapping[str, Foot]]


@dataclass(frozen=True, eq=False)
class Body:
    """A body in an armature.

    Attributes:
        armature: The armature.
        rig: Its kind of rig.
        bones: Its bones, by their index in `anatomy`, in the same space.
        anatomy: Its parts, in armature space rotated so that Z is up.
        size: Its height in armature space, or the longest reach of a limb if that is more. If the
            body doesn't stand on legs, its largest extent.
        up_axis: The axis of the armature that points up, one of `AXES`.
        turn: The rotation from the space of `anatomy` to armature space.
        frame: The frame of its animation used for recognition; all directions refer to it. None for
            the rest pose.
        posed: The matrices of its bones at that frame, in armature space; empty for the rest pose.
        finders: Find the joints and feet of limbs.
        loose: The hands and feet that aren't parented to their limbs in the armature, by name; in
            `bones` they are children of their limbs.
    """

    armature: bpy.types.Object
    rig: Rig
    bones: list[RestBone]
    anatomy: Anatomy
    size: float
    up_axis: str
    turn: Quaternion
    finders: Finders
    frame: float | None = None
    posed: Mapping[str, Matrix] = field(default_factory=dict)
    loose: Mapping[str, LooseEnd] = field(default_factory=dict)

    @cached_property
    def names(self) -> list[str]:
        """The names of the body's bones."""
        return [bone.name for bone in self.bones]

    @cached_property
    def index(self) -> dict[str, int]:
        """The indices of the body's bones by name."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def controlled(self) -> set[str]:
        """The names of the body's bones that only controls of the rig pose."""
        return {name for name in self.names if self.rig.control(self.armature, name) != name}

    @cached_property
    def feet(self) -> Mapping[str, Foot]:
        """The soles of the feet of the body's legs, by bone."""
        return self.finders.feet(self)

    @cached_property
    def limbs(self) -> list[Limb]:
        """The body's arms and legs, as IK poses them."""
        limbs = [self.rig.limb(self, shape) for shape in self.anatomy.limbs]
        return [limb for limb in limbs if limb is not None]

    @property
    def legs(self) -> list[Limb]:
        """The body's legs, as IK poses them."""
        return [limb for limb in self.limbs if limb.kind == "LEG"]

    def opposite(self, limb: LimbAnatomy) -> LimbAnatomy | None:
        """Return the limb on the other side; None if there is none."""
        same = [other for other in self.anatomy.limbs if other.kind == limb.kind]
        index = [other for other in same if other.side == limb.side].index(limb)
        return next(iter([other for other in same if other.side == -limb.side][index:]), None)

    def joint(self, bone: str) -> Joint:
        """Return how the joint above a bone of the armature flexes."""
        return self.finders.joint(self, bone, "", False)

    @property
    def ended_limbs(self) -> list[Limb]:
        """The limbs with a hand or foot, or with a tail on which they stand."""
        return [limb for limb in self.limbs if (s := limb.shape) and (s.end >= 0 or not s.is_bare)]

    def joint_after(self, bone: str) -> str:
        """Return the next joint of a limb after a bone, or the hand or foot; empty without one."""
        index = self.index.get(self.meant(bone), -1)
        lines = [(*limb.bones, limb.end) for limb in self.anatomy.limbs]
        nexts = {a: b for line in lines for a, b in pairwise(line)}
        successor = nexts.get(index, -1)
        return self.names[successor] if successor >= 0 else ""

    def without_loose(self, limb: LimbAnatomy) -> tuple[LimbAnatomy, str]:
        """Return a limb without its loose hand or foot, and the name of that hand or foot.

        The name is empty if the limb has none.
        """
        end = self.names[limb.end] if limb.end >= 0 else ""
        loose = self.loose.get(end)
        if loose is None:
            return limb, ""
        return limb._replace(end=self.index.get(loose.tip, -1), toe=-1), end

    def matrix(self, bone: bpy.types.Bone) -> Matrix:
        """Return the matrix of a bone in the examined pose, in armature space."""
        return self.posed.get(bone.name, bone.matrix_local)

    def part_of(self, limb: Limb) -> tuple[str, int]:
        """Return the bone that ends a limb when IK is added, and the number of bending bones."""
        return self.rig.part_of(self.armature, limb)

    def meant(self, bone: str) -> str:
        """Return the bone of the body that a bone of the armature stands for; empty if none."""
        return self.rig.meant(self, bone)

    def joined(self, parent: str, child: str) -> bool:
        """Return whether two bones are parent and child in the armature, not only in the body."""
        anatomy = self.anatomy
        limbs = [i for limb in anatomy.limbs for i in (*limb.bones, limb.end)]
        parts = {self.names[i] for i in (*anatomy.spine, anatomy.head, *limbs) if i >= 0}
        return child not in self.loose and {child, parent} <= parts

    @cached_property
    def chest(self) -> int:
        """The index in the spine of the last bone that carries a limb, or -1 if there is none."""
        spine = self.anatomy.spine
        trunks = [limb.trunk for limb in self.anatomy.limbs if limb.trunk in spine]
        return max(map(spine.index, trunks), default=-1)

    @cached_property
    def pelvis(self) -> int:
        """The index of the bone that moves the whole body, or -1 if there is none.

        This is the hips, or the highest bone above them that is still part of the body. In 3ds Max
        Biped, for example, the spine carries the legs. A bone counts as a root instead if it is
        named as a root, lies near the floor, or carries something else there, such as controls of
        feet.
        """
        children: dict[int, list[int]] = {}
        for i, bone in enumerate(self.bones):
            children.setdefault(bone.parent, []).append(i)
        pelvis, rises = self.anatomy.hips, self._rises()
        while pelvis >= 0 and (above := self.bones[pelvis].parent) >= 0:
            others = [i for i in children[above] if i != pelvis]
            lowest = min([rises[i] for i in (above, *others)])
            is_low = lowest < rises[self.anatomy.hips] - lowest  # Nearer to the floor than to them.
            if is_low or is_called_root(self.names[above]):
                break
            pelvis = above
        return pelvis

    def _rises(self) -> list[float]:
        """Return the height of each bone's head above the lowest head, in the examined pose."""
        rests = cast("bpy.types.Armature", self.armature.data).bones
        heads = [self.posed.get(name, rests[name].matrix_local) for name in self.names]
        heights = [head.translation.dot(self.up) for head in heads]
        lowest = min(heights, default=0.0)
        return [height - lowest for height in heights]

    @cached_property
    def carriers(self) -> list[str]:
        """The bones that move the body together with its legs, as `carriers_of` returns them."""
        return self.carriers_of([leg.bones[0] for leg in self.legs])

    def carriers_of(self, legs: Sequence[str]) -> list[str]:
        """Return the bones that move the body together with some legs, topmost first.

        The first is the root. The last is the pelvis, or the bone that poses it. If no recognized
        trunk carries the legs, the longest line of bones beside them is used.

        Args:
            legs: The first bone of each leg.
        """
        rig = skeleton_of(self.armature)
        lines = [rig.chain_up(rig.index[leg])[:-1] for leg in legs]
        if self.pelvis >= 0:
            names = [self.names[i] for i in (self.pelvis, *self.anatomy.spine)]
            controls = [self.rig.control(self.armature, name) or name for name in names]
            pelvis, *spine = (rig.index[name] for name in controls)
            if not self.rig.is_keyed or all(pelvis in line for line in lines):
                trunk = rig.chain_up(pelvis), *(rig.chain_up(bone)[:-1] for bone in spine)
                shared = {*trunk[0]}.intersection(*trunk, *lines)
                return [rig.names[bone] for bone in trunk[0] if bone in shared]
        return [rig.names[bone] for bone in rig.trunk_above([rig.index[leg] for leg in legs])]

    @property
    def up(self) -> Vector:
        """The up direction, in armature space."""
        return self.turn @ Vector(UP)

    @property
    def front(self) -> Vector:
        """The forward direction, in armature space."""
        return self.turn @ Vector(self.anatomy.front)

    @property
    def has_rest_pose(self) -> bool:
        """Whether the body stands in the rest pose, not only at a frame of its animation."""
        return self.frame is None

    @property
    def front_axis(self) -> str:
        """The name in `AXES` of the armature's horizontal axis nearest to its front."""
        return nearest_axis(self.front, [name for name in AXES if name[-1] != self.up_axis[-1]])
