"""The walk upward from objects and bones to what they follow."""

from itertools import count

import bpy
from rigs import make_chain, make_empty, update

from addon.blender import relations


def test_each_is_met_once_and_after_what_it_hangs_on() -> None:
    rig, other = make_chain(4), make_empty("Other")
    held, world = make_empty("Held"), make_empty("World")
    held.parent, held.parent_type, held.parent_bone = rig, "BONE", "B2"
    rig.parent = other.parent = world
    update()
    starts = [(held, -1), (other, -1), relations.node_of(rig, "B3")]
    found = list(relations.walk_dependencies(starts, relations.parents))
    assert len(found) == len(set(found))
    places = {node: place for node, place in zip(found, count(), strict=False)}
    assert set(places) == {*starts, (world, -1), (rig, -1), *((rig, bone) for bone in range(4))}
    for node in found:
        assert all(places[parent] < places[node] for parent in relations.parents(node))


def test_what_is_known_is_passed_over_with_what_it_hangs_on() -> None:
    rig, world = make_chain(3), make_empty("World")
    rig.parent = world
    found = list(relations.walk_dependencies([(rig, 2)], relations.parents, {(rig, -1), (rig, 0)}))
    assert found == [(rig, 1), (rig, 2)]


def test_it_ends_where_relations_lead_back_and_has_no_depth_that_is_too_much() -> None:
    ring = [(make_empty(f"Ring {i}"), -1) for i in range(3)]
    after = {ring[i]: [ring[(i + 1) % 3]] for i in range(3)}
    assert list(relations.walk_dependencies(ring[:1], after.__getitem__)) == ring[::-1]
    stairs = [(ring[0][0], i) for i in range(5000)]
    found = list(
        relations.walk_dependencies(stairs[-1:], lambda node: stairs[max(node[1], 1) - 1 : node[1]])
    )
    assert found == stairs


def test_a_bone_that_is_missing_stands_for_its_object() -> None:
    rig, held = make_chain(2), make_empty("Held")
    held.parent, held.parent_type, held.parent_bone = rig, "BONE", "Gone"
    assert list(relations.parents((held, -1))) == [(rig, -1)]


def test_what_is_deformed_moves_along_and_so_do_its_children() -> None:
    rig, mover, child = make_chain(2), make_empty("Mover"), make_empty("Child")
    mesh = bpy.data.objects.new("Mesh", bpy.data.meshes.new("Mesh"))
    bpy.context.scene.collection.objects.link(mesh)
    mesh.modifiers.new("Armature", "ARMATURE").object = rig
    mesh.modifiers.new("Empty", "ARMATURE")
    rig.parent, child.parent = mover, mesh
    update()
    assert relations.deformers(mesh) == [rig]
    evaluated = child.evaluated_get(bpy.context.evaluated_depsgraph_get())
    for ob in (child, evaluated, mesh, rig):
        assert relations.moves_with(ob, {mover.session_uid})
    assert not relations.moves_with(mover, {mesh.session_uid, rig.session_uid, child.session_uid})


def test_objects_that_carry_each_other_end_the_walk() -> None:
    """Blender allows an armature to deform a mesh that the armature is parented to."""
    rig, other = make_chain(2), make_empty("Other")
    mesh = bpy.data.objects.new("Mesh", bpy.data.meshes.new("Mesh"))
    mesh.modifiers.new("Armature", "ARMATURE").object = rig
    rig.parent = mesh
    assert relations.moves_with(mesh, {rig.session_uid})
    assert not relations.moves_with(mesh, {other.session_uid})


def test_drivers_read_bones_by_their_name_or_by_a_path() -> None:
    rig, driven = make_chain(3), make_empty("Driven")
    driver = driven.driver_add("location", 0).driver
    for name, path in (("B1", ""), ("", 'pose.bones["B2"].location[0]'), ("", "location[0]")):
        variable = driver.variables.new()
        variable.type = "SINGLE_PROP" if path else "TRANSFORMS"
        variable.targets[0].id = rig
        variable.targets[0].bone_target, variable.targets[0].data_path = name, path
    assert list(relations.driver_targets(driver)) == [
        (rig, rig.pose.bones[1].name),
        (rig, rig.pose.bones[2].name),
        (rig, ""),
    ]
