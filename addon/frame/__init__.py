"""The frame: read, solve and write armatures at each update."""
