"""The plan: everything that stays the same between frames, resolved and ordered."""
