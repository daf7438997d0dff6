"""What the panels and operators of all features share."""
