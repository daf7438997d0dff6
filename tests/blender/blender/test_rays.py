"""Rays to the ground: world distances whatever the scale, and nobody is a ground to himself."""

from collections.abc import Sequence
from math import radians, sqrt

import bmesh
import bpy
import pytest
from mathutils import Euler, Matrix, Vector
from rendering import rendered
from rigs import activate, add_constraint, go, link, make_chain, make_empty, update

from addon.blender.errors import ProblemError
from addon.blender.rays import Ground, Hit, ground_of
from addon.settings.properties import ends_of

DOWN = (0.0, 0.0, -1.0)


def make_plane(name: str = "Plane", z: float = 0.0) -> bpy.types.Object:
    """Make a square of two triangles around the origin, with its face up."""
    mesh = bpy.data.meshes.new(name)
    corners = [(-10, -10, z), (10, -10, z), (10, 10, z), (-10, 10, z)]
    mesh.from_pydata(corners, [], [(0, 1, 2, 3)])
    return link(bpy.data.objects.new(name, mesh))


def cast(
    ground: Ground,
    origin: Sequence[float] = (0.3, 0.2, 5.0),
    direction: Sequence[float] = DOWN,
    distance: float = 10.0,
) -> Hit | None:
    update()
    depsgraph = bpy.context.view_layer.depsgraph
    return ground.cast(depsgraph, tuple(origin), tuple(direction), distance)


def near(found: Sequence[float], wanted: Sequence[float]) -> bool:
    return (Vector(found) - Vector(wanted)).length < 1e-5


def of(ob: bpy.types.Object) -> Ground:
    return ground_of("OBJECT", ob, None, make_chain(), ())


def test_ray_meets_the_ground_below() -> None:
    plane = make_plane()
    plane.location.z = 0.5
    hit = cast(of(plane))
    assert hit is not None
    assert near(hit.place, (0.3, 0.2, 0.5)) and near(hit.normal, (0, 0, 1)) and hit.ob == plane


@pytest.mark.parametrize("scale", [(3, 3, 3), (0.1, 4, 20), (1, 1, -2), (2, 2, 0)])
def test_distance_is_in_meters_of_the_world_whatever_the_scale(scale: Sequence[float]) -> None:
    plane = make_plane()
    plane.scale = scale
    assert cast(of(plane), distance=5.01) is not None
    assert cast(of(plane), distance=4.99) is None


def test_normal_is_upright_on_the_face_under_uneven_scale() -> None:
    plane = make_plane()
    plane.data.transform(Matrix.Rotation(radians(45), 4, "Y"))
    plane.scale = (1, 1, 3)  # The slope falls by 3 m on each meter along X.
    hit = cast(of(plane))
    assert hit is not None
    assert near(hit.normal, Vector((3, 0, 1)) / sqrt(10))
    assert near(hit.place, (0.3, 0.2, -0.9))


def test_place_and_normal_turn_with_the_world() -> None:
    plane = make_plane()
    plane.data.transform(Matrix.Rotation(radians(20), 4, "X"))
    still = cast(of(plane))
    turn = Euler((0.4, 0.7, -0.2)).to_matrix()
    plane.matrix_world = turn.to_4x4()
    turned = cast(of(plane), turn @ Vector((0.3, 0.2, 5.0)), turn @ Vector(DOWN))
    assert still is not None and turned is not None
    assert near(turned.place, turn @ Vector(still.place))
    assert near(turned.normal, turn @ Vector(still.normal))


def test_back_face_is_hit_and_its_normal_faces_the_ray() -> None:
    hit = cast(of(make_plane()), (0.3, 0.2, -5.0), (0.0, 0.0, 1.0))
    assert hit is not None and near(hit.normal, DOWN)


def test_nearest_object_of_a_collection_is_met() -> None:
    collection = bpy.data.collections.new("Ground")
    bpy.context.scene.collection.children.link(collection)
    inner = bpy.data.collections.new("Inner")
    collection.children.link(inner)
    for name, z, place in (("Low", 0.0, collection), ("High", 1.0, inner), ("Mid", 0.5, inner)):
        place.objects.link(make_plane(name, z=z))
    collection.objects.link(make_empty("Nothing"))
    hit = cast(ground_of("COLLECTION", None, collection, make_chain(), ()))
    assert hit is not None and hit.ob.name == "High" and near(hit.place, (0.3, 0.2, 1.0))


def test_what_cannot_be_ground_is_refused() -> None:
    rig, skin, bare = make_chain(), make_plane("Skin"), bpy.data.collections.new("Bare")
    skin.parent = rig
    for source, ob, collection in (
        ("OBJECT", None, None),
        ("OBJECT", make_empty(), None),
        ("OBJECT", skin, None),
        ("COLLECTION", None, None),
        ("COLLECTION", None, bare),
    ):
        with pytest.raises(ProblemError):
            ground_of(source, ob, collection, rig, ())


def test_hidden_object_that_was_chosen_is_ground() -> None:
    plane = make_plane()
    plane.hide_set(True)
    plane.hide_render = True
    assert cast(of(plane)) is not None


def test_object_that_the_view_layer_leaves_out_breaks_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    plane = make_plane()
    bpy.context.scene.collection.objects.unlink(plane)
    assert cast(of(plane)) is None
    assert capfd.readouterr().err == ""


def test_mesh_without_faces_is_no_ground() -> None:
    assert cast(of(link(bpy.data.objects.new("Bare", bpy.data.meshes.new("Bare"))))) is None


def test_scene_leaves_the_character_out() -> None:
    """Its skin, what it wears, and the handles that it reaches for."""
    rig = make_chain()
    floor = make_plane("Floor", z=-1.0)
    skin = make_plane("Skin", z=0.2)
    skin.modifiers.new("Armature", "ARMATURE").object = rig
    shoe = make_plane("Shoe", z=0.4)
    shoe.parent = rig
    sole = make_plane("Sole", z=0.1)
    sole.parent = shoe
    handle = make_plane("Handle", z=0.5)
    add_constraint(rig, "B2", handle)
    hit = cast(ground_of("SCENE", None, None, rig, ends_of(rig)))
    assert hit is not None and hit.ob == floor and near(hit.place, (0.3, 0.2, -1.0))
    assert cast(ground_of("SCENE", None, None, rig, ends_of(rig)), distance=5.9) is None


def test_scene_without_a_floor_has_no_hit() -> None:
    rig = make_chain()
    for i in range(70):  # More than a ray passes through.
        make_plane(f"Skin{i}", z=0.01 * i).parent = rig
    assert cast(ground_of("SCENE", None, None, rig, ())) is None


def test_instances_are_ground_of_the_scene_and_none_as_an_object() -> None:
    collection = bpy.data.collections.new("Stone")
    stone = make_plane("Stone")
    bpy.context.scene.collection.objects.unlink(stone)
    collection.objects.link(stone)
    instance = make_empty("Instance", (30, 0, 2))
    instance.instance_type = "COLLECTION"
    instance.instance_collection = collection
    hit = cast(ground_of("SCENE", None, None, make_chain(), ()), (30, 0, 5))
    assert hit is not None and near(hit.place, (30, 0, 2)) and hit.ob == stone
    with pytest.raises(ProblemError, match="“Instance” isn't a mesh"):
        of(instance)


def test_ground_counts_as_it_is_deformed_and_moved_at_the_frame() -> None:
    plane = make_plane()
    plane.shape_key_add(name="Basis")
    key = plane.shape_key_add(name="Up")
    for point in key.data:
        point.co.z = 1.0
    key.value = 0.0
    key.keyframe_insert("value", frame=1)
    key.value = 1.0
    key.keyframe_insert("value", frame=11)
    plane.location.z = 0.0
    plane.keyframe_insert("location", frame=1)
    plane.location.z = 2.0
    plane.keyframe_insert("location", frame=11)
    ground = of(plane)
    for frame, wanted in ((1, 0.0), (11, 3.0)):
        go(frame)
        hit = cast(ground)
        assert hit is not None and near(hit.place, (0.3, 0.2, wanted))


@pytest.mark.parametrize("shares", [False, True], ids=["own", "shared"])
def test_mesh_in_edit_mode_is_ground_as_it_is_edited(shares: bool) -> None:
    plane, edited = make_plane(), make_plane("Edited")
    if shares:
        edited.data = plane.data
    else:
        edited = plane
    ground = of(plane)
    activate(edited, "EDIT")
    hit = cast(ground)
    assert hit is not None and near(hit.place, (0.3, 0.2, 0.0))
    mesh = bmesh.from_edit_mesh(edited.data)
    for vertex in mesh.verts:
        vertex.co.z = 0.5
    bmesh.update_edit_mesh(edited.data)
    hit = cast(ground)
    assert hit is not None and near(hit.place, (0.3, 0.2, 0.5))
    bpy.ops.object.mode_set(mode="OBJECT")
    hit = cast(ground)
    assert hit is not None and near(hit.place, (0.3, 0.2, 0.5)) and hit.ob == plane


@pytest.mark.parametrize(
    "hidden", ["", "hide_render", "hide_viewport"], ids=["shown", "no render", "no viewport"]
)
def test_scene_has_the_same_ground_in_viewport_and_render(hidden: str) -> None:
    rig = make_chain()
    floor, step = make_plane("Floor"), make_plane("Step", z=0.5)
    if hidden:
        setattr(step, hidden, True)
    grounds = [ground_of("SCENE", None, None, rig, ()), Ground([floor])]

    def look(depsgraph: bpy.types.Depsgraph) -> list[object]:
        hits = [ground.cast(depsgraph, (0.3, 0.2, 5.0), DOWN, 10.0) for ground in grounds]
        return [hit and hit._replace(ob=hit.ob.name) for hit in hits]

    seen = rendered(1, 1, look=look)[1]
    update()
    assert seen == look(bpy.context.view_layer.depsgraph)
    assert seen[0] is not None and seen[0].ob == ("Floor" if hidden else "Step")
