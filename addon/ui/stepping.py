"""Long-running operators: blocking, or modal with a progress indicator."""

from __future__ import annotations

from collections.abc import Generator
from time import perf_counter
from typing import Any, cast

import bpy

from ..blender.errors import ProblemError
from ..blender.messages import msg, shown
from ..editing.playing import finish
from ..editing.transaction import all_or_nothing
from .refusing import GONE, Outcome
from .reporting import say

MIN_SLICE, MAX_SLICE = 0.05, 0.5
"""Limits of a slice of work in seconds; within them a slice takes as long as the last redraw."""


def advance(work: Generator[float, None, Any], seconds: float) -> float:
    """Do work for a time, and return its progress.

    Raises:
        StopIteration: When the work is done.
    """
    end = perf_counter() + seconds
    done = next(work)
    while perf_counter() < end:
        done = next(work)
    return done


class ProgressOperator:
    """An operator whose work is a generator that yields its progress from 0 to 1.

    Attributes:
        stopped: The report after Escape.
        gone: The report if its data was undone or removed during the work.
        blame: The report type of a problem: ERROR opens a popup.
    """

    bl_options = {"REGISTER", "UNDO"}
    stopped = msg("Cancelled: nothing was changed")
    gone = GONE
    blame = "ERROR"
    report: Any
    _work: Generator[float, None, Any] | None = None
    _timer: bpy.types.Timer | None = None

    def status(self, done: float) -> str:
        """Return the status bar text for a progress from 0 to 1."""
        raise NotImplementedError

    def finished(self, result: Any) -> Outcome:
        """Report the result of the work."""
        raise NotImplementedError

    def escaped(self) -> Outcome:
        """Report that Escape stopped the work."""
        say(self, "INFO", self.stopped)
        return {"CANCELLED"}

    def refuse(self, reason: str) -> Outcome:
        """Report why the work can't be done."""
        self.report({self.blame}, shown(reason))
        return {"CANCELLED"}

    def go_through(self, context: bpy.types.Context, work: Generator[float, None, Any]) -> Outcome:
        """Do all the work at once.

        Raises:
            ProblemError: If the work raises it.
        """
        manager = context.window_manager
        manager.progress_begin(0, 100)
        try:
            with all_or_nothing():
                done = finish(work, lambda progress: manager.progress_update(int(100.0 * progress)))
            return self.finished(done)
        except ReferenceError:  # Another add-on's handler removed the data.
            return self.refuse(self.gone)
        finally:
            manager.progress_end()

    def begin(self, context: bpy.types.Context, work: Generator[float, None, Any]) -> Outcome:
        """Start the work, which continues at each timer event."""
        self._work = work
        manager = context.window_manager
        self._timer = manager.event_timer_add(0.001, window=context.window)
        manager.modal_handler_add(self)  # type: ignore[arg-type]
        manager.progress_begin(0, 100)
        self._show(context, 0.0)
        self._paused = perf_counter()
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> Outcome:
        """Do a slice of the work, and block all events except Escape and releases."""
        if event.type == "ESC" and event.value == "PRESS":
            self.cancel(context)
            return self.escaped()
        if event.value == "RELEASE":  # Else a slider that began this would keep to the mouse.
            return {"PASS_THROUGH"}
        if event.type != "TIMER" or self._work is None:
            return {"RUNNING_MODAL"}
        drawing = perf_counter() - self._paused
        try:
            done = advance(self._work, min(max(MIN_SLICE, drawing), MAX_SLICE))
        except StopIteration as finished:
            self._clear(context)
            return self.finished(finished.value)
        except ProblemError as problem:
            self._clear(context)
            return self.refuse(str(problem))
        except ReferenceError:  # As above, or undone in another window.
            self._clear(context)
            return self.refuse(self.gone)
        except BaseException:
            self._clear(context)
            raise
        self._show(context, done)
        self._paused = perf_counter()
        return {"RUNNING_MODAL"}

    def cancel(self, context: bpy.types.Context) -> None:
        """Stop the work and restore everything."""
        try:
            if self._work is not None:
                self._work.close()
        except ReferenceError:  # As in `modal`.
            pass
        finally:
            self._clear(context)

    def _show(self, context: bpy.types.Context, done: float) -> None:
        context.window_manager.progress_update(int(100.0 * done))
        context.workspace.status_text_set(shown(self.status(done)))

    def _clear(self, context: bpy.types.Context) -> None:
        self._work = None
        manager = context.window_manager
        manager.progress_end()
        if self._timer is not None:
            manager.event_timer_remove(self._timer)
            self._timer = None
        context.workspace.status_text_set(None)


class DirectProgressOperator(ProgressOperator):
    """A progress operator without a dialog: modal in a window, blocking in scripts."""

    def start(self, context: bpy.types.Context) -> Generator[float, None, Any]:
        """Return the work.

        Raises:
            ProblemError: If there is nothing to do.
        """
        raise NotImplementedError

    def execute(self, context: bpy.types.Context) -> Outcome:
        """Do the work at once."""
        try:
            return self.go_through(context, self.start(context))
        except ProblemError as problem:
            return self.refuse(str(problem))

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Outcome:
        """Do the work in slices, so that it can be cancelled."""
        if context.window is None:
            return self.execute(context)
        try:
            work = self.start(context)
        except ProblemError as problem:
            return self.refuse(str(problem))
        return self.begin(context, work)


def is_busy() -> bool:
    """Return whether Blender is playing, rendering, or running a modal operator."""
    manager = cast(bpy.types.WindowManager, bpy.context.window_manager)
    return bpy.app.is_job_running("RENDER") or any(
        window.screen.is_animation_playing or _is_modal(window) or _is_in_edit_mode(window)
        for window in manager.windows
    )


def _is_modal(window: bpy.types.Window) -> bool:
    """Return whether a window runs a modal operator.

    Blender lists an operator of an unregistered class as None. A finished render operator stays in
    the list until the next event in its window.
    """
    running: list[Any] = list(window.modal_operators)
    return any(operator is None or operator.bl_idname != "RENDER_OT_render" for operator in running)


def _is_in_edit_mode(window: bpy.types.Window) -> bool:
    """Return whether the active object is in a mode other than Object and Pose Mode."""
    ob = window.view_layer.objects.active
    return ob is not None and ob.mode not in ("OBJECT", "POSE")
