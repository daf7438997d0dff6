"""FABRIK IK: inverse kinematics constraints for armatures."""

import fabrik_solver

SOLVER = "0.1.0"
"""The solver version that this version of the extension requires."""


def register() -> None:
    """Register the extension.

    Raises:
        ImportError: If Blender still has another version of the solver in memory.
    """
    if fabrik_solver.__version__.partition("+")[0] != SOLVER:
        raise ImportError("FABRIK IK was updated: restart Blender, which still runs its old solver")
    from . import app

    app.register()


def unregister() -> None:
    """Unregister the extension, in reverse order."""
    from . import app

    app.unregister()
