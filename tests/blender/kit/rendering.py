"""Rendering with an engine that records the depsgraph instead of drawing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import bpy
from rigs import link, pose_bits

Look = Callable[[bpy.types.Depsgraph], object]


def bones_of(depsgraph: bpy.types.Depsgraph) -> bytes:
    """Return the matrices of all evaluated bones of a depsgraph as bytes."""
    armatures = [ob.original for ob in depsgraph.objects if ob.type == "ARMATURE"]
    return pose_bits(*sorted(armatures, key=lambda ob: ob.name), depsgraph=depsgraph)


class Witness(bpy.types.RenderEngine):
    """A render engine that records the result of `look` for each frame, and draws nothing."""

    bl_idname = "TEST_WITNESS"
    bl_label = "Witness"
    look: Look = bones_of
    seen: dict[int, object] = {}  # noqa: RUF012

    def render(self, depsgraph: bpy.types.Depsgraph) -> None:
        scene, kind = depsgraph.scene, type(self)
        kind.seen[scene.frame_current] = kind.look(depsgraph)
        size = scene.render.resolution_x, scene.render.resolution_y
        self.end_result(self.begin_result(0, 0, *size))


@contextmanager
def witnessed(look: Look = bones_of) -> Iterator[dict[int, object]]:
    """Render with `Witness` within a context.

    Args:
        look: Is called with the depsgraph of each render.

    Yields:
        Its results by frame.
    """
    scene = bpy.context.scene
    Witness.look, Witness.seen = look, {}
    bpy.utils.register_class(Witness)
    scene.render.engine = Witness.bl_idname
    scene.render.resolution_x = scene.render.resolution_y = 4
    scene.camera = link(bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera")))
    with TemporaryDirectory() as folder:
        scene.render.filepath = f"{folder}/frame"
        try:
            yield Witness.seen
        finally:
            bpy.context.scene.render.engine = "CYCLES"
            bpy.utils.unregister_class(Witness)


def rendered(first: int, last: int, step: int = 1, look: Look = bones_of) -> dict[int, object]:
    """Render frames of the scene with `Witness`, and return its results by frame."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end, scene.frame_step = first, last, step
    with witnessed(look) as seen:
        bpy.ops.render.render(animation=True)
    return seen
