"""A setting is defined once: all that goes through settings finds it there."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import bpy
import pytest
from inside import make_plan, settings_read
from operating import select_bones
from rigs import activate, add_constraint, curves, go, make_armature, make_empty, update

from addon.settings.definitions import animated, fixed
from addon.settings.properties import FabrikConstraint
from addon.settings.values import now, settings_in, values_of

GAIN = animated("Gain", "A number of the test", default=0.5, min=0.0, max=2.0)
SWITCH = fixed("Switch", "A switch of the test", default=False)

NO_SETTINGS = {
    "FabrikConstraint": "name key state error iterations_used message",
    "FabrikGait": "name legs stand active_leg history",
    "FabrikGaitLeg": "key",
    "FabrikGaitStand": "name rows",
    "FabrikHold": "holders history message",
    "FabrikSimulation": "state message",
    "FabrikPart": "key target subtarget pole pole_bone hinges",
    "FabrikCharacter": "parts switches controls",
    "FabrikGround": "history",
    "FabrikJoint": "found",
    "FabrikFollow": "history",
    "FabrikShot": "history",
    "FabrikSpring": "history",
}
"""What says which one something is, how it did, or what was simulated."""


@pytest.fixture
def defined(addon: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Define two settings of constraints and one of waves, and nothing else."""
    from addon.features.wave.wave import FabrikWave

    addon.unregister()
    with monkeypatch.context() as patched:
        for cls in (FabrikConstraint, FabrikWave):
            patched.setitem(cls.__annotations__, "gain", float)
            cls.gain = GAIN  # Registering takes it away again.
        patched.setitem(FabrikConstraint.__annotations__, "switch", bool)
        FabrikConstraint.switch = SWITCH
        addon.register()
        yield
        addon.unregister()
    addon.register()
    assert "gain" not in FabrikConstraint.bl_rna.properties


def limbs() -> tuple[bpy.types.Object, Any]:
    """Make two limbs that mirror each other; one is constrained and has the settings."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bones: dict[str, Any] = {}
    for side, x in (("L", 1.0), ("R", -1.0)):
        bones[f"Upper.{side}"] = ((x, 0, 0), (x, 0.1, 1), "")
        bones[f"Lower.{side}"] = ((x, 0.1, 1), (x, 0, 2), f"Upper.{side}")
    rig = make_armature(bones)
    activate(rig, "POSE")
    item: Any = add_constraint(rig, "Lower.L", make_empty("Target.L", (1, 0.6, 1.2)))
    item.gain, item.switch, item.wave.gain = 1.25, True, 1.5
    update()
    return rig, item


def test_every_property_of_a_group_is_a_setting_or_known_to_be_none() -> None:
    for kind in bpy.types.PropertyGroup.__subclasses__():
        if not kind.__module__.startswith("addon.") or not getattr(kind, "is_registered", False):
            continue
        others = set(NO_SETTINGS.get(kind.__name__, "").split())
        if kind.__name__ not in ("FabrikSettings", "FabrikSceneSettings"):
            own = {prop.identifier for prop in kind.bl_rna.properties if prop.is_runtime}
            assert {prop.identifier for prop in settings_in(kind)} == own - others, kind


def test_a_definition_is_enough_to_be_copied_and_mirrored(defined: None) -> None:
    rig, _ = limbs()
    bpy.ops.fabrik.constraint_mirror()
    select_bones(rig, "Upper.R")
    bpy.ops.fabrik.constraint_copy()
    items = rig.fabrik.constraints
    assert [item.bone for item in items] == ["Lower.L", "Lower.R", "Upper.R"]
    assert [(item.gain, item.switch, item.wave.gain) for item in items] == [(1.25, True, 1.5)] * 3


def test_a_definition_is_enough_to_be_kept_in_presets(
    defined: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLENDER_USER_SCRIPTS", str(tmp_path))
    rig, item = limbs()
    rig.data.bones.active = rig.data.bones["Lower.L"]
    assert bpy.ops.fabrik.constraint_preset_add(name="Mine") == {"FINISHED"}
    mine = next(tmp_path.rglob("Mine.py"))
    leg = Path(__file__).parents[3] / "addon/presets/fabrik_ik/constraint/Leg.py"
    bpy.ops.fabrik.constraint_preset_apply(filepath=str(leg))
    assert (item.gain, item.switch, item.wave.gain) == (0.5, False, 1.5)
    item.wave.gain = 0.0
    bpy.ops.fabrik.constraint_preset_apply(filepath=str(mine))
    assert (item.gain, item.switch, item.wave.gain) == (1.25, True, 1.5)


def test_a_definition_is_enough_to_be_read_at_each_frame_within_its_range(defined: None) -> None:
    rig, item = limbs()
    assert settings_read(rig).gain == 1.25
    first = settings_read(rig)
    item.gain = 1.5
    update()
    assert settings_read(rig).gain == 1.5
    assert settings_read(rig) != first, "a solution depends on it"
    for frame, gain in ((1, 0.25), (9, 1.0)):
        item.gain = gain
        rig.keyframe_insert(item.path_from_id("gain"), frame=frame)
    for frame, gain in ((1, 0.25), (9, 1.0)):
        go(frame)
        assert settings_read(rig).gain == gain
    curves(rig)[0].keyframe_points[1].co.y = 50.0
    go(1, 9)
    assert settings_read(rig).gain == 2.0
    assert not hasattr(settings_read(rig), "switch"), "it cannot be animated"
    assert now(item.wave).gain == 1.5
    rig.animation_data_clear()
    item.gain = float("nan")
    update()
    assert item.message == "A setting is invalid: enter a valid number for “Gain”"


def test_a_definition_says_whether_the_plan_depends_on_it(defined: None) -> None:
    _, item = limbs()
    made = make_plan()
    item.gain = 1.0
    update()
    assert make_plan() is made
    item.switch = False
    update()
    assert make_plan() is not made


def test_a_definition_is_enough_to_outdate_a_simulation(defined: None) -> None:
    rig, item = limbs()
    item.use_continuous, bpy.context.scene.frame_end = True, 5
    for name, changed in (("gain", 1.0), ("switch", False), ("wave.gain", 0.25)):
        bpy.ops.fabrik.simulate()
        assert rig.fabrik.simulation.state == "FRESH"
        *group, last = name.split(".")
        setattr(item.path_resolve(group[0]) if group else item, last, changed)
        update()
        assert rig.fabrik.simulation.state == "STALE", name


def test_a_definition_is_enough_to_be_told_of_where_it_cannot_be_converted(defined: None) -> None:
    from addon.features.convert.convert import convert_to_blender

    rig, item = limbs()
    told = "No equivalent in Blender's IK: “Gain” and “Switch”"
    assert told in " ".join(convert_to_blender(rig, [0]).notes)
    _, item = limbs()
    item.gain, item.switch = 0.5, False
    rig = item.id_data
    assert "no equivalent" not in " ".join(convert_to_blender(rig, [0]).notes)


def test_all_settings_are_copied_and_read_as_they_are(addon: ModuleType) -> None:
    """Whatever their type is."""
    from addon.editing.copying import set_values

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    rig = make_armature({"Bone": ((0, 0, 0), (0, 0, 1), "")})
    first: Any = rig.fabrik.constraints.add()
    changed = 0
    for prop in settings_in(FabrikConstraint):
        if prop.type in ("FLOAT", "INT") and not prop.is_array:
            half = 0.5 * (prop.default + min(prop.hard_max, 3))
            setattr(first, prop.identifier, int(half) if prop.type == "INT" else half)
        elif prop.type == "BOOLEAN":
            setattr(first, prop.identifier, not prop.default)
        elif prop.type == "ENUM":
            setattr(first, prop.identifier, prop.enum_items[-1].identifier)
        elif prop.type == "STRING":
            setattr(first, prop.identifier, "Bone")
        changed += prop.type not in ("POINTER",)
    second: Any = rig.fabrik.constraints.add()
    set_values(second, values_of(first))
    assert values_of(second) == values_of(rig.fabrik.constraints[0])
    assert changed > 25


@pytest.mark.usefixtures("addon")
def test_an_update_stores_no_group_and_no_pointer_that_nobody_has_set() -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    rig = make_armature(
        {"Upper": ((0, 0, 0), (0, 0.1, 1), ""), "Lower": ((0, 0.1, 1), (0, 0, 2), "Upper")}
    )
    item: Any = add_constraint(rig, "Lower", make_empty("Target", (1, 0.6, 1.2)))
    update()
    go(2)
    assert item.state == "REACHED"
    pointers = [prop.identifier for prop in item.bl_rna.properties if prop.type == "POINTER"]
    stored = {name for name in pointers if name != "rna_type" and item.is_property_set(name)}
    # Each would be copied whenever Blender evaluates the armature again.
    assert stored == {"target"}
