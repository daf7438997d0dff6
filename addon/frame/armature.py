"""An armature's FK pose and settings, read from evaluated data or from F-curves.

The FK pose is what the animator posed, keyed or drove. The channels hold it, except while Blender
evaluates.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Any, NamedTuple, cast

import bpy

from fabrik_solver import Frame, Local
from fabrik_solver.core.vectors import ORIGIN, Quat

from ..blender import animation
from ..blender.access import pose_bones, rest_bone
from ..blender.curves import ITEM, Sampler, split_bone_path
from ..blender.rotation import (
    KIND_OF,
    KINDS,
    LOCATION,
    QUATERNION,
    SCALE,
    ChannelGroup,
    IndexRange,
    PatchedChannels,
    PatchedRows,
    PoseChannels,
    Rows,
    channel_of,
    floats,
    gather,
    quaternion,
    ranges_of,
    transfer,
)
from ..blender.skeleton import Skeleton, matrix_frame
from ..settings.joint_limits import IkSettings, ik_settings
from ..settings.muting import influence_overrides
from ..settings.properties import AnimatedSettings, settings, settings_form


class FkPose(NamedTuple):
    """An armature's FK pose and settings at one reading. Immutable.

    Attributes:
        rig: The armature.
        rows: The bones whose channels are read at each update.
        settings: The settings of its constraints, in list order.
        joints: For each bone, the native IK settings that serve as joint limits.
        locations: The locations of the FK pose, or evaluated ones; three numbers per bone.
        scales: The scales in the same form.
        inputs: The FK rotations of the bones that chains pose, in the channel of their rotation
            mode; four numbers per slot (see `KINDS`).
        modes: The rotation modes, by slot.
        groups: The slots, grouped by channel; empty if no chain poses a bone.
        has_only_quaternions: Whether all bones that chains rotate use quaternions, and none is
            driven.
        driven: Bones of chains that keep their driven rotations.
        stamp: Changes whenever the FK pose, a location, a scale or a joint may have changed.
        known: Cache of `posed` for this stamp, by bone; None if nothing is cached.
        known_bits: Cache of `bits_of` for this stamp, by ranges, without a tip bone.
    """

    rig: Skeleton
    rows: Rows
    settings: Sequence[AnimatedSettings] = ()
    joints: Mapping[int, IkSettings] = {}
    locations: array[float] = array("f")
    scales: array[float] = array("f")
    inputs: array[float] = array("f")
    modes: array[int] = array("i")
    groups: Sequence[ChannelGroup] = ()
    has_only_quaternions: bool = False
    driven: Collection[int] = ()
    stamp: tuple[int, int] = (0, 0)
    known: dict[int, Local] | None = None
    known_bits: dict[tuple[IndexRange, ...], tuple[object, ...]] | None = None

    def posed(self, bone: int) -> Local:
        """Return the FK pose of a bone that a chain poses, as local channels."""
        cache = self.known
        if cache is None:
            return self.local(bone)
        local = cache.get(bone)
        if local is None:
            local = cache[bone] = self.local(bone)
        return local

    def local(self, bone: int, rotation: Quat | None = None) -> Local:
        """Return the local channels of a bone whose channels are read.

        Args:
            bone: The bone.
            rotation: Its rotation; None for the FK rotation of a bone that a chain poses.
        """
        if rotation is None:
            rotation = self.rotation(bone)
        x, y, z = self.locations[bone * 3 : bone * 3 + 3]
        sx, sy, sz = self.scales[bone * 3 : bone * 3 + 3]
        return Local(ORIGIN if bone in self.rig.connected else (x, y, z), rotation, (sx, sy, sz))

    def rotation(self, bone: int) -> Quat:
        """Return the FK rotation of a bone that a chain poses."""
        return quaternion(self.modes[bone], self.inputs[bone * 4 : bone * 4 + 4])

    def numbers(self, bone: int) -> list[float]:
        """Return the FK rotation of a bone as values of its rotation channel."""
        _, size = channel_of(self.modes[bone])
        return self.inputs[bone * 4 : bone * 4 + size].tolist()

    def bits_of(self, ranges: Sequence[IndexRange], tip_bone: int) -> tuple[object, ...]:
        """Return a chain's FK pose and its tip bone's location as bytes, for comparing inputs.

        They cover every channel of these bones that a result depends on.
        """
        return (
            self.has_only_quaternions,
            self.locations[tip_bone * 3 : tip_bone * 3 + 3].tobytes() if tip_bone >= 0 else b"",
            b"".join([self.modes[first:last].tobytes() for first, last, _ in ranges]),
            gather(self.inputs, ranges, 4),
            gather(self.locations, ranges, 3),
            gather(self.scales, ranges, 3),
        )


class Varying(NamedTuple):
    """Which of the values read from an armature are animated.

    Attributes:
        has_pose: Whether the FK pose or rotation modes are animated.
        has_channels: Whether other locations, scales or joints to read are animated.
        settings: The settings that are animated on any constraint.
        bones: For each bone, the paths of animated properties, relative to the bone.
    """

    has_pose: bool
    has_channels: bool
    settings: Sequence[str]
    bones: Mapping[int, Sequence[str]]


class FkReader:
    """Reads an armature at each update.

    Derived values are cached until the values they come from change.

    Attributes:
        rig: The armature.
        rows: The bones whose channels are read.
        slots: The slots (see `KINDS`) that chains pose, ascending.
        last: The FK pose of the last reading; None before the first.
        posed_channels: The channels that chains posed at that time: property names and bones.
        cached: Values derived from constraint settings, until these are read again (see
            `SceneSnapshot.cached`).
    """

    def __init__(
        self,
        rig: Skeleton,
        slots: Iterable[int],
        native_joints: Iterable[int],
        tips: Iterable[int],
        driven: Collection[int],
    ) -> None:
        """Set up the reader.

        Args:
            rig: The armature.
            slots: The slots that chains pose.
            native_joints: Bones of chains that use their native IK settings as joint limits.
            tips: Bones whose heads are the tips of chains.
            driven: Bones of chains that keep their driven rotations.
        """
        self.rig = rig
        self.driven = driven
        self.slots = sorted(slots)
        self.last: FkPose | None = None
        self.posed_channels: frozenset[tuple[str, int]] = frozenset()
        self.cached: dict[tuple[int, object], Any] = {}
        self._count = count = len(rig.names)
        self.rows = Rows(rig.names, {*(slot % count for slot in self.slots), *tips})
        self._native_joints = sorted(native_joints)
        self._columns: list[list[Any]] = []
        self._settings: list[AnimatedSettings] = []
        self._joints: dict[int, IkSettings] = {}
        self._locations = self._scales = array("f")
        self._last_bits = b""
        self._stamp = (0, 0)
        self._known: dict[int, Local] | None = None
        self._known_bits: dict[tuple[IndexRange, ...], tuple[object, ...]] | None = None
        kinds = KINDS if self.slots and self.slots[-1] >= count else KINDS[:1]
        self._others: dict[int, list[IndexRange]] = {}
        self._other_modes = array("i")
        for kind in kinds[1:]:
            self._other_modes.extend([kind] * count)
            first = rig.slot(kind, 0)
            slots = range(first, first + count)
            self._others[kind] = ranges_of([slot - first for slot in self.slots if slot in slots])
        self._inputs = array("f", bytes(16 * len(kinds) * count))
        self._rotation_modes = self._modes = array("i")
        self._groups: list[ChannelGroup] = []
        self._last_values: list[bytes] = []
        self._has_only_quaternions = False

    def varying(self, is_foreseen: bool) -> Varying:
        """Return which of the values to read are animated.

        Args:
            is_foreseen: Whether the properties that drive settings are watched (see
                `Lookahead.driving`). The settings themselves then needn't be read again.
        """
        animated = animation.animated(self.rig.object)
        paths = {path for path, _ in animated.keyed | animated.driven}
        settings = _animated_settings(animated, is_foreseen)
        by_bone: dict[int, list[str]] = {}
        for name, path in map(split_bone_path, paths):
            if name in self.rig.index:
                by_bone.setdefault(self.rig.index[name], []).append(path)
        changed = {(bone, path) for bone, paths in by_bone.items() for path in paths}
        slots = {*self.slots}
        posed = {(bone, path) for bone, path in changed if self._is_posed(bone, path, slots)}
        has_channels = any([self._is_read(bone, path) for bone, path in changed - posed])
        return Varying(bool(posed), has_channels, settings, by_bone)

    def _is_posed(self, bone: int, path: str, slots: Set[int]) -> bool:
        """Return whether a bone's property is part of the FK pose of these slots."""
        kind = KIND_OF.get(path)
        return path == "rotation_mode" or (kind is not None and self.rig.slot(kind, bone) in slots)

    def _is_read(self, bone: int, path: str) -> bool:
        """Return whether a bone's property is read although no chain poses it."""
        if path in ("location", "scale"):
            return bone in self.rows.chosen or not self.rows.are_few
        return path not in KIND_OF and bone in self._native_joints

    def read(
        self,
        evaluated: Evaluated,
        channels: PoseChannels,
        is_touched: bool,
        has_settings: bool | None = None,
        names: Sequence[str] | None = None,
    ) -> FkPose:
        """Read the armature.

        Args:
            evaluated: The armature, evaluated or about to be.
            channels: The channels with the FK pose of the bones that chains pose.
            is_touched: Whether settings, locations, scales or joints may have changed. A changed FK
                rotation is always noticed.
            has_settings: Whether settings may have changed; None uses `is_touched`.
            names: The settings that may have changed; None for all.
        """
        has_new_settings = False
        if (is_touched if has_settings is None else has_settings) or not self._columns:
            has_new_settings = self._read_settings(evaluated, names)
        last = self.last
        if not self.slots:
            self._read_channels(evaluated)
        else:
            changed, is_all = self._read_fk(channels), is_touched or last is None
            if changed or is_all:
                self._read_others(evaluated if is_all else None, changed)
            elif last is not None and not has_new_settings:
                return last
        return self._renewed()

    def read_played(self, evaluated: Evaluated, channels: PoseChannels, varying: Varying) -> FkPose:
        """Read only the values that the animation changes.

        Call it only if nothing but playback happened since `read`.
        """
        names = varying.settings
        return self.read(evaluated, channels, varying.has_channels, bool(names), names)

    def read_ahead(self, played: Sampler) -> FkPose:
        """Return what `read` will return, if only F-curves of posed channels change.

        Bones aren't read: other changes are noticed after the evaluation.

        Args:
            played: These F-curves, at the frame to be evaluated next.
        """
        groups = zip(self._groups, self._last_values, strict=True)
        values = [
            group.patched(old, played.bone_values(group.channel, group.size))
            for group, old in groups
        ]
        changed = self._take_fk(values)
        if changed:
            self._read_others(None, changed)
        return self._renewed() if changed else cast(FkPose, self.last)

    def _renewed(self) -> FkPose:
        """Make a new FK pose from the values of the last reading."""
        self.last = FkPose(
            self.rig,
            self.rows,
            self._settings,
            self._joints,
            self._locations,
            self._scales,
            self._inputs,
            self._modes,
            self._groups,
            self._has_only_quaternions,
            self.driven,
            self._stamp,
            self._known,
            self._known_bits,
        )
        return self.last

    def forget(self) -> None:
        """Read everything again at the next reading."""
        self.last, self._columns = None, []

    def has_pose_of(self, values: Sequence[bytes]) -> bool:
        """Return whether channels, by group, hold the FK pose of the last reading."""
        return values == self._last_values

    def has_settings_of(self, evaluated: Evaluated) -> bool:
        """Return whether an evaluated armature still has the settings of the last reading."""
        return self._override(evaluated.columns()) == self._columns

    def _override(self, columns: list[list[Any]]) -> list[list[Any]]:
        overrides = influence_overrides(self.rig.uid)
        if overrides:
            enabled, influences = map(settings_form().names.index, ("enabled", "influence"))
            counting = range(len(columns[enabled]))  # A script may have removed constraints.
            for i, override in [(i, item) for i, item in overrides.items() if i in counting]:
                if override.enabled is not None:
                    columns[enabled][i] = override.enabled
                columns[influences][i] = override.influence
        return columns

    def _read_settings(self, evaluated: Evaluated, names: Sequence[str] | None) -> bool:
        """Read the named settings, or all; return whether any changed."""
        if names is None or not self._columns:
            columns = evaluated.columns()
        else:
            columns = self._columns[:]
            for name in names:
                columns[settings_form().names.index(name)] = evaluated.column(name)
        columns = self._override(columns)
        self.cached = {}
        if columns == self._columns:
            return False
        self._columns = columns
        self._settings = [*map(settings_form().within_limits, zip(*columns, strict=True))]
        return True

    def _read_others(self, evaluated: Evaluated | None, changed: int) -> None:
        """Read the channels outside the posed slots, and renew the stamp if anything changed.

        Args:
            evaluated: The armature, evaluated or about to be; None if only the FK pose may have
                changed.
            changed: How many groups of the FK pose changed.
        """
        stamp = self._stamp[0] + changed, self._stamp[1] + self._read_channels(evaluated)
        if stamp != self._stamp:
            self._stamp, self._known, self._known_bits = stamp, {}, {}

    def _read_fk(self, channels: PoseChannels) -> int:
        """Read the FK pose from the channels; return how many groups changed."""
        if channels.modes != self._rotation_modes:
            self._group_slots(channels.modes)
        return self._take_fk([channels.of(group) for group in self._groups])

    def _take_fk(self, values: list[bytes]) -> int:
        """Set the FK pose to these group values; return how many changed."""
        if values == self._last_values:
            return 0
        pairs = zip(self._groups, values, self._last_values, strict=True)
        changed = [(group, new_bits) for group, new_bits, old in pairs if new_bits != old]
        self._last_values = values
        self._inputs = self._inputs[:]
        for group, new_bits in changed:
            numbers = array("f", new_bits)
            for first, last, start in group.ranges:
                span = (group.first + first, group.first + last, 0)
                transfer(numbers, group.size, start, self._inputs, 4, span)
        return len(changed)

    def _group_slots(self, rotation_modes: array[int]) -> None:
        """Group the slots by channel.

        Args:
            rotation_modes: The rotation modes, by bone.
        """
        self._rotation_modes = rotation_modes
        self._modes = modes = rotation_modes + self._other_modes
        grouped: dict[tuple[str, int, int], list[int]] = {}
        for slot in self.slots:
            bone = slot % self._count
            grouped.setdefault((*channel_of(modes[slot]), slot - bone), []).append(bone)
        self._groups = [
            ChannelGroup(*key, bones, ranges_of(bones)) for key, bones in grouped.items()
        ]
        posed = [(group.channel, bone) for group in self._groups for bone in group.bones]
        self.posed_channels = frozenset(posed)
        self._last_values = [b""] * len(self._groups)
        rotated = [slot for slot in self.slots if slot < self._count]
        self._has_only_quaternions = not self.driven and all(
            modes[bone] == QUATERNION for bone in rotated
        )

    def _read_channels(self, evaluated: Evaluated | None) -> bool:
        """Read locations, scales and joints; return whether any changed.

        Args:
            evaluated: The armature, evaluated or about to be; None if only the FK pose may have
                changed.
        """
        if evaluated is not None:
            self._locations = evaluated.channels.buffer("location", 3)[:]
            self._scales = evaluated.channels.buffer("scale", 3)[:]
        else:
            self._locations, self._scales = self._locations[:], self._scales[:]
        if not self.slots:
            return False
        for kind, buffer in ((LOCATION, self._locations), (SCALE, self._scales)):
            first = self.rig.slot(kind, 0)
            for span in self._others.get(kind, ()):
                transfer(self._inputs, 4, first + span[0], buffer, 3, span)
        bits = self._locations.tobytes() + self._scales.tobytes()
        is_new = bits != self._last_bits
        if evaluated is not None and self._native_joints:
            joints = {
                bone: ik_settings(self.rows.find(evaluated.bones, bone))
                for bone in self._native_joints
            }
            is_new = is_new or joints != self._joints
            self._joints = joints
        self._last_bits = bits
        return is_new


class Evaluated:
    """An evaluated armature, read on demand.

    Attributes:
        object: The evaluated copy.
        set_by: The copy that has the settings to read, including those of bone constraints.
    """

    def __init__(self, armature: bpy.types.Object, rows: Rows | None = None) -> None:
        """Wrap an evaluated armature.

        Args:
            armature: The evaluated copy.
            rows: The bones that are read at each update; None for all.
        """
        self.object = self.set_by = armature
        self._rows = rows

    @cached_property
    def bones(self) -> bpy.types.bpy_prop_collection[Any]:
        """The armature's pose bones."""
        return pose_bones(self.object)

    @cached_property
    def set_bones(self) -> bpy.types.bpy_prop_collection[Any]:
        """The armature's pose bones with the settings of their constraints."""
        return self.bones if self.set_by == self.object else pose_bones(self.set_by)

    @cached_property
    def channels(self) -> PoseChannels:
        """The channels of the armature's bones."""
        untyped: Any = self.object  # As `bones`, in fewer calls: each edit makes it again.
        return PoseChannels(untyped.pose.bones, self._rows)

    @cached_property
    def is_at_rest(self) -> bool:
        """Whether the armature is set to Rest Position."""
        return cast("bpy.types.Armature", self.object.data).pose_position == "REST"

    @cached_property
    def _matrices(self) -> array[float]:
        return floats(self.bones, "matrix", 16)

    @cached_property
    def _constraints(self) -> bpy.types.bpy_prop_collection[Any]:
        items: Any = settings(self.set_by).constraints
        present: Any = settings(cast("bpy.types.Object", self.object.original)).constraints
        # The copy may be older than an added or removed constraint.
        return items if len(items) == len(present) else present

    def column(self, name: str) -> list[Any]:
        """Return one setting of every constraint."""
        items = self._constraints
        column = [0] * len(items)
        items.foreach_get(name, column)
        return column

    def columns(self) -> list[list[Any]]:
        """Return the settings of all constraints, one list per setting of `settings_form`."""
        columns: list[list[Any]] = []
        items = self._constraints
        count = len(items)
        for name in settings_form().names:  # Inlined, as each reading of an armature runs this.
            column = [0] * count
            items.foreach_get(name, column)
            columns.append(column)
        return columns

    def frame(self, bone: int) -> Frame:
        """Return a bone's evaluated frame in armature space."""
        rows = self._rows
        if rows is not None and rows.are_few:
            return matrix_frame(rows.find(self.bones, bone).matrix)
        m = self._matrices[bone * 16 : bone * 16 + 16]  # Column-major.
        return (m[0], m[4], m[8], m[1], m[5], m[9], m[2], m[6], m[10]), (m[12], m[13], m[14])


class Unevaluated(Evaluated):
    """An armature in the state that Blender is about to evaluate.

    Attributes:
        has_animated_bones: Whether F-curves animate its bones.
    """

    def __init__(
        self,
        rig: Skeleton,
        rows: Rows,
        played: Sampler | None,
        set_by: bpy.types.Object | None = None,
        patched: type[PatchedRows] = PatchedChannels,
    ) -> None:
        """Wrap an armature.

        Args:
            rig: The armature.
            rows: The bones that are read at each update.
            played: Its F-curves at the frame; None if the channels already hold their values.
            set_by: The evaluated copy that has the driven settings; None before an evaluation.
            patched: The class that reads channels with F-curve values filled in.
        """
        super().__init__(rig.object, rows)
        self.set_by = set_by or rig.object
        self._rig = rig
        self._played = played
        self.has_animated_bones = played is not None and played.animates_bones()
        if played is not None and self.has_animated_bones:
            self.channels = patched(self.bones, played.bone_values, rows)

    def columns(self) -> list[list[Any]]:
        """Return the settings of all constraints, one list per setting of `settings_form`."""
        if self._played is None:
            return super().columns()
        return [self.column(name) for name in settings_form().names]

    def has_played(self, copy: bpy.types.Object, posed: Collection[int]) -> bool:
        """Return whether evaluated channels match the F-curves.

        Args:
            copy: The evaluated copy.
            posed: Slots to skip, because they show the solution.
        """
        played = cast(Sampler, self._played)
        evaluated = PoseChannels(pose_bones(copy), played.rows)
        for name, size in cast(PatchedRows, self.channels).sizes.items():
            values = [*played.bone_values(name, size)]
            if not values:
                continue
            numbers, first = evaluated.buffer(name, size), self._rig.slot(KIND_OF[name], 0)
            for i, number in values:
                if numbers[i] != number and first + i // size not in posed:
                    return False
        return True

    def column(self, name: str) -> list[Any]:
        """Return one setting of every constraint."""
        column = super().column(name)
        for i, number in self._played.settings(name) if self._played else ():
            if i < len(column):
                item: Any = self._constraints[i]
                column[i] = _as_property(item.bl_rna.properties[name], number)
        return column

    def frame(self, bone: int) -> Frame:
        """Return a bone's rest frame in armature space."""
        return matrix_frame(rest_bone(self.object, self._rig.names[bone]).matrix_local)


def _animated_settings(animated: animation.Channels, is_foreseen: bool) -> Sequence[str]:
    """Return the settings to read at each frame; see `FkReader.varying`."""
    names, channels = settings_form().names, animated.keyed
    if not is_foreseen:
        channels |= animated.driven
    varied = {path.rpartition("].")[2] for path, _ in channels if path.startswith(ITEM)}
    # Settings of motions aren't in columns, but `cached` depends on them.
    return [name for name in names if name in varied] if varied <= {*names} else names


ALMOST_ONE = 1.0 - 2.0**-23
"""Above this, an F-curve's value sets a boolean to true."""


def _as_property(prop: Any, number: float) -> Any:
    """Return an F-curve's value as a property's type, converted as in Blender."""
    if prop.type == "BOOLEAN":
        return number > ALMOST_ONE
    if prop.type == "ENUM":
        return int(number)
    number = min(max(number, prop.hard_min), prop.hard_max)
    return int(number) if prop.type == "INT" else number


def animated_from(
    evaluated: PoseChannels, ob: bpy.types.Object, original: PoseChannels
) -> PoseChannels:
    """Return the original channels, with animated ones replaced from an evaluated copy."""
    animation_of = animation.animated(ob)
    animated = animation_of.keyed | animation_of.driven
    if not animated:
        return original
    bones = original.bones
    bone_index = {name: i for i, name in enumerate(bones.keys())}
    indices: dict[str, list[tuple[int, int]]] = {}
    for path, index in animated:
        bone, channel = split_bone_path(path)
        if bone in bone_index and evaluated.has(bone_index[bone]):
            indices.setdefault(channel, []).append((bone_index[bone], index))

    def patches(name: str, size: int) -> Iterator[tuple[int, float]]:
        numbers = evaluated.buffer(name, size) if name in indices else None
        for bone, index in indices.get(name, ()):
            if numbers is not None:
                yield bone * size + index, numbers[bone * size + index]

    patched = PatchedChannels(bones, patches)
    if animation_of.has_modes:
        patched.modes = evaluated.modes
    return patched
