"""Bones as the data of skeletons writes them: runs of bones on lines that are indented.

A line is a run: each bone, behind a slash, is the child of the one before it. The lines indented
below it are children of its last bone.
"""

from collections.abc import Iterator


def bones_of(text: str) -> Iterator[tuple[str, int]]:
    """Yield what is written of each bone, parents first, and the parent's index; −1 for none."""
    above: list[int] = []  # The last bone of the line above on each level.
    count = 0
    for line in text.strip("\n").split("\n"):
        run = line.lstrip()
        del above[len(line) - len(run) :]
        parent = above[-1] if above else -1
        for bone in run.split(" / "):
            yield bone, parent
            parent, count = count, count + 1
        above.append(parent)
