"""Replacing keys of controls at every frame with fewer keys, within an error for each joint."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, floor
from typing import Any, NamedTuple, cast

import bpy
import numpy as np

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.keying import ActiveCurves, group_of, put_keys
from ...blender.rotation import LOCATION, channel_of, floats, mode_of
from ...blender.simplifying import errors, fitted, with_halves
from ...blender.skeleton import skeleton_of
from ...blender.turns import Numbers
from ...editing.playing import play
from ...plan.planner import chains_in
from ...settings.properties import settings

LEVER = 0.1
"""Expected movement of a joint per movement of its pole or gaze target, as a fraction.
Measurements replace it."""

MARGIN = 1.5
"""Factor by which a curve gets closer than in proportion, because errors of controls add up."""

ROUNDS = 6
"""Number of playbacks after which frames with joints that are still off get keys."""


class Control(NamedTuple):
    """A target or pole.

    Attributes:
        object: Its object.
        bone: The name of its bone; empty for the object itself.
        leverage: Expected movement of a joint per movement of the control, until it is measured.
    """

    object: bpy.types.Object
    bone: str
    leverage: float


class Controlled(NamedTuple):
    """The bones that a constraint poses, and their controls.

    Attributes:
        controls: Its target, its pole, and the controls of a foot.
        bones: Indices of its bones and their descendants, because an elbow depends on the chest.
        turned: Indices of the bones that rotations of its controls move.
        arm: Lever arm of a rotation: the distance of these bones from the end of the chain in the
            rest pose, in armature space.
    """

    controls: list[Control]
    bones: list[int]
    turned: list[int]
    arm: float


def controlled_parts(armature: bpy.types.Object, indices: Sequence[int]) -> list[Controlled]:
    """Return the bones that constraints of an armature pose, and their controls."""
    chains = {chain.item: chain for chain in chains_in(armature)}
    rig, items = skeleton_of(armature), settings(armature).constraints
    parts: list[Controlled] = []
    for i in indices:
        item, bones = items[i], (*chains[i].bones, chains[i].tip_bone)
        leverage = 1.0 if chains[i].kind.reaches else LEVER
        ends = (
            (item.target, item.subtarget, leverage),
            (item.pole_target, item.pole_subtarget, LEVER),
        )
        controls = [Control(ob, bone, lever) for ob, bone, lever in ends if ob is not None]
        controls += [
            Control(point.object, skeleton_of(point.object).names[point.bone], leverage)
            for point in chains[i].controls
        ]
        end, moved, turned = bones[-1], sorted(rig.below({*bones})), sorted(rig.below({bones[-1]}))
        joints = [rig.rest(bone).tail_local - rig.rest(end).head_local for bone in turned]
        if chains[i].controls:  # They also turn the foot about its toes, and bend the knee.
            turned = moved
        parts.append(Controlled(controls, moved, turned, max([v.length for v in joints])))
    return parts


class KeyCount(NamedTuple):
    """The number of keys of controls, in all array elements.

    Attributes:
        keys: The number of keys.
        most: The number with a key at every frame.
    """

    keys: int
    most: int


class _Channel:
    """A channel of a control, and the smooth curve that replaces its keys.

    Attributes:
        rows: Its values at each frame, frames × components.
        tolerances: Maximum error of the curve at each frame and halfway to the next, in the
            channel's unit or in radians.
        required: The frames that always have keys, counted from the first.
        knots: The frames that have keys.
    """

    def __init__(self, owner: Any, mode: int, rows: Numbers, tolerance: float) -> None:
        self.rows, self._samples = rows, with_halves(rows)
        self.tolerances = np.full(len(self._samples), tolerance)
        self.required, self.knots = {len(rows) - 1}, [0]
        self._owner, self.mode = owner, mode

    def write(self, frames: range) -> None:
        """Choose the frames that need keys, and key them."""
        self.knots = [0]
        while self.knots[-1] < len(self.rows) - 1:
            self.knots.append(self._next(self.knots[-1]))
        owner, name = self._owner, channel_of(self.mode)[0]
        curves, path = ActiveCurves(owner.id_data), owner.path_from_id(name)
        group = group_of(owner)
        times = [float(frames[knot]) for knot in self.knots]
        ends = 2.0 * np.array([self._fitted(*span)[1] for span in pairwise(self.knots)])
        right, left = np.vstack([ends[:, 0], ends[-1:, 1]]), np.vstack([ends[:1, 0], ends[:, 1]])
        for i, column in enumerate(self.rows[self.knots].T):
            slopes = right[:, i].tolist(), left[:, i].tolist()
            put_keys(curves.at(path, i, group), times, column.tolist(), *slopes)

    def _next(self, first: int) -> int:
        """Return the last frame that a single span from a key reaches within the error."""
        most = min(frame for frame in self.required if frame > first)
        good, bad = first + 1, first + 2
        while bad <= most and self._is_near(first, bad):
            good, bad = bad, bad + (bad - first)
        bad = min(bad, most + 1)
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._is_near(first, middle):
                good = middle
            else:
                bad = middle
        return good

    def _is_near(self, first: int, last: int) -> bool:
        within = slice(2 * first + 1, 2 * last)
        off = errors(self.mode, self._samples[within], self._fitted(first, last)[0], 1.0)
        return bool((off <= self.tolerances[within]).all())

    def _fitted(self, first: int, last: int) -> tuple[Numbers, Numbers]:
        return fitted(self._samples, self.tolerances, 2 * first, 2 * last)

    def tighten(self, excess: Numbers, is_last: bool) -> bool:
        """Bring the curve closer to its values where joints are off; return whether that helps.

        The farther off the joints are at a frame, the closer the curve gets there. In the last
        rounds, frames where they are off get keys, so that the curve is exact there.

        Args:
            excess: The error of the joints at each frame, as a multiple of the allowed error.
            is_last: Whether to add keys.
        """
        off = {*np.flatnonzero(excess > 1.0).tolist()} - {0}
        if is_last:
            is_new = not off <= self.required
            self.required |= off
            return is_new
        self.tolerances[::2] /= np.where(excess > 1.0, MARGIN * excess, 1.0)
        return bool(off)


def thin_keys(
    armature: bpy.types.Object,
    parts: Sequence[Controlled],
    frames: Sequence[float],
    error: float,
) -> KeyCount:
    """Thin the keys of controls, playing them back until each joint is within an error.

    Where the error of a joint is too large, the allowed error of its limb's controls shrinks by the
    same factor. A nearly straight limb bends by many times as much as its ends approach each other.

    Args:
        armature: The armature.
        parts: The posed parts.
        frames: The keyed frames, ascending.
        error: Maximum distance of a joint from its previous location, in armature space.
    """
    whole = range(ceil(frames[0]), floor(frames[-1]) + 1)
    scene = cast(bpy.types.Scene, bpy.context.scene)
    live = _played(armature, scene, whole)
    channels = [
        (channel, part.bones if channel.mode == LOCATION else part.turned)
        for part in parts
        for channel in _channels(armature, part, whole, error)
    ]
    most = sum([channel.rows.size for channel, _ in channels])
    changed, rounds = channels, 0
    while changed:
        for channel, _ in changed:
            channel.write(whole)
        distances = np.linalg.norm(live - _played(armature, scene, whole), axis=-1).max(axis=-1)
        changed = [
            (channel, bones)
            for channel, bones in channels
            if channel.tighten(distances[:, bones].max(axis=1) / error, rounds > ROUNDS)
        ]
        rounds += 1
    return KeyCount(sum([len(c.knots) * c.rows.shape[1] for c, _ in channels]), most)


def _channels(
    armature: bpy.types.Object, part: Controlled, frames: range, error: float
) -> list[_Channel]:
    """Return the keyed channels of a part's controls, with their values at each frame."""
    channels: list[_Channel] = []
    for ob, bone, leverage in part.controls:
        owner: Any = pose_bones(ob)[bone] if bone else ob
        # Bones are in armature space, Empties in world space.
        scale = 1.0 if bone else armature.matrix_world.median_scale
        tolerances = {
            LOCATION: error * scale / leverage,
            mode_of(owner): error / part.arm,
        }
        for mode, tolerance in tolerances.items():
            name, size = channel_of(mode)
            curves = animation.active_curves(ob, owner.path_from_id(name))
            if len(curves) == size:
                columns = [[curves[i].evaluate(f) for f in frames] for i in range(size)]
                channels.append(_Channel(owner, mode, np.array(columns).T, tolerance))
    return channels


def _played(armature: bpy.types.Object, scene: bpy.types.Scene, frames: range) -> Numbers:
    """Return the heads and tails of all bones in armature space, frames × bones × 2 × 3."""

    def look(_frame: object) -> Numbers:
        layer = cast(bpy.types.ViewLayer, bpy.context.view_layer)
        bones = pose_bones(armature.evaluated_get(cast(Any, layer.depsgraph)))
        ends = [np.reshape(floats(bones, name, 3), (-1, 3)) for name in ("head", "tail")]
        return np.stack(ends, axis=1)

    playing = play(scene, frames, look)
    while True:
        try:
            next(playing)
        except StopIteration as played:
            return np.array(played.value)
