"""What all operators have in common: they say why they are grey, what they did, or why not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

import bpy

from ..blender.errors import ProblemError
from ..blender.refusals import linked_problem, rest_problem, tweak_problem
from ..editing import constraints as editing

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems


class Refusing:
    """An operator whose button is grey, with the reason in its tooltip, while it cannot work.

    Attributes:
        asks: What it asks for, one after the other: each returns why the operator cannot work now,
            an empty text if it can.
    """

    asks: tuple[Callable[[bpy.types.Context], str], ...] = ()

    @classmethod
    def refusal(cls, context: bpy.types.Context) -> str:
        """Return why the operator cannot work now, an empty text if it can."""
        return next(filter(None, (ask(context) for ask in cls.asks)), "")

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Say whether the operator can work, and if not, why."""
        reason = cls.refusal(context)
        if reason:
            cls.poll_message_set(reason)  # type: ignore[attr-defined]
        return not reason


class Working(Refusing):
    """An operator that works at once, and reports what it did, or why it could not.

    Attributes:
        severity: Of the report of what it did: WARNING where the user should look at it.
    """

    bl_options = {"REGISTER", "UNDO"}
    severity = "INFO"
    report: Any

    def work(self, context: bpy.types.Context) -> str:
        """Do it, and return a sentence of what was done; empty if there was nothing to do.

        Raises:
            ProblemError: If it cannot be done; then nothing has changed.
        """
        raise NotImplementedError

    def execute(self, context: bpy.types.Context) -> set[OperatorReturnItems]:
        """Work, and report how it went."""
        try:
            done = self.work(context)
        except ProblemError as problem:
            self.report({"ERROR"}, str(problem))
            return {"CANCELLED"}
        if not done:
            return {"CANCELLED"}
        self.report({self.severity}, done)
        return {"FINISHED"}

    def warn(self, notes: Iterable[str]) -> None:
        """Report what the user should know besides."""
        for note in notes:
            self.report({"WARNING"}, note)


def end_running(cls: Any) -> None:
    """End an operator that runs in a window, before its class is taken away.

    Blender takes it out of the window then, but does not call its `cancel`.
    """
    for window in cast(bpy.types.WindowManager, bpy.context.window_manager).windows:
        for operator in list(window.modal_operators):
            if isinstance(operator, cls):  # None is what has lost its class before.
                with bpy.context.temp_override(window=window):
                    operator.cancel(bpy.context)
                for area in window.screen.areas:
                    area.header_text_set(None)
                window.view_layer.update()


def active_armature(context: bpy.types.Context) -> bpy.types.Object:
    """Return the armature that `armature_refusal` had nothing against."""
    return cast(bpy.types.Object, context.object)


def armature_refusal(context: bpy.types.Context) -> str:
    """Ask for an armature that may be changed."""
    armature = context.object
    if armature is None or armature.type != "ARMATURE":
        return "Select an armature"
    return linked_problem(armature)


def active_refusal(context: bpy.types.Context) -> str:
    """Ask for a constraint as well."""
    reason = armature_refusal(context)
    if not reason and editing.active_constraint(active_armature(context)) is None:
        return "There is no constraint: add one to the tip bone of a chain"
    return reason


def tweak_refusal(context: bpy.types.Context) -> str:
    """Ask that the armature's animation be not in the NLA's tweak mode."""
    return tweak_problem(active_armature(context))


def rest_refusal(context: bpy.types.Context) -> str:
    """Ask that the armature show its pose."""
    return rest_problem(active_armature(context))
