"""One armature as it was read, with what was solved of it by now."""

from __future__ import annotations

from collections.abc import Sequence

from ..blender.rotation import Run, quaternion
from ..core import Local
from ..core.vectors import ORIGIN, Quat, Vec
from .evaluated import Evaluated
from .fk_pose import FkPose
from .results import Answer, Report
from .settings_now import Settings


class SolvedPose:
    """One armature while it is solved, and after it.

    Attributes:
        fk: What it holds, as it was read.
        now: How Blender has evaluated it, or will.
        answers: What was solved, in that order.
        reports: How the constraints did that were solved together, by their places in the list.
        locations: The solved local locations, by bone.
        scales: The solved local scales, by bone.
    """

    __slots__ = (
        "_known",
        "_rotations",
        "answers",
        "fk",
        "locations",
        "now",
        "reports",
        "scales",
    )

    def __init__(self, fk: FkPose, now: Evaluated) -> None:
        """Let all bones have their FK pose."""
        self.fk = fk
        self.now = now
        self.answers: list[Answer] = []
        self.reports: dict[tuple[int, ...], tuple[Report, ...]] = {}
        self.locations: dict[int, Vec] = {}
        self.scales: dict[int, Vec] = {}
        self._rotations: dict[int, Quat] = {}
        self._known = 0

    def add(self, answer: Answer) -> None:
        """Set what was solved of some bones.

        Scales and locations are among the slots that the plan says chains need. Blender ignores
        the location of a connected bone.
        """
        self.answers.append(answer)
        if answer.scales:
            self.scales.update(answer.scales)
        if answer.locations:
            self.locations.update(answer.locations)

    @property
    def rotations(self) -> dict[int, Quat]:
        """The solved local rotations, by bone."""
        while self._known < len(self.answers):
            answer = self.answers[self._known]
            numbers = iter(answer.rotations)
            rotations = zip(numbers, numbers, numbers, numbers, strict=True)
            self._rotations.update(zip(answer.bones, rotations, strict=True))
            self._known += 1
        return self._rotations

    @property
    def settings(self) -> Sequence[Settings]:
        """The settings of the constraints, in the list's order."""
        return self.fk.settings

    def bits_of(self, runs: Sequence[Run], tip_bone: int) -> tuple[object, ...]:
        """Return the FK pose of a chain, and where its tip bone is, to the last bit."""
        return self.fk.bits_of(runs, tip_bone)

    def beneath(self, bones: Sequence[int]) -> tuple[object, ...]:
        """Return what was solved of some bones by now: what a layer is put on top of."""
        rotations, locations, scales = self.rotations, self.locations, self.scales
        return tuple([(rotations.get(b), locations.get(b), scales.get(b)) for b in bones])

    def local(self, bone: int) -> Local:
        """Return the local channels of a bone that no chain poses, as evaluated."""
        fk, channels = self.fk, self.now.channels
        rotation = quaternion(channels.mode(bone), channels.values(bone))
        if bone in fk.rows or not fk.rows.are_few:
            return fk.local(bone, rotation)
        x, y, z = channels.numbers(bone, "location", 3)
        sx, sy, sz = channels.numbers(bone, "scale", 3)
        return Local(ORIGIN if bone in fk.rig.connected else (x, y, z), rotation, (sx, sy, sz))

    def posed_local(self, bone: int) -> Local:
        """Return the local channels of a bone that a chain poses: its FK pose, or as solved."""
        local = self.fk.local(bone, self.rotations.get(bone))
        if bone not in self.locations and bone not in self.scales:
            return local
        is_free = bone in self.locations and bone not in self.fk.rig.connected
        location = self.locations[bone] if is_free else local.location
        return Local(location, local.rotation, self.scales.get(bone, local.scale))
