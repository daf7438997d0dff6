"""FABRIK IK: inverse kinematics constraints for armatures.

`bpy` is only imported by `register`, so that `core` and `motion` can be used without Blender.
"""

from . import compiled

compiled.use_compiled(__name__)


def register() -> None:
    """Register the extension."""
    from . import app

    app.register()


def unregister() -> None:
    """Unregister the extension, in reverse order."""
    from . import app

    app.unregister()
