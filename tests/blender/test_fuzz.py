"""Whatever users do, in whatever order: nothing fails, and what is promised is kept.

A state machine draws what is done, and shortens what went wrong. `make test` takes the same few
hundred steps each time; `make fuzz SECONDS=…` goes on from new seeds and keeps what it finds in
`.hypothesis/`. There each step is written to build/fuzz/steps.txt before it is taken, so its last
lines explain a crash of Blender. FABRIK_FUZZ_SEED repeats it.
"""

import io
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from math import isfinite
from pathlib import Path
from typing import Any

import bpy
import edits
import pytest
import rigs
import user
from edits import differences, pair, push
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.internal.conjecture import engine
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from inside import planned
from rendering import rendered
from rigs import go

from addon.blender import errors as faults
from addon.features.simulation import history

SECONDS = float(os.environ.get("FABRIK_FUZZ", "0")) / 2.0
"""How long to go on; 0 for a few steps that are always the same."""

SEED = int(os.environ.get("FABRIK_FUZZ_SEED", "0"))
ROOT = Path(__file__).resolve().parents[2]
FEW = (40, 40)
"""Walks of `make test`, and the most steps of each."""

SHORTENING = 60
"""For so many seconds `make fuzz` makes failures shorter, instead of for five minutes."""

EDITS = sorted(
    set(edits.STEPS_BY_NAME)
    - {
        # These need a look of their own, see below.
        *("undo", "undo push", "render", "save and load"),
        # Plain Blender 4.2 and 5.2 crash where view layers and objects come, go and are undone.
        "show elsewhere",
    }
)
REACHING = ("FABRIK", "TWO_BONE", "CCD", "TEXTBOOK")


class Chance(random.Random):
    """What a step is drawn from: one number, so that whole steps are left out to shorten a walk."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    def __repr__(self) -> str:
        return f"Chance({self.number})"


chances = st.integers(0, 1 << 20).map(Chance)


class Counts:
    """How much was done, for the report."""

    steps = walks = 0


def frames() -> st.SearchStrategy[float]:
    return st.sampled_from((1, 2, 5, 8, 12, -4, 0, 30, 4.5, 7.25))


class Users(RuleBasedStateMachine):
    """A file in which users work."""

    def __init__(self) -> None:
        super().__init__()
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        faults.forget_reported()
        self.folder = Path(tempfile.mkdtemp())
        self.printed = io.StringIO()
        self.is_evaluated = True
        self.steps: list[str] = []
        Counts.walks += 1

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def take(self, name: str, act: Any, *arguments: Any) -> None:
        """Do something, and note it before for whoever reads of a crash."""
        Counts.steps += 1
        self.steps.append(f"{name} {arguments}")
        log(f"  {Counts.steps} {name}")
        with redirect_stderr(self.printed), logged(self.steps):
            done = act(*arguments)
            self.is_evaluated = done is not False
            if isinstance(done, str):  # Else it has seen to the update itself.
                self.steps.append(f"# {done}")
                log(f"    {done}")
                rigs.update()
            if self.is_evaluated:
                evaluate_both()

    # What is done

    @initialize(chance=chances)
    def begin(self, chance: random.Random) -> None:
        log(f"walk {Counts.walks}")
        self.take("build", user.build, chance)
        self.take("add", user.add, chance)

    @rule(kind=st.sampled_from(EDITS), chance=chances)
    def edit(self, kind: str, chance: random.Random) -> None:
        """Pose, key, move, tag …: what `edits` does."""
        if any(ob.hide_viewport or ob.hide_get() for ob in pair()):
            user.show(*pair())
        step = user.Drawn(chance, self.folder)
        self.take(kind, edits.STEPS_BY_NAME[kind][1], step)

    @rule(chance=chances)
    def add(self, chance: random.Random) -> None:
        self.take("add", user.add, chance)

    @rule(chance=chances)
    def arrange(self, chance: random.Random) -> None:
        self.take("arrange", user.arrange, chance)

    @rule(chance=chances)
    def change(self, chance: random.Random) -> None:
        self.take("change", user.change, chance)

    @rule(chance=chances)
    def change_more(self, chance: random.Random) -> None:
        for _ in range(3):
            self.take("change", user.change, chance)

    @rule(chance=chances)
    def limit(self, chance: random.Random) -> None:
        self.take("limit", user.limit, chance)

    @rule(chance=chances)
    def animate(self, chance: random.Random) -> None:
        self.take("animate", user.animate, chance)

    @rule(chance=chances)
    def walk(self, chance: random.Random) -> None:
        self.take("walk", user.walk, chance)

    @rule(
        act=st.sampled_from(
            (
                user.move_target,
                user.key_target,
                user.parent_target,
                user.hide,
                user.rename_target,
                user.delete_target,
            )
        ),
        chance=chances,
    )
    def target(self, act: Any, chance: random.Random) -> None:
        self.take(act.__name__, act, chance)

    @rule(act=st.sampled_from((user.change_bones, user.edit_bones, user.place_rig)), chance=chances)
    def rig(self, act: Any, chance: random.Random) -> None:
        self.take(act.__name__, act, chance)

    @rule(chance=chances)
    def duplicate(self, chance: random.Random) -> None:
        self.take("duplicate", user.duplicate, chance)

    @rule(chance=chances)
    def bring(self, chance: random.Random) -> None:
        self.take("bring", user.bring, chance, self.folder)

    @rule(act=st.sampled_from((user.join, user.pin, user.pin, user.simulate)), chance=chances)
    def body(self, act: Any, chance: random.Random) -> None:
        self.take(act.__name__, act, chance)

    @rule()
    def all_off(self) -> None:
        self.take("all off", self._all_off)

    @rule(chance=chances)
    def instance(self, chance: random.Random) -> None:
        self.take("instance", user.instance, chance)

    @rule(chance=chances)
    def change_scene(self, chance: random.Random) -> None:
        self.take("change scene", user.change_scene, chance)

    @rule(frame=frames())
    def go(self, frame: float) -> None:
        self.take(f"go {frame}", go, frame)

    @rule(chance=chances)
    def operate(self, chance: random.Random) -> None:
        self.take("operate", user.operate, chance)

    @rule(kind=st.sampled_from(("pose", "key", "move target", "change")), chance=chances)
    def undo(self, kind: str, chance: random.Random) -> None:
        self.take(f"undo {kind}", self._undo, kind, chance)

    @rule(is_fresh=st.sampled_from((False,) * 9 + (True,)))
    def reload(self, is_fresh: bool) -> None:
        self.take("reload", self._reload, is_fresh and SECONDS > 0)

    @rule()
    def render(self) -> None:
        self.take("render", self._render)

    def _all_off(self) -> None:
        """Without what poses it, the rig is shown as its twin."""
        rig, twin = pair()
        fabrik, data = rig.fabrik, rig.animation_data
        moved = [*data.drivers, *rigs.curves(rig)] if data else []
        if any(one.data_path.startswith("fabrik.") for one in moved):
            return
        switched = [(one, "enabled", False) for one in (*fabrik.constraints, *fabrik.gaits)]
        switched += [(one, "frames", "POSING") for one in fabrik.pins]
        before = [getattr(one, name) for one, name, _ in switched]
        for one, name, value in switched:
            setattr(one, name, value)
        rigs.update()
        if is_seen(rig) and is_seen(twin) and rigs.is_finite(twin) and not has_blenders_ik(rig):
            assert rigs.pose_bits(rig) == rigs.pose_bits(twin), "the FK pose is not shown"
        for (one, name, _), value in zip(switched, before, strict=True):
            setattr(one, name, value)
        rigs.update()

    def _undo(self, kind: str, chance: random.Random) -> None:
        """Undo gives back what was, and redo what was undone."""
        settle()
        push("before")
        before = Shown()
        if kind == "change":
            user.change(chance)
        else:
            edits.STEPS_BY_NAME[kind][1](user.Drawn(chance, self.folder))
        settle()
        push("after")
        after = Shown()
        bpy.ops.ed.undo()
        rigs.update()
        before.assert_again("undo")
        bpy.ops.ed.redo()
        rigs.update()
        after.assert_again("redo")

    def _reload(self, is_fresh: bool) -> None:
        """What a file shows is what was shown when it was saved."""
        settle()
        shown = Shown()
        path = self.folder / "walk.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(path))
        if is_fresh and not bpy.context.window.scene.library:
            # A parent that nothing else uses is not saved, and both are elsewhere then.
            look = "pose_bits(ob) + world_bits(ob)"
            armatures = "[bpy.data.objects[name] for name in ('Rig', 'Twin')]"
            (there, twin), _ = rigs.elsewhere(path, "", f"[{look} for ob in {armatures}]")
            here, twin_here = [rigs.pose_bits(ob) + rigs.world_bits(ob) for ob in pair()]
            # There nothing is previewed: it knows only what was simulated.
            if shown.ours and twin == twin_here:
                assert there == here, "another process shows something else"
        bpy.ops.wm.open_mainfile(filepath=str(path))
        rigs.update()
        shown.assert_again("reload")

    def _render(self) -> None:
        """A render shows what the viewport then does: it has simulated what was outdated."""
        go(max(0, bpy.context.scene.frame_current))  # Blender renders none before.
        scene, layer = bpy.context.scene, bpy.context.view_layer
        start, end = scene.frame_start, scene.frame_end
        others = [other for other in scene.view_layers if other != layer]
        for other in others:
            other.use = False
        found = rendered(scene.frame_current, scene.frame_current, look=bones_by_name)
        for other in others:
            other.use = True
        bpy.data.objects.remove(scene.camera)
        scene.frame_start, scene.frame_end = start, end
        settle()
        [seen] = found.values()
        armatures = [ob for ob in (*pair(), *user.extras()) if is_seen(ob) and not ob.library]
        armatures = [ob for ob in armatures if not has_blenders_ik(ob) and not is_late(ob)]
        shown = {ob.name: rigs.pose_bits(ob) for ob in armatures}
        if seen.get("Twin", shown.get("Twin")) == shown.get("Twin"):
            for name, bits in shown.items():
                assert seen.get(name, bits) == bits, f"a render shows another {name}"

    # What is promised

    @invariant()
    def all_is_kept(self) -> None:
        with logged(self.steps):
            self._look()

    def _look(self) -> None:
        assert not faults._reported
        assert "Traceback" not in self.printed.getvalue(), self.printed.getvalue()
        assert_fk_pose()
        if self.is_evaluated and rigs.is_finite(pair()[1]):
            for rig in (pair()[0], *user.extras()):
                if is_seen(rig):
                    is_possible = places_are_finite() and not is_lost_by_blenders_ik(rig)
                    assert rigs.is_finite(rig) or not is_possible, f"{rig.name} is not finite"
                    assert_said(rig)


def evaluate_both() -> None:
    """Show the pair if one of them alone is evaluated: what is hidden, if anything depends on it.

    Blender plays its animation then, and not that of the other one.
    """
    graph = bpy.context.view_layer.depsgraph
    if len({ob.evaluated_get(graph).is_evaluated for ob in pair()}) > 1:
        user.show(*pair())
        rigs.update()


def assert_fk_pose() -> None:
    """The channels are those of the twin, which has no constraints."""
    rig, twin = pair()
    modes = [[bone.rotation_mode for bone in ob.pose.bones] for ob in (rig, twin)]
    assert modes[0] == modes[1]
    if rigs.channels_bits(rig) != rigs.channels_bits(twin):
        assert not differences(rig, twin)


def assert_said(rig: bpy.types.Object) -> None:
    """Each constraint has reached its target, or says why not."""
    for item in rig.fabrik.constraints:
        is_quiet = item.state in {"REACHED", "DISABLED"}
        assert is_quiet or item.message, f"{item.name}: {item.state} without a word"
    if rig.name == "Rig" and is_plain(rig):
        assert not edits.shown_wrong(rig)


def is_plain(rig: bpy.types.Object) -> bool:
    """Return whether constraints of ours have the last word, which just reach for their targets.

    A layer that is off poses nothing, but what stands before it in the list is still solved before
    what stands after it.
    """
    if any(item.solver not in REACHING for item in rig.fabrik.constraints):
        return False
    items = [item for item in rig.fabrik.constraints if item.state != "DISABLED"]
    return (
        rig.data.pose_position == "POSE"
        and not len(rig.fabrik.gaits)
        and not any(bone.constraints for bone in rig.pose.bones)
        and all(item.target for item in items)
        and not any(item.use_offset or item.ground.use for item in items)
        and all(item.use_tail for item in items)
        and max(map(abs, (*rig.location, *rig.scale))) < 100.0
        and min(map(abs, rig.scale)) > 0.1
    )


def is_seen(ob: bpy.types.Object) -> bool:
    """Return whether Blender evaluates an object, at least since the last update."""
    return ob.name in bpy.context.view_layer.objects and ob.visible_get()


def has_blenders_ik(rig: bpy.types.Object) -> bool:
    """Return whether Blender's own IK poses bones, which is not the same to the last bits again.

    Nor is a chain of ours on some of them, as its message says. It is solved from the IK's result
    for what the chain had written.
    """
    return any(one.type == "IK" for bone in rig.pose.bones for one in bone.constraints)


def is_lost_by_blenders_ik(rig: bpy.types.Object) -> bool:
    """Return whether Blender's own IK gives no finite pose, of channels that are finite.

    It does not for some poses of a chain whose pole stands where its target does.
    """
    return has_blenders_ik(rig) and all(map(isfinite, array("f", rigs.shown_bits(rig))))


def is_late(rig: bpy.types.Object) -> bool:
    """Return whether an armature is reported to follow something one update late."""
    chains = planned(rig)
    return any("one update late" in chain.note for chain in chains)


def places_are_finite() -> bool:
    """Return whether Blender can reckon where everything is."""
    numbers = array("f", rigs.world_bits(*bpy.context.view_layer.objects))
    return all(isfinite(number) and abs(number) < 1e15 for number in numbers)


def bones_by_name(depsgraph: bpy.types.Depsgraph) -> dict[str, bytes]:
    armatures = [ob.original for ob in depsgraph.objects if ob.type == "ARMATURE"]
    return {ob.name: rigs.pose_bits(ob, depsgraph=depsgraph) for ob in armatures}


def settle() -> None:
    """Have the animation played, so that nothing is posed differently at another look."""
    go(bpy.context.scene.frame_current_final)
    rigs.update()


class Shown:
    """What is shown of the rig, and of all on which Blender has its own say."""

    def __init__(self) -> None:
        layer = bpy.context.view_layer.objects
        self.ours = self._rigs("Rig")
        self.others = {
            ob.name: rigs.world_bits(ob) for ob in layer if ob.type != "ARMATURE" and not ob.parent
        }
        self.others |= self._rigs("Twin")

    def _rigs(self, name: str) -> dict[str, bytes]:
        rig = bpy.data.objects.get(name)
        if not rig or not is_seen(rig) or has_blenders_ik(rig) or is_late(rig):
            return {}
        # An edit shows a preview, a frame what was simulated.
        if history.outdated(rig):
            return {}
        # One of a constraint that was gone for a while is given up until a file is loaded.
        if rig.animation_data and not all(c.driver.is_valid for c in rig.animation_data.drivers):
            return {}
        return {name: rigs.pose_bits(rig) + rigs.world_bits(rig)}

    def assert_again(self, what: str) -> None:
        """Compare it with what is shown now, unless Blender shows other things differently."""
        now = Shown()
        if now.others == self.others and now.ours.keys() == self.ours.keys():
            assert now.ours == self.ours, f"after {what} the rig is shown as it was not"


# How it is run

LOG = ROOT / "build" / "fuzz" / "steps.txt"


def log(line: str) -> None:
    """Write a line that outlives a crash, while users of `make fuzz` wait for one."""
    if SECONDS > 0.0:
        with LOG.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


@contextmanager
def logged(steps: list[str]) -> Iterator[None]:
    """Note what fails, for whoever waits while it is made shorter.

    The steps stay with the error: Hypothesis does not show those of a failure that comes but once.
    """
    try:
        yield
    except Exception as error:
        log(f"    ! {type(error).__name__}: {str(error)[:300]}")
        error.add_note("\n".join(steps))
        raise


QUIET: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": (Phase.reuse, Phase.generate, Phase.shrink),
}


@pytest.mark.skipif(SECONDS > 0.0, reason="make fuzz draws others")
def test_whatever_users_do_nothing_fails() -> None:
    walks, steps = FEW
    how = settings(
        derandomize=True,
        database=None,
        max_examples=walks,
        stateful_step_count=steps,
        **QUIET,
    )
    run_state_machine_as_test(Users, settings=how)


@pytest.mark.skipif(SECONDS == 0.0, reason="make fuzz asks for it")
def test_whatever_users_do_for_long_nothing_fails() -> None:
    """Go on until the time is over; each round has a seed, and the last line of the log names it.

    What was found before is tried first, each time anew.
    """
    engine.MAX_SHRINKING_SECONDS = SHORTENING
    LOG.parent.mkdir(parents=True, exist_ok=True)
    LOG.write_text("", encoding="utf-8")
    end, rounds, found = time.monotonic() + SECONDS, 0, {}
    while time.monotonic() < end:
        number = SEED + rounds if SEED else random.SystemRandom().randrange(1 << 32)
        rounds += 1
        log(f"FABRIK_FUZZ_SEED={number}")
        how = settings(
            database=DirectoryBasedExampleDatabase(ROOT / ".hypothesis" / "users"),
            max_examples=20,
            stateful_step_count=50,
            print_blob=True,
            **QUIET | ({} if rounds == 1 else {"phases": (Phase.generate, Phase.shrink)}),
        )
        try:
            run_state_machine_as_test(seed(number)(Users), settings=how)
        except Exception as error:
            for one in error.exceptions if isinstance(error, ExceptionGroup) else [error]:
                place = traceback.extract_tb(one.__traceback__)[-1]
                report = f"seed {number}: {one}\n" + "\n".join(getattr(one, "__notes__", ()))
                if found.setdefault((place.filename, place.lineno), report) is report:
                    log(f"FOUND in {place.filename}:{place.lineno} {report}")
    print(f"{Counts.steps} steps in {Counts.walks} walks of {rounds} rounds", file=sys.__stdout__)
    assert not found, "\n\n".join(found.values())
