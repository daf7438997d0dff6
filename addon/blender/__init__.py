"""Reading and writing Blender's data; nothing here knows our constraints."""
