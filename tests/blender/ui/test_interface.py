"""The panels, the menu entry, descriptions and keys."""

from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import bpy
import pytest
from humans import make_human
from layouts import Layout, classes
from operating import add_limbs, click_bones
from rigs import KEYABLE, activate, add_constraint, curves, make_chain, make_empty, update
from user import SOLVERS

STATES = ("REACHED", "OUT_OF_REACH", "LIMITED", "INVALID", "DISABLED")


def test_every_class_has_blenders_name(addon: ModuleType) -> None:
    kinds = {bpy.types.Operator: "_OT_", bpy.types.Panel: "_PT_", bpy.types.UIList: "_UL_"}
    for name, cls in classes(addon).items():
        for kind, infix in kinds.items():
            if issubclass(cls, kind):
                assert name.startswith(f"FABRIK{infix}"), name


def test_every_property_and_operator_has_a_description(addon: ModuleType) -> None:
    found = classes(addon)
    assert {"FabrikConstraint", "FABRIK_OT_constraint_add", "FABRIK_OT_pole_add"} <= found.keys()
    missing: list[str] = []
    for name, cls in found.items():
        if issubclass(cls, bpy.types.Operator):
            missing += [name] if len(described(cls).description) < 20 else []
        if issubclass(cls, bpy.types.Operator | bpy.types.PropertyGroup):
            missing += [f"{name}.{lacking}" for lacking in undescribed(described(cls))]
    for owner in (bpy.types.Object, bpy.types.PoseBone):
        added = [prop for prop in owner.bl_rna.properties if prop.identifier.startswith("fabrik")]
        missing += [prop.identifier for prop in added if not prop.description]
    assert found["FabrikConstraint"].bl_rna.properties["influence"].is_runtime
    assert not missing


def described(cls: Any) -> Any:
    """Return what Blender knows of a class."""
    is_operator = issubclass(cls, bpy.types.Operator)
    return bpy_operator(cls).get_rna_type() if is_operator else cls.bl_rna


def undescribed(rna: Any) -> Iterator[str]:
    """Yield our properties, and the items of enumerations, that have no name or description."""
    for prop in [prop for prop in rna.properties if prop.is_runtime]:
        if not (prop.name and prop.description):
            yield prop.identifier
        for item in getattr(prop, "enum_items", ()):
            if not (item.name and item.description):
                yield f"{prop.identifier}.{item.identifier}"


def test_every_operator_can_be_undone_and_says_why_it_is_gray(addon: ModuleType) -> None:
    for name, cls in classes(addon).items():
        if issubclass(cls, bpy.types.Operator):
            # What changes files or preferences no undo brings back.
            is_final = name.endswith(("preset_add", "default_save", "default_reset"))
            undo = set() if is_final else {"UNDO"}
            kinds = {"REGISTER", "UNDO"}
            # What happens by itself is not a step of the user.
            wanted = set() if name.endswith("simulate_again") else {"REGISTER"} | undo
            assert cls.bl_options & kinds == wanted, name
            assert not bpy_operator(cls).poll()
            with pytest.raises(RuntimeError, match=r"poll\(\) \w+ .*\w+ "):
                bpy_operator(cls)()


def bpy_operator(cls: Any) -> Any:
    return getattr(bpy.ops.fabrik, cls.bl_idname.partition(".")[2])


def test_the_operators_are_in_the_menu_of_inverse_kinematics(addon: ModuleType) -> None:
    from addon.app.menus import draw_ik

    assert draw_ik in bpy.types.VIEW3D_MT_pose_ik.draw._draw_funcs
    layout = Layout()
    draw_ik(SimpleNamespace(layout=layout), bpy.context)
    names = ["convert_from_blender", "drag", "pin", "switch", "snap_to_fk", "snap_to_ik", "bake"]
    names += ["hold", "hold", "hold", "pick_up", "release", "release"]
    operators = [f"fabrik.{name}" for name in names]
    begin = ["fabrik.limb_add", "fabrik.constraint_add", "fabrik.ik_clear"]
    menus = ["FABRIK_MT_motion", "FABRIK_MT_character"]
    assert layout.shown == [*begin, *menus, *operators, "wm.call_menu_pie"]


@pytest.mark.parametrize(
    ("searched", "operator"),
    [
        ("ik", "fabrik.limb_add"),
        ("set up character", "fabrik.character_set_up"),
        ("mirror", "fabrik.constraint_mirror"),
        ("ground", "fabrik.ground_add"),
        ("foot", "fabrik.ground_add"),
        ("pole", "fabrik.pole_add"),
        ("controls", "fabrik.controls_select"),
    ],
)
def test_the_search_for_menu_entries_finds_operators(
    addon: ModuleType, searched: str, operator: str
) -> None:
    """It finds what begins with the words, in menus that are reached from the header alone."""
    from addon.app.menus import draw_ik

    def entries(draw: Any) -> Iterator[str]:
        layout = Layout()
        draw(SimpleNamespace(layout=layout), bpy.context)
        for name in layout.shown:
            if name.startswith("FABRIK_MT"):
                yield from entries(classes(addon)[name].draw)
            else:
                yield name

    words = {}
    for name in entries(draw_ik):
        module, _, function = name.partition(".")
        rna = getattr(getattr(bpy.ops, module), function).get_rna_type()
        words[name] = rna.name.lower().split()
    assert all(any(one.startswith(word) for one in words[operator]) for word in searched.split())


def test_the_pie_menu_has_eight_entries_and_says_why_they_are_gray(addon: ModuleType) -> None:
    rig = make_chain(2)
    item = add_constraint(rig, "B1", make_empty())
    activate(rig)
    names = ["limb_add", "switch", "snap_to_ik", "drag", "look_add", "gait_add", "bake", "ik_clear"]

    def entries() -> list[str]:
        layout = Layout()
        classes(addon)["FABRIK_MT_pie"].draw(SimpleNamespace(layout=layout), bpy.context)
        return sorted(layout.shown)

    assert entries() == sorted(f"fabrik.{name}" for name in names)
    item.influence = 0.0
    assert "fabrik.snap_to_fk" in entries(), "the side that is not shown is snapped"
    for name in names:
        cls = classes(addon)[f"FABRIK_OT_{name}"]
        reason = cls.refusal(bpy.context)  # In Object Mode.
        assert reason or bpy_operator(cls).poll(), name


def test_the_context_menu_of_bones_has_the_switch_where_there_is_ik(addon: ModuleType) -> None:
    from addon.app.menus import draw_bone

    def entries() -> list[str]:
        layout = Layout()
        draw_bone(SimpleNamespace(layout=layout), bpy.context)
        return layout.shown

    assert draw_bone in bpy.types.VIEW3D_MT_pose_context_menu.draw._draw_funcs
    assert not entries()
    rig = make_chain(2)
    activate(rig)
    assert not entries()
    add_constraint(rig, "B1", make_empty())
    assert entries() == ["fabrik.switch", "fabrik.controls_select"]


def test_unregistering_takes_everything_away_and_registering_again_works(
    addon: ModuleType,
) -> None:
    from addon.app.menus import draw_ik

    addon.unregister()
    try:
        assert not [name for name in dir(bpy.types) if name.lower().startswith("fabrik_")]
        assert not dir(bpy.ops.fabrik)
        assert draw_ik not in bpy.types.VIEW3D_MT_pose_ik.draw._draw_funcs
        assert not hasattr(bpy.types.Object, "fabrik")
    finally:
        addon.register()
    assert hasattr(bpy.types, "FABRIK_PT_constraints")


# Keys


@pytest.mark.parametrize("name", KEYABLE)
def test_settings_can_be_keyed(name: str) -> None:
    """What hovering and pressing I does: it keys the path of the property on its object."""
    rig = make_chain(2)
    add_constraint(rig, "B1", make_empty())
    item = add_constraint(rig, "B1", make_empty())
    path = item.path_from_id(name)
    assert path == f"fabrik.constraints[1].{name}"
    assert item.bl_rna.properties[name].is_animatable
    assert rig.keyframe_insert(path, frame=1)


# What the panels draw


def test_the_menu_beside_the_list_adds_motion_copies_mirrors_and_converts(
    addon: ModuleType,
) -> None:
    layout = Layout()
    menu = classes(addon)["FABRIK_MT_specials"]
    menu.draw(SimpleNamespace(layout=layout), bpy.context)
    assert layout.shown == [
        "FABRIK_MT_motion",
        "fabrik.constraint_copy",
        "fabrik.constraint_mirror",
        "fabrik.convert_from_blender",
        "fabrik.convert_to_blender",
        "fabrik.constraint_default_save",
    ]


PANELS = ("FABRIK_PT_constraints", "FABRIK_PT_sidebar")


def drawn(addon: ModuleType, panel: str = "FABRIK_PT_sidebar", width: int = 400) -> list[str]:
    """Return what a panel shows for the active object."""
    cls = classes(addon)[panel]
    layout = Layout()
    context = SimpleNamespace(
        object=bpy.context.object,
        scene=bpy.context.scene,
        preferences=bpy.context.preferences,
        region=SimpleNamespace(width=width),
    )
    assert cls.poll(context)
    cls.draw(SimpleNamespace(layout=layout), context)
    return layout.shown


def test_panels_stand_in_both_places(addon: ModuleType) -> None:
    found = classes(addon)
    beside, sidebar = found["FABRIK_PT_constraints"], found["FABRIK_PT_sidebar"]
    assert (beside.bl_space_type, beside.bl_context) == ("PROPERTIES", "bone_constraint")
    assert (sidebar.bl_space_type, sidebar.bl_region_type) == ("VIEW_3D", "UI")
    assert sidebar.bl_category == "FABRIK"


def beside_blenders_own(addon: ModuleType, rig: bpy.types.Object, bone: str) -> list[str]:
    """Return what Properties > Bone Constraints shows for a bone."""
    layout = Layout()
    context = SimpleNamespace(
        object=rig,
        pose_bone=rig.pose.bones[bone],
        scene=bpy.context.scene,
        region=SimpleNamespace(width=400),
        preferences=bpy.context.preferences,
    )
    cls = classes(addon)["FABRIK_PT_constraints"]
    assert cls.poll(context)
    cls.draw(SimpleNamespace(layout=layout), context)
    return layout.shown


def test_bone_constraints_show_those_of_the_bone_alone(addon: ModuleType) -> None:
    rig = make_chain(6)
    for tip in ("B1", "B5", "B5"):
        add_constraint(rig, tip, make_empty(), chain_count=2)
    rig.fabrik.active_index = 0
    update()
    button, *sentence = beside_blenders_own(addon, rig, "B0")
    assert button == "fabrik.constraint_add"
    assert " ".join(sentence) == "“B0” is posed by “FABRIK IK”. See the sidebar for settings"
    own = beside_blenders_own(addon, rig, "B1")
    assert "influence" in own
    assert "active_index" not in own
    assert beside_blenders_own(addon, rig, "B5") == ["constraints", "active_index"]
    rig.fabrik.active_index = 2
    assert {"active_index", "influence"} <= set(beside_blenders_own(addon, rig, "B5"))


def test_the_list_of_a_bone_shows_its_own(addon: ModuleType) -> None:
    rig = make_chain(6)
    for tip in ("B1", "B5", "B5"):
        add_constraint(rig, tip, make_empty(), chain_count=2)
    row = SimpleNamespace(list_id="B5", bitflag_filter_item=1 << 30)
    rows = classes(addon)["FABRIK_UL_bone_constraints"].filter_items
    assert rows(row, bpy.context, rig.fabrik, "constraints") == ([0, 1 << 30, 1 << 30], [])


def test_panels_show_only_for_armatures(addon: ModuleType) -> None:
    for panel in PANELS:
        for ob in (None, make_empty()):
            assert not classes(addon)[panel].poll(SimpleNamespace(object=ob))


def test_an_armature_without_constraints_says_how_to_begin(addon: ModuleType) -> None:
    make_chain(2)
    shown = drawn(addon)
    assert "fabrik.constraint_add" in shown
    assert "tip bone of a chain" in " ".join(shown)


def test_the_panel_shows_all_settings_of_the_active_constraint(addon: ModuleType) -> None:
    rig = make_chain(2)
    add_constraint(rig, "B1", rig, subtarget="B0", pole_target=rig, use_offset=True)
    item = rig.fabrik.constraints[0]
    item.spring.center, item.use_pole_follow = rig, True
    shown: set[str] = set()
    for solver in item.bl_rna.properties["solver"].enum_items:
        item.solver = solver.identifier
        shown |= set(drawn(addon))
    item.solver, item.ground.source = "FABRIK", "COLLECTION"
    shown |= set(drawn(addon))
    item.pole_target, item.use_free_root, item.roll.control = None, True, "B0"
    shown |= set(drawn(addon))
    read_only = {"key", "state", "error", "iterations_used", "message"}
    in_list = {"name", "enabled", "show_overlay"}
    names: set[str] = set()
    for name in {prop.identifier for prop in item.bl_rna.properties if prop.is_runtime}:
        value = getattr(item, name)
        if isinstance(value, bpy.types.PropertyGroup):
            inner = [p for p in value.bl_rna.properties if p.is_runtime and not p.is_hidden]
            names |= {prop.identifier for prop in inner}
        else:
            names.add(name)
    assert names - read_only - in_list <= shown
    for operator in ("constraint_remove", "constraint_move"):
        assert f"fabrik.{operator}" in shown


def test_simulate_stands_beside_the_sentence_that_asks_for_it(addon: ModuleType) -> None:
    rig = make_chain(3)
    item = add_constraint(rig, "B2", make_empty(), solver="FOLLOW")
    bpy.context.scene.frame_end = 3
    update()
    for shown in (drawn(addon), beside_blenders_own(addon, rig, "B2")):
        assert " ".join(shown).count("press Simulate") == 1
        assert shown.index("influence") < shown.index("fabrik.simulate") < shown.index("bone")
    before = drawn(addon)
    bpy.ops.fabrik.simulate()
    update()
    assert drawn(addon).index("fabrik.simulate") == before.index("fabrik.simulate")
    item.solver = "ROPE"
    update()
    assert "fabrik.simulate" not in drawn(addon)


def test_a_wave_has_neither_a_goal_nor_a_tolerance(addon: ModuleType) -> None:
    rig = make_chain(3)
    add_constraint(rig, "B2", solver="WAVE")
    update()
    shown = drawn(addon)
    assert "Waving" in shown
    assert not {"Reached", "tolerance", "target"} & set(shown)


def test_presets_stand_in_the_titles_of_what_they_set(addon: ModuleType) -> None:
    having = {name for name, cls in classes(addon).items() if hasattr(cls, "draw_header_preset")}
    assert having == {
        "FABRIK_PT_sidebar",
        "FABRIK_PT_gait",
        "FABRIK_PT_joint",
        "FABRIK_PT_joint_sidebar",
    }


def test_the_panel_names_what_a_constraint_is_solved_with(addon: ModuleType) -> None:
    rig = make_chain(3)
    add_constraint(rig, "B2", make_empty("A", (0.4, 1.0, 2.0)), name="Long")
    near = make_empty("B", (0.4, 0.8, 1.2))
    add_constraint(rig, "B1", near, name="Short")
    for place in ((0.4, 0.8, 1.2), (0.4, 7.0, 1.2)):  # Once in reach, and once with a message.
        near.location = place
        update()
        for index, other in enumerate(("Short", "Long")):
            rig.fabrik.active_index = index
            text = " ".join(drawn(addon))
            assert text.lower().count(f"shares bones with “{other.lower()}”") == 1
    rig.fabrik.constraints[0].bone = "B0"
    rig.fabrik.constraints[0].enabled = False
    rig.fabrik.constraints[1].chain_count = 1
    update()
    assert "Shares bones" not in " ".join(drawn(addon))


def test_a_row_of_the_list_shows_name_and_switch(addon: ModuleType) -> None:
    rig = make_chain(2)
    item = add_constraint(rig, "B1", make_empty())
    layout = Layout()
    row = classes(addon)["FABRIK_UL_constraints"].draw_item
    row(None, bpy.context, layout, rig.fabrik, item, 0, rig.fabrik)
    assert layout.shown == ["name", "show_overlay", "enabled"]


def test_the_overlay_is_switched_in_the_title_and_among_blenders_overlays(
    addon: ModuleType,
) -> None:
    from addon.features.overlay.overlay import draw_switch

    make_chain(2)
    title, overlays = Layout(), Layout()
    context = SimpleNamespace(
        object=bpy.context.object,
        scene=bpy.context.scene,
        space_data=SimpleNamespace(overlay=SimpleNamespace(show_overlays=True)),
    )
    panel = classes(addon)["FABRIK_PT_sidebar"]
    panel.draw_header_preset(SimpleNamespace(layout=title), context)
    draw_switch(SimpleNamespace(layout=overlays), context)
    assert title.shown == ["show_overlay", "FABRIK_PT_constraint_presets"]
    assert overlays.shown == ["show_overlay", "show_reach"]


def test_every_state_has_an_icon_and_a_name(addon: ModuleType) -> None:
    rig = make_chain(2)
    item = add_constraint(rig, "B1", make_empty())
    for state in STATES:
        item.state = state
        name = item.bl_rna.properties["state"].enum_items[state].name
        assert any(text.startswith(name) for text in drawn(addon))


def test_the_panel_shows_error_in_scene_units(addon: ModuleType) -> None:
    rig = make_chain(2, joints=((0, 0, 0), (0, 0, 1), (0, 0, 2)))
    add_constraint(rig, "B1", make_empty(location=(0, 0, 5)))
    update()
    units = bpy.context.scene.unit_settings
    for system, scale, error in (
        ("METRIC", 1.0, "3 m"),
        ("IMPERIAL", 1.0, "9.843'"),
        ("METRIC", 0.01, "3 cm"),
    ):
        units.system, units.scale_length = system, scale
        assert any(f"· Error {error} ·" in text or text.endswith(error) for text in drawn(addon))


def test_the_panel_tells_iterations_where_the_setting_limits_them(addon: ModuleType) -> None:
    rig = make_chain(4)
    item = add_constraint(rig, "B3", make_empty(location=(0.7, 0.4, 1.3)))
    item.tolerance = 1e-6
    update()
    count = item.iterations_used
    assert count > 0
    assert f"Reached · Error 0 m · {count} iteration{'s' if count > 1 else ''}" in drawn(addon)
    item.chain_count, item.solver = 2, "TWO_BONE"
    update()
    assert not any("iteration" in str(text).split() for text in drawn(addon))


def test_the_panel_says_why_the_fk_pose_is_shown(addon: ModuleType) -> None:
    rig = make_chain(2)
    item = add_constraint(rig, "B1", make_empty())
    item.influence = 0.0
    update()
    assert "Influence is 0: showing FK pose" in drawn(addon)
    item.enabled = False
    update()
    assert "Disabled" in drawn(addon)


@pytest.mark.parametrize("width", (10, 200, 400, 2000))
def test_a_sentence_says_what_is_wrong_and_no_word_of_it_is_lost(
    addon: ModuleType, width: int
) -> None:
    rig = make_chain(3)
    add_constraint(rig, "B2", make_empty(), solver="TWO_BONE")
    update()
    message = rig.fabrik.constraints[0].message
    assert "Two Bone needs a chain of 2 bones" in message
    shown = drawn(addon, width=width)
    assert message in " ".join(shown)
    assert (message in shown) == (width == 2000), "it is broken into lines that fit"


def test_lock_interface_is_asked_for_in_the_render_properties_alone(addon: ModuleType) -> None:
    from addon.app.menus import draw_lock

    def asked() -> bool:
        update()
        layout = Layout()
        draw_lock(SimpleNamespace(layout=layout), bpy.context)
        return "use_lock_interface" in layout.shown

    assert draw_lock in bpy.types.RENDER_PT_context.draw._draw_funcs
    rig = make_chain(2)
    render = bpy.context.scene.render
    render.use_lock_interface = False
    assert not asked(), "no constraint, no trouble"
    add_constraint(rig, "B1", make_empty())
    assert asked()
    assert "use_lock_interface" not in drawn(addon)
    render.use_lock_interface = True
    assert not asked()
    render.use_lock_interface = False
    bpy.context.scene.collection.objects.unlink(rig)
    assert not asked(), "the scene has none"


def test_the_panel_always_offers_add_ik_limb_in_one_place(addon: ModuleType) -> None:
    rig = make_chain(2)
    assert "fabrik.limb_add" in drawn(addon)
    place = drawn(addon).index("fabrik.limb_add")
    for name in ("First", "Second"):
        add_constraint(rig, "B1", make_empty(name))
        assert drawn(addon).index("fabrik.limb_add") == place


def test_add_pole_keeps_its_place_and_is_gray_once_there_is_one(addon: ModuleType) -> None:
    rig = make_chain(2)
    item = add_constraint(rig, "B1", make_empty())
    update()
    before = drawn(addon)
    assert bpy.ops.fabrik.pole_add.poll()
    item.pole_target = make_empty("Pole")
    assert (
        drawn(addon)[: before.index("fabrik.pole_add") + 1]
        == before[: before.index("fabrik.pole_add") + 1]
    )
    bpy.context.view_layer.objects.active = rig
    assert not bpy.ops.fabrik.pole_add.poll()


def test_what_is_used_all_the_time_stands_above_what_changes_its_height(
    addon: ModuleType,
) -> None:
    """Whatever state and message say, no button moves below the mouse."""
    rig = make_chain(2)
    item = add_constraint(rig, "B1", make_empty())
    update()
    tops, lines = [], []
    for state, message in (
        ("REACHED", ""),
        ("OUT_OF_REACH", "The target is beyond the reach of the chain"),
        ("INVALID", "It is broken. " * 20),
    ):
        item.state, item.message = state, message
        shown = drawn(addon, width=400)
        top = shown.index("fabrik.pole_add") + 1
        tops.append(shown[:top])
        lines.append(shown.index("bone") - top)
    assert tops[0] == tops[1] == tops[2]
    assert lines[0] == lines[1] < lines[2], "what comes and goes in a drag moves nothing"
    for name in ("influence", "fabrik.switch", "fabrik.snap_to_ik", "pole_target"):
        assert name in tops[0]


def test_of_a_linked_armature_the_panel_says_what_to_do(addon: ModuleType, tmp_path: Any) -> None:
    rig = make_chain(2)
    add_constraint(rig, "B1", make_empty())
    update()
    assert "is linked" not in " ".join(drawn(addon))
    path = str(tmp_path / "linked.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.objects = ["Rig"]
    linked = bpy.data.objects["Rig"]
    bpy.context.collection.objects.link(linked)
    bpy.context.view_layer.objects.active = linked
    update()
    assert "“Rig” is linked: make a library override of it" in " ".join(drawn(addon))
    item = linked.fabrik.constraints[0]
    names = [prop.identifier for prop in item.bl_rna.properties if prop.is_runtime]
    assert {"influence", "bone", "target", "use_stretch"} <= set(names)
    assert all(item.is_property_readonly(name) for name in names), "Blender grays them"
    assert not linked.fabrik.is_property_readonly("active_index"), "all can be looked at"


def test_the_sidebar_names_constraints_whose_keys_wait_for_the_library(
    addon: ModuleType, tmp_path: Any
) -> None:
    add_constraint(make_chain(3), "B2", make_empty())
    path = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.objects = ["Rig"]
    rig = wanted.objects[0].override_create(remap_local_usages=True)
    bpy.context.scene.collection.objects.link(rig)
    activate(rig)
    item = rig.fabrik.constraints[0]
    item.keyframe_insert("influence", frame=1)
    update()
    assert "no longer has" not in " ".join(drawn(addon))
    curves(rig)[0].data_path = 'fabrik.constraints["Elbow"].influence'
    assert "the linked file no longer has “Elbow”" in " ".join(drawn(addon))


class Closed(Layout):
    """A layout whose sections are as they are at first."""

    def _part(self, **_settings: object) -> Layout:
        return Closed(self.shown)

    row = column = box = split = _part

    def panel(self, idname: str, default_closed: bool = False) -> tuple[Layout, Any]:
        return self._part(), None if default_closed else self._part()


def test_a_first_look_shows_at_most_ten_controls(addon: ModuleType) -> None:
    """Besides the list with its buttons, and the checkboxes in the headers of closed sections."""
    rig = make_chain(2)
    item = add_constraint(rig, "B1", make_empty())
    update()
    layout = Closed()
    context = SimpleNamespace(
        object=rig,
        scene=bpy.context.scene,
        preferences=bpy.context.preferences,
        region=SimpleNamespace(width=400),
    )
    classes(addon)["FABRIK_PT_sidebar"].draw(SimpleNamespace(layout=layout), context)
    own = {prop.identifier for prop in item.bl_rna.properties if prop.is_runtime}
    first = layout.shown.index("influence")
    controls = [one for one in layout.shown[first:] if one in own or one.startswith("fabrik.")]
    switches = {"use_offset", "use_rotation", "use_stretch"}
    assert switches <= set(controls)
    assert len([one for one in controls if one not in switches]) <= 10


@pytest.mark.parametrize(("bone", "is_offered"), [("hand.L", False), ("foot.L", True)])
def test_all_settings_of_a_hand_are_at_most_forty(
    addon: ModuleType, bone: str, is_offered: bool
) -> None:
    """With all sections open. Hands are offered no ground, and closed forms no iterations."""
    rig = make_human(False)
    add_limbs(rig, bone)
    click_bones(rig, bone)
    layout = Layout()
    context = SimpleNamespace(
        object=rig,
        scene=bpy.context.scene,
        preferences=bpy.context.preferences,
        region=SimpleNamespace(width=400),
    )
    classes(addon)["FABRIK_PT_sidebar"].draw(SimpleNamespace(layout=layout), context)
    own = {prop.identifier for prop in rig.fabrik.constraints[0].bl_rna.properties}
    shown = [name for name in layout.shown if name in own or name.startswith("fabrik.")]
    assert ("source" in layout.shown) == is_offered
    assert not {"iterations", "tolerance", "swing", "root_weight"} & {*shown}
    assert len(shown) <= 40


NUMBERS = {
    "FabrikCollider.kind": (
        "SPHERE CAPSULE PLANE INSIDE_SPHERE INSIDE_CAPSULE MESH",
        range(6),
    ),
    "FabrikSpring.mode": ("STEADY VRM", range(2)),
    "FabrikConstraint.solver": (" ".join(SOLVERS), range(9)),
    "FabrikConstraint.state": ("REACHED OUT_OF_REACH LIMITED INVALID DISABLED", range(5)),
    "FabrikGait.front_axis": ("X Y Z NEGATIVE_X NEGATIVE_Y NEGATIVE_Z", range(6)),
    "FabrikGait.pattern": ("ALTERNATING PAIRS WAVE GROUPS", range(4)),
    "FabrikFootRoll.pivot": ("HEEL BALL TOE", range(3)),
    "FabrikGait.source": ("SCENE OBJECT COLLECTION", range(3)),
    "FabrikGait.up_axis": ("X Y Z NEGATIVE_X NEGATIVE_Y NEGATIVE_Z", range(6)),
    "FabrikGround.axis": ("X Y Z NEGATIVE_X NEGATIVE_Y NEGATIVE_Z", range(6)),
    "FabrikGround.source": ("OBJECT COLLECTION SCENE", range(3)),
    "FabrikHolder.kind": ("WORLD BONE OWN", range(3)),
    "FabrikJoint.hinge_axis": ("X Z FREE", range(3)),
    "FabrikJoint.limit_type": ("NONE BLENDER HINGE CONE", range(4)),
    "FabrikPart.kind": ("ARM LEG SPINE HEAD", range(4)),
    "FabrikLook.axis": ("X Y Z NEGATIVE_X NEGATIVE_Y NEGATIVE_Z", range(6)),
    "FabrikLook.up": ("POSE WORLD ARMATURE", range(3)),
    "FabrikPin.frames": ("POSING PLACE ANIMATION", range(3)),
    "FabrikPin.kind": ("LOCATION BOTH", range(2)),
    "FabrikLook.up_axis": ("NONE X Y Z NEGATIVE_X NEGATIVE_Y NEGATIVE_Z", range(7)),
    "FabrikRope.collision": ("NONE PLANE MESH", range(3)),
    "FabrikSimulation.state": ("NONE FRESH STALE", range(3)),
    "FabrikWholeBody.up_axis": ("X Y Z NEGATIVE_X NEGATIVE_Y NEGATIVE_Z", range(6)),
    "FabrikWholeBody.masses": ("PERSON VOLUME", range(2)),
    "FabrikWholeBody.keying": ("FULL_BODY BODY_PART BONE", range(3)),
}
"""By what numbers files and keys know the items of settings."""


def test_items_of_settings_keep_their_numbers() -> None:
    found: dict[str, dict[str, int]] = {}
    for group in bpy.types.PropertyGroup.__subclasses__():
        if not group.__module__.startswith("addon.") or not getattr(group, "is_registered", False):
            continue
        for prop in group.bl_rna.properties:
            if prop.type == "ENUM":
                items = {item.identifier: item.value for item in prop.enum_items}
                found[f"{group.__name__}.{prop.identifier}"] = items
    assert found == {
        name: dict(zip(items.split(), numbers, strict=True))
        for name, (items, numbers) in NUMBERS.items()
    }


def test_sections_are_shown_by_what_the_solver_does() -> None:
    from addon.ui.sections import has_target, has_tip, reaches

    shown = {name: (reaches(name), has_target(name), has_tip(name)) for name in (*SOLVERS, "")}
    assert shown == {
        **dict.fromkeys(("FABRIK", "TWO_BONE", "CCD", "TEXTBOOK"), (True, True, True)),
        "LOOK_AT": (False, True, False),
        **dict.fromkeys(("ROPE", "FOLLOW"), (False, True, True)),
        **dict.fromkeys(("WAVE", "SPRING"), (False, False, False)),
        "": (False, False, False),  # What an F-curve out of range stands for.
    }


def test_a_control_is_no_joint_and_a_pole_stands_beside_its_bone(addon: ModuleType) -> None:
    rig = make_human(False)
    add_limbs(rig, "hand.L")
    panels = [classes(addon)[name] for name in ("FABRIK_PT_joint", "FABRIK_PT_joint_sidebar")]
    for bone, is_shown in (("hand.L", True), ("hand IK.L", False), ("hand Pole.L", False)):
        click_bones(rig, bone)
        assert {panel.poll(bpy.context) for panel in panels} == {is_shown}, bone
    shown = drawn(addon)
    assert shown.index("pole_subtarget") - shown.index("pole_target") <= 2


def test_pins_have_a_color_of_their_own() -> None:
    from addon.ui.paint import palette

    colors = palette(bpy.context)
    assert colors.pin not in colors._replace(pin=(0.0, 0.0, 0.0, 0.0))
