"""FABRIK IK: inverse kinematics constraints for armatures.

Nothing of Blender is imported before `register`, so that `core` can be used and tested without it.
"""

from . import compiled

compiled.stand_in(__name__)


def register() -> None:
    """Add everything to Blender."""
    from . import app

    app.register()


def unregister() -> None:
    """Take everything away, in the opposite order."""
    from . import app

    app.unregister()
