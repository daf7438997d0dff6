"""The poses of a clip: where the bones of an armature are at frames of its animation.

Only F-curves are read. The scene isn't evaluated, so constraints and drivers have no effect.
"""

from __future__ import annotations

from array import array
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final, cast

import bpy
from mathutils import Matrix, Quaternion

from . import animation
from .access import pose_bones
from .curves import Curves, Sampler
from .offset_layers import edited_layer
from .rotation import PatchedChannels, integers, quaternion

SAMPLES: Final = 9
"""The largest number of sampled frames of a clip, including those at its ends."""


class Clip:
    """The animation of an armature's bones, from its action or else from its first NLA strip.

    It stores references to F-curves, so it must not outlive the operator that reads it.

    Attributes:
        object: The armature object.
        is_read: Whether its frames were requested.
    """

    def __init__(self, armature: bpy.types.Object) -> None:
        """Set the armature; its F-curves are indexed on demand."""
        self.object = armature
        self.is_read = False
        self._found: dict[float, dict[str, Matrix]] = {}

    @cached_property
    def _curves(self) -> Curves:
        return Curves(self.object, strip=_strip(self.object))

    @property
    def frames(self) -> list[float]:
        """The frames to sample, ascending; empty if the clip doesn't animate bones.

        They are keyed frames if possible, else whole frames.
        """
        self.is_read = True
        return self._frames

    @cached_property
    def revision(self) -> bytes:
        """A digest of everything that affects the bones' matrices at the sampled frames."""
        bones, rests = pose_bones(self.object), cast(Any, self.object.data).bones
        digest = blake2b(array("d", self._frames), digest_size=16)
        for frame in self._frames:
            channels = PatchedChannels(bones, Sampler(self._curves, frame).bone_values)
            for name, size in CHANNELS:
                digest.update(channels.buffer(name, size))
        for values in (integers(bones, "rotation_mode"), *(integers(rests, n) for n in INHERITING)):
            digest.update(values)
        return digest.digest()

    @cached_property
    def _frames(self) -> list[float]:
        lists = self._curves.refresh()
        bone_curves = [
            lists[nr][at] for placed in self._curves.bone_places.values() for *_, nr, at in placed
        ]
        ranges = [curve.range() for curve in bone_curves]
        first = min((span[0] for span in ranges), default=0.0)
        last = max((span[1] for span in ranges), default=0.0)
        steps = range(SAMPLES) if last > first else range(min(1, len(ranges)))
        step = (last - first) / (SAMPLES - 1)
        densest = max(bone_curves, key=lambda curve: len(curve.keyframe_points), default=None)
        times = _times(densest) if densest is not None else [first]
        frames: list[float] = []
        for k in steps:
            at = first + k * step
            key = min(times, key=lambda time, at=at: abs(time - at))
            # In a capture, a foot may drift off its leg between keys.
            frame = key if abs(key - at) <= 0.5 * step else float(round(at))
            if frame not in frames:
                frames.append(frame)
        return frames

    def matrices(self, frame: float) -> dict[str, Matrix]:
        """Return the matrices of all bones at a frame, in armature space, parents first."""
        if frame not in self._found:
            self._found[frame] = self._evaluated(frame)
        return self._found[frame]

    def _evaluated(self, frame: float) -> dict[str, Matrix]:
        bones = pose_bones(self.object)
        channels = PatchedChannels(bones, Sampler(self._curves, frame).bone_values)
        locations, scales = channels.buffer("location", 3), channels.buffer("scale", 3)
        index = {name: i for i, name in enumerate(bones.keys())}
        matrices: dict[str, Matrix] = {}
        for rest in cast("bpy.types.Armature", self.object.data).bones:
            i = index[rest.name]
            basis = Matrix.LocRotScale(
                None if rest.use_connect else locations[3 * i : 3 * i + 3],
                Quaternion(quaternion(channels.mode(i), channels.values(i))),
                scales[3 * i : 3 * i + 3],
            )
            parent: Any = rest.parent
            above: dict[str, Any] = {}
            if parent is not None:
                above["parent_matrix"] = matrices[parent.name]
                above["parent_matrix_local"] = parent.matrix_local
            matrices[rest.name] = rest.convert_local_to_pose(basis, rest.matrix_local, **above)
        return matrices


CHANNELS: Final = (
    ("location", 3),
    ("rotation_quaternion", 4),
    ("rotation_euler", 3),
    ("rotation_axis_angle", 4),
    ("scale", 3),
)
"""The channels of a pose bone, with their sizes."""

INHERITING: Final = ("use_connect", "use_inherit_rotation", "use_local_location", "inherit_scale")
"""The properties that decide how a bone inherits from its parent."""


def _times(curve: Any) -> list[float]:
    """Return the frames of the keys of an F-curve."""
    points = array("f", bytes(8 * len(curve.keyframe_points)))
    curve.keyframe_points.foreach_get("co", points)
    return list(points[::2])


def _strip(armature: bpy.types.Object) -> Any:
    """Return the NLA strip whose action to read; None with an active action, or without strips.

    An offset layer lies above that action.
    """
    layer = edited_layer(armature)
    if layer is not None:
        return layer.base
    data = armature.animation_data
    if data is None or data.action is not None or not data.use_nla:
        return None
    tracks = [track for track in data.nla_tracks if not track.mute]
    return next((strip for strip in animation.strips(tracks) if strip.action is not None), None)
