"""Play frames: measure the time of each, and the distance of tips from their targets.

A block opens the file again and plays some frames as warm-up. Then it plays the frames of the block
twice: first without caches of these frames, then again. The variants alternate by block, so a
temporarily busy machine slows down all of them.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter

import bpy

from .rigs import OURS, Rig, armature, opened, target_name

WARM_UP = 5


@dataclass
class Score:
    """The results of playing a variant.

    Attributes:
        first: The seconds of each frame, played for the first time.
        again: The seconds of the same frames, played again.
        errors: The distances of tips to targets, relative to the chain's length.
        missed: The number of times that a chain's state was not REACHED.
    """

    first: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    missed: int = 0

    @property
    def typical(self) -> float:
        """The median of the first times, in seconds."""
        return median(self.first)

    def ratio(self, other: Score) -> float:
        """Return the ratio of the first times to those of another variant."""
        return self.typical / other.typical

    def ratio_again(self, other: Score) -> float:
        """Return the ratio of the times of frames that are played again."""
        return median(self.again) / median(other.again)


def play(
    scene: bpy.types.Scene, frames: Iterable[int], before: Callable[[], object] = int
) -> list[float]:
    """Return the seconds of each frame, excluding those of a function called before it."""
    times: list[float] = []
    for frame in frames:
        before()
        start = perf_counter()
        scene.frame_set(frame)
        times.append(perf_counter() - start)
    return times


def warm_up(scene: bpy.types.Scene, first: int) -> None:
    """Play some frames before the first timed frame, and collect garbage."""
    play(scene, range(first - WARM_UP, first))
    gc.collect()


def in_turns(
    folder: Path,
    variants: Sequence[str],
    blocks: Sequence[range],
    passes: int = 2,
    before: Callable[[], object] = int,
) -> dict[str, Score]:
    """Time blocks of frames of several variants alternately.

    Args:
        folder: The folder in which `rigs.save_variants` saved them.
        variants: Their names.
        blocks: The frames, without repeats, so that each is new in the first pass.
        passes: The number of times to play a block.
        before: Called before each frame.
    """
    scores = {variant: Score() for variant in variants}
    for number, block in enumerate(blocks):
        for variant in variants if number % 2 == 0 else reversed(variants):
            with opened(folder, variant) as scene:
                warm_up(scene, block[0])
                scores[variant].first += play(scene, block, before)
                for _ in range(passes - 1):
                    scores[variant].again += play(scene, block, before)
    return scores


def judge(folder: Path, variant: str, rig: Rig, frames: Iterable[int], score: Score) -> None:
    """Record the errors of the chains, without timing."""
    with opened(folder, variant) as scene:
        for frame in frames:
            scene.frame_set(frame)
            score.errors += tip_errors(rig)
            if variant == OURS:
                states = [item.state for item in armature().fabrik.constraints]
                score.missed += sum(state != "REACHED" for state in states)


def tip_errors(rig: Rig) -> list[float]:
    """Return the evaluated distance of each tip to its target, relative to the length."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    ob = armature().evaluated_get(depsgraph)
    errors: list[float] = []
    for chain in range(rig.chains):
        tip = ob.matrix_world @ ob.pose.bones[rig.tip(chain)].tail
        target = bpy.data.objects[target_name(chain)].evaluated_get(depsgraph)
        errors.append((tip - target.matrix_world.translation).length / rig.length)
    return errors


def split(frames: int, size: int) -> list[range]:
    """Return blocks of frames, starting at frame 1."""
    return [range(start, start + size) for start in range(1, frames + 1, size)]
