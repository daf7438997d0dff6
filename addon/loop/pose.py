"""One armature at a moment: what its channels hold, and what was solved of it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain as chained
from typing import Any, cast

import bpy

from ..blender.access import pose_bones
from ..blender.animation import is_animated
from ..blender.errors import ProblemError
from ..blender.rotation import (
    LOCATION,
    SCALE,
    PoseChannels,
    Rows,
    Run,
    channel_values,
    floats,
    quaternion,
    runs_of,
    taken,
    transfer,
)
from ..blender.skeleton import Skeleton, matrix_frame
from ..core import WHOLE, Frame, Local, inverse
from ..core.vectors import ORIGIN, Quat, Vec
from .fk_pose import FkPose
from .joints import IkSettings, ik_settings
from .muting import counted
from .properties import settings
from .results import Answer, Report
from .settings_now import Settings, form


class Evaluated:
    """An armature as a depsgraph has evaluated it, read as far as it is asked for."""

    def __init__(self, armature: bpy.types.Object, rows: Rows | None = None) -> None:
        """Take the evaluated copy.

        Args:
            armature: The evaluated copy.
            rows: The bones that are read of it time and again; None for all.
        """
        self.object = armature
        self._rows = rows

    @cached_property
    def bones(self) -> bpy.types.bpy_prop_collection[Any]:
        """The evaluated pose bones."""
        return pose_bones(self.object)

    @cached_property
    def channels(self) -> PoseChannels:
        """The evaluated channels."""
        return PoseChannels(self.bones, self._rows)

    @cached_property
    def is_at_rest(self) -> bool:
        """Whether the armature shows its rest pose, whatever the channels are."""
        return cast(bpy.types.Armature, self.object.data).pose_position == "REST"

    @cached_property
    def _matrices(self) -> array[float]:
        return floats(self.bones, "matrix", 16)

    def columns(self) -> list[list[Any]]:
        """Return the settings of all constraints, one column a setting of `form`."""
        items = settings(self.object).constraints
        present = settings(cast(bpy.types.Object, self.object.original)).constraints
        if len(items) != len(present):
            items = present  # The evaluated copy was made before one was added or removed.
        columns: list[list[Any]] = []
        for name in form().names:
            column = [0] * len(items)
            items.foreach_get(name, column)
            columns.append(column)
        return columns

    def frame(self, bone: int) -> Frame:
        """Return where Blender has a bone, in armature space."""
        rows = self._rows
        if rows is not None and rows.are_few:
            return matrix_frame(rows.find(self.bones, bone).matrix)
        m = self._matrices[bone * 16 : bone * 16 + 16]  # Column by column.
        return (m[0], m[4], m[8], m[1], m[5], m[9], m[2], m[6], m[10]), (m[12], m[13], m[14])


class Pose:
    """One armature, looked at again at each update.

    What has not changed since the last look is not worked out again: all that is kept here from
    one update to the next is a function of what was read, and compared with it to the last bit.

    Attributes:
        now: The armature as evaluated.
        is_animated: Whether Blender may change its channels and settings at any frame.
        settings: Those of the armature's constraints, in the list's order.
        runs: The bones that were turned, as runs of neighbours.
        reports: How each constraint did.
        shown: What the constraints show of that.
        joints: The settings for Blender's own IK of the bones that keep them in our chains.
        locations: The FK pose of the bones, or what Blender evaluated; three numbers a bone.
        scales: The same of their scales.
        rows: The bones whose channels are read at each look.
        placed: The solved local locations, by bone.
        grown: The solved local scales, by bone.
        stamp: Other numbers whenever an FK pose, a location, a scale or one of these may be
            another.
    """

    def __init__(
        self,
        rig: Skeleton,
        posed: set[int],
        asked: Iterable[int] = (),
        tips: Iterable[int] = (),
    ) -> None:
        """Take an armature.

        Args:
            rig: The armature.
            posed: The slots (see `KINDS`) that chains pose.
            asked: The bones of chains that keep the settings for Blender's own IK.
            tips: The bones whose heads are the tips of chains.
        """
        self.rig = rig
        self.rows = Rows(rig.names, {*(slot % len(rig.names) for slot in posed), *tips})
        self.is_animated = is_animated(rig.object)
        self.settings: list[Settings] = []
        self._turns: list[Sequence[float]] = []
        self._turning: list[Sequence[int]] = []
        self._run_together: list[Sequence[int]] = []
        self.runs: list[Run] = []
        self._turned: dict[int, Quat] = {}
        self.placed: dict[int, Vec] = {}
        self.grown: dict[int, Vec] = {}
        self._known = 0
        self.frames: dict[int, Frame] = {}
        self._undone: tuple[Frame, Frame] = (WHOLE, WHOLE)
        self.reports: list[Report] = []
        self.shown: list[Report] = []
        self.stamp = (0, 0)
        self.fk_pose = FkPose(rig, posed) if posed else None
        self.joints: dict[int, IkSettings] = {}
        self._asked = sorted(asked)
        self._columns: list[list[Any]] = []
        self._bits = b""

    def look(
        self,
        now: Evaluated,
        held: PoseChannels | None,
        is_touched: bool,
        has_settings: bool | None = None,
    ) -> None:
        """Look at the armature.

        Args:
            now: How Blender has evaluated it, or will.
            held: The channels with the FK pose of the bones that chains pose; None if none does.
            is_touched: Whether anything that `settings` and `stamp` tell of may have changed. A
                changed FK pose is found in any case.
            has_settings: The same of settings alone, if they are another matter.
        """
        self.now = now
        fk_pose = self.fk_pose
        if (is_touched if has_settings is None else has_settings) or not self.settings:
            self._read_settings()
            is_touched = True
        if fk_pose is None or held is None:
            self._look()
        elif is_touched or not fk_pose.is_as_seen(held):
            fk_pose.look(held)
            self._look()
        self.start()

    def _look(self) -> None:
        self.locations = self.now.channels.buffer("location", 3)[:]
        self.scales = self.now.channels.buffer("scale", 3)[:]
        if self.fk_pose is None:
            return
        self.fk_pose.put_into(self.locations, LOCATION)
        self.fk_pose.put_into(self.scales, SCALE)
        bits = self.locations.tobytes() + self.scales.tobytes()
        is_new = bits != self._bits
        if self._asked:
            bones = self.now.bones
            joints = {bone: ik_settings(self.rows.find(bones, bone)) for bone in self._asked}
            is_new = is_new or joints != self.joints
            self.joints = joints
        self.stamp = (self.fk_pose.stamp, self.stamp[1] + is_new)
        self._bits = bits

    def start(self) -> None:
        """Let all bones have their FK pose."""
        self._turns.clear()
        self._turning.clear()
        self._turned.clear()
        self.placed.clear()
        self.grown.clear()
        self._known = 0
        self.frames.clear()

    @property
    def turned(self) -> dict[int, Quat]:
        """The solved local rotations, by bone."""
        for i in range(self._known, len(self._turns)):
            numbers = iter(self._turns[i])
            turns = zip(numbers, numbers, numbers, numbers, strict=True)
            self._turned.update(zip(self._turning[i], turns, strict=True))
        self._known = len(self._turns)
        return self._turned

    def has_settings_of(self, now: Evaluated) -> bool:
        """Return whether an armature as evaluated has the settings that were looked at last."""
        return self._counting(now) == self._columns

    def _counting(self, now: Evaluated) -> list[list[Any]]:
        columns = now.columns()
        muted = counted(self.rig.uid)
        if muted:
            enabled, influences = map(form().names.index, ("enabled", "influence"))
            for i, influence in muted.items():
                columns[enabled][i] = influence > 0.0
                columns[influences][i] = influence
        return columns

    def _read_settings(self) -> None:
        columns = self._counting(self.now)
        if columns != self._columns:
            self._columns = columns
            self.settings = [*map(form().within_limits, zip(*columns, strict=True))]
        if len(self.reports) != len(self.settings):
            self.reports = [Report("DISABLED")] * len(self.settings)
            self.shown = []

    def in_armature(self, world: Frame) -> Frame:
        """Return the frame of world space in the armature's, given the armature's in world space.

        Raises:
            ProblemError: If the armature is flat or has no finite place.
        """
        if world != self._undone[0]:
            try:
                self._undone = (world, inverse(world))
            except ValueError:
                raise ProblemError(
                    f"“{self.rig.object.name}” has zero scale or an invalid transform: change "
                    "its scale"
                ) from None
        return self._undone[1]

    def local(self, bone: int) -> Local:
        """Return the local channels of a bone as evaluated."""
        channels = self.now.channels
        rotation = quaternion(channels.mode(bone), channels.values(bone))
        if bone in self.rows or not self.rows.are_few:
            return self._local(bone, rotation)
        x, y, z = channels.numbers(bone, "location", 3)
        sx, sy, sz = channels.numbers(bone, "scale", 3)
        return Local(ORIGIN if bone in self.rig.connected else (x, y, z), rotation, (sx, sy, sz))

    def posed_local(self, bone: int) -> Local:
        """Return the local channels of a bone that a chain poses: its FK pose, or as solved."""
        turn = self.turned.get(bone)
        given = self._local(bone, self.given(bone) if turn is None else turn)
        if bone not in self.placed and bone not in self.grown:
            return given
        is_free = bone in self.placed and bone not in self.rig.connected
        location = self.placed[bone] if is_free else given.location
        return Local(location, given.rotation, self.grown.get(bone, given.scale))

    def given(self, bone: int) -> Quat:
        """Return the FK pose of a bone that a chain poses, as a rotation."""
        fk_pose = cast(FkPose, self.fk_pose)
        return quaternion(fk_pose.modes[bone], fk_pose.inputs[bone * 4 : bone * 4 + 4])

    def _local(self, bone: int, rotation: Quat) -> Local:
        x, y, z = self.locations[bone * 3 : bone * 3 + 3]
        sx, sy, sz = self.scales[bone * 3 : bone * 3 + 3]
        return Local(ORIGIN if bone in self.rig.connected else (x, y, z), rotation, (sx, sy, sz))

    def bits_of(self, runs: Sequence[Run], tip_bone: int) -> tuple[object, ...]:
        """Return the given channels of a chain, and where its tip bone is, to the last bit."""
        fk_pose = cast(FkPose, self.fk_pose)
        return (
            self.locations[tip_bone * 3 : tip_bone * 3 + 3].tobytes() if tip_bone >= 0 else b"",
            b"".join([fk_pose.modes[first:last].tobytes() for first, last, _ in runs]),
            taken(fk_pose.inputs, runs, 4),
            taken(self.locations, runs, 3),
            taken(self.scales, runs, 3),
        )

    def beneath(self, bones: Sequence[int]) -> tuple[object, ...]:
        """Return what was solved of some bones by now: what a layer is put on top of."""
        turned, placed, grown = self.turned, self.placed, self.grown
        return tuple([(turned.get(b), placed.get(b), grown.get(b)) for b in bones])

    def turn(self, answer: Answer) -> None:
        """Set what was solved of some bones.

        Scales and locations are among the slots that the plan says chains need. Blender ignores
        the location of a connected bone.
        """
        self._turning.append(answer.bones)
        self._turns.append(answer.rotations)
        if answer.grown:
            self.grown.update(answer.grown)
        if answer.placed:
            self.placed.update(answer.placed)
        self.frames.clear()

    def results(self, fk_pose: FkPose) -> array[float]:
        """Return what all bones get, four numbers a slot: the FK pose, or what was solved."""
        if self._turning != self._run_together:
            self._run_together = self._turning[:]
            self.runs = runs_of([*chained.from_iterable(self._turning)])
        results = fk_pose.inputs[:]
        if self.placed or self.grown:
            self._put_others(fk_pose, results)
        if fk_pose.has_only_quaternions:
            # They are on the side of the FK pose already: a swing is the short way.
            numbers = array("f", [*chained.from_iterable(self._turns)])
            for first, last, place in self.runs:
                end = place + last - first
                results[first * 4 : last * 4] = numbers[place * 4 : end * 4]
            return results
        for bone, rotation in self.turned.items():
            given = fk_pose.of(bone)
            values = given
            if rotation != self.given(bone):  # The given numbers of an unmoved bone stay.
                values = channel_values(fk_pose.modes[bone], rotation, given)
            results[bone * 4 : bone * 4 + len(values)] = array("f", values)
        return results

    def _put_others(self, fk_pose: FkPose, results: array[float]) -> None:
        """Put the solved locations and scales among the results."""
        for kind, solved in ((LOCATION, self.placed), (SCALE, self.grown)):
            first = fk_pose.first_slot(kind)
            numbers = array("f", [*chained.from_iterable(solved.values())])
            for run in runs_of([first + bone for bone in solved]):
                transfer(numbers, 3, run[2], results, 4, run)
