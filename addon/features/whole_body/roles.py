"""The roles of a body's bones: which bones bend or are stiff, and where they are dragged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import dist
from typing import Any, Final

import bpy
from mathutils import Matrix, Vector

from fabrik_solver import inverse, point_in
from fabrik_solver.core.vectors import ORIGIN, Vec
from fabrik_solver.motion.anatomy import Limb

from ...blender.skeleton import Skeleton, skeleton_of
from ...body.body import Body
from ...body.carriers import Carriers
from ...body.chains import end_within
from ...body.looking import body_of
from .posture import Part

ARM: Final = 0.1
"""The stiffness of elbows and shoulders: people move the arm first to reach something. A trunk
carries twelve times as much as an arm (`LIMB_MASSES`). If an arm were half as stiff as a spine,
the body would lean away from a raised hand."""

CLAVICLE: Final = 2.0
"""The stiffness of a clavicle against leaving its share in the arm's rotation."""

STANDING_HEIGHT: Final = 0.05
"""Maximum height of a standing foot above the lowest foot, as a fraction of the character's
size."""

TRUNK_MASS, HEAD_MASS = 0.435, 0.069
LIMB_MASSES: Final = {"ARM": (0.027, 0.016, 0.006), "LEG": (0.142, 0.043, 0.014)}
"""The mass of a person's trunk, head, and each limb's first half, second half and end, as
fractions. Source: P. de Leva, “Adjustments to Zatsiorsky-Seluyanov's segment inertia
parameters”, 1996."""


@dataclass
class Roles:
    """The bones of a body, by name.

    Attributes:
        hips: The bone that moves the whole body, or empty.
        chest: The bone of the spine that carries the arms, or empty.
        head: The head, or empty.
        hands: The hands and front feet of arms.
        feet: The feet of legs.
        stiffness: The stiffness of bones that differ from 1.
        posture: How a person's bones bend.
        front: The forward direction, in armature space.
        standing: The armature-space matrices of bones in the examined pose; empty for the rest
            pose.
        rigid: The bones that only carry other bones.
        hinges: The bones below elbows and knees.
        follows: The upper arm whose swing each clavicle shares.
        arms: The first bones of arms.
        masses: The masses of bones, as fractions of the total.
        after: The bone at whose head each bone's mass ends.
        parts: The part of the body that each bone belongs to.
        reached: The last bones of limbs, by the hands and feet that only IK attaches to them.
        controls: The only bones that rotate; empty if any bone may.
        named: Returns the bone that another bone stands for, as a control does.
        up: The up direction, in armature space.
        size: The size of the body in armature space; 0 if no body is recognized.
    """

    hips: str = ""
    chest: str = ""
    head: str = ""
    hands: list[str] = field(default_factory=list)
    feet: list[str] = field(default_factory=list)
    stiffness: dict[str, float] = field(default_factory=dict)
    posture: dict[str, Part] = field(default_factory=dict)
    rigid: set[str] = field(default_factory=set)
    hinges: set[str] = field(default_factory=set)
    follows: dict[str, str] = field(default_factory=dict)
    arms: list[str] = field(default_factory=list)
    masses: dict[str, float] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    reached: dict[str, str] = field(default_factory=dict)
    controls: set[str] = field(default_factory=set)
    named: Callable[[str], str] = str
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    front: tuple[float, float, float] = (0.0, 0.0, 0.0)
    standing: Mapping[str, Matrix] = field(default_factory=dict)
    size: float = 0.0

    @property
    def ends(self) -> list[str]:
        """Names of the bones that are dragged and pinned at their heads."""
        return [name for name in (*self.hands, *self.feet, self.head, self.hips) if name]

    def grip(self, rig: Skeleton, bone: int) -> Vec:
        """Return the point at which a bone is dragged and pinned, in the bone's space.

        For a hand, a foot, the head or the hips, this is the bone's head. For other bones it is the
        head of the next bone, because importers guess tails. The chest is dragged at the neck.
        """
        name = rig.names[bone]
        if name in self.ends:
            return ORIGIN
        after = rig.index.get(self.after.get(name, ""), -1)
        if after < 0:
            return end_within(rig, bone)
        return point_in(inverse(rig.rest_frame(bone)), rig.head(after))

    def pinned_end(self, bone: Any) -> Vector:
        """Return the point at which a pose bone is dragged and pinned, in armature space."""
        rig = skeleton_of(bone.id_data.original)
        return bone.matrix @ Vector(self.grip(rig, rig.index[bone.name]))


def roles_of(
    armature: bpy.types.Object,
    shown: bpy.types.Object | None = None,
    up_axis: str = "",
    bone: str = "",
) -> Roles:
    """Return the roles of an armature's bones, as found by recognizing its body.

    A bone that only copies another passes its role to that bone. A bone carried by a control passes
    it to the control.

    Args:
        armature: The armature.
        shown: Its evaluated copy; None for that of the current depsgraph.
        up_axis: The armature's axis that points up; empty for the current one.
        bone: A bone of the body, because an armature may have several.
    """
    if shown is None:
        shown = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    carriers = Carriers(skeleton_of(armature), shown)
    body = body_of(armature, bone, up_axis)
    roles = _Finder(body).roles
    posers = {name: body.rig.poser(carriers, name) for name in body.names}
    if not body.rig.is_keyed:
        roles.controls = {*posers.values()}
        roles.named = lambda name: body.meant(name) or name
    roles.stiffness = {posers[name]: stiffness for name, stiffness in roles.stiffness.items()}
    roles.parts = {posers[name]: part for name, part in roles.parts.items()}
    roles.posture = _joined(roles.posture, posers)
    roles.rigid = {posers[name] for name in roles.rigid}
    roles.hinges = {posers[name] for name in roles.hinges}
    roles.follows = {posers[a]: posers[b] for a, b in roles.follows.items()}
    roles.arms = [posers[name] for name in roles.arms]
    return roles


def _joined(posture: Mapping[str, Part], posers: Mapping[str, str]) -> dict[str, Part]:
    """Return how posing bones bend; a bone that poses several bones bends like all of them."""
    joined: dict[str, Part] = {}
    for name, part in posture.items():
        previous = joined.get(posers[name])
        if previous is not None and previous.kind == part.kind:
            part = part._replace(share=previous.share + part.share)
        joined[posers[name]] = part
    return joined


def _is_person(body: Body) -> bool:
    """Return whether a body is visibly built like a person, so that `PERSON` applies.

    Its names or shape show where it faces. The body stands upright on two legs, each with a thigh
    and a shin. The legs of birds and dinosaurs have another bone before the foot, or their trunk is
    more level than upright.
    """
    anatomy = body.anatomy
    legs = [len(limb.bones) - len(limb.twists) for limb in anatomy.limbs if limb.kind == "LEG"]
    if not anatomy.evidence or anatomy.hips < 0 or anatomy.head < 0 or legs != [2, 2]:
        return False
    bones: Any = body.armature.data
    hips, head = (
        body.matrix(bones.bones[body.names[i]]).translation for i in (anatomy.hips, anatomy.head)
    )
    trunk = head - hips
    rise = trunk.dot(body.up)
    return rise > (trunk - rise * body.up).length


class _Finder:
    """Finds the roles in a recognized body."""

    def __init__(self, body: Body) -> None:
        self.body, self.names = body, body.names
        x, y, z = body.up
        front, anatomy = body.front, body.anatomy
        self.roles = Roles(
            up=(x, y, z),
            front=(front.x, front.y, front.z),
            standing=body.posed,
            size=body.size,
        )
        self._is_person = _is_person(body)
        if anatomy.hips < 0 and anatomy.head < 0 and not anatomy.limbs:
            return
        chest = body.chest if body.chest >= 0 else len(anatomy.spine) - 1
        self._trunk(body.pelvis, anatomy.spine[: chest + 1])
        lowest = anatomy.hips  # Bones between it and the pelvis move with the pelvis.
        while lowest != body.pelvis:
            self.roles.rigid.add(self.names[lowest])
            lowest = body.bones[lowest].parent
        self._neck(anatomy.spine[chest + 1 :], anatomy.head)
        for limb in anatomy.limbs:
            trimmed, reached = body.without_loose(limb)  # IK holds the rest in place.
            if reached:
                self.roles.reached[reached] = self.names[limb.bones[-1]]
            self._limb(trimmed)

    def _length(self, bone: int, end: int) -> float:
        return dist(self.body.bones[bone].head, self.body.bones[end].head)

    def _bend(self, kind: str, bone: int, fraction: float = 1.0, is_right: bool = False) -> None:
        """Make a bone bend like a part of a person.

        Args:
            kind: The part, a key of `PERSON`.
            bone: The bone.
            fraction: The bone's share of the part's length.
            is_right: Whether it is on the right side.
        """
        if not self._is_person:
            return
        self.roles.posture[self.names[bone]] = Part(kind, fraction, is_right)

    def _share(self, bones: list[int], end: int, kind: str) -> None:
        """Share the stiffness of a part among its bones: longer bones bend more.

        Args:
            bones: The bones.
            end: The bone at whose head the last of them ends; below 0 for none.
            kind: The part, a key of `PERSON`.
        """
        chain = [*bones, end] if end >= 0 else bones
        lengths = [self._length(a, b) for a, b in pairwise(chain)]
        if len(lengths) < len(bones):
            lengths.append(next((size for size in lengths[::-1] if size > 0.0), 1.0))
        mean = sum(lengths) / max(len(bones), 1)
        for bone, length in zip(bones, lengths, strict=True):
            if length > 0.0:
                self.roles.stiffness[self.names[bone]] = mean / length
                self._bend(kind, bone, length / sum(lengths))
            else:
                self.roles.rigid.add(self.names[bone])

    def _trunk(self, hips: int, spine: tuple[int, ...]) -> None:
        roles, names = self.roles, self.names
        bones = [bone for bone in spine if bone != hips]
        above = (*self.body.anatomy.spine[len(spine) :], self.body.anatomy.head)
        self._share(bones, above[0], "SPINE")
        if bones:
            roles.chest = names[bones[-1]]
        if hips >= 0:
            roles.hips = names[hips]
            self._bend("HIPS", hips)
        trunk = [*([hips] if hips >= 0 else []), *bones]
        self._follow([*trunk, above[0]])
        for bone in trunk:
            roles.parts[names[bone]] = "TRUNK"
            roles.masses[names[bone]] = TRUNK_MASS / len(trunk)

    def _follow(self, bones: Sequence[int]) -> None:
        for bone, following in pairwise([bone for bone in bones if bone >= 0]):
            self.roles.after[self.names[bone]] = self.names[following]

    def _neck(self, neck: tuple[int, ...], head: int) -> None:
        if head < 0:
            return
        self._share([*neck, head], -1, "NECK")
        self.roles.head = self.names[head]
        self.roles.masses[self.roles.head] = HEAD_MASS
        for bone in (*neck, head):
            self.roles.parts[self.names[bone]] = "HEAD"

    def _limb(self, limb: Limb) -> None:
        roles, names = self.roles, self.names
        part = f"{limb.kind} {limb.side}  {names[limb.bones[0]]}"
        for bone in (*limb.carriers, *limb.bones, limb.end, limb.toe):
            if bone >= 0:
                roles.parts[names[bone]] = part
        roles.rigid.update(names[bone] for bone in (*limb.carriers, *limb.twists))
        if limb.kind == "ARM" and limb.carriers:
            clavicle = names[limb.carriers[-1]]
            roles.rigid.discard(clavicle)
            roles.follows[clavicle] = names[limb.bones[0]]
            roles.stiffness[clavicle] = CLAVICLE
            self._bend("CLAVICLE", limb.carriers[-1], 1.0, limb.side < 0)
        joints = [bone for bone in limb.bones if bone not in limb.twists]
        if limb.kind == "ARM":
            roles.arms.append(names[limb.bones[0]])
            roles.stiffness.update((names[bone], ARM) for bone in joints)
        if limb.kind == "LEG":
            ends = [limb.end] if limb.end >= 0 else []
            for kind, bone in zip(("THIGH", "SHIN", "FOOT"), [*joints[:2], *ends], strict=False):
                self._bend(kind, bone, 1.0, limb.side < 0)
        self._follow([*joints, limb.end, limb.toe if limb.kind == "LEG" else -1])
        roles.hinges.update(names[bone] for bone in joints[1:])
        self._weigh(limb, joints)

    def _weigh(self, limb: Limb, joints: Sequence[int]) -> None:
        roles, names = self.roles, self.names
        shares = LIMB_MASSES[limb.kind]
        whole = dict(zip(joints[:2], shares, strict=False))
        if limb.end >= 0:
            whole[limb.end] = shares[2]
            ends = roles.hands if limb.kind == "ARM" else roles.feet
            ends.append(names[limb.end])
        roles.masses.update({names[bone]: mass for bone, mass in whole.items()})
