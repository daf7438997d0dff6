"""What the README tells people to type works as it stands there."""

import re
import subprocess
import sys
from pathlib import Path

import rigs

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_scripting_example_reaches_its_target(capsys):
    rig = rigs.make_armature(
        {
            f"Bone.{i:03}": ((0, 0, i / 2), (0, 0.02, i / 2 + 0.5), f"Bone.{i - 1:03}" if i else "")
            for i in range(5)
        }
    )

    exec(EXAMPLES[0], {})

    assert capsys.readouterr().out.startswith("REACHED")
    item = rig.fabrik.constraints["Tail"]
    assert (rigs.tip_world(rig, "Bone.004") - item.target.location).length < 1e-3
    assert rigs.is_keyed(rig, "fabrik.constraints[0].influence")


def test_the_solver_works_on_its_own():
    run = subprocess.run(
        [sys.executable, "-c", EXAMPLES[1]],
        cwd=ROOT / "addon",
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.startswith("REACHED"), run.stderr


def test_every_field_of_the_table_exists():
    table = README.split("| field |")[1].split("```")[0]
    item = rigs.make_chain().fabrik.constraints.add()
    fields = set(re.findall(r"`(\w+)`", table))

    assert len(fields) == 41
    assert fields <= set(item.bl_rna.properties.keys())
    solvers = [solver.identifier for solver in item.bl_rna.properties["solver"].enum_items]
    assert re.findall(r"`'(\w+)'`", table) == [*solvers, "FABRIK"]


def test_every_picture_is_there():
    for path in re.findall(r"!\[[^]]*\]\(([^)]+)\)", README):
        assert (ROOT / path).is_file(), path
