"""What tests know of the inside of the extension: where that is moved, only this file follows.

All else is counted from outside: evaluations by Blender, calls of the solver, and poses.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import bpy
import pytest

import fabrik_solver
from addon.blender.listeners import on_invalidate
from addon.blender.session import part
from addon.frame import (
    armature,
    chain,
    following,
    handlers,
    solving,
    tree,
    update,
    write,
)
from addon.frame.armature import Evaluated, FkReader
from addon.frame.read import ChannelSnapshot, EvaluatedSnapshot
from addon.plan import dependencies, lookahead, order, planner, resolving
from addon.plan.planner import Planner
from fabrik_solver.core.constraints import ConstraintSpaces

PLACES: dict[str, tuple[Any, str]] = {
    "resolve": (resolving, "_resolve_joints"),
    "order": (order.Order, "_needs"),
    "foresee": (lookahead._DependencyWalk, "unknown"),
    "declare": (dependencies, "declare"),
    "list sources": (dependencies, "uses_of"),
    "make a plan": (planner, "make_plan"),
    "list armatures": (handlers, "armatures_in"),
    "list geometry": (update, "geometry_in"),
    "list tagged": (update, "tagged_in"),
    "read an armature": (EvaluatedSnapshot, "_read"),
    "read an armature ahead": (ChannelSnapshot, "_read"),
    "read the FK pose": (FkReader, "_read_fk"),
    "read channels": (FkReader, "_read_channels"),
    "read a setting": (Evaluated, "column"),
    "read all settings": (Evaluated, "columns"),
    "read a frame": (Evaluated, "frame"),
    "read a chain": (chain.ChainUnit, "read"),
    "read a body": (tree.TreeUnit, "_read_body"),
    "give a chain": (chain.ChainUnit, "fk_input"),
    "solve": (solving, "_result"),
    "solve a chain": (chain.ChainUnit, "solve"),
    "solve a body": (tree.TreeUnit, "solve"),
    "compose": (write.PoseWriter, "compose"),
    "encode": (write, "channel_values"),
    "write a channel": (write, "set_channel"),
    "write": (write.Overwritten, "write"),
    "write reports": (update, "write_reports"),
    "read constraints": (following, "follower_of"),
    "read what drives": (update, "values_at"),
    "compute a constraint": (ConstraintSpaces, "constrained"),
    "compare": (update.Affected, "is_shown"),
    "evaluate": (update, "_evaluate_again"),
    "notify of reports": (write.on_report, "notify"),
}
"""Where a test lets the extension fail, or counts what cannot be counted from outside."""


def forget() -> None:
    """Have all planned and solved anew at the next update."""
    part(Planner).discard(skeletons=True)


def renew() -> None:
    """Remember nothing of the file, as after loading one."""
    on_invalidate.notify()


def plan_made() -> object | None:
    """Return the plan, if one was made and not outdated since: only to be compared."""
    return planner.known()


def make_plan() -> Any:
    """Return the plan, making it if necessary."""
    return planner.current()


def kept() -> tuple[set[int], set[int]]:
    """Return the armatures of which anything is kept for reading, and for writing."""
    runs = solving.present_runs()
    return {*runs.readers}, {*runs.writers}


def planned(rig: bpy.types.Object) -> list[Any]:
    """Return the planned constraints of an armature."""
    return [chain for chain in planner.current().chains if chain.rig.object == rig]


def settings_read(rig: bpy.types.Object) -> Any:
    """Return what the first constraint of an armature was solved with."""
    return solving.present_runs().readers[rig.session_uid].last.settings[0]


def walk_of(rig: bpy.types.Object, name: str) -> Any:
    """Return the detected contacts of a constraint on the ground, and what they were made of."""
    chain = next(one for one in planned(rig) if one.name == name)
    return chain.goal_source.contact_track(chain, rig.fabrik.constraints[name].ground, 1)[0]


def declared(rig: bpy.types.Object) -> Any:
    """Return the dependencies of an armature that Blender knows."""
    return dependencies.uses_of(rig)[0]


def declare(rig: bpy.types.Object) -> bool:
    """Declare an armature's dependencies to Blender; return whether that changed anything."""
    return bool(dependencies.declare([rig]))


def unseen(scene: bpy.types.Scene, layer: bpy.types.ViewLayer) -> set[int]:
    """Return the armatures that a view layer has not shown yet."""
    return update.unseen(scene, layer)


def leave_solved() -> None:
    """Leave the solved pose in the channels, as they hold it while a render draws."""
    runs = solving.present_runs()
    for writer in runs.writers.values():
        runs.overwritten.write(writer)


def count(patch: pytest.MonkeyPatch, place: str, note: Any) -> None:
    """Call a function as well, with the same arguments, before what happens at a place."""
    owner, name = PLACES[place]
    function = getattr(owner, name)

    def noted(*arguments: Any, **more: Any) -> Any:
        note(*arguments, **more)
        return function(*arguments, **more)

    patch.setattr(owner, name, noted)


def value_from_curve(prop: bpy.types.Property, number: float) -> Any:
    """Return what a property is taken to become by an F-curve with a value."""
    return armature._as_property(prop, number)


def start() -> None:
    """Pose what the file shows, as a timer does after the extension was enabled."""
    handlers.start()


@contextmanager
def replaced(function: Any, other: Any) -> Iterator[None]:
    """Have all modules of the extension call another function instead of an imported one."""
    with pytest.MonkeyPatch.context() as patch:
        for title, module in list(sys.modules.items()):
            if title.startswith("addon."):
                for name in [name for name, value in vars(module).items() if value is function]:
                    patch.setattr(module, name, other)
        yield


@contextmanager
def solver_calls() -> Iterator[list[Any]]:
    """Note each chain or body of which the solver is asked for the pose."""
    calls: list[Any] = []

    def noting(function: Any) -> Any:
        def call(given: Any, *arguments: Any, **more: Any) -> Any:
            calls.append(given)
            return function(given, *arguments, **more)

        return call

    with ExitStack() as stack:
        for function in (fabrik_solver.pose_in_world, fabrik_solver.pose_body):
            stack.enter_context(replaced(function, noting(function)))
        yield calls
