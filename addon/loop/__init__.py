"""Read, solve, write: how constraints pose armatures."""
