"""Shared by the operators that remove constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy

from ..blender.errors import ProblemError
from ..plan import planner
from ..settings.definitions import defined
from .refusing import Outcome, Working
from .selecting import Handle, select_alone

KEEP_CONTROLS = defined(
    "Keep Controls",
    "Keep the control bones and Empties that were added as targets and poles. Otherwise, unused "
    "ones are removed with their keys",
    default=False,
    options={"SKIP_SAVE"},
)
"""Option of the operators that remove constraints."""


class Removing(Working):
    """An operator that keeps its redo panel after removing the constraints that it requires."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether the operator can run, or be redone: Blender polls before a redo."""
        last = list(cast(Any, context.window_manager).operators)[-1:]
        return bool(last and last[0].bl_idname == cls.__name__) or super().poll(context)

    def execute(self, context: bpy.types.Context) -> Outcome:
        """Remove the constraints, or report why that's impossible."""
        planner.current()  # Before a redo, undo has discarded the plan.
        if reason := self.refusal(context):
            return self.fail(ProblemError(reason))
        return super().execute(context)


def select_remaining(context: bpy.types.Context, tips: Sequence[Handle]) -> None:
    """Select tips of chains if the selected controls were removed."""
    if context.object is None:
        select_alone(context, [(tips[0][0], "")])
    elif context.mode == "POSE" and not context.selected_pose_bones:
        select_alone(context, tips)
