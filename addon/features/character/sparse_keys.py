"""Replacing the keys of controls at every frame by few, within an error of each joint."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, floor
from typing import Any, NamedTuple, cast

import bpy
import numpy as np

from ...blender import animation
from ...blender.access import pose_bones
from ...blender.keying import ActiveCurves, put_keys
from ...blender.rotation import LOCATION, channel_of, floats, mode_of
from ...blender.simplifying import ROUNDING, errors, slopes
from ...blender.skeleton import skeleton_of
from ...blender.turns import Numbers
from ...editing.playing import play
from ...plan.planner import chains_in
from ...settings.properties import settings

LEVER = 0.1
"""The lever arm by which an error in rotation is measured as one in location, in chains."""

MARGIN = 1.5
"""How much nearer than in proportion a curve gets where a joint is off: errors of controls add."""

TINY = 1e-9
"""The weight of the slopes at every frame, where frames decide nothing."""

Control = tuple[bpy.types.Object, str]
"""An object and the name of its bone, empty for the object itself."""


class Controlled(NamedTuple):
    """What a constraint poses, and the controls that pose it.

    Attributes:
        controls: Its target and pole.
        bones: The indices of its bones, and of those that follow them but no other constraint's.
        length: The length of its chain, in armature space.
    """

    controls: list[Control]
    bones: list[int]
    length: float


def controlled_parts(armature: bpy.types.Object, indices: Sequence[int]) -> list[Controlled]:
    """Return what constraints of an armature pose, with their controls."""
    chains = {chain.item: chain for chain in chains_in(armature)}
    rig, items = skeleton_of(armature), settings(armature).constraints
    posing = {bone: i for i in indices for bone in (*chains[i].bones, chains[i].tip_bone)}
    followers: dict[int, list[int]] = {i: [] for i in indices}
    for bone in range(len(rig.names)):
        posed = [posing[above] for above in rig.chain_up(bone) if above in posing]
        if posed:
            followers[posed[-1]].append(bone)
    parts: list[Controlled] = []
    for i in indices:
        item, bones = items[i], (*chains[i].bones, chains[i].tip_bone)
        ends = (item.target, item.subtarget), (item.pole_target, item.pole_subtarget)
        heads = [rig.rest(bone).head_local for bone in bones]
        length = sum([(b - a).length for a, b in pairwise(heads)]) or rig.rest(bones[0]).length
        controls = [(ob, bone) for ob, bone in ends if ob is not None]
        parts.append(Controlled(controls, followers[i], length))
    return parts


class KeyCount(NamedTuple):
    """How many keys controls have, in all array elements.

    Attributes:
        keys: The number of keys.
        most: Their number with a key at every frame.
    """

    keys: int
    most: int


class _Channel:
    """A channel of a control, and the smooth curve that replaces its keys.

    Attributes:
        rows: Its values at each frame, frames × components.
        tolerances: The largest error of the curve at each frame, in its unit or in radians.
        knots: The frames that have keys, counted from the first.
    """

    def __init__(self, owner: Any, mode: int, rows: Numbers, tolerance: float) -> None:
        """Start with keys at the first and the last frame."""
        self.rows, self.tolerances = rows, np.full(len(rows), tolerance)
        self.knots = [0, len(rows) - 1]
        self._owner, self._mode = owner, mode

    def write(self, frames: range) -> int:
        """Fit the curve, key it, and return the number of keys in all array elements."""
        values, slopes = self._fitted()
        owner, name = self._owner, channel_of(self._mode)[0]
        curves, path = ActiveCurves(owner.id_data), owner.path_from_id(name)
        group = owner.name if isinstance(owner, bpy.types.PoseBone) else ""
        times = [float(frames[knot]) for knot in self.knots]
        for i in range(self.rows.shape[1]):
            put_keys(curves.at(path, i, group), times, values[:, i].tolist(), slopes[:, i].tolist())
        return len(times) * self.rows.shape[1]

    def tighten(self, excess: Numbers) -> bool:
        """Divide the tolerance where joints are off by more than allowed; return whether it helps.

        Args:
            excess: The error of the joints at each frame, as a multiple of the allowed one.
        """
        is_off = (excess > 1.0) & (self.tolerances > ROUNDING)
        self.tolerances[is_off] /= MARGIN * excess[is_off]
        return bool(is_off.any()) and len(self.knots) < len(self.rows)

    def _fitted(self) -> tuple[Numbers, Numbers]:
        """Add knots until the curve of least squares is within the tolerances at every frame.

        Returns:
            The values and the slopes at the knots, knots × components.
        """
        dense_slopes = slopes(self.rows)
        while True:
            basis = _hermite(self.knots, len(self.rows))
            start = np.concatenate([self.rows[self.knots], dense_slopes[self.knots]])
            # Slopes that no frame decides stay as they are.
            normal = basis.T @ basis + TINY * np.eye(len(start))
            fit = start + np.linalg.solve(normal, basis.T @ (self.rows - basis @ start))
            off = errors(self._mode, self.rows, basis @ fit, 1.0) / self.tolerances
            new = [
                first + 1 + int(off[first + 1 : last].argmax())
                for first, last in pairwise(self.knots)
                if last - first > 1 and off[first : last + 1].max() > 1.0
            ]
            if not new:
                return fit[: len(self.knots)], fit[len(self.knots) :]
            self.knots = sorted({*self.knots, *new})


def _hermite(knots: Sequence[int], count: int) -> Numbers:
    """Return the matrix from values, then slopes, at knots to the values at each frame."""
    frames = np.arange(count)
    spans = np.clip(np.searchsorted(knots, frames, side="right") - 1, 0, len(knots) - 2)
    ends = np.array(knots, float)
    lengths = np.diff(ends)[spans]
    t = (frames - ends[spans]) / lengths
    rest = 1.0 - t
    basis = np.zeros((count, 2 * len(knots)))
    basis[frames, spans] = (1.0 + 2.0 * t) * rest * rest
    basis[frames, spans + 1] = t * t * (3.0 - 2.0 * t)
    basis[frames, len(knots) + spans] = t * rest * rest * lengths
    basis[frames, len(knots) + spans + 1] = -t * t * rest * lengths
    return basis


def thin_keys(
    armature: bpy.types.Object,
    parts: Sequence[Controlled],
    frames: Sequence[float],
    error: float,
) -> KeyCount:
    """Thin the keys of controls, and play them back until each joint is within an error.

    Where a joint is farther off, the controls of its limb have to be as much nearer: a nearly
    straight limb bends by many times as much as its ends approach each other.

    Args:
        armature: The armature.
        parts: What they pose.
        frames: The keyed frames, ascending.
        error: The largest distance of a joint from where it was, in armature space.
    """
    whole = range(ceil(frames[0]), floor(frames[-1]) + 1)
    scene = cast(bpy.types.Scene, bpy.context.scene)
    live = _played(armature, scene, whole)
    channels = [_channels(armature, part, whole, error) for part in parts]
    flat = [channel for part in channels for channel in part]
    most = sum([channel.rows.size for channel in flat])
    while True:
        keys = sum([channel.write(whole) for channel in flat])
        distances = np.linalg.norm(live - _played(armature, scene, whole), axis=-1).max(axis=-1)
        is_off = False
        for part, part_channels in zip(parts, channels, strict=True):
            excess = distances[:, part.bones].max(axis=1) / error
            for channel in part_channels:
                is_off |= channel.tighten(excess)
        if not is_off:
            return KeyCount(keys, most)


def _channels(
    armature: bpy.types.Object, part: Controlled, frames: range, error: float
) -> list[_Channel]:
    """Return the keyed channels of a part's controls, with their values at each frame."""
    channels: list[_Channel] = []
    for ob, bone in part.controls:
        owner: Any = pose_bones(ob)[bone] if bone else ob
        # A bone of the armature is in its space, an Empty in the world.
        scale = 1.0 if bone else armature.matrix_world.median_scale
        tolerances = {LOCATION: error * scale, mode_of(owner): error / (LEVER * part.length)}
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
