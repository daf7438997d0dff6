"""Base classes of operators: explain why a button is gray, report results and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import bpy

from ..blender.errors import ChoiceError, ProblemError
from ..blender.messages import msg, shown
from ..blender.refusals import linked_problem, rest_problem, tweak_problem
from ..editing import constraints as editing
from ..editing.transaction import all_or_nothing
from .following import shown_armature
from .layout import draw_sentence
from .reporting import say

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

Outcome: TypeAlias = "set[OperatorReturnItems]"
"""What an operator returns to Blender."""


DIALOG = 400
"""Width of dialogs, in pixels at a UI scale of 1."""


GONE = msg("Cancelled: the data was removed while in use")
"""Report if data was removed during the work, such as by undo or another add-on's handler."""


class Refusing:
    """An operator whose button is gray while it can't run, with the reason in its tooltip.

    Attributes:
        asks: The requirements in order: functions that return why the operator can't run, or an
            empty string. Each may rely on the previous ones.
    """

    asks: tuple[Callable[[bpy.types.Context], str], ...] = ()

    @classmethod
    def refusal(cls, context: bpy.types.Context) -> str:
        """Return why the operator can't run; empty if it can."""
        return next(filter(None, (ask(context) for ask in cls.asks)), "")

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether the operator can run, and set the message otherwise."""
        reason = cls.refusal(context)
        if reason:
            cls.poll_message_set(shown(reason))  # type: ignore[attr-defined]
        return not reason


class Working(Refusing):
    """An operator that runs at once, and reports its result or the problem.

    Attributes:
        severity: The report type of the result: INFO, or WARNING for a result to check.
    """

    bl_options = {"REGISTER", "UNDO"}
    severity = "INFO"
    report: Any

    def work(self, context: bpy.types.Context) -> str:
        """Do the work, and return a report; empty if there was nothing to do.

        Raises:
            ProblemError: If the work can't be done. Nothing is changed.
        """
        raise NotImplementedError

    def execute(self, context: bpy.types.Context) -> Outcome:
        """Do the work, and report the result."""
        try:
            with all_or_nothing():
                done = self.work(context)
        except ProblemError as problem:
            return self.fail(problem)
        except ReferenceError:
            return self.fail(ProblemError(GONE))
        return self.finish(done)

    def fail(self, problem: ProblemError) -> Outcome:
        """Report a problem."""
        self.report({"ERROR"}, shown(str(problem)))
        return {"CANCELLED"}

    def finish(self, done: str) -> Outcome:
        """Report the result."""
        if not done:
            return {"CANCELLED"}
        say(self, self.severity, done)
        return {"FINISHED"}

    def warn(self, notes: Iterable[str]) -> None:
        """Report warnings."""
        for note in notes:
            say(self, "WARNING", note)


class Asking(Working):
    """An operator that opens a dialog with its options if it needs the user's choice."""

    problem = ""
    """Why the dialog was opened; empty in the redo panel."""

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Outcome:
        """Do the work, or open the dialog."""
        try:
            with all_or_nothing():
                done = self.work(context)
        except ChoiceError as error:
            self.problem = str(error)
            for name, value in error.choice.items():
                setattr(self, name, value)
            return context.window_manager.invoke_props_dialog(
                self,  # type: ignore[arg-type]
                width=DIALOG,
            )
        except ProblemError as problem:
            return self.fail(problem)
        return self.finish(done)

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the options, below the reason for the dialog."""
        layout: Any = self.layout  # type: ignore[attr-defined]
        if self.problem:
            draw_sentence(layout, context, self.problem, DIALOG)
        layout.use_property_split = True
        layout.use_property_decorate = False
        self.draw_options(layout)

    def draw_options(self, layout: Any) -> None:
        """Draw the options."""
        raise NotImplementedError


def end_running(cls: Any) -> None:
    """Cancel the running modal operators of a class before it is unregistered.

    Blender then removes them from their windows, but doesn't call `cancel`.
    """
    for window in cast(bpy.types.WindowManager, bpy.context.window_manager).windows:
        for operator in list(window.modal_operators):
            if isinstance(operator, cls):  # None if its class was unregistered.
                with bpy.context.temp_override(window=window):
                    operator.cancel(bpy.context)
                for area in window.screen.areas:
                    area.header_text_set(None)
                window.view_layer.update()


def active_armature(context: bpy.types.Context) -> bpy.types.Object:
    """Return the displayed armature, once `armature_refusal` has accepted it."""
    return cast(bpy.types.Object, shown_armature(context))


def armature_refusal(context: bpy.types.Context) -> str:
    """Return a message if no editable armature, or target of its constraints, is active."""
    armature = shown_armature(context)
    if armature is None:
        return msg("Select an armature")
    return linked_problem(armature)


def active_refusal(context: bpy.types.Context) -> str:
    """Return a message if no armature with an active constraint is active."""
    reason = armature_refusal(context)
    if not reason and editing.active_constraint(active_armature(context)) is None:
        return msg("No constraints: add one to the tip bone of a chain")
    return reason


def tweak_refusal(context: bpy.types.Context) -> str:
    """Return a message if the armature is in the NLA's tweak mode; otherwise an empty string."""
    return tweak_problem(active_armature(context))


def rest_refusal(context: bpy.types.Context) -> str:
    """Return a message if the armature doesn't show its pose; otherwise an empty string."""
    return rest_problem(active_armature(context))
