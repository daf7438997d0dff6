"""Settings hold whatever scripts, F-curves, drivers and damaged presets put into them.

Each case is drawn from a seed of its own. `make test` takes a few, `make fuzz` new ones for as long
as its time allows; what fails there comes again with FABRIK_FUZZ_SEED.
"""

import io
import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stderr
from math import inf, nan
from pathlib import Path
from typing import Any

import bpy
import pytest
import rigs
import user
from kept_files import new_file

from addon.blender import errors as faults

SECONDS = float(os.environ.get("FABRIK_FUZZ", "0")) / 4.0
SEED = int(os.environ.get("FABRIK_FUZZ_SEED", "0")) or random.SystemRandom().randrange(1 << 32)
FEW = 60

NUMBERS = (nan, inf, -inf, 3e38, -3e38, 1e300, 0.0, -0.0, 1e-38, -1.0, 1.0, 0.5, 1e6, -1e6, 2.0**31)
NAMES = ("", "B0", "B1", "B2", "Nobody", "b0", "B0 ", "\n", "\\", '"]', "日本", "x" * 300)


def any_number(chance: random.Random, prop: Any) -> Any:
    """A number that the property can hold, in its range or not."""
    number = chance.choice((*NUMBERS, chance.uniform(-10, 10)))
    if prop.type == "FLOAT":
        return number
    return int(max(-(2**31), min(2**31 - 1, number))) if number == number else 0


def any_value(chance: random.Random, prop: Any) -> Any:
    if prop.type in {"INT", "FLOAT"} and prop.is_array:
        return [any_number(chance, prop) for _ in range(prop.array_length)]
    if prop.type in {"INT", "FLOAT"}:
        return any_number(chance, prop)
    return chance.choice(NAMES) if prop.type == "STRING" else user.any_value(chance, prop)


def groups(rig: bpy.types.Object) -> list[bpy.types.PropertyGroup]:
    """All that carries settings."""
    joints = [bone.fabrik_joint for bone in rig.pose.bones]
    return [*rig.fabrik.constraints, *rig.fabrik.constraints, *rig.fabrik.gaits, *joints]


def set_any(chance: random.Random, rig: bpy.types.Object) -> str:
    """Set a setting as a script does."""
    group = chance.choice(groups(rig))
    path, prop = chance.choice(list(user.settings_of(group)))
    value = any_value(chance, prop)
    user.set_value(group, path, value)
    return f"{group!r}.{path} = {value!r}"


def animate_any(chance: random.Random, rig: bpy.types.Object) -> str:
    """Have an F-curve or a driver give a setting any number, enums and switches among them."""
    i = chance.randrange(len(rig.fabrik.constraints))
    path, prop = chance.choice(list(user.settings_of(rig.fabrik.constraints[i])))
    path = f"fabrik.constraints[{i}].{path}"
    number = chance.choice((*NUMBERS[3:], 17.0, -3.0))
    if not prop.is_animatable or prop.type in {"STRING", "POINTER"}:
        return ""
    if chance.random() < 0.3:
        found = rig.driver_add(path)
        for curve in found if isinstance(found, list) else [found]:
            curve.driver.expression = chance.choice(("1e300 * 1e300", "0 / 0", repr(number)))
        return f"drive {path}"
    if not rig.keyframe_insert(path, frame=1):
        return ""
    for curve in rigs.curves(rig):
        if curve.data_path == path:
            curve.keyframe_points[0].co.y = number
            curve.update()
    return f"key {path} = {number!r}"


def damage(chance: random.Random, folder: Path) -> str:
    """Apply a preset of which a part is lost or garbled; it may be refused, not fail."""
    source = chance.choice(sorted(user.PRESETS.glob("*/*.py")))
    text = source.read_text(encoding="utf-8")
    at = chance.randrange(len(text))
    kind = chance.choice(("cut", "lose", "garble", "bytes", "elsewhere"))
    broken = folder / "Broken.py"
    if kind == "cut":
        text = text[:at]
    elif kind == "lose":
        text = text[:at] + text[at + chance.randint(1, 20) :]
    elif kind == "garble":
        text = text[:at] + chance.choice(("9", "'", "(", "nan", "-", "\n", "é")) + text[at + 1 :]
    broken.write_bytes(
        bytes(chance.choices(range(256), k=50)) if kind == "bytes" else text.encode()
    )
    name = chance.choice(("constraint", "joint", "gait")) if kind == "elsewhere" else None
    operator = getattr(bpy.ops.fabrik, f"{name or source.parent.name}_preset_apply")
    return f"{kind} {source.name} at {at}: {user.call(operator, filepath=str(broken))}"


def make() -> bpy.types.Object:
    """Make a chain of four bones with a constraint of each kind, and a walk."""
    new_file()
    rig = rigs.make_chain(4)
    for i, bone in enumerate(rig.pose.bones):
        bone.rotation_quaternion = (0.98, 0.15, -0.1, 0.02 * i)
    rigs.activate(rig, "POSE")
    rig.data.bones.active = rig.data.bones[3]
    target = rigs.make_empty()
    rigs.make_empty("Pole", (0, 3, 2))
    for i, solver in enumerate(("FABRIK", "CCD", "LOOK_AT", "ROPE", "FOLLOW", "WAVE")):
        rigs.add_constraint(rig, f"B{3 - i % 2}", target, solver=solver, name=solver)
    gait = rig.fabrik.gaits.add()
    gait.body = "B0"
    gait.legs.add().constraint = "FABRIK"
    rigs.update()
    return rig


def check(number: str, folder: Path) -> Iterator[str]:
    """Break settings, one after the other; the FK pose stays, and comes back in the end."""
    chance = random.Random(number)
    rig = make()
    faults.forget_reported()
    given, printed = rigs.channels_bits(rig), io.StringIO()
    with redirect_stderr(printed):
        for _ in range(12):
            act = chance.choice((set_any, set_any, animate_any, damage))
            yield act(chance, folder if act is damage else rig)
            rigs.update()
            rigs.go(chance.choice((1, 3, 5.5)))
            assert not faults._reported, faults._reported
            assert "Traceback" not in printed.getvalue(), printed.getvalue()
            assert rigs.channels_bits(rig) == given
            assert rigs.is_finite(rig)
            for item in rig.fabrik.constraints:
                assert item.state in {"REACHED", "DISABLED"} or item.message
        rig.animation_data_clear()
        for item in (*rig.fabrik.constraints, *rig.fabrik.gaits):
            item.enabled = False
        rigs.update()
    assert rigs.channels_bits(rig) == given == rigs.shown_bits(rig)


def done(number: str, folder: Path) -> str:
    """Return what failed, and after what; empty if nothing did."""
    steps: list[str] = []
    try:
        steps.extend(check(number, folder))
    except Exception as error:
        return f"{number}: {type(error).__name__}: {error}\n  after " + "\n  ".join(steps)
    return ""


@pytest.mark.skipif(SECONDS > 0.0, reason="make fuzz draws others")
def test_no_setting_breaks_anything(tmp_path: Path) -> None:
    for number in range(FEW):
        assert not done(f"settings {number}", tmp_path)


@pytest.mark.skipif(SECONDS == 0.0, reason="make fuzz asks for it")
def test_no_setting_breaks_anything_for_long(tmp_path: Path) -> None:
    end, count, found = time.monotonic() + SECONDS, 0, {}
    while time.monotonic() < end:
        wrong = done(f"settings {SEED} {count}", tmp_path)
        count += 1
        if wrong:
            found.setdefault(wrong.split(":", 1)[1][:150], wrong)
    print(f"{count} lists of broken settings from seed {SEED}", file=sys.__stdout__)
    assert not found, "\n\n".join(found.values())
