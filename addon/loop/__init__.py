"""The update loop: read, solve and write armatures."""
