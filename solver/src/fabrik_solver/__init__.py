"""Inverse kinematics for chains and trees of bones, in plain Python on tuples of floats.

`core` solves: FABRIK for chains of any length, a closed form for two bones, CCD, joint limits, and
whole bodies whose chains share bones. `motion` builds on it: contacts of captured feet, feet on the
ground, walks, ropes, waves and look-at. Both only need Python's standard library. The wheels for
common platforms contain them compiled by mypyc, with the same results to the last bit.
"""

from .core import *  # noqa: F403
from .core import __all__ as __all__
from .core import vectors

__version__ = "0.1.0"

COMPILED = not str(vectors.__file__).endswith(".py")
"""Whether the compiled modules run."""
