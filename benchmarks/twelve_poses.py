"""Twelve poses of a character, made by dragging from its rest pose, beside Blender's Auto IK.

python benchmarks/twelve_poses.py FILE FOLDER [NAME ...]

FILE is a .glb, .fbx or .blend with a character that stands and faces −Y. A sheet of pictures is
written to FOLDER: the whole body with pinned feet above, the same drags with Auto IK below. The
error of each drag is printed, as a fraction of the character's size.
"""

from __future__ import annotations

import sys
from math import radians
from pathlib import Path
from typing import Any

import bpy
from mathutils import Vector
from PIL import Image, ImageDraw

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.path.append(str(ROOT / "solver" / "src"))

import addon  # noqa: E402
from addon.body.body import Body  # noqa: E402
from addon.body.looking import body_of  # noqa: E402
from samples.pictures import picture_of  # noqa: E402

OPS: Any = bpy.ops
CONTEXT: Any = bpy.context
DATA: Any = bpy.data

Way = tuple[float, float, float]
Drag = tuple[str, Way]

DOWN: list[Drag] = [("hand.L", (0.2, 0.05, -0.93)), ("hand.R", (0.2, 0.05, -0.93))]

POSES: dict[str, list[Drag]] = {
    "sit": [*DOWN, ("hips", (0.0, -0.4, 0.5))],
    "reach high": [DOWN[1], ("hand.L", (0.05, 0.15, 1.12))],
    "reach to the floor": [
        DOWN[1],
        ("hand.L", (0.0, 0.75, -2.1)),
        ("hand.R", (0.0, 0.1, -0.9)),
    ],
    "kneel": [*DOWN, ("foot.R", (0.0, -0.85, -0.9)), ("hips", (0.0, 0.08, 0.5))],
    "lean on a wall": [DOWN[1], ("hand.L", (0.9, 0.1, 0.15)), ("hips", (0.3, 0.0, 0.93))],
    "push": [
        ("hand.L", (-0.1, 0.85, -0.15)),
        ("hand.R", (-0.1, 0.85, -0.15)),
        ("foot.R", (0.0, -0.6, -0.95)),
        ("hips", (0.0, 0.1, 0.82)),
    ],
    "pull": [
        ("hand.L", (-0.2, 0.85, -0.3)),
        ("hand.R", (-0.2, 0.85, -0.3)),
        ("foot.L", (0.0, 0.35, -0.95)),
        ("hips", (0.0, -0.2, 0.78)),
    ],
    "look behind": [
        ("hand.R", (-0.4, 0.6, -0.6)),
        ("hand.L", (-0.1, -0.7, -0.6)),
        ("gaze", (0.0, 0.0, 60.0)),
    ],
    "step up": [*DOWN, ("foot.L", (0.0, 0.55, -0.5)), ("hips", (0.1, 0.15, 0.72))],
    "crouch under": [
        ("hips", (0.0, -0.25, 0.5)),
        ("head", (0.0, 0.5, -0.4)),
        ("hand.L", (0.15, 0.3, -0.85)),
        ("hand.R", (0.15, 0.3, -0.85)),
    ],
    "wave": [DOWN[0], ("hand.R", (0.45, 0.2, 0.75))],
    "stretch both arms apart": [("hand.L", (0.9, 0.05, 0.6)), ("hand.R", (0.9, 0.05, 0.6))],
}
"""The drags of each pose: outward, forward and up. Hands from their shoulder in lengths of the arm,
feet from their hip in lengths of the leg. The hips from between the feet in their rest height above
these, the head from its position in lengths of the spine. The gaze rotates the head with R instead
of dragging it, by degrees about the world axes.
"""

STAYING = {
    "lean on a wall": ["hand.L"],
    "push": ["hand.L", "hand.R"],
    "pull": ["hand.L", "hand.R"],
    "kneel": ["foot.R"],
}
"""The parts whose location is pinned after dragging them."""

PIXELS = 300


class Stage:
    """A character in its rest pose, with the roles of its bones."""

    def __init__(self, path: Path) -> None:
        OPS.wm.read_factory_settings(use_empty=True)
        if path.suffix == ".blend":
            OPS.wm.open_mainfile(filepath=str(path))
        elif path.suffix == ".fbx":
            OPS.import_scene.fbx(filepath=str(path))
        else:
            OPS.import_scene.gltf(filepath=str(path))
        rigs = [ob for ob in CONTEXT.scene.objects if ob.type == "ARMATURE"]
        self.rig: Any = max(rigs, key=lambda ob: len(ob.pose.bones))
        if self.rig.animation_data is not None:
            self.rig.animation_data_clear()
        for bone in self.rig.pose.bones:
            bone.matrix_basis.identity()
        CONTEXT.view_layer.objects.active = self.rig
        self.rig.select_set(True)
        OPS.object.mode_set(mode="POSE")
        CONTEXT.view_layer.update()
        self.character: Body = body_of(self.rig)
        self.limbs: dict[str, tuple[str, str]] = {}
        names, anatomy = self.character.names, self.character.anatomy
        for limb in anatomy.limbs:
            first, end = names[limb.bones[0]], names[limb.end]
            side = "L" if self.head(first).x > 0.0 else "R"
            kind = "hand" if limb.kind == "ARM" else "foot"
            self.limbs[f"{kind}.{side}"] = first, end
        self.hips, self.skull = names[anatomy.hips], names[anatomy.head]
        heights = [
            (ob.matrix_world @ Vector(corner)).z
            for ob in CONTEXT.scene.objects
            if ob.type == "MESH" and ob.find_armature() is not None
            for corner in ob.bound_box
        ]
        self.floor, self.top = min(heights), max(heights)
        self.height = self.head(self.hips).z - self.head(self.limbs["foot.L"][1]).z

    def head(self, bone: str) -> Vector:
        """Return the head of a bone, in world space."""
        shown = self.rig.evaluated_get(CONTEXT.evaluated_depsgraph_get())
        return shown.matrix_world @ shown.pose.bones[bone].head

    def place(self, what: str, offset: Way) -> tuple[str, Vector]:
        """Return the dragged bone, and the goal in world space."""
        outward, forward, up = offset
        side = -1.0 if what.endswith("R") else 1.0
        goal_offset = Vector((side * outward, -forward, up))
        if what == "head":
            spine = (self.head(self.skull) - self.head(self.hips)).length
            return self.skull, self.head(self.skull) + goal_offset * spine
        if what == "hips":
            feet = [self.head(self.limbs[name][1]) for name in ("foot.L", "foot.R")]
            return self.hips, (feet[0] + feet[1]) / 2 + goal_offset * self.height
        first, end = self.limbs[what]
        size = self.size_of(what)
        return end, self.head(first) + goal_offset * size

    def size_of(self, what: str) -> float:
        """Return the length of a limb along its bones, in world space."""
        first, end = self.limbs[what]
        bones = self.rig.data.bones
        total, bone = 0.0, bones[end]
        while bone.name != first:
            total += (bone.head_local - bone.parent.head_local).length
            bone = bone.parent
        return total * self.rig.matrix_world.median_scale

    def look(self, degrees: Way) -> None:
        """Rotate the head."""
        self._select(self.skull)
        for axis, angle in zip("XYZ", degrees, strict=True):
            OPS.transform.rotate(value=radians(angle), orient_axis=axis, orient_type="GLOBAL")
        CONTEXT.view_layer.update()

    def drag(self, what: str, offset: Way) -> float:
        """Drag with the whole body; return the error, relative to the character's size."""
        if what == "gaze":
            self.look(offset)
            return 0.0
        bone, goal = self.place(what, offset)
        OPS.fabrik.drag(bone=bone, value=goal - self.head(bone))
        CONTEXT.view_layer.update()
        return (self.head(bone) - goal).length / self.character.size

    def drag_alone(self, what: str, offset: Way) -> None:
        """Drag with Blender's Auto IK."""
        if what == "gaze":
            self.look(offset)
            return
        name, goal = self.place(what, offset)
        self._select(name)
        self.rig.pose.use_auto_ik = True
        OPS.transform.translate(value=goal - self.head(name))
        CONTEXT.view_layer.update()

    def _select(self, name: str) -> None:
        for bone in self.rig.pose.bones:
            owner = bone if hasattr(bone, "select") else bone.bone
            owner.select = bone.name == name
        self.rig.data.bones.active = self.rig.data.bones[name]

    def picture(self) -> Image.Image:
        """Return the character from the front and from its left."""
        scene = CONTEXT.scene
        floor, top = self.floor, self.top
        if "Floor" not in DATA.objects:
            _light(scene, floor, top - floor)
        camera = DATA.objects["Eye"]
        both = Image.new("RGB", (2 * PIXELS, PIXELS))
        for at, view in enumerate(((0.35, -1.0, 0.15), (1.0, -0.15, 0.1))):
            back = Vector(view).normalized()
            middle = Vector((0.0, 0.0, floor + 0.5 * (top - floor)))
            camera.location = middle + back * 8.0 * (top - floor)
            camera.rotation_euler = (-back).to_track_quat("-Z", "Y").to_euler()
            camera.data.ortho_scale = 1.45 * (top - floor)
            both.paste(picture_of(scene, (PIXELS, PIXELS), 6), (at * PIXELS, 0))
        return both


def _light(scene: Any, floor: float, height: float) -> None:
    """Add a floor, a sun, and the camera ``Eye``."""
    world = DATA.worlds.new("Sky")
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs[0].default_value = (0.8, 0.85, 0.9, 1.0)
    scene.world = world
    sun = DATA.objects.new("Sun", DATA.lights.new("Sun", "SUN"))
    sun.data.energy = 3.0
    sun.rotation_euler = (0.7, 0.3, 0.3)
    eye = DATA.objects.new("Eye", DATA.cameras.new("Eye"))
    eye.data.type = "ORTHO"
    size = 6.0 * height
    mesh = DATA.meshes.new("Floor")
    square = [(-size, -size, 0.0), (size, -size, 0.0), (size, size, 0.0), (-size, size, 0.0)]
    mesh.from_pydata(square, [], [(0, 1, 2, 3)])
    ground = DATA.objects.new("Floor", mesh)
    ground.location.z = floor
    for ob in (sun, eye, ground):
        scene.collection.objects.link(ob)
    scene.camera = eye


def sheet(path: Path, names: list[str]) -> Image.Image:
    """Return the pictures of some poses, the whole body above Auto IK."""
    columns = min(4, len(names))
    size = 2 * PIXELS, 2 * PIXELS + 16
    whole = Image.new("RGB", (size[0] * columns, size[1] * -(-len(names) // columns)), "white")
    for number, name in enumerate(names):
        at = number % columns * size[0], number // columns * size[1]
        stage = Stage(path)
        for foot in ("foot.L", "foot.R"):
            OPS.fabrik.pin(bone=stage.limbs[foot][1], kind="BOTH")
        misses = []
        for what, offset in POSES[name]:
            misses.append(stage.drag(what, offset))
            if what in STAYING.get(name, ()):
                OPS.fabrik.pin(bone=stage.limbs[what][1], kind="LOCATION")
        print(f"{name}: missed by", *(f"{miss:.3f}" for miss in misses))
        whole.paste(stage.picture(), (at[0], at[1] + 16))
        stage = Stage(path)
        for drag in POSES[name]:
            stage.drag_alone(*drag)
        whole.paste(stage.picture(), (at[0], at[1] + 16 + PIXELS))
        label = f"{name}: {len(POSES[name])} drags"
        ImageDraw.Draw(whole).text((at[0] + 4, at[1] + 2), label, fill="black")
    return whole


def main() -> None:
    """Draw the sheet for the command line's arguments."""
    path, folder, *names = sys.argv[1:]
    addon.register()
    picture = sheet(Path(path), names or list(POSES))
    Path(folder).mkdir(parents=True, exist_ok=True)
    picture.save(Path(folder) / f"{Path(path).stem}.png")
    addon.unregister()


if __name__ == "__main__":
    main()
