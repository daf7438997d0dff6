"""What is promised of every kind of motion alike: a table of kinds (`kinds.py`) and promises."""

from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from types import ModuleType
from typing import Any

import bpy
import kinds
import pytest
import rigs
from inside import forget, start
from rendering import rendered

pytestmark = pytest.mark.usefixtures("silent")

NAN, INF = float("nan"), float("inf")
BAD_NUMBERS = (NAN, INF, -INF, 3e38, -3e38, 0.0, 1e-30, -1.0)
FRAMES = range(1, kinds.END + 1)

every_kind = pytest.mark.parametrize("kind", kinds.KINDS)
every_motion = pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in (*kinds.MOTIONS, *kinds.SIMULATED)
        if kind not in (kinds.continuous, kinds.body_on_ground)
    ],
)


def its_rig() -> bpy.types.Object:
    """Return it by name: references die with undo and load."""
    return bpy.data.objects["Rig"]


def its_bits(depsgraph: bpy.types.Depsgraph) -> bytes:
    return rigs.pose_bits(its_rig(), depsgraph=depsgraph)


def played() -> dict[int, bytes]:
    found = {}
    for frame in FRAMES:
        rigs.go(frame)
        found[frame] = rigs.pose_bits(its_rig())
    return found


def fk_of(rig: bpy.types.Object) -> bytes:
    """Return what the channels hold, on and off, and is shown off; all is on again afterwards."""
    given = rigs.channels_bits(rig)
    switches = [*rig.fabrik.constraints, *rig.fabrik.gaits]
    pinned = [(pin, pin.frames) for pin in rig.fabrik.pins]
    for item in switches:
        item.enabled = False
    for pin, _ in pinned:
        pin.frames = "POSING"
    rigs.update()
    assert rigs.channels_bits(rig) == given == rigs.shown_bits(rig)
    for item in switches:
        item.enabled = True
    for pin, frames in pinned:
        pin.frames = frames
    rigs.update()
    return given


@every_kind
def test_a_frame_is_the_same_whichever_way_it_was_reached(kind: kinds.Kind) -> None:
    """Also between frames, and where nothing was played before."""
    kind()
    shown = played()
    assert len(set(shown.values())) > kinds.END // 2
    for frame in (4.5, 13, 2, 9, 10, 11.25, kinds.END, 1):
        rigs.go(frame)
        assert rigs.pose_bits(its_rig()) == shown.setdefault(frame, rigs.pose_bits(its_rig()))
    forget()
    for frame in reversed(shown):
        rigs.go(frame)
        assert rigs.pose_bits(its_rig()) == shown[frame]


@every_kind
def test_whichever_way_all_is_off_the_fk_pose_is_there(kind: kinds.Kind) -> None:
    kind()
    rigs.go(9)
    rig = its_rig()
    fk, solved = fk_of(rig), rigs.shown_bits(rig)
    assert solved != fk
    for curve in rigs.curves(rig):
        curve.mute |= curve.data_path.startswith("fabrik")
    # The ground moves a body whose legs are in FK as well.
    is_lifted = kind in (kinds.ground, kinds.body_on_ground)
    influenced = [*rig.fabrik.constraints, *rig.fabrik.gaits, *rig.fabrik.pins]
    for influence in (0.0, 1.0):
        for item in influenced:
            item.influence = influence
        rigs.update()
        assert rigs.channels_bits(rig) == fk
        assert (rigs.shown_bits(rig) == fk) == (influence == 0.0 and not is_lifted)
    targets = [item.target for item in rig.fabrik.constraints]
    if targets and all(targets) and not is_lifted:
        for item in rig.fabrik.constraints:
            item.target = None
        rigs.update()
        assert rigs.channels_bits(rig) == rigs.shown_bits(rig) == fk
        for item, target in zip(rig.fabrik.constraints, targets, strict=True):
            item.target = target
        rigs.update()
        assert rigs.shown_bits(rig) != fk
    rigs.activate(rig)
    while rig.fabrik.gaits:
        assert bpy.ops.fabrik.gait_remove() == {"FINISHED"}
    while rig.fabrik.constraints:
        assert bpy.ops.fabrik.constraint_remove(keep_controls=True) == {"FINISHED"}
    rig.fabrik.pins.clear()
    rigs.update(rig)
    assert rigs.channels_bits(rig) == rigs.shown_bits(rig) == fk


@every_kind
def test_a_render_shows_what_the_viewport_shows(kind: kinds.Kind) -> None:
    """Before the viewport has played the frames, and afterwards."""
    kind()
    rigs.go(2)
    fk, before = fk_of(its_rig()), rigs.pose_bits(its_rig())
    first = rendered(5, 13, 4, its_bits)
    assert (fk_of(its_rig()), rigs.pose_bits(its_rig())) == (fk, before)
    shown = played()
    assert first == rendered(5, 13, 4, its_bits) == {frame: shown[frame] for frame in (5, 9, 13)}


@every_kind
def test_another_view_layer_and_another_scene_show_the_same(kind: kinds.Kind) -> None:
    kind()
    shown, scene = played(), bpy.context.scene
    layer = scene.view_layers.new("Other")
    layer.update()
    copy = scene.copy()
    copy.view_layers[0].update()
    for frame in (5, 13, 9):
        rigs.go(frame)
        rig = its_rig()
        assert rigs.pose_bits(rig) == rigs.pose_bits(rig, depsgraph=layer.depsgraph) == shown[frame]
        copy.frame_set(frame + 3)
        assert rigs.pose_bits(rig, depsgraph=copy.view_layers[0].depsgraph) == shown[frame + 3]
        rigs.go(frame)
        assert rigs.pose_bits(rig) == shown[frame]


@every_kind
@pytest.mark.parametrize("is_linked", (False, True), ids=("appended", "linked"))
def test_its_scene_shows_the_same_in_another_file(
    kind: kinds.Kind, is_linked: bool, tmp_path: Path
) -> None:
    kind()
    shown, name = played(), bpy.context.scene.name
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "any.blend"))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(tmp_path / "any.blend"), link=is_linked) as (_, wanted):
        wanted.scenes = [name]
    bpy.context.window.scene = wanted.scenes[0]
    rigs.update()
    rig = next(ob for ob in bpy.context.scene.objects if ob.name == "Rig")
    for frame in (9, 2, 13):
        rigs.go(frame)
        assert rigs.pose_bits(rig) == shown[frame]


def elsewhere(
    kind: kinds.Kind, tmp_path: Path, prepare: str, look: str
) -> tuple[dict[int, bytes], Any]:
    """Return the poses shown here by frame, and what another process sees in the saved file."""
    kind()
    shown = played()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "any.blend"))
    found, _ = rigs.elsewhere(tmp_path / "any.blend", prepare, look)
    return shown, found


@pytest.mark.parametrize("kind", [*kinds.PINNED, *kinds.HELD, *kinds.SIMULATED, kinds.wave])
def test_another_process_shows_the_same(kind: kinds.Kind, tmp_path: Path) -> None:
    shown, found = elsewhere(
        kind,
        tmp_path,
        "rig = bpy.data.objects['Rig']; go(13)",
        "(pose_bits(rig), rig.fabrik.simulation.state)",
    )
    assert found == (shown[13], "FRESH" if kind in kinds.SIMULATED else "NONE")


@pytest.mark.parametrize("kind", kinds.SIMULATED)
def test_a_render_by_the_command_line_shows_the_same(kind: kinds.Kind, tmp_path: Path) -> None:
    """A process without a window renders the file, bit for bit as the viewport shows it here."""
    shown, found = elsewhere(
        kind,
        tmp_path,
        "from rendering import rendered; rig = bpy.data.objects['Rig']",
        "rendered(5, 13, 4, lambda depsgraph: pose_bits(rig, depsgraph=depsgraph))",
    )
    assert found == {frame: shown[frame] for frame in (5, 9, 13)}


@every_kind
def test_undo_and_redo_of_a_setting(kind: kinds.Kind) -> None:
    owner, _, name = kind().rpartition(".")
    rigs.go(9)
    fk = fk_of(its_rig())
    before = rigs.pose_bits(its_rig())
    bpy.ops.ed.undo_push(message="start")
    item = its_rig().fabrik.path_resolve(owner)
    setattr(item, name, 0.6)
    rigs.update()
    after = rigs.pose_bits(its_rig())
    assert after != before
    bpy.ops.ed.undo_push(message="change")
    bpy.ops.ed.undo()
    rigs.update()
    assert rigs.pose_bits(its_rig()) == before
    bpy.ops.ed.redo()
    rigs.update()
    assert rigs.pose_bits(its_rig()) == after
    bpy.ops.ed.undo()
    rigs.update()
    assert fk_of(its_rig()) == fk
    assert rigs.pose_bits(its_rig()) == before


@every_kind
def test_a_file_that_is_loaded_shows_what_was_saved(kind: kinds.Kind, tmp_path: Path) -> None:
    kind()
    shown = played()
    rigs.go(9)
    fk = fk_of(its_rig())
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "any.blend"))
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "any.blend"))
    assert rigs.pose_bits(its_rig()) == shown[9]
    assert fk_of(its_rig()) == fk
    for frame in (13, 2, 9):
        rigs.go(frame)
        assert rigs.pose_bits(its_rig()) == shown[frame]


@every_kind
def test_the_extension_disabled_and_enabled_again(
    kind: kinds.Kind, addon: ModuleType, tmp_path: Path
) -> None:

    kind()
    shown = played()
    rigs.go(9)
    fk = fk_of(its_rig())
    addon.unregister()
    try:
        rigs.update()
        assert rigs.pose_bits(its_rig()) != shown[9], "the FK pose is shown at once"
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "any.blend"))
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "any.blend"))
        rigs.go(4)
    finally:
        addon.register()
    start()
    rigs.go(9)
    assert rigs.pose_bits(its_rig()) == shown[9]
    assert fk_of(its_rig()) == fk
    for frame in (13, 2):
        rigs.go(frame)
        assert rigs.pose_bits(its_rig()) == shown[frame]


def is_finite() -> bool:
    return all(
        isfinite(x) for b in rigs.evaluated(its_rig()).pose.bones for row in b.matrix for x in row
    )


def numbers_of(rig: bpy.types.Object) -> Iterator[tuple[bpy.types.PropertyGroup, str, bool]]:
    """Yield the numbers among the settings that make the motion: owner, name, whether whole."""
    item = rig.fabrik.constraints[-1]
    own = getattr(item, {"LOOK_AT": "look"}.get(item.solver, item.solver.lower()), item.ground)
    for owner in (own, *rig.fabrik.gaits):
        for prop in owner.bl_rna.properties:
            if prop.is_runtime and prop.type in ("FLOAT", "INT"):
                yield owner, prop.identifier, prop.type == "INT"


@every_motion
def test_no_number_in_a_setting_breaks_the_pose(kind: kinds.Kind) -> None:
    kind()
    rig = its_rig()
    for owner, name, is_whole in numbers_of(rig):
        value = getattr(owner, name)
        kept = tuple(value) if hasattr(value, "__len__") else value
        count = owner.bl_rna.properties[name].array_length
        for number in (0, -1, 2**31 - 1, -(2**31)) if is_whole else BAD_NUMBERS:
            setattr(owner, name, (number,) * count if count else number)
            rigs.go(6, 5)
            assert is_finite(), f"{name} = {number}"
            for item in rig.fabrik.constraints:
                assert item.state != "INVALID" or "is invalid" in item.message
        setattr(owner, name, kept)
        rigs.update()
        assert not any(item.state == "INVALID" for item in rig.fabrik.constraints)


@pytest.mark.parametrize("is_keyed", [False, True])
@every_motion
def test_no_place_of_the_target_breaks_the_pose(kind: kinds.Kind, is_keyed: bool) -> None:
    """At the root, far away, nowhere, or gone."""
    kind()
    rig = its_rig()
    target = next(item.target for item in reversed(rig.fabrik.constraints) if item.target)
    good = target.location.copy()
    target.animation_data_clear()
    for place in ((0, 0, 0), (1e-30, 0, 0), (1e38, 1e38, 1e38), (NAN, 0, 0), (INF, -INF, INF)):
        target.location = place
        if is_keyed:
            target.keyframe_insert("location", frame=5)
        rigs.go(6, 5)
        assert is_finite(), place
        led = [item for item in rig.fabrik.constraints if item.target == target]
        if place[0] != place[0] and kind is not kinds.gait:  # Which leads its feet elsewhere.
            assert {item.state for item in led} == {"INVALID"}
            assert "has an invalid position" in led[0].message
    target.animation_data_clear()
    target.location = good
    rigs.update()
    bpy.data.objects.remove(target)
    rigs.update()
    assert is_finite()
    assert any("No target" in item.message for item in rig.fabrik.constraints)


def places() -> list[list[float]]:
    """Where the heads and tails of the bones are at each frame."""
    found = []
    for frame in FRAMES:
        rigs.go(frame)
        bones = rigs.evaluated(its_rig()).pose.bones
        found.append([x for bone in bones for end in (bone.head, bone.tail) for x in end])
    return found


def apart(a: list[list[float]], b: list[list[float]]) -> float:
    pairs = [zip(one, other, strict=True) for one, other in zip(a, b, strict=True)]
    return max(abs(x - y) for pair in pairs for x, y in pair)


@pytest.mark.parametrize("kind", [kind for kind in kinds.KINDS if kind not in kinds.PINNED])
@pytest.mark.parametrize("afterwards", ["DISABLE", "REMOVE"])
def test_the_pose_is_the_same_after_a_bake_and_undone_all_is_back(
    kind: kinds.Kind, afterwards: str
) -> None:
    kind()
    rigs.activate(its_rig())
    live, count = places(), len(its_rig().fabrik.constraints)
    rigs.go(9)
    before, fk = rigs.pose_bits(its_rig()), fk_of(its_rig())
    bpy.ops.ed.undo_push(message="start")
    done = bpy.ops.fabrik.bake(
        which="ALL", frame_start=1, frame_end=kinds.END, into="NEW", afterwards=afterwards
    )
    assert done == {"FINISHED"}
    bpy.ops.ed.undo_push(message="bake")
    assert apart(places(), live) <= 1e-5
    left = its_rig().fabrik.constraints
    assert len(left) == (count if afterwards == "DISABLE" else 0)
    assert not any(item.enabled for item in left)
    bpy.ops.ed.undo()
    rigs.update()
    rigs.go(9)
    assert rigs.pose_bits(its_rig()) == before
    assert fk_of(its_rig()) == fk
    assert len(its_rig().fabrik.constraints) == count
    assert apart(places(), live) == 0.0


@every_motion
def test_what_is_left_on_after_a_bake_and_changes_the_pose_is_named(kind: kinds.Kind) -> None:
    from addon.features.bake import bake, selecting

    kind()
    rig, live = its_rig(), places()
    picks, _ = selecting.select(selecting.all_constraints([rig]))
    work = bake.bake(
        bpy.context.scene,
        bpy.context.view_layer,
        picks,
        bake.BakeOptions(1, kinds.END, afterwards="LEAVE"),
    )
    while True:
        try:
            next(work)
        except StopIteration as finished:
            named = finished.value.still_active
            break
    assert bool(named) == (apart(places(), live) > 1e-3)
    for item in rig.fabrik.constraints:
        item.enabled = item.enabled and item.name not in named
    assert apart(places(), live) <= 1e-3
