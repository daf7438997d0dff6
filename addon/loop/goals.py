"""Goals that are changed before a chain is solved, as by the ground under a foot."""

from __future__ import annotations

from ..blender.errors import ProblemError
from ..blender.skeleton import Point
from ..core import point_in
from ..core.vectors import mat_product, orthonormalize
from .chain_plan import Aim, ChainPlan, Snapshot


def aim_of(snapshot: Snapshot, chain: ChainPlan) -> Aim:
    """Return where the target of a chain wants its tip, before anything changes that.

    A chain without a target has the armature's origin.

    Raises:
        ProblemError: If the target has no orientation to take.
    """
    if chain.target is None:
        return Aim(snapshot.world(chain.rig.object, chain.rig.uid)[1], None)
    if chain.has_hand or chain.offset is not None:
        return _aim(snapshot, chain, chain.target)
    return Aim(snapshot.point(chain.target), None)


def _aim(snapshot: Snapshot, chain: ChainPlan, target: Point) -> Aim:
    frame = snapshot.place(target)
    place = frame[1] if chain.offset is None else point_in(frame, chain.offset[1])
    if not chain.has_hand:
        return Aim(place, None)
    axes = orthonormalize(frame[0])
    if axes is None:
        name = target.object.name if target.skeleton is None else target.skeleton.names[target.bone]
        raise ProblemError(
            f"“{name}” has zero scale and therefore no orientation: change its scale, or disable "
            "Copy Target Rotation"
        )
    return Aim(place, axes if chain.offset is None else mat_product(axes, chain.offset[0]))
