"""Reading and writing Blender's data, independent of our constraints."""
