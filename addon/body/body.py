"""The arms and legs of a recognized character, and which of them a bone means."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import dist
from typing import Final, NamedTuple

import bpy

from fabrik_solver.core.vectors import Vec, add, dot, scaled, sub
from fabrik_solver.motion.anatomy import HAND, part_of, words_of
from fabrik_solver.motion.anatomy import Limb as Found

from ..blender.access import pose_bones
from ..blender.skeleton import Skeleton, skeleton_of
from .helpers import Controls, is_helper
from .looking import Character, character_of, generated_character
from .loose import DetachedEnd
from .rigify import fk_control, fk_joint, fk_switch, original_name, own_control

ENDS: Final = HAND | {"ankle", "foot", "hoof", "palm", "paw"}
"""Words in the names of bones at the ends of limbs, which have rotations of their own."""


POLES: Final = 2.0
"""The largest distance of a helper from the limb that it lies beside, in lengths of the limb."""

ALONG: Final = 0.1
"""The largest distance from a limb of what is its helper and no chain of its own, in lengths of the
limb: muscles and twist bones lie in it, sleeves hang off."""


class Limb(NamedTuple):
    """A limb that IK can be added to.

    Attributes:
        bones: The names of the bones that bend, root first.
        hand: The hand or foot after them; empty if there is none.
        kind: ``'ARM'`` or ``'LEG'`` of a recognized character; empty for any other limb.
        switch: The bone of a generated rig that has the switch to the FK controls, which these
            bones are; empty for any other limb.
        detached: The hand or foot if it is no child of the bones, but where they end: it stays as
            it is, and IK reaches for it. None for any other limb.
    """

    bones: tuple[str, ...]
    hand: str = ""
    kind: str = ""
    switch: str = ""
    detached: DetachedEnd | None = None

    def tip(self, is_oriented: bool) -> str:
        """Return the tip bone of a constraint that orients the hand, or does not."""
        return self.hand if is_oriented and self.hand else self.bones[-1]


class Body:
    """The arms and legs of a character.

    Attributes:
        armature: The armature.
        rig: Its skeleton.
        is_generated: Whether it is a generated Rigify rig, whose character is that of its metarig.
        character: The character.
        limbs: Its limbs, as they were found and as IK poses them.
    """

    def __init__(self, armature: bpy.types.Object, bone: str = "") -> None:
        """Recognize the character; that of a bone, if there are several in the armature."""
        self.armature, self.rig = armature, skeleton_of(armature)
        generated = generated_character(armature)
        self.is_generated = generated is not None
        self.character = generated or character_of(armature, bone=bone)
        self._below: dict[int, list[int]] = {}
        for i, one in enumerate(self.character.bones):
            self._below.setdefault(one.parent, []).append(i)
        self.limbs: list[tuple[Found, Limb]] = []
        for anatomical in self.character.anatomy.limbs:
            limb = self._limb(anatomical)
            if limb is not None:
                self.limbs.append((anatomical, limb))

    def _limb(self, anatomical: Found) -> Limb | None:
        names = self.character.names
        if not self.is_generated:
            hand = names[anatomical.end] if anatomical.end >= 0 else ""
            detached = self.character.detached.get(hand)
            bones = tuple(names[i] for i in anatomical.bones)
            return Limb(bones, "" if detached else hand, anatomical.kind, "", detached)
        bones, end = fk_bones(self.rig, self.character, anatomical)
        if not bones:
            return None
        fk = [self.rig.names[i] for i in bones]
        hand = self.rig.names[end] if end >= 0 else ""
        return Limb(tuple(fk), hand, anatomical.kind, fk_switch(self.armature, fk[0]))

    def has(self, bone: str) -> bool:
        """Return whether a bone is of the character; a generated rig has no other one."""
        return self.is_generated or bone in self.character.names

    def limb_at(self, bone: str) -> tuple[Limb, bool] | None:
        """Return the limb that a bone means, and whether the bone is at or below its end.

        That is the limb that the bone is part of, or hangs on below its wrist or ankle. A helper,
        which deforms nothing, means the only limb that it controls; one that controls nothing means
        the limb that it lies beside.
        """
        limb_here = self._at(self._index(bone))
        if limb_here is not None or self.is_generated or not self.limbs:
            return limb_here
        if not is_helper(self.armature, bone):
            return None
        controls = Controls(self.armature)
        if not controls.has_any(bone):
            return self._at(self._beside(self._index(bone)))
        candidates: dict[Limb, bool] = {}
        for name in controls.below(bone, lambda one: self._at(self._index(one)) is not None):
            limb, is_end = self._at(self._index(name)) or (None, False)
            if limb is not None:
                candidates[limb] = candidates.get(limb, False) or is_end
        return next(iter(candidates.items())) if len(candidates) == 1 else None

    def stiff_at(self, bone: str) -> str:
        """Return the only bone of the limb that a bone means; empty for any other."""
        index = self._index(bone)
        stiff = (limb.bones[0] for limb in self.character.anatomy.stiff)
        return next((self.character.names[i] for i in stiff if i in self._up(index)), "")

    def is_finger(self, bone: str) -> bool:
        """Return whether a bone is of a finger that is a limb, as no arm carries its hand."""
        above = [*self._up(self._index(bone))][1:]
        return not set(self.character.anatomy.hands).isdisjoint(above)

    def finger_at(self, bone: str) -> Limb | None:
        """Return the controls of the finger or toe of a generated rig that a bone belongs to."""
        index = self._index(bone)
        known = self._at(index) if self.is_generated else None
        if known is None or not known[1]:
            return None
        ends = {limb.end for limb, _ in self.limbs}
        way = [index]
        while (above := self._parent(way[0])) not in ends and self._control(above):
            way.insert(0, above)
        while len(below := [i for i in self._children(way[-1]) if self._control(i)]) == 1:
            way += below
        controls = [self._control(i) for i in way]
        if index in ends or len(controls) < 2 or not all(controls):
            return None
        line = [self.rig.names[i] for i in self.rig.chain_up(self.rig.index[controls[-1]])]
        return Limb(tuple(line[line.index(controls[0]) :])) if set(controls) <= set(line) else None

    def _control(self, index: int) -> str:
        return own_control(self.armature, self.character.names[index]) if index >= 0 else ""

    def _index(self, bone: str) -> int:
        """Return the index of a bone of the armature in the character; -1 if it belongs to none."""
        names = self.character.names
        if not self.is_generated:
            return names.index(bone)
        posed = pose_bones(self.armature)[bone]
        originals = (original_name(one.name, names) for one in (posed, *posed.parent_recursive))
        original = next(filter(None, originals), "")
        return names.index(original) if original else -1

    def _at(self, index: int) -> tuple[Limb, bool] | None:
        """Return the limb of a bone of the character, see `limb_at`."""
        for i in self._up(index):
            for anatomical, limb in self.limbs:
                toe = anatomical.toe if anatomical.kind == "LEG" else -1  # An arm's is a finger.
                if i in (anatomical.end, toe):
                    return limb, True
                if i in (*anatomical.carriers, *anatomical.bones):
                    is_part = i == index or self._is_helper_of(anatomical, i, index)
                    return (limb, False) if is_part else None
        return None

    def _is_helper_of(self, limb: Found, bone: int, index: int) -> bool:
        """Return whether a bone below one of a limb is a helper of it, as one that twists.

        A bone alone is one, and what stays along the limb, as bones of muscles do, if nothing else
        is said by its name; a chain that leads away, as a sleeve does, means itself.
        """
        if self._parent(index) == bone in limb.bones and not self._children(index):
            return True
        way = [*self._up(index)]
        branch = [way[way.index(bone) - 1]]
        for i in branch:
            branch += self._children(i)
        bones = self.character.bones
        if any(part_of(words_of(bones[i].name)) == "OTHER" for i in branch):
            return False
        ends = (limb.end,) if limb.end >= 0 else ()
        line = [bones[i].head for i in (*limb.carriers, *limb.bones, *ends)]
        ways = [*pairwise(line)]
        least = ALONG * sum(dist(a, b) for a, b in ways)
        return all(min(_from_line(bones[i].head, a, b) for a, b in ways) <= least for i in branch)

    def _up(self, index: int) -> Iterator[int]:
        while index >= 0:
            yield index
            index = self._parent(index)

    def _parent(self, index: int) -> int:
        return self.character.bones[index].parent

    def _children(self, index: int) -> list[int]:
        return self._below.get(index, [])

    def _beside(self, index: int) -> int:
        """Return the bone of the body that a helper lies beside; -1 if there is none.

        One that hangs on the trunk is part of that, and one that is further off than poles are lies
        beside nothing.
        """
        anatomy, bones = self.character.anatomy, self.character.bones
        trunk = {*anatomy.spine, anatomy.head}
        if not trunk.isdisjoint(self._up(index)):
            return -1
        body = {i for i in range(len(bones)) if i != index and self._at(i) is not None}
        body |= trunk | {anatomy.hips}
        place = bones[index].head
        near = {i: self._distance(place, i) for i in body if i >= 0}
        nearest = min(near, key=lambda i: near[i], default=-1)
        limb = self._at(nearest)
        if limb is None:
            return -1
        joints = [bones[self._index(name)].head for name in (*limb[0].bones, limb[0].hand) if name]
        size = sum(dist(a, b) for a, b in pairwise(joints))
        return nearest if near[nearest] <= POLES * size else -1

    def _distance(self, place: Vec, index: int) -> float:
        """Return the distance of a place from a bone, up to its children."""
        head = self.character.bones[index].head
        ends = [self.character.bones[i].head for i in self._children(index)]
        return min(_from_line(place, head, end) for end in (head, *ends))


def _from_line(place: Vec, start: Vec, end: Vec) -> float:
    way = sub(end, start)
    size = dot(way, way)
    share = min(1.0, max(0.0, dot(sub(place, start), way) / size)) if size > 0.0 else 0.0
    return dist(place, add(start, scaled(way, share)))


def fk_bones(rig: Skeleton, generated: Character, limb: Found) -> tuple[list[int], int]:
    """Return the bones along the FK controls of a limb of a generated rig, and its hand or foot.

    A paw without a control of its own, -1, goes along with the control above it, which ends there.
    There are no bones if it has no such controls.

    Args:
        rig: The generated rig.
        generated: The character of its metarig.
        limb: The limb of the character.
    """
    names = generated.names
    first, last, end = (
        fk_control(rig.object, names[bone]) if bone >= 0 else ""
        for bone in (limb.bones[0], limb.bones[-1], limb.end)
    )
    way = rig.chain_up(rig.index[last]) if last else []
    if not first or rig.index[first] not in way:
        return [], -1
    bones = way[way.index(rig.index[first]) :]
    return bones, rig.index[fk_joint(rig.object, end)] if end else -1
