"""The pose of an armature during a solve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fabrik_solver import Local
from fabrik_solver.core.vectors import ORIGIN, Quat, Vec

from ..blender.rotation import IndexRange, channel_of, quaternion
from ..plan.chain_plan import Report
from ..plan.results import SolveResult
from ..settings.properties import AnimatedSettings
from .evaluated import Evaluated
from .fk_pose import FkPose


class SolvedPose:
    """The FK pose of an armature and the results that were solved so far.

    Attributes:
        fk: The FK pose.
        now: The evaluated armature.
        results: The results, in solving order.
        reports: The reports of each unit, by the indices of its constraints.
        locations: Solved local locations, by bone.
        scales: Solved local scales, by bone.
        lifts: How far results lift bodies in world space, by their first bone.
    """

    __slots__ = (
        "_indexed",
        "_posed_by",
        "fk",
        "lifts",
        "locations",
        "now",
        "reports",
        "results",
        "scales",
    )

    def __init__(self, fk: FkPose, now: Evaluated) -> None:
        """Start from the FK pose."""
        self.fk = fk
        self.now = now
        self.results: list[SolveResult] = []
        self.reports: dict[tuple[int, ...], tuple[Report, ...]] = {}
        self.locations: dict[int, Vec] = {}
        self.scales: dict[int, Vec] = {}
        self.lifts: dict[int, Vec] = {}
        self._posed_by: dict[int, SolveResult] = {}
        self._indexed = 0

    def add(self, result: SolveResult) -> None:
        """Add a result.

        Its scales and locations are in the planned slots. Blender ignores the location of a
        connected bone.
        """
        self.results.append(result)
        if result.scales:
            self.scales.update(result.scales)
        if result.locations:
            self.locations.update(result.locations)
        if result.lift is not None:
            self.lifts[result.bones[0]] = result.lift

    def rotation(self, bone: int) -> Quat | None:
        """Return the solved local rotation of a bone; None if it has none yet."""
        while self._indexed < len(self.results):
            posed = self.results[self._indexed]
            self._posed_by.update(dict.fromkeys(posed.bones, posed))
            self._indexed += 1
        result = self._posed_by.get(bone)
        if result is None:
            return None
        bones = result.bones
        i = bone - bones[0]  # Mostly the bones of a chain are consecutive.
        if not 0 <= i < len(bones) or bones[i] != bone:
            i = bones.index(bone)
        w, x, y, z = result.rotations[4 * i : 4 * i + 4]
        return (w, x, y, z)

    @property
    def settings(self) -> Sequence[AnimatedSettings]:
        """The settings of the constraints, in the order of the list."""
        return self.fk.settings

    def fk_bits(self, ranges: Sequence[IndexRange]) -> tuple[object, ...]:
        """Return the FK pose of some bones, as bytes."""
        known, key = self.fk.known_bits, tuple(ranges)
        bits = None if known is None else known.get(key)
        if bits is None:
            bits = self.fk.bits_of(ranges, -1)
            if known is not None:
                known[key] = bits
        return bits

    def beneath(self, bones: Sequence[int]) -> tuple[object, ...]:
        """Return the solved channels of some bones, which a layer starts from."""
        rotation, locations, scales = self.rotation, self.locations, self.scales
        return tuple([(rotation(b), locations.get(b), scales.get(b)) for b in bones])

    def owner(self, bone: int) -> Any:
        """Return an evaluated bone."""
        return self.fk.rows.find(self.now.bones, bone)

    def local(self, bone: int) -> Local:
        """Return the evaluated local channels of a bone that no chain poses."""
        fk, channels = self.fk, self.now.channels
        mode = channels.mode(bone)
        rotation = quaternion(mode, channels.numbers(bone, *channel_of(mode)))
        if bone in fk.rows or not fk.rows.are_few:
            return fk.local(bone, rotation)
        x, y, z = channels.numbers(bone, "location", 3)
        sx, sy, sz = channels.numbers(bone, "scale", 3)
        return Local(ORIGIN if bone in fk.rig.connected else (x, y, z), rotation, (sx, sy, sz))

    def posed_local(self, bone: int) -> Local:
        """Return the local channels of a bone that a chain poses, as solved so far."""
        local = self.fk.posed(bone)
        rotation = self.rotation(bone)
        location, scale = self.locations.get(bone), self.scales.get(bone)
        if rotation is None and location is None and scale is None:
            return local
        if location is None or bone in self.fk.rig.connected:
            location = local.location
        return Local(location, rotation or local.rotation, scale or local.scale)
