"""Setting up a character that comes without IK, in one step."""

from ...plan.registry import Feature
from ...settings.definitions import group
from . import operators
from .settings import FabrikCharacter, FabrikPart

FEATURE = Feature(
    groups=(FabrikPart, FabrikCharacter),
    armature={"character": (FabrikCharacter, group("Character", "Parts of the character to rig"))},
)

PARTS = (operators,)
