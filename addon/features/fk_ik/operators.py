"""The operators that snap FK and IK to each other and switch between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import bpy

from ...blender.errors import ProblemError
from ...blender.messages import Message, counted, msg
from ...settings.definitions import defined
from ...settings.properties import settings
from ...ui.choosing import WHICH_ITEMS, chosen, shown_range
from ...ui.layout import Layout
from ...ui.refusing import (
    Outcome,
    Working,
    active_armature,
    active_refusal,
    rest_refusal,
    tweak_refusal,
)
from ...ui.registering import registering
from ...ui.wording import length_text, named
from .snap import SnapResult, fk_key_frames, ik_key_frames, snap_where_possible
from .span import Span
from .to_fk import snap_to_fk
from .to_ik import snap_to_ik

Snap = Callable[[bpy.types.Object, Sequence[int], Span], SnapResult]
"""Snaps constraints of an armature, chosen by index, at the frames of a span."""


class Spanning(Working):
    """Base of operators that snap constraints at the current frame or over a range.

    Attributes:
        switches: Whether the influence is also keyed.
    """

    asks = (active_refusal, rest_refusal, tweak_refusal)
    switches = True

    # Only the step is remembered between calls.
    which: str = defined(
        "Constraints", "Constraints to snap", items=WHICH_ITEMS, options={"SKIP_SAVE"}
    )
    use_range: bool = defined(
        "Range",
        "Snap and key every frame of a range instead of the current frame",
        options={"SKIP_SAVE"},
    )
    frame_start: int = defined(
        "Start", "First frame of the range", default=1, options={"SKIP_SAVE"}
    )
    frame_end: int = defined("End", "Last frame of the range", default=250, options={"SKIP_SAVE"})
    step: int = defined("Step", "Frames between keys", default=1, min=1)
    only_keys: bool = defined(
        "Only at Keys", "Only snap frames where the source pose has keys", options={"SKIP_SAVE"}
    )

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Outcome:
        """Default the range to the scene's, and snap the current frame."""
        self.frame_start, self.frame_end = shown_range(context.scene)
        return self.execute(context)

    def snapped(
        self, context: bpy.types.Context, indices: Sequence[int], is_to_ik: bool
    ) -> tuple[SnapResult, str]:
        """Snap constraints of the active armature, and return the result and the report.

        Args:
            context: The context.
            indices: Indices of the constraints.
            is_to_ik: Whether the targets follow the FK pose; otherwise the bones follow the
                solved pose.

        Raises:
            ProblemError: If no constraint can be snapped; nothing is changed.
        """
        armature = active_armature(context)
        manager = context.window_manager
        snap: Snap = snap_to_fk if is_to_ik else snap_to_ik
        key_frames = fk_key_frames if is_to_ik else ik_key_frames
        span = self._span(context, lambda: key_frames(armature, indices), manager.progress_update)
        manager.progress_begin(0.0, 1.0)
        try:
            result = snap_where_possible(snap, armature, indices, span)
        finally:
            manager.progress_end()
        self.severity = "WARNING" if result.problem or result.left_out else "INFO"
        names = [settings(armature).constraints[index].name for index in indices]
        snapped = named([name for name in names if name not in result.left_out])
        return result, self._report_text(context.scene, span, result, snapped)

    def _span(
        self,
        context: bpy.types.Context,
        key_frames: Callable[[], set[float]],
        report_progress: Callable[[float], None],
    ) -> Span:
        """Return the frames to snap.

        Raises:
            ProblemError: If the range is empty or has no keys.
        """
        scene = context.scene
        if not self.use_range:
            is_keyed = self.switches or scene.tool_settings.use_keyframe_insert_auto
            frame = scene.frame_current_final
            return Span((frame,), is_keyed=is_keyed, switches=self.switches)
        if self.frame_end < self.frame_start:
            raise ProblemError(
                "End ({end}) is before Start ({start}): increase End",
                end=self.frame_end,
                start=self.frame_start,
            )
        if self.only_keys:
            frames = sorted(f for f in key_frames() if self.frame_start <= f <= self.frame_end)
        else:
            frames = [float(f) for f in range(self.frame_start, self.frame_end + 1, self.step)]
        if not frames:
            raise ProblemError(
                "No keys from frame {frame_start} to {frame_end}: disable Only at Keys, or "
                "choose another range",
                frame_start=self.frame_start,
                frame_end=self.frame_end,
            )
        return Span(tuple(frames), True, True, self.switches, report_progress)

    def done(self, names: Message) -> Message:
        """Return the report's beginning, with the names of the constraints."""
        raise NotImplementedError

    def _report_text(
        self, scene: bpy.types.Scene, span: Span, result: SnapResult, names: Message
    ) -> str:
        text = self.done(names)
        if span.is_range:
            text += msg(
                " at {frames}", frames=counted(len(span.frames), "{count} frame", "{count} frames")
            )
        elif span.is_keyed:
            text += msg(", with keys at frame {first:g}", first=span.frames[0])
        difference_text = length_text(scene, result.difference)
        if result.problem:
            text = msg(
                "{text}, but the poses differ by {apart}. {problem}",
                text=text,
                apart=difference_text,
                problem=result.problem,
            )
        else:
            text = msg("{text}; the poses differ by {apart}", text=text, apart=difference_text)
        if result.yielding:
            text += msg(
                ". On the Ground or a walk moves {names} away from the FK pose, and gradually "
                "takes over, fully from frame {last:g} on",
                names=named(result.yielding),
                last=result.taken_over,
            )
        if result.left_out:
            names = named(result.left_out)
            text += msg(". Skipped {names}. {reason}", names=names, reason=result.reason)
        return text

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the settings."""
        layout: Any = self.layout  # type: ignore[attr-defined]
        layout.use_property_split = True
        self.draw_choice(layout)
        layout.prop(self, "use_range")
        if not self.use_range:
            return
        frames = layout.column(align=True)
        frames.prop(self, "frame_start")
        frames.prop(self, "frame_end")
        layout.prop(self, "only_keys")
        step = layout.column()
        step.active = not self.only_keys
        step.prop(self, "step")

    def draw_choice(self, layout: Layout) -> None:
        """Draw the settings above the range."""
        layout.prop(self, "which")


class Snapping(Spanning):
    """Base of both snap operators.

    Attributes:
        is_to_ik: Whether the targets follow the FK pose.
    """

    is_to_ik: bool

    switches: bool = defined(
        "Switch",
        "Also key the influence, so that the constraint switches at this frame, or for the "
        "range, without a jump",
        options={"SKIP_SAVE"},
    )

    def work(self, context: bpy.types.Context) -> str:
        """Snap, and return the report."""
        indices = chosen(context, active_armature(context), self.which)
        return self.snapped(context, indices, self.is_to_ik)[1]

    def draw_choice(self, layout: Layout) -> None:
        """Draw the settings above the range."""
        layout.prop(self, "which")
        layout.prop(self, "switches")


class FABRIK_OT_snap_to_fk(Snapping, bpy.types.Operator):
    """Move targets and poles to the FK pose."""

    bl_idname = "fabrik.snap_to_fk"
    bl_label = "Snap IK to FK"
    bl_description = (
        "Move the target and pole so that the solved pose matches the FK pose. Key them if "
        "Auto Keying, Switch or Range is enabled"
    )
    is_to_ik = True

    def done(self, names: Message) -> Message:
        """Return the report."""
        return msg("Snapped {names} to the FK pose", names=names)


class FABRIK_OT_snap_to_ik(Snapping, bpy.types.Operator):
    """Apply the solved pose to the bones as their FK pose."""

    bl_idname = "fabrik.snap_to_ik"
    bl_label = "Snap FK to IK"
    bl_description = (
        "Apply the solved pose to the chain's bones as their FK pose. Key them if Auto Keying, "
        "Switch or Range is enabled"
    )
    is_to_ik = False

    def done(self, names: Message) -> Message:
        """Return the report."""
        return msg("Snapped {names} to the solved pose", names=names)


register, unregister = registering(__name__)
