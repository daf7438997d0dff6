"""What makes the motion of chains that do not merely reach: read from Blender, and solved."""
