"""Set the stage inside a Blender with a window, and report what is on it; see window.py and
agent.py.

Nothing here does what the animator does: that is done by real events.
"""

from collections.abc import Iterator
from math import cos, hypot, radians, sin
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bpy
from bpy_extras.view3d_utils import location_3d_to_region_2d
from downloaded import make_mixamo
from install import install
from layouts import Layout
from mathutils import Matrix, Vector
from rigs import curves, evaluated, go, link, make_armature, make_chain, tip_error

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
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
    clear()
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


def make_target() -> bpy.types.Object:
    """Make what the hand is to reach for."""
    target = link(bpy.data.objects.new("Target", None))
    target.empty_display_type = "SPHERE"
    target.empty_display_size = 0.07
    target.location = (0.66, -0.12, 1.66)
    return target


def select(rig: Any, target: bpy.types.Object | None, bone: str) -> None:
    """Select the target, then the armature, and click a bone in Pose Mode."""
    if bpy.context.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.object.select_all(action="DESELECT")
    if target is not None:
        target.select_set(True)
    rig.select_set(True)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="DESELECT")
    rig.pose.bones[bone].select = True
    rig.data.bones.active = rig.data.bones[bone]


def clear() -> None:
    """Remove all objects."""
    for ob in list(bpy.data.objects):
        bpy.data.objects.remove(ob)
    bpy.context.view_layer.update()


def prepare_legs() -> None:
    """Make a body that goes ahead over a floor, and select the last bones of its four legs."""
    clear()
    bones: dict[str, Any] = {"Body": ((0, 0.2, 0.4), (0, -0.2, 0.4), "")}
    for name, x, y in (("FL", 1, -1), ("FR", -1, -1), ("BL", 1, 1), ("BR", -1, 1)):
        joints = [(0.1 * x, 0.2 * y, 0.4), (0.3 * x, 0.3 * y, 0.5), (0.5 * x, 0.4 * y, 0.0)]
        bones[f"Thigh.{name}"] = (joints[0], joints[1], "Body")
        bones[f"Shin.{name}"] = (joints[1], joints[2], f"Thigh.{name}")
    rig: Any = make_armature(bones, "Walker")
    body = rig.pose.bones["Body"]
    for frame, way in ((1, 0.0), (40, 2.0)):
        body.location = (0, way, 0)
        body.keyframe_insert("location", frame=frame)
    bpy.ops.mesh.primitive_plane_add(size=12)
    bpy.context.scene.frame_end = 40
    bpy.context.scene.frame_set(1)
    select(rig, None, "Shin.FL")
    for bone in rig.pose.bones:
        bone.select = bone.name.startswith("Shin")


def prepare_join() -> None:
    """Make two figures with a constraint each, selected in Object Mode, the first one active."""
    rig = build()
    other = link(bpy.data.objects.new("Other", rig.data.copy()))
    other.location.x = 2.0
    for figure in (rig, other):
        item = figure.fabrik.constraints.add()
        item.name, item.bone, item.chain_count = "Arm", "Forearm", 2
        item.target = make_target()
        item.target.location.x += figure.location.x
    bpy.ops.object.select_all(action="DESELECT")
    other.select_set(True)
    rig.select_set(True)
    bpy.context.view_layer.objects.active = rig


def prepare_line() -> None:
    """Make a chain of bones and something to hang it on or lead it by, and select both."""
    clear()
    rig = make_chain(5, "Line")
    hook = link(bpy.data.objects.new("Hook", None))
    hook.location = (1.5, 0.5, 3)
    select(rig, hook, "B4")


def prepare_face() -> None:
    """Make a head with two eyes and a tail, and enter Pose Mode with nothing selected."""
    clear()
    rig = make_armature(
        {
            "Head": ((0, 0, 1), (0, 0, 1.4), ""),
            "Eye.L": ((0.2, -0.2, 1.2), (0.2, -0.5, 1.2), "Head"),
            "Eye.R": ((-0.2, -0.2, 1.2), (-0.2, -0.5, 1.2), "Head"),
            "Tail": ((0, 0, 1), (0.5, 0, 0.7), "Head"),
            "Tail2": ((0.5, 0, 0.7), (0.9, 0, 0.8), "Tail"),
            "Tail3": ((0.9, 0, 0.8), (1.2, 0, 1.1), "Tail2"),
        },
        "Face",
    )
    rig.show_in_front = True
    select(rig, None, "Head")
    bpy.ops.pose.select_all(action="DESELECT")


def prepare_hair() -> None:
    """Choose the ponytail of the sample."""
    rig: Any = bpy.data.objects["Rig"]
    select(rig, None, "Hair 1")
    rig.fabrik.active_index = [item.bone for item in rig.fabrik.constraints].index("Hair 6")
    bpy.context.scene.frame_set(20)


def chosen(rig: str) -> Any:
    """Return the constraint that is chosen in the list of an armature."""
    fabrik: Any = getattr(bpy.data.objects[rig], "fabrik")  # noqa: B009 - no stub has it
    return fabrik.constraints[fabrik.active_index]


def prepare_picture() -> None:
    """Let what is on the stage be rendered in no time, in the place of the 3D view."""
    render = bpy.context.scene.render
    render.engine = "BLENDER_WORKBENCH"
    render.resolution_x, render.resolution_y = 160, 90
    camera = link(bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera")))
    camera.location, camera.rotation_euler = (0, -6, 2.5), (1.2, 0, 0)
    bpy.context.scene.camera = camera
    bpy.context.preferences.view.render_display_type = "AREA"


def feet(rig: str) -> list[float]:
    """Return how far the feet of what `prepare_legs` made are above the floor."""
    armature: Any = evaluated(bpy.data.objects[rig])
    shins = [bone for bone in armature.pose.bones if bone.name.startswith("Shin")]
    return [(armature.matrix_world @ bone.tail).z for bone in shins]


def timeline(frame: int | None = None) -> list[float]:
    """Return where the timeline is on the screen, as `box` does, or where to click for a frame."""
    window, area = next(areas("DOPESHEET_EDITOR"))
    region = region_of(area, "WINDOW")
    top = window.height - region.y - region.height
    if frame is None:
        return [region.x, top, region.width, region.height]
    x, _ = region.view2d.view_to_region(frame, 0.0, clip=False)
    return [region.x + x, top + 0.3 * region.height]


def shows_picture() -> bool:
    """Return whether the place of the 3D view shows what was rendered."""
    return any(True for _ in areas("IMAGE_EDITOR"))


def picture_box() -> list[int]:
    """Return the lower left of the place that shows what was rendered, as `box` does."""
    window, area = next(areas("IMAGE_EDITOR"))
    region = region_of(area, "WINDOW")
    return [region.x, window.height - region.y - 100, region.width // 2, 100]


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


def show_dope_sheet() -> None:
    """Give a part of the 3D view's place to the dope sheet."""
    window, area = next(areas("VIEW_3D"))
    with bpy.context.temp_override(window=window, area=area, region=region_of(area, "WINDOW")):
        bpy.ops.screen.area_split(direction="HORIZONTAL", factor=0.3)
    added = window.screen.areas[-1]
    added.type = "DOPESHEET_EDITOR"
    added.spaces.active.mode = "DOPESHEET"


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


def open_tab() -> bool:
    """Show our tab of the sidebar; False until that was drawn and knows its tabs."""
    for _window, area in areas("VIEW_3D"):
        region = region_of(area, "UI")
        if area.spaces.active.show_region_ui:
            try:
                region.active_panel_category = "FABRIK"
            except TypeError:
                return False
    return True


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
    close("OUTLINER", "PROPERTIES")
    if step != "timeline":
        close("DOPESHEET_EDITOR")
    if step == "properties":
        window, view = next(areas("VIEW_3D"))
        with bpy.context.temp_override(window=window, area=view):
            bpy.ops.screen.area_split(direction="VERTICAL", factor=0.68)
        properties: Any = next(area for _window, area in areas("VIEW_3D") if area != view)
        properties.type = "PROPERTIES"
        properties.spaces.active.context = "BONE_CONSTRAINT"
    look(sidebar=step in ("panel", "pole", "timeline"))


def is_up() -> bool:
    """Return whether the window and its editors are there."""
    return any(region_of(area, "WINDOW").width > 1 for _window, area in areas("VIEW_3D"))


def set_up(package: str) -> None:
    """Install the extension from its zip, and have nothing come and go by itself."""
    install(Path(package))
    preferences = bpy.context.preferences
    preferences.view.show_splash = False
    preferences.view.ui_scale = 1.3
    preferences.view.show_tooltips = False
    preferences.view.smooth_view = 0
    # A number that is dragged would have the mouse come and go, against what moves it here.
    preferences.inputs.use_mouse_continuous = False


def empty() -> None:
    """Start a new file, as Blender's factory has it."""
    watch()
    bpy.ops.wm.read_homefile(use_factory_startup=True)


def remember(message: str) -> None:
    """Make a step of what was set up, so that Undo goes back to it and not beyond."""
    bpy.ops.ed.undo_push(message=message)


def take(name: str) -> None:
    """Select an object alone, in Object Mode."""
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.object.select_all(action="DESELECT")
    bpy.data.objects[name].select_set(True)
    bpy.context.view_layer.objects.active = bpy.data.objects[name]


def travel(name: str) -> None:
    """Key an object to go in a curve about where it is, from frame 1 to 40, again and again."""
    ob = bpy.data.objects[name]
    place = ob.location.copy()
    steps = {1: (0, 0, 0), 14: (0.1, 0, -0.3), 27: (-0.1, 0.1, 0), 40: (0, 0, 0)}
    for frame, step in steps.items():
        ob.location = place + Vector(step)
        ob.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_end = 40
    bpy.context.scene.frame_set(1)


def tip_off(rig: str, bone: str, target: str) -> float:
    """Return how far a bone's tail is from an object, as they were evaluated last."""
    return tip_error(bpy.data.objects[rig], bone, bpy.data.objects[target])


def path_off(rig: str, bone: str) -> float:
    """Return how far the motion path of a bone's tail is from it at the current frame."""
    armature: Any = bpy.data.objects[rig]
    path = armature.pose.bones[bone].motion_path
    point = path.points[bpy.context.scene.frame_current - path.frame_start].co
    shown: Any = evaluated(armature)
    return (shown.matrix_world @ shown.pose.bones[bone].tail - point).length


def middle(rig: str, bone: str) -> Vector:
    """Return where the middle of a bone is in the world, as it was evaluated last."""
    armature: Any = evaluated(bpy.data.objects[rig])
    posed = armature.pose.bones[bone]
    return armature.matrix_world @ ((posed.head + posed.tail) / 2)


def pose(rig: str) -> list[float]:
    """Return the matrices of all bones, as they were evaluated last."""
    bones: Any = evaluated(bpy.data.objects[rig]).pose.bones
    return [x for bone in bones for row in bone.matrix for x in row]


def played(rig: str, frames: tuple[int, ...]) -> list[float]:
    """Return the matrices of all bones at some frames."""
    numbers: list[float] = []
    for frame in (*frames, bpy.context.scene.frame_current):
        go(frame)
        numbers += pose(rig)
    return numbers


def keyed_bones(rig: str) -> list[str]:
    """Return the bones that the armature's action has keys for."""
    paths = [curve.data_path.split('"') for curve in curves(bpy.data.objects[rig])]
    return sorted({path[1] for path in paths if path[0] == "pose.bones["})


watched: dict[int, float] = {}
_watching: list[Any] = []


def watch(*names: str) -> None:
    """Note at each frame that is drawn what `tip_off` is; without names, stop it."""
    while _watching:
        bpy.types.SpaceView3D.draw_handler_remove(_watching.pop(), "WINDOW")
    watched.clear()

    def note() -> None:
        watched[bpy.context.scene.frame_current] = tip_off(*names)

    if names:
        _watching.append(bpy.types.SpaceView3D.draw_handler_add(note, (), "WINDOW", "POST_PIXEL"))


def open_sample(name: str) -> None:
    """Open a sample, and keep the editors; what comes next needs a context of its own."""
    bpy.ops.wm.open_mainfile(filepath=str(SAMPLES / f"{name}.blend"), load_ui=False)


def prepare_film(scene: str) -> None:
    """Set the stage for a moving picture of the manual; see films.py."""
    {
        "body": _film_body,
        "captured": _film_captured,
        "controls": _film_controls,
        "hand": _film_hand,
        "joint": _film_joint,
        "metarig": _film_metarig,
        "mirror": _film_mirror,
        "roll": _film_roll,
        "sample": _film_sample,
        "snake": _film_snake,
    }[scene]()


def _film_body() -> None:
    """Show the wooden figure alone, before it moves."""
    rig: Any = bpy.data.objects["Rig"]
    for ob in bpy.data.objects:
        if ob.name in ("Camera", "Sun", "Studio"):
            ob.hide_set(True)
    select(rig, None, "Hand.L" if "Hand.L" in rig.pose.bones else rig.fabrik.constraints[0].bone)
    go(1)


def _film_hand() -> None:
    """Let the hand of the figure reach for a target that has a direction."""
    rig = build()
    target = make_target()
    target.empty_display_type, target.empty_display_size = "ARROWS", 0.2
    target.rotation_euler.z = radians(-90)  # Its Y axis, along which the hand lies, to the side.
    select(rig, target, "Hand")
    bpy.ops.fabrik.constraint_add(chain_count=3)


def _film_joint() -> None:
    """Limit the elbow of the figure, which is selected, as a hinge."""
    rig: Any = build()
    target = make_target()
    select(rig, target, "Forearm")
    bpy.ops.fabrik.constraint_add(chain_count=2)
    elbow = rig.pose.bones["Forearm"].fabrik_joint
    elbow.limit_type, elbow.hinge_axis = "HINGE", "Z"
    elbow.hinge_min, elbow.hinge_max = radians(-60), radians(60)


def _film_captured() -> None:
    """Take the constraints from the sample of a run that is keyed on the bones at each frame."""
    rig: Any = bpy.data.objects["Rig"]
    bpy.context.view_layer.objects.active = rig
    while rig.fabrik.constraints:
        bpy.ops.fabrik.constraint_remove()
    select(rig, None, "Foot.L")
    for ob in bpy.data.objects:
        if ob.name.startswith("Foot target") or ob.name in ("Camera", "Sun", "Studio"):
            ob.hide_set(True)
    rig.show_in_front = True
    go(30)


def _figure_alone() -> Any:
    """Return the rig of a figure on hills without its constraints; hide all that is around it."""
    rig: Any = bpy.data.objects["Rig"]
    select(rig, None, "Foot.L")
    bpy.ops.pose.select_all(action="SELECT")
    bpy.ops.fabrik.ik_clear()
    for ob in bpy.data.objects:
        ob.hide_set(ob.name != "Rig" and ob.find_armature() is None and ob.parent != rig)
    return rig


def _film_controls() -> None:
    """Leave a figure on hills alone, as its first frame poses it, and set it up."""
    rig = _figure_alone()
    rig.animation_data_clear()
    bpy.ops.pose.transforms_clear()
    select(rig, None, "Pelvis")
    bpy.ops.fabrik.character_set_up()


def _film_metarig() -> None:
    """Add the human of Rigify, as the first steps do, in Object Mode."""
    clear()
    bpy.ops.preferences.addon_enable(module="rigify")
    bpy.ops.object.armature_human_metarig_add()


def _film_mirror() -> None:
    """Leave a puppet the constraint of its left arm alone."""
    rig: Any = bpy.data.objects["Rig"]
    items = rig.fabrik.constraints
    for name in [item.name for item in items if item.name != "Arm.L"]:
        items.remove(items.find(name))
    for ob in list(bpy.data.objects):
        if ob.name.endswith((".R ball", "target.R", "pole.R")):
            bpy.data.objects.remove(ob)
        elif ob.name in ("Camera", "Sun", "Studio"):
            ob.hide_set(True)
    select(rig, None, "Forearm.L")
    rig.fabrik.active_index = 0
    go(1)


def _film_roll() -> None:
    """Leave a figure on hills the constraint of its left foot alone, with a control that rolls."""
    rig = _figure_alone()
    select(rig, None, "Foot.L")
    bpy.ops.fabrik.limb_add()
    select(rig, None, rig.fabrik.constraints[0].roll.control)
    rig.pose.bones["Foot IK.L"].hide = True


def _film_sample() -> None:
    """Show the figure with its arm, whose target travels."""
    prepare("pole")
    travel("Target")


def _film_snake() -> None:
    """Make a snake that follows a leader on a winding way, simulated."""
    clear()
    joints = [(0.0, -0.25 * i, 0.0) for i in range(14)][::-1]
    rig: Any = make_chain(13, "Snake", joints)
    leader = link(bpy.data.objects.new("Leader", None))
    leader.empty_display_type, leader.empty_display_size = "SPHERE", 0.12
    for frame in range(1, 91, 8):
        leader.location = (0.9 * sin(frame / 9), frame / 22, 0.0)
        leader.keyframe_insert("location", frame=frame)
    item = rig.fabrik.constraints.add()
    item.name, item.bone, item.chain_count = "Snake", "B12", 0
    item.solver, item.target = "FOLLOW", leader
    bpy.context.scene.frame_end = 88
    rig.show_in_front = True
    bpy.ops.fabrik.simulate()


def look_at(center: Any, distance: float, turn: float = 18.0, rise: float = 12.0) -> None:
    """Turn the 3D view to a place, from a distance, by angles in degrees."""
    for _window, area in areas("VIEW_3D"):
        view = area.spaces.active.region_3d
        view.view_perspective, view.view_location, view.view_distance = "PERSP", center, distance
        view.view_rotation = (
            Matrix.Rotation(radians(turn), 4, "Z") @ Matrix.Rotation(radians(90.0 - rise), 4, "X")
        ).to_quaternion()
        area.tag_redraw()


def take_tool(name: str) -> None:
    """Choose a tool of the 3D view."""
    window, area = next(areas("VIEW_3D"))
    with bpy.context.temp_override(window=window, area=area, region=region_of(area, "WINDOW")):
        bpy.ops.wm.tool_set_by_id(name=name)


def have_blenders_ik() -> None:
    """Give the figure's arm a constraint of Blender's own."""
    ik: Any = bpy.data.objects["Figure"].pose.bones["Forearm"].constraints.new("IK")
    ik.target, ik.chain_count = bpy.data.objects["Target"], 2


def bones_of(rig: Any) -> dict[str, list[list[float]]]:
    """Return head and tail of each bone, as they are in the present mode."""
    bones = rig.data.edit_bones if rig.mode == "EDIT" else rig.data.bones
    ends = ("head", "tail") if rig.mode == "EDIT" else ("head_local", "tail_local")
    return {
        bone.name: [[round(x, 3) for x in getattr(bone, end)] for end in ends] for bone in bones
    }


def bone_middle(rig: Any, name: str) -> Vector:
    """Return where the middle of a bone is in the world, in Edit Mode or as it is posed."""
    if rig.mode == "EDIT":
        bone = rig.data.edit_bones[name]
        return rig.matrix_world @ ((bone.head + bone.tail) / 2)
    return middle(rig.name, name)


def modal() -> str:
    """Return the operator that has the mouse now, an empty text if none has.

    One whose class was taken away is there as None until the next event.
    """
    running = [one for one in bpy.context.window_manager.windows[0].modal_operators if one]
    return running[0].bl_idname if running else ""


def region_of(area: Any, kind: str) -> Any:
    return next(region for region in area.regions if region.type == kind)


def box(kind: str = "WINDOW") -> list[int]:
    """Return the part of the screen (see window.py) that a region of the 3D view fills.

    The sidebar lies over the view, and isn't part of it here.
    """
    window, area = next(areas("VIEW_3D"))
    region = region_of(area, kind)
    width = region.width
    if kind == "WINDOW" and area.spaces.active.show_region_ui:
        width -= region_of(area, "UI").width
    return [region.x, window.height - region.y - region.height, width, region.height]


def seen(location: Any) -> list[float]:
    """Return where on the screen a place of the world is seen in the 3D view."""
    window, area = next(areas("VIEW_3D"))
    region = region_of(area, "WINDOW")
    x, y = location_3d_to_region_2d(region, area.spaces.active.region_3d, Vector(location))
    return [region.x + x, window.height - 1 - region.y - y]


def grid(kind: str, is_one_column: bool = False) -> list[list[int]]:
    """Return places of a region of the 3D view with all its buttons among them.

    Those near the upper right corner come first: there are the buttons of lists and titles. One
    column of them is in the middle of the right half.
    """
    step = round(14 * bpy.context.preferences.system.ui_scale)  # A button is 20 high or more.
    left, top, width, height = box(kind)
    across = range(step // 2, width - step, step)  # A region's edge is there to be dragged.
    if is_one_column:
        across = (round(0.7 * width),)
    places = [(x, y) for x in across for y in range(step // 2, height, step)]
    places.sort(key=lambda place: hypot(width - place[0], place[1]))
    return [[left + x, top + y] for x, y in places]


def hovered(kind: str) -> str:
    """Return what the button under the mouse calls or sets; an empty text without one.

    This asks Blender for what Ctrl+C and Ctrl+Shift+Alt+C over a button give, in a region of the
    3D view.
    """
    window, area = next(areas("VIEW_3D"))
    with bpy.context.temp_override(window=window, area=area, region=region_of(area, kind)):
        if bpy.ops.ui.copy_python_command_button.poll():
            bpy.ops.ui.copy_python_command_button()
        elif bpy.ops.ui.copy_data_path_button.poll():
            bpy.ops.ui.copy_data_path_button(full_path=True)
        else:
            return ""
    return bpy.context.window_manager.clipboard


def panel_texts(name: str) -> list[str]:
    """Return the texts that a panel of the sidebar shows now."""
    window, area = next(areas("VIEW_3D"))
    panel, layout = getattr(bpy.types, name), Layout()
    with bpy.context.temp_override(window=window, area=area, region=region_of(area, "UI")):
        panel.draw(SimpleNamespace(layout=layout), bpy.context)
    return layout.shown


def show_tools() -> None:
    """Show the toolbar."""
    window, area = next(areas("VIEW_3D"))
    with bpy.context.temp_override(window=window, area=area):
        area.spaces.active.show_region_toolbar = True


def tool() -> str:
    """Return the tool that the 3D view has in its present mode."""
    return bpy.context.workspace.tools.from_space_view3d_mode(bpy.context.mode).idname


def prepare_downloaded() -> None:
    """Make a downloaded character, and enter Pose Mode with nothing selected."""
    clear()
    rig = make_mixamo()
    rig.rotation_euler.z = 0.0
    rig.show_in_front = True
    select(rig, None, "mixamorig:Hips")
    bpy.ops.pose.select_all(action="DESELECT")


def prepare_cup(hand: str) -> None:
    """Key the downloaded character's body and arm, and select a cup beside its hand."""
    rig: Any = bpy.data.objects["Downloaded"]
    hips = "mixamorig:Hips"
    arm, body = (rig.pose.bones[name] for name in (hand.replace("Hand", "Arm"), hips))
    arm.rotation_mode = "XYZ"
    # The body goes toward its stretched arm, so that the hand can stay behind.
    way = 0.1 * (rig.pose.bones[hand].head - body.head)
    way.y = way.z = 0.0
    for frame, share in ((1, 0.0), (25, 1.0)):
        arm.rotation_euler.z = 0.4 * share
        body.location = share * (body.bone.matrix_local.to_3x3().inverted() @ way)
        arm.keyframe_insert("rotation_euler", frame=frame)
        body.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_end = 40
    go(1)
    place = rig.matrix_world @ rig.pose.bones[hand].tail
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.mesh.primitive_cylinder_add(radius=0.04, depth=0.1, location=place)
    cup = bpy.context.object
    cup.name = "Cup"
    select(rig, cup, hips)
    bpy.ops.pose.select_all(action="DESELECT")


DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def key_up(ob: Any, frame: int) -> None:
    """Key an object where it is, and by its own size higher at a frame."""
    ob.keyframe_insert("location", frame=1)
    ob.location.z += ob.dimensions.z
    ob.keyframe_insert("location", frame=frame)
    go(1)


def has_data(name: str) -> bool:
    """Return whether a rig lies beside the checkout."""
    return (DATA / name).exists()


def prepare_first(kind: str) -> str:
    """Make one of the rigs that a user starts with, over a floor, and return its name.

    It is in Pose Mode with nothing selected, seen in full beside the sidebar.
    """
    clear()
    FIRST[kind]()
    rig = next(ob for ob in bpy.data.objects if ob.type == "ARMATURE" and not ob.hide_get())
    bpy.ops.mesh.primitive_plane_add(size=20)
    # Importers leave the meshes selected.
    for ob in bpy.data.objects:
        ob.select_set(ob.parent == rig or ob == rig)
    rig.show_in_front = True
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="DESELECT")
    bpy.context.scene.frame_end = 20
    arrange("panel")
    look_at((0.0, 0.0, 1.0), 5.0, 25, 12)
    return rig.name


def _first_extruded() -> None:
    joints = [(0.0, 0.0, float(z)) for z in (0, 0.6, 1.2, 1.8)]
    make_chain(3, "Extruded", joints)


def _first_metarig() -> None:
    bpy.ops.preferences.addon_enable(module="rigify")
    bpy.ops.object.armature_human_metarig_add()


def _first_generated() -> None:
    _first_metarig()
    plain = bpy.context.object
    bpy.ops.pose.rigify_generate()
    bpy.data.objects.remove(plain)


def _first_knight() -> None:
    bpy.ops.import_scene.gltf(filepath=str(DATA / "kaykit_knight.glb"))
    _at_rest()


def _first_human() -> None:
    bpy.ops.import_scene.gltf(filepath=str(DATA / "m2m_human-addon-animations.glb"))
    _at_rest()


def _at_rest() -> None:
    rig: Any = next(ob for ob in bpy.data.objects if ob.type == "ARMATURE")
    rig.animation_data_clear()
    for bone in rig.pose.bones:
        bone.matrix_basis = Matrix()


FIRST = {
    "extruded": _first_extruded,
    "metarig": _first_metarig,
    "generated": _first_generated,
    "knight": _first_knight,
    "human": _first_human,
}


def face_hand(bone: str) -> None:
    """Turn the 3D view to a hand, from the front."""
    close("OUTLINER", "DOPESHEET_EDITOR", "PROPERTIES")
    look(sidebar=False)
    for _window, area in areas("VIEW_3D"):
        view = area.spaces.active.region_3d
        view.view_location = middle("Downloaded", bone)
        view.view_distance = 1.2
        view.view_rotation = (Matrix.Rotation(radians(90), 3, "X")).to_quaternion()


def face_hand_beside() -> None:
    """Turn the 3D view back to the hand of the downloaded character, beside the sidebar."""
    for _window, area in areas("VIEW_3D"):
        view = area.spaces.active.region_3d
        view.view_location = middle("Downloaded", "mixamorig:LeftHand")
        view.view_distance = 1.2


def hand_off(rig: str, bone: str) -> float:
    """Return how far the head of a bone is from the control bone of the first constraint."""
    posed: Any = evaluated(bpy.data.objects[rig]).pose.bones
    control = bpy.data.objects[rig].fabrik.constraints[0].subtarget
    return (posed[bone].head - posed[control].head).length


def prepare_actions() -> None:
    """Make an action of another character that rotates the forearm, and click it."""
    rig = build()
    bone: Any = rig.pose.bones["Forearm"]
    bone.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.0), (20, 1.2)):
        bone.rotation_euler.x = angle
        bone.keyframe_insert("rotation_euler", frame=frame)
    rig.animation_data.action.use_fake_user = True
    rig.animation_data_clear()
    bone.rotation_euler.x = 0.0
    select(rig, None, "Forearm")


def straighten() -> None:
    """Make an arm that is straight at rest, and click its forearm."""
    clear()
    rig = make_armature(
        {
            "Upper Arm": ((0.2, 0, 1.4), (0.6, 0, 1.4), ""),
            "Forearm": ((0.6, 0, 1.4), (1.0, 0, 1.4), "Upper Arm"),
        },
        "Figure",
    )
    select(rig, None, "Forearm")


def prepare_panel() -> None:
    """Give the figure's arm a constraint with a target, and show its settings in the sidebar."""
    prepare("panel")
    arrange("panel")


def have_limit() -> None:
    """Let the figure's elbow bend so little that the hand does not reach its target."""
    elbow: Any = bpy.data.objects["Figure"].pose.bones["Forearm"].fabrik_joint
    elbow.limit_type, elbow.hinge_axis = "HINGE", "Z"
    elbow.hinge_min, elbow.hinge_max = radians(-10), radians(10)


def link_figure(path: str) -> None:
    """Save the file, start a new one, and link the figure from that."""
    bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
    clear()
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.objects = ["Figure"]
    rig: Any = wanted.objects[0]
    bpy.context.collection.objects.link(rig)
    rig.select_set(True)
    bpy.context.view_layer.objects.active = rig


def offered() -> list[str]:
    """Return the commands of the extension that can be called now, but for those of its files."""
    window, area = next(areas("VIEW_3D"))
    with bpy.context.temp_override(window=window, area=area, region=region_of(area, "UI")):
        return [name for name in dir(bpy.ops.fabrik) if getattr(bpy.ops.fabrik, name).poll()]


def redraw() -> None:
    """Draw all editors anew, as after an edit by hand."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            area.tag_redraw()


def shell_places(rig: str, root: str, length: float) -> list[list[float]]:
    """Return where on the screen the outline of what a chain can reach is, in a parallel view."""
    armature: Any = evaluated(bpy.data.objects[rig])
    _window, area = next(areas("VIEW_3D"))
    middle_of_it = armature.matrix_world @ armature.pose.bones[root].head
    turned = area.spaces.active.region_3d.view_rotation.to_matrix()
    left, top, width, height = box()
    places = [
        seen(middle_of_it + length * (turned @ Vector((cos(angle), sin(angle), 0.0))))
        for angle in (radians(step) for step in range(0, 360, 5))
    ]
    return [
        [x, y]
        for x, y in places
        if left + 9 < x < left + width - 9 and top + 150 < y < top + height - 90
    ]


def plain() -> None:
    """Have a parallel view, with nothing that is red but for what the overlay draws."""
    for _window, area in areas("VIEW_3D"):
        space = area.spaces.active
        space.show_gizmo = False
        overlay = space.overlay
        overlay.show_axis_x = overlay.show_axis_y = overlay.show_floor = False
        overlay.show_text = False
        space.region_3d.view_perspective = "ORTHO"


def red() -> list[int]:
    """Return the theme's color of what is at its limit, as it is on the screen."""
    color = bpy.context.preferences.themes[0].view_3d.bone_locked_weight
    return [round(255 * part) for part in color[:3]]


def target_color() -> list[int]:
    """Return the theme's color of targets in the overlay, as it is on the screen."""
    color = bpy.context.preferences.themes[0].user_interface.gizmo_primary
    return [round(255 * part) for part in color]


def add_head() -> None:
    """Give the figure's head a constraint of its own."""
    rig: Any = bpy.data.objects["Figure"]
    item = rig.fabrik.constraints.add()
    item.name, item.bone, item.chain_count = "Head", "Head", 1
    item.target = bpy.data.objects["Target"]
    bpy.context.view_layer.update()


def reach(rig: str, root: str) -> float:
    """Return the length of a bone and the next."""
    bone: Any = bpy.data.objects[rig].data.bones[root]
    return bone.length + bone.children[0].length


def span() -> list[int]:
    """Return top and bottom of the sidebar on the screen."""
    _left, top, _width, height = box("UI")
    return [top, top + height - 4]


def status_box() -> list[int]:
    """Return the part of the screen where the settings are: Properties, else the sidebar."""
    for window, area in areas("PROPERTIES"):
        region = region_of(area, "WINDOW")
        return [region.x, window.height - region.y - region.height, region.width, region.height]
    return box("UI")
