"""Operators and panel of offset layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import bpy

from ...blender.errors import ProblemError, listed
from ...blender.messages import counted, msg
from ...blender.offset_layers import OffsetLayer, edited_layer, layer_of
from ...editing.layering import (
    add_layer,
    merge_layer,
    refuse_covered,
    refuse_unlayered,
    remove_layer,
    turn_off,
    turn_on,
)
from ...settings.definitions import defined
from ...settings.properties import settings
from ...ui.layout import Layout, SidebarPanel, draw_sentence
from ...ui.refusing import Working, active_armature, armature_refusal
from ...ui.registering import registering

HOW_TO = msg("Edit captured motion without touching its keys: new keys are added on top")
EXITED = msg("New keys would hide the layer: press Edit Layer first")


def _character(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """Return an armature, and the objects that its constraints use as targets and poles."""
    items = settings(armature).constraints
    controls = [ob for item in items for ob in (item.target, item.pole_target) if ob is not None]
    return list(dict.fromkeys([armature, *controls]))


def _is_animated(ob: bpy.types.Object) -> bool:
    """Return whether an object has an action, or an offset layer above one."""
    data = ob.animation_data
    return data is not None and (data.action is not None or layer_of(ob) is not None)


def _layered(armature: bpy.types.Object) -> list[tuple[bpy.types.Object, OffsetLayer]]:
    """Return the objects of a character that have an offset layer."""
    pairs = [(ob, layer_of(ob)) for ob in _character(armature)]
    return [(ob, layer) for ob, layer in pairs if layer is not None]


def _layer_refusal(context: bpy.types.Context) -> str:
    if _layered(active_armature(context)):
        return ""
    return msg("No offset layer: add one first")


class LayerOperator(Working):
    """An operator for the offset layers of a character."""

    asks = (armature_refusal, _layer_refusal)

    only_selected: bool = defined("Only Selected", "Only affect selected objects", default=False)

    def chosen(
        self, context: bpy.types.Context, objects: list[bpy.types.Object]
    ) -> list[bpy.types.Object]:
        """Return the objects to work on.

        Raises:
            ProblemError: If no object is selected.
        """
        selected = [ob for ob in objects if not self.only_selected or ob.select_get()]
        if objects and not selected:
            raise ProblemError("No part of the character is selected: select its controls")
        return selected

    def layers(self, context: bpy.types.Context) -> Iterator[tuple[bpy.types.Object, OffsetLayer]]:
        """Yield the chosen objects with their layers, after checking all of them.

        Raises:
            ProblemError: If a layer can't be edited.
        """
        pairs = _layered(active_armature(context))
        for ob in self.chosen(context, [ob for ob, _ in pairs]):
            refuse_covered(ob, cast(OffsetLayer, layer_of(ob)))
        for ob in self.chosen(context, [ob for ob, _ in pairs]):
            yield ob, cast(OffsetLayer, layer_of(ob))


class FABRIK_OT_offset_layer_add(LayerOperator, bpy.types.Operator):
    """Add an offset layer to a character."""

    bl_idname = "fabrik.offset_layer_add"
    bl_label = "Add Offset Layer"
    bl_description = (
        "Keep the character's keys unchanged, and add new keys on top of them as offsets"
    )
    asks = (armature_refusal,)

    def work(self, context: bpy.types.Context) -> str:
        """Add the layers."""
        armature = active_armature(context)
        objects = [ob for ob in _character(armature) if _is_animated(ob)]
        if not objects:
            raise ProblemError(
                "“{armature}” and its controls have no action: key them first",
                armature=armature.name,
            )
        objects = self.chosen(context, objects)
        for ob in objects:
            refuse_unlayered(ob)
        for ob in objects:
            add_layer(ob)
        return msg(
            "Added an offset layer to {objects}: key the controls where the change begins, where "
            "it ends and in between",
            objects=listed([ob.name for ob in objects]),
        )


class FABRIK_OT_offset_layer_toggle(LayerOperator, bpy.types.Operator):
    """Turn the offset layers of a character on or off."""

    bl_idname = "fabrik.offset_layer_toggle"
    bl_label = "Toggle Offset Layer"
    bl_description = (
        "Turn the character's offset layer on or off. When off, you see and key the motion below it"
    )

    def work(self, context: bpy.types.Context) -> str:
        """Turn the layers off if any of them is on, otherwise on."""
        layers = [*self.layers(context)]
        is_on = any(edited_layer(ob) is not None for ob, _ in layers)
        switch: Callable[[bpy.types.Object, OffsetLayer], None] = turn_off if is_on else turn_on
        for ob, layer in layers:
            switch(ob, layer)
        if is_on:
            return msg("Turned the offset layer off: keys go into the action below")
        return msg("Turned the offset layer on: keys are offsets")


class FABRIK_OT_offset_layer_merge(LayerOperator, bpy.types.Operator):
    """Merge the offset layers of a character."""

    bl_idname = "fabrik.offset_layer_merge"
    bl_label = "Merge Offset Layer"
    bl_description = (
        "Key the result of the character's offset layer into the action below, at each frame that "
        "it changes, and remove the layer"
    )

    def work(self, context: bpy.types.Context) -> str:
        """Merge the layers."""
        count = sum([merge_layer(ob, layer) for ob, layer in [*self.layers(context)]])
        return counted(
            count, "Merged the offsets of {count} channel", "Merged the offsets of {count} channels"
        )


class FABRIK_OT_offset_layer_remove(LayerOperator, bpy.types.Operator):
    """Remove the offset layers of a character."""

    bl_idname = "fabrik.offset_layer_remove"
    bl_label = "Remove Offset Layer"
    bl_description = "Remove the character's offset layer. The keys below it don't change"

    def work(self, context: bpy.types.Context) -> str:
        """Remove the layers."""
        layers = [*self.layers(context)]
        for ob, _ in layers:
            remove_layer(ob)
        return counted(len(layers), "Removed {count} offset layer", "Removed {count} offset layers")


class FABRIK_PT_offset_layer(SidebarPanel, bpy.types.Panel):
    """The offset layer of a character."""

    bl_label = "Offset Layer"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the layer's influence and the buttons."""
        layout: Layout = self.layout
        layers = _layered(active_armature(context))
        if not layers:
            draw_sentence(layout, context, HOW_TO)
            layout.operator("fabrik.offset_layer_add")
            return
        is_on = any(edited_layer(ob) is not None for ob, _ in layers)
        if is_on:
            icon = "HIDE_OFF"
            layout.operator("fabrik.offset_layer_toggle", text="Layer On", icon=icon, depress=True)
        elif any(layer.is_on for _, layer in layers):
            draw_sentence(layout, context, EXITED)
            layout.operator("fabrik.offset_layer_toggle", text="Edit Layer", icon="GREASEPENCIL")
        else:
            layout.operator("fabrik.offset_layer_toggle", text="Layer Off", icon="HIDE_ON")
        column = layout.column()
        column.use_property_split, column.active = True, is_on
        for ob, layer in layers:
            if len(layers) > 1:
                column.prop(layer.strip, "influence", text=ob.name, translate=False)
            else:
                column.prop(layer.strip, "influence")
        row = layout.row(align=True)
        row.operator("fabrik.offset_layer_merge", text="Merge")
        row.operator("fabrik.offset_layer_remove", text="Remove")


register, unregister = registering(__name__)
