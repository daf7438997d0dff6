"""What is to be said of a walk: why it cannot, or what it lacks."""

from __future__ import annotations

import bpy

from ...access import settings
from ..simulating import history
from .body import known
from .editing import problem_of


def said_of(armature: bpy.types.Object, index: int) -> str:
    """Return a sentence on a walk, empty if there is nothing to say."""
    if problem := problem_of(armature, index):
        return problem
    found = history.data(armature, f"fabrik.gaits[{index}]")
    walked = known(found.blob) if found is not None else None
    if found is None or walked is None:
        return "The steps were not simulated yet: press Simulate"
    if not found.is_fresh:
        return "The steps were simulated for other input: press Simulate"
    falls = walked[0].falls
    hanging = [fall for own in falls for fall in own if not fall.is_held]
    if len(hanging) == sum(map(len, falls)):
        return "There is no ground within reach of the feet: put one there, or choose another"
    if all(len(own) == 1 for own in falls):
        gait = settings(armature).gaits[index]
        body = f"“{gait.body}”" if gait.body else "the armature"
        return f"The body stands still: animate {body}, and the legs walk after it"
    if hanging:
        first = min(fall.lift for fall in hanging)
        return (
            f"{len(hanging)} of the steps find no ground, the first at frame {first:.0f}: the foot "
            "hangs there. Raise Ray Height, or bring the body nearer to the ground"
        )
    return ""
