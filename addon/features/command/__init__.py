"""Baking on the command line."""
