"""What a body is, is decided in one place: bars on names, files and numbers, read from the text."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BODY, ANATOMY = ROOT / "addon" / "body", ROOT / "solver/src/fabrik_solver/motion/anatomy"

WORDS = "Limb|Leg|Foot|Sole|Stance|Body|Knee"
NAMED = re.compile(rf"^ *class (\w*(?:{WORDS})\w*)", re.MULTILINE)

NUMBER = re.compile(r"^[A-Z_]+(?:: Final)? = \(?(?:-?\d|cos\(|sin\(|radians\()", re.MULTILINE)
"""A constant that is a number, or several."""


def sources(*folders: Path) -> Iterator[tuple[Path, str]]:
    for folder in folders or (ROOT / "addon", ROOT / "solver" / "src"):
        yield from ((path, path.read_text("utf-8")) for path in sorted(folder.rglob("*.py")))


def test_few_classes_are_called_after_parts_of_a_body() -> None:
    names = [name for _, text in sources() for name in NAMED.findall(text)]
    assert {"Limb", "Body", "PosedLimb", "Sole", "CarriedLeg", "Stances"} <= {*names}
    assert len(names) <= 32, names  # Lower it when fewer are; never raise it.


@pytest.mark.parametrize(
    "pattern", ["(?i)rigify", r"body\.(loose|joint_paths)|\bLooseEnd\b|\.loose\b"]
)
def test_a_kind_of_rig_and_loose_feet_are_known_in_one_file(pattern: str) -> None:
    """But for conversion, words for the user, and the ends that are added to limbs."""
    knowing = [path for path, text in sources(ROOT / "addon") if re.search(pattern, text)]
    assert len([path for path in knowing if path.parent != BODY]) <= 3, knowing


DECIDERS = {
    "flexion_of": "addon/body/flexion.py",  # Which way a joint bends.
    "bend_side": "addon/body/flexion.py",  # Which way a whole chain bends, from its joints.
    "posed_limb": "addon/body/posed.py",  # Which bones a limb has, and what ends it.
    "limb_length": "addon/body/chains.py",  # Where nothing is recognized.
    "end_of": "addon/body/chains.py",  # Where a bone ends.
    "feet_of": "addon/body/foot.py",  # Where the soles of recognized legs are.
    "sole_at_rest": "addon/body/foot.py",  # Where that of any chain is.
    "root_above": "addon/body/root.py",  # What carries a character, and isn't part of it.
    "carrier_above": "addon/body/root.py",  # What controls are parented to.
}


@pytest.mark.parametrize("name", DECIDERS)
def test_a_question_has_one_function_that_answers_it(name: str) -> None:
    pattern = re.compile(rf"^ *def _?{name}\(", re.MULTILINE)
    found = [path.relative_to(ROOT).as_posix() for path, text in sources() if pattern.search(text)]
    assert found == [DECIDERS[name]]
    rows = (ROOT / "docs/architecture.md").read_text("utf-8").splitlines()
    (row,) = [row for row in rows if row.startswith(f"| `{found[0].removeprefix('addon/')}` |")]
    assert f"`{name}`" in row, "the map of the architecture doesn't say so"


def test_a_frame_passes_the_limb_of_a_chain() -> None:
    from addon.plan.chain_plan import ChainPlan

    fields = {*ChainPlan.__dataclass_fields__}
    assert "limb" in fields
    assert not fields & {"rest_bend", "limb_bend", "foot", "has_foot"}


def test_the_thresholds_of_recognition_are_in_one_table() -> None:
    """Except that of a search, which isn't for skeletons."""
    tables = {path.name: len(NUMBER.findall(text)) for path, text in sources(BODY, ANATOMY)}
    assert tables.pop("thresholds.py") <= 32  # Lower it when fewer are; never raise it.
    assert {name for name, count in tables.items() if count} == {"labelling.py"}
