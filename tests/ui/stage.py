"""Set the scene of one screenshot, inside a Blender with a window; see screenshots.py.

blender --factory-startup --python tests/ui/stage.py -- STEP
"""

import sys
from collections.abc import Iterator
from math import radians
from pathlib import Path
from typing import Any

import bpy
from mathutils import Matrix, Vector

ROOT = Path(__file__).resolve().parents[2]
SKIN = (0.55, 0.62, 0.72, 1.0)
# Head, tail, parent, thickness.
BONES = {
    "Chest": ((0, 0, 0.9), (0, 0, 1.45), "", 0.17),
    "Head": ((0, 0, 1.55), (0, -0.02, 1.8), "Chest", 0.105),
    "Shoulder": ((0.06, 0, 1.38), (0.26, 0, 1.4), "Chest", 0.075),
    "Upper Arm": ((0.26, 0, 1.4), (0.62, 0.09, 1.28), "Shoulder", 0.07),
    "Forearm": ((0.62, 0.09, 1.28), (0.97, -0.02, 1.33), "Upper Arm", 0.055),
    "Hand": ((0.97, -0.02, 1.33), (1.15, -0.03, 1.34), "Forearm", 0.045),
}


def build() -> bpy.types.Object:
    """Make a figure of an armature with one arm, in Object Mode."""
    for ob in list(bpy.data.objects):
        bpy.data.objects.remove(ob)
    rig = link(bpy.data.objects.new("Figure", bpy.data.armatures.new("Figure")))
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for name, (head, tail, parent, _thickness) in BONES.items():
        bone = rig.data.edit_bones.new(name)
        bone.head, bone.tail = head, tail
        bone.parent = rig.data.edit_bones.get(parent)
    bpy.ops.object.mode_set(mode="OBJECT")
    rig.show_in_front = True
    for name, (head, tail, _parent, thickness) in BONES.items():
        clothe(rig, name, Vector(head), Vector(tail), thickness)
    return rig


def clothe(rig: Any, bone: str, head: Vector, tail: Vector, thickness: float) -> None:
    """Hang an ellipsoid on a bone."""
    bpy.ops.mesh.primitive_uv_sphere_add(segments=32, ring_count=20, radius=1.0)
    body = bpy.context.object
    bpy.ops.object.shade_smooth()
    body.name = f"{bone} Body"
    body.color = SKIN
    body.hide_select = True
    half = (tail - head).length / 2
    place = (
        Matrix.Translation((head + tail) / 2)
        @ (tail - head).to_track_quat("Y", "Z").to_matrix().to_4x4()
    )
    body.data.transform(place @ Matrix.Diagonal((thickness, half * 1.12, thickness, 1.0)))
    body.parent, body.parent_type, body.parent_bone = rig, "BONE", bone
    rest = rig.data.bones[bone]
    carried = rest.matrix_local @ Matrix.Translation((0.0, rest.length, 0.0))
    body.matrix_parent_inverse = carried.inverted()


def link(ob: bpy.types.Object) -> bpy.types.Object:
    """Put an object into the scene."""
    bpy.context.scene.collection.objects.link(ob)
    return ob


def make_target() -> bpy.types.Object:
    """Make what the hand is to reach for."""
    target = link(bpy.data.objects.new("Target", None))
    target.empty_display_type = "SPHERE"
    target.empty_display_size = 0.07
    target.location = (0.66, -0.12, 1.66)
    return target


def select(rig: Any, target: bpy.types.Object | None, bone: str) -> None:
    """Select the target, then the armature, and click a bone in Pose Mode."""
    bpy.ops.object.select_all(action="DESELECT")
    if target is not None:
        target.select_set(True)
    rig.select_set(True)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="DESELECT")
    rig.pose.bones[bone].select = True
    rig.data.bones.active = rig.data.bones[bone]


def areas(kind: str) -> Iterator[tuple[Any, Any]]:
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == kind:
                yield window, area


def close(*kinds: str) -> None:
    """Close the editors of these kinds, so that the others have their place."""
    for kind in kinds:
        for window, area in list(areas(kind)):
            with bpy.context.temp_override(window=window, area=area):
                bpy.ops.screen.area_close()


def look(sidebar: bool) -> None:
    """Turn the 3D view to the figure, and show its sidebar with our tab."""
    for window, area in areas("VIEW_3D"):
        space = area.spaces.active
        space.shading.color_type = "OBJECT"
        with bpy.context.temp_override(window=window, area=area):
            # Without an area in the context this crashes Blender 5.2.
            space.show_region_toolbar = False
            space.show_region_ui = sidebar
        space.overlay.show_relationship_lines = False
        space.overlay.show_cursor = False
        space.region_3d.view_perspective = "PERSP"
        space.region_3d.view_location = (0.54, 0.0, 1.36)
        space.region_3d.view_distance = 1.6
        space.region_3d.view_rotation = (
            Matrix.Rotation(radians(18), 4, "Z") @ Matrix.Rotation(radians(78), 4, "X")
        ).to_quaternion()


def open_tab() -> None:
    """Show our tab of the sidebar, once that was drawn and knows its tabs."""
    for _window, area in areas("VIEW_3D"):
        region = next(one for one in area.regions if one.type == "UI")
        if area.spaces.active.show_region_ui:
            region.active_panel_category = "FABRIK"


def prepare(step: str) -> None:
    """Bring Blender to where a step of the quick start is, or to what the overlay shows."""
    rig = build()
    target = make_target()
    select(rig, target, "Forearm")
    if step in ("panel", "properties", "pole"):
        bpy.ops.fabrik.constraint_add(chain_count=2)
    if step == "pole":
        bpy.ops.fabrik.pole_add()
    if step == "overlay":
        prepare_overlay(rig, target)


def prepare_overlay(rig: Any, target: bpy.types.Object) -> None:
    """Let the arm miss its target, with a shoulder and an elbow that are limited."""
    bpy.ops.fabrik.constraint_add(chain_count=2)
    bpy.ops.fabrik.pole_add()
    rig.fabrik.constraints[0].name = "Arm"
    shoulder, elbow = (rig.pose.bones[name].fabrik_joint for name in ("Upper Arm", "Forearm"))
    shoulder.limit_type, shoulder.swing_x, shoulder.swing_z = "CONE", radians(50), radians(35)
    elbow.limit_type, elbow.hinge_axis = "HINGE", "Z"
    elbow.hinge_min, elbow.hinge_max = radians(-10), radians(10)
    target.location = (1.1, -0.2, 1.62)
    rig.pose.bones["Forearm"].select = False
    rig.data.bones.active = rig.data.bones["Upper Arm"]


def arrange(step: str) -> None:
    """Leave the editors open that the step is about."""
    close("OUTLINER", "DOPESHEET_EDITOR", "PROPERTIES")
    if step == "properties":
        window, view = next(areas("VIEW_3D"))
        with bpy.context.temp_override(window=window, area=view):
            bpy.ops.screen.area_split(direction="VERTICAL", factor=0.68)
        properties: Any = next(area for _window, area in areas("VIEW_3D") if area != view)
        properties.type = "PROPERTIES"
        properties.spaces.active.context = "BONE_CONSTRAINT"
    look(sidebar=step in ("panel", "pole"))


def main() -> None:
    """Register the extension from this folder and set the scene once the window is up."""
    sys.path.insert(0, str(ROOT))
    import addon

    preferences = bpy.context.preferences
    preferences.view.show_splash = False
    preferences.view.ui_scale = 1.3
    preferences.view.show_tooltips = False
    preferences.view.smooth_view = 0
    addon.register()
    step = sys.argv[sys.argv.index("--") + 1]

    # Each of these needs what the one before has drawn.
    actions = [lambda: prepare(step), lambda: arrange(step), open_tab]

    def act() -> float | None:
        window = bpy.context.window_manager.windows[0]
        with bpy.context.temp_override(window=window):
            actions.pop(0)()
        return 1.5 if actions else None

    bpy.app.timers.register(act, first_interval=1.0)


main()
