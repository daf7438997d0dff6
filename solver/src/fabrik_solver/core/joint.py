"""The joints of a chain while it is being solved, changed in place."""

from typing import final

from .vectors import Vec


@final
class Joint:
    """A joint, and the bone from it to the next joint.

    Positions are relative to the root, in chain lengths. Compiled, a pass over a list of these
    takes a fifth of the time for tuples, which would have to be reallocated. Interpreted, it takes
    no longer.

    Attributes:
        x: Position of the joint.
        y: Position of the joint.
        z: Position of the joint.
        size: Length of its bone, 0 at the tip.
        ux: Unit direction of that bone. Only up to date if a function says so.
        uy: Direction of that bone.
        uz: Direction of that bone.
    """

    def __init__(self, x: float, y: float, z: float, size: float) -> None:
        self.x = x
        self.y = y
        self.z = z
        self.size = size
        self.ux = 1.0
        self.uy = 0.0
        self.uz = 0.0

    def at(self) -> Vec:
        """Return the position."""
        return (self.x, self.y, self.z)

    def move(self, to: Vec) -> None:
        """Set the position."""
        self.x, self.y, self.z = to


def copied(joints: list[Joint]) -> list[Joint]:
    """Return copies of the joints."""
    return [Joint(joint.x, joint.y, joint.z, joint.size) for joint in joints]


def points_of(joints: list[Joint]) -> list[Vec]:
    """Return the positions of the joints."""
    return [joint.at() for joint in joints]


def sizes_of(joints: list[Joint]) -> list[float]:
    """Return the lengths of the bones."""
    return [joints[i].size for i in range(len(joints) - 1)]
