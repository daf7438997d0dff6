"""A method of solving is one row of a table: the menu, the solver and the messages ask the row."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import bpy
import pytest
from rigs import add_constraint, make_chain, make_empty, tip_error, update

from addon.settings.properties import SOLVER_ITEMS
from fabrik_solver import SOLVERS, Chain, Method
from fabrik_solver.core.joint import Joint
from fabrik_solver.core.two_bone import two_bone
from fabrik_solver.core.vectors import Vec


def reach(
    joints: list[Joint], target: Vec, _chain: Chain, _swing: float, _most: int, _near: float
) -> int:
    """Reach by the law of cosines, and say so by the number of iterations."""
    two_bone(joints, target)
    return 7


COSINES = Method("COSINES", 40, "Cosines", "The law of cosines", reach, bones=2, is_exact=True)

ITEM = (COSINES.name, COSINES.title, COSINES.description, COSINES.number)


@pytest.fixture
def cosines(addon: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add a method of solving."""
    addon.unregister()
    with monkeypatch.context() as patched:
        patched.setitem(SOLVERS, COSINES.name, COSINES)
        SOLVER_ITEMS.append(ITEM)
        addon.register()
        yield
        addon.unregister()
        SOLVER_ITEMS.remove(ITEM)
    addon.register()


def test_a_method_is_a_row_of_the_table(cosines: None) -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    rig = make_chain(2)
    item: Any = add_constraint(rig, "B1", make_empty("Target", (0.6, 0.5, 0.9)))
    item.solver = "COSINES"
    update()
    assert (item.state, item.iterations_used) == ("REACHED", 7)
    assert tip_error(rig, "B1", item.target) < 1e-5


def test_it_refuses_chains_that_its_row_excludes(cosines: None) -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    rig = make_chain(3)
    item: Any = add_constraint(rig, "B2", make_empty("Target", (0.6, 0.5, 0.9)))
    item.solver = "COSINES"
    update()
    assert item.state == "INVALID"
    assert "Cosines needs a chain of 2 bones" in item.message
