"""Baking on the command line."""

from . import command

PARTS = (command,)
