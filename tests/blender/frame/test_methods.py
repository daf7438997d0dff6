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


@pytest.mark.rows("count")
@pytest.mark.parametrize("count", [2, 3])
def test_a_method_is_a_row_of_the_table_and_refuses_chains_that_it_excludes(
    cosines: None, count: int
) -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    rig, tip = make_chain(count), f"B{count - 1}"
    item: Any = add_constraint(rig, tip, make_empty("Target", (0.6, 0.5, 0.9)), solver="COSINES")
    update()
    if count == 2:
        assert (item.state, item.iterations_used) == ("REACHED", 7)
        assert tip_error(rig, tip, item.target) < 1e-5
    else:
        assert item.state == "INVALID"
        assert "Cosines needs a chain of 2 bones" in item.message
