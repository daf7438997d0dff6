"""What operators share that remove constraints."""

from __future__ import annotations

from collections.abc import Sequence

import bpy

from ..loop.property_kinds import defined
from .selecting import Handle, select_alone

KEEP_CONTROLS = defined(
    "Keep Controls",
    "Keep the control bones and Empties that were added as targets and poles. Without this, "
    "those that nothing else uses are removed with their keys",
    default=False,
    options={"SKIP_SAVE"},
)
"""The option of operators that remove constraints."""


def select_remaining(context: bpy.types.Context, tips: Sequence[Handle]) -> None:
    """Select tips of chains if the controls that were selected are removed."""
    if context.object is None:
        select_alone(context, [(tips[0][0], "")])
    elif context.mode == "POSE" and not context.selected_pose_bones:
        select_alone(context, tips)
