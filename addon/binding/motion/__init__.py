"""Motion that makes itself: what the kinds of it read from Blender and give to the loop."""
